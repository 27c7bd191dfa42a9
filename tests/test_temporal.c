/* test_temporal.c - the temporal gauge: t links are exactly 1 below the last slice, the others are
 * transformed as by the reference, and spinors are rotated along in every precision. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <math.h>
#include <cmocka.h>

#include "gauge/temporal.h"
#include "tests/util/link_case.h"

static void check_rotation(dirac_case *c, const kaon_temporal *g, const ref_complex *reference,
                           kaon_precision precision, double bound) {
  ref_complex **psi = case_random_columns(c, 2, 8);
  kaon_vector *v = case_vector(c, KAON_FULL, precision, 2);
  kaon_vector *w = case_vector(c, KAON_FULL, precision, 2);
  case_import(c, v, psi);
  must(c->ctx, kaon_temporal_rotate(g, KAON_FULL, KAON_PLAIN, v, w, NULL));
  must(c->ctx, kaon_temporal_rotate(g, KAON_FULL, KAON_DAGGER, w, v, NULL));
  char text[64];
  snprintf(text, sizeof text, "%s: g^dag g psi = psi", precision_names[precision]);
  test_below(text, case_deviation(c, v, psi), 2 * bound);
  for (int k = 0; k < 2; k++) ref_gauge_transform_spinor(&c->L, reference, psi[k]);
  snprintf(text, sizeof text, "%s: g psi", precision_names[precision]);
  test_below(text, case_deviation(c, w, psi), bound);
  must(c->ctx, kaon_temporal_rotate(g, KAON_FULL, KAON_PLAIN, v, v, NULL)); /* in place */
  snprintf(text, sizeof text, "%s: in place", precision_names[precision]);
  test_below(text, case_deviation(c, v, psi), 3 * bound);
  kaon_vector_destroy(&v);
  kaon_vector_destroy(&w);
  case_free_columns(psi, 2);
}

static void check_temporal(dirac_case *c) {
  kaon_gauge *fixed = NULL;
  kaon_observables before = KAON_OBSERVABLES_INIT, after = KAON_OBSERVABLES_INIT;
  must(c->ctx, kaon_gauge_create(c->lattice, KAON_DOUBLE, KAON_RECONSTRUCT_18, &fixed));
  must(c->ctx, kaon_gauge_measure(c->gauge, &before));
  must(c->ctx, kaon_gauge_temporal(fixed, c->gauge));
  must(c->ctx, kaon_gauge_measure(fixed, &after));
  const size_t v = ref_volume(&c->L);
  ref_complex *g = ref_new(9 * v), *u = case_links(c, fixed);
  ref_temporal_gauge(&c->L, c->u, g);
  for (size_t site = 0; site < v; site++) {
    if (site >= v - v / (size_t)c->L.n[3]) continue;
    for (int i = 0; i < 9; i++) assert_true(u[9 * (4 * site + 3) + (size_t)i] == (i % 4 == 0));
  }
  ref_complex *expected = ref_new(ref_links_size(&c->L));
  memcpy(expected, c->u, ref_links_size(&c->L) * sizeof *expected);
  ref_gauge_transform_links(&c->L, g, expected);
  const double bound = 16.0 * (2 * c->L.n[3] + 2) * ROUND; /* g: T products, 16 roundings each */
  test_below("temporal gauge: links", ref_max_diff(u, expected, ref_links_size(&c->L)), bound);
  test_close("plaquette", after.plaquette, before.plaquette, 4 * bound);
  test_close("Polyakov loop", after.polyakov[0], before.polyakov[0], c->L.n[3] * bound);
  must(c->ctx, kaon_gauge_copy(fixed, c->gauge));
  must(c->ctx, kaon_gauge_temporal(fixed, fixed)); /* in place */
  ref_complex *again = case_links(c, fixed);
  assert_memory_equal(again, u, ref_links_size(&c->L) * sizeof *u);
  kaon_temporal *rotation = NULL;
  must(c->ctx, kaon_temporal_create(c->gauge, &rotation));
  check_rotation(c, rotation, g, KAON_DOUBLE, bound);
  check_rotation(c, rotation, g, KAON_SINGLE, 40 * 6e-8); /* in, g, three products, out */
  /* half: two quantisations of 0.51 / 32767 of the largest component, over a random spinor's rms */
  check_rotation(c, rotation, g, KAON_HALF, 2 * 0.52 / 32767 * 5);
  kaon_temporal_destroy(&rotation);
  free(g), free(u), free(expected), free(again);
  kaon_gauge_destroy(&fixed);
}

static void temporal_gauge_is_exact_and_rotates_spinors(void **state) {
  (void)state;
  for_all_cases(LINKS_RANDOM, check_temporal);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(temporal_gauge_is_exact_and_rotates_spinors),
  };
  return test_main(tests, NULL, NULL);
}
