/* gathered.h - loads from neighbouring sites in the plain order on the CPU. It collects the values
 * of the sites that the lanes of a part of a block read. Lanes are consecutive sites, and so are
 * most of their neighbours. So a few registers hold all of them, and a permute instruction moves
 * each value to its lane. This is several times as fast as one load for each lane. */
#pragma once

#include "lib/core/kernel.h"
#include "lib/math/vreal.h"

#if defined(KAON_ISA_AVX512) || defined(KAON_ISA_AVX2)
/* gathered_pick loads a register and permutes its lanes. gathered_put stores one, with some signs
 * changed. */
KAON_INLINE vint gathered_pick(const stored *p, vperm index) {
  return (vint)v_exchange((vreal)v_load_raw(p), index);
}

KAON_INLINE void gathered_put(stored *p, vint a, vint negative) {
#if KAON_IS_HALF
  v_store_raw(p, (a ^ negative) - negative);
#else
  v_store_real(p, (vreal)(a ^ ((vint)v_set(-0.0) & negative)));
#endif
}

/* Gathers `count` values of each site of `field` and stores them KAON_W apart. The sites are at[],
 * or ~at[] where that is negative. first: the column or direction; stride: that of a block;
 * with_sign: multiplies by -1 where at[] is negative. */
static __attribute__((noinline)) void gathered(const int32_t *at, const stored *field,
                                               int64_t stride, int64_t first, int count,
                                               int with_sign, stored *to) {
  typedef int32_t vint32 __attribute__((vector_size(4 * KAON_VL), aligned(4)));
  enum { shift = KAON_VL == 16 ? 4 : KAON_VL == 8 ? 3 : 2 };
  const vint signs = __builtin_convertvector(*(const vint32 *)at, vint) < 0;
  const vint site = __builtin_convertvector(*(const vint32 *)at, vint) ^ signs;
  const vint negative = with_sign ? signs : signs & 0, there = site >> shift;
  const vperm index = v_lanes_index(site & (KAON_VL - 1));
  const stored *from[KAON_VL]; /* the registers to load, and the lanes that each provides */
  vint lanes[KAON_VL];
  int n = 0;
  for (uint32_t left = (UINT32_C(1) << KAON_VL) - 1; left != 0; left &= ~v_mask(lanes[n++])) {
    const int32_t one = at[__builtin_ctz(left)], number = (one < 0 ? ~one : one) >> shift;
    from[n] = field + number / KAON_PARTS * stride + first + number % KAON_PARTS * KAON_VL;
    lanes[n] = there == number;
  }
  const stored *second = from[n > 1];
#pragma GCC unroll 1
  for (int c = 0; c < count; c++) {
    const vint a = gathered_pick(from[0] + c * KAON_W, index);
    const vint b = gathered_pick(second + c * KAON_W, index);
    gathered_put(to + c * KAON_W, (a & lanes[0]) | (b & ~lanes[0]), negative);
  }
#pragma GCC unroll 1
  for (int i = 2; i < n; i++)
#pragma GCC unroll 1
    for (int c = 0; c < count; c++) {
      const vint a = (vint)v_load_raw(to + c * KAON_W);
      const vint b = gathered_pick(from[i] + c * KAON_W, index);
      gathered_put(to + c * KAON_W, (a & ~lanes[i]) | (b & lanes[i]), negative & lanes[i]);
    }
}

#else
static __attribute__((noinline)) void gathered(const int32_t *at, const stored *field,
                                               int64_t stride, int64_t first, int count,
                                               int with_sign, stored *to) {
  for (int l = 0; l < KAON_VL; l++) {
    const int64_t site = at[l] < 0 ? ~at[l] : at[l];
    const stored *p = field + site / KAON_W * stride + first + site % KAON_W;
    const int negative = with_sign && at[l] < 0;
    for (int c = 0; c < count; c++)
      to[c * KAON_W + l] = (stored)(negative ? -p[c * KAON_W] : p[c * KAON_W]);
  }
}
#endif
