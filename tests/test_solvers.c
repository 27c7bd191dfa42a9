/* test_solvers.c - every method on operators that are not Dirac operators, against theory (k
 * distinct eigenvalues, k steps) and LAPACKE's solution: every combination of precisions,
 * refinements and stopping residuals. Results do not depend on the check interval, on threads or
 * on other columns. Operators are shells, which work on the host. On a device every step would
 * wait for the host, so long solves use the same maps as matrices and short ones use shells. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define lapack_complex_double double _Complex
#define lapack_complex_float float _Complex
#include <lapacke.h>

#include "tests/util/dirac_case.h"
#include "tests/util/machine.h"
#include "tests/util/methods.h"
#include "tests/util/shell_operator.h"
#include "tests/util/test_util.h"

static const int tiny_extents[4] = {2, 2, 2, 2}, extents[4] = {4, 4, 4, 4};
static const char *const stop_names[] = {"full", "reduced", "normal"};
static const char *const refinement_names[] = {"reliable", "restart"};

/* Condition about 400 and 4 / 0.05 = 80. */
static const chain hermitian_chain = {.mass = 0.01, .phase = 0.7},
                   wind_chain = {.mass = 0.05, .wind = 0.1, .phase = 0.7};

/* Methods for Hermitian positive definite operators, and those that combine their columns. */
static int hermitian_method(int method) {
  return method_has(method, KAON_METHOD_HERMITIAN);
}

static const chain *chain_of(kaon_method method) {
  return hermitian_method((int)method) ? &hermitian_chain : &wind_chain;
}

static int joins_columns(int method) {
  return method_has(method, KAON_METHOD_BLOCK);
}

static kaon_solver_options options_of(kaon_method method, double tol, kaon_precision sloppy) {
  kaon_solver_options o = KAON_SOLVER_OPTIONS_INIT;
  o.method = method;
  o.tol = tol;
  o.sloppy = sloppy;
  return o;
}

typedef kaon_operator *maker(shell_case *, kaon_precision, shell_map *, const void *);

/* The vectors that are made from here on are of its space. */
static kaon_operator *make_operator(maker *make, shell_case *c, shell_map *map, const void *user) {
  kaon_operator *A = make(c, KAON_DOUBLE, map, user);
  c->space = kaon_operator_space(A);
  return A;
}

/* The chain that suits the method, where the machine has its vectors. */
static kaon_operator *chain_operator(shell_case *c, kaon_method method) {
  return shell_placed(c, map_chain, chain_of(method));
}

/* Solves from zero; x is new. */
static kaon_vector *solve(shell_case *c, kaon_operator *A, const kaon_solver_options *o,
                          const kaon_vector *b, kaon_column_report *columns) {
  kaon_vector *x = shell_vector(c, kaon_operator_precision(A), kaon_vector_columns(b));
  kaon_solver *s = NULL;
  must(c->ctx, kaon_solver_create(A, kaon_vector_columns(b), o, &s));
  must(c->ctx, kaon_solver_solve(s, b, x, columns, NULL));
  kaon_solver_destroy(&s);
  return x;
}

/* Exact arithmetic ends CG after as many steps as A has distinct eigenvalues. Rounding grows by at
 * most the square of the condition (10, squared by the normal equations) in each of so few steps:
 * 8 * 1e4 eps is far below the tolerance. */
static void cg_takes_a_step_per_distinct_eigenvalue(void **state) {
  (void)state;
  shell_case c;
  shell_open(&c, tiny_extents, 1);
  kaon_vector *b = shell_random_vector(&c, KAON_DOUBLE, 1, 1);
  for (int k = 1; k <= 8; k += k < 4 ? 1 : 2) {
    const spectrum s = {k, 1, 10};
    kaon_operator *A = shell_operator(&c, KAON_DOUBLE, map_diagonal, &s);
    for (int m = 0; m < METHODS; m = next_krylov(m)) {
      if (m == KAON_BICGSTAB || m == KAON_MR || m == KAON_GCR || m == KAON_PIPEBICGSTAB ||
          m == KAON_RBICGSTAB)
        continue;
      const kaon_solver_options o = options_of((kaon_method)m, 1e-10, KAON_DOUBLE);
      kaon_column_report r;
      kaon_vector *x = solve(&c, A, &o, b, &r);
      printf("  %-5s %2d eigenvalues: %d steps, residual %.1e\n", method_name(m), k, r.iterations,
             r.residual);
      assert_int_equal(r.iterations, k);
      assert_int_equal(r.reason, KAON_CONVERGED);
      kaon_vector_destroy(&x);
    }
    kaon_operator_destroy(&A);
  }
  kaon_vector_destroy(&b);
  shell_close(&c);
}

