/* pipecg.c - pipelined conjugate gradients for Hermitian positive definite A: one sum over ranks a
 * step, hidden behind the operator.
 * Source: Ghysels, Vanroose, Parallel Comput. 40 (2014) 224, algorithm 3 without preconditioner.
 *   z = q + beta z;  s = w + beta s;  p = r + beta p             (z = A s, s = A p, w = A r)
 *   x += alpha p;  r -= alpha s;  w -= alpha z;                  (r, r), (r, w) are started
 *   q = A w                                                      meanwhile
 *   beta = (r, r) / (r, r)_before;  alpha = (r, r) / ((r, w) - beta (r, r) / alpha_before)
 * All vectors but q follow recurrences, whose rounding errors are amplified: Cools, Yetkin, Agullo,
 * Giraud, Vanroose, SIAM J. Matrix Anal. Appl. 39 (2018) 426. So each of them is recomputed at a
 * residual replacement. Replacements occur in double too, with their own default (method.h). Half
 * precision is refused: where r is smooth, w consists of rounding errors after a few steps.
 * Storage: p, s, z, w, q. A step: 1 A; vectors read 7, written 6 by kernels 1. This is the least:
 * each of the seven is used between two sums.
 *
 * With a Hermitian positive definite preconditioner K (algorithm 4 there; here u is the partner of
 * p and w, and q is called n):
 *   z = n + beta z;  q = m + beta q;  s = w + beta s;  p = u + beta p   (q = K s, u = K r, w = A u)
 *   x += alpha p;  r -= alpha s;  u -= alpha q;  w -= alpha z;   (r, u), (w, u), (r, r) are started
 *   m = K w;  n = A m                                            meanwhile
 * Storage: m, q, u more. A step: 1 A, 1 K; vectors besides K's: read 10, written 8. If K multiplies
 * by a real vector d (Jacobi), u = d r and q = d s are not stored, and m = d w is computed in the
 * same pass. Storage: m more; with d: read 8, written 7.
 *
 * If A can start its exchange early (kaon_overlap UPDATES), z, q, s and w are updated first, then
 * m. The messages of m are then under way during the other updates and the sums (Platonov, Monakov,
 * Trudy ISP RAN 28 (2016) 81, who name z and w; but s needs the old w, and q the old m). The bits
 * are the same. s, w (m) and q, or d, are read once more, and sums are hidden only behind A. */
#include "blas/precond_updates.h"
#include "lib/operator/send_ahead.h"
#include "solvers/engine/method.h"

enum { P, S, Z, W, N, M, Q, U, VECTORS = M };

/* The vectors of the updates; d, m, q and u only where they exist. */
static kaon_pipepcg_vectors vectors_of(const kaon_solver *s) {
  kaon_vector *const *v = s->work;
  const int scaled = s->process.scaling != NULL, kept = s->K != NULL && !scaled;
  return (kaon_pipepcg_vectors){.d = s->process.scaling,
                                .n = v[N],
                                .m = s->K != NULL ? v[M] : NULL,
                                .z = v[Z],
                                .q = kept ? v[Q] : NULL,
                                .w = v[W],
                                .s = v[S],
                                .r = s->r,
                                .u = kept ? v[U] : NULL,
                                .p = v[P],
                                .x = s->x_inner};
}

/* The pass for the sums of a step, which A hides. */
static kaon_pass step_sums(const kaon_solver *s) {
  kaon_pass sums = kaon_gated_norm(s, KAON_GATE_STEP, KAON_NO_SLOT,
                                   s->K != NULL ? KAON_REC_PIPEPCG_STEP : KAON_REC_PIPECG_STEP);
  sums.sum = KAON_SUM_BEGIN;
  return sums;
}

static const int slots_of_pipecg[3] = {KAON_S_R2, KAON_S_RW, KAON_NO_SLOT},
                 slots_of_pipepcg[3] = {KAON_S_R2, KAON_S_RZ, KAON_S_RW};

