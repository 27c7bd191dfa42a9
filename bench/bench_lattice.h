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
  unsigned reconstruct;  /* bits: 18, 12, 8; 0: automatic */
  cli_counts columns;
  problem_args problem;
  int outer;                /* double, single */
  int effective;            /* also as GFLOPS of a BiCGStab in single precision */
  const char *reduce_delay; /* or NULL */
} lattice_args;

/* Rows of option tables: grid and parts of ranks; numbers of the action and the accuracy of solves;
 * their details. */
extern const cli_option lattice_rank_rows[], lattice_solve_rows[], lattice_detail_rows[];
#define LATTICE_AT(member) offsetof(lattice_args, member)
#define LATTICE_PROBLEM(member) (offsetof(lattice_args, problem) + offsetof(problem_args, member))
#define LATTICE_OPTIONS_EXTENTS(usual)                                    \
  {                                                                       \
    CLI_LATTICES, "lattice", "X Y Z T", NULL, LATTICE_AT(lattices), 0, 0, \
        "extents of the whole lattice, repeatable (default: " usual ")"   \
  }
#define LATTICE_OPTION_RECONSTRUCT(usual)                                   \
  {                                                                         \
    CLI_SET, "reconstruct", "18|12|8", NULL, LATTICE_AT(reconstruct), 0, 0, \
        "a list with commas: reals stored of each link (default " usual ")" \
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
