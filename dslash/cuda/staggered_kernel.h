/* staggered_kernel.h - the staggered hop on the GPU, with thin links or with fat and long links in
 * one kernel, fused with x-pay and sums (staggered_ops.h).
 * - A thread updates one site, at most COLUMNS columns of it together. A link is loaded and rebuilt
 *   once for these columns. One column applies links of 8 reals without forming their elements
 *   (lib/math/recon8.h).
 * - Neighbours and signs are computed from the site's coordinates.
 * - The hops over fat links and over long links are summed separately (6 registers each) and added
 *   at the end.
 * - One file for each link storage includes this header.
 *
 * Memory traffic is the limit. In single an improved site with 18-real links needs 1152 bytes of
 * links and 48 of vectors from memory, and its hops read 16 vectors. So enough link loads must be
 * in flight, and links bypass the first-level cache (site.h). */
#pragma once

#include "dslash/cuda/kernels.h"
#include "dslash/cuda/staggered_site.h"

/* In half a block has two groups of columns, one warp each, which share links in the first-level
 * cache. In half, links are most of the traffic from the second-level cache. */
enum { MANY_THREADS = KAON_IS_HALF ? 2 * SITE_THREADS : SITE_THREADS, GROUPED = KAON_IS_HALF };

typedef struct staggered_call {
  kaon_sites sites;
  kaon_far far;
  int parity; /* parity in coordinates on the rank (kaon_here) */
  int nrhs;
  int columns;      /* nrhs, divided into */
  int groups;       /* this many groups, */
  int beside;       /* of which a block has this many, */
  int each;         /* of this many columns; the last group has the rest */
  int full;         /* all groups have the maximum columns of a thread */
  int tiles;        /* blocks that the sites of a column make */
  int overlaps;     /* the next kernel may start before the results are written (site_overlaps) */
  int phased;       /* long links have phases */
  uint8_t masks[4]; /* mask_of */
  real a;
  kaon_factor fat_factor, naik_factor;
  const stored *fat[8], *naik[8], *phase[8]; /* by direction */
  kaon_view in, x, w, out;
  kaon_cuda_sums sums;
} staggered_call;

template <int COLUMNS>
static __host__ __device__ constexpr int staggered_threads() {
  return COLUMNS > 1 ? (int)MANY_THREADS : (int)SITE_THREADS;
}

/* A cap on registers: minimum blocks of staggered_threads that fit on a multiprocessor. */
template <int COLUMNS>
KAON_DEVICE constexpr int staggered_blocks() {
  if (COLUMNS > 1) return sizeof(real) == 8 || KAON_IS_HALF ? 2 : 4;
  return sizeof(real) == 8 ? 3 : KAON_IS_HALF ? 6 : 5;
}

/* Kernels of undivided lattices that fit more blocks, and find neighbours by index (hop_from),
 * since this is faster (bench/notes/design-staggered.md). None of them spills registers. */
template <int RECON, bool IMPROVED, int COLUMNS, bool SUMS>
KAON_DEVICE constexpr bool crowded() {
  return KAON_IS_HALF && RECON == 12 && !IMPROVED && COLUMNS == 1 && !SUMS;
}
template <int RECON, bool IMPROVED, int COLUMNS, bool SUMS>
KAON_DEVICE constexpr int whole_blocks() {
  return crowded<RECON, IMPROVED, COLUMNS, SUMS>() ? 7 : staggered_blocks<COLUMNS>();
}

/* Columns of the fields. A kernel of one column runs only for fields of one column (run_columns).
 * The constant saves a thread some 60 instructions for addresses. */
template <int COLUMNS>
KAON_DEVICE int columns_of(const staggered_call &a) {
  return COLUMNS == 1 ? 1 : a.nrhs;
}

/* ---- hops ---- */

/* A site and the signs of its hops. */
typedef struct staggered_site {
  kaon_here here;
  real eta[4];
} staggered_site;

KAON_DEVICE staggered_site site_of(const staggered_call &a, const kaon_here &here) {
  staggered_site s;
  s.here = here;
  const unsigned odd = 16u | (s.here.x & 1) | (s.here.y & 1) << 1 | (s.here.z & 1) << 2 |
                       (s.here.t & 1) << 3; /* 16: mask_of */
#pragma unroll
  for (int mu = 0; mu < 4; mu++) s.eta[mu] = __popc(odd & a.masks[mu]) & 1 ? (real)-1 : (real)1;
  return s;
}

