/* test_matrix.c - sparse matrices with rows distributed over ranks, equally or not, some ranks
 * empty. Products, adjoints, sums and solves equal the reference's and those of one rank, which
 * every process computes too. With every way of hiding messages. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>

#include "blas/blas.h"
#include "ranks.h"
#include "sparse/storage/matrix.h"
#include "tests/util/methods.h"
#include "tests/util/sparse_case.h"

enum { COLUMNS = 3, NORM = 20, DOT = 21 };
static const int *const any_grid = NULL;

/* Where a rank's rows begin: equal parts; shares that grow; all rows on the odd ranks. */
enum { SHARES = 3 };
static size_t first_of(size_t rows, int rank, int ranks, int share) {
  const size_t r = (size_t)rank, n = (size_t)ranks;
  if (share == 0 || ranks == 1) return rows * r / n;
  if (share == 1) return rows * r * (r + 1) / (n * (n + 1));
  return rows * (r / 2) / (n / 2);
}

typedef struct side {
  kaon_context *ctx;
  kaon_matrix *matrix;
  size_t first, rows;
} side;

static side open_side(const ref_sparse *a, int reals, int ranks, int share, kaon_overlap overlap,
                      int isa) {
  side s = {0};
  kaon_context_options options = ranks_options(isa);
  options.overlap = overlap;
  if (ranks == 1)
    must(NULL, kaon_context_create(&options, &s.ctx));
  else
    must(NULL, kaon_context_create_ranks(&options, NULL, any_grid, &s.ctx));
  const int rank = ranks == 1 ? 0 : s.ctx->comm->rank;
  s.first = first_of(a->rows, rank, ranks, share);
  s.rows = first_of(a->rows, rank + 1, ranks, share) - s.first;
  s.matrix = sparse_matrix_part(s.ctx, a, reals, s.first, s.rows, NULL);
  return s;
}

static void close_side(side *s) {
  kaon_matrix_destroy(&s->matrix);
  kaon_context_destroy(&s->ctx);
}

static ref_sparse make_case(int number, int reals) {
  switch (number) {
    case 0:
      return ref_sparse_laplace(24, 2, 0.1, 0);
    case 1:
      return ref_sparse_laplace(9, 3, 0.1, 0.3);
    case 2: /* every rank needs most of the others' */
      return ref_sparse_random(331, 6, 14, reals == 2, 3);
    case 3: /* no couplings between rows */
      return ref_sparse_random(100, 0, 3, 0, 4);
    case 4: /* fewer rows than lanes */
      return ref_sparse_random(7, 3, 9, reals == 2, 5);
    default: /* more than a device's warps take at once */
      return ref_sparse_laplace(760, 2, 0.1, 0);
  }
}
enum { CASES = 5, LARGE = CASES };

