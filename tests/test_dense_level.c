/* test_dense_level.c - the inverse of a coarse operator as one dense matrix: K b against
 * elimination by the reference, with the same bits for any number of threads and for columns alone
 * or together. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "lib/operator/operator_internal.h"
#include "tests/reference/reference.h"
#include "tests/util/dense_case.h"
#include "tests/util/machine.h"

static const dense_case cases[] = {
    {{2, 2, 2, 2}, 8, 1},  {{2, 2, 2, 4}, 8, 2},  {{4, 2, 2, 2}, 8, 3},
    {{2, 2, 2, 2}, 48, 4}, {{2, 2, 2, 4}, 48, 5}, {{4, 2, 2, 2}, 48, 6},
};
enum { CASES = sizeof cases / sizeof *cases, COLUMNS = 7, MOST = 4096, UNTOUCHED = -77 };

typedef struct bed {
  kaon_context *ctx;
  kaon_lattice *lattice;
  kaon_coarse_links links;
} bed;

static bed open_bed(const dense_case *c, int machine, int threads) {
  kaon_context_options options = KAON_CONTEXT_OPTIONS_INIT;
  bed b = {0};
  options.threads = threads;
  must(NULL, machine_open(machine, options, &b.ctx));
  must(b.ctx, kaon_lattice_create(b.ctx, c->extents, KAON_PERIODIC, &b.lattice));
  b.links = dense_links(c, b.lattice);
  return b;
}

static void close_bed(bed *b) {
  kaon_coarse_links_destroy(&b->links);
  kaon_lattice_destroy(&b->lattice);
  kaon_context_destroy(&b->ctx);
}

static kaon_operator *inverse_of(const bed *b, kaon_precision precision, kaon_dense_info *info) {
  kaon_operator *K = NULL;
  must(b->ctx, kaon_dense_inverse(&b->links, precision, MOST, &K, info));
  return K;
}

/* K applied to the first `columns` sources. */
static kaon_vector *solve(const dense_case *c, const bed *b, kaon_operator *K, int columns) {
  kaon_vector *x = dense_sources(c, b->lattice, K->precision, columns);
  kaon_vector *y = dense_vector(b->lattice, c->reals, K->precision, columns);
  must(b->ctx, kaon_operator_run(K, KAON_PLAIN, x, y, NULL));
  kaon_vector_destroy(&x);
  return y;
}

static void same_column(const kaon_vector *a, int column, const kaon_vector *b, int of_b) {
  const size_t bytes = (size_t)(a->space->lattice->volume * a->space->ncomp) * sizeof(double);
  dense_number *one = dense_export(a, column), *other = dense_export(b, of_b);
  assert_memory_equal(one, other, bytes);
  free(one);
  free(other);
}

/* ---- against the reference ---- */

/* Errors of K b over |A^-1| |b|, largest components and row sums, n rows, d the largest element of
 * a row, which exceeds the sum of the others by at least d / 2:
 * - |A^-1| <= 2 / d and |A| <= 3 d / 2, so their product is at most 3.
 * - The LU factors of a matrix with dominant columns (LAPACK has the transpose) have | |L| |U| | <=
 *   2 |A|: columns of L add up to at most 2, and elimination does not enlarge sums of columns. A
 *   complex multiplication and addition errs by 2 sqrt 2 u of the terms, and n of them by n times
 *   as much. Factors, the inverse of U and its product with L^-1 are three such errors: 17 n u |A|
 *   |A^-1| in double. The reference's factors and two triangular solves are as many.
 * - Products with K: n terms each. Elements of K, sources and results are rounded once: 3.
 * In single precision sources are rounded for K alone. */
static double error_bound(int n, kaon_precision precision) {
  const double u = precision == KAON_DOUBLE ? 0x1p-53 : 0x1p-24;
  return 2 * 17 * n * 0x1p-53 * 3 + (2 * sqrt(2) * n + 3) * u;
}

