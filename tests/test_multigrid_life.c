/* test_multigrid_life.c - multigrid preconditioners whose operator changes, and those that cannot be
 * made: statuses, sentences with numbers, and memory that is given back. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdlib.h>

#include <kaon/staggered.h>

#include "lib/operator/operator_internal.h"
#include "lib/vector/space.h"
#include "multigrid/refresh.h"
#include "tests/reference/reference.h"
#include "tests/util/machine.h"
#include "tests/util/multigrid_case.h"

static const int large[4] = {8, 8, 8, 8}, small[4] = {8, 4, 4, 8};

static multigrid_case open_case(int machine, const int extents[4]) {
  kaon_context_options options = KAON_CONTEXT_OPTIONS_INIT;
  kaon_context *ctx = NULL;
  options.threads = 1;
  must(NULL, machine_open(machine, options, &ctx));
  multigrid_case c = multigrid_open(ctx, extents);
  must(ctx, kaon_gauge_weak(c.gauge, 0.4, 3));
  multigrid_dirac(&c, 0.135, 1, 0);
  return c;
}

static kaon_multigrid_options options_of_small(void) {
  kaon_multigrid_options o = multigrid_small();
  o.block[1][1] = o.block[1][2] = 1;
  return o;
}

/* The default machine, or the device. */
static int next_machine(int machine) {
  return machine == MACHINE_CPU ? MACHINE_CUDA : MACHINE_LAST + 1;
}

/* ---- links that change ---- */

/* Each link times a matrix of SU(3) near 1. */
static void change_links(multigrid_case *c, double eps) {
  const int *n = c->lattice->extents;
  const ref_lattice L = ref_lattice_make(n[0], n[1], n[2], n[3]);
  ref_complex *u = ref_new(ref_links_size(&L)), *step = ref_new(ref_links_size(&L));
  ref_complex product[9];
  must(c->ctx, kaon_gauge_export(c->gauge, KAON_ORDER_NATURAL, KAON_DOUBLE, (void *[]){u}));
  ref_weak_links(&L, step, eps, 11);
  for (size_t i = 0; i < ref_links_size(&L); i += 9) {
    ref_mul(product, step + i, u + i);
    memcpy(u + i, product, sizeof product);
  }
  must(c->ctx, kaon_gauge_import(c->gauge, KAON_ORDER_NATURAL, KAON_DOUBLE, (const void *[]){u}));
  free(u);
  free(step);
}

/* A solve with K is refused, and the sentence names this function. */
static void refused_until(multigrid_case *c, kaon_operator *K, const char *function) {
  kaon_vector *b = multigrid_vector(c, 1), *x = multigrid_vector(c, 1);
  kaon_solver_options o = KAON_SOLVER_OPTIONS_INIT;
  kaon_solver *solver = NULL;
  o.method = KAON_GCR;
  o.preconditioner = K;
  must(c->ctx, kaon_source_z4(b, 1));
  must(c->ctx, kaon_vector_zero(x));
  kaon_status status = kaon_solver_create(c->A, 1, &o, &solver);
  if (status == KAON_OK) status = kaon_solver_solve(solver, b, x, NULL, NULL);
  must_refuse(c->ctx, KAON_ERR_STALE, status);
  assert_non_null(strstr(kaon_last_error(c->ctx), function));
  kaon_solver_destroy(&solver);
  kaon_vector_destroy(&b);
  kaon_vector_destroy(&x);
}

/* MILC's configuration near criticality with the default options, or weak links without it. */
static multigrid_case open_light(int machine, kaon_multigrid_options *o) {
  const kaon_multigrid_options standard = KAON_MULTIGRID_OPTIONS_INIT;
  char path[1024];
  multigrid_case c = open_case(machine, large);
  *o = multigrid_small();
  if (test_data("milc/milc_lat.sample.l8888", path) == NULL) return c;
  *o = standard;
  must(c.ctx, kaon_gauge_read(c.gauge, path, NULL, NULL));
  multigrid_dirac(&c, 0.1352, 1.769, 0);
  return c;
}

