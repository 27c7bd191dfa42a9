/* table.c - the CUDA kernel tables of link fields. */
#include <cuda_runtime_api.h>

#include "gauge/cuda/kernels.h"

static void copy_links(const kaon_launch *launch, void *to, const void *from, size_t bytes) {
  cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, (cudaStream_t)launch->queue);
}

#define KAON_STORAGE(prec)                                                                  \
  .encode = kaon_encode_cuda_##prec, .decode = kaon_decode_cuda_##prec, .copy = copy_links, \
  .rotate = kaon_rotate_cuda_##prec, .clover_store = kaon_clover_store_cuda_##prec

#define KAON_FATTENING(prec)                                              \
  .fatten = kaon_fatten_stage_cuda_##prec, .line = kaon_line_cuda_##prec, \
  .unitarise = kaon_unitarise_cuda_##prec

const kaon_gauge_ops kaon_gauge_ops_cuda_d = {
    KAON_STORAGE(d),
    KAON_FATTENING(d),
    .reorder = kaon_reorder_cuda_d,
    .fill = kaon_fill_links_cuda_d,
    .project = kaon_project_cuda_d,
    .inspect = kaon_inspect_cuda_d,
    .plaquette = kaon_plaquette_cuda_d,
    .charge = kaon_charge_cuda_d,
    .update = kaon_update_links_cuda_d,
    .transport = kaon_transport_cuda_d,
    .polyakov = kaon_polyakov_cuda_d,
    .transform = kaon_transform_cuda_d,
    .clover_term = kaon_clover_term_cuda_d,
    .clover_invert = kaon_clover_invert_cuda_d,
    .clover_square = kaon_clover_square_cuda_d,
    .link_size = kaon_link_size_cuda_d,
    .link_split = kaon_link_split_cuda_d,
};
const kaon_gauge_ops kaon_gauge_ops_cuda_s = {KAON_STORAGE(s), KAON_FATTENING(s)};
const kaon_gauge_ops kaon_gauge_ops_cuda_h = {KAON_STORAGE(h)};
