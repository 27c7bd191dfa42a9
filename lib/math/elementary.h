/* elementary.h - log, cos and sin without branches or library calls. Common subset of C and CUDA C.
 * Loops over lanes vectorise, and random fields have the same bits with any C library.
 * Errors: kaon_ln below 3 2^-53, relative; cos and sin below 2 2^-53, absolute. */
#pragma once

#include <stdint.h>
#include <string.h>

#include "lib/vector/layout.h"

static inline KAON_HD uint64_t kaon_bits_of(double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

static inline KAON_HD double kaon_double_of(uint64_t bits) {
  double x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

/* log x for positive, normal x. x = 2^k m with m in [1/sqrt 2, sqrt 2), and log m = 2 artanh s with
 * s = (m - 1) / (m + 1), |s| < 0.172. The series ends where s^21 / 21 < 2^-54 s. */
static inline KAON_HD double kaon_ln(double x) {
  const uint64_t bits = kaon_bits_of(x);
  /* the exponent as a double: its bits are the last bits of 2^52 */
  const double biased =
      kaon_double_of(UINT64_C(0x4330000000000000) | bits >> 52) - 4503599627370496.0;
  const double mantissa =
      kaon_double_of((bits & UINT64_C(0xfffffffffffff)) | UINT64_C(0x3ff0000000000000));
  const double large = mantissa > 1.41421356237309504880 ? 1.0 : 0.0;
  const double m = mantissa * (1.0 - 0.5 * large), k = biased - 1023.0 + large;
  const double s = (m - 1.0) / (m + 1.0), s2 = s * s;
  double sum = 1.0 / 21;
  sum = sum * s2 + 1.0 / 19;
  sum = sum * s2 + 1.0 / 17;
  sum = sum * s2 + 1.0 / 15;
  sum = sum * s2 + 1.0 / 13;
  sum = sum * s2 + 1.0 / 11;
  sum = sum * s2 + 1.0 / 9;
  sum = sum * s2 + 1.0 / 7;
  sum = sum * s2 + 1.0 / 5;
  sum = sum * s2 + 1.0 / 3;
  /* log 2 in two parts; k times the first is exact */
  return k * 0.693147180559890330187 +
         (2.0 * s + (2.0 * s * s2 * sum + k * 5.497923018708371155e-14));
}

/* cos and sin of 2 pi u, 0 <= u <= 1. r = u - q / 4 with |r| <= 1/8 is exact. Taylor series up to
 * power 17 at |2 pi r| <= pi / 4; the next term is below 2^-60. */
static inline KAON_HD void kaon_cos_sin_2pi(double u, double *cosine, double *sine) {
  const double shift = 6755399441055744.0; /* 1.5 2^52: adding it rounds to an integer */
  const double shifted = 4.0 * u + shift;
  const uint64_t q = kaon_bits_of(shifted);
  const double y = 6.283185307179586476925 * (u - 0.25 * (shifted - shift)), y2 = y * y;
  double s = 1.0 / 355687428096000.0;
  s = s * y2 - 1.0 / 1307674368000.0;
  s = s * y2 + 1.0 / 6227020800.0;
  s = s * y2 - 1.0 / 39916800.0;
  s = s * y2 + 1.0 / 362880.0;
  s = s * y2 - 1.0 / 5040.0;
  s = s * y2 + 1.0 / 120.0;
  s = s * y2 - 1.0 / 6.0;
  s = y + y * (y2 * s);
  double c = 1.0 / 20922789888000.0;
  c = c * y2 - 1.0 / 87178291200.0;
  c = c * y2 + 1.0 / 479001600.0;
  c = c * y2 - 1.0 / 3628800.0;
  c = c * y2 + 1.0 / 40320.0;
  c = c * y2 - 1.0 / 720.0;
  c = c * y2 + 1.0 / 24.0;
  c = c * y2 - 0.5;
  c = 1.0 + y2 * c;
  const double even = (q & 1) ? s : c, odd = (q & 1) ? c : s;
  *cosine = ((q + 1) & 2) ? -even : even;
  *sine = (q & 2) ? -odd : odd;
}
