/* hop_kernel.h - the Wilson hop on the GPU, fused with x-pay, clover blocks and sums
 * (dslash_ops.h). A thread a site; COLUMNS columns of it side by side, for which a link is loaded
 * and rebuilt once. The eight directions add up in registers, t first, since its two hops fill one
 * half of the result each. The dagger exchanges the halves of spinors on their way in and out
 * (site.h), or in half the projectors (lib/math/spin.h): SIGN = -1.
 * Included by one file for each link storage, which the compiler can take side by side.
 *
 * What bounds it (H200, docs/performance.md): one column is read from memory at the ideal count of
 * bytes, so consecutive sites, whose accesses are the longest, are best. With several columns the
 * links weigh little, and the way from the second-level cache to the multiprocessors is the limit:
 * there blocks walk tiles, which meet more of their neighbours in the first-level cache, and many
 * columns are left to hop_staged.h. */
#ifndef KAON_DSLASH_CUDA_HOP_KERNEL_H
#define KAON_DSLASH_CUDA_HOP_KERNEL_H

#include "dslash/cuda/kernels.h"
#include "dslash/cuda/site.h"
#include "lib/math/recon.h"

/* How many columns a thread takes where there are enough. */
enum { COLUMNS_MANY = KAON_HALF || sizeof(real) == 8 ? 2 : 3 };

/* What a kernel sums. NONE and NORM have a tile a block; NORM leaves |out|^2 of one column by
 * marks. A kernel of either is faster than one of ALL, whose loop takes registers, and NONE faster
 * than NORM by 3 to 6 % in half (48^3x64: 14568 and 13638 GFLOPS of 12-real links in two runs on
 * one H200). */
enum { SUMS_NONE, SUMS_NORM, SUMS_ALL };

/* The blocks that a multiprocessor must have room for: a cap on registers, which the compiler would
 * spend on loads far ahead. */
template <int RECON, int SUMS>
static __device__ __forceinline__ constexpr int least_blocks() {
  if (sizeof(real) == 8) return 2;
  if (KAON_HALF) return SUMS == SUMS_ALL ? 4 : RECON == 12 ? 6 : 5;
  return SUMS != SUMS_ALL && RECON == 8 ? 4 : 3;
}

/* Whether there is a kernel of NONE, and one of NORM: where it is faster. */
template <int RECON, int COLUMNS, bool SPLIT>
static constexpr bool has_plain() {
  return COLUMNS == 1 && !SPLIT && !(sizeof(real) == 8 && RECON == 12);
}

template <int COLUMNS, bool SPLIT>
static constexpr bool has_norm() {
  return COLUMNS == 1 && !SPLIT && sizeof(real) < 8;
}

typedef struct hop_call {
  kaon_sites sites;
  int parity;                                    /* by the coordinates on the rank (kaon_here) */
  int dagger, nrhs, column, temporal, clover_on; /* column: the first one of this launch */
  int last_t;   /* temporal gauge: the slice whose forward links are not the identity */
  int split;    /* a rest is not 0 */
  real first;   /* the same as a number (split_scale) */
  int groups;   /* of columns: COLUMNS times as many are worked on */
  int each;     /* columns of a group (hop_staged.h) */
  int tiles;    /* blocks of a column that its sites make */
  int norm;     /* NORM: |out|^2 is wanted */
  int exchange; /* the dagger, where spinors are exchanged (site.h) */
  int overlaps; /* the next kernel may start before the results are written (site_overlaps) */
  double a, b;
  real factor[4]; /* of a direction's hops: its coefficient, and in t the projector's 2; half: and
                     what a product of integers is worth */
  real rest[4];   /* what rounding took from it, relative to it */
  const stored *links[8]; /* by direction */
  const void *clover;
  const float *clover_scale;
  kaon_view in, x, w, out;
  kaon_cuda_sums sums;
} hop_call;

/* Row 2 of a link in 12 half-precision reals comes out as a product of two integers, and the step
 * from integers to values is owed once more: by colour 2 of the result, or of what the adjoint link
 * multiplies. */
template <int RECON>
static __device__ __forceinline__ constexpr bool row2_owes() {
  return KAON_HALF && RECON == 12;
}

/* The link in 18 numbers; half: integers, but of 8 reals values. BESIDE (number_load): on 12 reals
 * in half, where instructions count, one H200 gained 2 to 3 % at 48^3x64 (with clover blocks 15126
 * GFLOPS for 14668), hop_pair.cu 6 to 12 % at 16^4; on 18 reals large lattices lost 1 to 3 %. */
