/* sell.cu - products of matrices in SELL and ELL on the GPU: a warp a block of 32 rows, a thread a
 * row, so that columns and values are read in whole lines. A thread has a batch of entries on their
 * way before the first of their x is asked for. Where blocks are few, several warps share one: each
 * takes every so many batches, and their sums meet in shared memory. */
#include "sparse/cuda/rows.h"

#ifndef SELL_BATCH
#define SELL_BATCH 8
#endif
#ifndef SELL_BLOCKS
#define SELL_BLOCKS 4
#endif

/* Entries that a thread has on their way. */
template <int REALS, int HALF, int COLS>
static __host__ __device__ constexpr int batch_of() {
  return COLS > 1 ? REALS * (int)sizeof(real) >= 16 ? 2 : 4
                  : REALS * (int)sizeof(real) >= 16 && !HALF ? SELL_BATCH / 2 : SELL_BATCH;
}

/* Where a block of rows begins, in units of 32 entries, and how long it is. */
typedef struct slice {
  int64_t at;
  int length;
} slice;

static __device__ __forceinline__ slice slice_read(const rows_call &a, int block) {
  slice s = {0, 0};
  if (block >= a.last) return s;
  if (a.start == NULL) {
    s.at = (int64_t)block * a.length;
    s.length = a.length;
  } else {
    s.at = start_read(a, block);
    s.length = (int)(start_read(a, block + 1) - s.at);
  }
  return s;
}

/* Adds the sums of the a.lanes warps that share a block of rows; those of the first have them. All
 * threads. */
template <int REALS, int COLS>
static __device__ __forceinline__ void warps_join(const rows_call &a,
                                                  kaon_packet<real, REALS> *s) {
  __shared__ kaon_packet<real, REALS> part[KAON_THREADS];
  const bool first = threadIdx.x / 32 % a.lanes == 0;
#pragma unroll
  for (int k = 0; k < COLS; k++) {
    __syncthreads(); /* the one before has been read */
    part[threadIdx.x] = s[k];
    __syncthreads();
    for (int i = 1; first && i < a.lanes; i++)
#pragma unroll
      for (int c = 0; c < REALS; c++) s[k].v[c] += part[threadIdx.x + 32 * i].v[c];
  }
}

/* Entries j, j + 1, ... of a row below `length`, of one column; rest: for the row's end, read while
 * the numbers of x are on their way. */
template <int REALS, int HALF>
static __device__ __forceinline__ void batch_one(const rows_call &a, int64_t at, int j, int length,
                                                 uint64_t policy, kaon_packet<real, REALS> *s) {
  constexpr int BATCH = batch_of<REALS, HALF, 1>();
  int32_t c[BATCH];
  entry<REALS, HALF> v[BATCH];
  kaon_packet<real, REALS> x[BATCH];
#pragma unroll
  for (int u = 0; u < BATCH; u++)
    if (j + u < length) c[u] = column_read(a.column + at + u * KAON_LANES, policy);
#pragma unroll
  for (int u = 0; u < BATCH; u++)
    if (j + u < length) v[u] = entry_read<REALS, HALF>(a.value, at + u * KAON_LANES, policy);
#pragma unroll
  for (int u = 0; u < BATCH; u++)
    if (j + u < length) x[u] = *source_of<REALS, true>(a, c[u]);
#pragma unroll
  for (int u = 0; u < BATCH; u++)
    if (j + u < length) number_add<REALS>(s, entry_number<REALS, HALF>(v[u]), x[u]);
}

template <int REALS, int HALF, int COLS>
static __device__ __forceinline__ void batch_many(const rows_call &a, const columns &cols,
                                                  int64_t at, int j, int length, uint64_t policy,
                                                  kaon_packet<real, REALS> *s) {
  constexpr int BATCH = batch_of<REALS, HALF, COLS>();
  int32_t c[BATCH];
  entry<REALS, HALF> v[BATCH];
  kaon_packet<real, REALS> x[BATCH][COLS];
#pragma unroll
  for (int u = 0; u < BATCH; u++)
    if (j + u < length) {
      c[u] = column_read(a.column + at + u * KAON_LANES, policy);
      v[u] = entry_read<REALS, HALF>(a.value, at + u * KAON_LANES, policy);
    }
#pragma unroll
  for (int u = 0; u < BATCH; u++)
    if (j + u < length) {
      const kaon_packet<real, REALS> *from =
          source_of<REALS, false>(a, c[u]) + cols.first * KAON_LANES;
#pragma unroll
      for (int k = 0; k < COLS; k++)
        if (k < cols.count) x[u][k] = from[k * KAON_LANES];
    }
#pragma unroll
  for (int u = 0; u < BATCH; u++)
    if (j + u < length) {
      const kaon_packet<real, REALS> n = entry_number<REALS, HALF>(v[u]);
#pragma unroll
      for (int k = 0; k < COLS; k++)
        if (k < cols.count) number_add<REALS>(&s[k], n, x[u][k]);
    }
}

