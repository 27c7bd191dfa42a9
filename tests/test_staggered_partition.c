/* test_staggered_partition.c - staggered hops on a lattice divided against itself, in each of the
 * 16 subsets of directions. Numbers that cross faces of one and of three layers go through
 * messages. In double and single the result has the bits of the whole lattice; on a device also in
 * half, because ghosts are the stored numbers (dslash/cuda/staggered_faces.h).
 *
 * Bound for half on a CPU: a ghost of a backward hop is rounded once more, by half a step of its
 * own scale. A site has at most 8 of 16 hops backward, each off by 0.3 steps rms of a neighbour,
 * and its own rounding may go the other way: 3e-4 of |result|. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blas/blas.h"
#include "tests/util/staggered_case.h"
#include "tests/util/test_util.h"

/* Columns: for hops more than a thread of a device takes; for passes over A one, and several with
 * one closed. */
enum { COLUMNS = 5, PASSES = 2, MOST = 3, CLOSED = 1 };
static const int pass_columns[PASSES] = {1, MOST};

/* D on both parities, all columns one after another; A and its sums. */
typedef struct answers {
  ref_complex *hop[2][COLUMNS], *pass[PASSES][MOST];
  double norm[PASSES], dot[PASSES];
} answers;

/* in: COLUMNS of noise on all sites, here and below. */
static void answer_hop(staggered_case *s, kaon_operator *M, kaon_precision precision, int parity,
                       ref_complex *const *in, answers *to) {
  kaon_vector *x = staggered_vector(s, (kaon_parity)(1 - parity), precision, COLUMNS);
  kaon_vector *y = staggered_vector(s, (kaon_parity)parity, precision, COLUMNS);
  staggered_import(s, x, in);
  must(s->c.ctx, kaon_staggered_hop(M, (kaon_parity)parity, x, y));
  for (int k = 0; k < COLUMNS; k++) {
    to->hop[parity][k] = ref_new(staggered_size(s));
    must(s->c.ctx, kaon_vector_export(y, k, (double *)to->hop[parity][k], KAON_BASIS_UKQCD));
  }
  kaon_vector_destroy(&x);
  kaon_vector_destroy(&y);
}

static int is_closed(int columns, int k) {
  return columns > 1 && k == CLOSED;
}

static void answer_pass(staggered_case *s, kaon_operator *A, kaon_precision precision, int number,
                        ref_complex *const *in, answers *to) {
  const int columns = pass_columns[number];
  kaon_vector *x = staggered_vector(s, KAON_EVEN, precision, columns);
  kaon_vector *y = staggered_vector(s, KAON_EVEN, precision, columns);
  kaon_scalars *scalars = NULL;
  kaon_column_state host[MOST];
  staggered_import(s, x, in);
  must(s->c.ctx, kaon_vector_zero(y));
  must(s->c.ctx, kaon_scalars_create(s->c.ctx, columns, &scalars));
  must(s->c.ctx, kaon_scalars_read(scalars, host));
  for (int k = 0; k < columns; k++)
    host[k].gate = is_closed(columns, k) ? KAON_GATE_SERVICE : KAON_GATE_STEP;
  must(s->c.ctx, kaon_scalars_write(scalars, host));
  kaon_pass pass = KAON_PASS_INIT;
  pass.scalars = scalars;
  pass.norm = 0;
  pass.dot = 1;
  pass.w = x;
  must(s->c.ctx, kaon_operator_run(A, KAON_PLAIN, x, y, &pass));
  must(s->c.ctx, kaon_scalars_read(scalars, host));
  to->norm[number] = to->dot[number] = 0;
  for (int k = 0; k < columns; k++) {
    to->pass[number][k] = ref_new(staggered_size(s));
    must(s->c.ctx, kaon_vector_export(y, k, (double *)to->pass[number][k], KAON_BASIS_UKQCD));
    if (is_closed(columns, k)) continue;
    to->norm[number] += host[k].slot[0][0];
    to->dot[number] += host[k].slot[1][0];
  }
  kaon_scalars_destroy(&scalars);
  kaon_vector_destroy(&x);
  kaon_vector_destroy(&y);
}

static void answer(staggered_case *s, kaon_precision precision, kaon_reconstruct reconstruct,
                   ref_complex *const *in, answers *to) {
  kaon_operator *A = NULL,
                *M = staggered_operator(s, 0.3, 0.05, KAON_PHASES_MILC, precision, reconstruct);
  memset(to, 0, sizeof *to);
  for (int parity = 0; parity < 2; parity++) answer_hop(s, M, precision, parity, in, to);
  must(s->c.ctx, kaon_staggered_even_odd(M, KAON_EVEN, &A));
  for (int i = 0; i < PASSES; i++) answer_pass(s, A, precision, i, in, to);
  kaon_operator_destroy(&A);
  kaon_operator_destroy(&M);
}

