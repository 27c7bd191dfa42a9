/* test_precond.c - preconditioners made of a matrix's entries, as operators, against the same
 * factors applied by plain loops on the host: every order, precision and way of solving triangles;
 * adjoints, gates, sums, lower-precision twins, refusals. Step counts: test_precond_counts.c.
 *
 * Bounds: an application has two triangles or products. Each rounds every element a few times the
 * length of a row, and triangles amplify that as the host's own application in that precision
 * shows: 200 roundings of the result's norm; for 16-bit values 20 of their 1.5e-5. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <kaon/kaon.h>

#include "blas/blas.h"
#include "tests/util/machine.h"
#include "tests/util/precond_case.h"
#include "tests/util/row_case.h"

static const kaon_precond_options defaults = KAON_PRECOND_OPTIONS_INIT;

static kaon_context *open_machine(int machine) {
  const kaon_context_options options = KAON_CONTEXT_OPTIONS_INIT;
  kaon_context *ctx = NULL;
  precond_ok(NULL, machine_open(machine, options, &ctx));
  return ctx;
}

/* What may be asked of this machine in this precision. */
static int lacks(const kaon_context *ctx, kaon_precision precision) {
  return ctx->backend->sparse[precision == KAON_HALF ? KAON_SINGLE : precision] == NULL;
}

static const char *const kind_names[] = {"block-jacobi", "dic",  "dilu", "ssor", "gs",
                                         "ic0",          "ilu0", "ainv", "fsai"};

/* K x and K^H x of each column against the host; |K x - host| / |host|, the worst. */
static double against_host(kaon_operator *K, const kaon_csr *csr, const precond_host *host,
                           int columns) {
  const int64_t n = csr->rows;
  kaon_vector *x = NULL, *y = NULL;
  number *in = calloc((size_t)n * 3, sizeof *in), *out = in + n, *expected = out + n;
  double worst = 0;
  precond_ok(K->ctx, kaon_vector_create(K->ctx, K->space, K->precision, columns, &x));
  precond_ok(K->ctx, kaon_vector_create(K->ctx, K->space, K->precision, columns, &y));
  for (int k = 0; k < columns; k++) {
    row_case_vector(n, csr->reals, 100 + (uint64_t)k, in);
    precond_import(x, k, n, in);
  }
  for (int dagger = 0; dagger < 2; dagger++) {
    precond_ok(K->ctx, kaon_operator_apply(K, dagger ? KAON_DAGGER : KAON_PLAIN, x, y));
    for (int k = 0; k < columns; k++) {
      row_case_vector(n, csr->reals, 100 + (uint64_t)k, in);
      precond_host_apply(host, dagger, in, expected);
      precond_export(y, k, n, out);
      for (int64_t i = 0; i < n; i++) out[i] -= expected[i];
      const double apart = row_case_norm(n, out) / row_case_norm(n, expected);
      if (!(apart <= worst)) worst = apart;
    }
  }
  kaon_vector_destroy(&x);
  kaon_vector_destroy(&y);
  free(in);
  return worst;
}

static void check_kind(kaon_context *ctx, kaon_matrix *matrix, const kaon_csr *csr,
                       kaon_precond_options options, double *worst) {
  const int applies = options.kind != KAON_PRECOND_BLOCK_JACOBI &&
                      options.kind != KAON_PRECOND_AINV && options.kind != KAON_PRECOND_FSAI;
  for (int way = 0; way < 3; way++) { /* natural, by colour, by sweeps */
    kaon_operator *K = NULL;
    kaon_precond_info info = KAON_PRECOND_INFO_INIT;
    options.order = way == 1 ? KAON_PRECOND_COLOUR : KAON_PRECOND_NATURAL;
    options.sweeps = way == 2 ? 3 : 0;
    precond_ok(ctx, kaon_precond_create(matrix, &options, &K));
    precond_ok(ctx, kaon_precond_describe(K, &info));
    assert_int_equal(info.options->kind, options.kind);
    assert_true(info.entries > 0 && info.seconds >= 0);
    if (way == 1 || options.kind == KAON_PRECOND_GS) {
      assert_true(info.colours > 0);
      if (applies && way < 2) assert_in_range(info.levels, 2, 2 * info.colours);
    }
    precond_host *host = precond_host_create(csr, &options);
    for (int columns = 1; columns <= 3; columns += 2) {
      const double apart = against_host(K, csr, host, columns);
      if (!(apart <= *worst)) *worst = apart;
    }
    precond_host_destroy(&host);
    kaon_operator_destroy(&K);
  }
}

