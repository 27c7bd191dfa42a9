/* test_matrix.c - sparse matrices as objects. All ways to create one give the same matrix; wrong
 * input is refused with both values; vectors keep the caller's order and belong to their matrix;
 * every solver works on them, also with single-precision and 16-bit inner processes. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sparse/storage/matrix.h"
#include "tests/util/machine.h"
#include "tests/util/sparse_case.h"
#include "tests/util/test_util.h"

static kaon_context *open_default(void) {
  kaon_context_options options = KAON_CONTEXT_OPTIONS_INIT;
  kaon_context *ctx = NULL;
  options.threads = 2;
  must(NULL, machine_open(KAON_ISA_AUTO, options, &ctx));
  return ctx;
}

static void refused(kaon_context *ctx, kaon_status expected, kaon_status status, const char *first,
                    const char *second) {
  print_message("  %s\n", kaon_last_error(ctx));
  assert_int_equal(status, expected);
  assert_non_null(strstr(kaon_last_error(ctx), first));
  assert_non_null(strstr(kaon_last_error(ctx), second));
}

static int same_rows(const kaon_matrix *a, const kaon_matrix *b) {
  const kaon_csr *x = a->rows->rows, *y = b->rows->rows;
  const size_t entries = (size_t)x->start[x->rows];
  return x->rows == y->rows && x->reals == y->reals &&
         memcmp(x->start, y->start, ((size_t)x->rows + 1) * sizeof *x->start) == 0 &&
         memcmp(x->column, y->column, entries * sizeof *x->column) == 0 &&
         memcmp(x->value, y->value, entries * (size_t)x->reals * sizeof *x->value) == 0;
}

/* ---- ways in ---- */

/* 3 0 1 / 0 0 -2 / 1 4 5, with the corner given in two parts. */
static void compressed_rows_of_all_kinds_are_one_matrix(void **state) {
  (void)state;
  kaon_context *ctx = open_default();
  ref_sparse a = ref_sparse_new(3);
  const double entries[][3] = {{0, 2, 1}, {0, 0, 3}, {1, 2, -2}, {2, 2, 2},
                               {2, 1, 4}, {2, 0, 1}, {2, 2, 3}};
  for (size_t n = 0; n < sizeof entries / sizeof *entries; n++)
    ref_sparse_add(&a, (size_t)entries[n][0], (size_t)entries[n][1], entries[n][2]);
  kaon_matrix *wanted = sparse_matrix(ctx, &a, 1, NULL);
  for (int kind = 0; kind < 8; kind++) {
    const int base = kind & 1;
    int32_t start32[] = {0, 2, 3, 7}, column32[] = {2, 0, 2, 2, 1, 0, 2};
    int64_t start64[4], column64[7];
    const double values[] = {1, 3, -2, 2, 4, 1, 3};
    for (int i = 0; i < 4; i++) start64[i] = start32[i] += base;
    for (int i = 0; i < 7; i++) column64[i] = column32[i] += base;
    const kaon_csr_arrays arrays = {.global_rows = 3,
                                    .rows = 3,
                                    .reals = 1,
                                    .base = base,
                                    .start32 = kind & 2 ? start32 : NULL,
                                    .start64 = kind & 2 ? NULL : start64,
                                    .column32 = kind & 4 ? column32 : NULL,
                                    .column64 = kind & 4 ? NULL : column64,
                                    .values = values};
    kaon_matrix *matrix = NULL;
    must(ctx, kaon_matrix_create_csr(ctx, &arrays, NULL, &matrix));
    assert_true(same_rows(matrix, wanted));
    kaon_matrix_destroy(&matrix);
  }
  kaon_matrix_destroy(&wanted);
  ref_sparse_free(&a);
  kaon_context_destroy(&ctx);
}

