/* twist.h - the site term of twisted mass on a spinor: p [A] + i q gamma_5, with p and q numbers and
 * A clover blocks or 1. gamma_5 exchanges the upper and the lower half (docs/conventions.md). */
#ifndef KAON_LIB_MATH_TWIST_H
#define KAON_LIB_MATH_TWIST_H

#include "lib/math/spin.h"

/* a + i (q + rest) b */
KAON_MATH vcomplex twist_add(vcomplex a, vcomplex b, vreal q, vreal rest) {
  a.re = v_fma(-rest, b.im, v_fma(-q, b.im, a.re));
  a.im = v_fma(rest, b.re, v_fma(q, b.re, a.im));
  return a;
}

/* d += i q gamma_5 in. A q that `real` cannot hold is applied in two parts, like a factor of
 * spinor_scale. */
KAON_MATH void twist_spinor(vspinor *d, double q, const vspinor *in) {
  const vreal rounded = v_set((real)q), rest = v_set((real)(q - (double)(real)q));
  for (int s = 0; s < 4; s++)
    for (int c = 0; c < 3; c++) d->s[s][c] = twist_add(d->s[s][c], in->s[s ^ 2][c], rounded, rest);
}

#endif
