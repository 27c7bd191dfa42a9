/* test_null_space.c - singular systems: every Krylov method, with and without a preconditioner, in
 * every precision, finds the solution that is orthogonal to the null space; inconsistent right-hand
 * sides are reported with the size of the part that A x cannot reach. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <complex.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/util/machine.h"
#include "tests/util/methods.h"
#include "tests/util/test_util.h"

typedef double complex number;

/* Two grids of WIDTH x HEIGHT points and weighted edges, joined by an edge or not. An edge from i
 * to j adds w f (e_i - e_j) to row i and w / f (e_j - e_i) to row j. So rows add up to 0, as do the
 * columns of the transpose. f = 1: A = A^H. Otherwise u with u_j = f^2 u_i has u^T A = 0. Complex
 * entries (i, j) are multiplied by the phase of i over that of j, and so are null vectors. */
enum { WIDTH = 6, HEIGHT = 4, GRID = WIDTH * HEIGHT, ROWS = 2 * GRID, COLUMNS = 3 };
typedef struct graph {
  const char *name;
  int reals, parts; /* parts: connected components, each with a null vector */
  double wind;      /* f */
} graph;
static const graph graphs[] = {{"Neumann", 1, 1, 1},
                               {"two components", 1, 2, 1},
                               {"turned, Hermitian", 2, 2, 1},
                               {"wind", 1, 1, 1.2},
                               {"turned wind", 2, 1, 1.2}};

typedef struct problem {
  const graph *graph;
  number A[ROWS][ROWS], null[2][ROWS], left[ROWS]; /* null: orthonormal */
  kaon_context *ctx;
  kaon_matrix *matrix;
} problem;

static uint64_t seed;
static double phase_of(const graph *g, int i) {
  return g->reals == 2 ? 0.7 * i : 0;
}

static void add_edge(problem *s, int i, int j) {
  const graph *g = s->graph;
  const double weight = 1.5 + test_uniform(&seed), up = weight * g->wind, down = weight / g->wind;
  const number turn = cexp(I * (phase_of(g, i) - phase_of(g, j)));
  s->A[i][i] += up;
  s->A[i][j] -= up * turn;
  s->A[j][j] += down;
  s->A[j][i] -= down * conj(turn);
}

static void fill(problem *s) {
  const graph *g = s->graph;
  for (int i = 0; i < ROWS; i++) {
    const int part = i / GRID, x = i % GRID % WIDTH, y = i % GRID / WIDTH;
    if (x + 1 < WIDTH) add_edge(s, i, i + 1);
    if (y + 1 < HEIGHT) add_edge(s, i, i + WIDTH);
    const number turned = cexp(I * phase_of(g, i));
    for (int k = 0; k < g->parts; k++)
      s->null[k][i] = g->parts == 1 ? turned / sqrt(ROWS) : k == part ? turned / sqrt(GRID) : 0;
    s->left[i] = turned * pow(g->wind, 2 * (x + y + part * (WIDTH + HEIGHT - 1)));
  }
  if (g->parts == 1) add_edge(s, GRID - 1, GRID);
}

static number dot(const number *x, const number *y) {
  number sum = 0;
  for (int i = 0; i < ROWS; i++) sum += conj(x[i]) * y[i];
  return sum;
}

static double length(const number *x) {
  return sqrt(creal(dot(x, x)));
}

static void multiply(const problem *s, const number *x, number *y) {
  for (int i = 0; i < ROWS; i++) {
    y[i] = 0;
    for (int j = 0; j < ROWS; j++) y[i] += s->A[i][j] * x[j];
  }
}

static void draw(const problem *s, number *x) {
  for (int i = 0; i < ROWS; i++)
    x[i] = test_uniform(&seed) + (s->graph->reals == 2 ? I * test_uniform(&seed) : 0);
}

/* Numbers as the library takes them. */
static void flatten(int reals, const number *x, double *flat) {
  for (int i = 0; i < ROWS; i++) {
    flat[reals * i] = creal(x[i]);
    if (reals == 2) flat[2 * i + 1] = cimag(x[i]);
  }
}

