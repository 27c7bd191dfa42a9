/* test_gauge.c - gauge fields: storage, observables against the reference, synthetic fields,
 * refusals. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <math.h>
#include <cmocka.h>

#include "gauge/gauge_internal.h"
#include "lib/math/philox.h"
#include "tests/util/link_case.h"

/* ---- observables ---- */

/* Means of v terms of modulus 1: each term 3 products of matrices (8 roundings an element, trace of
 * 3), the reference's naive sum of v terms. */
static double mean_bound(double terms) {
  return (96 + terms) * ROUND;
}

/* Distance of the reference's own links from SU(3): Gram-Schmidt of nearly parallel rows. */
static double deviation(const dirac_case *c) {
  double worst = 0;
  for (size_t i = 0; i < 4 * ref_volume(&c->L); i++)
    worst = larger(worst, ref_su3_deviation(c->u + 9 * i));
  return worst;
}

static void check_observables(dirac_case *c) {
  const double v = (double)ref_volume(&c->L);
  kaon_observables o = KAON_OBSERVABLES_INIT;
  must(c->ctx, kaon_gauge_measure(c->gauge, &o));
  const ref_plaquettes p = ref_plaquette(&c->L, c->u);
  const ref_complex line = ref_polyakov_loop(&c->L, c->u);
  test_close("plaquette", o.plaquette, p.all, mean_bound(6 * v));
  test_close("plaquette, space", o.plaquette_space, p.space, mean_bound(3 * v));
  test_close("plaquette, time", o.plaquette_time, p.time, mean_bound(3 * v));
  test_close("link trace", o.link_trace, p.link_trace, mean_bound(4 * v));
  const double line_bound = (24 * c->L.n[3] + v / c->L.n[3]) * ROUND;
  test_close("Polyakov loop, re", o.polyakov[0], creal(line), line_bound);
  test_close("Polyakov loop, im", o.polyakov[1], cimag(line), line_bound);
  /* F: four leaves of three products, |F| <= 1; q: three traces of 9 terms over 4 pi^2; then the
   * sums over v sites of numbers below 27 / 4 pi^2 < 1. */
  test_close("topological charge", o.charge, ref_topological_charge(&c->L, c->u),
             (200 * v + v * v) * ROUND);
  test_close("unitarity", o.unitarity, deviation(c), 32 * ROUND);
}

static void observables_match_the_reference(void **state) {
  (void)state;
  for_all_cases(LINKS_RANDOM, check_observables);
  for_all_cases(LINKS_WEAK, check_observables);
}

/* A constant field of charge n: Q of the clover leaves is known in closed form. */
static void charge_of_a_constant_field_is_the_analytic_one(void **state) {
  (void)state;
  static const int q[3] = {1, 1, -2}, shape[4] = {8, 8, 8, 8};
  dirac_case c;
  assert_true(case_open(&c, KAON_ISA_AUTO, shape, 0, LINKS_UNIT, 0));
  ref_flux_links(&c.L, c.u, 1, 2, q);
  case_import_links(&c);
  kaon_observables o = KAON_OBSERVABLES_INIT;
  must(c.ctx, kaon_gauge_measure(c.gauge, &o));
  const double pi = 3.14159265358979323846, w = 2 * pi / 64, v = 4096;
  double exact = 0;
  for (int i = 0; i < 3; i++) exact += sin(q[i] * w) * sin(q[i] * 2 * w);
  exact *= v / (4 * pi * pi);
  test_close("topological charge", o.charge, exact, (200 * v + v) * ROUND);
  case_close(&c);
}

static void check_invariance(dirac_case *c) {
  kaon_observables before = KAON_OBSERVABLES_INIT, after = KAON_OBSERVABLES_INIT;
  must(c->ctx, kaon_gauge_measure(c->gauge, &before));
  const size_t v = ref_volume(&c->L);
  ref_complex *g = ref_new(9 * v);
  ref_random_matrices(g, v, 99);
  ref_gauge_transform_links(&c->L, g, c->u);
  free(g);
  case_import_links(c);
  must(c->ctx, kaon_gauge_measure(c->gauge, &after));
  /* transformed links are off by two products, 16 roundings an element */
  const double term = 6 * 16 * ROUND, n = (double)v;
  test_close("plaquette", after.plaquette, before.plaquette, term + mean_bound(0));
  test_close("Polyakov loop", after.polyakov[0], before.polyakov[0],
             (24 + 32) * c->L.n[3] * ROUND + n / c->L.n[3] * ROUND);
  test_close("topological charge", after.charge, before.charge, (800 * n) * ROUND);
}

