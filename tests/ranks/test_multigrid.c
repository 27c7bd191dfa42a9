/* test_multigrid.c - multigrid on several ranks: the steps of one rank within 1, on grids of several
 * shapes, with parts and coarse parts of odd extents. What the coarsest level cannot do is refused on
 * all ranks. A file of two ranks' vectors serves one rank and four. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdlib.h>
#include <unistd.h>

#include "ranks.h"
#include "tests/util/multigrid_case.h"

/* Grids divide `extents`; aggregates divide the parts. Where a coarse part has one site a direction,
 * ranks merge, on the CPU alone. last: the grid of the coarsest level. */
typedef struct shape {
  int extents[4], grid[4], last[4], levels, block[3][4];
} shape;
static const shape shapes[] = {
    {{8, 8, 8, 8}, {1, 1, 1, 1}, {1, 1, 1, 1}, 3, {{2, 2, 2, 2}, {2, 2, 2, 2}}},
    /* parts of 3 coarse sites */
    {{4, 4, 8, 12}, {1, 1, 1, 2}, {1, 1, 1, 2}, 3, {{2, 2, 2, 2}, {1, 1, 2, 3}}},
    {{4, 4, 6, 12}, {1, 1, 2, 2}, {1, 1, 2, 2}, 3, {{2, 2, 1, 2}, {1, 1, 3, 3}}},
    /* parts of 1 coarse site: one rank has all, or two have the third level, or one the fourth */
    {{4, 4, 8, 4}, {1, 1, 1, 2}, {1, 1, 1, 1}, 3, {{2, 2, 2, 2}, {1, 1, 2, 1}}},
    {{4, 4, 4, 8}, {1, 1, 1, 4}, {1, 1, 1, 2}, 3, {{2, 2, 2, 2}, {1, 1, 1, 2}}},
    {{4, 8, 8, 4}, {1, 4, 1, 1}, {1, 1, 1, 1}, 4, {{2, 2, 2, 2}, {1, 2, 1, 1}, {1, 1, 2, 1}}},
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

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
  o.levels = s->levels;
  return o;
}

static kaon_context *one_rank(void) {
  const kaon_context_options options = ranks_options(KAON_ISA_AUTO);
  kaon_context *ctx = NULL;
  must(NULL, kaon_context_create(&options, &ctx));
  return ctx;
}

static int fits(const shape *s) {
  const int *g = s->grid;
  kaon_context *ctx = one_rank();
  const int merges = ctx->backend->host_accessible || memcmp(g, s->last, sizeof s->last) == 0;
  kaon_context_destroy(&ctx);
  return merges && g[0] * g[1] * g[2] * g[3] == world_size();
}

