/* bench_relax.h - shared by async and faults: one matrix, its solves by relaxation, rows. */
#ifndef KAON_BENCH_RELAX_H
#define KAON_BENCH_RELAX_H

#include "bench/bench_matrix.h"

/* What the arguments of async and faults begin with. Of matrix_args: linear.tol NaN: automatic. */
typedef struct relax_args {
  matrix_args matrix;
  int block, sweeps; /* 0: automatic */
  const char *histories;
  /* async alone */
  unsigned tables;               /* bits: props, stat, rate, overhead, time, figure11 */
  unsigned exchanges;            /* bits: kaon_relax_exchange */
  int runs, lag, together, seed; /* together 0, lag and seed -1: automatic */
  int rank_lag;                  /* -1: no bound */
} relax_args;

/* Rows of option tables: blocks; files that are written; storage of the matrix and ranks. */
extern const cli_option relax_block_rows[], relax_file_rows[], relax_detail_rows[];
#define RELAX_AT(member) offsetof(relax_args, member)

static inline const relax_args *relax_of(const bench *b) {
  return (const relax_args *)b->args;
}

/* bench_run, then --csv. Exit status. */
int relax_bench_run(relax_args *args, const cli_option *options, bench_function *measure);

typedef struct relax_bench {
  bench *b;
  linear l; /* b = 1 in every row, x = 0 */
  kaon_vector *right, *x;
} relax_bench;

/* One solve: its options and its results. */
typedef struct relax_run {
  kaon_method method;
  kaon_relax_options options;
  kaon_lab_relax_options lab;
  double tol; /* 0: `steps` iterations */
  int steps;
  kaon_column_report report;
  kaon_solve_report solve;
  kaon_relax_report relaxation;
  column_history history; /* of column 0; freed by relax_run_clear */
} relax_run;

/* Makes matrix, operator and vectors. Exit status; relax_bench_close in any case. */
int relax_bench_open(relax_bench *r, bench *b, kaon_context *ctx, const char *name);
void relax_bench_close(relax_bench *r);
/* Options of the command line, else blocks of 448 rows and 5 local sweeps. */
relax_run relax_run_of(const relax_bench *r, kaon_method method, double tol, int steps);
/* The same, else block and local sweeps of the tables of the paper. */
relax_run relax_run_of_tables(const relax_bench *r, kaon_method method, double tol, int steps);
/* --tol, or the default of the experiment. */
double relax_tolerance(const relax_bench *r, double usual);
int relax_run_solve(relax_bench *r, relax_run *run);
/* Repeats a run: `samples` times, at most about 10 s, and once where values of other ranks came by
 * another exchange than asked for. *run: the run with the median time, with its history. One run
 * that did not converge decides the reason. Seconds are those of the slowest rank. */
int relax_run_repeat(relax_bench *r, relax_run *run, int samples, bench_spread *times);
void relax_run_clear(relax_run *run);
/* Appends a row NAME with the members that all rows have. The list owns it. */
json_t *relax_bench_row(relax_bench *r, const char *name, double seconds);
/* The same with median, minimum and maximum of several samples. */
json_t *relax_bench_row_of(relax_bench *r, const char *name, const bench_spread *times);
/* "fv1" of ".../fv1.mtx". */
const char *relax_bench_name(const relax_bench *r, char name[64]);
/* Iterations between two lines of a table of this matrix, and the last line (tables 2 and 3 of the
 * paper). */
void relax_bench_points(const relax_bench *r, int *every, int *last);
/* Adds a row "relax-history" with about 160 points of each curve. Writes all points as CSV to
 * --histories, with the name of the matrix before its end. Exit status. */
int relax_bench_histories(relax_bench *r, const char *what, const column_history *histories,
                          const char *const *names, int count);

/* bench_figure11.c: measures the rows of this job; prints the figure from all rows, joined ones
 * included. */
int relax_bench_figure11(relax_bench *r);
void relax_bench_print_figure11(const bench *b);

#endif
