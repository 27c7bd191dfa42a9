/* meson.h - contractions of a 12-column propagator S(x, 0) at one site x.
 * By S(0, x) = gamma_5 S(x, 0)^dag gamma_5 the pion is sum |S|^2. The vector meson, with its
 * physical sign (positive at large times), is tr[Sigma_k S Sigma_k S^dag]. Here Sigma_k = i gamma_5
 * gamma_k = diag(sigma_k, -sigma_k) in the UKQCD basis (docs/conventions.md).
 *
 * Spin elements:
 * - sigma_3 pairs S_{s s0} with itself, with sign (-1)^(s + s0).
 * - sigma_1 and sigma_2 pair it with S_{s^1, s0^1}. Their signs add up to 2 if s and s0 are both
 *   even or both odd, and cancel otherwise.
 * - The lower half of Sigma changes the sign once for s and once for s0. */
#pragma once

#include "lib/math/vreal.h"

/* Re sum conj(a) b over colours */
KAON_MATH vreal meson_re_dot(const vcomplex a[3], const vcomplex b[3]) {
  vreal sum = v_set(0);
  for (int c = 0; c < 3; c++) sum = sum + v_fma(a[c].re, b[c].re, a[c].im * b[c].im);
  return sum;
}

/* The contribution of one column of S. */
KAON_MATH vreal meson_pion(const vcomplex s[4][3]) {
  vreal sum = v_set(0);
  for (int i = 0; i < 4; i++) sum = sum + meson_re_dot(s[i], s[i]);
  return sum;
}

/* The contributions of column a = (s0, c0), summed over k. b is column (s0 ^ 1, c0). */
KAON_MATH vreal meson_rho(const vcomplex a[4][3], const vcomplex b[4][3], int s0) {
  vreal sum = v_set(0);
  for (int s = 0; s < 4; s++) {
    const vreal single_launch = meson_re_dot(a[s], a[s]), flipped = meson_re_dot(a[s], b[s ^ 1]);
    const vreal term = (s & 1) == (s0 & 1) ? single_launch + flipped + flipped : -single_launch;
    sum = (s >= 2) == (s0 >= 2) ? sum + term : sum - term;
  }
  return sum;
}
