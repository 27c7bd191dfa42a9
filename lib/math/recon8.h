/* recon8.h - applies SU(3) links of 8 reals (recon.h) without computing the elements of V: V chi
 * and V^dagger chi. Applying one takes 44 multiplications and additions, or 50 when V^dagger chi is
 * added to a sum. Preparing the link takes 23 more (31 in single, with Newton steps). Decoding the
 * elements takes 75 (83), and a product of nine elements 36. So this form suits a link that meets
 * one vector. With several vectors elements are cheaper, because here the choice between rotated
 * and plain columns is made for each vector.
 *
 * Row a of V is t A. A is what the projection yields before the factor t = 1 / h, h = (1 +
 * y^2) / 2. With s = A_1 chi_1 + A_2 chi_2, nu = t h^2 n^2 and alpha, beta as below:
 *   p = nu chi_0 - conj(t A_0) s,   q = conj(A_1) chi_2 - conj(A_2) chi_1:
 *   V chi = (t A_0 chi_0 + t s,   alpha p + beta q,   conj(beta) p - conj(alpha) q);
 *   r_1 = conj(alpha) chi_1 + beta chi_2,   r_2 = conj(beta) chi_1 - alpha chi_2,
 *   w = t chi_0 - t A_0 r_1:
 *   V^dagger chi = (conj(t A_0) chi_0 + nu r_1,  conj(A_1) w - A_2 r_2,  conj(A_2) w + A_1 r_2).
 * Reason: p and q are n / t times the components of chi along the frame (n, -conj(a_0) a_1 / n,
 * -conj(a_0) a_2 / n) and (0, -conj(a_2), conj(a_1)) / n. And c is conj(beta) times the first
 * component minus conj(alpha) times the second.
 * alpha and beta are those of recon.h without their stereographic factor, times g = 1 / (h' h n).
 * h' is their own (1 + y^2) / 2, and h n is the root of h^2 - |A_0|^2. Half: y, A, h and h' are in
 * units of 1 / 32767, which cancel in t and g.
 *
 * Errors of a component, |chi| = 1. In exact arithmetic this is the matrix of recon.h. Stored reals
 * off by e move V chi by at most 10 e a component, row c included. They move V^dagger chi, through
 * a column, by at most sqrt(20 + 2 (2 (sqrt(3) + sqrt(10)))^2) = 14.6 e. Roundings, in units of
 * eps / 2:
 * - y^2: 5 relative; so h: 5 y^2 / (1 + y^2) + 1 = 3.5, and A_2: 4 h;
 * - h^2 - |A_0|^2: 10 h^2, at most twice itself since n^2 >= 1 / 2; so its root: 10 relative;
 * - t: 4.5; p and q together: 7; alpha and beta: 10;
 * - sums: 12 sqrt(2), as |alpha| + |beta| <= sqrt(2).
 * The total is 49, or 57 with the reciprocals of a GPU (off by one or two ulp). With row a added
 * for V^dagger chi it is 60 in the worst case: 30 eps. With e = eps / 2 that is at most 37.3
 * eps. Elements within KAON_RECON8_BOUND eps are allowed 20 sqrt(3) + 3 = 37.6, so applied links
 * need no bound of their own. In half, roundings are those of single precision, 250 times
 * smaller than e. */
#pragma once

#include "lib/math/recon.h"

typedef struct vlink8 {
  vcomplex a0;     /* t A_0 */
  vcomplex a1, a2; /* A_1, A_2 */
  vcomplex alpha, beta;
  vreal t, nu;
} vlink8;

/* Prepares a link from 8 reals at p, loaded as z[4] (half: integers). */
KAON_MATH vlink8 link8_of(const stored *p, const vcomplex *z) {
  const vreal one = v_set(1 / KAON_LINK_UNIT), half = v_set(0.5 / KAON_LINK_UNIT);
  const vreal half_of = v_set(0.5 * KAON_LINK_UNIT);
  vlink8 u;
  vreal y2 = v_fma(z[0].im, z[0].im, z[0].re * z[0].re);
  y2 = v_fma(z[1].im, z[1].im, v_fma(z[1].re, z[1].re, y2));
  y2 = v_fma(z[2].re, z[2].re, y2);
  const vreal h = v_fma(y2, half_of, half);
  u.t = v_flip_odd(p, v_inverse(h));
  u.a0 = c_scale(z[0], u.t);
  u.a1 = z[1];
  u.a2 = c_make(one - h, z[2].re);
  const vreal hn2 = v_fnma(z[0].im, z[0].im, v_fnma(z[0].re, z[0].re, h * h));
  u.nu = hn2 * u.t;
  y2 = v_fma(z[3].im, z[3].im, v_fma(z[3].re, z[3].re, z[2].im * z[2].im));
  const vreal h1 = v_fma(y2, half_of, half);
  const vreal g = v_flip_odd(p, v_flip_odd(p + KAON_W, v_inverse_root(h1, hn2)));
  u.alpha = c_make((one - h1) * g, z[2].im * g);
  u.beta = c_scale(z[3], g);
  return u;
}

/* d += V chi */
KAON_MATH void link8_add(const vlink8 *u, const vcomplex *chi, vcomplex *d) {
  const vcomplex s = c_fma(u->a2, chi[2], c_mul(u->a1, chi[1]));
  const vcomplex p = c_conj_fnma(u->a0, s, c_scale(chi[0], u->nu));
  const vcomplex q = c_conj_fnma(u->a2, chi[1], c_conj_mul(u->a1, chi[2]));
  d[0] = c_fma(u->a0, chi[0], d[0]);
  d[0] = c_make(v_fma(u->t, s.re, d[0].re), v_fma(u->t, s.im, d[0].im));
  d[1] = c_fma(u->alpha, p, c_fma(u->beta, q, d[1]));
  d[2] = c_conj_fma(u->beta, p, c_conj_fnma(u->alpha, q, d[2]));
}

/* V^dagger chi */
KAON_MATH void link8_adjoint(const vlink8 *u, const vcomplex *chi, vcomplex *x) {
  const vcomplex r1 = c_fma(u->beta, chi[2], c_conj_mul(u->alpha, chi[1]));
  const vcomplex r2 = c_fnma(u->alpha, chi[2], c_conj_mul(u->beta, chi[1]));
  const vcomplex w = c_fnma(u->a0, r1, c_scale(chi[0], u->t));
  x[0] = c_conj_fma(u->a0, chi[0], c_scale(r1, u->nu));
  x[1] = c_fnma(u->a2, r2, c_conj_mul(u->a1, w));
  x[2] = c_fma(u->a1, r2, c_conj_mul(u->a2, w));
}

/* d += U^dagger chi. U is the link; V is U with its columns rotated or not. */
KAON_MATH void link8_add_adjoint(const stored *p, const vlink8 *u, const vcomplex *chi,
                                 vcomplex *d) {
  vcomplex x[3];
  link8_adjoint(u, chi, x);
  for (int i = 0; i < 3; i++) d[i] = c_add(d[i], recon_choose8(p, x[i], x[(i + 2) % 3]));
}

/* chi in the column order of V: U chi = V link8_swapped(chi). */
KAON_MATH void link8_swapped(const stored *p, const vcomplex *chi, vcomplex *turned) {
  for (int i = 0; i < 3; i++) turned[i] = recon_choose8(p, chi[i], chi[(i + 1) % 3]);
}
