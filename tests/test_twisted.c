/* test_twisted.c - twisted mass of one flavour, with and without clover term: operators and their
 * adjoints against the reference, exact identities, the free propagator at all momenta, solutions
 * in every form. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "dslash/dslash_ops.h"
#include "lib/core/context_internal.h"
#include "tests/util/dirac_case.h"
#include "tests/util/test_util.h"

static const double kappa = 0.124, csw = 0.7, mu = 0.9;
static const int plain_extents[4] = {4, 6, 2, 10}, split_extents[4] = {8, 4, 4, 8};
enum { COLUMNS = 3, FORMS = 3 };

static kaon_operator *twisted(dirac_case *c, double k, double cs, double m, double anisotropy,
                              kaon_precision precision, kaon_reconstruct reconstruct) {
  kaon_dirac_options options = KAON_DIRAC_OPTIONS_INIT;
  options.kappa = k;
  options.csw = cs;
  options.mu = m;
  options.anisotropy = anisotropy;
  options.precision = precision;
  options.reconstruct = reconstruct;
  kaon_operator *M = NULL;
  must(c->ctx, kaon_dirac_create(c->gauge, &options, &M));
  return M;
}

/* M, or its reduction to `parity`. The caller destroys both. */
static kaon_operator *in_form(dirac_case *c, kaon_operator *M, int form, int parity) {
  static const kaon_even_odd forms[FORMS] = {KAON_EVEN_ODD_SYMMETRIC, KAON_EVEN_ODD_ASYMMETRIC,
                                             KAON_EVEN_ODD_NONE};
  return case_even_odd(c, M, forms[form], (kaon_parity)parity, 0);
}

/* ---- against the reference ---- */

/* Errors over |x|. |T| <= 1 + w + a with w = 6 kappa csw; the norm of T^-1 is at most 1 / (1 - w),
 * and D x has size 4 |x|. Two hops, each with T^-1, and T. Without the clover term a hop is stored
 * once. With it T^-1 is a kernel of its own, which reads two clover blocks and stores again. */
static double bound_of(kaon_precision precision, kaon_reconstruct storage, double cs) {
  const rounding r = case_rounding_rms(precision, storage);
  const double w = 6 * kappa * cs, inverse = 1 / (1 - w), whole = 1 + w + 2 * kappa * mu;
  const double site = cs != 0 ? 2 * r.e_clover + 2 * r.e_store : r.e_store;
  const double hop = kappa * inverse * (r.e_hop + 4 * site), size = 4 * kappa * inverse;
  return 3 * sqrt(2) * (2 * hop * (1 + size) + whole * inverse * site * (1 + size * size));
}

static void reference_of(const ref_dirac *d, int form, int parity, int dagger,
                         const ref_complex *in, ref_complex *out) {
  if (form == 2)
    (dagger ? ref_apply_dagger : ref_apply)(d, in, out);
  else
    (dagger ? ref_schur_dagger : ref_schur)(d, parity, form == 0, in, out);
}

/* The worst error over the bound, of all forms, parities and modes. block: not NULL: of the
 * operators cut into such blocks. */
