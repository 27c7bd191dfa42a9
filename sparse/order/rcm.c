/* rcm.c - reverse Cuthill-McKee, one connected component of the pattern after the other. */
#include <stdlib.h>
#include <string.h>

#include "sparse/order/orderings.h"

typedef struct walk {
  const kaon_graph *graph;
  int32_t *queue; /* [vertices] the component's rows in the order of the search */
  int32_t *level; /* [vertices] -1: not visited by this search */
  int32_t *place; /* [vertices] within the component; -1: not ordered yet */
} walk;

static int64_t degree(const kaon_graph *g, int32_t v) {
  return g->start[v + 1] - g->start[v];
}

/* Breadth-first search from root. Returns the number of visited rows; the last one has the largest
 * level. */
static int64_t search(walk *w, int32_t root) {
  const kaon_graph *g = w->graph;
  int64_t met = 1;
  w->queue[0] = root;
  w->level[root] = 0;
  for (int64_t i = 0; i < met; i++) {
    const int32_t v = w->queue[i];
    for (int64_t n = g->start[v]; n < g->start[v + 1]; n++) {
      const int32_t u = g->neighbour[n];
      if (w->level[u] >= 0) continue;
      w->level[u] = w->level[v] + 1;
      w->queue[met++] = u;
    }
  }
  return met;
}

static void forget(walk *w, int64_t met) {
  for (int64_t i = 0; i < met; i++) w->level[w->queue[i]] = -1;
}

/* From `first`, moves to a row of least degree among the furthest ones, while this increases the
 * distance. */
static int32_t pseudo_peripheral(walk *w, int32_t first) {
  int32_t root = first, depth = -1;
  for (;;) {
    const int64_t met = search(w, root);
    const int32_t reached = w->level[w->queue[met - 1]];
    int32_t far = w->queue[met - 1];
    for (int64_t i = met - 1; i >= 0 && w->level[w->queue[i]] == reached; i--) {
      const int32_t v = w->queue[i];
      const int64_t more = degree(w->graph, v) - degree(w->graph, far);
      if (more < 0 || (more == 0 && v < far)) far = v;
    }
    forget(w, met);
    if (reached <= depth) return root;
    depth = reached;
    if (reached == 0) return root;
    root = far;
  }
}

/* The degrees are stored with the rows, so that sorting needs no other data. */
typedef struct by_degree {
  int64_t degree;
  int32_t row;
} by_degree;

static int compare(const void *a, const void *b) {
  const by_degree *x = a, *y = b;
  if (x->degree != y->degree) return x->degree < y->degree ? -1 : 1;
  return x->row < y->row ? -1 : x->row > y->row;
}

/* Puts the component's rows into Cuthill-McKee order; `level` marks the ordered ones. Returns their
 * number. */
static int64_t cuthill_mckee(walk *w, int32_t root, by_degree *next) {
  const kaon_graph *g = w->graph;
  int64_t met = 1;
  w->queue[0] = root;
  w->level[root] = 0;
  for (int64_t i = 0; i < met; i++) {
    const int32_t v = w->queue[i];
    size_t count = 0;
    for (int64_t n = g->start[v]; n < g->start[v + 1]; n++) {
      const int32_t u = g->neighbour[n];
      if (w->level[u] >= 0) continue;
      w->level[u] = 0;
      next[count++] = (by_degree){degree(g, u), u};
    }
    if (count > 1) qsort(next, count, sizeof *next, compare);
    for (size_t c = 0; c < count; c++) w->queue[met++] = next[c].row;
  }
  return met;
}

/* max of the difference of positions over the couplings of these rows. */
static int64_t part_bandwidth(const walk *w, const int32_t *rows, int64_t count) {
  const kaon_graph *g = w->graph;
  int64_t widest = 0;
  for (int64_t i = 0; i < count; i++)
    for (int64_t n = g->start[rows[i]]; n < g->start[rows[i] + 1]; n++) {
      const int64_t distance = llabs(w->place[g->neighbour[n]] - w->place[rows[i]]);
      if (distance > widest) widest = distance;
    }
  return widest;
}

static void number(walk *w, const int32_t *rows, int64_t count) {
  for (int64_t i = 0; i < count; i++) w->place[rows[i]] = (int32_t)i;
}

/* Orders one connected component, from its first row, into `order`. Returns the number of its
 * rows. */
static int64_t order_part(walk *w, int32_t first, by_degree *next, int32_t *order) {
  const int64_t count = cuthill_mckee(w, pseudo_peripheral(w, first), next);
  for (int64_t i = 0; i < count; i++) order[i] = w->queue[count - 1 - i];
  number(w, order, count);
  const int64_t reversed = part_bandwidth(w, order, count);
  qsort(w->queue, (size_t)count, sizeof *w->queue, kaon_ascending);
  number(w, w->queue, count);
  if (part_bandwidth(w, w->queue, count) > reversed) {
    number(w, order, count);
    return count;
  }
  memcpy(order, w->queue, (size_t)count * sizeof *order);
  return count;
}

static int64_t longest_row(const kaon_graph *g) {
  int64_t longest = 0;
  for (int64_t v = 0; v < g->vertices; v++)
    if (g->start[v + 1] - g->start[v] > longest) longest = g->start[v + 1] - g->start[v];
  return longest;
}

kaon_status kaon_order_rcm(const kaon_context *ctx, const kaon_csr *csr, int32_t *order) {
  kaon_graph *graph = NULL;
  KAON_TRY(kaon_graph_create(ctx, csr, &graph));
  const size_t bytes = ((size_t)csr->rows + 1) * sizeof(int32_t);
  walk w = {graph, malloc(bytes), malloc(bytes), malloc(bytes)};
  by_degree *next = malloc(((size_t)longest_row(graph) + 1) * sizeof *next);
  const int complete = w.queue != NULL && w.level != NULL && w.place != NULL && next != NULL;
  if (complete) {
    memset(w.level, -1, bytes);
    memset(w.place, -1, bytes);
    int64_t done = 0;
    for (int32_t v = 0; v < csr->rows; v++)
      if (w.place[v] < 0) done += order_part(&w, v, next, order + done);
  }
  free(w.queue);
  free(w.level);
  free(w.place);
  free(next);
  kaon_graph_destroy(&graph);
  if (complete) return KAON_OK;
  return kaon_fail(ctx, KAON_ERR_MEMORY,
                   "orderings: out of host memory for reverse Cuthill-McKee of %lld rows",
                   (long long)csr->rows);
}

int64_t kaon_bandwidth(const kaon_csr *csr, const int32_t *where) {
  int64_t widest = 0;
  for (int64_t i = 0; i < csr->rows; i++)
    for (int64_t n = csr->start[i]; n < csr->start[i + 1]; n++) {
      const int64_t j = csr->column[n];
      if (j >= csr->rows) continue;
      const int64_t distance = where != NULL ? llabs((int64_t)where[i] - where[j]) : llabs(i - j);
      if (distance > widest) widest = distance;
    }
  return widest;
}
