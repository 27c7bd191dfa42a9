/* recon.h - links from 12 or 8 reals, and 8 reals from a link.
 * 12: rows 0 and 1; row 2 = conj(row 0 x row 1).
 * 8: well-conditioned for every SU(3) matrix, the identity included. Rows are rotated cyclically
 * until the largest element of column 0 comes first; v is that column then, |v0|^2 >= 1/3. Stored
 * are v1, v2 and the phase of v0. The other two columns are (w1, w2) times an SU(2) matrix, w1 =
 * (-v1*, v0*, 0) / n, w2 = conj(v x w1), n^2 = |v0|^2 + |v1|^2: column 1 = alpha w1 + beta w2,
 * column 2 = -beta* w1 + alpha* w2, of which the smaller of alpha, beta is stored whole and the
 * larger (|.|^2 >= 1/2) by its phase. So every root and quotient is of a number of at least 1/3,
 * and errors stay within a small factor of the stored rounding. Reals: v1, v2 (4), small (2), phase
 * v0 / pi, phase large / pi. Three bits ride in least significant bits: of the two phases the
 * rotation (0..2), of Re small whether alpha is the large one. The idea of phases and unit vectors
 * is Bunk and Sommer's (Comput. Phys. Commun. 40 (1986) 229); the choice of pivots is ours. */
#ifndef KAON_LIB_MATH_RECON_H
#define KAON_LIB_MATH_RECON_H

#include <math.h>
#include <string.h>

#include "lib/math/vreal.h"

/* Factor from a stored integer to a component: links in half have the fixed scale 1. */
#if KAON_HALF
#define KAON_LINK_UNIT (1.0 / 32767)
#else
#define KAON_LINK_UNIT 1.0
#endif

/* row 2 of a decoded link u[9] (row * 3 + col). */
KAON_MATH void recon_row2(vcomplex *u) {
  for (int i = 0; i < 3; i++) {
    const vcomplex a = u[(i + 1) % 3], b = u[(i + 2) % 3], c = u[3 + (i + 1) % 3],
                   d = u[3 + (i + 2) % 3];
    const vcomplex e = c_fnma(b, c, c_mul(a, d));
    u[6 + i] = c_make(e.re, -e.im);
  }
}

/* (cos, sin)(pi t) for |t| <= 1: Taylor series at a quarter of the angle (remainder below 2^-53, or
 * 2^-24, of 1), angle doubled twice. */
KAON_MATH vcomplex recon_phase(vreal t) {
#if defined(KAON_PREC_DOUBLE)
  static const double sine[] = {
      -1.0 / 1307674368000.0, 1.0 / 6227020800.0, -1.0 / 39916800.0, 1.0 / 362880.0,
      -1.0 / 5040.0,          1.0 / 120.0,        -1.0 / 6.0,        1.0};
  static const double cosine[] = {1.0 / 20922789888000.0,
                                  -1.0 / 87178291200.0,
                                  1.0 / 479001600.0,
                                  -1.0 / 3628800.0,
                                  1.0 / 40320.0,
                                  -1.0 / 720.0,
                                  1.0 / 24.0,
                                  -0.5,
                                  1.0};
#else
  static const double sine[] = {1.0 / 362880.0, -1.0 / 5040.0, 1.0 / 120.0, -1.0 / 6.0, 1.0};
  static const double cosine[] = {-1.0 / 3628800.0, 1.0 / 40320.0, -1.0 / 720.0,
                                  1.0 / 24.0,       -0.5,          1.0};
#endif
  const vreal x = t * v_set(0.78539816339744830962), y = x * x;
  vreal s = v_set(sine[0]), c = v_set(cosine[0]);
  for (int i = 1; i < (int)(sizeof sine / sizeof *sine); i++) s = v_fma(s, y, v_set(sine[i]));
  for (int i = 1; i < (int)(sizeof cosine / sizeof *cosine); i++) c = v_fma(c, y, v_set(cosine[i]));
  s = s * x;
  for (int i = 0; i < 2; i++) {
    const vreal twice = s + s, doubled = twice * c;
    c = v_fnma(twice, s, v_set(1));
    s = doubled;
  }
  return c_make(c, s);
}

