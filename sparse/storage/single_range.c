/* single_range.c - see single_range.h. */
#include "sparse/storage/single_range.h"

#include <float.h>
#include <math.h>

static double size_of(const kaon_csr *a, int64_t n) {
  return fmax(fabs(a->value[n * a->reals]), fabs(a->value[n * a->reals + a->reals - 1]));
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

kaon_status kaon_single_range_check(const kaon_matrix *matrix, const kaon_row_set *set,
                                    const char *name, int whole) {
  const kaon_csr *a = set->rows;
  for (int64_t i = 0; i < a->rows; i++) {
    int64_t largest = a->start[i];
    for (int64_t n = a->start[i]; n < a->start[i + 1]; n++) {
      if (size_of(a, n) > FLT_MAX) return refuse(matrix, set, name, i, n);
      if (size_of(a, n) > size_of(a, largest)) largest = n;
    }
    if (!whole || a->start[i] == a->start[i + 1]) continue;
    const double size = size_of(a, largest);
    if (size > 0 && size < FLT_MIN) return refuse(matrix, set, name, i, largest);
  }
  return KAON_OK;
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
