/* gram.cu - sums that join columns on the GPU (blas_ops.h): all products of the columns of two
 * vectors, and the block recurrences after them. The tensor units compute in double
 * (lib/cuda/reduction/mma.h), with positions as the inner index. A warp goes through positions of
 * SIDE columns of either vector and holds all their products. The number of blocks depends only on
 * the shape, and every sum has a fixed order. */
#include "blas/cuda/items.h"
#include "lib/cuda/reduction/mma.h"
#include "lib/math/steps/block_recurrences.h"

/* Columns on either side of a piece of the matrix, in tiles of four. A tile has eight reals, (re,
 * im) alternating. */
enum { TILES = 3, SIDE = 4 * TILES };
/* Items of a column that a lane has in a step; pairs of complex values in them; positions in a
 * step. */
enum { ITEMS = NUMBERS == 2 ? 2 : 1, PAIRS_OF_STEP = ITEMS * NUMBERS / 4, PLACES = 4 * ITEMS };
enum { GRAM_CHUNKS = 264, GROUPS = 16 };
/* Products of tiles at a time. The rows are two tiles (-1: none), the columns one. Products of a
 * Hermitian piece on the diagonal cover each pair of tiles in one order only. */
enum { FEW_PRODUCTS = 3, ALL_PRODUCTS = 6, TILE_ENTRIES = 16 };

typedef struct gram_call {
  items w;
  int hermitian, complex_space;
  int sides; /* pieces along one side of the matrix */
  int64_t turns;
  int shared_room;
  kaon_view v[2];
  kaon_cuda_sums sums;
} gram_call;

/* Not inlined, so a file has one copy. Called by all threads of the block. */
static __device__ __noinline__ void block_run(int id, kaon_column_state *state, int n, int mask,
                                              double *room) {
  const kaon_block_team team =
      kaon_block_team_of(state, n, mask, (int)threadIdx.x, (int)blockDim.x, room);
  kaon_block_run(id, &team);
}

/* ---- operands: lane 8 c + 4 h + t has column c of each tile at positions t, its real (h = 0) or
 * imaginary (h = 1) parts ---- */

typedef struct side {
  int column;    /* its column in tile 0 */
  uint64_t open; /* bit 4 i: its column in tile i is open */
} side;

KAON_DEVICE side side_of(int number, uint64_t open) {
  side s;
  s.column = number * SIDE + (int)threadIdx.x % 32 / 8;
  s.open = s.column < KAON_BLOCK_MAX ? open >> s.column : 0;
  return s;
}

KAON_DEVICE bool is_open(const side &s, int tile) {
  return (s.open >> 4 * tile & 1) != 0;
}

/* A lane's items in a step. */
typedef struct lane_items {
  item x[TILES][ITEMS];
} lane_items;

/* at: index of the lane's first item of tile 0. */
KAON_DEVICE void read_items(const gram_call &a, const kaon_view &v, const side &s, int64_t at,
                            bool whole, lane_items *x) {
#pragma unroll
  for (int i = 0; i < TILES; i++)
#pragma unroll
    for (int c = 0; c < ITEMS; c++) {
      const item zero = {};
      x->x[i][c] =
          is_open(s, i) ? item_read(v, a.w, at + (int64_t)(4 * i) * a.w.unit + 4 * c, whole) : zero;
    }
}

#if !KAON_IS_HALF
typedef struct tile_scale {
  char none;
} tile_scale;

/* The lane's part of complex value c of its items of a tile. */
KAON_DEVICE double part_of(const item *x, int c, const tile_scale &scale) {
  (void)scale;
  const real *pair = x[2 * c / NUMBERS].v + 2 * c % NUMBERS;
  return (double)(threadIdx.x & 4 ? pair[1] : pair[0]);
}
#else
/* Converts an integer q exactly: the upper half of a double holds 2^20 + 2^15 + q, and one fused
 * multiply-add subtracts the offset and applies the scale's factor. */
typedef struct tile_scale {
  double unit, rest;
} tile_scale;

KAON_DEVICE tile_scale scale_of(float unit) {
  tile_scale s;
  s.unit = (double)unit;
  s.rest = -1081344.0 * s.unit;
  return s;
}