static void test_against_host(void **state) {
  (void)state;
  for (int machine = KAON_ISA_SCALAR; machine <= MACHINE_LAST; machine++) {
    if (machine_lacks(machine)) continue;
    kaon_context *ctx = open_machine(machine);
    for (int c = 0; c < 4; c++) {
      const int reals = 1 + c % 2, hermitian = c / 2;
      kaon_csr *csr = row_case_random(333, 6, reals, hermitian, 7 + (uint64_t)c);
      kaon_matrix *matrix = precond_matrix(ctx, csr, c % 2 ? 64 : 1);
      for (int p = KAON_DOUBLE; p <= KAON_HALF; p++) {
        const double bound =
            p == KAON_HALF ? 20 * 1.5e-5 : 200 * ldexp(1, p == KAON_DOUBLE ? -53 : -24);
        if (lacks(ctx, (kaon_precision)p)) continue;
        for (int kind = 0; kind <= KAON_PRECOND_FSAI; kind++) {
          char what[96];
          double worst = 0;
          kaon_precond_options options = defaults;
          options.kind = (kaon_precond_kind)kind;
          options.precision = (kaon_precision)p;
          options.omega = 1.3;
          options.block = 7;
          options.drop = 0.01;
          options.power = 2;
          if (!precond_fits(kind, hermitian)) continue;
          check_kind(ctx, matrix, csr, options, &worst);
          snprintf(what, sizeof what, "%s, %s %s, %s, %s", machine_name(machine),
                   hermitian ? "hermitian" : "general", reals == 2 ? "complex" : "real",
                   p == KAON_DOUBLE   ? "double"
                   : p == KAON_SINGLE ? "single"
                                      : "half",
                   kind_names[kind]);
          test_below(what, worst, bound);
        }
      }
      kaon_matrix_destroy(&matrix);
      kaon_csr_destroy(&csr);
    }
    kaon_context_destroy(&ctx);
  }
}

/* If the matrix is stored in another order (RCM), K is the one of that order: blocks, factors and
 * colours are what the host makes of the permuted rows. */
static void test_kept_order(void **state) {
  (void)state;
  kaon_context *ctx = open_machine(KAON_ISA_AUTO);
  kaon_csr *plane = row_case_laplace(19, 14, 1), *csr = NULL, *ordered = NULL;
  int32_t order[19 * 14];
  row_case_shuffle(19 * 14, 2, order);
  precond_ok(NULL, kaon_csr_permute(NULL, plane, order, &csr));
  precond_ok(NULL, kaon_order_rcm(NULL, csr, order));
  precond_ok(NULL, kaon_csr_permute(NULL, csr, order, &ordered));
  kaon_matrix_options how = KAON_MATRIX_OPTIONS_INIT;
  how.ordering = KAON_ORDERING_RCM;
  kaon_matrix *matrix = precond_matrix_of(ctx, csr, &how);
  for (int kind = 0; kind <= KAON_PRECOND_FSAI; kind++) {
    kaon_precond_options options = defaults;
    options.kind = (kaon_precond_kind)kind;
    kaon_operator *K = NULL;
    precond_ok(ctx, kaon_precond_create(matrix, &options, &K));
    precond_host *host = precond_host_create(ordered, &options);
    precond_host_rename(host, order);
    test_below("rcm: K against the host's of the ordered rows", against_host(K, csr, host, 1),
               200 * 0x1p-53);
    precond_host_destroy(&host);
    kaon_operator_destroy(&K);
  }
  kaon_matrix_destroy(&matrix);
  kaon_csr_destroy(&plane), kaon_csr_destroy(&csr), kaon_csr_destroy(&ordered);
  kaon_context_destroy(&ctx);
}

/* A complete factorisation is an inverse: for tridiagonal rows, for an approximate inverse with
 * all entries, for a matrix of one block, and after as many sweeps as there are levels. */
