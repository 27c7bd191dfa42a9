/* test_schwarz_async.c - the asynchronous Schwarz preconditioner on one rank. With all blocks at
 * once it is the additive one; with blocks in turn each block sees what earlier blocks wrote;
 * freely running blocks may come in any order; GCR works with it. On several ranks:
 * tests/ranks/test_schwarz_async.c. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/util/dirac_case.h"

static int extents[4] = {8, 8, 4, 8};
enum { BLOCKS = 8, BLOCK = 4 }; /* of 4^4 */

typedef struct system_of {
  dirac_case c;
  kaon_operator *M, *A;
  kaon_parity sites;
  ref_complex **b;
} system_of;

static void open_system(system_of *s, int machine, double kappa, double csw, int reduced) {
  assert_true(case_open(&s->c, machine, extents, 1, LINKS_WEAK, 5));
  s->M = case_dirac(&s->c, kappa, csw, 1, KAON_DOUBLE, KAON_RECONSTRUCT_18);
  s->A = reduced ? case_even_odd(&s->c, s->M, KAON_EVEN_ODD_SYMMETRIC, KAON_EVEN, 0) : s->M;
  s->sites = reduced ? KAON_EVEN : KAON_FULL;
  s->b = case_random_columns(&s->c, 1, 21);
  if (reduced) case_restrict(&s->c, 0, s->b[0]);
}

static void close_system(system_of *s) {
  case_free_columns(s->b, 1);
  if (s->A != s->M) kaon_operator_destroy(&s->A);
  kaon_operator_destroy(&s->M);
  case_close(&s->c);
}

static kaon_schwarz_options options_of(kaon_schwarz_kind kind, int cycles, int groups,
                                       uint64_t seed) {
  kaon_schwarz_options o = KAON_SCHWARZ_OPTIONS_INIT;
  o.kind = kind;
  o.precision = KAON_DOUBLE;
  o.steps = 3;
  o.cycles = cycles;
  o.groups = groups;
  o.seed = seed;
  for (int mu = 0; mu < 4; mu++) o.block[mu] = BLOCK;
  return o;
}

static ref_complex *applied(system_of *s, const kaon_schwarz_options *o, ref_complex *const *b) {
  kaon_operator *K = NULL;
  must(s->c.ctx, kaon_schwarz_create(s->A, o, &K));
  kaon_vector *x = case_vector(&s->c, s->sites, KAON_DOUBLE, 1),
              *y = case_vector(&s->c, s->sites, KAON_DOUBLE, 1);
  case_import(&s->c, x, b);
  must(s->c.ctx, kaon_operator_apply(K, KAON_PLAIN, x, y));
  ref_complex *found = case_export(&s->c, y, 0);
  kaon_vector_destroy(&x);
  kaon_vector_destroy(&y);
  kaon_operator_destroy(&K);
  return found;
}

static ref_complex *product(system_of *s, ref_complex *z) {
  kaon_vector *x = case_vector(&s->c, s->sites, KAON_DOUBLE, 1),
              *y = case_vector(&s->c, s->sites, KAON_DOUBLE, 1);
  case_import(&s->c, x, &z);
  must(s->c.ctx, kaon_operator_apply(s->A, KAON_PLAIN, x, y));
  ref_complex *found = case_export(&s->c, y, 0);
  kaon_vector_destroy(&x);
  kaon_vector_destroy(&y);
  return found;
}

static int block_of(const system_of *s, size_t site) {
  int x[4], number = 0;
  ref_coords(&s->c.L, site, x);
  for (int mu = 0; mu < 4; mu++) number = number * (extents[mu] / BLOCK) + x[mu] / BLOCK;
  return number;
}

/* *same[block]: 1 where a and b have the same bits on it. */
static int same_blocks(const system_of *s, const ref_complex *a, const ref_complex *b,
                       int same[BLOCKS]) {
  int count = 0;
  for (int i = 0; i < BLOCKS; i++) same[i] = 1;
  for (size_t i = 0; i < ref_spinor_size(&s->c.L); i++)
    if (memcmp(&a[i], &b[i], sizeof *a) != 0) same[block_of(s, i / 12)] = 0;
  for (int i = 0; i < BLOCKS; i++) count += same[i];
  return count;
}

static int lacks_domains(int machine) {
  dirac_case c;
  if (machine_lacks(machine)) return 1;
  if (!case_open(&c, machine, extents, 1, LINKS_WEAK, 5)) return 1;
  const int lacks = c.ctx->backend->domain[KAON_DOUBLE] == NULL;
  case_close(&c);
  return lacks;
}

