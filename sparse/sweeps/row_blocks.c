/* row_blocks.c - see row_blocks.h. */
#include "sparse/sweeps/row_blocks.h"

#include <stdlib.h>

#include "sparse/storage/number.h"

int32_t *kaon_matrix_by_index(const kaon_matrix *matrix) {
  const int64_t rows = matrix->rows->rows->rows;
  int32_t *order = malloc(((size_t)rows + 1) * sizeof *order);
  for (int64_t i = 0; i < rows && order != NULL; i++)
    order[matrix->number != NULL ? matrix->number[i] : i] = (int32_t)i;
  return order;
}

/* One of the two kinds of entries under construction. */
typedef struct part {
  int64_t *start;
  int32_t *column;
  double *value;
  int64_t entries;
} part;

typedef struct work {
  const kaon_matrix *matrix;
  const kaon_csr *csr;
  kaon_blocked *to;
  int32_t *order; /* [index] row of the space */
  part inside, outside;
  double *diagonal, *inverse;
  int64_t *reads;
  int32_t *other, *mark; /* mark[block]: the last block that reads it */
  int count;             /* tables so far */
} work;

static kaon_status no_memory(const work *w) {
  return kaon_fail(w->to->ctx, KAON_ERR_MEMORY, "blocks of rows: out of host memory for %lld rows",
                   (long long)w->csr->rows);
}

static int64_t number_of(const work *w, int64_t row) {
  return w->matrix->number != NULL ? w->matrix->number[row] : row;
}

static int64_t block_of(const work *w, int64_t row) {
  return number_of(w, row) / w->to->rows.block;
}

/* Stores the lengths of slices in start[slice + 1], then their sums. */
static kaon_status measure(work *w) {
  kaon_row_blocks *m = &w->to->rows;
  const kaon_csr *a = w->csr;
  const int64_t slices = m->blocks * m->slices;
  w->inside.start = calloc((size_t)slices + 2, sizeof *w->inside.start);
  w->outside.start = calloc((size_t)slices + 2, sizeof *w->outside.start);
  if (w->inside.start == NULL || w->outside.start == NULL) return no_memory(w);
  for (int64_t i = 0; i < a->rows; i++) {
    const int64_t block = block_of(w, i), at = number_of(w, i) - block * m->block;
    const int64_t slice = block * m->slices + at / m->width;
    int64_t inside = 0, outside = 0;
    for (int64_t n = a->start[i]; n < a->start[i + 1]; n++) {
      if (a->column[n] >= a->rows || a->column[n] == i) continue;
      if (block_of(w, a->column[n]) == block)
        inside++;
      else
        outside++;
    }
    w->inside.entries += inside;
    w->outside.entries += outside;
    if (inside > w->inside.start[slice + 1]) w->inside.start[slice + 1] = inside;
    if (outside > w->outside.start[slice + 1]) w->outside.start[slice + 1] = outside;
  }
  for (int64_t s = 0; s < slices; s++) {
    w->inside.start[s + 1] += w->inside.start[s];
    w->outside.start[s + 1] += w->outside.start[s];
  }
  return KAON_OK;
}

static kaon_status take_part(work *w, part *p) {
  const kaon_row_blocks *m = &w->to->rows;
  const int64_t room = p->start[m->blocks * m->slices] * m->width + 1;
  p->column = malloc((size_t)room * sizeof *p->column);
  p->value = calloc((size_t)(room * m->reals), sizeof *p->value);
  return p->column != NULL && p->value != NULL ? KAON_OK : no_memory(w);
}

/* Stores the entries of one kind of the row at index `at` of a block; `pad`: the padding column. */
static void fill_row(const work *w, part *p, int64_t row, int64_t block, int64_t at, int inside,
                     int32_t pad) {
  const kaon_row_blocks *m = &w->to->rows;
  const kaon_csr *a = w->csr;
  const int64_t slice = block * m->slices + at / m->width, lane = at % m->width;
  int64_t j = p->start[slice];
  for (int64_t n = a->start[row]; n < a->start[row + 1]; n++) {
    const int64_t column = a->column[n];
    if (column >= a->rows || column == row || (block_of(w, column) == block) != inside) continue;
    const int64_t to = j++ * m->width + lane;
    p->column[to] = (int32_t)(inside ? number_of(w, column) - block * m->block : column);
    kaon_number_put(p->value, to, m->reals, kaon_number_at(a->value, n, m->reals));
  }
  for (; j < p->start[slice + 1]; j++) p->column[j * m->width + lane] = pad;
}

