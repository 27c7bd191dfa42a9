/* sparse_case.c - see sparse_case.h. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "tests/util/sparse_case.h"

#include <stdlib.h>

kaon_matrix *sparse_matrix_part(kaon_context *ctx, const ref_sparse *a, int reals, size_t first,
                                size_t rows, const kaon_matrix_options *options) {
  int64_t *row = malloc((a->entries + 1) * sizeof *row);
  int64_t *column = malloc((a->entries + 1) * sizeof *column);
  double *value = malloc((2 * a->entries + 1) * sizeof *value);
  kaon_triplet_arrays arrays = {.global_rows = (int64_t)a->rows,
                                .first_row = (int64_t)first,
                                .rows = (int64_t)rows,
                                .reals = reals,
                                .row = row,
                                .column = column,
                                .values = value};
  for (size_t n = 0; n < a->entries; n++) {
    if (a->row[n] < (int64_t)first || a->row[n] >= (int64_t)(first + rows)) continue;
    row[arrays.entries] = a->row[n];
    column[arrays.entries] = a->column[n];
    value[arrays.entries * reals] = creal(a->value[n]);
    if (reals == 2) value[arrays.entries * 2 + 1] = cimag(a->value[n]);
    arrays.entries++;
  }
  kaon_matrix *matrix = NULL;
  must(ctx, kaon_matrix_create_triplets(ctx, &arrays, options, &matrix));
  free(row);
  free(column);
  free(value);
  return matrix;
}

kaon_matrix *sparse_matrix(kaon_context *ctx, const ref_sparse *a, int reals,
                           const kaon_matrix_options *options) {
  return sparse_matrix_part(ctx, a, reals, 0, a->rows, options);
}

kaon_operator *sparse_operator(kaon_matrix *matrix, kaon_precision precision,
                               kaon_matrix_format format) {
  kaon_matrix_operator_options options = KAON_MATRIX_OPERATOR_OPTIONS_INIT;
  kaon_operator *A = NULL;
  options.precision = precision;
  options.format = format;
  must(NULL, kaon_matrix_operator(matrix, &options, &A));
  return A;
}

kaon_vector *sparse_vector(const kaon_operator *A, int columns) {
  kaon_vector *v = NULL;
  must(A->ctx, kaon_vector_create(A->ctx, A->space, A->precision, columns, &v));
  return v;
}

void sparse_import(kaon_vector *v, int column, size_t rows, const ref_complex *x) {
  const size_t reals = (size_t)v->space->ncomp;
  double *numbers = malloc((rows * reals + 1) * sizeof *numbers);
  for (size_t i = 0; i < rows; i++) {
    numbers[i * reals] = creal(x[i]);
    if (reals == 2) numbers[i * 2 + 1] = cimag(x[i]);
  }
  must(v->ctx, kaon_vector_import(v, column, numbers, KAON_BASIS_UKQCD));
  free(numbers);
}

void sparse_export(const kaon_vector *v, int column, size_t rows, ref_complex *x) {
  const size_t reals = (size_t)v->space->ncomp;
  double *numbers = malloc((rows * reals + 1) * sizeof *numbers);
  must(v->ctx, kaon_vector_export(v, column, numbers, KAON_BASIS_UKQCD));
  for (size_t i = 0; i < rows; i++)
    x[i] = numbers[i * reals] + (reals == 2 ? I * numbers[i * 2 + 1] : 0);
  free(numbers);
}

ref_complex *sparse_random(size_t rows, int reals, uint64_t seed) {
  ref_complex *x = malloc((rows + 1) * sizeof *x);
  ref_rng rng;
  ref_rng_seed(&rng, seed);
  for (size_t i = 0; i < rows; i++) {
    const double re = 2 * ref_uniform(&rng) - 1, im = 2 * ref_uniform(&rng) - 1;
    x[i] = reals == 2 ? re + I * im : re;
  }
  return x;
}
