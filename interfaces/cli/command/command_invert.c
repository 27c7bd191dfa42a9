/* command_invert.c - kaon invert: solves the Dirac equation for the columns of a source and leaves
 * propagator, correlators, history and report. */
#include "interfaces/cli/command/commands.h"
#include "interfaces/cli/command/invert.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interfaces/common/energy.h"
#include "interfaces/cli/report/multigrid_levels.h"
#include "interfaces/cli/report/plot.h"
#include "interfaces/cli/report/progress.h"
#include "interfaces/common/report.h"
#include "interfaces/common/signals.h"
#include "interfaces/cli/report/unconverged.h"

#define AT(member) offsetof(invert_args, problem) + offsetof(problem_args, member)
#define OWN(member) offsetof(invert_args, member)

static const cli_option options[] = {
    PROBLEM_OPTIONS_PROBLEM(AT),
    {CLI_INT, "columns", "N", "12", AT(columns), 1, 4096,
     "right-hand sides: spin-colour components of the source in order (staggered: colours, default "
     "3), or N noise fields"},
    PROBLEM_OPTIONS_SOLVER(AT),
    PROBLEM_OPTIONS_PRECOND(AT),
    {CLI_TEXT, "load-vectors", "FILE", NULL, AT(load_vectors), 0, 0,
     "multigrid: begin with the vectors of an earlier --save-vectors instead of a set-up. Levels, "
     "blocks and numbers of vectors are those of FILE. Vectors of another configuration or mass "
     "may need more iterations."},
    {CLI_FILE, "save-vectors", "FILE", NULL, AT(save_vectors), 0, 0,
     "multigrid: write its vectors as SciDAC/LIME after the set-up, for --load-vectors"},
    {CLI_TEXT, "shifts", "S1,S2,...", NULL, OWN(shifts), 0, 0, SHIFTS_TEXT},
    {CLI_INT, "batch", "N", NULL, OWN(batch), 1, 4096,
     "columns solved at a time (default: all together, which is fastest). With --output, finished "
     "batches are kept in OUTPUT.partial, except those of staggered actions."},
    {CLI_TEXT, "guess", "FILE", NULL, OWN(guess), 0, 0,
     "start from these solutions instead of 0. FILE: an earlier --output of the same lattice, "
     "source and columns, of this mass or another, or the OUTPUT.unconverged of an earlier run. "
     "Columns that --resume takes over stay as they are."},
    CLI_GROUP_ROW("Results:"),
    {CLI_FILE, "output", "FILE", NULL, OWN(output), 0, 0,
     "write the solutions as SciDAC/LIME, once all columns converged. Wilson-like: a USQCD "
     "propagator; staggered: a field a column. Where some columns did not converge, or after an "
     "interrupt, "
     "the last iterates of all go to FILE.unconverged; continue from it with --guess."},
    {CLI_FILE, "correlators", "FILE", NULL, OWN(correlators), 0, 0,
     "write pion and rho at zero momentum, as text. Needs the 12 columns of a point or wall "
     "source."},
    {CLI_FILE, "history", "FILE.csv", NULL, OWN(history), 0, 0,
     "write the residuals of all columns by iteration, as CSV"},
    {CLI_FILE, "plot", "FILE.png", NULL, OWN(plot), 0, 0,
     "draw the residuals of all columns against the iteration, by gnuplot. Without gnuplot the "
     "numbers are written as CSV beside it."},
    {CLI_FILE, "plot-pion", "FILE.png", NULL, OWN(plot_pion), 0, 0,
     "draw the pion correlator and its effective mass, by gnuplot. Needs the columns that "
     "--correlators needs."},
    {CLI_FILE, "plot-levels", "FILE.png", NULL, OWN(plot_levels), 0, 0,
     "draw where the time of a solve with --precond multigrid goes, by level, by gnuplot"},
    {CLI_FLAG, "no-fallback", NULL, NULL, OWN(no_fallback), 0, 0,
     "end where the method breaks down, stagnates or diverges, instead of trying others"},
    {CLI_FLAG, "dry-run", NULL, NULL, OWN(dry_run), 0, 0,
     "print how much memory the run would take, and stop. Status 3 where there is less, or "
     "--memory-limit is smaller."},
    {CLI_FLAG, "resume", NULL, NULL, OWN(resume), 0, 0,
     "take over the columns that an earlier run left in OUTPUT.partial or OUTPUT. Not with "
     "staggered actions."},
    CLI_END_ROW};

