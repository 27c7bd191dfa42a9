/* test_partition.c - a lattice divided among ranks computes what one rank computes on the whole
 * lattice, which every process holds too. In each of the 16 subsets of directions (a direction
 * that the grid does not divide uses messages to the rank itself), on rank grids of several
 * shapes. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "ranks.h"
#include "tests/util/partition.h"

static const int extents[4] = {8, 4, 8, 8};

/* Distributes factors of 2 over the directions of `mask`, from `first` on, while extents stay
 * even. */
static int grid_of(int mask, int first, int grid[4]) {
  int left = world_size();
  for (int mu = 0; mu < 4; mu++) grid[mu] = 1;
  for (int tries = 0; tries < 16 && left > 1; tries++) {
    const int mu = (first + tries) % 4;
    if (!(mask >> mu & 1) || extents[mu] / grid[mu] % 4 != 0) continue;
    grid[mu] *= 2;
    left /= 2;
  }
  return left == 1;
}

/* Transports and ways of hiding messages. A CPU has no choice of transport, and AUTO is STAGED. */
typedef struct {
  kaon_transport transport;
  kaon_overlap overlap;
  int on_cpu;
} way;
static const way ways[] = {{KAON_TRANSPORT_AUTO, KAON_OVERLAP_AUTO, 1},
                           {KAON_TRANSPORT_AUTO, KAON_OVERLAP_STAGED, 0},
                           {KAON_TRANSPORT_AUTO, KAON_OVERLAP_NONE, 1},
                           {KAON_TRANSPORT_HOST, KAON_OVERLAP_STAGED, 0}};
enum { WAYS = sizeof ways / sizeof *ways };

static int open_pair_way(partition_pair *pair, int isa, int mask, int first, kaon_boundary boundary,
                         const way *how) {
  int grid[4];
  kaon_context *whole = NULL, *part = NULL;
  kaon_context_options options = ranks_options(isa);
  if (!how->on_cpu && options.backend == KAON_BACKEND_CPU) return 0;
  if (!grid_of(mask, first, grid)) return 0;
  must(NULL, kaon_context_create(&options, &whole));
  if (how->transport != KAON_TRANSPORT_AUTO) options.transport = how->transport;
  options.overlap = how->overlap;
  must(NULL, kaon_context_create_ranks(&options, NULL, grid, &part));
  partition_open(pair, whole, part, extents, mask, boundary);
  return 1;
}

static int open_pair(partition_pair *pair, int isa, int mask, int first, kaon_boundary boundary) {
  return open_pair_way(pair, isa, mask, first, boundary, &ways[0]);
}

static void hops_across_every_subset_of_faces(void **state) {
  (void)state;
  for (int mask = 0; mask < 16; mask++) {
    partition_pair pair;
    if (!open_pair(&pair, KAON_ISA_AUTO, mask, mask % 4, KAON_ANTIPERIODIC)) continue;
    partition_check_hops(&pair, 1);
    partition_check_couplings(&pair, mask);
    partition_close(&pair);
  }
}

static void every_way_of_hiding_messages(void **state) {
  (void)state;
  for (int i = 1; i < WAYS; i++)
    for (int mask = 1; mask < 16; mask += 2) {
      partition_pair pair;
      if (!open_pair_way(&pair, KAON_ISA_AUTO, mask, 3 - i, KAON_ANTIPERIODIC, &ways[i])) continue;
      partition_check_hops(&pair, 1);
      partition_close(&pair);
    }
}

static void sums_across_faces(void **state) {
  (void)state;
  for (int i = 0; i < WAYS; i++)
    for (int p = 0; p < 3; p++) {
      const int mask = i % 2 ? 12 : 15;
      partition_pair pair;
      if (!open_pair_way(&pair, KAON_ISA_AUTO, mask, 3, KAON_ANTIPERIODIC, &ways[i])) continue;
      partition_check_sums(&pair, (kaon_precision)p);
      partition_close(&pair);
    }
}

static void links_across_faces(void **state) {
  (void)state;
  static const int masks[] = {1, 2, 4, 8, 6, 9, 12, 15};
  for (size_t i = 0; i < sizeof masks / sizeof *masks; i++) {
    const int mask = masks[i];
    partition_pair pair;
    if (!open_pair(&pair, mask % 2 ? KAON_ISA_AUTO : KAON_ISA_X86_64, mask, 3 - mask % 4,
                   mask % 3 ? KAON_ANTIPERIODIC : KAON_PERIODIC))
      continue;
    partition_check_links(&pair);
    partition_check_measurements(&pair);
    partition_close(&pair);
  }
}

