/* test_rank_gather.c - what ranks of a box gather: member by member, x fastest, in every box that
 * divides a grid, on the host and on devices. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "lib/grid/rank_gather.h"
#include "lib/grid/site_table.h"
#include "ranks.h"

enum { MOST = 16 };
static const int grids[][4] = {{1, 1, 1, 1},  {1, 1, 1, 2}, {2, 1, 1, 1}, {4, 1, 1, 1},
                               {2, 1, 2, 1},  {1, 8, 1, 1}, {2, 4, 1, 1}, {2, 2, 1, 2},
                               {1, 1, 16, 1}, {2, 2, 2, 2}};

/* What a rank gives: not a multiple of any line of messages. */
static void give(int rank, int round, double own[3]) {
  for (int i = 0; i < 3; i++) own[i] = 100 * round + 10 * rank + i;
}

static void check_all(const kaon_lattice *l, const int box[4], int round, const double *all) {
  const int members = box[0] * box[1] * box[2] * box[3];
  for (int m = 0; m < members; m++) {
    int at[4];
    double theirs[3];
    kaon_site_coordinates(box, m, at);
    for (int mu = 0; mu < 4; mu++) at[mu] += l->origin[mu] / l->extents[mu] / box[mu] * box[mu];
    give((int)kaon_site_index(l->grid, at), round, theirs);
    assert_memory_equal(theirs, all + 3 * m, sizeof theirs);
  }
}

/* Twice, as a sender must not overtake the last round. */
static void check_box(kaon_lattice *l, const int box[4]) {
  kaon_context *ctx = l->ctx;
  kaon_rank_gather *gather = NULL;
  double own[3], all[3 * MOST];
  const size_t members = (size_t)(box[0] * box[1] * box[2] * box[3]);
  must(ctx, kaon_rank_gather_create(l, box, sizeof own, &gather));
  for (int round = 0; round < 3; round++) {
    give(ctx->comm->rank, round, own);
    must(ctx, ctx->backend->memory->to_device(ctx, kaon_rank_gather_mine(gather), own, sizeof own));
    must(ctx, kaon_rank_gather_run(gather));
    must(ctx, ctx->backend->memory->to_host(ctx, all, kaon_rank_gather_all(gather),
                                            members * sizeof own));
    check_all(l, box, round, all);
  }
  kaon_rank_gather_destroy(&gather);
}

static void boxes_of_grids(void **state) {
  (void)state;
  int tried = 0;
  for (size_t i = 0; i < sizeof grids / sizeof *grids; i++) {
    const int *g = grids[i];
    const int extents[4] = {2 * g[0], 2 * g[1], 2 * g[2], 2 * g[3]};
    kaon_lattice *l = NULL;
    if (g[0] * g[1] * g[2] * g[3] != world_size()) continue;
    kaon_context *ctx = ranks_open(KAON_ISA_AUTO, g);
    must(ctx, kaon_lattice_create(ctx, extents, KAON_PERIODIC, &l));
    for (int b = 0; b < 16; b++) {
      int box[4];
      for (int mu = 0; mu < 4; mu++) box[mu] = b >> mu & 1 ? g[mu] : g[mu] % 2 == 0 ? g[mu] / 2 : 1;
      check_box(l, box);
    }
    kaon_lattice_destroy(&l);
    kaon_context_destroy(&ctx);
    tried++;
  }
  if (tried == 0) skip();
}

static const struct CMUnitTest rank_gather[] = {
    cmocka_unit_test(boxes_of_grids),
};
RANKS_MAIN(rank_gather)
