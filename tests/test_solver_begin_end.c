/* test_solver_begin_end.c - how solves begin and end: zero, bad and guessed input, every reason to
 * stop, the monitor, histories, fixed numbers of steps, solvers inside solvers, refusals. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/math/steps/recurrences.h"
#include "solvers/engine/method.h"
#include "tests/util/dirac_case.h"
#include "tests/util/machine.h"
#include "tests/util/methods.h"
#include "tests/util/shell_operator.h"
#include "tests/util/test_util.h"

static const int extents[4] = {2, 2, 2, 4};
static const chain hermitian_chain = {.mass = 0.05, .phase = 0.7},
                   wind_chain = {.mass = 0.2, .wind = 0.1, .phase = 0.7};

typedef struct {
  shell_case c;
  kaon_operator *A;
  kaon_vector *b, *x;
  kaon_solver_options o;
  kaon_column_report r[3];
  kaon_solve_report total;
} setting;

static const chain *chain_of(int method) {
  return method_has(method, KAON_METHOD_HERMITIAN) ? &hermitian_chain : &wind_chain;
}

static void open_setting(setting *t, int method, int columns, double tol, kaon_precision sloppy) {
  memset(t, 0, sizeof *t);
  shell_open(&t->c, extents, 1);
  t->A = shell_operator(&t->c, KAON_DOUBLE, map_chain, chain_of(method));
  t->b = shell_random_vector(&t->c, KAON_DOUBLE, columns, 3);
  t->x = shell_vector(&t->c, KAON_DOUBLE, columns);
  t->o = (kaon_solver_options)KAON_SOLVER_OPTIONS_INIT;
  t->o.method = (kaon_method)method;
  t->o.tol = tol;
  t->o.sloppy = sloppy;
}

static void close_setting(setting *t) {
  kaon_vector_destroy(&t->b);
  kaon_vector_destroy(&t->x);
  kaon_operator_destroy(&t->A);
  shell_close(&t->c);
}

static kaon_status try_solve(setting *t) {
  kaon_solver *s = NULL;
  must(t->c.ctx, kaon_solver_create(t->A, kaon_vector_columns(t->b), &t->o, &s));
  t->total = (kaon_solve_report)KAON_SOLVE_REPORT_INIT;
  const kaon_status status = kaon_solver_solve(s, t->b, t->x, t->r, &t->total);
  kaon_solver_destroy(&s);
  return status;
}

static void solve(setting *t) {
  must(t->c.ctx, try_solve(t));
}

static void zero_source_has_the_solution_zero(void **state) {
  (void)state;
  for (int m = 0; m < METHODS; m = next_krylov(m)) {
    setting t;
    open_setting(&t, m, 3, 1e-9, KAON_SINGLE);
    shell_complex *zero = calloc(t.c.n, sizeof *zero), *x = calloc(t.c.n, sizeof *x);
    shell_import(&t.c, t.b, 1, zero);
    kaon_vector *guess = shell_random_vector(&t.c, KAON_DOUBLE, 3, 77);
    must(t.c.ctx, kaon_vector_copy(t.x, guess));
    solve(&t);
    shell_export(&t.c, t.x, 1, x);
    assert_memory_equal(x, zero, t.c.n * sizeof *x);
    assert_int_equal(t.r[1].iterations, 0);
    assert_true(t.r[1].residual == 0 && t.r[1].stop_residual == 0);
    for (int k = 0; k < 3; k++) assert_int_equal(t.r[k].reason, KAON_CONVERGED);
    assert_true(shell_residual(&t.c, map_chain, chain_of(m), t.b, t.x, 2) <= 1.1e-9);
    free(zero);
    free(x);
    kaon_vector_destroy(&guess);
    close_setting(&t);
  }
}

static void a_source_that_is_not_finite_is_refused(void **state) {
  (void)state;
  setting t;
  open_setting(&t, KAON_CGNR, 2, 1e-9, KAON_HALF);
  static const double spoilers[] = {NAN, 0, INFINITY};
  machine_write(t.c.ctx, (double *)t.b->data + 5, &spoilers[0], sizeof(double));
  must_refuse(t.c.ctx, KAON_ERR_NOT_FINITE, try_solve(&t));
  machine_write(t.c.ctx, (double *)t.b->data + 5, &spoilers[1], sizeof(double));
  machine_write(t.c.ctx, (double *)t.x->data + 7, &spoilers[2], sizeof(double));
  must_refuse(t.c.ctx, KAON_ERR_NOT_FINITE, try_solve(&t));
  close_setting(&t);
}

static void a_guess_is_used(void **state) {
  (void)state;
  for (int m = 0; m < METHODS; m = next_krylov(m)) {
    setting t;
    open_setting(&t, m, 1, 1e-6, KAON_SINGLE);
    solve(&t);
    const int cold = t.r[0].iterations;
    solve(&t); /* from the solution */
    assert_int_equal(t.r[0].iterations, 0);
    assert_int_equal(t.r[0].reason, KAON_CONVERGED);
    t.o.tol = 1e-12;
    solve(&t); /* from 1e-6 to 1e-12 */
    const int warm = t.r[0].iterations;
    must(t.c.ctx, kaon_vector_zero(t.x));
    solve(&t);
    printf("  %-8s 1e-6: %d steps; on to 1e-12: %d; 1e-12 from zero: %d\n", method_name(m), cold,
           warm, t.r[0].iterations);
    assert_true(warm < t.r[0].iterations);
    assert_true(t.r[0].residual <= 1.1e-12);
    close_setting(&t);
  }
}