/* Worst |y - reference| in units of roundings, of this rank's rows. */
static double product_error(const side *s, const ref_sparse *a, kaon_precision precision,
                            kaon_matrix_format form, int dagger) {
  kaon_operator *A = sparse_operator(s->matrix, precision, form);
  kaon_vector *x = sparse_vector(A, COLUMNS), *y = sparse_vector(A, COLUMNS);
  const int reals = A->space->ncomp;
  ref_complex *in[COLUMNS], *wanted = calloc(a->rows, sizeof *wanted);
  ref_complex *found = calloc(s->rows + 1, sizeof *found);
  double *sum = calloc(a->rows, sizeof *sum), worst = 0;
  kaon_scalars *scalars = NULL;
  kaon_column_state states[COLUMNS];
  kaon_pass pass = KAON_PASS_INIT;
  for (int k = 0; k < COLUMNS; k++) {
    in[k] = sparse_random(a->rows, reals, 11 + (uint64_t)k);
    sparse_import(x, k, s->rows, in[k] + s->first);
  }
  must(s->ctx, kaon_scalars_create(s->ctx, COLUMNS, &scalars));
  pass.scalars = scalars;
  pass.norm = NORM;
  pass.dot = DOT;
  pass.w = x;
  must(s->ctx, kaon_operator_run(A, dagger ? KAON_DAGGER : KAON_PLAIN, x, y, &pass));
  must(s->ctx, kaon_scalars_read(scalars, states));
  for (int k = 0; k < COLUMNS; k++) {
    ref_sparse_apply(a, dagger, in[k], wanted, sum, NULL);
    sparse_export(y, k, s->rows, found);
    const double unit = precision == KAON_DOUBLE ? 0x1p-53 : 0x1p-24;
    for (size_t i = 0; i < s->rows; i++) {
      const double error = cabs(found[i] - wanted[s->first + i]);
      if (error > 0) worst = larger(worst, error / (unit * sum[s->first + i]));
    }
    const ref_complex dot = ref_dot(in[k], wanted, a->rows);
    const double norm = ref_norm2(wanted, a->rows);
    double scale = 0;
    for (size_t i = 0; i < a->rows; i++) scale += cabs(in[k][i]) * sum[i];
    assert_true(fabs(states[k].slot[NORM][0] - norm) <= 100 * unit * norm);
    assert_true(cabs(states[k].slot[DOT][0] + I * states[k].slot[DOT][1] - dot) <=
                100 * unit * scale);
    free(in[k]);
  }
  kaon_scalars_destroy(&scalars);
  kaon_vector_destroy(&x);
  kaon_vector_destroy(&y);
  kaon_operator_destroy(&A);
  free(wanted);
  free(found);
  free(sum);
  return worst;
}

static void products_are_those_of_one_rank(void **state) {
  (void)state;
  const int ranks = world_size();
  double worst = 0;
  for (int i = 0; i < CASES * 2 * SHARES; i++) {
    const int number = i / 2 % CASES, reals = 1 + i % 2, share = i / 2 / CASES;
    ref_sparse a = make_case(number, reals);
    side s = open_side(&a, reals, ranks, share, KAON_OVERLAP_AUTO, KAON_ISA_AUTO);
    side whole = open_side(&a, reals, 1, 0, KAON_OVERLAP_AUTO, KAON_ISA_AUTO);
    kaon_matrix_info info = KAON_MATRIX_INFO_INIT, same = KAON_MATRIX_INFO_INIT;
    must(s.ctx, kaon_matrix_describe(s.matrix, &info));
    must(whole.ctx, kaon_matrix_describe(whole.matrix, &same));
    assert_int_equal(info.global_entries, same.entries);
    assert_int_equal(info.hermitian, same.hermitian);
    assert_int_equal(info.skew, same.skew);
    assert_true(info.asymmetry == same.asymmetry);
    assert_int_equal(info.longest, same.longest);
    assert_int_equal(info.empty_rows, same.empty_rows);
    assert_int_equal(info.no_diagonal, same.no_diagonal);
    for (int n = 0; n < 2 * 3 * 2; n++)
      worst = larger(worst, product_error(&s, &a, n / 2 % 2 ? KAON_SINGLE : KAON_DOUBLE,
                                          (kaon_matrix_format)(1 + n / 4), n % 2));
    close_side(&s);
    close_side(&whole);
    ref_sparse_free(&a);
  }
  test_below("products, adjoints and sums: roundings", worst, 40);
}

/* (x, y), |y|^2 that the product leaves with y. */
static void product_sums(const side *s, kaon_operator *A, const kaon_vector *x, kaon_vector *y,
                         double sums[2]) {
  kaon_scalars *scalars = NULL;
  kaon_column_state states[1];
  kaon_pass pass = KAON_PASS_INIT;
  must(s->ctx, kaon_scalars_create(s->ctx, 1, &scalars));
  pass.scalars = scalars;
  pass.norm = NORM;
  pass.dot = DOT;
  pass.w = x;
  must(s->ctx, kaon_operator_run(A, KAON_PLAIN, x, y, &pass));
  must(s->ctx, kaon_scalars_read(scalars, states));
  sums[0] = states[0].slot[DOT][0];
  sums[1] = states[0].slot[NORM][0];
  kaon_scalars_destroy(&scalars);
}

