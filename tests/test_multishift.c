/* test_multishift.c - CG of several shifts. It takes about the steps of a plain CG of each shift;
 * residuals are true, computed by the map itself; every precision, normal equations, Dirac
 * operators on every machine; and the messages for systems that it cannot solve. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <kaon/multishift.h>

#include "tests/reference/reference.h"
#include "tests/util/dirac_case.h"
#include "tests/util/shell_operator.h"
#include "tests/util/staggered_case.h"
#include "tests/util/test_util.h"

static const int extents[4] = {4, 4, 4, 4};
enum { NUMBERS = 12 * 256 };
enum { SHIFTS = 12 };
static const double tol = 1e-10;

/* From the smallest of poles to the largest, not in order. */
static void poles(double smallest, double sigma[SHIFTS]) {
  for (int i = 0; i < SHIFTS; i++)
    sigma[(5 * i + 3) % SHIFTS] = smallest + (i == 0 ? 0 : 0.01 * pow(1.9, i));
}

/* |b - (N + sigma) x| / |b| with N = A or A^dagger A of the chain, in double, by the map itself. */
static double residual_of(const shell_case *c, const chain *a, int normal, double sigma,
                          const shell_complex *b, const shell_complex *x) {
  shell_complex *y = calloc(c->n, sizeof *y), *z = calloc(c->n, sizeof *z);
  double r2 = 0, b2 = 0;
  map_chain(a, 0, c->n, x, y);
  if (normal) {
    map_chain(a, 1, c->n, y, z);
    memcpy(y, z, c->n * sizeof *y);
  }
  for (size_t i = 0; i < c->n; i++) {
    const shell_complex r = b[i] - y[i] - sigma * x[i];
    r2 += creal(r * conj(r));
    b2 += creal(b[i] * conj(b[i]));
  }
  free(y);
  free(z);
  return sqrt(r2 / b2);
}

/* Steps of a plain CG on the chain's A + sigma alone. */
static int steps_alone(const chain *a, double sigma, double goal, size_t n,
                       const shell_complex *b) {
  static ref_history history;
  const chain shifted = {a->mass + sigma, a->wind, a->phase};
  const ref_system system = {n, map_chain, NULL, &shifted, NULL};
  shell_complex *x = calloc(n, sizeof *x);
  const int steps = ref_pcg(&system, b, x, goal, 3000, &history);
  free(x);
  return steps;
}

typedef struct {
  kaon_column_report columns[SHIFTS];
  kaon_solve_report solve;
} outcome;

/* tols NULL: the options' tolerance. */
static void solve_to(kaon_context *ctx, kaon_operator *A, int shifts, const double *sigma,
                     const double *tols, const kaon_multishift_options *o, const kaon_vector *b,
                     kaon_vector *x, outcome *out) {
  kaon_multishift *m = NULL;
  must(ctx, kaon_multishift_create(A, shifts, sigma, o, &m));
  if (tols != NULL) must(ctx, kaon_multishift_set_tol(m, tols));
  out->solve = (kaon_solve_report)KAON_SOLVE_REPORT_INIT;
  must(ctx, kaon_multishift_solve(m, b, x, out->columns, &out->solve));
  kaon_multishift_destroy(&m);
  assert_null(m);
}

static void solve(kaon_context *ctx, kaon_operator *A, const double *sigma,
                  const kaon_multishift_options *o, const kaon_vector *b, kaon_vector *x,
                  outcome *out) {
  solve_to(ctx, A, SHIFTS, sigma, NULL, o, b, x, out);
}

