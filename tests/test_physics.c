/* test_physics.c - identities of lattice QCD that hold for any implementation: gamma_5
 * hermiticity, gauge covariance of operator and propagator, free plane waves, the free quark
 * propagator, and the clover term of a constant field. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/util/dirac_case.h"
#include "tests/util/test_util.h"

static const int plain_extents[4] = {4, 6, 2, 10}, small_extents[4] = {8, 4, 4, 8},
                 cube_extents[4] = {8, 8, 8, 8};
static const double kappa = 0.124, csw = 0.7;

/* Largest error of M x over |x| in double, for any x, both sides of an identity rounded once. */
static double matrix_bound(void) {
  const rounding r = case_rounding(KAON_DOUBLE, KAON_RECONSTRUCT_18);
  const double a = 1 + 6 * kappa * csw;
  return 2 * (kappa * r.e_hop + a * r.e_clover + 2 * (a + 8 * kappa) * r.e_store);
}

static kaon_vector *vector_of(dirac_case *c, ref_complex *psi) {
  kaon_vector *v = case_vector(c, KAON_FULL, KAON_DOUBLE, 1);
  case_import(c, v, &psi);
  return v;
}

/* A psi as a new host array. */
static ref_complex *applied(dirac_case *c, kaon_operator *A, kaon_mode mode, ref_complex *psi) {
  kaon_vector *x = vector_of(c, psi), *y = case_vector(c, KAON_FULL, KAON_DOUBLE, 1);
  must(c->ctx, kaon_operator_apply(A, mode, x, y));
  ref_complex *out = case_export(c, y, 0);
  kaon_vector_destroy(&x);
  kaon_vector_destroy(&y);
  return out;
}

static double error_over(dirac_case *c, const ref_complex *a, const ref_complex *b,
                         const ref_complex *x) {
  const size_t n = ref_spinor_size(&c->L);
  return ref_rel_diff(a, b, n) * sqrt(ref_norm2(b, n) / ref_norm2(x, n));
}

static void test_gamma5_hermiticity(void **state) {
  (void)state;
  static const int *const shapes[3] = {plain_extents, small_extents, cube_extents};
  ref_complex g5[16];
  ref_gamma(REF_UKQCD, 4, g5);
  for (int i = 0; i < 3; i++) {
    dirac_case c;
    assert_true(case_open(&c, KAON_ISA_AUTO, shapes[i], i != 1, LINKS_RANDOM, 21));
    kaon_operator *M = case_dirac(&c, kappa, csw, 0.9, KAON_DOUBLE, KAON_RECONSTRUCT_18);
    ref_complex **x = case_random_columns(&c, 1, 1);
    ref_complex *dagger = applied(&c, M, KAON_DAGGER, x[0]);
    ref_complex *turned = ref_new(ref_spinor_size(&c.L));
    ref_spin_multiply(&c.L, g5, x[0], turned);
    ref_complex *plain = applied(&c, M, KAON_PLAIN, turned);
    ref_spin_multiply(&c.L, g5, plain, plain);
    test_below("M^dag - gamma_5 M gamma_5", error_over(&c, dagger, plain, x[0]), matrix_bound());
    free(dagger);
    free(turned);
    free(plain);
    case_free_columns(x, 1);
    kaon_operator_destroy(&M);
    case_close(&c);
  }
}

/* |M - 1| <= 8 kappa + 6 kappa csw, so a residual of tol moves the solution by at most
 * cond tol, cond = (1 + |M - 1|) / (1 - |M - 1|); the normal equations cost another cond. */
static double condition(double k, double cs) {
  const double off = 8 * k + 6 * k * cs;
  return (1 + off) / (1 - off);
}

static ref_complex *solved(dirac_case *c, kaon_operator *M, ref_complex *b, double tol) {
  kaon_vector *source = vector_of(c, b), *x = case_vector(c, KAON_FULL, KAON_DOUBLE, 1);
  case_solve(c, M, source, x, tol);
  ref_complex *out = case_export(c, x, 0);
  kaon_vector_destroy(&source);
  kaon_vector_destroy(&x);
  return out;
}