template <int RECON, bool BESIDE = RECON == 12>
static __device__ __forceinline__ void link_numbers(const stored *raw, real *numbers) {
  vcomplex u[9];
  if constexpr (RECON == 8) {
    recon_decode8(raw, u);
  } else {
#pragma unroll
    for (int i = 0; i < RECON / 2; i++) u[i] = number_load<BESIDE>(raw + 2 * i);
    if constexpr (RECON == 12) recon_row2(u);
  }
#pragma unroll
  for (int i = 0; i < 9; i++) {
    numbers[2 * i] = u[i].re;
    numbers[2 * i + 1] = u[i].im;
  }
}

/* The identity as a stored link. */
template <int RECON>
static __device__ __forceinline__ void link_unit(stored *raw) {
#pragma unroll
  for (int i = 0; i < RECON; i++)
    raw[i] = (stored)(RECON != 8 && i % 8 == 0 ? (KAON_HALF ? 32767 : 1) : 0);
}

/* Where factors have a rest, hops are multiplied by both before they are added, else as they are
 * added. Numbers that do either, so that no kernel has both ways in full: `first` is 1 or 0. */
static __device__ __forceinline__ vcomplex split_scale(const hop_call &a, int mu, vcomplex z,
                                                       real f) {
  return c_scale_split(z, v_fma(a.first, f, 1 - a.first), f * a.rest[mu]);
}

static __device__ __forceinline__ real split_factor(const hop_call &a, real f) {
  return v_fma(1 - a.first, f, a.first);
}

/* Adds the hop of spinor psi from direction DIR, over link u. SPLIT: factors may have a rest. */
template <int RECON, int DIR, int SIGN, bool SPLIT>
static __device__ __forceinline__ void hop_add(const hop_call &a, const raw_spinor &psi,
                                               const real *u, real factor, vspinor *d) {
  constexpr int mu = DIR & 3, s = (DIR < 4 ? 1 : -1) * SIGN;
  vhalf h;
  spin_project(mu, s, psi.c, psi.c + 12, &h);
  const real f = KAON_HALF ? factor * psi.unit : factor;
  const real f2 = row2_owes<RECON>() && DIR < 4 ? f * KAON_HALF_STEP : f;
  if constexpr (row2_owes<RECON>() && DIR >= 4)
    for (int i = 0; i < 2; i++) h.s[i][2] = c_scale(h.s[i][2], KAON_HALF_STEP);
#pragma unroll
  for (int c = 0; c < 3; c++) {
    vpair g = link_times_half(u, KAON_LINK_BUFFER, DIR >= 4, c, &h);
    const real fc = c == 2 ? f2 : f;
    if constexpr (SPLIT)
      for (int i = 0; i < 2; i++) g.s[i] = split_scale(a, mu, g.s[i], fc);
    spin_accumulate_scaled(mu, s, SPLIT ? split_factor(a, fc) : fc, g, c, d);
  }
}

/* The link of the hop from direction DIR, from site `from`, as it is stored. */
template <int RECON, int DIR>
static __device__ __forceinline__ void hop_link(const hop_call &a, const kaon_here &here,
                                                uint32_t from, stored *raw) {
  const uint32_t packet = packet_at<RECON>(DIR < 4 ? (uint32_t)here.at : from, 1);
  const char *first = packet_address<RECON>(a.links[DIR], packet);
  if constexpr (DIR % 4 ==
                3) { /* in the temporal gauge all but the last slice's are the identity */
    const bool edge = here.t == (DIR < 4 ? a.last_t : 0);
    link_unit<RECON>(raw);
    packets_read_if<RECON>(!a.temporal || edge, first, raw);
  } else {
    packets_read<RECON, true>(first, raw);
  }
}

/* The coefficient of that hop; `sign` as kaon_neighbour_of says. */
template <int DIR>
static __device__ __forceinline__ real hop_factor(const hop_call &a, int sign) {
  return DIR % 4 == 3 && sign < 0 ? -a.factor[DIR % 4] : a.factor[DIR % 4];
}

