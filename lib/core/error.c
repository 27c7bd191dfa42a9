/* error.c - status names and the error message of each thread.
 * A thread stores the messages of the few contexts that failed last on it. ctx is only a key here
 * and is never dereferenced. */
#include "lib/core/error.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { CONTEXTS_REMEMBERED = 8 };

typedef struct sentence {
  const kaon_context *ctx;
  uint64_t when; /* 0: free */
  int agreed;    /* all ranks know of it */
  char text[KAON_SENTENCE];
} sentence;

static _Thread_local sentence table[CONTEXTS_REMEMBERED];
static _Thread_local uint64_t clock_now;

static sentence *find(const kaon_context *ctx, int create) {
  sentence *oldest = &table[0];
  for (int i = 0; i < CONTEXTS_REMEMBERED; i++) {
    if (table[i].when != 0 && table[i].ctx == ctx) return &table[i];
    if (table[i].when < oldest->when) oldest = &table[i];
  }
  if (!create) return NULL;
  oldest->ctx = ctx;
  oldest->text[0] = '\0';
  return oldest;
}

kaon_status kaon_fail(const kaon_context *ctx, kaon_status status, const char *format, ...) {
  char text[KAON_SENTENCE]; /* the arguments may point into the stored message */
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  sentence *s = find(ctx, 1);
  s->when = ++clock_now;
  s->agreed = 0;
  memcpy(s->text, text, sizeof text);
  return status;
}

int kaon_error_agreed(const kaon_context *ctx) {
  const sentence *s = find(ctx, 0);
  return s != NULL && s->agreed;
}

void kaon_error_mark_agreed(const kaon_context *ctx, int agreed) {
  sentence *s = find(ctx, 0);
  if (s != NULL) s->agreed = agreed;
}

void kaon_error_save(const kaon_context *ctx, kaon_saved_error *saved) {
  const sentence *s = find(ctx, 0);
  memset(saved, 0, sizeof *saved);
  if (s == NULL) return;
  memcpy(saved->text, s->text, sizeof saved->text);
  saved->agreed = s->agreed;
}

void kaon_error_restore(const kaon_context *ctx, const kaon_saved_error *saved) {
  if (saved->text[0] == '\0') return;
  sentence *s = find(ctx, 1);
  s->when = ++clock_now;
  s->agreed = saved->agreed;
  memcpy(s->text, saved->text, sizeof s->text);
}

void kaon_error_clear(const kaon_context *ctx) {
  sentence *s = find(ctx, 0);
  if (s == NULL) return;
  s->when = 0;
  s->text[0] = '\0';
}

const char *kaon_last_error(const kaon_context *ctx) {
  const sentence *s = find(ctx, 0);
  return s ? s->text : "";
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
