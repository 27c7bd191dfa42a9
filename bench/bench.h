/* bench.h - the frame of every benchmark: arguments, the machine's figures, rows of the JSON list.
 *
 * A benchmark is one cli_command with an option table of its own. Its arguments begin with
 * bench_args, and its `run` calls bench_run (or lattice_run), which makes a context,
 * measures the machine, calls the benchmark's function and writes the rows. */
#ifndef KAON_BENCH_H
#define KAON_BENCH_H

#include "bench/machine.h"
#include "interfaces/common/cli.h"
#include "interfaces/common/energy.h"
#include "interfaces/common/solving.h"

extern const cli_command bench_dslash, bench_vector, bench_solve, bench_fatten, bench_spmv,
    bench_krylov;
/* bench/papers */
extern const cli_command bench_scaling, bench_regimes, bench_pipelined, bench_async, bench_faults,
    bench_kaczmarz;

/* What the arguments of every benchmark begin with. */
typedef struct bench_args {
  cli_common common;
  const char *json;
  int calls, samples, in_turn; /* 0: automatic, or not an option of this benchmark */
} bench_args;

/* Rows of option tables: samples and calls; those of ranks that benchmarks without a grid have. */
extern const cli_option bench_sample_rows[], bench_rank_rows[];
#define BENCH_AT(member) offsetof(bench_args, member)
#define BENCH_OPTION_JSON \
  { CLI_FILE, "json", "FILE", NULL, BENCH_AT(json), 0, 0, "write the rows as a JSON list" }
#define BENCH_OPTION_PRECISION(AT, presets) \
  { CLI_SET, "precision", "double|single|half", presets, AT(precision), 0, 0, "a list with commas" }
#define BENCH_OPTION_DELAY(AT)                                                             \
  {                                                                                        \
    CLI_TEXT, "reduce-delay", "TIME", NULL, AT(reduce_delay), 0, 0,                        \
        "every sum over ranks takes at least this long, as in 100us, on a single rank too" \
  }
#define BENCH_OPTION_OUTER(AT) \
  { CLI_CHOICE, "outer", "double|single", "double", AT(outer), 0, 0, "precision of the solution" }

/* Number of entries of kaon_precision and of LINEAR_FORMATS; bits of a CLI_SET option. */
enum { BENCH_PRECISIONS = 3, BENCH_FORMATS = 4, BENCH_BITS = 32 };

typedef struct bench {
  const bench_args *args; /* the first member of the benchmark's own arguments */
  kaon_context *ctx;
  kaon_context_info info;
  machine machine; /* of this rank */
  machine all;     /* bandwidths and peaks of all ranks together */
  json_t *rows;
  double *numbers; /* random: one column of this rank's part of the last lattice
                      (bench_lattice.c) */
  size_t numbers_count;
  int headed;           /* the head of the printed table is out */
  int failed;           /* exit status of bench_save */
  int once;             /* a solve is not repeated */
  int unconverged;      /* some solves did not converge */
  double least_seconds; /* bench_median repeats for this long, after a first solve that counts only
                           if it takes as long; 0: automatic */
  kaon_context *processor; /* whose energy counter is the processors' beside a device; or NULL */
  double reference_flops;  /* of BiCGStab for one column (solve --effective); 0: not known */
} bench;

typedef int bench_function(bench *b);

/* --- the run --- */
/* Refuses, by the option table, output files that are also inputs or outputs. Returns an exit
 * status. */
int bench_check_files(const cli_option *options, const void *args);
/* Checks files, makes the context with this grid (zeros: chosen), opens the machine, measures, and
 * writes the rows. Returns an exit status. */
int bench_run(const bench_args *args, const cli_option *options, bench_function *measure);
/* The parts of bench_run after the check of files: for benchmarks with a grid. bench_finish in any
 * case. */
int bench_begin(bench *b, const bench_args *args, const int grid[4]);
int bench_open_machine(bench *b);
int bench_finish(bench *b, int code);
/* The exit status of a benchmark: of what went well, that some solves did not converge. Says so. */
int bench_end(const bench *b, int code);
/* For Ctrl-C: what is being done, and which rows were saved. */
void bench_stage(const bench *b);
/* 1 on all ranks if any rank was interrupted. A barrier. */
int bench_stopped(void);
/* Measures the machine's bandwidths, on all ranks at once. */
kaon_status bench_bandwidth(bench *b);
/* 1: the operations run on the processor, 0: on a device. */
int bench_on_host(const bench *b);
/* What devices of several ranks communicate by; "" for one rank. */
const char *bench_transport(const bench *b);
double bench_size(kaon_precision precision); /* bytes of a stored real */

