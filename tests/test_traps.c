/* test_traps.c - applications that trap floating-point exceptions, as OpenFOAM does by default,
 * are not stopped by kaon's divisions, and find their traps and flags unchanged. */
#define _GNU_SOURCE /* feenableexcept */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fenv.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <kaon/kaon.h>

#include "tests/util/test_util.h"

enum { SITES = 24, TRAPS = FE_DIVBYZERO | FE_INVALID | FE_OVERFLOW };

static kaon_context *ctx;

static int set_up(void **state) {
  (void)state;
  kaon_context_options o = KAON_CONTEXT_OPTIONS_INIT;
  o.threads = 2;
  feclearexcept(FE_ALL_EXCEPT);
  feenableexcept(TRAPS);
  return kaon_context_create(&o, &ctx) != KAON_OK;
}

static int tear_down(void **state) {
  (void)state;
  kaon_context_destroy(&ctx);
  fedisableexcept(TRAPS);
  return 0;
}

static void traps_are_as_they_were(void) {
  assert_int_equal(fegetexcept() & TRAPS, TRAPS);
  assert_int_equal(fetestexcept(TRAPS), 0);
}

/* A chain of n rows: `beside` left and right of the diagonal, which increases along it. */
static kaon_matrix *chain(int n, double beside) {
  int32_t start[SITES + 1] = {0}, column[3 * SITES];
  double value[3 * SITES];
  int entries = 0;
  for (int row = 0; row < n; row++) {
    for (int j = row - 1; j <= row + 1; j++)
      if (j == row || (beside != 0 && j >= 0 && j < n)) {
        column[entries] = j;
        value[entries++] = j == row ? 4 + row % 3 : beside;
      }
    start[row + 1] = entries;
  }
  kaon_csr_arrays arrays = {.global_rows = n, .rows = n, .reals = 1};
  arrays.start32 = start;
  arrays.column32 = column;
  arrays.values = value;
  kaon_matrix *matrix = NULL;
  must(ctx, kaon_matrix_create_csr(ctx, &arrays, NULL, &matrix));
  return matrix;
}

static void solve_one(kaon_matrix *matrix, kaon_method method, kaon_precision sloppy, int n) {
  kaon_operator *A = NULL, *K = NULL;
  kaon_solver *solver = NULL;
  kaon_vector *b = NULL, *x = NULL;
  double ones[SITES];
  kaon_solver_options o = KAON_SOLVER_OPTIONS_INIT;
  for (int i = 0; i < n; i++) ones[i] = 1;
  must(ctx, kaon_matrix_operator(matrix, NULL, &A));
  o.method = method;
  o.max_iterations = 200;
  o.sloppy = sloppy;
  for (int with = 0; with < 2; with++) {
    if (with) must(ctx, kaon_precond_jacobi(A, &K));
    o.preconditioner = K;
    const kaon_status made = kaon_solver_create(A, 1, &o, &solver);
    if (made != KAON_OK) continue; /* not every method has a preconditioner, or half precision */
    must(ctx, kaon_vector_create(ctx, kaon_matrix_space(matrix), KAON_DOUBLE, 1, &b));
    must(ctx, kaon_vector_create(ctx, kaon_matrix_space(matrix), KAON_DOUBLE, 1, &x));
    must(ctx, kaon_vector_import(b, 0, ones, KAON_BASIS_UKQCD));
    must(ctx, kaon_solver_solve(solver, b, x, NULL, NULL));
    traps_are_as_they_were();
    kaon_vector_destroy(&b);
    kaon_vector_destroy(&x);
    kaon_solver_destroy(&solver);
  }
  kaon_operator_destroy(&K);
  kaon_operator_destroy(&A);
}

/* A diagonal matrix, whose residual is 0 at once, and one that needs steps. */
static void matrices_are_solved(void **state) {
  (void)state;
  static const double beside[] = {0, -1};
  for (int i = 0; i < 2; i++)
    for (int n = 1; n <= SITES; n += SITES - 1) {
      kaon_matrix *matrix = chain(n, beside[i]);
      for (int m = KAON_CG; m <= KAON_RICHARDSON; m++)
        for (int p = KAON_DOUBLE; p <= KAON_HALF; p++)
          solve_one(matrix, (kaon_method)m, (kaon_precision)p, n);
      kaon_matrix_destroy(&matrix);
    }
}

/* One clover system on 4^3x8, with M or its even-odd reduction; b is given or 0. */
static void invert_one(kaon_operator *A, const kaon_vector *b, kaon_vector *x,
                       kaon_precision sloppy, kaon_stop stop) {
  kaon_solver_options o = KAON_SOLVER_OPTIONS_INIT;
  kaon_solver *solver = NULL;
  o.method = KAON_CGNR;
  o.sloppy = sloppy;
  o.stop = stop;
  must(ctx, kaon_solver_create(A, 1, &o, &solver));
  must(ctx, kaon_vector_zero(x));
  must(ctx, kaon_solver_solve(solver, b, x, NULL, NULL));
  traps_are_as_they_were();
  kaon_solver_destroy(&solver);
}

