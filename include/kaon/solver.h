/** @file solver.h
 * Solvers of A x = b by Krylov and relaxation methods, several columns together, in mixed
 * precision. */
#ifndef KAON_SOLVER_H
#define KAON_SOLVER_H

#include <kaon/operator.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A solver: a method, its operators in all precisions, and its workspace. */
typedef struct kaon_solver kaon_solver;

/** Methods. Sources: the heads of the files in solvers/methods/. */
typedef enum kaon_method {
  KAON_CG,        /**< Hermitian positive definite A */
  KAON_CGNR,      /**< any A: CG on A^dag A x = A^dag b */
  KAON_CGNE,      /**< any A: CG on A A^dag y = b, x = A^dag y */
  KAON_BICGSTAB,  /**< any A */
  KAON_MR,        /**< minimal residual; A with a positive definite Hermitian part */
  KAON_GCR,       /**< flexible GCR(k); its preconditioner may change from step to step */
  KAON_BLOCKCG,   /**< Hermitian positive definite A; up to 64 columns share one Krylov space */
  KAON_BLOCKCGNR, /**< any A: the same on A^dag A x = A^dag b */
  KAON_PIPECG,   /**< Hermitian positive definite A; sums over ranks hidden behind the operator, for
                      more vectors and more work on them. Not in half precision */
  KAON_PIPECGNR, /**< any A: the same on A^dag A x = A^dag b */
  KAON_PIPEBICGSTAB, /**< any A; sums hidden likewise */
  KAON_BICG,         /**< any A, with its adjoint. Not in half precision */
  KAON_RBICGSTAB,    /**< any A; sums hidden behind the preconditioner. Not in half precision */
  KAON_GROPPCG,   /**< Hermitian positive definite A; one sum hidden behind the preconditioner, one
                       behind the operator. Not in half precision */
  KAON_CHRONGEAR, /**< Hermitian positive definite A; one sum a step, not hidden. Not in half
                       precision */
  KAON_JACOBI,    /**< this and the next four: relaxation (kaon/relax.h), without a preconditioner,
                       not in half precision. Operators that know their diagonal */
  KAON_GS,        /**< Gauss-Seidel; this and the next three: operators that know their rows */
  KAON_SOR,       /**< successive over-relaxation */
  KAON_TWO_STAGE, /**< block Jacobi with Jacobi sweeps in the blocks */
  KAON_ASYNC,     /**< the same; blocks run at once and read what the others have written by then */
  KAON_RICHARDSON /**< x += omega r, for A whose 1 - omega A contracts, such as reductions by row
                       projections (kaon/relax.h) */
} kaon_method;
/** 1: the method takes a preconditioner. 0: it refuses one. Local. */
KAON_API int kaon_method_takes_preconditioner(kaon_method method);

/** Which residual the tolerance is for.
 *
 * - FULL: |b - A x| / |b| of the system as posed. The space of b tells which: A's, or that of the
 *   operator that A is a reduction of
 * - REDUCED: of A, which the solver was made on ("schur")
 * - NORMAL: of A's normal equations, |A^dag (b - A x)| / |A^dag b|, with the reduced b if A is a
 *   reduction */
typedef enum kaon_stop { KAON_STOP_FULL, KAON_STOP_REDUCED, KAON_STOP_NORMAL } kaon_stop;

/** How the error of the inner precision is corrected in the outer one. */
typedef enum kaon_refinement {
  KAON_REFINE_RELIABLE, /**< reliable updates: the Krylov process goes on when the residual is
                             replaced by a recomputed one */
  KAON_REFINE_RESTART   /**< iterative refinement: the process starts again */
} kaon_refinement;

/** Why a column ended. */
typedef enum kaon_stop_reason {
  KAON_RUNNING,        /**< not yet ended; never in a report of a solve */
  KAON_CONVERGED,      /**< the recomputed residual is at most 1.1 tol */
  KAON_MAX_ITERATIONS, /**< max_iterations were made */
  KAON_STAGNATED,      /**< the recomputed residual no longer falls, although tol is not reached */
  KAON_BREAKDOWN,      /**< the recurrence cannot go on; see kaon_breakdown */
  KAON_DIVERGING,      /**< the chosen residual is 1e8 times its first value */
  KAON_CANCELLED       /**< by the monitor */
} kaon_stop_reason;
/** Name as in reports: "converged", "max-iterations", ... Local. */
KAON_API const char *kaon_stop_reason_name(kaon_stop_reason reason);

/** Watches a solve. Called by the solving thread when the host polls the device.
 *
 * Each call is one step of one column, in order; the first has iteration 0. In mixed precision a
 * column may follow in a later poll with lower iterations than others had. `residual` is the one
 * that `stop` chose, as the recurrence knows it (tol = 0: relative to its first value).
 *
 * Return 0 to go on. Any other value cancels the solve: columns that are not done end with
 * CANCELLED, x has their last iterate, and there are no further calls. The function must not use
 * the solver or anything else of its context, because the device may be working on the next
 * steps. */
