/* recurrences_shifts.h - the recurrences of CG on all systems (A + sigma_i) x_i = b at once
 * (solvers/methods/multishift.c); included by recurrences.h.
 * State 0 of a batch is the process of the smallest shift sigma_0. State 1 + i belongs to shift i;
 * it finds state 0 by its own index in `aux`.
 * Source: Jegerlehner, hep-lat/9612014, with p_i = zeta_i p~_i, so that all directions use the one
 * residual: x_i += a p~_i, p~_i = r + b p~_i. */
#pragma once

/* alpha = rho / ((p, A p) + sigma_0 (p, p)), and sigma_0 alpha. Also tracks the largest diagonal
 * element of the Lanczos matrix, 1 / alpha + beta / alpha of the step before. */
static inline KAON_HD_CALLED void kaon_shift_alpha(kaon_column_state *s) {
  const double sigma = s->slot[KAON_S_SIGMA][0], before = s->slot[KAON_S_ALPHA][0];
  s->slot[KAON_S_DENOMINATOR][0] += sigma * s->slot[KAON_S_DIRECTION2][0];
  kaon_cg_alpha(s);
  const double alpha = s->slot[KAON_S_ALPHA][0];
  const double diagonal = 1 / alpha + (before > 0 ? s->slot[KAON_S_BETA][0] / before : 0);
  if (alpha > 0 && diagonal > s->slot[KAON_S_LARGEST][0]) kaon_set(s, KAON_S_LARGEST, diagonal, 0);
  kaon_set(s, KAON_S_SIGMA_ALPHA, sigma * alpha, 0);
}

/* The step of shift i, after the update of the residual. A shift that has converged is closed one
 * step later, because that step still adds its a p~. */
static inline KAON_HD_CALLED void kaon_shift_step(kaon_column_state *s) {
  const kaon_column_state *base = s - s->aux;
  const double alpha = base->slot[KAON_S_ALPHA][0], r2 = base->slot[KAON_S_R2][0];
  const double beta =
      base->gate & KAON_GATE_STEP ? base->slot[KAON_S_BETA][0] : r2 / base->slot[KAON_S_RHO][0];
  const double *old = s->slot[KAON_S_OLD], *zeta = s->slot[KAON_S_ZETA];
  if (s->reason == KAON_WAIT_STOP) {
    kaon_finish(s, KAON_END_CONVERGED);
    return;
  }
  if (s->iterations == base->iterations) { /* the process has ended or broken down */
    s->gate = KAON_GATE_SERVICE;
    return;
  }
  /* zeta_{k+1} / zeta_k, from zeta_k / zeta_{k-1} and from alpha and beta of the step before */
  const double ratio =
      old[0] / (alpha * old[1] * (1 - zeta[1]) + old[0] * (1 + s->slot[KAON_S_SIGMA][0] * alpha));
  const double next = zeta[0] * ratio;
  kaon_set(s, KAON_S_ALPHA, alpha * next, 0);
  kaon_set(s, KAON_S_BETA, beta * ratio, 0);
  kaon_set(s, KAON_S_OLD, alpha, beta);
  kaon_set(s, KAON_S_ZETA, next, ratio);
  s->iterations = base->iterations;
  const int due = base->flush > 0 && (base->iterations - base->renewed) % base->flush == 0;
  s->gate = due ? KAON_GATE_STEP | KAON_GATE_FLUSH : KAON_GATE_STEP;
  if (next * next * r2 <= s->threshold) s->reason = KAON_WAIT_STOP;
}

/* Ends the process whose shifts have all converged. It runs after kaon_shift_step, and only if the
 * process goes beyond the tolerance of its own shift. */
static inline KAON_HD_CALLED void kaon_shift_last(kaon_column_state *s) {
  const int shifts = (int)s->slot[KAON_S_SHIFTS][0], distance = (int)s->slot[KAON_S_SHIFTS][1];
  for (int i = 1; i <= shifts; i++) {
    const kaon_column_state *shift = s + i * distance;
    if ((shift->gate & KAON_GATE_STEP) && shift->reason != KAON_WAIT_STOP) return;
  }
  kaon_wait(s, KAON_WAIT_STOP, 1);
}
