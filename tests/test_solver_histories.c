/* test_solver_histories.c - the residual in every step does not depend on how steps are issued
 * (the regimes of "kaon-bench regimes"): CG, BiCG and BiCGStab with and without Jacobi, in double
 * and single, on generated matrices and on those of the data folder. Replayed forms have the bits
 * of plain steps. Unfused steps (kernels) and cuBLAS (cublas) agree to rounding, by a bound
 * derived below. The solve's report says how it was issued, so no regime is compared with itself
 * unnoticed. On the CPU a substitute records. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <kaon/kaon.h>
#include <kaon/lab.h>

#include "tests/util/dirac_case.h"
#include "tests/util/machine.h"
#include "tests/util/fake_recorder.h"
#include "tests/util/test_util.h"

/* How far two histories may differ. If only the order of operations differs, a step's vectors
 * differ by the roundings of its updates and by those of the coefficients. There a sum of N
 * numbers errs by at most N roundings of the precision that it is taken in. UPDATES counts the
 * roundings of updates for BiCGStab, which has most: s, r and half of x take a product and a sum
 * each, p two of both, Jacobi's K one product each for p and s; 11 on either side. So a step of
 * another regime moves r by at most move = UPDATES eps + N eps_of_sums, relative to its operands.
 * How such a move is amplified depends on the system and the method, and is measured: TRIALS
 * solves by plain steps start with a source whose numbers are moved by +-move each. `reach` is the
 * largest deviation among them in any step up to k, in log |r|, and at least the move itself. By
 * step k there were k + 1 moves, including the source's: |log (a_k / b_k)| <= (k + 1) max(move,
 * reach_k). Moves add up like this while they are small, so steps are compared as long as the
 * bound is below LINEAR, and EARLY of them at least. Beyond that a history is chaotic, and only
 * the count is compared with the range of the TRIALS + 1 plain solves: CG's and BiCG's in double
 * are within 2 of it; BiCGStab's and those in single, whose residuals are replaced when roundings
 * require it, within a tenth. */
enum { UPDATES = 22, TRIALS = 8, ROOM = 4096, EARLY = 5 };
static const double LINEAR = 0.1;
static const double epsilon[] = {0x1p-53, 0x1p-24};

typedef struct {
  const char *name; /* of a generator, or of a file of the data folder */
  int symmetric, file;
} system_of;
static const system_of systems[] = {{"laplace2d:40", 1, 0},     {"trefethen:500", 1, 0},
                                    {"convdiff3d:12,20", 0, 0}, {"sparse/fv1.mtx", 1, 1},
                                    {"sparse/fv3.mtx", 1, 1},   {"sparse/Chem97ZtZ.mtx", 1, 1}};
enum { SYSTEMS = sizeof systems / sizeof *systems };

static const struct {
  kaon_method method;
  const char *name;
  int symmetric;
} methods[] = {{KAON_CG, "cg", 1}, {KAON_BICG, "bicg", 0}, {KAON_BICGSTAB, "bicgstab", 0}};
enum { METHODS = sizeof methods / sizeof *methods };

static const struct {
  kaon_issue issue;
  const char *name;
} forms[] = {{KAON_ISSUE_REPLAY, "replay"},
             {KAON_ISSUE_WHILE, "dynamic"},
             {KAON_ISSUE_TAIL, "dynamic-tail"},
             {KAON_ISSUE_CDP, "dynamic-cdp"},
             {KAON_ISSUE_PERSISTENT, "dynamic-persistent"}};
enum { FORMS = sizeof forms / sizeof *forms };

/* ---- a system on a machine ---- */

typedef struct {
  kaon_context *ctx;
  kaon_backend backend; /* the machine's with a recorder, where it has none */
  kaon_matrix *matrix;
  kaon_operator *A, *K;
  kaon_vector *b, *x;
  kaon_precision precision;
  int64_t rows;
  int warnings;
} world;

