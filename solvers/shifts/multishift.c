/* multishift.c - CG on (A + sigma_i) x_i = b for all shifts at once (kaon/multishift.h).
 *
 * Residuals of the shifted systems are multiples of each other, r_i = zeta_i r, if all start at x =
 * 0. So one process, that of the smallest shift, computes r. Each shift has a direction and a
 * solution of its own (lib/math/steps/recurrences_shifts.h):
 *   q = A p;   alpha = (r, r) / ((p, A p) + sigma_0 (p, p));   r -= alpha (q + sigma_0 p)
 *   x_i += a_i p_i, p_i = r + b_i p_i   for all i, columns of two vectors, in one pass
 *   p = r + beta p
 * A column is closed when its own residual has reached the tolerance. The process itself ends last.
 * Several right-hand sides are as many processes side by side. They share applications, and each
 * ends by itself.
 *
 * Several precisions. Shifted residuals cannot be replaced: a recomputed b - (A + sigma_i) x_i is
 * no multiple of r. But the error of an application is proportional to the size of its direction,
 * which falls with the residual. So the process runs in A's precision until the error of a coarser
 * one is below the tolerance. Then it continues in single, and later in half precision. Shifts that
 * miss the tolerance nevertheless are refined one by one (multishift_refine.c). */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/core/threads.h"
#include "lib/core/output.h"
#include "blas/precond_updates.h"
#include "solvers/shifts/multishift_internal.h"

/* A process may begin in a coarser precision at the residual tol / (roundoff max(sloppy_least,
 * sloppy_margin spread)). `spread` estimates the accumulated rounding in units of roundoff times
 * residual (find_spread). For operators of condition 1e2 to 1e4 the actual error is 0.4 to 3 times
 * `spread`, hence the margin (tests/test_multishift.c, tests/ranks/test_multishift.c). */
static const double sloppy_margin = 8, sloppy_least = 128;

/* ---- the run ---- */

/* The residual that process j has to reach at this level. */
static double aim(const kaon_multishift *s, int j) {
  return fmax(s->source[j].between, s->options.tol);
}

static void begin_process(kaon_multishift *s, int j) {
  kaon_column_state *base = &s->host[j];
  const double b2 = s->source[j].b2, relative = aim(s, j);
  base->threshold = relative * relative * b2;
  kaon_set(base, KAON_S_SIGMA, s->sigma0, 0);
  kaon_set(base, KAON_S_DIRECTION2, b2, 0);
  kaon_set(base, KAON_S_RHO, b2, 0);
  kaon_set(base, KAON_S_R2, b2, 0);
}

/* Sets all states for the start: r = p = p_i = b, x_i = 0. Right-hand sides of 0 stay closed. */
static void begin_states(kaon_multishift *s) {
  const int c = s->columns;
  memset(s->host, 0, (size_t)(c + kaon_shift_all(s)) * sizeof *s->host);
  for (int k = 0; k < c + kaon_shift_all(s); k++) {
    kaon_column_state *state = &s->host[k];
    const int j = k % c, i = k / c - 1;
    const double b2 = s->source[j].b2;
    state->aux = k - j;
    if (b2 == 0) continue;
    state->gate = KAON_GATE_STEP;
    state->reference = b2;
    state->scale = 1 / b2;
    state->first = 1;
    state->lowest = b2;
    state->max_iterations = s->options.max_iterations;
    state->threshold = s->options.tol * s->options.tol * b2;
    if (k < c) {
      begin_process(s, j);
      continue;
    }
    kaon_set(state, KAON_S_SIGMA, s->sigma[i] - s->sigma0, 0);
    kaon_set(state, KAON_S_SIGMA_WHOLE, s->sigma[i], 0);
    kaon_set(state, KAON_S_ZETA, 1, 1);
    kaon_set(state, KAON_S_OLD, 1, 0);
  }
}

static void resume_process(kaon_multishift *s, int j) {
  kaon_column_state *base = &s->host[j];
  const double relative = aim(s, j);
  base->threshold = relative * relative * base->reference;
  kaon_set(base, KAON_S_BETA, base->slot[KAON_S_R2][0] / base->slot[KAON_S_RHO][0], 0);
  kaon_set(base, KAON_S_RHO, base->slot[KAON_S_R2][0], 0);
}

