/* test_relax.c - relaxation against a reference that updates one row after another. After a few
 * sweeps x is the same on all machines, in double and single, real and complex, for one column and
 * three. Sweep counts on the matrices of the data folder agree with independent ones (b = 1, x =
 * 0, 2-norm of the residual relative to b). Asynchronous iteration has the properties that hold in
 * any order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/operator/shifts.h"
#include "sparse/order/orderings.h"
#include "tests/util/precond_case.h"
#include "tests/util/relax_case.h"

/* ---- the same x as the reference ---- */

typedef struct trial {
  const char *name;
  kaon_method method;
  double omega, tau;
  int block, sweeps;
  int together; /* asynchronous */
  int renew;    /* what the reference does */
  int by_colour;
} trial;

enum { ALL = 1 << 20 };
static const trial trials[] = {
    {"jacobi", KAON_JACOBI, 1, 1, 1, 1, 0, 0, 0},
    {"jacobi, damped", KAON_JACOBI, 1, 0.7, 1, 1, 0, 0, 0},
    {"gauss-seidel", KAON_GS, 1, 1, 1, 1, 0, 0, 0},
    {"sor", KAON_SOR, 0.9, 1, 1, 1, 0, 0, 0},
    {"sor", KAON_SOR, 1.05, 1, 1, 1, 0, 0, 0},
    {"gauss-seidel by colours", KAON_GS, 1, 1, 1, 1, 0, 0, 1},
    {"sor by colours", KAON_SOR, 0.9, 1, 1, 1, 0, 0, 1},
    {"sor by colours", KAON_SOR, 1.05, 1, 1, 1, 0, 0, 1},
    {"two-stage", KAON_TWO_STAGE, 1, 1, 33, 4, 0, 0, 0},
    {"two-stage, damped", KAON_TWO_STAGE, 0.8, 0.9, 64, 3, 0, 0, 0},
    {"two-stage, one block", KAON_TWO_STAGE, 1, 1, 1024, 2, 0, 0, 0},
    {"async, all at once", KAON_ASYNC, 1, 0.9, 33, 3, ALL, 0, 0},
    {"async, one by one", KAON_ASYNC, 1, 1, 33, 3, 0, 1, 0},
    {"async, blocks of a row", KAON_ASYNC, 1, 1, 1, 1, 0, 1, 0},
};
enum { TRIALS = sizeof trials / sizeof *trials, SWEEPS = 7 };

/* The rows by their greedy colours, which test_orderings.c checks. NULL: in their own order. */
static size_t *order_of(const trial *t, const kaon_csr *csr) {
  const size_t n = (size_t)csr->rows;
  int colours = 0;
  if (!t->by_colour) return NULL;
  int32_t *colour = malloc(n * sizeof *colour);
  size_t *order = malloc(n * sizeof *order), at = 0;
  precond_ok(NULL, kaon_colour(NULL, csr, 1, colour, &colours));
  for (int c = 0; c < colours; c++)
    for (size_t i = 0; i < n; i++)
      if (colour[i] == c) order[at++] = i;
  free(colour);
  return order;
}

static void sweep(const trial *t, const ref_rows *rows, const size_t *order, const ref_complex *b,
                  ref_complex *x) {
  switch (t->method) {
    case KAON_JACOBI:
      ref_relax_jacobi(rows, t->tau, b, x);
      break;
    case KAON_GS:
    case KAON_SOR:
      ref_relax_sor(rows, t->omega, order, b, x);
      break;
    default:
      ref_relax_blocks(rows, (size_t)t->block, t->sweeps, t->omega * t->tau, t->renew, b, x);
  }
}

static kaon_relax_options options_of(const trial *t) {
  kaon_relax_options o = KAON_RELAX_OPTIONS_INIT;
  o.omega = t->omega;
  o.tau = t->tau;
  o.block = t->block;
  o.local_sweeps = t->sweeps;
  o.together = t->together;
  o.by_colour = t->by_colour;
  return o;
}

/* Rows are diagonally dominant by 10 %, so no sweep with a factor up to 1.05 makes an error in the
 * largest component grow by more than 0.6 %: n sweeps of k updates add up to less than 1.1 n k
 * times that of an update, whose sums have longest + 8 terms of at most 2.1 max |x| each. */
