/* shifted_refine.c - refines the shifts that missed the tolerance: (A + sigma_i) d = b - (A +
 * sigma_i) x_i, x_i += d. It treats one shift after another by CG in mixed precision, which
 * replaces its residual (cg.c). So the residual converges whatever the process lost. */
#include <math.h>
#include <stdlib.h>

#include "lib/operator/workspace.h"
#include "solvers/shifts/shifted.h"

/* ---- A + sigma, or A^dag A + sigma ---- */

typedef struct shifted {
  kaon_operator base;
  kaon_operator *A;
  double sigma;
  int normal;
  kaon_workspace *between; /* normal: A x */
} shifted;

static kaon_status shifted_create(kaon_operator *A, double sigma, int normal,
                                  kaon_operator **result);

static kaon_status apply(kaon_operator *S, kaon_mode mode, const kaon_vector *x, kaon_vector *y,
                         const kaon_pass *pass) {
  shifted *self = S->self;
  const kaon_pass gate = kaon_pass_gate_only(pass);
  kaon_workspace *work = NULL;
  (void)mode; /* it is self-adjoint */
  if (self->normal) {
    KAON_TRY(kaon_workspace_get(S, S->space, 1, x->nrhs, &self->between, &work));
    KAON_TRY(kaon_operator_run(self->A, KAON_PLAIN, x, work->vector[0], &gate));
    KAON_TRY(kaon_operator_run(self->A, KAON_DAGGER, work->vector[0], y, &gate));
  } else {
    KAON_TRY(kaon_operator_run(self->A, KAON_PLAIN, x, y, &gate));
  }
  KAON_TRY(kaon_blas_axpy(KAON_NUMBER(self->sigma), x, y, &gate));
  return kaon_pass_sum_separately(y, pass);
}

static kaon_status make_twin(kaon_operator *S, kaon_precision precision,
                             kaon_reconstruct reconstruct, kaon_operator **twin) {
  const shifted *self = S->self;
  kaon_operator *A = NULL;
  *twin = NULL;
  KAON_TRY(self->A->ops->twin(self->A, precision, reconstruct, &A));
  const kaon_status status = shifted_create(A, self->sigma, self->normal, twin);
  kaon_operator_destroy(&A); /* the twin retains it */
  return status;
}

static kaon_status reserve(kaon_operator *S, kaon_mode mode, int columns) {
  shifted *self = S->self;
  kaon_workspace *unused;
  (void)mode;
  KAON_TRY(kaon_operator_reserve(self->A, KAON_PLAIN, columns));
  if (!self->normal) return KAON_OK;
  KAON_TRY(kaon_operator_reserve(self->A, KAON_DAGGER, columns));
  return kaon_workspace_get(S, S->space, 1, columns, &self->between, &unused);
}

static kaon_cost cost(const kaon_operator *S, int columns) {
  const shifted *self = S->self;
  kaon_cost c = self->A->ops->cost(self->A, columns);
  c.flops *= 1 + self->normal;
  c.bytes *= 1 + self->normal;
  return c;
}

static void destroy(kaon_operator *S) {
  shifted *self = S->self;
  kaon_context *ctx = S->ctx;
  kaon_workspace_free(&self->between);
  kaon_operator_destroy(&self->A);
  free(self);
  kaon_context_release(ctx);
}

static kaon_status shifted_create(kaon_operator *A, double sigma, int normal,
                                  kaon_operator **result) {
  static const kaon_operator_ops ops = {.name = "shifted",
                                        .apply = apply,
                                        .twin = make_twin,
                                        .reserve = reserve,
                                        .cost = cost,
                                        .destroy = destroy};
  shifted *self = calloc(1, sizeof *self);
  if (self == NULL) return kaon_fail(A->ctx, KAON_ERR_MEMORY, "multishift: out of host memory");
  *self = (shifted){.A = A, .sigma = sigma, .normal = normal};
  self->base = (kaon_operator){.ops = &ops,
                               .ctx = A->ctx,
                               .space = A->space,
                               .precision = A->precision,
                               .references = 1,
                               .self = self};
  kaon_operator_retain(A);
  kaon_context_retain(A->ctx);
  *result = &self->base;
  return KAON_OK;
}

