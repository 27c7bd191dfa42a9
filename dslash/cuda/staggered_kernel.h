/* staggered_kernel.h - the staggered hop on the GPU, with thin links or with fat and long ones in
 * one kernel, fused with x-pay and sums (staggered_ops.h). A thread a site; COLUMNS columns of it
 * at most side by side, for which a link is loaded and rebuilt once. Neighbours and signs are
 * worked out from the site's coordinates. Fat links' and long links' hops add up apart (6 registers
 * each) and meet once. Included by one file for each link storage.
 *
 * Traffic bounds it: in single an improved site with 18-real links takes 1152 bytes of links and 48
 * of vectors from memory, of which the hops read 16 vectors, so what has to be in flight are links:
 * they pass the first-level cache by (site.h). */
#ifndef KAON_DSLASH_CUDA_STAGGERED_KERNEL_H
#define KAON_DSLASH_CUDA_STAGGERED_KERNEL_H

#include "dslash/cuda/kernels.h"
#include "dslash/cuda/site.h"
#include "lib/math/recon.h"
#include "lib/math/staggered.h"

/* How many columns a thread takes at most; in double as many as registers hold. */
enum { STAGGERED_MANY = sizeof(real) == 8 ? 4 : 8, COLOURS = KAON_STAGGERED_REALS };

typedef struct staggered_call {
  kaon_sites sites;
  kaon_far far;
  int parity, nrhs;
  int column;   /* the first one of this launch */
  int columns;  /* of this launch, */
  int groups;   /* in so many groups */
  int each;     /* of so many, the last one of what is left */
  int tiles;    /* blocks of a column that its sites make */
  int overlaps; /* the next kernel may start before the results are written (site_overlaps) */
  int phased;   /* long links have phases */
  uint8_t masks[4];
  real a;
  kaon_factor fat_factor, naik_factor;
  const stored *fat[8], *naik[8], *phase[8]; /* by direction */
  kaon_view in, x, w, out;
  kaon_cuda_sums sums;
} staggered_call;

/* A cap on registers: blocks of SITE_THREADS that a multiprocessor must have room for. */
template <bool IMPROVED, int COLUMNS>
static __device__ __forceinline__ constexpr int staggered_blocks() {
  if (COLUMNS > 1) return sizeof(real) == 8 ? 2 : 3;
  return sizeof(real) == 8 ? 3 : KAON_HALF ? 6 : 5;
}

/* ---- a site's colours ---- */

static __device__ __forceinline__ kaon_view colour_view(const kaon_view &v, int column) {
  kaon_view c;
  c.data = (stored *)v.data + (int64_t)column * (COLOURS * KAON_LANES);
  c.scale = KAON_HALF ? v.scale + column * KAON_LANES : NULL;
  return c;
}

/* Times `factor`. */
static __device__ __forceinline__ vcolour colour_read(const kaon_view &v, uint32_t site, int units,
                                                      real factor) {
  stored raw[COLOURS];
  vcolour d;
  packets_read<COLOURS, false>(packet_address<COLOURS>(v.data, packet_at<COLOURS>(site, units)),
                               raw);
  if (KAON_HALF) factor *= kaon_half_unit(v.scale[scale_at(site, units)]);
#pragma unroll
  for (int i = 0; i < 3; i++) d.c[i] = c_scale(c_load(raw + 2 * i), factor);
  return d;
}

static __device__ __forceinline__ void colour_write(const kaon_view &v, uint32_t site, int units,
                                                    const vcolour *d) {
  typedef packets<COLOURS> p;
  char *to = (char *)packet_address<COLOURS>(v.data, packet_at<COLOURS>(site, units));
  const real *value = (const real *)d;
  stored q[COLOURS];
#if KAON_HALF
  v.scale[scale_at(site, units)] = quantise_site<COLOURS, true>(value, q);
#else
#pragma unroll
  for (int i = 0; i < COLOURS; i++) q[i] = value[i];
#endif
#pragma unroll
  for (int g = 0; g < p::count; g++, to += KAON_LANES * p::bytes) {
    words<p::bytes> x;
    memcpy(&x, q + g * p::group, p::bytes);
    if constexpr (p::bytes == 16)
      __stcs((uint4 *)to, make_uint4(x.w[0], x.w[1], x.w[2], x.w[3]));
    else if constexpr (p::bytes == 8)
      __stcs((uint2 *)to, make_uint2(x.w[0], x.w[1]));
    else
      __stcs((unsigned *)to, x.w[0]);
  }
}

/* ---- links ---- */

