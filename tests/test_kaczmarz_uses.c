/* test_kaczmarz_uses.c - sweeps of row projections as preconditioners of gcr and bicgstab. Sweeps
 * and orders: test_kaczmarz.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sparse/order/sweep_order.h"
#include "tests/util/precond_case.h"
#include "tests/util/relax_case.h"

typedef struct trial {
  const char *name;
  kaon_kaczmarz_kind kind;
  kaon_sweep_order order;
  int blocks;
} trial;

static const trial trials[] = {{"one sweep", KAON_KACZMARZ_SWEEP, KAON_SWEEP_ROWS, 0},
                               {"rows", KAON_KACZMARZ_DOUBLE, KAON_SWEEP_ROWS, 0},
                               {"colours", KAON_KACZMARZ_DOUBLE, KAON_SWEEP_COLOURS, 0},
                               {"groups", KAON_KACZMARZ_DOUBLE, KAON_SWEEP_GROUPS, 0},
                               {"blocks", KAON_KACZMARZ_CARP, KAON_SWEEP_ROWS, 7},
                               {"cimmino", KAON_KACZMARZ_CIMMINO, KAON_SWEEP_ROWS, 0}};
enum { TRIALS = sizeof trials / sizeof *trials };

/* Steps of the outer method with K = 4 sweeps; t NULL: without. */
static int solve(relax_case *c, kaon_method method, const trial *t, double tol) {
  kaon_solver_options o = KAON_SOLVER_OPTIONS_INIT;
  kaon_kaczmarz_options how = KAON_KACZMARZ_OPTIONS_INIT;
  kaon_solver *solver = NULL;
  kaon_operator *K = NULL;
  kaon_column_report report[2];
  if (t != NULL) {
    how.kind = t->kind;
    how.order = t->order;
    how.blocks = t->blocks;
    if (t->kind == KAON_KACZMARZ_CIMMINO) how.lambda = 0.2;
    precond_ok(c->ctx, kaon_kaczmarz_preconditioner(c->A, &how, 4, &K));
  }
  o.method = method;
  o.sloppy = c->right->precision;
  o.tol = tol;
  o.max_iterations = 5000;
  o.preconditioner = K;
  precond_ok(c->ctx, kaon_vector_zero(c->solution));
  precond_ok(c->ctx, kaon_solver_create(c->A, c->columns, &o, &solver));
  precond_ok(c->ctx, kaon_solver_solve(solver, c->right, c->solution, report, NULL));
  for (int k = 0; k < c->columns; k++) {
    precond_export(c->solution, k, (int64_t)c->rows.rows, c->x + (size_t)k * c->rows.rows);
    assert_int_equal(report[k].reason, KAON_CONVERGED);
  }
  kaon_solver_destroy(&solver);
  kaon_operator_destroy(&K);
  return report[0].iterations;
}

static void check_method(relax_case *c, kaon_method method, const char *name) {
  const double tol = c->right->precision == KAON_SINGLE ? 1e-4 : 1e-10;
  const int alone = solve(c, method, NULL, tol);
  for (int i = 0; i < TRIALS; i++) {
    const int steps = solve(c, method, &trials[i], tol);
    printf("%s, %s: %d steps, alone %d\n", name, trials[i].name, steps, alone);
    assert_true(steps < alone);
    for (int k = 0; k < c->columns; k++)
      test_below("true residual", relax_case_residual(c, k), 1.1 * tol + relax_case_rounding(c, k));
  }
}

/* Diagonally dominant rows: projections converge about as fast as gcr's steps. On a Laplacian they
 * follow the square of its condition. */
static void sweeps_precondition(void **state) {
  (void)state;
  for (int machine = MACHINE_CPU; machine <= MACHINE_CUDA; machine += MACHINE_CUDA - MACHINE_CPU) {
    for (int kind = 0; kind < 4 && !machine_lacks(machine); kind++) {
      relax_case c;
      const kaon_precision precision = kind & 1 ? KAON_SINGLE : KAON_DOUBLE;
      if (!relax_case_open(&c, machine, 2, row_case_random(900, 6, 1 + kind / 2, kind / 2, 5),
                           precision, 2))
        break;
      printf("%s, %s, %s\n", machine_name(machine), kind & 1 ? "single" : "double",
             kind / 2 ? "complex" : "real");
      if (c.ctx->backend->sparse[precision]->project != NULL) {
        check_method(&c, KAON_GCR, "gcr");
        check_method(&c, KAON_BICGSTAB, "bicgstab");
      }
      relax_case_close(&c);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(sweeps_precondition)};
  return test_main(tests, NULL, NULL);
}
