/* test_rational.c - rational approximations: Zolotarev's coefficients against x^(-1/2) itself,
 * files of coefficients and their errors, and r(A) on a known spectrum and by identities, on every
 * machine for staggered operators.
 *
 * Bounds. r commutes with everything: (r(A))^n b differs from A^(n p) b by at most ((1 + error)^n
 * - 1) |A^(n p) b|. A solve that stops at tol leaves tol S |input| in each application, with S =
 * sum |residue| / (lo + pole). The other n - 1 applications multiply that by S + |constant| at
 * most. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <kaon/multishift.h>

#include "tests/util/shell_operator.h"
#include "tests/util/staggered_case.h"
#include "tests/util/test_util.h"

#define FOURTH KAON_SOURCE_DIR "/tests/reference/rational_inverse_fourth_root.txt"
#define EIGHTH KAON_SOURCE_DIR "/tests/reference/rational_eighth_root.txt"

static const int extents[4] = {4, 4, 4, 4};

/* The largest |r(x) x^-power - 1| on many points, and how often it comes near there with a new
 * sign. */
static double largest_error(const kaon_rational *r, int *alternations) {
  enum { POINTS = 200000 };
  double worst = 0;
  int sign = 0;
  *alternations = 0;
  for (int i = 0; i <= POINTS; i++) {
    const double x = r->lo * pow(r->hi / r->lo, (double)i / POINTS);
    const double error = kaon_rational_value(r, x) / pow(x, r->power) - 1;
    worst = larger(worst, fabs(error));
    if (fabs(error) > 0.99 * r->error && (error > 0 ? 1 : -1) != sign) {
      sign = error > 0 ? 1 : -1;
      ++*alternations;
    }
  }
  return worst;
}

/* The best approximation of its kind is characterised by 2 terms + 1 extrema of equal size and
 * alternating sign. */
static void zolotarev_is_the_best_approximation(void **state) {
  static const double ratios[] = {10, 1e3, 1e6, 1e10};
  static const int terms[] = {1, 2, 5, 8, 14};
  (void)state;
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 5; j++) {
      kaon_rational r;
      int turns;
      must(NULL, kaon_rational_inverse_root(terms[j], 0.3, 0.3 * ratios[i], &r));
      const double worst = largest_error(&r, &turns);
      printf("  hi / lo %.0e, %2d terms: error %.3e, found %.3e, %d extrema\n", ratios[i], terms[j],
             r.error, worst, turns);
      assert_true(worst <= r.error * (1 + 1e-6) + 1e-14 * terms[j]);
      if (r.error > 1e-11) assert_int_equal(turns, 2 * terms[j] + 1);
      for (int k = 0; k < r.terms; k++) assert_true(r.pole[k] > 0 && r.residue[k] > 0);
    }
  kaon_rational r;
  must_refuse(NULL, KAON_ERR_ARGUMENT, kaon_rational_inverse_root(0, 1, 2, &r));
  must_refuse(NULL, KAON_ERR_ARGUMENT, kaon_rational_inverse_root(65, 1, 2, &r));
  must_refuse(NULL, KAON_ERR_ARGUMENT, kaon_rational_inverse_root(5, 0, 2, &r));
  must_refuse(NULL, KAON_ERR_ARGUMENT, kaon_rational_inverse_root(5, 3, 2, &r));
  must_refuse(NULL, KAON_ERR_ARGUMENT, kaon_rational_inverse_root(5, NAN, 2, &r));
}

static void files_say_what_they_hold(void **state) {
  static const struct {
    const char *path;
    double power;
  } files[] = {{FOURTH, -0.25}, {EIGHTH, 0.125}};
  (void)state;
  for (int i = 0; i < 2; i++) {
    kaon_rational r;
    int turns;
    must(NULL, kaon_rational_read(NULL, files[i].path, &r));
    const double worst = largest_error(&r, &turns);
    printf("  x^%g: %d terms, error %.3e, found %.3e, %d extrema\n", r.power, r.terms, r.error,
           worst, turns);
    assert_true(r.power == files[i].power && r.lo == 0.02 && r.hi == 64.1);
    assert_true(worst <= r.error);
    assert_int_equal(turns, 2 * r.terms + 2);
  }
}