/* Stale until it is updated in any of four ways. The links change as much as in a short step of
 * molecular dynamics. Bounds: 1.3 and 1.1 times the steps after a rebuild, and one, by which other
 * random vectors change a count. */
static void updates(void **state) {
  (void)state;
  static const char *const names[] = {"reuse", "update", "refresh", "rebuild"};
  for (int machine = MACHINE_CPU; machine <= MACHINE_LAST; machine = next_machine(machine)) {
    if (machine_lacks(machine)) continue;
    kaon_multigrid_options o;
    multigrid_case c = open_light(machine, &o);
    kaon_operator *K = multigrid_of(&c, &o);
    const int before = multigrid_solve(&c, K, 1, 1, NULL);
    int steps[4];
    change_links(&c, 0.01);
    refused_until(&c, K, "kaon_dirac_update");
    must_refuse(c.ctx, KAON_ERR_STALE, kaon_multigrid_update(K, KAON_MULTIGRID_UPDATE));
    must(c.ctx, kaon_dirac_update(c.A));
    refused_until(&c, K, "kaon_multigrid_update");
    for (int how = KAON_MULTIGRID_REUSE; how <= KAON_MULTIGRID_REBUILD; how++) {
      must(c.ctx, kaon_multigrid_update(K, (kaon_multigrid_refresh)how));
      kaon_multigrid_info info = KAON_MULTIGRID_INFO_INIT;
      must(c.ctx, kaon_multigrid_describe(K, &info));
      assert_int_equal(info.last, how);
      steps[how] = multigrid_solve(&c, K, 1, 1, NULL);
      printf("  %s: %d steps (%d before), %.3f s\n", names[how], steps[how], before, info.seconds);
      must(c.ctx, kaon_dirac_update(c.A)); /* A is another one, even if its numbers are not */
      if (how == KAON_MULTIGRID_REUSE) refused_until(&c, K, "kaon_multigrid_update");
    }
    assert_true(steps[KAON_MULTIGRID_UPDATE] <= 1.3 * steps[KAON_MULTIGRID_REBUILD] + 1);
    assert_true(steps[KAON_MULTIGRID_REFRESH] <= 1.1 * steps[KAON_MULTIGRID_REBUILD] + 1);
    kaon_operator_destroy(&K);
    multigrid_close(&c);
  }
}

/* ---- the automatic choice ---- */

/* What AUTO does after one solve of so many steps. */
static kaon_multigrid_refresh chosen(kaon_refresh_rule *rule, int steps, int converged) {
  kaon_refresh_solved(rule, steps, converged);
  const kaon_multigrid_refresh how = kaon_refresh_choose(rule);
  kaon_refresh_updated(rule, how);
  return how;
}

static void the_rule(void **state) {
  (void)state;
  kaon_refresh_rule rule = {.last = KAON_MULTIGRID_REBUILD};
  assert_int_equal(kaon_refresh_choose(&rule), KAON_MULTIGRID_UPDATE); /* nothing is known */
  assert_int_equal(chosen(&rule, 20, 1), KAON_MULTIGRID_UPDATE);       /* the reference */
  assert_int_equal(chosen(&rule, 30, 1), KAON_MULTIGRID_UPDATE);
  assert_int_equal(chosen(&rule, 31, 1), KAON_MULTIGRID_REFRESH);
  assert_int_equal(chosen(&rule, 30, 1), KAON_MULTIGRID_UPDATE); /* it did */
  assert_int_equal(chosen(&rule, 31, 1), KAON_MULTIGRID_REFRESH);
  assert_int_equal(chosen(&rule, 31, 1), KAON_MULTIGRID_REBUILD); /* it did not */
  assert_int_equal(chosen(&rule, 40, 1), KAON_MULTIGRID_UPDATE);  /* another reference */
  assert_int_equal(chosen(&rule, 60, 1), KAON_MULTIGRID_UPDATE);
  assert_int_equal(chosen(&rule, 5, 0), KAON_MULTIGRID_REBUILD);
  /* Without solves there is nothing to judge by. Of several solves the slowest counts. */
  kaon_refresh_updated(&rule, kaon_refresh_choose(&rule));
  kaon_refresh_solved(&rule, 20, 1);
  assert_int_equal(chosen(&rule, 5, 1), KAON_MULTIGRID_UPDATE);
  kaon_refresh_solved(&rule, 31, 1);
  assert_int_equal(chosen(&rule, 5, 1), KAON_MULTIGRID_REFRESH);
}

