/* block.cu - vector updates and sums that join columns, on the GPU (blas_ops.h).
 *
 * An item is a lane's access of a column: 16 bytes, neighbours being (re, im); half: a lane's group
 * of components, under its site's scale. The items of all columns at one place meet in a thread
 * (updates) or a block (sums), so each vector crosses the memory once.
 *
 * Updates: a thread keeps the items that it needs of all columns in shared memory, its own alone,
 * and works out TILE columns at a time; so updates are in place. Half: the warps of a block share
 * out the groups of 32 sites and tell each other their largest new numbers before they round.
 * Sums: a block takes ROWS places of all columns to shared memory, in double, and its threads have
 * an EDGE x EDGE piece of the matrix each, for some of the places; see gram_finish for the rest. */
#include "blas/cuda/unit.h"
#include "lib/math/block.h"

/* Shared memory that a block of updates may take (four fit a large device), and its matrices. */
enum { SHARED_BYTES = 56 << 10, PANEL_BYTES = 16 << 10, MATRICES = 3 };

/* ---- items ---- */

#if !KAON_HALF
enum { NUMBERS = WORD };
typedef word item;
#else
enum { NUMBERS = KAON_ACCESS / (int)sizeof(stored) };
typedef kaon_packet<stored, NUMBERS> item;
#endif

typedef struct items {
  int64_t count;    /* of a column */
  int unit, nrhs;   /* in a unit, and units of a block */
  int pack, groups; /* reals of an item; half: items of a site */
} items;

static items items_of(const kaon_shape *shape) {
  items w;
#if !KAON_HALF
  w.pack = WORD;
#else
  w.pack = kaon_pack(KAON_ACCESS, shape->ncomp, (int)sizeof(stored));
#endif
  w.unit = shape->ncomp * KAON_LANES / w.pack;
  w.count = shape->nblocks * w.unit;
  w.nrhs = shape->nrhs;
  w.groups = shape->ncomp / w.pack;
  return w;
}

/* Where item i of a column stands among all. */
static __device__ __forceinline__ int64_t item_at(const items &w, int64_t i, int column) {
  const int64_t block = i >> 32 == 0 ? (int64_t)((uint32_t)i / (uint32_t)w.unit) : i / w.unit;
  return i + (block * (w.nrhs - 1) + column) * w.unit;
}

#if !KAON_HALF
static __device__ __forceinline__ item item_read(const kaon_view &v, const items &w, int64_t at) {
  (void)w;
  return word_read(v, at);
}

/* What an item's integers are worth. */
static __device__ __forceinline__ float item_step(const kaon_view &v, const items &w, int64_t at) {
  (void)v, (void)w, (void)at;
  return 1;
}

static __device__ __forceinline__ void item_values(const item &x, float step, real *value) {
  (void)step;
#pragma unroll
  for (int r = 0; r < NUMBERS; r++) value[r] = x.v[r];
}
#else
static __device__ __forceinline__ item item_read(const kaon_view &v, const items &w, int64_t at) {
  if (w.pack == NUMBERS) return ((const item *)v.data)[at];
  item x;
#pragma unroll
  for (int r = 0; r < NUMBERS; r++)
    x.v[r] = r < w.pack ? ((const stored *)v.data)[at * w.pack + r] : (stored)0;
  return x;
}

static __device__ __forceinline__ float *item_scale(const kaon_view &v, const items &w,
                                                    int64_t at) {
  return v.scale + at / w.unit * KAON_LANES + at % KAON_LANES;
}

static __device__ __forceinline__ float item_step(const kaon_view &v, const items &w, int64_t at) {
  return kaon_half_unit(*item_scale(v, w, at));
}

static __device__ __forceinline__ void item_values(const item &x, float step, real *value) {
#pragma unroll
  for (int r = 0; r < NUMBERS; r++) value[r] = x.v[r] * step;
}

static __device__ __forceinline__ void item_round(const kaon_view &v, const items &w, int64_t at,
                                                  const real *value, float largest) {
  const float factor = kaon_half_factor(largest);
  item x;
#pragma unroll
  for (int r = 0; r < NUMBERS; r++) v_store_int16(x.v + r, value[r] * factor);
  if (w.pack == NUMBERS)
    ((item *)v.data)[at] = x;
  else
#pragma unroll
    for (int r = 0; r < NUMBERS; r++)
      if (r < w.pack) ((stored *)v.data)[at * w.pack + r] = x.v[r];
  *item_scale(v, w, at) = largest; /* the same from every group of the site */
}
#endif

