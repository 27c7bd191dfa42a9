/* matrix_file.c - reads matrices from files or by name, writes them, and reads and writes
 * columns. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/core/context_internal.h"
#include "lib/core/output.h"
#include "sparse/generate/generate_matrix.h"
#include "sparse/files/market.h"
#include "sparse/storage/matrix.h"
#include "sparse/ranks/redistribution.h"
#include "sparse/ranks/rank_rows.h"
#include "lib/core/entry.h"

/* ---- matrices ---- */

static kaon_market_options market_options(const kaon_context *ctx,
                                          const kaon_matrix_options *options) {
  kaon_market_options m = KAON_MARKET_OPTIONS_INIT;
  m.duplicates = options != NULL && options->refuse_duplicates ? KAON_CSR_REFUSE : KAON_CSR_ADD;
  m.rank = ctx->comm->rank;
  m.ranks = ctx->comm->ranks;
  m.threads = ctx->threads > 1 ? ctx->threads : 1;
  return m;
}

kaon_status kaon_matrix_read(kaon_context *ctx, const char *path,
                             const kaon_matrix_options *options, kaon_matrix **matrix) {
  if (matrix != NULL) *matrix = NULL;
  KAON_ENTER(ctx, ctx, path, matrix);
  kaon_market_options reading = market_options(ctx, options);
  kaon_market_header header;
  kaon_bytes bytes;
  kaon_csr *rows = NULL;
  int64_t first = 0, last = 0;
  reading.square = 1;
  KAON_TRY(kaon_bytes_open(ctx, path, &bytes));
  const kaon_status status = kaon_market_read(ctx, &bytes, &reading, &header, &rows);
  kaon_bytes_close(&bytes);
  if (status != KAON_OK) return status;
  kaon_rows_part(header.rows, reading.rank, reading.ranks, &first, &last);
  return kaon_matrix_from_rows(ctx, &rows, first, options, matrix);
}

kaon_status kaon_matrix_file_query(const char *path, int ranks, int threads,
                                   kaon_matrix_file_info *info) {
  KAON_ENTER(NULL, path, info);
  if (ranks < 1 || threads < 1)
    return kaon_fail(NULL, KAON_ERR_ARGUMENT,
                     "matrix file: at least 1 rank of 1 thread is needed, not %d of %d", ranks,
                     threads);
  KAON_TRY(kaon_output_check(NULL, "kaon_matrix_file_info", info));
  kaon_market_options reading = KAON_MARKET_OPTIONS_INIT;
  kaon_market_header h;
  kaon_bytes bytes;
  double collecting = 0, keep = 0;
  reading.square = 1;
  reading.ranks = ranks;
  reading.threads = threads;
  KAON_TRY(kaon_bytes_open(NULL, path, &bytes));
  const kaon_status status = kaon_market_inspect(&bytes, &reading, &h, &collecting, &keep);
  kaon_bytes_close(&bytes);
  if (status != KAON_OK) return status;
  const int halves = h.symmetry != KAON_MARKET_GENERAL;
  kaon_matrix_file_info made = {
      .rows = h.rows,
      .stored = h.stored,
      .entries = halves ? 2 * h.stored - (h.symmetry == KAON_MARKET_SKEW ? 0 : h.rows) : h.stored,
      .reals = h.field == KAON_MARKET_COMPLEX ? 2 : 1,
      .array = h.array,
      .halves = halves,
      .skew = h.symmetry == KAON_MARKET_SKEW,
      .bytes_reading = collecting + keep,
      .bytes_rows = keep};
  if (made.entries < h.stored) made.entries = h.stored; /* some diagonal entries may be missing */
  kaon_output_fill(info, &made, sizeof made);
  return KAON_OK;
}

