/* command_solve.c - kaon solve: A x = b with a sparse matrix, for one or more right-hand sides;
 * leaves solution, history, plot and report. */
#include "interfaces/cli/command/commands.h"
#include "interfaces/cli/command/solve.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interfaces/common/energy.h"
#include "interfaces/common/options/linear_options.h"
#include "interfaces/cli/report/plot.h"
#include "interfaces/cli/report/progress.h"
#include "interfaces/common/report.h"
#include "interfaces/common/signals.h"
#include "interfaces/cli/report/unconverged.h"

#define AT(member) offsetof(solve_args, linear) + offsetof(linear_args, member)
#define OWN(member) offsetof(solve_args, member)

static const cli_option options[] = {
    {CLI_GROUP, "The system:", NULL, NULL, 0, 0, 0, NULL},
    LINEAR_OPTIONS_MATRIX(AT),
    {CLI_TEXT, "rhs", "ones|A*ones|own|FILE", NULL, AT(rhs), 0, 0,
     "right-hand side (default: own where there is one, else A*ones). A*ones: the solution is 1 in "
     "every row. own: that of the generator (fem, elasticity, banded). FILE: a Matrix Market "
     "array."},
    {CLI_INT, "columns", "N", "1", AT(columns), 1, 4096,
     "right-hand sides, solved together. --rhs gives column 0 (of a FILE, all that it has); the "
     "others are uniform in [-1, 1] by --seed."},
    {CLI_SEED, "seed", "N", "1", AT(seed), 0, 0,
     "seed of the other columns, and of --sweep-order random"},
    {CLI_TEXT, "guess", "FILE", NULL, OWN(guess), 0, 0,
     "start from these x instead of 0. FILE: a Matrix Market array with a column for each of "
     "--columns, such as an earlier --output or the OUTPUT.unconverged of an earlier run."},
    {CLI_TEXT, "null-space", "none|constant|FILE", "none", AT(null_space), 0, 0,
     "vectors n with A n = 0. constant: one vector, as with Neumann or periodic boundaries. "
     "FILE: a Matrix Market array, a column for each n. x is then the solution orthogonal to all "
     "n."},
    {CLI_FLAG, "project-rhs", NULL, NULL, AT(project_rhs), 0, 0,
     "remove from b what a singular A cannot reach: its parts along the n of --null-space where A "
     "= A^H, else its mean where the columns of A add up to 0. Residuals are those of the rest."},
    {CLI_GROUP, "The solver:", NULL, NULL, 0, 0, 0, NULL},
    LINEAR_OPTIONS_SOLVER(AT),
    {CLI_GROUP, "Relaxation:", NULL, NULL, 0, 0, 0, NULL},
    LINEAR_OPTIONS_RELAX(AT),
    LINEAR_OPTIONS_PROJECTIONS(AT),
    {CLI_GROUP, "Faults of two-stage and async, for experiments:", NULL, NULL, 0, 0, 0, NULL},
    LINEAR_OPTIONS_FAULTS(AT),
    {CLI_GROUP, "The preconditioner:", NULL, NULL, 0, 0, 0, NULL},
    LINEAR_OPTIONS_PRECOND(AT),
    {CLI_GROUP, "Results:", NULL, NULL, 0, 0, 0, NULL},
    {CLI_FILE, "output", "FILE", NULL, OWN(output), 0, 0,
     "write the solutions as a Matrix Market array, once all columns converged. FILE.gz is "
     "compressed. Where some columns did not converge, or after an interrupt, the last iterates of "
     "all go to "
     "FILE.unconverged; continue from it with --guess."},
    {CLI_FILE, "history", "FILE.csv", NULL, OWN(history), 0, 0,
     "write the residuals of all columns by iteration, as CSV"},
    {CLI_FILE, "plot", "FILE.png", NULL, OWN(plot), 0, 0,
     "draw the residuals of all columns against the iteration, by gnuplot. Without gnuplot the "
     "numbers are written as CSV beside it."},
    {CLI_FLAG, "no-fallback", NULL, NULL, OWN(no_fallback), 0, 0,
     "end where the method breaks down, stagnates or diverges, instead of trying others"},
    {CLI_FLAG, "dry-run", NULL, NULL, OWN(dry_run), 0, 0,
     "print how much memory the run would take, and stop. Status 3 where there is less, or "
     "--memory-limit is smaller."},
    {CLI_GROUP, "Several ranks, under mpirun:", NULL, NULL, 0, 0, 0, NULL},
    CLI_RANKS_OPTIONS,
    CLI_REGIME_OPTION,
    CLI_SYNC_OPTION,
    {CLI_TEXT, "reduce-delay", "TIME", NULL, OWN(reduce_delay), 0, 0,
     "every sum over ranks takes at least this time, such as 100us or 0.1ms, also on one rank. It "
     "shows what a method waits for and what it hides."},
    {CLI_GROUP, NULL, NULL, NULL, 0, 0, 0, NULL}};