static void the_limit_of_iterations_is_exact(void **state) {
  (void)state;
  static const int limits[] = {0, 1, 7, 23};
  for (int m = 0; m < METHODS; m = next_krylov(m))
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
      setting t;
      open_setting(&t, m, 2, 1e-14, i % 2 ? KAON_SINGLE : KAON_DOUBLE);
      t.o.max_iterations = limits[i];
      t.o.subspace = 5;
      solve(&t);
      for (int k = 0; k < 2; k++) {
        assert_int_equal(t.r[k].iterations, limits[i]);
        assert_int_equal(t.r[k].reason, KAON_MAX_ITERATIONS);
        const double own = shell_residual(&t.c, map_chain, chain_of(m), t.b, t.x, k);
        assert_true(fabs(own - t.r[k].residual) <= 1e-12);
      }
      close_setting(&t);
    }
}

/* A tolerance below rounding: the solve ends soon by itself, at the floor. The floor is eps (|A|
 * |x| + |b|) / |b| <= eps (condition + 1), condition <= 4.2 / 0.05 = 84, times a few. */
static void asking_for_too_much_stagnates(void **state) {
  (void)state;
  for (int m = 0; m < METHODS; m = next_krylov(m))
    for (int p = KAON_DOUBLE; p <= coarsest(m); p++) {
      setting t;
      open_setting(&t, m, 1, 1e-18, (kaon_precision)p);
      t.o.max_iterations = 100000;
      solve(&t);
      char text[80];
      snprintf(text, sizeof text, "%s double/%s: floor (%d steps, %d updates)", method_name(m),
               precision_names[p], t.r[0].iterations, t.r[0].updates);
      test_below(text, t.r[0].residual, 4 * 84 * 1.1e-16);
      assert_int_equal(t.r[0].reason, KAON_STAGNATED);
      assert_true(t.r[0].iterations < 20000);
      close_setting(&t);
    }
}

static void indefinite_operators_break_cg(void **state) {
  static const int methods[] = {KAON_CG, KAON_PIPECG, KAON_BLOCKCG};
  (void)state;
  static const spectrum spectra[] = {{3, -4, -1}, {7, -3, 2}};
  for (size_t i = 0; i < 6; i++)
    for (int p = KAON_DOUBLE; p <= coarsest(methods[i / 2]); p++) {
      setting t;
      open_setting(&t, methods[i / 2], 1 + (int)(i / 4), 1e-9, (kaon_precision)p);
      kaon_operator_destroy(&t.A);
      t.A = shell_operator(&t.c, KAON_DOUBLE, map_diagonal, &spectra[i % 2]);
      solve(&t);
      printf("  %d steps, residual %.2e, %s\n", t.r[0].iterations, t.r[0].residual,
             kaon_stop_reason_name(t.r[0].reason));
      assert_int_equal(t.r[0].reason, KAON_BREAKDOWN);
      assert_true(isfinite(t.r[0].residual));
      close_setting(&t);
    }
}

