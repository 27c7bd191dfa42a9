/* test_wrap.c - counters on a device wrap around after 2^32: the marks of a device's own sums
 * (lib/cuda/reduction/reduce.h) and those of sums over ranks (lib/cuda/ranks/rank_sums.cu). Both
 * start shortly before the wrap here. Skipped without a device; sums over ranks need more than
 * one. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "blas/blas.h"
#include "lib/math/steps/recurrences.h"
#include "ranks.h"
#include "tests/util/machine.h"

enum { SUMS = 12, SLOTS = 5, BEFORE = 3, SWEPT = 4 * 4096 + 100 /* 2 halves of 8192 numbers */ };

static kaon_context *open_device(kaon_transport transport) {
  const char *only = getenv("KAON_TEST_MACHINE");
  kaon_context_options options = KAON_CONTEXT_OPTIONS_INIT;
  kaon_context *ctx = NULL;
  if (only != NULL && strcmp(only, "cuda") != 0) return NULL;
  options.backend = KAON_BACKEND_CUDA;
  options.threads = 1;
  options.transport = transport;
  options.patience = 20;
  if (kaon_context_create_ranks(&options, NULL, NULL, &ctx) == KAON_OK) return ctx;
  printf("  skipped: %s\n", kaon_last_error(NULL));
  return NULL;
}

/* Whole numbers, so that sums are exact. */
static double number_of(int rank, int sum, int column, int slot) {
  return 1000 * sum + 100 * column + 10 * slot + rank;
}

static void sum_once(kaon_context *ctx, kaon_scalars *scalars, kaon_column_state *host, int columns,
                     int sum) {
  static const int slots[SLOTS] = {1, 7, 2, 30, 31};
  const int ranks = ctx->comm->ranks;
  for (int k = 0; k < columns; k++) {
    host[k].gate = KAON_GATE_STEP;
    for (int i = 0; i < SLOTS; i++)
      host[k].slot[slots[i]][0] = number_of(ctx->comm->rank, sum, k, i);
  }
  must(ctx, kaon_scalars_write(scalars, host));
  must(ctx,
       ctx->backend->ranks->sum(ctx, scalars->state, columns, KAON_GATE_STEP, slots, SLOTS, 0));
  must(ctx, kaon_scalars_read(scalars, host));
  for (int k = 0; k < columns; k++)
    for (int i = 0; i < SLOTS; i++) {
      double expected = 0;
      for (int r = 0; r < ranks; r++) expected += number_of(r, sum, k, i);
      assert_true(host[k].slot[slots[i]][0] == expected);
    }
}

/* Narrow and wide sums, whose results overlap older ones in memory: first in cleared slots, then
 * where the same marks were used before, as long ago as it takes to clear unused slots. */
static void sums_over_ranks_go_on(void **state) {
  (void)state;
  static const int columns[] = {1, 12, 3};
  kaon_context *ctx = world_size() > 1 ? open_device(KAON_TRANSPORT_PEER) : NULL;
  if (ctx == NULL) skip();
  kaon_scalars *scalars[3] = {NULL};
  kaon_column_state *host = calloc(12, sizeof *host);
  for (int c = 0; c < 3; c++) must(ctx, kaon_scalars_create(ctx, columns[c], &scalars[c]));
  for (int turn = 0; turn < 2; turn++) {
    for (int sum = 0; sum < SWEPT && turn > 0; sum++) sum_once(ctx, scalars[0], host, 1, sum);
    must(ctx, ctx->backend->ranks->count_from(ctx, UINT32_MAX - BEFORE + 1));
    for (int sum = 0; sum < SUMS; sum++)
      sum_once(ctx, scalars[sum % 3], host, columns[sum % 3], 100 + sum);
  }
  for (int c = 0; c < 3; c++) kaon_scalars_destroy(&scalars[c]);
  free(host);
  kaon_context_destroy(&ctx);
}

/* Each rank alone: norms of vectors of one column, with many thread blocks and with few. */
static void sums_of_a_device_go_on(void **state) {
  (void)state;
  static const int sizes[][4] = {{16, 16, 16, 16}, {4, 4, 4, 4}};
  const char *only = getenv("KAON_TEST_MACHINE");
  kaon_context_options options = KAON_CONTEXT_OPTIONS_INIT;
  kaon_context *ctx = NULL;
  options.backend = KAON_BACKEND_CUDA;
  if ((only != NULL && strcmp(only, "cuda") != 0) ||
      kaon_context_create(&options, &ctx) != KAON_OK) {
    printf("  no device: skipped\n");
    skip();
  }
  kaon_lattice *lattice[2];
  kaon_vector *v[2];
  double expected[2], found;
  for (int i = 0; i < 2; i++) {
    must(ctx, kaon_lattice_create(ctx, sizes[i], KAON_PERIODIC, &lattice[i]));
    must(ctx, kaon_vector_create(ctx, kaon_lattice_spinors(lattice[i], KAON_FULL), KAON_DOUBLE, 1,
                                 &v[i]));
    must(ctx, kaon_source_gauss(v[i], 7));
    must(ctx, kaon_vector_norm2(v[i], &expected[i]));
  }
  kaon_launch launch;
  must(ctx, kaon_launch_prepare(ctx, 1, 0, &launch));
  assert_non_null(launch.marked);
  const uint64_t number = (uint64_t)UINT32_MAX - BEFORE + 1;
  must(ctx, kaon_context_synchronise(ctx));
  machine_write(ctx, launch.marked, &number, sizeof number);
  for (int sum = 0; sum < SUMS; sum++) {
    must(ctx, kaon_vector_norm2(v[sum % 2], &found));
    assert_true(found == expected[sum % 2]);
  }
  for (int i = 0; i < 2; i++) {
    kaon_vector_destroy(&v[i]);
    kaon_lattice_destroy(&lattice[i]);
  }
  kaon_context_destroy(&ctx);
}

static const struct CMUnitTest wrap[] = {
    cmocka_unit_test(sums_of_a_device_go_on),
    cmocka_unit_test(sums_over_ranks_go_on),
};
RANKS_MAIN(wrap)