int64_t invert_sites(const invert_job *job) {
  int n[4];
  kaon_lattice_part(job->p.field.lattice, n, NULL, NULL);
  return (int64_t)n[0] * n[1] * n[2] * n[3];
}

int invert_allocate(invert_job *job) {
  int code;
  const kaon_space *full = problem_space(&job->p);
  size_t columns = (size_t)job->columns;
  size_t volume = (size_t)invert_sites(job);
  job->solves = calloc(columns, sizeof *job->solves);
  job->by = calloc(columns, sizeof *job->by);
  job->done = calloc(columns, 1);
  job->taken = calloc(columns, 1);
  job->histories = calloc(columns, sizeof *job->histories);
  job->host = malloc(volume * (size_t)problem_reals(&job->p) * sizeof *job->host);
  code = EXIT_DONE;
  if (!job->solves || !job->by || !job->done || !job->taken || !job->histories || !job->host) {
    cli_error("out of memory for %d columns; solve fewer with --columns", job->columns);
    code = EXIT_DEVICE;
  }
  code = ranks_agree(code);
  if (code != EXIT_DONE) return code;
  for (size_t k = 0; k < columns; k++) /* until it is solved */
    job->solves[k] = (kaon_column_report){.reason = KAON_CANCELLED, .residual = 1};
  code = cli_status(
      job->ctx, kaon_vector_create(job->ctx, full, job->p.precision, job->columns, &job->b), NULL);
  if (code != EXIT_DONE) return code;
  return cli_status(
      job->ctx, kaon_vector_create(job->ctx, full, job->p.precision, job->columns, &job->x), NULL);
}

void invert_close(invert_job *job) {
  shifts_close(job);
  histories_free(job->histories, job->columns);
  free(job->solves);
  free(job->by);
  free(job->done);
  free(job->taken);
  free(job->host);
  kaon_vector_destroy(&job->b);
  kaon_vector_destroy(&job->x);
  problem_close(&job->p);
  kaon_context_destroy(&job->ctx);
}

/* A batch takes the steps of its slowest column. */
static void note_cycles(invert_job *job, int first, int count, double seconds) {
  int most = 0;
  for (int k = first; k < first + count; k++)
    if (job->solves[k].iterations > most) most = job->solves[k].iterations;
  job->cycles += (double)most * count / job->batch;
  job->cycle_seconds += seconds;
}

static int solve(invert_job *job, int first, int count, const kaon_vector *b, kaon_vector *x) {
  kaon_solve_report report = KAON_SOLVE_REPORT_INIT;
  char loss[256], part[160] = "";
  const int kept = job->kept;
  const int keeps = checkpoint_keeps(job);
  if (kept && keeps)
    snprintf(part, sizeof part, "; %d finished columns are in %.90s%s (--resume)", kept,
             job->args->output, job->output_complete ? "" : ".partial");
  snprintf(loss, sizeof loss, "%d of %d columns are lost%s", job->columns - (keeps ? kept : 0),
           job->columns, part);
  signals_stage("solving", loss);
  const char *path = job->args->common.report;
  report_in_case(path, invert_describe(job), first, count);
  signals_keep(job->args->output != NULL);
  const energy_meter meter = energy_start(job->ctx);
  kaon_status status = kaon_solver_solve(job->p.solver, b, x, job->solves + first, &report);
  if (!signals_interrupted()) signals_keep(0); /* else once the iterates are kept */
  if (status != KAON_OK) return cli_status(job->ctx, status, NULL);
  job->joules += energy_since(&meter);
  note_cycles(job, first, count, report.seconds);
  job->seconds += report.seconds;
  job->flops += report.flops;
  job->traffic.sums += report.traffic.sums;
  job->traffic.exchanges += report.traffic.exchanges;
  job->traffic.bytes += report.traffic.bytes;
  histories_copy(job->p.solver, count, job->histories + first);
  const int code = invert_fall_back(job, first, count, b, x);
  for (int k = first; k < first + count; k++)
    job->done[k] = job->solves[k].reason == KAON_CONVERGED;
  report_in_case(path, invert_describe(job), 0, 0);
  return code;
}