static void test_exact(void **state) {
  (void)state;
  kaon_context *ctx = open_machine(KAON_ISA_AUTO);
  for (int c = 0; c < 4; c++) {
    const int reals = 1 + c % 2, hermitian = c / 2;
    for (int kind = 0; kind <= KAON_PRECOND_FSAI; kind++) {
      const int rows = kind == KAON_PRECOND_BLOCK_JACOBI ? 32 : kind == KAON_PRECOND_FSAI ? 8 : 61;
      kaon_csr *csr = row_case_tridiagonal(rows, reals, hermitian);
      kaon_matrix *matrix = precond_matrix(ctx, csr, 8);
      kaon_precond_options options = defaults;
      options.kind = (kaon_precond_kind)kind;
      options.block = 32;
      options.drop = 0;
      options.sweeps = c == 1 ? 61 : 0;
      options.power = 8; /* of 8 rows, all of the triangle */
      const int unfit =
          kind == KAON_PRECOND_SSOR || kind == KAON_PRECOND_GS || !precond_fits(kind, hermitian);
      if (!unfit) {
        kaon_operator *K = NULL;
        precond_ok(ctx, kaon_precond_create(matrix, &options, &K));
        const int64_t n = csr->rows;
        number *x = calloc((size_t)n * 3, sizeof *x), *y = x + n, *z = y + n;
        row_case_vector(n, reals, 3, x);
        row_case_multiply(csr, 0, x, y);
        kaon_vector *in = NULL, *out = NULL;
        precond_ok(ctx, kaon_vector_create(ctx, K->space, KAON_DOUBLE, 1, &in));
        precond_ok(ctx, kaon_vector_create(ctx, K->space, KAON_DOUBLE, 1, &out));
        precond_import(in, 0, n, y);
        precond_ok(ctx, kaon_operator_apply(K, KAON_PLAIN, in, out));
        precond_export(out, 0, n, z);
        for (int64_t i = 0; i < n; i++) z[i] -= x[i];
        test_below(kind_names[kind], row_case_norm(n, z) / row_case_norm(n, x), 1e-13);
        kaon_vector_destroy(&in), kaon_vector_destroy(&out);
        kaon_operator_destroy(&K);
        free(x);
      }
      kaon_matrix_destroy(&matrix);
      kaon_csr_destroy(&csr);
    }
  }
  kaon_context_destroy(&ctx);
}

/* (x, K y) = (K x, y) where A is Hermitian, and (x, K y) = (K^H x, y) for any. */
static void test_adjoint(void **state) {
  (void)state;
  kaon_context *ctx = open_machine(KAON_ISA_AUTO);
  for (int c = 0; c < 4; c++) {
    const int reals = 1 + c % 2, hermitian = c / 2, n = 150;
    kaon_csr *csr = row_case_random(n, 5, reals, hermitian, 17 + (uint64_t)c);
    kaon_matrix *matrix = precond_matrix(ctx, csr, 16);
    for (int kind = 0; kind <= KAON_PRECOND_FSAI; kind++)
      for (int sweeps = 0; sweeps < 4; sweeps += 2) {
        kaon_precond_options options = defaults;
        options.kind = (kaon_precond_kind)kind;
        options.sweeps = sweeps;
        if (!precond_fits(kind, hermitian)) continue;
        kaon_operator *K = NULL;
        precond_ok(ctx, kaon_precond_create(matrix, &options, &K));
        kaon_vector *v[4];
        number *x = calloc((size_t)n * 4, sizeof *x);
        for (int i = 0; i < 4; i++)
          precond_ok(ctx, kaon_vector_create(ctx, K->space, KAON_DOUBLE, 1, &v[i]));
        for (int i = 0; i < 2; i++) {
          row_case_vector(n, reals, 5 + (uint64_t)i, x + i * n);
          precond_import(v[i], 0, n, x + i * n);
        }
        const int self_adjoint = hermitian && kind != KAON_PRECOND_ILU0;
        precond_ok(ctx,
                   kaon_operator_apply(K, self_adjoint ? KAON_PLAIN : KAON_DAGGER, v[0], v[2]));
        precond_ok(ctx, kaon_operator_apply(K, KAON_PLAIN, v[1], v[3]));
        for (int i = 2; i < 4; i++) precond_export(v[i], 0, n, x + i * n);
        const number left = row_case_dot(n, x + 2 * n, x + n),
                     right = row_case_dot(n, x, x + 3 * n);
        const double scale = row_case_norm(n, x) * row_case_norm(n, x + 3 * n);
        assert_true(cabs(left - right) <= 1e-14 * scale);
        for (int i = 0; i < 4; i++) kaon_vector_destroy(&v[i]);
        free(x);
        kaon_operator_destroy(&K);
      }
    kaon_matrix_destroy(&matrix);
    kaon_csr_destroy(&csr);
  }
  kaon_context_destroy(&ctx);
}

