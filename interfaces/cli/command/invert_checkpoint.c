/* invert_checkpoint.c - --resume: finished columns stay in OUTPUT.partial, a SciDAC file like
 * OUTPUT with the equation in its <info>. It is written after each batch, or when a run ends with
 * some columns converged, and removed once OUTPUT is complete. A column is taken over if checksums
 * and equation are right and its residual, recomputed in the sense of --stop, is within the
 * present tolerance. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "interfaces/cli/command/invert.h"
#include "interfaces/common/signals.h"

static char *partial_name(const invert_job *job) {
  char *name = NULL;
  if (!job->args->output || asprintf(&name, "%s.partial", job->args->output) < 0) return NULL;
  return name;
}

int checkpoint_keeps(const invert_job *job) {
  return job->args->output != NULL && !job->p.staggered;
}

int checkpoint_save(invert_job *job) {
  int count = 0;
  if (!checkpoint_keeps(job)) return EXIT_DONE;
  for (int k = 0; k < job->columns; k++) count += job->done[k];
  char *name = partial_name(job);
  if (!name || count == 0) {
    free(name);
    return EXIT_DONE;
  }
  signals_output(name);
  int code = results_propagator(job, name, RESULTS_CHECKPOINT);
  if (code == EXIT_DONE) job->kept = count, job->output_complete = 0;
  if (code == EXIT_DONE)
    cli_print(&job->args->common, "%d of %d columns are kept in %s; --resume goes on from there\n",
              count, job->columns, name);
  if (code == EXIT_DONE && signals_interrupted()) {
    char loss[256];
    snprintf(loss, sizeof loss,
             "%d of %d columns are kept in %.150s (--resume), the others are lost", count,
             job->columns, name);
    signals_stage("solving", loss);
  }
  free(name);
  return code;
}

void checkpoint_remove(const invert_job *job) {
  char *name = partial_name(job);
  if (name && ranks_first()) unlink(name);
  free(name);
}

/* residual[k] = |b - M x| / |b|. */
static kaon_status residuals(const invert_job *job, kaon_vector *r, double *residual, double *b2) {
  kaon_status status = kaon_operator_apply(job->p.M, KAON_PLAIN, job->x, r);
  if (status == KAON_OK) status = kaon_vector_axpy(-1, 0, job->b, r);
  if (status == KAON_OK) status = kaon_vector_norm2(r, residual);
  if (status == KAON_OK) status = kaon_vector_norm2(job->b, b2);
  for (int k = 0; k < job->columns; k++) residual[k] = sqrt(residual[k] / b2[k]);
  return status;
}

/* The residual of column k that a solver which stops by it would see first. */
static kaon_status seen_by_a_solver(const invert_job *job, kaon_solver *solver, int k,
                                    kaon_vector *b, kaon_vector *x, double *residual) {
  kaon_column_report report;
  kaon_status status = kaon_vector_copy_columns(b, 0, job->b, k, 1);
  if (status == KAON_OK) status = kaon_vector_copy_columns(x, 0, job->x, k, 1);
  if (status == KAON_OK) status = kaon_solver_solve(solver, b, x, &report, NULL);
  if (status == KAON_OK) *residual = report.stop_residual;
  return status;
}

/* residual[k] of finished columns, in the sense of --stop: as a solver of no steps reports it, a
 * column at a time. */
static kaon_status stop_residuals(const invert_job *job, double *residual) {
  kaon_solver_options o = KAON_SOLVER_OPTIONS_INIT;
  kaon_operator *A = job->p.R ? job->p.R : job->p.M;
  kaon_solver *solver = NULL;
  kaon_vector *b = NULL, *x = NULL;
  const kaon_space *full = problem_space(&job->p);
  o.tol = job->p.options.tol;
  o.stop = job->p.options.stop;
  o.sloppy = job->p.precision;
  o.max_iterations = 0;
  kaon_status status = kaon_vector_create(job->ctx, full, job->p.precision, 1, &b);
  if (status == KAON_OK) status = kaon_vector_create(job->ctx, full, job->p.precision, 1, &x);
  if (status == KAON_OK) status = kaon_solver_create(A, 1, &o, &solver);
  for (int k = 0; k < job->columns && status == KAON_OK; k++)
    if (job->done[k]) status = seen_by_a_solver(job, solver, k, b, x, &residual[k]);
  kaon_solver_destroy(&solver);
  kaon_vector_destroy(&b);
  kaon_vector_destroy(&x);
  return status;
}

static int verify(invert_job *job, const char *name) {
  const kaon_space *full = problem_space(&job->p);
  const size_t columns = (size_t)job->columns;
  kaon_vector *r = NULL;
  double *norms = calloc(3 * columns, sizeof *norms), *stops = norms ? norms + 2 * columns : NULL;
  kaon_status status = kaon_context_agree(job->ctx, norms ? KAON_OK : KAON_ERR_MEMORY);
  if (status == KAON_OK)
    status = kaon_vector_create(job->ctx, full, job->p.precision, job->columns, &r);
  if (status == KAON_OK) status = residuals(job, r, norms, norms + columns);
  kaon_vector_destroy(&r);
  if (status == KAON_OK) memcpy(stops, norms, columns * sizeof *stops);
  if (status == KAON_OK && job->p.options.stop != KAON_STOP_FULL)
    status = stop_residuals(job, stops);
  int kept = 0;
  for (int k = 0; k < job->columns && status == KAON_OK; k++) {
    if (job->done[k] && !(stops[k] <= 1.1 * job->p.options.tol)) job->done[k] = 0;
    if (job->done[k]) job->solves[k].residual = norms[k];
    if (job->done[k]) job->solves[k].stop_residual = stops[k];
    job->taken[k] = job->done[k];
    kept += job->done[k];
  }
  free(norms);
  job->kept = kept;
  if (status == KAON_OK)
    cli_print(&job->args->common, "%d of %d columns taken over from %s\n", kept, job->columns,
              name);
  return cli_status(job->ctx, status, "--resume");
}

/* What the first rank finds holds for all. */
static int exists(const char *name) {
  return ranks_agree(ranks_first() && access(name, F_OK) != 0 ? EXIT_DEVICE : EXIT_DONE) ==
         EXIT_DONE;
}

int checkpoint_load(invert_job *job) {
  char *name = partial_name(job);
  if (!name) return EXIT_DEVICE;
  job->output_complete = !exists(name);
  if (job->output_complete) name[strlen(name) - strlen(".partial")] = '\0';
  int code = EXIT_DONE;
  if (exists(name)) {
    signals_stage("reading earlier columns", "nothing was changed");
    code = results_read(job, name);
    if (code == EXIT_DONE) code = verify(job, name);
  } else {
    cli_print(&job->args->common, "nothing to resume: there is no %s\n", name);
  }
  free(name);
  return code;
}

void checkpoint_warn(const invert_job *job) {
  char *name = checkpoint_keeps(job) ? partial_name(job) : NULL;
  if (name && exists(name))
    cli_print(
        &job->args->common,
        "note: %s holds columns of an earlier run, which this one replaces by its own; --resume "
        "would go on from them\n",
        name);
  free(name);
}
