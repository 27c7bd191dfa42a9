/* transfer.cu - the table of kernels between fine and coarse lattices on the GPU. */
#include "multigrid/cuda/kernels.h"

extern "C" const kaon_transfer_ops KAON_EXPORT(kaon_transfer_ops) = {
    .restrict_to = KAON_EXPORT(kaon_transfer_restrict_to),
    .prolong = KAON_EXPORT(kaon_transfer_prolong),
    .take_half = KAON_EXPORT(kaon_transfer_take_half),
#if !KAON_IS_HALF
    .gram = KAON_EXPORT(kaon_transfer_gram),
    .factor = KAON_EXPORT(kaon_transfer_factor),
    .transform = KAON_EXPORT(kaon_transfer_transform),
#endif
#if defined(KAON_PREC_DOUBLE)
    .random = KAON_EXPORT(kaon_transfer_random),
#endif
};
