/* test_solver_listed.c - forms of issuing by a list of a step's kernels on the device
 * (KAON_ISSUE_CDP, KAON_ISSUE_PERSISTENT) change no bit of a solve: matrices in SELL, with warps
 * that share rows, and in CSR, every method and precision that they support. Others are issued
 * differently, with the same bits. On a machine without these forms they mean the plain one. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include <kaon/kaon.h>
#include <kaon/lab.h>

#include "solvers/engine/method.h"
#include "tests/util/dirac_case.h"
#include "tests/util/machine.h"
#include "tests/util/test_util.h"

enum { ROOM = 1024, FORMS = 2 };
static const kaon_issue forms[FORMS] = {KAON_ISSUE_CDP, KAON_ISSUE_PERSISTENT};
static const char *const form_names[FORMS] = {"cdp", "persistent"};

typedef struct {
  kaon_context *ctx;
  kaon_matrix *matrix;
  kaon_operator *A, *K;
  kaon_vector *b, *x;
  int machine, columns;
  kaon_precision precision;
  int warnings;
} world;

/* 1 + i mod 7, another number for each column. */
static void make_source(world *w) {
  kaon_matrix_info info = KAON_MATRIX_INFO_INIT;
  must(w->ctx, kaon_matrix_describe(w->matrix, &info));
  double *host = calloc((size_t)info.rows, sizeof *host);
  for (int k = 0; k < w->columns; k++) {
    for (int64_t i = 0; i < info.rows; i++) host[i] = 1 + (double)((i + k) % 7);
    must(w->ctx, kaon_vector_import(w->b, k, host, KAON_BASIS_UKQCD));
  }
  free(host);
}

