/* site.h - what the GPU's Dirac kernels share: a site's spinor, link and clover block between
 * memory and registers, and its sums. A thread works on one site of the updated parity; lanes are
 * consecutive checkerboard sites (lib/vector/layout.h), so neighbours are computed, not looked up
 * (lib/cuda/memory/neighbours.h). Links pass the first-level cache by and results are streamed, so that
 * what caches hold is spinors. */
#ifndef KAON_DSLASH_CUDA_SITE_H
#define KAON_DSLASH_CUDA_SITE_H

#if defined(KAON_LIB_CUDA_REDUCE_H)
#error "lib/cuda/reduction/reduce.h comes by way of this file"
#endif
#define KAON_PRODUCT_KERNELS /* lib/cuda/reduction/reduce.h */

#include "lib/core/kernel.h"
#include "lib/cuda/memory/access.h"
#include "lib/cuda/queue/dependent.h"
#include "lib/cuda/memory/neighbours.h"
#include "lib/cuda/reduction/quantise.h"
#include "lib/cuda/reduction/reduce.h"
#include "lib/math/clover.h"

/* A complex number of a link as it is stored. BESIDE, in half: by the conversion unit, in place of
 * two instructions in those that also multiply and add; it makes 16 a clock. */
template <bool BESIDE>
static __device__ __forceinline__ vcomplex number_load(const stored *p) {
#if KAON_HALF
  if constexpr (BESIDE) return c_load_beside(p);
#endif
  return c_load(p);
}

/* Of a block at most: smaller ones than KAON_THREADS balance better, as these kernels hold many
 * registers. */
enum { SITE_THREADS = 128 };

/* Objects of a site come in packets, COUNT of them, of a lane's GROUP components; a block's packet
 * g of lane l is number g * KAON_LANES + l of its unit (a column, a matrix). Numbers of packets are
 * cheaper than addresses. They stay below 2^32: larger fields are refused when they are made
 * (kaon_field_check), and links of one direction cannot be so large (lib/grid/lattice.c). */
template <int NCOMP>
struct packets {
  static constexpr int group = kaon_group<stored, NCOMP>();
  static constexpr int count = NCOMP / group;
  static constexpr int bytes = group * (int)sizeof(stored);
};

/* Of a site's first packet, in a field of `units` columns, counted from the first column. */
template <int NCOMP>
static __device__ __forceinline__ uint32_t packet_at(uint32_t site, int units) {
  return site + site / KAON_LANES * (uint32_t)(KAON_LANES * (packets<NCOMP>::count * units - 1));
}

template <int NCOMP>
static __device__ __forceinline__ const char *packet_address(const void *base, uint32_t packet) {
  return (const char *)base + (uint64_t)packet * packets<NCOMP>::bytes;
}

/* The view of one column of a spinor field: what its first column's packets and scales count from.
 */
static __device__ __forceinline__ kaon_view column_view(const kaon_view &v, int column) {
  kaon_view c;
  c.data = (stored *)v.data + (int64_t)column * (24 * KAON_LANES);
  c.scale = KAON_HALF ? v.scale + column * KAON_LANES : NULL;
  return c;
}

/* A site's scale: as a packet of one number. */
static __device__ __forceinline__ uint32_t scale_at(uint32_t site, int units) {
  return site + site / KAON_LANES * (uint32_t)(KAON_LANES * (units - 1));
}

/* ---- packets past the caches ---- */

template <int BYTES>
struct __align__(BYTES) words {
  uint32_t w[BYTES / 4];
};

/* What one thread alone reads, once: not kept in the first-level cache. Volatile, so that it stays
 * behind kaon_wait_for_previous. */
