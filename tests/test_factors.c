/* test_factors.c - incomplete factors, approximate inverses and inverses of blocks in host memory,
 * against their definitions in dense arithmetic. (E + L) E^-1 (E + U) has A's entries where A has
 * any, or A's diagonal, or equals A, by kind; an approximate inverse times A is 1.
 *
 * Bounds: roundings of double times the operands, with two orders of magnitude in reserve. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blas/dense.h"
#include "sparse/precond/factors.h"
#include "tests/util/row_case.h"
#include "tests/util/test_util.h"

#include <lapacke.h>

typedef double complex number;

static number *dense_room(int64_t n) {
  number *a = calloc((size_t)(n * n) + 1, sizeof *a);
  assert_non_null(a);
  return a;
}

static void product(int64_t n, const number *a, const number *b, number *c) {
  for (int64_t i = 0; i < n; i++) {
    for (int64_t j = 0; j < n; j++) c[i * n + j] = 0;
    for (int64_t k = 0; k < n; k++)
      if (a[i * n + k] != 0)
        for (int64_t j = 0; j < n; j++) c[i * n + j] += a[i * n + k] * b[k * n + j];
  }
}

static number pivot_of(const kaon_factors *f, int64_t i) {
  const int reals = f->lower->reals;
  return reals == 1 ? f->pivot[i] : f->pivot[2 * i] + I * f->pivot[2 * i + 1];
}

/* (E + L) E^-1 (E + U) / scale. */
static number *whole(const kaon_factors *f) {
  const int64_t n = f->lower->rows;
  number *l = row_case_dense(f->lower), *u = row_case_dense(f->upper), *m = dense_room(n);
  for (int64_t i = 0; i < n; i++) {
    const number e = pivot_of(f, i);
    for (int64_t j = 0; j < n; j++) u[i * n + j] /= e * f->scale;
    u[i * n + i] = 1 / f->scale;
    l[i * n + i] = e;
  }
  product(n, l, u, m);
  free(l), free(u);
  return m;
}

static kaon_factors *factors_of(const kaon_csr *A, kaon_factor_kind kind, int hermitian,
                                double omega) {
  const kaon_factor_how how = {kind, hermitian, 0, omega, 0};
  kaon_factors *f = NULL;
  kaon_bad_pivot where;
  must(NULL, kaon_factors_create(NULL, A, &how, &f, &where));
  return f;
}

static double largest_of(const kaon_csr *A) {
  double largest = 0;
  for (int64_t n = 0; n < A->start[A->rows] * A->reals; n++)
    largest = larger(largest, fabs(A->value[n]));
  return largest;
}

/* Strict triangles in A's pattern. For a Hermitian A, U = L^H and E > 0, to the bit. */
static void check_form(const kaon_csr *A, const kaon_factors *f, int hermitian) {
  int64_t entries = 0;
  for (int64_t i = 0; i < A->rows; i++) {
    for (int64_t n = f->lower->start[i]; n < f->lower->start[i + 1]; n++) {
      assert_true(f->lower->column[n] < i);
      assert_true(kaon_csr_find(A, i, f->lower->column[n]) >= 0);
    }
    for (int64_t n = f->upper->start[i]; n < f->upper->start[i + 1]; n++) {
      assert_true(f->upper->column[n] > i);
      assert_true(kaon_csr_find(A, i, f->upper->column[n]) >= 0);
    }
    entries += 1;
  }
  entries += f->lower->start[A->rows] + f->upper->start[A->rows];
  assert_int_equal(entries, A->start[A->rows]);
  if (!hermitian) return;
  kaon_csr *adjoint = NULL;
  must(NULL, kaon_csr_transpose(NULL, f->lower, 1, &adjoint));
  assert_memory_equal(adjoint->value, f->upper->value,
                      (size_t)(adjoint->start[A->rows] * A->reals) * sizeof(double));
  for (int64_t i = 0; i < A->rows; i++) {
    assert_true(creal(pivot_of(f, i)) > 0);
    assert_true(cimag(pivot_of(f, i)) == 0);
  }
  kaon_csr_destroy(&adjoint);
}

