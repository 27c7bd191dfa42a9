/* bench_solve.c - solves of Dirac equations: time to the tolerance for each inner precision, link
 * storage and number of columns. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench_lattice.h"
#include "interfaces/common/report.h"
#include "interfaces/common/signals.h"

static const cli_option option_rows[] = {
    {CLI_TEXT, "gauge", "FILE|unit|random:SEED|weak:EPS[:SEED]", "weak:0.3", LATTICE_PROBLEM(gauge),
     0, 0, "links: a configuration file, or a synthetic field"},
    LATTICE_OPTIONS_EXTENTS("8x8x8x16"),
    LATTICE_OPTION_ACTION("the Dirac operator"),
    CLI_TABLE_ROW(lattice_solve_rows, 0),
    {CLI_CHOICE, "method", PROBLEM_SOLVERS, "cg", LATTICE_PROBLEM(solver), 0, 0,
     PROBLEM_SOLVER_TEXT},
    CLI_ALIAS_ROW("solver", "method"),
    {CLI_CHOICE, "stop", "full|schur|normal", "full", LATTICE_PROBLEM(stop), 0, 0,
     PROBLEM_STOP_TEXT},
    {CLI_SET, "precision", "double|single|half", "double,single,half", LATTICE_AT(precision), 0, 0,
     "a list with commas: of the inner iteration"},
    LATTICE_OPTION_RECONSTRUCT("18"),
    LATTICE_OPTION_COLUMNS("1,12"),
    BENCH_OPTION_JSON,
    CLI_GROUP_ROW("Details of the solves:"),
    CLI_TABLE_ROW(lattice_detail_rows, 0),
    LATTICE_OPTION_TEMPORAL("solve in the temporal gauge"),
    {CLI_FLAG, "ignore-checksum", NULL, NULL, LATTICE_PROBLEM(ignore_checksum), 0, 0,
     "go on, with warnings, where checksum, stored plaquette or unitarity fail"},
    {CLI_FLAG, "effective", NULL, NULL, LATTICE_AT(effective), 0, 0,
     "say which GFLOPS BiCGStab in single precision would need to be as fast"},
    PROBLEM_OPTIONS_PRECOND(LATTICE_PROBLEM),
    CLI_TABLE_ROW(lattice_rank_rows, 0),
    BENCH_OPTION_DELAY(LATTICE_AT),
    CLI_END_ROW};

static const double usual_kappa = 0.125;

static kaon_status solve(bench *b, problem *p, int columns, bench_figures *figures) {
  const kaon_space *full = problem_space(p);
  kaon_vector *source = NULL, *x = NULL;
  kaon_status status = kaon_vector_create(b->ctx, full, p->precision, columns, &source);
  if (status == KAON_OK) status = kaon_vector_create(b->ctx, full, p->precision, columns, &x);
  if (status == KAON_OK) status = problem_source(p, source);
  if (status == KAON_OK) status = bench_median(b, p->solver, source, x, figures);
  kaon_vector_destroy(&source);
  kaon_vector_destroy(&x);
  return status;
}

static int add_row(bench *b, const problem *p, int columns, const bench_figures *s) {
  static const char *const preconditioners[] = {"", "-schwarz", "-sap", "-async-schwarz",
                                                "-multigrid"};
  char precision[32], stop[32], form[32], regime[32], sync[32], name[40];
  snprintf(name, sizeof name, "solve-%s%s", method_name(p->options.method),
           preconditioners[problem_precond_asked(&lattice_of(b)->problem)]);
  snprintf(precision, sizeof precision, "%s/%s", precision_name(p->precision),
           precision_name(p->options.sloppy));
  bench_row row = {.name = name,
                   .extents = p->field.extents,
                   .precision = p->options.sloppy,
                   .precision_text = precision,
                   .links = (int)p->options.reconstruct,
                   .columns = columns,
                   .seconds = s->seconds,
                   .least = s->fastest,
                   .most = s->slowest,
                   .samples = s->repeats,
                   .flops = s->flops};
  kaon_lattice_part(p->field.lattice, NULL, NULL, row.grid);
  (void)bench_bandwidth(b);
  json_t *json = bench_add(b, &row);
  const problem_args *a = &lattice_of(b)->problem;
  const double step = s->iterations > 0 ? 1e6 * s->seconds / s->iterations : NAN;
  const double effective = 1e-9 * b->reference_flops * columns / s->seconds;
  json_object_update_new(
      json,
      json_pack("{s:i s:o s:o s:o s:o s:s s:o s:o s:o s:o}", "iterations", s->iterations,
                "residual", report_real(s->residual), "step_microseconds", report_real(step),
                "setup_seconds", report_real(p->made[0] + p->made[1]), "cpu_share",
                report_real(s->cpu_mean / s->mean), "status", kaon_stop_reason_name(s->reason),
                "joules", report_real(s->joules), "gauge", report_string(cli_name(a->gauge)),
                "kappa", p->staggered ? json_null() : report_real(p->kappa), "csw",
                report_real(p->csw)));
  problem_precond_add(a, p, json);
  schwarz_add_traffic(&s->traffic, json);
  if (p->staggered) staggered_describe(a, p, json);
  if (lattice_of(b)->effective)
    json_object_set_new(json, "effective_gflops", report_real(effective > 0 ? effective : NAN));
  json_object_update_new(
      json,
      json_pack("{s:s s:s s:o s:o s:s s:s}", "stop", cli_choice("full|schur|normal", a->stop, stop),
                "even_odd", cli_choice("symmetric|asymmetric|none", a->even_odd, form), "tol",
                report_real(p->options.tol), "reduce_delay",
                report_real(b->args->common.reduce_delay), "regime", cli_regime(s->issue, regime),
                "sync", cli_choice(CLI_SYNCS, b->args->common.sync, sync)));
  cli_print(
      &b->args->common,
      "    %d iterations of %.1f us, residual %.2e, %s; %.3g s of set-up; processor time %.1f %% "
      "of the wall's\n",
      s->iterations, isnan(step) ? 0 : step, s->residual, kaon_stop_reason_name(s->reason),
      p->made[0] + p->made[1], 100 * s->cpu_mean / s->mean);
  if (b->reference_flops > 0)
    cli_print(&b->args->common, "    effective: %.1f GFLOPS\n", effective);
  cli_print(&b->args->common, "    %lld sums over ranks, %lld exchanges of %.3g MB\n",
            (long long)s->traffic.sums, (long long)s->traffic.exchanges,
            1e-6 * (double)s->traffic.bytes);
  return bench_save(b) == KAON_OK ? EXIT_DONE : EXIT_DEVICE;
}

/* Prints the head once, when the first row can no longer be refused. */
static void head(bench *b) {
  if (!b->headed) bench_header(b, "lattice");
  b->headed = 1;
}

