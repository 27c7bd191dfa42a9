/* test_fatten.c - fat and long links against paths written out one by one; projection to U(3)
 * against Newton's iteration and against matrices with known factors; unit links; gauge
 * covariance.
 *
 * Bounds. A product of two unitary 3x3 matrices has an error of at most 8 roundings an element:
 * three complex products whose sizes sum to at most 1. A path of seven links has six products and
 * the factors of the sums that contain it: at most 64 roundings of its coefficient. For the sum of
 * all paths the moduli add up. Lepage's term also contains paths that go back, which are
 * subtracted again: 6 + 6 instead of 6. */
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

static const kaon_fatten_coefficients odd_ones = {0.3, -0.07, 0.031, 0.0047, -0.023, 0.11};

static ref_fat_coefficients reference_of(const kaon_fatten_coefficients *c) {
  return (ref_fat_coefficients){c->one, c->three, c->five, c->seven, c->lepage, c->naik};
}

static double weight(const kaon_fatten_coefficients *c) {
  return fabs(c->one) + 6 * fabs(c->three) + 24 * fabs(c->five) + 48 * fabs(c->seven) +
         18 * fabs(c->lepage);
}

static double rounding_of(kaon_precision precision) {
  return precision == KAON_DOUBLE ? ROUND : 0.5 * (double)FLT_EPSILON;
}

static kaon_gauge *new_field(dirac_case *c, kaon_precision precision) {
  kaon_gauge *g = NULL;
  must(c->ctx, kaon_gauge_create(c->lattice, precision, KAON_RECONSTRUCT_18, &g));
  return g;
}

/* The largest difference of an element from the reference's. */
static double away(dirac_case *c, const kaon_gauge *g, const ref_complex *expected) {
  ref_complex *u = case_links(c, g);
  const double d = ref_max_diff(u, expected, ref_links_size(&c->L));
  free(u);
  return d;
}

/* ---- one level ---- */

static void check_level(dirac_case *c) {
  const ref_fat_coefficients paths = reference_of(&odd_ones);
  ref_complex *fat = ref_new(ref_links_size(&c->L)), *naik = ref_new(ref_links_size(&c->L));
  ref_fatten(&c->L, c->u, &paths, fat, naik);
  for (int p = KAON_DOUBLE; p <= KAON_SINGLE; p++) {
    kaon_fatten_report report = KAON_FATTEN_REPORT_INIT;
    kaon_gauge *f = new_field(c, (kaon_precision)p), *n = new_field(c, (kaon_precision)p);
    must(c->ctx, kaon_fatten_paths(c->gauge, &odd_ones, f, n, &report));
    test_below(p ? "fat, single" : "fat, double", away(c, f, fat),
               64 * weight(&odd_ones) * rounding_of((kaon_precision)p));
    test_below("long", away(c, n, naik), 24 * 0.11 * rounding_of((kaon_precision)p));
    assert_int_equal(report.levels, 1);
    assert_true(report.level_flops > 40000 * (double)ref_volume(&c->L));
    kaon_gauge_destroy(&n);
    must(c->ctx, kaon_gauge_unit(f));
    must(c->ctx, kaon_fatten_paths(c->gauge, &odd_ones, f, NULL, NULL));
    test_below("without long ones", away(c, f, fat),
               64 * weight(&odd_ones) * rounding_of((kaon_precision)p));
    kaon_gauge_destroy(&f);
  }
  free(fat);
  free(naik);
}

static void levels_are_those_of_paths_written_out(void **state) {
  (void)state;
  for_all_cases(LINKS_RANDOM, check_level);
}

/* The paths themselves: how many, and that they lead from x to x + mu. */
static void the_reference_has_all_paths(void **state) {
  (void)state;
  const ref_fat_coefficients c = reference_of(&odd_ones);
  for (int mu = 0; mu < 4; mu++) {
    static int paths[REF_FAT_PATHS][7];
    int lengths[REF_FAT_PATHS], kinds[8] = {0};
    double factors[REF_FAT_PATHS];
    assert_int_equal(ref_fat_paths(&c, mu, paths, lengths, factors), REF_FAT_PATHS);
    for (int n = 0; n < REF_FAT_PATHS; n++) {
      int to[4] = {0};
      for (int i = 0; i < lengths[n]; i++) to[paths[n][i] % 4] += paths[n][i] < 4 ? 1 : -1;
      for (int nu = 0; nu < 4; nu++) assert_int_equal(to[nu], nu == mu);
      kinds[lengths[n]]++;
    }
    assert_int_equal(kinds[3], 6);
    assert_int_equal(kinds[5], 24 + 6);
    assert_int_equal(kinds[7], 48);
  }
}

