/* sell.cu - products of matrices in SELL and ELL by one column on the GPU: a warp a block of 32
 * rows, a thread a row, so that columns and values are read in whole lines. A thread has a batch of
 * entries on their way before the first of their x is asked for.
 *
 * What counts is how much is on its way: a kernel has 40 to 64 registers, so that there are many
 * warps or long batches, and none of them may be spilled around the memory's answers. So ghosts,
 * and warps that share a block of rows, are another kernel's, and sums wait in shared memory. Where
 * columns come from a cache in lists that blocks share, only values are on their way, and the batch
 * is longer.
 */
#include "sparse/cuda/sell_one.h"

enum { LONG_ROWS = 32 };

/* Entries on their way of rows of real numbers in single whose columns are in shared lists. */
enum { SHARED_BATCH = 8 };

/* Where rows meet ghosts, or a.lanes warps share a block of rows. */
template <int REALS, int HALF>
static __global__ void __launch_bounds__(KAON_THREADS, SELL_SHARED_RESIDENT)
    sell_shared_kernel(const __grid_constant__ rows_call a) {
  double sum[ROW_SUMS] = {};
  kaon_wait_for_previous();
  columns cols = {0, 1, 0};
  columns_prefetch<1>(a, &cols);
  if (cols.open == 0) return;
  sell_shared_chunk<REALS, HALF>(a, (int)blockIdx.x, sum);
  column_finish(a, cols, (int)blockIdx.x, sum);
}

/* In double: blocks that a multiprocessor holds where each thread has much on its way, and entries
 * of that. So it is where columns are in shared lists; and of short rows whose sums are wanted,
 * since each block leaves sums to be added. 2e6 rows of 7 entries on one H200, us: 33.7 for 36.5 by
 * six blocks with four entries, with a sum 41.7 for 50.5, and for 54.5 by four. */
enum { MUCH_RESIDENT = 4, MUCH_BATCH = 7 };

template <int REALS, int HALF>
static void launch_sell(const kaon_launch *launch, const kaon_spmv_args *args, rows_call *a) {
  const kaon_stored_matrix *m = args->matrix;
  const bool shares = m->columns == KAON_COLUMNS_SHARED;
  constexpr int BATCH = sell_batch<REALS>();
  if (a->lanes > 1 || a->ghosts != NULL) {
    a->most = SELL_SHARED_RESIDENT * SELL_MULTIPROCESSORS;
    rows_partition(launch, args, KAON_THREADS >> a->shift, a);
    kaon_cuda_launch_listed(launch, rows_listed<REALS, HALF>(*a, KAON_LISTED_SELL_SHARED),
                            sell_shared_kernel<REALS, HALF>, (unsigned)a->chunks, KAON_THREADS, *a,
                            NULL);
  } else if constexpr (REALS * sizeof(real) > 8)
    sell_launch<REALS, HALF, 4, BATCH, SELL_ANY>(launch, args, 4, a);
  else if constexpr (REALS == 2)
    sell_launch<REALS, HALF, 5, BATCH, SELL_ANY>(launch, args, 5, a);
  else {
    const bool sums_of_short_rows = args->sum.state != NULL && m->entries < LONG_ROWS * m->rows;
    if constexpr (sizeof(real) == 8) {
      if (shares)
        sell_launch<REALS, HALF, MUCH_RESIDENT, MUCH_BATCH, SELL_SHARED>(launch, args,
                                                                         MUCH_RESIDENT, a);
      else if (sums_of_short_rows)
        sell_launch<REALS, HALF, MUCH_RESIDENT, MUCH_BATCH, SELL_OWN>(launch, args, MUCH_RESIDENT,
                                                                      a);
      else
        sell_launch<REALS, HALF, 6, BATCH, SELL_OWN>(launch, args, 6, a);
    } else if (shares)
      sell_launch<REALS, HALF, 6, SHARED_BATCH, SELL_SHARED>(launch, args, 6, a);
    else
      sell_launch<REALS, HALF, 6, BATCH, SELL_OWN>(launch, args, 6, a);
  }
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
