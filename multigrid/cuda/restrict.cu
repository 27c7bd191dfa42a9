/* restrict.cu - coarse = V^dagger fine on the GPU (transfer_ops.h). A block of threads has an
 * aggregate and some right-hand sides, which it keeps in shared memory, turned. A warp takes one
 * vector of the basis after another, with sites in its lanes.
 *
 * If an aggregate has too many sites for shared memory, they come in equal chunks. Their number
 * does not depend on the columns, so every sum has a fixed order. */
#include "multigrid/cuda/columns.h"

/* ROOM: shared memory of a block's columns. ENOUGH: blocks that fill a device. */
enum { ROOM = 64 << 10, WARPS = BLOCK_THREADS / 32, ENOUGH = 264 };

typedef struct restrict_call {
  const int32_t *list;
  int sites, chunk; /* of an aggregate; of them at a time */
  kaon_divisor by_chunk;
  int vectors, turned, piece, nrhs, tiles;
  int groups; /* blocks that share the vectors of an aggregate */
  field basis, fine, coarse;
  kaon_gate gate;
} restrict_call;

/* Shared memory: the columns, [column][complex number][site]; sums so far, [column][coarse number];
 * the sites. */
typedef struct room {
  vcomplex *fine, *sums;
  int32_t *places;
} room;

template <int COLUMNS>
KAON_DEVICE room room_of(const restrict_call &a) {
  extern __shared__ __align__(16) char restrict_shared[];
  room s;
  s.fine = (vcomplex *)restrict_shared;
  s.sums = s.fine + COLUMNS * a.fine.reals / 2 * a.chunk;
  s.places = (int32_t *)(s.sums + COLUMNS * 2 * a.vectors);
  return s;
}

KAON_DEVICE const int32_t *list_of(const restrict_call &a, int place) {
  return a.list + (int64_t)(place / KAON_LANES) * a.sites * KAON_LANES + place % KAON_LANES;
}

/* Reads sites begin ... of the aggregate. Called by all threads. */
template <int COLUMNS>
KAON_DEVICE void fine_load(const restrict_call &a, const column_tile &c, int place, int begin,
                           const room &s) {
  const int quarter = a.fine.reals / 4; /* complex numbers of a half */
  for (int i = (int)threadIdx.x; i < a.chunk; i += BLOCK_THREADS)
    s.places[i] = list_of(a, place)[(begin + i) * KAON_LANES];
  __syncthreads();
  for (int i = (int)threadIdx.x; i < quarter * a.chunk; i += BLOCK_THREADS) {
    const int number = (int)kaon_divide_by((uint32_t)i, &a.by_chunk), site = i - number * a.chunk;
    for (int k = 0; k < COLUMNS; k++) {
      const int column = column_of(c, k), there = s.places[site];
      const stored *from = (const stored *)a.fine.data + column_at(a.fine, there, column);
      const real unit = unit_at(a.fine, there, column);
      vcomplex upper = number_at(a.fine, from, number);
      vcomplex lower = number_at(a.fine, from, quarter + number);
      if (KAON_IS_HALF) {
        upper = c_scale(upper, unit);
        lower = c_scale(lower, unit);
      }
      if (a.turned) turn_pair(&upper, &lower);
      vcomplex *to = s.fine + (k * 2 * quarter + number) * a.chunk + site;
      to[0] = upper;
      to[quarter * a.chunk] = lower;
    }
  }
  __syncthreads();
}

/* The warp's products of a vector's halves with all columns, over the chunk. */
template <int PIECE, int COLUMNS>
KAON_DEVICE void products_add(const restrict_call &a, int vector, const room &s,
                              vcomplex (*sum)[COLUMNS]) {
  const int quarter = a.fine.reals / 4, items = quarter / PIECE * a.chunk;
#pragma unroll(COLUMNS > 1 ? 2 : 4)
  for (int i = (int)threadIdx.x % 32; i < items; i += 32) {
    const int piece = (int)kaon_divide_by((uint32_t)i, &a.by_chunk), site = i - piece * a.chunk;
    const int there = s.places[site], number = piece * PIECE;
    vcomplex v[2][PIECE];
    halves_read<PIECE>(a.basis, (const stored *)a.basis.data + column_at(a.basis, there, vector),
                       number, v);
    const real unit = unit_at(a.basis, there, vector);
#pragma unroll
    for (int h = 0; h < 2; h++)
#pragma unroll
      for (int e = 0; e < PIECE; e++) {
        const int row = h * quarter + number + e;
        if (KAON_IS_HALF) v[h][e] = c_scale(v[h][e], unit);
#pragma unroll
        for (int k = 0; k < COLUMNS; k++)
          sum[h][k] =
              c_conj_fma(v[h][e], s.fine[(k * 2 * quarter + row) * a.chunk + site], sum[h][k]);
      }
  }
}

/* The sum over a warp, in all lanes. */
KAON_DEVICE real lanes_sum(real x) {
#pragma unroll
  for (int step = 16; step > 0; step /= 2) x += __shfl_xor_sync(0xffffffffu, x, step);
  return x;
}

