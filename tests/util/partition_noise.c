/* partition_noise.c - sources that are the same on both sides. Contract: partition.h. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdlib.h>

#include "tests/util/partition.h"

int64_t partition_site(const kaon_lattice *l, int64_t i) {
  const int *n = l->extents, *o = l->origin, *g = l->global;
  const int x = o[0] + (int)(i % n[0]), y = o[1] + (int)(i / n[0] % n[1]);
  const int z = o[2] + (int)(i / n[0] / n[1] % n[2]), t = o[3] + (int)(i / n[0] / n[1] / n[2]);
  return x + g[0] * (y + g[1] * (z + (int64_t)g[2] * t));
}

/* In [-1, 1), of seed, column, site of the whole lattice and component: a number that is multiplied
 * and folded twice. Takes a tenth of the time of the library's noise, which would be most of these
 * tests'. */
static double number(uint64_t seed, int column, int64_t site, int c) {
  uint64_t n = ((uint64_t)(24 * site + c) + 1) * UINT64_C(0x9E3779B97F4A7C15) ^
               (seed << 8 | (uint64_t)column) * UINT64_C(0xD1B54A32D192ED03);
  n = (n ^ n >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
  n = (n ^ n >> 27) * UINT64_C(0x94D049BB133111EB);
  return (double)(int64_t)(n ^ n >> 31) * 0x1p-63;
}

kaon_vector *partition_noise_in(const partition_side *s, const kaon_space *space,
                                kaon_precision precision, int nrhs, uint64_t seed) {
  kaon_vector *v = NULL;
  const int64_t volume = s->lattice->volume, sites = volume * space->inner;
  double *numbers = malloc((size_t)sites * 24 * sizeof *numbers);
  assert_non_null(numbers);
  must(s->ctx, kaon_vector_create(s->ctx, space, precision, nrhs, &v));
  for (int k = 0; k < nrhs; k++) {
    for (int64_t i = 0; i < sites; i++) {
      const int64_t slice = i / volume * s->lattice->global_volume;
      const int64_t at = slice + partition_site(s->lattice, i % volume);
      for (int c = 0; c < 24; c++) numbers[24 * i + c] = number(seed, k, at, c);
    }
    must(s->ctx, kaon_vector_import(v, k, numbers, KAON_BASIS_UKQCD));
  }
  free(numbers);
  return v;
}

kaon_vector *partition_noise(const partition_side *s, kaon_parity parity, kaon_precision precision,
                             int nrhs, uint64_t seed) {
  return partition_noise_in(s, kaon_lattice_spinors(s->lattice, parity), precision, nrhs, seed);
}