/* The same through the interface: reports of columns, of which cancelled ones do not count. */
static void auto_follows_the_rule(void **state) {
  (void)state;
  static const struct {
    kaon_column_report reports[2];
    kaon_multigrid_refresh how;
  } solves[] = {
      {{{.iterations = 9, .reason = KAON_CONVERGED}, {.iterations = 10, .reason = KAON_CONVERGED}},
       KAON_MULTIGRID_UPDATE},
      {{{.iterations = 99, .reason = KAON_CANCELLED}, {.iterations = 9, .reason = KAON_CONVERGED}},
       KAON_MULTIGRID_UPDATE},
      {{{.iterations = 16, .reason = KAON_CONVERGED}, {.iterations = 9, .reason = KAON_CONVERGED}},
       KAON_MULTIGRID_REFRESH},
      {{{.iterations = 9, .reason = KAON_CONVERGED}, {.iterations = 9, .reason = KAON_STAGNATED}},
       KAON_MULTIGRID_REBUILD},
  };
  multigrid_case c = open_case(MACHINE_CPU, small);
  const kaon_multigrid_options o = options_of_small();
  kaon_multigrid_info info = KAON_MULTIGRID_INFO_INIT;
  kaon_operator *K = multigrid_of(&c, &o);
  for (size_t i = 0; i < sizeof solves / sizeof *solves; i++) {
    must(c.ctx, kaon_multigrid_solved(K, solves[i].reports, 2));
    must(c.ctx, kaon_dirac_update(c.A));
    must(c.ctx, kaon_multigrid_update(K, KAON_MULTIGRID_AUTO));
    must(c.ctx, kaon_multigrid_describe(K, &info));
    assert_int_equal(info.last, solves[i].how);
  }
  must_refuse(c.ctx, KAON_ERR_ARGUMENT, kaon_multigrid_solved(c.A, solves[0].reports, 1));
  must_refuse(c.ctx, KAON_ERR_ARGUMENT, kaon_multigrid_solved(K, solves[0].reports, 0));
  must_refuse(c.ctx, KAON_ERR_ARGUMENT, kaon_multigrid_solved(K, NULL, 1));
  kaon_operator_destroy(&K);
  multigrid_close(&c);
}

/* K of one mass preconditions another, and is stale when its own operator is. */
static void masses_share_a_set_up(void **state) {
  (void)state;
  multigrid_case c = open_case(MACHINE_CPU, small);
  const kaon_multigrid_options o = options_of_small();
  kaon_operator *K = multigrid_of(&c, &o), *own = c.A;
  const int steps = multigrid_solve(&c, K, 1, 1, NULL);
  c.A = NULL;
  multigrid_dirac(&c, 0.13, 1, 0);
  const int heavier = multigrid_solve(&c, K, 1, 1, NULL);
  printf("  its own mass: %d steps, a heavier one: %d\n", steps, heavier);
  assert_true(heavier <= 1.5 * steps);
  must(c.ctx, kaon_dirac_update(own));
  refused_until(&c, K, "kaon_multigrid_update");
  kaon_operator_destroy(&own);
  kaon_operator_destroy(&K);
  multigrid_close(&c);
}

enum { SMALL_REALS = 8 * 4 * 4 * 8 * 24 };

