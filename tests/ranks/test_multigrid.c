/* test_multigrid.c - multigrid on several ranks: the steps of one rank within 1, on grids of several
 * shapes, with parts and coarse parts of odd extents. What the coarsest level cannot do is refused on
 * all ranks. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdlib.h>

#include "ranks.h"
#include "tests/util/multigrid_case.h"

/* Grids divide `extents`; aggregates divide the parts. A coarse part may have one site a direction. */
typedef struct shape {
  int extents[4], grid[4], block[2][4];
} shape;
static const shape shapes[] = {
    {{8, 8, 8, 8}, {1, 1, 1, 1}, {{2, 2, 2, 2}, {2, 2, 2, 2}}},
    {{4, 4, 8, 12}, {1, 1, 1, 2}, {{2, 2, 2, 2}, {1, 1, 2, 3}}}, /* parts of 3 coarse sites */
    {{4, 4, 6, 12}, {1, 1, 2, 2}, {{2, 2, 1, 2}, {1, 1, 3, 3}}},
    {{4, 8, 8, 8}, {1, 4, 1, 1}, {{2, 2, 2, 2}, {1, 1, 2, 2}}}, /* parts of 1 coarse site */
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static int fits(const shape *s) {
  const int *g = s->grid;
  return g[0] * g[1] * g[2] * g[3] == world_size();
}

/* Weak links: the same on every grid of ranks. */
static multigrid_case open_case(kaon_context *ctx, const shape *s) {
  multigrid_case c = multigrid_open(ctx, s->extents);
  must(ctx, kaon_gauge_weak(c.gauge, 0.4, 3));
  multigrid_dirac(&c, 0.135, 1, 0);
  return c;
}

static kaon_multigrid_options options_of(const shape *s) {
  kaon_multigrid_options o = multigrid_small();
  memcpy(o.block, s->block, sizeof s->block);
  return o;
}

static kaon_context *one_rank(void) {
  const kaon_context_options options = ranks_options(KAON_ISA_AUTO);
  kaon_context *ctx = NULL;
  must(NULL, kaon_context_create(&options, &ctx));
  return ctx;
}

/* Takes over the context. Steps for one column and for three. */
static void steps_on(kaon_context *ctx, const shape *s, const kaon_multigrid_options *o,
                     int steps[2]) {
  multigrid_case c = open_case(ctx, s);
  kaon_operator *K = multigrid_of(&c, o);
  steps[0] = multigrid_solve(&c, K, 1, 1, NULL);
  steps[1] = multigrid_solve(&c, K, 3, 1, NULL);
  kaon_operator_destroy(&K);
  multigrid_close(&c);
}

/* The first rank alone has the whole lattice, too. */
static void compare(const shape *s, const kaon_multigrid_options *o) {
  int whole[2] = {0, 0}, part[2];
  if (world_rank() == 0) steps_on(one_rank(), s, o, whole);
  MPI_Bcast(whole, 2, MPI_INT, 0, MPI_COMM_WORLD);
  steps_on(ranks_open(KAON_ISA_AUTO, s->grid), s, o, part);
  const int *n = s->extents, *g = s->grid;
  printf("  %dx%dx%dx%d on %d %d %d %d: %d and %d steps, on one rank %d and %d\n", n[0], n[1], n[2],
         n[3], g[0], g[1], g[2], g[3], part[0], part[1], whole[0], whole[1]);
  assert_true(abs(part[0] - whole[0]) <= 1);
  assert_true(abs(part[1] - whole[1]) <= 1);
}

/* On devices of several ranks the coarsest level is not inverted as a dense matrix. */
static int inverts(void) {
  kaon_context *ctx = one_rank();
  const int host = ctx->backend->host_accessible;
  kaon_context_destroy(&ctx);
  return host || world_size() == 1;
}

/* On one and two ranks also with a coarsest level that GCR solves. GCR makes the differences grow that
 * other orders of sums begin with, so level 0 is in single precision then. */
static void counts_are_those_of_one_rank(void **state) {
  (void)state;
  const int dense = inverts();
  int tried = 0;
  for (int i = 0; i < SHAPES; i++) {
    kaon_multigrid_options o = options_of(&shapes[i]);
    if (!fits(&shapes[i])) continue;
    if (dense) compare(&shapes[i], &o);
    o.dense = 16;
    o.precision[0] = KAON_SINGLE;
    if (!dense || world_size() < 4) compare(&shapes[i], &o);
    tried++;
  }
  if (tried == 0) skip();
}

/* Aggregates that divide the lattice, but not the parts: every rank gets the status. So it does for
 * more vectors than half an aggregate of 4 sites has numbers. */
static void refusals_are_those_of_all_ranks(void **state) {
  (void)state;
  kaon_context *ctx = ranks_open(KAON_ISA_AUTO, NULL);
  kaon_multigrid_options o = options_of(&shapes[0]);
  multigrid_case c = open_case(ctx, &shapes[0]);
  kaon_operator *K = c.A;
  o.block[0][3] = 3;
  must_refuse(ctx, KAON_ERR_ARGUMENT, kaon_multigrid_create(c.A, &o, &K));
  assert_null(K);
  o = options_of(&shapes[0]);
  o.block[0][2] = o.block[0][3] = 1;
  o.vectors[0] = 25;
  o.levels = 2;
  o.setup = 0;
  must_refuse(ctx, KAON_ERR_ARGUMENT, kaon_multigrid_create(c.A, &o, &K));
  assert_null(K);
  assert_non_null(strstr(kaon_last_error(ctx), "25 vectors on level 0"));
  multigrid_close(&c);
}

/* On the last rank alone. */
static int cancel(void *user, int round, int level, double unused) {
  (void)user;
  (void)level;
  (void)unused;
  return round == 1 && world_rank() == world_size() - 1;
}

/* One rank's monitor ends the set-up of all. Times are measured by all. */
static void monitors_and_times(void **state) {
  (void)state;
  kaon_context *ctx = ranks_open(KAON_ISA_AUTO, NULL);
  kaon_multigrid_options o = KAON_MULTIGRID_OPTIONS_INIT;
  kaon_multigrid_times times = KAON_MULTIGRID_TIMES_INIT;
  multigrid_case c = open_case(ctx, &shapes[0]);
  kaon_operator *K = c.A;
  o.levels = 2;
  o.vectors[0] = 8;
  o.setup = 1;
  o.monitor = cancel;
  must_refuse(ctx, KAON_ERR_CANCELLED, kaon_multigrid_create(c.A, &o, &K));
  assert_null(K);
  o.monitor = NULL;
  K = multigrid_of(&c, &o);
  must(ctx, kaon_multigrid_measure(K, 2, &times));
  assert_true(times.level[0].smoother > 0 && times.level[1].coarsest > 0);
  kaon_operator_destroy(&K);
  multigrid_close(&c);
}

static const struct CMUnitTest multigrid[] = {
    cmocka_unit_test(counts_are_those_of_one_rank),
    cmocka_unit_test(refusals_are_those_of_all_ranks),
    cmocka_unit_test(monitors_and_times),
};
RANKS_MAIN(multigrid)
