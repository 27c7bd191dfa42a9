/* multigrid_levels.c - where the time of a solve goes, by level. Contract: multigrid_levels.h.
 *
 * The parts of a cycle are measured by themselves after the solve, since clocks inside it would
 * change it, and times the steps of the solve they are the seconds of the levels. What is left of
 * the solve is the outer GCR's. */
#include "interfaces/cli/report/multigrid_levels.h"

#include <math.h>
#include <stdio.h>

#include "interfaces/cli/report/plot.h"
#include "interfaces/common/report.h"
#include "interfaces/common/signals.h"

typedef struct level_times {
  kaon_multigrid_info info;
  kaon_multigrid_times times; /* of the whole solve */
  double outer, all;          /* seconds of the outer GCR, and of everything */
} level_times;

static kaon_status measure(const invert_job *job, level_times *t) {
  *t = (level_times){KAON_MULTIGRID_INFO_INIT, KAON_MULTIGRID_TIMES_INIT, 0, 0};
  kaon_status status = kaon_multigrid_describe(job->p.K, &t->info);
  if (status == KAON_OK) status = kaon_multigrid_measure(job->p.K, job->batch, &t->times);
  if (status != KAON_OK) return status;
  for (int l = 0; l < t->times.levels; l++) {
    kaon_multigrid_part *p = &t->times.level[l];
    double *const parts[] = {&p->seconds, &p->smoother, &p->transfer, &p->krylov, &p->coarsest};
    for (int i = 0; i < 5; i++) *parts[i] *= job->cycles;
  }
  t->times.seconds *= job->cycles;
  t->all = fmax(job->cycle_seconds, t->times.seconds);
  t->outer = t->all - t->times.seconds;
  return KAON_OK;
}

static void print(const invert_job *job, const level_times *t) {
  const cli_common *common = &job->args->common;
  cli_print(common,
            "time of the solve by level, from the parts of a cycle run by themselves:\n"
            "level  lattice         dof  complexity     memory  set-up s  cycles  solve s  share  "
            "smoother  transfer      GCR  coarsest\n");
  for (int l = 0; l < t->info.levels; l++) {
    const kaon_multigrid_level *at = &t->info.level[l];
    const kaon_multigrid_part *p = &t->times.level[l];
    const int *e = at->extents;
    char lattice[48], bytes[32];
    snprintf(lattice, sizeof lattice, "%dx%dx%dx%d", e[0], e[1], e[2], e[3]);
    cli_print(
        common,
        "%5d  %-14s %4d  %10.3f %10s  %8.3f  %6.0f  %7.3f  %3.0f %%  %8.3f  %8.3f  %7.3f  %8.3f\n",
        l, lattice, at->numbers, at->complexity, cli_bytes((double)at->bytes, bytes), at->seconds,
        at->cycles * job->cycles, p->seconds, 100 * p->seconds / t->all, p->smoother, p->transfer,
        p->krylov, p->coarsest);
  }
  cli_print(common, "outer GCR %58.0f  %7.3f  %3.0f %%\n", job->cycles, t->outer,
            100 * t->outer / t->all);
}

static void add(const invert_job *job, const level_times *t, json_t *report) {
  json_t *levels = json_object_get(report, "levels");
  for (int l = 0; l < t->info.levels; l++) {
    const kaon_multigrid_part *p = &t->times.level[l];
    json_object_update_new(
        json_array_get(levels, (size_t)l),
        json_pack("{s:o s:o s:o s:{s:o s:o s:o s:o}}", "cycles",
                  report_real(t->info.level[l].cycles * job->cycles), "seconds",
                  report_real(p->seconds), "share", report_real(p->seconds / t->all), "parts",
                  "smoother", report_real(p->smoother), "transfer", report_real(p->transfer),
                  "krylov", report_real(p->krylov), "coarsest", report_real(p->coarsest)));
  }
  json_object_set_new(report, "outer",
                      json_pack("{s:o s:o s:o}", "steps", report_real(job->cycles), "seconds",
                                report_real(t->outer), "share", report_real(t->outer / t->all)));
}

static int draw(const invert_job *job, const level_times *t) {
  plot_bar bars[KAON_MULTIGRID_LEVELS + 1] = {{"outer GCR", {0, 0, t->outer, 0}}};
  if (!job->args->plot_levels) return EXIT_DONE;
  for (int l = 0; l < t->info.levels; l++) {
    const kaon_multigrid_part *p = &t->times.level[l];
    const int *e = t->info.level[l].extents;
    plot_bar *bar = &bars[l + 1];
    *bar = (plot_bar){"", {p->smoother, p->transfer, p->krylov, p->coarsest}};
    snprintf(bar->name, sizeof bar->name, "level %d: %dx%dx%dx%d", l, e[0], e[1], e[2], e[3]);
  }
  return plot_levels(job->args->plot_levels, job->args->problem.gauge, bars, t->info.levels + 1);
}

int levels_conclude(const invert_job *job, json_t *report) {
  const invert_args *a = job->args;
  level_times t;
  if (!multigrid_asked(&a->problem) || !(job->cycles > 0)) return EXIT_DONE;
  if (!a->common.report && !a->plot_levels) return EXIT_DONE;
  signals_stage("measuring the levels", "all columns were solved");
  const int code = cli_status(job->ctx, measure(job, &t), "--precond multigrid");
  if (code != EXIT_DONE) return code;
  print(job, &t);
  add(job, &t, report);
  return draw(job, &t);
}
