/* test_solver_issue.c - how steps are issued changes no bit: single operations, replayed blocks,
 * loops that the device repeats and serves by itself; block lengths, check intervals, columns that
 * end at different times, cancelled solves, operators that cannot be recorded, recordings that
 * outlive a solve. The CPU executes at once, so a substitute records there and calls what it was
 * given. On a CUDA device the backend's own recorder is tested, and times a step are printed. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "solvers/engine/method.h"
#include "tests/util/fake_recorder.h"
#include "tests/util/dirac_case.h"
#include "tests/util/machine.h"
#include "tests/util/methods.h"
#include "tests/util/test_util.h"

static const char *const issue_names[] = {"auto", "plain", "replay",    "while",
                                          "tail", "cdp",   "persistent"};
static int machine = MACHINE_CPU;

/* ---- a system with three columns that end at different times ---- */

enum { COLUMNS = 3, ROOM = 1024 };

typedef struct {
  dirac_case c;
  kaon_backend backend;
  kaon_operator *M, *R;
  kaon_vector *b, *x, *guess;
  kaon_precision outer;
} world;

static int open_world_in(world *w, const int extents[4], int columns, double kappa,
                         kaon_precision outer) {
  memset(w, 0, sizeof *w);
  w->outer = outer;
  if (!case_open(&w->c, machine, extents, 1, LINKS_WEAK, 5)) return 0;
  w->backend = *w->c.ctx->backend;
  if (w->backend.record == NULL) {
    w->backend.record = &stand_in;
    w->c.ctx->backend = &w->backend;
  }
  w->M = case_dirac(&w->c, kappa, 1, 1, outer, KAON_RECONSTRUCT_18);
  w->R = case_even_odd(&w->c, w->M, KAON_EVEN_ODD_SYMMETRIC, KAON_EVEN, 0);
  w->b = case_vector(&w->c, KAON_FULL, outer, columns);
  w->x = case_vector(&w->c, KAON_FULL, outer, columns);
  w->guess = case_vector(&w->c, KAON_FULL, outer, columns);
  must(w->c.ctx, kaon_source_gauss(w->b, 3));
  must(w->c.ctx, kaon_vector_zero(w->guess));
  return 1;
}

static int open_world(world *w, const int extents[4], int columns, double kappa) {
  return open_world_in(w, extents, columns, kappa, KAON_DOUBLE);
}

static void close_world(world *w) {
  kaon_vector_destroy(&w->b);
  kaon_vector_destroy(&w->x);
  kaon_vector_destroy(&w->guess);
  kaon_operator_destroy(&w->R);
  kaon_operator_destroy(&w->M);
  case_close(&w->c);
}

static kaon_solver_options options_of(kaon_method method, kaon_precision sloppy) {
  kaon_solver_options o = KAON_SOLVER_OPTIONS_INIT;
  o.method = method;
  o.sloppy = sloppy;
  o.subspace = 6;
  o.max_iterations = 900;
  return o;
}

/* A guess whose column k is k orders of magnitude away from the solution; the last is 0. */
static void make_guess(world *w) {
  kaon_solver_options o = options_of(KAON_BICGSTAB, KAON_DOUBLE);
  kaon_solver *s = NULL;
  must(w->c.ctx, kaon_solver_create(w->R, COLUMNS, &o, &s));
  must(w->c.ctx, kaon_vector_zero(w->x));
  must(w->c.ctx, kaon_solver_solve(s, w->b, w->x, NULL, NULL));
  kaon_solver_destroy(&s);
  for (int k = 0; k < COLUMNS; k++) {
    ref_complex *psi = case_export(&w->c, w->x, k);
    for (size_t i = 0; i < ref_spinor_size(&w->c.L); i++)
      psi[i] *= k == 0 ? 1 + 1e-6 : k == 1 ? 1 + 1e-3 : 0;
    must(w->c.ctx, kaon_vector_import(w->guess, k, (const double *)psi, KAON_BASIS_UKQCD));
    free(psi);
  }
}

typedef struct {
  ref_complex *x[COLUMNS];
  kaon_column_report report[COLUMNS];
  double history[COLUMNS][ROOM];
  int count[COLUMNS];
} outcome;

