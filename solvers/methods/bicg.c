/* bicg.c - biconjugate gradients for general A with its adjoint, and with K and K^dag.
 * Source: Fletcher, Lecture Notes in Mathematics 506 (1976) 73; preconditioned Saad, Iterative
 * Methods for Sparse Linear Systems, 2nd edition, section 7.3. A dash marks the shadow system.
 *   x += alpha p (of the step before);  p = z + beta p;  p' = z' + conj(beta) p'
 *   q = A p;                 (p', q) is started;          q' = A^dag p' meanwhile
 *   alpha = (r', z) / (p', q)
 *   r -= alpha q;  r' -= conj(alpha) q'
 *   z = K r;                 (r', z), (r, r) are started; z' = K^dag r' meanwhile
 *   beta = (r', z) / (r', z)_before
 * Without a preconditioner z = r, z' = r'. x is updated one step late, as in cg.c. On Hermitian
 * positive definite A the method is CG with all work done twice. Half precision is refused: no
 * replacement renews the shadow residual, so its rounding errors accumulate.
 * Storage: p, p', q, q', r'. A step: 1 A with its dot in the same pass, or separately as in cg.c,
 * and 1 A^dag. Vectors read 10 (separately 12), written 5 by kernels 4 (separately 5); also p' in
 * A's pass unless its dot is separate. With a preconditioner: storage z, z' more; a step 1 K and 1
 * K^dag more. Vectors besides K's: read 9 (separately 11), written 5. */
#include "solvers/engine/method.h"

enum { P, P_, Q, Q_, R_, Z, Z_, VECTORS = Z };

static const kaon_vector *precond_vector(const kaon_solver *s) {
  return s->K != NULL ? s->work[Z] : s->r;
}

static const kaon_vector *preconditioned_shadow(const kaon_solver *s) {
  return s->work[s->K != NULL ? Z_ : R_];
}

/* z = K r and z' = K^dag r', then the recurrence `then` on (r', z). */
static kaon_status precondition_step(kaon_solver *s, int gate, int then) {
  kaon_vector **v = s->work;
  const int slots[3] = {KAON_S_RHO_NEW, KAON_NO_SLOT, KAON_S_Q2};
  const kaon_pass plain = kaon_gated(s, gate);
  kaon_pass rho = kaon_gated_norm(s, gate, KAON_NO_SLOT, then);
  rho.sum = KAON_SUM_BEGIN;
  if (s->K == NULL) {
    KAON_TRY(kaon_blas_dot(v[R_], s->r, slots, &rho));
    return kaon_pass_complete(&rho);
  }
  rho.norm = KAON_S_Q2;
  rho.w = v[R_];
  rho.dot = KAON_S_RHO_NEW;
  KAON_TRY(kaon_precondition(s, KAON_PLAIN, s->r, v[Z], &rho));
  KAON_TRY(kaon_precondition(s, KAON_DAGGER, v[R_], v[Z_], &plain));
  return kaon_pass_complete(&rho);
}

/* Updates r and r', then beta. Without K the second update has (r, r') in its pass. */
static kaon_status residuals(kaon_solver *s) {
  kaon_vector **v = s->work;
  kaon_pass norm = kaon_gated_norm(s, KAON_GATE_STEP, KAON_S_R2, KAON_REC_NONE);
  kaon_pass shadow = kaon_gated_norm(s, KAON_GATE_STEP, KAON_S_R02, KAON_REC_NONE);
  const kaon_pass last =
      kaon_gated_dot(s, KAON_GATE_STEP, KAON_S_R02, s->r, KAON_S_CHI, KAON_REC_BICG_SHADOW);
  norm.sum = shadow.sum = KAON_SUM_DEFER;
  KAON_TRY(kaon_blas_axpy(KAON_MINUS(KAON_S_ALPHA), v[Q], s->r, &norm));
  KAON_TRY(
      kaon_blas_axpy(KAON_MINUS(KAON_S_ALPHA_CONJ), v[Q_], v[R_], s->K != NULL ? &shadow : &last));
  return s->K != NULL ? precondition_step(s, KAON_GATE_STEP, KAON_REC_BICG_BETA) : KAON_OK;
}

