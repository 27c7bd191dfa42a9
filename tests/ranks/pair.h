/* pair.h - the same lattice twice, undivided on every rank and divided among the ranks, with weak
 * links: for tests that compare solves. */
#ifndef TESTS_RANKS_PAIR_H
#define TESTS_RANKS_PAIR_H

#include "ranks.h"
#include "tests/util/partition.h"

/* On 1, 2, 4 or 8 ranks; antiperiodic in t. */
static inline partition_pair ranks_pair(const int extents[4], double epsilon, uint64_t seed) {
  static const int grids[4][4] = {{1, 1, 1, 1}, {1, 1, 1, 2}, {2, 1, 1, 2}, {2, 1, 2, 2}};
  const kaon_context_options options = ranks_options(KAON_ISA_AUTO);
  partition_pair pair;
  kaon_context *whole = NULL;
  const int size = world_size(), row = size == 8 ? 3 : size / 2;
  must(NULL, kaon_context_create(&options, &whole));
  kaon_context *part = ranks_open(KAON_ISA_AUTO, grids[row]);
  partition_open(&pair, whole, part, extents, 0, KAON_ANTIPERIODIC);
  must(whole, kaon_gauge_weak(pair.whole.gauge, epsilon, seed));
  must(part, kaon_gauge_weak(pair.part.gauge, epsilon, seed));
  return pair;
}

#endif
