/* site.h - what the GPU's Dirac kernels share: where a site and its neighbours are, and a site's
 * spinor, link and clover block between memory and registers. A thread works on one site of the
 * updated parity; lanes are consecutive checkerboard sites (lib/layout.h), so neighbours are
 * computed, not looked up. Links pass the first-level cache by and results are streamed, so that
 * what caches hold is spinors. */
#ifndef KAON_DSLASH_CUDA_SITE_H
#define KAON_DSLASH_CUDA_SITE_H

#include "lib/kernel.h"
#include "lib/cuda/access.h"
#include "lib/cuda/quantise.h"
#include "lib/cuda/reduce.h"
#include "lib/math/clover.h"

/* n / d for 0 <= n < 2^31: with s = ceil(log2 d) - 1 and m = floor(2^(32 + s) / d) + 1 the quotient
 * is (n m) >> (32 + s), as m d exceeds 2^(32 + s) by at most d <= 2^(s + 1). d = 1: m = 0. */
typedef struct divider {
  uint32_t d, m, s;
} divider;

static inline divider divider_of(int d) {
  divider v = {(uint32_t)d, 0, 0};
  if (d < 2) return v;
  while ((2u << v.s) < v.d) v.s++;
  v.m = (uint32_t)(((uint64_t)1 << (32 + v.s)) / v.d + 1);
  return v;
}

static __device__ __forceinline__ uint32_t divide(uint32_t n, const divider &v) {
  return v.m == 0 ? n : __umulhi(n, v.m) >> v.s;
}

/* The lattice as the kernels walk it; site numbers: ((t Z + z) Y + y) X / 2 + x / 2. */
typedef struct grid4 {
  divider half_x, y, z;
  int t;
  int parity;                /* of the sites that are updated */
  uint32_t nsites, plane[4]; /* sites from one x, y, z, t to the next */
} grid4;

static inline grid4 grid_of(const kaon_stencil *st, int parity) {
  const int *e = st->extents;
  grid4 g;
  g.half_x = divider_of(e[0] / 2);
  g.y = divider_of(e[1]);
  g.z = divider_of(e[2]);
  g.t = e[3];
  g.parity = parity;
  g.nsites = (uint32_t)st->nsites;
  g.plane[0] = 1;
  g.plane[1] = (uint32_t)(e[0] / 2);
  g.plane[2] = g.plane[1] * (uint32_t)e[1];
  g.plane[3] = g.plane[2] * (uint32_t)e[2];
  return g;
}

/* A site: its number and where it is; odd_row: its x is odd. */
typedef struct place4 {
  uint32_t site;
  uint32_t half_x, y, z, t;
  uint32_t odd_row;
} place4;

static __device__ __forceinline__ place4 place_of(const grid4 &g, uint32_t site) {
  place4 p;
  p.site = site;
  uint32_t row = divide(site, g.half_x);
  p.half_x = site - row * g.half_x.d;
  uint32_t slice = divide(row, g.y);
  p.y = row - slice * g.y.d;
  p.t = divide(slice, g.z);
  p.z = slice - p.t * g.z.d;
  p.odd_row = (p.y + p.z + p.t + (uint32_t)g.parity) & 1;
  return p;
}

/* The neighbour in direction DIR (0..3 forward x, y, z, t; 4..7 backward), on the other parity. */
template <int DIR>
static __device__ __forceinline__ uint32_t neighbour_of(const grid4 &g, const place4 &p) {
  if (DIR == 0) {
    const uint32_t next = p.half_x + p.odd_row;
    return next == g.half_x.d ? p.site - p.half_x : p.site + p.odd_row;
  }
  if (DIR == 4) {
    const uint32_t step = 1 - p.odd_row;
    return step > p.half_x ? p.site + g.half_x.d - 1 : p.site - step;
  }
  constexpr int mu = DIR & 3;
  const uint32_t at = mu == 1 ? p.y : mu == 2 ? p.z : p.t;
  const uint32_t extent = mu == 1 ? g.y.d : mu == 2 ? g.z.d : (uint32_t)g.t;
  const uint32_t around = (extent - 1) * g.plane[mu];
  if (DIR < 4) return at == extent - 1 ? p.site - around : p.site + g.plane[mu];
  return at == 0 ? p.site + around : p.site - g.plane[mu];
}

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
