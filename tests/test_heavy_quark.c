/* test_heavy_quark.c - the heavy-quark residual sqrt(mean over sites of |r_x|^2 / |x_x|^2): the
 * kernel against a slow reference, and solves that stop by it, by |r| / |b|, or by both. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

#include <kaon/kaon.h>

#include "blas/blas.h"
#include "lib/math/steps/stopping.h"
#include "solvers/engine/method.h"
#include "tests/util/shell_operator.h"
#include "tests/util/staggered_case.h"
#include "tests/util/test_util.h"

static const int extents[4] = {4, 4, 4, 8};

/* Of column k, from the caller's arrays: the sum over sites with x != 0, and the number of these. */
static void slow_sum(const kaon_vector *r, const kaon_vector *x, int k, int64_t all, int reals,
                     double sum[2]) {
  double *hr = calloc((size_t)(all * reals), sizeof *hr);
  double *hx = calloc((size_t)(all * reals), sizeof *hx);
  sum[0] = sum[1] = 0;
  assert_int_equal(kaon_vector_export(r, k, hr, KAON_BASIS_UKQCD), KAON_OK);
  assert_int_equal(kaon_vector_export(x, k, hx, KAON_BASIS_UKQCD), KAON_OK);
  for (int64_t site = 0; site < all; site++) {
    double r2 = 0, x2 = 0;
    for (int c = 0; c < reals; c++) {
      r2 += hr[site * reals + c] * hr[site * reals + c];
      x2 += hx[site * reals + c] * hx[site * reals + c];
    }
    if (x2 == 0) continue;
    sum[0] += r2 / x2;
    sum[1] += 1;
  }
  free(hr);
  free(hx);
}

/* ---- the kernel ---- */

/* Values of half are read in float by the reference, in double by the kernel: their squares differ
 * by 2^-23, and so do ratios, twice. Otherwise both add n squares a site, then the sites, in any
 * order. */
static void kernel_on(int machine) {
  enum { THREE = 3 };
  staggered_case s;
  if (!staggered_open(&s, machine, extents, 1, 0)) return;
  kaon_context *ctx = s.c.ctx;
  const int64_t sites = s.c.lattice->volume;
  for (int precision = KAON_DOUBLE; precision <= KAON_HALF; precision++)
    for (int parity = KAON_EVEN; parity <= KAON_FULL; parity++) {
      kaon_vector *r = staggered_vector(&s, (kaon_parity)parity, (kaon_precision)precision, THREE);
      kaon_vector *x = staggered_vector(&s, (kaon_parity)parity, (kaon_precision)precision, THREE);
      ref_complex **hr = staggered_columns(&s, (kaon_parity)parity, THREE, 3);
      ref_complex **hx = staggered_columns(&s, (kaon_parity)parity, THREE, 4);
      for (int c = 0; c < 3; c++) hx[1][c] = hr[2][c] = hx[2][c] = 0; /* site 0, which is even */
      staggered_import(&s, r, hr);
      staggered_import(&s, x, hx);
      kaon_scalars *scalars = NULL;
      kaon_column_state *host = calloc(THREE, sizeof *host);
      kaon_pass pass = KAON_PASS_INIT;
      must(ctx, kaon_scalars_create(ctx, THREE, &scalars));
      pass.scalars = scalars;
      must(ctx, kaon_blas_site_ratio(r, x, KAON_S_TRUE, &pass));
      must(ctx, kaon_scalars_read(scalars, host));
      for (int k = 0; k < THREE; k++) {
        const double bound = precision == KAON_HALF ? 0x1p-21 : (double)(20 + sites) * 0x1p-53;
        const double *sum = host[k].slot[KAON_S_TRUE];
        double slow[2];
        slow_sum(r, x, k, sites, 6, slow);
        assert_true(fabs(sum[0] - slow[0]) <= bound * slow[0]);
        assert_true(sum[1] == slow[1]);
      }
      free(host);
      kaon_scalars_destroy(&scalars);
      case_free_columns(hr, THREE);
      case_free_columns(hx, THREE);
      kaon_vector_destroy(&r);
      kaon_vector_destroy(&x);
    }
  staggered_close(&s);
}

