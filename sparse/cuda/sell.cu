/* sell.cu - products of matrices in SELL and ELL by one column on the GPU: a warp a block of 32
 * rows, a thread a row, so that columns and values are read in whole lines. A thread has a batch of
 * entries on their way before the first of their x is asked for. Blocks of threads stay for the
 * whole product: as many as a device of 132 multiprocessors holds at once, whatever the device, so
 * that sums have the same bits.
 *
 * What counts is how many warps there are: a batch is short and a kernel has 40 or 48 registers, of
 * which none may be spilled around the memory's answers. So ghosts, and warps that share a block of
 * rows, are another kernel's. */
#include "sparse/cuda/sell.h"

enum { MULTIPROCESSORS = 132, SHARED_RESIDENT = 4, LONG_ROWS = 32 };

/* Entries of a row on their way. */
template <int REALS>
static __host__ __device__ constexpr int batch_of() {
  return REALS * (int)sizeof(real) > 8 ? 2 : 4;
}

/* Entries j, j + 1, ... below `length` of a row; `at`: of the first. */
template <int REALS, int HALF, bool GHOSTS>
static __device__ __forceinline__ void batch_add(const rows_call &a, int64_t at, int j, int length,
                                                 uint64_t policy, kaon_packet<real, REALS> *s) {
  constexpr int BATCH = batch_of<REALS>();
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
    if (j + u < length) x[u] = *source_of<REALS, true, GHOSTS>(a, c[u]);
#pragma unroll
  for (int u = 0; u < BATCH; u++)
    if (j + u < length) number_add<REALS>(s, entry_number<REALS, HALF>(v[u]), x[u]);
}

/* RESIDENT: blocks of threads that a multiprocessor holds. */
template <int REALS, int HALF, int RESIDENT>
static __global__ void __launch_bounds__(KAON_THREADS, RESIDENT)
    sell_kernel(const __grid_constant__ rows_call a) {
  constexpr int BATCH = batch_of<REALS>();
  const int lane = threadIdx.x % 32;
  const uint64_t policy = matrix_policy(a.keep);
  double sum[1][ROW_SUMS] = {};
  columns cols = {0, 1, 0};
  if (a.early)
    slice_prefetch<REALS, HALF, BATCH>(a,
                                       a.first + (int)(blockIdx.x * KAON_WARPS + threadIdx.x / 32));
  kaon_wait_for_previous();
  columns_ask<1>(a, &cols);
  if (cols.open == 0) return;
  for (int block = a.first + (int)(blockIdx.x * KAON_WARPS + threadIdx.x / 32); block < a.last;
       block += a.chunks * KAON_WARPS) {
    const int row = block * KAON_LANES + lane;
    const slice mine = slice_read(a, block);
    const int length = row < a.rows ? mine.length : 0;
    int64_t at = mine.at * KAON_LANES + lane;
    kaon_packet<real, REALS> s = {};
#pragma unroll 1
    for (int j = 0; j < length; j += BATCH) {
      batch_add<REALS, HALF, false>(a, at, j, length, policy, &s);
      at += BATCH * KAON_LANES;
    }
    row_end<REALS>(a, row, row_scale<HALF>(a, row), s, sum[0]);
  }
  columns_finish<1>(a, cols, (int)blockIdx.x, sum);
}

/* The same where rows meet ghosts, or a.lanes warps share a block of rows. */
template <int REALS, int HALF>
static __global__ void __launch_bounds__(KAON_THREADS, SHARED_RESIDENT)
    sell_shared_kernel(const __grid_constant__ rows_call a) {
  constexpr int BATCH = batch_of<REALS>();
  const int lane = threadIdx.x % 32, own = threadIdx.x / 32 >> a.shift;
  const int part = threadIdx.x / 32 & (a.lanes - 1), each = KAON_WARPS >> a.shift;
  const uint64_t policy = matrix_policy(a.keep);
  double sum[1][ROW_SUMS] = {};
  int base = a.first + (int)blockIdx.x * each;
  kaon_wait_for_previous();
  columns cols = {0, 1, 0};
  columns_ask<1>(a, &cols);
  if (cols.open == 0) return;
  while (base < a.last) {
    const int block = base + own, row = block * KAON_LANES + lane;
    const slice mine = slice_read(a, block);
    const int length = row < a.rows ? mine.length : 0;
    int64_t at = (mine.at + part * BATCH) * KAON_LANES + lane;
    kaon_packet<real, REALS> s = {};
#pragma unroll 1
    for (int j = part * BATCH; j < length; j += a.lanes * BATCH) {
      if (a.ghosts != NULL)
        batch_add<REALS, HALF, true>(a, at, j, length, policy, &s);
      else
        batch_add<REALS, HALF, false>(a, at, j, length, policy, &s);
      at += a.lanes * (BATCH * KAON_LANES);
    }
    base += a.chunks * each;
    if (a.lanes > 1) warps_join<REALS, 1>(a, &s);
    if (part == 0 && block < a.last) row_end<REALS>(a, row, row_scale<HALF>(a, row), s, sum[0]);
  }
  columns_finish<1>(a, cols, (int)blockIdx.x, sum);
}

template <int REALS, int HALF, int RESIDENT>
static void launch_plain(const kaon_launch *launch, const kaon_spmv_args *args, rows_call *a) {
  /* parts of one pass, which other kernels may do, count their chunks alike */
  a->most = (args->part == KAON_ROWS_ALL ? RESIDENT : SHARED_RESIDENT) * MULTIPROCESSORS;
  rows_share_out(launch, args, KAON_THREADS, a);
  kaon_cuda_launch(launch, sell_kernel<REALS, HALF, RESIDENT>, (unsigned)a->chunks, KAON_THREADS,
                   *a);
}

/* Sums of short rows in double want registers. */
template <int REALS, int HALF>
static void launch_sell(const kaon_launch *launch, const kaon_spmv_args *args, rows_call *a) {
  const kaon_stored_matrix *m = args->matrix;
  if (a->lanes > 1 || a->ghosts != NULL) {
    a->most = SHARED_RESIDENT * MULTIPROCESSORS;
    rows_share_out(launch, args, KAON_THREADS >> a->shift, a);
    kaon_cuda_launch(launch, sell_shared_kernel<REALS, HALF>, (unsigned)a->chunks, KAON_THREADS,
                     *a);
  } else if constexpr (REALS * sizeof(real) > 8)
    launch_plain<REALS, HALF, 4>(launch, args, a);
  else if constexpr (REALS == 2)
    launch_plain<REALS, HALF, 5>(launch, args, a);
  else if (sizeof(real) == 4 || args->sum.state == NULL || m->entries >= LONG_ROWS * m->rows)
    launch_plain<REALS, HALF, 6>(launch, args, a);
  else
    launch_plain<REALS, HALF, sizeof(real) == 4 ? 6 : 5>(launch, args, a);
}

extern "C" void KAON_EXPORT(kaon_spmv_sell)(const kaon_launch *launch, const kaon_spmv_args *args) {
  rows_call a = rows_of(launch, args);
  sell_warps(args->matrix, &a);
#if defined(KAON_PREC_SINGLE)
  if (a.half) {
    if (args->matrix->reals == 1)
      launch_sell<1, 1>(launch, args, &a);
    else
      launch_sell<2, 1>(launch, args, &a);
    return;
  }
#endif
  if (args->matrix->reals == 1)
    launch_sell<1, 0>(launch, args, &a);
  else
    launch_sell<2, 0>(launch, args, &a);
}
