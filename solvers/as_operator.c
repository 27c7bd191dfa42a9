/* as_operator.c - a solver as an operator: y ~ A^-1 x, for nesting and preconditioning.
 * The outer iteration's gate is honoured when the result is handed over; the inner process works on
 * every column, as its own scalars know nothing of the outer ones. Storage: one vector. */
#include <stdlib.h>

#include "solvers/method.h"

typedef struct inverse {
  kaon_solver *solver;
  kaon_vector *result;
} inverse;

/* y = result in gated columns, with the sums that the pass wants. */
static kaon_status hand_over(const kaon_vector *result, kaon_vector *y, const kaon_pass *pass) {
  const int slots[3] = {pass->dot, KAON_NO_SLOT, pass->norm};
  kaon_pass copy = KAON_PASS_INIT, sums = *pass;
  copy.scalars = pass->scalars;
  copy.gate = pass->gate;
  KAON_TRY(kaon_blas_copy(result, y, &copy));
  if (pass->scalars == NULL) return KAON_OK;
  sums.norm = sums.dot = KAON_NO_SLOT;
  if (pass->norm == KAON_NO_SLOT && pass->dot == KAON_NO_SLOT)
    return kaon_blas_recur(y->ctx, &sums);
  return kaon_blas_dot(pass->w != NULL ? pass->w : y, y, slots, &sums);
}

static kaon_status apply(kaon_operator *A, kaon_mode mode, const kaon_vector *x, kaon_vector *y,
                         const kaon_pass *pass) {
  const inverse *self = A->self;
  if (mode == KAON_DAGGER && self->solver->options.method != KAON_CG)
    return kaon_fail(A->ctx, KAON_ERR_UNSUPPORTED,
                     "inverse: the dagger of a %s solver is not offered; use cg on a Hermitian "
                     "operator",
                     self->solver->method->name);
  if (pass == NULL) return kaon_solver_invert(self->solver, x, y);
  KAON_TRY(kaon_solver_invert(self->solver, x, self->result));
  return hand_over(self->result, y, pass);
}

static kaon_status at_precision(kaon_operator *A, kaon_precision precision,
                                kaon_reconstruct reconstruct, kaon_operator **twin) {
  (void)precision;
  (void)reconstruct;
  *twin = NULL;
  return kaon_fail(A->ctx, KAON_ERR_UNSUPPORTED,
                   "inverse: a solver has no twin in another precision; make a second solver");
}

/* Of a fixed-step solver; otherwise the most that it may take. */
static kaon_cost cost(const kaon_operator *A, int columns) {
  const kaon_solver *s = ((const inverse *)A->self)->solver;
  kaon_cost c = s->inner->ops->cost(s->inner, columns);
  const double applications = (double)kaon_solver_fixed_steps(s) * s->method->applications;
  c.flops *= applications;
  c.bytes *= applications;
  return c;
}

static void destroy(kaon_operator *A) {
  inverse *self = A->self;
  kaon_vector_destroy(&self->result);
  kaon_context *ctx = A->ctx;
  free(self);
  free(A);
  kaon_context_release(ctx);
}

static const kaon_operator_ops inverse_ops = {
    .name = "inverse",
    .apply = apply,
    .at_precision = at_precision,
    .cost = cost,
    .destroy = destroy,
};

kaon_status kaon_solver_as_operator(kaon_solver *solver, kaon_operator **result) {
  if (solver == NULL || result == NULL)
    return kaon_fail(solver ? solver->ctx : NULL, KAON_ERR_ARGUMENT,
                     "as operator: the solver or the address of the result is NULL");
  *result = NULL;
  kaon_operator *A = calloc(1, sizeof *A);
  inverse *self = calloc(1, sizeof *self);
  if (A == NULL || self == NULL) {
    free(A);
    free(self);
    return kaon_fail(solver->ctx, KAON_ERR_MEMORY, "as operator: no host memory");
  }
  self->solver = solver;
  *A = (kaon_operator){.ops = &inverse_ops,
                       .ctx = solver->ctx,
                       .space = solver->A->space,
                       .precision = solver->A->precision,
                       .references = 1,
                       .self = self};
  kaon_context_retain(A->ctx);
  const kaon_status status =
      kaon_vector_create(A->ctx, A->space, A->precision, solver->columns, &self->result);
  if (status != KAON_OK) {
    kaon_operator_destroy(&A);
    return status;
  }
  *result = A;
  return KAON_OK;
}
