/* ordered_rows.c - see ordered_rows.h. */
#include "sparse/precond/ordered_rows.h"

#include <stdlib.h>
#include <string.h>

#include "sparse/storage/number.h"
#include "sparse/order/orderings.h"

static kaon_status no_memory(const kaon_matrix *matrix) {
  return kaon_fail(matrix->ctx, KAON_ERR_MEMORY, "order of rows: out of host memory for %lld rows",
                   (long long)matrix->rows->rows->rows);
}

/* Permutes the rows to `order`, without ghosts, and sets `where`. */
static kaon_status arrange(const kaon_matrix *matrix, kaon_ordered_rows *a) {
  const kaon_csr *from = matrix->rows->rows;
  int64_t at = 0;
  for (int64_t i = 0; i < from->rows; i++) a->where[a->order[i]] = (int32_t)i;
  kaon_csr_destroy(&a->rows);
  KAON_TRY(kaon_csr_create(matrix->ctx, from->rows, from->rows, from->reals,
                           from->start[from->rows], &a->rows));
  for (int64_t i = 0; i < from->rows; i++) {
    const int64_t row = a->order[i];
    for (int64_t n = from->start[row]; n < from->start[row + 1]; n++) {
      if (from->column[n] >= from->rows) continue;
      a->rows->column[at] = a->where[from->column[n]];
      kaon_number_put(a->rows->value, at++, from->reals,
                      kaon_number_at(from->value, n, from->reals));
    }
    a->rows->start[i + 1] = at;
  }
  return kaon_csr_sort(matrix->ctx, a->rows, KAON_CSR_REFUSE);
}

static kaon_status natural_order(const kaon_matrix *matrix, kaon_ordered_rows *a) {
  const int64_t rows = matrix->rows->rows->rows;
  a->order = malloc(((size_t)rows + 1) * sizeof *a->order);
  a->where = malloc(((size_t)rows + 1) * sizeof *a->where);
  if (a->order == NULL || a->where == NULL) return no_memory(matrix);
  for (int64_t i = 0; i < rows; i++)
    a->order[matrix->number != NULL ? matrix->number[i] : i] = (int32_t)i;
  return arrange(matrix, a);
}

/* by_colour: workspace for an order of all rows. */
static kaon_status colours_of(const kaon_matrix *matrix, kaon_ordered_rows *a, int distance,
                              int32_t *colour, int32_t *by_colour) {
  KAON_TRY(kaon_colour(matrix->ctx, a->rows, distance, colour, &a->colours));
  a->first = malloc(((size_t)a->colours + 1) * sizeof *a->first);
  if (a->first == NULL) return no_memory(matrix);
  return kaon_order_by_colour(matrix->ctx, a->rows->rows, colour, a->colours, by_colour, a->first);
}

static kaon_status colour_order(const kaon_matrix *matrix, kaon_ordered_rows *a, int distance) {
  const int64_t rows = a->rows->rows;
  KAON_AUTOFREE int32_t *colour = malloc(((size_t)rows + 1) * sizeof *colour);
  KAON_AUTOFREE int32_t *by_colour = malloc(((size_t)rows + 1) * sizeof *by_colour);
  KAON_TRY(colour != NULL && by_colour != NULL ? colours_of(matrix, a, distance, colour, by_colour)
                                               : no_memory(matrix));
  for (int64_t i = 0; i < rows; i++) by_colour[i] = a->order[by_colour[i]];
  memcpy(a->order, by_colour, (size_t)rows * sizeof *a->order);
  return arrange(matrix, a);
}

kaon_status kaon_order_rows(const kaon_matrix *matrix, int distance, kaon_ordered_rows *arranged) {
  *arranged = (kaon_ordered_rows){.rows = NULL};
  kaon_status status = natural_order(matrix, arranged);
  if (status == KAON_OK && distance > 0) status = colour_order(matrix, arranged, distance);
  if (status != KAON_OK) kaon_ordered_rows_clear(arranged);
  return status;
}

void kaon_ordered_rows_clear(kaon_ordered_rows *arranged) {
  kaon_csr_destroy(&arranged->rows);
  free(arranged->order);
  free(arranged->where);
  free(arranged->first);
  *arranged = (kaon_ordered_rows){.rows = NULL};
}
