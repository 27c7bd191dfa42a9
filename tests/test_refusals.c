/* test_refusals.c - a caller's mistakes are refused with a sentence, and existing files stay as
 * they were: invalid parities and precisions, NULL results, numbers that a file cannot hold,
 * right-hand sides whose squares underflow. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <kaon/kaon.h>

#include "tests/util/test_util.h"

static kaon_context *ctx;

static void refused(kaon_status status, kaon_status expected, const char *word) {
  const char *said = kaon_last_error(ctx)[0] != '\0' ? kaon_last_error(ctx) : kaon_last_error(NULL);
  assert_int_equal(status, expected);
  if (strstr(said, word) == NULL) {
    print_message("'%s' is not in: %s\n", word, said);
    fail();
  }
}

static int set_up(void **state) {
  (void)state;
  return kaon_context_create(NULL, &ctx) != KAON_OK;
}

static int tear_down(void **state) {
  (void)state;
  kaon_context_destroy(&ctx);
  return 0;
}

static void parities_that_are_none_have_no_space(void **state) {
  (void)state;
  const int extents[4] = {4, 4, 4, 4};
  kaon_lattice *lattice = NULL;
  kaon_vector *v = NULL;
  must(ctx, kaon_lattice_create(ctx, extents, KAON_PERIODIC, &lattice));
  static const int none[] = {3, 5, -1, 1000000};
  for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
    assert_null(kaon_lattice_spinors(lattice, (kaon_parity)none[i]));
    assert_null(kaon_lattice_staggered(lattice, (kaon_parity)none[i]));
    refused(kaon_vector_create(ctx, kaon_lattice_spinors(lattice, (kaon_parity)none[i]),
                               KAON_DOUBLE, 1, &v),
            KAON_ERR_ARGUMENT, "space");
    assert_null(v);
  }
  kaon_lattice_destroy(&lattice);
}

static void results_have_addresses(void **state) {
  (void)state;
  kaon_solver_options o = KAON_SOLVER_OPTIONS_INIT;
  size_t length;
  assert_int_equal(kaon_file_format_parse("ildg", NULL), KAON_ERR_ARGUMENT);
  assert_int_equal(kaon_options_print(KAON_OPTIONS_SOLVER, &o, NULL, 10, &length),
                   KAON_ERR_ARGUMENT);
  must(ctx, kaon_options_print(KAON_OPTIONS_SOLVER, &o, NULL, 0, &length));
  assert_true(length > 0);
}

/* Where something else is NULL as well. */
static void failures_leave_no_object(void **state) {
  (void)state;
  kaon_matrix *matrix = (kaon_matrix *)state;
  kaon_solver *solver = (kaon_solver *)state;
  kaon_operator *K = (kaon_operator *)state;
  kaon_vector *v = (kaon_vector *)state;
  assert_int_equal(kaon_matrix_create_csr(ctx, NULL, NULL, &matrix), KAON_ERR_ARGUMENT);
  assert_null(matrix);
  matrix = (kaon_matrix *)state;
  assert_int_equal(kaon_matrix_create_ldu(ctx, NULL, NULL, &matrix), KAON_ERR_ARGUMENT);
  assert_null(matrix);
  matrix = (kaon_matrix *)state;
  assert_int_equal(kaon_matrix_read(NULL, "a", NULL, &matrix), KAON_ERR_ARGUMENT);
  assert_null(matrix);
  assert_int_equal(kaon_solver_create(NULL, 1, NULL, &solver), KAON_ERR_ARGUMENT);
  assert_null(solver);
  assert_int_equal(kaon_precond_jacobi(NULL, &K), KAON_ERR_ARGUMENT);
  assert_null(K);
  assert_int_equal(kaon_vector_create(ctx, NULL, KAON_DOUBLE, 1, &v), KAON_ERR_ARGUMENT);
  assert_null(v);
}