static int solve_batch(invert_job *job, int first, int count) {
  const kaon_space *full = problem_space(&job->p);
  kaon_vector *b = NULL, *x = NULL;
  progress p = {0};
  kaon_status status = KAON_OK;
  int code = EXIT_DEVICE, whole = count == job->columns;
  int shown = progress_start(&job->args->common, first, count, job->p.options.tol, &p);
  if (ranks_agree(shown ? EXIT_DONE : EXIT_DEVICE) != EXIT_DONE) return EXIT_DEVICE;
  job->p.options.monitor = progress_monitor;
  job->p.options.monitor_user = &p;
  if (!whole) {
    status = kaon_vector_create(job->ctx, full, job->p.precision, count, &b);
    if (status == KAON_OK) status = kaon_vector_create(job->ctx, full, job->p.precision, count, &x);
    if (status == KAON_OK) status = kaon_vector_copy_columns(b, 0, job->b, first, count);
    if (status == KAON_OK && job->begun)
      status = kaon_vector_copy_columns(x, 0, job->x, first, count);
  }
  code = cli_status(job->ctx, status, NULL);
  if (code == EXIT_DONE) code = problem_solver(job->ctx, count, &job->p);
  job->setup += job->p.made[1];
  if (code == EXIT_DONE) code = solve(job, first, count, whole ? job->b : b, whole ? job->x : x);
  progress_end(&p);
  kaon_solver_destroy(&job->p.solver);
  if (code == EXIT_DONE && !whole)
    code = cli_status(job->ctx, kaon_vector_copy_columns(job->x, first, x, 0, count), NULL);
  kaon_vector_destroy(&b);
  kaon_vector_destroy(&x);
  return code;
}

/* Batches of columns that are not done yet; a batch is a run of neighbours. */
int invert_solve(invert_job *job) {
  int code = EXIT_DONE, stopped = 0;
  for (int k = 0; k < job->columns && code == EXIT_DONE;) {
    int count = 0;
    if (job->done[k]) {
      k++;
      continue;
    }
    code = ranks_interrupted(&stopped);
    if (code != EXIT_DONE || stopped) break;
    while (k + count < job->columns && count < job->batch && !job->done[k + count]) count++;
    code = solve_batch(job, k, count);
    k += count;
    if (code == EXIT_DONE && k < job->columns && count < job->columns)
      (void)checkpoint_save(job); /* it reports a failure; the columns are still in memory */
  }
  return code;
}

static void announce(const invert_job *job) {
  const problem_args *a = &job->args->problem;
  const int *e = job->p.field.extents;
  char form[32];
  cli_print(&job->args->common, "gauge field %s: %dx%dx%dx%d, plaquette %.10f\n", a->gauge, e[0],
            e[1], e[2], e[3], job->links.plaquette);
  char what[96];
  cli_print(&job->args->common, "action %s, %s in t; source %s\n", results_action(job, what),
            a->boundary_t ? "periodic" : "antiperiodic", a->source);
  staggered_print(&job->args->common, &job->p, 0);
  char preconditioner[96], precisions[64];
  cli_print(&job->args->common,
            "%s%s to %g for %d column%s: solution %s with %d reals a link, "
            "even-odd %s\n",
            method_title(job->p.options.method), problem_precond_text(a, &job->p, preconditioner),
            job->p.options.tol, job->columns, job->columns == 1 ? "" : "s",
            precisions_text(job->p.precision, job->p.options.sloppy, precisions),
            (int)job->p.options.reconstruct,
            cli_choice("symmetric|asymmetric|none", a->even_odd, form));
  if (multigrid_asked(a)) multigrid_print_setup(&job->args->common, &job->p);
  solving_warn(&job->args->common, job->p.precision, job->p.options.tol);
}

