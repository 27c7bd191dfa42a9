/* columns.h - columns of fine vectors, bases and coarse vectors as the transfer's kernels on the CPU
 * read and write them. A column of a block is `reals` rows of W lanes.
 *
 * A coarse block is W aggregates, one in each lane. Their sites number s are in W lanes of the fine
 * lattice. If the tables are aligned these are the lanes of one block, else they are read lane by
 * lane. Arithmetic and its order are the same for both. */
#pragma once

#include "lib/core/kernel.h"
#include "lib/cpu/team.h"
#include "lib/math/vreal.h"
#include "multigrid/transfer_ops.h"
#if KAON_IS_HALF
#include "lib/cpu/quantise.h"
#endif

/* Reals of the memory in which columns are kept between loops: 64 KiB. It holds a column of the
 * widest site, or more columns of smaller ones. */
enum { ROOM = (64 << 10) / sizeof(real), GROUP = 32 };
_Static_assert((int)ROOM >= (int)KAON_TRANSFER_REALS * KAON_W, "a column fits");
_Static_assert(4 * (int)KAON_TRANSFER_VECTORS <= (int)KAON_TRANSFER_REALS, "a coarse column fits");
typedef real room[ROOM] __attribute__((aligned(64)));

/* Columns and basis vectors that one loop multiplies, limited by registers: a pair of columns with
 * PAIR_VECTORS, or a lone column with LONE_VECTORS. */
enum { PAIR = 2, PAIR_VECTORS = 2, LONE_VECTORS = 4 };

/* Columns that are worked on together: open ones, as many as there is room for. */
typedef struct group {
  int count, column[GROUP];
} group;

/* The group that begins at column *k; *k becomes the next group's first. Empty: there is none. */
static inline group next_group(const kaon_transfer_args *args, int *k) {
  const int reals = args->fine_reals > 4 * args->vectors ? args->fine_reals : 4 * args->vectors;
  const int most = ROOM / (reals * KAON_W);
  group g = {0};
  for (; *k < args->nrhs && g.count < most && g.count < GROUP; ++*k)
    if (kaon_gate_open(&args->gate, *k)) g.column[g.count++] = *k;
  return g;
}

/* The factor from the stored values of a column to numbers, 1 but in half precision, where `scale`
 * points at those of its VL lanes. */
KAON_INLINE vreal step_of(const float *scale) {
#if KAON_IS_HALF
  return v_load_real(scale) * v_set(KAON_HALF_STEP);
#else
  (void)scale;
  return v_set(1);
#endif
}

/* a step, which is a but in half precision. */
KAON_INLINE vreal times_step(vreal a, vreal step) {
  return KAON_IS_HALF ? a * step : a;
}

/* Scales of column `column` of a block; NULL but in half precision. */
KAON_INLINE float *scales_of(const kaon_view *v, int64_t column) {
  return KAON_IS_HALF ? v->scale + column * KAON_W : NULL;
}

/* Column number `column` of all blocks, as numbers. */
KAON_INLINE void load_column(const kaon_view *v, int64_t column, int reals, real *x) {
  const stored *from = (const stored *)v->data + column * reals * KAON_W;
  const float *scale = scales_of(v, column);
  for (int part = 0; part < KAON_PARTS; part++) {
    const vreal step = step_of(scale);
    for (int i = part * KAON_VL; i < reals * KAON_W; i += KAON_W)
      v_store_real(x + i, times_step(v_load(from + i), step));
  }
}

KAON_INLINE void store_column(const kaon_view *v, int64_t column, int reals, const real *x) {
  stored *to = (stored *)v->data + column * reals * KAON_W;
#if KAON_IS_HALF
  vreal largest = v_set(0);
  for (int c = 0; c < reals; c++) largest = quantise_largest(largest, v_load_real(x + c * KAON_W));
  quantise_store(to, scales_of(v, column), x, reals, largest);
#else
  for (int i = 0; i < reals * KAON_W; i += KAON_VL) v_store_real(to + i, v_load_real(x + i));
#endif
}

/* Upper and lower components to the two halves, or back. */
KAON_INLINE void turn(real *x, int reals) {
  const vreal root = v_set(0.70710678118654752440);
  real *y = x + reals / 2 * KAON_W;
  for (int i = 0; i < reals / 2 * KAON_W; i += KAON_VL) {
    const vreal upper = v_load_real(x + i), lower = v_load_real(y + i);
    v_store_real(x + i, (upper + lower) * root);
    v_store_real(y + i, (upper - lower) * root);
  }
}

/* Sites number s of the W aggregates of a coarse block. Lanes without an aggregate read the first
 * site of the lattice; what becomes of it is not used. */
typedef struct sites {
  int aligned;
  int64_t block;         /* aligned */
  int64_t place[KAON_W]; /* else */
} sites;

KAON_INLINE sites sites_of(const kaon_aggregate_view *v, int64_t coarse_block, int s) {
  const int32_t *list = v->list + (coarse_block * v->sites + s) * KAON_W;
  sites at = {.aligned = v->aligned};
  if (v->aligned)
    at.block = list[0] / KAON_W;
  else
    for (int l = 0; l < KAON_W; l++) at.place[l] = list[l] < 0 ? 0 : list[l];
  return at;
}

/* Column `column` of these sites, of a vector of so many columns. It is copied to `copy` if the sites
 * are in several blocks. Its W scales, in half precision, likewise. */
KAON_INLINE const stored *site_rows(const kaon_view *v, const sites *at, int columns, int column,
                                    int reals, stored *copy) {
  const stored *data = v->data;
  if (at->aligned) return data + (at->block * columns + column) * reals * KAON_W;
  for (int l = 0; l < KAON_W; l++) {
    const int64_t block = at->place[l] / KAON_W, lane = at->place[l] % KAON_W;
    const stored *from = data + (block * columns + column) * reals * KAON_W + lane;
    for (int c = 0; c < reals; c++) copy[c * KAON_W + l] = from[c * KAON_W];
  }
  return copy;
}

KAON_INLINE const float *site_scales(const kaon_view *v, const sites *at, int columns, int column,
                                     float *copy) {
  if (!KAON_IS_HALF) return NULL;
  if (at->aligned) return v->scale + (at->block * columns + column) * KAON_W;
  for (int l = 0; l < KAON_W; l++) {
    const int64_t block = at->place[l] / KAON_W, lane = at->place[l] % KAON_W;
    copy[l] = v->scale[(block * columns + column) * KAON_W + lane];
  }
  return copy;
}

/* Prefetches `count` values into the second-level cache. */
KAON_INLINE void fetch(const stored *p, int count) {
#pragma GCC unroll 1
  for (int i = 0; i < count; i += 64 / (int)sizeof *p) __builtin_prefetch(p + i, 0, 2);
}

/* Parts of a job, `count` of them, shared out in order. */
typedef struct items {
  const kaon_transfer_args *args;
  void (*work)(const kaon_transfer_args *args, int64_t item, int slices);
  int64_t count;
  int slices;
} items;

static inline void items_share(const void *job, int t, int threads) {
  const items *i = job;
  for (int64_t n = i->count * t / threads; n < i->count * (t + 1) / threads; n++)
    i->work(i->args, n, i->slices);
}

/* Runs them on all threads, unless the basis is too small. */
static inline void items_run(const kaon_launch *launch, const items *job) {
  const kaon_transfer_args *a = job->args;
  const int64_t reals = a->aggregates.fine_blocks * KAON_W * a->fine_reals * a->vectors;
  kaon_team_run(kaon_team_of(launch, reals), items_share, job);
}