/* Every shift's residual; returns the steps of the slowest. tols as in solve_to. */
static int check_columns(shell_case *c, const chain *a, int normal, const double *sigma,
                         const double *tols, const shell_complex *hb, const kaon_vector *x,
                         const outcome *out) {
  shell_complex *hx = calloc(c->n, sizeof *hx);
  int most = 0;
  for (int i = 0; i < SHIFTS; i++) {
    shell_export(c, x, i, hx);
    const double truth = residual_of(c, a, normal, sigma[i], hb, hx);
    assert_int_equal(out->columns[i].reason, KAON_CONVERGED);
    if (tols == NULL || tols[i] > 0) assert_true(truth <= 1.1 * (tols != NULL ? tols[i] : tol));
    assert_true(fabs(truth - out->columns[i].residual) <= 1e-2 * truth + 1e-14);
    if (out->columns[i].iterations > most) most = out->columns[i].iterations;
  }
  free(hx);
  return most;
}

/* A shift's residual in the shared Krylov space is that of CG alone, so their counts are equal.
 * All shifts together cost what the smallest costs, plus one application to verify. */
static void every_shift_is_cg_alone(void **state) {
  static const double smallest[] = {0, 0.003, -0.01};
  const chain a = {0.02, 0, 0.3};
  shell_case c;
  (void)state;
  shell_open(&c, extents, 2);
  shell_complex *hb = shell_random(&c, 7);
  kaon_vector *b = shell_vector(&c, KAON_DOUBLE, 1), *x = shell_vector(&c, KAON_DOUBLE, SHIFTS);
  kaon_operator *A = shell_operator(&c, KAON_DOUBLE, map_chain, &a);
  shell_import(&c, b, 0, hb);
  for (int k = 0; k < 3; k++)
    for (int sloppy = KAON_DOUBLE; sloppy <= KAON_HALF; sloppy++) {
      kaon_multishift_options o = KAON_MULTISHIFT_OPTIONS_INIT;
      double sigma[SHIFTS];
      outcome out;
      poles(smallest[k], sigma);
      o.sloppy = (kaon_precision)sloppy;
      const int before = shell_applications(A);
      solve(c.ctx, A, sigma, &o, b, x, &out);
      const int most = check_columns(&c, &a, 0, sigma, NULL, hb, x, &out),
                twin = sloppy != KAON_DOUBLE;
      for (int i = 0; i < SHIFTS; i++) {
        const int alone = steps_alone(&a, sigma[i], tol, c.n, hb);
        printf("  double/%-6s shift %8.5f: %4d steps, alone %4d, residual %.1e\n",
               precision_names[sloppy], sigma[i], out.columns[i].iterations, alone,
               out.columns[i].residual);
        assert_true(abs(out.columns[i].iterations - alone) <= (twin ? 2 + alone / 20 : 2));
        assert_int_equal(out.columns[i].updates, 0);
      }
      assert_int_equal(out.solve.applications, most + 1);
      assert_true(out.solve.applications <= 1.25 * steps_alone(&a, smallest[k], tol, c.n, hb));
      /* steps after the end are issued and do nothing until the host checks */
      assert_in_range(shell_applications(A) - before, most + 1, most + 1 + 2 * o.check_interval);
    }
  free(hb);
  kaon_vector_destroy(&b);
  kaon_vector_destroy(&x);
  kaon_operator_destroy(&A);
  shell_close(&c);
}

/* ---- a tolerance for each shift ---- */

enum { LEAST = 3, NEXT = 8, THIRD = 1 }; /* where poles() puts its smallest */

static const double own_tols[SHIFTS] = {1e-4, 1e-9,  0,     1e-6, 1e-3, 1e-6,
                                        0,    1e-10, 1e-10, 0,    1,    1e-5};

/* Each shift takes the steps of CG alone to its own tolerance, or those of the smallest shift. The
 * process ends with the last: the second smallest shift has a smaller tolerance than the smallest.
 */
