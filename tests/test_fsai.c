/* test_fsai.c - factorised sparse approximate inverses in host memory against their definition, in
 * dense arithmetic: G is the lower triangle of A^power's pattern, (G A)_ij = 0 there except for i
 * = j, (G A G^H)_ii = 1, and K = G^H G is Hermitian and positive definite. These properties make G
 * unique. As a preconditioner: test_precond.c, test_precond_counts.c.
 *
 * Bounds, with u = 2^-53, for a row of m entries. Its factor is that of a matrix that is off by (m
 * + 4) u of |L| |L^H| <= sqrt(a_jj a_kk), and its solve uses a factor that is off by (m + 4) u
 * (Higham, Accuracy and Stability of Numerical Algorithms, 10.3, 8.5; complex products have 3
 * roundings). Scaling A and G has 4 roundings, and the sum formed here m + 3. All are relative to
 * s_i = sum_k |g_ik| sqrt(a_kk), so |(G A)_ij| <= 3 (m + 6) u s_i sqrt(a_jj). The sum over j of
 * that times |g_ij|, with a fourth m + 6 for the sum's own roundings, bounds |(G A G^H)_ii - 1|. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sparse/precond/factors.h"
#include "tests/util/row_case.h"
#include "tests/util/test_util.h"

#include <lapacke.h>

typedef double complex number;

static kaon_inverse_factors inverse_of(const kaon_csr *A, int power, int threads, double shift) {
  const kaon_fsai_how how = {shift, power, threads};
  kaon_inverse_factors f;
  kaon_bad_pivot where;
  must(NULL, kaon_fsai_create(NULL, A, &how, &f, &where));
  return f;
}

static void *room_for(int64_t n, size_t size) {
  void *room = calloc((size_t)(n * n) + 1, size);
  assert_non_null(room);
  return room;
}

/* Where A^power may have an entry, by products of matrices of truths. */
static char *reached(const kaon_csr *A, int power) {
  const int64_t n = A->rows;
  char *now = room_for(n, 1), *next = room_for(n, 1);
  for (int64_t i = 0; i < n; i++) now[i * n + i] = 1;
  for (int step = 0; step < power; step++) {
    memset(next, 0, (size_t)(n * n));
    for (int64_t i = 0; i < n; i++)
      for (int64_t k = 0; k < n; k++)
        for (int64_t m = A->start[k]; m < A->start[k + 1] && now[i * n + k]; m++)
          next[i * n + A->column[m]] = 1;
    for (int64_t i = 0; i < n; i++) next[i * n + i] = 1;
    memcpy(now, next, (size_t)(n * n));
  }
  free(next);
  return now;
}

static void check_pattern(const kaon_csr *A, int power, const kaon_csr *G) {
  char *expected = reached(A, power);
  for (int64_t i = 0; i < A->rows; i++)
    for (int64_t j = 0; j < A->rows; j++)
      assert_int_equal(kaon_csr_find(G, i, (int32_t)j) >= 0, j <= i && expected[i * A->rows + j]);
  free(expected);
}

/* The largest of both errors over their bounds, in u: at most 1 u. */
static double definition(const kaon_csr *A, const kaon_csr *G, double *diagonal) {
  const int64_t n = A->rows;
  number *a = row_case_dense(A), *g = row_case_dense(G);
  double worst = 0;
  *diagonal = 0;
  for (int64_t i = 0; i < n; i++) {
    const double m = (double)(G->start[i + 1] - G->start[i]);
    number whole = -1;
    double sizes = 0;
    for (int64_t k = 0; k <= i; k++) sizes += cabs(g[i * n + k]) * sqrt(creal(a[k * n + k]));
    for (int64_t j = 0; j <= i; j++) {
      number sum = 0;
      if (kaon_csr_find(G, i, (int32_t)j) < 0) continue;
      for (int64_t k = 0; k <= i; k++) sum += g[i * n + k] * a[k * n + j];
      whole += sum * conj(g[i * n + j]);
      if (j < i)
        worst = larger(worst, cabs(sum) / (3 * (m + 6) * sizes * sqrt(creal(a[j * n + j]))));
    }
    *diagonal = larger(*diagonal, cabs(whole) / (4 * (m + 6) * sizes * sizes));
    assert_true(creal(g[i * n + i]) > 0 && cimag(g[i * n + i]) == 0);
  }
  free(a), free(g);
  return worst;
}

