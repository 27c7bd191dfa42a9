/* cgnr.c - conjugate gradients on the normal equations A^dag A x = A^dag b, with the residual of A.
 * Source: Hestenes, Stiefel, J. Res. Natl. Bur. Stand. 49 (1952) 409, section 10 ("CGLS"); its
 * stability: Bjorck, Elfving, Strakos, SIAM J. Matrix Anal. Appl. 19 (1998) 720.
 *   x += alpha p (of the step before);  p = s + beta p
 *   q = A p;        alpha = (s, s) / (q, q)
 *   r -= alpha q
 *   s = A^dag r;    beta = (s', s') / (s, s)
 * Both r and s are known, so either can stop the column. If r does, the column freezes before
 * A^dag. If s does, |r| is summed only when it is needed.
 * Storage: p, w (q, then s). A step: 1 A and 1 A^dag, each with its norm in the same pass; vectors
 * read 5, written 3 by kernels 2, the least as in cg.c. */
#include "solvers/spectra/deflate.h"
#include "lib/operator/fused_apply.h"

enum { P, W, VECTORS };

/* 1: |A^dag r| stops the process (KAON_FLAG_NORMAL). */
static int monitors_normal(const kaon_solver *s) {
  return s->options.stop == KAON_STOP_NORMAL && s->options.tol > 0;
}

static kaon_status step(kaon_solver *s, int position) {
  kaon_vector *p = s->work[P], *w = s->work[W];
  const kaon_pass plain = kaon_gated(s, KAON_GATE_STEP);
  const kaon_pass alpha = kaon_gated_norm(s, KAON_GATE_STEP, KAON_S_DENOMINATOR, KAON_REC_CG_ALPHA);
  const kaon_pass residual = kaon_gated_norm(s, KAON_GATE_STEP, KAON_S_R2, KAON_REC_CGNR_RESIDUAL);
  const kaon_pass beta = kaon_gated_norm(s, KAON_GATE_STEP, KAON_S_S2, KAON_REC_CGNR_BETA);
  (void)position;
  KAON_TRY(kaon_blas_axpy_xpay(KAON_PLUS(KAON_S_ALPHA), p, s->x_inner, w, KAON_PLUS(KAON_S_BETA),
                               &plain));
  KAON_TRY(kaon_operator_run(s->inner, KAON_PLAIN, p, w, &alpha));
  const kaon_updated_apply *updated =
      kaon_operator_capability(s->inner, KAON_CAPABILITY_UPDATED_APPLY);
  if (monitors_normal(s) && updated != NULL)
    return updated->apply(s->inner, KAON_DAGGER, KAON_S_ALPHA, -1, w, s->r, w, &beta);
  KAON_TRY(
      kaon_blas_axpy(KAON_MINUS(KAON_S_ALPHA), w, s->r, monitors_normal(s) ? &plain : &residual));
  return kaon_operator_run(s->inner, KAON_DAGGER, s->r, w, &beta);
}

static kaon_status start(kaon_solver *s) {
  const kaon_pass plain = kaon_gated(s, KAON_GATE_START);
  const kaon_pass sums = kaon_gated_norm(s, KAON_GATE_START, KAON_S_S2, KAON_REC_CGNR_START);
  KAON_TRY(kaon_blas_zero(s->work[P], &plain));
  return kaon_operator_run(s->inner, KAON_DAGGER, s->r, s->work[W], &sums);
}

static kaon_status renew(kaon_solver *s) {
  const kaon_pass fresh = kaon_gated(s, KAON_GATE_START);
  kaon_pass last = kaon_gated_norm(s, KAON_GATE_RENEW, KAON_NO_SLOT, KAON_REC_RESUME);
  const kaon_pass sums = kaon_gated_dot(s, KAON_GATE_RENEW, KAON_S_S2, s->work[P], KAON_S_OVERLAP,
                                        KAON_REC_CGNR_RENEW);
  if (!kaon_gate_closed(s, KAON_GATE_START)) KAON_TRY(kaon_blas_zero(s->work[P], &fresh));
  if (s->process.knows_dagger) { /* p = 0, so is (p, s), which nothing has written yet */
    const kaon_pass known = kaon_gated_norm(s, KAON_GATE_RENEW, KAON_S_S2, KAON_REC_CGNR_RENEW);
    KAON_TRY(kaon_blas_convert(s->outer.chosen_r, s->work[W], 0, &known));
    return kaon_recur(s, KAON_GATE_RENEW, KAON_REC_RESUME);
  }
  KAON_TRY(kaon_operator_run(s->inner, KAON_DAGGER, s->r, s->work[W], &sums)); /* (p, s), (s, s) */
  if (s->deflation != NULL) last.then = KAON_REC_NONE;
  KAON_TRY(kaon_blas_axpy(KAON_MINUS(KAON_S_OVERLAP), s->work[W], s->work[P], &last));
  return s->deflation != NULL ? kaon_deflation_renew(s, s->work[P], s->work[W]) : KAON_OK;
}

static kaon_status finish(kaon_solver *s, int gate) {
  const int slots[3] = {KAON_NO_SLOT, KAON_NO_SLOT, KAON_S_R2};
  const kaon_pass plain = kaon_gated(s, gate);
  if (monitors_normal(s)) KAON_TRY(kaon_blas_dot(s->r, s->r, slots, &plain));
  return kaon_finish_late(s, gate);
}

const kaon_method_ops kaon_method_cgnr = {
    .title = "CGNR",
    .traits = KAON_METHOD_NORMAL | KAON_METHOD_ADJOINT | KAON_METHOD_DEFLATES |
              KAON_METHOD_LATE_NORM | KAON_METHOD_TAKES_DAGGER,
    .storage = {.vectors = VECTORS, .scratch = W},
    .products = {.step = 2, .start = 1, .proceed = 1, .saved = 1},
    .cost = {{3, 0, 5, 3}},
    .replacement = {.delta = {0, 0.1, 0.3}, .delta_restart = {0, 1e-3, 1e-2}},
    .flags = KAON_FLAG_SPACED | KAON_FLAG_TRUST,
    .step = step,
    .start = start,
    .renew = renew,
    .finish = finish,
};