static void check_own_tolerances(shell_case *c, kaon_operator *A, const chain *a,
                                 const kaon_multishift_options *o, const double *sigma,
                                 const shell_complex *hb, const kaon_vector *b, kaon_vector *x) {
  outcome out;
  solve_to(c->ctx, A, SHIFTS, sigma, own_tols, o, b, x, &out);
  const int least = out.columns[LEAST].iterations;
  const int most = check_columns(c, a, 0, sigma, own_tols, hb, x, &out);
  for (int i = 0; i < SHIFTS; i++) {
    const kaon_column_report *r = &out.columns[i];
    const int alone = own_tols[i] > 0 ? steps_alone(a, sigma[i], own_tols[i], c->n, hb) : least;
    const int margin = own_tols[i] > 0 ? 2 + (o->sloppy != KAON_DOUBLE) * alone / 20 : 0;
    printf("  double/%-6s shift %8.5f to %5.0e: %4d steps, alone %4d, residual %.1e\n",
           precision_names[o->sloppy], sigma[i], own_tols[i], r->iterations, alone, r->residual);
    assert_true(abs(r->iterations - alone) <= margin);
  }
  assert_true(most > least);
  assert_int_equal(most, out.columns[NEXT].iterations);
  assert_int_equal(out.solve.applications, most + 1);
}

/* Shifts that go as far as the smallest, or less far, leave its steps and bits as they are alone.
 * Those with a looser tolerance stop earlier. */
static void check_followers(shell_case *c, kaon_operator *A, const kaon_multishift_options *o,
                            const double *sigma, const kaon_vector *b, kaon_vector *x) {
  double tols[SHIFTS];
  outcome all, alone;
  shell_complex *hx = calloc(c->n, sizeof *hx), *hy = calloc(c->n, sizeof *hy);
  kaon_vector *y = shell_vector(c, KAON_DOUBLE, 1);
  for (int i = 0; i < SHIFTS; i++) tols[i] = i == LEAST ? tol : i % 2 ? 1e-5 : 0;
  solve_to(c->ctx, A, SHIFTS, sigma, tols, o, b, x, &all);
  solve_to(c->ctx, A, 1, &sigma[LEAST], NULL, o, b, y, &alone);
  shell_export(c, x, LEAST, hx);
  shell_export(c, y, 0, hy);
  assert_memory_equal(hx, hy, c->n * sizeof *hx);
  assert_int_equal(all.solve.applications, alone.solve.applications);
  assert_int_equal(all.columns[LEAST].iterations, alone.columns[0].iterations);
  for (int i = 0; i < SHIFTS; i++) {
    const int steps = all.columns[i].iterations, most = alone.columns[0].iterations;
    assert_true(tols[i] == 1e-5 ? steps < most : steps == most);
  }
  kaon_vector_destroy(&y);
  free(hx);
  free(hy);
}

static void every_shift_has_its_tolerance(void **state) {
  const chain a = {0.02, 0, 0.3};
  shell_case c;
  double sigma[SHIFTS];
  (void)state;
  shell_open(&c, extents, 2);
  shell_complex *hb = shell_random(&c, 7);
  kaon_vector *b = shell_vector(&c, KAON_DOUBLE, 1), *x = shell_vector(&c, KAON_DOUBLE, SHIFTS);
  kaon_operator *A = shell_operator(&c, KAON_DOUBLE, map_chain, &a);
  shell_import(&c, b, 0, hb);
  poles(0.003, sigma);
  for (int sloppy = KAON_DOUBLE; sloppy <= KAON_HALF; sloppy++) {
    kaon_multishift_options o = KAON_MULTISHIFT_OPTIONS_INIT;
    o.sloppy = (kaon_precision)sloppy;
    check_own_tolerances(&c, A, &a, &o, sigma, hb, b, x);
    check_followers(&c, A, &o, sigma, b, x);
  }
  free(hb);
  kaon_vector_destroy(&b);
  kaon_vector_destroy(&x);
  kaon_operator_destroy(&A);
  shell_close(&c);
}

