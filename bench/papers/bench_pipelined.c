/* bench_pipelined.c - hiding of communication, after V. A. Platonov and A. V. Monakov (Proc. ISP
 * RAS 28 (2016) 81). By number of ranks: classic methods with DIC on processors beside pipelined CG
 * and reordered BiCGStab on devices, there with AINV, here with Jacobi unless --precond says
 * otherwise. Then classic and pipelined methods with delayed sums (--reduce-delay): how much of the
 * delay is exposed, and the traffic of a step. A run measures its own number of ranks; --join adds
 * rows of other runs. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/bench_matrix.h"
#include "interfaces/common/report.h"

enum { DELAYS_MAX = 8, RANKS_MAX = 16 };

/* The columns of the tables of the paper. */
typedef struct column {
  const char *name;
  kaon_method method;
  int processors; /* 1: with DIC on the CPU; 0: on the backend of the run */
} column;

static const column columns[] = {{"PCG", KAON_CG, 1},
                                 {"BiCGStab", KAON_BICGSTAB, 1},
                                 {"GPUPCG", KAON_PIPECG, 0},
                                 {"GPUBCGS", KAON_RBICGSTAB, 0}};
enum { COLUMNS = sizeof columns / sizeof *columns };

/* Methods measured under each delay; `classic`: the method each is compared with. */
static const struct {
  kaon_method method, classic;
} delayed[] = {{KAON_CG, KAON_CG},
               {KAON_GROPPCG, KAON_CG},
               {KAON_CHRONGEAR, KAON_CG},
               {KAON_PIPECG, KAON_CG},
               {KAON_BICGSTAB, KAON_BICGSTAB},
               {KAON_RBICGSTAB, KAON_BICGSTAB},
               {KAON_PIPEBICGSTAB, KAON_BICGSTAB}};
enum { DELAYED = sizeof delayed / sizeof *delayed };

static const cli_option option_rows[] = {
    MATRIX_OPTION_MATRIX("cavity3d:126 and cavity3d:159; with --join none"),
    MATRIX_OPTION_PRECOND("jacobi", "on the device"),
    {CLI_TEXT, "reduce-delay", "TIME,...", NULL, MATRIX_AT(reduce_delay), 0, 0,
     "a list with commas: sums over ranks take at least this time (default 0,10us,100us)"},
    MATRIX_OPTION_SECONDS("solves of a row are repeated for this time; their mean counts"),
    MATRIX_OPTION_JOIN("rows of earlier runs for the tables; repeatable"),
    BENCH_OPTION_JSON,
    CLI_REGIME_OPTION,
    CLI_SYNC_OPTION,
    CLI_RANKS_OPTIONS,
    CLI_GROUP_ROW("The solves:"),
    CLI_TABLE_ROW(matrix_solve_rows, offsetof(matrix_args, linear)),
    MATRIX_OPTION_TOL("1e-8", "stop at this |b - A x| / |b|"),
    BENCH_OPTION_OUTER(MATRIX_AT),
    CLI_TABLE_ROW(matrix_storage_rows, offsetof(matrix_args, linear)),
    CLI_GROUP_ROW("Preconditioners:"),
    LINEAR_OPTIONS_PRECOND_FIGURES(MATRIX_LINEAR),
    CLI_END_ROW};

typedef struct delays {
  int count;
  double seconds[DELAYS_MAX];
} delays;

static int read_delays(const char *text, delays *d) {
  static const char *const usual = "0,10us,100us";
  for (const char *at = text ? text : usual; *at; at += strspn(at, ",")) {
    char word[32];
    const int length = (int)strcspn(at, ",");
    snprintf(word, sizeof word, "%.*s%s", length, at,
             strncmp(at, "0,", 2) && strcmp(at, "0") ? "" : "s");
    if (d->count == DELAYS_MAX)
      return cli_wrong("--reduce-delay %s: at most %d times are measured; leave some out", text,
                       DELAYS_MAX);
    const int code = cli_read_time("reduce-delay", word, &d->seconds[d->count++]);
    if (code != EXIT_DONE) return code;
    at += length;
  }
  return EXIT_DONE;
}

/* ---- measuring ---- */