static void check_solution(const dense_case *c, const kaon_vector *y, const dense_number *x) {
  dense_number *found = dense_export(y, COLUMNS - 1);
  char text[96];
  double error = 0;
  for (int i = 0; i < dense_rows(c); i++) error = larger(error, cabs(found[i] - x[i]));
  snprintf(text, sizeof text, "%d rows, %d a site, %s", dense_rows(c), c->reals / 2,
           y->precision == KAON_DOUBLE ? "double" : "single");
  test_below(text, error,
             error_bound(dense_rows(c), y->precision) * sqrt(2) * 2 / dense_largest(c));
  free(found);
}

static void agrees_with_elimination(void **state) {
  (void)state;
  for (int i = 0; i < CASES; i++) {
    const dense_case *c = &cases[i];
    const int rows = dense_rows(c), n = c->reals / 2;
    dense_number *a = dense_matrix(c), *x = calloc((size_t)rows, sizeof *x);
    dense_number *b = calloc((size_t)rows, sizeof *b);
    const dense_column last = {c, 0, COLUMNS - 1};
    for (int r = 0; r < rows; r++) b[r] = dense_source(&last, r / n, r % n);
    assert_true(ref_solve_dense(rows, a, b, x));
    for (int machine = KAON_ISA_SCALAR; machine <= MACHINE_LAST; machine++) {
      if (machine_lacks(machine)) continue;
      bed t = open_bed(c, machine, 2);
      for (int p = KAON_DOUBLE; p <= KAON_SINGLE; p++) {
        kaon_operator *K = inverse_of(&t, (kaon_precision)p, NULL);
        kaon_vector *y = solve(c, &t, K, COLUMNS);
        check_solution(c, y, x);
        kaon_vector_destroy(&y);
        kaon_operator_destroy(&K);
      }
      close_bed(&t);
    }
    free(a);
    free(b);
    free(x);
  }
}

/* A (K b) = b with the coarse operator A of the matrices. The error above grows by |A|, at most
 * 3 d / 2. A's product has 9 matrices of n numbers, which in single precision are rounded, and b is
 * rounded. */
static double residual_bound(const dense_case *c, kaon_precision precision) {
  const double u = precision == KAON_DOUBLE ? 0x1p-53 : 0x1p-24;
  const double product = (2 * sqrt(2) * DENSE_FIELDS * c->reals / 2 + 3) * u;
  return 3 * sqrt(2) * (error_bound(dense_rows(c), precision) + product);
}

static void inverts_the_coarse_operator(void **state) {
  (void)state;
  for (int i = 0; i < CASES; i += 3)
    for (int machine = KAON_ISA_SCALAR; machine <= MACHINE_LAST; machine++) {
      const dense_case *c = &cases[i];
      if (machine_lacks(machine)) continue;
      for (int p = KAON_DOUBLE; p <= KAON_SINGLE; p++) {
        bed t = open_bed(c, machine, 2);
        kaon_operator *A = NULL, *K = NULL;
        must(t.ctx, kaon_coarse_create(&t.links, (kaon_precision)p, 0, &A));
        must(t.ctx, kaon_dense_inverse(kaon_coarse_links_of(A), A->precision, MOST, &K, NULL));
        assert_ptr_equal(K->space, A->space);
        kaon_vector *x = solve(c, &t, K, 1), *b = dense_sources(c, t.lattice, A->precision, 1);
        kaon_vector *y = dense_vector(t.lattice, c->reals, A->precision, 1);
        must(t.ctx, kaon_operator_run(A, KAON_PLAIN, x, y, NULL));
        dense_number *found = dense_export(y, 0), *wanted = dense_export(b, 0);
        double error = 0;
        for (int r = 0; r < dense_rows(c); r++) error = larger(error, cabs(found[r] - wanted[r]));
        test_below("A (K b) - b", error, residual_bound(c, A->precision));
        free(found);
        free(wanted);
        kaon_vector_destroy(&x);
        kaon_vector_destroy(&y);
        kaon_vector_destroy(&b);
        kaon_operator_destroy(&K);
        kaon_operator_destroy(&A);
        close_bed(&t);
      }
    }
}

/* ---- bits ---- */

extern void openblas_set_num_threads(int threads) __attribute__((weak));
extern int openblas_get_num_threads(void) __attribute__((weak));

static void set_threads_of_blas(int threads) {
  if (openblas_set_num_threads != NULL) openblas_set_num_threads(threads);
}

