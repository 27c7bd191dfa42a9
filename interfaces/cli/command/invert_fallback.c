/* invert_fallback.c - kaon invert after a method ended without a solution: the next method or
 * precision, from the last iterates. */
#include "interfaces/cli/command/invert.h"
#include "interfaces/cli/report/progress.h"
#include "interfaces/cli/report/unconverged.h"

/* A batch that goes on. */
typedef struct batch {
  invert_job *job;
  int first, count;
  const kaon_vector *b;
  kaon_vector *x;
} batch;

kaon_failure invert_failure(const invert_job *job) {
  static char precond[32];
  const problem_args *a = &job->args->problem;
  return (kaon_failure){
      .method = job->p.options.method,
      .precond = cli_choice(PROBLEM_PRECONDITIONERS, problem_precond_asked(a), precond),
      .sloppy = job->p.options.sloppy,
      .hermitian = staggered_hermitian(a)};
}

static int attempt(void *user, const kaon_remedy *r, int max_iterations,
                   kaon_column_report *reports, int *made) {
  const batch *part = user;
  invert_job *job = part->job;
  kaon_solve_report report = KAON_SOLVE_REPORT_INIT;
  problem p = job->p;
  progress shown = {0};
  int cleared;
  const size_t numbers = (size_t)invert_sites(job) * (size_t)problem_reals(&job->p);
  kaon_solver_destroy(&job->p.solver); /* makes room */
  const int ready =
      progress_start(&job->args->common, part->first, part->count, p.options.tol, &shown);
  if (ranks_agree(ready ? EXIT_DONE : EXIT_DEVICE) != EXIT_DONE) return EXIT_DEVICE;
  p.solver = NULL;
  p.options.method = r->method;
  p.options.preconditioner = NULL; /* no remedy of a lattice operator has one */
  p.options.sloppy = r->sloppy > p.precision ? r->sloppy : p.precision;
  p.options.max_iterations = max_iterations;
  p.options.monitor_user = &shown;
  const double begun = cli_now();
  const kaon_status status =
      kaon_solver_create(p.R ? p.R : p.M, part->count, &p.options, &p.solver);
  job->setup += cli_now() - begun;
  *made = status == KAON_OK; /* memory may be short */
  int code = EXIT_DONE;
  if (*made)
    code = unconverged_clear(job->ctx, job->solves + part->first, numbers, part->x, &cleared);
  if (*made && code == EXIT_DONE)
    code =
        cli_status(job->ctx, kaon_solver_solve(p.solver, part->b, part->x, reports, &report), NULL);
  job->seconds += report.seconds;
  job->flops += report.flops;
  job->traffic.sums += report.traffic.sums;
  job->traffic.exchanges += report.traffic.exchanges;
  job->traffic.bytes += report.traffic.bytes;
  progress_end(&shown);
  kaon_solver_destroy(&p.solver);
  return code;
}

int invert_fall_back(invert_job *job, int first, int count, const kaon_vector *b, kaon_vector *x) {
  batch part = {job, first, count, b, x};
  fallback f = {.common = &job->args->common,
                .asked = invert_failure(job),
                .name = method_name(job->p.options.method),
                .columns = count,
                .max_iterations = job->p.options.max_iterations,
                .solves = job->solves + first,
                .by = job->by + first,
                .attempt = attempt,
                .user = &part};
  if (job->args->no_fallback || job->p.off_group > job->p.options.tol) return EXIT_DONE;
  const int code = fallback_run(&f);
  job->trials = f.trials;
  return code;
}
