/* test_scaling.c - right-hand sides far from 1. If b is multiplied by a power of 2, x is too, with
 * the same bits, steps and residuals, for every precision and method. Numbers that double cannot
 * hold are refused. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/util/test_util.h"

enum { ROWS = 144, COLUMNS = 3, HISTORY = 4096 };

static kaon_context *ctx;
static const int powers[] = {-400, -166, -90, 0, 90, 130, 400};
enum { POWERS = 7, ORDINARY = 3 };

static int set_up(void **state) {
  (void)state;
  return kaon_context_create(NULL, &ctx) != KAON_OK;
}

static int tear_down(void **state) {
  (void)state;
  kaon_context_destroy(&ctx);
  return 0;
}

/* What a solve reported to its monitor. */
typedef struct history {
  double residual[HISTORY];
  int count;
} history;

static int note(void *user, int iteration, int column, double residual) {
  history *h = user;
  (void)iteration;
  if (column == 0 && h->count < HISTORY) h->residual[h->count++] = residual;
  return 0;
}

typedef struct outcome {
  double *x;
  kaon_column_report reports[COLUMNS];
  history seen;
} outcome;

/* Column k of b is a random one times 2^power, but column 1, which stays; so is the guess. */
static void import(kaon_vector *v, int numbers, double size, uint64_t seed, int power) {
  double *host = malloc((size_t)numbers * sizeof *host);
  for (int k = 0; k < COLUMNS; k++) {
    for (int i = 0; i < numbers; i++)
      host[i] = ldexp(size * test_uniform(&seed), k == 1 ? 0 : power);
    must(ctx, kaon_vector_import(v, k, host, KAON_BASIS_UKQCD));
  }
  free(host);
}

static void run(kaon_operator *A, const kaon_space *space, int numbers, kaon_solver_options o,
                double guess, int power, outcome *out) {
  kaon_solver *solver = NULL;
  kaon_vector *b = NULL, *x = NULL;
  memset(&out->seen, 0, sizeof out->seen);
  o.monitor = note;
  o.monitor_user = &out->seen;
  must(ctx, kaon_solver_create(A, COLUMNS, &o, &solver));
  must(ctx, kaon_vector_create(ctx, space, KAON_DOUBLE, COLUMNS, &b));
  must(ctx, kaon_vector_create(ctx, space, KAON_DOUBLE, COLUMNS, &x));
  import(b, numbers, 1, 5, power);
  import(x, numbers, guess, 6, power);
  must(ctx, kaon_solver_solve(solver, b, x, out->reports, NULL));
  for (int k = 0; k < COLUMNS; k++) {
    must(ctx, kaon_vector_export(x, k, out->x + k * numbers, KAON_BASIS_UKQCD));
    for (int i = 0; k != 1 && i < numbers; i++)
      out->x[k * numbers + i] = ldexp(out->x[k * numbers + i], -power);
  }
  kaon_vector_destroy(&x);
  kaon_vector_destroy(&b);
  kaon_solver_destroy(&solver);
}

static void same_for_all_powers(kaon_operator *A, const kaon_space *space, int numbers,
                                kaon_solver_options o, double guess) {
  outcome out[2];
  for (int i = 0; i < 2; i++) out[i].x = malloc((size_t)(COLUMNS * numbers) * sizeof(double));
  run(A, space, numbers, o, guess, powers[ORDINARY], &out[0]);
  for (int k = 0; k < COLUMNS; k++) assert_int_equal(out[0].reports[k].reason, KAON_CONVERGED);
  for (int p = 0; p < POWERS; p++) {
    run(A, space, numbers, o, guess, powers[p], &out[1]);
    assert_memory_equal(out[0].x, out[1].x, (size_t)(COLUMNS * numbers) * sizeof(double));
    assert_int_equal(out[0].seen.count, out[1].seen.count);
    assert_memory_equal(out[0].seen.residual, out[1].seen.residual,
                        (size_t)out[0].seen.count * sizeof(double));
    for (int k = 0; k < COLUMNS; k++) {
      const kaon_column_report *a = &out[0].reports[k], *b = &out[1].reports[k];
      assert_int_equal(a->reason, b->reason);
      assert_int_equal(a->iterations, b->iterations);
      assert_true(a->residual == b->residual && a->stop_residual == b->stop_residual);
    }
  }
  for (int i = 0; i < 2; i++) free(out[i].x);
}

