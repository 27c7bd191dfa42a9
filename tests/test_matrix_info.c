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

/* The Laplacian with one entry more, in row 3 and column 7, whose rows' largest entry is 4. */
typedef struct off_case {
  ref_complex more, scale;           /* the entry; a factor of row and column 3 */
  int reals, hermitian, exact, skew; /* skew: of i A */
} off_case;
static const off_case off_cases[] = {{0, 1, 1, 1, 1, 0},          {0x1p-52, 1, 1, 1, 0, 0},
                                     {3.9e-10, 1, 1, 1, 0, 0},    {4.1e-10, 1, 1, 0, 0, 0},
                                     {0.5, 1, 1, 0, 0, 0},        {1e-14, 1e6, 1, 1, 0, 0},
                                     {4.1e-10, 1e6, 1, 0, 0, 0}, /* row 7 is as it was */
                                     {4.1e-10, 1e-6, 1, 0, 0, 0}, {1e-10 * I, 1, 2, 1, 0, 1},
                                     {0, 1, 2, 1, 1, 1},          {1e-3 * I, 1, 2, 0, 0, 0}};

static ref_sparse off_matrix(const off_case *c, ref_complex factor) {
  ref_sparse a = ref_sparse_laplace(10, 2, 0, 0);
  for (size_t n = 0; n < a.entries; n++) {
    if (a.row[n] == 3) a.value[n] *= c->scale;
    if (a.column[n] == 3) a.value[n] *= c->scale;
    a.value[n] *= factor;
  }
  if (c->more != 0) ref_sparse_add(&a, 3, 7, factor * c->more);
  return a;
}

/* One rule for the statement and for preconditioners; products with A^H are exact all the same. */
static void symmetric_to_rounding_is_symmetric(void **state) {
  (void)state;
  static const kaon_precond_kind kinds[] = {KAON_PRECOND_DIC, KAON_PRECOND_IC0, KAON_PRECOND_FSAI};
  kaon_context *ctx = open_default();
  for (size_t i = 0; i < sizeof off_cases / sizeof *off_cases; i++) {
    const off_case *c = &off_cases[i];
    for (int turned = 0; turned < c->reals; turned++) { /* i A = -(i A)^H */
      ref_sparse a = off_matrix(c, turned ? I : 1);
      kaon_matrix *matrix = sparse_matrix(ctx, &a, c->reals, NULL);
      kaon_matrix_info info = KAON_MATRIX_INFO_INIT;
      must(ctx, kaon_matrix_describe(matrix, &info));
      assert_int_equal(info.hermitian, turned ? 0 : c->hermitian);
      assert_int_equal(info.skew, turned ? c->skew : 0);
      if (!turned) assert_int_equal(info.asymmetry == 0, c->exact);
      for (size_t k = 0; k < sizeof kinds / sizeof *kinds && !turned; k++) {
        kaon_precond_options options = KAON_PRECOND_OPTIONS_INIT;
        kaon_operator *K = NULL;
        options.kind = kinds[k];
        assert_int_equal(kaon_precond_create(matrix, &options, &K),
                         c->hermitian ? KAON_OK : KAON_ERR_ARGUMENT);
        kaon_operator_destroy(&K);
      }
      kaon_operator *A = sparse_operator(matrix, KAON_DOUBLE, KAON_STORE_AUTO);
      kaon_vector *x = sparse_vector(A, 1), *y = sparse_vector(A, 1);
      ref_complex unit[100] = {0}, found[100];
      unit[3] = 1; /* A^H e_3 is the conjugate of row 3 */
      sparse_import(x, 0, 100, unit);
      must(ctx, kaon_operator_apply(A, KAON_DAGGER, x, y));
      sparse_export(y, 0, 100, found);
      assert_true(found[7] == conj((turned ? I : 1) * c->more));
      kaon_vector_destroy(&x);
      kaon_vector_destroy(&y);
      kaon_operator_destroy(&A);
      kaon_matrix_destroy(&matrix);
      ref_sparse_free(&a);
    }
  }
  kaon_context_destroy(&ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(statistics_are_counted),
                                     cmocka_unit_test(symmetric_to_rounding_is_symmetric),
                                     cmocka_unit_test(rows_and_columns_of_zeros_are_named)};
  return test_main(tests, NULL, NULL);
}