/* (r, A r) = 0 for skew A: MR and GCR cannot move, and BiCGStab's omega vanishes up to rounding.
 * This is reported and never causes a loop. */
static void map_skew(const void *user, int dagger, size_t n, const shell_complex *x,
                     shell_complex *y) {
  (void)user;
  for (size_t i = 0; i < n; i += 2) {
    y[i] = dagger ? -x[i + 1] : x[i + 1];
    y[i + 1] = dagger ? x[i] : -x[i];
  }
}

static void skew_operators_break_what_needs_a_positive_part(void **state) {
  (void)state;
  static const int methods[] = {KAON_MR, KAON_BICGSTAB, KAON_GCR, KAON_PIPEBICGSTAB};
  for (size_t i = 0; i < 4; i++) {
    setting t;
    open_setting(&t, methods[i], 1, 1e-9, KAON_DOUBLE);
    kaon_operator_destroy(&t.A);
    t.A = shell_operator(&t.c, KAON_DOUBLE, map_skew, NULL);
    shell_complex *real = shell_random(&t.c, 4);
    for (size_t j = 0; j < t.c.n; j++) real[j] = creal(real[j]);
    shell_import(&t.c, t.b, 0, real);
    solve(&t);
    printf("  %-8s %d steps, residual %.2e, %s\n", method_name((int)methods[i]), t.r[0].iterations,
           t.r[0].residual, kaon_stop_reason_name(t.r[0].reason));
    assert_true(t.r[0].reason == KAON_BREAKDOWN || t.r[0].reason == KAON_STAGNATED);
    assert_true(t.r[0].iterations < 5000);
    free(real);
    close_setting(&t);
  }
}

typedef struct {
  int calls, stop_at;
  double seen[3][512];
  int count[3];
} counter_check;

static int watch(void *user, int iteration, int column, double residual) {
  counter_check *w = user;
  w->calls++;
  assert_int_equal(iteration, w->count[column]);
  if (w->count[column] < 512) w->seen[column][w->count[column]] = residual;
  w->count[column]++;
  return iteration >= w->stop_at;
}

static void the_monitor_sees_the_history_in_order(void **state) {
  (void)state;
  for (int m = 0; m < METHODS; m = next_krylov(m)) {
    setting t;
    counter_check w = {.stop_at = 1 << 30};
    double history[512];
    kaon_solver *s = NULL;
    open_setting(&t, m, 3, 1e-9, (kaon_precision)coarsest(m));
    t.o.monitor = watch;
    t.o.monitor_user = &w;
    must(t.c.ctx, kaon_solver_create(t.A, 3, &t.o, &s));
    must(t.c.ctx, kaon_solver_solve(s, t.b, t.x, t.r, NULL));
    for (int k = 0; k < 3; k++) {
      int count = 512;
      must(t.c.ctx, kaon_solver_history(s, k, history, &count));
      assert_int_equal(count, t.r[k].iterations + 1);
      assert_int_equal(count, w.count[k]);
      assert_memory_equal(history, w.seen[k], (size_t)count * sizeof *history);
      assert_true(fabs(history[0] - 1) < 1e-12);
      assert_true(history[count - 1] <= 1e-9);
    }
    int none = 0;
    must(t.c.ctx, kaon_solver_history(s, 0, NULL, &none));
    assert_int_equal(none, t.r[0].iterations + 1);
    kaon_solver_destroy(&s);
    close_setting(&t);
  }
}

