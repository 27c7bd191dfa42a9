/* kernels.h - the functions of this folder, by the names in the table (table.c). */
#pragma once

#include "lib/core/kernel.h"
#include "sparse/sparse_ops.h"

void KAON_EXPORT(kaon_spmv)(const kaon_launch *launch, const kaon_spmv_args *args);
void KAON_EXPORT(kaon_pick)(const kaon_launch *launch, const kaon_pick_args *args);
void KAON_EXPORT(kaon_levels)(const kaon_launch *launch, const kaon_levels_args *args);
void KAON_EXPORT(kaon_relax)(const kaon_launch *launch, const kaon_relax_args *args);
void KAON_EXPORT(kaon_row_project)(const kaon_launch *launch, const kaon_project_args *args);
