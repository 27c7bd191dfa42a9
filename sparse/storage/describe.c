/* describe.c - kaon_matrix_rows, and kaon_matrix_describe: lengths of rows, structural rank, and
 * rows and columns without nonzero entries, which make the matrix singular. Other ranks have
 * entries of a column too. So each rank sends the indices of the columns it has entries in to the
 * rank with that row. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sparse/order/matching.h"
#include "sparse/ranks/redistribution.h"
#include "sparse/ranks/rank_rows.h"
#include "lib/core/output.h"
#include "lib/core/entry.h"

/* ---- rows and columns of zeros ---- */

static int vanishes(const kaon_csr *a, int64_t n) {
  return a->value[n * a->reals] == 0 && a->value[n * a->reals + a->reals - 1] == 0;
}

static int row_vanishes(const kaon_csr *a, int64_t i) {
  for (int64_t n = a->start[i]; n < a->start[i + 1]; n++)
    if (!vanishes(a, n)) return 0;
  return 1;
}

/* [rows + ghosts] 1: this rank has a nonzero entry in the column. */
static char *columns_met(const kaon_context *ctx, const kaon_csr *a) {
  char *met = calloc((size_t)a->columns + 1, 1);
  const int64_t entries = met != NULL ? a->start[a->rows] : 0;
#pragma omp parallel for num_threads(ctx->threads) schedule(static)
  for (int64_t n = 0; n < entries; n++) {
    if (vanishes(a, n)) continue;
#pragma omp atomic write
    met[a->column[n]] = 1;
  }
  return met;
}

/* Lists these ghosts by the rank that has them, by index in the whole matrix. */
static kaon_status list_ghosts(const kaon_matrix *matrix, const char *met, int64_t *count,
                               int32_t **rows) {
  const kaon_row_set *set = matrix->rows;
  const char *ghost_met = met + set->rows->rows;
  const int ranks = matrix->ctx->comm->ranks;
  int64_t *next = calloc((size_t)ranks + 1, sizeof *next);
  *rows = malloc(((size_t)set->ghosts + 1) * sizeof **rows);
  if (next == NULL || *rows == NULL) {
    free(next);
    return kaon_fail(matrix->ctx, KAON_ERR_MEMORY,
                     "matrix describe: out of host memory for %lld rows", (long long)set->ghosts);
  }
  for (int64_t g = 0; g < set->ghosts; g++)
    if (set->ghost_row[g] >= 0 && ghost_met[g])
      count[kaon_rank_of_row(matrix, set->ghost_row[g])]++;
  for (int r = 0; r < ranks; r++) next[r + 1] = next[r] + count[r];
  for (int64_t g = 0; g < set->ghosts; g++)
    if (set->ghost_row[g] >= 0 && ghost_met[g])
      (*rows)[next[kaon_rank_of_row(matrix, set->ghost_row[g])]++] = set->ghost_row[g];
  free(next);
  return KAON_OK;
}

/* Merges `met` of this rank's own columns with the entries of all ranks. */
static kaon_status merge_over_ranks(const kaon_matrix *matrix, char *met) {
  kaon_context *ctx = matrix->ctx;
  const int ranks = ctx->comm->ranks;
  KAON_AUTOFREE int64_t *count = calloc(2 * (size_t)ranks + 1, sizeof *count);
  int64_t total = 0;
  KAON_AUTOFREE int32_t *rows = NULL;
  KAON_AUTOFREE void *received = NULL;
  kaon_status status =
      count == NULL || met == NULL
          ? kaon_fail(ctx, KAON_ERR_MEMORY, "matrix describe: out of host memory for its columns")
          : list_ghosts(matrix, met, count, &rows);
  status = kaon_agree(ctx, status);
  if (status == KAON_OK)
    status = kaon_ranks_trade(ctx, sizeof *rows, count, rows, count + ranks, &received);
  for (int r = 0; r < ranks && status == KAON_OK; r++) total += count[ranks + r];
  for (int64_t n = 0; n < total; n++) {
    const int64_t row = ((const int32_t *)received)[n] - matrix->first_row;
    met[matrix->place != NULL ? matrix->place[row] : row] = 1;
  }
  return status;
}

/* met: [rows + ghosts] of this rank, owned by the caller. Collective. */
static kaon_status find_columns_met(const kaon_matrix *matrix, char **met) {
  *met = columns_met(matrix->ctx, matrix->rows->rows);
  if (*met != NULL && matrix->ctx->comm->ranks == 1) return KAON_OK;
  const kaon_status status = merge_over_ranks(matrix, *met);
  if (status != KAON_OK) {
    free(*met);
    *met = NULL;
  }
  return status;
}

