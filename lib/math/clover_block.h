/* clover_block.h - packing, inverse and determinant of a Hermitian 6x6 clover block. Common subset
 * of C and CUDA C. Packing as in clover.h.
 * This is set-up work: plain double precision, one block at a time. It pivots, because a strong
 * field can make a block indefinite. */
#pragma once

#include <math.h>

#include "lib/vector/layout.h"

enum { KAON_BLOCK_ROWS = 6, KAON_BLOCK_REALS = 36 };

/* First real of the packed element (row, column), row > column. */
static inline KAON_HD int kaon_block_index(int row, int column) {
  return KAON_BLOCK_ROWS + 2 * (row * (row - 1) / 2 + column);
}

/* Unpacks into a[row][column][re, im], with the unit matrix appended on the right. */
static inline KAON_HD void kaon_block_unpack(const double packed[36], double a[6][12][2]) {
  for (int i = 0; i < 6; i++) {
    for (int j = 0; j < 12; j++) a[i][j][0] = a[i][j][1] = 0.0;
    a[i][i][0] = packed[i];
    a[i][6 + i][0] = 1.0;
    for (int j = 0; j < i; j++) {
      const double *p = packed + kaon_block_index(i, j);
      a[i][j][0] = p[0];
      a[i][j][1] = p[1];
    }
  }
  for (int i = 0; i < 6; i++)
    for (int j = i + 1; j < 6; j++) {
      a[i][j][0] = a[j][i][0];
      a[i][j][1] = -a[j][i][1];
    }
}

/* square = packed^2 + shift; both may be the same array. */
static inline KAON_HD void kaon_block_square(const double packed[36], double shift,
                                             double square[36]) {
  double a[6][12][2];
  kaon_block_unpack(packed, a);
  for (int i = 0; i < 6; i++)
    for (int j = 0; j <= i; j++) {
      double *to = i == j ? square + i : square + kaon_block_index(i, j), re = 0.0, im = 0.0;
      for (int k = 0; k < 6; k++) { /* a[k][j] is the conjugate of a[j][k] */
        re += a[i][k][0] * a[j][k][0] + a[i][k][1] * a[j][k][1];
        im += a[i][k][1] * a[j][k][0] - a[i][k][0] * a[j][k][1];
      }
      to[0] = i == j ? re + shift : re;
      if (i != j) to[1] = im;
    }
}

/* to -= factor * from, for columns from `first` on; the factor is to[first]. */
static inline KAON_HD void kaon_block_eliminate(double to[12][2], double from[12][2], int first) {
  const double re = to[first][0], im = to[first][1];
  for (int j = first; j < 12; j++) {
    to[j][0] -= re * from[j][0] - im * from[j][1];
    to[j][1] -= re * from[j][1] + im * from[j][0];
  }
}

/* Moves the largest element of column c, rows c and below, to the diagonal, and divides its row by
 * it. Returns its modulus. If that is 0 the matrix is singular and nothing is divided. Multiplies
 * `phase` by the phase that this pivot contributes to the determinant. */
static inline KAON_HD double kaon_block_pivot(double a[6][12][2], int c, double phase[2]) {
  int best = c;
  double largest = 0.0;
  for (int i = c; i < 6; i++) {
    const double size = a[i][c][0] * a[i][c][0] + a[i][c][1] * a[i][c][1];
    if (size > largest) {
      largest = size;
      best = i;
    }
  }
  if (!(largest > 0.0)) return 0.0;
  for (int j = 0; j < 12; j++)
    for (int k = 0; k < 2; k++) {
      const double kept = a[c][j][k];
      a[c][j][k] = a[best][j][k];
      a[best][j][k] = kept;
    }
  const double swap = best == c ? 1.0 : -1.0, size = sqrt(largest);
  const double u = swap * a[c][c][0] / size, v = swap * a[c][c][1] / size, was = phase[0];
  phase[0] = was * u - phase[1] * v;
  phase[1] = was * v + phase[1] * u;
  const double re = a[c][c][0] / largest, im = -a[c][c][1] / largest;
  for (int j = c; j < 12; j++) {
    const double x = a[c][j][0], y = a[c][j][1];
    a[c][j][0] = x * re - y * im;
    a[c][j][1] = x * im + y * re;
  }
  return size;
}

/* inverse = packed^-1; both may be the same array. Returns the smallest |pivot| over the largest
 * element, or 0 if the block is singular (inverse is then meaningless). *log_det = log |det|;
 * *negative = 1 if det < 0. */
static inline KAON_HD double kaon_block_invert(const double packed[36], double inverse[36],
                                               double *log_det, int *negative) {
  double a[6][12][2], scale = 0.0, smallest = HUGE_VAL, phase[2] = {1.0, 0.0};
  kaon_block_unpack(packed, a);
  for (int i = 0; i < 36; i++) scale = fabs(packed[i]) > scale ? fabs(packed[i]) : scale;
  *log_det = 0.0;
  *negative = 0;
  for (int c = 0; c < 6; c++) {
    const double pivot = kaon_block_pivot(a, c, phase);
    if (!(pivot > 0.0)) return 0.0;
    smallest = pivot < smallest ? pivot : smallest;
    *log_det += log(pivot);
    for (int i = 0; i < 6; i++)
      if (i != c) kaon_block_eliminate(a[i], a[c], c);
  }
  *negative = phase[0] < 0.0; /* det is real except for rounding, since the block is Hermitian */
  for (int i = 0; i < 6; i++) {
    inverse[i] = a[i][6 + i][0];
    for (int j = 0; j < i; j++) { /* the Hermitian part of the result */
      double *p = inverse + kaon_block_index(i, j);
      p[0] = 0.5 * (a[i][6 + j][0] + a[j][6 + i][0]);
      p[1] = 0.5 * (a[i][6 + j][1] - a[j][6 + i][1]);
    }
  }
  return smallest / scale;
}
