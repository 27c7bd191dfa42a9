/* bench_kaczmarz.c - the measurements of the Kaczmarz paper (Faroux et al., ETH Zurich 2024) in its
 * own form: rates of sweeps (Figure 4, Table 3), residuals by sweeps (Figure 5), steps by lambda
 * (Figure 6), times to 1e-9 by size (Figure 7). Implementations are contexts of their own: one CPU
 * thread, all of them, the device where there is one. Each line of a table is a row of the JSON
 * list and of the CSV file. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench.h"
#include "report.h"
#include "signals.h"

enum { SERIAL, OPENMP, DEVICE, MACHINES };
static const char *const machine_names[] = {"cpu-serial", "cpu-openmp", "cuda"};

typedef struct machines {
  bench *b;
  kaon_context *ctx[MACHINES]; /* NULL: not there */
  FILE *csv;
} machines;

static double clock_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int open_machines(machines *m) {
  const cli_common *common = &m->b->args->common;
  int code = EXIT_DONE;
  for (int i = 0; i < MACHINES && code == EXIT_DONE; i++) {
    kaon_context_options o = KAON_CONTEXT_OPTIONS_INIT;
    if (i == DEVICE && bench_on_host(m->b)) continue;
    o.backend = i == DEVICE ? KAON_BACKEND_CUDA : KAON_BACKEND_CPU;
    o.threads = i == SERIAL ? 1 : common->threads;
    code = cli_status(NULL, kaon_context_create(&o, &m->ctx[i]), machine_names[i]);
  }
  return code;
}

/* ---- lines ---- */

/* One line: to the list, to the CSV file (figure, matrix, rows, machine, what, x, value, unit). */
static int add_line(const machines *m, const char *figure, const char *matrix, int64_t rows,
                    const char *place, const char *what, double x, double value, const char *unit,
                    double seconds, json_t *more) {
  json_t *row =
      json_pack("{s:s s:s s:o s:I s:s s:s s:o s:o s:s s:o s:s s:i s:i s:s}", "bench", "kaczmarz",
                "figure", figure, "matrix", report_string(matrix), "rows", (json_int_t)rows,
                "machine", place, "what", what, "x", report_real(x), "value", report_real(value),
                "unit", unit, "seconds", report_real(seconds), "precision", "double", "columns", 1,
                "ranks", m->b->info.ranks, "backend", strcmp(place, "cuda") == 0 ? "cuda" : "cpu");
  if (more) json_object_update(row, more);
  json_decref(more);
  json_array_append_new(m->b->rows, row);
  if (m->csv)
    fprintf(m->csv, "%s,\"%s\",%lld,%s,%s,%.10g,%.10g,%s\n", figure, matrix, (long long)rows, place,
            what, x, value, unit);
  return bench_keep(m->b) == KAON_OK ? EXIT_DONE : EXIT_DEVICE;
}

/* ---- systems ---- */

typedef struct system_of {
  kaon_context *ctx;
  const char *name;
  kaon_matrix *matrix;
  kaon_matrix_info info;
  kaon_operator *A;
  kaon_vector *b, *x, *r;
  double *points, *numbers;
  int dimensions;
} system_of;

static void close_system(system_of *s) {
  kaon_vector_destroy(&s->b);
  kaon_vector_destroy(&s->x);
  kaon_vector_destroy(&s->r);
  kaon_operator_destroy(&s->A);
  kaon_matrix_destroy(&s->matrix);
  free(s->points);
  free(s->numbers);
}

