/* test_lanczos.c - extreme eigenvalues by kaon_spectrum_estimate, by --tau 0 and for Chebyshev's
 * interval, against all eigenvalues by Jacobi rotations. Matrices are positive definite or
 * semi-definite, some tiny or badly scaled; indefinite ones are refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/util/precond_case.h"
#include "tests/util/relax_case.h"

/* ---- dense matrices, row-major n x n, symmetric ---- */

/* Graph Laplacian of k x k x k points, k in `extent`, open, or a ring if it is one line. */
static double *neumann(const int extent[3], int ring, int *rows) {
  const int step[3] = {1, extent[0], extent[0] * extent[1]}, n = step[2] * extent[2];
  double *a = calloc((size_t)n * (size_t)n, sizeof *a);
  for (int i = 0; i < n; i++)
    for (int mu = 0; mu < 3; mu++) {
      const int inside = i / step[mu] % extent[mu] + 1 < extent[mu];
      const int j = inside ? i + step[mu] : 0;
      if (!inside && !(ring && mu == 0)) continue;
      a[i * n + i] += 1;
      a[j * n + j] += 1;
      a[i * n + j] -= 1;
      a[j * n + i] -= 1;
    }
  *rows = n;
  return a;
}

/* M M^T of n x rank noise, rows and columns times 10^(-`decades` ... `decades`). */
static double *product_of_noise(int n, int rank, int decades) {
  double *m = calloc((size_t)n * (size_t)rank, sizeof *m),
         *a = calloc((size_t)n * (size_t)n, sizeof *a);
  double complex z;
  for (int i = 0; i < n * rank; i++) {
    row_case_vector(1, 1, (uint64_t)(1000 * n + i), &z);
    m[i] = creal(z);
  }
  for (int i = 0; i < n; i++)
    for (int j = 0; j <= i; j++) {
      const double scale = pow(10, decades * (cos(i) + cos(j)));
      for (int k = 0; k < rank; k++) a[i * n + j] += scale * m[i * rank + k] * m[j * rank + k];
      a[j * n + i] = a[i * n + j];
    }
  free(m);
  return a;
}

static kaon_csr *csr_of(int n, const double *a) {
  const size_t most = (size_t)n * (size_t)n;
  int64_t *row = malloc(most * sizeof *row), *column = malloc(most * sizeof *column), entries = 0;
  double *value = malloc(most * sizeof *value);
  kaon_csr *csr = NULL;
  for (int i = 0; i < n * n; i++)
    if (a[i] != 0) {
      row[entries] = i / n;
      column[entries] = i % n;
      value[entries++] = a[i];
    }
  precond_ok(
      NULL, kaon_csr_from_triplets(NULL, n, n, 1, entries, row, column, value, KAON_CSR_ADD, &csr));
  free(row);
  free(column);
  free(value);
  return csr;
}

/* ---- all eigenvalues of D^-1/2 A D^-1/2, ascending ---- */

static void rotate(int n, double *s, int p, int q) {
  if (s[p * n + q] == 0) return;
  const double theta = (s[q * n + q] - s[p * n + p]) / (2 * s[p * n + q]);
  const double t = (theta < 0 ? -1 : 1) / (fabs(theta) + hypot(theta, 1));
  const double c = 1 / hypot(t, 1), r = t * c;
  for (int side = 0; side < 2; side++)
    for (int k = 0; k < n; k++) {
      double *x = side ? &s[k * n + p] : &s[p * n + k], *y = side ? &s[k * n + q] : &s[q * n + k];
      const double old = *x;
      *x = c * old - r * *y;
      *y = r * old + c * *y;
    }
}

static int ascending(const void *x, const void *y) {
  const double a = *(const double *)x, b = *(const double *)y;
  return (a > b) - (a < b);
}

static double *eigenvalues(int n, const double *a) {
  double *s = calloc((size_t)n * (size_t)n, sizeof *s), *w = calloc((size_t)n, sizeof *w);
  for (int i = 0; i < n * n; i++)
    s[i] = a[i] / sqrt(a[i / n * n + i / n]) / sqrt(a[i % n * n + i % n]);
  for (int sweep = 0; sweep < 20; sweep++)
    for (int p = 0; p < n; p++)
      for (int q = p + 1; q < n; q++) rotate(n, s, p, q);
  for (int i = 0; i < n; i++) w[i] = s[i * n + i];
  qsort(w, (size_t)n, sizeof *w, ascending);
  free(s);
  return w;
}

/* ---- what is said of them ---- */

