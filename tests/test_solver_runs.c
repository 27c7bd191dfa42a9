/* test_solver_runs.c - how solves run: beside frozen or active columns, over several ranks that
 * must take the same path, and without allocating memory. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "blas/blas.h"
#include "lib/math/steps/stopping.h"
#include "tests/util/dirac_case.h"
#include "tests/util/shell_operator.h"
#include "tests/util/test_util.h"

static const int extents[4] = {2, 2, 2, 4};
static const chain hermitian_chain = {.mass = 0.05, .phase = 0.7};

/* ---- a solver as an operator, where the caller has closed columns ---- */

typedef struct {
  shell_case c;
  kaon_operator *A, *K;
  kaon_solver *inner;
  kaon_scalars *scalars;
  kaon_vector *b, *x;
} nest;

/* Columns 0 .. columns - 1 open to gate STEP but `closed`. */
static void open_nest(nest *t, const kaon_solver_options *o, int columns, int closed) {
  shell_open(&t->c, extents, 1);
  t->A = shell_operator(&t->c, KAON_DOUBLE, map_chain, &hermitian_chain);
  t->b = shell_random_vector(&t->c, KAON_DOUBLE, columns, 3);
  t->x = shell_random_vector(&t->c, KAON_DOUBLE, columns, 33);
  must(t->c.ctx, kaon_solver_create(t->A, columns, o, &t->inner));
  must(t->c.ctx, kaon_solver_as_operator(t->inner, &t->K));
  must(t->c.ctx, kaon_scalars_create(t->c.ctx, columns, &t->scalars));
  if (closed >= 0) t->scalars->state[closed].gate = KAON_GATE_SERVICE;
}

static void close_nest(nest *t) {
  kaon_operator_destroy(&t->K);
  kaon_solver_destroy(&t->inner);
  kaon_scalars_destroy(&t->scalars);
  kaon_vector_destroy(&t->b);
  kaon_vector_destroy(&t->x);
  kaon_operator_destroy(&t->A);
  shell_close(&t->c);
}

static kaon_status apply_nest(nest *t) {
  kaon_pass pass = KAON_PASS_INIT;
  pass.scalars = t->scalars;
  pass.norm = 0;
  return kaon_operator_run(t->K, KAON_PLAIN, t->b, t->x, &pass);
}

static kaon_solver_options inner_options(double tol) {
  kaon_solver_options o = KAON_SOLVER_OPTIONS_INIT;
  o.method = KAON_CG;
  o.tol = tol;
  o.max_iterations = tol > 0 ? 1000 : 7;
  return o;
}

/* Open columns get the bits that they get alone; the closed one keeps its own and is not read. */
static void closed_columns_harm_nothing(void **state) {
  (void)state;
  for (int fixed = 0; fixed < 2; fixed++) {
    const kaon_solver_options o = inner_options(fixed ? 0 : 1e-8);
    nest alone, t;
    open_nest(&alone, &o, 3, -1);
    open_nest(&t, &o, 3, 1);
    kaon_pass closed = KAON_PASS_INIT;
    closed.scalars = t.scalars;
    closed.gate = KAON_GATE_SERVICE;
    must(t.c.ctx, kaon_blas_scale(KAON_NUMBER(NAN), t.b, &closed));
    must(alone.c.ctx, apply_nest(&alone));
    shell_complex *before = calloc(t.c.n, sizeof *before), *after = calloc(t.c.n, sizeof *after);
    shell_export(&t.c, t.x, 1, before);
    for (int repeat = 0; repeat < 2; repeat++) must(t.c.ctx, apply_nest(&t));
    shell_export(&t.c, t.x, 1, after);
    assert_memory_equal(before, after, t.c.n * sizeof *before);
    for (int k = 0; k < 3; k += 2) {
      shell_export(&alone.c, alone.x, k, before);
      shell_export(&t.c, t.x, k, after);
      assert_memory_equal(before, after, t.c.n * sizeof *before);
      assert_true(alone.scalars->state[k].slot[0][0] == t.scalars->state[k].slot[0][0]);
    }
    free(before);
    free(after);
    close_nest(&alone);
    close_nest(&t);
  }
}

/* Neither the shut column nor a pass without open ones applies the operator. */
static void closed_columns_cost_nothing(void **state) {
  (void)state;
  for (int fixed = 0; fixed < 2; fixed++) {
    const kaon_solver_options o = inner_options(fixed ? 0 : 1e-8);
    nest t;
    open_nest(&t, &o, 1, 0);
    must(t.c.ctx, apply_nest(&t));
    assert_int_equal(shell_applications(t.A), 0);
    t.scalars->state[0].gate = KAON_GATE_STEP;
    must(t.c.ctx, apply_nest(&t));
    printf("  open: %d applications\n", shell_applications(t.A));
    assert_true(shell_applications(t.A) > 0);
    close_nest(&t);
  }
}