static void take(world *w, kaon_solver *s, outcome *out) {
  must(w->c.ctx, kaon_vector_copy(w->x, w->guess));
  must(w->c.ctx, kaon_solver_solve(s, w->b, w->x, out->report, NULL));
  for (int k = 0; k < COLUMNS; k++) {
    out->x[k] = case_export(&w->c, w->x, k);
    out->count[k] = ROOM;
    must(w->c.ctx, kaon_solver_history(s, k, out->history[k], &out->count[k]));
    assert_true(out->count[k] <= ROOM);
  }
}

static void release(outcome *out) {
  for (int k = 0; k < COLUMNS; k++) free(out->x[k]);
}

static void assert_same(const world *w, const outcome *a, const outcome *b) {
  for (int k = 0; k < COLUMNS; k++) {
    assert_int_equal(a->report[k].iterations, b->report[k].iterations);
    assert_int_equal(a->report[k].updates, b->report[k].updates);
    assert_int_equal(a->report[k].reason, b->report[k].reason);
    assert_int_equal(a->count[k], b->count[k]);
    assert_memory_equal(a->history[k], b->history[k], (size_t)a->count[k] * sizeof(double));
    assert_memory_equal(a->x[k], b->x[k], ref_spinor_size(&w->c.L) * sizeof *a->x[k]);
  }
}

/* A solver that issues so; block 0: its own. */
static kaon_solver *solver_of(world *w, kaon_solver_options o, kaon_issue issue, int block) {
  kaon_solver *s = NULL;
  w->c.ctx->lab.issue = issue;
  must(w->c.ctx, kaon_solver_create(w->R, COLUMNS, &o, &s));
  if (block > 0) s->replay.block = block;
  return s;
}

/* The form that is used: a device has no lists of these operators' kernels. */
static int form_of(int issue) {
  const int listed = issue == KAON_ISSUE_CDP || issue == KAON_ISSUE_PERSISTENT;
  return machine == MACHINE_CUDA && listed ? KAON_ISSUE_WHILE : issue;
}

static const int small[4] = {4, 4, 4, 8};

static void one_method(world *w, kaon_method method, kaon_precision sloppy, kaon_operator *K) {
  static const int blocks[] = {0, 4, 16}, intervals[] = {10, 1, 256};
  kaon_solver_options o = options_of(method, sloppy);
  o.preconditioner = K;
  kaon_solver *s = solver_of(w, o, KAON_ISSUE_PLAIN, 0);
  const int dependent = w->c.ctx->dependent;
  outcome plain, other;
  w->c.ctx->dependent = 0; /* a device: no launch begins before the one before has ended */
  take(w, s, &plain);
  w->c.ctx->dependent = dependent;
  assert_int_equal(s->replay.recorded.form, KAON_ISSUE_AUTO);
  kaon_solver_destroy(&s);
  for (int issue = KAON_ISSUE_REPLAY; issue <= KAON_ISSUE_PERSISTENT; issue++)
    for (int i = 0; i < 3; i++) {
      if (TEST_SLOWED && i != (issue + (int)method) % 3) continue;
      o.check_interval = intervals[i];
      s = solver_of(w, o, (kaon_issue)issue, method == KAON_GCR ? 0 : blocks[i]);
      for (int again = 0; again < 2; again++) { /* the second time by the old recording */
        take(w, s, &other);
        assert_int_equal(s->replay.recorded.form, form_of(issue));
        assert_same(w, &plain, &other);
        release(&other);
      }
      kaon_solver_destroy(&s);
    }
  printf("  %-8s double/%-6s %3d, %3d, %3d steps, %d updates: same bits\n", method_name(method),
         precision_names[sloppy], plain.report[0].iterations, plain.report[1].iterations,
         plain.report[2].iterations, plain.report[2].updates);
  assert_true(plain.report[0].iterations < plain.report[2].iterations);
  release(&plain);
}

static void bits_do_not_depend_on_how_steps_are_issued(void **state) {
  (void)state;
  world w;
  if (!open_world(&w, small, COLUMNS, 0.12)) return;
  make_guess(&w);
  for (int m = 0; m < METHODS; m = next_krylov(m))
    for (int p = KAON_DOUBLE; p <= coarsest(m); p++)
      if (!method_has(m, KAON_METHOD_HERMITIAN) && (!TEST_SLOWED || p == m % (coarsest(m) + 1)))
        one_method(&w, (kaon_method)m, (kaon_precision)p, NULL);
  close_world(&w);
}

