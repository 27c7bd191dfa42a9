/* stored_blocks.c - SELL and ELL: which entries stand side by side, and how their columns are kept.
 *
 * A block's entries are arranged the same way whatever the kind of columns, so results have the
 * same bits in all. Which kind AUTO takes is what a product reads of it: lists shared by blocks
 * (once, since a cache holds those that come again and again), else 16 bits, else whole columns. */
#include "sparse/stored_work.h"

#include <stdlib.h>
#include <string.h>

#include "sparse/patterns.h"

typedef kaon_stored_work work;

/* A block's lines before they are stored. */
typedef struct block_lines {
  int32_t *column; /* [line][lane] */
  int32_t *run;    /* [line] column of lane 0, -1: none */
  int64_t runs;
} block_lines;

/* What the lines of all blocks ask for. */
typedef struct survey {
  int64_t runs;
  int wide; /* columns of a line are more than 16 bits apart somewhere */
} survey;

/* ---- arrangement ---- */

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

/* The column of padding: that of the row's last entry, its own where it has none. */
static int32_t padding_of(const kaon_csr *a, int64_t row) {
  if (row >= a->rows) return 0;
  const int64_t last = a->start[row + 1] - 1;
  return last >= a->start[row] ? a->column[last] : (int32_t)row;
}

static void put_values(const work *w, int64_t line, int lane, const double *value, float factor) {
  const int reals = w->rows->reals;
  for (int c = 0; c < reals; c++)
    kaon_stored_number(w, kaon_packed_index(line, 0, c, lane, 1, reals, w->width, w->pack),
                       value != NULL ? value[c] : 0, factor);
}

/* A block's entries: runs first, then what is left of each row in its order, then padding. Values
 * are stored where they are wanted, columns in `lines`. */
static void arrange(const work *w, int64_t block, int with_values, block_lines *lines) {
  const kaon_csr *a = w->rows;
  const int64_t begin = w->start[block], places = w->start[block + 1] - begin;
  const int64_t first = block * w->width;
  lines->runs = w->used != NULL ? find_runs(w, first, lines->run) : 0;
  for (int64_t j = lines->runs; j < places; j++) lines->run[j] = -1;
  for (int lane = 0; lane < w->width; lane++) {
    const int64_t row = first + lane;
    const int inside = row < a->rows;
    const float factor = inside && with_values ? kaon_stored_scale(w, row) : 0;
    const int32_t padding = padding_of(a, row);
    int64_t in = 0, left = lines->runs;
    for (int64_t n = inside ? a->start[row] : 0; inside && n < a->start[row + 1]; n++) {
      const int64_t j = w->used != NULL && w->used[n] ? in++ : left++;
      lines->column[j * w->width + lane] = a->column[n];
      if (with_values) put_values(w, begin + j, lane, a->value + n * a->reals, factor);
    }
    for (; left < places; left++) {
      lines->column[left * w->width + lane] = padding;
      if (with_values) put_values(w, begin + left, lane, NULL, factor);
    }
  }
}

/* ---- columns ---- */

static int32_t least_of(const int32_t *column, int width, int32_t *most) {
  int32_t least = *most = column[0];
  for (int l = 1; l < width; l++) {
    if (column[l] < least) least = column[l];
    if (column[l] > *most) *most = column[l];
  }
  return least;
}

static void put_narrow(const work *w, int64_t at, int64_t places, const block_lines *lines) {
  uint16_t *narrow = (uint16_t *)w->host[COLUMN] + at * w->width;
  int32_t *line = (int32_t *)w->host[LINE] + at;
  for (int64_t j = 0; j < places; j++) {
    int32_t most;
    const int32_t *column = lines->column + j * w->width;
    const int32_t least = least_of(column, w->width, &most);
    line[j] = j < lines->runs ? lines->run[j] : ~least;
    for (int l = 0; l < w->width; l++)
      narrow[j * w->width + l] = (uint16_t)((uint32_t)column[l] - (uint32_t)least);
  }
}

