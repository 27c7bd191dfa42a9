/* test_sync.c - how the host waits, and delayed sums, change nothing but time. A matrix is solved
 * by every way of issuing, with polling and with sleeping, with and without delayed sums, on every
 * machine present. Solutions are equal to the bit, delayed sums take at least their delay, and
 * reports say how steps were issued and how many sums were hidden. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include <kaon/kaon.h>
#include <kaon/lab.h>
#include <kaon/precond.h>

#include "tests/util/dirac_case.h"
#include "tests/util/machine.h"
#include "tests/util/test_util.h"

enum { N = 12, ROWS = N * N * N };

typedef struct {
  kaon_context *ctx;
  kaon_matrix *matrix;
  kaon_operator *A, *K;
  kaon_vector *b, *x;
} world;

typedef struct {
  double x[ROWS];
  kaon_column_report column;
  kaon_solve_report whole;
} outcome;

/* 0: this machine does not have it. */
static int open_world(world *w, int machine, kaon_context_options options) {
  static double ones[ROWS];
  memset(w, 0, sizeof *w);
  options.threads = 1;
  const kaon_status status = machine_open(machine, options, &w->ctx);
  if (status == KAON_ERR_UNSUPPORTED) {
    printf("%s: skipped: %s\n", machine_name(machine), kaon_last_error(NULL));
    return 0;
  }
  must(NULL, status);
  must(w->ctx, kaon_matrix_generate(w->ctx, "laplace3d:12", NULL, &w->matrix, NULL));
  must(w->ctx, kaon_matrix_operator(w->matrix, NULL, &w->A));
  must(w->ctx, kaon_precond_jacobi(w->A, &w->K));
  const kaon_space *space = kaon_matrix_space(w->matrix);
  must(w->ctx, kaon_vector_create(w->ctx, space, KAON_DOUBLE, 1, &w->b));
  must(w->ctx, kaon_vector_create(w->ctx, space, KAON_DOUBLE, 1, &w->x));
  for (int i = 0; i < ROWS; i++) ones[i] = 1 + 0.125 * (i % 5);
  must(w->ctx, kaon_vector_import(w->b, 0, ones, KAON_BASIS_UKQCD));
  return 1;
}

static void close_world(world *w) {
  kaon_vector_destroy(&w->b);
  kaon_vector_destroy(&w->x);
  kaon_operator_destroy(&w->K);
  kaon_operator_destroy(&w->A);
  kaon_matrix_destroy(&w->matrix);
  kaon_context_destroy(&w->ctx);
}

/* Twice by one solver: a device records what it repeats. */
static void solve(world *w, kaon_method method, outcome *o) {
  kaon_solver_options options = KAON_SOLVER_OPTIONS_INIT;
  kaon_solver *solver = NULL;
  options.method = method;
  options.preconditioner = w->K;
  must(w->ctx, kaon_solver_create(w->A, 1, &options, &solver));
  for (int i = 0; i < 2; i++) {
    must(w->ctx, kaon_vector_zero(w->x));
    o->whole = (kaon_solve_report)KAON_SOLVE_REPORT_INIT;
    must(w->ctx, kaon_solver_solve(solver, w->b, w->x, &o->column, &o->whole));
  }
  must(w->ctx, kaon_vector_export(w->x, 0, o->x, KAON_BASIS_UKQCD));
  kaon_solver_destroy(&solver);
  assert_int_equal(o->column.reason, KAON_CONVERGED);
}

/* ---- waiting ---- */

static void polled_and_slept_for(int machine, kaon_issue issue) {
  static outcome polled, other;
  kaon_context_options options = KAON_CONTEXT_OPTIONS_INIT;
  kaon_lab_options lab = KAON_LAB_OPTIONS_INIT;
  world w;
  options.lab = &lab;
  lab.issue = issue;
  options.sync = KAON_SYNC_POLLING;
  if (!open_world(&w, machine, options)) return;
  solve(&w, KAON_CG, &polled);
  printf("%s: asked for issue %d, was %d; %d steps\n", machine_name(machine), (int)issue,
         (int)polled.whole.issue, polled.column.iterations);
  assert_int_not_equal(polled.whole.issue, KAON_ISSUE_AUTO);
  const int unfused = issue == KAON_ISSUE_SEPARATE || issue == KAON_ISSUE_LIBRARY;
  if (unfused || issue == KAON_ISSUE_PLAIN) assert_int_equal(polled.whole.issue, issue);
  if (!unfused && machine != MACHINE_CUDA) assert_int_equal(polled.whole.issue, KAON_ISSUE_PLAIN);
  for (int sync = KAON_SYNC_AUTO; sync <= KAON_SYNC_BLOCKING; sync++) {
    must(w.ctx, kaon_context_set_sync(w.ctx, (kaon_sync)sync));
    solve(&w, KAON_CG, &other);
    assert_memory_equal(polled.x, other.x, sizeof other.x);
    assert_int_equal(polled.column.iterations, other.column.iterations);
    assert_int_equal(polled.whole.issue, other.whole.issue);
  }
  must_refuse(w.ctx, KAON_ERR_ARGUMENT, kaon_context_set_sync(w.ctx, (kaon_sync)3));
  close_world(&w);
}

