/* factors.h - incomplete factors and approximate inverses of the rows of a square matrix, in host
 * memory. Columns beyond the rows (ghosts) are left out. All of it is done in the order of the rows
 * by one thread, but kaon_fsai_create, whose rows do not need each other. Not collective. */
#ifndef KAON_SPARSE_FACTORS_H
#define KAON_SPARSE_FACTORS_H

#include "sparse/storage/csr.h"

/* Where a factorisation ended: the row, in the numbers of the matrix handed in, and its pivot (re,
 * im). Filled where a function returns SINGULAR. */
typedef struct kaon_bad_pivot {
  int64_t row;
  double pivot[2];
} kaon_bad_pivot;

/* The pivots that all of them refuse: of Hermitian matrices those that are not above PIVOT times
 * the row's diagonal entry in size, of others those not above PIVOT times the row's largest entry
 * in size; and what is not a number. */
#define KAON_SMALLEST_PIVOT 1e-14

/* M = (E + L) E^-1 (E + U) / scale: L and U strict triangles below and above the diagonal E. */
typedef struct kaon_factors {
  kaon_csr *lower, *upper;
  double *pivot; /* E: [row * reals + part] */
  double scale;
} kaon_factors;
void kaon_factors_destroy(kaon_factors **factors); /* NULL allowed */

/*   LU0       M has A's entries where A has any: IC(0) of a Hermitian A, U = L^H exactly; else
 *             ILU(0). Meijerink, van der Vorst, Math. Comp. 31 (1977) 148
 *   DIAGONAL  L and U are A's own, E such that diag(M) = diag(A): DIC of a Hermitian A, else DILU
 *             (D-ILU in: Barrett et al., Templates, SIAM 1994, 3.4.2; OpenFOAM's simplified
 *             factors)
 *   SSOR      L and U are A's own, E = diag(A) / omega, scale = 2 - omega: symmetric successive
 *             over-relaxation; omega = 1: symmetric Gauss-Seidel */
typedef enum kaon_factor_kind {
  KAON_FACTOR_LU0,
  KAON_FACTOR_DIAGONAL,
  KAON_FACTOR_SSOR
} kaon_factor_kind;

/* hermitian: A = A^H, so E is real and must be positive. shift: the diagonal counts 1 + shift times
 * (Manteuffel, Math. Comp. 34 (1980) 473). omega: of SSOR, in (0, 2). Errors: ARGUMENT (fewer
 * columns than rows), SINGULAR (a pivot, *where filled; a row without diagonal entry has pivot 0),
 * MEMORY. */
typedef struct kaon_factor_how {
  kaon_factor_kind kind;
  int hermitian;
  double shift, omega;
} kaon_factor_how;
kaon_status kaon_factors_create(const kaon_context *ctx, const kaon_csr *A,
                                const kaon_factor_how *how, kaon_factors **factors,
                                kaon_bad_pivot *where);

/* S A S of A's own columns, the diagonal 1 + shift times, with scale[i] of S (room for A->rows
 * numbers) 1 / sqrt|a_ii|, so that the diagonal is 1 + shift in size; 1 of a row without a diagonal
 * entry, or with 0 there. Errors: MEMORY. */
kaon_status kaon_unit_diagonal(const kaon_context *ctx, const kaon_csr *A, double shift,
                               double *scale, kaon_csr **scaled);

/* A^-1 ~ second first, two sparse matrices. */
typedef struct kaon_inverse_factors {
  kaon_csr *first, *second;
} kaon_inverse_factors;
void kaon_inverse_factors_destroy(kaon_inverse_factors *factors);

/* Stabilised approximate inverse: directions z_i, and w_i where A is not Hermitian, are made
 * conjugate to each other, W^H A Z = D, by the right-looking process in which d_i = w_i^H A z_i
 * itself; entries below `drop` are left out as they arise, and of a direction's entries beside its
 * own the `fill` largest are kept (0: all). A is scaled for it so that its diagonal is 1 in size.
 * Hermitian: second = Z D^-1/2 = first^H. Else first = D^-1 W^H, second = Z. drop = 0, fill = 0:
 * the inverse itself. For a positive definite A no d_i <= 0 can arise but by rounding. shift as
 * above. Sources: Benzi, Meyer, Tuma, SIAM J. Sci. Comput. 17 (1996) 1135; Benzi, Tuma, 19 (1998)
 * 968; Benzi, Cullum, Tuma, 22 (2000) 1318. Errors: as kaon_factors_create. */
typedef struct kaon_ainv_how {
  int hermitian;
  double shift, drop;
  int fill;
} kaon_ainv_how;
kaon_status kaon_ainv_create(const kaon_context *ctx, const kaon_csr *A, const kaon_ainv_how *how,
                             kaon_inverse_factors *factors, kaon_bad_pivot *where);

/* Factorised sparse approximate inverse of a Hermitian positive definite A (values
 * of its lower triangle alone count): K = G^H G, first = G = second^H, G on the lower triangle of
 * the pattern of A^power, power >= 1, the diagonal included, where (G A)_ij = 0 but for i = j and
 * (G A G^H)_ii = 1. Such a G has the smallest |1 - G L|_F there, A = L L^H, but for the rows'
 * scale; every row has a small dense system of its own. By `threads` threads (>= 1), on which no
 * bit depends. Of a positive definite A no system breaks down but by rounding. shift as above.
 * Sources: Kolotilina, Yeremin, SIAM J. Matrix Anal. Appl. 14 (1993) 45. Errors: ARGUMENT (fewer
 * columns than rows, power, threads), SINGULAR (the first row whose system is not positive
 * definite, and the pivot met in it, A scaled to a diagonal of 1), MEMORY (also where dense systems
 * cannot fit). */
typedef struct kaon_fsai_how {
  double shift;
  int power, threads;
} kaon_fsai_how;
kaon_status kaon_fsai_create(const kaon_context *ctx, const kaon_csr *A, const kaon_fsai_how *how,
                             kaon_inverse_factors *factors, kaon_bad_pivot *where);

/* The inverses of A's diagonal blocks of `block` consecutive rows (the last one may be shorter), as
 * rows; 1 <= block <= KAON_DENSE_MAX (blas/dense.h). hermitian, shift as above; Hermitian blocks
 * need not be positive definite. *where: the block's first row, and the pivot that vanished. */
kaon_status kaon_block_inverses(const kaon_context *ctx, const kaon_csr *A, int block,
                                int hermitian, double shift, kaon_csr **inverses,
                                kaon_bad_pivot *where);

#endif
