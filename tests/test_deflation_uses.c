/* test_deflation_uses.c - deflation inside solves. The retained pairs belong to the solve's own
 * operator, whatever was solved before and wherever a solve begins. The recurrence's residual
 * stays true after a projection, even one that leaves nothing of it. Every stopping rule and
 * guess, one column and several. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "blas/blas.h"
#include "lib/math/steps/recurrences.h"
#include "tests/util/deflation_case.h"
#include "tests/util/precond_case.h"
#include "tests/util/row_case.h"

enum { COLUMNS = 3 };

/* ---- a solver of either method that is used several times ---- */

typedef struct {
  critical t; /* CGNR's */
  shell_case shell;
  two_scales spectrum; /* CG's */
  kaon_context *ctx;
  kaon_operator *A;
  kaon_vector *b, *x;
  int columns;
  double size;     /* |A| at most */
  double rounding; /* of A in double, in |A| */
} fixture;

static int open_fixture(fixture *v, kaon_method method, int columns) {
  static const int extents[4] = {4, 4, 4, 4};
  memset(v, 0, sizeof *v);
  v->columns = columns;
  if (method == KAON_CG) {
    v->spectrum = (two_scales){8, 1e-3};
    shell_open(&v->shell, extents, 1);
    v->ctx = v->shell.ctx;
    v->A = shell_operator(&v->shell, KAON_DOUBLE, map_two_scales, &v->spectrum);
    v->b = shell_random_vector(&v->shell, KAON_DOUBLE, columns, 5);
    v->x = shell_vector(&v->shell, KAON_DOUBLE, columns);
    v->size = 1;
    v->rounding = 0x1p-53;
    return 1;
  }
  if (!critical_open(&v->t, MACHINE_CPU, 0.198, columns)) return 0;
  v->ctx = v->t.c.ctx;
  v->A = v->t.schur;
  const rounding e = case_rounding(KAON_DOUBLE, KAON_RECONSTRUCT_18);
  const kaon_space *even = kaon_operator_space(v->A);
  must(v->ctx, kaon_vector_create(v->ctx, even, KAON_DOUBLE, columns, &v->b));
  must(v->ctx, kaon_vector_create(v->ctx, even, KAON_DOUBLE, columns, &v->x));
  kaon_vector even_b;
  must(v->ctx, kaon_vector_view(v->t.b, KAON_EVEN, &even_b));
  must(v->ctx, kaon_vector_copy(v->b, &even_b));
  v->size = 4;
  v->rounding = 4 * (e.e_hop + e.e_clover);
  return 1;
}

static void close_fixture(fixture *v) {
  const int own = v->shell.ctx != NULL;
  kaon_vector_destroy(&v->b);
  kaon_vector_destroy(&v->x);
  if (own) {
    kaon_operator_destroy(&v->A);
    shell_close(&v->shell);
  } else {
    critical_close(&v->t);
  }
}

static kaon_vector *new_vector(const fixture *v) {
  kaon_vector *u = NULL;
  must(v->ctx, kaon_vector_create(v->ctx, v->b->space, KAON_DOUBLE, v->columns, &u));
  return u;
}

static void norms(const fixture *v, const kaon_vector *u, double *norm) {
  must(v->ctx, kaon_vector_norm2(u, norm));
  for (int k = 0; k < v->columns; k++) norm[k] = sqrt(norm[k]);
}

/* The worst image of a pair and the worst product, relative to one rounding of all vectors
 * involved; how often the pairs were restarted at most. */
typedef struct {
  double image, g, b;
  int pairs, restarts;
} quality;

