/* test_exact_steps.c - methods of two half steps whose first half step meets the solution. What
 * remains is a rounding or nothing, which must not become a denominator: the method reports
 * convergence. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <string.h>

#include "lib/math/steps/recurrences.h"
#include "tests/util/test_util.h"

enum { ROWS = 30 };

static kaon_context *ctx;

static int set_up(void **state) {
  (void)state;
  return kaon_context_create(NULL, &ctx) != KAON_OK;
}

static int tear_down(void **state) {
  (void)state;
  kaon_context_destroy(&ctx);
  return 0;
}

static kaon_matrix *diagonal(int n, int values, const double *value) {
  int32_t start[ROWS + 1] = {0}, column[ROWS];
  double entry[ROWS];
  for (int row = 0; row < n; row++) {
    column[row] = row;
    entry[row] = value[(row * row + row / 2) % values];
    start[row + 1] = row + 1;
  }
  kaon_csr_arrays arrays = {.global_rows = n, .rows = n, .reals = 1};
  arrays.start32 = start;
  arrays.column32 = column;
  arrays.values = entry;
  kaon_matrix *matrix = NULL;
  must(ctx, kaon_matrix_create_csr(ctx, &arrays, NULL, &matrix));
  return matrix;
}

/* 1: converged. */
static int solves(kaon_operator *A, kaon_operator *K, kaon_method method, kaon_precision sloppy,
                  double tol, const kaon_vector *b, kaon_vector *x) {
  kaon_solver_options o = KAON_SOLVER_OPTIONS_INIT;
  kaon_solver *solver = NULL;
  kaon_column_report report;
  o.method = method;
  o.sloppy = sloppy;
  o.tol = tol;
  o.preconditioner = K;
  must(ctx, kaon_solver_create(A, 1, &o, &solver));
  must(ctx, kaon_vector_zero(x));
  must(ctx, kaon_solver_solve(solver, b, x, &report, NULL));
  kaon_solver_destroy(&solver);
  return report.reason == KAON_CONVERGED && report.residual <= 1.1 * tol;
}

static int failures_of(kaon_matrix *matrix, int with, int n) {
  static const kaon_method methods[] = {KAON_BICGSTAB, KAON_RBICGSTAB, KAON_PIPEBICGSTAB};
  static const double tol[] = {1e-8, 1e-14};
  kaon_precond_options po = KAON_PRECOND_OPTIONS_INIT;
  kaon_operator *A = NULL, *K = NULL;
  kaon_vector *b = NULL, *x = NULL;
  double ones[ROWS];
  int failures = 0;
  for (int i = 0; i < n; i++) ones[i] = 1;
  must(ctx, kaon_matrix_operator(matrix, NULL, &A));
  po.kind = KAON_PRECOND_AINV;
  if (with == 1) must(ctx, kaon_precond_jacobi(A, &K));
  if (with == 2) must(ctx, kaon_precond_create(matrix, &po, &K));
  must(ctx, kaon_vector_create(ctx, kaon_matrix_space(matrix), KAON_DOUBLE, 1, &b));
  must(ctx, kaon_vector_create(ctx, kaon_matrix_space(matrix), KAON_DOUBLE, 1, &x));
  for (int source = 0; source < 2; source++) {
    must(ctx, kaon_vector_import(source ? x : b, 0, ones, KAON_BASIS_UKQCD));
    if (source) must(ctx, kaon_operator_apply(A, KAON_PLAIN, x, b));
    for (int m = 0; m < 3; m++)
      for (int p = KAON_DOUBLE; p <= KAON_SINGLE; p++)
        for (int t = 0; t < 2; t++)
          failures += !solves(A, K, methods[m], (kaon_precision)p, tol[t], b, x);
  }
  kaon_vector_destroy(&x);
  kaon_vector_destroy(&b);
  kaon_operator_destroy(&K);
  kaon_operator_destroy(&A);
  return failures;
}

/* A with few eigenvalues, plain and preconditioned by an approximate inverse that is exact up to
 * rounding. */
static void few_eigenvalues_converge(void **state) {
  (void)state;
  static const double values[][3] = {{1, 1, 1}, {1, 2, 1}, {3, 7, 3}, {1, 2, 3}, {0.1, 0.7, 0.3}};
  static const int sizes[] = {1, 2, 3, 4, 6, 10, ROWS};
  int failures = 0;
  for (int v = 0; v < 5; v++)
    for (int s = 0; s < 7; s++)
      for (int with = 0; with < 3; with++) {
        kaon_matrix *matrix = diagonal(sizes[s], 3, values[v]);
        failures += failures_of(matrix, with, sizes[s]);
        kaon_matrix_destroy(&matrix);
      }
  assert_int_equal(failures, 0);
}

/* State in the middle of a step: |r|^2 before it, |s|^2, (t, t) and (t, s). */
static kaon_column_state halfway(double r2, double s2, double t2, double st) {
  kaon_column_state s;
  memset(&s, 0, sizeof s);
  s.gate = KAON_GATE_STEP;
  s.threshold = 1e-20;
  kaon_set(&s, KAON_S_R2, r2, 0);
  kaon_set(&s, KAON_S_Q2, s2, 0);
  kaon_set(&s, KAON_S_T2, t2, 0);
  kaon_set(&s, KAON_S_ST, st, 0);
  return s;
}

/* A vector that cannot change s ends the column if s is no improvement; otherwise the step skips
 * it. */
static void half_a_step_is_one(void **state) {
  (void)state;
  kaon_column_state s = halfway(1, 0.5, 1, 1e-16);
  kaon_bicgstab_omega(&s);
  assert_true(!(s.gate & KAON_GATE_STEP) && s.reason == KAON_WAIT_BROKEN);
  s = halfway(1, 1e-24, 1, 0); /* enough */
  kaon_bicgstab_omega(&s);
  assert_true((s.gate & KAON_GATE_STEP) && s.slot[KAON_S_OMEGA][0] == 0);
  s = halfway(1, 1e-14, 1e-14, 1e-30); /* not enough, but it stays */
  kaon_bicgstab_omega(&s);
  assert_true((s.gate & KAON_GATE_STEP) && s.slot[KAON_S_OMEGA][0] == 0);
  s = halfway(1, 0.5, 1, 0.5);
  kaon_bicgstab_omega(&s);
  assert_true((s.gate & KAON_GATE_STEP) && s.slot[KAON_S_OMEGA][0] == 0.5);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(few_eigenvalues_converge),
      cmocka_unit_test(half_a_step_is_one),
  };
  return test_main(tests, set_up, tear_down);
}