/* The link of site `at` in 18 numbers; half: in units of 1 / 32767, but of 8 reals values. */
template <int RECON>
static __device__ __forceinline__ void link_read(const stored *links, uint32_t at, real *numbers) {
  const uint32_t packet = packet_at<RECON>(at, 1);
  stored raw[RECON];
  vcomplex u[9];
  packets_read<RECON, true>(packet_address<RECON>(links, packet), raw);
  if constexpr (RECON == 8) {
    recon_decode8(raw, u);
  } else {
#pragma unroll
    for (int i = 0; i < RECON / 2; i++) u[i] = c_load(raw + 2 * i);
    if constexpr (RECON == 12) {
      recon_row2(u); /* half: products of two integers */
#pragma unroll
      for (int i = 6; i < 9 && KAON_HALF; i++) u[i] = c_scale(u[i], KAON_HALF_STEP);
    }
  }
#pragma unroll
  for (int i = 0; i < 9; i++) {
    numbers[2 * i] = u[i].re;
    numbers[2 * i + 1] = u[i].im;
  }
}

/* What a long link's phase is stored as; 0, the phase 1, where there are none: no branch. */
static __device__ __forceinline__ real phase_read(int phased, const stored *phases, uint32_t at) {
#if defined(KAON_PREC_DOUBLE)
  double y = 0;
  asm volatile(
      "{.reg .pred w; setp.ne.s32 w, %2, 0;"
      "@w ld.global.nc.L1::no_allocate.f64 %0, [%1];}"
      : "+d"(y)
      : "l"(phases + at), "r"(phased));
  return y;
#elif defined(KAON_PREC_SINGLE)
  float y = 0;
  asm volatile(
      "{.reg .pred w; setp.ne.s32 w, %2, 0;"
      "@w ld.global.nc.L1::no_allocate.f32 %0, [%1];}"
      : "+f"(y)
      : "l"(phases + at), "r"(phased));
  return y;
#else
  int16_t y = 0;
  asm volatile(
      "{.reg .pred w; setp.ne.s32 w, %2, 0;"
      "@w ld.global.nc.L1::no_allocate.u16 %0, [%1];}"
      : "+h"(y)
      : "l"(phases + at), "r"(phased));
  return (real)y * KAON_HALF_STEP;
#endif
}

/* ---- hops ---- */

/* A site and the signs of its hops. */
typedef struct staggered_site {
  kaon_here here;
  real eta[4];
} staggered_site;

static __device__ __forceinline__ staggered_site site_of(const staggered_call &a,
                                                         const kaon_here &here) {
  staggered_site s;
  s.here = here;
  const unsigned odd =
      (unsigned)s.here.odd_x | (s.here.y & 1) << 1 | (s.here.z & 1) << 2 | (s.here.t & 1) << 3;
#pragma unroll
  for (int mu = 0; mu < 4; mu++) s.eta[mu] = __popc(odd & a.masks[mu]) & 1 ? (real)-1 : (real)1;
  return s;
}

/* d += a hop over the link of site `at` in `links`, of phase `phases`, from site `from` of each of
 * `count` columns; eta: the hop's sign. */
template <int RECON, int DIR, bool FAR, int COLUMNS>
static __device__ __forceinline__ void hop_add(const staggered_call &a, const stored *links,
                                               const stored *phases, uint32_t at,
                                               const kaon_view *in, uint32_t from, real eta,
                                               int count, vcolour *d) {
  constexpr bool backward = DIR >= 4, turns = FAR && RECON != 18;
  real u[18], y = 0;
  link_read<RECON>(links, at, u);
  if constexpr (turns) y = phase_read(a.phased, phases, at);
#pragma unroll
  for (int k = 0; k < COLUMNS; k++) {
    if (COLUMNS > 1 && k >= count) continue;
    vcolour chi = colour_read(in[k], from, a.nrhs, backward ? -eta : eta);
    if constexpr (turns) chi = colour_turn(y, backward, &chi);
    colour_add_link(u, KAON_LINK_BUFFER, backward, &chi, &d[k]);
  }
}

/* The neighbour one site (FAR: three) away in direction DIR; *boundary as kaon_neighbour_of says.
 */
template <int DIR, bool FAR>
static __device__ __forceinline__ uint32_t hop_from(const staggered_call &a, const kaon_here &here,
                                                    int *boundary) {
  return FAR ? (uint32_t)kaon_far_neighbour_of(&a.sites, &a.far, &here, DIR, boundary)
             : (uint32_t)kaon_neighbour_of(&a.sites, &here, DIR, boundary);
}

/* d += the hop of one site (FAR: of three) from direction DIR, `count` columns of it. */
template <int RECON, int DIR, bool FAR, int COLUMNS>
static __device__ __forceinline__ void add_hop(const staggered_call &a, const staggered_site &s,
                                               const kaon_view *in, int count, vcolour *d) {
  int boundary;
  const uint32_t from = hop_from<DIR, FAR>(a, s.here, &boundary);
  const real eta = DIR % 4 == 3 && boundary < 0 ? -s.eta[3] : s.eta[DIR % 4];
  hop_add<RECON, DIR, FAR, COLUMNS>(a, FAR ? a.naik[DIR] : a.fat[DIR], a.phase[DIR],
                                    DIR < 4 ? (uint32_t)s.here.at : from, in, from, eta, count, d);
}

