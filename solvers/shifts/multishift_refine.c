/* multishift_refine.c - refines the shifts that missed the tolerance: (A + sigma_i) d = b - (A +
 * sigma_i) x_i, x_i += d. It treats one shift after another by CG in mixed precision, which
 * replaces its residual (cg.c). So the residual converges whatever the process lost. */
#include <math.h>
#include <stdlib.h>

#include "solvers/shifts/multishift_internal.h"

/* ---- A + sigma, or A^dag A + sigma ---- */

typedef struct shifted {
  kaon_operator *A;
  double sigma;
  int normal;
  kaon_vector *t; /* normal: workspace of one column */
} shifted;

static kaon_status shifted_create(kaon_operator *A, double sigma, int normal,
                                  kaon_operator **result);

static kaon_status apply(kaon_operator *S, kaon_mode mode, const kaon_vector *x, kaon_vector *y,
                         const kaon_pass *pass) {
  const shifted *self = S->self;
  const kaon_pass gate = pass != NULL ? kaon_pass_gate_only(pass) : (kaon_pass)KAON_PASS_INIT;
  const kaon_pass *plain = pass != NULL ? &gate : NULL;
  (void)mode; /* it is self-adjoint */
  if (self->normal) {
    KAON_TRY(kaon_operator_run(self->A, KAON_PLAIN, x, self->t, plain));
    KAON_TRY(kaon_operator_run(self->A, KAON_DAGGER, self->t, y, plain));
  } else {
    KAON_TRY(kaon_operator_run(self->A, KAON_PLAIN, x, y, plain));
  }
  KAON_TRY(kaon_blas_axpy(KAON_NUMBER(self->sigma), x, y, plain));
  return pass != NULL ? kaon_pass_sum_separately(y, pass) : KAON_OK;
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
  const shifted *self = S->self;
  (void)mode;
  kaon_operator *A = self->A;
  KAON_TRY(kaon_operator_reserve(A, KAON_PLAIN, columns));
  return self->normal ? kaon_operator_reserve(A, KAON_DAGGER, columns) : KAON_OK;
}

static kaon_cost cost(const kaon_operator *S, int columns) {
  const shifted *self = S->self;
  kaon_cost c = self->A->ops->cost(self->A, columns);
  if (self->normal) {
    c.flops *= 2;
    c.bytes *= 2;
  }
  return c;
}

static void destroy(kaon_operator *S) {
  shifted *self = S->self;
  kaon_context *ctx = S->ctx;
  kaon_vector_destroy(&self->t);
  kaon_operator_destroy(&self->A);
  free(self);
  free(S);
  kaon_context_release(ctx);
}

static const kaon_operator_ops shifted_ops = {
    .name = "shifted",
    .apply = apply,
    .twin = make_twin,
    .reserve = reserve,
    .cost = cost,
    .destroy = destroy,
};

static kaon_status shifted_create(kaon_operator *A, double sigma, int normal,
                                  kaon_operator **result) {
  kaon_operator *S = calloc(1, sizeof *S);
  shifted *self = calloc(1, sizeof *self);
  *result = NULL;
  if (S == NULL || self == NULL) {
    free(S);
    free(self);
    return kaon_fail(A->ctx, KAON_ERR_MEMORY, "multishift: out of host memory");
  }
  *self = (shifted){.A = A, .sigma = sigma, .normal = normal};
  *S = (kaon_operator){.ops = &shifted_ops,
                       .ctx = A->ctx,
                       .space = A->space,
                       .precision = A->precision,
                       .references = 1,
                       .self = self};
  kaon_operator_retain(A);
  kaon_context_retain(S->ctx);
  const kaon_status status =
      normal ? kaon_vector_create(S->ctx, S->space, S->precision, 1, &self->t) : KAON_OK;
  if (status != KAON_OK)
    kaon_operator_destroy(&S);
  else
    *result = S;
  return status;
}

/* ---- columns ---- */

size_t kaon_shift_buffer_length(const kaon_space *space) {
  const int64_t sites =
      space->lattice != NULL ? space->lattice->volume : kaon_space_caller_rows(space);
  return (size_t)sites * (size_t)space->ncomp;
}

