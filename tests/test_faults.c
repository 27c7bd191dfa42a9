/* test_faults.c - relaxation with injected faults: rows that are not updated for a while or for
 * good, and bits that flip unnoticed. A solve that reports convergence has converged, by a
 * residual computed on the host; one that has not says so.
 *
 * KAON_TEST_FAULTED_SOLVES sets the number of random solves a machine. Default: 10000 on a CPU
 * (about half a minute), 400 under slow tools, 60 on a device. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/util/precond_case.h"
#include "tests/util/relax_case.h"

/* The CPU as it is, then the device: its drivers are the same two. */
static const int machines[] = {MACHINE_CPU, MACHINE_CUDA};
enum { MACHINES = sizeof machines / sizeof *machines };

/* Roundings of a correct x are below this part of the tolerances used here. A bound derived from x
 * itself would accept any x with huge numbers. */
static const double ROUNDING = 0.5;

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
  double worst; /* true residual of converged solves, less rounding, over the tolerance */
} tally;

/* truth: |b - A x| / |b| computed on the host; the reported one differs by at most `rounding`. */
static void check_honest(const kaon_column_report *report, double truth, double rounding,
                         double tol, tally *t) {
  t->reasons[report->reason]++;
  if (report->reason == KAON_CONVERGED) {
    assert_true(isfinite(truth) && rounding <= ROUNDING * tol); /* as of an x that is right */
    if ((truth - rounding) / tol > t->worst) t->worst = (truth - rounding) / tol;
    assert_true(truth <= 1.1 * tol + rounding);
  } else if (isfinite(truth) && isfinite(report->residual)) {
    assert_true(fabs(report->residual - truth) <= 1e-6 * truth + 1e-14 + rounding);
    assert_true(truth + rounding > tol);
  }
  assert_true(report->reason != KAON_RUNNING && report->reason != KAON_CANCELLED);
}

/* One solve, and that it does not lie. */
static void check_one(relax_case *c, uint64_t *state, tally *t) {
  const kaon_fault_options faults = random_faults(state);
  kaon_relax_options o = KAON_RELAX_OPTIONS_INIT;
  kaon_lab_relax_options lab = KAON_LAB_RELAX_OPTIONS_INIT;
  kaon_relax_report r = KAON_RELAX_REPORT_INIT;
  kaon_column_report report[2];
  const kaon_precision precision = c->right->precision;
  const double tol = precision == KAON_DOUBLE ? 1e-8 : 1e-4;
  o.block = 8 + below(state, 60);
  o.local_sweeps = 1 + below(state, 6);
  o.together = below(state, 5);
  o.seed = next(state);
  lab.faults = &faults;
  o.lab = &lab;
  const kaon_method method = below(state, 3) == 0 ? KAON_TWO_STAGE : KAON_ASYNC;
  if (method == KAON_ASYNC && below(state, 3) == 0) o.driver = KAON_RELAX_FREE;
  relax_case_solve(c, method, &o, tol, 400, report, &r);
  t->frozen += r.frozen;
  t->flips += r.flips;
  t->alarms += r.alarms;
  t->rollbacks += r.rollbacks;
  t->restored += r.restored_by_monitor;
  for (int k = 0; k < c->columns; k++)
    check_honest(&report[k], relax_case_residual(c, k), relax_case_rounding(c, k), tol, t);
}

enum { SYSTEMS = 5 };

/* 0: the machine has no such kernels. */
static int open_systems(relax_case *c, int machine) {
  kaon_csr *csr[SYSTEMS] = {row_case_laplace(11, 12, 1), row_case_random(150, 5, 1, 1, 3),
                            row_case_random(120, 5, 2, 0, 4), row_case_random(150, 5, 1, 1, 3),
                            row_case_random(120, 5, 2, 0, 4)};
  int opened = 1;
  memset(c, 0, SYSTEMS * sizeof *c);
  for (int i = 0; i < SYSTEMS; i++)
    opened &= relax_case_open(&c[i], machine, 1 + i % 2, csr[i], i < 3 ? KAON_DOUBLE : KAON_SINGLE,
                              1 + i % 2);
  for (int i = 0; i < SYSTEMS && !opened; i++)
    if (c[i].ctx != NULL) relax_case_close(&c[i]);
  return opened;
}