/* d += a hop over the link of site `at` in `links`, with the phase `phases`, from site `from`.
 * `count` columns are present, starting at the first one's view; eta: the hop's sign. There are no
 * branches: beyond the last column the last one is read again. SHARED: other warps of the block
 * read the link too. */
template <int RECON, int DIR, bool FAR, int COLUMNS, bool SHARED>
KAON_DEVICE void hop_add(const staggered_call &a, const stored *links, const stored *phases,
                         uint32_t at, const kaon_view &in, uint32_t from, real eta, int count,
                         vcolour *d) {
  constexpr bool backward = DIR >= 4, phased = FAR && RECON != 18;
  constexpr bool applied = RECON == 8 && COLUMNS == 1, beside = separate_link<RECON, COLUMNS>();
  constexpr bool owes = row2_owes<RECON, COLUMNS>();
  const real factor = colour_unit(backward ? -eta : eta);
  const int units = columns_of<COLUMNS>(a);
  const char *first = packet_address<COLOURS>(in.data, packet_at<COLOURS>(from, units));
  const float *scale = KAON_IS_HALF ? in.scale + scale_at(from, units) : NULL;
  stored raw[RECON];
  real u[18], y = 0;
  vlink8 v;
  link_packets<RECON, SHARED>(links, at, raw);
  if constexpr (phased) y = phase_read(a.phased, phases, at);
  if constexpr (applied)
    v = link_applied<beside>(raw);
  else
    link_numbers<RECON, beside, owes>(raw, u);
  if constexpr (phased && COLUMNS > 1) link_times_i(y, u);
  real unit[COLUMNS]; /* before the columns, to save registers */
#pragma unroll
  for (int k = 0; k < COLUMNS; k++)
    unit[k] =
        KAON_IS_HALF ? factor * scale[(COLUMNS == 1 ? 0 : min(k, count - 1)) * KAON_LANES] : factor;
#pragma unroll
  for (int k = 0; k < COLUMNS; k++) {
    const int column = COLUMNS == 1 ? 0 : min(k, count - 1);
    raw_colour stored_chi =
        colour_load(first + column * (COLOURS * KAON_LANES * (int)sizeof(stored)));
    if constexpr (applied && !backward) stored_chi = colour_times_i_of(raw, stored_chi);
    vcolour chi = colour_scaled(stored_chi, unit[k]);
    if constexpr (phased && COLUMNS == 1) chi = colour_times_i(y, backward, &chi);
    if constexpr (owes)
      link_add_owing<backward>(u, &chi, &d[k]);
    else if constexpr (!applied)
      colour_add_link(u, KAON_LINK_BUFFER, backward, &chi, &d[k]);
    else if constexpr (backward)
      link8_add_adjoint(raw, &v, chi.c, d[k].c);
    else
      link8_add(&v, chi.c, d[k].c);
  }
}

/* The neighbour one site (FAR: three) away in direction DIR; *boundary as in kaon_neighbour_of.
 * NUMBERED: found by index (kaon_neighbour_by_index), which is faster with seven blocks of 12 reals
 * and slower with 8 reals. */
template <int DIR, bool FAR, bool NUMBERED>
KAON_DEVICE uint32_t hop_from(const staggered_call &a, const kaon_here &here, int *boundary) {
  if (FAR) return (uint32_t)kaon_far_neighbour_of(&a.sites, &a.far, &here, DIR, boundary);
  return (uint32_t)(NUMBERED ? kaon_neighbour_by_index(&a.sites, &here, DIR, boundary)
                             : kaon_neighbour_of(&a.sites, &here, DIR, boundary));
}

/* d += the hop of one site (FAR: of three) from direction DIR, for `count` columns. */
template <int RECON, int DIR, bool FAR, int COLUMNS, bool SHARED, bool NUMBERED>
KAON_DEVICE void add_hop(const staggered_call &a, const staggered_site &s, const kaon_view &in,
                         int count, vcolour *d) {
  int boundary;
  const uint32_t from = hop_from<DIR, FAR, NUMBERED>(a, s.here, &boundary);
  const real eta = DIR % 4 == 3 && boundary < 0 ? -s.eta[3] : s.eta[DIR % 4];
  hop_add<RECON, DIR, FAR, COLUMNS, SHARED>(a, FAR ? a.naik[DIR] : a.fat[DIR], a.phase[DIR],
                                            DIR < 4 ? (uint32_t)s.here.at : from, in, from, eta,
                                            count, d);
}