/* second = first^H to the bit, so second first is Hermitian; it is positive definite as first is a
 * triangle with a positive diagonal, and as LAPACK finds a factor. */
static void check_positive(const kaon_inverse_factors *f) {
  const int64_t n = f->first->rows;
  kaon_csr *adjoint = NULL;
  must(NULL, kaon_csr_transpose(NULL, f->first, 1, &adjoint));
  const size_t entries = (size_t)adjoint->start[n];
  assert_int_equal(f->second->start[n], entries);
  assert_memory_equal(adjoint->column, f->second->column, entries * sizeof(int32_t));
  assert_memory_equal(adjoint->value, f->second->value,
                      entries * (size_t)adjoint->reals * sizeof(double));
  kaon_csr_destroy(&adjoint);
  number *k = room_for(n, sizeof *k), *g = row_case_dense(f->first);
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < n; j++)
      for (int64_t m = 0; m < n; m++) k[i * n + j] += conj(g[m * n + i]) * g[m * n + j];
  assert_int_equal(
      LAPACKE_zpotrf(LAPACK_ROW_MAJOR, 'L', (int)n, (lapack_complex_double *)k, (int)n), 0);
  free(k), free(g);
}

static void check(const char *name, const kaon_csr *A, int power) {
  char what[96];
  double diagonal;
  kaon_inverse_factors f = inverse_of(A, power, 1, 0);
  const double off = definition(A, f.first, &diagonal);
  check_pattern(A, power, f.first);
  check_positive(&f);
  snprintf(what, sizeof what, "%s, power %d: (G A)_ij / its bound's size", name, power);
  test_below(what, off, 0x1p-53);
  test_below("  (G A G^H)_ii - 1", diagonal, 0x1p-53);
  kaon_inverse_factors_destroy(&f);
}

static void test_definition(void **state) {
  (void)state;
  for (int power = 1; power <= 3; power++) {
    for (int reals = 1; reals <= 2; reals++) {
      kaon_csr *A = row_case_random(70, 3, reals, 1, 60 + (uint64_t)reals);
      check(reals == 1 ? "random, real" : "random, complex", A, power);
      kaon_csr_destroy(&A);
      A = row_case_tridiagonal(40, reals, 1);
      check("tridiagonal", A, power);
      kaon_csr_destroy(&A);
    }
    kaon_csr *plane = row_case_laplace(9, 8, 1);
    for (int64_t i = 0; i < plane->rows; i++) /* D A D: rows of other units */
      for (int64_t n = plane->start[i]; n < plane->start[i + 1]; n++)
        plane->value[n] *= pow(10, (double)(i % 7 + plane->column[n] % 7));
    check("plane, rows scaled", plane, power);
    kaon_csr_destroy(&plane);
  }
}

/* Of a pattern that has all of the lower triangle G is L^-1, and K A = 1. With G (L + dL) = 1 and
 * L L^H = A + E as above, K A - 1 = -(L F L^-1)^H - G^H F L^H - K E, F = G dL: three times
 * n (n + 4) u cond(A) in the 2-norm at most, and as much for the products here. cond(A) < 21 where
 * |A - 1| < 1 / 1.1 by rows, as row_case_random has it of a unit diagonal. */
static void test_all(void **state) {
  (void)state;
  enum { N = 30 };
  for (int reals = 1; reals <= 2; reals++) {
    kaon_csr *A = row_case_random(N, 6, reals, 1, 77);
    double root[N], worst = 0;
    number x[N], y[N], z[N];
    for (int i = 0; i < N; i++) root[i] = sqrt(A->value[kaon_csr_find(A, i, i) * reals]);
    for (int i = 0; i < N; i++)
      for (int64_t n = A->start[i] * reals; n < A->start[i + 1] * reals; n++)
        A->value[n] /= root[i] * root[A->column[n / reals]];
    kaon_inverse_factors f = inverse_of(A, 8, 1, 0);
    assert_int_equal(f.first->start[N], N * (N + 1) / 2);
    for (int k = 0; k < N; k++) {
      for (int i = 0; i < N; i++) x[i] = i == k;
      row_case_multiply(A, 0, x, y);
      row_case_multiply(f.first, 0, y, z);
      row_case_multiply(f.second, 0, z, y);
      for (int i = 0; i < N; i++) worst = larger(worst, cabs(y[i] - x[i]));
    }
    test_below("all of the triangle: max |K A - 1|", worst, 6 * N * (N + 4) * 21 * 0x1p-53);
    kaon_inverse_factors_destroy(&f);
    kaon_csr_destroy(&A);
  }
}

