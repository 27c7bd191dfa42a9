/* sweep_order.c - see sweep_order.h. */
#include "sparse/order/sweep_order.h"

#include <stdlib.h>
#include <string.h>

#include "sparse/order/orderings.h"

static kaon_status no_memory(const kaon_context *ctx, int64_t rows) {
  return kaon_fail(ctx, KAON_ERR_MEMORY, "sweeps: out of host memory for an order of %lld rows",
                   (long long)rows);
}

void kaon_sweep_rows_destroy(kaon_sweep_rows **gone) {
  if (gone == NULL || *gone == NULL) return;
  free((*gone)->launch);
  free((*gone)->group);
  free((*gone)->step);
  free((*gone)->part);
  free((*gone)->row);
  free(*gone);
  *gone = NULL;
}

kaon_status kaon_sweep_rows_new(const kaon_context *ctx, int64_t rows, int launches, int64_t groups,
                                int64_t steps, kaon_sweep_rows **made) {
  kaon_sweep_rows *m = calloc(1, sizeof *m);
  *made = NULL;
  if (m == NULL) return no_memory(ctx, rows);
  m->rows = rows;
  m->launches = launches;
  m->groups = groups > 0 ? groups : rows;
  m->steps = steps > 0 ? steps : rows;
  m->launch = calloc((size_t)launches + 1, sizeof *m->launch);
  m->row = calloc((size_t)rows + 1, sizeof *m->row);
  if (groups > 0) m->group = calloc((size_t)groups + 1, sizeof *m->group);
  if (steps > 0) m->step = calloc((size_t)steps + 1, sizeof *m->step);
  if (m->launch == NULL || m->row == NULL || (groups > 0 && m->group == NULL) ||
      (steps > 0 && m->step == NULL)) {
    kaon_sweep_rows_destroy(&m);
    return no_memory(ctx, rows);
  }
  *made = m;
  return KAON_OK;
}

kaon_status kaon_sweep_by_index(const kaon_matrix *matrix, int32_t **row) {
  const int64_t n = matrix->rows->rows->rows;
  *row = malloc((size_t)(n + 1) * sizeof **row);
  if (*row == NULL) return no_memory(matrix->ctx, n);
  for (int64_t i = 0; i < n; i++)
    (*row)[matrix->number != NULL ? matrix->number[i] : i] = (int32_t)i;
  return KAON_OK;
}

/* ---- sequential rows ---- */

static kaon_status by_permutation(const kaon_matrix *matrix, const int32_t *permutation,
                                  int32_t *row) {
  const int64_t n = matrix->rows->rows->rows;
  if (permutation == NULL)
    return kaon_fail(matrix->ctx, KAON_ERR_ARGUMENT,
                     "kaczmarz: order PERMUTATION, but options.permutation is NULL; give the rows "
                     "in their order");
  for (int64_t i = 0; i < n; i++) row[i] = -1;
  for (int64_t i = 0; i < n; i++) { /* row[i]: temporarily the position of the caller's row i */
    const int64_t j = permutation[i];
    if (j < 0 || j >= n || row[j] >= 0)
      return kaon_fail(matrix->ctx, KAON_ERR_ARGUMENT,
                       "kaczmarz: permutation[%lld] is %lld, which is %s; each of rows 0 to %lld "
                       "comes once",
                       (long long)i, (long long)j, j < 0 || j >= n ? "no row" : "there twice",
                       (long long)n - 1);
    row[j] = (int32_t)i;
  }
  for (int64_t i = 0; i < n; i++)
    row[i] = (int32_t)(matrix->place != NULL ? matrix->place[permutation[i]] : permutation[i]);
  return KAON_OK;
}

/* Fisher-Yates shuffle with Knuth's MMIX generator. */
static void shuffle(int64_t n, uint64_t seed, int32_t *row) {
  uint64_t state = 2 * seed + 1;
  for (int64_t i = n - 1; i > 0; i--) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const int64_t j = (int64_t)((state >> 33) % (uint64_t)(i + 1));
    const int32_t other = row[j];
    row[j] = row[i];
    row[i] = other;
  }
}