enum { PATTERN, DIAGONAL, ALL };
/* max |M - A| where A has an entry, on the diagonal, or everywhere. */
static double distance(const kaon_csr *A, const kaon_factors *f, int where) {
  const int64_t n = A->rows;
  number *m = whole(f), *a = row_case_dense(A);
  double worst = 0;
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < n; j++) {
      if (where == DIAGONAL && i != j) continue;
      if (where == PATTERN && kaon_csr_find(A, i, (int32_t)j) < 0) continue;
      const double apart = cabs(m[i * n + j] - a[i * n + j]);
      if (!(apart <= worst)) worst = apart;
    }
  free(m), free(a);
  return worst;
}

static void test_lu0(void **state) {
  (void)state;
  for (int c = 0; c < 4; c++) {
    const int reals = 1 + c % 2, hermitian = c / 2;
    char what[96];
    kaon_csr *A = row_case_random(120, 6, reals, hermitian, 20 + (uint64_t)c);
    kaon_factors *f = factors_of(A, KAON_FACTOR_LU0, hermitian, 0);
    check_form(A, f, hermitian);
    snprintf(what, sizeof what, "%s, %s: |M - A| on the pattern / largest",
             hermitian ? "ic0" : "ilu0", reals == 2 ? "complex" : "real");
    test_below(what, distance(A, f, PATTERN) / largest_of(A), 1e-14);
    assert_true(distance(A, f, ALL) > 1e-3 * largest_of(A)); /* there is fill to leave out */
    kaon_factors_destroy(&f);
    kaon_csr_destroy(&A);
    A = row_case_tridiagonal(77, reals, hermitian);
    f = factors_of(A, KAON_FACTOR_LU0, hermitian, 0);
    snprintf(what, sizeof what, "the same, tridiagonal: |M - A| / largest");
    test_below(what, distance(A, f, ALL) / largest_of(A), 1e-14);
    kaon_factors_destroy(&f);
    kaon_csr_destroy(&A);
  }
}

/* If A has all entries nothing is dropped: the factors are Cholesky's and Gauss's. Rows and
 * columns are diagonally dominant, so LAPACK does not pivot. */
static kaon_csr *full_case(int n, int reals, int hermitian, uint64_t seed) {
  kaon_csr *A = NULL, *sparse = row_case_random(n, 40 * n, reals, hermitian, seed);
  must(NULL, kaon_csr_copy(NULL, sparse, &A));
  assert_int_equal(A->start[n], n * n);
  for (int i = 0; i < n; i++) A->value[kaon_csr_find(A, i, i) * reals] *= 4;
  kaon_csr_destroy(&sparse);
  return A;
}

static void test_against_lapack(void **state) {
  (void)state;
  enum { N = 24 };
  for (int c = 0; c < 4; c++) {
    const int reals = 1 + c % 2, hermitian = c / 2;
    kaon_csr *A = full_case(N, reals, hermitian, 50 + (uint64_t)c);
    kaon_factors *f = factors_of(A, KAON_FACTOR_LU0, hermitian, 0);
    number *a = row_case_dense(A), *l = row_case_dense(f->lower), *u = row_case_dense(f->upper);
    double worst = 0;
    lapack_int order[N];
    if (hermitian)
      assert_int_equal(LAPACKE_zpotrf(LAPACK_ROW_MAJOR, 'L', N, (lapack_complex_double *)a, N), 0);
    else
      assert_int_equal(LAPACKE_zgetrf(LAPACK_ROW_MAJOR, N, N, (lapack_complex_double *)a, N, order),
                       0);
    for (int i = 0; i < N; i++) {
      if (!hermitian) assert_int_equal(order[i], i + 1);
      for (int j = 0; j < N; j++) {
        const number e = pivot_of(f, j < i ? j : i);
        const number expected = hermitian ? (i > j    ? l[i * N + j] / csqrt(e)
                                             : i == j ? csqrt(e)
                                                      : a[i * N + j])
                                          : (i > j    ? l[i * N + j] / e
                                             : i == j ? e
                                                      : u[i * N + j]);
        worst = larger(worst, cabs(a[i * N + j] - expected) / largest_of(A));
      }
    }
    test_below(hermitian ? "ic0 of all entries against zpotrf" : "ilu0 against zgetrf", worst,
               1e-13);
    free(a), free(l), free(u);
    kaon_factors_destroy(&f);
    kaon_csr_destroy(&A);
  }
}

