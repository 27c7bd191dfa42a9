/* threads.c - starts threads to test whether the system grants them, counts forks, and holds
 * floating-point traps. Contract: threads.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* fegetexcept */
#endif
#include "lib/core/threads.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "lib/core/context_internal.h"

static pthread_mutex_t asking = PTHREAD_MUTEX_INITIALIZER;
static int had = 1; /* threads that this process is known to be able to start */
static int forks, team_lost, watching;

static void in_child(void) {
  pthread_mutex_init(&asking, NULL); /* another thread may have held it */
  forks++;
  team_lost |= had > 1;
}

/* Keeps the thread alive until the lock is released, so that all threads exist at once. */
static void *wait_for(void *lock) {
  pthread_mutex_lock(lock);
  pthread_mutex_unlock(lock);
  return NULL;
}

/* Returns how many additional threads could be started, up to `wanted`; *why: the error of the
 * first that could not. */
static int start(pthread_t *threads, int wanted, int *why) {
  pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  int started = 0;
  *why = 0;
  pthread_mutex_lock(&lock);
  while (started < wanted && *why == 0) {
    *why = pthread_create(&threads[started], NULL, wait_for, &lock);
    if (*why == 0) started++;
  }
  pthread_mutex_unlock(&lock);
  for (int i = 0; i < started; i++) pthread_join(threads[i], NULL);
  pthread_mutex_destroy(&lock);
  return started;
}

int kaon_forks(void) {
  return forks;
}

int kaon_team_lost(void) {
  return team_lost;
}

kaon_status kaon_threads_check(int threads) {
  kaon_status status = KAON_OK;
  if (threads > 1 && team_lost)
    return kaon_fail(NULL, KAON_ERR_STATE,
                     "context: %d threads are asked for, but this process was forked from one that "
                     "used several, and OpenMP would wait for threads that exist only there; ask "
                     "for 1 thread, or start the program afresh by exec",
                     threads);
  pthread_mutex_lock(&asking);
  if (!watching) watching = pthread_atfork(NULL, NULL, in_child) == 0;
  pthread_t *ids = threads > had ? malloc((size_t)threads * sizeof *ids) : NULL;
  if (threads > had) { /* the runtime keeps threads that it has started */
    int why = 0;
    const int there = had + (ids != NULL ? start(ids, threads - had, &why) : 0);
    if (there == threads)
      had = threads;
    else
      status = kaon_fail(NULL, KAON_ERR_MEMORY,
                         "context: %d threads are asked for, but the system starts %d (%s); ask "
                         "for fewer, or raise the limits of processes and memory (ulimit -u, -v)",
                         threads, there, why != 0 ? strerror(why) : "out of host memory");
  }
  free(ids);
  pthread_mutex_unlock(&asking);
  return status;
}

#ifdef __GLIBC__
static int traps_now(void) {
  return fegetexcept();
}

static void trap(int exceptions) {
  feclearexcept(FE_ALL_EXCEPT);
  fedisableexcept(FE_ALL_EXCEPT);
  if (exceptions != 0) feenableexcept(exceptions);
}
#else
static int traps_now(void) {
  return 0; /* not available */
}

static void trap(int exceptions) {
  (void)exceptions;
}
#endif

static void trap_in_team(int threads, int exceptions) {
#pragma omp parallel num_threads(threads)
  trap(exceptions);
}

void kaon_traps_hold(kaon_traps *traps, int threads) {
  traps->trapped = traps_now();
  traps->threads = threads;
  feholdexcept(&traps->caller);
  if (traps->trapped > 0) trap_in_team(threads, 0);
}

void kaon_traps_restore(const kaon_traps *traps) {
  if (traps->trapped > 0) trap_in_team(traps->threads, traps->trapped);
  fesetenv(&traps->caller);
}