/* ---- what a pass asks for ---- */

enum { COLUMNS = 3, NORM = 3, DOT = 4 };

/* A closed column stays unchanged; sums are those of the result; after reserve nothing is
 * allocated from the pool or returned to it. */
static void check_pass(kaon_operator *K) {
  kaon_context *ctx = K->ctx;
  kaon_vector *v[4];
  kaon_scalars *scalars = NULL;
  kaon_column_state host[COLUMNS];
  const int64_t n = K->space->nsites;
  number *x = calloc((size_t)n * 3, sizeof *x), *y = x + n, *w = y + n;
  const int reals = K->space->ncomp;
  for (int i = 0; i < 4; i++)
    precond_ok(ctx, kaon_vector_create(ctx, K->space, K->precision, COLUMNS, &v[i]));
  for (int k = 0; k < COLUMNS; k++)
    for (int i = 0; i < 4; i++) {
      row_case_vector(n, reals, (uint64_t)(40 + 4 * k + (i == 3 ? 1 : i)), x);
      precond_import(v[i], k, n, x); /* v[3] begins as v[1] */
    }
  precond_ok(ctx, kaon_scalars_create(ctx, COLUMNS, &scalars));
  precond_ok(ctx, kaon_scalars_read(scalars, host));
  for (int k = 0; k < COLUMNS; k++) host[k].gate = k == 1 ? 0 : KAON_GATE_STEP;
  precond_ok(ctx, kaon_scalars_write(scalars, host));
  kaon_launch unused; /* room for sums, which a solver takes when it is made */
  precond_ok(ctx, kaon_launch_prepare(ctx, COLUMNS, 0, &unused));
  precond_ok(ctx, kaon_operator_reserve(K, KAON_PLAIN, COLUMNS));
  precond_ok(ctx, kaon_operator_reserve(K, KAON_DAGGER, COLUMNS));
  kaon_pass pass = KAON_PASS_INIT;
  pass.scalars = scalars;
  pass.norm = NORM;
  pass.dot = DOT;
  pass.w = v[2];
  for (int dagger = 0; dagger < 2; dagger++) {
    const kaon_mode mode = dagger ? KAON_DAGGER : KAON_PLAIN;
    const uint64_t given = kaon_pool_release_count(ctx->pool);
    const int64_t before = kaon_pool_usage(ctx).now;
    precond_ok(ctx, kaon_operator_run(K, mode, v[0], v[1], &pass));
    assert_int_equal(kaon_pool_release_count(ctx->pool), given);
    assert_int_equal(kaon_pool_usage(ctx).now, before);
    precond_ok(ctx, kaon_scalars_read(scalars, host));
    for (int k = 0; k < COLUMNS; k++) {
      precond_export(v[1], k, n, y);
      if (k == 1) { /* as it was */
        precond_export(v[3], k, n, x);
        assert_memory_equal(x, y, (size_t)n * sizeof *x);
        continue;
      }
      precond_export(v[2], k, n, w);
      const double norm2 = creal(row_case_dot(n, y, y));
      const number dot = row_case_dot(n, w, y),
                   found = host[k].slot[DOT][0] + I * host[k].slot[DOT][1];
      assert_true(fabs(host[k].slot[NORM][0] - norm2) <= 1e-12 * norm2);
      assert_true(cabs(found - dot) <= 1e-12 * sqrt(norm2) * row_case_norm(n, w));
    }
  }
  for (int i = 0; i < 4; i++) kaon_vector_destroy(&v[i]);
  kaon_scalars_destroy(&scalars);
  free(x);
}

