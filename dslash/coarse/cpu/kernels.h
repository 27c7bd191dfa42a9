/* kernels.h - the kernels in coarse.c's table. */
#pragma once

#include "dslash/coarse/coarse_ops.h"
#include "lib/core/kernel.h"
#include "lib/cpu/reduce.h"

void KAON_EXPORT(kaon_coarse_gather)(const kaon_launch *launch,
                                     const kaon_coarse_gather_args *args);
void KAON_EXPORT(kaon_coarse_inverse)(const kaon_launch *launch,
                                      const kaon_coarse_inverse_args *args);
void KAON_EXPORT(kaon_coarse_collect)(const kaon_launch *launch, const kaon_dense_args *args);
void KAON_EXPORT(kaon_coarse_spread)(const kaon_launch *launch, const kaon_dense_args *args);
void KAON_EXPORT(kaon_coarse_dense)(const kaon_launch *launch, const kaon_dense_args *args);
typedef void kaon_square_launcher(const kaon_launch *launch, const kaon_square_args *args);
kaon_square_launcher KAON_EXPORT(kaon_coarse_add_to_matrix),
    KAON_EXPORT(kaon_coarse_take_from_matrix), KAON_EXPORT(kaon_coarse_column_norms);
