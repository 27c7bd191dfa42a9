/* test_partition.c - a lattice divided against itself, in each of the 16 subsets of directions:
 * what hops and paths of links meet across a face goes through messages, and has to come out as on
 * the whole lattice. Every operator, precision, link storage, site order and instruction set. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "tests/util/partition.h"

/* What is tried on the CPU's best alone, and on a device. */
static const int machines[] = {MACHINE_CPU, MACHINE_CUDA};
enum { MACHINES = sizeof machines / sizeof *machines };

static int lacks(int machine) {
  const char *only = getenv("KAON_TEST_MACHINE");
  if (machine != MACHINE_CPU) return machine_lacks(machine);
  return only != NULL && strcmp(only, machine_name(MACHINE_CUDA)) == 0;
}

/* check: guard pages and poisoned memory. */
static int open_pair(partition_pair *pair, int isa, const int extents[4], int mask,
                     kaon_boundary boundary, int check) {
  kaon_context_options options = KAON_CONTEXT_OPTIONS_INIT;
  kaon_context *whole = NULL, *part = NULL;
  options.threads = 2;
  if (lacks(isa)) return 0;
  must(NULL, machine_open(isa, options, &whole));
  options.check = check;
  must(NULL, machine_open(isa, options, &part));
  partition_open(pair, whole, part, extents, mask, boundary);
  return 1;
}

/* Split in all, in some and in no directions; extents of 2, whose two faces are one slice apart. */
static const int shapes[][4] = {{8, 8, 4, 8}, {4, 6, 2, 10}, {8, 4, 4, 4}, {2, 4, 6, 8}};

static void hops_across_every_subset_of_faces(void **state) {
  (void)state;
  for (int isa = KAON_ISA_SCALAR; isa <= KAON_ISA_AVX512; isa++)
    for (int mask = 0; mask < 16; mask++) {
      partition_pair pair;
      if (!open_pair(&pair, isa, shapes[mask % 4], mask, KAON_ANTIPERIODIC, 0)) continue;
      partition_check_hops(&pair, 1);
      partition_close(&pair);
    }
}

static void everything_on_every_shape(void **state) {
  (void)state;
  for (int isa = KAON_ISA_SCALAR; isa <= MACHINE_LAST; isa++)
    for (int shape = 0; shape < 4; shape++) {
      partition_pair pair;
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

static void links_across_every_subset_of_faces(void **state) {
  (void)state;
  for (int i = 0; i < 14 * MACHINES; i++) {
    const int mask = i % 14 + 1;
    partition_pair pair;
    if (!open_pair(&pair, machines[i / 14], shapes[mask % 4], mask, KAON_ANTIPERIODIC, 0)) continue;
    partition_check_links(&pair);
    partition_check_operators(&pair, KAON_DOUBLE);
    partition_close(&pair);
  }
}

static void solvers_across_faces(void **state) {
  (void)state;
  for (int i = 0; i < 2 * MACHINES; i++) {
    const int mask = i % 2 ? 15 : 8;
    partition_pair pair;
    if (!open_pair(&pair, machines[i / 2], shapes[0], mask, KAON_ANTIPERIODIC, 0)) continue;
    partition_check_solvers(&pair);
    partition_close(&pair);
  }
}

int main(void) {
  const struct CMUnitTest partition[] = {
      cmocka_unit_test(hops_across_every_subset_of_faces),
      cmocka_unit_test(everything_on_every_shape),
      cmocka_unit_test(links_across_every_subset_of_faces),
      cmocka_unit_test(solvers_across_faces),
  };
  return cmocka_run_group_tests_name("partition", partition, NULL, NULL);
}
