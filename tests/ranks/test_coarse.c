/* test_coarse.c - coarse operators on lattices that are divided among ranks, or against themselves:
 * applications, reductions and hops in one direction have the bits of one rank with the whole
 * lattice; sums agree up to their order. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>

#include "dslash/coarse/coarse_ops.h"
#include "lib/operator/couplings.h"
#include "ranks.h"
#include "tests/util/coarse_case.h"
#include "tests/util/partition.h"

typedef struct {
  int extents[4], grid[4];
} shape;
/* Even and odd parts, of one site and more. */
static const shape shapes[] = {
    {{4, 4, 4, 4}, {1, 1, 1, 1}}, {{2, 4, 2, 6}, {1, 1, 1, 1}}, {{4, 4, 2, 4}, {1, 1, 1, 2}},
    {{4, 2, 6, 2}, {1, 1, 2, 1}}, {{8, 4, 4, 4}, {2, 1, 1, 1}}, {{2, 2, 4, 4}, {2, 1, 1, 1}},
    {{4, 4, 4, 4}, {1, 1, 2, 2}}, {{4, 6, 2, 6}, {1, 2, 1, 2}}, {{8, 2, 2, 4}, {4, 1, 1, 1}},
    {{2, 2, 2, 2}, {2, 1, 1, 2}}, {{4, 4, 4, 4}, {1, 2, 2, 2}}, {{6, 2, 6, 4}, {2, 1, 2, 2}}};
enum { SHAPES = sizeof shapes / sizeof *shapes, COLUMNS = 3, NORM = 2 };

/* The numbers of this rank's part on both sides. */
static void compare(const coarse_case *whole, const coarse_case *part, const kaon_vector *v,
                    const kaon_vector *w) {
  const size_t n = (size_t)part->r.numbers;
  for (int k = 0; k < w->nrhs; k++) {
    ref_complex *a = coarse_export(whole, v, k), *b = coarse_export(part, w, k);
    for (int64_t i = 0; i < part->lattice->volume; i++)
      assert_memory_equal(a + (size_t)partition_site(part->lattice, i) * n, b + (size_t)i * n,
                          n * sizeof *a);
    free(a);
    free(b);
  }
}

/* y = A x of noise, and |y|^2 of the columns. */
static kaon_vector *applied(const coarse_case *c, kaon_operator *A, double norm[COLUMNS]) {
  kaon_vector *x = coarse_noise(c, A->space->parity, A->precision, COLUMNS, 9);
  kaon_vector *y = coarse_vector(c, A->space->parity, A->precision, COLUMNS);
  kaon_column_state states[COLUMNS] = {0};
  kaon_scalars *scalars = NULL;
  kaon_pass pass = KAON_PASS_INIT;
  for (int k = 0; k < COLUMNS; k++) states[k].gate = KAON_GATE_STEP;
  must(c->ctx, kaon_scalars_create(c->ctx, COLUMNS, &scalars));
  must(c->ctx, kaon_scalars_write(scalars, states));
  pass.scalars = scalars;
  pass.norm = NORM;
  must(c->ctx, A->ops->apply(A, KAON_PLAIN, x, y, &pass));
  must(c->ctx, kaon_scalars_read(scalars, states));
  for (int k = 0; k < COLUMNS; k++) norm[k] = states[k].slot[NORM][0];
  kaon_scalars_destroy(&scalars);
  kaon_vector_destroy(&x);
  return y;
}

static void check(const coarse_case side[2], kaon_operator *const A[2]) {
  double norm[2][COLUMNS];
  kaon_vector *y[2];
  for (int i = 0; i < 2; i++) y[i] = applied(&side[i], A[i], norm[i]);
  compare(&side[0], &side[1], y[0], y[1]);
  /* The same squares in double in another order: n u, with n numbers. */
  const double bound = 4 * (double)coarse_size(&side[0]) * 0x1p-53;
  for (int k = 0; k < COLUMNS; k++)
    assert_true(fabs(norm[0][k] - norm[1][k]) <= bound * norm[0][k]);
  for (int i = 0; i < 2; i++) kaon_vector_destroy(&y[i]);
}

/* A itself, its reductions, and its hops in each direction. */
static void check_all(const coarse_case side[2], kaon_operator *const A[2], int block) {
  const kaon_couplings *offers = kaon_operator_capability(A[0], KAON_CAPABILITY_COUPLINGS);
  check(side, A);
  for (int way = 0; way < 2 + KAON_DIRS; way++) {
    const kaon_coupling which = {way - 2, block, A[0]->precision, KAON_RECONSTRUCT_18};
    kaon_operator *made[2];
    for (int i = 0; i < 2; i++)
      must(side[i].ctx, way < 2 ? offers->reduce(A[i], (kaon_even_odd)way, &made[i])
                                : offers->couple(A[i], &which, &made[i]));
    check(side, made);
    for (int i = 0; i < 2; i++) kaon_operator_destroy(&made[i]);
  }
}

static int open_sides(coarse_case side[2], int which, int mask) {
  static const int isas[3] = {KAON_ISA_AUTO, KAON_ISA_X86_64, KAON_ISA_SCALAR};
  const shape *s = &shapes[which];
  kaon_context_options options = ranks_options(isas[which % 3]);
  kaon_context *ctx[2];
  if (s->grid[0] * s->grid[1] * s->grid[2] * s->grid[3] != world_size()) return 0;
  options.overlap = which % 2 ? KAON_OVERLAP_NONE : KAON_OVERLAP_AUTO;
  must(NULL, kaon_context_create(&options, &ctx[0]));
  must(NULL, kaon_context_create_ranks(&options, NULL, s->grid, &ctx[1]));
  for (int mu = 0; mu < 4; mu++) ctx[1]->comm->partitioned[mu] = mask >> mu & 1;
  for (int i = 0; i < 2; i++) coarse_open(&side[i], ctx[i], s->extents, which % 2 ? 24 : 8, 5);
  if (ctx[0]->backend->coarse[KAON_DOUBLE]->gather != NULL) return 1;
  for (int i = 0; i < 2; i++) coarse_close(&side[i]);
  return 0;
}

static void bits_of_one_rank(void **state) {
  (void)state;
  static const int masks[] = {0, 15, 6};
  for (int i = 0; i < 3 * SHAPES; i++) {
    coarse_case side[2];
    if (!open_sides(side, i / 3, masks[i % 3])) continue;
    for (int way = 0; way < 3; way++) {
      const kaon_precision precision = way == 0 ? KAON_DOUBLE : KAON_SINGLE;
      kaon_operator *A[2];
      for (int s = 0; s < 2; s++)
        A[s] = coarse_operator(&side[s], KAON_DOUBLE, precision, way == 2);
      check_all(side, A, way == 1 ? 1 : 0);
      for (int s = 0; s < 2; s++) kaon_operator_destroy(&A[s]);
    }
    printf("  shape %d, messages in %x besides\n", i / 3, (unsigned)masks[i % 3]);
    for (int s = 0; s < 2; s++) coarse_close(&side[s]);
  }
}

static const struct CMUnitTest coarse[] = {
    cmocka_unit_test(bits_of_one_rank),
};
RANKS_MAIN(coarse)
