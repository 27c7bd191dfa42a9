/* block.cu - vector updates that join columns, on the GPU (blas_ops.h).
 * A thread keeps the items (items.h) that it needs of all columns in shared memory, its own alone,
 * and works out TILE columns at a time; so updates are in place. Half: the warps of a block share
 * out the groups of 32 sites and tell each other their largest new numbers before they round. */
#include "blas/cuda/items.h"
#include "lib/math/block.h"

/* Blocks of a launch at most. */
enum { MOST_BLOCKS = 2048 };
/* Shared memory that a block of updates may take (four fit a large device), and its matrices. */
enum { SHARED_BYTES = 56 << 10, PANEL_BYTES = 16 << 10, MATRICES = 3 };

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
  item *x; /* operand o, column i at [(o n + i) threads + thread] */
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
  for (int r = 0; r < NUMBERS; r++) largest = quantise_largest(largest, sum[r]);
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
        largest = quantise_largest(largest, turn[(o * TILE + t) * threads + g]);
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
  const int n = a.w.nrhs, warp = threadIdx.x / 32, lane = threadIdx.x % 32, warps = blockDim.x / 32;
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
  const int64_t blocks = turns < MOST_BLOCKS ? turns : MOST_BLOCKS;
  block_kernel<OP><<<(unsigned)blocks, threads, bytes, (cudaStream_t)launch->queue>>>(a);
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
