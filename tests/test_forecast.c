/* test_forecast.c - kaon_forecast(): the guess has the least residual in the span of the solutions,
 * also where these depend on each other; a solver saves steps by it; what is refused. */
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

static const int extents[4] = {4, 6, 2, 10};
enum { COLUMNS = 2, SOLUTIONS = 4 };

typedef struct {
  dirac_case c;
  kaon_precision precision;
  kaon_operator *A;
  kaon_vector *s[SOLUTIONS], *b, *x, *r;
} fixture;

static kaon_vector *noise(fixture *f, uint64_t seed) {
  kaon_vector *v = case_vector(&f->c, KAON_FULL, f->precision, COLUMNS);
  ref_complex **host = case_random_columns(&f->c, COLUMNS, seed);
  case_import(&f->c, v, host);
  case_free_columns(host, COLUMNS);
  return v;
}

static int open_fixture(fixture *f, int machine, kaon_precision precision) {
  *f = (fixture){.precision = precision};
  if (!case_open(&f->c, machine, extents, 1, LINKS_WEAK, 3)) return 0;
  f->A = case_dirac(&f->c, 0.125, 1, 1, precision, KAON_RECONSTRUCT_18);
  for (uint64_t i = 0; i < SOLUTIONS; i++) f->s[i] = noise(f, 1 + i);
  f->b = noise(f, 9);
  f->x = noise(f, 10);
  f->r = noise(f, 11);
  return 1;
}

static void close_fixture(fixture *f) {
  for (int i = 0; i < SOLUTIONS; i++) kaon_vector_destroy(&f->s[i]);
  kaon_vector_destroy(&f->b);
  kaon_vector_destroy(&f->x);
  kaon_vector_destroy(&f->r);
  kaon_operator_destroy(&f->A);
  case_close(&f->c);
}

/* r = b - A x; norm[k] = |r| / |b| */
static void residual(fixture *f, double norm[COLUMNS]) {
  double r2[COLUMNS], b2[COLUMNS];
  const double minus[COLUMNS][2] = {{-1, 0}, {-1, 0}};
  must(f->c.ctx, kaon_operator_apply(f->A, KAON_PLAIN, f->x, f->r));
  must(f->c.ctx, kaon_vector_scale(minus, f->r));
  must(f->c.ctx, kaon_vector_axpy(1, 0, f->b, f->r));
  must(f->c.ctx, kaon_vector_norm2(f->r, r2));
  must(f->c.ctx, kaon_vector_norm2(f->b, b2));
  for (int k = 0; k < COLUMNS; k++) norm[k] = sqrt(r2[k] / b2[k]);
}

/* The residual is orthogonal to A s_i: the condition of the least residual. Errors are those of a
 * few sums and updates, n of them with each vector, of relative size eps times a safe 100. */
static void least_on(int machine, kaon_precision precision) {
  const double eps = 100 * (precision == KAON_DOUBLE ? 0x1p-53 : 0x1p-24);
  fixture f;
  double norm[COLUMNS], dot[COLUMNS][2], w2[COLUMNS], b2[COLUMNS];
  if (!open_fixture(&f, machine, precision)) return;
  must(f.c.ctx, kaon_vector_copy(f.s[2], f.s[0])); /* depends on the first */
  must(f.c.ctx, kaon_vector_zero(f.s[3]));
  must(f.c.ctx, kaon_forecast(f.A, SOLUTIONS, f.s, f.b, f.x));
  residual(&f, norm);
  must(f.c.ctx, kaon_vector_norm2(f.b, b2));
  kaon_vector *w = noise(&f, 20);
  for (int i = 0; i < 2; i++) {
    must(f.c.ctx, kaon_operator_apply(f.A, KAON_PLAIN, f.s[i], w));
    must(f.c.ctx, kaon_vector_norm2(w, w2));
    must(f.c.ctx, kaon_vector_dot(w, f.r, dot));
    for (int k = 0; k < COLUMNS; k++) {
      assert_true(hypot(dot[k][0], dot[k][1]) <= eps * sqrt(w2[k] * b2[k]));
      assert_true(norm[k] < 1);
    }
  }
  /* b in the span: no residual is left. x is a combination of size |b|, and |A| is below 8 */
  must(f.c.ctx, kaon_operator_apply(f.A, KAON_PLAIN, f.s[0], f.b));
  must(f.c.ctx, kaon_operator_apply(f.A, KAON_PLAIN, f.s[1], w));
  must(f.c.ctx, kaon_vector_axpy(2, -0.5, w, f.b));
  must(f.c.ctx, kaon_forecast(f.A, SOLUTIONS, f.s, f.b, f.x));
  residual(&f, norm);
  for (int k = 0; k < COLUMNS; k++) assert_true(norm[k] <= 8 * eps);
  must(f.c.ctx, kaon_forecast(f.A, 0, NULL, f.b, f.x));
  must(f.c.ctx, kaon_vector_norm2(f.x, w2));
  assert_true(w2[0] == 0 && w2[1] == 0);
  kaon_vector_destroy(&w);
  close_fixture(&f);
}

