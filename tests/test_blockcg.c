/* test_blockcg.c - block conjugate gradients against theory: one column is CG, a space of n rows
 * is exhausted after n / columns steps, and there are never more steps than with CG. Solutions
 * agree with LAPACKE and the reference. Columns may depend on each other or end at different
 * times. test_solvers.c and test_solver_begin_end.c check what every method must do. */
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

#include "blas/blas.h"
#include "tests/util/dirac_case.h"
#include "tests/util/machine.h"
#include "tests/util/shell_operator.h"
#include "tests/util/test_util.h"

enum { MOST = 64 };
static const int tiny_extents[4] = {2, 2, 2, 2}, extents[4] = {4, 4, 4, 4};

/* Condition about 400 and 4 / 0.05 = 80. */
static const chain hermitian_chain = {.mass = 0.01, .phase = 0.7},
                   wind_chain = {.mass = 0.05, .wind = 0.1, .phase = 0.7};

/* The block methods, and what each is for one column. */
static const kaon_method methods[] = {KAON_BLOCKCG, KAON_BLOCKCGNR},
                         plain_methods[] = {KAON_CG, KAON_CGNR};
static const char *const names[] = {"blockcg", "blockcgnr"};

static const chain *chain_of(int m) {
  return m == 0 ? &hermitian_chain : &wind_chain;
}

typedef struct {
  kaon_column_report r[MOST];
  int most; /* iterations */
  double history[64];
} result;

/* Solves from zero; x is new. */
static kaon_vector *solve(shell_case *c, kaon_operator *A, kaon_method method, double tol,
                          kaon_precision sloppy, int check_interval, const kaon_vector *b,
                          result *out) {
  const int columns = kaon_vector_columns(b);
  kaon_vector *x = shell_vector(c, KAON_DOUBLE, columns);
  kaon_solver_options o = KAON_SOLVER_OPTIONS_INIT;
  kaon_solver *s = NULL;
  int count = 64;
  o.method = method;
  o.tol = tol;
  o.sloppy = sloppy;
  o.check_interval = check_interval;
  memset(out, 0, sizeof *out);
  must(c->ctx, kaon_solver_create(A, columns, &o, &s));
  must(c->ctx, kaon_solver_solve(s, b, x, out->r, NULL));
  must(c->ctx, kaon_solver_history(s, columns - 1, out->history, &count));
  assert_int_equal(count, out->r[columns - 1].iterations + 1);
  for (int k = 0; k < columns; k++)
    if (out->r[k].iterations > out->most) out->most = out->r[k].iterations;
  kaon_solver_destroy(&s);
  return x;
}

/* Every column is CONVERGED, and truly so by the map itself. */
static void check(shell_case *c, shell_map *map, const void *user, double tol, const kaon_vector *b,
                  const kaon_vector *x, const result *out) {
  for (int k = 0; k < kaon_vector_columns(b); k++) {
    const double own = shell_residual(c, map, user, b, x, k);
    if (out->r[k].reason != KAON_CONVERGED || !(own <= 1.1 * tol))
      print_error("column %d: %s, residual %.2e\n", k, kaon_stop_reason_name(out->r[k].reason),
                  own);
    assert_int_equal(out->r[k].reason, KAON_CONVERGED);
    assert_true(own <= 1.1 * tol);
  }
}

/* Two recurrences that are equal in exact arithmetic differ by amplified roundings: each of 20
 * steps adds a few eps and multiplies by at most the root of the condition. */
