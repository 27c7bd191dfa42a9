/* test_pipeline.c - triangular solves by several threads at once (sparse/sweeps/pipeline.h). A
 * plan's chunks contain every row once. They wait for every row of another thread that they need,
 * and for no row that does not precede their strip. Grids have plans; chains and rows without a
 * pattern have none. Results have the bits of one thread, for one column and several, real and
 * complex, in all precisions. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "sparse/sweeps/pipeline.h"
#include "tests/util/machine.h"
#include "tests/util/precond_case.h"
#include "tests/util/row_case.h"

static kaon_context *with_threads(int threads) {
  kaon_context_options options = KAON_CONTEXT_OPTIONS_INIT;
  kaon_context *ctx = NULL;
  options.threads = threads;
  must(NULL, machine_open(MACHINE_CPU, options, &ctx));
  return ctx;
}

/* The strict triangle below the diagonal, or above it. */
static kaon_csr *triangle_of(const kaon_csr *A, int above) {
  kaon_csr *T = NULL;
  must(NULL, kaon_csr_create(NULL, A->rows, A->columns, A->reals, A->start[A->rows], &T));
  int64_t count = 0;
  for (int64_t i = 0; i < A->rows; i++) {
    for (int64_t n = A->start[i]; n < A->start[i + 1]; n++) {
      if (above ? A->column[n] <= i : A->column[n] >= i) continue;
      T->column[count] = A->column[n];
      memcpy(T->value + count * A->reals, A->value + n * A->reals,
             (size_t)A->reals * sizeof *A->value);
      count++;
    }
    T->start[i + 1] = count;
  }
  return T;
}

/* NULL: there is none. order 0: numbers are no order, whatever T is. */
static kaon_pipeline *plan_of(const kaon_csr *T, int order, int threads) {
  kaon_context *ctx = with_threads(threads);
  kaon_level_sets *sets = NULL;
  kaon_pipeline *p = NULL;
  must(NULL, kaon_level_sets_create(NULL, T, order < 0, NULL, &sets));
  must(ctx, kaon_pipeline_create(ctx, T, order, sets, &p));
  kaon_level_sets_destroy(&sets);
  kaon_context_destroy(&ctx);
  return p;
}

/* ---- plans ---- */

/* strip_of[chunk], and that chunks and strips are whole. */
static int *check_chunks(const kaon_pipeline *p, int64_t rows) {
  int *strip_of = calloc((size_t)p->chunks, sizeof *strip_of);
  assert_int_equal(p->strip[0], 0);
  assert_int_equal(p->strip[p->strips], p->chunks);
  assert_int_equal(p->chunk[0], 0);
  assert_int_equal(p->chunk[p->chunks], rows);
  for (int i = 0; i < p->chunks; i++) assert_true(p->chunk[i] < p->chunk[i + 1]);
  for (int s = 0; s < p->strips; s++) {
    assert_true(p->strip[s] < p->strip[s + 1]);
    for (int i = p->strip[s]; i < p->strip[s + 1]; i++) strip_of[i] = s;
  }
  return strip_of;
}

static void check_plan(const kaon_csr *T, int order, const kaon_pipeline *p) {
  const int64_t rows = T->rows;
  int *strip_of = check_chunks(p, rows);
  int *owner = calloc((size_t)rows, sizeof *owner);
  for (int i = 0; i < p->chunks; i++)
    for (int64_t n = p->chunk[i]; n < p->chunk[i + 1]; n++) owner[n] = strip_of[i] % p->threads;
  for (int i = 0; i < p->chunks; i++) {
    const int32_t *need = p->need + i * p->threads;
    const int64_t begin = p->chunk[p->strip[strip_of[i]]];
    assert_int_equal(need[strip_of[i] % p->threads], 0);
    for (int t = 0; t < p->threads; t++) assert_in_range(need[t], 0, begin);
    for (int64_t n = p->chunk[i]; n < p->chunk[i + 1]; n++) {
      const int64_t row = order > 0 ? n : rows - 1 - n;
      for (int64_t k = T->start[row]; k < T->start[row + 1]; k++) {
        const int64_t other = order > 0 ? T->column[k] : rows - 1 - T->column[k];
        assert_true(other < n);
        if (owner[other] != owner[n]) assert_true(need[owner[other]] > other);
      }
    }
  }
  free(strip_of);
  free(owner);
}

