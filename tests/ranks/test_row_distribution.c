/* test_row_distribution.c - rows that the library moves among ranks (kaon_matrix_options.partition). A
 * randomly numbered grid needs fewer ghosts with METIS. Products, adjoints, solutions, diagonals
 * and files stay in the caller's order and on the caller's ranks. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ranks.h"
#include "sparse/storage/matrix.h"
#include "sparse/order/orderings.h"
#include "tests/util/sparse_case.h"

static const int *const any_grid = NULL;

/* P A P^T with P drawn by a generator of 48 bits. */
static ref_sparse scatter(const ref_sparse *a) {
  size_t *to = malloc(a->rows * sizeof *to);
  uint64_t state = 7;
  ref_sparse b = ref_sparse_new(a->rows);
  for (size_t i = 0; i < a->rows; i++) to[i] = i;
  for (size_t i = a->rows; i > 1; i--) {
    state = (state * UINT64_C(25214903917) + 11) & ((UINT64_C(1) << 48) - 1);
    const size_t j = (size_t)(state >> 16) % i, kept = to[i - 1];
    to[i - 1] = to[j];
    to[j] = kept;
  }
  for (size_t n = 0; n < a->entries; n++)
    ref_sparse_add(&b, to[a->row[n]], to[a->column[n]], a->value[n]);
  free(to);
  return b;
}

typedef struct part {
  kaon_context *ctx;
  kaon_matrix *matrix;
  size_t first, rows;
} part;

/* Shares that grow with the rank. */
static part open_part(const ref_sparse *a, int reals, kaon_matrix_partition partition,
                      kaon_ordering ordering) {
  part p = {.ctx = ranks_open(KAON_ISA_AUTO, any_grid)};
  kaon_matrix_options options = KAON_MATRIX_OPTIONS_INIT;
  const size_t r = (size_t)p.ctx->comm->rank, n = (size_t)p.ctx->comm->ranks;
  options.partition = partition;
  options.ordering = ordering;
  p.first = a->rows * r * (r + 1) / (n * (n + 1));
  p.rows = a->rows * (r + 1) * (r + 2) / (n * (n + 1)) - p.first;
  p.matrix = sparse_matrix_part(p.ctx, a, reals, p.first, p.rows, &options);
  return p;
}

static void close_part(part *p) {
  kaon_matrix_destroy(&p->matrix);
  kaon_context_destroy(&p->ctx);
}

static int by_graph(const part *p) {
  return p->ctx->comm->ranks > 1 && kaon_partition_by_graph();
}

static void scattered_rows_need_fewer_ghosts(void **state) {
  (void)state;
  ref_sparse grid = ref_sparse_laplace(32, 2, 0.1, 0), a = scatter(&grid);
  kaon_matrix_distribution given = KAON_MATRIX_DISTRIBUTION_INIT,
                           metis = KAON_MATRIX_DISTRIBUTION_INIT,
                           automatic = KAON_MATRIX_DISTRIBUTION_INIT,
                           again = KAON_MATRIX_DISTRIBUTION_INIT,
                           left = KAON_MATRIX_DISTRIBUTION_INIT;
  const struct {
    const ref_sparse *a;
    kaon_matrix_partition partition;
    kaon_matrix_distribution *shares;
  } all[] = {{&a, KAON_PARTITION_GIVEN, &given},
             {&a, KAON_PARTITION_METIS, &metis},
             {&a, KAON_PARTITION_AUTO, &automatic},
             {&a, KAON_PARTITION_METIS, &again},
             {&grid, KAON_PARTITION_AUTO, &left}};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    part p = open_part(all[i].a, 1, all[i].partition, KAON_ORDERING_NONE);
    kaon_matrix_info info = KAON_MATRIX_INFO_INIT;
    must(p.ctx, kaon_matrix_describe_distribution(p.matrix, all[i].shares));
    must(p.ctx, kaon_matrix_describe(p.matrix, &info));
    assert_int_equal(info.rows, p.rows); /* the caller's, whoever keeps them */
    assert_int_equal(info.first_row, p.first);
    assert_int_equal(info.global_entries, a.entries);
    assert_true(info.hermitian);
    /* two strips of a grid are as good as METIS's result; with more parts METIS may be better */
    if (i < 4 || p.ctx->comm->ranks <= 2)
      assert_int_equal(all[i].shares->moved, i > 0 && i < 4 && by_graph(&p));
    if (i == 0 && p.ctx->comm->rank == 0) printf("  as given: cut %lld\n", (long long)given.cut);
    if (i == 1 && p.ctx->comm->rank == 0) printf("  %s\n", metis.how);
    if (by_graph(&p) && i == 1) {
      assert_true(5 * metis.cut < given.cut);
      assert_true(2 * metis.most_ghosts < given.most_ghosts);
      /* METIS balances rows and entries to 3 %; the given parts are far from that */
      const double mean = (double)a.entries / p.ctx->comm->ranks;
      assert_true((double)metis.most_entries < 1.1 * mean);
    }
    close_part(&p);
  }
  assert_memory_equal(&metis, &again, sizeof metis);
  assert_int_equal(metis.cut, automatic.cut);
  ref_sparse_free(&a);
  ref_sparse_free(&grid);
}

