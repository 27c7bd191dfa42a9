/* test_domain_wall.c - the domain-wall operator: it and its adjoints against the reference, exact
 * relations, solutions in every form, blocks, updates, preconditioners, costs. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/operator/operator_internal.h"
#include "lib/vector/space.h"
#include "tests/util/test_util.h"
#include "tests/util/wall_case.h"

static const int plain_extents[4] = {4, 6, 2, 10}, split_extents[4] = {8, 4, 4, 8};

/* ---- against the reference ---- */

/* What the applications to the first and the last of WALL_COLUMNS columns give. */
static void expect(const dirac_case *c, const ref_domain_wall *d, ref_complex *const *x,
                   ref_complex *y[WALL_APPLICATIONS][2]) {
  for (int i = 0; i < WALL_APPLICATIONS; i++)
    for (int k = 0; k < 2; k++) {
      const wall_application a = wall_application_of(i);
      y[i][k] = ref_new(wall_length(c, d->ls));
      if (a.form == 2)
        ref_domain_wall_apply(d, a.dagger, x[k * (WALL_COLUMNS - 1)], y[i][k]);
      else
        ref_domain_wall_schur(d, a.dagger, a.parity, a.form == 0, x[k * (WALL_COLUMNS - 1)],
                              y[i][k]);
      if (a.form < 2) wall_restrict(c, d->ls, a.parity, y[i][k]);
    }
}

/* The worst error over |x| of all applications. block: not NULL: of the operators cut into such
 * blocks. */
static double compare_all(dirac_case *c, kaon_operator *M, ref_complex *const *x,
                          ref_complex *y[WALL_APPLICATIONS][2], const int block[4]) {
  const int ls = kaon_operator_space(M)->inner;
  const kaon_precision precision = kaon_operator_precision(M);
  double worst = 0;
  for (int i = 0; i < WALL_APPLICATIONS; i++) {
    const wall_application a = wall_application_of(i);
    kaon_operator *A = wall_in_form(c, M, a.form, a.parity, 0), *cut = NULL;
    if (block != NULL)
      must(c->ctx, kaon_operator_local_part(A, block, precision, KAON_RECONSTRUCT_12, &cut));
    kaon_vector *in = wall_vector(c, kaon_operator_space(A), precision, WALL_COLUMNS);
    kaon_vector *out = wall_vector(c, kaon_operator_space(A), precision, WALL_COLUMNS);
    for (int k = 0; k < WALL_COLUMNS; k++) wall_import(c, in, k, x[k]);
    must(c->ctx, kaon_operator_apply(cut != NULL ? cut : A, (kaon_mode)a.dagger, in, out));
    for (int k = 0; k < 2; k++) {
      ref_complex *got = wall_export(c, out, k * (WALL_COLUMNS - 1));
      const double half = a.form < 2 ? 0.5 : 1,
                   n = ref_norm2(x[k * (WALL_COLUMNS - 1)], wall_length(c, ls));
      const double size = sqrt(ref_norm2(y[i][k], wall_length(c, ls)) / (half * n));
      worst = larger(worst, ref_rel_diff(got, y[i][k], wall_length(c, ls)) * size);
      free(got);
    }
    kaon_vector_destroy(&in);
    kaon_vector_destroy(&out);
    kaon_operator_destroy(&cut);
    kaon_operator_destroy(&A);
  }
  return worst;
}

typedef struct {
  ref_complex *x[WALL_COLUMNS], *y[WALL_APPLICATIONS][2];
} expected_set;

static void expected_open(const dirac_case *c, const ref_domain_wall *d, expected_set *e) {
  for (int k = 0; k < WALL_COLUMNS; k++) e->x[k] = wall_random(c, d->ls, 5 + (uint64_t)k);
  expect(c, d, e->x, e->y);
}

static void expected_close(expected_set *e) {
  for (int k = 0; k < WALL_COLUMNS; k++) free(e->x[k]);
  for (int i = 0; i < 2 * WALL_APPLICATIONS; i++) free(e->y[i / 2][i % 2]);
}

/* Every precision and storage in turn. */
static void matches_reference(const int extents[4], int ls) {
  static const kaon_reconstruct storages[3] = {KAON_RECONSTRUCT_18, KAON_RECONSTRUCT_12,
                                               KAON_RECONSTRUCT_8};
  expected_set e = {{NULL}, {{NULL}}};
  for (int isa = KAON_ISA_SCALAR; isa <= MACHINE_LAST; isa++) {
    dirac_case c;
    if (!case_open(&c, isa, extents, 1, LINKS_RANDOM, 11)) continue;
    if (e.x[0] == NULL) {
      const ref_domain_wall d = wall_reference(&c, ls);
      expected_open(&c, &d, &e);
    }
    for (int i = 0; i < 9; i++) {
      const kaon_precision precision = (kaon_precision)(i / 3);
      const kaon_reconstruct storage = storages[i % 3];
      if (isa < KAON_ISA_AVX2 && i % 3 != isa % 3) continue; /* narrow ones: one storage */
      kaon_operator *M = wall_operator(&c, ls, precision, storage);
      char what[96];
      snprintf(what, sizeof what, "%dx%dx%dx%d ls %d %s %s r%d", extents[0], extents[1], extents[2],
               extents[3], ls, isa_names[isa], precision_names[precision], (int)storage);
      test_below(what, compare_all(&c, M, e.x, e.y, NULL), wall_bound(ls, precision, storage));
      kaon_operator_destroy(&M);
    }
    case_close(&c);
  }
  if (e.x[0] != NULL) expected_close(&e);
}

