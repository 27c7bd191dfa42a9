/* test_shared_precond.c - one preconditioner, or one application's function, used by solvers with
 * different numbers of columns. They take turns, and no turn allocates or frees memory; nor does a
 * first solve with the adjoint. On a device a repeated solve replays its beginning and its end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include <kaon/kaon.h>

#include "solvers/engine/method.h"
#include "tests/util/machine.h"
#include "tests/util/precond_case.h"
#include "tests/util/row_case.h"

enum { ROWS = 420, TURNS = 6 };

/* What K is made as. */
enum { SWEEPS, AINV, CHEBYSHEV, SCHWARZ, SHELL, TRIANGLES, KINDS };
static const char *const names[] = {"ic0 by sweeps", "ainv",  "chebyshev",
                                    "schwarz",       "shell", "ic0"};

typedef struct fixture {
  kaon_context *ctx;
  kaon_csr *csr;
  kaon_matrix *matrix;
  kaon_operator *A, *inner, *K;
} fixture;

static void open_fixture(fixture *b, int machine, int hermitian) {
  const kaon_context_options options = KAON_CONTEXT_OPTIONS_INIT;
  *b = (fixture){0};
  precond_ok(NULL, machine_open(machine, options, &b->ctx));
  b->csr = row_case_random(ROWS, 6, 1, hermitian, 5);
  b->matrix = precond_matrix(b->ctx, b->csr, 0);
  precond_ok(b->ctx, kaon_matrix_operator(b->matrix, NULL, &b->A));
}

static void close_fixture(fixture *b) {
  kaon_operator_destroy(&b->K);
  kaon_operator_destroy(&b->inner);
  kaon_operator_destroy(&b->A);
  kaon_matrix_destroy(&b->matrix);
  kaon_csr_destroy(&b->csr);
  kaon_context_destroy(&b->ctx);
}

static kaon_status by_hand(void *user, kaon_mode mode, const kaon_vector *x, kaon_vector *y) {
  return kaon_operator_apply(user, mode, x, y);
}

static void make_K(fixture *b, int kind) {
  if (kind == SWEEPS || kind == AINV || kind == TRIANGLES) {
    kaon_precond_options o = KAON_PRECOND_OPTIONS_INIT;
    o.kind = kind == AINV ? KAON_PRECOND_AINV : KAON_PRECOND_IC0;
    o.sweeps = kind == SWEEPS ? 2 : 0;
    precond_ok(b->ctx, kaon_precond_create(b->matrix, &o, &b->K));
  } else if (kind == CHEBYSHEV) {
    precond_ok(b->ctx, kaon_precond_chebyshev(b->A, NULL, &b->K));
  } else if (kind == SCHWARZ) {
    kaon_schwarz_options o = KAON_SCHWARZ_OPTIONS_INIT;
    o.precision = KAON_DOUBLE;
    o.block[0] = 20;
    precond_ok(b->ctx, kaon_schwarz_create(b->A, &o, &b->K));
  } else {
    precond_ok(b->ctx, kaon_precond_jacobi(b->A, &b->inner));
    precond_ok(b->ctx, kaon_operator_create_shell(b->A->space, by_hand, b->inner, NULL, &b->K));
  }
}

/* A solver and its vectors; column k differs from the others. */
typedef struct user {
  kaon_solver *solver;
  kaon_vector *b, *x;
  kaon_column_report report[3];
} user;

static void open_user(user *u, const fixture *b, kaon_method method, int columns) {
  kaon_solver_options o = KAON_SOLVER_OPTIONS_INIT;
  number numbers[ROWS];
  o.method = method;
  o.tol = 1e-9;
  o.preconditioner = b->K;
  precond_ok(b->ctx, kaon_solver_create(b->A, columns, &o, &u->solver));
  precond_ok(b->ctx, kaon_vector_create(b->ctx, b->A->space, KAON_DOUBLE, columns, &u->b));
  precond_ok(b->ctx, kaon_vector_create(b->ctx, b->A->space, KAON_DOUBLE, columns, &u->x));
  for (int k = 0; k < columns; k++) {
    row_case_vector(ROWS, 1, 30 + (uint64_t)k, numbers);
    for (int i = 0; i < ROWS && k == 1; i++) numbers[i] = i == 0; /* converges before the others */
    precond_import(u->b, k, ROWS, numbers);
  }
}

