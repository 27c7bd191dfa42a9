/* stored_blocks.c - SELL and ELL: arranges entries, and chooses the kind of column indices.
 *
 * A block's entries are arranged the same way for all kinds of columns, so results have the same
 * bits. AUTO chooses the kind of which a product reads least: lists shared by blocks (counted once,
 * since a cache holds them), else 16 bits, else 32 bits. */
#include "sparse/storage/stored_work.h"

#include <stdlib.h>

#include "sparse/storage/patterns.h"
#include "sparse/storage/stored_value.h"

typedef kaon_stored_work work;

/* A run: the column of lane 0, a bit for each lane that has an entry in it, and their number. */
typedef struct run {
  int32_t column;
  uint32_t lanes;
  int number;
} run;

/* A block's arrangement. The first `runs` lines are runs, by column; then come those of padding
 * only. */
typedef struct block_lines {
  int32_t *column; /* [line][lane] */
  int32_t *entry;  /* [line][lane] the index of the entry in its row; -1: padding */
  run *run;        /* [line] */
  int64_t runs;
} block_lines;

/* Properties of the lines of all blocks. */
typedef struct survey {
  int64_t in_runs; /* entries in runs */
  int wide;        /* columns of some line are more than 16 bits apart */
} survey;

/* ---- arrangement ---- */

/* The run of the lanes whose rows have the columns consecutive to `column`, which is lane 0's.
 * Advances the cursors. */
static run run_at(const kaon_csr *a, int64_t first, int width, int32_t column, int64_t *cursor) {
  run found = {column, 0, 0};
  for (int l = 0; l < width; l++) {
    const int64_t end = a->start[first + l + 1];
    while (cursor[l] < end && a->column[cursor[l]] < column + l) cursor[l]++;
    if (cursor[l] == end || a->column[cursor[l]] != column + l) continue;
    found.lanes |= UINT32_C(1) << l;
    found.number++;
  }
  return found;
}

/* Finds consecutive columns in the lanes of a complete block, where the first and the last lane
 * have them. So all these columns are on this rank, for any block. */
static int find_candidates(const work *w, int64_t first, run *found) {
  const kaon_csr *a = w->rows;
  const uint32_t outer = UINT32_C(1) | UINT32_C(1) << (w->width - 1);
  int64_t cursor[KAON_MAX_WIDTH];
  int count = 0;
  for (int l = 0; l < w->width; l++) cursor[l] = a->start[first + l];
  for (int64_t n = a->start[first]; n < a->start[first + 1]; n++) {
    const int32_t column = a->column[n];
    if (column > a->rows - w->width) break;
    found[count] = run_at(a, first, w->width, column, cursor);
    count += (found[count].lanes & outer) == outer;
  }
  return count;
}

/* Uses a padding position of each lane that has no entry in the run. Returns 0 if one has none
 * left. */
static int give_padding(int width, uint32_t lanes, int64_t *padding) {
  for (int l = 0; l < width; l++)
    if ((lanes >> l & 1) == 0 && padding[l] == 0) return 0;
  for (int l = 0; l < width; l++) padding[l] -= (lanes >> l & 1) == 0;
  return 1;
}

/* Finds the runs of a block: those of all lanes; then, the fullest first, those of fewer lanes for
 * which the block has padding; then lines of padding only. */
static int64_t find_runs(const work *w, int64_t first, int64_t places, run *runs) {
  const kaon_csr *a = w->rows;
  int64_t padding[KAON_MAX_WIDTH], taken = 0;
  if (first + w->width > a->rows) return 0;
  for (int l = 0; l < w->width; l++)
    padding[l] = places - (a->start[first + l + 1] - a->start[first + l]);
  const int count = find_candidates(w, first, runs);
  for (int lanes = w->width; lanes >= 2; lanes--)
    for (int i = 0; i < count; i++)
      if (runs[i].number == lanes && !give_padding(w->width, runs[i].lanes, padding))
        runs[i].lanes = 0;
  for (int i = 0; i < count; i++)
    if (runs[i].lanes != 0) runs[taken++] = runs[i];
  for (; give_padding(w->width, 0, padding); taken++) runs[taken] = (run){(int32_t)first, 0, 0};
  return taken;
}

/* The column of padding: that of the row's last entry, or the row itself if it has none. */
static int32_t padding_of(const kaon_csr *a, int64_t row) {
  if (row >= a->rows) return 0;
  const int64_t last = a->start[row + 1] - 1;
  return last >= a->start[row] ? a->column[last] : (int32_t)row;
}

