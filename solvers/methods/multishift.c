/* multishift.c - conjugate gradients on (A + sigma_i) x_i = b for all shifts at once, for Hermitian
 * A with all A + sigma_i positive definite.
 * Source: Jegerlehner, hep-lat/9612014.
 * Residuals of the shifted systems are multiples of each other, r_i = zeta_i r, if all start at x =
 * 0. So one process, that of the smallest shift, computes r. Each shift has a direction and a
 * solution of its own (lib/math/steps/recurrences_shifts.h), scaled by 1 / zeta_i:
 *   q = A p;   alpha = (r, r) / ((p, A p) + sigma_0 (p, p));   r -= alpha (q + sigma_0 p)
 *   x_i += a_i p_i, p_i = r + b_i p_i   for all i, columns of two vectors, in one pass
 *   p = r + beta p
 * A column of x is closed when its own residual has reached its tolerance. The process ends last.
 * Storage: p, q, all p_i. A step: 1 A.
 * The method is not in KAON_METHOD_LIST, because its arguments are others: kaon/multishift.h. */
#include "blas/precond_updates.h"
#include "solvers/shifts/shifted.h"

static kaon_status residual(kaon_solver *s, const kaon_shift_level *w) {
  const kaon_pass plain = kaon_gated(s, KAON_GATE_STEP);
  const kaon_pass beta = kaon_gated_norm(s, KAON_GATE_STEP, KAON_S_R2, KAON_REC_CG_BETA);
  if (s->shifts->least == 0) return kaon_blas_axpy(KAON_MINUS(KAON_S_ALPHA), w->q, w->r, &beta);
  KAON_TRY(kaon_blas_axpy(KAON_MINUS(KAON_S_ALPHA), w->q, w->r, &plain));
  return kaon_blas_axpy(KAON_MINUS(KAON_S_SIGMA_ALPHA), w->p, w->r, &beta);
}

/* With (p, p) if the smallest shift is not 0. */
kaon_status kaon_shifted_direction(kaon_solver *s, const kaon_shift_level *w) {
  const int norm = s->shifts->least != 0 ? KAON_S_DIRECTION2 : KAON_NO_SLOT;
  const kaon_pass pass = kaon_gated_norm(s, KAON_GATE_STEP, norm, KAON_REC_NONE);
  return kaon_blas_xpay(w->r, KAON_PLUS(KAON_S_BETA), w->p, &pass);
}

static kaon_status step(kaon_solver *s, int position) {
  const kaon_shift_level *w = &s->shifts->level[s->shifts->at];
  const kaon_pass alpha = kaon_gated_dot(s, KAON_GATE_STEP, KAON_NO_SLOT, w->p, KAON_S_DENOMINATOR,
                                         KAON_REC_SHIFT_ALPHA);
  const kaon_pass shifts = kaon_shifted_pass(s, KAON_REC_SHIFT_STEP);
  const kaon_pass plain = kaon_shifted_pass(s, KAON_REC_NONE);
  kaon_vector *x = w->r == s->outer.r ? s->outer.x : s->x_inner;
  (void)position;
  KAON_TRY(kaon_operator_run(w->A, KAON_PLAIN, w->p, w->q, &alpha));
  KAON_TRY(residual(s, w));
  KAON_TRY(kaon_blas_recur(s->ctx, &shifts));
  KAON_TRY(
      kaon_blas_shifted(KAON_PLUS(KAON_S_ALPHA), w->P, x, w->r, KAON_PLUS(KAON_S_BETA), &plain));
  if (s->shifts->beyond) KAON_TRY(kaon_recur(s, KAON_GATE_STEP, KAON_REC_SHIFT_LAST));
  return kaon_shifted_direction(s, w);
}

const kaon_method_ops kaon_method_multishift = {
    .title = "CG of several shifts",
    .traits = KAON_METHOD_HERMITIAN,
    .storage = {.vectors = 2, .wide = 1},
    .products = {.step = 1},
    .step = step,
};
