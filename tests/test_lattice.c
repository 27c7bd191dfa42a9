/* test_lattice.c - site orders: every site has exactly one place, and the neighbour tables agree
 * with geometry. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <kaon/lattice.h>
#include <kaon/context.h>

#include "lib/cuda/memory/neighbours.h"
#include "lib/vector/space.h"
#include "tests/util/machine.h"
#include "tests/util/test_util.h"

static const int shapes[][4] = {{4, 6, 2, 10}, {2, 2, 2, 2},  {4, 4, 4, 4},
                                {8, 8, 8, 8},  {8, 4, 6, 12}, {6, 6, 6, 6},
                                {2, 4, 8, 4},  {4, 4, 4, 2},  {10, 4, 4, 16}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static kaon_context *context_of(int machine) {
  const kaon_context_options options = KAON_CONTEXT_OPTIONS_INIT;
  kaon_context *ctx = NULL;
  assert_int_equal(machine_open(machine, options, &ctx), KAON_OK);
  return ctx;
}

typedef void lattice_check(kaon_lattice *lattice);

static void for_all(lattice_check *check) {
  for (int machine = KAON_ISA_SCALAR; machine <= MACHINE_LAST; machine++) {
    if (machine_lacks(machine)) continue;
    kaon_context *ctx = context_of(machine);
    for (int i = 0; i < 2 * SHAPES; i++) {
      kaon_lattice *lattice = NULL;
      assert_int_equal(kaon_lattice_create(ctx, shapes[i / 2],
                                           i % 2 ? KAON_ANTIPERIODIC : KAON_PERIODIC, &lattice),
                       KAON_OK);
      check(lattice);
      kaon_lattice_destroy(&lattice);
    }
    kaon_context_destroy(&ctx);
  }
}

static int64_t rank_of(const kaon_lattice *lattice, const int site[4]) {
  const int *e = lattice->extents;
  return site[0] + e[0] * (site[1] + e[1] * (site[2] + (int64_t)e[2] * site[3]));
}

static void check_bijection(kaon_lattice *lattice) {
  char *seen = calloc((size_t)lattice->volume, 1);
  int64_t count = 0;
  for (int parity = 0; parity < 2; parity++)
    for (int64_t block = 0; block < lattice->stencil.nblocks; block++)
      for (int lane = 0; lane < lattice->stencil.width; lane++) {
        int site[4];
        int masked =
            block == lattice->stencil.nblocks - 1 && lane >= lattice->stencil.tail_lanes[parity];
        assert_int_equal(kaon_lattice_site(lattice, parity, block, lane, site), !masked);
        if (masked) continue;
        kaon_place place = kaon_lattice_place(lattice, site);
        assert_int_equal(place.parity, parity);
        assert_int_equal(place.block, block);
        assert_int_equal(place.lane, lane);
        assert_int_equal((site[0] + site[1] + site[2] + site[3]) & 1, parity);
        assert_int_equal(seen[rank_of(lattice, site)], 0);
        seen[rank_of(lattice, site)] = 1;
        count++;
      }
  assert_int_equal(count, lattice->volume);
  free(seen);
}

/* Follows one table entry from a lane as a kernel does: the neighbour's place and the sign of the
 * hop. */
static kaon_place follow(const kaon_lattice *lattice, int parity, int64_t block, int dir, int lane,
                         int *sign) {
  const kaon_stencil *st = &lattice->stencil;
  uint32_t entry = st->neighbour[parity][block * KAON_DIRS + dir];
  kaon_place to = {1 - parity, entry >> KAON_NB_SHIFT, lane};
  *sign = 1;
  if (entry & KAON_NB_GATHER) {
    int32_t index = st->gather[parity][(block * KAON_DIRS + dir) * st->width + lane];
    if (index < 0) {
      *sign = -1;
      index = ~index;
    }
    to.block = index / st->width;
    to.lane = index % st->width;
    return to;
  }
  if (entry & KAON_NB_EXCHANGE) to.lane = lane ^ (1 << st->exchange_bit[dir % 4]);
  if (entry & KAON_NB_BOUNDARY) *sign = (int)st->boundary_sign[dir][lane];
  return to;
}