KAON_DEVICE double part_of(const item *x, int c, const tile_scale &scale) {
  const int which = threadIdx.x & 4 ? 0x7632 : 0x7610;
  const uint32_t upper = __byte_perm(x[0].v[c] ^ 0x80008000u, 0x41300000u, which);
  return fma(__hiloint2double((int)upper, 0), scale.unit, scale.rest);
}
#endif

/* ---- products ---- */

template <bool ALL>
static __host__ __device__ constexpr int products() {
  return ALL ? ALL_PRODUCTS : FEW_PRODUCTS;
}
/* Rows and columns of product m: 01|0 01|1 01|2 2-|0 2-|1 2-|2, or 01|1 20|0 12|2. */
template <bool ALL>
static __host__ __device__ constexpr int tile_of_rows(int m, int second) {
  return ALL ? (m < 3    ? second
                : second ? -1
                         : 2)
             : (second ? (m == 0   ? 1
                          : m == 1 ? 0
                                   : 2)
                       : (m == 0   ? 0
                          : m == 1 ? 2
                                   : 1));
}
template <bool ALL>
static __host__ __device__ constexpr int tile_of_columns(int m) {
  return ALL ? m % 3 : m == 0 ? 1 : m == 1 ? 0 : 2;
}

/* Adds the products of the lanes' items to sum. */
template <bool ALL>
KAON_DEVICE void add_items(double sum[][4], const lane_items &x, const tile_scale *x_scale,
                           const lane_items &y, const tile_scale *y_scale) {
#pragma unroll
  for (int p = 0; p < PAIRS_OF_STEP; p++) {
    double u[TILES][2], w[TILES][2];
#pragma unroll
    for (int i = 0; i < TILES; i++)
#pragma unroll
      for (int c = 0; c < 2; c++) {
        u[i][c] = part_of(x.x[i], 2 * p + c, x_scale[i]);
        w[i][c] = part_of(y.x[i], 2 * p + c, y_scale[i]);
      }
#pragma unroll
    for (int m = 0; m < products<ALL>(); m++) {
      const int upper = tile_of_rows<ALL>(m, 0), lower = tile_of_rows<ALL>(m, 1);
      const double left[4] = {u[upper][0], lower < 0 ? 0 : u[lower < 0 ? 0 : lower][0], u[upper][1],
                              lower < 0 ? 0 : u[lower < 0 ? 0 : lower][1]};
      mma_double(sum[m], left, w[tile_of_columns<ALL>(m)]);
    }
  }
}

/* One iteration. Double and single: consecutive steps; half: four sites with all their groups. */
#if !KAON_IS_HALF
template <bool ALL, bool SAME>
static __host__ __device__ constexpr int steps_of_turn() {
  return ALL ? 1 : (SAME ? 4 : 2) / ITEMS;
}

template <bool ALL, bool SAME>
KAON_DEVICE void add_turn(const gram_call &a, int64_t turn, const side &sx, const side &sy,
                          double sum[][4]) {
  constexpr int steps = steps_of_turn<ALL, SAME>();
  lane_items x[steps], y[steps];
  tile_scale none[TILES];
#pragma unroll
  for (int s = 0; s < steps; s++) {
    const int64_t place = (turn * steps + s) * PLACES + threadIdx.x % 4;
    if (place >= a.w.count) {
      x[s] = y[s] = lane_items{};
      continue;
    }
    read_items(a, a.v[0], sx, item_at(a.w, place, sx.column), true, &x[s]);
    if (!SAME) read_items(a, a.v[1], sy, item_at(a.w, place, sy.column), true, &y[s]);
  }
#pragma unroll
  for (int s = 0; s < steps; s++) add_items<ALL>(sum, x[s], none, SAME ? x[s] : y[s], none);
}
#else
template <bool ALL, bool SAME>
static __host__ __device__ constexpr int steps_of_turn() {
  return 1;
}

