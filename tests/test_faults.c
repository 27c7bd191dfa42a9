/* test_faults.c - relaxation with faults: rows that are no longer updated for a while or for good,
 * bits that flip unseen. What counts: a solve that says it converged has, by a residual worked out
 * on the host; one that has not says so. KAON_TEST_FAULTED_SOLVES: how many random ones are made
 * (400; 10000 take about a minute on one core). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

#include "tests/util/precond_case.h"
#include "tests/util/relax_case.h"

static uint64_t next(uint64_t *state) { /* splitmix64 */
  uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return z ^ (z >> 31);
}

static double uniform(uint64_t *state) {
  return (double)(next(state) >> 11) * 0x1p-53;
}

static int below(uint64_t *state, int n) {
  return (int)(uniform(state) * n);
}

static kaon_fault_options random_faults(uint64_t *state) {
  kaon_fault_options f = KAON_FAULT_OPTIONS_INIT;
  f.kind = (kaon_fault_kind)below(state, 3);
  f.share = below(state, 4) == 0 ? 0 : uniform(state);
  f.begin = below(state, 40);
  f.recovery = below(state, 3) == 0 ? 0 : 1 + below(state, 40);
  f.flip_rate = below(state, 3) == 0 ? 0 : pow(10, -5 + 4 * uniform(state));
  f.flip_begin = below(state, 20);
  f.flip_end = below(state, 3) == 0 ? 0 : 1 + below(state, 80);
  f.repair = below(state, 4) != 0;
  f.seed = next(state);
  return f;
}

typedef struct tally {
  int reasons[KAON_CANCELLED + 1];
  int64_t frozen, flips;
  int alarms, rollbacks, restored;
  double worst; /* true residual of those that converged, over the tolerance */
} tally;

/* truth: |b - A x| / |b| worked out on the host. */
static void check_honest(const kaon_column_report *report, double truth, double tol, tally *t) {
  t->reasons[report->reason]++;
  if (report->reason == KAON_CONVERGED) {
    if (truth / tol > t->worst) t->worst = truth / tol;
    assert_true(truth <= 1.1 * tol);
  } else if (isfinite(truth) && isfinite(report->residual)) {
    assert_true(fabs(report->residual - truth) <= 1e-6 * truth + 1e-14);
    assert_true(truth > tol);
  }
  assert_true(report->reason != KAON_RUNNING && report->reason != KAON_CANCELLED);
}

/* One solve, and that it does not lie. */
static void check_one(relax_case *c, uint64_t *state, tally *t) {
  const kaon_fault_options faults = random_faults(state);
  kaon_relax_options o = KAON_RELAX_OPTIONS_INIT;
  kaon_relax_report r;
  kaon_column_report report[2];
  const double tol = 1e-8;
  o.block = 8 + below(state, 60);
  o.local_sweeps = 1 + below(state, 6);
  o.together = below(state, 5);
  o.seed = next(state);
  o.faults = &faults;
  const kaon_method method = below(state, 3) == 0 ? KAON_TWO_STAGE : KAON_ASYNC;
  if (method == KAON_ASYNC && below(state, 3) == 0) o.driver = KAON_RELAX_FREE;
  relax_case_solve(c, method, &o, tol, 400, report, &r);
  t->frozen += r.frozen;
  t->flips += r.flips;
  t->alarms += r.alarms;
  t->rollbacks += r.rollbacks;
  t->restored += r.restored_by_monitor;
  for (int k = 0; k < c->columns; k++) check_honest(&report[k], relax_case_residual(c, k), tol, t);
}

