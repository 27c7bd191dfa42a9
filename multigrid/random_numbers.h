/* random_numbers.h - the numbers of random columns (kaon_random_columns). Common subset of C and CUDA
 * C. */
#pragma once

#include "lib/math/philox.h"
#include "multigrid/transfer_ops.h"

/* Index in the whole lattice of site `site` of a rank's part, both x fastest. */
static inline KAON_HD int64_t kaon_random_site(const kaon_random_args *a, int64_t site) {
  int64_t whole = 0, stride = 1;
  for (int mu = 0; mu < 4; mu++) {
    whole += (a->origin[mu] + site % a->extents[mu]) * stride;
    site /= a->extents[mu];
    stride *= a->global[mu];
  }
  return whole;
}

/* Four numbers of a site, uniform between -1 and 1. */
static inline KAON_HD void kaon_random_numbers(const kaon_random_args *a, int64_t whole,
                                               int quarter, double out[4]) {
  const kaon_philox drawn = kaon_random_bits(a->seed, whole, KAON_STREAM_BASIS, 0,
                                             (uint32_t)a->column, (uint32_t)quarter);
  for (int i = 0; i < 4; i++) out[i] = drawn.v[i] * 0x1p-31 - 1;
}
