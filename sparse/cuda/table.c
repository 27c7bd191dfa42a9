/* table.c - the CUDA kernel tables of sparse matrices. */
#include <stddef.h>

#include "sparse/cuda/kernels.h"

/* Long rows are added to what the others' product has left in y. */
static kaon_spmv_args without_sums(const kaon_spmv_args *args) {
  kaon_spmv_args of = *args;
  of.sum.state = NULL;
  return of;
}

#define KAON_SPARSE(prec)                                                           \
  static void plain_##prec(const kaon_launch *launch, const kaon_spmv_args *args) { \
    if (args->matrix->form != KAON_STORED_CSR && args->nrhs > 1)                    \
      kaon_spmv_sell_columns_cuda_##prec(launch, args);                             \
    else if (args->matrix->form != KAON_STORED_CSR)                                 \
      kaon_spmv_sell_cuda_##prec(launch, args);                                     \
    else if (args->matrix->lanes > 0)                                               \
      kaon_spmv_csr_cuda_##prec(launch, args);                                      \
    else                                                                            \
      kaon_spmv_shared_cuda_##prec(launch, args);                                   \
  }                                                                                 \
  static void spmv_##prec(const kaon_launch *launch, const kaon_spmv_args *args) {  \
    if (args->matrix->beyond == NULL) {                                             \
      plain_##prec(launch, args);                                                   \
      return;                                                                       \
    }                                                                               \
    const kaon_spmv_args others = without_sums(args);                               \
    plain_##prec(launch, &others);                                                  \
    kaon_spmv_long_cuda_##prec(launch, args);                                       \
  }                                                                                 \
  const kaon_sparse_ops kaon_sparse_ops_cuda_##prec = {                             \
      .spmv = spmv_##prec,                                                          \
      .spmv_posted = kaon_spmv_posted_cuda_##prec,                                  \
      .pick = kaon_sparse_pick_cuda_##prec,                                         \
      .levels = kaon_sparse_levels_cuda_##prec,                                     \
      .relax = kaon_sparse_relax_cuda_##prec,                                       \
      .project = kaon_row_project_cuda_##prec};
KAON_SPARSE(d)
KAON_SPARSE(s)
