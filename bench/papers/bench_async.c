/* bench_async.c - asynchronous relaxation, in the form of the tables and figures of Anzt, Tomov,
 * Dongarra, Heuveline (2012). b = 1 in every row, x = 0, residuals |b - A x| / |b|.
 *   props     table 1: sizes, conditions, spectral radii
 *   stat      tables 2 and 3, figure 5: residuals of many runs at given iterations, beside those
 *             of the synchronous iteration, and the ages of the values that were read
 *   rate      figures 6 and 7: iterations to 1e-4, 1e-8, 1e-12
 *   overhead  table 4: seconds of 100 to 500 iterations with 1 to 9 local sweeps, sweeps alone
 *   time      table 5, figures 8 and 9: seconds an iteration, and to the tolerance
 *   figure11  on several ranks (bench_figure11.c) */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/papers/bench_async_condition.h"
#include "bench/papers/bench_relax.h"
#include "interfaces/common/report.h"

/* ---- props ---- */

/* Adds the members KEY (the number), KEY_bound (it is only a lower bound) and KEY_note (why). */
static void add_condition(const relax_bench *r, json_t *row, const char *key,
                          const condition_number *n) {
  char text[32];
  json_object_set_new(row, key, report_real(n->value));
  snprintf(text, sizeof text, "%s_bound", key);
  json_object_set_new(row, text, json_boolean(n->bound));
  snprintf(text, sizeof text, "%s_note", key);
  json_object_set_new(row, text, *n->why ? json_string(n->why) : json_null());
  if (*n->why)
    cli_print(&r->b->args->common, "  %s: %s, %s\n", key,
              n->bound ? "a lower bound" : "not estimated", n->why);
}

static int props(relax_bench *r) {
  kaon_spectrum s = KAON_SPECTRUM_INIT;
  char name[64], plain[32], scaled[32], second[32];
  condition c;
  int code = cli_status(r->l.ctx, kaon_spectrum_estimate(r->l.A, 0, &s), NULL);
  if (code == EXIT_DONE) code = condition_estimate(r, &c);
  if (code != EXIT_DONE) return code;
  const condition_number two = {s.high / s.low, 1,
                                ""}; /* a lower bound: the estimates are inside the spectrum */
  cli_print(&r->b->args->common,
            "%-16s n %lld, nnz %lld, cond_1(A) %s, cond_1(D^-1 A) %s, cond_2(D^-1 A) %s, "
            "rho(B) %s %.4f, rho(|B|) %s %.4f, tau %.4f\n",
            relax_bench_name(r, name), (long long)r->l.info.global_rows,
            (long long)r->l.info.global_entries, condition_text(&c.plain, plain),
            condition_text(&c.scaled, scaled), condition_text(&two, second), spectrum_how(&s),
            s.rho, spectrum_how(&s), s.rho_absolute, s.tau);
  json_t *row = relax_bench_row(r, "async-props", NAN);
  json_object_set_new(row, "spectrum", spectrum_describe(&s));
  add_condition(r, row, "cond1", &c.plain);
  add_condition(r, row, "cond1_scaled", &c.scaled);
  return EXIT_DONE;
}

/* ---- stat ---- */

enum { POINTS_MAX = 32 };
typedef struct moments {
  double first, sum, sum2, low, high; /* sum, sum2: of differences to the first run */
} moments;

/* Options of run `number` of table stat. Runs should differ by their order of blocks. A device that
 * does not hold all blocks at once brings its own order. On a CPU the order is drawn, and all
 * blocks but one read before one of them writes. Driver free: runs differ by themselves. Residuals
 * are taken at the iterations of the table alone, with a tolerance that is never reached, since a
 * fixed number of steps would add barriers. */
