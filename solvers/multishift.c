/* multishift.c - CG on (A + sigma_i) x_i = b for all shifts at once (kaon/multishift.h).
 * Residuals of shifted systems are multiples of one another, r_i = zeta_i r, where all begin at
 * x = 0. So one process, of the smallest shift, makes r, and each shift has a direction and a
 * solution of its own (lib/math/recurrences_shifts.h):
 *   q = A p;   alpha = (r, r) / ((p, A p) + sigma_0 (p, p));   r -= alpha (q + sigma_0 p)
 *   x_i += a_i p_i, p_i = r + b_i p_i   for all i, columns of two vectors, in one pass
 *   p = r + beta p
 * A column whose own residual has come down is closed. The process itself ends last.
 *
 * Two precisions. Shifted residuals cannot be replaced: what is computed anew of b - (A + sigma_i)
 * x_i is a multiple of r no more. But an error of an application counts by the size of the
 * direction that it is made of, which falls with the residual: so the process runs in A's precision
 * until what a sloppy one would do is below the tolerance, and then goes on in that. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <kaon/multishift.h>
#include <kaon/options.h>

#include "blas/precond.h"
#include "solvers/method.h"

/* What roundings of a sloppy process may come to, in roundings of the residual at which it begins:
 * so many times |A| |x| / |b|, which grows with A's condition, and never less than so many. */
static const double sloppy_growth = 32, sloppy_least = 64;

enum { BASE_VECTORS = 4 };

/* One precision's part of the process; t: between A and A^dag. P, X: a column a shift. */
typedef struct process {
  kaon_operator *A;
  kaon_vector *r, *p, *q, *t, *P, *X;
} process;

struct kaon_multishift {
  kaon_context *ctx;
  kaon_multishift_options options;
  int n;
  double *sigma, sigma0;
  process outer, inner;      /* inner.A NULL: there is no sloppy precision; outer.X is the user's */
  kaon_vector *several;      /* normal: A of all columns, on the way to A^dag A */
  kaon_scalars *scalars;     /* the process, then the shifts */
  kaon_scalars base, shifts; /* views of these */
  kaon_column_state *host;
  double *norm2;
  int applications;
  double flops; /* of an application to one column, on all ranks, whose parts may be unequal */
};

static kaon_pass pass_of(kaon_scalars *scalars, int norm, int then) {
  kaon_pass pass = KAON_PASS_INIT;
  pass.scalars = scalars;
  pass.norm = norm;
  pass.then = then;
  return pass;
}

/* ---- a step ---- */

static kaon_status apply_operator(kaon_multishift *s, const process *w) {
  kaon_pass alpha = pass_of(&s->base, KAON_NO_SLOT, KAON_REC_SHIFT_ALPHA);
  if (s->options.normal) { /* (p, A^dag A p) = |A p|^2 */
    const kaon_pass plain = pass_of(&s->base, KAON_NO_SLOT, KAON_REC_NONE);
    alpha.norm = KAON_S_DENOMINATOR;
    KAON_TRY(kaon_operator_run(w->A, KAON_PLAIN, w->p, w->t, &alpha));
    return kaon_operator_run(w->A, KAON_DAGGER, w->t, w->q, &plain);
  }
  alpha.w = w->p;
  alpha.dot = KAON_S_DENOMINATOR;
  return kaon_operator_run(w->A, KAON_PLAIN, w->p, w->q, &alpha);
}

static kaon_status update_residual(kaon_multishift *s, const process *w) {
  const kaon_pass plain = pass_of(&s->base, KAON_NO_SLOT, KAON_REC_NONE);
  const kaon_pass beta = pass_of(&s->base, KAON_S_R2, KAON_REC_CG_BETA);
  if (s->sigma0 == 0) return kaon_blas_axpy(KAON_MINUS(KAON_S_ALPHA), w->q, w->r, &beta);
  KAON_TRY(kaon_blas_axpy(KAON_MINUS(KAON_S_ALPHA), w->q, w->r, &plain));
  return kaon_blas_axpy(KAON_MINUS(KAON_S_SIGMA_ALPHA), w->p, w->r, &beta);
}

