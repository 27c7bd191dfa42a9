/* test_kaczmarz.c - sweeps of row projections. Every kind of sweep equals the reference's; the
 * reduced operators are Hermitian and positive; solves reach the true residual whatever the other
 * columns do; impossible requests are refused by name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sparse/order/sweep_order.h"
#include "tests/util/machine.h"
#include "tests/util/sweep_case.h"
#include "tests/util/test_util.h"

static kaon_context *open_machine(int machine, int threads) {
  kaon_context_options options = KAON_CONTEXT_OPTIONS_INIT;
  kaon_context *ctx = NULL;
  options.threads = threads;
  options.check = machine != MACHINE_CUDA && threads == 3; /* guard pages, poisoned memory */
  must(NULL, machine_open(machine, options, &ctx));
  return ctx;
}

static double size_of(size_t n, const ref_complex *x) {
  double sum = 0;
  for (size_t i = 0; i < n; i++) sum += creal(x[i]) * creal(x[i]) + cimag(x[i]) * cimag(x[i]);
  return sqrt(sum);
}

/* ---- sweeps ---- */

typedef struct trial {
  const char *name;
  kaon_kaczmarz_kind kind;
  kaon_sweep_order order;
  int blocks, colour;
  kaon_carp_rows block_rows;
} trial;

static const trial trials[] = {
    {"one sweep", KAON_KACZMARZ_SWEEP, KAON_SWEEP_ROWS, 0, 0, 0},
    {"rows", KAON_KACZMARZ_DOUBLE, KAON_SWEEP_ROWS, 0, 0, 0},
    {"random", KAON_KACZMARZ_DOUBLE, KAON_SWEEP_RANDOM, 0, 0, 0},
    {"permuted", KAON_KACZMARZ_DOUBLE, KAON_SWEEP_PERMUTATION, 0, 0, 0},
    {"sections", KAON_KACZMARZ_DOUBLE, KAON_SWEEP_SECTIONS, 0, 0, 0},
    {"colours", KAON_KACZMARZ_DOUBLE, KAON_SWEEP_COLOURS, 0, 0, 0},
    {"groups", KAON_KACZMARZ_DOUBLE, KAON_SWEEP_GROUPS, 0, 0, 0},
    {"strides", KAON_KACZMARZ_DOUBLE, KAON_SWEEP_STRIDES, 0, 0, 0},
    {"blocks", KAON_KACZMARZ_CARP, KAON_SWEEP_ROWS, 5, 0, KAON_CARP_NEAR},
    {"blocks by number", KAON_KACZMARZ_CARP, KAON_SWEEP_ROWS, 5, 0, KAON_CARP_CONSECUTIVE},
    {"blocks of a row", KAON_KACZMARZ_CARP, KAON_SWEEP_ROWS, -1, 0, KAON_CARP_NEAR},
    {"blocks by colour", KAON_KACZMARZ_CARP, KAON_SWEEP_ROWS, 5, 1, KAON_CARP_NEAR},
    {"blocks, permuted", KAON_KACZMARZ_CARP, KAON_SWEEP_PERMUTATION, 5, 0, KAON_CARP_NEAR},
    {"both", KAON_KACZMARZ_CARP, KAON_SWEEP_PERMUTATION, 5, 1, KAON_CARP_NEAR},
    {"cimmino", KAON_KACZMARZ_CIMMINO, KAON_SWEEP_ROWS, 0, 0, 0}};
enum { TRIALS = sizeof trials / sizeof *trials, MOST_ROWS = 2900 };

/* Points on a line, into sections of which banded rows fall. Every row occurs once, because the
 * number of rows is not a multiple of the prime. */
static kaon_kaczmarz_options options_of(const trial *t, size_t rows) {
  static double points[MOST_ROWS];
  static int32_t permutation[MOST_ROWS];
  for (size_t i = 0; i < rows; i++) {
    points[i] = (double)i;
    permutation[i] = (int32_t)(i * 7919 % rows);
  }
  kaon_kaczmarz_options o = with_order(t->order, permutation, points);
  o.dimensions = 1;
  o.kind = t->kind;
  o.lambda = t->kind == KAON_KACZMARZ_CIMMINO ? 0.2 : 0.9;
  o.blocks = t->blocks < 0 ? (int)rows : t->blocks;
  o.colour = t->colour;
  o.block_rows = t->block_rows;
  return o;
}