static void normal_equations(void **state) {
  const chain a = {0.3, 0.2, 0.3};
  shell_case c;
  double sigma[SHIFTS];
  (void)state;
  shell_open(&c, extents, 2);
  shell_complex *hb = shell_random(&c, 11);
  kaon_vector *b = shell_vector(&c, KAON_DOUBLE, 1), *x = shell_vector(&c, KAON_DOUBLE, SHIFTS);
  kaon_operator *A = shell_operator(&c, KAON_DOUBLE, map_chain, &a);
  shell_import(&c, b, 0, hb);
  poles(1e-4, sigma);
  for (int sloppy = KAON_DOUBLE; sloppy <= KAON_HALF; sloppy++) {
    kaon_multishift_options o = KAON_MULTISHIFT_OPTIONS_INIT;
    outcome out;
    o.normal = 1;
    o.sloppy = (kaon_precision)sloppy;
    solve(c.ctx, A, sigma, &o, b, x, &out);
    const int most = check_columns(&c, &a, 1, sigma, NULL, hb, x, &out);
    printf("  A^dag A, double/%s: %d steps, %d applications\n", precision_names[sloppy], most,
           out.solve.applications);
    assert_int_equal(out.solve.applications, 2 * (most + 1));
  }
  free(hb);
  kaon_vector_destroy(&b);
  kaon_vector_destroy(&x);
  kaon_operator_destroy(&A);
  shell_close(&c);
}

/* ---- shifts that miss the tolerance ---- */

static const chain wrong = {0.02 + 3e-3, 0.2, 0.3};

/* The third smallest shift is left as it is. */
static const double refined_tols[SHIFTS] = {1e-10, 0,     1e-10, 1e-9,  1e-10, 1e-10,
                                            1e-10, 1e-10, 1e-8,  1e-10, 1e-10, 1e-10};

/* A twin of another mass: what roundings do, but more. */
static kaon_status wrong_twin(kaon_operator *A, kaon_precision precision,
                              kaon_reconstruct reconstruct, kaon_operator **twin) {
  (void)reconstruct;
  shell_case c = {A->ctx, A->space->lattice, A->space, NUMBERS};
  *twin = shell_operator(&c, precision, map_chain, &wrong);
  return KAON_OK;
}

static void missed_shifts_are_refined(void **state) {
  const chain a = {0.02, 0.2, 0.3};
  shell_case c;
  double sigma[SHIFTS];
  (void)state;
  shell_open(&c, extents, 2);
  shell_complex *hb = shell_random(&c, 7);
  kaon_vector *b = shell_vector(&c, KAON_DOUBLE, 1), *x = shell_vector(&c, KAON_DOUBLE, SHIFTS);
  kaon_operator *A = shell_operator(&c, KAON_DOUBLE, map_chain, &a);
  kaon_operator_ops ops = *A->ops;
  const kaon_operator_ops *own = A->ops;
  ops.twin = wrong_twin;
  shell_import(&c, b, 0, hb);
  poles(1e-3, sigma);
  A->ops = &ops;
  for (int sloppy = KAON_SINGLE; sloppy <= KAON_HALF; sloppy++) {
    kaon_multishift_options o = KAON_MULTISHIFT_OPTIONS_INIT;
    outcome out;
    int refined = 0;
    o.normal = 1;
    o.sloppy = (kaon_precision)sloppy;
    solve_to(c.ctx, A, SHIFTS, sigma, refined_tols, &o, b, x, &out);
    check_columns(&c, &a, 1, sigma, refined_tols, hb, x, &out);
    for (int i = 0; i < SHIFTS; i++) refined += out.columns[i].updates;
    printf("  double/%s: %d shifts refined, %d applications\n", precision_names[sloppy], refined,
           out.solve.applications);
    assert_in_range(refined, 1, SHIFTS - 1);
    assert_int_equal(out.columns[THIRD].updates, 0);
  }
  A->ops = own;
  free(hb);
  kaon_vector_destroy(&b);
  kaon_vector_destroy(&x);
  kaon_operator_destroy(&A);
  shell_close(&c);
}

/* ---- several right-hand sides ---- */

/* The same bits as shift by shift, with one application for all columns: as many as the slowest
 * needs. One column is 0. */
