/* recurrences.h - the scalar recurrences of all methods, one function for each line of the paper.
 * Common subset of C and CUDA C.
 * The reduction that completes their inputs runs them. Sources are named in the files of the
 * methods (solvers/methods). Everywhere (x, y) = sum conj(x) y.
 *
 * A recurrence that cannot continue freezes its column (kaon_wait). It leaves scalars with which
 * the method's `finish` still yields a correct inner solution x. */
#pragma once

#include "lib/math/steps/recurrence_ids.h"
#include "lib/math/steps/stopping.h"

/* Slots of the methods. stopping.h names those that all methods share. */
enum {
  /* CG, CGNR, CGNE. RHO: the squared norm whose ratio is beta. DENOMINATOR: that of alpha. OVERLAP:
   * product with the old direction at a residual replacement. */
  KAON_S_ALPHA = KAON_S_METHOD,
  KAON_S_BETA,
  KAON_S_RHO,
  KAON_S_DENOMINATOR,
  KAON_S_OVERLAP,
  KAON_S_OMEGA,
  /* BiCGStab */
  KAON_S_RHO_NEW, /* (r0, r) */
  KAON_S_R0V,     /* (r0, v) */
  KAON_S_ST,      /* (s, t) */
  KAON_S_T2,      /* (t, t) */
  KAON_S_R02,     /* (r0, r0) */
  KAON_S_FACTOR,  /* alpha / (omega rho) */
  KAON_S_Q2,      /* (s, s); MR: (q, q); GCR: (q, q) before orthogonalisation */
  /* MR */
  KAON_S_RQ, /* (r, q) */
  KAON_S_RELAXATION,
  /* pipelined CG: products of the residual with A r and, at a replacement, with the old s */
  KAON_S_RW,
  KAON_S_RS,
  KAON_S_ANCHOR, /* |b - A x|^2 at the last restart or continuation (CGNR), or at the start of the
                  * cycle (GCR) */
  /* pipelined BiCGStab, besides those of BiCGStab. T2 holds |w|^2, and |r|^2 as its imaginary
   * part. */
  KAON_S_R0W, /* (r0, w) */
  KAON_S_R0Z, /* (r0, z) */
  /* RZ: (r, K r) of preconditioned methods. RT, R0T, CHI: reordered BiCGStab, products with t in
   * adjacent slots, and (r0, r) before omega. The last three: BiCG, conjugated coefficients and the
   * overlap of the shadow residual. */
  KAON_S_RZ,
  KAON_S_RT,  /* (r, t) */
  KAON_S_R0T, /* (r0, t) */
  KAON_S_CHI, /* (r0, r) */
  KAON_S_ALPHA_CONJ,
  KAON_S_BETA_CONJ,
  KAON_S_OVERLAP_SHADOW,
  /* CG with several shifts. State 0: sigma_0, the size of A, sigma_0 alpha, (p, p), the number of
   * shifts and the distance of their states. Other states: sigma_i - sigma_0, sigma_i, zeta and its
   * growth in the last step, alpha and beta of the step before. */
  KAON_S_SIGMA,
  KAON_S_SIGMA_WHOLE,
  KAON_S_SIGMA_ALPHA,
  KAON_S_DIRECTION2,
  KAON_S_SHIFTS,
  KAON_S_LARGEST = KAON_S_SIGMA_WHOLE,
  KAON_S_ZETA = KAON_S_SIGMA_ALPHA,
  KAON_S_OLD = KAON_S_DIRECTION2,
  /* GCR: step lengths, which become the coefficients of x; (q_j, q_j); rows of the triangle */
  KAON_S_GCR_Y = 32,
  KAON_S_GCR_NORM = 64,
  KAON_S_GCR_ROW = 96,
  KAON_GCR_MAX = 32
};

/* First slot of row j, which holds (q_i, q_j) for i < j, then (r, q_j). */
static inline KAON_HD int kaon_gcr_row(int j) {
  return KAON_S_GCR_ROW + j * (j + 1) / 2;
}

static inline KAON_HD void kaon_set(kaon_column_state *s, int slot, double re, double im) {
  s->slot[slot][0] = re;
  s->slot[slot][1] = im;
}

/* slot to = a / b. The squares of very small and very large numbers leave the range of double
 * although the quotient does not. Then a and b are scaled by the power of two that brings b close
 * to 1, which is exact. */
