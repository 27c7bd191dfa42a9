/* shifted_create.c - the public functions of CG of several shifts (kaon/multishift.h). A solver of
 * the engine serves as many right-hand sides as the last solve had. */
#include <math.h>
#include <stdlib.h>

#include <kaon/context.h>

#include "lib/core/entry.h"
#include "lib/core/output.h"
#include "lib/core/threads.h"
#include "solvers/shifts/shifted.h"

static kaon_status take_options(const kaon_operator *A, int n, const double *sigma,
                                const kaon_multishift_options *options,
                                kaon_multishift_options *own) {
  KAON_TRY(kaon_operator_check_square(A, "multishift"));
  if (sigma == NULL) return kaon_fail(A->ctx, KAON_ERR_ARGUMENT, "multishift: the shifts are NULL");
  if (n < 1 || n > KAON_MULTISHIFT_MAX)
    return kaon_fail(A->ctx, KAON_ERR_ARGUMENT,
                     "multishift: %d shifts were asked for, but 1 to %d are supported", n,
                     (int)KAON_MULTISHIFT_MAX);
  for (int i = 0; i < n; i++)
    if (!isfinite(sigma[i]))
      return kaon_fail(A->ctx, KAON_ERR_ARGUMENT, "multishift: shift %d is %g, no number", i,
                       sigma[i]);
  kaon_argument given[1 + KAON_MULTISHIFT_MAX] = {kaon_whole("number of shifts", n)};
  for (int i = 0; i < n; i++) given[1 + i] = kaon_real("a shift", sigma[i]);
  KAON_TRY(
      kaon_options_share(A->ctx, KAON_OK, KAON_OPTIONS_MULTISHIFT, options, own, given, 1 + n));
  if (A->precision == KAON_HALF)
    return kaon_fail(A->ctx, KAON_ERR_UNSUPPORTED,
                     "multishift: an operator in half precision is not supported; make it in "
                     "double or single, with sloppy=half");
  return KAON_OK;
}

/* ---- tolerances ---- */

static kaon_status check_tolerances(const kaon_multishift *f, const double *tol) {
  double least = 0;
  for (int i = 0; tol != NULL && i < f->n; i++) {
    const int usable = isgreaterequal(tol[i], 1e-300) && islessequal(tol[i], 1.0);
    if (!usable && tol[i] != 0)
      return kaon_fail(f->ctx, KAON_ERR_ARGUMENT,
                       "multishift: tolerance %d is %g, but must be 1e-300 to 1, or 0 to go as far "
                       "as the smallest shift",
                       i, tol[i]);
    if (f->sigma[i] == f->least) least = fmax(least, tol[i]);
  }
  if (tol == NULL || least > 0) return KAON_OK;
  return kaon_fail(f->ctx, KAON_ERR_ARGUMENT,
                   "multishift: the smallest shift has tolerance 0, but the others go as far as it "
                   "does; give it a tolerance above 0");
}

static double smaller(double least, double tol) {
  return tol > 0 && (least == 0 || tol < least) ? tol : least;
}

/* tol NULL: the options' for every shift. */
static void take_tolerances(kaon_multishift *f, const double *tol) {
  f->tol_least = f->finest = 0;
  f->follows = 0;
  for (int i = 0; i < f->n; i++) {
    f->tol[i] = tol != NULL ? tol[i] : f->options.tol;
    f->finest = smaller(f->finest, f->tol[i]);
    if (f->sigma[i] == f->least) f->tol_least = smaller(f->tol_least, f->tol[i]);
    if (f->tol[i] == 0) f->follows = 1;
  }
}

/* Steps of processes that go beyond the least shift have one more operation, so recordings of the
 * others are not valid for them. */
static void forget_recordings(kaon_solver *s) {
  s->replay.recorded.form = KAON_ISSUE_AUTO;
  for (int l = 0; l < s->shifts->levels; l++)
    s->shifts->level[l].replay.recorded.form = KAON_ISSUE_AUTO;
}

static void use_tolerances(kaon_multishift *f, const double *tol) {
  const int before = f->beyond;
  take_tolerances(f, tol);
  f->beyond = f->finest < f->tol_least;
  if (f->solver == NULL) return;
  f->solver->options.tol = f->finest;
  if (f->beyond != before) forget_recordings(f->solver);
}

static kaon_status set_tolerances(kaon_multishift *f, const double *tol) {
  kaon_argument given[1 + KAON_MULTISHIFT_MAX];
  int n = 0;
  given[n++] = kaon_whole("tolerances given", tol != NULL);
  for (int i = 0; tol != NULL && i < f->n; i++) given[n++] = kaon_real("a tolerance", tol[i]);
  KAON_TRY(kaon_same(f->ctx, check_tolerances(f, tol), "multishift", given, n));
  use_tolerances(f, tol);
  return KAON_OK;
}

kaon_status kaon_multishift_set_tol(kaon_multishift *solver, const double *tol) {
  KAON_ENTER(KAON_OF(solver), solver);
  KAON_TRY(kaon_begin_work(solver->ctx, &solver->at_work, "multishift", "solver"));
  const kaon_status status = set_tolerances(solver, tol);
  solver->at_work = 0;
  return status;
}