static void make_solves(int machine, int solves) {
  uint64_t random = 2012;
  tally t = {.worst = 0};
  relax_case c[SYSTEMS];
  if (!open_systems(c, machine)) return;
  for (int i = 0; i < solves; i++) check_one(&c[i % SYSTEMS], &random, &t);
  for (int i = 0; i < SYSTEMS; i++) relax_case_close(&c[i]);
  printf(
      "%s, %d solves: %d columns converged, %d out of steps, %d stagnated, %d broke down, %d "
      "diverged\n",
      machine_name(machine), solves, t.reasons[KAON_CONVERGED], t.reasons[KAON_MAX_ITERATIONS],
      t.reasons[KAON_STAGNATED], t.reasons[KAON_BREAKDOWN], t.reasons[KAON_DIVERGING]);
  printf(
      "lost: %lld rows frozen, %lld bits flipped; found: %d alarms; repaired: %d copies put "
      "back, frozen rows given back by the monitor %d times\n",
      (long long)t.frozen, (long long)t.flips, t.alarms, t.rollbacks, t.restored);
  test_below("true residual of those that converged, over the tolerance", t.worst, 1.1);
  if (solves < 40) return;                             /* too few to say */
  assert_true(t.reasons[KAON_CONVERGED] > solves / 4); /* and it is worth while */
  assert_true(t.rollbacks > 0);
  assert_true(t.restored > 0 || solves < 200); /* one solve in ten, or in twenty */
}

static void no_faulted_solve_ends_silently_wrong(void **state) {
  const char *asked = getenv("KAON_TEST_FAULTED_SOLVES");
  (void)state;
  for (int m = 0; m < MACHINES; m++) {
    const int usual = machines[m] == MACHINE_CUDA ? 60 : TEST_SLOWED || test_brief() ? 400 : 10000;
    if (!machine_lacks(machines[m])) make_solves(machines[m], asked != NULL ? atoi(asked) : usual);
  }
}

/* Figure 10 and table 6 of Anzt et al. (asynchronous iteration): a quarter of the rows stops at
 * iteration 10. If they resume after 10, 20 or 30 iterations, the same residual is reached, the
 * later the longer; otherwise it is not. */
typedef struct recovery_run {
  kaon_column_report report;
  kaon_relax_report relaxation;
} recovery_run;

/* recovery < 0: no fault. */
static recovery_run run_recovery(relax_case *c, int block, int recovery) {
  kaon_relax_options o = KAON_RELAX_OPTIONS_INIT;
  kaon_lab_relax_options lab = KAON_LAB_RELAX_OPTIONS_INIT;
  kaon_fault_options f = KAON_FAULT_OPTIONS_INIT;
  recovery_run run;
  f.share = 0.25;
  f.repair = 0;
  f.recovery = recovery;
  o.block = block;
  o.local_sweeps = 6;
  if (recovery >= 0) lab.faults = &f;
  o.lab = &lab;
  run.relaxation = (kaon_relax_report)KAON_RELAX_REPORT_INIT;
  relax_case_solve(c, KAON_TWO_STAGE, &o, 1e-12, 300, &run.report, &run.relaxation);
  return run;
}

static void check_frozen(const relax_case *c, const kaon_relax_report *r, int recovery) {
  assert_int_equal(r->frozen, (int64_t)(0.25 * (double)c->rows.rows + 0.5));
  assert_int_equal(r->frozen_at, 10);
  assert_int_equal(r->restored_at, recovery > 0 ? 10 + recovery : -1);
  assert_true(r->alarms > 0 && r->first_alarm > 10); /* it is seen from residuals alone */
}

static void check_recovery(const char *name, int block, int machine) {
  static const int recovery[] = {-1, 10, 20, 30, 0};
  char path[64];
  relax_case c;
  int steps[5] = {0};
  snprintf(path, sizeof path, "sparse/%s.mtx", name);
  kaon_csr *csr = row_case_file(path);
  if (csr == NULL) skip();
  if (!relax_case_open(&c, machine, 2, csr, KAON_DOUBLE, 1)) return;
  for (int i = 0; i < 5; i++) {
    const recovery_run run = run_recovery(&c, block, recovery[i]);
    const kaon_relax_report *r = &run.relaxation;
    const double truth = relax_case_residual(&c, 0);
    steps[i] = run.report.iterations;
    printf(
        "%s, %s: %d iterations, %.1f %% more, residual %.2e, %s; %lld rows frozen at %d, back at "
        "%d; %d alarms, the first at %d\n",
        machine_name(machine), name, steps[i], 100.0 * (steps[i] - steps[0]) / steps[0], truth,
        kaon_stop_reason_name(run.report.reason), (long long)r->frozen, r->frozen_at,
        r->restored_at, r->alarms, r->first_alarm);
    if (recovery[i] != 0) {
      assert_int_equal(run.report.reason, KAON_CONVERGED);
      test_below("true residual", truth, 1.1e-12);
      assert_true(i == 0 || steps[i] > steps[i - 1]);
    } else {
      assert_true(run.report.reason == KAON_MAX_ITERATIONS || run.report.reason == KAON_STAGNATED);
      assert_true(truth > 1e-8);
    }
    if (i > 0) check_frozen(&c, r, recovery[i]);
  }
  relax_case_close(&c);
}

