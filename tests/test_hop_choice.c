/* test_hop_choice.c - which GPU kernel runs a hop (dslash/cuda/choose.c). Needs no device: this
 * program has launchers of its own, which record how they were called. Choices are compared with a
 * table, and over many arguments with a chain of conditions that states them another way. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "dslash/cuda/kernels.h"
#include "lib/core/context_internal.h"
#include "lib/cuda/backend.h"
#include "lib/cuda/ranks/boxes.h"

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
static uint64_t marks; /* an address for launch.marked */

/* ---- the table ---- */

/* sums: of columns taken one by one. In a row the rest is: links of 18 reals if 0, no clover
 * blocks, no sums, exact factors. */
typedef struct {
  int precision, extents[4], columns, recon, clover_on, part;
  int tuned_threads, tuned_group, cut, rounded, summed;
  const char *kernel;
  int threads, group, groups, sums;
} pinned_hop;

enum { SUM_NONE, SUM_NORM, SUM_DOT };

#define L8 \
  { 8, 8, 8, 8 }
#define L16 \
  { 16, 16, 16, 16 }
#define L32 \
  { 32, 32, 32, 32 }
#define L48 \
  { 48, 48, 48, 64 }
static const pinned_hop pinned[] = {
    /* few sites */
    {S, L8, 1, 18, 0, 0, 0, 0, 0, 0, SUM_NONE, "hop_pair", 64, 1, 1, SUMS_NONE},
    {S, L8, 12, 12, 0, 0, 0, 0, 0, 0, SUM_DOT, "hop_pair", 64, 1, 12, SUMS_ALL},
    {S, L8, 1, 8, KAON_CLOVER_ON_HOP, 0, 0, 0, 0, 0, SUM_NORM, "hop_pair", 64, 1, 1, SUMS_ALL},
    {S, L8, 1, 8, KAON_CLOVER_ON_X, 0, 0, 0, 0, 0, SUM_NORM, "hop_kernel", 64, 3, 0, SUMS_NORM},
    {S, L8, 1, 8, 0, 0, 0, 0, 0, 1, SUM_NORM, "hop_kernel", 64, 1, 1, SUMS_ALL},
    {D, L8, 1, 8, 0, 0, 0, 0, 0, 1, SUM_NORM, "hop_pair", 64, 1, 1, SUMS_ALL},
    {S, L16, 1, 18, 0, 0, 0, 0, 0, 0, SUM_NONE, "hop_pair", 64, 1, 1, SUMS_NONE},
    {D, L16, 1, 18, 0, 0, 0, 0, 0, 0, SUM_NONE, "hop_kernel", 64, 2, 0, SUMS_NONE},
    {D, L16, 1, 12, 0, 0, 0, 0, 0, 0, SUM_NONE, "hop_kernel", 64, 2, 0, SUMS_ALL},
    /* a thread a site */
    {D, L32, 1, 18, 0, 0, 0, 0, 0, 0, SUM_NORM, "hop_kernel", 128, 2, 0, SUMS_ALL},
    {S, L32, 1, 12, 0, 0, 0, 0, 0, 0, SUM_NORM, "hop_kernel", 128, 3, 0, SUMS_NORM},
    {S, L32, 1, 12, 0, 0, 0, 0, 0, 0, SUM_DOT, "hop_kernel", 128, 3, 0, SUMS_ALL},
    {H, L48, 1, 8, 0, 0, 0, 0, 0, 0, SUM_NORM, "hop_kernel", 128, 2, 0, SUMS_NORM},
    {H, L32, 3, 18, 0, 0, 0, 0, 0, 0, SUM_NONE, "hop_kernel", 128, 2, 1, SUMS_NONE},
    {S, L32, 12, 18, KAON_CLOVER_ON_HOP, 0, 0, 0, 0, 0, 0, "hop_kernel", 128, 3, 4, SUMS_NONE},
    {D, L32, 12, 18, 0, 0, 0, 0, 0, 0, SUM_NONE, "hop_kernel", 128, 2, 6, SUMS_NONE},
    {S, L32, 12, 18, 0, 0, 0, 0, 0, 1, SUM_NONE, "hop_kernel", 128, 1, 12, SUMS_ALL},
    /* many columns */
    {S, L32, 3, 18, 0, 0, 0, 0, 0, 0, SUM_NONE, "hop_kernel", 128, 3, 1, SUMS_NONE},
    {S, L32, 4, 18, 0, 0, 0, 0, 0, 0, SUM_NONE, "hop_staged", 128, 4, 1, SUMS_NONE},
    {S, L32, 12, 12, 0, 0, 0, 0, 0, 0, SUM_DOT, "hop_staged", 128, 12, 1, SUMS_ALL},
    {H, L48, 24, 8, 0, 0, 0, 0, 0, 0, SUM_NORM, "hop_staged", 128, 12, 2, SUMS_ALL},
    {D, L32, 7, 12, 0, 0, 0, 0, 0, 0, SUM_NONE, "hop_kernel", 128, 2, 3, SUMS_ALL},
    {D, L32, 8, 12, 0, 0, 0, 0, 0, 0, SUM_NONE, "hop_staged", 256, 8, 1, SUMS_NONE},
    {S, {24, 24, 24, 24}, 12, 18, 0, 0, 0, 0, 0, 0, SUM_NONE, "hop_kernel", 128, 3, 4, SUMS_NONE},
    /* tuning */
    {S, L8, 1, 18, 0, 0, 128, 0, 0, 0, SUM_NONE, "hop_kernel", 128, 3, 0, SUMS_NONE},
    {S, L32, 1, 18, 0, 0, 64, 0, 0, 0, SUM_NONE, "hop_kernel", 64, 3, 0, SUMS_NONE},
    {S, {32, 32, 16, 16}, 1, 18, 0, 0, 32, 0, 0, 0, SUM_NONE, "hop_pair", 64, 1, 1, SUMS_NONE},
    {S, L32, 1, 18, 0, 0, 32, 0, 0, 0, SUM_NONE, "hop_kernel", 128, 3, 0, SUMS_NONE},
    {S, L32, 12, 18, 0, 0, 128, 1, 0, 0, SUM_NONE, "hop_kernel", 128, 3, 0, SUMS_NONE},
    {S, L32, 12, 18, 0, 0, 128, 6, 0, 0, SUM_NONE, "hop_staged", 128, 6, 2, SUMS_NONE},
    {S, L32, 12, 18, 0, 0, 128, 3, 0, 0, SUM_NONE, "hop_kernel", 128, 3, 4, SUMS_NONE},
    /* cut into blocks; partitioned */
    {S, L8, 1, 18, 0, 0, 0, 0, 4, 0, SUM_NONE, "hop_cut", 64, 1, 1, SUMS_NONE},
    {H, L32, 12, 8, KAON_CLOVER_ON_X, 0, 0, 0, 4, 1, 0, "hop_cut", 128, 1, 12, SUMS_NONE},
    {S, L8, 1, 18, 0, KAON_PART_FUSED, 0, 0, 0, 0, SUM_NORM, "hop_faces", 64, 1, 1, SUMS_NORM},
    {D, L32, 12, 12, 0, KAON_PART_INTERIOR, 0, 0, 0, 0, 0, "hop_faces", 128, 1, 12, SUMS_ALL},
    {D, L32, 12, 18, 0, KAON_PART_BOUNDARY, 0, 0, 0, 0, 0, "hop_faces", 128, 1, 12, SUMS_NONE},
    {H, L32, 1, 18, 0, KAON_PART_BOUNDARY, 0, 0, 0, 0, 2, "hop_faces", 128, 1, 1, SUMS_ALL},
};

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

