/* hop_few.cu - hop and clover blocks on lattices of few sites, where a thread a site leaves most of
 * the device idle and every thread waits for its own loads, one after another. Here a block works
 * on 32 sites, a warp on one direction of each, all at once; the half spinors that links have been
 * applied to meet in shared memory, where threads add them up by colour and half, then share the
 * clover blocks' rows, then the result's packets. The order of every sum is that of hop_kernel.h
 * and site.h, so fields have the same bits; sums over sites are added up in another order.
 *
 * A launch of this size takes as long as its way through memory. So links and clover blocks, which
 * no kernel before changes (kaon_launch.early), are read before the wait for the previous kernel,
 * and all that remains is asked for at once behind it, the gate too. */
#include "dslash/cuda/hop_kernel.h"

enum {
  DIRECTIONS = 8,
  FEW_THREADS = DIRECTIONS * KAON_LANES,
  PACKETS = packets<24>::count,
  GROUP = packets<24>::group,
  HELD = (PACKETS + DIRECTIONS - 1) / DIRECTIONS, /* packets of a spinor that a thread holds */
  ROWS = 3,                                       /* threads that share a chirality's block */
  BLOCK_BYTES = KAON_CLOVER_REALS * KAON_LANES * (int)sizeof(stored)
};

/* What threads of a block leave for each other. Numbers of half a spinor: [colour][spin][re, im].
 * `part`: what directions x, y, z add, in the order in which they are added; later the two
 * chiralities. `half`: upper and lower half of the result; t fills one each. */
typedef struct few_room {
  real part[6][12][KAON_LANES];
  real half[2][12][KAON_LANES];
  __align__(16) char blocks[BLOCK_BYTES];
#if KAON_HALF
  float factor[6][KAON_LANES]; /* of a part */
  float largest[PACKETS][KAON_LANES];
#endif
} few_room;

typedef struct few_call {
  hop_call h;
  int early; /* links and clover blocks may be read before the previous kernel has ended */
} few_call;

/* A thread's packets of a spinor, and the spinor's scale. */
typedef struct few_held {
  words<16> x[HELD];
  float x_scale;
} few_held;

template <int BYTES>
static __device__ __forceinline__ words<BYTES> read_now(const void *p) {
  static_assert(BYTES == 16, "spinors come in full packets");
  words<16> x;
  asm volatile("ld.global.v4.u32 {%0,%1,%2,%3}, [%4];"
               : "=r"(x.w[0]), "=r"(x.w[1]), "=r"(x.w[2]), "=r"(x.w[3])
               : "l"(p));
  return x;
}

static __device__ __forceinline__ float read_float_now(const float *p) {
  float x;
  asm volatile("ld.global.f32 %0, [%1];" : "=f"(x) : "l"(p));
  return x;
}

static __device__ __forceinline__ int read_gate_now(const kaon_gate &gate, int column) {
  int x = KAON_GATE_ANY;
  if (gate.state != NULL)
    asm volatile("ld.global.u32 %0, [%1];" : "=r"(x) : "l"(&gate.state[column].gate));
  return x;
}

static __device__ __forceinline__ void held_read(const kaon_view &v, uint32_t site, int units,
                                                 few_held *held) {
  const char *first = packet_address<24>(v.data, packet_at<24>(site, units));
#pragma unroll
  for (int i = 0; i < HELD; i++) {
    const int g = (int)threadIdx.x / KAON_LANES + i * DIRECTIONS;
    if (g < PACKETS) held->x[i] = read_now<16>(first + g * (KAON_LANES * 16));
  }
  if (KAON_HALF) held->x_scale = read_float_now(v.scale + scale_at(site, units));
}

/* The GROUP / 2 complex numbers of a packet. */
static __device__ __forceinline__ void packet_numbers(const words<16> &x, float scale,
                                                      vcomplex *z) {
  stored c[GROUP];
  memcpy(c, &x, 16);
  const real unit = KAON_HALF ? (real)kaon_half_unit(scale) : (real)1;
#pragma unroll
  for (int i = 0; i < GROUP / 2; i++) {
    z[i] = c_load(c + 2 * i);
    if (KAON_HALF) z[i] = c_scale(z[i], unit);
  }
}

/* Where number `pair` = spin * 3 + colour of a spinor stands in a half. */
static __device__ __forceinline__ int in_half(int pair) {
  return pair % 3 * 4 + pair / 3 % 2 * 2;
}

