/* test_relax_uses.c - relaxation in use: as preconditioner, where it diverges and says so, what is
 * known of it beforehand, and what is refused. Counts and sweeps: test_relax.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/operator/shifts.h"
#include "lib/operator/row_sweeps.h"
#include "tests/util/precond_case.h"
#include "tests/util/relax_case.h"

/* Iterations of GCR with K = 4 sweeps of the method. */
static int precondition(relax_case *c, kaon_method method, double tol) {
  kaon_solver_options o = KAON_SOLVER_OPTIONS_INIT, inner = o;
  kaon_relax_options relax = KAON_RELAX_OPTIONS_INIT;
  kaon_solver *outer = NULL, *smoother = NULL;
  kaon_operator *K = NULL;
  kaon_column_report report;
  relax.block = 80;
  inner.sloppy = o.sloppy = c->right->precision;
  inner.method = method;
  inner.tol = 0;
  inner.max_iterations = 4;
  inner.relax = &relax;
  precond_ok(c->ctx, kaon_solver_create(c->A, 1, &inner, &smoother));
  precond_ok(c->ctx, kaon_solver_as_operator(smoother, &K));
  o.method = KAON_GCR;
  o.tol = tol;
  o.preconditioner = K;
  precond_ok(c->ctx, kaon_vector_zero(c->solution));
  precond_ok(c->ctx, kaon_solver_create(c->A, 1, &o, &outer));
  precond_ok(c->ctx, kaon_solver_solve(outer, c->right, c->solution, &report, NULL));
  precond_export(c->solution, 0, (int64_t)c->rows.rows, c->x);
  assert_int_equal(report.reason, KAON_CONVERGED);
  kaon_solver_destroy(&outer);
  kaon_operator_destroy(&K);
  kaon_solver_destroy(&smoother);
  return report.iterations;
}

/* In single a residual errs by 8 roundings of what the rows' terms add up to, at most 8 |x|, which
 * is below 700 |b| as the smallest eigenvalue is 0.0117: 3.3e-4. */
static void sweeps_precondition_gcr(void **state) {
  static const kaon_method methods[] = {KAON_JACOBI, KAON_GS, KAON_SOR, KAON_TWO_STAGE, KAON_ASYNC};
  (void)state;
  for (int machine = MACHINE_CPU; machine <= MACHINE_CUDA; machine += MACHINE_CUDA - MACHINE_CPU) {
    for (int kind = 0; kind < 2 && !machine_lacks(machine); kind++) {
      relax_case c;
      kaon_column_report alone;
      const kaon_precision precision = kind ? KAON_SINGLE : KAON_DOUBLE;
      const double tol = kind ? 1e-3 : 1e-8;
      if (!relax_case_open(&c, machine, 2, row_case_laplace(40, 40, 1), precision, 1)) break;
      relax_case_solve(&c, KAON_GCR, NULL, tol, 5000, &alone, NULL);
      for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        const int steps = precondition(&c, methods[i], tol);
        printf("%s: gcr with 4 sweeps of method %d: %d steps, alone %d\n", machine_name(machine),
               (int)methods[i], steps, alone.iterations);
        assert_true(2 * steps < alone.iterations);
        test_below("true residual", relax_case_residual(&c, 0), kind ? 1.4e-3 : 1.1e-8);
      }
      relax_case_close(&c);
    }
  }
}

/* bar: the spectral radius of B is 2.4, so all methods diverge and say so. Damped by Lanczos' tau,
 * Jacobi converges, as slowly as the condition of 21000 implies. */
static void divergence_is_reported_and_damped(void **state) {
  static const kaon_method methods[] = {KAON_JACOBI, KAON_TWO_STAGE, KAON_ASYNC};
  relax_case c;
  kaon_csr *csr = row_case_file("sparse/bar.mtx");
  kaon_column_report report;
  kaon_relax_options o = KAON_RELAX_OPTIONS_INIT;
  kaon_relax_report relaxation = KAON_RELAX_REPORT_INIT;
  int length = 0;
  (void)state;
  if (csr == NULL) skip();
  assert_true(relax_case_open(&c, MACHINE_CPU, 2, csr, KAON_DOUBLE, 1));
  for (size_t i = 0; i < 3; i++) {
    relax_case_solve(&c, methods[i], NULL, 1e-8, 10000, &report, NULL);
    printf("method %d: ended after %d iterations\n", (int)methods[i], report.iterations);
    assert_int_equal(report.reason, KAON_DIVERGING);
    assert_true(report.iterations < 100);
  }
  o.tau = 0;
  double *h = relax_case_history(&c, KAON_JACOBI, &o, 1e-8, 400, &length, &relaxation);
  test_below("damped, after 100 iterations", h[100], h[0]);
  test_below("damped, after 400 iterations", h[400], h[100]);
  test_close("tau", relaxation.tau, 2 / (0.000162 + 3.42567), 1e-3);
  free(h);
  relax_case_close(&c);
}

