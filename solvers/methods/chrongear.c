/* chrongear.c - conjugate gradients with one sum over ranks a step, for Hermitian positive definite
 * A.
 * Source: Chronopoulos, Gear, J. Comput. Appl. Math. 25 (1989) 153, with a preconditioner as in
 * D'Azevedo, Eijkhout, Romine, LAPACK working note 56 (1993); PETSc has it as
 * -ksp_cg_single_reduction.
 *   s = w + beta s;  p = u + beta p                             (s = A p, w = A u, u = K r)
 *   x += alpha p;  r -= alpha s                                 (r, r), (u, s), (p, s), (r, u)
 *   u = K r;  w = A u                                           (u, w), one message for all five
 *   beta = (r, u) / (r, u)_before;  alpha = (r, u) / ((u, w) + beta (2 (u, s) + beta (p, s)))
 * Both sums of cg.c are one here, with one kernel less between them, so a step waits once. In
 * return s follows a recurrence as r does. It is recomputed at a residual replacement. Replacements
 * occur in double too, with their own default (method.h).
 *
 * (p, A p) is composed of products with the old p and s. They cost no traffic, except (u, s) with a
 * general K. The shorter (u, w) - beta (r, u) / alpha assumes orthogonality, and loses accuracy
 * where |r| grows (pipecgnr.c). Half precision is refused, as in pipecg.c.
 * Storage: p, s, w. A step: 1 A with its dot in the same pass, or separately as in cg.c. Without K,
 * u = r; vectors read 5 (separately 7), written 4 by kernels 1 (separately 2). This is the least:
 * each of the five is used between two sums.
 * With K: storage u more; a step 1 A, 1 K; vectors besides K's: read 8 (separately 10), written 4.
 * If K multiplies by a vector d (Jacobi), u and its previous value are computed from r in the same
 * pass; with d: read 6 (separately 8), written 5. */
#include "blas/precond_updates.h"
#include "solvers/engine/method.h"

enum { P, S, W, U, VECTORS = U };

static kaon_vector *precond_vector(const kaon_solver *s) {
  return s->K == NULL ? s->r : s->work[U];
}

/* w = A u ends the step. The sums of the update are completed together with its sum. */
static kaon_status image(kaon_solver *s) {
  const int then = s->K != NULL ? KAON_REC_PCHRONGEAR_STEP : KAON_REC_CHRONGEAR_STEP;
  kaon_vector *u = precond_vector(s);
  const kaon_pass all = kaon_gated_dot(s, KAON_GATE_STEP, KAON_NO_SLOT, u, KAON_S_RW, then);
  return kaon_operator_run(s->inner, KAON_PLAIN, u, s->work[W], &all);
}

/* u = K r with (r, u), then (u, s), for a general K. */
static kaon_status precondition_vector(kaon_solver *s) {
  static const int us[3] = {KAON_S_RS, KAON_NO_SLOT, KAON_NO_SLOT};
  kaon_pass ru = kaon_gated_dot(s, KAON_GATE_STEP, KAON_NO_SLOT, s->r, KAON_S_RZ, KAON_REC_NONE);
  kaon_pass mixed = kaon_gated(s, KAON_GATE_STEP);
  ru.sum = mixed.sum = KAON_SUM_DEFER;
  KAON_TRY(kaon_precondition(s, KAON_PLAIN, s->r, s->work[U], &ru));
  return kaon_blas_dot(s->work[U], s->work[S], us, &mixed);
}

static kaon_status step(kaon_solver *s, int position) {
  static const int slots[4] = {KAON_S_R2, KAON_S_RS, KAON_S_DENOMINATOR, KAON_S_RZ};
  static const int plain_slots[4] = {KAON_S_R2, KAON_NO_SLOT, KAON_S_DENOMINATOR, KAON_NO_SLOT};
  kaon_vector **v = s->work;
  const int asked = s->K != NULL && s->process.scaling == NULL;
  const kaon_chrongear_vectors all = {.d = s->process.scaling,
                                      .w = v[W],
                                      .u = s->K != NULL ? v[U] : NULL,
                                      .s = v[S],
                                      .r = s->r,
                                      .p = v[P],
                                      .x = s->x_inner};
  kaon_pass products = kaon_gated(s, KAON_GATE_STEP);
  products.sum = KAON_SUM_DEFER;
  products.completed_by = asked ? NULL : s->inner;
  (void)position;
  KAON_TRY(
      kaon_blas_chrongear(KAON_S_ALPHA, KAON_S_BETA, &all, asked ? plain_slots : slots, &products));
  if (asked) KAON_TRY(precondition_vector(s));
  return image(s);
}

