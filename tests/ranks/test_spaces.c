/* test_spaces.c - spaces and operators of an application on several ranks: parts of unlike size,
 * also none, an operator between two spaces, and Schwarz with an application's own local part. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>

#include "lib/operator/operator_internal.h"
#include "ranks.h"
#include "tests/util/precond_case.h"
#include "tests/util/row_case.h"

static const int *const any_grid = NULL;
enum { MOST = 128 }; /* reals of a vector on one rank */

static kaon_vector *random_vector(const kaon_space *space, uint64_t seed) {
  double numbers[MOST];
  kaon_vector *v = NULL;
  seed += (uint64_t)world_rank() * 100;
  for (int i = 0; i < MOST; i++) numbers[i] = test_uniform(&seed);
  must(space->ctx, kaon_vector_create(space->ctx, space, KAON_DOUBLE, 1, &v));
  must(space->ctx, kaon_vector_import(v, 0, numbers, KAON_BASIS_UKQCD));
  return v;
}

/* Pairs of sites are added up, in place. */
static kaon_status add_pairs(void *user, kaon_mode mode, const kaon_vector *x, kaon_vector *y) {
  const int64_t fine = *(const int64_t *)user;
  kaon_vector_storage in = KAON_VECTOR_STORAGE_INIT, out = KAON_VECTOR_STORAGE_INIT;
  KAON_TRY(kaon_vector_zero(y));
  KAON_TRY(kaon_vector_locate(x, &in));
  KAON_TRY(kaon_vector_locate(y, &out));
  for (int64_t i = 0; i < fine; i++)
    for (int c = 0; c < in.reals; c++) {
      const int64_t to = mode == KAON_PLAIN ? i / 2 : i, from = mode == KAON_PLAIN ? i : i / 2;
      ((double *)out.data)[kaon_storage_index(&out, to, 0, c)] +=
          ((const double *)in.data)[kaon_storage_index(&in, from, 0, c)];
    }
  return KAON_OK;
}

/* Rank r has 2 r pairs, so rank 0 has none. */
static void operators_between_spaces_have_adjoints(void **state) {
  (void)state;
  kaon_context *ctx = ranks_open(KAON_ISA_AUTO, any_grid);
  if (!ctx->backend->host_accessible) {
    kaon_context_destroy(&ctx);
    skip();
  }
  const int64_t coarse_sites = 2 * world_rank(), fine_sites = 2 * coarse_sites;
  kaon_shell_methods methods = KAON_SHELL_METHODS_INIT;
  kaon_space *fine = NULL, *coarse = NULL, *wrong = NULL;
  kaon_operator *R = NULL;
  double one[1][2], other[1][2];
  int64_t user = fine_sites;
  methods.apply = add_pairs;
  must(ctx, kaon_space_create(ctx, fine_sites, 1, 1, &fine));
  must(ctx, kaon_space_create(ctx, coarse_sites, 1, 1, &coarse));
  must(ctx, kaon_shell_create(fine, coarse, &methods, &user, NULL, &R));
  kaon_vector *x = random_vector(fine, 1), *y = random_vector(coarse, 2);
  kaon_vector *rx = random_vector(coarse, 3), *ry = random_vector(fine, 4);
  must(ctx, kaon_operator_apply(R, KAON_PLAIN, x, rx));
  must(ctx, kaon_operator_apply(R, KAON_DAGGER, y, ry));
  must(ctx, kaon_vector_dot(y, rx, one));
  must(ctx, kaon_vector_dot(ry, x, other));
  const double terms =
      4.0 * world_size() * world_size(); /* at least those of a sum, each below 2 */
  for (int c = 0; c < 2; c++)
    test_close("adjoint", one[0][c], other[0][c], 4 * terms * terms * 0x1p-53);
  must_refuse(ctx, KAON_ERR_ARGUMENT,
              kaon_space_create(ctx, world_rank() == world_size() - 1 ? -1 : 4, 1, 0, &wrong));
  assert_null(wrong);
  kaon_vector_destroy(&x);
  kaon_vector_destroy(&y);
  kaon_vector_destroy(&rx);
  kaon_vector_destroy(&ry);
  kaon_operator_destroy(&R);
  kaon_space_destroy(&fine);
  kaon_space_destroy(&coarse);
  kaon_context_destroy(&ctx);
}

