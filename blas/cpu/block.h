/* block.h - the entries of blas_ops.h that join columns. Defined in block.c, used in the table of
 * update.c. */
#pragma once

#include "blas/blas_ops.h"
#include "lib/core/kernel.h"

void KAON_EXPORT(kaon_gram)(const kaon_launch *launch, const kaon_update_args *args);
void KAON_EXPORT(kaon_block_axpy)(const kaon_launch *launch, const kaon_update_args *args);
void KAON_EXPORT(kaon_block_rotate)(const kaon_launch *launch, const kaon_update_args *args);