/* Both hops in mu, t first: its neighbours are the farthest in memory. */
template <int RECON, bool FAR, int COLUMNS>
static __device__ __forceinline__ void add_all(const staggered_call &a, const staggered_site &s,
                                               const kaon_view *in, int count, vcolour *d) {
  add_hop<RECON, 3, FAR, COLUMNS>(a, s, in, count, d);
  add_hop<RECON, 7, FAR, COLUMNS>(a, s, in, count, d);
  add_hop<RECON, 2, FAR, COLUMNS>(a, s, in, count, d);
  add_hop<RECON, 6, FAR, COLUMNS>(a, s, in, count, d);
  add_hop<RECON, 1, FAR, COLUMNS>(a, s, in, count, d);
  add_hop<RECON, 5, FAR, COLUMNS>(a, s, in, count, d);
  add_hop<RECON, 0, FAR, COLUMNS>(a, s, in, count, d);
  add_hop<RECON, 4, FAR, COLUMNS>(a, s, in, count, d);
}

/* out = a x + d in a column, with its sums. */
template <bool SUMS>
static __device__ __forceinline__ void hop_end(const staggered_call &a, uint32_t site, int column,
                                               vcolour *d, site_room *room) {
  if (a.x.data != NULL) {
    const vcolour x = colour_read(colour_view(a.x, column), site, a.nrhs, 1);
    colour_add(d, a.a, &x);
  }
  colour_write(colour_view(a.out, column), site, a.nrhs, d);
  if (!SUMS || a.sums.sum.state == NULL) return;
  if (sums_want(a.sums, 0)) (*room)[0][threadIdx.x] += (double)colour_norm2(d);
  if (a.w.data == NULL || !sums_want(a.sums, 1)) return;
  const vcolour w = colour_read(colour_view(a.w, column), site, a.nrhs, 1);
  const vcomplex dot = colour_dot(&w, d);
  (*room)[1][threadIdx.x] += (double)dot.re;
  (*room)[2][threadIdx.x] += (double)dot.im;
}

/* The ends of the open ones of columns from `first` on; far: what long links brought. */
template <bool IMPROVED, int COLUMNS, bool SUMS>
static __device__ __forceinline__ void columns_end(const staggered_call &a, uint32_t site,
                                                   int first, unsigned open, vcolour *d,
                                                   const vcolour *far, site_room *room) {
#pragma unroll
  for (int k = 0; k < COLUMNS; k++) {
    if (!(open >> k & 1)) continue;
    colour_join(a.fat_factor, &d[k], IMPROVED, a.naik_factor, &far[IMPROVED ? k : 0]);
    hop_end<SUMS>(a, site, first + k, &d[k], &room[SUMS ? k : 0]);
  }
}

/* Their sums, of the block's part `chunk`. All threads of a block. */
template <int COLUMNS>
static __device__ __forceinline__ void columns_finish(const staggered_call &a, int first,
                                                      unsigned open, int chunk,
                                                      const site_room *room) {
  if (a.sums.sum.state == NULL) return;
#pragma unroll 1
  for (int k = 0; k < COLUMNS; k++) {
    if (open >> k & 1) site_sums_finish(a.sums, first + k, chunk, room[k]);
    __syncthreads();
  }
}

/* SUMS: sums may be wanted, and a block may have several tiles. RECON: of long links where there
 * are some, else of thin ones. */