/* Each is refused with the line that is wrong, and *r stays. */
static void wrong_files_are_refused(void **state) {
  static const char head[] = "kaon-rational 1 # a comment\npower -0.5\ninterval 1 2\nerror 0.1\n";
  static const char *const tails[] = {
      "constant 0\nterms 1\n2.4 1.4\n", /* good */
      "constant 0\nterms 2\n2.4 1.4\n",
      "constant 0\nterms 1\n2.4 1.4\n7\n",
      "constant 0\nterms 0\n",
      "constant 0\nterms 65\n",
      "constant 0\nterms 1.5\n2.4 1.4\n",
      "constant nan\nterms 1\n2.4 1.4\n",
      "constant 0\nterms 1\n2.4x 1.4\n",
      "constant 0\nterms 1\n2.9 1.4\n",  /* a wrong residue */
      "constant 0\nterms 1\n1.4 -1.0\n", /* a pole on the interval */
      "constant\nterms 1\n2.4 1.4\n",
      "",
      "const 0\nterms 1\n2.4 1.4\n",
  };
  char path[] = "/tmp/kaon-rational-XXXXXX";
  const int fd = mkstemp(path);
  (void)state;
  assert_true(fd >= 0);
  close(fd);
  for (size_t i = 0; i < sizeof tails / sizeof *tails; i++) {
    kaon_rational r = {.terms = -7};
    FILE *file = fopen(path, "w");
    fprintf(file, "%s%s", head, tails[i]);
    fclose(file);
    if (i == 0) {
      must(NULL, kaon_rational_read(NULL, path, &r));
      assert_int_equal(r.terms, 1);
    } else {
      must_refuse(NULL, KAON_ERR_FORMAT, kaon_rational_read(NULL, path, &r));
      assert_int_equal(r.terms, -7);
    }
  }
  kaon_rational r;
  must_refuse(NULL, KAON_ERR_FORMAT, kaon_rational_read(NULL, KAON_SOURCE_DIR "/README.md", &r));
  unlink(path);
  must_refuse(NULL, KAON_ERR_IO, kaon_rational_read(NULL, path, &r));
  must_refuse(NULL, KAON_ERR_ARGUMENT, kaon_rational_read(NULL, NULL, &r));
}

/* ---- of operators ---- */

static double spread(const kaon_rational *r) {
  double sum = 0;
  for (int i = 0; i < r->terms; i++) sum += fabs(r->residue[i]) / (r->lo + r->pole[i]);
  return sum;
}

/* Of `turns` applications, relative to |A^(turns power) b| >= least |b|. */
static double bound_of(const kaon_rational *r, int turns, double tol, double least) {
  const double s = spread(r), each = s + fabs(r->constant);
  return pow(1 + r->error, turns) - 1 + turns * 1.1 * tol * s * pow(each, turns - 1) / least +
         1e-13;
}

/* Each component of a diagonal matrix has r of its own number. */
static void components_have_r_of_their_eigenvalue(void **state) {
  static const spectrum diagonal = {40, 0.03, 60};
  enum { COLUMNS = 2 };
  const double tol = 1e-12;
  shell_case c;
  kaon_rational r;
  kaon_rational_function *f = NULL;
  (void)state;
  must(NULL, kaon_rational_read(NULL, FOURTH, &r));
  shell_open(&c, extents, 2);
  kaon_operator *A = shell_operator(&c, KAON_DOUBLE, map_diagonal, &diagonal);
  kaon_vector *b = shell_vector(&c, KAON_DOUBLE, COLUMNS),
              *y = shell_vector(&c, KAON_DOUBLE, COLUMNS);
  shell_complex *hb = calloc(c.n, sizeof *hb), *ab = calloc(c.n, sizeof *ab),
                *hy = calloc(c.n, sizeof *hy);
  for (size_t i = 0; i < c.n; i++) hb[i] = 1;
  map_diagonal(&diagonal, 0, c.n, hb, ab); /* the eigenvalues themselves */
  for (int k = 0; k < COLUMNS; k++) shell_import(&c, b, k, hb);
  kaon_multishift_options o = KAON_MULTISHIFT_OPTIONS_INIT;
  kaon_column_report reports[COLUMNS * KAON_MULTISHIFT_MAX];
  kaon_solve_report report = KAON_SOLVE_REPORT_INIT;
  o.tol = tol;
  must(c.ctx, kaon_rational_create(A, &r, &o, &f));
  must(c.ctx, kaon_rational_apply(f, b, y, reports, &report));
  for (int i = 0; i < COLUMNS * r.terms; i++) assert_int_equal(reports[i].reason, KAON_CONVERGED);
  double worst = 0;
  for (int k = 0; k < COLUMNS; k++) {
    shell_export(&c, y, k, hy);
    for (size_t i = 0; i < c.n; i++)
      worst = larger(worst, cabs(hy[i] - kaon_rational_value(&r, creal(ab[i]))));
  }
  printf("  %d applications\n", report.applications);
  test_below("largest difference", worst, 1.1 * tol * spread(&r) * sqrt((double)c.n) + 1e-13);
  must_refuse(c.ctx, KAON_ERR_ALIAS, kaon_rational_apply(f, b, b, NULL, NULL));
  must_refuse(c.ctx, KAON_ERR_ARGUMENT, kaon_rational_apply(f, b, NULL, NULL, NULL));
  kaon_rational_destroy(&f);
  kaon_rational_destroy(&f);
  must_refuse(c.ctx, KAON_ERR_ARGUMENT, kaon_rational_create(A, NULL, &o, &f));
  free(hb);
  free(ab);
  free(hy);
  kaon_vector_destroy(&b);
  kaon_vector_destroy(&y);
  kaon_operator_destroy(&A);
  shell_close(&c);
}

