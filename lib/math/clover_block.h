/* clover_block.h - Hermitian 6x6 clover blocks, one in each lane: packing as in clover.h, square,
 * inverse and determinant; the blocks of a site from its links, in terms of the backend's sites, as
 * in link_paths.h.
 * This is set-up work in double precision. It pivots, because a strong field can make a block
 * indefinite. */
#pragma once

#include <math.h>

#include "lib/math/link_paths.h"

enum { KAON_BLOCK_ROWS = 6, KAON_BLOCK_REALS = 36 };

/* First real of the packed element (row, column), row > column. */
static inline KAON_HD int kaon_block_index(int row, int column) {
  return KAON_BLOCK_ROWS + 2 * (row * (row - 1) / 2 + column);
}

/* Unpacks into a[row][column], with the unit matrix appended on the right. */
KAON_MATH void block_unpack(const vreal packed[36], vcomplex a[6][12]) {
  const vcomplex zero = c_make(v_set(0), v_set(0));
  for (int i = 0; i < 6; i++) {
    for (int j = 0; j < 12; j++) a[i][j] = zero;
    a[i][i].re = packed[i];
    a[i][6 + i].re = v_set(1);
    for (int j = 0; j < i; j++) {
      const vreal *p = packed + kaon_block_index(i, j);
      a[i][j] = c_make(p[0], p[1]);
    }
  }
  for (int i = 0; i < 6; i++)
    for (int j = i + 1; j < 6; j++) a[i][j] = c_make(a[j][i].re, -a[j][i].im);
}

/* square = packed^2 + shift; both may be the same array. */
KAON_MATH void block_square(const vreal packed[36], double shift, vreal square[36]) {
  vcomplex a[6][12];
  block_unpack(packed, a);
  for (int i = 0; i < 6; i++)
    for (int j = 0; j <= i; j++) {
      vreal *to = i == j ? square + i : square + kaon_block_index(i, j);
      vreal re = v_set(0), im = v_set(0);
      for (int k = 0; k < 6; k++) { /* a[k][j] is the conjugate of a[j][k] */
        re = re + (a[i][k].re * a[j][k].re + a[i][k].im * a[j][k].im);
        im = im + (a[i][k].im * a[j][k].re - a[i][k].re * a[j][k].im);
      }
      to[0] = i == j ? re + v_set(shift) : re;
      if (i != j) to[1] = im;
    }
}

/* Moves the largest element of column c, rows c and below, to the diagonal, and divides its row by
 * it. Returns its modulus; where that is 0 the matrix is singular, and its lane becomes NaN.
 * Multiplies `phase` by the phase that this pivot contributes to the determinant. */
KAON_MATH vreal block_pivot(vcomplex a[6][12], const int c, vcomplex *phase) {
  vreal largest = v_set(0), sign = v_set(1);
  for (int i = c; i < 6; i++) {
    const vreal size = a[i][c].re * a[i][c].re + a[i][c].im * a[i][c].im;
    const vmask larger = v_greater(size, largest);
    largest = v_select(larger, size, largest);
    if (i == c) continue;
    sign = v_select(larger, -sign, sign);
    for (int j = 0; j < 12; j++) {
      const vcomplex up = a[i][j], down = a[c][j];
      a[c][j] = c_make(v_select(larger, up.re, down.re), v_select(larger, up.im, down.im));
      a[i][j] = c_make(v_select(larger, down.re, up.re), v_select(larger, down.im, up.im));
    }
  }
  const vreal size = v_sqrt(largest);
  const vreal u = sign * a[c][c].re / size, v = sign * a[c][c].im / size, was = phase->re;
  phase->re = was * u - phase->im * v;
  phase->im = was * v + phase->im * u;
  const vreal re = a[c][c].re / largest, im = -a[c][c].im / largest;
  for (int j = c; j < 12; j++) {
    const vcomplex z = a[c][j];
    a[c][j] = c_make(z.re * re - z.im * im, z.re * im + z.im * re);
  }
  return size;
}

/* to -= factor * from, for columns from `first` on; the factor is to[first]. */
KAON_MATH void block_eliminate(vcomplex to[12], const vcomplex from[12], const int first) {
  const vreal re = to[first].re, im = to[first].im;
  for (int j = first; j < 12; j++) {
    to[j].re = to[j].re - (re * from[j].re - im * from[j].im);
    to[j].im = to[j].im - (re * from[j].im + im * from[j].re);
  }
}

/* inverse = packed^-1; both may be the same array. Returns the smallest |pivot| over the largest
 * element, 0 where a block is singular (its inverse is then meaningless). pivots: all six, whose
 * product is |det|; *negative: below 0 if det is. */