/* Of arrays that count from 1, as they do. */
static void entries_are_named_as_arrays_count(void **state) {
  (void)state;
  const int64_t row[3] = {1, 2, 2}, column[3] = {1, 1, 1};
  const double twice[3] = {1, 2, 3}, infinite[3] = {1, 2, INFINITY}, much[3] = {1, 1e308, 1e308};
  const int32_t start[3] = {1, 2, 4}, places[3] = {1, 2, 2};
  kaon_matrix *matrix = NULL;
  kaon_matrix_options o = KAON_MATRIX_OPTIONS_INIT;
  kaon_triplet_arrays t = {.global_rows = 2, .rows = 2, .reals = 1, .base = 1, .entries = 3};
  t.row = row;
  t.column = column;
  t.values = infinite;
  refused(kaon_matrix_create_triplets(ctx, &t, &o, &matrix), KAON_ERR_NOT_FINITE,
          "row 2, column 1");
  t.values = much;
  o.refuse_duplicates = 0;
  refused(kaon_matrix_create_triplets(ctx, &t, &o, &matrix), KAON_ERR_NOT_FINITE,
          "row 2 in column 1, both counted from 1");
  o.refuse_duplicates = 1;
  t.values = twice;
  refused(kaon_matrix_create_triplets(ctx, &t, &o, &matrix), KAON_ERR_FORMAT,
          "row 2 has more than one entry in column 1, both counted from 1");
  kaon_csr_arrays c = {.global_rows = 2, .rows = 2, .reals = 1, .base = 1};
  c.start32 = start;
  c.column32 = places;
  c.values = twice;
  refused(kaon_matrix_create_csr(ctx, &c, &o, &matrix), KAON_ERR_FORMAT,
          "row 2 has more than one entry in column 2, both counted from 1");
}

static kaon_status tired(void *user, kaon_mode mode, const kaon_vector *x, kaon_vector *y) {
  int *calls = user;
  (void)mode;
  return ++*calls < 3 ? kaon_vector_copy(y, x) : KAON_ERR_MEMORY;
}

/* Not some earlier sentence. */
static void functions_that_fail_are_named(void **state) {
  (void)state;
  int calls = 0;
  const int extents[4] = {4, 4, 4, 4};
  kaon_lattice *lattice = NULL;
  kaon_operator *A = NULL;
  kaon_vector *x = NULL, *y = NULL;
  must(ctx, kaon_lattice_create(ctx, extents, KAON_PERIODIC, &lattice));
  const kaon_space *space = kaon_lattice_spinors(lattice, KAON_FULL);
  must(ctx, kaon_operator_create_shell(space, tired, &calls, NULL, &A));
  must(ctx, kaon_vector_create(ctx, space, KAON_DOUBLE, 1, &x));
  must(ctx, kaon_vector_create(ctx, space, KAON_DOUBLE, 1, &y));
  assert_int_equal(kaon_operator_apply(A, KAON_PLAIN, x, x), KAON_ERR_ALIAS);
  for (int i = 0; i < 2; i++) must(ctx, kaon_operator_apply(A, KAON_PLAIN, x, y));
  refused(kaon_operator_apply(A, KAON_PLAIN, x, y), KAON_ERR_MEMORY, "application's function");
  kaon_vector_destroy(&x);
  kaon_vector_destroy(&y);
  kaon_operator_destroy(&A);
  kaon_lattice_destroy(&lattice);
}

static void files_keep_what_they_had(void **state) {
  (void)state;
  char path[] = "/tmp/kaon-refusals-XXXXXX";
  const int file = mkstemp(path);
  assert_true(file >= 0);
  close(file);
  const double good[4] = {1, 2, 3, 4}, bad[2][4] = {{1, NAN, 3, 4}, {1, 2, 3, -INFINITY}};
  must(ctx, kaon_array_write(ctx, path, 2, 2, 1, good));
  refused(kaon_array_write(ctx, path, 2, 2, 1, bad[0]), KAON_ERR_NOT_FINITE, "row 2 of column 1");
  refused(kaon_array_write(ctx, path, 2, 1, 2, bad[1]), KAON_ERR_NOT_FINITE, "row 2 of column 1");
  int64_t rows, columns;
  int reals;
  double *values = NULL;
  must(ctx, kaon_array_read(ctx, path, &rows, &columns, &reals, &values));
  assert_memory_equal(values, good, sizeof good);
  free(values);
  unlink(path);
}