static void test_pass(void **state) {
  (void)state;
  for (int machine = KAON_ISA_SCALAR; machine <= MACHINE_LAST; machine++) {
    if (machine_lacks(machine)) continue;
    kaon_context *ctx = open_machine(machine);
    for (int reals = 1; reals <= 2; reals++) {
      kaon_csr *csr = row_case_random(222, 5, reals, reals == 1, 27);
      kaon_matrix *matrix = precond_matrix(ctx, csr, 16);
      for (int kind = 0; kind <= KAON_PRECOND_FSAI; kind++)
        for (int sweeps = 0; sweeps < 2; sweeps++) {
          kaon_precond_options options = defaults;
          options.kind = (kaon_precond_kind)kind;
          options.sweeps = sweeps;
          kaon_operator *K = NULL;
          if (!precond_fits(kind, reals == 1)) continue;
          if (lacks(ctx, KAON_DOUBLE)) continue;
          precond_ok(ctx, kaon_precond_create(matrix, &options, &K));
          check_pass(K);
          kaon_cost cost;
          precond_ok(ctx, kaon_operator_cost(K, 1, &cost));
          assert_true(cost.flops > 0 && cost.bytes > 0);
          kaon_operator_destroy(&K);
        }
      kaon_matrix_destroy(&matrix);
      kaon_csr_destroy(&csr);
    }
    kaon_context_destroy(&ctx);
  }
}

/* Rows of FSAI are made by all threads. */
static void test_threads(void **state) {
  (void)state;
  enum { ROWS = 1500 };
  kaon_csr *csr = row_case_random(ROWS, 5, 2, 1, 12);
  number *x = calloc(3 * ROWS, sizeof *x);
  row_case_vector(ROWS, 2, 8, x);
  for (int power = 1; power <= 2; power++) {
    for (int threads = 1; threads <= 2; threads++) {
      kaon_context_options how = KAON_CONTEXT_OPTIONS_INIT;
      kaon_precond_options options = defaults;
      kaon_context *ctx = NULL;
      kaon_operator *K = NULL;
      kaon_vector *in = NULL, *out = NULL;
      how.threads = threads;
      options.kind = KAON_PRECOND_FSAI;
      options.power = power;
      precond_ok(NULL, machine_open(KAON_ISA_AUTO, how, &ctx));
      kaon_matrix *matrix = precond_matrix(ctx, csr, 0);
      precond_ok(ctx, kaon_precond_create(matrix, &options, &K));
      precond_ok(ctx, kaon_vector_create(ctx, K->space, KAON_DOUBLE, 1, &in));
      precond_ok(ctx, kaon_vector_create(ctx, K->space, KAON_DOUBLE, 1, &out));
      precond_import(in, 0, ROWS, x);
      precond_ok(ctx, kaon_operator_apply(K, KAON_PLAIN, in, out));
      precond_export(out, 0, ROWS, x + threads * ROWS);
      kaon_vector_destroy(&in), kaon_vector_destroy(&out);
      kaon_operator_destroy(&K);
      kaon_matrix_destroy(&matrix);
      kaon_context_destroy(&ctx);
    }
    assert_memory_equal(x + ROWS, x + 2 * ROWS, ROWS * sizeof *x);
  }
  kaon_csr_destroy(&csr);
  free(x);
}

static void test_twin(void **state) {
  (void)state;
  kaon_context *ctx = open_machine(KAON_ISA_AUTO);
  kaon_csr *csr = row_case_laplace(12, 11, 1);
  kaon_matrix *matrix = precond_matrix(ctx, csr, 1);
  kaon_operator *K = NULL, *twin = NULL, *again = NULL;
  kaon_precond_options options = defaults;
  options.precision = KAON_SINGLE;
  precond_ok(ctx, kaon_precond_create(matrix, NULL, &K));
  precond_ok(ctx, K->ops->twin(K, KAON_SINGLE, KAON_RECONSTRUCT_18, &twin));
  assert_int_equal(twin->precision, KAON_SINGLE);
  kaon_matrix_destroy(&matrix); /* they keep it alive */
  precond_host *host = precond_host_create(csr, &options);
  test_below("a twin in single against the host", against_host(twin, csr, host, 2), 200 * 0x1p-24);
  precond_ok(ctx, K->ops->twin(twin, KAON_DOUBLE, KAON_RECONSTRUCT_18, &again));
  test_below("and its own in double", against_host(again, csr, host, 2), 200 * 0x1p-53);
  precond_host_destroy(&host);
  kaon_operator_destroy(&K), kaon_operator_destroy(&twin), kaon_operator_destroy(&again);
  kaon_csr_destroy(&csr);
  kaon_context_destroy(&ctx);
}