static void put(const problem *s, kaon_vector *v, int column, const number *x) {
  double flat[2 * ROWS];
  flatten(s->graph->reals, x, flat);
  must(s->ctx, kaon_vector_import(v, column, flat, KAON_BASIS_UKQCD));
}

static void take(const problem *s, const kaon_vector *v, int column, number *x) {
  double flat[2 * ROWS];
  const int reals = s->graph->reals;
  must(s->ctx, kaon_vector_export(v, column, flat, KAON_BASIS_UKQCD));
  for (int i = 0; i < ROWS; i++) x[i] = flat[reals * i] + (reals == 2 ? I * flat[2 * i + 1] : 0);
}

/* Null vectors as a user passes them: NULL for the constant one, or vectors that are neither
 * orthogonal nor of length 1. */
static void set_null_space(problem *s) {
  const graph *g = s->graph;
  double given[2 * 2 * ROWS];
  number sum[ROWS];
  for (int i = 0; i < ROWS; i++) sum[i] = 7 * s->null[0][i] + s->null[g->parts - 1][i];
  flatten(g->reals, sum, given);
  flatten(g->reals, s->null[0], given + g->reals * ROWS);
  const int constant = g->parts == 1 && g->reals == 1;
  must(s->ctx, kaon_matrix_set_null_space(s->matrix, g->parts, constant ? NULL : given));
}

static void open_problem(problem *s, const graph *g, kaon_context *ctx, int transposed) {
  int64_t row[ROWS * ROWS], column[ROWS * ROWS];
  double value[2 * ROWS * ROWS];
  kaon_triplet_arrays a = {.global_rows = ROWS, .rows = ROWS, .reals = g->reals};
  *s = (problem){.graph = g, .ctx = ctx};
  seed = 5;
  fill(s);
  for (int i = 0; i < ROWS; i++)
    for (int j = 0; j < ROWS; j++) {
      if (s->A[i][j] == 0) continue;
      row[a.entries] = transposed ? j : i;
      column[a.entries] = transposed ? i : j;
      value[g->reals * a.entries] = creal(s->A[i][j]);
      if (g->reals == 2) value[2 * a.entries + 1] = cimag(s->A[i][j]);
      a.entries++;
    }
  a.row = row;
  a.column = column;
  a.values = value;
  must(ctx, kaon_matrix_create_triplets(ctx, &a, NULL, &s->matrix));
}

static kaon_context *open_context(int machine) {
  kaon_context_options options = KAON_CONTEXT_OPTIONS_INIT;
  kaon_context *ctx = NULL;
  options.threads = 1;
  must(NULL, machine_open(machine, options, &ctx));
  return ctx;
}

/* ---- consistent systems ---- */

enum { NONE, JACOBI, FACTORS, AINV, CHEBYSHEV, PRECONDS, INNER = PRECONDS };
static const char *const preconds[] = {"none", "jacobi",    "factors",
                                       "ainv", "chebyshev", "steps of cg"};

static kaon_operator *precond_of(const problem *s, kaon_operator *A, int kind) {
  kaon_precond_options o = KAON_PRECOND_OPTIONS_INIT;
  kaon_operator *K = NULL;
  o.kind = kind == AINV          ? KAON_PRECOND_AINV
           : s->graph->wind == 1 ? KAON_PRECOND_IC0
                                 : KAON_PRECOND_ILU0;
  if (kind == JACOBI) must(s->ctx, kaon_precond_jacobi(A, &K));
  if (kind == CHEBYSHEV) must(s->ctx, kaon_precond_chebyshev(A, NULL, &K));
  if (kind == INNER) {
    kaon_solver_options inner = KAON_SOLVER_OPTIONS_INIT;
    kaon_solver *solver = NULL;
    inner.method = KAON_CG;
    inner.tol = 0;
    inner.max_iterations = 5;
    must(s->ctx, kaon_solver_create(A, COLUMNS, &inner, &solver));
    must(s->ctx, kaon_solver_as_operator(solver, &K));
    kaon_solver_destroy(&solver);
  }
  if (kind == FACTORS || kind == AINV) must(s->ctx, kaon_precond_create(s->matrix, &o, &K));
  return K;
}