static double bound_of(const relax_case *c, const trial *t, kaon_precision precision) {
  double largest = 0, longest = 0;
  for (size_t i = 0; i < c->rows.rows * (size_t)c->columns; i++)
    largest = larger(largest, cabs(c->x[i]));
  for (size_t i = 0; i < c->rows.rows; i++)
    longest = larger(longest, (double)(c->rows.start[i + 1] - c->rows.start[i]));
  const double eps = precision == KAON_DOUBLE ? 0x1p-53 : 0x1p-24;
  return 1.1 * SWEEPS * t->sweeps * (longest + 8) * 2 * 2.1 * c->csr->reals * largest * eps;
}

static void check_trial(relax_case *c, const trial *t, kaon_precision precision) {
  const kaon_relax_options o = options_of(t);
  kaon_column_report report[3];
  char what[96];
  double worst = 0;
  const size_t n = c->rows.rows;
  relax_case_solve(c, t->method, &o, 0, SWEEPS, report, NULL);
  ref_complex *x = calloc(n, sizeof *x);
  size_t *order = order_of(t, c->csr);
  for (int k = 0; k < c->columns; k++) {
    memset(x, 0, n * sizeof *x);
    for (int i = 0; i < SWEEPS; i++) sweep(t, &c->rows, order, c->b + (size_t)k * n, x);
    for (size_t i = 0; i < n; i++) worst = larger(worst, cabs(x[i] - c->x[(size_t)k * n + i]));
    assert_int_equal(report[k].iterations, SWEEPS);
  }
  free(x);
  free(order);
  snprintf(what, sizeof what, "%s, %s, %s, %d columns", t->name,
           precision == KAON_DOUBLE ? "double" : "single", c->csr->reals == 2 ? "complex" : "real",
           c->columns);
  test_below(what, worst, bound_of(c, t, precision));
}

static void sweeps_are_the_reference_s(void **state) {
  (void)state;
  for (int machine = KAON_ISA_SCALAR; machine <= MACHINE_LAST; machine++) {
    if (machine_lacks(machine)) continue;
    printf("%s\n", machine_name(machine));
    for (int kind = 0; kind < 8; kind++) {
      const kaon_precision precision = kind & 1 ? KAON_SINGLE : KAON_DOUBLE;
      const int reals = kind & 2 ? 2 : 1, columns = kind & 4 ? 3 : 1;
      relax_case c;
      if (test_brief() && (kind ^ kind >> 1 ^ kind >> 2) & 1) continue; /* one number of columns */
      kaon_csr *csr = row_case_random(test_brief() ? 70 : 201, 6, reals, 0, 11);
      if (!relax_case_open(&c, machine, 1, csr, precision, columns)) break;
      for (int i = 0; i < TRIALS; i++) {
        const int ordered = trials[i].method == KAON_ASYNC;
        if (machine != MACHINE_CUDA || !ordered) check_trial(&c, &trials[i], precision);
      }
      relax_case_close(&c);
    }
  }
}

/* A row's bits do not depend on how many threads share a level's rows. */
static void gauss_seidel_has_the_bits_of_one_thread(void **state) {
  ref_complex *one = NULL;
  (void)state;
  for (int threads = 1; threads <= 4; threads += 3) {
    relax_case c;
    assert_true(
        relax_case_open(&c, MACHINE_CPU, threads, row_case_laplace(40, 40, 1), KAON_DOUBLE, 1));
    kaon_column_report report;
    const size_t n = c.rows.rows;
    relax_case_solve(&c, KAON_GS, NULL, 0, 20, &report, NULL);
    if (one == NULL) {
      one = malloc(n * sizeof *one);
      memcpy(one, c.x, n * sizeof *one);
    }
    assert_memory_equal(one, c.x, n * sizeof *one);
    relax_case_close(&c);
  }
  free(one);
}

