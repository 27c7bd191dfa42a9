/* coarse.cu - the hop of coarse operators on the GPU (coarse_ops.h). A block of threads has a few
 * sites with all their rows, so that it can multiply by T itself.
 *
 * The columns of every matrix are in RANGES ranges, each with sums of its own, which are added in
 * pairs. On small lattices the ranges are divided among threads. The sums have the same order
 * everywhere, so results do not depend on the size of a rank's part.
 *
 * Three steps, with their results in shared memory: the products of all hops; the argument of T and
 * T's products; the result. */
#include "dslash/coarse/cuda/kernels.h"
#include "dslash/coarse/cuda/product.h"
#include "lib/cuda/ranks/boxes.h"
#include "lib/cuda/ranks/peer.h"

/* RANGES: see above. BLOCK_SITES: most sites of a block; their packets of a column are a line.
 * FULL_BLOCKS: if there are fewer blocks, they get fewer sites. */
enum { RANGES = 4, BLOCK_SITES = 8, FULL_BLOCKS = 264 };
/* Sources of hops: a site of this rank, or one of these, from GHOSTS downwards. */
enum { DROPPED = -1, GHOSTS = -2 };

typedef struct coarse_call {
  kaon_sites sites;
  int parity; /* in coordinates on the rank */
  int reals, packets, nrhs, tiles;
  int pack;          /* of matrix fields */
  int near;          /* sites of a block */
  int beside;        /* threads beside each other for the packets of a site's rows */
  int rows;          /* packets of rows that a thread has at a time, `beside` apart: 1 or 2 */
  int splits, slots; /* threads that share the ranges; results that are kept of them */
  int64_t groups;    /* of `near` sites */
  int chunks, first_chunk;
  int part, on, along, overlaps, peered;
  uint32_t partitioned; /* one bit for each of x, y, z, t */
  int cut[4];
  kaon_divisor block[4];
  real a, b;
  kaon_view hop[KAON_DIRS], ghost[KAON_DIRS];
  kaon_view site, in, x, w, out;
  kaon_peer_exchange peer;
  kaon_cuda_sums sums;
} coarse_call;

/* A thread's place in its block: a site, the first packet of rows, and a share of the ranges. */
typedef struct place {
  int near, row, split;
  int64_t at;
  bool active;
} place;

/* Shared memory: packets [column][packet][site], for D in, for the argument of T, and for the
 * ranges; then each warp's |out|^2 and (w, out) of the columns. */
typedef struct room {
  numbers *hops, *middle, *slots;
  double *sums;
} room;

template <int COLUMNS>
KAON_DEVICE room room_of(const coarse_call &a) {
  extern __shared__ __align__(16) char coarse_shared[];
  room s;
  s.hops = (numbers *)coarse_shared;
  s.middle = s.hops + COLUMNS * a.packets * a.near;
  s.slots = s.middle + COLUMNS * a.packets * a.near;
  s.sums = (double *)(s.slots + a.slots * COLUMNS * a.packets * a.near);
  return s;
}

KAON_DEVICE int room_at(const coarse_call &a, int column, int packet, int near) {
  return (column * a.packets + packet) * a.near + near;
}

/* The warp's sum i of the tile's column k. */
KAON_DEVICE double *sum_at(const room &s, int k, int i) {
  return s.sums + (SITE_SUMS * k + i) * KAON_WARPS + (int)threadIdx.x / 32;
}

/* ---- neighbours ---- */

KAON_DEVICE int32_t source_of(const coarse_call &a, const kaon_here &here, int dir) {
  const int mu = dir & 3;
  if (a.along != 0 && dir != a.along - 1) return DROPPED;
  if (a.cut[mu]) {
    const uint32_t c = (uint32_t)kaon_here_coordinate(&here, mu), d = a.block[mu].d;
    const uint32_t in_block = c - kaon_divide_by(c, &a.block[mu]) * d;
    const bool leaves = in_block == (dir < 4 ? d - 1 : 0);
    if (leaves != (a.along != 0)) return DROPPED;
  }
  if ((a.partitioned >> mu & 1) && kaon_leaves(&a.sites, &here, dir))
    return GHOSTS - (int32_t)kaon_ghost_of(&a.sites, &here, mu);
  int sign;
  return kaon_neighbour_of(&a.sites, &here, dir, &sign);
}