static void right_hand_sides_are_solved_together(void **state) {
  enum { COLUMNS = 3 };
  const chain a = {0.02, 0, 0.3};
  shell_case c;
  double sigma[SHIFTS];
  kaon_column_report reports[COLUMNS * SHIFTS];
  kaon_solve_report together = KAON_SOLVE_REPORT_INIT, single = KAON_SOLVE_REPORT_INIT;
  kaon_multishift *m = NULL;
  int most = 0;
  double flops = 0;
  (void)state;
  shell_open(&c, extents, 2);
  kaon_vector *b = shell_vector(&c, KAON_DOUBLE, COLUMNS), *one = shell_vector(&c, KAON_DOUBLE, 1),
              *x = shell_vector(&c, KAON_DOUBLE, COLUMNS * SHIFTS),
              *alone = shell_vector(&c, KAON_DOUBLE, SHIFTS);
  kaon_operator *A = shell_operator(&c, KAON_DOUBLE, map_chain, &a);
  shell_complex *hb[COLUMNS], *hx = calloc(c.n, sizeof *hx), *hy = calloc(c.n, sizeof *hy);
  for (int j = 0; j < COLUMNS; j++) {
    hb[j] = j == 1 ? calloc(c.n, sizeof **hb) : shell_random(&c, 7 + (uint64_t)j);
    shell_import(&c, b, j, hb[j]);
  }
  kaon_multishift_options o = KAON_MULTISHIFT_OPTIONS_INIT;
  o.sloppy = KAON_HALF;
  poles(1e-3, sigma);
  must(c.ctx, kaon_multishift_create(A, SHIFTS, sigma, &o, &m));
  must(c.ctx, kaon_multishift_set_tol(m, own_tols));
  must(c.ctx, kaon_multishift_solve(m, b, x, reports, &together));
  for (int j = 0; j < COLUMNS; j++) {
    kaon_column_report own[SHIFTS];
    shell_import(&c, one, 0, hb[j]);
    must(c.ctx, kaon_multishift_solve(m, one, alone, own, &single));
    if (single.applications > most) most = single.applications;
    flops += single.flops;
    for (int i = 0; i < SHIFTS; i++) {
      shell_export(&c, x, i * COLUMNS + j, hx);
      shell_export(&c, alone, i, hy);
      assert_memory_equal(hx, hy, c.n * sizeof *hx);
      assert_int_equal(reports[i * COLUMNS + j].iterations, own[i].iterations);
      assert_int_equal(reports[i * COLUMNS + j].reason, KAON_CONVERGED);
    }
  }
  printf("  %d columns: %d applications, alone %d at most\n", COLUMNS, together.applications, most);
  /* a column that goes on in a level without the others does so behind them */
  assert_in_range(together.applications, most, most + most / 4);
  /* work on each column counts; residuals of all columns are computed if one must be refined */
  printf("  %.4g flops, one by one %.4g\n", together.flops, flops);
  assert_true(together.flops >= flops && together.flops <= 1.1 * flops);
  must_refuse(c.ctx, KAON_ERR_SHAPE, kaon_multishift_solve(m, b, alone, NULL, NULL));
  kaon_multishift_destroy(&m);
  for (int j = 0; j < COLUMNS; j++) free(hb[j]);
  free(hx);
  free(hy);
  kaon_vector_destroy(&b);
  kaon_vector_destroy(&one);
  kaon_vector_destroy(&x);
  kaon_vector_destroy(&alone);
  kaon_operator_destroy(&A);
  shell_close(&c);
}

/* ---- Dirac operators ---- */

/* Column i of x through the operator, which tests/test_even_odd.c compares with the reference. */
static double dirac_residual(dirac_case *c, kaon_operator *R, double sigma, ref_complex *const *hb,
                             const kaon_vector *x, int column) {
  kaon_vector *v[3];
  double r2, b2;
  for (int i = 0; i < 3; i++) v[i] = case_vector(c, KAON_EVEN, KAON_DOUBLE, 1);
  ref_complex *psi = case_export(c, x, column);
  case_import(c, v[0], &psi);
  must(c->ctx, kaon_operator_apply(R, KAON_PLAIN, v[0], v[1]));
  must(c->ctx, kaon_operator_apply(R, KAON_DAGGER, v[1], v[2]));
  case_import(c, v[1], hb);
  must(c->ctx, kaon_vector_norm2(v[1], &b2));
  must(c->ctx, kaon_vector_axpy(-1, 0, v[2], v[1]));
  must(c->ctx, kaon_vector_axpy(-sigma, 0, v[0], v[1]));
  must(c->ctx, kaon_vector_norm2(v[1], &r2));
  for (int i = 0; i < 3; i++) kaon_vector_destroy(&v[i]);
  free(psi);
  return sqrt(r2 / b2);
}