/* The preconditioner on the device: the first of --precond. */
static int device_precond(const bench *b) {
  int k = 0;
  while (!(matrix_of(b)->preconds >> k & 1)) k++;
  return k;
}

/* Measures a row. solver: a column of the paper, or "" in rows with a delay. */
static int measure(bench *b, const linear *base, kaon_method method, int precond,
                   const char *solver) {
  linear_args args = *base->args;
  bench_figures figures;
  linear l;
  args.method = (int)method;
  args.precond = precond;
  int code = system_make(base, &args, &l);
  if (code == EXIT_DONE) code = system_solve(b, &l, 1, &figures);
  if (code == EXIT_DONE) {
    json_t *row = system_add(b, &l, 1, &figures, "pipelined");
    json_object_set_new(row, "solver", json_string(solver));
    if (bench_save(b) != KAON_OK) code = EXIT_DEVICE;
  }
  linear_clear(&l);
  return code;
}

static int measure_columns(bench *b, const linear *base, int processors) {
  const int precond = processors ? PRECOND_DIC : device_precond(b);
  int code = EXIT_DONE;
  for (int c = 0; c < COLUMNS && code == EXIT_DONE; c++)
    if (columns[c].processors == processors)
      code = measure(b, base, columns[c].method, precond, columns[c].name);
  return code;
}

static int measure_delayed(bench *b, const linear *base) {
  int code = EXIT_DONE;
  for (int m = 0; m < DELAYED && code == EXIT_DONE; m++)
    code = measure(b, base, delayed[m].method, device_precond(b), "");
  return code;
}

typedef int stage(bench *b, const linear *base);

static int on_processors(bench *b, const linear *base) {
  return measure_columns(b, base, 1);
}

static int on_device(bench *b, const linear *base) {
  return measure_columns(b, base, 0);
}

/* Runs a stage in a context of its own. */
static int in_context(bench *b, const cli_common *common, const char *name, stage *work) {
  bench_own_context own;
  linear base = {0};
  int code = bench_own_context_open(b, common, &own);
  const linear_args args = system_args(&own.bench, name);
  if (code == EXIT_DONE) code = system_load(&own.bench, &args, &base);
  if (code == EXIT_DONE) code = work(&own.bench, &base);
  linear_close(&base);
  bench_own_context_close(b, &own);
  return code;
}

/* Ranks of a node share its processors. */
static int threads_of_rank(const cli_common *common) {
  const long all = sysconf(_SC_NPROCESSORS_ONLN), ranks = ranks_on_node();
  if (common->threads || ranks < 2) return common->threads;
  return all > ranks ? (int)(all / ranks) : 1;
}

static int matrix(bench *b, const char *name) {
  delays d = {0};
  const cli_common run = b->args->common;
  cli_common common = run;
  common.backend = KAON_BACKEND_CPU;
  common.regime = 0;
  common.threads = threads_of_rank(&run);
  int code = read_delays(matrix_of(b)->reduce_delay, &d);
  if (code == EXIT_DONE) code = in_context(b, &common, name, on_processors);
  if (code == EXIT_DONE) code = in_context(b, &run, name, on_device);
  for (int i = 0; i < d.count && code == EXIT_DONE; i++) {
    common = run;
    common.reduce_delay = d.seconds[i];
    cli_print(&run, "sums take at least %g us:\n", 1e6 * common.reduce_delay);
    code = in_context(b, &common, name, measure_delayed);
  }
  return code;
}

/* ---- tables ---- */

static int is_row(const json_t *row) {
  return strcmp(bench_word(row, "bench"), "pipelined") == 0 &&
         bench_number(row, "seconds_mean") > 0 && bench_number(row, "ranks") >= 1;
}

/* Finds the last row of a matrix, a number of ranks and a column; NULL: none. */
static const json_t *find(const json_t *rows, const char *name, int ranks, const char *solver) {
  const json_t *row, *found = NULL;
  size_t i;
  json_array_foreach(rows, i, row) {
    if (is_row(row) && strcmp(bench_word(row, "matrix"), name) == 0 &&
        (int)bench_number(row, "ranks") == ranks && strcmp(bench_word(row, "solver"), solver) == 0)
      found = row;
  }
  return found;
}

