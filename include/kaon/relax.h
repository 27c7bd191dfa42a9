/** @file relax.h
 * Relaxation (Jacobi, Gauss-Seidel, SOR, two-stage, asynchronous) and row projections (Kaczmarz,
 * CGMNC, CARP-CG, Cimmino). */
#ifndef KAON_RELAX_H
#define KAON_RELAX_H

#include <kaon/solver.h>
#include <kaon/sparse.h>

#ifdef __cplusplus
extern "C" {
#endif

/** @name Relaxation
 * Methods KAON_JACOBI to KAON_ASYNC of kaon_solver. An iteration is a global sweep: each unknown is
 * updated once; in two-stage and asynchronous iteration `local_sweeps` times within its block. The
 * residual is always that of one x, after all have written. A solver with tol = 0, made into an
 * operator, is a preconditioner or smoother of max_iterations sweeps.
 *
 * Sources: Anzt, Tomov, Dongarra, Heuveline, A block-asynchronous relaxation method for graphics
 * processing units (2012). Asynchronous iterations converge if the spectral radius of |B| is below
 * 1, with B = 1 - D^-1 A: Strikwerda, Linear Algebra Appl. 253 (1997) 15. Frommer, Szyld, J.
 * Comput. Appl. Math. 123 (2000) 201. */
/** @{ */

/** How blocks of KAON_ASYNC run.
 *
 * - LAUNCH: each block once an iteration, in any order. It reads what the others have written so
 *   far. The residual is taken after each iteration.
 * - FREE: each block goes on without a barrier, at most `lag` iterations ahead of those that it
 *   reads, until all have done `stride` iterations or the residual that they see seems small
 *   enough. Then the residual is taken. Steps are not recorded on a device. As an operator (tol =
 *   0) it is LAUNCH. */
typedef enum kaon_relax_driver { KAON_RELAX_LAUNCH, KAON_RELAX_FREE } kaon_relax_driver;

/** Options of relaxation, for kaon_solver_options.relax. */
typedef struct kaon_relax_options {
  size_t size;
  int version;
  double omega;  /**< SOR, and within blocks: factor of every update, in (0, 2) */
  double tau;    /**< Jacobi, two-stage, asynchronous: damping, x += tau D^-1 (b - A x). 1: none. 0:
                      2 / (lambda_1 + lambda_n) of D^-1 A by Lanczos, for Hermitian A > 0;
                      estimated again when A has changed. MR, RICHARDSON: factor of every step, not
                      0 */
  int by_colour; /**< GS, SOR. 1: colour by colour, rows of a colour at once. 0: in their order */
  int block;     /**< two-stage, asynchronous: rows of a block, 1 to 1024 */
  int local_sweeps; /**< Jacobi sweeps in a block an iteration */
  kaon_relax_driver driver;
  int lag;       /**< FREE: 0 to 1000000 */
  int stride;    /**< most iterations between two residuals, 1 to 255: with FREE, and where ranks
                      exchange rows in between (kaon/lab.h) */
  int together;  /**< LAUNCH on one rank: blocks that run at once. CPU: a thread reads for this
                      many blocks before it writes the first. CUDA: this many thread blocks take
                      blocks of rows as they finish. 0: CPU one, CUDA all that the device holds */
  uint64_t seed; /**< order in which blocks begin, another in every iteration (CUDA: only if
                      `together` is set). 0: by number */
  const struct kaon_lab_relax_options *lab; /**< experiments (kaon/lab.h). NULL: none. Copied */
} kaon_relax_options;
/** Defaults. */
#define KAON_RELAX_OPTIONS_INIT                                                                   \
  {                                                                                               \
    sizeof(kaon_relax_options), KAON_OPTIONS_VERSION(KAON_OPTIONS_RELAX, 1), 1.0, 1.0, 0, 448, 5, \
        KAON_RELAX_LAUNCH, 2, 128, 0, 0, NULL                                                     \
  }

/** Estimates that decide whether relaxation converges, for D^-1 A and B = 1 - D^-1 A. D is the
 * diagonal of A. */
typedef struct kaon_spectrum {
  size_t size;
  int hermitian; /**< 1: A is Hermitian and positive (semi)definite, as products with random vectors
                      show */
  double low, high; /**< eigenvalues of D^-1 A, by Lanczos. low = 0: A is singular within rounding.
                         NaN if not hermitian */
  double rho;       /**< spectral radius of B. Synchronous iteration converges below 1 */
  double rho_absolute; /**< of |B|. Asynchronous iteration converges below 1. NaN if |A| is not
                            offered */
  double tau; /**< 2 / (low + high). For a singular A the smallest other eigenvalue seen takes the
                   place of low. NaN if not hermitian */
  int steps;  /**< products with A and |A| that were made */
  double most_absolute; /**< upper bound of the spectral radius of |B|. It may miss groups of rows
                             whose part of the vector has become negligible. NaN as rho_absolute */
  double rho_error;     /**< the true value of rho may be larger by this much, judged from the last
                         steps. For a singular A: the true value of high - 1 */
  int indefinite; /**< 1: A is Hermitian with a positive diagonal, but not positive definite. D^-1 A
                       has an eigenvalue <= 0, rho is at least 1, and no damping helps */
} kaon_spectrum;
/** Initial value. */
#define KAON_SPECTRUM_INIT KAON_SIZED(kaon_spectrum)
/** Estimates the spectrum. `steps`: most steps of each process; all in all at most 3 steps + 3
 * products. 0: 300 (2400 with |A|, which needs more).
 *
 * For Hermitian A, rho and rho_absolute approach the true values from below: a value below 1 proves
 * nothing. For indefinite A rho is at least 1. Elsewhere rho is the growth of vectors under powers
 * of B, which few steps can overestimate, but never beyond most_absolute. If that bound (Collatz,
 * Wielandt: max (|B| x)_i / x_i) is below 1, relaxation converges. Collective. Errors:
 * ARGUMENT, UNSUPPORTED (A does not know its diagonal), SINGULAR, MEMORY, those of A. */
KAON_API kaon_status kaon_spectrum_estimate(kaon_operator *A, int steps, kaon_spectrum *spectrum);
/** @} */

/** @name Row projections
 * A sweep of A x = b projects x, row after row, towards the row's equation:
 *
 *     x += lambda (b_i - a_i x) / |a_i|^2 a_i^H
 *
 * As reductions they are solved by a solver, as preconditioners they are a few sweeps. */
/** @{ */

/** Kinds of sweeps.
 *
 * - SWEEP: forward. Kaczmarz' iteration; solver: richardson
 * - DOUBLE: forward, then backward, which is self-adjoint. Solver: cg; together CGMNC
 * - CARP: the same within blocks of rows that have their own copies of x. The copies are averaged
 *   after each of the two. Solver: cg; together CARP-CG. Gordon, Gordon, Parallel Computing 36
 *   (2010) 495
 * - CIMMINO: all rows at once, twice: x += lambda A^H D^-1 (b - A x) with D = diag |a_i|^2. Each is
 *   two products with sparse matrices. Solver: cg */
typedef enum kaon_kaczmarz_kind {
  KAON_KACZMARZ_SWEEP,
  KAON_KACZMARZ_DOUBLE,
  KAON_KACZMARZ_CARP,
  KAON_KACZMARZ_CIMMINO
} kaon_kaczmarz_kind;

/** Order of the rows in SWEEP and DOUBLE. CARP knows PERMUTATION, and takes the others as ROWS.
 *
 * The number of a row is its place in the caller's matrix, or after the matrix' ordering (RCM).
 * Rows of one class do not overlap, so they are projected at once. Results do not depend on
 * threads.
 *
 * - ROWS: by number, one after another
 * - PERMUTATION: one after another; `permutation[n]` is the n-th row
 * - RANDOM: one after another, in an order drawn from `seed`
 * - COLOURS: greedy distance-2 colours; rows of a colour at once
 * - GROUPS (S1): rows of a banded matrix by number in 2 * `groups` groups of at least 2 b rows,
 *   with b the bandwidth. Every other group at once; in a group one row after another
 * - STRIDES (S2): rows whose numbers are equal modulo 2 b + 1 at once
 * - SECTIONS: by `coordinates`. Sections of space are wider than any two overlapping rows are
 *   apart, in 2^dimensions classes. Sections of a class at once; in a section by number
 *
 * Source of the last three: Faroux et al., Kaczmarz-inspired CUDA solvers, ETH Zurich (2024). */
typedef enum kaon_sweep_order {
  KAON_SWEEP_ROWS,
  KAON_SWEEP_PERMUTATION,
  KAON_SWEEP_RANDOM,
  KAON_SWEEP_COLOURS,
  KAON_SWEEP_GROUPS,
  KAON_SWEEP_STRIDES,
  KAON_SWEEP_SECTIONS
} kaon_sweep_order;

/** Which rows form a block of CARP. Blocks have equally many rows, within one, and run through them
 * by number.
 *
 * - NEAR: rows that have columns in common, so that few unknowns have copies. The pattern is halved
 *   along a breadth-first search, and the halves again
 * - CONSECUTIVE: consecutive numbers
 *
 * With order PERMUTATION: rows that follow one another there, whatever this says. */
typedef enum kaon_carp_rows { KAON_CARP_NEAR, KAON_CARP_CONSECUTIVE } kaon_carp_rows;

/** Options of row projections. */
typedef struct kaon_kaczmarz_options {
  size_t size;
  int version;
  kaon_kaczmarz_kind kind;
  kaon_sweep_order order;
  double lambda; /**< relaxation, above 0 and below 2 (CIMMINO, CARP of one row a block: below 1e3).
                      0: automatic. This is 1, except for two kinds. CIMMINO: 1.8 over the
                      largest eigenvalue of A^H D^-1 A, from 30 steps of the power method; it
                      converges below 2 over this eigenvalue. CARP of one row a block: the same of
                      S^-1 A^H D^-1 A, with S the copies of each unknown */
  int blocks;    /**< CARP: equal in rows, within one. 0: of 128 rows each */
  int colour;    /**< CARP. 1: rows of a block by colour, so that a device projects many at once */
  int groups;    /**< GROUPS. 0: as many as possible */
  uint64_t seed; /**< RANDOM */
  const int32_t *permutation; /**< PERMUTATION: this matrix' rows in the caller's numbers, each
                                   once */
  const double *coordinates;  /**< SECTIONS: [row * dimensions + d], rows in the caller's order */
  int dimensions;             /**< SECTIONS: 1 to 3 */
  kaon_carp_rows block_rows;  /**< CARP, except with PERMUTATION */
} kaon_kaczmarz_options;
/** Defaults. */
#define KAON_KACZMARZ_OPTIONS_INIT                                                            \
  {                                                                                           \
    sizeof(kaon_kaczmarz_options), KAON_OPTIONS_VERSION(KAON_OPTIONS_KACZMARZ, 1),            \
        KAON_KACZMARZ_DOUBLE, KAON_SWEEP_ROWS, 0.0, 0, 0, 0, 1, NULL, NULL, 0, KAON_CARP_NEAR \
  }

/** Creates the reduction (1 - Q) x = R b of A x = b, where sweeps turn x into Q x + R b. A solver
 * that was made on it takes b and x of A's space, stops on |b - A x| / |b| and reports that.
 *
 * The reduction is Hermitian and positive semidefinite whatever A is (except for SWEEP), and
 * singular if A is. A comes from kaon_matrix_operator() and is retained. `options` NULL: the
 * defaults. Collective. Errors: ARGUMENT (an option; not a permutation), SINGULAR (a row of zeros,
 * with the caller's number), NOT_FINITE (the norm of a row overflows), UNSUPPORTED (A is no matrix;
 * several ranks, except for CIMMINO with a lambda), NOT_BUILT, MEMORY. */
KAON_API kaon_status kaon_kaczmarz_reduce(kaon_operator *A, const kaon_kaczmarz_options *options,
                                          kaon_operator **reduced);
/** Creates a preconditioner K: `sweeps` sweeps of A x = r from x = 0. It is linear but not
 * Hermitian, for gcr and bicgstab. Its error propagation is that of the sweeps, so it can serve as
 * a smoother. Collective. Errors: those of kaon_kaczmarz_reduce(); ARGUMENT (sweeps below 1). */
KAON_API kaon_status kaon_kaczmarz_preconditioner(kaon_operator *A,
                                                  const kaon_kaczmarz_options *options, int sweeps,
                                                  kaon_operator **K);

/** What was made. */
typedef struct kaon_kaczmarz_info {
  size_t size;
  const kaon_kaczmarz_options *options; /**< with lambda, blocks and groups as chosen. Lives as long
                                             as the operator */
  int classes;                          /**< of rows or groups that run one after another */
  int64_t groups;                       /**< in all classes */
  double copies;                        /**< CARP: copies of an unknown, on average */
  double bytes;                         /**< least traffic of one single sweep over one column */
  double seconds;                       /**< that its creation took */
} kaon_kaczmarz_info;
/** Initial value. */
#define KAON_KACZMARZ_INFO_INIT KAON_SIZED(kaon_kaczmarz_info)
/** Describes an operator of the two functions above. Local. Errors: ARGUMENT. */
KAON_API kaon_status kaon_kaczmarz_describe(const kaon_operator *reduced, kaon_kaczmarz_info *info);
/** @} */

#ifdef __cplusplus
}
#endif
#endif