static void rows_that_come_back_cost_iterations_alone(void **state) {
  (void)state;
  for (int m = 0; m < MACHINES; m++) {
    if (machine_lacks(machines[m])) continue;
    check_recovery("fv1", 112, machines[m]);
    check_recovery("Trefethen_2000", 128, machines[m]);
  }
}

/* What is looked at without barriers and with them, in both precisions. */
typedef struct way {
  const char *name;
  kaon_precision precision;
  kaon_relax_driver driver;
} way;
static const way ways[] = {{"double, launch", KAON_DOUBLE, KAON_RELAX_LAUNCH},
                           {"double, free", KAON_DOUBLE, KAON_RELAX_FREE},
                           {"single, launch", KAON_SINGLE, KAON_RELAX_LAUNCH},
                           {"single, free", KAON_SINGLE, KAON_RELAX_FREE}};
enum { WAYS = sizeof ways / sizeof *ways };

static void check_truth(const relax_case *c, const way *w, double tol) {
  const double rounding = relax_case_rounding(c, 0);
  assert_true(rounding <= ROUNDING * tol);
  test_below(w->name, relax_case_residual(c, 0), 1.1 * tol + rounding);
}

/* In single the residual reaches its floor after some twenty iterations, so rows are lost early. */
static void check_monitor(int machine, const way *w, int begin) {
  const int early = w->precision == KAON_SINGLE;
  const double tol = early ? 1e-5 : 1e-12;
  relax_case c;
  kaon_relax_options o = KAON_RELAX_OPTIONS_INIT;
  kaon_lab_relax_options lab = KAON_LAB_RELAX_OPTIONS_INIT;
  kaon_fault_options f = KAON_FAULT_OPTIONS_INIT;
  kaon_column_report report;
  kaon_relax_report r = KAON_RELAX_REPORT_INIT;
  if (!relax_case_open(&c, machine, 2, row_case_random(900, 6, 1, 1, 8), w->precision, 1)) return;
  f.share = 0.3;
  f.begin = begin;
  f.kind = KAON_FAULT_BLOCK;
  o.block = 30;
  o.local_sweeps = early ? 2 : 5;
  o.driver = w->driver;
  lab.faults = &f;
  o.lab = &lab;
  relax_case_solve(&c, KAON_ASYNC, &o, tol, 2000, &report, &r);
  printf("%s, %s: frozen at %d, given back at %d, %d iterations\n", machine_name(machine), w->name,
         r.frozen_at, r.restored_at, report.iterations);
  assert_int_equal(report.reason, KAON_CONVERGED);
  assert_int_equal(r.frozen_at, f.begin);
  assert_true(r.restored_by_monitor && r.restored_at > f.begin);
  check_truth(&c, w, tol);
  relax_case_close(&c);
}

/* The fault is not announced; the monitor detects that the residual no longer falls. */
static void the_monitor_gives_frozen_rows_back(void **state) {
  (void)state;
  for (int m = 0; m < MACHINES; m++)
    for (int i = 0; i < WAYS && !machine_lacks(machines[m]); i++)
      check_monitor(machines[m], &ways[i], ways[i].precision == KAON_SINGLE ? 11 : 20);
}

/* The same while it learns how the residual falls, and before it knows anything. */
static void rows_lost_early_are_given_back(void **state) {
  static const int begins[] = {3, 6, 8, 9};
  (void)state;
  for (int m = 0; m < MACHINES; m++)
    for (int i = 0; i < WAYS && !machine_lacks(machines[m]); i++)
      for (int k = 0; k < (int)(sizeof begins / sizeof *begins); k++)
        check_monitor(machines[m], &ways[i], begins[k]);
}