static void measure_images(const fixture *v, const struct kaon_deflation *f, double store,
                           quality *q) {
  kaon_vector *d = new_vector(v), *e = new_vector(v), *image = new_vector(v);
  double of_d[COLUMNS], of_e[COLUMNS], of_b[COLUMNS], of_x[COLUMNS], off[COLUMNS];
  norms(v, v->b, of_b);
  norms(v, v->x, of_x);
  for (int i = 0; i < f->pairs; i++) {
    must(v->ctx, kaon_vector_copy(d, f->d[i]));
    must(v->ctx, kaon_vector_copy(e, f->e[i]));
    must(v->ctx, kaon_operator_apply(v->A, KAON_PLAIN, d, image));
    must(v->ctx, kaon_vector_axpy(-1, 0, e, image));
    norms(v, d, of_d);
    norms(v, e, of_e);
    norms(v, image, off);
    for (int k = 0; k < v->columns; k++) {
      if (!(f->column[k].used >> i & 1)) continue;
      const double inner = store * (of_e[k] + v->size * of_d[k]);
      const double outer = 2 * v->rounding * (of_b[k] + v->size * of_x[k]); /* of two residuals */
      q->image = larger(q->image, off[k] / (inner + outer));
      q->pairs++;
    }
  }
  kaon_vector_destroy(&d);
  kaon_vector_destroy(&e);
  kaon_vector_destroy(&image);
}

/* m against the products of the stored vectors, relative to the effect of one rounding of both;
 * (d, e) stands for (d, A d) and has the roundings of all four. */
static double measure_products(const fixture *v, const struct kaon_deflation *f, int by_error,
                               kaon_vector *const *left, const kaon_z *const *m, double store) {
  double worst = 0, dot[COLUMNS][2], d[KAON_RITZ_MAX][COLUMNS], e[KAON_RITZ_MAX][COLUMNS];
  kaon_vector *const *right = by_error ? f->e : left;
  const int n = f->pairs;
  for (int i = 0; i < n; i++) {
    norms(v, left[i], d[i]);
    norms(v, right[i], e[i]);
  }
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) {
      must(v->ctx, kaon_vector_dot(left[i], right[j], dot));
      for (int k = 0; k < v->columns; k++) {
        if (!(f->column[k].used >> i & 1) || !(f->column[k].used >> j & 1)) continue;
        const double image_i = e[i][k] + v->size * d[i][k], image_j = e[j][k] + v->size * d[j][k];
        const double one = by_error ? store * (d[i][k] * image_j + d[j][k] * image_i)
                                    : 2 * store * d[i][k] * e[j][k];
        worst = larger(worst, cabs(m[k][i * n + j] - (dot[k][0] + I * dot[k][1])) / one);
      }
    }
  return worst;
}

static quality measure_pairs(const fixture *v, const kaon_solver *s) {
  const struct kaon_deflation *f = s->deflation;
  const int by_error = kaon_deflates_error(s), n = f->pairs;
  const double store = case_rounding(s->options.sloppy, KAON_RECONSTRUCT_18).e_store;
  const kaon_z *g[COLUMNS], *b[COLUMNS];
  quality q = {0, 0, 0, 0, 0};
  for (int k = 0; k < v->columns; k++) {
    const int services = s->states.host[k].updates;
    const int restarts = services < n ? 0 : 1 + (services - n) / (n - 3 * n / 4);
    if (restarts > q.restarts) q.restarts = restarts;
    g[k] = f->column[k].g;
    b[k] = f->column[k].b;
  }
  measure_images(v, f, store, &q);
  q.g = measure_products(v, f, by_error, by_error ? f->d : f->e, g, store);
  q.b = measure_products(v, f, 0, f->d, b, store);
  return q;
}

/* e equals A d and the products are those of the vectors, up to a rounding of both and one more a
 * restart. Products without a rounded vector (all but CG's (d, e)) have only the restarts'
 * roundings, and half's of a site's 24 reals. */
