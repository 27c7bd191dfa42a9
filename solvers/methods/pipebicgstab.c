/* pipebicgstab.c - pipelined stabilised bi-conjugate gradients for general A: two sums over ranks a
 * step, each hidden behind an application of the operator.
 * Source: Cools, Vanroose, Parallel Comput. 65 (2017) 1, algorithm 9 without preconditioner; its
 * residual replacement, section 4.
 *   p = r + beta (p - omega s);  s = w + beta (s - omega z);  z = t + beta (z - omega v)
 *   r -= alpha s;  w -= alpha z  (the paper's q, y);             (w, r), (w, w), (r0, s), (r0, z)
 *   v = A z                                                      meanwhile
 *   omega = (w, r) / (w, w)
 *   x += alpha p + omega r;  r -= omega w;  w -= omega (t - alpha v);  (r, r), (r0, r), (r0, w)
 *   t = A w                                                      meanwhile
 *   beta = (r0, r) / (r0, r)_before alpha / omega
 *   alpha = (r0, r) / ((r0, w) + beta ((r0, s) - omega (r0, z)))
 * s = A p, w = A r, z = A s, t = A w follow recurrences and are recomputed at a residual
 * replacement. Replacements occur in double too, with their own default (method.h). (r0, s) and
 * (r0, z) are summed in the pass that updates s and z, not with the second sum as in the paper.
 * Storage: r0, p, s, z, v, w, t. A step: 2 A; vectors read 15, written 8 by kernels 2: all updates
 * between two sums are one pass.
 *
 * With a preconditioner K, on the right, the method solves A K y = b, which has the residual of A x
 * = b. A K replaces A, y accumulates the steps, and x += K y is done once a service. So K must be
 * linear and the same in each step, which the recurrences of s, w and z also need. (Algorithm 11 in
 * the paper has recurrences for K p, K s, K w and K r instead: 9 more vectors to read and write.)
 * Storage: y and K's result more. A step: 2 A, 2 K; vectors besides K's: read 15, written 8. */
#include "solvers/engine/method.h"

enum { R0, P, S, Z, V, W, T, Y, PRECONDITIONED, VECTORS = Y };

static kaon_pipebicgstab_vectors vectors(const kaon_solver *s) {
  kaon_vector *const *v = s->work;
  return (kaon_pipebicgstab_vectors){.r0 = v[R0],
                                     .t = v[T],
                                     .v = v[V],
                                     .r = s->r,
                                     .w = v[W],
                                     .p = v[P],
                                     .s = v[S],
                                     .z = v[Z],
                                     .x = s->K != NULL ? v[Y] : s->x_inner};
}

/* y = A K x */
static kaon_status image(kaon_solver *s, const kaon_vector *x, kaon_vector *y,
                         const kaon_pass *pass) {
  const kaon_pass gate = kaon_pass_gate_only(pass);
  kaon_vector *precond_vector = s->work[PRECONDITIONED];
  if (s->K == NULL) return kaon_operator_run(s->inner, KAON_PLAIN, x, y, pass);
  KAON_TRY(kaon_precondition(s, KAON_PLAIN, x, precond_vector, &gate));
  return kaon_operator_run(s->inner, KAON_PLAIN, precond_vector, y, pass);
}

static kaon_status step(kaon_solver *s, int position) {
  static const int first[4] = {KAON_S_ST, KAON_S_T2, KAON_S_R0V, KAON_S_R0Z},
                   second[3] = {KAON_S_R2, KAON_S_RHO_NEW, KAON_S_R0W};
  kaon_vector **v = s->work;
  const kaon_pipebicgstab_vectors all = vectors(s);
  const kaon_pass plain = kaon_gated(s, KAON_GATE_STEP);
  kaon_pass omega = kaon_gated_norm(s, KAON_GATE_STEP, KAON_NO_SLOT, KAON_REC_PIPEBI_OMEGA);
  kaon_pass end = kaon_gated_norm(s, KAON_GATE_STEP, KAON_NO_SLOT, KAON_REC_PIPEBI_STEP);
  omega.sum = end.sum = KAON_SUM_BEGIN;
  (void)position;
  KAON_TRY(kaon_blas_pipebicgstab_direction(KAON_S_ALPHA, KAON_S_BETA, KAON_S_OMEGA, &all, first,
                                            &omega));
  KAON_TRY(image(s, v[Z], v[V], &plain));
  KAON_TRY(kaon_pass_complete(&omega));
  KAON_TRY(kaon_blas_pipebicgstab_solution(KAON_S_ALPHA, KAON_S_OMEGA, &all, second, &end));
  KAON_TRY(image(s, v[W], v[T], &plain));
  return kaon_pass_complete(&end);
}

