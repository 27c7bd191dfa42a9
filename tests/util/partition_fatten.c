/* partition_fatten.c - fat and long links, whose paths go up to three sites far (partition.h). */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "tests/util/partition.h"

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
    must(sides[i]->ctx, kaon_fatten(sides[i]->gauge, &options, fat[i], naik[i], &reports[i]));
  }
  partition_compare_links(pair, "fat links", fat[0], fat[1]);
  partition_compare_links(pair, "long links", naik[0], naik[1]);
  assert_true(reports[0].smallest_det == reports[1].smallest_det);
  assert_int_equal(reports[0].svd_links, reports[1].svd_links);
  assert_memory_equal(reports[0].site, reports[1].site, sizeof reports[0].site);
  for (int i = 0; i < 2; i++) kaon_gauge_destroy(&fat[i]), kaon_gauge_destroy(&naik[i]);
}
