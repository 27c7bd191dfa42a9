/* test_partition.c - a lattice divided against itself, in each of the 16 subsets of directions.
 * Hops and paths of links that cross a face use messages and must give the result of the undivided
 * lattice. Every operator, precision, link storage, site order and instruction set. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>

#include "gauge/exact_sum.h"
#include "tests/util/partition.h"

/* What is tried on the CPU's best alone, and on a device. */
static const int machines[] = {MACHINE_CPU, MACHINE_CUDA};
enum { MACHINES = sizeof machines / sizeof *machines };

/* Transports and ways of hiding messages. A CPU has no choice of transport and no fused hops. */
typedef struct {
  kaon_transport transport;
  kaon_overlap overlap;
  int on_cpu;
} way;
static const way ways[] = {
    {KAON_TRANSPORT_AUTO, KAON_OVERLAP_AUTO, 1},   {KAON_TRANSPORT_PEER, KAON_OVERLAP_FUSED, 0},
    {KAON_TRANSPORT_PEER, KAON_OVERLAP_STAGED, 0}, {KAON_TRANSPORT_PEER, KAON_OVERLAP_NONE, 0},
    {KAON_TRANSPORT_HOST, KAON_OVERLAP_STAGED, 0}, {KAON_TRANSPORT_HOST, KAON_OVERLAP_NONE, 0},
    {KAON_TRANSPORT_AUTO, KAON_OVERLAP_NONE, 1}};
enum { WAYS = sizeof ways / sizeof *ways };

/* check: guard pages and poisoned memory. */
static int open_pair_way(partition_pair *pair, int isa, const int extents[4], int mask,
                         kaon_boundary boundary, int check, const way *how) {
  kaon_context_options options = KAON_CONTEXT_OPTIONS_INIT;
  kaon_context *whole = NULL, *part = NULL;
  /* waking a team takes most of the time of such small lattices: half of the subsets have one */
  options.threads = __builtin_popcount((unsigned)mask) % 2 ? 1 : 2;
  if (machine_lacks(isa) || (isa != MACHINE_CUDA && !how->on_cpu)) return 0;
  must(NULL, machine_open(isa, options, &whole));
  options.check = check;
  options.transport = how->transport;
  options.overlap = how->overlap;
  must(NULL, machine_open(isa, options, &part));
  partition_open(pair, whole, part, extents, mask, boundary);
  return 1;
}

static int open_pair(partition_pair *pair, int isa, const int extents[4], int mask,
                     kaon_boundary boundary, int check) {
  return open_pair_way(pair, isa, extents, mask, boundary, check, &ways[0]);
}

/* Split in all, in some and in no directions; extents of 2, whose two faces are one slice apart. */
static const int shapes[][4] = {{8, 8, 4, 8}, {4, 6, 2, 10}, {8, 4, 4, 4}, {2, 4, 6, 8}};

/* Under sanitizers half of the subsets: each shape with subsets of each kind. */
static int left_out(int mask, int turn) {
  return TEST_SLOWED && (mask + mask / 4 + turn) % 2;
}

static void hops_across_every_subset_of_faces(void **state) {
  (void)state;
  for (int isa = KAON_ISA_SCALAR; isa <= MACHINE_LAST; isa++)
    for (int mask = 0; mask < 16; mask++) {
      partition_pair pair;
      if (left_out(mask, isa)) continue;
      if (!open_pair(&pair, isa, shapes[mask % 4], mask, KAON_ANTIPERIODIC, 0)) continue;
      partition_check_hops(&pair, 1);
      partition_check_couplings(&pair, mask + isa);
      partition_close(&pair);
    }
}

/* Every subset of directions, with the shapes in turn; on a device both numbers of threads. */
static void every_way_of_messages(void **state) {
  (void)state;
  static const int larger[4] = {16, 16, 16, 16};
  for (int i = 1; i < WAYS * MACHINES; i++)
    for (int mask = 1; mask < 16; mask++) {
      const way *how = &ways[i % WAYS];
      const int *shape = mask == 12 && !TEST_SLOWED ? larger : shapes[(mask + i) % 4];
      partition_pair pair;
      if (left_out(mask, i)) continue;
      if (!open_pair_way(&pair, machines[i / WAYS], shape, mask, KAON_ANTIPERIODIC, 0, how))
        continue;
      printf("  transport %d, overlap %d\n", (int)how->transport, (int)how->overlap);
      partition_check_hops(&pair, mask % 2 ? 0.71 : 1);
      partition_check_couplings(&pair, mask + i);
      partition_check_sums(&pair, (kaon_precision)(mask % 3));
      partition_close(&pair);
    }
}