/* ---- whole actions ---- */

static kaon_fatten_options options_of(kaon_fatten_action action, double u0, double epsilon) {
  kaon_fatten_options o = KAON_FATTEN_OPTIONS_INIT;
  o.action = action;
  o.u0 = u0;
  o.naik_epsilon = epsilon;
  return o;
}

/* Unit links: the sum of the coefficients; free quarks then have no error of order p^3. */
static void unit_links_give_sums_of_coefficients(void **state) {
  (void)state;
  for (int machine = KAON_ISA_SCALAR; machine <= MACHINE_LAST; machine++)
    for (int hisq = 0; hisq < 2; hisq++) {
      static const int extents[4] = {4, 6, 2, 10};
      dirac_case c;
      if (!case_open(&c, machine, extents, 1, LINKS_UNIT, 0)) continue;
      const double epsilon = -0.16;
      const kaon_fatten_options o =
          options_of(hisq ? KAON_FATTEN_HISQ : KAON_FATTEN_ASQTAD, 0, epsilon);
      kaon_fatten_report report = KAON_FATTEN_REPORT_INIT;
      kaon_gauge *f = new_field(&c, KAON_DOUBLE), *n = new_field(&c, KAON_DOUBLE);
      must(c.ctx, kaon_fatten(c.gauge, &o, f, n, &report));
      ref_complex *fat = case_links(&c, f), *naik = case_links(&c, n);
      /* c_fat + 3 (1 + e) c_naik = 1: the momentum; c_fat + 27 (1 + e) c_naik = -e: what is left of
       * p^3, sin having -1 */
      test_close("fat", creal(fat[0]), 9.0 / 8 + epsilon / 8, 1e-14);
      test_close("long", creal(naik[0]), -1.0 / 24, 1e-15);
      test_close("slope", creal(fat[0]) + 3 * (1 + epsilon) * creal(naik[0]), 1, 1e-14);
      for (size_t i = 0; i < ref_links_size(&c.L); i++)
        assert_true(cabs(fat[i] - (i % 9 % 4 == 0 ? fat[0] : 0)) < 1e-14);
      assert_int_equal(report.levels, hisq ? 2 : 1);
      assert_int_equal((int)report.svd_links, 0);
      test_close("u0", report.u0, 1, 1e-15);
      free(fat);
      free(naik);
      kaon_gauge_destroy(&f);
      kaon_gauge_destroy(&n);
      case_close(&c);
    }
}

/* The reference's HISQ links; V: those of the first level. */
static void reference_hisq(const dirac_case *c, double epsilon, ref_complex *fat, ref_complex *naik,
                           double *smallest_det) {
  const kaon_fatten_options o = options_of(KAON_FATTEN_HISQ, 1, epsilon);
  kaon_fatten_coefficients level[2];
  for (int i = 0; i < 2; i++) must(NULL, kaon_fatten_action_coefficients(&o, i, &level[i]));
  const ref_fat_coefficients first = reference_of(&level[0]), second = reference_of(&level[1]);
  ref_complex *v = ref_new(ref_links_size(&c->L));
  ref_fatten(&c->L, c->u, &first, v, NULL);
  *smallest_det = HUGE_VAL;
  for (size_t i = 0; i < 4 * ref_volume(&c->L); i++) {
    *smallest_det = fmin(*smallest_det, cabs(ref_det(v + 9 * i)));
    assert_true(ref_unitary_factor(v + 9 * i));
  }
  ref_fatten(&c->L, v, &second, fat, naik);
  free(v);
}

/* Weak links, whose first level is far from singular: its singular values stay above 1/4, so the
 * unitary factor multiplies errors by less than 4, and the second level by its weight. */
