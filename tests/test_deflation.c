/* test_deflation.c - deflation in mixed-precision conjugate gradients. Its small dense problems
 * agree with LAPACKE. Near criticality an inner process in half or single takes about the steps of
 * one in double; without deflation it does not. Results do not depend on the check interval, on
 * threads or on the other columns. Refusals where it is not offered. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define lapack_complex_double double _Complex
#define lapack_complex_float float _Complex
#include <lapacke.h>

#include "tests/util/deflation_case.h"

/* ---- dense problems ---- */

enum { N = KAON_RITZ_MAX };

/* m = v^dagger v for n columns of n + 8 random numbers; the last `same` columns repeat the first
 * ones. */
static void random_gram(int n, int same, uint64_t seed, kaon_z *m) {
  kaon_z v[N][N + 8];
  const int length = n + 8;
  for (int i = 0; i < n; i++)
    for (int l = 0; l < length; l++) {
      const double re = test_uniform(&seed), im = test_uniform(&seed);
      v[i][l] = i < n - same ? re + I * im : v[i - (n - same)][l];
    }
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) {
      m[i * n + j] = 0;
      for (int l = 0; l < length; l++) m[i * n + j] += conj(v[i][l]) * v[j][l];
    }
}

/* g c = t to some eps times g's condition, which is below 1e4 here: 1e-11. Where columns repeat,
 * one of each serves. */
static void small_systems_are_solved(void **state) {
  (void)state;
  for (int n = 1; n <= N; n += n < 6 ? 1 : 6)
    for (int same = 0; same <= n / 3; same += 2) {
      kaon_z g[N * N], c[N], t[N];
      random_gram(n, same, 7, g);
      for (int i = 0; i < n; i++) {
        t[i] = 0; /* of the solution 1 + i in all places */
        for (int j = 0; j < n; j++) t[i] += g[i * n + j] * (1 + I * j);
        c[i] = t[i];
      }
      kaon_ritz_solve(n, g, 1e-12, c);
      double error = 0, size = 0;
      for (int i = 0; i < n; i++) {
        kaon_z left = t[i];
        for (int j = 0; j < n; j++) left -= g[i * n + j] * c[j];
        error = larger(error, cabs(left));
        size = larger(size, cabs(t[i]));
        if (i >= n - same) assert_true(c[i] == 0);
      }
      char text[80];
      snprintf(text, sizeof text, "%d rows, %d of them twice: |t - g c|", n, same);
      test_below(text, error / size, 1e-11);
    }
}

/* The k smallest values of g v = theta b v. */
static void lapack_values(int n, const kaon_z *g, const kaon_z *b, double *values) {
  kaon_z a[N * N], m[N * N];
  memcpy(a, g, (size_t)(n * n) * sizeof *g);
  memcpy(m, b, (size_t)(n * n) * sizeof *b);
  assert_int_equal(LAPACKE_zhegv(LAPACK_ROW_MAJOR, 1, 'N', 'U', n, a, n, m, n, values), 0);
}

/* The chosen basis spans the space of the smallest values: restricted to it, the problem has these
 * values. Bound: eps times b's condition, with room. */
static void the_smallest_ritz_values_are_kept(void **state) {
  (void)state;
  for (int n = 2; n <= N; n += 2) {
    kaon_z g[N * N], b[N * N], w[N * N], given[N * N], rg[N * N], rb[N * N];
    double all[N], some[N], least = 0, worst = 0, off = 0;
    int kept[N];
    random_gram(n, 0, 11, g);
    random_gram(n, 0, 12, b);
    const int keep = kaon_ritz_choose(n, g, b, 1e-12, 3 * n / 4, kept, w, &least);
    assert_int_equal(keep, 3 * n / 4);
    memcpy(given, w, sizeof w);
    lapack_values(n, g, b, all);
    for (int m = 0; m < keep; m++) {
      for (int j = 0; j < keep; j++) assert_true(w[kept[m] * keep + j] == 0);
    }
    for (int m = 0; m < keep; m++) w[kept[m] * keep + m] = 1;
    for (int l = 0; l < keep; l++)
      for (int m = 0; m < keep; m++) {
        rg[l * keep + m] = rb[l * keep + m] = 0;
        for (int i = 0; i < n; i++)
          for (int j = 0; j < n; j++) {
            const kaon_z factor = conj(w[i * keep + l]) * w[j * keep + m];
            rg[l * keep + m] += factor * g[i * n + j];
            rb[l * keep + m] += factor * b[i * n + j];
          }
      }
    kaon_ritz_restrict(n, keep, kept, given, g);
    for (int l = 0; l < keep; l++)
      for (int m = 0; m < keep; m++)
        off = larger(off, cabs(g[kept[l] * n + kept[m]] - rg[l * keep + m]));
    test_below("g restricted, by the library", off / cabs(rg[0]), 1e-12);
    lapack_values(keep, rg, rb, some);
    for (int m = 0; m < keep; m++) worst = larger(worst, fabs(some[m] - all[m]) / all[m]);
    char text[80];
    snprintf(text, sizeof text, "%d of %d: values off LAPACKE's", keep, n);
    test_below(text, worst, 1e-9);
    test_below("the smallest", fabs(least - all[0]) / all[0], 1e-10);
  }
}

