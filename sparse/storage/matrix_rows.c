/* matrix_rows.c - returns a matrix' rows as the caller passed them. Contract: kaon/sparse.h. */
#include <math.h>

#include "lib/core/context_internal.h"
#include "sparse/storage/matrix.h"
#include "lib/core/entry.h"

/* Inserts an entry into a row that is sorted by column. */
static void insert(int64_t first, int64_t end, int reals, int32_t column, const double *value,
                   int32_t *columns, double *values) {
  int64_t at = end;
  for (; at > first && columns[at - 1] > column; at--) {
    columns[at] = columns[at - 1];
    for (int c = 0; c < reals; c++) values[at * reals + c] = values[(at - 1) * reals + c];
  }
  columns[at] = column;
  for (int c = 0; c < reals; c++) values[at * reals + c] = value[c];
}

kaon_status kaon_matrix_rows(const kaon_matrix *matrix, int64_t *start, int32_t *column,
                             double *value) {
  KAON_ENTER(KAON_OF(matrix), matrix, start, column, value);
  const kaon_context *ctx = matrix->ctx;
  if (ctx->comm->ranks > 1)
    return kaon_fail(
        ctx, KAON_ERR_UNSUPPORTED,
        "matrix rows: the rows of this matrix are distributed over %d ranks; use one rank",
        ctx->comm->ranks);
  const kaon_csr *rows = matrix->rows->rows;
  const int32_t *order = matrix->order, *place = matrix->place;
  start[0] = 0;
  for (int64_t i = 0; i < rows->rows; i++) {
    const int64_t from = place != NULL ? place[i] : i;
    int64_t end = start[i];
    for (int64_t n = rows->start[from]; n < rows->start[from + 1]; n++, end++)
      insert(start[i], end, rows->reals, order != NULL ? order[rows->column[n]] : rows->column[n],
             rows->value + n * rows->reals, column, value);
    start[i + 1] = end;
  }
  for (int64_t n = 0; n < start[rows->rows] * rows->reals; n++)
    value[n] = ldexp(value[n], matrix->exponent);
  return KAON_OK;
}
