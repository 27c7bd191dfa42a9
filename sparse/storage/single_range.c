/* single_range.c - see single_range.h. */
#include "sparse/storage/single_range.h"

#include <float.h>
#include <math.h>

static double size_of(const kaon_csr *a, int64_t n) {
  const double re = fabs(a->value[n * a->reals]), im = fabs(a->value[(n + 1) * a->reals - 1]);
  return re > im ? re : im;
}

static int64_t caller_row(const kaon_matrix *matrix, int64_t i) {
  return matrix->first_row + (matrix->order != NULL ? matrix->order[i] : i);
}

static int64_t caller_column(const kaon_matrix *matrix, const kaon_row_set *set, int64_t j) {
  const int64_t rows = set->rows->rows;
  return j < rows ? caller_row(matrix, j) : set->ghost_row[j - rows];
}

static kaon_status refuse(const kaon_matrix *matrix, const kaon_row_set *set, const char *name,
                          int64_t i, int64_t n) {
  const kaon_csr *a = set->rows;
  const int large = size_of(a, n) > FLT_MAX, e = matrix->exponent;
  return kaon_fail(
      matrix->ctx, KAON_ERR_PRECISION,
      "%s: the %s %g in row %lld, column %lld (counted from 1, as given) %s single precision, "
      "which at the scale of the other rows holds %.2g to %.2g; scale the system, or take double "
      "precision inside",
      name, large ? "entry" : "row's largest entry", ldexp(size_of(a, n), e),
      (long long)caller_row(matrix, i) + 1, (long long)caller_column(matrix, set, a->column[n]) + 1,
      large ? "does not fit into" : "is too small for", ldexp(FLT_MIN, e), ldexp(FLT_MAX, e));
}

/* The entry of row i that is to be refused; -1: none. */
static int64_t out_of_range(const kaon_csr *a, int64_t i, int whole) {
  double largest = 0;
  int64_t place = -1;
  for (int64_t n = a->start[i]; n < a->start[i + 1]; n++) {
    const double size = size_of(a, n);
    if (size > FLT_MAX) return n;
    if (!(size > largest)) continue;
    largest = size;
    place = n;
  }
  return whole && largest < FLT_MIN ? place : -1;
}

kaon_status kaon_single_range_check(const kaon_matrix *matrix, const kaon_row_set *set,
                                    const char *name, int whole) {
  const kaon_csr *a = set->rows;
  int64_t bad = INT64_MAX;
#pragma omp parallel for num_threads(matrix->ctx->threads) schedule(static) reduction(min : bad)
  for (int64_t i = 0; i < a->rows; i++)
    if (out_of_range(a, i, whole) >= 0 && i < bad) bad = i;
  if (bad == INT64_MAX) return KAON_OK;
  return refuse(matrix, set, name, bad, out_of_range(a, bad, whole));
}

kaon_status kaon_single_range_check_values(kaon_context *ctx, const char *name, int64_t count,
                                           const double *numbers) {
  for (int64_t i = 0; i < count; i++)
    if (!(fabs(numbers[i]) <= FLT_MAX))
      return kaon_fail(ctx, KAON_ERR_PRECISION,
                       "%s: %g does not fit into single precision, which holds up to %.2g; scale "
                       "the system, or take double precision",
                       name, numbers[i], (double)FLT_MAX);
  return KAON_OK;
}