/* M[U^g] g x = g M[U] x, and the same of M^-1. */
static void test_gauge_covariance_of_operator_and_propagator(void **state) {
  (void)state;
  const double k = 0.09, cs = 0.3, tol = 1e-12, cond = condition(k, cs);
  static const int *const shapes[2] = {plain_extents, small_extents};
  for (int i = 0; i < 2; i++) {
    dirac_case c;
    assert_true(case_open(&c, KAON_ISA_AUTO, shapes[i], 1, LINKS_RANDOM, 22));
    kaon_operator *M = case_dirac(&c, k, cs, 1, KAON_DOUBLE, KAON_RECONSTRUCT_12);
    const int origin[4] = {1, 0, 1, 3};
    ref_complex **x = case_random_columns(&c, 1, 2), *g = ref_new(9 * ref_volume(&c.L));
    ref_complex *b = ref_new(ref_spinor_size(&c.L));
    ref_random_matrices(g, ref_volume(&c.L), 23);
    ref_point_source(&c.L, b, origin, 1, 2);
    ref_complex *y = applied(&c, M, KAON_PLAIN, x[0]), *s = solved(&c, M, b, tol);
    ref_gauge_transform_spinor(&c.L, g, y);
    ref_gauge_transform_spinor(&c.L, g, s);

    ref_gauge_transform_links(&c.L, g, c.u);
    case_import_links(&c);
    must(c.ctx, kaon_dirac_update(M));
    ref_gauge_transform_spinor(&c.L, g, x[0]);
    ref_gauge_transform_spinor(&c.L, g, b);
    ref_complex *yg = applied(&c, M, KAON_PLAIN, x[0]), *sg = solved(&c, M, b, tol);
    test_below("operator", error_over(&c, yg, y, x[0]), 2 * matrix_bound());
    test_below("propagator", ref_rel_diff(sg, s, ref_spinor_size(&c.L)), 2 * cond * cond * tol);
    ref_complex *all[] = {g, b, y, s, yg, sg};
    for (size_t j = 0; j < sizeof all / sizeof *all; j++) free(all[j]);
    case_free_columns(x, 1);
    kaon_operator_destroy(&M);
    case_close(&c);
  }
}

/* psi(x) = exp(i p x) chi. */
static ref_complex *plane_wave(const dirac_case *c, const double p[4], const ref_complex chi[12]) {
  ref_complex *psi = ref_new(ref_spinor_size(&c->L));
  for (size_t site = 0; site < ref_volume(&c->L); site++) {
    int x[4];
    double angle = 0;
    ref_coords(&c->L, site, x);
    for (int mu = 0; mu < 4; mu++) angle += p[mu] * x[mu];
    for (int i = 0; i < 12; i++) psi[12 * site + (size_t)i] = cexp(I * angle) * chi[i];
  }
  return psi;
}

static void test_free_plane_waves_have_the_analytic_symbol(void **state) {
  (void)state;
  static const int momenta[4][4] = {{0, 0, 0, 0}, {1, 0, 0, 0}, {1, 2, 1, 3}, {3, 1, 0, 7}};
  const double xi = 0.8;
  for (int boundary = 0; boundary < 2; boundary++) {
    dirac_case c;
    assert_true(case_open(&c, KAON_ISA_AUTO, boundary ? plain_extents : small_extents, boundary,
                          LINKS_UNIT, 0));
    kaon_operator *M = case_dirac(&c, kappa, csw, xi, KAON_DOUBLE, KAON_RECONSTRUCT_8);
    for (int i = 0; i < 4; i++) {
      double p[4];
      ref_complex symbol[16], chi[12], turned[12] = {0};
      ref_momentum(&c.L, boundary, momenta[i], p);
      ref_free_symbol(kappa, xi, p, symbol);
      for (int j = 0; j < 12; j++) chi[j] = 1 + j - I * j * j / 20.0;
      for (int row = 0; row < 12; row++)
        for (int s = 0; s < 4; s++) turned[row] += symbol[4 * (row / 3) + s] * chi[3 * s + row % 3];
      ref_complex *in = plane_wave(&c, p, chi), *expected = plane_wave(&c, p, turned);
      ref_complex *out = applied(&c, M, KAON_PLAIN, in);
      /* exp(i p x) at neighbours: angles up to 2 pi 10 round to 10 eps more */
      const rounding r = case_rounding(KAON_DOUBLE, KAON_RECONSTRUCT_8);
      test_below(boundary ? "plane wave, antiperiodic" : "plane wave, periodic",
                 error_over(&c, out, expected, in),
                 matrix_bound() + kappa * r.e_hop + 64 * 8 * kappa * DBL_EPSILON);
      free(in);
      free(expected);
      free(out);
    }
    kaon_operator_destroy(&M);
    case_close(&c);
  }
}

