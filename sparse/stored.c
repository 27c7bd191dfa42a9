/* stored.c - see stored.h.
 *
 * Which form AUTO takes: blocks of rows (SELL) where their padding is small, since a register or a
 * warp then works on as many rows as it has lanes and reads them side by side; rows one by one
 * (CSR) where it is not. ELL where nothing is gained by starts of blocks. */
#include "sparse/stored.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/math/half.h"
#include "sparse/order.h"

/* Places an entry up to which SELL is taken. Rows longer than LONG, where there are too
 * few of them to keep a GPU busy by a thread each, are worked on by several threads each, which CSR
 * does (with 3e6 rows of 79 entries it takes 1.3 to 1.6 times as long as SELL: spmv_times). */
static const double SELL_MOST = 1.5;
enum { LONG = 64, FEW = 1 << 15 };

typedef struct work {
  kaon_context *ctx;
  const kaon_csr *rows;
  kaon_stored *stored;
  int width, pack;
  size_t size; /* of a stored component */
  int32_t *length;
  int64_t *start;      /* of blocks, in entries of W */
  unsigned char *used; /* entries that are part of a run */
  int64_t in_runs;     /* entries of W */
  void *host[5];       /* start, column, value, scale, run */
} work;
enum { START, COLUMN, VALUE, SCALE, RUN, ARRAYS };

static kaon_status room(work *w, int64_t count, size_t size, void **memory) {
  *memory = malloc((size_t)(count > 0 ? count : 1) * size);
  if (*memory != NULL) return KAON_OK;
  return kaon_fail(w->ctx, KAON_ERR_MEMORY,
                   "matrix: %lld elements of %zu bytes of its stored form find no host memory",
                   (long long)count, size);
}

/* ---- numbers ---- */

static float largest_of(const kaon_csr *rows, int64_t i) {
  float largest = 0;
  for (int64_t n = rows->start[i] * rows->reals; n < rows->start[i + 1] * rows->reals; n++)
    largest = fmaxf(largest, fabsf((float)rows->value[n]));
  return largest;
}

static void put_number(const work *w, int64_t at, double value, float factor) {
  if (w->stored->matrix.half)
    ((int16_t *)w->host[VALUE])[at] = (int16_t)lrintf((float)value * factor);
  else if (w->stored->precision == KAON_DOUBLE)
    ((double *)w->host[VALUE])[at] = value;
  else
    ((float *)w->host[VALUE])[at] = (float)value;
}

/* Row i's scale is kept (half); what its numbers are multiplied with. */
static float take_scale(const work *w, int64_t i) {
  if (!w->stored->matrix.half) return 0;
  const float largest = largest_of(w->rows, i);
  ((float *)w->host[SCALE])[i] = largest;
  return kaon_half_factor(largest);
}

/* ---- rows one by one ---- */

static kaon_status fill_csr(work *w) {
  const kaon_csr *a = w->rows;
  kaon_stored_matrix *m = &w->stored->matrix;
  const int64_t entries = a->start[a->rows];
  m->wide = entries > INT32_MAX;
  KAON_TRY(room(w, a->rows + 1, m->wide ? 8 : 4, &w->host[START]));
  KAON_TRY(room(w, entries, sizeof *a->column, &w->host[COLUMN]));
  KAON_TRY(room(w, entries * a->reals, w->size, &w->host[VALUE]));
  for (int64_t i = 0; i <= a->rows; i++)
    if (m->wide)
      ((int64_t *)w->host[START])[i] = a->start[i];
    else
      ((int32_t *)w->host[START])[i] = (int32_t)a->start[i];
  memcpy(w->host[COLUMN], a->column, (size_t)entries * sizeof *a->column);
#pragma omp parallel for num_threads(w->ctx->threads) schedule(static)
  for (int64_t i = 0; i < a->rows; i++) {
    const float factor = take_scale(w, i);
    for (int64_t n = a->start[i] * a->reals; n < a->start[i + 1] * a->reals; n++)
      put_number(w, n, a->value[n], factor);
  }
  return KAON_OK;
}

/* ---- blocks of rows ---- */