int solve_allocate(solve_job *job) {
  const size_t columns = (size_t)job->columns;
  const kaon_space *space = kaon_matrix_space(job->l.matrix);
  job->solves = calloc(columns, sizeof *job->solves);
  job->by = calloc(columns, sizeof *job->by);
  job->histories = calloc(columns, sizeof *job->histories);
  job->removed = calloc(columns, sizeof *job->removed);
  int code = EXIT_DONE;
  if (!job->solves || !job->by || !job->histories || !job->removed) {
    cli_error("out of memory for %d columns; solve fewer with --columns", job->columns);
    code = EXIT_DEVICE;
  }
  code = ranks_agree(code);
  if (code != EXIT_DONE) return code;
  for (size_t k = 0; k < columns; k++) /* until it is solved */
    job->solves[k] = (kaon_column_report){.reason = KAON_CANCELLED, .residual = 1};
  kaon_status status = kaon_vector_create(job->ctx, space, job->l.precision, job->columns, &job->b);
  if (status == KAON_OK)
    status = kaon_vector_create(job->ctx, space, job->l.precision, job->columns, &job->x);
  if (status == KAON_OK && job->l.precision != KAON_DOUBLE)
    status = kaon_vector_create(job->ctx, space, KAON_DOUBLE, job->columns, &job->posed);
  if (status == KAON_OK && job->l.precision != KAON_DOUBLE)
    status = kaon_vector_create(job->ctx, space, KAON_DOUBLE, job->columns, &job->whole);
  return cli_status(job->ctx, status, NULL);
}

void solve_close(solve_job *job) {
  histories_free(job->histories, job->columns);
  free(job->solves);
  free(job->by);
  free(job->removed);
  kaon_vector_destroy(&job->b);
  kaon_vector_destroy(&job->x);
  kaon_vector_destroy(&job->posed);
  kaon_vector_destroy(&job->whole);
  linear_close(&job->l);
  kaon_context_destroy(&job->ctx);
}

int solve_source(solve_job *job) {
  kaon_vector *whole = job->posed ? job->posed : job->b;
  int code = linear_source(&job->l, whole);
  if (code == EXIT_DONE) code = null_space_project(&job->l, whole, job->removed);
  if (code != EXIT_DONE || whole == job->b) return code;
  return cli_status(job->ctx, kaon_vector_copy(job->b, job->posed), "--rhs");
}

/* *posed -= A *whole */
static kaon_status subtract(const linear *l, kaon_vector *whole, kaon_vector *posed) {
  kaon_operator *A = NULL;
  kaon_vector *product = NULL;
  const kaon_matrix_operator_options whole_values = KAON_MATRIX_OPERATOR_OPTIONS_INIT;
  kaon_status status = kaon_vector_create(l->ctx, kaon_vector_space(whole), KAON_DOUBLE,
                                          kaon_vector_columns(whole), &product);
  if (status == KAON_OK) status = kaon_matrix_operator(l->matrix, &whole_values, &A);
  if (status == KAON_OK) status = kaon_operator_apply(A, KAON_PLAIN, whole, product);
  if (status == KAON_OK) status = kaon_vector_axpy(-1, 0, product, posed);
  kaon_operator_destroy(&A);
  kaon_vector_destroy(&product);
  return status;
}

/* Reports the residual of b as it was given; the solver saw it rounded to single precision.
 * `posed` is overwritten. */
