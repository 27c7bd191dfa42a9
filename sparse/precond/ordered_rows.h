/* ordered_rows.h - a matrix' rows on this rank, without ghosts, in the order of a factorisation or
 * a sweep. */
#pragma once

#include "sparse/storage/matrix.h"

typedef struct kaon_ordered_rows {
  kaon_csr *rows; /* rows and columns in that order */
  int32_t *order; /* [row there] row of the space */
  int32_t *where; /* the inverse permutation */
  int colours;    /* 0: not coloured */
  int64_t *first; /* [colours + 1] first row of each colour; NULL: not coloured */
} kaon_ordered_rows;

/* distance 0: the order before rows were sorted by boundary and length (kaon_matrix.number). 1, 2:
 * that order, sorted by the colours of kaon_colour. Not collective. Errors: MEMORY. */
kaon_status kaon_order_rows(const kaon_matrix *matrix, int distance, kaon_ordered_rows *arranged);
void kaon_ordered_rows_clear(kaon_ordered_rows *arranged);
