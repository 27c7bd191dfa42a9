/* lanczos.h - extreme eigenvalues of Hermitian positive definite and semi-definite operators. */
#ifndef KAON_SOLVERS_LANCZOS_H
#define KAON_SOLVERS_LANCZOS_H

#include "lib/operator/operator_internal.h"

/* Errors: how far the estimates moved in the second half of the steps, which is more than what is
 * left to the true ones where they close in on these as fast as 1 / steps or faster; 0 where the
 * process ended by itself after KAON_LANCZOS_SOON steps or fewer, for it has found all eigenvalues
 * there. */
enum { KAON_LANCZOS_SOON = 16 };
typedef struct kaon_extremes {
  double low, high; /* low = 0: A is singular, to some roundings of `high` */
  double least;     /* low, or of a singular A the smallest eigenvalue seen besides the 0: never
                       below the true one */
  double low_error, high_error;
  int steps;      /* products with A, also of a failure with ARGUMENT */
  int indefinite; /* of such a failure: there is a p with (p, A p) < 0, or A is 0 */
} kaon_extremes;

/* Smallest and largest eigenvalue of D^-1 A (jacobi: D^-1; NULL: of A) as up to `steps` steps of
 * Lanczos' process see them, in D's product from noise: but for rounding low is never below, high
 * never above the true one. hermitian: A is known to be; else, where a negative number shows, two
 * products are spent on it, and of an A that is not the numbers are those of conjugate gradients'
 * coefficients; they bound nothing. name: of whom it is for, in sentences. Collective.
 * Source: Saad, Iterative Methods for Sparse Linear Systems, 2nd edition, section 6.6; what
 * rounding does to it: Paige, Linear Algebra Appl. 34 (1980) 235.
 * Errors: ARGUMENT (A is not Hermitian positive definite or semi-definite; with the number),
 * MEMORY, those of A. */
kaon_status kaon_lanczos(kaon_operator *A, kaon_operator *jacobi, int steps, int hermitian,
                         const char *name, kaon_extremes *extremes);

/* Numbers in [-1, 1) that differ from rank to rank, into column 0 of v. Collective. */
kaon_status kaon_noise_fill(kaon_vector *v);

#endif
