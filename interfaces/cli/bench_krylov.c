/* bench_krylov.c - Krylov methods on sparse matrices: microseconds a step, and what a step moves.
 * b = A * ones, x = 0 at first, to the tolerance; the best of a few solves. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "report.h"
#include "signals.h"

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

static int solve(bench *b, const linear *l, int columns, bench_figures *best) {
  const kaon_space *space = kaon_matrix_space(l->matrix);
  kaon_vector *source = NULL, *x = NULL;
  kaon_status status = kaon_vector_create(b->ctx, space, l->precision, columns, &source);
  if (status == KAON_OK) status = kaon_vector_create(b->ctx, space, l->precision, columns, &x);
  int code = cli_status(b->ctx, status, NULL);
  if (code == EXIT_DONE) code = linear_source(l, source);
  if (code == EXIT_DONE) code = cli_status(b->ctx, bench_best(b, l->solver, source, x, best), NULL);
  kaon_vector_destroy(&source);
  kaon_vector_destroy(&x);
  return code;
}

/* What one step takes besides the traffic of its products: vectors read and written, as the heads
 * of solvers/ count them; `scaled`: where the preconditioner multiplies by a diagonal in the same
 * pass as the rest (0, 0: no such case). */
typedef struct step_cost {
  int products, preconditions; /* of A (and A^dag), of K (and K^dag) */
  double plain[2], with[2], scaled[2];
} step_cost;

static const step_cost costs[] = {[KAON_CG] = {1, 1, {5, 3}, {5, 3}, {6, 4}},
                                  [KAON_PIPECG] = {1, 1, {7, 6}, {10, 8}, {8, 7}},
                                  [KAON_GROPPCG] = {1, 1, {9, 4}, {10, 5}, {0, 0}},
                                  [KAON_BICG] = {2, 2, {9, 5}, {9, 5}, {0, 0}},
                                  [KAON_BICGSTAB] = {2, 2, {10, 4}, {11, 4}, {0, 0}},
                                  [KAON_RBICGSTAB] = {2, 2, {17, 8}, {15, 6}, {0, 0}},
                                  [KAON_PIPEBICGSTAB] = {2, 2, {15, 8}, {15, 8}, {0, 0}},
                                  [KAON_CGNR] = {2, 0, {5, 3}, {0, 0}, {0, 0}},
                                  [KAON_CGNE] = {2, 0, {5, 3}, {0, 0}, {0, 0}},
                                  [KAON_MR] = {1, 0, {3, 2}, {0, 0}, {0, 0}},
                                  [KAON_BLOCKCG] = {1, 0, {8, 4}, {0, 0}, {0, 0}}};

/* vectors[]: read and written a step of one column; *bytes: of all columns and ranks, with those of
 * A and K. 0: not known. */
static void count_step(const linear *l, int columns, double vectors[2], double *bytes) {
  const kaon_method method = l->options.method;
  const step_cost *c = &costs[method];
  const int k = l->options.subspace, jacobi = l->args->precond == PRECOND_JACOBI;
  const double gcr[2] = {k + 5.0 + (k + 1.0) / k, 3 + 1.0 / k};
  const int scaled = l->K && jacobi && c->scaled[0] > 0;
  const double *moved = method == KAON_GCR ? gcr : scaled ? c->scaled : l->K ? c->with : c->plain;
  const int products = method == KAON_GCR ? 1 : c->products;
  const int preconditions = scaled ? 0 : method == KAON_GCR ? 1 : c->preconditions;
  const double size = bench_size(l->options.sloppy == KAON_DOUBLE ? KAON_DOUBLE : KAON_SINGLE);
  kaon_cost A = {0}, K = {0};
  const int mixed = l->options.sloppy != l->precision;
  vectors[0] = moved[0];
  vectors[1] = moved[1];
  *bytes = 0;
  /* of a coarser twin the cost cannot be asked for */
  if (mixed || moved[0] == 0 || kaon_operator_cost(l->A, columns, &A) != KAON_OK) return;
  if (l->K && preconditions && kaon_operator_cost(l->K, columns, &K) != KAON_OK) return;
  double sum = products * A.bytes + preconditions * K.bytes +
               (moved[0] + moved[1]) * size * (double)(l->info.rows * l->info.reals);
  *bytes = ranks_sum(&sum, 1) == KAON_OK ? sum * columns : 0;
}

