/* bench.c - kaon bench: options and rows. Every figure stands beside what the machine reached in
 * the same run: streaming read, STREAM triad or copy, multiply-add peak. */
#include "bench/bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "interfaces/common/options/linear_options.h"
#include "interfaces/common/report.h"
#include "interfaces/common/signals.h"

#define OWN(member) offsetof(bench_args, member)
#define AT(member) offsetof(bench_args, problem) + offsetof(problem_args, member)
#define LIN(member) offsetof(bench_args, linear) + offsetof(linear_args, member)

static const cli_option options[] = {
    {CLI_GROUP, "What is measured:", NULL, NULL, 0, 0, 0, NULL},
    {CLI_LATTICES, "lattice", "X Y Z T", NULL, OWN(lattices), 0, 0,
     "repeatable (default: 8x8x8x8, 16x16x16x32 and 24x24x24x24; solve: 8x8x8x16); of all ranks "
     "together"},
    {CLI_LATTICES, "local-lattice", "X Y Z T", NULL, OWN(local), 0, 0,
     "the part of one rank instead: the lattice is that many times the grid (default: ranks in t)"},
    {CLI_EXTENTS, "grid", "a b c d", NULL, OWN(grid), 0, 0, CLI_GRID_TEXT},
    CLI_RANKS_OPTIONS,
    CLI_REGIME_OPTION,
    CLI_SYNC_OPTION,
    {CLI_SET, "precision", "double|single|half", "double,single,half", OWN(precision), 0, 0,
     "a list with commas; solve: of the inner iteration (krylov: double, as --outer; regimes: "
     "double,single)"},
    {CLI_SET, "reconstruct", "18|12|8", NULL, OWN(reconstruct), 0, 0,
     "dslash, solve: a list with commas, reals kept a link (default 18,12,8; solve: 18)"},
    {CLI_COUNTS, "columns", "N,...", "1,12", OWN(columns), 1, 256,
     "a list with commas: right-hand sides at once (spmv, krylov and regimes: 1)"},
    {CLI_INT, "calls", "N", NULL, OWN(calls), 1, 1000000,
     "dslash, vector, spmv: calls a sample (default: 100, 20 ms of them if those are more, at most "
     "half a second of them), after a tenth as many to warm up"},
    {CLI_INT, "samples", "N", "7", OWN(samples), 1, 1000,
     "dslash, vector, spmv, async: samples, whose median counts (async: no more after 10 seconds); "
     "solve and krylov take the median of 3 solves, or of 2 seconds of them where joules are "
     "counted"},
    {CLI_FLAG, "in-turn", NULL, NULL, OWN(in_turn), 0, 0,
     "dslash: a sample of each row of a lattice in turn, so that ratios between rows do not hang "
     "on "
     "what else a machine does meanwhile; all their operators and vectors are in memory at once"},
    {CLI_FILE, "json", "FILE", NULL, OWN(json), 0, 0, "write the rows as a JSON list"},
    {CLI_FLAG, "temporal-gauge", NULL, NULL, AT(temporal_gauge), 0, 0,
     "solve in the temporal gauge; dslash: the even-odd matrix in it as well"},
    {CLI_GROUP, "Operators and solves:", NULL, NULL, 0, 0, 0, NULL},
    {CLI_TEXT, "gauge", "FILE|unit|random:SEED|weak:EPS[:SEED]", "weak:0.3", AT(gauge), 0, 0,
     "links: a configuration file, or a synthetic field"},
    {CLI_FLAG, "ignore-checksum", NULL, NULL, AT(ignore_checksum), 0, 0,
     "go on, with warnings, where checksum, stored plaquette or unitarity fail"},
    {CLI_CHOICE, "action", PROBLEM_ACTIONS, "clover", AT(action), 0, 0,
     "the Dirac operator; dslash: staggered, asqtad and hisq have their own hops, whose fat and "
     "long links are made up, where solve fattens those of --gauge"},
    {CLI_REAL, "kappa", "K", "0.125", AT(kappa), 1e-6, 10, "hopping parameter"},
    {CLI_REAL, "mass", "M", NULL, AT(mass), -3.9, 1e5, "solve: bare mass, instead of --kappa"},
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
     "what a solver waits for, and what it hides; pipelined: a list with commas (default "
     "0,10us,100us)"},
    {CLI_CHOICE, "outer", "double|single", "double", OWN(outer), 0, 0,
     "precision of the solution; --precision is that of the inner iteration"},
    {CLI_FLAG, "effective", NULL, NULL, OWN(effective), 0, 0,
     "say which GFLOPS BiCGStab in single precision would need to be as fast"},
    {CLI_GROUP, "Sparse matrices:", NULL, NULL, 0, 0, 0, NULL},
    {CLI_TEXTS, "matrix", "FILE.mtx|NAME", NULL, OWN(matrices), 0, 0,
     "repeatable: a Matrix Market file, or a name that kaon solve takes (default: laplace3d:64; "
     "regimes: laplace3d:252 and elasticity:100; pipelined: cavity3d:126 and cavity3d:159; the "
     "last "
     "two with --join: none)"},
    {CLI_SET, "format", LINEAR_FORMATS, "auto", OWN(formats), 0, 0,
     "a list with commas: how rows are stored"},
    {CLI_CHOICE, "ordering", LINEAR_ORDERINGS, "none", LIN(ordering), 0, 0,
     "order in which rows are kept"},
    {CLI_CHOICE, "partition", LINEAR_PARTITIONS, "blocks", LIN(partition), 0, 0,
     "which rank keeps which rows"},
    {CLI_INT, "window", "N", NULL, LIN(window), 1, 1e9,
     "rows that may change places for sell (default: by rule; 1: none)"},
    {CLI_SET, "method", LINEAR_METHODS, "cg", OWN(methods), 0, 0,
     "krylov, regimes: a list with commas; b = A * ones, to --tol (default 1e-8, in "
     "regimes in single 1e-5)"},
    {CLI_SET, "precond", LINEAR_PRECONDS, "none,jacobi", OWN(preconds), 0, 0,
     "a list with commas: preconditioners (default of regimes: none, of pipelined, on the device: "
     "jacobi)"},
    {CLI_SET, "regimes", CLI_REGIMES, NULL, OWN(regimes), 0, 0,
     "regimes: a list with commas (default: all but auto)"},
    {CLI_REAL, "seconds", "S", "5", OWN(seconds), 1e-3, 3600,
     "regimes, pipelined: a row's solves go on for so long, and their mean counts; kaczmarz: a row "
     "takes no longer (default there: 30), by fewer sweeps and repeats; longer solves are ended"},
    {CLI_FILE, "csv", "FILE", NULL, OWN(csv), 0, 0,
     "regimes, kaczmarz, async, faults: write rows as CSV, of regimes with variations"},
    {CLI_TEXTS, "join", "FILE.json", NULL, OWN(joined), 0, 0,
     "regimes, pipelined, async's figure11; repeatable: rows of earlier runs have part in the "
     "tables; without --matrix nothing is measured"},
    LINEAR_OPTIONS_PRECOND_FIGURES(LIN),
    {CLI_GROUP, "Relaxation and projections:", NULL, NULL, 0, 0, 0, NULL},
    {CLI_SET, "table", BENCH_TABLES, "props,stat,rate,overhead,time", OWN(tables), 0, 0,
     "async: a list with commas"},
    {CLI_INT, "runs", "N", "100", OWN(runs), 1, 1000000, "async: runs of table stat"},
    {CLI_INT, "block", "B", NULL, OWN(relax_block), 1, 1024,
     "rows of a block (default: 448; tables stat and faults: the paper's 112, Trefethen's 128)"},
    {CLI_INT, "local-sweeps", "K", NULL, OWN(relax_sweeps), 1, 1000,
     "Jacobi sweeps in a block an iteration (default: 5; tables stat and faults: the paper's 6)"},
    {CLI_INT, "lag", "N", "-1", OWN(relax_lag), -1, 1000000,
     "async, free: iterations that a block may be ahead of those it reads (default 2)"},
    {CLI_INT, "together", "N", NULL, OWN(relax_together), 1, 1000000,
     "async, table stat, launches: blocks at work at once (default: all but one, on a GPU but a "
     "sixteenth)"},
    {CLI_INT, "order-seed", "N", "-1", OWN(relax_seed), -1, 1000000,
     "async, table stat, launches: a run's blocks begin in an order of its own, drawn by this and "
     "the run's number; 0: "
     "as they stand (default, -1: on a GPU as they stand, on a CPU 1)"},
    {CLI_SET, "exchange", RELAX_EXCHANGES, "amc,dc,dk,push,sync", OWN(exchanges), 0, 0,
     "async, table figure11: a list with commas; auto: all"},
    {CLI_INT, "rank-lag", "N", "-1", OWN(relax_rank_lag), -1, 1000000,
     "async, table figure11: iterations that a block may be ahead of other ranks' (-1: no bound)"},
    {CLI_FILE, "histories", "FILE.csv", NULL, OWN(histories), 0, 0,
     "residuals by iteration, a file a matrix, its name before the end of this one"},
    LINEAR_OPTIONS_PROJECTIONS(LIN),
    {CLI_GROUP, "For bench faults alone, in place of the paper's faults:", NULL, NULL, 0, 0, 0,
     NULL},
    LINEAR_OPTIONS_FAULTS(LIN),
    {CLI_GROUP, "For bench kaczmarz alone:", NULL, NULL, 0, 0, 0, NULL},
    {CLI_SET, "tables", "fig4|table3|fig5|fig6|fig7|counts", "fig4,table3,fig5,fig6,fig7",
     OWN(kaczmarz_tables), 0, 0,
     "a list with commas: of the Kaczmarz paper, in its form; counts: steps of CARP-CG and CGMNC"},
    {CLI_INT, "kaczmarz-sweeps", "N", "1000", OWN(kaczmarz_sweeps), 1, 1e9,
     "fig4, table3, fig5: sweeps (the paper's: 50000, 10000, 30000)"},
    {CLI_INT, "kaczmarz-level", "L", "5", OWN(kaczmarz_level), 1, 10,
     "all but fig4: refinements at most (the paper's: 8, which is 361345 rows)"},
    {CLI_COUNTS, "kaczmarz-problem", "P,...", "1", OWN(kaczmarz_problems), 1, 3,
     "fig7: a list with commas: of the paper's"},
    {CLI_COUNTS, "kaczmarz-degree", "D,...", "1", OWN(kaczmarz_degrees), 1, 3,
     "fig7: a list with commas: of the elements, each with each problem"},
    {CLI_REAL, "cpu-seconds", "S", NULL, OWN(kaczmarz_cpu_seconds), 1e-3, 3600,
     "fig6, fig7, counts: what a solve on the processor may take (default: --seconds)"},
    {CLI_GROUP, "For bench scaling alone:", NULL, NULL, 0, 0, 0, NULL},
    {CLI_TEXTS, "model", "FILE.json", NULL, OWN(models), 0, 0,
     "repeatable: fit a model to these rows and foretell strong scaling; measure nothing"},
    {CLI_TEXT, "latency", "TIME", "5us", OWN(latency), 0, 0,
     "of the model: a message, and a sum, between nodes"},
    {CLI_REAL, "bandwidth", "GBS", "45", OWN(network_bandwidth), 1e-3, 1e6,
     "of the model: GB/s between nodes a rank"},
    {CLI_INT, "node", "N", "8", OWN(node), 1, 4096, "of the model: ranks of a node"},
    {CLI_GROUP, NULL, NULL, NULL, 0, 0, 0, NULL}};

