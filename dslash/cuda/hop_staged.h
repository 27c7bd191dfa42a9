/* hop_staged.h - the Wilson hop of many columns. A block holds the links of a tile of sites in
 * registers and processes one column after another. During one column, asynchronous copies bring
 * the next column's spinors, those of the tile and those around it, to shared memory. So links are
 * read from the second-level cache, and rebuilt, once for all columns. The tile's own spinors are
 * read once for up to eight uses. The physics is that of hop_kernel.h.
 *
 * The limit is still the second-level cache, with memory close to its limit too
 * (bench/notes/design-cuda-hop-columns.md).
 *
 * A cell is a position in x / 2, y, z, t and has one site of each parity. Spinors are read in one
 * parity and sites updated in the other. A thread updates its cell's site. It copies its cell's
 * spinor and those neighbours of its site that are outside the tile, at most one in each direction.
 * In double a site has two threads, one for the four forward hops, one for the backward ones, since
 * eight links do not fit a thread's registers. There links stay as stored and are rebuilt for each
 * column. */
#pragma once

#include <cuda_pipeline.h>

#include "dslash/cuda/hop_kernel.h"

enum {
  STAGE_SIDES = STAGE_SIDES_OF((int)sizeof(stored)), /* threads for a site */
  STAGE_DIRS = 8 / STAGE_SIDES,                      /* hops of a thread */
  STAGE_THREADS = STAGE_CELLS * STAGE_SIDES,
  STAGE_BLOCKS = sizeof(real) == 8 ? 1 : 2, /* minimum of resident blocks on a multiprocessor */
  STAGE_SUM_CHUNKS = 528                    /* maximum blocks for the sums of the columns */
};

/* A tile has 2^bits cells in x / 2, y, z, t, indexed in this order. It needs at least 2 in y, z and
 * t, or a site would have two neighbours outside in one direction. */
static constexpr uint8_t stage_bits[4] = STAGE_BITS;

static __host__ __device__ constexpr int stage_shift(int mu) {
  return mu == 0 ? 0 : stage_shift(mu - 1) + stage_bits[mu - 1];
}

/* Position at which the spinors outside the tile in direction mu begin: after the tile's own, t
 * first. In x every row of cells has one outside, alternately before its first cell or after its
 * last. Two rows share eight positions and use the ends of them, so that reads of a row cover all
 * banks. */
static __host__ __device__ constexpr int stage_begin(int mu) {
  return mu == 3 ? STAGE_CELLS : stage_begin(mu + 1) + (2 * STAGE_CELLS >> stage_bits[mu + 1]);
}

enum {
  STAGE_POSITIONS = stage_begin(0) + (STAGE_CELLS >> stage_bits[0]) / 2 * 8,
  STAGE_SCALES = STAGE_POSITIONS * 24 * (int)sizeof(stored), /* half: after the packets */
  STAGE_BYTES = STAGE_SCALES + (KAON_IS_HALF ? STAGE_POSITIONS * (int)sizeof(float) : 0),
  STAGE_LINE = 128, /* a row of cells begins a line: a copy that straddled two would load twice */
  STAGE_CAPACITY =
      STAGE_LINE + 2 * STAGE_BYTES + (STAGE_SIDES > 1 ? STAGE_CELLS * 24 * (int)sizeof(real) : 0),
  STAGE_STATIC = 8 << 10 /* more than the block's other shared memory */
};
static_assert(STAGE_BYTES % STAGE_LINE == 0, "the second stage begins with a line, too");
static_assert(STAGE_BLOCKS * (STAGE_CAPACITY + STAGE_STATIC) == STAGE_SHARED((int)sizeof(stored)),
              "the kernel's row says so");

/* A thread's site, the positions of its neighbours' spinors, and what it copies from outside. */
typedef struct stage_place {
  kaon_here here;
  int cell, side;
  int at[8];
  int to[4]; /* position; -1: no neighbour outside in this direction */
  uint32_t from[4];
} stage_place;

