/* su3_matrix.h - whole 3x3 complex matrices, one in each lane: products, traces, projection to
 * SU(3), left multiplication by SU(2) subgroups. Used by the link physics of gauge/, where a matrix
 * is used many times. The hop kernels read links element by element instead (su3.h). */
#pragma once

#include "lib/math/vreal.h"

typedef struct vsu3 {
  vcomplex e[3][3];
} vsu3;

KAON_MATH void su3_zero(vsu3 *a) {
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) a->e[i][j] = c_make(v_set(0), v_set(0));
}

KAON_MATH void su3_unit(vsu3 *a) {
  su3_zero(a);
  for (int i = 0; i < 3; i++) a->e[i][i].re = v_set(1);
}

/* c = a b. Here and below, c must not be a or b. */
KAON_MATH void su3_mul(vsu3 *c, const vsu3 *a, const vsu3 *b) {
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) {
      vcomplex s = c_mul(a->e[i][0], b->e[0][j]);
      s = c_fma(a->e[i][1], b->e[1][j], s);
      c->e[i][j] = c_fma(a->e[i][2], b->e[2][j], s);
    }
}

/* c = a b^dag */
KAON_MATH void su3_mul_dagger(vsu3 *c, const vsu3 *a, const vsu3 *b) {
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) {
      vcomplex s = c_conj_mul(b->e[j][0], a->e[i][0]);
      s = c_conj_fma(b->e[j][1], a->e[i][1], s);
      c->e[i][j] = c_conj_fma(b->e[j][2], a->e[i][2], s);
    }
}

/* c = a^dag b */
KAON_MATH void su3_dagger_mul(vsu3 *c, const vsu3 *a, const vsu3 *b) {
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) {
      vcomplex s = c_conj_mul(a->e[0][i], b->e[0][j]);
      s = c_conj_fma(a->e[1][i], b->e[1][j], s);
      c->e[i][j] = c_conj_fma(a->e[2][i], b->e[2][j], s);
    }
}

KAON_MATH void su3_add(vsu3 *a, const vsu3 *b) {
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) a->e[i][j] = c_add(a->e[i][j], b->e[i][j]);
}

/* a += s b, s = +1 or -1 known at compile time */
KAON_MATH void su3_add_signed(vsu3 *a, const vsu3 *b, const int s) {
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) a->e[i][j] = c_add_signed(a->e[i][j], b->e[i][j], s);
}

/* a += f b */
KAON_MATH void su3_add_scaled(vsu3 *a, vreal f, const vsu3 *b) {
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) {
      a->e[i][j].re = v_fma(f, b->e[i][j].re, a->e[i][j].re);
      a->e[i][j].im = v_fma(f, b->e[i][j].im, a->e[i][j].im);
    }
}

/* Re tr(a), Re tr(a b^dag), tr(a b). */
KAON_MATH vreal su3_re_trace(const vsu3 *a) {
  return a->e[0][0].re + a->e[1][1].re + a->e[2][2].re;
}

KAON_MATH vreal su3_re_trace_dagger(const vsu3 *a, const vsu3 *b) {
  vreal sum = v_set(0);
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++)
      sum = sum + v_fma(a->e[i][j].re, b->e[i][j].re, a->e[i][j].im * b->e[i][j].im);
  return sum;
}

KAON_MATH vcomplex su3_trace_of_product(const vsu3 *a, const vsu3 *b) {
  vcomplex sum = c_make(v_set(0), v_set(0));
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) sum = c_fma(a->e[i][j], b->e[j][i], sum);
  return sum;
}

/* to = conj(a x b): the row that completes an SU(3) matrix. a and b are the two rows before it in
 * cyclic order. */
KAON_MATH void su3_cross(vcomplex to[3], const vcomplex a[3], const vcomplex b[3]) {
  for (int i = 0; i < 3; i++) {
    const int j = (i + 1) % 3, k = (i + 2) % 3;
    const vcomplex c = c_fnma(a[k], b[j], c_mul(a[j], b[k]));
    to[i] = c_make(c.re, -c.im);
  }
}

KAON_MATH vreal su3_row_norm2(const vcomplex a[3]) {
  /* explicit order: gcc 12.2 vectorises re * re + (im * im + sum) wrongly (GCC PR 110381) */
  return v_fma(a[0].re, a[0].re, a[0].im * a[0].im) + v_fma(a[1].re, a[1].re, a[1].im * a[1].im) +
         v_fma(a[2].re, a[2].re, a[2].im * a[2].im);
}

/* Normalises a row; a row of zeros (a masked lane) stays zero. */
KAON_MATH void su3_row_normalise(vcomplex a[3]) {
  const vreal norm2 = v_max(su3_row_norm2(a), v_set(1e-30));
  const vreal inverse = v_set(1) / v_sqrt(norm2);
  for (int i = 0; i < 3; i++) a[i] = c_scale(a[i], inverse);
}