/* One column, in host memory. */
static double *solution_by(multigrid_case *c, kaon_solver *solver) {
  kaon_vector *b = multigrid_vector(c, 1), *x = multigrid_vector(c, 1);
  kaon_column_report report;
  double *host = calloc(SMALL_REALS, sizeof *host);
  must(c->ctx, kaon_source_z4(b, 1));
  must(c->ctx, kaon_vector_zero(x));
  must(c->ctx, kaon_solver_solve(solver, b, x, &report, NULL));
  assert_int_equal(report.reason, KAON_CONVERGED);
  must(c->ctx, kaon_vector_export(x, 0, host, KAON_BASIS_UKQCD));
  kaon_vector_destroy(&b);
  kaon_vector_destroy(&x);
  return host;
}

/* After new links and a rebuild, K is what a new one is, in every bit. A solver that was at work
 * with K before goes on with it. */
static void rebuilt(int machine, kaon_precision precision) {
  kaon_multigrid_options o = options_of_small();
  multigrid_case c = open_case(machine, small);
  o.precision[0] = precision;
  kaon_operator *K = multigrid_of(&c, &o);
  kaon_solver *old = multigrid_solver(&c, K, 1);
  double *before = solution_by(&c, old);
  change_links(&c, 0.1);
  must(c.ctx, kaon_dirac_update(c.A));
  must(c.ctx, kaon_multigrid_update(K, KAON_MULTIGRID_REBUILD));
  kaon_operator *fresh = multigrid_of(&c, &o);
  kaon_solver *new = multigrid_solver(&c, fresh, 1);
  double *a = solution_by(&c, old), *b = solution_by(&c, new);
  assert_memory_equal(a, b, SMALL_REALS * sizeof *a);
  assert_true(memcmp(a, before, SMALL_REALS * sizeof *a) != 0);
  free(before);
  free(a);
  free(b);
  kaon_solver_destroy(&old);
  kaon_solver_destroy(&new);
  kaon_operator_destroy(&K);
  kaon_operator_destroy(&fresh);
  multigrid_close(&c);
}

static void a_rebuilt_one_is_a_new_one(void **state) {
  (void)state;
  for (int machine = MACHINE_CPU; machine <= MACHINE_LAST; machine = next_machine(machine)) {
    if (machine_lacks(machine)) continue;
    rebuilt(machine, KAON_SINGLE);
    rebuilt(machine, KAON_HALF);
  }
}

/* K keeps its operator, which keeps the links. */
static void it_keeps_its_operator(void **state) {
  (void)state;
  const kaon_multigrid_options o = options_of_small();
  multigrid_case c = open_case(MACHINE_CPU, small);
  kaon_operator *K = multigrid_of(&c, &o), *M = c.A;
  kaon_vector *b = NULL, *x = NULL;
  const kaon_space *space = kaon_lattice_spinors(c.lattice, KAON_FULL);
  must(c.ctx, kaon_vector_create(c.ctx, space, kaon_operator_precision(K), 2, &b));
  must(c.ctx, kaon_vector_create(c.ctx, space, kaon_operator_precision(K), 2, &x));
  must(c.ctx, kaon_source_z4(b, 1));
  c.A = NULL;
  kaon_operator_destroy(&M);
  must(c.ctx, kaon_operator_apply(K, KAON_PLAIN, b, x));
  must_refuse(c.ctx, KAON_ERR_UNSUPPORTED, kaon_operator_apply(K, KAON_DAGGER, b, x));
  must(c.ctx, kaon_multigrid_update(K, KAON_MULTIGRID_REFRESH));
  kaon_vector_destroy(&b);
  kaon_vector_destroy(&x);
  kaon_operator_destroy(&K);
  multigrid_close(&c);
}

/* ---- what cannot be made ---- */

static int64_t memory_of(const kaon_context *ctx) {
  kaon_context_info info = KAON_CONTEXT_INFO_INIT;
  must(ctx, kaon_context_query(ctx, &info));
  return info.memory_now;
}

/* The status, a sentence with these words and no K. A second attempt leaves no more memory in use:
 * the first one may, in what A and the context keep for later. */
