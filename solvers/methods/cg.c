/* cg.c - conjugate gradients for Hermitian positive definite A.
 * Source: Hestenes, Stiefel, J. Res. Natl. Bur. Stand. 49 (1952) 409.
 *   x += alpha p (of the step before);  p = r + beta p
 *   q = A p;        alpha = (r, r) / (p, A p)
 *   r -= alpha q;   beta = (r', r') / (r, r)
 * x is updated one step late. So it shares a pass with p, and a column can freeze after its
 * residual.
 * Storage: p, q. A step: 1 A with its dot in the same pass, or separately in a kernel of its own,
 * where that is faster for A (bench/notes/design-step-costs.md). Vectors read 5 (separately 7),
 * written 3 by kernels 2 (separately 3). This is the least: between two sums each of x, p, r is
 * read once, with A p.
 *
 * With a Hermitian positive definite preconditioner K (Concus, Golub, O'Leary, in Sparse Matrix
 * Computations, Academic Press (1976) 309) z = K r replaces r in p, and (r, z) replaces (r, r) in
 * alpha and beta. (r, r) still stops the column, and both sums are one message. Storage: z more. A
 * step: 1 A and 1 K with its dot; vectors besides K's: read 5 (separately 7), written 3. If K
 * multiplies by a vector d (Jacobi), r, z and both sums are one pass; with d: read 6 (separately
 * 8), written 4. */
#include "blas/precond_updates.h"
#include "solvers/spectra/deflate.h"

enum { P, Q, Z, VECTORS = Z };

/* r -= alpha q, z = K r, (r, r) and (r, z). */
static kaon_status residual(kaon_solver *s) {
  static const int slots[2] = {KAON_S_R2, KAON_S_RZ};
  kaon_vector *q = s->work[Q], *z = s->work[Z];
  kaon_pass norm = kaon_gated_norm(s, KAON_GATE_STEP, KAON_S_R2, KAON_REC_CG_BETA);
  const kaon_pass beta = kaon_gated_norm(s, KAON_GATE_STEP, KAON_NO_SLOT, KAON_REC_PCG_BETA);
  const kaon_pass rz =
      kaon_gated_dot(s, KAON_GATE_STEP, KAON_NO_SLOT, s->r, KAON_S_RZ, KAON_REC_PCG_BETA);
  if (s->K == NULL) return kaon_blas_axpy(KAON_MINUS(KAON_S_ALPHA), q, s->r, &norm);
  if (s->process.scaling != NULL)
    return kaon_blas_residual_scaled(KAON_MINUS(KAON_S_ALPHA), q, s->r, s->process.scaling, z,
                                     slots, &beta);
  norm.then = KAON_REC_NONE;
  norm.sum = KAON_SUM_DEFER;
  KAON_TRY(kaon_blas_axpy(KAON_MINUS(KAON_S_ALPHA), q, s->r, &norm));
  return kaon_precondition(s, KAON_PLAIN, s->r, z, &rz);
}

static kaon_status step(kaon_solver *s, int position) {
  kaon_vector *p = s->work[P], *q = s->work[Q];
  const kaon_vector *z = s->K != NULL ? s->work[Z] : s->r;
  const kaon_pass plain = kaon_gated(s, KAON_GATE_STEP);
  const kaon_pass alpha =
      kaon_gated_dot(s, KAON_GATE_STEP, KAON_NO_SLOT, p, KAON_S_DENOMINATOR, KAON_REC_CG_ALPHA);
  (void)position;
  KAON_TRY(kaon_blas_axpy_xpay(KAON_PLUS(KAON_S_ALPHA), p, s->x_inner, z, KAON_PLUS(KAON_S_BETA),
                               &plain));
  KAON_TRY(kaon_operator_run(s->inner, KAON_PLAIN, p, q, &alpha));
  return residual(s);
}

kaon_status kaon_start_cg(kaon_solver *s) {
  const kaon_pass plain = kaon_gated(s, KAON_GATE_START);
  const kaon_pass rz =
      kaon_gated_dot(s, KAON_GATE_START, KAON_NO_SLOT, s->r, KAON_S_RZ, KAON_REC_PCG_START);
  KAON_TRY(kaon_blas_zero(s->work[P], &plain));
  if (s->K != NULL) return kaon_precondition(s, KAON_PLAIN, s->r, s->work[Z], &rz);
  return kaon_recur(s, KAON_GATE_START, KAON_REC_CG_START);
}

kaon_status kaon_renew_cg(kaon_solver *s) {
  const kaon_vector *z = s->K != NULL ? s->work[Z] : s->r;
  const int slots[3] = {KAON_S_OVERLAP, KAON_NO_SLOT, KAON_S_R2}; /* (p, r), (r, r) */
  const int then = s->K != NULL ? KAON_REC_PCG_RENEW : KAON_REC_CG_RENEW;
  const kaon_pass fresh = kaon_gated(s, KAON_GATE_START);
  kaon_pass last = kaon_gated_norm(s, KAON_GATE_RENEW, KAON_NO_SLOT, KAON_REC_RESUME);
  const kaon_pass sums = kaon_gated_norm(s, KAON_GATE_RENEW, KAON_NO_SLOT, then);
  const kaon_pass rz =
      kaon_gated_dot(s, KAON_GATE_RENEW, KAON_NO_SLOT, s->r, KAON_S_RZ, KAON_REC_NONE);
  if (!kaon_gate_closed(s, KAON_GATE_START)) KAON_TRY(kaon_blas_zero(s->work[P], &fresh));
  if (s->K != NULL && !kaon_gate_closed(s, KAON_GATE_RENEW))
    KAON_TRY(kaon_precondition(s, KAON_PLAIN, s->r, s->work[Z], &rz));
  KAON_TRY(kaon_blas_dot(s->work[P], s->r, slots, &sums));
  if (s->deflation != NULL) last.then = KAON_REC_NONE;
  KAON_TRY(kaon_blas_axpy(KAON_MINUS(KAON_S_OVERLAP), z, s->work[P], &last));
  return s->deflation != NULL ? kaon_deflation_renew(s, s->work[P], z) : KAON_OK;
}

kaon_status kaon_finish_late(kaon_solver *s, int gate) {
  const kaon_pass plain = kaon_gated(s, gate);
  return kaon_blas_axpy(KAON_PLUS(KAON_S_ALPHA), s->work[P], s->x_inner, &plain);
}

const kaon_method_ops kaon_method_cg = {
    .title = "CG",
    .traits = KAON_METHOD_HERMITIAN | KAON_METHOD_PRECONDITIONED | KAON_METHOD_DEFLATES,
    .storage = {.vectors = VECTORS, .general = 1, .diagonal = 1, .scratch = Q},
    .products = {.step = 1},
    .preconditions = {.step = 1, .start = 1, .proceed = 1},
    .cost = {{2, 0, 5, 3}, {2, 0, 5, 3}, {2, 0, 6, 4}},
    .replacement = {.delta = {0, 0.1, 0.1}, .delta_restart = {0, 1e-3, 1e-2}},
    .flags = KAON_FLAG_SPACED,
    .normal = &kaon_method_cgnr,
    .step = step,
    .start = kaon_start_cg,
    .renew = kaon_renew_cg,
    .finish = kaon_finish_late,
};