template <bool ALL, bool SAME>
KAON_DEVICE void add_groups(const gram_call &a, int64_t turn, const side &sx, const side &sy,
                            bool whole, int first, int groups, const tile_scale *x_scale,
                            const tile_scale *y_scale, double sum[][4]) {
  const int lane = (int)(turn % 8) * 4 + (int)threadIdx.x % 4;
#pragma unroll(SAME ? 3 : 1)
  for (int g = first; g < groups; g++) {
    lane_items x, y;
    const int64_t unit = turn / 8 * a.w.nrhs;
    read_items(a, a.v[0], sx, (unit + sx.column) * a.w.unit + g * KAON_LANES + lane, whole, &x);
    if (!SAME)
      read_items(a, a.v[1], sy, (unit + sy.column) * a.w.unit + g * KAON_LANES + lane, whole, &y);
    add_items<ALL>(sum, x, x_scale, SAME ? x : y, SAME ? x_scale : y_scale);
  }
}

KAON_DEVICE void read_scales(const gram_call &a, const kaon_view &v, const side &s, int64_t turn,
                             tile_scale *scale) {
  const int64_t at = (turn / 8 * a.w.nrhs + s.column) * KAON_LANES + turn % 8 * 4 + threadIdx.x % 4;
#pragma unroll
  for (int i = 0; i < TILES; i++)
    scale[i] = scale_of(is_open(s, i) ? kaon_half_unit(v.scale[at + 4 * i * KAON_LANES]) : 0);
}

template <bool ALL, bool SAME>
KAON_DEVICE void add_turn(const gram_call &a, int64_t turn, const side &sx, const side &sy,
                          double sum[][4]) {
  enum { SPINOR_GROUPS = 3 };
  tile_scale x_scale[TILES], y_scale[TILES];
  read_scales(a, a.v[0], sx, turn, x_scale);
  if (!SAME) read_scales(a, a.v[1], sy, turn, y_scale);
  if (a.w.groups == SPINOR_GROUPS && a.w.pack == NUMBERS)
    add_groups<ALL, SAME>(a, turn, sx, sy, true, 0, SPINOR_GROUPS, x_scale, y_scale, sum);
  else
    add_groups<ALL, SAME>(a, turn, sx, sy, false, 0, a.w.groups, x_scale, y_scale, sum);
}
#endif

/* Adds a piece over this block's iterations, separately for each warp, and writes
 * room[warp][entry]. For value c of the rows and t of the columns of product m, with second tile r,
 * the entry is ((2 m + r) 4 + c) 4 + t. */
template <bool ALL, bool SAME>
KAON_DEVICE void add_turns(const gram_call &a, const side &sx, const side &sy, double2 *room) {
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  double sum[products<ALL>()][4];
#pragma unroll
  for (int e = 0; e < 4 * products<ALL>(); e++) sum[e / 4][e % 4] = 0;
  for (int64_t turn = (int64_t)blockIdx.x * KAON_WARPS + warp; turn < a.turns;
       turn += (int64_t)a.sums.chunks * KAON_WARPS)
    add_turn<ALL, SAME>(a, turn, sx, sy, sum);
#pragma unroll
  for (int m = 0; m < products<ALL>(); m++)
#pragma unroll
    for (int r = 0; r < 2; r++) {
      /* this lane has (re, re) and (re, im), the lane of the imaginary part (im, re) and (im,
       * im) */
      const double im_re = __shfl_xor_sync(0xffffffffu, sum[m][2 * r], 4);
      const double im_im = __shfl_xor_sync(0xffffffffu, sum[m][2 * r + 1], 4);
      if ((lane & 4) == 0)
        room[((warp * products<ALL>() + m) * 2 + r) * TILE_ENTRIES + lane / 8 * 4 + lane % 4] =
            make_double2(sum[m][2 * r] + im_im, sum[m][2 * r + 1] - im_re);
    }
  __syncthreads();
}

