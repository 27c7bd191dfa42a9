/* team.h - how many threads take part in a call: all threads of the context, or only the caller,
 * and nothing in between. Changing the size of an OpenMP team costs more than small work: libgomp
 * ends surplus threads and creates them again for the next larger team. A team of one is not
 * requested either, since the next larger team would be created anew. */
#pragma once

#include "lib/cpu/reduce.h"
#include "lib/core/launch.h"

/* worthwhile: the work outweighs waking the other threads and waiting for them, which takes a few
 * microseconds if they have not gone to sleep. */
static inline int kaon_team(const kaon_launch *launch, int worthwhile) {
  return worthwhile ? launch->threads : 1;
}

/* Length of a vector, in reals, from which all threads take part. All operations of a solver use
 * the same limit, whatever the precision. A team that skips every other operation would go to
 * sleep, and waking it takes much longer. */
enum { KAON_TEAM_REALS = 8192 };

static inline int kaon_team_of(const kaon_launch *launch, int64_t reals) {
  return kaon_team(launch, reals >= KAON_TEAM_REALS);
}

/* Works on part t of `threads` parts of `job`. */
typedef void kaon_broadcast(const void *job, int t, int threads);

static inline void kaon_team_run(int threads, kaon_broadcast *share, const void *job) {
  if (threads == 1) {
    share(job, 0, 1);
    return;
  }
#pragma omp parallel for num_threads(threads) schedule(static)
  for (int t = 0; t < threads; t++) share(job, t, threads);
}

/* Chunks of a vector, distributed to a team, each with its cleared partial sums. */
typedef struct kaon_chunks {
  int64_t nblocks;
  int nrhs, nslots;
  double *partials; /* NULL: no sums wanted; `work` gets NULL */
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