/* Another first direction than for hops, so that other grids with the same faces occur. */
static void operators_across_every_subset_of_faces(void **state) {
  (void)state;
  for (int mask = 0; mask < 16; mask++) {
    partition_pair pair;
    if (!open_pair(&pair, mask % 2 ? KAON_ISA_AUTO : KAON_ISA_X86_64, mask, 3 - mask % 4,
                   mask % 3 ? KAON_ANTIPERIODIC : KAON_PERIODIC))
      continue;
    for (int p = 0; p < 3; p++)
      if (!test_brief() || p == mask % 3) partition_check_operators(&pair, (kaon_precision)p);
    partition_close(&pair);
  }
}

/* Two grids: t alone as far as it goes, and all directions in turn. */
static void solvers_on_two_grids(void **state) {
  (void)state;
  for (int first = 0; first < 4; first += 3) {
    partition_pair pair;
    assert_true(open_pair(&pair, KAON_ISA_AUTO, first == 3 ? 12 : 15, first, KAON_ANTIPERIODIC));
    partition_check_solvers(&pair);
    partition_close(&pair);
  }
}

static int longest; /* numbers of a sum */
static const kaon_comm_ops *real_ops;
static kaon_status measured_sum(kaon_comm *comm, double *values, int n) {
  if (n > longest) longest = n;
  return real_ops->sum_start(comm, values, n);
}

/* Creating a solver allocates everything its sums need: a rank without memory for one would leave
 * the others waiting. */
static void sums_of_a_solve_take_no_memory(void **state) {
  (void)state;
  static const kaon_method methods[] = {KAON_BLOCKCGNR, KAON_GCR, KAON_PIPEBICGSTAB, KAON_CGNR};
  enum { COLUMNS = 40, METHODS = sizeof methods / sizeof *methods };
  partition_pair pair;
  assert_true(open_pair(&pair, KAON_ISA_AUTO, 15, 0, KAON_ANTIPERIODIC));
  const partition_side *s = &pair.part;
  kaon_comm *comm = s->ctx->comm;
  kaon_comm_ops ops = *comm->ops;
  kaon_dirac_options dirac = KAON_DIRAC_OPTIONS_INIT;
  kaon_vector *b = NULL, *x = NULL;
  const kaon_space *full = kaon_lattice_spinors(s->lattice, KAON_FULL);
  int most = 0;
  dirac.kappa = 0.11;
  partition_dirac(&pair, &dirac);
  must(s->ctx, kaon_vector_create(s->ctx, full, KAON_DOUBLE, COLUMNS, &b));
  must(s->ctx, kaon_vector_create(s->ctx, full, KAON_DOUBLE, COLUMNS, &x));
  must(s->ctx, kaon_source_gauss(b, 9));
  real_ops = comm->ops;
  ops.sum_start = measured_sum;
  for (int i = 0; i < METHODS; i++) {
    kaon_solver_options o = KAON_SOLVER_OPTIONS_INIT;
    kaon_column_report report[COLUMNS];
    kaon_solver *solver = NULL;
    o.method = methods[i];
    o.sloppy = KAON_SINGLE;
    o.max_iterations = 20;
    must(s->ctx, kaon_solver_create(s->M, COLUMNS, &o, &solver));
    const int room = comm->room;
    longest = 0;
    comm->ops = &ops;
    must(s->ctx, kaon_vector_zero(x));
    must(s->ctx, kaon_solver_solve(solver, b, x, report, NULL));
    comm->ops = real_ops;
    kaon_solver_destroy(&solver);
    assert_int_equal(comm->room, room);
    if (longest > most) most = longest;
  }
  printf("  the longest sum had %d numbers, room for %d\n", most, comm->room);
  if (world_size() > 1 && s->ctx->backend->host_accessible)
    assert_in_range(most, 2 * COLUMNS * COLUMNS, comm->room); /* all products of the block's */
  kaon_vector_destroy(&b);
  kaon_vector_destroy(&x);
  partition_close(&pair);
}

/* Without a given grid the ranks are arranged for small faces, and every site belongs to a rank. */
static void a_grid_is_chosen(void **state) {
  (void)state;
  kaon_context *ctx = ranks_open(KAON_ISA_AUTO, NULL);
  const int long_t[4] = {4, 4, 4, 32};
  kaon_lattice *lattice = NULL;
  int part[4], origin[4], grid[4];
  must(ctx, kaon_lattice_create(ctx, long_t, KAON_PERIODIC, &lattice));
  kaon_lattice_part(lattice, part, origin, grid);
  assert_int_equal(grid[3], world_size());
  assert_int_equal(part[3], 32 / world_size());
  assert_int_equal(origin[3], world_rank() * part[3]);
  assert_int_equal(kaon_lattice_volume(lattice), 4 * 4 * 4 * 32);
  kaon_lattice_destroy(&lattice);
  kaon_context_destroy(&ctx);
}

