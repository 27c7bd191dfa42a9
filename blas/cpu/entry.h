/* entry.h - shared parts of the CPU's vector kernels: applying a formula of lib/math to a unit
 * (unit.h), sums over units, distribution of chunks to threads. The including file defines
 * OPERANDS, COEFFICIENTS and WRITTEN: the largest numbers of operands, coefficients and written
 * operands of its formulas. */
#pragma once

#include "blas/cpu/unit.h"
#include "lib/cpu/reduce.h"

typedef void formula(vcomplex *v, const vcomplex *c);
typedef void chunk_work(const kaon_launch *launch, const kaon_update_args *args, int64_t begin,
                        int64_t end, double *partial);

KAON_INLINE vcomplex coefficient(const kaon_update_args *args, int i, int column) {
  const kaon_coefficients *c = &args->c;
  if (c->slot[i] == KAON_NO_SLOT) return (vcomplex){v_set(c->sign[i]), v_set(0)};
  const double *slot = c->state[column].slot[c->slot[i]];
  return (vcomplex){v_set(c->sign[i] * slot[0]),
                    v_set(args->shape.complex_space ? c->sign[i] * slot[1] : 0)};
}

/* Applies formula f to components c (and c + 1) of a part. reads, writes: bit masks of operands. */
KAON_INLINE void update_pair(unit *u, const vcomplex *c, int64_t i, const int pair, const int reads,
                             const int writes, formula *f) {
  vcomplex v[OPERANDS];
  for (int o = 0; o < OPERANDS; o++)
    if (reads >> o & 1) v[o] = unit_pair(&u[o], i, pair);
  f(v, c);
  for (int o = 0; o < OPERANDS; o++)
    if (writes >> o & 1) {
      unit_store(&u[o], i, v[o].re);
      if (pair) unit_store(&u[o], i + KAON_W, v[o].im);
    }
}

KAON_INLINE void update_components(unit *u, const vcomplex *c, int ncomp, const int reads,
                                   const int writes, formula *f) {
  int k = 0;
  for (; k + 1 < ncomp; k += 2)
    for (int part = 0; part < KAON_PARTS; part++)
      update_pair(u, c, k * KAON_W + part * KAON_VL, 1, reads, writes, f);
  if (k < ncomp)
    for (int part = 0; part < KAON_PARTS; part++)
      update_pair(u, c, k * KAON_W + part * KAON_VL, 0, reads, writes, f);
}

/* shared: the operand that columns share, or -1. */
KAON_INLINE void update_unit(const kaon_update_args *args, span at, const int shared,
                             const int reads, const int writes, const int ncoefficients,
                             formula *f) {
  const kaon_shape *shape = &args->shape;
  unit u[OPERANDS];
  vcomplex c[COEFFICIENTS];
  for (int i = 0; i < OPERANDS; i++)
    if ((reads | writes) >> i & 1)
      u[i] = i == shared ? unit_shared(args, i, at.block, at.column)
                         : unit_at(args, i, at.block, at.column);
  for (int i = 0; i < ncoefficients; i++) c[i] = coefficient(args, i, at.column);
#if KAON_IS_HALF
  scratch results[WRITTEN];
  int count = 0;
  for (int i = 0; i < OPERANDS; i++)
    if (writes >> i & 1) u[i].target = results[count++];
#endif
  for (int j = 0;; j++) {
    update_components(u, c, shape->ncomp, reads, writes, f);
    if (span_end(at, j)) break;
    for (int i = 0; i < OPERANDS; i++)
      if ((reads | writes) >> i & 1)
        unit_step(&u[i], shape, i != shared ? shape->nrhs : args->shared > 1 ? args->shared : 1);
  }
#if KAON_IS_HALF
  for (int i = 0; i < OPERANDS; i++)
    if (writes >> i & 1)
      quantise_store(u[i].data, u[i].scale, u[i].target, shape->ncomp, u[i].largest);
#endif
}

KAON_INLINE void unit_dot(const kaon_update_args *args, int x, int y, span at, double *sum) {
  unit_dots(args, x, 1, y, at, sum);
}