static int judge(solve_job *job) {
  const size_t columns = (size_t)job->columns;
  const kaon_stop stop = job->l.options.stop;
  int cancelled = 0; /* whoever asked to stop does not wait for more */
  for (size_t k = 0; k < columns; k++) cancelled += job->solves[k].reason == KAON_CANCELLED;
  if (job->l.precision == KAON_DOUBLE || cancelled) return EXIT_DONE;
  double *norms = malloc(2 * columns * sizeof *norms), *b2 = norms, *r2 = norms + columns;
  kaon_status status = kaon_context_agree(job->ctx, norms ? KAON_OK : KAON_ERR_MEMORY);
  if (status == KAON_OK) status = kaon_vector_norm2(job->posed, b2);
  if (status == KAON_OK) status = kaon_vector_copy(job->whole, job->x);
  if (status == KAON_OK) status = subtract(&job->l, job->whole, job->posed);
  if (status == KAON_OK) status = kaon_vector_norm2(job->posed, r2);
  for (size_t k = 0; k < columns && status == KAON_OK; k++) {
    kaon_column_report *s = &job->solves[k];
    const int full = stop == KAON_STOP_FULL || (stop == KAON_STOP_REDUCED && !job->l.R);
    if (b2[k] > 0) s->residual = sqrt(r2[k] / b2[k]);
    if (full) s->stop_residual = s->residual;
    const int met = s->stop_residual <= 1.1 * job->l.options.tol;
    if (s->reason != KAON_CONVERGED && !(s->reason == KAON_STAGNATED && s->rounded)) continue;
    s->reason = met ? KAON_CONVERGED : KAON_STAGNATED;
    s->rounded = !met;
  }
  free(norms);
  return cli_status(job->ctx, status, NULL);
}

static int examine(solve_job *job) {
  return null_space_examine(&job->l, job->posed ? job->posed : job->b, job->x, job->solves);
}

int solve_columns(solve_job *job) {
  kaon_solve_report report = KAON_SOLVE_REPORT_INIT;
  progress p = {0};
  const int shown = progress_start(&job->args->common, 0, job->columns, job->l.options.tol, &p);
  if (ranks_agree(shown ? EXIT_DONE : EXIT_DEVICE) != EXIT_DONE) return EXIT_DEVICE;
  job->l.options.monitor = progress_monitor;
  job->l.options.monitor_user = &p;
  int code = linear_solver(&job->l, job->columns);
  job->setup += job->l.made[1];
  if (code == EXIT_DONE) {
    signals_stage("solving", "no solution was written");
    signals_keep(job->args->output != NULL);
    const energy_meter meter = energy_start(job->ctx);
    const double before = cli_cpu_seconds();
    const kaon_status status =
        kaon_solver_solve(job->l.solver, job->b, job->x, job->solves, &report);
    job->cpu = cli_cpu_seconds() - before;
    if (!signals_interrupted()) signals_keep(0); /* else once the iterates are kept */
    code = cli_status(job->ctx, status == KAON_OK ? faults_count(&job->l) : status, NULL);
    job->joules = energy_since(&meter);
  }
  progress_end(&p);
  if (code != EXIT_DONE) return code;
  job->seconds = report.seconds;
  job->flops = report.flops;
  job->traffic = report.traffic;
  job->issue = report.issue;
  job->fused = report.fused;
  histories_copy(job->l.solver, job->columns, job->histories);
  code = examine(job);
  if (code == EXIT_DONE) code = solve_fall_back(job);
  if (code == EXIT_DONE && *job->l.trials.names) code = examine(job);
  if (code == EXIT_DONE) code = solve_explain(job);
  return code == EXIT_DONE ? judge(job) : code;
}

static void announce(const solve_job *job) {
  const cli_common *common = &job->args->common;
  char preconditioner[96], precisions[64], others[64] = "";
  const linear *l = &job->l;
  if (job->columns > 1)
    snprintf(others, sizeof others, ", further columns noise by seed %llu",
             (unsigned long long)l->args->seed);
  cli_print(common, "%s%s to %g for %d column%s: solution %s; b = %s%s%s%s\n",
            linear_method_title(l), precond_text(l, preconditioner), l->options.tol, job->columns,
            job->columns == 1 ? "" : "s",
            precisions_text(l->precision, l->options.sloppy, precisions), linear_rhs_text(l),
            others, job->args->guess ? ", starting from x = " : "",
            job->args->guess ? cli_name(job->args->guess) : "");
  precond_print(common, l);
  for (int k = 0; l->args->project_rhs && k < job->columns; k++)
    cli_print(common, "removed from b of column %d: %.3g |b|\n", k, job->removed[k]);
  solving_warn(common, l->precision, l->options.tol);
  projections_print(common, l->R);
}