/* ---- description ---- */

/* 1: a row of the space without a diagonal entry, or with a zero there. */
static int lacks_diagonal(const kaon_csr *a, int64_t i) {
  const int64_t n = kaon_csr_find(a, i, (int32_t)i);
  return n < 0 || vanishes(a, n);
}

enum {
  ENTRIES,
  SQUARES,
  EMPTY_ROWS, /* three kinds, whose first rows are below in the same order */
  EMPTY_COLUMNS,
  NO_DIAGONAL,
  SUMS, /* smallest and largest values follow */
  SHORTEST = SUMS,
  FIRST_ROW,
  FIRST_COLUMN,
  FIRST_DIAGONAL,
  LEAST,
  LONGEST = LEAST,
  NUMBERS
};

/* |i - j| of the columns of row i on this rank that are farthest from it; ghosts come last. */
static int64_t farthest(const kaon_csr *a, int64_t i) {
  int64_t first = a->start[i], last = a->start[i + 1] - 1, most = 0;
  while (last >= first && a->column[last] >= a->rows) last--;
  if (last < first) return 0;
  if (i - a->column[first] > most) most = i - a->column[first];
  return a->column[last] - i > most ? a->column[last] - i : most;
}

/* met: NULL if columns are nonzero where rows are. */
static void inspect_rows(const kaon_matrix *matrix, const char *met, double *mine,
                         int64_t *bandwidth) {
  const kaon_csr *a = matrix->rows->rows;
  int64_t sum[SUMS] = {0}, least[LEAST], longest = 0, most = 0;
  for (int i = 0; i < LEAST; i++) least[i] = INT64_MAX;
#pragma omp parallel for num_threads(matrix->ctx->threads) schedule(static) \
    reduction(+ : sum) reduction(min : least) reduction(max : longest, most)
  for (int64_t i = 0; i < a->rows; i++) {
    const int64_t length = a->start[i + 1] - a->start[i], distance = farthest(a, i);
    const int vanishing = row_vanishes(a, i);
    const int found[] = {
        [EMPTY_ROWS] = vanishing,
        [EMPTY_COLUMNS] = met != NULL ? !met[i] : vanishing,
        [NO_DIAGONAL] = lacks_diagonal(a, i),
    };
    sum[ENTRIES] += length;
    sum[SQUARES] += length * length;
    for (int kind = EMPTY_ROWS; kind <= NO_DIAGONAL; kind++) {
      if (!found[kind]) continue;
      const int64_t row =
          kaon_matrix_caller_row(matrix, matrix->order != NULL ? matrix->order[i] : i);
      int64_t *first = &least[kind - EMPTY_ROWS + FIRST_ROW];
      sum[kind]++;
      if (row < *first) *first = row;
    }
    if (length < least[SHORTEST]) least[SHORTEST] = length;
    if (length > longest) longest = length;
    if (distance > most) most = distance;
  }
  for (int i = 0; i < SUMS; i++) mine[i] = (double)sum[i];
  for (int i = SUMS; i < LEAST; i++) mine[i] = least[i] < INT64_MAX ? (double)least[i] : INFINITY;
  mine[LONGEST] = (double)longest;
  *bandwidth = most;
}

/* Combines the values of all ranks. */
static kaon_status join(kaon_context *ctx, const double *mine, double *all_of_them) {
  const int ranks = ctx->comm->ranks;
  KAON_AUTOFREE double *all = malloc((size_t)ranks * NUMBERS * sizeof *all);
  kaon_status status = KAON_AGREE_MEMORY(ctx, all != NULL,
                                         "matrix describe: out of host memory for %d ranks", ranks);
  if (status == KAON_OK) status = ctx->comm->ops->gather(ctx->comm, mine, NUMBERS, all);
  for (int i = SUMS; i < LEAST; i++) all_of_them[i] = INFINITY;
  for (int r = 0; r < ranks && status == KAON_OK; r++) {
    const double *n = all + r * NUMBERS;
    for (int i = 0; i < SUMS; i++) all_of_them[i] += n[i];
    for (int i = SUMS; i < LEAST; i++) all_of_them[i] = fmin(all_of_them[i], n[i]);
    all_of_them[LONGEST] = fmax(all_of_them[LONGEST], n[LONGEST]);
  }
  return status;
}

/* ---- the structural rank, if some rows lack a diagonal entry ---- */