static void print_columns(const invert_job *job) {
  const cli_common *common = &job->args->common;
  const source_kind kind = job->p.source.kind;
  const int noise = kind == SOURCE_Z4 || kind == SOURCE_GAUSS, spins = !job->p.staggered && !noise;
  char traffic[96] = "";
  cli_print(common, "column%s%s  iterations   residual   status\n", spins ? "  spin" : "",
            noise ? "" : " colour");
  for (int k = 0; k < job->columns; k++) {
    const kaon_column_report *s = &job->solves[k];
    char spin[16] = "", colour[16] = "", by[96];
    if (spins) snprintf(spin, sizeof spin, "  %4d", k / 3 % 4);
    if (!noise) snprintf(colour, sizeof colour, " %6d", k % 3);
    cli_print(common, "%6d%s%s  %10d   %.2e   %s%s\n", k, spin, colour, s->iterations, s->residual,
              kaon_stop_reason_name(s->reason), fallback_text(&job->by[k], by));
  }
  if (ranks_started() > 1)
    snprintf(traffic, sizeof traffic,
             "; %lld sums over ranks, %lld exchanges, %.3g MB sent by a rank",
             (long long)job->traffic.sums, (long long)job->traffic.exchanges,
             1e-6 * (double)job->traffic.bytes);
  if (job->seconds > 0)
    cli_print(common, "set-up %.3f s; solve %.3f s at %.2f GFLOPS%s\n", job->setup, job->seconds,
              1e-9 * job->flops / job->seconds, traffic);
  if (job->seconds > 0) staggered_print(common, &job->p, job->seconds);
}

/* How it was computed: what another run needs to repeat it. */
static json_t *describe_method(const invert_job *job) {
  const problem_args *a = &job->args->problem;
  const kaon_solver_options *o = &job->p.options;
  char form[32], refinement[32];
  return json_pack("{s:s s:s s:s s:i s:s s:s s:s s:o s:b s:i s:i s:i s:s?}", "solver",
                   method_name(o->method), "precision", precision_name(job->p.precision), "sloppy",
                   precision_name(o->sloppy), "reconstruct", (int)o->reconstruct, "even_odd",
                   cli_choice("symmetric|asymmetric|none", a->even_odd, form), "refinement",
                   cli_choice("reliable|restart", a->refinement, refinement), "boundary_t",
                   a->boundary_t ? "periodic" : "antiperiodic", "anisotropy",
                   report_real(a->anisotropy), "temporal_gauge", a->temporal_gauge, "columns",
                   job->columns, "batch", job->batch, "max_iter", o->max_iterations, "set", a->set);
}

/* That of a noise source, else that of synthetic links. */
static json_t *seed(const problem *p) {
  const int noise = p->source.kind == SOURCE_Z4 || p->source.kind == SOURCE_GAUSS;
  const field_kind links = p->field.spec.kind;
  if (noise) return report_seed(p->source.seed);
  return links == FIELD_RANDOM || links == FIELD_WEAK ? report_seed(p->field.spec.seed)
                                                      : json_null();
}

