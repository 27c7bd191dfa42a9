/* bench_kaczmarz_solves.c - solves to 1e-9 in the form of the Kaczmarz paper: steps by lambda
 * (Figure 6), times by size, beside BiCGStab and a direct solver (Figure 7), and CARP-CG's steps
 * against CGMNC's. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench_kaczmarz.h"
#include "direct.h"
#include "report.h"

typedef struct solve_way {
  const char *name;
  int projections; /* kind + 1; 0: `method` on A with Jacobi */
  kaon_method method;
  double lambda;
  int colour;
  int blocks; /* of CARP; 0: of 128 rows each */
} solve_way;

/* Ends a solve on Ctrl-C or when its time is over. */
typedef struct deadline {
  double at;
  int over;
} deadline;

static int watch(void *user, int iteration, int column, double residual) {
  deadline *d = user;
  if (cli_now() > d->at) d->over = 1;
  return d->over || bench_monitor(NULL, iteration, column, residual);
}

typedef struct outcome {
  double median, quantiles[2]; /* seconds; NaN: there are none */
  int runs, over;              /* over: its time was, and report says how far it came */
  kaon_column_report report;
} outcome;

static kaon_status make_solver(project_system *s, const solve_way *w, deadline *d,
                               kaon_operator **R, kaon_operator **K, kaon_solver **solver) {
  kaon_solver_options so = KAON_SOLVER_OPTIONS_INIT;
  kaon_kaczmarz_options o = KAON_KACZMARZ_OPTIONS_INIT;
  kaon_status status = KAON_OK;
  so.tol = 1e-9;
  so.max_iterations = 2000000;
  so.method = w->projections ? KAON_CG : w->method;
  so.monitor = watch;
  so.monitor_user = d;
  o.kind = (kaon_kaczmarz_kind)(w->projections - 1);
  o.lambda = w->lambda;
  o.blocks = w->blocks;
  if (w->colour && o.kind == KAON_KACZMARZ_CARP) o.colour = 1;
  if (w->colour && o.kind == KAON_KACZMARZ_DOUBLE) o.order = KAON_SWEEP_COLOURS;
  if (w->projections)
    status = kaon_kaczmarz_reduce(s->A, &o, R);
  else
    status = kaon_precond_jacobi(s->A, K);
  so.preconditioner = *K;
  if (status == KAON_OK) status = kaon_solver_create(*R ? *R : s->A, 1, &so, solver);
  return status;
}

enum { MOST_RUNS = 64 };

/* Sorted, then the figures. */
static void keep_time(double *seconds, outcome *o, double taken) {
  int at = o->runs++;
  for (; at > 0 && seconds[at - 1] > taken; at--) seconds[at] = seconds[at - 1];
  seconds[at] = taken;
  o->median = seconds[o->runs / 2];
  o->quantiles[0] = seconds[o->runs * 5 / 100];
  o->quantiles[1] = seconds[o->runs * 95 / 100];
}

static const outcome nothing = {NAN, {NAN, NAN}, 0, 0, {0}};

static int solve_once(const project *m, project_system *s, const solve_way *w, int repeats,
                      outcome *o) {
  double seconds[MOST_RUNS], all = 0;
  deadline d = {0, 0};
  kaon_operator *R = NULL, *K = NULL;
  kaon_solver *solver = NULL;
  *o = nothing;
  kaon_status status = make_solver(s, w, &d, &R, &K, &solver);
  for (int n = 0; n < repeats && n < MOST_RUNS && status == KAON_OK; n++) {
    kaon_solve_report whole;
    status = kaon_vector_zero(s->x);
    if (status == KAON_OK) status = kaon_context_synchronise(s->ctx);
    d.at = cli_now() + m->seconds;
    if (status == KAON_OK) status = kaon_solver_solve(solver, s->b, s->x, &o->report, &whole);
    o->over = d.over;
    if (status != KAON_OK || d.over) break;
    keep_time(seconds, o, whole.seconds);
    all += whole.seconds;
    if (all > m->seconds) break;
  }
  kaon_solver_destroy(&solver);
  kaon_operator_destroy(&R);
  kaon_operator_destroy(&K);
  return cli_status(s->ctx, status, NULL);
}

