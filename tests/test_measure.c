/* test_measure.c - sources contain what they promise, and correlators agree with the reference and
 * the free field. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <math.h>
#include <cmocka.h>

#include <kaon/measure.h>

#include "tests/util/link_case.h"

enum { COLUMNS = 14 };

/* Relative rounding of a stored component of modulus 1: exact 1, else half a unit. */
static const double store_eps[] = {ROUND, 6e-8, 0.51 / 32767};

static void expect_indicator(dirac_case *c, const kaon_vector *v, const int site[4], int wall) {
  for (int k = 0; k < COLUMNS; k++) {
    ref_complex *psi = case_export(c, v, k);
    for (size_t x = 0; x < ref_volume(&c->L); x++) {
      int at[4];
      ref_coords(&c->L, x, at);
      const int inside = wall ? at[3] == site[3] : x == ref_site(&c->L, site);
      for (int i = 0; i < 12; i++) assert_true(psi[12 * x + (size_t)i] == (inside && i == k % 12));
    }
    free(psi);
  }
}

static void check_point_and_wall(dirac_case *c) {
  const int site[4] = {3, 1, 1, 5};
  for (int p = KAON_DOUBLE; p <= KAON_HALF; p++) {
    kaon_vector *v = case_vector(c, KAON_FULL, (kaon_precision)p, COLUMNS);
    must(c->ctx, kaon_source_point(v, site));
    expect_indicator(c, v, site, 0);
    must(c->ctx, kaon_source_wall(v, site[3]));
    expect_indicator(c, v, site, 1);
    kaon_vector_destroy(&v);
  }
}

static void point_and_wall_sources_are_exact(void **state) {
  (void)state;
  for_all_cases(LINKS_UNIT, check_point_and_wall);
}

/* Two columns' noise in double. */
static void take_noise(dirac_case *c, kaon_precision precision, int gauss, uint64_t seed,
                       ref_complex *out[2]) {
  kaon_vector *v = case_vector(c, KAON_FULL, precision, 2);
  must(c->ctx, gauss ? kaon_source_gauss(v, seed) : kaon_source_z4(v, seed));
  for (int k = 0; k < 2; k++) out[k] = case_export(c, v, k);
  kaon_vector_destroy(&v);
}

/* Mean of |z|^2, <z> and <conj(column 0) column 1>, to 4.5 standard deviations; z4 has |z| = 1. */
static void check_moments(dirac_case *c, int gauss, ref_complex *const noise[2]) {
  const size_t n = ref_spinor_size(&c->L);
  const double sigma = 1 / sqrt((double)n);
  ref_complex mean = 0;
  for (size_t i = 0; i < n; i++) mean += noise[0][i] / (double)n;
  test_close(gauss ? "gauss: <|z|^2>" : "z4: <|z|^2>", ref_norm2(noise[0], n) / (double)n, 1,
             gauss ? 4.5 * sigma : 2 * ROUND * sqrt((double)n));
  test_below("|<z>|", cabs(mean), 4.5 * sigma);
  test_below("|<column 0, column 1>|", cabs(ref_dot(noise[0], noise[1], n)) / (double)n,
             4.5 * sigma);
}

static void check_noise(dirac_case *c) {
  const size_t n = ref_spinor_size(&c->L);
  for (int gauss = 0; gauss < 2; gauss++) {
    ref_complex *noise[2], *other[2];
    take_noise(c, KAON_DOUBLE, gauss, 21, noise);
    check_moments(c, gauss, noise);
    if (!gauss)
      for (size_t i = 0; i < n; i++)
        assert_true(fabs(creal(noise[0][i])) == sqrt(0.5) && fabs(cimag(noise[0][i])) == sqrt(0.5));
    for (int p = KAON_SINGLE; p <= KAON_HALF; p++) {
      take_noise(c, (kaon_precision)p, gauss, 21, other);
      test_below(precision_names[p], ref_max_diff(other[0], noise[0], n),
                 (gauss ? 6 : 1) * 1.5 * store_eps[p]); /* the largest of a site: below 6 */
      free(other[0]), free(other[1]);
    }
    take_noise(c, KAON_DOUBLE, gauss, 22, other);
    assert_true(ref_max_diff(other[0], noise[0], n) > 0.5);
    for (int k = 0; k < 2; k++) free(noise[k]), free(other[k]);
  }
}

