/* test_csr.c - rows in host memory against a dense matrix: triplets in any order and with
 * duplicates, short and long rows, transposes and permutations, refusals with both values in the
 * sentence. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sparse/storage/csr.h"
#include "tests/util/test_util.h"

static uint64_t seed = 1;
static uint32_t draw(uint32_t below) {
  seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (uint32_t)(seed >> 33) % below;
}

static void refused(kaon_status status, kaon_status expected, const char *const words[3]) {
  assert_int_equal(status, expected);
  for (int i = 0; i < 3; i++)
    if (words[i] != NULL && strstr(kaon_last_error(NULL), words[i]) == NULL) {
      print_message("'%s' is not in: %s\n", words[i], kaon_last_error(NULL));
      fail();
    }
}

/* Whole numbers, so that sums are exact in any order. dense: [row][column][reals]. */
typedef struct triplets {
  int64_t rows, columns, entries;
  int reals;
  int64_t *row, *column;
  double *value, *dense;
} triplets;

static triplets make(int64_t rows, int64_t columns, int reals, int64_t entries, int dense_row) {
  triplets t = {rows, columns, entries, reals, NULL, NULL, NULL, NULL};
  t.row = calloc((size_t)entries + 1, sizeof *t.row);
  t.column = calloc((size_t)entries + 1, sizeof *t.column);
  t.value = calloc((size_t)entries * 2 + 1, sizeof *t.value);
  t.dense = calloc((size_t)(rows * columns) * 2 + 1, sizeof *t.dense);
  for (int64_t n = 0; n < entries; n++) {
    t.row[n] = dense_row && n % 2 ? rows / 2 : draw((uint32_t)rows);
    t.column[n] = draw((uint32_t)columns);
    for (int c = 0; c < reals; c++) {
      t.value[n * reals + c] = (double)draw(100) - 50;
      t.dense[(t.row[n] * columns + t.column[n]) * reals + c] += t.value[n * reals + c];
    }
  }
  return t;
}

static void drop(triplets *t) {
  free(t->row), free(t->column), free(t->value), free(t->dense);
}

/* Entry (i, j) of the dense matrix, of its transpose, of its conjugate transpose. */
static double wanted(const triplets *t, int64_t i, int64_t j, int c, int turned) {
  const double *d = t->dense;
  if (turned == 0) return d[(i * t->columns + j) * t->reals + c];
  return d[(j * t->columns + i) * t->reals + c] * (turned == 2 && c == 1 ? -1 : 1);
}

static void check(const kaon_csr *csr, const triplets *t, int turned, const int32_t *order) {
  for (int64_t i = 0; i < csr->rows; i++) {
    for (int64_t n = csr->start[i] + 1; n < csr->start[i + 1]; n++)
      assert_true(csr->column[n] > csr->column[n - 1]);
    for (int64_t j = 0; j < csr->columns; j++) {
      const int64_t at = kaon_csr_find(csr, i, (int32_t)j);
      for (int c = 0; c < csr->reals; c++) {
        const double value = at < 0 ? 0 : csr->value[at * csr->reals + c];
        assert_true(value == wanted(t, order ? order[i] : i, order ? order[j] : j, c, turned));
      }
    }
  }
}

static void check_permuted(const kaon_csr *csr, const triplets *t) {
  const int32_t n = (int32_t)csr->rows;
  int32_t *order = calloc((size_t)n + 1, sizeof *order);
  for (int32_t i = 0; i < n; i++) order[i] = i;
  for (int32_t i = n - 1; i > 0; i--) {
    const int32_t j = (int32_t)draw((uint32_t)i + 1), old = order[i];
    order[i] = order[j];
    order[j] = old;
  }
  kaon_csr *permuted = NULL;
  must(NULL, kaon_csr_permute(NULL, csr, order, &permuted));
  check(permuted, t, 0, order);
  kaon_csr_destroy(&permuted);
  if (n > 1) {
    order[n - 1] = order[0];
    refused(kaon_csr_permute(NULL, csr, order, &permuted), KAON_ERR_ARGUMENT,
            (const char *[3]){"positions 0", "both name row", NULL});
    assert_null(permuted);
    order[0] = n;
    refused(kaon_csr_permute(NULL, csr, order, &permuted), KAON_ERR_ARGUMENT,
            (const char *[3]){"position 0", "rows are 0 to", NULL});
  }
  free(order);
}