static void choices_are_those_of_the_table(void **unused) {
  (void)unused;
  for (size_t i = 0; i < sizeof pinned / sizeof *pinned; i++) {
    const pinned_hop *p = &pinned[i];
    const kaon_stencil st = stencil_of(p->extents, p->cut);
    kaon_hop_args args = hop_args_of(&st, p->columns, p->recon, p->rounded, p->summed);
    kaon_launch launch = plain_launch;
    args.clover_on = p->clover_on;
    args.part = p->part;
    launch.tuned = (kaon_launch_shape){.threads = p->tuned_threads, .group = p->tuned_group};
    if (p->columns == 1) launch.marked = &marks;
    const kaon_kernel_choice c = kaon_hop_choose((kaon_precision)p->precision, &launch, &args);
    if (strcmp(c.row->name, p->kernel) != 0 || c.threads != p->threads || c.group != p->group ||
        c.groups != p->groups || c.sums != p->sums)
      fail_msg("row %zu: chosen are %s, threads %d, group %d, groups %d, sums %d", i, c.row->name,
               c.threads, c.group, c.groups, c.sums);
  }
}

static void a_device_with_little_shared_memory_stages_no_columns(void **unused) {
  (void)unused;
  const kaon_stencil st = stencil_of((const int[4])L32, 0);
  const kaon_hop_args args = hop_args_of(&st, 12, 12, 0, SUM_NONE);
  for (int precision = 0; precision < 3; precision++) {
    shared_bytes = TURING;
    assert_string_equal(kaon_hop_choose(precision, &plain_launch, &args).row->name, "hop_kernel");
    shared_bytes = kaon_hop_rows[HOP_STAGED].shared_bytes[precision];
    assert_string_equal(kaon_hop_choose(precision, &plain_launch, &args).row->name, "hop_staged");
    shared_bytes--;
    assert_string_equal(kaon_hop_choose(precision, &plain_launch, &args).row->name, "hop_kernel");
    shared_bytes = H200;
  }
}