static void all_at_once_it_is_additive(void **state) {
  (void)state;
  for (int machine = KAON_ISA_SCALAR; machine <= MACHINE_LAST; machine++) {
    system_of s;
    int same[BLOCKS];
    if (lacks_domains(machine)) continue;
    open_system(&s, machine, 0.12, 1, 1);
    const kaon_schwarz_options additive = options_of(KAON_SCHWARZ_ADDITIVE, 3, 0, 1);
    const kaon_schwarz_options loose = options_of(KAON_SCHWARZ_ASYNCHRONOUS, 3, 1, 1);
    ref_complex *a = applied(&s, &additive, s.b), *z = applied(&s, &loose, s.b);
    assert_int_equal(same_blocks(&s, a, z, same), BLOCKS);
    free(a);
    free(z);
    close_system(&s);
  }
}

/* A cycle in two turns: half of the blocks, drawn at random, have their solution of b, bit by bit;
 * the others have that of b - A z with this z. The same formulas on the same numbers give 16
 * digits, except for the difference, which is rounded once in places. */
static void later_blocks_see_what_earlier_ones_wrote(void **state) {
  (void)state;
  for (int machine = KAON_ISA_SCALAR; machine <= MACHINE_LAST; machine++)
    for (int reduced = 0; reduced < 2; reduced++) {
      system_of s;
      int first[BLOCKS], orders = 0, earlier[BLOCKS] = {0};
      if (lacks_domains(machine)) continue;
      open_system(&s, machine, 0.12, 1, reduced);
      const size_t size = ref_spinor_size(&s.c.L);
      const kaon_schwarz_options additive = options_of(KAON_SCHWARZ_ADDITIVE, 1, 0, 1);
      ref_complex *alone = applied(&s, &additive, s.b);
      for (uint64_t seed = 1; seed <= 4; seed++) {
        const kaon_schwarz_options loose = options_of(KAON_SCHWARZ_ASYNCHRONOUS, 1, 2, seed);
        ref_complex *z = applied(&s, &loose, s.b), *again = applied(&s, &loose, s.b);
        assert_memory_equal(z, again, size * sizeof *z);
        assert_int_equal(same_blocks(&s, alone, z, first), BLOCKS / 2);
        orders += memcmp(first, earlier, sizeof first) != 0;
        memcpy(earlier, first, sizeof first);
        ref_complex *half = calloc(size, sizeof *half), *r, *rest;
        for (size_t i = 0; i < size; i++)
          if (first[block_of(&s, i / 12)]) half[i] = z[i];
        r = product(&s, half);
        for (size_t i = 0; i < size; i++) r[i] = s.b[0][i] - r[i];
        rest = applied(&s, &additive, &r);
        double off = 0, all = 0;
        for (size_t i = 0; i < size; i++) {
          if (first[block_of(&s, i / 12)]) continue;
          off = larger(off, cabs(rest[i] - z[i]));
          all = larger(all, cabs(z[i]));
        }
        assert_true(off <= 1e-14 * all);
        free(half);
        free(r);
        free(rest);
        free(z);
        free(again);
      }
      assert_true(orders > 1); /* drawn, not fixed */
      free(alone);
      close_system(&s);
    }
}

/* Freely running on one thread, one cycle: some order of the blocks explains the result, in which
 * each block has its solution of b - A z with the z of earlier ones. The test finds the order
 * block by block (those that are not coupled at once); the same formulas give 16 digits, except
 * for that difference. */
static void one_thread_goes_through_blocks_in_some_order(void **state) {
  (void)state;
  if (machine_lacks(KAON_ISA_SCALAR)) skip();
  for (int reduced = 0; reduced < 2; reduced++) {
    system_of s;
    int done[BLOCKS] = {0}, found = 0;
    open_system(&s, KAON_ISA_SCALAR, 0.12, 1, reduced);
    const size_t size = ref_spinor_size(&s.c.L);
    const kaon_schwarz_options additive = options_of(KAON_SCHWARZ_ADDITIVE, 1, 0, 1);
    kaon_schwarz_options loose = options_of(KAON_SCHWARZ_ASYNCHRONOUS, 1, 0, 3);
    loose.lag = 0;
    ref_complex *z = applied(&s, &loose, s.b), *again = applied(&s, &loose, s.b);
    assert_memory_equal(z, again, size * sizeof *z);
    double all = 0;
    for (size_t i = 0; i < size; i++) all = larger(all, cabs(z[i]));
    while (found < BLOCKS) {
      ref_complex *before = calloc(size, sizeof *before), *r, *next;
      double off[BLOCKS] = {0};
      const int known = found;
      for (size_t i = 0; i < size; i++)
        if (done[block_of(&s, i / 12)]) before[i] = z[i];
      r = product(&s, before);
      for (size_t i = 0; i < size; i++) r[i] = s.b[0][i] - r[i];
      next = applied(&s, &additive, &r);
      for (size_t i = 0; i < size; i++) {
        const int block = block_of(&s, i / 12);
        off[block] = larger(off[block], cabs(next[i] - z[i]));
      }
      for (int block = 0; block < BLOCKS; block++)
        if (!done[block] && off[block] <= 1e-14 * all) done[block] = 1, found++;
      assert_true(found > known);
      free(before);
      free(r);
      free(next);
    }
    free(z);
    free(again);
    close_system(&s);
  }
}

