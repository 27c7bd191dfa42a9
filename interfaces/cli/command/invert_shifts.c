/* invert_shifts.c - kaon invert --shifts. Contract: shifts.h. */
#include "interfaces/cli/command/invert_shifts.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interfaces/common/energy.h"
#include "interfaces/cli/command/invert.h"
#include "interfaces/common/report.h"
#include "interfaces/common/signals.h"

int shifts_parse(const char *text, shifts *s) {
  const char *word = text;
  for (s->count = 0;; word++) {
    char *end;
    errno = 0;
    const double sigma = strtod(word, &end);
    if (end == word || errno == ERANGE || !isfinite(sigma) || (*end != ',' && *end != '\0'))
      return cli_wrong("--shifts takes numbers with commas between, such as 0,0.01,0.1; found %s",
                       *word ? word : "nothing behind a comma");
    if (s->count == KAON_MULTISHIFT_MAX)
      return cli_wrong("--shifts has more than %d numbers; solve the others in a run of their own",
                       (int)KAON_MULTISHIFT_MAX);
    s->sigma[s->count++] = sigma;
    word = end;
    if (*word == '\0') return EXIT_DONE;
  }
}

/* ---- what is refused ---- */

static int check_options(const invert_job *job) {
  static const char *const others[] = {"stop", "precond",       "correlators", "history",
                                       "plot", "plot-pion",     "resume",      "refinement",
                                       "set",  "temporal-gauge"};
  const invert_args *a = job->args;
  if (a->guess)
    return cli_wrong(
        "--guess is of one system, but --shifts begins all of its systems at 0, since they share "
        "one Krylov space; leave one of them out");
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    if (cli_option_given(&a->common, others[i]))
      return cli_wrong("--%s does not go with --shifts; leave one of them out", others[i]);
  if (a->problem.solver > KAON_CGNR)
    return cli_wrong("--shifts is solved by --method cg (or cgnr, the same here) alone");
  return EXIT_DONE;
}

/* Staggered A >= 4 mass^2, of which the lattice may come arbitrarily near; A^dagger A >= 0. */
static int check_signs(const invert_job *job) {
  const problem *p = &job->p;
  const double least = p->staggered ? 4 * p->mass * p->mass : 0;
  for (int i = 0; i < job->shifts.count; i++) {
    const double sigma = job->shifts.sigma[i];
    if (sigma >= 0) continue;
    if (p->staggered && sigma <= -least * (1 - 1e-12))
      return cli_wrong(
          "--shifts has %g, but A may have eigenvalues down to 4 mass^2 = %g: A %g would not be "
          "positive definite; give shifts above %g",
          sigma, least, sigma, -least);
    if (!p->staggered)
      cli_error(
          "warning: --shifts has %g: A^dagger A %g is positive definite only where no "
          "eigenvalue of A^dagger A is below %g",
          sigma, sigma, -sigma);
  }
  return EXIT_DONE;
}

static char *file_name(const invert_job *job, int shift) {
  char *name = NULL;
  return asprintf(&name, "%s.%d", job->args->output, shift) < 0 ? NULL : name;
}

/* Each shift's file, beside what else is read and written. */
static int check_files(const invert_job *job) {
  const invert_args *a = job->args;
  int code = EXIT_DONE;
  for (int i = 0; a->output && i < job->shifts.count && code == EXIT_DONE; i++) {
    char *name = file_name(job, i);
    const cli_path paths[] = {
        {"--gauge", a->problem.gauge},           {"--fat-links", a->problem.fat_links},
        {"--long-links", a->problem.long_links}, {"--report", a->common.report},
        {"--tuning", a->common.tuning},          {"a shift's --output", name}};
    code = !name ? EXIT_DEVICE : cli_distinct(paths, (int)(sizeof paths / sizeof *paths));
    if (code == EXIT_DONE) code = cli_writable("a shift's --output", name);
    free(name);
  }
  return code;
}