static void small_sources_are_not_zero(void **state) {
  (void)state;
  kaon_matrix *matrix = NULL;
  kaon_operator *A = NULL, *local = NULL;
  kaon_multishift *shifts = NULL;
  kaon_vector *b = NULL, *x = NULL;
  const double sigma[2] = {0, 1};
  kaon_column_report reports[2];
  const int block[4] = {7, 0, 0, 0};
  must(ctx, kaon_matrix_generate(ctx, "laplace2d:7", NULL, &matrix, NULL));
  must(ctx, kaon_matrix_operator(matrix, NULL, &A));
  refused(kaon_operator_local_part(A, block, (kaon_precision)9, KAON_RECONSTRUCT_18, &local),
          KAON_ERR_ARGUMENT, "precision is 9");
  refused(kaon_operator_local_part(A, block, KAON_DOUBLE, (kaon_reconstruct)5, &local),
          KAON_ERR_ARGUMENT, "5 reals");
  must(ctx, kaon_multishift_create(A, 2, sigma, NULL, &shifts));
  must(ctx, kaon_vector_create(ctx, kaon_matrix_space(matrix), KAON_DOUBLE, 1, &b));
  must(ctx, kaon_vector_create(ctx, kaon_matrix_space(matrix), KAON_DOUBLE, 2, &x));
  double h[49];
  for (int power = -165; power <= -140; power++) {
    for (int i = 0; i < 49; i++) h[i] = pow(10, power) * cos(i);
    must(ctx, kaon_vector_import(b, 0, h, KAON_BASIS_UKQCD));
    const kaon_status status = kaon_multishift_solve(shifts, b, x, reports, NULL);
    if (power <= -145) refused(status, KAON_ERR_NOT_FINITE, "power of 2");
    if (status == KAON_OK) assert_true(reports[0].residual > 0 && reports[0].residual <= 1.1e-8);
  }
  memset(h, 0, sizeof h);
  must(ctx, kaon_vector_import(b, 0, h, KAON_BASIS_UKQCD));
  must(ctx, kaon_multishift_solve(shifts, b, x, reports, NULL));
  kaon_vector_destroy(&b);
  kaon_vector_destroy(&x);
  kaon_multishift_destroy(&shifts);
  kaon_operator_destroy(&A);
  kaon_matrix_destroy(&matrix);
}

/* A = diag(2, 3, 0), b = (0, 0, 1): the least squares' solution is 0, and its residual is b. */
static void residuals_of_least_squares_are_true(void **state) {
  (void)state;
  const int64_t row[2] = {0, 1}, column[2] = {0, 1};
  const double value[2] = {2, 3}, b_of[3] = {0, 0, 1};
  kaon_matrix *matrix = NULL;
  kaon_operator *A = NULL;
  kaon_solver *solver = NULL;
  kaon_vector *b = NULL, *x = NULL;
  kaon_column_report report;
  kaon_solver_options o = KAON_SOLVER_OPTIONS_INIT;
  o.method = KAON_CG;
  o.stop = KAON_STOP_NORMAL;
  const kaon_triplet_arrays arrays = {.global_rows = 3,
                                      .rows = 3,
                                      .reals = 1,
                                      .entries = 2,
                                      .row = row,
                                      .column = column,
                                      .values = value};
  must(ctx, kaon_matrix_create_triplets(ctx, &arrays, NULL, &matrix));
  must(ctx, kaon_matrix_operator(matrix, NULL, &A));
  must(ctx, kaon_solver_create(A, 1, &o, &solver));
  must(ctx, kaon_vector_create(ctx, kaon_matrix_space(matrix), KAON_DOUBLE, 1, &b));
  must(ctx, kaon_vector_create(ctx, kaon_matrix_space(matrix), KAON_DOUBLE, 1, &x));
  must(ctx, kaon_vector_import(b, 0, b_of, KAON_BASIS_UKQCD));
  must(ctx, kaon_solver_solve(solver, b, x, &report, NULL));
  assert_int_equal(report.reason, KAON_CONVERGED);
  assert_true(report.residual == 1);
  kaon_vector_destroy(&b);
  kaon_vector_destroy(&x);
  kaon_solver_destroy(&solver);
  kaon_operator_destroy(&A);
  kaon_matrix_destroy(&matrix);
}

