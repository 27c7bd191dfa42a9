/* test_row_vectors.c - vector kernels on spaces that are not spinors: rows of a matrix, real or
 * complex, of any number of reals, with a partly filled last vector. They agree with plain C on
 * exported arrays.
 *
 * Bounds as in test_update_kernels.c: 6 roundings for each of k products behind a number; half
 * adds one quantisation of 0.51 / 32767 of the row's largest; sums (ncomp + 8 + blocks) roundings
 * of double, half ncomp + 2 of single more. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blas/blas.h"
#include "tests/util/machine.h"
#include "tests/util/test_util.h"

enum { ROWS = 77, COLUMNS = 2, N = 4, NORM = 10, DOT = 11, FIRST = 20 };

typedef struct rows {
  kaon_context *ctx;
  kaon_space space;
  kaon_precision precision;
  size_t count; /* reals of a column */
  kaon_vector *v[N];
  double *before[N], *after[N]; /* [column][row][component] */
  kaon_scalars *scalars;
  kaon_column_state state[COLUMNS];
} rows;

static uint64_t seed;
static void export_all(const rows *r, double *const *to) {
  for (int i = 0; i < N; i++)
    for (int k = 0; k < COLUMNS; k++)
      must(r->ctx, kaon_vector_export(r->v[i], k, to[i] + (size_t)k * r->count, KAON_BASIS_UKQCD));
}

static void open_rows(rows *r, int machine, int ncomp, int complex_space,
                      kaon_precision precision) {
  const kaon_context_options options = KAON_CONTEXT_OPTIONS_INIT;
  memset(r, 0, sizeof *r);
  must(NULL, machine_open(machine, options, &r->ctx));
  const int width = r->ctx->backend->width;
  r->space = (kaon_space){.ctx = r->ctx,
                          .inner = 1,
                          .nblocks = (ROWS + width - 1) / width,
                          .nsites = ROWS,
                          .width = width,
                          .ncomp = ncomp,
                          .complex_space = complex_space};
  r->precision = precision;
  r->count = (size_t)ROWS * (size_t)ncomp;
  for (int i = 0; i < N; i++) {
    must(r->ctx, kaon_vector_create(r->ctx, &r->space, precision, COLUMNS, &r->v[i]));
    r->before[i] = calloc(r->count * COLUMNS, sizeof(double));
    r->after[i] = calloc(r->count * COLUMNS, sizeof(double));
    for (size_t n = 0; n < r->count * COLUMNS; n++) r->before[i][n] = test_uniform(&seed);
    for (int k = 0; k < COLUMNS; k++)
      must(r->ctx,
           kaon_vector_import(r->v[i], k, r->before[i] + (size_t)k * r->count, KAON_BASIS_UKQCD));
  }
  must(r->ctx, kaon_scalars_create(r->ctx, COLUMNS, &r->scalars));
  must(r->ctx, kaon_scalars_read(r->scalars, r->state));
  for (int k = 0; k < COLUMNS; k++)
    for (int s = 0; s < N; s++)
      for (int c = 0; c < 2; c++) r->state[k].slot[s][c] = test_uniform(&seed);
  must(r->ctx, kaon_scalars_write(r->scalars, r->state));
  export_all(r, r->before);
}

static void close_rows(rows *r) {
  for (int i = 0; i < N; i++) {
    kaon_vector_destroy(&r->v[i]);
    free(r->before[i]), free(r->after[i]);
  }
  kaon_scalars_destroy(&r->scalars);
  kaon_context_destroy(&r->ctx);
}

static double roundoff(kaon_precision p) {
  return p == KAON_DOUBLE ? 0x1p-53 : 0x1p-24;
}

/* Error / bound of v[target] = its old value times `keep` + sum over i != target of c_i v_i. */
static double check_combination(const rows *r, int target, int keep) {
  const int nc = r->space.ncomp;
  double worst = 0;
  for (int k = 0; k < COLUMNS; k++)
    for (size_t row = 0; row < ROWS; row++) {
      double value[128], magnitude[128], largest = 0;
      for (int c = 0; c < nc; c++) {
        const size_t at = (size_t)k * r->count + row * (size_t)nc + (size_t)c;
        value[c] = magnitude[c] = 0;
        for (int i = 0; i < N; i++) {
          const double *slot = r->state[k].slot[i], *x = r->before[i] + at;
          double term = slot[0] * x[0];
          if (i == target)
            term = keep * x[0];
          else if (r->space.complex_space)
            term += c % 2 ? slot[1] * x[-1] : -slot[1] * x[1];
          value[c] += term;
          magnitude[c] += fabs(x[0]) + (r->space.complex_space ? fabs(x[c % 2 ? -1 : 1]) : 0);
        }
        largest = larger(largest, fabs(value[c]));
      }
      for (int c = 0; c < nc; c++) {
        const double found = r->after[target][(size_t)k * r->count + row * (size_t)nc + (size_t)c];
        double bound = 6 * N * roundoff(r->precision) * magnitude[c];
        if (r->precision == KAON_HALF) bound += 0.51 / 32767 * (largest + bound);
        worst = larger(worst, fabs(found - value[c]) / bound);
      }
    }
  return worst;
}

