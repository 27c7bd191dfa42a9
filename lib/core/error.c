/* error.c - status names, the sentence about the last failure of each thread, and the public calls
 * under way, which decide how long it is valid. */
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "lib/core/entry.h"
#include "lib/core/threads.h"

static _Thread_local kaon_saved_error last;
static _Thread_local int calls; /* public calls under way in this thread; its address tells threads
                                   apart */

kaon_status kaon_fail(const kaon_context *ctx, kaon_status status, const char *format, ...) {
  char text[KAON_SENTENCE]; /* the arguments may point into the stored sentence */
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  memcpy(last.text, text, sizeof text);
  last.ctx = ctx;
  last.agreed = 0;
  return status;
}

int kaon_error_agreed(const kaon_context *ctx) {
  return last.agreed && last.ctx == ctx;
}

void kaon_error_mark_agreed(int agreed) {
  last.agreed = agreed;
}

void kaon_error_save(kaon_saved_error *saved) {
  *saved = last;
}

void kaon_error_restore(const kaon_saved_error *saved) {
  last = *saved;
}

void kaon_error_clear(void) {
  last.text[0] = '\0';
  last.agreed = 0;
}

const char *kaon_last_error(const kaon_context *ctx) {
  (void)ctx; /* a thread has one last failure, on any context or on none */
  return last.text;
}

/* Name `i` of a list "a, b, c". */
static int name_of(const char *names, size_t i, const char **name) {
  for (; i > 0; i--) names = strchr(names, ',') + 1;
  *name = names + strspn(names, " ");
  return (int)strcspn(*name, ",");
}

kaon_status kaon_enter(kaon_entry *entry, const kaon_context *ctx, const char *function,
                       const char *names, size_t count, const void *const *needed) {
  const void *nobody = NULL;
  kaon_context *taken = (kaon_context *)(uintptr_t)ctx;
  if (calls++ == 0) kaon_error_clear();
  for (size_t i = 0; i < count; i++) {
    const char *name;
    const int length = name_of(names, i, &name);
    if (needed[i] == NULL)
      return kaon_fail(ctx, KAON_ERR_ARGUMENT, "%s: the argument %.*s is NULL", function, length,
                       name);
  }
  if (ctx == NULL) return KAON_OK;
  if (ctx->forks != kaon_forks())
    return kaon_fail(NULL, KAON_ERR_STATE,
                     "%s: the context was created before this process was forked from the one that "
                     "uses it; create a context, and all objects, after the fork",
                     function);
  if (!__atomic_compare_exchange_n(&taken->thread, &nobody, &calls, 0, __ATOMIC_ACQUIRE,
                                   __ATOMIC_RELAXED) &&
      nobody != &calls)
    return kaon_fail(NULL, KAON_ERR_STATE,
                     "%s: the context is at work in another thread; wait until that call has "
                     "returned, or give each thread a context of its own",
                     function);
  entry->ctx = taken;
  taken->calls++;
  kaon_context_retain(taken);
  return KAON_OK;
}

void kaon_leave(kaon_entry *entry) {
  kaon_context *ctx = entry->ctx;
  calls--;
  if (ctx == NULL) return;
  if (--ctx->calls == 0) __atomic_store_n(&ctx->thread, NULL, __ATOMIC_RELEASE);
  kaon_context_release(ctx);
}

int kaon_callback_begin(void) {
  const int outside = calls;
  kaon_error_clear();
  calls = 0;
  return outside;
}

void kaon_callback_end(int outside) {
  calls = outside;
}

kaon_status kaon_begin_work(const kaon_context *ctx, int *at_work, const char *kind,
                            const char *name) {
  if (*at_work)
    return kaon_fail(ctx, KAON_ERR_STATE,
                     "%s %s: it is at work, and a function of the application that it has called "
                     "uses it again; create a second one for use in that function",
                     kind, name);
  *at_work = 1;
  return KAON_OK;
}

const char *kaon_status_name(kaon_status status) {
  switch (status) {
#define KAON_X(name, number, text) \
  case name:                       \
    return #name;
    KAON_STATUS_LIST(KAON_X)
#undef KAON_X
  }
  return "KAON_ERR_?";
}

const char *kaon_status_text(kaon_status status) {
  switch (status) {
#define KAON_X(name, number, text) \
  case name:                       \
    return text;
    KAON_STATUS_LIST(KAON_X)
#undef KAON_X
  }
  return "unknown status";
}
