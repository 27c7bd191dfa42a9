/* transfer.c - between fine and coarse lattices on the CPU (transfer_ops.h). */
#include "lib/core/kernel.h"
#include "multigrid/transfer_ops.h"

const kaon_transfer_ops KAON_EXPORT(kaon_transfer_ops) = {.restrict_to = NULL};