static relax_run stat_run(const relax_bench *r, int steps, int every, int number,
                          kaon_relax_driver driver) {
  const double never = 1e-30;
  const relax_args *a = relax_of(r->b);
  relax_run run = relax_run_of_tables(r, KAON_ASYNC, driver == KAON_RELAX_FREE ? never : 0, steps);
  const int64_t blocks = (r->l.info.rows + run.options.block - 1) / run.options.block;
  run.options.driver = driver;
  run.options.stride = every;
  if (driver == KAON_RELAX_FREE) return run;
  const int64_t late = blocks > 32 && !bench_on_host(r->b) ? blocks / 16 : 1;
  const int seed = a->seed >= 0 ? a->seed : bench_on_host(r->b);
  if (seed > 0) run.options.seed = (uint64_t)seed + (uint64_t)number;
  run.options.together = blocks > 1 ? (int)(blocks - late) : 1;
  if (a->together) run.options.together = a->together;
  return run;
}

/* Statistics of all runs of a driver. synchronous: residuals of the two-stage iteration with the
 * same blocks and sweeps. */
typedef struct statistics {
  moments m[POINTS_MAX];
  double synchronous[POINTS_MAX];
  int at[POINTS_MAX], points, runs;
  int64_t shifts[2 * KAON_RELAX_SHIFTS + 1], after[2 * KAON_RELAX_SHIFTS + 1];
} statistics;

static double mean_of(const statistics *s, int i) {
  return s->m[i].first + s->m[i].sum / s->runs;
}

/* Says whether runs are asynchronous in effect. Reads of other iterations are no proof: averages
 * may still equal the synchronous ones, to the four digits of a table. A residual that is off by
 * SAME is early or late by SAME / -log(rho) of an iteration: by a hundredth even where an iteration
 * removes only 1 %. Measured differences are about 1e-6 where blocks run in step, and 2e-3 or more
 * where they do not. Rounding of |b - A x| / |b| is about 1e-16, which is 1e-5 of COMPARED. NULL:
 * both diverge, there is nothing to compare. */
static const double SAME = 1e-4, COMPARED = 1e-11;
static const char *in_effect(const statistics *s, double *furthest) {
  *furthest = NAN;
  for (int i = 0; i < s->points; i++) {
    const double mean = mean_of(s, i), here = s->synchronous[i];
    const double off = isnan(mean) ? INFINITY : fabs(mean / here - 1);
    if (here > COMPARED && !(off <= *furthest)) *furthest = off;
  }
  if (isnan(*furthest)) return NULL;
  return *furthest <= SAME ? "synchronous" : "asynchronous";
}

/* Finds the smallest and the largest shift of all runs. Returns the share of reads with a shift
 * other than 0. */
static double shifts_seen(const int64_t *shifts, int *newest, int *oldest) {
  int64_t reads = 0;
  *newest = *oldest = 0;
  for (int i = 0; i < 2 * KAON_RELAX_SHIFTS + 1; i++) {
    if (shifts[i] == 0) continue;
    if (reads == 0) *newest = i - KAON_RELAX_SHIFTS;
    *oldest = i - KAON_RELAX_SHIFTS;
    reads += shifts[i];
  }
  return reads > 0 ? 1 - (double)shifts[KAON_RELAX_SHIFTS] / (double)reads : 0;
}

static const char *driver_name(const relax_run *run) {
  return run->options.driver == KAON_RELAX_FREE ? "free" : "launch";
}

static void add_stat_row(relax_bench *r, const statistics *s, int i, const relax_run *last,
                         double variance) {
  const kaon_relax_options *o = &last->options;
  const moments *m = &s->m[i];
  int newest, oldest;
  double furthest;
  const double asynchronous = shifts_seen(s->shifts, &newest, &oldest), deviation = sqrt(variance);
  int newest_after, oldest_after;
  const double after = shifts_seen(s->after, &newest_after, &oldest_after);
  json_t *row = relax_bench_row(r, "async-stat", last->solve.seconds);
  json_object_update_new(
      row, json_pack("{s:s s:i s:i s:i s:i s:i s:o s:o s:o s:o s:o s:o s:o s:s? s:i s:i s:o s:o}",
                     "driver", driver_name(last), "together", o->together, "runs", s->runs, "block",
                     o->block, "local_sweeps", o->local_sweeps, "iteration", s->at[i], "average",
                     report_real(mean_of(s, i)), "maximum", report_real(m->high), "minimum",
                     report_real(m->low), "variance", report_real(variance), "deviation",
                     report_real(deviation), "error",
                     report_real(s->runs > 1 ? deviation / sqrt(s->runs - 1) : 0), "synchronous",
                     report_real(s->synchronous[i]), "in_effect", in_effect(s, &furthest), "newest",
                     newest, "oldest", oldest, "asynchronous", report_real(asynchronous), "shifts",
                     relax_shifts_describe(s->shifts)));
  json_object_set_new(row, "newest_after", json_integer(newest_after));
  json_object_set_new(row, "asynchronous_after", report_real(after));
}