/* ---- refusals ---- */

static void expect(kaon_context *ctx, kaon_matrix *matrix, const kaon_precond_options *options,
                   kaon_status status, const char *word) {
  kaon_operator *K = (kaon_operator *)matrix;
  assert_int_equal(kaon_precond_create(matrix, options, &K), status);
  assert_null(K);
  print_message("  %s\n", kaon_last_error(ctx));
  assert_non_null(strstr(kaon_last_error(ctx), word));
}

static void test_refusals(void **state) {
  (void)state;
  kaon_context *ctx = open_machine(KAON_ISA_AUTO);
  kaon_csr *csr = row_case_random(50, 4, 1, 0, 3);
  kaon_matrix *matrix = precond_matrix(ctx, csr, 1);
  kaon_precond_options options = defaults;
  kaon_precond_info info = KAON_PRECOND_INFO_INIT;
  kaon_operator *A = NULL;
  expect(ctx, matrix, NULL, KAON_ERR_ARGUMENT, "ilu0");
  options.kind = KAON_PRECOND_DIC;
  expect(ctx, matrix, &options, KAON_ERR_ARGUMENT, "dilu");
  options.kind = KAON_PRECOND_FSAI;
  expect(ctx, matrix, &options, KAON_ERR_ARGUMENT, "ainv");
  for (options.power = 0; options.power <= 9; options.power += 9)
    expect(ctx, matrix, &options, KAON_ERR_ARGUMENT, "power");
  options = defaults, options.kind = KAON_PRECOND_BLOCK_JACOBI, options.block = 33;
  expect(ctx, matrix, &options, KAON_ERR_ARGUMENT, "block");
  options = defaults, options.kind = KAON_PRECOND_SSOR, options.omega = 2;
  expect(ctx, matrix, &options, KAON_ERR_ARGUMENT, "omega");
  assert_int_equal(kaon_precond_create(NULL, NULL, &A), KAON_ERR_ARGUMENT);
  assert_int_equal(kaon_precond_create(matrix, NULL, NULL), KAON_ERR_ARGUMENT);
  precond_ok(ctx, kaon_matrix_operator(matrix, NULL, &A));
  assert_int_equal(kaon_precond_describe(A, &info), KAON_ERR_ARGUMENT);
  kaon_operator_destroy(&A);
  kaon_matrix_destroy(&matrix);
  kaon_csr_destroy(&csr);
  kaon_context_destroy(&ctx);
}

/* Row 37 has a pivot 1 - 1.44. A shift s with (1 + s)^2 > 1.44 makes it positive: of the shifts
 * from 1e-3 on, doubled each time, the ninth, 0.256, is the first. */