static void a_lattice_that_the_grid_does_not_divide_is_refused(void **state) {
  (void)state;
  const int grid[4] = {1, 1, world_size(), 1}, uneven[4] = {4, 4, 3 * world_size() + 2, 4};
  kaon_lattice *lattice = NULL;
  if (world_size() < 3) skip();
  kaon_context *ctx = ranks_open(KAON_ISA_AUTO, grid);
  must_refuse(ctx, KAON_ERR_ARGUMENT, kaon_lattice_create(ctx, uneven, KAON_PERIODIC, &lattice));
  assert_null(lattice);
  assert_non_null(strstr(kaon_last_error(ctx), "extent Z"));
  kaon_context_destroy(&ctx);
}

/* A field for which one rank lacks memory is created on none; the context remains usable. */
static void memory_that_one_rank_lacks(void **state) {
  (void)state;
  kaon_context_options options = ranks_options(KAON_ISA_AUTO);
  kaon_context *ctx = NULL;
  kaon_lattice *lattice = NULL;
  kaon_gauge *gauge = NULL;
  kaon_vector *v = NULL;
  const int last = world_size() - 1;
  if (world_rank() == last) options.memory_limit = 6 << 20;
  must(NULL, kaon_context_create_ranks(&options, NULL, NULL, &ctx));
  must(ctx, kaon_lattice_create(ctx, extents, KAON_PERIODIC, &lattice));
  must(ctx, kaon_gauge_create(lattice, KAON_SINGLE, KAON_RECONSTRUCT_12, &gauge));
  must_refuse(ctx, KAON_ERR_MEMORY,
              kaon_vector_create(ctx, kaon_lattice_spinors(lattice, KAON_FULL), KAON_DOUBLE,
                                 100 * world_size(), &v));
  assert_null(v);
  char expected[40];
  snprintf(expected, sizeof expected, "rank %d: memory: vector", last);
  if (last > 0) assert_non_null(strstr(kaon_last_error(ctx), expected));
  must(ctx, kaon_vector_create(ctx, kaon_lattice_spinors(lattice, KAON_FULL), KAON_DOUBLE, 1, &v));
  must(ctx, kaon_source_gauss(v, 1));
  kaon_vector_destroy(&v);
  kaon_gauge_destroy(&gauge);
  kaon_lattice_destroy(&lattice);
  kaon_context_destroy(&ctx);
}