static int open_system(kaon_context *ctx, const char *name, int rcm, system_of *s) {
  kaon_matrix_options options = KAON_MATRIX_OPTIONS_INIT;
  *s = (system_of){.ctx = ctx, .name = name};
  options.ordering = rcm ? KAON_ORDERING_RCM : KAON_ORDERING_NONE;
  kaon_status status = kaon_matrix_generate(ctx, name, &options, &s->matrix, &s->numbers);
  if (status == KAON_OK) status = kaon_matrix_describe(s->matrix, &s->info);
  if (status == KAON_OK) status = kaon_matrix_operator(s->matrix, NULL, &s->A);
  kaon_vector **const vectors[] = {&s->b, &s->x, &s->r};
  for (int i = 0; i < 3 && status == KAON_OK; i++)
    status = kaon_vector_create(ctx, kaon_matrix_space(s->matrix), KAON_DOUBLE, 1, vectors[i]);
  if (status == KAON_OK && !s->numbers) {
    s->numbers = malloc((size_t)(s->info.rows + 1) * sizeof *s->numbers);
    if (!s->numbers) status = KAON_ERR_MEMORY;
    for (int64_t i = 0; i < s->info.rows && s->numbers; i++) s->numbers[i] = 1;
  }
  if (status == KAON_OK) status = kaon_vector_import(s->b, 0, s->numbers, KAON_BASIS_UKQCD);
  if (status == KAON_OK &&
      kaon_matrix_generate_points(ctx, name, &s->dimensions, &s->points) != KAON_OK)
    s->dimensions = 0;
  return cli_status(ctx, status, name);
}

/* |b - A x|_1 */
static kaon_status residual_sum(system_of *s, double *sum) {
  kaon_status status = kaon_operator_apply(s->A, KAON_PLAIN, s->x, s->r);
  if (status == KAON_OK) status = kaon_vector_axpy(-1, 0, s->b, s->r);
  if (status == KAON_OK) status = kaon_vector_export(s->r, 0, s->numbers, KAON_BASIS_UKQCD);
  *sum = 0;
  for (int64_t i = 0; i < s->info.rows && status == KAON_OK; i++) *sum += fabs(s->numbers[i]);
  return status;
}

static kaon_kaczmarz_options sweeps_in(const system_of *s, kaon_sweep_order order) {
  kaon_kaczmarz_options o = KAON_KACZMARZ_OPTIONS_INIT;
  o.kind = KAON_KACZMARZ_SWEEP;
  o.order = order;
  o.coordinates = order == KAON_SWEEP_SECTIONS ? s->points : NULL;
  o.dimensions = order == KAON_SWEEP_SECTIONS ? s->dimensions : 0;
  return o;
}

/* `sweeps` from x = 0: seconds, and the residual's sum after them. */
static int time_sweeps(system_of *s, const kaon_kaczmarz_options *o, int sweeps, double *seconds,
                       double *sum, kaon_kaczmarz_info *info) {
  kaon_operator *K = NULL, *warm = NULL;
  kaon_status status = kaon_kaczmarz_preconditioner(s->A, o, sweeps, &K);
  if (status == KAON_OK) status = kaon_kaczmarz_preconditioner(s->A, o, 2, &warm);
  if (status == KAON_OK) status = kaon_kaczmarz_describe(K, info);
  if (status == KAON_OK) status = kaon_operator_apply(warm, KAON_PLAIN, s->b, s->x);
  if (status == KAON_OK) status = kaon_context_synchronise(s->ctx);
  const double begun = clock_now();
  if (status == KAON_OK) status = kaon_operator_apply(K, KAON_PLAIN, s->b, s->x);
  if (status == KAON_OK) status = kaon_context_synchronise(s->ctx);
  *seconds = clock_now() - begun;
  if (status == KAON_OK) status = residual_sum(s, sum);
  kaon_operator_destroy(&K);
  kaon_operator_destroy(&warm);
  return cli_status(s->ctx, status, NULL);
}

/* ---- Figure 4, Table 3 ---- */

/* kind: of sweeps that come in pairs, CARP or CIMMINO; 0: single ones in `order`. */
typedef struct way {
  const char *name;
  kaon_sweep_order order;
  kaon_kaczmarz_kind kind;
} way;

/* Each way on each machine; row order is one thread's whatever the machine, so it is measured once.
 */
