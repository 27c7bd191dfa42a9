/* colour.h - what the CPU's staggered kernels do at a site besides hopping: load and store three
 * colours of VL sites, sum, and round to half. It corresponds to site.h for spinors. */
#pragma once

#include "dslash/cpu/cache.h"
#include "dslash/staggered/staggered_ops.h"
#include "lib/core/kernel.h"
#include "lib/cpu/reduce.h"
#include "lib/math/staggered_hop.h"
#include "lib/cpu/wide.h"
#if KAON_IS_HALF
#include "lib/cpu/quantise.h"
#else
#include "lib/math/half.h"
#endif

/* Index of the first real of VL sites in a column; in half also of the scale. */
KAON_INLINE int64_t colour_at(int nrhs, int64_t block, int part, int column) {
  return (block * nrhs + column) * KAON_STAGGERED_REALS * KAON_W + part * KAON_VL;
}

KAON_INLINE int64_t colour_scale_at(int nrhs, int64_t block, int part, int column) {
  return (block * nrhs + column) * KAON_W + part * KAON_VL;
}

/* The values as stored; half: the integers. */
KAON_INLINE vcolour colour_raw(const stored *p) {
  vcolour d;
  for (int i = 0; i < 3; i++) d.c[i] = c_load(p + 2 * i * KAON_W);
  return d;
}

KAON_INLINE vcolour colour_load(kaon_view v, int nrhs, int64_t block, int part, int column) {
  vcolour d = colour_raw((const stored *)v.data + colour_at(nrhs, block, part, column));
#if KAON_IS_HALF
  const vreal unit = v_load_float(v.scale + colour_scale_at(nrhs, block, part, column));
  d = colour_scale(&d, unit * v_set(KAON_HALF_STEP));
#endif
  return d;
}

/* Adds |d|^2 and conj(w) d to a column's sums (re, im of slot 0, then of slot 1). */
KAON_INLINE void colour_sums(const kaon_sum *sum, const vcolour *w, const vcolour *d,
                             double *sums) {
  if (sum->slot[0] != KAON_NO_SLOT) sums[0] += w_sum(w_from(colour_norm2(d)));
  if (w == NULL) return;
  const vcomplex dot = colour_dot(w, d);
  sums[2] += w_sum(w_from(dot.re));
  sums[3] += w_sum(w_from(dot.im));
}

/* stream: bypass the cache. */
KAON_INLINE void colour_store(kaon_view v, int nrhs, int64_t block, int part, int column,
                              const vcolour *d, const int stream) {
  stored *p = (stored *)v.data + colour_at(nrhs, block, part, column);
  const vreal *value = (const vreal *)d;
#if KAON_IS_HALF
  vreal largest = v_set(0);
  for (int i = 0; i < KAON_STAGGERED_REALS; i++) largest = quantise_largest(largest, value[i]);
  v_store_real(v.scale + colour_scale_at(nrhs, block, part, column), largest);
  const vreal factor = v_set(KAON_HALF_MAX) / v_max(largest, v_set(KAON_HALF_TINY));
  stored room[KAON_STAGGERED_REALS * KAON_W] __attribute__((aligned(64)));
  stored *to = stream ? room : p;
  for (int i = 0; i < KAON_STAGGERED_REALS; i++) v_store_int16(to + i * KAON_W, value[i] * factor);
  for (int i = 0; stream && i < KAON_STAGGERED_REALS; i++)
    v_stream_copy(p + i * KAON_W, room + i * KAON_W);
#else
  for (int i = 0; i < KAON_STAGGERED_REALS; i++)
    if (stream)
      v_stream_real(p + i * KAON_W, value[i]);
    else
      v_store_real(p + i * KAON_W, value[i]);
#endif
}

/* defined in staggered_gather.c */
void KAON_EXPORT(kaon_staggered_gather)(const kaon_launch *launch,
                                        const kaon_staggered_gather_args *args);