static int steps_of(system_of *s, const kaon_schwarz_options *o, double *residual) {
  kaon_solver_options so = KAON_SOLVER_OPTIONS_INIT;
  kaon_operator *K = NULL;
  kaon_solver *solver = NULL;
  kaon_column_report column;
  so.method = KAON_GCR;
  so.sloppy = KAON_SINGLE;
  must(s->c.ctx, kaon_schwarz_create(s->A, o, &K));
  so.preconditioner = K;
  must(s->c.ctx, kaon_solver_create(s->A, 1, &so, &solver));
  kaon_vector *b = case_vector(&s->c, KAON_FULL, KAON_DOUBLE, 1),
              *x = case_vector(&s->c, KAON_FULL, KAON_DOUBLE, 1);
  case_import(&s->c, b, s->b);
  must(s->c.ctx, kaon_vector_zero(x));
  must(s->c.ctx, kaon_solver_solve(solver, b, x, &column, NULL));
  assert_int_equal(column.reason, KAON_CONVERGED);
  ref_dirac d = case_reference(&s->c, 0.13, s->A == s->M ? 0 : 1, 1);
  ref_complex *found = case_export(&s->c, x, 0), *image = ref_new(ref_spinor_size(&s->c.L));
  ref_apply(&d, found, image);
  *residual = ref_rel_diff(image, s->b[0], ref_spinor_size(&s->c.L));
  free(found);
  free(image);
  ref_dirac_free(&d);
  kaon_vector_destroy(&b);
  kaon_vector_destroy(&x);
  kaon_solver_destroy(&solver);
  kaon_operator_destroy(&K);
  return column.iterations;
}

/* Wilson on all sites, clover on the even ones. With equal numbers of local steps and cycles GCR
 * takes no more steps than with the synchronous preconditioner, whose blocks see nothing of each
 * other within a cycle. */
static void gcr_takes_no_more_steps_than_with_additive(void **state) {
  (void)state;
  for (int clover = 0; clover < 2; clover++) {
    system_of s;
    double residual[2];
    open_system(&s, KAON_ISA_AUTO, 0.13, clover, clover);
    kaon_schwarz_options additive = options_of(KAON_SCHWARZ_ADDITIVE, 5, 0, 1);
    kaon_schwarz_options loose = options_of(KAON_SCHWARZ_ASYNCHRONOUS, 5, 2, 1);
    additive.precision = loose.precision = KAON_HALF;
    const int together = steps_of(&s, &additive, &residual[0]);
    const int apart = steps_of(&s, &loose, &residual[1]);
    printf("%s: %d steps with additive, %d with asynchronous Schwarz; residuals %.1e, %.1e\n",
           clover ? "clover, even-odd" : "Wilson", together, apart, residual[0], residual[1]);
    assert_true(residual[0] <= 1.2e-10 && residual[1] <= 1.2e-10);
    assert_true(apart <= together);
    close_system(&s);
  }
}

/* More threads than blocks can keep in step: GCR corrects any order, the lag stays within its
 * bound, and requests to other blocks are counted. */
