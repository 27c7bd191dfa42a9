/* ordered_rows.h - a matrix' rows on this rank, without ghosts, in the order in which a factorisation
 * or a sweep takes them. */
#ifndef KAON_SPARSE_ORDERED_ROWS_H
#define KAON_SPARSE_ORDERED_ROWS_H

#include "sparse/storage/matrix.h"

typedef struct kaon_ordered_rows {
  kaon_csr *rows; /* in that order, columns too */
  int32_t *order; /* [row there] row of the space */
  int32_t *where; /* the other way round */
  int colours;    /* 0: not coloured */
  int64_t *first; /* [colours + 1] where a colour begins; NULL: not coloured */
} kaon_ordered_rows;

/* distance 0: as the rows were before boundary and lengths were sorted (kaon_matrix.number); 1, 2:
 * those by the colours of kaon_colour. Not collective. Errors: MEMORY. */
kaon_status kaon_order_rows(const kaon_matrix *matrix, int distance, kaon_ordered_rows *arranged);
void kaon_ordered_rows_clear(kaon_ordered_rows *arranged);

#endif