/* Its place in PROBLEM_ACTIONS. */
enum { PROBLEM_CLOVER = 1 };

double bench_size(kaon_precision precision) {
  static const double sizes[] = {8, 4, 2};
  return sizes[precision];
}

kaon_status bench_fill(bench *b, kaon_vector *v, const kaon_lattice *lattice) {
  size_t n = 24u * (size_t)kaon_lattice_volume(lattice) / (size_t)b->info.ranks;
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

int bench_stopped(void) {
  int stopped;
  return ranks_interrupted(&stopped) != EXIT_DONE || stopped;
}

kaon_status bench_bandwidth(bench *b) {
  machine *m = &b->machine, *all = &b->all;
  (void)bench_stopped(); /* begin together */
  machine_bandwidth(m);
  double sums[] = {m->read_gbs, m->triad_gbs, m->copy_gbs, m->fma_gflops[0], m->fma_gflops[1]};
  const kaon_status status = ranks_sum(sums, 5);
  *all = (machine){.read_gbs = sums[0],
                   .triad_gbs = sums[1],
                   .copy_gbs = sums[2],
                   .fma_gflops = {sums[3], sums[4]}};
  return status;
}

void bench_stage(const bench *b) {
  char kept[256];
  snprintf(kept, sizeof kept, "the %d row%s measured till then %s in %.180s",
           (int)json_array_size(b->rows), json_array_size(b->rows) == 1 ? "" : "s",
           json_array_size(b->rows) == 1 ? "is" : "are", b->args->json ? b->args->json : "");
  const int some = b->args->json && json_array_size(b->rows) > 0;
  signals_stage("measuring", some ? kept : "no results were written");
}

static void describe_ranks(const bench *b) {
  char overlap[32];
  if (b->info.ranks == 1) return;
  cli_print(&b->args->common,
          "%d ranks by %s%s%s, overlap %s; GFLOPS and bandwidths are those of all together, times "
          "the slowest rank's\n",
          b->info.ranks, b->info.communicator, *bench_transport(b) ? ", messages by " : "",
          bench_transport(b), cli_choice(CLI_OVERLAPS, b->args->common.overlap, overlap));
}

int bench_end(const bench *b, int code) {
  if (code != EXIT_DONE || !b->unconverged) return code;
  cli_error("not all solves converged; the status of each stands in its row%s",
            b->args->common.quiet ? ", which --quiet does not print" : "");
  return EXIT_NOT_CONVERGED;
}

const char *bench_transport(const bench *b) {
  return b->info.transport ? b->info.transport : "";
}

static void print_heads(const bench *b) {
  const int host = bench_on_host(b);
  cli_print(&b->args->common, "%-15s %-14s %-13s %5s %4s %11s %8s %8s %7s %6s\n", "bench",
          b->matrices ? "matrix" : "lattice", "precision", b->matrices ? "form" : "links", "col",
          "seconds", "GFLOPS", "ideal", host ? "%triad" : "%read", "%peak");
}

void bench_header(const bench *b) {
  const machine *m = &b->all;
  int host = bench_on_host(b);
  cli_print(&b->args->common, "kaon %s (%s), %s, %s, %d threads\n", kaon_version(), kaon_commit(),
          b->info.device, *b->info.isa ? b->info.isa : b->info.backend, b->info.threads);
  describe_ranks(b);
  cli_print(
      &b->args->common,
      "machine: read %.1f GB/s, %s %.1f GB/s, multiply-add %.1f (double) %.1f (single) GFLOPS\n",
      m->read_gbs, host ? "triad" : "copy", host ? m->triad_gbs : m->copy_gbs, m->fma_gflops[0],
      m->fma_gflops[1]);
  cli_print(&b->args->common,
          "ideal GB/s: the least traffic over the time; %%%s; %%peak: of the multiply-add peak\n\n",
          host ? "triad: of the triad measured beside the row" : "read: of the reads");
  print_heads(b);
}

/* 0: not measured. */
static json_t *figure(double x) {
  return report_real(x > 0 ? x : NAN);
}

json_t *bench_describe(const bench *b, const bench_row *r) {
  char when[32] = "";
  time_t now = time(NULL);
  struct tm utc;
  if (gmtime_r(&now, &utc)) strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", &utc);
  char overlap[32], transport[64];
  return json_pack(
      "{s:s s:o s:s s:s s:s s:s s:i s:o s:s s:s s:i s:s s:o s:s s:o s:i}", "bench", r->name,
      "command", report_string(b->args->common.line), "measured", when, "backend", b->info.backend,
      "device", b->info.device, "commit", kaon_commit(), "ranks", b->info.ranks, "grid",
      r->extents ? report_ints(r->grid, 4) : json_null(), "transport",
      report_transport(&b->info, transport), "overlap",
      cli_choice(CLI_OVERLAPS, b->args->common.overlap, overlap), "threads", b->info.threads, "isa",
      b->info.isa, "lattice", r->extents ? report_ints(r->extents, 4) : json_null(), "precision",
      r->precision_text ? r->precision_text : precision_name(r->precision), "links",
      r->extents ? json_integer(r->links) : json_null(), "columns", r->columns);
}

/* What a row is about: the lattice and its links, or the matrix and its form. */
static void subject_of(const bench_row *r, char subject[64], char form[16]) {
  const int *e = r->extents;
  if (e) {
    snprintf(subject, 64, "%dx%dx%dx%d", e[0], e[1], e[2], e[3]);
    snprintf(form, 16, "%d", r->links);
  } else {
    snprintf(subject, 64, "%s", r->matrix);
    snprintf(form, 16, "%s", r->stored);
  }
}

json_t *bench_add(bench *b, const bench_row *r) {
  const machine *m = &b->all;
  const double gflops = 1e-9 * r->flops / r->seconds, gbs = 1e-9 * r->bytes / r->seconds;
  const double peak = m->fma_gflops[r->precision != KAON_DOUBLE];
  const double limit = bench_on_host(b) ? m->triad_gbs : m->read_gbs;
  char subject[64], form[16];
  subject_of(r, subject, form);
  cli_print(&b->args->common, "%-15s %-14s %-13s %5s %4d %11.4e %8.2f ", r->name, subject,
          r->precision_text ? r->precision_text : precision_name(r->precision), form, r->columns,
          r->seconds, gflops);
  if (r->bytes > 0)
    cli_print(&b->args->common, "%8.2f %6.0f%% %5.0f%%\n", gbs, 100 * gbs / limit,
            100 * gflops / peak);
  else
    cli_print(&b->args->common, "%8s %7s %5.0f%%\n", "-", "-", 100 * gflops / peak);
  if (b->info.ranks > 1 && r->extents)
    cli_print(&b->args->common, "    grid %dx%dx%dx%d: %.2f GFLOPS a rank\n", r->grid[0], r->grid[1],
            r->grid[2], r->grid[3], gflops / b->info.ranks);
  json_t *row = bench_describe(b, r);
  json_t *figures =
      json_pack("{s:o s:o s:o s:o s:o s:o s:o s:o s:o s:o s:o s:o s:i s:i}", "seconds",
                report_real(r->seconds), "seconds_min", figure(r->least), "seconds_max",
                figure(r->most), "issue_seconds", figure(r->issue), "gflops", report_real(gflops),
                "gflops_rank", report_real(gflops / b->info.ranks), "ideal_gbs", figure(gbs),
                "limit_gbs", report_real(m->read_gbs), "copy_gbs", report_real(m->copy_gbs),
                "triad_gbs", report_real(m->triad_gbs), "fma_gflops", report_real(peak),
                "resident_bytes", figure(r->resident), "calls", r->calls ? r->calls : 1, "samples",
                r->samples ? r->samples : 1);
  json_object_update(row, figures);
  json_decref(figures);
  if (b->args->in_turn) json_object_set_new(row, "in_turn", json_true());
  json_array_append_new(b->rows, row);
  return row;
}

/* Row by row, so that what ends a long run leaves those before it. */
kaon_status bench_add_row(bench *b) {
  const int code = report_write(b->args->json, b->rows);
  bench_stage(b);
  b->failed = code;
  return code == EXIT_DONE ? KAON_OK : KAON_ERR_CANCELLED; /* nothing more to be said */
}

static int write_rows(bench *b) {
  const bench_args *a = b->args;
  int code = json_array_size(b->rows) ? EXIT_DONE : report_write(a->json, b->rows);
  if (code != EXIT_DONE || !a->common.report) return code;
  json_t *report = report_new(b->ctx, "bench");
  json_object_set(report, "rows", b->rows);
  code = report_write(a->common.report, report);
  json_decref(report);
  return code;
}

/* All lattices before any is measured: minutes of the first must not be lost to the last. */
static int check_lattices(const kaon_context *ctx, const bench_args *a) {
  const char *option = a->local.count ? "--local-lattice" : "--lattice";
  int code = EXIT_DONE;
  for (int i = 0; i < a->lattices.count && code == EXIT_DONE; i++)
    code = cli_status(ctx, kaon_lattice_check(ctx, a->lattices.extents[i]), option);
  return code;
}

/* --local-lattice times --grid is --lattice. */
static int place_lattices(bench_args *a, int scaling) {
  if (!a->local.count) return EXIT_DONE;
  if (scaling) { /* which takes both, and a part that is odd as it stands: ranks stand in t then */
    for (int i = 0; i < a->local.count && !a->grid[0] && ranks_started() > 0; i++)
      for (int mu = 1; mu < 4; mu++)
        if (a->local.extents[i][mu] % 2 != 0)
          memcpy(a->grid, (const int[]){1, 1, 1, ranks_started()}, sizeof a->grid);
    return EXIT_DONE;
  }
  if (a->lattices.count)
    return cli_wrong("--lattice and --local-lattice both say the extents; leave one of them out");
  if (!a->grid[0] && ranks_started() < 1)
    return cli_wrong(
        "--local-lattice needs --grid: the launcher does not say how many ranks it started");
  if (!a->grid[0]) memcpy(a->grid, (const int[]){1, 1, 1, ranks_started()}, sizeof a->grid);
  a->lattices = a->local;
  for (int i = 0; i < a->lattices.count; i++)
    for (int mu = 0; mu < 4; mu++) a->lattices.extents[i][mu] *= a->grid[mu];
  return EXIT_DONE;
}

int bench_open_machine(bench *b) {
  (void)bench_stopped(); /* begin together */
  const char *missing =
      machine_open(b->info.backend, b->info.threads, ranks_on_node(), &b->machine);
  if (missing) cli_error("%s", missing);
  const int code = ranks_agree(missing ? EXIT_DEVICE : EXIT_DONE);
  return code == EXIT_DONE ? cli_status(b->ctx, bench_bandwidth(b), NULL) : code;
}

static bench_kind kind_of(const char *operand) {
  char name[32];
  int i = 0;
  while (i < BENCHES && strcmp(operand, cli_choice(BENCH_NAMES, i, name)) != 0) i++;
  return (bench_kind)i;
}

static int read_times(bench_args *a, bench_kind kind) {
  int code = EXIT_DONE;
  if (kind != BENCH_PIPELINED) /* which takes a list of them */
    code = cli_read_time("reduce-delay", a->reduce_delay, &a->common.reduce_delay);
  if (code == EXIT_DONE) code = cli_read_time("latency", a->latency, &a->network_latency);
  return code;
}

static int run(void *arguments) {
  static int (*const benches[BENCHES])(bench *) = {
      bench_dslash, bench_vector,  bench_solve,     bench_scaling, bench_fatten, bench_spmv,
      bench_krylov, bench_regimes, bench_pipelined, bench_async,   bench_faults, bench_kaczmarz};
  bench_args *a = arguments;
  bench b = {.args = a};
  const bench_kind kind = kind_of(a->common.operand);
  if (kind == BENCHES)
    return cli_wrong(
        "bench %s is not there; it is one of dslash, vector, solve, scaling, fatten, spmv, "
        "krylov, regimes, pipelined, async, faults, kaczmarz",
        a->common.operand);
  b.matrices = kind >= BENCH_SPMV;
  relax_defaults(&a->linear);
  if (isnan(a->problem.csw) && a->problem.action == PROBLEM_CLOVER) a->problem.csw = 1;
  int code = bench_check(a, kind);
  if (code == EXIT_DONE) code = place_lattices(a, kind == BENCH_SCALING);
  if (code == EXIT_DONE && !ranks_launched()) code = check_lattices(NULL, a);
  if (code == EXIT_DONE) code = read_times(a, kind);
  if (code == EXIT_DONE && a->models.count) code = ranks_first() ? bench_model(a) : EXIT_DONE;
  if (code != EXIT_DONE || a->models.count) return code;
  bench_stage(&b);
  code = ranks_context(&a->common, a->grid, &b.ctx);
  if (code == EXIT_DONE) code = ranks_check(&a->common, b.ctx);
  if (code == EXIT_DONE) code = cli_status(b.ctx, kaon_context_query(b.ctx, &b.info), NULL);
  if (code == EXIT_DONE) code = check_lattices(b.ctx, a);
  if (code == EXIT_DONE) code = bench_open_machine(&b);
  b.rows = json_array();
  if (code == EXIT_DONE) code = benches[kind](&b);
  if (b.failed) code = b.failed;
  if (code == EXIT_DONE && (kind == BENCH_ASYNC || kind == BENCH_FAULTS) && a->csv)
    code = bench_csv(&b, a->csv);
  if ((code == EXIT_DONE || code == EXIT_NOT_CONVERGED) && write_rows(&b) != EXIT_DONE)
    code = EXIT_DEVICE;
  json_decref(b.rows);
  free(b.numbers);
  machine_close(&b.machine);
  kaon_context_destroy(&b.ctx);
  return code;
}

const cli_command command_bench = {
    .name = "bench",
    .summary = "Measure speed, beside what the machine can do at best.",
    .operand = "BENCHMARK",
    .examples = "BENCHMARK: dslash, vector, solve, scaling, fatten, spmv, krylov, regimes,\npipelined, async, "
    "faults "
    "or "
    "kaczmarz.\n\n"
    "Examples:\n"
    "  kaon bench dslash\n"
    "  kaon bench dslash --lattice 16 16 16 32 --precision single --columns 1\n"
    "  kaon bench solve --gauge config.lime --kappa 0.13 --csw 1.769\n"
    "  kaon bench scaling --json one.json; \\\n"
    "      mpirun -np 4 kaon bench scaling --json four.json\n"
    "  kaon bench scaling --model one.json --model four.json --bandwidth 45\n"
    "  kaon bench spmv --matrix laplace3d:128 --matrix A.mtx --format csr,sell\n"
    "  kaon bench krylov --matrix laplace3d:64 --method cg,pipecg --precond jacobi\n"
    "  kaon bench regimes --matrix laplace3d:252 --precision single \\\n"
    "      --csv regimes.csv\n"
    "  kaon bench pipelined --json one.json; \\\n"
    "      mpirun -np 2 kaon bench pipelined --matrix cavity3d:126 --join one.json\n"
    "  kaon bench kaczmarz --tables fig7 --kaczmarz-level 8 --csv fig7.csv\n\n"
    "Under mpirun all ranks measure together: mpirun -np 4 kaon bench dslash --grid 1 1 1 4 "
    "--local-lattice 32 32 32 64. hop: one parity from the other. ideal GB/s counts every link, "
    "spinor and clover block once; "
    "lattices that fit the cache are held against the multiply-add peak.",
    .options = options,
    .arguments = sizeof(bench_args),
    .run = run};