kaon_status kaon_matrix_generate(kaon_context *ctx, const char *name,
                                 const kaon_matrix_options *options, kaon_matrix **matrix,
                                 double **own) {
  if (matrix != NULL) *matrix = NULL;
  if (own != NULL) *own = NULL;
  KAON_ENTER(ctx, ctx, name, matrix);
  kaon_generator *g = NULL;
  kaon_csr *rows = NULL;
  int64_t first = 0, last = 0;
  kaon_status status = kaon_agree(ctx, kaon_generator_create(ctx, name, &g));
  if (status == KAON_OK) {
    kaon_rows_part(g->rows, ctx->comm->rank, ctx->comm->ranks, &first, &last);
    status = kaon_agree(ctx, kaon_generate_rows(ctx, g, first, last,
                                                ctx->threads > 1 ? ctx->threads : 1, &rows, own));
  }
  kaon_generator_destroy(&g);
  if (status == KAON_OK)
    status = kaon_matrix_from_rows(ctx, &rows, first, options, matrix);
  else
    kaon_csr_destroy(&rows);
  if (status != KAON_OK && own != NULL) {
    free(*own);
    *own = NULL;
  }
  return status;
}

/* The column of the whole matrix for a column of a row set. */
static int64_t column_given(const kaon_matrix *matrix, int64_t column) {
  const int64_t own = matrix->rows->rows->rows;
  if (column >= own) return matrix->rows->ghost_row[column - own];
  return matrix->first_row + (matrix->order != NULL ? matrix->order[column] : column);
}

/* This rank's rows as given: in the caller's order, with columns of the whole matrix. */
static kaon_status rows_given(const kaon_matrix *matrix, kaon_csr **given) {
  const kaon_csr *a = matrix->rows->rows;
  const size_t value = (size_t)a->reals * sizeof *a->value;
  KAON_TRY(kaon_csr_create(matrix->ctx, a->rows, matrix->global_rows, a->reals, a->start[a->rows],
                           given));
  kaon_csr *to = *given;
  int64_t at = 0;
  for (int64_t i = 0; i < a->rows; i++) {
    const int64_t row = matrix->place != NULL ? matrix->place[i] : i;
    for (int64_t n = a->start[row]; n < a->start[row + 1]; n++, at++) {
      to->column[at] = (int32_t)column_given(matrix, a->column[n]);
      memcpy(to->value + at * a->reals, a->value + n * a->reals, value);
    }
    to->start[i + 1] = at;
  }
  kaon_csr_scale(to, matrix->exponent);
  return kaon_csr_sort(matrix->ctx, to, KAON_CSR_REFUSE);
}

/* Skew-symmetric files have no diagonal, not even zeros. */
static kaon_status symmetry_of(const kaon_matrix *matrix, const kaon_csr *given, int64_t first,
                               kaon_market_symmetry *symmetry) {
  const int kinds = matrix->mirrored;
  double diagonal = 0;
  *symmetry = kinds & KAON_SYMMETRIC   ? KAON_MARKET_SYMMETRIC
              : kinds & KAON_HERMITIAN ? KAON_MARKET_HERMITIAN
                                       : KAON_MARKET_GENERAL;
  if (*symmetry != KAON_MARKET_GENERAL || !(kinds & KAON_ANTISYMMETRIC)) return KAON_OK;
  for (int64_t i = 0; i < given->rows; i++) diagonal += kaon_csr_find(given, i, first + i) >= 0;
  KAON_TRY(kaon_comm_sum(matrix->ctx, &diagonal, 1));
  if (diagonal == 0) *symmetry = KAON_MARKET_SKEW;
  return KAON_OK;
}

/* Checks that an integer file can hold the values. */
static kaon_status check_whole(const kaon_matrix *matrix, const kaon_csr *given, int64_t first) {
  if (given->reals != 1)
    return kaon_fail(matrix->ctx, KAON_ERR_ARGUMENT,
                     "matrix write: an integer file has real numbers, but the matrix is complex; "
                     "take KAON_FIELD_FULL");
  for (int64_t i = 0; i < given->rows; i++)
    for (int64_t n = given->start[i]; n < given->start[i + 1]; n++)
      if (given->value[n] != floor(given->value[n]) || fabs(given->value[n]) >= 0x1p53)
        return kaon_fail(matrix->ctx, KAON_ERR_ARGUMENT,
                         "matrix write: row %lld, column %lld is %.17g, which is no whole number "
                         "below 2^53; take KAON_FIELD_FULL",
                         (long long)(first + i + 1), (long long)given->column[n] + 1,
                         given->value[n]);
  return KAON_OK;
}