static inline KAON_HD_CALLED void kaon_divide(kaon_column_state *s, int to, const double *a,
                                              const double *b) {
  const double largest = fabs(b[0]) > fabs(b[1]) ? fabs(b[0]) : fabs(b[1]);
  double a0 = a[0], a1 = a[1], b0 = b[0], b1 = b[1];
  if (largest > 0 && kaon_finite(largest) && !(largest >= 0x1p-100 && largest <= 0x1p100)) {
    const int e = -ilogb(largest);
    a0 = ldexp(a0, e);
    a1 = ldexp(a1, e);
    b0 = ldexp(b0, e);
    b1 = ldexp(b1, e);
  }
  const double d = b0 * b0 + b1 * b1;
  kaon_set(s, to, (a0 * b0 + a1 * b1) / d, (a1 * b0 - a0 * b1) / d);
}

/* slot to = a b */
static inline KAON_HD void kaon_multiply(kaon_column_state *s, int to, const double *a,
                                         const double *b) {
  kaon_set(s, to, a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]);
}

static inline KAON_HD int kaon_slot_finite(const kaon_column_state *s, int slot) {
  return kaon_finite(s->slot[slot][0]) && kaon_finite(s->slot[slot][1]);
}

/* Verification if the method keeps its residual in the outer precision: the outer residual becomes
 * the inner one. */
static inline KAON_HD_CALLED void kaon_rec_verify(kaon_column_state *s) {
  s->drift = s->slot[KAON_S_OUTER][0] / s->slot[KAON_S_R2][0] - 1;
  kaon_set(s, KAON_S_R2, s->slot[KAON_S_OUTER][0], 0);
  kaon_stop_verify(s);
}

/* The same if the outer residual is also the chosen one. */
static inline KAON_HD void kaon_rec_verify_outer(kaon_column_state *s) {
  kaon_set(s, KAON_S_TRUE, s->slot[KAON_S_OUTER][0], 0);
  kaon_rec_verify(s);
}

/* The same at the start with x = 0. */
static inline KAON_HD void kaon_rec_verify_zero(kaon_column_state *s) {
  kaon_set(s, KAON_S_TRUE, s->reference, 0);
  kaon_rec_verify(s);
}

/* The cause of a denominator (p, A p) that is not positive. */
static inline KAON_HD int kaon_cause_of(double denominator) {
  if (!kaon_finite(denominator)) return KAON_CAUSE_NOT_FINITE;
  return denominator < 0 ? KAON_CAUSE_OPERATOR : KAON_CAUSE_ZERO;
}

/* ---- CG; CGNE shares these functions, with p = A^dag (the p of CG) ---- */

static inline KAON_HD void kaon_cg_begin(kaon_column_state *s, int norm) {
  kaon_set(s, KAON_S_RHO, s->slot[norm][0], 0);
  kaon_set(s, KAON_S_ALPHA, 0, 0);
  kaon_set(s, KAON_S_BETA, 0, 0);
}

/* alpha = rho / (p, A p). The previous step has already added its alpha p to x, so a broken alpha
 * is set to 0. If another residual decides (MONITOR), a direction of negative curvature counts as
 * an ordinary step: averaged projections with a lambda slightly too large have a few such
 * directions and still converge. */
static inline KAON_HD void kaon_cg_alpha(kaon_column_state *s) {
  const double rho = s->slot[KAON_S_RHO][0], denominator = s->slot[KAON_S_DENOMINATOR][0];
  const double alpha = rho / denominator;
  const int usable = denominator > 0 || ((s->flags & KAON_FLAG_MONITOR) && denominator < 0);
  if (usable && kaon_finite(denominator) && kaon_finite(alpha)) {
    kaon_set(s, KAON_S_ALPHA, alpha, 0);
  } else {
    kaon_set(s, KAON_S_ALPHA, 0, 0);
    kaon_broken(s, kaon_cause_of(denominator), 1);
  }
}

/* beta = rho' / rho. A frozen column keeps the old rho for kaon_cg_conjugate. */
static inline KAON_HD void kaon_cg_advance(kaon_column_state *s, int norm) {
  if (!(s->gate & KAON_GATE_STEP)) return;
  kaon_set(s, KAON_S_BETA, s->slot[norm][0] / s->slot[KAON_S_RHO][0], 0);
  kaon_set(s, KAON_S_RHO, s->slot[norm][0], 0);
}

/* Continues with the old direction p after r was replaced. Needs OVERLAP = (p, r). p -= (r,
 * p) / (r, r) r restores the orthogonality that exact arithmetic guarantees. Then p = r + beta p
 * with beta = |r|^2 / rho. If r = 0, nothing is subtracted: p must stay finite because 0 p is still
 * added to x. */