static void check_pairs(const fixture *v, const kaon_solver *s) {
  const quality q = measure_pairs(v, s);
  const int by_error = kaon_deflates_error(s);
  printf("    %d pairs, at most %d restarts\n", q.pairs, q.restarts);
  assert_true(q.pairs > 0);
  test_below("A d off e, over a rounding", q.image, 1 + q.restarts);
  test_below("products of G off, over a rounding", q.g, by_error + q.restarts + 0.01);
  test_below("products of B off, over a rounding", q.b, q.restarts + 0.01);
}

/* ---- one solver, several solves ---- */

static void solve_by(const fixture *v, kaon_solver *s, kaon_column_report *r) {
  must(v->ctx, kaon_solver_solve(s, v->b, v->x, r, NULL));
  for (int k = 0; k < v->columns; k++) {
    assert_int_equal(r[k].reason, KAON_CONVERGED);
    assert_true(r[k].residual <= 1.1e-10);
  }
}

/* The second source is the solution of the first. Its bits are those of a fresh solver. */
static void use_twice(const fixture *v, const kaon_solver_options *o) {
  kaon_column_report r[COLUMNS], fresh[COLUMNS];
  kaon_vector *first = new_vector(v);
  kaon_solver *s = NULL, *other = NULL;
  must(v->ctx, kaon_solver_create(v->A, v->columns, o, &s));
  must(v->ctx, kaon_solver_create(v->A, v->columns, o, &other));
  must(v->ctx, kaon_vector_zero(v->x));
  solve_by(v, s, r);
  check_pairs(v, s);
  must(v->ctx, kaon_vector_copy(v->b, v->x));
  must(v->ctx, kaon_vector_zero(v->x));
  solve_by(v, s, r);
  check_pairs(v, s);
  must(v->ctx, kaon_vector_copy(first, v->x));
  must(v->ctx, kaon_vector_zero(v->x));
  solve_by(v, other, fresh);
  must(v->ctx, kaon_vector_axpy(-1, 0, first, v->x));
  double off[COLUMNS];
  norms(v, v->x, off);
  for (int k = 0; k < v->columns; k++) {
    printf("    column %d: %d steps\n", k, r[k].iterations);
    assert_int_equal(r[k].iterations, fresh[k].iterations);
    assert_true(off[k] == 0);
  }
  kaon_solver_destroy(&s);
  kaon_solver_destroy(&other);
  kaon_vector_destroy(&first);
}

static void pairs_are_of_the_solve_at_hand(void **state) {
  (void)state;
  static const int pairs[] = {4, 16, 24};
  for (int m = 0; m < 2; m++)
    for (int p = KAON_SINGLE; p <= KAON_HALF; p++)
      for (int i = 0; i < 3; i++) {
        fixture v;
        const kaon_solver_options o =
            options_of(m ? KAON_CGNR : KAON_CG, (kaon_precision)p, pairs[i]);
        if (TEST_SLOWED && i != (m + p) % 3) continue;
        if (!open_fixture(&v, o.method, COLUMNS)) skip();
        printf("  %s, double/%s, %d pairs\n", m ? "cgnr" : "cg", precision_names[p], pairs[i]);
        use_twice(&v, &o);
        close_fixture(&v);
      }
}

/* ---- guesses and stops ---- */

/* Steps of column 0 from x = factor b. */
static int steps_from(const fixture *v, kaon_solver_options o, double factor,
                      kaon_precision sloppy) {
  kaon_column_report r[COLUMNS];
  kaon_solver *s = NULL;
  o.sloppy = sloppy;
  o.deflation = sloppy == KAON_DOUBLE ? 0 : 16;
  must(v->ctx, kaon_vector_zero(v->x));
  must(v->ctx, kaon_vector_axpy(factor, 0, v->b, v->x));
  must(v->ctx, kaon_solver_create(v->A, v->columns, &o, &s));
  must(v->ctx, kaon_solver_solve(s, v->b, v->x, r, NULL));
  assert_int_equal(r[0].reason, KAON_CONVERGED);
  assert_true(r[0].stop_residual <= 1.1e-10);
  if (s->deflation != NULL) check_pairs(v, s);
  printf("    %s: %d steps\n", precision_names[sloppy], r[0].iterations);
  kaon_solver_destroy(&s);
  return r[0].iterations;
}