static double compare_all(dirac_case *c, kaon_operator *M, const ref_dirac d[2], double bound,
                          const int block[4]) {
  const size_t n = ref_spinor_size(&c->L);
  double worst = 0;
  for (int i = 0; i < 4 * FORMS; i++) {
    const int form = i / 4, parity = i / 2 % 2, dagger = i % 2;
    if (form == 2 && parity == 1) continue;
    kaon_operator *whole = in_form(c, M, form, parity), *A = whole;
    if (block != NULL)
      must(c->ctx, kaon_operator_local_part(whole, block, kaon_operator_precision(M),
                                            KAON_RECONSTRUCT_12, &A));
    const kaon_parity sites = form == 2 ? KAON_FULL : (kaon_parity)parity;
    kaon_vector *x = case_vector(c, sites, kaon_operator_precision(A), COLUMNS);
    kaon_vector *y = case_vector(c, sites, kaon_operator_precision(A), COLUMNS);
    ref_complex **psi = case_random_columns(c, COLUMNS, 5), *expected = ref_new(n);
    case_import(c, x, psi);
    must(c->ctx, kaon_operator_apply(A, (kaon_mode)dagger, x, y));
    for (int k = 0; k < COLUMNS; k += COLUMNS - 1) {
      memset(expected, 0, n * sizeof *expected);
      reference_of(&d[dagger], form, parity, dagger, psi[k], expected);
      if (form < 2) case_restrict(c, parity, expected);
      if (form < 2) case_restrict(c, parity, psi[k]);
      ref_complex *got = case_export(c, y, k);
      const double size = sqrt(ref_norm2(expected, n) / ref_norm2(psi[k], n));
      worst = larger(worst, ref_rel_diff(got, expected, n) * size / bound);
      free(got);
    }
    free(expected);
    case_free_columns(psi, COLUMNS);
    kaon_vector_destroy(&x);
    kaon_vector_destroy(&y);
    if (block != NULL) kaon_operator_destroy(&A);
    kaon_operator_destroy(&whole);
  }
  return worst;
}

static void matches_reference(const int extents[4], double cs) {
  static const kaon_reconstruct storages[3] = {KAON_RECONSTRUCT_18, KAON_RECONSTRUCT_12,
                                               KAON_RECONSTRUCT_8};
  for (int isa = KAON_ISA_SCALAR; isa <= MACHINE_LAST; isa++) {
    dirac_case c;
    if (!case_open(&c, isa, extents, 1, LINKS_RANDOM, 11)) continue;
    ref_dirac d[2];
    for (int dagger = 0; dagger < 2; dagger++) {
      d[dagger] = case_reference(&c, kappa, cs, 0.9);
      ref_dirac_twist(&d[dagger], dagger ? -mu : mu);
    }
    for (int i = 0; i < 9; i++) {
      const kaon_precision precision = (kaon_precision)(i / 3);
      const double bound = bound_of(precision, storages[i % 3], cs);
      kaon_operator *M = twisted(&c, kappa, cs, mu, 0.9, precision, storages[i % 3]);
      char what[96];
      snprintf(what, sizeof what, "%dx%dx%dx%d %s %s r%d csw %.1f", extents[0], extents[1],
               extents[2], extents[3], isa_names[isa], precision_names[precision],
               (int)storages[i % 3], cs);
      test_below(what, compare_all(&c, M, d, bound, NULL) * bound, bound);
      kaon_operator_destroy(&M);
    }
    for (int dagger = 0; dagger < 2; dagger++) ref_dirac_free(&d[dagger]);
    case_close(&c);
  }
}

static void test_operators_match_the_reference(void **state) {
  (void)state;
  for (int clover = 0; clover < 2; clover++) {
    matches_reference(plain_extents, clover * csw);
    matches_reference(split_extents, clover * csw);
  }
}

/* Without the clover term T and T^-1 are part of the hops: a machine without the kernel of T alone
 * applies M and the asymmetric reduction, in both modes. */
static void test_hops_apply_the_twist(void **state) {
  (void)state;
  dirac_case c;
  assert_true(case_open(&c, KAON_ISA_AUTO, split_extents, 1, LINKS_RANDOM, 12));
  kaon_backend backend = *c.ctx->backend;
  kaon_dslash_ops ops = *backend.dslash[KAON_HALF];
  ops.twist = NULL;
  backend.dslash[KAON_HALF] = &ops;
  kaon_operator *M = twisted(&c, kappa, 0, mu, 1, KAON_HALF, KAON_RECONSTRUCT_12);
  for (int form = 1; form < FORMS; form++) {
    kaon_operator *A = in_form(&c, M, form, 1);
    const kaon_parity sites = form == 2 ? KAON_FULL : KAON_ODD;
    kaon_vector *x = case_vector(&c, sites, KAON_HALF, COLUMNS);
    kaon_vector *y = case_vector(&c, sites, KAON_HALF, COLUMNS);
    const kaon_backend *own = c.ctx->backend;
    c.ctx->backend = &backend;
    for (int mode = KAON_PLAIN; mode <= KAON_DAGGER; mode++)
      must(c.ctx, kaon_operator_apply(A, (kaon_mode)mode, x, y));
    c.ctx->backend = own;
    kaon_vector_destroy(&x);
    kaon_vector_destroy(&y);
    kaon_operator_destroy(&A);
  }
  kaon_operator_destroy(&M);
  case_close(&c);
}

