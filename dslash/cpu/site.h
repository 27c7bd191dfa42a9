/* site.h - what the CPU's Dirac kernels do at a site besides hopping: load a spinor, apply clover
 * blocks, sum, store or quantise. The functions work on a part of a block: KAON_VL lanes. */
#pragma once

#include "dslash/cpu/cache.h"
#include "lib/core/kernel.h"
#include "lib/cpu/reduce.h"
#include "lib/math/clover.h"
#include "lib/cpu/wide.h"
#if KAON_IS_HALF
#include "lib/cpu/quantise.h"
#else
#include "lib/math/half.h"
#endif

/* A result waiting to be stored past the cache. Processors have few buffers for such stores, and a
 * burst stalls the core. So a result waits in first-level cache and is stored in pieces while the
 * next one is computed. */
typedef struct site_late {
  stored *to; /* NULL: nothing waits */
  stored value[24 * KAON_VL] __attribute__((aligned(64)));
} site_late;

/* Parameters for finishing a result, the same for all sites of a call. */
typedef struct site_plan {
  const kaon_stencil *stencil;
  int nrhs;
  int tail;         /* valid lanes of the last block */
  int upper, lower; /* offsets of a spinor's halves; exchanged for the dagger */
  int stream;       /* store past the cache */
  const stored *clover;
  const float *clover_scale;
  kaon_view out, w;
  kaon_sum sum;
  int norm, dot; /* the requested sums */
} site_plan;

KAON_INLINE int64_t site_spinor(const site_plan *plan, int64_t block, int part, int column) {
  return (block * plan->nrhs + column) * 24 * KAON_W + part * KAON_VL;
}

/* The value of one unit of a half spinor's integers; 1 in other precisions. */
KAON_INLINE vreal site_unit(const site_plan *plan, const float *scale, int64_t block, int part,
                            int column) {
#if KAON_IS_HALF
  const float *p = scale + (block * plan->nrhs + column) * KAON_W + part * KAON_VL;
  return v_load_float(p) * v_set(KAON_HALF_STEP);
#else
  (void)plan, (void)scale, (void)block, (void)part, (void)column;
  return v_set(1);
#endif
}

KAON_INLINE void site_load(const site_plan *plan, kaon_view view, int64_t block, int part,
                           int column, vspinor *d) {
  const stored *p = (const stored *)view.data + site_spinor(plan, block, part, column);
  for (int s = 0; s < 4; s++)
    for (int c = 0; c < 3; c++)
      d->s[s][c] = half_load(p + (s < 2 ? plan->upper : plan->lower), s % 2, c);
#if KAON_IS_HALF
  const vreal unit = site_unit(plan, view.scale, block, part, column);
  for (int s = 0; s < 4; s++)
    for (int c = 0; c < 3; c++) d->s[s][c] = c_scale(d->s[s][c], unit);
#endif
}

/* Prefetches pieces begin .. end - 1 of eight: of a spinor, or of a clover block. */
KAON_INLINE void site_fetch_spinor(const site_plan *plan, kaon_view view, int64_t block, int part,
                                   int column, const int begin, const int end, const int near) {
  const stored *p = (const stored *)view.data + site_spinor(plan, block, part, column);
  cache_fetch(p, 3 * begin, 3 * end, near);
#if KAON_IS_HALF
  if (begin == 0) __builtin_prefetch(view.scale + (block * plan->nrhs + column) * KAON_W);
#endif
}

KAON_INLINE const stored *site_clover_block(const site_plan *plan, int64_t block, int part) {
  return plan->clover + block * KAON_CLOVER_REALS * KAON_W + part * KAON_VL;
}

KAON_INLINE void site_fetch_clover(const site_plan *plan, int64_t block, int part, const int begin,
                                   const int end, const int near) {
  cache_fetch(site_clover_block(plan, block, part), 9 * begin, 9 * end, near);
#if KAON_IS_HALF
  if (begin < 2) __builtin_prefetch(plan->clover_scale + (block * 2 + begin) * KAON_W);
#endif
}

/* d = 2 C d */
KAON_INLINE void site_clover(const site_plan *plan, int64_t block, int part, vspinor *d) {
  const stored *p = site_clover_block(plan, block, part);
  vreal plus = v_set(1), minus = plus;
#if KAON_IS_HALF
  const float *scale = plan->clover_scale + block * 2 * KAON_W + part * KAON_VL;
  plus = v_load_float(scale) * v_set(KAON_HALF_STEP);
  minus = v_load_float(scale + KAON_W) * v_set(KAON_HALF_STEP);
#endif
  clover_apply_twice(p, plus, minus, d);
}

KAON_INLINE double site_total(vreal a) {
  return w_sum(w_from(a));
}