static void check_hisq(dirac_case *c) {
  const double epsilon = -0.3;
  const kaon_fatten_options o = options_of(KAON_FATTEN_HISQ, 0.5, epsilon);
  kaon_fatten_coefficients second;
  must(NULL, kaon_fatten_action_coefficients(&o, 1, &second));
  ref_complex *fat = ref_new(ref_links_size(&c->L)), *naik = ref_new(ref_links_size(&c->L));
  double smallest = 0;
  reference_hisq(c, epsilon, fat, naik, &smallest);
  for (int p = KAON_DOUBLE; p <= KAON_SINGLE; p++) {
    const double bound = (4 * 64 * 7 + 64) * weight(&second) * rounding_of((kaon_precision)p);
    kaon_fatten_report report = KAON_FATTEN_REPORT_INIT;
    kaon_gauge *f = new_field(c, (kaon_precision)p), *n = new_field(c, (kaon_precision)p);
    must(c->ctx, kaon_fatten(c->gauge, &o, f, n, &report));
    test_below("hisq, fat", away(c, f, fat), bound);
    test_below("hisq, long", away(c, n, naik), bound);
    test_close("smallest |det|", report.smallest_det, smallest,
               300 * rounding_of((kaon_precision)p));
    assert_int_equal((int)report.svd_links, 0);
    kaon_gauge_destroy(&f);
    kaon_gauge_destroy(&n);
  }
  free(fat);
  free(naik);
}

static void hisq_links_are_those_of_the_reference(void **state) {
  (void)state;
  for_all_cases(LINKS_WEAK, check_hisq);
}

/* Fat and long links of g U g^dag are those of U between g and g^dag; random links: near-singular
 * first levels too, so HISQ's bound is divided by the smallest singular value, at least the
 * smallest |det| as none exceeds 1. */
static void links_are_covariant(void **state) {
  (void)state;
  static const int extents[4] = {4, 4, 4, 8};
  for (int machine = KAON_ISA_SCALAR; machine <= MACHINE_LAST; machine++)
    for (int hisq = 0; hisq < 2; hisq++) {
      dirac_case c;
      if (!case_open(&c, machine, extents, 1, LINKS_RANDOM, 5)) continue;
      const kaon_fatten_options o =
          options_of(hisq ? KAON_FATTEN_HISQ : KAON_FATTEN_ASQTAD, 0.9, 0);
      kaon_fatten_report report = KAON_FATTEN_REPORT_INIT;
      kaon_gauge *f = new_field(&c, KAON_DOUBLE), *n = new_field(&c, KAON_DOUBLE);
      ref_complex *g = ref_new(9 * ref_volume(&c.L));
      ref_random_matrices(g, ref_volume(&c.L), 99);
      must(c.ctx, kaon_fatten(c.gauge, &o, f, n, &report));
      ref_complex *fat = case_links(&c, f);
      ref_gauge_transform_links(&c.L, g, fat);
      ref_gauge_transform_links(&c.L, g, c.u);
      case_import_links(&c);
      must(c.ctx, kaon_fatten(c.gauge, &o, f, n, NULL));
      printf("  %s, smallest |det| %.2e, %d by singular values\n", isa_names[machine],
             report.smallest_det, (int)report.svd_links);
      test_below(hisq ? "hisq" : "asqtad", away(&c, f, fat),
                 hisq ? 64 * 8 * 8 * ROUND / report.smallest_det : 64 * 8 * ROUND);
      free(fat);
      free(g);
      kaon_gauge_destroy(&f);
      kaon_gauge_destroy(&n);
      case_close(&c);
    }
}

/* ---- back to U(3) ---- */

/* v = A diag(s) B^dag and its unitary factor w = A B^dag. */
static void make_matrix(ref_rng *r, const double s[3], ref_complex v[9], ref_complex w[9]) {
  ref_complex a[9], b[9], as[9];
  ref_random_su3(r, a);
  ref_random_su3(r, b);
  for (int i = 0; i < 9; i++) a[i] *= cexp(I * 0.7), as[i] = a[i] * s[i % 3];
  ref_mul_na(v, as, b);
  ref_mul_na(w, a, b);
}

static double off_unitarity(const ref_complex w[9]) {
  ref_complex p[9];
  double worst = 0;
  ref_mul_na(p, w, w);
  for (int i = 0; i < 9; i++) worst = larger(worst, cabs(p[i] - (i % 4 == 0)));
  return worst;
}

/* Singular values from each row of the table in turn, everywhere on the lattice. */
static const double singular[][3] = {{1, 1, 1},        {1, 1, 0.999999},  {2, 0.3, 0.1},
                                     {1, 0.5, 0.01},   {1, 1e-2, 1e-2},   {1, 0.7, 1e-4},
                                     {0.9, 0.5, 1e-6}, {1, 1e-3, 1e-7},   {1, 0.5, 1e-10},
                                     {1, 1, 1e-13},    {1e-5, 1e-6, 2e-6}};
