/* bench_relax.c - one matrix and its solves by relaxation. Contract: bench_relax.h. */
#include "bench/papers/bench_relax.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interfaces/common/report.h"

const cli_option relax_block_rows[] = {
    {CLI_INT, "block", "B", NULL, RELAX_AT(block), 1, 1024,
     "rows of a block (default: 448; table stat and faults: 112, Trefethen's 128)"},
    {CLI_INT, "local-sweeps", "K", NULL, RELAX_AT(sweeps), 1, 1000,
     "Jacobi sweeps in a block an iteration (default: 5; table stat and faults: 6)"},
    CLI_END_ROW};

const cli_option relax_file_rows[] = {
    BENCH_OPTION_JSON,
    {CLI_FILE, "csv", "FILE", NULL, MATRIX_AT(csv), 0, 0, "write rows as CSV"},
    {CLI_FILE, "histories", "FILE.csv", NULL, RELAX_AT(histories), 0, 0,
     "residuals by iteration, a file a matrix, its name before the end of this one"},
    CLI_END_ROW};

const cli_option relax_detail_rows[] = {
    CLI_GROUP_ROW("Details:"), BENCH_OPTION_OUTER(MATRIX_AT),
    CLI_TABLE_ROW(matrix_storage_rows, offsetof(matrix_args, linear)),
    CLI_TABLE_ROW(bench_rank_rows, 0), CLI_END_ROW};

static linear_args args_of(const bench *b, const char *name) {
  static char ones[] = "ones";
  const matrix_args *a = matrix_of(b);
  linear_args args = a->linear;
  args.matrix = name;
  args.rhs = ones;
  args.columns = 1;
  args.seed = 1;
  args.method = 10; /* mr takes any matrix, until a run chooses its method */
  args.tol = 1e-8;
  args.max_iter = 100000;
  args.precond = PRECOND_NONE;
  args.precision = args.sloppy = a->outer;
  return args;
}

int relax_bench_open(relax_bench *r, bench *b, kaon_context *ctx, const char *name) {
  static linear_args args; /* systems refer to it; those open at a time have the same matrix */
  *r = (relax_bench){.b = b};
  args = args_of(b, name);
  int code = linear_check(&args, &r->l);
  if (code == EXIT_DONE) code = linear_matrix(ctx, &r->l);
  if (code == EXIT_DONE) code = linear_decide(&r->l);
  if (code == EXIT_DONE) code = linear_operator(&r->l);
  if (code != EXIT_DONE) return code;
  const kaon_space *space = kaon_matrix_space(r->l.matrix);
  kaon_status status = kaon_vector_create(ctx, space, r->l.precision, 1, &r->right);
  if (status == KAON_OK) status = kaon_vector_create(ctx, space, r->l.precision, 1, &r->x);
  code = cli_status(ctx, status, NULL);
  return code == EXIT_DONE ? linear_source(&r->l, r->right) : code;
}

void relax_bench_close(relax_bench *r) {
  kaon_vector_destroy(&r->right);
  kaon_vector_destroy(&r->x);
  linear_close(&r->l);
}

const char *relax_bench_name(const relax_bench *r, char name[64]) {
  snprintf(name, 64, "%s", cli_name(r->l.args->matrix));
  char *end = strstr(name, ".mtx");
  if (end) *end = '\0';
  return name;
}

static int is_trefethen(const relax_bench *r) {
  char name[64];
  relax_bench_name(r, name);
  return strstr(name, "refethen") != NULL;
}

void relax_bench_points(const relax_bench *r, int *every, int *last) {
  *every = is_trefethen(r) ? 5 : 10;
  *last = is_trefethen(r) ? 50 : 150;
}

static relax_run run_of(const relax_bench *r, kaon_method method, double tol, int steps, int block,
                        int sweeps) {
  const relax_args *a = relax_of(r->b);
  relax_run run = {.method = method, .tol = tol, .steps = steps};
  run.options = (kaon_relax_options)KAON_RELAX_OPTIONS_INIT;
  run.lab = (kaon_lab_relax_options)KAON_LAB_RELAX_OPTIONS_INIT;
  run.options.block = a->block ? a->block : block;
  run.options.local_sweeps = a->sweeps ? a->sweeps : sweeps;
  if (a->lag >= 0) run.options.lag = a->lag;
  return run;
}

relax_run relax_run_of(const relax_bench *r, kaon_method method, double tol, int steps) {
  return run_of(r, method, tol, steps, 448, 5);
}

