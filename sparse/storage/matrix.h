/* matrix.h - the private structure of kaon_matrix, and operators made of rows in its space. */
#pragma once

#include <kaon/sparse.h>

#include "lib/operator/null_space.h"
#include "lib/operator/operator_internal.h"
#include "lib/vector/space.h"
#include "sparse/storage/csr.h"

/* Messages of vector values between ranks for a set of rows (sparse/ranks/row_ghosts.c). */
typedef struct kaon_row_halo kaon_row_halo;
/* The distribution of rows that the library has moved among ranks
 * (sparse/ranks/redistribution.h). */
typedef struct kaon_row_redistribution kaon_row_redistribution;

/* This rank's rows in the space's order. Columns below rows->rows are on this rank, rows->rows + n
 * is ghost n. */
typedef struct kaon_row_set {
  int references;
  kaon_context *ctx;
  kaon_csr *rows;
  int64_t interior;    /* number of leading rows without ghosts, a multiple of the width (or all) */
  int64_t ghosts;      /* including padding, for each rank that they come from */
  int32_t *ghost_row;  /* [ghost] its row in the whole matrix; -1: padding */
  kaon_row_halo *halo; /* NULL: no rank has ghosts */
} kaon_row_set;

/* The one rule of symmetry: every entry of A - A^H is at most this times the largest entry of its
 * row and of its column's row. Whoever assembled A may have rounded equal entries apart. */
#define KAON_SYMMETRIC_TO 1e-10

struct kaon_matrix {
  int references;
  kaon_context *ctx;
  kaon_space space; /* of this rank's rows, in their order here (space.rows.order) */
  /* first_row: of the rows that the caller gave on this rank. first_rows[rank], then global_rows.
   * If rows were redistributed, both are in the new numbering, and so are "the caller's" rows
   * below. */
  int64_t global_rows, first_row, *first_rows;
  kaon_row_redistribution *redistribution; /* NULL: rows are where the
                                                                    caller gave them */
  char shared[120];                        /* their distribution, in words */
  int32_t *order;  /* [row of the space] the caller's row, from 0 on this rank; NULL: the same */
  int32_t *place;  /* the inverse permutation; NULL: the same */
  int32_t *number; /* [row of the space] its index before rows were sorted by boundary and
                      length, which defines blocks of rows; NULL: the same */
  int exponent;    /* even; rows and operators hold A / 2^exponent (kaon_operator.exponent) */
  kaon_row_set *rows;
  kaon_row_set *dagger; /* of A^H if that is not A; NULL: not yet needed */
  double asymmetry;     /* the largest entry of A - A^H, as kaon_matrix_info has it */
  int hermitian, skew;  /* A = A^H, A = -A^H to rounding: KAON_SYMMETRIC_TO */
  int null_count;       /* vectors n with A n = 0 that were given */
  double *null_vectors; /* orthonormal, one after another, as kaon_vector_import takes them. NULL:
                           the constant one */
  int mirrored;         /* what holds exactly: bits of KAON_MIRRORED (rank_rows.h) */
};

void kaon_matrix_retain(kaon_matrix *matrix);

/* From sorted rows with columns of the whole matrix (given->columns = rows of all ranks). All
 * public constructors use it. It takes over the rows, also on failure; *given becomes NULL.
 * Collective. Errors: SHAPE, NOT_FINITE, MEMORY, those of kaon_order_rcm. */
kaon_status kaon_matrix_from_rows(kaon_context *ctx, kaon_csr **given, int64_t first_row,
                                  const kaon_matrix_options *options, kaon_matrix **matrix);
/* The rows of A^H, made at the first call. Collective. Errors: MEMORY, COMM. */
kaon_status kaon_matrix_dagger(kaon_matrix *matrix, kaon_row_set **dagger);

/* The row index in the caller's whole matrix. i: index on this rank before `order` was applied. */
int64_t kaon_matrix_caller_row(const kaon_matrix *matrix, int64_t i);

/* null_vectors.c: for operators of kaon_matrix_operator; others have no null vectors. */
extern const kaon_null_space kaon_matrix_null_space;

/* ---- row_ghosts.c ---- */

/* From rows with columns of the whole matrix, in the caller's order. It takes over the rows, also
 * on failure; *given becomes NULL. Collective. */
kaon_status kaon_row_set_create(kaon_matrix *matrix, kaon_csr **given, kaon_row_set **set);
void kaon_row_set_destroy(kaon_row_set **set); /* releases it; NULL allowed */

/* The operator y = R x, with R square on the matrix' space and with the matrix' exponent.
 * Approximate inverses and other preconditioners use it. It takes over the rows, also on failure;
 * *rows becomes NULL. They are in the space's order, and have no ghosts or the matrix' ghosts.
 * precision: of the vectors; values_half: 16-bit values. Errors: SHAPE, NOT_BUILT, MEMORY. */
kaon_status kaon_rows_operator(kaon_matrix *matrix, kaon_csr **rows, const char *name,
                               kaon_precision precision, int values_half, kaon_matrix_format format,
                               kaon_operator **op);
/* y = b + a A x, or b + a A^dagger x, in one pass. A: of kaon_matrix_operator or
 * kaon_rows_operator. y may alias b, not x. All vectors must have the same space, precision and
 * column count; this is not checked. */
kaon_status kaon_rows_affine(kaon_operator *A, kaon_mode mode, double a, const kaon_vector *b,
                             const kaon_vector *x, kaon_vector *y, const kaon_pass *pass);
/* The matrix of an operator of kaon_matrix_operator; NULL: another kind. */
kaon_matrix *kaon_operator_matrix(const kaon_operator *A);
