/* bicgstab.c - stabilised bi-conjugate gradients for general A.
 * Source: van der Vorst, SIAM J. Sci. Stat. Comput. 13 (1992) 631.
 *   p = r + beta (p - omega v)
 *   v = A p;                       alpha = (r0, r) / (r0, v)
 *   r -= alpha v                   (the paper's s)
 *   t = A r;                       omega = (t, r) / (t, t)
 *   x += alpha p + omega r;  r -= omega t;  beta = (r0, r') / (r0, r) alpha / omega
 * Storage: r0, p, v, t. A step: 2 A with their sums in the same pass, or separately as in cg.c.
 * Vectors read 10 (separately 14), written 4 by kernels 3 (separately 5); also r0 in A's pass
 * unless its dot is separate. Each of alpha, omega and beta is needed before the next kernel, so no
 * two kernels can be merged.
 *
 * With a preconditioner K, on the right: v = A (K p), t = A (K r), x += alpha K p + omega K r. r
 * stays b - A x whatever K does. Storage: K p, K r more. A step: 2 A and 2 K; vectors besides K's:
 * read 11 (separately 15), written 4. */
#include "solvers/engine/method.h"

enum { R0, P, V, T, KP, KR, VECTORS = KP };

/* x += alpha p + omega r, r -= omega t, with K p and K r in x; then (r, r) and (r0, r). */
static kaon_status solution(kaon_solver *s) {
  kaon_vector *r = s->r, **v = s->work, *both[2] = {v[KP], v[KR]};
  const kaon_coefficient c[2] = {KAON_PLUS(KAON_S_ALPHA), KAON_PLUS(KAON_S_OMEGA)};
  const kaon_pass plain = kaon_gated(s, KAON_GATE_STEP);
  const kaon_pass beta =
      kaon_gated_dot(s, KAON_GATE_STEP, KAON_S_R2, v[R0], KAON_S_RHO_NEW, KAON_REC_BICGSTAB_BETA);
  if (s->K == NULL)
    return kaon_blas_bicgstab_solution(c[0], v[P], c[1], r, KAON_MINUS(KAON_S_OMEGA), v[T],
                                       s->x_inner, &beta);
  KAON_TRY(kaon_blas_multi_axpy(2, c, both, s->x_inner, &plain));
  return kaon_blas_axpy(KAON_MINUS(KAON_S_OMEGA), v[T], r, &beta);
}

static kaon_status step(kaon_solver *s, int position) {
  kaon_vector *r = s->r, *r0 = s->work[R0], *p = s->work[P], *v = s->work[V], *t = s->work[T];
  const int precond_vector = s->K != NULL;
  const kaon_pass plain = kaon_gated(s, KAON_GATE_STEP);
  const kaon_pass s2 = kaon_gated_norm(s, KAON_GATE_STEP, KAON_S_Q2, KAON_REC_NONE);
  const kaon_pass alpha =
      kaon_gated_dot(s, KAON_GATE_STEP, KAON_NO_SLOT, r0, KAON_S_R0V, KAON_REC_BICGSTAB_ALPHA);
  const kaon_pass omega =
      kaon_gated_dot(s, KAON_GATE_STEP, KAON_S_T2, r, KAON_S_ST, KAON_REC_BICGSTAB_OMEGA);
  (void)position;
  KAON_TRY(kaon_blas_bicgstab_direction(r, KAON_PLUS(KAON_S_BETA), p, KAON_MINUS(KAON_S_OMEGA), v,
                                        &plain));
  if (precond_vector) KAON_TRY(kaon_precondition(s, KAON_PLAIN, p, s->work[KP], &plain));
  KAON_TRY(kaon_operator_run(s->inner, KAON_PLAIN, precond_vector ? s->work[KP] : p, v, &alpha));
  KAON_TRY(kaon_blas_axpy(KAON_MINUS(KAON_S_ALPHA), v, r, &s2));
  if (precond_vector) KAON_TRY(kaon_precondition(s, KAON_PLAIN, r, s->work[KR], &plain));
  KAON_TRY(kaon_operator_run(s->inner, KAON_PLAIN, precond_vector ? s->work[KR] : r, t, &omega));
  return solution(s);
}

static kaon_status start(kaon_solver *s) {
  const kaon_pass plain = kaon_gated(s, KAON_GATE_START);
  KAON_TRY(kaon_blas_copy(s->r, s->work[R0], &plain));
  KAON_TRY(kaon_blas_zero(s->work[P], &plain));
  KAON_TRY(kaon_blas_zero(s->work[V], &plain));
  return kaon_recur(s, KAON_GATE_START, KAON_REC_BICGSTAB_START);
}

static kaon_status continue_process(kaon_solver *s) {
  const int slots[3] = {KAON_S_RHO_NEW, KAON_NO_SLOT, KAON_NO_SLOT};
  const kaon_pass sums =
      kaon_gated_norm(s, KAON_GATE_CONTINUE, KAON_NO_SLOT, KAON_REC_BICGSTAB_CONTINUE);
  return kaon_blas_dot(s->work[R0], s->r, slots, &sums);
}

const kaon_method_ops kaon_method_bicgstab = {
    .title = "BiCGStab",
    .traits = KAON_METHOD_PRECONDITIONED,
    .storage = {.vectors = VECTORS, .general = 2, .diagonal = 2, .scratch = T},
    .products = {.step = 2},
    .preconditions = {.step = 2},
    .cost = {{4, 0, 10, 4}, {4, 0, 11, 4}},
    .replacement = {.delta = {0, 0.1, 0.1}, .delta_restart = {0, 1e-3, 1e-2}},
    .step = step,
    .start = start,
    .continue_process = continue_process,
};
