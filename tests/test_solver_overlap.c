/* test_solver_overlap.c - which operations lie between the start and the end of a sum over ranks.
 * They are counted, not timed, with a communicator that plays two ranks, one of them empty.
 * Delayed sums change no bit. Pipelined methods converge like the methods they are derived from. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/core/context_internal.h"
#include "solvers/engine/method.h"
#include "tests/util/dirac_case.h"
#include "tests/util/failing_apply.h"
#include "tests/util/machine.h"
#include "tests/util/methods.h"
#include "tests/util/shell_operator.h"
#include "tests/util/test_util.h"

static const int extents[4] = {2, 2, 2, 4};
static const chain hermitian_chain = {.mass = 0.05, .phase = 0.7},
                   wind_chain = {.mass = 0.2, .wind = 0.1, .phase = 0.7};

static const chain *chain_of(int method) {
  return method_has(method, KAON_METHOD_HERMITIAN) ? &hermitian_chain : &wind_chain;
}

/* ---- two ranks, played ---- */

static struct {
  const kaon_operator *A, *K; /* K: the preconditioner, or NULL */
  int applications_at_start;  /* applications when the last sum was started */
  int sums, hidden, exposed;  /* with work in between, and without */
  int applications;           /* between the two halves, all together */
} seen;

static int applications(void) {
  return shell_applications(seen.A) + (seen.K != NULL ? shell_applications(seen.K) : 0);
}

static kaon_status count_start(kaon_comm *comm, double *values, int n) {
  (void)comm, (void)values;
  assert_true(n > 0);
  assert_int_equal(seen.sums, seen.hidden + seen.exposed); /* one at a time */
  seen.sums++;
  seen.applications_at_start = applications();
  return KAON_OK;
}

static kaon_status count_finish(kaon_comm *comm) {
  const int between = applications() - seen.applications_at_start;
  (void)comm;
  seen.applications += between;
  if (between > 0)
    seen.hidden++;
  else
    seen.exposed++;
  return KAON_OK;
}

/* Sums of so many steps from zero, in `seen`. */
static void count_steps(int method, int steps, int preconditioned) {
  static const spectrum one = {1, 1, 1};
  shell_case c;
  kaon_solver *s = NULL;
  kaon_operator *inverse = NULL;
  shell_open(&c, extents, 1);
  kaon_operator *A = shell_operator(&c, KAON_DOUBLE, map_chain, chain_of(method));
  kaon_vector *b = shell_random_vector(&c, KAON_DOUBLE, 2, 3),
              *x = shell_vector(&c, KAON_DOUBLE, 2);
  kaon_solver_options o = KAON_SOLVER_OPTIONS_INIT;
  o.method = (kaon_method)method;
  o.tol = 0;
  o.max_iterations = steps;
  kaon_operator *K = preconditioned ? shell_operator(&c, KAON_DOUBLE, map_diagonal, &one) : NULL;
  o.preconditioner = K;
  must(c.ctx, kaon_solver_create(A, 2, &o, &s));
  must(c.ctx, kaon_solver_as_operator(s, &inverse));
  kaon_comm_ops ops = *c.ctx->comm->ops;
  const kaon_comm_ops *own = c.ctx->comm->ops;
  ops.sum_start = count_start;
  ops.sum_finish = count_finish;
  ops.gather = shell_gather;
  memset(&seen, 0, sizeof seen);
  seen.A = A;
  seen.K = K;
  c.ctx->comm->ops = &ops;
  c.ctx->comm->ranks = 2;
  must(c.ctx, kaon_operator_apply(inverse, KAON_PLAIN, b, x));
  c.ctx->comm->ops = own;
  c.ctx->comm->ranks = 1;
  kaon_operator_destroy(&inverse);
  kaon_solver_destroy(&s);
  kaon_operator_destroy(&A);
  kaon_operator_destroy(&K);
  kaon_vector_destroy(&b);
  kaon_vector_destroy(&x);
  shell_close(&c);
}

/* Applications in a step while sums are under way. */
static int applications_behind_sums(int method, int preconditioned) {
  static const struct {
    kaon_method method;
    int without, with;
  } hidden[] = {{KAON_PIPECG, 1, 2}, {KAON_PIPECGNR, 1, 0},  {KAON_PIPEBICGSTAB, 2, 4},
                {KAON_BICG, 1, 2},   {KAON_RBICGSTAB, 0, 2}, {KAON_GROPPCG, 1, 2}};
  for (size_t i = 0; i < sizeof hidden / sizeof *hidden; i++)
    if ((int)hidden[i].method == method) return preconditioned ? hidden[i].with : hidden[i].without;
  return 0;
}

