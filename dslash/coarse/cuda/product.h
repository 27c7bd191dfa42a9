/* product.h - dense matrices times vectors on the GPU (coarse_ops.h). A thread has one site and one
 * or two packets of rows: as many complex numbers as 16 bytes hold. The lanes of a warp are several
 * sites side by side, so that each load of a matrix is whole lines, and several packets of rows, which
 * share the loads of vectors. */
#pragma once

#include "dslash/coarse/coarse_ops.h"
#include "dslash/cuda/site.h"
#include "lib/cuda/reduction/column_tile.h"

enum {
  PACK = KAON_ACCESS / (2 * (int)sizeof(real)), /* complex numbers of a packet */
  MOST_COLUMNS = 6                              /* right-hand sides that share a load of a matrix */
};

/* A packet of a vector, or the sums of a thread. */
typedef struct __align__(16) numbers {
  vcomplex c[PACK];
}
numbers;

KAON_DEVICE numbers numbers_zero(void) {
  numbers d;
#pragma unroll
  for (int i = 0; i < PACK; i++) d.c[i] = c_make(0, 0);
  return d;
}

KAON_DEVICE void numbers_add(numbers *d, real a, const numbers &x) {
#pragma unroll
  for (int i = 0; i < PACK; i++) {
    d->c[i].re = v_fma(a, x.c[i].re, d->c[i].re);
    d->c[i].im = v_fma(a, x.c[i].im, d->c[i].im);
  }
}

/* d += x z */
KAON_DEVICE void numbers_add_product(numbers *d, const numbers &x, vcomplex z) {
#pragma unroll
  for (int i = 0; i < PACK; i++) d->c[i] = c_fma(x.c[i], z, d->c[i]);
}

/* Packet 0 of a column of site `at`, in a vector of `columns` columns with `packets` packets a
 * site. Packet p is p * KAON_LANES further. */
KAON_DEVICE numbers *numbers_at(const kaon_view &v, int64_t at, int columns, int packets,
                                int column) {
  return (numbers *)v.data + (at / KAON_LANES * columns + column) * packets * KAON_LANES +
         at % KAON_LANES;
}

/* ---- matrices ---- */

/* A thread's rows of a site's matrix. HALF: they are stored as integers with a scale for each
 * column (lib/math/half.h). */
template <bool HALF>
struct matrix_rows {
  const char *at;     /* of column 0 */
  const float *scale; /* the same */
  int64_t step;       /* bytes from column to column */
};

/* Rows of packet `row` of the matrix at site `at`; the field has `columns` columns of `reals`
 * reals. pack: components of its groups (kaon_pack). */
template <bool HALF>
KAON_DEVICE matrix_rows<HALF> matrix_of(const kaon_view &v, int64_t at, int64_t columns, int reals,
                                        int pack, int row) {
  constexpr int size = HALF ? 2 : (int)sizeof(real);
  const int64_t unit = at / KAON_LANES * columns;
  const int lane = (int)(at % KAON_LANES);
  matrix_rows<HALF> m;
  m.at = (const char *)v.data + (unit * reals * KAON_LANES + lane * pack +
                                 kaon_component_offset(2 * PACK * row, KAON_LANES, pack)) *
                                    size;
  m.scale = HALF ? v.scale + unit * KAON_LANES + lane : NULL;
  m.step = (int64_t)reals * KAON_LANES * size;
  return m;
}

/* Two 16-bit integers of a word, exactly: the lower half of a float's bits holds 2^15 + integer. */
KAON_DEVICE vcomplex integers_of(uint32_t word) {
  const uint32_t moved = word ^ 0x80008000u;
  const float offset = 8388608.0f + 32768.0f;
  return c_make((real)(__uint_as_float(__byte_perm(moved, 0x4b000000u, 0x7410)) - offset),
                (real)(__uint_as_float(__byte_perm(moved, 0x4b000000u, 0x7432)) - offset));
}

/* The thread's rows of column j, if wanted; else zeros. There is no branch. *unit: the factor of
 * integers. */
template <bool HALF>
KAON_DEVICE numbers matrix_read(const matrix_rows<HALF> &m, int64_t j, bool wanted, real *unit) {
  numbers d;
  if constexpr (HALF) {
    words<4 *PACK> x = {};
    words<4> scale = {};
    read_once_if<4 * PACK>(wanted, m.at + j * m.step, &x);
    read_once_if<4>(wanted, m.scale + j * KAON_LANES, &scale);
#pragma unroll
    for (int i = 0; i < PACK; i++) d.c[i] = integers_of(x.w[i]);
    *unit = (real)kaon_half_unit(__uint_as_float(scale.w[0]));
  } else {
    words<16> x = {};
    read_once_if<16>(wanted, m.at + j * m.step, &x);
    memcpy(&d, &x, sizeof d);
    *unit = 1;
  }
  return d;
}

/* Packets of columns whose loads are in flight together. */
static __host__ __device__ constexpr int batch_of(int rows, int columns) {
  return rows > 1 ? 1 : columns > 1 ? 2 : 6;
}

/* d[i][k] += rows i of the matrix times vector k, for packets begin, begin + step, ... of columns.
 * ROWS: packets of rows, which share the loads of vectors. `vectors` reads packet p of vector k by
 * read(k, p). */
template <bool HALF, int ROWS, int COLUMNS, typename VECTORS>
KAON_DEVICE void product_add(const matrix_rows<HALF> (&m)[ROWS], const VECTORS &vectors, int begin,
                             int end, int step, numbers (*d)[COLUMNS]) {
  constexpr int batch = batch_of(ROWS, COLUMNS);
#pragma unroll 1
  for (int first = begin; first < end; first += batch * step) {
    numbers column[batch][PACK][ROWS], x[batch][COLUMNS];
    real unit[batch][PACK];
#pragma unroll
    for (int i = 0; i < batch; i++)
#pragma unroll
      for (int j = 0; j < PACK; j++)
#pragma unroll
        for (int r = 0; r < ROWS; r++)
          column[i][j][r] = matrix_read(m[r], (int64_t)(first + i * step) * PACK + j,
                                        first + i * step < end, &unit[i][j]);
#pragma unroll
    for (int i = 0; i < batch; i++)
#pragma unroll
      for (int k = 0; k < COLUMNS; k++)
        x[i][k] = first + i * step < end ? vectors.read(k, first + i * step) : numbers_zero();
#pragma unroll
    for (int i = 0; i < batch; i++)
#pragma unroll
      for (int j = 0; j < PACK; j++)
#pragma unroll
        for (int k = 0; k < COLUMNS; k++) {
          const vcomplex z = HALF ? c_scale(x[i][k].c[j], unit[i][j]) : x[i][k].c[j];
#pragma unroll
          for (int r = 0; r < ROWS; r++) numbers_add_product(&d[r][k], column[i][j][r], z);
        }
  }
}

/* Vectors whose packets have equal distances. Beyond the last vector the last one is read again. */
struct packet_vectors {
  const numbers *first;
  int last, vector, packet; /* the last vector; distances */
  __device__ __forceinline__ numbers read(int k, int p) const {
    return first[min(k, last) * vector + p * packet];
  }
};