/* Which way to a neighbour's place was faster: 48^3x64 on two H200, by the number (99d1dfa) and
 * from the place (54638f1): half, 12 reals 14179 and 12471 GFLOPS, 8 reals 13183 and 12676; single,
 * 8 reals 10548 and 10319, 12 reals 8664 and 9652. Those rows did not rest (bench_time.c), which
 * makes as much of a difference: by the number, half on 12 reals has 14600 with rest. */
template <int RECON>
static __device__ __forceinline__ constexpr bool by_number() {
  return KAON_HALF || (sizeof(real) == 4 && RECON == 8);
}

/* No branches on the way from here to the last direction: loads run far ahead of their use. */
template <int RECON, int COLUMNS, int DIR, int SIGN, bool SPLIT>
static __device__ __forceinline__ void hop_direction(const hop_call &a, const kaon_here &here,
                                                     const kaon_view *in, vspinor *d) {
  int sign;
  const uint32_t from =
      (uint32_t)(by_number<RECON>() ? kaon_neighbour_by_index(&a.sites, &here, DIR, &sign)
                                    : kaon_neighbour_of(&a.sites, &here, DIR, &sign));
  const real factor = hop_factor<DIR>(a, sign);
  stored raw[RECON];
  real u[18];
  hop_link<RECON, DIR>(a, here, from, raw);
  link_numbers<RECON>(raw, u);
#pragma unroll
  for (int k = 0; k < COLUMNS; k++) {
    raw_spinor psi;
    raw_load(in[k], from, a.nrhs, &psi, a.exchange);
    hop_add<RECON, DIR, SIGN, SPLIT>(a, psi, u, factor, &d[k]);
  }
}

template <int RECON, int COLUMNS, int SIGN, bool SPLIT>
static __device__ __forceinline__ void hop_all(const hop_call &a, const kaon_here &here,
                                               const kaon_view *in, vspinor *d) {
  hop_direction<RECON, COLUMNS, 3, SIGN, SPLIT>(a, here, in, d);
  hop_direction<RECON, COLUMNS, 7, SIGN, SPLIT>(a, here, in, d);
  hop_direction<RECON, COLUMNS, 2, SIGN, SPLIT>(a, here, in, d);
  hop_direction<RECON, COLUMNS, 6, SIGN, SPLIT>(a, here, in, d);
  hop_direction<RECON, COLUMNS, 1, SIGN, SPLIT>(a, here, in, d);
  hop_direction<RECON, COLUMNS, 5, SIGN, SPLIT>(a, here, in, d);
  hop_direction<RECON, COLUMNS, 0, SIGN, SPLIT>(a, here, in, d);
  hop_direction<RECON, COLUMNS, 4, SIGN, SPLIT>(a, here, in, d);
}

/* out = a [C] x + b [C] d in column first + k, with its sums; NORM: *norm for the caller.
 * EXCHANGED: d as the directions leave it where spinors are exchanged. */
template <bool CLOVER, int SUMS, bool EXCHANGED = EXCHANGES>
static __device__ __forceinline__ void hop_end(const hop_call &a, uint32_t site, int first, int k,
                                               vspinor *d, site_room &room, real *norm) {
  const int column = first + k, exchange = EXCHANGED ? a.exchange : 0;
  const bool on_hop = CLOVER && a.clover_on == KAON_CLOVER_ON_HOP;
  const bool on_x = CLOVER && a.clover_on == KAON_CLOVER_ON_X;
  if (on_hop) site_clover(a.clover, a.clover_scale, site, d);
  spinor_scale(d, on_hop ? 0.5 * a.b : a.b);
  if (a.x.data != NULL) {
    vspinor x;
    spinor_load(column_view(a.x, column), site, a.nrhs, &x, exchange);
    if (on_x) site_clover(a.clover, a.clover_scale, site, &x);
    spinor_add(d, (real)(on_x ? 0.5 * a.a : a.a), &x);
  }
  if (SUMS == SUMS_NORM) *norm = spinor_norm2(d); /* here, for it takes no registers yet */
  spinor_store(column_view(a.out, column), site, a.nrhs, d, exchange);
  if (SUMS == SUMS_ALL)
    site_sums(a.sums, a.w.data == NULL ? a.w : column_view(a.w, column), site, a.nrhs, d, room,
              exchange);
}

/* COLUMNS = 1 with SPLIT: a factor of a direction that `real` does not hold. ALL: sums may be
 * wanted, and a block may have several tiles. Otherwise, since a loop keeps the call's pointers and
 * extents in registers, some 40, a multiprocessor has room for more blocks. */
