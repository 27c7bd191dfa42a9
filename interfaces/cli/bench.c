/* bench.c - kaon bench: options and rows. Every figure stands beside what the machine reached in
 * the same run: streaming read, STREAM triad or copy, multiply-add peak. */
#include "bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "report.h"
#include "signals.h"

#define OWN(member) offsetof(bench_args, member)
#define AT(member) offsetof(bench_args, problem) + offsetof(problem_args, member)

static const cli_option options[] = {
    {CLI_GROUP, "What is measured:", NULL, NULL, 0, 0, 0, NULL},
    {CLI_LATTICES, "lattice", "X Y Z T", NULL, OWN(lattices), 0, 0,
     "repeatable (default: 8x8x8x8, 16x16x16x32 and 24x24x24x24; solve: 8x8x8x16)"},
    {CLI_SET, "precision", "double|single|half", "double,single,half", OWN(precision), 0, 0,
     "a list with commas; solve: of the inner iteration"},
    {CLI_SET, "reconstruct", "18|12|8", NULL, OWN(reconstruct), 0, 0,
     "dslash, solve: a list with commas, reals kept a link (default 18,12,8; solve: 18)"},
    {CLI_COUNTS, "columns", "N,...", "1,12", OWN(columns), 1, 256,
     "a list with commas: right-hand sides at once"},
    {CLI_INT, "calls", "N", NULL, OWN(calls), 1, 1000000,
     "dslash, vector: calls a sample (default: 100, on a device 20 ms of them if those are more, "
     "nowhere more than half a second of them)"},
    {CLI_INT, "samples", "N", "7", OWN(samples), 1, 1000,
     "dslash, vector: samples, whose median counts; solve keeps the best of 3 solves, or of 2 "
     "seconds of them where joules are counted"},
    {CLI_FILE, "json", "FILE", NULL, OWN(json), 0, 0, "write the rows as a JSON list"},
    {CLI_FLAG, "temporal-gauge", NULL, NULL, AT(temporal_gauge), 0, 0,
     "solve in the temporal gauge; dslash: the clover matrix in it as well"},
    {CLI_GROUP, "For bench solve alone:", NULL, NULL, 0, 0, 0, NULL},
    {CLI_TEXT, "gauge", "FILE|unit|random:SEED|weak:EPS[:SEED]", "weak:0.3", AT(gauge), 0, 0,
     "links: a configuration file, or a synthetic field"},
    {CLI_FLAG, "ignore-checksum", NULL, NULL, AT(ignore_checksum), 0, 0,
     "go on, with warnings, where checksum, stored plaquette or unitarity fail"},
    {CLI_CHOICE, "action", PROBLEM_ACTIONS, "clover", AT(action), 0, 0, PROBLEM_ACTION_TEXT},
    {CLI_REAL, "kappa", "K", "0.125", AT(kappa), 1e-6, 10, "hopping parameter"},
    {CLI_REAL, "csw", "C", NULL, AT(csw), -10, 10, "clover coefficient (default 1 with clover)"},
    {CLI_CHOICE, "solver", PROBLEM_SOLVERS, "cg", AT(solver), 0, 0, PROBLEM_SOLVER_TEXT},
    {CLI_REAL, "tol", "EPS", "1e-10", AT(tol), 1e-16, 1, "stop at this relative residual"},
    {CLI_INT, "max-iter", "N", "10000", AT(max_iter), 1, 1e9, "steps allowed a column"},
    {CLI_CHOICE, "refinement", "reliable|restart", "reliable", AT(refinement), 0, 0,
     PROBLEM_REFINEMENT_TEXT},
    {CLI_CHOICE, "even-odd", "symmetric|asymmetric|none", "symmetric", AT(even_odd), 0, 0,
     PROBLEM_EVEN_ODD_TEXT},
    {CLI_CHOICE, "stop", "full|schur|normal", "full", AT(stop), 0, 0, PROBLEM_STOP_TEXT},
    {CLI_TEXT, "set", "KEY=VALUE,...", NULL, AT(set), 0, 0, PROBLEM_SET_TEXT},
    PROBLEM_OPTIONS_SCHWARZ(AT),
    {CLI_TEXT, "reduce-delay", "TIME", NULL, OWN(reduce_delay), 0, 0,
     "every sum over ranks takes at least so long, as in 100us or 0.1ms, of a single rank too: "
     "what "
     "a solver waits for, and what it hides"},
    {CLI_GROUP, NULL, NULL, NULL, 0, 0, 0, NULL}};

const char *bench_precision(kaon_precision precision) {
  static const char *const names[] = {"double", "single", "half"};
  return names[precision];
}

double bench_size(kaon_precision precision) {
  static const double sizes[] = {8, 4, 2};
  return sizes[precision];
}