/* The same with Jacobi's preconditioner, of a diagonal made up here. */
static kaon_status made_up_diagonal(kaon_operator *A, kaon_vector *d) {
  const size_t count = 24 * (size_t)A->space->lattice->volume;
  double *host = calloc(count, sizeof *host);
  for (size_t i = 0; i < count; i += 2) host[i] = 1 + 0.1 * (double)(i / 24 % 5);
  const kaon_status status = kaon_vector_import(d, 0, host, KAON_BASIS_UKQCD);
  free(host);
  return status;
}

static void bits_of_preconditioned_methods_neither(void **state) {
  (void)state;
  static const kaon_method methods[] = {KAON_BICGSTAB, KAON_PIPEBICGSTAB, KAON_BICG,
                                        KAON_RBICGSTAB};
  static const kaon_operator_ops ops = {.name = "diagonal", .diagonal = made_up_diagonal};
  world w;
  if (!open_world(&w, small, COLUMNS, 0.12)) return;
  make_guess(&w);
  kaon_operator A = {.ops = &ops,
                     .ctx = w.c.ctx,
                     .space = kaon_operator_space(w.R),
                     .precision = KAON_DOUBLE,
                     .references = 1},
                *K = NULL;
  must(w.c.ctx, kaon_precond_jacobi(&A, &K));
  for (size_t m = 0; m < sizeof methods / sizeof *methods; m++)
    for (int p = KAON_DOUBLE; p <= KAON_SINGLE; p++)
      one_method(&w, methods[m], (kaon_precision)p, K);
  kaon_operator_destroy(&K);
  close_world(&w);
}

/* Memory that a recording refers to may be freed: the user's vectors, and vectors that operators
 * lend to solvers. */
static void recordings_follow_the_memory(void **state) {
  (void)state;
  world w;
  if (!open_world(&w, small, COLUMNS, 0.12)) return;
  make_guess(&w);
  const kaon_solver_options o = options_of(KAON_CGNR, KAON_SINGLE);
  kaon_solver *s = solver_of(&w, o, KAON_ISSUE_AUTO, 0), *wide = NULL;
  outcome first, other;
  kaon_vector *b = w.b, *x = w.x;
  take(&w, s, &first);
  assert_int_equal(s->replay.recorded.form, KAON_ISSUE_WHILE);

  w.x = case_vector(&w.c, KAON_FULL, KAON_DOUBLE, COLUMNS);
  w.b = case_vector(&w.c, KAON_FULL, KAON_DOUBLE, COLUMNS);
  must(w.c.ctx, kaon_vector_copy(w.b, b));
  kaon_vector_destroy(&b);
  kaon_vector_destroy(&x);
  take(&w, s, &other);
  assert_same(&w, &first, &other);
  release(&other);

  must(w.c.ctx, kaon_solver_create(w.R, 2 * COLUMNS, &o, &wide)); /* the operator's room grows */
  kaon_vector *stranger = case_vector(&w.c, KAON_EVEN, KAON_SINGLE, COLUMNS);
  ref_complex **psi = case_random_columns(&w.c, COLUMNS, 9);
  case_import(&w.c, stranger, psi);
  case_free_columns(psi, COLUMNS);
  double before[COLUMNS], after[COLUMNS];
  must(w.c.ctx, kaon_vector_norm2(stranger, before));
  take(&w, s, &other);
  assert_same(&w, &first, &other);
  must(w.c.ctx, kaon_vector_norm2(stranger, after));
  assert_memory_equal(before, after, sizeof before);
  release(&other);
  release(&first);
  kaon_vector_destroy(&stranger);
  kaon_solver_destroy(&wide);
  kaon_solver_destroy(&s);
  close_world(&w);
}

/* A launch is recorded with its shape, which a tuning may change; on a device the bits of sums
 * change with it. */
