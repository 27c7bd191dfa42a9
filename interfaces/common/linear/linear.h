/* linear.h - A x = b with a sparse matrix, as the command line poses it: matrix, right-hand sides,
 * preconditioner, method. Shared by solve, its --dry-run, info --matrix and bench krylov. */
#ifndef KAON_COMMON_LINEAR_H
#define KAON_COMMON_LINEAR_H

#include <kaon/relax.h>
#include <kaon/lab.h>
#include <kaon/precond.h>

#include "interfaces/common/solving.h"

#define LINEAR_METHODS METHOD_CHOICES "kaczmarz|cgmnc|carpcg|cimmino"
#define LINEAR_SWEEP_ORDERS "rows|random|colours|groups|strides|sections"
#define LINEAR_PRECONDS                                                                 \
  "none|jacobi|block-jacobi|dic|dilu|ssor|gs|ic0|ilu0|ainv|fsai|chebyshev|schwarz|sap|" \
  "jacobi-sweeps|gs-sweeps|sor-sweeps|two-stage|async|kaczmarz|kaczmarz-double|carp|cimmino"
#define LINEAR_PRECOND_CHOICES LINEAR_PRECONDS "|auto"
#define LINEAR_FAULTS "rows|block"
#define LINEAR_CARP_ROWS "near|consecutive"
#define LINEAR_FORMATS "auto|csr|ell|sell"
#define LINEAR_ORDERINGS "none|rcm"
#define LINEAR_PARTITIONS "blocks|metis|auto"
/* What --matrix takes, for messages and help. */
#define LINEAR_MATRIX                                                                              \
  "FILE.mtx[.gz]|laplace2d:N|laplace3d:N|laplace3d27:N|convdiff3d:N,PECLET|cavity3d:N|elasticity:" \
  "N|"                                                                                             \
  "trefethen:N|banded:N,B[,SEED]|fem:PROBLEM,DEGREE,LEVEL"

typedef enum linear_precond {
  PRECOND_NONE,
  PRECOND_JACOBI,
  PRECOND_BLOCK_JACOBI,
  PRECOND_DIC,
  PRECOND_DILU,
  PRECOND_SSOR,
  PRECOND_GS,
  PRECOND_IC0,
  PRECOND_ILU0,
  PRECOND_AINV,
  PRECOND_FSAI,
  PRECOND_CHEBYSHEV,
  PRECOND_SCHWARZ,
  PRECOND_SAP,
  PRECOND_JACOBI_SWEEPS, /* these five by relaxation */
  PRECOND_GS_SWEEPS,
  PRECOND_SOR_SWEEPS,
  PRECOND_TWO_STAGE,
  PRECOND_ASYNC,
  PRECOND_KACZMARZ, /* and these by row projections */
  PRECOND_KACZMARZ_DOUBLE,
  PRECOND_CARP,
  PRECOND_CIMMINO,
  PRECOND_AUTO /* kaon_precond_auto; linear_operator puts what that chose in its place */
} linear_precond;

/* Values of the options; their table rows are in linear_options.h. */
typedef struct linear_args {
  const char *matrix;
  const char *rhs; /* NULL: chosen automatically */
  int columns;
  uint64_t seed;
  int method; /* index into LINEAR_METHODS; -1: by the matrix */
  double tol;
  int max_iter;
  int precision, sloppy; /* kaon_precision; sloppy -1: as precision */
  int refinement;
  int format, ordering, partition;
  int window; /* 0: automatic */
  const char *set;
  int precond;                                                                  /* linear_precond */
  double precond_drop, precond_omega, precond_low, precond_high, precond_shift; /* NaN: not given */
  int precond_degree, precond_block, precond_sweeps, precond_fill, precond_power; /* 0: not given */
  int precond_order, precond_precision;             /* -1: not given */
  int schwarz_block, schwarz_steps, schwarz_cycles; /* 0: by the library's rule */
  double schwarz_relaxation;                        /* 0, NaN: not given */
  double relax_tau;                                 /* NaN: not given */
  int relax_colour, relax_block, relax_sweeps, relax_stride, relax_together; /* 0: not given */
  int relax_driver, relax_lag;                                               /* -1: not given */
  int relax_exchange, relax_rank_lag;                                        /* -1: not given */
  uint64_t relax_seed;
  int spectrum;
  int relax_absent; /* 1: the command has no options of relaxation */
  double lambda;    /* NaN: not given */
  int sweep_order;  /* of LINEAR_SWEEP_ORDERS; -1: not given */
  int carp_blocks;  /* 0: not given */
  int carp_rows;    /* of LINEAR_CARP_ROWS; -1: not given */
  const char *permutation;
  int shuffled;                  /* 1: memory estimate; any order stands in for --permutation */
  double fault_share, flip_rate; /* NaN: not given */
  int fault_kind;                /* of LINEAR_FAULTS; -1: not given */
  int fault_rank, fault_begin;   /* -1: not given */
  int fault_recovery, flip_begin, flip_end; /* 0: not given */
  int no_repair;
  uint64_t fault_seed;
  const char *null_space; /* none, constant or a file; NULL: none */
  int project_rhs;
} linear_args;