static void test_diagonal_kinds(void **state) {
  (void)state;
  for (int c = 0; c < 4; c++) {
    const int reals = 1 + c % 2, hermitian = c / 2;
    kaon_csr *A = row_case_random(120, 6, reals, hermitian, 30 + (uint64_t)c);
    kaon_factors *f = factors_of(A, KAON_FACTOR_DIAGONAL, hermitian, 0);
    check_form(A, f, hermitian);
    test_below(hermitian ? "dic: |diag(M) - diag(A)| / largest" : "dilu: the same",
               distance(A, f, DIAGONAL) / largest_of(A), 1e-14);
    for (int64_t i = 0; i < A->rows; i++)
      for (int64_t n = f->lower->start[i]; n < f->lower->start[i + 1]; n++)
        assert_memory_equal(f->lower->value + n * reals,
                            A->value + kaon_csr_find(A, i, f->lower->column[n]) * reals,
                            (size_t)reals * sizeof(double));
    kaon_factors_destroy(&f);
    for (double omega = 0.7; omega < 1.8; omega += 0.5) { /* M by its formula */
      f = factors_of(A, KAON_FACTOR_SSOR, hermitian, omega);
      check_form(A, f, hermitian);
      const int64_t n = A->rows;
      number *a = row_case_dense(A), *l = dense_room(n), *u = dense_room(n), *m = dense_room(n);
      for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) {
          const number entry = a[i * n + j], d = a[i * n + i];
          l[i * n + j] = i == j ? entry / omega : i > j ? entry : 0;
          u[i * n + j] = (i == j ? 1 / omega : i < j ? entry / d : 0) * omega / (2 - omega);
        }
      product(n, l, u, m);
      number *mine = whole(f);
      double worst = 0;
      for (int64_t i = 0; i < n * n; i++) worst = larger(worst, cabs(m[i] - mine[i]));
      test_below("ssor: |M - its formula| / largest", worst / largest_of(A), 1e-13);
      free(a), free(l), free(u), free(m), free(mine);
      kaon_factors_destroy(&f);
    }
    kaon_csr_destroy(&A);
  }
}

/* ---- approximate inverses ---- */

/* max |second first A - 1|. */
static double inverse_error(const kaon_csr *A, const kaon_inverse_factors *f) {
  const int64_t n = A->rows;
  number *x = calloc((size_t)n * 3, sizeof *x), *y = x + n, *z = y + n;
  double worst = 0;
  for (int64_t k = 0; k < n; k++) {
    for (int64_t i = 0; i < n; i++) x[i] = i == k;
    row_case_multiply(A, 0, x, y);
    row_case_multiply(f->first, 0, y, z);
    row_case_multiply(f->second, 0, z, y);
    for (int64_t i = 0; i < n; i++) worst = larger(worst, cabs(y[i] - x[i]));
  }
  free(x);
  return worst;
}

static kaon_inverse_factors inverse_of(const kaon_csr *A, int hermitian, double drop, int fill) {
  const kaon_ainv_how how = {hermitian, 0, drop, fill, 0};
  kaon_inverse_factors f;
  kaon_bad_pivot where;
  must(NULL, kaon_ainv_create(NULL, A, &how, &f, &where));
  return f;
}

static void check_adjoint(const kaon_inverse_factors *f) {
  kaon_csr *adjoint = NULL;
  must(NULL, kaon_csr_transpose(NULL, f->first, 1, &adjoint));
  const size_t entries = (size_t)adjoint->start[adjoint->rows];
  assert_int_equal(f->second->start[adjoint->rows], entries);
  assert_memory_equal(adjoint->column, f->second->column, entries * sizeof(int32_t));
  assert_memory_equal(adjoint->value, f->second->value,
                      entries * (size_t)adjoint->reals * sizeof(double));
  kaon_csr_destroy(&adjoint);
}

