/* test_gcr_estimate.c - when GCR trusts its recurrence for |r|^2, which is a difference
 * (kaon_gcr_residual), and when it computes the residual again. In single precision roundings are
 * 2^-24; below 32 of them, relative to |r|^2 at the cycle's begin, a step must halve the residual
 * to be trusted. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <string.h>

#include "lib/math/steps/recurrences.h"
#include "tests/util/test_util.h"

/* The state in which a column waits after step 2 of its cycle, which reduced r2 to `left`. */
static int after(double r2, double left) {
  kaon_column_state s;
  memset(&s, 0, sizeof s);
  s.gate = KAON_GATE_STEP;
  s.aux = 1;
  s.cycle = 16;
  s.max_iterations = 100;
  s.epsilon2 = 0x1p-48;
  s.scale = s.first = s.peak = 1;
  s.lowest = r2;
  s.slot[KAON_S_ANCHOR][0] = 1;
  s.slot[KAON_S_R2][0] = r2;
  s.slot[KAON_S_ALPHA][0] = 1;
  s.slot[KAON_S_GCR_NORM + 1][0] = r2 - left;
  kaon_gcr_residual(&s);
  return s.gate & KAON_GATE_STEP ? 0 : s.reason;
}

static void small_gains_are_doubted_where_roundings_are_as_large(void **state) {
  const double zone = 32 * 0x1p-24;
  (void)state;
  assert_int_equal(after(1e-2, 0.99e-2), 0);        /* slow, and known */
  assert_int_equal(after(4 * zone, 1.1 * zone), 0); /* not yet there */
  assert_int_equal(after(zone, 0.3 * zone), 0);     /* more than roundings would */
  assert_int_equal(after(0.9 * zone, 0.6 * zone), KAON_WAIT_UPDATE);
  assert_int_equal(after(1e-3 * zone, 0.99e-3 * zone), KAON_WAIT_UPDATE);
  assert_int_equal(after(1e-3 * zone, 0.3e-3 * zone), 0);
}

static void what_is_nothing_but_rounding_is_taken_anew(void **state) {
  (void)state;
  assert_int_equal(after(1e-7, 1e-15), KAON_WAIT_UPDATE);
  assert_int_equal(after(1e-7, -1e-9), KAON_WAIT_UPDATE);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(small_gains_are_doubted_where_roundings_are_as_large),
      cmocka_unit_test(what_is_nothing_but_rounding_is_taken_anew),
  };
  return test_main(tests, NULL, NULL);
}
