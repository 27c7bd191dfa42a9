/* order.c - see order.h. One permutation serves everything. Kernels do not know of it: vectors are
 * put in order when they are imported and exported (kaon_rows in lib/vector/space.h). */
#include "sparse/order/order.h"

#include <stdlib.h>
#include <string.h>

#include "sparse/storage/long_rows.h"

#if defined(__has_include)
#if __has_include("sparse/order/orderings.h")
#include "sparse/order/orderings.h"
#define HAS_ORDERINGS
#endif
#endif

/* Sorting pays off if it reduces padding by this factor. A window keeps rows near their neighbours,
 * whose elements of x they share. */
static const double GOOD = 1.15;
static const int windows[] = {8, 64, 512}; /* in blocks of rows */

static kaon_status no_memory(const kaon_matrix *matrix, int64_t rows) {
  return kaon_fail(matrix->ctx, KAON_ERR_MEMORY,
                   "matrix: out of host memory for the order of its %lld rows", (long long)rows);
}

/* ---- the caller's ordering ---- */

/* The entries in columns of this rank. */
static kaon_status own_part(const kaon_matrix *matrix, const kaon_csr *given, kaon_csr **own) {
  const int64_t first = matrix->first_row, rows = given->rows;
  KAON_TRY(kaon_csr_create(matrix->ctx, rows, rows, given->reals, given->start[rows], own));
  kaon_csr *made = *own;
  int64_t at = 0;
  for (int64_t i = 0; i < rows; i++) {
    for (int64_t n = given->start[i]; n < given->start[i + 1]; n++) {
      const int64_t column = given->column[n] - first;
      if (column < 0 || column >= rows) continue;
      made->column[at] = (int32_t)column;
      for (int c = 0; c < given->reals; c++)
        made->value[at * given->reals + c] = given->value[n * given->reals + c];
      at++;
    }
    made->start[i + 1] = at;
  }
  return KAON_OK;
}

static kaon_status begin(const kaon_matrix *matrix, const kaon_csr *given, kaon_ordering ordering,
                         int32_t *order) {
  for (int64_t i = 0; i < given->rows; i++) order[i] = (int32_t)i;
  if (ordering == KAON_ORDERING_NONE) return KAON_OK;
#ifdef HAS_ORDERINGS
  kaon_csr *own = NULL;
  kaon_status status = own_part(matrix, given, &own);
  if (status == KAON_OK) status = kaon_order_rcm(matrix->ctx, own, order);
  kaon_csr_destroy(&own);
  return status;
#else
  (void)own_part;
  return kaon_fail(matrix->ctx, KAON_ERR_UNSUPPORTED,
                   "matrix: ordering %d is not supported; take KAON_ORDERING_NONE", (int)ordering);
#endif
}

/* ---- boundary and lengths ---- */

static int meets_others(const kaon_matrix *matrix, const kaon_csr *given, int64_t row) {
  const int64_t first = matrix->first_row, end = first + given->rows;
  const int64_t begin_entry = given->start[row], last = given->start[row + 1] - 1;
  if (last < begin_entry) return 0;
  return given->column[begin_entry] < first || given->column[last] >= end; /* columns are sorted */
}

/* Moves rows with columns of other ranks to the end. Returns the number of blocks before them. */
static int64_t boundary_last(const kaon_matrix *matrix, const kaon_csr *given, int32_t *order,
                             int32_t *other) {
  int64_t inside = 0, outside = 0;
  for (int64_t i = 0; i < given->rows; i++)
    if (meets_others(matrix, given, order[i]))
      other[outside++] = order[i];
    else
      order[inside++] = order[i];
  memcpy(order + inside, other, (size_t)outside * sizeof *order);
  return outside == 0 ? inside : inside / matrix->space.width * matrix->space.width;
}

/* Counting sort within windows of `window` rows, longest first; rows of equal length keep their
 * order. */
static void sort_window(int32_t *order, int64_t rows, const int32_t *length, int32_t longest,
                        int32_t *other, int64_t *count) {
  memset(count, 0, ((size_t)longest + 2) * sizeof *count);
  for (int64_t i = 0; i < rows; i++) count[longest - length[order[i]] + 1]++;
  for (int32_t l = 0; l <= longest; l++) count[l + 1] += count[l];
  for (int64_t i = 0; i < rows; i++) other[count[longest - length[order[i]]]++] = order[i];
  memcpy(order, other, (size_t)rows * sizeof *order);
}

/* limit: a device stores longer rows elsewhere, so they take no entries in a block. padded: the
 * entries of the best order so far, where rows are padded to the longest of their block; entries:
 * without padding. */
typedef struct sorting {
  const kaon_matrix *matrix;
  const kaon_csr *given;
  int64_t limit, padded, entries;
  int32_t *length, *other, *trial, *best;
  int64_t *count;
  int32_t longest;
} sorting;

static int32_t length_of(const sorting *s, int64_t i) {
  const int64_t length = s->given->start[i + 1] - s->given->start[i];
  return length > s->limit ? 0 : (int32_t)length;
}