static void test_free_propagator_is_the_analytic_one(void **state) {
  (void)state;
  const double k = 0.11, tol = 1e-13, cond = condition(k, 0);
  static const int source[4] = {1, 2, 1, 3};
  for (int boundary = 0; boundary < 2; boundary++) {
    dirac_case c;
    assert_true(case_open(&c, KAON_ISA_AUTO, boundary ? plain_extents : small_extents, boundary,
                          LINKS_UNIT, 0));
    kaon_operator *M = case_dirac(&c, k, 0, 1, KAON_DOUBLE, KAON_RECONSTRUCT_18);
    double worst = 0, size = 0;
    for (int spin = 0; spin < 4; spin++) {
      ref_complex *b = ref_new(ref_spinor_size(&c.L));
      ref_point_source(&c.L, b, source, spin, 1);
      ref_complex *s = solved(&c, M, b, tol);
      size = larger(size, sqrt(ref_norm2(s, ref_spinor_size(&c.L))));
      for (size_t site = 0; site < ref_volume(&c.L); site += 7) {
        int x[4];
        ref_complex analytic[16];
        ref_coords(&c.L, site, x);
        ref_free_propagator(&c.L, k, 1, boundary, x, source, analytic);
        for (int row = 0; row < 4; row++)
          for (int colour = 0; colour < 3; colour++)
            worst = larger(worst, cabs(s[12 * site + (size_t)(3 * row + colour)] -
                                       (colour == 1 ? analytic[4 * row + spin] : 0)));
      }
      free(b);
      free(s);
    }
    test_below(boundary ? "free propagator, antiperiodic" : "free propagator, periodic",
               worst / size, cond * cond * tol);
    kaon_operator_destroy(&M);
    case_close(&c);
  }
}

/* Constant abelian field: F_xy = sin(q_c w), F_zt likewise, on every site, so A = 1 - kappa csw
 * (sigma_xy F_xy + sigma_zt F_zt) is known in closed form. */
static void test_clover_term_of_a_constant_field(void **state) {
  (void)state;
  static const int q[3] = {2, -1, -1};
  dirac_case c;
  assert_true(case_open(&c, KAON_ISA_AUTO, small_extents, 0, LINKS_UNIT, 0));
  ref_flux_links(&c.L, c.u, 1, 1, q);
  case_import_links(&c);
  const double pi = 3.14159265358979323846;
  const double w_xy = 2 * pi / (8 * 4), w_zt = 2 * pi / (4 * 8);
  kaon_operator *clover = case_dirac(&c, kappa, csw, 1, KAON_DOUBLE, KAON_RECONSTRUCT_18);
  kaon_operator *wilson = case_dirac(&c, kappa, 0, 1, KAON_DOUBLE, KAON_RECONSTRUCT_18);
  ref_complex **x = case_random_columns(&c, 1, 3), xy[16], zt[16];
  ref_complex *with = applied(&c, clover, KAON_PLAIN, x[0]);
  ref_complex *expected = applied(&c, wilson, KAON_PLAIN, x[0]);
  ref_sigma(REF_UKQCD, 0, 1, xy);
  ref_sigma(REF_UKQCD, 2, 3, zt);
  for (size_t site = 0; site < ref_volume(&c.L); site++)
    for (size_t row = 0; row < 12; row++)
      for (size_t s = 0; s < 4; s++) {
        const int charge = q[row % 3];
        const ref_complex element =
            xy[4 * (row / 3) + s] * sin(charge * w_xy) + zt[4 * (row / 3) + s] * sin(charge * w_zt);
        expected[12 * site + row] -= kappa * csw * element * x[0][12 * site + 3 * s + row % 3];
      }
  test_below("clover term of a constant field", error_over(&c, with, expected, x[0]),
             2 * matrix_bound());
  free(with);
  free(expected);
  case_free_columns(x, 1);
  kaon_operator_destroy(&clover);
  kaon_operator_destroy(&wilson);
  case_close(&c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_gamma5_hermiticity),
      cmocka_unit_test(test_gauge_covariance_of_operator_and_propagator),
      cmocka_unit_test(test_free_plane_waves_have_the_analytic_symbol),
      cmocka_unit_test(test_free_propagator_is_the_analytic_one),
      cmocka_unit_test(test_clover_term_of_a_constant_field),
  };
  return test_main(tests, NULL, NULL);
}
