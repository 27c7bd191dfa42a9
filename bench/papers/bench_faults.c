/* bench_faults.c - relaxation with faults, in the form of table 6 and figure 10 of Anzt, Tomov,
 * Dongarra, Heuveline (2012). A quarter of the rows is not updated from iteration 10 on, and is
 * restored after 10, 20 and 30 iterations or never. Then bits flip at several rates, with and
 * without repair by the monitor. Options replace these faults. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/papers/bench_relax.h"
#include "interfaces/common/report.h"

/* The options, or the quarter of the rows of the paper and a rate of flips. */
static int asked_for(const relax_bench *r, kaon_fault_options *f) {
  linear_args a = matrix_of(r->b)->linear;
  if (isnan(a.fault_share) && a.fault_rank < 0) a.fault_share = 0.25;
  if (isnan(a.flip_rate)) a.flip_rate = 1e-6;
  if (a.fault_rank >= r->b->info.ranks)
    return cli_wrong("--fault-rank is %d, but there are %d ranks; give one from 0 to %d",
                     a.fault_rank, r->b->info.ranks, r->b->info.ranks - 1);
  return faults_options(&a, f);
}

static relax_run run_of(const relax_bench *r, const kaon_fault_options *faults) {
  relax_run run = relax_run_of_tables(r, KAON_ASYNC, relax_tolerance(r, 1e-12), 400);
  if (bench_on_host(r->b)) { /* as on a device that holds all blocks at once */
    const int64_t blocks = (r->l.info.rows + run.options.block - 1) / run.options.block;
    run.options.together = blocks > 1 ? (int)blocks - 1 : 1;
    run.options.seed = 1;
  }
  run.lab.faults = faults;
  return run;
}

/* Adds the figures of a run to its row. */
static void describe(json_t *row, const relax_run *run, const kaon_fault_options *f,
                     double more_time, double more) {
  const kaon_relax_report *x = &run->relaxation;
  json_object_update_new(
      row,
      json_pack("{s:i s:i s:f s:i s:i s:o s:i s:i s:o s:s s:I s:i s:i s:b s:I s:i s:i s:i s:o s:o}",
                "block", run->options.block, "local_sweeps", run->options.local_sweeps, "share",
                f->share, "begin", f->begin, "recovery", f->recovery, "flip_rate",
                report_real(f->flip_rate), "repair", f->repair, "iterations",
                run->report.iterations, "residual", report_real(run->report.residual), "status",
                kaon_stop_reason_name(run->report.reason), "frozen", (json_int_t)x->frozen,
                "frozen_at", x->frozen_at, "restored_at", x->restored_at, "restored_by_monitor",
                x->restored_by_monitor, "flips", (json_int_t)x->flips, "alarms", x->alarms,
                "first_alarm", x->first_alarm, "rollbacks", x->rollbacks, "more_seconds",
                report_real(more_time), "more_iterations", report_real(more)));
}

/* A line of the table, and the first line, to which others are compared. */
typedef struct fault_line {
  char name[24];
  kaon_fault_options faults;
  column_history history;
} fault_line;

typedef struct fault_base {
  double seconds;
  int steps;
} fault_base;

static int line_of(relax_bench *r, fault_line *line, fault_base *base) {
  enum { SAMPLES = 5 }; /* the order of blocks is all that differs */
  relax_run run = run_of(r, &line->faults);
  bench_spread times;
  const int code = relax_run_repeat(r, &run, SAMPLES, &times);
  if (code != EXIT_DONE) return code;
  line->history = run.history;
  if (base->steps < 0) *base = (fault_base){times.median, run.report.iterations};
  const double more_time = 100 * (times.median / base->seconds - 1);
  const double more =
      100.0 * (run.report.iterations - base->steps) / (base->steps > 0 ? base->steps : 1);
  cli_print(&r->b->args->common,
            "  %-13s %4d iterations %+6.1f %%, %9.3e s %+6.1f %%, residual %.2e, %s; back at %d, "
            "%d alarms, the first at %d\n",
            line->name, run.report.iterations, more, times.median, more_time, run.report.residual,
            kaon_stop_reason_name(run.report.reason), run.relaxation.restored_at,
            run.relaxation.alarms, run.relaxation.first_alarm);
  describe(relax_bench_row_of(r, "faults-recovery", &times), &run, &line->faults, more_time, more);
  return EXIT_DONE;
}

enum { MOST_LINES = 6 };

/* Lines: no fault; restored after each time; restored by the monitor; never restored. Returns how
 * many. */
