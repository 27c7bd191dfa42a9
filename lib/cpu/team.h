/* team.h - how many threads take part in a call: all of the context's or the caller alone, and
 * never a number between. A team of another size than the last one costs more than small work does:
 * libgomp ends the threads that it has too many of and starts them anew for the next larger team.
 * Nor is a team of one asked for, which would be made anew as well. */
#ifndef KAON_LIB_CPU_TEAM_H
#define KAON_LIB_CPU_TEAM_H

#include "lib/cpu/reduce.h"
#include "lib/core/launch.h"

/* worthwhile: the work outweighs waking the others and waiting for them, 3 to 4 us with two threads
 * that have not gone to sleep. */
static inline int kaon_team(const kaon_launch *launch, int worthwhile) {
  return worthwhile ? launch->threads : 1;
}

/* Numbers of a vector from which on all threads take part. All of a solver's operations go by the
 * same number, whatever the precision: a team that sits out every other operation goes to sleep,
 * and is woken in 25 us. Two threads are as fast as one at 8000 to 10000 numbers of laplace2d:N and
 * laplace3d:N (kaon bench krylov --threads 1, 2). */
enum { KAON_TEAM_REALS = 8192 };

static inline int kaon_team_of(const kaon_launch *launch, int64_t reals) {
  return kaon_team(launch, reals >= KAON_TEAM_REALS);
}

/* Share t of so many of `job`. */
typedef void kaon_broadcast(const void *job, int t, int threads);

static inline void kaon_team_run(int threads, kaon_broadcast *share, const void *job) {
  if (threads == 1) {
    share(job, 0, 1);
    return;
  }
#pragma omp parallel for num_threads(threads) schedule(static)
  for (int t = 0; t < threads; t++) share(job, t, threads);
}

/* Chunks of a vector that are shared out to a team, each with its cleared partial sums. */
typedef struct kaon_chunks {
  int64_t nblocks;
  int nrhs, nslots;
  double *partials; /* NULL: no sums wanted, and none are handed on */
  void (*work)(const void *job, int chunk, double *partial);
  const void *job;
} kaon_chunks;

static inline void kaon_chunks_share(const void *chunks, int t, int threads) {
  const kaon_chunks *c = chunks;
  const int last = kaon_chunk_of_thread(c->nblocks, t + 1, threads);
  for (int chunk = kaon_chunk_of_thread(c->nblocks, t, threads); chunk < last; chunk++) {
    double *partial = NULL;
    if (c->partials != NULL) {
      kaon_partial_clear(c->partials, chunk, c->nrhs, c->nslots);
      partial = kaon_partial(c->partials, chunk, 0, c->nrhs, c->nslots);
    }
    c->work(c->job, chunk, partial);
  }
}

#endif