static kaon_status sequence(const kaon_matrix *matrix, const kaon_kaczmarz_options *options,
                            const int32_t *numbered, kaon_sweep_rows **made) {
  const int64_t n = matrix->rows->rows->rows;
  KAON_TRY(kaon_sweep_rows_new(matrix->ctx, n, 1, 1, 0, made));
  kaon_sweep_rows *m = *made;
  m->launch[1] = 1;
  m->group[1] = n;
  memcpy(m->row, numbered, (size_t)n * sizeof *numbered);
  if (options->order == KAON_SWEEP_RANDOM) shuffle(n, options->seed, m->row);
  return options->order == KAON_SWEEP_PERMUTATION
             ? by_permutation(matrix, options->permutation, m->row)
             : KAON_OK;
}

/* ---- classes ---- */

/* Launches of concurrent rows, from the class of each row index. */
static kaon_status classes(const kaon_matrix *matrix, const int32_t *numbered, const int32_t *class,
                           int count, kaon_sweep_rows **made) {
  const int64_t n = matrix->rows->rows->rows;
  KAON_TRY(kaon_sweep_rows_new(matrix->ctx, n, count, 0, 0, made));
  kaon_sweep_rows *m = *made;
  KAON_TRY(kaon_order_by_colour(matrix->ctx, n, class, count, m->row, m->launch));
  for (int64_t i = 0; i < n; i++) m->row[i] = numbered[m->row[i]];
  return KAON_OK;
}

static kaon_status colours(const kaon_matrix *matrix, const int32_t *numbered, int32_t *class,
                           kaon_sweep_rows **made) {
  KAON_AUTO(kaon_csr_destroy) kaon_csr *natural = NULL;
  int count = 0;
  kaon_status status = kaon_csr_permute(matrix->ctx, matrix->rows->rows, numbered, &natural);
  if (status == KAON_OK) status = kaon_colour(matrix->ctx, natural, 2, class, &count);
  return status == KAON_OK ? classes(matrix, numbered, class, count, made) : status;
}

/* The bandwidth in row indices. */
static int64_t bandwidth(const kaon_matrix *matrix) {
  return kaon_bandwidth(matrix->rows->rows, matrix->number);
}

static kaon_status strides(const kaon_matrix *matrix, const int32_t *numbered, int32_t *class,
                           kaon_sweep_rows **made) {
  const int64_t n = matrix->rows->rows->rows, stride = 2 * bandwidth(matrix) + 1;
  const int64_t count = stride < n ? stride : n;
  for (int64_t i = 0; i < n; i++) class[i] = (int32_t)(i % (count > 0 ? count : 1));
  return classes(matrix, numbered, class, (int)count, made);
}

static kaon_status groups(const kaon_matrix *matrix, kaon_kaczmarz_options *options,
                          const int32_t *numbered, kaon_sweep_rows **made) {
  const int64_t n = matrix->rows->rows->rows,
                least = 2 * bandwidth(matrix) > 0 ? 2 * bandwidth(matrix) : 1;
  const int64_t most = n / (2 * least);
  if (options->groups > most && most > 0)
    return kaon_fail(matrix->ctx, KAON_ERR_ARGUMENT,
                     "kaczmarz: %d groups asked for, but with groups of at least 2 x bandwidth = "
                     "%lld of %lld rows there are at most %lld in a class",
                     options->groups, (long long)least, (long long)n, (long long)most);
  const int64_t half = most < 1 ? 0 : options->groups > 0 ? options->groups : most;
  const int64_t count = half > 0 ? 2 * half : 1; /* sequential if the band is too wide */
  const int launches = half > 0 ? 2 : 1;
  options->groups = (int)half;
  KAON_TRY(kaon_sweep_rows_new(matrix->ctx, n, launches, count, 0, made));
  kaon_sweep_rows *m = *made;
  int64_t at = 0, g = 0;
  for (int c = 0; c < launches; c++) {
    m->launch[c] = g;
    for (int64_t k = c; k < count; k += launches) {
      m->group[g++] = at;
      for (int64_t i = n * k / count; i < n * (k + 1) / count; i++) m->row[at++] = numbered[i];
    }
  }
  m->launch[launches] = count;
  m->group[count] = n;
  return KAON_OK;
}