/* p = r + beta p, with (p, p) where the smallest shift asks for it. */
static kaon_status next_direction(kaon_multishift *s, const process *w) {
  const int norm = s->sigma0 != 0 ? KAON_S_DIRECTION2 : KAON_NO_SLOT;
  const kaon_pass pass = pass_of(&s->base, norm, KAON_REC_NONE);
  return kaon_blas_xpay(w->r, KAON_PLUS(KAON_S_BETA), w->p, &pass);
}

static kaon_status step(kaon_multishift *s, const process *w) {
  const kaon_pass shifts = pass_of(&s->shifts, KAON_NO_SLOT, KAON_REC_SHIFT_STEP);
  const kaon_pass plain = pass_of(&s->shifts, KAON_NO_SLOT, KAON_REC_NONE);
  KAON_TRY(apply_operator(s, w));
  KAON_TRY(update_residual(s, w));
  KAON_TRY(kaon_blas_recur(s->ctx, &shifts));
  KAON_TRY(
      kaon_blas_shifted(KAON_PLUS(KAON_S_ALPHA), w->P, w->X, w->r, KAON_PLUS(KAON_S_BETA), &plain));
  return next_direction(s, w);
}

/* ---- the run ---- */

static kaon_status look(kaon_multishift *s) {
  return kaon_agree(s->ctx, kaon_scalars_read(s->scalars, s->host));
}

/* Until the process ends. Every rank has the same states and issues the same steps. */
static kaon_status run_process(kaon_multishift *s, const process *w) {
  const int begin = s->host[0].iterations;
  KAON_TRY(kaon_scalars_write(s->scalars, s->host));
  do {
    for (int i = 0; i < s->options.check_interval; i++) KAON_TRY(step(s, w));
    KAON_TRY(look(s));
  } while (s->host[0].gate & KAON_GATE_STEP);
  s->applications += (1 + s->options.normal) * (s->host[0].iterations - begin);
  return KAON_OK;
}

/* All states at the beginning: r = p = p_i = b, x_i = 0. */
static void begin_states(kaon_multishift *s, double b2, double relative) {
  memset(s->host, 0, (size_t)(s->n + 1) * sizeof *s->host);
  for (int k = 0; k <= s->n; k++) {
    kaon_column_state *state = &s->host[k];
    state->gate = KAON_GATE_STEP;
    state->reference = b2;
    state->scale = 1 / b2;
    state->first = 1;
    state->lowest = b2;
    state->max_iterations = s->options.max_iterations;
    state->threshold = s->options.tol * s->options.tol * b2;
    state->aux = k;
    if (k == 0) continue;
    kaon_set(state, KAON_S_SIGMA, s->sigma[k - 1] - s->sigma0, 0);
    kaon_set(state, KAON_S_SIGMA_WHOLE, s->sigma[k - 1], 0);
    kaon_set(state, KAON_S_ZETA, 1, 1);
    kaon_set(state, KAON_S_OLD, 1, 0);
  }
  kaon_column_state *base = &s->host[0];
  base->threshold = relative * relative * b2;
  kaon_set(base, KAON_S_SIGMA, s->sigma0, 0);
  kaon_set(base, KAON_S_DIRECTION2, b2, 0);
  kaon_set(base, KAON_S_RHO, b2, 0);
  kaon_set(base, KAON_S_R2, b2, 0);
}

/* The process, which has ended, is to go on to another residual. */
static void resume_states(kaon_multishift *s, double relative) {
  kaon_column_state *base = &s->host[0];
  for (int k = 0; k <= s->n; k++) {
    kaon_column_state *state = &s->host[k];
    if (k > 0 && (state->reason == KAON_WAIT_STOP || state->reason == KAON_END_CONVERGED)) {
      kaon_finish(state, KAON_END_CONVERGED);
      continue;
    }
    state->gate = KAON_GATE_STEP;
    state->reason = 0;
  }
  base->threshold = relative * relative * base->reference;
  kaon_set(base, KAON_S_BETA, base->slot[KAON_S_R2][0] / base->slot[KAON_S_RHO][0], 0);
  kaon_set(base, KAON_S_RHO, base->slot[KAON_S_R2][0], 0);
}

