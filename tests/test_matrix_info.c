/* test_matrix_info.c - kaon_matrix_describe: its statement about a sparse matrix's rows, and which
 * rows it names when they make the matrix singular. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>

#include "sparse/storage/matrix.h"
#include "tests/util/machine.h"
#include "tests/util/sparse_case.h"
#include "tests/util/test_util.h"

static kaon_context *open_default(void) {
  const kaon_context_options options = KAON_CONTEXT_OPTIONS_INIT;
  kaon_context *ctx = NULL;
  must(NULL, machine_open(KAON_ISA_AUTO, options, &ctx));
  return ctx;
}

static void statistics_are_counted(void **state) {
  (void)state;
  kaon_context *ctx = open_default();
  ref_sparse a = ref_sparse_laplace(10, 2, 0, 0);
  kaon_matrix_options kept = KAON_MATRIX_OPTIONS_INIT;
  kept.window = 1; /* blocks that are wide enough would be sorted by length */
  kaon_matrix *matrix = sparse_matrix(ctx, &a, 1, &kept);
  kaon_matrix_info info = KAON_MATRIX_INFO_INIT;
  must(ctx, kaon_matrix_describe(matrix, &info));
  assert_int_equal(info.global_rows, 100);
  assert_int_equal(info.entries, 460);
  assert_int_equal(info.shortest, 3);
  assert_int_equal(info.longest, 5);
  assert_int_equal(info.bandwidth, 10);
  assert_int_equal(info.hermitian, 1);
  assert_int_equal(info.skew, 0);
  assert_int_equal(info.no_diagonal + info.empty_rows, 0);
  assert_true(fabs(info.mean - 4.6) < 1e-14);
  /* 64 rows of 5, 32 of 4, 4 of 3 */
  assert_true(fabs(info.deviation - sqrt((64 * 25 + 32 * 16 + 36) / 100.0 - 4.6 * 4.6)) < 1e-13);
  kaon_matrix_destroy(&matrix);
  ref_sparse_free(&a);
  a = ref_sparse_new(6);
  ref_sparse_add(&a, 1, 2, 3 + I);
  ref_sparse_add(&a, 2, 1, 3 - I);
  ref_sparse_add(&a, 3, 3, 0);
  matrix = sparse_matrix(ctx, &a, 2, NULL);
  must(ctx, kaon_matrix_describe(matrix, &info));
  assert_int_equal(info.hermitian, 1);
  assert_int_equal(info.empty_rows, 4); /* row 3 holds a zero alone */
  assert_int_equal(info.empty_columns, 4);
  assert_int_equal(info.first_empty_row, 0);
  assert_int_equal(info.first_empty_column, 0);
  assert_int_equal(info.no_diagonal, 6);
  assert_int_equal(info.first_no_diagonal, 0);
  kaon_matrix_destroy(&matrix);
  ref_sparse_add(&a, 0, 0, I); /* not its own conjugate */
  matrix = sparse_matrix(ctx, &a, 2, NULL);
  assert_int_equal(matrix->hermitian, 0);
  kaon_matrix_destroy(&matrix);
  ref_sparse_free(&a);
  a = ref_sparse_new(6); /* i times a Hermitian one is the opposite of its adjoint */
  ref_sparse_add(&a, 1, 2, -1 + 3 * I);
  ref_sparse_add(&a, 2, 1, 1 + 3 * I);
  ref_sparse_add(&a, 4, 4, 2 * I);
  matrix = sparse_matrix(ctx, &a, 2, NULL);
  must(ctx, kaon_matrix_describe(matrix, &info));
  assert_int_equal(info.skew, 1);
  assert_int_equal(info.hermitian, 0);
  kaon_matrix_destroy(&matrix);
  ref_sparse_add(&a, 3, 5, 1);
  matrix = sparse_matrix(ctx, &a, 2, NULL);
  assert_int_equal(matrix->skew, 0);
  kaon_matrix_destroy(&matrix);
  ref_sparse_free(&a);
  kaon_context_destroy(&ctx);
}

/* Positions are given in the caller's numbering, whatever order the matrix stores. */
static void rows_and_columns_of_zeros_are_named(void **state) {
  (void)state;
  kaon_context *ctx = open_default();
  for (int windows = 0; windows < 2; windows++) {
    kaon_matrix_options options = KAON_MATRIX_OPTIONS_INIT;
    options.window = windows ? 64 : 1;
    ref_sparse a = ref_sparse_new(200);
    for (size_t i = 0; i < a.rows; i++)
      for (size_t j = i; j < a.rows && j <= i + i % 7; j++)
        if (j != 50 && j != 177 && i != 123) ref_sparse_add(&a, i, j, 1 + (double)j);
    ref_sparse_add(&a, 9, 50, 0); /* entries that are 0 */
    ref_sparse_add(&a, 123, 4, 0);
    kaon_matrix_info info = KAON_MATRIX_INFO_INIT;
    kaon_matrix *matrix = sparse_matrix(ctx, &a, 1, &options);
    must(ctx, kaon_matrix_describe(matrix, &info));
    assert_int_equal(info.empty_rows, 1);
    assert_int_equal(info.first_empty_row, 123);
    assert_int_equal(info.empty_columns, 2);
    assert_int_equal(info.first_empty_column, 50);
    assert_int_equal(info.first_no_diagonal, 50);
    assert_int_equal(info.no_diagonal, 3);
    kaon_matrix_destroy(&matrix);
    ref_sparse_free(&a);
  }
  kaon_context_destroy(&ctx);
}

/* As floats these entries would be infinite or 0, and a solve would fail silently. */
int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(statistics_are_counted),
                                     cmocka_unit_test(rows_and_columns_of_zeros_are_named)};
  return test_main(tests, NULL, NULL);
}