static void print_effect(const cli_common *common, const statistics *s) {
  double furthest;
  const char *effect = in_effect(s, &furthest);
  if (!effect)
    cli_print(common, "no residual of the synchronous iteration above %g to compare with\n",
              COMPARED);
  else
    cli_print(common,
              "%s in effect: averages differ from the residuals of the synchronous iteration by up "
              "to %.2g of these (synchronous: up to %g)\n",
              effect, furthest, SAME);
}

static void print_stat(relax_bench *r, const statistics *s, const relax_run *last) {
  const cli_common *common = &r->b->args->common;
  const int runs = s->runs;
  char name[64];
  int newest, oldest, newest_after, oldest_after;
  const double asynchronous = shifts_seen(s->shifts, &newest, &oldest);
  const double after = shifts_seen(s->after, &newest_after, &oldest_after);
  cli_print(common,
            "\n%s, driver %s: %d runs, blocks of %d rows, %d local sweeps; shifts %d to %d as "
            "blocks begin, from %d when they have read, %.1f and %.1f %% not 0\n",
            relax_bench_name(r, name), driver_name(last), runs, last->options.block,
            last->options.local_sweeps, newest, oldest, newest_after, 100 * asynchronous,
            100 * after);
  cli_print(common, "%9s %11s %11s %11s %11s %11s %11s %11s %11s %11s\n", "iteration", "average",
            "synchronous", "maximum", "minimum", "abs. var.", "rel. var.", "variance", "deviation",
            "std. error");
  for (int i = 0; i < s->points; i++) {
    const moments *m = &s->m[i];
    const double mean = mean_of(s, i), range = m->high - m->low;
    const double square = m->sum2 - m->sum * m->sum / runs;
    const double variance = runs > 1 && !(square < 0) ? square / (runs - 1) : 0;
    const double deviation = sqrt(variance), error = runs > 1 ? deviation / sqrt(runs - 1) : 0;
    cli_print(common, "%9d %11.4e %11.4e %11.4e %11.4e %11.4e %11.4e %11.4e %11.4e %11.4e\n",
              s->at[i], mean, s->synchronous[i], m->high, m->low, range, range / mean, variance,
              deviation, error);
    add_stat_row(r, s, i, last, variance);
  }
  print_effect(common, s);
}

/* Runs end before the last iteration where the residual is 0 or stagnates: the last residual. Where
 * they diverge: NaN. */
static double residual_at(const relax_run *run, int at) {
  const column_history *h = &run->history;
  if (at < h->count) return h->residual[at];
  const double last = h->count > 0 ? h->residual[h->count - 1] : NAN;
  return last == 0 || run->report.reason == KAON_STAGNATED ? last : NAN;
}

static void add_run(statistics *s, const relax_run *run, int number) {
  for (int i = 0; i < s->points; i++) {
    moments *m = &s->m[i];
    const double residual = residual_at(run, s->at[i]);
    if (number == 0) m->first = residual;
    const double beyond = residual - m->first;
    m->sum += beyond;
    m->sum2 += beyond * beyond;
    m->low = number == 0 || residual < m->low ? residual : m->low;
    m->high = number == 0 || residual > m->high ? residual : m->high;
  }
  for (int i = 0; i < 2 * KAON_RELAX_SHIFTS + 1; i++) {
    s->shifts[i] += run->relaxation.shifts[i];
    s->after[i] += run->relaxation.shifts_after[i];
  }
}

/* Runs the synchronous iteration: the same blocks and sweeps, and all blocks read before one
 * writes. */