/* Goes on in precision `to`, with the step that ended it made whole. */
static kaon_status go_on(kaon_multishift *s, const process *to, double relative) {
  const process *from = &s->outer;
  resume_states(s, relative);
  KAON_TRY(kaon_scalars_write(s->scalars, s->host));
  KAON_TRY(next_direction(s, from));
  KAON_TRY(look(s));
  if (to == from) return run_process(s, to);
  KAON_TRY(kaon_vector_copy(to->r, from->r));
  KAON_TRY(kaon_vector_copy(to->p, from->p));
  KAON_TRY(kaon_vector_copy(to->P, from->P));
  KAON_TRY(kaon_vector_zero(to->X));
  KAON_TRY(run_process(s, to));
  return kaon_blas_convert(to->X, from->X, 1, NULL);
}

/* |A + sigma_i| |x_i| / |b| of the worst shift; |A| by the diagonal of Lanczos' matrix. */
static kaon_status growth(kaon_multishift *s, double b2, double *most) {
  const double largest = s->host[0].slot[KAON_S_LARGEST][0] - s->sigma0;
  *most = 0;
  KAON_TRY(kaon_vector_norm2(s->outer.X, s->norm2));
  for (int i = 0; i < s->n; i++)
    *most = fmax(*most, fabs(largest + s->sigma[i]) * sqrt(s->norm2[i] / b2));
  return KAON_OK;
}

static kaon_status begin(kaon_multishift *s, const kaon_vector *b, double b2, double relative) {
  const process *w = &s->outer;
  begin_states(s, b2, relative);
  KAON_TRY(kaon_vector_zero(w->X));
  KAON_TRY(kaon_vector_zero(w->P));
  KAON_TRY(kaon_vector_copy(w->r, b));
  KAON_TRY(kaon_vector_copy(w->p, b));
  KAON_TRY(kaon_blas_shifted(KAON_NUMBER(0), w->P, w->X, b, KAON_NUMBER(0), NULL));
  return run_process(s, w);
}

static int goes_on(const kaon_multishift *s, double relative) {
  return s->host[0].reason == KAON_WAIT_STOP && relative > s->options.tol;
}

static kaon_status run(kaon_multishift *s, const kaon_vector *b, double b2, int sloppy) {
  const double tol = s->options.tol, bound = sloppy ? tol / 0x1p-24 : 0;
  double between = fmin(1, bound / sloppy_least), most;
  KAON_TRY(begin(s, b, b2, fmax(between, tol)));
  if (!goes_on(s, between)) return KAON_OK;
  KAON_TRY(growth(s, b2, &most));
  if (sloppy_growth * most > sloppy_least && bound / (sloppy_growth * most) < between) {
    between = bound / (sloppy_growth * most);
    KAON_TRY(go_on(s, &s->outer, fmax(between, tol)));
    if (!goes_on(s, between)) return KAON_OK;
  }
  return go_on(s, &s->inner, tol);
}

/* ---- what came of it ---- */

