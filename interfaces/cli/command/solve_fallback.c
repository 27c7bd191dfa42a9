/* solve_fallback.c - kaon solve after a method ended without a solution: the next method and
 * preconditioner, from the last iterates; then least squares, to tell whether b is inconsistent. */
#include <stdlib.h>
#include <string.h>

#include "interfaces/cli/command/solve.h"
#include "interfaces/cli/report/progress.h"
#include "interfaces/cli/report/unconverged.h"
#include "interfaces/common/signals.h"

/* A system that differs from the job's by method and preconditioner. Its A is the job's. */
static void pose(const solve_job *job, const kaon_remedy *r, int max_iterations, progress *p,
                 linear *l) {
  *l = job->l;
  l->chosen = *job->l.args;
  l->args = &l->chosen;
  precond_replace(&l->chosen, r->precond);
  l->chosen.method = (int)r->method;
  l->K = l->S = l->R = NULL;
  l->smoother = l->solver = NULL;
  linear_choose(l, (int)r->method);
  if (r->sloppy < l->options.sloppy)
    l->options.sloppy = r->sloppy > l->precision ? r->sloppy : l->precision;
  l->options.max_iterations = max_iterations;
  l->options.monitor_user = p;
}

static void add_up(solve_job *job, const linear *l, const kaon_solve_report *report) {
  job->setup += l->made[1];
  job->l.made[1] += l->made[1];
  job->seconds += report->seconds;
  job->flops += report->flops;
  job->traffic.sums += report->traffic.sums;
  job->traffic.exchanges += report->traffic.exchanges;
  job->traffic.ahead += report->traffic.ahead;
  job->traffic.bytes += report->traffic.bytes;
}

static int attempt(void *user, const kaon_remedy *remedy, int max_iterations,
                   kaon_column_report *reports, int *made) {
  solve_job *job = user;
  kaon_solve_report report = KAON_SOLVE_REPORT_INIT;
  progress p = {0};
  linear l;
  int cleared;
  const double begun = cli_now();
  const size_t numbers = (size_t)job->l.info.rows * (size_t)job->l.info.reals;
  const int shown = progress_start(&job->args->common, 0, job->columns, job->l.options.tol, &p);
  if (ranks_agree(shown ? EXIT_DONE : EXIT_DEVICE) != EXIT_DONE) return EXIT_DEVICE;
  pose(job, remedy, max_iterations, &p, &l);
  kaon_status status = precond_takes(&l) ? precond_make(&l) : KAON_ERR_UNSUPPORTED;
  l.options.preconditioner = l.K;
  if (status == KAON_OK) status = kaon_solver_create(l.A, job->columns, &l.options, &l.solver);
  l.made[1] = cli_now() - begun;
  *made = status == KAON_OK; /* a factorisation may break down, memory may be short */
  int code = EXIT_DONE;
  if (*made) code = unconverged_clear(job->ctx, job->solves, numbers, job->x, &cleared);
  if (*made && code == EXIT_DONE)
    code =
        cli_status(job->ctx, kaon_solver_solve(l.solver, job->b, job->x, reports, &report), NULL);
  add_up(job, &l, &report);
  progress_end(&p);
  kaon_solver_destroy(&l.solver);
  sweeps_clear(&l);
  kaon_operator_destroy(&l.K);
  return code;
}

int solve_fall_back(solve_job *job) {
  const linear *l = &job->l;
  char precond[32];
  fallback f = {.common = &job->args->common,
                .name = linear_method_name(l),
                .asked = linear_failure(l, precond),
                .columns = job->columns,
                .max_iterations = l->options.max_iterations,
                .solves = job->solves,
                .by = job->by,
                .attempt = attempt,
                .user = job};
  if (job->args->no_fallback || l->lab.faults) return EXIT_DONE; /* faults are what is studied */
  const int code = fallback_run(&f);
  job->l.trials = f.trials;
  return code;
}

/* --- the least |b - A x| --- */

/* The number of columns that failed for a reason not known yet. */
static int unexplained(const solve_job *job) {
  int count = 0;
  for (int k = 0; k < job->columns; k++) {
    const kaon_column_report *s = &job->solves[k];
    count += s->reason >= KAON_STAGNATED && s->reason <= KAON_DIVERGING && !s->rounded &&
             s->unreachable == 0;
  }
  return count;
}

/* y = the least-squares solution by cgnr, as far as it gets. */
static kaon_status least_squares(const solve_job *job, kaon_vector *y,
                                 kaon_column_report *reports) {
  kaon_solver_options o = KAON_SOLVER_OPTIONS_INIT;
  kaon_solver *solver = NULL;
  o.method = KAON_CGNR;
  o.stop = KAON_STOP_NORMAL;
  o.tol = 1e-12; /* small enough to find parts of b above 0.01 |b| */
  o.max_iterations = job->l.options.max_iterations;
  o.monitor = signals_monitor;
  kaon_status status = kaon_vector_zero(y);
  if (status == KAON_OK) status = kaon_solver_create(job->l.A, job->columns, &o, &solver);
  if (status == KAON_OK) status = kaon_solver_solve(solver, job->b, y, reports, NULL);
  kaon_solver_destroy(&solver);
  return status;
}

int solve_explain(solve_job *job) {
  const size_t columns = (size_t)job->columns;
  int stopped = 0, code = ranks_interrupted(&stopped);
  if (code != EXIT_DONE || stopped || job->args->no_fallback || !unexplained(job)) return code;
  kaon_vector *y = NULL;
  kaon_column_report *own = malloc(2 * columns * sizeof *own), *least = own + columns;
  kaon_status status = kaon_context_agree(job->ctx, own ? KAON_OK : KAON_ERR_MEMORY);
  if (status == KAON_OK)
    status = kaon_vector_create(job->ctx, kaon_matrix_space(job->l.matrix), job->l.precision,
                                job->columns, &y);
  if (status == KAON_OK) status = least_squares(job, y, least);
  if (status == KAON_OK) {
    memcpy(own, job->solves, columns * sizeof *own);
    code = null_space_examine(&job->l, job->posed ? job->posed : job->b, y, own);
  }
  for (int k = 0; k < job->columns && status == KAON_OK && code == EXIT_DONE; k++) {
    if (own[k].unreachable == 0) continue;
    job->solves[k] = own[k];
    job->solves[k].residual = least[k].residual;
    status = kaon_vector_copy_columns(job->x, k, y, k, 1);
  }
  kaon_vector_destroy(&y);
  free(own);
  if (status == KAON_ERR_MEMORY) return EXIT_DONE; /* the failure is reported without this check */
  return code == EXIT_DONE ? cli_status(job->ctx, status, NULL) : code;
}