static int synchronous_of(relax_bench *r, statistics *s, int steps) {
  relax_run run = relax_run_of_tables(r, KAON_TWO_STAGE, 0, steps);
  const int code = relax_run_solve(r, &run);
  for (int i = 0; i < s->points && code == EXIT_DONE; i++)
    s->synchronous[i] = residual_at(&run, s->at[i]);
  relax_run_clear(&run);
  return code;
}

/* s has the points and the synchronous residuals. */
static int stat_of(relax_bench *r, kaon_relax_driver driver, statistics s, int every) {
  int code = EXIT_DONE;
  relax_run run = {.method = KAON_ASYNC};
  for (int n = 0; n < s.runs && code == EXIT_DONE; n++) {
    relax_run_clear(&run);
    run = stat_run(r, s.at[s.points - 1], every, n, driver);
    code = relax_run_solve(r, &run);
    if (code == EXIT_DONE) add_run(&s, &run, n);
  }
  for (int i = 0; i < s.points; i++)
    if (isnan(s.m[i].first + s.m[i].sum)) r->b->unconverged = 1;
  if (code == EXIT_DONE) print_stat(r, &s, &run);
  relax_run_clear(&run);
  return code;
}

static int stat(relax_bench *r) {
  statistics s = {.runs = relax_of(r->b)->runs};
  int every, last;
  relax_bench_points(r, &every, &last);
  for (int i = every; i <= last; i += every) s.at[s.points++] = i;
  int code = synchronous_of(r, &s, last);
  if (code == EXIT_DONE) code = stat_of(r, KAON_RELAX_LAUNCH, s, every);
  return code == EXIT_DONE ? stat_of(r, KAON_RELAX_FREE, s, every) : code;
}

/* ---- rate ---- */

/* First iteration at which the residual is at most `goal`; -1: none. */
static int first_below(const column_history *h, double goal) {
  for (int i = 0; i < h->count; i++)
    if (h->residual[i] <= goal) return i;
  return -1;
}

static json_t *count_or_null(int count) {
  return count < 0 ? json_null() : json_integer(count);
}

static int rate(relax_bench *r) {
  enum { KINDS = 6 };
  static const char *const names[KINDS] = {"jacobi",    "gauss-seidel", "two-stage",
                                           "async-(1)", "async-(k)",    "async-(k) free"};
  static const kaon_method methods[KINDS] = {KAON_JACOBI, KAON_GS,    KAON_TWO_STAGE,
                                             KAON_ASYNC,  KAON_ASYNC, KAON_ASYNC};
  column_history histories[KINDS] = {{NULL, 0}};
  char name[64];
  int code = EXIT_DONE;
  cli_print(&r->b->args->common, "\n%s: iterations to 1e-4, 1e-8, 1e-12\n",
            relax_bench_name(r, name));
  for (int i = 0; i < KINDS && code == EXIT_DONE; i++) {
    relax_run run = relax_run_of(r, methods[i], 1e-12, 100000);
    if (i == 3) run.options.local_sweeps = 1;
    if (i == 5) run.options.driver = KAON_RELAX_FREE;
    run.options.stride = 4; /* iterations between two residuals */
    code = relax_run_solve(r, &run);
    if (code != EXIT_DONE) break;
    const int at[3] = {first_below(&run.history, 1e-4), first_below(&run.history, 1e-8),
                       first_below(&run.history, 1e-12)};
    cli_print(&r->b->args->common, "  %-15s %6d %6d %6d   %s, residual %.2e\n", names[i], at[0],
              at[1], at[2], kaon_stop_reason_name(run.report.reason), run.report.residual);
    json_t *row = relax_bench_row(r, "async-rate", run.solve.seconds);
    json_object_update_new(
        row, json_pack("{s:s s:i s:i s:i s:o s:o s:o s:o s:s s:i s:i}", "method", names[i], "block",
                       run.options.block, "local_sweeps", run.options.local_sweeps, "iterations",
                       run.report.iterations, "to_1e-4", count_or_null(at[0]), "to_1e-8",
                       count_or_null(at[1]), "to_1e-12", count_or_null(at[2]), "residual",
                       report_real(run.report.residual), "status",
                       kaon_stop_reason_name(run.report.reason), "newest", run.relaxation.newest,
                       "oldest", run.relaxation.oldest));
    json_object_set_new(row, "newest_after", json_integer(run.relaxation.newest_after));
    histories[i] = run.history;
  }
  if (code == EXIT_DONE) code = relax_bench_histories(r, "rate", histories, names, KINDS);
  for (int i = 0; i < KINDS; i++) free(histories[i].residual);
  return code;
}