template <int MU>
KAON_DEVICE void stage_direction(const hop_call &a, stage_place *p) {
  constexpr int bits = stage_bits[MU], shift = stage_shift(MU), last = (1 << bits) - 1;
  const int i = p->cell, c = i >> shift & last;
  const bool odd_x = p->here.x & 1;
  const bool moves[2] = {MU > 0 || odd_x, MU > 0 || !odd_x}; /* to another cell */
  const bool ahead = c == last && moves[0], behind = c == 0 && moves[1];
  int position = stage_begin(MU), sign;
  if constexpr (MU == 0)
    position += (i >> (bits + 1)) * 8 + (ahead ? 0 : 7);
  else
    position += (ahead ? STAGE_CELLS >> bits : 0) + (i >> (shift + bits) << shift) +
                (i & ((1 << shift) - 1));
  p->at[MU] = ahead ? position : i + (moves[0] ? 1 << shift : 0);
  p->at[MU + 4] = behind ? position : i - (moves[1] ? 1 << shift : 0);
  p->to[MU] = ahead || behind ? position : -1;
  const uint32_t forward = (uint32_t)kaon_neighbour_of(&a.sites, &p->here, MU, &sign);
  const uint32_t backward = (uint32_t)kaon_neighbour_of(&a.sites, &p->here, MU + 4, &sign);
  p->from[MU] = ahead ? forward : backward;
}

KAON_DEVICE void stage_find(const hop_call &a, int tile, stage_place *p) {
  p->cell = (int)threadIdx.x % STAGE_CELLS;
  p->side = STAGE_SIDES == 1 ? 0 : (int)threadIdx.x / STAGE_CELLS;
  p->here = kaon_here_in_tile(&a.sites, a.parity, (uint32_t)tile, (uint32_t)p->cell);
  stage_direction<0>(a, p);
  stage_direction<1>(a, p);
  stage_direction<2>(a, p);
  stage_direction<3>(a, p);
}

/* ---- spinors in shared memory: packet g of position i has index g * STAGE_POSITIONS + i ---- */

KAON_DEVICE void stage_copy_in(char *stage, int to, const kaon_view &v, uint32_t site, int units) {
  const char *from = packet_address<24>(v.data, packet_at<24>(site, units));
#pragma unroll
  for (int g = 0; g < packets<24>::count; g++)
    __pipeline_memcpy_async(stage + (g * STAGE_POSITIONS + to) * 16, from + g * (KAON_LANES * 16),
                            16);
#if KAON_IS_HALF
  __pipeline_memcpy_async(stage + STAGE_SCALES + to * 4, v.scale + scale_at(site, units), 4);
#endif
}

/* Starts the copies of a column's spinors. */
KAON_DEVICE void stage_column(const hop_call &a, int column, const stage_place &p, char *stage) {
  const kaon_view v = column_view(a.in, column);
  if (p.side == 0) stage_copy_in(stage, p.cell, v, (uint32_t)p.here.at, a.nrhs);
#pragma unroll
  for (int mu = 3; mu >= 0; mu--)
    if (p.to[mu] >= 0 && (STAGE_SIDES == 1 || p.side == mu / 2))
      stage_copy_in(stage, p.to[mu], v, p.from[mu], a.nrhs);
  __pipeline_commit();
}

KAON_DEVICE void stage_load(const char *stage, int at, raw_spinor *psi) {
#pragma unroll
  for (int g = 0; g < packets<24>::count; g++) {
    const words<16> x = *(const words<16> *)(stage + (g * STAGE_POSITIONS + at) * 16);
    memcpy((char *)psi->c + g * 16, &x, 16);
  }
#if KAON_IS_HALF
  psi->unit = kaon_half_unit(*(const float *)(stage + STAGE_SCALES + at * 4));
#else
  psi->unit = 1;
#endif
}

/* ---- links and hops; direction DIR has index DIR % STAGE_DIRS in a thread ---- */

/* Rebuilt, or in double as stored. */
template <int RECON>
struct stage_links {
  static constexpr bool rebuilt = sizeof(real) < 8;
  real u[STAGE_DIRS][rebuilt ? 18 : RECON];
  real factor[2 / STAGE_SIDES]; /* of the hops in t */
};