/* Lanes of a slice without a row read the block's first row. */
static void fill_nobody(const work *w, part *p, int64_t block, int64_t at, int32_t pad) {
  const kaon_row_blocks *m = &w->to->rows;
  const int64_t slice = block * m->slices + at / m->width, lane = at % m->width;
  for (int64_t j = p->start[slice]; j < p->start[slice + 1]; j++)
    p->column[j * m->width + lane] = pad;
}

static kaon_status singular(const work *w, int64_t row) {
  const kaon_matrix *matrix = w->matrix;
  const int64_t given =
      kaon_matrix_caller_row(matrix, matrix->order != NULL ? matrix->order[row] : row);
  return kaon_fail(
      matrix->ctx, KAON_ERR_SINGULAR,
      "relaxation: row %lld (counted from 1, as it was given) has no diagonal entry or 0 "
      "there, but is divided by it; reorder the rows, or take a method that needs none",
      (long long)given + 1);
}

static kaon_status fill_diagonal(const work *w, int64_t row, int64_t place) {
  const int reals = w->csr->reals;
  const int64_t n = kaon_csr_find(w->csr, row, (int32_t)row);
  const kaon_number d =
      n >= 0 ? kaon_number_at(w->csr->value, n, reals) : (kaon_number){.re = 0, .im = 0};
  if (!(kaon_number_size(d, reals) > 0)) return singular(w, row);
  kaon_number_put(w->diagonal, place, reals, d);
  kaon_number_put(w->inverse, place, reals, kaon_number_inverse(d, reals));
  return KAON_OK;
}

static kaon_status fill(work *w) {
  const kaon_row_blocks *m = &w->to->rows;
  const int64_t rows = w->csr->rows, ends = (int64_t)m->slices * m->width;
  KAON_TRY(take_part(w, &w->inside));
  KAON_TRY(take_part(w, &w->outside));
  w->diagonal = malloc((size_t)(rows * m->reals + 1) * sizeof *w->diagonal);
  w->inverse = malloc((size_t)(rows * m->reals + 1) * sizeof *w->inverse);
  if (w->diagonal == NULL || w->inverse == NULL) return no_memory(w);
  for (int64_t block = 0; block < m->blocks; block++)
    for (int64_t at = 0; at < ends; at++) {
      const int64_t place = block * m->block + at;
      if (at >= m->block || place >= rows) {
        fill_nobody(w, &w->inside, block, at, 0);
        fill_nobody(w, &w->outside, block, at, w->order[block * m->block]);
        continue;
      }
      fill_row(w, &w->inside, w->order[place], block, at, 1, (int32_t)at);
      fill_row(w, &w->outside, w->order[place], block, at, 0, w->order[place]);
      KAON_TRY(fill_diagonal(w, w->order[place], place));
    }
  return KAON_OK;
}

/* Which blocks a block reads: first counted, then stored. */
static kaon_status couple(work *w) {
  const kaon_row_blocks *m = &w->to->rows;
  const kaon_csr *a = w->csr;
  w->reads = calloc((size_t)m->blocks + 1, sizeof *w->reads);
  w->mark = malloc(((size_t)m->blocks + 1) * sizeof *w->mark);
  if (w->reads == NULL || w->mark == NULL) return no_memory(w);
  for (int pass = 0; pass < 2; pass++) {
    int64_t at = 0;
    for (int64_t b = 0; b < m->blocks; b++) w->mark[b] = -1;
    for (int64_t b = 0; b < m->blocks; b++) {
      const int64_t end = (b + 1) * m->block < a->rows ? (b + 1) * m->block : a->rows;
      for (int64_t p = b * m->block; p < end; p++)
        for (int64_t n = a->start[w->order[p]]; n < a->start[w->order[p] + 1]; n++) {
          if (a->column[n] >= a->rows) continue;
          const int64_t other = block_of(w, a->column[n]);
          if (other == b || w->mark[other] == b) continue;
          w->mark[other] = (int32_t)b;
          if (pass == 1) w->other[at] = (int32_t)other;
          at++;
        }
      w->reads[b + 1] = at;
    }
    if (pass == 1) break;
    w->other = malloc(((size_t)at + 1) * sizeof *w->other);
    if (w->other == NULL) return no_memory(w);
    w->to->reads = at;
  }
  return KAON_OK;
}

/* ---- to the device ---- */

static kaon_status upload(work *w, const void *host, size_t bytes, const void **device) {
  void **to = &w->to->table[w->count++];
  KAON_TRY(kaon_table_upload(w->to->ctx, host, bytes > 0 ? bytes : 1, "blocks of rows", to));
  w->to->bytes += (int64_t)bytes;
  *device = *to;
  return KAON_OK;
}

