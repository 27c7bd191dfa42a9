/* test_multishift.c - CG of several shifts on several ranks: naive and improved staggered
 * operators and the normal equations of Wilson-clover, in all sloppy precisions. It takes the
 * steps of one rank within a few, every shift reaches its tolerance, solutions agree as far as
 * that implies, and a refusal has the same status on all ranks. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <kaon/multishift.h>
#include <math.h>

#include "pair.h"

static const int extents[4] = {8, 4, 8, 8};
static const double tol = 1e-10; /* of the roots */
enum { SHIFTS = 12, COLUMNS = 2 };
/* The smallest shift, at 3, has a larger tolerance than others. */
static const double none[SHIFTS] = {0}, tols[SHIFTS] = {1e-10, 1e-10, 1e-10, 1e-7,  1e-10, 1e-9,
                                                        1e-10, 1e-6,  1e-10, 1e-10, 1e-8,  1e-10};

typedef enum { NAIVE, IMPROVED, CLOVER, SYSTEMS } which;
static const char *const names[] = {"staggered", "improved staggered", "clover, normal equations"};

/* The even-odd operator on one side. Long links are the thin ones, which are SU(3), times -1 / 24.
 */
static kaon_operator *make(const partition_side *side, which system, double mass) {
  kaon_operator *M = NULL, *A = NULL;
  if (system == CLOVER) {
    kaon_dirac_options o = KAON_DIRAC_OPTIONS_INIT;
    o.kappa = 0.13;
    o.csw = 1;
    must(side->ctx, kaon_dirac_create(side->gauge, &o, &M));
    must(side->ctx, kaon_dirac_even_odd(M, NULL, &A));
  } else {
    kaon_staggered_options o = KAON_STAGGERED_OPTIONS_INIT;
    o.mass = mass;
    o.naik_epsilon = system == IMPROVED ? -1 - 1.0 / 24 : 0;
    must(side->ctx,
         kaon_staggered_create(side->gauge, system == IMPROVED ? side->gauge : NULL, &o, &M));
    must(side->ctx, kaon_staggered_even_odd(M, KAON_EVEN, &A));
  }
  kaon_operator_destroy(&M);
  return A;
}

typedef struct {
  kaon_column_report columns[SHIFTS * COLUMNS];
  double norm2[SHIFTS * COLUMNS], b2[COLUMNS];
  int applications;
} outcome;

static void solve(const partition_side *side, which system, double mass, kaon_precision sloppy,
                  const double *sigma, outcome *out) {
  kaon_operator *A = make(side, system, mass);
  const kaon_space *full = system == CLOVER ? kaon_lattice_spinors(side->lattice, KAON_FULL)
                                            : kaon_lattice_staggered(side->lattice, KAON_FULL);
  const kaon_space *even = system == CLOVER ? kaon_lattice_spinors(side->lattice, KAON_EVEN)
                                            : kaon_lattice_staggered(side->lattice, KAON_EVEN);
  kaon_vector *source = NULL, *b = NULL, *x = NULL, view;
  kaon_multishift *m = NULL;
  kaon_multishift_options o = KAON_MULTISHIFT_OPTIONS_INIT;
  kaon_solve_report report = KAON_SOLVE_REPORT_INIT;
  must(side->ctx, kaon_vector_create(side->ctx, full, KAON_DOUBLE, COLUMNS, &source));
  must(side->ctx, kaon_vector_create(side->ctx, even, KAON_DOUBLE, COLUMNS, &b));
  must(side->ctx, kaon_vector_create(side->ctx, even, KAON_DOUBLE, SHIFTS * COLUMNS, &x));
  must(side->ctx, kaon_source_gauss(source, 5));
  must(side->ctx, kaon_vector_view(source, KAON_EVEN, &view));
  must(side->ctx, kaon_vector_copy(b, &view));
  o.normal = system == CLOVER;
  o.sloppy = sloppy;
  must(side->ctx, kaon_multishift_create(A, SHIFTS, sigma, &o, &m));
  must_refuse(side->ctx, KAON_ERR_ARGUMENT, kaon_multishift_set_tol(m, none));
  must(side->ctx, kaon_multishift_set_tol(m, tols));
  must(side->ctx, kaon_multishift_solve(m, b, x, out->columns, &report));
  must(side->ctx, kaon_vector_norm2(x, out->norm2));
  must(side->ctx, kaon_vector_norm2(b, out->b2));
  out->applications = report.applications;
  must_refuse(side->ctx, KAON_ERR_SHAPE, kaon_multishift_solve(m, x, x, NULL, NULL));
  kaon_multishift_destroy(&m);
  kaon_vector_destroy(&source);
  kaon_vector_destroy(&b);
  kaon_vector_destroy(&x);
  kaon_operator_destroy(&A);
}