/* ---- identities ---- */

/* <y, A x> = <A^dagger y, x>, without any use of gamma_5. */
static void test_dagger_is_the_adjoint(void **state) {
  (void)state;
  dirac_case c;
  assert_true(case_open(&c, KAON_ISA_AUTO, split_extents, 1, LINKS_RANDOM, 12));
  ref_complex **x = case_random_columns(&c, 1, 3), **y = case_random_columns(&c, 1, 4);
  for (int i = 0; i < 2 * FORMS; i++) {
    kaon_operator *M = twisted(&c, kappa, i % 2 * csw, mu, 1, KAON_DOUBLE, KAON_RECONSTRUCT_18);
    kaon_operator *A = in_form(&c, M, i / 2, 1);
    kaon_vector *v[4];
    for (int j = 0; j < 4; j++)
      must(c.ctx, kaon_vector_create(c.ctx, kaon_operator_space(A), KAON_DOUBLE, 1, &v[j]));
    case_import(&c, v[0], x);
    case_import(&c, v[1], y);
    must(c.ctx, kaon_operator_apply(A, KAON_PLAIN, v[0], v[2]));
    must(c.ctx, kaon_operator_apply(A, KAON_DAGGER, v[1], v[3]));
    double left[2], right[2], nx, ny;
    must(c.ctx, kaon_vector_dot(v[1], v[2], &left));
    must(c.ctx, kaon_vector_dot(v[3], v[0], &right));
    must(c.ctx, kaon_vector_norm2(v[0], &nx));
    must(c.ctx, kaon_vector_norm2(v[1], &ny));
    test_below("<y, A x> - <A^dag y, x> over |x| |y|",
               hypot(left[0] - right[0], left[1] - right[1]) / sqrt(nx * ny),
               bound_of(KAON_DOUBLE, KAON_RECONSTRUCT_18, csw));
    for (int j = 0; j < 4; j++) kaon_vector_destroy(&v[j]);
    kaon_operator_destroy(&A);
    kaon_operator_destroy(&M);
  }
  case_free_columns(x, 1);
  case_free_columns(y, 1);
  case_close(&c);
}

/* M(mu)^dagger = gamma_5 M(-mu) gamma_5. */
static void test_dagger_is_the_other_flavour(void **state) {
  (void)state;
  dirac_case c;
  ref_complex gamma_5[16];
  ref_gamma(REF_UKQCD, 4, gamma_5);
  assert_true(case_open(&c, KAON_ISA_AUTO, plain_extents, 1, LINKS_RANDOM, 13));
  ref_complex **x = case_random_columns(&c, 1, 3);
  for (int clover = 0; clover < 2; clover++) {
    kaon_operator *M[2];
    for (int i = 0; i < 2; i++)
      M[i] = twisted(&c, kappa, clover * csw, i ? -mu : mu, 1, KAON_DOUBLE, KAON_RECONSTRUCT_18);
    kaon_vector *in = case_vector(&c, KAON_FULL, KAON_DOUBLE, 1);
    kaon_vector *out = case_vector(&c, KAON_FULL, KAON_DOUBLE, 1);
    ref_complex *turned = ref_new(ref_spinor_size(&c.L));
    ref_spin_multiply(&c.L, gamma_5, x[0], turned);
    case_import(&c, in, &turned);
    must(c.ctx, kaon_operator_apply(M[1], KAON_PLAIN, in, out));
    ref_complex *expected = case_export(&c, out, 0);
    ref_spin_multiply(&c.L, gamma_5, expected, expected);
    case_import(&c, in, x);
    must(c.ctx, kaon_operator_apply(M[0], KAON_DAGGER, in, out));
    test_below("M(mu)^dagger - gamma_5 M(-mu) gamma_5", case_deviation(&c, out, &expected),
               bound_of(KAON_DOUBLE, KAON_RECONSTRUCT_18, clover * csw));
    free(turned);
    free(expected);
    kaon_vector_destroy(&in);
    kaon_vector_destroy(&out);
    for (int i = 0; i < 2; i++) kaon_operator_destroy(&M[i]);
  }
  case_free_columns(x, 1);
  case_close(&c);
}