/* Rows have up to 5 entries whose sizes add up to at most 2 * 4 * 2.5 * 1.2 = 24, so |A| <= 24. The
 * test and the library each round b - A x by at most 8 eps (|b| + |A| |x|) a row. The part of x
 * left along a null vector is rounding: of ROWS products, of the projection and of its result. */
static void check_answer(const problem *s, const number *b, const number *x, double residual,
                         double eps) {
  number r[ROWS];
  multiply(s, x, r);
  for (int i = 0; i < ROWS; i++) r[i] = b[i] - r[i];
  const double rounding = 16 * DBL_EPSILON * (1 + 24 * length(x) / length(b));
  assert_true(fabs(length(r) / length(b) - residual) <= rounding);
  for (int k = 0; k < s->graph->parts; k++)
    assert_true(cabs(dot(s->null[k], x)) <= 4 * ROWS * eps * length(x));
}

typedef struct precisions {
  kaon_precision outer, inner;
  double tol;
} precisions;
static const precisions pairs[] = {{KAON_DOUBLE, KAON_DOUBLE, 1e-10},
                                   {KAON_DOUBLE, KAON_SINGLE, 1e-10},
                                   {KAON_DOUBLE, KAON_HALF, 1e-8},
                                   {KAON_SINGLE, KAON_SINGLE, 2e-5}};

/* Column 1 starts from a guess with a part in the null space. Column 2 has b = 0. */
static void solve_case(const problem *s, int method, int kind, const precisions *p, int *steps) {
  const double eps = p->outer == KAON_DOUBLE ? DBL_EPSILON : FLT_EPSILON;
  kaon_matrix_operator_options how = KAON_MATRIX_OPERATOR_OPTIONS_INIT;
  kaon_solver_options o = KAON_SOLVER_OPTIONS_INIT;
  kaon_column_report report[COLUMNS];
  kaon_operator *A = NULL;
  kaon_solver *solver = NULL;
  kaon_vector *b = NULL, *x = NULL;
  number right[COLUMNS][ROWS] = {{0}}, solution[ROWS];
  how.precision = p->outer;
  must(s->ctx, kaon_matrix_operator(s->matrix, &how, &A));
  o.method = (kaon_method)method;
  o.tol = p->tol;
  o.sloppy = p->inner;
  o.max_iterations = 5000;
  o.preconditioner = precond_of(s, A, kind);
  must(s->ctx, kaon_vector_create(s->ctx, kaon_matrix_space(s->matrix), p->outer, COLUMNS, &b));
  must(s->ctx, kaon_vector_create(s->ctx, kaon_matrix_space(s->matrix), p->outer, COLUMNS, &x));
  for (int k = 0; k < 2; k++) {
    draw(s, solution);
    multiply(s, solution, right[k]);
    put(s, b, k, right[k]);
    take(s, b, k, right[k]); /* rounded to b's precision */
  }
  draw(s, solution);
  put(s, x, 1, solution);
  must(s->ctx, kaon_solver_create(A, COLUMNS, &o, &solver));
  must(s->ctx, kaon_solver_solve(solver, b, x, report, NULL));
  for (int k = 0; k < COLUMNS; k++) {
    if (report[k].reason != KAON_CONVERGED)
      fail_msg("%s, %s, %s, %d/%d, column %d: %s after %d steps at %.2g", s->graph->name,
               method_name(method), preconds[kind], (int)p->outer, (int)p->inner, k,
               kaon_stop_reason_name(report[k].reason), report[k].iterations, report[k].residual);
    *steps += report[k].iterations;
    take(s, x, k, solution);
    if (k < 2) check_answer(s, right[k], solution, report[k].residual, eps);
    if (k == 2) assert_true(length(solution) == 0);
  }
  kaon_solver_destroy(&solver);
  kaon_operator_destroy(&o.preconditioner);
  kaon_operator_destroy(&A);
  kaon_vector_destroy(&b);
  kaon_vector_destroy(&x);
}

/* CG-like methods and Chebyshev need a Hermitian A, and MR a definite Hermitian part, which wind
 * takes away. BiCG's shadow residual is never recomputed, so in single precision its rounding
 * errors along the null space may outlast the rest of it. A with 16-bit values has no null vector,
 * and pipelined BiCGStab then fails. */