static void vectors_that_depend_on_others_are_not_kept(void **state) {
  (void)state;
  kaon_z g[N * N], b[N * N], w[N * N];
  int kept[N];
  double least;
  random_gram(8, 3, 3, g);
  random_gram(8, 3, 4, b);
  assert_int_equal(kaon_ritz_choose(8, g, b, 1e-12, 6, kept, w, &least), 5);
  memset(b, 0, sizeof b);
  assert_int_equal(kaon_ritz_choose(8, g, b, 1e-12, 6, kept, w, &least), 0);
}

/* Vector n - 1 of n is the sum of the others, stored with roundings of eps of its largest number,
 * plus `far` eps times its length in a component that the others lack. */
static void gram_of_a_sum(int n, double eps, double far, kaon_z *m) {
  kaon_z v[N][N + 8] = {{0}};
  double largest = 0, length2 = 0;
  uint64_t seed = 5;
  for (int i = 0; i < n - 1; i++)
    for (int l = 1; l < n + 8; l++) {
      v[i][l] = test_uniform(&seed) + I * test_uniform(&seed);
      v[n - 1][l] += v[i][l];
    }
  for (int l = 0; l < n + 8; l++) {
    largest = larger(largest, cabs(v[n - 1][l]));
    length2 += creal(v[n - 1][l] * conj(v[n - 1][l]));
  }
  for (int l = 1; l < n + 8; l++)
    v[n - 1][l] += eps * largest * (test_uniform(&seed) + I * test_uniform(&seed)) / sqrt(2);
  v[n - 1][0] = far * eps * sqrt(length2);
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) {
      m[i * n + j] = 0;
      for (int l = 0; l < n + 8; l++) m[i * n + j] += conj(v[i][l]) * v[j][l];
    }
}

/* Roundings of eps of the largest of 16 numbers are at most 4 eps of the length, below 16 eps. A
 * component of 20 eps counts as a direction. */
static void roundings_are_no_directions(void **state) {
  (void)state;
  static const double epsilon[] = {0x1p-24, 0x1p-16};
  enum { n = 8 };
  for (int i = 0; i < 4; i++) {
    const double eps = epsilon[i / 2], dependent = kaon_ritz_dependent(eps * eps);
    const int is_one = i % 2;
    kaon_z g[N * N], w[N * N], c[N] = {0};
    int kept[N];
    double least;
    gram_of_a_sum(n, eps, is_one ? 20 : 0, g);
    c[n - 1] = 1;
    kaon_ritz_solve(n, g, dependent, c);
    assert_int_equal(c[n - 1] != 0, is_one);
    assert_int_equal(kaon_ritz_choose(n, g, g, dependent, n, kept, w, &least), n - 1 + is_one);
  }
}

/* ---- solves ---- */

/* Solves `columns` of b from zero; the last column's steps. */
static int solve(kaon_context *ctx, kaon_operator *A, const kaon_solver_options *o,
                 const kaon_vector *b, kaon_vector *x, kaon_column_report *columns) {
  const int n = kaon_vector_columns(b);
  kaon_solver *s = NULL;
  must(ctx, kaon_vector_zero(x));
  must(ctx, kaon_solver_create(A, n, o, &s));
  must(ctx, kaon_solver_solve(s, b, x, columns, NULL));
  kaon_solver_destroy(&s);
  return columns[n - 1].iterations;
}

static int critical_steps(critical *t, kaon_precision sloppy, int deflation) {
  const kaon_solver_options o = options_of(KAON_CGNR, sloppy, deflation);
  kaon_column_report r;
  const int steps = solve(t->c.ctx, t->schur, &o, t->b, t->x, &r);
  printf("  double/%-6s deflation %2d: %d steps, %d updates, residual %.2e, %s\n",
         precision_names[sloppy], deflation, steps, r.updates, r.residual,
         kaon_stop_reason_name(r.reason));
  if (r.reason == KAON_CONVERGED) assert_true(r.residual <= 1.1e-10);
  return r.reason == KAON_CONVERGED ? steps : o.max_iterations;
}