/* norm2 = |b - (A + sigma_i) x_i|^2, by vectors that the process has done with. */
static kaon_status true_residuals(kaon_multishift *s, const kaon_vector *b, double *norm2) {
  const process *w = &s->outer;
  kaon_pass pass = pass_of(&s->shifts, KAON_NO_SLOT, KAON_REC_NONE);
  for (int k = 1; k <= s->n; k++) s->host[k].gate = KAON_GATE_STEP;
  KAON_TRY(kaon_scalars_write(s->scalars, s->host));
  if (s->options.normal) {
    KAON_TRY(kaon_operator_run(w->A, KAON_PLAIN, w->X, s->several, NULL));
    KAON_TRY(kaon_operator_run(w->A, KAON_DAGGER, s->several, w->P, NULL));
  } else {
    KAON_TRY(kaon_operator_run(w->A, KAON_PLAIN, w->X, w->P, NULL));
  }
  s->applications += 1 + s->options.normal;
  KAON_TRY(kaon_blas_axpy(KAON_PLUS(KAON_S_SIGMA_WHOLE), w->X, w->P, &pass));
  KAON_TRY(kaon_blas_shifted(KAON_NUMBER(0), w->P, w->X, b, KAON_NUMBER(-1), NULL));
  return kaon_vector_norm2(w->P, norm2);
}

static kaon_stop_reason reason_of(const kaon_column_state *base) {
  switch (base->reason) {
    case KAON_WAIT_STOP:
      return KAON_STAGNATED; /* by the recurrence it is done */
    case KAON_WAIT_LIMIT:
      return KAON_MAX_ITERATIONS;
    case KAON_WAIT_GROWTH:
      return KAON_DIVERGING;
    case KAON_WAIT_BROKEN:
      return KAON_BREAKDOWN;
    default:
      return KAON_STAGNATED;
  }
}

/* 1: every shift is within 1.1 times the tolerance, as in the other solvers. */
static int report_columns(const kaon_multishift *s, const kaon_column_state *states, double b2,
                          const double *norm2, int again, kaon_column_report *reports) {
  int all = 1;
  for (int i = 0; i < s->n; i++) {
    const double residual = sqrt(norm2[i] / b2);
    const int met = residual <= 1.1 * s->options.tol;
    all &= met;
    if (reports == NULL) continue;
    reports[i] = (kaon_column_report){.iterations = states[1 + i].iterations,
                                      .updates = again,
                                      .reason = met ? KAON_CONVERGED : reason_of(&states[0]),
                                      .residual = residual,
                                      .stop_residual = residual};
    if (reports[i].reason == KAON_BREAKDOWN) reports[i].breakdown = (kaon_breakdown)states[0].cause;
  }
  return all;
}

static kaon_status solve(kaon_multishift *s, const kaon_vector *b, double b2,
                         kaon_column_report *reports) {
  for (int again = 0; again < 2; again++) {
    const int sloppy = s->inner.A != NULL && !again;
    KAON_TRY(run(s, b, b2, sloppy));
    KAON_TRY(true_residuals(s, b, s->norm2));
    if (report_columns(s, s->host, b2, s->norm2, again, reports) || !sloppy) break;
  }
  return KAON_OK;
}

static kaon_status check_vectors(const kaon_multishift *s, const kaon_vector *b,
                                 const kaon_vector *x) {
  const kaon_operator *A = s->outer.A;
  if (b == NULL || x == NULL)
    return kaon_fail(s->ctx, KAON_ERR_ARGUMENT, "multishift: b and x are needed");
  if (b->space != A->space || x->space != A->space)
    return kaon_fail(s->ctx, KAON_ERR_SHAPE,
                     "multishift: b and x must be of the operator's space; a source of the system "
                     "that it is a reduction of goes through kaon_operator_prepare");
  if (b->nrhs != 1 || x->nrhs != s->n)
    return kaon_fail(s->ctx, KAON_ERR_SHAPE,
                     "multishift: b has %d columns and x %d, but 1 and %d are needed, one of x a "
                     "shift",
                     b->nrhs, x->nrhs, s->n);
  if (b->precision != A->precision || x->precision != A->precision)
    return kaon_fail(s->ctx, KAON_ERR_PRECISION,
                     "multishift: b and x have precisions %d and %d, the operator %d (0 double, 1 "
                     "single); convert them with kaon_vector_copy",
                     (int)b->precision, (int)x->precision, (int)A->precision);
  if (b == x) return kaon_fail(s->ctx, KAON_ERR_ALIAS, "multishift: b and x are one vector");
  return KAON_OK;
}