KAON_MATH vreal recon_norm2(vcomplex a) {
  return v_fma(a.im, a.im, a.re * a.re);
}

/* u[9] from 8 reals, KAON_W apart. */
KAON_MATH void recon_decode8(const stored *p, vcomplex *u) {
  vreal raw[8];
  for (int i = 0; i < 8; i++) raw[i] = v_load(p + i * KAON_W);
  const vreal unit = v_set(KAON_LINK_UNIT), one = v_set(1), tiny = v_set(1e-12);
  const vcomplex v1 = c_make(raw[0] * unit, raw[1] * unit),
                 v2 = c_make(raw[2] * unit, raw[3] * unit);
  const vcomplex small = c_make(raw[4] * unit, raw[5] * unit);
  const vreal m0 = v_max(one - recon_norm2(v1) - recon_norm2(v2), tiny);
  const vcomplex v0 = c_scale(recon_phase(raw[6] * unit), v_sqrt(m0));
  const vcomplex large =
      c_scale(recon_phase(raw[7] * unit), v_sqrt(v_max(one - recon_norm2(small), tiny)));
  const vcomplex alpha = c_make(v_select_odd(p + 4 * KAON_W, large.re, small.re),
                                v_select_odd(p + 4 * KAON_W, large.im, small.im));
  const vcomplex beta = c_make(v_select_odd(p + 4 * KAON_W, small.re, large.re),
                               v_select_odd(p + 4 * KAON_W, small.im, large.im));
  const vreal n = v_sqrt(m0 + recon_norm2(v1)), inverse = one / n;
  const vcomplex v2c = c_make(v2.re, -v2.im);
  const vcomplex as = c_make(alpha.re, -alpha.im), bs = c_make(beta.re, -beta.im);
  const vcomplex p1 = c_scale(alpha, inverse), q1 = c_scale(c_mul(beta, v2c), inverse);
  const vcomplex p2 = c_scale(bs, inverse), q2 = c_scale(c_mul(as, v2c), inverse);
  const vcomplex zero = c_make(v_set(0), v_set(0));
  vcomplex row[3][3];
  row[0][0] = v0;
  row[1][0] = v1;
  row[2][0] = v2;
  /* -p1 v1* - q1 v0, p1 v0* - q1 v1, beta n; and p2 v1* - q2 v0, -p2 v0* - q2 v1, alpha* n */
  row[0][1] = c_fnma(q1, v0, c_sub(zero, c_conj_mul(v1, p1)));
  row[1][1] = c_fnma(q1, v1, c_conj_mul(v0, p1));
  row[2][1] = c_scale(beta, n);
  row[0][2] = c_fnma(q2, v0, c_conj_mul(v1, p2));
  row[1][2] = c_fnma(q2, v1, c_sub(zero, c_conj_mul(v0, p2)));
  row[2][2] = c_scale(as, n);
  /* rotation k: our row r is the link's row (r + k) mod 3; link row i is ours (i - k) mod 3 */
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) {
      const vcomplex k0 = row[i][j], k1 = row[(i + 2) % 3][j], k2 = row[(i + 1) % 3][j];
      u[i * 3 + j] =
          c_make(v_select_odd(p + 7 * KAON_W, k2.re, v_select_odd(p + 6 * KAON_W, k1.re, k0.re)),
                 v_select_odd(p + 7 * KAON_W, k2.im, v_select_odd(p + 6 * KAON_W, k1.im, k0.im)));
    }
}

/* u[9] of a link stored in `recon` reals, KAON_W apart. */
KAON_MATH void recon_decode(const stored *p, const int recon, vcomplex *u) {
  if (recon == 8) {
    recon_decode8(p, u);
    return;
  }
  const vreal unit = v_set(KAON_LINK_UNIT);
  for (int i = 0; i < recon / 2; i++)
    u[i] = c_make(v_load(p + 2 * i * KAON_W) * unit, v_load(p + (2 * i + 1) * KAON_W) * unit);
  if (recon == 12) recon_row2(u);
}

