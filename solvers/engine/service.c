/* service.c - what happens to columns that wait: verification, residual replacement, restart, end.
 * The residual of several shifts cannot be replaced, so there they end.
 * One sequence of gated operations serves all of them, and columns that iterate are not touched.
 * Except for deflation, the host reads no value, so the sequence can be recorded like a step.
 *
 *   x += x_inner; x_inner = 0;  x loses its part in the null space, if that is known
 *   outer.r = b - A x  in the outer precision
 *   the chosen residual's norm -> kaon_stop_verify: finished, or START or CONTINUE
 *   r = outer.r;  method: start or continue_process;  kaon_stop_resume
 *
 * Replacing r by the true residual bounds the error of the inner precision between two services:
 * van der Vorst, Ye, SIAM J. Sci. Comput. 22 (2000) 835; in lattice QCD Clark, Babich, Barros,
 * Brower, Rebbi, Comput. Phys. Commun. 181 (2010) 1517. */
#include "solvers/spectra/deflate.h"

/* outer.r = b - A x, its norm into `slot`. A zero guess needs no A, and gives the same bits as b -
 * A 0. */
static kaon_status recompute_residual(kaon_solver *s, int gate, int slot, int then) {
  const kaon_pass plain = kaon_gated(s, gate);
  const kaon_pass sums = kaon_gated_norm(s, gate, slot, then);
  if (s->solve.zero_guess) {
    s->solve.zero_guess = 0;
    return kaon_blas_copy(s->outer.b, s->outer.r, &sums);
  }
  KAON_TRY(kaon_operator_run(s->system, KAON_PLAIN, s->outer.x, s->outer.r, &plain));
  return kaon_blas_xpay(s->outer.b, KAON_NUMBER(-1), s->outer.r, &sums);
}

/* The same after the parent's residual was computed. The system's residual follows from it, and is
 * more accurate that way. */
static kaon_status reduce_residual(kaon_solver *s, int gate) {
  const kaon_reduction *reduction = s->system->reduction;
  if (reduction->reduce == NULL || s->solve.zero_guess)
    return recompute_residual(s, gate, KAON_S_OUTER, KAON_REC_NONE);
  const kaon_pass sums = kaon_gated_norm(s, gate, KAON_S_OUTER, KAON_REC_NONE);
  return reduction->reduce(s->system, s->outer.full_r, s->outer.r, &sums);
}

static kaon_status site_ratio(const kaon_solver *s, const kaon_vector *r, const kaon_vector *x) {
  const kaon_pass pass = kaon_gated_norm(s, KAON_GATE_SERVICE, KAON_NO_SLOT, KAON_REC_HEAVY);
  return kaon_blas_site_ratio(r, x, KAON_S_TRUE, &pass);
}

/* The heavy-quark residual of the parent's system. Its x is a work vector until the end. */
static kaon_status heavy_of_parent(const kaon_solver *s) {
  const int other_precision = s->A->precision != s->system->precision;
  const kaon_reduction *reduction = s->system->reduction;
  const kaon_vector *b = other_precision ? s->outer.user_b : s->solve.b;
  kaon_vector *x = other_precision ? s->outer.user_x : s->solve.x;
  const kaon_pass plain = kaon_gated(s, KAON_GATE_SERVICE);
  KAON_TRY(reduction->reconstruct(s->system, s->outer.x, b, x));
  KAON_TRY(kaon_operator_run(reduction->parent, KAON_PLAIN, x, s->outer.full_r, &plain));
  KAON_TRY(kaon_blas_xpay(b, KAON_NUMBER(-1), s->outer.full_r, &plain));
  return site_ratio(s, s->outer.full_r, x);
}

