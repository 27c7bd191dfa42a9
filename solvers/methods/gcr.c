/* gcr.c - flexible GCR(k) with a right preconditioner K that may change between steps; columns in
 * lockstep.
 * Source: Eisenstat, Elman, Schultz, SIAM J. Numer. Anal. 20 (1983) 345; with a varying K van der
 * Vorst, Vuik, Numer. Linear Algebra Appl. 1 (1994) 369.
 *   z_j = K r;     q_j = A z_j
 *   q_j -= sum_{i<j} (q_i, q_j) / (q_i, q_i) q_i        classical Gram-Schmidt, one pass
 *   alpha = (q_j, r) / (q_j, q_j);   r -= alpha q_j;   |r|^2 -= |alpha|^2 (q_j, q_j)
 * The z_j stay as they are; x gets its update at the end of a cycle, when the triangle of the
 * Gram-Schmidt factors is solved, and then the true residual is recomputed. In mixed precision that
 * is the reliable update. A column that asks earlier waits for the others' end of cycle.
 * Storage: 2k vectors. Sums over ranks: 2 a step, 1 in the first. Step j > 0: 1 A, 1 K, and without
 * K vectors read 2j + 6, written 3 by kernels 4; an end of cycle reads k + 1, writes 1. */
#include "solvers/engine/method.h"

static kaon_vector *z(kaon_solver *s, int j) {
  return s->work[j];
}

static kaon_vector **q(kaon_solver *s) {
  return &s->work[s->process.cycle];
}

static kaon_status search_direction(kaon_solver *s, int j) {
  const kaon_pass plain = kaon_gated(s, KAON_GATE_STEP);
  return kaon_precondition(s, KAON_PLAIN, s->r, z(s, j), &plain);
}

/* q_j = A z_j, orthogonal to the older ones, and alpha. */
static kaon_status conjugate_image(kaon_solver *s, int j) {
  const int row = kaon_gcr_row(j), norm = KAON_S_GCR_NORM + j;
  if (j == 0) {
    const kaon_pass sums = kaon_gated_dot(s, KAON_GATE_STEP, norm, s->r, row, KAON_REC_GCR_ALPHA);
    return kaon_operator_run(s->inner, KAON_PLAIN, z(s, 0), q(s)[0], &sums);
  }
  kaon_vector *against[KAON_GCR_MAX + 1];
  kaon_coefficient c[KAON_GCR_MAX];
  for (int i = 0; i < j; i++) {
    against[i] = q(s)[i];
    c[i] = KAON_MINUS(row + i);
  }
  against[j] = s->r;
  const kaon_pass plain = kaon_gated(s, KAON_GATE_STEP);
  const kaon_pass ortho = kaon_gated_norm(s, KAON_GATE_STEP, KAON_S_Q2, KAON_REC_GCR_ORTHO);
  const kaon_pass alpha = kaon_gated_norm(s, KAON_GATE_STEP, norm, KAON_REC_GCR_ALPHA);
  KAON_TRY(kaon_operator_run(s->inner, KAON_PLAIN, z(s, j), q(s)[j], &plain));
  KAON_TRY(kaon_blas_multi_dot(j + 1, against, q(s)[j], row, &ortho));
  return kaon_blas_multi_axpy(j, c, q(s), q(s)[j], &alpha);
}

static kaon_status step(kaon_solver *s, int j) {
  const kaon_pass residual =
      kaon_gated_norm(s, KAON_GATE_STEP, KAON_NO_SLOT, KAON_REC_GCR_RESIDUAL);
  KAON_TRY(search_direction(s, j));
  KAON_TRY(conjugate_image(s, j));
  return kaon_blas_axpy(KAON_MINUS(KAON_S_ALPHA), q(s)[j], s->r, &residual);
}

/* A broken step may have left NaN in a z_j, which finish multiplies by 0. */
static kaon_status start(kaon_solver *s) {
  const kaon_pass plain = kaon_gated(s, KAON_GATE_START);
  for (int j = 0; j < s->process.cycle; j++) KAON_TRY(kaon_blas_zero(z(s, j), &plain));
  return KAON_OK;
}

static kaon_status continue_process(kaon_solver *s) {
  (void)s;
  return KAON_OK;
}

static kaon_status finish(kaon_solver *s, int gate) {
  const kaon_pass plain = kaon_gated(s, gate);
  kaon_coefficient y[KAON_GCR_MAX];
  for (int j = 0; j < s->process.cycle; j++) y[j] = KAON_PLUS(KAON_S_GCR_Y + j);
  KAON_TRY(kaon_recur(s, gate, KAON_REC_GCR_SOLVE));
  return kaon_blas_multi_axpy(s->process.cycle, y, s->work, s->x_inner, &plain);
}

const kaon_method_ops kaon_method_gcr = {
    .title = "GCR",
    .option = "subspace",
    .traits = KAON_METHOD_PRECONDITIONED | KAON_METHOD_FLEXIBLE,
    .storage = {.per_direction = 2},
    .products = {.step = 1},
    .preconditions = {.step = 1},
    .cost = {{2, 0, 6, 3}, {2, 0, 6, 3}},
    .replacement = {.delta = {0, 1e-4, 1e-2}, .delta_restart = {0, 1e-4, 1e-2}},
    .flags = KAON_FLAG_EITHER,
    .step = step,
    .start = start,
    .continue_process = continue_process,
    .finish = finish,
};