static void propagators_are_solved(void **state) {
  (void)state;
  const int extents[4] = {4, 4, 4, 8};
  kaon_lattice *lattice = NULL;
  kaon_gauge *gauge = NULL;
  kaon_operator *M = NULL, *schur = NULL;
  kaon_vector *b = NULL, *x = NULL;
  kaon_dirac_options o = KAON_DIRAC_OPTIONS_INIT;
  o.csw = 1;
  must(ctx, kaon_lattice_create(ctx, extents, KAON_ANTIPERIODIC, &lattice));
  must(ctx, kaon_gauge_create(lattice, KAON_DOUBLE, KAON_RECONSTRUCT_18, &gauge));
  must(ctx, kaon_gauge_weak(gauge, 0.3, 1));
  must(ctx, kaon_dirac_create(gauge, &o, &M));
  must(ctx, kaon_dirac_even_odd(M, NULL, &schur));
  const kaon_space *space = kaon_lattice_spinors(lattice, KAON_FULL);
  must(ctx, kaon_vector_create(ctx, space, KAON_DOUBLE, 1, &b));
  must(ctx, kaon_vector_create(ctx, space, KAON_DOUBLE, 1, &x));
  for (int given = 0; given < 2; given++) {
    if (given) must(ctx, kaon_source_z4(b, 1));
    for (int p = KAON_DOUBLE; p <= KAON_HALF; p++) {
      invert_one(M, b, x, (kaon_precision)p, KAON_STOP_FULL);
      invert_one(schur, b, x, (kaon_precision)p, KAON_STOP_FULL);
      invert_one(schur, b, x, (kaon_precision)p, KAON_STOP_NORMAL);
    }
  }
  kaon_vector_destroy(&x);
  kaon_vector_destroy(&b);
  kaon_operator_destroy(&schur);
  kaon_operator_destroy(&M);
  kaon_gauge_destroy(&gauge);
  kaon_lattice_destroy(&lattice);
}

/* Squares of the second column underflow, which the solver finds by scaling it with a power of 2.
 */
static void lost_squares_are_refused(void **state) {
  (void)state;
  const double large[3] = {1e150, 1, 1}, lost[3] = {1e-200, 0, 0};
  kaon_matrix *matrix = chain(3, -1);
  kaon_operator *A = NULL;
  kaon_solver *solver = NULL;
  kaon_vector *b = NULL, *x = NULL;
  kaon_solver_options o = KAON_SOLVER_OPTIONS_INIT;
  o.method = KAON_CG;
  must(ctx, kaon_matrix_operator(matrix, NULL, &A));
  must(ctx, kaon_solver_create(A, 2, &o, &solver));
  must(ctx, kaon_vector_create(ctx, kaon_matrix_space(matrix), KAON_DOUBLE, 2, &b));
  must(ctx, kaon_vector_create(ctx, kaon_matrix_space(matrix), KAON_DOUBLE, 2, &x));
  must(ctx, kaon_vector_import(b, 0, large, KAON_BASIS_UKQCD));
  must(ctx, kaon_vector_import(b, 1, lost, KAON_BASIS_UKQCD));
  assert_int_equal(kaon_solver_solve(solver, b, x, NULL, NULL), KAON_ERR_NOT_FINITE);
  traps_are_as_they_were();
  kaon_vector_destroy(&b);
  kaon_vector_destroy(&x);
  kaon_solver_destroy(&solver);
  kaon_operator_destroy(&A);
  kaon_matrix_destroy(&matrix);
}

/* Squares overflow in threads that were started with traps enabled; and b = 0 for the solver as an
 * operator. */
