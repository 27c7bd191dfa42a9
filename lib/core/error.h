/* error.h - how library code reports a failure, in one line: `return kaon_fail(ctx, KAON_ERR_SHAPE,
 * "...", ...)`. */
#pragma once

#include <stdlib.h>
#include <string.h>

#include <kaon/status.h>

#if defined(__GNUC__)
#define KAON_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#else
#define KAON_PRINTF(fmt, args)
#endif

/* Stores the formatted sentence as this thread's last failure, and returns `status`. ctx: where it
 * happened; NULL: on no context. The sentence ends without a newline. */
kaon_status kaon_fail(const kaon_context *ctx, kaon_status status, const char *format, ...)
    KAON_PRINTF(3, 4);

/* Whether all ranks of ctx know of the last failure (kaon_agree). */
int kaon_error_agreed(const kaon_context *ctx);
void kaon_error_mark_agreed(int agreed);

enum { KAON_SENTENCE = 1024 }; /* bytes of a sentence, with its terminator */

/* Saves the last failure while cleaning up, so that a second one does not replace it. Save before
 * the calls that may fail, restore after them. */
typedef struct kaon_saved_error {
  const kaon_context *ctx;
  int agreed;
  char text[KAON_SENTENCE];
} kaon_saved_error;
void kaon_error_save(kaon_saved_error *saved);
void kaon_error_restore(const kaon_saved_error *saved);

/* Drops the last failure. A function that goes on after a failure calls it, because after success
 * kaon_last_error() is "". */
void kaon_error_clear(void);

/* Returns early with the status of the failing call, whose message is already stored. */
#define KAON_TRY(call)                              \
  do {                                              \
    kaon_status try_status_ = (call);               \
    if (try_status_ != KAON_OK) return try_status_; \
  } while (0)

/* MEMORY with the sentence, unless `got`. */
#define KAON_CHECK_MEMORY(ctx, got, ...) \
  ((got) ? KAON_OK : kaon_fail((ctx), KAON_ERR_MEMORY, __VA_ARGS__))

/* Before the declaration of local variables: at each end of their block, calls destroy(&variable),
 * or frees memory of malloc. The variables must have values, which may be NULL. */
#define KAON_AUTO(destroy) __attribute__((cleanup(destroy)))
#define KAON_AUTOFREE KAON_AUTO(kaon_free_local)
static inline void kaon_free_local(const void *pointer) {
  void *memory;
  memcpy(&memory, pointer, sizeof memory);
  free(memory);
}