static inline KAON_HD_CALLED void kaon_cg_conjugate(kaon_column_state *s, int norm) {
  const double r2 = s->slot[norm][0], *overlap = s->slot[KAON_S_OVERLAP];
  kaon_set(s, KAON_S_OVERLAP, r2 != 0 ? overlap[0] / r2 : 0, r2 != 0 ? -overlap[1] / r2 : 0);
  kaon_set(s, KAON_S_BETA, r2 / s->slot[KAON_S_RHO][0], 0);
  kaon_set(s, KAON_S_RHO, r2, 0);
  kaon_set(s, KAON_S_ALPHA, 0, 0);
}

static inline KAON_HD void kaon_cg_start(kaon_column_state *s) {
  kaon_cg_begin(s, KAON_S_R2);
}

static inline KAON_HD void kaon_cg_beta(kaon_column_state *s) {
  kaon_step_end(s, s->slot[KAON_S_R2][0]);
  kaon_cg_advance(s, KAON_S_R2);
}

/* At a restart p = 0, so there is nothing to subtract. */
static inline KAON_HD void kaon_cg_continue(kaon_column_state *s, int norm) {
  if (s->gate & KAON_GATE_CONTINUE) {
    kaon_cg_conjugate(s, norm);
  } else {
    kaon_cg_begin(s, norm);
    kaon_set(s, KAON_S_OVERLAP, 0, 0);
  }
}

static inline KAON_HD void kaon_cg_renew(kaon_column_state *s) {
  kaon_cg_continue(s, KAON_S_R2);
}

/* ---- preconditioned CG: (r, K r) in slot RZ replaces |r|^2 in beta, and z = K r replaces r in the
 * direction ---- */

/* Returns 1 if (r, K r) > 0. Otherwise the column waits with alpha = 0, since x is already
 * complete. */
static inline KAON_HD int kaon_pcg_positive(kaon_column_state *s) {
  const double rz = s->slot[KAON_S_RZ][0];
  if (rz > 0 && kaon_finite(rz)) return 1;
  kaon_set(s, KAON_S_ALPHA, 0, 0);
  kaon_broken(s, kaon_finite(rz) ? KAON_CAUSE_PRECONDITIONER : KAON_CAUSE_NOT_FINITE, 1);
  return 0;
}

static inline KAON_HD void kaon_pcg_start(kaon_column_state *s) {
  kaon_cg_begin(s, KAON_S_RZ);
  kaon_pcg_positive(s);
}

/* x may be one update behind: if the column ends here, `finish` applies the alpha that it
 * leaves. */
static inline KAON_HD void kaon_pcg_beta(kaon_column_state *s) {
  const double rz = s->slot[KAON_S_RZ][0];
  kaon_step_end(s, s->slot[KAON_S_R2][0]);
  kaon_cg_advance(s, KAON_S_RZ);
  if ((s->gate & KAON_GATE_STEP) && !(rz > 0 && kaon_finite(rz)))
    kaon_broken(s, kaon_finite(rz) ? KAON_CAUSE_PRECONDITIONER : KAON_CAUSE_NOT_FINITE, 1);
}

/* A projection that left no residual says nothing about the preconditioner
 * (kaon_deflated_resume). */
static inline KAON_HD void kaon_pcg_renew(kaon_column_state *s) {
  kaon_cg_continue(s, KAON_S_RZ);
  if (!(s->flags & KAON_FLAG_DEFLATED) || s->slot[KAON_S_R2][0] != 0) kaon_pcg_positive(s);
}

/* First iteration whose services use the deflation pairs. Before it they are only collected, since
 * short solves gain nothing from them. */
enum { KAON_DEFLATION_FIRST = 192 };

/* Deflated CG and CGNR (solvers/spectra/deflate.c): makes the next direction conjugate to p. Needs
 * DENOMINATOR = (p, A p) and OVERLAP = (A p, r) or (A p, K r); for CGNR |A p|^2 and (A p, A s). The
 * imaginary part of OVERLAP is 0 in exact arithmetic and is ignored. */
static inline KAON_HD void kaon_cg_deflated(kaon_column_state *s) {
  const double beta = -s->slot[KAON_S_OVERLAP][0] / s->slot[KAON_S_DENOMINATOR][0];
  if (!(s->gate & KAON_GATE_CONTINUE) || s->iterations < KAON_DEFLATION_FIRST) return;
  kaon_set(s, KAON_S_BETA, kaon_finite(beta) ? beta : 0, 0);
  s->deflated++;
}