static void noise_has_the_right_moments_in_every_precision(void **state) {
  (void)state;
  for_all_cases(LINKS_UNIT, check_noise);
}

/* The number at a site does not depend on where the instruction set puts it. */
static void noise_is_the_same_on_every_instruction_set(void **state) {
  (void)state;
  static const int shape[4] = {4, 6, 2, 10};
  ref_complex *first[2] = {NULL, NULL};
  for (int isa = KAON_ISA_SCALAR; isa <= MACHINE_LAST; isa++) {
    dirac_case c;
    ref_complex *noise[2];
    if (!case_open(&c, isa, shape, 0, LINKS_UNIT, 0)) continue;
    take_noise(&c, KAON_DOUBLE, 1, 5, noise);
    if (first[0] == NULL) {
      memcpy(first, noise, sizeof first);
    } else {
      /* Gaussians below 10, whose arguments may be contracted differently */
      test_below(isa_names[isa], ref_max_diff(noise[1], first[1], ref_spinor_size(&c.L)),
                 10 * 4 * ROUND);
      free(noise[0]), free(noise[1]);
    }
    case_close(&c);
  }
  free(first[0]), free(first[1]);
}

/* ---- correlators ---- */

static double worst_of(const double *a, const double *b, int n, const double *scale) {
  double worst = 0;
  for (int i = 0; i < n; i++) worst = larger(worst, fabs(a[i] - b[i]) / scale[i]);
  return worst;
}

static void check_correlators(dirac_case *c) {
  enum { T = 10, T0 = 3 };
  const int nt = c->L.n[3];
  const double slice = (double)ref_volume(&c->L) / nt;
  ref_complex **columns = case_random_columns(c, 12, 6);
  double pion[T], rho[T], pion_reference[T], rho_reference[T];
  ref_pion(&c->L, columns, T0, pion_reference);
  ref_rho(&c->L, columns, T0, rho_reference);
  /* a site: 144 or 432 products; a slice: a naive sum in either code; relative to sum |S|^2 */
  const double sums = (432 + 2 * slice) * ROUND;
  for (int p = KAON_DOUBLE; p <= KAON_HALF; p++) {
    kaon_vector *v = case_vector(c, KAON_FULL, (kaon_precision)p, 12);
    case_import(c, v, columns);
    must(c->ctx, kaon_correlator_pion(v, T0, pion));
    must(c->ctx, kaon_correlator_rho(v, T0, rho));
    /* components of unit variance: a column's largest is below 5, quantised at 5 eps; float sums
     * of 12 (36) products */
    const double storing = p == KAON_DOUBLE ? 0 : 2 * 5 * store_eps[p] + 36 * 6e-8;
    char text[64];
    snprintf(text, sizeof text, "pion, %s", precision_names[p]);
    test_below(text, worst_of(pion, pion_reference, nt, pion_reference), sums + storing);
    snprintf(text, sizeof text, "rho, %s", precision_names[p]);
    test_below(text, worst_of(rho, rho_reference, nt, pion_reference), sums + storing);
    kaon_vector_destroy(&v);
  }
  case_free_columns(columns, 12);
}

static void correlators_match_the_reference(void **state) {
  (void)state;
  for_all_cases(LINKS_UNIT, check_correlators);
}

/* Free quarks: S from the analytic propagator, so both mesons are positive and symmetric in time.
 */