/* As a rank without rows, or with empty ones, may hand over. */
static void what_is_empty_needs_no_arrays(void **state) {
  (void)state;
  static const int32_t start[] = {0, 0, 0};
  static const double values[] = {1};
  kaon_context *ctx = open_default();
  kaon_csr_arrays none = {.reals = 1},
                  empty = {.global_rows = 2, .rows = 2, .reals = 1, .start32 = start};
  kaon_matrix *matrix = NULL;
  kaon_matrix_info info = KAON_MATRIX_INFO_INIT;
  must(ctx, kaon_matrix_create_csr(ctx, &none, NULL, &matrix));
  must(ctx, kaon_matrix_describe(matrix, &info));
  assert_int_equal(info.rows, 0);
  kaon_matrix_destroy(&matrix);
  must(ctx, kaon_matrix_create_csr(ctx, &empty, NULL, &matrix));
  must(ctx, kaon_matrix_describe(matrix, &info));
  assert_int_equal(info.entries, 0);
  kaon_matrix_destroy(&matrix);
  static const int32_t one[] = {0, 1, 1};
  empty.start32 = one; /* but this has an entry */
  empty.values = values;
  must_refuse(ctx, KAON_ERR_ARGUMENT, kaon_matrix_create_csr(ctx, &empty, NULL, &matrix));
  empty.start32 = NULL;
  must_refuse(ctx, KAON_ERR_ARGUMENT, kaon_matrix_create_csr(ctx, &empty, NULL, &matrix));
  kaon_context_destroy(&ctx);
}

/* The faces of a 2-D mesh of cells, each with its right and upper neighbour. */
static void faces_are_the_laplacian(void **state) {
  (void)state;
  enum { N = 12, CELLS = N * N, FACES = 2 * N * (N - 1) };
  kaon_context *ctx = open_default();
  int32_t owner[FACES], neighbour[FACES];
  double diagonal[CELLS], upper[FACES], lower[FACES];
  int f = 0;
  for (int i = 0; i < CELLS; i++) {
    diagonal[i] = 4.5;
    if (i % N + 1 < N) {
      owner[f] = i;
      neighbour[f] = i + 1;
      upper[f] = -1 + 0.25;
      lower[f++] = -1 - 0.25;
    }
    if (i / N + 1 < N) {
      owner[f] = i;
      neighbour[f] = i + N;
      upper[f] = lower[f] = -1;
      f++;
    }
  }
  assert_int_equal(f, FACES);
  for (int symmetric = 0; symmetric < 2; symmetric++) {
    for (int n = 0; n < FACES && symmetric; n++) upper[n] = -1;
    ref_sparse a = ref_sparse_laplace(N, 2, 0.5, symmetric ? 0 : 0.25);
    kaon_matrix *wanted = sparse_matrix(ctx, &a, 1, NULL), *matrix = NULL;
    kaon_ldu_arrays arrays = {.cells = CELLS,
                              .faces = FACES,
                              .owner = owner,
                              .neighbour = neighbour,
                              .diagonal = diagonal,
                              .upper = upper,
                              .lower = symmetric ? NULL : lower};
    must(ctx, kaon_matrix_create_ldu(ctx, &arrays, NULL, &matrix));
    assert_true(same_rows(matrix, wanted));
    assert_int_equal(matrix->hermitian, symmetric);
    kaon_matrix_destroy(&matrix);
    owner[7] = CELLS;
    refused(ctx, KAON_ERR_ARGUMENT, kaon_matrix_create_ldu(ctx, &arrays, NULL, &matrix), "face 7",
            "cells are 0 to 143");
    owner[7] = neighbour[7];
    refused(ctx, KAON_ERR_ARGUMENT, kaon_matrix_create_ldu(ctx, &arrays, NULL, &matrix), "face 7",
            "with itself");
    owner[7] = neighbour[7] - (upper[7] == lower[7] ? N : 1);
    assert_null(matrix);
    kaon_matrix_destroy(&wanted);
    ref_sparse_free(&a);
  }
  kaon_context_destroy(&ctx);
}