/* ---- the conditions ---- */

/* The same choice as a chain of refusals: each kernel is asked in turn. */
typedef struct {
  int kernel, threads, group, groups, sums;
} chain_choice;

static int chain_norm(const kaon_launch *launch, const kaon_hop_args *args, int bytes, int split,
                      int64_t blocks) {
  const int dot = args->w.data != NULL && args->sum.slot[1] != KAON_NO_SLOT;
  return bytes < 8 && !split && args->sum.state != NULL && launch->marked != NULL && !dot &&
         blocks <= 32768;
}

static int chain_split(const kaon_hop_args *args) {
  int split = 0;
  for (int mu = 0; mu < 4; mu++) {
    const double f = args->coefficient[mu] * (mu == 3 ? 2 : 1);
    split |= (float)((f - (double)(float)f) / f) != 0;
  }
  return split;
}

static int chain_faces(const kaon_launch *launch, const kaon_hop_args *args, int bytes, int split,
                       int threads) {
  const int plain = !(bytes == 8 && args->recon == 12);
  const kaon_sites sites = kaon_sites_of(args->stencil, args->parity);
  const kaon_boxes boxes = kaon_boxes_of(&sites, args->stencil->faces->partitioned);
  int64_t blocks = 0;
  for (int i = 0; i <= boxes.slabs; i++)
    blocks += ((int64_t)boxes.box[i].sites + threads - 1) / threads;
  int sums = SUMS_ALL;
  if (chain_norm(launch, args, bytes, split, blocks)) sums = SUMS_NORM;
  if (plain && args->sum.state == NULL && (bytes == 8 || !split)) sums = SUMS_NONE;
  return sums;
}