static void dirac_on(int machine) {
  dirac_case c;
  double sigma[SHIFTS];
  if (!case_open_checked(&c, machine, extents, 1, LINKS_WEAK, 5)) return;
  kaon_operator *M = case_dirac(&c, 0.13, 1.0, 1.0, KAON_DOUBLE, KAON_RECONSTRUCT_18);
  kaon_operator *R = case_even_odd(&c, M, KAON_EVEN_ODD_SYMMETRIC, KAON_EVEN, 0);
  ref_complex **hb = case_random_columns(&c, 1, 3);
  kaon_vector *b = case_vector(&c, KAON_EVEN, KAON_DOUBLE, 1),
              *x = case_vector(&c, KAON_EVEN, KAON_DOUBLE, SHIFTS);
  case_import(&c, b, hb);
  poles(1e-3, sigma);
  for (int sloppy = KAON_DOUBLE; sloppy <= KAON_HALF; sloppy++) {
    kaon_multishift_options o = KAON_MULTISHIFT_OPTIONS_INIT;
    outcome out;
    o.normal = 1;
    o.sloppy = (kaon_precision)sloppy;
    solve(c.ctx, R, sigma, &o, b, x, &out);
    double worst = 0;
    for (int i = 0; i < SHIFTS; i++) {
      assert_int_equal(out.columns[i].reason, KAON_CONVERGED);
      worst = larger(worst, dirac_residual(&c, R, sigma[i], hb, x, i));
    }
    printf("  %s, double/%s: %d applications\n", isa_names[machine], precision_names[sloppy],
           out.solve.applications);
    test_below("residual of the worst shift", worst, 1.1 * tol);
  }
  case_free_columns(hb, 1);
  kaon_vector_destroy(&b);
  kaon_vector_destroy(&x);
  kaon_operator_destroy(&R);
  kaon_operator_destroy(&M);
  case_close(&c);
}

static void dirac_on_every_machine(void **state) {
  (void)state;
  for (int machine = KAON_ISA_SCALAR; machine <= MACHINE_LAST; machine++) dirac_on(machine);
}

/* The even-odd operator of naive and improved staggered quarks is Hermitian, so no normal
 * equations are needed. 12 shifts cost at most 1.25 times CG of the smallest one alone. */
