/* linear.h - A x = b with a sparse matrix, as the command line poses it: matrix, right-hand sides,
 * preconditioner, method. Shared by solve, its --dry-run, info --matrix and bench krylov. */
#ifndef KAON_CLI_LINEAR_H
#define KAON_CLI_LINEAR_H

#include <kaon/kaczmarz.h>
#include <kaon/precond.h>
#include <kaon/relax.h>
#include <kaon/schwarz.h>
#include <kaon/sparse_precond.h>

#include "solving.h"

#define LINEAR_METHODS                                                               \
  "cg|pipecg|groppcg|bicg|bicgstab|rbicgstab|pipebicgstab|gcr|cgnr|cgne|mr|blockcg|" \
  "jacobi|gs|sor|two-stage|async|kaczmarz|cgmnc|carpcg|cimmino"
#define LINEAR_SWEEP_ORDERS "rows|random|colours|groups|strides|sections"
#define LINEAR_PRECONDS \
  "none|jacobi|block-jacobi|dic|dilu|ssor|gs|ic0|ilu0|ainv|chebyshev|schwarz|sap"
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
  PRECOND_CHEBYSHEV,
  PRECOND_SCHWARZ,
  PRECOND_SAP
} linear_precond;

/* What the options fill; tables refer to it by LINEAR_OPTIONS. */
typedef struct linear_args {
  const char *matrix;
  const char *rhs; /* NULL: by rule */
  int columns;
  uint64_t seed;
  int method; /* index into LINEAR_METHODS; -1: by the matrix */
  double tol;
  int max_iter;
  int precision, sloppy; /* kaon_precision; sloppy -1: as precision */
  int refinement;
  int format, ordering, partition;
  int window; /* 0: by rule */
  const char *set;
  int precond;                                                                  /* linear_precond */
  double precond_drop, precond_omega, precond_low, precond_high, precond_shift; /* NaN: not given */
  int precond_degree, precond_block, precond_sweeps, precond_fill;              /* 0: not given */
  int precond_order, precond_precision;                                         /* -1: not given */
  int schwarz_block, schwarz_steps, schwarz_cycles; /* 0: by the library's rule */
  double schwarz_relaxation;                        /* 0, NaN: not given */
  double relax_tau;                                 /* NaN: not given */
  int relax_colour, relax_block, relax_sweeps, relax_stride, relax_together; /* 0: not given */
  int relax_driver, relax_lag;                                               /* -1: not given */
  int relax_exchange, relax_rank_lag;                                        /* -1: not given */
  uint64_t relax_seed;
  int spectrum;
  int relax_absent; /* 1: the command has none of these */
  double lambda;    /* NaN: not given */
  int sweep_order;  /* of LINEAR_SWEEP_ORDERS; -1: not given */
  int carp_blocks;  /* 0: not given */
} linear_args;

typedef enum linear_rhs { RHS_ONES, RHS_A_ONES, RHS_OWN, RHS_FILE } linear_rhs;

typedef struct linear {
  kaon_context *ctx; /* not owned */
  const linear_args *args;
  kaon_matrix *matrix;
  kaon_matrix_info info;
  kaon_matrix_shares shares;
  linear_rhs rhs;
  double *own;      /* what a generator brought, or NULL */
  kaon_operator *A; /* in the precision of the solution */
  kaon_operator *K; /* the preconditioner, or NULL */
  kaon_operator *R; /* what is solved in A's place by a method of projections, or NULL */
  int projections;  /* kaon_kaczmarz_kind of the method, -1: it is none of these */
  kaon_solver_options options;
  kaon_solver *solver;
  kaon_precision precision;
  kaon_relax_options relax;
  kaon_spectrum spectrum; /* where --spectrum asked for it */
} linear;