/* Error / bound of a slot that holds (v_x, v_y) of what was exported last. */
static double check_sum(const rows *r, int slot, int x, int y) {
  double worst = 0;
  for (int k = 0; k < COLUMNS; k++) {
    const double *a = r->after[x] + (size_t)k * r->count, *b = r->after[y] + (size_t)k * r->count;
    long double re = 0, im = 0, magnitude = 0;
    for (size_t n = 0; n < r->count; n++) {
      re += (long double)a[n] * b[n];
      magnitude += fabsl((long double)a[n] * b[n]);
      if (!r->space.complex_space) continue;
      const size_t other = n ^ 1;
      im += (n % 2 ? -1 : 1) * (long double)a[n] * b[other];
      magnitude += fabsl((long double)a[n] * b[other]);
    }
    double relative = (r->space.ncomp + 8 + (double)r->space.nblocks) * 0x1p-53;
    if (r->precision == KAON_HALF) relative += (r->space.ncomp + 2) * 0x1p-24;
    const double bound = relative * (double)magnitude;
    worst = larger(worst, fabs(r->state[k].slot[slot][0] - (double)re) / bound);
    worst = larger(worst, fabs(r->state[k].slot[slot][1] - (double)im) / bound);
  }
  return worst;
}

static void look(rows *r) {
  export_all(r, r->after);
  must(r->ctx, kaon_scalars_read(r->scalars, r->state));
}

static double check_multi(rows *r) {
  kaon_pass pass = KAON_PASS_INIT;
  const kaon_coefficient c[N - 1] = {KAON_PLUS(0), KAON_PLUS(1), KAON_PLUS(2)};
  pass.scalars = r->scalars;
  pass.norm = NORM;
  must(r->ctx, kaon_blas_multi_axpy(N - 1, c, r->v, r->v[N - 1], &pass));
  look(r);
  double worst = larger(check_combination(r, N - 1, 1), check_sum(r, NORM, N - 1, N - 1));
  must(r->ctx, kaon_blas_multi_dot(N - 1, r->v, r->v[N - 1], FIRST, &pass));
  look(r);
  for (int i = 0; i < N - 1; i++) worst = larger(worst, check_sum(r, FIRST + i, i, N - 1));
  return larger(worst, check_sum(r, NORM, N - 1, N - 1));
}

/* Another precision and back: within a rounding of each of them. Then a copy, bit by bit. */
static double check_conversion(rows *r) {
  double worst = 0;
  for (int p = KAON_DOUBLE; p <= KAON_HALF; p++) {
    kaon_vector *other = NULL;
    kaon_pass pass = KAON_PASS_INIT;
    pass.scalars = r->scalars;
    pass.norm = NORM;
    must(r->ctx, kaon_vector_create(r->ctx, &r->space, (kaon_precision)p, COLUMNS, &other));
    must(r->ctx, kaon_blas_convert(r->v[0], other, 0, NULL));
    must(r->ctx, kaon_blas_convert(other, r->v[1], 0, &pass));
    look(r);
    double bound = 0;
    if (p != (int)r->precision)
      bound = p == KAON_HALF || r->precision == KAON_HALF ? 2 * 0.52 / 32767 : 0x1p-23;
    for (size_t n = 0; n < r->count * COLUMNS; n++) {
      const double error = fabs(r->after[1][n] - r->after[0][n]);
      if (error > 0) worst = larger(worst, error / bound);
    }
    worst = larger(worst, check_sum(r, NORM, 1, 1));
    kaon_vector_destroy(&other);
  }
  return worst;
}

static double check_updates(rows *r) {
  kaon_pass pass = KAON_PASS_INIT;
  pass.scalars = r->scalars;
  pass.norm = NORM;
  pass.dot = DOT;
  pass.w = r->v[3];
  must(r->ctx, kaon_blas_zero(r->v[1], NULL));
  look(r);
  for (size_t n = 0; n < r->count * COLUMNS; n++) assert_true(r->after[1][n] == 0);
  must(r->ctx, kaon_blas_copy(r->v[0], r->v[1], NULL));
  must(r->ctx, kaon_blas_axpy(KAON_NUMBER(1), r->v[2], r->v[1], &pass));
  look(r);
  double worst = larger(check_sum(r, NORM, 1, 1), check_sum(r, DOT, 3, 1));
  for (size_t n = 0; n < r->count * COLUMNS; n++) {
    const double value = r->before[0][n] + r->before[2][n], error = fabs(r->after[1][n] - value);
    const double bound =
        r->precision == KAON_HALF ? 2.1 * 0.51 / 32767 : 2 * roundoff(r->precision) * 2;
    worst = larger(worst, error / bound);
  }
  return worst;
}

static void rows_of_any_size_are_served(void **state) {
  (void)state;
  static const int sizes[] = {1, 2, 3, 6, 7, 16, 18, 72, 128};
  static double (*const checks[])(rows *) = {check_updates, check_multi, check_conversion};
  for (int machine = KAON_ISA_SCALAR; machine <= MACHINE_LAST; machine++) {
    if (machine_lacks(machine)) continue;
    for (int precision = KAON_DOUBLE; precision <= KAON_HALF; precision++) {
      double worst = 0;
      for (int i = 0; i < 2 * 9 * 3; i++) {
        const int ncomp = sizes[i / 2 % 9], complex_space = i % 2;
        rows r;
        if (complex_space && ncomp % 2) continue;
        open_rows(&r, machine, ncomp, complex_space, (kaon_precision)precision);
        worst = larger(worst, checks[i / 18](&r));
        close_rows(&r);
      }
      print_message("%s precision %d: error / bound %.3f\n", machine_name(machine), precision,
                    worst);
      assert_true(worst <= 1);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(rows_of_any_size_are_served)};
  return test_main(tests, NULL, NULL);
}