/* Threads of kaon and of the BLAS library; the latter are left as they were. */
static void threads_do_not_change_bits(void **state) {
  (void)state;
  static const int threads[] = {1, 2, 5};
  for (int machine = KAON_ISA_SCALAR; machine <= MACHINE_LAST; machine++) {
    if (machine_lacks(machine)) continue;
    for (int i = 0; i < CASES; i += CASES - 1)
      for (int p = KAON_DOUBLE; p <= KAON_SINGLE; p++) {
        bed t[3];
        kaon_vector *y[3];
        for (int k = 0; k < 3; k++) {
          set_threads_of_blas(threads[k]);
          t[k] = open_bed(&cases[i], machine, threads[k]);
          kaon_operator *K = inverse_of(&t[k], (kaon_precision)p, NULL);
          if (openblas_get_num_threads != NULL)
            assert_int_equal(openblas_get_num_threads(), threads[k]);
          y[k] = solve(&cases[i], &t[k], K, COLUMNS);
          for (int column = 0; column < COLUMNS; column++) same_column(y[k], column, y[0], column);
          kaon_operator_destroy(&K);
        }
        for (int k = 0; k < 3; k++) {
          kaon_vector_destroy(&y[k]);
          close_bed(&t[k]);
        }
      }
  }
  set_threads_of_blas(1);
}

/* All gates, and gates that close some columns: those keep their numbers. */
static void check_gates(const dense_case *c, const bed *t, kaon_operator *K, const kaon_vector *y) {
  kaon_vector *x = dense_sources(c, t->lattice, K->precision, COLUMNS);
  kaon_vector *z = dense_sources(c, t->lattice, K->precision, COLUMNS);
  kaon_column_state host[COLUMNS];
  double norm2[COLUMNS];
  kaon_scalars *scalars = NULL;
  kaon_pass pass = KAON_PASS_INIT;
  must(t->ctx, kaon_scalars_create(t->ctx, COLUMNS, &scalars));
  must(t->ctx, kaon_vector_norm2(y, norm2));
  for (int closed = 0; closed < 1 << COLUMNS; closed += 13) {
    must(t->ctx, kaon_vector_copy(z, x));
    must(t->ctx, kaon_scalars_read(scalars, host));
    for (int k = 0; k < COLUMNS; k++) {
      host[k].gate = closed >> k & 1 ? 0 : KAON_GATE_STEP;
      host[k].slot[0][0] = UNTOUCHED;
    }
    must(t->ctx, kaon_scalars_write(scalars, host));
    pass.scalars = scalars;
    pass.norm = 0;
    must(t->ctx, kaon_operator_run(K, KAON_PLAIN, x, z, &pass));
    must(t->ctx, kaon_scalars_read(scalars, host));
    for (int k = 0; k < COLUMNS; k++) {
      same_column(z, k, closed >> k & 1 ? x : y, k);
      assert_true(host[k].slot[0][0] == (closed >> k & 1 ? UNTOUCHED : norm2[k]));
    }
  }
  kaon_scalars_destroy(&scalars);
  kaon_vector_destroy(&x);
  kaon_vector_destroy(&z);
}

static void columns_are_independent(void **state) {
  (void)state;
  for (int machine = KAON_ISA_SCALAR; machine <= MACHINE_LAST; machine++) {
    if (machine_lacks(machine)) continue;
    for (int p = KAON_DOUBLE; p <= KAON_SINGLE; p++) {
      const dense_case *c = &cases[1];
      bed t = open_bed(c, machine, 2);
      kaon_operator *K = inverse_of(&t, (kaon_precision)p, NULL);
      must(t.ctx, kaon_operator_reserve(K, KAON_PLAIN, COLUMNS));
      kaon_vector *y = solve(c, &t, K, COLUMNS);
      for (int columns = 1; columns < COLUMNS; columns++) {
        kaon_vector *few = solve(c, &t, K, columns);
        for (int k = 0; k < columns; k++) same_column(few, k, y, k);
        kaon_vector_destroy(&few);
      }
      check_gates(c, &t, K, y);
      kaon_vector_destroy(&y);
      kaon_operator_destroy(&K);
      close_bed(&t);
    }
  }
}