kaon_status bench_fill(bench *b, kaon_vector *v, const int extents[4]) {
  size_t n =
      24u * (size_t)extents[0] * (size_t)extents[1] * (size_t)extents[2] * (size_t)extents[3];
  kaon_status status = KAON_OK;
  if (b->numbers_count != n) { /* Knuth's MMIX generator; the quality does not matter */
    uint64_t state = 1;
    free(b->numbers);
    b->numbers = malloc(n * sizeof *b->numbers);
    b->numbers_count = b->numbers ? n : 0;
    for (size_t i = 0; i < b->numbers_count; i++) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      b->numbers[i] = (double)(state >> 40) / (double)(1 << 23) - 1;
    }
  }
  if (!b->numbers) return KAON_ERR_MEMORY;
  for (int k = 0; k < kaon_vector_columns(v) && status == KAON_OK; k++)
    status = kaon_vector_import(v, k, b->numbers, KAON_BASIS_UKQCD);
  return status;
}

void bench_header(const bench *b) {
  const machine *m = &b->machine;
  int host = bench_on_host(b);
  cli_say(&b->args->common, "kaon %s (%s), %s, %s, %d threads\n", kaon_version(), kaon_commit(),
          b->info.device, *b->info.isa ? b->info.isa : b->info.backend, b->info.threads);
  cli_say(
      &b->args->common,
      "machine: read %.1f GB/s, %s %.1f GB/s, multiply-add %.1f (double) %.1f (single) GFLOPS\n",
      m->read_gbs, host ? "triad" : "copy", host ? m->triad_gbs : m->copy_gbs, m->fma_gflops[0],
      m->fma_gflops[1]);
  cli_say(&b->args->common,
          "ideal GB/s: the least traffic over the time; %%%s; %%peak: of the multiply-add peak\n\n",
          host ? "triad: of the triad measured beside the row" : "read: of the reads");
  cli_say(&b->args->common, "%-15s %-12s %-13s %5s %4s %11s %8s %8s %7s %6s\n", "bench", "lattice",
          "precision", "links", "col", "seconds", "GFLOPS", "ideal", host ? "%triad" : "%read",
          "%peak");
}

/* 0: not measured. */
static json_t *figure(double x) {
  return report_real(x > 0 ? x : NAN);
}

static json_t *describe(const bench *b, const bench_row *r) {
  char when[32] = "";
  time_t now = time(NULL);
  struct tm utc;
  if (gmtime_r(&now, &utc)) strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", &utc);
  return json_pack("{s:s s:o s:s s:s s:s s:s s:i s:i s:s s:o s:s s:i s:i}", "bench", r->name,
                   "command", report_string(b->args->common.line), "measured", when, "backend",
                   b->info.backend, "device", b->info.device, "commit", kaon_commit(), "ranks",
                   b->info.ranks, "threads", b->info.threads, "isa", b->info.isa, "lattice",
                   report_ints(r->extents, 4), "precision",
                   r->precision_text ? r->precision_text : bench_precision(r->precision), "links",
                   r->links, "columns", r->columns);
}

json_t *bench_add(bench *b, const bench_row *r) {
  const int *e = r->extents;
  const machine *m = &b->machine;
  const double gflops = 1e-9 * r->flops / r->seconds, gbs = 1e-9 * r->bytes / r->seconds;
  const double peak = m->fma_gflops[r->precision != KAON_DOUBLE];
  const double limit = bench_on_host(b) ? m->triad_gbs : m->read_gbs;
  char lattice[48];
  snprintf(lattice, sizeof lattice, "%dx%dx%dx%d", e[0], e[1], e[2], e[3]);
  cli_say(&b->args->common, "%-15s %-12s %-13s %5d %4d %11.4e %8.2f ", r->name, lattice,
          r->precision_text ? r->precision_text : bench_precision(r->precision), r->links,
          r->columns, r->seconds, gflops);
  if (r->bytes > 0)
    cli_say(&b->args->common, "%8.2f %6.0f%% %5.0f%%\n", gbs, 100 * gbs / limit,
            100 * gflops / peak);
  else
    cli_say(&b->args->common, "%8s %7s %5.0f%%\n", "-", "-", 100 * gflops / peak);
  json_t *row = describe(b, r);
  json_t *figures =
      json_pack("{s:o s:o s:o s:o s:o s:o s:o s:o s:o s:o s:o s:i s:i}", "seconds",
                report_real(r->seconds), "seconds_min", figure(r->least), "seconds_max",
                figure(r->most), "issue_seconds", figure(r->issue), "gflops", report_real(gflops),
                "ideal_gbs", figure(gbs), "limit_gbs", report_real(m->read_gbs), "copy_gbs",
                report_real(m->copy_gbs), "triad_gbs", report_real(m->triad_gbs), "fma_gflops",
                report_real(peak), "resident_bytes", figure(r->resident), "calls",
                r->calls ? r->calls : 1, "samples", r->samples ? r->samples : 1);
  json_object_update(row, figures);
  json_decref(figures);
  json_array_append_new(b->rows, row);
  return row;
}

static int write_rows(bench *b) {
  const bench_args *a = b->args;
  int code = report_write(a->json, b->rows);
  if (code != EXIT_DONE || !a->common.report) return code;
  json_t *report = report_new(b->ctx, "bench");
  json_object_set(report, "rows", b->rows);
  code = report_write(a->common.report, report);
  json_decref(report);
  return code;
}