/* A mu that changes no number in double gives Wilson's bits, and so does mu = 0. */
static void test_no_twist_has_the_bits_of_wilson(void **state) {
  (void)state;
  static const double twists[] = {0, 1e-40};
  dirac_case c;
  assert_true(case_open(&c, KAON_ISA_AUTO, split_extents, 1, LINKS_RANDOM, 14));
  const size_t n = ref_spinor_size(&c.L);
  ref_complex **x = case_random_columns(&c, 1, 3);
  for (int i = 0; i < 2 * FORMS; i++) {
    ref_complex *found[3];
    for (int j = 0; j < 3; j++) {
      const double m = j < 2 ? twists[j] : 0;
      kaon_operator *M = j < 2 ? twisted(&c, kappa, 0, m, 1, KAON_DOUBLE, KAON_RECONSTRUCT_12)
                               : case_dirac(&c, kappa, 0, 1, KAON_DOUBLE, KAON_RECONSTRUCT_12);
      kaon_operator *A = in_form(&c, M, i / 2, 0);
      kaon_vector *v[2];
      for (int k = 0; k < 2; k++)
        must(c.ctx, kaon_vector_create(c.ctx, kaon_operator_space(A), KAON_DOUBLE, 1, &v[k]));
      case_import(&c, v[0], x);
      must(c.ctx, kaon_operator_apply(A, (kaon_mode)(i % 2), v[0], v[1]));
      found[j] = case_export(&c, v[1], 0);
      for (int k = 0; k < 2; k++) kaon_vector_destroy(&v[k]);
      kaon_operator_destroy(&A);
      kaon_operator_destroy(&M);
    }
    assert_memory_equal(found[0], found[2], n * sizeof **found);
    /* the two sums of a x + b D in are rounded once more or once less */
    test_below("mu = 1e-40 against Wilson", ref_rel_diff(found[1], found[2], n), 4 * DBL_EPSILON);
    for (int j = 0; j < 3; j++) free(found[j]);
  }
  case_free_columns(x, 1);
  case_close(&c);
}

/* ---- solutions ---- */

/* X = M^-1 of the point sources at the origin, by the library's solver on A. */
static void propagator(dirac_case *c, kaon_operator *A, kaon_method method, kaon_precision sloppy,
                       double tol, const kaon_vector *b, kaon_vector *x) {
  kaon_solver_options options = KAON_SOLVER_OPTIONS_INIT;
  kaon_column_report report[12];
  kaon_solver *solver = NULL;
  const int columns = kaon_vector_columns(b);
  options.method = method;
  options.sloppy = sloppy;
  options.tol = tol;
  options.max_iterations = 20000;
  must(c->ctx, kaon_vector_zero(x));
  must(c->ctx, kaon_solver_create(A, columns, &options, &solver));
  must(c->ctx, kaon_solver_solve(solver, b, x, report, NULL));
  for (int k = 0; k < columns; k++) {
    assert_int_equal(report[k].reason, KAON_CONVERGED);
    assert_true(report[k].residual <= 1.1 * tol);
  }
  kaon_solver_destroy(&solver);
}

/* With S = 2 kappa M^-1: sum_x tr S^dagger S(x, 0) = -Im tr gamma_5 S(0, 0) / mu on any links. The
 * error of either side is that of a solution, tol times the condition number, relative to |X|. */
