/* sell.cu - products of matrices in SELL and ELL with one column on the GPU. A warp has a block of
 * 32 rows, a thread a row, so that columns and values are read in whole lines. A thread loads a
 * batch of entries before it requests the first of their x.
 *
 * Performance depends on the loads in flight. A kernel has 40 to 64 registers, so that there are
 * many warps or long batches, and loads must not be spilled. Therefore separate kernels handle
 * ghosts, and warps that share a block of rows, and sums are held in shared memory. If columns come
 * from cached lists that blocks share, only values are in flight, and batches are longer. */
#include "sparse/cuda/sell_one.h"

enum { LONG_ROWS = 32 };

/* Entries in a batch, for real rows in single whose columns are in shared lists. */
enum { SHARED_BATCH = 8 };

/* For rows with ghosts, or a.lanes warps that share a block of rows. */
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

/* In double: resident thread blocks of a multiprocessor where each thread has many loads in flight,
 * and the entries in its batch. This is faster for columns in shared lists, and for short rows with
 * sums, since each block stores sums to be added (bench/notes/design-spmv-cuda.md). */
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
