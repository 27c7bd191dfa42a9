/* spmv_columns.h - columns of numbers in the device's memory, in the orders in which products take
 * them and leave them, for spmv_times: filled and compared there, since copies to the host would
 * take longer than the products. */
#ifndef SPMV_COLUMNS_H
#define SPMV_COLUMNS_H

#include <cuda_runtime_api.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* [block][column][row of the block], 32 rows a block, as vectors have them; [row][column];
 * [column][row]. */
typedef enum dense_order { DENSE_BLOCKS, DENSE_ROWS, DENSE_COLUMNS } dense_order;

typedef struct dense {
  void *data;
  int size; /* of a number: 8 or 4 bytes */
  dense_order order;
  int64_t rows;
  int columns;
} dense;

/* Each column of `to` becomes the first one of `from`; both have the same rows and size. */
cudaError_t dense_spread(cudaStream_t queue, const dense *from, const dense *to);
/* expected[given[i]] = row i of the first column; given: device memory, NULL: i. */
cudaError_t dense_keep(cudaStream_t queue, const dense *y, const int32_t *given, double *expected);
/* The largest difference of all columns from `expected`, relative to its largest number; NaN where
 * one is in y. Waits. */
cudaError_t dense_differ(cudaStream_t queue, const dense *y, const int32_t *given,
                         const double *expected, double *difference);

#ifdef __cplusplus
}
#endif

#endif
