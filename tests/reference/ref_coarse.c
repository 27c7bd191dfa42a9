/* ref_coarse.c - coarse operators of multigrid methods: a dense matrix within each site and one for
 * each of its eight neighbours (test oracle). Source: Babich et al., Phys. Rev. Lett. 105 (2010)
 * 201602, whose coarse operators have this form. */
#include "reference.h"

#include <math.h>
#include <stdlib.h>

ref_coarse ref_coarse_random(const ref_lattice *L, int numbers, uint64_t seed) {
  const size_t count = ref_volume(L) * (size_t)numbers * (size_t)numbers;
  ref_coarse c = {.L = *L, .numbers = numbers};
  ref_rng r;
  ref_rng_seed(&r, seed);
  for (int m = 0; m < 9; m++) {
    c.matrix[m] = ref_new(count);
    for (size_t i = 0; i < count; i++) {
      const double re = ref_gauss(&r), im = ref_gauss(&r);
      c.matrix[m][i] = (m == 8 ? 0.3 : 0.1) / sqrt(numbers) * (re + I * im);
    }
  }
  for (size_t site = 0; site < ref_volume(L); site++)
    for (int i = 0; i < numbers; i++)
      ref_coarse_matrix(&c, 8, site)[i * numbers + i] += 1.5 - 0.5 * I;
  return c;
}

void ref_coarse_free(ref_coarse *c) {
  for (int m = 0; m < 9; m++) free(c->matrix[m]);
}

ref_complex *ref_coarse_matrix(const ref_coarse *c, int m, size_t site) {
  return c->matrix[m] + site * (size_t)c->numbers * (size_t)c->numbers;
}

static double size2(ref_complex z) {
  return creal(z) * creal(z) + cimag(z) * cimag(z);
}

/* 1 if the term counts. */
static int counts(const ref_coarse *c, const ref_coarse_terms *t, int m, size_t site) {
  int x[4];
  if (!(t->matrices >> m & 1)) return 0;
  if (m == 8 || t->block[m % 4] == 0) return m == 8 || !t->leaving;
  ref_coords(&c->L, site, x);
  const int n = t->block[m % 4], at = x[m % 4] % n;
  const int leaves = m < 4 ? at == n - 1 : at == 0;
  return t->leaving ? leaves : !leaves;
}

void ref_coarse_apply(const ref_coarse *c, const ref_coarse_terms *t, int magnitudes,
                      const ref_complex *in, ref_complex *out) {
  const int n = c->numbers;
  for (size_t site = 0; site < ref_volume(&c->L); site++)
    for (int i = 0; i < n; i++) {
      ref_complex sum = 0;
      for (int m = 0; m < 9; m++) {
        if (!counts(c, t, m, site)) continue;
        const size_t from = m == 8 ? site : ref_shift(&c->L, site, m % 4, m < 4 ? 1 : -1);
        const ref_complex *row = ref_coarse_matrix(c, m, site) + i * n, *x = in + from * (size_t)n;
        for (int j = 0; j < n; j++)
          sum += magnitudes ? sqrt(size2(row[j]) * size2(x[j])) : row[j] * x[j];
      }
      out[site * (size_t)n + (size_t)i] = sum;
    }
}