/* ---- sweeps alone ---- */

/* Times `steps` sweeps from 0 and nothing else: the solver as an operator takes no residual.
 * Seconds of the slowest rank. */
static int time_sweeps(relax_bench *r, const relax_run *run, int steps, bench_spread *times) {
  kaon_context *ctx = r->l.ctx;
  const int samples = r->b->args->samples;
  double *seconds = calloc((size_t)samples, sizeof *seconds);
  kaon_solver *solver = NULL;
  kaon_operator *sweeps = NULL;
  kaon_solver_options options = r->l.options;
  options.method = run->method;
  options.tol = 0;
  options.max_iterations = steps;
  options.relax = &run->options;
  kaon_status status = kaon_context_agree(ctx, seconds ? KAON_OK : KAON_ERR_MEMORY);
  if (status == KAON_OK) status = kaon_solver_create(r->l.A, 1, &options, &solver);
  if (status == KAON_OK) status = kaon_solver_as_operator(solver, &sweeps);
  for (int n = 0; n < samples && status == KAON_OK; n++) {
    status = kaon_context_synchronise(ctx);
    const double before = cli_now();
    if (status == KAON_OK) status = kaon_operator_apply(sweeps, KAON_PLAIN, r->right, r->x);
    if (status == KAON_OK) status = kaon_context_synchronise(ctx);
    seconds[n] = cli_now() - before;
    if (status == KAON_OK && bench_stopped()) status = KAON_ERR_CANCELLED;
    if (status == KAON_OK) status = ranks_most(&seconds[n], 1);
  }
  if (status == KAON_OK) *times = bench_spread_of(seconds, samples);
  free(seconds);
  kaon_operator_destroy(&sweeps);
  kaon_solver_destroy(&solver);
  return cli_status(ctx, status, NULL);
}

static int overhead(relax_bench *r) {
  enum { LENGTHS = 5, SWEEPS = 9 };
  const cli_common *common = &r->b->args->common;
  double alone[LENGTHS] = {0};
  char name[64];
  int code = EXIT_DONE;
  cli_print(common, "\n%s: seconds of 100 to 500 iterations, and more than with one local sweep\n",
            relax_bench_name(r, name));
  for (int k = 1; k <= SWEEPS && code == EXIT_DONE; k++) {
    relax_run run = relax_run_of(r, KAON_ASYNC, 0, 0);
    run.options.local_sweeps = k;
    cli_print(common, "  async-(%d)", k);
    for (int n = 0; n < LENGTHS && code == EXIT_DONE; n++) {
      const int steps = 100 * (n + 1);
      bench_spread times;
      code = time_sweeps(r, &run, steps, &times);
      if (code != EXIT_DONE) break;
      if (k == 1) alone[n] = times.median;
      cli_print(common, " %10.3e %+6.1f %%", times.median, 100 * (times.median / alone[n] - 1));
      json_t *row = relax_bench_row_of(r, "async-overhead", &times);
      json_object_set_new(row, "block", json_integer(run.options.block));
      json_object_set_new(row, "local_sweeps", json_integer(k));
      json_object_set_new(row, "iterations", json_integer(steps));
      json_object_set_new(row, "overhead", report_real(times.median / alone[n] - 1));
    }
    cli_print(common, "\n");
  }
  return code;
}

/* ---- time ---- */

/* curve: name of its history, as in table rate. */
typedef struct contender {
  const char *name, *curve;
  kaon_method method;
  kaon_relax_driver driver;
} contender;