/* All that can be refused without the matrix. Fills the plain members of *l. Exit status. */
int linear_check(const linear_args *args, linear *l);
/* Matrix and its statistics; then what the matrix decides (method, right-hand side), and refusals
 * that go with it; then operator and preconditioner; then a solver for `columns` (one stage each).
 * Exit status; linear_close in any case. */
int linear_matrix(kaon_context *ctx, linear *l);
int linear_decide(linear *l);
int linear_operator(linear *l);
int linear_solver(linear *l, int columns);
/* Takes entry `index` of LINEAR_METHODS; its name and title; and whether the matrix is one for it.
 */
void linear_choose(linear *l, int index);
int linear_index(kaon_method method); /* of a method by itself */
const char *linear_method_name(const linear *l);
const char *linear_method_title(const linear *l);
int linear_fits(const linear *l);
/* Solver, preconditioner and operator alone: the matrix stays. */
void linear_clear(linear *l);
/* Every column of b: column 0 as --rhs says (a file's columns as far as they go), the others
 * uniform in [-1, 1] by seed, column and row, whatever the ranks. Exit status. */
int linear_source(const linear *l, kaon_vector *b);
void linear_close(linear *l);

/* 1 if `text` names a file rather than a generator. */
int linear_is_file(const char *text);
/* "ones", ... of the rule that was followed; a file's name. */
const char *linear_rhs_text(const linear *l);
/* The statistics in lines of text; as JSON (the caller's). */
void linear_print(const cli_common *common, const linear *l);
json_t *linear_describe(const linear *l);
/* What another run needs to repeat it: method, preconditioner, precisions, storage. */
void linear_add(const linear *l, json_t *report);
/* For solving_advise; user: a linear. */
remedy_fn linear_remedy;

/* --- relax.c --- */
int relax_is(kaon_method method);
/* Of commands that have no options of relaxation. */
void relax_defaults(linear_args *args);
/* Of options that the chosen method does not look at; fills l->relax. Exit status. */
int relax_check(const linear_args *args, linear *l);
/* --spectrum: estimates it, and warns of methods that will not converge; without it a short look
 * that warns alone. Exit status. */
int relax_spectrum(linear *l);
json_t *spectrum_describe(const kaon_spectrum *spectrum);
void spectrum_print(const cli_common *common, const kaon_spectrum *spectrum);
/* Of the last solve; null of other methods. */
void relax_print(const cli_common *common, const linear *l);
json_t *relax_describe(const linear *l);
/* {"shift": reads} of a histogram of kaon_relax_report. */
json_t *relax_shifts_describe(const int64_t count[2 * KAON_RELAX_SHIFTS + 1]);
const char *relax_exchange_name(kaon_relax_exchange exchange);
/* --- projections.c: methods of row projections (kaon/kaczmarz.h) --- */
/* Of options that the chosen method does not look at. Exit status. */
int projections_check(const linear_args *args, const linear *l);
/* l->R from l->A. */
kaon_status projections_make(linear *l);
/* What making it gave, in a line; as JSON, or null. */
void projections_print(const cli_common *common, const linear *l);
json_t *projections_describe(const linear *l);

/* --- precond.c --- */
/* Of options that the chosen preconditioner does not look at, and of a method that was asked for
 * and cannot take it. Exit status. */
int precond_check(const linear *l);
/* 1: its applications are not one linear operator, and gcr alone takes it. */
int precond_varies(const linear_args *args);
/* Refuses it under another method. Exit status. */
int precond_suits(const linear *l);
/* Refuses a diagonal without entries, or with 0, under what divides by it: by row. */
int precond_fits(const linear *l);
kaon_status precond_make(linear *l);
/* ", preconditioned by ..." or "". */
const char *precond_text(const linear *l, char text[96]);
/* What making it gave: entries, levels, colours; nothing for those without. */
void precond_print(const cli_common *common, const linear *l);
/* What was used, or null. */
json_t *precond_describe(const linear *l);

/* Rows of the option tables. AT(member): offset of a linear_args member in the command's arguments.
 */