/* Numbers that no enumeration of io.h has, and coefficients that are none. */
static void options_are_in_range(void **state) {
  (void)state;
  const int extents[4] = {4, 4, 4, 4};
  char path[] = "/tmp/kaon-refusals-XXXXXX";
  const int file = mkstemp(path);
  assert_true(file >= 0);
  close(file);
  kaon_lattice *lattice = NULL;
  kaon_gauge *gauge = NULL, *fat = NULL;
  kaon_operator *M = NULL;
  kaon_rational r;
  kaon_rational_function *f = NULL;
  must(ctx, kaon_lattice_create(ctx, extents, KAON_PERIODIC, &lattice));
  must(ctx, kaon_gauge_create(lattice, KAON_DOUBLE, KAON_RECONSTRUCT_18, &gauge));
  must(ctx, kaon_gauge_create(lattice, KAON_DOUBLE, KAON_RECONSTRUCT_18, &fat));
  must(ctx, kaon_gauge_unit(gauge));
  kaon_gauge_write_options w = KAON_GAUGE_WRITE_OPTIONS_INIT;
  must(ctx, kaon_gauge_write(gauge, path, &w));
  w.byte_order = (kaon_byte_order)7;
  refused(kaon_gauge_write(gauge, path, &w), KAON_ERR_ARGUMENT, "byte_order is 7");
  w.byte_order = KAON_BYTES_NATIVE;
  w.format = (kaon_file_format)77;
  refused(kaon_gauge_write(gauge, path, &w), KAON_ERR_ARGUMENT, "format is 77");
  kaon_gauge_read_options rd = KAON_GAUGE_READ_OPTIONS_INIT;
  rd.format = (kaon_file_format)-3;
  refused(kaon_gauge_read(gauge, path, &rd, NULL), KAON_ERR_ARGUMENT, "format is -3");
  rd.format = KAON_FORMAT_AUTO;
  must(ctx, kaon_gauge_read(gauge, path, &rd, NULL));
  remove(path);
  kaon_fatten_coefficients c = {1, 0, 0, NAN, 0, 0};
  refused(kaon_fatten_paths(gauge, &c, fat, NULL, NULL), KAON_ERR_ARGUMENT, "finite");
  must(ctx, kaon_rational_inverse_root(4, 0.1, 10, &r));
  must(ctx, kaon_dirac_create(gauge, NULL, &M));
  r.residue[2] = INFINITY;
  refused(kaon_rational_create(M, &r, NULL, &f), KAON_ERR_ARGUMENT, "term 2");
  r.terms = KAON_MULTISHIFT_MAX + 1;
  refused(kaon_rational_create(M, &r, NULL, &f), KAON_ERR_ARGUMENT, "terms");
  assert_null(f);
  kaon_operator_destroy(&M);
  kaon_gauge_destroy(&fat);
  kaon_gauge_destroy(&gauge);
  kaon_lattice_destroy(&lattice);
}

static void one_link(void *source, int64_t site, int mu, double u[18]) {
  (void)source, (void)site, (void)mu;
  for (int k = 0; k < 18; k++) u[k] = k % 8 == 0; /* the identity */
}

/* What a reader would refuse is not written. */
static void means_that_are_none_are_not_written(void **state) {
  (void)state;
  static const double none[] = {NAN, INFINITY};
  kaon_gauge_write_options openqcd = KAON_GAUGE_WRITE_OPTIONS_INIT;
  char path[] = "/tmp/kaon-refusals-XXXXXX";
  const int file = mkstemp(path);
  assert_true(file >= 0);
  close(file);
  kaon_gauge_content content = {{4, 4, 4, 4}, 1, 1};
  must(ctx, kaon_gauge_file_write(ctx, path, NULL, &content, one_link, NULL));
  openqcd.format = KAON_FORMAT_OPENQCD; /* known by it */
  content.plaquette = 7;
  must(ctx, kaon_gauge_file_write(ctx, path, NULL, &content, one_link, NULL)); /* of fat links */
  refused(kaon_gauge_file_write(ctx, path, &openqcd, &content, one_link, NULL), KAON_ERR_ARGUMENT,
          "plaquette");
  for (int i = 0; i < 2; i++) {
    content.plaquette = none[i];
    refused(kaon_gauge_file_write(ctx, path, NULL, &content, one_link, NULL), KAON_ERR_ARGUMENT,
            "plaquette");
    content.plaquette = 1;
    content.link_trace = none[i];
    refused(kaon_gauge_file_write(ctx, path, NULL, &content, one_link, NULL), KAON_ERR_ARGUMENT,
            "link trace");
    content.link_trace = 1;
  }
  remove(path);
}

