/* test_matrix_scaling.c - solves with matrices and right-hand sides far from 1 have the bits of
 * ordinary ones (scaling_case.h), for all methods, inner precisions, preconditioners and operators
 * made of a matrix. Products, rows, shifts and intervals are in the user's units. Solutions that
 * double cannot hold are refused. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "tests/util/scaling_case.h"

/* 1e-100 to 1e100, 1e-14, 1e14, and both ends of the range in which A is stored as it is. They are
 * multiples of 4, since square roots of odd powers round, and A^H A has twice the power. */
static const int of_matrices[] = {-332, -48, -20, 16, 48, 332};
enum { OF_MATRICES = 6 };

typedef struct entries {
  kaon_matrix_info info;
  int64_t *start;
  int32_t *column;
  double *value;
} entries;

/* The generated matrix with twice the diagonal, so that every method converges in half
 * precision. */
static entries take(const char *name) {
  entries e = {.info = KAON_MATRIX_INFO_INIT};
  kaon_matrix *matrix = NULL;
  must(ctx, kaon_matrix_generate(ctx, name, NULL, &matrix, NULL));
  must(ctx, kaon_matrix_describe(matrix, &e.info));
  e.start = calloc((size_t)e.info.rows + 1, sizeof *e.start);
  e.column = calloc((size_t)e.info.entries, sizeof *e.column);
  e.value = calloc((size_t)e.info.entries, sizeof *e.value);
  must(ctx, kaon_matrix_rows(matrix, e.start, e.column, e.value));
  for (int64_t i = 0; i < e.info.rows; i++)
    for (int64_t n = e.start[i]; n < e.start[i + 1]; n++)
      if (e.column[n] == i) e.value[n] *= 2;
  kaon_matrix_destroy(&matrix);
  return e;
}

static void drop(entries *e) {
  free(e->start);
  free(e->column);
  free(e->value);
}

/* The matrix times 2^power, and its operator. kaon_matrix_rows() returns its entries in every
 * bit. */
static kaon_matrix *scaled_matrix(const entries *e, int power, kaon_operator **A) {
  const size_t bytes = (size_t)e->info.entries * sizeof(double);
  double *value = malloc(bytes), *again = malloc(bytes);
  int64_t *start = malloc(((size_t)e->info.rows + 1) * sizeof *start);
  int32_t *column = malloc((size_t)e->info.entries * sizeof *column);
  kaon_matrix *matrix = NULL;
  for (int64_t n = 0; n < (int64_t)e->info.entries; n++) value[n] = ldexp(e->value[n], power);
  const kaon_csr_arrays arrays = {.global_rows = e->info.rows,
                                  .rows = e->info.rows,
                                  .reals = 1,
                                  .start64 = e->start,
                                  .column32 = e->column,
                                  .values = value};
  must(ctx, kaon_matrix_create_csr(ctx, &arrays, NULL, &matrix));
  must(ctx, kaon_matrix_operator(matrix, NULL, A));
  must(ctx, kaon_matrix_rows(matrix, start, column, again));
  assert_memory_equal(value, again, bytes);
  free(start);
  free(column);
  free(value);
  free(again);
  return matrix;
}

typedef enum {
  NONE = KAON_PRECOND_FSAI + 1, /* smaller values: kaon_precond_kind */
  SINGLE,                       /* SSOR in single */
  SWEEPS,                       /* SSOR by Jacobi sweeps */
  JACOBI,
  CHEBYSHEV,
  INTERVAL, /* Chebyshev's in A, with a given interval */
  PROJECTIONS,
  SCHWARZ,
  SOLVER,
  KINDS
} kind;

static kaon_operator *from_entries(kaon_matrix *matrix, kind k) {
  kaon_precond_options o = KAON_PRECOND_OPTIONS_INIT;
  kaon_operator *K = NULL;
  o.kind = k < NONE ? (kaon_precond_kind)k : KAON_PRECOND_SSOR;
  o.precision = k == SINGLE ? KAON_SINGLE : KAON_DOUBLE;
  o.sweeps = k == SWEEPS ? 3 : 0;
  (void)kaon_precond_create(matrix, &o, &K); /* some kinds are for Hermitian matrices */
  return K;
}

static kaon_operator *solver_of(kaon_operator *A) {
  kaon_solver_options o = KAON_SOLVER_OPTIONS_INIT;
  kaon_solver *solver = NULL;
  kaon_operator *K = NULL;
  o.method = KAON_CGNR;
  o.tol = 0.1;
  o.sloppy = KAON_SINGLE;
  must(ctx, kaon_solver_create(A, COLUMNS, &o, &solver));
  must(ctx, kaon_solver_as_operator(solver, &K));
  kaon_solver_destroy(&solver);
  return K;
}