/* Fills the sources of a group's hops. Called by all threads. */
KAON_DEVICE void sources_find(const coarse_call &a, int64_t group,
                              int32_t (*sources)[BLOCK_SITES]) {
  for (int i = (int)threadIdx.x; i < KAON_DIRS * a.near; i += (int)blockDim.x) {
    const int near = i % a.near, dir = i / a.near;
    const int64_t at = group * a.near + near;
    sources[dir][near] = at < a.sites.nsites
                             ? source_of(a, kaon_here_of(&a.sites, a.parity, (int32_t)at), dir)
                             : DROPPED;
  }
}

/* Whether this part of the operation updates the site. */
KAON_DEVICE bool is_of_part(const coarse_call &a, int64_t at, int near,
                            const int32_t (*sources)[BLOCK_SITES]) {
  if (at >= a.sites.nsites) return false;
  if (a.part != KAON_PART_INTERIOR && a.part != KAON_PART_BOUNDARY) return true;
  bool reads = false;
  for (int dir = 0; dir < KAON_DIRS; dir++) reads = reads || sources[dir][near] <= GHOSTS;
  return reads == (a.part == KAON_PART_BOUNDARY);
}

/* ---- products ---- */

/* The packets of columns of a range. */
KAON_DEVICE int range_begin(const coarse_call &a, int range) {
  return range * a.packets / RANGES;
}

/* d += the rows of a thread in a field's matrix times vectors. Rows beyond the last are the last. */
template <bool HALF, int ROWS, int COLUMNS, typename VECTORS>
KAON_DEVICE void product_add_rows(const coarse_call &a, const kaon_view &field, const place &p,
                                  int row, const VECTORS &v, int begin, int end,
                                  numbers (*d)[COLUMNS]) {
  matrix_rows<HALF> m[ROWS];
#pragma unroll
  for (int r = 0; r < ROWS; r++)
    m[r] = matrix_of<HALF>(field, p.at, a.reals / 2, a.reals, a.pack,
                           min(row + r * a.beside, a.packets - 1));
  product_add<HALF, ROWS, COLUMNS>(m, v, begin, end, 1, d);
}

/* d += the hops' matrices times their vectors, over a range of columns. half: bytes to the ghosts
 * of this exchange. */
template <bool HALF, int ROWS, int COLUMNS>
KAON_DEVICE void hops_add(const coarse_call &a, const column_tile &c, const place &p, int row,
                          int range, const int32_t (*sources)[BLOCK_SITES], int64_t half,
                          numbers (*d)[COLUMNS]) {
  const int begin = range_begin(a, range), end = range_begin(a, range + 1);
#pragma unroll 1
  for (int dir = 0; dir < KAON_DIRS; dir++) {
    const int32_t source = sources[dir][p.near];
    if (source == DROPPED) continue;
    const bool ghost = source <= GHOSTS;
    kaon_view from = a.in;
    if (ghost) from.data = (char *)a.ghost[dir].data + half;
    packet_vectors v;
    v.first = numbers_at(from, ghost ? GHOSTS - source : source, a.nrhs, a.packets, c.first);
    v.last = c.count - 1;
    v.vector = a.packets * KAON_LANES;
    v.packet = KAON_LANES;
    product_add_rows<HALF, ROWS, COLUMNS>(a, a.hop[dir], p, row, v, begin, end, d);
  }
}