/* shift + random, Hermitian when asked: positive definite as |random| < shift. */
static shell_complex *dense_matrix(const shell_case *c, double shift, int hermitian,
                                   uint64_t seed) {
  const size_t n = c->n;
  shell_complex *a = calloc(n * n, sizeof *a);
  for (size_t i = 0; i < n; i++) {
    shell_complex *row = shell_random(c, seed + i);
    for (size_t j = 0; j < n; j++) a[i * n + j] = row[j] / sqrt((double)n);
    free(row);
  }
  for (size_t i = 0; hermitian && i < n; i++)
    for (size_t j = 0; j <= i; j++) {
      a[i * n + j] = (a[i * n + j] + conj(a[j * n + i])) / 2;
      a[j * n + i] = conj(a[i * n + j]);
    }
  for (size_t i = 0; i < n; i++) a[i * n + i] += shift;
  return a;
}

/* |A^-1| by the singular values of the transposed matrix. zgemv_n of OpenBLAS 0.3.21 reads beyond
 * the last column, so one more follows it. */
static double inverse_norm(const shell_complex *a, size_t n) {
  shell_complex *copy = calloc(n * (n + 1), sizeof *copy), unused;
  double *s = calloc(n, sizeof *s), *work = calloc(n, sizeof *work);
  memcpy(copy, a, n * n * sizeof *copy);
  assert_int_equal(LAPACKE_zgesvd(LAPACK_COL_MAJOR, 'N', 'N', (int)n, (int)n, copy, (int)n, s,
                                  &unused, 1, &unused, 1, work),
                   0);
  const double result = 1 / s[n - 1];
  free(copy);
  free(s);
  free(work);
  return result;
}

/* A dense system with LAPACKE's solution x. */
typedef struct {
  shell_complex *a, *x;
  double size, inverse; /* |b|, |A^-1| */
} dense_system;
enum { DENSE_SOURCE = 5 };

static dense_system dense_solved(const shell_case *c, int hermitian) {
  const size_t n = c->n;
  dense_system s = {dense_matrix(c, 2.0, hermitian, 100), shell_random(c, DENSE_SOURCE), 0, 0};
  shell_complex *copy = calloc(n * n, sizeof *copy);
  int *pivots = calloc(n, sizeof *pivots);
  for (size_t i = 0; i < n; i++) s.size = hypot(s.size, cabs(s.x[i]));
  memcpy(copy, s.a, n * n * sizeof *copy);
  assert_int_equal(LAPACKE_zgesv(LAPACK_ROW_MAJOR, (int)n, 1, copy, (int)n, pivots, s.x, 1), 0);
  s.inverse = inverse_norm(s.a, n);
  free(copy);
  free(pivots);
  return s;
}

static void dense_free(dense_system *s) {
  free(s->a);
  free(s->x);
}

/* |x - A^-1 b| <= |A^-1| |r| <= |A^-1| tol |b|, beside LAPACKE's own error. */
static void compare_with_lapack(shell_case *c, maker *make, kaon_method method,
                                const dense_system *s, kaon_precision sloppy) {
  const double tol = 1e-10;
  kaon_operator *A = make_operator(make, c, map_dense, s->a);
  kaon_vector *b = shell_random_vector(c, KAON_DOUBLE, 1, DENSE_SOURCE);
  kaon_solver_options o = options_of(method, tol, sloppy);
  kaon_column_report r;
  kaon_vector *x = solve(c, A, &o, b, &r);
  assert_int_equal(r.reason, KAON_CONVERGED);

  shell_complex *found = calloc(c->n, sizeof *found);
  double error = 0;
  shell_export(c, x, 0, found);
  for (size_t i = 0; i < c->n; i++) error = hypot(error, cabs(found[i] - s->x[i]));
  char text[80];
  snprintf(text, sizeof text, "%s double/%s, %s: |x - lapack| / |b| (%d steps)",
           method_name(method), precision_names[sloppy],
           make == shell_operator ? "shell" : "matrix", r.iterations);
  test_below(text, error / s->size, s->inverse * tol * 1.1);
  free(found);
  kaon_vector_destroy(&b);
  kaon_vector_destroy(&x);
  kaon_operator_destroy(&A);
}

static void every_method_finds_lapacks_solution(void **state) {
  (void)state;
  static maker *const makers[] = {shell_operator, shell_matrix};
  shell_case c;
  shell_open(&c, tiny_extents, 1);
  dense_system general = dense_solved(&c, 0), hermitian = dense_solved(&c, 1);
  for (int m = 0; m < METHODS; m = next_krylov(m))
    for (int p = KAON_DOUBLE; p <= coarsest(m); p++)
      for (int i = 0; i < 2; i++)
        compare_with_lapack(&c, makers[i], (kaon_method)m,
                            hermitian_method(m) ? &hermitian : &general, (kaon_precision)p);
  dense_free(&general);
  dense_free(&hermitian);
  shell_close(&c);
}