static kaon_status step_preconditioned(kaon_solver *s) {
  kaon_vector **v = s->work;
  const kaon_pipepcg_vectors all = vectors_of(s);
  const kaon_pass plain = kaon_gated(s, KAON_GATE_STEP), sums = step_sums(s);
  KAON_TRY(kaon_blas_pipepcg(KAON_S_ALPHA, KAON_S_BETA, &all, slots_of_pipepcg, &sums));
  if (s->process.scaling == NULL) KAON_TRY(kaon_precondition(s, KAON_PLAIN, v[W], v[M], &plain));
  KAON_TRY(kaon_operator_run(s->inner, KAON_PLAIN, v[M], v[N], &plain));
  return kaon_pass_complete(&sums);
}

static kaon_status step_ahead(kaon_solver *s) {
  kaon_vector **v = s->work;
  const kaon_vector *asked = v[s->K != NULL ? M : W];
  const int *slots = s->K != NULL ? slots_of_pipepcg : slots_of_pipecg;
  const kaon_pipepcg_vectors all = vectors_of(s);
  const kaon_pass plain = kaon_gated(s, KAON_GATE_STEP), sums = step_sums(s);
  KAON_TRY(kaon_blas_pipepcg_ahead(KAON_S_ALPHA, KAON_S_BETA, &all, &plain));
  if (s->K != NULL && s->process.scaling == NULL)
    KAON_TRY(kaon_precondition(s, KAON_PLAIN, v[W], v[M], &plain));
  kaon_status status = kaon_operator_send(s->inner, asked, &plain);
  if (status == KAON_OK)
    status = kaon_blas_pipepcg_behind(KAON_S_ALPHA, KAON_S_BETA, &all, slots, &sums);
  if (status == KAON_OK) status = kaon_operator_run(s->inner, KAON_PLAIN, asked, v[N], &plain);
  if (status != KAON_OK) kaon_operator_cancel_send(s->inner, s->columns);
  return status == KAON_OK ? kaon_pass_complete(&sums) : status;
}

static kaon_status step(kaon_solver *s, int position) {
  kaon_vector **v = s->work;
  const kaon_pipecg_vectors all = {
      .q = v[N], .z = v[Z], .w = v[W], .s = v[S], .r = s->r, .p = v[P], .x = s->x_inner};
  const kaon_pass plain = kaon_gated(s, KAON_GATE_STEP), sums = step_sums(s);
  (void)position;
  if (kaon_operator_sends_ahead(s->inner)) return step_ahead(s);
  if (s->K != NULL) return step_preconditioned(s);
  KAON_TRY(kaon_blas_pipecg(KAON_S_ALPHA, KAON_S_BETA, &all, slots_of_pipecg, &sums));
  KAON_TRY(kaon_operator_run(s->inner, KAON_PLAIN, v[W], v[N], &plain));
  return kaon_pass_complete(&sums);
}

/* u; if u is not stored, n, which is free until its own product is computed. */
static kaon_vector *precond_vector(const kaon_solver *s) {
  return s->K == NULL ? s->r : s->work[s->process.scaling != NULL ? N : U];
}

/* n = A K w, through m */
static kaon_status second_image(kaon_solver *s, const kaon_pass *pass) {
  kaon_vector **v = s->work;
  if (s->K == NULL) return kaon_operator_run(s->inner, KAON_PLAIN, v[W], v[N], pass);
  KAON_TRY(kaon_precondition(s, KAON_PLAIN, v[W], v[M], pass));
  return kaon_operator_run(s->inner, KAON_PLAIN, v[M], v[N], pass);
}

static kaon_status start(kaon_solver *s) {
  kaon_vector **v = s->work, *u = precond_vector(s);
  const int then = s->K != NULL ? KAON_REC_PIPEPCG_START : KAON_REC_PIPECG_START;
  const kaon_pass plain = kaon_gated(s, KAON_GATE_START);
  const kaon_pass ru =
      kaon_gated_dot(s, KAON_GATE_START, KAON_NO_SLOT, s->r, KAON_S_RZ, KAON_REC_NONE);
  const kaon_pass uw =
      kaon_gated_dot(s, KAON_GATE_START, KAON_NO_SLOT, u, KAON_S_RW, KAON_REC_NONE);
  if (kaon_gate_closed(s, KAON_GATE_START)) return KAON_OK;
  for (int i = P; i <= Z; i++) KAON_TRY(kaon_blas_zero(v[i], &plain));
  if (s->K != NULL && s->process.scaling == NULL) KAON_TRY(kaon_blas_zero(v[Q], &plain));
  if (s->K != NULL) KAON_TRY(kaon_precondition(s, KAON_PLAIN, s->r, u, &ru));
  KAON_TRY(kaon_operator_run(s->inner, KAON_PLAIN, u, v[W], &uw));
  KAON_TRY(second_image(s, &plain));
  return kaon_recur(s, KAON_GATE_START, then);
}