/* Copies through an array in the backend's memory, without rounding. */
kaon_status kaon_shift_copy_column(const kaon_vector *from, int i, kaon_vector *to, int j,
                                   double *room) {
  KAON_TRY(kaon_vector_export_device(from, i, room, KAON_BASIS_UKQCD));
  return kaon_vector_import_device(to, j, room, KAON_BASIS_UKQCD);
}

/* ---- refinement ---- */

typedef struct refinement {
  kaon_vector *r, *d;
  double *room;
} refinement;

static kaon_status take(kaon_multishift *s, refinement *f) {
  const kaon_operator *A = s->level[0].A;
  void *room = NULL;
  KAON_TRY(kaon_vector_create(s->ctx, A->space, A->precision, 1, &f->r));
  KAON_TRY(kaon_vector_create(s->ctx, A->space, A->precision, 1, &f->d));
  KAON_TRY(kaon_pool_allocate(s->ctx, kaon_shift_buffer_length(A->space) * sizeof *f->room,
                              "a temporary column", &room));
  f->room = room;
  return KAON_OK;
}

/* Column m of P, the residual, becomes d. The solve leaves half of the tolerance for the rounding
 * of x + d. */
static kaon_status correct(kaon_multishift *s, int m, refinement *f) {
  kaon_column_report *report = &s->reports[m];
  const double sigma = s->sigma[m / s->columns];
  kaon_solver_options o = KAON_SOLVER_OPTIONS_INIT;
  const int left = s->options.max_iterations - report->iterations;
  kaon_operator *S = NULL;
  kaon_solver *solver = NULL;
  kaon_column_report column = {0};
  kaon_solve_report solve = KAON_SOLVE_REPORT_INIT;
  o.method = KAON_CG;
  o.stop = KAON_STOP_REDUCED;
  o.tol = fmin(1, 0.5 * s->options.tol / report->residual);
  o.max_iterations = left > 0 ? left : 1;
  o.sloppy = s->options.sloppy;
  o.reconstruct = s->options.reconstruct;
  o.check_interval = s->options.check_interval;
  kaon_status status = kaon_shift_copy_column(s->outer.P, m, f->r, 0, f->room);
  if (status == KAON_OK) status = kaon_vector_zero(f->d);
  if (status == KAON_OK) status = shifted_create(s->level[0].A, sigma, s->options.normal, &S);
  status = kaon_agree(s->ctx, status); /* the solver is collective */
  if (status == KAON_OK) status = kaon_solver_create(S, 1, &o, &solver);
  if (status == KAON_OK) status = kaon_solver_solve(solver, f->r, f->d, &column, &solve);
  kaon_solver_destroy(&solver);
  kaon_operator_destroy(&S);
  KAON_TRY(status);
  s->applications += (1 + s->options.normal) * solve.applications;
  s->work += solve.flops;
  report->iterations += column.iterations;
  report->updates++;
  report->reason = column.reason == KAON_CONVERGED ? KAON_STAGNATED : column.reason;
  report->breakdown = column.breakdown;
  return kaon_agree(s->ctx, kaon_shift_copy_column(f->d, 0, s->outer.P, m, f->room));
}

kaon_status kaon_shift_refine(kaon_multishift *s) {
  kaon_pass corrected = kaon_shift_pass(&s->shifts, KAON_NO_SLOT, KAON_REC_NONE);
  refinement f = {NULL, NULL, NULL};
  kaon_status status = kaon_agree(s->ctx, take(s, &f));
  for (int m = 0; m < kaon_shift_all(s) && status == KAON_OK; m++) {
    kaon_shift_state(s, m)->gate = s->missed[m] ? KAON_GATE_STEP : 0;
    if (s->missed[m]) status = correct(s, m, &f);
  }
  if (status == KAON_OK) status = kaon_scalars_write(s->scalars, s->host);
  if (status == KAON_OK)
    status = kaon_blas_axpy(KAON_NUMBER(1), s->outer.P, s->outer.X, &corrected);
  kaon_vector_destroy(&f.r);
  kaon_vector_destroy(&f.d);
  kaon_pool_release(s->ctx, f.room);
  return kaon_agree(s->ctx, status);
}