/* |x - x'| <= (|r| + |r'|) / least, where least is a lower bound of the operator's eigenvalues. */
static void compare(const outcome *one, const outcome *ranks, const double *sigma, double least) {
  double residual = 0, difference = 0;
  int steps = 0;
  for (int k = 0; k < SHIFTS * COLUMNS; k++) {
    const double apart = fabs(sqrt(one->norm2[k]) - sqrt(ranks->norm2[k]));
    const double tol_k = tols[k / COLUMNS];
    const double bound = 2.2 * tol_k * sqrt(one->b2[k % COLUMNS]) / (least + sigma[k / COLUMNS]);
    const int more = abs(one->columns[k].iterations - ranks->columns[k].iterations);
    assert_int_equal(ranks->columns[k].reason, KAON_CONVERGED);
    residual = larger(residual, ranks->columns[k].residual / tol_k);
    difference = larger(difference, apart / bound);
    steps = more > steps ? more : steps;
    assert_in_range(more, 0, 2 + one->columns[k].iterations / 50);
  }
  printf("    %d applications, on one rank %d; a shift's steps differ by %d at most\n",
         ranks->applications, one->applications, steps);
  test_below("residual of the worst shift, of its tolerance", residual, 1.1);
  test_below("difference of |x| to one rank's, of what residuals allow", difference, 1);
}

static void shifts_are_those_of_one_rank(void **state) {
  const double mass = 0.05;
  partition_pair pair = ranks_pair(extents, 0.3, 6);
  double sigma[SHIFTS];
  (void)state;
  for (int i = 0; i < SHIFTS; i++) sigma[(5 * i + 3) % SHIFTS] = 1e-3 * pow(2, i);
  for (int system = NAIVE; system < SYSTEMS; system++)
    for (int sloppy = KAON_DOUBLE; sloppy <= KAON_HALF; sloppy++) {
      static outcome one, ranks;
      printf("  %s, double/%s\n", names[system], precision_names[sloppy]);
      solve(&pair.whole, (which)system, mass, (kaon_precision)sloppy, sigma, &one);
      solve(&pair.part, (which)system, mass, (kaon_precision)sloppy, sigma, &ranks);
      compare(&one, &ranks, sigma, system == CLOVER ? 0 : 4 * mass * mass);
    }
  partition_close(&pair);
}

/* y = A^(-1/4) b by coefficients that the first rank reads for all. */
static void root(const partition_side *side, kaon_rational *r, double norm2[COLUMNS], double *b2) {
  kaon_operator *A = make(side, NAIVE, 0.1);
  kaon_rational_function *f = NULL;
  kaon_multishift_options o = KAON_MULTISHIFT_OPTIONS_INIT;
  kaon_vector *source = NULL, *b = NULL, *y = NULL, view;
  const kaon_space *even = kaon_lattice_staggered(side->lattice, KAON_EVEN);
  o.tol = tol;
  must_refuse(side->ctx, KAON_ERR_IO, kaon_rational_read(side->ctx, "/not/there", r));
  must(side->ctx,
       kaon_rational_read(side->ctx,
                          KAON_SOURCE_DIR "/tests/reference/rational_inverse_fourth_root.txt", r));
  must(side->ctx, kaon_vector_create(side->ctx, kaon_lattice_staggered(side->lattice, KAON_FULL),
                                     KAON_DOUBLE, COLUMNS, &source));
  must(side->ctx, kaon_vector_create(side->ctx, even, KAON_DOUBLE, COLUMNS, &b));
  must(side->ctx, kaon_vector_create(side->ctx, even, KAON_DOUBLE, COLUMNS, &y));
  must(side->ctx, kaon_source_gauss(source, 5));
  must(side->ctx, kaon_vector_view(source, KAON_EVEN, &view));
  must(side->ctx, kaon_vector_copy(b, &view));
  must(side->ctx, kaon_rational_create(A, r, &o, &f));
  must(side->ctx, kaon_rational_apply(f, b, y, NULL, NULL));
  must(side->ctx, kaon_vector_norm2(y, norm2));
  must(side->ctx, kaon_vector_norm2(b, b2));
  kaon_rational_destroy(&f);
  kaon_vector_destroy(&source);
  kaon_vector_destroy(&b);
  kaon_vector_destroy(&y);
  kaon_operator_destroy(&A);
}

/* Each is off by tol sum |residue| / (lo + pole) |b| at most. */
static void roots_are_those_of_one_rank(void **state) {
  partition_pair pair = ranks_pair(extents, 0.3, 6);
  kaon_rational r;
  double one[COLUMNS], ranks[COLUMNS], b2[COLUMNS], sum = 0;
  (void)state;
  root(&pair.whole, &r, one, b2);
  root(&pair.part, &r, ranks, b2);
  for (int i = 0; i < r.terms; i++) sum += fabs(r.residue[i]) / (r.lo + r.pole[i]);
  for (int k = 0; k < COLUMNS; k++)
    test_below("difference of |A^(-1/4) b| to one rank's",
               fabs(sqrt(one[k]) - sqrt(ranks[k])) / sqrt(b2[k]), 2.2 * tol * sum);
  partition_close(&pair);
}

static const struct CMUnitTest multishift_on_ranks[] = {
    cmocka_unit_test(shifts_are_those_of_one_rank),
    cmocka_unit_test(roots_are_those_of_one_rank),
};

RANKS_MAIN(multishift_on_ranks)