static void observables_are_gauge_invariant(void **state) {
  (void)state;
  for_all_cases(LINKS_RANDOM, check_invariance);
}

static void observables_do_not_depend_on_threads(void **state) {
  (void)state;
  static const int shape[4] = {4, 6, 4, 10};
  kaon_observables first = KAON_OBSERVABLES_INIT;
  for (int threads = 1; threads <= 5; threads++) {
    kaon_context_options options = KAON_CONTEXT_OPTIONS_INIT;
    kaon_context *ctx = NULL;
    kaon_lattice *lattice = NULL;
    kaon_gauge *gauge = NULL;
    kaon_observables o = KAON_OBSERVABLES_INIT;
    options.threads = threads;
    must(NULL, kaon_context_create(&options, &ctx));
    must(ctx, kaon_lattice_create(ctx, shape, KAON_PERIODIC, &lattice));
    must(ctx, kaon_gauge_create(lattice, KAON_DOUBLE, KAON_RECONSTRUCT_18, &gauge));
    must(ctx, kaon_gauge_random(gauge, 3));
    must(ctx, kaon_gauge_measure(gauge, &o));
    if (threads == 1) first = o;
    assert_memory_equal(&o, &first, sizeof o);
    kaon_gauge_destroy(&gauge);
    kaon_lattice_destroy(&lattice);
    kaon_context_destroy(&ctx);
  }
  printf("  1 to 5 threads: the same bits\n");
}

/* ---- synthetic fields ---- */

/* All machines make the same links up to rounding: the first one's are the standard, one array for
 * each shape and kind. */
static ref_complex *first_links[3][2];
static void compare_with_first(dirac_case *c, int random, double bound) {
  const int shape = c->L.n[1] == 6 ? 0 : c->L.n[0] == 8 ? 1 : 2;
  ref_complex *u = case_links(c, c->gauge), **first = &first_links[shape][random];
  if (*first == NULL) {
    *first = u;
    return;
  }
  test_below(random ? "random: against the first machine" : "weak: against the first machine",
             ref_max_diff(u, *first, ref_links_size(&c->L)), bound);
  free(u);
}

static void check_synthetic(dirac_case *c) {
  kaon_observables o = KAON_OBSERVABLES_INIT;
  must(c->ctx, kaon_gauge_unit(c->gauge));
  must(c->ctx, kaon_gauge_measure(c->gauge, &o));
  assert_true(o.plaquette == 1 && o.plaquette_space == 1 && o.plaquette_time == 1);
  assert_true(o.link_trace == 1 && o.polyakov[0] == 1 && o.polyakov[1] == 0);
  assert_true(o.charge == 0 && o.unitarity == 0);
  must(c->ctx, kaon_gauge_weak(c->gauge, 0.3, 5));
  must(c->ctx, kaon_gauge_measure(c->gauge, &o));
  test_close("weak:0.3: plaquette near 0.72", o.plaquette, 0.72, 0.03);
  test_below("weak: unitarity", o.unitarity, 32 * ROUND);
  compare_with_first(c, 0, 64 * ROUND);
  must(c->ctx, kaon_gauge_random(c->gauge, 6));
  must(c->ctx, kaon_gauge_measure(c->gauge, &o));
  test_below("random: unitarity", o.unitarity, 32 * ROUND);
  /* roundings grow by 1 / sin of the angle between rows, and that is below s with probability s^4:
   * of these 20000 links none has 1 / sin above 100 */
  compare_with_first(c, 1, 100 * 64 * ROUND);
}

static void synthetic_fields_are_what_they_say(void **state) {
  (void)state;
  for_all_cases(LINKS_UNIT, check_synthetic);
  for (int i = 0; i < 6; i++) free(first_links[i / 2][i % 2]);
}

/* The contract's recipe for one link: rows 1 and 2 = unit + eps u, Gram-Schmidt, row 0 completes.
 */