static int open_world(world *w, int machine, const char *name, kaon_matrix_format format,
                      kaon_precision precision, int jacobi, int columns) {
  kaon_context_options options = KAON_CONTEXT_OPTIONS_INIT;
  kaon_matrix_operator_options how = KAON_MATRIX_OPERATOR_OPTIONS_INIT;
  memset(w, 0, sizeof *w);
  if (machine_lacks(machine)) return 0;
  options.threads = 1;
  options.log = test_count_warnings;
  options.log_user = &w->warnings;
  options.log_level = KAON_LOG_WARNING;
  must(NULL, machine_open(machine, options, &w->ctx));
  w->machine = machine;
  w->columns = columns;
  w->precision = precision;
  how.precision = precision;
  how.format = format;
  must(w->ctx, kaon_matrix_generate(w->ctx, name, NULL, &w->matrix, NULL));
  must(w->ctx, kaon_matrix_operator(w->matrix, &how, &w->A));
  if (jacobi) must(w->ctx, kaon_precond_jacobi(w->A, &w->K));
  const kaon_space *space = kaon_operator_space(w->A);
  must(w->ctx, kaon_vector_create(w->ctx, space, precision, columns, &w->b));
  must(w->ctx, kaon_vector_create(w->ctx, space, precision, columns, &w->x));
  make_source(w);
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

typedef struct {
  kaon_column_report report[2];
  double history[2][ROOM];
  int count[2];
  double *x;
  size_t bytes;
} outcome;

static void release(outcome *o) {
  free(o->x);
}

/* form: that of the recording. */
static void solve(world *w, kaon_method method, kaon_issue issue, int interval, int times,
                  outcome *o, kaon_issue *form) {
  kaon_solver_options options = KAON_SOLVER_OPTIONS_INIT;
  kaon_solver *s = NULL;
  options.method = method;
  options.sloppy = w->precision;
  options.preconditioner = w->K;
  options.tol = w->precision == KAON_DOUBLE ? 1e-10 : 1e-4;
  options.max_iterations = ROOM - 1;
  options.check_interval = interval;
  w->ctx->lab.issue = issue;
  must(w->ctx, kaon_solver_create(w->A, w->columns, &options, &s));
  for (int i = 0; i < times; i++) {
    must(w->ctx, kaon_vector_zero(w->x));
    must(w->ctx, kaon_solver_solve(s, w->b, w->x, o->report, NULL));
  }
  for (int k = 0; k < w->columns; k++) {
    o->count[k] = ROOM;
    must(w->ctx, kaon_solver_history(s, k, o->history[k], &o->count[k]));
  }
  kaon_matrix_info info = KAON_MATRIX_INFO_INIT;
  must(w->ctx, kaon_matrix_describe(w->matrix, &info));
  o->bytes = (size_t)(info.rows * w->columns) * sizeof *o->x;
  o->x = malloc(o->bytes);
  for (int k = 0; k < w->columns; k++)
    must(w->ctx, kaon_vector_export(w->x, k, o->x + k * info.rows, KAON_BASIS_UKQCD));
  *form = s->replay.recorded.form;
  kaon_solver_destroy(&s);
}

static void assert_same(const world *w, const outcome *a, const outcome *b) {
  for (int k = 0; k < w->columns; k++) {
    assert_int_equal(a->report[k].iterations, b->report[k].iterations);
    assert_int_equal(a->report[k].updates, b->report[k].updates);
    assert_int_equal(a->report[k].reason, b->report[k].reason);
    assert_int_equal(a->count[k], b->count[k]);
    assert_memory_equal(a->history[k], b->history[k], (size_t)a->count[k] * sizeof(double));
  }
  assert_memory_equal(a->x, b->x, a->bytes);
}

/* listed: the forms are for this solve. */
static void compare(world *w, kaon_method method, const char *what, int listed) {
  static const int intervals[] = {10, 1, 256};
  outcome plain, other;
  kaon_issue form;
  const int dependent = w->ctx->dependent;
  w->ctx->dependent = 0;
  solve(w, method, KAON_ISSUE_PLAIN, 10, 1, &plain, &form);
  w->ctx->dependent = dependent;
  for (int f = 0; f < FORMS; f++)
    for (int i = 0; i < 3; i++) {
      w->warnings = 0;
      solve(w, method, forms[f], intervals[i], 2, &other, &form);
      if (w->machine == MACHINE_CUDA) {
        assert_int_equal(form, listed ? forms[f] : KAON_ISSUE_WHILE);
        assert_int_equal(w->warnings, !listed);
      }
      printf("  %s, %s, interval %d: %d and %d steps\n", what, form_names[f], intervals[i],
             plain.report[0].iterations, other.report[0].iterations);
      assert_same(w, &plain, &other);
      release(&other);
    }
  release(&plain);
}

static const struct tried {
  const char *name;
  kaon_matrix_format format;
  int symmetric;
} systems[] = {
    {"laplace2d:60", KAON_STORE_SELL, 1},   /* 113 blocks of rows */
    {"laplace2d:5", KAON_STORE_SELL, 1},    /* one */
    {"laplace3d27:14", KAON_STORE_SELL, 1}, /* warps share rows */
    {"laplace2d:60", KAON_STORE_CSR, 1},
    {"trefethen:700", KAON_STORE_AUTO, 1},
    {"convdiff3d:14,20", KAON_STORE_SELL, 0},
    {"convdiff3d:60,20", KAON_STORE_SELL, 0}, /* more chunks than a device has room for */
    {"convdiff3d:14,20", KAON_STORE_CSR, 0}};

static void on_machine(int machine) {
  static const struct {
    kaon_method method;
    const char *name;
    int symmetric;
  } methods[] = {{KAON_CG, "cg", 1},
                 {KAON_PIPECG, "pipecg", 1},
                 {KAON_BICG, "bicg", 0},
                 {KAON_BICGSTAB, "bicgstab", 0}};
  for (size_t i = 0; i < sizeof systems / sizeof *systems; i++)
    for (int p = KAON_DOUBLE; p <= KAON_SINGLE; p++)
      for (int jacobi = 0; jacobi < 2; jacobi++)
        for (size_t m = 0; m < sizeof methods / sizeof *methods; m++) {
          world w;
          char what[128];
          if (methods[m].symmetric && !systems[i].symmetric) continue;
          if (!open_world(&w, machine, systems[i].name, systems[i].format, (kaon_precision)p,
                          jacobi, 1))
            return;
          snprintf(what, sizeof what, "%s %s %s%s %s", systems[i].name,
                   kaon_matrix_operator_format(w.A), methods[m].name, jacobi ? " jacobi" : "",
                   precision_names[p]);
          compare(&w, methods[m].method, what, 1);
          close_world(&w);
        }
}

static void on_a_device(void **state) {
  (void)state;
  if (machine_lacks(MACHINE_CUDA)) skip();
  on_machine(MACHINE_CUDA);
}

static void what_cannot_be_listed(void **state) {
  (void)state;
  static const int machines[] = {KAON_ISA_SCALAR, MACHINE_CUDA};
  world w;
  for (int m = 0; m < 2; m++) {
    const int machine = machines[m];
    if (machine_lacks(machine)) continue;
    if (open_world(&w, machine, "laplace2d:30", KAON_STORE_AUTO, KAON_DOUBLE, 0, 2)) {
      compare(&w, KAON_CG, "two columns", 0);
      close_world(&w);
    }
    if (open_world(&w, machine, "laplace2d:30", KAON_STORE_AUTO, KAON_DOUBLE, 0, 1)) {
      compare(&w, KAON_GCR, "gcr", 0);
      close_world(&w);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(on_a_device),
      cmocka_unit_test(what_cannot_be_listed),
  };
  return test_main(tests, NULL, NULL);
}
