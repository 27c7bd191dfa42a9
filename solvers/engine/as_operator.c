/* as_operator.c - a solver as an operator: y ~ A^-1 x, for nesting and preconditioning. The inner
 * process has its own scalars and does not see the outer ones. Columns that the outer gate closes
 * are passed as 0, which ends them at once. So a frozen column costs nothing, and NaN in it does no
 * harm. Storage: two vectors, and for y ~ A^-dagger x a second solver, on A^dagger. */
#include <stdlib.h>

#include "lib/core/entry.h"
#include "lib/core/threads.h"
#include "solvers/engine/method.h"

typedef struct inversion {
  kaon_solver *solver;
  kaon_solver *dagger; /* the same on A^dagger; NULL until it is needed */
  kaon_vector *source, *result;
} inversion;

static kaon_status create_dagger(inversion *self) {
  const kaon_solver *s = self->solver;
  kaon_solver_options options = s->options;
  kaon_relax_options damped = KAON_RELAX_OPTIONS_INIT; /* of MR and RICHARDSON */
  damped.tau = s->process.damping;
  if (damped.tau > 0) options.relax = &damped;
  KAON_AUTO(kaon_operator_destroy) kaon_operator *adjoint = NULL, *K = NULL;
  kaon_status status = kaon_operator_adjoint(s->A, &adjoint);
  if (status == KAON_OK && options.preconditioner != NULL)
    status = kaon_operator_adjoint(options.preconditioner, &K);
  options.preconditioner = K;
  if (status == KAON_OK) status = kaon_solver_create(adjoint, s->columns, &options, &self->dagger);
  return status;
}

/* The solver for applications in this mode. Methods for Hermitian operators serve both. */
static kaon_status choose(const kaon_operator *A, kaon_mode mode, kaon_solver **solver) {
  inversion *self = A->self;
  *solver = self->solver;
  if (mode == KAON_PLAIN) return KAON_OK;
  if (kaon_reduces_within(self->solver->A))
    return kaon_fail(A->ctx, KAON_ERR_UNSUPPORTED,
                     "inverse: the dagger of a solver on a reduction of an operator of the same "
                     "space is not supported; make a solver on kaon_operator_adjoint of that "
                     "operator");
  if (kaon_method_has(self->solver->method, KAON_METHOD_HERMITIAN)) return KAON_OK;
  if (self->dagger == NULL) KAON_TRY(create_dagger(self));
  *solver = self->dagger;
  return KAON_OK;
}

/* 1: every column is open, as far as the host can see without reading from a device. */
static int all_open(const kaon_context *ctx, const kaon_pass *pass) {
  if (pass->scalars == NULL) return 1;
  if (!ctx->backend->host_accessible) return 0;
  for (int k = 0; k < pass->scalars->columns; k++)
    if ((pass->scalars->state[k].gate & pass->gate) == 0) return 0;
  return 1;
}

/* *source: x, or a copy whose closed columns are 0. */
static kaon_status open_columns(const inversion *self, const kaon_vector *x, const kaon_pass *pass,
                                const kaon_vector **source) {
  const kaon_pass gate = kaon_pass_gate_only(pass);
  *source = x;
  if (all_open(x->ctx, pass)) return KAON_OK;
  *source = self->source;
  KAON_TRY(kaon_blas_zero(self->source, NULL));
  return kaon_blas_copy(x, self->source, &gate);
}

/* Disables floating-point traps, as a solve does. */
static kaon_status invert(kaon_solver *solver, const kaon_vector *b, kaon_vector *x) {
  kaon_traps traps;
  kaon_traps_hold(&traps, solver->ctx->threads);
  const kaon_status status = kaon_solver_invert(solver, b, x);
  kaon_traps_restore(&traps);
  return status;
}

static kaon_status apply(kaon_operator *A, kaon_mode mode, const kaon_vector *x, kaon_vector *y,
                         const kaon_pass *pass) {
  const inversion *self = A->self;
  kaon_solver *solver;
  KAON_TRY(choose(A, mode, &solver));
  if (pass == NULL) return invert(solver, x, y);
  const kaon_pass gate = kaon_pass_gate_only(pass);
  const kaon_vector *source = NULL;
  KAON_TRY(open_columns(self, x, pass, &source));
  KAON_TRY(invert(solver, source, self->result));
  KAON_TRY(kaon_blas_copy(self->result, y, &gate));
  return kaon_pass_sum_separately(y, pass);
}

static kaon_status reserve(kaon_operator *A, kaon_mode mode, int columns) {
  kaon_solver *unused;
  (void)columns; /* the solver's */
  return choose(A, mode, &unused);
}

static kaon_status make_twin(kaon_operator *A, kaon_precision precision,
                             kaon_reconstruct reconstruct, kaon_operator **twin) {
  (void)precision;
  (void)reconstruct;
  *twin = NULL;
  return kaon_fail(A->ctx, KAON_ERR_UNSUPPORTED,
                   "inverse: a solver cannot change its precision; create a second solver");
}

/* Cost of a fixed-step solver; otherwise an upper bound. */
static kaon_cost cost(const kaon_operator *A, int columns) {
  const kaon_solver *s = ((const inversion *)A->self)->solver;
  kaon_cost c = s->inner->ops->cost(s->inner, columns);
  const double applications = (double)kaon_solver_fixed_steps(s) * s->method->products.step;
  c.flops *= applications;
  c.bytes *= applications;
  return c;
}

static void destroy(kaon_operator *A) {
  inversion *self = A->self;
  kaon_vector_destroy(&self->source);
  kaon_vector_destroy(&self->result);
  kaon_solver_destroy(&self->dagger);
  kaon_solver_destroy(&self->solver);
}

static const kaon_operator_ops inverse_ops;

int kaon_inverts_within(const kaon_operator *K) {
  return K->ops == &inverse_ops && kaon_reduces_within(((const inversion *)K->self)->solver->A);
}

static const kaon_operator_ops inverse_ops = {
    .name = "inverse",
    .apply = apply,
    .twin = make_twin,
    .reserve = reserve,
    .cost = cost,
    .destroy = destroy,
};

kaon_status kaon_solver_as_operator(kaon_solver *solver, kaon_operator **inverse) {
  if (inverse != NULL) *inverse = NULL;
  KAON_ENTER(KAON_OF(solver), solver, inverse);
  kaon_operator *A = kaon_operator_new(
      (kaon_operator){.ops = &inverse_ops,
                      .ctx = solver->ctx,
                      .space = solver->A->space,
                      .precision = solver->A->precision,
                      .exponent = -kaon_solver_exponent(solver, kaon_reduces_within(solver->A)),
                      .revision = solver->revision},
      sizeof(inversion));
  if (A == NULL) return kaon_fail(solver->ctx, KAON_ERR_MEMORY, "as operator: out of host memory");
  inversion *self = A->self;
  self->solver = solver;
  solver->references++;
  kaon_status status =
      kaon_vector_create(A->ctx, A->space, A->precision, solver->columns, &self->source);
  if (status == KAON_OK)
    status = kaon_vector_create(A->ctx, A->space, A->precision, solver->columns, &self->result);
  *inverse = A;
  if (status != KAON_OK) kaon_operator_destroy(inverse);
  return status;
}