static void staggered_on(int machine, int improved) {
  static const int shape[4] = {8, 4, 4, 8};
  const double mass = 0.05;
  staggered_case s;
  double sigma[SHIFTS];
  if (!staggered_open(&s, machine, shape, 1, improved)) return;
  kaon_context *ctx = s.c.ctx;
  kaon_operator *M = staggered_operator(&s, mass, 0, KAON_PHASES_MILC, KAON_DOUBLE,
                                        KAON_RECONSTRUCT_18),
                *A = NULL;
  must(ctx, kaon_staggered_even_odd(M, KAON_EVEN, &A));
  ref_complex **hb = staggered_columns(&s, KAON_EVEN, 1, 3);
  kaon_vector *b = staggered_vector(&s, KAON_EVEN, KAON_DOUBLE, 1),
              *x = staggered_vector(&s, KAON_EVEN, KAON_DOUBLE, SHIFTS),
              *y = staggered_vector(&s, KAON_EVEN, KAON_DOUBLE, 1),
              *z = staggered_vector(&s, KAON_EVEN, KAON_DOUBLE, 1);
  staggered_import(&s, b, hb);
  poles(0, sigma);
  kaon_solver_options plain = KAON_SOLVER_OPTIONS_INIT;
  kaon_solver *alone = NULL;
  kaon_column_report cg;
  plain.method = KAON_CG;
  must(ctx, kaon_solver_create(A, 1, &plain, &alone));
  must(ctx, kaon_vector_zero(y));
  must(ctx, kaon_solver_solve(alone, b, y, &cg, NULL));
  kaon_solver_destroy(&alone);
  for (int sloppy = KAON_DOUBLE; sloppy <= KAON_HALF; sloppy++) {
    kaon_multishift_options o = KAON_MULTISHIFT_OPTIONS_INIT;
    outcome out;
    double worst = 0, *host = calloc(staggered_size(&s), 2 * sizeof *host), b2, r2;
    o.sloppy = (kaon_precision)sloppy;
    solve(ctx, A, sigma, &o, b, x, &out);
    must(ctx, kaon_vector_norm2(b, &b2));
    for (int i = 0; i < SHIFTS; i++) { /* by an application of A to the column alone */
      must(ctx, kaon_vector_export(x, i, host, KAON_BASIS_UKQCD));
      must(ctx, kaon_vector_import(y, 0, host, KAON_BASIS_UKQCD));
      must(ctx, kaon_operator_apply(A, KAON_PLAIN, y, z));
      must(ctx, kaon_vector_axpy(sigma[i], 0, y, z));
      must(ctx, kaon_vector_axpy(-1, 0, b, z));
      must(ctx, kaon_vector_norm2(z, &r2));
      worst = larger(worst, sqrt(r2 / b2));
      assert_int_equal(out.columns[i].reason, KAON_CONVERGED);
    }
    printf("  %s, %s, double/%s: %d applications, CG of the smallest shift %d\n",
           machine_name(machine), improved ? "improved" : "naive", precision_names[sloppy],
           out.solve.applications, cg.iterations);
    test_below("residual of the worst shift", worst, 1.1 * tol);
    assert_true(out.solve.applications <= 1.25 * cg.iterations);
    free(host);
  }
  case_free_columns(hb, 1);
  kaon_vector_destroy(&b);
  kaon_vector_destroy(&x);
  kaon_vector_destroy(&y);
  kaon_vector_destroy(&z);
  kaon_operator_destroy(&A);
  kaon_operator_destroy(&M);
  staggered_close(&s);
}

static void staggered_on_every_machine(void **state) {
  (void)state;
  for (int machine = KAON_ISA_SCALAR; machine <= MACHINE_LAST; machine++)
    for (int improved = 0; improved < 2; improved++) staggered_on(machine, improved);
}

/* ---- what it says ---- */

static void ends_by_name(void **state) {
  const chain a = {0.02, 0, 0.3};
  shell_case c;
  double sigma[SHIFTS];
  outcome out;
  (void)state;
  shell_open(&c, extents, 1);
  kaon_vector *b = shell_random_vector(&c, KAON_DOUBLE, 1, 7),
              *x = shell_vector(&c, KAON_DOUBLE, SHIFTS);
  kaon_operator *A = shell_operator(&c, KAON_DOUBLE, map_chain, &a);
  kaon_multishift_options o = KAON_MULTISHIFT_OPTIONS_INIT;
  poles(0, sigma);
  o.max_iterations = 7; /* the large ones are done by then, or not: by the residual alone */
  solve(c.ctx, A, sigma, &o, b, x, &out);
  assert_int_equal(out.columns[3].reason, KAON_MAX_ITERATIONS);
  assert_true(out.columns[3].residual > tol);
  o.max_iterations = 3000;
  sigma[4] = -1; /* not positive definite */
  solve(c.ctx, A, sigma, &o, b, x, &out);
  assert_int_not_equal(out.columns[4].reason, KAON_CONVERGED);
  printf("  sigma = -1: %s\n", kaon_stop_reason_name(out.columns[4].reason));
  must(c.ctx, kaon_vector_zero(b));
  solve(c.ctx, A, sigma, &o, b, x, &out);
  double norm2[SHIFTS];
  must(c.ctx, kaon_vector_norm2(x, norm2));
  for (int i = 0; i < SHIFTS; i++) {
    assert_int_equal(out.columns[i].reason, KAON_CONVERGED);
    assert_true(norm2[i] == 0);
  }
  kaon_vector_destroy(&b);
  kaon_vector_destroy(&x);
  kaon_operator_destroy(&A);
  shell_close(&c);
}