/* 27 points, three numbers each. */
static kaon_csr *box_of_threes(int n) {
  const int64_t rows = 3 * (int64_t)n * n * n;
  kaon_csr *A = NULL;
  must(NULL, kaon_csr_create(NULL, rows, rows, 1, 81 * rows, &A));
  int64_t count = 0;
  for (int64_t row = 0; row < rows; row++) {
    const int64_t node = row / 3, x = node % n, y = node / n % n, z = node / n / n;
    for (int k = 0; k < 81; k++) {
      const int64_t a = x + k / 3 % 3 - 1, b = y + k / 9 % 3 - 1, c = z + k / 27 - 1;
      if (a < 0 || b < 0 || c < 0 || a >= n || b >= n || c >= n) continue;
      const int64_t column = 3 * (a + n * (b + n * c)) + k % 3;
      A->value[count] = column == row ? 100 : -1;
      A->column[count++] = (int32_t)column;
    }
    A->start[row + 1] = count;
  }
  return A;
}

static kaon_csr *of_shape(int shape) {
  if (shape == 0) return row_case_laplace(40, 30, 22);
  if (shape == 1) return row_case_laplace(300, 200, 1);
  if (shape == 2) return box_of_threes(14);
  if (shape == 3) return row_case_tridiagonal(9000, 1, 1);
  return row_case_random(30000, 6, 1, 1, 3);
}
static const char *const shapes[] = {"7 points", "5 points", "27 points of 3", "a chain",
                                     "random places"};
enum { SHAPES = sizeof shapes / sizeof *shapes, PLANNED = 3 };

static void plans_wait_for_all_they_need(void **state) {
  (void)state;
  static const int teams[] = {2, 3, 5, 8};
  for (int shape = 0; shape < SHAPES; shape++) {
    kaon_csr *A = of_shape(shape);
    for (size_t n = 0; n < sizeof teams / sizeof *teams; n++)
      for (int above = 0; above < 2; above++) {
        kaon_csr *T = triangle_of(A, above);
        kaon_pipeline *p = plan_of(T, above ? -1 : 1, teams[n]);
        if (p != NULL) {
          printf("  %s, %s, %d threads: %d strips, %d chunks, %.2f times as fast\n", shapes[shape],
                 above ? "downwards" : "upwards", teams[n], p->strips, p->chunks, p->gain);
          check_plan(T, above ? -1 : 1, p);
          assert_true(p->gain > 1 && p->gain <= teams[n]);
        }
        if (shape >= PLANNED) assert_null(p);
        if (shape == 0 && teams[n] <= 3) assert_non_null(p); /* 22 planes of 1200 rows */
        kaon_pipeline_destroy(&p);
        kaon_csr_destroy(&T);
      }
    kaon_csr_destroy(&A);
  }
}

static void nothing_to_share_has_no_plan(void **state) {
  (void)state;
  kaon_csr *A = row_case_laplace(40, 30, 22), *small = row_case_laplace(8, 8, 8);
  kaon_csr *T = triangle_of(A, 0), *S = triangle_of(small, 0);
  kaon_pipeline *two = plan_of(T, 1, 2);
  assert_non_null(two);
  kaon_pipeline_destroy(&two);
  assert_null(plan_of(T, 1, 1));
  assert_null(plan_of(T, 0, 2));
  assert_null(plan_of(T, 1, KAON_PIPELINE_THREADS + 1));
  assert_null(plan_of(S, 1, 2));
  kaon_csr_destroy(&A), kaon_csr_destroy(&small), kaon_csr_destroy(&T), kaon_csr_destroy(&S);
}

/* Two levels of adjacent rows: distributing them over threads is the ideal case. */
static void levels_that_gain_more_are_kept(void **state) {
  (void)state;
  enum { ROWS = 1 << 16, HALF = ROWS / 2 };
  kaon_csr *A = NULL;
  must(NULL, kaon_csr_create(NULL, ROWS, ROWS, 1, 2 * ROWS, &A));
  for (int64_t i = 0, count = 0; i < ROWS; i++) { /* the second half waits for the first one's */
    if (i >= HALF) {
      A->column[count] = (int32_t)(i - HALF);
      A->value[count++] = -0.5;
    }
    A->column[count] = (int32_t)i;
    A->value[count++] = 1;
    A->start[i + 1] = count;
  }
  kaon_csr *T = triangle_of(A, 0);
  assert_null(plan_of(T, 1, 16));
  kaon_csr_destroy(&A), kaon_csr_destroy(&T);
}

/* ---- bits ---- */

enum { COLUMNS = 3 };