static void print_columns(const solve_job *job, double error) {
  const cli_common *common = &job->args->common;
  char by[96];
  cli_print(common, "column  iterations   residual   status\n");
  for (int k = 0; k < job->columns; k++) {
    const kaon_column_report *s = &job->solves[k];
    cli_print(common, "%6d  %10d   %.2e   %s%s\n", k, s->iterations, s->residual,
              kaon_stop_reason_name(s->reason), fallback_text(&job->by[k], by));
  }
  if (!isnan(error)) cli_print(common, "largest error of the solution of column 0: %.2e\n", error);
  char traffic[96] = "";
  if (ranks_started() > 1)
    snprintf(traffic, sizeof traffic,
             "; %lld sums over ranks, %lld exchanges, %.3g MB sent by a rank",
             (long long)job->traffic.sums, (long long)job->traffic.exchanges,
             1e-6 * (double)job->traffic.bytes);
  cli_print(
      common,
      "set-up %.3g s; solve %.3g s at %.2f GFLOPS, %.3g s of processor time%s; kernels issued as "
      "%s%s\n",
      job->setup, job->seconds, job->seconds > 0 ? 1e-9 * job->flops / job->seconds : 0, job->cpu,
      traffic, regime_name(job->issue),
      job->issue >= KAON_ISSUE_SEPARATE && job->fused ? " (this method fuses its updates)" : "");
}

/* max |x - 1| over the rows of column 0 where b = A * ones; else NaN, as where memory is short. */
static double error_of_ones(const solve_job *job) {
  const int reals = job->l.info.reals;
  const size_t numbers = (size_t)job->l.info.rows * (size_t)reals;
  double worst[2] = {0, 0}; /* the second: there is no such number */
  const int known = job->l.rhs == RHS_A_ONES && !null_space_given(job->l.args);
  double *x = known ? malloc((numbers + 1) * sizeof *x) : NULL;
  if (!known) return NAN;
  worst[1] = ranks_agree(x ? EXIT_DONE : EXIT_DEVICE) != EXIT_DONE ||
             kaon_vector_export(job->x, 0, x, KAON_BASIS_UKQCD) != KAON_OK;
  for (size_t i = 0; i < numbers && !worst[1]; i++) {
    const double off = fabs(x[i] - (i % (size_t)reals == 0));
    if (!(off <= worst[0])) worst[0] = off;
  }
  free(x);
  return ranks_most(worst, 2) == KAON_OK && worst[1] == 0 ? worst[0] : NAN;
}

static int uses_seed(const solve_job *job) {
  const int order = job->args->linear.sweep_order;
  char name[32];
  return job->columns > 1 ||
         (order >= 0 && strcmp(cli_choice(LINEAR_SWEEP_ORDERS, order, name), "random") == 0);
}

static json_t *describe(const solve_job *job, double error) {
  char name[32];
  json_t *report = report_new(job->ctx, "solve");
  json_object_set_new(report, "matrix", linear_describe(&job->l));
  linear_add(&job->l, report);
  json_object_set_new(report, "guess",
                      job->args->guess ? report_string(job->args->guess) : json_null());
  json_object_set_new(
      report, "null_space",
      null_space_given(job->l.args) ? report_string(job->l.args->null_space) : json_null());
  json_object_set_new(report, "unconverged", json_null());
  json_object_set_new(report, "seed",
                      uses_seed(job) ? report_seed(job->args->linear.seed) : json_null());
  json_object_set_new(report, "relaxation", relax_describe(&job->l));
  json_object_set_new(
      report, "spectrum",
      job->args->linear.spectrum ? spectrum_describe(&job->l.spectrum) : json_null());
  json_object_set_new(report, "reduce_delay", report_real(job->args->common.reduce_delay));
  json_object_set_new(report, "regime", json_string(regime_name(job->issue)));
  json_object_set_new(report, "fused", json_boolean(job->fused));
  json_object_set_new(report, "setup_seconds", report_real(job->setup));
  json_object_set_new(report, "make_seconds", report_real(job->l.made[0] + job->l.made[1]));
  json_object_set_new(report, "seconds", report_real(job->seconds));
  json_object_set_new(report, "gflops",
                      report_real(job->seconds > 0 ? 1e-9 * job->flops / job->seconds : NAN));
  json_object_set_new(report, "joules", report_real(job->joules));
  json_object_set_new(report, "cpu_seconds", report_real(job->cpu));
  json_object_set_new(report, "sync",
                      json_string(cli_choice(CLI_SYNCS, job->args->common.sync, name)));
  json_object_set_new(report, "error", report_real(error));
  json_object_set_new(report, "sums", json_integer(job->traffic.sums));
  json_object_set_new(report, "exchanges", json_integer(job->traffic.exchanges));
  json_object_set_new(report, "exchanges_ahead", json_integer(job->traffic.ahead));
  json_object_set_new(report, "bytes_sent", json_integer(job->traffic.bytes));
  json_object_set_new(report, "peak_resident", report_real(cli_peak_resident()));
  for (int k = 0; k < job->columns; k++) {
    report_solve(report, k, &job->solves[k], 0);
    fallback_add(&job->by[k], report);
    if (job->args->linear.project_rhs)
      json_object_set_new(json_array_get(json_object_get(report, "solves"), (size_t)k), "removed",
                          report_real(job->removed[k]));
  }
  return report;
}