static void test_ainv(void **state) {
  (void)state;
  for (int c = 0; c < 4; c++) {
    const int reals = 1 + c % 2, hermitian = c / 2;
    kaon_csr *A = row_case_random(90, 5, reals, hermitian, 60 + (uint64_t)c);
    kaon_inverse_factors f = inverse_of(A, hermitian, 0, 0);
    const double exact = inverse_error(A, &f);
    test_below("ainv, nothing dropped: max |K A - 1|", exact, 1e-12);
    const int64_t all = f.first->start[90];
    if (hermitian) check_adjoint(&f);
    kaon_inverse_factors_destroy(&f);

    f = inverse_of(A, hermitian, 0.02, 0);
    const double dropped = inverse_error(A, &f);
    printf("  drop 0.02 keeps %lld of %lld entries, max |K A - 1| %.3f\n",
           (long long)f.first->start[90], (long long)all, dropped);
    assert_true(f.first->start[90] < all);
    assert_in_range((int)(dropped * 1e6), 1, 500000);
    if (hermitian) check_adjoint(&f);
    kaon_inverse_factors_destroy(&f);

    f = inverse_of(A, hermitian, 0, 3);
    kaon_csr *columns = NULL;
    must(NULL, kaon_csr_transpose(NULL, f.second, 0, &columns));
    for (int i = 0; i < 90; i++) {
      assert_true(f.first->start[i + 1] - f.first->start[i] <= 4);
      assert_true(columns->start[i + 1] - columns->start[i] <= 4);
    }
    kaon_csr_destroy(&columns);
    kaon_inverse_factors_destroy(&f);
    kaon_csr_destroy(&A);
  }
}

/* What is dropped does not depend on how rows and columns are scaled. */
static void test_ainv_scale(void **state) {
  (void)state;
  kaon_csr *A = row_case_laplace(9, 8, 1), *B = NULL;
  must(NULL, kaon_csr_copy(NULL, A, &B));
  for (int64_t i = 0; i < B->rows; i++)
    for (int64_t n = B->start[i]; n < B->start[i + 1]; n++)
      B->value[n] *= ldexp(1, (int)(2 * (i % 7) + 2 * (B->column[n] % 7))); /* D A D */
  kaon_inverse_factors f = inverse_of(A, 1, 0.1, 0), g = inverse_of(B, 1, 0.1, 0);
  const size_t entries = (size_t)f.first->start[72];
  assert_int_equal(g.first->start[72], entries);
  assert_memory_equal(f.first->column, g.first->column, entries * sizeof(int32_t));
  kaon_inverse_factors_destroy(&f);
  kaon_inverse_factors_destroy(&g);
  kaon_csr_destroy(&A);
  kaon_csr_destroy(&B);
}

/* ---- dense blocks ---- */

static void test_dense(void **state) {
  (void)state;
  for (int c = 0; c < 2 * KAON_DENSE_MAX; c++) {
    const int n = 1 + c / 2, reals = 1 + c % 2;
    number x[KAON_DENSE_MAX * KAON_DENSE_MAX];
    double a[2 * KAON_DENSE_MAX * KAON_DENSE_MAX];
    row_case_vector(n * n, reals, 7 + (uint64_t)c, x);
    if (n > 1) x[0] = 0; /* needs an exchange */
    for (int i = 0; i < n * n; i++) {
      a[i * reals] = creal(x[i]);
      if (reals == 2) a[2 * i + 1] = cimag(x[i]);
    }
    assert_int_equal(kaon_dense_invert(n, reals, a, NULL), 0);
    double worst = 0, largest = 0;
    for (int i = 0; i < n; i++)
      for (int j = 0; j < n; j++) {
        number sum = -(i == j);
        for (int k = 0; k < n; k++) {
          const double *y = a + (k * n + j) * reals;
          sum += x[i * n + k] * (y[0] + (reals == 2 ? I * y[1] : 0));
          largest = larger(largest, fabs(y[0]));
        }
        worst = larger(worst, cabs(sum));
      }
    if (n % 8 == 0) test_below("dense inverse: |A X - 1| / largest of X", worst / largest, 1e-13);
    assert_true(worst <= 1e-13 * n * (1 + largest));
  }
  double singular[9] = {1, 2, 3, 2, 4, 6, 1, 0, 1}, pivot = 1;
  assert_int_not_equal(kaon_dense_invert(3, 1, singular, &pivot), 0);
  assert_true(pivot < 1e-14);
  double scales[4] = {1e-15, 0, 0, 1}; /* rows differ in scale: far from singular */
  assert_int_equal(kaon_dense_invert(2, 1, scales, &pivot), 0);
  assert_true(scales[0] == 1 / 1e-15 && scales[3] == 1);
  double none[4] = {1, NAN, 2, 1};
  assert_int_not_equal(kaon_dense_invert(2, 1, none, &pivot), 0);
}