/* What a GPU kernel does: work the neighbour out. */
static kaon_place work_out(const kaon_lattice *lattice, kaon_place from, int dir, int *sign) {
  const int width = lattice->stencil.width;
  const kaon_sites sites = kaon_sites_of(&lattice->stencil, 0);
  const kaon_here here =
      kaon_here_of(&sites, from.parity, (int32_t)(from.block * width + from.lane));
  const int32_t to = kaon_neighbour_of(&sites, &here, dir, sign);
  return (kaon_place){1 - from.parity, to / width, to % width};
}

static void check_neighbours(kaon_lattice *lattice) {
  for (int64_t i = 0; i < lattice->volume; i++) {
    int64_t rest = i;
    int site[4];
    for (int mu = 0; mu < 4; mu++) {
      site[mu] = (int)(rest % lattice->extents[mu]);
      rest /= lattice->extents[mu];
    }
    kaon_place here = kaon_lattice_place(lattice, site);
    for (int dir = 0; dir < KAON_DIRS; dir++) {
      int mu = dir % 4, extent = lattice->extents[mu], sign, to[4];
      memcpy(to, site, sizeof to);
      to[mu] += dir < 4 ? 1 : -1;
      int crosses = to[mu] < 0 || to[mu] >= extent;
      to[mu] = (to[mu] + extent) % extent;
      kaon_place want = kaon_lattice_place(lattice, to);
      kaon_place got = lattice->stencil.neighbour[0] == NULL
                           ? work_out(lattice, here, dir, &sign)
                           : follow(lattice, here.parity, here.block, dir, here.lane, &sign);
      assert_int_equal(got.parity, want.parity);
      assert_int_equal(got.block, want.block);
      assert_int_equal(got.lane, want.lane);
      assert_int_equal(sign,
                       crosses && mu == 3 && lattice->boundary_t == KAON_ANTIPERIODIC ? -1 : 1);
    }
  }
}

/* The walk over tiles by a GPU's warps: every site once, at the place that its number says. */
static void tiles_cover_every_site_once(void **state) {
  (void)state;
  static const int extents[][4] = {{16, 8, 8, 8}, {48, 4, 2, 10}, {16, 12, 6, 4}};
  static const uint8_t warp[4] = {3, 1, 0, 1}, block[4] = {0, 1, 1, 0};
  for (size_t i = 0; i < sizeof extents / sizeof *extents; i++) {
    kaon_stencil stencil = {.nsites = 1, .antiperiodic = 1};
    for (int mu = 0; mu < 4; mu++) stencil.nsites *= stencil.extents[mu] = extents[i][mu];
    stencil.nsites /= 2;
    stencil.sites[0] = stencil.sites[1] = stencil.nsites;
    const kaon_sites plain = kaon_sites_of(&stencil, 0);
    kaon_sites tiled = plain;
    kaon_sites_tile(&tiled, warp, block);
    assert_true(tiled.tiled);
    char *met = calloc((size_t)stencil.nsites, 1);
    assert_non_null(met);
    for (uint32_t n = 0; n < (uint32_t)stencil.nsites; n++) {
      const kaon_here here = kaon_here_in_tile(&tiled, (int)i & 1, n / 128, n % 128);
      assert_in_range(here.at, 0, stencil.nsites - 1);
      assert_false(met[here.at]++);
      const kaon_here same = kaon_here_of(&plain, (int)i & 1, here.at);
      for (int dir = 0; dir < KAON_DIRS; dir++) {
        int sign[2];
        assert_int_equal(kaon_neighbour_of(&tiled, &here, dir, &sign[0]),
                         kaon_neighbour_of(&plain, &same, dir, &sign[1]));
        assert_int_equal(sign[0], sign[1]);
      }
    }
    free(met);
  }
  /* extents that no tile divides stay as they are */
  kaon_stencil odd = {.nsites = 4 * 6 * 2 * 10 / 2, .extents = {4, 6, 2, 10}};
  kaon_sites sites = kaon_sites_of(&odd, 0);
  kaon_sites_tile(&sites, warp, block);
  assert_false(sites.tiled);
}

static void every_site_has_one_home(void **state) {
  (void)state;
  for_all(check_bijection);
}

static void tables_step_to_neighbours_with_boundary_signs(void **state) {
  (void)state;
  for_all(check_neighbours);
}

