/* hop_kernel.h - the Wilson hop on the GPU, fused with x-pay, clover blocks and sums
 * (dslash_ops.h).
 * - A thread updates one site, COLUMNS columns of it together. A link is loaded and rebuilt once
 *   for these columns.
 * - The eight directions are summed in registers. t comes first, since each of its two hops fills
 *   one half of the result.
 * - The dagger exchanges the halves of spinors when they are loaded and stored (site.h). In half it
 *   exchanges the projectors instead (lib/math/spin.h): SIGN = -1.
 * - One file for each link storage includes this header, so that they compile in parallel.
 *
 * Performance limits (docs/performance.md): one column reads the ideal bytes from memory, so
 * consecutive sites are best, since their accesses are the longest. With several columns links
 * weigh little, and the limit is the bandwidth from the second-level cache to the multiprocessors.
 * There blocks process tiles, which share more neighbours in the first-level cache. Many columns
 * are left to hop_staged.h. */
#pragma once

#include "dslash/cuda/kernels.h"
#include "dslash/cuda/site.h"
#include "lib/math/recon.h"

enum { COLUMNS_MANY = SITE_COLUMNS((int)sizeof(stored)) };

/* Minimum of resident blocks on a multiprocessor. It caps the registers, which the compiler would
 * otherwise spend on early loads. */
template <int RECON, int SUMS>
KAON_DEVICE constexpr int least_blocks() {
  if (sizeof(real) == 8) return 2;
  if (KAON_IS_HALF) return SUMS == SUMS_ALL ? 4 : RECON == 12 ? 6 : 5;
  return SUMS != SUMS_ALL && RECON == 8 ? 4 : 3;
}

typedef struct hop_call {
  kaon_sites sites;
  int parity;                                    /* parity in coordinates on the rank (kaon_here) */
  int dagger, nrhs, column, temporal, clover_on; /* column: the first column of this launch */
  int last_t;   /* temporal gauge: the slice whose forward links are not the identity */
  int split;    /* a remainder is not 0 */
  real first;   /* the same as a real (split_scale) */
  int groups;   /* groups of columns: there are COLUMNS times as many columns */
  int each;     /* columns in a group (hop_staged.h) */
  int tiles;    /* blocks that the sites of a column make */
  int norm;     /* NORM: |out|^2 is requested */
  int exchange; /* a dagger by exchange of spinor halves (site.h) */
  int overlaps; /* the next kernel may start before the results are written (site_overlaps) */
  double a, b, twist[2];
  real factor[4]; /* of the hops in a direction: the coefficient, in t times the projector's 2;
                     half: also the unit of a product of integers */
  real rest[4];   /* relative rounding error of the factor */
  const stored *links[8]; /* by direction */
  const void *clover;
  const float *clover_scale;
  kaon_view in, x, w, out;
  kaon_cuda_sums sums;
} hop_call;

/* Row 2 of a link in 12 half-precision reals is a product of two integers. Its step from integers
 * to values is applied later: to colour 2 of the result, or of the vector that the adjoint link
 * multiplies. */
template <int RECON>
KAON_DEVICE constexpr bool row2_owes() {
  return KAON_IS_HALF && RECON == 12;
}

/* The link as 18 reals; half: as integers, except from 8 reals, which give values. BESIDE
 * (number_load) is faster for 12 reals in half, where instruction throughput is the limit, and
 * slower for 18 reals on large lattices (bench/notes/speed-half-conversion.md). */
