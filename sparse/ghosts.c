/* ghosts.c - rows in the space's order, and the columns that other ranks have. */
#include <stdlib.h>

#include "sparse/ghosts.h"

void kaon_row_set_destroy(kaon_row_set **set) {
  if (set == NULL || *set == NULL) return;
  kaon_row_set *gone = *set;
  *set = NULL;
  if (--gone->references > 0) return;
  kaon_csr_destroy(&gone->rows);
  free(gone->ghost_row);
  kaon_context_release(gone->ctx);
  free(gone);
}

/* Rows in the space's order with columns of this rank. */
static kaon_status renumber(const kaon_matrix *matrix, const kaon_csr *given, kaon_row_set *set) {
  const int32_t *order = matrix->order, *place = matrix->place;
  const int64_t rows = given->rows;
  KAON_TRY(kaon_csr_create(set->ctx, rows, rows + set->ghosts, given->reals, given->start[rows],
                           &set->rows));
  kaon_csr *to = set->rows;
  int64_t at = 0;
  for (int64_t i = 0; i < rows; i++) {
    const int64_t from = order != NULL ? order[i] : i;
    for (int64_t n = given->start[from]; n < given->start[from + 1]; n++, at++) {
      const int64_t own = given->column[n] - matrix->first_row;
      to->column[at] = place != NULL ? place[own] : (int32_t)own;
      for (int c = 0; c < given->reals; c++)
        to->value[at * given->reals + c] = given->value[n * given->reals + c];
    }
    to->start[i + 1] = at;
  }
  return place != NULL ? kaon_csr_sort(set->ctx, to, KAON_CSR_REFUSE) : KAON_OK;
}

kaon_status kaon_row_set_create(kaon_matrix *matrix, const kaon_csr *given, kaon_row_set **set) {
  kaon_context *ctx = matrix->ctx;
  kaon_row_set *made = calloc(1, sizeof *made);
  *set = NULL;
  if (made == NULL) return kaon_fail(ctx, KAON_ERR_MEMORY, "matrix: no host memory");
  *made = (kaon_row_set){.references = 1, .ctx = ctx, .interior = given->rows};
  kaon_context_retain(ctx);
  const kaon_status status = renumber(matrix, given, made);
  if (status != KAON_OK)
    kaon_row_set_destroy(&made);
  else
    *set = made;
  return status;
}

kaon_status kaon_row_set_like(const kaon_row_set *like, const kaon_csr *rows, kaon_row_set **set) {
  kaon_row_set *made = calloc(1, sizeof *made);
  *set = NULL;
  if (made == NULL) return kaon_fail(like->ctx, KAON_ERR_MEMORY, "matrix: no host memory");
  *made = (kaon_row_set){.references = 1, .ctx = like->ctx, .interior = rows->rows};
  kaon_context_retain(made->ctx);
  const kaon_status status = kaon_csr_copy(made->ctx, rows, &made->rows);
  if (status != KAON_OK)
    kaon_row_set_destroy(&made);
  else
    *set = made;
  return status;
}

kaon_status kaon_row_messages_get(const kaon_row_set *set, kaon_precision precision, int nrhs,
                                  kaon_row_messages **messages) {
  (void)precision, (void)nrhs;
  *messages = NULL;
  return kaon_fail(set->ctx, KAON_ERR_UNSUPPORTED, "matrix: several ranks are not offered");
}

kaon_status kaon_row_set_turns(const kaon_row_set *set, int *turns, int *first) {
  (void)set, (void)turns;
  *first = 0;
  return KAON_OK;
}