/* a = U^H U from its upper triangle alone; the lower one is NaN. Cholesky's factors are those of a
 * matrix that differs by at most (n + 4) roundings of sum |u_ki| |u_kj| in entry (i, j) (Higham,
 * Accuracy and Stability of Numerical Algorithms, 10.3; complex products have 3 roundings instead
 * of 1), and the sum here has as many again. */
static void test_cholesky(void **state) {
  (void)state;
  enum { N = 41 };
  static number x[N * N], given[N * N];
  static double a[2 * N * N];
  double worst = 0, pivot = 0;
  for (int c = 0; c < 2 * N; c++) {
    const int n = 1 + c / 2, reals = 1 + c % 2;
    row_case_vector(n * n, reals, 90 + (uint64_t)c, x);
    for (int i = 0; i < n; i++)
      for (int j = 0; j < n; j++) {
        number sum = 0.1 * (i == j);
        for (int k = 0; k < n; k++) sum += conj(x[k * n + i]) * x[k * n + j];
        given[i * n + j] = sum;
        double *to = a + (i * n + j) * reals;
        to[0] = j < i ? NAN : creal(sum);
        if (reals == 2) to[1] = j < i ? NAN : cimag(sum);
      }
    assert_int_equal(kaon_dense_cholesky(n, reals, a, 1e-14, &pivot), 0);
    for (int i = 0; i < n * n; i++)
      x[i] = i % n < i / n ? 0 : a[i * reals] + (reals == 2 ? I * a[2 * i + 1] : 0);
    for (int i = 0; i < n; i++) {
      assert_true(creal(x[i * n + i]) > 0 && cimag(x[i * n + i]) == 0);
      for (int j = i; j < n; j++) {
        number sum = -given[i * n + j];
        double sizes = 0;
        for (int k = 0; k <= i; k++) {
          sum += conj(x[k * n + i]) * x[k * n + j];
          sizes += cabs(x[k * n + i]) * cabs(x[k * n + j]);
        }
        worst = larger(worst, cabs(sum) / (2 * (n + 4) * sizes));
      }
    }
  }
  test_below("cholesky: |U^H U - a| / its bound's size", worst, 0x1p-53);
  double indefinite[9] = {4, 2, 2, NAN, 1, 3, NAN, NAN, 9}, none[4] = {1, NAN, NAN, 1};
  assert_int_equal(kaon_dense_cholesky(3, 1, indefinite, 1e-14, &pivot), 2);
  test_close("pivot of row 2 of [4 2; 2 1]", pivot, 0, 1e-15);
  assert_int_equal(kaon_dense_cholesky(2, 1, none, 1e-14, &pivot), 2);
  assert_true(pivot != pivot);
}

static void test_block_inverses(void **state) {
  (void)state;
  for (int c = 0; c < 4; c++) {
    const int reals = 1 + c % 2, hermitian = c / 2, n = 70;
    kaon_csr *A = row_case_random(n, 9, reals, hermitian, 80 + (uint64_t)c), *inverses = NULL;
    number *a = row_case_dense(A);
    for (int block = 1; block <= KAON_DENSE_MAX; block += 10) {
      kaon_bad_pivot where;
      must(NULL, kaon_block_inverses(NULL, A, block, hermitian, 0, &inverses, &where));
      number *x = row_case_dense(inverses);
      double worst = 0;
      for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
          if (i / block != j / block) {
            assert_true(x[i * n + j] == 0);
            continue;
          }
          if (hermitian) assert_true(x[i * n + j] == conj(x[j * n + i]));
          number sum = -(i == j);
          for (int k = i / block * block; k < n && k < (i / block + 1) * block; k++)
            sum += a[i * n + k] * x[k * n + j];
          worst = larger(worst, cabs(sum));
        }
      test_below("block inverses: max |A_b X_b - 1|", worst, 1e-13);
      free(x);
      kaon_csr_destroy(&inverses);
    }
    free(a);
    kaon_csr_destroy(&A);
  }
}

