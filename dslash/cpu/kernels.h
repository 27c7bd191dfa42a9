/* kernels.h - the kernels in hop.c's table. */
#pragma once

#include "dslash/dslash_ops.h"
#include "lib/core/kernel.h"

void KAON_EXPORT(kaon_dslash_hop)(const kaon_launch *launch, const kaon_hop_args *args);
void KAON_EXPORT(kaon_dslash_clover)(const kaon_launch *launch, const kaon_clover_args *args);
void KAON_EXPORT(kaon_dslash_twist)(const kaon_launch *launch, const kaon_twist_args *args);
void KAON_EXPORT(kaon_dslash_inner)(const kaon_launch *launch, const kaon_inner_args *args);
void KAON_EXPORT(kaon_dslash_gather)(const kaon_launch *launch, const kaon_gather_args *args);
void KAON_EXPORT(kaon_dslash_free_blocks)(const kaon_launch *launch, const kaon_free_args *args);