/* The caller's rows in the order of the sweep, from the library's own list; test_sweep_orders.c
 * checks which rows may be exchanged. */
static void order_of(kaon_matrix *matrix, const trial *t, const kaon_kaczmarz_options *options,
                     int64_t *order) {
  kaon_kaczmarz_options o = *options;
  kaon_sweep_rows *rows = NULL;
  if (t->kind == KAON_KACZMARZ_CARP)
    must(NULL, kaon_sweep_rows_blocks(matrix, &o, &rows));
  else
    must(NULL, kaon_sweep_rows_create(matrix, &o, &rows));
  for (int64_t i = 0; i < rows->rows; i++)
    order[i] = matrix->order != NULL ? matrix->order[rows->row[i]] : rows->row[i];
  kaon_sweep_rows_destroy(&rows);
}

/* A projection never increases distances, and rounds by (k + 4) epsilon of what it reads, with k
 * entries a row. The n rows of a sweep read s |x|^2 in total squares, with s rows a column at
 * most, so errors add up to (k + 4) epsilon (n s)^1/2 |x|, and to as much again for b. */
static double bound_of(size_t rows, int sweeps, kaon_precision precision) {
  const double epsilon = precision == KAON_DOUBLE ? 0x1p-53 : 0x1p-24;
  return 2 * sweeps * (12 + 4) * epsilon * sqrt(32 * (double)rows);
}

typedef struct fixture {
  kaon_context *ctx;
  const ref_sparse *a;
  kaon_matrix *matrix;
  kaon_operator *A;
  int reals, columns;
} fixture;

/* `times` double sweeps for column k's b from 0 by the preconditioner, and x - Q x by the reduced
 * operator, in the unknowns x. */
static double compare(const fixture *t, const trial *how) {
  const size_t n = t->a->rows;
  const kaon_kaczmarz_options o = options_of(how, n);
  static const int kinds[] = {REF_SINGLE_SWEEP, REF_DOUBLE_SWEEP, REF_BLOCK_SWEEPS, REF_ALL_ROWS};
  int64_t *order = malloc(n * sizeof *order);
  kaon_operator *R = NULL, *K = NULL;
  kaon_vector *b = sparse_vector(t->A, t->columns), *x = sparse_vector(t->A, t->columns);
  kaon_vector *y = sparse_vector(t->A, t->columns), *z = sparse_vector(t->A, t->columns);
  double worst = 0;
  order_of(t->matrix, how, &o, order);
  ref_projection p = {.lambda = o.lambda, .order = order, .blocks = (size_t)o.blocks};
  memcpy(&p.kind, &kinds[how->kind], sizeof p.kind);
  must(t->ctx, kaon_kaczmarz_reduce(t->A, &o, &R));
  must(t->ctx, kaon_kaczmarz_preconditioner(t->A, &o, 2, &K));
  for (int k = 0; k < t->columns; k++) {
    ref_complex *from = sparse_random(n, t->reals, 100 + (uint64_t)k);
    sparse_import(b, k, n, from);
    free(from);
  }
  must(t->ctx, kaon_operator_apply(K, KAON_PLAIN, b, x));
  /* u = S^1/2 x of CARP by its own guess, and back by reconstruct */
  must(t->ctx, R->reduction->guess(R, x, y));
  must(t->ctx, kaon_operator_apply(R, KAON_PLAIN, y, z));
  must(t->ctx, kaon_operator_reconstruct(R, z, b, y));
  for (int k = 0; k < t->columns; k++) {
    ref_complex *right = sparse_random(n, t->reals, 100 + (uint64_t)k);
    ref_complex *want = calloc(n, sizeof *want), *got = calloc(n, sizeof *got);
    for (int i = 0; i < 2; i++) ref_project(t->a, &p, right, want);
    sparse_export(x, k, n, got);
    const double size = size_of(n, got);
    for (size_t i = 0; i < n; i++) want[i] -= got[i];
    const double first = size_of(n, want) / size;
    memcpy(want, got, n * sizeof *want);
    ref_project(t->a, &p, NULL, want);
    for (size_t i = 0; i < n; i++) want[i] = got[i] - want[i];
    sparse_export(y, k, n, got);
    for (size_t i = 0; i < n; i++) want[i] -= got[i];
    const double second = size_of(n, want) / size;
    worst = larger(worst, fmax(first, second));
    assert_true(size > 0 && isfinite(size));
    free(right);
    free(want);
    free(got);
  }
  kaon_vector_destroy(&b);
  kaon_vector_destroy(&x);
  kaon_vector_destroy(&y);
  kaon_vector_destroy(&z);
  kaon_operator_destroy(&R);
  kaon_operator_destroy(&K);
  free(order);
  return worst;
}