/* The same bits whatever is computed while messages travel, and on every run; for sums the same
 * bits in one mode. */
static void check_overlap(int number, kaon_precision precision) {
  const int ranks = world_size();
  const kaon_overlap ways[] = {KAON_OVERLAP_AUTO, KAON_OVERLAP_STAGED, KAON_OVERLAP_NONE,
                               KAON_OVERLAP_FUSED, KAON_OVERLAP_AUTO};
  enum { WAYS = sizeof ways / sizeof *ways };
  ref_sparse a = make_case(number, 1);
  ref_complex *first = NULL, *in = sparse_random(a.rows, 1, 5);
  double norm = 0, sums[WAYS][2];
  for (int i = 0; i < WAYS; i++) {
    side s = open_side(&a, 1, ranks, 1, ways[i], KAON_ISA_AUTO);
    kaon_operator *A = sparse_operator(s.matrix, precision, KAON_STORE_AUTO);
    kaon_vector *x = sparse_vector(A, 1), *y = sparse_vector(A, 1);
    ref_complex *out = calloc(s.rows + 1, sizeof *out);
    double now = 0;
    sparse_import(x, 0, s.rows, in + s.first);
    must(s.ctx, kaon_operator_apply(A, KAON_PLAIN, x, y));
    must(s.ctx, kaon_vector_norm2(y, &now));
    product_sums(&s, A, x, y, sums[i]);
    sparse_export(y, 0, s.rows, out);
    if (i == 0) {
      first = out;
      norm = now;
    } else {
      assert_memory_equal(first, out, s.rows * sizeof *out);
      assert_true(norm == now);
      free(out);
    }
    kaon_vector_destroy(&x);
    kaon_vector_destroy(&y);
    kaon_operator_destroy(&A);
    close_side(&s);
  }
  assert_memory_equal(sums[0], sums[WAYS - 1], sizeof sums[0]);
  for (int i = 1; i < WAYS; i++) { /* doubles of one set, added in another order */
    assert_true(fabs(sums[i][0] - sums[0][0]) <= 1e-12 * norm);
    assert_true(fabs(sums[i][1] - sums[0][1]) <= 1e-12 * norm);
  }
  free(first);
  free(in);
  ref_sparse_free(&a);
}

static void bits_do_not_depend_on_the_overlap(void **state) {
  (void)state;
  for (int number = 0; number < CASES; number++)
    for (int i = 0; i < 2; i++) check_overlap(number, i == 0 ? KAON_DOUBLE : KAON_SINGLE);
  if (ranks_options(KAON_ISA_AUTO).backend == KAON_BACKEND_CUDA) check_overlap(LARGE, KAON_DOUBLE);
}

static kaon_column_report solve(const side *s, const ref_sparse *a, kaon_method method,
                                kaon_precision sloppy, int schwarz) {
  kaon_operator *A = sparse_operator(s->matrix, KAON_DOUBLE, KAON_STORE_AUTO), *K = NULL;
  kaon_vector *b = sparse_vector(A, 1), *x = sparse_vector(A, 1), *r = sparse_vector(A, 1);
  ref_complex *numbers = sparse_random(a->rows, A->space->ncomp, 31);
  kaon_solver_options o = KAON_SOLVER_OPTIONS_INIT;
  kaon_solver *solver = NULL;
  kaon_column_report report;
  double b2 = 0, r2 = 0;
  sparse_import(b, 0, s->rows, numbers + s->first);
  o.method = method;
  o.sloppy = sloppy;
  o.tol = 1e-9;
  if (schwarz) {
    kaon_schwarz_options how = KAON_SCHWARZ_OPTIONS_INIT;
    how.kind = schwarz == 2 ? KAON_SCHWARZ_MULTIPLICATIVE : KAON_SCHWARZ_ADDITIVE;
    how.precision = KAON_SINGLE;
    how.block[0] = 20;
    how.steps = 4;
    must(s->ctx, kaon_schwarz_create(A, &how, &K));
    o.preconditioner = K;
  }
  must(s->ctx, kaon_solver_create(A, 1, &o, &solver));
  must(s->ctx, kaon_solver_solve(solver, b, x, &report, NULL));
  must(s->ctx, kaon_operator_apply(A, KAON_PLAIN, x, r));
  must(s->ctx, kaon_vector_axpy(-1, 0, b, r));
  must(s->ctx, kaon_vector_norm2(b, &b2));
  must(s->ctx, kaon_vector_norm2(r, &r2));
  assert_true(sqrt(r2 / b2) <= 1.1e-9);
  kaon_solver_destroy(&solver);
  kaon_operator_destroy(&K);
  kaon_vector_destroy(&b);
  kaon_vector_destroy(&x);
  kaon_vector_destroy(&r);
  kaon_operator_destroy(&A);
  free(numbers);
  return report;
}