/* ---- columns ---- */

size_t kaon_shifted_buffer_length(const kaon_space *space) {
  const int64_t sites =
      space->lattice != NULL ? space->lattice->volume : kaon_space_caller_rows(space);
  return (size_t)sites * (size_t)space->ncomp;
}

/* Copies through an array in the backend's memory, without rounding. */
kaon_status kaon_shifted_copy_column(const kaon_vector *from, int i, kaon_vector *to, int j,
                                     double *room) {
  KAON_TRY(kaon_vector_export_device(from, i, room, KAON_BASIS_UKQCD));
  return kaon_vector_import_device(to, j, room, KAON_BASIS_UKQCD);
}

/* ---- refinement ---- */

typedef struct refinement {
  kaon_vector *r, *d;
  double *room;
} refinement;

static kaon_status take(const kaon_solver *s, refinement *f) {
  const kaon_operator *A = s->A;
  void *room = NULL;
  KAON_TRY(kaon_vector_create(s->ctx, A->space, A->precision, 1, &f->r));
  KAON_TRY(kaon_vector_create(s->ctx, A->space, A->precision, 1, &f->d));
  KAON_TRY(kaon_pool_allocate(s->ctx, kaon_shifted_buffer_length(A->space) * sizeof *f->room,
                              "a temporary column", &room));
  f->room = room;
  return KAON_OK;
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
  o.tol = fmin(1, 0.5 * s->options.tol / report->residual);
  o.max_iterations = left > 0 ? left : 1;
  o.sloppy = all->options.sloppy;
  o.reconstruct = s->options.reconstruct;
  o.check_interval = s->options.check_interval;
  kaon_status status = kaon_shifted_copy_column(P, m, f->r, 0, f->room);
  if (status == KAON_OK) status = kaon_vector_zero(f->d);
  if (status == KAON_OK)
    status = shifted_create(s->A, all->sigma[m / s->columns], all->options.normal, &S);
  status = kaon_agree(s->ctx, status); /* the solver is collective */
  if (status == KAON_OK) status = kaon_solver_create(S, 1, &o, &solver);
  if (status == KAON_OK) status = kaon_solver_solve(solver, f->r, f->d, &column, &solve);
  kaon_solver_destroy(&solver);
  kaon_operator_destroy(&S);
  KAON_TRY(status);
  all->refined.applications += s->method->products.step * solve.applications;
  all->refined.flops += solve.flops;
  report->iterations += column.iterations;
  report->updates++;
  report->reason = column.reason == KAON_CONVERGED ? KAON_STAGNATED : column.reason;
  report->breakdown = column.breakdown;
  return kaon_agree(s->ctx, kaon_shifted_copy_column(f->d, 0, P, m, f->room));
}

kaon_status kaon_shifted_refine(kaon_solver *s) {
  kaon_multishift *all = s->shifts;
  const kaon_pass corrected = kaon_shifted_pass(s, KAON_REC_NONE);
  refinement f = {NULL, NULL, NULL};
  kaon_status status = kaon_agree(s->ctx, take(s, &f));
  for (int m = 0; m < kaon_shifted_columns(s) && status == KAON_OK; m++) {
    kaon_shifted_state(s, m)->gate = all->missed[m] ? KAON_GATE_STEP : 0;
    if (all->missed[m]) status = correct(s, m, &f);
  }
  if (status == KAON_OK) status = kaon_scalars_write(&all->states, s->states.host);
  if (status == KAON_OK)
    status = kaon_blas_axpy(KAON_NUMBER(1), all->level[0].P, s->outer.x, &corrected);
  kaon_vector_destroy(&f.r);
  kaon_vector_destroy(&f.d);
  kaon_pool_release(s->ctx, f.room);
  return kaon_agree(s->ctx, status);
}