static chain_choice chain(int precision, const kaon_launch *launch, const kaon_hop_args *args) {
  const int bytes = precision == D ? 8 : precision == S ? 4 : 2, n = args->nrhs;
  const kaon_stencil *st = args->stencil;
  const kaon_launch_shape *tuned = &launch->tuned;
  const int64_t own = st->sites[args->parity];
  const int *e = st->extents;
  const int split = bytes < 8 && chain_split(args), summed = args->sum.state != NULL;
  const int threads = tuned->threads == 128 || tuned->threads == 64 ? tuned->threads
                      : own >= 1 << 17                              ? 128
                                                                    : 64;
  const int sum = summed ? SUMS_ALL : SUMS_NONE;
  if (args->part != KAON_PART_ALL)
    return (chain_choice){HOP_FACES, threads, 1, n,
                          chain_faces(launch, args, bytes, split, threads)};
  if (st->cut[0] || st->cut[1] || st->cut[2] || st->cut[3])
    return (chain_choice){HOP_CUT, threads, 1, n, sum};
  /* hop_pair */
  const int shares = tuned->threads != 0 ? tuned->threads == 32 && st->nsites <= 256 * 68 / 4 * 32
                                         : st->nsites * n <= (bytes == 8 ? 1 << 14 : 1 << 15);
  if (shares && args->clover_on != KAON_CLOVER_ON_X && !split)
    return (chain_choice){HOP_PAIR, 64, 1, n, sum};
  /* hop_staged */
  if (!(bytes == 8 && args->recon == 18)) {
    const int asked = tuned->group >= 4 && tuned->group <= 16;
    const int64_t tiles = st->nsites / 128;
    const int by_rule =
        tuned->threads == 0 && tuned->group == 0 && n >= (bytes == 8 ? 8 : 4) && tiles >= 256;
    const int half_x = (e[0] + 1) / 2;
    const int tiled =
        e[0] % 2 == 0 && half_x % 8 == 0 && e[1] % 4 == 0 && e[2] % 2 == 0 && e[3] % 2 == 0;
    const int fits = shared_bytes >=
                     (bytes == 8 ? 1 : 2) * (128 + 2 * 512 * (24 * bytes + (bytes == 2 ? 4 : 0)) +
                                             (bytes == 8 ? 128 * 24 * 8 : 0) + 8192);
    if ((asked || by_rule) && args->clover_on == KAON_CLOVER_NONE && tiled && !split && fits) {
      const int most = asked ? tuned->group : 16, groups = (n + most - 1) / most;
      return (chain_choice){HOP_STAGED, bytes == 8 ? 256 : 128, (n + groups - 1) / groups, groups,
                            sum};
    }
  }
  /* hop_kernel */
  if (split) return (chain_choice){HOP_SITE, threads, 1, n, SUMS_ALL};
  const int many = bytes == 4 ? 3 : 2, groups = tuned->group == 1 ? 0 : n / many;
  int sums = SUMS_ALL;
  if (chain_norm(launch, args, bytes, 0, (own + threads - 1) / threads)) sums = SUMS_NORM;
  if (!(bytes == 8 && args->recon == 12) && !summed) sums = SUMS_NONE;
  return (chain_choice){HOP_SITE, threads, many, groups, sums};
}

static int64_t compared;

static void compare(int precision, const kaon_launch *launch, const kaon_hop_args *args) {
  const kaon_kernel_choice c = kaon_hop_choose((kaon_precision)precision, launch, args);
  const chain_choice old = chain(precision, launch, args);
  const int kernel = (int)(c.row - kaon_hop_rows);
  compared++;
  if (kernel != old.kernel || c.threads != old.threads || c.group != old.group ||
      c.groups != old.groups || c.sums != old.sums ||
      c.rounded != (precision != D && chain_split(args)) ||
      c.links != (args->recon == 18   ? 0
                  : args->recon == 12 ? 1
                                      : 2))
    fail_msg("precision %d, %d reals, %d columns, %d x %d x %d x %d, part %d: kernel %d, not %d",
             precision, args->recon, args->nrhs, args->stencil->extents[0],
             args->stencil->extents[1], args->stencil->extents[2], args->stencil->extents[3],
             args->part, kernel, old.kernel);
}

static const int recons[3] = {18, 12, 8};

/* Every precision, storage, place of clover blocks, kind of sums and factor. */
static void compare_all(const kaon_launch *launch, const kaon_stencil *st, int columns, int part) {
  kaon_launch marked = *launch;
  if (columns == 1) marked.marked = &marks;
  for (int rounded = 0; rounded < 3; rounded++)
    for (int summed = 0; summed < 4; summed++)
      for (int recon = 0; recon < 3; recon++) {
        kaon_hop_args args = hop_args_of(st, columns, recons[recon], rounded == 1, summed % 3);
        if (rounded == 2) args.coefficient[3] = 0.3;
        if (summed == 3) args.sum.state = hop_args_of(st, 1, 8, 0, SUM_NORM).sum.state;
        args.part = part;
        for (args.parity = 0; args.parity < 2; args.parity++)
          for (args.clover_on = 0; args.clover_on < 3; args.clover_on++)
            for (int precision = 0; precision < 3; precision++) {
              compare(precision, launch, &args);
              compare(precision, &marked, &args);
            }
      }
}

