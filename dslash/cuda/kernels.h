/* kernels.h - the CUDA launchers of dslash_ops.h and measure_ops.h, for one precision each. table.c
 * chooses the hop by link storage. The hop of a partitioned lattice (hop_faces.h,
 * staggered_faces.h) does only the gather (args NULL), a part of the hop (gather NULL), or all in
 * one launch. The kernels for few sites (hop_pair.cu) return 0 and do nothing if they do not
 * support the call. */
#ifndef KAON_DSLASH_CUDA_KERNELS_H
#define KAON_DSLASH_CUDA_KERNELS_H

#include "dslash/dslash_ops.h"
#include "dslash/measure/measure_ops.h"
#include "dslash/staggered/staggered_ops.h"

#ifdef __cplusplus
extern "C" {
#endif

#define KAON_X(prec)                                                                              \
  void kaon_hop_18_cuda_##prec(const kaon_launch *launch, const kaon_hop_args *args);             \
  void kaon_hop_12_cuda_##prec(const kaon_launch *launch, const kaon_hop_args *args);             \
  void kaon_hop_8_cuda_##prec(const kaon_launch *launch, const kaon_hop_args *args);              \
  void kaon_hop_faces_18_cuda_##prec(const kaon_launch *launch, const kaon_gather_args *gather,   \
                                     const kaon_hop_args *args);                                  \
  void kaon_hop_faces_12_cuda_##prec(const kaon_launch *launch, const kaon_gather_args *gather,   \
                                     const kaon_hop_args *args);                                  \
  void kaon_hop_faces_8_cuda_##prec(const kaon_launch *launch, const kaon_gather_args *gather,    \
                                    const kaon_hop_args *args);                                   \
  void kaon_hop_cut_cuda_##prec(const kaon_launch *launch, const kaon_hop_args *args);            \
  int kaon_hop_pair_cuda_##prec(const kaon_launch *launch, const kaon_hop_args *args);            \
  int kaon_clover_pair_cuda_##prec(const kaon_launch *launch, const kaon_clover_args *args);      \
  int kaon_updated_clover_pair_cuda_##prec(const kaon_launch *launch,                             \
                                           const kaon_clover_args *args);                         \
  void kaon_dslash_clover_cuda_##prec(const kaon_launch *launch, const kaon_clover_args *args);   \
  void kaon_dslash_twist_cuda_##prec(const kaon_launch *launch, const kaon_twist_args *args);     \
  void kaon_staggered_18_cuda_##prec(const kaon_launch *launch, const kaon_staggered_args *args); \
  void kaon_staggered_12_cuda_##prec(const kaon_launch *launch, const kaon_staggered_args *args); \
  void kaon_staggered_8_cuda_##prec(const kaon_launch *launch, const kaon_staggered_args *args);  \
  void kaon_staggered_faces_18_cuda_##prec(const kaon_launch *launch,                             \
                                           const kaon_staggered_gather_args *gather,              \
                                           const kaon_staggered_args *args);                      \
  void kaon_staggered_faces_12_cuda_##prec(const kaon_launch *launch,                             \
                                           const kaon_staggered_gather_args *gather,              \
                                           const kaon_staggered_args *args);                      \
  void kaon_staggered_faces_8_cuda_##prec(const kaon_launch *launch,                              \
                                          const kaon_staggered_gather_args *gather,               \
                                          const kaon_staggered_args *args);                       \
  void kaon_staggered_face_links_cuda_##prec(const kaon_launch *launch,                           \
                                             const kaon_face_links_args *args);                   \
  void kaon_source_cuda_##prec(const kaon_launch *launch, const kaon_source_args *args);          \
  void kaon_meson_cuda_##prec(const kaon_launch *launch, const kaon_meson_args *args);
KAON_X(d)
KAON_X(s)
KAON_X(h)
#undef KAON_X

extern const kaon_dslash_ops kaon_dslash_ops_cuda_d, kaon_dslash_ops_cuda_s, kaon_dslash_ops_cuda_h;
extern const kaon_staggered_ops kaon_staggered_ops_cuda_d, kaon_staggered_ops_cuda_s,
    kaon_staggered_ops_cuda_h;
extern const kaon_measure_ops kaon_measure_ops_cuda_d, kaon_measure_ops_cuda_s,
    kaon_measure_ops_cuda_h;

#ifdef __cplusplus
}
#endif

#endif
