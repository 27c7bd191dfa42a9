/* bench_lattice.h - benchmarks on lattices: their arguments and what they share. */
#ifndef KAON_BENCH_LATTICE_H
#define KAON_BENCH_LATTICE_H

#include "bench/bench.h"
#include "interfaces/common/problem/problem.h"

typedef struct lattice_args {
  bench_args bench;
  cli_lattices lattices; /* whole ones; from --local-lattice once the grid is known */
  cli_lattices local;    /* the part of one rank */
  int grid[4];           /* zeros: chosen */
  unsigned precision;    /* bits: double, single, half */
  unsigned reconstruct;  /* bits: 18, 12, 8; 0: by rule */
  cli_counts columns;
  problem_args problem;
  int outer;                /* double, single */
  int effective;            /* also as GFLOPS of a BiCGStab in single precision */
  const char *reduce_delay; /* or NULL */
} lattice_args;

#define LATTICE_AT(member) offsetof(lattice_args, member)
#define LATTICE_PROBLEM(member) (offsetof(lattice_args, problem) + offsetof(problem_args, member))
#define LATTICE_OPTIONS_EXTENTS(usual)                                    \
  {                                                                       \
    CLI_LATTICES, "lattice", "X Y Z T", NULL, LATTICE_AT(lattices), 0, 0, \
        "extents of the whole lattice, repeatable (default: " usual ")"   \
  }
#define LATTICE_OPTIONS_RANKS                                                           \
  BENCH_GROUP("Several ranks, under mpirun:"),                                          \
      {CLI_EXTENTS, "grid", "a b c d", NULL, LATTICE_AT(grid), 0, 0, CLI_GRID_TEXT},    \
      {CLI_LATTICES,                                                                    \
       "local-lattice",                                                                 \
       "X Y Z T",                                                                       \
       NULL,                                                                            \
       LATTICE_AT(local),                                                               \
       0,                                                                               \
       0,                                                                               \
       "extents of one rank's part, in place of --lattice (default grid: ranks in t)"}, \
      CLI_RANKS_OPTIONS, CLI_SYNC_OPTION
#define LATTICE_OPTION_RECONSTRUCT(usual)                                   \
  {                                                                         \
    CLI_SET, "reconstruct", "18|12|8", NULL, LATTICE_AT(reconstruct), 0, 0, \
        "a list with commas: reals kept a link (default " usual ")"         \
  }
#define LATTICE_OPTION_COLUMNS(usual)                                   \
  {                                                                     \
    CLI_COUNTS, "columns", "N,...", usual, LATTICE_AT(columns), 1, 256, \
        "a list with commas: right-hand sides at once"                  \
  }
#define LATTICE_OPTION_TEMPORAL(meaning) \
  { CLI_FLAG, "temporal-gauge", NULL, NULL, LATTICE_PROBLEM(temporal_gauge), 0, 0, meaning }
#define LATTICE_OPTION_ACTION(meaning) \
  { CLI_CHOICE, "action", PROBLEM_ACTIONS, "clover", LATTICE_PROBLEM(action), 0, 0, meaning }
/* The action's numbers and the accuracy of solves. */
#define LATTICE_OPTIONS_SOLVES                                                                     \
  {CLI_REAL,                                                                                       \
   "kappa",                                                                                        \
   "K",                                                                                            \
   NULL,                                                                                           \
   LATTICE_PROBLEM(kappa),                                                                         \
   1e-6,                                                                                           \
   10,                                                                                             \
   "hopping parameter (default 0.125)"},                                                           \
      {CLI_REAL,                                                                                   \
       "mass",                                                                                     \
       "M",                                                                                        \
       NULL,                                                                                       \
       LATTICE_PROBLEM(mass),                                                                      \
       -3.9,                                                                                       \
       1e5,                                                                                        \
       "bare mass, instead of --kappa"},                                                           \
      {CLI_REAL,                                                                                   \
       "csw",                                                                                      \
       "C",                                                                                        \
       NULL,                                                                                       \
       LATTICE_PROBLEM(csw),                                                                       \
       -10,                                                                                        \
       10,                                                                                         \
       "clover coefficient (default 1 with clover)"},                                              \
      {CLI_REAL,                                                                                   \
       "tol",                                                                                      \
       "EPS",                                                                                      \
       "1e-10",                                                                                    \
       LATTICE_PROBLEM(tol),                                                                       \
       1e-16,                                                                                      \
       1,                                                                                          \
       "stop at this relative residual"},                                                          \
  {                                                                                                \
    CLI_INT, "max-iter", "N", "10000", LATTICE_PROBLEM(max_iter), 1, 1e9, "steps allowed a column" \
  }
#define LATTICE_OPTIONS_INNER                                                                       \
  BENCH_OPTION_OUTER(LATTICE_AT), {CLI_CHOICE,                                                      \
                                   "refinement",                                                    \
                                   "reliable|restart",                                              \
                                   "reliable",                                                      \
                                   LATTICE_PROBLEM(refinement),                                     \
                                   0,                                                               \
                                   0,                                                               \
                                   PROBLEM_REFINEMENT_TEXT},                                        \
      {CLI_CHOICE, "even-odd", "symmetric|asymmetric|none", "symmetric", LATTICE_PROBLEM(even_odd), \
       0,          0,          PROBLEM_EVEN_ODD_TEXT},                                              \
      {CLI_TEXT, "set", "KEY=VALUE,...", NULL, LATTICE_PROBLEM(set), 0, 0, PROBLEM_SET_TEXT},       \
      CLI_REGIME_OPTION

/* The arguments of a benchmark on lattices. */
static inline const lattice_args *lattice_of(const bench *b) {
  return (const lattice_args *)b->args;
}

/* Checks extents, parts and grid, then as bench_run. Exit status. */
int lattice_run(lattice_args *args, const cli_option *options, bench_function *measure);
/* The checks alone; `both`: --lattice and --local-lattice are two lists of their own. */
int lattice_check(lattice_args *args, int both);
int lattice_check_extents(const kaon_context *ctx, const lattice_args *args);
/* Fills every column with the same numbers of order 1, since zeros would flatter timings. */
kaon_status lattice_fill(bench *b, kaon_vector *v, const kaon_lattice *lattice);

/* Measures dslash or solve as `args` say: for scaling. Exit statuses. */
int dslash_measure(bench *b);
int solve_measure(bench *b);

#endif
