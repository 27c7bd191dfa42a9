/* blockcg.c - block conjugate gradients: all columns search the Krylov space of all of them
 * together. "blockcg" is for Hermitian positive definite A. "blockcgnr" solves the normal equations
 * A^dag A x = A^dag b, and also computes the norms of A's own residuals.
 * Sources: O'Leary, Linear Algebra Appl. 29 (1980) 293; with an orthonormal basis of the residuals
 * ("BCGrQ") Dubrulle, Electron. Trans. Numer. Anal. 12 (2001) 216; in lattice QCD Clark,
 * Strelchenko, Vaquero, Wagner, Weinberg, Comput. Phys. Commun. 233 (2018) 29. With R = Q C and n x
 * n matrices C, S, Z:
 *   X += P Z C (of the step before);  P = Q + P S^H
 *   W = A P;        Z = (P^H W)^-1
 *   Q' = Q - W Z;   Q' = Q S, Q^H Q = 1;   C = S C
 * The thin QR is a Cholesky factorisation of the Gram matrix, S^H S = Q'^H Q'. It is done once a
 * step, and twice where residuals are new. The multiplication by S^-1 is part of the next step's
 * pass over Q, P and X, as is the update of X. Columns that depend on others leave the basis, but
 * not the block. They return with the next replacement of the residuals
 * (lib/math/steps/block_recurrences.h).
 *
 * In mixed precision blockcgnr gets |r|^2 from these matrices (kaon_block_alpha_nr) and does not
 * store r: between two replacements |r| falls by only a few digits. In one precision r is not
 * replaced until the end, so it is stored, R -= W Y, unless the normal equations' residual stops
 * the solve.
 *
 * Columns stop together. Each one's count of iterations is that at which its own residual had
 * converged; it stays in the space until all are done. As soon as one column asks for it, the
 * residuals of the whole block are replaced. Then the directions continue:
 *   P -= Q Q^H P;  P = Q - P (P^H A P)^-1 (A P)^H Q
 * A P is recomputed (blockcg) or taken from the last step (blockcgnr: A^dag A P).
 * Storage: blockcg P, W, with Q in place of r; blockcgnr P, Q, W, V = A^dag W.
 * A step of blockcg: 1 A, 2 Gram matrices; vectors read 8, written 4 by kernels 4.
 * A step of blockcgnr: 1 A, 1 A^dag, 2 Gram matrices; vectors read 7, written 4 by kernels 4; with
 * r: read 9, written 5 by kernels 5. */
#include "solvers/engine/method.h"

enum { P, W, Q, V, VECTORS_NR, VECTORS = 2 };

static int normal(const kaon_solver *s) {
  return s->method == &kaon_method_blockcgnr;
}

/* 1: r is stored and updated. Otherwise only its norm is, or nothing if it is not needed. */
static int keeps_residual(const kaon_solver *s) {
  return !s->process.mixed && !(s->options.stop == KAON_STOP_NORMAL && s->options.tol > 0);
}

static kaon_vector *basis(const kaon_solver *s) {
  return normal(s) ? s->work[Q] : s->r;
}

/* Computes a Gram matrix. `then` says what lib/math/steps/block_recurrences.h does with it. */
static kaon_status gram(const kaon_solver *s, int gate, const kaon_vector *x, const kaon_vector *y,
                        int hermitian, int then) {
  const kaon_pass sums = kaon_gated_norm(s, gate, KAON_NO_SLOT, then);
  return kaon_blas_gram(x, y, hermitian, KAON_S_GRAM, &sums);
}

/* W = A P (and V = A^dag W), then Z, for the columns' directions. */
static kaon_status images(kaon_solver *s, int gate, int then) {
  const kaon_pass plain = kaon_gated(s, gate);
  KAON_TRY(kaon_operator_run(s->inner, KAON_PLAIN, s->work[P], s->work[W], &plain));
  return gram(s, gate, s->work[normal(s) ? W : P], s->work[W], 1, then);
}

