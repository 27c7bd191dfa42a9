/* csr.cu - products of matrices in CSR on the GPU. 1 to 32 adjacent threads share a row: they take
 * its entries alternately and add their sums by shuffles. */
#include "sparse/cuda/csr.h"

/* Thread blocks of one column that fit on a multiprocessor. They run for the whole product. */
enum { RESIDENT = 4, MULTIPROCESSORS = 132 };

template <int REALS, int COLS>
static __global__ void __launch_bounds__(KAON_THREADS, COLS == 1    ? RESIDENT
                                                       : REALS == 1 ? 3
                                                                    : 2)
    csr_kernel(const __grid_constant__ rows_call a) {
  const int chunk = chunk_of<COLS>(a);
  const uint64_t policy = matrix_policy(a);
  columns cols = columns_of<COLS>(a);
  double sum[ROW_SUMS] = {};
  kaon_wait_for_previous();
  columns_prefetch<COLS>(a, &cols);
  if (cols.open == 0) return;
  csr_chunk<REALS, COLS>(a, cols, chunk, policy, sum);
  if (COLS == 1)
    column_finish(a, cols, chunk, sum);
  else
    kaon_let_next_start();
}

template <int REALS>
static void launch_csr(const kaon_launch *launch, const rows_call &a) {
  const unsigned blocks = (unsigned)a.chunks * (unsigned)a.groups;
  if (a.nrhs == 1)
    kaon_cuda_launch_listed(launch, rows_listed<REALS, 0>(a, KAON_LISTED_CSR), csr_kernel<REALS, 1>,
                            blocks, KAON_THREADS, a, NULL);
  else
    kaon_cuda_launch(launch, csr_kernel<REALS, ROW_COLUMNS>, blocks, KAON_THREADS, a);
}

/* Uses more threads for a row than the matrix suggests if its rows do not fill a device. */
static int threads_shift(const kaon_stored_matrix *m) {
  const int64_t mean = m->rows > 0 ? m->entries / m->rows : 0;
  int shift = 0;
  while (1 << shift < m->lanes) shift++;
  while (1 << shift < KAON_LANES && (m->rows << shift) < ROW_DEVICE && mean > 2 << shift) shift++;
  return shift;
}

extern "C" void KAON_EXPORT(kaon_spmv_csr)(const kaon_launch *launch, const kaon_spmv_args *args) {
  rows_call a = rows_of(launch, args);
  a.shift = threads_shift(args->matrix);
  a.lanes = 1 << a.shift;
  if (a.nrhs == 1) a.most = RESIDENT * MULTIPROCESSORS;
  rows_partition(launch, args, KAON_THREADS >> a.shift, &a);
  if (args->matrix->reals == 1)
    launch_csr<1>(launch, a);
  else
    launch_csr<2>(launch, a);
}