static void one_column_is_cg(void **state) {
  (void)state;
  shell_case c;
  shell_open(&c, extents, 1);
  kaon_vector *b = shell_random_vector(&c, KAON_DOUBLE, 1, 9);
  for (int m = 0; m < 2; m++) {
    result block, plain;
    kaon_operator *A = shell_operator(&c, KAON_DOUBLE, map_chain, chain_of(m));
    kaon_vector *x = solve(&c, A, methods[m], 1e-9, KAON_DOUBLE, 10, b, &block);
    kaon_vector *y = solve(&c, A, plain_methods[m], 1e-9, KAON_DOUBLE, 10, b, &plain);
    double worst = 0;
    for (int i = 0; i < 20; i++)
      worst = larger(worst, fabs(block.history[i] / plain.history[i] - 1));
    printf("  %-9s %d steps, alone %d\n", names[m], block.most, plain.most);
    test_below("history of one column, relative to CG's", worst, 20 * 20 * 20 * 2.2e-16);
    assert_true(abs(block.most - plain.most) <= 1 + plain.most / 100);
    check(&c, map_chain, chain_of(m), 1e-9, b, x, &block);
    kaon_vector_destroy(&x);
    kaon_vector_destroy(&y);
    kaon_operator_destroy(&A);
  }
  kaon_vector_destroy(&b);
  shell_close(&c);
}

/* 192 rows: the space is exhausted after 192 / columns steps, where CG needs 192. This fails on
 * the normal equations: their condition is squared, and rounding destroys the property. */
static void the_space_is_spent_after_its_rows(void **state) {
  (void)state;
  static const int columns[] = {4, 12, 32, 64};
  shell_case c;
  shell_open(&c, tiny_extents, 1);
  kaon_operator *A = shell_operator(&c, KAON_DOUBLE, map_chain, &hermitian_chain);
  for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
    result out;
    const int exact = (int)c.n / columns[i];
    kaon_vector *b = shell_random_vector(&c, KAON_DOUBLE, columns[i], 9);
    kaon_vector *x = solve(&c, A, KAON_BLOCKCG, 1e-9, KAON_DOUBLE, 10, b, &out);
    printf("  %2d columns: %d steps, %zu rows / columns = %d\n", columns[i], out.most, c.n, exact);
    assert_true(out.most <= exact + 1);
    check(&c, map_chain, &hermitian_chain, 1e-9, b, x, &out);
    kaon_vector_destroy(&x);
    kaon_vector_destroy(&b);
  }
  kaon_operator_destroy(&A);
  shell_close(&c);
}

/* More columns, fewer steps; in every inner precision, to a true 1e-10. */
static void columns_help_each_other(void **state) {
  (void)state;
  static const int columns[] = {1, 3, 12};
  shell_case c;
  shell_open(&c, extents, 2);
  for (int m = 0; m < 2; m++)
    for (int p = KAON_DOUBLE; p <= KAON_HALF; p++) {
      int before = 1 << 30;
      if (TEST_SLOWED && (m + p) % 2 == 1) continue;
      kaon_operator *A = shell_placed(&c, map_chain, chain_of(m));
      for (int i = 0; i < 3; i++) {
        result out;
        kaon_vector *b = shell_random_vector(&c, KAON_DOUBLE, columns[i], 9);
        kaon_vector *x = solve(&c, A, methods[m], 1e-10, (kaon_precision)p, 10, b, &out);
        printf("  %-9s double/%-6s %2d columns: %d steps, %d updates\n", names[m],
               precision_names[p], columns[i], out.most, out.r[0].updates);
        assert_true(out.most < before);
        before = out.most;
        check(&c, map_chain, chain_of(m), 1e-10, b, x, &out);
        kaon_vector_destroy(&x);
        kaon_vector_destroy(&b);
      }
      kaon_operator_destroy(&A);
    }
  shell_close(&c);
}