static void sums_are_those_of_the_reference(void **state) {
  (void)state;
  for (int machine = KAON_ISA_SCALAR; machine <= MACHINE_LAST; machine++) kernel_on(machine);
}

/* ---- solves ---- */

typedef struct {
  staggered_case s;
  kaon_operator *A;
  kaon_vector *b, *x, *r;
  kaon_parity parity;
} fixture;

static int open_system(fixture *f, int machine, kaon_parity parity, kaon_precision precision) {
  if (!staggered_open(&f->s, machine, extents, 1, 0)) return 0;
  kaon_operator *M =
      staggered_operator(&f->s, 0.2, 0, KAON_PHASES_MILC, precision, KAON_RECONSTRUCT_18);
  f->A = M;
  if (parity != KAON_FULL) {
    must(f->s.c.ctx, kaon_staggered_even_odd(M, parity, &f->A));
    kaon_operator_destroy(&M);
  }
  f->parity = parity;
  f->b = staggered_vector(&f->s, parity, precision, 1);
  f->x = staggered_vector(&f->s, parity, precision, 1);
  f->r = staggered_vector(&f->s, parity, precision, 1);
  ref_complex **hb = calloc(1, sizeof *hb); /* a point: |x| falls with the distance */
  hb[0] = calloc(staggered_size(&f->s), sizeof **hb);
  hb[0][0] = 1;
  staggered_import(&f->s, f->b, hb);
  case_free_columns(hb, 1);
  return 1;
}

static void close_system(fixture *f) {
  kaon_vector_destroy(&f->b);
  kaon_vector_destroy(&f->x);
  kaon_vector_destroy(&f->r);
  kaon_operator_destroy(&f->A);
  staggered_close(&f->s);
}

/* One solve; *heavy: the residual by the reference. */
static kaon_column_report solve(fixture *f, const kaon_solver_options *o, double *heavy) {
  kaon_context *ctx = f->s.c.ctx;
  kaon_solver *solver = NULL;
  kaon_column_report report;
  const double sites = (double)f->s.c.lattice->volume / (f->parity == KAON_FULL ? 1 : 2);
  must(ctx, kaon_vector_zero(f->x));
  must(ctx, kaon_solver_create(f->A, 1, o, &solver));
  must(ctx, kaon_solver_solve(solver, f->b, f->x, &report, NULL));
  kaon_solver_destroy(&solver);
  must(ctx, kaon_operator_apply(f->A, KAON_PLAIN, f->x, f->r));
  must(ctx, kaon_vector_axpy(-1, 0, f->b, f->r));
  double sum[2];
  slow_sum(f->r, f->x, 0, f->s.c.lattice->volume, 6, sum);
  *heavy = sqrt((sum[0] + (sites - sum[1])) / sites);
  return report;
}

static kaon_solver_options options_of(kaon_method method, kaon_precision sloppy, double tol,
                                      double heavy_quark_tol) {
  kaon_solver_options o = KAON_SOLVER_OPTIONS_INIT;
  o.method = method;
  o.sloppy = sloppy;
  o.tol = tol;
  o.heavy_quark_tol = heavy_quark_tol;
  return o;
}