/* NULL: not for this matrix. */
static kaon_operator *preconditioner(kaon_matrix *matrix, kaon_operator *A, kind k, int power) {
  kaon_chebyshev_options c = KAON_CHEBYSHEV_OPTIONS_INIT;
  kaon_schwarz_options z = KAON_SCHWARZ_OPTIONS_INIT;
  kaon_operator *K = NULL;
  double low, high;
  if (k < NONE || k == SINGLE || k == SWEEPS) return from_entries(matrix, k);
  if (k == JACOBI) must(ctx, kaon_precond_jacobi(A, &K));
  if (k == CHEBYSHEV) must(ctx, kaon_precond_chebyshev(A, NULL, &K));
  if (k == PROJECTIONS) must(ctx, kaon_kaczmarz_preconditioner(A, NULL, 2, &K));
  if (k == SOLVER) return solver_of(A);
  if (k == SCHWARZ) {
    z.block[0] = 16;
    z.precision = KAON_SINGLE;
    must(ctx, kaon_schwarz_create(A, &z, &K));
  }
  if (k != INTERVAL) return K;
  c.scaled = 0;
  c.low = ldexp(3, power);
  c.high = ldexp(13, power);
  must(ctx, kaon_precond_chebyshev(A, &c, &K));
  must(ctx, kaon_precond_chebyshev_interval(K, &low, &high));
  assert_true(low == c.low && high == c.high);
  return K;
}

/* y = Op x of random x, times 2^-power: the same bits for all powers. */
static void check_product(kaon_operator *op, int numbers, int power, double **ordinary) {
  const system_of s = {.space = kaon_operator_space(op), .numbers = numbers, .of_A = -power};
  double *host = malloc((size_t)(COLUMNS * numbers) * sizeof *host);
  for (int mode = KAON_PLAIN; mode <= KAON_DAGGER; mode++) {
    const kaon_precision p = kaon_operator_precision(op);
    kaon_vector *x = vector(&s, p, 1), *y = vector(&s, p, 1);
    import(&s, x, 7, 1, 0);
    const kaon_status status = kaon_operator_apply(op, (kaon_mode)mode, x, y);
    if (status == KAON_OK) export(&s, y, host);
    kaon_vector_destroy(&x);
    kaon_vector_destroy(&y);
    if (status != KAON_OK) continue; /* no adjoint */
    const size_t bytes = (size_t)(COLUMNS * numbers) * sizeof *host;
    if (ordinary[mode] != NULL) assert_memory_equal(host, ordinary[mode], bytes);
    if (ordinary[mode] == NULL) ordinary[mode] = memcpy(malloc(bytes), host, bytes);
  }
  free(host);
}

/* ---- operators made of a matrix ---- */

typedef enum { PLAIN, ADJOINT, NORMAL, DOUBLE_SWEEPS, CARP, CIMMINO, FORMS_OF_MATRIX } matrix_form;

static kaon_operator *form_of(kaon_operator *A, matrix_form f) {
  kaon_kaczmarz_options o = KAON_KACZMARZ_OPTIONS_INIT;
  kaon_operator *R = A;
  o.kind = f == CARP      ? KAON_KACZMARZ_CARP
           : f == CIMMINO ? KAON_KACZMARZ_CIMMINO
                          : KAON_KACZMARZ_DOUBLE;
  if (f == PLAIN) return A;
  if (f == ADJOINT) must(ctx, kaon_operator_adjoint(A, &R));
  if (f == NORMAL) must(ctx, kaon_operator_normal(A, &R));
  if (f >= DOUBLE_SWEEPS) must(ctx, kaon_kaczmarz_reduce(A, &o, &R));
  kaon_operator_destroy(&A);
  return R;
}

/* 1: the method is for this operator and preconditioner. A^H A is not squared again. */
static int suits(int method, matrix_form f, int hermitian, kind k) {
  const unsigned traits = method_info(method).traits;
  if (f >= NORMAL && (traits & KAON_METHOD_NORMAL)) return 0;
  if (!repeats(method) || ((traits & KAON_METHOD_HERMITIAN) && !hermitian)) return 0;
  if (k == NONE) return 1;
  if (k == PROJECTIONS && (traits & (KAON_METHOD_HERMITIAN | KAON_METHOD_ADJOINT))) return 0;
  if (k == SCHWARZ && (traits & KAON_METHOD_HERMITIAN)) return 0;
  if ((k == SCHWARZ || k == SOLVER) && !(traits & KAON_METHOD_FLEXIBLE)) return 0;
  return (traits & KAON_METHOD_PRECONDITIONED) != 0;
}