/* cond_2 and radii from an independent computation, four digits. */
static void spectra_are_the_known_ones(void **state) {
  static const struct {
    const char *name;
    double rho, absolute;
  } known[] = {{"Chem97ZtZ", 0.7889, 0.7889},
               {"fv1", 0.8541, 0.8541},
               {"fv3", 0.9993, 0.9993},
               {"Trefethen_2000", 0.8601, 0.8601}};
  (void)state;
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    char path[64];
    relax_case c;
    kaon_spectrum s = KAON_SPECTRUM_INIT;
    snprintf(path, sizeof path, "sparse/%s.mtx", known[i].name);
    kaon_csr *csr = row_case_file(path);
    if (csr == NULL) skip();
    assert_true(relax_case_open(&c, MACHINE_CPU, 2, csr, KAON_DOUBLE, 1));
    precond_ok(c.ctx, kaon_spectrum_estimate(c.A, 0, &s));
    assert_true(s.hermitian);
    test_close(known[i].name, s.rho, known[i].rho, 1e-4);
    test_close("of |B|", s.rho_absolute, known[i].absolute, 1e-4);
    printf("  at most %.6f\n", s.most_absolute);
    assert_true(s.most_absolute >= s.rho_absolute - 1e-12);
    relax_case_close(&c);
  }
  /* not Hermitian: |B| of a cyclic shift with weight 0.5 has radius 0.5, and B too */
  const int64_t row[] = {0, 1, 2, 0, 1, 2}, column[] = {0, 1, 2, 1, 2, 0};
  const double value[] = {2, 2, 2, -1, 1, 1};
  kaon_csr *csr = NULL;
  relax_case c;
  kaon_spectrum s = KAON_SPECTRUM_INIT;
  precond_ok(NULL,
             kaon_csr_from_triplets(NULL, 3, 3, 1, 6, row, column, value, KAON_CSR_ADD, &csr));
  assert_true(relax_case_open(&c, MACHINE_CPU, 1, csr, KAON_DOUBLE, 1));
  precond_ok(c.ctx, kaon_spectrum_estimate(c.A, 0, &s));
  assert_false(s.hermitian);
  assert_true(s.most_absolute >= s.rho_absolute - 1e-12);
  test_close("a cycle", s.rho, 0.5, 1e-2);
  test_close("its |B|", s.rho_absolute, 0.5, 1e-6);
  relax_case_close(&c);
}

/* 2 x 2 blocks with coupling 0.98 and a single one with 1.02: the radius comes from that block. */
static void a_rare_block_is_not_overlooked(void **state) {
  enum { BLOCKS = 20000 };
  int64_t *row = malloc(4 * BLOCKS * sizeof *row), *column = malloc(4 * BLOCKS * sizeof *column);
  double *value = malloc(4 * BLOCKS * sizeof *value);
  (void)state;
  for (int64_t b = 0; b < BLOCKS; b++)
    for (int k = 0; k < 4; k++) {
      row[4 * b + k] = 2 * b + k / 2;
      column[4 * b + k] = 2 * b + k % 2;
      value[4 * b + k] = k / 2 == k % 2 ? 1 : b == BLOCKS / 3 ? 1.02 : 0.98;
    }
  kaon_csr *csr = NULL;
  relax_case c;
  kaon_spectrum s = KAON_SPECTRUM_INIT;
  precond_ok(NULL, kaon_csr_from_triplets(NULL, 2 * BLOCKS, 2 * BLOCKS, 1, 4 * BLOCKS, row, column,
                                          value, KAON_CSR_ADD, &csr));
  assert_true(relax_case_open(&c, MACHINE_CPU, 2, csr, KAON_DOUBLE, 1));
  precond_ok(c.ctx, kaon_spectrum_estimate(c.A, 0, &s));
  test_close("at most", s.most_absolute, 1.02, 1e-9);
  relax_case_close(&c);
  free(row);
  free(column);
  free(value);
}

