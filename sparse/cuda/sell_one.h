/* sell_one.h - the CUDA kernel, and its launcher, for products with one column in SELL and ELL, for
 * rows without ghosts and one warp for each block of rows. Thread blocks stay for the whole
 * product. Their number fills a device of 132 multiprocessors, whatever the device, so that sums
 * have the same bits. */
#pragma once

#include "sparse/cuda/sell.h"

enum { SELL_MULTIPROCESSORS = 132, SELL_SHARED_RESIDENT = 4 };

/* RESIDENT: thread blocks that a multiprocessor holds. Requested sums are held in shared memory if
 * it has the space, since registers are needed for loads in flight. */
template <int REALS, int HALF, int RESIDENT, int BATCH, int KIND>
static __global__ void __launch_bounds__(KAON_THREADS, RESIDENT)
    sell_kernel(const __grid_constant__ rows_call a) {
  extern __shared__ double waiting[]; /* [sum][thread] */
  double sum[ROW_SUMS];
  columns cols = {0, 1, 0};
  const sell_share share = sell_share_of<KIND>(a, (int)blockIdx.x);
  if (a.early) slice_prefetch<REALS, HALF, BATCH>(a, share.block);
  kaon_wait_for_previous();
  columns_prefetch<1>(a, &cols);
  if (cols.open == 0) return;
  const bool sums = a.sums.sum.state != NULL;
#pragma unroll
  for (int i = 0; i < ROW_SUMS; i++)
    if (sums) waiting[i * KAON_THREADS + threadIdx.x] = 0;
  sell_rows<REALS, HALF, BATCH, KIND, KAON_THREADS>(a, share, waiting + threadIdx.x);
#pragma unroll
  for (int i = 0; i < ROW_SUMS; i++) sum[i] = sums ? waiting[i * KAON_THREADS + threadIdx.x] : 0;
  column_finish(a, cols, (int)blockIdx.x, sum);
}

/* resident: as many thread blocks for each multiprocessor are launched; at most RESIDENT. */
template <int REALS, int HALF, int RESIDENT, int BATCH, int KIND>
static void sell_launch(const kaon_launch *launch, const kaon_spmv_args *args, int resident,
                        rows_call *a) {
  const unsigned room = args->sum.state != NULL ? ROW_SUMS * KAON_THREADS * sizeof(double) : 0;
  /* other kernels may do other parts of the pass, and all count chunks alike */
  a->most = (args->part == KAON_ROWS_ALL ? resident : SELL_SHARED_RESIDENT) * SELL_MULTIPROCESSORS;
  rows_partition(launch, args, KAON_THREADS, a);
  kaon_cuda_launch_listed(launch, rows_listed<REALS, HALF>(*a, KAON_LISTED_SELL),
                          sell_kernel<REALS, HALF, RESIDENT, BATCH, KIND>, (unsigned)a->chunks,
                          KAON_THREADS, *a, NULL, room);
}
