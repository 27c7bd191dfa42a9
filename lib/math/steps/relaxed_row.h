/* relaxed_row.h - the arithmetic of relaxing one row, for all backends. One thread works on a row
 * while other threads may work on neighbouring rows. `reals` is 1 (real) or 2 (complex: re, im) and
 * known at compile time. Included where `real` is defined (lib/core/kernel.h).
 *
 * Memory that other threads write meanwhile is accessed by kaon_race_load and kaon_race_store:
 * relaxed atomic accesses of one real. A value read may be old, but a real is never read
 * incompletely. The two parts of a complex value may come from different updates. kaon_far_load and
 * kaon_far_store do the same between ranks: their scope is the system, not the device. */
#pragma once

#include "lib/core/kernel.h"

#ifdef __CUDACC__
#define KAON_RELAX KAON_DEVICE

KAON_RELAX double kaon_race_load(const double *p) {
  double v;
  asm volatile("ld.relaxed.gpu.global.f64 %0, [%1];" : "=d"(v) : "l"(p));
  return v;
}
KAON_RELAX float kaon_race_load(const float *p) {
  float v;
  asm volatile("ld.relaxed.gpu.global.f32 %0, [%1];" : "=f"(v) : "l"(p));
  return v;
}
KAON_RELAX void kaon_race_store(double *p, double v) {
  asm volatile("st.relaxed.gpu.global.f64 [%0], %1;" ::"l"(p), "d"(v) : "memory");
}
KAON_RELAX void kaon_race_store(float *p, float v) {
  asm volatile("st.relaxed.gpu.global.f32 [%0], %1;" ::"l"(p), "f"(v) : "memory");
}
KAON_RELAX double kaon_far_load(const double *p) {
  double v;
  asm volatile("ld.relaxed.sys.global.f64 %0, [%1];" : "=d"(v) : "l"(p));
  return v;
}
KAON_RELAX float kaon_far_load(const float *p) {
  float v;
  asm volatile("ld.relaxed.sys.global.f32 %0, [%1];" : "=f"(v) : "l"(p));
  return v;
}
KAON_RELAX void kaon_far_store(double *p, double v) {
  asm volatile("st.relaxed.sys.global.f64 [%0], %1;" ::"l"(p), "d"(v) : "memory");
}
KAON_RELAX void kaon_far_store(float *p, float v) {
  asm volatile("st.relaxed.sys.global.f32 [%0], %1;" ::"l"(p), "f"(v) : "memory");
}
#else
#define KAON_RELAX KAON_INLINE

KAON_RELAX real kaon_race_load(const real *p) {
  real v;
  __atomic_load(p, &v, __ATOMIC_RELAXED);
  return v;
}
KAON_RELAX void kaon_race_store(real *p, real v) {
  __atomic_store(p, &v, __ATOMIC_RELAXED);
}
#define kaon_far_load kaon_race_load
#define kaon_far_store kaon_race_store
#endif

/* t -= a x */
KAON_RELAX void kaon_relax_subtract(real *t, const real *a, const real *x, const int reals) {
  if (reals == 1) {
    t[0] -= a[0] * x[0];
    return;
  }
  t[0] -= a[0] * x[0] - a[1] * x[1];
  t[1] -= a[0] * x[1] + a[1] * x[0];
}

/* t = b - sum over all j other than i of a_ij x_j. x becomes x + factor (t / a_ii - x); inverse:
 * 1 / a_ii. */
KAON_RELAX void kaon_relax_row(real *x, const real *t, const real *inverse, real factor,
                               const int reals) {
  if (reals == 1) {
    x[0] += factor * (t[0] * inverse[0] - x[0]);
    return;
  }
  const real re = t[0] * inverse[0] - t[1] * inverse[1];
  const real im = t[0] * inverse[1] + t[1] * inverse[0];
  x[0] += factor * (re - x[0]);
  x[1] += factor * (im - x[1]);
}

/* |t - a_ii x|^2: the residual of the row before it is relaxed. */
KAON_RELAX double kaon_relax_residual2(const real *t, const real *diagonal, const real *x,
                                       const int reals) {
  real r[2] = {t[0], reals == 2 ? t[reals - 1] : 0};
  kaon_relax_subtract(r, diagonal, x, reals);
  return (double)r[0] * (double)r[0] + (reals == 2 ? (double)r[1] * (double)r[1] : 0.0);
}

/* The order in which blocks begin: maps n to a permutation of 0 .. count - 1 that depends on the
 * seed, without a table. It applies odd multiplications and shifts modulo the next power of two,
 * and repeats until the result is below count. */
#ifdef __CUDACC__
static __host__ __device__ __forceinline__
#else
static inline
#endif
    int64_t
    kaon_relax_turn(int64_t n, int64_t count, uint64_t seed) {
  uint64_t mask = 1, at = (uint64_t)n;
  if (seed == 0) return n;
  while (mask < (uint64_t)count) mask *= 2;
  mask -= 1;
  do {
    for (int i = 0; i < 3; i++) {
      at = (at * ((seed >> (16 * i)) | 1) + (seed >> (20 * i))) & mask;
      at ^= at >> 3;
      at ^= at >> 7;
    }
  } while (at >= (uint64_t)count);
  return (int64_t)at;
}