static void the_residual_is_least(void **state) {
  (void)state;
  for (int machine = KAON_ISA_SCALAR; machine <= MACHINE_LAST; machine++)
    for (int precision = KAON_DOUBLE; precision <= KAON_SINGLE; precision++)
      least_on(machine, (kaon_precision)precision);
}

/* ---- as in a molecular-dynamics run: operators that change a little ---- */

static kaon_operator *with_kappa(fixture *f, double kappa) {
  return case_dirac(&f->c, kappa, 1, 1, f->precision, KAON_RECONSTRUCT_18);
}

static int steps_from(fixture *f, kaon_vector *x) {
  kaon_solver_options o = KAON_SOLVER_OPTIONS_INIT;
  kaon_solver *solver = NULL;
  kaon_column_report report[COLUMNS];
  must(f->c.ctx, kaon_solver_create(f->A, COLUMNS, &o, &solver));
  must(f->c.ctx, kaon_solver_solve(solver, f->b, x, report, NULL));
  kaon_solver_destroy(&solver);
  for (int k = 0; k < COLUMNS; k++) assert_int_equal(report[k].reason, KAON_CONVERGED);
  return report[0].iterations;
}

static void neighbours_of_a_solution_save_steps(void **state) {
  fixture f;
  (void)state;
  if (!open_fixture(&f, MACHINE_CPU, KAON_DOUBLE)) return;
  int steps[SOLUTIONS];
  for (int i = 0; i < SOLUTIONS; i++) { /* newest first: s[SOLUTIONS - 1 - i] */
    kaon_operator_destroy(&f.A);
    f.A = with_kappa(&f, 0.118 + 1e-4 * i);
    must(f.c.ctx, kaon_forecast(f.A, i, f.s + SOLUTIONS - i, f.b, f.x));
    steps[i] = steps_from(&f, f.x);
    must(f.c.ctx, kaon_vector_copy(f.s[SOLUTIONS - 1 - i], f.x));
    printf("  from %d solutions: %d steps\n", i, steps[i]);
    /* polynomials in kappa of degree i - 1: each one more gains decades */
    if (i > 0) assert_true(steps[i] < steps[i - 1]);
  }
  close_fixture(&f);
}

static void what_is_no_solution_is_refused(void **state) {
  fixture f;
  (void)state;
  if (!open_fixture(&f, MACHINE_CPU, KAON_DOUBLE)) return;
  kaon_context *ctx = f.c.ctx;
  kaon_vector *one = case_vector(&f.c, KAON_FULL, KAON_DOUBLE, 1);
  kaon_vector *half = case_vector(&f.c, KAON_EVEN, KAON_DOUBLE, COLUMNS);
  kaon_vector *many[KAON_FORECAST_MOST + 1] = {f.s[0], NULL};
  const double huge[COLUMNS][2] = {{1, 0}, {1e300, 0}};
  must_refuse(ctx, KAON_ERR_ARGUMENT, kaon_forecast(f.A, KAON_FORECAST_MOST + 1, many, f.b, f.x));
  must_refuse(ctx, KAON_ERR_ARGUMENT, kaon_forecast(f.A, 2, many, f.b, f.x));
  must_refuse(ctx, KAON_ERR_ARGUMENT, kaon_forecast(f.A, 1, NULL, f.b, f.x));
  must_refuse(ctx, KAON_ERR_ALIAS, kaon_forecast(f.A, 1, f.s, f.b, f.b));
  must_refuse(ctx, KAON_ERR_ALIAS, kaon_forecast(f.A, 1, f.s, f.b, f.s[0]));
  must_refuse(ctx, KAON_ERR_SHAPE, kaon_forecast(f.A, 1, &one, f.b, f.x));
  must_refuse(ctx, KAON_ERR_SHAPE, kaon_forecast(f.A, 1, f.s, half, f.x));
  must(ctx, kaon_vector_scale(huge, f.s[0]));
  must_refuse(ctx, KAON_ERR_NOT_FINITE, kaon_forecast(f.A, 1, f.s, f.b, f.x));
  kaon_vector_destroy(&one);
  kaon_vector_destroy(&half);
  close_fixture(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_residual_is_least),
      cmocka_unit_test(neighbours_of_a_solution_save_steps),
      cmocka_unit_test(what_is_no_solution_is_refused),
  };
  return test_main(tests, NULL, NULL);
}
