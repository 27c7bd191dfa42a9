/* product.h - out += M in at the sites of a block on the CPU, with a dense matrix M for each site
 * and several columns of in and out. Include lib/core/kernel.h and lib/math/vreal.h before.
 *
 * A few columns of M are taken at a time (COARSE_STEP). They stay in the first-level cache while
 * all columns of in and out go by, in tiles whose sums stay in registers. A sum adds its terms in
 * the order of M's columns, whatever the tiles are. */
#pragma once

#include "dslash/coarse/coarse_ops.h"

enum { COARSE_STEP = 8 };

/* The matrices of a block: column j of M is at data + j * reals * KAON_W. half: integers, which in
 * are multiplied by the units of the columns already. */
typedef struct coarse_matrix {
  const void *data;
  int half, reals;
} coarse_matrix;

KAON_INLINE vcomplex coarse_element(const void *data, const int half, int64_t at) {
#if defined(KAON_PREC_SINGLE)
  if (half) {
    const int16_t *p = (const int16_t *)data + at;
#if KAON_W == 1
    return c_make((real)p[0], (real)p[1]);
#else
    return c_make(v_from_int(v_load_int16(p)), v_from_int(v_load_int16(p + KAON_W)));
#endif
  }
#endif
  (void)half;
  return c_load((const real *)data + at);
}

/* Rows `row` and following, as many columns of in and out as `columns`, columns begin to end of M;
 * lane: the first of a part of the block. */
KAON_INLINE void coarse_tile(const coarse_matrix *m, const int half, const int rows,
                             const int columns, int row, int begin, int end, int lane,
                             const real *const *in, real *const *out) {
  vcomplex sum[4][2];
  for (int k = 0; k < columns; k++)
    for (int r = 0; r < rows; r++) sum[r][k] = c_load(out[k] + 2 * (row + r) * KAON_W + lane);
  int64_t at = ((int64_t)begin * m->reals + 2 * row) * KAON_W + lane;
#pragma GCC unroll 1
  for (int j = begin; j < end; j++, at += (int64_t)m->reals * KAON_W) {
    vcomplex x[2];
    for (int k = 0; k < columns; k++) x[k] = c_load(in[k] + 2 * j * KAON_W + lane);
    for (int r = 0; r < rows; r++) {
      const vcomplex a = coarse_element(m->data, half, at + 2 * r * KAON_W);
      for (int k = 0; k < columns; k++) sum[r][k] = c_fma(a, x[k], sum[r][k]);
    }
  }
  for (int k = 0; k < columns; k++)
    for (int r = 0; r < rows; r++) {
      real *p = out[k] + 2 * (row + r) * KAON_W + lane;
      v_store_real(p, sum[r][k].re);
      v_store_real(p + KAON_W, sum[r][k].im);
    }
}

/* All rows of one or two columns. */
KAON_INLINE void coarse_rows(const coarse_matrix *m, const int half, const int columns, int begin,
                             int end, int lane, const real *const *in, real *const *out) {
  int row = 0;
  for (; columns == 1 && row + 4 <= m->reals / 2; row += 4)
    coarse_tile(m, half, 4, columns, row, begin, end, lane, in, out);
  for (; row < m->reals / 2; row += 2)
    coarse_tile(m, half, 2, columns, row, begin, end, lane, in, out);
}

KAON_INLINE void coarse_columns(const coarse_matrix *m, const int half, int columns,
                                const real *const *in, real *const *out) {
  const int numbers = m->reals / 2;
  for (int begin = 0; begin < numbers; begin += COARSE_STEP) {
    const int end = begin + COARSE_STEP < numbers ? begin + COARSE_STEP : numbers;
    for (int part = 0; part < KAON_PARTS; part++) {
      const int lane = part * KAON_VL;
      int k = 0;
      for (; k + 2 <= columns; k += 2) coarse_rows(m, half, 2, begin, end, lane, in + k, out + k);
      if (k < columns) coarse_rows(m, half, 1, begin, end, lane, in + k, out + k);
    }
  }
}

/* in[k], out[k]: the numbers of column k in the block, KAON_W apart; out is not in. */
KAON_ONCE void coarse_multiply(const coarse_matrix *m, int columns, const real *const *in,
                               real *const *out) {
  if (m->half)
    coarse_columns(m, 1, columns, in, out);
  else
    coarse_columns(m, 0, columns, in, out);
}