/* Both hops in mu. t comes first, since its neighbours are the farthest in memory. */
template <int RECON, bool FAR, int COLUMNS, bool SHARED, bool NUMBERED>
KAON_DEVICE void add_all(const staggered_call &a, const staggered_site &s, const kaon_view &in,
                         int count, vcolour *d) {
  add_hop<RECON, 3, FAR, COLUMNS, SHARED, NUMBERED>(a, s, in, count, d);
  add_hop<RECON, 7, FAR, COLUMNS, SHARED, NUMBERED>(a, s, in, count, d);
  add_hop<RECON, 2, FAR, COLUMNS, SHARED, NUMBERED>(a, s, in, count, d);
  add_hop<RECON, 6, FAR, COLUMNS, SHARED, NUMBERED>(a, s, in, count, d);
  add_hop<RECON, 1, FAR, COLUMNS, SHARED, NUMBERED>(a, s, in, count, d);
  add_hop<RECON, 5, FAR, COLUMNS, SHARED, NUMBERED>(a, s, in, count, d);
  add_hop<RECON, 0, FAR, COLUMNS, SHARED, NUMBERED>(a, s, in, count, d);
  add_hop<RECON, 4, FAR, COLUMNS, SHARED, NUMBERED>(a, s, in, count, d);
}

/* Sum `i` of a thread's column k, in shared memory like site_room. The launch allocates it if sums
 * are requested; the first-level cache has the rest of that memory. */
KAON_DEVICE double *sum_at(int k, int i) {
  extern __shared__ double staggered_room[];
  return staggered_room + (k * SITE_SUMS + i) * (int)blockDim.x + (int)threadIdx.x;
}

/* out = a x + d in a column, and adds to the sums of the thread's column k. */
template <int COLUMNS, bool SUMS>
KAON_DEVICE void hop_end(const staggered_call &a, uint32_t site, int column, int k, vcolour *d) {
  const int units = columns_of<COLUMNS>(a);
  if (a.x.data != NULL) {
    const vcolour x = colour_read(colour_view(a.x, column), site, units);
    colour_add(d, a.a, &x);
  }
  colour_write(colour_view(a.out, column), site, units, d);
  if (!SUMS || a.sums.sum.state == NULL) return;
  if (sums_want(a.sums, 0)) *sum_at(k, 0) += (double)colour_norm2(d);
  if (a.w.data == NULL || !sums_want(a.sums, 1)) return;
  const vcolour w = colour_read(colour_view(a.w, column), site, units);
  const vcomplex dot = colour_dot(&w, d);
  *sum_at(k, 1) += (double)dot.re;
  *sum_at(k, 2) += (double)dot.im;
}

/* A thread's columns. */
typedef struct column_group {
  int first, count;
  unsigned open; /* one bit for each open column */
} column_group;

/* The launch's group with index `group`; clears the thread's sums. */
template <int COLUMNS, bool SUMS>
KAON_DEVICE column_group group_begin(const staggered_call &a, int group) {
  column_group c;
  c.first = COLUMNS == 1 ? 0 : group * a.each;
  c.count = COLUMNS == 1 ? 1 : min(a.each, a.columns - group * a.each);
  c.open = 0;
#pragma unroll
  for (int k = 0; k < COLUMNS; k++) {
    if (SUMS && a.sums.sum.state != NULL)
      for (int i = 0; i < SITE_SUMS; i++) *sum_at(k, i) = 0;
    if (COLUMNS > 1 && k >= c.count) continue;
    c.open |= (unsigned)gate_open(a.sums.gate, c.first + k) << k;
  }
  return c;
}

/* Finishes the open columns; far: the sum over long links. */
template <bool IMPROVED, int COLUMNS, bool SUMS>
KAON_DEVICE void columns_end(const staggered_call &a, uint32_t site, const column_group &c,
                             vcolour *d, const vcolour *far) {
#pragma unroll
  for (int k = 0; k < COLUMNS; k++) {
    if (!(c.open >> k & 1)) continue;
    colour_join(a.fat_factor, &d[k], IMPROVED, a.naik_factor, &far[IMPROVED ? k : 0]);
    hop_end<COLUMNS, SUMS>(a, site, c.first + k, k, &d[k]);
  }
}