/* Columns: b0, b1, b0 again, 0, b0 + 2 b1, b2, i b2, and b1 except for its last bits. */
enum { DEPENDENT = 8 };
static kaon_vector *dependent_columns(shell_case *c) {
  kaon_vector *b = shell_vector(c, KAON_DOUBLE, DEPENDENT);
  shell_complex *r[3], *z = calloc(c->n, sizeof *z);
  for (uint64_t i = 0; i < 3; i++) r[i] = shell_random(c, 70 + i);
  for (int k = 0; k < DEPENDENT; k++) {
    for (size_t i = 0; i < c->n; i++)
      z[i] = k == 3   ? 0
             : k == 4 ? r[0][i] + 2 * r[1][i]
             : k == 6 ? I * r[2][i]
             : k == 7 ? r[1][i] + 1e-13 * r[2][i]
                      : r[k == 2   ? 0
                          : k == 5 ? 2
                                   : k][i];
    shell_import(c, b, k, z);
  }
  for (int i = 0; i < 3; i++) free(r[i]);
  free(z);
  return b;
}

static void dependent_columns_converge(void **state) {
  (void)state;
  shell_case c;
  shell_open(&c, extents, 2);
  for (int m = 0; m < 2; m++)
    for (int p = KAON_DOUBLE; p <= KAON_HALF; p++) {
      result out, plain;
      if (TEST_SLOWED && (m + p) % 2 == 0) continue;
      kaon_operator *A = shell_placed(&c, map_chain, chain_of(m));
      kaon_vector *b = dependent_columns(&c);
      kaon_vector *x = solve(&c, A, methods[m], 1e-10, (kaon_precision)p, 10, b, &out);
      kaon_vector *y = solve(&c, A, plain_methods[m], 1e-10, (kaon_precision)p, 10, b, &plain);
      printf("  %-9s double/%-6s %d steps (alone %d), %d updates\n", names[m], precision_names[p],
             out.most, plain.most, out.r[0].updates);
      for (int k = 0; k < DEPENDENT; k++) {
        assert_int_equal(out.r[k].reason, KAON_CONVERGED);
        if (k != 3) assert_true(shell_residual(&c, map_chain, chain_of(m), b, x, k) <= 1.1e-10);
      }
      assert_int_equal(out.r[3].iterations, 0);
      /* a chain: three independent columns hardly help each other, and replacing costs more */
      assert_true(out.most <= plain.most + (p == KAON_DOUBLE ? -1 : plain.most / 10));
      kaon_vector_destroy(&x);
      kaon_vector_destroy(&y);
      kaon_vector_destroy(&b);
      kaon_operator_destroy(&A);
    }
  shell_close(&c);
}

/* Column 0 is an eigenvector and ends after one step. The others continue undisturbed, and each
 * reports its own count. */
static void columns_end_at_their_own_time(void **state) {
  (void)state;
  static const spectrum values = {40, 1, 100};
  shell_case c;
  shell_open(&c, extents, 1);
  for (int m = 0; m < 2; m++) {
    result out;
    kaon_operator *A = shell_operator(&c, KAON_DOUBLE, map_diagonal, &values);
    kaon_vector *b = shell_random_vector(&c, KAON_DOUBLE, 3, 5);
    shell_complex *unit = calloc(c.n, sizeof *unit);
    unit[7] = 3;
    shell_import(&c, b, 0, unit);
    kaon_vector *x = solve(&c, A, methods[m], 1e-10, KAON_DOUBLE, 10, b, &out);
    printf("  %-9s %d, %d, %d steps\n", names[m], out.r[0].iterations, out.r[1].iterations,
           out.r[2].iterations);
    assert_int_equal(out.r[0].iterations, 1);
    assert_true(out.r[1].iterations > 5 && out.r[1].iterations <= 40 * (m + 1));
    check(&c, map_diagonal, &values, 1e-10, b, x, &out);
    free(unit);
    kaon_vector_destroy(&x);
    kaon_vector_destroy(&b);
    kaon_operator_destroy(&A);
  }
  shell_close(&c);
}

/* Eigenvalues in [1, 4) on the first half, geometric from 1e-3 to 4 on the second. */
static double easy_and_hard(size_t n, size_t i) {
  const double along = ((double)i - (double)(n / 2)) / (double)(n - n / 2 - 1);
  return i < n / 2 ? 1 + 3.0 * (double)(i % 97) / 97 : 1e-3 * pow(4e3, along);
}