#define LINEAR_OPTIONS_MATRIX(AT)                                                    \
  {CLI_TEXT,                                                                         \
   "matrix",                                                                         \
   "FILE.mtx|NAME",                                                                  \
   NULL,                                                                             \
   AT(matrix),                                                                       \
   0,                                                                                \
   0,                                                                                \
   "a Matrix Market file (also .gz), or laplace2d:N, laplace3d:N, laplace3d27:N, "   \
   "convdiff3d:N,PECLET, cavity3d:N, elasticity:N, trefethen:N, banded:N,B[,SEED], " \
   "fem:PROBLEM,DEGREE,LEVEL"},                                                      \
      {CLI_CHOICE,                                                                   \
       "format",                                                                     \
       LINEAR_FORMATS,                                                               \
       "auto",                                                                       \
       AT(format),                                                                   \
       0,                                                                            \
       0,                                                                            \
       "how rows are stored; auto: by their statistics, and it says which and why"}, \
      {CLI_CHOICE,                                                                   \
       "ordering",                                                                   \
       LINEAR_ORDERINGS,                                                             \
       "none",                                                                       \
       AT(ordering),                                                                 \
       0,                                                                            \
       0,                                                                            \
       "rcm: rows are in reverse Cuthill-McKee order; vectors stay in yours"},       \
      {CLI_CHOICE,                                                                   \
       "partition",                                                                  \
       LINEAR_PARTITIONS,                                                            \
       "blocks",                                                                     \
       AT(partition),                                                                \
       0,                                                                            \
       0,                                                                            \
       "which rank keeps which rows; metis: few entries between ranks"},             \
  {                                                                                  \
    CLI_INT, "window", "N", NULL, AT(window), 1, 1e9,                                \
        "rows that may change places for sell (default: by rule; 1: none)"           \
  }

#define LINEAR_OPTIONS_PRECOND(AT)                                               \
  {CLI_CHOICE,                                                                   \
   "precond",                                                                    \
   LINEAR_PRECONDS,                                                              \
   "none",                                                                       \
   AT(precond),                                                                  \
   0,                                                                            \
   0,                                                                            \
   "jacobi and block-jacobi scale; dic, dilu, ic0, ilu0 factorise; ssor and gs " \
   "sweep; ainv is an approximate inverse, chebyshev a polynomial in A; of "     \
   "--method gcr: approximate solves in blocks of rows, all at once (schwarz, "  \
   "which sends nothing) or by colours (sap)"},                                  \
      LINEAR_OPTIONS_PRECOND_FIGURES(AT), LINEAR_OPTIONS_SCHWARZ(AT)

/* bench has options of these names for lattices. */
#define LINEAR_OPTIONS_SCHWARZ(AT)                                                     \
  {CLI_INT,                                                                            \
   "schwarz-block",                                                                    \
   "N",                                                                                \
   NULL,                                                                               \
   AT(schwarz_block),                                                                  \
   1,                                                                                  \
   2147483647.0,                                                                       \
   "schwarz, sap: rows of a block (default: a block is all that a rank has)"},         \
      {CLI_INT,                                                                        \
       "schwarz-steps",                                                                \
       "N",                                                                            \
       NULL,                                                                           \
       AT(schwarz_steps),                                                              \
       1,                                                                              \
       1000,                                                                           \
       "minimal-residual steps in a block (default: schwarz 10, sap 4)"},              \
      {CLI_INT,                                                                        \
       "schwarz-cycles",                                                               \
       "N",                                                                            \
       NULL,                                                                           \
       AT(schwarz_cycles),                                                             \
       1,                                                                              \
       1000,                                                                           \
       "cycles over blocks (default: schwarz 1, sap 5)"},                              \
  {                                                                                    \
    CLI_REAL, "schwarz-relaxation", "OMEGA", NULL, AT(schwarz_relaxation), 1e-3, 1.99, \
        "factor of the step lengths in blocks (default 1)"                             \
  }