static int has_sweeps(const kaon_context *ctx, kaon_precision precision) {
  return ctx->backend->sparse[precision] != NULL &&
         ctx->backend->sparse[precision]->project != NULL;
}

static void sweeps_equal_the_reference(void **state) {
  (void)state;
  for (int machine = KAON_ISA_SCALAR; machine <= MACHINE_LAST; machine++) {
    if (machine_lacks(machine)) continue;
    kaon_context *ctx = open_machine(machine, 3);
    for (int i = 0; i < 8; i++) {
      const kaon_precision precision = i % 2 ? KAON_SINGLE : KAON_DOUBLE;
      const int complex_values = i / 2 % 2, columns = i / 4 ? 3 : 1;
      const size_t rows = test_brief() ? 65
                          : i / 4      ? 333
                                       : MOST_ROWS; /* launches of these are shared */
      ref_sparse a = make_system(rows, complex_values, i / 2 % 2 != i / 4);
      fixture t = {.ctx = ctx, .a = &a, .reals = 1 + complex_values, .columns = columns};
      if (!has_sweeps(ctx, precision)) continue;
      t.matrix = sparse_matrix(ctx, &a, t.reals, NULL);
      t.A = sparse_operator(t.matrix, precision, KAON_STORE_AUTO);
      for (int k = 0; k < TRIALS; k++) {
        const double measured = compare(&t, &trials[k]);
        char what[96];
        snprintf(what, sizeof what, "%s %s %s x %d, %s", machine_name(machine),
                 precision == KAON_DOUBLE ? "double" : "single",
                 complex_values ? "complex" : "real", columns, trials[k].name);
        test_below(what, measured, bound_of(rows, 4, precision));
      }
      kaon_operator_destroy(&t.A);
      kaon_matrix_destroy(&t.matrix);
      ref_sparse_free(&a);
    }
    kaon_context_destroy(&ctx);
  }
}

/* ---- the reduction ---- */

static ref_complex product(size_t n, const ref_complex *x, const ref_complex *y) {
  ref_complex s = 0;
  for (size_t i = 0; i < n; i++) s += conj(x[i]) * y[i];
  return s;
}

/* For CARP in its own unknowns, whose plain inner product is the one weighted by copies. */
static void reductions_are_hermitian_and_positive(void **state) {
  (void)state;
  for (int machine = MACHINE_CPU; machine <= MACHINE_LAST; machine += MACHINE_CUDA - MACHINE_CPU) {
    if (machine_lacks(machine)) continue;
    kaon_context *ctx = open_machine(machine, 2);
    const size_t n = 333;
    for (int complex_values = 0; complex_values < 2 && has_sweeps(ctx, KAON_DOUBLE);
         complex_values++) {
      ref_sparse a = make_system(n, complex_values, 0);
      kaon_matrix *matrix = sparse_matrix(ctx, &a, 1 + complex_values, NULL);
      kaon_operator *A = sparse_operator(matrix, KAON_DOUBLE, KAON_STORE_AUTO);
      for (int k = 1; k < TRIALS; k++) {
        const kaon_kaczmarz_options o = options_of(&trials[k], n);
        kaon_operator *R = NULL;
        kaon_vector *v = sparse_vector(A, 1), *w = sparse_vector(A, 1);
        ref_complex *x = sparse_random(n, 1 + complex_values, 1), *Rx = calloc(n, sizeof *Rx);
        ref_complex *y = sparse_random(n, 1 + complex_values, 2), *Ry = calloc(n, sizeof *Ry);
        must(ctx, kaon_kaczmarz_reduce(A, &o, &R));
        sparse_import(v, 0, n, x);
        must(ctx, kaon_operator_apply(R, KAON_PLAIN, v, w));
        sparse_export(w, 0, n, Rx);
        sparse_import(v, 0, n, y);
        must(ctx, kaon_operator_apply(R, KAON_PLAIN, v, w));
        sparse_export(w, 0, n, Ry);
        const double size = size_of(n, x) * size_of(n, y);
        test_below(trials[k].name, cabs(product(n, x, Ry) - conj(product(n, y, Rx))) / size,
                   bound_of(n, 2, KAON_DOUBLE));
        assert_true(creal(product(n, x, Rx)) > 0);
        assert_true(size_of(n, Rx) <= size_of(n, x) * (1 + bound_of(n, 2, KAON_DOUBLE)));
        kaon_vector_destroy(&v);
        kaon_vector_destroy(&w);
        kaon_operator_destroy(&R);
        free(x);
        free(y);
        free(Rx);
        free(Ry);
      }
      kaon_operator_destroy(&A);
      kaon_matrix_destroy(&matrix);
      ref_sparse_free(&a);
    }
    kaon_context_destroy(&ctx);
  }
}

