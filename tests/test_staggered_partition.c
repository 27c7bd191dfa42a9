/* test_staggered_partition.c - staggered hops on a lattice divided against itself, in each of the 16
 * subsets of directions: what crosses faces of one and of three layers goes through messages, and
 * in double and single comes out with the bits of the whole lattice; in half a ghost of a backward
 * hop is rounded once more, by half a step of its own scale, so results differ by at most a few
 * steps: 3e-4 of |result| (a site has at most 8 of 16 hops backward, each off by 0.3 steps rms of a
 * neighbour; its own rounding may go the other way). */
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
#include "lib/comm.h"
#include "tests/util/staggered_case.h"
#include "tests/util/test_util.h"

/* The same links and vectors, but faces of the directions of `mask` go through messages. */
static int open_divided(staggered_case *s, int machine, const int extents[4], int improved,
                        int mask) {
  staggered_case whole;
  if (!staggered_open(&whole, machine, extents, 1, improved)) return 0;
  *s = whole;
  kaon_gauge_destroy(&s->c.gauge);
  kaon_gauge_destroy(&s->fat);
  kaon_gauge_destroy(&s->naik);
  kaon_lattice_destroy(&s->c.lattice);
  for (int mu = 0; mu < 4; mu++) s->c.ctx->comm->partitioned[mu] = mask >> mu & 1;
  must(s->c.ctx, kaon_lattice_create(s->c.ctx, extents, KAON_ANTIPERIODIC, &s->c.lattice));
  must(s->c.ctx, kaon_gauge_create(s->c.lattice, KAON_DOUBLE, KAON_RECONSTRUCT_18, &s->c.gauge));
  case_import_links(&s->c);
  kaon_gauge **links[2] = {&s->fat, &s->naik};
  const ref_complex *const u[2] = {s->u_fat, s->u_naik};
  for (int i = 0; i < 2 && improved; i++) {
    const void *arrays[1] = {u[i]};
    must(s->c.ctx,
         kaon_gauge_create(s->c.lattice, KAON_DOUBLE, KAON_RECONSTRUCT_18, links[i]));
    must(s->c.ctx, kaon_staggered_import_links(*links[i], KAON_ORDER_NATURAL, KAON_DOUBLE, arrays));
  }
  return 1;
}

enum { COLUMNS = 2 };

/* D on both parities, all columns one after another; and the sums of a pass over A. */
typedef struct answers {
  ref_complex *hop[2][COLUMNS];
  double norm, dot;
} answers;

static void answer(staggered_case *s, kaon_precision precision, kaon_reconstruct reconstruct,
                   answers *to) {
  kaon_operator *A = NULL, *M = staggered_operator(s, 0.3, 0, KAON_PHASES_MILC, precision,
                                                   reconstruct);
  for (int parity = 0; parity < 2; parity++) {
    ref_complex **in = staggered_columns(s, KAON_FULL, COLUMNS, 5);
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
    case_free_columns(in, COLUMNS);
  }
  must(s->c.ctx, kaon_staggered_even_odd(M, KAON_EVEN, &A));
  ref_complex **in = staggered_columns(s, KAON_FULL, 1, 5);
  kaon_vector *x = staggered_vector(s, KAON_EVEN, precision, 1);
  kaon_vector *y = staggered_vector(s, KAON_EVEN, precision, 1);
  kaon_scalars *scalars = NULL;
  kaon_column_state host;
  staggered_import(s, x, in);
  must(s->c.ctx, kaon_scalars_create(s->c.ctx, 1, &scalars));
  must(s->c.ctx, kaon_scalars_read(scalars, &host));
  host.gate = KAON_GATE_STEP;
  must(s->c.ctx, kaon_scalars_write(scalars, &host));
  kaon_pass pass = KAON_PASS_INIT;
  pass.scalars = scalars;
  pass.norm = 0;
  pass.dot = 1;
  pass.w = x;
  must(s->c.ctx, kaon_operator_run(A, KAON_PLAIN, x, y, &pass));
  must(s->c.ctx, kaon_scalars_read(scalars, &host));
  to->norm = host.slot[0][0];
  to->dot = host.slot[1][0];
  kaon_scalars_destroy(&scalars);
  kaon_vector_destroy(&x);
  kaon_vector_destroy(&y);
  case_free_columns(in, 1);
  kaon_operator_destroy(&A);
  kaon_operator_destroy(&M);
}

static double compare(staggered_case *s, const answers *a, const answers *b) {
  double worst = 0;
  for (int parity = 0; parity < 2; parity++)
    for (int k = 0; k < COLUMNS; k++)
      worst = fmax(worst,
                   ref_rel_diff(a->hop[parity][k], b->hop[parity][k], staggered_size(s)));
  return worst;
}

static void forget(answers *a) {
  for (int i = 0; i < 2 * COLUMNS; i++) free(a->hop[i / COLUMNS][i % COLUMNS]);
}

static void hops_across_faces(void **state) {
  (void)state;
  static const int shapes[][4] = {{8, 4, 4, 8}, {4, 6, 4, 10}, {4, 4, 4, 4}};
  static const kaon_reconstruct storages[] = {KAON_RECONSTRUCT_18, KAON_RECONSTRUCT_12,
                                              KAON_RECONSTRUCT_8};
  for (int machine = KAON_ISA_SCALAR; machine <= KAON_ISA_AVX512; machine++) {
    if (machine_lacks(machine)) continue;
    for (int shape = 0; shape < 3; shape++)
      for (int improved = 0; improved <= 2; improved += 2) {
        staggered_case whole;
        answers expected[3];
        double worst[3] = {0, 0, 0}, sums[3] = {0, 0, 0};
        if (!staggered_open(&whole, machine, shapes[shape], 1, improved)) continue;
        for (int p = 0; p < 3; p++)
          answer(&whole, (kaon_precision)p, storages[(p + shape) % 3], &expected[p]);
        for (int mask = 1; mask < 16; mask++) {
          staggered_case s;
          if (!open_divided(&s, machine, shapes[shape], improved, mask)) continue;
          for (int p = 0; p < 3; p++) {
            answers found;
            answer(&s, (kaon_precision)p, storages[(p + shape) % 3], &found);
            worst[p] = fmax(worst[p], compare(&s, &found, &expected[p]));
            sums[p] = fmax(sums[p], fabs(found.norm / expected[p].norm - 1));
            sums[p] = fmax(sums[p], fabs(found.dot / expected[p].dot - 1));
            forget(&found);
          }
          staggered_close(&s);
        }
        for (int p = 0; p < 3; p++) {
          char what[96];
          snprintf(what, sizeof what, "%s %dx%dx%dx%d improved %d %s", isa_names[machine],
                   shapes[shape][0], shapes[shape][1], shapes[shape][2], shapes[shape][3], improved,
                   precision_names[p]);
          test_below(what, worst[p], p == KAON_HALF ? 3e-4 : 0);
          test_below("sums", sums[p], p == KAON_HALF ? 1e-3 : 1e-13);
          forget(&expected[p]);
        }
        staggered_close(&whole);
      }
  }
}

static void short_parts_are_refused(void **state) {
  (void)state;
  const int extents[4] = {8, 2, 4, 8};
  staggered_case s;
  kaon_operator *M = NULL;
  if (!open_divided(&s, KAON_ISA_SCALAR, extents, 1, 2)) skip();
  must_refuse(s.c.ctx, KAON_ERR_UNSUPPORTED, kaon_staggered_create(s.fat, s.naik, NULL, &M));
  staggered_close(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(hops_across_faces),
      cmocka_unit_test(short_parts_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
