/* solver.h - A x = b by Krylov methods, columns together, in mixed precision. */
#ifndef KAON_SOLVER_H
#define KAON_SOLVER_H

#include <kaon/operator.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kaon_solver kaon_solver;

typedef enum kaon_method {
  KAON_CG,       /* Hermitian positive definite A */
  KAON_CGNR,     /* general A: CG on A^dag A x = A^dag b */
  KAON_CGNE,     /* general A: CG on A A^dag y = b, x = A^dag y */
  KAON_BICGSTAB, /* general A */
  KAON_MR,       /* minimal residual; A with positive definite Hermitian part */
  KAON_GCR,      /* flexible GCR(k): its preconditioner may change from step to step */
  KAON_BLOCKCG,  /* Hermitian positive definite A; the columns share one Krylov space, 64 at most */
  KAON_BLOCKCGNR, /* general A: the same on A^dag A x = A^dag b */
  /* Sums over ranks hidden behind the operator, for more vectors and more work on them: */
  KAON_PIPECG,       /* Hermitian positive definite A; not in half precision */
  KAON_PIPECGNR,     /* general A: the same on A^dag A x = A^dag b */
  KAON_PIPEBICGSTAB, /* general A */
  KAON_BICG,         /* general A, with its adjoint; not in half precision */
  KAON_RBICGSTAB,    /* general A: sums hidden behind the preconditioner; not in half precision */
  KAON_GROPPCG,      /* Hermitian positive definite A: one sum hidden behind the preconditioner, one
                        behind the operator; not in half precision */
  KAON_CHRONGEAR,    /* Hermitian positive definite A: one sum a step, not hidden; not in half
                        precision */
  /* Relaxation (kaon/relax.h), none with a preconditioner or in half precision: */
  KAON_JACOBI,    /* operators that know their diagonal */
  KAON_GS,        /* operators that know their rows, as all below: Gauss-Seidel */
  KAON_SOR,       /* successive over-relaxation */
  KAON_TWO_STAGE, /* block Jacobi with Jacobi sweeps in the blocks */
  KAON_ASYNC,     /* the same, blocks at work at once and reading what the others have by then */
  KAON_RICHARDSON /* x += omega r; A whose 1 - omega A contracts, as reductions by sweeps do
                     (kaon/kaczmarz.h) */
} kaon_method;
/* 1: solvers of this method take a preconditioner; 0: they refuse one. */
int kaon_method_takes_preconditioner(kaon_method method);

/* Which residual the tolerance is for. FULL: of the system as posed, by the space of b: A's, or
 * that of the operator that A is a reduction of; REDUCED: of A, that the solver was made on
 * ("schur"); NORMAL: of A's normal equations, |A^dag (b - A x)| / |A^dag b|, with b reduced if A is
 * a reduction.
 */
typedef enum kaon_stop { KAON_STOP_FULL, KAON_STOP_REDUCED, KAON_STOP_NORMAL } kaon_stop;

typedef enum kaon_refinement {
  KAON_REFINE_RELIABLE, /* the Krylov process goes on across residual replacements */
  KAON_REFINE_RESTART   /* restarted iterative refinement */
} kaon_refinement;

typedef enum kaon_stop_reason {
  KAON_RUNNING,
  KAON_CONVERGED,
  KAON_MAX_ITERATIONS,
  KAON_STAGNATED,
  KAON_BREAKDOWN,
  KAON_DIVERGING, /* the chosen residual has grown to 1e8 times its first value */
  KAON_CANCELLED
} kaon_stop_reason;
/* "converged", "max-iterations", ... as in reports. */
const char *kaon_stop_reason_name(kaon_stop_reason reason);

/* Called by the solving thread when the host looks, for every step since its last look, iteration
 * by iteration and column by column, first with iteration 0; a column that waited (mixed precision)
 * may follow in a later look with lower iterations than others had. `residual` is the residual of
 * `column` that `stop` chose after `iteration` steps, as the recurrence knows it (tol = 0: the
 * recurrence's own, relative to its first). Return 0 to go on, else the solve is cancelled: columns
 * that are not done end with CANCELLED, x holds their last iterate, and it is not asked again. It
 * must not use the solver, nor anything else of its context: a device may be at work on the next
 * steps. */
typedef int kaon_monitor_fn(void *user, int iteration, int column, double residual);