static void map_easy_and_hard(const void *user, int dagger, size_t n, const shell_complex *x,
                              shell_complex *y) {
  (void)user, (void)dagger;
  for (size_t i = 0; i < n; i++) y[i] = easy_and_hard(n, i) * x[i];
}

/* An easy column needs all its updates within 20 steps. In these a hard column, whose residual has
 * lost its easy part, gains nothing. That is not stagnation. */
static void easy_columns_do_not_end_hard_ones(void **state) {
  (void)state;
  shell_case c;
  shell_open(&c, extents, 2);
  kaon_operator *A = shell_placed(&c, map_easy_and_hard, NULL);
  kaon_vector *b = shell_random_vector(&c, KAON_DOUBLE, 3, 9);
  for (int k = 0; k < 3; k++) {
    shell_complex *z = shell_random(&c, 3 + (uint64_t)k);
    for (size_t i = 0; i < c.n; i++) {
      const double hard = k == 0 ? 0 : k == 1 ? 1e-3 : easy_and_hard(c.n, i);
      z[i] *= i >= c.n / 2 ? hard : k == 2 ? 1e-2 * easy_and_hard(c.n, i) : 1;
    }
    shell_import(&c, b, k, z);
    free(z);
  }
  for (int p = KAON_SINGLE; p <= KAON_HALF; p++) {
    result out;
    kaon_vector *x = solve(&c, A, KAON_BLOCKCG, 1e-8, (kaon_precision)p, 10, b, &out);
    printf("  double/%-6s %d, %d, %d steps, %d updates\n", precision_names[p], out.r[0].iterations,
           out.r[1].iterations, out.r[2].iterations, out.r[2].updates);
    check(&c, map_easy_and_hard, NULL, 1e-8, b, x, &out);
    kaon_vector_destroy(&x);
  }
  kaon_vector_destroy(&b);
  kaon_operator_destroy(&A);
  shell_close(&c);
}

/* |x - A^-1 b| <= |A^-1| tol |b| with A = 2 + Hermitian of norm below 1.7. */
static void lapack_finds_the_same(void **state) {
  (void)state;
  enum { COLUMNS = 5 };
  shell_case c;
  shell_open(&c, tiny_extents, 1);
  const size_t n = c.n;
  shell_complex *a = calloc(n * n, sizeof *a), *copy = calloc(n * n, sizeof *copy);
  for (size_t i = 0; i < n; i++) {
    shell_complex *row = shell_random(&c, 100 + i);
    for (size_t j = 0; j <= i; j++) {
      a[i * n + j] = (i == j ? 2 : 0) + (i == j ? creal(row[j]) : row[j]) / sqrt(2. * (double)n);
      a[j * n + i] = conj(a[i * n + j]);
    }
    free(row);
  }
  for (int m = 0; m < 2; m++)
    for (int p = KAON_DOUBLE; p <= KAON_HALF; p++) {
      result out;
      int *pivots = calloc(n, sizeof *pivots);
      kaon_operator *A = shell_operator(&c, KAON_DOUBLE, map_dense, a);
      kaon_vector *b = shell_random_vector(&c, KAON_DOUBLE, COLUMNS, 5);
      kaon_vector *x = solve(&c, A, methods[m], 1e-10, (kaon_precision)p, 10, b, &out);
      shell_complex *hb = calloc(n * COLUMNS, sizeof *hb), *hx = calloc(n, sizeof *hx);
      for (int k = 0; k < COLUMNS; k++) {
        shell_export(&c, b, k, hx);
        for (size_t i = 0; i < n; i++) hb[i * COLUMNS + (size_t)k] = hx[i];
      }
      memcpy(copy, a, n * n * sizeof *copy);
      assert_int_equal(
          LAPACKE_zgesv(LAPACK_ROW_MAJOR, (int)n, COLUMNS, copy, (int)n, pivots, hb, COLUMNS), 0);
      double worst = 0;
      for (int k = 0; k < COLUMNS; k++) {
        double e2 = 0, x2 = 0;
        shell_export(&c, x, k, hx);
        for (size_t i = 0; i < n; i++) {
          const shell_complex d = hx[i] - hb[i * COLUMNS + (size_t)k];
          e2 += creal(d * conj(d));
          x2 += creal(hx[i] * conj(hx[i]));
        }
        worst = larger(worst, sqrt(e2 / x2));
      }
      char text[80];
      snprintf(text, sizeof text, "%s double/%s: |x - lapack| / |x| (%d steps)", names[m],
               precision_names[p], out.most);
      test_below(text, worst, 3.7 / 0.3 * 1.1e-10);
      free(pivots), free(hb), free(hx);
      kaon_vector_destroy(&x);
      kaon_vector_destroy(&b);
      kaon_operator_destroy(&A);
    }
  free(a), free(copy);
  shell_close(&c);
}