static void triplets_become_rows(void **state) {
  (void)state;
  static const struct {
    int64_t rows, columns, entries;
    int dense_row;
  } cases[] = {{1, 1, 1, 0},     {1, 1, 0, 0},      {17, 17, 0, 0},     {17, 17, 60, 0},
               {60, 31, 700, 0}, {40, 40, 1200, 1}, {9, 3000, 9000, 1}, {300, 300, 5000, 1}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
    for (int reals = 1; reals <= 2; reals++) {
      triplets t =
          make(cases[i].rows, cases[i].columns, reals, cases[i].entries, cases[i].dense_row);
      kaon_csr *csr = NULL, *other = NULL;
      must(NULL, kaon_csr_from_triplets(NULL, t.rows, t.columns, reals, t.entries, t.row, t.column,
                                        t.value, KAON_CSR_ADD, &csr));
      check(csr, &t, 0, NULL);
      must(NULL, kaon_csr_copy(NULL, csr, &other));
      check(other, &t, 0, NULL);
      kaon_csr_destroy(&other);
      for (int conjugate = 0; conjugate < 2; conjugate++) {
        must(NULL, kaon_csr_transpose(NULL, csr, conjugate, &other));
        check(other, &t, 1 + conjugate, NULL);
        kaon_csr_destroy(&other);
      }
      if (t.rows == t.columns) check_permuted(csr, &t);
      kaon_csr_destroy(&csr);
      drop(&t);
    }
}

/* Three wide columns: all digits of a sort take part. */
static void columns_of_many_digits_are_sorted(void **state) {
  (void)state;
  enum { N = 1000 };
  int64_t row[N], column[N];
  double value[N];
  for (int n = 0; n < N; n++) {
    row[n] = 0;
    column[n] = (int64_t)((uint64_t)(n * 7919 % N) * (INT32_MAX - 1) / N);
    value[n] = (double)column[n];
  }
  kaon_csr *csr = NULL;
  must(NULL,
       kaon_csr_from_triplets(NULL, 1, INT32_MAX, 1, N, row, column, value, KAON_CSR_REFUSE, &csr));
  assert_int_equal(csr->start[1], N);
  for (int n = 0; n < N; n++) {
    assert_true(n == 0 || csr->column[n] > csr->column[n - 1]);
    assert_true(csr->value[n] == (double)csr->column[n]);
  }
  kaon_csr_destroy(&csr);
}

static void wrong_triplets_are_refused(void **state) {
  (void)state;
  int64_t row[] = {0, 2, 1, 2}, column[] = {0, 1, 1, 1};
  double value[] = {1, 2, 3, 4};
  kaon_csr *csr = NULL;
  refused(kaon_csr_from_triplets(NULL, 3, 2, 1, 4, row, column, value, KAON_CSR_REFUSE, &csr),
          KAON_ERR_FORMAT, (const char *[3]){"row 2", "column 1", "2 and 4"});
  assert_null(csr);
  refused(kaon_csr_from_triplets(NULL, 2, 2, 1, 4, row, column, value, KAON_CSR_ADD, &csr),
          KAON_ERR_ARGUMENT, (const char *[3]){"entry 1", "row 2", "0 to 1"});
  column[3] = -1;
  refused(kaon_csr_from_triplets(NULL, 3, 2, 1, 4, row, column, value, KAON_CSR_ADD, &csr),
          KAON_ERR_ARGUMENT, (const char *[3]){"entry 3", "column -1", "0 to 1"});
  column[3] = 1;
  value[2] = NAN;
  refused(kaon_csr_from_triplets(NULL, 3, 2, 1, 4, row, column, value, KAON_CSR_ADD, &csr),
          KAON_ERR_NOT_FINITE, (const char *[3]){"entry 2", "row 1", "column 1"});
  refused(kaon_csr_create(NULL, INT64_C(1) << 31, 1, 1, 0, &csr), KAON_ERR_ARGUMENT,
          (const char *[3]){"2147483648", "2147483647", NULL});
  refused(kaon_csr_create(NULL, 1, 1, 3, 0, &csr), KAON_ERR_ARGUMENT,
          (const char *[3]){"3 reals", NULL, NULL});
  refused(kaon_csr_create(NULL, 1, 1, 2, INT64_MAX / 2, &csr), KAON_ERR_MEMORY,
          (const char *[3]){"4611686018427387903 elements", "bytes", NULL});
  assert_null(csr);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(triplets_become_rows),
                                     cmocka_unit_test(columns_of_many_digits_are_sorted),
                                     cmocka_unit_test(wrong_triplets_are_refused)};
  return test_main(tests, NULL, NULL);
}