/* y = A K x and slot <- (r0, y) */
static kaon_status apply(kaon_solver *s, int gate, const kaon_vector *x, kaon_vector *y, int slot) {
  const kaon_pass sums = kaon_gated_dot(s, gate, KAON_NO_SLOT, s->work[R0], slot, KAON_REC_NONE);
  return image(s, x, y, &sums);
}

static kaon_status start(kaon_solver *s) {
  kaon_vector **v = s->work;
  const kaon_pass plain = kaon_gated(s, KAON_GATE_START);
  if (kaon_gate_closed(s, KAON_GATE_START)) return KAON_OK;
  KAON_TRY(kaon_blas_copy(s->r, v[R0], &plain));
  for (int i = P; i <= V; i++) KAON_TRY(kaon_blas_zero(v[i], &plain));
  if (s->K != NULL) KAON_TRY(kaon_blas_zero(v[Y], &plain));
  KAON_TRY(apply(s, KAON_GATE_START, s->r, v[W], KAON_S_R0W));
  KAON_TRY(image(s, v[W], v[T], &plain));
  return kaon_recur(s, KAON_GATE_START, KAON_REC_PIPEBI_START);
}

static kaon_status continue_process(kaon_solver *s) {
  kaon_vector **v = s->work;
  const int slots[3] = {KAON_S_RHO_NEW, KAON_NO_SLOT, KAON_NO_SLOT};
  const kaon_pass plain = kaon_gated(s, KAON_GATE_CONTINUE);
  const kaon_pass sums =
      kaon_gated_norm(s, KAON_GATE_CONTINUE, KAON_NO_SLOT, KAON_REC_PIPEBI_CONTINUE);
  if (kaon_gate_closed(s, KAON_GATE_CONTINUE)) return KAON_OK;
  KAON_TRY(apply(s, KAON_GATE_CONTINUE, s->r, v[W], KAON_S_R0W));
  KAON_TRY(apply(s, KAON_GATE_CONTINUE, v[P], v[S], KAON_S_R0V));
  KAON_TRY(apply(s, KAON_GATE_CONTINUE, v[S], v[Z], KAON_S_R0Z));
  KAON_TRY(image(s, v[Z], v[V], &plain));
  KAON_TRY(image(s, v[W], v[T], &plain));
  return kaon_blas_dot(v[R0], s->r, slots, &sums);
}

static kaon_status finish(kaon_solver *s, int gate) {
  kaon_vector **v = s->work;
  const kaon_pass plain = kaon_gated(s, gate);
  if (s->K == NULL || kaon_gate_closed(s, gate)) return KAON_OK;
  KAON_TRY(kaon_precondition(s, KAON_PLAIN, v[Y], v[PRECONDITIONED], &plain));
  KAON_TRY(kaon_blas_axpy(KAON_NUMBER(1), v[PRECONDITIONED], s->x_inner, &plain));
  return kaon_blas_zero(v[Y], &plain);
}

const kaon_method_ops kaon_method_pipebicgstab = {
    .title = "pipelined BiCGStab",
    .traits = KAON_METHOD_PRECONDITIONED | KAON_METHOD_FUSED,
    .storage = {.vectors = VECTORS, .general = 2, .diagonal = 2, .scratch = T},
    .products = {.step = 2, .start = 2, .proceed = 5, .hidden = 1},
    .preconditions = {.step = 2, .start = 2, .proceed = 5, .finish = 1},
    .cost = {{0, 2, 15, 8}, {0, 2, 15, 8}},
    .replacement = {.delta = {0, 0.1, 0.1}, .delta_restart = {0, 1e-3, 1e-2}, .delta_alone = 1e-2},
    .step = step,
    .start = start,
    .continue_process = continue_process,
    .finish = finish,
};