/* Sets `scale` between a replacement and a projection. After the projection `relative` no longer
 * belongs to the watched residual. In case NORMAL the watched A^dag r is itself the chosen
 * residual, so the scale is known. The rounding of the operator adds to it, so a column asks late
 * rather than early. */
static inline KAON_HD void kaon_deflated_scale(kaon_column_state *s) {
  s->scale = s->flags & KAON_FLAG_NORMAL ? 1 / s->reference : s->relative / s->slot[KAON_S_R2][0];
}

/* Ends a service with a projection, using that scale. The projection may leave no residual (CGNR:
 * no A^dag r, since |r|^2 is from before). The inner solution is then complete, and the column
 * requests verification at once. The first service of a solve has no projection. */
static inline KAON_HD void kaon_deflated_resume(kaon_column_state *s) {
  const double watched = kaon_watched(s);
  const int nothing = watched == 0 || s->slot[KAON_S_RHO][0] == 0;
  if (nothing && s->reason != KAON_WAIT_BEGIN) {
    kaon_renew(s, watched);
    kaon_wait(s, KAON_WAIT_STOP, 1);
    return;
  }
  if (watched > 0 && kaon_finite(watched)) s->relative = watched * s->scale;
  kaon_stop_resume(s);
}

/* ---- CGNR: s = A^dag r takes the place of r; |r|^2 is watched on the way ---- */

static inline KAON_HD void kaon_cgnr_start(kaon_column_state *s) {
  kaon_cg_begin(s, KAON_S_S2);
}

static inline KAON_HD void kaon_cgnr_residual(kaon_column_state *s) {
  if (!(s->flags & KAON_FLAG_NORMAL)) kaon_step_end(s, s->slot[KAON_S_R2][0]);
}

static inline KAON_HD void kaon_cgnr_beta(kaon_column_state *s) {
  if (s->flags & KAON_FLAG_NORMAL) kaon_step_end(s, s->slot[KAON_S_S2][0]);
  kaon_cg_advance(s, KAON_S_S2);
}

static inline KAON_HD void kaon_cgnr_renew(kaon_column_state *s) {
  kaon_cg_continue(s, KAON_S_S2);
}

/* CGNE: the directions are orthogonal: beta = -(p, A^dag r) / (p, p). */
static inline KAON_HD void kaon_cgne_continue(kaon_column_state *s) {
  const double p2 = s->slot[KAON_S_DENOMINATOR][0], *overlap = s->slot[KAON_S_OVERLAP];
  const int usable = p2 > 0 && kaon_slot_finite(s, KAON_S_OVERLAP);
  kaon_set(s, KAON_S_BETA, usable ? -overlap[0] / p2 : 0, usable ? -overlap[1] / p2 : 0);
  kaon_set(s, KAON_S_RHO, s->slot[KAON_S_R2][0], 0);
  kaon_set(s, KAON_S_ALPHA, 0, 0);
}

/* ---- BiCGStab ---- */

static inline KAON_HD int kaon_cause_of_slot(const kaon_column_state *s, int denominator) {
  return kaon_slot_finite(s, denominator) ? KAON_CAUSE_ZERO : KAON_CAUSE_NOT_FINITE;
}

static inline KAON_HD void kaon_bicgstab_start(kaon_column_state *s) {
  kaon_set(s, KAON_S_RHO, s->slot[KAON_S_R2][0], 0);
  kaon_set(s, KAON_S_R02, s->slot[KAON_S_R2][0], 0);
  kaon_set(s, KAON_S_ALPHA, 0, 0);
  kaon_set(s, KAON_S_BETA, 0, 0);
  kaon_set(s, KAON_S_OMEGA, 0, 0);
}

/* alpha = rho / (r0, A p) */
static inline KAON_HD void kaon_bicgstab_alpha(kaon_column_state *s) {
  kaon_divide(s, KAON_S_ALPHA, s->slot[KAON_S_RHO], s->slot[KAON_S_R0V]);
  if (!kaon_slot_finite(s, KAON_S_ALPHA)) kaon_broken(s, kaon_cause_of_slot(s, KAON_S_R0V), 1);
}

/* omega = (t, s) / (t, t). s = 0 means that x is the solution. If (t, s) = 0 to rounding, the
 * stabilising step cannot move. There are two cases:
 * - A has no positive part: x stays the last iterate.
 * - s is only rounding, since the half step has reached the solution: omega = 0, and the end of the
 *   step decides whether that is enough. */
