/* clover_block.h - packing, square, inverse and determinant of Hermitian 6x6 clover blocks, one in
 * each lane. Packing as in clover.h.
 * This is set-up work in double precision. It pivots, because a strong field can make a block
 * indefinite. */
#pragma once

#include <math.h>

#include "lib/math/vreal.h"

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
