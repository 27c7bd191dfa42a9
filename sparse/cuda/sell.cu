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

/* RESIDENT: blocks of threads that a multiprocessor holds. */
template <int REALS, int HALF, int RESIDENT>
static __global__ void __launch_bounds__(KAON_THREADS, RESIDENT)
    sell_kernel(const __grid_constant__ rows_call a) {
  const uint64_t policy = matrix_policy(a.keep);
  double sum[1][ROW_SUMS] = {};
  columns cols = {0, 1, 0};
  kaon_wait_for_previous();
  columns_ask<1>(a, &cols);
  if (cols.open == 0) return;
  sell_chunk<REALS, HALF>(a, (int)blockIdx.x, policy, sum[0]);
  columns_finish<1>(a, cols, (int)blockIdx.x, sum);
}

/* The same where rows meet ghosts, or a.lanes warps share a block of rows. */
template <int REALS, int HALF>
static __global__ void __launch_bounds__(KAON_THREADS, SHARED_RESIDENT)
    sell_shared_kernel(const __grid_constant__ rows_call a) {
  const uint64_t policy = matrix_policy(a.keep);
  double sum[1][ROW_SUMS] = {};
  kaon_wait_for_previous();
  columns cols = {0, 1, 0};
  columns_ask<1>(a, &cols);
  if (cols.open == 0) return;
  sell_shared_chunk<REALS, HALF>(a, (int)blockIdx.x, policy, sum[0]);
  columns_finish<1>(a, cols, (int)blockIdx.x, sum);
}

template <int REALS, int HALF, int RESIDENT>
static void launch_plain(const kaon_launch *launch, const kaon_spmv_args *args, rows_call *a) {
  /* parts of one pass, which other kernels may do, count their chunks alike */
  a->most = (args->part == KAON_ROWS_ALL ? RESIDENT : SHARED_RESIDENT) * MULTIPROCESSORS;
  rows_share_out(launch, args, KAON_THREADS, a);
  kaon_cuda_launch_listed(launch, rows_listed<REALS, HALF>(*a, KAON_LISTED_SELL),
                          sell_kernel<REALS, HALF, RESIDENT>, (unsigned)a->chunks, KAON_THREADS, *a,
                          NULL);
}

/* Sums of short rows in double want registers. */
template <int REALS, int HALF>
static void launch_sell(const kaon_launch *launch, const kaon_spmv_args *args, rows_call *a) {
  const kaon_stored_matrix *m = args->matrix;
  if (a->lanes > 1 || a->ghosts != NULL) {
    a->most = SHARED_RESIDENT * MULTIPROCESSORS;
    rows_share_out(launch, args, KAON_THREADS >> a->shift, a);
    kaon_cuda_launch_listed(launch, rows_listed<REALS, HALF>(*a, KAON_LISTED_SELL_SHARED),
                            sell_shared_kernel<REALS, HALF>, (unsigned)a->chunks, KAON_THREADS, *a,
                            NULL);
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