json_t *invert_describe(const invert_job *job) {
  const problem_args *a = &job->args->problem;
  json_t *report = report_new(job->ctx, "invert");
  char name[32];
  json_object_set_new(report, "gauge", report_string(a->gauge));
  json_object_set_new(report, "lattice", report_ints(job->p.field.extents, 4));
  report_part(report, job->p.field.lattice);
  json_object_set_new(report, "plaquette", report_real(job->links.plaquette));
  json_object_set_new(report, "gauge_checksum", field_checksum(&job->p.field));
  json_object_set_new(report, "seed", seed(&job->p));
  json_object_set_new(report, "action", json_string(cli_choice(PROBLEM_ACTIONS, a->action, name)));
  if (job->p.staggered) {
    staggered_describe(a, &job->p, report);
  } else {
    json_object_set_new(report, "kappa", report_real(job->p.kappa));
    json_object_set_new(report, "csw", report_real(job->p.csw));
    if (job->p.csw_time != job->p.csw)
      json_object_set_new(report, "csw_time", report_real(job->p.csw_time));
    if (job->p.twisted) json_object_set_new(report, "mu", report_real(job->p.mu));
  }
  json_object_set_new(report, "source", json_string(a->source));
  json_object_set_new(report, "guess",
                      job->args->guess ? report_string(job->args->guess) : json_null());
  json_object_set_new(report, "unconverged", json_null());
  json_object_set_new(report, "tol", report_real(job->p.options.tol));
  json_object_set_new(report, "stop", json_string(cli_choice("full|schur|normal", a->stop, name)));
  json_t *method = describe_method(job);
  json_object_update(report, method);
  json_object_set_new(report, "method", json_string(method_name(job->p.options.method)));
  json_decref(method);
  problem_precond_add(a, &job->p, report);
  json_object_set_new(report, "peak_resident", report_real(cli_peak_resident()));
  kaon_context_info info = KAON_CONTEXT_INFO_INIT;
  if (kaon_context_query(job->ctx, &info) == KAON_OK) /* a rank's */
    json_object_set_new(report, "peak_fields", report_real((double)info.memory_peak));
  if (job->shifts.count) shifts_describe(job, report);
  for (int k = 0; k < job->columns && !job->shifts.count; k++) {
    report_solve(report, k, &job->solves[k], job->p.options.stop != KAON_STOP_FULL);
    fallback_add(&job->by[k], report);
  }
  json_t *taken = json_array(); /* their iterations are an earlier run's */
  for (int k = 0; k < job->columns; k++)
    if (job->taken[k]) json_array_append_new(taken, json_integer(k));
  json_object_set_new(report, "taken_over", taken);
  json_object_set_new(report, "setup_seconds", report_real(job->setup));
  json_object_set_new(report, "seconds", report_real(job->seconds));
  if (job->seconds > 0)
    json_object_set_new(report, "gflops", report_real(1e-9 * job->flops / job->seconds));
  if (job->seconds > 0) json_object_set_new(report, "joules", report_real(job->joules));
  if (job->seconds > 0) schwarz_add_traffic(&job->traffic, report);
  return report;
}

static void print_correlators(const invert_job *job, const double *pion, const double *rho) {
  cli_print(&job->args->common, "   t   pion%s\n", job->p.staggered ? "" : "             rho");
  for (int t = 0; t < job->p.field.extents[3]; t++)
    if (job->p.staggered)
      cli_print(&job->args->common, "%4d   %.8e\n", t, pion[t]);
    else
      cli_print(&job->args->common, "%4d   %.8e   % .8e\n", t, pion[t], rho[t]);
}

/* 1 if the columns are spin-colour components, which can be contracted; noise fields are not. */
static int makes_propagator(const invert_job *job) {
  source_kind kind = job->p.source.kind;
  return job->columns == problem_components(&job->p) && kind <= SOURCE_CORNER;
}

/* Writes propagator and correlators once all columns converged. If one cannot be written, the
 * others still are. */