relax_run relax_run_of_tables(const relax_bench *r, kaon_method method, double tol, int steps) {
  return run_of(r, method, tol, steps, is_trefethen(r) ? 128 : 112, 6);
}

double relax_tolerance(const relax_bench *r, double usual) {
  const double tol = relax_of(r->b)->matrix.linear.tol;
  return isnan(tol) ? usual : tol;
}

/* Reads the report of a solve, with the flips of all ranks. */
static kaon_status count_flips(kaon_solver *solver, kaon_relax_report *report) {
  *report = (kaon_relax_report)KAON_RELAX_REPORT_INIT;
  kaon_status status = kaon_solver_relaxation(solver, report);
  if (status != KAON_OK) return status;
  double flips = (double)report->flips;
  status = ranks_sum(&flips, 1);
  report->flips = (int64_t)flips;
  return status;
}

int relax_run_solve(relax_bench *r, relax_run *run) {
  kaon_context *ctx = r->l.ctx;
  kaon_solver *solver = NULL;
  kaon_solver_options options = r->l.options;
  options.method = run->method;
  options.tol = run->tol;
  options.max_iterations = run->steps;
  kaon_relax_options relax = run->options;
  relax.lab = &run->lab; /* not in run->options: runs are copied */
  options.relax = &relax;
  options.monitor = bench_monitor;
  relax_run_clear(run);
  kaon_status status = kaon_vector_zero(r->x);
  if (status == KAON_OK) status = kaon_solver_create(r->l.A, 1, &options, &solver);
  if (status == KAON_OK) status = kaon_context_synchronise(ctx);
  run->solve = (kaon_solve_report)KAON_SOLVE_REPORT_INIT;
  run->relaxation = (kaon_relax_report)KAON_RELAX_REPORT_INIT;
  if (status == KAON_OK)
    status = kaon_solver_solve(solver, r->right, r->x, &run->report, &run->solve);
  if (status == KAON_OK && bench_stopped()) status = KAON_ERR_CANCELLED;
  if (status == KAON_OK && relax_is(run->method)) status = count_flips(solver, &run->relaxation);
  if (status == KAON_OK) histories_copy(solver, 1, &run->history);
  kaon_solver_destroy(&solver);
  return cli_status(ctx, status, NULL);
}

/* 0: on several ranks, values came by another exchange than asked for. */
static int is_as_asked(const relax_bench *r, const relax_run *run) {
  const kaon_relax_exchange asked = run->lab.exchange;
  return r->b->info.ranks == 1 || asked == KAON_EXCHANGE_AUTO || run->relaxation.exchange == asked;
}

static int by_seconds(const void *a, const void *b) {
  const double x = ((const relax_run *)a)->solve.seconds, y = ((const relax_run *)b)->solve.seconds;
  return (x > y) - (x < y);
}

/* *run = the run with the median time. Histories of the others are freed. */
static void take_middle(relax_run *run, relax_run *runs, int count, double *seconds) {
  kaon_stop_reason reason = KAON_CONVERGED;
  qsort(runs, (size_t)count, sizeof *runs, by_seconds);
  for (int i = 0; i < count; i++) {
    seconds[i] = runs[i].solve.seconds;
    if (runs[i].report.reason != KAON_CONVERGED) reason = runs[i].report.reason;
    if (i != (count - 1) / 2) relax_run_clear(&runs[i]);
  }
  *run = runs[(count - 1) / 2];
  run->report.reason = reason;
}

int relax_run_repeat(relax_bench *r, relax_run *run, int samples, bench_spread *times) {
  static const double long_seconds = 10;
  relax_run *runs = calloc((size_t)samples, sizeof *runs);
  double *seconds = calloc((size_t)samples, sizeof *seconds), all = 0;
  int done = 0, more = 1;
  kaon_status status = kaon_context_agree(r->l.ctx, runs && seconds ? KAON_OK : KAON_ERR_MEMORY);
  int code = cli_status(r->l.ctx, status, NULL);
  for (; done < samples && all < long_seconds && more && code == EXIT_DONE; done++) {
    runs[done] = *run;
    runs[done].history = (column_history){NULL, 0};
    code = relax_run_solve(r, &runs[done]);
    if (code == EXIT_DONE)
      code = cli_status(r->l.ctx, ranks_most(&runs[done].solve.seconds, 1), NULL);
    all += runs[done].solve.seconds;
    more = is_as_asked(r, &runs[done]);
  }
  if (code == EXIT_DONE) {
    take_middle(run, runs, done, seconds);
    *times = bench_spread_of(seconds, done);
  }
  for (int i = 0; i < done && code != EXIT_DONE; i++) relax_run_clear(&runs[i]);
  free(runs);
  free(seconds);
  return code;
}

