/* adjoint.c - operators made of another one, A: its adjoint, and A^dagger A. Both ask A alone, so
 * they mix precisions and follow new links as A does. */
#include <stdlib.h>

#include "lib/core/entry.h"
#include "lib/operator/workspace.h"

typedef struct derived {
  kaon_operator *A;
  kaon_workspace *between; /* A x, on the way to A^dagger A x */
} derived;

static derived *self_of(const kaon_operator *D) {
  return D->self;
}

static kaon_mode other(kaon_mode mode) {
  return mode == KAON_DAGGER ? KAON_PLAIN : KAON_DAGGER;
}

/* ---- what both share ---- */

static void destroy(kaon_operator *D) {
  kaon_workspace_free(&self_of(D)->between);
  kaon_operator_destroy(&self_of(D)->A);
}

static kaon_status make(kaon_operator *A, const kaon_operator_ops *ops, const kaon_space *from,
                        const kaon_space *to, int exponent, kaon_operator **made) {
  kaon_operator *D = kaon_operator_new((kaon_operator){.ops = ops,
                                                       .ctx = A->ctx,
                                                       .space = from,
                                                       .range = to != from ? to : NULL,
                                                       .precision = A->precision,
                                                       .exponent = exponent,
                                                       .revision = A->revision},
                                       sizeof(derived));
  kaon_status status = KAON_CHECK_MEMORY(A->ctx, D != NULL, "%s: out of host memory", ops->name);
  status = kaon_same(A->ctx, status, ops->name, NULL, 0);
  if (status != KAON_OK) {
    kaon_operator_destroy(&D);
    return status;
  }
  self_of(D)->A = A;
  kaon_operator_retain(A);
  *made = D;
  return KAON_OK;
}

/* The same operator made of A's twin. */
static kaon_status make_twin(kaon_operator *D, kaon_precision precision,
                             kaon_reconstruct reconstruct, kaon_operator **twin) {
  kaon_operator *A = NULL;
  *twin = NULL;
  KAON_TRY(self_of(D)->A->ops->twin(self_of(D)->A, precision, reconstruct, &A));
  const kaon_status status =
      make(A, D->ops, D->space, kaon_operator_to(D, KAON_PLAIN), D->exponent, twin);
  kaon_operator_destroy(&A); /* the twin retains it */
  return status;
}

/* ---- the adjoint ---- */

static kaon_status adjoint_apply(kaon_operator *D, kaon_mode mode, const kaon_vector *x,
                                 kaon_vector *y, const kaon_pass *pass) {
  return kaon_operator_run(self_of(D)->A, other(mode), x, y, pass);
}

static kaon_status adjoint_reserve(kaon_operator *D, kaon_mode mode, int columns) {
  return kaon_operator_reserve(self_of(D)->A, other(mode), columns);
}

static kaon_cost adjoint_cost(const kaon_operator *D, int columns) {
  return self_of(D)->A->ops->cost(self_of(D)->A, columns);
}

static const kaon_operator_ops adjoint_ops = {.name = "adjoint",
                                              .apply = adjoint_apply,
                                              .twin = make_twin,
                                              .reserve = adjoint_reserve,
                                              .cost = adjoint_cost,
                                              .destroy = destroy};

kaon_status kaon_operator_adjoint(kaon_operator *A, kaon_operator **adjoint) {
  if (adjoint != NULL) *adjoint = NULL;
  KAON_ENTER(KAON_OF(A), A, adjoint);
  return make(A, &adjoint_ops, kaon_operator_to(A, KAON_PLAIN), A->space, A->exponent, adjoint);
}

/* ---- A^dagger A ---- */

static kaon_status between(kaon_operator *D, int columns, kaon_workspace **set) {
  derived *self = self_of(D);
  return kaon_workspace_get(D, kaon_operator_to(self->A, KAON_PLAIN), 1, columns, &self->between,
                            set);
}

static kaon_status normal_apply(kaon_operator *D, kaon_mode mode, const kaon_vector *x,
                                kaon_vector *y, const kaon_pass *pass) {
  const kaon_pass gate = kaon_pass_gate_only(pass);
  kaon_operator *A = self_of(D)->A;
  kaon_workspace *set;
  (void)mode; /* it is self-adjoint */
  KAON_TRY(between(D, x->nrhs, &set));
  KAON_TRY(kaon_operator_run(A, KAON_PLAIN, x, set->vector[0], &gate));
  return kaon_operator_run(A, KAON_DAGGER, set->vector[0], y, pass);
}

static kaon_status normal_reserve(kaon_operator *D, kaon_mode mode, int columns) {
  kaon_workspace *unused;
  (void)mode;
  KAON_TRY(between(D, columns, &unused));
  KAON_TRY(kaon_operator_reserve(self_of(D)->A, KAON_PLAIN, columns));
  return kaon_operator_reserve(self_of(D)->A, KAON_DAGGER, columns);
}

static kaon_cost normal_cost(const kaon_operator *D, int columns) {
  const kaon_cost once = adjoint_cost(D, columns);
  return (kaon_cost){.flops = 2 * once.flops, .bytes = 2 * once.bytes};
}

static const kaon_operator_ops normal_ops = {.name = "normal",
                                             .apply = normal_apply,
                                             .twin = make_twin,
                                             .reserve = normal_reserve,
                                             .cost = normal_cost,
                                             .destroy = destroy};

kaon_status kaon_operator_normal(kaon_operator *A, kaon_operator **normal) {
  if (normal != NULL) *normal = NULL;
  KAON_ENTER(KAON_OF(A), A, normal);
  return make(A, &normal_ops, A->space, A->space, 2 * A->exponent, normal);
}
