/* test_multishift_issue.c - CG of several shifts in recorded blocks of steps has the bits of
 * single steps, whatever the form, in the first solve, in a replay of an old recording, and after
 * the user's vectors have changed places. On the CPU a substitute records
 * (tests/util/fake_recorder.h). */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include <kaon/lab.h>
#include <kaon/multishift.h>

#include "lib/core/context_internal.h"
#include "lib/vector/space.h"
#include "tests/util/fake_recorder.h"
#include "tests/util/staggered_case.h"
#include "tests/util/test_util.h"

static const int extents[4] = {4, 4, 4, 8};
enum { SHIFTS = 5, COLUMNS = 3 };
static const double sigma[SHIFTS] = {0.3, 0.01, 2, 0.05, 0.9};
/* The process passes the tolerance of the smallest shift, where one of the others ends. */
static const double tols[SHIFTS] = {1e-4, 1e-7, 0, 1e-10, 1e-10};
static const char *const issue_names[] = {"auto", "plain", "replay", "while", "tail"};

typedef struct {
  ref_complex *x[SHIFTS * COLUMNS];
  kaon_column_report reports[SHIFTS * COLUMNS];
  kaon_solve_report solve;
} outcome;

static void take(dirac_case *c, kaon_multishift *m, const kaon_vector *b, kaon_vector *x, int reals,
                 outcome *out) {
  out->solve = (kaon_solve_report)KAON_SOLVE_REPORT_INIT;
  must(c->ctx, kaon_multishift_solve(m, b, x, out->reports, &out->solve));
  for (int i = 0; i < kaon_vector_columns(x); i++) {
    out->x[i] = calloc((size_t)c->lattice->volume * (size_t)reals, sizeof(double));
    must(c->ctx, kaon_vector_export(x, i, (double *)out->x[i], KAON_BASIS_UKQCD));
  }
}

static void compare(const dirac_case *c, int columns, const outcome *a, outcome *b, int reals) {
  assert_int_equal(a->solve.applications, b->solve.applications);
  for (int i = 0; i < columns; i++) {
    assert_int_equal(a->reports[i].iterations, b->reports[i].iterations);
    assert_int_equal(a->reports[i].reason, b->reports[i].reason);
    assert_memory_equal(a->x[i], b->x[i],
                        (size_t)c->lattice->volume * (size_t)reals * sizeof(double));
    free(b->x[i]);
  }
}

/* With several right-hand sides, with tolerances of their own for the shifts. */
static kaon_multishift *solver_of(dirac_case *c, kaon_operator *A, int columns, int normal,
                                  int sloppy, int issue) {
  kaon_multishift_options o = KAON_MULTISHIFT_OPTIONS_INIT;
  kaon_multishift *m = NULL;
  o.normal = normal;
  o.sloppy = (kaon_precision)sloppy;
  c->ctx->lab.issue = (kaon_issue)issue;
  must(c->ctx, kaon_multishift_create(A, SHIFTS, sigma, &o, &m));
  if (columns > 1) must(c->ctx, kaon_multishift_set_tol(m, tols));
  return m;
}