kaon_status kaon_multishift_solve(kaon_multishift *s, const kaon_vector *b, kaon_vector *x,
                                  kaon_column_report *reports, kaon_solve_report *report) {
  if (s == NULL) return kaon_fail(NULL, KAON_ERR_ARGUMENT, "multishift: the solver is NULL");
  const double begin = kaon_solver_clock();
  const kaon_traffic before = s->ctx->comm->traffic;
  double b2 = 0;
  KAON_TRY(kaon_agree(s->ctx, check_vectors(s, b, x)));
  KAON_TRY(kaon_vector_norm2(b, &b2));
  if (!isfinite(b2))
    return kaon_fail(s->ctx, KAON_ERR_NOT_FINITE,
                     "multishift: b holds NaN or infinity, or its norm overflows");
  s->applications = 0;
  s->outer.X = x;
  kaon_status status = KAON_OK;
  if (b2 > 0) {
    status = solve(s, b, b2, reports);
  } else {
    status = kaon_vector_zero(x);
    for (int i = 0; reports != NULL && i < s->n; i++)
      reports[i] = (kaon_column_report){.reason = KAON_CONVERGED};
  }
  s->outer.X = NULL;
  KAON_TRY(status);
  if (report == NULL) return KAON_OK;
  *report = (kaon_solve_report){.seconds = kaon_solver_clock() - begin,
                                .applications = s->applications,
                                .flops = s->flops * s->applications,
                                .traffic = kaon_traffic_since(s->ctx, &before)};
  return KAON_OK;
}

/* ---- creation ---- */

static kaon_status check_options(const kaon_operator *A, int n, const double *sigma,
                                 const kaon_multishift_options *o) {
  if (n < 1 || n > KAON_MULTISHIFT_MAX || sigma == NULL)
    return kaon_fail(A->ctx, KAON_ERR_ARGUMENT,
                     "multishift: %d shifts asked for, 1 to %d are taken", n,
                     (int)KAON_MULTISHIFT_MAX);
  for (int i = 0; i < n; i++)
    if (!isfinite(sigma[i]))
      return kaon_fail(A->ctx, KAON_ERR_ARGUMENT, "multishift: shift %d is %g, no number", i,
                       sigma[i]);
  if (kaon_options_check(KAON_OPTIONS_MULTISHIFT, o) != KAON_OK)
    return kaon_fail(A->ctx, KAON_ERR_ARGUMENT, "%s", kaon_last_error(NULL));
  if (A->precision == KAON_HALF || o->sloppy == KAON_HALF)
    return kaon_fail(A->ctx, KAON_ERR_UNSUPPORTED,
                     "multishift: half precision is not offered, as shifted residuals cannot be "
                     "replaced; take sloppy=single");
  return KAON_OK;
}

static kaon_status take_process(kaon_multishift *s, process *w, int own_solution) {
  const kaon_operator *A = w->A;
  kaon_vector **single[] = {&w->r, &w->p, &w->q, &w->t};
  const int count = s->options.normal ? BASE_VECTORS : BASE_VECTORS - 1;
  for (int i = 0; i < count; i++)
    KAON_TRY(kaon_vector_create(s->ctx, A->space, A->precision, 1, single[i]));
  KAON_TRY(kaon_vector_create(s->ctx, A->space, A->precision, s->n, &w->P));
  return own_solution ? kaon_vector_create(s->ctx, A->space, A->precision, s->n, &w->X) : KAON_OK;
}

static kaon_status reserve(const kaon_multishift *s, kaon_operator *A, int columns) {
  if (A->ops->reserve != NULL) KAON_TRY(A->ops->reserve(A, columns));
  return s->options.normal && A->ops->reserve_dagger != NULL ? A->ops->reserve_dagger(A, columns)
                                                             : KAON_OK;
}