/* Worst |y - reference| in units of roundings. */
static double product_error(const part *p, const ref_sparse *a, int reals, int dagger) {
  kaon_operator *A = sparse_operator(p->matrix, KAON_DOUBLE, KAON_STORE_AUTO);
  kaon_vector *x = sparse_vector(A, 2), *y = sparse_vector(A, 2);
  ref_complex *wanted = calloc(a->rows, sizeof *wanted),
              *found = calloc(p->rows + 1, sizeof *found);
  double *sum = calloc(a->rows, sizeof *sum), worst = 0;
  for (int k = 0; k < 2; k++) {
    ref_complex *in = sparse_random(a->rows, reals, 3 + (uint64_t)k);
    sparse_import(x, k, p->rows, in + p->first);
    must(p->ctx, kaon_operator_apply(A, dagger ? KAON_DAGGER : KAON_PLAIN, x, y));
    sparse_export(x, k, p->rows, found);
    assert_memory_equal(found, in + p->first, p->rows * sizeof *found);
    ref_sparse_apply(a, dagger, in, wanted, sum, NULL);
    sparse_export(y, k, p->rows, found);
    for (size_t i = 0; i < p->rows; i++) {
      const double error = cabs(found[i] - wanted[p->first + i]);
      if (error > 0) worst = larger(worst, error / (0x1p-53 * sum[p->first + i]));
    }
    free(in);
  }
  kaon_vector_destroy(&x);
  kaon_vector_destroy(&y);
  kaon_operator_destroy(&A);
  free(wanted);
  free(found);
  free(sum);
  return worst;
}

static void products_are_in_the_callers_order(void **state) {
  (void)state;
  double worst = 0;
  for (int i = 0; i < 2 * 2 * 2; i++) {
    const int reals = 1 + i % 2;
    ref_sparse grid =
        i / 4 ? ref_sparse_random(331, 6, 14, reals == 2, 3) : ref_sparse_laplace(24, 2, 0.1, 0.3);
    ref_sparse a = scatter(&grid);
    part p = open_part(&a, reals, KAON_PARTITION_METIS,
                       i / 2 % 2 ? KAON_ORDERING_RCM : KAON_ORDERING_NONE);
    for (int dagger = 0; dagger < 2; dagger++)
      worst = larger(worst, product_error(&p, &a, reals, dagger));
    close_part(&p);
    ref_sparse_free(&a);
    ref_sparse_free(&grid);
  }
  test_below("products and adjoints of moved rows: roundings", worst, 40);
}

/* This rank's part of the solution by Jacobi-preconditioned CG; free it. */
static ref_complex *solve(const part *p, const ref_sparse *a, int *steps) {
  kaon_operator *A = sparse_operator(p->matrix, KAON_DOUBLE, KAON_STORE_AUTO), *K = NULL;
  kaon_vector *b = sparse_vector(A, 1), *x = sparse_vector(A, 1);
  ref_complex *in = sparse_random(a->rows, 1, 31), *out = calloc(p->rows + 1, sizeof *out);
  kaon_solver_options o = KAON_SOLVER_OPTIONS_INIT;
  kaon_solver *solver = NULL;
  kaon_column_report report;
  sparse_import(b, 0, p->rows, in + p->first);
  must(p->ctx, kaon_precond_jacobi(A, &K));
  o.method = KAON_CG;
  o.tol = 1e-12;
  o.preconditioner = K;
  must(p->ctx, kaon_solver_create(A, 1, &o, &solver));
  must(p->ctx, kaon_solver_solve(solver, b, x, &report, NULL));
  assert_true(report.residual <= 1.1e-12);
  *steps = report.iterations;
  sparse_export(x, 0, p->rows, out);
  kaon_solver_destroy(&solver);
  kaon_operator_destroy(&K);
  kaon_vector_destroy(&b);
  kaon_vector_destroy(&x);
  kaon_operator_destroy(&A);
  free(in);
  return out;
}

