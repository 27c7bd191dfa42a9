/* recurrences_pipelined.h - the recurrences of pipelined methods; included by recurrences.h. */
#pragma once

/* ---- pipelined CG on N = A, or on N = A^dag A with r = A^dag times the residual of A; gamma =
 * |r|^2 in slot `norm`, (r, N r) in RW ---- */

/* The next alpha = gamma / (p, N p). A denominator from a recurrence, not from a sum, may be wrong
 * through accumulated rounding. Then `reason` requests that the vectors be recomputed before A is
 * blamed. */
static inline KAON_HD_CALLED void kaon_pipecg_alpha(kaon_column_state *s, double gamma,
                                                    double denominator, int reason) {
  const double alpha = gamma / denominator;
  kaon_set(s, KAON_S_ALPHA, alpha, 0);
  if (denominator > 0 && kaon_finite(denominator) && kaon_finite(alpha)) return;
  s->cause = kaon_cause_of(denominator);
  kaon_wait(s, reason, 1);
}

static inline KAON_HD void kaon_pipecg_begin(kaon_column_state *s, int norm) {
  const double gamma = s->slot[norm][0];
  kaon_set(s, KAON_S_ANCHOR, s->slot[KAON_S_R2][0], 0);
  kaon_set(s, KAON_S_RHO, gamma, 0);
  kaon_set(s, KAON_S_BETA, 0, 0);
  kaon_pipecg_alpha(s, gamma, s->slot[KAON_S_RW][0], KAON_WAIT_BROKEN);
}

/* beta = gamma / rho; (p, N p) = (r, N r) - beta gamma / alpha, since r is orthogonal to the r
 * before. A frozen column keeps the old rho for kaon_cg_conjugate, also if its denominator
 * fails. */
static inline KAON_HD void kaon_pipecg_advance(kaon_column_state *s, int norm) {
  const double gamma = s->slot[norm][0], beta = gamma / s->slot[KAON_S_RHO][0];
  if (!(s->gate & KAON_GATE_STEP)) return;
  kaon_set(s, KAON_S_BETA, beta, 0);
  kaon_pipecg_alpha(s, gamma, s->slot[KAON_S_RW][0] - beta * gamma / s->slot[KAON_S_ALPHA][0],
                    KAON_WAIT_UPDATE);
  if (s->gate & KAON_GATE_STEP) kaon_set(s, KAON_S_RHO, gamma, 0);
}

/* (p', N p') for p' = r + beta p, from (r, N r), (r, s) and (p, s) with s = N p. */
static inline KAON_HD double kaon_pipecg_denominator(const kaon_column_state *s) {
  const double beta = s->slot[KAON_S_BETA][0];
  return s->slot[KAON_S_RW][0] +
         beta * (2 * s->slot[KAON_S_RS][0] + beta * s->slot[KAON_S_DENOMINATOR][0]);
}

/* After kaon_cg_conjugate, with recomputed vectors. */
static inline KAON_HD void kaon_pipecg_next_step(kaon_column_state *s, int norm) {
  kaon_set(s, KAON_S_ANCHOR, s->slot[KAON_S_R2][0], 0);
  kaon_pipecg_alpha(s, s->slot[norm][0], kaon_pipecg_denominator(s), KAON_WAIT_BROKEN);
}

static inline KAON_HD void kaon_pipecg_start(kaon_column_state *s) {
  kaon_pipecg_begin(s, KAON_S_R2);
}

static inline KAON_HD void kaon_pipecg_step(kaon_column_state *s) {
  kaon_step_end(s, s->slot[KAON_S_R2][0]);
  kaon_pipecg_advance(s, KAON_S_R2);
}

static inline KAON_HD void kaon_pipecg_continue(kaon_column_state *s) {
  kaon_pipecg_next_step(s, KAON_S_R2);
}

/* With a preconditioner: r is K-orthogonal to the older ones, gamma = (r, K r), and RW holds (K r,
 * A K r). */
static inline KAON_HD void kaon_pipepcg_start(kaon_column_state *s) {
  kaon_pipecg_begin(s, KAON_S_RZ);
  kaon_pcg_positive(s);
}

static inline KAON_HD void kaon_pipepcg_step(kaon_column_state *s) {
  kaon_step_end(s, s->slot[KAON_S_R2][0]);
  if ((s->gate & KAON_GATE_STEP) && kaon_pcg_positive(s)) kaon_pipecg_advance(s, KAON_S_RZ);
}

static inline KAON_HD void kaon_pipepcg_continue(kaon_column_state *s) {
  kaon_pipecg_next_step(s, KAON_S_RZ);
}

/* Runs after x += alpha p, r -= alpha s with s = N p. |b - A x|^2 has changed by -2 alpha (p, r) -
 * alpha^2 (p, s), with the present r. The next (p, N p) follows from products with the old p and s.
 * Neither assumes orthogonality, since its loss would amplify itself where |r| grows. The
 * difference is accurate to a rounding of its value at the last replacement, and the next
 * replacement comes before that matters. */