static int finish(invert_job *job, json_t *report) {
  const invert_args *a = job->args;
  size_t slices = (size_t)job->p.field.extents[3];
  double *pion = calloc(2 * slices, sizeof *pion);
  int code = ranks_agree(pion ? EXIT_DONE : EXIT_DEVICE), written = EXIT_DONE;
  if (code == EXIT_DONE && makes_propagator(job)) {
    code = results_contract(job, pion, pion + slices);
    if (code == EXIT_DONE) {
      print_correlators(job, pion, pion + slices);
      json_object_set_new(report, "pion", report_reals(pion, (int)slices));
      if (!job->p.staggered)
        json_object_set_new(report, "rho", report_reals(pion + slices, (int)slices));
    }
  }
  if (code == EXIT_DONE && condensate_measured(job)) code = condensate_conclude(job, report);
  if (code == EXIT_DONE && a->output) {
    written = results_propagator(job, a->output, RESULTS_WHOLE);
    if (written == EXIT_DONE) checkpoint_remove(job);
    if (written == EXIT_DONE) unconverged_over(&a->common, a->output);
  }
  if (code == EXIT_DONE && a->correlators)
    code = results_correlators(job, pion, pion + slices, a->correlators);
  if (code == EXIT_DONE && a->plot_pion)
    code = plot_pion(a->plot_pion, a->problem.gauge, pion, (int)slices);
  free(pion);
  return written != EXIT_DONE ? written : code;
}

static const char *advice(const void *user, kaon_stop_reason reason,
                          const kaon_column_report *worst) {
  const invert_job *job = user;
  if (reason == KAON_CANCELLED) return "it was ended early";
  if (reason == KAON_MAX_ITERATIONS) return "--max-iter allows more steps";
  if (job->p.off_group > job->p.options.tol)
    return "--temporal-gauge rotates by links that are not SU(3) to within --tol; leave it out, or "
           "give a larger --tol";
  if (worst->rounded)
    return "rounding of x in single precision keeps it above --tol; give --precision double "
           "--sloppy single, or a larger --tol";
  return solving_advice(invert_failure(job), worst, &job->trials,
                        "the operator is singular or nearly so; give another --kappa or --mass");
}

static int conclude(invert_job *job) {
  const invert_args *a = job->args;
  int converged = 0, cancelled = 0; /* the same on all ranks, even if one alone got a signal */
  for (int k = 0; k < job->columns; k++) {
    converged += job->done[k];
    cancelled += job->solves[k].reason == KAON_CANCELLED;
  }
  int all = converged == job->columns;
  json_t *report = invert_describe(job);
  print_columns(job);
  int code = EXIT_DONE;
  if (all) code = finish(job, report);
  if (all && code == EXIT_DONE) code = levels_conclude(job, report);
  if (all && code == EXIT_DONE) code = estimate_conclude(job, report);
  if (!all && converged) code = checkpoint_save(job);
  if (!all) {
    const int left = guess_leave(job, report, advice);
    if (code == EXIT_DONE) code = left;
  }
  if (cancelled) json_object_set_new(report, "interrupted", json_true());
  int written = report_write(a->common.report, report);
  json_decref(report);
  const int none = all && job->seconds == 0 && (a->history || a->plot);
  if (none)
    cli_print(&a->common, "all columns were taken over: there is no history to write or to plot\n");
  if (written == EXIT_DONE && !none)
    written = histories_write(job->histories, job->columns, a->history);
  if (written == EXIT_DONE && !none && a->plot)
    written = plot_convergence(&(plot){a->plot, a->history, a->problem.gauge, job->p.options.tol,
                                       job->histories, job->columns});
  if (code != EXIT_DONE || written != EXIT_DONE) return code != EXIT_DONE ? code : written;
  return all ? EXIT_DONE : EXIT_NOT_CONVERGED;
}