/* ---- Figure 6 ---- */

int project_figure_6(const project *m, int most) {
  const int i = m->ctx[PROJECT_DEVICE] ? PROJECT_DEVICE : PROJECT_SERIAL;
  int code = EXIT_DONE;
  for (int n = 0; n < 9 && code == EXIT_DONE; n++) {
    const int pde = 1 + n / 3, degree = 1 + n % 3, level = degree == 1 ? 4 : 3;
    char name[32];
    int steps[11], least = 0;
    project_system s;
    if (level > most) continue;
    snprintf(name, sizeof name, "fem:%d,%d,%d", pde, degree, level);
    code = project_open(m->ctx[i], name, 0, &s);
    for (int k = 0; k < 11 && code == EXIT_DONE && !bench_stopped(); k++) {
      const solve_way w = {"cimmino", KAON_KACZMARZ_CIMMINO + 1, KAON_CG, 0.2 + 0.05 * k, 0, 0};
      outcome o;
      code = solve_once(m, &s, &w, 1, &o);
      steps[k] = code == EXIT_DONE && o.report.reason == KAON_CONVERGED ? o.report.iterations : 0;
      if (steps[k] && (!least || steps[k] < least)) least = steps[k];
      if (code == EXIT_DONE)
        code = project_line(m, "fig6", name, s.info.rows, project_machines[i], "cimmino", w.lambda,
                            steps[k] ? steps[k] : NAN, "iterations", o.median, NULL);
    }
    cli_say(&m->b->args->common,
            "fig6     %-10s %7lld rows, steps (over the least) by lambda:", name,
            (long long)s.info.rows);
    for (int k = 0; k < 11 && code == EXIT_DONE; k++)
      cli_say(&m->b->args->common, " %.2f: %d (%.2f)", 0.2 + 0.05 * k, steps[k],
              least ? (double)steps[k] / least : 0.0);
    cli_say(&m->b->args->common, "\n");
    project_close(&s);
  }
  return code;
}

/* ---- Figure 7 ---- */

static const solve_way solvers[] = {
    {"cgmnc", KAON_KACZMARZ_DOUBLE + 1, KAON_CG, 1, 0, 0},
    {"cgmnc-colours", KAON_KACZMARZ_DOUBLE + 1, KAON_CG, 1, 1, 0},
    {"carpcg", KAON_KACZMARZ_CARP + 1, KAON_CG, 1, 1, 0},
    {"cimmino-0.35", KAON_KACZMARZ_CIMMINO + 1, KAON_CG, 0.35, 0, 0},
    {"cimmino-rule", KAON_KACZMARZ_CIMMINO + 1, KAON_CG, 0, 0, 0},
    {"bicgstab-jacobi", 0, KAON_BICGSTAB, 0, 0, 0},
    {"direct", 0, KAON_BICGSTAB, 0, 0, 0}};
enum { SOLVERS = sizeof solvers / sizeof *solvers, BICGSTAB = SOLVERS - 2, DIRECT = SOLVERS - 1 };

/* The serial CPU has CGMNC in row order, BiCGStab and a direct solver, as in the paper; the others
 * all but the former, and the device a direct solver of its own. */
static int wanted(int at, int solver) {
  if (solver == DIRECT) return at != PROJECT_OPENMP && direct_find(at == PROJECT_DEVICE) != NULL;
  return at == PROJECT_SERIAL ? solver == 0 || solver == BICGSTAB : solver != 0;
}

/* |b - A x| / |b| of numbers in host memory. */
static kaon_status true_residual(project_system *s, const double *x, double *residual) {
  double all = 0, off = 0;
  kaon_status status = kaon_vector_import(s->x, 0, x, KAON_BASIS_UKQCD);
  if (status == KAON_OK) status = kaon_operator_apply(s->A, KAON_PLAIN, s->x, s->r);
  if (status == KAON_OK) status = kaon_vector_axpy(-1, 0, s->b, s->r);
  if (status == KAON_OK) status = kaon_vector_norm2(s->r, &off);
  if (status == KAON_OK) status = kaon_vector_norm2(s->b, &all);
  *residual = sqrt(off / all);
  return status;
}