/* The entries of an order with padding. order NULL: the given one. *entries: without padding. */
static int64_t padded(const sorting *s, const int32_t *order, int64_t *entries) {
  const int64_t rows = s->given->rows;
  const int width = s->matrix->space.width, threads = s->matrix->ctx->threads;
  int64_t sum = 0, plain = 0;
#pragma omp parallel for num_threads(threads) schedule(static) reduction(+ : sum, plain)
  for (int64_t first = 0; first < rows; first += width) {
    int32_t longest = 0;
    for (int64_t i = first; i < first + width && i < rows; i++) {
      const int32_t length = length_of(s, order != NULL ? order[i] : i);
      if (length > longest) longest = length;
      plain += length;
    }
    sum += (int64_t)longest * width;
  }
  *entries = plain;
  return sum;
}

/* 1: rows are not sorted by length. */
static int keeps(sorting *s, const int32_t *order, int window) {
  if (window == 1) return 1;
  s->padded = padded(s, order, &s->entries);
  return window == 0 && (double)s->padded <= GOOD * (double)s->entries;
}

static void sort_part(int32_t *order, int64_t rows, int64_t window, const sorting *s) {
  for (int64_t first = 0; first < rows; first += window) {
    const int64_t n = rows - first < window ? rows - first : window;
    int32_t longest = 0; /* counts are cleared up to this length */
    for (int64_t i = first; i < first + n; i++)
      if (s->length[order[i]] > longest) longest = s->length[order[i]];
    sort_window(order + first, n, s->length, longest, s->other, s->count);
  }
}

/* Sorts both parts with one window. Returns the padding of both. */
static void sort_both(const int32_t *from, int32_t *to, int64_t inside, int64_t rows,
                      int64_t window, const sorting *s) {
  memcpy(to, from, (size_t)rows * sizeof *to);
  sort_part(to, inside, window, s);
  sort_part(to + inside, rows - inside, window, s);
}

static void choose_window(sorting *s, int32_t *order, int64_t inside, int asked) {
  const int64_t rows = s->given->rows;
  if (asked > 1) {
    sort_both(order, s->trial, inside, rows, asked, s);
    memcpy(order, s->trial, (size_t)rows * sizeof *order);
    return;
  }
  int better = 0;
  for (size_t i = 0; i < sizeof windows / sizeof *windows; i++) {
    sort_both(order, s->trial, inside, rows, (int64_t)windows[i] * s->matrix->space.width, s);
    const int64_t now = padded(s, s->trial, &s->entries);
    /* too little gain for the larger distance */
    if ((double)now > 0.9 * (double)s->padded) continue;
    s->padded = now;
    better = 1;
    memcpy(s->best, s->trial, (size_t)rows * sizeof *order);
    if ((double)now <= GOOD * (double)s->entries) break;
  }
  if (better) memcpy(order, s->best, (size_t)rows * sizeof *order);
}

static kaon_status by_length(sorting *s, int window, int64_t inside, int32_t *order) {
  const size_t rows = (size_t)s->given->rows;
  if (keeps(s, order, window)) return KAON_OK;
  s->length = malloc((rows + 1) * sizeof *s->length);
  s->trial = malloc((rows + 1) * sizeof *s->trial);
  s->best = malloc((rows + 1) * sizeof *s->best);
  for (int64_t i = 0; i < s->given->rows && s->length != NULL; i++) {
    s->length[i] = length_of(s, i);
    if (s->length[i] > s->longest) s->longest = s->length[i];
  }
  s->count = malloc(((size_t)s->longest + 2) * sizeof *s->count);
  const int lacking = s->length == NULL || s->trial == NULL || s->best == NULL || s->count == NULL;
  if (!lacking) choose_window(s, order, inside, window);
  free(s->length);
  free(s->trial);
  free(s->best);
  free(s->count);
  return lacking ? no_memory(s->matrix, s->given->rows) : KAON_OK;
}

static int is_identity(const int32_t *order, int64_t rows) {
  for (int64_t i = 0; i < rows; i++)
    if (order[i] != i) return 0;
  return 1;
}

kaon_status kaon_matrix_order(kaon_matrix *matrix, const kaon_csr *given,
                              const kaon_matrix_options *options) {
  const size_t rows = (size_t)given->rows;
  const kaon_context *ctx = matrix->ctx;
  sorting s = {.matrix = matrix, .given = given, .limit = INT64_MAX};
  if (!ctx->backend->host_accessible) s.limit = kaon_long_rows_limit(ctx, given);
  if (options->ordering == KAON_ORDERING_NONE && ctx->comm->ranks == 1 &&
      keeps(&s, NULL, options->window))
    return KAON_OK;
  int32_t *order = matrix->order = malloc((rows + 1) * sizeof *order);
  int32_t *place = matrix->place = malloc((rows + 1) * sizeof *place);
  int32_t *number = matrix->number = malloc((rows + 1) * sizeof *number);
  if (order == NULL || place == NULL || number == NULL) return no_memory(matrix, given->rows);
  KAON_TRY(begin(matrix, given, options->ordering, order));
  for (size_t i = 0; i < rows; i++) place[order[i]] = (int32_t)i; /* before rows are sorted */
  const int64_t inside = boundary_last(matrix, given, order, number);
  s.other = number;
  KAON_TRY(by_length(&s, options->window, inside, order));
  for (size_t i = 0; i < rows; i++) number[i] = place[order[i]];
  for (size_t i = 0; i < rows; i++) place[order[i]] = (int32_t)i;
  if (is_identity(number, given->rows)) {
    free(number);
    matrix->number = NULL;
  }
  if (is_identity(order, given->rows)) {
    free(order);
    free(place);
    matrix->order = matrix->place = NULL;
  }
  return KAON_OK;
}
