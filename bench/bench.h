/* bench.h - shared by the benchmarks: what is measured, the machine's own figures beside it, the
 * rows of the JSON list. */
#ifndef KAON_BENCH_H
#define KAON_BENCH_H

#include "bench/machine.h"
#include "interfaces/common/energy.h"
#include "interfaces/common/linear/linear.h"
#include "interfaces/common/problem/problem.h"

extern const cli_command command_bench;

/* The benchmarks, in the order of BENCH_NAMES. */
typedef enum bench_kind {
  BENCH_DSLASH,
  BENCH_VECTOR,
  BENCH_SOLVE,
  BENCH_SCALING,
  BENCH_FATTEN,
  BENCH_SPMV,
  BENCH_KRYLOV,
  BENCH_REGIMES,
  BENCH_PIPELINED,
  BENCH_ASYNC,
  BENCH_FAULTS,
  BENCH_KACZMARZ,
  BENCHES
} bench_kind;
#define BENCH_NAMES \
  "dslash|vector|solve|scaling|fatten|spmv|krylov|regimes|pipelined|async|faults|kaczmarz"

/* Entries of CLI_SET options: as many bits as an option may have, kaon_precision, LINEAR_FORMATS.
 */
enum { BENCH_BITS = 32, BENCH_PRECISIONS = 3, BENCH_FORMATS = 4 };
#define BENCH_TABLES "props|stat|rate|overhead|time|figure11"

typedef struct bench_args {
  cli_common common;
  cli_lattices lattices; /* whole ones; from --local-lattice once the grid is known */
  cli_lattices local;    /* of one rank */
  int grid[4];           /* zeros: chosen */
  unsigned precision;    /* bits: double, single, half */
  unsigned reconstruct;  /* bits: 18, 12, 8 */
  cli_counts columns;
  int calls, samples, in_turn;
  const char *json;
  problem_args problem; /* solve */
  const char *reduce_delay;
  int outer;     /* solve: index into double|single */
  int effective; /* solve: figures in terms of a BiCGStab in single precision */
  /* scaling: rows of earlier runs, what is assumed between nodes */
  cli_texts models;
  const char *latency;
  double network_latency, network_bandwidth; /* s, GB/s */
  int node;
  /* spmv, krylov */
  cli_texts matrices;
  unsigned formats, methods, preconds; /* bits: LINEAR_FORMATS, LINEAR_METHODS, LINEAR_PRECONDS */
  linear_args linear;                  /* what all of their rows share */
  /* regimes, pipelined */
  unsigned regimes; /* bits: CLI_REGIMES */
  double seconds;   /* that a row's solves take at least, all of them together */
  const char *csv;  /* of kaczmarz, async, faults as well */
  cli_texts joined; /* files of earlier runs */
  /* async, faults */
  unsigned tables; /* bits: BENCH_TABLES */
  int runs, relax_block, relax_sweeps, relax_lag, relax_together, relax_seed; /* block, sweeps,
                                                 together 0, lag, seed -1: by rule */
  unsigned exchanges; /* bits: kaon_relax_exchange */
  int relax_rank_lag; /* -1: no bound */
  const char *histories;
  /* kaczmarz */
  unsigned kaczmarz_tables; /* bits: fig4, table3, fig5, fig6, fig7, counts */
  int kaczmarz_sweeps, kaczmarz_level;
  double kaczmarz_cpu_seconds;
  cli_counts kaczmarz_problems, kaczmarz_degrees;
} bench_args;