/* A solve to a tolerance polls and records steps of its own. While another solver's steps are
 * recorded it is refused, before it does anything. Fixed steps can be recorded. */
static void a_recording_holds_fixed_steps_alone(void **state) {
  (void)state;
  for (int fixed = 0; fixed < 2; fixed++) {
    const kaon_solver_options o = inner_options(fixed ? 0 : 1e-8);
    nest t;
    open_nest(&t, &o, 1, -1);
    t.c.ctx->recording = 1;
    const kaon_status status = apply_nest(&t);
    t.c.ctx->recording = 0;
    assert_int_equal(status, fixed ? KAON_OK : KAON_ERR_UNSUPPORTED);
    assert_int_equal(shell_applications(t.A) > 0, fixed);
    must(t.c.ctx, apply_nest(&t));
    close_nest(&t);
  }
}

/* ---- several ranks, played by one: their parts of sums are 0, the test sets their requests ----
 */

static struct {
  int looks, cancel_at, steps;
  int looked_after[64];
} others;

/* At a check the runner sums two numbers, the only such sum that may begin with 0. */
static kaon_status join(kaon_comm *comm, double *values, int n) {
  (void)comm;
  if (n != 2 || values[0] != 0) return KAON_OK;
  if (others.looks < 64) others.looked_after[others.looks] = others.steps;
  if (++others.looks == others.cancel_at) values[0] = 1;
  values[1] *= 2;
  return KAON_OK;
}

static kaon_status nothing(kaon_comm *comm) {
  (void)comm;
  return KAON_OK;
}

static int never(void *user, int iteration, int column, double residual) {
  (void)user, (void)column, (void)residual;
  others.steps = iteration;
  return 0;
}

static void map_slow(const void *user, int dagger, size_t n, const shell_complex *x,
                     shell_complex *y) {
  const struct timespec pause = {0, 60000000};
  nanosleep(&pause, NULL);
  map_chain(user, dagger, n, x, y);
}

static kaon_column_report solve_over_two(shell_map *map, double tol, int cancel_at, int interval) {
  shell_case c;
  kaon_solver *s = NULL;
  kaon_column_report r;
  shell_open(&c, extents, 1);
  kaon_comm_ops ops = *c.ctx->comm->ops;
  const kaon_comm_ops *own = c.ctx->comm->ops;
  ops.sum_start = join;
  ops.sum_finish = nothing;
  ops.gather = shell_gather;
  kaon_operator *A = shell_operator(&c, KAON_DOUBLE, map, &hermitian_chain);
  kaon_vector *b = shell_random_vector(&c, KAON_DOUBLE, 1, 3),
              *x = shell_vector(&c, KAON_DOUBLE, 1);
  kaon_solver_options o = inner_options(tol);
  o.max_iterations = 60;
  o.check_interval = interval;
  o.monitor = never;
  must(c.ctx, kaon_solver_create(A, 1, &o, &s));
  memset(&others, 0, sizeof others);
  others.cancel_at = cancel_at;
  c.ctx->comm->ops = &ops;
  c.ctx->comm->ranks = 2;
  must(c.ctx, kaon_solver_solve(s, b, x, &r, NULL));
  c.ctx->comm->ops = own;
  c.ctx->comm->ranks = 1;
  printf("  %d looks, %d steps, %s\n", others.looks, r.iterations, kaon_stop_reason_name(r.reason));
  kaon_solver_destroy(&s);
  kaon_operator_destroy(&A);
  kaon_vector_destroy(&b);
  kaon_vector_destroy(&x);
  shell_close(&c);
  return r;
}

static void one_ranks_monitor_ends_the_solve_on_all(void **state) {
  (void)state;
  for (int fixed = 0; fixed < 2; fixed++) {
    const double tol = fixed ? 0 : 1e-12;
    const kaon_column_report whole = solve_over_two(map_chain, tol, -1, 5);
    const kaon_column_report cut = solve_over_two(map_chain, tol, 4, 5);
    assert_true(whole.reason != KAON_CANCELLED);
    assert_int_equal(cut.reason, KAON_CANCELLED);
    assert_true(cut.iterations < whole.iterations && cut.iterations >= 6);
  }
}

/* Steps of 0.06 s: this rank's clock would check after four of them. The agreed rhythm: after the
 * first step, which tells how long they take, then in blocks of three (0.2 s), whatever a clock
 * says. */
static void ranks_look_after_the_same_steps(void **state) {
  (void)state;
  for (int fixed = 0; fixed < 2; fixed++) {
    solve_over_two(map_slow, fixed ? 0 : 1e-12, 6, 50);
    for (int i = 0; i < 6; i++) printf("  %d", others.looked_after[i]);
    printf("\n");
    for (int i = 1; i < 6; i++) {
      const int steps = others.looked_after[i] - others.looked_after[i - 1];
      assert_true(steps <= 3 && steps > 0);
    }
    assert_true(others.looked_after[0] <= 1); /* before the rate is known */
  }
}

