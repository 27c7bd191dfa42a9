/* test_quda_milc.c - MILC's staggered calls, in MILC's order of calls, on one rank or several.
 * Solutions are compared with kaon's own interface, whose bits they have, and with the operator in
 * plain C (milc_case.h).
 *
 * Bounds: a residual in plain C differs from the returned one by the rounding of about 200 terms a
 * site, below 1e-13 |b| / (4 mass^2) = 1e-11 |b| here. An array of floats rounds the solution by
 * 6e-8 of each number, and A, whose norm is below 2 * (8 * 25 / 24)^2 = 140, makes 1e-5 |x| of it;
 * |x| is at most |b| / (4 mass^2). Tolerances are above both. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <kaon/kaon.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "milc_case.h"
#include "quda_milc_interface.h"

#ifdef KAON_QUDA_MPI
#include <mpi.h>
#endif

static const int extents[4] = {4, 8, 4, 8};
static const double mass = 0.2;
static int ranks = 1, rank = 0, grid[4] = {1, 1, 1, 1};

/* ---- the client's side ---- */

static void start(void) {
  QudaInitArgs_t args = {.verbosity = QUDA_SILENT, .layout = {extents, grid, -1}};
#ifdef KAON_QUDA_MPI
  static MPI_Comm all;
  all = MPI_COMM_WORLD;
  qudaSetMPICommHandle(&all);
#else
  qudaSetMPICommHandle(NULL);
#endif
  qudaInit(args);
}

/* What MILC sets; the rest is not initialised there. */
static QudaInvertArgs_t arguments(int parity, int mixed) {
  QudaInvertArgs_t args;
  memset(&args, 0xa5, sizeof args);
  args.evenodd = parity == 0 ? QUDA_EVEN_PARITY : QUDA_ODD_PARITY;
  args.mixed_precision = mixed;
  args.max_iter = 2000;
  args.naik_epsilon = 0;
  args.tadpole = 1;
  return args;
}

typedef struct client {
  milc_case c;
  int bytes; /* of a real */
  void *fat, *naik, *b, *x;
  double *whole_b;
} client;

static void open_client(client *m, int bytes, int general) {
  milc_open(&m->c, extents, grid, rank, general);
  m->bytes = bytes;
  m->whole_b = milc_random(&m->c, 6, 3);
  m->fat = milc_part(&m->c, m->c.fat, 72, bytes);
  m->naik = milc_part(&m->c, m->c.naik, 72, bytes);
  m->b = milc_part(&m->c, m->whole_b, 6, bytes);
  m->x = calloc((size_t)(6 * m->c.part), (size_t)bytes);
}

static void close_client(client *m) {
  free(m->fat);
  free(m->naik);
  free(m->b);
  free(m->x);
  free(m->whole_b);
  milc_close(&m->c);
}