static double compare(staggered_case *s, const answers *a, const answers *b) {
  const size_t n = staggered_size(s);
  double worst = 0;
  for (int i = 0; i < 2 * COLUMNS; i++)
    worst = fmax(
        worst, ref_rel_diff(a->hop[i / COLUMNS][i % COLUMNS], b->hop[i / COLUMNS][i % COLUMNS], n));
  for (int i = 0; i < PASSES; i++)
    for (int k = 0; k < pass_columns[i]; k++)
      if (is_closed(pass_columns[i], k))
        assert_true(ref_norm2(a->pass[i][k], n) == 0 && ref_norm2(b->pass[i][k], n) == 0);
      else
        worst = larger(worst, ref_rel_diff(a->pass[i][k], b->pass[i][k], n));
  return worst;
}

static double compare_sums(const answers *a, const answers *b) {
  double worst = 0;
  for (int i = 0; i < PASSES; i++) {
    worst = larger(worst, fabs(a->norm[i] / b->norm[i] - 1));
    worst = larger(worst, fabs(a->dot[i] / b->dot[i] - 1));
  }
  return worst;
}

static void forget(answers *a) {
  for (int i = 0; i < 2 * COLUMNS; i++) free(a->hop[i / COLUMNS][i % COLUMNS]);
  for (int i = 0; i < PASSES * MOST; i++) free(a->pass[i / MOST][i % MOST]);
}

/* All subsets against the whole lattice, a link storage for each precision. */
static void check_subsets(int machine, const int extents[4], int shape, int improved, int host) {
  static const kaon_reconstruct storages[] = {KAON_RECONSTRUCT_18, KAON_RECONSTRUCT_12,
                                              KAON_RECONSTRUCT_8};
  const int device = machine == MACHINE_CUDA;
  staggered_case s;
  answers expected[3], found;
  double worst[3] = {0, 0, 0}, sums[3] = {0, 0, 0};
  if (!staggered_open(&s, machine, extents, 1, improved)) return;
  ref_complex **in = staggered_columns(&s, KAON_FULL, COLUMNS, 5);
  for (int p = 0; p < 3; p++)
    answer(&s, (kaon_precision)p, storages[(p + shape) % 3], in, &expected[p]);
  for (int mask = 1; mask < 16; mask++) {
    staggered_choose_way(&s, mask + shape, host);
    staggered_divide(&s, extents, mask);
    for (int p = 0; p < 3; p++) {
      answer(&s, (kaon_precision)p, storages[(p + shape) % 3], in, &found);
      const double off = compare(&s, &found, &expected[p]);
      if (device && off != 0)
        printf("  subset %d, precision %d, overlap %d: %.3g\n", mask, p,
               (int)s.c.ctx->options.overlap, off);
      worst[p] = larger(worst[p], off);
      sums[p] = larger(sums[p], compare_sums(&found, &expected[p]));
      forget(&found);
    }
  }
  for (int p = 0; p < 3; p++) {
    char what[96];
    snprintf(what, sizeof what, "%s %dx%dx%dx%d improved %d %s", isa_names[machine], extents[0],
             extents[1], extents[2], extents[3], improved, precision_names[p]);
    test_below(what, worst[p], p == KAON_HALF && !device ? 3e-4 : 0);
    test_below("sums", sums[p], p == KAON_HALF && !device ? 1e-3 : 1e-13);
    forget(&expected[p]);
  }
  case_free_columns(in, COLUMNS);
  staggered_close(&s);
}

static void hops_across_faces(void **state) {
  (void)state;
  static const int shapes[][4] = {{8, 4, 4, 8}, {4, 6, 4, 10}, {4, 4, 4, 4}};
  for (int machine = KAON_ISA_SCALAR; machine <= MACHINE_LAST; machine++)
    for (int i = 0; i < 6 && !machine_lacks(machine); i++)
      check_subsets(machine, shapes[i / 2], i / 2, i % 2 * 2, i == 3);
}

/* Shapes that have an interior without faces of its own, blocks of 128 sites, and several tiles of
 * a slab; for devices only. */
static void larger_parts(void **state) {
  (void)state;
  static const int extents[4] = {16, 12, 8, 16};
  for (int i = 0; i < 2 && !machine_lacks(MACHINE_CUDA); i++)
    check_subsets(MACHINE_CUDA, extents, i, 2 * i, 0);
}

static void short_parts_are_refused(void **state) {
  (void)state;
  const int extents[4] = {8, 2, 4, 8};
  staggered_case s;
  kaon_operator *M = NULL;
  if (machine_lacks(KAON_ISA_SCALAR)) return;
  if (!staggered_open(&s, KAON_ISA_SCALAR, extents, 1, 1)) skip();
  staggered_divide(&s, extents, 2);
  must_refuse(s.c.ctx, KAON_ERR_UNSUPPORTED, kaon_staggered_create(s.fat, s.naik, NULL, &M));
  staggered_close(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(hops_across_faces),
      cmocka_unit_test(larger_parts),
      cmocka_unit_test(short_parts_are_refused),
  };
  return test_main(tests, NULL, NULL);
}