int shifts_check(invert_job *job) {
  int code = shifts_parse(job->args->shifts, &job->shifts);
  if (code == EXIT_DONE) code = check_options(job);
  if (code == EXIT_DONE) code = check_signs(job);
  return code == EXIT_DONE ? check_files(job) : code;
}

/* ---- the solves ---- */

static kaon_operator *system_of(const invert_job *job) {
  return job->p.R ? job->p.R : job->p.M;
}

/* The even-odd A of staggered actions is a square already. */
static int takes_normal(const invert_job *job) {
  return !(job->p.staggered && job->p.R);
}

static const kaon_space *solved_space(const invert_job *job) {
  kaon_lattice *l = job->p.field.lattice;
  const kaon_parity parity = job->p.R ? KAON_EVEN : KAON_FULL;
  return job->p.staggered ? kaon_lattice_staggered(l, parity) : kaon_lattice_spinors(l, parity);
}

static kaon_status take_batch(invert_job *job, int columns) {
  shifts *s = &job->shifts;
  const kaon_precision precision = job->p.precision;
  kaon_vector_destroy(&s->b);
  kaon_vector_destroy(&s->x);
  const kaon_status status =
      kaon_vector_create(job->ctx, solved_space(job), precision, columns, &s->b);
  if (status != KAON_OK) return status;
  return kaon_vector_create(job->ctx, solved_space(job), precision, s->count * columns, &s->x);
}

static kaon_status take(invert_job *job) {
  shifts *s = &job->shifts;
  const kaon_precision precision = job->p.precision;
  kaon_multishift_options o = KAON_MULTISHIFT_OPTIONS_INIT;
  o.tol = job->p.options.tol;
  o.max_iterations = job->p.options.max_iterations;
  o.sloppy = job->p.options.sloppy;
  o.reconstruct = job->p.options.reconstruct;
  o.normal = takes_normal(job);
  kaon_status status = take_batch(job, job->batch);
  for (int i = 0; job->args->output && i < s->count && status == KAON_OK; i++)
    status =
        kaon_vector_create(job->ctx, problem_space(&job->p), precision, job->columns, &s->kept[i]);
  if (status == KAON_OK)
    status = kaon_multishift_create(system_of(job), s->count, s->sigma, &o, &s->solver);
  return status;
}

int shifts_take(invert_job *job) {
  shifts *s = &job->shifts;
  const size_t all = (size_t)s->count * (size_t)job->columns;
  s->solves = calloc(all, sizeof *s->solves);
  s->batch = calloc((size_t)s->count * (size_t)job->batch, sizeof *s->batch);
  const int code = ranks_agree(s->solves && s->batch ? EXIT_DONE : EXIT_DEVICE);
  if (code != EXIT_DONE) return code;
  for (size_t k = 0; k < all; k++) /* until it is solved */
    s->solves[k] = (kaon_column_report){.reason = KAON_CANCELLED, .residual = 1};
  const double begun = cli_now();
  const kaon_status status = take(job);
  job->setup += cli_now() - begun;
  return problem_status(job->ctx, &job->p, status);
}

/* Copies column i of `from` to column j of `to`. Sites that only `to` has become 0; sites that only
 * `from` has are left out. */
static kaon_status copy_column(invert_job *job, const kaon_vector *from, int i, kaon_vector *to,
                               int j) {
  const size_t numbers = (size_t)invert_sites(job) * (size_t)problem_reals(&job->p);
  memset(job->host, 0, numbers * sizeof *job->host);
  const kaon_status status = kaon_vector_export(from, i, job->host, KAON_BASIS_UKQCD);
  return status == KAON_OK ? kaon_vector_import(to, j, job->host, KAON_BASIS_UKQCD) : status;
}

