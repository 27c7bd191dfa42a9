/* library.h - vector work by cuBLAS (KAON_ISSUE_LIBRARY): its tables, and opening a context with
 * it. */
#pragma once

#include "blas/blas_ops.h"
#include "lib/core/context_internal.h"

extern const kaon_blas_ops kaon_blas_ops_library_d, kaon_blas_ops_library_s;

/* Opens the context's device as usual, and cuBLAS. Additional error: UNSUPPORTED (the library is
 * missing). */
kaon_status kaon_cuda_library_open(kaon_context *ctx);
void kaon_cuda_library_close(kaon_context *ctx);