static inline KAON_HD_CALLED void kaon_bicgstab_omega(kaon_column_state *s) {
  const double *st = s->slot[KAON_S_ST], t2 = s->slot[KAON_S_T2][0], s2 = s->slot[KAON_S_Q2][0];
  const int still = s2 > 0 && st[0] * st[0] + st[1] * st[1] <= 1e-28 * s2 * t2;
  if (still && !(s2 <= s->threshold || s2 <= 0.25 * s->slot[KAON_S_R2][0])) {
    kaon_broken(s, KAON_CAUSE_ZERO, 1);
    return;
  }
  const int moves = t2 != 0 && !still;
  kaon_set(s, KAON_S_OMEGA, moves ? st[0] / t2 : 0, moves ? -st[1] / t2 : 0);
  if (!kaon_slot_finite(s, KAON_S_OMEGA)) kaon_broken(s, KAON_CAUSE_NOT_FINITE, 0);
}

/* beta = (rho' / rho) (alpha / omega). Serious breakdown: r orthogonal to r0 to rounding. */
static inline KAON_HD_CALLED void kaon_bicgstab_beta(kaon_column_state *s) {
  const double *rho = s->slot[KAON_S_RHO_NEW], r2 = s->slot[KAON_S_R2][0];
  kaon_step_end(s, r2);
  kaon_multiply(s, KAON_S_FACTOR, s->slot[KAON_S_OMEGA], s->slot[KAON_S_RHO]);
  kaon_divide(s, KAON_S_FACTOR, s->slot[KAON_S_ALPHA], s->slot[KAON_S_FACTOR]);
  if (!(s->gate & KAON_GATE_STEP)) return;
  kaon_multiply(s, KAON_S_BETA, s->slot[KAON_S_FACTOR], rho);
  kaon_set(s, KAON_S_RHO, rho[0], rho[1]);
  if (!kaon_slot_finite(s, KAON_S_BETA) ||
      rho[0] * rho[0] + rho[1] * rho[1] <= 1e-30 * s->slot[KAON_S_R02][0] * r2)
    kaon_broken(s, kaon_cause_of_slot(s, KAON_S_RHO_NEW), 1);
}

/* r0, p and v continue. rho is computed again with the replaced residual. */
static inline KAON_HD_CALLED void kaon_bicgstab_continue(kaon_column_state *s) {
  const double *rho = s->slot[KAON_S_RHO_NEW];
  kaon_multiply(s, KAON_S_BETA, s->slot[KAON_S_FACTOR], rho);
  kaon_set(s, KAON_S_RHO, rho[0], rho[1]);
  if (!kaon_slot_finite(s, KAON_S_BETA)) kaon_set(s, KAON_S_BETA, 0, 0);
}

/* ---- reordered BiCGStab: rho and beta are known with omega, alpha with v = A K p of the next
 * step. x already has the whole step before a verification is requested ---- */

/* alpha = rho / (r0, v) */
static inline KAON_HD void kaon_rbicgstab_start(kaon_column_state *s) {
  kaon_bicgstab_start(s);
  kaon_bicgstab_alpha(s);
}

/* omega = (t, r) / (t, t);  rho' = (r0, r) - omega (r0, t);  beta = (rho' / rho) (alpha / omega).
 * With PRINTED rho' omits (r0, r), as in the paper, because it is 0 in exact arithmetic. r = 0 is
 * the solution. */
static inline KAON_HD void kaon_rbicgstab_omega(kaon_column_state *s) {
  const double *chi = s->slot[KAON_S_CHI];
  const int printed = (s->flags & KAON_FLAG_PRINTED) != 0;
  kaon_set(s, KAON_S_ST, s->slot[KAON_S_RT][0], s->slot[KAON_S_RT][1]);
  kaon_bicgstab_omega(s);
  if (s->reason == KAON_WAIT_BROKEN && !(s->gate & KAON_GATE_STEP)) return;
  kaon_multiply(s, KAON_S_RHO_NEW, s->slot[KAON_S_OMEGA], s->slot[KAON_S_R0T]);
  const double *product = s->slot[KAON_S_RHO_NEW];
  kaon_set(s, KAON_S_RHO_NEW, (printed ? 0 : chi[0]) - product[0],
           (printed ? 0 : chi[1]) - product[1]);
  kaon_multiply(s, KAON_S_FACTOR, s->slot[KAON_S_OMEGA], s->slot[KAON_S_RHO]);
  kaon_divide(s, KAON_S_FACTOR, s->slot[KAON_S_ALPHA], s->slot[KAON_S_FACTOR]);
  kaon_multiply(s, KAON_S_BETA, s->slot[KAON_S_FACTOR], s->slot[KAON_S_RHO_NEW]);
  if (!kaon_slot_finite(s, KAON_S_BETA)) kaon_set(s, KAON_S_BETA, 0, 0);
}

