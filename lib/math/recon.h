/* recon.h - SU(3) links stored as 18, 12 or 8 reals.
 * - 18: all rows.
 * - 12: rows 0 and 1; row 2 = conj(row 0 x row 1).
 * - 8: as described here. It is accurate for every link, unit links included, and needs no
 *   trigonometric functions.
 *
 * 8 reals. V is the link with its columns rotated by one, V_j = U_{j+1 mod 3}, or not rotated,
 * whichever makes |V_00| smaller. So n^2 = |V_01|^2 + |V_02|^2 >= 1/2. Its row a is a point on the
 * sphere S^5. Rows b and c follow from a point on S^3, (alpha, beta) = (b_0, conj(c_0)) / n:
 *   b = alpha (n, -conj(a_0) a_1 / n, -conj(a_0) a_2 / n) + beta (0, -conj(a_2), conj(a_1)) / n,
 *   c = conj(a x b).
 * This is the splitting of Bunk and Sommer, Comput. Phys. Commun. 40 (1986) 229, who store two
 * phases instead.
 *
 * A point x on a sphere is stored by stereographic projection from the pole farther from it. With
 * sign = the sign of x_0, the stored y consists of the other components:
 *   y = sign x / (1 + |x_0|);   x = sign 2 y / (1 + y^2),   x_0 = sign (1 - y^2) / (1 + y^2).
 * All |y| <= 1, and an error e of y moves x by at most 2 e. Unlike forms that compute a modulus as
 * sqrt(1 - ...), nothing cancels.
 *
 * Layout: x_0 is Re a_2 for row a, and Re alpha for (alpha, beta). Reals 0..4 are a_0, a_1 (re,
 * im), Im a_2. Reals 5..7 are Im alpha, beta. The lowest bits of reals 0, 1, 2 in memory hold the
 * sign of row a and of alpha (1: negative), and 1 if the columns are not rotated. The unit link is
 * all zeros.
 *
 * Error of a decoded element, if a stored real is off by at most e (eps, or 1/32767 in half):
 * - row a: 2 sqrt(5) e; (alpha, beta): 2 sqrt(3) e;
 * - the frame of b and c moves by at most sqrt(2) |da|;
 * - so b: 2 (sqrt(3) + sqrt(10)) e < 10 e, and c < 15 e.
 * With a few roundings this stays below KAON_RECON8_BOUND e. The reciprocals of a GPU
 * (lib/cuda/simt.h) are off by one or two ulp, those of a CPU by half of one, which adds some eps
 * to b and c. A stored floating-point real below 1 is off by at most eps / 2, its lowest bit
 * included, so 12 eps remain for roundings. In half, roundings are 250 times smaller than e. */
#pragma once

#include <math.h>
#include <string.h>

#include "lib/math/vreal.h"

enum { KAON_RECON8_BOUND = 20 };

/* Factor from a stored integer to a component. Links in half have the fixed scale 1. */
#if KAON_IS_HALF
#define KAON_LINK_UNIT (1.0 / 32767)
#else
#define KAON_LINK_UNIT 1.0
#endif

/* Computes row 2 of a decoded link u[9] (row * 3 + col). */
KAON_MATH void recon_row2(vcomplex *u) {
  for (int i = 0; i < 3; i++) {
    const vcomplex a = u[(i + 1) % 3], b = u[(i + 2) % 3], c = u[3 + (i + 1) % 3],
                   d = u[3 + (i + 2) % 3];
    const vcomplex e = c_fnma(b, c, c_mul(a, d));
    u[6 + i] = c_make(e.re, -e.im);
  }
}

/* Rows a and b of V, from 8 reals loaded from p as z[4]. Half: z holds integers; the factors
 * contain their unit. */
KAON_MATH void recon_rows8(const stored *p, const vcomplex *z, vcomplex *v) {
  const vreal one = v_set(1 / (KAON_LINK_UNIT * KAON_LINK_UNIT)), two = v_set(2 / KAON_LINK_UNIT);
  const vreal y[8] = {z[0].re, z[0].im, z[1].re, z[1].im, z[2].re, z[2].im, z[3].re, z[3].im};
  vreal s = y[0] * y[0];
  for (int i = 1; i < 5; i++) s = v_fma(y[i], y[i], s);
  vreal r = v_inverse(one + s);
  r = v_flip_odd(p, r);
  vreal twice = two * r;
  const vcomplex a0 = c_make(y[0] * twice, y[1] * twice), a1 = c_make(y[2] * twice, y[3] * twice);
  const vcomplex a2 = c_make((one - s) * r, y[4] * twice);
  const vreal n2 = v_fma(a2.re, a2.re, v_fma(a2.im, a2.im, v_fma(a1.re, a1.re, a1.im * a1.im)));
  s = v_fma(y[7], y[7], v_fma(y[6], y[6], y[5] * y[5]));
  r = v_inverse_root(one + s, n2);
  r = v_flip_odd(p + KAON_W, r);
  twice = two * r;
  const vcomplex alpha = c_make((one - s) * r, y[5] * twice); /* divided by n, as is beta */
  const vcomplex beta = c_make(y[6] * twice, y[7] * twice);
  const vcomplex t = c_conj_mul(a0, alpha);
  const vcomplex b1 = c_fma(t, a1, c_conj_mul(a2, beta));
  v[0] = a0;
  v[1] = a1;
  v[2] = a2;
  v[3] = c_scale(alpha, n2);
  v[4] = c_make(-b1.re, -b1.im);
  v[5] = c_fnma(t, a2, c_conj_mul(a1, beta));
}