static int rates(const machines *m, const char *figure, const char *name, int rcm, int sweeps,
                 const way *ways, int count) {
  const cli_common *common = &m->b->args->common;
  int code = EXIT_DONE;
  for (int i = 0; i < MACHINES && code == EXIT_DONE; i++) {
    system_of s;
    if (!m->ctx[i]) continue;
    code = open_system(m->ctx[i], name, rcm, &s);
    for (int k = 0; k < count && code == EXIT_DONE && !bench_stopped(); k++) {
      const int in_turn = ways[k].order == KAON_SWEEP_ROWS || ways[k].order == KAON_SWEEP_RANDOM;
      const int pairs = ways[k].kind != KAON_KACZMARZ_SWEEP;
      kaon_kaczmarz_options o = sweeps_in(&s, ways[k].order);
      kaon_kaczmarz_info info;
      double seconds, sum;
      if (pairs) o.kind = ways[k].kind;
      if (o.kind == KAON_KACZMARZ_CARP) o.colour = 1;
      if (o.kind == KAON_KACZMARZ_CIMMINO) o.lambda = 0.35;
      if ((in_turn && i != SERIAL) || (ways[k].order == KAON_SWEEP_SECTIONS && !s.points)) continue;
      code = time_sweeps(&s, &o, pairs ? (sweeps + 1) / 2 : sweeps, &seconds, &sum, &info);
      if (code != EXIT_DONE) break;
      cli_say(common,
              "%-8s %-18s %-10s %-9s %8lld rows, %3d classes: %10.1f sweeps/s, %7.2f GB/s, "
              "|b - A x|_1 = %.6g\n",
              figure, name, machine_names[i], ways[k].name, (long long)s.info.rows, info.classes,
              sweeps / seconds, 1e-9 * info.bytes * sweeps / seconds, sum);
      code = add_line(m, figure, name, s.info.rows, machine_names[i], ways[k].name, sweeps,
                      sweeps / seconds, "sweeps/s", seconds,
                      json_pack("{s:i s:i s:o s:o s:b}", "sweeps", sweeps, "classes", info.classes,
                                "residual_l1", report_real(sum), "ideal_gbs",
                                report_real(1e-9 * info.bytes * sweeps / seconds), "rcm", rcm));
    }
    close_system(&s);
  }
  return code;
}

static int figure_4(const machines *m, int sweeps) {
  static const way schemes[] = {{"S1", KAON_SWEEP_GROUPS, 0}, {"S2", KAON_SWEEP_STRIDES, 0}};
  int code = rates(m, "fig4", "banded:200000,2", 0, sweeps, schemes, 2);
  if (code == EXIT_DONE) code = rates(m, "fig4", "fem:1,1,7", 1, sweeps, schemes, 2);
  return code;
}

/* The first ones are the paper's and Figure 5's; the others follow in Table 3. */
static const way permutations[] = {{"none", KAON_SWEEP_ROWS, 0},
                                   {"sections", KAON_SWEEP_SECTIONS, 0},
                                   {"colours", KAON_SWEEP_COLOURS, 0},
                                   {"random", KAON_SWEEP_RANDOM, 0},
                                   {"carp-blocks", KAON_SWEEP_COLOURS, KAON_KACZMARZ_CARP},
                                   {"averaged", KAON_SWEEP_COLOURS, KAON_KACZMARZ_CIMMINO}};
enum { PERMUTATIONS = 4, SWEEPS = 6, LOOKS = 20 };

/* ---- Figure 5 ---- */

/* x += (sweeps from 0 for b - A x), which is what more sweeps make of x. */
static kaon_status go_on(system_of *s, kaon_operator *K, kaon_vector *step, double *sum) {
  kaon_status status = kaon_operator_apply(s->A, KAON_PLAIN, s->x, s->r);
  if (status == KAON_OK) status = kaon_vector_axpy(-1, 0, s->b, s->r);
  if (status == KAON_OK) status = kaon_operator_apply(K, KAON_PLAIN, s->r, step);
  if (status == KAON_OK) status = kaon_vector_axpy(-1, 0, step, s->x);
  return status == KAON_OK ? residual_sum(s, sum) : status;
}

