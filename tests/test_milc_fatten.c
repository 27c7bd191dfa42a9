/* test_milc_fatten.c - MILC's recorded answers for fattening: fat and long links of its sample
 * lattice (asqtad, u0 = .502), and pions from its ks_spectrum logs for HISQ and asqtad at mass
 * .05, starting from thin links in Coulomb gauge.
 *
 * Bounds: recorded links are f32 and at most of size 10; pions have the tolerances of the logs
 * (.errtol). */
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
  for (size_t i = 0; i < count; i++)
    most = larger(most, fmax(fabs(creal(u[i])), fabs(cimag(u[i]))));
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

/* Recorded numbers are rounded to f32. So are the thin links, and Lepage's paths are sensitive to
 * their distance from SU(3), a few roundings. In single 64 roundings of each path are added
 * (test_fatten.c); independent ones make 8 of the root mean square. */
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

/* The NT numbers after the line that names a correlator, the second of each line. 0: absent. */
static int read_correlator(const char *name, const char *key, double c[NT]) {
  char path[1024], line[512], wanted[128];
  int found = 0, count = 0;
  if (!test_data(name, path)) return 0;
  FILE *file = fopen(path, "r");
  snprintf(wanted, sizeof wanted, "%s_d_d_m0.05_m0.05_p000", key);
  while (count < NT && fgets(line, sizeof line, file)) {
    if (strncmp(line, "correlator_key:", 15) == 0) found = strstr(line, wanted) != NULL;
    if (found && sscanf(line, "%*f %lf %*f", &c[count]) == 1) count++;
  }
  fclose(file);
  return count == NT;
}

/* The Goldstone pion of a wall: signs[parity] in colour k on slice 0. */
static void wall_pion(dirac_case *c, kaon_operator *M, const int signs[2], double pion[NT]) {
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
  o.tol = 1e-9;
  must(c->ctx, kaon_solver_create(A, 3, &o, &solver));
  must(c->ctx, kaon_vector_zero(x));
  must(c->ctx, kaon_solver_solve(solver, b, x, report, NULL));
  for (int k = 0; k < 3; k++) assert_int_equal(report[k].reason, KAON_CONVERGED);
  must(c->ctx, kaon_correlator_pion(x, 0, pion));
  kaon_solver_destroy(&solver);
  kaon_operator_destroy(&A);
  kaon_vector_destroy(&b);
  kaon_vector_destroy(&x);
  free(chi);
}

/* The links of MILC's logs: Coulomb gauge as far as it went. 0: no data. */
static int open_fixed(dirac_case *c) {
  char thin[1024];
  double last = 0;
  if (!test_data("milc/milc_lat.sample.l8888", thin)) return 0;
  if (!case_open(c, KAON_ISA_AUTO, extents, 1, LINKS_UNIT, 0)) return 0;
  must(c->ctx, kaon_gauge_read(c->gauge, thin, NULL, NULL));
  must(c->ctx, kaon_gauge_project(c->gauge)); /* f32 */
  free(c->u);
  c->u = case_links(c, c->gauge);
  assert_int_equal(ref_milc_coulomb(&c->L, c->u, 1.8, 2e-6, &last), 85);
  test_close("functional after 85 steps", last, 8.77263803e-01, 1e-9);
  case_import_links(c);
  return 1;
}

static void check_pions(dirac_case *c, kaon_fatten_action action) {
  static const struct {
    const char *key;
    int signs[2];
  } walls[] = {{"PION_PS_E_E", {1, 0}}, {"PION_PS_a_q_q", {1, 1}}, {"PION_PS_b_o_o", {1, -1}}};
  const char *name = action == KAON_FATTEN_HISQ ? "hisq" : "asqtad";
  kaon_fatten_options o = KAON_FATTEN_OPTIONS_INIT;
  kaon_staggered_options d = KAON_STAGGERED_OPTIONS_INIT;
  kaon_gauge *f = NULL, *n = NULL;
  kaon_operator *M = NULL;
  o.action = action;
  o.u0 = 0.8696; /* asqtad's */
  d.mass = 0.05;
  must(c->ctx, kaon_gauge_create(c->lattice, KAON_DOUBLE, KAON_RECONSTRUCT_18, &f));
  must(c->ctx, kaon_gauge_create(c->lattice, KAON_DOUBLE, KAON_RECONSTRUCT_18, &n));
  must(c->ctx, kaon_fatten(c->gauge, &o, f, n, NULL));
  must(c->ctx, kaon_staggered_create(f, n, &d, &M));
  for (int w = 0; w < 3; w++) {
    char file[2][128], what[128];
    double pion[NT], known[NT], tolerance[NT];
    snprintf(file[0], sizeof file[0], "milc/ks_spectrum_%s.nl.2.corrfile_t0.sample-out", name);
    snprintf(file[1], sizeof file[1], "milc/ks_spectrum_%s.nl.2.corrfile_t0.errtol", name);
    assert_true(read_correlator(file[0], walls[w].key, known));
    assert_true(read_correlator(file[1], walls[w].key, tolerance));
    wall_pion(c, M, walls[w].signs, pion);
    for (int t = 0; t < NT; t++) {
      snprintf(what, sizeof what, "%s, %s, t = %d", name, walls[w].key, t);
      test_close(what, pion[t] / 16, known[t], tolerance[t]); /* MILC's factor */
    }
  }
  kaon_operator_destroy(&M);
  kaon_gauge_destroy(&f);
  kaon_gauge_destroy(&n);
}

static void pions_are_the_recorded_ones(void **state) {
  (void)state;
  dirac_case c;
  if (!open_fixed(&c)) skip();
  check_pions(&c, KAON_FATTEN_HISQ);
  check_pions(&c, KAON_FATTEN_ASQTAD);
  case_close(&c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(asqtad_links_are_the_recorded_ones),
      cmocka_unit_test(pions_are_the_recorded_ones),
  };
  return test_main(tests, NULL, NULL);
}
