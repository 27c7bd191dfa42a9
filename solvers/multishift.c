/* multishift.c - CG on (A + sigma_i) x_i = b for all shifts at once (kaon/multishift.h).
 * Residuals of shifted systems are multiples of one another, r_i = zeta_i r, where all begin at
 * x = 0. So one process, of the smallest shift, makes r, and each shift has a direction and a
 * solution of its own (lib/math/recurrences_shifts.h):
 *   q = A p;   alpha = (r, r) / ((p, A p) + sigma_0 (p, p));   r -= alpha (q + sigma_0 p)
 *   x_i += a_i p_i, p_i = r + b_i p_i   for all i, columns of two vectors, in one pass
 *   p = r + beta p
 * A column whose own residual has come down is closed. The process itself ends last.
 *
 * Several precisions. Shifted residuals cannot be replaced: what is computed anew of b - (A +
 * sigma_i) x_i is a multiple of r no more. But an error of an application counts by the size of the
 * direction that it is made of, which falls with the residual: so the process runs in A's precision
 * until what a coarser one would do is below the tolerance, then goes on in that, and from single
 * to half likewise. Shifts that miss the tolerance nevertheless are refined one by one
 * (multishift_refine.c). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "blas/precond.h"
#include "solvers/multishift.h"

/* A process in a coarser precision may begin where what its roundings add up to (`spread`) times so
 * much is the tolerance, and never where that is assumed to be less than so many roundings of the
 * residual. Measured on operators of condition 1e2 to 1e4 (tests/test_multishift,
 * tests/ranks/test_multishift), they come to 0.4 to 3 times `spread`. */
static const double sloppy_margin = 8, sloppy_least = 128;

/* ---- the run ---- */

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

/* Goes on with the precision of `to`, the step that ended it before made whole. */
static kaon_status go_on(kaon_multishift *s, const kaon_shift_level *from, kaon_shift_level *to,
                         double relative) {
  resume_states(s, relative);
  KAON_TRY(kaon_scalars_write(s->scalars, s->host));
  KAON_TRY(kaon_shift_next_direction(s, from->v));
  KAON_TRY(kaon_shift_look(s));
  if (to->v != from->v) {
    KAON_TRY(kaon_vector_copy(to->v->r, from->v->r));
    KAON_TRY(kaon_vector_copy(to->v->p, from->v->p));
    KAON_TRY(kaon_vector_copy(to->v->P, from->v->P));
    KAON_TRY(kaon_vector_zero(to->v->X));
  }
  return kaon_shift_process(s, to);
}

/* What roundings of one unit in all applications from here on leave in the residual, over the
 * residual: |A| times what x has still to go. The first by the diagonal of Lanczos' matrix; of the
 * second a step goes alpha |p|, and the residual falls by e in so many steps as it did so far, on
 * the average. Larger shifts have shorter ways. */
static kaon_status find_spread(kaon_multishift *s, const kaon_shift_level *w, double *spread) {
  const kaon_column_state *base = &s->host[0];
  const double r2 = base->slot[KAON_S_R2][0], largest = base->slot[KAON_S_LARGEST][0];
  const double steps = 2 * base->iterations / log(s->b2 / r2);
  double p2;
  KAON_TRY(kaon_shift_norms(s, w->v->p, &p2));
  *spread = largest * base->slot[KAON_S_ALPHA][0] * sqrt(p2 / r2) * steps;
  return KAON_OK;
}

static kaon_status begin(kaon_multishift *s, double relative) {
  const kaon_shift_vectors *v = &s->outer;
  begin_states(s, s->b2, relative);
  KAON_TRY(kaon_vector_zero(v->X));
  KAON_TRY(kaon_vector_zero(v->P));
  KAON_TRY(kaon_vector_copy(v->r, s->b));
  KAON_TRY(kaon_vector_copy(v->p, s->b));
  KAON_TRY(kaon_blas_shifted(KAON_NUMBER(0), v->P, v->X, s->b, KAON_NUMBER(0), NULL));
  return kaon_shift_process(s, &s->level[0]);
}

/* 1: the process came down to `relative`, and has further to go. */
static int goes_on(const kaon_multishift *s, double relative) {
  return s->host[0].reason == KAON_WAIT_STOP && relative > s->options.tol;
}

/* The residual at which a process at this level may begin. */
static double begins_at(const kaon_multishift *s, const kaon_shift_level *w, double spread) {
  const double bound = s->options.tol / w->unit;
  return fmin(1, bound / fmax(sloppy_least, sloppy_margin * spread));
}