/* 0: this machine does not issue so, and says why. */
static int open_context(world *w, int machine, kaon_issue issue, int stands_in) {
  kaon_context_options options = KAON_CONTEXT_OPTIONS_INIT;
  kaon_lab_options lab = KAON_LAB_OPTIONS_INIT;
  memset(w, 0, sizeof *w);
  options.threads = 1;
  options.lab = &lab;
  lab.issue = issue;
  options.log = test_count_warnings;
  options.log_user = &w->warnings;
  options.log_level = KAON_LOG_WARNING;
  const kaon_status status = machine_open(machine, options, &w->ctx);
  if (status == KAON_ERR_UNSUPPORTED && issue == KAON_ISSUE_LIBRARY) {
    printf("    cublas is not compared: %s\n", kaon_last_error(NULL));
    return 0;
  }
  must(NULL, status);
  w->backend = *w->ctx->backend;
  if (!stands_in || w->backend.record != NULL) return 1;
  w->backend.record = &stand_in;
  w->ctx->backend = &w->backend;
  return 1;
}

/* 0: there is no such file, or no such way of issuing. */
static int open_world(world *w, int machine, const system_of *s, kaon_precision precision,
                      int jacobi, kaon_issue issue, int stands_in) {
  kaon_matrix_operator_options how = KAON_MATRIX_OPERATOR_OPTIONS_INIT;
  kaon_matrix_info info = KAON_MATRIX_INFO_INIT;
  char path[1024];
  if (s->file && test_data(s->name, path) == NULL) return 0;
  if (!open_context(w, machine, issue, stands_in)) return 0;
  if (s->file)
    must(w->ctx, kaon_matrix_read(w->ctx, path, NULL, &w->matrix));
  else
    must(w->ctx, kaon_matrix_generate(w->ctx, s->name, NULL, &w->matrix, NULL));
  must(w->ctx, kaon_matrix_describe(w->matrix, &info));
  w->rows = info.rows;
  w->precision = how.precision = precision;
  must(w->ctx, kaon_matrix_operator(w->matrix, &how, &w->A));
  if (jacobi) must(w->ctx, kaon_precond_jacobi(w->A, &w->K));
  must(w->ctx, kaon_vector_create(w->ctx, kaon_operator_space(w->A), precision, 1, &w->b));
  must(w->ctx, kaon_vector_create(w->ctx, kaon_operator_space(w->A), precision, 1, &w->x));
  return 1;
}

static void close_world(world *w) {
  kaon_vector_destroy(&w->b);
  kaon_vector_destroy(&w->x);
  kaon_operator_destroy(&w->K);
  kaon_operator_destroy(&w->A);
  kaon_matrix_destroy(&w->matrix);
  kaon_context_destroy(&w->ctx);
}

/* A * 1, each number changed by +-move of itself, with signs from the random stream of seed. */
static void make_source(world *w, double move, uint64_t seed) {
  double *host = calloc((size_t)w->rows, sizeof *host);
  ref_rng rng;
  ref_rng_seed(&rng, seed);
  for (int64_t i = 0; i < w->rows; i++) host[i] = 1;
  must(w->ctx, kaon_vector_import(w->x, 0, host, KAON_BASIS_UKQCD));
  must(w->ctx, kaon_operator_apply(w->A, KAON_PLAIN, w->x, w->b));
  must(w->ctx, kaon_vector_export(w->b, 0, host, KAON_BASIS_UKQCD));
  for (int64_t i = 0; i < w->rows; i++) host[i] *= 1 + (ref_uniform(&rng) < 0.5 ? -move : move);
  must(w->ctx, kaon_vector_import(w->b, 0, host, KAON_BASIS_UKQCD));
  free(host);
}

typedef struct {
  kaon_column_report column;
  kaon_solve_report whole;
  double history[ROOM];
  int count, warnings;
} outcome;

static double tolerance_of(kaon_precision precision) {
  return precision == KAON_DOUBLE ? 1e-10 : 1e-4;
}

