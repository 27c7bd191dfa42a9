/* create.c - matrices from the caller's arrays: everything is looked at before it is used, and what
 * is wrong is named with its place. */
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sparse/matrix.h"

typedef struct source {
  kaon_context *ctx;
  int64_t global_rows, first_row, rows;
  int reals, base;
} source;

static kaon_status check_source(const source *s, const char *name) {
  if (s->global_rows < 0 || s->global_rows > INT32_MAX)
    return kaon_fail(s->ctx, s->global_rows < 0 ? KAON_ERR_ARGUMENT : KAON_ERR_UNSUPPORTED,
                     "%s: a matrix of %lld rows, but 0 to %d are offered", name,
                     (long long)s->global_rows, INT32_MAX);
  if (s->first_row < 0 || s->rows < 0 || s->first_row > s->global_rows - s->rows)
    return kaon_fail(s->ctx, KAON_ERR_ARGUMENT,
                     "%s: rows %lld to %lld are handed over, but the matrix has rows 0 to %lld",
                     name, (long long)s->first_row, (long long)(s->first_row + s->rows) - 1,
                     (long long)s->global_rows - 1);
  if (s->reals != 1 && s->reals != 2)
    return kaon_fail(s->ctx, KAON_ERR_ARGUMENT,
                     "%s: values of %d reals, but 1 (real) or 2 (complex) are meant", name,
                     s->reals);
  if (s->base != 0 && s->base != 1)
    return kaon_fail(s->ctx, KAON_ERR_ARGUMENT, "%s: numbers begin at %d, but 0 or 1 is meant",
                     name, s->base);
  return KAON_OK;
}

static kaon_csr_duplicates duplicates_of(const kaon_matrix_options *options) {
  return options != NULL && options->refuse_duplicates ? KAON_CSR_REFUSE : KAON_CSR_ADD;
}

/* The rows that a rank could make, or its failure, become the matrix; all ranks learn of it. */
static kaon_status finish(kaon_context *ctx, kaon_status status, kaon_csr **rows, int64_t first_row,
                          const kaon_matrix_options *options, kaon_matrix **matrix) {
  status = kaon_agree(ctx, status);
  if (status != KAON_OK) {
    kaon_csr_destroy(rows);
    return status;
  }
  return kaon_matrix_from_rows(ctx, rows, first_row, options, matrix);
}

/* ---- compressed rows ---- */

static int64_t start_of(const kaon_csr_arrays *a, int64_t i) {
  return (a->start64 != NULL ? a->start64[i] : a->start32[i]) - a->base;
}

static int64_t column_of(const kaon_csr_arrays *a, int64_t n) {
  return (a->column64 != NULL ? a->column64[n] : a->column32[n]) - a->base;
}

static kaon_status check_csr(kaon_context *ctx, const kaon_csr_arrays *a) {
  if ((a->start32 == NULL) == (a->start64 == NULL) ||
      (a->column32 == NULL) == (a->column64 == NULL))
    return kaon_fail(ctx, KAON_ERR_ARGUMENT,
                     "matrix csr: one of start32 and start64 and one of column32 and column64 are "
                     "needed");
  if (start_of(a, 0) != 0)
    return kaon_fail(ctx, KAON_ERR_ARGUMENT, "matrix csr: start[0] is %lld, but the base is %d",
                     (long long)(start_of(a, 0) + a->base), a->base);
  for (int64_t i = 0; i < a->rows; i++)
    if (start_of(a, i + 1) < start_of(a, i))
      return kaon_fail(ctx, KAON_ERR_ARGUMENT,
                       "matrix csr: start[%lld] is %lld, below start[%lld] = %lld; starts ascend",
                       (long long)i + 1, (long long)(start_of(a, i + 1) + a->base), (long long)i,
                       (long long)(start_of(a, i) + a->base));
  if (a->values == NULL && start_of(a, a->rows) > 0)
    return kaon_fail(ctx, KAON_ERR_ARGUMENT, "matrix csr: %lld entries without values",
                     (long long)start_of(a, a->rows));
  return KAON_OK;
}

static kaon_status take_entry(kaon_context *ctx, const kaon_csr_arrays *a, kaon_csr *to, int64_t i,
                              int64_t n) {
  const int64_t column = column_of(a, n);
  if (column < 0 || column >= a->global_rows)
    return kaon_fail(ctx, KAON_ERR_ARGUMENT,
                     "matrix csr: entry %lld (row %lld) is in column %lld, but columns are %d to "
                     "%lld",
                     (long long)n, (long long)(a->first_row + i + a->base),
                     (long long)(column + a->base), a->base,
                     (long long)(a->global_rows - 1 + a->base));
  to->column[n] = (int32_t)column;
  for (int c = 0; c < a->reals; c++) {
    const double value = a->values[n * a->reals + c];
    if (!isfinite(value))
      return kaon_fail(ctx, KAON_ERR_NOT_FINITE,
                       "matrix csr: entry %lld at row %lld, column %lld is %g, not a finite number",
                       (long long)n, (long long)(a->first_row + i + a->base),
                       (long long)(column + a->base), value);
    to->value[n * a->reals + c] = value;
  }
  return KAON_OK;
}

