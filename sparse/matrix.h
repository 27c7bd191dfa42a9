/* matrix.h - the inside of kaon_matrix, and operators made of rows that share its space. */
#ifndef KAON_SPARSE_MATRIX_H
#define KAON_SPARSE_MATRIX_H

#include <kaon/sparse.h>

#include "lib/operator.h"
#include "lib/space.h"
#include "sparse/csr.h"

/* Messages with other ranks for the columns of a matrix that are theirs (sparse/ghosts.c). */
typedef struct kaon_row_halo kaon_row_halo;

struct kaon_matrix {
  int references;
  kaon_context *ctx;
  kaon_space space;               /* of this rank's rows, in its own order */
  int64_t global_rows, first_row; /* first_row: of the rows that the caller gave on this rank */
  /* This rank's rows in the space's order: columns below rows->rows are its own, rows->rows + n is
   * ghost n. */
  kaon_csr *rows;
  int64_t interior; /* rows from 0 that meet no ghost, a multiple of the width (or all) */
  int64_t ghosts;
  int hermitian; /* A = A^H exactly */
  kaon_row_halo *halo;
};

void kaon_matrix_retain(kaon_matrix *matrix);

/* y = R x, R square on the matrix' space: `rows` in the space's own order, this rank's columns
 * alone (no ghosts) or the same ghosts as the matrix'. What approximate inverses and other
 * preconditioners are made of. precision: of the vectors; values_half: 16-bit values. `rows` is
 * copied. Errors: SHAPE, NOT_BUILT, MEMORY. */
kaon_status kaon_rows_operator(kaon_matrix *matrix, const kaon_csr *rows, const char *name,
                               kaon_precision precision, int values_half, kaon_matrix_format format,
                               kaon_operator **op);
/* The matrix behind an operator of kaon_matrix_operator; NULL: another kind. */
kaon_matrix *kaon_operator_matrix(const kaon_operator *A);

#endif
