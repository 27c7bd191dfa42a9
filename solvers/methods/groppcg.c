/* groppcg.c - asynchronous conjugate gradients for Hermitian positive definite A: two sums over
 * ranks a step, one hidden behind the preconditioner K, one behind the operator.
 * Source: Gropp, Update on libraries for Blue Waters (2010), as described by Ghysels, Vanroose,
 * Parallel Comput. 40 (2014) 224, section 2; PETSc has it by the same name.
 *   p = z + beta p;  s = w + beta s;   (p, s) is started    (z = K r, w = A z, s = A p)
 *   q = K s                            meanwhile
 *   alpha = (r, z) / (p, s)
 *   x += alpha p;  r -= alpha s;  z -= alpha q;      (r, z), (r, r) are started
 *   w = A z                            meanwhile
 *   beta = (r, z) / (r, z)_before
 * s and z follow recurrences and are recomputed at a residual replacement. Replacements occur in
 * double too, with their own default. Fewer vectors follow recurrences than in pipecg.c, so it is
 * more accurate. Without a preconditioner q = s and z = r, and the first sum is not hidden.
 * Storage: p, s, w, and with K z, q. A step: 1 A; vectors read 8, written 4 by kernels 3; with 1 K,
 * vectors besides K's: read 10, written 5. */
#include "blas/precond_updates.h"
#include "solvers/engine/method.h"

enum { P, S, W, Z, Q, VECTORS = Z };

static kaon_vector *precond_vector(const kaon_solver *s) {
  return s->K != NULL ? s->work[Z] : s->r;
}

static kaon_groppcg_vectors vectors(const kaon_solver *s) {
  kaon_vector *const *v = s->work;
  return (kaon_groppcg_vectors){.q = s->K != NULL ? v[Q] : NULL,
                                .w = v[W],
                                .z = precond_vector(s),
                                .p = v[P],
                                .s = v[S],
                                .x = s->x_inner,
                                .r = s->r};
}

/* Updates x, r and z and starts their sums. *beta: the pass that completes them. */
static kaon_status residual(kaon_solver *s, const kaon_groppcg_vectors *all, kaon_pass *beta) {
  static const int slots[2] = {KAON_S_R2, KAON_S_RZ};
  const kaon_pass plain = kaon_gated(s, KAON_GATE_STEP);
  *beta = kaon_gated_norm(s, KAON_GATE_STEP, KAON_NO_SLOT, KAON_REC_PCG_BETA);
  beta->sum = KAON_SUM_BEGIN;
  if (s->K != NULL) return kaon_blas_groppcg_residual(KAON_S_ALPHA, all, slots, beta);
  beta->norm = KAON_S_R2;
  beta->then = KAON_REC_CG_BETA;
  KAON_TRY(kaon_blas_axpy(KAON_PLUS(KAON_S_ALPHA), all->p, all->x, &plain));
  return kaon_blas_axpy(KAON_MINUS(KAON_S_ALPHA), all->s, all->r, beta);
}

static kaon_status step(kaon_solver *s, int position) {
  kaon_vector **v = s->work;
  const kaon_groppcg_vectors all = vectors(s);
  const kaon_pass plain = kaon_gated(s, KAON_GATE_STEP);
  kaon_pass beta, alpha = kaon_gated_norm(s, KAON_GATE_STEP, KAON_NO_SLOT, KAON_REC_CG_ALPHA);
  alpha.sum = KAON_SUM_BEGIN;
  (void)position;
  KAON_TRY(kaon_blas_groppcg_direction(KAON_S_BETA, &all, KAON_S_DENOMINATOR, &alpha));
  if (s->K != NULL) KAON_TRY(kaon_precondition(s, KAON_PLAIN, v[S], v[Q], &plain));
  KAON_TRY(kaon_pass_complete(&alpha));
  KAON_TRY(residual(s, &all, &beta));
  KAON_TRY(kaon_operator_run(s->inner, KAON_PLAIN, all.z, v[W], &plain));
  return kaon_pass_complete(&beta);
}

static kaon_status start(kaon_solver *s) {
  kaon_vector **v = s->work;
  const int then = s->K != NULL ? KAON_REC_PCG_START : KAON_REC_CG_START;
  const kaon_pass plain = kaon_gated(s, KAON_GATE_START);
  const kaon_pass rz =
      kaon_gated_dot(s, KAON_GATE_START, KAON_NO_SLOT, s->r, KAON_S_RZ, KAON_REC_NONE);
  if (kaon_gate_closed(s, KAON_GATE_START)) return KAON_OK;
  KAON_TRY(kaon_blas_zero(v[P], &plain));
  KAON_TRY(kaon_blas_zero(v[S], &plain));
  if (s->K != NULL) KAON_TRY(kaon_precondition(s, KAON_PLAIN, s->r, v[Z], &rz));
  KAON_TRY(kaon_operator_run(s->inner, KAON_PLAIN, precond_vector(s), v[W], &plain));
  return kaon_recur(s, KAON_GATE_START, then);
}

/* Makes p orthogonal to the new r and recomputes what depends on the two. */
static kaon_status continue_process(kaon_solver *s) {
  static const int overlap[3] = {KAON_S_OVERLAP, KAON_NO_SLOT, KAON_S_R2}; /* (p, r), (r, r) */
  kaon_vector **v = s->work;
  const int gate = KAON_GATE_CONTINUE;
  const int then = s->K != NULL ? KAON_REC_PCG_RENEW : KAON_REC_CG_RENEW;
  const kaon_pass plain = kaon_gated(s, gate);
  const kaon_pass sums = kaon_gated_norm(s, gate, KAON_NO_SLOT, then);
  const kaon_pass rz = kaon_gated_dot(s, gate, KAON_NO_SLOT, s->r, KAON_S_RZ, KAON_REC_NONE);
  if (kaon_gate_closed(s, gate)) return KAON_OK;
  if (s->K != NULL) KAON_TRY(kaon_precondition(s, KAON_PLAIN, s->r, v[Z], &rz));
  KAON_TRY(kaon_blas_dot(v[P], s->r, overlap, &sums));
  KAON_TRY(kaon_blas_axpy(KAON_MINUS(KAON_S_OVERLAP), precond_vector(s), v[P], &plain));
  KAON_TRY(kaon_operator_run(s->inner, KAON_PLAIN, v[P], v[S], &plain));
  return kaon_operator_run(s->inner, KAON_PLAIN, precond_vector(s), v[W], &plain);
}

const kaon_method_ops kaon_method_groppcg = {
    .title = "Gropp's CG",
    .traits = KAON_METHOD_HERMITIAN | KAON_METHOD_PRECONDITIONED | KAON_METHOD_NO_HALF |
              KAON_METHOD_FUSED,
    .storage = {.vectors = VECTORS, .general = 2, .diagonal = 2, .scratch = W},
    .products = {.step = 1, .start = 1, .proceed = 2, .hidden = 1},
    .preconditions = {.step = 1, .start = 1, .proceed = 1},
    .cost = {{1, 1, 8, 4}, {0, 2, 10, 5}},
    .replacement = {.delta = {0, 0.1, 0}, .delta_restart = {0, 1e-3, 0}, .delta_alone = 1e-4},
    .step = step,
    .start = start,
    .continue_process = continue_process,
};