static int history(const machines *m, system_of *s, const char *place, const way *w, int sweeps) {
  const kaon_kaczmarz_options o = sweeps_in(s, w->order);
  const int each = sweeps > LOOKS ? sweeps / LOOKS : 1;
  kaon_operator *K = NULL;
  kaon_vector *step = NULL;
  double sum = 0;
  kaon_status status = kaon_kaczmarz_preconditioner(s->A, &o, each, &K);
  if (status == KAON_OK)
    status = kaon_vector_create(s->ctx, kaon_matrix_space(s->matrix), KAON_DOUBLE, 1, &step);
  if (status == KAON_OK) status = kaon_vector_zero(s->x);
  int code = cli_status(s->ctx, status, NULL);
  for (int done = 0; code == EXIT_DONE && done <= sweeps && !bench_stopped(); done += each) {
    if (done == 0)
      code = cli_status(s->ctx, residual_sum(s, &sum), NULL);
    else
      code = cli_status(s->ctx, go_on(s, K, step, &sum), NULL);
    if (code == EXIT_DONE)
      code = add_line(m, "fig5", s->name, s->info.rows, place, w->name, done, sum, "residual-l1",
                      NAN, NULL);
  }
  cli_say(&m->b->args->common, "fig5     %-18s %-10s %-9s |b - A x|_1 = %.6g after %d sweeps\n",
          s->name, place, w->name, sum, sweeps);
  kaon_operator_destroy(&K);
  kaon_vector_destroy(&step);
  return code;
}

static int figure_5(const machines *m, const char *name, int sweeps) {
  const int i = m->ctx[DEVICE] ? DEVICE : OPENMP;
  system_of s;
  int code = open_system(m->ctx[i], name, 0, &s);
  for (int k = 0; k < PERMUTATIONS && code == EXIT_DONE; k++) /* in turn: not on a device */
    if (i != DEVICE ||
        (permutations[k].order != KAON_SWEEP_ROWS && permutations[k].order != KAON_SWEEP_RANDOM))
      code = history(m, &s, machine_names[i], &permutations[k], sweeps);
  close_system(&s);
  if (i != DEVICE || code != EXIT_DONE) return code;
  code = open_system(m->ctx[SERIAL], name, 0, &s);
  for (int k = 0; k < PERMUTATIONS && code == EXIT_DONE; k++)
    if (permutations[k].order == KAON_SWEEP_ROWS || permutations[k].order == KAON_SWEEP_RANDOM)
      code = history(m, &s, machine_names[SERIAL], &permutations[k], sweeps);
  close_system(&s);
  return code;
}

/* ---- solves ---- */

typedef struct solve_way {
  const char *name;
  int projections; /* kind + 1; 0: `method` on A with Jacobi */
  kaon_method method;
  double lambda;
  int colour;
} solve_way;