/* Takes over the context. Steps for one column and for three. */
static void steps_on(kaon_context *ctx, const shape *s, const kaon_multigrid_options *o,
                     int steps[2]) {
  multigrid_case c = open_case(ctx, s);
  kaon_operator *K = multigrid_of(&c, o);
  steps[0] = multigrid_solve(&c, K, 1, 1, NULL);
  steps[1] = multigrid_solve(&c, K, 3, 1, NULL);
  kaon_multigrid_info info = KAON_MULTIGRID_INFO_INIT;
  must(ctx, kaon_multigrid_describe(K, &info));
  if (ctx->comm->ranks > 1)
    assert_memory_equal(info.grid[info.levels - 1], s->last, sizeof s->last);
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

/* On one and two ranks also with a coarsest level that GCR solves. GCR makes the differences grow that
 * other orders of sums begin with, so level 0 is in single precision then. */
static void counts_are_those_of_one_rank(void **state) {
  (void)state;
  int tried = 0;
  for (int i = 0; i < SHAPES; i++) {
    kaon_multigrid_options o = options_of(&shapes[i]);
    if (!fits(&shapes[i])) continue;
    compare(&shapes[i], &o);
    o.dense = 16;
    o.precision[0] = KAON_SINGLE;
    if (world_size() < 4) compare(&shapes[i], &o);
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

/* ---- files ---- */

static int warnings;

static void listen(void *user, kaon_log_level level, const char *line) {
  (void)user;
  (void)line;
  warnings += level == KAON_LOG_WARNING;
}

/* A context of the first ranks, which are all or two. */
static kaon_context *first_ranks(int ranks, const int grid[4]) {
  kaon_context_options options = ranks_options(KAON_ISA_AUTO);
  kaon_context *ctx = NULL;
  options.log = listen;
#ifndef RANKS_BY_QMP
  MPI_Comm ours;
  MPI_Comm_split(MPI_COMM_WORLD, world_rank() < ranks, world_rank(), &ours);
  if (world_rank() < ranks) must(NULL, kaon_context_create_ranks(&options, &ours, grid, &ctx));
  MPI_Comm_free(&ours);
#else
  (void)ranks;
  must(NULL, kaon_context_create_ranks(&options, NULL, NULL, &ctx));
#endif
  return ctx;
}

/* Takes over the context; NULL: this rank has no part. With bases of the file or, if `writes`, new
 * ones. */
static int steps_by_file(kaon_context *ctx, const shape *s, const char *path, int writes) {
  const kaon_multigrid_options o = options_of(s);
  if (ctx == NULL) return 0;
  multigrid_case c = open_case(ctx, s);
  kaon_operator *K = NULL;
  if (writes) {
    K = multigrid_of(&c, &o);
    must(ctx, kaon_multigrid_save(K, path));
  } else {
    must(ctx, kaon_multigrid_load(c.A, NULL, path, &K));
  }
  const int steps = multigrid_solve(&c, K, 1, 1, NULL);
  kaon_operator_destroy(&K);
  multigrid_close(&c);
  return steps;
}

static void a_file_serves_other_grids(void **state) {
  (void)state;
  static const int two[4] = {1, 1, 1, 2}, four[4] = {1, 1, 2, 2};
  char path[64] = "/tmp/kaon-ranks-multigrid-XXXXXX";
  int of_two, of_one = 0;
  if (world_size() == 1) skip();
  if (world_rank() == 0) close(mkstemp(path));
  MPI_Bcast(path, sizeof path, MPI_CHAR, 0, MPI_COMM_WORLD);
  of_two = steps_by_file(first_ranks(2, two), &shapes[3], path, 1);
  MPI_Bcast(&of_two, 1, MPI_INT, 0, MPI_COMM_WORLD);
  if (world_rank() == 0) of_one = steps_by_file(one_rank(), &shapes[3], path, 0);
  MPI_Bcast(&of_one, 1, MPI_INT, 0, MPI_COMM_WORLD);
  const int of_all =
      steps_by_file(first_ranks(world_size(), world_size() == 2 ? two : four), &shapes[3], path, 0);
  if (world_rank() == 0) unlink(path);
  printf("  written by two ranks: %d steps; read by one: %d, by all: %d\n", of_two, of_one, of_all);
  assert_true(abs(of_one - of_two) <= 1);
  assert_true(abs(of_all - of_two) <= 1);
  assert_int_equal(warnings, 0);
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
  int last = SHAPES - 1;
  while (!fits(&shapes[last])) last--; /* where ranks merge, if they do */
  kaon_context *ctx = ranks_open(KAON_ISA_AUTO, shapes[last].grid);
  kaon_multigrid_times times = KAON_MULTIGRID_TIMES_INIT;
  multigrid_case c = open_case(ctx, &shapes[last]);
  kaon_multigrid_options o = options_of(&shapes[last]);
  kaon_operator *K = c.A;
  o.setup = 1;
  o.monitor = cancel;
  must_refuse(ctx, KAON_ERR_CANCELLED, kaon_multigrid_create(c.A, &o, &K));
  assert_null(K);
  o.monitor = NULL;
  K = multigrid_of(&c, &o);
  must(ctx, kaon_multigrid_measure(K, 2, &times));
  assert_true(times.level[0].smoother > 0 && times.level[o.levels - 1].coarsest > 0);
  kaon_operator_destroy(&K);
  multigrid_close(&c);
}

static const struct CMUnitTest multigrid[] = {
    cmocka_unit_test(counts_are_those_of_one_rank),
    cmocka_unit_test(refusals_are_those_of_all_ranks),
    cmocka_unit_test(a_file_serves_other_grids),
    cmocka_unit_test(monitors_and_times),
};
RANKS_MAIN(multigrid)
