/* test_precond.c - preconditioners made of a matrix's entries on several ranks. Each rank's part
 * is made of its own rows and columns as on the host, nothing is sent, and solves with them reach
 * the true residual of the whole system. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>

#include "ranks.h"
#include "tests/util/precond_case.h"
#include "tests/util/row_case.h"

static const int *const any_grid = NULL;

typedef struct part {
  kaon_context *ctx;
  kaon_matrix *matrix;
  const kaon_csr *whole;
  kaon_csr *own; /* this rank's rows and columns */
  int64_t first, rows;
} part;

static part open_part(const kaon_csr *whole, int skewed) {
  part p = {.ctx = ranks_open(KAON_ISA_AUTO, any_grid), .whole = whole};
  const int rank = world_rank(), ranks = world_size();
  p.first = ranks_first_row(whole->rows, rank, ranks, skewed);
  p.rows = ranks_first_row(whole->rows, rank + 1, ranks, skewed) - p.first;
  int64_t *start = calloc((size_t)p.rows + 1, sizeof *start), at = 0;
  for (int64_t i = 0; i <= p.rows; i++)
    start[i] = whole->start[p.first + i] - whole->start[p.first];
  const kaon_csr_arrays arrays = {.global_rows = whole->rows,
                                  .first_row = p.first,
                                  .rows = p.rows,
                                  .reals = whole->reals,
                                  .start64 = start,
                                  .column32 = whole->column + whole->start[p.first],
                                  .values = whole->value + whole->start[p.first] * whole->reals};
  must(p.ctx, kaon_matrix_create_csr(p.ctx, &arrays, NULL, &p.matrix));
  must(NULL, kaon_csr_create(NULL, p.rows, p.rows, whole->reals, start[p.rows], &p.own));
  for (int64_t i = 0; i < p.rows; i++) {
    for (int64_t n = whole->start[p.first + i]; n < whole->start[p.first + i + 1]; n++) {
      const int64_t column = whole->column[n] - p.first;
      if (column < 0 || column >= p.rows) continue;
      p.own->column[at] = (int32_t)column;
      for (int c = 0; c < whole->reals; c++)
        p.own->value[at * whole->reals + c] = whole->value[n * whole->reals + c];
      at++;
    }
    p.own->start[i + 1] = at;
  }
  free(start);
  return p;
}

static void close_part(part *p) {
  kaon_matrix_destroy(&p->matrix);
  kaon_csr_destroy(&p->own);
  kaon_context_destroy(&p->ctx);
}

/* |K x - host| / |host| over this rank's rows, of K and K^H. */
static double apart(const part *p, kaon_operator *K, const kaon_precond_options *options) {
  precond_host *host = precond_host_create(p->own, options);
  number *x = calloc((size_t)p->rows * 3 + 1, sizeof *x), *y = x + p->rows, *z = y + p->rows;
  kaon_vector *in = NULL, *out = NULL;
  double worst = 0;
  must(p->ctx, kaon_vector_create(p->ctx, K->space, K->precision, 1, &in));
  must(p->ctx, kaon_vector_create(p->ctx, K->space, K->precision, 1, &out));
  row_case_vector(p->rows, p->whole->reals, 3 + (uint64_t)p->first, x);
  precond_import(in, 0, p->rows, x);
  for (int dagger = 0; dagger < 2; dagger++) {
    must(p->ctx, kaon_operator_apply(K, dagger ? KAON_DAGGER : KAON_PLAIN, in, out));
    precond_export(out, 0, p->rows, y);
    precond_host_apply(host, dagger, x, z);
    for (int64_t i = 0; i < p->rows; i++) y[i] -= z[i];
    const double size = row_case_norm(p->rows, z);
    if (size > 0) worst = larger(worst, row_case_norm(p->rows, y) / size);
  }
  kaon_vector_destroy(&in);
  kaon_vector_destroy(&out);
  precond_host_destroy(&host);
  free(x);
  return worst;
}

