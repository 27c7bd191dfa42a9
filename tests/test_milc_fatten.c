/* test_milc_fatten.c - MILC's own recorded answers for fattening: fat and long links of its sample
 * lattice (asqtad, u0 = .502), and the pions of its ks_spectrum logs for HISQ and asqtad at mass .05
 * on links that it fixed to Coulomb gauge, from thin links on. Bounds: recorded links are f32, of
 * size 40 at most; the logs' own tolerances (.errtol). */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/util/link_case.h"

static const int extents[4] = {8, 8, 8, 8};

static double largest(const ref_complex *u, size_t count) {
  double most = 0;
  for (size_t i = 0; i < count; i++) most = fmax(most, fmax(fabs(creal(u[i])), fabs(cimag(u[i]))));
  return most;
}

/* The recorded links without MILC's signs. */
static ref_complex *recorded(dirac_case *c, const char *path, int steps) {
  kaon_gauge *g = NULL;
  must(c->ctx, kaon_gauge_create(c->lattice, KAON_DOUBLE, KAON_RECONSTRUCT_18, &g));
  must(c->ctx, kaon_staggered_read_links(g, path, 0));
  must(c->ctx, kaon_staggered_fold(g, steps, KAON_PHASES_MILC));
  ref_complex *u = case_links(c, g);
  kaon_gauge_destroy(&g);
  return u;
}

/* Recorded numbers are rounded to f32, and so are the thin links, whose distance from SU(3), a few
 * roundings, Lepage's paths feel. In single 64 roundings of each path come on top (test_fatten.c):
 * of the root mean square, like independent ones, 8. */
static void asqtad_links_are_the_recorded_ones(void **state) {
  (void)state;
  char thin[1024], fat[1024], naik[1024];
  int seen = 0;
  if (!test_data("milc/milc_lat.sample.l8", thin) || !test_data("milc/milc_fat.l8", fat) ||
      !test_data("milc/milc_long.l8", naik))
    skip();
  for (int machine = KAON_ISA_SCALAR; machine <= MACHINE_LAST; machine++) {
    dirac_case c;
    if (!case_open(&c, machine, extents, 1, LINKS_UNIT, 0)) continue;
    seen = 1;
    must(c.ctx, kaon_gauge_read(c.gauge, thin, NULL, NULL));
    ref_complex *known = recorded(&c, fat, 1), *known_long = recorded(&c, naik, 3);
    const size_t count = ref_links_size(&c.L);
    for (int p = KAON_DOUBLE; p <= KAON_SINGLE; p++) {
      kaon_fatten_options o = KAON_FATTEN_OPTIONS_INIT;
      kaon_fatten_coefficients k;
      kaon_gauge *f = NULL, *n = NULL;
      o.u0 = 0.502;
      must(NULL, kaon_fatten_action_coefficients(&o, 0, &k));
      const double weight = fabs(k.one) + 6 * k.three + 24 * k.five + 48 * k.seven - 6 * k.lepage;
      must(c.ctx, kaon_gauge_create(c.lattice, (kaon_precision)p, KAON_RECONSTRUCT_18, &f));
      must(c.ctx, kaon_gauge_create(c.lattice, (kaon_precision)p, KAON_RECONSTRUCT_18, &n));
      must(c.ctx, kaon_fatten(c.gauge, &o, f, n, NULL));
      ref_complex *u = case_links(&c, f), *l = case_links(&c, n);
      printf("  %s, %s: links up to %.3f and %.3f, sum of coefficients %.1f\n", isa_names[machine],
             precision_names[p], largest(known, count), largest(known_long, count), weight);
      const double half = 0.5 * (double)FLT_EPSILON;
      test_below("fat links, largest difference", ref_max_diff(u, known, count),
                 (largest(known, count) + (p == KAON_DOUBLE ? 0.5 : 64) * weight) * half);
      test_below("fat links, |difference| / |links|", ref_rel_diff(u, known, count),
                 (p == KAON_DOUBLE ? 1 : 8) * half);
      test_below("long links, largest difference", ref_max_diff(l, known_long, count),
                 (p == KAON_DOUBLE ? 2 : 24) * fabs(k.naik) * half);
      free(u);
      free(l);
      kaon_gauge_destroy(&f);
      kaon_gauge_destroy(&n);
    }
    free(known);
    free(known_long);
    case_close(&c);
  }
  if (!seen) skip();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(asqtad_links_are_the_recorded_ones),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