kaon_status kaon_sweep_rows_create(const kaon_matrix *matrix, kaon_kaczmarz_options *options,
                                   kaon_sweep_rows **made) {
  const int64_t n = matrix->rows->rows->rows;
  int32_t *numbered = NULL, *class = malloc((size_t)(n + 1) * sizeof *class);
  kaon_status status = kaon_sweep_by_index(matrix, &numbered);
  *made = NULL;
  if (status == KAON_OK && class == NULL) status = no_memory(matrix->ctx, n);
  if (status == KAON_OK) switch (options->order) {
      case KAON_SWEEP_COLOURS:
        status = colours(matrix, numbered, class, made);
        break;
      case KAON_SWEEP_STRIDES:
        status = strides(matrix, numbered, class, made);
        break;
      case KAON_SWEEP_GROUPS:
        status = groups(matrix, options, numbered, made);
        break;
      case KAON_SWEEP_SECTIONS:
        status = kaon_sweep_rows_sections(matrix, options, made);
        break;
      default:
        status = sequence(matrix, options, numbered, made);
    }
  free(numbered);
  free(class);
  if (status != KAON_OK) kaon_sweep_rows_destroy(made);
  return status;
}

/* ---- blocks ---- */

/* The entries of rows with indices [first, first + rows) as a matrix, with columns by index. */
static kaon_status block_rows(const kaon_matrix *matrix, const int32_t *numbered, int64_t first,
                              int64_t rows, kaon_csr **block) {
  const kaon_csr *all = matrix->rows->rows;
  int64_t entries = 0;
  for (int64_t i = 0; i < rows; i++)
    entries += all->start[numbered[first + i] + 1] - all->start[numbered[first + i]];
  KAON_TRY(kaon_csr_create(matrix->ctx, rows, all->columns, 1, entries, block));
  int64_t at = 0;
  for (int64_t i = 0; i < rows; i++) {
    const int64_t r = numbered[first + i];
    for (int64_t n = all->start[r]; n < all->start[r + 1]; n++)
      (*block)->column[at++] = all->column[n];
    (*block)->start[i + 1] = at;
  }
  return KAON_OK;
}

/* Colours a block's rows so that rows of a colour have no column in common: greedily, in ascending
 * order. mark: one value for each column, initially 0, whose bits are the colours used so far.
 * There are at most 64 colours at a time: beyond, the remaining rows start again with a fresh set
 * of 64. */
static int colour_block(const kaon_csr *block, uint64_t *mark, int32_t *colour) {
  int colours = 0, base = 0;
  int64_t left = block->rows;
  for (int64_t i = 0; i < block->rows; i++) colour[i] = -1;
  while (left > 0) {
    for (int64_t i = 0; i < block->rows; i++) {
      uint64_t taken = 0;
      if (colour[i] >= 0) continue;
      for (int64_t n = block->start[i]; n < block->start[i + 1]; n++)
        taken |= mark[block->column[n]];
      if (~taken == 0) continue; /* in the next set */
      const int c = __builtin_ctzll(~taken);
      for (int64_t n = block->start[i]; n < block->start[i + 1]; n++)
        mark[block->column[n]] |= (uint64_t)1 << c;
      colour[i] = base + c;
      if (colour[i] + 1 > colours) colours = colour[i] + 1;
      left--;
    }
    for (int64_t n = 0; n < block->start[block->rows]; n++) mark[block->column[n]] = 0;
    base = colours;
  }
  return colours;
}