/* Processes that run have ended and continue to a smaller residual. The columns of the others stay
 * closed, and retain the reason for which they ended. */
static void resume_states(kaon_multishift *s) {
  const int c = s->columns;
  for (int k = 0; k < c + kaon_shift_all(s); k++) {
    kaon_column_state *state = &s->host[k];
    if (k >= c && (state->reason == KAON_WAIT_STOP || state->reason == KAON_END_CONVERGED)) {
      kaon_finish(state, KAON_END_CONVERGED);
      continue;
    }
    state->gate = s->source[k % c].runs ? KAON_GATE_STEP : 0;
    if (!s->source[k % c].runs) continue;
    state->reason = 0;
    if (k < c) resume_process(s, k);
  }
}

/* Continues the running processes in the precision of `to`, after completing the step that ended
 * them. */
static kaon_status go_on(kaon_multishift *s, const kaon_shift_level *from, kaon_shift_level *to) {
  resume_states(s);
  KAON_TRY(kaon_scalars_write(s->scalars, s->host));
  KAON_TRY(kaon_shift_next_direction(s, from->v));
  KAON_TRY(kaon_shift_poll(s));
  if (to->v != from->v) {
    KAON_TRY(kaon_vector_copy(to->v->r, from->v->r));
    KAON_TRY(kaon_vector_copy(to->v->p, from->v->p));
    KAON_TRY(kaon_vector_copy(to->v->P, from->v->P));
    KAON_TRY(kaon_vector_zero(to->v->X));
  }
  return kaon_shift_process(s, to);
}

/* Estimates `spread`: the residual caused by one unit of rounding in all remaining applications,
 * over the residual. It is |A| times the remaining change of x.
 * - |A|: from the diagonal of the Lanczos matrix.
 * - remaining change: a step moves x by alpha |p|, and the residual is assumed to fall at its
 *   average rate so far.
 * Larger shifts need smaller changes. Only for processes that continue. */
static kaon_status find_spread(kaon_multishift *s, const kaon_shift_level *w) {
  KAON_TRY(kaon_shift_norms(s, w->v->p, s->norm2));
  for (int j = 0; j < s->columns; j++) {
    const kaon_column_state *base = &s->host[j];
    kaon_shift_source *source = &s->source[j];
    if (!source->runs) continue;
    const double r2 = base->slot[KAON_S_R2][0], largest = base->slot[KAON_S_LARGEST][0];
    const double steps = 2 * base->iterations / log(source->b2 / r2);
    source->spread = largest * base->slot[KAON_S_ALPHA][0] * sqrt(s->norm2[j] / r2) * steps;
  }
  return KAON_OK;
}

static kaon_status begin(kaon_multishift *s) {
  const kaon_shift_vectors *v = &s->outer;
  begin_states(s);
  KAON_TRY(kaon_vector_zero(v->X));
  KAON_TRY(kaon_vector_zero(v->P));
  KAON_TRY(kaon_vector_copy(v->r, s->b));
  KAON_TRY(kaon_vector_copy(v->p, s->b));
  KAON_TRY(kaon_blas_shifted(KAON_NUMBER(0), v->P, v->X, s->b, KAON_NUMBER(0), NULL));
  return kaon_shift_process(s, &s->level[0]);
}

/* Selects the processes that continue: those that reached the residual of this level, but not yet
 * the tolerance. Returns their number. */
static int choose_next(kaon_multishift *s) {
  int count = 0;
  for (int j = 0; j < s->columns; j++) {
    kaon_shift_source *source = &s->source[j];
    source->runs = s->host[j].reason == KAON_WAIT_STOP && source->between > s->options.tol;
    count += source->runs;
  }
  return count;
}

/* The residual at which a process may begin at this level. */
static double begins_at(const kaon_multishift *s, const kaon_shift_level *w, double spread) {
  const double bound = s->options.tol / w->unit;
  return fmin(1, bound / fmax(sloppy_least, sloppy_margin * spread));
}

/* Selects the processes that must reach a smaller residual before they leave level w, by what they
 * have shown. Only these run then. Returns their number. */