/* *history is owned by the caller. */
static int time_one(relax_bench *r, const contender *c, double tol, column_history *history) {
  enum { SWEEPS = 100 };
  relax_run run = relax_run_of(r, c->method, tol, 200000);
  bench_spread times, sweeps = {.median = NAN};
  run.options.driver = c->driver;
  int code = relax_run_repeat(r, &run, r->b->args->samples, &times);
  *history = run.history;
  if (code == EXIT_DONE && relax_is(c->method) && c->driver == KAON_RELAX_LAUNCH)
    code = time_sweeps(r, &run, SWEEPS, &sweeps);
  if (code != EXIT_DONE) return code;
  char without[16] = "-";
  if (!isnan(sweeps.median)) snprintf(without, sizeof without, "%.3e", sweeps.median / SWEEPS);
  cli_print(&r->b->args->common,
            "  %-22s %7d iterations %10.3e s, %9.3e an iteration, %9s without residuals; %s\n",
            c->name, run.report.iterations, times.median,
            times.median / fmax(1, run.report.iterations), without,
            kaon_stop_reason_name(run.report.reason));
  json_t *row = relax_bench_row_of(r, "async-time", &times);
  json_object_update_new(
      row,
      json_pack("{s:s s:i s:i s:i s:o s:o s:o s:s s:i s:i s:o}", "method", c->name, "block",
                run.options.block, "local_sweeps", run.options.local_sweeps, "iterations",
                run.report.iterations, "tol", report_real(tol), "residual",
                report_real(run.report.residual), "seconds_sweep",
                report_real(sweeps.median / SWEEPS), "status",
                kaon_stop_reason_name(run.report.reason), "newest", run.relaxation.newest, "oldest",
                run.relaxation.oldest, "asynchronous", report_real(run.relaxation.asynchronous)));
  json_object_set_new(row, "newest_after", json_integer(run.relaxation.newest_after));
  return EXIT_DONE;
}

/* Times Gauss-Seidel row by row on one thread of the processor, on any backend. */
static int time_on_host(relax_bench *r, double tol) {
  static const contender gs = {"gauss-seidel, one core", "gauss-seidel", KAON_GS,
                               KAON_RELAX_LAUNCH};
  kaon_context_options options = KAON_CONTEXT_OPTIONS_INIT;
  kaon_context *ctx = NULL;
  column_history same = {NULL, 0}; /* the same curve as gauss-seidel */
  relax_bench own;
  options.backend = KAON_BACKEND_CPU;
  options.threads = 1;
  if (r->b->info.ranks > 1) return EXIT_DONE;
  int code = cli_status(NULL, kaon_context_create(&options, &ctx), NULL);
  if (code != EXIT_DONE) return code;
  code = relax_bench_open(&own, r->b, ctx, r->l.args->matrix);
  if (code == EXIT_DONE) code = time_one(&own, &gs, tol, &same);
  free(same.residual);
  relax_bench_close(&own);
  kaon_context_destroy(&ctx);
  return code;
}

static int times(relax_bench *r) {
  enum { KINDS = 6 };
  static const contender all[KINDS] = {
      {"jacobi", "jacobi", KAON_JACOBI, KAON_RELAX_LAUNCH},
      {"gauss-seidel", "gauss-seidel", KAON_GS, KAON_RELAX_LAUNCH},
      {"two-stage", "two-stage", KAON_TWO_STAGE, KAON_RELAX_LAUNCH},
      {"async, launches", "async-(k)", KAON_ASYNC, KAON_RELAX_LAUNCH},
      {"async, free", "async-(k) free", KAON_ASYNC, KAON_RELAX_FREE},
      {"cg", "cg", KAON_CG, KAON_RELAX_LAUNCH}};
  const double tol = relax_tolerance(r, 1e-8);
  const int kinds = r->l.info.hermitian ? KINDS : KINDS - 1; /* CG, the last one, needs A = A^H */
  column_history histories[KINDS] = {{NULL, 0}};
  const char *names[KINDS];
  char name[64];
  int code = EXIT_DONE;
  cli_print(&r->b->args->common, "\n%s: to %g\n", relax_bench_name(r, name), tol);
  for (int i = 0; i < kinds && code == EXIT_DONE; i++) {
    names[i] = all[i].curve;
    code = time_one(r, &all[i], tol, &histories[i]);
  }
  if (code == EXIT_DONE) code = time_on_host(r, tol);
  if (code == EXIT_DONE) code = relax_bench_histories(r, "time", histories, names, kinds);
  for (int i = 0; i < kinds; i++) free(histories[i].residual);
  return code;
}

