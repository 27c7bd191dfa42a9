/* test_preconditioned.c - preconditioned methods on discretised equations: counts of steps and ways
 * of the residuals beside plain C implementations (tests/reference/ref_krylov.c), true residuals by
 * those, precisions, columns, and what is said of preconditioners that are none. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/reference/reference.h"
#include "tests/util/dirac_case.h"
#include "tests/util/machine.h"
#include "tests/util/shell_operator.h"
#include "tests/util/test_util.h"

static const int extents[4] = {4, 4, 4, 4}; /* 3072 numbers */
enum { NX = 48, NY = 64, POINTS = NX * NY };

/* ---- equations on a rectangle, five points, zero outside ---- */

enum { CENTRE, WEST, EAST, SOUTH, NORTH, ARMS };
static const int arm_x[ARMS] = {0, -1, 1, 0, 0}, arm_y[ARMS] = {0, 0, 0, -1, 1};

typedef struct {
  const char *name;
  int hermitian;
  double c[POINTS][ARMS];
} equation;

static int neighbour(int i, int arm) {
  const int x = i % NX + arm_x[arm], y = i / NX + arm_y[arm];
  return x < 0 || x >= NX || y < 0 || y >= NY ? -1 : y * NX + x;
}

static void map_equation(const void *user, int dagger, size_t n, const shell_complex *x,
                         shell_complex *y) {
  const equation *e = user;
  memset(y, 0, n * sizeof *y);
  for (int i = 0; i < POINTS; i++)
    for (int a = 0; a < ARMS; a++) {
      const int j = neighbour(i, a);
      if (j >= 0) y[dagger ? j : i] += e->c[i][a] * x[dagger ? i : j];
    }
}

/* A diffusion coefficient between 0.1 and 10, the same from both sides of a face. */
static double coefficient(int i, int j) {
  const uint64_t seed = (uint64_t)(i < j ? i : j) * POINTS + (uint64_t)(i < j ? j : i);
  const uint64_t z = (seed + 1) * UINT64_C(0x9e3779b97f4a7c15);
  return pow(10, 2 * ((double)((z ^ z >> 31) >> 11) * 0x1p-53) - 1);
}

/* -div k grad u; Poisson: k = 1; wind: upwind convection, every row times a number of its own. */
static void fill(equation *e, const char *name, int variable, double wind) {
  e->name = name;
  e->hermitian = wind == 0;
  for (int i = 0; i < POINTS; i++) {
    e->c[i][CENTRE] = 0;
    for (int a = WEST; a < ARMS; a++) {
      const int j = neighbour(i, a);
      const double k = variable && j >= 0 ? coefficient(i, j) : 1;
      const double upwind = a == WEST || a == SOUTH ? wind : 0;
      e->c[i][a] = -k - upwind;
      e->c[i][CENTRE] += k + upwind;
    }
    for (int a = 0; a < ARMS && wind > 0; a++) e->c[i][a] *= 0.5 + coefficient(i, i);
  }
}

static equation poisson, layers, convection;

static void make_equations(void) {
  fill(&poisson, "Poisson", 0, 0);
  fill(&layers, "variable", 1, 0);
  fill(&convection, "convection", 0, 0.4);
}

/* ---- preconditioners as maps ---- */

static void map_jacobi(const void *user, int dagger, size_t n, const shell_complex *x,
                       shell_complex *y) {
  const equation *e = user;
  (void)dagger;
  for (size_t i = 0; i < n; i++) y[i] = x[i] / e->c[i][CENTRE];
}

/* Symmetric Gauss-Seidel, (D + U)^-1 D (D + L)^-1; all is real, so the adjoint is the transpose. */
static void map_sweeps(const void *user, int dagger, size_t n, const shell_complex *x,
                       shell_complex *y) {
  const equation *e = user;
  (void)n;
  for (int i = 0; i < POINTS; i++) {
    shell_complex sum = x[i];
    for (int a = WEST; a < ARMS; a++) {
      const int j = neighbour(i, a);
      const int back = a == WEST ? EAST : a == EAST ? WEST : a == SOUTH ? NORTH : SOUTH;
      if (j >= 0 && j < i) sum -= (dagger ? e->c[j][back] : e->c[i][a]) * y[j];
    }
    y[i] = sum / e->c[i][CENTRE];
  }
  for (int i = 0; i < POINTS; i++) y[i] *= e->c[i][CENTRE];
  for (int i = POINTS - 1; i >= 0; i--) {
    shell_complex sum = y[i];
    for (int a = WEST; a < ARMS; a++) {
      const int j = neighbour(i, a);
      const int back = a == WEST ? EAST : a == EAST ? WEST : a == SOUTH ? NORTH : SOUTH;
      if (j > i) sum -= (dagger ? e->c[j][back] : e->c[i][a]) * y[j];
    }
    y[i] = sum / e->c[i][CENTRE];
  }
}