static kaon_status take_host_memory(kaon_multishift *s, const double *sigma) {
  const size_t n = (size_t)s->n;
  s->sigma = calloc(n, sizeof *s->sigma);
  s->norm2 = calloc(n, sizeof *s->norm2);
  s->host = calloc(n + 1, sizeof *s->host);
  if (s->sigma == NULL || s->norm2 == NULL || s->host == NULL)
    return kaon_fail(s->ctx, KAON_ERR_MEMORY, "multishift: no host memory for %d shifts", s->n);
  s->sigma0 = sigma[0];
  for (int i = 0; i < s->n; i++) {
    s->sigma[i] = sigma[i];
    s->sigma0 = fmin(s->sigma0, sigma[i]);
  }
  return KAON_OK;
}

static kaon_status build(kaon_multishift *s, kaon_operator *A, const double *sigma) {
  KAON_TRY(kaon_agree(s->ctx, take_host_memory(s, sigma)));
  s->flops = A->ops->cost(A, 1).flops;
  KAON_TRY(kaon_comm_sum(s->ctx, &s->flops, 1));
  s->outer.A = A;
  if (s->options.sloppy > A->precision)
    KAON_TRY(A->ops->at_precision(A, s->options.sloppy, KAON_RECONSTRUCT_18, &s->inner.A));
  KAON_TRY(kaon_scalars_create(s->ctx, s->n + 1, &s->scalars));
  s->base = s->shifts = *s->scalars;
  s->base.columns = 1;
  s->shifts.columns = s->n;
  s->shifts.state = s->scalars->state + 1;
  KAON_TRY(take_process(s, &s->outer, 0));
  if (s->options.normal)
    KAON_TRY(kaon_vector_create(s->ctx, A->space, A->precision, s->n, &s->several));
  if (s->inner.A != NULL) KAON_TRY(take_process(s, &s->inner, 1));
  KAON_TRY(reserve(s, A, s->n));
  KAON_TRY(reserve(s, A, 1));
  return s->inner.A != NULL ? reserve(s, s->inner.A, 1) : KAON_OK;
}

kaon_status kaon_multishift_create(kaon_operator *A, int shifts, const double *sigma,
                                   const kaon_multishift_options *options,
                                   kaon_multishift **solver) {
  static const kaon_multishift_options defaults = KAON_MULTISHIFT_OPTIONS_INIT;
  if (solver != NULL) *solver = NULL;
  if (A == NULL || solver == NULL)
    return kaon_fail(A != NULL ? A->ctx : NULL, KAON_ERR_ARGUMENT,
                     "multishift: the operator or the address of the result is NULL");
  if (options == NULL) options = &defaults;
  KAON_TRY(kaon_agree(A->ctx, check_options(A, shifts, sigma, options)));
  kaon_multishift *s = calloc(1, sizeof *s);
  if (s == NULL) return kaon_fail(A->ctx, KAON_ERR_MEMORY, "multishift: no host memory");
  s->ctx = A->ctx;
  s->options = *options;
  s->n = shifts;
  kaon_context_retain(s->ctx);
  const kaon_status status = kaon_agree(s->ctx, build(s, A, sigma));
  if (status != KAON_OK)
    kaon_multishift_destroy(&s);
  else
    *solver = s;
  return status;
}

static void give_process(process *w) {
  kaon_vector_destroy(&w->r);
  kaon_vector_destroy(&w->p);
  kaon_vector_destroy(&w->q);
  kaon_vector_destroy(&w->t);
  kaon_vector_destroy(&w->P);
  kaon_vector_destroy(&w->X);
}

void kaon_multishift_destroy(kaon_multishift **solver) {
  if (solver == NULL || *solver == NULL) return;
  kaon_multishift *s = *solver;
  kaon_context *ctx = s->ctx;
  *solver = NULL;
  give_process(&s->outer);
  give_process(&s->inner);
  kaon_vector_destroy(&s->several);
  kaon_scalars_destroy(&s->scalars);
  kaon_operator_destroy(&s->inner.A);
  free(s->sigma);
  free(s->norm2);
  free(s->host);
  free(s);
  kaon_context_release(ctx);
}