template <int REALS, int HALF, int COLS>
static __global__ void __launch_bounds__(KAON_THREADS, COLS == 1 ? SELL_BLOCKS : 2)
    sell_kernel(const __grid_constant__ rows_call a) {
  constexpr int BATCH = batch_of<REALS, HALF, COLS>();
  typedef kaon_packet<real, REALS> number;
  const int lane = threadIdx.x % 32, own = threadIdx.x / 32 / a.lanes;
  const int part = threadIdx.x / 32 % a.lanes, each = KAON_WARPS / a.lanes;
  const int chunk = (int)(blockIdx.x / (unsigned)a.groups);
  const uint64_t policy = matrix_policy(a.keep);
  columns cols = columns_of(a);
  __shared__ double sums[COLS * ROW_SUMS][KAON_THREADS]; /* of each thread: registers are short */
  int base = a.first + chunk * a.turns * each, turn = 0;
  if (!a.early) kaon_wait_for_previous();
  slice next = slice_read(a, base + own);
  kaon_wait_for_previous();
  columns_ask(a, &cols);
  if (cols.open == 0) return;
  sums_clear<COLS>(a, sums);
  while (base < a.last) {
    const int block = base + own;
    const int row = block * KAON_LANES + lane;
    const int length = row < a.rows ? next.length : 0;
    int64_t at = (next.at + part * BATCH) * KAON_LANES + lane;
    number s[COLS] = {};
    base += each;
    if (++turn == a.turns) {
      turn = 0;
      base += (a.chunks - 1) * a.turns * each;
    }
    next = slice_read(a, base + own);
#pragma unroll 1
    for (int j = part * BATCH; j < length; j += a.lanes * BATCH) {
      if constexpr (COLS == 1)
        batch_one<REALS, HALF>(a, at, j, length, policy, s);
      else
        batch_many<REALS, HALF, COLS>(a, cols, at, j, length, policy, s);
      at += a.lanes * (BATCH * KAON_LANES);
    }
    if (a.lanes > 1) warps_join<REALS, COLS>(a, s);
    if (part != 0 || block >= a.last) continue;
    const real scale = row_scale<HALF>(a, row);
    const int64_t to = COLS == 1 ? row : number_at(a, row) + cols.first * KAON_LANES;
#pragma unroll
    for (int k = 0; k < COLS; k++)
      if (COLS == 1 || (cols.open >> k & 1))
        row_end<REALS>(a, to + k * KAON_LANES, scale, s[k], sums + k * ROW_SUMS);
  }
  columns_finish<COLS>(a, cols, chunk, sums);
}

template <int REALS, int HALF>
static void launch_columns(const kaon_launch *launch, const rows_call &a) {
  const unsigned blocks = (unsigned)a.chunks * (unsigned)a.groups;
  if (a.nrhs == 1)
    kaon_cuda_launch(launch, sell_kernel<REALS, HALF, 1>, blocks, KAON_THREADS, a);
  else
    kaon_cuda_launch(launch, sell_kernel<REALS, HALF, ROW_COLUMNS>, blocks, KAON_THREADS, a);
}

template <int REALS>
static void launch_sell(const kaon_launch *launch, const rows_call &a, int half) {
#if defined(KAON_PREC_SINGLE)
  if (half) {
    launch_columns<REALS, 1>(launch, a);
    return;
  }
#endif
  (void)half;
  launch_columns<REALS, 0>(launch, a);
}

#ifndef SELL_TURNS
#define SELL_TURNS 4
#endif

/* Warps that share a block of rows: as many as the longest rows have batches for, where blocks
 * alone do not fill a device. */
static int warps_a_block(const kaon_stored_matrix *m) {
  int64_t warps = 1;
  const int64_t mean = m->rows > 0 ? m->entries / m->rows : 0;
  while (warps < KAON_WARPS && m->blocks * 32 * warps < ROW_DEVICE && mean > 8 * warps) warps *= 2;
  return (int)warps;
}

extern "C" void KAON_EXPORT(kaon_spmv_sell)(const kaon_launch *launch,
                                            const kaon_spmv_args *args) {
  rows_call a = rows_of(launch, args);
  a.lanes = warps_a_block(args->matrix);
  a.turns = (a.last - a.first) / KAON_WARPS > 4 * ROW_DEVICE / KAON_THREADS ? SELL_TURNS : 1;
  rows_share_out(launch, args, (int64_t)a.turns * (KAON_WARPS / a.lanes), &a);
  if (a.chunks == 0) return;
  if (args->matrix->reals == 1)
    launch_sell<1>(launch, a, args->matrix->half);
  else
    launch_sell<2>(launch, a, args->matrix->half);
}