static void the_monitor_can_cancel(void **state) {
  (void)state;
  for (int m = 0; m < METHODS; m = next_krylov(m)) {
    setting t;
    counter_check w = {.stop_at = 12};
    open_setting(&t, m, 2, 1e-12, KAON_SINGLE);
    t.o.monitor = watch;
    t.o.monitor_user = &w;
    t.o.check_interval = 5;
    solve(&t);
    const double own = shell_residual(&t.c, map_chain, chain_of(m), t.b, t.x, 1);
    printf("  %-8s cancelled after %d steps, residual %.3e\n", method_name(m), t.r[1].iterations,
           own);
    assert_int_equal(t.r[1].reason, KAON_CANCELLED);
    assert_true(own < 1 && fabs(own - t.r[1].residual) <= 1e-12);
    assert_true(t.r[1].iterations >= 12 && t.r[1].iterations <= 16);
    close_setting(&t);
  }
}

/* tol = 0 behaves like any other: b = 0 ends in x = 0, and the monitor is called in time. */
static void fixed_steps_know_zero_and_the_monitor(void **state) {
  (void)state;
  for (int m = 0; m < METHODS; m = next_krylov(m)) {
    setting t;
    counter_check w = {.stop_at = 12};
    open_setting(&t, m, 2, 0, KAON_DOUBLE);
    shell_complex *zero = calloc(t.c.n, sizeof *zero), *x = calloc(t.c.n, sizeof *x);
    t.o.max_iterations = 200;
    t.o.subspace = 32;
    t.o.check_interval = 5;
    t.o.monitor = watch;
    t.o.monitor_user = &w;
    kaon_vector *guess = shell_random_vector(&t.c, KAON_DOUBLE, 2, 77);
    shell_import(&t.c, t.b, 1, zero);
    must(t.c.ctx, kaon_vector_copy(t.x, guess));
    solve(&t);
    shell_export(&t.c, t.x, 1, x);
    assert_memory_equal(x, zero, t.c.n * sizeof *x);
    assert_int_equal(t.r[0].reason, KAON_CANCELLED);
    assert_true(t.r[0].iterations >= 12 && t.r[0].iterations <= 16);
    free(zero);
    free(x);
    kaon_vector_destroy(&guess);
    close_setting(&t);
  }
}

static void fixed_steps_take_exactly_their_applications(void **state) {
  (void)state;
  for (int m = 0; m < METHODS; m = next_krylov(m))
    for (int p = KAON_DOUBLE; p <= coarsest(m); p++) {
      setting t;
      kaon_solver *s = NULL;
      kaon_operator *inverse = NULL;
      open_setting(&t, m, 2, 0.0, (kaon_precision)p);
      t.o.max_iterations = 13;
      t.o.subspace = m == KAON_MR ? 13 : 5;
      must(t.c.ctx, kaon_solver_create(t.A, 2, &t.o, &s));
      must(t.c.ctx, kaon_solver_as_operator(s, &inverse));
      for (int repeat = 0; repeat < 2; repeat++) {
        const int before = shell_applications(t.A);
        must(t.c.ctx, kaon_operator_apply(inverse, KAON_PLAIN, t.b, t.x));
        assert_int_equal(shell_applications(t.A) - before,
                         13 * s->method->products.step + s->method->products.start);
        const double own = shell_residual(&t.c, map_chain, chain_of(m), t.b, t.x, 1);
        if (repeat == 0)
          printf("  %-8s double/%-6s 13 steps: residual %.3e\n", method_name(m), precision_names[p],
                 own);
        assert_true(own < 0.9); /* CGNE shrinks the error, its residual follows slowly */
      }
      must(t.c.ctx, kaon_vector_zero(t.x));
      must(t.c.ctx, kaon_solver_solve(s, t.b, t.x, t.r, NULL));
      assert_int_equal(t.r[1].iterations, 13);
      assert_int_equal(t.r[1].reason, KAON_MAX_ITERATIONS);
      assert_true(fabs(t.r[1].residual -
                       shell_residual(&t.c, map_chain, chain_of(m), t.b, t.x, 1)) <= 1e-12);
      must(t.c.ctx, kaon_operator_apply(inverse, KAON_PLAIN, t.b, t.x));
      kaon_operator_destroy(&inverse);
      kaon_solver_destroy(&s);
      close_setting(&t);
    }
}

/* MR steps in single or half as preconditioner of GCR: fewer outer steps, the same true residual.
 */