/* For a step of each method: exposed sums, hidden sums, and applications that hide them. */
static void sums_are_hidden_behind_operators(void **state) {
  (void)state;
  for (int m = 0; m < METHODS; m = next_krylov(m))
    for (int with = 0; with <= method_has(m, KAON_METHOD_PRECONDITIONED); with++) {
      const kaon_method_info info = method_info(m);
      const kaon_method_cost *cost = with ? &info.with : &info.cost;
      int before[3];
      count_steps(m, 5, with);
      before[0] = seen.exposed, before[1] = seen.hidden, before[2] = seen.applications;
      count_steps(m, 12, with);
      printf("  %-12s %s a step: %d sums exposed, %d hidden behind %d applications\n", info.name,
             with ? "with K" : "      ", (seen.exposed - before[0]) / 7,
             (seen.hidden - before[1]) / 7, (seen.applications - before[2]) / 7);
      assert_int_equal(seen.exposed - before[0], 7 * cost->sums);
      assert_int_equal(seen.hidden - before[1], 7 * cost->hidden_sums);
      assert_int_equal(seen.applications - before[2], 7 * applications_behind_sums(m, with));
    }
}

/* ---- sums that take their time ---- */

enum { ROOM = 2048, SOLVED = 2 };

typedef struct {
  size_t n;
  shell_complex *x[SOLVED];
  kaon_column_report report[SOLVED];
  double history[SOLVED][ROOM];
  int count[SOLVED];
} outcome;

static outcome *solve(int method, shell_map *map, const void *user, kaon_precision sloppy,
                      double delay) {
  shell_case c;
  kaon_solver *s = NULL;
  outcome *out = calloc(1, sizeof *out);
  shell_open(&c, extents, 1);
  out->n = c.n;
  if (delay > 0) must(c.ctx, kaon_comm_delay(c.ctx->comm, delay));
  kaon_operator *A = shell_operator(&c, KAON_DOUBLE, map, user);
  kaon_vector *b = shell_random_vector(&c, KAON_DOUBLE, SOLVED, 3),
              *x = shell_vector(&c, KAON_DOUBLE, SOLVED);
  kaon_solver_options o = KAON_SOLVER_OPTIONS_INIT;
  o.method = (kaon_method)method;
  o.sloppy = sloppy;
  o.tol = 1e-9;
  must(c.ctx, kaon_solver_create(A, SOLVED, &o, &s));
  must(c.ctx, kaon_solver_solve(s, b, x, out->report, NULL));
  for (int k = 0; k < SOLVED; k++) {
    out->x[k] = calloc(c.n, sizeof **out->x);
    out->count[k] = ROOM;
    shell_export(&c, x, k, out->x[k]);
    must(c.ctx, kaon_solver_history(s, k, out->history[k], &out->count[k]));
    assert_true(out->count[k] <= ROOM);
  }
  kaon_solver_destroy(&s);
  kaon_operator_destroy(&A);
  kaon_vector_destroy(&b);
  kaon_vector_destroy(&x);
  shell_close(&c);
  return out;
}

static void release(outcome *out) {
  for (int k = 0; k < SOLVED; k++) free(out->x[k]);
  free(out);
}

static void a_delay_changes_no_bit(void **state) {
  (void)state;
  for (int m = 0; m < METHODS; m = next_krylov(m))
    for (int p = KAON_DOUBLE; p <= KAON_SINGLE; p++) {
      outcome *at_once = solve(m, map_chain, chain_of(m), (kaon_precision)p, 0),
              *later = solve(m, map_chain, chain_of(m), (kaon_precision)p, 2e-6);
      printf("  %-12s double/%-6s %d steps\n", method_name(m), precision_names[p],
             later->report[0].iterations);
      for (int k = 0; k < SOLVED; k++) {
        assert_int_equal(at_once->report[k].iterations, later->report[k].iterations);
        assert_int_equal(at_once->report[k].updates, later->report[k].updates);
        assert_int_equal(at_once->count[k], later->count[k]);
        assert_memory_equal(at_once->history[k], later->history[k],
                            (size_t)later->count[k] * sizeof(double));
        assert_memory_equal(at_once->x[k], later->x[k], later->n * sizeof(shell_complex));
      }
      release(at_once);
      release(later);
    }
}