/* Uploads values in the precision of vectors. The conversion is in place, since a single is shorter
 * than a double. */
static kaon_status upload_numbers(work *w, double *numbers, int64_t count, const void **device) {
  if (w->to->precision == KAON_SINGLE) {
    float *rounded = (float *)malloc(((size_t)count + 2) * sizeof *rounded);
    if (rounded == NULL) return no_memory(w);
    for (int64_t i = 0; i < count; i++) rounded[i] = (float)numbers[i];
    const kaon_status status = upload(w, rounded, (size_t)count * sizeof *rounded, device);
    free(rounded);
    return status;
  }
  return upload(w, numbers, (size_t)count * sizeof *numbers, device);
}

static kaon_status upload_part(work *w, part *p, kaon_block_entries *to) {
  const kaon_row_blocks *m = &w->to->rows;
  const int64_t slices = m->blocks * m->slices, places = p->start[slices] * m->width;
  const void *start, *column;
  KAON_TRY(upload(w, p->start, (size_t)(slices + 1) * sizeof *p->start, &start));
  KAON_TRY(upload(w, p->column, (size_t)places * sizeof *p->column, &column));
  to->start = start;
  to->column = column;
  return upload_numbers(w, p->value, places * m->reals, &to->value);
}

static kaon_status upload_all(work *w) {
  kaon_row_blocks *m = &w->to->rows;
  const int64_t rows = w->csr->rows;
  const void *row, *reads, *other;
  KAON_TRY(upload_part(w, &w->inside, &m->inside));
  KAON_TRY(upload_part(w, &w->outside, &m->outside));
  KAON_TRY(upload(w, w->order, (size_t)rows * sizeof *w->order, &row));
  KAON_TRY(upload(w, w->reads, (size_t)(m->blocks + 1) * sizeof *w->reads, &reads));
  KAON_TRY(upload(w, w->other, (size_t)w->to->reads * sizeof *w->other, &other));
  m->row = row;
  m->reads = reads;
  m->other = other;
  KAON_TRY(upload_numbers(w, w->diagonal, rows * m->reals, &m->diagonal));
  return upload_numbers(w, w->inverse, rows * m->reals, &m->inverse);
}

static void release_all(work *w) {
  free(w->inside.start);
  free(w->inside.column);
  free(w->inside.value);
  free(w->outside.start);
  free(w->outside.column);
  free(w->outside.value);
  free(w->order);
  free(w->diagonal);
  free(w->inverse);
  free(w->reads);
  free(w->other);
  free(w->mark);
}

kaon_status kaon_blocked_create(const kaon_matrix *matrix, int64_t block, kaon_precision precision,
                                kaon_blocked **blocked) {
  const kaon_csr *csr = matrix->rows->rows;
  kaon_context *ctx = matrix->ctx;
  kaon_blocked *made = *blocked = calloc(1, sizeof *made);
  if (made == NULL) return kaon_fail(ctx, KAON_ERR_MEMORY, "blocks of rows: out of host memory");
  const int width = ctx->backend->host_accessible ? 1 : ctx->backend->width;
  if (block > csr->rows) block = csr->rows > 0 ? csr->rows : 1;
  *made = (kaon_blocked){.ctx = ctx, .precision = precision};
  kaon_context_retain(ctx);
  made->rows = (kaon_row_blocks){.reals = csr->reals,
                                 .width = width,
                                 .block = (int)block,
                                 .slices = (int)((block + width - 1) / width),
                                 .rows = csr->rows,
                                 .blocks = (csr->rows + block - 1) / block};
  work w = {.matrix = matrix, .csr = csr, .to = made, .order = kaon_matrix_by_index(matrix)};
  kaon_status status = w.order != NULL ? measure(&w) : no_memory(&w);
  if (status == KAON_OK) status = fill(&w);
  if (status == KAON_OK) status = couple(&w);
  if (status == KAON_OK) status = upload_all(&w);
  made->entries = w.inside.entries + w.outside.entries + csr->rows;
  release_all(&w);
  if (status != KAON_OK) kaon_blocked_destroy(blocked);
  return status;
}

void kaon_blocked_destroy(kaon_blocked **blocked) {
  if (blocked == NULL || *blocked == NULL) return;
  kaon_blocked *gone = *blocked;
  *blocked = NULL;
  for (int i = 0; i < KAON_BLOCK_TABLES; i++) kaon_pool_release(gone->ctx, gone->table[i]);
  kaon_context_release(gone->ctx);
  free(gone);
}
