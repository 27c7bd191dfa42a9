/* long_entries.c - see long_entries.h and kaon_long_entries (sparse_ops.h). */
#include "sparse/storage/long_entries.h"

#include <stdlib.h>
#include <string.h>

#include "lib/core/context_internal.h"
#include "lib/vector/space.h"
#include "sparse/storage/stored_value.h"

/* UNIT: target number of entry positions in a work unit. It is large enough for its x to be reused,
 * and small enough to give a device enough units. SPARSE: x of a range is copied if the range has
 * at most SPARSE values for each entry. */
enum { LANES = 32, UNIT = 16384, SPARSE = 4, LONGEST = 32 };

typedef struct chunk {
  int64_t entry; /* first entry */
  int32_t row, length;
  int32_t place; /* position of its sum */
} chunk;

enum { UNITS, STARTS, COLUMNS, VALUES, PLACES, ROWS, FIRSTS, SCALES, ARRAYS };

typedef struct work {
  kaon_context *ctx;
  const kaon_csr *a;
  int64_t own;           /* number of columns that are not ghosts */
  int range_columns;     /* most columns of a range */
  kaon_precision stored; /* precision of values */
  int64_t near, ranges;
  chunk *chunk;
  int64_t *range_first; /* [ranges + 1] first index in `chunk` */
  int64_t *slice_first; /* [ranges + 1] */
  int64_t slices, units;
  void *host[ARRAYS];
  size_t bytes[ARRAYS];
} work;

static kaon_status room(const work *w, size_t bytes, void **memory) {
  *memory = malloc(bytes > 0 ? bytes : 1);
  if (*memory != NULL) return KAON_OK;
  return kaon_fail(w->ctx, KAON_ERR_MEMORY,
                   "matrix: out of host memory for %zu bytes of its long rows", bytes);
}

static kaon_status take(work *w, int array, int64_t count, size_t size) {
  w->bytes[array] = (size_t)count * size;
  return room(w, w->bytes[array], &w->host[array]);
}

/* The range of a column. Ranges of local columns come first; no range has both kinds. */
static int64_t range_of(const work *w, int64_t column) {
  return column < w->own ? column / w->range_columns
                         : w->near + (column - w->own) / w->range_columns;
}

static int64_t first_column(const work *w, int64_t range) {
  return range < w->near ? range * w->range_columns : w->own + (range - w->near) * w->range_columns;
}

static int64_t columns_of(const work *w, int64_t range) {
  const int64_t end = range < w->near ? w->own : w->a->columns, first = first_column(w, range);
  return end - first < w->range_columns ? end - first : w->range_columns;
}

/* ---- chunks ---- */

/* The end of the chunk that begins with entry n, in a row that ends at `end`. */
static int64_t chunk_end(const work *w, int64_t n, int64_t end) {
  const int64_t range = range_of(w, w->a->column[n]);
  const int64_t most = end - n < LONGEST ? end : n + LONGEST;
  while (n < most && range_of(w, w->a->column[n]) == range) n++;
  return n;
}

/* Counts the chunks of each row and each range; sets the firsts of rows and of ranges. */
static kaon_status count_chunks(work *w) {
  const kaon_csr *a = w->a;
  void *memory = NULL;
  KAON_TRY(take(w, FIRSTS, a->rows + 1, sizeof(int64_t)));
  KAON_TRY(room(w, ((size_t)w->ranges + 1) * sizeof *w->range_first, &memory));
  int64_t *row_first = w->host[FIRSTS], *first = w->range_first = memory;
  memset(first, 0, ((size_t)w->ranges + 1) * sizeof *first);
  row_first[0] = 0;
  for (int64_t i = 0; i < a->rows; i++) {
    int64_t count = 0;
    for (int64_t n = a->start[i]; n < a->start[i + 1]; n = chunk_end(w, n, a->start[i + 1])) {
      first[range_of(w, a->column[n]) + 1]++;
      count++;
    }
    row_first[i + 1] = row_first[i] + count;
  }
  for (int64_t s = 0; s < w->ranges; s++) first[s + 1] += first[s];
  return KAON_OK;
}