/* Entry n of the row in place e of a lane; n < 0: padding. */
static void put_entry(const work *w, int64_t e, int lane, int64_t row, int64_t n, float factor) {
  const kaon_csr *a = w->rows;
  const int64_t last = row < a->rows ? a->start[row + 1] - 1 : -1;
  int32_t column = row < a->rows ? (int32_t)row : 0;
  if (n >= 0)
    column = a->column[n];
  else if (row < a->rows && last >= a->start[row])
    column = a->column[last];
  ((int32_t *)w->host[COLUMN])[e * w->width + lane] = column;
  for (int c = 0; c < a->reals; c++)
    put_number(w, kaon_packed_index(e, 0, c, lane, 1, a->reals, w->width, w->pack),
               n >= 0 ? a->value[n * a->reals + c] : 0, factor);
}

/* Marks the entries of a block of W whole rows whose columns follow one another in the lanes, and
 * lists the columns of lane 0. */
static int64_t find_runs(const work *w, int64_t first, int32_t *run) {
  const kaon_csr *a = w->rows;
  int64_t cursor[KAON_MAX_WIDTH], found = 0;
  if (first + w->width > a->rows) return 0;
  for (int l = 0; l < w->width; l++) cursor[l] = a->start[first + l];
  for (int64_t n = a->start[first]; n < a->start[first + 1]; n++) {
    const int64_t column = a->column[n];
    int whole = column + w->width <= a->rows;
    for (int l = 0; l < w->width && whole; l++) {
      const int64_t end = a->start[first + l + 1];
      while (cursor[l] < end && a->column[cursor[l]] < column + l) cursor[l]++;
      whole = cursor[l] < end && a->column[cursor[l]] == column + l;
    }
    if (!whole) continue;
    for (int l = 0; l < w->width; l++) w->used[cursor[l]] = 1;
    run[found++] = (int32_t)column;
  }
  return found;
}

/* A block's entries: runs first, then what is left of each row in its order, then padding. */
static int64_t fill_block(const work *w, int64_t block) {
  const kaon_csr *a = w->rows;
  const int64_t begin = w->start[block], places = w->start[block + 1] - begin;
  const int64_t first = block * w->width;
  int32_t *run = w->host[RUN] != NULL ? (int32_t *)w->host[RUN] + begin : NULL;
  const int64_t runs = run != NULL ? find_runs(w, first, run) : 0;
  for (int64_t j = runs; j < places && run != NULL; j++) run[j] = -1;
  for (int lane = 0; lane < w->width; lane++) {
    const int64_t row = first + lane;
    const float factor = row < a->rows ? take_scale(w, row) : 0;
    int64_t in = 0, left = runs;
    for (int64_t n = row < a->rows ? a->start[row] : 0; row < a->rows && n < a->start[row + 1]; n++)
      put_entry(w, begin + (run != NULL && w->used[n] ? in++ : left++), lane, row, n, factor);
    for (; left < places; left++) put_entry(w, begin + left, lane, row, -1, factor);
  }
  return runs;
}

static kaon_status fill_blocks(work *w) {
  const kaon_csr *a = w->rows;
  kaon_stored_matrix *m = &w->stored->matrix;
  const int64_t places = w->start[m->blocks], entries = a->start[a->rows];
  m->wide = places > INT32_MAX;
  KAON_TRY(room(w, places * w->width, sizeof *a->column, &w->host[COLUMN]));
  KAON_TRY(room(w, places * w->width * a->reals, w->size, &w->host[VALUE]));
  if (m->form == KAON_STORED_SELL) {
    KAON_TRY(room(w, m->blocks + 1, m->wide ? 8 : 4, &w->host[START]));
    for (int64_t b = 0; b <= m->blocks; b++)
      if (m->wide)
        ((int64_t *)w->host[START])[b] = w->start[b];
      else
        ((int32_t *)w->host[START])[b] = (int32_t)w->start[b];
  }
  if (w->ctx->backend->host_accessible) {
    KAON_TRY(room(w, places, sizeof(int32_t), &w->host[RUN]));
    w->used = calloc((size_t)entries + 1, 1);
    if (w->used == NULL)
      return kaon_fail(w->ctx, KAON_ERR_MEMORY, "matrix: no host memory for %lld marks",
                       (long long)entries);
  }
  int64_t in_runs = 0;
#pragma omp parallel for num_threads(w->ctx->threads) schedule(static) reduction(+ : in_runs)
  for (int64_t b = 0; b < m->blocks; b++) in_runs += fill_block(w, b);
  w->in_runs = in_runs;
  return KAON_OK;
}

