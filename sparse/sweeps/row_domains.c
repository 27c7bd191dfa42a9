/* row_domains.c - divides a rank's rows into blocks, and assigns the blocks' turns by a greedy
 * colouring of coupled blocks, in their order. Coupled ranks have different turns, by a colouring
 * of the ranks. */
#include <stdlib.h>

#include "sparse/ranks/row_ghosts.h"
#include "sparse/storage/sparse_operator.h"

static int64_t block_of(const kaon_matrix *matrix, int64_t row, int64_t block) {
  return (matrix->number != NULL ? matrix->number[row] : row) / block;
}

/* The couplings of blocks, in both directions, with possible duplicates. */
static kaon_status couplings(const kaon_matrix *matrix, const kaon_csr *a, int64_t block,
                             int64_t count, kaon_csr **graph) {
  int64_t entries = 0, at = 0;
  for (int pass = 0; pass < 2; pass++) {
    int64_t *from = NULL, *to = NULL;
    double *ones = NULL;
    if (pass == 1) {
      const size_t room = (size_t)(2 * entries) + 1;
      from = malloc(room * sizeof *from);
      to = malloc(room * sizeof *to);
      ones = calloc(room, sizeof *ones);
      if (from == NULL || to == NULL || ones == NULL) {
        free(from);
        free(to);
        free(ones);
        return kaon_fail(matrix->ctx, KAON_ERR_MEMORY,
                         "local part: out of host memory for the couplings of %lld blocks",
                         (long long)count);
      }
    }
    for (int64_t i = 0; i < a->rows; i++) {
      const int64_t b = block_of(matrix, i, block);
      int64_t last = b; /* most entries repeat the previous one */
      for (int64_t n = a->start[i]; n < a->start[i + 1] && a->column[n] < a->rows; n++) {
        const int64_t other = block_of(matrix, a->column[n], block);
        if (other == b || other == last) continue;
        last = other;
        if (pass == 0) {
          entries++;
          continue;
        }
        from[at] = to[at + 1] = b;
        to[at] = from[at + 1] = other;
        at += 2;
      }
    }
    if (pass == 0) continue;
    const kaon_status status = kaon_csr_from_triplets(matrix->ctx, count, count, 1, at, from, to,
                                                      ones, KAON_CSR_ADD, graph);
    free(from);
    free(to);
    free(ones);
    return status;
  }
  return KAON_OK;
}

/* Sets turn[block]. Returns the number of turns, or -1: no memory. */
static int colour(const kaon_csr *graph, int32_t *turn) {
  const int64_t count = graph->rows;
  int64_t *taken = malloc(((size_t)count + 1) * sizeof *taken); /* by which block */
  int turns = 0;
  if (taken == NULL) return -1;
  for (int64_t b = 0; b <= count; b++) taken[b] = -1;
  for (int64_t b = 0; b < count; b++) {
    for (int64_t n = graph->start[b]; n < graph->start[b + 1]; n++)
      if (graph->column[n] < b) taken[turn[graph->column[n]]] = b;
    int32_t t = 0;
    while (taken[t] == b) t++;
    turn[b] = t;
    if (t >= turns) turns = t + 1;
  }
  free(taken);
  return turns;
}

static kaon_status colour_blocks(const kaon_matrix *matrix, const kaon_csr *rows, int64_t block,
                                 int64_t count, int32_t *turn, int *turns) {
  kaon_csr *graph = NULL;
  turn[0] = 0;
  *turns = count > 0;
  if (count <= 1) return KAON_OK;
  KAON_TRY(couplings(matrix, rows, block, count, &graph));
  *turns = colour(graph, turn);
  kaon_csr_destroy(&graph);
  if (*turns > 0) return KAON_OK;
  return kaon_fail(matrix->ctx, KAON_ERR_MEMORY, "local part: out of host memory for %lld blocks",
                   (long long)count);
}

kaon_status kaon_matrix_domains(const kaon_matrix *matrix, const kaon_row_set *set, int64_t block,
                                kaon_domains **domains) {
  const kaon_csr *rows = set->rows;
  const kaon_space *space = &matrix->space;
  kaon_context *ctx = matrix->ctx;
  if (block == 0 || block > rows->rows) block = rows->rows > 0 ? rows->rows : 1;
  const int64_t count = rows->rows > block ? (rows->rows + block - 1) / block : 1;
  const int64_t places = space->nblocks * space->width;
  KAON_AUTOFREE int32_t *turn = calloc((size_t)count, sizeof *turn);
  KAON_AUTOFREE int32_t *domain = malloc(((size_t)places + 1) * sizeof *domain);
  KAON_AUTOFREE int32_t *order = malloc(((size_t)rows->rows + 1) * sizeof *order);
  int turns = 1, first = 0;
  kaon_status status =
      KAON_CHECK_MEMORY(ctx, turn != NULL && domain != NULL && order != NULL,
                        "local part: out of host memory for %lld blocks", (long long)count);
  if (status == KAON_OK) status = colour_blocks(matrix, rows, block, count, turn, &turns);
  status = kaon_agree(ctx, status);
  if (status == KAON_OK) status = kaon_row_set_schedule(set, &turns, &first);
  if (status == KAON_OK) {
    for (int64_t b = 0; b < count; b++) turn[b] += first;
    for (int64_t i = 0; i < places; i++)
      domain[i] = i < rows->rows ? (int32_t)block_of(matrix, i, block) : -1;
    for (int64_t i = 0; i < rows->rows; i++) /* a block's rows in index order */
      order[matrix->number != NULL ? matrix->number[i] : i] = (int32_t)i;
    status = kaon_domains_create(space, (int)count, domain, order, turn, turns, domains);
  }
  return kaon_agree(ctx, status);
}