/* By length, the longest first, then by row. */
static int longer_first(const void *a, const void *b) {
  const chunk *x = a, *y = b;
  if (x->length != y->length) return x->length < y->length ? 1 : -1;
  return (x->row > y->row) - (x->row < y->row);
}

static kaon_status find_chunks(work *w) {
  const kaon_csr *a = w->a;
  const int64_t all = w->range_first[w->ranges];
  void *memory = NULL, *chunks = NULL;
  KAON_TRY(room(w, ((size_t)w->ranges + 1) * sizeof(int64_t), &memory));
  int64_t *next = memory;
  memcpy(next, w->range_first, ((size_t)w->ranges + 1) * sizeof *next);
  const kaon_status status = room(w, (size_t)all * sizeof *w->chunk, &chunks);
  w->chunk = chunks;
  int32_t place = 0;
  for (int64_t i = 0; i < a->rows && status == KAON_OK; i++)
    for (int64_t n = a->start[i], end; n < a->start[i + 1]; n = end) {
      end = chunk_end(w, n, a->start[i + 1]);
      w->chunk[next[range_of(w, a->column[n])]++] =
          (chunk){n, (int32_t)i, (int32_t)(end - n), place++};
    }
  free(next);
  if (status != KAON_OK) return status;
#pragma omp parallel for num_threads(w->ctx->threads) schedule(dynamic, 8)
  for (int64_t s = 0; s < w->ranges; s++)
    qsort(w->chunk + w->range_first[s], (size_t)(w->range_first[s + 1] - w->range_first[s]),
          sizeof *w->chunk, longer_first);
  return KAON_OK;
}

/* ---- slices and units ---- */

/* The chunk in a lane of slice n of a range; NULL: padding. */
static const chunk *chunk_of(const work *w, int64_t range, int64_t n, int lane) {
  const int64_t at = w->range_first[range] + n * LANES + lane;
  return at < w->range_first[range + 1] ? &w->chunk[at] : NULL;
}

static kaon_status place_slices(work *w) {
  void *memory = NULL;
  KAON_TRY(room(w, ((size_t)w->ranges + 1) * sizeof *w->slice_first, &memory));
  w->slice_first = memory;
  w->slice_first[0] = 0;
  for (int64_t s = 0; s < w->ranges; s++) {
    const int64_t chunks = w->range_first[s + 1] - w->range_first[s];
    w->slice_first[s + 1] = w->slice_first[s] + (chunks + LANES - 1) / LANES;
  }
  w->slices = w->slice_first[w->ranges];
  KAON_TRY(take(w, STARTS, w->slices + 1, sizeof(int64_t)));
  int64_t *start = w->host[STARTS];
  start[0] = 0;
  for (int64_t s = 0; s < w->ranges; s++)
    for (int64_t n = w->slice_first[s]; n < w->slice_first[s + 1]; n++)
      start[n + 1] = start[n] + chunk_of(w, s, n - w->slice_first[s], 0)->length;
  return KAON_OK;
}

/* Writes the units of a range from `unit` on (NULL: writes none). Returns their number. */
static int64_t cut(const work *w, int64_t range, kaon_long_unit *unit) {
  const int64_t *start = w->host[STARTS];
  const int64_t first = w->slice_first[range], last = w->slice_first[range + 1];
  const int near = (start[last] - start[first]) * LANES * SPARSE >= columns_of(w, range);
  int64_t count = 0;
  for (int64_t n = first, end; n < last; n = end, count++) {
    for (end = n + 1; end < last && (start[end + 1] - start[n]) * LANES <= UNIT;) end++;
    if (unit != NULL)
      unit[count] = (kaon_long_unit){.column = (int32_t)first_column(w, range),
                                     .columns = (int32_t)columns_of(w, range),
                                     .slice = (int32_t)n,
                                     .slices = (int32_t)(end - n),
                                     .near = near};
  }
  return count;
}