/* d += T times the vectors in shared memory, over a range of columns. */
template <bool HALF, int ROWS, int COLUMNS>
KAON_DEVICE void site_add(const coarse_call &a, const place &p, int row, int range,
                          const numbers *middle, numbers (*d)[COLUMNS]) {
  packet_vectors v;
  v.first = middle + p.near;
  v.last = COLUMNS - 1;
  v.vector = a.packets * a.near;
  v.packet = a.near;
  product_add_rows<HALF, ROWS, COLUMNS>(a, a.site, p, row, v, range_begin(a, range),
                                        range_begin(a, range + 1), d);
}

/* Slot `slot` of a result. */
template <int COLUMNS>
KAON_DEVICE numbers *slot_of(const coarse_call &a, const room &s, int slot, int at) {
  return s.slots + slot * COLUMNS * a.packets * a.near + at;
}

/* Writes the sums of all ranges: of T, or of the hops. A thread adds those that share a slot. */
template <bool HALF, int ROWS, int COLUMNS>
KAON_DEVICE void ranges_write(const coarse_call &a, const column_tile &c, const place &p, bool site,
                              const int32_t (*sources)[BLOCK_SITES], int64_t half, const room &s) {
  const int mine = RANGES / a.splits;
  if (!p.active) return;
  for (int row = p.row; row < a.packets; row += ROWS * a.beside)
    for (int range = p.split * mine; range < (p.split + 1) * mine; range++) {
      numbers d[ROWS][COLUMNS];
#pragma unroll
      for (int i = 0; i < ROWS * COLUMNS; i++) d[i / COLUMNS][i % COLUMNS] = numbers_zero();
      if (site)
        site_add<HALF, ROWS, COLUMNS>(a, p, row, range, s.middle, d);
      else
        hops_add<HALF, ROWS, COLUMNS>(a, c, p, row, range, sources, half, d);
      const bool first = range * a.slots % RANGES == 0;
#pragma unroll
      for (int i = 0; i < ROWS * COLUMNS; i++) {
        const int here = row + i / COLUMNS * a.beside;
        if (here >= a.packets) continue;
        numbers *to =
            slot_of<COLUMNS>(a, s, range * a.slots / RANGES, room_at(a, i % COLUMNS, here, p.near));
        numbers sum = d[i / COLUMNS][i % COLUMNS];
        if (!first) numbers_add(&sum, 1, *to);
        *to = sum;
      }
    }
}

/* The sum over the ranges, by the thread that has the result. */
template <int COLUMNS>
KAON_DEVICE numbers ranges_sum(const coarse_call &a, const room &s, int at) {
  numbers d = *slot_of<COLUMNS>(a, s, 0, at);
  numbers_add(&d, 1, *slot_of<COLUMNS>(a, s, 1, at));
  if (a.slots == 2) return d;
  numbers e = *slot_of<COLUMNS>(a, s, 2, at);
  numbers_add(&e, 1, *slot_of<COLUMNS>(a, s, 3, at));
  numbers_add(&d, 1, e);
  return d;
}

/* ---- a group of sites ---- */

/* The argument of T and, if T does not act on it, D in. */
template <int COLUMNS>
KAON_DEVICE void middle_write(const coarse_call &a, const column_tile &c, const place &p,
                              const room &s) {
  const bool hops = a.hop[0].data != NULL, site = a.site.data != NULL;
  if (!p.active || p.split != 0) return;
  for (int row = p.row; row < a.packets; row += a.beside)
#pragma unroll
    for (int k = 0; k < COLUMNS; k++) {
      const int at = room_at(a, k, row, p.near);
      numbers middle = numbers_zero();
      if (hops) {
        const numbers d = ranges_sum<COLUMNS>(a, s, at);
        s.hops[at] = d;
        if (a.on & KAON_SITE_ON_HOP) numbers_add(&middle, a.b, d);
      }
      if (!site) continue;
      if (a.x.data != NULL && (a.on & KAON_SITE_ON_X))
        numbers_add(&middle, a.a,
                    numbers_at(a.x, p.at, a.nrhs, a.packets, column_of(c, k))[row * KAON_LANES]);
      s.middle[at] = middle;
    }
}