static void weak_links_follow_the_recipe(void **state) {
  (void)state;
  static const int shape[4] = {4, 4, 4, 8};
  dirac_case c;
  assert_true(case_open(&c, KAON_ISA_AUTO, shape, 0, LINKS_UNIT, 0));
  const double eps = 0.3;
  must(c.ctx, kaon_gauge_weak(c.gauge, eps, 77));
  ref_complex *u = case_links(&c, c.gauge);
  double worst = 0;
  for (size_t site = 0; site < ref_volume(&c.L); site++)
    for (int mu = 0; mu < 4; mu++) {
      double r[12];
      for (uint32_t k = 0; k < 6; k++) {
        const kaon_philox b = kaon_random_bits(77, (int64_t)site, KAON_STREAM_WEAK, mu, 0, k);
        r[2 * k] = 2 * kaon_uniform(b.v[0], b.v[1]) - 1;
        r[2 * k + 1] = 2 * kaon_uniform(b.v[2], b.v[3]) - 1;
      }
      ref_complex row1[3], row2[3];
      for (int i = 0; i < 3; i++) {
        row1[i] = (i == 1) + eps * (r[2 * i] + I * r[2 * i + 1]);
        row2[i] = (i == 2) + eps * (r[6 + 2 * i] + I * r[7 + 2 * i]);
      }
      const double n1 = sqrt(ref_norm2(row1, 3));
      for (int i = 0; i < 3; i++) row1[i] /= n1;
      const ref_complex overlap = ref_dot(row1, row2, 3);
      for (int i = 0; i < 3; i++) row2[i] -= overlap * row1[i];
      const double n2 = sqrt(ref_norm2(row2, 3));
      for (int i = 0; i < 3; i++) row2[i] /= n2;
      const ref_complex *link = u + 9 * (4 * site + (size_t)mu);
      worst = larger(worst, ref_max_diff(link + 3, row1, 3));
      worst = larger(worst, ref_max_diff(link + 6, row2, 3));
      worst = larger(worst, ref_su3_deviation(link));
    }
  /* Gram-Schmidt with |row| >= 1 - 3 eps > 0.1: roundings grow at most tenfold */
  test_below("weak links", worst, 10 * 32 * ROUND);
  free(u);
  case_close(&c);
}

/* Haar: <tr U> = 0, <|tr U|^2> = 1, <(tr U)^2> = 0; |tr U|^4 has mean 2, so |tr U|^2 variance 1. */
static void random_links_are_haar(void **state) {
  (void)state;
  static const int shape[4] = {8, 8, 8, 8};
  dirac_case c;
  assert_true(case_open(&c, KAON_ISA_AUTO, shape, 0, LINKS_UNIT, 0));
  must(c.ctx, kaon_gauge_random(c.gauge, 4));
  ref_complex *u = case_links(&c, c.gauge), mean = 0, square = 0;
  const size_t n = 4 * ref_volume(&c.L);
  double modulus = 0;
  for (size_t i = 0; i < n; i++) {
    const ref_complex t = ref_trace(u + 9 * i);
    mean += t / (double)n, square += t * t / (double)n;
    modulus += creal(t * conj(t)) / (double)n;
  }
  const double sigma = 1 / sqrt((double)n);
  test_close("<|tr U|^2>", modulus, 1, 4 * sigma);
  test_below("|<tr U>|", cabs(mean), 4 * sigma);
  test_below("|<(tr U)^2>|", cabs(square), 4 * sqrt(2) * sigma);
  free(u);
  case_close(&c);
}

/* ---- storage ---- */

/* Largest error of a stored component: single 2^-24; half 0.5 / 32767 and a rounding; 8 reals carry
 * a bit in the last place, so twice that. Then row 2 (four products), or recon.h's bound. Decoding
 * in float adds a few roundings of it. */
static double storage_bound(const dirac_case *c, int p, int recon) {
  static const double eps[] = {ROUND, 6e-8, 0.51 / 32767}, arithmetic[] = {ROUND, 6e-8, 6e-8};
  if (recon == 18) return p == KAON_DOUBLE ? 0 : sqrt(2) * (eps[p] + arithmetic[p]);
  if (recon == 12) return 8 * eps[p] + 16 * arithmetic[p] + 2 * deviation(c);
  return 20 * 2 * eps[p] + 64 * arithmetic[p] + 20 * deviation(c);
}