static void every_form(dirac_case *c, kaon_operator *A, int normal, const kaon_vector *b, int reals,
                       const char *name) {
  const kaon_space *space = kaon_vector_space(b);
  const int columns = SHIFTS * kaon_vector_columns(b);
  for (int sloppy = KAON_DOUBLE; sloppy <= KAON_HALF; sloppy++) {
    kaon_vector *x = NULL, *elsewhere = NULL;
    outcome plain, other;
    must(c->ctx, kaon_vector_create(c->ctx, space, KAON_DOUBLE, columns, &x));
    must(c->ctx, kaon_vector_create(c->ctx, space, KAON_DOUBLE, columns, &elsewhere));
    kaon_multishift *m = solver_of(c, A, kaon_vector_columns(b), normal, sloppy, KAON_ISSUE_PLAIN);
    take(c, m, b, x, reals, &plain);
    assert_int_equal(plain.solve.issue, KAON_ISSUE_PLAIN);
    kaon_multishift_destroy(&m);
    /* one recording a level; with tolerances of their own the last shift may end before half */
    const int least = kaon_vector_columns(b) > 1 && sloppy == KAON_HALF ? KAON_SINGLE : sloppy;
    for (int issue = KAON_ISSUE_AUTO; issue <= KAON_ISSUE_TAIL; issue++) {
      if (issue == KAON_ISSUE_PLAIN) continue;
      m = solver_of(c, A, kaon_vector_columns(b), normal, sloppy, issue);
      for (int again = 0; again < 3; again++) { /* new, by the old recording, of another x */
        const int records = calls.records;
        take(c, m, b, again < 2 ? x : elsewhere, reals, &other);
        compare(c, columns, &plain, &other, reals);
        assert_int_equal(other.solve.issue, issue == KAON_ISSUE_AUTO ? KAON_ISSUE_WHILE : issue);
        if (c->ctx->backend->record == &stand_in)
          assert_in_range(calls.records - records, again == 1 ? 0 : 1 + least,
                          again == 1 ? 0 : 1 + sloppy);
      }
      kaon_multishift_destroy(&m);
      printf("  %s, %d columns, double/%s, %s: same bits\n", name, kaon_vector_columns(b),
             precision_names[sloppy], issue_names[issue]);
    }
    for (int i = 0; i < columns; i++) {
      assert_int_equal(plain.reports[i].reason, KAON_CONVERGED);
      free(plain.x[i]);
    }
    kaon_vector_destroy(&x);
    kaon_vector_destroy(&elsewhere);
  }
}

static void stand_in_where_none_is(dirac_case *c, kaon_backend *backend) {
  *backend = *c->ctx->backend;
  if (backend->record != NULL) return;
  backend->record = &stand_in;
  c->ctx->backend = backend;
}

static void on(int machine, int columns) {
  staggered_case s;
  dirac_case c;
  kaon_backend backend;
  kaon_operator *M, *A = NULL;
  if (staggered_open(&s, machine, extents, 1, 0)) {
    stand_in_where_none_is(&s.c, &backend);
    M = staggered_operator(&s, 0.1, 0, KAON_PHASES_MILC, KAON_DOUBLE, KAON_RECONSTRUCT_18);
    must(s.c.ctx, kaon_staggered_even_odd(M, KAON_EVEN, &A));
    ref_complex **hb = staggered_columns(&s, KAON_EVEN, columns, 3);
    kaon_vector *b = staggered_vector(&s, KAON_EVEN, KAON_DOUBLE, columns);
    staggered_import(&s, b, hb);
    every_form(&s.c, A, 0, b, 6, "staggered");
    case_free_columns(hb, columns);
    kaon_vector_destroy(&b);
    kaon_operator_destroy(&A);
    kaon_operator_destroy(&M);
    staggered_close(&s);
  }
  if (!case_open(&c, machine, extents, 1, LINKS_WEAK, 5)) return;
  stand_in_where_none_is(&c, &backend);
  M = case_dirac(&c, 0.12, 1, 1, KAON_DOUBLE, KAON_RECONSTRUCT_18);
  A = case_even_odd(&c, M, KAON_EVEN_ODD_SYMMETRIC, KAON_EVEN, 0);
  ref_complex **hb = case_random_columns(&c, columns, 3);
  kaon_vector *b = case_vector(&c, KAON_EVEN, KAON_DOUBLE, columns);
  case_import(&c, b, hb);
  every_form(&c, A, 1, b, 24, "clover, normal equations");
  case_free_columns(hb, columns);
  kaon_vector_destroy(&b);
  kaon_operator_destroy(&A);
  kaon_operator_destroy(&M);
  case_close(&c);
}

static void bits_do_not_depend_on_how_steps_are_issued(void **state) {
  (void)state;
  for (int machine = MACHINE_CPU; machine <= MACHINE_CUDA; machine += MACHINE_CUDA - MACHINE_CPU) {
    on(machine, 1);
    on(machine, COLUMNS);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(bits_do_not_depend_on_how_steps_are_issued)};
  return test_main(tests, NULL, NULL);
}
