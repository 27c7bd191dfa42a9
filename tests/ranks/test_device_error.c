/* test_device_error.c - the last rank's device fails in the middle of a solve. The solve ends on
 * all ranks with that rank's status and sentence, although the other devices wait for its messages
 * and sums. The processes lose their devices, so this is the only test here. Skipped without a
 * device. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "ranks.h"
#include "tests/util/machine.h"
#ifdef KAON_BUILD_CUDA
#include "tests/ranks/cuda/trap.h"
#endif

static const double patience = 3;

typedef struct fault {
  int calls;
} fault;

static int monitor(void *user, int iteration, int column, double residual) {
  fault *f = user;
  (void)iteration, (void)column, (void)residual;
#ifdef KAON_BUILD_CUDA
  if (++f->calls == 1 && world_rank() == world_size() - 1) trap_device();
#else
  f->calls++;
#endif
  return 0;
}

/* A solve of hundreds of steps, tens of milliseconds; hosts check every ten steps. */
static void solve_until_the_fault(kaon_context *ctx) {
  const int extents[4] = {16, 16, 16, 16 * world_size()}, last = world_size() - 1;
  kaon_dirac_options dirac = KAON_DIRAC_OPTIONS_INIT;
  kaon_solver_options options = KAON_SOLVER_OPTIONS_INIT;
  kaon_lattice *lattice = NULL;
  kaon_gauge *gauge = NULL;
  kaon_operator *M = NULL, *A = NULL;
  kaon_solver *solver = NULL;
  kaon_vector *b = NULL, *x = NULL;
  kaon_column_report report;
  fault f = {0};
  char expected[64];
  must(ctx, kaon_lattice_create(ctx, extents, KAON_ANTIPERIODIC, &lattice));
  must(ctx, kaon_gauge_create(lattice, KAON_DOUBLE, KAON_RECONSTRUCT_18, &gauge));
  must(ctx, kaon_gauge_random(gauge, 4));
  dirac.kappa = 0.2;
  must(ctx, kaon_dirac_create(gauge, &dirac, &M));
  must(ctx, kaon_dirac_even_odd(M, NULL, &A));
  must(ctx, kaon_vector_create(ctx, kaon_lattice_spinors(lattice, KAON_FULL), KAON_DOUBLE, 1, &b));
  must(ctx, kaon_vector_create(ctx, kaon_lattice_spinors(lattice, KAON_FULL), KAON_DOUBLE, 1, &x));
  must(ctx, kaon_source_gauss(b, 1));
  must(ctx, kaon_vector_zero(x));
  options.method = KAON_CGNR;
  options.tol = 1e-13;
  options.max_iterations = 1000000;
  options.monitor = monitor;
  options.monitor_user = &f;
  must(ctx, kaon_solver_create(A, 1, &options, &solver));
  const double begin = test_now();
  const kaon_status status = kaon_solver_solve(solver, b, x, &report, NULL);
  printf("  %d looks, %.2f s: %s\n", f.calls, test_now() - begin, kaon_last_error(ctx));
  assert_int_equal(status, KAON_ERR_DEVICE);
  snprintf(expected, sizeof expected, "rank %d: cuda: ", last);
  assert_non_null(strstr(kaon_last_error(ctx), expected + (last > 0 ? 0 : strlen("rank 0: "))));
  assert_true(test_now() - begin < 20 * patience);
  kaon_solver_destroy(&solver);
  kaon_vector_destroy(&x);
  kaon_vector_destroy(&b);
  kaon_operator_destroy(&A);
  kaon_operator_destroy(&M);
  kaon_gauge_destroy(&gauge);
  kaon_lattice_destroy(&lattice);
}

static void a_device_that_fails_ends_the_solve_on_all_ranks(void **state) {
  (void)state;
  const int row[4] = {1, 1, 1, world_size()};
  kaon_context_options options = ranks_options(KAON_ISA_AUTO);
  kaon_context *ctx = NULL;
  options.patience = patience;
  if (options.backend != KAON_BACKEND_CUDA) {
    printf("  on a device (KAON_TEST_MACHINE=cuda): skipped\n");
    skip();
  }
  must(NULL, kaon_context_create_ranks(&options, NULL, row, &ctx));
  solve_until_the_fault(ctx);
  kaon_context_destroy(&ctx);
}

static const struct CMUnitTest errors[] = {
    cmocka_unit_test(a_device_that_fails_ends_the_solve_on_all_ranks),
};
RANKS_MAIN(errors)
