/* fcg.c - flexible conjugate gradients for Hermitian positive definite A, with a preconditioner K
 * that may change from step to step, such as a nested solver.
 * Source: Notay, SIAM J. Sci. Comput. 22 (2000) 1444, FCG(1). Its beta is that of Polak and
 * Ribiere.
 *   x += alpha p (of the step before);  p = z + beta p
 *   q = A p;        alpha = (r, z) / (p, q)
 *   r -= alpha q
 *   z = K r;        beta = (r' - r, z') / (r, z) = -alpha (q, z') / (r, z)
 * A prime marks values of the new step. This beta makes p conjugate to the direction before,
 * whatever K is. CG assumes (r, z') = 0, which holds if K is the same in each step. Then both
 * methods are the same. Without K the steps are those of cg.c. (r, z) must be positive.
 * Storage: p, q. A step: 1 A with its dot in the same pass, or separately as in cg.c. Vectors read 5
 * (separately 7), written 3 by kernels 2 (separately 3).
 * With K: z more. A step: 1 A, 1 K; (r, r), (r, z) and (q, z) are one message. Vectors besides K's:
 * read 8 (separately 10), written 3. */
#include "solvers/engine/method.h"

enum { P, Q, Z, VECTORS = Z };

static const kaon_vector *precond_vector(const kaon_solver *s) {
  return s->K != NULL ? s->work[Z] : s->r;
}

/* r -= alpha q, z = K r, (r, r), (r, z) and (q, z). */
static kaon_status residual(kaon_solver *s) {
  kaon_vector *q = s->work[Q], *z = s->work[Z], *against[2] = {s->r, q};
  const kaon_pass plain = kaon_gated(s, KAON_GATE_STEP);
  kaon_pass norm = kaon_gated_norm(s, KAON_GATE_STEP, KAON_S_R2, KAON_REC_CG_BETA);
  kaon_pass beta = kaon_gated_norm(s, KAON_GATE_STEP, KAON_NO_SLOT, KAON_REC_FCG_BETA);
  if (s->K == NULL) return kaon_blas_axpy(KAON_MINUS(KAON_S_ALPHA), q, s->r, &norm);
  norm.then = KAON_REC_NONE;
  norm.sum = KAON_SUM_DEFER;
  KAON_TRY(kaon_blas_axpy(KAON_MINUS(KAON_S_ALPHA), q, s->r, &norm));
  KAON_TRY(kaon_precondition(s, KAON_PLAIN, s->r, z, &plain));
  return kaon_blas_multi_dot(2, against, z, KAON_S_RZ, &beta);
}

static kaon_status step(kaon_solver *s, int position) {
  kaon_vector *p = s->work[P], *q = s->work[Q];
  const kaon_pass plain = kaon_gated(s, KAON_GATE_STEP);
  const kaon_pass alpha =
      kaon_gated_dot(s, KAON_GATE_STEP, KAON_NO_SLOT, p, KAON_S_DENOMINATOR, KAON_REC_CG_ALPHA);
  (void)position;
  KAON_TRY(kaon_blas_axpy_xpay(KAON_PLUS(KAON_S_ALPHA), p, s->x_inner, precond_vector(s),
                               KAON_PLUS(KAON_S_BETA), &plain));
  KAON_TRY(kaon_operator_run(s->inner, KAON_PLAIN, p, q, &alpha));
  return residual(s);
}

const kaon_method_ops kaon_method_fcg = {
    .title = "flexible CG",
    .traits = KAON_METHOD_HERMITIAN | KAON_METHOD_PRECONDITIONED | KAON_METHOD_FLEXIBLE,
    .storage = {.vectors = VECTORS, .general = 1, .diagonal = 1, .scratch = Q},
    .products = {.step = 1},
    .preconditions = {.step = 1, .start = 1, .proceed = 1},
    .cost = {{2, 0, 5, 3}, {2, 0, 8, 3}},
    .replacement = {.delta = {0, 0.1, 0.1}, .delta_restart = {0, 1e-3, 1e-2}},
    .flags = KAON_FLAG_SPACED,
    .step = step,
    .start = kaon_start_cg,
    .renew = kaon_renew_cg,
    .finish = kaon_finish_late,
};