/* More rows than a thread processes at a time, and a breakdown behind which other threads have
 * already worked. */
static void test_threads(void **state) {
  (void)state;
  for (int reals = 1; reals <= 2; reals++)
    for (int power = 1; power <= 2; power++) {
      kaon_csr *A = row_case_random(1500, 4, reals, 1, 31);
      kaon_inverse_factors one = inverse_of(A, power, 1, 0);
      const size_t entries = (size_t)one.first->start[A->rows];
      for (int threads = 2; threads <= 5; threads++) {
        kaon_inverse_factors more = inverse_of(A, power, threads, 0);
        assert_int_equal(more.first->start[A->rows], entries);
        assert_memory_equal(one.first->column, more.first->column, entries * sizeof(int32_t));
        assert_memory_equal(one.first->value, more.first->value,
                            entries * (size_t)reals * sizeof(double));
        kaon_inverse_factors_destroy(&more);
      }
      kaon_inverse_factors_destroy(&one);
      for (int64_t i = 200; i < A->rows; i += 77)
        A->value[kaon_csr_find(A, i, (int32_t)i) * reals] *= -1;
      for (int threads = 1; threads <= 5; threads++) {
        const kaon_fsai_how how = {0, power, threads};
        kaon_bad_pivot where = {-1, {0, 0}};
        assert_int_equal(kaon_fsai_create(NULL, A, &how, &one, &where), KAON_ERR_SINGULAR);
        assert_int_equal(where.row, 200);
        assert_true(where.pivot[0] < 0);
      }
      kaon_csr_destroy(&A);
    }
}

static kaon_csr *two_by_two(double a, double b, double c, double d) {
  const int64_t row[4] = {0, 0, 1, 1}, column[4] = {0, 1, 0, 1};
  const double value[4] = {a, b, c, d};
  kaon_csr *csr = NULL;
  must(NULL, kaon_csr_from_triplets(NULL, 2, 2, 1, 4, row, column, value, KAON_CSR_ADD, &csr));
  return csr;
}

static void refused(const kaon_csr *A, const kaon_fsai_how *how, kaon_status status,
                    const char *word, kaon_bad_pivot *where) {
  kaon_inverse_factors f = {(kaon_csr *)1, (kaon_csr *)1};
  assert_int_equal(kaon_fsai_create(NULL, A, how, &f, where), status);
  assert_true(f.first == NULL && f.second == NULL);
  printf("  %s\n", kaon_last_error(NULL));
  assert_non_null(strstr(kaon_last_error(NULL), word));
}