/* b = A times noise: the system has solutions. */
static void solvable(relax_case *c) {
  double complex *x = calloc(c->rows.rows, sizeof *x);
  row_case_vector((int64_t)c->rows.rows, 1, 77, x);
  row_case_multiply(c->csr, 0, x, c->b);
  precond_import(c->right, 0, (int64_t)c->rows.rows, c->b);
  free(x);
}

/* The interval, and CG with it. */
static void check_chebyshev(relax_case *c, const double *w, int n, int zeros) {
  kaon_operator *K = NULL;
  kaon_solver_options o = KAON_SOLVER_OPTIONS_INIT;
  kaon_solver *solver = NULL;
  kaon_column_report report;
  double low, high;
  precond_ok(c->ctx, kaon_precond_chebyshev(c->A, NULL, &K));
  precond_ok(c->ctx, kaon_precond_chebyshev_interval(K, &low, &high));
  test_below("Chebyshev's high over the largest eigenvalue", high / w[n - 1], 1.1 * (1 + 1e-12));
  assert_true(low >= high / 30 * (1 - 1e-12) && low <= 0.9 * high * (1 + 1e-12));
  if (n <= 16) { /* its steps see all */
    test_close("Chebyshev's high", high, 1.1 * w[n - 1], 1e-12);
    test_close("Chebyshev's low", low, fmin(fmax(w[zeros], high / 30), 0.9 * high), 1e-10);
  }
  o.method = KAON_CG;
  o.preconditioner = K;
  precond_ok(c->ctx, kaon_vector_zero(c->solution));
  precond_ok(c->ctx, kaon_solver_create(c->A, 1, &o, &solver));
  precond_ok(c->ctx, kaon_solver_solve(solver, c->right, c->solution, &report, NULL));
  assert_int_equal(report.reason, KAON_CONVERGED);
  kaon_solver_destroy(&solver);
  kaon_operator_destroy(&K);
}

/* zeros: number of eigenvalues that are 0. Takes over a. jacobi: also solve by it, with the chosen
 * step. */
static void check_spectrum(const char *name, int n, double *a, int zeros, int jacobi) {
  double *w = eigenvalues(n, a);
  relax_case c;
  kaon_spectrum s = KAON_SPECTRUM_INIT;
  kaon_relax_options relax = KAON_RELAX_OPTIONS_INIT;
  kaon_relax_report chosen = KAON_RELAX_REPORT_INIT;
  kaon_column_report report;
  assert_true(relax_case_open(&c, MACHINE_CPU, 1, csr_of(n, a), KAON_DOUBLE, 1));
  precond_ok(c.ctx, kaon_spectrum_estimate(c.A, 0, &s));
  printf("  %s: %.6g to %.15g, tau %.6g, rho %.15g + %.2g, |B| %.15g to %.15g\n", name, s.low,
         s.high, s.tau, s.rho, s.rho_error, s.rho_absolute, s.most_absolute);
  const double rho = fmax(fabs(1 - w[0]), fabs(w[n - 1] - 1));
  assert_true(s.hermitian && !s.indefinite);
  assert_true(s.low >= w[0] - 1e-13 * w[n - 1] && s.high <= w[n - 1] * (1 + 1e-12));
  assert_true(s.rho <= rho + 1e-12 * w[n - 1] && s.rho + s.rho_error >= rho - 1e-6);
  assert_true(s.rho_absolute <= s.most_absolute + 1e-12);
  test_close("high", s.high, w[n - 1], 1e-9); /* 300 steps see all of these */
  test_close("tau", s.tau, 2 / (w[zeros] + w[n - 1]), 1e-6);
  if (zeros)
    assert_true(s.low == 0);
  else
    test_close("low", s.low, w[0], 1e-9);
  solvable(&c);
  check_chebyshev(&c, w, n, zeros);
  relax.tau = 0;
  if (jacobi) {
    relax_case_solve(&c, KAON_JACOBI, &relax, 1e-8, 40000, &report, &chosen);
    assert_int_equal(report.reason, KAON_CONVERGED);
    test_below("chosen tau times the largest eigenvalue", chosen.tau * w[n - 1], 2);
  }
  relax_case_close(&c);
  free(w);
  free(a);
}