/* z = A K s, through q, or through m if q is not stored */
static kaon_status direction_image(kaon_solver *s, const kaon_pass *pass) {
  kaon_vector **v = s->work, *q = v[s->process.scaling != NULL ? M : Q];
  if (s->K == NULL) return kaon_operator_run(s->inner, KAON_PLAIN, v[S], v[Z], pass);
  KAON_TRY(kaon_precondition(s, KAON_PLAIN, v[S], q, pass));
  return kaon_operator_run(s->inner, KAON_PLAIN, q, v[Z], pass);
}

/* Makes p orthogonal to the new r and recomputes what depends on the two. */
static kaon_status continue_process(kaon_solver *s) {
  static const int overlap[3] = {KAON_S_OVERLAP, KAON_NO_SLOT, KAON_S_R2}; /* (p, r), (r, r) */
  static const int ps[3] = {KAON_S_DENOMINATOR, KAON_NO_SLOT, KAON_NO_SLOT};
  kaon_vector **v = s->work, *u = precond_vector(s);
  const int gate = KAON_GATE_CONTINUE;
  const int renewed = s->K != NULL ? KAON_REC_PCG_RENEW : KAON_REC_CG_RENEW,
            then = s->K != NULL ? KAON_REC_PIPEPCG_CONTINUE : KAON_REC_PIPECG_CONTINUE;
  const kaon_pass plain = kaon_gated(s, gate);
  const kaon_pass ru = kaon_gated_dot(s, gate, KAON_NO_SLOT, s->r, KAON_S_RZ, KAON_REC_NONE);
  const kaon_pass sums = kaon_gated_norm(s, gate, KAON_NO_SLOT, renewed);
  const kaon_pass uw = kaon_gated_dot(s, gate, KAON_NO_SLOT, u, KAON_S_RW, KAON_REC_NONE);
  const kaon_pass us = kaon_gated_dot(s, gate, KAON_NO_SLOT, u, KAON_S_RS, KAON_REC_NONE);
  const kaon_pass end = kaon_gated_norm(s, gate, KAON_NO_SLOT, then);
  if (kaon_gate_closed(s, gate)) return KAON_OK;
  if (s->K != NULL) KAON_TRY(kaon_precondition(s, KAON_PLAIN, s->r, u, &ru));
  KAON_TRY(kaon_blas_dot(v[P], s->r, overlap, &sums));
  KAON_TRY(kaon_blas_axpy(KAON_MINUS(KAON_S_OVERLAP), u, v[P], &plain));
  KAON_TRY(kaon_operator_run(s->inner, KAON_PLAIN, u, v[W], &uw));
  KAON_TRY(kaon_operator_run(s->inner, KAON_PLAIN, v[P], v[S], &us));
  KAON_TRY(direction_image(s, &plain));
  KAON_TRY(second_image(s, &plain));
  return kaon_blas_dot(v[P], v[S], ps, &end);
}

const kaon_method_ops kaon_method_pipecg = {
    .title = "pipelined CG",
    .traits = KAON_METHOD_HERMITIAN | KAON_METHOD_PRECONDITIONED | KAON_METHOD_NO_HALF |
              KAON_METHOD_FUSED,
    .storage = {.vectors = VECTORS, .general = 3, .diagonal = 1, .scratch = N},
    .products = {.step = 1, .start = 2, .proceed = 4, .hidden = 1},
    .preconditions = {.step = 1, .start = 2, .proceed = 3},
    .cost = {{0, 1, 7, 6}, {0, 1, 10, 8}, {0, 1, 8, 7}},
    .replacement = {.delta = {0, 0.1, 0},
                    .delta_restart = {0, 1e-3, 0},
                    .period = {0, 25, 0},
                    .delta_alone = 1e-4},
    .flags = KAON_FLAG_AFRESH,
    .normal = &kaon_method_pipecgnr,
    .step = step,
    .start = start,
    .continue_process = continue_process,
};