/* A sweep by colours is a sweep in another order: even points of a grid, then odd ones. */
static void check_two_colours(int machine) {
  relax_case c;
  kaon_relax_options o = KAON_RELAX_OPTIONS_INIT;
  kaon_relax_report relaxation = KAON_RELAX_REPORT_INIT;
  kaon_column_report report;
  if (!relax_case_open(&c, machine, 2, row_case_laplace(24, 18, 1), KAON_DOUBLE, 1)) return;
  const size_t n = c.rows.rows;
  size_t *order = malloc(n * sizeof *order), at = 0;
  for (int parity = 0; parity < 2; parity++)
    for (size_t i = 0; i < n; i++)
      if ((i % 24 + i / 24) % 2 == (size_t)parity) order[at++] = i;
  o.by_colour = 1;
  relax_case_solve(&c, KAON_GS, &o, 0, 10, &report, &relaxation);
  ref_complex *x = calloc(n, sizeof *x);
  for (int i = 0; i < 10; i++) ref_relax_sor(&c.rows, 1, order, c.b, x);
  double worst = 0, largest = 0;
  for (size_t i = 0; i < n; i++) {
    worst = larger(worst, cabs(x[i] - c.x[i]));
    largest = larger(largest, cabs(x[i]));
  }
  assert_int_equal(relaxation.colours, 2);
  assert_int_equal(relaxation.levels, 2);
  test_below("gauss-seidel by two colours", worst, 10 * 13 * 4 * largest * 0x1p-53);
  free(x);
  free(order);
  relax_case_close(&c);
}

static void colours_are_an_order(void **state) {
  (void)state;
  for (int machine = MACHINE_CPU; machine <= MACHINE_CUDA; machine += MACHINE_CUDA - MACHINE_CPU)
    if (!machine_lacks(machine)) check_two_colours(machine);
}

/* ---- counts that others have worked out ---- */

typedef struct count {
  const char *matrix;
  kaon_method method;
  int block, sweeps;
  int steps[3]; /* to 1e-4, 1e-8, 1e-12 */
} count;

static const count counts[] = {
    {"fv1", KAON_JACOBI, 1, 1, {58, 116, 175}},
    {"fv1", KAON_GS, 1, 1, {31, 63, 94}},
    {"fv1", KAON_TWO_STAGE, 448, 5, {19, 37, 55}},
    {"Chem97ZtZ", KAON_JACOBI, 1, 1, {32, 70, 110}},
    {"Chem97ZtZ", KAON_GS, 1, 1, {16, 35, 55}},
    {"Chem97ZtZ", KAON_TWO_STAGE, 448, 5, {32, 70, 110}},
    {"Trefethen_2000", KAON_JACOBI, 1, 1, {45, 106, 167}},
    {"Trefethen_2000", KAON_GS, 1, 1, {3, 10, 18}},
    {"Trefethen_2000", KAON_TWO_STAGE, 128, 5, {9, 22, 34}},
};
/* Block Gauss-Seidel: one thread takes the blocks as they stand. */
static const count in_order = {"fv1", KAON_ASYNC, 448, 5, {13, 26, 38}};

/* First iteration whose residual is at most 10^-4, 10^-8, 10^-12. */
static void check_count(const count *t, int machine) {
  char path[64];
  relax_case c;
  kaon_relax_options o = KAON_RELAX_OPTIONS_INIT;
  int length = 0;
  snprintf(path, sizeof path, "sparse/%s.mtx", t->matrix);
  kaon_csr *csr = row_case_file(path);
  if (csr == NULL) skip();
  if (!relax_case_open(&c, machine, 1, csr, KAON_DOUBLE, 1)) return;
  o.block = t->block;
  o.local_sweeps = t->sweeps;
  double *history = relax_case_history(&c, t->method, &o, 1e-12, 500, &length, NULL);
  for (int i = 0; i < 3; i++) {
    const double goal = pow(10, -4 * (i + 1));
    int first = 0;
    while (first < length && history[first] > goal) first++;
    printf("%s, method %d, block %d: %d sweeps to %.0e (%d)\n", t->matrix, (int)t->method, t->block,
           first, goal, t->steps[i]);
    assert_int_equal(first, t->steps[i]);
  }
  test_below("true residual", relax_case_residual(&c, 0), 1.1e-12);
  free(history);
  relax_case_close(&c);
}

static void counts_are_the_known_ones(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
    for (int machine = MACHINE_CPU; machine <= MACHINE_CUDA; machine += MACHINE_CUDA - MACHINE_CPU)
      if (!machine_lacks(machine)) check_count(&counts[i], machine);
  if (!machine_lacks(MACHINE_CPU)) check_count(&in_order, MACHINE_CPU);
}

/* "max. res." in table 3 of Anzt et al. is the synchronous method (blocks of 128, 6 sweeps); fv1
 * likewise (112, 6). The figures have four digits. */