static void semi_definite_spectra_are_the_true_ones(void **state) {
  static const int lines[] = {2, 3, 4, 5, 6, 7, 8, 9, 10, 13, 20, 29, 30, 31, 40, 64, 100};
  static const int boxes[][3] = {{3, 3, 3}, {4, 4, 4}, {5, 5, 5}, {3, 7, 2}};
  char name[64];
  int n;
  (void)state;
  for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
    const int extent[3] = {lines[i], 1, 1};
    snprintf(name, sizeof name, "line of %d", lines[i]);
    double *a = neumann(extent, 0, &n);
    check_spectrum(name, n, a, 1, 1);
  }
  for (size_t i = 0; i < sizeof boxes / sizeof *boxes; i++) {
    snprintf(name, sizeof name, "box of %d x %d x %d", boxes[i][0], boxes[i][1], boxes[i][2]);
    double *a = neumann(boxes[i], 0, &n);
    check_spectrum(name, n, a, 1, 1);
  }
  const int ring[3] = {64, 1, 1};
  double *a = neumann(ring, 1, &n);
  check_spectrum("ring", n, a, 1, 1);
  for (n = 29; n <= 40; n += n < 31 ? 1 : 9) {
    snprintf(name, sizeof name, "M M^T of rank %d in %d", n - 1, n);
    check_spectrum(name, n, product_of_noise(n, n - 1, 0), 1, 0);
    snprintf(name, sizeof name, "M M^T of rank %d in %d", n / 2, n);
    check_spectrum(name, n, product_of_noise(n, n / 2, 0), n - n / 2, 1);
  }
}

static void definite_spectra_are_the_true_ones(void **state) {
  char name[64];
  (void)state;
  for (int n = 1; n <= 10; n++) {
    snprintf(name, sizeof name, "definite, %d rows", n);
    check_spectrum(name, n, product_of_noise(n, n + 5, 0), 0, 1);
    double *one = calloc((size_t)(n * n), sizeof *one); /* D^-1 A = 1 */
    for (int i = 0; i < n; i++) one[i * n + i] = pow(10, 20 * sin(i));
    snprintf(name, sizeof name, "diagonal, %d rows", n);
    check_spectrum(name, n, one, 0, 1);
  }
  check_spectrum("definite, 40 rows", 40, product_of_noise(40, 60, 0), 0, 1);
  check_spectrum("definite, 40 rows, scaled", 40, product_of_noise(40, 60, 3), 0, 0);
}

/* D^-1 A is unchanged when rows and columns are scaled, and so are all statements about it. */
static void scales_do_not_matter(void **state) {
  (void)state;
  enum { N = 30 };
  for (int rank = N / 2; rank <= 2 * N; rank += N / 2) {
    kaon_spectrum s[2];
    for (int scaled = 0; scaled < 2; scaled++) {
      relax_case c;
      double *a = product_of_noise(N, rank, 3 * scaled);
      assert_true(relax_case_open(&c, MACHINE_CPU, 1, csr_of(N, a), KAON_DOUBLE, 1));
      s[scaled] = (kaon_spectrum)KAON_SPECTRUM_INIT;
      precond_ok(c.ctx, kaon_spectrum_estimate(c.A, 0, &s[scaled]));
      relax_case_close(&c);
      free(a);
    }
    test_close("high", s[1].high, s[0].high, 1e-9);
    assert_true((s[0].low == 0) == (s[1].low == 0) && (rank < N) == (s[0].low == 0));
  }
}

/* Without D the eigenvalues are A's, whose squares overflow or underflow in double. */
static void eigenvalues_of_any_size(void **state) {
  static const double size[] = {1, 1e-200, 1e200};
  (void)state;
  for (size_t i = 0; i < sizeof size / sizeof *size; i++) {
    const int extent[3] = {10, 1, 1};
    const double pi = acos(-1);
    kaon_chebyshev_options o = KAON_CHEBYSHEV_OPTIONS_INIT;
    kaon_operator *K = NULL;
    relax_case c;
    double low, high;
    int n;
    double *a = neumann(extent, 0, &n);
    for (int k = 0; k < n * n; k++) a[k] *= size[i];
    assert_true(relax_case_open(&c, MACHINE_CPU, 1, csr_of(n, a), KAON_DOUBLE, 1));
    o.scaled = 0;
    precond_ok(c.ctx, kaon_precond_chebyshev(c.A, &o, &K));
    precond_ok(c.ctx, kaon_precond_chebyshev_interval(K, &low, &high));
    test_close("high", high / size[i], 1.1 * (2 - 2 * cos(0.9 * pi)), 1e-10);
    test_close("low", low / size[i], high / size[i] / 30, 1e-10);
    kaon_operator_destroy(&K);
    relax_case_close(&c);
    free(a);
  }
}

/* An eigenvalue below 0 by more than rounding is refused, with its value; one within rounding is
 * accepted. */
