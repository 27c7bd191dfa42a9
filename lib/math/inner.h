/* inner.h - real matrices between the sites of a fifth dimension, one for each chirality, applied to
 * a spinor: out_s = sum_t (P+ M+_st + P- M-_st) in_t, with P+- = (1 +- gamma_5) / 2.
 * gamma_5 exchanges the halves of a spinor (docs/conventions.md), so chirality +- is upper +- lower.
 * `value` is n reals of the upper half, then the same n of the lower one. On a CPU n = 12, on a GPU
 * a thread may have a part of a spinor. */
#ifndef KAON_LIB_MATH_INNER_H
#define KAON_LIB_MATH_INNER_H

#include "lib/math/spin.h"

/* An element is a number, and in single and half also the remainder of its rounding. */
enum { INNER_PARTS = sizeof(real) == 8 ? 1 : 2 };

/* The halves become the chiralities, each twice. */
KAON_MATH void inner_split(const int n, vreal *value) {
  for (int i = 0; i < n; i++) {
    const vreal upper = value[i], lower = value[n + i];
    value[i] = upper + lower;
    value[n + i] = upper - lower;
  }
}

/* The way back: the chiralities, each twice, become halves, and both are multiplied by b. */
KAON_MATH void inner_join(const int n, double b, vreal *value) {
  const double half = 0.5 * b;
  const vreal rounded = v_set((real)half), rest = v_set((real)(half - (double)(real)half));
  for (int i = 0; i < n; i++) {
    const vreal upper = value[i] + value[n + i], lower = value[i] - value[n + i];
    value[i] = v_fma(rest, upper, rounded * upper);
    value[n + i] = v_fma(rest, lower, rounded * lower);
  }
}

/* out += element in, on n reals of one chirality. */
KAON_MATH void inner_add(const int n, const real *element, const vreal *in, vreal *out) {
  const vreal rounded = v_set(element[0]), rest = v_set(element[INNER_PARTS - 1]);
  for (int i = 0; i < n; i++) {
    out[i] = v_fma(rounded, in[i], out[i]);
    if (INNER_PARTS > 1) out[i] = v_fma(rest, in[i], out[i]);
  }
}

#endif
