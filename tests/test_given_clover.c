/* test_given_clover.c - clover terms that an application hands over: the reference's term gives the
 * operator that kaon makes from links, in every precision and form, with and without twisted mass.
 * What was made of the operator follows a new term; terms that cannot be taken are refused. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/operator/operator_internal.h"
#include "tests/util/dirac_case.h"
#include "tests/util/test_util.h"

static const double kappa = 0.124, csw = 0.7, electric = 0.6, twist = 0.9;
static const int plain_extents[4] = {4, 6, 2, 10}, split_extents[4] = {8, 4, 4, 8};
enum { FORMS = 3 };

/* Number of a site in an application's order. */
static size_t number_of(const ref_lattice *L, kaon_gauge_order order, size_t x) {
  return order == KAON_ORDER_NATURAL ? x : (size_t)ref_parity(L, x) * ref_volume(L) / 2 + x / 2;
}

/* The 36 reals of one 6x6 block of a 12x12 matrix. */
static void pack_block(const ref_complex a[144], int chirality, double to[36]) {
  for (int i = 0; i < 6; i++) to[i] = creal(a[13 * (6 * chirality + i)]);
  to += 6;
  for (int column = 0; column < 6; column++)
    for (int row = column + 1; row < 6; row++, to += 2) {
      const ref_complex z = a[12 * (6 * chirality + row) + 6 * chirality + column];
      to[0] = creal(z);
      to[1] = cimag(z);
    }
}

/* The clover term of the case's links as an application has it. */
static void *term_of(const dirac_case *c, kaon_gauge_order order, kaon_precision precision) {
  const size_t reals = 72 * ref_volume(&c->L);
  double *term = ref_alloc(reals, sizeof *term);
  for (size_t x = 0; x < ref_volume(&c->L); x++) {
    ref_complex a[144];
    ref_clover_site(&c->L, c->u, kappa, csw, electric, REF_DEGRAND_ROSSI, x, a);
    for (int i = 0; i < 2; i++)
      pack_block(a, i, term + 72 * number_of(&c->L, order, x) + (size_t)(36 * i));
  }
  if (precision == KAON_DOUBLE) return term;
  float *narrow = ref_alloc(reals, sizeof *narrow);
  for (size_t i = 0; i < reals; i++) narrow[i] = (float)term[i];
  free(term);
  return narrow;
}

static kaon_dirac_options options_of(double cs, double mu, kaon_precision precision) {
  kaon_dirac_options options = KAON_DIRAC_OPTIONS_INIT;
  options.kappa = kappa;
  options.csw = cs;
  options.csw_electric = electric;
  options.mu = mu;
  options.precision = precision;
  return options;
}

static kaon_operator *own_operator(dirac_case *c, double mu, kaon_precision precision) {
  const kaon_dirac_options options = options_of(csw, mu, precision);
  kaon_operator *M = NULL;
  must(c->ctx, kaon_dirac_create(c->gauge, &options, &M));
  return M;
}

static kaon_operator *given_operator(dirac_case *c, double mu, kaon_precision precision,
                                     kaon_gauge_order order, kaon_precision host,
                                     const void *term) {
  const kaon_dirac_options options = options_of(0, mu, precision);
  kaon_operator *M = NULL;
  must(c->ctx, kaon_dirac_create_clover(c->gauge, &options, order, host, term, &M));
  return M;
}

/* A x or A^dagger x on the host. */
static ref_complex *applied(dirac_case *c, kaon_operator *A, int dagger, ref_complex *const *psi) {
  kaon_vector *x = NULL, *y = NULL;
  must(c->ctx,
       kaon_vector_create(c->ctx, kaon_operator_space(A), kaon_operator_precision(A), 1, &x));
  must(c->ctx,
       kaon_vector_create(c->ctx, kaon_operator_space(A), kaon_operator_precision(A), 1, &y));
  case_import(c, x, psi);
  must(c->ctx, kaon_operator_apply(A, (kaon_mode)dagger, x, y));
  ref_complex *out = case_export(c, y, 0);
  kaon_vector_destroy(&x);
  kaon_vector_destroy(&y);
  return out;
}

/* ---- the same operator ---- */

/* Difference of two operators over |x|: each is off by the bound of tests/test_twisted.c, with w =
 * |A - 1| <= 6 kappa csw, which holds without a twist too. A term in single precision adds a
 * rounding of the blocks, which e_clover has already. */