/* The sums of a block's columns, for its chunk `chunk`. The block's groups begin with index
 * `group`, and c are this thread's columns. All threads of a block must call it. */
KAON_DEVICE void columns_finish(const staggered_call &a, int group, const column_group &c,
                                int chunk) {
  if (a.sums.sum.state == NULL) return;
  const int begin = group * a.each;
  const int end = min(begin + a.beside * a.each, a.columns);
#pragma unroll 1
  for (int column = begin; column < end; column++) {
    const int k = column - c.first;
    const bool own = k >= 0 && k < c.count;
    double sum[4] = {0, 0, 0, 0};
    if (own) {
      sum[0] = *sum_at(k, 0);
      sum[2] = *sum_at(k, 1);
      sum[3] = *sum_at(k, 2);
    }
    if (gate_open(a.sums.gate, column)) sums_finish<2, 8, true, false>(a.sums, column, chunk, sum);
    __syncthreads();
  }
}

/* Computes d and far: the hops to a site. */
template <int RECON, bool IMPROVED, int COLUMNS, bool SHARED, bool NUMBERED>
KAON_DEVICE void site_hops(const staggered_call &a, const kaon_here &here, const kaon_view &in,
                           int count, vcolour *d, vcolour *far) {
  const staggered_site s = site_of(a, here);
#pragma unroll
  for (int k = 0; k < COLUMNS; k++) d[k] = colour_zero();
  add_all<IMPROVED ? 18 : RECON, false, COLUMNS, SHARED, NUMBERED>(a, s, in, count, d);
  if constexpr (IMPROVED) {
#pragma unroll
    for (int k = 0; k < COLUMNS; k++) far[k] = colour_zero();
    add_all<RECON, true, COLUMNS, SHARED, NUMBERED>(a, s, in, count, far);
  }
}

/* SUMS: sums may be requested, and a block may have several tiles. RECON: storage of the long links
 * if there are any, else of the thin links. Warps of one site are consecutive in a block. */
template <int RECON, bool IMPROVED, int COLUMNS, bool SUMS>
static __global__ void __launch_bounds__(staggered_threads<COLUMNS>(),
                                         (whole_blocks<RECON, IMPROVED, COLUMNS, SUMS>()))
    staggered_kernel(const __grid_constant__ staggered_call a) {
  constexpr bool many = COLUMNS > 1, grouped = many && GROUPED;
  constexpr bool numbered = crowded<RECON, IMPROVED, COLUMNS, SUMS>();
  const unsigned rows = many ? (unsigned)(a.groups / a.beside) : 1;
  const unsigned beside = grouped ? (unsigned)a.beside : 1;
  const unsigned warp = threadIdx.x / KAON_LANES;
  const int first = rows == 1 ? 0 : (int)(blockIdx.x % rows * beside);
  const int chunk = (int)(rows == 1 ? blockIdx.x : blockIdx.x / rows);
  const int group = first + (grouped ? (int)(warp % beside) : 0);
  const uint32_t sites = blockDim.x / beside;
  const uint32_t thread =
      grouped ? warp / beside * KAON_LANES + threadIdx.x % KAON_LANES : threadIdx.x;
  kaon_wait_for_previous();
  const column_group c = group_begin<COLUMNS, SUMS>(a, group);
  if (grouped ? !__syncthreads_or((int)c.open) : c.open == 0) return;
  const kaon_view in = colour_view(a.in, c.first);
  for (int tile = chunk; tile < a.tiles; tile += a.sums.chunks) {
    const uint32_t at = (uint32_t)tile * sites + thread, last = (uint32_t)a.sites.nsites - 1;
    const kaon_here here = kaon_here_of(&a.sites, a.parity, (int32_t)min(at, last));
    vcolour d[COLUMNS], far[IMPROVED ? COLUMNS : 1];
    if (!many || a.full) /* the columns' positions are known at compile time */
      site_hops<RECON, IMPROVED, COLUMNS, grouped, numbered>(a, here, in, COLUMNS, d, far);
    else
      site_hops<RECON, IMPROVED, COLUMNS, grouped, numbered>(a, here, in, c.count, d, far);
    if (a.overlaps) kaon_let_next_start();
    if (at <= last) columns_end<IMPROVED, COLUMNS, SUMS>(a, at, c, d, far);
    if (!SUMS) break;
  }
  if constexpr (SUMS) columns_finish(a, first, c, chunk);
}