/* ---- updates ---- */

enum op { AXPY, ROTATE };

/* Columns of results at a time, results (and their matrices), and operands whose items are kept. */
enum { TILE = KAON_HALF ? 2 : 4 };
template <int OP>
static __host__ __device__ constexpr int outs() {
  return OP == AXPY ? 1 : 3;
}
template <int OP>
static __host__ __device__ constexpr int kept() {
  return OP == AXPY ? 1 : 2;
}

typedef struct block_call {
  items w;
  int vectors, complex_space;
  int panels; /* of the matrices in shared memory: all, or 1 */
  kaon_view v[MATRICES];
  const kaon_column_state *state;
  int slot[MATRICES];
  double sign[MATRICES];
  kaon_gate gate;
} block_call;

/* A thread's view of shared memory. A panel has what TILE columns of results need: entry (i, J TILE
 * + t) of matrix k at 2 (((J n + i) outs + k) TILE + t). */
typedef struct scratch {
  item *x;        /* operand o, column i at [(o n + i) threads + thread] */
  real *panel;
  float *largest; /* half: of result o, column j, lane l at (o n + j) 32 + l; see write_tile */
  float *steps;   /* half: of operand o, column j, likewise, as before the update */
  unsigned char *open;
} scratch;

static __host__ __device__ int panels_of(int n) {
  return (n + TILE - 1) / TILE;
}

template <int OP>
static __host__ __device__ int panel_reals(int n) {
  return 2 * n * outs<OP>() * TILE;
}

/* Floats of `largest`: a column each, or two turns of a tile for each warp. */
template <int OP>
static __host__ __device__ int largest_floats(int n, int threads) {
  const int columns = outs<OP>() * n * 32, turns = 2 * outs<OP>() * TILE * threads;
  return !KAON_HALF ? 0 : columns > turns ? columns : turns;
}

template <int OP>
static __host__ __device__ size_t scratch_bytes(int n, int threads, int panels) {
  size_t bytes = (size_t)(kept<OP>() * n * threads) * sizeof(item) + KAON_BLOCK_MAX;
  bytes += (size_t)(panels * panel_reals<OP>(n)) * sizeof(real);
  if (KAON_HALF)
    bytes += (size_t)(largest_floats<OP>(n, threads) + MATRICES * n * 32) * sizeof(float);
  return bytes;
}

template <int OP>
static __device__ __forceinline__ scratch scratch_of(char *shared, const block_call &a) {
  const int n = a.w.nrhs;
  scratch s;
  s.x = (item *)shared;
  s.panel = (real *)(s.x + kept<OP>() * n * blockDim.x);
  s.largest = (float *)(s.panel + a.panels * panel_reals<OP>(n));
  s.steps = s.largest + largest_floats<OP>(n, blockDim.x);
  s.open = (unsigned char *)(s.steps + (KAON_HALF ? MATRICES * n * 32 : 0));
  return s;
}

/* Panels from J on; closed columns, and those beyond n, have no entries. */
template <int OP>
static __device__ void load_panels(const block_call &a, const scratch &s, int J) {
  const int n = a.w.nrhs, matrices = OP == AXPY ? 1 : a.vectors;
  for (int e = threadIdx.x; e < a.panels * panel_reals<OP>(n) / 2; e += blockDim.x) {
    const int t = e % TILE, k = e / TILE % outs<OP>(), i = e / (TILE * outs<OP>()) % n;
    const int j = (J + e / (TILE * outs<OP>() * n)) * TILE + t;
    vcomplex z = c_make(0, 0);
    if (k < matrices && j < n && s.open[i] && s.open[j])
      z = coefficient_of(a.state, a.slot[k] + i, a.sign[k], j, a.complex_space);
    s.panel[2 * e] = z.re;
    s.panel[2 * e + 1] = z.im;
  }
}

/* The panel of columns J TILE .. is there on return. All threads of the block call it. */
template <int OP>
static __device__ __forceinline__ const real *panel_at(const block_call &a, const scratch &s,
                                                       int J) {
  if (a.panels > 1 || panels_of(a.w.nrhs) == 1) return s.panel + J * panel_reals<OP>(a.w.nrhs);
  __syncthreads();
  load_panels<OP>(a, s, J);
  __syncthreads();
  return s.panel;
}