/* ---- all ---- */

static int matrix(bench *b, const char *name) {
  static int (*const tables[])(relax_bench *) = {props,    stat,  rate,
                                                 overhead, times, relax_bench_figure11};
  relax_bench r;
  int code = relax_bench_open(&r, b, b->ctx, name);
  for (size_t i = 0; i < sizeof tables / sizeof *tables && code == EXIT_DONE; i++) {
    if (!(relax_of(b)->tables >> i & 1)) continue;
    bench_stage(b);
    code = tables[i](&r);
    if (code == EXIT_DONE && bench_save(b) != KAON_OK) code = EXIT_DEVICE;
  }
  relax_bench_close(&r);
  return code;
}

static int measure(bench *b) {
  enum { FIGURE11 = 1 << 5 };
  const relax_args *a = relax_of(b);
  const int joined = a->matrix.joined.count > 0;
  const char *usual[] = {a->tables == FIGURE11 ? "trefethen:20000" : "trefethen:2000", NULL};
  int code = bench_merge_rows(b, &a->matrix.joined, "async-figure11");
  if (code == EXIT_DONE) code = matrix_each(b, usual, matrix);
  if (code == EXIT_DONE && (a->tables & FIGURE11 || joined)) relax_bench_print_figure11(b);
  if (code == EXIT_DONE && joined && bench_save(b) != KAON_OK) code = EXIT_DEVICE;
  return bench_end(b, code);
}

static const cli_option option_rows[] = {
    MATRIX_OPTION_MATRIX("trefethen:2000; figure11: trefethen:20000"),
    {CLI_SET, "table", "props|stat|rate|overhead|time|figure11", "props,stat,rate,overhead,time",
     RELAX_AT(tables), 0, 0, "a list with commas"},
    {CLI_INT, "runs", "N", "100", RELAX_AT(runs), 1, 1000000, "runs of table stat"},
    CLI_TABLE_ROW(relax_block_rows, 0),
    MATRIX_OPTION_TOL(NULL,
                      "tables time and figure11: stop at this relative residual (default 1e-8)"),
    {CLI_INT, "samples", "N", "7", BENCH_AT(samples), 1, 1000,
     "samples, whose median counts. No more after 10 seconds."},
    {CLI_INT, "lag", "N", "-1", RELAX_AT(lag), -1, 1000000,
     "driver free: iterations that a block may be ahead of those it reads (default 2)"},
    CLI_TABLE_ROW(relax_file_rows, 0),
    CLI_GROUP_ROW("Table stat, driver launch:"),
    {CLI_INT, "together", "N", NULL, RELAX_AT(together), 1, 1000000,
     "blocks at work at once (default: all but one; on a GPU all but a sixteenth)"},
    {CLI_INT, "order-seed", "N", "-1", RELAX_AT(seed), -1, 1000000,
     "draws the order in which a run's blocks begin (default 1, on a GPU 0). 0: in their order."},
    CLI_GROUP_ROW("Table figure11, on several ranks:"),
    {CLI_SET, "exchange", RELAX_EXCHANGES, "amc,dc,dk,push,sync", RELAX_AT(exchanges), 0, 0,
     "a list with commas: how remote values arrive; auto: all"},
    {CLI_INT, "rank-lag", "N", "-1", RELAX_AT(rank_lag), -1, 1000000,
     "iterations that a block may be ahead of other ranks' (-1: no bound)"},
    MATRIX_OPTION_JOIN("rows of earlier runs for the figure; repeatable"),
    CLI_TABLE_ROW(relax_detail_rows, 0),
    CLI_END_ROW};

static int run(void *arguments) {
  return relax_bench_run(arguments, option_rows, measure);
}

const cli_command bench_async = {
    .name = "async",
    .summary = "Asynchronous relaxation: the tables and figures of paper A.",
    .examples = "Example:\n  kaon bench async --matrix trefethen:2000 --table stat --runs 20",
    .options = option_rows,
    .arguments = sizeof(relax_args),
    .run = run,
    .daily =
        "matrix table runs block local-sweeps tol samples lag json csv histories backend threads"};
