/* test_solver_regimes.c - ways of issuing that exist for comparison (kaon_issue): nothing fused,
 * on every machine; cuBLAS and scalars on the host, on a CUDA device. A method takes the same
 * steps up to other roundings. In the first eight steps, before the method amplifies them,
 * residuals agree within N roundings a step, by which a sum of N numbers in another order may
 * differ. The true residual is the method's. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include <kaon/kaon.h>
#include <kaon/lab.h>

#include "tests/util/dirac_case.h"
#include "tests/util/machine.h"
#include "tests/util/test_util.h"

enum { ROOM = 600, EARLY = 8, N = 24 * 4 * 4 * 4 * 8 / 2 };

typedef struct {
  kaon_context *ctx;
  kaon_lattice *lattice;
  kaon_gauge *gauge;
  kaon_operator *M, *R;
  kaon_vector *b, *x;
} world;

typedef struct {
  kaon_column_report report;
  kaon_solve_report whole;
  double history[ROOM];
  int count;
} outcome;

static const kaon_method methods[] = {KAON_CGNR, KAON_CGNE, KAON_BICGSTAB, KAON_MR, KAON_GCR};
static const char *const names[] = {"cgnr", "cgne", "bicgstab", "mr", "gcr"};

/* 0: this machine does not have it. */
static int open_world(world *w, int machine, kaon_issue issue, int columns) {
  const int extents[4] = {4, 4, 4, 8};
  kaon_context_options options = KAON_CONTEXT_OPTIONS_INIT;
  kaon_lab_options lab = KAON_LAB_OPTIONS_INIT;
  kaon_dirac_options dirac = KAON_DIRAC_OPTIONS_INIT;
  memset(w, 0, sizeof *w);
  options.threads = 1;
  options.lab = &lab;
  lab.issue = issue;
  const kaon_status status = machine_open(machine, options, &w->ctx);
  if (status == KAON_ERR_UNSUPPORTED) {
    printf("%s: skipped: %s\n", machine_name(machine), kaon_last_error(NULL));
    return 0;
  }
  must(NULL, status);
  must(w->ctx, kaon_lattice_create(w->ctx, extents, KAON_ANTIPERIODIC, &w->lattice));
  must(w->ctx, kaon_gauge_create(w->lattice, KAON_DOUBLE, KAON_RECONSTRUCT_18, &w->gauge));
  must(w->ctx, kaon_gauge_weak(w->gauge, 0.3, 5));
  dirac.kappa = 0.125;
  dirac.csw = 1;
  must(w->ctx, kaon_dirac_create(w->gauge, &dirac, &w->M));
  must(w->ctx, kaon_dirac_even_odd(w->M, NULL, &w->R));
  const kaon_space *space = kaon_operator_space(w->M);
  must(w->ctx, kaon_vector_create(w->ctx, space, KAON_DOUBLE, columns, &w->b));
  must(w->ctx, kaon_vector_create(w->ctx, space, KAON_DOUBLE, columns, &w->x));
  must(w->ctx, kaon_source_gauss(w->b, 3));
  return 1;
}

static void close_world(world *w) {
  kaon_vector_destroy(&w->b);
  kaon_vector_destroy(&w->x);
  kaon_operator_destroy(&w->R);
  kaon_operator_destroy(&w->M);
  kaon_gauge_destroy(&w->gauge);
  kaon_lattice_destroy(&w->lattice);
  kaon_context_destroy(&w->ctx);
}