static kaon_status pass_on(void *A, kaon_mode mode, const kaon_vector *x, kaon_vector *y) {
  return kaon_operator_apply(A, mode, x, y);
}

static kaon_status pass_local(void *A, kaon_precision precision, kaon_operator **local) {
  const int block[4] = {0};
  return kaon_operator_local_part(A, block, precision, KAON_RECONSTRUCT_18, local);
}

/* The additive kind is that of the matrix; in the multiplicative one ranks take turns. */
static void schwarz_takes_local_parts_of_applications(void **state) {
  (void)state;
  kaon_context *ctx = ranks_open(KAON_ISA_AUTO, any_grid);
  kaon_csr *whole = row_case_laplace(10, 12, 1);
  const int64_t first = ranks_first_row(whole->rows, world_rank(), world_size(), 0);
  const int64_t rows = ranks_first_row(whole->rows, world_rank() + 1, world_size(), 0) - first;
  kaon_shell_methods methods = KAON_SHELL_METHODS_INIT;
  kaon_matrix *matrix = NULL;
  kaon_operator *A = NULL, *shell = NULL;
  int64_t start[MOST + 1];
  for (int64_t i = 0; i <= rows; i++) start[i] = whole->start[first + i] - whole->start[first];
  const kaon_csr_arrays arrays = {.global_rows = whole->rows,
                                  .first_row = first,
                                  .rows = rows,
                                  .reals = 1,
                                  .start64 = start,
                                  .column32 = whole->column + whole->start[first],
                                  .values = whole->value + whole->start[first]};
  must(ctx, kaon_matrix_create_csr(ctx, &arrays, NULL, &matrix));
  must(ctx, kaon_matrix_operator(matrix, NULL, &A));
  methods.apply = pass_on;
  methods.local = pass_local;
  must(ctx, kaon_shell_create(A->space, NULL, &methods, A, NULL, &shell));
  for (int kind = KAON_SCHWARZ_ADDITIVE; kind <= KAON_SCHWARZ_MULTIPLICATIVE; kind++) {
    kaon_column_report reports[2];
    for (int i = 0; i < 2; i++) {
      kaon_schwarz_options schwarz = KAON_SCHWARZ_OPTIONS_INIT;
      kaon_solver_options o = KAON_SOLVER_OPTIONS_INIT;
      kaon_operator *K = NULL;
      kaon_solver *solver = NULL;
      kaon_vector *x = random_vector(A->space, 1), *b = random_vector(A->space, 2);
      schwarz.kind = (kaon_schwarz_kind)kind;
      schwarz.precision = KAON_DOUBLE;
      must(ctx, kaon_schwarz_create(i ? shell : A, &schwarz, &K));
      o.method = KAON_GCR;
      o.preconditioner = K;
      must(ctx, kaon_vector_zero(x));
      must(ctx, kaon_solver_create(A, 1, &o, &solver));
      must(ctx, kaon_solver_solve(solver, b, x, &reports[i], NULL));
      assert_int_equal(reports[i].reason, KAON_CONVERGED);
      kaon_solver_destroy(&solver);
      kaon_operator_destroy(&K);
      kaon_vector_destroy(&x);
      kaon_vector_destroy(&b);
    }
    printf("  %d and %d steps\n", reports[0].iterations, reports[1].iterations);
    if (kind == KAON_SCHWARZ_ADDITIVE && ctx->backend->host_accessible)
      assert_int_equal(reports[0].iterations, reports[1].iterations);
  }
  kaon_operator_destroy(&shell);
  kaon_operator_destroy(&A);
  kaon_matrix_destroy(&matrix);
  kaon_csr_destroy(&whole);
  kaon_context_destroy(&ctx);
}

static const struct CMUnitTest spaces[] = {
    cmocka_unit_test(operators_between_spaces_have_adjoints),
    cmocka_unit_test(schwarz_takes_local_parts_of_applications),
};
RANKS_MAIN(spaces)