static void numbers_of_options_are_what_was_written(void **state) {
  (void)state;
  static const struct {
    const char *text;
    uint64_t seed; /* 0: refused */
  } rows[] = {{"seed=2e9", 2000000000},
              {"seed=5.0e1", 50},
              {"seed=18446744073709551615", UINT64_MAX},
              {"seed=9007199254740993", 9007199254740993},
              {"seed=18446744073709551616", 0},
              {"seed=1e19", 0},
              {"seed=-1", 0},
              {"seed=1.5", 0},
              {"seed=7z", 0}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    kaon_heatbath_options o = KAON_HEATBATH_OPTIONS_INIT;
    o.seed = 77;
    const kaon_status status = kaon_options_parse(KAON_OPTIONS_HEATBATH, &o, rows[i].text);
    assert_int_equal(status, rows[i].seed ? KAON_OK : KAON_ERR_ARGUMENT);
    assert_true(o.seed == (rows[i].seed ? rows[i].seed : 77));
  }
  uint64_t bits = 88172645463325252u;
  for (int i = 0; i < 2000; i++) { /* xorshift64 */
    bits ^= bits << 13, bits ^= bits >> 7, bits ^= bits << 17;
    kaon_dirac_options o = KAON_DIRAC_OPTIONS_INIT, back = KAON_DIRAC_OPTIONS_INIT;
    char text[512];
    o.kappa = 0.1 + 0.05 * (double)(bits >> 11) * 0x1p-53;
    must(ctx, kaon_options_print(KAON_OPTIONS_DIRAC, &o, text, sizeof text, NULL));
    must(ctx, kaon_options_parse(KAON_OPTIONS_DIRAC, &back, text));
    assert_true(back.kappa == o.kappa);
  }
}

/* As an operator the solver is the same inverse as in a solve, whatever tol is: of the matrix, not
 * of the equations that projections make of it. Its adjoint differs. */
static void solvers_on_reductions_are_one_operator(void **state) {
  (void)state;
  const int64_t row[4] = {0, 0, 1, 2}, column[4] = {0, 1, 1, 2};
  const double value[4] = {2, 1, 3, 4}, b_of[3] = {1, 2, 3}, x_of[3] = {1. / 6, 2. / 3, 0.75};
  const kaon_triplet_arrays arrays = {.global_rows = 3,
                                      .rows = 3,
                                      .reals = 1,
                                      .entries = 4,
                                      .row = row,
                                      .column = column,
                                      .values = value};
  kaon_matrix *matrix = NULL;
  kaon_operator *A = NULL, *R = NULL;
  kaon_vector *b = NULL, *x = NULL;
  must(ctx, kaon_matrix_create_triplets(ctx, &arrays, NULL, &matrix));
  must(ctx, kaon_matrix_operator(matrix, NULL, &A));
  must(ctx, kaon_vector_create(ctx, kaon_matrix_space(matrix), KAON_DOUBLE, 1, &b));
  must(ctx, kaon_vector_create(ctx, kaon_matrix_space(matrix), KAON_DOUBLE, 1, &x));
  must(ctx, kaon_vector_import(b, 0, b_of, KAON_BASIS_UKQCD));
  for (int kind = KAON_KACZMARZ_DOUBLE; kind <= KAON_KACZMARZ_CIMMINO; kind++) {
    kaon_kaczmarz_options how = KAON_KACZMARZ_OPTIONS_INIT;
    how.kind = (kaon_kaczmarz_kind)kind;
    must(ctx, kaon_kaczmarz_reduce(A, &how, &R));
    for (int fixed = 0; fixed < 2; fixed++) {
      kaon_solver_options o = KAON_SOLVER_OPTIONS_INIT;
      kaon_solver *solver = NULL;
      kaon_operator *inverse = NULL;
      double got[3];
      o.method = KAON_CG;
      o.tol = fixed ? 0 : 1e-12;
      o.max_iterations = fixed ? 3 : 100;
      must(ctx, kaon_solver_create(R, 1, &o, &solver));
      must(ctx, kaon_solver_as_operator(solver, &inverse));
      must(ctx, kaon_operator_apply(inverse, KAON_PLAIN, b, x));
      must(ctx, kaon_vector_export(x, 0, got, KAON_BASIS_UKQCD));
      for (int i = 0; i < 3; i++) assert_true(fabs(got[i] - x_of[i]) < 1e-10);
      refused(kaon_operator_apply(inverse, KAON_DAGGER, b, x), KAON_ERR_UNSUPPORTED, "dagger");
      kaon_solver_options outer = KAON_SOLVER_OPTIONS_INIT;
      kaon_solver *none = NULL;
      outer.method = KAON_GCR;
      outer.preconditioner = inverse;
      refused(kaon_solver_create(R, 1, &outer, &none), KAON_ERR_UNSUPPORTED, "not the reduction");
      kaon_operator_destroy(&inverse);
      kaon_solver_destroy(&solver);
    }
    kaon_operator_destroy(&R);
  }
  kaon_vector_destroy(&b);
  kaon_vector_destroy(&x);
  kaon_operator_destroy(&A);
  kaon_matrix_destroy(&matrix);
}