static void gcr_converges_with_blocks_that_go_on_by_themselves(void **state) {
  (void)state;
  const int isa[2] = {KAON_ISA_SCALAR, MACHINE_CPU};
  for (int wide = 0; wide < 2; wide++)
    for (int lag = 0; lag <= 2; lag += 2) {
      system_of s;
      double residual[2];
      kaon_operator *K = NULL;
      kaon_schwarz_lags lags = KAON_SCHWARZ_LAGS_INIT;
      if (machine_lacks(isa[wide])) continue;
      extents[2] = wide ? 8 : 4;
      extents[3] = wide ? 16 : 8;
      open_system(&s, isa[wide], 0.13, 1, 1);
      s.c.ctx->threads = 4;
      kaon_schwarz_options additive = options_of(KAON_SCHWARZ_ADDITIVE, 5, 0, 1);
      kaon_schwarz_options loose = options_of(KAON_SCHWARZ_ASYNCHRONOUS, 5, 0, 1);
      loose.lag = lag;
      loose.precision = additive.precision = lag ? KAON_HALF : KAON_SINGLE;
      const int together = steps_of(&s, &additive, &residual[0]);
      const int apart = steps_of(&s, &loose, &residual[1]);
      printf("lag %d: %d steps with additive, %d with free blocks; residual %.1e\n", lag, together,
             apart, residual[1]);
      assert_true(residual[1] <= 1.2e-10);
      /* the same vectors once more, for what it says of itself */
      loose.precision = KAON_DOUBLE;
      must(s.c.ctx, kaon_schwarz_create(s.A, &loose, &K));
      kaon_vector *x = case_vector(&s.c, s.sites, KAON_DOUBLE, 1),
                  *y = case_vector(&s.c, s.sites, KAON_DOUBLE, 1);
      case_import(&s.c, x, s.b);
      must(s.c.ctx, kaon_operator_apply(K, KAON_PLAIN, x, y));
      must(s.c.ctx, kaon_schwarz_describe_lags(K, &lags));
      assert_true(lags.parts > 1 && lags.parts <= (wide ? 4 * BLOCKS : BLOCKS));
      assert_true(lags.reads >= 5 * lags.parts && lags.late <= lags.reads);
      assert_true(lags.oldest <= lag);
      kaon_vector_destroy(&x);
      kaon_vector_destroy(&y);
      kaon_operator_destroy(&K);
      close_system(&s);
    }
  extents[2] = 4;
  extents[3] = 8;
}

static void lags_are_of_schwarz_alone(void **state) {
  (void)state;
  system_of s;
  kaon_operator *K = NULL;
  kaon_schwarz_lags lags = {sizeof lags, 1, 1, 1, 1};
  open_system(&s, KAON_ISA_AUTO, 0.12, 1, 0);
  const kaon_schwarz_options loose = options_of(KAON_SCHWARZ_ASYNCHRONOUS, 2, 2, 1);
  must(s.c.ctx, kaon_schwarz_create(s.A, &loose, &K));
  must(s.c.ctx, kaon_schwarz_describe_lags(K, &lags));
  assert_true(lags.reads == 0 && lags.late == 0 && lags.oldest == 0); /* one rank: no messages */
  must_refuse(s.c.ctx, KAON_ERR_ARGUMENT, kaon_schwarz_describe_lags(s.A, &lags));
  must_refuse(NULL, KAON_ERR_ARGUMENT, kaon_schwarz_describe_lags(NULL, &lags));
  kaon_operator_destroy(&K);
  close_system(&s);
}

/* What was left to the rule is written out. */
static void options_are_described_as_they_were_chosen(void **state) {
  static const struct {
    kaon_schwarz_kind kind;
    int steps, cycles;
  } rules[] = {{KAON_SCHWARZ_ADDITIVE, 10, 1},
               {KAON_SCHWARZ_MULTIPLICATIVE, 4, 5},
               {KAON_SCHWARZ_ASYNCHRONOUS, 4, 5}};
  (void)state;
  system_of s;
  open_system(&s, KAON_ISA_AUTO, 0.12, 1, 0);
  for (int i = 0; i < 3; i++) {
    kaon_operator *K = NULL;
    kaon_schwarz_options made = options_of(rules[i].kind, 0, 1, 1);
    kaon_schwarz_options found = KAON_SCHWARZ_OPTIONS_INIT;
    made.steps = 0;
    must(s.c.ctx, kaon_schwarz_create(s.A, &made, &K));
    must(s.c.ctx, kaon_schwarz_describe(K, &found));
    assert_int_equal(found.kind, rules[i].kind);
    assert_int_equal(found.steps, rules[i].steps);
    assert_int_equal(found.cycles, rules[i].cycles);
    must_refuse(s.c.ctx, KAON_ERR_ARGUMENT, kaon_schwarz_describe(K, NULL));
    kaon_operator_destroy(&K);
  }
  kaon_schwarz_options none = KAON_SCHWARZ_OPTIONS_INIT;
  must_refuse(s.c.ctx, KAON_ERR_ARGUMENT, kaon_schwarz_describe(s.A, &none));
  must_refuse(NULL, KAON_ERR_ARGUMENT, kaon_schwarz_describe(NULL, &none));
  close_system(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(all_at_once_it_is_additive),
      cmocka_unit_test(later_blocks_see_what_earlier_ones_wrote),
      cmocka_unit_test(gcr_takes_no_more_steps_than_with_additive),
      cmocka_unit_test(one_thread_goes_through_blocks_in_some_order),
      cmocka_unit_test(gcr_converges_with_blocks_that_go_on_by_themselves),
      cmocka_unit_test(lags_are_of_schwarz_alone),
      cmocka_unit_test(options_are_described_as_they_were_chosen),
  };
  return test_main(tests, NULL, NULL);
}