/* As many steps more than in double as from 0 (test_deflation). */
static void guesses_and_stops_cost_no_more(void **state) {
  (void)state;
  static const double factors[] = {0, 1e-3, 1, 1e3};
  for (int normal = 0; normal < 2; normal++)
    for (int i = 0; i < 4; i++) {
      fixture v;
      kaon_solver_options o = options_of(KAON_CGNR, KAON_DOUBLE, 16);
      if (normal) o.stop = KAON_STOP_NORMAL;
      if (!open_fixture(&v, KAON_CGNR, 1)) skip();
      printf("  from %g b%s\n", factors[i], normal ? ", A^dag r" : "");
      const double full = steps_from(&v, o, factors[i], KAON_DOUBLE);
      test_below("single", steps_from(&v, o, factors[i], KAON_SINGLE) / full, 1.05);
      test_below("half", steps_from(&v, o, factors[i], KAON_HALF) / full, 1.15);
      close_fixture(&v);
    }
}

/* ---- what is said of the residual ---- */

enum { SEEN = 4096 };

static int see(void *user, int iteration, int column, double residual) {
  (void)column;
  ((double *)user)[iteration % SEEN] = residual;
  return 0;
}

/* The last residual of the recurrence is the one found afterwards. A step moves it by the
 * roundings of q's two sides, of r, and of x_inner, which covers at most 8 steps: 12 u |alpha p|
 * with |A| = 1, and |alpha p| <= |r| / least, because (p, A p) >= least |p|^2 and |p| >= |r|. */
static void the_residual_is_named_right_behind_a_projection(void **state) {
  (void)state;
  static const int extents[4] = {4, 4, 4, 4};
  static const two_scales many = {16, 1e-3};
  static double seen[SEEN];
  shell_case c;
  kaon_column_report r;
  kaon_solver *s = NULL;
  kaon_solver_options o = options_of(KAON_CG, KAON_SINGLE, 16);
  double sum = 0;
  shell_open(&c, extents, 1);
  kaon_operator *A = shell_operator(&c, KAON_DOUBLE, map_two_scales, &many);
  kaon_vector *b = shell_random_vector(&c, KAON_DOUBLE, 1, 3),
              *x = shell_vector(&c, KAON_DOUBLE, 1);
  o.monitor = see;
  o.monitor_user = seen;
  must(c.ctx, kaon_vector_zero(x));
  must(c.ctx, kaon_solver_create(A, 1, &o, &s));
  must(c.ctx, kaon_solver_solve(s, b, x, &r, NULL));
  assert_int_equal(r.reason, KAON_CONVERGED);
  assert_in_range(r.iterations, KAON_DEFLATION_BEGIN + KAON_DEFLATION_STEPS, SEEN - 1);
  const double last = seen[r.iterations];
  for (int i = s->states.host[0].renewed; i < r.iterations; i++) sum += seen[i];
  printf("  %d steps, %d of them since the last service\n", r.iterations,
         r.iterations - s->states.host[0].renewed);
  test_below("the recurrence's last residual over the true one, less 1",
             fabs(last / r.residual - 1), 12 * 0x1p-24 / many.least * sum / last);
  kaon_solver_destroy(&s);
  kaon_vector_destroy(&b);
  kaon_vector_destroy(&x);
  kaon_operator_destroy(&A);
  shell_close(&c);
}

/* The stopping logic itself: |r|^2 = 2 was verified as 4e-4 of |b|^2, and a projection leaves 1.
 * Where A^dag r is watched, the tolerance refers to it. */