#define LINEAR_OPTIONS_PRECOND_FIGURES(AT)                                                     \
  {CLI_INT,                                                                                    \
   "precond-block",                                                                            \
   "N",                                                                                        \
   NULL,                                                                                       \
   AT(precond_block),                                                                          \
   1,                                                                                          \
   32,                                                                                         \
   "block-jacobi: rows of a block (default 4)"},                                               \
      {CLI_REAL,          "omega", "W",   NULL,                                                \
       AT(precond_omega), 1e-3,    1.999, "ssor, sor: relaxation (default 1)"},                \
      {CLI_REAL,                                                                               \
       "drop",                                                                                 \
       "TAU",                                                                                  \
       NULL,                                                                                   \
       AT(precond_drop),                                                                       \
       0,                                                                                      \
       1,                                                                                      \
       "ainv: entries below this are dropped, the diagonal being 1 (default 0.1)"},            \
      {CLI_INT,                                                                                \
       "fill",                                                                                 \
       "N",                                                                                    \
       NULL,                                                                                   \
       AT(precond_fill),                                                                       \
       1,                                                                                      \
       100000,                                                                                 \
       "ainv: at most so many entries a direction (default: no limit)"},                       \
      {CLI_CHOICE,                                                                             \
       "precond-order",                                                                        \
       "natural|colour",                                                                       \
       NULL,                                                                                   \
       AT(precond_order),                                                                      \
       0,                                                                                      \
       0,                                                                                      \
       "dic to ilu0, ssor: rows as --ordering has them, or by colours: few levels, so faster " \
       "sweeps on many cores, but more steps (default natural)"},                              \
      {CLI_INT,                                                                                \
       "sweeps",                                                                               \
       "N",                                                                                    \
       NULL,                                                                                   \
       AT(precond_sweeps),                                                                     \
       1,                                                                                      \
       100,                                                                                    \
       "dic to ilu0: solve triangles by so many Jacobi sweeps (default: exactly)"},            \
      {CLI_REAL,                                                                               \
       "shift",                                                                                \
       "S",                                                                                    \
       NULL,                                                                                   \
       AT(precond_shift),                                                                      \
       0,                                                                                      \
       1000,                                                                                   \
       "factors are those of A with its diagonal times 1 + S (default: 0, and after a "        \
       "breakdown 0.001, doubled up to 10 times)"},                                            \
      {CLI_INT,                                                                                \
       "degree",                                                                               \
       "N",                                                                                    \
       NULL,                                                                                   \
       AT(precond_degree),                                                                     \
       1,                                                                                      \
       64,                                                                                     \
       "chebyshev: products with A (default 4)"},                                              \
      {CLI_REAL,                                                                               \
       "low",                                                                                  \
       "L",                                                                                    \
       NULL,                                                                                   \
       AT(precond_low),                                                                        \
       0,                                                                                      \
       0,                                                                                      \
       "chebyshev: smallest eigenvalue of D^-1 A to damp, D its diagonal; goes with --high "   \
       "(default: both are estimated)"},                                                       \
      {CLI_REAL,         "high", "H", NULL,                                                    \
       AT(precond_high), 0,      0,   "chebyshev: the largest eigenvalue of D^-1 A"},          \
  {                                                                                            \
    CLI_CHOICE, "precond-precision", "double|single|half", NULL, AT(precond_precision), 0, 0,  \
        "of block-jacobi to ainv, schwarz, sap (default: that of --sloppy; half: 16 bits an "  \
        "entry)"                                                                               \
  }