/* Around every limit: 2^14, 2^15 and 2^17 sites, the sums' 139264, the marked sums' 2^21, 2^22. */
static const int shapes[][4] = {
    {2, 2, 2, 2},     {4, 4, 4, 4},     {3, 3, 3, 3},     {15, 5, 7, 9},    {8, 8, 8, 16},
    {16, 16, 16, 8},  {16, 16, 16, 10}, {16, 16, 16, 14}, {16, 16, 16, 16}, {18, 16, 16, 16},
    {16, 16, 16, 17}, {16, 18, 16, 16}, {32, 32, 16, 16}, {32, 32, 16, 15}, {32, 32, 16, 17},
    {32, 32, 16, 18}, {32, 32, 32, 32}, {64, 64, 32, 32}, {64, 64, 32, 34}, {64, 64, 64, 32},
    {64, 64, 64, 34}};
static const int column_counts[] = {1, 2, 3, 4, 7, 8, 16, 17, 24};
static const int tuned_threads[] = {0, 32, 64, 128, 256}, tuned_groups[] = {0, 1, 3, 4, 16, 17};
#define COUNT(list) (int)(sizeof(list) / sizeof *(list))

static void choices_are_those_of_the_conditions(void **unused) {
  (void)unused;
  for (int s = 0; s < COUNT(shapes); s++)
    for (int k = 0; k < COUNT(column_counts); k++)
      for (int t = 0; t < COUNT(tuned_threads); t++)
        for (int g = 0; g < COUNT(tuned_groups); g++) {
          kaon_launch launch = plain_launch;
          launch.tuned = (kaon_launch_shape){.threads = tuned_threads[t], .group = tuned_groups[g]};
          const kaon_stencil st = stencil_of(shapes[s], 0), cut = stencil_of(shapes[s], 2);
          compare_all(&launch, &st, column_counts[k], KAON_PART_ALL);
          if (g > 0) continue; /* it matters to hop_kernel and hop_staged alone */
          compare_all(&launch, &cut, column_counts[k], KAON_PART_ALL);
          for (int part = KAON_PART_INTERIOR; part <= KAON_PART_GATHER; part++)
            compare_all(&launch, &st, column_counts[k], part);
          shared_bytes = TURING * 2;
          compare_all(&launch, &st, column_counts[k], KAON_PART_ALL);
          shared_bytes = H200;
        }
  printf("%lld choices compared\n", (long long)compared);
}

/* The launcher of the chosen row and storage is called once, with the caller's arguments. */
static void one_launcher_is_called(void **unused) {
  (void)unused;
  static const char letter[] = "dsh";
  const kaon_stencil st = stencil_of((const int[4])L32, 0), cut = stencil_of((const int[4])L32, 4),
                     few = stencil_of((const int[4])L8, 0);
  const struct {
    const kaon_stencil *st;
    int columns, part;
    const char *launcher;
  } cases[] = {{&st, 1, KAON_PART_ALL, "kaon_hop"},
               {&few, 1, KAON_PART_ALL, "kaon_hop_pair"},
               {&st, 12, KAON_PART_ALL, "kaon_hop_staged"},
               {&cut, 1, KAON_PART_ALL, "kaon_hop_cut"},
               {&st, 1, KAON_PART_INTERIOR, "kaon_hop_faces"},
               {&st, 1, KAON_PART_BOUNDARY, "kaon_hop_faces"}};
  for (int precision = 0; precision < 3; precision++)
    for (int recon = 0; recon < 3; recon++)
      for (int i = 0; i < COUNT(cases); i++) {
        char name[64];
        const int no_stage = i == 2 && precision == D && recon == 0;
        kaon_hop_args args = hop_args_of(cases[i].st, cases[i].columns, recons[recon], 0, SUM_NONE);
        args.part = cases[i].part;
        memset(&called, 0, sizeof called);
        hop_ops[precision]->hop(&plain_launch, &args);
        snprintf(name, sizeof name, "%s_%c", no_stage ? "kaon_hop" : cases[i].launcher,
                 letter[precision]);
        assert_string_equal(called.launcher, name);
        assert_int_equal(called.recon, recons[recon]);
        assert_int_equal(called.calls, 1);
        assert_ptr_equal(called.args, &args);
        assert_null(called.gather);
      }
}