static void malformed_arrays_are_refused(void **state) {
  (void)state;
  kaon_context *ctx = open_default();
  int32_t start[] = {0, 2, 3, 4}, column[] = {0, 1, 1, 2};
  double values[] = {1, 2, 3, 4};
  kaon_csr_arrays a = {.global_rows = 3,
                       .rows = 3,
                       .reals = 1,
                       .start32 = start,
                       .column32 = column,
                       .values = values};
  kaon_matrix_options options = KAON_MATRIX_OPTIONS_INIT;
  kaon_matrix *matrix = NULL;
#define REFUSED(status, first, second) \
  refused(ctx, status, kaon_matrix_create_csr(ctx, &a, &options, &matrix), first, second)
  start[2] = 1;
  REFUSED(KAON_ERR_ARGUMENT, "start[2] is 1", "start[1] = 2");
  start[2] = 3;
  start[0] = 1;
  REFUSED(KAON_ERR_ARGUMENT, "start[0] is 1", "base is 0");
  start[0] = 0;
  column[2] = 3;
  REFUSED(KAON_ERR_ARGUMENT, "entry 2 (row 1) is in column 3", "0 to 2");
  column[2] = 1;
  values[3] = INFINITY;
  REFUSED(KAON_ERR_NOT_FINITE, "row 2, column 2", "inf");
  values[3] = 4;
  column[1] = 0;
  options.refuse_duplicates = 1;
  REFUSED(KAON_ERR_FORMAT, "row 0", "(1 and 2");
  column[1] = 1;
  options.ordering = 7;
  REFUSED(KAON_ERR_ARGUMENT, "ordering", "7");
  options.ordering = KAON_ORDERING_NONE;
  a.first_row = 1;
  REFUSED(KAON_ERR_ARGUMENT, "rows 1 to 3", "0 to 2");
  a.first_row = 0;
  a.rows = 2;
  REFUSED(KAON_ERR_SHAPE, "2 rows together", "has 3");
  a.rows = 3;
  a.reals = 3;
  REFUSED(KAON_ERR_ARGUMENT, "3 reals", "1 (real) or 2 (complex)");
  a.reals = 1;
  a.base = 2;
  REFUSED(KAON_ERR_ARGUMENT, "begin at 2", "0 or 1");
  a.base = 0;
  a.global_rows = INT64_C(1) << 31;
  REFUSED(KAON_ERR_UNSUPPORTED, "2147483648 rows", "2147483647");
  a.global_rows = 3;
  a.column32 = NULL;
  REFUSED(KAON_ERR_ARGUMENT, "column32", "column64");
  assert_null(matrix);
  kaon_context_destroy(&ctx);
}

static void malformed_triplets_are_refused(void **state) {
  (void)state;
  kaon_context *ctx = open_default();
  kaon_matrix *matrix = NULL;
  const double values[] = {1, 2};
  int64_t row[] = {0, 4}, place[] = {0, 1};
  const kaon_triplet_arrays t = {.global_rows = 4,
                                 .rows = 4,
                                 .reals = 1,
                                 .base = 1,
                                 .entries = 2,
                                 .row = row,
                                 .column = place,
                                 .values = values};
  refused(ctx, KAON_ERR_ARGUMENT, kaon_matrix_create_triplets(ctx, &t, NULL, &matrix), "entry 0",
          "rows are 1 to 4");
  assert_null(matrix);
  kaon_context_destroy(&ctx);
}

/* ---- spaces and what lives on them ---- */

/* Rows of all lengths are sorted inside, but the caller sees the original order. A vector outlives
 * its matrix. */
static void vectors_keep_the_callers_order(void **state) {
  (void)state;
  kaon_context *ctx = open_default();
  ref_sparse a = ref_sparse_random(500, 20, 0, 1, 3);
  kaon_matrix_options options = KAON_MATRIX_OPTIONS_INIT;
  options.window = 300;
  kaon_matrix *matrix = sparse_matrix(ctx, &a, 2, &options);
  assert_non_null(matrix->order);
  for (int p = 0; p < 3; p++) {
    kaon_vector *v = NULL;
    must(ctx, kaon_vector_create(ctx, kaon_matrix_space(matrix), (kaon_precision)p, 2, &v));
    ref_complex *in = sparse_random(a.rows, 2, 4), *out = calloc(a.rows, sizeof *out);
    sparse_import(v, 1, a.rows, in);
    if (p == 2) kaon_matrix_destroy(&matrix);
    sparse_export(v, 1, a.rows, out);
    for (size_t i = 0; i < a.rows; i++)
      assert_true(cabs(in[i] - out[i]) <= (p == 0 ? 0 : p == 1 ? 0x1p-23 : 1.5 * 0.51 / 32767));
    double *numbers = calloc(2 * a.rows, sizeof *numbers);
    numbers[2 * 333 + 1] = NAN;
    refused(ctx, KAON_ERR_NOT_FINITE, kaon_vector_import(v, 0, numbers, KAON_BASIS_UKQCD),
            "row 334 (counted from 1)", "component 1");
    free(numbers);
    free(in);
    free(out);
    kaon_vector_destroy(&v);
  }
  ref_sparse_free(&a);
  kaon_context_destroy(&ctx);
}