static inline KAON_HD void kaon_rbicgstab_step(kaon_column_state *s) {
  const double *rho = s->slot[KAON_S_RHO_NEW], r2 = s->slot[KAON_S_R2][0];
  kaon_step_end(s, r2);
  if (!(s->gate & KAON_GATE_STEP)) return;
  kaon_set(s, KAON_S_RHO, rho[0], rho[1]);
  const double *omega = s->slot[KAON_S_OMEGA];
  const int still = omega[0] == 0 && omega[1] == 0; /* only a half step was made */
  if (still || rho[0] * rho[0] + rho[1] * rho[1] <= 1e-30 * s->slot[KAON_S_R02][0] * r2)
    kaon_broken(s, kaon_cause_of_slot(s, KAON_S_RHO_NEW), 1);
  else
    kaon_bicgstab_alpha(s);
}

/* r0 and the direction continue. rho is computed again with the replaced residual. */
static inline KAON_HD void kaon_rbicgstab_continue(kaon_column_state *s) {
  kaon_set(s, KAON_S_RHO, s->slot[KAON_S_RHO_NEW][0], s->slot[KAON_S_RHO_NEW][1]);
  kaon_bicgstab_alpha(s);
}

/* ---- BiCG: rho = (r', K r) with the shadow residual r'; shadow coefficients are conjugated
 * ---- */

static inline KAON_HD void kaon_bicg_conjugates(kaon_column_state *s) {
  kaon_set(s, KAON_S_ALPHA_CONJ, s->slot[KAON_S_ALPHA][0], -s->slot[KAON_S_ALPHA][1]);
  kaon_set(s, KAON_S_BETA_CONJ, s->slot[KAON_S_BETA][0], -s->slot[KAON_S_BETA][1]);
}

/* Serious breakdown, by the same limit as in BiCGStab: K r orthogonal to r' to rounding. R02 =
 * |r'|^2, Q2 = |K r|^2. */
static inline KAON_HD int kaon_bicg_usable(kaon_column_state *s) {
  const double *rho = s->slot[KAON_S_RHO_NEW];
  const double least = 1e-15 * sqrt(s->slot[KAON_S_R02][0]) * sqrt(s->slot[KAON_S_Q2][0]);
  const int finite = kaon_slot_finite(s, KAON_S_RHO_NEW);
  if (finite && (fabs(rho[0]) > least || fabs(rho[1]) > least)) return 1;
  kaon_broken(s, finite ? KAON_CAUSE_ZERO : KAON_CAUSE_NOT_FINITE, 1);
  return 0;
}

static inline KAON_HD void kaon_bicg_start(kaon_column_state *s) {
  const double *rho = s->slot[KAON_S_RHO_NEW];
  kaon_set(s, KAON_S_R02, s->slot[KAON_S_R2][0], 0);
  kaon_set(s, KAON_S_RHO, rho[0], rho[1]);
  kaon_set(s, KAON_S_ALPHA, 0, 0);
  kaon_set(s, KAON_S_BETA, 0, 0);
  kaon_bicg_conjugates(s);
  kaon_bicg_usable(s);
}

/* alpha = rho / (p', A p). The previous step has already added its alpha p to x, so a broken alpha
 * is set to 0. */
static inline KAON_HD void kaon_bicg_alpha(kaon_column_state *s) {
  kaon_divide(s, KAON_S_ALPHA, s->slot[KAON_S_RHO], s->slot[KAON_S_DENOMINATOR]);
  if (!kaon_slot_finite(s, KAON_S_ALPHA)) {
    kaon_set(s, KAON_S_ALPHA, 0, 0);
    kaon_broken(s, kaon_cause_of_slot(s, KAON_S_DENOMINATOR), 1);
  }
  kaon_bicg_conjugates(s);
}