/* Analysis, factors and solution each time. */
static int solve_directly(const project *m, project_system *s, const direct_solver *with,
                          int repeats, outcome *o) {
  const size_t rows = (size_t)s->info.rows, entries = (size_t)s->info.entries;
  int64_t *start = malloc((rows + 1) * sizeof *start);
  int32_t *column = malloc((entries + 1) * sizeof *column);
  double *value = malloc((entries + 1) * sizeof *value), *b = malloc((rows + 1) * sizeof *b);
  double *x = malloc((rows + 1) * sizeof *x), seconds[MOST_RUNS], all = 0;
  const char *wrong = NULL;
  kaon_status status = start && column && value && b && x ? KAON_OK : KAON_ERR_MEMORY;
  *o = nothing;
  if (status == KAON_OK) status = kaon_matrix_rows(s->matrix, start, column, value);
  if (status == KAON_OK) status = kaon_vector_export(s->b, 0, b, KAON_BASIS_UKQCD);
  const direct_system system = {s->info.rows, start, column, value, b, x};
  for (int n = 0; n < repeats && n < MOST_RUNS && status == KAON_OK && !wrong; n++) {
    const double begun = cli_now();
    wrong = with->solve(&system);
    if (wrong) break;
    keep_time(seconds, o, cli_now() - begun);
    all += cli_now() - begun;
    if (all > m->seconds) break;
  }
  o->report.reason = KAON_CONVERGED;
  if (wrong) cli_error("%s on %s: %s; the line is left out", with->name, s->name, wrong);
  if (status == KAON_OK && !wrong) status = true_residual(s, x, &o->report.residual);
  free(start);
  free(column);
  free(value);
  free(b);
  free(x);
  return cli_status(s->ctx, status, NULL);
}

static int line_7(const project *m, const project_system *s, int place, const char *what,
                  const outcome *o) {
  const cli_common *common = &m->b->args->common;
  const char *status = o->over ? "out of time" : kaon_stop_reason_name(o->report.reason);
  cli_say(common,
          "fig7     %-10s %7lld rows %-10s %-15s %10.4g s (%.4g to %.4g of %d), %d steps, %.2e, "
          "%s\n",
          s->name, (long long)s->info.rows, project_machines[place], what, o->median,
          o->quantiles[0], o->quantiles[1], o->runs, o->report.iterations, o->report.residual,
          status);
  if (o->report.reason != KAON_CONVERGED && !o->over) m->b->unconverged = 1;
  json_t *more =
      json_pack("{s:i s:o s:o s:o s:s s:i}", "iterations", o->report.iterations, "residual",
                report_real(o->report.residual), "quantile5", report_real(o->quantiles[0]),
                "quantile95", report_real(o->quantiles[1]), "status", status, "runs", o->runs);
  return project_line(m, "fig7", s->name, s->info.rows, project_machines[place], what,
                      (double)s->info.rows, o->median, "seconds", o->median, more);
}

/* All solvers of a machine. last: seconds of each on the size before, infinite where its time was
 * over: four times as many rows take four times as many steps at least, so some need not begin. */
static int solves_7(const project *m, project_system *s, int place, double last[SOLVERS]) {
  const int samples = m->b->args->samples;
  int code = EXIT_DONE;
  for (int k = 0; k < SOLVERS && code == EXIT_DONE && !bench_stopped(); k++) {
    const direct_solver *direct = k == DIRECT ? direct_find(place == PROJECT_DEVICE) : NULL;
    outcome o;
    if (!wanted(place, k)) continue;
    if (4 * last[k] > m->seconds) {
      cli_say(&m->b->args->common,
              "fig7     %-10s %7lld rows %-10s %-15s left out: more than the %g s of --seconds\n",
              s->name, (long long)s->info.rows, project_machines[place], solvers[k].name,
              m->seconds);
      continue;
    }
    if (direct)
      code = solve_directly(m, s, direct, samples, &o);
    else
      code = solve_once(m, s, &solvers[k], samples, &o);
    if (code != EXIT_DONE) break;
    last[k] = isnan(o.median) ? INFINITY : o.median;
    if (o.runs > 0 || o.over)
      code = line_7(m, s, place, direct ? direct->name : solvers[k].name, &o);
  }
  return code;
}

