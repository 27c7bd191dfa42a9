/* kernels.h - the kernels in transfer.c's table. */
#pragma once

#include "lib/core/kernel.h"
#include "multigrid/transfer_ops.h"

void KAON_EXPORT(kaon_transfer_restrict_to)(const kaon_launch *launch,
                                            const kaon_transfer_args *args);
void KAON_EXPORT(kaon_transfer_prolong)(const kaon_launch *launch, const kaon_transfer_args *args);
void KAON_EXPORT(kaon_transfer_take_half)(const kaon_launch *launch,
                                          const kaon_transfer_args *args);
#if !KAON_IS_HALF
void KAON_EXPORT(kaon_transfer_gram)(const kaon_launch *launch, const kaon_transfer_args *args);
void KAON_EXPORT(kaon_transfer_factor)(const kaon_launch *launch, const kaon_transfer_args *args);
void KAON_EXPORT(kaon_transfer_transform)(const kaon_launch *launch,
                                          const kaon_transfer_args *args);
#endif
/* In double alone. */
void KAON_EXPORT(kaon_transfer_random)(const kaon_launch *launch, const kaon_random_args *args);