/* What kaon_solver_create or kaon_solver_solve returns. */
static kaon_status try_solve(world *w, kaon_method method, kaon_issue issue, outcome *o) {
  kaon_solver_options options = KAON_SOLVER_OPTIONS_INIT;
  kaon_solver *s = NULL;
  options.method = method;
  options.sloppy = w->precision;
  options.preconditioner = w->K;
  options.tol = tolerance_of(w->precision);
  options.max_iterations = ROOM - 1;
  w->ctx->lab.issue = issue;
  w->warnings = 0;
  kaon_status status = kaon_solver_create(w->A, 1, &options, &s);
  must(w->ctx, kaon_vector_zero(w->x));
  o->whole = (kaon_solve_report)KAON_SOLVE_REPORT_INIT;
  if (status == KAON_OK) status = kaon_solver_solve(s, w->b, w->x, &o->column, &o->whole);
  o->count = ROOM;
  if (status == KAON_OK) must(w->ctx, kaon_solver_history(s, 0, o->history, &o->count));
  o->warnings = w->warnings;
  kaon_solver_destroy(&s);
  return status;
}

static void solve(world *w, kaon_method method, kaon_issue issue, outcome *o) {
  must(w->ctx, try_solve(w, method, issue, o));
  assert_int_equal(o->column.reason, KAON_CONVERGED);
  assert_int_equal(o->count, o->column.iterations + 1);
}

/* ---- to rounding ---- */

static double move_of(const world *w, double sums) {
  return UPDATES * epsilon[w->precision] + (double)w->rows * sums;
}

static double apart(const outcome *a, const outcome *b, int k) {
  return fabs(log(a->history[k] / b->history[k]));
}

typedef struct {
  double bound[ROOM];
  int fewest, most; /* steps of the plain solves that converged */
} limits;

/* sums: the rounding of what sums are taken in. */
static void find_limits(world *w, kaon_method method, const outcome *plain, double sums,
                        limits *to) {
  static outcome moved;
  const double move = move_of(w, sums);
  to->fewest = to->most = plain->column.iterations;
  for (int k = 0; k < plain->count; k++) to->bound[k] = move;
  for (int t = 0; t < TRIALS; t++) {
    double reach = 0;
    make_source(w, move, (uint64_t)t + 1);
    must(w->ctx, try_solve(w, method, KAON_ISSUE_PLAIN, &moved));
    for (int k = 0; k < plain->count; k++) {
      if (k < moved.count) reach = larger(reach, apart(&moved, plain, k));
      to->bound[k] = larger(to->bound[k], reach);
    }
    if (moved.column.reason != KAON_CONVERGED) continue;
    if (moved.column.iterations < to->fewest) to->fewest = moved.column.iterations;
    if (moved.column.iterations > to->most) to->most = moved.column.iterations;
  }
  for (int k = 0; k < plain->count; k++) to->bound[k] *= k + 1;
  make_source(w, 0, 1);
}

/* Largest distance relative to its bound among the compared steps; *steps: how many. */
static double worst(const outcome *a, const outcome *b, const double *bound, int *steps) {
  const int n = a->count < b->count ? a->count : b->count;
  double most = 0;
  for (*steps = 0; *steps < n && bound[*steps] <= LINEAR; ++*steps)
    most = larger(most, apart(a, b, *steps) / bound[*steps]);
  return most;
}

static void assert_close(const world *w, kaon_method method, const char *regime,
                         const outcome *plain, const outcome *other, const limits *l) {
  const int n = other->column.iterations;
  const int no_flush_needed = method != KAON_BICGSTAB && w->precision == KAON_DOUBLE;
  const int margin = no_flush_needed ? 2 : (plain->column.iterations + 9) / 10;
  int steps;
  const double most = worst(plain, other, l->bound, &steps);
  printf("    %s: %d steps (plain ones %d to %d), %d compared\n", regime, n, l->fewest, l->most,
         steps - 1);
  assert_true(steps > EARLY || steps == plain->count);
  test_below("distance over its bound", most, 1);
  test_below("true residual", other->column.residual, 1.1 * tolerance_of(w->precision));
  assert_true(n >= l->fewest - margin && n <= l->most + margin);
}