static int prepare(invert_job *job, const field_spec *spec) {
  const problem_args *a = &job->args->problem;
  int code = problem_links(job->ctx, a, spec, &job->p);
  if (code != EXIT_DONE) return code;
  job->links = (kaon_observables)KAON_OBSERVABLES_INIT;
  code = cli_status(job->ctx, kaon_gauge_measure(job->p.field.gauge, &job->links), NULL);
  if (code == EXIT_DONE) code = guess_fits(job, job->ctx, job->p.field.extents);
  if (code == EXIT_DONE) code = invert_allocate(job);
  if (code == EXIT_DONE) code = cli_status(job->ctx, problem_source(&job->p, job->b), "--source");
  if (code == EXIT_DONE) code = multigrid_announce(&job->args->common, job->ctx, a, &job->p);
  setup_progress_start(&job->args->common, job->p.multigrid.setup, &job->setting_up);
  job->p.multigrid.monitor = setup_progress_monitor;
  job->p.multigrid.monitor_user = &job->setting_up;
  if (code == EXIT_DONE) code = problem_operator(job->ctx, a, &job->p);
  setup_progress_end(&job->setting_up);
  job->setup = job->p.made[0];
  if (code == EXIT_DONE) announce(job);
  if (code == EXIT_DONE && job->args->resume) code = checkpoint_load(job);
  if (code == EXIT_DONE && !job->args->resume) checkpoint_warn(job);
  if (code == EXIT_DONE) code = guess_read(job); /* of columns that were not taken over */
  return code;
}

/* Refuses one file under two options. */
static int check_paths(const invert_job *job, const field_spec *spec) {
  const invert_args *a = job->args;
  char *partial = NULL, *csv = plot_csv(a->plot, a->history);
  char *last = a->shifts ? NULL : unconverged_name(a->output);
  if (a->output && asprintf(&partial, "%s.partial", a->output) < 0) return EXIT_DEVICE;
  enum { READ = 2, OWN_GUESS };
  const cli_path paths[] = {{"--tuning", a->common.tuning},
                            {"--gauge", spec->kind == FIELD_FILE ? spec->text : NULL},
                            {"the last iterates of --output", last}, /* may come from --guess */
                            {"--output", a->output},
                            {"the unfinished --output", partial},
                            {"--correlators", a->correlators},
                            {"--history", a->history},
                            {"--plot", a->plot},
                            {"--plot-pion", a->plot_pion},
                            {"--plot-levels", a->plot_levels},
                            {"--report", a->common.report},
                            {"--save-vectors", a->problem.save_vectors},
                            {"the numbers of --plot", a->history ? NULL : csv}};
  const int count = (int)(sizeof paths / sizeof *paths);
  int code = cli_distinct(paths, count);
  if (code == EXIT_DONE)
    code = cli_check_overwrite("--guess", a->guess, paths + OWN_GUESS, count - OWN_GUESS);
  if (code == EXIT_DONE) code = cli_writable("the numbers of --plot", csv);
  if (code == EXIT_DONE) code = cli_writable("the last iterates of --output", last);
  if (code == EXIT_DONE && checkpoint_keeps(job))
    code = cli_writable("the unfinished --output", partial);
  if (code == EXIT_DONE)
    code = cli_check_overwrite("--fat-links", a->problem.fat_links, paths + READ, count - READ);
  if (code == EXIT_DONE)
    code = cli_check_overwrite("--long-links", a->problem.long_links, paths + READ, count - READ);
  if (code == EXIT_DONE)
    code =
        cli_check_overwrite("--load-vectors", a->problem.load_vectors, paths + READ, count - READ);
  if (code == EXIT_DONE) code = plot_check("--plot", a->plot);
  if (code == EXIT_DONE) code = plot_check("--plot-pion", a->plot_pion);
  if (code == EXIT_DONE) code = plot_check("--plot-levels", a->plot_levels);
  free(partial);
  free(last);
  free(csv);
  return code;
}

