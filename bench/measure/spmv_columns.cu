/* spmv_columns.cu - see spmv_columns.h. */
#include "bench/measure/spmv_columns.h"

#include <math.h>

enum { THREADS = 256, BLOCKS = 1056 };

/* The largest difference and the largest right number, as integers that are in the order of the
 * numbers: none is negative, and NaN is above all. */
static __device__ unsigned long long largest[2];

static __device__ __forceinline__ int64_t place(const dense &d, int64_t row, int column) {
  if (d.order == DENSE_BLOCKS) return (row / 32 * d.columns + column) * 32 + row % 32;
  return d.order == DENSE_ROWS ? row * d.columns + column : column * d.rows + row;
}

template <typename real>
static __global__ void spread_kernel(dense from, dense to) {
  for (int64_t row = blockIdx.x * (int64_t)THREADS + threadIdx.x; row < to.rows;
       row += gridDim.x * (int64_t)THREADS) {
    const real x = ((const real *)from.data)[place(from, row, 0)];
    for (int k = 0; k < to.columns; k++) ((real *)to.data)[place(to, row, k)] = x;
  }
}

template <typename real>
static __global__ void keep_kernel(dense y, const int32_t *given, double *expected) {
  for (int64_t row = blockIdx.x * (int64_t)THREADS + threadIdx.x; row < y.rows;
       row += gridDim.x * (int64_t)THREADS)
    expected[given != NULL ? given[row] : row] = (double)((const real *)y.data)[place(y, row, 0)];
}

template <typename real>
static __global__ void differ_kernel(dense y, const int32_t *given, const double *expected) {
  unsigned long long worst = 0, most = 0;
  for (int64_t row = blockIdx.x * (int64_t)THREADS + threadIdx.x; row < y.rows;
       row += gridDim.x * (int64_t)THREADS) {
    const double right = expected[given != NULL ? given[row] : row];
    for (int k = 0; k < y.columns; k++) {
      const double x = (double)((const real *)y.data)[place(y, row, k)];
      const unsigned long long error = (unsigned long long)__double_as_longlong(fabs(x - right));
      const unsigned long long size = (unsigned long long)__double_as_longlong(fabs(right));
      if (error > worst) worst = error;
      if (size > most) most = size;
    }
  }
  atomicMax(&largest[0], worst);
  atomicMax(&largest[1], most);
}

extern "C" cudaError_t dense_spread(cudaStream_t queue, const dense *from, const dense *to) {
  if (to->size == 8)
    spread_kernel<double><<<BLOCKS, THREADS, 0, queue>>>(*from, *to);
  else
    spread_kernel<float><<<BLOCKS, THREADS, 0, queue>>>(*from, *to);
  return cudaGetLastError();
}

extern "C" cudaError_t dense_keep(cudaStream_t queue, const dense *y, const int32_t *given,
                                  double *expected) {
  if (y->size == 8)
    keep_kernel<double><<<BLOCKS, THREADS, 0, queue>>>(*y, given, expected);
  else
    keep_kernel<float><<<BLOCKS, THREADS, 0, queue>>>(*y, given, expected);
  return cudaGetLastError();
}

extern "C" cudaError_t dense_differ(cudaStream_t queue, const dense *y, const int32_t *given,
                                    const double *expected, double *difference) {
  double found[2] = {0, 0};
  cudaError_t status =
      cudaMemcpyToSymbolAsync(largest, found, sizeof found, 0, cudaMemcpyHostToDevice, queue);
  if (status != cudaSuccess) return status;
  if (y->size == 8)
    differ_kernel<double><<<BLOCKS, THREADS, 0, queue>>>(*y, given, expected);
  else
    differ_kernel<float><<<BLOCKS, THREADS, 0, queue>>>(*y, given, expected);
  status = cudaGetLastError();
  if (status == cudaSuccess)
    status =
        cudaMemcpyFromSymbolAsync(found, largest, sizeof found, 0, cudaMemcpyDeviceToHost, queue);
  if (status == cudaSuccess) status = cudaStreamSynchronize(queue);
  *difference = found[0] / found[1];
  return status;
}