static void recordings_follow_the_tuning(void **state) {
  (void)state;
  world w;
  kaon_context_info info = KAON_CONTEXT_INFO_INIT;
  if (!open_world(&w, small, COLUMNS, 0.12)) return;
  kaon_solver *s = solver_of(&w, options_of(KAON_CGNR, KAON_SINGLE), KAON_ISSUE_AUTO, 0);
  must(w.c.ctx, kaon_context_query(w.c.ctx, &info));
  const kaon_tuning nothing = {
      .version = kaon_version(), .backend = info.backend, .device = info.device, .isa = info.isa};
  uint64_t recorded = 0;
  for (int turn = 0; turn < 6; turn++) { /* a table, the same for two solves; none; again */
    if (turn % 2 == 0)
      must(w.c.ctx, kaon_context_set_tuning(w.c.ctx, turn % 4 == 0 ? &nothing : NULL));
    const int before = calls.loops;
    must(w.c.ctx, kaon_vector_zero(w.x));
    must(w.c.ctx, kaon_solver_solve(s, w.b, w.x, NULL, NULL));
    assert_int_equal(s->replay.recorded.form, KAON_ISSUE_WHILE);
    if (machine == MACHINE_CPU) assert_int_equal(calls.loops - before, turn % 2 == 0);
    assert_true(turn % 2 == 0 ? s->replay.recorded.tunings > recorded
                              : s->replay.recorded.tunings == recorded);
    recorded = s->replay.recorded.tunings;
  }
  kaon_solver_destroy(&s);
  close_world(&w);
}

static void a_recording_of_changed_links_is_stale(void **state) {
  (void)state;
  world w;
  if (!open_world(&w, small, COLUMNS, 0.12)) return;
  kaon_solver *s = solver_of(&w, options_of(KAON_CGNR, KAON_HALF), KAON_ISSUE_AUTO, 0);
  kaon_column_report r[COLUMNS];
  must(w.c.ctx, kaon_solver_solve(s, w.b, w.x, r, NULL));
  must(w.c.ctx, kaon_gauge_weak(w.c.gauge, 0.3, 12));
  must_refuse(w.c.ctx, KAON_ERR_STALE, kaon_solver_solve(s, w.b, w.x, r, NULL));
  must(w.c.ctx, kaon_dirac_update(w.M));
  must(w.c.ctx, kaon_solver_solve(s, w.b, w.x, r, NULL));
  for (int k = 0; k < COLUMNS; k++) assert_int_equal(r[k].reason, KAON_CONVERGED);
  assert_int_equal(s->replay.recorded.form, KAON_ISSUE_WHILE);
  kaon_solver_destroy(&s);
  close_world(&w);
}

/* ---- whole solves replayed: from the third one on, of the same vectors, from x = 0 ---- */

enum { TURNS = 15 };

/* What a turn's solve is given; refused: b has a NaN. */
typedef enum { FROM_ZERO, GUESSED, NO_SOURCE, SPOILT, KINDS } kind;

typedef struct {
  kaon_vector *b[KINDS], *guess[KINDS], *source; /* source: what is solved for, at one address */
  kaon_vector *kept[TURNS];                      /* solutions */
  kaon_column_report report[TURNS][COLUMNS];
  double history[TURNS][COLUMNS][ROOM];
  int count[TURNS][COLUMNS];
  int single_launch[TURNS];
} series;

static void write_first(world *w, kaon_vector *v, double value) {
  const float narrow = (float)value;
  if (w->outer == KAON_DOUBLE)
    machine_write(w->c.ctx, v->data, &value, sizeof value);
  else
    machine_write(w->c.ctx, v->data, &narrow, sizeof narrow);
}

static kaon_vector *copy_of(world *w, kaon_vector *v) {
  kaon_vector *copy = case_vector(&w->c, KAON_FULL, w->outer, COLUMNS);
  must(w->c.ctx, kaon_vector_copy(copy, v));
  return copy;
}

static void open_series(world *w, series *t) {
  ref_complex *nothing = calloc(ref_spinor_size(&w->c.L), sizeof *nothing);
  for (int k = 0; k < KINDS; k++) {
    t->b[k] = copy_of(w, w->b);
    t->guess[k] = case_vector(&w->c, KAON_FULL, w->outer, COLUMNS);
    must(w->c.ctx, kaon_vector_zero(t->guess[k]));
  }
  must(w->c.ctx, kaon_vector_import(t->b[NO_SOURCE], 1, (const double *)nothing, KAON_BASIS_UKQCD));
  write_first(w, t->b[SPOILT], NAN);
  write_first(w, t->guess[GUESSED], 0.25);
  for (int i = 0; i < TURNS; i++) t->kept[i] = copy_of(w, w->b);
  t->source = copy_of(w, w->b);
  free(nothing);
}