typedef struct bench {
  const bench_args *args;
  kaon_context *ctx;
  kaon_context_info info;
  machine machine; /* this rank's own */
  machine all;     /* bandwidths and peaks of all ranks together */
  json_t *rows;
  double *numbers; /* of bench_fill: one column of this rank's part of the last lattice */
  size_t numbers_count;
  int headed;           /* bench solve: its head is printed */
  int failed;           /* exit status of bench_add_row */
  int once;             /* a solve is not repeated */
  int matrices;         /* rows are about matrices, not lattices */
  int unconverged;      /* of matrices' solves: some were */
  double least_seconds; /* bench_median goes on for so long, after a first solve that counts only if
                           it takes as long; 0: by rule */
  kaon_context *processor; /* whose counter is that of the processors beside a device; or NULL */
  double reference_flops;  /* bench solve --effective: of BiCGStab, one column; 0: not known */
} bench;

/* One measured row. bytes: ideal traffic of one call; 0: not given. */
typedef struct bench_row {
  const char *name;
  const int *extents; /* NULL: about a matrix */
  const char *matrix; /* its name */
  const char *stored; /* and how it is stored: "csr", "sell", "ell" */
  kaon_precision precision;
  const char *precision_text; /* NULL: by precision */
  int links, columns;
  int grid[4];
  double seconds, flops, bytes; /* the slowest rank's; of all ranks */
  double resident;              /* bytes that the calls go round: in the cache or not? */
  /* of bench_time, 0 elsewhere: seconds of the fastest and the slowest sample; what the host needs
   * to launch a call on a device; calls of a sample, and samples */
  double least, most, issue;
  int calls, samples;
} bench_row;

/* row->seconds = median over samples of the seconds of one call, after warm-up, with all that
 * belongs to them. work: one call. */
typedef kaon_status bench_work(void *user);
kaon_status bench_time(bench *b, bench_work *work, void *user, bench_row *row);
/* The same of several rows, each with its own work, a sample of each in turn, so that ratios
 * between them saw the same moments; triad, read: GB/s of the machine beside the row's samples. */
typedef struct bench_timed {
  bench_work *work;
  void *user;
  bench_row row;
  double triad, read;
} bench_timed;
kaon_status bench_time_in_turn(bench *b, bench_timed timed[], int count);
/* 1: the operations run on the processor, 0: on a device. */
int bench_on_host(const bench *b);
void bench_header(const bench *b);
/* Prints the row beside the machine's figures, appends it to the list; the object is the list's. */
json_t *bench_add(bench *b, const bench_row *row);
/* All rows as CSV, a column for every member that is no list. Exit status. */
int bench_csv(const bench *b, const char *path);
/* What all rows have: by whom, on what, when. The object is the caller's. */
json_t *bench_describe(const bench *b, const bench_row *row);
/* Writes the rows there are to --json; after each row, when it is whole. Says what failed. */
kaon_status bench_add_row(bench *b);
double bench_size(kaon_precision precision); /* bytes of a stored real */
/* A subcommand's exit status: of what went well, that some solves did not converge, and says so. */
int bench_end(const bench *b, int code);
typedef struct bench_figures {
  double seconds; /* of a solve: the median over all repeats, of the first 8192 of more */
  double flops;
  int iterations;  /* of the slowest column */
  double residual; /* the largest */
  kaon_stop_reason reason;
  double joules;           /* of one solve, all ranks together: the mean over all repeats */
  double fastest, slowest; /* seconds of a repeat */
  int repeats;
  /* of a solve, the mean over all repeats: wall seconds, processor seconds (of a process' threads,
   * of all processors, the mean over ranks), and what the processors beside a device drew (NaN: not
   * known, or they are the device) */
  double mean, cpu_mean, host_joules;
  kaon_issue issue;     /* how steps were issued */
  kaon_traffic traffic; /* of one solve, of this rank */
} bench_figures;
/* Solves from x = 0 a few times, or until the time is worth a median. */
kaon_status bench_median(bench *b, kaon_solver *solver, const kaon_vector *source, kaon_vector *x,
                         bench_figures *figures);
