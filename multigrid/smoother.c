/* smoother.c - a level's smoother as an operator: a fixed number of steps on the even-odd
 * reduction of the level's operator, or cycles of a Schwarz method on its blocks. */
#include <kaon/solver.h>

#include "lib/core/entry.h"
#include "multigrid/hierarchy.h"

kaon_status kaon_fixed_steps(kaon_operator *A, kaon_method method, int steps, int columns,
                             kaon_operator *precond, kaon_operator **inverse) {
  kaon_solver_options options = KAON_SOLVER_OPTIONS_INIT;
  KAON_AUTO(kaon_solver_destroy) kaon_solver *solver = NULL;
  options.method = method;
  options.tol = 0;
  options.max_iterations = options.subspace = steps;
  options.stop = KAON_STOP_REDUCED;
  options.preconditioner = precond;
  options.deflation = 0;
  KAON_TRY(kaon_solver_create(A, columns, &options, &solver));
  return kaon_solver_as_operator(solver, inverse);
}

/* ---- an inverse of a reduction as one of its parent ---- */

typedef struct lifted {
  kaon_operator *R, *inverse;
  kaon_vector *source, *solution; /* on R's space */
} lifted;

static kaon_status apply(kaon_operator *S, kaon_mode mode, const kaon_vector *x, kaon_vector *y,
                         const kaon_pass *pass) {
  lifted *self = S->self;
  const kaon_pass gate = kaon_pass_gate_only(pass);
  if (mode == KAON_DAGGER)
    return kaon_fail(S->ctx, KAON_ERR_UNSUPPORTED,
                     "multigrid: the adjoint of a smoother is not offered; use method gcr");
  KAON_TRY(self->R->reduction->prepare(self->R, x, self->source));
  KAON_TRY(kaon_operator_run(self->inverse, mode, self->source, self->solution, &gate));
  KAON_TRY(self->R->reduction->reconstruct(self->R, self->solution, x, y));
  return kaon_pass_sum_separately(y, pass);
}

static kaon_status make_twin(kaon_operator *S, kaon_precision precision,
                             kaon_reconstruct reconstruct, kaon_operator **twin) {
  (void)precision;
  (void)reconstruct;
  *twin = NULL;
  return kaon_fail(S->ctx, KAON_ERR_UNSUPPORTED,
                   "multigrid: a smoother cannot change its precision; create a second one");
}

static kaon_cost cost(const kaon_operator *S, int columns) {
  const lifted *self = S->self;
  return self->inverse->ops->cost(self->inverse, columns);
}

static void destroy(kaon_operator *S) {
  lifted *self = S->self;
  kaon_vector_destroy(&self->source);
  kaon_vector_destroy(&self->solution);
  kaon_operator_destroy(&self->inverse);
  kaon_operator_destroy(&self->R);
}

static const kaon_operator_ops lifted_ops = {
    .name = "smoother", .apply = apply, .twin = make_twin, .cost = cost, .destroy = destroy};

/* Takes over the inverse of R. */
static kaon_status lift(kaon_operator *R, kaon_operator *of_reduction, int columns,
                        kaon_operator **inverse) {
  const kaon_operator *parent = R->reduction->parent;
  kaon_operator *S = kaon_operator_new(
      (kaon_operator){
          .ops = &lifted_ops, .ctx = R->ctx, .space = parent->space, .precision = R->precision},
      sizeof(lifted));
  lifted *self = S != NULL ? S->self : NULL;
  *inverse = S;
  if (S != NULL) {
    *self = (lifted){.R = R, .inverse = of_reduction};
    kaon_operator_retain(R);
  } else {
    kaon_operator_destroy(&of_reduction);
  }
  kaon_status status = KAON_AGREE_MEMORY(R->ctx, S != NULL, "multigrid: out of host memory");
  if (status == KAON_OK)
    status = kaon_vector_create(R->ctx, R->space, R->precision, columns, &self->source);
  if (status == KAON_OK)
    status = kaon_vector_create(R->ctx, R->space, R->precision, columns, &self->solution);
  if (status == KAON_OK) status = kaon_operator_reserve(of_reduction, KAON_PLAIN, columns);
  if (status == KAON_OK) status = kaon_operator_reserve(R->reduction->parent, KAON_PLAIN, columns);
  if (status != KAON_OK) kaon_operator_destroy(inverse);
  return status;
}

kaon_status kaon_reduced_steps(kaon_operator *R, kaon_method method, int steps, int columns,
                               kaon_operator **inverse) {
  kaon_operator *solver = NULL;
  KAON_TRY(kaon_fixed_steps(R, method, steps, columns, NULL, &solver));
  return lift(R, solver, columns, inverse);
}

/* The parent's residual b - A x has the reduced right-hand side r = R's source - R x, since the
 * reduction eliminates the other sites. */
kaon_status kaon_reduced_improve(kaon_operator *S, const kaon_vector *b, kaon_vector *start,
                                 kaon_vector *residual, kaon_vector *z, const kaon_pass *gate) {
  lifted *self = S->self;
  KAON_TRY(self->R->reduction->prepare(self->R, b, self->source));
  KAON_TRY(kaon_operator_run(self->R, KAON_PLAIN, start, residual, gate));
  KAON_TRY(kaon_blas_xpay(self->source, KAON_NUMBER(-1), residual, gate));
  KAON_TRY(kaon_operator_run(self->inverse, KAON_PLAIN, residual, self->solution, gate));
  KAON_TRY(kaon_blas_axpy(KAON_NUMBER(1), self->solution, start, gate));
  return self->R->reduction->reconstruct(self->R, start, b, z);
}

/* ---- smoothers ---- */

static kaon_status schwarz(kaon_mg_level *level, kaon_operator **inverse) {
  kaon_schwarz_options options = KAON_SCHWARZ_OPTIONS_INIT;
  options.kind = level->smoother == KAON_SMOOTHER_SAP ? KAON_SCHWARZ_MULTIPLICATIVE
                                                      : KAON_SCHWARZ_ASYNCHRONOUS;
  for (int mu = 0; mu < 4; mu++) options.block[mu] = level->aggregates->block[mu];
  options.steps = 4;
  options.cycles = level->steps;
  options.precision = level->A->precision;
  return kaon_schwarz_create(level->reduced, &options, inverse);
}

kaon_status kaon_level_smoother(kaon_mg_level *level, int columns, kaon_operator **smoother) {
  const kaon_method method = level->smoother == KAON_SMOOTHER_MR ? KAON_MR : KAON_GCR;
  kaon_operator *cycles = NULL;
  if (level->smoother < KAON_SMOOTHER_SAP)
    return kaon_reduced_steps(level->reduced, method, level->steps, columns, smoother);
  KAON_TRY(schwarz(level, &cycles));
  return lift(level->reduced, cycles, columns, smoother);
}