static kaon_status step(kaon_solver *s, int position) {
  const kaon_pass plain = kaon_gated(s, KAON_GATE_STEP);
  kaon_vector *q = basis(s);
  const int alpha = s->process.mixed ? KAON_REC_BLOCK_ALPHA_NR : KAON_REC_BLOCK_ALPHA;
  (void)position;
  KAON_TRY(kaon_blas_block_rotate(KAON_PLUS(KAON_S_T), q, KAON_PLUS(KAON_S_M), s->work[P],
                                  KAON_PLUS(KAON_S_Y), s->x_inner, &plain));
  if (!normal(s)) {
    KAON_TRY(images(s, KAON_GATE_STEP, KAON_REC_BLOCK_ALPHA));
    KAON_TRY(kaon_blas_block_axpy(KAON_MINUS(KAON_S_Z), s->work[W], q, &plain));
    return gram(s, KAON_GATE_STEP, q, q, 1, KAON_REC_BLOCK_STEP);
  }
  KAON_TRY(images(s, KAON_GATE_STEP, alpha));
  if (keeps_residual(s)) {
    const kaon_pass sums = kaon_gated_norm(s, KAON_GATE_STEP, KAON_S_R2, KAON_REC_NONE);
    KAON_TRY(kaon_blas_block_axpy(KAON_MINUS(KAON_S_Y), s->work[W], s->r, &sums));
  }
  KAON_TRY(kaon_operator_run(s->inner, KAON_DAGGER, s->work[W], s->work[V], &plain));
  KAON_TRY(kaon_blas_block_axpy(KAON_MINUS(KAON_S_Z), s->work[V], q, &plain));
  return gram(s, KAON_GATE_STEP, q, q, 1, KAON_REC_BLOCK_STEP_NR);
}

/* Computes an orthonormal basis of new residuals, except for the last factor T. P is unchanged. */
static kaon_status begin(kaon_solver *s, int gate) {
  const kaon_pass plain = kaon_gated(s, gate);
  const kaon_coefficient unused = KAON_NUMBER(0);
  const int first = normal(s) ? KAON_REC_BLOCK_START_NR : KAON_REC_BLOCK_START;
  kaon_vector *q = basis(s);
  if (normal(s)) KAON_TRY(kaon_operator_run(s->inner, KAON_DAGGER, s->r, q, &plain));
  KAON_TRY(gram(s, gate, q, q, 1, first));
  KAON_TRY(kaon_blas_block_rotate(KAON_PLUS(KAON_S_T), q, unused, NULL, unused, NULL, &plain));
  return gram(s, gate, q, q, 1, KAON_REC_BLOCK_AGAIN);
}

static kaon_status start(kaon_solver *s) {
  const kaon_pass plain = kaon_gated(s, KAON_GATE_START);
  if (kaon_gate_closed(s, KAON_GATE_START)) return KAON_OK;
  KAON_TRY(kaon_blas_zero(s->work[P], &plain));
  return begin(s, KAON_GATE_START);
}

static kaon_status continue_process(kaon_solver *s) {
  const kaon_pass plain = kaon_gated(s, KAON_GATE_CONTINUE);
  kaon_vector *p = s->work[P], *q = basis(s);
  if (kaon_gate_closed(s, KAON_GATE_CONTINUE)) return KAON_OK;
  KAON_TRY(begin(s, KAON_GATE_CONTINUE));
  KAON_TRY(gram(s, KAON_GATE_CONTINUE, q, p, 0, KAON_REC_BLOCK_PROJECT));
  KAON_TRY(kaon_blas_block_axpy(KAON_MINUS(KAON_S_Y), q, p, &plain));
  if (!normal(s)) KAON_TRY(images(s, KAON_GATE_CONTINUE, KAON_REC_BLOCK_INVERT));
  return gram(s, KAON_GATE_CONTINUE, s->work[normal(s) ? V : W], q, 0, KAON_REC_BLOCK_CONJUGATE);
}

static kaon_status finish(kaon_solver *s, int gate) {
  const kaon_pass plain = kaon_gated(s, gate);
  return kaon_blas_block_axpy(KAON_PLUS(KAON_S_Y), s->work[P], s->x_inner, &plain);
}

const kaon_method_ops kaon_method_blockcg = {
    .title = "block CG",
    .traits = KAON_METHOD_HERMITIAN | KAON_METHOD_BLOCK,
    .storage = {.vectors = VECTORS, .scratch = W},
    .products = {.step = 1, .proceed = 1},
    .cost = {{2, 0, 8, 4}},
    .replacement = {.delta = {0, 0.1, 0.1}, .delta_restart = {0, 1e-3, 1e-2}},
    .normal = &kaon_method_blockcgnr,
    .step = step,
    .start = start,
    .continue_process = continue_process,
    .finish = finish,
};

const kaon_method_ops kaon_method_blockcgnr = {
    .title = "block CGNR",
    .traits = KAON_METHOD_NORMAL | KAON_METHOD_ADJOINT | KAON_METHOD_BLOCK,
    .storage = {.vectors = VECTORS_NR, .scratch = W},
    .products = {.step = 2, .start = 1, .proceed = 1},
    .cost = {{3, 0, 9, 5}},
    .replacement = {.delta = {0, 0.1, 0.3}, .delta_restart = {0, 1e-3, 1e-2}},
    .step = step,
    .start = start,
    .continue_process = continue_process,
    .finish = finish,
};