template <int RECON, bool BESIDE = RECON == 12>
KAON_DEVICE void link_numbers(const stored *raw, real *numbers) {
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
KAON_DEVICE void link_unit(stored *raw) {
#pragma unroll
  for (int i = 0; i < RECON; i++)
    raw[i] = (stored)(RECON != 8 && i % 8 == 0 ? (KAON_IS_HALF ? 32767 : 1) : 0);
}

/* If factors have a remainder, a hop is multiplied by both before it is added; else it is scaled as
 * it is added. `first` is 1 or 0 and selects between them by arithmetic, so that a kernel does not
 * contain both code paths. */
KAON_DEVICE vcomplex split_scale(const hop_call &a, int mu, vcomplex z, real f) {
  return c_scale_split(z, v_fma(a.first, f, 1 - a.first), f * a.rest[mu]);
}

KAON_DEVICE real split_factor(const hop_call &a, real f) {
  return v_fma(1 - a.first, f, a.first);
}

/* Adds the hop of spinor psi from direction DIR, over link u. SPLIT: factors may have a
 * remainder. */
template <int RECON, int DIR, int SIGN, bool SPLIT>
KAON_DEVICE void hop_add(const hop_call &a, const raw_spinor &psi, const real *u, real factor,
                         vspinor *d) {
  constexpr int mu = DIR & 3, s = (DIR < 4 ? 1 : -1) * SIGN;
  vhalf h;
  spin_project(mu, s, psi.c, psi.c + 12, &h);
  const real f = KAON_IS_HALF ? factor * psi.unit : factor;
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

/* The link, as stored, of the hop from direction DIR at site `from`. */
template <int RECON, int DIR>
KAON_DEVICE void hop_link(const hop_call &a, const kaon_here &here, uint32_t from, stored *raw) {
  const uint32_t packet = packet_at<RECON>(DIR < 4 ? (uint32_t)here.at : from, 1);
  const char *first = packet_address<RECON>(a.links[DIR], packet);
  if constexpr (DIR % 4 == 3) { /* temporal gauge: all but the last slice's are the identity */
    const bool edge = here.t == (DIR < 4 ? a.last_t : 0);
    link_unit<RECON>(raw);
    packets_read_if<RECON>(!a.temporal || edge, first, raw);
  } else {
    packets_read<RECON, true>(first, raw);
  }
}

/* The coefficient of that hop; `sign` as in kaon_neighbour_of. */
template <int DIR>
KAON_DEVICE real hop_factor(const hop_call &a, int sign) {
  return DIR % 4 == 3 && sign < 0 ? -a.factor[DIR % 4] : a.factor[DIR % 4];
}

/* Whether neighbours are found by index (kaon_neighbour_by_index) instead of from coordinates. The
 * faster way was measured for each link storage and precision. */
template <int RECON>
KAON_DEVICE constexpr bool by_number() {
  return KAON_IS_HALF || (sizeof(real) == 4 && RECON == 8);
}

/* There are no branches from here to the last direction, so that loads are issued early. */
template <int RECON, int COLUMNS, int DIR, int SIGN, bool SPLIT>
KAON_DEVICE void hop_direction(const hop_call &a, const kaon_here &here, const kaon_view *in,
                               vspinor *d) {
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
KAON_DEVICE void hop_all(const hop_call &a, const kaon_here &here, const kaon_view *in,
                         vspinor *d) {
  hop_direction<RECON, COLUMNS, 3, SIGN, SPLIT>(a, here, in, d);
  hop_direction<RECON, COLUMNS, 7, SIGN, SPLIT>(a, here, in, d);
  hop_direction<RECON, COLUMNS, 2, SIGN, SPLIT>(a, here, in, d);
  hop_direction<RECON, COLUMNS, 6, SIGN, SPLIT>(a, here, in, d);
  hop_direction<RECON, COLUMNS, 1, SIGN, SPLIT>(a, here, in, d);
  hop_direction<RECON, COLUMNS, 5, SIGN, SPLIT>(a, here, in, d);
  hop_direction<RECON, COLUMNS, 0, SIGN, SPLIT>(a, here, in, d);
  hop_direction<RECON, COLUMNS, 4, SIGN, SPLIT>(a, here, in, d);
}

/* out = (a [C] + twist) x + (b [C] + twist) d in column first + k, with its sums. NORM: the norm is returned in *norm.
 * EXCHANGED: d is as the directions leave it when spinor halves are exchanged. */
template <bool CLOVER, int SUMS, bool EXCHANGED = EXCHANGES>
KAON_DEVICE void hop_end(const hop_call &a, uint32_t site, int first, int k, vspinor *d,
                         site_room &room, real *norm) {
  const int column = first + k, exchange = EXCHANGED ? a.exchange : 0;
  const bool on_hop = CLOVER && a.clover_on == KAON_CLOVER_ON_HOP;
  const bool on_x = CLOVER && a.clover_on == KAON_CLOVER_ON_X;
  if (on_hop) site_clover(a.clover, a.clover_scale, site, d);
  if (a.twist[1] != 0)
    twist_scale(d, a.b, a.twist[1]);
  else
    spinor_scale(d, on_hop ? 0.5 * a.b : a.b);
  if (a.x.data != NULL) {
    vspinor x;
    spinor_load(column_view(a.x, column), site, a.nrhs, &x, exchange);
    if (a.twist[0] != 0) twist_spinor(d, a.twist[0], &x);
    if (on_x) site_clover(a.clover, a.clover_scale, site, &x);
    spinor_add(d, (real)(on_x ? 0.5 * a.a : a.a), &x);
  }
  if (SUMS == SUMS_NORM) *norm = spinor_norm2(d); /* here, where it needs no registers yet */
  spinor_store(column_view(a.out, column), site, a.nrhs, d, exchange);
  if (SUMS == SUMS_ALL)
    site_sums(a.sums, a.w.data == NULL ? a.w : column_view(a.w, column), site, a.nrhs, d, room,
              exchange);
}

/* COLUMNS = 1 with SPLIT: a factor of a direction is not exact in `real`. ALL: sums may be
 * requested, and a block may have several tiles. The loop over tiles holds the call's pointers and
 * extents in some 40 registers. Without it more blocks fit on a multiprocessor. */
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
#pragma unroll 1 /* unrolled, it would take registers from the hop */
  for (int k = 1; k < COLUMNS; k++) open |= (unsigned)inner_gate_open(a.sums.gate, first + k) << k;
#pragma unroll
  for (int k = 0; k < COLUMNS; k++) {
    if (k == 0) open |= (unsigned)inner_gate_open(a.sums.gate, first);
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

/* ---- launches ---- */

/* A launcher for links in `recon` reals. */
#define KAON_HOP_LAUNCHER(name, recon, run)                                                        \
  extern "C" void KAON_EXPORT(name##_##recon)(                                                     \
      const kaon_launch *launch, const kaon_kernel_choice *choice, const kaon_gather_args *gather, \
      const kaon_hop_args *args) {                                                                 \
    run<recon>(launch, choice, gather, args);                                                      \
  }

/* `groups` times COLUMNS columns, from a->column on. */
template <int RECON, int COLUMNS, bool CLOVER, bool SPLIT, int SUMS>
static void run(const kaon_launch *launch, int threads, hop_call *a, const kaon_hop_args *args,
                int groups) {
  const int tiles = (int)(((int64_t)a->sites.nsites + threads - 1) / threads);
  const int chunks =
      site_chunks((uint32_t)a->sites.nsites, threads, args->sum.state != NULL && SUMS != SUMS_NORM);
  a->norm = SUMS == SUMS_NORM;
  a->sums = kaon_cuda_sums_of(launch, &args->gate, &args->sum, chunks);
  if (args->w.data == NULL) a->sums.sum.slot[1] = KAON_NO_SLOT;
  a->tiles = tiles;
  a->groups = groups;
  kaon_cuda_launch(launch, hop_kernel<RECON, COLUMNS, CLOVER, SPLIT, SUMS>,
                   (unsigned)(chunks * groups), (unsigned)threads, *a);
  a->column += groups * COLUMNS;
}

/* Launches the kernel for the sums of the choice. Where |out|^2 has a kernel, hops with sums but
 * without clover blocks share the kernels that have clover blocks. */
template <int RECON, int COLUMNS, bool CLOVER>
static void run_sums(const kaon_launch *launch, const kaon_kernel_choice *choice, hop_call *a,
                     const kaon_hop_args *args, int groups) {
  constexpr bool plain = COLUMNS == 1 && SITE_HAS_PLAIN(sizeof(stored), RECON);
  constexpr bool norm = COLUMNS == 1 && SITE_HAS_NORM(sizeof(stored));
  if constexpr (plain) {
    if (choice->sums == SUMS_NONE) {
      run<RECON, 1, CLOVER, false, SUMS_NONE>(launch, choice->threads, a, args, groups);
      return;
    }
  }
  if constexpr (norm) {
    if (choice->sums == SUMS_NORM) {
      run<RECON, 1, true, false, SUMS_NORM>(launch, choice->threads, a, args, groups);
      return;
    }
  }
  run<RECON, COLUMNS, CLOVER || norm, false, SUMS_ALL>(launch, choice->threads, a, args, groups);
}

/* Most hops have no clover blocks. Where one kernel takes most of them, it is compiled without
 * clover blocks; else the general kernel skips them. */
template <int RECON, int COLUMNS>
static void run_clover(const kaon_launch *launch, const kaon_kernel_choice *choice, hop_call *a,
                       const kaon_hop_args *args, int groups) {
  constexpr bool apart = COLUMNS == 1 || sizeof(real) == 8;
  if (groups == 0) return;
  if constexpr (apart) {
    if (args->clover_on == KAON_CLOVER_NONE) {
      run_sums<RECON, COLUMNS, false>(launch, choice, a, args, groups);
      return;
    }
  }
  run_sums<RECON, COLUMNS, true>(launch, choice, a, args, groups);
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
  a.twist[0] = args->twist[0];
  a.twist[1] = args->twist[1];
  for (int mu = 0; mu < 4; mu++) {
    const double f = args->coefficient[mu] * (mu == 3 ? 2 : 1);
    a.factor[mu] = (real)f;
    a.rest[mu] = (real)((f - (double)(real)f) / f);
    a.split |= a.rest[mu] != 0;
    if (KAON_IS_HALF && args->recon != 8) a.factor[mu] *= KAON_HALF_STEP; /* unit of the links */
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

/* A warp has a tile of 8 x 2 x 1 x 2 sites (x / 2, y, z, t), a block of four warps 8 x 4 x 2 x
 * 2. */
static void tile(kaon_sites *sites, int threads) {
  static const uint8_t warp[4] = {3, 1, 0, 1}, block[4] = {0, 1, 1, 0}, small[4] = {0, 1, 0, 0};
  kaon_sites_tile(sites, warp, threads == SITE_THREADS ? block : small);
}

template <int RECON>
static void run_site(const kaon_launch *launch, const kaon_kernel_choice *choice,
                     const kaon_gather_args *, const kaon_hop_args *args) {
  hop_call a = call_of(args);
#if !defined(KAON_PREC_DOUBLE)
  if (choice->rounded) {
    run<RECON, 1, true, true, SUMS_ALL>(launch, choice->threads, &a, args, args->nrhs);
    return;
  }
#endif
  if (choice->groups > 0) {
    hop_call many = a;
    if (!KAON_IS_HALF) tile(&many.sites, choice->threads);
    run_clover<RECON, COLUMNS_MANY>(launch, choice, &many, args, choice->groups);
    a.column = many.column;
  }
  run_clover<RECON, 1>(launch, choice, &a, args, args->nrhs - a.column);
}
