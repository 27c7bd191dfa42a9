/* precond.h - preconditioners K ~ A^-1 that need nothing of A but its diagonal and its products:
 * operators for kaon_solver_options.preconditioner, linear and the same in each step, recorded by a
 * device like any other. */
#ifndef KAON_PRECOND_H
#define KAON_PRECOND_H

#include <kaon/operator.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Jacobi: K x = x / d, component by component, d = the diagonal of A as it is now, in A's precision
 * (double or single); has twins in both. Needs nothing of A afterwards. *K is NULL on failure.
 * Collective. Errors: ARGUMENT, UNSUPPORTED (A does not know its diagonal; half precision),
 * SINGULAR (a zero on the diagonal; the row, counted on its rank from 1 in the caller's order),
 * NOT_FINITE (likewise), MEMORY, and those of A. */
kaon_status kaon_precond_jacobi(kaon_operator *A, kaon_operator **K);

typedef struct kaon_chebyshev_options {
  size_t size;
  int version;
  int degree; /* products with A in an application of K: 1 to 64 */
  int scaled; /* 1: a polynomial in D^-1 A, D the diagonal of A, where A knows it; 0: in A */
  double low; /* the interval of eigenvalues that it serves; high = 0: both are estimated */
  double high;
  int steps;     /* of the estimate by Lanczos' method, 2 to 64 */
  double safety; /* the estimated largest eigenvalue times this is `high` */
  double ratio;  /* the estimate of `low` is high / ratio or the smallest eigenvalue seen (besides
                    a singular A's 0), whichever is larger */
} kaon_chebyshev_options;
#define KAON_CHEBYSHEV_OPTIONS_INIT \
  { sizeof(kaon_chebyshev_options), 1, 4, 1, 0.0, 0.0, 16, 1.1, 30.0 }

/* Chebyshev: K = p(D^-1 A) D^-1, p of degree `degree` such that 1 - t p(t) is the polynomial
 * smallest on [low, high]; for Hermitian positive definite A (with D positive), whose K is so too
 * as long as no eigenvalue exceeds `high` much. No sums: nothing is sent but what A sends. options
 * NULL: the defaults. Refers to A, which must outlive it. *K is NULL on failure. Collective.
 * Source: Saad, Iterative Methods for Sparse Linear Systems, 2nd edition, sections 12.3.2 and 6.6.
 * Errors: those of kaon_precond_jacobi; ARGUMENT (an option out of range; low >= high), BREAKDOWN
 * never: an A that is seen to have a negative eigenvalue is refused by the estimate (ARGUMENT, with
 * the eigenvalue). A singular A without one is served on what its systems with solutions need. */
kaon_status kaon_precond_chebyshev(kaon_operator *A, const kaon_chebyshev_options *options,
                                   kaon_operator **K);
/* The interval that it serves. Errors: ARGUMENT (no such operator). */
kaon_status kaon_precond_chebyshev_interval(const kaon_operator *K, double *low, double *high);

#ifdef __cplusplus
}
#endif
#endif
