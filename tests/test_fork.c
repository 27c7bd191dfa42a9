/* A process that was forked from one that had used kaon with several threads: the parent's objects
 * answer STATE, and a context of its own works with one thread. Nothing hangs. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <kaon/kaon.h>

#include "tests/util/test_util.h"

enum { SECONDS = 20, ROWS = 4096 };

typedef struct problem {
  kaon_context *ctx;
  kaon_matrix *matrix;
  kaon_operator *A;
  kaon_solver *solver;
  kaon_vector *b, *x;
} problem;

static kaon_status create(int threads, problem *p) {
  kaon_context_options options = KAON_CONTEXT_OPTIONS_INIT;
  kaon_solver_options o = KAON_SOLVER_OPTIONS_INIT;
  static double ones[ROWS];
  *p = (problem){0};
  options.threads = threads;
  options.backend = KAON_BACKEND_CPU;
  o.method = KAON_CG;
  o.tol = 1e-3;
  for (int i = 0; i < ROWS; i++) ones[i] = 1;
  const kaon_status status = kaon_context_create(&options, &p->ctx);
  if (status != KAON_OK) return status;
  must(p->ctx, kaon_matrix_generate(p->ctx, "laplace2d:64", NULL, &p->matrix, NULL));
  must(p->ctx, kaon_matrix_operator(p->matrix, NULL, &p->A));
  must(p->ctx, kaon_solver_create(p->A, 1, &o, &p->solver));
  must(p->ctx, kaon_vector_create(p->ctx, kaon_matrix_space(p->matrix), KAON_DOUBLE, 1, &p->b));
  must(p->ctx, kaon_vector_create(p->ctx, kaon_matrix_space(p->matrix), KAON_DOUBLE, 1, &p->x));
  must(p->ctx, kaon_vector_import(p->b, 0, ones, KAON_BASIS_UKQCD));
  return KAON_OK;
}

static kaon_status solve(problem *p, kaon_column_report *report) {
  return kaon_solver_solve(p->solver, p->b, p->x, report, NULL);
}

static void destroy(problem *p) {
  kaon_vector_destroy(&p->b);
  kaon_vector_destroy(&p->x);
  kaon_solver_destroy(&p->solver);
  kaon_operator_destroy(&p->A);
  kaon_matrix_destroy(&p->matrix);
  kaon_context_destroy(&p->ctx);
}

/* The number of the first wrong answer in the child; 0: all are right. */
static int child(problem *p) {
  kaon_column_report report = {0};
  kaon_context_info info = KAON_CONTEXT_INFO_INIT;
  problem own;
  alarm(SECONDS); /* a hang ends by a signal */
  if (solve(p, NULL) != KAON_ERR_STATE) return 1;
  printf("  %s\n", kaon_last_error(p->ctx));
  if (kaon_vector_zero(p->x) != KAON_ERR_STATE) return 2;
  if (kaon_context_query(p->ctx, &info) != KAON_ERR_STATE) return 3;
  if (create(2, &own) != KAON_ERR_STATE || own.ctx != NULL) return 4;
  printf("  %s\n", kaon_last_error(NULL));
  for (int threads = 0; threads <= 1; threads++) {
    if (create(threads, &own) != KAON_OK) return 5;
    if (kaon_context_query(own.ctx, &info) != KAON_OK || info.threads != 1) return 6;
    if (solve(&own, &report) != KAON_OK || report.reason != KAON_CONVERGED) return 7;
    destroy(&own);
  }
  destroy(p);
  fflush(stdout);
  return 0;
}

static int wait_for(pid_t process) {
  int how = 0;
  assert_true(process > 0);
  assert_int_equal(waitpid(process, &how, 0), process);
  return WIFEXITED(how) ? WEXITSTATUS(how) : -1;
}

static void a_child_does_not_hang(void **state) {
  problem p;
  kaon_column_report report;
  (void)state;
  must(NULL, create(2, &p));
  must(p.ctx, solve(&p, &report));
  fflush(stdout);
  const pid_t process = fork();
  if (process == 0) _exit(child(&p));
  assert_int_equal(wait_for(process), 0);
  must(p.ctx, kaon_vector_zero(p.x)); /* the parent goes on */
  must(p.ctx, solve(&p, &report));
  assert_int_equal(report.reason, KAON_CONVERGED);
  destroy(&p);
}

int main(void) {
  const struct CMUnitTest cases[] = {cmocka_unit_test(a_child_does_not_hang)};
  return test_main(cases, NULL, NULL);
}
