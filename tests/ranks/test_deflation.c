/* test_deflation.c - deflation on several ranks: the steps of one rank as far as rounding allows,
 * equal bits when a solve is repeated, by the same solver and by another, and one common choice of
 * pairs on all ranks. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>

#include "pair.h"
#include "solvers/spectra/deflate.h"

static const int extents[4] = {8, 4, 8, 8};
static const double tol = 1e-10;
enum { COLUMNS = 2 };

/* Clover near criticality for CGNR, light staggered quarks for CG. */
static kaon_operator *make(const partition_side *side, kaon_method method) {
  kaon_operator *M = NULL, *A = NULL;
  if (method == KAON_CGNR) {
    kaon_dirac_options o = KAON_DIRAC_OPTIONS_INIT;
    o.kappa = 0.196;
    o.csw = 1;
    must(side->ctx, kaon_dirac_create(side->gauge, &o, &M));
    must(side->ctx, kaon_dirac_even_odd(M, NULL, &A));
  } else {
    kaon_staggered_options o = KAON_STAGGERED_OPTIONS_INIT;
    o.mass = 0.1;
    must(side->ctx, kaon_staggered_create(side->gauge, NULL, &o, &M));
    must(side->ctx, kaon_staggered_even_odd(M, KAON_EVEN, &A));
  }
  kaon_operator_destroy(&M);
  return A;
}

typedef struct {
  kaon_operator *A;
  kaon_vector *b, *x, *first;
} fixture;

static fixture open_fixture(const partition_side *side, kaon_method method) {
  fixture v = {.A = make(side, method)};
  kaon_vector *source = NULL, even;
  const kaon_space *space = kaon_operator_space(v.A);
  const kaon_space *full = method == KAON_CGNR ? kaon_lattice_spinors(side->lattice, KAON_FULL)
                                               : kaon_lattice_staggered(side->lattice, KAON_FULL);
  must(side->ctx, kaon_vector_create(side->ctx, full, KAON_DOUBLE, COLUMNS, &source));
  must(side->ctx, kaon_vector_create(side->ctx, space, KAON_DOUBLE, COLUMNS, &v.b));
  must(side->ctx, kaon_vector_create(side->ctx, space, KAON_DOUBLE, COLUMNS, &v.x));
  must(side->ctx, kaon_vector_create(side->ctx, space, KAON_DOUBLE, COLUMNS, &v.first));
  must(side->ctx, kaon_source_gauss(source, 5));
  must(side->ctx, kaon_vector_view(source, KAON_EVEN, &even));
  must(side->ctx, kaon_vector_copy(v.b, &even));
  kaon_vector_destroy(&source);
  return v;
}

static void close_fixture(fixture *v) {
  kaon_vector_destroy(&v->b);
  kaon_vector_destroy(&v->x);
  kaon_vector_destroy(&v->first);
  kaon_operator_destroy(&v->A);
}

static kaon_solver_options options_of(kaon_method method, kaon_precision sloppy) {
  kaon_solver_options o = KAON_SOLVER_OPTIONS_INIT;
  o.method = method;
  o.sloppy = sloppy;
  o.tol = tol;
  o.deflation = sloppy == KAON_DOUBLE ? 0 : KAON_DEFLATION_RULE;
  return o;
}

static void run(const partition_side *side, const fixture *v, kaon_solver *s,
                kaon_column_report *r) {
  must(side->ctx, kaon_vector_zero(v->x));
  must(side->ctx, kaon_solver_solve(s, v->b, v->x, r, NULL));
  for (int k = 0; k < COLUMNS; k++) {
    assert_int_equal(r[k].reason, KAON_CONVERGED);
    assert_true(r[k].residual <= 1.1 * tol);
  }
}

/* Solves once, or three times, two of them with the same solver: the bits are equal. steps[k]: of
 * column k. */
static void solve(const partition_side *side, kaon_method method, kaon_precision sloppy,
                  int repeats, int *steps) {
  fixture v = open_fixture(side, method);
  const kaon_solver_options o = options_of(method, sloppy);
  kaon_column_report r[COLUMNS];
  double off[COLUMNS];
  for (int i = 0; i < 1 + repeats; i++) {
    kaon_solver *s = NULL;
    must(side->ctx, kaon_solver_create(v.A, COLUMNS, &o, &s));
    for (int again = 0; again < 1 + (repeats && i == 0); again++) {
      run(side, &v, s, r);
      if (i + again == 0) must(side->ctx, kaon_vector_copy(v.first, v.x));
      must(side->ctx, kaon_vector_axpy(-1, 0, v.first, v.x));
      must(side->ctx, kaon_vector_norm2(v.x, off));
      for (int k = 0; k < COLUMNS; k++) {
        if (i + again == 0) steps[k] = r[k].iterations;
        assert_int_equal(r[k].iterations, steps[k]);
        assert_true(off[k] == 0);
      }
    }
    kaon_solver_destroy(&s);
  }
  close_fixture(&v);
}

/* Sums over ranks have another order, which costs a few steps when deflation supports an inner
 * process; the bounds relative to double are those of tests/test_deflation.c. */
static void steps_are_those_of_one_rank(void **state) {
  static const kaon_method methods[] = {KAON_CG, KAON_CGNR};
  static const double bounds[] = {1, 1.05, 1.15};
  partition_pair pair = ranks_pair(extents, 1, 2);
  (void)state;
  for (int m = 0; m < 2; m++) {
    int full[COLUMNS] = {0};
    for (int p = KAON_DOUBLE; p <= KAON_HALF; p++) {
      int one[COLUMNS], ranks[COLUMNS];
      solve(&pair.whole, methods[m], (kaon_precision)p, 0, one);
      solve(&pair.part, methods[m], (kaon_precision)p, p != KAON_DOUBLE, ranks);
      for (int k = 0; k < COLUMNS; k++) {
        printf("  %s, double/%s, column %d: %d steps, on one rank %d\n", m ? "cgnr" : "cg",
               precision_names[p], k, ranks[k], one[k]);
        if (p == KAON_DOUBLE) full[k] = ranks[k];
        assert_true(ranks[k] > KAON_DEFLATION_BEGIN + 2 * KAON_DEFLATION_STEPS);
        assert_true(abs(ranks[k] - one[k]) <= 2 + one[k] / 50);
        test_below("over double", ranks[k] / (double)full[k], bounds[p]);
      }
    }
  }
  partition_close(&pair);
}

/* The default considers the largest part, so that all ranks retain the same pairs. */
static void the_rule_is_the_same_on_all_ranks(void **state) {
  partition_pair pair = ranks_pair(extents, 1, 2);
  kaon_solver_options o = options_of(KAON_CGNR, KAON_HALF);
  fixture v = open_fixture(&pair.part, KAON_CGNR);
  kaon_solver *s = NULL;
  (void)state;
  o.deflation = -1;
  must(pair.part.ctx, kaon_solver_create(v.A, COLUMNS, &o, &s));
  double pairs[2] = {s->deflation != NULL ? s->deflation->pairs : 0, 1};
  const double own = pairs[0];
  must(pair.part.ctx, kaon_comm_sum(pair.part.ctx, pairs, 2));
  assert_true(pairs[0] == own * pairs[1]);
  kaon_solver_destroy(&s);
  close_fixture(&v);
  partition_close(&pair);
}

static const struct CMUnitTest deflation_on_ranks[] = {
    cmocka_unit_test(steps_are_those_of_one_rank),
    cmocka_unit_test(the_rule_is_the_same_on_all_ranks),
};

RANKS_MAIN(deflation_on_ranks)