/* The sites' clover blocks set out for shared memory, as they stand in memory. */
static __device__ __forceinline__ void blocks_fetch(const void *clover, int chunk, few_room &room) {
  const char *from = (const char *)clover + (int64_t)chunk * BLOCK_BYTES;
  const uint32_t to = (uint32_t)__cvta_generic_to_shared(room.blocks);
#pragma unroll
  for (int i = threadIdx.x * 16; i < BLOCK_BYTES; i += FEW_THREADS * 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to + i), "l"(from + i)
                 : "memory");
}

static __device__ __forceinline__ void blocks_arrive(void) {
  asm volatile("cp.async.wait_all;" ::: "memory");
}

/* ---- the directions ---- */

typedef struct few_site {
  int column, chunk, warp, lane;
  uint32_t at; /* the site, or the last one where there is none */
  bool is_site;
} few_site;

static __device__ __forceinline__ few_site few_site_of(uint32_t nsites, unsigned columns) {
  few_site e;
  e.column = columns == 1 ? 0 : (int)(blockIdx.x % columns);
  e.chunk = (int)(columns == 1 ? blockIdx.x : blockIdx.x / columns);
  e.warp = (int)threadIdx.x / KAON_LANES;
  e.lane = (int)threadIdx.x % KAON_LANES;
  const uint32_t site = (uint32_t)e.chunk * KAON_LANES + (uint32_t)e.lane;
  e.is_site = site < nsites;
  e.at = e.is_site ? site : nsites - 1;
  return e;
}

static __device__ __forceinline__ void half_leave(real (*to)[KAON_LANES], int lane, int c,
                                                  const vpair &g) {
#pragma unroll
  for (int i = 0; i < 2; i++) {
    to[4 * c + 2 * i][lane] = g.s[i].re;
    to[4 * c + 2 * i + 1][lane] = g.s[i].im;
  }
}

/* The hop from direction DIR to `here`, into the room; false where the column is closed. */
template <int RECON, int DIR, int SIGN>
static __device__ __forceinline__ bool few_direction(const hop_call &a, const kaon_here &here,
                                                     const few_site &e, few_room &room,
                                                     few_held *held) {
  constexpr int mu = DIR & 3, s = (DIR < 4 ? 1 : -1) * SIGN;
  constexpr int slot = mu == 3 ? 0 : (2 - mu) * 2 + (DIR >= 4);
  int sign;
  const uint32_t from = (uint32_t)kaon_neighbour_of(&a.sites, &here, DIR, &sign);
  const uint32_t packet = packet_at<RECON>(DIR < 4 ? (uint32_t)here.at : from, 1);
  const char *first = packet_address<RECON>(a.links[DIR], packet);
  stored raw[RECON];
  if constexpr (mu == 3) {
    const bool edge = here.t == (DIR < 4 ? a.sites.extents[3] - 1 : 0);
    link_unit<RECON>(raw);
    packets_read_if<RECON>(!a.temporal || edge, first, raw);
  } else {
    packets_read<RECON, true>(first, raw);
  }

  kaon_wait_for_previous();
  const int gate = read_gate_now(a.sums.gate, e.column);
  raw_spinor psi;
  const kaon_view in = column_view(a.in, e.column);
  const char *spinor = packet_address<24>(in.data, packet_at<24>(from, a.nrhs));
#pragma unroll
  for (int g = 0; g < PACKETS; g++) {
    if (mu == 3 && (s > 0 ? (g + 1) * GROUP <= 12 : g * GROUP >= 12)) continue; /* dropped half */
    const words<16> x = read_now<16>(spinor + g * (KAON_LANES * 16));
    memcpy(psi.c + g * GROUP, &x, 16);
  }
  psi.unit = KAON_HALF ? (real)kaon_half_unit(read_float_now(in.scale + scale_at(from, a.nrhs)))
                       : (real)1;
  if (a.x.data != NULL) held_read(column_view(a.x, e.column), e.at, a.nrhs, held);
  kaon_let_next_start();
  if ((gate & a.sums.gate.mask) == 0) return false;

  real u[18];
  vhalf h;
  link_numbers<RECON>(raw, u);
  spin_project(mu, s, psi.c, psi.c + 12, &h);
  if constexpr (row2_owes<RECON>() && DIR >= 4)
    for (int i = 0; i < 2; i++) h.s[i][2] = c_scale(h.s[i][2], KAON_HALF_STEP);
  const real factor = mu == 3 && sign < 0 ? -a.factor[mu] : a.factor[mu];
  const real f = KAON_HALF ? factor * psi.unit : factor;
#if KAON_HALF
  if (mu < 3) room.factor[slot][e.lane] = f;
#endif
#pragma unroll
  for (int c = 0; c < 3; c++) {
    vpair g = link_times_half(u, KAON_LINK_BUFFER, DIR >= 4, c, &h);
    if constexpr (mu == 3) {
      constexpr int which = s > 0 ? 2 : 0;
      const real fc = c == 2 && row2_owes<RECON>() && DIR < 4 ? f * KAON_HALF_STEP : f;
      vspinor d;
      spin_accumulate_scaled(mu, s, fc, g, c, &d);
      for (int i = 0; i < 2; i++) g.s[i] = d.s[which + i][c];
      half_leave(room.half[which / 2], e.lane, c, g);
    } else {
      half_leave(room.part[slot], e.lane, c, g);
    }
  }
  return true;
}

