/* rational.c - rational functions of an operator (kaon/multishift.h): y = constant b + sum_i
 * residue_i (A + pole_i)^-1 b by CG of several shifts; Zolotarev's coefficients. */
#include <kaon/multishift.h>

#include <math.h>
#include <stdlib.h>

#include "lib/core/output.h"
#include "lib/core/entry.h"
#include "solvers/shifts/shifted.h"

/* ---- Zolotarev ---- */

/* sn^2 / cn^2 of u = part K for the complementary modulus k', 0 < part <= 1/2. Amplitudes come from
 * the arithmetic-geometric mean (Abramowitz, Stegun 16.4), with the quarter period K = pi / (2
 * agm). */
static long double tangent2(long double part, long double complement) {
  enum { MOST = 40 };
  long double a[MOST + 1], c[MOST + 1], b = complement;
  int n = 0;
  a[0] = 1;
  c[0] = sqrtl((1 - complement) * (1 + complement));
  while (n < MOST && c[n] > 1e-20L * a[n]) {
    a[n + 1] = (a[n] + b) / 2;
    c[n + 1] = (a[n] - b) / 2;
    b = sqrtl(a[n] * b);
    n++;
  }
  /* 2^n a_n u with u = part pi / (2 a_n) */
  long double phi = ldexpl(part * acosl(-1) / 2, n);
  for (; n > 0; n--) phi = (phi + asinl(c[n] / a[n] * sinl(phi))) / 2;
  return tanl(phi) * tanl(phi);
}

/* c_l at l K / (2 n), l = 1 to 2 n - 1, with x in units of lo. The upper half uses the mirror image
 * c(K - u) = 1 / (k'^2 c(u)), since cn is near 0 there. */
static long double node(int l, int n, long double complement) {
  if (l <= n) return tangent2((long double)l / (2 * n), complement);
  const long double mirror = tangent2((long double)(2 * n - l) / (2 * n), complement);
  return 1 / (complement * complement * mirror);
}

/* sqrt(y) prod (y + c_2l) / prod (y + c_2l-1), factor by factor. */
static long double product(int n, const long double *c, long double y) {
  long double g = sqrtl(y) / (y + c[1]);
  for (int l = 1; l < n; l++) g *= (y + c[2 * l]) / (y + c[2 * l + 1]);
  return g;
}

kaon_status kaon_rational_inverse_root(int terms, double lo, double hi, kaon_rational *r) {
  KAON_ENTER(NULL, r);
  long double c[2 * KAON_MULTISHIFT_MAX + 1];
  if (terms < 1 || terms > KAON_MULTISHIFT_MAX)
    return kaon_fail(NULL, KAON_ERR_ARGUMENT, "rational: %d terms asked for, 1 to %d are offered",
                     terms, (int)KAON_MULTISHIFT_MAX);
  if (!isfinite(lo) || !isfinite(hi) || !(lo > 0 && hi > lo && hi / lo <= 1e16))
    return kaon_fail(NULL, KAON_ERR_ARGUMENT,
                     "rational: interval %g to %g; 0 < lo < hi and hi / lo of 1e16 at most are "
                     "needed",
                     lo, hi);
  const int n = terms;
  const long double complement = sqrtl((long double)lo / hi);
  for (int l = 1; l < 2 * n; l++) c[l] = node(l, n, complement);
  /* the extrema are at y = 1 + k^2 sn^2 / dn^2 = (1 + c) / (1 + k'^2 c); these are the first two */
  const long double k2 = complement * complement;
  const long double g0 = product(n, c, 1), g1 = product(n, c, (1 + c[1]) / (1 + k2 * c[1]));
  const long double scale = 2 / (g0 + g1);
  *r = (kaon_rational){
      .terms = n, .power = -0.5, .lo = lo, .hi = hi, .error = (double)fabsl((g1 - g0) / (g1 + g0))};
  for (int i = 0; i < n; i++) {
    const long double pole = c[2 * i + 1];
    long double residue = scale * sqrtl(lo);
    for (int l = 1; l < n; l++) {
      const int other = 2 * (l <= i ? l - 1 : l) + 1; /* all odd ones except its own */
      residue *= (c[2 * l] - pole) / (c[other] - pole);
    }
    r->residue[i] = (double)residue;
    r->pole[i] = (double)(lo * pole);
  }
  return KAON_OK;
}

/* ---- application to an operator ---- */

struct kaon_rational_function {
  kaon_context *ctx;
  int references, at_work; /* at_work: kaon_begin_work */
  kaon_rational r;
  kaon_multishift *solver;
  kaon_operator *A;
  kaon_vector *x;          /* as in kaon_multishift_solve; NULL before the first application */
  kaon_vector *term, *sum; /* one solution, and the sum of the terms */
};

/* Checks the coefficients; kaon_multishift_create checks the poles. */
static kaon_status check_coefficients(const kaon_operator *A, const kaon_rational *r) {
  if (r->terms < 1 || r->terms > KAON_MULTISHIFT_MAX)
    return kaon_fail(A->ctx, KAON_ERR_ARGUMENT, "rational: %d terms; give 1 to %d", r->terms,
                     (int)KAON_MULTISHIFT_MAX);
  for (int i = 0; i < r->terms; i++)
    if (!isfinite(r->constant) || !isfinite(r->residue[i]))
      return kaon_fail(A->ctx, KAON_ERR_ARGUMENT,
                       "rational: constant %g, residue %g of term %d; give finite numbers",
                       r->constant, r->residue[i], i);
  return KAON_OK;
}