typedef int kaon_monitor_fn(void *user, int iteration, int column, double residual);

/** Options of a solver. */
typedef struct kaon_solver_options {
  size_t size;
  int version;
  kaon_method method;
  double tol; /**< relative residual to reach, up to 1. 0: run max_iterations steps (MR: at most
                   `subspace`) and verify nothing before the end; columns end with MAX_ITERATIONS,
                   or CONVERGED if b = 0 */
  int max_iterations; /**< of a column */
  kaon_stop stop;
  kaon_precision sloppy;        /**< precision of the inner process, or A's own if that is coarser.
                                     Solution and residuals are in double if A can be had in double
                                     and tol > 0, else in A's own precision */
  kaon_reconstruct reconstruct; /**< of the sloppy operator's links, unless the sloppy operator is
                                     A */
  kaon_refinement refinement;
  double delta; /**< replace the residual when it is below delta times its largest value since the
                     last replacement; 0 to 1. A positive delta is kept. 0: chosen from the method
                     and the inner precision. With RELIABLE it is then adapted to the drift that
                     each replacement finds, between 0.01 and 0.5 (not in GCR, which replaces at the
                     end of each cycle). Without mixed precision 0 means no replacement, except in
                     pipelined methods */
  int check_interval; /**< steps between polls of the host, 1 to 256 (256 counts as 255). GCR also
                           polls at the end of a cycle. Slow steps are polled after 0.2 s. A device
                           that repeats recorded steps is polled every 10 ms if that is longer.
                           Results do not depend on it */
  int subspace;       /**< GCR: directions k. MR as preconditioner: steps */
  double relaxation;  /**< MR, RICHARDSON: step factor omega */
  kaon_operator *preconditioner; /**< K ~ A^-1 on A's space, or NULL. See kaon_solver_create(). Kept
                                      alive by the caller */
  kaon_monitor_fn *monitor;      /**< NULL: none */
  void *monitor_user;            /**< passed to `monitor` */
  const struct kaon_relax_options *relax; /**< JACOBI to ASYNC (kaon/relax.h). NULL: the defaults.
                                               Copied */
  int deflation;  /**< CG and CGNR in two precisions with RELIABLE: pairs of vectors that are kept
                       for each column, up to 24. Their smallest Ritz vectors stay deflated. Near
                       criticality a process in half precision then needs about as many steps as
                       one in double. 0: none. -1: see kaon_solver_create() */
  int as_printed; /**< RBICGSTAB. 1: rho as printed in the paper, which loses accuracy by rounding.
                       0: from one more sum in the same message */
  double deflation_limit; /**< deflation = -1: most bytes that it may take on any rank */
} kaon_solver_options;
/** Defaults. */
#define KAON_SOLVER_OPTIONS_INIT                                                                 \
  {                                                                                              \
    sizeof(kaon_solver_options), 1, KAON_CGNR, 1e-10, 10000, KAON_STOP_FULL, KAON_DOUBLE,        \
        KAON_RECONSTRUCT_18, KAON_REFINE_RELIABLE, 0.0, 10, 16, 1.0, NULL, NULL, NULL, NULL, -1, \
        0, 2147483648.0                                                                          \
  }

/** What a column with reason BREAKDOWN broke down at, the last time. */
typedef enum kaon_breakdown {
  KAON_BREAKDOWN_NONE,
  KAON_BREAKDOWN_ZERO,          /**< a denominator of the recurrence is 0 to rounding */
  KAON_BREAKDOWN_NOT_FINITE,    /**< A, the preconditioner or a product gave NaN or infinity */
  KAON_BREAKDOWN_OPERATOR,      /**< (p, A p) <= 0: A is not Hermitian positive definite */
  KAON_BREAKDOWN_PRECONDITIONER /**< (r, K r) <= 0: K is not Hermitian positive definite */
} kaon_breakdown;
/** A sentence without a full stop. "" for NONE. Local. */
KAON_API const char *kaon_breakdown_text(kaon_breakdown breakdown);

/** Report of one column. Fixed size, because there is an array of them. */
typedef struct kaon_column_report {
  int iterations; /**< steps. BLOCKCG, BLOCKCGNR: until the column's own residual had converged; it
                       is updated until all columns have */
  int updates;    /**< residual replacements or restarts */
  kaon_stop_reason reason;
  double residual; /**< |b - A x| / |b| of the system as posed, recomputed in the outer precision. b
                        = 0: 0 */
  double stop_residual;     /**< the one that `stop` chose, likewise. CONVERGED: at most 1.1 tol */
  kaon_breakdown breakdown; /**< with reason BREAKDOWN */
  int rounded;     /**< with reason STAGNATED. 1: the solution met the tolerance before it was
                        rounded to A's precision */
  double spare[4]; /**< 0 */
} kaon_column_report;