template <int RECON, int DIR>
KAON_DEVICE void stage_link(const hop_call &a, const kaon_here &here, stage_links<RECON> *links) {
  real *u = links->u[DIR % STAGE_DIRS];
  int sign;
  const uint32_t from = (uint32_t)kaon_neighbour_of(&a.sites, &here, DIR, &sign);
  stored raw[RECON];
  hop_link<RECON, DIR>(a, here, from, raw);
  if constexpr (stage_links<RECON>::rebuilt)
    link_numbers<RECON>(raw, u);
  else
    for (int i = 0; i < RECON; i++) u[i] = raw[i];
  if constexpr (DIR % 4 == 3) links->factor[DIR % STAGE_DIRS / 4] = hop_factor<DIR>(a, sign);
}

template <int RECON, int DIR, int SIGN>
KAON_DEVICE void stage_hop(const hop_call &a, const stage_links<RECON> &links, const stage_place &p,
                           const char *stage, vspinor *d) {
  const real *u = links.u[DIR % STAGE_DIRS];
  const real factor = DIR % 4 == 3 ? links.factor[DIR % STAGE_DIRS / 4] : a.factor[DIR % 4];
  raw_spinor psi;
  stage_load(stage, p.at[DIR], &psi);
  if constexpr (stage_links<RECON>::rebuilt) {
    hop_add<RECON, DIR, SIGN, false>(a, psi, u, factor, d);
  } else {
    stored raw[RECON];
    real numbers[18];
    for (int i = 0; i < RECON; i++) raw[i] = (stored)u[i];
    link_numbers<RECON>(raw, numbers);
    hop_add<RECON, DIR, SIGN, false>(a, psi, numbers, factor, d);
  }
}

/* All hops of a thread: its links, or with STAGE their sum. */
template <int RECON>
KAON_DEVICE void stage_all_links(const hop_call &a, const stage_place &p,
                                 stage_links<RECON> *links) {
  if (p.side == 0) {
    stage_link<RECON, 3>(a, p.here, links);
    stage_link<RECON, 2>(a, p.here, links);
    stage_link<RECON, 1>(a, p.here, links);
    stage_link<RECON, 0>(a, p.here, links);
  }
  if (STAGE_SIDES == 1 || p.side == 1) {
    stage_link<RECON, 7>(a, p.here, links);
    stage_link<RECON, 6>(a, p.here, links);
    stage_link<RECON, 5>(a, p.here, links);
    stage_link<RECON, 4>(a, p.here, links);
  }
}

/* In the order of hop_kernel.h, or in that of one side. With one side the hop in t leaves one half
 * of d unset. */
template <int RECON, int SIGN>
KAON_DEVICE void stage_all(const hop_call &a, const stage_links<RECON> &links, const stage_place &p,
                           const char *stage, vspinor *d) {
  if constexpr (STAGE_SIDES > 1) {
    real *value = (real *)d;
    for (int i = 0; i < 24; i++) value[i] = 0;
    if (p.side == 0) {
      stage_hop<RECON, 3, SIGN>(a, links, p, stage, d);
      stage_hop<RECON, 2, SIGN>(a, links, p, stage, d);
      stage_hop<RECON, 1, SIGN>(a, links, p, stage, d);
      stage_hop<RECON, 0, SIGN>(a, links, p, stage, d);
    } else {
      stage_hop<RECON, 7, SIGN>(a, links, p, stage, d);
      stage_hop<RECON, 6, SIGN>(a, links, p, stage, d);
      stage_hop<RECON, 5, SIGN>(a, links, p, stage, d);
      stage_hop<RECON, 4, SIGN>(a, links, p, stage, d);
    }
  } else {
    stage_hop<RECON, 3, SIGN>(a, links, p, stage, d);
    stage_hop<RECON, 7, SIGN>(a, links, p, stage, d);
    stage_hop<RECON, 2, SIGN>(a, links, p, stage, d);
    stage_hop<RECON, 6, SIGN>(a, links, p, stage, d);
    stage_hop<RECON, 1, SIGN>(a, links, p, stage, d);
    stage_hop<RECON, 5, SIGN>(a, links, p, stage, d);
    stage_hop<RECON, 0, SIGN>(a, links, p, stage, d);
    stage_hop<RECON, 4, SIGN>(a, links, p, stage, d);
  }
}