/* ---- the form ---- */

typedef struct statistics {
  int64_t rows, entries, longest, sell, ell; /* sell, ell: places */
} statistics;

static statistics look(const work *w) {
  statistics s = {.rows = w->rows->rows, .entries = w->rows->start[w->rows->rows]};
  for (int64_t i = 0; i < s.rows; i++)
    if (w->length[i] > s.longest) s.longest = w->length[i];
  s.sell = kaon_padded_entries(w->length, s.rows, w->width);
  s.ell = (s.rows + w->width - 1) / w->width * w->width * s.longest;
  return s;
}

/* Threads of a GPU that share a row: about as many as it has entries; 0, by entries, where a few
 * rows hold up all others. */
static int lanes_of(const statistics *s) {
  const double mean = s->rows > 0 ? (double)s->entries / (double)s->rows : 0;
  int lanes = 1;
  if ((double)s->longest > 64 * (mean + 1)) return 0;
  while (lanes < 32 && lanes < mean) lanes *= 2;
  return lanes;
}

static int choose(const work *w, kaon_matrix_format asked, const statistics *s, const char **why) {
  const double mean = s->rows > 0 ? (double)s->entries / (double)s->rows : 0;
  *why = "as asked for";
  if (asked == KAON_STORE_CSR) return KAON_STORED_CSR;
  if (asked == KAON_STORE_SELL) return KAON_STORED_SELL;
  if (asked == KAON_STORE_ELL) return KAON_STORED_ELL;
  *why = "rows of a block are of unlike length";
  if ((double)s->sell > SELL_MOST * (double)s->entries) return KAON_STORED_CSR;
  *why = "rows are long enough for several threads each";
  if (!w->ctx->backend->host_accessible && mean > LONG && w->rows->rows < FEW) return KAON_STORED_CSR;
  *why = "rows are all of about one length";
  if (s->ell <= s->sell + s->sell / 100) return KAON_STORED_ELL;
  *why = "rows of a block are of about one length";
  return KAON_STORED_SELL;
}

static void describe(const work *w, const statistics *s, const char *why) {
  static const char *const names[] = {"csr", "sell", "ell"};
  kaon_stored *to = w->stored;
  const kaon_stored_matrix *m = &to->matrix;
  const double entries = s->entries > 0 ? (double)s->entries : 1;
  const char *numbers = m->half ? "16-bit" : to->precision == KAON_DOUBLE ? "double" : "single";
  char runs[64] = "";
  if (m->run != NULL)
    snprintf(runs, sizeof runs, ", %.0f %% of the entries in runs",
             100.0 * (double)w->in_runs * w->width / entries);
  snprintf(to->text, sizeof to->text,
           "%s, %s values: %s (places an entry: %.2f in blocks of %d rows, %.2f with all rows "
           "padded%s)",
           names[m->form], numbers, why, (double)s->sell / entries, w->width,
           (double)s->ell / entries, runs);
}

static kaon_status measure(work *w) {
  const kaon_csr *a = w->rows;
  void *length = NULL, *start = NULL;
  KAON_TRY(room(w, a->rows, sizeof *w->length, &length));
  w->length = length;
  for (int64_t i = 0; i < a->rows; i++) w->length[i] = (int32_t)(a->start[i + 1] - a->start[i]);
  KAON_TRY(room(w, w->stored->matrix.blocks + 1, sizeof *w->start, &start));
  w->start = start;
  return KAON_OK;
}

static void place_blocks(work *w, int64_t longest) {
  const int64_t rows = w->rows->rows;
  w->start[0] = 0;
  for (int64_t b = 0; b < w->stored->matrix.blocks; b++) {
    int64_t places = w->stored->matrix.form == KAON_STORED_ELL ? longest : 0;
    for (int64_t i = b * w->width; i < (b + 1) * w->width && i < rows; i++)
      if (w->length[i] > places) places = w->length[i];
    w->start[b + 1] = w->start[b] + places;
  }
}

/* ---- to the device ---- */