template <int RECON, int SIGN>
static __device__ __forceinline__ bool few_directions(const hop_call &a, const kaon_here &here,
                                                      const few_site &e, few_room &room,
                                                      few_held *held) {
#define DIRECTION(dir) \
  case dir: return few_direction<RECON, dir, SIGN>(a, here, e, room, held);
  switch (e.warp) {
    DIRECTION(0)
    DIRECTION(1)
    DIRECTION(2)
    DIRECTION(3)
    DIRECTION(4)
    DIRECTION(5)
    DIRECTION(6)
    default: return few_direction<RECON, 7, SIGN>(a, here, e, room, held);
  }
#undef DIRECTION
}

/* Adds part SLOT to colour c of the result's half LOWER, which stands in d->s[][0]. */
template <int RECON, int SLOT, int SIGN>
static __device__ __forceinline__ void add_part(const hop_call &a, int lane, int c,
                                                const few_room &room, vspinor *d) {
  constexpr int mu = 2 - SLOT / 2, forward = SLOT % 2 == 0, s = (forward ? 1 : -1) * SIGN;
  const real(*g)[KAON_LANES] = room.part[SLOT] + 4 * c;
  vpair pair;
  for (int i = 0; i < 2; i++) pair.s[i] = c_make(g[2 * i][lane], g[2 * i + 1][lane]);
#if KAON_HALF
  const real whole = room.factor[SLOT][lane];
  const real f = c == 2 && row2_owes<RECON>() && forward ? whole * KAON_HALF_STEP : whole;
#else
  const real f = a.factor[mu];
#endif
  spin_accumulate_scaled(mu, s, f, pair, 0, d);
}

template <int RECON, int LOWER, int SIGN>
static __device__ __forceinline__ void add_parts(const hop_call &a, int lane, int c,
                                                 few_room &room) {
  vspinor d;
  real(*half)[KAON_LANES] = room.half[LOWER] + 4 * c;
  vpair sum;
  for (int i = 0; i < 2; i++)
    d.s[2 * LOWER + i][0] = c_make(half[2 * i][lane], half[2 * i + 1][lane]);
  add_part<RECON, 0, SIGN>(a, lane, c, room, &d);
  add_part<RECON, 1, SIGN>(a, lane, c, room, &d);
  add_part<RECON, 2, SIGN>(a, lane, c, room, &d);
  add_part<RECON, 3, SIGN>(a, lane, c, room, &d);
  add_part<RECON, 4, SIGN>(a, lane, c, room, &d);
  add_part<RECON, 5, SIGN>(a, lane, c, room, &d);
  for (int i = 0; i < 2; i++) sum.s[i] = d.s[2 * LOWER + i][0];
  half_leave(room.half[LOWER], lane, c, sum);
}

/* room.half = the sum over directions: six warps, each a colour of a half. */
template <int RECON, int SIGN>
static __device__ __forceinline__ void add_up(const hop_call &a, int warp, int lane,
                                              few_room &room) {
  if (warp < 3)
    add_parts<RECON, 0, SIGN>(a, lane, warp, room);
  else if (warp < 6)
    add_parts<RECON, 1, SIGN>(a, lane, warp - 3, room);
}

/* ---- the clover blocks ---- */