static void test_norm_is_the_imaginary_part_of_gamma_5(void **state) {
  (void)state;
  static const int origin[4] = {0, 0, 0, 0}, extents[4] = {4, 4, 4, 4};
  const double m = 0.4, tol = 3e-15;
  ref_complex gamma_5[16];
  ref_gamma(REF_UKQCD, 4, gamma_5);
  dirac_case c;
  assert_true(case_open(&c, KAON_ISA_AUTO, extents, 1, LINKS_RANDOM, 15));
  for (int i = 0; i < 2 * FORMS; i++) {
    kaon_operator *M = twisted(&c, 0.13, i % 2 * 0.5, m, 1, KAON_DOUBLE, KAON_RECONSTRUCT_18);
    kaon_operator *A = in_form(&c, M, i / 2, 0);
    kaon_vector *b = case_vector(&c, KAON_FULL, KAON_DOUBLE, 12);
    kaon_vector *x = case_vector(&c, KAON_FULL, KAON_DOUBLE, 12);
    must(c.ctx, kaon_source_point(b, origin));
    propagator(&c, A, KAON_CGNR, KAON_DOUBLE, tol, b, x);
    double norm = 0, imaginary = 0;
    for (int k = 0; k < 12; k++) {
      ref_complex *column = case_export(&c, x, k);
      norm += ref_norm2(column, ref_spinor_size(&c.L));
      for (int s = 0; s < 4; s++)
        imaginary += cimag(gamma_5[4 * (k / 3) + s] * column[3 * s + k % 3]);
      free(column);
    }
    char what[80];
    snprintf(what, sizeof what, "mu identity, form %d, csw %.1f", i / 2, i % 2 * 0.5);
    test_below(what, fabs(1 + imaginary / (2 * 0.13 * m * norm)), 1e-12);
    kaon_vector_destroy(&b);
    kaon_vector_destroy(&x);
    kaon_operator_destroy(&A);
    kaon_operator_destroy(&M);
  }
  case_close(&c);
}

/* On unit links X(p) = (C - i sum gamma_k S_k - i a gamma_5) / (C^2 + S^2 + a^2). */
static double free_deviation(const dirac_case *c, ref_complex *const *x, double k, double m) {
  const size_t volume = ref_volume(&c->L);
  const double a = 2 * k * m;
  ref_complex gamma_5[16];
  double worst = 0;
  ref_gamma(REF_UKQCD, 4, gamma_5);
  for (size_t mode = 0; mode < volume; mode++) {
    int n[4], y[4];
    double p[4], norm = 0;
    ref_complex symbol[16], got[16] = {0};
    ref_coords(&c->L, mode, n);
    ref_momentum(&c->L, c->antiperiodic, n, p);
    ref_free_symbol(k, 1, p, symbol);
    /* symbol^dagger symbol = norm */
    for (int i = 0; i < 4; i++) norm += cabs(symbol[4 * i]) * cabs(symbol[4 * i]);
    for (size_t site = 0; site < volume; site++) {
      ref_coords(&c->L, site, y);
      const double angle = p[0] * y[0] + p[1] * y[1] + p[2] * y[2] + p[3] * y[3];
      const ref_complex wave = cexp(-I * angle);
      for (int s = 0; s < 4; s++)
        for (int r = 0; r < 4; r++) got[4 * s + r] += wave * x[3 * r][12 * site + 3 * (size_t)s];
    }
    for (int s = 0; s < 4; s++)
      for (int r = 0; r < 4; r++) {
        const ref_complex expected =
            (conj(symbol[4 * r + s]) - I * a * gamma_5[4 * s + r]) / (norm + a * a);
        worst = fmax(worst, cabs(got[4 * s + r] - expected));
      }
  }
  return worst;
}