/* Bits of all columns, where columns depend on each other and end at different times. */
static void bits_do_not_depend_on_looks_or_threads(void **state) {
  (void)state;
  static const int intervals[] = {10, 1, 256}, threads[] = {1, 3, 2};
  for (int m = 0; m < 2; m++)
    for (int p = KAON_DOUBLE; p <= KAON_HALF; p++) {
      shell_complex *first = NULL;
      result usual;
      if (TEST_SLOWED && (m + p) % 2 == 1) continue;
      for (int i = 0; i < 3; i++) {
        shell_case c;
        result out;
        shell_open(&c, tiny_extents, threads[i]);
        kaon_operator *A = shell_placed(&c, map_chain, chain_of(m));
        kaon_vector *b = dependent_columns(&c);
        kaon_vector *x = solve(&c, A, methods[m], 1e-9, (kaon_precision)p, intervals[i], b, &out);
        shell_complex *all = calloc(c.n * DEPENDENT, sizeof *all);
        for (int k = 0; k < DEPENDENT; k++) shell_export(&c, x, k, all + (size_t)k * c.n);
        if (i == 0) {
          first = all;
          usual = out;
        } else {
          assert_memory_equal(first, all, c.n * DEPENDENT * sizeof *all);
          for (int k = 0; k < DEPENDENT; k++)
            assert_int_equal(out.r[k].iterations, usual.r[k].iterations);
          free(all);
        }
        kaon_vector_destroy(&x);
        kaon_vector_destroy(&b);
        kaon_operator_destroy(&A);
        shell_close(&c);
      }
      free(first);
    }
}

/* |b - M x| / |b| of the worst column, by the reference. */
static double reference_residual(dirac_case *c, const ref_dirac *d, ref_complex *const *b,
                                 const kaon_vector *x) {
  const size_t n = 12 * (size_t)kaon_lattice_volume(c->lattice);
  ref_complex *y = calloc(n, sizeof *y);
  double worst = 0;
  for (int k = 0; k < kaon_vector_columns(x); k++) {
    ref_complex *psi = case_export(c, x, k);
    ref_apply(d, psi, y);
    for (size_t i = 0; i < n; i++) y[i] -= b[k][i];
    worst = larger(worst, sqrt(ref_norm2(y, n) / ref_norm2(b[k], n)));
    free(psi);
  }
  free(y);
  return worst;
}