/* ---- radii near 1 ---- */

/* 1 on the diagonal, c beside it: the radius of B and of |B| is 2 |c| cos(pi / (n + 1)). */
static kaon_csr *chain(int64_t n, double c) {
  int64_t *row = malloc(3 * (size_t)n * sizeof *row), *column = malloc(3 * (size_t)n * sizeof *row);
  double *value = malloc(3 * (size_t)n * sizeof *value);
  kaon_csr *csr = NULL;
  int64_t entries = 0;
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = i - 1; j <= i + 1; j++) {
      if (j < 0 || j >= n) continue;
      row[entries] = i;
      column[entries] = j;
      value[entries++] = i == j ? 1 : c;
    }
  precond_ok(
      NULL, kaon_csr_from_triplets(NULL, n, n, 1, entries, row, column, value, KAON_CSR_ADD, &csr));
  free(row);
  free(column);
  free(value);
  return csr;
}

/* Radii are lower bounds or say how far above they may be. If Lanczos' process finds a direction
 * that proves A not positive definite, the radius is 1 or more for certain. */
static void radii_near_one_are_no_promise(void **state) {
  static const struct {
    const char *name;
    int64_t rows;
    double beside;
    int steps, indefinite;
  } chains[] = {{"seen to be indefinite", 1000, -0.5002, 0, 1},
                {"by few steps", 1000, -0.5002, 20, 0},
                {"not seen", 20000, -0.5000002, 0, 0},
                {"positive, near 1", 1000, -0.49999, 20, 0},
                {"positive", 300, -0.45, 0, 0}};
  const double pi = acos(-1);
  (void)state;
  for (size_t i = 0; i < sizeof chains / sizeof *chains; i++) {
    relax_case c;
    kaon_spectrum s = KAON_SPECTRUM_INIT;
    const double radius = 2 * fabs(chains[i].beside) * cos(pi / (double)(chains[i].rows + 1));
    assert_true(relax_case_open(&c, MACHINE_CPU, 2, chain(chains[i].rows, chains[i].beside),
                                KAON_DOUBLE, 1));
    precond_ok(c.ctx, kaon_spectrum_estimate(c.A, chains[i].steps, &s));
    printf("  %s: radius %.6f, estimate %.6f + %.2g, of |B| %.6f to %.6f\n", chains[i].name, radius,
           s.rho, s.rho_error, s.rho_absolute, s.most_absolute);
    assert_int_equal(s.indefinite, chains[i].indefinite);
    assert_int_equal(s.hermitian, !chains[i].indefinite);
    assert_true(s.rho <= radius + 1e-9 && s.rho_absolute <= radius + 1e-9);
    assert_true(s.rho + s.rho_error >= radius - 1e-9);
    assert_true(!s.indefinite || s.rho >= 1);
    if (radius < 0.95) test_below("error", s.rho_error, 1e-4);
    relax_case_close(&c);
  }
}

/* -A of a positive definite A has a negative diagonal: D^-1 A is the same, and Jacobi converges. */
static void a_negative_diagonal_is_not_called_indefinite(void **state) {
  relax_case c;
  kaon_spectrum s = KAON_SPECTRUM_INIT;
  kaon_csr *csr = chain(300, -0.45);
  (void)state;
  for (int64_t n = 0; n < csr->start[csr->rows]; n++) csr->value[n] = -csr->value[n];
  assert_true(relax_case_open(&c, MACHINE_CPU, 1, csr, KAON_DOUBLE, 1));
  precond_ok(c.ctx, kaon_spectrum_estimate(c.A, 0, &s));
  assert_false(s.indefinite);
  test_close("radius", s.rho, 0.9, 1e-2);
  relax_case_close(&c);
}

/* ---- what a look beforehand takes ---- */

