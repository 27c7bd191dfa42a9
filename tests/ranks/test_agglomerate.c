/* test_agglomerate.c - coarse lattices on fewer ranks: vectors get there and back with their bits,
 * P^dagger P stays the identity on the way, and what one rank lacks there all ranks report. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "lib/grid/site_table.h"
#include "multigrid/hierarchy.h"
#include "ranks.h"
#include "tests/util/multigrid_case.h"

enum { REALS = 16, COLUMNS = 3 };

/* Parts of one site in divided directions. */
typedef struct coarse {
  int extents[4], grid[4], merged[4];
} coarse;
static const coarse cases[] = {
    {{2, 4, 2, 2}, {1, 1, 1, 2}, {1, 1, 1, 1}}, {{4, 2, 2, 6}, {1, 1, 2, 1}, {1, 1, 1, 1}},
    {{2, 2, 2, 4}, {1, 1, 1, 4}, {1, 1, 1, 2}}, {{2, 2, 6, 2}, {2, 1, 2, 1}, {1, 1, 2, 1}},
    {{2, 4, 2, 4}, {1, 2, 1, 2}, {1, 2, 1, 2}}, {{2, 2, 2, 8}, {1, 1, 1, 8}, {1, 1, 1, 4}},
    {{2, 2, 4, 2}, {2, 2, 1, 2}, {1, 1, 1, 1}}, {{2, 4, 2, 2}, {1, 4, 2, 1}, {1, 2, 1, 1}}};

/* Component c of a column at a site of the whole lattice. */
static double number_of(int64_t site, int column, int c) {
  return (double)(site * COLUMNS + column) * REALS + c;
}

/* All ranks' numbers, where they are; column 1 is left out. */
static void check_vector(kaon_vector *v, int skipped) {
  const kaon_lattice *l = v->space->lattice;
  double *host = malloc((size_t)l->volume * REALS * sizeof *host);
  for (int k = 0; k < COLUMNS; k++) {
    must(v->ctx, kaon_vector_export(v, k, host, KAON_BASIS_UKQCD));
    for (int64_t i = 0; i < l->volume * REALS; i++) {
      int x[4];
      kaon_site_coordinates(l->extents, i / REALS, x);
      for (int mu = 0; mu < 4; mu++) x[mu] += l->origin[mu];
      const double wanted = number_of(kaon_site_index(l->global, x), k, (int)(i % REALS));
      assert_true(host[i] == (k == skipped ? 0 : wanted));
    }
  }
  free(host);
}

static kaon_vector *vector_on(kaon_lattice *l, kaon_precision precision) {
  kaon_vector *v = NULL;
  must(l->ctx, kaon_vector_create(l->ctx, kaon_lattice_space(l, KAON_FULL, REALS, 1), precision,
                                  COLUMNS, &v));
  must(l->ctx, kaon_vector_zero(v));
  return v;
}

static kaon_vector *numbers_on(kaon_lattice *l, kaon_precision precision) {
  kaon_vector *v = vector_on(l, precision);
  double *host = malloc((size_t)l->volume * REALS * sizeof *host);
  for (int k = 0; k < COLUMNS; k++) {
    for (int64_t i = 0; i < l->volume * REALS; i++) {
      int x[4];
      kaon_site_coordinates(l->extents, i / REALS, x);
      for (int mu = 0; mu < 4; mu++) x[mu] += l->origin[mu];
      host[i] = number_of(kaon_site_index(l->global, x), k, (int)(i % REALS));
    }
    must(l->ctx, kaon_vector_import(v, k, host, KAON_BASIS_UKQCD));
  }
  free(host);
  return v;
}

/* Scalars whose column `closed` is closed. */
static kaon_scalars *gates(kaon_context *ctx, int closed) {
  kaon_scalars *scalars = NULL;
  kaon_column_state *host = calloc(COLUMNS, sizeof *host);
  must(ctx, kaon_scalars_create(ctx, COLUMNS, &scalars));
  for (int k = 0; k < COLUMNS; k++) host[k].gate = k == closed ? 0 : KAON_GATE_STEP;
  must(ctx, kaon_scalars_write(scalars, host));
  free(host);
  return scalars;
}