static void a_threshold_is_of_the_residual_that_is_left(void **state) {
  (void)state;
  for (int normal = 0; normal < 2; normal++) {
    kaon_column_state *s = calloc(1, sizeof *s);
    s->flags = KAON_FLAG_DEFLATED | (normal ? KAON_FLAG_NORMAL : 0);
    s->reason = KAON_WAIT_UPDATE;
    s->gate = KAON_GATE_SERVICE | KAON_GATE_CONTINUE;
    s->reference = normal ? 8 : 5e3;
    s->limit = 1e-8;
    s->relative = 4e-4;
    s->slot[KAON_S_R2][0] = 2;
    kaon_recurrence_run(KAON_REC_DEFLATED_SCALE, s);
    s->slot[normal ? KAON_S_S2 : KAON_S_R2][0] = s->slot[KAON_S_RHO][0] = 1;
    kaon_recurrence_run(KAON_REC_DEFLATED_RESUME, s);
    assert_int_equal(s->gate, KAON_GATE_STEP);
    assert_true(fabs(s->scale * (normal ? 8 : 5e3) - 1) < 1e-15);
    assert_true(fabs(s->relative * (normal ? 8 : 5e3) - 1) < 1e-15);
    assert_true(fabs(s->threshold / (1e-8 * (normal ? 8 : 5e3)) - 1) < 1e-15);
    free(s);
  }
}

/* ---- nothing left ---- */

static shell_case *halving; /* its operator's twins are twice as large */

static void map_once(const void *user, int dagger, size_t n, const shell_complex *x,
                     shell_complex *y) {
  (void)user;
  (void)dagger;
  memcpy(y, x, n * sizeof *x);
}

static void map_twice(const void *user, int dagger, size_t n, const shell_complex *x,
                      shell_complex *y) {
  (void)user;
  (void)dagger;
  for (size_t i = 0; i < n; i++) y[i] = 2 * x[i];
}

static kaon_status twice(kaon_operator *A, kaon_precision precision, kaon_reconstruct reconstruct,
                         kaon_operator **twin) {
  (void)A;
  (void)reconstruct;
  *twin = shell_operator(halving, precision, map_twice, NULL);
  return KAON_OK;
}

/* A = 1 with a twin of 2: each step makes the inner residual 0 and halves the true one, exactly.
 * After step 48, d = b and e = b in single, because 1 - 2^-48 does not fit into it, r = 2^-48 b,
 * and the projection takes all of it. The solution is b to the last bit, and no step divides by 0.
 */
static void a_projection_that_leaves_nothing_is_the_end(void **state) {
  (void)state;
  static const int extents[4] = {4, 4, 4, 4};
  static const struct {
    kaon_method method;
    kaon_stop stop;
  } cases[] = {
      {KAON_CG, KAON_STOP_FULL}, {KAON_CGNR, KAON_STOP_FULL}, {KAON_CGNR, KAON_STOP_NORMAL}};
  for (int i = 0; i < 3; i++) {
    shell_case c;
    kaon_column_report r;
    kaon_solver *s = NULL;
    kaon_solver_options o = options_of(cases[i].method, KAON_SINGLE, 16);
    shell_open(&c, extents, 1);
    halving = &c;
    kaon_operator *A = shell_operator(&c, KAON_DOUBLE, map_once, NULL);
    const kaon_operator_ops *plain = A->ops;
    kaon_operator_ops ops = *plain;
    ops.twin = twice;
    A->ops = &ops;
    kaon_vector *b = shell_vector(&c, KAON_DOUBLE, 1), *x = shell_vector(&c, KAON_DOUBLE, 1);
    shell_complex *ones = calloc(c.n, sizeof *ones);
    for (size_t j = 0; j < c.n; j++) ones[j] = j % 3 ? 1 : -1;
    shell_import(&c, b, 0, ones);
    o.tol = 1e-15;
    o.stop = cases[i].stop;
    must(c.ctx, kaon_vector_zero(x));
    must(c.ctx, kaon_solver_create(A, 1, &o, &s));
    s->deflation->first = KAON_DEFLATION_BEGIN; /* by step 192 even double has nothing left */
    must(c.ctx, kaon_solver_solve(s, b, x, &r, NULL));
    printf("  %s: %d steps, residual %.2e, %s\n", i ? "cgnr" : "cg", r.iterations, r.residual,
           kaon_stop_reason_name(r.reason));
    assert_int_equal(r.reason, KAON_CONVERGED);
    assert_int_equal(r.iterations, KAON_DEFLATION_BEGIN);
    assert_true(r.residual == 0 && r.stop_residual == 0);
    kaon_solver_destroy(&s);
    kaon_vector_destroy(&b);
    kaon_vector_destroy(&x);
    A->ops = plain;
    kaon_operator_destroy(&A);
    free(ones);
    shell_close(&c);
  }
}