/* ---- to the bit ---- */

/* Not every solve can use lists of kernels; a warning says so, and everything else is as
 * requested. */
static void assert_form(int form, const outcome *o) {
  const kaon_issue asked = forms[form].issue, was = o->whole.issue;
  const int listed = asked == KAON_ISSUE_CDP || asked == KAON_ISSUE_PERSISTENT;
  if (was == asked) return;
  printf("    %s degrades to dynamic\n", forms[form].name);
  assert_true(listed && o->warnings > 0);
  assert_int_equal(was, KAON_ISSUE_WHILE);
}

static void recorded_forms(world *w, kaon_method method, const outcome *plain) {
  static outcome other;
  for (int form = 0; form < FORMS; form++) {
    solve(w, method, forms[form].issue, &other);
    assert_form(form, &other);
    assert_int_equal(other.count, plain->count);
    assert_int_equal(other.column.updates, plain->column.updates);
    assert_memory_equal(other.history, plain->history, (size_t)plain->count * sizeof(double));
  }
}

/* ---- all of them ---- */

/* In a context of its own: the library's table is chosen when it is made. */
static void by_a_library(world *w, int machine, const system_of *s, int m, const outcome *plain) {
  static outcome other;
  static limits l;
  world own;
  if (!open_world(&own, machine, s, w->precision, w->K != NULL, KAON_ISSUE_LIBRARY, 0)) return;
  make_source(&own, 0, 1);
  solve(&own, methods[m].method, KAON_ISSUE_LIBRARY, &other);
  assert_int_equal(other.whole.issue, KAON_ISSUE_LIBRARY);
  assert_false(other.whole.fused);
  find_limits(w, methods[m].method, plain, epsilon[w->precision], &l); /* its sums too */
  assert_close(w, methods[m].method, "cublas", plain, &other, &l);
  close_world(&own);
}

static void one_method(world *w, int machine, const system_of *s, int m) {
  static outcome plain, other;
  static limits l;
  const kaon_method method = methods[m].method;
  make_source(w, 0, 1);
  solve(w, method, KAON_ISSUE_PLAIN, &plain);
  assert_int_equal(plain.whole.issue, KAON_ISSUE_PLAIN);
  assert_true(plain.whole.fused);
  printf("  %s, %s, %s%s, %s: %d steps, %d replacements\n", machine_name(machine), s->name,
         methods[m].name, w->K != NULL ? " with jacobi" : "", precision_names[w->precision],
         plain.column.iterations, plain.column.updates);
  recorded_forms(w, method, &plain);
  find_limits(w, method, &plain, epsilon[KAON_DOUBLE], &l);
  solve(w, method, KAON_ISSUE_SEPARATE, &other);
  assert_int_equal(other.whole.issue, KAON_ISSUE_SEPARATE);
  assert_false(other.whole.fused);
  assert_close(w, method, "kernels", &plain, &other, &l);
  if (machine == MACHINE_CUDA) by_a_library(w, machine, s, m, &plain);
}

static void on_machine(int machine, int files) {
  for (int i = 0; i < SYSTEMS; i++)
    for (int p = KAON_DOUBLE; p <= KAON_SINGLE && systems[i].file == files; p++)
      for (int jacobi = 0; jacobi < 2; jacobi++) {
        world w;
        if (!open_world(&w, machine, &systems[i], (kaon_precision)p, jacobi, KAON_ISSUE_PLAIN, 1))
          continue;
        for (int m = 0; m < METHODS; m++)
          if (systems[i].symmetric || !methods[m].symmetric)
            one_method(&w, machine, &systems[i], m);
        close_world(&w);
      }
}

static void generated_matrices(void **state) {
  (void)state;
  for (int machine = KAON_ISA_AUTO + 1; machine <= MACHINE_LAST; machine++)
    if (!machine_lacks(machine)) on_machine(machine, 0);
}