/* Iterations of one combination; checks the reported residuals against the map itself. */
static int pairing(shell_case *c, kaon_operator *A, kaon_solver_options o, const kaon_vector *b,
                   int plain) {
  const double tol = o.tol;
  kaon_column_report r;
  kaon_vector *x = solve(c, A, &o, b, &r);
  const double own = shell_residual(c, map_chain, chain_of(o.method), b, x, 0);
  printf(
      "  %-8s double/%-6s %-8s stop %-7s %4d steps (%.2f), %2d updates, residual %.2e, stop "
      "%.2e, %s\n",
      method_name((int)o.method), precision_names[o.sloppy], refinement_names[o.refinement],
      stop_names[o.stop], r.iterations, plain ? r.iterations / (double)plain : 1.0, r.updates,
      r.residual, r.stop_residual, kaon_stop_reason_name(r.reason));
  assert_int_equal(r.reason, KAON_CONVERGED);
  assert_true(r.stop_residual <= 1.1 * tol);
  if (o.stop != KAON_STOP_NORMAL) assert_true(own <= 1.1 * tol);
  /* both in double: rounding of b - A x, at most a few eps (|A| |x| / |b|) <= eps condition */
  assert_true(fabs(own - r.residual) <= 1e-2 * own + 1e-13);
  kaon_vector_destroy(&x);
  return r.iterations;
}

/* Every method x inner precision x refinement x stopping residual reaches a true residual of
 * 1e-10. */
static void every_pairing_converges_truly(void **state) {
  (void)state;
  shell_case c;
  shell_open(&c, tiny_extents, 1);
  for (int m = 0; m < METHODS; m = next_krylov(m)) {
    kaon_operator *A = chain_operator(&c, (kaon_method)m);
    kaon_vector *b = shell_random_vector(&c, KAON_DOUBLE, 1, 9);
    for (int stop = KAON_STOP_FULL; stop <= KAON_STOP_NORMAL; stop++) {
      kaon_solver_options o = options_of((kaon_method)m, 1e-10, KAON_DOUBLE);
      o.stop = (kaon_stop)stop;
      const int plain = pairing(&c, A, o, b, 0);
      for (int p = KAON_SINGLE; p <= coarsest(m); p++)
        for (int refinement = 0; refinement < 2; refinement++) {
          o.sloppy = (kaon_precision)p;
          o.refinement = (kaon_refinement)refinement;
          pairing(&c, A, o, b, plain);
        }
    }
    kaon_vector_destroy(&b);
    kaon_operator_destroy(&A);
  }
  shell_close(&c);
}

/* Krylov goes on across replacements: counts near those of pure double. */
static void reliable_updates_keep_the_iteration_count(void **state) {
  (void)state;
  static const kaon_method methods[] = {KAON_CG, KAON_CGNR, KAON_CGNE, KAON_BLOCKCG,
                                        KAON_BLOCKCGNR};
  static const double most[] = {1.0, 1.05, 1.15};
  shell_case c;
  shell_open(&c, extents, 1);
  for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
    kaon_operator *A = chain_operator(&c, methods[i]);
    kaon_vector *b = shell_random_vector(&c, KAON_DOUBLE, 1, 9);
    int plain = 0;
    for (int p = KAON_DOUBLE; p <= KAON_HALF; p++) {
      const kaon_solver_options o = options_of(methods[i], 1e-10, (kaon_precision)p);
      const int steps = pairing(&c, A, o, b, plain);
      if (p == KAON_DOUBLE) plain = steps;
      char text[80];
      snprintf(text, sizeof text, "%s double/%s: steps over pure double's",
               method_name((int)methods[i]), precision_names[p]);
      test_below(text, steps / (double)plain, most[p]);
    }
    kaon_vector_destroy(&b);
    kaon_operator_destroy(&A);
  }
  shell_close(&c);
}

/* One solve of `columns` columns; x's bits and the reports. */
typedef struct {
  size_t n;
  shell_complex *x[5];
  kaon_column_report report[5];
  double history[5][64];
} outcome;