/* ---- solves ---- */

static double true_residual(const ref_sparse *a, const ref_complex *b, const ref_complex *x) {
  ref_complex *r = calloc(a->rows, sizeof *r);
  ref_sparse_apply(a, 0, x, r, NULL, NULL);
  for (size_t i = 0; i < a->rows; i++) r[i] = b[i] - r[i];
  const double residual = size_of(a->rows, r) / size_of(a->rows, b);
  free(r);
  return residual;
}

/* Columns of one solve against the same columns alone; from x0 = noise if `guess`. */
static void solve_columns(kaon_operator *A, const ref_sparse *a, int reals, const trial *how,
                          kaon_precision sloppy, int guess) {
  enum { COLUMNS = 3 };
  const size_t n = a->rows;
  const kaon_kaczmarz_options o = options_of(how, n);
  kaon_solver_options so = KAON_SOLVER_OPTIONS_INIT;
  kaon_operator *R = NULL;
  so.method = how->kind == KAON_KACZMARZ_SWEEP ? KAON_RICHARDSON : KAON_CG;
  so.tol = 1e-8;
  so.max_iterations = 20000;
  so.sloppy = sloppy;
  must(A->ctx, kaon_kaczmarz_reduce(A, &o, &R));
  int steps[COLUMNS];
  for (int columns = COLUMNS; columns >= 1; columns -= COLUMNS - 1) {
    kaon_solver *solver = NULL;
    kaon_column_report report[COLUMNS];
    kaon_vector *b = sparse_vector(A, columns), *x = sparse_vector(A, columns);
    for (int k = 0; k < columns; k++) {
      ref_complex *right = sparse_random(n, reals, 5 + (uint64_t)k);
      for (size_t i = 0; i < n && k == 1; i++) right[i] = i == 0; /* another count */
      sparse_import(b, k, n, right);
      if (guess) sparse_import(x, k, n, right);
      free(right);
    }
    must(A->ctx, kaon_solver_create(R, columns, &so, &solver));
    must(A->ctx, kaon_solver_solve(solver, b, x, report, NULL));
    for (int k = 0; k < columns; k++) {
      ref_complex *right = calloc(n, sizeof *right), *found = calloc(n, sizeof *found);
      sparse_export(b, k, n, right);
      sparse_export(x, k, n, found);
      if (report[k].reason != KAON_CONVERGED)
        print_message("%s: column %d: %s after %d steps, %.2e\n", how->name, k,
                      kaon_stop_reason_name(report[k].reason), report[k].iterations,
                      report[k].residual);
      assert_int_equal(report[k].reason, KAON_CONVERGED);
      const double residual = true_residual(a, right, found);
      test_below(how->name, residual, A->precision == KAON_DOUBLE ? 1.1e-8 : 3e-6);
      if (A->precision == KAON_DOUBLE)
        assert_true(fabs(residual - report[k].residual) <= 1e-12 + 1e-3 * residual);
      if (columns == COLUMNS)
        steps[k] = report[k].iterations;
      else
        assert_int_equal(report[k].iterations, steps[k]);
      free(right);
      free(found);
    }
    kaon_solver_destroy(&solver);
    kaon_vector_destroy(&b);
    kaon_vector_destroy(&x);
  }
  kaon_operator_destroy(&R);
}

