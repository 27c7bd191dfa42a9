/* bench_faults.c - relaxation with faults, in the form of table 6 and figure 10 of Anzt, Tomov,
 * Dongarra, Heuveline (2012): a quarter of the rows is no longer updated from iteration 10 on and
 * given back after 10, 20 and 30 more, or never. Then bits that flip unseen, at several rates, with
 * the monitor's repair and without. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench_relax.h"
#include "report.h"

static relax_run run_of(const relax_bench *r, const kaon_fault_options *faults) {
  const bench_args *a = r->b->args;
  relax_run run =
      relax_run_of(r, KAON_ASYNC, cli_given(&a->common, "tol") ? a->problem.tol : 1e-12, 400);
  if (bench_on_host(r->b)) { /* as a device that holds all blocks at once */
    const int64_t blocks = (r->l.info.rows + run.options.block - 1) / run.options.block;
    run.options.together = blocks > 1 ? (int)blocks - 1 : 1;
    run.options.seed = 1;
  }
  run.options.faults = faults;
  return run;
}

/* Into a row of what `run` took. */
static void describe(json_t *row, const relax_run *run, const kaon_fault_options *f,
                     double more_time, double more) {
  const kaon_relax_report *x = &run->relaxation;
  json_t *figures = json_pack(
      "{s:i s:i s:f s:i s:i s:o s:i s:i s:o s:s s:I s:i s:i s:b s:I s:i s:i s:i s:o s:o}", "block",
      run->options.block, "local_sweeps", run->options.local_sweeps, "share", f->share, "begin",
      f->begin, "recovery", f->recovery, "flip_rate", report_real(f->flip_rate), "repair",
      f->repair, "iterations", run->report.iterations, "residual",
      report_real(run->report.residual), "status", kaon_stop_reason_name(run->report.reason),
      "frozen", (json_int_t)x->frozen, "frozen_at", x->frozen_at, "restored_at", x->restored_at,
      "restored_by_monitor", x->restored_by_monitor, "flips", (json_int_t)x->flips, "alarms",
      x->alarms, "first_alarm", x->first_alarm, "rollbacks", x->rollbacks, "more_seconds",
      report_real(more_time), "more_iterations", report_real(more));
  json_object_update(row, figures);
  json_decref(figures);
}

static int recovery(relax_bench *r) {
  enum { KINDS = 6, SAMPLES = 5 }; /* the same iterations on one machine but for their order */
  static const char *const names[KINDS] = {"no fault",     "recover-(10)", "recover-(20)",
                                           "recover-(30)", "by monitor",   "no recovery"};
  static const int after[KINDS] = {0, 10, 20, 30, 0, 0};
  const cli_common *common = &r->b->args->common;
  column_history histories[KINDS] = {{NULL, 0}};
  double seconds = 0;
  int steps = 0, code = EXIT_DONE;
  char name[64];
  cli_say(common, "\n%s: 25 %% of the rows frozen from iteration 10 on; more than without faults\n",
          relax_bench_name(r, name));
  for (int i = 0; i < KINDS && code == EXIT_DONE; i++) {
    kaon_fault_options f = KAON_FAULT_OPTIONS_INIT;
    f.share = i > 0 ? 0.25 : 0;
    f.recovery = after[i];
    f.repair = i == 4;
    relax_run run = run_of(r, &f);
    bench_spread times;
    code = relax_run_repeat(r, &run, SAMPLES, &times);
    if (code != EXIT_DONE) break;
    if (i == 0) seconds = times.median;
    if (i == 0) steps = run.report.iterations;
    const double more_time = 100 * (times.median / seconds - 1);
    const double more = 100.0 * (run.report.iterations - steps) / (steps > 0 ? steps : 1);
    cli_say(common,
            "  %-13s %4d iterations %+6.1f %%, %9.3e s %+6.1f %%, residual %.2e, %s; back at %d, "
            "%d alarms, the first at %d\n",
            names[i], run.report.iterations, more, times.median, more_time, run.report.residual,
            kaon_stop_reason_name(run.report.reason), run.relaxation.restored_at,
            run.relaxation.alarms, run.relaxation.first_alarm);
    describe(relax_bench_row_of(r, "faults-recovery", &times), &run, &f, more_time, more);
    histories[i] = run.history;
  }
  if (code == EXIT_DONE) code = relax_bench_histories(r, "faults", histories, names, KINDS);
  for (int i = 0; i < KINDS; i++) free(histories[i].residual);
  return code;
}

static int flips(relax_bench *r) {
  static const double rates[] = {1e-6, 1e-5, 1e-4, 1e-3};
  const cli_common *common = &r->b->args->common;
  char name[64];
  int code = EXIT_DONE;
  cli_say(common, "\n%s: bits of x that flip, of a row in an iteration\n",
          relax_bench_name(r, name));
  for (int i = 0; i < 8 && code == EXIT_DONE; i++) {
    kaon_fault_options f = KAON_FAULT_OPTIONS_INIT;
    f.flip_rate = rates[i / 2];
    f.repair = i % 2;
    relax_run run = run_of(r, &f);
    code = relax_run_solve(r, &run);
    relax_run_clear(&run);
    if (code != EXIT_DONE) break;
    cli_say(common,
            "  %.0e, %s: %4d iterations, residual %.2e, %s; %lld flips, %d alarms, %d copies put "
            "back\n",
            f.flip_rate, f.repair ? "repaired  " : "unrepaired", run.report.iterations,
            run.report.residual, kaon_stop_reason_name(run.report.reason),
            (long long)run.relaxation.flips, run.relaxation.alarms, run.relaxation.rollbacks);
    describe(relax_bench_row(r, "faults-flips", run.solve.seconds), &run, &f, NAN, NAN);
  }
  return code;
}

static int matrix(bench *b, const char *name) {
  relax_bench r;
  int code = relax_bench_open(&r, b, b->ctx, name);
  if (code == EXIT_DONE) code = recovery(&r);
  if (code == EXIT_DONE && bench_keep(b) != KAON_OK) code = EXIT_DEVICE;
  if (code == EXIT_DONE) code = flips(&r);
  if (code == EXIT_DONE && bench_keep(b) != KAON_OK) code = EXIT_DEVICE;
  relax_bench_close(&r);
  return code;
}

int bench_faults(bench *b) {
  const cli_texts *list = &b->args->matrices;
  int code = EXIT_DONE;
  if (list->count == 0) return matrix(b, "trefethen:2000");
  for (int i = 0; i < list->count && code == EXIT_DONE; i++) code = matrix(b, list->text[i]);
  return code;
}