/* The items of all columns at place i, as they are before the update. */
template <int OP>
static __device__ __forceinline__ void keep_items(const block_call &a, const scratch &s,
                                                  int64_t i) {
  const int n = a.w.nrhs;
#pragma unroll
  for (int o = 0; o < kept<OP>(); o++) {
    if (o >= a.vectors) continue;
#pragma unroll 6
    for (int k = 0; k < n; k++) {
      item zero = {};
      s.x[(o * n + k) * blockDim.x + threadIdx.x] =
          s.open[k] ? item_read(a.v[o], a.w, item_at(a.w, i, k)) : zero;
    }
  }
}

/* What operand o's integers of column k are worth at this thread's site; 1 but in half. */
static __device__ __forceinline__ float step_of(const block_call &a, const scratch &s, int o,
                                                int k) {
  return KAON_HALF ? s.steps[(o * a.w.nrhs + k) * 32 + threadIdx.x % 32] : 1;
}

static __device__ __forceinline__ void add_item(real *sum, const real *c, const real *x) {
#pragma unroll
  for (int r = 0; r < NUMBERS; r += 2) {
    const vcomplex y =
        c_fma(c_make(c[0], c[1]), c_make(x[r], x[r + 1]), c_make(sum[r], sum[r + 1]));
    sum[r] = y.re;
    sum[r + 1] = y.im;
  }
}

/* sum[k][t] += sum_i x_i m_it of all matrices k; `first_only`: of the first. */
template <int OP>
static __device__ __forceinline__ void add_columns(const block_call &a, const scratch &s,
                                                   const real *panel, const bool first_only,
                                                   real sum[][TILE][NUMBERS]) {
  enum { ENTRIES = 2 * outs<OP>() * TILE, PACKET = KAON_ACCESS / (int)sizeof(real) };
  typedef kaon_packet<real, PACKET> packet;
  const int n = a.w.nrhs;
#pragma unroll 2
  for (int i = 0; i < n; i++) {
    real x[kept<OP>()][NUMBERS], c[ENTRIES];
#pragma unroll
    for (int o = 0; o < kept<OP>(); o++)
      if (o == 0 || !first_only)
        item_values(s.x[(o * n + i) * blockDim.x + threadIdx.x], step_of(a, s, o, i), x[o]);
#pragma unroll
    for (int e = 0; e < ENTRIES / PACKET; e++) {
      const packet z = ((const packet *)(panel + i * ENTRIES))[e];
#pragma unroll
      for (int r = 0; r < PACKET; r++) c[e * PACKET + r] = z.v[r];
    }
#pragma unroll
    for (int t = 0; t < TILE; t++)
#pragma unroll
      for (int k = 0; k < outs<OP>(); k++)
        if (k == 0 || !first_only)
          add_item(sum[k][t], c + 2 * (k * TILE + t), x[k == 0 ? 0 : kept<OP>() - 1]);
  }
}

/* The new numbers of columns j .. j + TILE - 1 at place i. AXPY: of operand 1; ROTATE: of 0, 1, 2.
 */
template <int OP>
static __device__ __forceinline__ void new_numbers(const block_call &a, const scratch &s,
                                                   const real *panel, int64_t i, int j,
                                                   real sum[][TILE][NUMBERS]) {
  constexpr int grows = OP == AXPY ? 0 : 2; /* the result that adds to what is there */
  const int from = OP == AXPY ? 1 : 2;
#pragma unroll
  for (int t = 0; t < TILE; t++) {
#pragma unroll
    for (int o = 0; o < outs<OP>(); o++)
#pragma unroll
      for (int r = 0; r < NUMBERS; r++) sum[o][t][r] = 0;
    if (from < a.vectors && j + t < a.w.nrhs && s.open[j + t])
      item_values(item_read(a.v[from], a.w, item_at(a.w, i, j + t)), step_of(a, s, from, j + t),
                  sum[grows][t]);
  }
  if (OP == ROTATE && a.vectors == 1)
    add_columns<OP>(a, s, panel, true, sum);
  else
    add_columns<OP>(a, s, panel, false, sum);
  if (OP == ROTATE)
#pragma unroll
    for (int t = 0; t < TILE; t++)
#pragma unroll
      for (int r = 0; r < NUMBERS; r++) sum[OP == ROTATE ? 1 : 0][t][r] += sum[0][t][r];
}

