/* quantise.h - rounds a unit to half on the CPU: lib/math/half.h for W adjacent sites. Include it
 * after lib/math/vreal.h, where a vreal is W floats. */
#pragma once

#include "lib/math/half.h"

/* The larger of `largest` and |x|. They are compared as integers: these are ordered like the
 * values, with infinity and then NaN on top, so neither is lost. Start from zeros. */
KAON_INLINE vreal quantise_largest(vreal largest, vreal x) {
#if KAON_W == 1
  uint32_t a, b;
  __builtin_memcpy(&a, &largest, sizeof a);
  __builtin_memcpy(&b, &x, sizeof b);
  return a >= (b & 0x7fffffff) ? largest : v_abs(x);
#else
  const vint a = (vint)largest, b = (vint)x & 0x7fffffff;
#if defined(KAON_ISA_AVX512)
  return (vreal)_mm512_max_epi32((__m512i)a, (__m512i)b);
#elif defined(KAON_ISA_AVX2)
  return (vreal)_mm256_max_epi32((__m256i)a, (__m256i)b);
#else
  const vint greater = a > b;
  return (vreal)((a & greater) | (b & ~greater));
#endif
#endif
}

/* The factor from values to integers before rounding, given their `largest`. */
KAON_INLINE vreal quantise_factor(vreal largest) {
  float lanes[KAON_W] __attribute__((aligned(64)));
  v_store_real(lanes, largest);
  for (int l = 0; l < KAON_W; l++) lanes[l] = kaon_half_factor(lanes[l]);
  return v_load_real(lanes);
}

/* Converts ncomp rows of W values, with their `largest`, to integers and scales. */
KAON_INLINE void quantise_store(int16_t *data, float *scale, const float *values, int ncomp,
                                vreal largest) {
  v_store_real(scale, largest);
  const vreal factor = quantise_factor(largest);
  for (int c = 0; c < ncomp; c++)
    v_store_int16(data + c * KAON_W, v_load_real(values + c * KAON_W) * factor);
}
