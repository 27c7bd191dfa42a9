/* pipecg.c - pipelined conjugate gradients for Hermitian positive definite A: one sum over ranks a
 * step, hidden behind the operator.
 * Source: Ghysels, Vanroose, Parallel Comput. 40 (2014) 224, algorithm 3 without preconditioner.
 *   z = q + beta z;  s = w + beta s;  p = r + beta p             (z = A s, s = A p, w = A r)
 *   x += alpha p;  r -= alpha s;  w -= alpha z;                  (r, r), (r, w) are started
 *   q = A w                                                      meanwhile
 *   beta = (r, r) / (r, r)_before;  alpha = (r, r) / ((r, w) - beta (r, r) / alpha_before)
 * All vectors but q follow recurrences, whose rounding errors are amplified: Cools, Yetkin, Agullo,
 * Giraud, Vanroose, SIAM J. Matrix Anal. Appl. 39 (2018) 426. So each of them is made anew at a
 * residual replacement, in double too, where replacements come by a rule of their own (method.h).
 * Half precision is refused: within some steps w is rounding alone where r is smooth.
 * Storage: p, s, z, w, q. A step: 1 A; vectors read 7, written 6 by kernels 1, the least: each of
 * the seven takes part between two sums. */
#include "solvers/method.h"

enum { P, S, Z, W, Q, VECTORS };

static kaon_status step(kaon_solver *s, int position) {
  static const int slots[2] = {KAON_S_R2, KAON_S_RW};
  kaon_vector **v = s->work;
  const kaon_pipecg_vectors all = {
      .q = v[Q], .z = v[Z], .w = v[W], .s = v[S], .r = s->r, .p = v[P], .x = s->x_inner};
  const kaon_pass plain = kaon_gated(s, KAON_GATE_STEP);
  kaon_pass sums = kaon_gated_norm(s, KAON_GATE_STEP, KAON_NO_SLOT, KAON_REC_PIPECG_STEP);
  sums.split = KAON_SUM_START;
  (void)position;
  KAON_TRY(kaon_blas_pipecg(KAON_S_ALPHA, KAON_S_BETA, &all, slots, &sums));
  KAON_TRY(kaon_operator_run(s->inner, KAON_PLAIN, v[W], v[Q], &plain));
  return kaon_blas_finish(s->ctx, &sums);
}

static kaon_status start(kaon_solver *s) {
  kaon_vector **v = s->work;
  const kaon_pass plain = kaon_gated(s, KAON_GATE_START);
  const kaon_pass rw =
      kaon_gated_dot(s, KAON_GATE_START, KAON_NO_SLOT, s->r, KAON_S_RW, KAON_REC_NONE);
  for (int i = P; i <= Z; i++) KAON_TRY(kaon_blas_zero(v[i], &plain));
  KAON_TRY(kaon_operator_run(s->inner, KAON_PLAIN, s->r, v[W], &rw));
  KAON_TRY(kaon_operator_run(s->inner, KAON_PLAIN, v[W], v[Q], &plain));
  return kaon_recur(s, KAON_GATE_START, KAON_REC_PIPECG_START);
}

/* p is made orthogonal to the new r, and all that is made of the two, anew. */
static kaon_status inject(kaon_solver *s) {
  static const int overlap[3] = {KAON_S_OVERLAP, KAON_NO_SLOT, KAON_S_R2}; /* (p, r), (r, r) */
  static const int ps[3] = {KAON_S_DENOMINATOR, KAON_NO_SLOT, KAON_NO_SLOT};
  kaon_vector **v = s->work;
  const int gate = KAON_GATE_INJECT;
  const kaon_pass plain = kaon_gated(s, gate);
  const kaon_pass sums = kaon_gated_norm(s, gate, KAON_NO_SLOT, KAON_REC_CG_RENEW);
  const kaon_pass rw = kaon_gated_dot(s, gate, KAON_NO_SLOT, s->r, KAON_S_RW, KAON_REC_NONE);
  const kaon_pass rs = kaon_gated_dot(s, gate, KAON_NO_SLOT, s->r, KAON_S_RS, KAON_REC_NONE);
  const kaon_pass end = kaon_gated_norm(s, gate, KAON_NO_SLOT, KAON_REC_PIPECG_INJECT);
  if (kaon_gate_shut(s, gate)) return KAON_OK;
  KAON_TRY(kaon_blas_dot(v[P], s->r, overlap, &sums));
  KAON_TRY(kaon_blas_axpy(KAON_MINUS(KAON_S_OVERLAP), s->r, v[P], &plain));
  KAON_TRY(kaon_operator_run(s->inner, KAON_PLAIN, s->r, v[W], &rw));
  KAON_TRY(kaon_operator_run(s->inner, KAON_PLAIN, v[P], v[S], &rs));
  KAON_TRY(kaon_operator_run(s->inner, KAON_PLAIN, v[S], v[Z], &plain));
  KAON_TRY(kaon_operator_run(s->inner, KAON_PLAIN, v[W], v[Q], &plain));
  return kaon_blas_dot(v[P], v[S], ps, &end);
}

static kaon_status finish(kaon_solver *s, int gate) {
  (void)s;
  (void)gate;
  return KAON_OK;
}

const kaon_method_ops kaon_method_pipecg = {
    .name = "pipecg",
    .vectors = VECTORS,
    .scratch = Q,
    .applications = 1,
    .at_start = 2,
    .at_inject = 4,
    .hidden = 1,
    .no_half = 1,
    .delta = {0, 0.1, 0},
    .delta_restart = {0, 1e-3, 0},
    .delta_alone = 1e-4,
    .step = step,
    .start = start,
    .inject = inject,
    .finish = finish,
};