/* Adds the second side's sum to the first's. All threads must call it. */
KAON_DEVICE void stage_join(const stage_place &p, char *room, vspinor *d) {
  constexpr int group = 16 / (int)sizeof(real);
  real *value = (real *)d;
  words<16> *pass = (words<16> *)room + p.cell;
  words<16> x;
  if (p.side == 1)
#pragma unroll
    for (int g = 0; g < 24 / group; g++) {
      memcpy(&x, value + g * group, 16);
      pass[g * STAGE_CELLS] = x;
    }
  __syncthreads();
  if (p.side == 0)
#pragma unroll
    for (int g = 0; g < 24 / group; g++) {
      x = pass[g * STAGE_CELLS];
      real other[group];
      memcpy(other, &x, 16);
      for (int i = 0; i < group; i++) value[g * group + i] += other[i];
    }
}

/* In double: hides from the compiler that stored links are unchanged. Else it would hold rebuilt
 * links, for which there are no registers. */
template <int RECON>
KAON_DEVICE void stage_invalidate(stage_links<RECON> *links) {
#if defined(KAON_PREC_DOUBLE)
#pragma unroll
  for (int i = 0; i < STAGE_DIRS; i++)
#pragma unroll
    for (int c = 0; c < RECON; c++) asm volatile("" : "+d"(links->u[i][c]));
#else
  (void)links;
#endif
}

/* A block's sums, by column, index of the sum, and warp. */
typedef double stage_sums[STAGE_COLUMNS][SITE_SUMS][STAGE_CELLS / 32];

/* sums_finish for all open columns (bits, from column `first` on). The memory round trips of their
 * partial sums and tickets overlap. All threads must call it. */
KAON_DEVICE void stage_finish(const kaon_cuda_sums &s, int first, unsigned open, int chunk,
                              const stage_sums &sums) {
  __shared__ double total[4];
  __shared__ unsigned last;
  static_assert(STAGE_COLUMNS <= 32, "a lane a column");
  __syncthreads();
  for (int i = (int)threadIdx.x; i < STAGE_COLUMNS * 4; i += STAGE_THREADS) {
    const int k = i / 4, number = i % 4; /* |out|^2, 0, (w, out) */
    if (!(open >> k & 1)) continue;
    double x = 0;
    for (int w = 0; number != 1 && w < STAGE_CELLS / 32; w++)
      x += sums[k][number == 0 ? 0 : number - 1][w];
    s.partials[((int64_t)(first + k) * 4 + number) * s.chunks + chunk] = x;
  }
  __syncthreads();
  if (threadIdx.x < 32) {
    const uint32_t end = (uint32_t)s.chunks - 1;
    bool mine = open >> threadIdx.x & 1;
    __threadfence();
    if (mine) mine = atomicInc(&s.tickets[first + (int)threadIdx.x], end) == end;
    __threadfence();
    const unsigned all = __ballot_sync(0xffffffffu, mine);
    if (threadIdx.x == 0) last = all;
  }
  __syncthreads();
#pragma unroll 1
  for (unsigned left = last; left != 0; left &= left - 1) {
    const int column = first + __ffs((int)left) - 1;
    sums_collect(s, column, 4, total);
    if (threadIdx.x == 0) sums_conclude(s, column, 2, total);
    __syncthreads();
  }
}

