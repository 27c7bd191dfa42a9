/* matrix_copy.cu - copies matrices on listed sites from and to an array, on the GPU
 * (lib/vector/import_ops.h). A thread handles a site; a warp reads and writes the values in whole
 * rows (lib/cuda/memory/records.h). */
#include "lib/cuda/memory/import.h"

#include "lib/cuda/memory/access.h"
#include "lib/cuda/memory/records.h"

enum { COPY_THREADS = 128, MATRIX = 18 };

static __global__ void __launch_bounds__(COPY_THREADS)
    matrix_copy_kernel(const __grid_constant__ kaon_matrix_copy_args a) {
  __shared__ double room[COPY_THREADS / 32][RECORDS_SHARED_BYTES(MATRIX)];
  const int64_t i = (int64_t)blockIdx.x * COPY_THREADS + threadIdx.x;
  const int listed = i < a.count ? a.sites[i] : -1, site = listed < 0 ? 0 : listed;
  const int lane = site % KAON_LANES;
  double *record = listed < 0 ? NULL : a.memory + MATRIX * i;
  double *block = a.field + (int64_t)(site / KAON_LANES) * MATRIX * KAON_LANES;
  double value[MATRIX];
  if (a.import_values) {
    records_read<double, MATRIX>(record, room[threadIdx.x / 32], value);
    if (record != NULL) site_write<double, MATRIX>(block, lane, value);
  } else {
    site_read<double, MATRIX>(block, lane, value);
    records_write<double, MATRIX>(record, room[threadIdx.x / 32], value);
  }
}

extern "C" void kaon_matrix_copy_cuda(const kaon_launch *launch,
                                      const kaon_matrix_copy_args *args) {
  const unsigned blocks = (unsigned)((args->count + COPY_THREADS - 1) / COPY_THREADS);
  matrix_copy_kernel<<<blocks, COPY_THREADS, 0, (cudaStream_t)launch->queue>>>(*args);
}