int project_figure_7(const project *m) {
  const bench_args *a = m->b->args;
  double last[PROJECT_MACHINES][SOLVERS] = {{0}};
  int code = EXIT_DONE;
  for (int level = 1; level <= a->kaczmarz_level && code == EXIT_DONE; level++)
    for (int i = 0; i < PROJECT_MACHINES && code == EXIT_DONE && !bench_stopped(); i++) {
      char name[32];
      project_system s;
      if (!m->ctx[i]) continue;
      snprintf(name, sizeof name, "fem:%d,%d,%d", a->kaczmarz_problem, a->kaczmarz_degree, level);
      code = project_open(m->ctx[i], name, 0, &s);
      if (code == EXIT_DONE) code = solves_7(m, &s, i, last[i]);
      project_close(&s);
    }
  return code;
}

/* ---- steps of CARP-CG ---- */

static const solve_way carps[] = {{"cgmnc", KAON_KACZMARZ_DOUBLE + 1, KAON_CG, 1, 0, 0},
                                  {"cgmnc-colours", KAON_KACZMARZ_DOUBLE + 1, KAON_CG, 1, 1, 0},
                                  {"carpcg-128-rows", KAON_KACZMARZ_CARP + 1, KAON_CG, 1, 1, 0},
                                  {"carpcg-16-blocks", KAON_KACZMARZ_CARP + 1, KAON_CG, 1, 0, 16},
                                  {"carpcg-a-row", KAON_KACZMARZ_CARP + 1, KAON_CG, 1, 0, -1},
                                  {"carpcg-a-row-rule", KAON_KACZMARZ_CARP + 1, KAON_CG, 0, 0, -1}};
enum { CARPS = sizeof carps / sizeof *carps };

/* On the processor: steps do not depend on where they are taken. */
static int counts_of(const project *m, const char *name) {
  project_system s;
  double first = NAN;
  int code = project_open(m->ctx[PROJECT_OPENMP], name, 0, &s);
  cli_say(&m->b->args->common, "counts   %-10s %7lld rows, steps to 1e-9 (over CGMNC's):", name,
          (long long)s.info.rows);
  for (int k = 0; k < CARPS && code == EXIT_DONE && !bench_stopped(); k++) {
    solve_way w = carps[k];
    outcome o;
    if (w.blocks < 0) w.blocks = (int)s.info.rows;
    if (w.blocks > s.info.rows) continue;
    code = solve_once(m, &s, &w, 1, &o);
    if (code != EXIT_DONE) break;
    const double steps = o.report.reason == KAON_CONVERGED ? o.report.iterations : NAN;
    if (k == 0) first = steps;
    cli_say(&m->b->args->common, " %s %.0f (%.2f)", w.name, steps, steps / first);
    code = project_line(m, "counts", name, s.info.rows, project_machines[PROJECT_OPENMP], w.name,
                        (double)s.info.rows, steps, "iterations", o.median,
                        json_pack("{s:o}", "over_cgmnc", report_real(steps / first)));
  }
  cli_say(&m->b->args->common, "\n");
  project_close(&s);
  return code;
}

int project_counts(const project *m, int most) {
  int code = EXIT_DONE;
  for (int n = 0; n < 9 && code == EXIT_DONE; n++)
    for (int level = 2; level <= most && code == EXIT_DONE && !bench_stopped(); level++) {
      const int pde = 1 + n / 3, degree = 1 + n % 3;
      char name[32];
      if (level + degree - 1 > most) continue; /* about as many rows as the largest of degree 1 */
      snprintf(name, sizeof name, "fem:%d,%d,%d", pde, degree, level);
      code = counts_of(m, name);
    }
  return code;
}
