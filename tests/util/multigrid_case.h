/* multigrid_case.h - a Dirac operator A, multigrid preconditioners of it, and GCR's steps with them.
 * The same on one rank and on several. Include the cmocka preamble before. */
#ifndef MULTIGRID_CASE_H
#define MULTIGRID_CASE_H

#include <math.h>
#include <string.h>

#include <kaon/kaon.h>
#include <kaon/multigrid.h>

#include "tests/util/test_util.h"

typedef struct multigrid_case {
  kaon_context *ctx;
  kaon_lattice *lattice;
  kaon_gauge *gauge; /* unit links */
  kaon_operator *A;
} multigrid_case;

/* Takes over the context. The boundary in t is antiperiodic. A is absent as yet. */
static inline multigrid_case multigrid_open(kaon_context *ctx, const int extents[4]) {
  multigrid_case c = {.ctx = ctx};
  must(ctx, kaon_lattice_create(ctx, extents, KAON_ANTIPERIODIC, &c.lattice));
  must(ctx, kaon_gauge_create(c.lattice, KAON_DOUBLE, KAON_RECONSTRUCT_18, &c.gauge));
  return c;
}

static inline void multigrid_close(multigrid_case *c) {
  kaon_operator_destroy(&c->A);
  kaon_gauge_destroy(&c->gauge);
  kaon_lattice_destroy(&c->lattice);
  kaon_context_destroy(&c->ctx);
}

/* A of the present links, in double. */
static inline void multigrid_dirac(multigrid_case *c, double kappa, double csw, double mu) {
  kaon_dirac_options o = KAON_DIRAC_OPTIONS_INIT;
  o.kappa = kappa;
  o.csw = csw;
  o.mu = mu;
  kaon_operator_destroy(&c->A);
  must(c->ctx, kaon_dirac_create(c->gauge, &o, &c->A));
}

/* A hierarchy that is quick to make: three levels with aggregates of 2^4 sites. It wants 8^4. */
static inline kaon_multigrid_options multigrid_small(void) {
  kaon_multigrid_options o = KAON_MULTIGRID_OPTIONS_INIT;
  o.levels = 3;
  o.vectors[0] = o.vectors[1] = 8;
  for (int i = 0; i < 8; i++) o.block[i / 4][i % 4] = 2;
  return o;
}

static inline kaon_operator *multigrid_of(multigrid_case *c, const kaon_multigrid_options *o) {
  kaon_operator *K = NULL;
  must(c->ctx, kaon_multigrid_create(c->A, o, &K));
  return K;
}

static inline kaon_vector *multigrid_vector(multigrid_case *c, int columns) {
  kaon_vector *v = NULL;
  must(c->ctx, kaon_vector_create(c->ctx, kaon_lattice_spinors(c->lattice, KAON_FULL), KAON_DOUBLE,
                                  columns, &v));
  return v;
}

static inline kaon_solver *multigrid_solver(multigrid_case *c, kaon_operator *K, int columns) {
  kaon_solver_options o = KAON_SOLVER_OPTIONS_INIT;
  kaon_solver *solver = NULL;
  o.method = KAON_GCR;
  o.tol = 1e-10;
  o.max_iterations = 200;
  o.subspace = 20;
  o.preconditioner = K;
  must(c->ctx, kaon_solver_create(c->A, columns, &o, &solver));
  return solver;
}

/* Solves for Z4 sources of this seed. The true residual is checked. Returns the steps of the slowest
 * column, and x if it is wanted. K NULL: 200 steps need not be enough, and nothing is checked. */
static inline int multigrid_solve(multigrid_case *c, kaon_operator *K, int columns, uint64_t seed,
                                  kaon_vector **solution) {
  kaon_vector *b = multigrid_vector(c, columns), *x = multigrid_vector(c, columns);
  kaon_vector *r = multigrid_vector(c, columns);
  kaon_solver *solver = multigrid_solver(c, K, columns);
  kaon_column_report *report = calloc((size_t)columns, sizeof *report);
  double *error = calloc(2 * (size_t)columns, sizeof *error), *size = error + columns;
  int steps = 0;
  must(c->ctx, kaon_source_z4(b, seed));
  must(c->ctx, kaon_vector_zero(x));
  must(c->ctx, kaon_solver_solve(solver, b, x, report, NULL));
  must(c->ctx, kaon_operator_apply(c->A, KAON_PLAIN, x, r));
  must(c->ctx, kaon_vector_axpy(-1, 0, b, r));
  must(c->ctx, kaon_vector_norm2(r, error));
  must(c->ctx, kaon_vector_norm2(b, size));
  for (int k = 0; k < columns; k++) {
    if (K != NULL) assert_int_equal(report[k].reason, KAON_CONVERGED);
    if (K != NULL) assert_true(sqrt(error[k] / size[k]) <= 1.1e-10);
    if (report[k].iterations > steps) steps = report[k].iterations;
  }
  free(report);
  free(error);
  kaon_solver_destroy(&solver);
  kaon_vector_destroy(&b);
  kaon_vector_destroy(&r);
  if (solution != NULL) *solution = x;
  if (solution == NULL) kaon_vector_destroy(&x);
  return steps;
}

#endif