/* Adds (a, b) over a span to slot s of `partial` if that sum is wanted. a == b: the norm. */
KAON_INLINE void unit_sum(const kaon_update_args *args, int s, int a, int b, span at,
                          double *partial) {
  if (args->sum.slot[s] == KAON_NO_SLOT || args->v[a].data == NULL) return;
  if (a == b)
    partial[2 * s] += unit_norm(args, a, at);
  else
    unit_dot(args, a, b, at, partial + 2 * s);
}

/* Runs the statements for all spans of open columns in blocks [begin, end), with the span in `at`.
 * Spans of a column follow one another. If spans are single blocks, a separate copy of the
 * statements lets the compiler remove loops over blocks. */
#define EACH_SPAN(args, begin, end, ...)                                   \
  do {                                                                     \
    const kaon_shape *const each = &(args)->shape;                         \
    if (span_most(each) == 1) {                                            \
      for (int64_t block = begin; block < (end); block++)                  \
        for (int k = 0; k < each->nrhs; k++) {                             \
          const span at = {block, k, 1};                                   \
          if (!kaon_gate_open(&(args)->gate, k)) continue;                 \
          __VA_ARGS__                                                      \
        }                                                                  \
    } else {                                                               \
      for (int64_t block = begin; block < (end); block += span_most(each)) \
        for (int k = 0; k < each->nrhs; k++) {                             \
          const span at = span_of(each, block, end, k);                    \
          if (!kaon_gate_open(&(args)->gate, k)) continue;                 \
          __VA_ARGS__                                                      \
        }                                                                  \
    }                                                                      \
  } while (0)

/* Chunks consist of whole runs of blocks. A run is one block if blocks have many components.
 * Otherwise it has enough blocks to be about as long as a block of spinors, so that a chunk of a
 * sparse system's vector justifies the cost of its sums. */
static inline int64_t blocks_of_run(const kaon_update_args *args) {
  const int ncomp = args->shape.ncomp;
  return ncomp > 2 || ncomp < 1 ? 1 : 64 / ncomp;
}

/* Number of runs, from which chunks are made (lib/cpu/reduce.h). */
static inline int64_t runs_in(const kaon_update_args *args) {
  return (args->shape.nblocks + blocks_of_run(args) - 1) / blocks_of_run(args);
}

/* First block of a chunk. */
static inline int64_t run_begin(const kaon_update_args *args, int chunk) {
  const int64_t block = kaon_chunk_begin(runs_in(args), chunk) * blocks_of_run(args);
  return block < args->shape.nblocks ? block : args->shape.nblocks;
}

/* Works on the chunks of thread t. */
static inline void run_share(const kaon_launch *launch, const kaon_update_args *args, int nslots,
                             chunk_work *work, int t, int threads) {
  const int64_t runs = runs_in(args);
  const int nrhs = args->shape.nrhs, last = kaon_chunk_of_thread(runs, t + 1, threads);
  for (int chunk = kaon_chunk_of_thread(runs, t, threads); chunk < last; chunk++) {
    double *partial = NULL;
    if (args->sum.state != NULL && nslots > 0) {
      kaon_partial_clear(launch->partials, chunk, nrhs, nslots);
      partial = kaon_partial(launch->partials, chunk, 0, nrhs, nslots);
    }
    work(launch, args, run_begin(args, chunk), run_begin(args, chunk + 1), partial);
  }
  v_stream_fence();
}

/* Distributes the chunks to the threads. `work` gets the blocks of a chunk and its cleared partial
 * sums, or NULL if no sums are wanted. */
static inline void run_chunks(const kaon_launch *launch, const kaon_update_args *args, int nslots,
                              chunk_work *work) {
  const int threads = unit_team(launch, &args->shape);
  if (threads == 1) {
    run_share(launch, args, nslots, work, 0, 1);
    return;
  }
#pragma omp parallel for num_threads(threads) schedule(static)
  for (int t = 0; t < threads; t++) run_share(launch, args, nslots, work, t, threads);
}

/* Defines an entry of the table: its chunks, then the sums of `nslots` slots and the recurrence. */
#define ENTRY(entry, nslots)                                                                       \
  static void entry(const kaon_launch *launch, const kaon_update_args *args) {                     \
    run_chunks(launch, args, nslots, entry##_chunk);                                               \
    kaon_reduce_finish(launch->partials, runs_in(args), args->shape.nrhs, &args->gate, &args->sum, \
                       nslots);                                                                    \
  }
