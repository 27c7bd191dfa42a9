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

/* ---- pions ---- */

enum { NT = 8 };

/* The propagator's pion from three columns of a wall: 1 in colour k on the sites of slice 0 whose
 * parity `which` takes (1: even, 2: odd ones, 3: both; -: minus). */
static void wall_pion(dirac_case *c, kaon_operator *M, int signs[2], double pion[NT]) {
  const size_t volume = ref_volume(&c->L);
  const kaon_space *space = kaon_lattice_staggered(c->lattice, KAON_FULL);
  kaon_vector *b = NULL, *x = NULL;
  kaon_operator *A = NULL;
  kaon_solver *solver = NULL;
  kaon_solver_options o = KAON_SOLVER_OPTIONS_INIT;
  kaon_column_report report[3];
  ref_complex *chi = ref_new(3 * volume);
  must(c->ctx, kaon_vector_create(c->ctx, space, KAON_DOUBLE, 3, &b));
  must(c->ctx, kaon_vector_create(c->ctx, space, KAON_DOUBLE, 3, &x));
  for (int k = 0; k < 3; k++) {
    for (size_t i = 0; i < volume / NT; i++)
      for (int j = 0; j < 3; j++) chi[3 * i + (size_t)j] = j == k ? signs[ref_parity(&c->L, i)] : 0;
    must(c->ctx, kaon_vector_import(b, k, (const double *)chi, KAON_BASIS_UKQCD));
  }
  must(c->ctx, kaon_staggered_even_odd(M, KAON_EVEN, &A));
  o.method = KAON_CG;
  o.tol = 1e-10;
  must(c->ctx, kaon_solver_create(A, 3, &o, &solver));
  must(c->ctx, kaon_vector_zero(x));
  must(c->ctx, kaon_solver_solve(solver, b, x, report, NULL));
  for (int k = 0; k < 3; k++) assert_int_equal(report[k].reason, KAON_CONVERGED);
  must(c->ctx, kaon_correlator_pion(x, 0, pion));
  printf("  %d steps\n", report[0].iterations);
  kaon_solver_destroy(&solver);
  kaon_operator_destroy(&A);
  kaon_vector_destroy(&b);
  kaon_vector_destroy(&x);
  free(chi);
}

static void pions(void **state) {
  (void)state;
  char thin[1024];
  dirac_case c;
  if (!test_data("milc/milc_lat.sample.l8888", thin)) skip();
  assert_true(case_open(&c, KAON_ISA_AUTO, extents, 1, LINKS_UNIT, 0));
  must(c.ctx, kaon_gauge_read(c.gauge, thin, NULL, NULL));
  free(c.u);
  c.u = case_links(&c, c.gauge);
  printf("%d sweeps\n", ref_coulomb_gauge(&c.L, c.u, 1e-8, 2000));
  case_import_links(&c);
  kaon_gauge *f = NULL, *n = NULL;
  must(c.ctx, kaon_gauge_create(c.lattice, KAON_DOUBLE, KAON_RECONSTRUCT_18, &f));
  must(c.ctx, kaon_gauge_create(c.lattice, KAON_DOUBLE, KAON_RECONSTRUCT_18, &n));
  kaon_fatten_options o = KAON_FATTEN_OPTIONS_INIT;
  o.action = KAON_FATTEN_HISQ;
  must(c.ctx, kaon_fatten(c.gauge, &o, f, n, NULL));
  kaon_staggered_options so = KAON_STAGGERED_OPTIONS_INIT;
  so.mass = 0.05;
  kaon_operator *M = NULL;
  must(c.ctx, kaon_staggered_create(f, n, &so, &M));
  int s[3][2] = {{1, 0}, {1, 1}, {1, -1}};
  for (int k = 0; k < 3; k++) {
    double pion[NT];
    wall_pion(&c, M, s[k], pion);
    for (int t = 0; t < NT; t++) printf("%d %.8e %.8e\n", t, pion[t], pion[t] / 16);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(asqtad_links_are_the_recorded_ones),
      cmocka_unit_test(pions),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