/* ---- what breaks down ---- */

static kaon_csr *two_by_two(double a, double b, double c, double d) {
  const int64_t row[4] = {0, 0, 1, 1}, column[4] = {0, 1, 0, 1};
  const double value[4] = {a, b, c, d};
  kaon_csr *csr = NULL;
  must(NULL, kaon_csr_from_triplets(NULL, 2, 2, 1, 4, row, column, value, KAON_CSR_ADD, &csr));
  return csr;
}

static void check_broken(const kaon_csr *A, kaon_factor_kind kind, int hermitian, double shift,
                         int64_t row, double pivot) {
  const kaon_factor_how how = {kind, hermitian, shift, 1, 0};
  kaon_factors *f = NULL;
  kaon_bad_pivot where = {-1, {0, 0}};
  assert_int_equal(kaon_factors_create(NULL, A, &how, &f, &where), KAON_ERR_SINGULAR);
  assert_null(f);
  assert_int_equal(where.row, row);
  if (pivot == pivot) assert_true(fabs(where.pivot[0] - pivot) < 1e-15);
  char named[48];
  snprintf(named, sizeof named, "row %lld (counted from 1)", (long long)row + 1);
  assert_non_null(strstr(kaon_last_error(NULL), named));
}

static void test_breakdown(void **state) {
  (void)state;
  kaon_csr *negative = two_by_two(1, 2, 2, 3), *zero = two_by_two(2, 2, 2, 2);
  check_broken(negative, KAON_FACTOR_LU0, 1, 0, 1, -1);
  check_broken(negative, KAON_FACTOR_DIAGONAL, 1, 0, 1, -1);
  check_broken(zero, KAON_FACTOR_LU0, 1, 0, 1, 0);
  check_broken(zero, KAON_FACTOR_LU0, 0, 0, 1, 0);
  check_broken(zero, KAON_FACTOR_DIAGONAL, 0, 0, 1, 0);
  kaon_factors *f = factors_of(negative, KAON_FACTOR_LU0, 0, 0); /* a negative pivot is one */
  kaon_factors_destroy(&f);
  const kaon_factor_how shifted = {KAON_FACTOR_LU0, 1, 0.5, 0, 0}; /* 1.5, 4.5 - 4 / 1.5 */
  kaon_bad_pivot where;
  must(NULL, kaon_factors_create(NULL, negative, &shifted, &f, &where));
  test_close("shifted pivot", f->pivot[1], 4.5 - 4 / 1.5, 1e-15);
  kaon_factors_destroy(&f);

  kaon_csr *minus = two_by_two(1, 0, 0, -4), *nan = two_by_two(1, 1, 1, 1), *empty = NULL;
  nan->value[3] = NAN;
  check_broken(minus, KAON_FACTOR_SSOR, 1, 0, 1, -4);
  check_broken(nan, KAON_FACTOR_LU0, 0, 0, 1, NAN);
  check_broken(nan, KAON_FACTOR_LU0, 1, 0, 1, NAN);
  const int64_t row[2] = {0, 1}, column[2] = {0, 0};
  const double value[2] = {1, 1};
  must(NULL, kaon_csr_from_triplets(NULL, 2, 2, 1, 2, row, column, value, KAON_CSR_ADD, &empty));
  for (int kind = 0; kind < 3; kind++) check_broken(empty, (kaon_factor_kind)kind, 0, 0, 1, 0);

  kaon_inverse_factors inverse;
  for (int hermitian = 0; hermitian < 2; hermitian++) {
    const kaon_ainv_how how = {hermitian, 0, 0, 0, 0};
    assert_int_equal(kaon_ainv_create(NULL, zero, &how, &inverse, &where), KAON_ERR_SINGULAR);
    assert_int_equal(where.row, 1);
    assert_int_equal(kaon_ainv_create(NULL, nan, &how, &inverse, &where), KAON_ERR_SINGULAR);
    assert_null(inverse.first);
  }
  const kaon_ainv_how spd = {1, 0, 0, 0, 0};
  assert_int_equal(kaon_ainv_create(NULL, negative, &spd, &inverse, &where), KAON_ERR_SINGULAR);
  test_close("ainv's pivot of scaled [1 2; 2 3]", where.pivot[0], 1 - 4.0 / 3, 1e-15);
  kaon_csr *blocks = NULL;
  assert_int_equal(kaon_block_inverses(NULL, zero, 2, 1, 0, &blocks, &where), KAON_ERR_SINGULAR);
  assert_int_equal(kaon_block_inverses(NULL, zero, 33, 1, 0, &blocks, &where), KAON_ERR_ARGUMENT);
  kaon_csr_destroy(&negative), kaon_csr_destroy(&zero), kaon_csr_destroy(&minus);
  kaon_csr_destroy(&nan), kaon_csr_destroy(&empty);
}