static void solves_reach_the_true_residual(void **state) {
  (void)state;
  for (int machine = MACHINE_CPU; machine <= MACHINE_LAST; machine += MACHINE_CUDA - MACHINE_CPU) {
    if (machine_lacks(machine)) continue;
    kaon_context *ctx = open_machine(machine, 2);
    for (int i = 0; i < 3 && has_sweeps(ctx, KAON_DOUBLE); i++) {
      const int complex_values = i == 1;
      ref_sparse a = make_system(200, complex_values, 0);
      kaon_matrix *matrix = sparse_matrix(ctx, &a, 1 + complex_values, NULL);
      kaon_operator *A = sparse_operator(matrix, KAON_DOUBLE, KAON_STORE_AUTO);
      for (int k = 0; k < TRIALS; k++)
        solve_columns(A, &a, 1 + complex_values, &trials[k], i == 2 ? KAON_SINGLE : KAON_DOUBLE,
                      i == 1);
      kaon_operator_destroy(&A);
      kaon_matrix_destroy(&matrix);
      ref_sparse_free(&a);
    }
    kaon_context_destroy(&ctx);
  }
}

/* The same bits whatever the threads: of reductions in all orders. */
static void threads_change_no_bit(void **state) {
  (void)state;
  const size_t n = MOST_ROWS;
  ref_sparse a = make_system(n, 0, 1);
  for (int k = 0; k < TRIALS; k++) {
    ref_complex *x[2];
    for (int side = 0; side < 2; side++) {
      kaon_context *ctx = open_machine(MACHINE_CPU, side ? 5 : 1);
      kaon_matrix *matrix = sparse_matrix(ctx, &a, 1, NULL);
      kaon_operator *A = sparse_operator(matrix, KAON_DOUBLE, KAON_STORE_AUTO), *R = NULL;
      const kaon_kaczmarz_options o = options_of(&trials[k], n);
      kaon_vector *v = sparse_vector(A, 1), *w = sparse_vector(A, 1);
      x[side] = sparse_random(n, 1, 8);
      sparse_import(v, 0, n, x[side]);
      must(ctx, kaon_kaczmarz_reduce(A, &o, &R));
      must(ctx, kaon_operator_apply(R, KAON_PLAIN, v, w));
      sparse_export(w, 0, n, x[side]);
      kaon_vector_destroy(&v);
      kaon_vector_destroy(&w);
      kaon_operator_destroy(&R);
      kaon_operator_destroy(&A);
      kaon_matrix_destroy(&matrix);
      kaon_context_destroy(&ctx);
    }
    assert_memory_equal(x[0], x[1], n * sizeof *x[0]);
    free(x[0]);
    free(x[1]);
  }
  ref_sparse_free(&a);
}

/* ---- refusals ---- */

/* Rows that are 0, by every kind. */
static void empty_rows_are_refused(void **state) {
  (void)state;
  kaon_context *ctx = open_machine(MACHINE_CPU, 1);
  ref_sparse holes = make_system(40, 0, 1);
  for (size_t n = 0; n < holes.entries; n++)
    if (holes.row[n] == 17) holes.value[n] = 0;
  kaon_matrix *matrix = sparse_matrix(ctx, &holes, 1, NULL);
  kaon_operator *A = sparse_operator(matrix, KAON_DOUBLE, KAON_STORE_AUTO), *R = NULL;
  kaon_kaczmarz_options o = KAON_KACZMARZ_OPTIONS_INIT;
  for (int kind = KAON_KACZMARZ_SWEEP; kind <= KAON_KACZMARZ_CIMMINO; kind++) {
    o.kind = (kaon_kaczmarz_kind)kind;
    must_refuse(ctx, KAON_ERR_SINGULAR, kaon_kaczmarz_reduce(A, &o, &R));
    assert_non_null(strstr(kaon_last_error(ctx), "row 18 (counted from 1)"));
    assert_null(R);
  }
  kaon_operator_destroy(&A);
  kaon_matrix_destroy(&matrix);
  ref_sparse_free(&holes);
  kaon_context_destroy(&ctx);
}