/* ---- lift: storage that other columns use ---- */

static void lift_beside_a_closed_column(dirac_case *c, kaon_operator *R) {
  const kaon_space *space = kaon_operator_space(R);
  kaon_vector *r = NULL, *reduced = NULL;
  kaon_scalars *scalars = NULL;
  must(c->ctx, kaon_vector_create(c->ctx, space, KAON_DOUBLE, 2, &r));
  must(c->ctx, kaon_vector_create(c->ctx, space, KAON_DOUBLE, 2, &reduced));
  must(c->ctx, kaon_scalars_create(c->ctx, 2, &scalars));
  for (int i = 0; i < 2; i++) {
    ref_complex **psi = case_random_columns(c, 2, 9 + (uint64_t)i);
    case_import(c, i ? reduced : r, psi);
    case_free_columns(psi, 2);
  }
  scalars->state[1].gate = KAON_GATE_STEP;
  scalars->state[0].gate = KAON_GATE_SERVICE;
  kaon_pass pass = KAON_PASS_INIT;
  pass.scalars = scalars;
  pass.gate = KAON_GATE_SERVICE;
  pass.norm = 0;
  double after[2];
  ref_complex *closed = case_export(c, r, 1);
  must(c->ctx, R->reduction->lift(R, reduced, r, &pass));
  must(c->ctx, kaon_vector_norm2(r, after));
  ref_complex *still = case_export(c, r, 1);
  assert_memory_equal(closed, still, ref_spinor_size(&c->L) * sizeof *closed);
  assert_true(after[0] > 0);
  test_close("|lifted|^2 of the open column", scalars->state[0].slot[0][0], after[0],
             after[0] * 1e-12);
  assert_true(scalars->state[1].slot[0][0] == 0);
  free(closed);
  free(still);
  kaon_vector_destroy(&r);
  kaon_vector_destroy(&reduced);
  kaon_scalars_destroy(&scalars);
}

static void lift_honours_the_gate(void **state) {
  (void)state;
  static const int shape[4] = {4, 4, 4, 8};
  for (int form = KAON_EVEN_ODD_SYMMETRIC; form <= KAON_EVEN_ODD_NONE; form++)
    for (int temporal = 0; temporal < 2; temporal++)
      for (int clover = 0; clover < 2; clover++) {
        dirac_case c;
        assert_true(case_open(&c, MACHINE_CPU, shape, 1, LINKS_RANDOM, 5));
        kaon_operator *M = case_dirac(&c, 0.12, clover, 1, KAON_DOUBLE, KAON_RECONSTRUCT_18),
                      *R = case_even_odd(&c, M, (kaon_even_odd)form, KAON_ODD, temporal);
        if (R->reduction->lift != NULL) lift_beside_a_closed_column(&c, R);
        kaon_operator_destroy(&R);
        kaon_operator_destroy(&M);
        case_close(&c);
      }
}

/* ---- memory ---- */

static int64_t held_by(const dirac_case *c) {
  kaon_context_info info = KAON_CONTEXT_INFO_INIT;
  must(c->ctx, kaon_context_query(c->ctx, &info));
  return info.memory_held;
}

/* Creating a solver allocates everything a solve needs, including temporaries of the operator, its
 * twins and its parent. */
static void a_solve_takes_no_memory(void **state) {
  (void)state;
  static const int shape[4] = {8, 8, 8, 8};
  for (int form = KAON_EVEN_ODD_SYMMETRIC; form <= KAON_EVEN_ODD_NONE; form++)
    for (int sloppy = KAON_DOUBLE; sloppy <= KAON_HALF; sloppy++) {
      dirac_case c;
      assert_true(case_open(&c, KAON_ISA_AUTO, shape, 1, LINKS_WEAK, 5));
      kaon_operator *M = case_dirac(&c, 0.12, 1, 1, KAON_DOUBLE, KAON_RECONSTRUCT_18), *R = NULL;
      kaon_even_odd_options e = KAON_EVEN_ODD_OPTIONS_INIT;
      e.form = (kaon_even_odd)form;
      e.temporal_gauge = form == KAON_EVEN_ODD_NONE;
      must(c.ctx, kaon_dirac_even_odd(M, &e, &R));
      kaon_vector *b = case_vector(&c, KAON_FULL, KAON_DOUBLE, 5),
                  *x = case_vector(&c, KAON_FULL, KAON_DOUBLE, 5);
      must(c.ctx, kaon_source_gauss(b, 3));
      kaon_solver_options o = KAON_SOLVER_OPTIONS_INIT;
      kaon_solver *s = NULL;
      o.sloppy = (kaon_precision)sloppy;
      must(c.ctx, kaon_solver_create(R, 5, &o, &s));
      const int64_t before = held_by(&c);
      kaon_column_report r[5];
      must(c.ctx, kaon_solver_solve(s, b, x, r, NULL));
      assert_int_equal(r[4].reason, KAON_CONVERGED);
      assert_int_equal(held_by(&c), before);
      kaon_solver_destroy(&s);
      kaon_vector_destroy(&b);
      kaon_vector_destroy(&x);
      kaon_operator_destroy(&R);
      kaon_operator_destroy(&M);
      case_close(&c);
    }
}