template <int OP>
static __device__ __forceinline__ bool written(const block_call &a, const scratch &s, int o,
                                               int j) {
  return j < a.w.nrhs && s.open[j] && (OP == AXPY || o < a.vectors);
}

#if !KAON_HALF

template <int OP>
static __device__ __forceinline__ void write_tile(const block_call &a, const scratch &s, int64_t i,
                                                  int j, const real sum[][TILE][NUMBERS]) {
#pragma unroll
  for (int o = 0; o < outs<OP>(); o++)
#pragma unroll
    for (int t = 0; t < TILE; t++) {
      if (!written<OP>(a, s, o, j + t)) continue;
      item x;
#pragma unroll
      for (int r = 0; r < NUMBERS; r++) x.v[r] = sum[o][t][r];
      ((item *)a.v[OP == AXPY ? 1 : o].data)[item_at(a.w, i, j + t)] = x;
    }
}

template <int OP>
static __device__ __forceinline__ void update_items(const block_call &a, const scratch &s) {
  const int64_t step = (int64_t)gridDim.x * blockDim.x;
  for (int64_t first = (int64_t)blockIdx.x * blockDim.x; first < a.w.count; first += step) {
    const int64_t i = first + threadIdx.x;
    if (i < a.w.count) keep_items<OP>(a, s, i);
    for (int j = 0; j < a.w.nrhs; j += TILE) {
      const real *panel = panel_at<OP>(a, s, j / TILE);
      if (i >= a.w.count) continue;
      real sum[outs<OP>()][TILE][NUMBERS];
      new_numbers<OP>(a, s, panel, i, j, sum);
      write_tile<OP>(a, s, i, j, sum);
    }
  }
}

#else

/* The largest of a thread's new numbers of result o, column t of the tile. */
static __device__ __forceinline__ float largest_of(const real *sum) {
  float largest = 0;
#pragma unroll
  for (int r = 0; r < NUMBERS; r++) largest = larger(largest, sum[r]);
  return largest;
}

/* A warp has one group of each of the 32 sites: a tile's largest numbers pass from warp to warp in
 * one of two places by turns, so that one barrier a tile is enough. */
template <int OP>
static __device__ __forceinline__ void write_tile(const block_call &a, const scratch &s, int64_t i,
                                                  int j, const real sum[][TILE][NUMBERS]) {
  const int lane = threadIdx.x % 32, threads = blockDim.x;
  float *turn = s.largest + j / TILE % 2 * outs<OP>() * TILE * threads;
#pragma unroll
  for (int o = 0; o < outs<OP>(); o++)
#pragma unroll
    for (int t = 0; t < TILE; t++)
      turn[(o * TILE + t) * threads + threadIdx.x] = largest_of(sum[o][t]);
  __syncthreads();
#pragma unroll
  for (int o = 0; o < outs<OP>(); o++)
#pragma unroll
    for (int t = 0; t < TILE; t++) {
      if (!written<OP>(a, s, o, j + t)) continue;
      float largest = 0;
      for (int g = lane; g < threads; g += 32)
        largest = larger(largest, turn[(o * TILE + t) * threads + g]);
      item_round(a.v[OP == AXPY ? 1 : o], a.w, item_at(a.w, i, j + t), sum[o][t], largest);
    }
}

/* Where a warp has several groups, all are looked through before the first is rounded: the same
 * numbers are computed twice. round: 0 or 1. */
template <int OP>
static __device__ __forceinline__ void several_groups(const block_call &a, const scratch &s,
                                                      int64_t first, int round) {
  const int n = a.w.nrhs, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  for (int g0 = 0; g0 < a.w.groups; g0 += blockDim.x / 32) {
    const int g = g0 + warp;
    const int64_t i = first + 32 * g;
    if (g < a.w.groups) keep_items<OP>(a, s, i);
    for (int j = 0; j < n; j += TILE) {
      const real *panel = panel_at<OP>(a, s, j / TILE);
      if (g >= a.w.groups) continue;
      real sum[outs<OP>()][TILE][NUMBERS];
      new_numbers<OP>(a, s, panel, i, j, sum);
#pragma unroll
      for (int o = 0; o < outs<OP>(); o++)
#pragma unroll
        for (int t = 0; t < TILE; t++) {
          if (!written<OP>(a, s, o, j + t)) continue;
          float *largest = s.largest + (o * n + j + t) * 32 + lane;
          if (round == 0)
            atomicMax((unsigned *)largest, __float_as_uint(largest_of(sum[o][t])));
          else
            item_round(a.v[OP == AXPY ? 1 : o], a.w, item_at(a.w, i, j + t), sum[o][t], *largest);
        }
    }
  }
  __syncthreads();
}