/* K x of all columns by so many threads: the bytes of the result as stored. */
static void *factors_by(int threads, const kaon_csr *A, kaon_precision precision, int columns,
                        kaon_precond_kind kind, size_t *bytes) {
  kaon_context *ctx = with_threads(threads);
  kaon_matrix *matrix = precond_matrix(ctx, A, 1);
  kaon_precond_options o = KAON_PRECOND_OPTIONS_INIT;
  kaon_operator *K = NULL;
  kaon_vector *x = NULL, *y = NULL;
  const int64_t n = A->rows;
  number *host = calloc((size_t)n, sizeof *host);
  o.kind = kind;
  o.precision = precision;
  precond_ok(ctx, kaon_precond_create(matrix, &o, &K));
  precond_ok(ctx, kaon_vector_create(ctx, K->space, K->precision, columns, &x));
  precond_ok(ctx, kaon_vector_create(ctx, K->space, K->precision, columns, &y));
  for (int k = 0; k < columns; k++) {
    row_case_vector(n, A->reals, 5 + (uint64_t)k, host);
    precond_import(x, k, n, host);
  }
  precond_ok(ctx, kaon_operator_apply(K, KAON_PLAIN, x, y));
  *bytes = (size_t)n * (size_t)columns * sizeof *host;
  number *result = calloc((size_t)columns * (size_t)n, sizeof *result);
  for (int k = 0; k < columns; k++) precond_export(y, k, n, result + k * n);
  kaon_vector_destroy(&x), kaon_vector_destroy(&y);
  kaon_operator_destroy(&K);
  kaon_matrix_destroy(&matrix);
  kaon_context_destroy(&ctx);
  free(host);
  return result;
}

/* 22 planes of 1200 rows, which teams of 2 to 4 have plans for, upwards and downwards. */
static kaon_csr *planes(void) {
  kaon_csr *A = row_case_laplace(40, 30, 22);
  for (int threads = 2; threads <= 4; threads++)
    for (int above = 0; above < 2; above++) {
      kaon_csr *T = triangle_of(A, above);
      kaon_pipeline *p = plan_of(T, above ? -1 : 1, threads);
      assert_non_null(p);
      kaon_pipeline_destroy(&p);
      kaon_csr_destroy(&T);
    }
  return A;
}

static void the_same_by(const kaon_csr *A, kaon_precision precision, int columns,
                        kaon_precond_kind kind) {
  size_t bytes, others;
  void *one = factors_by(1, A, precision, columns, kind, &bytes);
  for (int threads = 2; threads <= 4; threads++) {
    void *many = factors_by(threads, A, precision, columns, kind, &others);
    assert_int_equal(bytes, others);
    assert_memory_equal(one, many, bytes);
    free(many);
  }
  free(one);
}

static void bits_are_those_of_one_thread(void **state) {
  (void)state;
  kaon_csr *A = planes(), *Z = NULL;
  must(NULL, kaon_csr_create(NULL, A->rows, A->columns, 2, A->start[A->rows], &Z));
  memcpy(Z->start, A->start, ((size_t)A->rows + 1) * sizeof *A->start);
  memcpy(Z->column, A->column, (size_t)A->start[A->rows] * sizeof *A->column);
  for (int64_t i = 0; i < A->rows; i++) /* phases that A^H takes back */
    for (int64_t n = A->start[i]; n < A->start[i + 1]; n++) {
      const int side = (A->column[n] > i) - (A->column[n] < i);
      Z->value[2 * n] = side == 0 ? 7 : -0.8;
      Z->value[2 * n + 1] = 0.6 * side;
    }
  for (int p = KAON_DOUBLE; p <= KAON_HALF; p++)
    for (int columns = 1; columns <= COLUMNS; columns += COLUMNS - 1) {
      the_same_by(A, (kaon_precision)p, columns, KAON_PRECOND_IC0);
      the_same_by(A, (kaon_precision)p, columns, KAON_PRECOND_SSOR);
      the_same_by(Z, (kaon_precision)p, columns, KAON_PRECOND_ILU0);
    }
  kaon_csr_destroy(&A), kaon_csr_destroy(&Z);
}

/* Inside the caller's parallel region OpenMP gives a team of one, which waits for nobody. */
static void a_team_that_is_too_small_ends(void **state) {
  (void)state;
  size_t bytes, others;
  kaon_csr *A = planes();
  void *one = factors_by(1, A, KAON_DOUBLE, 1, KAON_PRECOND_IC0, &bytes), *alone = NULL;
  omp_set_max_active_levels(1);
#pragma omp parallel num_threads(2)
#pragma omp single
  alone = factors_by(4, A, KAON_DOUBLE, 1, KAON_PRECOND_IC0, &others);
  assert_int_equal(bytes, others);
  assert_memory_equal(one, alone, bytes);
  free(one);
  free(alone);
  kaon_csr_destroy(&A);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(plans_wait_for_all_they_need),
      cmocka_unit_test(nothing_to_share_has_no_plan),
      cmocka_unit_test(levels_that_gain_more_are_kept),
      cmocka_unit_test(bits_are_those_of_one_thread),
      cmocka_unit_test(a_team_that_is_too_small_ends),
  };
  if (machine_lacks(MACHINE_CPU)) return TEST_SKIPPED;
  return test_main(tests, NULL, NULL);
}
