/* test_device_timeout.c - a device that waits in vain for another rank ends its work with status COMM
 * within the option `patience`, and names the missing rank. A kernel that gives up costs the
 * process its device, so that case comes last; with NCCL the host gives the queue up. Skipped
 * without a device or on one rank. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "blas/blas.h"
#include "lib/math/steps/recurrences.h"
#include "ranks.h"
#include "tests/util/machine.h"

static const double patience = 1.5;

/* NULL where such a transport is not here, having said so. */
static kaon_context *open_by(kaon_transport transport) {
  const int row[4] = {1, 1, 1, world_size()};
  const char *only = getenv("KAON_TEST_MACHINE");
  kaon_context_options options = KAON_CONTEXT_OPTIONS_INIT;
  kaon_context *ctx = NULL;
  if (world_size() == 1) printf("  one rank waits for nobody: skipped\n");
  if (world_size() == 1 || (only != NULL && strcmp(only, "cuda") != 0)) return NULL;
  options.backend = KAON_BACKEND_CUDA;
  options.threads = 1;
  options.transport = transport;
  options.patience = patience;
  if (kaon_context_create_ranks(&options, NULL, row, &ctx) == KAON_OK) return ctx;
  printf("  not here: %s\n", kaon_last_error(NULL));
  return NULL;
}

/* On all ranks except the last, which did nothing: the device's work ended in time, with this
 * error. */
static void check_end(kaon_context *ctx, const char *text) {
  const double begin = test_now();
  assert_int_equal(kaon_context_synchronise(ctx), KAON_ERR_COMM);
  const double waited = test_now() - begin;
  printf("  after %.2f s: %s\n", waited, kaon_last_error(ctx));
  assert_non_null(strstr(kaon_last_error(ctx), text));
  assert_true(waited > 0.5 * patience && waited < 10 * patience);
}

static void a_queue_is_given_up(void **state) {
  (void)state;
  static const int slots[] = {3};
  kaon_context *ctx = open_by(KAON_TRANSPORT_NCCL);
  kaon_scalars *scalars = NULL;
  if (ctx == NULL) skip();
  const kaon_ranks_ops *ranks = ctx->backend->ranks;
  must(ctx, kaon_scalars_create(ctx, 1, &scalars));
  must(ctx, ranks->sum(ctx, scalars->state, 1, KAON_GATE_STEP, slots, 1, 0));
  must(ctx, kaon_context_synchronise(ctx));
  if (world_rank() != world_size() - 1) {
    must(ctx, ranks->sum(ctx, scalars->state, 1, KAON_GATE_STEP, slots, 1, 0));
    check_end(ctx, "gave up");
    assert_int_equal(ranks->sum(ctx, scalars->state, 1, KAON_GATE_STEP, slots, 1, 0),
                     KAON_ERR_COMM);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  kaon_scalars_destroy(&scalars);
  kaon_context_destroy(&ctx);
}

/* The grid is a row of ranks in t: a hop of rank r needs its neighbours' messages, and all of
 * these arrive except the last rank's. */
static void a_kernel_names_the_neighbour(void **state) {
  (void)state;
  kaon_context *ctx = open_by(KAON_TRANSPORT_PEER);
  const int extents[4] = {4, 4, 4, 4 * world_size()}, last = world_size() - 1;
  kaon_lattice *lattice = NULL;
  kaon_gauge *gauge = NULL;
  kaon_operator *M = NULL;
  kaon_vector *x = NULL, *y = NULL;
  char expected[64];
  if (ctx == NULL) skip();
  kaon_dirac_options options = KAON_DIRAC_OPTIONS_INIT;
  must(ctx, kaon_lattice_create(ctx, extents, KAON_PERIODIC, &lattice));
  must(ctx, kaon_gauge_create(lattice, KAON_DOUBLE, KAON_RECONSTRUCT_18, &gauge));
  must(ctx, kaon_dirac_create(gauge, &options, &M));
  const kaon_space *odd = kaon_lattice_spinors(lattice, KAON_ODD);
  const kaon_space *even = kaon_lattice_spinors(lattice, KAON_EVEN);
  must(ctx, kaon_vector_create(ctx, odd, KAON_DOUBLE, 1, &x));
  must(ctx, kaon_vector_create(ctx, even, KAON_DOUBLE, 1, &y));
  must(ctx, kaon_vector_zero(x));
  must(ctx, kaon_dirac_hop(M, KAON_EVEN, KAON_PLAIN, x, y));
  must(ctx, kaon_context_synchronise(ctx));
  MPI_Barrier(MPI_COMM_WORLD);
  const int beside = world_rank() == 0 || world_rank() == last - 1;
  if (world_rank() != last) must(ctx, kaon_dirac_hop(M, KAON_EVEN, KAON_PLAIN, x, y));
  snprintf(expected, sizeof expected, "from rank %d", last);
  if (world_rank() != last && beside)
    check_end(ctx, expected);
  else
    must(ctx, kaon_context_synchronise(ctx));
  MPI_Barrier(MPI_COMM_WORLD);
  kaon_vector_destroy(&x);
  kaon_vector_destroy(&y);
  kaon_operator_destroy(&M);
  kaon_gauge_destroy(&gauge);
  kaon_lattice_destroy(&lattice);
  kaon_context_destroy(&ctx);
}

static const struct CMUnitTest waits[] = {
    cmocka_unit_test(a_queue_is_given_up),
    cmocka_unit_test(a_kernel_names_the_neighbour),
};
RANKS_MAIN(waits)