#define RELAX_EXCHANGES "auto|amc|dc|dk|push|sync"
#define LINEAR_OPTIONS_RELAX(AT)                                                                   \
  {CLI_REAL,                                                                                       \
   "tau",                                                                                          \
   "T",                                                                                            \
   NULL,                                                                                           \
   AT(relax_tau),                                                                                  \
   0,                                                                                              \
   1000,                                                                                           \
   "jacobi, two-stage, async: factor of an update (default 1); 0: by the eigenvalues of D^-1 A"},  \
      {CLI_INT,         "block", "B",  NULL,                                                       \
       AT(relax_block), 1,       1024, "two-stage, async: rows of a block (default 448)"},         \
      {CLI_INT,                                                                                    \
       "local-sweeps",                                                                             \
       "K",                                                                                        \
       NULL,                                                                                       \
       AT(relax_sweeps),                                                                           \
       1,                                                                                          \
       1000,                                                                                       \
       "two-stage, async: Jacobi sweeps in a block an iteration (default 5)"},                     \
      {CLI_CHOICE,                                                                                 \
       "async-driver",                                                                             \
       "launch|free",                                                                              \
       NULL,                                                                                       \
       AT(relax_driver),                                                                           \
       0,                                                                                          \
       0,                                                                                          \
       "launch: each block once an iteration, in any order; free: blocks go on by themselves, "    \
       "without barriers (default launch)"},                                                       \
      {CLI_INT,       "lag",                                                                       \
       "N",           "-1",                                                                        \
       AT(relax_lag), -1,                                                                          \
       1000000,       "free: iterations that a block may be ahead of those it reads (default 2)"}, \
      {CLI_INT,                                                                                    \
       "stride",                                                                                   \
       "N",                                                                                        \
       NULL,                                                                                       \
       AT(relax_stride),                                                                           \
       1,                                                                                          \
       255,                                                                                        \
       "free, and exchanges: iterations between two residuals at most (default 128)"},             \
      {CLI_CHOICE,                                                                                 \
       "exchange",                                                                                 \
       RELAX_EXCHANGES,                                                                            \
       NULL,                                                                                       \
       AT(relax_exchange),                                                                         \
       0,                                                                                          \
       0,                                                                                          \
       "async on several ranks: others' rows as they arrive, through the host's memory (amc), by " \
       "copies (dc), read or written by the kernels (dk, push), or with residuals alone (sync); "  \
       "auto: sync, with free push or amc"},                                                       \
      {CLI_INT,                                                                                    \
       "rank-lag",                                                                                 \
       "N",                                                                                        \
       "-1",                                                                                       \
       AT(relax_rank_lag),                                                                         \
       -1,                                                                                         \
       1000000,                                                                                    \
       "async, exchanges: iterations that a block may be ahead of other ranks' that it reads "     \
       "(default: no bound)"},                                                                     \
      {CLI_INT,                                                                                    \
       "together",                                                                                 \
       "N",                                                                                        \
       NULL,                                                                                       \
       AT(relax_together),                                                                         \
       1,                                                                                          \
       1e9,                                                                                        \
       "blocks at work at once: on a CPU a thread reads for so many before it writes the first "   \
       "(default 1); on a GPU so many thread blocks take them in turn (default: all of them)"},    \
      {CLI_SEED,                                                                                   \
       "order-seed",                                                                               \
       "N",                                                                                        \
       NULL,                                                                                       \
       AT(relax_seed),                                                                             \
       0,                                                                                          \
       0,                                                                                          \
       "blocks begin in another order each iteration (default: as they stand)"},                   \
  {                                                                                                \
    CLI_FLAG, "spectrum", NULL, NULL, AT(spectrum), 0, 0,                                          \
        "estimate the spectral radii that decide whether relaxation converges, and warn (without " \
        "it jacobi, two-stage and async look shortly, in some 180 products, and warn alone)"       \
  }