/* The same where old directions continue: nothing is divided by 0, and a direction that is added
 * to x with coefficient 0 is finite. */
static void nothing_is_divided_by_nothing(void **state) {
  (void)state;
  static const int renews[] = {KAON_REC_CG_RENEW, KAON_REC_PCG_RENEW, KAON_REC_CGNR_RENEW};
  for (int i = 0; i < 3; i++) {
    kaon_column_state *s = calloc(1, sizeof *s);
    s->flags = KAON_FLAG_DEFLATED;
    s->reason = KAON_WAIT_PERIOD;
    s->gate = KAON_GATE_SERVICE | KAON_GATE_CONTINUE;
    s->relative = s->limit = 1e-20;
    s->slot[KAON_S_R2][0] = i == 2; /* CGNR: as it was before */
    s->slot[KAON_S_RHO][0] = 1;
    kaon_recurrence_run(renews[i], s);
    kaon_recurrence_run(KAON_REC_CG_DEFLATED, s);
    kaon_recurrence_run(KAON_REC_DEFLATED_RESUME, s);
    assert_int_equal(s->gate, KAON_GATE_SERVICE | KAON_GATE_SOLUTION);
    assert_int_equal(s->reason, KAON_WAIT_STOP);
    for (int slot = KAON_S_ALPHA; slot <= KAON_S_OVERLAP; slot++)
      assert_true(isfinite(s->slot[slot][0]) && isfinite(s->slot[slot][1]));
    assert_true(s->slot[KAON_S_ALPHA][0] == 0);
    free(s);
  }
}

/* Dividing a preconditioner by four changes no bit except in its own vectors, whatever the pairs
 * remove: factors of two are exact, and alpha has the four that z lacks. */
static void map_fourth(const void *user, int dagger, size_t n, const shell_complex *x,
                       shell_complex *y) {
  (void)user, (void)dagger;
  for (size_t i = 0; i < n; i++) y[i] = 0.25 * x[i];
}

static void a_preconditioner_goes_along(void **state) {
  (void)state;
  enum { PLAIN, FOURTH, WITHOUT, KINDS };
  fixture v;
  kaon_column_report r[KINDS];
  double *x[KINDS];
  assert_true(open_fixture(&v, KAON_CG, 1));
  kaon_operator *K = shell_operator(&v.shell, KAON_SINGLE, map_fourth, NULL);
  for (int kind = 0; kind < KINDS; kind++) {
    kaon_solver_options o = KAON_SOLVER_OPTIONS_INIT;
    kaon_solver *s = NULL;
    o.method = KAON_CG;
    o.tol = 1e-12;
    o.sloppy = KAON_SINGLE;
    o.max_iterations = 5000;
    o.preconditioner = kind == PLAIN ? NULL : K;
    o.deflation = kind == WITHOUT ? 0 : 16;
    must(v.ctx, kaon_vector_zero(v.x));
    must(v.ctx, kaon_solver_create(v.A, 1, &o, &s));
    if (kind != WITHOUT) s->deflation->first = KAON_DEFLATION_BEGIN;
    must(v.ctx, kaon_solver_solve(s, v.b, v.x, &r[kind], NULL));
    assert_int_equal(r[kind].reason, KAON_CONVERGED);
    x[kind] = calloc(v.shell.n, 2 * sizeof(double));
    shell_export(&v.shell, v.x, 0, (shell_complex *)x[kind]);
    kaon_solver_destroy(&s);
  }
  printf("  %d steps, with a fourth as preconditioner %d, without pairs %d\n", r[PLAIN].iterations,
         r[FOURTH].iterations, r[WITHOUT].iterations);
  assert_int_equal(r[FOURTH].iterations, r[PLAIN].iterations);
  assert_memory_equal(x[FOURTH], x[PLAIN], v.shell.n * 2 * sizeof(double));
  assert_true(r[PLAIN].iterations > 2 * KAON_DEFLATION_BEGIN);
  assert_true(r[WITHOUT].iterations != r[PLAIN].iterations);
  for (int kind = 0; kind < KINDS; kind++) free(x[kind]);
  kaon_operator_destroy(&K);
  close_fixture(&v);
}

