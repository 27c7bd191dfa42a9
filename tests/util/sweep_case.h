/* sweep_case.h - systems and options for tests of row projections. Include the cmocka preamble
 * before. */
#ifndef SWEEP_CASE_H
#define SWEEP_CASE_H

#include <kaon/relax.h>

#include "tests/util/sparse_case.h"

/* Random, with rows of all lengths up to 12 and a band of 5 points that keeps rows from vanishing;
 * banded: the band alone. */
static inline ref_sparse make_system(size_t rows, int complex_values, int banded) {
  ref_sparse a = ref_sparse_new(rows);
  ref_rng rng;
  ref_rng_seed(&rng, 7 + rows);
  for (size_t i = 0; i < rows; i++) {
    for (int d = -2; d <= 2; d++) {
      if ((d < 0 && i < (size_t)-d) || i + (size_t)(d > 0 ? d : 0) >= rows) continue;
      const double re = 2 * ref_uniform(&rng) - 1, im = 2 * ref_uniform(&rng) - 1;
      ref_sparse_add(&a, i, i + (size_t)d, (d == 0 ? 3 : 0) + re + (complex_values ? I * im : 0));
    }
    for (size_t n = 0; n < i % 8 && !banded; n++) {
      const size_t j = (size_t)(ref_uniform(&rng) * (double)rows);
      const double re = 2 * ref_uniform(&rng) - 1, im = 2 * ref_uniform(&rng) - 1;
      if (j + 2 < i || j > i + 2) ref_sparse_add(&a, i, j, re + (complex_values ? I * im : 0));
    }
  }
  return a;
}

static inline kaon_kaczmarz_options with_order(kaon_sweep_order order, const int32_t *permutation,
                                               const double *coordinates) {
  kaon_kaczmarz_options o = KAON_KACZMARZ_OPTIONS_INIT;
  o.order = order;
  o.permutation = permutation;
  o.coordinates = coordinates;
  o.dimensions = 2;
  return o;
}

#endif