KAON_MATH vreal block_invert(const vreal packed[36], vreal inverse[36], vreal pivots[6],
                             vreal *negative) {
  vcomplex a[6][12], phase = c_make(v_set(1), v_set(0));
  vreal scale = v_set(0), smallest = v_set(HUGE_VAL);
  block_unpack(packed, a);
  for (int i = 0; i < 36; i++) {
    const vreal size = v_abs(packed[i]);
    scale = v_select(v_greater(size, scale), size, scale);
  }
  for (int c = 0; c < 6; c++) {
    pivots[c] = block_pivot(a, c, &phase);
    smallest = v_select(v_greater(smallest, pivots[c]), pivots[c], smallest);
    for (int i = 0; i < 6; i++)
      if (i != c) block_eliminate(a[i], a[c], c);
  }
  *negative = phase.re; /* det is real except for rounding, since the block is Hermitian */
  for (int i = 0; i < 6; i++) {
    inverse[i] = a[i][6 + i].re;
    for (int j = 0; j < i; j++) { /* the Hermitian part of the result */
      vreal *p = inverse + kaon_block_index(i, j);
      p[0] = v_set(0.5) * (a[i][6 + j].re + a[j][6 + i].re);
      p[1] = v_set(0.5) * (a[i][6 + j].im - a[j][6 + i].im);
    }
  }
  const vreal none = v_set(0);
  return v_select(v_greater(smallest, none), smallest / scale, none);
}

/* ---- blocks from links ----
 * In the chiral basis of docs/conventions.md sigma_{ij} = -eps_{ijk} sigma_k and sigma_{k4} = +-
 * sigma_k. So a block is 1 - c sum_k sigma_k G_k with
 *   G = B +- E,   B = (-F_yz, F_xz, -F_xy),   E = (F_xt, F_yt, F_zt):
 *   [[1 - c G_3, h.c.], [-c (G_1 + i G_2), 1 + c G_3]].
 * On anisotropic lattices E has a coefficient of its own: G = B +- r E. */

/* b[k], e[k] = B_k, E_k */
KAON_MATH void clover_fields(const kaon_stencil *st, const void *const links[2], const vsites *x,
                             vsu3 b[3], vsu3 e[3]) {
  static const int plane[3][2] = {{1, 2}, {0, 2}, {0, 1}};
  for (int k = 0; k < 3; k++) {
    path_field_strength(st, links, x, plane[k][0], plane[k][1], &b[k]);
    path_field_strength(st, links, x, k, 3, &e[k]);
    if (k == 1) continue;
    for (int i = 0; i < 3; i++)
      for (int j = 0; j < 3; j++) b[k].e[i][j] = c_make(-b[k].e[i][j].re, -b[k].e[i][j].im);
  }
}

/* Writes the block of one chirality (electric = +r, -r) as 36 reals, KAON_W apart. */
KAON_MATH void clover_store_chirality(const vsu3 b[3], const vsu3 e[3], double electric,
                                      double coefficient, double *to) {
  const vreal one = v_set(1), c = v_set(coefficient), s = v_set(electric);
  for (int i = 0; i < 3; i++) {
    const vreal g = v_fma(s, e[2].e[i][i].re, b[2].e[i][i].re);
    v_store_real(to + i * KAON_W, v_fnma(c, g, one));
    v_store_real(to + (3 + i) * KAON_W, v_fma(c, g, one));
  }
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) {
      double *mixed = to + kaon_block_index(3 + i, j) * KAON_W; /* -c (G_1 + i G_2) */
      const vcomplex g1 = c_make(v_fma(s, e[0].e[i][j].re, b[0].e[i][j].re),
                                 v_fma(s, e[0].e[i][j].im, b[0].e[i][j].im));
      const vcomplex g2 = c_make(v_fma(s, e[1].e[i][j].re, b[1].e[i][j].re),
                                 v_fma(s, e[1].e[i][j].im, b[1].e[i][j].im));
      v_store_real(mixed, c * (g2.im - g1.re));
      v_store_real(mixed + KAON_W, -c * (g1.im + g2.re));
      if (j >= i) continue;
      double *upper = to + kaon_block_index(i, j) * KAON_W;
      double *lower = to + kaon_block_index(3 + i, 3 + j) * KAON_W;
      const vreal re = c * v_fma(s, e[2].e[i][j].re, b[2].e[i][j].re);
      const vreal im = c * v_fma(s, e[2].e[i][j].im, b[2].e[i][j].im);
      v_store_real(upper, -re);
      v_store_real(upper + KAON_W, -im);
      v_store_real(lower, re);
      v_store_real(lower + KAON_W, im);
    }
}
