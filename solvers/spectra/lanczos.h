/* lanczos.h - extreme eigenvalues of Hermitian positive definite and semi-definite operators. */
#pragma once

#include "lib/operator/operator_internal.h"

/* low_error, high_error: how far the estimates moved in the second half of the steps. This exceeds
 * the remaining error if the estimates converge as 1 / steps or faster. They are 0 if the process
 * ended by itself after at most KAON_LANCZOS_SOON steps: then it has found all eigenvalues. */
enum { KAON_LANCZOS_SOON = 16 };
typedef struct kaon_extremes {
  double low, high; /* low = 0: A is singular, up to some roundings of `high` */
  double least;     /* low, or of a singular A the smallest eigenvalue seen besides 0; never
                       below the true one */
  double low_error, high_error;
  int steps;      /* products with A; set also on failure with ARGUMENT */
  int indefinite; /* on that failure: there is a p with (p, A p) < 0, or A is 0 */
} kaon_extremes;

/* Estimates the smallest and largest eigenvalue of D^-1 A by up to `steps` steps of the Lanczos
 * process, in D's inner product, from noise. Up to rounding, low is never below the true value and
 * high never above it.
 * - jacobi: D^-1; NULL: the eigenvalues are those of A.
 * - hermitian: A is known to be Hermitian. Otherwise a negative value costs two products to check.
 *   If A is not Hermitian, the values come from the coefficients of conjugate gradients, and
 *   bound nothing.
 * - name: the caller's name in messages.
 * Collective. Source: Saad, Iterative Methods for Sparse Linear Systems, 2nd edition, section 6.6;
 * the effect of rounding: Paige, Linear Algebra Appl. 34 (1980) 235.
 * Errors: ARGUMENT (A is not Hermitian positive definite or semi-definite; with the value), MEMORY,
 * those of A. */
kaon_status kaon_lanczos(kaon_operator *A, kaon_operator *jacobi, int steps, int hermitian,
                         const char *name, kaon_extremes *extremes);

/* Fills column 0 of v with values in [-1, 1) that differ from rank to rank. Collective. */
kaon_status kaon_noise_fill(kaon_vector *v);