template <int RECON, int COLUMNS, bool CLOVER, bool SPLIT, int SUMS>
static __global__ void __launch_bounds__(SITE_THREADS, least_blocks<RECON, SUMS>())
    hop_kernel(const __grid_constant__ hop_call a) {
  __shared__ site_room room[COLUMNS];
  const unsigned groups = (unsigned)a.groups;
  const int first = a.column + (groups == 1 ? 0 : (int)(blockIdx.x % groups) * COLUMNS);
  const int chunk = (int)(groups == 1 ? blockIdx.x : blockIdx.x / groups);
  kaon_wait_for_previous();
  unsigned open = 0;
  kaon_view in[COLUMNS];
#pragma unroll
  for (int k = 0; k < COLUMNS; k++) {
    open |= (unsigned)gate_open(a.sums.gate, first + k) << k;
    in[k] = column_view(a.in, first + k);
    if (SUMS == SUMS_ALL) site_sums_begin(a.sums, room[k]);
  }
  if (open == 0) return;
  real norm = 0;
  for (int tile = chunk; tile < a.tiles; tile += a.sums.chunks) {
    kaon_here here;
    const uint32_t site = (uint32_t)tile * blockDim.x + threadIdx.x;
    if (COLUMNS > 1 && a.sites.tiled) {
      here = kaon_here_in_tile(&a.sites, a.parity, (uint32_t)tile, threadIdx.x);
    } else {
      if (site >= (uint32_t)a.sites.nsites) break;
      here = kaon_here_of(&a.sites, a.parity, (int32_t)site);
    }
    vspinor d[COLUMNS];
    if (!EXCHANGES && a.dagger)
      hop_all<RECON, COLUMNS, -1, SPLIT>(a, here, in, d);
    else
      hop_all<RECON, COLUMNS, 1, SPLIT>(a, here, in, d);
    if (a.overlaps) kaon_let_next_start();
#pragma unroll
    for (int k = 0; k < COLUMNS; k++)
      if (open >> k & 1)
        hop_end<CLOVER, SUMS>(a, (uint32_t)here.at, first, k, &d[k], room[k], &norm);
    if (SUMS != SUMS_ALL) break;
  }
  if constexpr (SUMS == SUMS_NORM) site_norm_finish(a.sums, 0, block_index_of(), norm);
  if constexpr (SUMS == SUMS_ALL) {
    if (a.sums.sum.state == NULL) return;
#pragma unroll 1
    for (int k = 0; k < COLUMNS; k++) {
      if (open >> k & 1) site_sums_finish(a.sums, first + k, chunk, room[k]);
      __syncthreads();
    }
  }
}

/* By rule, or as kaon tune found. */
static int hop_threads(const kaon_launch *launch, const hop_call *a) {
  const int wanted = launch->tuned.threads;
  const bool possible = wanted == SITE_THREADS || wanted == SITE_THREADS / 2;
  return possible ? wanted : site_threads((uint32_t)a->sites.nsites);
}

/* 1 where a kernel of NORM does for what is asked: one column's |out|^2 at most. A block whose part
 * is marked waits for nothing (lib/cuda/reduction/reduce.h). */
static int norm_alone(const kaon_launch *launch, const kaon_hop_args *args, int64_t blocks) {
  const int dot = args->w.data != NULL && args->sum.slot[1] != KAON_NO_SLOT;
  return args->sum.state != NULL && launch->marked != NULL && !dot &&
         blocks <= KAON_MARKED_SUMS / 2;
}

/* Columns from a->column on, `groups` times COLUMNS of them. */
template <int RECON, int COLUMNS, bool CLOVER, bool SPLIT>
static void run(const kaon_launch *launch, hop_call *a, const kaon_hop_args *args, int groups) {
  const int threads = hop_threads(launch, a);
  const int tiles = (int)(((int64_t)a->sites.nsites + threads - 1) / threads);
  a->norm = has_norm<COLUMNS, SPLIT>() && norm_alone(launch, args, tiles);
  const int chunks =
      site_chunks((uint32_t)a->sites.nsites, threads, args->sum.state != NULL && !a->norm);
  a->sums = kaon_cuda_sums_of(launch, &args->gate, &args->sum, chunks);
  if (args->w.data == NULL) a->sums.sum.slot[1] = KAON_NO_SLOT;
  a->tiles = tiles;
  a->groups = groups;
  /* sums without clover blocks are left to the kernels that can do both, where there are others */
  auto kernel = hop_kernel < RECON, COLUMNS, CLOVER || has_norm<COLUMNS, SPLIT>(), SPLIT,
       SUMS_ALL > ;
  if constexpr (has_norm<COLUMNS, SPLIT>())
    if (a->norm) kernel = hop_kernel<RECON, COLUMNS, true, SPLIT, SUMS_NORM>;
  if constexpr (has_plain<RECON, COLUMNS, SPLIT>())
    if (args->sum.state == NULL) kernel = hop_kernel<RECON, COLUMNS, CLOVER, SPLIT, SUMS_NONE>;
  kaon_cuda_launch(launch, kernel, (unsigned)(chunks * groups), (unsigned)threads, *a);
  a->column += groups * COLUMNS;
}