static int add_row(bench *b, const linear *l, int columns, const bench_figures *f) {
  char name[64], precision[32], precond[32], form[16];
  const char *words = kaon_matrix_operator_format(l->A);
  double vectors[2], bytes;
  cli_choice(LINEAR_PRECONDS, l->args->precond, precond);
  snprintf(name, sizeof name, "solve-%s", linear_method_name(l));
  snprintf(precision, sizeof precision, "%s/%s", precision_name(l->precision),
           precision_name(l->options.sloppy));
  count_step(l, columns, vectors, &bytes);
  const double step = f->iterations > 0 ? f->seconds / f->iterations : NAN;
  bench_row row = {.name = name,
                   .matrix = cli_name(l->args->matrix),
                   .stored = bench_form(words, form),
                   .precision = l->options.sloppy,
                   .precision_text = precision,
                   .columns = columns,
                   .seconds = f->seconds,
                   .least = f->seconds,
                   .most = f->slowest,
                   .samples = f->repeats,
                   .flops = f->flops,
                   .bytes = bytes * f->iterations};
  (void)bench_bandwidth(b);
  json_t *json = bench_add(b, &row);
  bench_add_matrix(l, words, json);
  json_t *figures = json_pack(
      "{s:s s:o s:i s:o s:o s:o s:s s:o s:o s:o s:o s:o s:I s:I}", "method", linear_method_name(l),
      "preconditioner", precond_describe(l), "iterations", f->iterations, "residual",
      report_real(f->residual), "step_microseconds", report_real(1e6 * step), "cpu_share",
      report_real(f->cpu / f->seconds), "status", kaon_stop_reason_name(f->reason), "joules",
      report_real(f->joules), "tol", report_real(l->options.tol), "reduce_delay",
      report_real(b->args->common.reduce_delay), "vectors_read",
      report_real(vectors[0] > 0 ? vectors[0] : NAN), "vectors_written",
      report_real(vectors[0] > 0 ? vectors[1] : NAN), "sums", (json_int_t)f->traffic.sums,
      "exchanges", (json_int_t)f->traffic.exchanges);
  char regime[32];
  json_object_set_new(figures, "regime",
                      report_string(cli_choice(CLI_REGIMES, b->args->common.regime, regime)));
  json_object_set_new(figures, "bytes_step", report_real(bytes > 0 ? bytes : NAN));
  json_object_update(json, figures);
  json_decref(figures);
  cli_say(&b->args->common, "    %s, %s: %d iterations of %.2f us, residual %.2e, %s\n",
          linear_method_title(l), precond, f->iterations, 1e6 * step, f->residual,
          kaon_stop_reason_name(f->reason));
  if (vectors[0] > 0)
    cli_say(&b->args->common, "    a step reads %.3g vectors and writes %.3g besides its products",
            vectors[0], vectors[1]);
  if (bytes > 0)
    cli_say(&b->args->common, "; %.4g MB with them, %.2f GB/s", 1e-6 * bytes, 1e-9 * bytes / step);
  cli_say(&b->args->common, "%s%lld sums over ranks, %lld exchanges; processor time %.0f %%\n",
          vectors[0] > 0 ? "\n    " : "    ", (long long)f->traffic.sums,
          (long long)f->traffic.exchanges, 100 * f->cpu / f->seconds);
  return bench_keep(b) == KAON_OK ? EXIT_DONE : EXIT_DEVICE;
}

/* One preconditioner and inner precision: operator and preconditioner are there, methods and
 * columns follow one another. */
static int methods(bench *b, linear *l) {
  const cli_counts one = {1, {1}};
  const bench_args *a = b->args;
  const cli_counts *columns = cli_given(&a->common, "columns") ? &a->columns : &one;
  int code = linear_operator(l);
  l->options.monitor = bench_monitor;
  for (int m = 0; m < 32 && code == EXIT_DONE; m++) {
    if (!(a->methods >> m & 1)) continue;
    kaon_operator_destroy(&l->R);
    linear_choose(l, m);
    if (l->projections >= 0 && l->K) continue; /* its sweeps take the place of one */
    code = linear_fits(l);
    for (int i = 0; i < columns->count && code == EXIT_DONE; i++) {
      bench_figures figures;
      code = linear_solver(l, columns->value[i]);
      bench_stage(b);
      if (code == EXIT_DONE) code = solve(b, l, columns->value[i], &figures);
      if (code == EXIT_DONE) code = add_row(b, l, columns->value[i], &figures);
      if (code == EXIT_DONE && figures.reason != KAON_CONVERGED) b->unconverged = 1;
      kaon_solver_destroy(&l->solver);
    }
  }
  linear_clear(l);
  return code;
}

static int matrix(bench *b, const char *name) {
  const bench_args *a = b->args;
  const int formats = (int)a->formats;
  linear_args args = a->linear;
  linear base;
  char ones[] = "A*ones";
  const unsigned precisions = cli_given(&a->common, "precision") ? a->precision : 1u << a->outer;
  args.matrix = name;
  args.rhs = ones;
  args.columns = 1;
  args.seed = 1;
  args.method = 8; /* cgnr takes any matrix; the rows' methods follow */
  args.tol = cli_given(&a->common, "tol") ? a->problem.tol : 1e-8;
  args.max_iter = a->problem.max_iter;
  args.refinement = a->problem.refinement;
  args.set = a->problem.set;
  args.precision = args.sloppy = a->outer;
  int code = linear_check(&args, &base);
  if (code == EXIT_DONE) code = linear_matrix(b->ctx, &base);
  if (code == EXIT_DONE) code = linear_decide(&base);
  if (code == EXIT_DONE) linear_print(&a->common, &base);
  for (int k = 0; k < 32 && code == EXIT_DONE; k++)
    for (int p = a->outer; p < 3 && code == EXIT_DONE; p++)
      for (int f = 0; f < 4 && code == EXIT_DONE; f++) {
        linear_args own = args;
        linear l;
        if (!(a->preconds >> k & 1) || !(precisions >> p & 1) || !(formats >> f & 1)) continue;
        own.precond = k;
        own.sloppy = p;
        own.format = f;
        code = linear_check(&own, &l);
        l.ctx = base.ctx;
        l.matrix = base.matrix;
        l.info = base.info;
        if (code == EXIT_DONE) code = methods(b, &l);
      }
  linear_close(&base);
  return code;
}

int bench_krylov(bench *b) {
  const int code = bench_matrices(b, matrix);
  return code == EXIT_DONE && b->unconverged ? EXIT_NOT_CONVERGED : code;
}