static void test_operators_match_the_reference(void **state) {
  (void)state;
  matches_reference(plain_extents, 4);
  matches_reference(plain_extents, 6);
  matches_reference(split_extents, 3);
}

/* After an update T is the same; blocks are those of the cut reference. */
static void test_update_and_blocks(void **state) {
  (void)state;
  static const int block[4] = {4, 2, 4, 2};
  dirac_case c;
  expected_set e;
  assert_true(case_open(&c, KAON_ISA_AUTO, split_extents, 1, LINKS_RANDOM, 17));
  kaon_operator *M = wall_operator(&c, 4, KAON_SINGLE, KAON_RECONSTRUCT_12);
  ref_random_links(&c.L, c.u, 18);
  case_import_links(&c);
  must(c.ctx, kaon_dirac_update(M));
  ref_domain_wall d = wall_reference(&c, 4);
  const double bound = wall_bound(4, KAON_SINGLE, KAON_RECONSTRUCT_12);
  for (int cut = 0; cut < 2; cut++) {
    for (int mu = 0; mu < 4; mu++) d.wilson.cut[mu] = cut * block[mu];
    expected_open(&c, &d, &e);
    test_below(cut ? "cut into blocks" : "after an update",
               compare_all(&c, M, e.x, e.y, cut ? block : NULL), bound);
    expected_close(&e);
  }
  kaon_operator_destroy(&M);
  case_close(&c);
}

/* gamma_5 R M gamma_5 R = M^dagger, where R reflects s. */
static void turn(const dirac_case *c, int ls, const ref_complex *in, ref_complex *out) {
  ref_complex gamma_5[16];
  ref_gamma(REF_UKQCD, 4, gamma_5);
  for (int s = 0; s < ls; s++)
    ref_spin_multiply(&c->L, gamma_5, in + wall_length(c, ls - 1 - s), out + wall_length(c, s));
}

static void test_dagger_is_m_between_gamma_5_and_reflections(void **state) {
  (void)state;
  enum { LS = 6 };
  dirac_case c;
  assert_true(case_open(&c, KAON_ISA_AUTO, plain_extents, 1, LINKS_RANDOM, 13));
  kaon_operator *M = wall_operator(&c, LS, KAON_DOUBLE, KAON_RECONSTRUCT_18);
  kaon_vector *in = wall_vector(&c, kaon_operator_space(M), KAON_DOUBLE, 1);
  kaon_vector *out = wall_vector(&c, kaon_operator_space(M), KAON_DOUBLE, 1);
  ref_complex *x = wall_random(&c, LS, 3), *turned = ref_new(wall_length(&c, LS));
  turn(&c, LS, x, turned);
  wall_import(&c, in, 0, turned);
  must(c.ctx, kaon_operator_apply(M, KAON_PLAIN, in, out));
  ref_complex *y = wall_export(&c, out, 0);
  turn(&c, LS, y, turned);
  wall_import(&c, in, 0, x);
  must(c.ctx, kaon_operator_apply(M, KAON_DAGGER, in, out));
  free(y);
  y = wall_export(&c, out, 0);
  test_below("M^dagger - gamma_5 R M gamma_5 R", ref_rel_diff(y, turned, wall_length(&c, LS)),
             wall_bound(LS, KAON_DOUBLE, KAON_RECONSTRUCT_18));
  free(x);
  free(y);
  free(turned);
  kaon_vector_destroy(&in);
  kaon_vector_destroy(&out);
  kaon_operator_destroy(&M);
  case_close(&c);
}

/* ---- solutions ---- */

/* Methods and inner precisions, in every form and in temporal gauge: the reported residual is that
 * of M, as the reference confirms. With a height M5 > 0 the spectrum surrounds 0, so methods that
 * need no M^dagger get an M5 < 0. */