template <int BYTES>
static __device__ __forceinline__ words<BYTES> read_once(const void *p) {
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

/* What other warps of the block read, too, and nothing writes. Volatile likewise. */
template <int BYTES>
static __device__ __forceinline__ words<BYTES> read_shared(const void *p) {
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

/* The same where `wanted`; else *x stays: no branch, so that the loads after it need not wait. */
template <int BYTES>
static __device__ __forceinline__ void read_once_if(bool wanted, const void *p, words<BYTES> *x) {
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

/* Spinors: neighbours read them too. A plain load, since x may be what the kernel writes. */
template <int BYTES>
static __device__ __forceinline__ words<BYTES> read_cached(const void *p) {
  return *(const words<BYTES> *)p;
}

/* COUNT packets of a site's object of NCOMP components, from packet BEGIN on, to value[BEGIN *
 * group] and after; ONCE for what is used once, links and clover blocks. */
template <int NCOMP, bool ONCE, int BEGIN, int COUNT>
static __device__ __forceinline__ void packets_read_some(const char *first, stored *value) {
  typedef packets<NCOMP> p;
#pragma unroll
  for (int g = BEGIN; g < BEGIN + COUNT; g++) {
    const char *from = first + g * (KAON_LANES * p::bytes);
    const words<p::bytes> x = ONCE ? read_once<p::bytes>(from) : read_cached<p::bytes>(from);
    memcpy(value + g * p::group, &x, p::bytes);
  }
}

template <int NCOMP, bool ONCE>
static __device__ __forceinline__ void packets_read(const char *first, stored *value) {
  packets_read_some<NCOMP, ONCE, 0, packets<NCOMP>::count>(first, value);
}

/* An object of which `value` holds what it is where not wanted. */
template <int NCOMP>
static __device__ __forceinline__ void packets_read_if(bool wanted, const char *first,
                                                       stored *value) {
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
static __device__ __forceinline__ void packets_stream(char *first, const stored *value) {
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

/* A spinor as it stands in memory, and what its integers are worth (half). */
typedef struct raw_spinor {
  stored c[24];
  real unit;
} raw_spinor;

/* Whether a spinor can be read and written with its halves exchanged, gamma_5 times it, by
 * addresses alone: in half they meet in the middle of a packet. Then D^dagger = gamma_5 D gamma_5
 * needs no code of its own (lib/math/spin.h), and clover blocks go with gamma_5. */
enum { EXCHANGES = !KAON_HALF, SPINOR_HALF = packets<24>::count / 2 };

/* `exchange` of what follows. */
static int exchange_of(int dagger) {
  return EXCHANGES && dagger ? SPINOR_HALF * KAON_LANES * packets<24>::bytes : 0;
}

/* exchange: 0, or how far apart the halves are that are to change places. */
static __device__ __forceinline__ void raw_load(const kaon_view &v, uint32_t site, int units,
                                                raw_spinor *psi, int exchange = 0) {
  const uint32_t packet = packet_at<24>(site, units);
#if KAON_HALF
  (void)exchange;
  packets_read<24, false>(packet_address<24>(v.data, packet), psi->c);
#else
  const char *base = (const char *)v.data;
  packets_read_some<24, false, 0, SPINOR_HALF>(packet_address<24>(base + exchange, packet), psi->c);
  packets_read_some<24, false, SPINOR_HALF, SPINOR_HALF>(
      packet_address<24>(base - exchange, packet), psi->c);
#endif
#if KAON_HALF
  psi->unit = kaon_half_unit(v.scale[scale_at(site, units)]);
#else
  psi->unit = 1;
#endif
}

static __device__ __forceinline__ void spinor_load(const kaon_view &v, uint32_t site, int units,
                                                   vspinor *d, int exchange = 0) {
  raw_spinor psi;
  raw_load(v, site, units, &psi, exchange);
#pragma unroll
  for (int i = 0; i < 12; i++) {
    const vcomplex z = half_load(psi.c + i / 6 * 12, i / 3 % 2, i % 3);
    d->s[i / 3][i % 3] = KAON_HALF ? c_scale(z, psi.unit) : z;
  }
}

/* Stores d; half: rounds it. */
static __device__ __forceinline__ void spinor_store(const kaon_view &v, uint32_t site, int units,
                                                    vspinor *d, int exchange = 0) {
  real *value = (real *)d;
  char *to = (char *)packet_address<24>(v.data, packet_at<24>(site, units));
#if KAON_HALF
  (void)exchange;
  stored q[24];
  v.scale[scale_at(site, units)] = quantise_site<24, true>(value, q);
  packets_stream<24, 0, packets<24>::count>(to, q);
#else
  packets_stream<24, 0, SPINOR_HALF>(to + exchange, value);
  packets_stream<24, SPINOR_HALF, SPINOR_HALF>(to - exchange, value);
#endif
}

/* d = 2 C d, a chirality at a time: no more than 40 reals of the blocks in registers. (In half the
 * blocks meet in the middle of a packet.) */
static __device__ __forceinline__ void site_clover(const void *blocks, const float *scales,
                                                   uint32_t site, vspinor *d) {
  constexpr int count = packets<KAON_CLOVER_REALS>::count, before = (count + 1) / 2;
  const char *first =
      packet_address<KAON_CLOVER_REALS>(blocks, packet_at<KAON_CLOVER_REALS>(site, 1));
  stored both[KAON_CLOVER_REALS];
  vchiral plus, minus;
  packets_read_some<KAON_CLOVER_REALS, true, 0, before>(first, both);
  clover_chirality(both, 1, d, &plus);
  packets_read_some<KAON_CLOVER_REALS, true, before, count - before>(first, both);
  clover_chirality(both + KAON_CLOVER_BLOCK, -1, d, &minus);
#if KAON_HALF
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

/* A thread's |out|^2 and (w, out) of a column. They wait in shared memory: in registers they would
 * be in the way of the hop. */
enum { SITE_SUMS = 3 };
typedef double site_room[SITE_SUMS][SITE_THREADS];

static __device__ __forceinline__ void site_sums_begin(const kaon_cuda_sums &s, site_room &room) {
  if (s.sum.state == NULL) return;
#pragma unroll
  for (int i = 0; i < SITE_SUMS; i++) room[i][threadIdx.x] = 0;
}

/* Adds this site's part. */
static __device__ __forceinline__ void site_sums(const kaon_cuda_sums &s, const kaon_view &w,
                                                 uint32_t site, int units, const vspinor *d,
                                                 site_room &room, int exchange = 0) {
  if (s.sum.state == NULL) return;
  if (sums_want(s, 0)) room[0][threadIdx.x] += (double)spinor_norm2(d);
  if (w.data == NULL || !sums_want(s, 1)) return;
  vspinor other;
  spinor_load(w, site, units, &other, exchange);
  const vcomplex dot = spinor_dot(&other, d);
  room[1][threadIdx.x] += (double)dot.re;
  room[2][threadIdx.x] += (double)dot.im;
}

static __device__ __forceinline__ void site_sums_finish(const kaon_cuda_sums &s, int column,
                                                        int chunk, const site_room &room) {
  const double sum[4] = {room[0][threadIdx.x], 0, room[1][threadIdx.x], room[2][threadIdx.x]};
  sums_finish<2, 8, true, false>(s, column, chunk, sum);
}

/* The block's number, read anew: what is worked out from it need not be kept meanwhile. */
static __device__ __forceinline__ int block_index_of(void) {
  int n;
  asm volatile("mov.u32 %0, %%ctaid.x;" : "=r"(n));
  return n;
}

/* |out|^2 alone, of threads that have a site at most (norm: 0 where there is none), by marks. */
static __device__ __forceinline__ void site_norm_finish(const kaon_cuda_sums &s, int column,
                                                        int chunk, real norm) {
  const double sum[2] = {(double)norm, 0};
  sums_finish_marked<1, 8, true, false>(s, column, chunk, sum);
}

/* Threads of a block: smaller ones where the lattice has too few sites to fill the device twice. */
static inline int site_threads(uint32_t nsites) {
  return nsites >= (1u << 17) ? SITE_THREADS : SITE_THREADS / 2;
}

/* Whether the next kernel's blocks may come in while the last ones of this one are at work: worth
 * it where those are a part of all that counts. */
static inline int site_overlaps(uint32_t nsites) {
  return nsites <= (1u << 20);
}

/* Blocks of a column: every site its own thread, unless the sums would not find room. One where
 * there is no site: who waits for sums waits for it. */
static inline int site_chunks(uint32_t nsites, int threads, int wants_sum) {
  const int64_t all = nsites > 0 ? ((int64_t)nsites + threads - 1) / threads : 1;
  const int64_t room = (int64_t)KAON_REDUCE_CHUNKS * KAON_REDUCE_MAX / 4;
  return (int)(wants_sum && all > room ? room : all);
}

#endif