enum { KINDS = sizeof singular / sizeof *singular };

/* What W may be off by: V is known to a rounding of its elements, so W to that over the smallest
 * singular value, relative to the largest: 30 roundings. By eigenvalues: those of V^dag V, whose
 * condition is the square, in two more products and a sum with terms of its size: 100. */
static double factor_bound(const double s[3], int eigenvalues) {
  const double condition = s[0] / fmin(s[1], s[2]);
  return (eigenvalues ? 100 * condition : 30) * condition * ROUND;
}

static void check_unitarise(dirac_case *c) {
  const size_t links = 4 * ref_volume(&c->L);
  ref_complex *w = ref_new(9 * links);
  ref_rng r;
  ref_rng_seed(&r, 4);
  double least = HUGE_VAL;
  int64_t few = 0;
  for (size_t i = 0; i < links; i++) {
    const double *s = singular[i % KINDS], det = s[0] * s[1] * s[2];
    make_matrix(&r, s, c->u + 9 * i, w + 9 * i);
    least = fmin(least, det);
    few += det * det < 1e-8;
  }
  const void *arrays[1] = {c->u};
  must(c->ctx, kaon_gauge_import_matrices(c->gauge, KAON_ORDER_NATURAL, KAON_DOUBLE, arrays));
  for (int always = 0; always < 2; always++) {
    kaon_fatten_options o = KAON_FATTEN_OPTIONS_INIT;
    if (always) o.svd_relative = 0;
    kaon_fatten_report report = KAON_FATTEN_REPORT_INIT;
    kaon_gauge *g = new_field(c, KAON_DOUBLE);
    must(c->ctx, kaon_gauge_copy(g, c->gauge));
    must(c->ctx, kaon_fatten_unitarise(g, &o, &report));
    ref_complex *u = case_links(c, g);
    double unitary = 0, off = 0;
    for (size_t i = 0; i < links; i++) {
      const double *s = singular[i % KINDS];
      unitary = larger(unitary, off_unitarity(u + 9 * i));
      const int eigenvalues = !always && s[0] * s[1] * s[2] > 0.99e-4;
      off = larger(off, ref_max_diff(u + 9 * i, w + 9 * i, 9) / factor_bound(s, eigenvalues));
    }
    test_below("|W W^dag - 1|", unitary, 32 * ROUND);
    test_below("W: error / bound", off, 1);
    test_close("smallest |det| / known", report.smallest_det / least, 1, 1e-2);
    printf("  %d of %d links by singular values\n", (int)report.svd_links, (int)links);
    /* smallest values for small determinants; the largest for the seven kinds from {1, .01, .01}
     * on */
    assert_true(report.svd_links >= (always ? (int64_t)links : few));
    assert_true(always || report.svd_links <= (int64_t)links * 7 / KINDS + 7);
    free(u);
    kaon_gauge_destroy(&g);
  }
  free(w);
}

static void near_singular_links_go_back_to_u3(void **state) {
  (void)state;
  for_all_cases(LINKS_UNIT, check_unitarise);
}

/* The analytic formula against Newton's iteration, on first-level links made of random thin ones.
 */
static void check_newton(dirac_case *c) {
  const kaon_fatten_options o = options_of(KAON_FATTEN_HISQ, 1, 0);
  kaon_fatten_coefficients fat7;
  must(NULL, kaon_fatten_action_coefficients(&o, 0, &fat7));
  kaon_fatten_report report = KAON_FATTEN_REPORT_INIT;
  kaon_gauge *v = new_field(c, KAON_DOUBLE);
  must(c->ctx, kaon_fatten_paths(c->gauge, &fat7, v, NULL, NULL));
  ref_complex *w = case_links(c, v);
  double least = HUGE_VAL;
  for (size_t i = 0; i < 4 * ref_volume(&c->L); i++) {
    least = fmin(least, cabs(ref_det(w + 9 * i)));
    assert_true(ref_unitary_factor(w + 9 * i));
  }
  must(c->ctx, kaon_fatten_unitarise(v, NULL, &report));
  test_close("smallest |det|", report.smallest_det, least, 1e-14);
  test_below("W", away(c, v, w), 60 * ROUND / least);
  printf("  %d links by singular values\n", (int)report.svd_links);
  kaon_gauge_destroy(&v);
  free(w);
}