/* Where A is known to be singular, a small pivot is taken as 0 with rounding errors. */
static void test_small_pivots_of_singular_matrices(void **state) {
  (void)state;
  kaon_csr *rounded = two_by_two(2, 2, 2, 2 + 2e-9);
  for (int singular = 0; singular < 2; singular++) {
    const kaon_factor_how how = {KAON_FACTOR_LU0, 1, 0, 1, singular};
    const kaon_ainv_how inverse_how = {1, 0, 0, 0, singular};
    const kaon_status expected = singular ? KAON_ERR_SINGULAR : KAON_OK;
    kaon_inverse_factors inverse;
    kaon_factors *f = NULL;
    kaon_bad_pivot where;
    assert_int_equal(kaon_factors_create(NULL, rounded, &how, &f, &where), expected);
    assert_int_equal(kaon_ainv_create(NULL, rounded, &inverse_how, &inverse, &where), expected);
    kaon_factors_destroy(&f);
    if (!singular) kaon_inverse_factors_destroy(&inverse);
  }
  kaon_csr_destroy(&rounded);
}

/* Columns beyond the rows change nothing. */
static void test_ghosts(void **state) {
  (void)state;
  enum { N = 60 };
  kaon_csr *A = row_case_random(N, 5, 1, 1, 90), *B = row_case_ghosts(A, 7);
  for (int kind = 0; kind < 3; kind++) {
    kaon_factors *f = factors_of(A, (kaon_factor_kind)kind, 1, 1.2);
    kaon_factors *g = factors_of(B, (kaon_factor_kind)kind, 1, 1.2);
    assert_memory_equal(f->pivot, g->pivot, N * sizeof(double));
    assert_memory_equal(f->upper->value, g->upper->value,
                        (size_t)f->upper->start[N] * sizeof(double));
    kaon_factors_destroy(&f);
    kaon_factors_destroy(&g);
  }
  kaon_inverse_factors f = inverse_of(A, 1, 0.05, 0), g = inverse_of(B, 1, 0.05, 0);
  assert_int_equal(f.first->start[N], g.first->start[N]);
  assert_memory_equal(f.first->value, g.first->value, (size_t)f.first->start[N] * sizeof(double));
  kaon_inverse_factors_destroy(&f);
  kaon_inverse_factors_destroy(&g);
  kaon_csr_destroy(&A);
  kaon_csr_destroy(&B);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_lu0),
      cmocka_unit_test(test_against_lapack),
      cmocka_unit_test(test_diagonal_kinds),
      cmocka_unit_test(test_ainv),
      cmocka_unit_test(test_ainv_scale),
      cmocka_unit_test(test_dense),
      cmocka_unit_test(test_cholesky),
      cmocka_unit_test(test_block_inverses),
      cmocka_unit_test(test_breakdown),
      cmocka_unit_test(test_small_pivots_of_singular_matrices),
      cmocka_unit_test(test_ghosts),
  };
  return test_main(tests, NULL, NULL);
}