static void check_residuals(const char *name, int block, const int *at, const double *expected,
                            int points, double digits) {
  char path[64], what[96];
  relax_case c;
  kaon_relax_options o = KAON_RELAX_OPTIONS_INIT;
  int length = 0;
  snprintf(path, sizeof path, "sparse/%s.mtx", name);
  kaon_csr *csr = row_case_file(path);
  if (csr == NULL) skip();
  assert_true(relax_case_open(&c, MACHINE_CPU, 2, csr, KAON_DOUBLE, 1));
  o.block = block;
  o.local_sweeps = 6;
  double *history = relax_case_history(&c, KAON_TWO_STAGE, &o, 0, at[points - 1], &length, NULL);
  for (int i = 0; i < points; i++) {
    snprintf(what, sizeof what, "%s after %d iterations", name, at[i]);
    test_close(what, history[at[i]], expected[i], digits * expected[i]);
  }
  free(history);
  relax_case_close(&c);
}

static void synchronous_residuals_are_the_known_ones(void **state) {
  const int of_trefethen[] = {5, 10}, of_fv1[] = {10, 30};
  (void)state;
  check_residuals("Trefethen_2000", 128, of_trefethen, (const double[]){8.1520e-04, 8.6825e-06}, 2,
                  1e-5);
  check_residuals("fv1", 112, of_fv1, (const double[]){7.820e-02, 5.119e-04}, 2, 1e-4);
}

/* ---- asynchronous iteration ---- */

static void note(const char *what, const kaon_column_report *report, const kaon_relax_report *r) {
  printf(
      "%s: %d iterations, residual %.2e; %lld of blocks (%d to %d), shifts %d to %d, %.1f %% of "
      "the reads not synchronous\n",
      what, report->iterations, report->residual, (long long)r->updates, r->least, r->most,
      r->newest, r->oldest, 100 * r->asynchronous);
}

/* Blocks start in a random order, fifteen of sixteen before one of them writes. One thread runs
 * them, so the values that a block reads follow from the seed and not from thread timing. On a
 * device fifteen thread blocks run, and the first to end takes the sixteenth block of rows.
 * Trefethen_2000, blocks of 128, 6 sweeps: the paper's means at 5, 10, 20 and 30 iterations,
 * within 10 %. A synchronous run has these means as well, so runs must also differ from each
 * other, and blocks must have read values of other iterations than the previous one. */
enum { BAND_RUNS = 12, BAND_POINTS = 4 };
static const int band_at[BAND_POINTS] = {5, 10, 20, 30};

/* Lows, highs and sums of all runs' residuals at these iterations. 0: skipped. */
static int vary_orders(int machine, double low[], double high[], double sum[]) {
  relax_case c;
  kaon_csr *csr = row_case_file("sparse/Trefethen_2000.mtx");
  if (csr == NULL || !relax_case_open(&c, machine, 1, csr, KAON_DOUBLE, 1)) return 0;
  for (int run = 0; run < BAND_RUNS; run++) {
    kaon_relax_options o = KAON_RELAX_OPTIONS_INIT;
    kaon_relax_report relaxation = KAON_RELAX_REPORT_INIT;
    int length = 0;
    o.block = 128;
    o.local_sweeps = 6;
    o.together = 15; /* of 16 */
    o.seed = (uint64_t)run + 1;
    double *h =
        relax_case_history(&c, KAON_ASYNC, &o, 0, band_at[BAND_POINTS - 1], &length, &relaxation);
    for (int i = 0; i < BAND_POINTS; i++) {
      const double r = h[band_at[i]];
      sum[i] += r;
      low[i] = run == 0 || r < low[i] ? r : low[i];
      high[i] = run == 0 || r > high[i] ? r : high[i];
    }
    free(h);
    assert_true(relaxation.asynchronous > 0);
    assert_true(relaxation.newest < 0);
    assert_int_equal(relaxation.updates, 16 * band_at[BAND_POINTS - 1]);
  }
  relax_case_close(&c);
  return 1;
}

