/* bench_kaczmarz_solves.c - solves to 1e-9 in the form of the Kaczmarz paper: steps by lambda
 * (Figure 6); times by size, beside BiCGStab and a direct solver (Figure 7); steps of CARP-CG and
 * CGMNC. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/papers/bench_kaczmarz.h"
#include "bench/papers/direct.h"
#include "interfaces/common/report.h"

typedef struct solve_variant {
  const char *name;
  int projections; /* kind + 1; 0: `method` on A with Jacobi */
  kaon_method method;
  double lambda;
  int colour;
  int blocks; /* of CARP; 0: of 128 rows each */
  kaon_carp_rows rows;
} solve_variant;

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
  int runs, over;              /* over: the time was over; report has the state then */
  kaon_column_report report;
} outcome;

static kaon_status make_solver(project_system *s, const solve_variant *w, deadline *d,
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
  o.block_rows = w->rows;
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

/* Sorts the seconds and takes their figures. */
static void keep_time(double *seconds, outcome *o, double taken) {
  int at = o->runs++;
  for (; at > 0 && seconds[at - 1] > taken; at--) seconds[at] = seconds[at - 1];
  seconds[at] = taken;
  o->median = seconds[o->runs / 2];
  o->quantiles[0] = seconds[o->runs * 5 / 100];
  o->quantiles[1] = seconds[o->runs * 95 / 100];
}

/* Limit of a line on the machine of a context, in seconds. */
static double limit_of(const project *m, const kaon_context *ctx) {
  return ctx == m->ctx[PROJECT_DEVICE] ? m->seconds : m->cpu_seconds;
}

static const outcome nothing = {NAN, {NAN, NAN}, 0, 0, {0}};

static int solve_once(const project *m, project_system *s, const solve_variant *w, int repeats,
                      outcome *o) {
  double seconds[MOST_RUNS], all = 0;
  deadline d = {0, 0};
  kaon_operator *R = NULL, *K = NULL;
  kaon_solver *solver = NULL;
  *o = nothing;
  kaon_status status = make_solver(s, w, &d, &R, &K, &solver);
  for (int n = 0; n < repeats && n < MOST_RUNS && status == KAON_OK; n++) {
    kaon_solve_report whole = KAON_SOLVE_REPORT_INIT;
    status = kaon_vector_zero(s->x);
    if (status == KAON_OK) status = kaon_context_synchronise(s->ctx);
    d.at = cli_now() + limit_of(m, s->ctx);
    if (status == KAON_OK) status = kaon_solver_solve(solver, s->b, s->x, &o->report, &whole);
    o->over = d.over;
    if (status != KAON_OK || d.over) break;
    keep_time(seconds, o, whole.seconds);
    all += whole.seconds;
    if (all + whole.seconds > limit_of(m, s->ctx)) break; /* no time for another */
  }
  kaon_solver_destroy(&solver);
  kaon_operator_destroy(&R);
  kaon_operator_destroy(&K);
  return cli_status(s->ctx, status, NULL);
}

/* A system of the finite elements of the paper. */
typedef struct element {
  int problem, degree, level;
} element;

static const char *name_of(const element *e, char name[32]) {
  snprintf(name, 32, "fem:%d,%d,%d", e->problem, e->degree, e->level);
  return name;
}

static void add_element(json_t *more, const element *e) {
  json_object_set_new(more, "problem", json_integer(e->problem));
  json_object_set_new(more, "degree", json_integer(e->degree));
  json_object_set_new(more, "level", json_integer(e->level));
}

/* ---- Figure 6 ---- */

enum { LAMBDAS = 21, HOPELESS = 3 };

static double lambda_of(int k) {
  return (8 + k) / 40.0; /* as the files of the paper print them */
}

static int line_6(const project *m, const project_system *s, int place, const element *e,
                  double lambda, const outcome *o) {
  const int converged = o->report.reason == KAON_CONVERGED && !o->over;
  const char *status = o->over ? "out of time" : kaon_stop_reason_name(o->report.reason);
  json_t *more =
      json_pack("{s:o s:s}", "residual", report_real(o->report.residual), "status", status);
  add_element(more, e);
  return project_line(m, "fig6", s->name, s->info.rows, project_machines[place], "cimmino", lambda,
                      converged ? o->report.iterations : NAN, "iterations", o->median, more);
}

/* Steps by lambda. Beyond the best lambda they grow fast: after HOPELESS values in turn that do not
 * converge, larger ones are left out. */
static int lambdas_of(const project *m, int place, const element *e) {
  const cli_common *common = &m->b->args->common;
  char name[32];
  int steps[LAMBDAS] = {0}, least = 0, failed = 0, tried = 0;
  project_system s;
  int code = project_open(m->ctx[place], name_of(e, name), 0, &s);
  for (; tried < LAMBDAS && failed < HOPELESS && code == EXIT_DONE && !bench_stopped(); tried++) {
    const solve_variant w = {"cimmino", KAON_KACZMARZ_CIMMINO + 1, KAON_CG, lambda_of(tried), 0, 0,
                             0};
    outcome o;
    code = solve_once(m, &s, &w, 1, &o);
    if (code != EXIT_DONE) break;
    if (o.report.reason == KAON_CONVERGED && !o.over) steps[tried] = o.report.iterations;
    if (steps[tried] && (!least || steps[tried] < least)) least = steps[tried];
    failed = steps[tried] || !least ? 0 : failed + 1;
    code = line_6(m, &s, place, e, w.lambda, &o);
  }
  if (code == EXIT_DONE)
    cli_print(common, "fig6     %-10s %7lld rows, steps (over the least) by lambda:", name,
              (long long)s.info.rows);
  for (int k = 0; k < tried && code == EXIT_DONE; k++)
    if (steps[k])
      cli_print(common, " %.3f: %d (%.2f)", lambda_of(k), steps[k], (double)steps[k] / least);
    else
      cli_print(common, " %.3f: -", lambda_of(k));
  if (code == EXIT_DONE) cli_print(common, "%s\n", tried < LAMBDAS ? "; larger ones left out" : "");
  project_close(&s);
  return code;
}

int project_figure_6(const project *m, int most) {
  const int place = m->ctx[PROJECT_DEVICE] ? PROJECT_DEVICE : PROJECT_SERIAL;
  int code = EXIT_DONE;
  for (int level = 1; level <= most && code == EXIT_DONE; level++)
    for (int n = 0; n < 9 && code == EXIT_DONE && !bench_stopped(); n++) {
      const element e = {1 + n / 3, 1 + n % 3, level};
      code = lambdas_of(m, place, &e);
    }
  return code;
}

/* ---- Figure 7 ---- */

static const solve_variant solvers[] = {
    {"cgmnc", KAON_KACZMARZ_DOUBLE + 1, KAON_CG, 1, 0, 0, 0},
    {"cgmnc-colours", KAON_KACZMARZ_DOUBLE + 1, KAON_CG, 1, 1, 0, 0},
    {"carpcg-near-128", KAON_KACZMARZ_CARP + 1, KAON_CG, 1, 1, 0, KAON_CARP_NEAR},
    {"carpcg-near-16-colours", KAON_KACZMARZ_CARP + 1, KAON_CG, 1, 1, 16, KAON_CARP_NEAR},
    {"cimmino-0.35", KAON_KACZMARZ_CIMMINO + 1, KAON_CG, 0.35, 0, 0, 0},
    {"cimmino-rule", KAON_KACZMARZ_CIMMINO + 1, KAON_CG, 0, 0, 0, 0},
    {"bicgstab-jacobi", 0, KAON_BICGSTAB, 0, 0, 0, 0},
    {"direct", 0, KAON_BICGSTAB, 0, 0, 0, 0}};
enum { SOLVERS = sizeof solvers / sizeof *solvers, BICGSTAB = SOLVERS - 2, DIRECT = SOLVERS - 1 };

/* Solvers of Figure 7. The serial CPU has CGMNC in row order, BiCGStab and a direct solver, as in
 * the paper. The others have the rest, and the device its own direct solver. */
static int wanted(int at, int solver) {
  if (solver == DIRECT) return at != PROJECT_OPENMP && direct_find(at == PROJECT_DEVICE) != NULL;
  return at == PROJECT_SERIAL ? solver == 0 || solver == BICGSTAB : solver != 0;
}

/* |b - A x| / |b| in host memory. */
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

/* Each repeat includes analysis, factors and solution. */
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
    const double taken = cli_now() - begun;
    keep_time(seconds, o, taken);
    all += taken;
    if (all + taken > limit_of(m, s->ctx)) break;
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

/* One run alone has no quantiles. */
static int line_7(const project *m, const project_system *s, int place, const element *e,
                  const char *what, const outcome *o) {
  const cli_common *common = &m->b->args->common;
  const char *status = o->over ? "out of time" : kaon_stop_reason_name(o->report.reason);
  cli_print(common,
            "fig7     %-10s %7lld rows %-10s %-24s %10.4g s (%.4g to %.4g of %d), %d steps, %.2e, "
            "%s\n",
            s->name, (long long)s->info.rows, project_machines[place], what, o->median,
            o->quantiles[0], o->quantiles[1], o->runs, o->report.iterations, o->report.residual,
            status);
  if (o->report.reason != KAON_CONVERGED && !o->over) m->b->unconverged = 1;
  json_t *more = json_pack("{s:i s:o s:o s:o s:s s:i}", "iterations", o->report.iterations,
                           "residual", report_real(o->report.residual), "quantile5",
                           report_real(o->runs > 1 ? o->quantiles[0] : NAN), "quantile95",
                           report_real(o->runs > 1 ? o->quantiles[1] : NAN), "status", status,
                           "runs", o->runs);
  add_element(more, e);
  return project_line(m, "fig7", s->name, s->info.rows, project_machines[place], what,
                      (double)s->info.rows, o->median, "seconds", o->median, more);
}

/* Measures all solvers on one machine. last: seconds of each on the previous size, infinite where
 * its time was over. Four times as many rows take at least four times as long, so hopeless ones are
 * not started. */
static int solves_7(const project *m, project_system *s, int place, const element *e,
                    double last[SOLVERS]) {
  const int samples = m->b->args->samples;
  const double limit = limit_of(m, s->ctx);
  int code = EXIT_DONE;
  for (int k = 0; k < SOLVERS && code == EXIT_DONE && !bench_stopped(); k++) {
    const direct_solver *direct = k == DIRECT ? direct_find(place == PROJECT_DEVICE) : NULL;
    outcome o;
    if (!wanted(place, k) || solvers[k].blocks > s->info.rows) continue;
    if (4 * last[k] > limit) {
      cli_print(&m->b->args->common,
                "fig7     %-10s %7lld rows %-10s %-24s left out: more than the %g s of %s\n",
                s->name, (long long)s->info.rows, project_machines[place], solvers[k].name, limit,
                limit == m->seconds ? "--seconds" : "--cpu-seconds");
      continue;
    }
    if (direct)
      code = solve_directly(m, s, direct, samples, &o);
    else
      code = solve_once(m, s, &solvers[k], samples, &o);
    if (code != EXIT_DONE) break;
    last[k] = isnan(o.median) ? INFINITY : o.median;
    if (o.runs > 0 || o.over)
      code = line_7(m, s, place, e, direct ? direct->name : solvers[k].name, &o);
  }
  return code;
}

static int sizes_7(const project *m, int pde, int degree) {
  double last[PROJECT_MACHINES][SOLVERS] = {{0}};
  int code = EXIT_DONE;
  for (int level = 1; level <= kaczmarz_of(m->b)->level && code == EXIT_DONE; level++)
    for (int i = 0; i < PROJECT_MACHINES && code == EXIT_DONE && !bench_stopped(); i++) {
      const element e = {pde, degree, level};
      char name[32];
      project_system s;
      if (!m->ctx[i]) continue;
      code = project_open(m->ctx[i], name_of(&e, name), 0, &s);
      if (code == EXIT_DONE) code = solves_7(m, &s, i, &e, last[i]);
      project_close(&s);
    }
  return code;
}

int project_figure_7(const project *m) {
  const cli_counts *problems = &kaczmarz_of(m->b)->problems;
  const cli_counts *degrees = &kaczmarz_of(m->b)->degrees;
  int code = EXIT_DONE;
  for (int p = 0; p < problems->count; p++)
    for (int d = 0; d < degrees->count && code == EXIT_DONE && !bench_stopped(); d++)
      code = sizes_7(m, problems->value[p], degrees->value[d]);
  return code;
}

/* ---- steps of CARP-CG ---- */

static const solve_variant carps[] = {
    {"cgmnc", KAON_KACZMARZ_DOUBLE + 1, KAON_CG, 1, 0, 0, 0},
    {"cgmnc-colours", KAON_KACZMARZ_DOUBLE + 1, KAON_CG, 1, 1, 0, 0},
    {"carpcg-near-128", KAON_KACZMARZ_CARP + 1, KAON_CG, 1, 1, 0, KAON_CARP_NEAR},
    {"carpcg-near-16", KAON_KACZMARZ_CARP + 1, KAON_CG, 1, 0, 16, KAON_CARP_NEAR},
    {"carpcg-near-16-colours", KAON_KACZMARZ_CARP + 1, KAON_CG, 1, 1, 16, KAON_CARP_NEAR},
    {"carpcg-128-rows", KAON_KACZMARZ_CARP + 1, KAON_CG, 1, 1, 0, KAON_CARP_CONSECUTIVE},
    {"carpcg-16-blocks", KAON_KACZMARZ_CARP + 1, KAON_CG, 1, 0, 16, KAON_CARP_CONSECUTIVE},
    {"carpcg-16-blocks-colours", KAON_KACZMARZ_CARP + 1, KAON_CG, 1, 1, 16, KAON_CARP_CONSECUTIVE},
    {"carpcg-a-row", KAON_KACZMARZ_CARP + 1, KAON_CG, 1, 0, -1, 0},
    {"carpcg-a-row-rule", KAON_KACZMARZ_CARP + 1, KAON_CG, 0, 0, -1, 0}};
enum { CARPS = sizeof carps / sizeof *carps };

/* Row order runs on the processor. A device has 16 blocks by colours alone, since consecutive rows
 * would take it long. -1: not available. */
static int counts_place(const project *m, const solve_variant *w) {
  const int device = m->ctx[PROJECT_DEVICE] != NULL;
  if (w->projections == KAON_KACZMARZ_DOUBLE + 1 && !w->colour)
    return device ? PROJECT_SERIAL : PROJECT_OPENMP;
  if (w->blocks == 16 && w->colour != device) return -1;
  return device ? PROJECT_DEVICE : PROJECT_OPENMP;
}

/* Steps of one way, and CGMNC for comparison: in row order, else by colours. */
static int count_of(const project *m, project_system *s, int place, const element *e,
                    const solve_variant *w, double base[2]) {
  outcome o;
  int code = solve_once(m, s, w, 1, &o);
  if (code != EXIT_DONE) return code;
  const int converged = o.report.reason == KAON_CONVERGED && !o.over;
  const double steps = converged ? o.report.iterations : NAN;
  const char *status = o.over ? "out of time" : kaon_stop_reason_name(o.report.reason);
  if (w->projections == KAON_KACZMARZ_DOUBLE + 1) base[w->colour] = steps;
  const int by = isnan(base[0]);
  cli_print(&m->b->args->common, " %s %.0f (%.2f)%s%s", w->name, steps, steps / base[by],
            converged ? "" : " ", converged ? "" : status);
  json_t *more = json_pack("{s:o s:s s:s s:b}", "over_cgmnc", report_real(steps / base[by]), "over",
                           by ? "cgmnc-colours" : "cgmnc", "status", status, "coloured", w->colour);
  add_element(more, e);
  return project_line(m, "counts", s->name, s->info.rows, project_machines[place], w->name,
                      (double)s->info.rows, steps, "iterations", o.median, more);
}

static int counts_of(const project *m, const element *e) {
  char name[32];
  project_system s[PROJECT_MACHINES];
  double base[2] = {NAN, NAN};
  int code = EXIT_DONE, open[PROJECT_MACHINES] = {0};
  cli_print(&m->b->args->common, "counts   %-10s steps to 1e-9 (over CGMNC's):", name_of(e, name));
  for (int k = 0; k < CARPS && code == EXIT_DONE && !bench_stopped(); k++) {
    solve_variant w = carps[k];
    const int place = counts_place(m, &w);
    if (place < 0) continue;
    if (!open[place]) code = project_open(m->ctx[place], name, 0, &s[place]);
    open[place] = 1;
    if (code != EXIT_DONE) break;
    if (w.blocks < 0) w.blocks = (int)s[place].info.rows;
    if (w.blocks <= s[place].info.rows) code = count_of(m, &s[place], place, e, &w, base);
  }
  cli_print(&m->b->args->common, "\n");
  for (int i = 0; i < PROJECT_MACHINES; i++)
    if (open[i]) project_close(&s[i]);
  return code;
}

int project_counts(const project *m, int most) {
  int code = EXIT_DONE;
  for (int n = 0; n < 9 && code == EXIT_DONE; n++)
    for (int level = 2; level <= most && code == EXIT_DONE && !bench_stopped(); level++) {
      const element e = {1 + n / 3, 1 + n % 3, level};
      if (level + e.degree - 1 > most)
        continue; /* about as many rows as the largest system of degree 1 */
      code = counts_of(m, &e);
    }
  return code;
}