static void close_series(series *t) {
  for (int k = 0; k < KINDS; k++) {
    kaon_vector_destroy(&t->b[k]);
    kaon_vector_destroy(&t->guess[k]);
  }
  for (int i = 0; i < TURNS; i++) kaon_vector_destroy(&t->kept[i]);
  kaon_vector_destroy(&t->source);
}

/* One solve. It must not return memory to the pool, or recordings would become invalid. */
static void turn(world *w, series *t, kaon_solver *s, kind of, int i) {
  must(w->c.ctx, kaon_vector_copy(t->source, t->b[of]));
  must(w->c.ctx, kaon_vector_copy(w->x, t->guess[of]));
  const kaon_status status = kaon_solver_solve(s, t->source, w->x, t->report[i], NULL);
  assert_int_equal(status, of == SPOILT ? KAON_ERR_NOT_FINITE : KAON_OK);
  must(w->c.ctx, kaon_vector_copy(t->kept[i], w->x));
  t->single_launch[i] = s->launch.single;
  for (int k = 0; k < COLUMNS && status == KAON_OK; k++) {
    t->count[i][k] = ROOM;
    must(w->c.ctx, kaon_solver_history(s, k, t->history[i][k], &t->count[i][k]));
    assert_true(t->count[i][k] <= ROOM);
  }
}

/* Of turn i and of a plain solve, the same bits. */
static void compare(world *w, const series *t, int i, const series *plain) {
  for (int k = 0; k < COLUMNS; k++) {
    ref_complex *a = case_export(&w->c, t->kept[i], k), *b = case_export(&w->c, plain->kept[0], k);
    assert_memory_equal(a, b, ref_spinor_size(&w->c.L) * sizeof *a);
    assert_memory_equal(&t->report[i][k], &plain->report[0][k], sizeof t->report[i][k]);
    assert_int_equal(t->count[i][k], plain->count[0][k]);
    assert_memory_equal(t->history[i][k], plain->history[0][k],
                        (size_t)t->count[i][k] * sizeof(double));
    free(a);
    free(b);
  }
}

/* In the round SLOW a check comes long before the end, so the next solve is not expected to end by
 * its first check. From the second round on the rate of checks is set, independent of this
 * machine. */
static void one_straight(world *w, const kaon_solver_options *o) {
  static const kind kinds[] = {FROM_ZERO, FROM_ZERO, FROM_ZERO, FROM_ZERO, FROM_ZERO,
                               FROM_ZERO, GUESSED,   FROM_ZERO, FROM_ZERO, NO_SOURCE,
                               FROM_ZERO, FROM_ZERO, SPOILT,    FROM_ZERO, FROM_ZERO};
  static const char *const went = "001101001011001"; /* a refused one is straight no more */
  enum { N = sizeof kinds / sizeof *kinds, SLOW = 3 };
  kaon_solver *plain = solver_of(w, *o, KAON_ISSUE_PLAIN, 0);
  kaon_solver *s = solver_of(w, *o, KAON_ISSUE_WHILE, 0);
  series *t = calloc(1, sizeof *t), *u = calloc(1, sizeof *u);
  char single_launch[N + 1] = "";
  open_series(w, t);
  open_series(w, u);
  for (int i = 0; i < N; i++) {
    if (i > 0) s->replay.rate = i == SLOW ? 1 : 1e-6;
    turn(w, t, s, kinds[i], i);
    single_launch[i] = (char)('0' + t->single_launch[i]);
  }
  printf("  %-8s stop %d, %s/%-6s in one go: %s\n", method_name((int)o->method), (int)o->stop,
         precision_names[w->outer], precision_names[o->sloppy], single_launch);
  for (int of = 0; of < KINDS; of++) {
    memset(u->report, 0, sizeof u->report);
    memset(u->count, 0, sizeof u->count);
    turn(w, u, plain, (kind)of, 0);
    for (int i = 0; i < N; i++)
      if ((int)kinds[i] == of) compare(w, t, i, u);
  }
  assert_string_equal(single_launch, went);
  close_series(t);
  close_series(u);
  free(t);
  free(u);
  kaon_solver_destroy(&s);
  kaon_solver_destroy(&plain);
}