static int check(const invert_args *a, invert_job *job, field_spec *spec) {
  job->args = a;
  job->columns = problem_columns(&a->common, &a->problem);
  job->batch = a->batch && a->batch < job->columns ? a->batch : job->columns;
  if (a->resume && !a->output)
    return cli_wrong(
        "--resume looks for earlier columns in --output and OUTPUT.partial; give --output as well");
  int code = EXIT_DONE;
  problem_args own = a->problem;
  own.columns = job->columns;
  if (a->guess || a->resume) own.ignore_checksum = 0; /* has a file, whatever the links are from */
  if (code == EXIT_DONE) code = problem_check(&own, &job->p, spec);
  if (code == EXIT_DONE && job->p.staggered && a->resume)
    code = cli_wrong("--resume takes over no staggered columns; leave it out");
  if (code == EXIT_DONE && a->shifts) code = shifts_check(job);
  if (code == EXIT_DONE) code = problem_check_together(&job->p, job->batch);
  if (code == EXIT_DONE) code = solving_idle(a->problem.set, "method", job->p.options.method);
  if (code != EXIT_DONE) return code;
  if ((a->correlators || a->plot_pion) && !makes_propagator(job))
    return cli_wrong(
        "%s needs the %d columns of a point or wall source; --source is %s, --columns "
        "%d",
        a->correlators ? "--correlators" : "--plot-pion", problem_components(&job->p),
        a->problem.source, job->columns);
  if (a->plot_levels && !multigrid_asked(&a->problem))
    return cli_wrong("--plot-levels is for --precond multigrid, which is missing; leave it out");
  return check_paths(job, spec);
}

/* 1 if nothing was solved or taken over: earlier reports and histories stay then. */
static int nothing_solved(const invert_job *job) {
  for (int k = 0; k < job->columns; k++)
    if (job->done[k]) return 0;
  return job->seconds == 0;
}

static int run(void *arguments) {
  invert_args *args = arguments;
  invert_job job = {0};
  field_spec spec;
  int code = problem_precond_complete(&args->common, &args->problem);
  if (code == EXIT_DONE) code = check(args, &job, &spec);
  if (code == EXIT_DONE && job.args->dry_run) return plan_invert(&job, &spec);
  if (code == EXIT_DONE) code = ranks_context(&job.args->common, job.args->problem.grid, &job.ctx);
  if (code == EXIT_DONE) code = ranks_check(&job.args->common, job.ctx);
  if (code == EXIT_DONE) {
    signals_output(job.args->output);
    code = plan_fits(&job, &spec);
    if (code == EXIT_DONE) code = prepare(&job, &spec);
    if (code == EXIT_DONE && job.shifts.count) {
      code = shifts_take(&job);
      if (code == EXIT_DONE) code = shifts_solve(&job);
      if (code == EXIT_DONE) code = shifts_conclude(&job);
    } else if (code == EXIT_DONE) {
      int stopped = 0;
      code = invert_solve(&job);
      if (code == EXIT_DONE) code = ranks_interrupted(&stopped);
      if (code == EXIT_DONE && !(stopped && nothing_solved(&job))) code = conclude(&job);
    }
  }
  invert_close(&job);
  return code;
}

const cli_command command_invert = {
    .name = "invert",
    .summary = "Solve the Dirac equation: propagators and correlators.",
    .examples =
        "Examples:\n"
        "  kaon invert --gauge weak:0.3 --lattice 8 8 8 16 --kappa 0.120 --csw 1\n"
        "  kaon invert --gauge config.lime --kappa 0.130 --csw 1.769 --sloppy half \\\n"
        "      --output propagator.lime --correlators correlators.txt\n\n"
        "More examples:\n"
        "  kaon invert --gauge config.lime --action staggered --mass 0.05 \\\n"
        "      --source z4:1 --columns 20\n\n"
        "A run in which columns did not converge ends with status 1. Continue it with\n"
        "  kaon invert --gauge config.lime --kappa 0.130 --csw 1.769 --max-iter 20000 \\\n"
        "      --output propagator.lime --guess propagator.lime.unconverged\n\n"
        "The printed residual is |b - A x| / |b| of the full system, recomputed in double. "
        "Solutions and correlators are written when every column converged. Noise sources of "
        "staggered actions give the quark condensate.",
    .options = options,
    .arguments = sizeof(invert_args),
    .run = run,
    .daily =
        "gauge lattice action kappa mass csw source method precond tol sloppy output correlators "
        "plot-pion plot report dry-run backend"};