static void no_faulted_solve_ends_silently_wrong(void **state) {
  const char *asked = getenv("KAON_TEST_FAULTED_SOLVES");
  const int solves = asked != NULL ? atoi(asked) : 400;
  uint64_t random = 2012;
  tally t = {.worst = 0};
  relax_case c[3];
  (void)state;
  assert_true(relax_case_open(&c[0], MACHINE_CPU, 1, row_case_laplace(11, 12, 1), KAON_DOUBLE, 1));
  assert_true(
      relax_case_open(&c[1], MACHINE_CPU, 2, row_case_random(150, 5, 1, 1, 3), KAON_DOUBLE, 2));
  assert_true(
      relax_case_open(&c[2], MACHINE_CPU, 1, row_case_random(120, 5, 2, 0, 4), KAON_DOUBLE, 1));
  for (int i = 0; i < solves; i++) check_one(&c[i % 3], &random, &t);
  for (int i = 0; i < 3; i++) relax_case_close(&c[i]);
  printf("%d solves: %d converged, %d out of steps, %d stagnated, %d broke down, %d diverged\n",
         solves, t.reasons[KAON_CONVERGED], t.reasons[KAON_MAX_ITERATIONS],
         t.reasons[KAON_STAGNATED], t.reasons[KAON_BREAKDOWN], t.reasons[KAON_DIVERGING]);
  printf(
      "lost: %lld rows frozen, %lld bits flipped; found: %d alarms; repaired: %d copies put "
      "back, frozen rows given back by the monitor %d times\n",
      (long long)t.frozen, (long long)t.flips, t.alarms, t.rollbacks, t.restored);
  test_below("true residual of those that converged, over the tolerance", t.worst, 1.1);
  assert_true(t.reasons[KAON_CONVERGED] > solves / 4); /* and it is worth while */
  assert_true(t.rollbacks > 0 && t.restored > 0);
}

/* Paper A's figure 10 and table 6: a quarter of the rows from iteration 10 on. They come back after
 * 10, 20, 30 iterations: the same residual is reached, later each time; never: it is not. */
static void check_recovery(const char *name, int block) {
  static const int recovery[] = {10, 20, 30, 0};
  char path[64];
  relax_case c;
  int steps[5] = {0};
  snprintf(path, sizeof path, "sparse/%s.mtx", name);
  kaon_csr *csr = row_case_file(path);
  if (csr == NULL) skip();
  assert_true(relax_case_open(&c, MACHINE_CPU, 2, csr, KAON_DOUBLE, 1));
  for (int i = -1; i < 4; i++) {
    kaon_relax_options o = KAON_RELAX_OPTIONS_INIT;
    kaon_fault_options f = KAON_FAULT_OPTIONS_INIT;
    kaon_column_report report;
    kaon_relax_report r;
    f.share = 0.25;
    f.repair = 0;
    f.recovery = i >= 0 ? recovery[i] : 0;
    o.block = block;
    o.local_sweeps = 6;
    if (i >= 0) o.faults = &f;
    relax_case_solve(&c, KAON_TWO_STAGE, &o, 1e-12, 300, &report, &r);
    steps[i + 1] = report.iterations;
    printf(
        "%s: %d iterations, %.1f %% more, residual %.2e, %s; %lld rows frozen at %d, back at %d; "
        "%d alarms, the first at %d\n",
        name, report.iterations, 100.0 * (report.iterations - steps[0]) / steps[0],
        relax_case_residual(&c, 0), kaon_stop_reason_name(report.reason), (long long)r.frozen,
        r.frozen_at, r.restored_at, r.alarms, r.first_alarm);
    if (i < 3) {
      assert_int_equal(report.reason, KAON_CONVERGED);
      test_below("true residual", relax_case_residual(&c, 0), 1.1e-12);
      assert_true(i < 0 || steps[i + 1] > steps[i]);
    } else {
      assert_true(report.reason == KAON_MAX_ITERATIONS || report.reason == KAON_STAGNATED);
      assert_true(relax_case_residual(&c, 0) > 1e-8);
    }
    if (i < 0) continue;
    assert_int_equal(r.frozen, (int64_t)(0.25 * (double)c.rows.rows + 0.5));
    assert_int_equal(r.frozen_at, 10);
    assert_int_equal(r.restored_at, i < 3 ? 10 + recovery[i] : -1);
    assert_true(r.alarms > 0 && r.first_alarm > 10); /* it is seen from residuals alone */
  }
  relax_case_close(&c);
}

static void rows_that_come_back_cost_iterations_alone(void **state) {
  (void)state;
  check_recovery("fv1", 112);
  check_recovery("Trefethen_2000", 128);
}

