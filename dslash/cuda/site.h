/* site.h - what the GPU's Dirac kernels share: moving a site's spinor, link and clover block
 * between memory and registers, and its sums. A thread updates one site. Lanes are consecutive
 * checkerboard sites (lib/vector/layout.h), so neighbours are computed instead of looked up
 * (lib/cuda/memory/neighbours.h). Links bypass the first-level cache and results are streamed, so
 * that caches hold spinors. */
#pragma once

#if defined(KAON_LIB_CUDA_REDUCE_H)
#error "lib/cuda/reduction/reduce.h comes by way of this file"
#endif
#define KAON_PRODUCT_KERNELS /* lib/cuda/reduction/reduce.h */

#include "dslash/cuda/choose.h"
#include "lib/core/kernel.h"
#include "lib/cuda/memory/access.h"
#include "lib/cuda/queue/dependent.h"
#include "lib/cuda/memory/neighbours.h"
#include "lib/cuda/reduction/quantise.h"
#include "lib/cuda/reduction/reduce.h"
#include "lib/math/clover.h"

/* A complex number of a link as stored. BESIDE, in half: the conversion unit converts it, at 16
 * values a clock. Else two instructions of the floating-point pipeline do. */
template <bool BESIDE>
KAON_DEVICE vcomplex number_load(const stored *p) {
#if KAON_IS_HALF
  if constexpr (BESIDE) return c_load_beside(p);
#endif
  return c_load(p);
}

/* A site's object is COUNT packets, each GROUP components of one lane. Within its unit (a column, a
 * matrix) of a block, packet g of lane l has index g * KAON_LANES + l. Packet indices are cheaper
 * than addresses. They stay below 2^32: larger fields are refused when they are created
 * (kaon_field_check), and the links of one direction cannot be so large (lib/grid/lattice.c). */
template <int NCOMP>
struct packets {
  static constexpr int group = kaon_group<stored, NCOMP>();
  static constexpr int count = NCOMP / group;
  static constexpr int bytes = group * (int)sizeof(stored);
};

/* Index of a site's first packet in a field of `units` columns, counted from the first column. */
template <int NCOMP>
KAON_DEVICE uint32_t packet_at(uint32_t site, int units) {
  return site + site / KAON_LANES * (uint32_t)(KAON_LANES * (packets<NCOMP>::count * units - 1));
}

template <int NCOMP>
KAON_DEVICE const char *packet_address(const void *base, uint32_t packet) {
  return (const char *)base + (uint64_t)packet * packets<NCOMP>::bytes;
}

/* View of one column of a spinor field, from which packets and scales are indexed. */
KAON_DEVICE kaon_view column_view(const kaon_view &v, int column) {
  kaon_view c;
  c.data = (stored *)v.data + (int64_t)column * (24 * KAON_LANES);
  c.scale = KAON_IS_HALF ? v.scale + column * KAON_LANES : NULL;
  return c;
}

/* Index of a site's scale: like a packet of one value. */
KAON_DEVICE uint32_t scale_at(uint32_t site, int units) {
  return site + site / KAON_LANES * (uint32_t)(KAON_LANES * (units - 1));
}

/* ---- packets that bypass the caches ---- */

template <int BYTES>
struct __align__(BYTES) words {
  uint32_t w[BYTES / 4];
};

/* For data that only one thread reads, once: not stored in the first-level cache. Volatile, so that
 * it stays after kaon_wait_for_previous. */
template <int BYTES>
KAON_DEVICE words<BYTES> read_once(const void *p) {
  words<BYTES> x;
  if constexpr (BYTES == 16)
    asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0,%1,%2,%3}, [%4];"
                 : "=r"(x.w[0]), "=r"(x.w[1]), "=r"(x.w[2]), "=r"(x.w[3])
                 : "l"(p));
  else if constexpr (BYTES == 8)
    asm volatile("ld.global.nc.L1::no_allocate.v2.u32 {%0,%1}, [%2];"
                 : "=r"(x.w[0]), "=r"(x.w[1])
                 : "l"(p));
  else
    asm volatile("ld.global.nc.L1::no_allocate.u32 %0, [%1];" : "=r"(x.w[0]) : "l"(p));
  return x;
}

/* For data that other warps of the block read too, and that no kernel part writes. Also
 * volatile. */