/* Refused as a whole, with the needed and the available memory, and nothing remains allocated. The
 * memory that the message names is sufficient. */
static void a_solver_that_does_not_fit_is_refused_at_once(void **state) {
  (void)state;
  static const int shape[4] = {8, 8, 8, 8};
  for (int sloppy = KAON_DOUBLE; sloppy <= KAON_HALF; sloppy++) {
    dirac_case c;
    kaon_context_info before = KAON_CONTEXT_INFO_INIT, after = KAON_CONTEXT_INFO_INIT;
    assert_true(case_open(&c, KAON_ISA_AUTO, shape, 1, LINKS_WEAK, 5));
    kaon_operator *M = case_dirac(&c, 0.12, 1, 1, KAON_DOUBLE, KAON_RECONSTRUCT_18);
    kaon_solver_options o = KAON_SOLVER_OPTIONS_INIT;
    kaon_solver *s = NULL;
    long long needs = 0, there = 0;
    o.sloppy = (kaon_precision)sloppy;
    must(c.ctx, kaon_context_query(c.ctx, &before));
    const int64_t room = 12 << 20; /* the twin operator, but not the vectors of 40 columns */
    c.ctx->options.memory_limit = before.memory_now + room;
    must(c.ctx, kaon_context_query(c.ctx, &after));
    assert_int_equal(after.memory_free, room);
    assert_int_equal(kaon_solver_create(M, 40, &o, &s), KAON_ERR_MEMORY);
    assert_null(s);
    printf("  %s\n", kaon_last_error(c.ctx));
    assert_int_equal(sscanf(kaon_last_error(c.ctx), "memory: the solver needs %lld bytes, but %lld",
                            &needs, &there),
                     2);
    assert_true(needs > there && there <= room);
    must(c.ctx, kaon_context_query(c.ctx, &after));
    assert_int_equal(after.memory_now, before.memory_now);
    /* beside the vectors: twin, temporaries of both operators, scalars, sums' room */
    c.ctx->options.memory_limit = before.memory_now + room + needs + (64 << 20);
    must(c.ctx, kaon_solver_create(M, 40, &o, &s));
    must(c.ctx, kaon_context_query(c.ctx, &after));
    assert_true(after.memory_now - before.memory_now >= needs);
    kaon_solver_destroy(&s);
    kaon_operator_destroy(&M);
    case_close(&c);
  }
}

/* A monitored process is not called stalled until its residual is below a tenth of the first, or
 * until it has done as many steps as there are unknowns. */
static void a_plateau_is_no_stall(void **state) {
  (void)state;
  static const struct {
    double best;
    int steps, plateau;
  } cases[] = {{1, 100, 1}, {0.011, 4999, 1}, {0.009, 100, 0}, {1, 5000, 0}};
  for (int i = 0; i < 4; i++) {
    kaon_column_state *s = calloc(1, sizeof *s);
    s->flags = KAON_FLAG_MONITOR;
    s->first = 1;
    s->best = cases[i].best;
    s->iterations = cases[i].steps;
    s->unknowns = 5000;
    int turns = 0;
    while (turns < 1000 && !kaon_stalled(s, 1)) turns++;
    assert_int_equal(turns, cases[i].plateau ? 1000 : KAON_STALLED_CYCLES - 1);
    free(s);
  }
}

int main(void) {
  shell_machine = MACHINE_CPU; /* ranks are played, memory is read here */
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(closed_columns_harm_nothing),
      cmocka_unit_test(closed_columns_cost_nothing),
      cmocka_unit_test(a_recording_holds_fixed_steps_alone),
      cmocka_unit_test(one_ranks_monitor_ends_the_solve_on_all),
      cmocka_unit_test(ranks_look_after_the_same_steps),
      cmocka_unit_test(lift_honours_the_gate),
      cmocka_unit_test(a_plateau_is_no_stall),
      cmocka_unit_test(a_solve_takes_no_memory),
      cmocka_unit_test(a_solver_that_does_not_fit_is_refused_at_once),
  };
  return test_main(tests, NULL, NULL);
}