/* ---- what K says of itself, twins and updates ---- */

static dense_number unit(const void *user, int64_t site, int i) {
  const dense_column *u = user;
  return site * u->c->reals / 2 + i == u->column;
}

/* |A^-1|_1 from the columns of A^-1, and |A|_1; both of K's rows are rounded once in their sums. */
static void norms_are_those_of_the_matrix(void **state) {
  (void)state;
  const dense_case *c = &cases[0];
  const int rows = dense_rows(c);
  kaon_dense_info info = {0};
  bed t = open_bed(c, KAON_ISA_AUTO, 1);
  kaon_operator *K = inverse_of(&t, KAON_DOUBLE, &info);
  kaon_vector *x = dense_vector(t.lattice, c->reals, KAON_DOUBLE, rows);
  kaon_vector *y = dense_vector(t.lattice, c->reals, KAON_DOUBLE, rows);
  dense_number *a = dense_matrix(c);
  double norm = 0, inverse_norm = 0;
  for (int k = 0; k < rows; k++) {
    const dense_column u = {c, 0, k};
    dense_fill(x, k, unit, &u);
  }
  must(t.ctx, kaon_operator_run(K, KAON_PLAIN, x, y, NULL));
  for (int k = 0; k < rows; k++) {
    dense_number *column = dense_export(y, k);
    double sum = 0, of_inverse = 0;
    for (int i = 0; i < rows; i++) {
      sum += cabs(a[(size_t)i * (size_t)rows + (size_t)k]);
      of_inverse += cabs(column[i]);
    }
    norm = larger(norm, sum);
    inverse_norm = larger(inverse_norm, of_inverse);
    free(column);
  }
  const double rounding = (rows + 2) * 0x1p-53; /* of a sum of magnitudes, each way */
  assert_int_equal(info.rows, rows);
  test_close("|A^-1|", info.inverse_norm, inverse_norm, 2 * rounding * inverse_norm);
  test_close("condition", info.condition, norm * inverse_norm, 5 * rounding * norm * inverse_norm);
  free(a);
  kaon_vector_destroy(&x);
  kaon_vector_destroy(&y);
  kaon_operator_destroy(&K);
  close_bed(&t);
}

static void same_inverse(const dense_case *c, const bed *t, kaon_operator *K, kaon_operator *L) {
  kaon_vector *one = solve(c, t, K, 2), *other = solve(c, t, L, 2);
  for (int k = 0; k < 2; k++) same_column(one, k, other, k);
  kaon_vector_destroy(&one);
  kaon_vector_destroy(&other);
}

static void twins_follow_updates(void **state) {
  (void)state;
  const dense_case *c = &cases[1];
  dense_case other = *c;
  kaon_operator *twin = NULL, *half = NULL;
  bed t = open_bed(c, KAON_ISA_AUTO, 1);
  kaon_operator *K = inverse_of(&t, KAON_DOUBLE, NULL), *single = inverse_of(&t, KAON_SINGLE, NULL);
  must(t.ctx, K->ops->twin(K, KAON_SINGLE, KAON_RECONSTRUCT_18, &twin));
  same_inverse(c, &t, twin, single);
  kaon_operator_destroy(&single);
  must_refuse(t.ctx, KAON_ERR_UNSUPPORTED, K->ops->twin(K, KAON_HALF, KAON_RECONSTRUCT_18, &half));
  assert_null(half);
  other.seed++;
  kaon_coarse_links_destroy(&t.links);
  t.links = dense_links(&other, t.lattice);
  must(t.ctx, kaon_dense_inverse_update(K, &t.links, NULL));
  kaon_operator *fresh = inverse_of(&t, KAON_DOUBLE, NULL);
  single = inverse_of(&t, KAON_SINGLE, NULL);
  same_inverse(c, &t, K, fresh);
  same_inverse(c, &t, twin, single);
  /* a failed update leaves K stale, and what was made of it */
  must(t.ctx, kaon_vector_poison(t.links.hop[3]));
  kaon_vector *x = dense_sources(c, t.lattice, KAON_DOUBLE, 1);
  kaon_vector *y = dense_vector(t.lattice, c->reals, KAON_DOUBLE, 1);
  must_refuse(t.ctx, KAON_ERR_NOT_FINITE, kaon_dense_inverse_update(K, &t.links, NULL));
  must_refuse(t.ctx, KAON_ERR_STALE, kaon_operator_run(K, KAON_PLAIN, x, y, NULL));
  kaon_vector_destroy(&x);
  kaon_vector_destroy(&y);
  kaon_operator_destroy(&K);
  kaon_operator_destroy(&fresh);
  kaon_operator_destroy(&single);
  kaon_operator_destroy(&twin);
  close_bed(&t);
}