static int conclude(solve_job *job) {
  const solve_args *a = job->args;
  int converged = 0, cancelled = 0; /* the same on all ranks, even if one alone got a signal */
  for (int k = 0; k < job->columns; k++) {
    converged += job->solves[k].reason == KAON_CONVERGED;
    cancelled += job->solves[k].reason == KAON_CANCELLED;
  }
  const int all = converged == job->columns;
  const double error = job->solves[0].reason == KAON_CONVERGED ? error_of_ones(job) : NAN;
  json_t *report = describe(job, error);
  print_columns(job, error);
  relax_print(&a->common, &job->l);
  int code = all ? solve_write(job) : EXIT_DONE;
  if (!all) code = solve_unconverged(job, report);
  if (cancelled) json_object_set_new(report, "interrupted", json_true());
  int written = report_write(a->common.report, report);
  json_decref(report);
  if (written == EXIT_DONE) written = histories_write(job->histories, job->columns, a->history);
  if (written == EXIT_DONE && a->plot)
    written = plot_convergence(&(plot){a->plot, a->history, cli_name(a->linear.matrix),
                                       job->l.options.tol, job->histories, job->columns});
  if (code != EXIT_DONE || written != EXIT_DONE) return code != EXIT_DONE ? code : written;
  return all ? EXIT_DONE : EXIT_NOT_CONVERGED;
}

/* Refuses options without effect, now that the method is known. */
static int check_idle(const solve_job *job) {
  const cli_common *common = &job->args->common;
  const linear *l = &job->l;
  if (!uses_seed(job) && cli_option_given(common, "seed"))
    return cli_wrong(
        "--seed is for the columns after the first one, and for --sweep-order random, but there is "
        "one column alone; leave it out, or raise --columns");
  if (cli_option_given(common, "fault-seed") && !l->lab.faults)
    return cli_wrong(
        "--fault-seed has no effect without --fault-share, --fault-rank or --flip-rate; give one, "
        "or leave it out");
  if (l->options.sloppy == l->precision && cli_option_given(common, "refinement"))
    return cli_wrong(
        "--refinement corrects an inner iteration in a coarser precision, but both are %s; leave "
        "it out, or give --sloppy",
        precision_name(l->precision));
  return solving_idle(l->args->set, "method", l->options.method);
}

static int prepare(solve_job *job) {
  const cli_common *common = &job->args->common;
  const double begun = cli_now();
  const char *guess = job->args->guess;
  int code = guess ? linear_readable(guess, "--guess", "a Matrix Market array") : EXIT_DONE;
  if (code == EXIT_DONE) code = linear_matrix(job->ctx, &job->l);
  if (code == EXIT_DONE) code = solve_check_disk_space(job->args, &job->l.info);
  if (code == EXIT_DONE) code = linear_decide(&job->l);
  if (code == EXIT_DONE) code = linear_operator(&job->l);
  if (code == EXIT_DONE) code = check_idle(job);
  if (code != EXIT_DONE) return code;
  linear_print(common, &job->l);
  code = solve_allocate(job);
  if (code == EXIT_DONE) code = solve_source(job);
  if (code == EXIT_DONE) code = solve_guess(job);
  if (code == EXIT_DONE) announce(job);
  job->setup = cli_now() - begun;
  return code;
}

