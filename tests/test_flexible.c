/* test_flexible.c - flexible methods for Hermitian positive definite operators: with a preconditioner
 * that changes from step to step they converge, and CG needs more steps; with a fixed one, or none,
 * they take CG's steps. All precisions; columns do not see each other. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/util/dirac_case.h"
#include "tests/util/methods.h"
#include "tests/util/rectangle.h"
#include "tests/util/test_util.h"

static const int extents[4] = {4, 4, 4, 4};
enum { COLUMNS = 3 };

/* Jacobi's preconditioner times numbers from 1 to 2, others in each application. */
typedef struct wavering {
  const equation *e;
  uint64_t *turn;
} wavering;

static void map_wavering(const void *user, int dagger, size_t n, const shell_complex *x,
                         shell_complex *y) {
  const wavering *w = user;
  map_jacobi(w->e, dagger, n, x, y);
  for (size_t i = 0; i < n; i++) {
    uint64_t z = (*w->turn * n + i + 1) * UINT64_C(0x9e3779b97f4a7c15); /* splitmix64 */
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    y[i] *= 1 + (double)((z ^ z >> 31) >> 11) * 0x1p-53;
  }
  ++*w->turn;
}

static kaon_column_report solve(kaon_operator *A, int method, kaon_precision sloppy,
                                kaon_operator *K, const kaon_vector *b, kaon_vector *x,
                                kaon_column_report *all) {
  kaon_column_report mine[COLUMNS];
  kaon_solver *s = NULL;
  kaon_solver_options o = KAON_SOLVER_OPTIONS_INIT;
  o.method = (kaon_method)method;
  o.tol = 1e-10;
  o.max_iterations = 3000;
  o.sloppy = sloppy;
  o.preconditioner = K;
  must(A->ctx, kaon_vector_zero(x));
  must(A->ctx, kaon_solver_create(A, b->nrhs, &o, &s));
  must(A->ctx, kaon_solver_solve(s, b, x, mine, NULL));
  kaon_solver_destroy(&s);
  for (int k = 0; k < b->nrhs && all != NULL; k++) all[k] = mine[k];
  return mine[0];
}

/* A few steps of CG to this tolerance. How many they are depends on the residual, so it is not a
 * linear map. */
static kaon_operator *nested(kaon_operator *A, int columns, kaon_solver **inner) {
  kaon_operator *K = NULL;
  kaon_solver_options o = KAON_SOLVER_OPTIONS_INIT;
  o.method = KAON_CG;
  o.tol = 0.3;
  must(A->ctx, kaon_solver_create(A, columns, &o, inner));
  must(A->ctx, kaon_solver_as_operator(*inner, &K));
  return K;
}

static int is_flexible_cg(int m) {
  return method_has(m, KAON_METHOD_HERMITIAN) && method_has(m, KAON_METHOD_FLEXIBLE);
}

static void a_changing_preconditioner_does_no_harm(void **state) {
  shell_case c;
  uint64_t turn = 0;
  const wavering w = {&layers, &turn};
  (void)state;
  shell_open(&c, extents, 2);
  kaon_operator *A = shell_operator(&c, KAON_DOUBLE, map_equation, &layers);
  kaon_vector *b = shell_random_vector(&c, KAON_DOUBLE, 1, 7),
              *x = shell_vector(&c, KAON_DOUBLE, 1);
  for (int kind = 0; kind < 2; kind++) {
    kaon_solver *inner = NULL;
    kaon_operator *K =
        kind == 0 ? shell_operator(&c, KAON_DOUBLE, map_wavering, &w) : nested(A, 1, &inner);
    const kaon_column_report cg = solve(A, KAON_CG, KAON_DOUBLE, K, b, x, NULL);
    for (int m = 0; m < METHODS; m = next_krylov(m))
      for (int p = KAON_DOUBLE; p <= coarsest(m) && is_flexible_cg(m); p++) {
        turn = 0;
        const kaon_column_report r = solve(A, m, (kaon_precision)p, K, b, x, NULL);
        printf("  %s, %s inside, %s: %d steps, residual %.1e; cg %d, %s\n", method_name(m),
               precision_names[p], kind == 0 ? "wavering K" : "nested cg", r.iterations, r.residual,
               cg.iterations, kaon_stop_reason_name(cg.reason));
        assert_int_equal(r.reason, KAON_CONVERGED);
        assert_true(shell_residual(&c, map_equation, &layers, b, x, 0) <= 1.1e-10);
        if (p == KAON_DOUBLE)
          assert_true(cg.reason != KAON_CONVERGED || cg.iterations > r.iterations);
      }
    kaon_operator_destroy(&K);
    kaon_solver_destroy(&inner);
  }
  kaon_vector_destroy(&b);
  kaon_vector_destroy(&x);
  kaon_operator_destroy(&A);
  shell_close(&c);
}

