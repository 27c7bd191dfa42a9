/* chunks.h - runs a function over the fixed chunks of lib/cpu/reduce.h on all threads, and adds up
 * their results. A chunk is worked on by one thread and depends only on the number of blocks. So
 * sums are the same for any number of threads. */
#pragma once

#include "lib/cpu/reduce.h"

/* Works on blocks [begin, end). `partial`: the results of this chunk, initially zero. */
typedef void chunk_body(const void *args, int64_t begin, int64_t end, double *partial);

/* results: number of doubles in each chunk's result, at most KAON_REDUCE_MAX. */
static inline void chunks_run(const kaon_launch *launch, int64_t nblocks, int results,
                              chunk_body *body, const void *args) {
  const int count = kaon_chunk_count(nblocks);
#pragma omp parallel for num_threads(launch->threads) schedule(static)
  for (int chunk = 0; chunk < count; chunk++) {
    double *partial = launch->partials + (size_t)chunk * (size_t)results;
    for (int i = 0; i < results; i++) partial[i] = 0;
    body(args, kaon_chunk_begin(nblocks, chunk), kaon_chunk_begin(nblocks, chunk + 1), partial);
  }
}

static inline void chunks_sum(const kaon_launch *launch, int64_t nblocks, int results,
                              double *total) {
  const int count = kaon_chunk_count(nblocks);
  for (int i = 0; i < results; i++) total[i] = 0;
  for (int chunk = 0; chunk < count; chunk++)
    for (int i = 0; i < results; i++)
      total[i] += launch->partials[(size_t)chunk * (size_t)results + (size_t)i];
}