static int suits(const graph *g, int method, int kind, const precisions *p) {
  const int hermitian = g->wind == 1;
  const int half = p->inner == KAON_HALF;
  if (!hermitian && (method == KAON_MR || kind == CHEBYSHEV)) return 0;
  if (!hermitian && method == KAON_BICG && p->inner != KAON_DOUBLE) return 0;
  if (half && method == KAON_PIPEBICGSTAB) return 0;
  if (!hermitian && method_has(method, KAON_METHOD_HERMITIAN)) return 0;
  if (half && ((int)coarsest(method) != KAON_HALF || kind != NONE)) return 0;
  return kind == NONE || method_has(method, KAON_METHOD_PRECONDITIONED);
}

static void every_method_solves_consistent_systems(void **state) {
  static const int machines[] = {MACHINE_CPU, MACHINE_CUDA};
  (void)state;
  for (size_t m = 0; m < sizeof machines / sizeof *machines; m++) {
    if (machine_lacks(machines[m])) continue;
    kaon_context *ctx = open_context(machines[m]);
    for (size_t g = 0; g < sizeof graphs / sizeof *graphs; g++) {
      problem s;
      int solves = 0, steps = 0;
      open_problem(&s, &graphs[g], ctx, 0);
      set_null_space(&s);
      for (int method = 0; method < METHODS; method = next_krylov(method))
        for (int kind = 0; kind < PRECONDS; kind++)
          for (size_t p = 0; p < sizeof pairs / sizeof *pairs; p++) {
            if (!suits(s.graph, method, kind, &pairs[p])) continue;
            solve_case(&s, method, kind, &pairs[p], &steps);
            solves++;
          }
      printf("  %s, %s: %d solves of %d columns, %d steps\n", machine_name(machines[m]),
             s.graph->name, solves, (int)COLUMNS, steps);
      kaon_matrix_destroy(&s.matrix);
    }
    kaon_context_destroy(&ctx);
  }
}

/* Relaxation, and Krylov methods with a solver as preconditioner. */
static void relaxation_and_nested_solvers_solve_them_too(void **state) {
  (void)state;
  kaon_context *ctx = open_context(MACHINE_CPU);
  problem s;
  int steps = 0;
  open_problem(&s, &graphs[0], ctx, 0);
  set_null_space(&s);
  solve_case(&s, KAON_GS, NONE, &pairs[0], &steps);
  solve_case(&s, KAON_FCG, INNER, &pairs[0], &steps);
  solve_case(&s, KAON_GCR, INNER, &pairs[1], &steps);
  kaon_matrix_destroy(&s.matrix);
  kaon_context_destroy(&ctx);
}

/* ---- inconsistent systems ---- */

typedef struct solving {
  kaon_operator *A;
  kaon_vector *b, *x;
  kaon_column_report report[COLUMNS];
} solving;

/* Columns 0 and 2 are consistent; column 1 is `wrong`. */
static void solve_wrong(const problem *s, kaon_solver_options o, int columns, const number *wrong,
                        solving *run) {
  const kaon_space *space = kaon_matrix_space(s->matrix);
  kaon_solver *solver = NULL;
  number right[ROWS], solution[ROWS];
  *run = (solving){0};
  must(s->ctx, kaon_matrix_operator(s->matrix, NULL, &run->A));
  must(s->ctx, kaon_vector_create(s->ctx, space, KAON_DOUBLE, columns, &run->b));
  must(s->ctx, kaon_vector_create(s->ctx, space, KAON_DOUBLE, columns, &run->x));
  for (int k = 0; k < columns; k++) {
    draw(s, solution);
    multiply(s, solution, right);
    put(s, run->b, k, k == columns / 2 ? wrong : right);
  }
  must(s->ctx, kaon_vector_zero(run->x));
  must(s->ctx, kaon_solver_create(run->A, columns, &o, &solver));
  must(s->ctx, kaon_solver_solve(solver, run->b, run->x, run->report, NULL));
  kaon_solver_destroy(&solver);
}

static void close_run(solving *run) {
  kaon_vector_destroy(&run->b);
  kaon_vector_destroy(&run->x);
  kaon_operator_destroy(&run->A);
}