/* Returns `turned` if the columns of V are those of the link rotated by one, else `plain`. */
KAON_MATH vcomplex recon_choose8(const stored *p, vcomplex plain, vcomplex turned) {
  return c_make(v_select_odd(p + 2 * KAON_W, plain.re, turned.re),
                v_select_odd(p + 2 * KAON_W, plain.im, turned.im));
}

/* Decodes u[9] from 8 reals, KAON_W apart, already loaded as z[4]. */
KAON_MATH void recon_finish8(const stored *p, const vcomplex *z, vcomplex *u) {
  vcomplex v[6];
  recon_rows8(p, z, v);
  for (int i = 0; i < 6; i++) u[i] = recon_choose8(p, v[i], v[i / 3 * 3 + (i + 2) % 3]);
  recon_row2(u);
}

KAON_MATH void recon_decode8(const stored *p, vcomplex *u) {
  vcomplex z[4];
  for (int i = 0; i < 4; i++) z[i] = c_load(p + 2 * i * KAON_W);
  recon_finish8(p, z, u);
}

/* Decodes u[9] of a link stored as `recon` reals, KAON_W apart. */
KAON_MATH void recon_decode(const stored *p, const int recon, vcomplex *u) {
  if (recon == 8) {
    recon_decode8(p, u);
    return;
  }
  const vreal unit = v_set(KAON_LINK_UNIT);
  for (int i = 0; i < (recon == 12 ? 6 : 9); i++) u[i] = c_scale(c_load(p + 2 * i * KAON_W), unit);
  if (recon == 12) recon_row2(u);
}

/* ---- encoding: set-up work, one link at a time, in double ---- */

/* Stores a component that carries no bit. */
static inline KAON_HD stored recon_plain(double x) {
#if KAON_IS_HALF
  const double n = rint(x * 32767);
  return (stored)(n > 32767 ? 32767 : n < -32767 ? -32767 : n);
#else
  return (stored)x;
#endif
}

/* The stored value nearest to y, |y| <= 1, whose lowest bit is `bit`. */
static inline KAON_HD stored recon_store(double y, int bit) {
#if KAON_IS_HALF
  const stored n = recon_plain(y);
  return (stored)((n & 1) == bit ? n : n < 32767 && y * 32767 > n ? n + 1 : n - 1);
#else
#if defined(KAON_PREC_DOUBLE)
  uint64_t word;
#else
  uint32_t word;
#endif
  /* a value with bit 1 is never subnormal, and `tiny` is too small to matter */
  const stored tiny = (stored)8.67e-19;
  stored f = (stored)y, below, above;
  if (bit && fabs(y) < (double)tiny) f = tiny;
  memcpy(&word, &f, sizeof f);
  if ((word & 1) == (unsigned)bit) return f;
  word++;
  memcpy(&above, &word, sizeof f);
  word -= 2;
  memcpy(&below, &word, sizeof f);
  return fabs((double)below - y) < fabs((double)above - y) ? below : above;
#endif
}

/* Encodes the SU(3) matrix u[(row * 3 + col) * 2 + reim] as 8 stored reals, `stride` apart. */
static inline KAON_HD void recon_encode8(const double *u, stored *p, int stride) {
  const int turned = !(u[0] * u[0] + u[1] * u[1] < u[2] * u[2] + u[3] * u[3]);
  const double *b0 = u + 6 + 2 * turned, *c0 = u + 12 + 2 * turned;
  const double *a0 = u + 2 * turned, *a1 = a0 + 2, *a2 = u + (turned ? 0 : 4);
  const int negative = a2[0] < 0, reversed = b0[0] < 0;
  const double f = (negative ? -1 : 1) / (1 + fabs(a2[0]));
  const double n = sqrt(b0[0] * b0[0] + b0[1] * b0[1] + c0[0] * c0[0] + c0[1] * c0[1]);
  const double g = (reversed ? -1 : 1) / (n + fabs(b0[0]));
  p[0] = recon_store(a0[0] * f, negative);
  p[stride] = recon_store(a0[1] * f, reversed);
  p[2 * stride] = recon_store(a1[0] * f, !turned);
  p[3 * stride] = recon_plain(a1[1] * f);
  p[4 * stride] = recon_plain(a2[1] * f);
  p[5 * stride] = recon_plain(b0[1] * g);
  p[6 * stride] = recon_plain(c0[0] * g);
  p[7 * stride] = recon_plain(-c0[1] * g);
}