/* Without clover blocks there is a kernel of its own where one takes most hops; else the other does
 * without them. */
template <int RECON, int COLUMNS, bool SPLIT>
static void run_clover(const kaon_launch *launch, hop_call *a, const kaon_hop_args *args,
                       int groups) {
  constexpr bool apart = !SPLIT && (COLUMNS == 1 || sizeof(real) == 8);
  if (groups == 0) return;
  if constexpr (apart) {
    if (args->clover_on == KAON_CLOVER_NONE) {
      run<RECON, COLUMNS, false, SPLIT>(launch, a, args, groups);
      return;
    }
  }
  run<RECON, COLUMNS, true, SPLIT>(launch, a, args, groups);
}

static hop_call call_of(const kaon_hop_args *args) {
  const kaon_stencil *st = args->stencil;
  hop_call a = {};
  a.sites = kaon_sites_of(st, args->parity);
  a.overlaps = site_overlaps((uint32_t)st->nsites);
  a.parity = args->parity ^ st->odd_origin;
  a.dagger = args->dagger;
  a.exchange = exchange_of(args->dagger);
  a.nrhs = args->nrhs;
  a.temporal = st->temporal;
  a.last_t = st->temporal == KAON_TEMPORAL_ALL ? -1 : st->extents[3] - 1;
  a.clover_on = args->clover_on;
  a.a = args->a;
  a.b = args->b;
  for (int mu = 0; mu < 4; mu++) {
    const double f = args->coefficient[mu] * (mu == 3 ? 2 : 1);
    a.factor[mu] = (real)f;
    a.rest[mu] = (real)((f - (double)(real)f) / f);
    a.split |= a.rest[mu] != 0;
    if (KAON_HALF && args->recon != 8) a.factor[mu] *= KAON_HALF_STEP; /* of the link's integers */
  }
  a.first = (real)a.split;
  const int64_t stride = kaon_link_blocks(kaon_matrix_blocks(st)) * args->recon * KAON_LANES;
  for (int dir = 0; dir < 8; dir++)
    a.links[dir] =
        (const stored *)args->links[dir < 4 ? args->parity : 1 - args->parity] + dir % 4 * stride;
  a.clover = args->clover;
  a.clover_scale = args->clover_scale;
  a.in = args->in;
  a.x = args->x;
  a.w = args->w;
  a.out = args->out;
  return a;
}

/* A warp takes 8 x 2 x 1 x 2 sites (x / 2, y, z, t), a block of four of them 8 x 4 x 2 x 2. */
static void tile(kaon_sites *sites, int threads) {
  static const uint8_t warp[4] = {3, 1, 0, 1}, block[4] = {0, 1, 1, 0}, small[4] = {0, 1, 0, 0};
  kaon_sites_tile(sites, warp, threads == SITE_THREADS ? block : small);
}

template <int RECON>
static void run_recon(const kaon_launch *launch, const kaon_hop_args *args) {
  hop_call a = call_of(args);
#if !defined(KAON_PREC_DOUBLE)
  if (a.split) {
    run_clover<RECON, 1, true>(launch, &a, args, args->nrhs);
    return;
  }
#endif
  const int groups = launch->tuned.group == 1 ? 0 : args->nrhs / COLUMNS_MANY;
  if (groups > 0) {
    hop_call many = a;
    if (!KAON_HALF) tile(&many.sites, hop_threads(launch, &a));
    run_clover<RECON, COLUMNS_MANY, false>(launch, &many, args, groups);
    a.column = many.column;
  }
  run_clover<RECON, 1, false>(launch, &a, args, args->nrhs - a.column);
}

#endif
