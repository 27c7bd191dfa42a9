/* library.h - vector work by cuBLAS, and a context's part of it (KAON_ISSUE_LIBRARY). */
#ifndef KAON_BLAS_CUDA_LIBRARY_H
#define KAON_BLAS_CUDA_LIBRARY_H

#include "blas/blas_ops.h"
#include "lib/core/context_internal.h"

extern const kaon_blas_ops kaon_blas_ops_library_d, kaon_blas_ops_library_s;

/* A context's machine as ever, and cuBLAS. Errors besides: UNSUPPORTED (the library is not there).
 */
kaon_status kaon_cuda_library_open(kaon_context *ctx);
void kaon_cuda_library_close(kaon_context *ctx);

#endif