static kaon_status cut_units(work *w) {
  for (int64_t s = 0; s < w->ranges; s++) w->units += cut(w, s, NULL);
  KAON_TRY(take(w, UNITS, w->units, sizeof(kaon_long_unit)));
  kaon_long_unit *unit = w->host[UNITS];
  for (int64_t s = 0; s < w->ranges; s++) unit += cut(w, s, unit);
  return KAON_OK;
}

/* ---- values ---- */

/* Stores a chunk in its lane, padded to `places` entries with 0 and the column of its last entry.
 * from: the range's first column; at: the slice's first position. */
static void put_entries(const work *w, const chunk *p, int64_t from, int64_t at, int64_t places,
                        int lane) {
  const kaon_csr *a = w->a;
  const int64_t last = a->column[p->entry + p->length - 1];
  for (int64_t j = p->length; j < places; j++)
    ((uint16_t *)w->host[COLUMNS])[(at + j) * LANES + lane] = (uint16_t)(last - from);
  const float factor =
      w->stored == KAON_HALF ? kaon_half_factor(((float *)w->host[SCALES])[p->row]) : 0;
  for (int64_t j = 0; j < p->length; j++) {
    const int64_t to = (at + j) * LANES + lane;
    ((uint16_t *)w->host[COLUMNS])[to] = (uint16_t)(a->column[p->entry + j] - from);
    for (int c = 0; c < a->reals; c++)
      kaon_store_value(w->host[VALUES], w->stored, to * a->reals + c,
                       a->value[(p->entry + j) * a->reals + c], factor);
  }
}

static void fill_slices(const work *w) {
  const int64_t *start = w->host[STARTS];
  int32_t *place = w->host[PLACES];
  memset(w->host[COLUMNS], 0, w->bytes[COLUMNS]);
  memset(w->host[VALUES], 0, w->bytes[VALUES]);
#pragma omp parallel for num_threads(w->ctx->threads) schedule(dynamic, 8)
  for (int64_t s = 0; s < w->ranges; s++)
    for (int64_t n = w->slice_first[s]; n < w->slice_first[s + 1]; n++)
      for (int lane = 0; lane < LANES; lane++) {
        const chunk *p = chunk_of(w, s, n - w->slice_first[s], lane);
        place[n * LANES + lane] = p != NULL ? p->place : -1;
        if (p != NULL)
          put_entries(w, p, first_column(w, s), start[n], start[n + 1] - start[n], lane);
      }
}

static kaon_status fill(work *w, const int32_t *row) {
  const int64_t places = ((int64_t *)w->host[STARTS])[w->slices] * LANES;
  KAON_TRY(take(w, COLUMNS, places, sizeof(uint16_t)));
  KAON_TRY(take(w, VALUES, places * w->a->reals, kaon_precision_bytes(w->stored)));
  KAON_TRY(take(w, PLACES, w->slices * LANES, sizeof(int32_t)));
  KAON_TRY(take(w, ROWS, w->a->rows, sizeof(int32_t)));
  memcpy(w->host[ROWS], row, w->bytes[ROWS]);
  if (w->stored == KAON_HALF) {
    KAON_TRY(take(w, SCALES, w->a->rows, sizeof(float)));
    for (int64_t i = 0; i < w->a->rows; i++)
      ((float *)w->host[SCALES])[i] = kaon_row_scale(w->a, i);
  }
  fill_slices(w);
  return KAON_OK;
}

/* ---- to the device ---- */