/* Adds to a thread's |out|^2 and (w, out). */
KAON_DEVICE void sums_add(const coarse_call &a, int column, const place &p, int row,
                          const numbers &d, double *sum) {
  if (a.sums.sum.state == NULL) return;
#pragma unroll
  for (int i = 0; i < PACK; i++)
    sum[0] += (double)v_fma(d.c[i].re, d.c[i].re, d.c[i].im * d.c[i].im);
  if (a.w.data == NULL || !sums_want(a.sums, 1)) return;
  const numbers w = numbers_at(a.w, p.at, a.nrhs, a.packets, column)[row * KAON_LANES];
#pragma unroll
  for (int i = 0; i < PACK; i++) {
    const vcomplex z = c_conj_mul(w.c[i], d.c[i]);
    sum[1] += (double)z.re;
    sum[2] += (double)z.im;
  }
}

/* Adds the threads' sums to their warp's. Called by all threads. */
KAON_DEVICE void sums_keep(const coarse_call &a, const room &s, int k, const double *sum) {
  if (a.sums.sum.state == NULL) return;
#pragma unroll
  for (int i = 0; i < SITE_SUMS; i++) {
    const double x = warp_sum(sum[i]);
    if (threadIdx.x % 32 == 0) *sum_at(s, k, i) += x;
  }
}

/* Stores column k of the tile. */
template <int COLUMNS>
KAON_DEVICE void column_store(const coarse_call &a, const column_tile &c, const place &p,
                              const room &s, int k, double *sum) {
  const bool hops = a.hop[0].data != NULL, site = a.site.data != NULL;
  const int column = c.first + k;
  for (int row = p.row; row < a.packets; row += a.beside) {
    const int at = room_at(a, k, row, p.near);
    numbers d = numbers_zero();
    if (site) d = ranges_sum<COLUMNS>(a, s, at);
    if (hops && !(a.on & KAON_SITE_ON_HOP)) numbers_add(&d, a.b, s.hops[at]);
    if (a.x.data != NULL && !(a.on & KAON_SITE_ON_X))
      numbers_add(&d, a.a, numbers_at(a.x, p.at, a.nrhs, a.packets, column)[row * KAON_LANES]);
    numbers_at(a.out, p.at, a.nrhs, a.packets, column)[row * KAON_LANES] = d;
    sums_add(a, column, p, row, d, sum);
  }
}

/* Stores the results, and adds to the columns' sums. */
template <int COLUMNS>
KAON_DEVICE void results_store(const coarse_call &a, const column_tile &c, const place &p,
                               const room &s) {
#pragma unroll 1
  for (int k = 0; k < COLUMNS; k++) {
    double sum[SITE_SUMS] = {};
    if (!(c.open >> k & 1)) continue;
    if (p.active && p.split == 0) column_store<COLUMNS>(a, c, p, s, k, sum);
    sums_keep(a, s, k, sum);
  }
}

template <bool HALF, int ROWS, int COLUMNS>
KAON_DEVICE void group_update(const coarse_call &a, const column_tile &c, int64_t group,
                              int64_t half) {
  __shared__ int32_t sources[KAON_DIRS][BLOCK_SITES];
  const room s = room_of<COLUMNS>(a);
  const int thread = (int)threadIdx.x, rest = thread / a.near;
  place p;
  p.near = thread % a.near;
  p.row = rest % a.beside;
  p.split = rest / a.beside;
  p.at = group * a.near + p.near;
  sources_find(a, group, sources);
  __syncthreads();
  p.active = p.split < a.splits && is_of_part(a, p.at, p.near, sources);
  if (a.hop[0].data != NULL) {
    ranges_write<HALF, ROWS, COLUMNS>(a, c, p, false, sources, half, s);
    __syncthreads();
  }
  middle_write<COLUMNS>(a, c, p, s);
  if (a.site.data != NULL) {
    __syncthreads();
    ranges_write<HALF, ROWS, COLUMNS>(a, c, p, true, sources, half, s);
    __syncthreads();
  }
  if (a.overlaps) kaon_let_next_start();
  results_store<COLUMNS>(a, c, p, s);
  __syncthreads(); /* before the next group's numbers */
}