static void messages_are_written_by_the_kernel_of_faces(void **unused) {
  (void)unused;
  const kaon_stencil st = stencil_of((const int[4])L8, 0);
  kaon_hop_args args = hop_args_of(&st, 1, 12, 0, SUM_NONE);
  const kaon_gather_args gather = {
      .stencil = &st, .nrhs = 1, .recon = 12, .coefficient = {1, 1, 1, 1}};
  hop_ops[S]->gather(&plain_launch, &gather);
  assert_string_equal(called.launcher, "kaon_hop_faces_s");
  assert_int_equal(called.part, KAON_PART_GATHER);
  assert_ptr_equal(called.gather, &gather);
  args.part = KAON_PART_FUSED;
  hop_ops[S]->hop_fused(&plain_launch, &gather, &args);
  assert_string_equal(called.launcher, "kaon_hop_faces_s");
  assert_int_equal(called.part, KAON_PART_FUSED);
  assert_ptr_equal(called.args, &args);
}

/* Hops in one direction have one kernel for all parts but the messages, which are those of all
 * directions. Blocks are cut at the same sites on both launches. */
static void hops_in_one_direction_have_a_kernel(void **unused) {
  (void)unused;
  static const char *const expected[] = {"hop_along", "hop_along", "hop_along", NULL, "hop_faces"};
  static const char *const staggered[] = {"staggered_along", "staggered_along", "staggered_along",
                                          NULL, "staggered_faces"};
  for (int precision = 0; precision < 3; precision++)
    for (int i = 0; i < 4 * COUNT(shapes); i++)
      for (int part = KAON_PART_ALL; part <= KAON_PART_GATHER; part++) {
        kaon_stencil st = stencil_of(shapes[i / 4], i % 2 * 2);
        kaon_hop_args args = hop_args_of(&st, 1 + i % 5, recons[i % 3], i / 2 % 2, SUM_NONE);
        kaon_staggered_args thin = {
            .stencil = &st, .nrhs = 1 + i % 5, .part = part, .fat.recon = recons[i % 3]};
        if (expected[part] == NULL) continue; /* no launch has both */
        st.along = 1 + i % 8;
        args.part = part;
        const kaon_kernel_choice c = kaon_hop_choose(precision, &plain_launch, &args);
        const kaon_kernel_choice s = kaon_staggered_choose(precision, &thin);
        assert_string_equal(c.row->name, expected[part]);
        assert_string_equal(s.row->name, staggered[part]);
        args.part = thin.part = KAON_PART_GATHER;
        assert_int_equal(c.threads, kaon_hop_choose(precision, &plain_launch, &args).threads);
        assert_int_equal(s.threads, kaon_staggered_choose(precision, &thin).threads);
        assert_int_equal(s.groups, kaon_staggered_choose(precision, &thin).groups);
        assert_int_equal(hop_ops[precision]->hop_writes(&st, 1), KAON_WRITES_OUT);
      }
}

/* ---- clover blocks, staggered hops ---- */

static void clover_blocks_of_few_sites_are_shared_and_updated(void **unused) {
  (void)unused;
  for (int precision = 0; precision < 3; precision++)
    for (int s = 0; s < COUNT(shapes); s++)
      for (int columns = 1; columns < 6; columns++) {
        const kaon_stencil st = stencil_of(shapes[s], 0);
        const int few = st.nsites * columns <= (precision == D ? 1 << 14 : 1 << 15);
        const kaon_clover_args args = {.stencil = &st, .nrhs = columns};
        const int writes = hop_ops[precision]->clover_writes(&st, columns);
        hop_ops[precision]->clover(&plain_launch, &args);
        assert_int_equal(
            strncmp(called.launcher, few ? "kaon_clover_pair" : "kaon_dslash_clover", 16), 0);
        assert_int_equal(called.choice.threads, few ? 64 : st.sites[0] >= 1 << 17 ? 128 : 64);
        assert_int_equal((writes & KAON_WRITES_UPDATED) != 0, few);
      }
}

