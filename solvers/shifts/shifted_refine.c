/* shifted_refine.c - refines the shifts that missed their tolerance: (A + sigma_i) d = b - (A +
 * sigma_i) x_i, x_i += d. It treats one shift after another by CG in mixed precision, which
 * replaces its residual (cg.c). So the residual converges whatever the process lost. */
#include <math.h>

#include "solvers/shifts/shifted.h"

typedef struct refinement {
  kaon_vector *r, *d;
} refinement;

static kaon_status take(const kaon_solver *s, refinement *f) {
  const kaon_operator *A = s->A;
  KAON_TRY(kaon_vector_create(s->ctx, A->space, A->precision, 1, &f->r));
  return kaon_vector_create(s->ctx, A->space, A->precision, 1, &f->d);
}

/* Column m of P, the residual, becomes d. The solve leaves half of the tolerance for the rounding
 * of x + d. */
static kaon_status correct(kaon_solver *s, int m, refinement *f) {
  kaon_multishift *all = s->shifts;
  kaon_vector *P = all->level[0].P;
  kaon_column_report *report = &all->reports[m], column = {0};
  kaon_solver_options o = KAON_SOLVER_OPTIONS_INIT;
  const int left = s->options.max_iterations - report->iterations;
  kaon_operator *S = NULL;
  kaon_solver *solver = NULL;
  kaon_solve_report solve = KAON_SOLVE_REPORT_INIT;
  o.method = KAON_CG;
  o.stop = KAON_STOP_REDUCED;
  o.tol = fmin(1, 0.5 * kaon_shifted_tol(s, m) / report->residual);
  o.max_iterations = left > 0 ? left : 1;
  o.sloppy = all->options.sloppy;
  o.reconstruct = s->options.reconstruct;
  o.check_interval = s->options.check_interval;
  kaon_status status = kaon_vector_copy_columns(f->r, 0, P, m, 1);
  if (status == KAON_OK) status = kaon_vector_zero(f->d);
  if (status == KAON_OK)
    status = kaon_shifted_operator(s->A, 0, &all->sigma[m / s->columns], s->A->precision, &S);
  status = kaon_agree(s->ctx, status); /* the solver is collective */
  if (status == KAON_OK) status = kaon_solver_create(S, 1, &o, &solver);
  if (status == KAON_OK) status = kaon_solver_solve(solver, f->r, f->d, &column, &solve);
  kaon_solver_destroy(&solver);
  kaon_operator_destroy(&S);
  KAON_TRY(status);
  all->refined.applications += solve.applications;
  all->refined.flops += solve.flops;
  report->iterations += column.iterations;
  report->updates++;
  report->reason = column.reason == KAON_CONVERGED ? KAON_STAGNATED : column.reason;
  report->breakdown = column.breakdown;
  return kaon_agree(s->ctx, kaon_vector_copy_columns(P, m, f->d, 0, 1));
}

kaon_status kaon_shifted_refine(kaon_solver *s) {
  kaon_multishift *all = s->shifts;
  const kaon_pass corrected = kaon_shifted_pass(s, KAON_REC_NONE);
  refinement f = {NULL, NULL};
  kaon_status status = kaon_agree(s->ctx, take(s, &f));
  for (int m = 0; m < kaon_shifted_columns(s) && status == KAON_OK; m++) {
    const int missed = kaon_shifted_missed(s, m);
    kaon_shifted_state(s, m)->gate = missed ? KAON_GATE_STEP : 0;
    if (missed) status = correct(s, m, &f);
  }
  if (status == KAON_OK) status = kaon_scalars_write(&all->states, s->states.host);
  if (status == KAON_OK)
    status = kaon_blas_axpy(KAON_NUMBER(1), all->level[0].P, s->outer.x, &corrected);
  kaon_vector_destroy(&f.r);
  kaon_vector_destroy(&f.d);
  return kaon_agree(s->ctx, status);
}
