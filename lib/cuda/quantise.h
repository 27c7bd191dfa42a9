/* quantise.h - a site's one rounding to half on the GPU (lib/math/half.h): a thread a site. */
#ifndef KAON_LIB_CUDA_QUANTISE_H
#define KAON_LIB_CUDA_QUANTISE_H

#include "lib/math/half.h"

/* The larger of `largest` and |x|, compared as integers: they order like the numbers, with infinity
 * and then NaN on top, so neither is lost. */
static __device__ __forceinline__ float quantise_largest(float largest, float x) {
  return __uint_as_float(max(__float_as_uint(largest), __float_as_uint(x) & 0x7fffffffu));
}

/* N values to integers; returns their scale. */
template <int N>
static __device__ __forceinline__ float quantise_site(const float *value, int16_t *q) {
  float largest = 0;
#pragma unroll
  for (int c = 0; c < N; c++) largest = quantise_largest(largest, value[c]);
  const float factor = kaon_half_factor(largest);
#pragma unroll
  for (int c = 0; c < N; c++) q[c] = (int16_t)__float2int_rn(value[c] * factor);
  return largest;
}

#endif