static int choose_again(kaon_multishift *s, const kaon_shift_level *next) {
  int count = 0;
  for (int j = 0; j < s->columns; j++) {
    kaon_shift_source *source = &s->source[j];
    const double between = begins_at(s, next, source->spread);
    source->runs = source->runs && between < source->between;
    if (source->runs) source->between = between;
    count += source->runs;
  }
  return count;
}

static kaon_status run(kaon_multishift *s) {
  for (int l = 0; l < s->levels; l++) {
    kaon_shift_level *w = &s->level[l], *next = l + 1 < s->levels ? w + 1 : NULL;
    for (int j = 0; j < s->columns; j++) {
      kaon_shift_source *source = &s->source[j];
      source->between = next != NULL ? begins_at(s, next, source->spread) : 0;
    }
    KAON_TRY(l == 0 ? begin(s) : go_on(s, w - 1, w));
    if (next != NULL && choose_next(s) > 0) {
      KAON_TRY(find_spread(s, w));
      if (choose_again(s, next) > 0) KAON_TRY(go_on(s, w, w));
    }
    KAON_TRY(kaon_shift_gather(s, w, NULL));
    if (choose_next(s) == 0) break;
  }
  return KAON_OK;
}

/* ---- residuals and reports ---- */

kaon_status kaon_shift_residuals(kaon_multishift *s) {
  const kaon_shift_vectors *v = &s->outer;
  kaon_operator *A = s->level[0].A;
  kaon_pass pass = kaon_shift_pass(&s->shifts, KAON_NO_SLOT, KAON_REC_NONE);
  for (int m = 0; m < kaon_shift_all(s); m++) kaon_shift_state(s, m)->gate = KAON_GATE_STEP;
  KAON_TRY(kaon_scalars_write(s->scalars, s->host));
  if (s->options.normal) {
    KAON_TRY(kaon_operator_run(A, KAON_PLAIN, v->X, s->several, NULL));
    KAON_TRY(kaon_operator_run(A, KAON_DAGGER, s->several, v->P, NULL));
  } else {
    KAON_TRY(kaon_operator_run(A, KAON_PLAIN, v->X, v->P, NULL));
  }
  s->applications += 1 + s->options.normal;
  for (int j = 0; j < s->columns; j++)
    s->work += s->source[j].b2 > 0 ? s->n * kaon_shift_flops(s) : 0;
  KAON_TRY(kaon_blas_axpy(KAON_PLUS(KAON_S_SIGMA_WHOLE), v->X, v->P, &pass));
  KAON_TRY(kaon_blas_shifted(KAON_NUMBER(0), v->P, v->X, s->b, KAON_NUMBER(-1), NULL));
  return kaon_shift_norms(s, v->P, s->norm2);
}

