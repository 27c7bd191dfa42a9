/* scaled_rows.c - scales rows for projections (projector.h), and estimates the norm of all of
 * them. */
#include <math.h>
#include <stdlib.h>

#include "sparse/sweeps/kaczmarz_internal.h"

static double norm_of(const kaon_csr *a, int64_t i) {
  double largest = 0, sum = 0;
  for (int64_t n = a->start[i] * a->reals; n < a->start[i + 1] * a->reals; n++)
    largest = fmax(largest, fabs(a->value[n]));
  if (!(largest > 0)) return 0;
  for (int64_t n = a->start[i] * a->reals; n < a->start[i + 1] * a->reals; n++)
    sum += (a->value[n] / largest) * (a->value[n] / largest);
  return largest * sqrt(sum);
}

kaon_status kaon_scaled_rows(const kaon_matrix *matrix, double lambda, kaon_csr **scaled,
                             double **factor) {
  const kaon_csr *rows = matrix->rows->rows;
  double *factors = malloc((size_t)(rows->rows + 1) * sizeof *factors);
  kaon_status status = KAON_OK;
  *scaled = NULL;
  if (factor != NULL) *factor = NULL;
  if (factors == NULL)
    return kaon_fail(matrix->ctx, KAON_ERR_MEMORY,
                     "kaczmarz: out of host memory for norms of rows");
  for (int64_t i = 0; i < rows->rows && status == KAON_OK; i++) {
    const double norm = norm_of(rows, i);
    const long long name =
        (long long)kaon_matrix_caller_row(matrix, matrix->order != NULL ? matrix->order[i] : i) + 1;
    factors[i] = sqrt(lambda) / norm;
    if (norm == 0)
      status = kaon_fail(matrix->ctx, KAON_ERR_SINGULAR,
                         "kaczmarz: row %lld (counted from 1) has %s, so it is no equation to "
                         "project onto; leave it out of the system",
                         name, rows->start[i] == rows->start[i + 1] ? "no entries" : "zeros alone");
    else if (!isfinite(norm) || !isfinite(factors[i]))
      status = kaon_fail(matrix->ctx, KAON_ERR_NOT_FINITE,
                         "kaczmarz: the norm of row %lld (counted from 1) is %g; scale the system",
                         name, norm);
  }
  if (status == KAON_OK) status = kaon_csr_copy(matrix->ctx, rows, scaled);
  for (int64_t i = 0; i < rows->rows && status == KAON_OK; i++)
    for (int64_t n = rows->start[i] * rows->reals; n < rows->start[i + 1] * rows->reals; n++)
      (*scaled)->value[n] *= factors[i];
  if (status != KAON_OK || factor == NULL)
    free(factors);
  else
    *factor = factors;
  return status;
}

/* y = R x, then x = R^H y. */
static void multiply(const kaon_csr *R, double *x, double *y) {
  for (int64_t i = 0; i < R->rows; i++) {
    double re = 0, im = 0;
    for (int64_t n = R->start[i]; n < R->start[i + 1]; n++) {
      const double *v = R->value + n * R->reals, *from = x + (int64_t)R->column[n] * R->reals;
      re += v[0] * from[0];
      if (R->reals == 1) continue;
      re -= v[1] * from[1];
      im += v[0] * from[1] + v[1] * from[0];
    }
    y[i * R->reals] = re;
    if (R->reals == 2) y[i * 2 + 1] = im;
  }
  for (int64_t j = 0; j < R->columns * R->reals; j++) x[j] = 0;
  for (int64_t i = 0; i < R->rows; i++)
    for (int64_t n = R->start[i]; n < R->start[i + 1]; n++) {
      const double *v = R->value + n * R->reals, *from = y + i * R->reals;
      double *to = x + (int64_t)R->column[n] * R->reals;
      to[0] += v[0] * from[0];
      if (R->reals == 1) continue;
      to[0] += v[1] * from[1];
      to[1] += v[0] * from[1] - v[1] * from[0];
    }
}

/* Sets x[column] from the column's index, with Knuth's MMIX generator, in index order. */
static void begin_by_index(const kaon_csr *R, const int32_t *number, double *room, double *x) {
  uint64_t state = 1;
  for (int64_t i = 0; i < R->columns * R->reals; i++) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    room[i] = (double)(state >> 40) / (double)(1 << 23) - 1;
  }
  for (int64_t j = 0; j < R->columns; j++)
    for (int c = 0; c < R->reals; c++)
      x[j * R->reals + c] = room[(number != NULL ? number[j] : j) * R->reals + c];
}

kaon_status kaon_power_estimate(const kaon_context *ctx, const kaon_csr *R, const int32_t *number,
                                int steps, double *largest) {
  const int64_t n = R->columns * R->reals, m = R->rows * R->reals;
  double *x = malloc((size_t)(n + 1) * sizeof *x);
  double *y = malloc((size_t)((m > n ? m : n) + 1) * sizeof *y);
  *largest = 1; /* there are no rows */
  if (x == NULL || y == NULL) {
    free(x);
    free(y);
    return kaon_fail(ctx, KAON_ERR_MEMORY, "kaczmarz: out of host memory for the power method");
  }
  begin_by_index(R, number, y, x);
  for (int step = 0; step < steps; step++) {
    double before = 0, after = 0;
    for (int64_t i = 0; i < n; i++) before += x[i] * x[i];
    if (!(before > 0)) break;
    before = sqrt(before);
    for (int64_t i = 0; i < n; i++) x[i] /= before;
    multiply(R, x, y);
    for (int64_t i = 0; i < n; i++) after += x[i] * x[i];
    if (after > 0) *largest = sqrt(after);
  }
  free(x);
  free(y);
  return KAON_OK;
}