static void production_extents_use_the_split_order(void **state) {
  (void)state;
  kaon_context_options options = KAON_CONTEXT_OPTIONS_INIT;
  kaon_context *ctx = NULL;
  options.backend = KAON_BACKEND_CPU;
  assert_int_equal(kaon_context_create(&options, &ctx), KAON_OK);
  const int sizes[][4] = {{16, 16, 16, 32}, {24, 24, 24, 24}, {8, 8, 8, 8}};
  for (int i = 0; i < 3; i++) {
    kaon_lattice *lattice = NULL;
    assert_int_equal(kaon_lattice_create(ctx, sizes[i], KAON_PERIODIC, &lattice), KAON_OK);
    assert_true(lattice->split);
    kaon_lattice_destroy(&lattice);
  }
  kaon_context_destroy(&ctx);
}

static void bad_extents_are_refused_with_a_sentence(void **state) {
  (void)state;
  kaon_context *ctx = context_of(KAON_ISA_AUTO);
  const int bad[][4] = {
      {3, 4, 4, 4}, {4, 0, 4, 4}, {4, 4, -8, 4}, {4, 4, 4, 5000}, {4096, 4096, 4096, 4096}};
  for (int i = 0; i < 5; i++) {
    kaon_lattice *lattice = NULL;
    assert_int_equal(kaon_lattice_create(ctx, bad[i], KAON_PERIODIC, &lattice), KAON_ERR_ARGUMENT);
    assert_null(lattice);
    assert_non_null(strstr(kaon_last_error(ctx), "lattice: "));
    print_message("%s\n", kaon_last_error(ctx));
    assert_int_equal(kaon_lattice_check(NULL, bad[i]), KAON_ERR_ARGUMENT);
    assert_string_equal(kaon_last_error(NULL), kaon_last_error(ctx));
  }
  kaon_lattice *lattice = NULL;
  const int good[4] = {4, 4, 4, 4}, largest[4] = {64, 64, 64, 2046}, beyond[4] = {64, 64, 64, 2048};
  assert_int_equal(kaon_lattice_check(ctx, good), KAON_OK);
  assert_int_equal(kaon_lattice_check(ctx, largest), KAON_OK); /* more than is made here */
  assert_int_equal(kaon_lattice_check(ctx, beyond), KAON_ERR_ARGUMENT);
  assert_int_equal(kaon_lattice_check(ctx, NULL), KAON_ERR_ARGUMENT);
  assert_int_equal(kaon_lattice_create(ctx, good, (kaon_boundary)7, &lattice), KAON_ERR_ARGUMENT);
  assert_int_equal(kaon_lattice_create(NULL, good, KAON_PERIODIC, &lattice), KAON_ERR_ARGUMENT);
  kaon_context_destroy(&ctx);
}

/* By as many ranks as nobody has started. */
static void grids_are_predicted(void **state) {
  (void)state;
  const int six[4] = {6, 6, 6, 6}, thin[4] = {4, 4, 4, 8};
  int all[4] = {2, 2, 2, 2}, x[4] = {2, 1, 1, 1}, found[4] = {0}, none[4] = {0}, most[4] = {0},
      bad[4] = {1, 0, 1, 1}, four[4] = {4, 1, 1, 1};
  assert_int_equal(kaon_ranks_grid(six, 0, all), KAON_OK);
  assert_int_equal(kaon_ranks_grid(six, 0, x), KAON_OK);
  assert_int_equal(kaon_ranks_grid(six, 0, four), KAON_ERR_ARGUMENT);
  assert_non_null(strstr(kaon_last_error(NULL), "extent X is 6, which 4 ranks do not divide"));
  assert_int_equal(kaon_ranks_grid(six, 4, bad), KAON_ERR_ARGUMENT);
  assert_int_equal(kaon_ranks_grid(six, 0, found), KAON_ERR_ARGUMENT);
  assert_int_equal(kaon_ranks_grid(NULL, 2, found), KAON_ERR_ARGUMENT);
  assert_int_equal(kaon_ranks_grid(six, 5, none), KAON_ERR_ARGUMENT);
  assert_non_null(strstr(kaon_last_error(NULL), "no grid of 5 ranks divides 6 x 6 x 6 x 6"));
  assert_int_equal(kaon_ranks_grid((int[4]){5, 4, 4, 4}, 1, none), KAON_ERR_ARGUMENT);
  assert_int_equal(kaon_ranks_grid((int[4]){4, 4, 4, 9}, 3, none), KAON_ERR_ARGUMENT);
  assert_int_equal(kaon_ranks_grid(thin, 2, found), KAON_OK);
  assert_memory_equal(found, ((int[4]){1, 1, 1, 2}), sizeof found);
  assert_int_equal(kaon_ranks_grid(six, 16, most), KAON_OK);
  assert_memory_equal(most, all, sizeof most);
}