/* The same system at all scales, the ordinary one first. */
typedef struct sizes {
  system_of of[1 + OF_MATRICES];
  kaon_operator *K[1 + OF_MATRICES];
  int have;
} sizes;

static sizes make_sizes(const entries *e, matrix_form f, kind k) {
  sizes all = {.have = 1};
  double *products[2][2] = {{NULL}};
  for (int i = 0; i <= OF_MATRICES; i++) {
    const int power = i > 0 ? of_matrices[i - 1] : 0;
    const int numbers = (int)e->info.rows, whole = abs(power) < 100;
    kaon_operator *A = NULL;
    kaon_matrix *matrix = scaled_matrix(e, f == NORMAL ? power / 2 : power, &A);
    all.of[i] = (system_of){
        .space = kaon_matrix_space(matrix), .numbers = numbers, .of_A = power, .of_b = powers};
    all.K[i] = k != NONE ? preconditioner(matrix, A, k, power) : NULL;
    all.have &= k == NONE || all.K[i] != NULL;
    all.of[i].A = form_of(A, f);
    if (f < DOUBLE_SWEEPS) check_product(all.of[i].A, numbers, power, products[0]);
    if (all.K[i] != NULL && k != SCHWARZ &&
        (whole || kaon_operator_precision(all.K[i]) == KAON_DOUBLE))
      check_product(all.K[i], numbers, -power, products[1]);
    kaon_matrix_destroy(&matrix);
  }
  for (int n = 0; n < 4; n++) free(products[n / 2][n % 2]);
  return all;
}

static const char *const form_names[FORMS_OF_MATRIX] = {
    "A", "A^dag", "A^dag A", "double sweeps", "CARP", "Cimmino"};
static const char *const kind_names[KINDS] = {
    "block Jacobi", "DIC",       "DILU",           "SSOR",        "Gauss-Seidel", "IC(0)",
    "ILU(0)",       "AINV",      "FSAI",           "none",        "SSOR, single", "SSOR, swept",
    "Jacobi",       "Chebyshev", "Chebyshev in A", "projections", "Schwarz",      "solver"};

static void all_matrices(const entries *e, matrix_form f, kind k) {
  printf("  %s, preconditioner: %s\n", form_names[f], kind_names[k]);
  fflush(stdout); /* what follows may crash */
  const int hermitian = e->info.hermitian ? f != ADJOINT : f >= NORMAL;
  sizes all = make_sizes(e, f, k);
  for (int m = 0; m < METHODS && all.have; m++)
    for (int p = k == NONE ? KAON_DOUBLE : KAON_SINGLE; p <= (k == NONE ? KAON_HALF : KAON_SINGLE);
         p++) {
      kaon_solver_options o = options_of(m, p);
      outcome a, b;
      if (!suits(m, f, hermitian, k)) continue;
      o.preconditioner = all.K[0];
      if (!run(&all.of[0], &o, &a)) continue;
      converged(&o, &a);
      for (int i = 1; i <= OF_MATRICES; i++) {
        if (m == KAON_RICHARDSON && f < DOUBLE_SWEEPS) break; /* omega has the unit of 1 / A */
        o.preconditioner = all.K[i];
        assert_int_equal(run(&all.of[i], &o, &b), 1);
        same(&all.of[i], &o, &a, &b);
        free(b.x);
      }
      free(a.x);
    }
  for (int i = 0; i <= OF_MATRICES; i++) {
    kaon_operator_destroy(&all.K[i]);
    kaon_operator_destroy(&all.of[i].A);
  }
}

/* ---- shifts and reductions ---- */

enum { SHIFTS = 2 };

/* x and reports have the columns of one shift after those of the other. */
static void run_shifts(const system_of *s, kaon_multishift_options o, double *x,
                       kaon_column_report *reports) {
  const double sigma[SHIFTS] = {0, ldexp(0.5, s->of_A * (1 + o.normal))};
  kaon_multishift *solver = NULL;
  kaon_vector *b = vector(s, KAON_DOUBLE, 1), *one = vector(s, KAON_DOUBLE, 1),
              *all = vector(s, KAON_DOUBLE, SHIFTS);
  system_of by = *s;
  by.of_A *= 1 + o.normal;
  must(ctx, kaon_multishift_create(s->A, SHIFTS, sigma, &o, &solver));
  import(s, b, 5, 1, 0);
  must(ctx, kaon_multishift_solve(solver, b, all, reports, NULL));
  for (int i = 0; i < SHIFTS; i++) {
    must(ctx, kaon_vector_copy_columns(one, 0, all, i * COLUMNS, COLUMNS));
    export(&by, one, x + i * COLUMNS * s->numbers);
  }
  kaon_vector_destroy(&one);
  kaon_vector_destroy(&all);
  kaon_vector_destroy(&b);
  kaon_multishift_destroy(&solver);
}