/* |N^H b| / |b| by plain arithmetic; the library's differs by rounding of ROWS products. */
static double part_in(const problem *s, const number *b) {
  double part2 = 0;
  for (int k = 0; k < s->graph->parts; k++) part2 += pow(cabs(dot(s->null[k], b)), 2);
  return sqrt(part2) / length(b);
}
static const double ROUNDED = 4 * ROWS * DBL_EPSILON;

/* The solver reports the part, and what kaon_matrix_project_rhs() leaves has a solution. */
static void name_and_project(const problem *s, int method) {
  kaon_solver_options o = KAON_SOLVER_OPTIONS_INIT;
  double removed[COLUMNS];
  number wrong[ROWS];
  solving run;
  o.method = (kaon_method)method;
  draw(s, wrong);
  const double part = part_in(s, wrong);
  solve_wrong(s, o, COLUMNS, wrong, &run);
  assert_int_equal(run.report[1].reason, KAON_STAGNATED);
  assert_int_equal(run.report[1].iterations, 0);
  assert_true(fabs(run.report[1].unreachable - part) <= ROUNDED);
  assert_true(fabs(run.report[1].residual - 1) <= ROUNDED);
  for (int k = 0; k < COLUMNS; k += 2) {
    if (run.report[k].reason != KAON_CONVERGED)
      fail_msg("%s, %s: %s", s->graph->name, method_name(method),
               kaon_stop_reason_name(run.report[k].reason));
    assert_true(run.report[k].unreachable <= ROUNDED);
  }
  must(s->ctx, kaon_matrix_project_rhs(s->matrix, run.b, removed));
  assert_true(fabs(removed[1] - part) <= ROUNDED && removed[0] <= ROUNDED);
  take(s, run.b, 1, wrong);
  close_run(&run);
  solve_wrong(s, o, COLUMNS, wrong, &run);
  assert_int_equal(run.report[1].reason, KAON_CONVERGED);
  close_run(&run);
}

/* A tolerance above the part's size can be met. The normal equations always have a solution, whose
 * residual has that size. */
static void end_elsewhere(const problem *s) {
  kaon_solver_options o = KAON_SOLVER_OPTIONS_INIT;
  number wrong[ROWS];
  solving run;
  draw(s, wrong);
  o.method = KAON_CGNR;
  o.tol = 1;
  solve_wrong(s, o, 1, wrong, &run);
  assert_int_equal(run.report[0].reason, KAON_CONVERGED);
  close_run(&run);
  o.tol = 1e-9;
  o.stop = KAON_STOP_NORMAL;
  solve_wrong(s, o, 1, wrong, &run);
  assert_int_equal(run.report[0].reason, KAON_CONVERGED);
  assert_true(fabs(run.report[0].residual - part_in(s, wrong)) <= 1e-9);
  close_run(&run);
}

static void hermitian_systems_end_before_the_first_step(void **state) {
  (void)state;
  kaon_context *ctx = open_context(KAON_ISA_AUTO);
  for (size_t g = 0; g < sizeof graphs / sizeof *graphs && graphs[g].wind == 1; g++) {
    problem s;
    open_problem(&s, &graphs[g], ctx, 0);
    set_null_space(&s);
    for (int method = 0; method < METHODS; method = next_krylov(method))
      name_and_project(&s, method);
    end_elsewhere(&s);
    kaon_matrix_destroy(&s.matrix);
  }
  kaon_context_destroy(&ctx);
}

/* If A^dag has another null space, the least-squares residual r shows that b is inconsistent. With
 * |A^dag r| <= 1e-10 |A| |r| and a condition below 1e5, the part of r outside the null space of
 * A^dag is below 1e-5 |r|, and enters |r| by its square. */
