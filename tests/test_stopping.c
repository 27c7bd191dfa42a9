/* test_stopping.c - the stopping logic itself (lib/math/steps/stopping.h), driven by made-up
 * residuals: growth, plateaus, floors. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/math/steps/recurrences.h"
#include "solvers/engine/method.h"
#include "tests/util/test_util.h"

/* A denominator computed by recurrences may fail through accumulated roundings: the column then
 * waits for recomputed sums, and its beta uses the rho before this step. */
static void a_failed_denominator_keeps_the_old_rho(void **state) {
  static const int steps[] = {KAON_REC_PIPECG_STEP, KAON_REC_PIPEPCG_STEP, KAON_REC_CHRONGEAR_STEP,
                              KAON_REC_PCHRONGEAR_STEP, KAON_REC_PIPECGNR_STEP};
  (void)state;
  for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
    for (int fails = 0; fails < 2; fails++) {
      kaon_column_state *s = calloc(1, sizeof *s);
      s->reference = s->scale = s->first = s->lowest = s->peak = 1;
      s->limit = s->threshold = 1e-20;
      s->max_iterations = 1000;
      s->gate = KAON_GATE_STEP;
      s->slot[KAON_S_RHO][0] = 4;
      s->slot[KAON_S_ALPHA][0] = 1;
      s->slot[KAON_S_R2][0] = s->slot[KAON_S_S2][0] = s->slot[KAON_S_RZ][0] = 0.5;
      s->slot[KAON_S_RW][0] = fails ? -1 : 1;
      kaon_recurrence_run(steps[i], s);
      assert_true(s->slot[KAON_S_RHO][0] == (fails ? 4 : 0.5));
      assert_int_equal(s->gate & KAON_GATE_STEP, fails ? 0 : KAON_GATE_STEP);
      if (fails) assert_int_equal(s->reason, KAON_WAIT_UPDATE);
      free(s);
    }
}

/* Growth of the recurrence triggers a check; true growth ends the solve. */
static void growth_is_called_diverging(void **state) {
  (void)state;
  kaon_column_state *s = calloc(1, sizeof *s);
  s->reference = 1;
  s->limit = 1e-20;
  s->max_iterations = 1000;
  s->gate = KAON_GATE_SERVICE;
  s->reason = KAON_WAIT_BEGIN;
  s->slot[KAON_S_OUTER][0] = 1;
  kaon_recurrence_run(KAON_REC_VERIFY_OUTER, s);
  assert_int_equal(s->gate, KAON_GATE_SERVICE | KAON_GATE_START);
  kaon_recurrence_run(KAON_REC_RESUME, s);
  kaon_step_end(s, 1e15); /* CG's may */
  assert_int_equal(s->gate, KAON_GATE_STEP);
  kaon_step_end(s, 1e17);
  assert_int_equal(s->gate, KAON_GATE_SERVICE | KAON_GATE_SOLUTION);
  assert_int_equal(s->reason, KAON_WAIT_GROWTH);
  s->slot[KAON_S_OUTER][0] = 1e17;
  kaon_recurrence_run(KAON_REC_VERIFY_OUTER, s);
  assert_int_equal(s->gate, 0);
  assert_int_equal(s->reason, KAON_DIVERGING);
  free(s);
}

enum { FALL = 1 << 17, REST = FALL / 8 };

/* Residuals squared. They fall to `to` (squared) in FALL steps, ... */
static double fall(int n, double to) {
  return pow(to, (double)n / FALL);
}

/* ... rest there, a little above their least, and fall on; ... */
static double plateau(int n, double to) {
  if (n <= FALL) return fall(n, to);
  if (n <= FALL + REST) return 1.001 * to;
  return to * pow(10, -(n - FALL - REST) / 1000.0);
}

/* ... or stay. */
static double floored(int n, double to) {
  return n <= FALL ? fall(n, to) : 1.001 * to;
}

/* A column whose recurrence tells the truth. */
static void drive(int flags, double (*at)(int, double), double to, kaon_column_state *s) {
  *s = (kaon_column_state){.reference = 1,
                           .limit = 1e-20,
                           .max_iterations = 1 << 24,
                           .unknowns = 4 * FALL,
                           .flags = flags,
                           .gate = KAON_GATE_SERVICE,
                           .reason = KAON_WAIT_BEGIN};
  s->slot[KAON_S_TRUE][0] = s->slot[KAON_S_R2][0] = 1;
  while (s->gate != 0) {
    const double now = at(s->iterations + ((s->gate & KAON_GATE_STEP) != 0), to);
    s->slot[KAON_S_R2][0] = now;
    if (s->gate & KAON_GATE_STEP) {
      kaon_step_end(s, now);
    } else {
      s->slot[KAON_S_TRUE][0] = now;
      kaon_stop_verify(s);
      if (s->gate & (KAON_GATE_START | KAON_GATE_CONTINUE)) kaon_stop_resume(s);
    }
  }
}

/* Plateaus may be long in proportion to the steps: of 0.09, where preconditioned CG must not be
 * given up, and of 1e-5. A floor ends the column within a bounded multiple of its steps. A stall
 * ends at the latest after 1000 steps or at 16 / 15 of the steps where it began, with 3 stalls for
 * a verdict, or at 32 / 31, with 10; one step more finds the floor. Separate checks (WATCH) find
 * one at (n + 200) 8 / 7. */
static void plateaus_are_waited_for_and_floors_are_not(void **state) {
  (void)state;
  static const int flags[] = {0, KAON_FLAG_MONITOR, KAON_FLAG_EITHER};
  static const double levels[] = {0.09 * 0.09, 1e-10};
  kaon_column_state *s = calloc(1, sizeof *s);
  assert_non_null(s);
  for (int f = 0; f < 3; f++)
    for (int l = 0; l < 2; l++) {
      const int patient = flags[f] != 0, watch = flags[f] == KAON_FLAG_MONITOR;
      const double part = watch ? 8 / 7.0 : patient ? 32 / 31.0 : 16 / 15.0;
      double most = FALL;
      for (int k = 0; k < (patient ? 11 : 4); k++)
        most = 1 + (watch ? (most + 200) * part : fmax(most + 1000, most * part));
      drive(flags[f], plateau, levels[l], s);
      printf("  flags %3d, rest at %.0e: %d steps, reason %d", flags[f], sqrt(levels[l]),
             s->iterations, s->reason);
      assert_int_equal(s->reason, KAON_CONVERGED);
      assert_true(s->iterations > FALL + REST);
      drive(flags[f], floored, levels[l], s);
      printf("; floor there: %d steps of at most %.0f\n", s->iterations, most);
      assert_int_equal(s->reason, KAON_STAGNATED);
      assert_true(s->iterations <= most);
    }
  free(s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_failed_denominator_keeps_the_old_rho),
      cmocka_unit_test(growth_is_called_diverging),
      cmocka_unit_test(plateaus_are_waited_for_and_floors_are_not),
  };
  return test_main(tests, NULL, NULL);
}