/* An operator's applications are counted, and those of its |A|. */
enum { ITSELF, ABSOLUTE };
static struct {
  const kaon_operator_ops *own[2];
  kaon_operator_ops ops[2];
  const void *capabilities[KAON_CAPABILITIES]; /* of the operator itself */
  int products;
} counted;

static kaon_status count_apply(kaon_operator *A, kaon_mode mode, const kaon_vector *x,
                               kaon_vector *y, const kaon_pass *pass) {
  counted.products++;
  return counted.own[A->ops == &counted.ops[ABSOLUTE]]->apply(A, mode, x, y, pass);
}

static void count_products(kaon_operator *A, int which) {
  counted.own[which] = A->ops;
  counted.ops[which] = *A->ops;
  counted.ops[which].apply = count_apply;
  A->ops = &counted.ops[which];
}

static kaon_status count_absolute(kaon_operator *A, kaon_operator **absolute) {
  const kaon_absolute_values *own = counted.own[ITSELF]->capabilities[KAON_CAPABILITY_ABSOLUTE];
  const kaon_status status = own->absolute(A, absolute);
  if (status == KAON_OK) count_products(*absolute, ABSOLUTE);
  return status;
}

static const kaon_absolute_values counting = {count_absolute};

/* Blocks of [1 c; c 1], for which a noise vector x may have (x, A x) > 0 also with c > 1. */
static kaon_csr *pairs(int n, double c) {
  int64_t *row = malloc(4 * (size_t)n * sizeof *row), *column = malloc(4 * (size_t)n * sizeof *row);
  double *value = malloc(4 * (size_t)n * sizeof *value);
  kaon_csr *csr = NULL;
  for (int64_t i = 0; i < 4 * n; i++) {
    row[i] = i / 4 * 2 + i / 2 % 2;
    column[i] = i / 4 * 2 + i % 2;
    value[i] = row[i] == column[i] ? 1 : c;
  }
  precond_ok(NULL, kaon_csr_from_triplets(NULL, 2 * n, 2 * n, 1, 4 * n, row, column, value,
                                          KAON_CSR_ADD, &csr));
  free(row);
  free(column);
  free(value);
  return csr;
}

/* Two products to test whether A is Hermitian, up to `steps` of Lanczos' process, as many powers
 * of B if that fails, and of |B|, and one for the bound. */
static void few_steps_are_few_products(void **state) {
  enum { STEPS = 20 };
  static const struct {
    const char *name;
    int hermitian, most;
  } looked_at[] = {{"positive", 1, 2 * STEPS + 3},
                   {"indefinite", 0, 3 * STEPS + 3},
                   {"not Hermitian", 0, 2 * STEPS + 3}};
  (void)state;
  for (int i = 0; i < 3; i++) {
    relax_case c;
    kaon_spectrum s = KAON_SPECTRUM_INIT;
    kaon_csr *csr = i == 0   ? row_case_laplace(30, 30, 1)
                    : i == 1 ? pairs(300, 1.5)
                             : row_case_random(400, 5, 1, 0, 3);
    assert_true(relax_case_open(&c, MACHINE_CPU, 1, csr, KAON_DOUBLE, 1));
    count_products(c.A, ITSELF);
    memcpy(counted.capabilities, c.A->ops->capabilities, sizeof counted.capabilities);
    counted.capabilities[KAON_CAPABILITY_ABSOLUTE] = &counting;
    counted.ops[ITSELF].capabilities = counted.capabilities;
    counted.products = 0;
    precond_ok(c.ctx, kaon_spectrum_estimate(c.A, STEPS, &s));
    c.A->ops = counted.own[ITSELF];
    assert_int_equal(s.hermitian, looked_at[i].hermitian);
    assert_int_equal(s.steps, counted.products);
    test_below(looked_at[i].name, counted.products, looked_at[i].most);
    if (i == 1) test_close("radius of pairs", s.rho, 1.5, 1e-6);
    relax_case_close(&c);
  }
}

