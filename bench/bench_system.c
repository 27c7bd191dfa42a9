/* bench_system.c - systems A x = b with sparse matrices: solves and their rows. Contract:
 * bench_matrix.h. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench/bench_matrix.h"
#include "interfaces/common/report.h"

static const double usual_tolerance = 1e-8; /* where --tol is not given */

/* --- systems --- */

linear_args system_args(const bench *b, const char *name) {
  static const char ones[] = "A*ones";
  const matrix_args *a = matrix_of(b);
  linear_args args = a->linear;
  args.matrix = name;
  args.rhs = ones;
  args.columns = 1;
  args.seed = 1;
  args.method = KAON_CGNR; /* takes any matrix, until a row chooses its own */
  if (isnan(args.tol)) args.tol = usual_tolerance;
  args.precision = args.sloppy = a->outer;
  return args;
}

int system_load(bench *b, const linear_args *args, linear *base) {
  int code = linear_check(args, base);
  if (code == EXIT_DONE) code = linear_matrix(b->ctx, base);
  return code == EXIT_DONE ? linear_decide(base) : code;
}

int system_make(const linear *base, const linear_args *args, linear *l) {
  int code = linear_check(args, l);
  l->ctx = base->ctx;
  l->matrix = base->matrix;
  l->info = base->info;
  if (code == EXIT_DONE) code = linear_operator(l);
  l->options.monitor = bench_monitor;
  return code;
}

int system_solve(bench *b, linear *l, int columns, bench_figures *figures) {
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

/* Updates and sums in separate passes move more than is counted. */
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
  json_object_update_new(
      figures,
      json_pack("{s:s s:s s:s s:o s:o s:o s:o s:i s:I}", "regime", cli_regime(f->issue, regime),
                "regime_asked", cli_choice(CLI_REGIMES, common->regime, asked), "sync",
                cli_choice(CLI_SYNCS, common->sync, sync), "seconds_mean", report_real(f->mean),
                "cpu_seconds", report_real(f->cpu_mean), "host_joules", report_real(f->host_joules),
                "bytes_step", report_real(step->bytes > 0 ? step->bytes : NAN), "check_interval",
                l->options.check_interval, "exchanges_ahead", (json_int_t)f->traffic.ahead));
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

json_t *system_add(bench *b, const linear *l, int columns, const bench_figures *f,
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
  matrix_describe(l, words, json);
  json_object_update_new(json, describe_solve(b, l, f, &step));
  print_solve(b, l, f, &step);
  return json;
}