/* Both residuals as reported, the heavy one also by the reference. */
static void stops_of(fixture *f, kaon_method method, kaon_precision sloppy) {
  enum { OFF, LOOSE, HEAVY, BOTH, KINDS };
  static const double tols[KINDS] = {1e-6, 1e-6, 0, 1e-9}, heavies[KINDS] = {0, 1, 1e-7, 1e-4};
  kaon_column_report r[KINDS];
  double heavy[KINDS];
  for (int k = 0; k < KINDS; k++) {
    const kaon_solver_options o = options_of(method, sloppy, tols[k], heavies[k]);
    r[k] = solve(f, &o, &heavy[k]);
    printf("  %s, %s, tol %.0e, heavy %.0e: %d steps, %.1e, %.1e (%.1e)\n",
           kaon_method_name(method), precision_names[sloppy], tols[k], heavies[k], r[k].iterations,
           r[k].residual, r[k].heavy_quark, heavy[k]);
    assert_int_equal(r[k].reason, KAON_CONVERGED);
    if (tols[k] > 0) assert_true(r[k].residual <= 1.1 * tols[k]);
    if (heavies[k] == 0) assert_true(r[k].heavy_quark == 0);
    if (heavies[k] == 0) continue;
    assert_true(r[k].heavy_quark <= 1.1 * heavies[k]);
    assert_true(fabs(heavy[k] - r[k].heavy_quark) <= 1e-3 * heavy[k]);
  }
  assert_true(heavy[OFF] > 1e-7 && r[HEAVY].iterations > r[OFF].iterations);
  assert_int_equal(r[LOOSE].iterations, r[OFF].iterations);
  assert_true(heavy[LOOSE] == heavy[OFF]);
}

static void columns_stop_by_either_or_both(void **state) {
  fixture f;
  (void)state;
  if (open_system(&f, MACHINE_CPU, KAON_EVEN, KAON_DOUBLE)) {
    for (int sloppy = KAON_DOUBLE; sloppy <= KAON_HALF; sloppy++)
      stops_of(&f, KAON_CG, (kaon_precision)sloppy);
    stops_of(&f, KAON_BLOCKCG, KAON_DOUBLE);
    close_system(&f);
  }
  if (open_system(&f, MACHINE_CPU, KAON_FULL, KAON_DOUBLE)) {
    stops_of(&f, KAON_CGNR, KAON_SINGLE);
    stops_of(&f, KAON_GCR, KAON_DOUBLE);
    close_system(&f);
  }
}

/* ---- solves through an even-odd reduction ---- */

enum { COLUMNS = 2 };

typedef struct {
  staggered_case s;
  int reals; /* of a site */
  kaon_operator *M, *R;
  kaon_vector *b, *x, *r;    /* of M */
  kaon_vector *rb, *rx, *rr; /* of R, on even sites */
} reduced;

static kaon_vector *vector_of(reduced *f, kaon_parity parity) {
  return f->reals == 24 ? case_vector(&f->s.c, parity, KAON_DOUBLE, COLUMNS)
                        : staggered_vector(&f->s, parity, KAON_DOUBLE, COLUMNS);
}

static void open_reduced(reduced *f, int wilson) {
  kaon_context *ctx = f->s.c.ctx;
  f->reals = wilson ? 24 : 6;
  f->b = vector_of(f, KAON_FULL), f->x = vector_of(f, KAON_FULL), f->r = vector_of(f, KAON_FULL);
  f->rb = vector_of(f, KAON_EVEN), f->rx = vector_of(f, KAON_EVEN);
  f->rr = vector_of(f, KAON_EVEN);
  if (wilson) {
    ref_complex **hb = case_random_columns(&f->s.c, COLUMNS, 5);
    f->M = case_dirac(&f->s.c, 0.12, 1, 1, KAON_DOUBLE, KAON_RECONSTRUCT_18);
    f->R = case_even_odd(&f->s.c, f->M, KAON_EVEN_ODD_SYMMETRIC, KAON_EVEN, 0);
    case_import(&f->s.c, f->b, hb);
    case_free_columns(hb, COLUMNS);
  } else {
    ref_complex **hb = staggered_columns(&f->s, KAON_FULL, COLUMNS, 5);
    f->M = staggered_operator(&f->s, 0.2, 0, KAON_PHASES_MILC, KAON_DOUBLE, KAON_RECONSTRUCT_18);
    must(ctx, kaon_staggered_even_odd(f->M, KAON_EVEN, &f->R));
    staggered_import(&f->s, f->b, hb);
    case_free_columns(hb, COLUMNS);
  }
}

static void close_reduced(reduced *f) {
  kaon_vector **v[] = {&f->b, &f->x, &f->r, &f->rb, &f->rx, &f->rr};
  for (size_t i = 0; i < sizeof v / sizeof *v; i++) kaon_vector_destroy(v[i]);
  kaon_operator_destroy(&f->R);
  kaon_operator_destroy(&f->M);
}