/* Numbers of ranks of the rows of a matrix, ascending. Returns how many. */
static int find_ranks(const json_t *rows, const char *name, int ranks[RANKS_MAX]) {
  const json_t *row;
  size_t i;
  int count = 0;
  json_array_foreach(rows, i, row) {
    const int n = is_row(row) ? (int)bench_number(row, "ranks") : 0;
    int at = 0;
    if (n < 1 || strcmp(bench_word(row, "matrix"), name) != 0) continue;
    while (at < count && ranks[at] < n) at++;
    if ((at < count && ranks[at] == n) || count == RANKS_MAX) continue;
    memmove(ranks + at + 1, ranks + at, (size_t)(count - at) * sizeof *ranks);
    ranks[at] = n;
    count++;
  }
  return count;
}

static void print_figure(const cli_common *common, double x) {
  if (x > 0)
    cli_print(common, " %11.4g", x);
  else
    cli_print(common, " %11s", "-");
}

/* Prints the table of the paper: seconds of a solve by number of processors or devices, and the
 * speed-up from the smallest to the largest. */
static void print_paper(const cli_common *common, const json_t *rows, const char *name) {
  int ranks[RANKS_MAX];
  double ends[2][COLUMNS];
  const int count = find_ranks(rows, name, ranks);
  cli_print(common,
            "\n%s: seconds of a solve; PCG and BiCGStab with DIC on processors, GPUPCG "
            "(pipelined CG) and GPUBCGS (reordered BiCGStab) on devices\n%-22s",
            name, "processors/devices");
  for (int c = 0; c < COLUMNS; c++) cli_print(common, " %11s", columns[c].name);
  for (int r = 0; r < count; r++) {
    cli_print(common, "\n%-22d", ranks[r]);
    for (int c = 0; c < COLUMNS; c++) {
      const json_t *row = find(rows, name, ranks[r], columns[c].name);
      const double seconds = row ? bench_number(row, "seconds_mean") : NAN;
      if (r == 0) ends[0][c] = seconds;
      ends[1][c] = seconds;
      print_figure(common, seconds);
    }
  }
  if (count > 1) cli_print(common, "\n%-22s", "speed-up");
  for (int c = 0; c < COLUMNS && count > 1; c++) print_figure(common, ends[0][c] / ends[1][c]);
  cli_print(common, "\n%-22s", "steps");
  for (int c = 0; c < COLUMNS; c++) {
    const json_t *row = count ? find(rows, name, ranks[count - 1], columns[c].name) : NULL;
    print_figure(common, row ? bench_number(row, "iterations") : NAN);
  }
  cli_print(common, "\n");
}

/* Finds the row of the classic method for the same matrix, ranks and delay; NULL: none. */
static const json_t *find_classic(const json_t *rows, const json_t *row) {
  const char *classic = "";
  const json_t *other;
  size_t i;
  for (int m = 0; m < DELAYED; m++)
    if (strcmp(method_name(delayed[m].method), bench_word(row, "method")) == 0)
      classic = method_name(delayed[m].classic);
  json_array_foreach(rows, i, other) {
    if (is_row(other) && !*bench_word(other, "solver") &&
        strcmp(bench_word(other, "method"), classic) == 0 &&
        strcmp(bench_word(other, "matrix"), bench_word(row, "matrix")) == 0 &&
        bench_number(other, "ranks") == bench_number(row, "ranks") &&
        bench_number(other, "reduce_delay") == bench_number(row, "reduce_delay"))
      return other;
  }
  return NULL;
}

static double seconds_of_step(const json_t *row) {
  return bench_number(row, "seconds_mean") / bench_number(row, "iterations");
}

/* Adds to each row the ratios of time and bytes of a step to those of the classic method. */
static void note_ratios(const json_t *rows) {
  json_t *row;
  size_t i;
  json_array_foreach(rows, i, row) {
    const json_t *classic =
        is_row(row) && !*bench_word(row, "solver") ? find_classic(rows, row) : NULL;
    if (!classic) continue;
    json_object_set_new(row, "time_of_classic",
                        report_real(seconds_of_step(row) / seconds_of_step(classic)));
    json_object_set_new(
        row, "bytes_of_classic",
        report_real(bench_number(row, "bytes_step") / bench_number(classic, "bytes_step")));
  }
}

