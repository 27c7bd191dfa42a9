/* pipecgnr.c - pipelined conjugate gradients on the normal equations A^dag A x = A^dag b: one sum
 * over ranks a step, hidden behind A^dag.
 * Source: Chronopoulos, Gear, J. Comput. Appl. Math. 25 (1989) 153. They put both products of CG
 * into one sum, with nothing to hide it behind. But N = A^dag A has two halves, and since (r, N r)
 * = |A r|^2 the sum needs only the first one. (Here r is A^dag times A's residual.)
 *   s = u + beta s;  p = r + beta p                              (s = N p)
 *   x += alpha p;  r -= alpha s
 *   t = A r;                 (t, t), (r, r), (r, s), (p, s), (p, r) are started
 *   u = A^dag t              meanwhile
 *   beta = (r, r) / (r, r)_before;  alpha = (r, r) / ((t, t) + beta (2 (r, s) + beta (p, s)))
 * Only s and r follow recurrences; CG has s as A p. Pipelined CG (pipecg.c) on N hides its sum
 * behind both halves, but also has recurrences for N r and N s. In single precision these fail near
 * a singular matrix.
 *
 * (p, N p) is composed of products with the old p and s, which cost no traffic. The errors of the
 * shorter (t, t) - beta (r, r) / alpha grow with (r, r)^2. |b - A x|^2 falls by 2 alpha (p, r) +
 * alpha^2 (p, s) a step, with r after the step (lib/math/steps/recurrences.h), so either residual
 * can stop a column. Replacements renew that difference and with it s, in double too.
 * Storage: p, s, r, u; t takes the place of the solver's r. A step: 1 A, with its norm in the same
 * pass, and 1 A^dag; vectors read 5, written 4 by kernels 1. This is the least: each of the five is
 * used between two sums. */
#include "solvers/engine/method.h"

enum { P, S, R, U, VECTORS };

static kaon_status step(kaon_solver *s, int position) {
  static const int slots[4] = {KAON_S_S2, KAON_S_RS, KAON_S_DENOMINATOR, KAON_S_OVERLAP};
  kaon_vector **v = s->work;
  const kaon_pipecgnr_vectors all = {.u = v[U], .s = v[S], .r = v[R], .p = v[P], .x = s->x_inner};
  const kaon_pass plain = kaon_gated(s, KAON_GATE_STEP);
  kaon_pass products = plain;
  kaon_pass sums = kaon_gated_norm(s, KAON_GATE_STEP, KAON_S_RW, KAON_REC_PIPECGNR_STEP);
  products.sum = KAON_SUM_DEFER;
  sums.sum = KAON_SUM_BEGIN;
  (void)position;
  KAON_TRY(kaon_blas_pipecgnr(KAON_S_ALPHA, KAON_S_BETA, &all, slots, &products));
  KAON_TRY(kaon_operator_run(s->inner, KAON_PLAIN, v[R], s->r, &sums));
  KAON_TRY(kaon_operator_run(s->inner, KAON_DAGGER, s->r, v[U], &plain));
  return kaon_pass_complete(&sums);
}

/* u = A^dag A r, |A r|^2, then `then`. The sums are started as in a step, with those deferred
 * before. */
static kaon_status apply_normal(kaon_solver *s, int gate, int then) {
  const kaon_pass plain = kaon_gated(s, gate);
  kaon_pass sums = kaon_gated_norm(s, gate, KAON_S_RW, then);
  sums.sum = KAON_SUM_BEGIN;
  KAON_TRY(kaon_operator_run(s->inner, KAON_PLAIN, s->work[R], s->r, &sums));
  KAON_TRY(kaon_operator_run(s->inner, KAON_DAGGER, s->r, s->work[U], &plain));
  return kaon_pass_complete(&sums);
}

static kaon_status start(kaon_solver *s) {
  kaon_vector **v = s->work;
  const kaon_pass plain = kaon_gated(s, KAON_GATE_START);
  kaon_pass s2 = kaon_gated_norm(s, KAON_GATE_START, KAON_S_S2, KAON_REC_NONE);
  s2.sum = KAON_SUM_DEFER;
  KAON_TRY(kaon_blas_zero(v[P], &plain));
  KAON_TRY(kaon_blas_zero(v[S], &plain));
  KAON_TRY(kaon_operator_run(s->inner, KAON_DAGGER, s->r, v[R], &s2));
  return apply_normal(s, KAON_GATE_START, KAON_REC_PIPECGNR_RENEWED);
}

/* Makes p orthogonal to the new r and recomputes s and u. A restarted process has p = s = 0. The
 * norm of the replaced residual is summed with (p, r) and (r, r); the sums of s and u are one
 * message. */
static kaon_status renew(kaon_solver *s) {
  kaon_vector **v = s->work;
  const kaon_pass fresh = kaon_gated(s, KAON_GATE_START), old = kaon_gated(s, KAON_GATE_CONTINUE);
  const kaon_pass overlap =
      kaon_gated_dot(s, KAON_GATE_RENEW, KAON_S_S2, v[P], KAON_S_OVERLAP, KAON_REC_CGNR_RENEW);
  kaon_pass pnp = kaon_gated_norm(s, KAON_GATE_CONTINUE, KAON_S_DENOMINATOR, KAON_REC_NONE);
  kaon_pass rs =
      kaon_gated_dot(s, KAON_GATE_CONTINUE, KAON_NO_SLOT, v[R], KAON_S_RS, KAON_REC_NONE);
  pnp.sum = rs.sum = KAON_SUM_DEFER;
  if (!kaon_gate_closed(s, KAON_GATE_START)) {
    KAON_TRY(kaon_blas_zero(v[P], &fresh));
    KAON_TRY(kaon_blas_zero(v[S], &fresh));
  }
  KAON_TRY(kaon_operator_run(s->inner, KAON_DAGGER, s->r, v[R], &overlap));
  if (!kaon_gate_closed(s, KAON_GATE_CONTINUE)) {
    KAON_TRY(kaon_blas_axpy(KAON_MINUS(KAON_S_OVERLAP), v[R], v[P], &old));
    KAON_TRY(kaon_operator_run(s->inner, KAON_PLAIN, v[P], s->r, &pnp));
    KAON_TRY(kaon_operator_run(s->inner, KAON_DAGGER, s->r, v[S], &rs));
  }
  KAON_TRY(apply_normal(s, KAON_GATE_RENEW, KAON_REC_PIPECGNR_RENEWED));
  return kaon_recur(s, KAON_GATE_RENEW, KAON_REC_RESUME);
}

const kaon_method_ops kaon_method_pipecgnr = {
    .title = "pipelined CGNR",
    .traits = KAON_METHOD_NORMAL | KAON_METHOD_ADJOINT | KAON_METHOD_FUSED | KAON_METHOD_KEEPS_NORM,
    .storage = {.vectors = VECTORS, .scratch = U},
    .products = {.step = 2, .start = 3, .proceed = 5, .hidden = 1},
    .cost = {{0, 1, 5, 4}},
    .replacement = {.delta = {0, 0.1, 0.3}, .delta_restart = {0, 1e-2, 0.1}, .delta_alone = 1e-4},
    .flags = KAON_FLAG_EITHER,
    .step = step,
    .start = start,
    .renew = renew,
};