/* Arranges one row: its entries of runs in their lines, the others after all runs in their order,
 * and padding elsewhere. */
static void arrange_row(const work *w, int64_t places, int64_t row, block_lines *lines) {
  const kaon_csr *a = w->rows;
  const int inside = row < a->rows;
  const int32_t padding = padding_of(a, row);
  const int32_t *from = inside ? a->column + a->start[row] : NULL;
  const int64_t lane = row % w->width, end = inside ? a->start[row + 1] - a->start[row] : 0;
  int64_t n = 0, left = lines->runs;
  for (int64_t j = 0; j <= lines->runs; j++) {
    const int in = j < lines->runs && (lines->run[j].lanes >> lane & 1);
    const int32_t column = in ? lines->run[j].column + (int32_t)lane : padding;
    for (; n < end && (in ? from[n] < column : j == lines->runs); n++, left++) {
      lines->column[left * w->width + lane] = from[n];
      lines->entry[left * w->width + lane] = (int32_t)n;
    }
    if (j == lines->runs) break;
    lines->column[j * w->width + lane] = column;
    lines->entry[j * w->width + lane] = in ? (int32_t)n : -1;
    n += in;
  }
  for (; left < places; left++) {
    lines->column[left * w->width + lane] = padding;
    lines->entry[left * w->width + lane] = -1;
  }
}

static void arrange(const work *w, int64_t block, block_lines *lines) {
  const int64_t places = w->start[block + 1] - w->start[block], first = block * w->width;
  lines->runs = w->with_runs ? find_runs(w, first, places, lines->run) : 0;
  for (int lane = 0; lane < w->width; lane++) arrange_row(w, places, first + lane, lines);
}

/* ---- values ---- */

/* Stores a block's values. `stored` and `reals` are constants where it is called. */
static inline void put_values_as(const work *w, int64_t block, const int32_t *entry,
                                 kaon_precision stored, int reals) {
  const kaon_csr *a = w->rows;
  const double *row[KAON_MAX_WIDTH];
  float factor[KAON_MAX_WIDTH];
  for (int l = 0; l < w->width; l++) {
    const int64_t i = block * w->width + l;
    row[l] = i < a->rows ? a->value + a->start[i] * reals : NULL;
    factor[l] = stored == KAON_HALF && i < a->rows ? kaon_stored_scale(w, i) : 0;
  }
  for (int64_t line = w->start[block]; line < w->start[block + 1]; line++, entry += w->width)
    for (int l = 0; l < w->width; l++)
      for (int c = 0; c < reals; c++)
        kaon_store_value(w->host[VALUE], stored,
                         kaon_packed_index(line, 0, c, l, 1, reals, w->width, w->pack),
                         entry[l] < 0 ? 0 : row[l][(int64_t)entry[l] * reals + c], factor[l]);
}

static void put_values(const work *w, int64_t block, const int32_t *entry) {
  const kaon_precision stored = kaon_stored_precision(w);
  const int reals = w->rows->reals;
  if (stored == KAON_DOUBLE && reals == 1)
    put_values_as(w, block, entry, KAON_DOUBLE, 1);
  else if (stored == KAON_SINGLE && reals == 1)
    put_values_as(w, block, entry, KAON_SINGLE, 1);
  else
    put_values_as(w, block, entry, stored, reals);
}