static void what_single_precision_cannot_hold_is_refused_by_place(void **state) {
  (void)state;
  static const struct {
    double value;
    const char *words[3];
  } cases[] = {{-1e300, {"1e+300", "row 71, column 72 (counted from 1", "single precision"}},
               {1e39, {"1e+39", "row 71, column 72 (counted from 1", "scale the system"}},
               {1e-60, {"1e-60", "row 71, column 72 (counted from 1", "too small"}}};
  kaon_context *ctx = open_default();
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
    for (int reals = 1; reals <= 2; reals++) {
      kaon_matrix_options options = KAON_MATRIX_OPTIONS_INIT;
      options.window = 64;
      ref_sparse a = ref_sparse_new(100);
      for (size_t i = 0; i < a.rows; i++)
        for (size_t j = 0; j < i % 5 + 1 && i != 70; j++) ref_sparse_add(&a, i, j, 1);
      ref_sparse_add(&a, 70, 71, reals == 2 ? cases[c].value * I : cases[c].value);
      kaon_matrix *matrix = sparse_matrix(ctx, &a, reals, &options);
      kaon_operator *A = sparse_operator(matrix, KAON_DOUBLE, KAON_STORE_AUTO), *twin = NULL;
      for (int p = KAON_SINGLE; p <= KAON_HALF; p++) {
        must_refuse(ctx, KAON_ERR_PRECISION,
                    A->ops->twin(A, (kaon_precision)p, KAON_RECONSTRUCT_18, &twin));
        assert_null(twin);
        for (int w = 0; w < 3; w++)
          assert_non_null(strstr(kaon_last_error(ctx), cases[c].words[w]));
      }
      kaon_operator_destroy(&A);
      kaon_matrix_destroy(&matrix);
      ref_sparse_free(&a);
    }
  kaon_context_destroy(&ctx);
}

static void diagonals_and_costs_are_those_of_the_rows(void **state) {
  (void)state;
  kaon_context *ctx = open_default();
  kaon_matrix_options options = KAON_MATRIX_OPTIONS_INIT;
  options.window = 64;
  for (int reals = 1; reals <= 2; reals++) {
    ref_sparse a = ref_sparse_random(200, 6, 0, reals == 2, 8);
    for (size_t i = 0; i < a.rows; i += 2) ref_sparse_add(&a, i, i, (double)i - 17);
    kaon_matrix *matrix = sparse_matrix(ctx, &a, reals, &options);
    kaon_operator *A = sparse_operator(matrix, KAON_DOUBLE, KAON_STORE_AUTO);
    kaon_vector *d = sparse_vector(A, 2);
    ref_complex *found = calloc(a.rows, sizeof *found), *wanted = calloc(a.rows, sizeof *wanted);
    must(ctx, A->ops->diagonal(A, d));
    for (size_t n = 0; n < a.entries; n++)
      if (a.row[n] == a.column[n]) wanted[a.row[n]] += a.value[n];
    for (int k = 0; k < 2; k++) {
      sparse_export(d, k, a.rows, found);
      for (size_t i = 0; i < a.rows; i++) assert_true(cabs(found[i] - wanted[i]) < 1e-14 * 200);
    }
    kaon_matrix_info info = KAON_MATRIX_INFO_INIT;
    kaon_cost cost;
    must(ctx, kaon_matrix_describe(matrix, &info));
    must(ctx, kaon_operator_cost(A, 1, &cost));
    assert_true(cost.flops == (reals == 2 ? 8.0 : 2.0) * (double)info.entries);
    assert_true(cost.bytes ==
                (4.0 + 8 * reals) * (double)info.entries + (4.0 + 16 * reals) * (double)info.rows);
    assert_true(kaon_operator_matrix(A) == matrix);
    print_message("  %s\n", kaon_matrix_operator_format(A));
    kaon_operator *rows = sparse_operator(matrix, KAON_DOUBLE, KAON_STORE_CSR);
    assert_true(kaon_matrix_operator_bytes(rows) ==
                (4.0 + 8 * reals) * (double)info.entries + 4.0 * (double)info.rows);
    assert_true(kaon_matrix_operator_bytes(NULL) == 0);
    kaon_operator_destroy(&rows);
    free(found);
    free(wanted);
    kaon_vector_destroy(&d);
    kaon_operator_destroy(&A);
    kaon_matrix_destroy(&matrix);
    ref_sparse_free(&a);
  }
  kaon_context_destroy(&ctx);
}