static void test_methods_solve_the_whole_system(void **state) {
  (void)state;
  static const struct {
    kaon_method method;
    kaon_precision sloppy;
    int form, temporal;
    double m5;
  } rows[] = {{KAON_CGNR, KAON_DOUBLE, 0, 0, 1.8},      {KAON_CGNR, KAON_HALF, 1, 0, 1.8},
              {KAON_CGNE, KAON_SINGLE, 2, 0, 1.8},      {KAON_CGNR, KAON_SINGLE, 2, 1, 1.8},
              {KAON_BLOCKCGNR, KAON_SINGLE, 1, 1, 1.8}, {KAON_PIPECGNR, KAON_SINGLE, 0, 0, 1.8},
              {KAON_BICGSTAB, KAON_HALF, 0, 0, -0.5},   {KAON_BICGSTAB, KAON_DOUBLE, 2, 0, -0.5},
              {KAON_GCR, KAON_HALF, 1, 1, -0.5}};
  enum { LS = 4 };
  const double tol = 1e-9;
  dirac_case c;
  kaon_column_report report[2];
  assert_true(case_open(&c, KAON_ISA_AUTO, plain_extents, 1, LINKS_WEAK, 16));
  ref_complex *source = wall_random(&c, LS, 10), *back = ref_new(wall_length(&c, LS));
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    kaon_operator *M = wall_operator_of(&c, rows[i].m5, LS, KAON_DOUBLE, KAON_RECONSTRUCT_18);
    kaon_operator *A = wall_in_form(&c, M, rows[i].form, 1, rows[i].temporal);
    ref_domain_wall d = wall_reference(&c, LS);
    kaon_vector *b = wall_vector(&c, kaon_operator_space(M), KAON_DOUBLE, 2);
    kaon_vector *x = wall_vector(&c, kaon_operator_space(M), KAON_DOUBLE, 2);
    d.m5 = rows[i].m5;
    wall_fill(&c, b, 9);
    wall_solve(&c, A, rows[i].method, rows[i].sloppy, tol, b, x, report);
    ref_complex *got = wall_export(&c, x, 1);
    ref_domain_wall_apply(&d, 0, got, back);
    test_below("residual by the reference", ref_rel_diff(back, source, wall_length(&c, LS)),
               1.1 * tol);
    free(got);
    kaon_vector_destroy(&b);
    kaon_vector_destroy(&x);
    kaon_operator_destroy(&A);
    kaon_operator_destroy(&M);
  }
  free(source);
  free(back);
  case_close(&c);
}

/* On free periodic fields of momentum 0, q = (1 / D_ov - 1) / (1 - mass) with D_ov = (mass + r^ls) /
 * (1 + r^ls) and r = 1 - m5, where q = P- psi_0 + P+ psi_(ls-1) belongs to the source P+ eta at s =
 * 0 and P- eta at s = ls - 1. */
static void test_free_field_at_rest_is_exact(void **state) {
  (void)state;
  enum { LS = 6 };
  static const int extents[4] = {4, 4, 4, 4};
  const double r = pow(1 - WALL_M5, LS), overlap = (WALL_MASS + r) / (1 + r);
  dirac_case c;
  kaon_column_report report;
  ref_complex gamma_5[16], eta[4] = {0.3, -0.8 * I, 0.5, 1.1}, half[2][4];
  ref_gamma(REF_UKQCD, 4, gamma_5);
  assert_true(case_open(&c, KAON_ISA_AUTO, extents, 0, LINKS_UNIT, 1));
  kaon_operator *M = wall_operator(&c, LS, KAON_DOUBLE, KAON_RECONSTRUCT_18);
  kaon_operator *A = wall_in_form(&c, M, 0, 0, 0);
  kaon_vector *b = wall_vector(&c, kaon_operator_space(M), KAON_DOUBLE, 1);
  kaon_vector *x = wall_vector(&c, kaon_operator_space(M), KAON_DOUBLE, 1);
  ref_complex *psi = ref_new(wall_length(&c, LS));
  for (int i = 0; i < 8; i++) {
    half[i / 4][i % 4] = eta[i % 4] / 2;
    for (int j = 0; j < 4; j++)
      half[i / 4][i % 4] += (i < 4 ? 0.5 : -0.5) * gamma_5[4 * (i % 4) + j] * eta[j];
  }
  for (size_t site = 0; site < ref_volume(&c.L); site++)
    for (size_t i = 0; i < 4; i++) {
      psi[12 * site + 3 * i] = half[0][i];
      psi[wall_length(&c, LS - 1) + 12 * site + 3 * i] = half[1][i];
    }
  wall_import(&c, b, 0, psi);
  wall_solve(&c, A, KAON_CGNR, KAON_DOUBLE, 1e-14, b, x, &report);
  free(psi);
  psi = wall_export(&c, x, 0);
  double worst = 0;
  for (int i = 0; i < 4; i++) {
    ref_complex q = 0;
    for (int j = 0; j < 4; j++) {
      const ref_complex one = i == j, g = gamma_5[4 * i + j];
      q +=
          (one - g) / 2 * psi[3 * j] + (one + g) / 2 * psi[wall_length(&c, LS - 1) + 3 * (size_t)j];
    }
    worst = larger(worst, cabs(q - (1 / overlap - 1) / (1 - WALL_MASS) * eta[i]));
  }
  test_below("q at rest", worst, 1e-12); /* the tolerance times 1 / D_ov and the condition number */
  free(psi);
  kaon_vector_destroy(&b);
  kaon_vector_destroy(&x);
  kaon_operator_destroy(&A);
  kaon_operator_destroy(&M);
  case_close(&c);
}