/* Seconds of one thing done `count` times. */
typedef struct bench_spread {
  double median, least, most;
  int count;
} bench_spread;
/* It sorts them; the median of an even count is the mean of the two in the middle. */
bench_spread bench_spread_of(double *seconds, int count);
/* A monitor that ends a solve on Ctrl-C. */
kaon_monitor_fn bench_monitor;
/* Fills every column with the same numbers of order 1 (timings of zeros would flatter). */
kaon_status bench_fill(bench *b, kaon_vector *v, const kaon_lattice *lattice);

/* For Ctrl-C: what is being done, and what is kept of it. */
void bench_stage(const bench *b);
/* What devices of several ranks talk by, "" where nothing is. */
const char *bench_transport(const bench *b);
/* 1 on all ranks if this rank or another was interrupted; a barrier. */
int bench_stopped(void);
/* The machine's bandwidths, measured by all ranks at once, of all of them together. */
kaon_status bench_bandwidth(bench *b);

/* --- of matrices --- */
/* "sell" of the words in which an operator describes its storage. */
const char *bench_form(const char *words, char form[16]);
/* What a row about a matrix has beside the others' fields. */
void bench_add_matrix(const linear *l, const char *words, json_t *json);
/* What all rows about `name` share: b = A * ones, x = 0, one column, precision and inner precision
 * those of --outer, the options of the command line. */
linear_args bench_linear(const bench *b, const char *name);
/* The matrix of `args` and its statistics. Exit status; linear_close in any case. */
int bench_load(bench *b, const linear_args *args, linear *base);
/* A system with the matrix of `base`: operator and preconditioner. Exit status; linear_clear in any
 * case. */
int bench_system(const linear *base, const linear_args *args, linear *l);
/* A solver for `columns` and what its solves took. Exit status. */
int bench_solve_system(bench *b, linear *l, int columns, bench_figures *figures);
/* Prints the row of a solve and appends it to the list, as bench_add. */
json_t *bench_add_solve(bench *b, const linear *l, int columns, const bench_figures *f,
                        const char *name);
/* What one step takes, with messages ahead of its updates or not: vectors read and written besides
 * its products, of one column; bytes of all columns and ranks, with those of A and K (0: not
 * known). */
typedef struct bench_step {
  double read, written, bytes;
} bench_step;
bench_step bench_count_step(const linear *l, int columns, int ahead);
/* bench_fill for a matrix' rows. */
kaon_status bench_fill_rows(const linear *l, kaon_vector *v);
/* `work` for every --matrix. Exit status. */
int bench_matrices(bench *b, int (*work)(bench *b, const char *name));

/* Rows measured in a context of their own, made as the run's but for `common`; rows go to the same
 * list. Exit status; bench_own_context_close in any case, which hands back what `own` found out. */
typedef struct bench_own_context {
  bench bench;
  bench_args args;
  int machine_is_own;
} bench_own_context;
int bench_own_context_open(bench *b, const cli_common *common, bench_own_context *own);
void bench_own_context_close(bench *b, bench_own_context *own);
/* The machine of b->info and its bandwidths. Exit status. */
int bench_open_machine(bench *b);
/* Files of bench/results leave out what a row shares with the first row of its benchmark: puts it
 * back. Rows with `command` are as they were written, and stay. */
void bench_complete_rows(json_t *rows);
/* The rows of `bench` NAME in the files of --join, into the list. Exit status. */
int bench_merge_rows(bench *b, const char *name);
/* Refuses options that have no effect on `kind`, and what does not go together. Exit status. */
int bench_check(const bench_args *a, bench_kind kind);

/* The benchmarks: exit statuses. */
int bench_dslash(bench *b);
int bench_vector(bench *b);
int bench_solve(bench *b);
int bench_scaling(bench *b);
int bench_fatten(bench *b);
int bench_spmv(bench *b);
int bench_krylov(bench *b);
int bench_regimes(bench *b);
int bench_pipelined(bench *b);
int bench_async(bench *b);
int bench_faults(bench *b);
int bench_kaczmarz(bench *b);
/* bench scaling --model: measures nothing. */
int bench_model(const bench_args *args);

#endif