static void check_flips(int machine, const way *w, int repair) {
  const double tol = w->precision == KAON_DOUBLE ? 1e-10 : 1e-5;
  relax_case c;
  kaon_relax_options o = KAON_RELAX_OPTIONS_INIT;
  kaon_lab_relax_options lab = KAON_LAB_RELAX_OPTIONS_INIT;
  kaon_fault_options f = KAON_FAULT_OPTIONS_INIT;
  kaon_column_report report;
  kaon_relax_report r = KAON_RELAX_REPORT_INIT;
  if (!relax_case_open(&c, machine, 2, row_case_random(900, 6, 1, 1, 8), w->precision, 1)) return;
  f.flip_rate = 0.05;
  f.flip_begin = w->precision == KAON_DOUBLE ? 15 : 7;
  f.flip_end = f.flip_begin + 3;
  f.repair = repair;
  o.block = 30;
  o.driver = w->driver;
  lab.faults = &f;
  o.lab = &lab;
  relax_case_solve(&c, KAON_ASYNC, &o, tol, 3000, &report, &r);
  printf(
      "%s, %s, repair %d: %lld flips, %d alarms from %d on, %d copies put back, %d iterations, "
      "%s\n",
      machine_name(machine), w->name, repair, (long long)r.flips, r.alarms, r.first_alarm,
      r.rollbacks, report.iterations, kaon_stop_reason_name(report.reason));
  /* of all three iterations, unless a NaN ends the solve after one */
  const int cut = report.reason == KAON_BREAKDOWN || report.reason == KAON_DIVERGING;
  assert_true(r.flips >= (cut ? 1 : 3) * 45);
  assert_true(r.alarms > 0 && r.first_alarm > f.flip_begin && r.first_alarm <= f.flip_end);
  assert_int_equal(r.rollbacks > 0, repair);
  if (repair) assert_int_equal(report.reason, KAON_CONVERGED);
  if (report.reason == KAON_CONVERGED) check_truth(&c, w, tol);
  relax_case_close(&c);
}

/* Many flips in a few iterations, some in an exponent: alarms are raised and x is restored. */
static void flipped_bits_are_found_and_undone(void **state) {
  (void)state;
  for (int m = 0; m < MACHINES; m++)
    for (int i = 0; i < 2 * WAYS && !machine_lacks(machines[m]); i++)
      check_flips(machines[m], &ways[i / 2], i % 2);
}

/* The same seed gives the same faults: rows and bits depend neither on threads nor on time. */
static void check_repeat(int machine, kaon_precision precision) {
  ref_complex *first = NULL;
  for (int threads = 1; threads < 3; threads++) {
    relax_case c;
    kaon_relax_options o = KAON_RELAX_OPTIONS_INIT;
    kaon_lab_relax_options lab = KAON_LAB_RELAX_OPTIONS_INIT;
    kaon_fault_options f = KAON_FAULT_OPTIONS_INIT;
    kaon_column_report report;
    kaon_relax_report r = KAON_RELAX_REPORT_INIT;
    if (!relax_case_open(&c, machine, threads, row_case_laplace(20, 20, 1), precision, 1)) return;
    f.share = 0.4;
    f.recovery = 12;
    f.flip_rate = 1e-3;
    f.flip_end = 30;
    o.block = 50;
    lab.faults = &f;
    o.lab = &lab;
    relax_case_solve(&c, KAON_TWO_STAGE, &o, precision == KAON_DOUBLE ? 1e-8 : 1e-4, 400, &report,
                     &r);
    assert_true(r.frozen > 0 && r.flips > 0);
    if (first == NULL) {
      first = malloc(c.rows.rows * sizeof *first);
      for (size_t i = 0; i < c.rows.rows; i++) first[i] = c.x[i];
    }
    assert_memory_equal(first, c.x, c.rows.rows * sizeof *first);
    relax_case_close(&c);
  }
  free(first);
}

static void faults_repeat_by_their_seed(void **state) {
  (void)state;
  for (int m = 0; m < MACHINES; m++) {
    if (machine_lacks(machines[m])) continue;
    check_repeat(machines[m], KAON_DOUBLE);
    check_repeat(machines[m], KAON_SINGLE);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(no_faulted_solve_ends_silently_wrong),
      cmocka_unit_test(rows_that_come_back_cost_iterations_alone),
      cmocka_unit_test(the_monitor_gives_frozen_rows_back),
      cmocka_unit_test(rows_lost_early_are_given_back),
      cmocka_unit_test(flipped_bits_are_found_and_undone),
      cmocka_unit_test(faults_repeat_by_their_seed),
  };
  return test_main(tests, NULL, NULL);
}
