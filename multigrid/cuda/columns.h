/* columns.h - how the transfer's kernels on the GPU read columns of fine vectors, bases and coarse
 * vectors (lib/vector/layout.h), with sizes known at run time. */
#pragma once

#include <string.h>

#include "lib/core/kernel.h"
#include "lib/cuda/memory/access.h"
#include "lib/cuda/memory/neighbours.h"
#include "lib/cuda/queue/dependent.h"
#include "lib/cuda/reduction/column_tile.h"
#include "lib/math/half.h"
#include "lib/math/vreal.h"
#include "multigrid/cuda/kernels.h"

/* BLOCK_THREADS: of most blocks. MOST_COLUMNS: right-hand sides that share a load of the basis.
 * SPINOR, SPINOR_PIECE: reals of a spinor, and complex numbers of its half. MOST_PIECE: complex
 * numbers of a piece (piece_of). */
enum {
  BLOCK_THREADS = 256,
  MOST_COLUMNS = 4,
  SPINOR = 24,
  SPINOR_PIECE = SPINOR / 4,
  MOST_PIECE = KAON_IS_HALF        ? SPINOR_PIECE
               : sizeof(real) == 8 ? 1
                                   : 2
};

/* A field of `columns` columns of `reals` numbers in groups of `pack`. */
typedef struct field {
  void *data;
  float *scale;
  int columns, reals, pack;
} field;

static inline field field_of(const kaon_view *v, int columns, int reals, int bytes) {
  field f;
  f.data = v->data;
  f.scale = v->scale;
  f.columns = columns;
  f.reals = reals;
  f.pack = kaon_pack(KAON_ACCESS, reals, bytes);
  return f;
}

/* Where a place's column begins, in numbers. Components are at kaon_component_offset from it. */
KAON_DEVICE int64_t column_at(const field &f, int place, int column) {
  return ((int64_t)(place / KAON_LANES) * f.columns + column) * f.reals * KAON_LANES +
         place % KAON_LANES * f.pack;
}

/* The factor from the stored values of a place's column to numbers. */
KAON_DEVICE real unit_at(const field &f, int place, int column) {
#if KAON_IS_HALF
  return kaon_half_unit(f.scale[((int64_t)(place / KAON_LANES) * f.columns + column) * KAON_LANES +
                                place % KAON_LANES]);
#else
  (void)f, (void)place, (void)column;
  return 1;
#endif
}

/* The stored complex number c of a place's column, which begins at `from`. */
KAON_DEVICE vcomplex number_at(const field &f, const stored *from, int c) {
  typedef kaon_packet<stored, 2> pair;
  const pair x = *(const pair *)(from + kaon_component_offset(2 * c, KAON_LANES, f.pack));
  return c_make((real)x.v[0], (real)x.v[1]);
}

/* Complex numbers of either half that a thread reads at once. In single and double a piece is 16
 * bytes where that divides a half. In half precision a spinor is three accesses of 16 bytes, which
 * halves do not divide, so a thread reads both halves as a whole. */
static inline int piece_of(int fine_reals) {
  if (MOST_PIECE == SPINOR_PIECE) return fine_reals == SPINOR ? SPINOR_PIECE : 1;
  return MOST_PIECE == 2 && fine_reals / 2 % 4 == 0 ? 2 : 1;
}

/* Numbers c ... of half 0, and the same of half 1. */
template <int PIECE>
KAON_DEVICE void halves_read(const field &f, const stored *from, int c, vcomplex (*z)[PIECE]) {
  if constexpr (PIECE == SPINOR_PIECE) {
    typedef kaon_packet<stored, 8> group;
    const group *p = (const group *)from;
    group x[3];
#pragma unroll
    for (int g = 0; g < 3; g++) x[g] = p[g * KAON_LANES];
#pragma unroll
    for (int i = 0; i < 2 * PIECE; i++)
      z[i / PIECE][i % PIECE] =
          c_make((real)x[i / 4].v[i % 4 * 2], (real)x[i / 4].v[i % 4 * 2 + 1]);
  } else {
    typedef kaon_packet<stored, 2 * PIECE> piece;
#pragma unroll
    for (int h = 0; h < 2; h++) {
      const int first = h * (f.reals / 4) + c;
      const piece x = *(const piece *)(from + kaon_component_offset(2 * first, KAON_LANES, f.pack));
#pragma unroll
      for (int i = 0; i < PIECE; i++) z[h][i] = c_make((real)x.v[2 * i], (real)x.v[2 * i + 1]);
    }
  }
}

/* Upper and lower components to the two halves, or back. */
KAON_DEVICE void turn_pair(vcomplex *upper, vcomplex *lower) {
  const real root = (real)0.70710678118654752440;
  const vcomplex u = *upper, l = *lower;
  *upper = c_scale(c_add(u, l), root);
  *lower = c_scale(c_sub(u, l), root);
}