/* Rows ROW and ROW + 3 of chirality Q's block times room.half, to room.part[Q]. */
template <int Q, int ROW>
static __device__ __forceinline__ void few_rows(int lane, float scale, few_room &room) {
  typedef packets<KAON_CLOVER_REALS> p;
  stored both[KAON_CLOVER_REALS];
#pragma unroll
  for (int g = Q * KAON_CLOVER_BLOCK / p::group; g * p::group < (Q + 1) * KAON_CLOVER_BLOCK; g++) {
    const words<p::bytes> x =
        *(const words<p::bytes> *)(room.blocks + (g * KAON_LANES + lane) * p::bytes);
    memcpy(both + g * p::group, &x, p::bytes);
  }
  vspinor d;
#pragma unroll
  for (int pair = 0; pair < 12; pair++) {
    const real(*z)[KAON_LANES] = room.half[pair / 6] + in_half(pair);
    d.s[pair / 3][pair % 3] = c_make(z[0][lane], z[1][lane]);
  }
  vpair out;
  const vchiral in = clover_chiral(&d, Q == 0 ? 1 : -1);
#pragma unroll
  for (int i = 0; i < 2; i++) {
    out.s[i] = clover_one_row(both + Q * KAON_CLOVER_BLOCK, ROW + 3 * i, &in);
    if (KAON_HALF) out.s[i] = c_scale(out.s[i], (real)kaon_half_unit(scale));
  }
  half_leave(room.part[Q], lane, ROW, out);
}

/* room.part[0], [1] = the chiralities of 2 C room.half; warps 0..5; scale: of the warp's block. */
static __device__ __forceinline__ void few_clover(int warp, int lane, float scale,
                                                  few_room &room) {
#define CASE(q, row) \
  case q * ROWS + row: few_rows<q, row>(lane, scale, room); break;
  switch (warp) {
    CASE(0, 0)
    CASE(0, 1)
    CASE(0, 2)
    CASE(1, 0)
    CASE(1, 1)
    CASE(1, 2)
  }
#undef CASE
}

static __device__ __forceinline__ float few_scale(const float *scales, uint32_t site, int warp) {
  if (!KAON_HALF || warp >= 2 * ROWS) return 1;
  return read_float_now(scales + (uint64_t)site * 2 + warp / ROWS);
}

/* ---- the end ---- */

/* Number `pair` of the spinor in the room: from the chiralities where `clover`. */
static __device__ __forceinline__ vcomplex few_number(const few_room &room, int lane, int pair,
                                                      bool clover) {
  const int at = in_half(pair);
  if (!clover) {
    const real(*half)[KAON_LANES] = room.half[pair / 6] + at;
    return c_make(half[0][lane], half[1][lane]);
  }
  const vcomplex p = c_make(room.part[0][at][lane], room.part[0][at + 1][lane]);
  const vcomplex m = c_make(room.part[1][at][lane], room.part[1][at + 1][lane]);
  return pair < 6 ? c_add(p, m) : c_sub(p, m);
}

#if KAON_HALF
/* Writes the site's scale; the factor to its integers. All threads call it. */
static __device__ __forceinline__ float few_scale_out(const few_site &e, const kaon_view &out,
                                                      int units, const vcomplex *d,
                                                      few_room &room) {
  float largest = 0;
  if (e.warp < PACKETS) {
#pragma unroll
    for (int k = 0; k < GROUP / 2; k++)
      largest = quantise_largest(quantise_largest(largest, d[k].re), d[k].im);
    room.largest[e.warp][e.lane] = largest;
  }
  __syncthreads();
#pragma unroll
  for (int g = 0; g < PACKETS; g++) largest = quantise_largest(largest, room.largest[g][e.lane]);
  if (e.is_site && e.warp == PACKETS)
    out.scale[scale_at(e.at, units)] = fmaf(largest, 0.0f, largest);
  return kaon_half_factor(largest);
}
#endif

/* out = a x + b (the spinor in the room), packet by packet, and its part of the sums. All threads
 * call it. */
