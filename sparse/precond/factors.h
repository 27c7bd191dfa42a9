/* factors.h - incomplete factors and approximate inverses of the rows of a square matrix, in host
 * memory. Columns beyond the rows (ghosts) are left out. One thread works in the order of the rows,
 * except in kaon_fsai_create, whose rows are independent. Not collective. */
#pragma once

#include "sparse/storage/csr.h"

/* Where a factorisation broke down: the row, by its index in the given matrix, and its pivot (re,
 * im). Set if a function returns SINGULAR. */
typedef struct kaon_bad_pivot {
  int64_t row;
  double pivot[2];
} kaon_bad_pivot;

/* The bound for pivots. A pivot is refused if its size is not above this multiple of the row's
 * diagonal entry (Hermitian) or largest entry (others), or if it is NaN. If A is known to be
 * singular, the bound is larger: the last pivot may be a rounding error of the others. */
#define KAON_SMALLEST_PIVOT 1e-14
#define KAON_SMALLEST_PIVOT_SINGULAR 1e-8
static inline double kaon_smallest_pivot(int singular) {
  return singular ? KAON_SMALLEST_PIVOT_SINGULAR : KAON_SMALLEST_PIVOT;
}

/* M = (E + L) E^-1 (E + U) / scale: L and U strict triangles below and above the diagonal E. */
typedef struct kaon_factors {
  kaon_csr *lower, *upper;
  double *pivot; /* E: [row * reals + part] */
  double scale;
} kaon_factors;
void kaon_factors_destroy(kaon_factors **factors); /* NULL allowed */

/* Kinds of factors.
 *   LU0       M equals A in A's pattern: IC(0) for a Hermitian A, with U = L^H exactly; else
 *             ILU(0). Meijerink, van der Vorst, Math. Comp. 31 (1977) 148
 *   DIAGONAL  L and U are those of A, E such that diag(M) = diag(A): DIC for a Hermitian A, else
 *             DILU (D-ILU in: Barrett et al., Templates, SIAM 1994, 3.4.2; OpenFOAM's simplified
 *             factors)
 *   SSOR      L and U are those of A, E = diag(A) / omega, scale = 2 - omega: symmetric successive
 *             over-relaxation; omega = 1: symmetric Gauss-Seidel */
typedef enum kaon_factor_kind {
  KAON_FACTOR_LU0,
  KAON_FACTOR_DIAGONAL,
  KAON_FACTOR_SSOR
} kaon_factor_kind;

/* - hermitian: A = A^H, so E is real and must be positive.
 * - shift: the diagonal is multiplied by 1 + shift (Manteuffel, Math. Comp. 34 (1980) 473).
 * - omega: of SSOR, in (0, 2).
 * - singular: 1: A is known to be singular.
 * Errors: ARGUMENT (fewer columns than rows), SINGULAR (a pivot, *where is set; a row without
 * diagonal entry has pivot 0), MEMORY. */
typedef struct kaon_factor_how {
  kaon_factor_kind kind;
  int hermitian;
  double shift, omega;
  int singular;
} kaon_factor_how;
kaon_status kaon_factors_create(const kaon_context *ctx, const kaon_csr *A,
                                const kaon_factor_how *how, kaon_factors **factors,
                                kaon_bad_pivot *where);

/* *scaled = S A S for A's own columns, after multiplying the diagonal by 1 + shift. S is scale[i] =
 * 1 / sqrt|a_ii|, so the diagonal has size 1 + shift. scale is 1 for a row without a diagonal entry
 * or with 0 there; it needs A->rows values. Errors: MEMORY. */
kaon_status kaon_unit_diagonal(const kaon_context *ctx, const kaon_csr *A, double shift,
                               double *scale, kaon_csr **scaled);

/* A^-1 ~ second first, a product of two sparse matrices. */
typedef struct kaon_inverse_factors {
  kaon_csr *first, *second;
} kaon_inverse_factors;
void kaon_inverse_factors_destroy(kaon_inverse_factors *factors);

/* Stabilised approximate inverse. Directions z_i, and w_i if A is not Hermitian, are made conjugate
 * to each other, W^H A Z = D. The process is right-looking, with d_i = w_i^H A z_i itself. A is
 * first scaled to a diagonal of size 1.
 * - drop: entries below it are dropped as they arise.
 * - fill: the number of largest entries that a direction retains beside its own; 0: all.
 * - shift, singular: as above.
 * Hermitian: second = Z D^-1/2 = first^H. Otherwise first = D^-1 W^H, second = Z. drop = 0, fill =
 * 0 give the exact inverse. For a positive definite A, d_i <= 0 can only arise by rounding.
 * Sources: Benzi, Meyer, Tuma, SIAM J. Sci. Comput. 17 (1996) 1135; Benzi, Tuma, 19 (1998) 968;
 * Benzi, Cullum, Tuma, 22 (2000) 1318. Errors: as kaon_factors_create. */
typedef struct kaon_ainv_how {
  int hermitian;
  double shift, drop;
  int fill, singular;
} kaon_ainv_how;
kaon_status kaon_ainv_create(const kaon_context *ctx, const kaon_csr *A, const kaon_ainv_how *how,
                             kaon_inverse_factors *factors, kaon_bad_pivot *where);

/* Factorised sparse approximate inverse of a Hermitian positive definite A, of which only the lower
 * triangle's values are read: K = G^H G, first = G = second^H. G lives on the lower triangle,
 * including the diagonal, of the pattern of A^power, power >= 1. There (G A)_ij = 0 except for i =
 * j, and (G A G^H)_ii = 1. Up to the rows' scale, such a G minimises |1 - G L|_F with A = L L^H.
 *
 * Each row solves a small dense system of its own. `threads` threads (>= 1) share the rows; no bit
 * depends on their number. For a positive definite A a system can only break down by rounding.
 * shift as above. Source: Kolotilina, Yeremin, SIAM J. Matrix Anal. Appl. 14 (1993) 45. Errors:
 * ARGUMENT (fewer columns than rows, power, threads), SINGULAR (the first row whose system is not
 * positive definite, and its pivot, with A scaled to a diagonal of 1), MEMORY (also if dense
 * systems cannot fit). */
typedef struct kaon_fsai_how {
  double shift;
  int power, threads;
} kaon_fsai_how;
kaon_status kaon_fsai_create(const kaon_context *ctx, const kaon_csr *A, const kaon_fsai_how *how,
                             kaon_inverse_factors *factors, kaon_bad_pivot *where);

/* The inverses of A's diagonal blocks of `block` consecutive rows (the last one may be shorter), as
 * rows; 1 <= block <= KAON_DENSE_MAX (blas/dense.h). hermitian, shift: as above; Hermitian blocks
 * need not be positive definite. *where: the block's first row, and the pivot that vanished. */
kaon_status kaon_block_inverses(const kaon_context *ctx, const kaon_csr *A, int block,
                                int hermitian, double shift, kaon_csr **inverses,
                                kaon_bad_pivot *where);