/* Writes this block's sums to partials[chunk n^2 + j n + i]; Hermitian: only i <= j. */
template <bool ALL>
KAON_DEVICE void gram_leave(const gram_call &a, int piece_i, int piece_j, const double2 *room) {
  enum { ENTRIES = 2 * products<ALL>() * TILE_ENTRIES };
  const int n = a.w.nrhs;
  double2 *partials = (double2 *)a.sums.partials + (int64_t)blockIdx.x * n * n;
  for (int e = threadIdx.x; e < ENTRIES; e += KAON_THREADS) {
    const int m = e / (2 * TILE_ENTRIES), rows = tile_of_rows<ALL>(m, e / TILE_ENTRIES % 2);
    const int i = piece_i * SIDE + rows * 4 + e / 4 % 4;
    const int j = piece_j * SIDE + tile_of_columns<ALL>(m) * 4 + e % 4;
    if (rows < 0 || i >= n || j >= n) continue;
    /* (i, j) and (j, i) agree only after all chunks are added, so always the same one is used */
    if (a.hermitian && i > j && (ALL || i / 4 == j / 4)) continue;
    double2 z = room[e];
    for (int w = 1; w < KAON_WARPS; w++) {
      z.x += room[w * ENTRIES + e].x;
      z.y += room[w * ENTRIES + e].y;
    }
    const bool swap = a.hermitian && i > j;
    partials[swap ? i * n + j : j * n + i] = make_double2(z.x, swap ? -z.y : z.y);
  }
  __threadfence();
}

/* ---- completion ---- */

/* Adds the partial sums first, first + step, ... below end of an entry. */
KAON_DEVICE double2 gram_add(const gram_call &a, int entry, int first, int step, int end) {
  const double2 *parts = (const double2 *)a.sums.partials;
  double2 total = make_double2(0, 0);
#pragma unroll 8
  for (int c = first; c < end; c += step) {
    const double2 z = __ldcg(parts + (int64_t)c * a.w.nrhs * a.w.nrhs + entry);
    total.x += z.x;
    total.y += z.y;
  }
  return total;
}

KAON_DEVICE bool gram_has(const gram_call &a, int entry) {
  return !a.hermitian || entry % a.w.nrhs <= entry / a.w.nrhs;
}

/* If there are many chunks, they are added in groups, each by its last block; the last of these
 * blocks adds the groups. Chunk c belongs to group c % groups. The sum of a group replaces the
 * partial sum of chunk `group`. Each group needs a ticket, and there are as many as columns. 0: no
 * groups. */
KAON_DEVICE int gram_groups(const gram_call &a) {
  const int n = a.w.nrhs;
  return n < 4 || a.sums.chunks <= 2 * GROUPS ? 0 : n <= GROUPS ? n - 1 : GROUPS;
}

/* Returns true in the last block, once all sums are available. */
KAON_DEVICE bool gram_last(const gram_call &a, int chunk, int blocks_y) {
  const int chunks = a.sums.chunks, groups = gram_groups(a), n = a.w.nrhs;
  if (groups == 0) return sums_last(a.sums, 0, chunks * blocks_y);
  const int group = chunk % groups, members = (chunks - group + groups - 1) / groups;
  if (!sums_last(a.sums, 1 + group, members * blocks_y)) return false;
  for (int e = threadIdx.x; e < n * n; e += KAON_THREADS)
    if (gram_has(a, e))
      ((double2 *)a.sums.partials)[(int64_t)group * n * n + e] =
          gram_add(a, e, group, groups, chunks);
  __threadfence();
  return sums_last(a.sums, 0, groups);
}

/* Writes entry (i, j) to the slot of column j, and its mirror image. */
KAON_DEVICE void gram_slots(const gram_call &a, uint64_t open) {
  const int n = a.w.nrhs, parts = gram_groups(a) > 0 ? gram_groups(a) : a.sums.chunks;
  kaon_column_state *state = a.sums.sum.state;
  for (int e = threadIdx.x; e < n * n; e += KAON_THREADS) {
    const int i = e % n, j = e / n;
    if (!gram_has(a, e) || !(open >> i & open >> j & 1)) continue;
    double2 z = gram_add(a, e, 0, 1, parts);
    if (!a.complex_space || (a.hermitian && i == j)) z.y = 0;
    kaon_set(&state[j], a.sums.sum.slot[0] + i, z.x, z.y);
    if (a.hermitian && i != j) kaon_set(&state[i], a.sums.sum.slot[0] + j, z.x, -z.y);
  }
  __syncthreads();
}