static void matrices_do_not_see_powers_of_two(void **state) {
  (void)state;
  static const kaon_method methods[] = {KAON_CG,           KAON_CGNR, KAON_BICGSTAB, KAON_RBICGSTAB,
                                        KAON_PIPEBICGSTAB, KAON_GCR,  KAON_PIPECG,   KAON_BLOCKCG};
  kaon_matrix *matrix = NULL;
  kaon_operator *A = NULL, *K = NULL;
  must(ctx, kaon_matrix_generate(ctx, "laplace2d:12", NULL, &matrix, NULL));
  must(ctx, kaon_matrix_operator(matrix, NULL, &A));
  must(ctx, kaon_precond_jacobi(A, &K));
  for (int m = 0; m < 8; m++)
    for (int p = KAON_DOUBLE; p <= KAON_HALF; p++)
      for (int with = 0; with < 2; with++) {
        kaon_solver_options o = KAON_SOLVER_OPTIONS_INIT;
        kaon_solver *solver = NULL;
        o.method = methods[m];
        o.sloppy = (kaon_precision)p;
        o.tol = 1e-9;
        o.preconditioner = with ? K : NULL;
        if (kaon_solver_create(A, COLUMNS, &o, &solver) != KAON_OK) continue; /* not offered */
        kaon_solver_destroy(&solver);
        same_for_all_powers(A, kaon_matrix_space(matrix), ROWS, o, with);
      }
  kaon_operator_destroy(&K);
  kaon_operator_destroy(&A);
  kaon_matrix_destroy(&matrix);
}

static void reduced_systems_do_not_either(void **state) {
  (void)state;
  const int extents[4] = {4, 4, 2, 4};
  enum { NUMBERS = 4 * 4 * 2 * 4 * 24 };
  kaon_lattice *lattice = NULL;
  kaon_gauge *gauge = NULL;
  kaon_operator *M = NULL, *schur = NULL;
  kaon_dirac_options d = KAON_DIRAC_OPTIONS_INIT;
  d.csw = 1;
  must(ctx, kaon_lattice_create(ctx, extents, KAON_ANTIPERIODIC, &lattice));
  must(ctx, kaon_gauge_create(lattice, KAON_DOUBLE, KAON_RECONSTRUCT_18, &gauge));
  must(ctx, kaon_gauge_weak(gauge, 0.3, 1));
  must(ctx, kaon_dirac_create(gauge, &d, &M));
  must(ctx, kaon_dirac_even_odd(M, NULL, &schur));
  for (int p = KAON_DOUBLE; p <= KAON_HALF; p++)
    for (int stop = KAON_STOP_FULL; stop <= KAON_STOP_NORMAL; stop++) {
      kaon_solver_options o = KAON_SOLVER_OPTIONS_INIT;
      o.method = KAON_CGNR;
      o.sloppy = (kaon_precision)p;
      o.stop = (kaon_stop)stop;
      o.tol = 1e-9;
      same_for_all_powers(schur, kaon_lattice_spinors(lattice, KAON_FULL), NUMBERS, o, 0);
    }
  kaon_operator_destroy(&schur);
  kaon_operator_destroy(&M);
  kaon_gauge_destroy(&gauge);
  kaon_lattice_destroy(&lattice);
}

enum { SHIFTS = 2 };

static void run_shifts(kaon_matrix *matrix, kaon_operator *A, kaon_multishift_options o, int power,
                       outcome *out) {
  static const double sigma[SHIFTS] = {0, 0.5};
  kaon_multishift *solver = NULL;
  kaon_vector *b = NULL, *x = NULL;
  kaon_column_report reports[SHIFTS * COLUMNS];
  must(ctx, kaon_multishift_create(A, SHIFTS, sigma, &o, &solver));
  must(ctx, kaon_vector_create(ctx, kaon_matrix_space(matrix), KAON_DOUBLE, COLUMNS, &b));
  must(ctx, kaon_vector_create(ctx, kaon_matrix_space(matrix), KAON_DOUBLE, SHIFTS * COLUMNS, &x));
  import(b, ROWS, 1, 5, power);
  must(ctx, kaon_multishift_solve(solver, b, x, reports, NULL));
  for (int m = 0; m < SHIFTS * COLUMNS; m++) {
    assert_int_equal(reports[m].reason, KAON_CONVERGED);
    out->seen.residual[2 * m] = reports[m].residual;
    out->seen.residual[2 * m + 1] = reports[m].iterations;
    must(ctx, kaon_vector_export(x, m, out->x + m * ROWS, KAON_BASIS_UKQCD));
    for (int i = 0; m % COLUMNS != 1 && i < ROWS; i++)
      out->x[m * ROWS + i] = ldexp(out->x[m * ROWS + i], -power);
  }
  kaon_vector_destroy(&x);
  kaon_vector_destroy(&b);
  kaon_multishift_destroy(&solver);
}

