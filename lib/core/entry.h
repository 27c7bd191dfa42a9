/* entry.h - where public calls begin and end, and which objects are at work. */
#pragma once

#include "lib/core/context_internal.h"

/* The first line of every public function that returns a status, after it has written NULL to the
 * addresses of new objects.
 *
 * - ctx: the context of the call, which is kept alive and is this thread's until the function
 *   returns. NULL: there is none. KAON_OF(object): the object's, NULL if the object is NULL.
 * - the others: pointers that must not be NULL; at least one.
 *
 * Drops the sentence of this thread's previous call. Fails with ARGUMENT if one of the pointers is
 * NULL; with STATE if the context is at work in another thread, or was created before a fork. */
#define KAON_ENTER(ctx, ...)                                                             \
  kaon_entry entry_of_call __attribute__((cleanup(kaon_leave))) = {NULL};                \
  KAON_TRY(kaon_enter(&entry_of_call, (ctx), __func__, #__VA_ARGS__,                     \
                      sizeof((const void *const[]){__VA_ARGS__}) / sizeof(const void *), \
                      (const void *const[]){__VA_ARGS__}))
#define KAON_OF(object) ((object) != NULL ? (object)->ctx : NULL)

typedef struct kaon_entry {
  kaon_context *ctx;
} kaon_entry;
kaon_status kaon_enter(kaon_entry *entry, const kaon_context *ctx, const char *function,
                       const char *names, size_t count, const void *const *needed);
void kaon_leave(kaon_entry *entry);

/* Around a call of the application's function. Calls of kaon inside it are calls of their own, with
 * sentences of their own. begin drops the sentence, and returns what end needs. */
int kaon_callback_begin(void);
void kaon_callback_end(int calls);

/* Marks an object as at work; the caller sets *at_work = 0 afterwards. Fails with STATE if it is at
 * work already: a function of the application, which the object calls, uses the object. Other
 * threads do not get here (KAON_ENTER). The sentence calls the object `kind` `name`. */
kaon_status kaon_begin_work(const kaon_context *ctx, int *at_work, const char *kind,
                            const char *name);