/* The CPU's best and the device. */
static void matrices_of_files(void **state) {
  char path[1024];
  (void)state;
  if (test_data("sparse/fv1.mtx", path) == NULL) skip();
  if (!machine_lacks(MACHINE_CPU)) on_machine(MACHINE_CPU, 1);
  if (!machine_lacks(MACHINE_CUDA)) on_machine(MACHINE_CUDA, 1);
}

/* ---- what a machine does not have ---- */

/* Without a recorder all forms are plain steps, and say so. */
static void degraded_forms_say_so(void **state) {
  static outcome plain, other;
  (void)state;
  for (int machine = KAON_ISA_AUTO + 1; machine < MACHINE_CUDA; machine++) {
    world w;
    if (machine_lacks(machine)) continue;
    assert_true(open_world(&w, machine, &systems[0], KAON_DOUBLE, 0, KAON_ISSUE_PLAIN, 0));
    make_source(&w, 0, 1);
    for (int m = 0; m < METHODS; m++) {
      solve(&w, methods[m].method, KAON_ISSUE_PLAIN, &plain);
      for (int form = 0; form < FORMS; form++) {
        solve(&w, methods[m].method, forms[form].issue, &other);
        assert_int_equal(other.whole.issue, KAON_ISSUE_PLAIN);
        assert_int_equal(other.count, plain.count);
        assert_memory_equal(other.history, plain.history, (size_t)plain.count * sizeof(double));
      }
    }
    printf("  %s: every recorded form degrades to plain steps (merged)\n", machine_name(machine));
    close_world(&w);
  }
}

/* The substitute recorder was used; otherwise plain solves were compared with themselves. */
static void the_recorder_was_used(void **state) {
  (void)state;
  if (machine_lacks(KAON_ISA_SCALAR)) skip();
  printf("  %d recordings, %d runs, %d services\n", calls.records, calls.runs, calls.serves);
  assert_true(calls.records > 0 && calls.runs > calls.records && calls.serves > 0);
}

/* The bounds are sharp: they distinguish a history from that of a source that is off by a few more
 * digits, and double from single. */
static void bounds_tell_histories_apart(void **state) {
  static outcome plain, off, single;
  static limits l;
  (void)state;
  const int machine = machine_lacks(KAON_ISA_SCALAR) ? MACHINE_CUDA : KAON_ISA_SCALAR;
  if (machine == MACHINE_CUDA && machine_lacks(MACHINE_CUDA)) skip();
  for (int m = 0; m < METHODS; m++) {
    world w, coarse;
    int steps;
    assert_true(open_world(&w, machine, &systems[0], KAON_DOUBLE, 0, KAON_ISSUE_PLAIN, 1));
    assert_true(open_world(&coarse, machine, &systems[0], KAON_SINGLE, 0, KAON_ISSUE_PLAIN, 1));
    make_source(&w, 0, 1);
    make_source(&coarse, 0, 1);
    solve(&w, methods[m].method, KAON_ISSUE_PLAIN, &plain);
    solve(&coarse, methods[m].method, KAON_ISSUE_PLAIN, &single);
    find_limits(&w, methods[m].method, &plain, epsilon[KAON_DOUBLE], &l);
    make_source(&w, 1000 * move_of(&w, epsilon[KAON_DOUBLE]), 99);
    solve(&w, methods[m].method, KAON_ISSUE_PLAIN, &off);
    const double moved = worst(&plain, &off, l.bound, &steps);
    const double rounded = worst(&plain, &single, l.bound, &steps);
    printf("  %s: %.3g and %.3g times the bound\n", methods[m].name, moved, rounded);
    assert_true(moved > 1 && rounded > 1);
    close_world(&coarse);
    close_world(&w);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(generated_matrices),          cmocka_unit_test(matrices_of_files),
      cmocka_unit_test(degraded_forms_say_so),       cmocka_unit_test(the_recorder_was_used),
      cmocka_unit_test(bounds_tell_histories_apart),
  };
  return test_main(tests, NULL, NULL);
}