/* ---- solvers ---- */

/* |b - A x| / |b| by the reference. */
static double residual(const ref_sparse *a, const kaon_vector *b, const kaon_vector *x,
                       int column) {
  ref_complex *hb = calloc(a->rows, sizeof *hb), *hx = calloc(a->rows, sizeof *hx);
  ref_complex *ax = calloc(a->rows, sizeof *ax);
  sparse_export(b, column, a->rows, hb);
  sparse_export(x, column, a->rows, hx);
  ref_sparse_apply(a, 0, hx, ax, NULL, NULL);
  for (size_t i = 0; i < a->rows; i++) ax[i] = hb[i] - ax[i];
  const double r = sqrt(ref_norm2(ax, a->rows) / ref_norm2(hb, a->rows));
  free(hb);
  free(hx);
  free(ax);
  return r;
}

/* The solver's own figure must be the true one, and no solve takes memory. */
static double solve(kaon_operator *A, const ref_sparse *a, kaon_method method,
                    kaon_precision sloppy, kaon_operator *K) {
  kaon_solver_options o = KAON_SOLVER_OPTIONS_INIT;
  kaon_solver *s = NULL;
  kaon_column_report reports[2];
  kaon_vector *b = sparse_vector(A, 2), *x = sparse_vector(A, 2);
  double worst = 0;
  for (int k = 0; k < 2; k++) {
    ref_complex *numbers = sparse_random(a->rows, A->space->ncomp, 70 + (uint64_t)k);
    sparse_import(b, k, a->rows, numbers);
    free(numbers);
  }
  o.method = method;
  o.sloppy = sloppy;
  o.tol = 1e-9;
  o.max_iterations = 3000;
  o.preconditioner = K;
  must(A->ctx, kaon_solver_create(A, 2, &o, &s));
  kaon_context_info before = KAON_CONTEXT_INFO_INIT, after = KAON_CONTEXT_INFO_INIT;
  must(A->ctx, kaon_context_query(A->ctx, &before));
  must(A->ctx, kaon_solver_solve(s, b, x, reports, NULL));
  must(A->ctx, kaon_context_query(A->ctx, &after));
  assert_true(before.memory_now == after.memory_now && before.memory_held == after.memory_held);
  for (int k = 0; k < 2; k++) {
    const double r = residual(a, b, x, k);
    assert_true(reports[k].residual <= 1e-9 && fabs(r - reports[k].residual) <= 1e-3 * r + 1e-14);
    worst = larger(worst, r);
  }
  print_message("  method %d, inner %s: %d steps, residual %.2e\n", (int)method,
                precision_names[sloppy], reports[0].iterations, worst);
  kaon_solver_destroy(&s);
  kaon_vector_destroy(&b);
  kaon_vector_destroy(&x);
  return worst;
}