/* The even sites of x. */
static void keep_even(reduced *f) {
  double *host = calloc((size_t)(f->s.c.lattice->volume * f->reals), sizeof *host);
  for (int k = 0; k < COLUMNS; k++) {
    must(f->s.c.ctx, kaon_vector_export(f->x, k, host, KAON_BASIS_UKQCD));
    must(f->s.c.ctx, kaon_vector_import(f->rx, k, host, KAON_BASIS_UKQCD));
  }
  free(host);
}

/* That of A x = b in column k; kaon_vector_heavy_quark() gives the same, rounded elsewhere. */
static double residual_of(reduced *f, kaon_operator *A, const kaon_vector *b, const kaon_vector *x,
                          kaon_vector *r, int k) {
  const int64_t all = f->s.c.lattice->volume;
  double sum[2], given[COLUMNS];
  must(f->s.c.ctx, kaon_operator_apply(A, KAON_PLAIN, x, r));
  must(f->s.c.ctx, kaon_vector_axpy(-1, 0, b, r));
  slow_sum(r, x, k, all, f->reals, sum);
  assert_true(sum[1] == (double)all / (A == f->M ? 1 : 2)); /* no x is 0 */
  must(f->s.c.ctx, kaon_vector_heavy_quark(r, x, given));
  const double mean = sum[0] / sum[1];
  assert_true(fabs(given[k] * given[k] - mean) <= (double)(50 + all) * 0x1p-53 * mean);
  return sqrt(mean);
}

/* Stop FULL: M's residual; REDUCED: R's. x is the solution in double, and r has an error of about
 * 2^-50 |b|, far below r. */
static void through(reduced *f, kaon_method method, kaon_stop stop) {
  kaon_solver_options o = options_of(method, KAON_SINGLE, 0, 1e-8);
  kaon_column_report report[COLUMNS];
  kaon_solver *solver = NULL;
  o.stop = stop;
  must(f->s.c.ctx, kaon_vector_zero(f->x));
  must(f->s.c.ctx, kaon_solver_create(f->R, COLUMNS, &o, &solver));
  must(f->s.c.ctx, kaon_solver_solve(solver, f->b, f->x, report, NULL));
  must(f->s.c.ctx, kaon_operator_prepare(f->R, f->b, f->rb));
  keep_even(f);
  for (int k = 0; k < COLUMNS; k++) {
    const double heavy = stop == KAON_STOP_FULL ? residual_of(f, f->M, f->b, f->x, f->r, k)
                                                : residual_of(f, f->R, f->rb, f->rx, f->rr, k);
    printf("  %s, stop %s: %d steps, %.1e, %.2e (%.2e)\n", kaon_method_name(method),
           stop == KAON_STOP_FULL ? "full" : "reduced", report[k].iterations, report[k].residual,
           report[k].heavy_quark, heavy);
    assert_int_equal(report[k].reason, KAON_CONVERGED);
    assert_true(report[k].heavy_quark <= 1.1e-8);
    assert_true(fabs(heavy - report[k].heavy_quark) <= 1e-4 * heavy);
  }
  kaon_solver_destroy(&solver);
}

static void reductions_take_the_residual_that_stop_names(void **state) {
  reduced f = {0};
  (void)state;
  if (!staggered_open(&f.s, MACHINE_CPU, extents, 1, 0)) return;
  for (int wilson = 0; wilson < 2; wilson++) {
    open_reduced(&f, wilson);
    through(&f, wilson ? KAON_BICGSTAB : KAON_CG, KAON_STOP_FULL);
    through(&f, wilson ? KAON_BICGSTAB : KAON_CG, KAON_STOP_REDUCED);
    close_reduced(&f);
  }
  staggered_close(&f.s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sums_are_those_of_the_reference),
      cmocka_unit_test(columns_stop_by_either_or_both),
      cmocka_unit_test(reductions_take_the_residual_that_stop_names),
  };
  return test_main(tests, NULL, NULL);
}
