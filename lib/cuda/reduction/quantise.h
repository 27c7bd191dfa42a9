/* quantise.h - rounds a site to half on the GPU (lib/math/half.h), one thread for each site. */
#pragma once

#include <string.h>

#include "lib/cuda/lanes.h"
#include "lib/math/half.h"

/* The larger of `largest` and |x|. They are compared as integers: these are ordered like the
 * values, with infinity and then NaN on top, so neither is lost. */
KAON_DEVICE float quantise_largest(float largest, float x) {
  return __uint_as_float(max(__float_as_uint(largest), __float_as_uint(x) & 0x7fffffffu));
}

/* Rounds two values x * factor of at most 32767 to integers with KAON_HALF_BIAS, the first in the
 * lower half. FUSED: product and rounding are one operation, so a value halfway between integers
 * may be rounded differently than on a CPU. */
template <bool FUSED>
KAON_DEVICE uint32_t quantise_pair(float x, float y, float factor) {
  const float bias = KAON_HALF_BIAS;
  const float low = FUSED ? fmaf(x, factor, bias) : __fadd_rn(__fmul_rn(x, factor), bias);
  const float high = FUSED ? fmaf(y, factor, bias) : __fadd_rn(__fmul_rn(y, factor), bias);
  return __byte_perm(__float_as_uint(low), __float_as_uint(high), 0x5410);
}

/* The largest of N values. */
template <int N>
KAON_DEVICE float quantise_most(const float *value) {
  float largest = 0;
#pragma unroll
  for (int c = 0; c < N; c++) largest = quantise_largest(largest, value[c]);
  return largest;
}

/* If one thread for each site would leave most of a device idle, the warps of a block share 32
 * sites. Each warp takes as many of a spinor's components as one access has integers. Used for up
 * to this many blocks, or half of it if each block also computes partial sums. */
enum { QUANTISE_BLOCKS = 1056 };
template <int PARTS>
using quantise_room = float[PARTS][KAON_LANES];

/* The largest value of a site's parts, after each warp has stored its own and the block has passed
 * a barrier. */
template <int PARTS>
KAON_DEVICE float quantise_over_parts(const quantise_room<PARTS> &room, int lane) {
  float largest = 0;
#pragma unroll
  for (int k = 0; k < PARTS; k++) largest = quantise_largest(largest, room[k][lane]);
  return largest;
}

/* Rounds N values (N even) of a site to integers, given the site's largest value. Returns the scale
 * of the site, NaN if a value is not finite. */
template <int N, bool FUSED = false>
KAON_DEVICE float quantise_by(const float *value, float largest, int16_t *q) {
  const float factor = kaon_half_factor(largest);
#pragma unroll
  for (int c = 0; c < N; c += 2) {
    const uint32_t pair = quantise_pair<FUSED>(value[c], value[c + 1], factor);
    memcpy(q + c, &pair, sizeof pair);
  }
  return fmaf(largest, 0.0f, largest);
}

/* The same for all values of a site. */
template <int N, bool FUSED = false>
KAON_DEVICE float quantise_site(const float *value, int16_t *q) {
  return quantise_by<N, FUSED>(value, quantise_most<N>(value), q);
}
