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

/** All methods: X(value, descriptor, name, purpose). Values count from 0 in this order and never
 * change; new ones are appended. Sources: the heads of the files in solvers/methods/. */
#define KAON_METHOD_LIST(X)                                                                       \
  X(KAON_CG, cg, "cg", "Hermitian positive definite A")                                           \
  X(KAON_CGNR, cgnr, "cgnr", "any A, by CG on A^dag A x = A^dag b")                               \
  X(KAON_CGNE, cgne, "cgne", "any A, by CG on A A^dag y = b")                                     \
  X(KAON_BICGSTAB, bicgstab, "bicgstab", "any A")                                                 \
  X(KAON_MR, mr, "mr", "A with a positive definite Hermitian part")                               \
  X(KAON_GCR, gcr, "gcr", "any A, with a preconditioner that may change between steps")           \
  X(KAON_BLOCKCG, blockcg, "blockcg", "cg whose columns, up to 64, share one Krylov space")       \
  X(KAON_BLOCKCGNR, blockcgnr, "blockcgnr", "blockcg on A^dag A x = A^dag b")                     \
  X(KAON_PIPECG, pipecg, "pipecg", "cg whose sums over ranks overlap with A")                     \
  X(KAON_PIPECGNR, pipecgnr, "pipecgnr", "pipecg on A^dag A x = A^dag b")                         \
  X(KAON_PIPEBICGSTAB, pipebicgstab, "pipebicgstab", "bicgstab whose sums overlap with A")        \
  X(KAON_BICG, bicg, "bicg", "any A, with its adjoint")                                           \
  X(KAON_RBICGSTAB, rbicgstab, "rbicgstab", "bicgstab, sums overlap with the preconditioner")     \
  X(KAON_GROPPCG, groppcg, "groppcg", "cg, sums overlap with the preconditioner and with A")      \
  X(KAON_CHRONGEAR, chrongear, "chrongear", "cg with one sum a step")                             \
  X(KAON_JACOBI, jacobi, "jacobi", "Jacobi relaxation, of operators that know their diagonal")    \
  X(KAON_GS, gs, "gs", "Gauss-Seidel relaxation, of operators that know their rows")              \
  X(KAON_SOR, sor, "sor", "successive over-relaxation, of operators that know their rows")        \
  X(KAON_TWO_STAGE, two_stage, "two-stage", "block Jacobi with Jacobi sweeps in the blocks")      \
  X(KAON_ASYNC, async, "async", "two-stage, with blocks that do not wait for each other")         \
  X(KAON_RICHARDSON, richardson, "richardson", "x += omega r, for A whose 1 - omega A contracts") \
  X(KAON_FCG, fcg, "fcg", "cg with a preconditioner that may change between steps")

/** Methods: #KAON_METHOD_LIST. kaon_method_query() describes them. */
typedef enum kaon_method {
#define KAON_X(value, descriptor, name, purpose) value,
  KAON_METHOD_LIST(KAON_X)
#undef KAON_X
} kaon_method;

/** What a method needs and can do: bits of kaon_method_info.traits. */
typedef enum kaon_method_trait {
  KAON_METHOD_HERMITIAN = 1,      /**< A must be Hermitian positive definite */
  KAON_METHOD_PRECONDITIONED = 2, /**< takes a preconditioner K */
  KAON_METHOD_FLEXIBLE = 4,       /**< K may change from step to step */
  KAON_METHOD_ADJOINT = 8,        /**< applies A^dag, and K^dag if it takes K */
  KAON_METHOD_NORMAL = 16,        /**< works on A^dag A x = A^dag b, so it has A^dag r */
  KAON_METHOD_BLOCK = 32,         /**< columns share one space and end together */
  KAON_METHOD_NO_HALF = 64,       /**< not offered in half precision */
  KAON_METHOD_FUSED = 128,        /**< its updates are fused in all forms of kaon/lab.h */
  KAON_METHOD_STATIONARY = 256,   /**< converges only if its iteration matrix contracts */
  KAON_METHOD_RELAXATION = 512    /**< stationary, with the options of kaon/relax.h */
} kaon_method_trait;

/** Cost of a step: sums over ranks that are waited for, sums that overlap with products, and
 * vectors that updates read and write (0: not known). */
typedef struct kaon_method_cost {
  int sums, hidden_sums, read, written;
} kaon_method_cost;