/* Refuses a source that is 0 on the even sites, whose solution would be 0. norm2: of a batch. */
static int check_source(const invert_job *job, double *norm2) {
  const int columns = kaon_vector_columns(job->shifts.b);
  int code = cli_status(job->ctx, kaon_vector_norm2(job->shifts.b, norm2), NULL);
  for (int j = 0; j < columns && code == EXIT_DONE; j++)
    if (!(norm2[j] > 0))
      code = cli_wrong(
          "--source %s has nothing on the even sites, which --shifts is solved on; give --even-odd "
          "none, or a source with an even x + y + z + t",
          job->args->problem.source);
  return code;
}

/* Columns first .. first + count - 1 of the sources into a batch of their own. */
static int take_sources(invert_job *job, int first, int count) {
  shifts *s = &job->shifts;
  kaon_status status = KAON_OK;
  if (kaon_vector_columns(s->b) != count) status = take_batch(job, count);
  for (int j = 0; j < count && status == KAON_OK; j++)
    status = copy_column(job, job->b, first + j, s->b, j);
  double *norm2 = calloc((size_t)count, sizeof *norm2);
  int code = cli_status(job->ctx, status, NULL);
  if (code == EXIT_DONE) code = ranks_agree(norm2 ? EXIT_DONE : EXIT_DEVICE);
  if (code == EXIT_DONE) code = check_source(job, norm2);
  free(norm2);
  return code;
}

static int solve_batch(invert_job *job, int first, int count) {
  shifts *s = &job->shifts;
  kaon_solve_report report = KAON_SOLVE_REPORT_INIT;
  char loss[96];
  snprintf(loss, sizeof loss, "no shift of column %d and of the columns after it was written",
           first);
  if (!job->memory_trial) signals_stage("solving", loss);
  const int code = take_sources(job, first, count);
  if (code != EXIT_DONE) return code;
  report_in_case(job->args->common.report, invert_describe(job), first, count);
  const energy_meter meter = energy_start(job->ctx);
  kaon_status status = kaon_multishift_solve(s->solver, s->b, s->x, s->batch, &report);
  job->joules += energy_since(&meter);
  for (int m = 0; m < s->count * count && status == KAON_OK; m++) {
    const int i = m / count, column = first + m % count;
    s->solves[i * job->columns + column] = s->batch[m];
    if (s->kept[i]) status = copy_column(job, s->x, m, s->kept[i], column);
  }
  job->seconds += report.seconds;
  job->flops += report.flops;
  job->traffic.sums += report.traffic.sums;
  job->traffic.exchanges += report.traffic.exchanges;
  job->traffic.bytes += report.traffic.bytes;
  s->applications += report.applications;
  if (status == KAON_OK) report_in_case(job->args->common.report, invert_describe(job), 0, 0);
  return cli_status(job->ctx, status, NULL);
}

int shifts_memory_trial(invert_job *job) {
  return solve_batch(job, 0, job->batch);
}

int shifts_solve(invert_job *job) {
  int code = EXIT_DONE, stopped = 0;
  for (int k = 0; k < job->columns && code == EXIT_DONE; k += job->batch) {
    code = ranks_interrupted(&stopped);
    if (code != EXIT_DONE || stopped) break;
    code = solve_batch(job, k, job->columns - k < job->batch ? job->columns - k : job->batch);
  }
  return code;
}

/* ---- report and files ---- */

void shifts_describe(const invert_job *job, json_t *report) {
  const shifts *s = &job->shifts;
  json_t *solves = json_object_get(report, "solves");
  for (int i = 0; i < s->count; i++)
    for (int k = 0; k < job->columns; k++) {
      report_solve(report, k, &s->solves[i * job->columns + k], 0);
      json_object_set_new(json_array_get(solves, json_array_size(solves) - 1), "shift",
                          report_real(s->sigma[i]));
    }
  json_object_set_new(report, "shifts", report_reals(s->sigma, s->count));
  json_object_set_new(report, "applications", json_integer(s->applications));
}