static void free_mesons_are_positive_and_symmetric(void **state) {
  (void)state;
  enum { T = 8 };
  static const int shape[4] = {4, 4, 4, T}, source[4] = {1, 2, 3, 2};
  dirac_case c;
  assert_true(case_open(&c, KAON_ISA_AUTO, shape, 1, LINKS_UNIT, 0));
  ref_complex **columns = case_random_columns(&c, 12, 1);
  for (size_t x = 0; x < ref_volume(&c.L); x++) {
    int sink[4];
    ref_complex s[16];
    ref_coords(&c.L, x, sink);
    ref_free_propagator(&c.L, 0.12, 1, 1, sink, source, s);
    for (int k = 0; k < 12; k++)
      for (int i = 0; i < 12; i++)
        columns[k][12 * x + (size_t)i] = i % 3 == k % 3 ? s[4 * (i / 3) + k / 3] : 0;
  }
  kaon_vector *v = case_vector(&c, KAON_FULL, KAON_DOUBLE, 12);
  case_import(&c, v, columns);
  double pion[T], rho[T];
  must(c.ctx, kaon_correlator_pion(v, source[3], pion));
  must(c.ctx, kaon_correlator_rho(v, source[3], rho));
  for (int t = 0; t < T; t++) {
    printf("  t = %d: pion %.6e, rho %.6e\n", t, pion[t], rho[t]);
    assert_true(pion[t] > 0 && (t == 0 || rho[t] > 0));
    if (t == 0) continue;
    test_below("pion: C(t) - C(T - t)", fabs(pion[t] - pion[T - t]) / pion[t], 1e-12);
    test_below("rho: C(t) - C(T - t)", fabs(rho[t] - rho[T - t]) / rho[t], 1e-12);
  }
  kaon_vector_destroy(&v);
  case_free_columns(columns, 12);
  case_close(&c);
}

static void bad_arguments_are_refused(void **state) {
  (void)state;
  static const int shape[4] = {4, 4, 4, 4}, outside[4] = {0, 0, 4, 0}, negative[4] = {-1, 0, 0, 0};
  double correlator[4];
  dirac_case c;
  assert_true(case_open(&c, KAON_ISA_AUTO, shape, 0, LINKS_UNIT, 0));
  kaon_vector *full = case_vector(&c, KAON_FULL, KAON_DOUBLE, 2);
  kaon_vector *even = case_vector(&c, KAON_EVEN, KAON_DOUBLE, 12);
  must_refuse(c.ctx, KAON_ERR_ARGUMENT, kaon_source_point(full, outside));
  must_refuse(c.ctx, KAON_ERR_ARGUMENT, kaon_source_point(full, negative));
  must_refuse(c.ctx, KAON_ERR_ARGUMENT, kaon_source_wall(full, 4));
  must_refuse(c.ctx, KAON_ERR_SHAPE, kaon_source_z4(even, 1));
  must_refuse(NULL, KAON_ERR_ARGUMENT, kaon_source_gauss(NULL, 1));
  must_refuse(c.ctx, KAON_ERR_SHAPE, kaon_correlator_pion(full, 0, correlator));
  must_refuse(c.ctx, KAON_ERR_SHAPE, kaon_correlator_rho(even, 0, correlator));
  kaon_vector_destroy(&even);
  kaon_vector_destroy(&full);
  full = case_vector(&c, KAON_FULL, KAON_DOUBLE, 12);
  must_refuse(c.ctx, KAON_ERR_ARGUMENT, kaon_correlator_pion(full, 4, correlator));
  kaon_vector_destroy(&full);
  case_close(&c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(point_and_wall_sources_are_exact),
      cmocka_unit_test(noise_has_the_right_moments_in_every_precision),
      cmocka_unit_test(noise_is_the_same_on_every_instruction_set),
      cmocka_unit_test(correlators_match_the_reference),
      cmocka_unit_test(free_mesons_are_positive_and_symmetric),
      cmocka_unit_test(bad_arguments_are_refused),
  };
  return test_main(tests, NULL, NULL);
}
