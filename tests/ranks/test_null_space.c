/* test_null_space.c - singular systems on several ranks. Each rank passes its part of the null
 * vectors. Solutions are orthogonal to the whole vectors, and the reported size of what A x cannot
 * reach is that of the whole b. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>

#include "ranks.h"

/* Two rings with weighted edges, each with a null vector. Ranks with unequal numbers of rows divide
 * them anywhere. */
enum { ROWS = 90, FIRST_RING = 50, COLUMNS = 2 };

typedef struct part {
  kaon_context *ctx;
  kaon_matrix *matrix;
  int64_t first, rows;
} part;

static int ring_of(int64_t i) {
  return i >= FIRST_RING;
}

static int64_t next_of(int64_t i) {
  return i + 1 == FIRST_RING ? 0 : i + 1 == ROWS ? FIRST_RING : i + 1;
}

static int64_t before(int64_t i) {
  return i == 0 ? FIRST_RING - 1 : i == FIRST_RING ? ROWS - 1 : i - 1;
}

static double weight(int64_t i) { /* of the edge from i to the next */
  return 1 + (double)(i % 7) / 3;
}

static part open_part(void) {
  part p = {.ctx = ranks_open(KAON_ISA_AUTO, NULL)};
  int64_t row[3 * ROWS], column[3 * ROWS];
  double value[3 * ROWS];
  p.first = ranks_first_row(ROWS, world_rank(), world_size(), 1);
  p.rows = ranks_first_row(ROWS, world_rank() + 1, world_size(), 1) - p.first;
  kaon_triplet_arrays a = {ROWS, p.first, p.rows, 1, 0, 0, row, column, value};
  for (int64_t i = p.first; i < p.first + p.rows; i++) {
    const int64_t at[3] = {i, next_of(i), before(i)};
    const double sizes[3] = {weight(i) + weight(before(i)), -weight(i), -weight(before(i))};
    for (int k = 0; k < 3; k++, a.entries++) {
      row[a.entries] = i;
      column[a.entries] = at[k];
      value[a.entries] = sizes[k];
    }
  }
  must(p.ctx, kaon_matrix_create_triplets(p.ctx, &a, NULL, &p.matrix));
  return p;
}

static void close_part(part *p) {
  kaon_matrix_destroy(&p->matrix);
  kaon_context_destroy(&p->ctx);
}

static double number_at(int64_t i, int column) {
  return cos((double)(i * i % 31) + column);
}