/* A block takes 32 sites at a time, a warp their groups warp, warp + warps, ... */
template <int OP>
static __device__ __forceinline__ void update_items(const block_call &a, const scratch &s) {
  const int n = a.w.nrhs, warp = threadIdx.x / 32, lane = threadIdx.x % 32,
            warps = blockDim.x / 32;
  const int64_t blocks = a.w.count / a.w.unit;
  for (int64_t b = blockIdx.x; b < blocks; b += gridDim.x) {
    const int64_t first = b * a.w.unit + lane;
    for (int e = warp; e < a.vectors * n; e += warps) {
      const int o = e / n, k = e % n;
      s.steps[32 * e + lane] = s.open[k] ? item_step(a.v[o], a.w, item_at(a.w, first, k)) : 0;
    }
    if (a.w.groups > warps) {
      for (int e = threadIdx.x; e < outs<OP>() * n * 32; e += blockDim.x) s.largest[e] = 0;
      __syncthreads();
      for (int round = 0; round < 2; round++) several_groups<OP>(a, s, first, round);
      continue;
    }
    keep_items<OP>(a, s, first + 32 * warp);
    __syncthreads();
    for (int j = 0; j < n; j += TILE) {
      real sum[outs<OP>()][TILE][NUMBERS];
      new_numbers<OP>(a, s, panel_at<OP>(a, s, j / TILE), first + 32 * warp, j, sum);
      write_tile<OP>(a, s, first + 32 * warp, j, sum);
    }
    __syncthreads();
  }
}

#endif

template <int OP>
static __global__ void __launch_bounds__(KAON_THREADS, 1)
    block_kernel(const __grid_constant__ block_call a) {
  extern __shared__ __align__(16) char shared[];
  const scratch s = scratch_of<OP>(shared, a);
  for (int k = threadIdx.x; k < a.w.nrhs; k += blockDim.x) s.open[k] = gate_open(a.gate, k);
  __syncthreads();
  load_panels<OP>(a, s, 0);
  __syncthreads();
  update_items<OP>(a, s);
}

/* As many threads as shared memory has room for; half: a warp for each group of components. */
template <int OP>
static int threads_for(const items &w, int panels) {
  int threads = KAON_HALF && 32 * w.groups < KAON_THREADS ? 32 * w.groups : KAON_THREADS;
  while (threads > 32 && scratch_bytes<OP>(w.nrhs, threads, panels) > SHARED_BYTES) threads -= 32;
  return threads;
}

template <int OP>
static void launch_block(const kaon_launch *launch, const kaon_update_args *args) {
  block_call a = {};
  const int n = args->shape.nrhs;
  a.w = items_of(&args->shape);
  a.vectors = OP == AXPY ? 2 : args->v[1].data == NULL ? 1 : args->v[2].data == NULL ? 2 : 3;
  a.complex_space = args->shape.complex_space;
  a.panels = panels_of(n);
  if (a.panels * panel_reals<OP>(n) * sizeof(real) > PANEL_BYTES) a.panels = 1;
  for (int i = 0; i < MATRICES; i++) {
    a.v[i] = args->v[i];
    a.slot[i] = args->c.slot[i];
    a.sign[i] = args->c.sign[i];
  }
  a.state = args->c.state;
  a.gate = args->gate;
  const int threads = threads_for<OP>(a.w, a.panels);
  const size_t bytes = scratch_bytes<OP>(n, threads, a.panels);
  if (bytes > 48 << 10)
    cudaFuncSetAttribute((const void *)block_kernel<OP>,
                         cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes);
  const int64_t turns = KAON_HALF ? a.w.count / a.w.unit : (a.w.count + threads - 1) / threads;
  const int64_t blocks = turns < 2 * KAON_CHUNKS ? turns : 2 * KAON_CHUNKS;
  block_kernel<OP>
      <<<(unsigned)blocks, threads, bytes, (cudaStream_t)launch->queue>>>(a);
}

extern "C" void KAON_EXPORT(kaon_block_rotate)(const kaon_launch *launch,
                                               const kaon_update_args *args) {
  launch_block<ROTATE>(launch, args);
}