/* ---- refusals ---- */

/* Row 3 at site 5 is `factor` times the row before, in all fields. */
typedef struct dependent_column {
  dense_column of;
  double factor;
} dependent_column;

static dense_number dependent(const void *user, int64_t site, int i) {
  const dependent_column *u = user;
  if (site != 5 || i != 3) return dense_of_field(&u->of, site, i);
  return u->factor * dense_of_field(&u->of, site, i - 1);
}

static void singular_matrices_are_refused(void **state) {
  (void)state;
  static const double factors[] = {0, 1, 1. / 3};
  const dense_case *c = &cases[0];
  bed t = open_bed(c, KAON_ISA_AUTO, 1);
  for (int f = 0; f < 3; f++) {
    kaon_operator *K = NULL;
    for (int field = 0; field < DENSE_FIELDS; field++)
      for (int j = 0; j < c->reals / 2; j++) {
        const dependent_column u = {{c, field, j}, factors[f]};
        dense_fill(field == KAON_DIRS ? t.links.inside : t.links.hop[field], j, dependent, &u);
      }
    must_refuse(t.ctx, KAON_ERR_SINGULAR,
                kaon_dense_inverse(&t.links, KAON_SINGLE, MOST, &K, NULL));
    assert_non_null(strstr(kaon_last_error(t.ctx), "pivot 24 of 64"));
    assert_non_null(strstr(kaon_last_error(t.ctx), "number 3 at coarse site 1 0 1 0"));
    assert_null(K);
  }
  close_bed(&t);
}

static void what_is_not_offered_is_refused(void **state) {
  (void)state;
  const dense_case *c = &cases[0];
  bed t = open_bed(c, KAON_ISA_AUTO, 1);
  kaon_operator *K = NULL;
  must_refuse(t.ctx, KAON_ERR_ARGUMENT, kaon_dense_inverse(&t.links, KAON_SINGLE, 63, &K, NULL));
  assert_non_null(strstr(kaon_last_error(t.ctx), "64 rows"));
  assert_non_null(strstr(kaon_last_error(t.ctx), "at most 63"));
  must_refuse(t.ctx, KAON_ERR_UNSUPPORTED, kaon_dense_inverse(&t.links, KAON_HALF, 64, &K, NULL));
  assert_null(K);
  must(t.ctx, kaon_dense_inverse(&t.links, KAON_SINGLE, 64, &K, NULL));
  kaon_vector *x = dense_sources(c, t.lattice, KAON_SINGLE, 1);
  kaon_vector *y = dense_vector(t.lattice, c->reals, KAON_SINGLE, 1);
  must_refuse(t.ctx, KAON_ERR_UNSUPPORTED, kaon_operator_run(K, KAON_DAGGER, x, y, NULL));
  kaon_vector_destroy(&x);
  kaon_vector_destroy(&y);
  bed other = open_bed(&cases[1], KAON_ISA_AUTO, 1);
  must_refuse(t.ctx, KAON_ERR_SHAPE, kaon_dense_inverse_update(K, &other.links, NULL));
  kaon_operator_destroy(&K);
  close_bed(&other);
  close_bed(&t);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(agrees_with_elimination),
      cmocka_unit_test(inverts_the_coarse_operator),
      cmocka_unit_test(threads_do_not_change_bits),
      cmocka_unit_test(columns_are_independent),
      cmocka_unit_test(norms_are_those_of_the_matrix),
      cmocka_unit_test(twins_follow_updates),
      cmocka_unit_test(singular_matrices_are_refused),
      cmocka_unit_test(what_is_not_offered_is_refused),
  };
  return test_main(tests, NULL, NULL);
}