static void solve(world *w, kaon_method method, kaon_precision sloppy, outcome *o) {
  kaon_solver_options options = KAON_SOLVER_OPTIONS_INIT;
  kaon_solver *solver = NULL;
  kaon_column_report reports[4];
  options.method = method;
  options.sloppy = sloppy;
  options.max_iterations = ROOM - 1;
  const int columns = kaon_vector_columns(w->b);
  must(w->ctx, kaon_vector_zero(w->x));
  must(w->ctx, kaon_solver_create(w->R, columns, &options, &solver));
  o->whole = (kaon_solve_report)KAON_SOLVE_REPORT_INIT;
  must(w->ctx, kaon_solver_solve(solver, w->b, w->x, reports, &o->whole));
  o->report = reports[columns - 1];
  o->count = ROOM;
  must(w->ctx, kaon_solver_history(solver, columns - 1, o->history, &o->count));
  kaon_solver_destroy(&solver);
}

/* Largest |log(a / b)| in the first steps, over the roundings of the steps so far. */
static double apart(const outcome *a, const outcome *b, double epsilon) {
  const int n = a->count < b->count ? a->count : b->count;
  double worst = 0;
  for (int i = 1; i < n && i <= EARLY; i++) {
    const double off = fabs(log(a->history[i] / b->history[i])) / (epsilon * (i + 1));
    if (off > worst) worst = off;
  }
  return worst;
}

static void compare(int machine, kaon_issue issue, int columns) {
  static const double epsilon[] = {0x1p-53, 0x1p-24};
  world fused, other;
  if (!open_world(&other, machine, issue, columns)) return;
  assert_true(open_world(&fused, machine, KAON_ISSUE_PLAIN, columns));
  for (size_t m = 0; m < sizeof methods / sizeof *methods; m++)
    for (int sloppy = KAON_DOUBLE; sloppy <= KAON_SINGLE; sloppy++) {
      outcome a, b;
      char what[96];
      solve(&fused, methods[m], (kaon_precision)sloppy, &a);
      solve(&other, methods[m], (kaon_precision)sloppy, &b);
      printf("%s %s, %s, %d columns: %d and %d steps, %lld and %lld sums\n", machine_name(machine),
             names[m], precision_names[sloppy], columns, a.report.iterations, b.report.iterations,
             (long long)a.whole.traffic.sums, (long long)b.whole.traffic.sums);
      assert_int_equal(b.report.reason, KAON_CONVERGED);
      test_below("  true residual", b.report.residual, 1.1e-10);
      snprintf(what, sizeof what, "  histories apart, roundings a step");
      test_below(what, apart(&a, &b, epsilon[sloppy]), N);
      test_below("  steps more or less", abs(a.report.iterations - b.report.iterations),
                 sloppy == KAON_DOUBLE ? 1 : 1 + a.report.iterations / 20);
    }
  close_world(&fused);
  close_world(&other);
}

static void nothing_fused(void **state) {
  (void)state;
  for (int machine = KAON_ISA_AUTO + 1; machine <= MACHINE_LAST; machine++)
    if (!machine_lacks(machine))
      for (int columns = 1; columns <= 2; columns++) compare(machine, KAON_ISSUE_SEPARATE, columns);
}

static void by_a_library(void **state) {
  (void)state;
  if (machine_lacks(MACHINE_CUDA)) skip();
  compare(MACHINE_CUDA, KAON_ISSUE_LIBRARY, 1);
}

static void refused_where_it_cannot_be(void **state) {
  (void)state;
  kaon_context_options options = KAON_CONTEXT_OPTIONS_INIT;
  kaon_lab_options lab = KAON_LAB_OPTIONS_INIT;
  kaon_context *ctx = NULL;
  options.backend = KAON_BACKEND_CPU;
  options.lab = &lab;
  lab.issue = KAON_ISSUE_LIBRARY;
  must_refuse(NULL, KAON_ERR_UNSUPPORTED, kaon_context_create(&options, &ctx));
  assert_null(ctx);
  lab.issue = (kaon_issue)9;
  must_refuse(NULL, KAON_ERR_ARGUMENT, kaon_context_create(&options, &ctx));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(nothing_fused),
      cmocka_unit_test(by_a_library),
      cmocka_unit_test(refused_where_it_cannot_be),
  };
  return test_main(tests, NULL, NULL);
}