/* For a matrix on one rank. */
static kaon_status find_structural_rank(const kaon_matrix *matrix, kaon_matrix_info *info) {
  const kaon_csr *a = matrix->rows->rows;
  KAON_AUTOFREE char *taken = malloc((size_t)a->rows + 1);
  KAON_TRY(taken != NULL ? kaon_csr_structural_rank(matrix->ctx, a, &info->structural_rank, taken)
                         : kaon_fail(matrix->ctx, KAON_ERR_MEMORY,
                                     "matrix describe: out of host memory for %lld rows",
                                     (long long)a->rows));
  for (int64_t i = 0; i < a->rows; i++) {
    const int64_t row =
        kaon_matrix_caller_row(matrix, matrix->order != NULL ? matrix->order[i] : i);
    if (!taken[i] && (info->first_unmatched < 0 || row < info->first_unmatched))
      info->first_unmatched = row;
  }
  return KAON_OK;
}

/* A nonzero entry by its indices in the whole matrix as distributed, and its row in the caller's
 * order. */
typedef struct entry_place {
  int32_t row, column, given;
} entry_place;

/* Lists the nonzero entries of this rank (`entries` NULL: none are stored). Returns their
 * number. */
static int64_t list_entries(const kaon_matrix *matrix, entry_place *entries) {
  const kaon_csr *a = matrix->rows->rows;
  int64_t found = 0;
  for (int64_t i = 0; i < a->rows; i++) {
    const int64_t row = matrix->order != NULL ? matrix->order[i] : i;
    for (int64_t n = a->start[i]; n < a->start[i + 1]; n++) {
      const int32_t j = a->column[n];
      if (vanishes(a, n)) continue;
      if (entries != NULL) {
        const int64_t own = j >= a->rows ? 0 : matrix->order != NULL ? matrix->order[j] : j;
        const int64_t column =
            j >= a->rows ? matrix->rows->ghost_row[j - a->rows] : matrix->first_row + own;
        entries[found] = (entry_place){(int32_t)(matrix->first_row + row), (int32_t)column,
                                       (int32_t)kaon_matrix_caller_row(matrix, row)};
      }
      found++;
    }
  }
  return found;
}

static kaon_status pattern_of(const kaon_context *ctx, int64_t rows, int64_t count,
                              const entry_place *entries, kaon_csr **pattern) {
  kaon_csr *csr = NULL;
  KAON_TRY(kaon_csr_create(ctx, rows, rows, 1, count, &csr));
  memset(csr->start, 0, ((size_t)rows + 1) * sizeof *csr->start);
  for (int64_t n = 0; n < count; n++) csr->start[entries[n].row]++;
  for (int64_t i = 0, sum = 0; i <= rows; i++) { /* first the ends of rows, then their starts */
    sum += csr->start[i];
    csr->start[i] = sum;
  }
  for (int64_t n = count - 1; n >= 0; n--) {
    const int64_t at = --csr->start[entries[n].row];
    csr->column[at] = entries[n].column;
    csr->value[at] = 1;
  }
  const kaon_status status = kaon_csr_sort(ctx, csr, KAON_CSR_ADD);
  if (status != KAON_OK) kaon_csr_destroy(&csr);
  *pattern = csr;
  return status;
}

/* Runs on the rank with all entries. info->first_unmatched: empty rows are already known. */
static kaon_status match_entries(const kaon_matrix *matrix, int64_t count,
                                 const entry_place *entries, kaon_matrix_info *info) {
  KAON_AUTOFREE char *taken = calloc((size_t)matrix->global_rows + 1, 1);
  KAON_AUTO(kaon_csr_destroy) kaon_csr *pattern = NULL;
  kaon_status status = KAON_CHECK_MEMORY(matrix->ctx, taken != NULL,
                                         "matrix describe: out of host memory for %lld rows",
                                         (long long)matrix->global_rows);
  if (status == KAON_OK)
    status = pattern_of(matrix->ctx, matrix->global_rows, count, entries, &pattern);
  if (status == KAON_OK)
    status = kaon_csr_structural_rank(matrix->ctx, pattern, &info->structural_rank, taken);
  info->first_unmatched = info->first_empty_row;
  for (int64_t n = 0; n < count && status == KAON_OK; n++)
    if (!taken[entries[n].row] &&
        (info->first_unmatched < 0 || entries[n].given < info->first_unmatched))
      info->first_unmatched = entries[n].given;
  return status;
}

/* Largest number of entries gathered on one rank, which needs about 30 bytes for each. */
enum { GATHERED_MOST = 1 << 22 };