static __device__ __forceinline__ void few_finish(const hop_call &a, const few_site &e, bool clover,
                                                  const few_held &held, few_room &room,
                                                  double *sum) {
  const double b = clover ? 0.5 * a.b : a.b;
  const real rounded = (real)b, rest = (real)(b - (double)rounded), factor_x = (real)a.a;
  const kaon_view out = column_view(a.out, e.column);
  char *to = (char *)packet_address<24>(out.data, packet_at<24>(e.at, a.nrhs));
  vcomplex d[HELD][GROUP / 2];
#pragma unroll
  for (int i = 0; i < HELD; i++) {
    const int g = e.warp + i * DIRECTIONS;
    vcomplex x[GROUP / 2];
    if (g >= PACKETS) break;
    if (a.x.data != NULL) packet_numbers(held.x[i], held.x_scale, x);
#pragma unroll
    for (int k = 0; k < GROUP / 2; k++) {
      vcomplex z = few_number(room, e.lane, g * (GROUP / 2) + k, clover);
      if (b != 1) z = c_scale_split(z, rounded, rest);
      if (a.x.data != NULL)
        z = c_make(v_fma(factor_x, x[k].re, z.re), v_fma(factor_x, x[k].im, z.im));
      d[i][k] = z;
    }
  }
#if KAON_HALF
  const float to_integer = few_scale_out(e, out, a.nrhs, d[0], room);
#endif
#pragma unroll
  for (int i = 0; i < HELD; i++) {
    const int g = e.warp + i * DIRECTIONS;
    if (g >= PACKETS || !e.is_site) break;
    words<16> word;
#if KAON_HALF
#pragma unroll
    for (int k = 0; k < GROUP / 2; k++)
      word.w[k] = quantise_pair<true>(d[i][k].re, d[i][k].im, to_integer);
#else
    memcpy(&word, d[i], 16);
#endif
    *(words<16> *)(to + g * (KAON_LANES * 16)) = word;
  }
  if (a.sums.sum.state == NULL || !e.is_site) return;
  const bool dots = a.w.data != NULL && sums_want(a.sums, 1);
  few_held w;
  if (dots) held_read(column_view(a.w, e.column), e.at, a.nrhs, &w);
#pragma unroll
  for (int i = 0; i < HELD; i++) {
    vreal re = 0, im = 0;
    vcomplex other[GROUP / 2], dot = c_make(0, 0);
    if (e.warp + i * DIRECTIONS >= PACKETS) break;
    if (dots) packet_numbers(w.x[i], w.x_scale, other);
#pragma unroll
    for (int k = 0; k < GROUP / 2; k++) {
      re = v_fma(d[i][k].re, d[i][k].re, re);
      im = v_fma(d[i][k].im, d[i][k].im, im);
      if (dots) dot = c_conj_fma(other[k], d[i][k], dot);
    }
    sum[0] += (double)(re + im);
    sum[2] += (double)dot.re;
    sum[3] += (double)dot.im;
  }
}

/* ---- the kernels ---- */

template <int RECON>
static __global__ void __launch_bounds__(FEW_THREADS, sizeof(real) == 8 ? 2 : 4)
    hop_few_kernel(const __grid_constant__ few_call call) {
  __shared__ few_room room;
  const hop_call &a = call.h;
  const few_site e = few_site_of((uint32_t)a.sites.nsites, (unsigned)a.nrhs);
  const kaon_here here = kaon_here_of(&a.sites, a.parity, (int32_t)e.at);
  const bool clover = a.clover_on != KAON_CLOVER_NONE;
  few_held held;
  float scale = 1;
  if (!call.early) kaon_wait_for_previous();
  if (clover) {
    blocks_fetch(a.clover, e.chunk, room);
    scale = few_scale(a.clover_scale, e.at, e.warp);
  }
  const bool open = a.dagger ? few_directions<RECON, -1>(a, here, e, room, &held)
                             : few_directions<RECON, 1>(a, here, e, room, &held);
  if (clover) blocks_arrive();
  if (!open) return;
  __syncthreads();
  if (a.dagger)
    add_up<RECON, -1>(a, e.warp, e.lane, room);
  else
    add_up<RECON, 1>(a, e.warp, e.lane, room);
  __syncthreads();
  if (clover) {
    few_clover(e.warp, e.lane, scale, room);
    __syncthreads();
  }
  double sum[4] = {0, 0, 0, 0};
  few_finish(a, e, clover, held, room, sum);
  if (a.sums.sum.state != NULL) sums_finish<2>(a.sums, e.column, e.chunk, sum);
}

