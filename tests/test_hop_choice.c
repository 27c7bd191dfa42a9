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

#include "lib/cuda/ranks/boxes.h"
#include "tests/util/hop_launchers.h"

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
static const int column_counts[] = {1, 2, 3, 4, 7, 8, 16, 17, 24};
static const int tuned_threads[] = {0, 32, 64, 128, 256}, tuned_groups[] = {0, 1, 3, 4, 16, 17};

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

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(choices_are_those_of_the_table),
      cmocka_unit_test(a_device_with_little_shared_memory_stages_no_columns),
      cmocka_unit_test(choices_are_those_of_the_conditions),
      cmocka_unit_test(clover_blocks_of_few_sites_are_shared_and_updated),
      cmocka_unit_test(staggered_choices_are_those_of_the_conditions),
      cmocka_unit_test(a_hop_writes_the_sums_that_its_row_says),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