static kaon_status step(kaon_solver *s, int position) {
  kaon_vector **v = s->work;
  const kaon_pass plain = kaon_gated(s, KAON_GATE_STEP);
  kaon_pass alpha = kaon_gated_dot(s, KAON_GATE_STEP, KAON_NO_SLOT, v[P_], KAON_S_DENOMINATOR,
                                   KAON_REC_BICG_ALPHA);
  alpha.sum = KAON_SUM_BEGIN;
  (void)position;
  KAON_TRY(kaon_blas_axpy_xpay(KAON_PLUS(KAON_S_ALPHA), v[P], s->x_inner, precond_vector(s),
                               KAON_PLUS(KAON_S_BETA), &plain));
  KAON_TRY(kaon_blas_xpay(preconditioned_shadow(s), KAON_PLUS(KAON_S_BETA_CONJ), v[P_], &plain));
  KAON_TRY(kaon_operator_run(s->inner, KAON_PLAIN, v[P], v[Q], &alpha));
  KAON_TRY(kaon_operator_run(s->inner, KAON_DAGGER, v[P_], v[Q_], &plain));
  KAON_TRY(kaon_pass_complete(&alpha));
  return residuals(s);
}

static kaon_status start(kaon_solver *s) {
  kaon_vector **v = s->work;
  const kaon_pass plain = kaon_gated(s, KAON_GATE_START);
  if (kaon_gate_closed(s, KAON_GATE_START)) return KAON_OK;
  KAON_TRY(kaon_blas_copy(s->r, v[R_], &plain));
  KAON_TRY(kaon_null_project_shadow(s, v[R_], KAON_GATE_START));
  KAON_TRY(kaon_blas_zero(v[P], &plain));
  KAON_TRY(kaon_blas_zero(v[P_], &plain));
  return precondition_step(s, KAON_GATE_START, KAON_REC_BICG_START);
}

static kaon_status continue_process(kaon_solver *s) {
  static const int overlap[3] = {KAON_S_OVERLAP, KAON_NO_SLOT, KAON_NO_SLOT},
                   shadow[3] = {KAON_S_OVERLAP_SHADOW, KAON_NO_SLOT, KAON_NO_SLOT};
  kaon_vector **v = s->work;
  const int gate = KAON_GATE_CONTINUE;
  const kaon_pass plain = kaon_gated(s, gate);
  if (kaon_gate_closed(s, gate)) return KAON_OK;
  KAON_TRY(kaon_null_project_shadow(s, v[R_], gate));
  KAON_TRY(kaon_blas_dot(v[R_], v[P], overlap, &plain));
  KAON_TRY(kaon_blas_dot(v[P_], s->r, shadow, &plain));
  KAON_TRY(precondition_step(s, gate, KAON_REC_BICG_CONTINUE));
  KAON_TRY(kaon_blas_axpy(KAON_MINUS(KAON_S_OVERLAP), precond_vector(s), v[P], &plain));
  return kaon_blas_axpy(KAON_MINUS(KAON_S_OVERLAP_SHADOW), preconditioned_shadow(s), v[P_], &plain);
}

const kaon_method_ops kaon_method_bicg = {
    .title = "BiCG",
    .traits = KAON_METHOD_PRECONDITIONED | KAON_METHOD_ADJOINT | KAON_METHOD_NO_HALF,
    .storage = {.vectors = VECTORS, .general = 2, .diagonal = 2, .scratch = Q},
    .products = {.step = 2},
    .preconditions = {.step = 2, .start = 2, .proceed = 2},
    .cost = {{1, 1, 10, 5}, {0, 2, 9, 5}},
    .replacement = {.delta = {0, 0.1, 0}, .delta_restart = {0, 1e-3, 0}},
    .step = step,
    .start = start,
    .continue_process = continue_process,
    .finish = kaon_finish_late,
};
