/* bisection.c - blocks of neighbouring rows by recursive bisection of the pattern. The rows of a
 * part are ordered by a breadth-first search that begins at its boundary, and the first half is
 * split from the second. Simon, Computing Systems in Engineering 2 (1991) 135 (recursive graph
 * bisection). */
#include <stdlib.h>
#include <string.h>

#include "sparse/order/orderings.h"

typedef struct halving {
  const kaon_graph *graph;
  int64_t blocks;
  int32_t *order; /* [vertices] the result */
  int32_t *queue; /* [vertices] */
  int32_t *part;  /* [vertices] the first position of the part that the row belongs to */
  uint32_t *seen; /* [vertices] the last search that visited the row */
  uint32_t search;
} halving;

/* Appends the rows of a part in breadth-first order from root to `queue`, starting at queue[met].
 * Returns the end. */
static int64_t spread(halving *h, int32_t root, uint32_t search, int64_t met) {
  const kaon_graph *g = h->graph;
  int64_t end = met;
  h->queue[end++] = root;
  h->seen[root] = search;
  for (int64_t i = met; i < end; i++) {
    const int32_t v = h->queue[i];
    for (int64_t n = g->start[v]; n < g->start[v + 1]; n++) {
      const int32_t u = g->neighbour[n];
      if (h->part[u] != h->part[root] || h->seen[u] == search) continue;
      h->seen[u] = search;
      h->queue[end++] = u;
    }
  }
  return end;
}

/* Orders the rows at positions [first, last), a part, so that each half is mostly connected. Each
 * connected component begins at the row that another search visited last, which is at its
 * boundary. */
static void unroll(halving *h, int64_t first, int64_t last) {
  const uint32_t rim = ++h->search, final = ++h->search;
  int64_t met = 0;
  for (int64_t i = first; i < last; i++) {
    if (h->seen[h->order[i]] == final) continue;
    const int64_t end = spread(h, h->order[i], rim, met);
    met = spread(h, h->queue[end - 1], final, met);
  }
  memcpy(h->order + first, h->queue, (size_t)(last - first) * sizeof *h->order);
}

static int64_t begin_of(const halving *h, int64_t block) {
  return h->graph->vertices * block / h->blocks;
}

/* Halves blocks [a, b), whose rows are at their positions in any order. */
static void halve(halving *h, int64_t a, int64_t b) {
  const int64_t first = begin_of(h, a), last = begin_of(h, b);
  if (b - a == 1) {
    qsort(h->order + first, (size_t)(last - first), sizeof *h->order, kaon_ascending);
    return;
  }
  unroll(h, first, last);
  const int64_t middle = a + (b - a) / 2, at = begin_of(h, middle);
  for (int64_t i = at; i < last; i++) h->part[h->order[i]] = (int32_t)at;
  halve(h, a, middle);
  halve(h, middle, b);
}

kaon_status kaon_order_by_blocks(const kaon_context *ctx, const kaon_csr *csr, int64_t blocks,
                                 int32_t *order) {
  kaon_graph *graph = NULL;
  KAON_TRY(kaon_graph_create(ctx, csr, &graph));
  const size_t count = (size_t)csr->rows + 1;
  halving h = {graph,
               blocks,
               order,
               malloc(count * sizeof *order),
               calloc(count, sizeof *order),
               calloc(count, sizeof *order),
               0};
  const int complete = h.queue != NULL && h.part != NULL && h.seen != NULL;
  for (int64_t i = 0; i < csr->rows && complete; i++) order[i] = (int32_t)i;
  if (complete && csr->rows > 0) halve(&h, 0, blocks);
  free(h.queue);
  free(h.part);
  free(h.seen);
  kaon_graph_destroy(&graph);
  if (complete) return KAON_OK;
  return kaon_fail(ctx, KAON_ERR_MEMORY, "orderings: out of host memory for blocks of %lld rows",
                   (long long)csr->rows);
}