static void there_and_back(const kaon_agglomeration *a, kaon_precision precision) {
  kaon_context *ctx = a->parts->ctx;
  kaon_vector *x = numbers_on(a->parts, precision), *back = vector_on(a->parts, precision);
  kaon_vector *merged = vector_on(a->merged, precision);
  kaon_scalars *scalars = gates(ctx, 1);
  kaon_rank_gather *room = NULL;
  kaon_pass gate = KAON_PASS_INIT;
  gate.scalars = scalars;
  must(ctx, kaon_agglomeration_room(a, x->space, precision, COLUMNS, &room));
  must(ctx, kaon_agglomeration_gather(a, room, x, merged, &gate));
  check_vector(merged, 1);
  must(ctx, kaon_agglomeration_gather(a, room, x, merged, NULL));
  check_vector(merged, -1);
  must(ctx, kaon_agglomeration_take(a, room, merged, back, &gate));
  check_vector(back, 1);
  must(ctx, kaon_agglomeration_take(a, room, merged, back, NULL));
  check_vector(back, -1);
  kaon_rank_gather_destroy(&room);
  kaon_scalars_destroy(&scalars);
  kaon_vector_destroy(&merged);
  kaon_vector_destroy(&back);
  kaon_vector_destroy(&x);
}

static int fits(const int grid[4]) {
  return grid[0] * grid[1] * grid[2] * grid[3] == world_size();
}

/* NULL: a device, whose ranks do not merge. */
static kaon_context *open_host(const int grid[4]) {
  kaon_context *ctx = ranks_open(KAON_ISA_AUTO, grid);
  if (!ctx->backend->host_accessible) kaon_context_destroy(&ctx);
  return ctx;
}

static void vectors_keep_their_bits(void **state) {
  (void)state;
  int tried = 0;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const coarse *c = &cases[i];
    kaon_lattice *l = NULL;
    kaon_agglomeration *a = NULL;
    int box[4];
    kaon_context *ctx = fits(c->grid) ? open_host(c->grid) : NULL;
    if (ctx == NULL) continue;
    must(ctx, kaon_lattice_create(ctx, c->extents, KAON_PERIODIC, &l));
    const int merges = kaon_agglomeration_box(ctx, l->extents, l->global, box);
    for (int mu = 0; mu < 4; mu++) assert_int_equal(c->grid[mu] / box[mu], c->merged[mu]);
    assert_int_equal(merges, memcmp(c->grid, c->merged, sizeof box) != 0);
    must(ctx, kaon_agglomeration_create(l, box, &a));
    assert_memory_equal(a->merged->grid, c->merged, sizeof box);
    assert_int_equal(a->merged->global_volume, l->global_volume);
    for (int p = KAON_DOUBLE; p <= KAON_SINGLE; p++) there_and_back(a, (kaon_precision)p);
    kaon_agglomeration_destroy(&a);
    kaon_lattice_destroy(&l);
    kaon_context_destroy(&ctx);
    tried++;
  }
  if (tried == 0) skip();
}

/* ---- in a hierarchy ---- */

typedef struct hierarchy {
  multigrid_case c;
  kaon_operator *K;
  kaon_multigrid *mg;
} hierarchy;

/* Three levels, the second of which fewer ranks hold. 0: on these ranks there is none. */
static int hierarchy_open(hierarchy *h) {
  const int n = world_size(), grid[4] = {1, 1, 1, n}, extents[4] = {4, 4, 8, 2 * n};
  kaon_context *ctx = n == 2 || n == 4 ? open_host(grid) : NULL;
  if (ctx == NULL) return 0;
  h->c = multigrid_open(ctx, extents);
  must(ctx, kaon_gauge_weak(h->c.gauge, 0.4, 3));
  multigrid_dirac(&h->c, 0.135, 1, 0);
  kaon_multigrid_options o = multigrid_small();
  o.precision[0] = KAON_SINGLE;
  o.setup = 1;
  for (int mu = 0; mu < 4; mu++) o.block[1][mu] = mu == 2 ? 2 : 1;
  h->K = multigrid_of(&h->c, &o);
  h->mg = h->K->self;
  return 1;
}

static void hierarchy_close(hierarchy *h) {
  kaon_operator_destroy(&h->K);
  multigrid_close(&h->c);
}

/* Column norms are those of all copies. Numbers of V^dagger V are sums of m = 96 products, an aggregate's
 * 16 sites with 6 numbers in a half, of columns of norm 1: wrong by (m + 2) u at most, and a matrix of n
 * columns of such numbers by n (m + 2) u. The sums of P and P^dagger round by as much. */
