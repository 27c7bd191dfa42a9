/* bicgstab.c - stabilised bi-conjugate gradients for general A.
 * Source: van der Vorst, SIAM J. Sci. Stat. Comput. 13 (1992) 631.
 *   p = r + beta (p - omega v)
 *   v = A p;                       alpha = (r0, r) / (r0, v)
 *   r -= alpha v                   (the paper's s)
 *   t = A r;                       omega = (t, r) / (t, t)
 *   x += alpha p + omega r;  r -= omega t;  beta = (r0, r') / (r0, r) alpha / omega
 * Storage: r0, p, v, t. A step: 2 A with their sums in the same pass; vectors read 10, written 4 by
 * kernels 3, besides r0 read in A's pass. Each alpha, omega, beta is needed before the next kernel,
 * so no two of them can be one. */
#include "solvers/method.h"

enum { R0, P, V, T, VECTORS };

static kaon_status step(kaon_solver *s, int position) {
  kaon_vector *r = s->r, *r0 = s->work[R0], *p = s->work[P], *v = s->work[V], *t = s->work[T];
  const kaon_pass plain = kaon_gated(s, KAON_GATE_STEP);
  const kaon_pass s2 = kaon_gated_norm(s, KAON_GATE_STEP, KAON_S_Q2, KAON_REC_NONE);
  const kaon_pass alpha =
      kaon_gated_dot(s, KAON_GATE_STEP, KAON_NO_SLOT, r0, KAON_S_R0V, KAON_REC_BICGSTAB_ALPHA);
  const kaon_pass omega =
      kaon_gated_dot(s, KAON_GATE_STEP, KAON_S_T2, r, KAON_S_ST, KAON_REC_BICGSTAB_OMEGA);
  const kaon_pass beta =
      kaon_gated_dot(s, KAON_GATE_STEP, KAON_S_R2, r0, KAON_S_RHO_NEW, KAON_REC_BICGSTAB_BETA);
  (void)position;
  KAON_TRY(kaon_blas_bicgstab_direction(r, KAON_PLUS(KAON_S_BETA), p, KAON_MINUS(KAON_S_OMEGA), v,
                                        &plain));
  KAON_TRY(kaon_operator_run(s->inner, KAON_PLAIN, p, v, &alpha));
  KAON_TRY(kaon_blas_axpy(KAON_MINUS(KAON_S_ALPHA), v, r, &s2));
  KAON_TRY(kaon_operator_run(s->inner, KAON_PLAIN, r, t, &omega));
  return kaon_blas_bicgstab_solution(KAON_PLUS(KAON_S_ALPHA), p, KAON_PLUS(KAON_S_OMEGA), r,
                                     KAON_MINUS(KAON_S_OMEGA), t, s->x_inner, &beta);
}

static kaon_status start(kaon_solver *s) {
  const kaon_pass plain = kaon_gated(s, KAON_GATE_START);
  KAON_TRY(kaon_blas_copy(s->r, s->work[R0], &plain));
  KAON_TRY(kaon_blas_zero(s->work[P], &plain));
  KAON_TRY(kaon_blas_zero(s->work[V], &plain));
  return kaon_recur(s, KAON_GATE_START, KAON_REC_BICGSTAB_START);
}

static kaon_status inject(kaon_solver *s) {
  const int slots[3] = {KAON_S_RHO_NEW, KAON_NO_SLOT, KAON_NO_SLOT};
  const kaon_pass sums =
      kaon_gated_norm(s, KAON_GATE_INJECT, KAON_NO_SLOT, KAON_REC_BICGSTAB_INJECT);
  return kaon_blas_dot(s->work[R0], s->r, slots, &sums);
}

static kaon_status finish(kaon_solver *s, int gate) {
  (void)s;
  (void)gate;
  return KAON_OK;
}

const kaon_method_ops kaon_method_bicgstab = {
    .name = "bicgstab",
    .vectors = VECTORS,
    .scratch = T,
    .applications = 2,
    .delta = {0, 0.1, 0.1},
    .delta_restart = {0, 1e-3, 1e-2},
    .step = step,
    .start = start,
    .inject = inject,
    .finish = finish,
};
