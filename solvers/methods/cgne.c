/* cgne.c - conjugate gradients on A A^dag y = b, x = A^dag y ("Craig's method"): minimises the
 * error |x - A^-1 b|.
 * Source: Craig, J. Math. Phys. 34 (1955) 64; in this form Saad, Iterative Methods for Sparse
 * Linear Systems, 2nd edition, section 8.3.2.
 *   w = A^dag r;    x += alpha p (of the step before);  p = w + beta p;  alpha = (r, r) / (p, p)
 *   w = A p
 *   r -= alpha w;   beta = (r', r') / (r, r)
 * Storage: p, w. A step: 1 A^dag and 1 A; vectors read 5, written 3 by kernels 2, the least as in
 * cg.c. */
#include "solvers/engine/method.h"

enum { P, W, VECTORS };

static kaon_status step(kaon_solver *s, int position) {
  kaon_vector *p = s->work[P], *w = s->work[W];
  const kaon_pass plain = kaon_gated(s, KAON_GATE_STEP);
  const kaon_pass alpha = kaon_gated_norm(s, KAON_GATE_STEP, KAON_S_DENOMINATOR, KAON_REC_CG_ALPHA);
  const kaon_pass beta = kaon_gated_norm(s, KAON_GATE_STEP, KAON_S_R2, KAON_REC_CG_BETA);
  (void)position;
  KAON_TRY(kaon_operator_run(s->inner, KAON_DAGGER, s->r, w, &plain));
  KAON_TRY(kaon_blas_axpy_xpay(KAON_PLUS(KAON_S_ALPHA), p, s->x_inner, w, KAON_PLUS(KAON_S_BETA),
                               &alpha));
  KAON_TRY(kaon_operator_run(s->inner, KAON_PLAIN, p, w, &plain));
  return kaon_blas_axpy(KAON_MINUS(KAON_S_ALPHA), w, s->r, &beta);
}

static kaon_status start(kaon_solver *s) {
  const kaon_pass plain = kaon_gated(s, KAON_GATE_START);
  KAON_TRY(kaon_blas_zero(s->work[P], &plain));
  return kaon_recur(s, KAON_GATE_START, KAON_REC_CG_START);
}

/* (p, A^dag r) under the replaced residual; the denominator slot still holds (p, p). */
static kaon_status continue_process(kaon_solver *s) {
  const kaon_pass sums = kaon_gated_dot(s, KAON_GATE_CONTINUE, KAON_NO_SLOT, s->work[P],
                                        KAON_S_OVERLAP, KAON_REC_CGNE_CONTINUE);
  return kaon_operator_run(s->inner, KAON_DAGGER, s->r, s->work[W], &sums);
}

const kaon_method_ops kaon_method_cgne = {
    .title = "CGNE",
    .traits = KAON_METHOD_ADJOINT,
    .storage = {.vectors = VECTORS, .scratch = W},
    .products = {.step = 2, .proceed = 1},
    .cost = {{2, 0, 5, 3}},
    .replacement = {.delta = {0, 0.1, 0.1}, .delta_restart = {0, 1e-3, 1e-2}},
    .step = step,
    .start = start,
    .continue_process = continue_process,
    .finish = kaon_finish_late,
};