/* ---- what is added to a solver ---- */

/* Unit roundoffs; half: half a unit of a site's largest value. */
static double roundoff(kaon_precision precision) {
  return precision == KAON_DOUBLE ? 0x1p-53 : precision == KAON_SINGLE ? 0x1p-24 : 0x1p-16;
}

/* The level in A's precision, if the solver's vectors are in a coarser one. */
static kaon_status add_outer_level(kaon_solver *s) {
  kaon_multishift *f = s->shifts;
  kaon_shift_level *w = &f->level[f->levels++];
  const kaon_operator *A = s->system;
  *w = (kaon_shift_level){.A = s->system, .r = s->outer.r, .unit = roundoff(A->precision)};
  KAON_TRY(kaon_vector_create(s->ctx, A->space, A->precision, s->columns, &w->p));
  KAON_TRY(kaon_vector_create(s->ctx, A->space, A->precision, s->columns, &w->q));
  return kaon_vector_create(s->ctx, A->space, A->precision, kaon_shifted_columns(s), &w->P);
}

/* A level on the solver's vectors. */
static kaon_shift_level *add_level(kaon_solver *s, kaon_precision precision) {
  kaon_multishift *f = s->shifts;
  kaon_shift_level *w = &f->level[f->levels++];
  *w = (kaon_shift_level){
      .r = s->r, .p = s->work[0], .q = s->work[1], .P = s->work[2], .unit = roundoff(precision)};
  return w;
}

/* A in half on vectors in single. Operators of an application are in single even then. */
static kaon_status half_operator(const kaon_solver *s, kaon_operator **A) {
  KAON_AUTO(kaon_operator_destroy) kaon_operator *half = NULL;
  KAON_TRY(s->A->ops->twin(s->A, KAON_HALF, s->options.reconstruct, &half));
  return kaon_shifted_operator(half, 0, NULL, KAON_SINGLE, A);
}

static kaon_status add_levels(kaon_solver *s) {
  if (s->process.mixed) KAON_TRY(add_outer_level(s));
  add_level(s, s->inner->precision)->A = s->inner;
  if (s->shifts->options.sloppy != KAON_HALF) return KAON_OK;
  return half_operator(s, &add_level(s, KAON_HALF)->A);
}

static kaon_status allocate(kaon_solver *s) {
  kaon_multishift *f = s->shifts;
  f->source = calloc((size_t)s->columns, sizeof *f->source);
  f->reports = calloc((size_t)kaon_shifted_columns(s), sizeof *f->reports);
  if (f->source == NULL || f->reports == NULL)
    return kaon_fail(s->ctx, KAON_ERR_MEMORY,
                     "multishift: out of host memory for %d shifts of %d columns", f->n,
                     s->columns);
  return add_levels(s);
}

/* The states of the columns of x follow those of the processes. */
static void view_states(kaon_solver *s) {
  kaon_multishift *f = s->shifts;
  f->states = f->of_x = *s->states.scalars;
  f->states.columns += kaon_shifted_columns(s);
  f->of_x.columns = kaon_shifted_columns(s);
  f->of_x.state += s->columns;
  s->states.of_x = &f->of_x;
}

/* The first level has the solver's own recorder. */
static kaon_status prepare(kaon_solver *s) {
  kaon_multishift *f = s->shifts;
  const kaon_record_ops *record = s->ctx->backend->record;
  view_states(s);
  KAON_TRY(kaon_operator_reserve(s->system, KAON_PLAIN, kaon_shifted_columns(s)));
  for (int l = 1; l < f->levels; l++) {
    KAON_TRY(kaon_operator_reserve(f->level[l].A, KAON_PLAIN, s->columns));
    if (s->replay.recorder != NULL)
      KAON_TRY(record->create(s->ctx, s->columns, &f->level[l].replay.recorder));
  }
  return KAON_OK;
}

void kaon_shifted_destroy(kaon_solver *s) {
  kaon_multishift *f = s->shifts;
  if (f == NULL) return;
  for (int l = 0; l < f->levels; l++) {
    kaon_shift_level *w = &f->level[l];
    if (l != f->at && w->replay.recorder != NULL)
      s->ctx->backend->record->destroy(&w->replay.recorder);
    if (w->A != s->system && w->A != s->inner) kaon_operator_destroy(&w->A);
    if (w->p == s->work[0]) continue;
    kaon_vector_destroy(&w->p);
    kaon_vector_destroy(&w->q);
    kaon_vector_destroy(&w->P);
  }
  free(f->source);
  free(f->reports);
  f->source = NULL;
  f->reports = NULL;
  f->levels = f->at = 0;
}

