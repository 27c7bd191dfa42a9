/* error.h - how library code reports a failure: one line, `return kaon_fail(ctx, KAON_ERR_SHAPE,
 * "...", ...)`. */
#ifndef KAON_LIB_ERROR_H
#define KAON_LIB_ERROR_H

#include <kaon/status.h>

#if defined(__GNUC__)
#define KAON_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#else
#define KAON_PRINTF(fmt, args)
#endif

/* Keeps the formatted sentence for (ctx, this thread) and returns `status`. ctx may be NULL. No
 * newline at the end. */
kaon_status kaon_fail(const kaon_context *ctx, kaon_status status, const char *format, ...)
    KAON_PRINTF(3, 4);

/* Whether the last failure on ctx is one that all ranks know of (kaon_agree), and saying so, or
 * that it is over. */
int kaon_error_agreed(const kaon_context *ctx);
void kaon_error_mark_agreed(const kaon_context *ctx, int agreed);

enum { KAON_SENTENCE = 1024 }; /* bytes of a sentence, its end included */

/* Another failure on ctx, on the way out of the last one, does not take that one's place: `kept` is
 * filled before what may fail, and given back behind it. */
typedef struct kaon_saved_error {
  char text[KAON_SENTENCE];
  int agreed;
} kaon_saved_error;
void kaon_error_save(const kaon_context *ctx, kaon_saved_error *saved);
void kaon_error_restore(const kaon_context *ctx, const kaon_saved_error *saved);

/* A new context may stand where an old one stood: this thread's sentence of that one goes. */
void kaon_error_clear(const kaon_context *ctx);

/* Returns early with the failing call's status; the sentence is already kept. */
#define KAON_TRY(call)                              \
  do {                                              \
    kaon_status try_status_ = (call);               \
    if (try_status_ != KAON_OK) return try_status_; \
  } while (0)

#endif