static void transfers_are_orthonormal_across_the_gathering(void **state) {
  (void)state;
  hierarchy h;
  if (!hierarchy_open(&h)) skip();
  const kaon_mg_level *level = &h.mg->level[0];
  const kaon_transfer *t = level->transfer;
  const kaon_agglomeration *a = level->merging;
  kaon_context *ctx = h.c.ctx, *few = a->merged->ctx;
  const kaon_space *merged = level->below->A->space;
  kaon_vector *x = NULL, *y = NULL, *part = NULL, *fine = NULL;
  kaon_rank_gather *room = NULL;
  double norm, difference;
  assert_int_equal(few->comm->ranks, world_size() / 2);
  must(few, kaon_vector_create(few, merged, KAON_SINGLE, 1, &x));
  must(few, kaon_vector_create(few, merged, KAON_SINGLE, 1, &y));
  must(ctx, kaon_vector_create(ctx, t->coarse, KAON_SINGLE, 1, &part));
  must(ctx, kaon_vector_create(ctx, t->fine, t->precision, 1, &fine));
  must(few, kaon_random_columns(x, 0, 5));
  must(ctx, kaon_agglomeration_room(a, t->coarse, KAON_SINGLE, 1, &room));
  must(ctx, kaon_agglomeration_take(a, room, x, part, NULL));
  must(ctx, kaon_transfer_prolong(t, part, 0, fine, NULL));
  must(ctx, kaon_transfer_restrict(t, fine, part, NULL));
  must(ctx, kaon_agglomeration_gather(a, room, part, y, NULL));
  must(few, kaon_vector_norm2(x, &norm));
  must(few, kaon_blas_axpy(KAON_NUMBER(-1), x, y, NULL));
  must(few, kaon_vector_norm2(y, &difference));
  const double bound = 2 * t->vectors * (16 * 6 + 2) * 0x1p-24;
  printf("  |P^dagger P x - x| / |x| = %.2g (bound %.2g)\n", sqrt(difference / norm), bound);
  assert_true(sqrt(difference / norm) <= bound);
  kaon_rank_gather_destroy(&room);
  kaon_vector_destroy(&x);
  kaon_vector_destroy(&y);
  kaon_vector_destroy(&part);
  kaon_vector_destroy(&fine);
  hierarchy_close(&h);
}

/* The last rank alone has no memory for levels of fewer ranks. The next set-up has. */
static void a_failure_on_fewer_ranks_is_that_of_all(void **state) {
  (void)state;
  hierarchy h;
  if (!hierarchy_open(&h)) skip();
  kaon_context *ctx = h.c.ctx, *few = h.mg->level[1].ctx;
  const int steps = multigrid_solve(&h.c, h.K, 1, 1, NULL);
  if (world_rank() == world_size() - 1) {
    few->options.memory_limit = 1;
    few->options.check = 1; /* takes no memory that is there already */
  }
  must_refuse(ctx, KAON_ERR_MEMORY, kaon_multigrid_update(h.K, KAON_MULTIGRID_REBUILD));
  few->options.memory_limit = few->options.check = 0;
  must(ctx, kaon_multigrid_update(h.K, KAON_MULTIGRID_REBUILD));
  assert_int_equal(multigrid_solve(&h.c, h.K, 1, 1, NULL), steps);
  hierarchy_close(&h);
}

static int same_on_all(int value) {
  int least = 0, most = 0;
  MPI_Allreduce(&value, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  MPI_Allreduce(&value, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  return least == most;
}

/* The last rank has a little more memory for each trial, so that a later step of the set-up fails. */
static void all_ranks_refuse_what_one_has_no_memory_for(void **state) {
  enum { TRIALS = 8 };
  (void)state;
  hierarchy h;
  int refused = 0;
  if (!hierarchy_open(&h)) skip();
  kaon_context *ctx = h.c.ctx;
  kaon_multigrid_options o = h.mg->options;
  const kaon_pool_use most = kaon_pool_usage(ctx);
  kaon_operator_destroy(&h.K);
  const kaon_pool_use least = kaon_pool_usage(ctx);
  o.setup = 0;
  for (int i = 0; i < TRIALS; i++) {
    if (world_rank() == world_size() - 1)
      ctx->options.memory_limit = least.now + (most.peak - least.now) * i / TRIALS;
    const kaon_status status = kaon_multigrid_create(h.c.A, &o, &h.K);
    assert_true(status == KAON_OK || status == KAON_ERR_MEMORY);
    assert_true(same_on_all(status));
    refused += status != KAON_OK;
    kaon_operator_destroy(&h.K);
  }
  printf("  %d of %d set-ups are refused on all ranks\n", refused, TRIALS);
  assert_in_range(refused, 1, TRIALS - 1);
  ctx->options.memory_limit = 0;
  h.K = multigrid_of(&h.c, &o);
  hierarchy_close(&h);
}

static const struct CMUnitTest agglomerate[] = {
    cmocka_unit_test(vectors_keep_their_bits),
    cmocka_unit_test(transfers_are_orthonormal_across_the_gathering),
    cmocka_unit_test(a_failure_on_fewer_ranks_is_that_of_all),
    cmocka_unit_test(all_ranks_refuse_what_one_has_no_memory_for),
};
RANKS_MAIN(agglomerate)