static void fused_hops_need_a_device(void **state) {
  (void)state;
  const way fused = {KAON_TRANSPORT_AUTO, KAON_OVERLAP_FUSED, 1};
  partition_pair pair;
  if (!open_pair_way(&pair, MACHINE_CPU, shapes[0], 8, KAON_PERIODIC, 0, &fused)) return;
  kaon_dirac_options options = KAON_DIRAC_OPTIONS_INIT;
  kaon_vector *x = NULL, *y = NULL;
  const kaon_space *space = kaon_lattice_spinors(pair.part.lattice, KAON_FULL);
  partition_dirac(&pair, &options);
  must(pair.part.ctx, kaon_vector_create(pair.part.ctx, space, KAON_DOUBLE, 1, &x));
  must(pair.part.ctx, kaon_vector_create(pair.part.ctx, space, KAON_DOUBLE, 1, &y));
  must(pair.part.ctx, kaon_source_gauss(x, 1));
  must_refuse(pair.part.ctx, KAON_ERR_UNSUPPORTED,
              kaon_operator_apply(pair.part.M, KAON_PLAIN, x, y));
  kaon_vector_destroy(&x);
  kaon_vector_destroy(&y);
  partition_close(&pair);
}

static void everything_on_every_shape(void **state) {
  (void)state;
  for (int isa = KAON_ISA_SCALAR; isa <= MACHINE_LAST; isa++)
    for (int shape = 0; shape < 4; shape++) {
      partition_pair pair;
      if (TEST_SLOWED && (isa + shape) % 2) continue;
      if (!open_pair(&pair, isa, shapes[shape], 15, shape % 2 ? KAON_PERIODIC : KAON_ANTIPERIODIC,
                     1))
        continue;
      partition_check_hops(&pair, 0.71);
      partition_check_operators(&pair, (kaon_precision)(shape % 3));
      partition_check_links(&pair);
      partition_check_measurements(&pair);
      partition_close(&pair);
    }
}

static void links_and_operators_across_every_subset(void **state) {
  (void)state;
  for (int i = 0; i < 14 * MACHINES; i++) {
    const int mask = i % 14 + 1;
    partition_pair pair;
    if (!open_pair(&pair, machines[i / 14], shapes[mask % 4], mask, KAON_ANTIPERIODIC, 0)) continue;
    if (!left_out(mask, 0)) partition_check_links(&pair);
    for (int p = 0; p < 3; p++)
      if (!TEST_SLOWED || p == mask % 3) partition_check_operators(&pair, (kaon_precision)p);
    partition_close(&pair);
  }
}

/* Sums forward, backward and in two halves, beside the largest that the numbers of the other sites
 * can sum to. The parts add up to the number except for the last step. */
static void sums_do_not_depend_on_the_order(void **state) {
  (void)state;
  enum { N = 1 << 14 };
  double *value = calloc(N, sizeof *value);
  assert_non_null(value);
  srand(1);
  for (int i = 0; i < N; i++) value[i] = 32.0 * rand() / RAND_MAX - 16;
  value[0] = 16;
  value[1] = -16;
  for (int w = 14; w <= 40; w++) {
    const kaon_exact_scale scale = kaon_exact_scale_of((int64_t)1 << w);
    const int s = 49 - w, f = 54 + s - w;
    const double others = ldexp(1, w) - N, most[2] = {16 * others, ldexp(others, -s - 1)};
    double sum[3][2] = {{most[0], most[1]}, {most[0], most[1]}, {0, 0}}, half[2] = {0, 0};
    for (int i = 0; i < N; i++) {
      double parts[2];
      KAON_EXACT_SPLIT(scale, value[i], parts);
      assert_true(fabs(value[i] - parts[0] - parts[1]) <= ldexp(1, -f - 1));
      for (int p = 0; p < 2; p++) {
        sum[0][p] += parts[p];
        *(i < N / 2 ? &sum[2][p] : &half[p]) += parts[p];
      }
      KAON_EXACT_SPLIT(scale, value[N - 1 - i], parts);
      for (int p = 0; p < 2; p++) sum[1][p] += parts[p];
    }
    for (int p = 0; p < 2; p++) {
      sum[2][p] = half[p] + sum[2][p] + most[p];
      assert_true(sum[0][p] == sum[1][p] && sum[0][p] == sum[2][p]);
    }
  }
  free(value);
}

static void solvers_across_faces(void **state) {
  (void)state;
  for (int i = 0; i < 2 * MACHINES; i++) {
    const int mask = i % 2 ? 15 : 8;
    partition_pair pair;
    if (TEST_SLOWED && mask == 8) continue;
    if (!open_pair(&pair, machines[i / 2], shapes[0], mask, KAON_ANTIPERIODIC, 0)) continue;
    partition_check_solvers(&pair);
    partition_close(&pair);
  }
}

int main(void) {
  const struct CMUnitTest partition[] = {
      cmocka_unit_test(hops_across_every_subset_of_faces),
      cmocka_unit_test(every_way_of_messages),
      cmocka_unit_test(fused_hops_need_a_device),
      cmocka_unit_test(everything_on_every_shape),
      cmocka_unit_test(links_and_operators_across_every_subset),
      cmocka_unit_test(sums_do_not_depend_on_the_order),
      cmocka_unit_test(solvers_across_faces),
  };
  return test_main(partition, NULL, NULL);
}