template <bool HALF, int ROWS, int COLUMNS>
KAON_DEVICE void groups_update(const coarse_call &a, const column_tile &c, int chunk,
                               int64_t half) {
  const room s = room_of<COLUMNS>(a);
  const bool first = threadIdx.x % 32 == 0; /* of a warp */
  for (int i = 0; first && i < SITE_SUMS * COLUMNS; i++) *sum_at(s, 0, i) = 0;
  for (int64_t group = chunk; group < a.groups; group += a.chunks)
    group_update<HALF, ROWS, COLUMNS>(a, c, group, half);
  if (a.sums.sum.state == NULL) return;
#pragma unroll 1
  for (int k = 0; k < COLUMNS; k++) {
    if (!(c.open >> k & 1)) continue;
    double sum[4] = {};
    if (first) {
      sum[0] = *sum_at(s, k, 0);
      sum[2] = *sum_at(s, k, 1);
      sum[3] = *sum_at(s, k, 2);
    }
    sums_finish<2, 8, true, false>(a.sums, c.first + k, a.first_chunk + chunk, sum);
    __syncthreads();
  }
}

template <bool HALF>
static __global__ void __launch_bounds__(KAON_THREADS, 2)
    coarse_hop(const __grid_constant__ coarse_call a) {
  const int tile = (int)(blockIdx.x % (unsigned)a.tiles);
  const int chunk = (int)(blockIdx.x / (unsigned)a.tiles);
  kaon_wait_for_previous();
  const int64_t half = a.peered ? peer_receive(a.peer) : 0;
  const column_tile c = column_tile_of(a.sums.gate, tile, a.nrhs, MOST_COLUMNS);
  if (c.open != 0) {
    if (c.count == 1)
      groups_update<HALF, 1, 1>(a, c, chunk, half);
    else if (a.rows == 1)
      groups_update<HALF, 1, MOST_COLUMNS>(a, c, chunk, half);
    else
      groups_update<HALF, 2, MOST_COLUMNS>(a, c, chunk, half);
  }
  if (a.peered && a.part == KAON_PART_BOUNDARY && threadIdx.x == 0)
    peer_leave(a.peer, peer_turn(a.peer), 1, gridDim.x);
}

/* ---- launch ---- */

/* Sites and threads of a block. They do not affect results. On a lattice that fills the device two
 * packets of rows share the loads of several vectors, which would take as long as the arithmetic of
 * one packet. */
static int block_shape(coarse_call *a) {
  a->near = BLOCK_SITES;
  while (a->near > 1 && a->near * a->packets > KAON_THREADS) a->near /= 2;
  while (a->near > 2 && a->sites.nsites / a->near < FULL_BLOCKS) a->near /= 2;
  a->rows = a->nrhs > 1 && a->near == BLOCK_SITES ? 2 : 1;
  const int wanted = (a->packets + a->rows - 1) / a->rows;
  a->beside = KAON_THREADS / a->near < wanted ? KAON_THREADS / a->near : wanted;
  a->splits = 1;
  while (2 * a->splits <= RANGES && 2 * a->splits * a->near * a->beside <= KAON_THREADS)
    a->splits *= 2;
  a->slots = a->splits < RANGES ? RANGES / 2 : RANGES;
  a->groups = (a->sites.nsites + a->near - 1) / a->near;
  return (a->near * a->beside * a->splits + KAON_LANES - 1) / KAON_LANES * KAON_LANES;
}