static void other_systems_are_judged_by_their_residual(void **state) {
  (void)state;
  kaon_context *ctx = open_context(KAON_ISA_AUTO);
  for (size_t g = 3; g < sizeof graphs / sizeof *graphs; g++) {
    problem s;
    number wrong[ROWS];
    double removed;
    kaon_solver_options o = KAON_SOLVER_OPTIONS_INIT;
    kaon_consistency found;
    solving run;
    open_problem(&s, &graphs[g], ctx, 0);
    set_null_space(&s);
    draw(&s, wrong);
    const double part = cabs(dot(s.left, wrong)) / length(s.left) / length(wrong);
    o.method = KAON_CGNR;
    o.stop = KAON_STOP_NORMAL;
    o.tol = 1e-12; /* of |A^dag b|; |r| is 0.03 |b| or more, so this is 1e-10 of it */
    solve_wrong(&s, o, 1, wrong, &run);
    assert_int_equal(run.report[0].reason, KAON_CONVERGED);
    test_close("residual of least squares", run.report[0].residual, part, 1e-9);
    assert_true(run.report[0].unreachable == 0);
    must(ctx, kaon_matrix_check_consistency(run.A, run.b, run.x, &found));
    test_close("size of what A x cannot reach", found.unreachable, part, 1e-9);
    assert_int_equal(found.removable, 0);
    assert_int_equal(found.constant, s.graph->reals == 1);
    must(ctx, kaon_vector_zero(run.x)); /* x = 0 is no least-squares solution */
    must(ctx, kaon_matrix_check_consistency(run.A, run.b, run.x, &found));
    assert_true(found.unreachable == 0);
    must_refuse(ctx, KAON_ERR_UNSUPPORTED, kaon_matrix_project_rhs(s.matrix, run.b, &removed));
    close_run(&run);
    kaon_matrix_destroy(&s.matrix);
  }
  kaon_context_destroy(&ctx);
}

/* Columns of the transpose add up to 0: its left null vector is known without being given. */
static void zero_column_sums_are_seen(void **state) {
  (void)state;
  kaon_context *ctx = open_context(KAON_ISA_AUTO);
  problem s;
  number wrong[ROWS], ones[ROWS];
  double removed, left;
  kaon_solver_options o = KAON_SOLVER_OPTIONS_INIT;
  kaon_consistency found;
  solving run;
  open_problem(&s, &graphs[3], ctx, 1);
  o.method = KAON_BICGSTAB;
  draw(&s, wrong);
  solve_wrong(&s, o, 1, wrong, &run);
  const double part = part_in(&s, wrong);
  assert_int_not_equal(run.report[0].reason, KAON_CONVERGED);
  must(ctx, kaon_matrix_check_consistency(run.A, run.b, run.x, &found));
  assert_true(fabs(found.unreachable - part) <= ROUNDED && found.removable && !found.constant);
  must(ctx, kaon_matrix_project_rhs(s.matrix, run.b, &removed));
  assert_true(fabs(removed - part) <= ROUNDED);
  take(&s, run.b, 0, wrong);
  close_run(&run);
  solve_wrong(&s, o, 1, wrong, &run);
  assert_int_equal(run.report[0].reason, KAON_CONVERGED);
  for (int i = 0; i < ROWS; i++) ones[i] = 3; /* it lies in the null space of A^dag */
  put(&s, run.b, 0, ones);
  must(ctx, kaon_matrix_project_rhs(s.matrix, run.b, &removed));
  must(ctx, kaon_vector_norm2(run.b, &left));
  assert_true(left == 0 && fabs(removed - 1) <= ROUNDED);
  close_run(&run);
  kaon_matrix_destroy(&s.matrix);
  kaon_context_destroy(&ctx);
}

/* ---- what is refused ---- */

static void refused(const problem *s, kaon_status expected, const char *words, int count,
                    const double *vectors) {
  must_refuse(s->ctx, expected, kaon_matrix_set_null_space(s->matrix, count, vectors));
  if (strstr(kaon_last_error(s->ctx), words) == NULL)
    fail_msg("'%s' has no '%s'", kaon_last_error(s->ctx), words);
}