static void test_refusals(void **state) {
  (void)state;
  const kaon_fsai_how usual = {0, 1, 1}, none = {0, 0, 1}, nobody = {0, 1, 0};
  kaon_bad_pivot where = {-1, {0, 0}};
  kaon_csr *negative = two_by_two(1, 2, 2, 3), *zero = two_by_two(2, 2, 2, 2),
           *nan = two_by_two(1, 1, 1, 1), *empty = NULL, *tall = NULL;
  refused(negative, &usual, KAON_ERR_SINGULAR, "row 2 (counted from 1)", &where);
  assert_int_equal(where.row, 1);
  test_close("pivot of scaled [1 2; 2 3]", where.pivot[0], 1 - 4.0 / 3, 1e-15);
  refused(zero, &usual, KAON_ERR_SINGULAR, "row 2 (counted from 1)", &where);
  for (int n = 2; n <= 3; n++) { /* beside the diagonal, and on it */
    nan->value[n] = NAN;
    refused(nan, &usual, KAON_ERR_SINGULAR, "nan", &where);
    assert_int_equal(where.row, 1);
  }
  const int64_t row[2] = {0, 1}, column[2] = {0, 0};
  const double value[2] = {1, 0.5};
  must(NULL, kaon_csr_from_triplets(NULL, 2, 2, 1, 2, row, column, value, KAON_CSR_ADD, &empty));
  refused(empty, &usual, KAON_ERR_SINGULAR, "row 2 (counted from 1)", &where);
  refused(zero, &none, KAON_ERR_ARGUMENT, "power 0", &where);
  refused(zero, &nobody, KAON_ERR_ARGUMENT, "0 threads", &where);
  must(NULL, kaon_csr_from_triplets(NULL, 2, 1, 1, 2, row, column, value, KAON_CSR_ADD, &tall));
  refused(tall, &usual, KAON_ERR_ARGUMENT, "2 rows and 1 columns", &where);

  const kaon_fsai_how shifted = {0.5, 1, 1}; /* scaled: 1.5 - (4 / 3) / 1.5 > 0 */
  kaon_inverse_factors f;
  must(NULL, kaon_fsai_create(NULL, negative, &shifted, &f, &where));
  test_close("its first row, shifted by half", f.first->value[0], 1 / sqrt(1.5), 4 * 0x1p-53);
  kaon_inverse_factors_destroy(&f);
  kaon_csr_destroy(&negative), kaon_csr_destroy(&zero), kaon_csr_destroy(&nan);
  kaon_csr_destroy(&empty), kaon_csr_destroy(&tall);
}

/* Row `hub`, the first or the last, is coupled to all others, which have no other coupling. */
static kaon_csr *star(int64_t n, int64_t hub) {
  kaon_csr *A = NULL;
  int64_t at = 0;
  must(NULL, kaon_csr_create(NULL, n, n, 1, 3 * n - 2, &A));
  for (int64_t i = 0; i < n; i++) {
    for (int64_t j = i == hub ? 0 : i < hub ? i : hub; j < n; j += i == hub ? 1 : labs(hub - i)) {
      A->column[at] = (int32_t)j;
      A->value[at++] = i != j ? 1 : i == hub ? 2.0 * (double)n : 2;
      if (i != hub && j == (i < hub ? hub : i)) break;
    }
    A->start[i + 1] = at;
  }
  assert_int_equal(at, 3 * n - 2);
  return A;
}

/* As the last row the hub's system is as large as the matrix, 8 TB; as the first it adds one entry
 * to each other row. */
static void test_long_row(void **state) {
  (void)state;
  enum { N = 1000000 };
  const kaon_fsai_how how = {0, 1, 1};
  kaon_bad_pivot where;
  kaon_csr *A = star(N, N - 1);
  refused(A, &how, KAON_ERR_MEMORY, "1000000 entries", &where);
  kaon_csr_destroy(&A);
  A = star(N, 0);
  kaon_inverse_factors f = inverse_of(A, 1, 2, 0);
  assert_int_equal(f.first->start[N], 2 * N - 1);
  kaon_inverse_factors_destroy(&f);
  kaon_csr_destroy(&A);
}

/* Columns beyond the rows change nothing. */
static void test_ghosts(void **state) {
  (void)state;
  enum { N = 60 };
  kaon_csr *A = row_case_random(N, 5, 1, 1, 90), *B = row_case_ghosts(A, 7);
  for (int power = 1; power <= 2; power++) {
    kaon_inverse_factors f = inverse_of(A, power, 1, 0.1), g = inverse_of(B, power, 1, 0.1);
    assert_int_equal(f.first->start[N], g.first->start[N]);
    assert_memory_equal(f.first->value, g.first->value, (size_t)f.first->start[N] * sizeof(double));
    kaon_inverse_factors_destroy(&f);
    kaon_inverse_factors_destroy(&g);
  }
  kaon_csr_destroy(&A);
  kaon_csr_destroy(&B);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_definition), cmocka_unit_test(test_all),
      cmocka_unit_test(test_threads),    cmocka_unit_test(test_refusals),
      cmocka_unit_test(test_long_row),   cmocka_unit_test(test_ghosts),
  };
  return test_main(tests, NULL, NULL);
}