static double bound_of(kaon_precision precision) {
  const rounding r = case_rounding_rms(precision, KAON_RECONSTRUCT_18);
  const double w = 6 * kappa * csw, inverse = 1 / (1 - w), whole = 1 + w + 2 * kappa * twist;
  const double site = 3 * r.e_clover + 2 * r.e_store, size = 4 * kappa * inverse;
  const double hop = kappa * inverse * (r.e_hop + 4 * site);
  return 2 * 3 * sqrt(2) * (2 * hop * (1 + size) + whole * inverse * site * (1 + size * size));
}

/* The worst difference over |x| of all forms and modes. */
static double compare(dirac_case *c, kaon_operator *const M[2]) {
  static const kaon_even_odd forms[] = {KAON_EVEN_ODD_SYMMETRIC, KAON_EVEN_ODD_ASYMMETRIC};
  const size_t n = ref_spinor_size(&c->L);
  ref_complex **psi = case_random_columns(c, 1, 7);
  double worst = 0;
  for (int i = 0; i < 2 * FORMS; i++) {
    ref_complex *out[2];
    for (int j = 0; j < 2; j++) {
      kaon_operator *A = i / 2 < 2 ? case_even_odd(c, M[j], forms[i / 2], KAON_ODD, 0) : M[j];
      out[j] = applied(c, A, i % 2, psi);
      if (i / 2 < 2) kaon_operator_destroy(&A);
    }
    worst = larger(
        worst, ref_rel_diff(out[1], out[0], n) * sqrt(ref_norm2(out[0], n) / ref_norm2(psi[0], n)));
    for (int j = 0; j < 2; j++) free(out[j]);
  }
  case_free_columns(psi, 1);
  return worst;
}

static void check_equal(const int extents[4], kaon_gauge_order order) {
  for (int isa = KAON_ISA_SCALAR; isa <= MACHINE_LAST; isa++) {
    dirac_case c;
    if (!case_open(&c, isa, extents, 1, LINKS_RANDOM, 11)) continue;
    for (int i = 0; i < 6; i++) {
      const kaon_precision precision = (kaon_precision)(i / 2);
      const kaon_precision host = precision == KAON_DOUBLE ? KAON_DOUBLE : KAON_SINGLE;
      const double mu = i % 2 * twist;
      void *term = term_of(&c, order, host);
      kaon_operator *M[2] = {own_operator(&c, mu, precision),
                             given_operator(&c, mu, precision, order, host, term)};
      char what[80];
      free(term); /* it was copied */
      snprintf(what, sizeof what, "%s %s, mu %.1f, order %d", isa_names[isa],
               precision_names[precision], mu, (int)order);
      test_below(what, compare(&c, M), bound_of(precision));
      for (int j = 0; j < 2; j++) kaon_operator_destroy(&M[j]);
    }
    case_close(&c);
  }
}

static void a_given_term_makes_the_operator_of_the_links(void **state) {
  (void)state;
  check_equal(plain_extents, KAON_ORDER_MILC);
  check_equal(split_extents, KAON_ORDER_NATURAL);
}

static void determinant_and_diagonal_are_those_of_the_term(void **state) {
  (void)state;
  dirac_case c;
  assert_true(case_open(&c, KAON_ISA_AUTO, plain_extents, 1, LINKS_RANDOM, 12));
  void *term = term_of(&c, KAON_ORDER_NATURAL, KAON_DOUBLE);
  kaon_operator *M[2] = {own_operator(&c, 0, KAON_SINGLE),
                         given_operator(&c, 0, KAON_SINGLE, KAON_ORDER_NATURAL, KAON_DOUBLE, term)};
  const double v = (double)ref_volume(&c.L);
  double logdet[2], worst = 0;
  kaon_vector *d[2];
  for (int i = 0; i < 2; i++) {
    must(c.ctx, kaon_dirac_clover_logdet(M[i], KAON_FULL, &logdet[i], NULL));
    d[i] = case_vector(&c, KAON_FULL, KAON_SINGLE, 1);
    must(c.ctx, M[i]->ops->diagonal(M[i], d[i]));
  }
  /* tests/test_clover_term.c: 12 pivots a site, each off by its condition, below 1e3 */
  test_close("log |det A|", logdet[1], logdet[0], 12 * 1e3 * v * 0x1p-53);
  ref_complex *a = case_export(&c, d[0], 0), *b = case_export(&c, d[1], 0);
  for (size_t i = 0; i < ref_spinor_size(&c.L); i++) worst = larger(worst, cabs(a[i] - b[i]));
  /* a component of the basis inside is half a sum of two elements below 2; they round to single */
  test_below("diagonal", worst, 4 * 0x1p-24);
  for (int i = 0; i < 2; i++) {
    kaon_vector_destroy(&d[i]);
    kaon_operator_destroy(&M[i]);
  }
  free(a), free(b), free(term);
  case_close(&c);
}