static void refused(kaon_operator *A, const kaon_multigrid_options *o, kaon_status status,
                    const char *words) {
  int64_t left[2];
  for (int i = 0; i < 2; i++) {
    kaon_operator *K = A;
    assert_int_equal(kaon_multigrid_create(A, o, &K), status);
    assert_null(K);
    if (i == 0) printf("  refused: %s\n", kaon_last_error(A->ctx));
    if (strstr(kaon_last_error(A->ctx), words) == NULL) fail_msg("it does not say '%s'", words);
    left[i] = memory_of(A->ctx);
  }
  assert_int_equal(left[1], left[0]);
}

static void options_that_cannot_be(void **state) {
  (void)state;
  multigrid_case c = open_case(MACHINE_CPU, small);
  kaon_multigrid_options o = options_of_small();
  o.block[0][0] = 3;
  refused(c.A, &o, KAON_ERR_ARGUMENT, "blocks of 3 sites in X");
  o.block[0][0] = 8; /* one aggregate, but an even number is needed */
  refused(c.A, &o, KAON_ERR_ARGUMENT, "blocks of 8 sites in X");
  o = options_of_small();
  o.block[1][3] = 3;
  refused(c.A, &o, KAON_ERR_ARGUMENT, "blocks of 3 sites in T");
  for (int l = 0; l < 3; l++) {
    o = options_of_small();
    o.precision[l] = KAON_DOUBLE;
    refused(c.A, &o, KAON_ERR_ARGUMENT, "double");
  }
  o = options_of_small();
  o.levels = 1;
  refused(c.A, &o, KAON_ERR_ARGUMENT, "2 to 4");
  o.levels = 5;
  refused(c.A, &o, KAON_ERR_ARGUMENT, "5");
  o.levels = 4; /* level 2 has 2^4 sites */
  refused(c.A, &o, KAON_ERR_ARGUMENT, "4 levels");
  o = options_of_small();
  o.vectors[0] = 65;
  refused(c.A, &o, KAON_ERR_ARGUMENT, "65");
  o.vectors[0] = -1;
  refused(c.A, &o, KAON_ERR_ARGUMENT, "-1");
  multigrid_close(&c);
}

/* A half of an aggregate of 4 sites has 24 numbers, so 25 vectors would depend on each other. The
 * same on level 1, whose halves have 8 numbers a site. */
static void too_many_vectors(void **state) {
  (void)state;
  for (int machine = MACHINE_CPU; machine <= MACHINE_LAST; machine = next_machine(machine)) {
    if (machine_lacks(machine)) continue;
    multigrid_case c = open_case(machine, small);
    kaon_multigrid_options o = options_of_small();
    o.block[0][2] = o.block[0][3] = 1;
    o.vectors[0] = 25;
    refused(c.A, &o, KAON_ERR_ARGUMENT, "25 vectors on level 0");
    o = options_of_small();
    o.block[1][0] = 1;
    o.vectors[1] = 17;
    refused(c.A, &o, KAON_ERR_ARGUMENT, "17 vectors on level 1");
    multigrid_close(&c);
  }
}