static void orders_vary_within_the_paper_s_bands(void **state) {
  static const double mean[BAND_POINTS] = {8.0190e-04, 8.4330e-06, 9.3022e-10, 1.0260e-13};
  (void)state;
  for (int machine = MACHINE_CPU; machine <= MACHINE_CUDA; machine += MACHINE_CUDA - MACHINE_CPU) {
    double sum[BAND_POINTS] = {0}, low[BAND_POINTS], high[BAND_POINTS];
    if (machine_lacks(machine)) continue;
    if (!vary_orders(machine, low, high, sum)) skip();
    for (int i = 0; i < BAND_POINTS; i++) {
      char what[64];
      snprintf(what, sizeof what, "mean after %d iterations", band_at[i]);
      test_close(what, sum[i] / BAND_RUNS, mean[i], 0.1 * mean[i]);
      printf("  from %.4e to %.4e\n", low[i], high[i]);
      assert_true(high[i] > low[i]);
    }
  }
}

/* Without barriers: threads proceed at their own pace, more of them than the machine has. They see
 * older and newer values than a synchronous method would, within the bound. The answer is verified
 * by one residual of one x. Returns the fraction of reads that were not synchronous. */
static double check_free(const char *name, int block, int lag, int most, int machine) {
  char path[64];
  relax_case c;
  kaon_relax_options o = KAON_RELAX_OPTIONS_INIT;
  kaon_relax_report relaxation = KAON_RELAX_REPORT_INIT;
  kaon_column_report report;
  snprintf(path, sizeof path, "sparse/%s.mtx", name);
  kaon_csr *csr = row_case_file(path);
  if (csr == NULL) skip();
  if (!relax_case_open(&c, machine, 4, csr, KAON_DOUBLE, 1)) return 0;
  o.block = block;
  o.driver = KAON_RELAX_FREE;
  o.lag = lag;
  relax_case_solve(&c, KAON_ASYNC, &o, 1e-12, 5000, &report, &relaxation);
  note(name, &report, &relaxation);
  assert_int_equal(report.reason, KAON_CONVERGED);
  assert_in_range(report.iterations, 1, most);
  test_below("true residual", relax_case_residual(&c, 0), 1.1e-12);
  assert_true(relaxation.oldest <= lag);
  assert_true(relaxation.newest >= -lag - 1);
  relax_case_close(&c);
  return relaxation.asynchronous;
}

static void free_blocks_converge_within_their_lag(void **state) {
  static const struct {
    const char *name;
    int block, lag, most; /* iterations: with blocks of 448 paper A's bar, else no bound but 5000 */
  } run[] = {{"fv1", 448, 1, 70},
             {"fv1", 448, 2, 70},
             {"fv1", 112, 2, 5000},
             {"Trefethen_2000", 128, 0, 5000},
             {"Chem97ZtZ", 64, 3, 5000}};
  (void)state;
  for (int machine = MACHINE_CPU; machine <= MACHINE_CUDA; machine += MACHINE_CUDA - MACHINE_CPU) {
    double asynchronous = 0;
    if (machine_lacks(machine)) continue;
    for (size_t i = 0; i < sizeof run / sizeof *run; i++)
      asynchronous += check_free(run[i].name, run[i].block, run[i].lag, run[i].most, machine);
    /* Blocks of fv1 read two others each and may stay in step. Those of Trefethen_2000 read all:
     * four threads are never in step with sixteen. */
    assert_true(asynchronous > 0);
  }
}

/* A run that takes another number of iterations than the synchronous method has read other values,
 * so the recorded shifts must say so, at the start of blocks or after they have read. Block 5 of
 * Chem97ZtZ, to which all others are coupled, reads for so long that others proceed meanwhile.
 * Where shifts are 0 at both times, the history is the synchronous one. */
static void check_shifts(const char *name, int threads, int machine, kaon_relax_driver driver) {
  relax_case c;
  kaon_csr *csr = row_case_file(name);
  kaon_relax_options o = KAON_RELAX_OPTIONS_INIT;
  kaon_column_report report, synchronous;
  kaon_relax_report r = KAON_RELAX_REPORT_INIT;
  int64_t before = 0, after = 0;
  if (csr == NULL) skip();
  if (!relax_case_open(&c, machine, threads, csr, KAON_DOUBLE, 1)) return;
  relax_case_solve(&c, KAON_TWO_STAGE, &o, 1e-12, 5000, &synchronous, NULL);
  o.driver = driver;
  relax_case_solve(&c, KAON_ASYNC, &o, 1e-12, 5000, &report, &r);
  note(name, &report, &r);
  printf("  synchronous %d iterations; shifts from %d when blocks have read, %.1f %% not 0\n",
         synchronous.iterations, r.newest_after, 100 * r.asynchronous_after);
  for (int i = 0; i < 2 * KAON_RELAX_SHIFTS + 1; i++) {
    before += r.shifts[i];
    after += r.shifts_after[i];
  }
  assert_int_equal(report.reason, KAON_CONVERGED);
  assert_true(before > 0);
  assert_true(after > 0 && after <= before); /* a block that is ended before it reads notes one */
  if (driver == KAON_RELAX_LAUNCH) assert_int_equal(before, after);
  if (before == after) assert_true(r.newest_after <= r.newest);
  if (threads == 1) assert_true(r.newest_after == r.newest && r.newest < 0);
  if (driver == KAON_RELAX_LAUNCH && report.iterations < synchronous.iterations)
    assert_true(r.newest_after < 0);
  relax_case_close(&c);
}

