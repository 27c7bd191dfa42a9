/* staggered_try.h - EXPERIMENT: ways of several columns, by KAON_X_MANY. */
#ifndef KAON_DSLASH_CUDA_STAGGERED_TRY_H
#define KAON_DSLASH_CUDA_STAGGERED_TRY_H

#include <stdlib.h>

#include "dslash/cuda/staggered_kernel.h"

template <int BYTES>
static __device__ __forceinline__ words<BYTES> try_cached(const void *p) {
  words<BYTES> x;
  if constexpr (BYTES == 16)
    asm volatile("ld.global.nc.v4.u32 {%0,%1,%2,%3}, [%4];"
                 : "=r"(x.w[0]), "=r"(x.w[1]), "=r"(x.w[2]), "=r"(x.w[3])
                 : "l"(p));
  else if constexpr (BYTES == 8)
    asm volatile("ld.global.nc.v2.u32 {%0,%1}, [%2];" : "=r"(x.w[0]), "=r"(x.w[1]) : "l"(p));
  else
    asm volatile("ld.global.nc.u32 %0, [%1];" : "=r"(x.w[0]) : "l"(p));
  return x;
}

template <bool CACHED>
static __device__ __forceinline__ void try_link(const stored *links, uint32_t at, real *u) {
  if constexpr (!CACHED) {
    link_read<18>(links, at, u);
  } else {
    typedef packets<18> p;
    stored raw[18];
    const char *first = packet_address<18>(links, packet_at<18>(at, 1));
#pragma unroll
    for (int g = 0; g < p::count; g++) {
      const words<p::bytes> x = try_cached<p::bytes>(first + g * (KAON_LANES * p::bytes));
      memcpy(raw + g * p::group, &x, p::bytes);
    }
#pragma unroll
    for (int i = 0; i < 9; i++) {
      const vcomplex z = c_load(raw + 2 * i);
      u[2 * i] = z.re;
      u[2 * i + 1] = z.im;
    }
  }
}

template <int DIR, bool FAR, int COLUMNS, bool CACHED>
static __device__ __forceinline__ void try_hop(const staggered_call &a, const staggered_site &s,
                                               const kaon_view *in, vcolour *d) {
  constexpr bool backward = DIR >= 4;
  int boundary;
  const uint32_t from = hop_from<DIR, FAR>(a, s.here, &boundary);
  real eta = DIR % 4 == 3 && boundary < 0 ? -s.eta[3] : s.eta[DIR % 4];
  if (backward) eta = -eta;
  real u[18];
  try_link<CACHED>(FAR ? a.naik[DIR] : a.fat[DIR], DIR < 4 ? (uint32_t)s.here.at : from, u);
#if KAON_HALF
  eta *= KAON_HALF_STEP;
#endif
#pragma unroll
  for (int k = 0; k < COLUMNS; k++) {
    stored raw[COLOURS];
    vcolour chi;
    real factor = eta;
    packets_read<COLOURS, false>(
        packet_address<COLOURS>(in[k].data, packet_at<COLOURS>(from, a.nrhs)), raw);
    if (KAON_HALF) factor *= in[k].scale[scale_at(from, a.nrhs)];
#pragma unroll
    for (int i = 0; i < 3; i++) chi.c[i] = c_scale(c_load(raw + 2 * i), factor);
    colour_add_link(u, KAON_LINK_BUFFER, backward, &chi, &d[k]);
  }
}

template <bool FAR, int COLUMNS, bool CACHED>
static __device__ __forceinline__ void try_all(const staggered_call &a, const staggered_site &s,
                                               const kaon_view *in, vcolour *d) {
  try_hop<3, FAR, COLUMNS, CACHED>(a, s, in, d);
  try_hop<7, FAR, COLUMNS, CACHED>(a, s, in, d);
  try_hop<2, FAR, COLUMNS, CACHED>(a, s, in, d);
  try_hop<6, FAR, COLUMNS, CACHED>(a, s, in, d);
  try_hop<1, FAR, COLUMNS, CACHED>(a, s, in, d);
  try_hop<5, FAR, COLUMNS, CACHED>(a, s, in, d);
  try_hop<0, FAR, COLUMNS, CACHED>(a, s, in, d);
  try_hop<4, FAR, COLUMNS, CACHED>(a, s, in, d);
}