static kaon_status rows_from_csr(kaon_context *ctx, const kaon_csr_arrays *a,
                                 const kaon_matrix_options *options, kaon_csr **rows) {
  const source s = {ctx, a->global_rows, a->first_row, a->rows, a->reals, a->base};
  KAON_TRY(check_source(&s, "matrix csr"));
  KAON_TRY(check_csr(ctx, a));
  KAON_TRY(kaon_csr_create(ctx, a->rows, a->global_rows, a->reals, start_of(a, a->rows), rows));
  for (int64_t i = 0; i < a->rows; i++) {
    (*rows)->start[i + 1] = start_of(a, i + 1);
    for (int64_t n = start_of(a, i); n < start_of(a, i + 1); n++)
      KAON_TRY(take_entry(ctx, a, *rows, i, n));
  }
  return kaon_csr_sort(ctx, *rows, duplicates_of(options));
}

kaon_status kaon_matrix_create_csr(kaon_context *ctx, const kaon_csr_arrays *arrays,
                                   const kaon_matrix_options *options, kaon_matrix **matrix) {
  kaon_csr *rows = NULL;
  if (ctx == NULL || arrays == NULL || matrix == NULL)
    return kaon_fail(ctx, KAON_ERR_ARGUMENT,
                     "matrix csr: context, arrays and the address of the result are needed");
  *matrix = NULL;
  const kaon_status status = rows_from_csr(ctx, arrays, options, &rows);
  return finish(ctx, status, &rows, arrays->first_row, options, matrix);
}

/* ---- triplets ---- */

static kaon_status check_triplets(kaon_context *ctx, const kaon_triplet_arrays *a) {
  if (a->entries < 0 ||
      (a->entries > 0 && (a->row == NULL || a->column == NULL || a->values == NULL)))
    return kaon_fail(ctx, KAON_ERR_ARGUMENT,
                     "matrix triplets: %lld entries need rows, columns and values",
                     (long long)a->entries);
  for (int64_t n = 0; n < a->entries; n++) {
    const int64_t row = a->row[n] - a->base, column = a->column[n] - a->base;
    if (row < a->first_row || row >= a->first_row + a->rows || column < 0 ||
        column >= a->global_rows)
      return kaon_fail(ctx, KAON_ERR_ARGUMENT,
                       "matrix triplets: entry %lld stands at row %lld, column %lld, but this "
                       "rank's rows are %lld to %lld and columns %d to %lld",
                       (long long)n, (long long)a->row[n], (long long)a->column[n],
                       (long long)(a->first_row + a->base),
                       (long long)(a->first_row + a->rows - 1 + a->base), a->base,
                       (long long)(a->global_rows - 1 + a->base));
  }
  return KAON_OK;
}

static kaon_status rows_from_triplets(kaon_context *ctx, const kaon_triplet_arrays *a,
                                      const kaon_matrix_options *options, kaon_csr **rows) {
  const source s = {ctx, a->global_rows, a->first_row, a->rows, a->reals, a->base};
  KAON_TRY(check_source(&s, "matrix triplets"));
  KAON_TRY(check_triplets(ctx, a));
  const size_t room = ((size_t)a->entries + 1) * sizeof(int64_t);
  int64_t *row = malloc(room), *column = malloc(room);
  kaon_status status = KAON_OK;
  if (row == NULL || column == NULL)
    status = kaon_fail(ctx, KAON_ERR_MEMORY,
                       "matrix triplets: no host memory for the places of %lld entries",
                       (long long)a->entries);
  for (int64_t n = 0; n < a->entries && status == KAON_OK; n++) {
    row[n] = a->row[n] - a->base - a->first_row;
    column[n] = a->column[n] - a->base;
  }
  if (status == KAON_OK)
    status = kaon_csr_from_triplets(ctx, a->rows, a->global_rows, a->reals, a->entries, row, column,
                                    a->values, duplicates_of(options), rows);
  free(row);
  free(column);
  return status;
}