static void waiting_changes_no_bit(void **state) {
  static const kaon_issue ways[] = {KAON_ISSUE_AUTO,   KAON_ISSUE_PLAIN, KAON_ISSUE_REPLAY,
                                    KAON_ISSUE_WHILE,  KAON_ISSUE_TAIL,  KAON_ISSUE_SEPARATE,
                                    KAON_ISSUE_LIBRARY};
  (void)state;
  for (int machine = KAON_ISA_AUTO + 1; machine <= MACHINE_LAST; machine++)
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
      if (!machine_lacks(machine)) polled_and_slept_for(machine, ways[i]);
}

static void options_are_read(void **state) {
  (void)state;
  kaon_context_options options = KAON_CONTEXT_OPTIONS_INIT;
  kaon_context *ctx = NULL;
  must(NULL, kaon_options_parse(KAON_OPTIONS_CONTEXT, &options, "sync=blocking"));
  assert_int_equal(options.sync, KAON_SYNC_BLOCKING);
  must_refuse(NULL, KAON_ERR_ARGUMENT,
              kaon_options_parse(KAON_OPTIONS_CONTEXT, &options, "sync=often"));
  options.sync = (kaon_sync)7;
  must_refuse(NULL, KAON_ERR_ARGUMENT, kaon_context_create(&options, &ctx));
  must_refuse(NULL, KAON_ERR_ARGUMENT, kaon_context_set_sync(NULL, KAON_SYNC_AUTO));
}

/* ---- sums that take their time ---- */

/* (exposed, hidden) sums a step with a preconditioner: bench/notes/design-step-costs.md. */
static const struct {
  kaon_method method;
  int exposed, hidden;
} methods[] = {{KAON_CG, 2, 0},          {KAON_GROPPCG, 0, 2},  {KAON_PIPECG, 0, 1},
               {KAON_CHRONGEAR, 1, 0},   {KAON_BICGSTAB, 4, 0}, {KAON_RBICGSTAB, 0, 2},
               {KAON_PIPEBICGSTAB, 0, 2}};

static void delayed(int machine, double seconds) {
  static outcome free_of, late;
  kaon_context_options options = KAON_CONTEXT_OPTIONS_INIT;
  kaon_lab_options lab = KAON_LAB_OPTIONS_INIT;
  world plain, slow;
  assert_true(open_world(&plain, machine, options));
  options.lab = &lab;
  lab.reduce_delay = seconds;
  assert_true(open_world(&slow, machine, options));
  for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
    solve(&plain, methods[i].method, &free_of);
    solve(&slow, methods[i].method, &late);
    const kaon_traffic *t = &late.whole.traffic;
    const int steps = late.column.iterations;
    printf("%s, method %d, %g s: %d steps, %lld sums, %lld hidden, %g s\n", machine_name(machine),
           (int)methods[i].method, seconds, steps, (long long)t->sums, (long long)t->hidden,
           late.whole.seconds);
    assert_int_equal(steps, free_of.column.iterations);
    assert_memory_equal(free_of.x, late.x, sizeof late.x);
    /* a solve has a few sums besides its steps': at its beginning, replacements and end; a device,
     * whose gates the host does not see, issues those of a new process and of a continuing one */
    const int few = 8 * (2 + late.column.updates);
    const int exposed = (int)(t->sums - t->hidden);
    assert_true(abs((int)t->hidden - methods[i].hidden * steps) <= few);
    assert_true(abs(exposed - methods[i].exposed * steps) <= few);
    /* each sum takes so long at least, one after another */
    assert_true(late.whole.seconds >= seconds * (methods[i].exposed + methods[i].hidden) * steps);
  }
  close_world(&slow);
  close_world(&plain);
}

static void delays_change_no_bit(void **state) {
  (void)state;
  for (int machine = KAON_ISA_AUTO + 1; machine <= MACHINE_LAST; machine++)
    if (!machine_lacks(machine)) delayed(machine, 20e-6);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(waiting_changes_no_bit),
      cmocka_unit_test(options_are_read),
      cmocka_unit_test(delays_change_no_bit),
  };
  return test_main(tests, NULL, NULL);
}