static outcome run(kaon_method method, kaon_precision sloppy, int threads, int check_interval,
                   int first, int columns) {
  shell_case c;
  shell_open(&c, tiny_extents, threads);
  outcome out = {.n = c.n};
  kaon_operator *A = chain_operator(&c, method);
  kaon_vector *b = shell_random_vector(&c, KAON_DOUBLE, columns, 40 + (uint64_t)first);
  kaon_vector *x = shell_vector(&c, KAON_DOUBLE, columns);
  kaon_solver_options o = options_of(method, 1e-9, sloppy);
  o.check_interval = check_interval;
  o.subspace = 8;
  kaon_solver *s = NULL;
  must(c.ctx, kaon_solver_create(A, columns, &o, &s));
  must(c.ctx, kaon_solver_solve(s, b, x, out.report, NULL));
  for (int k = 0; k < columns; k++) {
    int room = 64;
    out.x[k] = calloc(c.n, sizeof **out.x);
    shell_export(&c, x, k, out.x[k]);
    must(c.ctx, kaon_solver_history(s, k, out.history[k], &room));
    assert_int_equal(room, out.report[k].iterations + 1);
  }
  kaon_solver_destroy(&s);
  kaon_vector_destroy(&b);
  kaon_vector_destroy(&x);
  kaon_operator_destroy(&A);
  shell_close(&c);
  return out;
}

static void release(outcome *out) {
  for (int k = 0; k < 5; k++) free(out->x[k]);
}

static void assert_same_column(const outcome *a, int i, const outcome *b, int j) {
  assert_int_equal(a->report[i].iterations, b->report[j].iterations);
  assert_int_equal(a->report[i].updates, b->report[j].updates);
  assert_memory_equal(a->x[i], b->x[j], a->n * sizeof(shell_complex));
  assert_memory_equal(a->history[i], b->history[j], sizeof a->history[i]);
}

static void results_do_not_depend_on_when_the_host_looks(void **state) {
  (void)state;
  static const int intervals[] = {1, 256, 3};
  const size_t tried = shell_machine == MACHINE_CUDA ? 2 : 3; /* a device opens slowly */
  for (int m = 0; m < METHODS; m = next_krylov(m))
    for (int p = KAON_DOUBLE; p <= coarsest(m); p++) {
      outcome usual = run((kaon_method)m, (kaon_precision)p, 1, 10, 0, 3);
      for (size_t i = 0; i < tried; i++) {
        outcome other = run((kaon_method)m, (kaon_precision)p, 1, intervals[i], 0, 3);
        for (int k = 0; k < 3; k++) assert_same_column(&usual, k, &other, k);
        release(&other);
      }
      printf("  %-8s double/%-6s %d, %d, %d steps, looking every 1, 10, 256%s: same bits\n",
             method_name(m), precision_names[p], usual.report[0].iterations,
             usual.report[1].iterations, usual.report[2].iterations, tried > 2 ? ", 3" : "");
      release(&usual);
    }
}

static void results_do_not_depend_on_threads(void **state) {
  (void)state;
  if (shell_machine == MACHINE_CUDA) skip(); /* threads are the host's */
  for (int m = 0; m < METHODS; m = next_krylov(m)) {
    outcome one = run((kaon_method)m, (kaon_precision)coarsest(m), 1, 10, 0, 2);
    for (int threads = 2; threads <= 3; threads++) {
      outcome more = run((kaon_method)m, (kaon_precision)coarsest(m), threads, 10, 0, 2);
      for (int k = 0; k < 2; k++) assert_same_column(&one, k, &more, k);
      release(&more);
    }
    release(&one);
  }
}

static void columns_do_not_see_each_other(void **state) {
  (void)state;
  for (int m = 0; m < METHODS; m = next_krylov(m))
    for (int p = KAON_DOUBLE; p <= coarsest(m) && !joins_columns(m); p++) {
      outcome together = run((kaon_method)m, (kaon_precision)p, 1, 10, 0, 5);
      for (int k = 0; k < 5; k += shell_machine == MACHINE_CUDA ? 4 : 1) {
        outcome alone = run((kaon_method)m, (kaon_precision)p, 1, 10, k, 1);
        assert_same_column(&together, k, &alone, 0);
        release(&alone);
      }
      release(&together);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(cg_takes_a_step_per_distinct_eigenvalue),
      cmocka_unit_test(every_method_finds_lapacks_solution),
      cmocka_unit_test(every_pairing_converges_truly),
      cmocka_unit_test(reliable_updates_keep_the_iteration_count),
      cmocka_unit_test(results_do_not_depend_on_when_the_host_looks),
      cmocka_unit_test(results_do_not_depend_on_threads),
      cmocka_unit_test(columns_do_not_see_each_other),
  };
  shell_machine = MACHINE_CPU;
  if (!machine_lacks(MACHINE_CPU)) test_group(tests, NULL, NULL);
  shell_machine = MACHINE_CUDA;
  if (!machine_lacks(MACHINE_CUDA)) test_group(tests, NULL, NULL);
  return test_end();
}