/* The option reaches the communicator, and a sum takes at least the given delay. */
static void a_delayed_sum_takes_its_time(void **state) {
  (void)state;
  kaon_context_options options = KAON_CONTEXT_OPTIONS_INIT;
  kaon_lab_options lab = KAON_LAB_OPTIONS_INIT;
  kaon_context *ctx = NULL;
  double value = 3;
  options.lab = &lab;
  lab.reduce_delay = 2e-3;
  must(NULL, machine_open(MACHINE_CPU, options, &ctx));
  assert_true(kaon_comm_sums(ctx->comm));
  const double begin = test_now();
  must(ctx, ctx->comm->ops->sum_start(ctx->comm, &value, 1));
  must(ctx, ctx->comm->ops->sum_finish(ctx->comm));
  const double took = test_now() - begin;
  printf("  2 ms asked for, %.3f ms taken\n", 1e3 * took);
  assert_true(took >= 2e-3 && value == 3);
  kaon_context_destroy(&ctx);
  lab.reduce_delay = -1;
  assert_int_equal(machine_open(MACHINE_CPU, options, &ctx), KAON_ERR_ARGUMENT);
}

/* ---- sums of services ---- */

/* Exposed sums of a solve of one column, and hidden ones apart from its steps', one each. Some
 * delay makes recurrences follow their sums as on several ranks. */
static void count_services(int method, double delta, int *updates, int sums[2]) {
  shell_case c;
  kaon_solver *s = NULL;
  kaon_column_report column;
  kaon_solve_report report = KAON_SOLVE_REPORT_INIT;
  shell_open(&c, extents, 1);
  must(c.ctx, kaon_comm_delay(c.ctx->comm, 1e-9));
  kaon_operator *A = shell_operator(&c, KAON_DOUBLE, map_chain, chain_of(method));
  kaon_vector *b = shell_random_vector(&c, KAON_DOUBLE, 1, 3),
              *x = shell_vector(&c, KAON_DOUBLE, 1);
  kaon_solver_options o = KAON_SOLVER_OPTIONS_INIT;
  o.method = (kaon_method)method;
  o.sloppy = KAON_SINGLE;
  o.stop = KAON_STOP_NORMAL;
  o.delta = delta;
  o.tol = 1e-10;
  must(c.ctx, kaon_solver_create(A, 1, &o, &s));
  must(c.ctx, kaon_solver_solve(s, b, x, &column, &report));
  assert_int_equal(column.reason, KAON_CONVERGED);
  *updates = column.updates;
  sums[0] = (int)(report.traffic.sums - report.traffic.hidden);
  sums[1] = (int)report.traffic.hidden - column.iterations;
  kaon_solver_destroy(&s);
  kaon_operator_destroy(&A);
  kaon_vector_destroy(&b);
  kaon_vector_destroy(&x);
  shell_close(&c);
}

/* A replaced residual: |b - A x|, |A^dag (b - A x)|, and |r| with (p, r) wait; the three sums of
 * the recomputed vectors go as one message after A^dag. */
static void a_replacement_hides_its_last_sums(void **state) {
  (void)state;
  enum { EXPOSED = 3, HIDDEN = 1 };
  int few, many, of_few[2], of_many[2];
  count_services(KAON_PIPECGNR, 1e-2, &few, of_few);
  count_services(KAON_PIPECGNR, 0.3, &many, of_many);
  printf("  pipecgnr: %d and %d replacements: %d and %d sums wait, %d and %d are hidden\n", few,
         many, of_few[0], of_many[0], of_few[1], of_many[1]);
  assert_true(many > few);
  assert_int_equal(of_many[0] - of_few[0], EXPOSED * (many - few));
  assert_int_equal(of_many[1] - of_few[1], HIDDEN * (many - few));
}

/* Sums that were collected for a message when the operator failed do not disturb the next solve. */
static void fail_steps(kaon_method method) {
  shell_case c;
  kaon_solver *s = NULL;
  kaon_column_report column;
  shell_open(&c, extents, 1);
  must(c.ctx, kaon_comm_delay(c.ctx->comm, 1e-9));
  kaon_operator *A = shell_operator(&c, KAON_DOUBLE, map_chain, chain_of(method));
  kaon_vector *b = shell_random_vector(&c, KAON_DOUBLE, 1, 3),
              *x = shell_vector(&c, KAON_DOUBLE, 1);
  kaon_solver_options o = KAON_SOLVER_OPTIONS_INIT;
  o.method = method;
  o.sloppy = KAON_SINGLE;
  o.tol = 1e-9;
  must(c.ctx, kaon_solver_create(A, 1, &o, &s));
  const kaon_operator_ops *own = s->inner->ops;
  kaon_operator_ops failing = *own;
  true_apply = own->apply;
  failing.apply = failing_apply;
  for (int calls = 3; calls < 11; calls++) {
    s->inner->ops = &failing;
    calls_left = calls;
    must(c.ctx, kaon_vector_zero(x));
    must_refuse(c.ctx, KAON_ERR_STATE, kaon_solver_solve(s, b, x, &column, NULL));
    s->inner->ops = own;
    must(c.ctx, kaon_vector_zero(x));
    must(c.ctx, kaon_solver_solve(s, b, x, &column, NULL));
    assert_int_equal(column.reason, KAON_CONVERGED);
  }
  kaon_solver_destroy(&s);
  kaon_operator_destroy(&A);
  kaon_vector_destroy(&b);
  kaon_vector_destroy(&x);
  shell_close(&c);
}