/* Measures all columns with one inner precision and link storage. The links are reused, the
 * operator is made anew. */
static int one(bench *b, const problem_args *args, problem *p, int *all_converged) {
  const cli_counts *columns = &lattice_of(b)->columns;
  int code = multigrid_announce(&b->args->common, b->ctx, args, p);
  if (code == EXIT_DONE) code = problem_operator(b->ctx, args, p);
  p->options.monitor = bench_monitor;
  for (int i = 0; i < columns->count && code == EXIT_DONE; i++) {
    bench_figures figures;
    code = problem_solver(b->ctx, columns->value[i], p);
    if (code == EXIT_DONE) head(b);
    if (code == EXIT_DONE && i == 0 && p->staggered) staggered_print(&b->args->common, p, 0);
    if (code == EXIT_DONE && i == 0 && multigrid_asked(args))
      multigrid_print_setup(&b->args->common, p);
    bench_stage(b);
    if (code == EXIT_DONE)
      code = cli_status(b->ctx, solve(b, p, columns->value[i], &figures), NULL);
    if (code == EXIT_DONE) code = add_row(b, p, columns->value[i], &figures);
    if (code == EXIT_DONE && figures.reason != KAON_CONVERGED) *all_converged = 0;
    kaon_solver_destroy(&p->solver);
  }
  kaon_operator_destroy(&p->K);
  kaon_operator_destroy(&p->R);
  kaon_operator_destroy(&p->M);
  kaon_gauge_destroy(&p->fat);
  kaon_gauge_destroy(&p->naik);
  return code;
}

/* Counts the flops that BiCGStab needs for one column of the same problem, with single precision
 * inside. */
static int count_reference(bench *b, const problem_args *args, const problem *links) {
  problem_args own = *args;
  problem p;
  field_spec spec;
  bench_figures figures = {0};
  own.sloppy = KAON_SINGLE;
  if (multigrid_asked(args)) own.even_odd = KAON_EVEN_ODD_SYMMETRIC;
  own.preconditioner = 0;
  int code = problem_check(&own, &p, &spec);
  p.field = links->field;
  if (code == EXIT_DONE) code = problem_operator(b->ctx, &own, &p);
  p.options.monitor = bench_monitor;
  p.options.method = KAON_BICGSTAB; /* without the method and preconditioner of the rows */
  p.options.preconditioner = NULL;
  if (code == EXIT_DONE) code = problem_solver(b->ctx, 1, &p);
  b->once = 1; /* only its flops are wanted */
  if (code == EXIT_DONE) code = cli_status(b->ctx, solve(b, &p, 1, &figures), NULL);
  b->once = 0;
  memset(&p.field, 0, sizeof p.field); /* owned by the caller */
  problem_close(&p);
  if (code != EXIT_DONE) return code;
  if (figures.reason == KAON_CONVERGED) b->reference_flops = figures.flops;
  head(b);
  cli_print(&b->args->common, "BiCGStab in single precision: %d iterations, %.4g flops, %s\n",
            figures.iterations, figures.flops, kaon_stop_reason_name(figures.reason));
  return EXIT_DONE;
}

/* 18, 12 or 8 reals a link */
enum { STORED_LINKS = 3 };

