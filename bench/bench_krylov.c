/* bench_krylov.c - Krylov methods on sparse matrices: microseconds a step, and what a step moves.
 * b = A * ones, x = 0 at first, to the tolerance; the median of a few solves. The parts that
 * regimes and pipelined share as well: systems, their solves and rows. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "interfaces/common/report.h"
#include "interfaces/common/signals.h"

static const double usual_tolerance = 1e-8; /* where --tol is not given */

const char *bench_form(const char *words, char form[16]) {
  size_t n = strcspn(words, " ,-:");
  if (n > 15) n = 15;
  for (size_t i = 0; i < n; i++)
    form[i] = words[i] >= 'A' && words[i] <= 'Z' ? (char)(words[i] + 'a' - 'A') : words[i];
  form[n] = '\0';
  return form;
}

void bench_add_matrix(const linear *l, const char *words, json_t *json) {
  char ordering[32], form[16];
  json_t *matrix =
      json_pack("{s:o s:I s:I s:s s:s s:s}", "matrix", report_string(cli_name(l->args->matrix)),
                "rows", (json_int_t)l->info.global_rows, "entries",
                (json_int_t)l->info.global_entries, "format", bench_form(words, form), "stored",
                words, "ordering", cli_choice(LINEAR_ORDERINGS, l->args->ordering, ordering));
  json_object_update(json, matrix);
  json_decref(matrix);
}

kaon_status bench_fill_rows(const linear *l, kaon_vector *v) {
  const size_t n = (size_t)l->info.rows * (size_t)l->info.reals;
  double *numbers = malloc((n + 1) * sizeof *numbers);
  uint64_t state = 1;
  for (size_t i = 0; numbers && i < n;
       i++) { /* Knuth's MMIX generator; the quality does not matter */
    state = state * 6364136223846793005u + 1442695040888963407u;
    numbers[i] = (double)(state >> 40) / (double)(1 << 23) - 1;
  }
  kaon_status status = kaon_context_agree(l->ctx, numbers ? KAON_OK : KAON_ERR_MEMORY);
  for (int k = 0; k < kaon_vector_columns(v) && status == KAON_OK; k++)
    status = kaon_vector_import(v, k, numbers, KAON_BASIS_UKQCD);
  free(numbers);
  return status;
}

/* --- systems --- */

/* The method that takes any matrix; the rows' own follow. */
static int any_method(void) {
  return linear_index(KAON_CGNR);
}

linear_args bench_linear(const bench *b, const char *name) {
  static const char ones[] = "A*ones";
  const bench_args *a = b->args;
  linear_args args = a->linear;
  args.matrix = name;
  args.rhs = ones;
  args.columns = 1;
  args.seed = 1;
  args.method = any_method();
  args.tol = cli_option_given(&a->common, "tol") ? a->problem.tol : usual_tolerance;
  args.max_iter = a->problem.max_iter;
  args.refinement = a->problem.refinement;
  args.set = a->problem.set;
  args.precision = args.sloppy = a->outer;
  return args;
}

int bench_load(bench *b, const linear_args *args, linear *base) {
  int code = linear_check(args, base);
  if (code == EXIT_DONE) code = linear_matrix(b->ctx, base);
  return code == EXIT_DONE ? linear_decide(base) : code;
}

int bench_system(const linear *base, const linear_args *args, linear *l) {
  int code = linear_check(args, l);
  l->ctx = base->ctx;
  l->matrix = base->matrix;
  l->info = base->info;
  if (code == EXIT_DONE) code = linear_operator(l);
  l->options.monitor = bench_monitor;
  return code;
}

int bench_solve_system(bench *b, linear *l, int columns, bench_figures *figures) {
  const kaon_space *space = kaon_matrix_space(l->matrix);
  kaon_vector *source = NULL, *x = NULL;
  int code = l->solver ? EXIT_DONE : linear_solver(l, columns);
  bench_stage(b);
  if (code != EXIT_DONE) return code;
  kaon_status status = kaon_vector_create(b->ctx, space, l->precision, columns, &source);
  if (status == KAON_OK) status = kaon_vector_create(b->ctx, space, l->precision, columns, &x);
  code = cli_status(b->ctx, status, NULL);
  if (code == EXIT_DONE) code = linear_source(l, source);
  if (code == EXIT_DONE)
    code = cli_status(b->ctx, bench_median(b, l->solver, source, x, figures), NULL);
  if (code == EXIT_DONE && figures->reason != KAON_CONVERGED) b->unconverged = 1;
  kaon_vector_destroy(&source);
  kaon_vector_destroy(&x);
  return code;
}

/* --- rows --- */

/* Where updates and sums are passes of their own a step moves more than is counted. */
static int is_fused(const bench_figures *f) {
  return f->issue != KAON_ISSUE_SEPARATE && f->issue != KAON_ISSUE_LIBRARY;
}