/** Output of kaon_method_query(). */
typedef struct kaon_method_info {
  size_t size;
  const char *name;          /**< as options and reports have it: "pipecg" */
  const char *title;         /**< for sentences: "pipelined CG" */
  const char *purpose;       /**< what it is for, without a full stop */
  const char *option;        /**< the solver option that this method reads; NULL: none of its own */
  unsigned traits;           /**< bits of kaon_method_trait */
  kaon_method normal;        /**< its form for any A, on A^dag A; the method itself if none */
  int products;              /**< of A and A^dag in a step */
  int preconditions;         /**< of K and K^dag in a step */
  kaon_method_cost cost;     /**< without a preconditioner */
  kaon_method_cost with;     /**< with one, whose own cost is not counted */
  kaon_method_cost diagonal; /**< with one that is a diagonal and fused into the updates */
  int cycles; /**< 1: it restarts every k = `subspace` steps. On average a step then reads k + 1 / k
                   vectors more than `cost` says, and writes 1 / k more */
} kaon_method_info;
/** Initial value. */
#define KAON_METHOD_INFO_INIT KAON_SIZED(kaon_method_info)
/** Describes a method. Local. Errors: ARGUMENT (there is no such method). */
KAON_API kaon_status kaon_method_query(kaon_method method, kaon_method_info *info);

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
  kaon_operator *preconditioner;          /**< K ~ A^-1 on A's space, or NULL. Retained. See
                                      kaon_solver_create() */
  kaon_monitor_fn *monitor;               /**< NULL: none */
  void *monitor_user;                     /**< passed to `monitor` */
  const struct kaon_relax_options *relax; /**< JACOBI to ASYNC (kaon/relax.h). MR, RICHARDSON: only
                                               its tau. NULL: the defaults. Copied */
  int deflation; /**< CG and CGNR in two precisions with RELIABLE: pairs of vectors that are kept
                       for each column, up to 24. Their smallest Ritz vectors stay deflated. Near
                       criticality a process in half precision then needs about as many steps as
                       one in double. 0: none. -1: see kaon_solver_create() */
  double heavy_quark_tol; /**< the heavy-quark residual that a column must reach besides tol, at
                               most 1. With tol = 0 it is the only criterion. 0: not computed. See
                               kaon_solver_create() */
} kaon_solver_options;
/** Defaults. */
#define KAON_SOLVER_OPTIONS_INIT                                                                 \
  {                                                                                              \
    sizeof(kaon_solver_options), KAON_OPTIONS_VERSION(KAON_OPTIONS_SOLVER, 1), KAON_CGNR, 1e-10, \
        10000, KAON_STOP_FULL, KAON_DOUBLE, KAON_RECONSTRUCT_18, KAON_REFINE_RELIABLE, 0.0, 10,  \
        16, NULL, NULL, NULL, NULL, -1, 0.0                                                      \
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
  int rounded;        /**< with reason STAGNATED. 1: the solution met the tolerance before it was
                        rounded to A's precision */
  double unreachable; /**< size over |b| of the part of b that A x cannot reach: no residual is
                           smaller. 0 where not known (kaon_matrix_set_null_space()). If it
                           exceeds 1.1 tol, the column ends with STAGNATED before the first step
                           (unless `stop` is NORMAL) */
  double heavy_quark; /**< the heavy-quark residual when it was last verified. 0 without
                           heavy_quark_tol. CONVERGED: at most 1.1 heavy_quark_tol */
  double spare[2];    /**< 0 */
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

/** A process that ended without a solution, for kaon_remedies(). Fixed size. */
typedef struct kaon_failure {
  kaon_method method;
  const char *precond;      /**< its preconditioner's name, or "none" */
  kaon_precision sloppy;    /**< of the inner process */
  int hermitian;            /**< 1: A = A^H */
  int entries;              /**< 1: preconditioners can be made of A's entries (kaon/precond.h) */
  kaon_stop_reason reason;  /**< STAGNATED, BREAKDOWN or DIVERGING; others have no remedy */
  kaon_breakdown breakdown; /**< of a column report */
} kaon_failure;
/** What may get further. Fixed size, because there is an array of them. */
typedef struct kaon_remedy {
  kaon_method method;
  const char *precond; /**< as in a failure: "none", the failure's own, "ic0" or "ilu0" */
  kaon_precision sloppy;
} kaon_remedy;
/** Number of remedies at most. */
#define KAON_REMEDIES 8
/** Lists what may get further after a failure, most promising first: the table of
 * docs/choosing.md, "What messages mean". Returns how many there are. NULL: none. Local. */
KAON_API int kaon_remedies(const kaon_failure *failure, kaon_remedy remedies[KAON_REMEDIES]);

/** Creates a solver for `columns` right-hand sides: all workspace, and A in the precisions that are
 * needed. `options` NULL: the defaults. b and x are in A's precision. A and the preconditioner must
 * outlive the solver.
 *
 * *Preconditioner* K, on the space of A:
 *
 * - methods with KAON_METHOD_HERMITIAN: K is Hermitian positive definite, as A
 * - BICG: also uses K^dag
 * - BICGSTAB, RBICGSTAB, PIPEBICGSTAB, GCR: on the right
 *
 * K is linear and the same in each step, except with KAON_METHOD_FLEXIBLE and, with care, in
 * BICGSTAB. It may have any precision. If it is coarser than the inner process, vectors are
 * converted. If it is finer, K is made anew in the inner precision where it offers that; otherwise,
 * and always with KAON_METHOD_FLEXIBLE, vectors are converted.
 *
 * *Deflation* takes 2 vectors in the sloppy precision for each pair, and in addition 2 in the
 * sloppy and 2 in the outer precision. From step 48 on the residual is replaced at least every 48
 * steps; from step 192 on the vectors are used. A device with deflation repeats blocks of steps,
 * and waits for the host between them.
 *
 * `deflation` = -1 means 16 pairs on the CPU and none on a GPU. If 16 do not fit into
 * 2 GiB on a rank and the free memory, it means as many as fit, or none if that is fewer than 8.
 * Bits then depend on the number of columns that are solved together. With a preconditioner -1
 * deflates only in half precision.
 *
 * *Heavy-quark residual* (Fermilab): sqrt(mean over sites s of |r_s|^2 / |x_s|^2), r = b - A x. The
 * sites are those of the vectors, in five dimensions if these are, or the rows of a matrix. A site
 * with x_s = 0 counts as 1. With stop FULL it is that of the system as posed, with REDUCED that of
 * the reduced system. It is computed together with the true residual, at least each time
 * that the latter has fallen to a tenth. Stop NORMAL and relaxation methods do not offer it.
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
 * PRECISION, ALIAS, STALE, STATE (the solver is at work: its operator, preconditioner or monitor
 * calls it), NOT_FINITE (b or x has NaN or infinity; the norm of b overflows, or its squares
 * underflow; the solution is beyond its precision), MEMORY, NOT_BUILT, UNSUPPORTED (from the
 * preconditioner). */
KAON_API kaon_status kaon_solver_solve(kaon_solver *solver, const kaon_vector *b, kaon_vector *x,
                                       kaon_column_report *columns_out, kaon_solve_report *report);

/** History of `column` in the last solve: `history[i]` is the relative residual of the recurrence
 * after i steps, as monitors see it. `*count` in: room (0: `history` may be NULL). Out: number of
 * values, which may exceed the room. Local. Errors: ARGUMENT. */
KAON_API kaon_status kaon_solver_history(const kaon_solver *solver, int column, double *history,
                                         int *count);

/** Makes an operator of a solver: y ~ A^-1 x from a zero guess, in A's space and precision, with
 * the solver's columns. Not converging is no error. The solver is retained.
 *
 * KAON_DAGGER: y ~ A^-dagger x. The first such application makes a second solver, on
 * kaon_operator_adjoint() of A and of the preconditioner, with the same options. Methods with
 * KAON_METHOD_HERMITIAN need none. Relaxation methods do not offer it (UNSUPPORTED).
 *
 * If A is a reduction of an operator M of the same space (row projections; form NONE of
 * kaon_dirac_even_odd()), then y ~ M^-1 x, without KAON_DAGGER. A solver of fixed steps (tol = 0)
 * never waits for the host and calls no monitor. Collective. Errors: ARGUMENT, MEMORY. */
KAON_API kaon_status kaon_solver_as_operator(kaon_solver *solver, kaon_operator **inverse);

/** Largest number of solutions that kaon_forecast() takes. */
#define KAON_FORECAST_MOST 32
/** Makes a guess for A x = b from earlier solutions, of other sources or of A with other links
 * ("chronological" guess): column by column, their linear combination x with the least |b - A x|.
 *
 * - `solutions`: `n` vectors, 0 to #KAON_FORECAST_MOST, the newest first. They are unchanged. One
 *   that depends linearly on those before it is skipped. n = 0: x = 0
 * - b, x: b is unchanged, x overwritten; x is none of the others
 *
 * All are of A's space and precision with equal columns. Sums are in double. The cost is n
 * applications of A, n (n + 1) inner products and 2 n + 1 temporary vectors. A solver then
 * saves the steps that it takes from |b| to |b - A x|. Collective. Errors: ARGUMENT, SHAPE,
 * PRECISION, ALIAS, STALE, NOT_FINITE (a solution is not), MEMORY, NOT_BUILT. After an error x is
 * unspecified.
 *
 * Source: Brower, Ivanenko, Levi, Orginos, Nucl. Phys. B 484 (1997) 353, hep-lat/9509012. */
KAON_API kaon_status kaon_forecast(kaon_operator *A, int n, kaon_vector *const *solutions,
                                   const kaon_vector *b, kaon_vector *x);

#ifdef __cplusplus
}
#endif
#endif
