/* table.c - the CUDA kernel tables of sparse matrices. */
#include <stddef.h>

#include "blas/cuda/kernels.h"
#include "lib/cuda/lanes.h"
#include "sparse/cuda/kernels.h"

/* All arguments without the sums. */
static kaon_spmv_args without_sums(const kaon_spmv_args *args) {
  kaon_spmv_args of = *args;
  of.sum.state = NULL;
  return of;
}

/* The sums of all rows, computed by the vector kernel after the rows are written. */
static kaon_update_args sums_after(const kaon_spmv_args *args) {
  const kaon_stored_matrix *m = args->matrix;
  kaon_update_args of = {.shape = {.nblocks = m->blocks,
                                   .width = KAON_LANES,
                                   .ncomp = m->reals,
                                   .nrhs = args->nrhs,
                                   .complex_space = m->reals == 2},
                         .gate = args->gate,
                         .sum = args->sum};
  of.v[0] = args->w.data != NULL ? args->w : args->y;
  of.v[1] = args->y;
  of.sum.slot[0] = args->sum.slot[1];
  of.sum.slot[1] = args->sum.slot[2];
  of.sum.slot[2] = args->sum.slot[0];
  return of;
}

#define KAON_SPARSE(prec)                                                           \
  static void rows_##prec(const kaon_launch *launch, const kaon_spmv_args *args) {  \
    if (args->matrix->form != KAON_STORED_CSR && args->nrhs > 1)                    \
      kaon_spmv_sell_columns_cuda_##prec(launch, args);                             \
    else if (args->matrix->form != KAON_STORED_CSR)                                 \
      kaon_spmv_sell_cuda_##prec(launch, args);                                     \
    else if (args->matrix->lanes > 0)                                               \
      kaon_spmv_csr_cuda_##prec(launch, args);                                      \
    else                                                                            \
      kaon_spmv_shared_cuda_##prec(launch, args);                                   \
    if (args->matrix->long_part != NULL) kaon_spmv_long_cuda_##prec(launch, args);  \
  }                                                                                 \
  static void spmv_##prec(const kaon_launch *launch, const kaon_spmv_args *args) {  \
    if (args->sum.state == NULL || !kaon_sums_separate(args->matrix, args->nrhs)) { \
      rows_##prec(launch, args);                                                    \
      return;                                                                       \
    }                                                                               \
    const kaon_spmv_args bare = without_sums(args);                                 \
    rows_##prec(launch, &bare);                                                     \
    if (args->part == KAON_ROWS_INTERIOR) return;                                   \
    const kaon_update_args sums = sums_after(args);                                 \
    kaon_dot_cuda_##prec(launch, &sums);                                            \
  }                                                                                 \
  const kaon_sparse_ops kaon_sparse_ops_cuda_##prec = {                             \
      .spmv = spmv_##prec,                                                          \
      .spmv_with_exchange = kaon_spmv_with_exchange_cuda_##prec,                    \
      .pick = kaon_sparse_pick_cuda_##prec,                                         \
      .levels = kaon_sparse_levels_cuda_##prec,                                     \
      .relax = kaon_sparse_relax_cuda_##prec,                                       \
      .project = kaon_row_project_cuda_##prec};
KAON_SPARSE(d)
KAON_SPARSE(s)