static kaon_status run(kaon_multishift *s) {
  const double tol = s->options.tol;
  double spread = 0;
  for (int l = 0; l < s->levels; l++) {
    kaon_shift_level *w = &s->level[l], *next = l + 1 < s->levels ? w + 1 : NULL;
    double between = next != NULL ? begins_at(s, next, spread) : 0;
    KAON_TRY(l == 0 ? begin(s, fmax(between, tol)) : go_on(s, w - 1, w, fmax(between, tol)));
    if (next != NULL && goes_on(s, between)) {
      KAON_TRY(find_spread(s, w, &spread));
      if (begins_at(s, next, spread) < between) {
        between = begins_at(s, next, spread);
        KAON_TRY(go_on(s, w, w, fmax(between, tol)));
      }
    }
    KAON_TRY(kaon_shift_gather(s, w, NULL));
    if (!goes_on(s, between)) break;
  }
  return KAON_OK;
}

/* ---- what came of it ---- */

kaon_status kaon_shift_residuals(kaon_multishift *s) {
  const kaon_shift_vectors *v = &s->outer;
  kaon_operator *A = s->level[0].A;
  kaon_pass pass = kaon_shift_pass(&s->shifts, KAON_NO_SLOT, KAON_REC_NONE);
  for (int k = 1; k <= s->n; k++) s->host[k].gate = KAON_GATE_STEP;
  KAON_TRY(kaon_scalars_write(s->scalars, s->host));
  if (s->options.normal) {
    KAON_TRY(kaon_operator_run(A, KAON_PLAIN, v->X, s->several, NULL));
    KAON_TRY(kaon_operator_run(A, KAON_DAGGER, s->several, v->P, NULL));
  } else {
    KAON_TRY(kaon_operator_run(A, KAON_PLAIN, v->X, v->P, NULL));
  }
  s->applications += 1 + s->options.normal;
  KAON_TRY(kaon_blas_axpy(KAON_PLUS(KAON_S_SIGMA_WHOLE), v->X, v->P, &pass));
  KAON_TRY(kaon_blas_shifted(KAON_NUMBER(0), v->P, v->X, s->b, KAON_NUMBER(-1), NULL));
  return kaon_shift_norms(s, v->P, s->norm2);
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

/* Takes the residuals of s->norm2 into the reports; missed[i]: beyond 1.1 times the tolerance,
 * which counts as in the other solvers. Returns how many those are. */
static int take_residuals(const kaon_multishift *s, int *missed, kaon_column_report *reports) {
  int count = 0;
  for (int i = 0; i < s->n; i++) {
    kaon_column_report *r = &reports[i];
    r->residual = r->stop_residual = sqrt(s->norm2[i] / s->b2);
    missed[i] = !(r->residual <= 1.1 * s->options.tol);
    if (!missed[i]) r->reason = KAON_CONVERGED;
    count += missed[i];
  }
  return count;
}

/* One right-hand side. */
static kaon_status solve(kaon_multishift *s, const kaon_vector *b, double b2, kaon_vector *x,
                         kaon_column_report *reports) {
  int missed[KAON_MULTISHIFT_MAX];
  memset(reports, 0, (size_t)s->n * sizeof *reports);
  if (b2 == 0) {
    for (int i = 0; i < s->n; i++) reports[i].reason = KAON_CONVERGED;
    return kaon_vector_zero(x);
  }
  s->b = b;
  s->b2 = b2;
  s->outer.X = x;
  KAON_TRY(run(s));
  const kaon_column_state ended = s->host[0];
  for (int i = 0; i < s->n; i++) {
    reports[i].iterations = s->host[1 + i].iterations;
    reports[i].reason = reason_of(&ended);
    if (reports[i].reason == KAON_BREAKDOWN) reports[i].breakdown = (kaon_breakdown)ended.cause;
  }
  KAON_TRY(kaon_shift_residuals(s));
  if (take_residuals(s, missed, reports) == 0 || ended.reason != KAON_WAIT_STOP || s->levels == 1)
    return KAON_OK;
  KAON_TRY(kaon_shift_refine(s, missed, reports));
  KAON_TRY(kaon_shift_residuals(s));
  take_residuals(s, missed, reports);
  return KAON_OK;
}

/* Right-hand side j of several, by vectors of one. x has shift i's solution of it in column i c +
 * j, c being their number. */
static kaon_status solve_turn(kaon_multishift *s, const kaon_vector *b, int j, double b2,
                              kaon_vector *x, double *room, kaon_column_report *reports) {
  kaon_column_report own[KAON_MULTISHIFT_MAX];
  KAON_TRY(kaon_shift_move(b, j, s->one, 0, room));
  KAON_TRY(solve(s, s->one, b2, s->all, own));
  for (int i = 0; i < s->n; i++) {
    KAON_TRY(kaon_shift_move(s->all, i, x, i * b->nrhs + j, room));
    if (reports != NULL) reports[i * b->nrhs + j] = own[i];
  }
  return KAON_OK;
}

static kaon_status take_turns_memory(kaon_multishift *s, const kaon_vector *b, double **room) {
  const kaon_operator *A = s->level[0].A;
  void *memory = NULL;
  if (s->one == NULL) KAON_TRY(kaon_vector_create(s->ctx, A->space, A->precision, 1, &s->one));
  if (s->all == NULL) KAON_TRY(kaon_vector_create(s->ctx, A->space, A->precision, s->n, &s->all));
  KAON_TRY(kaon_pool_take(s->ctx, kaon_shift_room(b->space) * sizeof **room, "a column on its way",
                          &memory));
  *room = memory;
  return KAON_OK;
}

static kaon_status solve_turns(kaon_multishift *s, const kaon_vector *b, const double *b2,
                               kaon_vector *x, kaon_column_report *reports) {
  double *room = NULL;
  kaon_status status = kaon_agree(s->ctx, take_turns_memory(s, b, &room));
  for (int j = 0; j < b->nrhs && status == KAON_OK; j++)
    status = solve_turn(s, b, j, b2[j], x, room, reports);
  kaon_pool_give(s->ctx, room);
  return status;
}

static kaon_status check_vectors(const kaon_multishift *s, const kaon_vector *b,
                                 const kaon_vector *x) {
  const kaon_operator *A = s->level[0].A;
  if (b == NULL || x == NULL)
    return kaon_fail(s->ctx, KAON_ERR_ARGUMENT, "multishift: b and x are needed");
  if (b->space != A->space || x->space != A->space)
    return kaon_fail(s->ctx, KAON_ERR_SHAPE,
                     "multishift: b and x must be of the operator's space; a source of the system "
                     "that it is a reduction of goes through kaon_operator_prepare");
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

static kaon_status check_norms(const kaon_multishift *s, const double *b2, int columns) {
  for (int j = 0; j < columns; j++)
    if (!isfinite(b2[j]))
      return kaon_fail(s->ctx, KAON_ERR_NOT_FINITE,
                       "multishift: column %d of b holds NaN or infinity, or its norm overflows",
                       j);
  return KAON_OK;
}

static kaon_status solve_columns(kaon_multishift *s, const kaon_vector *b, double *b2,
                                 kaon_vector *x, kaon_column_report *reports) {
  kaon_column_report own[KAON_MULTISHIFT_MAX];
  KAON_TRY(b->nrhs > 1 ? kaon_vector_norm2(b, b2) : kaon_shift_norms(s, b, b2));
  KAON_TRY(check_norms(s, b2, b->nrhs));
  s->applications = 0;
  s->repeated = (kaon_traffic){0};
  s->issued = kaon_separate(s->ctx) ? s->ctx->options.issue : KAON_ISSUE_PLAIN;
  const kaon_status status = b->nrhs > 1 ? solve_turns(s, b, b2, x, reports)
                                         : solve(s, b, b2[0], x, reports != NULL ? reports : own);
  s->outer.X = NULL;
  return status;
}

kaon_status kaon_multishift_solve(kaon_multishift *s, const kaon_vector *b, kaon_vector *x,
                                  kaon_column_report *reports, kaon_solve_report *report) {
  if (s == NULL) return kaon_fail(NULL, KAON_ERR_ARGUMENT, "multishift: the solver is NULL");
  const double begin_time = kaon_solver_clock();
  const kaon_traffic before = s->ctx->comm->traffic;
  KAON_TRY(kaon_agree(s->ctx, check_vectors(s, b, x)));
  double *b2 = calloc((size_t)b->nrhs, sizeof *b2);
  kaon_status status = b2 != NULL ? KAON_OK
                                  : kaon_fail(s->ctx, KAON_ERR_MEMORY,
                                              "multishift: no host memory for %d norms", b->nrhs);
  status = kaon_agree(s->ctx, status);
  if (status == KAON_OK) status = solve_columns(s, b, b2, x, reports);
  free(b2);
  KAON_TRY(status);
  if (report == NULL) return KAON_OK;
  *report = (kaon_solve_report){.seconds = kaon_solver_clock() - begin_time,
                                .applications = s->applications,
                                .flops = s->flops * s->applications,
                                .traffic = kaon_traffic_since(s->ctx, &before),
                                .issue = s->issued,
                                .fused = s->issued < KAON_ISSUE_SEPARATE};
  report->traffic.sums += s->repeated.sums;
  report->traffic.exchanges += s->repeated.exchanges;
  report->traffic.bytes += s->repeated.bytes;
  return KAON_OK;
}