/* beta = rho' / rho. A frozen column keeps the old rho for kaon_bicg_continue. */
static inline KAON_HD void kaon_bicg_beta(kaon_column_state *s) {
  const double *rho = s->slot[KAON_S_RHO_NEW];
  kaon_step_end(s, s->slot[KAON_S_R2][0]);
  if (!(s->gate & KAON_GATE_STEP) || !kaon_bicg_usable(s)) return;
  kaon_divide(s, KAON_S_BETA, rho, s->slot[KAON_S_RHO]);
  kaon_set(s, KAON_S_RHO, rho[0], rho[1]);
  kaon_bicg_conjugates(s);
}

/* The same with (r, r') in CHI, which is the conjugate of rho if K = 1. */
static inline KAON_HD void kaon_bicg_shadow(kaon_column_state *s) {
  kaon_set(s, KAON_S_RHO_NEW, s->slot[KAON_S_CHI][0], -s->slot[KAON_S_CHI][1]);
  kaon_set(s, KAON_S_Q2, s->slot[KAON_S_R2][0], 0);
  kaon_bicg_beta(s);
}

/* Continues with the old directions after r was replaced. p -= c z and p' -= c' z' restore (r', p)
 * = (p', r) = 0, which holds in exact arithmetic: c = (r', p) / rho, conj(c') = (p', r) / rho. */
static inline KAON_HD void kaon_bicg_continue(kaon_column_state *s) {
  const double *rho = s->slot[KAON_S_RHO_NEW];
  kaon_divide(s, KAON_S_BETA, rho, s->slot[KAON_S_RHO]);
  kaon_divide(s, KAON_S_OVERLAP, s->slot[KAON_S_OVERLAP], rho);
  kaon_divide(s, KAON_S_OVERLAP_SHADOW, s->slot[KAON_S_OVERLAP_SHADOW], rho);
  s->slot[KAON_S_OVERLAP_SHADOW][1] = -s->slot[KAON_S_OVERLAP_SHADOW][1];
  kaon_set(s, KAON_S_RHO, rho[0], rho[1]);
  kaon_set(s, KAON_S_ALPHA, 0, 0);
  kaon_bicg_conjugates(s);
  kaon_bicg_usable(s);
}

#include "lib/math/steps/recurrences_flexible.h"
#include "lib/math/steps/recurrences_pipelined.h"
#include "lib/math/steps/recurrences_shifts.h"

/* ---- MR ---- */

/* alpha = relaxation (q, r) / (q, q), q = A r */
static inline KAON_HD void kaon_mr_alpha(kaon_column_state *s) {
  const double *rq = s->slot[KAON_S_RQ];
  const double f = s->slot[KAON_S_RELAXATION][0] / s->slot[KAON_S_Q2][0];
  kaon_set(s, KAON_S_ALPHA, f * rq[0], -f * rq[1]);
  if (!kaon_slot_finite(s, KAON_S_ALPHA) || (rq[0] == 0 && rq[1] == 0))
    kaon_broken(s, kaon_cause_of_slot(s, KAON_S_Q2), 1);
}

static inline KAON_HD void kaon_mr_residual(kaon_column_state *s) {
  kaon_step_end(s, s->slot[KAON_S_R2][0]);
}

/* The same for a column that always continues: a step that cannot be computed is skipped. */
static inline KAON_HD void kaon_local_alpha(kaon_column_state *s) {
  const double *rq = s->slot[KAON_S_RQ];
  const double f = s->slot[KAON_S_RELAXATION][0] / s->slot[KAON_S_Q2][0];
  kaon_set(s, KAON_S_ALPHA, f * rq[0], -f * rq[1]);
  if (!kaon_slot_finite(s, KAON_S_ALPHA)) kaon_set(s, KAON_S_ALPHA, 0, 0);
}

/* Opens or closes a column of an operator's private scalars. */
static inline KAON_HD void kaon_local_open(kaon_column_state *s) {
  s->gate = KAON_GATE_STEP;
}

static inline KAON_HD void kaon_local_close(kaon_column_state *s) {
  s->gate = 0;
}

/* ---- GCR; j = aux is the position in the cycle ---- */

/* Row j becomes the coefficients of q_j -= sum_i c_i q_i: c_i = (q_i, q_j) / (q_i, q_i). */
static inline KAON_HD void kaon_gcr_ortho(kaon_column_state *s) {
  const int row = kaon_gcr_row(s->aux);
  for (int i = 0; i < s->aux; i++) {
    const double norm = s->slot[KAON_S_GCR_NORM + i][0];
    kaon_set(s, row + i, s->slot[row + i][0] / norm, s->slot[row + i][1] / norm);
  }
}

