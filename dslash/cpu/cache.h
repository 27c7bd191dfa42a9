/* cache.h - cache control in the CPU's spinor and colour kernels: prefetches, and stores that
 * bypass the cache. */
#pragma once

#include "lib/core/kernel.h"
#include "lib/core/launch.h"

/* Prefetches reals begin .. end - 1 of VL sites: near into the first-level cache, else into the
 * second. It is a compact loop, because hop kernels fill the cache of decoded instructions. */
KAON_INLINE void cache_fetch(const stored *p, const int begin, const int end, const int near) {
  enum { step = KAON_W * sizeof(stored) < 64 ? 64 / (KAON_W * sizeof(stored)) : 1 };
#pragma GCC unroll 1
  for (int c = (begin + step - 1) / step * step; c < end; c += step) {
    if (near)
      __builtin_prefetch(p + c * KAON_W, 0, 3);
    else
      __builtin_prefetch(p + c * KAON_W, 0, 2);
  }
}

/* Streaming pays off only where consecutive lane stores fill whole cache lines. reals: the reals of
 * a column. */
static inline int may_stream(const kaon_launch *launch, int reals) {
  const size_t bytes = KAON_VL * sizeof(stored);
  return launch->stream_stores && (KAON_PARTS == 1 ? reals * bytes % 64 == 0 : bytes >= 64);
}
