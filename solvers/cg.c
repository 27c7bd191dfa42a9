/* cg.c - conjugate gradients for Hermitian positive definite A.
 * Source: Hestenes, Stiefel, J. Res. Natl. Bur. Stand. 49 (1952) 409.
 *   x += alpha p (of the step before);  p = r + beta p
 *   q = A p;        alpha = (r, r) / (p, A p)
 *   r -= alpha q;   beta = (r', r') / (r, r)
 * x lags one update behind, so that it shares a pass with p and a column can freeze after its
 * residual. Storage: p, q. A step: 1 A with its dot in the same pass; vectors read 5, written 3 by
 * kernels 2, which is the least: each of x, p, r goes through once between two sums, with A p. */
#include "solvers/method.h"

enum { P, Q, VECTORS };

static kaon_status step(kaon_solver *s, int position) {
  kaon_vector *p = s->work[P], *q = s->work[Q];
  const kaon_pass plain = kaon_gated(s, KAON_GATE_STEP);
  const kaon_pass alpha =
      kaon_gated_dot(s, KAON_GATE_STEP, KAON_NO_SLOT, p, KAON_S_DENOMINATOR, KAON_REC_CG_ALPHA);
  const kaon_pass beta = kaon_gated_norm(s, KAON_GATE_STEP, KAON_S_R2, KAON_REC_CG_BETA);
  (void)position;
  KAON_TRY(kaon_blas_axpy_xpay(KAON_PLUS(KAON_S_ALPHA), p, s->x_inner, s->r, KAON_PLUS(KAON_S_BETA),
                               &plain));
  KAON_TRY(kaon_operator_run(s->inner, KAON_PLAIN, p, q, &alpha));
  return kaon_blas_axpy(KAON_MINUS(KAON_S_ALPHA), q, s->r, &beta);
}

static kaon_status start(kaon_solver *s) {
  const kaon_pass plain = kaon_gated(s, KAON_GATE_START);
  KAON_TRY(kaon_blas_zero(s->work[P], &plain));
  return kaon_recur(s, KAON_GATE_START, KAON_REC_CG_START);
}

static kaon_status renew(kaon_solver *s) {
  const int slots[3] = {KAON_S_OVERLAP, KAON_NO_SLOT, KAON_S_R2}; /* (p, r), (r, r) */
  const kaon_pass fresh = kaon_gated(s, KAON_GATE_START);
  const kaon_pass last = kaon_gated_norm(s, KAON_GOES_ON, KAON_NO_SLOT, KAON_REC_RESUME);
  const kaon_pass sums = kaon_gated_norm(s, KAON_GOES_ON, KAON_NO_SLOT, KAON_REC_CG_RENEW);
  if (!kaon_gate_shut(s, KAON_GATE_START)) KAON_TRY(kaon_blas_zero(s->work[P], &fresh));
  KAON_TRY(kaon_blas_dot(s->work[P], s->r, slots, &sums));
  return kaon_blas_axpy(KAON_MINUS(KAON_S_OVERLAP), s->r, s->work[P], &last);
}

static kaon_status finish(kaon_solver *s, int gate) {
  const kaon_pass plain = kaon_gated(s, gate);
  return kaon_blas_axpy(KAON_PLUS(KAON_S_ALPHA), s->work[P], s->x_inner, &plain);
}

const kaon_method_ops kaon_method_cg = {
    .name = "cg",
    .vectors = VECTORS,
    .scratch = Q,
    .applications = 1,
    .delta = {0, 0.1, 0.1},
    .delta_restart = {0, 1e-3, 1e-2},
    .step = step,
    .start = start,
    .renew = renew,
    .finish = finish,
};
