/* stored.c - see stored.h.
 *
 * How AUTO chooses the form:
 * - blocks of rows (SELL) if their padding is small. A register or a warp then works on as many
 *   rows as it has lanes, and reads them side by side;
 * - ELL if the starts of blocks are not needed;
 * - single rows (CSR) otherwise.
 * A device stores a few long rows among short ones in a separate form (long_entries.h). */
#include "sparse/storage/stored_work.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sparse/storage/long_entries.h"
#include "sparse/storage/stored_value.h"

/* SELL_MOST: most entry positions for each entry. Rows longer than LONG, if there are too few of
 * them to give each a GPU thread, are better shared by several threads, as in CSR. */
static const double SELL_MOST = 1.5;
enum { LONG = 64, FEW = 1 << 15 };

typedef kaon_stored_work work;

static kaon_status room(const work *w, int64_t count, size_t size, void **memory) {
  *memory = malloc((size_t)(count > 0 ? count : 1) * size);
  if (*memory != NULL) return KAON_OK;
  return kaon_fail(w->ctx, KAON_ERR_MEMORY,
                   "matrix: out of host memory for %lld elements of %zu bytes of its stored form",
                   (long long)count, size);
}

kaon_status kaon_stored_allocate(work *w, int array, int64_t count, size_t size) {
  w->bytes[array] = (size_t)count * size;
  if (w->ctx->backend->host_accessible)
    return kaon_pool_allocate(w->ctx, w->bytes[array], "a matrix", &w->host[array]);
  return room(w, count, size, &w->host[array]);
}

static void discard(work *w, int array) {
  if (w->ctx->backend->host_accessible)
    kaon_pool_release(w->ctx, w->host[array]);
  else
    free(w->host[array]);
  w->host[array] = NULL;
}

/* ---- values ---- */

float kaon_stored_scale(const work *w, int64_t i) {
  if (!w->stored->matrix.half) return 0;
  const float largest = kaon_row_scale(w->rows, i);
  ((float *)w->host[SCALE])[i] = largest;
  return kaon_half_factor(largest);
}

/* start: count + 1 of rows or blocks; matrix.wide says how they are stored. */
static kaon_status put_starts(work *w, const int64_t *start, int64_t count) {
  const kaon_stored_matrix *m = &w->stored->matrix;
  w->stored->index_bytes = count * (m->wide ? 8 : 4);
  KAON_TRY(kaon_stored_allocate(w, START, count + 1, m->wide ? 8 : 4));
  for (int64_t i = 0; i <= count; i++)
    if (m->wide)
      ((int64_t *)w->host[START])[i] = start[i];
    else
      ((int32_t *)w->host[START])[i] = (int32_t)start[i];
  return KAON_OK;
}

/* ---- single rows ---- */

static kaon_status fill_csr(work *w) {
  const kaon_csr *a = w->rows;
  const int64_t entries = a->start[a->rows];
  w->stored->matrix.wide = entries > INT32_MAX;
  KAON_TRY(put_starts(w, a->start, a->rows));
  KAON_TRY(kaon_stored_allocate(w, COLUMN, entries, sizeof *a->column));
  KAON_TRY(kaon_stored_allocate(w, VALUE, entries * a->reals, w->size));
  w->stored->index_bytes += 4 * entries;
  const kaon_precision stored = kaon_stored_precision(w);
#pragma omp parallel for num_threads(w->ctx->threads) schedule(static)
  for (int64_t i = 0; i < a->rows; i++) {
    const float factor = kaon_stored_scale(w, i);
    for (int64_t n = a->start[i]; n < a->start[i + 1]; n++)
      ((int32_t *)w->host[COLUMN])[n] = a->column[n];
    for (int64_t n = a->start[i] * a->reals; n < a->start[i + 1] * a->reals; n++)
      kaon_store_value(w->host[VALUE], stored, n, a->value[n], factor);
  }
  return KAON_OK;
}

/* ---- the form ---- */

typedef struct statistics {
  int64_t rows, entries, longest, sell, ell; /* sell, ell: entry positions including padding */
} statistics;

/* Measures the rows, and sets the starts of blocks for SELL. */
static kaon_status measure(work *w, statistics *s) {
  const kaon_csr *a = w->rows;
  const int64_t blocks = w->stored->matrix.blocks;
  int64_t longest = 0;
  void *start = NULL;
  KAON_TRY(room(w, blocks + 1, sizeof *w->start, &start));
  w->start = start;
  w->start[0] = 0;
#pragma omp parallel for num_threads(w->ctx->threads) schedule(static) reduction(max : longest)
  for (int64_t b = 0; b < blocks; b++) {
    int64_t places = 0;
    for (int64_t i = b * w->width; i < (b + 1) * w->width && i < a->rows; i++)
      if (a->start[i + 1] - a->start[i] > places) places = a->start[i + 1] - a->start[i];
    w->start[b + 1] = places;
    if (places > longest) longest = places;
  }
  for (int64_t b = 0; b < blocks; b++) w->start[b + 1] += w->start[b];
  *s = (statistics){.rows = a->rows,
                    .entries = a->start[a->rows],
                    .longest = longest,
                    .sell = w->start[blocks] * w->width,
                    .ell = blocks * w->width * longest};
  return KAON_OK;
}