static void print_delayed_row(const cli_common *common, const json_t *row) {
  const double steps = bench_number(row, "iterations"), sums = bench_number(row, "sums"),
               hidden = bench_number(row, "sums_hidden"), bytes = bench_number(row, "bytes_step");
  cli_print(common, "%5d %12g %-13s %6.0f", (int)bench_number(row, "ranks"),
            1e6 * bench_number(row, "reduce_delay"), bench_word(row, "method"), steps);
  print_figure(common, 1e6 * bench_number(row, "seconds_mean") / steps);
  cli_print(common, " %8.2f %7.2f", (sums - hidden) / steps, hidden / steps);
  print_figure(common, bench_number(row, "vectors_read"));
  print_figure(common, bench_number(row, "vectors_written"));
  print_figure(common, 1e-6 * bytes);
  print_figure(common, bench_number(row, "time_of_classic"));
  print_figure(common, bench_number(row, "bytes_of_classic"));
  cli_print(common, "\n");
}

static void print_delayed(const cli_common *common, const json_t *rows, const char *name) {
  const json_t *row;
  size_t i;
  cli_print(
      common,
      "\n%s: classic and pipelined where a sum over ranks takes at least so long; sums a step, "
      "set-up and end of the solve included; times, bytes: of a step, over the classic one's\n"
      "%5s %12s %-13s %6s %11s %8s %7s %11s %11s %11s %11s %11s\n",
      name, "ranks", "delay, us", "method", "steps", "us a step", "exposed", "hidden", "v. read",
      "v. written", "MB a step", "times", "bytes");
  json_array_foreach(rows, i, row) {
    if (is_row(row) && strcmp(bench_word(row, "matrix"), name) == 0 && !*bench_word(row, "solver"))
      print_delayed_row(common, row);
  }
}

/* Prints the tables of every matrix once. */
static int print_tables(const bench *b) {
  const json_t *rows = b->rows, *row;
  size_t i;
  int count = 0, ranks[RANKS_MAX];
  json_array_foreach(rows, i, row) {
    const char *name = bench_word(row, "matrix");
    if (!bench_first_of_matrix(rows, i, "pipelined") || !find_ranks(rows, name, ranks)) continue;
    print_paper(&b->args->common, rows, name);
    print_delayed(&b->args->common, rows, name);
    count++;
  }
  if (count) return EXIT_DONE;
  return cli_wrong("there is no row for the tables: none was measured completely");
}

static int measure_all(bench *b) {
  static const char *const usual[] = {"cavity3d:126", "cavity3d:159", NULL};
  const matrix_args *a = matrix_of(b);
  int code = bench_merge_rows(b, &a->joined, "pipelined");
  b->least_seconds = a->seconds;
  if (code == EXIT_DONE && table_measures(a)) bench_header(b, "matrix");
  if (code == EXIT_DONE) code = matrix_each(b, usual, matrix);
  note_ratios(b->rows);
  if (code == EXIT_DONE) code = print_tables(b);
  if (code == EXIT_DONE && bench_save(b) != KAON_OK)
    code = EXIT_DEVICE; /* rows that were only joined */
  return bench_end(b, code);
}

static int run(void *arguments) {
  matrix_args *a = arguments;
  relax_defaults(&a->linear);
  linear_without_projections(&a->linear);
  delays d = {0};
  int code = table_check(a);
  if (code == EXIT_DONE) code = read_delays(a->reduce_delay, &d);
  return code == EXIT_DONE ? bench_run(&a->bench, option_rows, measure_all) : code;
}

const cli_command bench_pipelined = {
    .name = "pipelined",
    .summary = "Methods that hide sums over ranks (paper D).",
    .examples =
        "Example:\n  kaon bench pipelined --matrix cavity3d:20 --json one.json\n  mpirun -np 2 "
        "kaon bench pipelined --matrix cavity3d:20 --join one.json\n\n"
        "A run measures the ranks that it has.",
    .options = option_rows,
    .arguments = sizeof(matrix_args),
    .run = run,
    .daily = "matrix precond reduce-delay seconds join json backend threads"};
