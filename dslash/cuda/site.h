/* site.h - what the GPU's Dirac kernels share: where a site and its neighbours are, and a site's
 * spinor, link and clover block between memory and registers. A thread works on one site of the
 * updated parity; lanes are consecutive checkerboard sites (lib/layout.h), so neighbours are
 * computed, not looked up (lib/cuda/neighbours.h). Links pass the first-level cache by and results
 * are streamed, so that what caches hold is spinors. */
#ifndef KAON_DSLASH_CUDA_SITE_H
#define KAON_DSLASH_CUDA_SITE_H

#include "lib/kernel.h"
#include "lib/cuda/access.h"
#include "lib/cuda/neighbours.h"
#include "lib/cuda/quantise.h"
#include "lib/cuda/reduce.h"
#include "lib/math/clover.h"

/* The unit (a block's column or matrix) of a site, in numbers. */
static __device__ __forceinline__ int64_t unit_at(uint32_t site, int nrhs, int column, int ncomp) {
  return ((int64_t)(site / KAON_LANES) * nrhs + column) * (ncomp * KAON_LANES);
}

static __device__ __forceinline__ int lane_at(uint32_t site) {
  return (int)(site % KAON_LANES);
}

/* ---- packets past the caches ---- */

template <int BYTES>
struct words {
  uint32_t w[BYTES / 4];
};

template <int BYTES>
static __device__ __forceinline__ words<BYTES> read_once(const void *p) {
  words<BYTES> x;
  if constexpr (BYTES == 16)
    asm("ld.global.nc.L1::no_allocate.v4.u32 {%0,%1,%2,%3}, [%4];"
        : "=r"(x.w[0]), "=r"(x.w[1]), "=r"(x.w[2]), "=r"(x.w[3])
        : "l"(p));
  else if constexpr (BYTES == 8)
    asm("ld.global.nc.L1::no_allocate.v2.u32 {%0,%1}, [%2];" : "=r"(x.w[0]), "=r"(x.w[1]) : "l"(p));
  else
    asm("ld.global.nc.L1::no_allocate.u32 %0, [%1];" : "=r"(x.w[0]) : "l"(p));
  return x;
}

/* site_read for what is used once: links and clover blocks. */
template <int NCOMP>
static __device__ __forceinline__ void site_read_once(const stored *base, int lane, stored *value) {
  constexpr int group = kaon_group<stored, NCOMP>();
  constexpr int bytes = group * (int)sizeof(stored);
#pragma unroll
  for (int g = 0; g < NCOMP / group; g++) {
    const words<bytes> x = read_once<bytes>(base + (g * KAON_LANES + lane) * group);
    memcpy(value + g * group, &x, bytes);
  }
}

template <int NCOMP>
static __device__ __forceinline__ void site_stream(stored *base, int lane, const stored *value) {
  constexpr int group = kaon_group<stored, NCOMP>();
  constexpr int bytes = group * (int)sizeof(stored);
#pragma unroll
  for (int g = 0; g < NCOMP / group; g++) {
    words<bytes> x;
    memcpy(&x, value + g * group, bytes);
    void *p = base + (g * KAON_LANES + lane) * group;
    if constexpr (bytes == 16) {
      __stcs((uint4 *)p, make_uint4(x.w[0], x.w[1], x.w[2], x.w[3]));
    } else {
      __stcs((uint2 *)p, make_uint2(x.w[0], x.w[1]));
    }
  }
}

/* ---- a site's objects ---- */

/* A spinor as it stands in memory, and what its integers are worth (half). */
typedef struct raw_spinor {
  stored c[24];
  real unit;
} raw_spinor;

static __device__ __forceinline__ void raw_load(const kaon_view &v, uint32_t site, int nrhs,
                                                int column, raw_spinor *psi) {
  site_read<stored, 24>((const stored *)v.data + unit_at(site, nrhs, column, 24), lane_at(site),
                        psi->c);
#if KAON_HALF
  psi->unit = kaon_half_unit(v.scale[unit_at(site, nrhs, column, 1) + lane_at(site)]);
#else
  psi->unit = 1;
#endif
}

static __device__ __forceinline__ void spinor_load(const kaon_view &v, uint32_t site, int nrhs,
                                                   int column, vspinor *d) {
  raw_spinor psi;
  raw_load(v, site, nrhs, column, &psi);
#pragma unroll
  for (int i = 0; i < 12; i++) {
    const vcomplex z = half_load(psi.c + i / 6 * 12, i / 3 % 2, i % 3);
    d->s[i / 3][i % 3] = KAON_HALF ? c_scale(z, psi.unit) : z;
  }
}

/* Stores d; half: rounds it, and d becomes what is stored. */
static __device__ __forceinline__ void spinor_store(const kaon_view &v, uint32_t site, int nrhs,
                                                    int column, vspinor *d) {
  real *value = (real *)d;
  stored *to = (stored *)v.data + unit_at(site, nrhs, column, 24);
#if KAON_HALF
  stored q[24];
  v.scale[unit_at(site, nrhs, column, 1) + lane_at(site)] = quantise_site<24>(value, q);
  site_stream<24>(to, lane_at(site), q);
#else
  site_stream<24>(to, lane_at(site), value);
#endif
}

/* d = 2 C d. A chirality at a time: 36 reals in registers, not 72. */
static __device__ __forceinline__ void site_clover(const void *blocks, const float *scales,
                                                   uint32_t site, vspinor *d) {
  const stored *base = (const stored *)blocks + unit_at(site, 1, 0, KAON_CLOVER_REALS);
  stored block[KAON_CLOVER_REALS];
  vreal plus = 1, minus = 1;
  site_read_once<KAON_CLOVER_REALS>(base, lane_at(site), block);
#if KAON_HALF
  const float *scale = scales + unit_at(site, 1, 0, 2) + lane_at(site) * 2;
  plus = kaon_half_unit(scale[0]);
  minus = kaon_half_unit(scale[1]);
#else
  (void)scales;
#endif
  clover_apply_twice(block, plus, minus, d);
}

/* This site's part of |d|^2 and (w, d). */
static __device__ __forceinline__ void site_sums(const kaon_cuda_sums &s, const kaon_view &w,
                                                 uint32_t site, int nrhs, int column,
                                                 const vspinor *d, double *sum) {
  if (s.sum.state == NULL) return;
  if (sums_want(s, 0)) sum[0] += (double)spinor_norm2(d);
  if (w.data == NULL || !sums_want(s, 1)) return;
  vspinor other;
  spinor_load(w, site, nrhs, column, &other);
  const vcomplex dot = spinor_dot(&other, d);
  sum[2] += (double)dot.re;
  sum[3] += (double)dot.im;
}

/* Chunks of a column: every site its own thread, unless the sums would not find room. */
static inline int site_chunks(uint32_t nsites, int wants_sum) {
  const int64_t all = ((int64_t)nsites + KAON_THREADS - 1) / KAON_THREADS;
  const int64_t room = (int64_t)KAON_REDUCE_CHUNKS * KAON_REDUCE_MAX / 4;
  return (int)(wants_sum && all > room ? room : all);
}

#endif