static void negative_eigenvalues_are_told_from_rounding(void **state) {
  static const double below[] = {1e-3, 1e-9, 1e-12, 0};
  (void)state;
  for (size_t i = 0; i < sizeof below / sizeof *below; i++) {
    const int extent[3] = {20, 1, 1};
    kaon_spectrum s = KAON_SPECTRUM_INIT;
    kaon_solver *solver = NULL;
    kaon_solver_options o = KAON_SOLVER_OPTIONS_INIT;
    kaon_relax_options relax = KAON_RELAX_OPTIONS_INIT;
    relax_case c;
    int n;
    double *a = neumann(extent, 0, &n);
    for (int k = 0; k < n; k++) a[k * n + k] *= 1 - below[i]; /* D^-1 A's: (l - x) / (1 - x) */
    assert_true(relax_case_open(&c, MACHINE_CPU, 1, csr_of(n, a), KAON_DOUBLE, 1));
    precond_ok(c.ctx, kaon_spectrum_estimate(c.A, 0, &s));
    assert_int_equal(s.indefinite, below[i] > 0);
    assert_int_equal(s.hermitian, below[i] == 0);
    o.method = KAON_JACOBI;
    o.relax = &relax;
    relax.tau = 0;
    const kaon_status status = kaon_solver_create(c.A, 1, &o, &solver);
    assert_int_equal(status, below[i] > 0 ? KAON_ERR_ARGUMENT : KAON_OK);
    if (status != KAON_OK) {
      const char *why = kaon_last_error(c.ctx), *found = strstr(why, "has an eigenvalue of ");
      printf("  %s\n", why);
      assert_non_null(strstr(why, "not Hermitian positive definite"));
      assert_non_null(found);
      const double seen = strtod(found + strlen("has an eigenvalue of "), NULL);
      assert_true(seen < 0 && seen >= -1.001 * below[i] - 1e-13);
    }
    kaon_solver_destroy(&solver);
    relax_case_close(&c);
    free(a);
  }
}

/* For a matrix that is not Hermitian, Lanczos' tridiagonal matrix may be indefinite without a
 * meaning. Chebyshev refuses such an interval; GCR may use it. */
static void other_matrices_are_not_called_indefinite(void **state) {
  kaon_context *ctx = NULL;
  kaon_matrix *matrix = NULL;
  kaon_operator *A = NULL, *K = NULL;
  double low, high;
  (void)state;
  precond_ok(NULL,
             machine_open(MACHINE_CPU, (kaon_context_options)KAON_CONTEXT_OPTIONS_INIT, &ctx));
  precond_ok(ctx, kaon_matrix_generate(ctx, "convdiff3d:14,20", NULL, &matrix, NULL));
  precond_ok(ctx, kaon_matrix_operator(matrix, NULL, &A));
  precond_ok(ctx, kaon_precond_chebyshev(A, NULL, &K));
  precond_ok(ctx, kaon_precond_chebyshev_interval(K, &low, &high));
  assert_true(low > 0 && low < high);
  kaon_operator_destroy(&K);
  kaon_operator_destroy(&A);
  kaon_matrix_destroy(&matrix);
  kaon_context_destroy(&ctx);
}

/* Where values are rounded to single, so is what counts as 0. */
static void single_precision_has_its_own_zero(void **state) {
  static const int lines[] = {2, 5, 10, 20, 31, 64};
  (void)state;
  for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
    const int extent[3] = {lines[i], 1, 1};
    relax_case c;
    kaon_spectrum s = KAON_SPECTRUM_INIT;
    int n;
    double *a = neumann(extent, 0, &n), *w = eigenvalues(n, a);
    if (!relax_case_open(&c, MACHINE_CPU, 1, csr_of(n, a), KAON_SINGLE, 1)) skip();
    precond_ok(c.ctx, kaon_spectrum_estimate(c.A, 0, &s));
    assert_true(s.hermitian && s.low == 0);
    test_close("high", s.high, 2, 1e-5);
    test_close("tau", s.tau, 2 / (w[1] + 2), 1e-3);
    relax_case_close(&c);
    free(w);
    free(a);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(semi_definite_spectra_are_the_true_ones),
      cmocka_unit_test(definite_spectra_are_the_true_ones),
      cmocka_unit_test(scales_do_not_matter),
      cmocka_unit_test(eigenvalues_of_any_size),
      cmocka_unit_test(negative_eigenvalues_are_told_from_rounding),
      cmocka_unit_test(other_matrices_are_not_called_indefinite),
      cmocka_unit_test(single_precision_has_its_own_zero),
  };
  return test_main(tests, NULL, NULL);
}