static int lines_of(const kaon_fault_options *asked, fault_line lines[MOST_LINES]) {
  static const int papers[] = {10, 20, 30};
  const int own = asked->recovery > 0, times = own ? 1 : 3, count = times + 3;
  for (int i = 0; i < count; i++) {
    kaon_fault_options *f = &lines[i].faults;
    *f = *asked;
    f->flip_rate = 0;
    f->recovery = i == 0 || i > times ? 0 : own ? asked->recovery : papers[i - 1];
    f->repair = i == times + 1;
    snprintf(lines[i].name, sizeof lines[i].name, "recover-(%d)", f->recovery);
  }
  lines[0].faults.share = 0;
  lines[0].faults.kind = KAON_FAULT_ROWS;
  snprintf(lines[0].name, sizeof lines[0].name, "no fault");
  snprintf(lines[count - 2].name, sizeof lines[0].name, "by monitor");
  snprintf(lines[count - 1].name, sizeof lines[0].name, "no recovery");
  return count;
}

static int recovery(relax_bench *r) {
  fault_line lines[MOST_LINES] = {{{0}, KAON_FAULT_OPTIONS_INIT, {NULL, 0}}};
  fault_base base = {0, -1};
  kaon_fault_options asked;
  column_history histories[MOST_LINES];
  const char *names[MOST_LINES];
  char name[64], which[32] = "";
  int code = asked_for(r, &asked);
  if (code != EXIT_DONE) return code;
  if (asked.kind == KAON_FAULT_RANK) snprintf(which, sizeof which, " of rank %d", asked.rank);
  cli_print(&r->b->args->common,
            "\n%s: %.3g %% of the rows%s frozen from iteration %d on; more than without faults\n",
            relax_bench_name(r, name), 100 * asked.share, which, asked.begin);
  const int count = lines_of(&asked, lines);
  for (int i = 0; i < count && code == EXIT_DONE; i++) {
    code = line_of(r, &lines[i], &base);
    histories[i] = lines[i].history;
    names[i] = lines[i].name;
  }
  if (code == EXIT_DONE) code = relax_bench_histories(r, "faults", histories, names, count);
  for (int i = 0; i < count; i++) free(lines[i].history.residual);
  return code;
}

static int flips(relax_bench *r) {
  static const double rates[] = {1e-6, 1e-5, 1e-4, 1e-3};
  const double own = matrix_of(r->b)->linear.flip_rate;
  const cli_common *common = &r->b->args->common;
  char name[64];
  kaon_fault_options f;
  int code = asked_for(r, &f);
  cli_print(common, "\n%s: bits of x that flip, of a row in an iteration\n",
            relax_bench_name(r, name));
  f.kind = KAON_FAULT_ROWS;
  f.share = 0;
  f.recovery = 0;
  for (int i = 0; i < (isnan(own) ? 8 : 2) && code == EXIT_DONE; i++) {
    f.flip_rate = isnan(own) ? rates[i / 2] : own;
    f.repair = i % 2;
    relax_run run = run_of(r, &f);
    code = relax_run_solve(r, &run);
    relax_run_clear(&run);
    if (code != EXIT_DONE) break;
    cli_print(common,
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
  if (code == EXIT_DONE && bench_save(b) != KAON_OK) code = EXIT_DEVICE;
  if (code == EXIT_DONE) code = flips(&r);
  if (code == EXIT_DONE && bench_save(b) != KAON_OK) code = EXIT_DEVICE;
  relax_bench_close(&r);
  return code;
}

static int measure(bench *b) {
  static const char *const usual[] = {"trefethen:2000", NULL};
  return matrix_each(b, usual, matrix);
}

static const cli_option option_rows[] = {
    MATRIX_OPTION_MATRIX("trefethen:2000"),
    CLI_TABLE_ROW(relax_block_rows, 0),
    MATRIX_OPTION_TOL(NULL, "stop at this relative residual (default 1e-12)"),
    CLI_TABLE_ROW(relax_file_rows, 0),
    CLI_GROUP_ROW("Faults in place of those of the paper:"),
    LINEAR_OPTIONS_FAULTS(MATRIX_LINEAR),
    CLI_TABLE_ROW(relax_detail_rows, 0),
    CLI_END_ROW};

static int run(void *arguments) {
  relax_args *a = arguments;
  if (a->matrix.linear.no_repair)
    return cli_wrong(
        "--no-repair has no effect on bench faults, which measures with and without; leave it out, "
        "or run kaon solve");
  a->lag = -1;
  return relax_bench_run(a, option_rows, measure);
}

const cli_command bench_faults = {
    .name = "faults",
    .summary = "Relaxation with lost rows and flipped bits (paper A).",
    .examples =
        "Example:\n  kaon bench faults --matrix trefethen:2000 --fault-share 0.1 --fault-begin 20",
    .options = option_rows,
    .arguments = sizeof(relax_args),
    .run = run,
    .daily =
        "matrix block local-sweeps fault-share fault-begin fault-recovery flip-rate json csv "
        "histories backend threads"};