/* For a matrix on several ranks: rank 0 gathers the positions of all entries. */
static kaon_status gather_structural_rank(const kaon_matrix *matrix, kaon_matrix_info *info) {
  kaon_context *ctx = matrix->ctx;
  const size_t ranks = (size_t)ctx->comm->ranks;
  const int64_t mine = list_entries(matrix, NULL);
  KAON_AUTOFREE int64_t *count = calloc(2 * ranks, sizeof *count);
  int64_t total = 0;
  KAON_AUTOFREE entry_place *entries = malloc(((size_t)mine + 1) * sizeof *entries);
  KAON_AUTOFREE void *received = NULL;
  kaon_status status =
      KAON_AGREE_MEMORY(ctx, count != NULL && entries != NULL,
                        "matrix describe: out of host memory for %lld entries", (long long)mine);
  if (status == KAON_OK) {
    count[0] = list_entries(matrix, entries);
    status = kaon_ranks_trade(ctx, sizeof *entries, count, entries, count + ranks, &received);
  }
  for (size_t r = 0; r < ranks && status == KAON_OK; r++) total += count[ranks + r];
  if (status == KAON_OK && ctx->comm->rank == 0)
    status = match_entries(matrix, total, received, info);
  status = kaon_agree(ctx, status);
  double found[2] = {0, 0};
  if (ctx->comm->rank == 0) {
    found[0] = (double)info->structural_rank;
    found[1] = (double)info->first_unmatched;
  }
  if (status == KAON_OK) status = kaon_comm_sum(ctx, found, 2);
  info->structural_rank = (int64_t)found[0];
  info->first_unmatched = (int64_t)found[1];
  return status;
}

/* A row index, or -1 if there is none. */
static int64_t number_of(double least) {
  return isfinite(least) ? (int64_t)least : -1;
}

kaon_status kaon_matrix_describe(const kaon_matrix *matrix, kaon_matrix_info *info) {
  KAON_ENTER(KAON_OF(matrix), matrix, info);
  KAON_TRY(kaon_output_check(matrix->ctx, "kaon_matrix_info", info));
  const kaon_csr *a = matrix->rows->rows;
  double mine[NUMBERS] = {0}, sum[NUMBERS] = {0};
  int64_t bandwidth = 0;
  char *met = NULL;
  if (!(matrix->mirrored & KAON_HERMITIAN)) KAON_TRY(find_columns_met(matrix, &met));
  inspect_rows(matrix, met, mine, &bandwidth);
  free(met);
  KAON_TRY(join(matrix->ctx, mine, sum));
  const double rows = matrix->global_rows > 0 ? (double)matrix->global_rows : 1;
  const double mean = sum[ENTRIES] / rows;
  kaon_matrix_info made = {
      .global_rows = matrix->global_rows,
      .rows = matrix->redistribution != NULL ? matrix->redistribution->rows : a->rows,
      .first_row =
          matrix->redistribution != NULL ? matrix->redistribution->first : matrix->first_row,
      .global_entries = (int64_t)sum[ENTRIES],
      .entries = a->start[a->rows],
      .reals = a->reals,
      .hermitian = matrix->hermitian,
      .skew = matrix->skew,
      .asymmetry = matrix->asymmetry,
      .shortest = isfinite(sum[SHORTEST]) ? (int64_t)sum[SHORTEST] : 0,
      .longest = (int64_t)sum[LONGEST],
      .mean = mean,
      .deviation = sqrt(fmax(sum[SQUARES] / rows - mean * mean, 0)),
      .bandwidth = bandwidth,
      .empty_rows = (int64_t)sum[EMPTY_ROWS],
      .no_diagonal = (int64_t)sum[NO_DIAGONAL],
      .empty_columns = (int64_t)sum[EMPTY_COLUMNS],
      .first_empty_row = number_of(sum[FIRST_ROW]),
      .first_empty_column = number_of(sum[FIRST_COLUMN]),
      .first_no_diagonal = number_of(sum[FIRST_DIAGONAL]),
      .structural_rank = -1,
      .first_unmatched = -1};
  if (made.no_diagonal == 0)
    made.structural_rank = made.global_rows;
  else if (matrix->ctx->comm->ranks == 1)
    KAON_TRY(find_structural_rank(matrix, &made));
  else if (made.global_entries <= GATHERED_MOST)
    KAON_TRY(gather_structural_rank(matrix, &made));
  kaon_output_fill(info, &made, sizeof made);
  return KAON_OK;
}

/* ---- rows as the caller passed them ---- */

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