static void all_shifts(const sizes *sizes_of, kaon_multishift_options o) {
  const size_t numbers = (size_t)(SHIFTS * COLUMNS * sizes_of->of[0].numbers);
  double *x[2] = {malloc(numbers * sizeof(double)), malloc(numbers * sizeof(double))};
  kaon_column_report reports[2][SHIFTS * COLUMNS];
  for (int i = 0; i <= OF_MATRICES; i++) {
    if (o.normal && abs(sizes_of->of[i].of_A) > 100) continue; /* double does not hold x */
    run_shifts(&sizes_of->of[i], o, x[i > 0], reports[i > 0]);
    if (i > 0) assert_memory_equal(x[0], x[1], numbers * sizeof(double));
    for (int m = 0; m < SHIFTS * COLUMNS; m++) {
      assert_int_equal(reports[i > 0][m].reason, KAON_CONVERGED);
      assert_int_equal(reports[0][m].iterations, reports[i > 0][m].iterations);
      assert_true(reports[0][m].residual == reports[i > 0][m].residual);
    }
  }
  free(x[0]);
  free(x[1]);
}

/* The reduced source of row projections has the unit of x. */
static void reduced_source(const sizes *all) {
  double *host[2] = {NULL, NULL};
  for (int i = 0; i <= OF_MATRICES; i++) {
    const system_of *s = &all->of[i];
    kaon_operator *R = NULL;
    kaon_vector *v[3];
    must(ctx, kaon_kaczmarz_reduce(s->A, NULL, &R));
    for (int n = 0; n < 3; n++) v[n] = vector(s, KAON_DOUBLE, 1);
    import(s, v[0], 5, 1, 0);
    must(ctx, kaon_operator_prepare(R, v[0], v[1]));
    must(ctx, kaon_operator_reconstruct(R, v[1], v[0], v[2]));
    const size_t bytes = (size_t)(COLUMNS * s->numbers) * sizeof(double);
    host[i > 0] = realloc(host[i > 0], bytes);
    export(s, v[2], host[i > 0]);
    if (i > 0) assert_memory_equal(host[0], host[1], bytes);
    for (int n = 0; n < 3; n++) kaon_vector_destroy(&v[n]);
    kaon_operator_destroy(&R);
  }
  free(host[0]);
  free(host[1]);
}

static void shifts_and_reductions(const entries *e) {
  sizes all = make_sizes(e, PLAIN, NONE);
  for (int normal = !e->info.hermitian; normal < 2; normal++)
    for (int p = KAON_DOUBLE; p <= KAON_HALF; p++) {
      kaon_multishift_options o = KAON_MULTISHIFT_OPTIONS_INIT;
      o.sloppy = (kaon_precision)p;
      o.normal = normal;
      all_shifts(&all, o);
    }
  reduced_source(&all);
  for (int i = 0; i <= OF_MATRICES; i++) kaon_operator_destroy(&all.of[i].A);
}

static void nothing_sees_the_size_of_a_matrix(void **state) {
  (void)state;
  for (int i = 0; i < 2; i++) {
    if (!open_machine(machines[i])) continue;
    for (int general = 0; general < 2; general++) {
      entries e = take(general ? "convdiff3d:4,2" : "laplace2d:8");
      for (int f = PLAIN; f < FORMS_OF_MATRIX; f++) all_matrices(&e, (matrix_form)f, NONE);
      for (int k = 0; k < KINDS; k++)
        if (k != NONE && !(general && (k == CHEBYSHEV || k == INTERVAL)))
          all_matrices(&e, PLAIN, (kind)k);
      shifts_and_reductions(&e);
      drop(&e);
    }
    kaon_context_destroy(&ctx);
  }
}

/* ---- at the limits of double ---- */