/* ---- the other way: set-up work, one link at a time, in double ---- */

/* x with the least significant bit of its stored form set as wanted. */
static inline stored recon_store(double x, int bit) {
#if KAON_HALF
  double n = rint(x * 32767);
  if (((int)n & 1) != bit) n += n > x * 32767 ? -1 : 1;
  if (n > 32767) n -= 2;
  if (n < -32767) n += 2;
  return (stored)n;
#elif defined(KAON_PREC_DOUBLE)
  uint64_t word;
  memcpy(&word, &x, sizeof word);
  word = (word & ~(uint64_t)1) | (uint64_t)bit;
  memcpy(&x, &word, sizeof word);
  return x;
#else
  float y = (float)x;
  uint32_t word;
  memcpy(&word, &y, sizeof word);
  word = (word & ~(uint32_t)1) | (uint32_t)bit;
  memcpy(&y, &word, sizeof word);
  return y;
#endif
}

/* A component without a bit. */
static inline stored recon_plain(double x) {
#if KAON_HALF
  const double n = rint(x * 32767);
  return (stored)(n > 32767 ? 32767 : n < -32767 ? -32767 : n);
#else
  return (stored)x;
#endif
}

/* (re, im) of sum over rows of conj(w) u[row][col]. */
static inline void recon_project(double w[3][2], const double *u[3], int col, double z[2]) {
  z[0] = z[1] = 0;
  for (int r = 0; r < 3; r++) {
    const double *x = u[r] + 2 * col;
    z[0] += w[r][0] * x[0] + w[r][1] * x[1];
    z[1] += w[r][0] * x[1] - w[r][1] * x[0];
  }
}

/* The 8 stored reals, `stride` apart, of the SU(3) matrix u[(row * 3 + col) * 2 + reim]. */
static inline void recon_encode8(const double *u, stored *p, int stride) {
  int k = 0;
  double largest = -1;
  for (int r = 0; r < 3; r++) {
    const double size = u[6 * r] * u[6 * r] + u[6 * r + 1] * u[6 * r + 1];
    if (size > largest * (1 + 1e-12)) { /* ties go to the first row whatever the rounding */
      largest = size;
      k = r;
    }
  }
  const double *row[3] = {u + 6 * k, u + 6 * ((k + 1) % 3), u + 6 * ((k + 2) % 3)};
  const double *v0 = row[0], *v1 = row[1], *v2 = row[2];
  const double n = sqrt(v0[0] * v0[0] + v0[1] * v0[1] + v1[0] * v1[0] + v1[1] * v1[1]);
  double w1[3][2] = {{-v1[0] / n, v1[1] / n}, {v0[0] / n, -v0[1] / n}, {0, 0}};
  double w2[3][2] = {{-(v2[0] * v0[0] + v2[1] * v0[1]) / n, -(v2[0] * v0[1] - v2[1] * v0[0]) / n},
                     {-(v2[0] * v1[0] + v2[1] * v1[1]) / n, -(v2[0] * v1[1] - v2[1] * v1[0]) / n},
                     {n, 0}};
  double alpha[2], beta[2];
  recon_project(w1, row, 1, alpha);
  recon_project(w2, row, 1, beta);
  const int alpha_large =
      alpha[0] * alpha[0] + alpha[1] * alpha[1] >= beta[0] * beta[0] + beta[1] * beta[1];
  const double *large = alpha_large ? alpha : beta, *small = alpha_large ? beta : alpha;
  const double pi = 3.14159265358979323846;
  p[0] = recon_plain(v1[0]);
  p[stride] = recon_plain(v1[1]);
  p[2 * stride] = recon_plain(v2[0]);
  p[3 * stride] = recon_plain(v2[1]);
  p[4 * stride] = recon_store(small[0], alpha_large);
  p[5 * stride] = recon_plain(small[1]);
  p[6 * stride] = recon_store(atan2(v0[1], v0[0]) / pi, k == 1);
  p[7 * stride] = recon_store(atan2(large[1], large[0]) / pi, k == 2);
}

#endif