static void close_user(user *u) {
  kaon_solver_destroy(&u->solver);
  kaon_vector_destroy(&u->b);
  kaon_vector_destroy(&u->x);
}

static void solve(user *u, const fixture *b) {
  precond_ok(b->ctx, kaon_vector_zero(u->x));
  precond_ok(b->ctx, kaon_solver_solve(u->solver, u->b, u->x, u->report, NULL));
  for (int k = 0; k < kaon_vector_columns(u->b); k++)
    assert_int_equal(u->report[k].reason, KAON_CONVERGED);
}

static int64_t in_use(const fixture *b) {
  kaon_context_info info = KAON_CONTEXT_INFO_INIT;
  precond_ok(b->ctx, kaon_context_query(b->ctx, &info));
  return info.memory_now;
}

static void solvers_take_turns_without_taking_memory(void **state) {
  (void)state;
  for (int machine = KAON_ISA_SCALAR; machine <= MACHINE_LAST; machine++) {
    if (machine_lacks(machine)) continue;
    for (int kind = 0; kind < KINDS; kind++) {
      fixture b;
      user one, three;
      open_fixture(&b, machine, 1);
      make_K(&b, kind);
      const kaon_method method = kind == SCHWARZ ? KAON_GCR : KAON_CG;
      open_user(&one, &b, method, 1);
      open_user(&three, &b, method, 3);
      solve(&one, &b);
      const int steps = one.report[0].iterations;
      solve(&three, &b);
      const uint64_t given = kaon_pool_release_count(b.ctx->pool);
      const int64_t bytes = in_use(&b);
      for (int turn = 0; turn < TURNS; turn++) {
        solve(turn % 2 ? &three : &one, &b);
        assert_int_equal(one.report[0].iterations, steps);
      }
      printf("  %s, %s: %d blocks given back in %d turns\n", machine_name(machine), names[kind],
             (int)(kaon_pool_release_count(b.ctx->pool) - given), TURNS);
      assert_true(kaon_pool_release_count(b.ctx->pool) == given);
      assert_true(in_use(&b) == bytes);
      close_user(&one);
      close_user(&three);
      close_fixture(&b);
    }
  }
}

/* The polynomial's own A, in single: nobody else uses its adjoint. */
static void the_adjoint_of_a_polynomial_is_reserved(void **state) {
  (void)state;
  fixture b;
  user one;
  open_fixture(&b, KAON_ISA_AUTO, 0);
  kaon_chebyshev_options o = KAON_CHEBYSHEV_OPTIONS_INIT;
  o.low = 0.3, o.high = 2; /* Gershgorin: D^-1 A has its eigenvalues round 1 */
  kaon_operator *K = NULL;
  precond_ok(b.ctx, kaon_precond_chebyshev(b.A, &o, &K));
  precond_ok(b.ctx, K->ops->twin(K, KAON_SINGLE, KAON_RECONSTRUCT_18, &b.K));
  kaon_operator_destroy(&K);
  open_user(&one, &b, KAON_BICG, 1);
  const int64_t bytes = in_use(&b);
  solve(&one, &b);
  assert_true(in_use(&b) == bytes);
  close_user(&one);
  close_fixture(&b);
}

static void repeated_solves_replay_their_beginning(void **state) {
  (void)state;
  for (int kind = 0; kind < KINDS; kind++) {
    fixture b;
    user one;
    open_fixture(&b, KAON_ISA_AUTO, 1);
    make_K(&b, kind);
    open_user(&one, &b, kind == SCHWARZ ? KAON_GCR : KAON_CG, 1);
    for (int again = 0; again < 3; again++) solve(&one, &b);
    if (b.ctx->backend->record != NULL && kind != SHELL)
      assert_int_equal(one.solver->launch.replays, 1);
    close_user(&one);
    close_fixture(&b);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(solvers_take_turns_without_taking_memory),
      cmocka_unit_test(the_adjoint_of_a_polynomial_is_reserved),
      cmocka_unit_test(repeated_solves_replay_their_beginning),
  };
  return test_main(tests, NULL, NULL);
}
