/* kernels.h - the CUDA launchers of blas_ops.h: KAON_EXPORT(kaon_<entry>), one for each
 * precision. */
#pragma once

#include "blas/blas_ops.h"
#include "blas/domain_ops.h"
#include "blas/precond_ops.h"

KAON_BEGIN_C

#define KAON_X(entry, formula)                                                         \
  void kaon_##entry##_cuda_d(const kaon_launch *launch, const kaon_update_args *args); \
  void kaon_##entry##_cuda_s(const kaon_launch *launch, const kaon_update_args *args); \
  void kaon_##entry##_cuda_h(const kaon_launch *launch, const kaon_update_args *args);
KAON_BLAS_OPS(KAON_X)
#undef KAON_X

#define KAON_X(entry, formula)                                                                 \
  void kaon_precond_##entry##_cuda_d(const kaon_launch *launch, const kaon_update_args *args); \
  void kaon_precond_##entry##_cuda_s(const kaon_launch *launch, const kaon_update_args *args);
KAON_PRECOND_OPS(KAON_X)
#undef KAON_X

#define KAON_DOMAIN(precision)                                                                   \
  void kaon_domain_mr_cuda_##precision(const kaon_launch *launch, const kaon_domain_args *args); \
  void kaon_domain_mask_cuda_##precision(const kaon_launch *launch, const kaon_domain_args *args);
KAON_DOMAIN(d)
KAON_DOMAIN(s)
KAON_DOMAIN(h)
#undef KAON_DOMAIN

void kaon_convert_cuda(const kaon_launch *launch, const kaon_convert_args *args);

KAON_END_C