/* Mixed precision may take 5 and 15 % more steps than double. Without deflation it takes more (655
 * and 737 instead of 592 at kappa 0.198), so the bounds can be missed. */
static void inner_precision_costs_few_steps(void **state) {
  (void)state;
  for (int machine = KAON_ISA_SCALAR; machine <= MACHINE_LAST; machine++) {
    critical t;
    if (TEST_SLOWED && machine != KAON_ISA_AVX2) continue;
    if (!critical_open(&t, machine, 0.198, 1)) continue;
    printf("%s\n", machine_name(machine));
    const int full = critical_steps(&t, KAON_DOUBLE, 0);
    test_below("single", critical_steps(&t, KAON_SINGLE, 16) / (double)full, 1.05);
    test_below("half", critical_steps(&t, KAON_HALF, 16) / (double)full, 1.15);
    assert_true(critical_steps(&t, KAON_HALF, 0) > 1.15 * full);
    critical_close(&t);
  }
}

/* At kappa 0.205 the normal equations' condition, about 1e8, times half's rounding is far above 1,
 * so no count is promised there (without deflation 1771 and 3250 instead of 1095); it must only be
 * clearly smaller. */
static void steps_are_fewer_where_rounding_rules(void **state) {
  (void)state;
  for (int machine = MACHINE_CPU; machine <= MACHINE_LAST; machine += MACHINE_CUDA - MACHINE_CPU) {
    critical t;
    if (!critical_open(&t, machine, 0.205, 1)) continue;
    const int plain[] = {critical_steps(&t, KAON_SINGLE, 0), critical_steps(&t, KAON_HALF, 0)};
    test_below("single, over without", critical_steps(&t, KAON_SINGLE, 16) / (double)plain[0],
               0.75);
    test_below("half, over without", critical_steps(&t, KAON_HALF, 16) / (double)plain[1], 0.6);
    critical_close(&t);
  }
}

/* The rule's own choice, where it is one, and any number of pairs. */
static void the_rule_deflates_on_processors(void **state) {
  (void)state;
  critical t;
  if (!critical_open(&t, MACHINE_CPU, 0.198, 1)) skip();
  const int ruled = critical_steps(&t, KAON_HALF, -1);
  assert_int_equal(ruled, critical_steps(&t, KAON_HALF, KAON_DEFLATION_RULE));
  for (int pairs = 1; pairs <= KAON_RITZ_MAX; pairs += pairs < 4 ? 1 : 5)
    assert_true(critical_steps(&t, KAON_HALF, pairs) < 20000);
  assert_int_equal(critical_steps(&t, KAON_DOUBLE, 16), critical_steps(&t, KAON_DOUBLE, 0));
  critical_close(&t);
}

/* Bytes of so many pairs: each has two vectors in the inner precision, plus two more; two in the
 * outer precision. */
static double pairs_take(const kaon_space *space, int pairs) {
  return 2 * (pairs + 1) * (double)kaon_vector_needs(space, KAON_SINGLE, 1) +
         2 * (double)kaon_vector_needs(space, KAON_DOUBLE, 1);
}

static void the_rule_keeps_to_its_limit(void **state) {
  static const struct {
    int takes, less, kept;
  } limits[] = {{KAON_DEFLATION_RULE, 0, KAON_DEFLATION_RULE},
                {KAON_DEFLATION_RULE, 1, KAON_DEFLATION_RULE - 1},
                {11, 0, 11},
                {KAON_DEFLATION_LEAST, 0, KAON_DEFLATION_LEAST},
                {KAON_DEFLATION_LEAST, 1, 0}};
  (void)state;
  critical t;
  if (!critical_open(&t, MACHINE_CPU, 0.198, 1)) skip();
  for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
    for (int asked = -1; asked <= KAON_DEFLATION_RULE; asked += KAON_DEFLATION_RULE + 1) {
      kaon_solver_options o = options_of(KAON_CGNR, KAON_SINGLE, asked);
      kaon_solver *s = NULL;
      t.c.ctx->lab.deflation_limit = pairs_take(t.schur->space, limits[i].takes) - limits[i].less;
      must(t.c.ctx, kaon_solver_create(t.schur, 1, &o, &s));
      /* the limit is the rule's */
      assert_int_equal(s->deflation != NULL ? s->deflation->pairs : 0,
                       asked > 0 ? asked : limits[i].kept);
      kaon_solver_destroy(&s);
    }
  critical_close(&t);
}