/* Without even-odd reduction, in single, only the final copy separates the system's solution from
 * the user's. It may not run before the solve has ended (SLOW). */
static void one_straight_unreduced(world *w) {
  kaon_operator *const reduced = w->R;
  kaon_solver_options o = options_of(KAON_CGNR, w->outer);
  o.tol = w->outer == KAON_DOUBLE ? 1e-8 : 1e-5;
  o.check_interval = 256;
  w->R = w->M;
  one_straight(w, &o);
  w->R = reduced;
}

static void solves_in_one_go(kaon_precision outer) {
  static const kaon_method methods[] = {KAON_CGNR, KAON_BICGSTAB, KAON_GCR, KAON_BLOCKCGNR};
  static const kaon_stop stops[] = {KAON_STOP_FULL, KAON_STOP_REDUCED, KAON_STOP_NORMAL};
  world w;
  if (!open_world_in(&w, small, COLUMNS, 0.12, outer)) return;
  const int before = calls.starts;
  for (size_t m = 0; m < sizeof methods / sizeof *methods; m++)
    for (int i = 0; i < 3; i++) {
      kaon_solver_options o = options_of(methods[m], (kaon_precision)((m + i) % 3));
      o.stop = stops[i];
      o.tol = outer == KAON_DOUBLE ? 1e-8 : 1e-5;
      if (o.sloppy < outer) o.sloppy = outer;
      o.check_interval = 256;                             /* all of a solve before the first look */
      if (methods[m] == KAON_BLOCKCGNR) o.sloppy = outer; /* few steps */
      if (TEST_SLOWED && i != (int)m % 3) continue;
      one_straight(&w, &o);
    }
  one_straight_unreduced(&w);
  if (machine == MACHINE_CPU) assert_true(calls.starts >= before + (TEST_SLOWED ? 4 : 12) * 7);
  close_world(&w);
}

static void solves_in_one_go_in_double(void **state) {
  (void)state;
  solves_in_one_go(KAON_DOUBLE);
}

static void solves_in_one_go_in_single(void **state) {
  (void)state;
  solves_in_one_go(KAON_SINGLE);
}

/* ---- what the monitor says ---- */

typedef struct {
  int next[COLUMNS], stop_at;
} counter_check;

static int watch(void *user, int iteration, int column, double residual) {
  counter_check *seen = user;
  assert_int_equal(iteration, seen->next[column]);
  assert_true(residual > 0);
  seen->next[column]++;
  return iteration >= seen->stop_at;
}

static void a_monitor_ends_recorded_solves(void **state) {
  (void)state;
  world w;
  if (!open_world(&w, small, COLUMNS, 0.12)) return;
  for (int m = 0; m < METHODS; m = next_krylov(m))
    for (int issue = KAON_ISSUE_REPLAY; issue <= KAON_ISSUE_PERSISTENT; issue++) {
      if (method_has(m, KAON_METHOD_HERMITIAN)) continue;
      counter_check seen = {.stop_at = 12};
      kaon_solver_options o = options_of((kaon_method)m, KAON_SINGLE);
      kaon_column_report r[COLUMNS];
      o.tol = 1e-12;
      o.check_interval = 5;
      o.monitor = watch;
      o.monitor_user = &seen;
      kaon_solver *s = solver_of(&w, o, (kaon_issue)issue, 0);
      must(w.c.ctx, kaon_vector_zero(w.x));
      must(w.c.ctx, kaon_solver_solve(s, w.b, w.x, r, NULL));
      int count = 0, most = 0;
      must(w.c.ctx, kaon_solver_history(s, 0, NULL, &count));
      for (int k = 0; k < COLUMNS; k++)
        if (r[k].iterations > most) most = r[k].iterations;
      printf("  %-8s %-6s told to end at step 12, ended at %d\n", method_name(m),
             issue_names[issue], most);
      assert_int_equal(count, r[0].iterations + 1);
      assert_true(most >= 12); /* some column was there; another may have waited for its residual */
      /* what is at work and what is queued when the host hears of step 12 */
      assert_true(r[0].reason == KAON_CANCELLED || r[0].reason == KAON_CONVERGED);
      kaon_solver_destroy(&s);
    }
  close_world(&w);
}