template <int RECON>
static __global__ void __launch_bounds__(STAGE_THREADS, STAGE_BLOCKS)
    hop_staged(const __grid_constant__ hop_call a) {
  extern __shared__ __align__(16) char shared[];
  __shared__ site_room room;
  __shared__ stage_sums sums;
  char *stages = shared + (-(uint32_t)__cvta_generic_to_shared(shared) & (STAGE_LINE - 1));
  const unsigned groups = (unsigned)a.groups;
  const int first = (int)(blockIdx.x % groups) * a.each, chunk = (int)(blockIdx.x / groups);
  const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
  const bool summed = a.sums.sum.state != NULL;
  kaon_wait_for_previous();
  const bool mine = lane < a.each && first + lane < a.nrhs;
  const unsigned open =
      __ballot_sync(0xffffffffu, mine && inner_gate_open(a.sums.gate, first + (mine ? lane : 0)));
  if (open == 0) return;
  if (summed)
    for (int i = (int)threadIdx.x; i < (int)(sizeof sums / sizeof(double)); i += STAGE_THREADS)
      (&sums[0][0][0])[i] = 0;
  for (int tile = chunk; tile < a.tiles; tile += a.sums.chunks) {
    stage_place p;
    stage_links<RECON> links;
    int number = 0; /* index of the stage */
    stage_find(a, tile, &p);
    stage_column(a, first + __ffs((int)open) - 1, p, stages);
    stage_all_links<RECON>(a, p, &links);
#pragma unroll 1
    for (unsigned left = open; left != 0; number ^= 1) {
      const int k = __ffs((int)left) - 1;
      const char *stage = stages + number * STAGE_BYTES;
      left &= left - 1;
      __pipeline_wait_prior(0);
      __syncthreads(); /* this column has arrived, and the other stage is no longer read */
      if (left != 0)
        stage_column(a, first + __ffs((int)left) - 1, p, stages + (number ^ 1) * STAGE_BYTES);
      else if (a.overlaps)
        kaon_let_next_start();
      stage_invalidate<RECON>(&links);
      vspinor d;
      if (a.dagger)
        stage_all<RECON, -1>(a, links, p, stage, &d);
      else
        stage_all<RECON, 1>(a, links, p, stage, &d);
      if constexpr (STAGE_SIDES > 1) stage_join(p, stages + 2 * STAGE_BYTES, &d);
      if (p.side > 0) continue;
      site_sums_begin(a.sums, room);
      hop_end<false, SUMS_ALL, false>(a, (uint32_t)p.here.at, first, k, &d, room, NULL);
      if (!summed) continue;
#pragma unroll
      for (int i = 0; i < SITE_SUMS; i++) {
        if (i > 0 && a.w.data == NULL) break;
        const double x = warp_sum(room[i][threadIdx.x]);
        if (lane == 0) sums[k][i][warp] += x;
      }
    }
    __syncthreads(); /* the next tile begins with stage 0 */
  }
  if (summed) stage_finish(a.sums, first, open, chunk, sums);
}

/* A block takes up to choice->group columns of a tile. */
template <int RECON>
static void run_staged(const kaon_launch *launch, const kaon_kernel_choice *choice,
                       const kaon_gather_args *, const kaon_hop_args *args) {
  static const uint8_t warp[4] = {stage_bits[0], stage_bits[1], 0, 0};
  static const uint8_t block[4] = {0, 0, stage_bits[2], stage_bits[3]};
  static_assert(stage_bits[0] + stage_bits[1] == 5, "a warp's cells are the first 32");
  hop_call a = call_of(args);
  kaon_sites_tile(&a.sites, warp, block);
  a.groups = choice->groups;
  a.each = choice->group;
  a.tiles = (int)(args->stencil->nsites / STAGE_CELLS);
  const bool strides = args->sum.state != NULL && a.tiles > STAGE_SUM_CHUNKS;
  const int chunks = strides ? STAGE_SUM_CHUNKS : a.tiles;
  a.sums = kaon_cuda_sums_of(launch, &args->gate, &args->sum, chunks);
  if (args->w.data == NULL) a.sums.sum.slot[1] = KAON_NO_SLOT;
  cudaFuncSetAttribute(hop_staged<RECON>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                       STAGE_CAPACITY);
  kaon_cuda_launch(launch, hop_staged<RECON>, (unsigned)(chunks * a.groups),
                   (unsigned)choice->threads, a, STAGE_CAPACITY);
}