/* The piece of blockIdx.y. Pieces of the upper triangle are numbered column by column. */
KAON_DEVICE void piece_place(const gram_call &a, int number, int *i, int *j) {
  *i = number;
  *j = 0;
  if (a.hermitian)
    while (*i > *j) *i -= ++*j;
  else
    *j = number / a.sides, *i = number % a.sides;
}

/* ALL: all products of tiles, for any matrix except a Hermitian one of a single piece. */
template <bool ALL, bool SAME>
static __global__ void __launch_bounds__(KAON_THREADS, 2)
    gram_kernel(const __grid_constant__ gram_call a) {
  extern __shared__ __align__(16) char shared[];
  const int n = a.w.nrhs;
  const uint64_t open = open_columns(a.sums.gate, n);
  if (a.v[0].data != NULL) {
    int i, j;
    if (open == 0) return;
    piece_place(a, blockIdx.y, &i, &j);
    add_turns<ALL, SAME>(a, side_of(i, open), side_of(j, open), (double2 *)shared);
    gram_leave<ALL>(a, i, j, (const double2 *)shared);
    if (!gram_last(a, blockIdx.x, gridDim.y)) return;
    gram_slots(a, open);
  }
  if (a.sums.sum.then != 0)
    block_run(a.sums.sum.then, a.sums.sum.state, n, a.sums.gate.mask,
              a.shared_room ? (double *)shared : a.sums.partials);
}

/* Determines the shape of the sums: iterations (of `places` positions, except in half) and chunks.
 * Returns the number of pieces of the matrix. */
static int gram_shape(const kaon_update_args *args, int places, gram_call *a, int64_t *chunks) {
  const int n = args->shape.nrhs;
  const int64_t room = (int64_t)KAON_REDUCE_CHUNKS * KAON_REDUCE_MAX / (2 * n);
  a->w = items_of(&args->shape);
  a->sides = (n + SIDE - 1) / SIDE;
  a->turns =
      KAON_IS_HALF ? args->shape.nblocks * (KAON_LANES / 4) : (a->w.count + places - 1) / places;
  *chunks = (a->turns + KAON_WARPS - 1) / KAON_WARPS;
  if (*chunks > GRAM_CHUNKS) *chunks = GRAM_CHUNKS;
  if (*chunks > room) *chunks = room;
  return a->hermitian ? a->sides * (a->sides + 1) / 2 : a->sides * a->sides;
}

template <bool ALL, bool SAME>
static void launch_gram(const kaon_launch *launch, const kaon_update_args *args) {
  gram_call a = {};
  const int n = args->shape.nrhs;
  int64_t chunks = 1;
  int pieces = 1;
  a.v[0] = args->v[0];
  a.v[1] = args->v[1];
  a.hermitian = args->n;
  a.complex_space = args->shape.complex_space;
  a.w.nrhs = n;
  if (args->v[0].data != NULL)
    pieces = gram_shape(args, PLACES * steps_of_turn<ALL, SAME>(), &a, &chunks);
  a.sums = kaon_cuda_sums_of(launch, &args->gate, &args->sum, (int)chunks);
  size_t bytes = (size_t)(KAON_WARPS * 2 * products<ALL>() * TILE_ENTRIES) * sizeof(double2);
  const size_t room = (size_t)kaon_block_workspace(n) * sizeof(double);
  a.shared_room = room <= 40 << 10;
  if (a.shared_room && bytes < room) bytes = room;
  gram_kernel<ALL, SAME><<<dim3((unsigned)chunks, (unsigned)pieces), KAON_THREADS, bytes,
                           (cudaStream_t)launch->queue>>>(a);
}

extern "C" void KAON_EXPORT(kaon_gram)(const kaon_launch *launch, const kaon_update_args *args) {
  if (args->sum.state == NULL) return;
  if (!args->n || args->shape.nrhs > SIDE)
    launch_gram<true, false>(launch, args);
  else if (args->v[0].data != args->v[1].data)
    launch_gram<false, false>(launch, args);
  else
    launch_gram<false, true>(launch, args);
}