static void every_solver_works_on_rows(void **state) {
  (void)state;
  static const kaon_method general[] = {KAON_CGNR,     KAON_CGNE,         KAON_BICGSTAB, KAON_GCR,
                                        KAON_PIPECGNR, KAON_PIPEBICGSTAB, KAON_BLOCKCGNR};
  static const kaon_method hermitian[] = {KAON_CG, KAON_BLOCKCG, KAON_PIPECG};
  kaon_context *ctx = open_default();
  for (int i = 0; i < 4; i++) {
    const int reals = 1 + i % 2;
    ref_sparse a =
        i < 2 ? ref_sparse_laplace(16, 2, 0.05, 0) : ref_sparse_random(400, 5, 12, reals == 2, 21);
    kaon_matrix *matrix = sparse_matrix(ctx, &a, reals, NULL);
    kaon_operator *A = sparse_operator(matrix, KAON_DOUBLE, KAON_STORE_AUTO);
    assert_int_equal(matrix->hermitian, i < 2);
    for (int sloppy = KAON_DOUBLE; sloppy <= KAON_HALF; sloppy++) {
      for (size_t m = 0; m < sizeof general / sizeof *general; m++)
        assert_true(solve(A, &a, general[m], (kaon_precision)sloppy, NULL) <= 1e-9);
      for (size_t m = 0; m < sizeof hermitian / sizeof *hermitian && i < 2; m++)
        if (hermitian[m] != KAON_PIPECG || sloppy != KAON_HALF)
          assert_true(solve(A, &a, hermitian[m], (kaon_precision)sloppy, NULL) <= 1e-9);
    }
    kaon_operator_destroy(&A);
    for (int p = KAON_SINGLE; p <= KAON_HALF; p++) { /* operators of lower precision themselves */
      A = sparse_operator(matrix, (kaon_precision)p, KAON_STORE_AUTO);
      kaon_solver *s = NULL;
      must(ctx, kaon_solver_create(A, 1, NULL, &s));
      kaon_solver_destroy(&s);
      kaon_operator_destroy(&A);
    }
    kaon_matrix_destroy(&matrix);
    ref_sparse_free(&a);
  }
  kaon_context_destroy(&ctx);
}

/* Blocks of rows: the local part is the matrix without entries between blocks, in the caller's
 * order although rows are sorted. Schwarz preconditioners in all precisions accelerate a solve. */
static void blocks_of_rows_precondition(void **state) {
  (void)state;
  kaon_context *ctx = open_default();
  kaon_matrix_options options = KAON_MATRIX_OPTIONS_INIT;
  options.window = 48;
  ref_sparse a = ref_sparse_random(330, 5, 12, 0, 22);
  for (size_t i = 0; i + 1 < a.rows; i++) ref_sparse_add(&a, i, i + 1, -4);
  kaon_matrix *matrix = sparse_matrix(ctx, &a, 1, &options);
  kaon_operator *A = sparse_operator(matrix, KAON_DOUBLE, KAON_STORE_AUTO), *local = NULL;
  ref_sparse cut = ref_sparse_new(a.rows);
  for (size_t n = 0; n < a.entries; n++)
    if (a.row[n] / 50 == a.column[n] / 50)
      ref_sparse_add(&cut, (size_t)a.row[n], (size_t)a.column[n], a.value[n]);
  const int block[4] = {50, 0, 0, 0};
  must(ctx, kaon_operator_local_part(A, block, KAON_DOUBLE, KAON_RECONSTRUCT_18, &local));
  kaon_vector *x = sparse_vector(A, 1), *y = sparse_vector(A, 1);
  ref_complex *in = sparse_random(a.rows, 1, 5), *wanted = calloc(a.rows, sizeof *wanted);
  ref_complex *found = calloc(a.rows, sizeof *found);
  sparse_import(x, 0, a.rows, in);
  for (int dagger = 0; dagger < 2; dagger++) {
    must(ctx, kaon_operator_apply(local, (kaon_mode)dagger, x, y));
    sparse_export(y, 0, a.rows, found);
    ref_sparse_apply(&cut, dagger, in, wanted, NULL, NULL);
    assert_true(ref_rel_diff(found, wanted, a.rows) < 1e-14);
  }
  const int wrong[4] = {50, 2, 0, 0};
  kaon_operator *none = NULL;
  refused(ctx, KAON_ERR_ARGUMENT,
          kaon_operator_local_part(A, wrong, KAON_DOUBLE, KAON_RECONSTRUCT_18, &none), "50 x 2",
          "block[0]");
  for (int i = 0; i < 2 * 3 * 2; i++) {
    kaon_schwarz_options o = KAON_SCHWARZ_OPTIONS_INIT;
    kaon_operator *K = NULL;
    o.kind = i % 2 ? KAON_SCHWARZ_MULTIPLICATIVE : KAON_SCHWARZ_ADDITIVE;
    o.precision = (kaon_precision)(i / 2 % 3);
    o.block[0] = i < 6 ? 50 : 0;
    o.steps = 4;
    must(ctx, kaon_schwarz_create(A, &o, &K));
    assert_true(solve(A, &a, KAON_GCR, KAON_DOUBLE, K) <= 1e-9);
    kaon_operator_destroy(&K);
  }
  free(in);
  free(wanted);
  free(found);
  kaon_vector_destroy(&x);
  kaon_vector_destroy(&y);
  kaon_operator_destroy(&local);
  kaon_operator_destroy(&A);
  kaon_matrix_destroy(&matrix);
  ref_sparse_free(&a);
  ref_sparse_free(&cut);
  kaon_context_destroy(&ctx);
}