/* Computes the residual that the tolerance is for, then runs kaon_stop_verify. */
static kaon_status verify(kaon_solver *s) {
  kaon_pass chosen = kaon_gated_norm(s, KAON_GATE_SERVICE, KAON_S_TRUE, KAON_REC_VERIFY);
  if (s->options.stop == KAON_STOP_NORMAL) {
    const int first = s->solve.zero_guess; /* r = b, and residuals are relative to |A^dag b| */
    chosen.gate = KAON_GATE_VERIFY;
    KAON_TRY(recompute_residual(s, KAON_GATE_SERVICE, KAON_S_OUTER,
                                first ? KAON_REC_VERIFY_ZERO : KAON_REC_OUTER));
    s->process.knows_dagger = first && kaon_solver_takes_dagger(s);
    if (first || kaon_gate_closed(s, KAON_GATE_VERIFY)) return KAON_OK;
    return kaon_operator_run(s->system, KAON_DAGGER, s->outer.r, s->outer.chosen_r, &chosen);
  }
  if (kaon_solver_heavy_of_parent(s)) KAON_TRY(heavy_of_parent(s));
  if (kaon_solver_monitors_residual(s)) {
    const kaon_vector *b = s->A->precision != s->system->precision ? s->outer.user_b : s->solve.b;
    const int gate = s->process.mixed ? KAON_GATE_SERVICE : KAON_GATE_VERIFY;
    chosen.then = KAON_REC_NONE; /* runs after both */
    KAON_TRY(s->system->reduction->residual(s->system, s->outer.x, b, s->outer.full_r, &chosen));
    if (!kaon_gate_closed(s, gate)) KAON_TRY(reduce_residual(s, gate));
    return kaon_recur(s, KAON_GATE_SERVICE, KAON_REC_VERIFY);
  }
  if (s->options.stop == KAON_STOP_FULL && s->solve.reduces && s->system->reduction->lift != NULL) {
    KAON_TRY(recompute_residual(s, KAON_GATE_SERVICE, KAON_S_OUTER, KAON_REC_NONE));
    return s->system->reduction->lift(s->system, s->outer.r, s->outer.chosen_r, &chosen);
  }
  if (s->options.heavy_quark_tol > 0) { /* of the system */
    KAON_TRY(recompute_residual(s, KAON_GATE_SERVICE, KAON_S_OUTER, KAON_REC_NONE));
    KAON_TRY(site_ratio(s, s->outer.r, s->outer.x));
    return kaon_recur(s, KAON_GATE_SERVICE, KAON_REC_VERIFY_OUTER);
  }
  return recompute_residual(s, KAON_GATE_SERVICE, KAON_S_OUTER, KAON_REC_VERIFY_OUTER);
}

/* An inner solution that was not fit to be added disturbs only a restarted process. */
static kaon_status replace_residual(kaon_solver *s) {
  const kaon_pass fresh = kaon_gated(s, KAON_GATE_START);
  const int late =
      kaon_method_has(s->method, KAON_METHOD_LATE_NORM) && s->options.stop == KAON_STOP_NORMAL;
  kaon_pass sums =
      kaon_gated_norm(s, KAON_GATE_RENEW, late ? KAON_NO_SLOT : KAON_S_R2, KAON_REC_NONE);
  if (kaon_method_has(s->method, KAON_METHOD_KEEPS_NORM)) sums.sum = KAON_SUM_DEFER;
  if (s->deflation != NULL) sums.then = KAON_REC_DEFLATED_SCALE;
  if (!s->process.mixed) return KAON_OK;
  KAON_TRY(kaon_blas_convert(s->outer.r, s->r, 0, &sums));
  return kaon_gate_closed(s, KAON_GATE_START) ? KAON_OK : kaon_blas_zero(s->x_inner, &fresh);
}

kaon_status kaon_service_run(kaon_solver *s) {
  const kaon_pass keep = kaon_gated(s, KAON_GATE_SOLUTION);
  if (s->shifts != NULL) return kaon_recur(s, KAON_GATE_SERVICE, KAON_REC_LOCAL_CLOSE);
  if (!s->solve.zero_guess) { /* else there is no inner solution yet */
    KAON_TRY(kaon_method_finish(s, KAON_GATE_SOLUTION));
    if (s->process.mixed) KAON_TRY(kaon_blas_add_and_zero(s->x_inner, s->outer.x, &keep));
  }
  if (!s->solve.zero_guess) KAON_TRY(kaon_null_project(s, KAON_GATE_SERVICE));
  s->process.knows_dagger = 0;
  KAON_TRY(verify(s));
  if (kaon_method_has(s->method, KAON_METHOD_BLOCK))
    KAON_TRY(kaon_recur(s, KAON_GATE_ANY, KAON_REC_BLOCK_VERIFIED));
  KAON_TRY(replace_residual(s));
  KAON_TRY(kaon_deflation_run(s));
  if (s->method->renew != NULL) return s->method->renew(s);
  KAON_TRY(kaon_method_start(s));
  if (s->method->continue_process != NULL) KAON_TRY(s->method->continue_process(s));
  return kaon_recur(s, KAON_GATE_RENEW, KAON_REC_RESUME);
}
