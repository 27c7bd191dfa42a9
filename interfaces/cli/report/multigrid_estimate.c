/* multigrid_estimate.c - whether BiCGStab would have been faster than multigrid. Contract:
 * multigrid_levels.h.
 *
 * A probe of one column, after the solve, shows how fast BiCGStab converges. Two short solves of a
 * batch show how long a step takes. */
#include <math.h>
#include <stdlib.h>

#include "interfaces/cli/report/multigrid_levels.h"
#include "interfaces/common/report.h"
#include "interfaces/common/signals.h"

enum { PROBE = 40, LONGER = 24, SHORTER = 8 };

typedef struct estimate {
  int solved;      /* columns of this run */
  int converged;   /* 1: the probe did, in `steps` */
  double steps;    /* NaN: BiCGStab makes no progress */
  double seconds;  /* for all of them, with its set-up */
  double setup;    /* of operator and solver */
  double per_step; /* seconds of a batch */
  double besides;  /* of its begin and end */
} estimate;

/* Makes at most so many steps for `count` columns from `first` on, from a zero guess. */
static kaon_status solve(const invert_job *job, kaon_operator *R, int first, int count, int steps,
                         kaon_solver **solver, kaon_column_report *columns, double *seconds) {
  const kaon_space *space = problem_space(&job->p);
  kaon_solver_options o = KAON_SOLVER_OPTIONS_INIT;
  kaon_solve_report report = KAON_SOLVE_REPORT_INIT;
  kaon_vector *b = NULL, *x = NULL;
  o.method = KAON_BICGSTAB;
  o.tol = job->p.options.tol;
  o.max_iterations = steps;
  o.sloppy = job->p.options.sloppy;
  o.reconstruct = job->p.options.reconstruct;
  o.monitor = signals_monitor;
  kaon_status status = kaon_solver_create(R, count, &o, solver);
  if (status == KAON_OK) status = kaon_vector_create(job->ctx, space, job->p.precision, count, &b);
  if (status == KAON_OK) status = kaon_vector_create(job->ctx, space, job->p.precision, count, &x);
  if (status == KAON_OK) status = kaon_vector_copy_columns(b, 0, job->b, first, count);
  if (status == KAON_OK) status = kaon_vector_zero(x);
  if (status == KAON_OK) status = kaon_solver_solve(*solver, b, x, columns, &report);
  *seconds = report.seconds;
  kaon_vector_destroy(&b);
  kaon_vector_destroy(&x);
  return status;
}

/* The second half of the probe tells more of what follows than the first. */
static double steps_to(double tol, const column_history *h) {
  const int last = h->count - 1, half = last / 2;
  if (half < 1) return NAN;
  const double rate = log(h->residual[half] / h->residual[last]) / (last - half);
  return rate > 0 ? last + log(h->residual[last] / tol) / rate : NAN;
}

static kaon_status probe(const invert_job *job, kaon_operator *R, int first, estimate *e) {
  const double tol = job->p.options.tol;
  kaon_solver *solver = NULL;
  kaon_column_report column = {.iterations = 0};
  double seconds = 0;
  column_history *history = calloc(1, sizeof *history);
  kaon_status status = kaon_context_agree(job->ctx, history ? KAON_OK : KAON_ERR_MEMORY);
  if (status == KAON_OK) status = solve(job, R, first, 1, PROBE, &solver, &column, &seconds);
  if (status == KAON_OK) {
    histories_copy(solver, 1, history);
    e->converged = column.reason == KAON_CONVERGED;
    if (e->converged) e->steps = column.iterations;
    if (column.reason == KAON_MAX_ITERATIONS) e->steps = steps_to(tol, history);
  }
  kaon_solver_destroy(&solver);
  histories_free(history, 1);
  return status;
}

