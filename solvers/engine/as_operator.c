/* as_operator.c - a solver as an operator: y ~ A^-1 x, for nesting and preconditioning. The inner
 * process has its own scalars and does not see the outer ones. Columns that the outer gate closes
 * are passed as 0, which ends them at once. So a frozen column costs nothing, and NaN in it does no
 * harm. Storage: two vectors. */
#include <stdlib.h>

#include "lib/core/threads.h"
#include "solvers/engine/method.h"

typedef struct inverse {
  kaon_solver *solver;
  kaon_vector *source, *result;
} inverse;

/* 1: every column is open, as far as the host can see without reading from a device. */
static int all_open(const kaon_context *ctx, const kaon_pass *pass) {
  if (pass->scalars == NULL) return 1;
  if (!ctx->backend->host_accessible) return 0;
  for (int k = 0; k < pass->scalars->columns; k++)
    if ((pass->scalars->state[k].gate & pass->gate) == 0) return 0;
  return 1;
}

/* *source: x, or a copy whose closed columns are 0. */
static kaon_status open_columns(const inverse *self, const kaon_vector *x, const kaon_pass *pass,
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
  const inverse *self = A->self;
  const kaon_solver *s = self->solver;
  if (mode == KAON_DAGGER && kaon_reduces_within(self->solver->A))
    return kaon_fail(A->ctx, KAON_ERR_UNSUPPORTED,
                     "inverse: the dagger of a solver on a reduction of an operator of the same "
                     "space is not supported");
  if (mode == KAON_DAGGER && !kaon_method_has(s->method, KAON_METHOD_HERMITIAN))
    return kaon_fail(A->ctx, KAON_ERR_UNSUPPORTED,
                     "inverse: the dagger of a %s solver is not supported; use cg, or another "
                     "method for Hermitian operators, on a Hermitian operator",
                     kaon_method_name(s->options.method));
  if (pass == NULL) return invert(self->solver, x, y);
  const kaon_pass gate = kaon_pass_gate_only(pass);
  const kaon_vector *source = NULL;
  KAON_TRY(open_columns(self, x, pass, &source));
  KAON_TRY(invert(self->solver, source, self->result));
  KAON_TRY(kaon_blas_copy(self->result, y, &gate));
  return kaon_pass_sum_separately(y, pass);
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
  const kaon_solver *s = ((const inverse *)A->self)->solver;
  kaon_cost c = s->inner->ops->cost(s->inner, columns);
  const double applications = (double)kaon_solver_fixed_steps(s) * s->method->products.step;
  c.flops *= applications;
  c.bytes *= applications;
  return c;
}

static void destroy(kaon_operator *A) {
  inverse *self = A->self;
  kaon_vector_destroy(&self->source);
  kaon_vector_destroy(&self->result);
  kaon_context *ctx = A->ctx;
  free(self);
  free(A);
  kaon_context_release(ctx);
}

static const kaon_operator_ops inverse_ops;

int kaon_inverts_within(const kaon_operator *K) {
  return K->ops == &inverse_ops && kaon_reduces_within(((const inverse *)K->self)->solver->A);
}

static const kaon_operator_ops inverse_ops = {
    .name = "inverse",
    .apply = apply,
    .twin = make_twin,
    .cost = cost,
    .destroy = destroy,
};

kaon_status kaon_solver_as_operator(kaon_solver *solver, kaon_operator **result) {
  if (result != NULL) *result = NULL;
  if (solver == NULL || result == NULL)
    return kaon_fail(solver ? solver->ctx : NULL, KAON_ERR_ARGUMENT,
                     "as operator: the solver or the address of the result is NULL");
  kaon_operator *A = calloc(1, sizeof *A);
  inverse *self = calloc(1, sizeof *self);
  if (A == NULL || self == NULL) {
    free(A);
    free(self);
    return kaon_fail(solver->ctx, KAON_ERR_MEMORY, "as operator: out of host memory");
  }
  self->solver = solver;
  *A = (kaon_operator){.ops = &inverse_ops,
                       .ctx = solver->ctx,
                       .space = solver->A->space,
                       .precision = solver->A->precision,
                       .references = 1,
                       .self = self};
  kaon_context_retain(A->ctx);
  kaon_status status =
      kaon_vector_create(A->ctx, A->space, A->precision, solver->columns, &self->source);
  if (status == KAON_OK)
    status = kaon_vector_create(A->ctx, A->space, A->precision, solver->columns, &self->result);
  if (status != KAON_OK) {
    kaon_operator_destroy(&A);
    return status;
  }
  *result = A;
  return KAON_OK;
}