/* out = C in: a = 0, b = 1, what stands in the room is `in`. */
static __global__ void __launch_bounds__(FEW_THREADS)
    clover_few_kernel(const __grid_constant__ few_call call) {
  __shared__ few_room room;
  const hop_call &a = call.h;
  const few_site e = few_site_of((uint32_t)a.sites.nsites, (unsigned)a.nrhs);
  few_held held;
  if (!call.early) kaon_wait_for_previous();
  blocks_fetch(a.clover, e.chunk, room);
  const float scale = few_scale(a.clover_scale, e.at, e.warp);
  kaon_wait_for_previous();
  const int gate = read_gate_now(a.sums.gate, e.column);
  held_read(column_view(a.in, e.column), e.at, a.nrhs, &held);
  kaon_let_next_start();
  blocks_arrive();
  if ((gate & a.sums.gate.mask) == 0) return;
#pragma unroll
  for (int i = 0; i < HELD; i++) {
    const int g = e.warp + i * DIRECTIONS;
    vcomplex z[GROUP / 2];
    if (g >= PACKETS) break;
    packet_numbers(held.x[i], held.x_scale, z);
#pragma unroll
    for (int k = 0; k < GROUP / 2; k++) {
      const int pair = g * (GROUP / 2) + k;
      real(*half)[KAON_LANES] = room.half[pair / 6] + in_half(pair);
      half[0][e.lane] = z[k].re;
      half[1][e.lane] = z[k].im;
    }
  }
  __syncthreads();
  few_clover(e.warp, e.lane, scale, room);
  __syncthreads();
  double sum[4] = {0, 0, 0, 0};
  few_finish(a, e, true, held, room, sum);
  if (a.sums.sum.state != NULL) sums_finish<2>(a.sums, e.column, e.chunk, sum);
}

/* By rule, or as kaon tune found. */
static bool is_few(const kaon_launch *launch, int64_t nsites, int columns) {
  const int64_t most = 1 << (sizeof(real) == 8 ? 13 : 15);
  const int64_t room = (int64_t)KAON_REDUCE_CHUNKS * KAON_REDUCE_MAX / 4 * KAON_LANES;
  if (launch->tuned.threads != 0) return launch->tuned.threads == FEW_THREADS && nsites <= room;
  return nsites * columns <= most;
}

static unsigned few_blocks(const kaon_launch *launch, hop_call *a, const kaon_gate *gate,
                           const kaon_sum *sum) {
  const int chunks = (a->sites.nsites + KAON_LANES - 1) / KAON_LANES;
  a->sums = kaon_cuda_sums_of(launch, gate, sum, chunks);
  if (a->w.data == NULL) a->sums.sum.slot[1] = KAON_NO_SLOT;
  return (unsigned)chunks * (unsigned)a->nrhs;
}

extern "C" int KAON_EXPORT(kaon_hop_few)(const kaon_launch *launch, const kaon_hop_args *args) {
  few_call a = {call_of(args), launch->early};
  if (!is_few(launch, args->stencil->nsites, args->nrhs)) return 0;
  if (args->clover_on == KAON_CLOVER_ON_X || (a.h.split && sizeof(real) < 8)) return 0;
  const unsigned blocks = few_blocks(launch, &a.h, &args->gate, &args->sum);
  if (args->recon == 18)
    kaon_cuda_launch(launch, hop_few_kernel<18>, blocks, FEW_THREADS, a);
  else if (args->recon == 12)
    kaon_cuda_launch(launch, hop_few_kernel<12>, blocks, FEW_THREADS, a);
  else
    kaon_cuda_launch(launch, hop_few_kernel<8>, blocks, FEW_THREADS, a);
  return 1;
}

extern "C" int KAON_EXPORT(kaon_clover_few)(const kaon_launch *launch,
                                            const kaon_clover_args *args) {
  few_call a = {};
  if (!is_few(launch, args->stencil->nsites, args->nrhs)) return 0;
  a.early = launch->early;
  a.h.sites.nsites = (int32_t)args->stencil->nsites;
  a.h.nrhs = args->nrhs;
  a.h.clover = args->clover;
  a.h.clover_scale = args->clover_scale;
  a.h.in = args->in;
  a.h.out = args->out;
  a.h.b = 1;
  const unsigned blocks = few_blocks(launch, &a.h, &args->gate, &args->sum);
  kaon_cuda_launch(launch, clover_few_kernel, blocks, FEW_THREADS, a);
  return 1;
}