/* Rows reordered by RCM and by their lengths are returned as they were given, columns ascending,
 * entry for entry; real and complex. */
static void rows_come_back_as_given(void **state) {
  (void)state;
  kaon_context *ctx = open_default();
  for (int reals = 1; reals <= 2; reals++) {
    kaon_matrix_options options = KAON_MATRIX_OPTIONS_INIT;
    options.window = 48;
    options.ordering = KAON_ORDERING_RCM;
    ref_sparse a = ref_sparse_random(330, 5, 12, reals == 2, 22);
    kaon_matrix *matrix = sparse_matrix(ctx, &a, reals, &options);
    kaon_matrix_info info = KAON_MATRIX_INFO_INIT;
    must(ctx, kaon_matrix_describe(matrix, &info));
    int64_t *start = calloc(a.rows + 1, sizeof *start);
    int32_t *column = calloc((size_t)info.entries, sizeof *column);
    double *value = calloc((size_t)(info.entries * reals), sizeof *value);
    must(ctx, kaon_matrix_rows(matrix, start, column, value));
    assert_int_equal(start[a.rows], info.entries);
    ref_complex *wanted = calloc(a.rows, sizeof *wanted), *found = calloc(a.rows, sizeof *found);
    for (size_t i = 0; i < a.rows; i++) {
      memset(wanted, 0, a.rows * sizeof *wanted);
      memset(found, 0, a.rows * sizeof *found);
      for (size_t n = 0; n < a.entries; n++)
        if (a.row[n] == (int64_t)i) wanted[a.column[n]] += a.value[n];
      for (int64_t n = start[i]; n < start[i + 1]; n++) {
        assert_true(n == start[i] || column[n] > column[n - 1]);
        found[column[n]] = value[n * reals] + (reals == 2 ? value[n * reals + 1] * I : 0);
      }
      assert_memory_equal(found, wanted, a.rows * sizeof *found);
    }
    must_refuse(ctx, KAON_ERR_ARGUMENT, kaon_matrix_rows(matrix, start, NULL, value));
    must_refuse(NULL, KAON_ERR_ARGUMENT, kaon_matrix_rows(NULL, start, column, value));
    free(start);
    free(column);
    free(value);
    free(wanted);
    free(found);
    kaon_matrix_destroy(&matrix);
    ref_sparse_free(&a);
  }
  kaon_context_destroy(&ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(compressed_rows_of_all_kinds_are_one_matrix),
      cmocka_unit_test(what_is_empty_needs_no_arrays),
      cmocka_unit_test(faces_are_the_laplacian),
      cmocka_unit_test(malformed_arrays_are_refused),
      cmocka_unit_test(malformed_triplets_are_refused),
      cmocka_unit_test(vectors_keep_the_callers_order),
      cmocka_unit_test(what_single_precision_cannot_hold_is_refused_by_place),
      cmocka_unit_test(diagonals_and_costs_are_those_of_the_rows),
      cmocka_unit_test(every_solver_works_on_rows),
      cmocka_unit_test(blocks_of_rows_precondition),
      cmocka_unit_test(rows_come_back_as_given)};
  return test_main(tests, NULL, NULL);
}