/* ---- preconditioners: a fixed number of steps is recorded, an inner solve is not ---- */

/* A solver as an operator. It has been used, so its solves to a tolerance are recorded. */
static kaon_operator *nested(world *w, double tol) {
  kaon_solver_options o = options_of(tol > 0 ? KAON_BICGSTAB : KAON_MR, KAON_DOUBLE);
  kaon_solver *inner = NULL;
  kaon_operator *K = NULL;
  o.tol = tol;
  o.max_iterations = 4;
  w->c.ctx->lab.issue = KAON_ISSUE_AUTO;
  must(w->c.ctx, kaon_solver_create(w->R, COLUMNS, &o, &inner));
  must(w->c.ctx, kaon_solver_solve(inner, w->b, w->x, NULL, NULL));
  must(w->c.ctx, kaon_solver_as_operator(inner, &K));
  kaon_solver_destroy(&inner);
  return K;
}

static void nested_solvers(void **state) {
  static const kaon_issue issues[3] = {KAON_ISSUE_AUTO, KAON_ISSUE_AUTO, KAON_ISSUE_PLAIN};
  (void)state;
  world w;
  if (!open_world(&w, small, COLUMNS, 0.12)) return;
  make_guess(&w);
  for (int tolerance = 0; tolerance < 2; tolerance++) {
    kaon_solver_options o = options_of(KAON_GCR, KAON_DOUBLE);
    kaon_solver *s[3];
    outcome of[3];
    o.preconditioner = nested(&w, tolerance ? 0.1 : 0);
    for (int i = 0; i < 3; i++) s[i] = solver_of(&w, o, issues[i], 0);
    for (int i = 0; i < 3; i++) {
      w.c.ctx->lab.issue = issues[i];
      calls.refuse = tolerance; /* the stand-in cannot find out by itself */
      take(&w, s[i], &of[i]);
      calls.refuse = 0;
      printf("  K with tol = %g: %d steps, %s\n", tolerance ? 0.1 : 0, of[i].report[2].iterations,
             issue_names[s[i]->replay.recorded.form]);
      const int tries = issues[i] == KAON_ISSUE_AUTO, loops = tries && !tolerance;
      assert_int_equal(s[i]->replay.recorded.form, loops ? KAON_ISSUE_WHILE : KAON_ISSUE_AUTO);
      assert_int_equal(s[i]->replay.unrecordable, tries && tolerance);
      assert_same(&w, &of[0], &of[i]);
    }
    for (int i = 0; i < 3; i++) {
      release(&of[i]);
      kaon_solver_destroy(&s[i]);
    }
    kaon_operator_destroy(&o.preconditioner);
  }
  close_world(&w);
}

/* The substitute recorder was used; otherwise the tests above compared plain solves. */
static void the_recorder_was_used(void **state) {
  (void)state;
  if (machine == MACHINE_CUDA) return;
  printf("  %d recordings, %d runs, %d services\n", calls.records, calls.runs, calls.serves);
  assert_true(calls.records > 0 && calls.runs > calls.records && calls.serves > 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(bits_do_not_depend_on_how_steps_are_issued),
      cmocka_unit_test(bits_of_preconditioned_methods_neither),
      cmocka_unit_test(recordings_follow_the_memory),
      cmocka_unit_test(recordings_follow_the_tuning),
      cmocka_unit_test(a_recording_of_changed_links_is_stale),
      cmocka_unit_test(solves_in_one_go_in_double),
      cmocka_unit_test(solves_in_one_go_in_single),
      cmocka_unit_test(a_monitor_ends_recorded_solves),
      cmocka_unit_test(nested_solvers),
      cmocka_unit_test(the_recorder_was_used),
  };
  const char *only = getenv("KAON_TEST_MACHINE");
  if (only == NULL || strcmp(only, "cuda") != 0) test_group(tests, NULL, NULL);
  machine = MACHINE_CUDA;
  if (!machine_lacks(MACHINE_CUDA)) test_group(tests, NULL, NULL);
  return test_end();
}