static kaon_status upload(work *w) {
  const kaon_stored_matrix *m = &w->stored->matrix;
  const int64_t rows = w->rows->rows, csr = m->form == KAON_STORED_CSR;
  const int64_t places = csr ? w->rows->start[rows] : w->start[m->blocks] * w->width;
  const size_t starts = (size_t)((csr ? rows : m->blocks) + 1) * (m->wide ? 8 : 4);
  const size_t bytes[ARRAYS] = {starts, (size_t)places * 4, (size_t)(places * m->reals) * w->size,
                                (size_t)(m->blocks * w->width) * 4,
                                (size_t)(places / w->width) * 4};
  void *device[ARRAYS] = {NULL};
  kaon_status status = KAON_OK;
  for (int i = 0; i < ARRAYS && status == KAON_OK; i++) {
    if (w->host[i] == NULL) continue;
    status = kaon_table_upload(w->ctx, w->host[i], bytes[i], "a matrix", &device[i]);
    w->stored->bytes += (int64_t)bytes[i];
    free(w->host[i]); /* the next one needs the room */
    w->host[i] = NULL;
  }
  kaon_stored_matrix *to = &w->stored->matrix;
  to->start = device[START];
  to->column = device[COLUMN];
  to->value = device[VALUE];
  to->scale = device[SCALE];
  to->run = device[RUN];
  return status;
}

static kaon_status build(work *w, kaon_matrix_format format) {
  kaon_stored_matrix *m = &w->stored->matrix;
  const char *why = "";
  KAON_TRY(measure(w));
  const statistics s = look(w);
  m->form = choose(w, format, &s, &why);
  m->lanes = lanes_of(&s);
  m->length = m->form == KAON_STORED_ELL ? (int)s.longest : 0;
  if (m->half) { /* kernels read whole blocks */
    KAON_TRY(room(w, m->blocks * w->width, sizeof(float), &w->host[SCALE]));
    memset(w->host[SCALE], 0, (size_t)(m->blocks * w->width) * sizeof(float));
  }
  if (m->form == KAON_STORED_CSR) {
    KAON_TRY(fill_csr(w));
  } else {
    place_blocks(w, s.longest);
    KAON_TRY(fill_blocks(w));
  }
  KAON_TRY(upload(w));
  describe(w, &s, why);
  return KAON_OK;
}

kaon_status kaon_stored_create(kaon_context *ctx, const kaon_csr *rows, int64_t interior,
                               kaon_precision precision, int values_half, kaon_matrix_format format,
                               kaon_stored **stored) {
  kaon_stored *made = calloc(1, sizeof *made);
  *stored = NULL;
  if (made == NULL) return kaon_fail(ctx, KAON_ERR_MEMORY, "matrix: no host memory");
  const int width = ctx->backend->width;
  *made = (kaon_stored){.references = 1, .ctx = ctx, .precision = precision};
  made->matrix = (kaon_stored_matrix){.reals = rows->reals,
                                      .half = values_half,
                                      .rows = rows->rows,
                                      .blocks = (rows->rows + width - 1) / width,
                                      .interior = (interior + width - 1) / width,
                                      .entries = rows->start[rows->rows]};
  kaon_context_retain(ctx);
  work w = {.ctx = ctx, .rows = rows, .stored = made, .width = width};
  const kaon_precision values = values_half ? KAON_HALF : precision;
  w.size = kaon_precision_bytes(values);
  w.pack = kaon_pack_of(ctx, rows->reals, values);
  const kaon_status status = build(&w, format);
  for (int i = 0; i < ARRAYS; i++) free(w.host[i]);
  free(w.length);
  free(w.start);
  free(w.used);
  if (status != KAON_OK)
    kaon_stored_destroy(&made);
  else
    *stored = made;
  return status;
}

void kaon_stored_destroy(kaon_stored **stored) {
  if (stored == NULL || *stored == NULL) return;
  kaon_stored *gone = *stored;
  *stored = NULL;
  if (--gone->references > 0) return;
  kaon_pool_give(gone->ctx, (void *)(uintptr_t)gone->matrix.start);
  kaon_pool_give(gone->ctx, (void *)(uintptr_t)gone->matrix.column);
  kaon_pool_give(gone->ctx, (void *)(uintptr_t)gone->matrix.value);
  kaon_pool_give(gone->ctx, (void *)(uintptr_t)gone->matrix.scale);
  kaon_pool_give(gone->ctx, (void *)(uintptr_t)gone->matrix.run);
  kaon_context_release(gone->ctx);
  free(gone);
}