static void test_free_propagator_is_exact_at_all_momenta(void **state) {
  (void)state;
  static const int origin[4] = {0, 0, 0, 0}, extents[4] = {4, 4, 4, 8};
  dirac_case c;
  assert_true(case_open(&c, KAON_ISA_AUTO, extents, 1, LINKS_UNIT, 1));
  for (int form = 0; form < FORMS; form++) {
    kaon_operator *M = twisted(&c, 0.11, 0, 0.25, 1, KAON_DOUBLE, KAON_RECONSTRUCT_18);
    kaon_operator *A = in_form(&c, M, form, 0);
    kaon_vector *b = case_vector(&c, KAON_FULL, KAON_DOUBLE, 12);
    kaon_vector *x = case_vector(&c, KAON_FULL, KAON_DOUBLE, 12);
    ref_complex *columns[12];
    must(c.ctx, kaon_source_point(b, origin));
    propagator(&c, A, KAON_CGNR, KAON_DOUBLE, 3e-15, b, x);
    for (int k = 0; k < 12; k++) columns[k] = case_export(&c, x, k);
    test_below("free propagator", free_deviation(&c, columns, 0.11, 0.25), 1e-13);
    for (int k = 0; k < 12; k++) free(columns[k]);
    kaon_vector_destroy(&b);
    kaon_vector_destroy(&x);
    kaon_operator_destroy(&A);
    kaon_operator_destroy(&M);
  }
  case_close(&c);
}

/* Methods and inner precisions, in every form: the reported residual is that of M, and all
 * solutions are one. */
static void test_methods_solve_the_whole_system(void **state) {
  (void)state;
  static const struct {
    kaon_method method;
    kaon_precision sloppy;
  } rows[] = {{KAON_CGNR, KAON_DOUBLE},     {KAON_CGNR, KAON_HALF}, {KAON_CGNE, KAON_SINGLE},
              {KAON_BICGSTAB, KAON_SINGLE}, {KAON_GCR, KAON_HALF},  {KAON_BLOCKCGNR, KAON_SINGLE}};
  const double tol = 1e-9;
  dirac_case c;
  assert_true(case_open(&c, KAON_ISA_AUTO, plain_extents, 1, LINKS_WEAK, 16));
  kaon_operator *M = twisted(&c, 0.12, 0.5, 0.05, 1, KAON_DOUBLE, KAON_RECONSTRUCT_18);
  ref_complex **psi = case_random_columns(&c, 2, 9), *first = NULL;
  kaon_vector *b = case_vector(&c, KAON_FULL, KAON_DOUBLE, 2);
  kaon_vector *x = case_vector(&c, KAON_FULL, KAON_DOUBLE, 2);
  case_import(&c, b, psi);
  for (int form = 0; form < FORMS; form++)
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
      kaon_operator *A = in_form(&c, M, form, 1);
      propagator(&c, A, rows[i].method, rows[i].sloppy, tol, b, x);
      ref_complex *got = case_export(&c, x, 0);
      if (first == NULL) first = got;
      /* tol times the condition number, which is below 100 here */
      test_below("solution", ref_rel_diff(got, first, ref_spinor_size(&c.L)), 100 * tol);
      if (got != first) free(got);
      kaon_operator_destroy(&A);
    }
  free(first);
  case_free_columns(psi, 2);
  kaon_vector_destroy(&b);
  kaon_vector_destroy(&x);
  kaon_operator_destroy(&M);
  case_close(&c);
}