/* Appends a block's rows by colour, and the beginnings of its steps. Sets the number of steps. */
static kaon_status add_block(const kaon_matrix *matrix, const int32_t *numbered, int64_t first,
                             int64_t rows, uint64_t *mark, kaon_sweep_rows *m, int64_t *steps) {
  KAON_AUTO(kaon_csr_destroy) kaon_csr *block = NULL;
  KAON_AUTOFREE int32_t *colour = malloc((size_t)(2 * rows + 1) * sizeof *colour);
  int32_t *order = colour + rows;
  KAON_AUTOFREE int64_t *begin = malloc((size_t)(rows + 1) * sizeof *begin);
  if (colour == NULL || begin == NULL) return no_memory(matrix->ctx, rows);
  KAON_TRY(block_rows(matrix, numbered, first, rows, &block));
  const int colours = colour_block(block, mark, colour);
  KAON_TRY(kaon_order_by_colour(matrix->ctx, rows, colour, colours, order, begin));
  for (int c = 0; c < colours; c++) m->step[(*steps)++] = first + begin[c];
  for (int64_t i = 0; i < rows; i++) m->row[first + i] = numbered[first + order[i]];
  return KAON_OK;
}

static kaon_status fill_blocks(const kaon_matrix *matrix, const int32_t *numbered, int colour,
                               kaon_sweep_rows *m) {
  const int64_t n = m->rows, blocks = m->groups;
  int64_t steps = 0;
  if (!colour) {
    memcpy(m->row, numbered, (size_t)n * sizeof *numbered);
    for (int64_t k = 0; k <= blocks; k++) m->group[k] = n * k / blocks;
    return KAON_OK;
  }
  KAON_AUTOFREE uint64_t *mark = calloc((size_t)matrix->rows->rows->columns + 1, sizeof *mark);
  kaon_status status = mark != NULL ? KAON_OK : no_memory(matrix->ctx, n);
  for (int64_t k = 0; k < blocks && status == KAON_OK; k++) {
    const int64_t first = n * k / blocks;
    m->group[k] = steps;
    status = add_block(matrix, numbered, first, n * (k + 1) / blocks - first, mark, m, &steps);
  }
  m->group[blocks] = m->steps = steps;
  m->step[steps] = n;
  return status;
}

/* Rows block by block, by index within a block, instead of rows by index. */
static kaon_status near_rows(const kaon_matrix *matrix, int64_t blocks, int32_t *numbered) {
  const int64_t n = matrix->rows->rows->rows;
  KAON_AUTO(kaon_csr_destroy) kaon_csr *natural = NULL;
  KAON_AUTOFREE int32_t *order = malloc((size_t)(n + 1) * sizeof *order);
  KAON_TRY(order != NULL ? KAON_OK : no_memory(matrix->ctx, n));
  KAON_TRY(kaon_csr_permute(matrix->ctx, matrix->rows->rows, numbered, &natural));
  KAON_TRY(kaon_order_by_blocks(matrix->ctx, natural, blocks, order));
  for (int64_t i = 0; i < n; i++) order[i] = numbered[order[i]];
  memcpy(numbered, order, (size_t)n * sizeof *order);
  return KAON_OK;
}

kaon_status kaon_sweep_rows_blocks(const kaon_matrix *matrix, const kaon_kaczmarz_options *options,
                                   kaon_sweep_rows **made) {
  const int64_t n = matrix->rows->rows->rows, blocks = options->blocks;
  int32_t *row = NULL;
  *made = NULL;
  kaon_status status = kaon_sweep_by_index(matrix, &row);
  if (status == KAON_OK && options->order == KAON_SWEEP_PERMUTATION)
    status = by_permutation(matrix, options->permutation, row);
  else if (status == KAON_OK && options->block_rows == KAON_CARP_NEAR && blocks > 1 && blocks < n)
    status = near_rows(matrix, blocks, row);
  if (status == KAON_OK)
    status = kaon_sweep_rows_new(matrix->ctx, n, 1, blocks, options->colour && n > 0 ? n : 0, made);
  if (status == KAON_OK) {
    (*made)->launch[1] = blocks;
    status = fill_blocks(matrix, row, options->colour && n > 0, *made);
  }
  free(row);
  if (status != KAON_OK) kaon_sweep_rows_destroy(made);
  return status;
}