void relax_run_clear(relax_run *run) {
  free(run->history.residual);
  run->history = (column_history){NULL, 0};
}

json_t *relax_bench_row(relax_bench *r, const char *name, double seconds) {
  bench *b = r->b;
  const bench_row row = {.name = name,
                         .matrix = cli_name(r->l.args->matrix),
                         .stored = "",
                         .precision = r->l.precision,
                         .columns = 1};
  json_t *json = bench_describe(b, &row);
  matrix_describe(&r->l, kaon_matrix_operator_format(r->l.A), json);
  json_object_set_new(json, "seconds", report_real(seconds));
  json_object_set_new(json, "gflops", json_null());
  json_object_set_new(json, "ideal_gbs", json_null());
  json_object_set_new(json, "limit_gbs", report_real(b->all.read_gbs));
  json_array_append_new(b->rows, json);
  return json;
}

json_t *relax_bench_row_of(relax_bench *r, const char *name, const bench_spread *times) {
  json_t *json = relax_bench_row(r, name, times->median);
  json_object_set_new(json, "seconds_min", report_real(times->least));
  json_object_set_new(json, "seconds_max", report_real(times->most));
  json_object_set_new(json, "samples", json_integer(times->count));
  return json;
}

/* About 160 points of a curve, evenly spaced, with the last one: [[iteration, residual], ...].
 * Iterations between two residual computations are no points. */
static json_t *curve_of(const column_history *h) {
  enum { POINTS = 160 };
  json_t *curve = json_array();
  const int every = h->count / POINTS + 1;
  for (int i = 0; i < h->count; i++)
    if ((i % every == 0 || i + 1 == h->count) && isfinite(h->residual[i]))
      json_array_append_new(curve, json_pack("[i,f]", i, h->residual[i]));
  return curve;
}

static void add_curves(relax_bench *r, const char *what, const column_history *histories,
                       const char *const *names, int count) {
  json_t *row = relax_bench_row(r, "relax-history", NAN), *curves = json_object();
  json_object_set_new(row, "what", json_string(what));
  for (int k = 0; k < count; k++) json_object_set_new(curves, names[k], curve_of(&histories[k]));
  json_object_set_new(row, "curves", curves);
}

int relax_bench_histories(relax_bench *r, const char *what, const column_history *histories,
                          const char *const *names, int count) {
  const char *path = relax_of(r->b)->histories;
  char name[64], file[4096], *text = NULL;
  size_t length = 0;
  int longest = 0;
  add_curves(r, what, histories, names, count);
  if (!path) return EXIT_DONE;
  const char *end = strrchr(path, '.');
  const int stem = end && !strchr(end, '/') ? (int)(end - path) : (int)strlen(path);
  snprintf(file, sizeof file, "%.*s-%s-%s%s", stem, path, relax_bench_name(r, name), what,
           path + stem);
  FILE *out = open_memstream(&text, &length);
  if (!out) return EXIT_DEVICE;
  fputs("iteration", out);
  for (int k = 0; k < count; k++) {
    fprintf(out, ",%s", names[k]);
    if (histories[k].count > longest) longest = histories[k].count;
  }
  for (int i = 0; i < longest; i++) {
    fprintf(out, "\n%d", i);
    for (int k = 0; k < count; k++)
      if (i < histories[k].count)
        fprintf(out, ",%.9e", histories[k].residual[i]);
      else
        fputc(',', out);
  }
  fputc('\n', out);
  const int code = fclose(out) == 0 ? report_text(file, text, length) : EXIT_DEVICE;
  free(text);
  if (code == EXIT_DONE) cli_print(&r->b->args->common, "written: %s\n", file);
  return code;
}

int relax_bench_run(relax_args *a, const cli_option *options, bench_function *measure) {
  static const int chosen[4] = {0};
  linear_args *own = &a->matrix.linear;
  bench b;
  relax_defaults(own);
  linear_without_preconds(own);
  linear_without_projections(own);
  int code = bench_check_files(options, a);
  if (code != EXIT_DONE) return code;
  code = bench_begin(&b, &a->matrix.bench, chosen);
  if (code == EXIT_DONE) code = bench_open_machine(&b);
  if (code == EXIT_DONE) code = measure(&b);
  if (code == EXIT_DONE && a->matrix.csv) code = bench_csv(&b, a->matrix.csv);
  return bench_finish(&b, code);
}
