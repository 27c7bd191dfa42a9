/* bench_matrix.h - benchmarks on sparse matrices: their arguments and what they share. */
#ifndef KAON_BENCH_MATRIX_H
#define KAON_BENCH_MATRIX_H

#include "bench/bench.h"
#include "interfaces/common/options/linear_options.h"

typedef struct matrix_args {
  bench_args bench;
  cli_texts matrices;
  unsigned precision;                  /* bits: double, single, half; 0: automatic */
  unsigned formats, methods, preconds; /* bits: LINEAR_FORMATS, LINEAR_METHODS, LINEAR_PRECONDS */
  cli_counts columns;
  int outer;                /* double, single */
  linear_args linear;       /* what all rows share */
  const char *reduce_delay; /* or NULL */
  unsigned regimes;         /* bits: CLI_REGIMES; 0: automatic */
  double seconds;           /* that the solves of a row take at least, all together */
  const char *csv;
  cli_texts joined; /* files of earlier runs */
} matrix_args;

/* Rows of option tables, with offsets in a linear_args: how rows are stored; how solves go on. */
extern const cli_option matrix_storage_rows[], matrix_solve_rows[];
#define MATRIX_AT(member) offsetof(matrix_args, member)
#define MATRIX_LINEAR(member) (offsetof(matrix_args, linear) + offsetof(linear_args, member))
#define MATRIX_OPTION_MATRIX(usual)                                                              \
  {                                                                                              \
    CLI_TEXTS, "matrix", "FILE.mtx|NAME", NULL, MATRIX_AT(matrices), 0, 0,                       \
        "a Matrix Market file or a name that kaon solve takes (default: " usual "). Repeatable." \
  }
#define MATRIX_OPTION_TOL(preset, meaning) \
  { CLI_REAL, "tol", "EPS", preset, MATRIX_LINEAR(tol), 1e-16, 1, meaning }
#define MATRIX_OPTION_FORMAT                                             \
  {                                                                      \
    CLI_SET, "format", LINEAR_FORMATS, "auto", MATRIX_AT(formats), 0, 0, \
        "a list with commas: how rows are stored"                        \
  }
#define MATRIX_OPTION_COLUMNS                                        \
  {                                                                  \
    CLI_COUNTS, "columns", "N,...", "1", MATRIX_AT(columns), 1, 256, \
        "a list with commas: right-hand sides at once"               \
  }
#define MATRIX_OPTION_METHOD \
  { CLI_SET, "method", LINEAR_METHODS, "cg", MATRIX_AT(methods), 0, 0, "a list with commas" }
#define MATRIX_OPTION_PRECOND(usual, meaning) \
  { CLI_SET, "precond", LINEAR_PRECONDS, usual, MATRIX_AT(preconds), 0, 0, meaning }
#define MATRIX_OPTION_SECONDS(meaning) \
  { CLI_REAL, "seconds", "S", "5", MATRIX_AT(seconds), 1e-3, 3600, meaning }
#define MATRIX_OPTION_JOIN(meaning) \
  { CLI_TEXTS, "join", "FILE.json", NULL, MATRIX_AT(joined), 0, 0, meaning }

/* The arguments of a benchmark on matrices. */
static inline const matrix_args *matrix_of(const bench *b) {
  return (const matrix_args *)b->args;
}

/* Mark options of kaon solve that a benchmark does not have as not given, as relax_defaults does. */
void linear_without_preconds(linear_args *args);
void linear_without_projections(linear_args *args);

/* The fill of lattice_fill for a matrix' rows. */
kaon_status matrix_fill(const linear *l, kaon_vector *v);
/* Adds the members that every row about a matrix has. */
void matrix_describe(const linear *l, const char *words, json_t *row);
/* Calls `work` for every --matrix. Without one: for the names in `usual` (NULL ends them), or for none
 * where there are files of --join. Exit status. */
int matrix_each(bench *b, const char *const *usual, int (*work)(bench *b, const char *name));

/* 1: something is measured: --join without --matrix only makes tables. */
int table_measures(const matrix_args *args);
/* Refuses --seconds where --join without --matrix measures nothing. Exit status. */
int table_check(const matrix_args *args);

/* --- bench_system.c: systems A x = b and their solves; exit statuses --- */
/* What all systems with the matrix `name` share: b = A * ones, x = 0, one column, the precisions of
 * --outer, the options of the command line. */
linear_args system_args(const bench *b, const char *name);
/* The matrix of `args` and its statistics. linear_close in any case. */
int system_load(bench *b, const linear_args *args, linear *base);
/* A system with the matrix of `base`: operator and preconditioner. linear_clear in any case. */
int system_make(const linear *base, const linear_args *args, linear *l);
/* A solver for `columns` and what its solves took. */
int system_solve(bench *b, linear *l, int columns, bench_figures *figures);
/* Prints the row of a solve and appends it to the list, as bench_add. */
json_t *system_add(bench *b, const linear *l, int columns, const bench_figures *f,
                   const char *name);

/* What one step of a method moves, everything fused that can be: vectors read and written besides
 * its products, of one column; bytes of all columns and ranks, with those of A and K (0: not
 * known). ahead: messages go ahead of the updates. */
typedef struct bench_step {
  double read, written, bytes;
} bench_step;
bench_step bench_count_step(const linear *l, int columns, int ahead);

/* --- bench_own_context.c: rows measured in a context of their own --- */
/* Made as the run's context but for `common`. Its rows go to the same list. Exit status;
 * bench_own_context_close in any case, which hands back what `own` found out. */
typedef struct bench_own_context {
  bench bench;
  matrix_args args;
  int machine_is_own;
} bench_own_context;
int bench_own_context_open(bench *b, const cli_common *common, bench_own_context *own);
void bench_own_context_close(bench *b, bench_own_context *own);

#endif