typedef struct kaon_solver_options {
  size_t size;
  int version;
  kaon_method method;
  double tol; /* relative, in the sense of `stop`, up to 1; 0: a fixed number of steps is taken,
                 max_iterations (MR: `subspace` of them at most), and nothing is verified before the
                 end; columns end with MAX_ITERATIONS (CONVERGED where b = 0) */
  int max_iterations; /* per column */
  kaon_stop stop;
  kaon_precision sloppy;        /* precision of the inner process, or A's own where that is coarser.
                                   Solution and residuals are kept in double where A has a twin in
                                   double and tol > 0, else in A's own precision */
  kaon_reconstruct reconstruct; /* of the sloppy operator's links, where it is another than A */
  kaon_refinement refinement;
  double delta; /* replace the residual once it is below delta times its largest value since the
                   last time, 0 to 1; a positive delta is kept. 0: begins by a rule of method and
                   inner precision and, with RELIABLE (but in GCR, whose cycles replace), follows
                   the drift that replacements find, between 0.01 and 0.5; without mixing: no
                   replacement but in the pipelined methods, which keep the rule's */
  int check_interval; /* steps between looks of the host, 1 to 256: 256 is cut to 255, GCR looks at
                         the end of a cycle at the latest, and where steps are slow the host looks
                         after 0.2 s. A device that repeats recorded blocks of steps is looked at
                         every 10 ms where that is longer. Results do not depend on it */
  int subspace;       /* GCR: k; MR as preconditioner: steps */
  double relaxation;  /* MR, RICHARDSON: omega */
  kaon_operator *preconditioner; /* K ~ A^-1 or NULL, of A's space; for CG, PIPECG, GROPPCG,
                                    CHRONGEAR (where K is Hermitian positive definite, as A), BICG
                                    (with K^dag), and on the right for BICGSTAB, RBICGSTAB,
                                    PIPEBICGSTAB, GCR. Linear and the same in each step but for GCR
                                    and, with care, BICGSTAB. In any precision: in a coarser one
                                    than the inner process vectors are converted; of a finer one a
                                    twin is made where it offers one (else they are converted;
                                    always for GCR). Kept alive by the caller */
  kaon_monitor_fn *monitor;
  void *monitor_user;
  const struct kaon_relax_options *relax; /* of JACOBI to ASYNC (kaon/relax.h); NULL: the defaults;
                                             copied */
  int deflation;  /* CG, CGNR in two precisions, RELIABLE: so many pairs of vectors of a column are
                     kept, up to 24, whose smallest Ritz vectors rounding does not bring back. Near
                     criticality a process in half then takes about the steps of one in double.
                     Takes 2 vectors in the sloppy precision a pair, and 2 and 2 in the outer one
                     besides; from step 48 on the residual is replaced every 48 steps at least, from
                     step 192 on they are used. 0: none; -1: where steps are not recorded (on
                     processors) 16, or as many from 8 on as take no more than deflation_limit and
                     what is free, else none: bits then hang on that, and so on how many columns are
                     solved together. With a preconditioner only of half. A device asked for them
                     repeats blocks of steps and waits for the host at each service */
  int as_printed; /* RBICGSTAB: 1: rho as the paper prints it, by a product that rounding spoils; 0:
                     from one sum more in the same message */
  double deflation_limit; /* of deflation -1: the most bytes it may take on any rank */
} kaon_solver_options;
#define KAON_SOLVER_OPTIONS_INIT                                                                 \
  {                                                                                              \
    sizeof(kaon_solver_options), 1, KAON_CGNR, 1e-10, 10000, KAON_STOP_FULL, KAON_DOUBLE,        \
        KAON_RECONSTRUCT_18, KAON_REFINE_RELIABLE, 0.0, 10, 16, 1.0, NULL, NULL, NULL, NULL, -1, \
        0, 2147483648.0                                                                          \
  }

/* What a column that ended with BREAKDOWN broke down at, the last time. */
typedef enum kaon_breakdown {
  KAON_BREAKDOWN_NONE,
  KAON_BREAKDOWN_ZERO,          /* a denominator of the recurrence is 0 to rounding */
  KAON_BREAKDOWN_NOT_FINITE,    /* NaN or infinity came out of A, the preconditioner or a product */
  KAON_BREAKDOWN_OPERATOR,      /* (p, A p) <= 0: A is not Hermitian positive definite */
  KAON_BREAKDOWN_PRECONDITIONER /* (r, K r) <= 0: K is not Hermitian positive definite */
} kaon_breakdown;
/* A sentence without a full stop; "" for NONE. */
const char *kaon_breakdown_text(kaon_breakdown breakdown);