static void print(const invert_job *job) {
  const shifts *s = &job->shifts;
  const cli_common *common = &job->args->common;
  cli_print(common, "       shift  column  iterations   residual   status\n");
  for (int i = 0; i < s->count; i++)
    for (int k = 0; k < job->columns; k++) {
      const kaon_column_report *r = &s->solves[i * job->columns + k];
      cli_print(common, "%12.6g  %6d  %10d   %.2e   %s\n", s->sigma[i], k, r->iterations,
                r->residual, kaon_stop_reason_name(r->reason));
    }
  if (job->seconds > 0)
    cli_print(common, "set-up %.3f s; solve %.3f s at %.2f GFLOPS, %d applications of %s\n",
              job->setup, job->seconds, 1e-9 * job->flops / job->seconds, s->applications,
              job->p.R ? "the even-odd operator" : "the operator");
}

/* Writes one file for each shift. invert_results.c writes job->x and names the shift in it. */
static int write_files(invert_job *job) {
  shifts *s = &job->shifts;
  kaon_vector *own = job->x;
  int code = EXIT_DONE;
  for (int k = 0; k < job->columns; k++) job->done[k] = 1;
  for (int i = 0; i < s->count && code == EXIT_DONE; i++) {
    char *name = file_name(job, i);
    for (int k = 0; k < job->columns; k++) job->solves[k] = s->solves[i * job->columns + k];
    job->x = s->kept[i];
    s->writing = &s->sigma[i];
    code = ranks_agree(name ? EXIT_DONE : EXIT_DEVICE);
    if (code == EXIT_DONE) code = results_propagator(job, name, RESULTS_WHOLE);
    free(name);
  }
  s->writing = NULL;
  job->x = own;
  return code;
}

static const char *advice(const void *user, kaon_stop_reason reason,
                          const kaon_column_report *worst) {
  const problem *p = &((const invert_job *)user)->p;
  switch (reason) {
    case KAON_MAX_ITERATIONS:
      return "--max-iter allows more steps";
    case KAON_STAGNATED:
      if (!solving_rounds(worst->residual))
        return "the method gets no further: the system is singular or nearly so; give other "
               "shifts, or another --kappa or --mass";
      return p->precision == KAON_SINGLE
                 ? "rounding keeps it above --tol; give a larger --tol, or --precision double"
                 : "rounding keeps it above --tol; give a larger --tol";
    case KAON_BREAKDOWN:
    case KAON_DIVERGING:
      return "a shift is so negative that the system is no longer positive definite; give larger "
             "shifts";
    default:
      return "it was ended early";
  }
}

int shifts_conclude(invert_job *job) {
  const shifts *s = &job->shifts;
  const int all = s->count * job->columns;
  int converged = 0, stopped = 0, code = EXIT_DONE;
  for (int k = 0; k < all; k++) converged += s->solves[k].reason == KAON_CONVERGED;
  print(job);
  if (converged == all && job->args->output) code = write_files(job);
  if (code == EXIT_DONE) code = ranks_interrupted(&stopped);
  if (converged < all && !stopped)
    solving_explain(s->solves, all, "the solutions were not written", advice, job);
  json_t *report = invert_describe(job);
  const int written = report_write(job->args->common.report, report);
  json_decref(report);
  if (code == EXIT_DONE) code = written;
  return code != EXIT_DONE ? code : converged == all ? EXIT_DONE : EXIT_NOT_CONVERGED;
}

void shifts_close(invert_job *job) {
  shifts *s = &job->shifts;
  kaon_multishift_destroy(&s->solver);
  kaon_vector_destroy(&s->b);
  kaon_vector_destroy(&s->x);
  for (int i = 0; i < KAON_MULTISHIFT_MAX; i++) kaon_vector_destroy(&s->kept[i]);
  free(s->solves);
  free(s->batch);
  s->solves = s->batch = NULL;
}