/* Adds |d|^2 and conj(w) d to a column's sums (re, im of slot 0, then of slot 1). */
KAON_INLINE void site_sums(const site_plan *plan, int64_t block, int part, int column,
                           const vspinor *d, double *sums) {
  if (plan->norm) sums[0] += site_total(spinor_norm2(d));
  if (plan->dot) {
    vspinor w;
    site_load(plan, plan->w, block, part, column, &w);
    const vcomplex dot = spinor_dot(&w, d);
    sums[2] += site_total(dot.re);
    sums[3] += site_total(dot.im);
  }
}

KAON_INLINE void site_write(stored *p, vreal a) {
#if KAON_IS_HALF
  v_store_int16(p, a);
#else
  v_store_real(p, a);
#endif
}

KAON_INLINE void site_write_all(const site_plan *plan, stored *p, const int stride,
                                const vspinor *d) {
  for (int s = 0; s < 4; s++)
    for (int c = 0; c < 3; c++) {
      const int half = (s < 2 ? plan->upper : plan->lower) / KAON_W;
      stored *q = p + (half + (s % 2 * 3 + c) * 2) * stride;
      site_write(q, d->s[s][c].re);
      site_write(q + stride, d->s[s][c].im);
    }
}

/* Stores one piece (0 .. 7) of the waiting result. Pieces end at cache line boundaries. */
enum { SITE_PIECES = 8 };

KAON_INLINE int site_piece(const int piece) {
  const int line = KAON_VL * sizeof(stored) < 64 ? 64 / (KAON_VL * (int)sizeof(stored)) : 1;
  const int begin = (piece * 24 / SITE_PIECES + line - 1) / line * line;
  return begin < 24 ? begin : 24;
}

KAON_INLINE void site_drain(const site_late *late, const int piece) {
  if (late->to == NULL) return;
  for (int c = site_piece(piece); c < site_piece(piece + 1); c++)
    v_stream_copy(late->to + c * KAON_W, late->value + c * KAON_VL);
}

/* Stores all that still waits. */
KAON_INLINE void site_drain_all(site_late *late) {
  for (int piece = 0; piece < SITE_PIECES; piece++) site_drain(late, piece);
  late->to = NULL;
}

KAON_INLINE void site_store(const site_plan *plan, int64_t block, int part, int column,
                            const vspinor *d, site_late *late) {
  stored *p = (stored *)plan->out.data + site_spinor(plan, block, part, column);
  if (plan->stream) {
    late->to = p;
    site_write_all(plan, late->value, KAON_VL, d);
  } else {
    site_write_all(plan, p, KAON_W, d);
  }
}

#if KAON_IS_HALF
/* Scales d so that its largest component is 32767, and stores the scale. A NaN or an infinity
 * becomes the scale. */
KAON_INLINE void site_quantise(const site_plan *plan, int64_t block, int part, int column,
                               vspinor *d) {
  vreal most[4]; /* four independent chains, to hide the latency of the maximum */
  for (int s = 0; s < 4; s++) {
    most[s] = v_set(0);
    for (int c = 0; c < 3; c++)
      most[s] = quantise_largest(quantise_largest(most[s], d->s[s][c].re), d->s[s][c].im);
  }
  const vreal largest =
      quantise_largest(quantise_largest(most[0], most[1]), quantise_largest(most[2], most[3]));
  float *scale = plan->out.scale + (block * plan->nrhs + column) * KAON_W + part * KAON_VL;
  v_store_real(scale, largest);
  const vreal factor = v_set(KAON_HALF_MAX) / v_max(largest, v_set(KAON_HALF_TINY));
  for (int s = 0; s < 4; s++)
    for (int c = 0; c < 3; c++) d->s[s][c] = c_scale(d->s[s][c], factor);
}
#endif

/* The end of every kernel: sets masked lanes to 0, sums, and stores. late: must have no waiting
 * result. */
KAON_INLINE void site_finish(const site_plan *plan, int64_t block, int part, int column, vspinor *d,
                             double *sums, site_late *late) {
  if (block == plan->stencil->nblocks - 1 && plan->tail < KAON_W)
    for (int s = 0; s < 4; s++)
      for (int c = 0; c < 3; c++) {
        d->s[s][c].re = v_mask_tail(d->s[s][c].re, plan->tail - part * KAON_VL);
        d->s[s][c].im = v_mask_tail(d->s[s][c].im, plan->tail - part * KAON_VL);
      }
  if (sums) site_sums(plan, block, part, column, d, sums);
#if KAON_IS_HALF
  site_quantise(plan, block, part, column, d);
#endif
  site_store(plan, block, part, column, d, late);
}

/* The plan for results on the sites of `parity`. */
static inline site_plan site_plan_make(const kaon_launch *launch, const kaon_stencil *stencil,
                                       int parity, int nrhs, kaon_view out, const kaon_sum *sum) {
  site_plan plan = {.stencil = stencil, .nrhs = nrhs, .out = out, .sum = *sum};
  plan.tail = stencil->tail_lanes[parity];
  plan.lower = 12 * KAON_W;
  plan.stream = may_stream(launch, 24);
  plan.norm = sum->state != NULL && sum->slot[0] != KAON_NO_SLOT;
  return plan;
}