static void solve_goes_as_on_one_rank(int number, kaon_method method, kaon_precision sloppy,
                                      int schwarz, int reals) {
  ref_sparse a = make_case(number, reals);
  side whole = open_side(&a, reals, 1, 0, KAON_OVERLAP_AUTO, KAON_ISA_AUTO);
  const kaon_column_report one = solve(&whole, &a, method, sloppy, schwarz);
  for (int share = 0; share < 2; share++) {
    side s = open_side(&a, reals, world_size(), share, KAON_OVERLAP_AUTO, KAON_ISA_AUTO);
    const kaon_column_report part = solve(&s, &a, method, sloppy, schwarz);
    printf("  %s, inner %d, schwarz %d: %d steps, one rank %d\n", method_name((int)method),
           (int)sloppy, schwarz, part.iterations, one.iterations);
    /* roundings in another order; blocks of rows begin at each rank's first one */
    const int few = schwarz ? one.iterations : 2 + one.iterations / 10;
    assert_true(abs(part.iterations - one.iterations) <= few);
    close_side(&s);
  }
  close_side(&whole);
  ref_sparse_free(&a);
}

/* Matrix 0 is Hermitian positive definite. */
static void solves_go_as_on_one_rank(void **state) {
  (void)state;
  static const struct {
    int number;
    kaon_method method;
    kaon_precision sloppy;
    int schwarz;
  } solves[] = {{0, KAON_CG, KAON_SINGLE, 0},        {0, KAON_CG, KAON_HALF, 0},
                {0, KAON_CHRONGEAR, KAON_SINGLE, 0}, {2, KAON_BICGSTAB, KAON_DOUBLE, 0},
                {2, KAON_CGNR, KAON_SINGLE, 0},      {2, KAON_GCR, KAON_DOUBLE, 0},
                {1, KAON_GCR, KAON_DOUBLE, 1},       {1, KAON_GCR, KAON_DOUBLE, 2}};
  for (size_t i = 0; i < sizeof solves / sizeof *solves; i++)
    solve_goes_as_on_one_rank(solves[i].number, solves[i].method, solves[i].sloppy,
                              solves[i].schwarz, 1 + (int)(i % 2));
  for (int m = 0; m < METHODS; m = next_krylov(m)) {
    if (!method_has(m, KAON_METHOD_HERMITIAN)) continue;
    solve_goes_as_on_one_rank(0, (kaon_method)m, KAON_DOUBLE, 0, 1 + m % 2);
    if (method_has(m, KAON_METHOD_FLEXIBLE))
      solve_goes_as_on_one_rank(0, (kaon_method)m, KAON_DOUBLE, 1, 1);
  }
}