static kaon_status start(kaon_solver *s) {
  kaon_vector **v = s->work, *u = precond_vector(s);
  const int then = s->K != NULL ? KAON_REC_PIPEPCG_START : KAON_REC_PIPECG_START;
  const kaon_pass plain = kaon_gated(s, KAON_GATE_START);
  const kaon_pass ru =
      kaon_gated_dot(s, KAON_GATE_START, KAON_NO_SLOT, s->r, KAON_S_RZ, KAON_REC_NONE);
  const kaon_pass uw = kaon_gated_dot(s, KAON_GATE_START, KAON_NO_SLOT, u, KAON_S_RW, then);
  if (kaon_gate_closed(s, KAON_GATE_START)) return KAON_OK;
  KAON_TRY(kaon_blas_zero(v[P], &plain));
  KAON_TRY(kaon_blas_zero(v[S], &plain));
  if (s->K != NULL) KAON_TRY(kaon_precondition(s, KAON_PLAIN, s->r, u, &ru));
  return kaon_operator_run(s->inner, KAON_PLAIN, u, v[W], &uw);
}

/* Makes p orthogonal to the new r and recomputes what depends on the two. */
static kaon_status continue_process(kaon_solver *s) {
  static const int overlap[3] = {KAON_S_OVERLAP, KAON_NO_SLOT, KAON_S_R2}; /* (p, r), (r, r) */
  kaon_vector **v = s->work, *u = precond_vector(s);
  const int gate = KAON_GATE_CONTINUE;
  const int renewed = s->K != NULL ? KAON_REC_PCG_RENEW : KAON_REC_CG_RENEW,
            then = s->K != NULL ? KAON_REC_PIPEPCG_CONTINUE : KAON_REC_PIPECG_CONTINUE;
  const kaon_pass plain = kaon_gated(s, gate);
  const kaon_pass ru = kaon_gated_dot(s, gate, KAON_NO_SLOT, s->r, KAON_S_RZ, KAON_REC_NONE);
  const kaon_pass sums = kaon_gated_norm(s, gate, KAON_NO_SLOT, renewed);
  kaon_pass ps = kaon_gated_dot(s, gate, KAON_NO_SLOT, v[P], KAON_S_DENOMINATOR, KAON_REC_NONE);
  kaon_pass uw = kaon_gated_dot(s, gate, KAON_NO_SLOT, u, KAON_S_RW, KAON_REC_NONE);
  static const int us[3] = {KAON_S_RS, KAON_NO_SLOT, KAON_NO_SLOT};
  const kaon_pass end = kaon_gated_norm(s, gate, KAON_NO_SLOT, then);
  if (kaon_gate_closed(s, gate)) return KAON_OK;
  ps.sum = uw.sum = KAON_SUM_DEFER;
  if (s->K != NULL) KAON_TRY(kaon_precondition(s, KAON_PLAIN, s->r, u, &ru));
  KAON_TRY(kaon_blas_dot(v[P], s->r, overlap, &sums));
  KAON_TRY(kaon_blas_axpy(KAON_MINUS(KAON_S_OVERLAP), u, v[P], &plain));
  KAON_TRY(kaon_operator_run(s->inner, KAON_PLAIN, v[P], v[S], &ps));
  KAON_TRY(kaon_operator_run(s->inner, KAON_PLAIN, u, v[W], &uw));
  return kaon_blas_dot(u, v[S], us, &end);
}

const kaon_method_ops kaon_method_chrongear = {
    .title = "Chronopoulos-Gear CG",
    .traits = KAON_METHOD_HERMITIAN | KAON_METHOD_PRECONDITIONED | KAON_METHOD_NO_HALF |
              KAON_METHOD_FUSED,
    .storage = {.vectors = VECTORS, .general = 1, .diagonal = 1, .scratch = W},
    .products = {.step = 1, .start = 1, .proceed = 2},
    .preconditions = {.step = 1, .start = 1, .proceed = 1},
    .cost = {{1, 0, 5, 4}, {1, 0, 8, 4}, {1, 0, 6, 5}},
    .replacement = {.delta = {0, 0.1, 0}, .delta_restart = {0, 1e-3, 0}, .delta_alone = 1e-4},
    .step = step,
    .start = start,
    .continue_process = continue_process,
};