static inline KAON_HD void kaon_pipecgnr_step(kaon_column_state *s) {
  const double floor = 0x1p-52 * s->slot[KAON_S_ANCHOR][0], alpha = s->slot[KAON_S_ALPHA][0];
  const double change = 2 * s->slot[KAON_S_OVERLAP][0] + alpha * s->slot[KAON_S_DENOMINATOR][0];
  const double r2 = s->slot[KAON_S_R2][0] - alpha * change;
  const double gamma = s->slot[KAON_S_S2][0], beta = gamma / s->slot[KAON_S_RHO][0];
  kaon_set(s, KAON_S_R2, r2 < floor ? floor : r2, 0);
  kaon_step_end(s, s->slot[s->flags & KAON_FLAG_NORMAL ? KAON_S_S2 : KAON_S_R2][0]);
  if (!(s->gate & KAON_GATE_STEP)) return; /* the old rho stays for kaon_cg_conjugate */
  kaon_set(s, KAON_S_BETA, beta, 0);
  kaon_pipecg_alpha(s, gamma, kaon_pipecg_denominator(s), KAON_WAIT_UPDATE);
  if (s->gate & KAON_GATE_STEP) kaon_set(s, KAON_S_RHO, gamma, 0);
}

static inline KAON_HD void kaon_pipecgnr_renewed(kaon_column_state *s) {
  if (s->gate & KAON_GATE_CONTINUE)
    kaon_pipecg_next_step(s, KAON_S_S2);
  else
    kaon_pipecg_begin(s, KAON_S_S2);
}

/* ---- CG with one reduction a step (solvers/methods/chrongear.c) ---- */

static inline KAON_HD void kaon_chrongear_advance(kaon_column_state *s, int norm) {
  const double gamma = s->slot[norm][0], beta = gamma / s->slot[KAON_S_RHO][0];
  kaon_set(s, KAON_S_BETA, beta, 0);
  kaon_pipecg_alpha(s, gamma, kaon_pipecg_denominator(s), KAON_WAIT_UPDATE);
  if (s->gate & KAON_GATE_STEP) kaon_set(s, KAON_S_RHO, gamma, 0);
}

/* A frozen column keeps the old rho for kaon_cg_conjugate, also if its denominator fails. */
static inline KAON_HD void kaon_chrongear_step(kaon_column_state *s) {
  kaon_step_end(s, s->slot[KAON_S_R2][0]);
  if (s->gate & KAON_GATE_STEP) kaon_chrongear_advance(s, KAON_S_R2);
}

static inline KAON_HD void kaon_pchrongear_step(kaon_column_state *s) {
  kaon_step_end(s, s->slot[KAON_S_R2][0]);
  if ((s->gate & KAON_GATE_STEP) && kaon_pcg_positive(s)) kaon_chrongear_advance(s, KAON_S_RZ);
}

/* ---- pipelined BiCGStab ---- */

/* alpha = rho / (r0, s) for the next s = w + beta (s - omega z). */
static inline KAON_HD_CALLED void kaon_pipebi_alpha(kaon_column_state *s) {
  const double *beta = s->slot[KAON_S_BETA], *omega = s->slot[KAON_S_OMEGA],
               *r0z = s->slot[KAON_S_R0Z], *r0s = s->slot[KAON_S_R0V], *r0w = s->slot[KAON_S_R0W];
  const double re = r0s[0] - (omega[0] * r0z[0] - omega[1] * r0z[1]),
               im = r0s[1] - (omega[0] * r0z[1] + omega[1] * r0z[0]);
  const double denominator[2] = {r0w[0] + beta[0] * re - beta[1] * im,
                                 r0w[1] + beta[0] * im + beta[1] * re};
  kaon_divide(s, KAON_S_ALPHA, s->slot[KAON_S_RHO], denominator);
  if (!kaon_slot_finite(s, KAON_S_ALPHA)) {
    const int finite = kaon_finite(denominator[0]) && kaon_finite(denominator[1]);
    kaon_broken(s, finite ? KAON_CAUSE_ZERO : KAON_CAUSE_NOT_FINITE, 1);
  }
}

static inline KAON_HD void kaon_pipebi_start(kaon_column_state *s) {
  kaon_bicgstab_start(s);
  kaon_set(s, KAON_S_R0V, 0, 0);
  kaon_set(s, KAON_S_R0Z, 0, 0);
  kaon_pipebi_alpha(s); /* rho / (r0, w) */
}

/* omega = (w, r) / (w, w); the paper calls them y and q. */
static inline KAON_HD void kaon_pipebi_omega(kaon_column_state *s) {
  kaon_set(s, KAON_S_Q2, s->slot[KAON_S_T2][1], 0);
  kaon_bicgstab_omega(s);
}

static inline KAON_HD void kaon_pipebi_step(kaon_column_state *s) {
  kaon_bicgstab_beta(s);
  if (s->gate & KAON_GATE_STEP) kaon_pipebi_alpha(s);
}

static inline KAON_HD void kaon_pipebi_continue(kaon_column_state *s) {
  kaon_bicgstab_continue(s);
  kaon_pipebi_alpha(s);
}