static void refuse_orders(kaon_context *ctx, kaon_operator *A, kaon_operator *band) {
  kaon_operator *R = NULL;
  int32_t twice[40] = {0};
  double places[80];
  kaon_kaczmarz_options o = with_order(KAON_SWEEP_PERMUTATION, NULL, NULL);
  must_refuse(ctx, KAON_ERR_ARGUMENT, kaon_kaczmarz_reduce(A, &o, &R));
  o.permutation = twice;
  must_refuse(ctx, KAON_ERR_ARGUMENT, kaon_kaczmarz_reduce(A, &o, &R));
  twice[1] = 40;
  must_refuse(ctx, KAON_ERR_ARGUMENT, kaon_kaczmarz_reduce(A, &o, &R));
  o.kind = KAON_KACZMARZ_CARP;
  must_refuse(ctx, KAON_ERR_ARGUMENT, kaon_kaczmarz_reduce(A, &o, &R));
  for (int i = 0; i < 80; i++) places[i] = i == 33 ? NAN : i;
  o = with_order(KAON_SWEEP_SECTIONS, NULL, NULL);
  must_refuse(ctx, KAON_ERR_ARGUMENT, kaon_kaczmarz_reduce(A, &o, &R));
  o.coordinates = places;
  must_refuse(ctx, KAON_ERR_NOT_FINITE, kaon_kaczmarz_reduce(A, &o, &R));
  o = with_order(KAON_SWEEP_GROUPS, NULL, NULL);
  o.groups = 30;
  must_refuse(ctx, KAON_ERR_ARGUMENT, kaon_kaczmarz_reduce(band, &o, &R));
}

static void what_cannot_be_done_is_refused(void **state) {
  (void)state;
  static const double none[] = {2, NAN, -1};
  kaon_context *ctx = open_machine(MACHINE_CPU, 1);
  ref_sparse a = make_system(40, 0, 0), narrow = make_system(40, 0, 1);
  kaon_matrix *matrix = sparse_matrix(ctx, &a, 1, NULL);
  kaon_matrix *band = sparse_matrix(ctx, &narrow, 1, NULL);
  kaon_operator *A = sparse_operator(matrix, KAON_DOUBLE, KAON_STORE_AUTO), *R = NULL,
                *other = NULL;
  kaon_operator *B = sparse_operator(band, KAON_DOUBLE, KAON_STORE_AUTO);
  kaon_kaczmarz_options o = KAON_KACZMARZ_OPTIONS_INIT;
  for (int i = 0; i < 3; i++) {
    o.lambda = none[i];
    must_refuse(ctx, KAON_ERR_ARGUMENT, kaon_kaczmarz_reduce(A, &o, &R));
  }
  refuse_orders(ctx, A, B);
  o = (kaon_kaczmarz_options)KAON_KACZMARZ_OPTIONS_INIT;
  o.kind = KAON_KACZMARZ_CARP;
  o.blocks = 41;
  must_refuse(ctx, KAON_ERR_ARGUMENT, kaon_kaczmarz_reduce(A, &o, &R));
  must_refuse(ctx, KAON_ERR_ARGUMENT, kaon_kaczmarz_preconditioner(A, NULL, 0, &R));
  must_refuse(ctx, KAON_ERR_ARGUMENT, kaon_kaczmarz_reduce(NULL, NULL, &R));
  must(ctx, kaon_kaczmarz_reduce(A, NULL, &R));
  must_refuse(ctx, KAON_ERR_UNSUPPORTED, kaon_kaczmarz_reduce(R, NULL, &other));
  kaon_solver_options so = KAON_SOLVER_OPTIONS_INIT;
  kaon_solver *solver = NULL;
  so.method = KAON_CG;
  so.sloppy = KAON_HALF;
  must_refuse(ctx, KAON_ERR_UNSUPPORTED, kaon_solver_create(R, 1, &so, &solver));
  kaon_operator_destroy(&R);
  kaon_operator_destroy(&A);
  kaon_operator_destroy(&B);
  kaon_matrix_destroy(&band);
  kaon_matrix_destroy(&matrix);
  ref_sparse_free(&narrow);
  ref_sparse_free(&a);
  kaon_context_destroy(&ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(sweeps_equal_the_reference),
                                     cmocka_unit_test(reductions_are_hermitian_and_positive),
                                     cmocka_unit_test(solves_reach_the_true_residual),
                                     cmocka_unit_test(threads_change_no_bit),
                                     cmocka_unit_test(empty_rows_are_refused),
                                     cmocka_unit_test(what_cannot_be_done_is_refused)};
  const struct CMUnitTest few[] = {cmocka_unit_test(sweeps_equal_the_reference)};
  if (test_brief()) return test_main(few, NULL, NULL);
  return test_main(tests, NULL, NULL);
}
