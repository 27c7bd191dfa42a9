/* table.c - the CUDA kernel tables of the Wilson-like operators, sources and contractions. */
#include "dslash/cuda/kernels.h"

#define KAON_DSLASH(prec)                                                                         \
  static void hop_##prec(const kaon_launch *launch, const kaon_hop_args *args) {                  \
    if (kaon_hop_pair_cuda_##prec(launch, args)) return;                                           \
    if (args->recon == 18)                                                                        \
      kaon_hop_18_cuda_##prec(launch, args);                                                      \
    else if (args->recon == 12)                                                                   \
      kaon_hop_12_cuda_##prec(launch, args);                                                      \
    else                                                                                          \
      kaon_hop_8_cuda_##prec(launch, args);                                                       \
  }                                                                                               \
  static void clover_##prec(const kaon_launch *launch, const kaon_clover_args *args) {            \
    if (!kaon_clover_pair_cuda_##prec(launch, args)) kaon_dslash_clover_cuda_##prec(launch, args); \
  }                                                                                               \
  const kaon_dslash_ops kaon_dslash_ops_cuda_##prec = {.hop = hop_##prec,                         \
                                                       .clover = clover_##prec,                   \
                                                       .updated_clover =                          \
                                                           kaon_updated_clover_pair_cuda_##prec}; \
  const kaon_measure_ops kaon_measure_ops_cuda_##prec = {.source = kaon_source_cuda_##prec,       \
                                                         .meson = kaon_meson_cuda_##prec};
KAON_DSLASH(d)
KAON_DSLASH(s)
KAON_DSLASH(h)