#define LINEAR_OPTIONS_PROJECTIONS(AT)                                                           \
  {CLI_REAL,                                                                                     \
   "lambda",                                                                                     \
   "L",                                                                                          \
   NULL,                                                                                         \
   AT(lambda),                                                                                   \
   0,                                                                                            \
   1000,                                                                                         \
   "kaczmarz, cgmnc, carpcg, cimmino: relaxation of the projections (default 1; cimmino 0.35; "  \
   "0: by a rule of the matrix)"},                                                               \
      {CLI_FLAG,                                                                                 \
       "coloring",                                                                               \
       NULL,                                                                                     \
       NULL,                                                                                     \
       AT(relax_colour),                                                                         \
       0,                                                                                        \
       0,                                                                                        \
       "gs, sor, kaczmarz, cgmnc: rows by colours, those of a colour at once; carpcg: within "   \
       "blocks"},                                                                                \
      {CLI_CHOICE,                                                                               \
       "sweep-order",                                                                            \
       LINEAR_SWEEP_ORDERS,                                                                      \
       NULL,                                                                                     \
       AT(sweep_order),                                                                          \
       0,                                                                                        \
       0,                                                                                        \
       "kaczmarz, cgmnc: rows as --ordering has them, at random (--seed), or in classes worked " \
       "on at once: by colour, in groups of a banded matrix (S1), in strides (S2), in sections " \
       "of "                                                                                     \
       "space (of a NAME that has points)"},                                                     \
  {                                                                                              \
    CLI_INT, "carp-blocks", "N", NULL, AT(carp_blocks), 1, 2147483647.0,                         \
        "carpcg: blocks of rows with copies of their own (default: of 128 rows each)"            \
  }

#define LINEAR_OPTIONS_SOLVER(AT)                                                                  \
  {CLI_CHOICE,                                                                                     \
   "method",                                                                                       \
   LINEAR_METHODS,                                                                                 \
   NULL,                                                                                           \
   AT(method),                                                                                     \
   0,                                                                                              \
   0,                                                                                              \
   "default: gcr under --precond schwarz and sap, else cg where A = A^H, else bicgstab. cg, "      \
   "pipecg, groppcg and blockcg need a Hermitian "                                                 \
   "positive definite A; cgnr and cgne take any, on the normal equations; pipecg, groppcg, "       \
   "rbicgstab and pipebicgstab hide their sums over ranks; jacobi to async are relaxation; "       \
   "kaczmarz projects onto row after row, cgmnc, carpcg and cimmino do cg on such sweeps"},        \
      {CLI_REAL, "tol", "EPS", "1e-8",                                                             \
       AT(tol),  1e-16, 1,     "stop at this |b - A x| / |b|, without preconditioner"},            \
      {CLI_INT, "max-iter", "N", "10000", AT(max_iter), 1, 1e9, "steps allowed a column"},         \
      {CLI_CHOICE,                                                                                 \
       "precision",                                                                                \
       "double|single",                                                                            \
       "double",                                                                                   \
       AT(precision),                                                                              \
       0,                                                                                          \
       0,                                                                                          \
       "precision of the solution; residuals are recomputed in double"},                           \
      {CLI_CHOICE,                                                                                 \
       "sloppy",                                                                                   \
       "double|single|half",                                                                       \
       NULL,                                                                                       \
       AT(sloppy),                                                                                 \
       0,                                                                                          \
       0,                                                                                          \
       "precision of the inner iteration (default: that of --precision); half: 16 bits an entry, " \
       "vectors in single"},                                                                       \
      {CLI_CHOICE,                                                                                 \
       "refinement",                                                                               \
       "reliable|restart",                                                                         \
       "reliable",                                                                                 \
       AT(refinement),                                                                             \
       0,                                                                                          \
       0,                                                                                          \
       "how a coarser inner iteration is corrected: its residual replaced on the way, or "         \
       "restarted"},                                                                               \
  {                                                                                                \
    CLI_TEXT, "set", "KEY=VALUE,...", NULL, AT(set), 0, 0,                                         \
        "further solver options: delta, check_interval, subspace (of gcr), relaxation (of mr), "   \
        "as_printed (of rbicgstab)"                                                                \
  }

#endif