static void a_solver_preconditions_gcr(void **state) {
  (void)state;
  for (int p = KAON_DOUBLE; p <= KAON_HALF; p++) {
    setting t;
    kaon_operator *twin = NULL, *K = NULL;
    kaon_solver *mr = NULL;
    open_setting(&t, KAON_GCR, 2, 1e-10, (kaon_precision)p);
    solve(&t);
    const int bare = t.r[1].iterations;
    kaon_solver_options o = KAON_SOLVER_OPTIONS_INIT;
    kaon_relax_options damping = KAON_RELAX_OPTIONS_INIT;
    damping.tau = 0.9;
    o.method = KAON_MR;
    o.tol = 0;
    o.subspace = 4;
    o.relax = &damping;
    must(t.c.ctx, t.A->ops->twin(t.A, (kaon_precision)p, KAON_RECONSTRUCT_18, &twin));
    must(t.c.ctx, kaon_solver_create(twin, 2, &o, &mr));
    must(t.c.ctx, kaon_solver_as_operator(mr, &K));
    t.o.preconditioner = K;
    must(t.c.ctx, kaon_vector_zero(t.x));
    solve(&t);
    printf("  double/%-6s GCR(16) %d steps, with 4 MR steps %d; residual %.2e\n",
           precision_names[p], bare, t.r[1].iterations, t.r[1].residual);
    assert_int_equal(t.r[1].reason, KAON_CONVERGED);
    assert_true(t.r[1].residual <= 1.1e-10);
    assert_true(2 * t.r[1].iterations < bare);
    kaon_operator_destroy(&K);
    kaon_solver_destroy(&mr);
    kaon_operator_destroy(&twin);
    close_setting(&t);
  }
}

static void one_inverse(kaon_method method) {
  setting t;
  kaon_solver *s = NULL;
  kaon_operator *inverse = NULL;
  open_setting(&t, (int)method, 1, 1e-11, KAON_SINGLE);
  must(t.c.ctx, kaon_solver_create(t.A, 1, &t.o, &s));
  must(t.c.ctx, kaon_solver_as_operator(s, &inverse));
  must(t.c.ctx, kaon_operator_apply(inverse, KAON_DAGGER, t.b, t.x));
  test_below("|b - A (A^-1 b)| / |b|",
             shell_residual(&t.c, map_chain, &hermitian_chain, t.b, t.x, 0), 1.1e-11);
  kaon_operator_destroy(&inverse);
  kaon_solver_destroy(&s);
  close_setting(&t);
}

static void a_converging_solver_is_an_inverse(void **state) {
  (void)state;
  one_inverse(KAON_CG);
  one_inverse(KAON_CHRONGEAR);
}

/* An operator in single precision: its twin in double verifies, and x is as good as single can
 * hold. */
static void a_single_operator_is_judged_in_double(void **state) {
  (void)state;
  setting t;
  open_setting(&t, KAON_CGNR, 2, 1e-6, KAON_HALF);
  kaon_operator_destroy(&t.A);
  kaon_vector_destroy(&t.b);
  kaon_vector_destroy(&t.x);
  t.A = shell_operator(&t.c, KAON_SINGLE, map_chain, &wind_chain);
  t.b = shell_random_vector(&t.c, KAON_SINGLE, 2, 3);
  t.x = shell_vector(&t.c, KAON_SINGLE, 2);
  solve(&t);
  const double own = shell_residual(&t.c, map_chain, &wind_chain, t.b, t.x, 1);
  printf("  residual %.9e, by the map %.9e\n", t.r[1].residual, own);
  assert_int_equal(t.r[1].reason, KAON_CONVERGED);
  assert_true(fabs(own - t.r[1].residual) <= 1e-12);
  t.o.tol = 1e-12; /* more than single can hold */
  solve(&t);
  printf("  asked for 1e-12: %.3e, %s\n", t.r[1].residual, kaon_stop_reason_name(t.r[1].reason));
  assert_int_equal(t.r[1].reason, KAON_STAGNATED);
  close_setting(&t);
}