/* Refuses one file under two options. */
static int check_paths(const solve_args *a, const linear *l) {
  char *csv = plot_csv(a->plot, a->history), *unconverged = unconverged_name(a->output);
  enum { OUTPUTS = 6 };
  const cli_path paths[] = {
      {"the last iterates of --output", unconverged}, /* these may come from --guess */
      {"--tuning", a->common.tuning},
      {"--matrix", linear_is_file(a->linear.matrix) ? a->linear.matrix : NULL},
      {"--rhs", l->rhs == RHS_FILE ? a->linear.rhs : NULL},
      {"--permutation", a->linear.permutation},
      {"--null-space", null_space_file(&a->linear)},
      {"--output", a->output},
      {"--history", a->history},
      {"--plot", a->plot},
      {"--report", a->common.report},
      {"the numbers of --plot", a->history ? NULL : csv}};
  const int count = (int)(sizeof paths / sizeof *paths);
  int code = cli_distinct(paths, count);
  if (code == EXIT_DONE)
    code = cli_check_overwrite("--guess", a->guess, paths + OUTPUTS, count - OUTPUTS);
  if (code == EXIT_DONE) code = cli_writable("the last iterates of --output", unconverged);
  if (code == EXIT_DONE) code = plot_check("--plot", a->plot);
  if (code == EXIT_DONE) code = cli_writable("the numbers of --plot", csv);
  free(csv);
  free(unconverged);
  return code;
}

static int run(void *arguments) {
  static const int no_grid[4] = {0, 0, 0, 0};
  solve_args *a = arguments;
  solve_job job = {.args = a, .columns = a->linear.columns};
  linear_settle(&a->linear);
  int code = linear_check(&a->linear, &job.l);
  if (code == EXIT_DONE) code = precond_check(&job.l);
  if (code == EXIT_DONE) code = projections_check(&a->linear, &job.l);
  if (code == EXIT_DONE) code = check_paths(a, &job.l);
  if (code == EXIT_DONE)
    code = cli_read_time("reduce-delay", a->reduce_delay, &a->common.reduce_delay);
  if (code == EXIT_DONE && a->dry_run) return plan_solve(&job);
  if (code == EXIT_DONE) code = ranks_context(&a->common, no_grid, &job.ctx);
  if (code == EXIT_DONE) code = ranks_check(&a->common, job.ctx);
  if (code == EXIT_DONE) {
    signals_output(a->output);
    code = solve_fits(&job);
    if (code == EXIT_DONE) code = prepare(&job);
    if (code == EXIT_DONE) report_in_case(a->common.report, describe(&job, NAN), 0, job.columns);
    if (code == EXIT_DONE) code = solve_columns(&job);
    if (code == EXIT_DONE) report_in_case(a->common.report, describe(&job, NAN), 0, 0);
    if (code == EXIT_DONE) code = conclude(&job);
  }
  solve_close(&job);
  return code;
}

const cli_command command_solve = {
    .name = "solve",
    .summary = "Solve A x = b with a sparse matrix from a file, or by name.",
    .examples =
        "Examples:\n"
        "  kaon solve --matrix laplace3d:32 --precond jacobi\n"
        "  kaon solve --matrix A.mtx --rhs b.mtx --method bicgstab --precond ilu0 \\\n"
        "      --output x.mtx --report report.json\n\n"
        "More examples:\n"
        "  kaon solve --matrix trefethen:2000 --method pipecg --reduce-delay 100us\n"
        "  kaon solve --matrix laplace3d:32 --precond two-stage --sweeps 2 --block 64\n"
        "  kaon solve --matrix trefethen:2000 --method async --fault-share 0.25\n"
        "  mpirun -np 4 kaon solve --matrix A.mtx.gz --precond ainv --drop 0.05\n"
        "  mpirun -np 4 kaon solve --matrix A.mtx --precond sap --schwarz-block 1000\n\n"
        "A run in which columns did not converge ends with status 1. Continue it with\n"
        "  kaon solve --matrix A.mtx --output x.mtx --guess x.mtx.unconverged\n\n"
        "The printed residual is |b - A x| / |b|, recomputed in double. Solutions are written when "
        "every column converged.",
    .options = options,
    .arguments = sizeof(solve_args),
    .run = run,
    .daily =
        "matrix rhs method precond tol max-iter sloppy columns output history plot report dry-run "
        "backend"};