static void staggered_choices_are_those_of_the_conditions(void **unused) {
  (void)unused;
  static kaon_column_state state;
  static double number;
  for (int s = 0; s < COUNT(shapes); s++)
    for (int columns = 1; columns < 18; columns++)
      for (int part = KAON_PART_ALL; part <= KAON_PART_GATHER; part++)
        for (int i = 0; i < 3 * 3 * 2 * 2; i++) {
          const int precision = i % 3, recon = recons[i / 3 % 3], summed = i / 9 % 2, thin = i / 18;
          const kaon_stencil st = stencil_of(shapes[s], 0);
          kaon_staggered_args args = {.stencil = &st,
                                      .nrhs = columns,
                                      .part = part,
                                      .fat.recon = thin ? recon : 18,
                                      .naik.recon = recon};
          if (!thin) args.naik.links[0] = &number;
          if (summed) args.sum.state = &state;
          const kaon_kernel_choice c = kaon_staggered_choose(precision, &args);
          const int whole = part == KAON_PART_ALL, half = precision == H;
          const int most = columns == 1 ? 1 : !whole && precision == D ? 3 : 4;
          const int groups = (columns + most - 1) / most, each = (columns + groups - 1) / groups;
          const int beside = whole && columns > 1 && half && groups % 2 == 0 ? 2 : 1;
          const int small = st.sites[0] < 1 << 17;
          const int warps = (whole && columns > 1 && half ? 256 : 128) / 32 / beside;
          const int threads = 32 * (small ? (warps + 1) / 2 : warps) * beside;
          const int plain = columns == 1 && !summed && (whole || half);
          assert_int_equal(c.row - kaon_staggered_rows, whole ? STAGGERED_SITE : STAGGERED_FACES);
          assert_int_equal(c.links, i / 3 % 3);
          assert_int_equal(c.groups, groups);
          assert_int_equal(c.group, each);
          assert_int_equal(c.beside, beside);
          assert_int_equal(c.threads, threads);
          assert_int_equal(c.sums, plain ? SUMS_NONE : SUMS_ALL);
          if (part == KAON_PART_GATHER) continue;
          staggered_ops[precision]->hop(&plain_launch, &args);
          assert_int_equal(called.recon, recon);
          assert_ptr_equal(called.args, &args);
        }
}

static void a_hop_writes_the_sums_that_its_row_says(void **unused) {
  (void)unused;
  const int norm = KAON_SUMS_NORM, dot = KAON_SUMS_DOT;
  for (int precision = 0; precision < 3; precision++)
    for (int s = 0; s < COUNT(shapes); s++)
      for (int columns = 1; columns < 4; columns++) {
        const kaon_stencil st = stencil_of(shapes[s], 0), cut = stencil_of(shapes[s], 2);
        const int writes = hop_ops[precision]->hop_writes(&st, columns);
        const int separate = precision != D && columns == 1 && st.nsites >= 1 << 17;
        assert_int_equal(writes & norm, norm);
        assert_int_equal(writes & dot, separate ? 0 : dot);
        assert_int_equal(hop_ops[precision]->hop_writes(&cut, columns) & (norm | dot), 0);
      }
}

static void rows_are_complete(void **unused) {
  (void)unused;
  for (int precision = 0; precision < 3; precision++)
    for (int i = 0; i < HOP_KERNELS; i++) {
      const kaon_kernel_row *row = &kaon_hop_rows[i];
      assert_non_null(row->name);
      assert_non_null(row->when);
      assert_true(row->writes & KAON_WRITES_OUT);
      assert_true(row->least_threads[precision] % 32 == 0);
      assert_int_equal(row->threads[precision] % row->least_threads[precision], 0);
      for (int links = 0; links < 3; links++)
        assert_int_equal(row->hop[precision][links] != NULL, row->links[precision] >> links & 1);
    }
}

static char logged[512];
static void keep_line(void *user, kaon_log_level level, const char *line) {
  (void)user;
  if (level == KAON_LOG_DEBUG) snprintf(logged, sizeof logged, "%s", line);
}