typedef enum linear_rhs { RHS_ONES, RHS_A_ONES, RHS_GENERATOR, RHS_FILE } linear_rhs;

typedef struct linear {
  kaon_context *ctx; /* not owned */
  const linear_args *args;
  linear_args chosen; /* `args` points here once --precond auto has chosen */
  char why[200];      /* and what decided; "": nothing was chosen */
  kaon_matrix *matrix;
  kaon_matrix_info info;
  kaon_matrix_distribution shares;
  linear_rhs rhs;
  double *own;           /* right-hand side of the generator, or NULL */
  kaon_operator *A;      /* in the precision of the solution */
  kaon_operator *K;      /* the preconditioner, or NULL */
  kaon_operator *S;      /* A in the precision of the sweeps. NULL: that is A's own */
  kaon_solver *smoother; /* the relaxation solver inside K, or NULL */
  int smoothed;          /* its number of columns */
  kaon_operator *R;      /* the reduction that a method of row projections solves, or NULL */
  int projections;       /* kaon_kaczmarz_kind of the method. -1: another method */
  double lambda_most;    /* limit of convergence if --lambda exceeds it, else 0 */
  int32_t *permutation;  /* of --permutation, or NULL */
  kaon_solver_options options;
  kaon_solver *solver;
  kaon_precision precision;
  double made[2];           /* seconds of creation: operator and preconditioner; last solver */
  kaon_relax_options relax; /* of the method or of the preconditioner */
  kaon_lab_relax_options lab;
  kaon_relax_options smoother_relax; /* of the preconditioner, without faults */
  kaon_lab_relax_options smoother_lab;
  kaon_fault_options faults;
  int64_t flips;          /* of the last solve, all ranks */
  kaon_spectrum spectrum; /* with --spectrum */
  int diverges;           /* relaxation is predicted to diverge */
  int indefinite;         /* 1: no damping helps, because A is not positive definite */
  solving_trials trials;  /* of a program, after the method had failed */
  kaon_consistency found; /* of the column with the largest `unreachable`, after a failure */
} linear;

/* Refuses what can be refused without the matrix. Fills the members of *l that are not pointers to
 * objects. Exit status. */
int linear_check(const linear_args *args, linear *l);
/* The stages of a system:
 *   linear_matrix    reads the matrix and its statistics
 *   linear_decide    chooses method and right-hand side if they depend on the matrix, and refuses
 *                    what does not suit it. With --precond auto the method may still change
 *   linear_operator  creates operator and preconditioner
 *   linear_solver    creates a solver for `columns`
 * Exit statuses. Call linear_close after success and after failure. */
int linear_matrix(kaon_context *ctx, linear *l);
int linear_decide(linear *l);
int linear_operator(linear *l);
int linear_solver(linear *l, int columns);
/* Puts none in place of --precond auto where --method takes no preconditioner. */
void linear_settle(linear_args *args);
/* Chooses entry `index` of LINEAR_METHODS, which begins with the values of kaon_method. The functions
 * below give its name and title, and whether the matrix suits it. */
void linear_choose(linear *l, int index);
const char *linear_method_name(const linear *l);
const char *linear_method_title(const linear *l);
int linear_fits(const linear *l);
/* Destroys solver, preconditioner and operator; the matrix stays. */
void linear_clear(linear *l);
/* Fills b. Column 0 is that of --rhs; a file gives as many columns as it has. The others are
 * uniform in [-1, 1], and depend on seed, column and row alone. Exit status. */