kaon_status kaon_matrix_create_triplets(kaon_context *ctx, const kaon_triplet_arrays *arrays,
                                        const kaon_matrix_options *options, kaon_matrix **matrix) {
  kaon_csr *rows = NULL;
  if (ctx == NULL || arrays == NULL || matrix == NULL)
    return kaon_fail(ctx, KAON_ERR_ARGUMENT,
                     "matrix triplets: context, arrays and the address of the result are needed");
  *matrix = NULL;
  const kaon_status status = rows_from_triplets(ctx, arrays, options, &rows);
  return finish(ctx, status, &rows, arrays->first_row, options, matrix);
}

/* ---- OpenFOAM's faces ---- */

static kaon_status check_ldu(kaon_context *ctx, const kaon_ldu_arrays *a) {
  if (ctx->comm->ranks > 1)
    return kaon_fail(ctx, KAON_ERR_UNSUPPORTED,
                     "matrix ldu: %d ranks, but this form is offered on one; hand over rows or "
                     "triplets",
                     ctx->comm->ranks);
  if (a->cells < 0 || a->cells > INT32_MAX)
    return kaon_fail(ctx, a->cells < 0 ? KAON_ERR_ARGUMENT : KAON_ERR_UNSUPPORTED,
                     "matrix ldu: a matrix of %lld rows, but 0 to %d are offered",
                     (long long)a->cells, INT32_MAX);
  if (a->faces < 0 || (a->cells > 0 && a->diagonal == NULL) ||
      (a->faces > 0 && (a->owner == NULL || a->neighbour == NULL || a->upper == NULL)))
    return kaon_fail(ctx, KAON_ERR_ARGUMENT,
                     "matrix ldu: %lld cells and %lld faces need diagonal, owner, neighbour and "
                     "upper",
                     (long long)a->cells, (long long)a->faces);
  for (int64_t f = 0; f < a->faces; f++) {
    if (a->owner[f] < 0 || a->owner[f] >= a->cells || a->neighbour[f] < 0 ||
        a->neighbour[f] >= a->cells)
      return kaon_fail(ctx, KAON_ERR_ARGUMENT,
                       "matrix ldu: face %lld joins cells %d and %d, but cells are 0 to %lld",
                       (long long)f, (int)a->owner[f], (int)a->neighbour[f],
                       (long long)a->cells - 1);
    if (a->owner[f] == a->neighbour[f])
      return kaon_fail(ctx, KAON_ERR_ARGUMENT,
                       "matrix ldu: face %lld joins cell %d with itself; its entries belong to the "
                       "diagonal",
                       (long long)f, (int)a->owner[f]);
  }
  return KAON_OK;
}

static kaon_status rows_from_ldu(kaon_context *ctx, const kaon_ldu_arrays *a,
                                 const kaon_matrix_options *options, kaon_csr **rows) {
  KAON_TRY(check_ldu(ctx, a));
  const int64_t entries = a->cells + 2 * a->faces;
  int64_t *row = malloc(((size_t)entries + 1) * sizeof *row);
  int64_t *column = malloc(((size_t)entries + 1) * sizeof *column);
  double *value = malloc(((size_t)entries + 1) * sizeof *value);
  kaon_status status = KAON_OK;
  if (row == NULL || column == NULL || value == NULL) {
    status = kaon_fail(ctx, KAON_ERR_MEMORY, "matrix ldu: no host memory for %lld entries",
                       (long long)entries);
  } else {
    for (int64_t i = 0; i < a->cells; i++) {
      row[i] = column[i] = i;
      value[i] = a->diagonal[i];
    }
    for (int64_t f = 0, n = a->cells; f < a->faces; f++, n += 2) {
      row[n] = column[n + 1] = a->owner[f];
      column[n] = row[n + 1] = a->neighbour[f];
      value[n] = a->upper[f];
      value[n + 1] = a->lower != NULL ? a->lower[f] : a->upper[f];
    }
    status = kaon_csr_from_triplets(ctx, a->cells, a->cells, 1, entries, row, column, value,
                                    duplicates_of(options), rows);
  }
  free(row);
  free(column);
  free(value);
  return status;
}

kaon_status kaon_matrix_create_ldu(kaon_context *ctx, const kaon_ldu_arrays *arrays,
                                   const kaon_matrix_options *options, kaon_matrix **matrix) {
  kaon_csr *rows = NULL;
  if (ctx == NULL || arrays == NULL || matrix == NULL)
    return kaon_fail(ctx, KAON_ERR_ARGUMENT,
                     "matrix ldu: context, arrays and the address of the result are needed");
  *matrix = NULL;
  const kaon_status status = rows_from_ldu(ctx, arrays, options, &rows);
  return finish(ctx, status, &rows, 0, options, matrix);
}
