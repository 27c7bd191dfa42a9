/* table.c - the CUDA kernel tables of the Wilson-like and staggered operators, sources and
 * contractions. */
#include <stddef.h>

#include "dslash/cuda/kernels.h"

static int is_cut(const kaon_stencil *st) {
  return st->cut[0] != 0 || st->cut[1] != 0 || st->cut[2] != 0 || st->cut[3] != 0;
}

/* Sites from which a hop leaves (w, out) to a separate kernel: a hop without (w, out) fits half as
 * many sites again on the device at a time. In double there is no such kernel for 12-real links. */
enum { SEPARATE_DOT_d = 0, SEPARATE_DOT_s = 1 << 17, SEPARATE_DOT_h = 1 << 17 };

#define KAON_DSLASH(prec)                                                                          \
  static void divided_##prec(const kaon_launch *launch, const kaon_gather_args *gather,            \
                             const kaon_hop_args *args) {                                          \
    const int recon = args != NULL ? args->recon : gather->recon;                                  \
    if (recon == 18)                                                                               \
      kaon_hop_faces_18_cuda_##prec(launch, gather, args);                                         \
    else if (recon == 12)                                                                          \
      kaon_hop_faces_12_cuda_##prec(launch, gather, args);                                         \
    else                                                                                           \
      kaon_hop_faces_8_cuda_##prec(launch, gather, args);                                          \
  }                                                                                                \
  static void gather_##prec(const kaon_launch *launch, const kaon_gather_args *args) {             \
    divided_##prec(launch, args, NULL);                                                            \
  }                                                                                                \
  static void hop_##prec(const kaon_launch *launch, const kaon_hop_args *args) {                   \
    if (args->part != KAON_PART_ALL) {                                                             \
      divided_##prec(launch, NULL, args);                                                          \
      return;                                                                                      \
    }                                                                                              \
    if (is_cut(args->stencil)) {                                                                   \
      kaon_hop_cut_cuda_##prec(launch, args);                                                      \
      return;                                                                                      \
    }                                                                                              \
    if (kaon_hop_pair_cuda_##prec(launch, args)) return;                                           \
    if (args->recon == 18)                                                                         \
      kaon_hop_18_cuda_##prec(launch, args);                                                       \
    else if (args->recon == 12)                                                                    \
      kaon_hop_12_cuda_##prec(launch, args);                                                       \
    else                                                                                           \
      kaon_hop_8_cuda_##prec(launch, args);                                                        \
  }                                                                                                \
  static void clover_##prec(const kaon_launch *launch, const kaon_clover_args *args) {             \
    if (!kaon_clover_pair_cuda_##prec(launch, args)) kaon_dslash_clover_cuda_##prec(launch, args); \
  }                                                                                                \
  const kaon_dslash_ops kaon_dslash_ops_cuda_##prec = {                                            \
      .separate_dot_sites = SEPARATE_DOT_##prec,                                                   \
      .hop = hop_##prec,                                                                           \
      .clover = clover_##prec,                                                                     \
      .updated_clover = kaon_updated_clover_pair_cuda_##prec,                                      \
      .gather = gather_##prec,                                                                     \
      .hop_fused = divided_##prec,                                                                 \
      .twist = kaon_dslash_twist_cuda_##prec};                                                     \
  const kaon_measure_ops kaon_measure_ops_cuda_##prec = {.source = kaon_source_cuda_##prec,        \
                                                         .meson = kaon_meson_cuda_##prec};
KAON_DSLASH(d)
KAON_DSLASH(s)
KAON_DSLASH(h)

/* The storage of the links for which a kernel is compiled. */
static int storage_of(const kaon_staggered_args *args) {
  return args->naik.links[0] != NULL ? args->naik.recon : args->fat.recon;
}

#define KAON_STAGGERED(prec)                                                                 \
  static void staggered_faces_##prec(const kaon_launch *launch,                              \
                                     const kaon_staggered_gather_args *gather,               \
                                     const kaon_staggered_args *args) {                      \
    const int recon = args == NULL ? gather->links.recon : storage_of(args);                 \
    if (recon == 18)                                                                         \
      kaon_staggered_faces_18_cuda_##prec(launch, gather, args);                             \
    else if (recon == 12)                                                                    \
      kaon_staggered_faces_12_cuda_##prec(launch, gather, args);                             \
    else                                                                                     \
      kaon_staggered_faces_8_cuda_##prec(launch, gather, args);                              \
  }                                                                                          \
  static void staggered_gather_##prec(const kaon_launch *launch,                             \
                                      const kaon_staggered_gather_args *args) {              \
    staggered_faces_##prec(launch, args, NULL);                                              \
  }                                                                                          \
  static void staggered_##prec(const kaon_launch *launch, const kaon_staggered_args *args) { \
    const int recon = storage_of(args);                                                      \
    if (args->part != KAON_PART_ALL)                                                         \
      staggered_faces_##prec(launch, NULL, args);                                            \
    else if (recon == 18)                                                                    \
      kaon_staggered_18_cuda_##prec(launch, args);                                           \
    else if (recon == 12)                                                                    \
      kaon_staggered_12_cuda_##prec(launch, args);                                           \
    else                                                                                     \
      kaon_staggered_8_cuda_##prec(launch, args);                                            \
  }                                                                                          \
  const kaon_staggered_ops kaon_staggered_ops_cuda_##prec = {                                \
      .hop = staggered_##prec,                                                               \
      .gather = staggered_gather_##prec,                                                     \
      .hop_fused = staggered_faces_##prec,                                                   \
      .face_links = kaon_staggered_face_links_cuda_##prec};
KAON_STAGGERED(d)
KAON_STAGGERED(s)
KAON_STAGGERED(h)