/* ---- changes ---- */

static void solve(dirac_case *c, kaon_solver *solver, kaon_vector *b) {
  kaon_column_report report;
  kaon_vector *x = case_vector(c, KAON_FULL, KAON_DOUBLE, 1);
  must(c->ctx, kaon_vector_zero(x));
  must(c->ctx, kaon_solver_solve(solver, b, x, &report, NULL));
  assert_int_equal(report.reason, KAON_CONVERGED);
  assert_true(report.residual <= 1.1e-9);
  kaon_vector_destroy(&x);
}

/* The operator, its reduction and the twin inside a solver take a new term and new links. Until
 * then they are stale. */
static void what_was_made_follows_a_new_term(void **state) {
  (void)state;
  static const int origin[4] = {0, 0, 0, 0};
  kaon_solver_options options = KAON_SOLVER_OPTIONS_INIT;
  dirac_case c;
  assert_true(case_open(&c, KAON_ISA_AUTO, split_extents, 1, LINKS_WEAK, 13));
  void *term = term_of(&c, KAON_ORDER_NATURAL, KAON_DOUBLE);
  kaon_operator *M = given_operator(&c, 0, KAON_DOUBLE, KAON_ORDER_NATURAL, KAON_DOUBLE, term);
  kaon_operator *S = case_even_odd(&c, M, KAON_EVEN_ODD_SYMMETRIC, KAON_EVEN, 0);
  kaon_vector *b = case_vector(&c, KAON_FULL, KAON_DOUBLE, 1);
  kaon_solver *solver = NULL;
  options.method = KAON_BICGSTAB;
  options.sloppy = KAON_HALF;
  options.tol = 1e-9;
  must(c.ctx, kaon_source_point(b, origin));
  must(c.ctx, kaon_solver_create(S, 1, &options, &solver));
  solve(&c, solver, b);
  free(term);

  ref_weak_links(&c.L, c.u, 0.2, 14);
  case_import_links(&c);
  kaon_vector *y = case_vector(&c, KAON_FULL, KAON_DOUBLE, 1);
  must_refuse(c.ctx, KAON_ERR_STALE, kaon_operator_apply(M, KAON_PLAIN, b, y));
  assert_non_null(strstr(kaon_last_error(c.ctx), "kaon_dirac_set_clover"));
  must_refuse(c.ctx, KAON_ERR_UNSUPPORTED, kaon_dirac_update(S));
  assert_non_null(strstr(kaon_last_error(c.ctx), "kaon_dirac_set_clover"));
  term = term_of(&c, KAON_ORDER_MILC, KAON_DOUBLE);
  must(c.ctx, kaon_dirac_set_clover(S, KAON_ORDER_MILC, KAON_DOUBLE, term));
  kaon_operator *fresh = given_operator(&c, 0, KAON_DOUBLE, KAON_ORDER_MILC, KAON_DOUBLE, term);
  kaon_operator *const both[2] = {fresh, M};
  assert_true(compare(&c, both) == 0);
  solve(&c, solver, b);
  kaon_vector_destroy(&y);
  kaon_vector_destroy(&b);
  kaon_solver_destroy(&solver);
  kaon_operator_destroy(&fresh);
  kaon_operator_destroy(&S);
  kaon_operator_destroy(&M);
  free(term);
  case_close(&c);
}

/* ---- refusals ---- */

