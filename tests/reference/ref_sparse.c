/* ref_sparse.c - sparse matrices as lists of triplets, and the matrices that tests use. */
#include "reference.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

ref_sparse ref_sparse_new(size_t rows) {
  return (ref_sparse){.rows = rows};
}

void ref_sparse_free(ref_sparse *a) {
  free(a->row);
  free(a->column);
  free(a->value);
  memset(a, 0, sizeof *a);
}

void ref_sparse_add(ref_sparse *a, size_t row, size_t column, ref_complex value) {
  if (a->entries == a->room) {
    a->room = a->room ? 2 * a->room : 64;
    a->row = realloc(a->row, a->room * sizeof *a->row);
    a->column = realloc(a->column, a->room * sizeof *a->column);
    a->value = realloc(a->value, a->room * sizeof *a->value);
    if (a->row == NULL || a->column == NULL || a->value == NULL) {
      fprintf(stderr, "reference: no memory\n");
      exit(1);
    }
  }
  a->row[a->entries] = (int64_t)row;
  a->column[a->entries] = (int64_t)column;
  a->value[a->entries++] = value;
}

void ref_sparse_apply(const ref_sparse *a, int dagger, const ref_complex *x, ref_complex *y,
                      double *sum, int *count) {
  for (size_t i = 0; i < a->rows; i++) {
    y[i] = 0;
    if (sum) sum[i] = 0;
    if (count) count[i] = 0;
  }
  for (size_t n = 0; n < a->entries; n++) {
    const int64_t i = dagger ? a->column[n] : a->row[n], j = dagger ? a->row[n] : a->column[n];
    const ref_complex value = dagger ? conj(a->value[n]) : a->value[n];
    y[i] += value * x[j];
    if (sum) sum[i] += cabs(value) * cabs(x[j]);
    if (count) count[i]++;
  }
}

ref_sparse ref_sparse_laplace(int n, int dimensions, double mass, double wind) {
  const int sizes[3] = {n, n, dimensions == 3 ? n : 1};
  const size_t steps[3] = {1, (size_t)n, (size_t)n * (size_t)n};
  ref_sparse a = ref_sparse_new((size_t)n * (size_t)n * (size_t)sizes[2]);
  for (size_t i = 0; i < a.rows; i++) {
    const int x[3] = {(int)(i % (size_t)n), (int)(i / steps[1] % (size_t)n), (int)(i / steps[2])};
    ref_sparse_add(&a, i, i, 2 * dimensions + mass);
    for (int mu = 0; mu < dimensions; mu++) {
      const double lean = mu == 0 ? wind : 0;
      if (x[mu] > 0) ref_sparse_add(&a, i, i - steps[mu], -1 - lean);
      if (x[mu] + 1 < sizes[mu]) ref_sparse_add(&a, i, i + steps[mu], -1 + lean);
    }
  }
  return a;
}

ref_sparse ref_sparse_random(size_t rows, double mean, double diagonal, int complex_values,
                             uint64_t seed) {
  ref_sparse a = ref_sparse_new(rows);
  ref_rng rng;
  ref_rng_seed(&rng, seed);
  for (size_t i = 0; i < rows; i++) {
    const int count = (int)(2 * mean * ref_uniform(&rng));
    for (int k = 0; k < count; k++) {
      const size_t j = (size_t)(ref_uniform(&rng) * (double)rows);
      const double re = 2 * ref_uniform(&rng) - 1, im = 2 * ref_uniform(&rng) - 1;
      ref_sparse_add(&a, i, j, complex_values ? re + I * im : re);
    }
    if (diagonal != 0) ref_sparse_add(&a, i, i, diagonal);
  }
  return a;
}