/* GPU threads that share a row: about as many as it has entries. 0: divided by entries, if a few
 * rows would delay all others. */
static int lanes_of(const statistics *s) {
  const double mean = s->rows > 0 ? (double)s->entries / (double)s->rows : 0;
  int lanes = 1;
  if (kaon_rows_are_skewed(s->rows, s->entries, s->longest)) return 0;
  while (lanes < 32 && lanes < mean) lanes *= 2;
  return lanes;
}

static int choose(const work *w, kaon_matrix_format asked, const statistics *s, const char **why) {
  const double mean = s->rows > 0 ? (double)s->entries / (double)s->rows : 0;
  *why = "it was asked for";
  if (asked == KAON_STORE_CSR) return KAON_STORED_CSR;
  if (asked == KAON_STORE_SELL) return KAON_STORED_SELL;
  if (asked == KAON_STORE_ELL) return KAON_STORED_ELL;
  *why = "rows of a block differ in length";
  if ((double)s->sell > SELL_MOST * (double)s->entries) return KAON_STORED_CSR;
  *why = "rows are long enough for several threads each";
  if (!w->ctx->backend->host_accessible && mean > LONG && w->rows->rows < FEW)
    return KAON_STORED_CSR;
  *why = "all rows have about the same length";
  if (s->ell <= s->sell + s->sell / 100) return KAON_STORED_ELL;
  *why = "rows of a block have about the same length";
  return KAON_STORED_SELL;
}

static void describe(const work *w, const statistics *s, const char *why) {
  static const char *const names[] = {"CSR", "SELL", "ELL"};
  static const char *const indices[] = {
      [KAON_COLUMNS_SHARED] = "shared by equal blocks", [KAON_COLUMNS_16BIT] = "in 2 bytes"};
  kaon_stored *to = w->stored;
  const kaon_stored_matrix *m = &to->matrix;
  const int narrow = m->columns == KAON_COLUMNS_SHARED || m->columns == KAON_COLUMNS_16BIT;
  const double entries = s->entries > 0 ? (double)s->entries : 1;
  const double places = m->form == KAON_STORED_ELL ? (double)s->ell : (double)s->sell;
  const char *numbers = m->half ? "16-bit" : to->precision == KAON_DOUBLE ? "double" : "single";
  char form[64] = "CSR";
  if (m->form != KAON_STORED_CSR)
    snprintf(form, sizeof form, "%s-%d (padding %.0f %%)", names[m->form], w->width,
             100 * (places / entries - 1));
  snprintf(to->text, sizeof to->text, "%s, %s values, column indices %s; chosen since %s", form,
           numbers, narrow ? indices[m->columns] : "in 4 bytes", why);
}

/* ---- to the device ---- */

static kaon_status upload(work *w) {
  void *device[ARRAYS] = {NULL};
  kaon_status status = KAON_OK;
  for (int i = 0; i < ARRAYS && status == KAON_OK; i++) {
    if (w->host[i] == NULL) continue;
    w->stored->bytes += (int64_t)w->bytes[i];
    if (w->ctx->backend->host_accessible) {
      device[i] = w->host[i];
      w->host[i] = NULL;
      continue;
    }
    status = kaon_table_upload(w->ctx, w->host[i], w->bytes[i], "a matrix", &device[i]);
    discard(w, i); /* the next upload needs the memory */
  }
  kaon_stored_matrix *to = &w->stored->matrix;
  to->start = device[START];
  if (to->columns == KAON_COLUMNS_16BIT)
    to->columns16 = device[COLUMN];
  else
    to->column = device[COLUMN];
  to->value = device[VALUE];
  to->scale = device[SCALE];
  to->line = device[LINE];
  to->lanes_in = device[LANES];
  to->pattern = device[PATTERN];
  return status;
}

/* Refuses padding that does not fit before it is filled in. It counts only the values. */
static kaon_status expect(const work *w, const statistics *s) {
  static const char *const whose[] = {
      "a matrix in csr",
      "a matrix in sell, whose rows are padded to their block's longest (format csr does without),",
      "a matrix in ell, whose rows are all padded to the longest (format csr or auto takes less),"};
  const int form = w->stored->matrix.form;
  const int64_t places = form == KAON_STORED_CSR    ? s->entries
                         : form == KAON_STORED_SELL ? s->sell
                                                    : s->ell;
  const double bytes = (double)places * w->rows->reals * (double)w->size;
  return kaon_pool_require(w->ctx, bytes < (double)SIZE_MAX ? (size_t)bytes : SIZE_MAX,
                           whose[form]);
}

