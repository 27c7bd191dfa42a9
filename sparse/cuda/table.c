/* table.c - the CUDA kernel tables of sparse matrices. */
#include <stddef.h>

#include "sparse/cuda/kernels.h"

/* None where rows are divided by entries or long ones are added later, since y is not final in the
 * product's threads. With several columns a separate kernel is faster than registers for sums. */
static int sums(const kaon_stored_matrix *m, int nrhs) {
  if (nrhs > 1 || m->long_part != NULL || (m->form == KAON_STORED_CSR && m->lanes == 0)) return 0;
  return KAON_SUMS_NORM | KAON_SUMS_DOT | KAON_SUMS_RECURRENCES | KAON_SUMS_RANKS |
         KAON_SUMS_COMPLETES;
}

#define KAON_SPARSE(prec)                                                          \
  static void spmv_##prec(const kaon_launch *launch, const kaon_spmv_args *args) { \
    if (args->matrix->form != KAON_STORED_CSR && args->nrhs > 1)                   \
      kaon_spmv_sell_columns_cuda_##prec(launch, args);                            \
    else if (args->matrix->form != KAON_STORED_CSR)                                \
      kaon_spmv_sell_cuda_##prec(launch, args);                                    \
    else if (args->matrix->lanes > 0)                                              \
      kaon_spmv_csr_cuda_##prec(launch, args);                                     \
    else                                                                           \
      kaon_spmv_shared_cuda_##prec(launch, args);                                  \
    if (args->matrix->long_part != NULL) kaon_spmv_long_cuda_##prec(launch, args); \
  }                                                                                \
  const kaon_sparse_ops kaon_sparse_ops_cuda_##prec = {                            \
      .sums = sums,                                                                \
      .spmv = spmv_##prec,                                                         \
      .spmv_with_exchange = kaon_spmv_with_exchange_cuda_##prec,                   \
      .pick = kaon_sparse_pick_cuda_##prec,                                        \
      .levels = kaon_sparse_levels_cuda_##prec,                                    \
      .relax = kaon_sparse_relax_cuda_##prec,                                      \
      .project = kaon_row_project_cuda_##prec};
KAON_SPARSE(d)
KAON_SPARSE(s)
