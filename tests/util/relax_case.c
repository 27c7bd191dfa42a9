/* relax_case.c - see relax_case.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "tests/util/precond_case.h"
#include "tests/util/relax_case.h"

static void create_vectors(relax_case *c, kaon_precision precision) {
  const size_t n = c->rows.rows;
  c->b = calloc(2 * n * (size_t)c->columns + 1, sizeof *c->b);
  c->x = c->b + n * (size_t)c->columns;
  precond_ok(c->ctx, kaon_vector_create(c->ctx, c->A->space, precision, c->columns, &c->right));
  precond_ok(c->ctx, kaon_vector_create(c->ctx, c->A->space, precision, c->columns, &c->solution));
  for (int k = 0; k < c->columns; k++) {
    ref_complex *b = c->b + (size_t)k * n;
    for (size_t i = 0; i < n && k == 0; i++) b[i] = 1;
    if (k > 0) row_case_vector((int64_t)n, c->csr->reals, (uint64_t)k, b);
    precond_import(c->right, k, (int64_t)n, b);
  }
}

int relax_case_open(relax_case *c, int machine, int threads, kaon_csr *csr,
                    kaon_precision precision, int columns) {
  kaon_context_options options = KAON_CONTEXT_OPTIONS_INIT;
  kaon_matrix_operator_options how = KAON_MATRIX_OPERATOR_OPTIONS_INIT;
  memset(c, 0, sizeof *c);
  options.threads = threads;
  c->csr = csr;
  c->columns = columns;
  precond_ok(NULL, machine_open(machine, options, &c->ctx));
  if (c->ctx->backend->sparse[precision] == NULL) {
    relax_case_close(c);
    return 0;
  }
  const int64_t entries = csr->start[csr->rows];
  c->values = calloc((size_t)entries + 1, sizeof *c->values);
  for (int64_t n = 0; n < entries; n++)
    c->values[n] = csr->reals == 1 ? csr->value[n] : csr->value[2 * n] + I * csr->value[2 * n + 1];
  c->rows = (ref_rows){(size_t)csr->rows, csr->start, csr->column, c->values};
  c->matrix = precond_matrix(c->ctx, csr, 0);
  how.precision = precision;
  precond_ok(c->ctx, kaon_matrix_operator(c->matrix, &how, &c->A));
  create_vectors(c, precision);
  return 1;
}

void relax_case_close(relax_case *c) {
  kaon_vector_destroy(&c->right);
  kaon_vector_destroy(&c->solution);
  kaon_operator_destroy(&c->A);
  kaon_matrix_destroy(&c->matrix);
  kaon_csr_destroy(&c->csr);
  free(c->values);
  free(c->b);
  kaon_context_destroy(&c->ctx);
}

static kaon_solver *solve(relax_case *c, kaon_method method, const kaon_relax_options *relax,
                          double tol, int steps, kaon_column_report *report,
                          kaon_relax_report *relaxation) {
  kaon_solver_options o = KAON_SOLVER_OPTIONS_INIT;
  kaon_solver *solver = NULL;
  o.method = method;
  o.sloppy = c->right->precision;
  o.tol = tol;
  o.max_iterations = steps;
  o.relax = relax;
  precond_ok(c->ctx, kaon_vector_zero(c->solution));
  precond_ok(c->ctx, kaon_solver_create(c->A, c->columns, &o, &solver));
  precond_ok(c->ctx, kaon_solver_solve(solver, c->right, c->solution, report, NULL));
  if (relaxation != NULL) precond_ok(c->ctx, kaon_solver_relaxation(solver, relaxation));
  for (int k = 0; k < c->columns; k++)
    precond_export(c->solution, k, (int64_t)c->rows.rows, c->x + (size_t)k * c->rows.rows);
  return solver;
}

void relax_case_solve(relax_case *c, kaon_method method, const kaon_relax_options *relax,
                      double tol, int steps, kaon_column_report *report,
                      kaon_relax_report *relaxation) {
  kaon_solver *solver = solve(c, method, relax, tol, steps, report, relaxation);
  kaon_solver_destroy(&solver);
}

double *relax_case_history(relax_case *c, kaon_method method, const kaon_relax_options *relax,
                           double tol, int steps, int *count, kaon_relax_report *relaxation) {
  kaon_solver *solver = solve(c, method, relax, tol, steps, NULL, relaxation);
  *count = 0;
  precond_ok(c->ctx, kaon_solver_history(solver, 0, NULL, count));
  double *history = calloc((size_t)*count + 1, sizeof *history);
  precond_ok(c->ctx, kaon_solver_history(solver, 0, history, count));
  kaon_solver_destroy(&solver);
  return history;
}

double relax_case_residual(const relax_case *c, int column) {
  const size_t offset = (size_t)column * c->rows.rows;
  return ref_relax_residual(&c->rows, c->b + offset, c->x + offset);
}

double relax_case_rounding(const relax_case *c, int column) {
  const double eps = c->right->precision == KAON_DOUBLE ? 0x1p-53 : 0x1p-24;
  const ref_complex *b = c->b + (size_t)column * c->rows.rows;
  const ref_complex *x = c->x + (size_t)column * c->rows.rows;
  double sum = 0, of_b = 0;
  for (size_t i = 0; i < c->rows.rows; i++) {
    double terms = cabs(b[i]);
    for (int64_t n = c->rows.start[i]; n < c->rows.start[i + 1]; n++)
      terms += cabs(c->values[n]) * cabs(x[c->rows.column[n]]);
    terms *= (double)(c->rows.start[i + 1] - c->rows.start[i] + 3);
    sum += terms * terms;
    of_b += cabs(b[i]) * cabs(b[i]);
  }
  return eps * c->csr->reals * sqrt(sum / of_b);
}