/* ---- launches ---- */

/* Shared memory of a block for its threads' sums. */
static unsigned sums_room(int wants, int columns, int threads) {
  return wants ? (unsigned)(columns * SITE_SUMS * threads) * (unsigned)sizeof(double) : 0;
}

/* Distributes the columns: groups, and groups of a block. */
template <int COLUMNS>
static void share_columns(staggered_call *a, const kaon_kernel_choice *choice) {
  a->groups = choice->groups;
  a->each = choice->group;
  a->beside = choice->beside;
  a->full = a->columns == a->groups * COLUMNS;
}

/* All columns; COLUMNS = 1: there is only one. */
template <int RECON, bool IMPROVED, int COLUMNS, bool SUMS>
static void run(const kaon_launch *launch, const kaon_kernel_choice *choice, staggered_call *a,
                const kaon_staggered_args *args) {
  const int wants = SUMS && args->sum.state != NULL;
  share_columns<COLUMNS>(a, choice);
  const int threads = choice->threads, sites = threads / a->beside;
  const int chunks = site_chunks((uint32_t)a->sites.nsites, sites, wants);
  a->tiles = (int)(((int64_t)a->sites.nsites + sites - 1) / sites);
  a->sums = kaon_cuda_sums_of(launch, &args->gate, &args->sum, chunks);
  if (args->w.data == NULL) a->sums.sum.slot[1] = KAON_NO_SLOT;
  kaon_cuda_launch(launch, staggered_kernel<RECON, IMPROVED, COLUMNS, SUMS>,
                   (unsigned)(chunks * (a->groups / a->beside)), (unsigned)threads, *a,
                   sums_room(wants, COLUMNS, threads));
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

/* The coordinates whose sum is a sign's exponent. A further bit, for 1, corrects for coordinates:
 * signs use those of the whole lattice, a kernel those on the rank. */
static uint8_t mask_of(const kaon_stencil *st, uint8_t phases) {
  int odd = 0;
  for (int nu = 0; nu < 4; nu++) odd ^= phases >> nu & st->origin[nu] & 1;
  return (uint8_t)(phases | odd << 4);
}

static staggered_call call_of(const kaon_staggered_args *args) {
  const kaon_stencil *st = args->stencil;
  staggered_call a = {};
  a.sites = kaon_sites_of(st, args->parity);
  a.far = kaon_far_of(&a.sites);
  a.overlaps = site_overlaps((uint32_t)st->nsites);
  a.parity = args->parity ^ st->odd_origin;
  a.nrhs = a.columns = args->nrhs;
  a.a = (real)args->a;
  for (int mu = 0; mu < 4; mu++) a.masks[mu] = mask_of(st, args->phases[mu]);
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
static void run_columns(const kaon_launch *launch, const kaon_kernel_choice *choice,
                        const kaon_staggered_args *args) {
  staggered_call a = call_of(args);
  if (args->nrhs > 1)
    run<RECON, IMPROVED, STAGGERED_MANY, true>(launch, choice, &a, args);
  else if (choice->sums != SUMS_NONE)
    run<RECON, IMPROVED, 1, true>(launch, choice, &a, args);
  else
    run<RECON, IMPROVED, 1, false>(launch, choice, &a, args);
}

/* A launcher for thin or long links in `recon` reals. */
#define KAON_STAGGERED_LAUNCHER(name, recon, run)                                  \
  extern "C" void KAON_EXPORT(name##_##recon)(                                     \
      const kaon_launch *launch, const kaon_kernel_choice *choice,                 \
      const kaon_staggered_gather_args *gather, const kaon_staggered_args *args) { \
    run<recon>(launch, choice, gather, args);                                      \
  }

template <int RECON>
static void run_site(const kaon_launch *launch, const kaon_kernel_choice *choice,
                     const kaon_staggered_gather_args *, const kaon_staggered_args *args) {
  if (args->naik.links[0] != NULL)
    run_columns<RECON, true>(launch, choice, args);
  else
    run_columns<RECON, false>(launch, choice, args);
}
