/* link_case.h - runs a check on every instruction set and on lattices of both site orders.
 * Needs the cmocka preamble included before. */
#ifndef LINK_CASE_H
#define LINK_CASE_H

#include "tests/util/dirac_case.h"
#include "tests/util/test_util.h"

typedef void case_check(dirac_case *c);

/* Calls check(c) with links of `kind` on 4x6x2x10 (plain order), 8x8x8x8 and 4x4x4x8 (split if the
 * lanes allow it), for every instruction set of this processor. */
static inline void for_all_cases(links_kind kind, case_check *check) {
  static const int shapes[][4] = {{4, 6, 2, 10}, {8, 8, 8, 8}, {4, 4, 4, 8}};
  for (int isa = KAON_ISA_SCALAR; isa <= MACHINE_LAST; isa++)
    for (int i = 0; i < 3; i++) {
      dirac_case c;
      if (!case_open(&c, isa, shapes[i], i == 1, kind, 17 + (uint64_t)i)) break;
      printf(" %s, %dx%dx%dx%d\n", isa_names[isa], shapes[i][0], shapes[i][1], shapes[i][2],
             shapes[i][3]);
      check(&c);
      case_close(&c);
    }
}

/* The field's links in a new array of the reference's order. */
static inline ref_complex *case_links(dirac_case *c, const kaon_gauge *gauge) {
  ref_complex *u = ref_new(ref_links_size(&c->L));
  void *arrays[1] = {u};
  must(c->ctx, kaon_gauge_export(gauge, KAON_ORDER_NATURAL, KAON_DOUBLE, arrays));
  return u;
}

/* Unit roundoff of double: half a unit in the last place. */
#define ROUND 1.12e-16

#endif
