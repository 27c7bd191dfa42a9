/* multishift.h - (A + sigma_i) x_i = b for several shifts at the price of the hardest one. */
#ifndef KAON_MULTISHIFT_H
#define KAON_MULTISHIFT_H

#include <kaon/solver.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kaon_multishift kaon_multishift;

typedef struct kaon_multishift_options {
  size_t size;
  int version;
  double tol;            /* |b - (A + sigma_i) x_i| / |b| of every shift, above 0 */
  int max_iterations;    /* of the one Krylov process */
  kaon_precision sloppy; /* once the residual is so small that what rounding does to it is below
                            tol, the process goes on in this precision, or A's where that is
                            coarser. Half: in single first, and vectors stay in single */
  int normal;         /* 1: of A^dag A in A's place, A any operator; 0: A Hermitian, and A + sigma_i
                         positive definite for every shift */
  int check_interval; /* steps between looks of the host, 1 to 256; results do not depend on it */
  kaon_reconstruct reconstruct; /* of the sloppy operators' links */
} kaon_multishift_options;
#define KAON_MULTISHIFT_OPTIONS_INIT \
  { sizeof(kaon_multishift_options), 1, 1e-10, 10000, KAON_DOUBLE, 0, 10, KAON_RECONSTRUCT_18 }

enum { KAON_MULTISHIFT_MAX = 64 };

/* CG for all shifts in one Krylov space: one application of A (A^dag A) a step, whatever their
 * number, and one more of all columns to verify. options NULL: the defaults.
 *   A       in double or single. Referred to: it must outlive the solver
 *   sigma   `shifts` numbers, 1 to KAON_MULTISHIFT_MAX, in any order; copied. A mass squared, a
 *           pole of a rational approximation
 * Takes, for each right-hand side, 3 vectors of one column and one of `shifts` columns in A's
 * precision (normal: one of each more), and with a sloppy precision 3 and 2 in single; at first for
 * one right-hand side. Twins of A in single and half. *solver is
 * NULL on failure. Collective. Source: Jegerlehner, hep-lat/9612014; a coarser precision behind a
 * small residual: van den Eshof, Sleijpen, SIAM J. Matrix Anal. Appl. 26 (2004) 125. Errors:
 * ARGUMENT (no shift, one that is no number, an option out of range), UNSUPPORTED (A in half; it
 * has no twin in the sloppy precision), MEMORY, NOT_BUILT; of the twin: UNITARITY, NOT_FINITE,
 * SINGULAR. */
kaon_status kaon_multishift_create(kaon_operator *A, int shifts, const double *sigma,
                                   const kaon_multishift_options *options,
                                   kaon_multishift **solver);
/* Destroys it and sets *solver to NULL; NULL is allowed. */
void kaon_multishift_destroy(kaon_multishift **solver);

/* Solves for every shift, from x = 0.
 *   b            c columns, one or more, of A's space and precision; unchanged. Side by side they
 *                share applications; bits and counts of each are those of a solve of its own on one
 *                rank of a CPU
 *   x            c times `shifts` columns, likewise: shift i, in the order of sigma, of right-hand
 *                side j is column i c + j; overwritten; must not alias b
 *   columns_out  one report a column of x, or NULL: iterations until its own residual had come down
 *                by the recurrence, and the residual recomputed in A's precision. A shift that a
 *                sloppy precision left above 1.1 tol is refined by a mixed-precision CG of its own:
 *                its steps are added to iterations, and `updates` is 1
 *   report       NULL allowed; applications: of A, columns together counted once
 * Takes memory where c is not that of the call before, where a shift is refined, and where b is far
 * from 1. Not converging is no error: see the reasons. Traps of floating-point exceptions, and
 * large and small b: as kaon_solver_solve. Collective. Errors: ARGUMENT, SHAPE, PRECISION, ALIAS,
 * STALE, NOT_FINITE (b; x is beyond double), MEMORY, NOT_BUILT. */
kaon_status kaon_multishift_solve(kaon_multishift *solver, const kaon_vector *b, kaon_vector *x,
                                  kaon_column_report *columns_out, kaon_solve_report *report);

#ifdef __cplusplus
}
#endif
#endif