static kaon_status build(work *w, kaon_matrix_format format, int columns) {
  kaon_stored_matrix *m = &w->stored->matrix;
  const char *why = "";
  statistics s;
  KAON_TRY(measure(w, &s));
  m->form = choose(w, format, &s, &why);
  m->lanes = lanes_of(&s);
  m->length = m->form == KAON_STORED_CSR ? 0 : (int)s.longest;
  KAON_TRY(expect(w, &s));
  if (m->half) { /* kernels read whole blocks */
    KAON_TRY(kaon_stored_allocate(w, SCALE, m->blocks * w->width, sizeof(float)));
    memset(w->host[SCALE], 0, w->bytes[SCALE]);
  }
  if (m->form == KAON_STORED_CSR) {
    KAON_TRY(fill_csr(w));
  } else {
    for (int64_t b = 0; b <= m->blocks && m->form == KAON_STORED_ELL; b++)
      w->start[b] = b * s.longest;
    m->wide = w->start[m->blocks] > INT32_MAX;
    if (m->form == KAON_STORED_SELL) KAON_TRY(put_starts(w, w->start, m->blocks));
    KAON_TRY(kaon_stored_blocks(w, columns));
  }
  KAON_TRY(upload(w));
  describe(w, &s, why);
  return KAON_OK;
}

static kaon_status create(kaon_context *ctx, const kaon_csr *rows, int64_t interior,
                          kaon_precision precision, int values_half, kaon_matrix_format format,
                          int columns, kaon_stored **stored) {
  kaon_stored *made = calloc(1, sizeof *made);
  *stored = NULL;
  if (made == NULL) return kaon_fail(ctx, KAON_ERR_MEMORY, "matrix: out of host memory");
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
  const kaon_status status = build(&w, format, columns);
  for (int i = 0; i < ARRAYS; i++) discard(&w, i);
  free(w.start);
  free(w.like);
  free(w.entry);
  *stored = made;
  if (status != KAON_OK) kaon_stored_destroy(stored);
  return status;
}

/* Adds the long rows, and extends the description. */
static kaon_status attach(kaon_stored *to, const kaon_long_rows *parts) {
  kaon_stored_matrix *m = &to->matrix;
  KAON_TRY(kaon_long_entries_create(to->ctx, parts, m->rows, to->precision, m->half, &to->long_part,
                                    &to->bytes, &to->index_bytes));
  const double entries = (double)to->long_part->entries;
  m->long_part = to->long_part;
  char text[KAON_STORED_TEXT]; /* the description so far */
  memcpy(text, to->text, sizeof text);
  snprintf(
      to->text, sizeof to->text,
      "%.*s: few rows are much longer than the others, so %lld with %.0f %% of the entries are "
      "stored by ranges of columns%s",
      (int)strcspn(text, ":"), text, (long long)parts->long_part->rows,
      100.0 * entries / (entries + (double)m->entries), strstr(text, " ("));
  return KAON_OK;
}

kaon_status kaon_stored_create_as(kaon_context *ctx, const kaon_csr *rows, int64_t interior,
                                  kaon_precision precision, int values_half,
                                  kaon_matrix_format format, int columns, kaon_stored **stored) {
  KAON_AUTO(kaon_long_rows_clear) kaon_long_rows parts = {0};
  *stored = NULL;
  if ((format == KAON_STORE_AUTO || format == KAON_STORE_SELL) && !ctx->backend->host_accessible)
    KAON_TRY(kaon_long_rows_divide(ctx, rows, ctx->backend->width, &parts));
  if (parts.short_part == NULL)
    return create(ctx, rows, interior, precision, values_half, format, columns, stored);
  kaon_status status = create(ctx, parts.short_part, interior, precision, values_half,
                              KAON_STORE_SELL, columns, stored);
  kaon_csr_destroy(&parts.short_part); /* the long rows need the memory */
  if (status == KAON_OK) status = attach(*stored, &parts);
  if (status != KAON_OK) kaon_stored_destroy(stored);
  return status;
}

kaon_status kaon_stored_create(kaon_context *ctx, const kaon_csr *rows, int64_t interior,
                               kaon_precision precision, int values_half, kaon_matrix_format format,
                               kaon_stored **stored) {
  return kaon_stored_create_as(ctx, rows, interior, precision, values_half, format, -1, stored);
}

void kaon_stored_destroy(kaon_stored **stored) {
  if (stored == NULL || *stored == NULL) return;
  kaon_stored *gone = *stored;
  *stored = NULL;
  if (--gone->references > 0) return;
  kaon_long_entries_destroy(gone->ctx, &gone->long_part);
  kaon_pool_release(gone->ctx, (void *)(uintptr_t)gone->matrix.start);
  kaon_pool_release(gone->ctx, (void *)(uintptr_t)gone->matrix.column);
  kaon_pool_release(gone->ctx, (void *)(uintptr_t)gone->matrix.value);
  kaon_pool_release(gone->ctx, (void *)(uintptr_t)gone->matrix.scale);
  kaon_pool_release(gone->ctx, (void *)(uintptr_t)gone->matrix.columns16);
  kaon_pool_release(gone->ctx, (void *)(uintptr_t)gone->matrix.line);
  kaon_pool_release(gone->ctx, (void *)(uintptr_t)gone->matrix.lanes_in);
  kaon_pool_release(gone->ctx, (void *)(uintptr_t)gone->matrix.pattern);
  kaon_context_release(gone->ctx);
  free(gone);
}