/* Powers of this B enlarge vectors by more than its radius, even after 300 of them. */
static void growth_is_within_the_bound(void **state) {
  static const int steps[] = {20, 0};
  (void)state;
  for (int i = 0; i < 2; i++) {
    kaon_context *ctx = NULL;
    kaon_matrix *matrix = NULL;
    kaon_operator *A = NULL;
    kaon_spectrum s = KAON_SPECTRUM_INIT;
    kaon_context_options options = KAON_CONTEXT_OPTIONS_INIT;
    options.threads = 1;
    precond_ok(NULL, machine_open(MACHINE_CPU, options, &ctx));
    precond_ok(ctx, kaon_matrix_generate(ctx, "convdiff3d:14,20", NULL, &matrix, NULL));
    precond_ok(ctx, kaon_matrix_operator(matrix, NULL, &A));
    precond_ok(ctx, kaon_spectrum_estimate(A, steps[i], &s));
    assert_false(s.hermitian);
    test_below("radius of |B|", s.rho_absolute, s.most_absolute);
    test_below("radius of B", s.rho, s.most_absolute);
    kaon_operator_destroy(&A);
    kaon_matrix_destroy(&matrix);
    kaon_context_destroy(&ctx);
  }
}

static void refusals_say_why(void **state) {
  relax_case c;
  kaon_solver_options o = KAON_SOLVER_OPTIONS_INIT;
  kaon_relax_options relax = KAON_RELAX_OPTIONS_INIT;
  kaon_lab_relax_options lab = KAON_LAB_RELAX_OPTIONS_INIT;
  kaon_fault_options faults = KAON_FAULT_OPTIONS_INIT;
  kaon_solver *solver = NULL;
  kaon_relax_report report = KAON_RELAX_REPORT_INIT;
  (void)state;
  const int64_t row[] = {0, 1, 1}, column[] = {0, 0, 1};
  const double value[] = {1, 1, 0};
  kaon_csr *csr = NULL;
  precond_ok(NULL,
             kaon_csr_from_triplets(NULL, 2, 2, 1, 3, row, column, value, KAON_CSR_ADD, &csr));
  assert_true(relax_case_open(&c, MACHINE_CPU, 1, csr, KAON_DOUBLE, 1));
  o.relax = &relax;
  for (kaon_method method = KAON_JACOBI; method <= KAON_ASYNC; method++) {
    o.method = method;
    assert_int_equal(kaon_solver_create(c.A, 1, &o, &solver), KAON_ERR_SINGULAR);
    assert_null(solver);
    assert_non_null(strstr(kaon_last_error(c.ctx), "row 2 (counted from 1"));
  }
  relax_case_close(&c);
  assert_true(relax_case_open(&c, MACHINE_CPU, 1, row_case_laplace(5, 5, 1), KAON_DOUBLE, 1));
  relax.block = KAON_ROW_BLOCK + 1;
  assert_int_equal(kaon_solver_create(c.A, 1, &o, &solver), KAON_ERR_ARGUMENT);
  relax.block = 10;
  relax.driver = KAON_RELAX_FREE;
  o.method = KAON_TWO_STAGE;
  assert_int_equal(kaon_solver_create(c.A, 1, &o, &solver), KAON_ERR_ARGUMENT);
  relax.driver = KAON_RELAX_LAUNCH;
  lab.faults = &faults;
  relax.lab = &lab;
  o.method = KAON_GS;
  assert_int_equal(kaon_solver_create(c.A, 1, &o, &solver), KAON_ERR_UNSUPPORTED);
  faults.share = 2;
  o.method = KAON_ASYNC;
  assert_int_equal(kaon_solver_create(c.A, 1, &o, &solver), KAON_ERR_ARGUMENT);
  o.relax = NULL;
  o.method = KAON_CG;
  precond_ok(c.ctx, kaon_solver_create(c.A, 1, &o, &solver));
  assert_int_equal(kaon_solver_relaxation(solver, &report), KAON_ERR_ARGUMENT);
  kaon_solver_destroy(&solver);
  relax_case_close(&c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sweeps_precondition_gcr),
      cmocka_unit_test(divergence_is_reported_and_damped),
      cmocka_unit_test(spectra_are_the_known_ones),
      cmocka_unit_test(a_rare_block_is_not_overlooked),
      cmocka_unit_test(radii_near_one_are_no_promise),
      cmocka_unit_test(a_negative_diagonal_is_not_called_indefinite),
      cmocka_unit_test(few_steps_are_few_products),
      cmocka_unit_test(growth_is_within_the_bound),
      cmocka_unit_test(refusals_say_why),
  };
  return test_main(tests, NULL, NULL);
}