/* After an update T is that of the new links; blocks are those of the cut reference. */
static void test_update_and_blocks(void **state) {
  (void)state;
  static const int block[4] = {4, 2, 4, 2};
  dirac_case c;
  assert_true(case_open(&c, KAON_ISA_AUTO, split_extents, 1, LINKS_RANDOM, 17));
  kaon_operator *M = twisted(&c, kappa, csw, mu, 1, KAON_SINGLE, KAON_RECONSTRUCT_12);
  ref_random_links(&c.L, c.u, 18);
  case_import_links(&c);
  must(c.ctx, kaon_dirac_update(M));
  ref_dirac d[2];
  for (int dagger = 0; dagger < 2; dagger++) {
    d[dagger] = case_reference(&c, kappa, csw, 1);
    ref_dirac_twist(&d[dagger], dagger ? -mu : mu);
  }
  const double bound = bound_of(KAON_SINGLE, KAON_RECONSTRUCT_12, csw);
  test_below("after an update", compare_all(&c, M, d, bound, NULL) * bound, bound);
  for (int i = 0; i < 8; i++) d[i / 4].cut[i % 4] = block[i % 4];
  test_below("cut into blocks", compare_all(&c, M, d, bound, block) * bound, bound);
  for (int dagger = 0; dagger < 2; dagger++) ref_dirac_free(&d[dagger]);
  kaon_operator_destroy(&M);
  case_close(&c);
}

/* Flops and ideal bytes a site, as docs/conventions.md counts them. */
static void test_costs_are_the_agreed_counts(void **state) {
  (void)state;
  static const double flops[2][FORMS] = {{2784, 2784, 1416}, {4800, 4296, 1920}};
  static const int blocks[FORMS] = {4, 3, 1};
  dirac_case c;
  assert_true(case_open(&c, KAON_ISA_AUTO, plain_extents, 1, LINKS_UNIT, 0));
  for (int i = 0; i < 2 * FORMS; i++) {
    const int clover = i / FORMS, form = i % FORMS, hops = form == 2 ? 1 : 2;
    kaon_operator *M = twisted(&c, kappa, clover * csw, mu, 1, KAON_HALF, KAON_RECONSTRUCT_12);
    kaon_operator *A = in_form(&c, M, form, 0);
    const double sites = (double)kaon_lattice_volume(c.lattice) / hops;
    kaon_cost cost;
    must(c.ctx, kaon_operator_cost(A, 4, &cost));
    assert_true(cost.flops == sites * flops[clover][form]);
    const double hop = 2 * (48 + 4) + 8 * 12 * 2 / 4.0;
    assert_true(cost.bytes == sites * (hops * hop + clover * blocks[form] * (72 * 2 + 4) / 4.0));
    kaon_operator_destroy(&A);
    kaon_operator_destroy(&M);
  }
  case_close(&c);
}

static void test_determinants_are_refused(void **state) {
  (void)state;
  static const double twists[3] = {0.9, -1e-6, 0};
  dirac_case c;
  assert_true(case_open(&c, KAON_ISA_AUTO, plain_extents, 1, LINKS_WEAK, 4));
  for (int i = 0; i < 3; i++) {
    kaon_operator *M = twisted(&c, kappa, csw, twists[i], 1, KAON_DOUBLE, KAON_RECONSTRUCT_18);
    double logdet = 77;
    int64_t negative = 77;
    const kaon_status status = kaon_dirac_clover_logdet(M, KAON_FULL, &logdet, &negative);
    assert_true(status == (twists[i] != 0 ? KAON_ERR_UNSUPPORTED : KAON_OK));
    assert_true((logdet == 77) == (twists[i] != 0));
    if (twists[i] != 0) assert_non_null(strstr(kaon_last_error(c.ctx), "mu = 0"));
    kaon_operator_destroy(&M);
  }
  case_close(&c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_operators_match_the_reference),
      cmocka_unit_test(test_hops_apply_the_twist),
      cmocka_unit_test(test_dagger_is_the_adjoint),
      cmocka_unit_test(test_dagger_is_the_other_flavour),
      cmocka_unit_test(test_no_twist_has_the_bits_of_wilson),
      cmocka_unit_test(test_norm_is_the_imaginary_part_of_gamma_5),
      cmocka_unit_test(test_free_propagator_is_exact_at_all_momenta),
      cmocka_unit_test(test_methods_solve_the_whole_system),
      cmocka_unit_test(test_update_and_blocks),
      cmocka_unit_test(test_costs_are_the_agreed_counts),
      cmocka_unit_test(test_determinants_are_refused),
  };
  return test_main(tests, NULL, NULL);
}