static void work_is_counted(void **state) {
  (void)state;
  for (int i = 0; i < 4 * METHODS; i++) {
    const int m = i / 4, normal = i % 2, fixed = i / 2 % 2;
    setting t;
    if (method_has(m, KAON_METHOD_STATIONARY)) continue;
    open_setting(&t, m, 1, 1e-9, KAON_SINGLE);
    if (normal) t.o.stop = KAON_STOP_NORMAL;
    if (fixed) {
      t.o.tol = 0;
      t.o.max_iterations = 5;
    }
    solve(&t);
    printf("  %-12s %d steps, %d updates: %d applications reported, %d made\n", method_name(m),
           t.r[0].iterations, t.r[0].updates, t.total.applications, shell_applications(t.A));
    assert_int_equal(t.total.applications, shell_applications(t.A));
    assert_true(t.total.flops == t.total.applications * 10.0 * (double)t.c.n);
    assert_true(t.total.seconds > 0);
    close_setting(&t);
  }
}

/* Directions are divided by the residual, so they are useless once it has vanished. */
static void a_residual_that_vanished_takes_its_directions_along(void **state) {
  (void)state;
  static const double watched[] = {0, NAN, 0.5};
  for (int i = 0; i < 3; i++) {
    kaon_column_state s = {.flags = KAON_FLAG_NORMAL | KAON_FLAG_TRUST,
                           .reason = KAON_WAIT_TRUSTED,
                           .gate = KAON_GATE_SERVICE | KAON_GATE_CONTINUE,
                           .scale = 1,
                           .best = 1};
    s.slot[KAON_S_S2][0] = watched[i];
    kaon_stop_resume(&s);
    assert_int_equal(s.gate, watched[i] > 0 ? KAON_GATE_STEP : KAON_GATE_SERVICE);
    assert_true(watched[i] > 0 || s.reason == KAON_WAIT_BROKEN);
  }
}

/* A reliable update confirmed by the inner process needs no A^dag r in the outer precision; the
 * last residual is always computed there. Restarts and solvers of one precision verify everything.
 */
static void updates_are_trusted_where_the_inner_process_may_be(void **state) {
  (void)state;
  static const struct {
    kaon_precision sloppy;
    kaon_refinement refinement;
    int trusts;
  } cases[] = {{KAON_SINGLE, KAON_REFINE_RELIABLE, 1},
               {KAON_HALF, KAON_REFINE_RELIABLE, 1},
               {KAON_SINGLE, KAON_REFINE_RESTART, 0},
               {KAON_DOUBLE, KAON_REFINE_RELIABLE, 0}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    setting t;
    kaon_solver *s = NULL;
    open_setting(&t, KAON_CGNR, 1, 1e-9, cases[i].sloppy);
    t.o.stop = KAON_STOP_NORMAL;
    t.o.refinement = cases[i].refinement;
    must(t.c.ctx, kaon_solver_create(t.A, 1, &t.o, &s));
    t.total = (kaon_solve_report)KAON_SOLVE_REPORT_INIT;
    must(t.c.ctx, kaon_solver_solve(s, t.b, t.x, t.r, &t.total));
    const int trusted = s->states.host[0].trusted;
    printf("  %d of %d updates trusted, residual %.2e\n", trusted, t.r[0].updates,
           t.r[0].stop_residual);
    assert_int_equal(t.r[0].reason, KAON_CONVERGED);
    assert_true(t.r[0].stop_residual <= 1.1e-9);
    assert_true(trusted < t.r[0].updates || t.r[0].updates == 0);
    assert_true(cases[i].trusts ? trusted > 0 : trusted == 0);
    kaon_solver_destroy(&s);
    close_setting(&t);
  }
}