static void looks_change_nothing(void **state) {
  (void)state;
  enum { COLUMNS = 3, CASES = 3 };
  static const int intervals[CASES] = {10, 1, 256};
  for (int machine = MACHINE_CPU; machine <= MACHINE_LAST; machine++) {
    if (machine != MACHINE_CPU && machine != MACHINE_CUDA) continue;
    ref_complex *first[COLUMNS] = {NULL};
    kaon_column_report r[CASES][COLUMNS];
    for (int i = 0; i < CASES; i++) {
      critical t;
      kaon_solver_options o = options_of(KAON_CGNR, KAON_HALF, 16);
      o.check_interval = intervals[i];
      if (!critical_open(&t, machine, 0.198, COLUMNS)) break;
      solve(t.c.ctx, t.schur, &o, t.b, t.x, r[i]);
      for (int k = 0; k < COLUMNS; k++) {
        ref_complex *x = case_export(&t.c, t.x, k);
        printf("  %s, column %d: %d steps\n", machine_name(machine), k, r[i][k].iterations);
        if (i == 0) {
          first[k] = x;
          continue;
        }
        assert_int_equal(r[i][k].iterations, r[0][k].iterations);
        assert_int_equal(r[i][k].updates, r[0][k].updates);
        assert_memory_equal(x, first[k], ref_spinor_size(&t.c.L) * sizeof *x);
        free(x);
      }
      critical_close(&t);
    }
    for (int k = 0; k < COLUMNS; k++) free(first[k]);
  }
}

/* ---- Hermitian operators ---- */

/* Steps of a solve, or max_iterations where it did not converge. */
static int two_scale_steps(shell_case *c, kaon_solver_options o, const two_scales *s) {
  kaon_operator *A = shell_operator(c, KAON_DOUBLE, map_two_scales, s);
  kaon_vector *b = shell_random_vector(c, KAON_DOUBLE, 1, 3), *x = shell_vector(c, KAON_DOUBLE, 1);
  kaon_column_report r;
  const int steps = solve(c->ctx, A, &o, b, x, &r);
  printf("  %s, %d values from %g on, double/%s, deflation %d: %d steps, %s\n",
         o.method == KAON_CG ? "cg" : "cgnr", s->small, s->least, precision_names[o.sloppy],
         o.deflation, steps, kaon_stop_reason_name(r.reason));
  kaon_vector_destroy(&b);
  kaon_vector_destroy(&x);
  kaon_operator_destroy(&A);
  return r.reason == KAON_CONVERGED ? steps : o.max_iterations;
}

/* A few small values beside a bulk, as many as the retained pairs or more. With up to as many,
 * half takes less than half the steps on the normal equations. It never takes many more: at most
 * 1.28 times as many, for 24 values in single. */
static void a_few_small_values_cost_less(void **state) {
  (void)state;
  static const int extents[4] = {4, 4, 4, 4};
  static const kaon_method methods[] = {KAON_CG, KAON_CGNR};
  static const two_scales cases[] = {{1, 1e-4}, {4, 1e-4}, {8, 1e-3}, {24, 1e-3}};
  shell_case c;
  shell_open(&c, extents, 1);
  for (int m = 0; m < 2; m++)
    for (int i = 0; i < (shell_machine == MACHINE_CUDA || TEST_SLOWED ? 1 : 4); i++)
      for (int p = KAON_SINGLE; p <= KAON_HALF; p++) {
        const kaon_solver_options without = options_of(methods[m], (kaon_precision)p, 0),
                                  with = options_of(methods[m], (kaon_precision)p, 16);
        const double ratio =
            two_scale_steps(&c, with, &cases[i]) / (double)two_scale_steps(&c, without, &cases[i]);
        const int much = methods[m] == KAON_CGNR && p == KAON_HALF && i < 3;
        test_below("with deflation over without", ratio, much ? 0.5 : 1.35);
      }
  shell_close(&c);
}