static int solve_once(system_of *s, const solve_way *w, int repeats, double *median,
                      double quantiles[2], kaon_column_report *report) {
  enum { MOST = 64 };
  double seconds[MOST];
  kaon_solver_options so = KAON_SOLVER_OPTIONS_INIT;
  kaon_kaczmarz_options o = KAON_KACZMARZ_OPTIONS_INIT;
  kaon_operator *R = NULL, *K = NULL;
  kaon_solver *solver = NULL;
  kaon_status status = KAON_OK;
  so.tol = 1e-9;
  so.max_iterations = 2000000;
  so.method = w->projections ? KAON_CG : w->method;
  so.monitor = bench_monitor;
  o.kind = (kaon_kaczmarz_kind)(w->projections - 1);
  o.lambda = w->lambda;
  if (w->colour && o.kind == KAON_KACZMARZ_CARP) o.colour = 1;
  if (w->colour && o.kind == KAON_KACZMARZ_DOUBLE) o.order = KAON_SWEEP_COLOURS;
  if (w->projections)
    status = kaon_kaczmarz_reduce(s->A, &o, &R);
  else
    status = kaon_precond_jacobi(s->A, &K);
  so.preconditioner = K;
  if (status == KAON_OK) status = kaon_solver_create(R ? R : s->A, 1, &so, &solver);
  int done = 0;
  for (double all = 0; done < repeats && done < MOST && status == KAON_OK; done++) {
    kaon_solve_report whole;
    status = kaon_vector_zero(s->x);
    if (status == KAON_OK) status = kaon_context_synchronise(s->ctx);
    if (status == KAON_OK) status = kaon_solver_solve(solver, s->b, s->x, report, &whole);
    if (status != KAON_OK) break;
    int at = done; /* sorted */
    for (; at > 0 && seconds[at - 1] > whole.seconds; at--) seconds[at] = seconds[at - 1];
    seconds[at] = whole.seconds;
    all += whole.seconds;
    if (all > 10) repeats = done + 1;
  }
  if (status == KAON_OK && done > 0) {
    *median = seconds[done / 2];
    quantiles[0] = seconds[done * 5 / 100];
    quantiles[1] = seconds[done * 95 / 100];
  }
  kaon_solver_destroy(&solver);
  kaon_operator_destroy(&R);
  kaon_operator_destroy(&K);
  return cli_status(s->ctx, status, NULL);
}

/* ---- Figure 6 ---- */

static int figure_6(const machines *m, int most) {
  const int i = m->ctx[DEVICE] ? DEVICE : SERIAL;
  int code = EXIT_DONE;
  for (int n = 0; n < 9 && code == EXIT_DONE; n++) {
    const int pde = 1 + n / 3, degree = 1 + n % 3, level = degree == 1 ? 4 : 3;
    char name[32];
    int steps[11], least = 0;
    system_of s;
    if (level > most) continue;
    snprintf(name, sizeof name, "fem:%d,%d,%d", pde, degree, level);
    code = open_system(m->ctx[i], name, 0, &s);
    for (int k = 0; k < 11 && code == EXIT_DONE && !bench_stopped(); k++) {
      const solve_way w = {"cimmino", KAON_KACZMARZ_CIMMINO + 1, KAON_CG, 0.2 + 0.05 * k, 0};
      kaon_column_report report;
      double seconds, quantiles[2];
      code = solve_once(&s, &w, 1, &seconds, quantiles, &report);
      steps[k] = code == EXIT_DONE && report.reason == KAON_CONVERGED ? report.iterations : 0;
      if (steps[k] && (!least || steps[k] < least)) least = steps[k];
      if (code == EXIT_DONE)
        code = add_line(m, "fig6", name, s.info.rows, machine_names[i], "cimmino", w.lambda,
                        steps[k] ? steps[k] : NAN, "iterations", seconds, NULL);
    }
    cli_say(&m->b->args->common,
            "fig6     %-10s %7lld rows, steps (over the least) by lambda:", name,
            (long long)s.info.rows);
    for (int k = 0; k < 11 && code == EXIT_DONE; k++)
      cli_say(&m->b->args->common, " %.2f: %d (%.2f)", 0.2 + 0.05 * k, steps[k],
              least ? (double)steps[k] / least : 0.0);
    cli_say(&m->b->args->common, "\n");
    close_system(&s);
  }
  return code;
}

/* ---- Figure 7 ---- */

static const solve_way solvers[] = {{"cgmnc", KAON_KACZMARZ_DOUBLE + 1, KAON_CG, 1, 0},
                                    {"cgmnc-colours", KAON_KACZMARZ_DOUBLE + 1, KAON_CG, 1, 1},
                                    {"carpcg", KAON_KACZMARZ_CARP + 1, KAON_CG, 1, 1},
                                    {"cimmino-0.35", KAON_KACZMARZ_CIMMINO + 1, KAON_CG, 0.35, 0},
                                    {"cimmino-rule", KAON_KACZMARZ_CIMMINO + 1, KAON_CG, 0, 0},
                                    {"bicgstab-jacobi", 0, KAON_BICGSTAB, 0, 0}};