static void shifts_tell_what_was_read(void **state) {
  (void)state;
  for (int machine = MACHINE_CPU; machine <= MACHINE_CUDA; machine += MACHINE_CUDA - MACHINE_CPU)
    for (int i = 0; i < 6; i++) {
      static const char *const names[] = {"sparse/Chem97ZtZ.mtx", "sparse/fv1.mtx",
                                          "sparse/Trefethen_2000.mtx"};
      const int threads = machine == MACHINE_CPU ? 1 + i % 2 : 2;
      if (machine_lacks(machine)) continue;
      check_shifts(names[i / 2], threads, machine,
                   machine == MACHINE_CUDA && i % 2 ? KAON_RELAX_FREE : KAON_RELAX_LAUNCH);
    }
}

/* Three columns with the kernels of the device and of the CPU, also in mixed precision. */
static void columns_and_precisions_converge(void **state) {
  static const kaon_method methods[] = {KAON_JACOBI, KAON_GS, KAON_SOR, KAON_TWO_STAGE, KAON_ASYNC};
  (void)state;
  for (int machine = MACHINE_CPU; machine <= MACHINE_CUDA; machine += MACHINE_CUDA - MACHINE_CPU) {
    if (machine_lacks(machine)) continue;
    for (int kind = 0; kind < 12; kind++) {
      relax_case c;
      kaon_column_report report[3];
      kaon_relax_options o = KAON_RELAX_OPTIONS_INIT;
      const kaon_method method = kind < 5 ? methods[kind] : KAON_ASYNC;
      kaon_csr *csr = row_case_random(700, 6, 1 + kind % 2, 0, 5);
      const kaon_precision precision = kind > 7 ? KAON_SINGLE : KAON_DOUBLE;
      o.block = 64;
      o.driver = kind >= 5 ? KAON_RELAX_FREE : KAON_RELAX_LAUNCH;
      if (!relax_case_open(&c, machine, 2, csr, precision, 3)) break;
      const double tol = precision == KAON_DOUBLE ? 1e-10 : 1e-5;
      relax_case_solve(&c, method, &o, tol, 3000, report, NULL);
      for (int k = 0; k < 3; k++) {
        assert_int_equal(report[k].reason, KAON_CONVERGED);
        test_below("true residual", relax_case_residual(&c, k), 1.1 * tol);
      }
      relax_case_close(&c);
    }
  }
}

/* Double outside, single inside. */
static void corrections_in_single_reach_double(void **state) {
  static const kaon_method methods[] = {KAON_JACOBI, KAON_GS, KAON_TWO_STAGE, KAON_ASYNC};
  (void)state;
  for (int machine = MACHINE_CPU; machine <= MACHINE_CUDA; machine += MACHINE_CUDA - MACHINE_CPU) {
    if (machine_lacks(machine)) continue;
    for (int i = 0; i < 8; i++) {
      relax_case c;
      kaon_solver_options o = KAON_SOLVER_OPTIONS_INIT;
      kaon_relax_options relax = KAON_RELAX_OPTIONS_INIT;
      kaon_solver *solver = NULL;
      kaon_column_report report;
      if (!relax_case_open(&c, machine, 2, row_case_random(700, 6, 1, 0, 6), KAON_DOUBLE, 1)) break;
      o.method = methods[i % 4];
      o.sloppy = KAON_SINGLE;
      o.tol = 1e-11;
      relax.block = 50;
      if (i == 7) relax.driver = KAON_RELAX_FREE;
      o.relax = &relax;
      precond_ok(c.ctx, kaon_vector_zero(c.solution));
      precond_ok(c.ctx, kaon_solver_create(c.A, 1, &o, &solver));
      precond_ok(c.ctx, kaon_solver_solve(solver, c.right, c.solution, &report, NULL));
      precond_export(c.solution, 0, (int64_t)c.rows.rows, c.x);
      assert_int_equal(report.reason, KAON_CONVERGED);
      assert_true(report.updates > 1);
      test_below("true residual, single inside", relax_case_residual(&c, 0), 1.1e-11);
      kaon_solver_destroy(&solver);
      relax_case_close(&c);
    }
  }
}

