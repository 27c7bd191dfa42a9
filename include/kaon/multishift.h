/** @file multishift.h
 * (A + sigma_i) x_i = b for several shifts at the price of the hardest one, and rational functions
 * of A. */
#ifndef KAON_MULTISHIFT_H
#define KAON_MULTISHIFT_H

#include <kaon/solver.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A solver for several shifts. */
typedef struct kaon_multishift kaon_multishift;

/** Options of a solver for several shifts. */
typedef struct kaon_multishift_options {
  size_t size;
  int version;
  double tol;            /**< |b - (A + sigma_i) x_i| / |b| for every shift, above 0; see also
                              kaon_multishift_set_tol() */
  int max_iterations;    /**< of the one Krylov process */
  kaon_precision sloppy; /**< precision of the process once the residual is so small that rounding
                              stays below tol; A's own if that is coarser. HALF: first single, and
                              vectors stay in single */
  int normal;         /**< 1: A^dag A in place of A, for any A. 0: A is Hermitian, and A + sigma_i
                           is positive definite for every shift */
  int check_interval; /**< steps between polls of the host, 1 to 256. Results do not depend on it */
  kaon_reconstruct reconstruct; /**< of the sloppy operators' links */
} kaon_multishift_options;
/** Defaults. */
#define KAON_MULTISHIFT_OPTIONS_INIT                                                          \
  {                                                                                           \
    sizeof(kaon_multishift_options), KAON_OPTIONS_VERSION(KAON_OPTIONS_MULTISHIFT, 1), 1e-10, \
        10000, KAON_DOUBLE, 0, 10, KAON_RECONSTRUCT_18                                        \
  }

/** Largest number of shifts. */
enum { KAON_MULTISHIFT_MAX = 64 };

/** Creates a CG solver for all shifts in one Krylov space. A step applies A (or A^dag A) once,
 * whatever the number of shifts. One more application to all columns verifies the solutions.
 *
 * - `A`: in double or single precision; retained
 * - `sigma`: `shifts` numbers, 1 to KAON_MULTISHIFT_MAX, in any order; copied. For example a mass
 *   squared, or a pole of a rational approximation
 * - `options`: NULL: the defaults
 *
 * Memory for each right-hand side, at first for one: 3 vectors of one column and one of `shifts`
 * columns in A's precision (with `normal` one more of each); with a sloppy precision 3 and 2 more
 * in single; A in single and half precision. Collective. Errors: ARGUMENT (no shift, a shift that
 * is not finite, an option out of range), UNSUPPORTED (A in half precision, or not offered in the
 * sloppy one), MEMORY, NOT_BUILT; UNITARITY, NOT_FINITE, SINGULAR (of A in another precision).
 *
 * Sources: Jegerlehner, hep-lat/9612014. A coarser precision at a small residual: van den Eshof,
 * Sleijpen, SIAM J. Matrix Anal. Appl. 26 (2004) 125. */
KAON_API kaon_status kaon_multishift_create(kaon_operator *A, int shifts, const double *sigma,
                                            const kaon_multishift_options *options,
                                            kaon_multishift **solver);
/** Destroys a solver. */
KAON_API void kaon_multishift_destroy(kaon_multishift **solver);

/** Gives each shift a tolerance of its own in later solves.
 *
 * - `tol`: a number for each shift, in the order of sigma; copied. NULL: the options' `tol` for all
 *
 * A shift stops when its own residual has reached its tolerance. Updates of its solution cost
 * nothing from then on. With tolerance 0 it stops where the smallest shift reaches its tolerance,
 * whatever its own residual is then. The process goes on until the last shift has stopped.
 *
 * Collective. Errors: ARGUMENT (a number that is neither 0 nor 1e-300 to 1; 0 for the smallest
 * shift), STATE. */
KAON_API kaon_status kaon_multishift_set_tol(kaon_multishift *solver, const double *tol);

/** Solves for every shift, from x = 0.
 *
 * - `b`: c columns, at least one, of A's space and precision; unchanged. Columns share applications
 *   of A. On one rank of a CPU each has the bits and counts of a solve of its own
 * - `x`: c times `shifts` columns. Column i c + j is shift i, in the order of sigma, of right-hand
 *   side j. Overwritten; must not alias b
 * - `columns_out`: one report a column of x, or NULL. `iterations`: until its own residual had
 *   converged by the recurrence. `residual`: recomputed in A's precision. A shift that is left
 *   above 1.1 times its tolerance by a sloppy precision is refined by a mixed-precision CG of its
 *   own; its steps are added, and `updates` is 1. A shift with tolerance 0 is not refined. It is
 *   CONVERGED if the process reached the smallest shift's tolerance
 * - `report`: NULL allowed. `applications` counts all columns together once
 *
 * Memory is taken if c differs from the previous call, if a shift is refined, and if b is far from
 * 1. Not converging is no error. Floating-point exceptions, and large or small b: as in
 * kaon_solver_solve(). Collective. Errors: ARGUMENT, SHAPE, PRECISION, ALIAS, STALE, STATE,
 * NOT_FINITE (b; or x is beyond double), MEMORY, NOT_BUILT. */
