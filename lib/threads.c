/* threads.c - threads that begin, wait for one another and end. Contract: threads.h. */
#include "lib/threads.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "lib/context.h"

static pthread_mutex_t asking = PTHREAD_MUTEX_INITIALIZER;
static int had = 1; /* threads of this process that there were room for */

/* All are there at once: each waits until the lock is free. */
static void *wait_for(void *lock) {
  pthread_mutex_lock(lock);
  pthread_mutex_unlock(lock);
  return NULL;
}

/* Threads beside this one that could be started, up to `wanted`; what refused the next, in *why. */
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

kaon_status kaon_threads_check(int threads) {
  kaon_status status = KAON_OK;
  pthread_mutex_lock(&asking);
  pthread_t *ids = threads > had ? malloc((size_t)threads * sizeof *ids) : NULL;
  if (threads > had) {
    int why = 0;
    const int there = 1 + (ids != NULL ? start(ids, threads - 1, &why) : 0);
    if (there == threads)
      had = threads;
    else
      status = kaon_fail(NULL, KAON_ERR_MEMORY,
                         "context: %d threads are asked for, but the system starts %d (%s); ask "
                         "for fewer, or raise the limits of processes and memory (ulimit -u, -v)",
                         threads, there, why != 0 ? strerror(why) : "no host memory");
  }
  free(ids);
  pthread_mutex_unlock(&asking);
  return status;
}
