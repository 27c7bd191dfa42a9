/* csr.c [N] - heat conduction on N x N cells: CSR arrays of an application, solved by conjugate
 * gradients with the diagonal as preconditioner. ldu.c shows how to release memory. */
#include <stdio.h>
#include <stdlib.h>
#include <kaon/kaon.h>
#define CHECK(call) \
  if ((call) != KAON_OK) return fprintf(stderr, "%s\n", kaon_last_error(ctx)), 2

/* Row y n + x: the diagonal is 4, the cells beside it -1. Returns the number of entries. */
static int assemble(int n, int32_t *start, int32_t *column, double *value) {
  const int step[5] = {-n, -1, 0, 1, n};
  int entries = 0;
  for (int row = 0; row < n * n; row++) {
    const int x = row % n, y = row / n, inside[5] = {y > 0, x > 0, 1, x < n - 1, y < n - 1};
    start[row] = entries;
    for (int k = 0; k < 5; k++)
      if (inside[k]) {
        column[entries] = row + step[k];
        value[entries++] = step[k] == 0 ? 4 : -1;
      }
  }
  return start[n * n] = entries;
}

int main(int argc, char **argv) {
  static kaon_context *ctx;
  static kaon_matrix *matrix;
  static kaon_operator *A, *jacobi;
  static kaon_solver *solver;
  static kaon_vector *b, *x;
  const int n = argc > 1 ? atoi(argv[1]) : 100, rows = n > 0 && n <= 20000 ? n * n : 0;
  int32_t *start = malloc(((size_t)rows + 1) * sizeof *start);
  int32_t *column = malloc(5 * (size_t)rows * sizeof *column);
  double *value = malloc(5 * (size_t)rows * sizeof *value);
  double *numbers = malloc((size_t)rows * sizeof *numbers);
  if (rows == 0) return fprintf(stderr, "csr N: N is 1 to 20000, not %s\n", argv[1]), 2;
  if (!start || !column || !value || !numbers) return 3;
  const int entries = assemble(n, start, column, value);
  for (int i = 0; i < rows; i++) numbers[i] = 1;
  kaon_csr_arrays arrays = {.global_rows = rows, .rows = rows, .reals = 1};
  arrays.start32 = start, arrays.column32 = column, arrays.values = value;
  kaon_solver_options cg = KAON_SOLVER_OPTIONS_INIT;
  kaon_column_report done;
  CHECK(kaon_context_create(NULL, &ctx));
  CHECK(kaon_matrix_create_csr(ctx, &arrays, NULL, &matrix));
  CHECK(kaon_matrix_operator(matrix, NULL, &A));
  CHECK(kaon_precond_jacobi(A, &jacobi));
  cg.method = KAON_CG;
  cg.preconditioner = jacobi;
  CHECK(kaon_solver_create(A, 1, &cg, &solver));
  CHECK(kaon_vector_create(ctx, kaon_matrix_space(matrix), KAON_DOUBLE, 1, &b));
  CHECK(kaon_vector_create(ctx, kaon_matrix_space(matrix), KAON_DOUBLE, 1, &x));
  CHECK(kaon_vector_import(b, 0, numbers, KAON_BASIS_UKQCD));
  CHECK(kaon_solver_solve(solver, b, x, &done, NULL));
  CHECK(kaon_vector_export(x, 0, numbers, KAON_BASIS_UKQCD));
  printf("%d rows, %d entries: %s after %d steps, residual %.1e; %.9f in the middle\n", rows,
         entries, kaon_stop_reason_name(done.reason), done.iterations, done.residual,
         numbers[n / 2 * n + n / 2]);
  return done.reason == KAON_CONVERGED ? 0 : 1;
}
