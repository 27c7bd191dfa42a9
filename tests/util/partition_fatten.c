/* partition_fatten.c - fat and long links, whose paths reach up to three sites. Contract:
 * partition.h. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

#include "tests/util/partition.h"

/* On a divided lattice the arithmetic is double's, for a field in single as well: the largest
 * difference from double is a rounding of components up to 2. */
static void check_single(partition_pair *pair, const kaon_gauge *fat) {
  kaon_context *ctx = pair->part.ctx;
  kaon_gauge *single = NULL;
  kaon_fatten_options options = KAON_FATTEN_OPTIONS_INIT;
  const size_t reals = 72 * (size_t)kaon_lattice_volume(pair->part.lattice);
  double *a = malloc(reals * sizeof *a), *b = malloc(reals * sizeof *b), worst = 0;
  options.action = KAON_FATTEN_HISQ;
  must(ctx, kaon_gauge_create(pair->part.lattice, KAON_SINGLE, KAON_RECONSTRUCT_18, &single));
  must(ctx, kaon_fatten(pair->part.gauge, &options, single, NULL, NULL));
  must(ctx, kaon_gauge_export(single, KAON_ORDER_NATURAL, KAON_DOUBLE, (void *[]){a}));
  must(ctx, kaon_gauge_export(fat, KAON_ORDER_NATURAL, KAON_DOUBLE, (void *[]){b}));
  for (size_t i = 0; i < reals && i < 72 * (size_t)pair->part.lattice->volume; i++)
    worst = larger(worst, fabs(a[i] - b[i]));
  if (kaon_lattice_partitioned(pair->part.lattice))
    test_below("fat links in single", worst, 0x1p-24);
  free(a);
  free(b);
  kaon_gauge_destroy(&single);
}

void partition_check_fatten(partition_pair *pair) {
  partition_side *sides[2] = {&pair->whole, &pair->part};
  kaon_gauge *fat[2] = {NULL}, *naik[2] = {NULL};
  kaon_fatten_report reports[2];
  kaon_fatten_options options = KAON_FATTEN_OPTIONS_INIT;
  options.action = KAON_FATTEN_HISQ;
  for (int i = 0; i < 2; i++) {
    kaon_lattice *lattice = sides[i]->lattice;
    must(sides[i]->ctx, kaon_gauge_create(lattice, KAON_DOUBLE, KAON_RECONSTRUCT_18, &fat[i]));
    must(sides[i]->ctx, kaon_gauge_create(lattice, KAON_DOUBLE, KAON_RECONSTRUCT_18, &naik[i]));
    reports[i] = (kaon_fatten_report)KAON_FATTEN_REPORT_INIT;
    must(sides[i]->ctx, kaon_fatten(sides[i]->gauge, &options, fat[i], naik[i], &reports[i]));
  }
  partition_compare_links(pair, "fat links", fat[0], fat[1]);
  partition_compare_links(pair, "long links", naik[0], naik[1]);
  assert_true(reports[0].smallest_det == reports[1].smallest_det);
  assert_int_equal(reports[0].svd_links, reports[1].svd_links);
  assert_memory_equal(reports[0].site, reports[1].site, sizeof reports[0].site);
  check_single(pair, fat[1]);
  for (int i = 0; i < 2; i++) kaon_gauge_destroy(&fat[i]), kaon_gauge_destroy(&naik[i]);
}