/* The same solution, and the same bits on every run. The grid's smallest eigenvalue is 0.1, x is of
 * the size of b, so residuals of 1e-12 leave errors of 1e-11 of its norm. */
static void solutions_are_those_of_unmoved_rows(void **state) {
  (void)state;
  ref_sparse grid = ref_sparse_laplace(24, 2, 0.1, 0), a = scatter(&grid);
  ref_complex *first = NULL, *x = NULL;
  int steps[4];
  const kaon_matrix_partition how[] = {KAON_PARTITION_GIVEN, KAON_PARTITION_METIS,
                                       KAON_PARTITION_METIS, KAON_PARTITION_AUTO};
  for (int i = 0; i < 4; i++) {
    part p = open_part(&a, 1, how[i], i == 0 ? KAON_ORDERING_NONE : KAON_ORDERING_RCM);
    ref_complex *now = solve(&p, &a, &steps[i]);
    double worst = 0;
    for (size_t n = 0; first != NULL && n < p.rows; n++)
      worst = larger(worst, cabs(now[n] - first[n]));
    assert_true(worst <= 1e-9);
    assert_true(abs(steps[i] - steps[0]) <= 2);
    if (i == 2) assert_memory_equal(now, x, p.rows * sizeof *now);
    close_part(&p);
    if (i == 0)
      first = now;
    else if (i == 1)
      x = now;
    else
      free(now);
  }
  free(first);
  free(x);
  ref_sparse_free(&a);
  ref_sparse_free(&grid);
}

/* CG on averaged projections (Cimmino) to 1e-10, lambda 0.35: this rank's part of x; free it.
 * *norm: |b| over all ranks. */
static ref_complex *averaged(const part *p, const ref_sparse *a, int *steps, double *norm) {
  kaon_operator *A = sparse_operator(p->matrix, KAON_DOUBLE, KAON_STORE_AUTO), *R = NULL;
  kaon_vector *b = sparse_vector(A, 1), *x = sparse_vector(A, 1);
  ref_complex *in = sparse_random(a->rows, 1, 31), *out = calloc(p->rows + 1, sizeof *out);
  kaon_solver_options o = KAON_SOLVER_OPTIONS_INIT;
  kaon_kaczmarz_options projections = KAON_KACZMARZ_OPTIONS_INIT;
  kaon_solver *solver = NULL;
  kaon_column_report report;
  projections.kind = KAON_KACZMARZ_CIMMINO;
  projections.lambda = 0.35;
  sparse_import(b, 0, p->rows, in + p->first);
  must(p->ctx, kaon_vector_norm2(b, norm));
  *norm = sqrt(*norm);
  must(p->ctx, kaon_kaczmarz_reduce(A, &projections, &R));
  o.method = KAON_CG;
  o.tol = 1e-10;
  o.max_iterations = 20000;
  must(p->ctx, kaon_solver_create(R, 1, &o, &solver));
  must(p->ctx, kaon_vector_zero(x));
  must(p->ctx, kaon_solver_solve(solver, b, x, &report, NULL));
  assert_int_equal(report.reason, KAON_CONVERGED);
  assert_true(report.residual <= 1.1e-10);
  *steps = report.iterations;
  sparse_export(x, 0, p->rows, out);
  kaon_solver_destroy(&solver);
  kaon_operator_destroy(&R);
  kaon_vector_destroy(&b);
  kaon_vector_destroy(&x);
  kaon_operator_destroy(&A);
  free(in);
  return out;
}

/* Moved rows have the same projections: the same method, with sums in another order. It checks
 * residuals to 0.2 % of its steps, so counts differ by 1 % at most. Both residuals are at most
 * 1.1e-10 |b| and the smallest eigenvalue is above 0.1, so no number differs by more than 2.2e-9
 * |b|. */
