/* bench_figure11.c - figure 11 of Anzt, Tomov, Dongarra, Heuveline (2012): time to the tolerance of
 * block-asynchronous iteration on 1 to N ranks (GPUs), for each exchange of remote values. A job
 * measures its own number of ranks. Rows of other jobs come from files (--join). */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench/papers/bench_relax.h"
#include "interfaces/common/report.h"

#define ROWS "async-figure11"
enum { RANKS = 64 };

/* ---- a row ---- */

static void keep_row(relax_bench *r, const relax_run *run, const bench_spread *times, double tol) {
  const kaon_relax_report *x = &run->relaxation;
  const int iterations = run->report.iterations;
  json_t *row = relax_bench_row_of(r, ROWS, times);
  json_object_update_new(
      row, json_pack("{s:s s:s s:i s:i s:i s:i s:o s:o s:o s:s s:i s:i s:o}", "exchange",
                     r->b->info.ranks > 1 ? relax_exchange_name(x->exchange) : "none", "driver",
                     run->options.driver == KAON_RELAX_FREE ? "free" : "launch", "block",
                     run->options.block, "local_sweeps", run->options.local_sweeps, "rank_lag",
                     run->lab.rank_lag, "iterations", iterations, "tol", report_real(tol),
                     "residual", report_real(run->report.residual), "seconds_iteration",
                     report_real(times->median / fmax(1, iterations)), "status",
                     kaon_stop_reason_name(run->report.reason), "rank_newest", x->rank_newest,
                     "rank_oldest", x->rank_oldest, "rank_asynchronous",
                     report_real(x->rank_asynchronous)));
}

/* *there: this exchange is available. */
static int measure(relax_bench *r, kaon_relax_exchange exchange, kaon_relax_driver driver,
                   double tol, int *there) {
  const relax_args *a = relax_of(r->b);
  const cli_common *common = &r->b->args->common;
  relax_run run = relax_run_of(r, KAON_ASYNC, tol, 100000);
  bench_spread times;
  run.lab.exchange = exchange;
  run.options.driver = driver;
  run.lab.rank_lag = a->rank_lag;
  const int code = relax_run_repeat(r, &run, r->b->args->samples, &times);
  relax_run_clear(&run);
  if (code != EXIT_DONE) return code;
  *there = r->b->info.ranks == 1 || run.relaxation.exchange == exchange;
  if (!*there) {
    cli_print(common, "  %s\n", run.relaxation.exchange_note);
    return EXIT_DONE;
  }
  if (run.report.reason != KAON_CONVERGED) r->b->unconverged = 1;
  cli_print(
      common,
      "  %-5s %-6s %7d iterations %10.3e s, %9.3e an iteration; shifts across ranks %d to %d; "
      "%s\n",
      r->b->info.ranks > 1 ? relax_exchange_name(run.relaxation.exchange) : "none",
      driver ? "free" : "launch", run.report.iterations, times.median,
      times.median / fmax(1, run.report.iterations), run.relaxation.rank_newest,
      run.relaxation.rank_oldest, kaon_stop_reason_name(run.report.reason));
  keep_row(r, &run, &times, tol);
  return EXIT_DONE;
}

int relax_bench_figure11(relax_bench *r) {
  const relax_args *a = relax_of(r->b);
  const double tol = relax_tolerance(r, 1e-8);
  const int several = r->b->info.ranks > 1;
  char name[64];
  int code = EXIT_DONE;
  cli_print(&r->b->args->common, "\n%s: to %g on %d rank%s\n", relax_bench_name(r, name), tol,
            r->b->info.ranks, several ? "s" : "");
  for (int i = KAON_EXCHANGE_AMC; i <= KAON_EXCHANGE_SYNC && code == EXIT_DONE; i++) {
    int there = 1;
    if (several ? !((a->exchanges >> i | a->exchanges) & 1) : i != KAON_EXCHANGE_SYNC) continue;
    for (int d = KAON_RELAX_LAUNCH; d <= KAON_RELAX_FREE && there && code == EXIT_DONE; d++)
      code = measure(r, (kaon_relax_exchange)i, (kaon_relax_driver)d, tol, &there);
  }
  return code;
}

/* ---- the figure ---- */

static int is_row(const json_t *row, const char *matrix, const char *driver, int ranks,
                  const char *exchange) {
  return strcmp(bench_word(row, "bench"), ROWS) == 0 &&
         strcmp(bench_word(row, "matrix"), matrix) == 0 &&
         strcmp(bench_word(row, "driver"), driver) == 0 &&
         (int)bench_number(row, "ranks") == ranks &&
         strcmp(bench_word(row, "exchange"), exchange) == 0;
}

/* Finds the fastest row; NULL: none. On one rank nothing is exchanged, so its row counts for every
 * exchange. */
static const json_t *find(const json_t *rows, const char *matrix, const char *driver, int ranks,
                          int way) {
  const char *exchange = ranks == 1 ? "none" : relax_exchange_name((kaon_relax_exchange)way);
  const json_t *row, *found = NULL;
  size_t i;
  json_array_foreach(rows, i, row) {
    if (!is_row(row, matrix, driver, ranks, exchange)) continue;
    if (found == NULL || bench_number(row, "seconds") < bench_number(found, "seconds")) found = row;
  }
  return found;
}

/* Prints a line for each number of ranks. */
static void print_figure(const cli_common *common, const json_t *rows, const char *matrix,
                         const char *driver) {
  int head = 0;
  for (int ranks = 1; ranks <= RANKS; ranks++) {
    int any = 0;
    for (int i = KAON_EXCHANGE_AMC; i <= KAON_EXCHANGE_SYNC; i++)
      any = any || find(rows, matrix, driver, ranks, i);
    if (!any) continue;
    if (!head++)
      cli_print(common,
                "\nfigure 11, %s, driver %s: seconds to the tolerance (microseconds an iteration)\n"
                "%5s %22s %22s %22s %22s %22s\n",
                matrix, driver, "ranks", "amc", "dc", "dk", "push", "sync");
    cli_print(common, "%5d", ranks);
    for (int i = KAON_EXCHANGE_AMC; i <= KAON_EXCHANGE_SYNC; i++) {
      const json_t *row = find(rows, matrix, driver, ranks, i);
      char text[32] = "-";
      if (row != NULL)
        snprintf(text, sizeof text, "%.4g (%.1f)%s", bench_number(row, "seconds"),
                 1e6 * bench_number(row, "seconds_iteration"),
                 strcmp(bench_word(row, "status"), "converged") == 0 ? "" : "!");
      cli_print(common, " %22s", text);
    }
    cli_print(common, "\n");
  }
}

void relax_bench_print_figure11(const bench *b) {
  const json_t *row;
  size_t i;
  json_array_foreach(b->rows, i, row) {
    if (!bench_first_of_matrix(b->rows, i, ROWS)) continue;
    print_figure(&b->args->common, b->rows, bench_word(row, "matrix"), "launch");
    print_figure(&b->args->common, b->rows, bench_word(row, "matrix"), "free");
  }
}