/** Report of a solve. */
typedef struct kaon_solve_report {
  size_t size;
  double seconds;       /**< wall time */
  double flops;         /**< by the operators' cost, of all columns and ranks */
  int applications;     /**< of the system operator; all columns together count once */
  int issue;            /**< how steps were issued: a kaon_issue of kaon/lab.h, never AUTO */
  int fused;            /**< 1: all updates between two sums are one pass (kaon/lab.h) */
  kaon_traffic traffic; /**< of a device that repeats steps: for those of the slowest column */
} kaon_solve_report;
/** Initial value. */
#define KAON_SOLVE_REPORT_INIT KAON_SIZED(kaon_solve_report)

/** Creates a solver for `columns` right-hand sides: all workspace, and A in the precisions that are
 * needed. `options` NULL: the defaults. b and x are in A's precision. A and the preconditioner must
 * outlive the solver.
 *
 * *Preconditioner* K, on the space of A:
 *
 * - CG, PIPECG, GROPPCG, CHRONGEAR: K is Hermitian positive definite, as A
 * - BICG: also uses K^dag
 * - BICGSTAB, RBICGSTAB, PIPEBICGSTAB, GCR: on the right
 *
 * K is linear and the same in each step, except for GCR and, with care, BICGSTAB. It may have any
 * precision. If it is coarser than the inner process, vectors are converted. If it is finer, K is
 * made anew in the inner precision where it offers that; otherwise, and always for GCR, vectors are
 * converted.
 *
 * *Deflation* takes 2 vectors in the sloppy precision for each pair, and in addition 2 in the
 * sloppy and 2 in the outer precision. From step 48 on the residual is replaced at least every 48
 * steps; from step 192 on the vectors are used. A device with deflation repeats blocks of steps,
 * and waits for the host between them.
 *
 * `deflation` = -1 means 16 pairs on the CPU and none on a GPU. If 16 do not fit into
 * deflation_limit and the free memory, it means as many as fit, or none if that is fewer than 8.
 * Bits then depend on the number of columns that are solved together. With a preconditioner -1
 * deflates only in half precision.
 *
 * Collective. Errors: ARGUMENT (columns < 1, an option out of range); UNSUPPORTED (the method takes
 * no preconditioner; A does not offer the sloppy precision; a method that is not offered in half
 * precision, such as preconditioned PIPEBICGSTAB); SHAPE (K is of another space); STALE (or the
 * solve says so); MEMORY; NOT_BUILT; UNITARITY, NOT_FINITE, SINGULAR (of A in another
 * precision). */
KAON_API kaon_status kaon_solver_create(kaon_operator *A, int columns,
                                        const kaon_solver_options *options, kaon_solver **solver);
/** Destroys a solver. */
KAON_API void kaon_solver_destroy(kaon_solver **solver);

/** Solves A x = b for every column.
 *
 * - `b`: unchanged. Of A's space, or of the space of the operator that A is a reduction of; in A's
 *   precision, with the solver's columns
 * - `x`: like b. In: the initial guess. Out: the solution, or the last iterate. It must not alias
 *   b. Columns with b = 0 become 0
 * - `columns_out`: one report a column. NULL allowed
 * - `report`: NULL allowed
 *
 * A column that does not converge, or is cancelled, is no error: see its `reason`. After an error x
 * is unspecified, and nothing is reported.
 *
 * Floating-point exceptions are not trapped during the solve, also in monitors and in operators of
 * the application; afterwards the environment (fenv.h) is as before. Columns of b in double
 * precision that are too large or too small for the inner precision are scaled by a power of 2,
 * which takes memory for another b; reports are the same. Collective. Errors: ARGUMENT, SHAPE,
 * PRECISION, ALIAS, STALE, NOT_FINITE (b or x has NaN or infinity; the norm of b overflows, or its
 * squares underflow; the solution is beyond double), MEMORY, NOT_BUILT, UNSUPPORTED (from the
 * preconditioner). */
KAON_API kaon_status kaon_solver_solve(kaon_solver *solver, const kaon_vector *b, kaon_vector *x,
                                       kaon_column_report *columns_out, kaon_solve_report *report);

/** History of `column` in the last solve: `history[i]` is the relative residual of the recurrence
 * after i steps, as monitors see it. `*count` in: room (0: `history` may be NULL). Out: number of
 * values, which may exceed the room. Local. Errors: ARGUMENT. */
KAON_API kaon_status kaon_solver_history(const kaon_solver *solver, int column, double *history,
                                         int *count);

/** Makes an operator of a solver: y ~ A^-1 x from a zero guess, in A's space and precision, with
 * the solver's columns. Not converging is no error. The solver must outlive it.
 *
 * KAON_DAGGER is offered with cg, chrongear, blockcg and pipecg. If A is a reduction of an operator
 * M of the same space (row projections; form NONE of kaon_dirac_even_odd()), then y ~ M^-1 x,
 * without KAON_DAGGER. A solver of fixed steps (tol = 0) never waits for the host and calls no
 * monitor. Collective. Errors: ARGUMENT, MEMORY. */
KAON_API kaon_status kaon_solver_as_operator(kaon_solver *solver, kaon_operator **inverse);

#ifdef __cplusplus
}
#endif
#endif