static void wrong_vectors_are_refused(void **state) {
  (void)state;
  kaon_context *ctx = open_context(MACHINE_CPU);
  problem s;
  number wrong[ROWS];
  double pair[2 * ROWS], removed[COLUMNS];
  solving run;
  open_problem(&s, &graphs[1], ctx, 0);
  set_null_space(&s);
  for (int i = 0; i < 2 * ROWS; i++) pair[i] = 1;
  refused(&s, KAON_ERR_ARGUMENT, "vector 1 is a combination", 2, pair);
  refused(&s, KAON_ERR_ARGUMENT, "0 to 16 are possible", 17, pair);
  refused(&s, KAON_ERR_ARGUMENT, "0 to 16 are possible", -1, pair);
  refused(&s, KAON_ERR_ARGUMENT, "their number is 2", 2, NULL);
  pair[ROWS + 5] = 1 + 1e-8;
  refused(&s, KAON_ERR_ARGUMENT, "A times vector 1 is", 2, pair);
  pair[ROWS + 5] = NAN;
  refused(&s, KAON_ERR_NOT_FINITE, "", 2, pair);
  memset(pair, 0, sizeof pair);
  refused(&s, KAON_ERR_ARGUMENT, "the length of vector 0 is 0", 1, pair);
  draw(&s, wrong); /* both vectors of the null space are still set */
  solve_wrong(&s, (kaon_solver_options)KAON_SOLVER_OPTIONS_INIT, COLUMNS, wrong, &run);
  assert_true(fabs(run.report[1].unreachable - part_in(&s, wrong)) <= ROUNDED);
  close_run(&run);
  must(ctx, kaon_matrix_set_null_space(s.matrix, 0, NULL));
  solve_wrong(&s, (kaon_solver_options)KAON_SOLVER_OPTIONS_INIT, COLUMNS, wrong, &run);
  assert_true(run.report[1].unreachable == 0);
  must(ctx, kaon_matrix_project_rhs(s.matrix, run.b, removed)); /* by the constant vector alone */
  close_run(&run);
  kaon_matrix_destroy(&s.matrix);
  open_problem(&s, &graphs[3], ctx, 1);
  refused(&s, KAON_ERR_ARGUMENT, "A times a constant vector is", 1, NULL);
  kaon_matrix_destroy(&s.matrix);
  kaon_context_destroy(&ctx);
}

/* A chain's Laplacian times 2^power: closed ends have the constant null vector, open ones none. */
static kaon_matrix *chain(kaon_context *ctx, int open_ends, int power) {
  enum { N = 12 };
  int64_t start[N + 1] = {0};
  int32_t column[3 * N];
  double value[3 * N];
  kaon_matrix *matrix = NULL;
  int entries = 0;
  for (int i = 0; i < N; i++) {
    const int inner = i > 0 && i < N - 1;
    for (int j = i > 0 ? i - 1 : 0; j <= i + 1 && j < N; j++, entries++) {
      column[entries] = j;
      value[entries] = ldexp(j != i ? -1 : open_ends || inner ? 2 : 1, power);
    }
    start[i + 1] = entries;
  }
  const kaon_csr_arrays arrays = {.global_rows = N,
                                  .rows = N,
                                  .reals = 1,
                                  .start64 = start,
                                  .column32 = column,
                                  .values = value};
  must(ctx, kaon_matrix_create_csr(ctx, &arrays, NULL, &matrix));
  return matrix;
}

static void vectors_are_judged_beside_entries_of_any_size(void **state) {
  (void)state;
  kaon_context *ctx = open_context(MACHINE_CPU);
  for (int power = -60; power <= 60; power += 30) {
    kaon_matrix *closed = chain(ctx, 0, power), *open = chain(ctx, 1, power);
    must(ctx, kaon_matrix_set_null_space(closed, 1, NULL));
    must_refuse(ctx, KAON_ERR_ARGUMENT, kaon_matrix_set_null_space(open, 1, NULL));
    kaon_matrix_destroy(&closed);
    kaon_matrix_destroy(&open);
  }
  kaon_context_destroy(&ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_method_solves_consistent_systems),
      cmocka_unit_test(relaxation_and_nested_solvers_solve_them_too),
      cmocka_unit_test(hermitian_systems_end_before_the_first_step),
      cmocka_unit_test(other_systems_are_judged_by_their_residual),
      cmocka_unit_test(zero_column_sums_are_seen),
      cmocka_unit_test(wrong_vectors_are_refused),
      cmocka_unit_test(vectors_are_judged_beside_entries_of_any_size)};
  return test_main(tests, NULL, NULL);
}