int linear_source(const linear *l, kaon_vector *b);
/* Columns of values from a Matrix Market file. The caller sets the first five members. */
typedef struct linear_file {
  const char *option, *path; /* the option and its file */
  const char *is;            /* what the file holds, for messages: "a b" */
  const char *real;          /* advice if the file is complex and the matrix real */
  int64_t most;              /* maximum number of columns. 0: --columns */
  int64_t rows, columns;     /* of the file */
  int parts;                 /* of its numbers: 1 real, 2 complex */
  double *numbers;           /* all of them, on every rank; to be released by free() */
} linear_file;
/* Refuses a number of rows that differs from the matrix', complex values for a real matrix, and
 * more columns than file->most. Exit status. */
int linear_file_read(const linear *l, linear_file *file);
/* Copies this rank's rows of a column in the order that kaon_vector_import takes. */
void linear_file_column(const linear *l, const linear_file *file, int column, double *numbers);
/* Refuses a missing file. `takes`: what the option takes, for the message. Exit status. */
int linear_readable(const char *path, const char *option, const char *takes);
void linear_close(linear *l);

/* --- linear_null.c: singular matrices --- */
/* Gives the matrix its --null-space. Exit status. */
int null_space_set(const linear *l);
/* 1: there is a --null-space. file: its file, or NULL. */
int null_space_given(const linear_args *args);
const char *null_space_file(const linear_args *args);
/* --project-rhs. removed[column]: size over |b| of the part removed from b; 0 without the option.
 * Exit status. */
int null_space_project(const linear *l, kaon_vector *b, double *removed);
/* Checks whether columns did not converge because b is inconsistent. Sets `unreachable` where that
 * keeps them above --tol, and 0 elsewhere. Fills l->found, for advice. Exit status. */
int null_space_examine(linear *l, const kaon_vector *b, const kaon_vector *x,
                       kaon_column_report *solves);
/* What to do about a column with `unreachable`. */
const char *null_space_inconsistent(const linear *l, const kaon_column_report *worst);

/* 1 if `text` names a file rather than a generator. */
int linear_is_file(const char *text);
/* The right-hand side in a word ("ones"), or the file's name. */
const char *linear_rhs_text(const linear *l);
/* Prints the statistics; returns them as JSON, which the caller owns. */
void linear_print(const cli_common *common, const linear *l);
json_t *linear_describe(const linear *l);
/* Adds what another run needs to repeat it: method, preconditioner, precisions, storage. */
void linear_add(const linear *l, json_t *report);
/* The system as the library's table of remedies sees it; the reason is still missing. */
kaon_failure linear_failure(const linear *l, char precond[32]);
/* For solving_explain; user: a linear. */
advice_fn linear_advice;

/* --- linear_relax.c --- */
int relax_is(kaon_method method);
/* Sets the defaults for commands without options of relaxation. */
void relax_defaults(linear_args *args);
/* The relaxation method in use, as method or as preconditioner. -1: none. */
int relax_used(const linear *l);
/* Refuses options that neither method nor preconditioner uses. Fills l->relax and l->faults. Exit
 * status. */
int relax_check(const linear_args *args, linear *l);
/* What was chosen, for reports. */
json_t *relax_options_describe(const kaon_relax_options *options, const kaon_relax_report *report);
/* Estimates the spectrum (--spectrum) and warns of methods that will not converge. Without the
 * option a short estimate only warns. Exit status. */
int relax_spectrum(linear *l);
json_t *spectrum_describe(const kaon_spectrum *spectrum);
/* "at least" if the radii are lower bounds, else "about". */
const char *spectrum_how(const kaon_spectrum *spectrum);
void spectrum_print(const cli_common *common, const kaon_spectrum *spectrum);
/* Print or describe the last solve. Other methods: nothing, or null. */
void relax_print(const cli_common *common, const linear *l);
json_t *relax_describe(const linear *l);
/* {"shift": reads} of a histogram of kaon_relax_report. */
json_t *relax_shifts_describe(const int64_t count[2 * KAON_RELAX_SHIFTS + 1]);
const char *relax_exchange_name(kaon_relax_exchange exchange);