static void shifts_do_not_either(void **state) {
  (void)state;
  enum { NUMBERS = SHIFTS * COLUMNS * ROWS };
  kaon_matrix *matrix = NULL;
  kaon_operator *A = NULL;
  outcome out[2];
  for (int i = 0; i < 2; i++) out[i].x = malloc(NUMBERS * sizeof(double));
  must(ctx, kaon_matrix_generate(ctx, "laplace2d:12", NULL, &matrix, NULL));
  must(ctx, kaon_matrix_operator(matrix, NULL, &A));
  for (int p = KAON_DOUBLE; p <= KAON_HALF; p++)
    for (int i = 0; i < POWERS; i++) {
      kaon_multishift_options o = KAON_MULTISHIFT_OPTIONS_INIT;
      o.sloppy = (kaon_precision)p;
      o.tol = 1e-9;
      if (i == 0) run_shifts(matrix, A, o, powers[ORDINARY], &out[0]);
      run_shifts(matrix, A, o, powers[i], &out[1]);
      assert_memory_equal(out[0].x, out[1].x, NUMBERS * sizeof(double));
      assert_memory_equal(out[0].seen.residual, out[1].seen.residual,
                          2 * SHIFTS * COLUMNS * sizeof(double));
    }
  for (int i = 0; i < 2; i++) free(out[i].x);
  kaon_operator_destroy(&A);
  kaon_matrix_destroy(&matrix);
}

/* A = a, b = the vector of these, one row. The status, and x. */
static kaon_status solve_number(double a, double b, kaon_precision sloppy, double *x) {
  const int64_t zero = 0;
  const kaon_triplet_arrays arrays = {.global_rows = 1,
                                      .rows = 1,
                                      .reals = 1,
                                      .entries = 1,
                                      .row = &zero,
                                      .column = &zero,
                                      .values = &a};
  kaon_matrix *matrix = NULL;
  kaon_operator *A = NULL;
  kaon_solver *solver = NULL;
  kaon_vector *source = NULL, *solution = NULL;
  kaon_column_report report;
  kaon_solver_options o = KAON_SOLVER_OPTIONS_INIT;
  o.method = KAON_CG;
  o.sloppy = sloppy;
  must(ctx, kaon_matrix_create_triplets(ctx, &arrays, NULL, &matrix));
  must(ctx, kaon_matrix_operator(matrix, NULL, &A));
  must(ctx, kaon_solver_create(A, 1, &o, &solver));
  must(ctx, kaon_vector_create(ctx, kaon_matrix_space(matrix), KAON_DOUBLE, 1, &source));
  must(ctx, kaon_vector_create(ctx, kaon_matrix_space(matrix), KAON_DOUBLE, 1, &solution));
  must(ctx, kaon_vector_import(source, 0, &b, KAON_BASIS_UKQCD));
  const kaon_status status = kaon_solver_solve(solver, source, solution, &report, NULL);
  if (status == KAON_OK) assert_int_equal(report.reason, KAON_CONVERGED);
  must(ctx, kaon_vector_export(solution, 0, x, KAON_BASIS_UKQCD));
  kaon_vector_destroy(&solution);
  kaon_vector_destroy(&source);
  kaon_solver_destroy(&solver);
  kaon_operator_destroy(&A);
  kaon_matrix_destroy(&matrix);
  return status;
}

/* x beside 1e154 and 1e-162, whose squares leave double, and beside double itself. */
static void solutions_are_held_or_refused(void **state) {
  (void)state;
  static const struct {
    double a, b, x; /* x = 0: refused */
  } cases[] = {{1e-100, 1e100, 1e200},  {1e-140, 1e140, 1e280},  {1e-180, 1e140, 0},
               {1e100, 1e-100, 1e-200}, {1e140, 1e-135, 1e-275}, {1e180, 1e-135, 0}};
  for (int i = 0; i < 6; i++) {
    double x;
    const kaon_status status = solve_number(cases[i].a, cases[i].b, KAON_DOUBLE, &x);
    assert_int_equal(status, cases[i].x == 0 ? KAON_ERR_NOT_FINITE : KAON_OK);
    if (status == KAON_OK) assert_true(fabs(x / cases[i].x - 1) < 1e-8);
    if (status != KAON_OK) printf("  %s\n", kaon_last_error(ctx));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(matrices_do_not_see_powers_of_two),
      cmocka_unit_test(reduced_systems_do_not_either),
      cmocka_unit_test(shifts_do_not_either),
      cmocka_unit_test(solutions_are_held_or_refused),
  };
  return test_main(tests, set_up, tear_down);
}