static void terms_that_are_not_finite_or_singular_are_refused(void **state) {
  (void)state;
  static const int site[4] = {1, 2, 0, 3};
  dirac_case c;
  assert_true(case_open(&c, KAON_ISA_AUTO, plain_extents, 1, LINKS_RANDOM, 15));
  ref_complex **psi = case_random_columns(&c, 1, 3);
  double *term = term_of(&c, KAON_ORDER_NATURAL, KAON_DOUBLE);
  double *block = term + 72 * ref_site(&c.L, site) + 36, own[36];
  kaon_operator *M = given_operator(&c, 0, KAON_DOUBLE, KAON_ORDER_NATURAL, KAON_DOUBLE, term);
  kaon_operator *S = case_even_odd(&c, M, KAON_EVEN_ODD_ASYMMETRIC, KAON_ODD, 0);
  ref_complex *before = applied(&c, S, 0, psi);
  memcpy(own, block, sizeof own);

  block[35] = NAN;
  must_refuse(c.ctx, KAON_ERR_NOT_FINITE,
              kaon_dirac_set_clover(M, KAON_ORDER_NATURAL, KAON_DOUBLE, term));
  assert_non_null(strstr(kaon_last_error(c.ctx), "(1, 2, 0, 3)"));
  ref_complex *after = applied(&c, S, 0, psi); /* it still has the former term */
  assert_memory_equal(before, after, ref_spinor_size(&c.L) * sizeof *after);
  free(after);

  memset(block, 0, sizeof own);
  must_refuse(c.ctx, KAON_ERR_SINGULAR,
              kaon_dirac_set_clover(M, KAON_ORDER_NATURAL, KAON_DOUBLE, term));
  assert_non_null(strstr(kaon_last_error(c.ctx), "(1, 2, 0, 3) of the given term"));
  kaon_vector *x = case_vector(&c, KAON_ODD, KAON_DOUBLE, 1), *y = NULL;
  must(c.ctx, kaon_vector_create(c.ctx, kaon_operator_space(S), KAON_DOUBLE, 1, &y));
  must_refuse(c.ctx, KAON_ERR_STALE, kaon_operator_apply(S, KAON_PLAIN, x, y));
  memcpy(block, own, sizeof own);
  must(c.ctx, kaon_dirac_set_clover(M, KAON_ORDER_NATURAL, KAON_DOUBLE, term));
  after = applied(&c, S, 0, psi);
  assert_memory_equal(before, after, ref_spinor_size(&c.L) * sizeof *after);
  kaon_vector_destroy(&x);
  kaon_vector_destroy(&y);
  free(before), free(after), free(term);
  case_free_columns(psi, 1);
  kaon_operator_destroy(&S);
  kaon_operator_destroy(&M);
  case_close(&c);
}

static void wrong_calls_are_refused(void **state) {
  (void)state;
  dirac_case c;
  assert_true(case_open(&c, KAON_ISA_AUTO, plain_extents, 1, LINKS_RANDOM, 16));
  double *term = term_of(&c, KAON_ORDER_NATURAL, KAON_DOUBLE);
  const kaon_dirac_options with_csw = options_of(csw, 0, KAON_DOUBLE);
  kaon_even_odd_options temporal = KAON_EVEN_ODD_OPTIONS_INIT;
  kaon_operator *M = NULL, *S = NULL;
  must_refuse(c.ctx, KAON_ERR_ARGUMENT,
              kaon_dirac_create_clover(c.gauge, &with_csw, KAON_ORDER_MILC, KAON_DOUBLE, term, &M));
  must_refuse(c.ctx, KAON_ERR_ARGUMENT,
              kaon_dirac_create_clover(c.gauge, NULL, KAON_ORDER_QDP, KAON_DOUBLE, term, &M));
  must_refuse(c.ctx, KAON_ERR_ARGUMENT,
              kaon_dirac_create_clover(c.gauge, NULL, KAON_ORDER_MILC, KAON_HALF, term, &M));
  must_refuse(c.ctx, KAON_ERR_ARGUMENT,
              kaon_dirac_create_clover(c.gauge, NULL, KAON_ORDER_MILC, KAON_DOUBLE, NULL, &M));
  assert_null(M);
  M = own_operator(&c, 0, KAON_DOUBLE);
  must_refuse(c.ctx, KAON_ERR_UNSUPPORTED,
              kaon_dirac_set_clover(M, KAON_ORDER_NATURAL, KAON_DOUBLE, term));
  kaon_operator_destroy(&M);
  M = given_operator(&c, 0, KAON_DOUBLE, KAON_ORDER_NATURAL, KAON_DOUBLE, term);
  temporal.temporal_gauge = 1;
  must_refuse(c.ctx, KAON_ERR_UNSUPPORTED, kaon_dirac_even_odd(M, &temporal, &S));
  assert_null(S);
  kaon_operator_destroy(&M);
  free(term);
  case_close(&c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_given_term_makes_the_operator_of_the_links),
      cmocka_unit_test(determinant_and_diagonal_are_those_of_the_term),
      cmocka_unit_test(what_was_made_follows_a_new_term),
      cmocka_unit_test(terms_that_are_not_finite_or_singular_are_refused),
      cmocka_unit_test(wrong_calls_are_refused),
  };
  return test_main(tests, NULL, NULL);
}