static void map_minus_jacobi(const void *user, int dagger, size_t n, const shell_complex *x,
                             shell_complex *y) {
  map_jacobi(user, dagger, n, x, y);
  for (size_t i = 0; i < n; i++) y[i] = -y[i];
}

static void map_nothing(const void *user, int dagger, size_t n, const shell_complex *x,
                        shell_complex *y) {
  (void)user, (void)dagger, (void)x;
  memset(y, 0, n * sizeof *y);
}

static void map_minus_equation(const void *user, int dagger, size_t n, const shell_complex *x,
                               shell_complex *y) {
  map_equation(user, dagger, n, x, y);
  for (size_t i = 0; i < n; i++) y[i] = -y[i];
}

enum { NONE, JACOBI, SWEEPS, COOKS };
static const char *const cook_names[] = {"none", "jacobi", "sweeps"};
static ref_map *const cook_maps[] = {NULL, map_jacobi, map_sweeps};

/* Jacobi is the library's own. */
static kaon_operator *make_cook(shell_case *c, kaon_operator *A, const equation *e, int cook,
                                kaon_precision precision) {
  kaon_operator *K = NULL;
  if (cook == JACOBI) must(c->ctx, kaon_precond_jacobi(A, &K));
  if (cook == SWEEPS) K = shell_operator(c, precision, map_sweeps, e);
  return K;
}

/* ---- methods ---- */

typedef int reference_method(const ref_system *s, const ref_complex *b, ref_complex *x, double tol,
                             int most, ref_history *h);
static int fixed(const ref_system *s, const ref_complex *b, ref_complex *x, double tol, int most,
                 ref_history *h) {
  return ref_rbicgstab(s, 0, b, x, tol, most, h);
}
static int printed(const ref_system *s, const ref_complex *b, ref_complex *x, double tol, int most,
                   ref_history *h) {
  return ref_rbicgstab(s, 1, b, x, tol, most, h);
}

/* way: steps whose residuals agree with the reference's to 1e-6 of |b|. */
static const struct tried {
  const char *name;
  kaon_method method;
  int as_printed, hermitian;
  reference_method *reference;
  int way;
} methods[] = {
    {"cg", KAON_CG, 0, 1, ref_pcg, 40},
    {"pipecg", KAON_PIPECG, 0, 1, ref_pipecg, 40},
    {"pipecg", KAON_PIPECG, 0, 1, ref_pcg, 40},
    {"groppcg", KAON_GROPPCG, 0, 1, ref_pcg, 40},
    {"bicg", KAON_BICG, 0, 0, ref_pbicg, 20},
    {"bicgstab", KAON_BICGSTAB, 0, 0, ref_pbicgstab, 10},
    {"rbicgstab", KAON_RBICGSTAB, 0, 0, fixed, 10},
    {"rbicgstab", KAON_RBICGSTAB, 0, 0, ref_pbicgstab, 10},
    {"printed", KAON_RBICGSTAB, 1, 0, printed, 10},
    {"pipebicgstab", KAON_PIPEBICGSTAB, 0, 0, ref_pbicgstab, 10},
};
enum { TRIED = sizeof methods / sizeof *methods };

static int cg_like(const struct tried *t) {
  return t->hermitian;
}

static kaon_solver_options options_of(const struct tried *t, double tol, kaon_precision sloppy,
                                      kaon_operator *K) {
  kaon_solver_options o = KAON_SOLVER_OPTIONS_INIT;
  o.method = t->method;
  o.as_printed = t->as_printed;
  o.tol = tol;
  o.sloppy = sloppy;
  o.preconditioner = K;
  o.max_iterations = 3000;
  return o;
}