static void norm_of_difference(const kaon_context *ctx, const kaon_vector *a, kaon_vector *b,
                               double *ratio) {
  double a2, d2;
  must(ctx, kaon_vector_norm2(a, &a2));
  must(ctx, kaon_vector_axpy(-1, 0, a, b));
  must(ctx, kaon_vector_norm2(b, &d2));
  *ratio = sqrt(d2 / a2);
}

/* y = r(A) ... r(A) b */
static void repeat(kaon_context *ctx, kaon_operator *A, const kaon_rational *r,
                   const kaon_multishift_options *o, int turns, const kaon_vector *b,
                   kaon_vector *from, kaon_vector *to) {
  kaon_rational_function *f = NULL;
  must(ctx, kaon_rational_create(A, r, o, &f));
  must(ctx, kaon_vector_copy(to, b));
  for (int i = 0; i < turns; i++) {
    must(ctx, kaon_vector_copy(from, to));
    must(ctx, kaon_rational_apply(f, from, to, NULL, NULL));
  }
  kaon_rational_destroy(&f);
}

/* The naive staggered A = 4 mass^2 - D D of mass 0.1 has eigenvalues from 0.04 to 64.04. */
static void roots_on(int machine) {
  const double tol = 1e-12;
  staggered_case s;
  kaon_rational fourth, eighth, root;
  if (!staggered_open(&s, machine, extents, 1, 0)) return;
  kaon_context *ctx = s.c.ctx;
  must(NULL, kaon_rational_read(ctx, FOURTH, &fourth));
  must(NULL, kaon_rational_read(ctx, EIGHTH, &eighth));
  must(NULL, kaon_rational_inverse_root(9, 0.04, 64.1, &root));
  kaon_operator *M = staggered_operator(&s, 0.1, 0, KAON_PHASES_MILC, KAON_DOUBLE,
                                        KAON_RECONSTRUCT_18),
                *A = NULL;
  must(ctx, kaon_staggered_even_odd(M, KAON_EVEN, &A));
  ref_complex **hb = staggered_columns(&s, KAON_EVEN, 1, 3);
  kaon_vector *v[4];
  for (int i = 0; i < 4; i++) v[i] = staggered_vector(&s, KAON_EVEN, KAON_DOUBLE, 1);
  staggered_import(&s, v[0], hb);
  const struct {
    const char *name;
    const kaon_rational *r;
    int turns;
    double least; /* |A^(turns power) b| / |b| */
  } cases[] = {{"(A^(-1/4))^4 b = A^-1 b", &fourth, 4, 1 / 64.04},
               {"(A^(-1/2))^2 b = A^-1 b", &root, 2, 1 / 64.04},
               {"(A^(1/8))^8 b = A b", &eighth, 8, 0.04}};
  for (int i = 0; i < 3; i++) {
    kaon_multishift_options o = KAON_MULTISHIFT_OPTIONS_INIT;
    double difference;
    o.tol = tol;
    o.sloppy = KAON_HALF;
    repeat(ctx, A, cases[i].r, &o, cases[i].turns, v[0], v[1], v[2]);
    if (i < 2) { /* A y = b, which a plain solve need not be trusted for */
      must(ctx, kaon_vector_zero(v[3]));
      kaon_solver_options plain = KAON_SOLVER_OPTIONS_INIT;
      kaon_solver *solver = NULL;
      plain.method = KAON_CG;
      plain.tol = 1e-13;
      must(ctx, kaon_solver_create(A, 1, &plain, &solver));
      must(ctx, kaon_solver_solve(solver, v[0], v[3], NULL, NULL));
      kaon_solver_destroy(&solver);
    } else {
      must(ctx, kaon_operator_apply(A, KAON_PLAIN, v[0], v[3]));
    }
    norm_of_difference(ctx, v[3], v[2], &difference);
    char text[96];
    snprintf(text, sizeof text, "%s, %s", machine_name(machine), cases[i].name);
    test_below(text, difference, bound_of(cases[i].r, cases[i].turns, tol, cases[i].least));
  }
  case_free_columns(hb, 1);
  for (int i = 0; i < 4; i++) kaon_vector_destroy(&v[i]);
  kaon_operator_destroy(&A);
  kaon_operator_destroy(&M);
  staggered_close(&s);
}

static void roots_taken_again_are_the_whole(void **state) {
  (void)state;
  for (int machine = KAON_ISA_SCALAR; machine <= MACHINE_LAST; machine++) roots_on(machine);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(zolotarev_is_the_best_approximation),
      cmocka_unit_test(files_say_what_they_hold),
      cmocka_unit_test(wrong_files_are_refused),
      cmocka_unit_test(components_have_r_of_their_eigenvalue),
      cmocka_unit_test(roots_taken_again_are_the_whole),
  };
  return test_main(tests, NULL, NULL);
}
