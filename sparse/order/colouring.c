/* colouring.c - greedy colouring of rows, and level sets of triangular patterns. */
#include <stdlib.h>
#include <string.h>

#include "sparse/order/orderings.h"

static kaon_status no_memory(const kaon_context *ctx, const char *what, int64_t rows) {
  return kaon_fail(ctx, KAON_ERR_MEMORY, "orderings: out of host memory for %s of %lld rows", what,
                   (long long)rows);
}

/* taken[c] == v: colour c is used near v. There are at most as many colours as rows, so taken has
 * one element more than that. */
static void forbid(const kaon_graph *g, int32_t v, int32_t by, const int32_t *colour,
                   int32_t *taken) {
  for (int64_t n = g->start[v]; n < g->start[v + 1]; n++) {
    const int32_t c = colour[g->neighbour[n]];
    if (c >= 0) taken[c] = by;
  }
}

static int greedy(const kaon_graph *g, int distance, int32_t *colour, int32_t *taken) {
  int colours = 0;
  for (int64_t v = 0; v < g->vertices; v++) colour[v] = taken[v] = -1;
  for (int32_t v = 0; v < g->vertices; v++) {
    forbid(g, v, v, colour, taken);
    for (int64_t n = g->start[v]; distance == 2 && n < g->start[v + 1]; n++)
      forbid(g, g->neighbour[n], v, colour, taken);
    int32_t free_one = 0;
    while (taken[free_one] == v) free_one++;
    colour[v] = free_one;
    if (free_one + 1 > colours) colours = free_one + 1;
  }
  return colours;
}

kaon_status kaon_colour(const kaon_context *ctx, const kaon_csr *csr, int distance, int32_t *colour,
                        int *colours) {
  *colours = 0;
  if (distance != 1 && distance != 2)
    return kaon_fail(ctx, KAON_ERR_ARGUMENT, "colours: the distance is %d, but must be 1 or 2",
                     distance);
  KAON_AUTO(kaon_graph_destroy) kaon_graph *graph = NULL;
  KAON_TRY(kaon_graph_create(ctx, csr, &graph));
  KAON_AUTOFREE int32_t *taken = malloc(((size_t)csr->rows + 1) * sizeof *taken);
  if (taken != NULL) *colours = greedy(graph, distance, colour, taken);
  return taken != NULL ? KAON_OK : no_memory(ctx, "colours", csr->rows);
}

kaon_status kaon_order_by_colour(const kaon_context *ctx, int64_t rows, const int32_t *colour,
                                 int colours, int32_t *order, int64_t *first) {
  KAON_AUTOFREE int64_t *next = malloc(((size_t)colours + 1) * sizeof *next);
  if (next == NULL) return no_memory(ctx, "colours", rows);
  memset(first, 0, ((size_t)colours + 1) * sizeof *first);
  for (int64_t i = 0; i < rows; i++) first[colour[i] + 1]++;
  for (int c = 0; c < colours; c++) first[c + 1] += first[c];
  memcpy(next, first, ((size_t)colours + 1) * sizeof *next);
  for (int64_t i = 0; i < rows; i++) order[next[colour[i]]++] = (int32_t)i;
  return KAON_OK;
}

/* ---- levels ---- */

void kaon_level_sets_destroy(kaon_level_sets **sets) {
  if (sets == NULL || *sets == NULL) return;
  free((*sets)->first);
  free((*sets)->row);
  free(*sets);
  *sets = NULL;
}

/* Sets level[names[i]] for each row i, and returns the number of levels. */
static int number_levels(const kaon_csr *csr, int upper, const int32_t *names, int32_t *level) {
  int levels = 0;
  for (int64_t step = 0; step < csr->rows; step++) {
    const int64_t i = upper ? csr->rows - 1 - step : step;
    int32_t mine = 0;
    for (int64_t n = csr->start[i]; n < csr->start[i + 1]; n++) {
      const int64_t j = csr->column[n];
      if (j >= csr->rows || (upper ? j <= i : j >= i)) continue;
      const int32_t theirs = level[names != NULL ? names[j] : j] + 1;
      if (theirs > mine) mine = theirs;
    }
    level[names != NULL ? names[i] : i] = mine;
    if (mine + 1 > levels) levels = mine + 1;
  }
  return levels;
}

kaon_status kaon_level_sets_create(const kaon_context *ctx, const kaon_csr *csr, int upper,
                                   const int32_t *names, kaon_level_sets **sets) {
  *sets = NULL;
  kaon_level_sets *made = calloc(1, sizeof *made);
  int32_t *level = malloc(((size_t)csr->rows + 1) * sizeof *level);
  kaon_status status = KAON_OK;
  if (made != NULL && level != NULL) {
    made->levels = number_levels(csr, upper, names, level);
    made->first = malloc(((size_t)made->levels + 1) * sizeof *made->first);
    made->row = malloc(((size_t)csr->rows + 1) * sizeof *made->row);
  }
  if (made == NULL || level == NULL || made->first == NULL || made->row == NULL)
    status = no_memory(ctx, "levels", csr->rows);
  else
    status = kaon_order_by_colour(ctx, csr->rows, level, made->levels, made->row, made->first);
  free(level);
  *sets = made;
  if (status != KAON_OK) kaon_level_sets_destroy(sets);
  return status;
}