/* The steps that a batch makes of `most`, and their seconds. */
static kaon_status time_solve(const invert_job *job, kaon_operator *R, int most, estimate *e,
                              int *steps, double *seconds) {
  kaon_solver *solver = NULL;
  kaon_column_report *columns = calloc((size_t)job->batch, sizeof *columns);
  kaon_status status = kaon_context_agree(job->ctx, columns ? KAON_OK : KAON_ERR_MEMORY);
  const double begun = cli_now();
  if (status == KAON_OK) status = solve(job, R, 0, job->batch, most, &solver, columns, seconds);
  if (most == LONGER) e->setup += cli_now() - begun - *seconds;
  *steps = 1;
  for (int k = 0; k < job->batch && status == KAON_OK; k++)
    if (columns[k].iterations > *steps) *steps = columns[k].iterations;
  kaon_solver_destroy(&solver);
  free(columns);
  return status;
}

/* Seconds of a batch: of a step, and of what a solve does before and after. */
static kaon_status time_steps(const invert_job *job, kaon_operator *R, estimate *e) {
  double longer = 0, shorter = 0;
  int steps, fewer;
  kaon_status status = time_solve(job, R, LONGER, e, &steps, &longer);
  if (status == KAON_OK) status = time_solve(job, R, SHORTER, e, &fewer, &shorter);
  e->per_step = longer / steps;
  if (steps > fewer && longer > shorter) e->per_step = (longer - shorter) / (steps - fewer);
  e->besides = fmax(0, longer - steps * e->per_step);
  return status;
}

static kaon_status measure(const invert_job *job, int first, estimate *e) {
  kaon_operator *R = NULL;
  const double begun = cli_now();
  kaon_status status = kaon_dirac_even_odd(job->p.M, NULL, &R);
  e->setup = cli_now() - begun;
  if (status == KAON_OK) status = probe(job, R, first, e);
  if (status == KAON_OK) status = time_steps(job, R, e);
  kaon_operator_destroy(&R);
  e->seconds = e->setup + (e->besides + e->per_step * e->steps) * e->solved / job->batch;
  return status;
}

/* A set-up pays if multigrid needs clearly less for a column. */
static void advise(const invert_job *job, const estimate *e) {
  const cli_common *common = &job->args->common;
  const double all = job->setup + job->seconds;
  const double gain = e->seconds - e->setup - job->seconds; /* of all columns */
  if (!(e->seconds < all / 2)) return;
  cli_print(
      common,
      "BiCGStab would have taken about %.2g s (%s%.0f steps a column); multigrid took %.2g s, "
      "of which %.2g s set-up; ",
      e->seconds, e->converged ? "" : "some ", e->steps, all, job->setup);
  if (gain > e->seconds / 10)
    cli_print(common, "it pays from some %.0f columns on\n", job->setup / gain * e->solved);
  else
    cli_print(common, "--method bicgstab suits this quark mass and lattice better\n");
}

int estimate_conclude(const invert_job *job, json_t *report) {
  const cli_common *common = &job->args->common;
  estimate e = {.steps = NAN, .seconds = NAN};
  int first = -1;
  if (!multigrid_asked(&job->args->problem) || !(job->cycles > 0)) return EXIT_DONE;
  if (common->quiet && !common->report) return EXIT_DONE; /* nobody would read it */
  for (int k = job->columns - 1; k >= 0; k--)
    if (!job->taken[k]) first = k, e.solved++;
  signals_stage("comparing with BiCGStab", "all columns were solved");
  const kaon_status status = measure(job, first, &e);
  if (status != KAON_OK && status != KAON_ERR_MEMORY) return cli_status(job->ctx, status, NULL);
  if (status == KAON_OK) advise(job, &e);
  json_object_set_new(
      report, "estimate",
      json_pack("{s:s s:o s:b s:o s:o}", "method", "bicgstab", "steps", report_real(e.steps),
                "converged", e.converged, "seconds", report_real(e.seconds), "multigrid_seconds",
                report_real(job->setup + job->seconds)));
  return EXIT_DONE;
}