/* Without a device too: the plain order of a CPU table is that of the GPU. */
static void neighbours_are_worked_out_where_there_are_no_tables(void **state) {
  (void)state;
  const kaon_context_options options = KAON_CONTEXT_OPTIONS_INIT;
  kaon_context *ctx = NULL;
  assert_int_equal(machine_open(KAON_ISA_SCALAR, options, &ctx), KAON_OK);
  kaon_backend plain = *ctx->backend;
  const kaon_backend *own = ctx->backend;
  plain.width = 32;
  plain.computed_neighbours = 1;
  ctx->backend = &plain;
  for (int i = 0; i < 2 * SHAPES; i++) {
    kaon_lattice *lattice = NULL;
    assert_int_equal(kaon_lattice_create(ctx, shapes[i / 2],
                                         i % 2 ? KAON_ANTIPERIODIC : KAON_PERIODIC, &lattice),
                     KAON_OK);
    assert_false(lattice->split);
    assert_null(lattice->stencil.neighbour[0]);
    check_bijection(lattice);
    check_neighbours(lattice);
    kaon_lattice_destroy(&lattice);
  }
  ctx->backend = own;
  kaon_context_destroy(&ctx);
  for (uint32_t d = 1; d <= 4096; d++) { /* every extent; numbers around each multiple's edge */
    const kaon_divisor by = kaon_divisor_of(d);
    for (uint32_t q = 1; q < INT32_MAX / d; q += 1 + q / 3) {
      assert_int_equal(kaon_divide_by(q * d, &by), q);
      assert_int_equal(kaon_divide_by(q * d - 1, &by), q - 1);
    }
    assert_int_equal(kaon_divide_by(INT32_MAX, &by), INT32_MAX / d);
  }
}

/* Every (block, column, component, lane) has a number of its own, and none is left over. */
static void packed_indices_are_a_bijection(void **state) {
  (void)state;
  static const int ncomps[] = {1, 2, 3, 6, 8, 12, 18, 24, 72}, widths[] = {1, 4, 8, 16, 32};
  enum { BLOCKS = 2, COLUMNS = 3, MOST = BLOCKS * COLUMNS * 72 * 32 };
  static char seen[MOST];
  for (int access = 0; access <= 16; access += 16)
    for (int size = 2; size <= 8; size *= 2)
      for (int n = 0; n < 9; n++)
        for (int w = 0; w < 5; w++) {
          const int ncomp = ncomps[n], width = widths[w], pack = kaon_pack(access, ncomp, size);
          const int64_t total = (int64_t)BLOCKS * COLUMNS * ncomp * width;
          assert_true(pack >= 1 && ncomp % pack == 0 && (pack == 1 || pack * size <= access));
          memset(seen, 0, sizeof seen);
          for (int64_t i = 0; i < total; i++) {
            const int lane = (int)(i % width), c = (int)(i / width % ncomp);
            const int column = (int)(i / width / ncomp % COLUMNS);
            const int64_t block = i / width / ncomp / COLUMNS;
            const int64_t at =
                kaon_packed_index(block, column, c, lane, COLUMNS, ncomp, width, pack);
            assert_true(at >= 0 && at < total && !seen[at]);
            seen[at] = 1;
            if (pack == 1)
              assert_int_equal(at, kaon_field_index(block, column, c, lane, COLUMNS, ncomp, width));
            if (c % pack != 0) /* a group stands together, and begins where its size divides */
              assert_int_equal(at - 1, kaon_packed_index(block, column, c - 1, lane, COLUMNS, ncomp,
                                                         width, pack));
            else
              assert_int_equal(at % pack, 0);
          }
        }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(packed_indices_are_a_bijection),
      cmocka_unit_test(tiles_cover_every_site_once),
      cmocka_unit_test(every_site_has_one_home),
      cmocka_unit_test(tables_step_to_neighbours_with_boundary_signs),
      cmocka_unit_test(neighbours_are_worked_out_where_there_are_no_tables),
      cmocka_unit_test(production_extents_use_the_split_order),
      cmocka_unit_test(bad_extents_are_refused_with_a_sentence),
      cmocka_unit_test(grids_are_predicted),
  };
  return test_main(tests, NULL, NULL);
}