static void put_columns(const work *w, int64_t block, const block_lines *lines) {
  const kaon_stored_matrix *m = &w->stored->matrix;
  const int64_t places = w->start[block + 1] - w->start[block];
  int64_t at = w->start[block];
  int32_t from = 0;
  if (m->columns == KAON_COLUMNS_NARROW) {
    put_narrow(w, at, places, lines);
    return;
  }
  if (m->columns == KAON_COLUMNS_SHARED) {
    if (w->like[block] != block) return; /* it is there */
    at = ((int32_t *)w->host[PATTERN])[block];
    from = (int32_t)(block * w->width);
  }
  int32_t *column = (int32_t *)w->host[COLUMN] + at * w->width;
  for (int64_t i = 0; i < places * w->width; i++) column[i] = lines->column[i] - from;
  if (w->host[LINE] == NULL) return;
  int32_t *line = (int32_t *)w->host[LINE] + at;
  for (int64_t j = 0; j < places; j++)
    line[j] = j < lines->runs ? lines->run[j] - from
                              : (m->columns == KAON_COLUMNS_SHARED ? KAON_NO_RUN : -1);
}

/* ---- all blocks ---- */

static int64_t longest_block(const work *w) {
  int64_t longest = 0;
  for (int64_t b = 0; b < w->stored->matrix.blocks; b++)
    if (w->start[b + 1] - w->start[b] > longest) longest = w->start[b + 1] - w->start[b];
  return longest;
}

static void look_at(const work *w, int64_t places, const block_lines *lines, survey *s) {
  s->runs += lines->runs;
  for (int64_t j = lines->runs; j < places && !s->wide; j++) {
    int32_t most;
    const int32_t least = least_of(lines->column + j * w->width, w->width, &most);
    s->wide = (int64_t)most - least > UINT16_MAX;
  }
}

/* Arranges all blocks, and stores them where `store` says so. */
static kaon_status all_blocks(work *w, int store, survey *of_all) {
  const int64_t room = longest_block(w) * (w->width + 1);
  int64_t runs = 0;
  int wide = 0, lacking = 0;
#pragma omp parallel num_threads(w->ctx->threads) reduction(+ : runs) reduction(| : wide, lacking)
  {
    int32_t *memory = malloc(((size_t)room + 1) * sizeof *memory);
    block_lines lines = {memory, memory + room / (w->width + 1) * w->width, 0};
    survey mine = {0};
    lacking = memory == NULL;
#pragma omp for schedule(static)
    for (int64_t b = 0; b < w->stored->matrix.blocks; b++) {
      if (memory == NULL) continue;
      arrange(w, b, store, &lines);
      if (store) put_columns(w, b, &lines);
      look_at(w, w->start[b + 1] - w->start[b], &lines, &mine);
    }
    runs = mine.runs;
    wide = mine.wide;
    free(memory);
  }
  *of_all = (survey){runs, wide};
  if (!lacking) return KAON_OK;
  return kaon_fail(w->ctx, KAON_ERR_MEMORY,
                   "matrix: no host memory for %lld columns of a block of rows", (long long)room);
}

/* ---- the kind of columns ---- */

/* Lists of columns: which block begins one, how many there are. */
static kaon_status find_lists(work *w) {
  const int64_t blocks = w->stored->matrix.blocks;
  w->like = malloc(((size_t)blocks + 1) * sizeof *w->like);
  if (w->like == NULL)
    return kaon_fail(w->ctx, KAON_ERR_MEMORY, "matrix: no host memory for %lld blocks of rows",
                     (long long)blocks);
  KAON_TRY(kaon_patterns_find(w->ctx, w->rows, w->width, blocks, w->like));
  for (int64_t b = 0; b < blocks; b++) {
    if (w->like[b] != b) continue;
    w->lists++;
    w->list_lines += w->start[b + 1] - w->start[b];
  }
  return KAON_OK;
}

/* Bytes of columns that a product reads: padding is not counted but where it is part of a list. */
static int64_t bytes_of(const work *w, int kind, int64_t runs) {
  const int64_t lines = w->start[w->stored->matrix.blocks];
  const int64_t entries = w->rows->start[w->rows->rows] - runs * w->width;
  if (kind == KAON_COLUMNS_SHARED)
    return w->list_lines * w->width * 4 + (w->used != NULL ? w->list_lines * 4 : 0) +
           w->stored->matrix.blocks * 4;
  if (kind == KAON_COLUMNS_NARROW) return entries * 2 + lines * 4;
  return entries * 4 + (w->used != NULL ? lines * 4 : 0);
}