/* After the lists' first blocks were arranged. */
static void put_shared_values(const work *w) {
  const int32_t *list = w->host[PATTERN];
#pragma omp parallel for num_threads(w->ctx->threads) schedule(static)
  for (int64_t b = 0; b < w->stored->matrix.blocks; b++)
    put_values(w, b, w->entry + (int64_t)list[b] * w->width);
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

static void put_lanes(const work *w, int64_t at, int64_t places, const block_lines *lines) {
  uint32_t *lanes = (uint32_t *)w->host[LANES] + at;
  for (int64_t j = 0; j < places; j++) lanes[j] = j < lines->runs ? lines->run[j].lanes : 0;
}

static void put_narrow_columns(const work *w, int64_t at, int64_t places,
                               const block_lines *lines) {
  uint16_t *columns16 = (uint16_t *)w->host[COLUMN] + at * w->width;
  int32_t *line = (int32_t *)w->host[LINE] + at;
  for (int64_t j = 0; j < places; j++) {
    int32_t most;
    const int32_t *column = lines->column + j * w->width;
    const int32_t least = least_of(column, w->width, &most);
    line[j] = j < lines->runs ? lines->run[j].column : ~least;
    for (int l = 0; l < w->width; l++)
      columns16[j * w->width + l] = (uint16_t)((uint32_t)column[l] - (uint32_t)least);
  }
}

static void put_columns(const work *w, int64_t block, const block_lines *lines) {
  const int kind = w->stored->matrix.columns, shared = kind == KAON_COLUMNS_SHARED;
  const int64_t places = w->start[block + 1] - w->start[block];
  const int64_t at = shared ? ((int32_t *)w->host[PATTERN])[block] : w->start[block];
  const int32_t from = shared ? (int32_t)(block * w->width) : 0;
  if (w->with_runs) put_lanes(w, at, places, lines);
  if (kind == KAON_COLUMNS_16BIT) {
    put_narrow_columns(w, at, places, lines);
    return;
  }
  int32_t *column = (int32_t *)w->host[COLUMN] + at * w->width;
  for (int64_t i = 0; i < places * w->width; i++) column[i] = lines->column[i] - from;
  if (!w->with_runs) return;
  int32_t *line = (int32_t *)w->host[LINE] + at;
  for (int64_t j = 0; j < places; j++)
    line[j] = j < lines->runs ? lines->run[j].column - from : shared ? KAON_NO_RUN : -1;
}

/* ---- all blocks ---- */

static void survey_block(const work *w, int64_t places, const block_lines *lines, survey *s) {
  for (int64_t j = 0; j < lines->runs; j++) s->in_runs += lines->run[j].number;
  for (int64_t j = lines->runs; j < places && !s->wide; j++) {
    int32_t most;
    const int32_t least = least_of(lines->column + j * w->width, w->width, &most);
    s->wide = (int64_t)most - least > UINT16_MAX;
  }
}

/* Arranges all blocks, and stores them if `store`. Blocks that share a list are arranged alike, so
 * only the first is, and their values are stored afterwards. */
static kaon_status all_blocks(work *w, int store, survey *of_all) {
  const int64_t room = w->stored->matrix.length, blocks = w->stored->matrix.blocks;
  const int shared = store && w->stored->matrix.columns == KAON_COLUMNS_SHARED;
  const int32_t *list = w->host[PATTERN];
  int64_t in_runs = 0;
  int wide = 0, lacking = 0;
#pragma omp parallel num_threads(w->ctx->threads) reduction(+ : in_runs) reduction(| : wide, lacking)
  {
    const size_t places = ((size_t)room + 1) * (size_t)w->width;
    int32_t *columns = malloc(places * sizeof *columns), *entry = malloc(places * sizeof *entry);
    run *runs = malloc(((size_t)room + 1) * sizeof *runs);
    block_lines lines = {columns, entry, runs, 0};
    survey mine = {0};
    lacking = columns == NULL || entry == NULL || runs == NULL;
#pragma omp for schedule(static)
    for (int64_t b = 0; b < blocks; b++) {
      if (lacking || (shared && w->like[b] != b)) continue;
      if (shared) lines.entry = w->entry + (int64_t)list[b] * w->width;
      arrange(w, b, &lines);
      if (store) put_columns(w, b, &lines);
      if (store && !shared) put_values(w, b, lines.entry);
      survey_block(w, w->start[b + 1] - w->start[b], &lines, &mine);
    }
    in_runs = mine.in_runs;
    wide = mine.wide;
    free(columns);
    free(entry);
    free(runs);
  }
  *of_all = (survey){in_runs, wide};
  if (!lacking) return KAON_OK;
  return kaon_fail(w->ctx, KAON_ERR_MEMORY,
                   "matrix: out of host memory for %lld columns of a block of rows",
                   (long long)room * w->width);
}

/* ---- the kind of column indices ---- */

/* Finds the lists of columns: which block begins one, and how many there are. */
static kaon_status find_lists(work *w) {
  const int64_t blocks = w->stored->matrix.blocks;
  w->like = malloc(((size_t)blocks + 1) * sizeof *w->like);
  if (w->like == NULL)
    return kaon_fail(w->ctx, KAON_ERR_MEMORY, "matrix: out of host memory for %lld blocks of rows",
                     (long long)blocks);
  KAON_TRY(kaon_patterns_find(w->ctx, w->rows, w->width, blocks, w->like));
  for (int64_t b = 0; b < blocks; b++) {
    if (w->like[b] == b) w->list_lines += w->start[b + 1] - w->start[b];
  }
  return KAON_OK;
}

/* Bytes of column indices that a product reads. Padding counts only where it is part of a list. */
static int64_t bytes_of(const work *w, int kind, int64_t in_runs) {
  const int64_t lines = w->start[w->stored->matrix.blocks];
  const int64_t entries = w->rows->start[w->rows->rows] - in_runs;
  const int64_t of_runs = w->with_runs ? 8 : 0; /* for each line */
  if (kind == KAON_COLUMNS_SHARED)
    return w->list_lines * (w->width * 4 + of_runs) + w->stored->matrix.blocks * 4;
  if (kind == KAON_COLUMNS_16BIT) return entries * 2 + lines * (w->with_runs ? of_runs : 4);
  return entries * 4 + lines * of_runs;
}

/* Kernels address a list's columns with 31 bits. */
static int lists_fit(const work *w) {
  return w->list_lines <= INT32_MAX / w->width;
}

static kaon_status choose(work *w, int asked) {
  kaon_stored_matrix *m = &w->stored->matrix;
  const int64_t lines = w->start[m->blocks];
  survey s = {0};
  m->columns = KAON_COLUMNS_32BIT;
  if (asked == KAON_COLUMNS_32BIT) return KAON_OK;
  if (asked != KAON_COLUMNS_16BIT) {
    KAON_TRY(find_lists(w));
    const int clear = w->list_lines <= lines / 8; /* the other kinds need not be checked */
    if (lists_fit(w) && (asked == KAON_COLUMNS_SHARED || clear)) {
      m->columns = KAON_COLUMNS_SHARED;
      return KAON_OK;
    }
    if (asked == KAON_COLUMNS_SHARED) return KAON_OK;
  }
  KAON_TRY(all_blocks(w, 0, &s));
  if (!s.wide) m->columns = KAON_COLUMNS_16BIT;
  if (asked == KAON_COLUMNS_16BIT) return KAON_OK;
  if (bytes_of(w, KAON_COLUMNS_32BIT, s.in_runs) <= bytes_of(w, m->columns, s.in_runs))
    m->columns = KAON_COLUMNS_32BIT; /* nearly all lines are runs */
  if (lists_fit(w) &&
      bytes_of(w, KAON_COLUMNS_SHARED, s.in_runs) < bytes_of(w, m->columns, s.in_runs))
    m->columns = KAON_COLUMNS_SHARED;
  return KAON_OK;
}

/* Sets the beginning of each block's list. */
static void place_lists(const work *w) {
  int32_t *pattern = w->host[PATTERN], next = 0;
  for (int64_t b = 0; b < w->stored->matrix.blocks; b++) {
    pattern[b] = w->like[b] == b ? next : pattern[w->like[b]];
    if (w->like[b] == b) next += (int32_t)(w->start[b + 1] - w->start[b]);
  }
}

static kaon_status allocate_workspace(work *w) {
  const kaon_stored_matrix *m = &w->stored->matrix;
  const int64_t places = w->start[m->blocks];
  const int64_t lines = m->columns == KAON_COLUMNS_SHARED ? w->list_lines : places;
  const size_t size = m->columns == KAON_COLUMNS_16BIT ? sizeof(uint16_t) : sizeof(int32_t);
  KAON_TRY(kaon_stored_allocate(w, VALUE, places * w->width * m->reals, w->size));
  KAON_TRY(kaon_stored_allocate(w, COLUMN, lines * w->width, size));
  if (w->with_runs || m->columns == KAON_COLUMNS_16BIT)
    KAON_TRY(kaon_stored_allocate(w, LINE, lines, sizeof(int32_t)));
  if (w->with_runs) KAON_TRY(kaon_stored_allocate(w, LANES, lines, sizeof(uint32_t)));
  if (m->columns != KAON_COLUMNS_SHARED) return KAON_OK;
  KAON_TRY(kaon_stored_allocate(w, PATTERN, m->blocks, sizeof(int32_t)));
  place_lists(w);
  w->entry = malloc(((size_t)w->list_lines + 1) * (size_t)w->width * sizeof *w->entry);
  return KAON_CHECK_MEMORY(w->ctx, w->entry != NULL, "matrix: out of host memory for %lld columns",
                           (long long)w->list_lines * w->width);
}

kaon_status kaon_stored_blocks(work *w, int columns) {
  survey s = {0};
  w->with_runs = w->ctx->backend->host_accessible;
  KAON_TRY(choose(w, columns));
  KAON_TRY(allocate_workspace(w));
  KAON_TRY(all_blocks(w, 1, &s));
  if (w->entry != NULL) put_shared_values(w);
  w->stored->index_bytes += bytes_of(w, w->stored->matrix.columns, s.in_runs);
  return KAON_OK;
}
