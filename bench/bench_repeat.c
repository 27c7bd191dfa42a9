/* bench_repeat.c - repeats a solve: median time and mean energy. Contract: bench.h. */
#include <math.h>
#include <stdlib.h>

#include "bench/bench.h"
#include "interfaces/common/signals.h"

int bench_monitor(void *user, int iteration, int column, double residual) {
  (void)user;
  (void)iteration;
  (void)column;
  (void)residual;
  return signals_interrupted();
}

/* Decides whether to repeat after `done` solves that took `all` seconds. The first rank decides for
 * all. By rule: at least 0.3 s; at least 3 solves within 4 s; 2 s where there is an energy counter,
 * which moves in steps. Otherwise b->least_seconds. */
static int goes_on(const bench *b, const energy_meter *meter, int done, double all) {
  enum { repeats = 3 };
  static const double least_seconds = 0.3, counted_seconds = 2, long_seconds = 4;
  if (b->once) return done == 0;
  double more = ranks_first() && (all < least_seconds || (done < repeats && all < long_seconds) ||
                                  energy_span(meter) < counted_seconds);
  if (b->least_seconds > 0) more = ranks_first() && all < b->least_seconds;
  return ranks_most(&more, 1) == KAON_OK && more > 0;
}

/* Joules of all ranks. A counter belongs to a device, or to all processors of a node. */
static double joules_of_all(const bench *b, const energy_meter *meter) {
  double joules = energy_since(meter);
  if (bench_on_host(b) && b->info.local_rank > 0) joules = 0;
  return ranks_sum(&joules, 1) == KAON_OK ? joules : NAN;
}

/* Solves once from x = 0. Seconds are those of the slowest rank, processor time is the mean over
 * ranks. */
static kaon_status repeat(bench *b, kaon_solver *solver, const kaon_vector *source, kaon_vector *x,
                          kaon_column_report *reports, kaon_solve_report *report, double *cpu) {
  kaon_status status = kaon_vector_zero(x);
  if (status == KAON_OK) status = kaon_context_synchronise(b->ctx);
  if (status == KAON_OK && bench_stopped())
    status = KAON_ERR_CANCELLED; /* all ranks begin together */
  const double before = cli_cpu_seconds();
  if (status == KAON_OK) status = kaon_solver_solve(solver, source, x, reports, report);
  *cpu = (cli_cpu_seconds() - before) / b->info.ranks;
  if (status == KAON_OK && bench_stopped()) status = KAON_ERR_CANCELLED;
  if (status == KAON_OK) status = ranks_most(&report->seconds, 1);
  return status == KAON_OK ? ranks_sum(cpu, 1) : status;
}

/* Keeps the figures of the fastest repeat, except times and energy. One repeat that did not
 * converge decides the reason of all. */
static void keep_if_best(bench_figures *best, const kaon_solve_report *report,
                         const kaon_column_report *reports, int columns) {
  const double slowest = fmax(best->slowest, report->seconds);
  kaon_stop_reason reason = best->reason;
  for (int k = 0; k < columns; k++)
    if (reports[k].reason != KAON_CONVERGED) reason = reports[k].reason;
  if (report->seconds < best->fastest) {
    *best = (bench_figures){.fastest = report->seconds,
                            .flops = report->flops,
                            .traffic = report->traffic,
                            .issue = report->issue};
    for (int k = 0; k < columns; k++) {
      if (reports[k].iterations > best->iterations) best->iterations = reports[k].iterations;
      if (!(reports[k].residual <= best->residual)) best->residual = reports[k].residual;
    }
  }
  best->slowest = slowest;
  best->reason = reason;
}

/* Joules of the processors of all nodes, where the solves ran on devices. */
static double joules_of_processors(const bench *b, const energy_meter *meter) {
  double joules = energy_since(meter);
  if (b->info.local_rank > 0) joules = 0;
  return ranks_sum(&joules, 1) == KAON_OK ? joules : NAN;
}

static energy_meter start_beside(const bench *b) {
  return energy_start(b->processor ? b->processor : b->ctx);
}

/* Sums over the repeats, and the seconds of the first REPEATS_KEPT. */
enum { REPEATS_KEPT = 8192 };
typedef struct totals {
  double seconds, cpu, *each;
  int done;
} totals;

static void count(totals *t, double seconds, double cpu) {
  if (t->done < REPEATS_KEPT) t->each[t->done] = seconds;
  t->seconds += seconds;
  t->cpu += cpu;
  t->done++;
}

static void take_means(const bench *b, totals *t, const energy_meter *meter,
                       const energy_meter *beside, bench_figures *figures) {
  const int kept = t->done < REPEATS_KEPT ? t->done : REPEATS_KEPT;
  figures->joules = joules_of_all(b, meter) / t->done;
  figures->host_joules = b->processor ? joules_of_processors(b, beside) / t->done : NAN;
  figures->mean = t->seconds / t->done;
  figures->seconds = bench_spread_of(t->each, kept).median;
  figures->cpu_mean = t->cpu / t->done;
  figures->repeats = t->done;
}

/* Ignores --samples: that many solves would take long and tell little. */
kaon_status bench_median(bench *b, kaon_solver *solver, const kaon_vector *source, kaon_vector *x,
                         bench_figures *figures) {
  const int columns = kaon_vector_columns(source);
  kaon_column_report *reports = calloc((size_t)columns, sizeof *reports);
  totals t = {.each = calloc(REPEATS_KEPT, sizeof *t.each)};
  kaon_status status = kaon_context_agree(b->ctx, reports && t.each ? KAON_OK : KAON_ERR_MEMORY);
  kaon_solve_report report = KAON_SOLVE_REPORT_INIT;
  double cpu;
  int first =
      b->least_seconds > 0; /* the first solve records launches; it counts only where it is long */
  energy_meter meter = energy_start(b->ctx), beside = start_beside(b);
  *figures = (bench_figures){.fastest = 1e300, .reason = KAON_CONVERGED};
  while (status == KAON_OK && goes_on(b, &meter, t.done, t.seconds)) {
    status = repeat(b, solver, source, x, reports, &report, &cpu);
    if (status != KAON_OK) break;
    if (first && report.seconds < b->least_seconds) {
      meter = energy_start(b->ctx);
      beside = start_beside(b);
    } else {
      count(&t, report.seconds, cpu);
      keep_if_best(figures, &report, reports, columns);
    }
    first = 0;
  }
  if (status == KAON_OK) take_means(b, &t, &meter, &beside, figures);
  free(reports);
  free(t.each);
  return status;
}