static void refusals(void **state) {
  const chain a = {0.02, 0, 0.3};
  shell_case c;
  double sigma[SHIFTS];
  kaon_multishift *m = NULL;
  (void)state;
  shell_open(&c, extents, 1);
  kaon_vector *b = shell_random_vector(&c, KAON_DOUBLE, 1, 7),
              *x = shell_vector(&c, KAON_DOUBLE, SHIFTS),
              *single = shell_vector(&c, KAON_SINGLE, 1);
  kaon_operator *A = shell_operator(&c, KAON_DOUBLE, map_chain, &a);
  kaon_multishift_options o = KAON_MULTISHIFT_OPTIONS_INIT;
  poles(0, sigma);
  must_refuse(c.ctx, KAON_ERR_ARGUMENT, kaon_multishift_create(A, 0, sigma, &o, &m));
  must_refuse(c.ctx, KAON_ERR_ARGUMENT, kaon_multishift_create(A, 1000, sigma, &o, &m));
  must_refuse(c.ctx, KAON_ERR_ARGUMENT, kaon_multishift_create(A, 1, NULL, &o, &m));
  kaon_operator *coarse = shell_operator(&c, KAON_HALF, map_chain, &a);
  must_refuse(c.ctx, KAON_ERR_UNSUPPORTED, kaon_multishift_create(coarse, SHIFTS, sigma, &o, &m));
  kaon_operator_destroy(&coarse);
  sigma[2] = NAN;
  must_refuse(c.ctx, KAON_ERR_ARGUMENT, kaon_multishift_create(A, SHIFTS, sigma, &o, &m));
  assert_null(m);
  poles(0, sigma);
  must(c.ctx, kaon_multishift_create(A, SHIFTS, sigma, &o, &m));
  for (int k = 0; k < 4; k++) {
    static const double bad[] = {-1e-8, 1.5, NAN, 0}; /* of the smallest, which goes nowhere */
    double tols[SHIFTS] = {0};
    tols[LEAST] = bad[k];
    must_refuse(c.ctx, KAON_ERR_ARGUMENT, kaon_multishift_set_tol(m, tols));
  }
  must_refuse(c.ctx, KAON_ERR_SHAPE, kaon_multishift_solve(m, x, x, NULL, NULL));
  must_refuse(c.ctx, KAON_ERR_SHAPE, kaon_multishift_solve(m, b, b, NULL, NULL));
  must_refuse(c.ctx, KAON_ERR_PRECISION, kaon_multishift_solve(m, single, x, NULL, NULL));
  must_refuse(c.ctx, KAON_ERR_ARGUMENT, kaon_multishift_solve(m, NULL, x, NULL, NULL));
  kaon_multishift_destroy(&m);
  kaon_multishift_destroy(&m);
  kaon_vector_destroy(&b);
  kaon_vector_destroy(&x);
  kaon_vector_destroy(&single);
  kaon_operator_destroy(&A);
  shell_close(&c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_shift_is_cg_alone),
      cmocka_unit_test(every_shift_has_its_tolerance),
      cmocka_unit_test(normal_equations),
      cmocka_unit_test(missed_shifts_are_refined),
      cmocka_unit_test(right_hand_sides_are_solved_together),
      cmocka_unit_test(dirac_on_every_machine),
      cmocka_unit_test(staggered_on_every_machine),
      cmocka_unit_test(ends_by_name),
      cmocka_unit_test(refusals),
  };
  return test_main(tests, NULL, NULL);
}