/* --- rows --- */
/* One measured row. bytes: ideal traffic of one call; 0: not given. */
typedef struct bench_row {
  const char *name;
  const int *extents; /* NULL: the row is about a matrix */
  const char *matrix; /* its name */
  const char *stored; /* how it is stored: "csr", "sell", "ell" */
  kaon_precision precision;
  const char *precision_text; /* NULL: by precision */
  int links, columns;
  int grid[4];
  double seconds, flops, bytes; /* the slowest rank's seconds; flops and bytes of all ranks */
  double resident;              /* bytes that the calls touch: do they fit into the cache? */
  /* Of bench_time, else 0: seconds of the fastest and the slowest sample; what the host needs to
   * launch a call on a device; calls of a sample; samples. */
  double least, most, issue;
  int calls, samples;
} bench_row;

/* Prints machine and column heads. about: "lattice" or "matrix". */
void bench_header(const bench *b, const char *about);
/* Prints the row beside the machine's figures and appends it to the list, which owns the object. */
json_t *bench_add(bench *b, const bench_row *row);
/* The members that all rows have: who measured what, on which machine, when. The caller's. */
json_t *bench_describe(const bench *b, const bench_row *row);
/* Writes all rows so far to --json: called after each row. Says what failed. */
kaon_status bench_save(bench *b);
/* Writes all rows as CSV, a column for every member that is no list. Exit status. */
int bench_csv(const bench *b, const char *path);
/* Appends the rows of `bench` NAME that the files hold. Exit status. */
int bench_merge_rows(bench *b, const cli_texts *files, const char *name);
/* Puts back what committed results leave out of a row: members that equal those of the first row of
 * the same benchmark. Rows with `command` are whole and stay as they are. */
void bench_complete_rows(json_t *rows);
/* Members of a row: a text, "" where there is none; a number, NaN where there is none. */
const char *bench_word(const json_t *row, const char *key);
double bench_number(const json_t *row, const char *key);
/* 1: row i of the list is the first of benchmark NAME with its "matrix". */
int bench_first_of_matrix(const json_t *rows, size_t i, const char *name);
/* "sell" of the sentence in which an operator describes its storage. */
const char *bench_form(const char *words, char form[16]);

/* --- bench_time.c: seconds of a call --- */
/* row->seconds = median over samples of the seconds of one call, after warm-up. work: one call. */
typedef kaon_status bench_work(void *user);
kaon_status bench_time(bench *b, bench_work *work, void *user, bench_row *row);
/* The same for several rows, a sample of each in turn, so that ratios between them saw the same
 * moments. triad, read: GB/s of the machine beside the row's samples. */
typedef struct bench_timed {
  bench_work *work;
  void *user;
  bench_row row;
  double triad, read;
} bench_timed;
kaon_status bench_time_in_turn(bench *b, bench_timed timed[], int count);
/* Seconds of one thing done `count` times. The seconds are sorted in place; the median of an even
 * count is the mean of the two in the middle. */
typedef struct bench_spread {
  double median, least, most;
  int count;
} bench_spread;
bench_spread bench_spread_of(double *seconds, int count);

/* --- bench_repeat.c: repeated solves --- */
typedef struct bench_figures {
  double seconds; /* of a solve: the median over the repeats, of the first 8192 of more */
  double flops;
  int iterations;  /* of the slowest column */
  double residual; /* the largest */
  kaon_stop_reason reason;
  double joules;           /* of one solve, all ranks together: the mean over the repeats */
  double fastest, slowest; /* seconds of a repeat */
  int repeats;
  /* Of a solve, means over the repeats: wall seconds; processor seconds of a process' threads (mean
   * over ranks); joules of the processors beside a device (NaN: not known, or no device). */
  double mean, cpu_mean, host_joules;
  kaon_issue issue;     /* how steps were issued */
  kaon_traffic traffic; /* of one solve, of this rank */
} bench_figures;
/* Repeats a solve from x = 0 a few times, or until the median is reliable. */
kaon_status bench_median(bench *b, kaon_solver *solver, const kaon_vector *source, kaon_vector *x,
                         bench_figures *figures);
/* A monitor that ends a solve on Ctrl-C. */
kaon_monitor_fn bench_monitor;

#endif