static void test_breakdown(void **state) {
  (void)state;
  enum { N = 90 };
  kaon_context *ctx = open_machine(KAON_ISA_AUTO);
  int64_t row[3 * N], column[3 * N], n = 0;
  double value[3 * N];
  for (int i = 0; i < N; i++) row[n] = column[n] = i, value[n++] = i == 37 ? 1 : 2;
  for (int i = 40; i < N; i++) { /* longer rows behind */
    row[n] = i, column[n] = i == N - 1 ? 40 : i + 1, value[n++] = 0.01;
    row[n] = column[n - 1], column[n] = i, value[n++] = 0.01;
  }
  const double beside = 1.2 * sqrt(2.0); /* rows 3 and 37: 2 * 1 - 1.44 * 2 < 0 */
  row[n] = 3, column[n] = 37, value[n++] = beside;
  row[n] = 37, column[n] = 3, value[n++] = beside;
  kaon_csr *csr = NULL;
  precond_ok(NULL,
             kaon_csr_from_triplets(NULL, N, N, 1, n, row, column, value, KAON_CSR_ADD, &csr));
  kaon_matrix *matrix = precond_matrix(ctx, csr, 0);
  static const kaon_precond_kind kinds[] = {KAON_PRECOND_IC0, KAON_PRECOND_DIC, KAON_PRECOND_AINV,
                                            KAON_PRECOND_FSAI};
  for (int k = 0; k < 4; k++) {
    kaon_precond_options options = defaults;
    kaon_precond_info info = KAON_PRECOND_INFO_INIT;
    kaon_operator *K = NULL;
    options.kind = kinds[k];
    expect(ctx, matrix, &options, KAON_ERR_SINGULAR, "row 38 (counted from 1");
    options.tries = 8; /* up to 0.128 */
    expect(ctx, matrix, &options, KAON_ERR_SINGULAR, "times 1.128");
    options.tries = 9;
    precond_ok(ctx, kaon_precond_create(matrix, &options, &K));
    precond_ok(ctx, kaon_precond_describe(K, &info));
    test_close("shift that was needed", info.shift, 0.256, 1e-15);
    kaon_operator_destroy(&K);
    options.tries = 0, options.shift = 0.25;
    precond_ok(ctx, kaon_precond_create(matrix, &options, &K));
    kaon_operator_destroy(&K);
  }
  kaon_matrix_destroy(&matrix);
  kaon_csr_destroy(&csr);
  kaon_context_destroy(&ctx);
}

/* No shift repairs a 0 on the diagonal, so none is recommended. Rows 4 and 7 of 9, counted from 1,
 * are coupled to each other only, with 0 or no diagonal entry; colours reverse the order. */
static void test_zero_diagonal(void **state) {
  (void)state;
  enum { N = 9 };
  static const kaon_precond_kind kinds[] = {KAON_PRECOND_ILU0, KAON_PRECOND_DILU, KAON_PRECOND_SSOR,
                                            KAON_PRECOND_AINV, KAON_PRECOND_BLOCK_JACOBI};
  kaon_context *ctx = open_machine(KAON_ISA_AUTO);
  for (int variant = 0; variant < 4; variant++) {
    const int reals = 1 + variant % 2, stored = variant / 2;
    int64_t row[N + 4], column[N + 4], n = 0;
    double value[2 * (N + 4)] = {0};
    for (int i = 0; i < N; i++)
      if (i != 3 && i != 6) row[n] = column[n] = i, value[reals * n++] = 2;
    row[n] = 3, column[n] = 6, value[reals * n++] = 2;
    row[n] = 6, column[n] = 3, value[reals * n++] = 3;
    for (int i = 3; i < 9 && stored; i += 3)
      if (i < 7) row[n] = column[n] = i, value[reals * n++] = 0;
    kaon_csr *csr = NULL;
    precond_ok(
        NULL, kaon_csr_from_triplets(NULL, N, N, reals, n, row, column, value, KAON_CSR_ADD, &csr));
    kaon_matrix *matrix = precond_matrix(ctx, csr, 0);
    for (int k = 0; k < 5; k++) {
      kaon_precond_options options = defaults;
      options.kind = kinds[k], options.block = 4, options.tries = 3;
      expect(ctx, matrix, &options, KAON_ERR_SINGULAR, stored ? "has 0 on" : "has no entry on");
      assert_non_null(strstr(kaon_last_error(ctx), "row 4 (counted from 1"));
      assert_non_null(strstr(kaon_last_error(ctx), "--precond none"));
      assert_non_null(strstr(kaon_last_error(ctx), "cgnr"));
      assert_null(strstr(kaon_last_error(ctx), "larger"));
    }
    kaon_matrix_destroy(&matrix);
    kaon_csr_destroy(&csr);
  }
  kaon_context_destroy(&ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_against_host), cmocka_unit_test(test_kept_order),
      cmocka_unit_test(test_exact),        cmocka_unit_test(test_adjoint),
      cmocka_unit_test(test_pass),         cmocka_unit_test(test_twin),
      cmocka_unit_test(test_threads),      cmocka_unit_test(test_refusals),
      cmocka_unit_test(test_breakdown),    cmocka_unit_test(test_zero_diagonal),
  };
  return test_main(tests, NULL, NULL);
}