static void what_does_not_fit_is_refused(void **state) {
  (void)state;
  setting t;
  kaon_solver *s = NULL;
  open_setting(&t, KAON_CGNR, 2, 1e-9, KAON_SINGLE);
  must_refuse(NULL, KAON_ERR_ARGUMENT, kaon_solver_create(NULL, 1, NULL, &s));
  must_refuse(t.c.ctx, KAON_ERR_ARGUMENT, kaon_solver_create(t.A, 0, NULL, &s));
  kaon_solver_options o = t.o;
  o.tol = -1;
  must_refuse(t.c.ctx, KAON_ERR_ARGUMENT, kaon_solver_create(t.A, 2, &o, &s));
  o = t.o;
  o.preconditioner = t.A;
  must_refuse(t.c.ctx, KAON_ERR_UNSUPPORTED, kaon_solver_create(t.A, 2, &o, &s));
  o = t.o;
  o.method = KAON_PIPECG;
  o.sloppy = KAON_HALF;
  must_refuse(t.c.ctx, KAON_ERR_UNSUPPORTED, kaon_solver_create(t.A, 2, &o, &s));
  assert_null(s);
  must(t.c.ctx, kaon_solver_create(t.A, 2, &t.o, &s));
  kaon_vector *one = shell_vector(&t.c, KAON_DOUBLE, 1),
              *single = shell_vector(&t.c, KAON_SINGLE, 2);
  kaon_vector *even = NULL;
  must(t.c.ctx, kaon_vector_create(t.c.ctx, kaon_lattice_spinors(t.c.lattice, KAON_EVEN),
                                   KAON_DOUBLE, 2, &even));
  must_refuse(t.c.ctx, KAON_ERR_ARGUMENT, kaon_solver_solve(s, NULL, t.x, NULL, NULL));
  must_refuse(t.c.ctx, KAON_ERR_SHAPE, kaon_solver_solve(s, t.b, one, NULL, NULL));
  must_refuse(t.c.ctx, KAON_ERR_SHAPE, kaon_solver_solve(s, t.b, even, NULL, NULL));
  must_refuse(t.c.ctx, KAON_ERR_PRECISION, kaon_solver_solve(s, t.b, single, NULL, NULL));
  must_refuse(t.c.ctx, KAON_ERR_ALIAS, kaon_solver_solve(s, t.x, t.x, NULL, NULL));
  must_refuse(t.c.ctx, KAON_ERR_ALIAS, kaon_operator_apply(t.A, KAON_PLAIN, t.x, t.x));
  must_refuse(t.c.ctx, KAON_ERR_SHAPE, kaon_operator_apply(t.A, KAON_PLAIN, t.b, one));
  must_refuse(t.c.ctx, KAON_ERR_UNSUPPORTED, kaon_operator_prepare(t.A, t.b, t.x));
  must_refuse(t.c.ctx, KAON_ERR_ARGUMENT, kaon_solver_history(s, 2, NULL, &(int){0}));
  kaon_vector_destroy(&one);
  kaon_vector_destroy(&single);
  kaon_vector_destroy(&even);
  kaon_solver_destroy(&s);
  kaon_solver_destroy(&s);
  close_setting(&t);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(zero_source_has_the_solution_zero),
      cmocka_unit_test(a_source_that_is_not_finite_is_refused),
      cmocka_unit_test(a_guess_is_used),
      cmocka_unit_test(the_limit_of_iterations_is_exact),
      cmocka_unit_test(asking_for_too_much_stagnates),
      cmocka_unit_test(indefinite_operators_break_cg),
      cmocka_unit_test(skew_operators_break_what_needs_a_positive_part),
      cmocka_unit_test(the_monitor_sees_the_history_in_order),
      cmocka_unit_test(the_monitor_can_cancel),
      cmocka_unit_test(fixed_steps_know_zero_and_the_monitor),
      cmocka_unit_test(fixed_steps_take_exactly_their_applications),
      cmocka_unit_test(a_solver_preconditions_gcr),
      cmocka_unit_test(a_converging_solver_is_an_inverse),
      cmocka_unit_test(a_single_operator_is_judged_in_double),
      cmocka_unit_test(work_is_counted),
      cmocka_unit_test(a_residual_that_vanished_takes_its_directions_along),
      cmocka_unit_test(updates_are_trusted_where_the_inner_process_may_be),
      cmocka_unit_test(what_does_not_fit_is_refused),
  };
  shell_machine = MACHINE_CPU;
  if (!machine_lacks(MACHINE_CPU)) test_group(tests, NULL, NULL);
  shell_machine = MACHINE_CUDA; /* the methods run there, the operator on the host */
  if (!machine_lacks(MACHINE_CUDA)) test_group(tests, NULL, NULL);
  return test_end();
}