/* Steps of a solve with b = A * ones; the error |x - 1| over all ranks must be small too. */
static int steps_of(const part *p, kaon_method method, kaon_operator *K) {
  kaon_solver_options o = KAON_SOLVER_OPTIONS_INIT;
  kaon_operator *A = NULL;
  kaon_solver *solver = NULL;
  kaon_column_report report;
  kaon_vector *x = NULL, *b = NULL;
  const int64_t n = p->whole->rows;
  number *ones = calloc((size_t)n * 2, sizeof *ones), *right = ones + n;
  for (int64_t i = 0; i < n; i++) ones[i] = 1;
  row_case_multiply(p->whole, 0, ones, right);
  o.method = method;
  o.tol = 1e-9;
  o.preconditioner = K;
  must(p->ctx, kaon_matrix_operator(p->matrix, NULL, &A));
  must(p->ctx, kaon_vector_create(p->ctx, A->space, KAON_DOUBLE, 1, &x));
  must(p->ctx, kaon_vector_create(p->ctx, A->space, KAON_DOUBLE, 1, &b));
  precond_import(b, 0, p->rows, right + p->first);
  must(p->ctx, kaon_vector_zero(x));
  must(p->ctx, kaon_solver_create(A, 1, &o, &solver));
  must(p->ctx, kaon_solver_solve(solver, b, x, &report, NULL));
  assert_int_equal(report.reason, KAON_CONVERGED);
  precond_export(x, 0, p->rows, right);
  double worst = 0;
  for (int64_t i = 0; i < p->rows; i++) worst = larger(worst, cabs(right[i] - 1));
  assert_true(worst < 1e-6);
  kaon_solver_destroy(&solver);
  kaon_vector_destroy(&x);
  kaon_vector_destroy(&b);
  kaon_operator_destroy(&A);
  free(ones);
  return report.iterations;
}

static const char *const names[] = {"block-jacobi", "dic",  "dilu", "ssor", "gs",
                                    "ic0",          "ilu0", "ainv", "fsai"};

static void check_case(const kaon_csr *whole, int hermitian, int skewed) {
  part p = open_part(whole, skewed);
  const kaon_method method = hermitian ? KAON_CG : KAON_BICGSTAB;
  const int none = steps_of(&p, method, NULL);
  for (int kind = 0; kind <= KAON_PRECOND_FSAI; kind++) {
    kaon_precond_options options = KAON_PRECOND_OPTIONS_INIT;
    options.kind = (kaon_precond_kind)kind;
    options.order = kind % 2 ? KAON_PRECOND_COLOUR : KAON_PRECOND_NATURAL;
    options.sweeps = kind == KAON_PRECOND_DILU ? 2 : 0;
    if (!precond_fits(kind, hermitian)) continue;
    kaon_operator *K = NULL;
    must(p.ctx, kaon_precond_create(p.matrix, &options, &K));
    const int64_t before = p.ctx->comm->traffic.exchanges + p.ctx->comm->traffic.sums;
    double worst = apart(&p, K, &options), all = 0;
    assert_int_equal(p.ctx->comm->traffic.exchanges + p.ctx->comm->traffic.sums, before);
    MPI_Allreduce(&worst, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    test_below("K against the host's of this rank's rows", all, 200 * 0x1p-53);
    const int steps = steps_of(&p, method, K);
    printf("    %-13s %3d steps, without %3d\n", names[kind], steps, none);
    assert_true(steps <= none + 2);
    kaon_operator_destroy(&K);
  }
  close_part(&p);
}

static void test_ranks(void **state) {
  (void)state;
  kaon_csr *plane = row_case_laplace(17, 13, 11), *complex_rows = row_case_random(600, 6, 2, 0, 4);
  for (int64_t i = 0; i < complex_rows->rows; i++) { /* a spectrum to the right of 0 */
    double *d = complex_rows->value + 2 * kaon_csr_find(complex_rows, i, (int32_t)i);
    d[0] = hypot(d[0], d[1]);
    d[1] = 0;
  }
  for (int skewed = 0; skewed < 2; skewed++) {
    check_case(plane, 1, skewed);
    check_case(complex_rows, 0, skewed);
  }
  kaon_csr_destroy(&plane);
  kaon_csr_destroy(&complex_rows);
}

/* All ranks report one rank's breakdown, with the row's number in the whole matrix. */
static void test_breakdown(void **state) {
  (void)state;
  kaon_csr *rows = row_case_laplace(40, 1, 1);
  rows->value[kaon_csr_find(rows, 37, 37)] = -3;
  part p = open_part(rows, 0);
  kaon_operator *K = NULL;
  assert_int_equal(kaon_precond_create(p.matrix, NULL, &K), KAON_ERR_SINGULAR);
  assert_null(K);
  assert_non_null(strstr(kaon_last_error(p.ctx), "row 38 (counted from 1"));
  close_part(&p);
  kaon_csr_destroy(&rows);
}

static const struct CMUnitTest preconditioners[] = {
    cmocka_unit_test(test_ranks),
    cmocka_unit_test(test_breakdown),
};
RANKS_MAIN(preconditioners)