static json_t *describe_solve(const bench *b, const linear *l, const bench_figures *f,
                              const bench_step *step) {
  char regime[32], asked[32], sync[32];
  const cli_common *common = &b->args->common;
  const double seconds = f->iterations > 0 ? f->seconds / f->iterations : NAN;
  json_t *figures = json_pack(
      "{s:s s:o s:i s:o s:o s:o s:o s:s s:o s:o s:o s:o s:o s:I s:I s:I}", "method",
      linear_method_name(l), "preconditioner", precond_describe(l), "iterations", f->iterations,
      "residual", report_real(f->residual), "step_microseconds", report_real(1e6 * seconds),
      "setup_seconds", report_real(l->made[0] + l->made[1]), "cpu_share",
      report_real(f->cpu_mean / f->mean), "status", kaon_stop_reason_name(f->reason), "joules",
      report_real(f->joules), "tol", report_real(l->options.tol), "reduce_delay",
      report_real(common->reduce_delay), "vectors_read",
      report_real(step->read > 0 ? step->read : NAN), "vectors_written",
      report_real(step->read > 0 ? step->written : NAN), "sums", (json_int_t)f->traffic.sums,
      "sums_hidden", (json_int_t)f->traffic.hidden, "exchanges", (json_int_t)f->traffic.exchanges);
  json_t *more =
      json_pack("{s:s s:s s:s s:o s:o s:o s:o s:i s:I}", "regime", cli_regime(f->issue, regime),
                "regime_asked", cli_choice(CLI_REGIMES, common->regime, asked), "sync",
                cli_choice(CLI_SYNCS, common->sync, sync), "seconds_mean", report_real(f->mean),
                "cpu_seconds", report_real(f->cpu_mean), "host_joules", report_real(f->host_joules),
                "bytes_step", report_real(step->bytes > 0 ? step->bytes : NAN), "check_interval",
                l->options.check_interval, "exchanges_ahead", (json_int_t)f->traffic.ahead);
  json_object_update(figures, more);
  json_decref(more);
  return figures;
}

static void print_solve(const bench *b, const linear *l, const bench_figures *f,
                        const bench_step *step) {
  char precond[32], regime[32];
  const cli_common *common = &b->args->common;
  const double seconds = f->iterations > 0 ? f->seconds / f->iterations : NAN;
  cli_print(common, "    %s, %s, %s: %d iterations of %.2f us, residual %.2e, %s\n",
          linear_method_title(l), cli_choice(LINEAR_PRECONDS, l->args->precond, precond),
          cli_regime(f->issue, regime), f->iterations, 1e6 * seconds, f->residual,
          kaon_stop_reason_name(f->reason));
  if (step->read > 0)
    cli_print(common, "    a step reads %.3g vectors and writes %.3g besides its products",
            step->read, step->written);
  if (step->bytes > 0)
    cli_print(common, "; %.4g MB with them, %.2f GB/s", 1e-6 * step->bytes,
            1e-9 * step->bytes / seconds);
  cli_print(common,
          "%s%lld sums over ranks, %lld of them hidden, %lld exchanges, %lld of them ahead of "
          "updates; processor time %.0f %%\n",
          step->read > 0 ? "\n    " : "    ", (long long)f->traffic.sums,
          (long long)f->traffic.hidden, (long long)f->traffic.exchanges,
          (long long)f->traffic.ahead, 100 * f->cpu_mean / f->mean);
}

json_t *bench_add_solve(bench *b, const linear *l, int columns, const bench_figures *f,
                        const char *name) {
  char precision[32], form[16];
  const char *words = kaon_matrix_operator_format(l->A);
  bench_step step = bench_count_step(l, columns, f->traffic.ahead > 0);
  if (!is_fused(f)) step = (bench_step){0};
  snprintf(precision, sizeof precision, "%s/%s", precision_name(l->precision),
           precision_name(l->options.sloppy));
  bench_row row = {.name = name,
                   .matrix = cli_name(l->args->matrix),
                   .stored = bench_form(words, form),
                   .precision = l->options.sloppy,
                   .precision_text = precision,
                   .columns = columns,
                   .seconds = f->seconds,
                   .least = f->fastest,
                   .most = f->slowest,
                   .samples = f->repeats,
                   .flops = f->flops,
                   .bytes = step.bytes * f->iterations};
  (void)bench_bandwidth(b);
  json_t *json = bench_add(b, &row);
  bench_add_matrix(l, words, json);
  json_t *figures = describe_solve(b, l, f, &step);
  json_object_update(json, figures);
  json_decref(figures);
  print_solve(b, l, f, &step);
  return json;
}

static int add_row(bench *b, const linear *l, int columns, const bench_figures *f) {
  char name[64];
  snprintf(name, sizeof name, "solve-%s", linear_method_name(l));
  (void)bench_add_solve(b, l, columns, f, name);
  return bench_add_row(b) == KAON_OK ? EXIT_DONE : EXIT_DEVICE;
}