static void the_log_names_the_kernel_and_the_reason(void **unused) {
  (void)unused;
  kaon_context *ctx = NULL;
  kaon_context_options options = KAON_CONTEXT_OPTIONS_INIT;
  options.backend = KAON_BACKEND_CPU;
  options.log = keep_line;
  options.log_level = KAON_LOG_DEBUG;
  assert_int_equal(kaon_context_create(&options, &ctx), KAON_OK);
  kaon_launch launch;
  assert_int_equal(kaon_launch_prepare(ctx, 1, 0, &launch), KAON_OK);
  kaon_stencil st = stencil_of((const int[4])L8, 0);
  st.faces = NULL;
  kaon_hop_args args = hop_args_of(&st, 1, 12, 0, SUM_NONE);
  hop_ops[S]->hop(&launch, &args);
  assert_string_equal(
      logged,
      "hop in single on 8 x 8 x 8 x 8 sites, reals of a link: 12, columns: 1. "
      "Kernel hop_pair (few sites, or tuning: two warps share 32 sites). Threads of "
      "a block: 64, columns at a time: 1, sums: none");
  st.faces = &faces;
  args.part = KAON_PART_INTERIOR;
  hop_ops[S]->hop(&launch, &args);
  assert_non_null(strstr(logged, "Kernel hop_faces (the lattice is partitioned)"));
  const kaon_staggered_args thin = {
      .stencil = &st, .nrhs = 6, .fat.recon = 18, .part = KAON_PART_BOUNDARY};
  staggered_ops[H]->hop(&launch, &thin);
  assert_non_null(
      strstr(logged, "columns: 6. Kernel staggered_faces (the lattice is partitioned)"));
  kaon_context_destroy(&ctx);
}

static void count_line(void *user, kaon_log_level level, const char *line) {
  assert_int_equal(level, KAON_LOG_DEBUG);
  *(int *)user += strncmp(line, "hop", 3) == 0;
}

/* A context forgets lines only after as many others. */
static void a_line_is_logged_once(void **unused) {
  (void)unused;
  int lines = 0;
  char other[32];
  kaon_context *ctx = NULL;
  kaon_context_options options = KAON_CONTEXT_OPTIONS_INIT;
  options.backend = KAON_BACKEND_CPU;
  options.log = count_line;
  options.log_user = &lines;
  assert_int_equal(kaon_context_create(&options, &ctx), KAON_OK);
  kaon_log_once(ctx, KAON_LOG_DEBUG, "hop"); /* not wanted */
  assert_int_equal(lines, 0);
  kaon_context_destroy(&ctx);
  options.log_level = KAON_LOG_DEBUG;
  assert_int_equal(kaon_context_create(&options, &ctx), KAON_OK);
  for (int turn = 0; turn < 2; turn++) {
    for (int i = 0; i < KAON_LOGGED; i++) {
      snprintf(other, sizeof other, "hop %d", i);
      kaon_log_once(ctx, KAON_LOG_DEBUG, other);
    }
    assert_int_equal(lines, KAON_LOGGED);
  }
  kaon_log_once(ctx, KAON_LOG_DEBUG, "hop");
  kaon_log_once(ctx, KAON_LOG_DEBUG, "hop 0");
  assert_int_equal(lines, KAON_LOGGED + 2);
  kaon_context_destroy(&ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(choices_are_those_of_the_table),
      cmocka_unit_test(a_device_with_little_shared_memory_stages_no_columns),
      cmocka_unit_test(choices_are_those_of_the_conditions),
      cmocka_unit_test(one_launcher_is_called),
      cmocka_unit_test(messages_are_written_by_the_kernel_of_faces),
      cmocka_unit_test(hops_in_one_direction_have_a_kernel),
      cmocka_unit_test(clover_blocks_of_few_sites_are_shared_and_updated),
      cmocka_unit_test(staggered_choices_are_those_of_the_conditions),
      cmocka_unit_test(a_hop_writes_the_sums_that_its_row_says),
      cmocka_unit_test(rows_are_complete),
      cmocka_unit_test(the_log_names_the_kernel_and_the_reason),
      cmocka_unit_test(a_line_is_logged_once),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
