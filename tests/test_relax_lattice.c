/* test_relax_lattice.c - relaxation on Wilson operators, which know their diagonal but not their
 * rows: Jacobi for heavy quarks against CG; methods that need rows are refused.
 *
 * Bounds. M = A - kappa D with |D| <= 8, and A = 1 for Wilson. With kappa = 0.05 a Jacobi step
 * damped by tau reduces the residual to at most 1 - tau + 0.4 tau; |M| <= 1.4 and |M^-1| <= 1 /
 * 0.6. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/util/dirac_case.h"
#include "tests/util/test_util.h"

static const int extents[4] = {4, 4, 2, 6};
static const double kappa = 0.05;
enum { COLUMNS = 2 };

typedef struct trial {
  const char *name;
  double csw, tau;
  kaon_precision outer, sloppy;
} trial;

static const trial trials[] = {
    {"jacobi, double", 0, 1, KAON_DOUBLE, KAON_DOUBLE},
    {"damped, double", 0, 0.8, KAON_DOUBLE, KAON_DOUBLE},
    {"jacobi, single", 0, 1, KAON_SINGLE, KAON_SINGLE},
    {"damped, single", 0, 0.8, KAON_SINGLE, KAON_SINGLE},
    {"jacobi, single inside", 0, 1, KAON_DOUBLE, KAON_SINGLE},
    {"jacobi, clover, double", 1, 1, KAON_DOUBLE, KAON_DOUBLE},
    {"damped, clover, single inside", 1, 0.8, KAON_DOUBLE, KAON_SINGLE},
};
enum { TRIALS = sizeof trials / sizeof *trials };

/* CG's solutions in double: what all are compared with. */
static void solve_by_cg(dirac_case *c, const trial *t, ref_complex **b, ref_complex **x) {
  kaon_operator *M = case_dirac(c, kappa, t->csw, 1, KAON_DOUBLE, KAON_RECONSTRUCT_18);
  kaon_vector *right = case_vector(c, KAON_FULL, KAON_DOUBLE, 1);
  kaon_vector *solution = case_vector(c, KAON_FULL, KAON_DOUBLE, 1);
  for (int k = 0; k < COLUMNS; k++) {
    case_import(c, right, &b[k]);
    test_below("cg", case_solve(c, M, right, solution, 1e-13), 1e-12);
    x[k] = case_export(c, solution, 0);
  }
  kaon_vector_destroy(&right);
  kaon_vector_destroy(&solution);
  kaon_operator_destroy(&M);
}

static void solve(const kaon_context *ctx, kaon_operator *M, const trial *t, double tol,
                  const kaon_vector *b, kaon_vector *x) {
  kaon_solver_options o = KAON_SOLVER_OPTIONS_INIT;
  kaon_relax_options relax = KAON_RELAX_OPTIONS_INIT;
  kaon_relax_report relaxation = KAON_RELAX_REPORT_INIT;
  kaon_column_report report[COLUMNS];
  kaon_solver *solver = NULL;
  relax.tau = t->tau;
  o.method = KAON_JACOBI;
  o.sloppy = t->sloppy;
  o.tol = tol;
  o.max_iterations = 200;
  o.relax = &relax;
  must(ctx, kaon_vector_zero(x));
  must(ctx, kaon_solver_create(M, COLUMNS, &o, &solver));
  must(ctx, kaon_solver_solve(solver, b, x, report, NULL));
  must(ctx, kaon_solver_relaxation(solver, &relaxation));
  assert_true(relaxation.tau == t->tau);
  for (int k = 0; k < COLUMNS; k++) {
    const double most = ceil(log(tol) / log(1 - 0.6 * t->tau)) + 1;
    printf("  %s: %d iterations, at most %g\n", t->name, report[k].iterations, most);
    assert_int_equal(report[k].reason, KAON_CONVERGED);
    assert_true(report[k].iterations > 1);
    if (t->csw == 0 && t->outer == t->sloppy) assert_true(report[k].iterations <= most);
  }
  kaon_solver_destroy(&solver);
}

/* |x - M^-1 b| <= |M^-1| |r| over |x| >= |b| / |M|, r off by what a product of M rounds; the clover
 * term of these links changes |M| and |M^-1| by less than a half. */
static double bound_of(const trial *t, double tol) {
  const rounding e = case_rounding(t->outer, KAON_RECONSTRUCT_18);
  const double product = kappa * e.e_hop + 4 * e.e_store + (t->csw != 0 ? 2 * e.e_clover : 0);
  return (t->csw != 0 ? 2.25 : 1) * 1.4 / 0.6 * (1.1 * tol + 1e-12 + product / 0.6);
}