static void operators_that_cannot_be(void **state) {
  (void)state;
  multigrid_case c = open_case(MACHINE_CPU, small);
  const kaon_multigrid_options o = options_of_small();
  const kaon_staggered_options plain = KAON_STAGGERED_OPTIONS_INIT;
  kaon_multigrid_info info = KAON_MULTIGRID_INFO_INIT;
  kaon_operator *R = NULL, *S = NULL, *D = NULL, *K = c.A;
  must(c.ctx, kaon_dirac_even_odd(c.A, NULL, &R));
  refused(R, &o, KAON_ERR_UNSUPPORTED, "kaon_dirac_create()");
  must(c.ctx, kaon_staggered_create(c.gauge, NULL, &plain, &S));
  refused(S, &o, KAON_ERR_UNSUPPORTED, "staggered");
  must(c.ctx, kaon_domain_wall_create(c.gauge, NULL, &D));
  refused(D, &o, KAON_ERR_UNSUPPORTED, "kaon_dirac_create()");
  must_refuse(c.ctx, KAON_ERR_ARGUMENT, kaon_multigrid_create(NULL, &o, &K));
  assert_null(K);
  must_refuse(c.ctx, KAON_ERR_ARGUMENT, kaon_multigrid_create(c.A, &o, NULL));
  must_refuse(c.ctx, KAON_ERR_ARGUMENT, kaon_multigrid_describe(c.A, &info));
  must_refuse(c.ctx, KAON_ERR_ARGUMENT, kaon_multigrid_update(c.A, KAON_MULTIGRID_UPDATE));
  K = multigrid_of(&c, &o);
  must_refuse(c.ctx, KAON_ERR_ARGUMENT, kaon_multigrid_update(K, (kaon_multigrid_refresh)5));
  must_refuse(c.ctx, KAON_ERR_ARGUMENT, kaon_multigrid_describe(K, NULL));
  kaon_operator_destroy(&K);
  change_links(&c, 0.1);
  refused(c.A, &o, KAON_ERR_STALE, "kaon_dirac_update");
  kaon_operator_destroy(&R);
  kaon_operator_destroy(&S);
  kaon_operator_destroy(&D);
  multigrid_close(&c);
}

/* ---- the monitor, and times ---- */

/* Rounds of levels 0 and 1 as a monitor hears of them, round + 10 level. It cancels call `last`. */
typedef struct heard {
  int count, last, what[32];
} heard;

static int listen(void *user, int round, int level, double residual) {
  heard *h = user;
  assert_true(h->count < 32 && residual == 0);
  h->what[h->count++] = round + 10 * level;
  return h->count == h->last;
}

/* The levels below make rounds of their own in the last one. */
static void the_monitor_hears_of_rounds(void **state) {
  (void)state;
  static const int rounds[] = {0, 10, 1, 2, 11, 12};
  enum { ROUNDS = sizeof rounds / sizeof *rounds };
  multigrid_case c = open_case(MACHINE_CPU, small);
  kaon_multigrid_options o = options_of_small();
  heard h = {.count = 0};
  o.setup = 2;
  o.monitor = listen;
  o.monitor_user = &h;
  kaon_operator *K = multigrid_of(&c, &o);
  assert_int_equal(h.count, ROUNDS);
  assert_memory_equal(h.what, rounds, sizeof rounds);
  h = (heard){.last = 3};
  assert_int_equal(kaon_multigrid_update(K, KAON_MULTIGRID_REBUILD), KAON_ERR_CANCELLED);
  refused_until(&c, K, "kaon_multigrid_update");
  h = (heard){.last = 0};
  must(c.ctx, kaon_multigrid_update(K, KAON_MULTIGRID_UPDATE)); /* rebuilds */
  assert_int_equal(h.count, ROUNDS);
  multigrid_solve(&c, K, 1, 1, NULL);
  kaon_operator_destroy(&K);
  for (int i = 1; i <= ROUNDS; i++) {
    const int64_t before = memory_of(c.ctx);
    h = (heard){.last = i};
    assert_int_equal(kaon_multigrid_create(c.A, &o, &K), KAON_ERR_CANCELLED);
    assert_null(K);
    assert_int_equal(memory_of(c.ctx), before);
  }
  multigrid_close(&c);
}