/* The serial CPU has CGMNC in row order and BiCGStab, as in the paper; the others all but the
 * former. */
static int wanted(int at, int solver) {
  const int last = (int)(sizeof solvers / sizeof *solvers) - 1;
  return at == SERIAL ? solver == 0 || solver == last : solver != 0;
}

static int figure_7(const machines *m, int pde, int most, int samples) {
  int code = EXIT_DONE;
  for (int level = 1; level <= most && code == EXIT_DONE; level++)
    for (int i = 0; i < MACHINES && code == EXIT_DONE; i++) {
      char name[32];
      system_of s;
      if (!m->ctx[i]) continue;
      snprintf(name, sizeof name, "fem:%d,1,%d", pde, level);
      code = open_system(m->ctx[i], name, 0, &s);
      for (int k = 0; k < 6 && code == EXIT_DONE && !bench_stopped(); k++) {
        kaon_column_report report;
        double seconds = NAN, quantiles[2] = {NAN, NAN};
        if (!wanted(i, k)) continue;
        code = solve_once(&s, &solvers[k], samples, &seconds, quantiles, &report);
        if (code != EXIT_DONE) break;
        cli_say(
            &m->b->args->common,
            "fig7     %-10s %7lld rows %-10s %-15s %10.4g s (%.4g to %.4g), %d steps, %.2e, %s\n",
            name, (long long)s.info.rows, machine_names[i], solvers[k].name, seconds, quantiles[0],
            quantiles[1], report.iterations, report.residual, kaon_stop_reason_name(report.reason));
        if (report.reason != KAON_CONVERGED) m->b->unconverged = 1;
        code =
            add_line(m, "fig7", name, s.info.rows, machine_names[i], solvers[k].name,
                     (double)s.info.rows, seconds, "seconds", seconds,
                     json_pack("{s:i s:o s:o s:o s:s}", "iterations", report.iterations, "residual",
                               report_real(report.residual), "quantile5", report_real(quantiles[0]),
                               "quantile95", report_real(quantiles[1]), "status",
                               kaon_stop_reason_name(report.reason)));
      }
      close_system(&s);
    }
  return code;
}

int bench_kaczmarz(bench *b) {
  const bench_args *a = b->args;
  machines m = {.b = b};
  char fem[32];
  int code = EXIT_DONE;
  if (b->info.ranks > 1)
    return cli_wrong("bench kaczmarz runs on one rank, but there are %d", b->info.ranks);
  snprintf(fem, sizeof fem, "fem:2,1,%d", a->kaczmarz_level);
  if (a->csv) m.csv = fopen(a->csv, "w");
  if (a->csv && !m.csv) return cli_wrong("--csv %s cannot be written", a->csv);
  if (m.csv) fprintf(m.csv, "figure,matrix,rows,machine,what,x,value,unit\n");
  code = open_machines(&m);
  const unsigned tables = a->kaczmarz_tables;
  if (code == EXIT_DONE && tables & 1) code = figure_4(&m, a->kaczmarz_sweeps);
  if (code == EXIT_DONE && tables & 2)
    code = rates(&m, "table3", fem, 0, a->kaczmarz_sweeps, permutations, SWEEPS);
  if (code == EXIT_DONE && tables & 4) code = figure_5(&m, fem, a->kaczmarz_sweeps);
  if (code == EXIT_DONE && tables & 8) code = figure_6(&m, a->kaczmarz_level);
  if (code == EXIT_DONE && tables & 16) code = figure_7(&m, 1, a->kaczmarz_level, a->samples);
  if (m.csv && fclose(m.csv) != 0 && code == EXIT_DONE)
    code = cli_wrong("--csv %s could not be written to its end", a->csv);
  for (int i = 0; i < MACHINES; i++) kaon_context_destroy(&m.ctx[i]);
  return code == EXIT_DONE && b->unconverged ? EXIT_NOT_CONVERGED : code;
}