/* Adds a chunk's sums to those before, or stores the result. Lane k has column k. */
template <int COLUMNS>
KAON_DEVICE void sums_keep(const restrict_call &a, const column_tile &c, int place, int begin,
                           int number, const room &s, const vcomplex *sum) {
  const int lane = (int)threadIdx.x % 32;
  vcomplex own = c_make(0, 0);
#pragma unroll
  for (int k = 0; k < COLUMNS; k++) {
    const vcomplex all = c_make(lanes_sum(sum[k].re), lanes_sum(sum[k].im));
    if (lane == k) own = all;
  }
  if (lane >= COLUMNS) return;
  vcomplex *before = s.sums + lane * 2 * a.vectors + number;
  if (begin > 0) own = c_add(*before, own);
  if (begin + a.chunk < a.sites) {
    *before = own;
  } else if (c.open >> lane & 1) {
    real *to = (real *)a.coarse.data + column_at(a.coarse, place, c.first + lane) +
               kaon_component_offset(2 * number, KAON_LANES, a.coarse.pack);
    to[0] = own.re;
    to[1] = own.im;
  }
}

template <int PIECE, int COLUMNS>
KAON_DEVICE void aggregate_restrict(const restrict_call &a, const column_tile &c, int place,
                                    int group) {
  const room s = room_of<COLUMNS>(a);
  const int warp = (int)threadIdx.x / 32;
  for (int begin = 0; begin < a.sites; begin += a.chunk) {
    fine_load<COLUMNS>(a, c, place, begin, s);
    for (int j = group * WARPS + warp; j < a.vectors; j += a.groups * WARPS) {
      vcomplex sum[2][COLUMNS];
#pragma unroll
      for (int k = 0; k < COLUMNS; k++) sum[0][k] = sum[1][k] = c_make(0, 0);
      products_add<PIECE, COLUMNS>(a, j, s, sum);
#pragma unroll
      for (int h = 0; h < 2; h++)
        sums_keep<COLUMNS>(a, c, place, begin, h * a.vectors + j, s, sum[h]);
    }
    __syncthreads();
  }
}

/* A lane without an aggregate becomes 0. */
KAON_DEVICE void place_clear(const restrict_call &a, const column_tile &c, int place) {
  for (int k = 0; k < c.count; k++)
    for (int i = (int)threadIdx.x; i < a.coarse.reals && (c.open >> k & 1); i += BLOCK_THREADS)
      ((real *)a.coarse.data)[column_at(a.coarse, place, c.first + k) +
                              kaon_component_offset(i, KAON_LANES, a.coarse.pack)] = 0;
}

static __global__ void __launch_bounds__(BLOCK_THREADS, 2)
    transfer_restrict(const __grid_constant__ restrict_call a) {
  const int tile = (int)(blockIdx.x % (unsigned)a.tiles);
  const unsigned rest = blockIdx.x / (unsigned)a.tiles;
  const int group = (int)(rest % (unsigned)a.groups), place = (int)(rest / (unsigned)a.groups);
  kaon_wait_for_previous();
  const column_tile c = column_tile_of(a.gate, tile, a.nrhs, MOST_COLUMNS);
  if (c.open == 0) return;
  if (*list_of(a, place) < 0) {
    if (group == 0) place_clear(a, c, place);
    return;
  }
  if (a.piece == MOST_PIECE) {
    if (c.count == 1)
      aggregate_restrict<MOST_PIECE, 1>(a, c, place, group);
    else
      aggregate_restrict<MOST_PIECE, MOST_COLUMNS>(a, c, place, group);
  } else if (MOST_PIECE > 1) {
    if (c.count == 1)
      aggregate_restrict<1, 1>(a, c, place, group);
    else
      aggregate_restrict<1, MOST_COLUMNS>(a, c, place, group);
  }
}

/* The largest divisor of `sites` for which MOST_COLUMNS columns fit. */
static int chunk_of(int sites, int fine_reals) {
  const int most = ROOM / (MOST_COLUMNS * fine_reals * (int)sizeof(real));
  int chunk = sites < most ? sites : most;
  while (sites % chunk != 0) chunk--;
  return chunk;
}

extern "C" void KAON_EXPORT(kaon_transfer_restrict_to)(const kaon_launch *launch,
                                                       const kaon_transfer_args *args) {
  const kaon_aggregate_view *v = &args->aggregates;
  const int64_t places = v->coarse_blocks * KAON_LANES;
  restrict_call a = {};
  a.list = v->list;
  a.sites = v->sites;
  a.chunk = chunk_of(v->sites, args->fine_reals);
  a.by_chunk = kaon_divisor_of((uint32_t)a.chunk);
  a.vectors = args->vectors;
  a.turned = args->turned;
  a.piece = piece_of(args->fine_reals);
  a.nrhs = args->nrhs;
  a.tiles = column_tiles(args->nrhs, MOST_COLUMNS);
  a.basis = field_of(&args->basis, args->vectors, args->fine_reals, (int)sizeof(stored));
  a.fine = field_of(&args->fine, args->nrhs, args->fine_reals, (int)sizeof(stored));
  a.coarse = field_of(&args->coarse, args->nrhs, 4 * args->vectors, (int)sizeof(real));
  a.gate = args->gate;
  const int most = (args->vectors + WARPS - 1) / WARPS;
  const int64_t wanted = (ENOUGH + places * a.tiles - 1) / (places * a.tiles);
  a.groups = (int)(wanted < most ? wanted : most);
  const int columns = args->nrhs > 1 ? MOST_COLUMNS : 1;
  const int shared =
      columns * (args->fine_reals / 2 * a.chunk + 2 * args->vectors) * (int)sizeof(vcomplex) +
      a.chunk * (int)sizeof(int32_t);
  cudaFuncSetAttribute(transfer_restrict, cudaFuncAttributeMaxDynamicSharedMemorySize, shared);
  kaon_cuda_launch(launch, transfer_restrict, (unsigned)(places * a.groups * a.tiles),
                   BLOCK_THREADS, a, (unsigned)shared);
}