static kaon_status take(kaon_rational_function *f, kaon_operator *A,
                        const kaon_multishift_options *options) {
  KAON_TRY(kaon_multishift_create(A, f->r.terms, f->r.pole, options, &f->solver));
  KAON_TRY(kaon_vector_create(f->ctx, A->space, A->precision, f->r.terms, &f->x));
  KAON_TRY(kaon_vector_create(f->ctx, A->space, A->precision, 1, &f->term));
  return kaon_vector_create(f->ctx, A->space, A->precision, 1, &f->sum);
}

kaon_status kaon_rational_create(kaon_operator *A, const kaon_rational *r,
                                 const kaon_multishift_options *options,
                                 kaon_rational_function **function) {
  if (function != NULL) *function = NULL;
  KAON_ENTER(KAON_OF(A), A, r, function);
  KAON_TRY(kaon_agree(A->ctx, check_coefficients(A, r)));
  kaon_rational_function *f = calloc(1, sizeof *f);
  kaon_status status = KAON_AGREE_MEMORY(A->ctx, f != NULL, "rational: out of host memory");
  if (status != KAON_OK) {
    free(f);
    return status;
  }
  f->ctx = A->ctx;
  f->references = 1;
  f->A = A;
  f->r = *r;
  kaon_context_retain(f->ctx);
  status = take(f, A, options);
  *function = f;
  if (status != KAON_OK) kaon_rational_destroy(function);
  return status;
}

void kaon_rational_destroy(kaon_rational_function **function) {
  if (function == NULL || *function == NULL) return;
  kaon_rational_function *f = *function;
  kaon_context *ctx = f->ctx;
  *function = NULL;
  if (--f->references > 0) return;
  kaon_multishift_destroy(&f->solver);
  kaon_vector_destroy(&f->x);
  kaon_vector_destroy(&f->term);
  kaon_vector_destroy(&f->sum);
  free(f);
  kaon_context_release(ctx);
}

/* Column j of y, from the solutions in x. */
static kaon_status add_up(kaon_rational_function *f, const kaon_vector *b, int j, kaon_vector *y) {
  KAON_TRY(kaon_vector_copy_columns(f->sum, 0, b, j, 1));
  KAON_TRY(kaon_blas_scale(KAON_NUMBER(f->r.constant), f->sum, NULL));
  for (int i = 0; i < f->r.terms; i++) {
    KAON_TRY(kaon_vector_copy_columns(f->term, 0, f->x, i * b->nrhs + j, 1));
    KAON_TRY(kaon_blas_axpy(KAON_NUMBER(f->r.residue[i]), f->term, f->sum, NULL));
  }
  return kaon_vector_copy_columns(y, j, f->sum, 0, 1);
}

/* Allocates x for the right-hand sides. */
static kaon_status allocate_solutions(kaon_rational_function *f, int columns) {
  const int all = f->r.terms * columns;
  if (f->x != NULL && f->x->nrhs == all) return KAON_OK;
  kaon_vector_destroy(&f->x);
  return kaon_vector_create(f->ctx, f->A->space, f->A->precision, all, &f->x);
}

static kaon_status check_vectors(const kaon_rational_function *f, const kaon_vector *b,
                                 const kaon_vector *y) {
  if (b == NULL || y == NULL)
    return kaon_fail(f->ctx, KAON_ERR_ARGUMENT, "rational: b and y are needed");
  if (b->space != f->A->space || y->space != b->space || y->nrhs != b->nrhs)
    return kaon_fail(f->ctx, KAON_ERR_SHAPE,
                     "rational: b and y must be of the operator's space and have equal columns, "
                     "not %d and %d",
                     b->nrhs, y->nrhs);
  if (b->precision != f->A->precision || y->precision != f->A->precision)
    return kaon_fail(f->ctx, KAON_ERR_PRECISION,
                     "rational: b and y have precisions %d and %d, the operator %d (0 double, 1 "
                     "single)",
                     (int)b->precision, (int)y->precision, (int)f->A->precision);
  if (b == y) return kaon_fail(f->ctx, KAON_ERR_ALIAS, "rational: b and y are one vector");
  return KAON_OK;
}

static kaon_status apply(kaon_rational_function *f, const kaon_vector *b, kaon_vector *y,
                         kaon_column_report *columns_out, kaon_solve_report *report) {
  kaon_solve_report made = KAON_SOLVE_REPORT_INIT;
  const double begin = kaon_seconds();
  KAON_TRY(kaon_agree(f->ctx, check_vectors(f, b, y)));
  kaon_status status = kaon_agree(f->ctx, allocate_solutions(f, b->nrhs));
  if (status == KAON_OK) status = kaon_multishift_solve(f->solver, b, f->x, columns_out, &made);
  for (int j = 0; j < b->nrhs && status == KAON_OK; j++) status = add_up(f, b, j, y);
  made.seconds = kaon_seconds() - begin;
  if (status == KAON_OK) kaon_output_fill(report, &made, sizeof made);
  return status;
}

kaon_status kaon_rational_apply(kaon_rational_function *function, const kaon_vector *b,
                                kaon_vector *y, kaon_column_report *columns_out,
                                kaon_solve_report *report) {
  KAON_ENTER(KAON_OF(function), function);
  KAON_TRY(kaon_output_check(function->ctx, "kaon_solve_report", report));
  KAON_TRY(kaon_begin_work(function->ctx, &function->at_work, "rational", "function"));
  function->references++; /* a function of the application may destroy it */
  const kaon_status status = apply(function, b, y, columns_out, report);
  function->at_work = 0;
  kaon_rational_destroy(&function);
  return status;
}
