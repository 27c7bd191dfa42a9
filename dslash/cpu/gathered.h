/* gathered.h - plain order on the CPU: numbers of the sites that the lanes of a part of a block
 * meet, lane by lane, put side by side. Lanes are consecutive sites, and so are most of their
 * neighbours: a few registers as they stand in memory hold them all, and the instruction that
 * exchanges lanes brings each to its place, several times as fast as a load a lane. */
#ifndef KAON_DSLASH_CPU_GATHERED_H
#define KAON_DSLASH_CPU_GATHERED_H

#include "lib/core/kernel.h"
#include "lib/math/vreal.h"

#if defined(KAON_ISA_AVX512) || defined(KAON_ISA_AVX2)
/* Numbers as they stand in memory: a register's in other lanes; into memory, some with the other
 * sign. */
KAON_INLINE vint gathered_pick(const stored *p, vperm index) {
  return (vint)v_exchange((vreal)v_load_raw(p), index);
}

KAON_INLINE void gathered_put(stored *p, vint a, vint negative) {
#if KAON_HALF
  v_store_raw(p, (a ^ negative) - negative);
#else
  v_store_real(p, (vreal)(a ^ ((vint)v_set(-0.0) & negative)));
#endif
}

/* `count` numbers a site of `field`, from the sites at[] (~at[] where that is negative), to KAON_W
 * apart. first: of the column or direction; stride: of a block; with_sign: times -1 where at[] is
 * negative. */
static __attribute__((noinline)) void gathered(const int32_t *at, const stored *field,
                                               int64_t stride, int64_t first, int count,
                                               int with_sign, stored *to) {
  typedef int32_t vint32 __attribute__((vector_size(4 * KAON_VL), aligned(4)));
  enum { shift = KAON_VL == 16 ? 4 : KAON_VL == 8 ? 3 : 2 };
  const vint signs = __builtin_convertvector(*(const vint32 *)at, vint) < 0;
  const vint site = __builtin_convertvector(*(const vint32 *)at, vint) ^ signs;
  const vint negative = with_sign ? signs : signs & 0, there = site >> shift;
  const vperm index = v_lanes_index(site & (KAON_VL - 1));
  const stored *from[KAON_VL]; /* which registers, and whose lanes they hold */
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

#endif