static double compare_operator(relax_case *c, kaon_operator *K, const trial *t) {
  const size_t n = c->rows.rows;
  ref_complex *x = calloc(n, sizeof *x);
  size_t *order = order_of(t, c->csr);
  double worst = 0;
  precond_ok(c->ctx, kaon_operator_apply(K, KAON_PLAIN, c->right, c->solution));
  for (int k = 0; k < c->columns; k++) {
    ref_complex *got = c->x + (size_t)k * n;
    precond_export(c->solution, k, (int64_t)n, got);
    memset(x, 0, n * sizeof *x);
    for (int m = 0; m < SWEEPS; m++) sweep(t, &c->rows, order, c->b + (size_t)k * n, x);
    for (size_t j = 0; j < n; j++) worst = larger(worst, cabs(x[j] - got[j]));
  }
  free(x);
  free(order);
  return worst;
}

static void check_operator(relax_case *c, const trial *t) {
  kaon_solver_options o = KAON_SOLVER_OPTIONS_INIT;
  const kaon_relax_options relax = options_of(t);
  const kaon_precision precision = c->right->precision;
  kaon_solver *solver = NULL;
  kaon_operator *K = NULL;
  o.method = t->method;
  o.sloppy = precision;
  o.tol = 0;
  o.max_iterations = SWEEPS;
  o.relax = &relax;
  precond_ok(c->ctx, kaon_solver_create(c->A, c->columns, &o, &solver));
  precond_ok(c->ctx, kaon_solver_as_operator(solver, &K));
  for (int again = 0; again < 2; again++) { /* nothing is left from the first time */
    const double worst = compare_operator(c, K, t);
    test_below(t->name, worst, bound_of(c, t, precision));
  }
  kaon_operator_destroy(&K);
  kaon_solver_destroy(&solver);
}

/* A solver of n fixed steps as an operator is n sweeps from 0, without any check of residuals. */
static void an_operator_is_sweeps_from_zero(void **state) {
  (void)state;
  for (int machine = MACHINE_CPU; machine <= MACHINE_CUDA; machine += MACHINE_CUDA - MACHINE_CPU) {
    if (machine_lacks(machine)) continue;
    for (int kind = 0; kind < 2; kind++) {
      relax_case c;
      const kaon_precision precision = kind ? KAON_SINGLE : KAON_DOUBLE;
      if (!relax_case_open(&c, machine, 1, row_case_random(201, 6, 2, 0, 3), precision, 2)) break;
      for (int i = 0; i < TRIALS; i++) /* a device's blocks begin in an order of their own */
        if (machine != MACHINE_CUDA || trials[i].method != KAON_ASYNC)
          check_operator(&c, &trials[i]);
      relax_case_close(&c);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sweeps_are_the_reference_s),
      cmocka_unit_test(gauss_seidel_has_the_bits_of_one_thread),
      cmocka_unit_test(colours_are_an_order),
      cmocka_unit_test(counts_are_the_known_ones),
      cmocka_unit_test(synchronous_residuals_are_the_known_ones),
      cmocka_unit_test(orders_vary_within_the_paper_s_bands),
      cmocka_unit_test(free_blocks_converge_within_their_lag),
      cmocka_unit_test(shifts_tell_what_was_read),
      cmocka_unit_test(columns_and_precisions_converge),
      cmocka_unit_test(corrections_in_single_reach_double),
      cmocka_unit_test(an_operator_is_sweeps_from_zero),
  };
  /* blocks that wait for each other take minutes under checking tools; two-stage ones use the same
   * kernel */
  const struct CMUnitTest few[] = {
      cmocka_unit_test(sweeps_are_the_reference_s),
  };
  if (test_brief()) return test_main(few, NULL, NULL);
  return test_main(tests, NULL, NULL);
}