/* Whatever share of the rows a rank has. */
static void flops_are_those_of_all_rows(void **state) {
  (void)state;
  ref_sparse a = make_case(0, 1);
  double one = 0;
  for (int share = -1; share < SHARES; share++) {
    side s = open_side(&a, 1, share < 0 ? 1 : world_size(), share < 0 ? 0 : share,
                       KAON_OVERLAP_AUTO, KAON_ISA_AUTO);
    kaon_operator *A = sparse_operator(s.matrix, KAON_DOUBLE, KAON_STORE_AUTO);
    kaon_vector *b = sparse_vector(A, 1), *x = sparse_vector(A, 1);
    ref_complex *numbers = sparse_random(a.rows, 1, 31);
    kaon_solver_options o = KAON_SOLVER_OPTIONS_INIT;
    kaon_solver *solver = NULL;
    kaon_column_report column;
    kaon_solve_report report = KAON_SOLVE_REPORT_INIT;
    sparse_import(b, 0, s.rows, numbers + s.first);
    o.method = KAON_CG;
    o.max_iterations = 5;
    must(s.ctx, kaon_precond_jacobi(A, &o.preconditioner));
    must(s.ctx, kaon_solver_create(A, 1, &o, &solver));
    must(s.ctx, kaon_solver_solve(solver, b, x, &column, &report));
    if (share < 0) one = report.flops;
    printf("  share %d: %g flops, one rank %g\n", share, report.flops, one);
    assert_true(fabs(report.flops - one) <= 1e-12 * one);
    kaon_solver_destroy(&solver);
    kaon_operator_destroy(&o.preconditioner);
    kaon_vector_destroy(&b);
    kaon_vector_destroy(&x);
    kaon_operator_destroy(&A);
    free(numbers);
    close_side(&s);
  }
  ref_sparse_free(&a);
}

/* A column has entries on all ranks, so its owner alone cannot decide. */
static void columns_of_zeros_are_named_as_on_one_rank(void **state) {
  (void)state;
  ref_sparse a = ref_sparse_new(300);
  for (size_t i = 0; i < a.rows; i++)
    for (size_t d = 0; d < 5; d++) {
      const size_t j = (i + 61 * d) % a.rows;
      if (j != 40 && j != 222 && i != 111) ref_sparse_add(&a, i, j, 1 + (double)(i + j));
    }
  ref_sparse_add(&a, 111, 222, 0);
  side whole = open_side(&a, 1, 1, 0, KAON_OVERLAP_AUTO, KAON_ISA_AUTO);
  kaon_matrix_info one = KAON_MATRIX_INFO_INIT, part = KAON_MATRIX_INFO_INIT;
  must(whole.ctx, kaon_matrix_describe(whole.matrix, &one));
  assert_int_equal(one.empty_columns, 2);
  assert_int_equal(one.first_empty_column, 40);
  assert_int_equal(one.first_empty_row, 111);
  assert_int_equal(one.first_no_diagonal, 40);
  for (int share = 0; share < SHARES; share++) {
    side s = open_side(&a, 1, world_size(), share, KAON_OVERLAP_AUTO, KAON_ISA_AUTO);
    must(s.ctx, kaon_matrix_describe(s.matrix, &part));
    assert_int_equal(part.empty_rows, one.empty_rows);
    assert_int_equal(part.empty_columns, one.empty_columns);
    assert_int_equal(part.no_diagonal, one.no_diagonal);
    assert_int_equal(part.first_empty_row, one.first_empty_row);
    assert_int_equal(part.first_empty_column, one.first_empty_column);
    assert_int_equal(part.first_no_diagonal, one.first_no_diagonal);
    assert_int_equal(part.structural_rank, one.structural_rank);
    assert_int_equal(part.first_unmatched >= 0, one.first_unmatched >= 0);
    close_side(&s);
  }
  close_side(&whole);
  ref_sparse_free(&a);
}

/* A circle of entries, two to the right in each row, so no row has its diagonal. `crowded`: rows
 * 207 to 209 have only columns 3 and 4, so one row is left without. */