static void neighbours(coarse_call *a, const kaon_stencil *st) {
  a->along = st->along;
  for (int mu = 0; mu < 4; mu++) {
    a->cut[mu] = st->cut[mu] != 0;
    a->block[mu] = kaon_divisor_of((uint32_t)(a->cut[mu] ? st->cut[mu] : 1));
    if (st->faces != NULL && st->faces->partitioned[mu]) a->partitioned |= 1u << mu;
  }
}

/* Chunks of the sums: INTERIOR has the first half of them, BOUNDARY the other. */
static void chunks_share(coarse_call *a, const kaon_launch *launch, const kaon_coarse_args *args) {
  const int divided = args->part != KAON_PART_ALL, wants = args->sum.state != NULL;
  const int64_t room = KAON_REDUCE_CHUNKS * KAON_REDUCE_MAX / 4 / (divided ? 2 : 1);
  const int64_t all = a->groups > 0 ? a->groups : 1;
  a->chunks = (int)(wants && all > room ? room : all);
  a->first_chunk = args->part == KAON_PART_BOUNDARY ? a->chunks : 0;
  a->sums = kaon_cuda_sums_of(launch, &args->gate, &args->sum, a->chunks * (divided ? 2 : 1));
  if (args->w.data == NULL) a->sums.sum.slot[1] = KAON_NO_SLOT;
}

static void coarse_run(const kaon_launch *launch, const kaon_coarse_args *args) {
  coarse_call a = {};
  a.sites = kaon_sites_of(args->stencil, args->parity);
  a.parity = args->parity ^ args->stencil->odd_origin;
  a.reals = args->reals;
  a.packets = args->reals / (2 * PACK);
  a.nrhs = args->nrhs;
  a.tiles = column_tiles(args->nrhs, MOST_COLUMNS);
  a.pack = kaon_pack(KAON_ACCESS, args->reals, args->half_matrices ? 2 : (int)sizeof(real));
  a.part = args->part;
  a.on = args->site.data != NULL ? args->on : 0;
  a.a = (real)args->a;
  a.b = (real)args->b;
  a.site = args->site;
  a.in = args->in;
  a.x = args->x;
  a.w = args->w;
  a.out = args->out;
  memcpy(a.hop, args->hop, sizeof a.hop);
  memcpy(a.ghost, args->ghost, sizeof a.ghost);
  if (args->peer != NULL) {
    a.peered = 1;
    a.peer = *args->peer;
  }
  neighbours(&a, args->stencil);
  const int threads = block_shape(&a);
  chunks_share(&a, launch, args);
  a.overlaps = site_overlaps((uint32_t)a.sites.nsites) && a.groups <= a.chunks;
  const int columns = args->nrhs > 1 ? MOST_COLUMNS : 1;
  const int shared = columns * ((2 + a.slots) * a.packets * a.near * (int)sizeof(numbers) +
                                SITE_SUMS * KAON_WARPS * (int)sizeof(double));
  auto kernel = coarse_hop<false>;
#if defined(KAON_PREC_SINGLE)
  if (args->half_matrices) kernel = coarse_hop<true>;
#endif
  cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared);
  kaon_cuda_launch(launch, kernel, (unsigned)(a.chunks * a.tiles), (unsigned)threads, a,
                   (unsigned)shared);
}

extern "C" const kaon_coarse_ops KAON_EXPORT(kaon_coarse_ops) = {
    .hop = coarse_run,
    .gather = KAON_EXPORT(kaon_coarse_gather),
    .inverse = KAON_EXPORT(kaon_coarse_inverse),
    .collect = KAON_EXPORT(kaon_coarse_collect),
    .dense = KAON_EXPORT(kaon_coarse_dense),
    .add_to_matrix = KAON_EXPORT(kaon_coarse_add_to_matrix),
    .take_from_matrix = KAON_EXPORT(kaon_coarse_take_from_matrix),
    .column_norms = KAON_EXPORT(kaon_coarse_column_norms),
};