/* Gram-Schmidt: orthonormalises rows first and first + 1; the remaining row completes SU(3). */
KAON_MATH void su3_project(vsu3 *u, const int first) {
  vcomplex *a = u->e[first], *b = u->e[(first + 1) % 3];
  su3_row_normalise(a);
  vcomplex overlap = c_make(v_set(0), v_set(0));
  for (int i = 0; i < 3; i++) overlap = c_conj_fma(a[i], b[i], overlap);
  for (int i = 0; i < 3; i++) b[i] = c_fnma(overlap, a[i], b[i]);
  su3_row_normalise(b);
  su3_cross(u->e[(first + 2) % 3], a, b);
}

/* The largest |(U U^dag - 1)_ij|^2. */
KAON_MATH vreal su3_unitarity2(const vsu3 *u) {
  vreal worst = v_set(0);
  for (int i = 0; i < 3; i++)
    for (int j = i; j < 3; j++) {
      vcomplex s = c_conj_mul(u->e[j][0], u->e[i][0]);
      s = c_conj_fma(u->e[j][1], u->e[i][1], s);
      s = c_conj_fma(u->e[j][2], u->e[i][2], s);
      if (i == j) s.re = s.re - v_set(1);
      worst = v_max(worst, v_fma(s.re, s.re, s.im * s.im));
    }
  return worst;
}

/* |det U - 1|^2 */
KAON_MATH vreal su3_det_deviation2(const vsu3 *u) {
  vcomplex row[3], det = c_make(v_set(-1), v_set(0));
  su3_cross(row, u->e[0], u->e[1]); /* conjugates of the cofactors of row 2 */
  for (int i = 0; i < 3; i++) det = c_conj_fma(row[i], u->e[2][i], det);
  return v_fma(det.re, det.re, det.im * det.im);
}

/* v = g v, or g^dag v if `dagger`, which is known at compile time. */
KAON_MATH void su3_rotate(const vsu3 *g, const int dagger, vcomplex v[3]) {
  vcomplex r[3];
  for (int i = 0; i < 3; i++) {
    if (dagger) {
      r[i] = c_conj_mul(g->e[0][i], v[0]);
      r[i] = c_conj_fma(g->e[1][i], v[1], r[i]);
      r[i] = c_conj_fma(g->e[2][i], v[2], r[i]);
    } else {
      r[i] = c_mul(g->e[i][0], v[0]);
      r[i] = c_fma(g->e[i][1], v[1], r[i]);
      r[i] = c_fma(g->e[i][2], v[2], r[i]);
    }
  }
  for (int i = 0; i < 3; i++) v[i] = r[i];
}

/* SU(2) matrices g = a[0] + i (a[1] sigma_1 + a[2] sigma_2 + a[3] sigma_3), |a| = 1. */
typedef struct vsu2 {
  vreal a[4];
} vsu2;

/* c = a b^dag */
KAON_MATH vsu2 su2_mul_dagger(const vsu2 *a, const vsu2 *b) {
  const vreal *x = a->a, *y = b->a;
  vsu2 c;
  c.a[0] = x[0] * y[0] + x[1] * y[1] + x[2] * y[2] + x[3] * y[3];
  c.a[1] = x[1] * y[0] - x[0] * y[1] + (x[2] * y[3] - x[3] * y[2]);
  c.a[2] = x[2] * y[0] - x[0] * y[2] + (x[3] * y[1] - x[1] * y[3]);
  c.a[3] = x[3] * y[0] - x[0] * y[3] + (x[1] * y[2] - x[2] * y[1]);
  return c;
}

/* Twice the part of block (i, j) of w that is a real multiple of an SU(2) matrix. For every g in
 * SU(2), Re tr(g w) of the block is the scalar product of its components with those of g^dag. */
KAON_MATH vsu2 su2_part(const vsu3 *w, const int i, const int j) {
  vsu2 p;
  p.a[0] = w->e[i][i].re + w->e[j][j].re;
  p.a[1] = w->e[i][j].im + w->e[j][i].im;
  p.a[2] = w->e[i][j].re - w->e[j][i].re;
  p.a[3] = w->e[i][i].im - w->e[j][j].im;
  return p;
}

/* u = g u, with g acting on rows i and j. */
KAON_MATH void su2_left_multiply(const vsu2 *g, const int i, const int j, vsu3 *u) {
  const vcomplex g00 = c_make(g->a[0], g->a[3]), g01 = c_make(g->a[2], g->a[1]);
  const vcomplex g10 = c_make(-g->a[2], g->a[1]), g11 = c_make(g->a[0], -g->a[3]);
  for (int c = 0; c < 3; c++) {
    const vcomplex a = u->e[i][c], b = u->e[j][c];
    u->e[i][c] = c_fma(g01, b, c_mul(g00, a));
    u->e[j][c] = c_fma(g11, b, c_mul(g10, a));
  }
}