static void a_failed_step_leaves_nothing_behind(void **state) {
  (void)state;
  fail_steps(KAON_PIPECGNR);
  fail_steps(KAON_CHRONGEAR);
}

/* ---- the way of CG ---- */

/* Eight distinct eigenvalues of condition 10: in so few steps rounding grows by at most the square
 * of the condition a step (for the normal equations that of N, squared once more), and pipecgnr's
 * recurrence for |r|^2 errs by eps a step. In squares, as |r|^2 is one. */
static void pipelined_cg_follows_cg(void **state) {
  (void)state;
  static const spectrum eight = {8, 1, 10};
  static const struct {
    kaon_method plain, pipelined;
    double bound;
  } pairs[] = {{KAON_CG, KAON_PIPECG, 8 * 1e2 * DBL_EPSILON},
               {KAON_CGNR, KAON_PIPECGNR, 8 * 1e4 * DBL_EPSILON}};
  for (int i = 0; i < 2; i++) {
    outcome *plain = solve(pairs[i].plain, map_diagonal, &eight, KAON_DOUBLE, 0),
            *pipelined = solve(pairs[i].pipelined, map_diagonal, &eight, KAON_DOUBLE, 0);
    double worst = 0;
    assert_int_equal(plain->report[0].iterations, pipelined->report[0].iterations);
    for (int n = 0; n < plain->count[0]; n++) {
      const double a = plain->history[0][n], b = pipelined->history[0][n];
      worst = larger(worst, fabs(a * a - b * b));
    }
    char text[80];
    snprintf(text, sizeof text, "%s: squared residuals of %d steps beside %s's",
             method_name((int)pairs[i].pipelined), plain->report[0].iterations,
             method_name((int)pairs[i].plain));
    test_below(text, worst, pairs[i].bound);
    release(plain);
    release(pipelined);
  }
}

/* Drift costs at most a few per cent of the steps if condition (84, for the normal equations 441)
 * and precision leave room. */
static void replacements_keep_the_count_of_steps(void **state) {
  (void)state;
  static const kaon_method pairs[][2] = {
      {KAON_CG, KAON_PIPECG}, {KAON_CGNR, KAON_PIPECGNR}, {KAON_BICGSTAB, KAON_PIPEBICGSTAB}};
  for (int i = 0; i < 3; i++)
    for (int p = KAON_DOUBLE; p <= KAON_SINGLE; p++) {
      const int m = pairs[i][0];
      outcome *plain = solve(m, map_chain, chain_of(m), (kaon_precision)p, 0),
              *pipelined = solve(pairs[i][1], map_chain, chain_of(m), (kaon_precision)p, 0);
      char text[80];
      snprintf(text, sizeof text, "%s double/%s: %d steps over %d of %s",
               method_name((int)pairs[i][1]), precision_names[p], pipelined->report[0].iterations,
               plain->report[0].iterations, method_name(m));
      assert_int_equal(pipelined->report[0].reason, KAON_CONVERGED);
      test_below(text, pipelined->report[0].iterations / (double)plain->report[0].iterations, 1.1);
      release(plain);
      release(pipelined);
    }
}

int main(void) {
  shell_machine = MACHINE_CPU; /* ranks are played */
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sums_are_hidden_behind_operators),
      cmocka_unit_test(a_delay_changes_no_bit),
      cmocka_unit_test(a_delayed_sum_takes_its_time),
      cmocka_unit_test(a_replacement_hides_its_last_sums),
      cmocka_unit_test(a_failed_step_leaves_nothing_behind),
      cmocka_unit_test(pipelined_cg_follows_cg),
      cmocka_unit_test(replacements_keep_the_count_of_steps),
  };
  return test_main(tests, NULL, NULL);
}