static void check_one_storage(dirac_case *c, kaon_precision p, kaon_reconstruct recon) {
  kaon_gauge *stored = NULL, *back = NULL, *twin = NULL;
  kaon_observables o = KAON_OBSERVABLES_INIT;
  char text[64];
  must(c->ctx, kaon_gauge_create(c->lattice, p, recon, &stored));
  must(c->ctx, kaon_gauge_create(c->lattice, KAON_DOUBLE, KAON_RECONSTRUCT_18, &back));
  must(c->ctx, kaon_gauge_create(c->lattice, p, recon, &twin));
  must(c->ctx, kaon_gauge_measure(stored, &o)); /* created as unit links */
  snprintf(text, sizeof text, "%s, %d reals: unit plaquette", precision_names[p], (int)recon);
  test_close(text, o.plaquette, 1, p == KAON_HALF ? 8 * 6e-8 : 4 * ROUND);
  must(c->ctx, kaon_gauge_copy(stored, c->gauge));
  must(c->ctx, kaon_gauge_copy(back, stored));
  ref_complex *u = case_links(c, back);
  snprintf(text, sizeof text, "%s, %d reals: back to double", precision_names[p], (int)recon);
  test_below(text, ref_max_diff(u, c->u, ref_links_size(&c->L)),
             storage_bound(c, (int)p, (int)recon));
  free(u);
  must(c->ctx, kaon_gauge_copy(twin, stored)); /* equal storage: equal bits */
  const char *even = kaon_gauge_links(twin, 0), *odd = kaon_gauge_links(twin, 1);
  const size_t bytes = 2 * (size_t)(odd - even);
  void *first = machine_read(c->ctx, even, bytes);
  void *second = machine_read(c->ctx, kaon_gauge_links(stored, 0), bytes);
  assert_memory_equal(first, second, bytes);
  free(first), free(second);
  kaon_gauge_destroy(&twin);
  kaon_gauge_destroy(&back);
  kaon_gauge_destroy(&stored);
}

static void check_storage(dirac_case *c) {
  static const kaon_reconstruct recons[] = {18, 12, 8};
  for (int p = KAON_DOUBLE; p <= KAON_HALF; p++)
    for (int r = 0; r < 3; r++) check_one_storage(c, (kaon_precision)p, recons[r]);
}

static void storages_hold_links_to_their_precision(void **state) {
  (void)state;
  for_all_cases(LINKS_RANDOM, check_storage);
}

static void projection_returns_links_to_su3(void **state) {
  (void)state;
  static const int shape[4] = {4, 6, 2, 10};
  dirac_case c;
  assert_true(case_open(&c, KAON_ISA_AUTO, shape, 0, LINKS_RANDOM, 3));
  ref_complex *exact = ref_new(ref_links_size(&c.L));
  memcpy(exact, c.u, ref_links_size(&c.L) * sizeof *exact);
  for (size_t i = 0; i < ref_links_size(&c.L); i++) c.u[i] *= 1 + 1e-5 * sin((double)i);
  case_import_links(&c);
  kaon_observables o = KAON_OBSERVABLES_INIT;
  must(c.ctx, kaon_gauge_measure(c.gauge, &o));
  assert_true(o.unitarity > 1e-6);
  const uint64_t revision = kaon_gauge_revision(c.gauge);
  must(c.ctx, kaon_gauge_project(c.gauge));
  assert_true(kaon_gauge_revision(c.gauge) == revision + 1);
  must(c.ctx, kaon_gauge_measure(c.gauge, &o));
  test_below("unitarity after projection", o.unitarity, 32 * ROUND);
  ref_complex *u = case_links(&c, c.gauge);
  test_below("moved by", ref_max_diff(u, exact, ref_links_size(&c.L)), 1e-4);
  free(u), free(exact);
  case_close(&c);
}

/* ---- refusals ---- */

static void refuse_links(dirac_case *c, size_t at, ref_complex value, kaon_status expected) {
  const ref_complex kept = c->u[at];
  const void *arrays[1] = {c->u};
  const uint64_t revision = kaon_gauge_revision(c->gauge);
  c->u[at] = value;
  must_refuse(c->ctx, expected,
              kaon_gauge_import(c->gauge, KAON_ORDER_NATURAL, KAON_DOUBLE, arrays));
  c->u[at] = kept;
  assert_true(kaon_gauge_revision(c->gauge) == revision);
}

