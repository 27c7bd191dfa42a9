/* projection.h - the projection of x on the equation of one row, for all backends. With rows scaled
 * by sqrt(lambda) / |a_i|: c = b_i - a_i x, then x += c a_i^H.
 * A scalar has `reals` real parts. In a vector they are `stride` reals apart; in a row
 * they are adjacent. */
#pragma once

#include "lib/math/vreal.h"

/* s += a x */
KAON_MATH void projection_dot(real *s, const real *a, const real *x, const int64_t stride,
                              const int reals) {
  if (reals == 1) {
    s[0] += a[0] * x[0];
    return;
  }
  s[0] += a[0] * x[0] - a[1] * x[stride];
  s[1] += a[0] * x[stride] + a[1] * x[0];
}

/* x += c conj(a) */
KAON_MATH void projection_add(real *x, const real *a, const real *c, const int64_t stride,
                              const int reals) {
  if (reals == 1) {
    x[0] += c[0] * a[0];
    return;
  }
  x[0] += c[0] * a[0] + c[1] * a[1];
  x[stride] += c[1] * a[0] - c[0] * a[1];
}
