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
  KAON_GCR       /* flexible GCR(k), preconditioner allowed */
} kaon_method;

/* Which residual the tolerance is for. FULL: of the system as posed (the reduction's parent);
 * REDUCED: of the operator that the solver was made on ("schur"); NORMAL: of the normal equations,
 * |A^dag (b - A x)| / |A^dag b|. */
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
  KAON_DIVERGING,
  KAON_CANCELLED
} kaon_stop_reason;
/* "converged", "max-iterations", ... as in reports. */
const char *kaon_stop_reason_name(kaon_stop_reason reason);

/* Called between steps by the solving thread: `residual` is the relative residual of `column` after
 * `iteration` steps, as the recurrence knows it. Return 0 to go on, else the solve is cancelled (x
 * then holds the last iterate). */
typedef int kaon_monitor_fn(void *user, int iteration, int column, double residual);

typedef struct kaon_solver_options {
  size_t size;
  int version;
  kaon_method method;
  double tol;         /* relative, in the sense of `stop` */
  int max_iterations; /* per column */
  kaon_stop stop;
  kaon_precision sloppy;        /* precision of the inner process; the operator's own = no mixing */
  kaon_reconstruct reconstruct; /* of the sloppy operator's links */
  kaon_refinement refinement;
  double delta;       /* replace the residual when it fell by this factor since the last time */
  int check_interval; /* steps between looks of the host; results do not depend on it */
  int subspace;       /* GCR: k; MR as preconditioner: steps */
  double relaxation;  /* MR: omega */
  kaon_operator *preconditioner; /* GCR: right preconditioner in the sloppy precision or NULL; kept
                                    alive by the caller */
  kaon_monitor_fn *monitor;
  void *monitor_user;
} kaon_solver_options;
#define KAON_SOLVER_OPTIONS_INIT                                                          \
  {                                                                                       \
    sizeof(kaon_solver_options), 1, KAON_CGNR, 1e-10, 10000, KAON_STOP_FULL, KAON_DOUBLE, \
        KAON_RECONSTRUCT_18, KAON_REFINE_RELIABLE, 0.0, 10, 16, 1.0, NULL, NULL, NULL     \
  }

typedef struct kaon_column_report {
  int iterations;
  int updates; /* residual replacements or restarts */
  kaon_stop_reason reason;
  double residual;      /* |b - A x| / |b| of the full system, recomputed in double */
  double stop_residual; /* the one that `stop` chose, recomputed in double */
} kaon_column_report;

typedef struct kaon_solve_report {
  double seconds;   /* wall time of the solve */
  double flops;     /* by the operators' cost, all columns */
  int applications; /* of the system operator, all columns together counted once */
} kaon_solve_report;

/* Makes the sloppy operator and all workspace for `columns` right-hand sides; A must outlive the
 * solver. The operator's precision is the outer one. Collective. Errors: ARGUMENT, UNSUPPORTED,
 * MEMORY. */
kaon_status kaon_solver_create(kaon_operator *A, int columns, const kaon_solver_options *options,
                               kaon_solver **solver);
void kaon_solver_destroy(kaon_solver **solver);

/* Solves A x = b for every column; x holds the initial guess. b and x are of A's space, or of the
 * space of the operator that A is a reduction of. columns_out: one report a column, or NULL.
 * report: NULL allowed. b is unchanged, must not alias x. Not converging is no error: see the
 * reports' reasons; CANCELLED likewise. Collective. Errors: SHAPE, PRECISION, ALIAS, STALE,
 * NOT_FINITE (b holds NaN or infinity). */
kaon_status kaon_solver_solve(kaon_solver *solver, const kaon_vector *b, kaon_vector *x,
                              kaon_column_report *columns_out, kaon_solve_report *report);

/* history[0..*count-1]: relative recurrence residuals of `column` in the last solve, by iteration,
 * first = initial. *count in: room; out: how many there are (which may be more). */
kaon_status kaon_solver_history(const kaon_solver *solver, int column, double *history, int *count);

/* The solver as an operator: y ~ A^-1 x, from a zero guess, never an error when it does not
 * converge. Owns nothing; the solver must outlive it. A solver of fixed steps (tol = 0) never looks
 * at the host. */
kaon_status kaon_solver_as_operator(kaon_solver *solver, kaon_operator **inverse);

#ifdef __cplusplus
}
#endif
#endif