static void check_trial(dirac_case *c, const trial *t) {
  const double tol = t->outer == KAON_DOUBLE ? 1e-10 : 1e-5;
  ref_complex **b = case_random_columns(c, COLUMNS, 3), *x[COLUMNS];
  kaon_operator *M = case_dirac(c, kappa, t->csw, 1, t->outer, KAON_RECONSTRUCT_18);
  kaon_vector *right = case_vector(c, KAON_FULL, t->outer, COLUMNS);
  kaon_vector *solution = case_vector(c, KAON_FULL, t->outer, COLUMNS);
  solve_by_cg(c, t, b, x);
  case_import(c, right, b);
  solve(c->ctx, M, t, tol, right, solution);
  test_below(t->name, case_deviation(c, solution, x), bound_of(t, tol));
  for (int k = 0; k < COLUMNS; k++) free(x[k]);
  case_free_columns(b, COLUMNS);
  kaon_vector_destroy(&right);
  kaon_vector_destroy(&solution);
  kaon_operator_destroy(&M);
}

static void jacobi_finds_cg_s_solution(void **state) {
  (void)state;
  for (int machine = KAON_ISA_SCALAR; machine <= MACHINE_LAST; machine++) {
    dirac_case c;
    if (machine_lacks(machine) || !case_open(&c, machine, extents, 1, LINKS_WEAK, 5)) continue;
    printf("%s\n", machine_name(machine));
    for (int i = 0; i < TRIALS; i++) check_trial(&c, &trials[i]);
    case_close(&c);
  }
}

/* On unit links and a constant source, periodic, D b = 8 b: x = b / (1 - 8 kappa), and Jacobi's
 * residual is (8 kappa)^n |b| after n steps. */
static void a_constant_source_is_exact(void **state) {
  (void)state;
  for (int machine = KAON_ISA_SCALAR; machine <= MACHINE_LAST; machine++) {
    dirac_case c;
    if (machine_lacks(machine) || !case_open(&c, machine, extents, 0, LINKS_UNIT, 0)) continue;
    const size_t n = ref_spinor_size(&c.L);
    const trial t = {"constant", 0, 1, KAON_DOUBLE, KAON_DOUBLE};
    ref_complex *b = ref_new(n), *x = ref_new(n), *columns[COLUMNS] = {b, b};
    ref_complex *expected[COLUMNS] = {x, x};
    for (size_t i = 0; i < n; i++) {
      b[i] = 1 + (double)(i % 12) * I;
      x[i] = b[i] / (1 - 8 * kappa);
    }
    kaon_operator *M = case_dirac(&c, kappa, 0, 1, KAON_DOUBLE, KAON_RECONSTRUCT_18);
    kaon_vector *right = case_vector(&c, KAON_FULL, KAON_DOUBLE, COLUMNS);
    kaon_vector *solution = case_vector(&c, KAON_FULL, KAON_DOUBLE, COLUMNS);
    case_import(&c, right, columns);
    solve(c.ctx, M, &t, 1e-10, right, solution);
    test_below(machine_name(machine), case_deviation(&c, solution, expected), bound_of(&t, 1e-10));
    kaon_vector_destroy(&right);
    kaon_vector_destroy(&solution);
    kaon_operator_destroy(&M);
    free(b);
    free(x);
    case_close(&c);
  }
}

/* The operator has no rows to sweep, and a Schur complement does not know its diagonal. */
static void rows_that_are_not_offered_are_refused(void **state) {
  static const kaon_method methods[] = {KAON_GS, KAON_SOR, KAON_TWO_STAGE, KAON_ASYNC};
  (void)state;
  for (int machine = KAON_ISA_SCALAR; machine <= MACHINE_LAST; machine++) {
    dirac_case c;
    kaon_solver *solver = NULL;
    kaon_solver_options o = KAON_SOLVER_OPTIONS_INIT;
    kaon_operator *R = NULL;
    if (machine_lacks(machine) || !case_open(&c, machine, extents, 1, LINKS_WEAK, 5)) continue;
    kaon_operator *M = case_dirac(&c, kappa, 0, 1, KAON_DOUBLE, KAON_RECONSTRUCT_18);
    kaon_operator *S = case_even_odd(&c, M, KAON_EVEN_ODD_SYMMETRIC, KAON_EVEN, 0);
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
      o.method = methods[i];
      must_refuse(c.ctx, KAON_ERR_UNSUPPORTED, kaon_solver_create(M, 1, &o, &solver));
      assert_non_null(strstr(kaon_last_error(c.ctx), "does not offer; take jacobi, mr or gcr"));
      assert_null(solver);
      must_refuse(c.ctx, KAON_ERR_UNSUPPORTED, kaon_solver_create(S, 1, &o, &solver));
      assert_non_null(strstr(kaon_last_error(c.ctx), "does not offer; take mr or gcr"));
      assert_null(solver);
    }
    o.method = KAON_JACOBI;
    must_refuse(c.ctx, KAON_ERR_UNSUPPORTED, kaon_solver_create(S, 1, &o, &solver));
    assert_non_null(strstr(kaon_last_error(c.ctx), "the operator that was reduced"));
    assert_null(solver);
    must_refuse(c.ctx, KAON_ERR_UNSUPPORTED, kaon_kaczmarz_reduce(M, NULL, &R));
    assert_null(R);
    kaon_operator_destroy(&S);
    kaon_operator_destroy(&M);
    case_close(&c);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(jacobi_finds_cg_s_solution),
      cmocka_unit_test(a_constant_source_is_exact),
      cmocka_unit_test(rows_that_are_not_offered_are_refused),
  };
  return test_main(tests, NULL, NULL);
}