/* The norms, where they are wanted, in a sweep of their own. */
extern "C" void KAON_EXPORT(kaon_block_axpy)(const kaon_launch *launch,
                                             const kaon_update_args *args) {
  launch_block<AXPY>(launch, args);
  if (args->sum.state == NULL) return;
  kaon_update_args sums = *args;
  sums.v[0] = args->v[1];
  sums.sum.slot[2] = args->sum.slot[0];
  sums.sum.slot[0] = KAON_NO_SLOT;
  KAON_EXPORT(kaon_dot)(launch, &sums);
}

/* ---- sums ---- */

enum { EDGE = 3, PIECE = EDGE * EDGE, GRAM_CHUNKS = 264, GROUPS = 16, BATCH = 4, STAGE_BYTES = 56 << 10 };

typedef struct gram_call {
  items w;
  int hermitian, same, complex_space;
  int rows;   /* places at a time, a power of 2, */
  int bits;   /* in 2^bits items of a column */
  int edges;  /* pieces side by side */
  int pieces; /* of the matrix, or of its upper triangle */
  int shared_room;
  kaon_view v[2];
  kaon_cuda_sums sums;
} gram_call;

/* One copy a file; all threads of the block. */
static __device__ __noinline__ void block_run(int id, kaon_column_state *state, int n, int mask,
                                              double *room) {
  const kaon_block_team team =
      kaon_block_team_of(state, n, mask, (int)threadIdx.x, (int)blockDim.x, room);
  kaon_block_run(id, &team);
}

/* Piece number p covers rows EDGE * *pi .. and columns EDGE * *pj ..; the upper triangle's are
 * numbered column by column. */
static __device__ __forceinline__ void piece_place(const gram_call &a, int p, int *pi, int *pj) {
  *pj = 0;
  if (!a.hermitian) {
    *pi = p % a.edges;
    *pj = p / a.edges;
    return;
  }
  while (p > *pj) p -= ++*pj;
  *pi = p;
}

/* Items first .. of operand o, all columns, to shared memory in double: row r of column k at
 * stage[k (rows + 1) + r]. BATCH of them are under way at once. */
static __device__ __forceinline__ void stage_items(const gram_call &a, int o, int64_t first,
                                                   const unsigned char *open, double2 *stage) {
  const int pairs = a.w.pack > 1 ? a.w.pack / 2 : 1, bits = a.bits, each = 1 << bits;
  const int count = a.w.nrhs << bits;
  for (int begin = threadIdx.x; begin < count; begin += BATCH * KAON_THREADS) {
    item x[BATCH];
    float step[BATCH];
#pragma unroll
    for (int c = 0; c < BATCH; c++) {
      const int e = begin + c * KAON_THREADS, k = e >> bits;
      const int64_t i = first + (e & (each - 1));
      item zero = {};
      x[c] = zero;
      step[c] = 1;
      if (e >= count || !open[k] || i >= a.w.count) continue;
      const int64_t at = item_at(a.w, i, k);
      x[c] = item_read(a.v[o], a.w, at);
      step[c] = item_step(a.v[o], a.w, at);
    }
#pragma unroll
    for (int c = 0; c < BATCH; c++) {
      const int e = begin + c * KAON_THREADS;
      real value[NUMBERS];
      if (e >= count) continue;
      item_values(x[c], 1, value);
      double2 *to = stage + (e >> bits) * (a.rows + 1) + (e & (each - 1)) * pairs;
#pragma unroll
      for (int r = 0; r < NUMBERS / 2; r++)
        if (r < pairs)
          to[r] = make_double2((double)value[2 * r] * step[c], (double)value[2 * r + 1] * step[c]);
    }
  }
}

/* Places slice, slice + slices, ... of the stage to this thread's piece. */
static __device__ __forceinline__ void add_rows(const double2 *x, const double2 *y, int stride,
                                                int rows, int slice, int slices,
                                                double sum[PIECE][2]) {
  for (int r = slice; r < rows; r += slices) {
    double2 u[EDGE], w[EDGE];
#pragma unroll
    for (int i = 0; i < EDGE; i++) {
      u[i] = x[i * stride + r];
      w[i] = y[i * stride + r];
    }
#pragma unroll
    for (int j = 0; j < EDGE; j++)
#pragma unroll
      for (int i = 0; i < EDGE; i++)
        add_product(sum[j * EDGE + i], u[i].x, u[i].y, w[j].x, w[j].y);
  }
}