/* A part of each rank, on the whole lattice. */
static double *gather(const client *m, const void *part) {
  double *whole = malloc(sizeof *whole * (size_t)(6 * m->c.sites));
  milc_whole(&m->c, part, 6, m->bytes, whole);
#ifdef KAON_QUDA_MPI
  MPI_Allreduce(MPI_IN_PLACE, whole, (int)(6 * m->c.sites), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
#endif
  return whole;
}

static void residual_of(const client *m, const void *naik, int parity, double offset, const void *x,
                        double residual[2]) {
  double *whole = gather(m, x);
  milc_residual(&m->c, naik != NULL ? m->c.naik : NULL, parity, offset, whole, m->whole_b,
                residual);
  free(whole);
}

/* One solve; the residuals that it returned. */
static int invert(client *m, const void *naik, QudaInvertArgs_t args, int quda_precision,
                  double target, double fermilab, int iters, double returned[2]) {
  qudaInvert(m->bytes / 4, quda_precision, mass, args, target, fermilab, m->fat, naik, m->b, m->x,
             &returned[0], &returned[1], &iters);
  return iters;
}

static void check_solution(const client *m, const void *naik, int parity, double tol,
                           const double returned[2], double slack) {
  double residual[2];
  residual_of(m, naik, parity, 4 * mass * mass, m->x, residual);
  assert_true(returned[0] <= 1.1 * tol && residual[0] <= 1.1 * tol + slack);
  assert_true(fabs(returned[1] - residual[1]) <= 1e-3 * residual[1] + slack);
}

/* ---- kaon's side ---- */

typedef struct own {
  kaon_context *ctx;
  kaon_lattice *lattice;
  kaon_gauge *fat, *naik;
  kaon_operator *M, *A;
} own;

static void must(kaon_context *ctx, kaon_status status) {
  if (status != KAON_OK) fail_msg("%s", kaon_last_error(ctx));
}

static kaon_gauge *own_links(own *k, const double *links, int steps) {
  kaon_gauge *gauge;
  const void *array = links;
  must(k->ctx, kaon_gauge_create(k->lattice, KAON_DOUBLE, KAON_RECONSTRUCT_18, &gauge));
  must(k->ctx, kaon_gauge_import_matrices(gauge, KAON_ORDER_MILC, KAON_DOUBLE, &array));
  must(k->ctx, kaon_staggered_fold(gauge, steps, KAON_PHASES_MILC));
  return gauge;
}

static void open_own(own *k, const client *m, const void *naik, int parity, double own_mass) {
  kaon_staggered_options options = KAON_STAGGERED_OPTIONS_INIT;
  memset(k, 0, sizeof *k);
  must(NULL, ranks == 1 ? kaon_context_create(NULL, &k->ctx)
                        : kaon_context_create_ranks(NULL, NULL, grid, &k->ctx));
  must(k->ctx, kaon_lattice_create(k->ctx, extents, KAON_ANTIPERIODIC, &k->lattice));
  k->fat = own_links(k, m->fat, 1);
  if (naik != NULL) k->naik = own_links(k, naik, 3);
  options.mass = own_mass;
  must(k->ctx, kaon_staggered_create(k->fat, k->naik, &options, &k->M));
  must(k->ctx, kaon_staggered_even_odd(k->M, parity == 0 ? KAON_EVEN : KAON_ODD, &k->A));
}

static void close_own(own *k) {
  kaon_operator_destroy(&k->A);
  kaon_operator_destroy(&k->M);
  kaon_gauge_destroy(&k->fat);
  kaon_gauge_destroy(&k->naik);
  kaon_lattice_destroy(&k->lattice);
  kaon_context_destroy(&k->ctx);
}

static kaon_vector *own_vector(own *k, int columns) {
  kaon_vector *v;
  must(k->ctx, kaon_vector_create(k->ctx, kaon_operator_space(k->A), KAON_DOUBLE, columns, &v));
  return v;
}

static kaon_vector_layout even_odd(void) {
  kaon_vector_layout layout = KAON_VECTOR_LAYOUT_INIT;
  layout.sites = KAON_SITES_EVEN_ODD;
  return layout;
}

static kaon_vector *own_source(own *k, const client *m) {
  const kaon_vector_layout layout = even_odd();
  kaon_vector *b = own_vector(k, 1);
  must(k->ctx, kaon_vector_import_ordered(b, 0, m->b, 48 * (size_t)m->c.part, &layout));
  return b;
}

/* Column k has the bits of the half `parity` of x, and the other half is 0. */
static void check_bits(own *k, const client *m, const kaon_vector *v, int column, const double *x) {
  const kaon_vector_layout layout = even_odd();
  double *expected = calloc((size_t)(6 * m->c.part), sizeof *expected);
  must(k->ctx, kaon_vector_export_ordered(v, column, expected, 48 * (size_t)m->c.part, &layout));
  assert_memory_equal(x, expected, 48 * (size_t)m->c.part);
  free(expected);
}

/* ---- tests ---- */

static void test_invert(void **state) {
  (void)state;
  for (int k = 0; k < 4; k++) {
    const int parity = k & 1, improved = k < 2;
    client m;
    own o;
    double returned[2];
    open_client(&m, 8, 1);
    const void *naik = improved ? m.naik : NULL;
    const int iters = invert(&m, naik, arguments(parity, 0), 2, 1e-9, 0, -1, returned);
    check_solution(&m, naik, parity, 1e-9, returned, 1e-11);
    open_own(&o, &m, naik, parity, mass);
    kaon_solver_options options = KAON_SOLVER_OPTIONS_INIT;
    kaon_column_report column;
    kaon_solver *solver;
    kaon_vector *b = own_source(&o, &m), *x = own_vector(&o, 1);
    options.method = KAON_CG;
    options.tol = 1e-9;
    options.max_iterations = 2000;
    must(o.ctx, kaon_solver_create(o.A, 1, &options, &solver));
    must(o.ctx, kaon_solver_solve(solver, b, x, &column, NULL));
    assert_int_equal(iters, column.iterations);
    check_bits(&o, &m, x, 0, m.x);
    kaon_solver_destroy(&solver);
    kaon_vector_destroy(&b);
    kaon_vector_destroy(&x);
    close_own(&o);
    close_client(&m);
  }
}

/* Precisions outside and inside, and a guess. SU(3) and any matrices: long links are compressed or
 * not. */
static void test_precisions(void **state) {
  (void)state;
  for (int general = 0; general < 2; general++)
    for (int bytes = 4; bytes <= 8; bytes += 4) {
      client m;
      open_client(&m, bytes, general);
      for (int mixed = 0; mixed < 3; mixed++) {
        const double tol = bytes == 8 ? 1e-9 : 1e-4, slack = bytes == 8 ? 1e-11 : 1e-4;
        double returned[2];
        memset(m.x, 0, (size_t)(6 * m.c.part * bytes));
        const int first = invert(&m, m.naik, arguments(1, mixed), 2, tol, 0, -1, returned);
        check_solution(&m, m.naik, 1, tol, returned, slack);
        assert_true(first > 5);
        const int again =
            invert(&m, m.naik, arguments(1, mixed), 1, 2 * tol + slack, 0, 0, returned);
        assert_int_equal(again, 0); /* the guess is the solution */
      }
      close_client(&m);
    }
}

/* Fermilab's residual as the stop, alone and beside the other one. */
static void test_fermilab(void **state) {
  client m;
  double returned[2];
  (void)state;
  open_client(&m, 8, 0);
  for (int mixed = 0; mixed < 3; mixed++)
    for (int both = 0; both < 2; both++) {
      const double tol = both ? 1e-7 : 0;
      memset(m.x, 0, (size_t)(48 * m.c.part));
      invert(&m, m.naik, arguments(0, mixed), 2, tol, 1e-8, 0, returned);
      check_solution(&m, m.naik, 0, both ? 1e-7 : 1, returned, 1e-11);
      assert_true(returned[1] <= 1.1e-8);
    }
  close_client(&m);
}

/* Links change in place, or stand elsewhere, or their precision changes. */
static void test_resident(void **state) {
  client m;
  double returned[2];
  (void)state;
  open_client(&m, 8, 1);
  invert(&m, m.naik, arguments(0, 0), 2, 1e-9, 0, -1, returned);
  invert(&m, m.naik, arguments(0, 0), 2, 1e-9, 0, 0, returned);
  check_solution(&m, m.naik, 0, 1e-9, returned, 1e-11);
  for (int how = 0; how < 3; how++) { /* -1; noticed by itself; other pointers */
    for (int64_t i = 0; i < 72 * m.c.sites; i++) m.c.fat[i] *= 0.9;
    double *fat = milc_part(&m.c, m.c.fat, 72, 8);
    if (how < 2)
      memcpy(m.fat, fat, 576 * (size_t)m.c.part);
    else {
      free(m.fat);
      m.fat = malloc(576 * (size_t)m.c.part);
      memcpy(m.fat, fat, 576 * (size_t)m.c.part);
    }
    free(fat);
    invert(&m, m.naik, arguments(0, 0), 2, 1e-9, 0, how == 0 ? -1 : 0, returned);
    check_solution(&m, m.naik, 0, 1e-9, returned, 1e-11);
  }
  invert(&m, NULL, arguments(0, 0), 2, 1e-9, 0, 0,
         returned); /* without long links, and again with */
  check_solution(&m, NULL, 0, 1e-9, returned, 1e-11);
  invert(&m, m.naik, arguments(0, 0), 2, 1e-9, 0, 0, returned);
  check_solution(&m, m.naik, 0, 1e-9, returned, 1e-11);
  close_client(&m);
}

/* Columns have the bits of solves of their own. */
static void test_many_sources(void **state) {
  client m;
  double *b[3], *x[3], returned[2], one[2];
  int iters = -1;
  (void)state;
  open_client(&m, 8, 0);
  const size_t bytes = 48 * (size_t)m.c.part;
  for (int k = 0; k < 3; k++) {
    double *whole = milc_random(&m.c, 6, 10 + (uint64_t)k);
    b[k] = milc_part(&m.c, whole, 6, 8);
    x[k] = calloc(1, bytes);
    free(whole);
  }
  qudaInvertMsrc(2, 2, mass, arguments(0, 0), 1e-9, 0, m.fat, m.naik, (void **)b, (void **)x,
                 &returned[0], &returned[1], &iters, 3);
  for (int k = 0; k < 3; k++) {
    memcpy(m.b, b[k], bytes);
    memset(m.x, 0, bytes);
    assert_true(invert(&m, m.naik, arguments(0, 0), 2, 1e-9, 0, 0, one) <= iters);
    if (ranks == 1) assert_memory_equal(x[k], m.x, bytes);
  }
  assert_true(fabs(one[0] - returned[0]) <= 1e-3 * one[0]); /* of the last source */
  for (int k = 0; k < 3; k++) {
    free(b[k]);
    free(x[k]);
  }
  close_client(&m);
}

enum { SHIFTS = 4 };

static void test_multishift(void **state) {
  static const double masses[SHIFTS] = {0.2, 0.25, 0.5, 1},
                      tol[2][SHIFTS] = {{1e-9, 0, 0, 0}, {1e-6, 1e-8, 1e-7, 1e-9}};
  client m;
  own o;
  double offset[SHIFTS], sigma[SHIFTS] = {0}, residual[SHIFTS], fermilab[SHIFTS];
  const double none[SHIFTS] = {0}, heavy[SHIFTS] = {1e-8, 0, 1e-10, 1};
  double *x[SHIFTS];
  kaon_column_report columns[SHIFTS];
  kaon_multishift *solver;
  (void)state;
  open_client(&m, 8, 1);
  for (int i = 0; i < SHIFTS; i++) offset[i] = 4 * masses[i] * masses[i];
  const double base = sqrt(offset[0]) / 2; /* the mass that the interface uses */
  for (int i = 1; i < SHIFTS; i++) sigma[i] = offset[i] - 4 * base * base;
  for (int i = 0; i < SHIFTS; i++) x[i] = calloc((size_t)(6 * m.c.part), sizeof **x);
  open_own(&o, &m, m.naik, 1, base);
  kaon_vector *b = own_source(&o, &m), *own_x = own_vector(&o, SHIFTS);
  must(o.ctx, kaon_multishift_create(o.A, SHIFTS, sigma, NULL, &solver));
  for (int k = 0; k < 2; k++) {
    int iters = k == 0 ? -1 : 0, steps = 0;
    qudaMultishiftInvert(2, 2, SHIFTS, offset, arguments(1, 0), tol[k], none, m.fat, m.naik, m.b,
                         (void **)x, residual, fermilab, &iters);
    must(o.ctx, kaon_multishift_set_tol(solver, tol[k]));
    must(o.ctx, kaon_multishift_solve(solver, b, own_x, columns, NULL));
    for (int i = 0; i < SHIFTS; i++) {
      double plain[2];
      residual_of(&m, m.naik, 1, offset[i], x[i], plain);
      check_bits(&o, &m, own_x, i, x[i]);
      assert_true(residual[i] == columns[i].residual);
      assert_true(plain[0] <= 1.1 * (tol[k][i] > 0 ? tol[k][i] : 1e-9) + 1e-11);
      assert_true(fermilab[i] == 0); /* no target, not computed */
      if (columns[i].iterations > steps) steps = columns[i].iterations;
    }
    assert_int_equal(iters, steps);
  }
  for (int k = 0; k < 2; k++) { /* with a target of |r| / |b|, and without any */
    int iters = 0;
    qudaMultishiftInvert(2, 2, SHIFTS, offset, arguments(1, 0), k == 0 ? tol[1] : none, heavy,
                         m.fat, m.naik, m.b, (void **)x, residual, fermilab, &iters);
    for (int i = 0; i < SHIFTS; i++) {
      double plain[2];
      residual_of(&m, m.naik, 1, offset[i], x[i], plain);
      assert_true(fabs(plain[1] - fermilab[i]) <= 1e-3 * plain[1] + 1e-11);
      assert_true(heavy[i] == 0 || fermilab[i] <= 1.1 * heavy[i]);
      assert_true(k == 1 || residual[i] <= 1.1 * tol[1][i]);
    }
  }
  for (int i = 0; i < SHIFTS; i++) free(x[i]);
  kaon_multishift_destroy(&solver);
  kaon_vector_destroy(&b);
  kaon_vector_destroy(&own_x);
  close_own(&o);
  close_client(&m);
}

static void test_dslash(void **state) {
  (void)state;
  for (int k = 0; k < 8; k++) {
    const int parity = k & 1, bytes = k & 2 ? 8 : 4;
    client m;
    int iters = -1;
    double worst = 0;
    open_client(&m, bytes, 1);
    const double *naik = k < 4 ? m.c.naik : NULL;
    double *expected = calloc((size_t)(6 * m.c.sites), sizeof *expected);
    qudaDslash(bytes / 4, 2, arguments(parity, 0), m.fat, naik != NULL ? m.naik : NULL, m.b, m.x,
               &iters);
    milc_hop(&m.c, m.c.fat, naik, parity, m.whole_b, expected);
    double *got = gather(&m, m.x);
    for (int64_t i = 0; i < 6 * m.c.sites; i++) worst = fmax(worst, fabs(got[i] - expected[i]));
    assert_true(worst <= (bytes == 8 ? 1e-13 : 1e-5));
    free(got);
    free(expected);
    close_client(&m);
  }
}

static void check_refused(client *m, QudaInvertArgs_t args, int external, double target,
                          double fermilab) {
  double returned[2] = {0, 0};
  int iters = -1;
  qudaInvert(external, 2, mass, args, target, fermilab, m->fat, m->naik, m->b, m->x, &returned[0],
             &returned[1], &iters);
  assert_true(isnan(returned[0]) && isnan(returned[1]) && iters == -1);
}

/* NULL on the last rank alone is refused on all. */
static void check_null(client *m, void **array, int parity) {
  void *kept = *array;
  if (rank == ranks - 1) *array = NULL;
  check_refused(m, arguments(parity, 0), 2, 1e-9, 0);
  *array = kept;
}

static void test_refusals(void **state) {
  client m;
  double returned[2], *numbers;
  (void)state;
  open_client(&m, 8, 1);
  setenv("KAON_QUDA_ON_ERROR", "return", 1);
  check_refused(&m, arguments(0, 0), 3, 1e-9, 0);
  check_refused(&m, arguments(0, 0), 2, 0, 0);
  QudaInvertArgs_t both = arguments(0, 0);
  both.evenodd = QUDA_INVALID_PARITY;
  check_refused(&m, both, 2, 1e-9, 0);
  numbers = m.fat;
  const double kept = numbers[5];
  numbers[5] = NAN;
  check_refused(&m, arguments(0, 0), 2, 1e-9, 0);
  numbers[5] = kept; /* nothing stays of refused links */
  invert(&m, m.naik, arguments(0, 0), 2, 1e-9, 0, 0, returned);
  check_solution(&m, m.naik, 0, 1e-9, returned, 1e-11);
  check_refused(&m, arguments(0, 0), 2, 1e-9, NAN);
  check_refused(&m, arguments(0, 0), 2, 1e-9, -1);
  if (rank == ranks - 1) both = arguments(0, 0);
  if (ranks > 1) check_refused(&m, both, 2, 1e-9, 0); /* the last rank has no fault */
  for (int parity = 0; parity < 2; parity++) {
    check_null(&m, &m.fat, parity);
    check_null(&m, &m.b, parity);
    check_null(&m, &m.x, parity);
  }
  invert(&m, m.naik, arguments(0, 0), 2, 1e-9, 0, 0, returned);
  check_solution(&m, m.naik, 0, 1e-9, returned, 1e-11);
  assert_null(qudaMultigridCreate(2, 2, mass, arguments(0, 0), m.fat, m.naik, "none"));
  unsetenv("KAON_QUDA_ON_ERROR");
  close_client(&m);
}

/* A call without a way to tell of a failure ends the process with status 1. */
static void test_wrong_lattice(void **state) {
  static const int wrong[2][4] = {{4, 8, 5, 8}, {16, 8, 8, 8}}; /* odd; not the one in use */
  (void)state;
  for (int k = 0; k < 2 && ranks == 1; k++) {
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
      QudaLayout_t layout = {wrong[k], grid, -1};
      qudaSetLayout(layout);
      _exit(7);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
  }
}

/* Nothing of an ended interface is used again. */
static void test_restart(void **state) {
  client m;
  double returned[2];
  (void)state;
  open_client(&m, 8, 1);
  for (int k = 0; k < 2; k++) {
    memset(m.x, 0, 48 * (size_t)m.c.part);
    invert(&m, m.naik, arguments(0, 2), 2, 1e-9, 0, 0, returned);
    check_solution(&m, m.naik, 0, 1e-9, returned, 1e-11);
    qudaFinalize();
    start();
  }
  close_client(&m);
}

int main(int argc, char **argv) {
#ifdef KAON_QUDA_MPI
  static const int by_ranks[4][4] = {{1, 1, 1, 1}, {1, 1, 1, 2}, {1, 2, 1, 2}, {1, 2, 1, 4}};
  MPI_Init(&argc, &argv);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  memcpy(grid, by_ranks[ranks == 1 ? 0 : ranks == 2 ? 1 : ranks == 4 ? 2 : 3], sizeof grid);
#else
  (void)argc, (void)argv;
#endif
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_wrong_lattice), cmocka_unit_test(test_invert),
      cmocka_unit_test(test_precisions),    cmocka_unit_test(test_resident),
      cmocka_unit_test(test_fermilab),      cmocka_unit_test(test_many_sources),
      cmocka_unit_test(test_multishift),    cmocka_unit_test(test_dslash),
      cmocka_unit_test(test_refusals),      cmocka_unit_test(test_restart),
  };
  start();
  const int failed = cmocka_run_group_tests(tests, NULL, NULL);
  qudaFinalize();
#ifdef KAON_QUDA_MPI
  MPI_Finalize();
#endif
  return failed;
}