static kaon_status write_rows(const kaon_matrix *matrix, const kaon_csr *given,
                              kaon_matrix_field as, const char *path) {
  const int64_t first =
      matrix->redistribution != NULL ? matrix->redistribution->first : matrix->first_row;
  kaon_market_field field = given->reals == 2 ? KAON_MARKET_COMPLEX : KAON_MARKET_REAL;
  kaon_market_symmetry symmetry = KAON_MARKET_GENERAL;
  KAON_TRY(symmetry_of(matrix, given, first, &symmetry));
  if (as == KAON_FIELD_PATTERN) { /* the only symmetry of a pattern */
    field = KAON_MARKET_PATTERN;
    symmetry = matrix->mirrored ? KAON_MARKET_SYMMETRIC : KAON_MARKET_GENERAL;
  }
  if (as == KAON_FIELD_INTEGER) {
    field = KAON_MARKET_INTEGER;
    KAON_TRY(kaon_agree(matrix->ctx, check_whole(matrix, given, first)));
  }
  return kaon_market_write(matrix->ctx, path, given, first, field, symmetry);
}

kaon_status kaon_matrix_write_as(const kaon_matrix *matrix, kaon_matrix_field field,
                                 const char *path) {
  KAON_ENTER(KAON_OF(matrix), matrix, path);
  if ((int)field < KAON_FIELD_FULL || field > KAON_FIELD_PATTERN)
    return kaon_fail(matrix->ctx, KAON_ERR_ARGUMENT,
                     "matrix write: field %d is none of KAON_FIELD_FULL, INTEGER, PATTERN",
                     (int)field);
  KAON_AUTO(kaon_csr_destroy) kaon_csr *given = NULL;
  KAON_TRY(kaon_agree(matrix->ctx, rows_given(matrix, &given)));
  if (matrix->redistribution != NULL) KAON_TRY(kaon_rows_to_caller_order(matrix, &given));
  return write_rows(matrix, given, field, path);
}

kaon_status kaon_matrix_write(const kaon_matrix *matrix, const char *path) {
  KAON_ENTER(KAON_OF(matrix), matrix, path);
  return kaon_matrix_write_as(matrix, KAON_FIELD_FULL, path);
}

/* ---- columns ---- */

kaon_status kaon_array_read(kaon_context *ctx, const char *path, int64_t *rows, int64_t *columns,
                            int *reals, double **values) {
  if (values != NULL) *values = NULL;
  KAON_ENTER(ctx, ctx, path, rows, columns, reals, values);
  const kaon_market_options reading = market_options(ctx, NULL);
  kaon_market_header header;
  kaon_bytes bytes;
  KAON_TRY(kaon_bytes_open(ctx, path, &bytes));
  const kaon_status status = kaon_market_read_dense(ctx, &bytes, &reading, &header, values);
  kaon_bytes_close(&bytes);
  if (status != KAON_OK) return status;
  *rows = header.rows;
  *columns = header.columns;
  *reals = header.field == KAON_MARKET_COMPLEX ? 2 : 1;
  return KAON_OK;
}

kaon_status kaon_array_write(kaon_context *ctx, const char *path, int64_t rows, int64_t columns,
                             int reals, const double *values) {
  KAON_ENTER(ctx, ctx, path);
  kaon_status status = KAON_OK;
  if (rows < 0 || columns < 0 || (reals != 1 && reals != 2))
    status = kaon_fail(ctx, KAON_ERR_ARGUMENT,
                       "array write: %lld rows and %lld columns of %d reals, but must be at least "
                       "0 of both, of 1 (real) or 2 (complex)",
                       (long long)rows, (long long)columns, reals);
  else if (values == NULL && rows * columns > 0)
    status =
        kaon_fail(ctx, KAON_ERR_ARGUMENT, "array write: %lld rows and %lld columns, but no values",
                  (long long)rows, (long long)columns);
  for (int64_t i = 0; status == KAON_OK && i < rows * columns * reals; i++)
    if (!isfinite(values[i]))
      status = kaon_fail(ctx, KAON_ERR_NOT_FINITE,
                         "array write: %g in row %lld of column %lld (counted from 1), which a "
                         "Matrix Market file cannot hold; %s is as it was",
                         values[i], (long long)(i / reals % rows) + 1,
                         (long long)(i / reals / rows) + 1, path);
  KAON_TRY(kaon_agree(ctx, status));
  return kaon_market_write_dense(ctx, path, rows, columns, reals, values);
}