static kaon_stop_reason reason_of(const kaon_column_state *base) {
  switch (base->reason) {
    case KAON_WAIT_STOP:
      return KAON_STAGNATED; /* the recurrence has converged, the residual has not */
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

/* Takes the residuals in s->norm2 into the reports. missed[m]: the residual exceeds 1.1 times the
 * tolerance although the process converged; 1.1 as in the other solvers. Returns the number of
 * missed columns. */
static int take_residuals(kaon_multishift *s) {
  int count = 0;
  for (int m = 0; m < kaon_shift_all(s); m++) {
    kaon_column_report *r = &s->reports[m];
    const int j = m % s->columns;
    const double b2 = s->source[j].b2;
    r->residual = r->stop_residual = b2 > 0 ? sqrt(s->norm2[m] / b2) : 0;
    const int reached = r->residual <= 1.1 * s->options.tol;
    if (reached) r->reason = KAON_CONVERGED;
    s->missed[m] = !reached && s->host[j].reason == KAON_WAIT_STOP;
    count += s->missed[m];
  }
  return count;
}

/* b = 0 in all columns: x = 0. */
static kaon_status solve_nothing(kaon_multishift *s, kaon_vector *x) {
  for (int m = 0; m < kaon_shift_all(s); m++) s->reports[m].reason = KAON_CONVERGED;
  return kaon_vector_zero(x);
}

static kaon_status solve(kaon_multishift *s, kaon_vector *x) {
  double all2 = 0;
  memset(s->reports, 0, (size_t)kaon_shift_all(s) * sizeof *s->reports);
  for (int j = 0; j < s->columns; j++) all2 = fmax(all2, s->source[j].b2);
  if (all2 == 0) return solve_nothing(s, x);
  s->outer.X = x;
  KAON_TRY(run(s));
  for (int m = 0; m < kaon_shift_all(s); m++) {
    const kaon_column_state *base = &s->host[m % s->columns];
    kaon_column_report *r = &s->reports[m];
    r->iterations = kaon_shift_state(s, m)->iterations;
    r->reason = reason_of(base);
    if (r->reason == KAON_BREAKDOWN) r->breakdown = (kaon_breakdown)base->cause;
  }
  KAON_TRY(kaon_shift_residuals(s));
  if (take_residuals(s) == 0 || s->levels == 1) return KAON_OK;
  KAON_TRY(kaon_shift_refine(s));
  KAON_TRY(kaon_shift_residuals(s));
  take_residuals(s);
  return KAON_OK;
}

static kaon_status check_vectors(const kaon_multishift *s, const kaon_vector *b,
                                 const kaon_vector *x) {
  const kaon_operator *A = s->level[0].A;
  if (b == NULL || x == NULL)
    return kaon_fail(s->ctx, KAON_ERR_ARGUMENT, "multishift: b and x are needed");
  if (b->space != A->space || x->space != A->space)
    return kaon_fail(s->ctx, KAON_ERR_SHAPE,
                     "multishift: b and x must be of the operator's space; convert a source of the "
                     "unreduced system by kaon_operator_prepare");
  if (x->nrhs != s->n * b->nrhs)
    return kaon_fail(s->ctx, KAON_ERR_SHAPE,
                     "multishift: b has %d columns and x %d, but %d shifts need %d of x", b->nrhs,
                     x->nrhs, s->n, s->n * b->nrhs);
  if (b->precision != A->precision || x->precision != A->precision)
    return kaon_fail(s->ctx, KAON_ERR_PRECISION,
                     "multishift: b and x have precisions %d and %d, the operator %d (0 double, 1 "
                     "single); convert them with kaon_vector_copy",
                     (int)b->precision, (int)x->precision, (int)A->precision);
  if (b == x) return kaon_fail(s->ctx, KAON_ERR_ALIAS, "multishift: b and x are one vector");
  return KAON_OK;
}

/* The first column whose |b|^2 underflows to 0 although b is not 0, or -1. */
static kaon_status find_underflow(kaon_multishift *s, const kaon_vector *b, int *lost) {
  kaon_vector *scaled = NULL;
  double *norm2 = malloc((size_t)b->nrhs * sizeof *norm2);
  kaon_status status = norm2 != NULL ? KAON_OK
                                     : kaon_fail(s->ctx, KAON_ERR_MEMORY,
                                                 "multishift: out of host memory for norms");
  *lost = -1;
  status = kaon_agree(s->ctx, status);
  if (status == KAON_OK)
    status = kaon_vector_create(s->ctx, b->space, b->precision, b->nrhs, &scaled);
  if (status == KAON_OK) status = kaon_blas_copy(b, scaled, NULL);
  if (status == KAON_OK) status = kaon_blas_scale(KAON_NUMBER(0x1p600), scaled, NULL);
  if (status == KAON_OK) status = kaon_shift_norms(s, scaled, norm2);
  for (int j = 0; status == KAON_OK && j < b->nrhs && *lost < 0; j++)
    if (s->norm2[j] == 0 && norm2[j] != 0) *lost = j;
  kaon_vector_destroy(&scaled);
  free(norm2);
  return status;
}

/* Refuses a b so small that a residual's square would underflow before the tolerance is reached (as
 * check_small in solve_begin.c). */
static kaon_status check_small(kaon_multishift *s, const kaon_vector *b) {
  const double tol = s->options.tol, least = kaon_least_norm2(tol);
  int lost = -1, zeros = 0;
  if (b->precision != KAON_DOUBLE) return KAON_OK;
  for (int j = 0; j < b->nrhs; j++) zeros |= s->norm2[j] == 0;
  if (zeros) KAON_TRY(find_underflow(s, b, &lost));
  for (int j = 0; j < b->nrhs && lost < 0; j++)
    if (s->norm2[j] != 0 && s->norm2[j] < least) lost = j;
  if (lost < 0) return KAON_OK;
  return kaon_fail(s->ctx, KAON_ERR_NOT_FINITE,
                   "multishift: |b|^2 of column %d is %g, and squares of residuals of %g times |b| "
                   "would be lost below %g; multiply b by a power of 2, and divide x by it",
                   lost, s->norm2[lost], tol, 1e10 * DBL_MIN);
}

static kaon_status take_norms(kaon_multishift *s) {
  KAON_TRY(kaon_shift_norms(s, s->b, s->norm2));
  for (int j = 0; j < s->columns; j++) {
    s->source[j] = (kaon_shift_source){.b2 = s->norm2[j]};
    if (!isfinite(s->norm2[j]))
      return kaon_fail(s->ctx, KAON_ERR_NOT_FINITE,
                       "multishift: column %d of b holds NaN or infinity, or its norm overflows",
                       j);
  }
  return check_small(s, s->b);
}

/* Sets b and its norms; scales b if it is out of range. */
static kaon_status take_sources(kaon_multishift *s, const kaon_vector *b) {
  const kaon_norm_range norm_range = kaon_norm_range_of(s->options.tol, s->levels > 1);
  s->b = b;
  KAON_TRY(take_norms(s));
  if (b->precision != KAON_DOUBLE || !kaon_norm_range_exceeded(norm_range, s->norm2, b->nrhs))
    return KAON_OK;
  KAON_TRY(kaon_scaling_begin(&s->units, b, norm_range, s->norm2, s->sums, s->sums_host));
  s->b = s->units.b;
  return take_norms(s);
}

static kaon_status solve_columns(kaon_multishift *s, const kaon_vector *b, kaon_vector *x,
                                 kaon_column_report *reports) {
  if (b->nrhs != s->columns) KAON_TRY(kaon_shift_allocate(s, b->nrhs));
  s->applications = 0;
  s->work = 0;
  s->repeated = (kaon_traffic){0};
  s->issued = kaon_separate(s->ctx) ? s->ctx->lab.issue : KAON_ISSUE_PLAIN;
  kaon_status status = take_sources(s, b);
  if (status == KAON_OK) status = solve(s, x);
  s->outer.X = NULL;
  status = kaon_scaling_end(&s->units, x, s->options.tol, "multishift", status);
  if (reports != NULL && status == KAON_OK)
    memcpy(reports, s->reports, (size_t)kaon_shift_all(s) * sizeof *reports);
  return status;
}

static kaon_status solve_all(kaon_multishift *s, const kaon_vector *b, kaon_vector *x,
                             kaon_column_report *reports, kaon_solve_report *report) {
  const double begin_time = kaon_solver_clock();
  const kaon_traffic before = s->ctx->comm->traffic;
  KAON_TRY(kaon_agree(s->ctx, check_vectors(s, b, x)));
  KAON_TRY(solve_columns(s, b, x, reports));
  if (report == NULL) return KAON_OK;
  kaon_solve_report made = {.seconds = kaon_solver_clock() - begin_time,
                            .applications = s->applications,
                            .flops = s->work,
                            .traffic = kaon_traffic_since(s->ctx, &before),
                            .issue = (int)s->issued,
                            .fused = s->issued < KAON_ISSUE_SEPARATE};
  made.traffic.sums += s->repeated.sums;
  made.traffic.exchanges += s->repeated.exchanges;
  made.traffic.bytes += s->repeated.bytes;
  kaon_output_fill(report, &made, sizeof made);
  return KAON_OK;
}

/* Floating-point traps: as in kaon_solver_solve. */
kaon_status kaon_multishift_solve(kaon_multishift *s, const kaon_vector *b, kaon_vector *x,
                                  kaon_column_report *reports, kaon_solve_report *report) {
  if (s == NULL) return kaon_fail(NULL, KAON_ERR_ARGUMENT, "multishift: the solver is NULL");
  KAON_TRY(kaon_output_check(s->ctx, "kaon_solve_report", report));
  KAON_RETURN_UNTRAPPED(s->ctx, solve_all(s, b, x, reports, report));
}