/* This block's sums of all its pieces to partials[(chunk * pieces + piece) * PIECE + entry]. */
static __device__ __forceinline__ void gram_leave(const gram_call &a, int chunk, int first,
                                                  int count, int slices, double sum[PIECE][2],
                                                  double2 *room) {
  double2 *partials = (double2 *)a.sums.partials + ((int64_t)chunk * a.pieces + first) * PIECE;
  for (int e = 0; e < PIECE; e++) {
    double re = 0, im = 0;
#pragma unroll
    for (int o = 0; o < PIECE; o++)
      if (o == e) re = sum[o][0], im = sum[o][1];
    __syncthreads();
    room[threadIdx.x] = make_double2(re, im);
    __syncthreads();
    if (threadIdx.x >= count) continue;
    double2 total = room[threadIdx.x];
    for (int s = 1; s < slices; s++) {
      total.x += room[s * count + threadIdx.x].x;
      total.y += room[s * count + threadIdx.x].y;
    }
    partials[threadIdx.x * PIECE + e] = total;
  }
  __threadfence();
}

/* Sum of parts first, first + step, ... below end into part `to` of entry e. */
static __device__ __forceinline__ double2 gram_add(const gram_call &a, int entry, int first,
                                                   int step, int end) {
  const double2 *parts = (const double2 *)a.sums.partials;
  double2 total = make_double2(0, 0);
#pragma unroll 8
  for (int c = first; c < end; c += step) {
    const double2 z = __ldcg(parts + (int64_t)c * a.pieces * PIECE + entry);
    total.x += z.x;
    total.y += z.y;
  }
  return total;
}

/* Many chunks are added in groups, each by its last block, and the groups by the last of those:
 * chunk c is of group c % groups, and what a group's chunks add up to takes the place of chunk
 * `group`. A group has a ticket of its own, and there is one for each column. 0: no groups. */
static __device__ __forceinline__ int gram_groups(const gram_call &a) {
  const int n = a.w.nrhs;
  return n < 4 || a.sums.chunks <= 2 * GROUPS ? 0 : n <= GROUPS ? n - 1 : GROUPS;
}

/* The block that is last has all sums. */
static __device__ __forceinline__ bool gram_last(const gram_call &a, int chunk, int blocks_y) {
  const int chunks = a.sums.chunks, groups = gram_groups(a);
  if (groups == 0) return sums_last(a.sums, 0, chunks * blocks_y);
  const int group = chunk % groups, members = (chunks - group + groups - 1) / groups;
  if (!sums_last(a.sums, 1 + group, members * blocks_y)) return false;
  for (int e = threadIdx.x; e < a.pieces * PIECE; e += KAON_THREADS)
    ((double2 *)a.sums.partials)[(int64_t)group * a.pieces * PIECE + e] =
        gram_add(a, e, group, groups, chunks);
  __threadfence();
  return sums_last(a.sums, 0, groups);
}

/* Entry (i, j) into column j's slot, and its mirror image. */
static __device__ __forceinline__ void gram_slots(const gram_call &a, const unsigned char *open) {
  const int n = a.w.nrhs, parts = gram_groups(a) > 0 ? gram_groups(a) : a.sums.chunks;
  kaon_column_state *state = a.sums.sum.state;
  for (int e = threadIdx.x; e < a.pieces * PIECE; e += KAON_THREADS) {
    int pi, pj;
    piece_place(a, e / PIECE, &pi, &pj);
    const int i = pi * EDGE + e % PIECE % EDGE, j = pj * EDGE + e % PIECE / EDGE;
    double2 z = gram_add(a, e, 0, 1, parts);
    if (i >= n || j >= n || !open[i] || !open[j] || (a.hermitian && i > j)) continue;
    if (!a.complex_space || (a.hermitian && i == j)) z.y = 0;
    kaon_set(&state[j], a.sums.sum.slot[0] + i, z.x, z.y);
    if (a.hermitian && i != j) kaon_set(&state[i], a.sums.sum.slot[0] + j, z.x, -z.y);
  }
  __syncthreads();
}