static void grids_of_too_many_ranks_are_refused(void **state) {
  (void)state;
  const int extents[4] = {4, 4, 4, 4};
  int grid[4] = {0, 0, 0, 0};
  assert_int_equal(kaon_ranks_grid(extents, 2147483647, grid), KAON_ERR_ARGUMENT);
  must(ctx, kaon_ranks_grid(extents, 8, grid));
  assert_int_equal(grid[0] * grid[1] * grid[2] * grid[3], 8);
}

static const char few_threads[] = "few threads"; /* what this program does if it is told so */

static int ask_for_many_threads(void) {
  kaon_context_options o = KAON_CONTEXT_OPTIONS_INIT;
  kaon_context *few = NULL;
  o.threads = 4096;
  const kaon_status status = kaon_context_create(&o, &few);
  printf("%s\n", kaon_last_error(NULL));
  return status != KAON_ERR_MEMORY || few != NULL ||
         strstr(kaon_last_error(NULL), "4096 threads") == NULL;
}

/* A process with memory for a few threads' stacks only gets an error; the OpenMP runtime does not
 * end it. */
static void threads_that_cannot_start_are_an_error(void **state) {
  (void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  skip(); /* their shadows take more than any limit */
#endif
  const pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    const struct rlimit room = {(rlim_t)1 << 30, (rlim_t)1 << 30};
    const struct rlimit stack = {(rlim_t)1 << 23, (rlim_t)1 << 23}; /* of each thread */
    if (setrlimit(RLIMIT_STACK, &stack) == 0 && setrlimit(RLIMIT_AS, &room) == 0)
      execl("/proc/self/exe", few_threads, few_threads, (char *)NULL);
    _exit(77);
  }
  int how = 0;
  assert_int_equal(waitpid(child, &how, 0), child);
  assert_true(WIFEXITED(how));
  if (WEXITSTATUS(how) == 77) skip();
  assert_int_equal(WEXITSTATUS(how), 0);
}

int main(int argc, char **argv) {
  if (argc > 1 && strcmp(argv[1], few_threads) == 0) return ask_for_many_threads();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(parities_that_are_none_have_no_space),
      cmocka_unit_test(results_have_addresses),
      cmocka_unit_test(failures_leave_no_object),
      cmocka_unit_test(entries_are_named_as_arrays_count),
      cmocka_unit_test(functions_that_fail_are_named),
      cmocka_unit_test(files_keep_what_they_had),
      cmocka_unit_test(small_sources_are_not_zero),
      cmocka_unit_test(residuals_of_least_squares_are_true),
      cmocka_unit_test(options_are_in_range),
      cmocka_unit_test(means_that_are_none_are_not_written),
      cmocka_unit_test(numbers_of_options_are_what_was_written),
      cmocka_unit_test(solvers_on_reductions_are_one_operator),
      cmocka_unit_test(grids_of_too_many_ranks_are_refused),
      cmocka_unit_test(threads_that_cannot_start_are_an_error),
  };
  return test_main(tests, set_up, tear_down);
}