/* Replaces the solver by one for `columns` right-hand sides. */
static kaon_status make_solver(kaon_multishift *f, int columns) {
  const kaon_multishift_options *own = &f->options;
  kaon_solver_options o = KAON_SOLVER_OPTIONS_INIT;
  o.tol = f->finest;
  o.max_iterations = own->max_iterations;
  o.stop = KAON_STOP_REDUCED;
  o.sloppy = own->sloppy == KAON_DOUBLE ? KAON_DOUBLE : KAON_SINGLE;
  o.reconstruct = own->reconstruct;
  o.check_interval = own->check_interval;
  kaon_solver_destroy(&f->solver);
  KAON_TRY(kaon_solver_make(f->A, columns, &o, f, &f->solver));
  kaon_status status = kaon_agree(f->ctx, allocate(f->solver));
  if (status == KAON_OK) status = kaon_agree(f->ctx, prepare(f->solver));
  if (status != KAON_OK) kaon_solver_destroy(&f->solver);
  return status;
}

/* ---- the public functions ---- */

kaon_status kaon_multishift_create(kaon_operator *A, int shifts, const double *sigma,
                                   const kaon_multishift_options *options,
                                   kaon_multishift **solver) {
  kaon_multishift_options own;
  if (solver != NULL) *solver = NULL;
  KAON_ENTER(KAON_OF(A), A, solver);
  KAON_TRY(kaon_agree(A->ctx, take_options(A, shifts, sigma, options, &own)));
  kaon_multishift *f = calloc(1, sizeof *f);
  kaon_status status = KAON_AGREE_MEMORY(A->ctx, f != NULL, "multishift: out of host memory");
  if (status != KAON_OK) {
    free(f);
    return status;
  }
  f->ctx = A->ctx;
  f->references = 1;
  f->options = own;
  f->n = shifts;
  const int exponent = (1 + own.normal) * A->exponent;
  for (int i = 0; i < shifts; i++) {
    f->sigma[i] = ldexp(sigma[i], -exponent);
    f->least = i == 0 ? f->sigma[0] : fmin(f->least, f->sigma[i]);
  }
  use_tolerances(f, NULL);
  kaon_context_retain(f->ctx);
  status = kaon_agree(f->ctx, kaon_shifted_operator(A, own.normal, NULL, A->precision, &f->A));
  if (status == KAON_OK) f->A->exponent = exponent;
  if (status == KAON_OK) status = make_solver(f, 1);
  *solver = f;
  if (status != KAON_OK) kaon_multishift_destroy(solver);
  return status;
}

void kaon_multishift_destroy(kaon_multishift **solver) {
  if (solver == NULL || *solver == NULL) return;
  kaon_multishift *f = *solver;
  kaon_context *ctx = f->ctx;
  *solver = NULL;
  if (--f->references > 0) return;
  kaon_solver_destroy(&f->solver);
  kaon_operator_destroy(&f->A);
  free(f);
  kaon_context_release(ctx);
}

/* The engine checks the rest. */
static kaon_status check_vectors(const kaon_multishift *f, const kaon_vector *b,
                                 const kaon_vector *x) {
  if (b == NULL || x == NULL)
    return kaon_fail(f->ctx, KAON_ERR_ARGUMENT, "multishift: b and x are needed");
  if (b->space != f->A->space || x->space != f->A->space)
    return kaon_fail(f->ctx, KAON_ERR_SHAPE,
                     "multishift: b and x must be of the operator's space; convert a source of the "
                     "unreduced system by kaon_operator_prepare");
  if (x->nrhs != f->n * b->nrhs)
    return kaon_fail(f->ctx, KAON_ERR_SHAPE,
                     "multishift: b has %d columns and x %d, but %d shifts need %d of x", b->nrhs,
                     x->nrhs, f->n, f->n * b->nrhs);
  return KAON_OK;
}

static kaon_status solve(kaon_multishift *f, const kaon_vector *b, kaon_vector *x,
                         kaon_column_report *reports, kaon_solve_report *report) {
  KAON_TRY(kaon_agree(f->ctx, check_vectors(f, b, x)));
  if (f->solver == NULL || f->solver->columns != b->nrhs) KAON_TRY(make_solver(f, b->nrhs));
  return kaon_solver_solve(f->solver, b, x, reports, report);
}

static kaon_status solve_untrapped(kaon_multishift *f, const kaon_vector *b, kaon_vector *x,
                                   kaon_column_report *reports, kaon_solve_report *report) {
  KAON_RETURN_UNTRAPPED(f->ctx, solve(f, b, x, reports, report));
}

kaon_status kaon_multishift_solve(kaon_multishift *solver, const kaon_vector *b, kaon_vector *x,
                                  kaon_column_report *columns_out, kaon_solve_report *report) {
  KAON_ENTER(KAON_OF(solver), solver);
  KAON_TRY(kaon_output_check(solver->ctx, "kaon_solve_report", report));
  KAON_TRY(kaon_begin_work(solver->ctx, &solver->at_work, "multishift", "solver"));
  solver->references++; /* a function of the application may destroy it */
  const kaon_status status = solve_untrapped(solver, b, x, columns_out, report);
  solver->at_work = 0;
  kaon_multishift_destroy(&solver);
  return status;
}