static void wilson_clover_by_the_reference(void **state) {
  (void)state;
  enum { COLUMNS = 12 };
  static const int odd_extents[4] = {4, 6, 2, 10};
  for (int machine = KAON_ISA_SCALAR; machine <= MACHINE_LAST; machine++) {
    dirac_case c;
    if (machine != KAON_ISA_AVX2 && machine != MACHINE_CUDA) continue;
    if (!case_open(&c, machine, odd_extents, 1, LINKS_WEAK, 5)) continue;
    ref_dirac d = case_reference(&c, 0.125, 1.0, 1.0);
    kaon_operator *M = case_dirac(&c, 0.125, 1.0, 1.0, KAON_DOUBLE, KAON_RECONSTRUCT_18);
    ref_complex **psi = case_random_columns(&c, COLUMNS, 8);
    kaon_vector *b = case_vector(&c, KAON_FULL, KAON_DOUBLE, COLUMNS);
    kaon_vector *x = case_vector(&c, KAON_FULL, KAON_DOUBLE, COLUMNS);
    case_import(&c, b, psi);
    for (int form = 0; form < 2; form++)
      for (int stop = KAON_STOP_FULL; stop <= KAON_STOP_NORMAL; stop++)
        for (int p = KAON_DOUBLE; p <= KAON_HALF; p++) {
          if (TEST_SLOWED && p != (stop + form) % 3) continue;
          kaon_operator *R = form ? case_even_odd(&c, M, KAON_EVEN_ODD_SYMMETRIC, KAON_EVEN, 0) : M;
          kaon_solver_options o = KAON_SOLVER_OPTIONS_INIT;
          int steps[2] = {0, 0};
          o.stop = (kaon_stop)stop;
          o.sloppy = (kaon_precision)p;
          for (int block = 0; block < 2; block++) {
            kaon_column_report r[COLUMNS];
            kaon_solver *s = NULL;
            o.method = block ? KAON_BLOCKCGNR : KAON_CGNR;
            must(c.ctx, kaon_vector_zero(x));
            must(c.ctx, kaon_solver_create(R, COLUMNS, &o, &s));
            must(c.ctx, kaon_solver_solve(s, b, x, r, NULL));
            kaon_solver_destroy(&s);
            for (int k = 0; k < COLUMNS; k++) {
              assert_int_equal(r[k].reason, KAON_CONVERGED);
              if (r[k].iterations > steps[block]) steps[block] = r[k].iterations;
            }
          }
          char text[100];
          snprintf(text, sizeof text, "%s, %s, stop %d, double/%s: %d steps (cgnr %d), residual",
                   isa_names[machine], form ? "even-odd" : "all sites", stop, precision_names[p],
                   steps[1], steps[0]);
          /* norms other than the full system's: their ratio is at most the condition, below 20 */
          test_below(text, reference_residual(&c, &d, psi, x),
                     stop == KAON_STOP_FULL ? 1.1e-10 : 20 * 1.1e-10);
          assert_true(steps[1] < steps[0]);
          if (form) kaon_operator_destroy(&R);
        }
    case_free_columns(psi, COLUMNS);
    kaon_vector_destroy(&b);
    kaon_vector_destroy(&x);
    kaon_operator_destroy(&M);
    ref_dirac_free(&d);
    case_close(&c);
  }
}

static void map_nothing(const void *user, int dagger, size_t n, const shell_complex *x,
                        shell_complex *y) {
  (void)user, (void)dagger, (void)x;
  memset(y, 0, n * sizeof *y);
}

/* An operator's products become NaN. */
static const kaon_operator_ops *sound;
static kaon_status spoil(kaon_operator *A, kaon_mode mode, const kaon_vector *x, kaon_vector *y,
                         const kaon_pass *pass) {
  KAON_TRY(sound->apply(A, mode, x, y, pass));
  const kaon_pass gate = kaon_pass_gate_only(pass);
  return kaon_blas_scale(KAON_NUMBER(NAN), y, &gate);
}