/* By default pairs are retained if they fit beside the solver, otherwise the solver runs without
 * them. An explicit request is refused then. The limit at which the solver alone fits is enough. */
static void pairs_without_room_are_not_kept(void **state) {
  (void)state;
  kaon_csr *rows = row_case_laplace(24, 24, 24);
  kaon_context_info info = KAON_CONTEXT_INFO_INIT;
  for (int limited = 0; limited < 2; limited++) {
    kaon_context_options how = KAON_CONTEXT_OPTIONS_INIT;
    kaon_solver_options o = KAON_SOLVER_OPTIONS_INIT;
    kaon_context *ctx = NULL;
    kaon_operator *A = NULL, *K = NULL;
    kaon_solver *s = NULL;
    if (limited) how.memory_limit = info.memory_peak + info.memory_peak / 20;
    must(NULL, machine_open(MACHINE_CPU, how, &ctx));
    kaon_matrix *matrix = precond_matrix(ctx, rows, 1);
    must(ctx, kaon_matrix_operator(matrix, NULL, &A));
    must(ctx, kaon_precond_jacobi(A, &K));
    o.method = KAON_CG;
    o.sloppy = KAON_HALF;
    o.preconditioner = K;
    for (int i = 0; i < 2; i++) {
      o.deflation = limited || i ? -1 : 0;
      must(ctx, kaon_solver_create(A, 1, &o, &s));
      assert_true((s->deflation != NULL) == (!limited && i));
      if (!i) must(ctx, kaon_context_query(ctx, &info)); /* of what it is without */
      kaon_solver_destroy(&s);
    }
    o.deflation = 16;
    const kaon_status status = kaon_solver_create(A, 1, &o, &s);
    assert_int_equal(status, limited ? KAON_ERR_MEMORY : KAON_OK);
    kaon_solver_destroy(&s);
    kaon_operator_destroy(&K);
    kaon_operator_destroy(&A);
    kaon_matrix_destroy(&matrix);
    kaon_context_destroy(&ctx);
  }
  kaon_csr_destroy(&rows);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_preconditioner_goes_along),
      cmocka_unit_test(pairs_without_room_are_not_kept),
      cmocka_unit_test(pairs_are_of_the_solve_at_hand),
      cmocka_unit_test(guesses_and_stops_cost_no_more),
      cmocka_unit_test(the_residual_is_named_right_behind_a_projection),
      cmocka_unit_test(a_threshold_is_of_the_residual_that_is_left),
      cmocka_unit_test(a_projection_that_leaves_nothing_is_the_end),
      cmocka_unit_test(nothing_is_divided_by_nothing),
  };
  if (machine_lacks(MACHINE_CPU)) return TEST_SKIPPED;
  shell_machine = MACHINE_CPU;
  return test_main(tests, NULL, NULL);
}