static void averaged_projections_of_moved_rows(void **state) {
  (void)state;
  ref_sparse grid = ref_sparse_laplace(24, 2, 0.1, 0), a = scatter(&grid);
  const kaon_matrix_partition how[] = {KAON_PARTITION_GIVEN, KAON_PARTITION_METIS,
                                       KAON_PARTITION_METIS};
  ref_complex *x[3];
  int steps[3];
  size_t rows = 0;
  double norm = 0, worst = 0;
  for (int i = 0; i < 3; i++) {
    part p = open_part(&a, 1, how[i], i == 2 ? KAON_ORDERING_RCM : KAON_ORDERING_NONE);
    x[i] = averaged(&p, &a, &steps[i], &norm);
    rows = p.rows;
    close_part(&p);
  }
  for (int i = 1; i < 3; i++)
    for (size_t n = 0; n < rows; n++) worst = larger(worst, cabs(x[i][n] - x[0][n]));
  printf("  averaged projections: %d steps as given, %d and %d moved; %.1e |b| apart\n", steps[0],
         steps[1], steps[2], worst / norm);
  assert_true(abs(steps[1] - steps[0]) <= 1 + steps[0] / 100);
  assert_true(abs(steps[2] - steps[0]) <= 1 + steps[0] / 100);
  assert_true(worst <= 2.2e-9 * norm);
  for (int i = 0; i < 3; i++) free(x[i]);
  ref_sparse_free(&a);
  ref_sparse_free(&grid);
}

/* What is written is what was given, to the byte. */
static void files_are_in_the_callers_order(void **state) {
  (void)state;
  ref_sparse grid = ref_sparse_laplace(11, 2, 0.1, 0.3), a = scatter(&grid);
  char name[2][64], *text[2] = {NULL, NULL};
  long size[2] = {0, 0};
  for (int i = 0; i < 2; i++) {
    part p = open_part(&a, 1, i == 0 ? KAON_PARTITION_GIVEN : KAON_PARTITION_METIS,
                       i == 0 ? KAON_ORDERING_NONE : KAON_ORDERING_RCM);
    int32_t pid = (int32_t)getpid();
    must(p.ctx, p.ctx->comm->ops->broadcast(p.ctx->comm, &pid, sizeof pid, 0));
    snprintf(name[i], sizeof name[i], "test_shares_%d_%d.mtx", (int)pid, i);
    must(p.ctx, kaon_matrix_write(p.matrix, name[i]));
    if (p.ctx->comm->rank == 0) {
      FILE *f = fopen(name[i], "rb");
      assert_non_null(f);
      fseek(f, 0, SEEK_END);
      size[i] = ftell(f);
      rewind(f);
      text[i] = calloc((size_t)size[i] + 1, 1);
      assert_int_equal(fread(text[i], 1, (size_t)size[i], f), (size_t)size[i]);
      fclose(f);
      remove(name[i]);
    }
    close_part(&p);
  }
  assert_int_equal(size[0], size[1]);
  if (text[0] != NULL) assert_memory_equal(text[0], text[1], (size_t)size[0]);
  free(text[0]);
  free(text[1]);
  ref_sparse_free(&a);
  ref_sparse_free(&grid);
}

/* A NaN is reported with the caller's row, on all ranks. */
static void bad_numbers_are_named_by_the_callers_row(void **state) {
  (void)state;
  ref_sparse grid = ref_sparse_laplace(16, 2, 0.1, 0), a = scatter(&grid);
  part p = open_part(&a, 1, KAON_PARTITION_METIS, KAON_ORDERING_NONE);
  const int last = p.ctx->comm->rank == p.ctx->comm->ranks - 1;
  kaon_operator *A = sparse_operator(p.matrix, KAON_DOUBLE, KAON_STORE_AUTO);
  kaon_vector *x = sparse_vector(A, 1);
  double *numbers = calloc(p.rows + 1, sizeof *numbers);
  if (last) numbers[p.rows - 1] = NAN;
  assert_int_equal(kaon_vector_import(x, 0, numbers, KAON_BASIS_UKQCD), KAON_ERR_NOT_FINITE);
  char row[32];
  snprintf(row, sizeof row, "row %zu ", p.rows);
  if (last) assert_non_null(strstr(kaon_last_error(p.ctx), row));
  free(numbers);
  kaon_vector_destroy(&x);
  kaon_operator_destroy(&A);
  close_part(&p);
  ref_sparse_free(&a);
  ref_sparse_free(&grid);
}

static const struct CMUnitTest shares_of_rows[] = {
    cmocka_unit_test(scattered_rows_need_fewer_ghosts),
    cmocka_unit_test(products_are_in_the_callers_order),
    cmocka_unit_test(solutions_are_those_of_unmoved_rows),
    cmocka_unit_test(averaged_projections_of_moved_rows),
    cmocka_unit_test(files_are_in_the_callers_order),
    cmocka_unit_test(bad_numbers_are_named_by_the_callers_row)};
RANKS_MAIN(shares_of_rows)