/* A call's status, which has to be everybody's. */
static int all_well(kaon_status mine) {
  int number = (int)mine, lowest = 0, highest = 0;
  MPI_Allreduce(&number, &lowest, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  MPI_Allreduce(&number, &highest, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  assert_int_equal(lowest, highest);
  return mine == KAON_OK;
}

typedef struct {
  kaon_lattice *lattice;
  kaon_gauge *gauge, *other;
  kaon_operator *M, *A;
  kaon_vector *v;
} objects;

static int links_of_all_kinds(kaon_context *ctx, objects *o) {
  kaon_heatbath_options heatbath = KAON_HEATBATH_OPTIONS_INIT;
  kaon_observables observables = KAON_OBSERVABLES_INIT;
  return all_well(kaon_lattice_create(ctx, extents, KAON_ANTIPERIODIC, &o->lattice)) &&
         all_well(kaon_gauge_create(o->lattice, KAON_SINGLE, KAON_RECONSTRUCT_12, &o->gauge)) &&
         all_well(kaon_gauge_random(o->gauge, 3)) &&
         all_well(kaon_gauge_create(o->lattice, KAON_HALF, KAON_RECONSTRUCT_8, &o->other)) &&
         all_well(kaon_gauge_copy(o->other, o->gauge)) && all_well(kaon_gauge_project(o->gauge)) &&
         all_well(kaon_gauge_heatbath(o->gauge, &heatbath, 1)) &&
         all_well(kaon_gauge_measure(o->gauge, &observables)) &&
         all_well(kaon_gauge_temporal(o->other, o->gauge)) &&
         all_well(kaon_gauge_temporal(o->gauge, o->gauge));
}

static int operators_and_vectors(kaon_context *ctx, objects *o) {
  const kaon_space *space = kaon_lattice_spinors(o->lattice, KAON_FULL);
  kaon_dirac_options dirac = KAON_DIRAC_OPTIONS_INIT;
  kaon_even_odd_options even_odd = KAON_EVEN_ODD_OPTIONS_INIT;
  double pion[8];
  dirac.csw = 1;
  dirac.kappa = 0.1;
  even_odd.temporal_gauge = 1;
  return all_well(kaon_dirac_create(o->gauge, &dirac, &o->M)) &&
         all_well(kaon_dirac_even_odd(o->M, &even_odd, &o->A)) &&
         all_well(kaon_vector_create(ctx, space, KAON_HALF, 12, &o->v)) &&
         all_well(kaon_source_gauss(o->v, 1)) && all_well(kaon_correlator_pion(o->v, 0, pion));
}

/* Whatever the last rank lacks memory for, no rank waits for another. */
static void nobody_waits_for_a_rank_without_memory(void **state) {
  (void)state;
  const int last = world_size() - 1;
  int tries = 0, well = 0;
  for (double limit = 1 << 18; !well; limit *= 1.07) {
    kaon_context_options options = ranks_options(KAON_ISA_AUTO);
    kaon_context *ctx = NULL;
    objects o = {NULL, NULL, NULL, NULL, NULL, NULL};
    if (world_rank() == last) options.memory_limit = (int64_t)limit;
    well = all_well(kaon_context_create_ranks(&options, NULL, NULL, &ctx)) &&
           links_of_all_kinds(ctx, &o) && operators_and_vectors(ctx, &o);
    kaon_vector_destroy(&o.v);
    kaon_operator_destroy(&o.A);
    kaon_operator_destroy(&o.M);
    kaon_gauge_destroy(&o.other);
    kaon_gauge_destroy(&o.gauge);
    kaon_lattice_destroy(&o.lattice);
    kaon_context_destroy(&ctx);
    tries++;
  }
  printf("  %d limits\n", tries);
  assert_true(tries > 10);
}

/* Clover blocks that are singular on the last rank only: all links are 1 except one there, diag(z,
 * conj z, 1), which is in one leaf of the adjacent sites. So F = +- Im z / 4 there, and A has the
 * eigenvalues 1 +- kappa csw F. */
static void a_block_that_is_singular_on_one_rank(void **state) {
  (void)state;
  const int last = world_size() - 1;
  const int grid[4] = {1, 1, 1, world_size()}, size[4] = {4, 4, 4, 8 * world_size()};
  kaon_context *ctx = ranks_open(KAON_ISA_AUTO, grid);
  kaon_lattice *lattice = NULL;
  kaon_gauge *gauge = NULL;
  kaon_operator *M = NULL, *A = NULL;
  must(ctx, kaon_lattice_create(ctx, size, KAON_PERIODIC, &lattice));
  must(ctx, kaon_gauge_create(lattice, KAON_DOUBLE, KAON_RECONSTRUCT_18, &gauge));
  double *links = malloc(512 * 72 * sizeof *links);
  assert_non_null(links);
  must(ctx, kaon_gauge_export(gauge, KAON_ORDER_NATURAL, KAON_DOUBLE, (void *[]){links}));
  if (world_rank() == last) {
    double *u = links + 64 * 4 * 72; /* x = y = z = 0, t = 4, mu = x */
    u[0] = u[8] = 0.8;               /* z = 0.8 + 0.6 i */
    u[1] = 0.6;
    u[9] = -0.6;
  }
  must(ctx, kaon_gauge_import(gauge, KAON_ORDER_NATURAL, KAON_DOUBLE, (const void *[]){links}));
  kaon_dirac_options options = KAON_DIRAC_OPTIONS_INIT;
  options.csw = 1 / (options.kappa * 0.6 / 4);
  must(ctx, kaon_dirac_create(gauge, &options, &M));
  must_refuse(ctx, KAON_ERR_SINGULAR, kaon_dirac_even_odd(M, NULL, &A));
  assert_null(A);
  char expected[64];
  snprintf(expected, sizeof expected, "rank %d: clover: the block at site", last);
  if (last > 0) assert_non_null(strstr(kaon_last_error(ctx), expected));
  /* and on all ranks the next call is a new one */
  if (world_rank() == last) links[1] = NAN;
  must_refuse(ctx, KAON_ERR_NOT_FINITE,
              kaon_gauge_import(gauge, KAON_ORDER_NATURAL, KAON_DOUBLE, (const void *[]){links}));
  must(ctx, kaon_gauge_random(gauge, 2));
  free(links);
  kaon_operator_destroy(&M);
  kaon_gauge_destroy(&gauge);
  kaon_lattice_destroy(&lattice);
  kaon_context_destroy(&ctx);
}

static const struct CMUnitTest partition[] = {
    cmocka_unit_test(hops_across_every_subset_of_faces),
    cmocka_unit_test(every_way_of_hiding_messages),
    cmocka_unit_test(sums_across_faces),
    cmocka_unit_test(links_across_faces),
    cmocka_unit_test(operators_across_every_subset_of_faces),
    cmocka_unit_test(solvers_on_two_grids),
    cmocka_unit_test(sums_of_a_solve_take_no_memory),
    cmocka_unit_test(a_grid_is_chosen),
    cmocka_unit_test(a_lattice_that_the_grid_does_not_divide_is_refused),
    cmocka_unit_test(memory_that_one_rank_lacks),
    cmocka_unit_test(nobody_waits_for_a_rank_without_memory),
    cmocka_unit_test(a_block_that_is_singular_on_one_rank),
};
RANKS_MAIN(partition)