/* --- bench krylov --- */

/* Of lists what fits together is measured; the one pair that was asked for is refused if it does
 * not. */
static int several(const bench_args *a) {
  return (a->methods & (a->methods - 1)) != 0 || (a->preconds & (a->preconds - 1)) != 0;
}

static int check_precisions(const bench_args *a) {
  if (!cli_option_given(&a->common, "precision") || a->precision >> a->outer != 0) return EXIT_DONE;
  return cli_wrong("--precision double is finer than --outer single; leave one of them out");
}

/* One preconditioner and inner precision: operator and preconditioner are there, methods and
 * columns follow one another. */
static int methods(bench *b, linear *l) {
  const cli_counts one = {1, {1}};
  const bench_args *a = b->args;
  const cli_counts *columns = cli_option_given(&a->common, "columns") ? &a->columns : &one;
  int code = EXIT_DONE;
  for (int m = 0; m < BENCH_BITS && code == EXIT_DONE; m++) {
    if (!(a->methods >> m & 1)) continue;
    kaon_operator_destroy(&l->R);
    linear_choose(l, m);
    if (l->projections >= 0 && l->K) continue; /* its sweeps take the place of one */
    if (l->K && several(a) && !precond_takes(l)) {
      char name[32];
      cli_print(&a->common, "%s with --precond %s: left out, no preconditioner for it\n",
              linear_method_name(l), cli_choice(LINEAR_PRECONDS, l->args->precond, name));
      continue;
    }
    code = linear_fits(l);
    for (int i = 0; i < columns->count && code == EXIT_DONE; i++) {
      bench_figures figures;
      code = bench_solve_system(b, l, columns->value[i], &figures);
      if (code == EXIT_DONE) code = add_row(b, l, columns->value[i], &figures);
      kaon_solver_destroy(&l->solver);
    }
  }
  return code;
}

static int matrix(bench *b, const char *name) {
  const bench_args *a = b->args;
  const linear_args args = bench_linear(b, name);
  linear base;
  const unsigned precisions = cli_option_given(&a->common, "precision") ? a->precision : 1u << a->outer;
  int code = bench_load(b, &args, &base);
  if (code == EXIT_DONE) linear_print(&a->common, &base);
  for (int k = 0; k < BENCH_BITS && code == EXIT_DONE; k++)
    for (int p = a->outer; p < BENCH_PRECISIONS && code == EXIT_DONE; p++)
      for (int f = 0; f < BENCH_FORMATS && code == EXIT_DONE; f++) {
        linear_args own = args;
        linear l;
        if (!(a->preconds >> k & 1) || !(precisions >> p & 1) || !(a->formats >> f & 1)) continue;
        own.precond = k;
        own.sloppy = p;
        own.format = f;
        code = bench_system(&base, &own, &l);
        if (code == EXIT_DONE) code = methods(b, &l);
        linear_clear(&l);
      }
  linear_close(&base);
  return code;
}

/* Options of projections where nothing projects, or two orders of rows at once. */
static int check_projections(const bench_args *a) {
  static const char *const options[] = {"lambda",      "coloring",    "sweep-order",
                                        "permutation", "carp-blocks", "carp-rows"};
  unsigned kinds = 0;
  int colours = 0; /* methods whose rows go by colours, too */
  for (int m = 0; m < BENCH_BITS; m++) {
    linear l = {0};
    if (!(a->methods >> m & 1)) continue;
    linear_choose(&l, m);
    if (l.projections >= 0) kinds |= 1u << l.projections;
    colours |= l.options.method == KAON_GS || l.options.method == KAON_SOR;
  }
  for (int k = 0; k < BENCH_BITS; k++)
    if ((a->preconds >> k & 1) && sweeps_kind(k) >= 0) kinds |= 1u << sweeps_kind(k);
  for (size_t i = 0; i < sizeof options / sizeof *options && !kinds; i++)
    if (cli_option_given(&a->common, options[i]) && !(colours && strcmp(options[i], "coloring") == 0))
      return cli_wrong(
          "--%s is for --method kaczmarz, cgmnc, carpcg and cimmino and for a --precond of such "
          "sweeps, of which none is given; leave it out",
          options[i]);
  for (int kind = 0; kind <= KAON_KACZMARZ_CIMMINO; kind++)
    if ((kinds >> kind & 1) && projections_orders(&a->linear, kind) != EXIT_DONE) return EXIT_USAGE;
  return EXIT_DONE;
}

int bench_krylov(bench *b) {
  int wrong = check_projections(b->args);
  if (wrong == EXIT_DONE) wrong = check_precisions(b->args);
  if (wrong == EXIT_DONE) wrong = precond_idle(&b->args->linear, b->args->preconds);
  if (wrong != EXIT_DONE) return wrong;
  const int code = bench_matrices(b, matrix);
  return bench_end(b, code);
}
