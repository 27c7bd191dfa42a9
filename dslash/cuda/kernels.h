/* kernels.h - the CUDA launchers of hops, clover blocks, sources and contractions, for one
 * precision each, and the tables that use them (choose.c). Launchers of hops exist for each storage
 * of the links: 18, 12 or 8 reals. */
#pragma once

#include "dslash/cuda/choose.h"
#include "dslash/measure/measure_ops.h"

KAON_BEGIN_C

#define KAON_LAUNCHERS(type, name, prec) \
  type name##_18_cuda_##prec, name##_12_cuda_##prec, name##_8_cuda_##prec;

#define KAON_X(prec)                                                                          \
  KAON_LAUNCHERS(kaon_hop_launcher, kaon_hop, prec)                                           \
  KAON_LAUNCHERS(kaon_hop_launcher, kaon_hop_pair, prec)                                      \
  KAON_LAUNCHERS(kaon_hop_launcher, kaon_hop_staged, prec) /* in double not for 18 */         \
  KAON_LAUNCHERS(kaon_hop_launcher, kaon_hop_cut, prec)                                       \
  KAON_LAUNCHERS(kaon_hop_launcher, kaon_hop_faces, prec)                                     \
  KAON_LAUNCHERS(kaon_hop_launcher, kaon_hop_along, prec)                                     \
  KAON_LAUNCHERS(kaon_staggered_launcher, kaon_staggered, prec)                               \
  KAON_LAUNCHERS(kaon_staggered_launcher, kaon_staggered_faces, prec)                         \
  KAON_LAUNCHERS(kaon_staggered_launcher, kaon_staggered_along, prec)                         \
  kaon_clover_launcher kaon_clover_pair_cuda_##prec, kaon_dslash_clover_cuda_##prec;          \
  void kaon_dslash_twist_cuda_##prec(const kaon_launch *launch, const kaon_twist_args *args); \
  void kaon_dslash_inner_cuda_##prec(const kaon_launch *launch, const kaon_inner_args *args); \
  void kaon_staggered_face_links_cuda_##prec(const kaon_launch *launch,                       \
                                             const kaon_face_links_args *args);               \
  void kaon_source_cuda_##prec(const kaon_launch *launch, const kaon_source_args *args);      \
  void kaon_meson_cuda_##prec(const kaon_launch *launch, const kaon_meson_args *args);
KAON_X(d)
KAON_X(s)
KAON_X(h)
#undef KAON_X

extern const kaon_dslash_ops kaon_dslash_ops_cuda_d, kaon_dslash_ops_cuda_s, kaon_dslash_ops_cuda_h;
extern const kaon_staggered_ops kaon_staggered_ops_cuda_d, kaon_staggered_ops_cuda_s,
    kaon_staggered_ops_cuda_h;

KAON_END_C
