/* rbicgstab.c - reordered BiCGStab for general A with a preconditioner K on the right: both sums
 * over ranks of a step hidden behind K.
 * Source: Krasnopolsky, Procedia Comput. Sci. 1 (2010) 213. Each product with A is computed before
 * the sums that use it, and K times it during these sums:
 *   z -= alpha s;  r -= alpha v                            (z = K r, s = K v)
 *   t = A z;       (t, t), (r, t), (r0, t), (r0, r) are started
 *   m = K t        meanwhile
 *   omega = (t, r) / (t, t);  rho' = (r0, r) - omega (r0, t);
 *   beta = (rho' / rho) (alpha / omega)
 *   x += alpha y + omega z;  r -= omega t;  z -= omega m;  y = z + beta (y - omega s)
 *   v = A y;       (r0, v), (r, r) are started             (y = K p of BiCGStab)
 *   s = K v        meanwhile
 *   alpha = rho / (r0, v)
 * The paper has rho' = -omega (r0, t), since (r0, r) = 0 there in exact arithmetic. After some
 * steps the rounding error of (r0, r) is as large as rho', and the process fails. (r0, r) is one
 * more value in the same message; as_printed of kaon/lab.h leaves it out. z and s follow recurrences and
 * are recomputed at a residual replacement. Replacements occur in double too, with their own
 * default. Without K copies take the place of K, and nothing hides the sums.
 * Storage: r0, y, v, t, z, s, m. A step: 2 A, and r0 read in the second's pass, or separately as in
 * cg.c; vectors read 17 (separately 19), written 8 by kernels 5 (separately 6), including copies.
 * With 2 K, vectors besides K's: read 15 (separately 17), written 6. */
#include "blas/precond_updates.h"
#include "solvers/engine/method.h"

enum { R0, Y, V, T, Z, S, M, VECTORS };

static kaon_rbicgstab_vectors vectors(const kaon_solver *s) {
  kaon_vector *const *v = s->work;
  return (kaon_rbicgstab_vectors){.r0 = v[R0],
                                  .s = v[S],
                                  .v = v[V],
                                  .t = v[T],
                                  .m = v[M],
                                  .z = v[Z],
                                  .y = v[Y],
                                  .r = s->r,
                                  .x = s->x_inner};
}

/* v = A y with (r0, v), s = K v during the sum, then the recurrence. */
static kaon_status image(kaon_solver *s, int gate, int then) {
  kaon_vector **v = s->work;
  const kaon_pass plain = kaon_gated(s, gate);
  kaon_pass sums = kaon_gated_dot(s, gate, KAON_NO_SLOT, v[R0], KAON_S_R0V, then);
  sums.sum = KAON_SUM_BEGIN;
  KAON_TRY(kaon_operator_run(s->inner, KAON_PLAIN, v[Y], v[V], &sums));
  KAON_TRY(kaon_precondition(s, KAON_PLAIN, v[V], v[S], &plain));
  return kaon_pass_complete(&sums);
}

static kaon_status step(kaon_solver *s, int position) {
  static const int half[2] = {KAON_S_Q2, KAON_S_CHI};
  kaon_vector **v = s->work, *against[2] = {s->r, v[R0]};
  const kaon_rbicgstab_vectors all = vectors(s);
  const kaon_pass plain = kaon_gated(s, KAON_GATE_STEP);
  kaon_pass keep = plain, norm = plain;
  kaon_pass omega = kaon_gated_norm(s, KAON_GATE_STEP, KAON_S_T2, KAON_REC_RBICGSTAB_OMEGA);
  keep.sum = norm.sum = KAON_SUM_DEFER;
  omega.sum = KAON_SUM_BEGIN;
  (void)position;
  KAON_TRY(kaon_blas_rbicgstab_half(KAON_S_ALPHA, &all, half, &keep));
  KAON_TRY(kaon_operator_run(s->inner, KAON_PLAIN, v[Z], v[T], &plain));
  KAON_TRY(kaon_blas_multi_dot(2, against, v[T], KAON_S_RT, &omega));
  KAON_TRY(kaon_precondition(s, KAON_PLAIN, v[T], v[M], &plain));
  KAON_TRY(kaon_pass_complete(&omega));
  KAON_TRY(
      kaon_blas_rbicgstab_end(KAON_S_ALPHA, KAON_S_OMEGA, KAON_S_BETA, &all, KAON_S_R2, &norm));
  return image(s, KAON_GATE_STEP, KAON_REC_RBICGSTAB_STEP);
}

static kaon_status start(kaon_solver *s) {
  kaon_vector **v = s->work;
  const kaon_pass plain = kaon_gated(s, KAON_GATE_START);
  if (kaon_gate_closed(s, KAON_GATE_START)) return KAON_OK;
  KAON_TRY(kaon_blas_copy(s->r, v[R0], &plain));
  KAON_TRY(kaon_precondition(s, KAON_PLAIN, s->r, v[Z], &plain));
  KAON_TRY(kaon_blas_copy(v[Z], v[Y], &plain));
  return image(s, KAON_GATE_START, KAON_REC_RBICGSTAB_START);
}

/* y contains the old z: K times the new residual replaces it. */
static kaon_status continue_process(kaon_solver *s) {
  const int slots[3] = {KAON_S_RHO_NEW, KAON_NO_SLOT, KAON_NO_SLOT};
  kaon_vector **v = s->work;
  const kaon_pass plain = kaon_gated(s, KAON_GATE_CONTINUE);
  if (kaon_gate_closed(s, KAON_GATE_CONTINUE)) return KAON_OK;
  KAON_TRY(kaon_blas_axpy(KAON_NUMBER(-1), v[Z], v[Y], &plain));
  KAON_TRY(kaon_precondition(s, KAON_PLAIN, s->r, v[Z], &plain));
  KAON_TRY(kaon_blas_axpy(KAON_NUMBER(1), v[Z], v[Y], &plain));
  KAON_TRY(kaon_blas_dot(v[R0], s->r, slots, &plain));
  return image(s, KAON_GATE_CONTINUE, KAON_REC_RBICGSTAB_CONTINUE);
}

const kaon_method_ops kaon_method_rbicgstab = {
    .title = "reordered BiCGStab",
    .traits = KAON_METHOD_PRECONDITIONED | KAON_METHOD_NO_HALF | KAON_METHOD_FUSED,
    .storage = {.vectors = VECTORS, .scratch = T},
    .products = {.step = 2, .start = 1, .proceed = 1},
    .preconditions = {.step = 2, .start = 2, .proceed = 2},
    .cost = {{2, 0, 17, 8}, {0, 2, 15, 6}},
    .replacement = {.delta = {0, 0.1, 0}, .delta_restart = {0, 1e-3, 0}, .delta_alone = 1e-4},
    .step = step,
    .start = start,
    .continue_process = continue_process,
};