static void teams_do_not_trap(void **state) {
  (void)state;
  enum { ROWS = 40000 };
  kaon_matrix *matrix = NULL;
  kaon_operator *A = NULL, *inverse = NULL;
  kaon_solver *solver = NULL;
  kaon_vector *b = NULL, *x = NULL;
  double *large = malloc(ROWS * sizeof *large);
  kaon_solver_options o = KAON_SOLVER_OPTIONS_INIT;
  o.method = KAON_CG;
  for (int i = 0; i < ROWS; i++) large[i] = 1e160;
  must(ctx, kaon_matrix_generate(ctx, "laplace2d:200", NULL, &matrix, NULL));
  must(ctx, kaon_matrix_operator(matrix, NULL, &A));
  must(ctx, kaon_vector_create(ctx, kaon_matrix_space(matrix), KAON_DOUBLE, 1, &b));
  must(ctx, kaon_vector_create(ctx, kaon_matrix_space(matrix), KAON_DOUBLE, 1, &x));
  must(ctx, kaon_vector_import(b, 0, large, KAON_BASIS_UKQCD));
  must(ctx, kaon_solver_create(A, 1, &o, &solver));
  assert_int_equal(kaon_solver_solve(solver, b, x, NULL, NULL), KAON_ERR_NOT_FINITE);
  traps_are_as_they_were();
  kaon_solver_destroy(&solver);
  o.tol = 0;
  o.max_iterations = 3;
  must(ctx, kaon_solver_create(A, 1, &o, &solver));
  must(ctx, kaon_solver_as_operator(solver, &inverse));
  must(ctx, kaon_vector_zero(b));
  must(ctx, kaon_operator_apply(inverse, KAON_PLAIN, b, x));
  traps_are_as_they_were();
  kaon_operator_destroy(&inverse);
  kaon_solver_destroy(&solver);
  kaon_vector_destroy(&b);
  kaon_vector_destroy(&x);
  kaon_operator_destroy(&A);
  kaon_matrix_destroy(&matrix);
  free(large);
}

static void shifts_are_solved(void **state) {
  (void)state;
  const double sigma[2] = {0, 0.5}, ones[SITES] = {1};
  for (int i = 0; i < 2; i++) {
    kaon_matrix *matrix = chain(SITES, -i);
    kaon_operator *A = NULL;
    kaon_multishift *solver = NULL;
    kaon_vector *b = NULL, *x = NULL;
    must(ctx, kaon_matrix_operator(matrix, NULL, &A));
    must(ctx, kaon_multishift_create(A, 2, sigma, NULL, &solver));
    must(ctx, kaon_vector_create(ctx, kaon_matrix_space(matrix), KAON_DOUBLE, 1, &b));
    must(ctx, kaon_vector_create(ctx, kaon_matrix_space(matrix), KAON_DOUBLE, 2, &x));
    must(ctx, kaon_vector_import(b, 0, ones, KAON_BASIS_UKQCD));
    must(ctx, kaon_multishift_solve(solver, b, x, NULL, NULL));
    traps_are_as_they_were();
    kaon_vector_destroy(&b);
    kaon_vector_destroy(&x);
    kaon_multishift_destroy(&solver);
    kaon_operator_destroy(&A);
    kaon_matrix_destroy(&matrix);
  }
}

/* A field of 3x3 matrices, c on the diagonal, which need not be SU(3). */
static kaon_gauge *diagonal_links(kaon_lattice *lattice, double c, kaon_precision precision) {
  const size_t links = (size_t)4 * 4 * 4 * 8 * 4;
  double *numbers = calloc(links, 18 * sizeof *numbers);
  const void *arrays[1] = {numbers};
  kaon_gauge *gauge = NULL;
  for (size_t i = 0; i < links; i++)
    for (int j = 0; j < 3; j++) numbers[18 * i + 8 * (size_t)j] = c;
  must(ctx, kaon_gauge_create(lattice, precision, KAON_RECONSTRUCT_18, &gauge));
  must(ctx, kaon_gauge_import_matrices(gauge, KAON_ORDER_NATURAL, KAON_DOUBLE, arrays));
  free(numbers);
  traps_are_as_they_were();
  return gauge;
}

/* Links that are refused, or found not to be SU(3), are found by computing with them. */
static void odd_links_are_refused(void **state) {
  (void)state;
  static const double odd[] = {NAN, INFINITY, 1e200, 1e308, 1e-320, 0};
  static const kaon_reconstruct kept[] = {KAON_RECONSTRUCT_18, KAON_RECONSTRUCT_12};
  enum { NUMBERS = 4 * 4 * 4 * 8 * 72 };
  const int extents[4] = {4, 4, 4, 8};
  kaon_lattice *lattice = NULL;
  double *numbers = malloc(NUMBERS * sizeof *numbers);
  const void *arrays[1] = {numbers};
  must(ctx, kaon_lattice_create(ctx, extents, KAON_PERIODIC, &lattice));
  for (int i = 0; i < 6; i++)
    for (int k = 0; k < 2; k++)
      for (int p = KAON_DOUBLE; p <= KAON_HALF; p++) {
        kaon_gauge *gauge = NULL;
        for (int n = 0; n < NUMBERS; n++) numbers[n] = odd[i];
        must(ctx, kaon_gauge_create(lattice, (kaon_precision)p, kept[k], &gauge));
        const kaon_status status =
            kaon_gauge_import(gauge, KAON_ORDER_NATURAL, KAON_DOUBLE, arrays);
        assert_true(status == KAON_ERR_NOT_FINITE || status == KAON_ERR_UNITARITY);
        traps_are_as_they_were();
        kaon_gauge_destroy(&gauge);
      }
  kaon_lattice_destroy(&lattice);
  free(numbers);
}