/* Which parts a level has, in sums that agree. Nothing is left, and K stays as it was. */
static void times_are_those_of_parts(void **state) {
  (void)state;
  for (int machine = MACHINE_CPU; machine <= MACHINE_LAST; machine = next_machine(machine)) {
    if (machine_lacks(machine)) continue;
    multigrid_case c = open_case(machine, small);
    kaon_multigrid_options o = options_of_small();
    o.setup = 1;
    kaon_operator *K = multigrid_of(&c, &o);
    kaon_solver *solver = multigrid_solver(&c, K, 1);
    double *before = solution_by(&c, solver), all = 0;
    kaon_multigrid_times t = KAON_MULTIGRID_TIMES_INIT;
    must(c.ctx, kaon_multigrid_measure(K, 3, &t)); /* A and the context keep some for later */
    const int64_t memory = memory_of(c.ctx);
    must(c.ctx, kaon_multigrid_measure(K, 3, &t));
    must(c.ctx, kaon_multigrid_measure(K, 1, &t));
    assert_int_equal(memory_of(c.ctx), memory);
    assert_int_equal(t.levels, 3);
    for (int l = 0; l < 3; l++) {
      const kaon_multigrid_part *p = &t.level[l];
      const int last = l == 2;
      assert_true(last ? p->smoother == 0 : p->smoother > 0);
      assert_true(last ? p->transfer == 0 : p->transfer > 0);
      assert_true(l == 1 ? p->krylov > 0 : p->krylov == 0);
      assert_true(last ? p->coarsest > 0 : p->coarsest == 0);
      const double sum = p->smoother + p->transfer + p->krylov + p->coarsest;
      assert_true(fabs(p->seconds - sum) <= 8 * 0x1p-53 * sum); /* four additions in any order */
      all += p->seconds;
    }
    assert_true(fabs(t.seconds - all) <= 8 * 0x1p-53 * all);
    double *after = solution_by(&c, solver);
    assert_memory_equal(after, before, SMALL_REALS * sizeof *after);
    free(before);
    free(after);
    must_refuse(c.ctx, KAON_ERR_ARGUMENT, kaon_multigrid_measure(K, 0, &t));
    must_refuse(c.ctx, KAON_ERR_ARGUMENT, kaon_multigrid_measure(c.A, 1, &t));
    must_refuse(c.ctx, KAON_ERR_ARGUMENT, kaon_multigrid_measure(K, 1, NULL));
    must(c.ctx, kaon_dirac_update(c.A));
    must_refuse(c.ctx, KAON_ERR_STALE, kaon_multigrid_measure(K, 1, &t));
    kaon_solver_destroy(&solver);
    kaon_operator_destroy(&K);
    multigrid_close(&c);
  }
}

/* A second K leaves no more memory in use than the first, and so do solves and updates with it. */
static void nothing_is_left(void **state) {
  (void)state;
  for (int machine = MACHINE_CPU; machine <= MACHINE_LAST; machine = next_machine(machine)) {
    if (machine_lacks(machine)) continue;
    multigrid_case c = open_case(machine, small);
    const kaon_multigrid_options o = options_of_small();
    int64_t solved = 0, destroyed = 0;
    for (int i = 0; i < 2; i++) {
      kaon_operator *K = multigrid_of(&c, &o);
      multigrid_solve(&c, K, 3, 1, NULL);
      if (i == 0) solved = memory_of(c.ctx);
      assert_int_equal(memory_of(c.ctx), solved);
      must(c.ctx, kaon_multigrid_update(K, KAON_MULTIGRID_REBUILD));
      multigrid_solve(&c, K, 3, 1, NULL);
      assert_int_equal(memory_of(c.ctx), solved);
      kaon_operator_destroy(&K);
      if (i == 0) destroyed = memory_of(c.ctx);
      assert_int_equal(memory_of(c.ctx), destroyed);
    }
    multigrid_close(&c);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(updates),
      cmocka_unit_test(the_rule),
      cmocka_unit_test(auto_follows_the_rule),
      cmocka_unit_test(masses_share_a_set_up),
      cmocka_unit_test(a_rebuilt_one_is_a_new_one),
      cmocka_unit_test(it_keeps_its_operator),
      cmocka_unit_test(options_that_cannot_be),
      cmocka_unit_test(too_many_vectors),
      cmocka_unit_test(operators_that_cannot_be),
      cmocka_unit_test(the_monitor_hears_of_rounds),
      cmocka_unit_test(times_are_those_of_parts),
      cmocka_unit_test(nothing_is_left),
  };
  return test_main(tests, NULL, NULL);
}