template <int BYTES>
KAON_DEVICE words<BYTES> read_shared(const void *p) {
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

/* The same if `wanted`; else *x is unchanged. It has no branch, so that later loads need not
 * wait. */
template <int BYTES>
KAON_DEVICE void read_once_if(bool wanted, const void *p, words<BYTES> *x) {
  if constexpr (BYTES == 16)
    asm volatile(
        "{.reg .pred w; setp.ne.s32 w, %5, 0;"
        "@w ld.global.nc.L1::no_allocate.v4.u32 {%0,%1,%2,%3}, [%4];}"
        : "+r"(x->w[0]), "+r"(x->w[1]), "+r"(x->w[2]), "+r"(x->w[3])
        : "l"(p), "r"((int)wanted));
  else if constexpr (BYTES == 8)
    asm volatile(
        "{.reg .pred w; setp.ne.s32 w, %3, 0;"
        "@w ld.global.nc.L1::no_allocate.v2.u32 {%0,%1}, [%2];}"
        : "+r"(x->w[0]), "+r"(x->w[1])
        : "l"(p), "r"((int)wanted));
  else
    asm volatile(
        "{.reg .pred w; setp.ne.s32 w, %2, 0;"
        "@w ld.global.nc.L1::no_allocate.u32 %0, [%1];}"
        : "+r"(x->w[0])
        : "l"(p), "r"((int)wanted));
}

/* For spinors, which neighbours read too. It is a plain load, since the kernel may write to x. */
template <int BYTES>
KAON_DEVICE words<BYTES> read_cached(const void *p) {
  return *(const words<BYTES> *)p;
}

/* Loads COUNT packets of a site's object of NCOMP components, from packet BEGIN on, to value[BEGIN
 * * group] and after. ONCE: for data used once, links and clover blocks. */
template <int NCOMP, bool ONCE, int BEGIN, int COUNT>
KAON_DEVICE void packets_read_some(const char *first, stored *value) {
  typedef packets<NCOMP> p;
#pragma unroll
  for (int g = BEGIN; g < BEGIN + COUNT; g++) {
    const char *from = first + g * (KAON_LANES * p::bytes);
    const words<p::bytes> x = ONCE ? read_once<p::bytes>(from) : read_cached<p::bytes>(from);
    memcpy(value + g * p::group, &x, p::bytes);
  }
}

template <int NCOMP, bool ONCE>
KAON_DEVICE void packets_read(const char *first, stored *value) {
  packets_read_some<NCOMP, ONCE, 0, packets<NCOMP>::count>(first, value);
}

/* Loads an object if wanted; else `value` is unchanged. */
template <int NCOMP>
KAON_DEVICE void packets_read_if(bool wanted, const char *first, stored *value) {
  typedef packets<NCOMP> p;
#pragma unroll
  for (int g = 0; g < p::count; g++) {
    words<p::bytes> x;
    memcpy(&x, value + g * p::group, p::bytes);
    read_once_if<p::bytes>(wanted, first + g * (KAON_LANES * p::bytes), &x);
    memcpy(value + g * p::group, &x, p::bytes);
  }
}

template <int NCOMP, int BEGIN, int COUNT>
KAON_DEVICE void packets_stream(char *first, const stored *value) {
  typedef packets<NCOMP> p;
  static_assert(p::bytes == 16, "spinors come in full packets");
#pragma unroll
  for (int g = BEGIN; g < BEGIN + COUNT; g++) {
    words<16> x;
    memcpy(&x, value + g * p::group, 16);
    __stcs((uint4 *)(first + g * (KAON_LANES * 16)), make_uint4(x.w[0], x.w[1], x.w[2], x.w[3]));
  }
}

/* ---- a site's objects; views are those of a column, `units` columns apart ---- */

/* A spinor as stored, and the unit of its integers (half). */
typedef struct raw_spinor {
  stored c[24];
  real unit;
} raw_spinor;

/* Whether a spinor can be read and written with its halves exchanged, which is a multiplication by
 * gamma_5, by addresses alone. In half the two halves share a packet. With exchange D^dagger =
 * gamma_5 D gamma_5 needs no code of its own (lib/math/spin.h), and clover blocks commute with
 * gamma_5. */
enum { EXCHANGES = !KAON_IS_HALF, SPINOR_HALF = packets<24>::count / 2 };

/* The argument `exchange` of the functions below. */
static int exchange_of(int dagger) {
  return EXCHANGES && dagger ? SPINOR_HALF * KAON_LANES * packets<24>::bytes : 0;
}

/* exchange: 0, or the distance between the halves to exchange. */
KAON_DEVICE void raw_load(const kaon_view &v, uint32_t site, int units, raw_spinor *psi,
                          int exchange = 0) {
  const uint32_t packet = packet_at<24>(site, units);
#if KAON_IS_HALF
  (void)exchange;
  packets_read<24, false>(packet_address<24>(v.data, packet), psi->c);
#else
  const char *base = (const char *)v.data;
  packets_read_some<24, false, 0, SPINOR_HALF>(packet_address<24>(base + exchange, packet), psi->c);
  packets_read_some<24, false, SPINOR_HALF, SPINOR_HALF>(
      packet_address<24>(base - exchange, packet), psi->c);
#endif
#if KAON_IS_HALF
  psi->unit = kaon_half_unit(v.scale[scale_at(site, units)]);
#else
  psi->unit = 1;
#endif
}

KAON_DEVICE void spinor_load(const kaon_view &v, uint32_t site, int units, vspinor *d,
                             int exchange = 0) {
  raw_spinor psi;
  raw_load(v, site, units, &psi, exchange);
#pragma unroll
  for (int i = 0; i < 12; i++) {
    const vcomplex z = half_load(psi.c + i / 6 * 12, i / 3 % 2, i % 3);
    d->s[i / 3][i % 3] = KAON_IS_HALF ? c_scale(z, psi.unit) : z;
  }
}

/* Stores d; half: rounds it. */
KAON_DEVICE void spinor_store(const kaon_view &v, uint32_t site, int units, vspinor *d,
                              int exchange = 0) {
  real *value = (real *)d;
  char *to = (char *)packet_address<24>(v.data, packet_at<24>(site, units));
#if KAON_IS_HALF
  (void)exchange;
  stored q[24];
  v.scale[scale_at(site, units)] = quantise_site<24, true>(value, q);
  packets_stream<24, 0, packets<24>::count>(to, q);
#else
  packets_stream<24, 0, SPINOR_HALF>(to + exchange, value);
  packets_stream<24, SPINOR_HALF, SPINOR_HALF>(to - exchange, value);
#endif
}

/* d = 2 C d, one chirality at a time, so that at most 40 reals of the blocks are in registers. (In
 * half the two blocks share a packet.) */
KAON_DEVICE void site_clover(const void *blocks, const float *scales, uint32_t site, vspinor *d) {
  constexpr int count = packets<KAON_CLOVER_REALS>::count, before = (count + 1) / 2;
  const char *first =
      packet_address<KAON_CLOVER_REALS>(blocks, packet_at<KAON_CLOVER_REALS>(site, 1));
  stored both[KAON_CLOVER_REALS];
  vchiral plus, minus;
  packets_read_some<KAON_CLOVER_REALS, true, 0, before>(first, both);
  clover_chirality(both, 1, d, &plus);
  packets_read_some<KAON_CLOVER_REALS, true, before, count - before>(first, both);
  clover_chirality(both + KAON_CLOVER_BLOCK, -1, d, &minus);
#if KAON_IS_HALF
  const float *scale = scales + (uint64_t)site * 2;
  const vreal unit[2] = {kaon_half_unit(scale[0]), kaon_half_unit(scale[1])};
#pragma unroll
  for (int i = 0; i < 6; i++) {
    plus.c[i] = c_scale(plus.c[i], unit[0]);
    minus.c[i] = c_scale(minus.c[i], unit[1]);
  }
#else
  (void)scales;
#endif
  clover_join(&plus, &minus, d);
}

/* ---- sums ---- */

/* A thread's |out|^2 and (w, out) of a column. They are held in shared memory, since the hop needs
 * the registers. */
enum { SITE_SUMS = 3 };
typedef double site_room[SITE_SUMS][SITE_THREADS];

KAON_DEVICE void site_sums_begin(const kaon_cuda_sums &s, site_room &room) {
  if (s.sum.state == NULL) return;
#pragma unroll
  for (int i = 0; i < SITE_SUMS; i++) room[i][threadIdx.x] = 0;
}

/* Adds this site's part. */
KAON_DEVICE void site_sums(const kaon_cuda_sums &s, const kaon_view &w, uint32_t site, int units,
                           const vspinor *d, site_room &room, int exchange = 0) {
  if (s.sum.state == NULL) return;
  if (sums_want(s, 0)) room[0][threadIdx.x] += (double)spinor_norm2(d);
  if (w.data == NULL || !sums_want(s, 1)) return;
  vspinor other;
  spinor_load(w, site, units, &other, exchange);
  const vcomplex dot = spinor_dot(&other, d);
  room[1][threadIdx.x] += (double)dot.re;
  room[2][threadIdx.x] += (double)dot.im;
}

KAON_DEVICE void site_sums_finish(const kaon_cuda_sums &s, int column, int chunk,
                                  const site_room &room) {
  const double sum[4] = {room[0][threadIdx.x], 0, room[1][threadIdx.x], room[2][threadIdx.x]};
  sums_finish<2, 8, true, false>(s, column, chunk, sum);
}

/* The block index, read anew, so that values computed from it need not stay in registers. */
KAON_DEVICE int block_index_of(void) {
  int n;
  asm volatile("mov.u32 %0, %%ctaid.x;" : "=r"(n));
  return n;
}

/* Only |out|^2, by sequence tags, for threads with at most one site (norm: 0 for a thread without
 * one). */
KAON_DEVICE void site_norm_finish(const kaon_cuda_sums &s, int column, int chunk, real norm) {
  const double sum[2] = {(double)norm, 0};
  sums_finish_marked<1, 8, true, false>(s, column, chunk, sum);
}

/* Whether the next kernel's blocks may start while the last ones of this kernel run. This pays off
 * if those are a considerable part of all blocks. */
static inline int site_overlaps(uint32_t nsites) {
  return nsites <= (1u << 20);
}

/* Blocks of a column: one thread for each site, unless the sums do not have the space. One block if
 * there are no sites, since the completion of the sums waits for it. */
static inline int site_chunks(uint32_t nsites, int threads, int wants_sum) {
  const int64_t all = nsites > 0 ? ((int64_t)nsites + threads - 1) / threads : 1;
  const int64_t room = (int64_t)KAON_REDUCE_CHUNKS * KAON_REDUCE_MAX / 4;
  return (int)(wants_sum && all > room ? room : all);
}