/* Everything computed from links: entries are 0, beyond float's range, or so large that products
 * of a few overflow double. */
static void links_of_any_size_are_computed_with(void **state) {
  (void)state;
  static const double size[] = {0, 1e-200, 1e30, 1e45};
  const int extents[4] = {4, 4, 4, 8};
  kaon_lattice *lattice = NULL;
  kaon_observables seen = KAON_OBSERVABLES_INIT;
  kaon_heatbath_options sweep = KAON_HEATBATH_OPTIONS_INIT;
  const kaon_fatten_coefficients unit = {1, 1, 1, 1, 1, 1};
  must(ctx, kaon_lattice_create(ctx, extents, KAON_PERIODIC, &lattice));
  for (int i = 0; i < 4; i++) {
    kaon_gauge *gauge = diagonal_links(lattice, size[i], KAON_DOUBLE), *other = NULL, *naik = NULL;
    must(ctx, kaon_gauge_create(lattice, KAON_SINGLE, KAON_RECONSTRUCT_18, &other));
    must(ctx, kaon_gauge_create(lattice, KAON_SINGLE, KAON_RECONSTRUCT_18, &naik));
    must(ctx, kaon_gauge_measure(gauge, &seen));
    traps_are_as_they_were();
    must(ctx, kaon_gauge_copy(other, gauge));
    traps_are_as_they_were();
    must(ctx, kaon_gauge_temporal(other, gauge));
    traps_are_as_they_were();
    (void)kaon_fatten(gauge, NULL, other, naik, NULL); /* u0 may have none */
    traps_are_as_they_were();
    must(ctx, kaon_fatten_paths(gauge, &unit, other, naik, NULL));
    traps_are_as_they_were();
    must(ctx, kaon_gauge_heatbath(gauge, &sweep, 1));
    traps_are_as_they_were();
    must(ctx, kaon_gauge_project(gauge));
    traps_are_as_they_were();
    kaon_gauge_destroy(&gauge);
    gauge = diagonal_links(lattice, size[i], KAON_DOUBLE);
    must(ctx, kaon_fatten_unitarise(gauge, NULL, NULL));
    traps_are_as_they_were();
    kaon_gauge_destroy(&naik);
    kaon_gauge_destroy(&other);
    kaon_gauge_destroy(&gauge);
  }
  kaon_lattice_destroy(&lattice);
}

/* Clover blocks from links of such sizes, inverted, and staggered operators, which store the
 * largest entry. */
static void operators_are_made_of_them(void **state) {
  (void)state;
  static const double size[] = {0, 1e-200, 1e30, 1e45};
  const int extents[4] = {4, 4, 4, 8};
  kaon_lattice *lattice = NULL;
  kaon_dirac_options clover = KAON_DIRAC_OPTIONS_INIT;
  kaon_staggered_options staggered = KAON_STAGGERED_OPTIONS_INIT;
  clover.csw = 1;
  staggered.mass = 0.1;
  must(ctx, kaon_lattice_create(ctx, extents, KAON_PERIODIC, &lattice));
  for (int i = 0; i < 4; i++)
    for (int p = KAON_DOUBLE; p <= KAON_HALF; p++) {
      kaon_gauge *gauge = diagonal_links(lattice, size[i], KAON_DOUBLE);
      kaon_operator *M = NULL, *schur = NULL;
      double logdet;
      int64_t negative;
      clover.precision = staggered.precision = (kaon_precision)p;
      if (kaon_dirac_create(gauge, &clover, &M) == KAON_OK) {
        traps_are_as_they_were();
        (void)kaon_dirac_even_odd(M, NULL, &schur);
        traps_are_as_they_were();
        (void)kaon_dirac_clover_logdet(M, KAON_FULL, &logdet, &negative);
      }
      traps_are_as_they_were();
      kaon_operator_destroy(&schur);
      kaon_operator_destroy(&M);
      (void)kaon_staggered_create(gauge, gauge, &staggered, &M);
      traps_are_as_they_were();
      kaon_operator_destroy(&M);
      kaon_gauge_destroy(&gauge);
    }
  kaon_lattice_destroy(&lattice);
}

int main(void) {
  if (feenableexcept(0) < 0) { /* this processor cannot */
    printf("traps: not on this processor, skipped\n");
    return TEST_SKIPPED;
  }
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(matrices_are_solved),
      cmocka_unit_test(propagators_are_solved),
      cmocka_unit_test(lost_squares_are_refused),
      cmocka_unit_test(teams_do_not_trap),
      cmocka_unit_test(shifts_are_solved),
      cmocka_unit_test(odd_links_are_refused),
      cmocka_unit_test(links_of_any_size_are_computed_with),
      cmocka_unit_test(operators_are_made_of_them),
  };
  return test_main(tests, set_up, tear_down);
}