KAON_API kaon_status kaon_multishift_solve(kaon_multishift *solver, const kaon_vector *b,
                                           kaon_vector *x, kaon_column_report *columns_out,
                                           kaon_solve_report *report);

/** @name Rational functions
 * r(A) b with r(x) = constant + sum_i residue_i / (x + pole_i), close to a power of x. */
/** @{ */

/** A rational function with |r(x) / x^power - 1| <= error for x in [lo, hi]. Fixed size. */
typedef struct kaon_rational {
  int terms; /**< 1 to KAON_MULTISHIFT_MAX */
  double power, lo, hi, error;
  double constant, residue[KAON_MULTISHIFT_MAX], pole[KAON_MULTISHIFT_MAX];
} kaon_rational;

/** Zolotarev's approximation to x^(-1/2), the best one of its kind, by elliptic functions. Its
 * constant is 0, its poles are above 0. For other powers scripts/rational_approximation.py writes
 * files for kaon_rational_read().
 *
 * - `terms`: 1 to KAON_MULTISHIFT_MAX. The error falls like exp(-pi^2 terms / log(4 hi / lo)), down
 *   to the rounding of the coefficients. That is not in `r->error`: about 1e-15 up to hi / lo =
 *   1e10, 4e-14 at 1e12, 3e-12 at 1e16
 * - `lo`, `hi`: 0 < lo < hi, and hi / lo at most 1e16
 *
 * Local. Errors: ARGUMENT. Sources: Zolotarev (1877); van den Eshof et al., hep-lat/0202025. */
KAON_API kaon_status kaon_rational_inverse_root(int terms, double lo, double hi, kaon_rational *r);

/** Reads a rational function from a text file. Words are separated by blanks or line ends; `#`
 * begins a comment. In this order:
 *
 *     kaon-rational 1
 *     power P  interval LO HI  error E  constant C  terms N
 *     N times: residue pole
 *
 * The file is refused if r(x) differs from x^P on [LO, HI] by more than E says. After an error `*r`
 * is unchanged. `ctx`: its ranks read the file together; NULL: this process alone. Collective over
 * ctx. Errors: ARGUMENT, IO, FORMAT (with the line). */
KAON_API kaon_status kaon_rational_read(kaon_context *ctx, const char *path, kaon_rational *r);

/** r(x). NaN if r is NULL. Local. */
KAON_API double kaon_rational_value(const kaon_rational *r, double x);

/** r(A) of an operator. */
typedef struct kaon_rational_function kaon_rational_function;
/** Creates r(A), or r(A^dagger A) with `options->normal`. The operator in r must be Hermitian and
 * positive definite, with all eigenvalues in [lo, hi]; the caller has to know them. (Adding a
 * multiple of the identity shifts them.) A is retained, r is copied. `options`: as for
 * kaon_multishift_create(). Collective. Errors: those of kaon_multishift_create(). */
KAON_API kaon_status kaon_rational_create(kaon_operator *A, const kaon_rational *r,
                                          const kaon_multishift_options *options,
                                          kaon_rational_function **function);
/** Destroys a function. */
KAON_API void kaon_rational_destroy(kaon_rational_function **function);

/** y = r(A) b.
 *
 * - `b`, `y`: of A's space and precision, with equal columns. They must not alias; b is unchanged
 * - `columns_out`: a report for each pole and column, pole by pole, as of kaon_multishift_solve().
 *   NULL allowed
 * - `report`: NULL allowed
 *
 * Each converged solution has a residual of at most tol |b|. The error of y, beside r's own, is
 * then at most tol |b| sum_i |residue_i| / (lo + pole_i). Collective. Errors: those of
 * kaon_multishift_solve(). */
KAON_API kaon_status kaon_rational_apply(kaon_rational_function *function, const kaon_vector *b,
                                         kaon_vector *y, kaon_column_report *columns_out,
                                         kaon_solve_report *report);
/** @} */

#ifdef __cplusplus
}
#endif
#endif