static __global__ void __launch_bounds__(KAON_THREADS, 2)
    gram_kernel(const __grid_constant__ gram_call a) {
  extern __shared__ __align__(16) char shared[];
  __shared__ unsigned char open[KAON_BLOCK_MAX + 2];
  const int n = a.w.nrhs, stride = a.rows + 1;
  bool any = false;
  for (int k = 0; k < n; k++) any |= gate_open(a.sums.gate, k);
  if (a.v[0].data != NULL) {
    if (!any) return;
    for (int k = threadIdx.x; k < n; k += KAON_THREADS) open[k] = gate_open(a.sums.gate, k);
    double2 *x = (double2 *)shared, *y = a.same ? x : x + a.edges * EDGE * stride;
    for (int e = threadIdx.x; e < (a.same ? 1 : 2) * a.edges * EDGE * stride; e += KAON_THREADS)
      x[e] = make_double2(0, 0);
    __syncthreads();
    const int first = blockIdx.y * KAON_THREADS;
    const int count = a.pieces - first < KAON_THREADS ? a.pieces - first : KAON_THREADS;
    const int slices = KAON_THREADS / count, slice = threadIdx.x / count;
    int pi, pj;
    piece_place(a, first + threadIdx.x % count, &pi, &pj);
    double sum[PIECE][2];
#pragma unroll
    for (int e = 0; e < PIECE; e++) sum[e][0] = sum[e][1] = 0;
    const int each = 1 << a.bits;
    for (int64_t i = (int64_t)blockIdx.x * each; i < a.w.count;
         i += (int64_t)a.sums.chunks * each) {
      stage_items(a, 0, i, open, x);
      if (!a.same) stage_items(a, 1, i, open, y);
      __syncthreads();
      if (slice < slices)
        add_rows(x + pi * EDGE * stride, y + pj * EDGE * stride, stride, a.rows, slice, slices,
                 sum);
      __syncthreads();
    }
    gram_leave(a, blockIdx.x, first, count, slices, sum, x);
    if (!gram_last(a, blockIdx.x, gridDim.y)) return;
    gram_slots(a, open);
  }
  if (a.sums.sum.then != 0)
    block_run(a.sums.sum.then, a.sums.sum.state, n, a.sums.gate.mask,
              a.shared_room ? (double *)shared : a.sums.partials);
}

extern "C" void KAON_EXPORT(kaon_gram)(const kaon_launch *launch, const kaon_update_args *args) {
  gram_call a = {};
  const int n = args->shape.nrhs;
  if (args->sum.state == NULL) return;
  a.v[0] = args->v[0];
  a.v[1] = args->v[1];
  a.same = args->v[0].data == args->v[1].data;
  a.hermitian = args->n;
  a.complex_space = args->shape.complex_space;
  a.edges = (n + EDGE - 1) / EDGE;
  a.pieces = a.hermitian ? a.edges * (a.edges + 1) / 2 : a.edges * a.edges;
  const int stages = a.same ? 1 : 2;
  for (a.rows = 128; a.rows > 8; a.rows /= 2)
    if (stages * a.edges * EDGE * (a.rows + 1) * (int)sizeof(double2) <= STAGE_BYTES) break;
  int64_t chunks = 1;
  a.w.nrhs = n;
  if (args->v[0].data != NULL) {
    a.w = items_of(&args->shape);
    const int each = a.rows / (a.w.pack > 1 ? a.w.pack / 2 : 1);
    while (1 << a.bits < each) a.bits++;
    const int64_t room =
        (int64_t)KAON_REDUCE_CHUNKS * KAON_REDUCE_MAX * n / (2 * a.pieces * PIECE);
    chunks = (a.w.count + each - 1) / each;
    if (chunks > GRAM_CHUNKS) chunks = GRAM_CHUNKS;
    if (chunks > room) chunks = room;
  }
  a.sums = kaon_cuda_sums_of(launch, &args->gate, &args->sum, (int)chunks);
  size_t bytes = (size_t)(stages * a.edges * EDGE * (a.rows + 1)) * sizeof(double2);
  const size_t room_bytes = (size_t)kaon_block_room(n) * sizeof(double);
  if (bytes < KAON_THREADS * sizeof(double2)) bytes = KAON_THREADS * sizeof(double2);
  a.shared_room = room_bytes <= 40 << 10;
  if (a.shared_room && bytes < room_bytes) bytes = room_bytes;
  const dim3 grid((unsigned)chunks,
                  args->v[0].data != NULL ? (unsigned)((a.pieces + KAON_THREADS - 1) / KAON_THREADS)
                                          : 1);
  if (bytes > 48 << 10)
    cudaFuncSetAttribute((const void *)gram_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                         (int)bytes);
  gram_kernel<<<grid, KAON_THREADS, bytes, (cudaStream_t)launch->queue>>>(a);
}
