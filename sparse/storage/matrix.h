/* matrix.h - the inside of kaon_matrix, and operators made of rows that share its space. */
#ifndef KAON_SPARSE_MATRIX_H
#define KAON_SPARSE_MATRIX_H

#include <kaon/sparse.h>

#include "lib/operator/operator_internal.h"
#include "lib/vector/space.h"
#include "sparse/storage/csr.h"

/* Messages with other ranks for the columns of a matrix that are theirs (sparse/ranks/row_ghosts.c). */
typedef struct kaon_row_halo kaon_row_halo;
/* Where the rows that the library moved among ranks came from (sparse/ranks/redistribution.h). */
typedef struct kaon_row_redistribution kaon_row_redistribution;

/* This rank's rows in the space's order, with the columns that are other ranks': columns below
 * rows->rows are its own, rows->rows + n is ghost n. */
typedef struct kaon_row_set {
  int references;
  kaon_context *ctx;
  kaon_csr *rows;
  int64_t interior;    /* rows from 0 that meet no ghost, a multiple of the width (or all) */
  int64_t ghosts;      /* padded for each rank that they come from */
  int32_t *ghost_row;  /* [ghost] its row of the whole matrix; -1: padding */
  kaon_row_halo *halo; /* NULL: no rank has ghosts */
} kaon_row_set;

struct kaon_matrix {
  int references;
  kaon_context *ctx;
  kaon_space space; /* of this rank's rows, in its own order (space.rows.order) */
  int64_t global_rows, first_row, *first_rows; /* first_row: of the rows that the caller gave on
                                                  this rank; first_rows[rank], then global_rows.
                                                  Where rows have moved, in their new numbering, and
                                                  "the caller's" below is that one */
  kaon_row_redistribution *redistribution;                       /* NULL: rows are where the caller gave them */
  char shared[120];                            /* how they are shared out, in words */
  int32_t *order;  /* [row of the space] row of the caller's, from 0 on this rank; NULL: the same */
  int32_t *place;  /* the other way round; NULL: the same */
  int32_t *number; /* [row of the space] its number before boundary and lengths were sorted: what
                      blocks of rows go by; NULL: the same */
  kaon_row_set *rows;
  kaon_row_set *dagger; /* of A^H where that is not A; NULL: not wanted so far */
  int hermitian;        /* A = A^H exactly */
  int skew;             /* A = -A^H exactly */
  int mirrored;         /* both, A = A^T and A = -A^T: bits of KAON_MIRRORED (ranks.h) */
};

void kaon_matrix_retain(kaon_matrix *matrix);

/* From sorted rows with columns of the whole matrix (given->columns = rows of all ranks), which are
 * taken over, also after a failure; *given becomes NULL. What all public ways in come down to.
 * Collective. Errors: SHAPE, NOT_FINITE, MEMORY, those of kaon_order_rcm. */
kaon_status kaon_matrix_from_rows(kaon_context *ctx, kaon_csr **given, int64_t first_row,
                                  const kaon_matrix_options *options, kaon_matrix **matrix);
/* The rows of A^H, made when they are first wanted. Collective. Errors: MEMORY, COMM. */
kaon_status kaon_matrix_dagger(kaon_matrix *matrix, kaon_row_set **dagger);

/* The number in the caller's whole matrix of row i in the order that rows had before `order`. */
int64_t kaon_matrix_caller_row(const kaon_matrix *matrix, int64_t i);

/* ---- ghosts.c ---- */

/* From rows with columns of the whole matrix: `given` in the caller's order. Collective. */
kaon_status kaon_row_set_create(kaon_matrix *matrix, const kaon_csr *given, kaon_row_set **set);
void kaon_row_set_destroy(kaon_row_set **set); /* lets go of it; NULL allowed */

/* y = R x, R square on the matrix' space: `rows` in the space's own order, this rank's columns
 * alone (no ghosts) or the same ghosts as the matrix'. What approximate inverses and other
 * preconditioners are made of. precision: of the vectors; values_half: 16-bit values. `rows` is
 * copied. Errors: SHAPE, NOT_BUILT, MEMORY. */
kaon_status kaon_rows_operator(kaon_matrix *matrix, const kaon_csr *rows, const char *name,
                               kaon_precision precision, int values_half, kaon_matrix_format format,
                               kaon_operator **op);
/* y = b + a A x, or b + a A^dagger x, in one pass, for an operator of kaon_matrix_operator or
 * kaon_rows_operator: y may be b, not x. All of one space, precision and column count, which nobody
 * checks. */
kaon_status kaon_rows_affine(kaon_operator *A, kaon_mode mode, double a, const kaon_vector *b,
                             const kaon_vector *x, kaon_vector *y, const kaon_pass *pass);
/* The matrix behind an operator of kaon_matrix_operator; NULL: another kind. */
kaon_matrix *kaon_operator_matrix(const kaon_operator *A);

#endif