static void unitary_factors_are_newtons(void **state) {
  (void)state;
  for_all_cases(LINKS_RANDOM, check_newton);
}

/* Matrices of rank 2, 1 and 0 have unitary factors that are not unique; NaN is refused. */
static void singular_links_are_completed(void **state) {
  (void)state;
  static const int extents[4] = {4, 4, 4, 4};
  for (int machine = KAON_ISA_SCALAR; machine <= MACHINE_LAST; machine++) {
    dirac_case c;
    if (!case_open(&c, machine, extents, 1, LINKS_UNIT, 0)) continue;
    const size_t links = 4 * ref_volume(&c.L);
    ref_rng r;
    ref_rng_seed(&r, 8);
    for (size_t i = 0; i < links; i++) {
      ref_complex w[9];
      const double s[3] = {1, i % 4 < 2 ? 0.5 : 0, i % 4 == 0 ? 1 : 0};
      if (i % 4 == 3)
        memset(c.u + 9 * i, 0, 9 * sizeof *c.u);
      else
        make_matrix(&r, s, c.u + 9 * i, w);
      if (i % 8 == 1) { /* columns that are zero */
        for (int j = 0; j < 9; j++) c.u[9 * i + (size_t)j] = j == 3;
      }
    }
    const void *arrays[1] = {c.u};
    must(c.ctx, kaon_gauge_import_matrices(c.gauge, KAON_ORDER_NATURAL, KAON_DOUBLE, arrays));
    kaon_fatten_report report = KAON_FATTEN_REPORT_INIT;
    must(c.ctx, kaon_fatten_unitarise(c.gauge, NULL, &report));
    ref_complex *u = case_links(&c, c.gauge);
    double unitary = 0;
    for (size_t i = 0; i < links; i++) unitary = larger(unitary, off_unitarity(u + 9 * i));
    test_below("|W W^dag - 1| of singular links", unitary, 32 * ROUND);
    assert_true(report.svd_links >= (int64_t)(links * 3 / 4));
    assert_true(report.smallest_det == 0);
    free(u);
    case_close(&c);
  }
}

/* ---- storage, threads, refusals ---- */

static void storage_and_threads_do_not_matter(void **state) {
  (void)state;
  static const int extents[4] = {8, 4, 4, 8};
  for (int machine = KAON_ISA_SCALAR; machine <= MACHINE_LAST; machine++) {
    ref_complex *first = NULL;
    for (int threads = 1; threads <= 3; threads += 2) {
      kaon_context_options options = KAON_CONTEXT_OPTIONS_INIT;
      kaon_context *ctx = NULL;
      kaon_lattice *lattice = NULL;
      kaon_gauge *thin = NULL, *copy = NULL, *f = NULL;
      if (machine_lacks(machine)) continue;
      options.threads = threads;
      options.check = threads == 3;
      must(NULL, machine_open(machine, options, &ctx));
      must(ctx, kaon_lattice_create(ctx, extents, KAON_ANTIPERIODIC, &lattice));
      must(ctx, kaon_gauge_create(lattice, KAON_DOUBLE, KAON_RECONSTRUCT_18, &thin));
      must(ctx, kaon_gauge_create(lattice, KAON_DOUBLE, KAON_RECONSTRUCT_18, &f));
      must(ctx, kaon_gauge_create(lattice, KAON_SINGLE, KAON_RECONSTRUCT_12, &copy));
      must(ctx, kaon_gauge_random(thin, 3));
      kaon_fatten_options o = options_of(KAON_FATTEN_HISQ, 1, 0.1);
      ref_complex *u = ref_new(36 * 8 * 4 * 4 * 8);
      void *arrays[1] = {u};
      must(ctx, kaon_fatten(thin, &o, f, NULL, NULL));
      must(ctx, kaon_gauge_export(f, KAON_ORDER_NATURAL, KAON_DOUBLE, arrays));
      if (first == NULL) {
        first = u;
      } else {
        assert_memory_equal(first, u, 36 * 8 * 4 * 4 * 8 * sizeof *u);
        free(u);
      }
      must(ctx, kaon_gauge_weak(thin, 0.2, 3));
      must(ctx, kaon_gauge_copy(copy, thin));
      o = options_of(KAON_FATTEN_ASQTAD, 0, 0.1);
      kaon_fatten_report report = KAON_FATTEN_REPORT_INIT;
      kaon_observables seen = KAON_OBSERVABLES_INIT;
      must(ctx, kaon_gauge_measure(copy, &seen));
      must(ctx, kaon_fatten(copy, &o, f, NULL, &report));
      test_close("u0", report.u0, pow(seen.plaquette, 0.25), 1e-15);
      kaon_gauge_destroy(&thin);
      kaon_gauge_destroy(&copy);
      kaon_gauge_destroy(&f);
      kaon_lattice_destroy(&lattice);
      kaon_context_destroy(&ctx);
    }
    free(first);
  }
}