/* Kernels count a list's columns in 31 bits. */
static int lists_fit(const work *w) {
  return w->list_lines <= INT32_MAX / w->width;
}

static kaon_status choose(work *w, int asked) {
  kaon_stored_matrix *m = &w->stored->matrix;
  const int64_t lines = w->start[m->blocks];
  survey s = {0};
  m->columns = KAON_COLUMNS_WHOLE;
  if (asked == KAON_COLUMNS_WHOLE) return KAON_OK;
  if (asked != KAON_COLUMNS_NARROW) {
    KAON_TRY(find_lists(w));
    const int clear = w->list_lines <= lines / 8; /* the others need not be looked at */
    if (lists_fit(w) && (asked == KAON_COLUMNS_SHARED || clear)) {
      m->columns = KAON_COLUMNS_SHARED;
      return KAON_OK;
    }
    if (asked == KAON_COLUMNS_SHARED) return KAON_OK;
  }
  KAON_TRY(all_blocks(w, 0, &s));
  if (!s.wide) m->columns = KAON_COLUMNS_NARROW;
  if (asked == KAON_COLUMNS_NARROW) return KAON_OK;
  if (bytes_of(w, KAON_COLUMNS_WHOLE, s.runs) <= bytes_of(w, m->columns, s.runs))
    m->columns = KAON_COLUMNS_WHOLE; /* nearly all are runs */
  if (lists_fit(w) && bytes_of(w, KAON_COLUMNS_SHARED, s.runs) < bytes_of(w, m->columns, s.runs))
    m->columns = KAON_COLUMNS_SHARED;
  return KAON_OK;
}

/* Where each block's list begins. */
static void place_lists(const work *w) {
  int32_t *pattern = w->host[PATTERN], next = 0;
  for (int64_t b = 0; b < w->stored->matrix.blocks; b++) {
    pattern[b] = w->like[b] == b ? next : pattern[w->like[b]];
    if (w->like[b] == b) next += (int32_t)(w->start[b + 1] - w->start[b]);
  }
}

static kaon_status take_room(work *w) {
  const kaon_stored_matrix *m = &w->stored->matrix;
  const int64_t places = w->start[m->blocks];
  const int64_t lines = m->columns == KAON_COLUMNS_SHARED ? w->list_lines : places;
  const size_t size = m->columns == KAON_COLUMNS_NARROW ? sizeof(uint16_t) : sizeof(int32_t);
  KAON_TRY(kaon_stored_room(w, VALUE, places * w->width * m->reals, w->size));
  KAON_TRY(kaon_stored_room(w, COLUMN, lines * w->width, size));
  if (w->used != NULL || m->columns == KAON_COLUMNS_NARROW)
    KAON_TRY(kaon_stored_room(w, LINE, lines, sizeof(int32_t)));
  if (m->columns != KAON_COLUMNS_SHARED) return KAON_OK;
  KAON_TRY(kaon_stored_room(w, PATTERN, m->blocks, sizeof(int32_t)));
  place_lists(w);
  return KAON_OK;
}

kaon_status kaon_stored_blocks(work *w, int columns) {
  survey s = {0};
  if (w->ctx->backend->host_accessible) {
    w->used = calloc((size_t)w->rows->start[w->rows->rows] + 1, 1);
    if (w->used == NULL)
      return kaon_fail(w->ctx, KAON_ERR_MEMORY, "matrix: no host memory for %lld marks",
                       (long long)w->rows->start[w->rows->rows]);
  }
  KAON_TRY(choose(w, columns));
  KAON_TRY(take_room(w));
  KAON_TRY(all_blocks(w, 1, &s));
  w->in_runs = s.runs;
  w->stored->index_bytes += bytes_of(w, w->stored->matrix.columns, s.runs);
  return KAON_OK;
}