typedef struct {
  kaon_column_report report;
  kaon_solve_report solve;
  ref_history history;
  shell_complex *x;
} outcome;

static void solve(shell_case *c, kaon_operator *A, const kaon_solver_options *o,
                  const kaon_vector *b, outcome *out) {
  kaon_vector *x = shell_vector(c, KAON_DOUBLE, 1);
  kaon_solver *s = NULL;
  int room = REF_HISTORY;
  must(c->ctx, kaon_solver_create(A, 1, o, &s));
  must(c->ctx, kaon_solver_solve(s, b, x, &out->report, &out->solve));
  must(c->ctx, kaon_solver_history(s, 0, out->history.residual, &room));
  out->history.count = room;
  out->x = calloc(c->n, sizeof *out->x);
  shell_export(c, x, 0, out->x);
  kaon_solver_destroy(&s);
  kaon_vector_destroy(&x);
}

/* Steps beside the reference's; residuals on the way; the true residual by the reference. */
static void beside_the_reference(shell_case *c, kaon_operator *A, const equation *e, int cook,
                                 const struct tried *t, const shell_complex *hb,
                                 const kaon_vector *b) {
  static ref_history expected;
  static outcome got;
  const double tol = 1e-8;
  const ref_system system = {POINTS, map_equation, cook_maps[cook], e, e};
  shell_complex *x = calloc(c->n, sizeof *x);
  kaon_operator *K = make_cook(c, A, e, cook, KAON_DOUBLE);
  const kaon_solver_options o = options_of(t, tol, KAON_DOUBLE, K);
  const int steps = t->reference(&system, hb, x, tol, o.max_iterations, &expected);
  solve(c, A, &o, b, &got);
  const double truth = ref_system_residual(&system, hb, got.x);
  double worst = 0;
  for (int i = 0; i <= t->way && i < expected.count && i < got.history.count; i++)
    worst = fmax(worst, fabs(expected.residual[i] - got.history.residual[i]));
  printf("  %-10s %-6s %-12s %4d steps, reference %4d, updates %d, residual %.2e, way %.1e, %s\n",
         e->name, cook_names[cook], t->name, got.report.iterations, steps, got.report.updates,
         truth, worst, kaon_stop_reason_name(got.report.reason));
  if (t->as_printed && steps >= o.max_iterations) {
    /* the paper's form has lost its way in the reference too: whatever comes, nothing is claimed */
    assert_true(got.report.reason != KAON_CONVERGED || truth <= 1.1 * tol);
  } else {
    const int apart = abs(got.report.iterations - steps), tenth = (steps + 9) / 10;
    assert_int_equal(got.report.reason, KAON_CONVERGED);
    assert_true(truth <= 1.1 * tol);
    assert_true(fabs(truth - got.report.residual) <= 1e-2 * truth);
    assert_true(apart <= (cg_like(t) || tenth < 2 ? 2 : tenth));
  }
  assert_true(worst <= 1e-6);
  free(got.x);
  free(x);
  kaon_operator_destroy(&K);
}

static void steps_are_the_references(void **state) {
  const equation *const equations[] = {&poisson, &layers, &convection};
  shell_case c;
  (void)state;
  shell_open(&c, extents, 2);
  assert_int_equal(c.n, POINTS);
  shell_complex *hb = shell_random(&c, 7);
  kaon_vector *b = shell_vector(&c, KAON_DOUBLE, 1);
  shell_import(&c, b, 0, hb);
  for (int e = 0; e < 3; e++) {
    kaon_operator *A = shell_operator(&c, KAON_DOUBLE, map_equation, equations[e]);
    for (int cook = NONE; cook < COOKS; cook++)
      for (int t = 0; t < TRIED; t++) {
        if (methods[t].hermitian && !equations[e]->hermitian) continue;
        beside_the_reference(&c, A, equations[e], cook, &methods[t], hb, b);
      }
    kaon_operator_destroy(&A);
  }
  free(hb);
  kaon_vector_destroy(&b);
  shell_close(&c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(steps_are_the_references),
  };
  make_equations();
  const int failed = cmocka_run_group_tests_name("preconditioned", tests, NULL, NULL);
  return failed;
}
