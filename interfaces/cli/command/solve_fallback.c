/* solve_fallback.c - kaon solve after a method ended without a solution: the next method and
 * preconditioner, from the last iterates. */
#include <stdlib.h>

#include "interfaces/cli/command/solve.h"
#include "interfaces/cli/report/progress.h"
#include "interfaces/cli/report/unconverged.h"

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
