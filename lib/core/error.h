/* error.h - how library code reports a failure, in one line: `return kaon_fail(ctx, KAON_ERR_SHAPE,
 * "...", ...)`. */
#ifndef KAON_LIB_ERROR_H
#define KAON_LIB_ERROR_H

#include <kaon/status.h>

#if defined(__GNUC__)
#define KAON_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#else
#define KAON_PRINTF(fmt, args)
#endif

/* Stores the formatted message for (ctx, this thread) and returns `status`. ctx may be NULL. The
 * message ends without a newline. */
kaon_status kaon_fail(const kaon_context *ctx, kaon_status status, const char *format, ...)
    KAON_PRINTF(3, 4);

/* Reads or sets whether all ranks know of the last failure on ctx (kaon_agree). */
int kaon_error_agreed(const kaon_context *ctx);
void kaon_error_mark_agreed(const kaon_context *ctx, int agreed);

enum { KAON_SENTENCE = 1024 }; /* bytes of a message, with its terminator */

/* Saves the message of a failure while cleaning up, so that a second failure does not replace it.
 * Save before the calls that may fail, restore after them. */
typedef struct kaon_saved_error {
  char text[KAON_SENTENCE];
  int agreed;
} kaon_saved_error;
void kaon_error_save(const kaon_context *ctx, kaon_saved_error *saved);
void kaon_error_restore(const kaon_context *ctx, const kaon_saved_error *saved);

/* Drops this thread's message for ctx. A new context may have the address of a destroyed one. */
void kaon_error_clear(const kaon_context *ctx);

/* Returns early with the status of the failing call, whose message is already stored. */
#define KAON_TRY(call)                              \
  do {                                              \
    kaon_status try_status_ = (call);               \
    if (try_status_ != KAON_OK) return try_status_; \
  } while (0)

#endif
