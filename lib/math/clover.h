/* clover.h - applies what acts within a site to a spinor: the chiral blocks of the clover term, the
 * twist of twisted mass, and matrices of a fifth dimension.
 * A site has 72 reals: 36 for chirality +, then 36 for chirality -. A block is a Hermitian 6x6
 * matrix. Its row and column index is spin * 3 + colour in the chiral basis (upper_s +-
 * lower_s) / sqrt(2).
 * Packing of a block: the 6 diagonal elements, then the 15 elements below the diagonal, row by row,
 * re and im. Element (i, j), j < i, starts at 6 + 2 (i (i - 1) / 2 + j). In half these are integers
 * with one scale for each site and chirality. */
#pragma once

#include "lib/math/spin.h"

enum { KAON_CLOVER_BLOCK = KAON_CLOVER_REALS / 2 };

/* A spinor of one chirality. */
typedef struct vchiral {
  vcomplex c[6];
} vchiral;

/* Adds element (i, j), below the diagonal, to out_i and its conjugate, above it, to out_j. */
KAON_MATH void clover_element(const stored *block, const int i, const int j, const vchiral *in,
                              vchiral *out) {
  const vcomplex z = c_load(block + (6 + 2 * (i * (i - 1) / 2 + j)) * KAON_W);
  out->c[i] = c_fma(z, in->c[j], out->c[i]);
  out->c[j] = c_conj_fma(z, in->c[i], out->c[j]);
}

KAON_MATH void clover_row(const stored *block, const int i, const vchiral *in, vchiral *out) {
  out->c[i] = c_scale(in->c[i], v_load(block + i * KAON_W));
  if (i > 0) clover_element(block, i, 0, in, out);
  if (i > 1) clover_element(block, i, 1, in, out);
  if (i > 2) clover_element(block, i, 2, in, out);
  if (i > 3) clover_element(block, i, 3, in, out);
  if (i > 4) clover_element(block, i, 4, in, out);
}

/* out = block in */
KAON_MATH void clover_block(const stored *block, const vchiral *in, vchiral *out) {
  clover_row(block, 0, in, out);
  clover_row(block, 1, in, out);
  clover_row(block, 2, in, out);
  clover_row(block, 3, in, out);
  clover_row(block, 4, in, out);
  clover_row(block, 5, in, out);
}

/* upper + s lower, s = +1 or -1 */
KAON_MATH vchiral clover_chiral(const vspinor *d, const int s) {
  vchiral in;
  for (int i = 0; i < 6; i++) in.c[i] = c_add_signed(d->s[i / 3][i % 3], d->s[2 + i / 3][i % 3], s);
  return in;
}

/* out = block (upper + s lower), s = +1 or -1 */
KAON_MATH void clover_chirality(const stored *block, const int s, const vspinor *d, vchiral *out) {
  const vchiral in = clover_chiral(d, s);
  clover_block(block, &in, out);
}

/* Upper and lower halves from the chiralities: d = (p + m, p - m). */
KAON_MATH void clover_join(const vchiral *p, const vchiral *m, vspinor *d) {
  for (int i = 0; i < 6; i++) {
    d->s[i / 3][i % 3] = c_add(p->c[i], m->c[i]);
    d->s[2 + i / 3][i % 3] = c_sub(p->c[i], m->c[i]);
  }
}

/* d = 2 C d; the caller's coefficient absorbs the factor 2. Half: plus and minus are the factors
 * from the integers of the two blocks to values. */
KAON_MATH void clover_apply_twice(const stored *blocks, vreal plus, vreal minus, vspinor *d) {
  vchiral p, m;
  clover_chirality(blocks, 1, d, &p);
  clover_chirality(blocks + KAON_CLOVER_BLOCK * KAON_W, -1, d, &m);
  for (int i = 0; i < 6; i++) {
#if KAON_IS_HALF
    p.c[i] = c_scale(p.c[i], plus);
    m.c[i] = c_scale(m.c[i], minus);
#else
    (void)plus, (void)minus;
#endif
  }
  clover_join(&p, &m, d);
}

/* ---- twisted mass: p [A] + i q gamma_5, with numbers p and q ---- */

/* a + i (q + rest) b */
KAON_MATH vcomplex twist_add(vcomplex a, vcomplex b, vreal q, vreal rest) {
  a.re = v_fma(-rest, b.im, v_fma(-q, b.im, a.re));
  a.im = v_fma(rest, b.re, v_fma(q, b.re, a.im));
  return a;
}

/* d += i q gamma_5 in; gamma_5 exchanges the halves (docs/conventions.md). A q that `real` cannot
 * hold is applied in two parts, like a factor of spinor_scale. */
KAON_MATH void twist_spinor(vspinor *d, double q, const vspinor *in) {
  const vreal rounded = v_set((real)q), rest = v_set((real)(q - (double)(real)q));
  for (int s = 0; s < 4; s++)
    for (int c = 0; c < 3; c++) d->s[s][c] = twist_add(d->s[s][c], in->s[s ^ 2][c], rounded, rest);
}

/* d = (p + i q gamma_5) d */
KAON_MATH void twist_scale(vspinor *d, double p, double q) {
  const vspinor in = *d;
  spinor_scale(d, p);
  twist_spinor(d, q, &in);
}

/* ---- a fifth dimension: out_s = sum_t (P+ M+_st + P- M-_st) in_t, P+- = (1 +- gamma_5) / 2, with
 * real matrices M+- between its sites. `value` is n reals of the upper half, then the same n of the
 * lower one: on a CPU n = 12, on a GPU a thread may have a part of a spinor. ---- */

/* A matrix element is a number, and in single and half also the remainder of its rounding. */
enum { INNER_PARTS = sizeof(real) == 8 ? 1 : 2 };

/* The halves become the chiralities upper + lower and upper - lower. */
KAON_MATH void inner_split(const int n, vreal *value) {
  for (int i = 0; i < n; i++) {
    const vreal upper = value[i], lower = value[n + i];
    value[i] = upper + lower;
    value[n + i] = upper - lower;
  }
}

/* The way back, multiplied by b. */
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
