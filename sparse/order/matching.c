/* matching.c - the structural rank: a maximum matching of rows and columns, by the phases of
 * Hopcroft and Karp (SIAM J. Comput. 2, 225, 1973). A phase computes distances from the rows
 * without a column. A path goes along an entry to a taken column, then to the row that has it,
 * until it reaches a free column. The phase then follows, depth first, as many disjoint paths as it
 * finds. Along each of them every row takes the next row's column. The initial matching is the
 * diagonal, where it has entries. */
#include "sparse/order/matching.h"

#include <stdlib.h>
#include <string.h>

#include "lib/core/context_internal.h"

enum { NONE = -1 };

typedef struct matcher {
  const kaon_csr *a;
  int32_t *column_of, *row_of; /* NONE: free */
  int32_t *distance;           /* distance of a row from the free ones; NONE: on no path */
  int32_t *queue;              /* [rows]; also the path of a walk */
  int64_t *next;               /* a row's entry that a walk examines next */
} matcher;

static int is_zero(const kaon_csr *a, int64_t n) {
  return a->value[n * a->reals] == 0 && a->value[n * a->reals + a->reals - 1] == 0;
}

static void give(matcher *m, int64_t row, int64_t column) {
  m->column_of[row] = (int32_t)column;
  m->row_of[column] = (int32_t)row;
}

/* Matches the diagonal, then any free column. */
static void begin(matcher *m) {
  const kaon_csr *a = m->a;
  memset(m->column_of, 0xff, (size_t)a->rows * sizeof *m->column_of);
  memset(m->row_of, 0xff, (size_t)a->columns * sizeof *m->row_of);
  for (int64_t i = 0; i < a->rows; i++) {
    const int64_t n = i < a->columns ? kaon_csr_find(a, i, (int32_t)i) : -1;
    if (n >= 0 && !is_zero(a, n)) give(m, i, i);
  }
  for (int64_t i = 0; i < a->rows; i++)
    for (int64_t n = a->start[i]; n < a->start[i + 1] && m->column_of[i] == NONE; n++)
      if (!is_zero(a, n) && m->row_of[a->column[n]] == NONE) give(m, i, a->column[n]);
}

/* Computes distances up to the first free column; 0: none is reached. */
static int measure(matcher *m) {
  const kaon_csr *a = m->a;
  int64_t end = 0;
  int32_t last = INT32_MAX; /* largest distance of a path's last row */
  for (int64_t i = 0; i < a->rows; i++) {
    m->distance[i] = m->column_of[i] == NONE ? 0 : NONE;
    if (m->distance[i] == 0) m->queue[end++] = (int32_t)i;
  }
  for (int64_t at = 0; at < end; at++) {
    const int32_t i = m->queue[at];
    for (int64_t n = a->start[i]; n < a->start[i + 1]; n++) {
      const int32_t there = m->row_of[a->column[n]];
      if (is_zero(a, n)) continue;
      if (there == NONE) last = m->distance[i];
      if (there == NONE || m->distance[there] != NONE || m->distance[i] >= last) continue;
      m->distance[there] = m->distance[i] + 1;
      m->queue[end++] = there;
    }
  }
  return last != INT32_MAX;
}

/* Returns 1 if it found a path from a free row to a free column, and moved the columns along it. */
static int walk(matcher *m, int32_t free_row) {
  const kaon_csr *a = m->a;
  int32_t *way = m->queue;
  int64_t depth = 0;
  way[0] = free_row;
  while (depth >= 0) {
    const int32_t i = way[depth];
    if (m->next[i] == a->start[i + 1]) { /* dead end */
      m->distance[i] = NONE;
      depth--;
      continue;
    }
    const int64_t n = m->next[i]++;
    int32_t column = a->column[n];
    const int32_t there = m->row_of[column];
    if (is_zero(a, n)) continue;
    if (there != NONE) {
      if (m->distance[there] == m->distance[i] + 1) way[++depth] = there;
      continue;
    }
    for (; depth >= 0; depth--) {
      const int32_t left = m->column_of[way[depth]];
      m->distance[way[depth]] = NONE;
      give(m, way[depth], column);
      column = left;
    }
    return 1;
  }
  return 0;
}

static int64_t match(matcher *m, char *taken) {
  const kaon_csr *a = m->a;
  int64_t found = 1, rank = 0;
  begin(m);
  while (found > 0 && measure(m)) {
    found = 0;
    memcpy(m->next, a->start, (size_t)a->rows * sizeof *m->next);
    for (int64_t i = 0; i < a->rows; i++)
      if (m->column_of[i] == NONE) found += walk(m, (int32_t)i);
  }
  for (int64_t i = 0; i < a->rows; i++) rank += taken[i] = m->column_of[i] != NONE;
  return rank;
}

kaon_status kaon_csr_structural_rank(const kaon_context *ctx, const kaon_csr *a, int64_t *rank,
                                     char *taken) {
  const size_t rows = (size_t)a->rows, columns = (size_t)a->columns;
  int32_t *numbers = malloc((3 * rows + columns + 1) * sizeof *numbers);
  int64_t *next = malloc((rows + 1) * sizeof *next);
  matcher m = {a,   numbers, numbers + rows, numbers + rows + columns, numbers + 2 * rows + columns,
               next};
  const int there = numbers != NULL && next != NULL;
  if (there) *rank = match(&m, taken);
  free(numbers);
  free(next);
  if (there) return KAON_OK;
  return kaon_fail(ctx, KAON_ERR_MEMORY, "structural rank: out of host memory for %lld rows",
                   (long long)a->rows);
}
