/* mma.h - products of small matrices on the tensor units of a warp: D (16 x 8) += A (16 x 8) B (8 x
 * 8). Lane 4 g + t holds
 *   a[0] A(g, t)    a[1] A(g + 8, t)    a[2] A(g, t + 4)    a[3] A(g + 8, t + 4)
 *   b[0] B(t, g)    b[1] B(t + 4, g)
 *   d[0], d[1] D(g, 2 t), D(g, 2 t + 1)    d[2], d[3] the same of row g + 8.
 * Complex columns of vectors: inner indices t and t + 4 are real and imaginary part of an operand,
 * 2 t and 2 t + 1 those of a result. So a lane holds the same positions of operands and results.
 * Source of the layout: NVIDIA's PTX ISA, "Matrix fragments for mma.m16n8k8".
 *   mma_double   values and sums in double; each product and sum is rounded as by fma
 *   mma_tf32     values of 11 bits (further bits are truncated); sums in float, whose last bits
 *                are truncated; see tf32_split
 * All lanes of a warp must call them together. */
#pragma once

#include "lib/vector/layout.h"

#include <stdint.h>

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
/* By shuffles, for devices without such units. */
template <typename T>
KAON_DEVICE void mma_shuffled(T *d, const T *a, const T *b) {
  const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
#pragma unroll
  for (int k = 0; k < 8; k++)
#pragma unroll
    for (int r = 0; r < 2; r++) {
      const T left = __shfl_sync(0xffffffffu, a[k / 4 * 2 + r], 4 * g + k % 4);
#pragma unroll
      for (int c = 0; c < 2; c++)
        d[2 * r + c] += left * __shfl_sync(0xffffffffu, b[k / 4], 4 * (2 * t + c) + k % 4);
    }
}
#endif

KAON_DEVICE void mma_double(double *d, const double *a, const double *b) {
#if !defined(__CUDA_ARCH__)
  (void)d, (void)a, (void)b;
#elif __CUDA_ARCH__ >= 900
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+d"(d[0]), "+d"(d[1]), "+d"(d[2]), "+d"(d[3])
      : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b[0]), "d"(b[1]));
#elif __CUDA_ARCH__ >= 800
#pragma unroll
  for (int i = 0; i < 4; i++)
    asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};"
                 : "+d"(d[i % 2 * 2]), "+d"(d[i % 2 * 2 + 1])
                 : "d"(a[i]), "d"(b[i / 2]));
#else
  mma_shuffled(d, a, b);
#endif
}

KAON_DEVICE void mma_tf32(float *d, const float *a, const float *b) {
#if !defined(__CUDA_ARCH__)
  (void)d, (void)a, (void)b;
#elif __CUDA_ARCH__ >= 800
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(__float_as_uint(a[0])), "r"(__float_as_uint(a[1])), "r"(__float_as_uint(a[2])),
        "r"(__float_as_uint(a[3])), "r"(__float_as_uint(b[0])), "r"(__float_as_uint(b[1])));
#else
  mma_shuffled(d, a, b);
#endif
}

/* x = high + low to 2^-21 |x|. high is x rounded to 11 bits, low the remainder, of which the units
 * use 11 bits. */
KAON_DEVICE void tf32_split(float x, float *high, float *low) {
  *high = __uint_as_float((__float_as_uint(x) + 0x1000u) & 0xffffe000u);
  *low = x - *high;
}
