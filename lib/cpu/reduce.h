/* reduce.h - how all CPU kernels distribute their blocks to threads and add up sums. Blocks are
 * divided into fixed chunks, which depend only on their number. One thread works on a chunk, in
 * block order. Its sums are stored in `partials` and added in chunk order at the end. So sums
 * depend neither on the number of threads nor on their timing. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/core/kernel.h"
#include "lib/core/launch.h"
#include "lib/math/steps/recurrence.h"

/* Runs recurrence `id` on a column (recurrences.c). */
void KAON_EXPORT_ISA(kaon_run_recurrence)(int id, kaon_column_state *state);

/* The number of chunks of `nblocks` blocks, and the first block of a chunk (chunk == count: the
 * end). */
static inline int kaon_chunk_count(int64_t nblocks) {
  return nblocks < KAON_REDUCE_CHUNKS ? (int)nblocks : KAON_REDUCE_CHUNKS;
}

static inline int64_t kaon_chunk_begin(int64_t nblocks, int chunk) {
  return nblocks * chunk / (kaon_chunk_count(nblocks) > 0 ? kaon_chunk_count(nblocks) : 1);
}

/* The first chunk of a thread (thread == threads: the end). The chunks of a thread are contiguous,
 * so it touches the same memory in every kernel. */
static inline int kaon_chunk_of_thread(int64_t nblocks, int thread, int threads) {
  return (int)((int64_t)kaon_chunk_count(nblocks) * thread / threads);
}

static inline int kaon_gate_open(const kaon_gate *gate, int column) {
  return gate->state == NULL || (gate->state[column].gate & gate->mask) != 0;
}

/* The same for kernels that process inner columns as columns of their own. */
static inline int kaon_inner_gate_open(const kaon_gate *gate, int column) {
  return kaon_gate_open(gate, gate->columns > 0 ? column % gate->columns : column);
}

/* The partial sums of a chunk: 2 doubles (re, im) for each of `nslots` slots of each column. */
static inline double *kaon_partial(double *partials, int chunk, int column, int nrhs, int nslots) {
  return partials + ((size_t)chunk * (size_t)nrhs + (size_t)column) * (size_t)(2 * nslots);
}

static inline void kaon_partial_clear(double *partials, int chunk, int nrhs, int nslots) {
  double *p = kaon_partial(partials, chunk, 0, nrhs, nslots);
  for (int i = 0; i < 2 * nslots * nrhs; i++) p[i] = 0;
}

/* Adds the chunks in order, writes the wanted slots of every open column and runs its recurrence.
 * One thread calls it after all chunks are done. */
static inline void kaon_reduce_finish_chunks(const double *partials, int count, int nrhs,
                                             const kaon_gate *gate, const kaon_sum *sum,
                                             int nslots) {
  if (sum->state == NULL) return;
  for (int k = 0; k < nrhs; k++) {
    if (!kaon_gate_open(gate, k)) continue;
    double total[KAON_REDUCE_MAX] = {0};
    for (int chunk = 0; chunk < count; chunk++) {
      const double *p =
          partials + ((size_t)chunk * (size_t)nrhs + (size_t)k) * (size_t)(2 * nslots);
      for (int i = 0; i < 2 * nslots; i++) total[i] += p[i];
    }
    for (int s = 0; s < nslots; s++) {
      if (sum->slot[s] == KAON_NO_SLOT) continue;
      sum->state[k].slot[sum->slot[s]][0] = total[2 * s];
      sum->state[k].slot[sum->slot[s]][1] = total[2 * s + 1];
    }
    if (sum->then != 0) KAON_EXPORT_ISA(kaon_run_recurrence)(sum->then, &sum->state[k]);
  }
}

static inline void kaon_reduce_finish(const double *partials, int64_t nblocks, int nrhs,
                                      const kaon_gate *gate, const kaon_sum *sum, int nslots) {
  kaon_reduce_finish_chunks(partials, kaon_chunk_count(nblocks), nrhs, gate, sum, nslots);
}
