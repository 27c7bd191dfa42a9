/* mr.c - minimal residual iteration with relaxation, for A with positive definite Hermitian part.
 * Source: Eisenstat, Elman, Schultz, SIAM J. Numer. Anal. 20 (1983) 345 (GCR with k = 0).
 *   q = A r;   alpha = relaxation (q, r) / (q, q)
 *   x += alpha r;  r -= alpha q
 * Storage: q. A step: 1 A with its sums in the same pass, or separately as in cg.c; vectors read 3
 * (separately 5), written 2 by kernels 1 (separately 2). */
#include "solvers/engine/method.h"

enum { Q, VECTORS };

static kaon_status step(kaon_solver *s, int position) {
  kaon_vector *r = s->r, *q = s->work[Q];
  const kaon_pass alpha =
      kaon_gated_dot(s, KAON_GATE_STEP, KAON_S_Q2, r, KAON_S_RQ, KAON_REC_MR_ALPHA);
  const kaon_pass residual = kaon_gated_norm(s, KAON_GATE_STEP, KAON_S_R2, KAON_REC_MR_RESIDUAL);
  (void)position;
  KAON_TRY(kaon_operator_run(s->inner, KAON_PLAIN, r, q, &alpha));
  /* the first term is 0 q; q is in cache for the last term */
  return kaon_blas_bicgstab_solution(KAON_NUMBER(0), q, KAON_PLUS(KAON_S_ALPHA), r,
                                     KAON_MINUS(KAON_S_ALPHA), q, s->x_inner, &residual);
}

const kaon_method_ops kaon_method_mr = {
    .title = "MR",
    .option = "relaxation",
    .traits = KAON_METHOD_FIXED_STEPS,
    .storage = {.vectors = VECTORS, .scratch = Q},
    .products = {.step = 1},
    .cost = {{2, 0, 3, 2}},
    .replacement = {.delta = {0, 0.1, 0.1}, .delta_restart = {0, 0.1, 0.1}},
    .step = step,
};
