/* kernels.h - the CUDA launchers of sparse_ops.h, for one precision of vectors each. table.c
 * chooses the product by storage form. */
#pragma once

#include "sparse/sparse_ops.h"

KAON_BEGIN_C

#define KAON_X(prec)                                                                              \
  void kaon_spmv_sell_cuda_##prec(const kaon_launch *launch, const kaon_spmv_args *args);         \
  int kaon_spmv_with_exchange_cuda_##prec(const kaon_launch *launch, const kaon_spmv_args *args,  \
                                          const kaon_pick_args *pick,                             \
                                          const struct kaon_peer_messages *post);                 \
  void kaon_spmv_sell_columns_cuda_##prec(const kaon_launch *launch, const kaon_spmv_args *args); \
  void kaon_spmv_csr_cuda_##prec(const kaon_launch *launch, const kaon_spmv_args *args);          \
  void kaon_spmv_shared_cuda_##prec(const kaon_launch *launch, const kaon_spmv_args *args);       \
  void kaon_spmv_long_cuda_##prec(const kaon_launch *launch, const kaon_spmv_args *args);         \
  void kaon_sparse_pick_cuda_##prec(const kaon_launch *launch, const kaon_pick_args *args);       \
  void kaon_sparse_levels_cuda_##prec(const kaon_launch *launch, const kaon_levels_args *args);   \
  void kaon_sparse_relax_cuda_##prec(const kaon_launch *launch, const kaon_relax_args *args);     \
  void kaon_row_project_cuda_##prec(const kaon_launch *launch, const kaon_project_args *args);
KAON_X(d)
KAON_X(s)
#undef KAON_X

extern const kaon_sparse_ops kaon_sparse_ops_cuda_d, kaon_sparse_ops_cuda_s;

KAON_END_C
