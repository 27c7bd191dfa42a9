/* threads.h - whether as many threads can be at work as a context asks for. */
#ifndef KAON_LIB_THREADS_H
#define KAON_LIB_THREADS_H

#include <fenv.h>

#include <kaon/status.h>

/* KAON_ERR_MEMORY where the system refuses some of them: the OpenMP runtime would end the whole
 * process at its first parallel loop. Asks the system once for each larger number, by as many
 * threads more that begin and end; the runtime keeps those that the process has had. */
kaon_status kaon_threads_check(int threads);

/* Floating-point exceptions are not trapped between the two, in this thread and in the `threads` of
 * its OpenMP team, which have inherited the traps of whoever started them. Costs the team nothing
 * where the caller traps none. */
typedef struct kaon_traps {
  fenv_t caller;
  int trapped, threads;
} kaon_traps;
void kaon_traps_hold(kaon_traps *traps, int threads);
void kaon_traps_restore(const kaon_traps *traps);

/* Returns the status of `call`, during which they are not trapped in this thread and in the team of
 * the context. */
#define KAON_RETURN_UNTRAPPED(ctx, call)       \
  do {                                         \
    kaon_traps held;                           \
    kaon_traps_hold(&held, (ctx)->threads);    \
    const kaon_status status_of_call = (call); \
    kaon_traps_restore(&held);                 \
    return status_of_call;                     \
  } while (0)

#endif