/* ---- the rest of the frame ---- */

/* Schwarz blocks and Chebyshev sweeps, which take domains and the diagonal, precondition GCR. */
static void test_preconditioners(void **state) {
  (void)state;
  enum { LS = 4 };
  dirac_case c;
  assert_true(case_open(&c, KAON_ISA_AUTO, split_extents, 1, LINKS_WEAK, 6));
  kaon_operator *M = wall_operator(&c, LS, KAON_DOUBLE, KAON_RECONSTRUCT_18);
  kaon_operator *A = wall_in_form(&c, M, 0, 0, 0);
  kaon_vector *b = wall_vector(&c, kaon_operator_space(M), KAON_DOUBLE, 2);
  kaon_vector *x = wall_vector(&c, kaon_operator_space(M), KAON_DOUBLE, 2);
  kaon_vector *diagonal = wall_vector(&c, kaon_operator_space(M), KAON_DOUBLE, 1);
  kaon_schwarz_options how = KAON_SCHWARZ_OPTIONS_INIT;
  kaon_operator *K = NULL;
  kaon_solver *solver = NULL;
  kaon_column_report report[2];
  wall_fill(&c, b, 2);
  for (int mu = 0; mu < 4; mu++) how.block[mu] = 4;
  must(c.ctx, kaon_schwarz_create(A, &how, &K));
  kaon_solver_options options = KAON_SOLVER_OPTIONS_INIT;
  options.method = KAON_GCR;
  options.sloppy = KAON_SINGLE;
  options.preconditioner = K;
  options.tol = 1e-9;
  must(c.ctx, kaon_solver_create(A, 2, &options, &solver));
  must(c.ctx, kaon_solver_solve(solver, b, x, report, NULL));
  for (int k = 0; k < 2; k++) assert_int_equal(report[k].reason, KAON_CONVERGED);
  must(c.ctx, M->ops->diagonal(M, diagonal));
  ref_complex *d = wall_export(&c, diagonal, 0);
  for (size_t i = 0; i < wall_length(&c, LS); i++) assert_true(d[i] == 5 - WALL_M5);
  free(d);
  kaon_solver_destroy(&solver);
  kaon_operator_destroy(&K);
  kaon_vector_destroy(&b);
  kaon_vector_destroy(&x);
  kaon_vector_destroy(&diagonal);
  kaon_operator_destroy(&A);
  kaon_operator_destroy(&M);
  case_close(&c);
}

/* Flops and ideal bytes a site of five dimensions, as docs/conventions.md counts them. */
static void test_costs_are_the_agreed_counts(void **state) {
  (void)state;
  enum { LS = 6 };
  static const double flops[WALL_FORMS] = {2 * 1320 + 48 + 2 * 48 * LS,
                                           2 * 1320 + 48 + 48 * LS + 96, 1320 + 48 + 96};
  dirac_case c;
  assert_true(case_open(&c, KAON_ISA_AUTO, plain_extents, 1, LINKS_UNIT, 0));
  kaon_operator *M = wall_operator(&c, LS, KAON_HALF, KAON_RECONSTRUCT_12);
  for (int form = 0; form < WALL_FORMS; form++) {
    kaon_operator *A = wall_in_form(&c, M, form, 0, 0);
    const double hops = form == 2 ? 1 : 2, sites = LS * (double)ref_volume(&c.L) / hops;
    kaon_cost cost;
    must(c.ctx, kaon_operator_cost(A, 4, &cost));
    assert_true(cost.flops == sites * flops[form]);
    assert_true(cost.bytes == sites * hops * (2 * (48 + 4) + 8 * 12 * 2 / (4.0 * LS)));
    kaon_operator_destroy(&A);
  }
  kaon_operator_destroy(&M);
  case_close(&c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_operators_match_the_reference),
      cmocka_unit_test(test_update_and_blocks),
      cmocka_unit_test(test_dagger_is_m_between_gamma_5_and_reflections),
      cmocka_unit_test(test_methods_solve_the_whole_system),
      cmocka_unit_test(test_free_field_at_rest_is_exact),
      cmocka_unit_test(test_preconditioners),
      cmocka_unit_test(test_costs_are_the_agreed_counts),
  };
  return test_main(tests, NULL, NULL);
}
