/* quantise.h - a site's one rounding to half on the GPU (lib/math/half.h): a thread a site. */
#ifndef KAON_LIB_CUDA_QUANTISE_H
#define KAON_LIB_CUDA_QUANTISE_H

#include <string.h>

#include "lib/cuda/lanes.h"
#include "lib/math/half.h"

/* The larger of `largest` and |x|, compared as integers: they order like the numbers, with infinity
 * and then NaN on top, so neither is lost. */
static __device__ __forceinline__ float quantise_largest(float largest, float x) {
  return __uint_as_float(max(__float_as_uint(largest), __float_as_uint(x) & 0x7fffffffu));
}

/* Two numbers x * factor of at most 32767 rounded to integers by KAON_HALF_BIAS, the first one
 * below. FUSED: product and rounding are one, so a number
 * halfway between integers may go the other way than on a CPU. */
template <bool FUSED>
static __device__ __forceinline__ uint32_t quantise_pair(float x, float y, float factor) {
  const float bias = KAON_HALF_BIAS;
  const float low = FUSED ? fmaf(x, factor, bias) : __fadd_rn(__fmul_rn(x, factor), bias);
  const float high = FUSED ? fmaf(y, factor, bias) : __fadd_rn(__fmul_rn(y, factor), bias);
  return __byte_perm(__float_as_uint(low), __float_as_uint(high), 0x5410);
}

/* The largest of N values. */
template <int N>
static __device__ __forceinline__ float quantise_most(const float *value) {
  float largest = 0;
#pragma unroll
  for (int c = 0; c < N; c++) largest = quantise_largest(largest, value[c]);
  return largest;
}

/* Where a thread a site leaves most of a device idle, warps of a block share 32 sites, each with as
 * many of a spinor's components as one access has integers. So up to so many such blocks, and half
 * of them where each leaves a part of a sum. */
enum { QUANTISE_BLOCKS = 1056 };
template <int PARTS>
using quantise_room = float[PARTS][KAON_LANES];

/* The largest of a site's parts, once each warp has left its own behind a barrier of the block. */
template <int PARTS>
static __device__ __forceinline__ float quantise_over_parts(const quantise_room<PARTS> &room,
                                                            int lane) {
  float largest = 0;
#pragma unroll
  for (int k = 0; k < PARTS; k++) largest = quantise_largest(largest, room[k][lane]);
  return largest;
}

/* N values, N even, to integers, of a site whose largest is known; returns the site's scale: NaN
 * where one is not finite. */
template <int N, bool FUSED = false>
static __device__ __forceinline__ float quantise_by(const float *value, float largest, int16_t *q) {
  const float factor = kaon_half_factor(largest);
#pragma unroll
  for (int c = 0; c < N; c += 2) {
    const uint32_t pair = quantise_pair<FUSED>(value[c], value[c + 1], factor);
    memcpy(q + c, &pair, sizeof pair);
  }
  return fmaf(largest, 0.0f, largest);
}

/* The same with all values of a site. */
template <int N, bool FUSED = false>
static __device__ __forceinline__ float quantise_site(const float *value, int16_t *q) {
  return quantise_by<N, FUSED>(value, quantise_most<N>(value), q);
}

#endif
