/* kernels.h - the launchers in transfer.cu's table. */
#pragma once

#include "lib/core/kernel.h"
#include "multigrid/transfer_ops.h"

KAON_BEGIN_C

typedef void kaon_transfer_launcher(const kaon_launch *launch, const kaon_transfer_args *args);
kaon_transfer_launcher KAON_EXPORT(kaon_transfer_restrict_to), KAON_EXPORT(kaon_transfer_prolong),
    KAON_EXPORT(kaon_transfer_take_half);
/* Not in half precision. */
kaon_transfer_launcher KAON_EXPORT(kaon_transfer_gram), KAON_EXPORT(kaon_transfer_factor),
    KAON_EXPORT(kaon_transfer_transform);
/* In double alone. */
void KAON_EXPORT(kaon_transfer_random)(const kaon_launch *launch, const kaon_random_args *args);

KAON_END_C