static ref_sparse circle(int crowded) {
  ref_sparse a = ref_sparse_new(300);
  for (size_t i = 0; i < a.rows; i++) {
    const int crowd = crowded && i >= 207 && i <= 209;
    ref_sparse_add(&a, i, crowd ? 3 : (i + 2) % a.rows, 1);
    ref_sparse_add(&a, i, crowd ? 4 : (i + 3) % a.rows, 2);
    if (!crowd) ref_sparse_add(&a, i, (i * 7 + 5) % a.rows, i % 7 == 0 ? 0 : 0.5);
  }
  return a;
}

/* For every distribution of rows and columns, and every stored order. */
static void the_structural_rank_is_the_matrix_own(void **state) {
  (void)state;
  for (int crowded = 0; crowded < 2; crowded++)
    for (int share = 0; share < SHARES; share++)
      for (int moved = 0; moved < 2; moved++) {
        ref_sparse a = circle(crowded);
        side s = open_side(&a, 1, world_size(), share, KAON_OVERLAP_AUTO, KAON_ISA_AUTO);
        kaon_matrix_options options = KAON_MATRIX_OPTIONS_INIT;
        kaon_matrix_info info = KAON_MATRIX_INFO_INIT;
        options.ordering = KAON_ORDERING_RCM;
        options.partition = KAON_PARTITION_METIS;
        if (moved) kaon_matrix_destroy(&s.matrix);
        if (moved) s.matrix = sparse_matrix_part(s.ctx, &a, 1, s.first, s.rows, &options);
        must(s.ctx, kaon_matrix_describe(s.matrix, &info));
        assert_true(info.no_diagonal > 250 && info.empty_rows == 0);
        assert_int_equal(info.structural_rank, crowded ? 299 : 300);
        if (crowded)
          assert_in_range(info.first_unmatched, 207, 209);
        else
          assert_int_equal(info.first_unmatched, -1);
        close_side(&s);
        ref_sparse_free(&a);
      }
}

/* All ranks hear of what one of them did wrong. */
static void rows_that_do_not_join_are_refused(void **state) {
  (void)state;
  const int ranks = world_size();
  kaon_context *ctx = ranks_open(KAON_ISA_AUTO, any_grid);
  const int32_t start[] = {0, 1}, column[] = {0, 99};
  const double one[] = {1};
  kaon_csr_arrays a = {.global_rows = ranks,
                       .first_row = ctx->comm->rank,
                       .rows = 1,
                       .reals = 1,
                       .start32 = start,
                       .column32 = column,
                       .values = one};
  kaon_matrix *matrix = NULL;
  must(ctx, kaon_matrix_create_csr(ctx, &a, NULL, &matrix));
  kaon_matrix_destroy(&matrix);
  if (ranks > 1) {
    if (ctx->comm->rank == ranks - 1) a.first_row = 0;
    assert_int_equal(kaon_matrix_create_csr(ctx, &a, NULL, &matrix), KAON_ERR_SHAPE);
    assert_non_null(strstr(kaon_last_error(ctx), "must begin where"));
    a.first_row = ctx->comm->rank;
    if (ctx->comm->rank == ranks - 1) a.column32 = column + 1;
    assert_int_equal(kaon_matrix_create_csr(ctx, &a, NULL, &matrix), KAON_ERR_ARGUMENT);
    assert_non_null(strstr(kaon_last_error(ctx), "column 99"));
  }
  assert_null(matrix);
  kaon_context_destroy(&ctx);
}

static const struct CMUnitTest matrices_on_ranks[] = {
    cmocka_unit_test(products_are_those_of_one_rank),
    cmocka_unit_test(bits_do_not_depend_on_the_overlap),
    cmocka_unit_test(solves_go_as_on_one_rank),
    cmocka_unit_test(flops_are_those_of_all_rows),
    cmocka_unit_test(columns_of_zeros_are_named_as_on_one_rank),
    cmocka_unit_test(the_structural_rank_is_the_matrix_own),
    cmocka_unit_test(rows_that_do_not_join_are_refused)};
RANKS_MAIN(matrices_on_ranks)
