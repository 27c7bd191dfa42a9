/* null_space.c - systems whose operator has a known null space N (lib/operator/null_space.h).
 * A x does not depend on x's part in N, so no step of a method needs to know of it. Each service
 * removes that part from the solution, before the residual is computed. Where A^dag has the same
 * null space, the source's part in N is what A x cannot reach. */
#include <math.h>
#include <stdlib.h>

#include "solvers/engine/method.h"

/* Smaller parts of b are rounding errors, of sums or of its numbers. */
static double rounding_of(const kaon_vector *b) {
  return b->precision == KAON_DOUBLE ? 0x1p-50 : 0x1p-21;
}

static const kaon_null_space *access_of(const kaon_solver *s) {
  return kaon_operator_capability(s->system, KAON_CAPABILITY_NULL_SPACE);
}

kaon_status kaon_null_choose(kaon_solver *s) {
  const kaon_null_space *known = access_of(s);
  if (known == NULL || s->shifts != NULL) return KAON_OK;
  s->null.count = known->count(s->system);
  if (s->null.count == 0) return KAON_OK;
  s->null.is_left = known->is_left(s->system);
  s->null.unreachable = calloc((size_t)s->columns, sizeof *s->null.unreachable);
  if (s->null.unreachable != NULL) return KAON_OK;
  return kaon_fail(s->ctx, KAON_ERR_MEMORY, "solver: out of host memory for %d columns",
                   s->columns);
}

/* 1: the method has a residual of A^dag y = r, which has no solution unless r is orthogonal to
 * N. */
int kaon_null_has_shadow(const kaon_solver *s) {
  return kaon_method_has(s->method, KAON_METHOD_ADJOINT) &&
         !kaon_method_has(s->method, KAON_METHOD_NORMAL);
}

kaon_status kaon_null_fill(kaon_solver *s) {
  for (int i = 0; i < s->null.count; i++) {
    KAON_TRY(access_of(s)->fill(s->system, i, s->null.vector[i]));
    if (s->null.shadow[i] != NULL) KAON_TRY(access_of(s)->fill(s->system, i, s->null.shadow[i]));
  }
  return KAON_OK;
}

void kaon_null_destroy(kaon_solver *s) {
  for (int i = 0; i < s->null.count; i++) {
    kaon_vector_destroy(&s->null.vector[i]);
    kaon_vector_destroy(&s->null.shadow[i]);
  }
  free(s->null.unreachable);
}

/* Removes from v its part along each n. */
static kaon_status project(const kaon_solver *s, int gate, kaon_vector *const *n, kaon_vector *v) {
  const int slots[3] = {KAON_S_NULL, KAON_NO_SLOT, KAON_NO_SLOT};
  const kaon_pass pass = kaon_gated(s, gate);
  for (int i = 0; i < s->null.count; i++) {
    KAON_TRY(kaon_blas_dot(n[i], v, slots, &pass));
    KAON_TRY(kaon_blas_axpy(KAON_MINUS(KAON_S_NULL), n[i], v, &pass));
  }
  return KAON_OK;
}

kaon_status kaon_null_project(kaon_solver *s, int gate) {
  return project(s, gate, s->null.vector, s->outer.x);
}

kaon_status kaon_null_project_shadow(kaon_solver *s, kaon_vector *shadow, int gate) {
  if (!kaon_null_has_shadow(s)) return KAON_OK;
  return project(s, gate, s->process.mixed ? s->null.shadow : s->null.vector, shadow);
}

kaon_status kaon_null_issue_source(kaon_solver *s) {
  kaon_pass pass = KAON_PASS_INIT;
  pass.scalars = s->states.sums;
  for (int i = 0; i < s->null.count && s->null.is_left; i++) {
    const int slots[3] = {KAON_OF_NULL + i, KAON_NO_SLOT, KAON_NO_SLOT};
    KAON_TRY(kaon_blas_dot(s->null.vector[i], s->outer.b, slots, &pass));
  }
  return KAON_OK;
}

void kaon_null_take_source(kaon_solver *s) {
  for (int k = 0; k < s->columns && s->null.count > 0 && s->null.is_left; k++) {
    double part2 = 0;
    for (int i = 0; i < s->null.count; i++) {
      const double *dot = s->states.sums_host[k].slot[KAON_OF_NULL + i];
      part2 += dot[0] * dot[0] + dot[1] * dot[1];
    }
    const double part = part2 > 0 ? sqrt(part2 / s->states.norm2_full[k]) : 0;
    s->null.unreachable[k] = part > rounding_of(s->solve.b) ? part : 0;
  }
}

double kaon_null_unreachable(const kaon_solver *s, int k) {
  return s->null.count > 0 ? s->null.unreachable[k] : 0;
}

/* With tol = 0 nothing is asked of the residual, and |A^dag r| can become 0 nevertheless. The sources
 * of a solver that is used as an operator are residuals, whose part in N is rounding. */
int kaon_null_ends(const kaon_solver *s, int k) {
  return s->options.tol > 0 && !s->solve.inverts && s->options.stop != KAON_STOP_NORMAL &&
         kaon_null_unreachable(s, k) > 1.1 * s->options.tol;
}