/* Solves a x = b, a system of one row. Returns the status of the solve. */
static kaon_status solve_number(double a, double b, double *x) {
  const int64_t zero = 0;
  const kaon_triplet_arrays arrays = {.global_rows = 1,
                                      .rows = 1,
                                      .reals = 1,
                                      .entries = 1,
                                      .row = &zero,
                                      .column = &zero,
                                      .values = &a};
  kaon_matrix *matrix = NULL;
  kaon_operator *A = NULL;
  kaon_solver *solver = NULL;
  kaon_vector *source = NULL, *solution = NULL;
  kaon_column_report report;
  kaon_solver_options o = KAON_SOLVER_OPTIONS_INIT;
  o.method = KAON_CG;
  must(ctx, kaon_matrix_create_triplets(ctx, &arrays, NULL, &matrix));
  must(ctx, kaon_matrix_operator(matrix, NULL, &A));
  must(ctx, kaon_solver_create(A, 1, &o, &solver));
  must(ctx, kaon_vector_create(ctx, kaon_matrix_space(matrix), KAON_DOUBLE, 1, &source));
  must(ctx, kaon_vector_create(ctx, kaon_matrix_space(matrix), KAON_DOUBLE, 1, &solution));
  must(ctx, kaon_vector_import(source, 0, &b, KAON_BASIS_UKQCD));
  const kaon_status status = kaon_solver_solve(solver, source, solution, &report, NULL);
  if (status == KAON_OK) assert_int_equal(report.reason, KAON_CONVERGED);
  if (status != KAON_OK) printf("  %s\n", kaon_last_error(ctx));
  must(ctx, kaon_vector_export(solution, 0, x, KAON_BASIS_UKQCD));
  kaon_vector_destroy(&solution);
  kaon_vector_destroy(&source);
  kaon_solver_destroy(&solver);
  kaon_operator_destroy(&A);
  kaon_matrix_destroy(&matrix);
  return status;
}

/* x beyond 1e154 and 1e-162, where squares leave the range of double, and x beyond that range. */
static void solutions_are_held_or_refused(void **state) {
  (void)state;
  static const struct {
    double a, b, x; /* x = 0: refused */
  } cases[] = {{1e-100, 1e100, 1e200},  {1e-140, 1e140, 1e280},  {1e-180, 1e140, 0},
               {1e100, 1e-100, 1e-200}, {1e140, 1e-135, 1e-275}, {1e180, 1e-135, 0}};
  for (int n = 0; n < 2; n++) {
    if (!open_machine(machines[n])) continue;
    for (int i = 0; i < 6; i++) {
      double x;
      const kaon_status status = solve_number(cases[i].a, cases[i].b, &x);
      assert_int_equal(status, cases[i].x == 0 ? KAON_ERR_NOT_FINITE : KAON_OK);
      if (status == KAON_OK) assert_true(fabs(x / cases[i].x - 1) < 1e-8);
    }
    kaon_context_destroy(&ctx);
  }
}

/* A of one number, a, in single: a factor of 2^132 or 2^-132 is beyond its range, a x is not. */
static void a_single_product_holds_what_its_result_holds(void **state) {
  (void)state;
  kaon_matrix_operator_options o = KAON_MATRIX_OPERATOR_OPTIONS_INIT;
  o.precision = KAON_SINGLE;
  for (int n = 0; n < 2; n++) {
    if (!open_machine(machines[n])) continue;
    for (int sign = -1; sign <= 1; sign += 2) {
      const double a = ldexp(1, 132 * sign), x = ldexp(1.5, -66 * sign);
      const int64_t start[2] = {0, 1};
      const int32_t column[1] = {0};
      const kaon_csr_arrays arrays = {.global_rows = 1,
                                      .rows = 1,
                                      .reals = 1,
                                      .start64 = start,
                                      .column32 = column,
                                      .values = &a};
      kaon_matrix *matrix = NULL;
      kaon_operator *A = NULL;
      kaon_vector *in = NULL, *out = NULL;
      double y;
      must(ctx, kaon_matrix_create_csr(ctx, &arrays, NULL, &matrix));
      must(ctx, kaon_matrix_operator(matrix, &o, &A));
      must(ctx, kaon_vector_create(ctx, kaon_matrix_space(matrix), KAON_SINGLE, 1, &in));
      must(ctx, kaon_vector_create(ctx, kaon_matrix_space(matrix), KAON_SINGLE, 1, &out));
      must(ctx, kaon_vector_import(in, 0, &x, KAON_BASIS_UKQCD));
      must(ctx, kaon_operator_apply(A, KAON_PLAIN, in, out));
      must(ctx, kaon_vector_export(out, 0, &y, KAON_BASIS_UKQCD));
      assert_true(y == a * x);
      kaon_vector_destroy(&in);
      kaon_vector_destroy(&out);
      kaon_operator_destroy(&A);
      kaon_matrix_destroy(&matrix);
    }
    kaon_context_destroy(&ctx);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(nothing_sees_the_size_of_a_matrix),
      cmocka_unit_test(solutions_are_held_or_refused),
      cmocka_unit_test(a_single_product_holds_what_its_result_holds),
  };
  return test_main(tests, NULL, NULL);
}