/* The arguments that all rows on one lattice share. */
static problem_args arguments_on(const bench *b, const int extents[4]) {
  static char gauss[] = "gauss:1";
  problem_args args = lattice_of(b)->problem;
  args.source = gauss; /* a point source would leave most of the lattice near zero */
  args.precision = args.sloppy = lattice_of(b)->outer;
  args.anisotropy = 1;
  if (isnan(args.kappa) && isnan(args.mass)) args.kappa = usual_kappa;
  const int twisted = args.action == ACTION_TWISTED || args.action == ACTION_TWISTED_CLOVER;
  const int clover = args.action == ACTION_CLOVER || args.action == ACTION_TWISTED_CLOVER;
  if (!args.csw && clover) args.csw = "1";
  if (isnan(args.mu) && twisted) args.mu = 0.01;
  args.grid[0] = args.grid[1] = args.grid[2] = args.grid[3] = 1;
  memcpy(args.lattice, extents, sizeof args.lattice);
  return args;
}

/* 1: rows of inner precision p and link storage r are asked for; both are set in `args`. */
static int takes(const bench *b, int p, int r, problem_args *args) {
  const unsigned reconstruct = lattice_of(b)->reconstruct ? lattice_of(b)->reconstruct : 1;
  args->sloppy = p;
  args->reconstruct = r;
  if (p < lattice_of(b)->outer) return 0; /* an inner precision finer than the outer one */
  return lattice_of(b)->precision >> p & 1 && reconstruct >> r & 1;
}

/* Refuses what can be refused before links exist. */
static int check_lattice(const bench *b, const int extents[4]) {
  problem_args args = arguments_on(b, extents);
  problem p;
  field_spec spec;
  int whole[4], code = problem_check(&args, &p, &spec);
  for (int i = 0; i < lattice_of(b)->columns.count && code == EXIT_DONE; i++)
    code = problem_check_together(&p, lattice_of(b)->columns.value[i]);
  for (int i = 0; i < BENCH_PRECISIONS * STORED_LINKS && code == EXIT_DONE; i++)
    if (takes(b, i / STORED_LINKS, i % STORED_LINKS, &args)) code = problem_check(&args, &p, &spec);
  if (code == EXIT_DONE) code = field_extents(b->ctx, &spec, extents, args.ignore_checksum, whole);
  return code == EXIT_DONE ? cli_status(b->ctx, kaon_lattice_check(b->ctx, whole), NULL) : code;
}

static int solve_lattice(bench *b, const int extents[4], int *all_converged) {
  problem_args args = arguments_on(b, extents);
  problem links = {0};
  field_spec spec;
  int code = problem_check(&args, &links, &spec);
  if (code == EXIT_DONE) code = problem_links(b->ctx, &args, &spec, &links);
  if (code == EXIT_DONE) bench_stage(b);
  b->reference_flops = 0;
  if (code == EXIT_DONE && lattice_of(b)->effective) code = count_reference(b, &args, &links);
  for (int p = 0; p < BENCH_PRECISIONS && code == EXIT_DONE; p++)
    for (int r = 0; r < STORED_LINKS && code == EXIT_DONE; r++) {
      problem own;
      if (!takes(b, p, r, &args)) continue;
      code = problem_check(&args, &own, &spec);
      own.field = links.field;
      if (code == EXIT_DONE) code = one(b, &args, &own, all_converged);
    }
  problem_close(&links);
  return code;
}

int solve_measure(bench *b) {
  cli_lattices list = lattice_of(b)->lattices;
  int all_converged = 1, code = EXIT_DONE;
  field_spec spec;
  if (field_parse(lattice_of(b)->problem.gauge, &spec) != EXIT_DONE) return EXIT_USAGE;
  if (lattice_of(b)->precision >> lattice_of(b)->outer == 0)
    return cli_wrong("--precision double is finer than --outer single; leave one of them out");
  if (!list.count) {
    static const int usual[4] = {8, 8, 8, 16};
    list.count = 1; /* zeros: the file has the extents */
    if (spec.kind != FIELD_FILE) memcpy(list.extents[0], usual, sizeof usual);
  }
  for (int i = 0; i < list.count && code == EXIT_DONE; i++)
    code = check_lattice(b, list.extents[i]);
  for (int i = 0; i < list.count && code == EXIT_DONE; i++)
    code = solve_lattice(b, list.extents[i], &all_converged);
  if (!all_converged) b->unconverged = 1;
  return bench_end(b, code);
}

static int run(void *arguments) {
  lattice_args *a = arguments;
  const int code = problem_precond_complete(&a->bench.common, &a->problem);
  return code == EXIT_DONE ? lattice_run(a, option_rows, solve_measure) : code;
}

const cli_command bench_solve = {
    .name = "solve",
    .summary = "Whole solves of Dirac equations: time to the tolerance.",
    .examples =
        "Example:\n  kaon bench solve --lattice 8 8 8 16 --kappa 0.13 --csw 1 --precision half\n\n"
        "The median of 3 solves, or of 2 seconds of them where joules are counted.",
    .options = option_rows,
    .arguments = sizeof(lattice_args),
    .run = run,
    .daily =
        "gauge lattice action kappa csw method precond tol stop precision reconstruct columns json "
        "backend threads"};
