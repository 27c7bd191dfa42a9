/* source.h - a source's components at one site, shared by C and CUDA C (measure_ops.h). Random
 * numbers are derived from the lexicographic site index. So a source depends neither on the storage
 * order of sites nor on threads. */
#pragma once

#include "dslash/measure/measure_ops.h"
#include "lib/math/philox.h"

#define KAON_SQRT_HALF 0.70710678118654752440

/* psi[(spin * 3 + colour) * 2 + reim] of `column` at `site`; zeros for site -1 (masked). */
static inline KAON_HD void kaon_source_site(const kaon_source_args *a, int64_t site, int column,
                                            double psi[24]) {
  for (int i = 0; i < 24; i++) psi[i] = 0;
  if (site < 0) return;
  if (a->kind == KAON_FILL_ONE) {
    psi[2 * (column % 12)] = site >= a->first && site < a->end ? 1 : 0;
    return;
  }
  if (a->kind == KAON_FILL_Z4) {
    const uint32_t bits =
        kaon_random_bits(a->seed, site, KAON_STREAM_Z4, 0, (uint32_t)column, 0).v[0];
    for (int i = 0; i < 24; i++) psi[i] = bits >> i & 1 ? KAON_SQRT_HALF : -KAON_SQRT_HALF;
    return;
  }
  for (int i = 0; i < 12; i++) {
    kaon_gauss_pair(
        kaon_random_bits(a->seed, site, KAON_STREAM_GAUSS, 0, (uint32_t)column, (uint32_t)i),
        psi + 2 * i);
    psi[2 * i] *= KAON_SQRT_HALF;
    psi[2 * i + 1] *= KAON_SQRT_HALF;
  }
}