/* x of columns `first` to first + n - 1 of a source, in out[0] on. */
static void few_values(kaon_method method, int threads, int first, int n, shell_complex **out) {
  static const int extents[4] = {4, 4, 4, 4};
  static const two_scales of_cg = {16, 1e-3}, of_cgnr = {2, 1e-3};
  const two_scales *few = method == KAON_CG ? &of_cg : &of_cgnr;
  const kaon_solver_options o = options_of(method, KAON_HALF, method == KAON_CG ? 2 : 6);
  kaon_column_report r[3];
  shell_case c;
  shell_open(&c, extents, threads);
  kaon_operator *A = shell_operator(&c, KAON_DOUBLE, map_two_scales, few);
  kaon_vector *b = shell_random_vector(&c, KAON_DOUBLE, n, 40 + (uint64_t)first),
              *x = shell_vector(&c, KAON_DOUBLE, n);
  solve(c.ctx, A, &o, b, x, r);
  for (int k = 0; k < n; k++) {
    printf("  %d threads, column %d of %d: %d steps\n", threads, first + k, n, r[k].iterations);
    assert_true(r[k].iterations > KAON_DEFLATION_FIRST + KAON_DEFLATION_STEPS / 2);
    out[k] = calloc(c.n, sizeof *out[k]);
    shell_export(&c, x, k, out[k]);
  }
  kaon_vector_destroy(&b);
  kaon_vector_destroy(&x);
  kaon_operator_destroy(&A);
  shell_close(&c);
}

/* A column has the same bits alone and beside others, with one thread and with two. */
static void company_and_threads_change_nothing(void **state) {
  (void)state;
  enum { COLUMNS = 3, N_OF = 4 * 4 * 4 * 4 * 12 };
  static const kaon_method methods[] = {KAON_CG, KAON_CGNR};
  shell_complex *together[COLUMNS], *other[COLUMNS];
  for (int m = 0; m < 2; m++) {
    few_values(methods[m], 1, 0, COLUMNS, together);
    few_values(methods[m], 2, 0, COLUMNS, other);
    for (int k = 0; k < COLUMNS; k++) {
      assert_memory_equal(together[k], other[k], N_OF * sizeof **other);
      free(other[k]);
      few_values(methods[m], 1, k, 1, other);
      assert_memory_equal(together[k], other[0], N_OF * sizeof **other);
      free(other[0]);
      free(together[k]);
    }
  }
}

/* ---- where it is not offered ---- */

static void it_is_refused_where_it_is_not_offered(void **state) {
  (void)state;
  critical t;
  if (!critical_open(&t, MACHINE_CPU, 0.13, 1)) skip();
  static const kaon_method others[] = {KAON_BICGSTAB, KAON_CGNE, KAON_PIPECGNR, KAON_GCR};
  for (int i = 0; i < 4; i++) {
    kaon_solver_options o = options_of(others[i], KAON_HALF, 16);
    kaon_solver *s = NULL;
    assert_int_equal(kaon_solver_create(t.schur, 1, &o, &s), KAON_ERR_UNSUPPORTED);
    assert_non_null(strstr(kaon_last_error(t.c.ctx), "deflation=16 is for cg and cgnr"));
    o.deflation = -1;
    must(t.c.ctx, kaon_solver_create(t.schur, 1, &o, &s));
    kaon_solver_destroy(&s);
  }
  kaon_solver_options o = options_of(KAON_CGNR, KAON_HALF, 25);
  kaon_solver *s = NULL;
  assert_int_equal(kaon_solver_create(t.schur, 1, &o, &s), KAON_ERR_ARGUMENT);
  o = options_of(KAON_CGNR, KAON_HALF, 16);
  o.refinement = KAON_REFINE_RESTART;
  assert_int_equal(kaon_solver_create(t.schur, 1, &o, &s), KAON_ERR_UNSUPPORTED);
  critical_close(&t);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(small_systems_are_solved),
      cmocka_unit_test(the_smallest_ritz_values_are_kept),
      cmocka_unit_test(vectors_that_depend_on_others_are_not_kept),
      cmocka_unit_test(roundings_are_no_directions),
      cmocka_unit_test(inner_precision_costs_few_steps),
      cmocka_unit_test(steps_are_fewer_where_rounding_rules),
      cmocka_unit_test(the_rule_deflates_on_processors),
      cmocka_unit_test(the_rule_keeps_to_its_limit),
      cmocka_unit_test(looks_change_nothing),
      cmocka_unit_test(it_is_refused_where_it_is_not_offered),
  };
  const struct CMUnitTest others[] = {
      cmocka_unit_test(a_few_small_values_cost_less),
      cmocka_unit_test(company_and_threads_change_nothing),
  };
  test_group(tests, NULL, NULL);
  shell_machine = MACHINE_CPU;
  if (!machine_lacks(MACHINE_CPU)) test_group(others, NULL, NULL);
  shell_machine = MACHINE_CUDA;
  if (!machine_lacks(MACHINE_CUDA)) test_group(others, NULL, NULL);
  return test_end();
}