static void bad_arguments_are_refused(void **state) {
  (void)state;
  static const int extents[4] = {4, 4, 4, 4};
  dirac_case c, other;
  assert_true(case_open(&c, KAON_ISA_AUTO, extents, 1, LINKS_RANDOM, 5));
  assert_true(case_open(&other, KAON_ISA_AUTO, extents, 1, LINKS_UNIT, 0));
  kaon_fatten_options o = options_of(KAON_FATTEN_HISQ, 1, 0);
  kaon_fatten_coefficients coefficients;
  kaon_gauge *f = new_field(&c, KAON_DOUBLE), *s = new_field(&c, KAON_SINGLE), *twelve = NULL;
  must(c.ctx, kaon_gauge_create(c.lattice, KAON_DOUBLE, KAON_RECONSTRUCT_12, &twelve));
  must_refuse(c.ctx, KAON_ERR_ARGUMENT, kaon_fatten(c.gauge, &o, NULL, NULL, NULL));
  must_refuse(NULL, KAON_ERR_ARGUMENT, kaon_fatten(NULL, &o, f, NULL, NULL));
  must_refuse(c.ctx, KAON_ERR_ARGUMENT, kaon_fatten(c.gauge, &o, c.gauge, NULL, NULL));
  must_refuse(c.ctx, KAON_ERR_ARGUMENT, kaon_fatten(c.gauge, &o, f, f, NULL));
  must_refuse(c.ctx, KAON_ERR_UNSUPPORTED, kaon_fatten(c.gauge, &o, f, s, NULL));
  must_refuse(c.ctx, KAON_ERR_UNSUPPORTED, kaon_fatten(c.gauge, &o, twelve, NULL, NULL));
  must_refuse(c.ctx, KAON_ERR_UNSUPPORTED, kaon_fatten_unitarise(twelve, NULL, NULL));
  must_refuse(c.ctx, KAON_ERR_SHAPE, kaon_fatten(c.gauge, &o, other.gauge, NULL, NULL));
  must_refuse(c.ctx, KAON_ERR_ARGUMENT, kaon_fatten_paths(c.gauge, NULL, f, NULL, NULL));
  must_refuse(NULL, KAON_ERR_ARGUMENT, kaon_fatten_action_coefficients(&o, 2, &coefficients));
  o.svd_absolute = -1;
  must_refuse(c.ctx, KAON_ERR_ARGUMENT, kaon_fatten(c.gauge, &o, f, NULL, NULL));
  coefficients = (kaon_fatten_coefficients){.one = 1e80}; /* |det|^2 is infinite */
  must(c.ctx, kaon_fatten_paths(c.gauge, &coefficients, f, NULL, NULL));
  must_refuse(c.ctx, KAON_ERR_NOT_FINITE, kaon_fatten_unitarise(f, NULL, NULL));
  kaon_gauge_destroy(&f);
  kaon_gauge_destroy(&s);
  kaon_gauge_destroy(&twelve);
  case_close(&other);
  case_close(&c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_reference_has_all_paths),
      cmocka_unit_test(levels_are_those_of_paths_written_out),
      cmocka_unit_test(unit_links_give_sums_of_coefficients),
      cmocka_unit_test(hisq_links_are_those_of_the_reference),
      cmocka_unit_test(links_are_covariant),
      cmocka_unit_test(near_singular_links_go_back_to_u3),
      cmocka_unit_test(unitary_factors_are_newtons),
      cmocka_unit_test(singular_links_are_completed),
      cmocka_unit_test(storage_and_threads_do_not_matter),
      cmocka_unit_test(bad_arguments_are_refused),
  };
  return test_main(tests, NULL, NULL);
}