/* beta differs from CG's by roundings alone, which change the step of convergence by one. */
static void a_fixed_one_gives_the_steps_of_cg(void **state) {
  shell_case c;
  (void)state;
  shell_open(&c, extents, 2);
  kaon_operator *A = shell_operator(&c, KAON_DOUBLE, map_equation, &layers);
  kaon_vector *b = shell_random_vector(&c, KAON_DOUBLE, 1, 7),
              *x = shell_vector(&c, KAON_DOUBLE, 1);
  kaon_operator *preconds[] = {NULL, shell_operator(&c, KAON_DOUBLE, map_sweeps, &layers), NULL};
  must(c.ctx, kaon_precond_jacobi(A, &preconds[2]));
  for (int k = 0; k < 3; k++)
    for (int m = 0; m < METHODS; m = next_krylov(m)) {
      if (!is_flexible_cg(m)) continue;
      const int cg = solve(A, KAON_CG, KAON_DOUBLE, preconds[k], b, x, NULL).iterations;
      const int flexible = solve(A, m, KAON_DOUBLE, preconds[k], b, x, NULL).iterations;
      printf("  %s: %d steps, cg %d\n", method_name(m), flexible, cg);
      assert_true(abs(flexible - cg) <= 1);
    }
  for (int k = 0; k < 3; k++) kaon_operator_destroy(&preconds[k]);
  kaon_vector_destroy(&b);
  kaon_vector_destroy(&x);
  kaon_operator_destroy(&A);
  shell_close(&c);
}

static void columns_do_not_see_each_other(void **state) {
  shell_case c;
  (void)state;
  shell_open(&c, extents, 2);
  kaon_operator *A = shell_operator(&c, KAON_DOUBLE, map_equation, &layers);
  kaon_vector *b = shell_random_vector(&c, KAON_DOUBLE, COLUMNS, 7),
              *x = shell_vector(&c, KAON_DOUBLE, COLUMNS), *one = shell_vector(&c, KAON_DOUBLE, 1),
              *y = shell_vector(&c, KAON_DOUBLE, 1);
  shell_complex *host = calloc(c.n, sizeof *host), *alone = calloc(c.n, sizeof *alone);
  for (int m = 0; m < METHODS; m = next_krylov(m)) {
    kaon_column_report r[COLUMNS];
    kaon_solver *inner[2] = {NULL, NULL};
    if (!is_flexible_cg(m)) continue;
    kaon_operator *all = nested(A, COLUMNS, &inner[0]), *own = nested(A, 1, &inner[1]);
    solve(A, m, KAON_SINGLE, all, b, x, r);
    for (int k = 0; k < COLUMNS; k++) {
      shell_export(&c, b, k, host);
      shell_import(&c, one, 0, host);
      const kaon_column_report now = solve(A, m, KAON_SINGLE, own, one, y, NULL);
      shell_export(&c, x, k, host);
      shell_export(&c, y, 0, alone);
      assert_int_equal(now.iterations, r[k].iterations);
      assert_memory_equal(host, alone, c.n * sizeof *host);
    }
    kaon_operator_destroy(&all);
    kaon_operator_destroy(&own);
    for (int i = 0; i < 2; i++) kaon_solver_destroy(&inner[i]);
  }
  free(host);
  free(alone);
  kaon_vector_destroy(&b);
  kaon_vector_destroy(&x);
  kaon_vector_destroy(&one);
  kaon_vector_destroy(&y);
  kaon_operator_destroy(&A);
  shell_close(&c);
}

/* GCR to a fixed number of steps as an operator ~ A^-1. */
static kaon_operator *fixed_gcr(kaon_operator *A, int steps, kaon_operator *K) {
  kaon_operator *inverse = NULL;
  kaon_solver *s = NULL;
  kaon_solver_options o = KAON_SOLVER_OPTIONS_INIT;
  o.method = KAON_GCR;
  o.tol = 0;
  o.max_iterations = o.subspace = steps;
  o.preconditioner = K;
  must(A->ctx, kaon_solver_create(A, 1, &o, &s));
  must(A->ctx, kaon_solver_as_operator(s, &inverse));
  kaon_solver_destroy(&s);
  return inverse;
}

/* More steps than the precision has digits for: the residual by recurrence is then made of roundings,
 * of which a step may take a hundred times as much as there is. */
static void steps_beyond_the_precision_do_no_harm(void **state) {
  shell_case c;
  (void)state;
  shell_open(&c, extents, 2);
  kaon_operator *A = shell_operator(&c, KAON_SINGLE, map_equation, &layers);
  kaon_operator *inner = fixed_gcr(A, 32, NULL), *K = fixed_gcr(A, 2, inner);
  kaon_vector *b = shell_random_vector(&c, KAON_SINGLE, 1, 7),
              *x = shell_vector(&c, KAON_SINGLE, 1);
  double least = 1;
  for (int steps = 1; steps <= 12; steps++) {
    kaon_operator *inverse = fixed_gcr(A, steps, K);
    must(c.ctx, kaon_operator_apply(inverse, KAON_PLAIN, b, x));
    const double residual = shell_residual(&c, map_equation, &layers, b, x, 0);
    printf("  %d steps: residual %.1e\n", steps, residual);
    least = fmin(least, residual);
    assert_true(residual <= 101 * least);
    kaon_operator_destroy(&inverse);
  }
  assert_true(least <= 100 * 0x1p-24);
  kaon_operator_destroy(&K);
  kaon_operator_destroy(&inner);
  kaon_operator_destroy(&A);
  kaon_vector_destroy(&b);
  kaon_vector_destroy(&x);
  shell_close(&c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_changing_preconditioner_does_no_harm),
      cmocka_unit_test(a_fixed_one_gives_the_steps_of_cg),
      cmocka_unit_test(columns_do_not_see_each_other),
      cmocka_unit_test(steps_beyond_the_precision_do_no_harm),
  };
  make_equations();
  return test_main(tests, NULL, NULL);
}