/* alpha = (q_j, r) / (q_j, q_j). (r, q_j) was summed before q_j was orthogonalised; that is
 * equivalent because r is orthogonal to the older q_i. The cycle ends if q_j is within 30 roundings
 * of the span of the older q_i, or orthogonal to r. It also ends if a step would be a hundred times
 * what |(q, r)|^2 <= (q, q) (r, r) allows: then r is made of roundings along the older q_i. */
static inline KAON_HD void kaon_gcr_alpha(kaon_column_state *s) {
  const int j = s->aux;
  const double *rq = s->slot[kaon_gcr_row(j) + j], norm = s->slot[KAON_S_GCR_NORM + j][0];
  const double re = rq[0] / norm, im = -rq[1] / norm;
  const int spent = j > 0 && (norm <= 900 * s->epsilon2 * s->slot[KAON_S_Q2][0] ||
                              (re * re + im * im) * norm > 1e4 * s->slot[KAON_S_R2][0]);
  kaon_set(s, KAON_S_ALPHA, re, im);
  kaon_set(s, KAON_S_GCR_Y + j, re, im);
  if (!kaon_finite(re) || !kaon_finite(im) || (re == 0 && im == 0) || spent)
    kaon_broken(s, kaon_finite(norm) ? KAON_CAUSE_ZERO : KAON_CAUSE_NOT_FINITE, kaon_finite(norm));
}

/* |r - alpha q|^2 = |r|^2 - |(q, r)|^2 / (q, q), which saves a reduction. The value is unreliable
 * below a few squared roundings of |r|^2 at the start of the cycle. The column then requests a
 * replacement, as at the end of a cycle. It also does so if a step near that level wins little:
 * with few non-zero sites (a point source) roundings do not average out. */
static inline KAON_HD void kaon_gcr_residual(kaon_column_state *s) {
  const double *alpha = s->slot[KAON_S_ALPHA], norm = s->slot[KAON_S_GCR_NORM + s->aux][0];
  if (s->aux == 0) kaon_set(s, KAON_S_ANCHOR, s->slot[KAON_S_R2][0], 0);
  const double known = s->epsilon2 > 0x1p-44 ? s->epsilon2 : 0x1p-44;
  const double floor = known * s->slot[KAON_S_ANCHOR][0], before = s->slot[KAON_S_R2][0];
  const double anchor = s->slot[KAON_S_ANCHOR][0], doubtful2 = 1024 * s->epsilon2 * anchor * anchor;
  const double r2 = before - (alpha[0] * alpha[0] + alpha[1] * alpha[1]) * norm;
  kaon_set(s, KAON_S_R2, r2 < floor ? floor : r2, 0);
  s->aux++;
  kaon_step_end(s, s->slot[KAON_S_R2][0]);
  const int goes_on = (s->gate & KAON_GATE_STEP) && !(s->flags & KAON_FLAG_FIXED);
  const int doubtful = r2 * r2 < doubtful2 && r2 > 0.5 * before;
  if ((r2 < floor || doubtful) && goes_on) kaon_wait(s, KAON_WAIT_UPDATE, 1);
}

/* Coefficients of the z_j in x: back substitution of q_j = A z_j - sum_i c_ij q_i. */
static inline KAON_HD void kaon_gcr_solve(kaon_column_state *s) {
  for (int j = KAON_GCR_MAX - 1; j >= s->aux; j--) kaon_set(s, KAON_S_GCR_Y + j, 0, 0);
  for (int j = s->aux - 1; j > 0; j--) {
    const double *y = s->slot[KAON_S_GCR_Y + j];
    for (int i = 0; i < j; i++) {
      const double *c = s->slot[kaon_gcr_row(j) + i];
      s->slot[KAON_S_GCR_Y + i][0] -= c[0] * y[0] - c[1] * y[1];
      s->slot[KAON_S_GCR_Y + i][1] -= c[0] * y[1] + c[1] * y[0];
    }
  }
  s->aux = 0;
}

/* Runs a recurrence of the products' list. */
static inline KAON_HD void kaon_recurrence_run_product(int id, kaon_column_state *s) {
  switch (id) {
#define KAON_X(id, function) \
  case id:                   \
    function(s);             \
    break;
    KAON_RECURRENCES_OF_PRODUCTS(KAON_X)
    default:
      break;
  }
}

static inline KAON_HD void kaon_recurrence_run(int id, kaon_column_state *s) {
  switch (id) {
    KAON_RECURRENCES_OF_PRODUCTS(KAON_X)
    KAON_OTHER_RECURRENCES(KAON_X)
#undef KAON_X
    default:
      break;
  }
}
