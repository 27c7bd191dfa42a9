/* transfer.cu - between fine and coarse lattices on the GPU (transfer_ops.h). */
#include "lib/core/kernel.h"
#include "multigrid/transfer_ops.h"

extern "C" const kaon_transfer_ops KAON_EXPORT(kaon_transfer_ops) = {};
