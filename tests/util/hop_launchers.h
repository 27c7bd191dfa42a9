/* hop_launchers.h - launchers of GPU kernels that only record how they were called, and arguments for
 * them: for tests of dslash/cuda/choose.c, which need no device. Functions are static; the launchers
 * are those that the rows name. Include the cmocka preamble before. */
#ifndef HOP_LAUNCHERS_H
#define HOP_LAUNCHERS_H

#include <stdio.h>
#include <string.h>

#include "dslash/cuda/kernels.h"
#include "lib/core/context_internal.h"
#include "lib/cuda/backend.h"

enum { D, S, H };

/* ---- launchers ---- */

static struct {
  const char *launcher;
  int recon, calls;
  const void *gather, *args;
  kaon_kernel_choice choice;
  int part;
} called;

static void record(const char *launcher, int recon, const kaon_kernel_choice *choice,
                   const void *gather, const void *args, int part) {
  called.launcher = launcher;
  called.recon = recon;
  called.calls++;
  called.gather = gather;
  called.args = args;
  called.choice = *choice;
  called.part = part;
}

#define HOP(name, recon, prec)                                                                   \
  void name##_##recon##_cuda_##prec(const kaon_launch *launch, const kaon_kernel_choice *c,      \
                                    const kaon_gather_args *gather, const kaon_hop_args *args) { \
    (void)launch;                                                                                \
    record(#name "_" #prec, recon, c, gather, args, args->part);                                 \
  }
#define STAGGERED(name, recon, prec)                                                        \
  void name##_##recon##_cuda_##prec(const kaon_launch *launch, const kaon_kernel_choice *c, \
                                    const kaon_staggered_gather_args *gather,               \
                                    const kaon_staggered_args *args) {                      \
    (void)launch;                                                                           \
    record(#name "_" #prec, recon, c, gather, args, args->part);                            \
  }
#define CLOVER(name, prec)                                                        \
  void name##_cuda_##prec(const kaon_launch *launch, const kaon_kernel_choice *c, \
                          const kaon_clover_args *args) {                         \
    (void)launch;                                                                 \
    record(#name "_" #prec, 0, c, NULL, args, 0);                                 \
  }
#define ALL_LINKS(make, name, prec) make(name, 18, prec) make(name, 12, prec) make(name, 8, prec)
#define ALL(prec)                                                                              \
  ALL_LINKS(HOP, kaon_hop, prec)                                                               \
  ALL_LINKS(HOP, kaon_hop_pair, prec)                                                          \
  ALL_LINKS(HOP, kaon_hop_staged, prec)                                                        \
  ALL_LINKS(HOP, kaon_hop_cut, prec)                                                           \
  ALL_LINKS(HOP, kaon_hop_faces, prec)                                                         \
  ALL_LINKS(HOP, kaon_hop_along, prec)                                                         \
  ALL_LINKS(STAGGERED, kaon_staggered, prec)                                                   \
  ALL_LINKS(STAGGERED, kaon_staggered_faces, prec)                                             \
  ALL_LINKS(STAGGERED, kaon_staggered_along, prec)                                             \
  CLOVER(kaon_clover_pair, prec)                                                               \
  CLOVER(kaon_dslash_clover, prec)                                                             \
  void kaon_staggered_face_links_cuda_##prec(const kaon_launch *launch,                        \
                                             const kaon_face_links_args *args) {               \
    (void)launch, (void)args;                                                                  \
  }                                                                                            \
  void kaon_dslash_inner_cuda_##prec(const kaon_launch *launch, const kaon_inner_args *args) { \
    (void)launch, (void)args;                                                                  \
  }                                                                                            \
  void kaon_dslash_twist_cuda_##prec(const kaon_launch *launch, const kaon_twist_args *args) { \
    (void)launch, (void)args;                                                                  \
  }
ALL(d)
ALL(s)
ALL(h)

enum { H200 = 228 << 10, TURING = 64 << 10 };
static int64_t shared_bytes = H200;

int64_t kaon_cuda_shared_bytes(void) {
  return shared_bytes;
}

static const kaon_dslash_ops *const hop_ops[3] = {&kaon_dslash_ops_cuda_d, &kaon_dslash_ops_cuda_s,
                                                  &kaon_dslash_ops_cuda_h};
static const kaon_staggered_ops *const staggered_ops[3] = {
    &kaon_staggered_ops_cuda_d, &kaon_staggered_ops_cuda_s, &kaon_staggered_ops_cuda_h};

/* ---- arguments ---- */

static const kaon_faces faces = {.partitioned = {0, 0, 1, 1}};

static kaon_stencil stencil_of(const int extents[4], int cut) {
  kaon_stencil st = {.faces = &faces};
  int64_t volume = 1;
  for (int mu = 0; mu < 4; mu++) {
    st.extents[mu] = extents[mu];
    volume *= extents[mu];
  }
  st.cut[2] = cut;
  st.sites[0] = st.nsites = (volume + 1) / 2;
  st.sites[1] = volume / 2;
  return st;
}

static const kaon_launch plain_launch = {.dependent = 1};

enum { SUM_NONE, SUM_NORM, SUM_DOT };

#define L8 \
  { 8, 8, 8, 8 }
#define L16 \
  { 16, 16, 16, 16 }
#define L32 \
  { 32, 32, 32, 32 }
#define L48 \
  { 48, 48, 48, 64 }

static kaon_hop_args hop_args_of(const kaon_stencil *st, int columns, int recon, int rounded,
                                 int summed) {
  static kaon_column_state state;
  static double number;
  const double space = rounded ? 0.1 : 0.5;
  kaon_hop_args args = {.stencil = st,
                        .nrhs = columns,
                        .recon = recon,
                        .a = 1,
                        .b = 1,
                        .coefficient = {space, space, space, 1},
                        .sum.slot = {KAON_NO_SLOT, KAON_NO_SLOT, KAON_NO_SLOT, KAON_NO_SLOT}};
  if (summed != SUM_NONE) args.sum.state = &state;
  if (summed != SUM_NONE) args.sum.slot[0] = 3;
  if (summed == SUM_DOT) args.sum.slot[1] = 4;
  if (summed == SUM_DOT) args.w.data = &number;
  return args;
}

static const int shapes[][4] = {
    {2, 2, 2, 2},     {4, 4, 4, 4},     {3, 3, 3, 3},     {15, 5, 7, 9},    {8, 8, 8, 16},
    {16, 16, 16, 8},  {16, 16, 16, 10}, {16, 16, 16, 14}, {16, 16, 16, 16}, {18, 16, 16, 16},
    {16, 16, 16, 17}, {16, 18, 16, 16}, {32, 32, 16, 16}, {32, 32, 16, 15}, {32, 32, 16, 17},
    {32, 32, 16, 18}, {32, 32, 32, 32}, {64, 64, 32, 32}, {64, 64, 32, 34}, {64, 64, 64, 32},
    {64, 64, 64, 34}};
static const int recons[3] = {18, 12, 8};
#define COUNT(list) (int)(sizeof(list) / sizeof *(list))

#endif