static kaon_status upload(work *w, kaon_precision precision, kaon_long_entries *to) {
  void *device[ARRAYS] = {NULL};
  kaon_status status = KAON_OK;
  for (int i = 0; i < ARRAYS && status == KAON_OK; i++)
    if (w->host[i] != NULL)
      status =
          kaon_table_upload(w->ctx, w->host[i], w->bytes[i], "long rows of a matrix", &device[i]);
  to->unit = device[UNITS];
  to->start = device[STARTS];
  to->column = device[COLUMNS];
  to->value = device[VALUES];
  to->place = device[PLACES];
  to->row = device[ROWS];
  to->first = device[FIRSTS];
  to->scale = device[SCALES];
  to->rows = w->a->rows;
  to->entries = w->a->start[w->a->rows];
  to->chunks = w->range_first[w->ranges];
  to->units = w->units;
  to->range_columns = w->range_columns;
  const size_t number = (size_t)w->a->reals * kaon_precision_bytes(precision);
  if (status == KAON_OK)
    status = kaon_pool_allocate(w->ctx, (size_t)to->chunks * number, "sums of long rows", &to->sum);
  return status;
}

static kaon_status build(work *w, const int32_t *row, kaon_precision precision,
                         kaon_long_entries *to) {
  w->near = (w->own + w->range_columns - 1) / w->range_columns;
  w->ranges = w->near + (w->a->columns - w->own + w->range_columns - 1) / w->range_columns;
  KAON_TRY(count_chunks(w));
  KAON_TRY(find_chunks(w));
  KAON_TRY(place_slices(w));
  KAON_TRY(cut_units(w));
  KAON_TRY(fill(w, row));
  return upload(w, precision, to);
}

kaon_status kaon_long_entries_create(kaon_context *ctx, const kaon_long_rows *parts, int64_t own,
                                     kaon_precision precision, int half, kaon_long_entries **made,
                                     int64_t *bytes, int64_t *index_bytes) {
  const size_t real = kaon_precision_bytes(precision);
  const kaon_csr *a = parts->long_part;
  work w = {.ctx = ctx,
            .a = a,
            .own = own,
            .stored = half ? KAON_HALF : precision,
            .range_columns = KAON_LONG_SHARED_BYTES / (a->reals * (int)real)};
  *made = calloc(1, sizeof **made);
  if (*made == NULL) return kaon_fail(ctx, KAON_ERR_MEMORY, "matrix: out of host memory");
  const kaon_status status = build(&w, parts->row, precision, *made);
  for (int i = 0; i < ARRAYS; i++) {
    *bytes += (int64_t)w.bytes[i];
    free(w.host[i]);
  }
  *bytes += (*made)->chunks * a->reals * (int64_t)real;
  *index_bytes += (int64_t)(w.bytes[UNITS] + w.bytes[STARTS] + w.bytes[PLACES] + w.bytes[ROWS] +
                            w.bytes[FIRSTS]) +
                  2 * a->start[a->rows];
  free(w.chunk);
  free(w.range_first);
  free(w.slice_first);
  if (status != KAON_OK) kaon_long_entries_destroy(ctx, made);
  return status;
}

void kaon_long_entries_destroy(kaon_context *ctx, kaon_long_entries **made) {
  kaon_long_entries *gone = *made;
  *made = NULL;
  if (gone == NULL) return;
  kaon_pool_release(ctx, (void *)(uintptr_t)gone->unit);
  kaon_pool_release(ctx, (void *)(uintptr_t)gone->start);
  kaon_pool_release(ctx, (void *)(uintptr_t)gone->column);
  kaon_pool_release(ctx, (void *)(uintptr_t)gone->value);
  kaon_pool_release(ctx, (void *)(uintptr_t)gone->place);
  kaon_pool_release(ctx, (void *)(uintptr_t)gone->row);
  kaon_pool_release(ctx, (void *)(uintptr_t)gone->first);
  kaon_pool_release(ctx, (void *)(uintptr_t)gone->scale);
  kaon_pool_release(ctx, gone->sum);
  free(gone);
}
