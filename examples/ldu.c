/* ldu.c - solves a system in OpenFOAM's addressing (lower, diagonal, upper; owner and neighbour of
 * each face) as its PCG with DIC does: a pressure equation on a cavity of N x N x N cells. Usage:
 * ldu [N [STEPS]]. There are walls all around, so the pressure of one cell is fixed, as
 * setReference does. Exit status: 0; 1 if it did not converge within STEPS (default: the
 * library's); 2. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <kaon/kaon.h>

/* The mesh: internal faces, each with the cells on its two sides, owner < neighbour. */
typedef struct mesh {
  int n, cells, faces;
  int32_t *owner, *neighbour;
  double *diagonal, *upper, *source;
} mesh;

static int make_mesh(int n, mesh *m) {
  const size_t cells = (size_t)n * (size_t)n * (size_t)n;
  *m = (mesh){n,
              (int)cells,
              0,
              malloc(3 * cells * sizeof(int32_t)),
              malloc(3 * cells * sizeof(int32_t)),
              calloc(cells, sizeof(double)),
              malloc(3 * cells * sizeof(double)),
              calloc(cells, sizeof(double))};
  return m->owner && m->neighbour && m->diagonal && m->upper && m->source;
}

/* Laplace's equation: a face's flux is the difference of its cells. */
static void assemble(mesh *m) {
  const int step[3] = {1, m->n, m->n * m->n};
  for (int c = 0; c < m->cells; c++)
    for (int mu = 0; mu < 3; mu++) {
      if (c / step[mu] % m->n == m->n - 1) continue;
      m->owner[m->faces] = c;
      m->neighbour[m->faces] = c + step[mu];
      m->upper[m->faces++] = -1;
      m->diagonal[c]++;
      m->diagonal[c + step[mu]]++;
    }
  m->diagonal[0] *= 2;          /* the reference: pressure 0 in cell 0 */
  m->source[1] = 1;             /* inflow */
  m->source[m->cells - 1] = -1; /* outflow */
}

static kaon_status solve(kaon_context *ctx, const mesh *m, int steps, double *pressure,
                         int *converged) {
  const kaon_ldu_arrays arrays = {.cells = m->cells,
                                  .faces = m->faces,
                                  .owner = m->owner,
                                  .neighbour = m->neighbour,
                                  .diagonal = m->diagonal,
                                  .upper = m->upper}; /* lower NULL: symmetric */
  kaon_solver_options options = KAON_SOLVER_OPTIONS_INIT;
  kaon_precond_options dic = KAON_PRECOND_OPTIONS_INIT;
  kaon_column_report report;
  kaon_matrix *matrix = NULL;
  kaon_operator *A = NULL, *K = NULL;
  kaon_solver *solver = NULL;
  kaon_vector *b = NULL, *x = NULL;
  dic.kind = KAON_PRECOND_DIC;
  kaon_status status = kaon_matrix_create_ldu(ctx, &arrays, NULL, &matrix);
  if (status == KAON_OK) status = kaon_matrix_operator(matrix, NULL, &A);
  if (status == KAON_OK) status = kaon_precond_create(matrix, &dic, &K);
  options.method = KAON_CG;
  options.tol = 1e-9;
  options.preconditioner = K;
  if (steps > 0) options.max_iterations = steps;
  if (status == KAON_OK) status = kaon_solver_create(A, 1, &options, &solver);
  const kaon_space *space = status == KAON_OK ? kaon_matrix_space(matrix) : NULL;
  if (status == KAON_OK) status = kaon_vector_create(ctx, space, KAON_DOUBLE, 1, &b);
  if (status == KAON_OK) status = kaon_vector_create(ctx, space, KAON_DOUBLE, 1, &x);
  if (status == KAON_OK) status = kaon_vector_import(b, 0, m->source, KAON_BASIS_UKQCD);
  if (status == KAON_OK) status = kaon_solver_solve(solver, b, x, &report, NULL);
  if (status == KAON_OK) status = kaon_vector_export(x, 0, pressure, KAON_BASIS_UKQCD);
  if (status == KAON_OK)
    printf("%d cells, %d faces: %s after %d steps, residual %.2e\n", m->cells, m->faces,
           kaon_stop_reason_name(report.reason), report.iterations, report.residual);
  *converged = status == KAON_OK && report.reason == KAON_CONVERGED;
  kaon_vector_destroy(&x);
  kaon_vector_destroy(&b);
  kaon_solver_destroy(&solver);
  kaon_operator_destroy(&K);
  kaon_operator_destroy(&A);
  kaon_matrix_destroy(&matrix);
  return status;
}

/* The largest imbalance of a cell, computed by faces, as the application itself would. */
static double imbalance(const mesh *m, const double *pressure) {
  double worst = 0;
  double *sum = malloc((size_t)m->cells * sizeof *sum);
  if (!sum) return NAN;
  for (int c = 0; c < m->cells; c++) sum[c] = m->diagonal[c] * pressure[c] - m->source[c];
  for (int f = 0; f < m->faces; f++) {
    sum[m->owner[f]] += m->upper[f] * pressure[m->neighbour[f]];
    sum[m->neighbour[f]] += m->upper[f] * pressure[m->owner[f]];
  }
  for (int c = 0; c < m->cells; c++) worst = fmax(worst, fabs(sum[c]));
  free(sum);
  return worst;
}

int main(int argc, char **argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 20, steps = argc > 2 ? atoi(argv[2]) : 0;
  int converged = 0;
  kaon_context *ctx = NULL;
  mesh m;
  if (n < 2 || n > 500 || !make_mesh(n, &m)) return 2;
  double *pressure = calloc((size_t)m.cells, sizeof *pressure);
  assemble(&m);
  kaon_status status = kaon_context_create(NULL, &ctx);
  if (status == KAON_OK)
    status = pressure ? solve(ctx, &m, steps, pressure, &converged) : KAON_ERR_MEMORY;
  if (status != KAON_OK) fprintf(stderr, "%s\n", kaon_last_error(ctx));
  if (status == KAON_OK) printf("largest imbalance of a cell: %.1e\n", imbalance(&m, pressure));
  if (status == KAON_OK && !converged)
    fprintf(stderr, "not converged: this pressure is no solution; allow more steps\n");
  kaon_context_destroy(&ctx);
  free(pressure), free(m.owner), free(m.neighbour), free(m.diagonal), free(m.upper), free(m.source);
  return status != KAON_OK ? 2 : converged ? 0 : 1;
}