/* Nobody says when; the monitor finds that the residual no longer falls. */
static void the_monitor_gives_frozen_rows_back(void **state) {
  relax_case c;
  kaon_relax_options o = KAON_RELAX_OPTIONS_INIT;
  kaon_fault_options f = KAON_FAULT_OPTIONS_INIT;
  kaon_column_report report;
  kaon_relax_report r;
  (void)state;
  assert_true(
      relax_case_open(&c, MACHINE_CPU, 2, row_case_random(900, 6, 1, 1, 8), KAON_DOUBLE, 1));
  f.share = 0.3;
  f.begin = 20;
  f.kind = KAON_FAULT_BLOCK;
  o.block = 30;
  o.faults = &f;
  relax_case_solve(&c, KAON_ASYNC, &o, 1e-12, 2000, &report, &r);
  assert_int_equal(report.reason, KAON_CONVERGED);
  assert_int_equal(r.frozen_at, 20);
  assert_true(r.restored_by_monitor && r.restored_at > 20);
  printf("frozen at 20, given back at %d, %d iterations\n", r.restored_at, report.iterations);
  relax_case_close(&c);
}

/* Many flips in a few iterations, some of them of an exponent: alarms, and x is put back. */
static void flipped_bits_are_found_and_undone(void **state) {
  int steps[2];
  (void)state;
  for (int repair = 0; repair < 2; repair++) {
    relax_case c;
    kaon_relax_options o = KAON_RELAX_OPTIONS_INIT;
    kaon_fault_options f = KAON_FAULT_OPTIONS_INIT;
    kaon_column_report report;
    kaon_relax_report r;
    assert_true(
        relax_case_open(&c, MACHINE_CPU, 2, row_case_random(900, 6, 1, 1, 8), KAON_DOUBLE, 1));
    f.flip_rate = 0.05;
    f.flip_begin = 15;
    f.flip_end = 18;
    f.repair = repair;
    o.block = 30;
    o.faults = &f;
    relax_case_solve(&c, KAON_ASYNC, &o, 1e-10, 3000, &report, &r);
    printf("repair %d: %lld flips, %d alarms from %d on, %d copies put back, %d iterations, %s\n",
           repair, (long long)r.flips, r.alarms, r.first_alarm, r.rollbacks, report.iterations,
           kaon_stop_reason_name(report.reason));
    steps[repair] = report.iterations;
    assert_true(r.flips >= 3 * 45 && r.alarms > 0 && r.first_alarm >= 16 && r.first_alarm <= 18);
    assert_int_equal(r.rollbacks > 0, repair);
    if (repair) assert_int_equal(report.reason, KAON_CONVERGED);
    if (report.reason == KAON_CONVERGED)
      test_below("true residual", relax_case_residual(&c, 0), 1.1e-10);
    relax_case_close(&c);
  }
  printf("%d iterations without repair, %d with it\n", steps[0], steps[1]);
}

/* The same seed, the same faults: rows and bits do not depend on threads. */
static void faults_repeat_by_their_seed(void **state) {
  ref_complex *first = NULL;
  (void)state;
  for (int threads = 1; threads < 3; threads++) {
    relax_case c;
    kaon_relax_options o = KAON_RELAX_OPTIONS_INIT;
    kaon_fault_options f = KAON_FAULT_OPTIONS_INIT;
    kaon_column_report report;
    kaon_relax_report r;
    assert_true(
        relax_case_open(&c, MACHINE_CPU, threads, row_case_laplace(20, 20, 1), KAON_DOUBLE, 1));
    f.share = 0.4;
    f.recovery = 12;
    f.flip_rate = 1e-3;
    f.flip_end = 30;
    o.block = 50;
    o.faults = &f;
    relax_case_solve(&c, KAON_TWO_STAGE, &o, 1e-8, 400, &report, &r);
    if (first == NULL) {
      first = malloc(c.rows.rows * sizeof *first);
      for (size_t i = 0; i < c.rows.rows; i++) first[i] = c.x[i];
    }
    assert_memory_equal(first, c.x, c.rows.rows * sizeof *first);
    relax_case_close(&c);
  }
  free(first);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(no_faulted_solve_ends_silently_wrong),
      cmocka_unit_test(rows_that_come_back_cost_iterations_alone),
      cmocka_unit_test(the_monitor_gives_frozen_rows_back),
      cmocka_unit_test(flipped_bits_are_found_and_undone),
      cmocka_unit_test(faults_repeat_by_their_seed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