typedef struct kaon_column_report {
  int iterations; /* BLOCKCG, BLOCKCGNR: until its own residual had converged; the column goes on
                     with the others until all have */
  int updates;    /* residual replacements or restarts */
  kaon_stop_reason reason;
  double residual; /* |b - A x| / |b| of the system as posed, recomputed in the outer precision:
                      double where A has a twin in it and tol > 0, else A's. b = 0: 0 */
  double stop_residual;     /* the one that `stop` chose, likewise; CONVERGED: at most 1.1 tol */
  kaon_breakdown breakdown; /* reason BREAKDOWN: at what, else NONE */
  int rounded; /* reason STAGNATED: 1: the tolerance was met, but not by x in A's precision */
} kaon_column_report;

typedef struct kaon_solve_report {
  double seconds;       /* wall time of the solve */
  double flops;         /* by the operators' cost, all columns and ranks */
  int applications;     /* of the system operator, all columns together counted once */
  kaon_traffic traffic; /* where a device repeats steps: of those that the slowest column took */
  kaon_issue issue;     /* how steps were issued: what came of the context's option, never AUTO */
  int fused; /* 1: updates between two sums are one pass; where issue is SEPARATE only of pipelined
                and reordered methods, groppcg and chrongear */
} kaon_solve_report;

/* Makes the twins of A that mixed precision needs and all workspace for `columns` right-hand sides;
 * options NULL: the defaults. b and x are in A's precision. A and the preconditioner must outlive
 * the solver, which refers to both. *solver is NULL on failure. Collective. Sources of the methods:
 * the heads of solvers/. Errors: ARGUMENT (columns < 1, an option out of range), UNSUPPORTED (a
 * preconditioner with a method that takes none; A has no twin in the sloppy precision; pipecg,
 * groppcg, chrongear, bicg and rbicgstab, and preconditioned pipebicgstab, in half), SHAPE (the
 * preconditioner's space is not A's), STALE (where twins are made; else the solve says so), MEMORY,
 * NOT_BUILT; of the twins: UNITARITY, NOT_FINITE, SINGULAR. */
kaon_status kaon_solver_create(kaon_operator *A, int columns, const kaon_solver_options *options,
                               kaon_solver **solver);
/* Destroys it and sets *solver to NULL; NULL is allowed. */
void kaon_solver_destroy(kaon_solver **solver);

/* Solves A x = b for every column.
 *   b            unchanged; of A's space, or of the space of the operator that A is a reduction of;
 *                in A's precision, with the solver's columns
 *   x            in: the initial guess; out: the solution, or the last iterate. Like b; must not
 *                alias it. Columns with b = 0 become 0
 *   columns_out  one report a column, or NULL
 *   report       NULL allowed
 * Not converging is no error: see the reports' reasons; CANCELLED likewise. After an error x is
 * unspecified and nothing is reported. Floating-point exceptions are not trapped meanwhile, in
 * monitors and applications' operators neither; the caller's environment (fenv.h) is as before.
 * Columns of b in double that are too large or small for the precisions that the solve computes in
 * are solved times a power of 2, which takes memory for another b; reports are the same.
 * Collective. Errors: ARGUMENT, SHAPE, PRECISION, ALIAS, STALE, NOT_FINITE (b or x holds NaN or
 * infinity, or its norm overflows, or squares of b would be lost, or the solution is beyond
 * double), MEMORY, NOT_BUILT, UNSUPPORTED (the preconditioner's). */
kaon_status kaon_solver_solve(kaon_solver *solver, const kaon_vector *b, kaon_vector *x,
                              kaon_column_report *columns_out, kaon_solve_report *report);

/* history[0..*count-1]: relative recurrence residuals of `column` in the last solve, by iteration,
 * first = initial, as the monitor sees them. *count in: room (0: history may be NULL); out: how
 * many there are (which may be more). Not collective. Errors: ARGUMENT. */
kaon_status kaon_solver_history(const kaon_solver *solver, int column, double *history, int *count);

/* The solver as an operator of A's space and precision: y ~ A^-1 x, from a zero guess, never an
 * error when it does not converge; KAON_DAGGER with cg, chrongear, blockcg and pipecg alone. Where
 * A is a reduction of an operator M of the same space (kaczmarz.h; form NONE of operator.h), x and
 * y are M's, as in a solve: y ~ M^-1 x, and KAON_DAGGER is not offered. Its
 * vectors have the solver's columns. It refers to the solver, which must outlive it. A solver of
 * fixed steps (tol = 0) never waits for the host and calls no monitor. *inverse is NULL on failure.
 * Collective. Errors: ARGUMENT, MEMORY. */
kaon_status kaon_solver_as_operator(kaon_solver *solver, kaon_operator **inverse);

#ifdef __cplusplus
}
#endif
#endif