/* An option that the chosen benchmark does not look at would be obeyed by nobody. */
static int check_idle(const bench_args *a, int which) {
  static const char *const names[] = {"dslash", "vector", "solve"};
  static const struct {
    const char *option;
    unsigned used; /* bit 0: by dslash, 1: vector, 2: solve */
  } options_of[] = {{"reconstruct", 5}, {"calls", 3},
                    {"samples", 3},     {"gauge", 4},
                    {"action", 4},      {"ignore-checksum", 4},
                    {"kappa", 4},       {"csw", 4},
                    {"solver", 4},      {"tol", 4},
                    {"stop", 4},        {"max-iter", 4},
                    {"refinement", 4},  {"even-odd", 4},
                    {"set", 4},         {"temporal-gauge", 5},
                    {"reduce-delay", 4}};
  for (size_t i = 0; i < sizeof options_of / sizeof *options_of; i++)
    if (!(options_of[i].used >> which & 1) && cli_given(&a->common, options_of[i].option))
      return cli_wrong("--%s has no effect on bench %s; leave it out%s", options_of[i].option,
                       names[which], options_of[i].used == 4 ? ", or run bench solve" : "");
  return EXIT_DONE;
}

/* All lattices before any is measured: minutes of the first must not be lost to the last. */
static int check_lattices(const cli_lattices *list) {
  int code = EXIT_DONE;
  for (int i = 0; i < list->count && code == EXIT_DONE; i++)
    code = cli_status(NULL, kaon_lattice_check(NULL, list->extents[i]), "--lattice");
  return code;
}

/* Seconds of "100us"; NULL: none. Exit status. */
static int read_delay(const char *text, double *seconds) {
  static const struct {
    const char *name;
    double seconds;
  } units[] = {{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}};
  char *end = NULL;
  *seconds = text ? strtod(text, &end) : 0;
  if (!text) return EXIT_DONE;
  for (size_t i = 0; i < sizeof units / sizeof *units && end != text; i++) {
    if (strcmp(end, units[i].name) != 0) continue;
    *seconds *= units[i].seconds;
    if (*seconds >= 0 && *seconds <= 1) return EXIT_DONE;
  }
  return cli_wrong(
      "--reduce-delay is %s; it must be a time from 0 to 1 s with its unit, ns, us, ms or s, as in "
      "100us",
      text);
}

static int run(void *arguments) {
  static const char *const names[] = {"dslash", "vector", "solve"};
  static int (*const benches[])(bench *) = {bench_dslash, bench_vector, bench_solve};
  bench_args *a = arguments;
  bench b = {.args = a};
  int which = 0;
  while (which < 3 && strcmp(a->common.operand, names[which]) != 0) which++;
  if (which == 3)
    return cli_wrong("bench %s is not there; it is one of dslash, vector, solve",
                     a->common.operand);
  a->problem.mass = NAN;
  if (isnan(a->problem.csw) && a->problem.action == 1) a->problem.csw = 1; /* clover */
  const cli_path paths[] = {{"--gauge", a->problem.gauge},
                            {"--tuning", a->common.tuning},
                            {"--json", a->json},
                            {"--report", a->common.report}};
  int code = check_idle(a, which);
  if (code == EXIT_DONE) code = check_lattices(&a->lattices);
  if (code == EXIT_DONE) code = cli_distinct(paths, 4);
  if (code == EXIT_DONE) code = read_delay(a->reduce_delay, &a->common.reduce_delay);
  if (code != EXIT_DONE) return code;
  signals_stage("measuring", "no results were written");
  code = cli_context(&a->common, &b.ctx);
  if (code == EXIT_DONE) code = cli_status(b.ctx, kaon_context_query(b.ctx, &b.info), NULL);
  const char *missing =
      code == EXIT_DONE ? machine_open(b.info.backend, b.info.threads, &b.machine) : NULL;
  if (missing) {
    cli_error("%s", missing);
    code = EXIT_DEVICE;
  }
  b.rows = json_array();
  if (code == EXIT_DONE) code = benches[which](&b);
  if ((code == EXIT_DONE || code == EXIT_NOT_CONVERGED) && write_rows(&b) != EXIT_DONE)
    code = EXIT_DEVICE;
  json_decref(b.rows);
  free(b.numbers);
  machine_close(&b.machine);
  kaon_context_destroy(&b.ctx);
  return code;
}

const cli_command command_bench = {
    "bench",
    "Measure speed, beside what the machine can do at best.",
    "dslash|vector|solve",
    "Examples:\n"
    "  kaon bench dslash\n"
    "  kaon bench dslash --lattice 16 16 16 32 --precision single --columns 1\n"
    "  kaon bench solve --gauge config.lime --kappa 0.13 --csw 1.769\n\n"
    "hop: one parity from the other. ideal GB/s counts every link, spinor and clover block once; "
    "lattices that fit the cache are held against the multiply-add peak.",
    options,
    sizeof(bench_args),
    run,
    NULL,
    0};
