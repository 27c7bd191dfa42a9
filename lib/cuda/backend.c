/* backend.c - the CUDA table. Folders without kernels yet have NULL entries. */
#include "lib/cuda/backend.h"

#include "lib/cuda/device.h"

const kaon_backend kaon_cuda_table = {
    .name = "cuda",
    .isa = "",
    .width = 32,
    .access = 16,
    .host_accessible = 0,
    .computed_neighbours = 1,
    .open = kaon_cuda_open,
    .close = kaon_cuda_close,
    .memory = &kaon_cuda_memory,
};
