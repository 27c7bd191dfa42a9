/* long_rows.c - see long_rows.h.
 *
 * A row that does not fit its block is moved with all its entries. So the columns of a block stay
 * close together. The number of positions of a block minimises a cost:
 * - a position costs 1 for each of the block's rows;
 * - an entry of a moved row costs BEYOND, since its sum passes through memory;
 * - a moved row costs ROW.
 * Rows longer than LONG and than twice the mean are always moved, since several threads work on
 * them. (After the hybrid form of Bell and Garland, SC 2009, with blocks of rows instead of all
 * rows, and rows instead of triplets.) */
#include "sparse/storage/long_rows.h"

#include <stdlib.h>
#include <string.h>

#include "lib/core/context_internal.h"

enum { BEYOND = 2, ROW = 64, LONG = 64, LEAST_ENTRIES = 1 << 18 };

int kaon_rows_are_skewed(int64_t rows, int64_t entries, int64_t longest) {
  const double mean = rows > 0 ? (double)entries / (double)rows : 0;
  return (double)longest > 64 * (mean + 1);
}

static int64_t length_of(const kaon_csr *a, int64_t i) {
  return a->start[i + 1] - a->start[i];
}

int64_t kaon_long_rows_limit(const kaon_context *ctx, const kaon_csr *rows) {
  const int64_t entries = rows->start[rows->rows];
  int64_t longest = 0, short_part = 0;
#pragma omp parallel for num_threads(ctx != NULL ? ctx->threads : 1) reduction(max : longest)
  for (int64_t i = 0; i < rows->rows; i++)
    if (length_of(rows, i) > longest) longest = length_of(rows, i);
  if (entries < LEAST_ENTRIES || entries > INT32_MAX ||
      !kaon_rows_are_skewed(rows->rows, entries, longest))
    return INT64_MAX;
  const int64_t twice = 2 * (entries / rows->rows), limit = twice > LONG ? twice : LONG;
  for (int64_t i = 0; i < rows->rows; i++)
    if (length_of(rows, i) <= limit) short_part += length_of(rows, i);
  return short_part >= entries / 4 ? limit : INT64_MAX;
}

static int longer_first(const void *a, const void *b) {
  const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x < y) - (x > y);
}

/* Entry positions in each row of the block whose first row is `first`. */
static int64_t places_of(const kaon_csr *a, int64_t first, int width, int64_t most) {
  int64_t length[KAON_MAX_WIDTH];
  int count = 0;
  for (int64_t i = first; i < first + width && i < a->rows; i++) length[count++] = length_of(a, i);
  qsort(length, (size_t)count, sizeof *length, longer_first);
  int64_t long_part = 0, best = -1, places = 0; /* entries of the n longest rows */
  for (int n = 0; n <= count; n++) {
    const int64_t tried = n < count ? length[n] : 0;
    const int64_t cost = width * tried + BEYOND * long_part + ROW * n;
    if (tried <= most && (best < 0 || cost < best)) {
      best = cost;
      places = tried;
    }
    if (n < count) long_part += length[n];
  }
  return places;
}

typedef struct division {
  int32_t *places;                   /* [block] */
  int64_t short_part, entries, rows; /* short_part: entries that stay; the others: what moves */
} division;

static int goes(const kaon_csr *a, int width, const division *d, int64_t i) {
  return length_of(a, i) > d->places[i / width];
}

static void count(const kaon_csr *a, int width, int64_t limit, division *d) {
  const int64_t entries = a->start[a->rows];
  for (int64_t i = 0; i < a->rows; i++) {
    if (i % width == 0) d->places[i / width] = (int32_t)places_of(a, i, width, limit);
    if (!goes(a, width, d, i)) continue;
    d->rows++;
    d->entries += length_of(a, i);
  }
  d->short_part = entries - d->entries;
}

/* Appends row i to `to`, which has `rows` rows so far. */
static void copy(const kaon_csr *from, int64_t i, kaon_csr *to, int64_t rows) {
  const int64_t entry = from->start[i], number = length_of(from, i), at = to->start[rows];
  memcpy(to->column + at, from->column + entry, (size_t)number * sizeof *to->column);
  memcpy(to->value + at * from->reals, from->value + entry * from->reals,
         (size_t)(number * from->reals) * sizeof *to->value);
  to->start[rows + 1] = at + number;
}

static kaon_status fill(const kaon_context *ctx, const kaon_csr *a, int width, const division *d,
                        kaon_long_rows *to) {
  KAON_TRY(kaon_csr_create(ctx, a->rows, a->columns, a->reals, d->short_part, &to->short_part));
  KAON_TRY(kaon_csr_create(ctx, d->rows, a->columns, a->reals, d->entries, &to->long_part));
  to->row = malloc(((size_t)d->rows + 1) * sizeof *to->row);
  if (to->row == NULL)
    return kaon_fail(ctx, KAON_ERR_MEMORY, "matrix: out of host memory for %lld long rows",
                     (long long)d->rows);
  for (int64_t i = 0, n = 0; i < a->rows; i++) {
    to->short_part->start[i + 1] = to->short_part->start[i];
    if (!goes(a, width, d, i)) {
      copy(a, i, to->short_part, i);
    } else {
      copy(a, i, to->long_part, n);
      to->row[n++] = (int32_t)i;
    }
  }
  return KAON_OK;
}

kaon_status kaon_long_rows_divide(const kaon_context *ctx, const kaon_csr *rows, int width,
                                  kaon_long_rows *parts) {
  const int64_t limit = kaon_long_rows_limit(ctx, rows);
  const int64_t blocks = (rows->rows + width - 1) / width;
  division d = {0};
  *parts = (kaon_long_rows){0};
  if (limit == INT64_MAX) return KAON_OK;
  d.places = malloc((size_t)blocks * sizeof *d.places);
  if (d.places == NULL)
    return kaon_fail(ctx, KAON_ERR_MEMORY, "matrix: out of host memory for %lld blocks of rows",
                     (long long)blocks);
  count(rows, width, limit, &d);
  const kaon_status status = fill(ctx, rows, width, &d, parts);
  free(d.places);
  if (status != KAON_OK) kaon_long_rows_clear(parts);
  return status;
}

void kaon_long_rows_clear(kaon_long_rows *parts) {
  kaon_csr_destroy(&parts->short_part);
  kaon_csr_destroy(&parts->long_part);
  free(parts->row);
  parts->row = NULL;
}
