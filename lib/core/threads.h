/* threads.h - checks that the threads which a context asks for can run; counts forks; holds
 * floating-point traps. */
#pragma once

#include <fenv.h>

#include <kaon/status.h>

/* Fails with KAON_ERR_MEMORY if the system cannot start this number of threads. Without the
 * check, the OpenMP runtime would end the process at its first parallel loop. Each larger number is
 * tested once, by starting and joining the additional threads; the runtime keeps those that it has
 * already started. Fails with KAON_ERR_STATE if there are several and the team is lost. */
kaon_status kaon_threads_check(int threads);

/* Forks since the first check that led to this process. What was made at a smaller number belongs
 * to another process. */
int kaon_forks(void);
/* 1: such a fork left OpenMP's threads behind, so a parallel loop of several would never end. */
int kaon_team_lost(void);

/* Between hold and restore, floating-point exceptions are not trapped, neither in this thread nor
 * in the `threads` of its OpenMP team, which inherit the traps of the thread that started them.
 * Costs the team nothing if the caller traps none. */
typedef struct kaon_traps {
  fenv_t caller;
  int trapped, threads;
} kaon_traps;
void kaon_traps_hold(kaon_traps *traps, int threads);
void kaon_traps_restore(const kaon_traps *traps);

/* Returns the status of `call`, which runs without traps in this thread and in the context's
 * team. */
#define KAON_RETURN_UNTRAPPED(ctx, call)       \
  do {                                         \
    kaon_traps held;                           \
    kaon_traps_hold(&held, (ctx)->threads);    \
    const kaon_status status_of_call = (call); \
    kaon_traps_restore(&held);                 \
    return status_of_call;                     \
  } while (0)