/* --- linear_faults.c: lost rows and bit flips (kaon_fault_options) --- */
/* Fills `options` from the fault options; refuses what has no effect. Exit status. */
int faults_options(const linear_args *args, kaon_fault_options *options);
/* The same for l->faults, and l->lab.faults where there are faults and the method supports them.
 * Exit status. */
int faults_check(const linear_args *args, linear *l);
/* Adds up the flips of all ranks in l->flips. Call it after a solve. Collective. */
kaon_status faults_count(linear *l);
/* Prints which faults were injected, found and repaired; the same as JSON, null without faults. */
void faults_print(const cli_common *common, const linear *l, const kaon_relax_report *report);
json_t *faults_describe(const linear *l, const kaon_relax_report *report);
/* Explains how faults keep a solve from ending. "": they do not. */
const char *faults_advice(const linear *l);

/* --- linear_projections.c: methods and preconditioners of row projections (kaon/relax.h) --- */
/* The kind of projections in use, as method or as preconditioner (kaon_kaczmarz_kind). -1: none. */
int projections_used(const linear *l);
/* Refuses options that neither method nor preconditioner uses. Exit status. */
int projections_check(const linear_args *args, const linear *l);
/* Refuses two orders of rows at once. Exit status. */
int projections_orders(const linear_args *a, int kind);
/* Reads --permutation; the number of rows must be known. Exit status. */
int projections_order(linear *l);
/* Create l->R from l->A, and l->K from A. */
kaon_status projections_make(linear *l);
kaon_status projections_precondition(linear *l, kaon_operator *A, int sweeps);
/* Print R or K in one line, or describe it as JSON (null: another operator). */
void projections_print(const cli_common *common, const kaon_operator *made);
json_t *projections_describe(const linear *l, const kaon_operator *made);

/* --- linear_permutation.c --- */
/* Reads order[n]: the row, from 0, that comes n-th. The caller frees it. A message names the line
 * that is wrong. Exit status. */
int permutation_read(const char *path, const char *matrix, int64_t rows, int32_t **order);
/* Draws an order that permutation_read could have given. Exit status. */
int permutation_draw(int64_t rows, int32_t **order);

/* --- linear_precond.c --- */
/* Refuses options that the chosen preconditioner does not use, and a method that cannot take it.
 * Exit status. */
int precond_check(const linear *l);
/* Refuses options that none of `preconds` (a bit each) uses. Exit status. */
int precond_idle(const linear_args *args, unsigned preconds);
/* 1: the preconditioner changes from application to application, so only gcr takes it. */
int precond_varies(const linear_args *args);
/* 1: the preconditioner is not Hermitian even if A is. */
int precond_skews(const linear_args *args);
/* Refuses a preconditioner that the method cannot use. Exit status. */
int precond_suits(const linear *l);
/* 1 if the method can use it. Prints nothing. */
int precond_takes(const linear *l);
/* Names another preconditioner, with the defaults of its options. */
void precond_replace(linear_args *args, const char *name);
/* --precond auto: chooses, and creates l->K. Exit status. */
int precond_choose(linear *l);
/* Refuses a missing or zero diagonal entry, by its row, for preconditioners that divide by it. */
int precond_fits(const linear *l);
/* Create l->K, for l->args->columns columns or for another number. */
kaon_status precond_make(linear *l);
kaon_status precond_columns(linear *l, int columns);
kaon_precision precond_precision(const linear *l);
/* ", preconditioned by ..." or "". */
const char *precond_text(const linear *l, char text[96]);
/* Prints entries, levels and colours of the preconditioner, where it has them. */
void precond_print(const cli_common *common, const linear *l);
/* What was used, or null. */
json_t *precond_describe(const linear *l);

/* --- linear_sweeps.c: preconditioners of a few sweeps, by relaxation or projections --- */
/* The kaon_method or the kaon_kaczmarz_kind of such a preconditioner. -1: it is another one. */
int sweeps_method(int precond);
int sweeps_kind(int precond);
int sweeps_count(const linear_args *args);
/* "3 sweeps of Jacobi" */
const char *sweeps_text(const linear_args *args, char text[64]);
kaon_status sweeps_make(linear *l, int columns);
void sweeps_clear(linear *l);
json_t *sweeps_describe(const linear *l);

#endif
