/* graph.c - the symmetrised pattern of a square matrix. */
#include <stdlib.h>
#include <string.h>

#include "sparse/order/orderings.h"

void kaon_graph_destroy(kaon_graph **graph) {
  if (graph == NULL || *graph == NULL) return;
  free((*graph)->start);
  free((*graph)->neighbour);
  free(*graph);
  *graph = NULL;
}

static int joins(const kaon_csr *csr, int64_t i, int64_t n) {
  return csr->column[n] != i && csr->column[n] < csr->rows;
}

/* Counts every entry in its row and in its column's row. Returns the longest of these rows. */
static int64_t count(const kaon_csr *csr, int64_t *start) {
  memset(start, 0, ((size_t)csr->rows + 1) * sizeof *start);
  for (int64_t i = 0; i < csr->rows; i++)
    for (int64_t n = csr->start[i]; n < csr->start[i + 1]; n++)
      if (joins(csr, i, n)) {
        start[i + 1]++;
        start[csr->column[n] + 1]++;
      }
  int64_t longest = 0;
  for (int64_t i = 0; i < csr->rows; i++) {
    if (start[i + 1] > longest) longest = start[i + 1];
    start[i + 1] += start[i];
  }
  return longest;
}

/* Row i gets the rows whose columns name it, then its own columns. These are two ascending runs,
 * and next[i] is the boundary between them. */
static void fill(const kaon_csr *csr, kaon_graph *graph, int64_t *next) {
  memcpy(next, graph->start, (size_t)csr->rows * sizeof *next);
  for (int64_t i = 0; i < csr->rows; i++)
    for (int64_t n = csr->start[i]; n < csr->start[i + 1]; n++)
      if (joins(csr, i, n)) graph->neighbour[next[csr->column[n]]++] = (int32_t)i;
  for (int64_t i = 0; i < csr->rows; i++)
    for (int64_t n = csr->start[i], at = next[i]; n < csr->start[i + 1]; n++)
      if (joins(csr, i, n)) graph->neighbour[at++] = csr->column[n];
}

/* Merges the two runs of each row, and moves rows down into the space freed by duplicates. */
static void merge(kaon_graph *graph, const int64_t *border, int32_t *row) {
  int64_t at = 0, first = 0;
  for (int64_t i = 0; i < graph->vertices; i++) {
    const int64_t end = graph->start[i + 1];
    int64_t a = first, b = border[i], length = 0;
    while (a < border[i] || b < end) {
      const int from_a = b >= end || (a < border[i] && graph->neighbour[a] <= graph->neighbour[b]);
      const int32_t next = graph->neighbour[from_a ? a : b];
      if (a < border[i] && graph->neighbour[a] == next) a++;
      if (b < end && graph->neighbour[b] == next) b++;
      row[length++] = next;
    }
    if (length > 0) memcpy(graph->neighbour + at, row, (size_t)length * sizeof *row);
    first = end;
    at += length;
    graph->start[i + 1] = at;
  }
}

kaon_status kaon_graph_create(const kaon_context *ctx, const kaon_csr *csr, kaon_graph **graph) {
  *graph = NULL;
  if (csr->columns < csr->rows)
    return kaon_fail(ctx, KAON_ERR_ARGUMENT,
                     "orderings: a matrix of %lld rows and %lld columns is not square",
                     (long long)csr->rows, (long long)csr->columns);
  kaon_graph *made = calloc(1, sizeof *made);
  int64_t *next = malloc(((size_t)csr->rows + 1) * sizeof *next);
  int32_t *row = NULL;
  if (made != NULL && next != NULL) {
    made->vertices = csr->rows;
    made->start = malloc(((size_t)csr->rows + 1) * sizeof *made->start);
    if (made->start != NULL) {
      const int64_t longest = count(csr, made->start);
      made->neighbour = malloc(((size_t)made->start[csr->rows] + 1) * sizeof *made->neighbour);
      row = malloc(((size_t)longest + 1) * sizeof *row);
    }
  }
  const int complete = row != NULL && made->neighbour != NULL;
  if (complete) {
    fill(csr, made, next);
    merge(made, next, row);
    *graph = made;
  } else {
    kaon_graph_destroy(&made);
  }
  free(next);
  free(row);
  if (complete) return KAON_OK;
  return kaon_fail(ctx, KAON_ERR_MEMORY,
                   "orderings: out of host memory for the symmetrised pattern of %lld rows",
                   (long long)csr->rows);
}