static void check_refusals(dirac_case *c) {
  const size_t at = 9 * (4 * (ref_volume(&c->L) / 2 + 3) + 2);
  refuse_links(c, at, c->u[at] + 3e-4, KAON_ERR_UNITARITY);
  assert_non_null(strstr(kaon_last_error(c->ctx), "mu = 2"));
  refuse_links(c, at, NAN, KAON_ERR_NOT_FINITE);
  refuse_links(c, at, INFINITY, KAON_ERR_NOT_FINITE);
  refuse_links(c, at, 1e200, KAON_ERR_NOT_FINITE);
  ref_complex *u = case_links(c, c->gauge);
  assert_memory_equal(u, c->u, ref_links_size(&c->L) * sizeof *u); /* the field stayed whole */
  free(u);
  for (size_t i = 0; i < 9; i++) c->u[at + i] = -c->u[at + i]; /* unitary, det = -1 */
  const void *arrays[1] = {c->u};
  must_refuse(c->ctx, KAON_ERR_UNITARITY,
              kaon_gauge_import(c->gauge, KAON_ORDER_NATURAL, KAON_DOUBLE, arrays));
}

static void links_off_su3_are_refused_and_named(void **state) {
  (void)state;
  for_all_cases(LINKS_RANDOM, check_refusals);
}

static void bad_arguments_are_refused(void **state) {
  (void)state;
  static const int shape[4] = {4, 4, 4, 4};
  dirac_case c, d;
  assert_true(case_open(&c, KAON_ISA_AUTO, shape, 0, LINKS_UNIT, 0));
  assert_true(case_open(&d, KAON_ISA_AUTO, shape, 0, LINKS_UNIT, 0));
  const void *arrays[4] = {c.u, NULL, NULL, NULL};
  kaon_gauge *none = NULL;
  must_refuse(c.ctx, KAON_ERR_ARGUMENT, kaon_gauge_create(c.lattice, KAON_DOUBLE, 9, &none));
  must_refuse(c.ctx, KAON_ERR_ARGUMENT, kaon_gauge_create(c.lattice, 7, 18, &none));
  must_refuse(NULL, KAON_ERR_ARGUMENT, kaon_gauge_create(NULL, KAON_DOUBLE, 18, &none));
  must_refuse(c.ctx, KAON_ERR_ARGUMENT,
              kaon_gauge_import(c.gauge, KAON_ORDER_QDP, KAON_DOUBLE, arrays));
  must_refuse(c.ctx, KAON_ERR_ARGUMENT, kaon_gauge_import(c.gauge, 17, KAON_DOUBLE, arrays));
  must_refuse(c.ctx, KAON_ERR_ARGUMENT,
              kaon_gauge_import(c.gauge, KAON_ORDER_MILC, KAON_HALF, arrays));
  must_refuse(c.ctx, KAON_ERR_ARGUMENT, kaon_gauge_weak(c.gauge, NAN, 1));
  must_refuse(c.ctx, KAON_ERR_SHAPE, kaon_gauge_copy(c.gauge, d.gauge));
  must_refuse(c.ctx, KAON_ERR_SHAPE, kaon_gauge_temporal(c.gauge, d.gauge));
  kaon_gauge_destroy(NULL);
  kaon_gauge_destroy(&none);
  case_close(&c);
  case_close(&d);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(observables_match_the_reference),
      cmocka_unit_test(charge_of_a_constant_field_is_the_analytic_one),
      cmocka_unit_test(observables_are_gauge_invariant),
      cmocka_unit_test(observables_do_not_depend_on_threads),
      cmocka_unit_test(synthetic_fields_are_what_they_say),
      cmocka_unit_test(weak_links_follow_the_recipe),
      cmocka_unit_test(random_links_are_haar),
      cmocka_unit_test(storages_hold_links_to_their_precision),
      cmocka_unit_test(projection_returns_links_to_su3),
      cmocka_unit_test(links_off_su3_are_refused_and_named),
      cmocka_unit_test(bad_arguments_are_refused),
  };
  return test_main(tests, NULL, NULL);
}