/* |n^T x| / |x| of the worse ring, over all ranks. */
static double along(const part *p, const double *x) {
  double sums[3] = {0};
  for (int64_t i = 0; i < p->rows; i++) {
    sums[ring_of(p->first + i)] += x[i];
    sums[2] += x[i] * x[i];
  }
  MPI_Allreduce(MPI_IN_PLACE, sums, 3, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return fmax(fabs(sums[0]) / sqrt(FIRST_RING), fabs(sums[1]) / sqrt(ROWS - FIRST_RING)) /
         sqrt(sums[2]);
}

static void set_rings(const part *p) {
  double rings[2 * ROWS] = {0};
  for (int64_t i = 0; i < p->rows; i++) rings[ring_of(p->first + i) * p->rows + i] = 1;
  must(p->ctx, kaon_matrix_set_null_space(p->matrix, 2, rings));
}

/* Column 0 is consistent. Column 1 has a part of 0.5 |b| along the first ring, which is then
 * removed. */
static void solve(const part *p, kaon_method method, int jacobi) {
  kaon_solver_options o = KAON_SOLVER_OPTIONS_INIT;
  kaon_operator *A = NULL;
  kaon_solver *solver = NULL;
  kaon_vector *b = NULL, *x = NULL;
  kaon_column_report report[COLUMNS];
  double numbers[ROWS], removed[COLUMNS], b2[COLUMNS];
  must(p->ctx, kaon_matrix_operator(p->matrix, NULL, &A));
  must(p->ctx, kaon_vector_create(p->ctx, kaon_matrix_space(p->matrix), KAON_DOUBLE, COLUMNS, &b));
  must(p->ctx, kaon_vector_create(p->ctx, kaon_matrix_space(p->matrix), KAON_DOUBLE, COLUMNS, &x));
  for (int k = 0; k < COLUMNS; k++) {
    for (int64_t i = 0; i < p->rows; i++) numbers[i] = number_at(p->first + i, k);
    must(p->ctx, kaon_vector_import(x, k, numbers, KAON_BASIS_UKQCD));
  }
  must(p->ctx, kaon_operator_apply(A, KAON_PLAIN, x, b));
  must(p->ctx, kaon_vector_norm2(b, b2));
  must(p->ctx, kaon_vector_export(b, 1, numbers, KAON_BASIS_UKQCD));
  for (int64_t i = 0; i < p->rows; i++)
    numbers[i] += ring_of(p->first + i) ? 0 : sqrt(b2[1] / FIRST_RING / 3); /* 1/4 of |b|^2 */
  must(p->ctx, kaon_vector_import(b, 1, numbers, KAON_BASIS_UKQCD));
  o.method = method;
  o.tol = 1e-11;
  if (jacobi) must(p->ctx, kaon_precond_jacobi(A, &o.preconditioner));
  must(p->ctx, kaon_solver_create(A, COLUMNS, &o, &solver));
  must(p->ctx, kaon_solver_solve(solver, b, x, report, NULL)); /* x: a guess along the rings, too */
  assert_int_equal(report[0].reason, KAON_CONVERGED);
  assert_int_equal(report[1].reason, KAON_STAGNATED);
  assert_true(fabs(report[1].unreachable - 0.5) <= 4 * ROWS * 0x1p-52);
  must(p->ctx, kaon_matrix_project_rhs(p->matrix, b, removed));
  assert_true(fabs(removed[1] - 0.5) <= 4 * ROWS * 0x1p-52);
  must(p->ctx, kaon_solver_solve(solver, b, x, report, NULL));
  for (int k = 0; k < COLUMNS; k++) {
    assert_int_equal(report[k].reason, KAON_CONVERGED);
    must(p->ctx, kaon_vector_export(x, k, numbers, KAON_BASIS_UKQCD));
    assert_true(along(p, numbers) <= 4 * ROWS * 0x1p-52);
  }
  kaon_solver_destroy(&solver);
  kaon_operator_destroy(&o.preconditioner);
  kaon_operator_destroy(&A);
  kaon_vector_destroy(&b);
  kaon_vector_destroy(&x);
}

static void solutions_and_sizes_are_those_of_the_whole_matrix(void **state) {
  static const kaon_method methods[] = {KAON_CG, KAON_PIPECG, KAON_RBICGSTAB, KAON_BLOCKCG,
                                        KAON_BICG};
  (void)state;
  part p = open_part();
  set_rings(&p);
  for (size_t m = 0; m < sizeof methods / sizeof *methods; m++)
    for (int jacobi = 0; jacobi < 2; jacobi++)
      if (!jacobi || methods[m] != KAON_BLOCKCG) solve(&p, methods[m], jacobi);
  close_part(&p);
}

/* All ranks get the error, and it names the row of the whole matrix. */
static void wrong_vectors_are_refused_alike(void **state) {
  (void)state;
  part p = open_part();
  const int ranks = world_size(), last = world_rank() == ranks - 1;
  double wrong[ROWS];
  for (int64_t i = 0; i < p.rows; i++) wrong[i] = p.first + i == 70 ? 2 : 1;
  assert_int_equal(kaon_matrix_set_null_space(p.matrix, 1, wrong), KAON_ERR_ARGUMENT);
  const char *text = kaon_last_error(p.ctx);
  assert_true(strstr(text, "row 69 ") || strstr(text, "row 70 ") || strstr(text, "row 71 "));
  const kaon_status status = kaon_matrix_set_null_space(p.matrix, ranks > 1 && last ? 0 : 1, NULL);
  assert_int_equal(status, ranks > 1 ? KAON_ERR_ARGUMENT : KAON_OK);
  if (ranks > 1)
    assert_non_null(strstr(kaon_last_error(p.ctx), "null space: count is 1 on rank 0"));
  close_part(&p);
}

static const struct CMUnitTest null_space[] = {
    cmocka_unit_test(solutions_and_sizes_are_those_of_the_whole_matrix),
    cmocka_unit_test(wrong_vectors_are_refused_alike),
};
RANKS_MAIN(null_space)