template <int RECON, bool IMPROVED, int COLUMNS, bool SUMS>
static __global__ void __launch_bounds__(SITE_THREADS, (staggered_blocks<IMPROVED, COLUMNS>()))
    staggered_kernel(const __grid_constant__ staggered_call a) {
  __shared__ site_room room[SUMS ? COLUMNS : 1];
  const unsigned groups = (unsigned)a.groups;
  const int group = groups == 1 ? 0 : (int)(blockIdx.x % groups);
  const int chunk = (int)(groups == 1 ? blockIdx.x : blockIdx.x / groups);
  const int first = a.column + group * a.each;
  const int count = min(a.each, a.columns - group * a.each);
  kaon_wait_for_previous();
  unsigned open = 0;
  kaon_view in[COLUMNS];
#pragma unroll
  for (int k = 0; k < COLUMNS; k++) {
    in[k] = colour_view(a.in, first + k);
    if (COLUMNS > 1 && k >= count) continue;
    open |= (unsigned)gate_open(a.sums.gate, first + k) << k;
    if (SUMS) site_sums_begin(a.sums, room[k]);
  }
  if (open == 0) return;
  for (int tile = chunk; tile < a.tiles; tile += a.sums.chunks) {
    const uint32_t at = (uint32_t)tile * blockDim.x + threadIdx.x;
    if (at >= (uint32_t)a.sites.nsites) break;
    const staggered_site s = site_of(a, kaon_here_of(&a.sites, a.parity, (int32_t)at));
    vcolour d[COLUMNS], far[IMPROVED ? COLUMNS : 1];
#pragma unroll
    for (int k = 0; k < COLUMNS; k++) d[k] = colour_zero();
    add_all<IMPROVED ? 18 : RECON, false, COLUMNS>(a, s, in, count, d);
    if constexpr (IMPROVED) {
#pragma unroll
      for (int k = 0; k < COLUMNS; k++) far[k] = colour_zero();
      add_all<RECON, true, COLUMNS>(a, s, in, count, far);
    }
    if (a.overlaps) kaon_let_next_start();
    columns_end<IMPROVED, COLUMNS, SUMS>(a, at, first, open, d, far, room);
    if (!SUMS) break;
  }
  if constexpr (SUMS) columns_finish<COLUMNS>(a, first, open, chunk, room);
}

/* ---- launches ---- */

/* Columns a->column to a->column + a->columns. */
template <int RECON, bool IMPROVED, int COLUMNS, bool SUMS>
static void run(const kaon_launch *launch, staggered_call *a, const kaon_staggered_args *args) {
  const int threads = site_threads((uint32_t)a->sites.nsites);
  const int wants = SUMS && args->sum.state != NULL;
  const int chunks = site_chunks((uint32_t)a->sites.nsites, threads, wants);
  a->groups = (a->columns + COLUMNS - 1) / COLUMNS;
  a->each = (a->columns + a->groups - 1) / a->groups;
  a->tiles = (int)(((int64_t)a->sites.nsites + threads - 1) / threads);
  a->sums = kaon_cuda_sums_of(launch, &args->gate, &args->sum, chunks);
  if (args->w.data == NULL) a->sums.sum.slot[1] = KAON_NO_SLOT;
  kaon_cuda_launch(launch, staggered_kernel<RECON, IMPROVED, COLUMNS, SUMS>,
                   (unsigned)(chunks * a->groups), (unsigned)threads, *a);
}

/* The links of one length by direction, and their factor. */
static kaon_factor links_of(const kaon_staggered_args *args, const kaon_hop_links *l,
                            const stored **by_dir) {
  const int64_t blocks = kaon_link_blocks(kaon_matrix_blocks(args->stencil));
  for (int dir = 0; dir < 8; dir++)
    by_dir[dir] = (const stored *)l->links[dir < 4 ? args->parity : 1 - args->parity] +
                  dir % 4 * blocks * l->recon * KAON_LANES;
  return kaon_factor_of(args->b * l->factor * (l->recon == 8 ? 1 : KAON_LINK_UNIT));
}

static staggered_call call_of(const kaon_staggered_args *args) {
  const kaon_stencil *st = args->stencil;
  staggered_call a = {};
  a.sites = kaon_sites_of(st);
  a.far = kaon_far_of(&a.sites);
  a.overlaps = site_overlaps((uint32_t)st->nsites);
  a.parity = args->parity;
  a.nrhs = a.columns = args->nrhs;
  a.a = (real)args->a;
  for (int mu = 0; mu < 4; mu++) a.masks[mu] = args->phases[mu];
  a.fat_factor = links_of(args, &args->fat, a.fat);
  a.in = args->in;
  a.x = args->x;
  a.w = args->w;
  a.out = args->out;
  if (args->naik.links[0] == NULL) return a;
  const int64_t blocks = kaon_link_blocks(kaon_matrix_blocks(st));
  a.naik_factor = links_of(args, &args->naik, a.naik);
  a.phased = args->naik.phase[0] != NULL;
  for (int dir = 0; dir < 8 && a.phased; dir++)
    a.phase[dir] = (const stored *)args->naik.phase[dir < 4 ? args->parity : 1 - args->parity] +
                   dir % 4 * blocks * KAON_LANES;
  return a;
}

template <int RECON, bool IMPROVED>
static void run_recon(const kaon_launch *launch, const kaon_staggered_args *args) {
  staggered_call a = call_of(args);
  if (args->nrhs > 1)
    run<RECON, IMPROVED, STAGGERED_MANY, true>(launch, &a, args);
  else if (args->sum.state != NULL)
    run<RECON, IMPROVED, 1, true>(launch, &a, args);
  else
    run<RECON, IMPROVED, 1, false>(launch, &a, args);
}

#endif