static void break_down(shell_case *c, kaon_operator *A, kaon_precision sloppy, int columns,
                       kaon_breakdown cause) {
  result out;
  kaon_vector *b = shell_random_vector(c, KAON_DOUBLE, columns, 5);
  kaon_vector *x = solve(c, A, KAON_BLOCKCG, 1e-10, sloppy, 10, b, &out);
  printf("    %d columns: %s\n", columns, kaon_breakdown_text(out.r[0].breakdown));
  for (int k = 0; k < columns; k++) {
    assert_int_equal(out.r[k].reason, KAON_BREAKDOWN);
    assert_int_equal(out.r[k].breakdown, cause);
  }
  kaon_vector_destroy(&x);
  kaon_vector_destroy(&b);
}

/* What one column of CG breaks down at, blocks do. */
static void breakdowns_are_told_by_their_cause(void **state) {
  (void)state;
  static const spectrum negative = {40, -100, -1}, mixed = {3, -4, 5};
  static const struct {
    const char *name;
    shell_map *map;
    const void *user;
    kaon_breakdown cause;
  } cases[] = {{"negative", map_diagonal, &negative, KAON_BREAKDOWN_OPERATOR},
               {"indefinite", map_diagonal, &mixed, KAON_BREAKDOWN_OPERATOR},
               {"0", map_nothing, NULL, KAON_BREAKDOWN_ZERO}};
  shell_case c;
  shell_open(&c, tiny_extents, 1);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    for (int p = KAON_DOUBLE; p <= KAON_HALF; p++) {
      kaon_operator *A = shell_operator(&c, KAON_DOUBLE, cases[i].map, cases[i].user);
      printf("  %s, double/%s\n", cases[i].name, precision_names[p]);
      for (int columns = 1; columns <= 3; columns += 2)
        break_down(&c, A, (kaon_precision)p, columns, cases[i].cause);
      kaon_operator_destroy(&A);
    }
  kaon_operator *A = shell_operator(&c, KAON_DOUBLE, map_chain, &hermitian_chain);
  kaon_operator_ops spoiled = *A->ops;
  sound = A->ops;
  spoiled.apply = spoil;
  A->ops = &spoiled;
  break_down(&c, A, KAON_DOUBLE, 3, KAON_BREAKDOWN_NOT_FINITE);
  A->ops = sound;
  kaon_operator_destroy(&A);
  shell_close(&c);
}

static void too_many_columns_are_refused(void **state) {
  (void)state;
  shell_case c;
  kaon_solver *s = NULL;
  kaon_solver_options o = KAON_SOLVER_OPTIONS_INIT;
  shell_open(&c, tiny_extents, 1);
  kaon_operator *A = shell_operator(&c, KAON_DOUBLE, map_chain, &hermitian_chain);
  o.method = KAON_BLOCKCG;
  must_refuse(c.ctx, KAON_ERR_UNSUPPORTED, kaon_solver_create(A, MOST + 1, &o, &s));
  assert_null(s);
  kaon_operator_destroy(&A);
  shell_close(&c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(one_column_is_cg),
      cmocka_unit_test(the_space_is_spent_after_its_rows),
      cmocka_unit_test(columns_help_each_other),
      cmocka_unit_test(dependent_columns_converge),
      cmocka_unit_test(columns_end_at_their_own_time),
      cmocka_unit_test(easy_columns_do_not_end_hard_ones),
      cmocka_unit_test(lapack_finds_the_same),
      cmocka_unit_test(bits_do_not_depend_on_looks_or_threads),
      cmocka_unit_test(breakdowns_are_told_by_their_cause),
      cmocka_unit_test(too_many_columns_are_refused),
  };
  const struct CMUnitTest physics[] = {cmocka_unit_test(wilson_clover_by_the_reference)};
  test_group(physics, NULL, NULL);
  shell_machine = MACHINE_CPU;
  if (!machine_lacks(MACHINE_CPU)) test_group(tests, NULL, NULL);
  shell_machine = MACHINE_CUDA; /* the methods run there, and in long cases the operator too */
  if (!machine_lacks(MACHINE_CUDA)) test_group(tests, NULL, NULL);
  return test_end();
}