/* GROUPS of COLUMNS a block, which has THREADS. MERGED: long links first, in the same registers. */
template <int COLUMNS, int BLOCKS, bool MERGED, int GROUPS, int THREADS, bool CACHED>
static __global__ void __launch_bounds__(THREADS, BLOCKS)
    staggered_try(const __grid_constant__ staggered_call a) {
  const unsigned groups = (unsigned)a.groups; /* blocks side by side */
  const int outer = groups == 1 ? 0 : (int)(blockIdx.x % groups);
  const int chunk = (int)(groups == 1 ? blockIdx.x : blockIdx.x / groups);
  const int warp = threadIdx.x / 32;
  const int group = outer * GROUPS + (GROUPS == 1 ? 0 : warp % GROUPS);
  const int first = a.column + group * a.each;
  const int count = min(a.each, a.columns - group * a.each);
  kaon_wait_for_previous();
  if (count <= 0) return;
  kaon_view in[COLUMNS];
#pragma unroll
  for (int k = 0; k < COLUMNS; k++) in[k] = colour_view(a.in, first + min(k, count - 1));
  const uint32_t at =
      (uint32_t)chunk * (THREADS / GROUPS) +
      (GROUPS == 1 ? threadIdx.x : (unsigned)(warp / GROUPS) * 32 + threadIdx.x % 32);
  if (at >= (uint32_t)a.sites.nsites) return;
  const staggered_site s = site_of(a, kaon_here_of(&a.sites, a.parity, (int32_t)at));
  vcolour d[COLUMNS], far[MERGED ? 1 : COLUMNS];
#pragma unroll
  for (int k = 0; k < COLUMNS; k++) d[k] = colour_zero();
  if constexpr (MERGED) {
    try_all<true, COLUMNS, CACHED>(a, s, in, d);
#pragma unroll
    for (int k = 0; k < COLUMNS; k++) d[k] = colour_scale(&d[k], a.naik_factor.rounded);
  } else {
#pragma unroll
    for (int k = 0; k < COLUMNS; k++) far[k] = colour_zero();
    try_all<true, COLUMNS, CACHED>(a, s, in, far);
  }
  try_all<false, COLUMNS, CACHED>(a, s, in, d);
#pragma unroll
  for (int k = 0; k < COLUMNS; k++) {
    if (k >= count) continue;
    colour_join(a.fat_factor, &d[k], !MERGED, a.naik_factor, &far[MERGED ? 0 : k]);
    hop_end<false>(a, at, first + k, &d[k], NULL);
  }
}

template <int COLUMNS, int BLOCKS, bool MERGED, int GROUPS, int THREADS, bool CACHED>
static void try_run(const kaon_launch *launch, const kaon_staggered_args *args) {
  staggered_call a = call_of(args);
  const int per = COLUMNS * GROUPS;
  a.groups = (a.columns + per - 1) / per;
  a.each = (a.columns + a.groups * GROUPS - 1) / (a.groups * GROUPS);
  if (MERGED) {
    a.naik_factor.rounded = (real)((double)a.naik_factor.rounded / (double)a.fat_factor.rounded);
    a.naik_factor.rest = 0;
  }
  const int sites = THREADS / GROUPS;
  const int chunks = (int)(((int64_t)a.sites.nsites + sites - 1) / sites);
  kaon_cuda_launch(launch, staggered_try<COLUMNS, BLOCKS, MERGED, GROUPS, THREADS, CACHED>,
                   (unsigned)(chunks * a.groups), (unsigned)THREADS, a);
}

static bool try_many(const kaon_launch *launch, const kaon_staggered_args *args) {
  static int way = -1;
  if (way < 0) way = getenv("KAON_X_MANY") != NULL ? atoi(getenv("KAON_X_MANY")) : 0;
  if (way == 0 || args->nrhs < 2 || args->sum.state != NULL || args->naik.links[0] == NULL)
    return false;
#if !defined(KAON_PREC_DOUBLE)
  switch (way) {
    case 1: try_run<4, 4, false, 1, 128, false>(launch, args); return true;
    case 2: try_run<4, 5, true, 1, 128, false>(launch, args); return true;
    case 3: try_run<6, 3, true, 1, 128, false>(launch, args); return true;
    case 4: try_run<6, 4, true, 1, 128, false>(launch, args); return true;
    case 5: try_run<8, 3, true, 1, 128, false>(launch, args); return true;
    case 6: try_run<4, 2, true, 2, 256, true>(launch, args); return true;
    case 7: try_run<4, 4, true, 2, 128, true>(launch, args); return true;
    case 8: try_run<2, 3, true, 4, 256, true>(launch, args); return true;
    case 9: try_run<4, 4, true, 1, 128, false>(launch, args); return true;
    case 10: try_run<4, 2, true, 3, 192, true>(launch, args); return true;
    default: break;
  }
#endif
  return false;
}

#endif
