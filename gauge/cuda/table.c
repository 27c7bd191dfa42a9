/* table.c - the CUDA kernel tables of link fields. */
#include <cuda_runtime_api.h>

#include "gauge/cuda/kernels.h"

static void copy_links(const kaon_launch *launch, void *to, const void *from, size_t bytes) {
  cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, (cudaStream_t)launch->queue);
}

/* clang-format off */
#define KAON_D(entry_, type) .entry_ = kaon_links_##entry_##_cuda_d,
#define KAON_S(entry_, type) .entry_ = kaon_links_##entry_##_cuda_s,
#define KAON_H(entry_, type) .entry_ = kaon_links_##entry_##_cuda_h,
const kaon_gauge_ops kaon_gauge_ops_cuda_d = {
    .copy = copy_links,
    KAON_GAUGE_STORAGE(KAON_D)
    KAON_GAUGE_FATTENING(KAON_D)
    KAON_GAUGE_DOUBLE(KAON_D)
    KAON_D(reorder, reorder)
};
const kaon_gauge_ops kaon_gauge_ops_cuda_s = {
    .copy = copy_links,
    KAON_GAUGE_STORAGE(KAON_S)
    KAON_GAUGE_FATTENING(KAON_S)
};
const kaon_gauge_ops kaon_gauge_ops_cuda_h = {
    .copy = copy_links,
    KAON_GAUGE_STORAGE(KAON_H)
};
