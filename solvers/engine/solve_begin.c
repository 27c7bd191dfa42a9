/* solve_begin.c - what a solve does before its run: it checks b and x, scales them if they are far
 * from 1, prepares the source and computes the initial guess. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "solvers/engine/method.h"

kaon_status kaon_solver_check_vectors(const kaon_solver *s, const kaon_vector *b,
                                      const kaon_vector *x) {
  const kaon_operator *A = s->A;
  if (b == NULL || x == NULL) return kaon_fail(s->ctx, KAON_ERR_ARGUMENT, "solve: b or x is NULL");
  if (b->space != x->space)
    return kaon_fail(s->ctx, KAON_ERR_SHAPE, "solve: b and x are of different spaces");
  if (b->space != A->space && (A->reduction == NULL || b->space != A->reduction->parent->space))
    return kaon_fail(s->ctx, KAON_ERR_SHAPE,
                     "solve: b has %lld sites of %d reals; wanted are vectors of the operator's "
                     "space (%lld sites of %d reals) or of the one that it is a reduction of",
                     (long long)b->space->nsites, b->space->ncomp, (long long)A->space->nsites,
                     A->space->ncomp);
  if (b->nrhs != s->columns || x->nrhs != s->columns * s->solutions)
    return kaon_fail(s->ctx, KAON_ERR_SHAPE,
                     "solve: b has %d columns and x %d, but the solver was made for %d and %d",
                     b->nrhs, x->nrhs, s->columns, s->columns * s->solutions);
  if (b->precision != A->precision || x->precision != A->precision)
    return kaon_fail(s->ctx, KAON_ERR_PRECISION,
                     "solve: b and x have precisions %d and %d but the operator %d (0 double, 1 "
                     "single, 2 half); convert with kaon_vector_copy",
                     (int)b->precision, (int)x->precision, (int)A->precision);
  if (b == x || b->data == x->data)
    return kaon_fail(s->ctx, KAON_ERR_ALIAS, "solve: b and x are the same vector; use two");
  return KAON_OK;
}

/* Sums |u|^2 and |v|^2 into slots of the solver's scalars, so a solve allocates no memory. u may be
 * v. */
static kaon_status compute_norms(const kaon_solver *s, const kaon_vector *u, int slot_u,
                                 const kaon_vector *v, int slot_v) {
  const int slots[3] = {KAON_NO_SLOT, u != v ? slot_u : KAON_NO_SLOT, slot_v};
  kaon_pass pass = KAON_PASS_INIT;
  pass.scalars = s->states.sums;
  return kaon_blas_dot(u, v, slots, &pass);
}

/* Refuses norms that are not finite. */
static kaon_status check_finite(const kaon_solver *s, const char *name, const double *norm2) {
  for (int k = 0; k < s->columns; k++)
    if (!isfinite(norm2[k]))
      return kaon_fail(s->ctx, KAON_ERR_NOT_FINITE,
                       "solve: |%s|^2 of column %d is %g; give finite numbers of moderate size",
                       name, k, norm2[k]);
  return KAON_OK;
}

static int all_zero(const kaon_solver *s, const double *norm2) {
  for (int k = 0; k < s->columns; k++)
    if (norm2[k] != 0) return 0;
  return 1;
}

static int any_zero(const kaon_solver *s, const double *norm2) {
  for (int k = 0; k < s->columns; k++)
    if (norm2[k] == 0) return 1;
  return 0;
}

/* The least |b|^2 for which squares of residuals within the tolerance keep all bits. It is far
 * above the least normal number, since each component may contribute one such rounding. */
double kaon_least_norm2(double tol) {
  const double smallest = 1e10 * DBL_MIN;
  return tol > 0 ? smallest / (tol * tol) : smallest;
}

/* *lost: the first column whose |b|^2 underflows to 0 although b is not 0; -1: none. */
static kaon_status find_underflow(const kaon_solver *s, const kaon_vector *b, int *lost) {
  kaon_vector *scaled = s->solve.reduces ? s->outer.full_r : s->outer.r;
  KAON_TRY(kaon_blas_copy(b, scaled, NULL));
  KAON_TRY(kaon_blas_scale(KAON_NUMBER(0x1p600), scaled, NULL));
  KAON_TRY(compute_norms(s, scaled, 0, scaled, KAON_OF_B));
  KAON_TRY(kaon_scalars_read(s->states.sums, s->states.sums_host));
  *lost = -1;
  for (int k = 0; k < s->columns && *lost < 0; k++)
    if (s->states.norm2_full[k] == 0 && s->states.sums_host[k].slot[KAON_OF_B][0] != 0) *lost = k;
  return KAON_OK;
}

/* Refuses a b so small that a residual's square would underflow before the tolerance is reached.
 * Vectors in single and half precision cannot be that small. */
static kaon_status check_small(const kaon_solver *s, const kaon_vector *b) {
  int lost = -1;
  if (b->precision != KAON_DOUBLE) return KAON_OK;
  if (any_zero(s, s->states.norm2_full)) KAON_TRY(find_underflow(s, b, &lost));
  for (int k = 0; k < s->columns && lost < 0; k++)
    if (s->states.norm2_full[k] != 0 && s->states.norm2_full[k] < kaon_least_norm2(s->options.tol))
      lost = k;
  if (lost < 0) return KAON_OK;
  return kaon_fail(
      s->ctx, KAON_ERR_NOT_FINITE,
      "solve: |b|^2 of column %d is %g, and squares of residuals of %g times |b| would "
      "be lost below %g; multiply b by a power of 2, and divide x by it",
      lost, s->states.norm2_full[lost], s->options.tol, 1e10 * DBL_MIN);
}

/* Sets s->outer.b and s->outer.x to the user's vectors, or to the system's copies. */
void kaon_solver_bind(kaon_solver *s) {
  const kaon_vector *b = s->solve.b;
  kaon_vector *x = s->solve.x;
  const kaon_reduction *reduction = s->system->reduction;
  s->solve.reduces = reduction != NULL && b->space == reduction->parent->space;
  const int own = s->solve.reduces || s->A->precision != s->system->precision;
  s->outer.b = own ? s->outer.own_b : b;
  s->outer.x = own ? s->outer.own_x : x;
  if (!s->process.mixed) s->x_inner = s->outer.x;
}

/* Computes the system's source. Puts the square that the chosen residual is relative to into
 * KAON_OF_SOURCE, unless that is |b|^2. */
static kaon_status prepare_source(kaon_solver *s) {
  const int other_precision = s->A->precision != s->system->precision;
  const kaon_vector *b = s->solve.b;
  if (s->solve.reduces) {
    if (other_precision) KAON_TRY(kaon_vector_copy(s->outer.user_b, b));
    KAON_TRY(s->system->reduction->prepare(s->system, other_precision ? s->outer.user_b : b,
                                           s->outer.own_b));
  } else if (other_precision) {
    KAON_TRY(kaon_vector_copy(s->outer.own_b, b));
  }
  if (s->options.stop == KAON_STOP_NORMAL) {
    const kaon_pass norm = kaon_solver_norm_pass(s, KAON_OF_SOURCE);
    return kaon_operator_run(s->system, KAON_DAGGER, s->outer.b, s->outer.chosen_r, &norm);
  }
  if (kaon_solver_source_slot(s) == KAON_OF_B) return KAON_OK;
  return compute_norms(s, s->outer.b, 0, s->outer.b, KAON_OF_SOURCE);
}

int kaon_solver_source_slot(const kaon_solver *s) {
  const int own = s->options.stop == KAON_STOP_NORMAL ||
                  (s->options.stop == KAON_STOP_REDUCED && s->solve.reduces);
  return own ? KAON_OF_SOURCE : KAON_OF_B;
}

kaon_status kaon_solver_issue_begin(kaon_solver *s) {
  const kaon_vector *guess = s->shifts != NULL ? s->solve.b : s->solve.x; /* shifts take none */
  KAON_TRY(compute_norms(s, guess, KAON_OF_X, s->solve.b, KAON_OF_B));
  KAON_TRY(prepare_source(s));
  return kaon_null_issue_source(s);
}

/* norm2: of the source that the chosen residual is relative to. */
static kaon_status source_norms(kaon_solver *s) {
  const int normal = s->options.stop == KAON_STOP_NORMAL;
  if (kaon_solver_source_slot(s) == KAON_OF_B) { /* the slot may hold the square of a scaled b */
    memcpy(s->states.norm2, s->states.norm2_full, (size_t)s->columns * sizeof *s->states.norm2);
    return KAON_OK;
  }
  kaon_solver_take_norms(s, KAON_OF_SOURCE, s->states.norm2);
  for (int k = 0; normal && s->solve.b->precision == KAON_DOUBLE && k < s->columns; k++)
    if (s->states.norm2[k] != 0 && s->states.norm2[k] < kaon_least_norm2(s->options.tol))
      return kaon_fail(
          s->ctx, KAON_ERR_NOT_FINITE,
          "solve: |A^dag b|^2 of column %d is %g, and squares of residuals of %g times "
          "|A^dag b| would be lost below %g; multiply A or b by a power of 2",
          k, s->states.norm2[k], s->options.tol, 1e10 * DBL_MIN);
  return check_finite(s, normal ? "A^dag b" : "reduced b", s->states.norm2);
}

/* Computes the system's guess from the user's x. */
kaon_status kaon_solver_issue_guess(kaon_solver *s) {
  kaon_vector *x = s->solve.x;
  const int other_precision = s->A->precision != s->system->precision;
  if (!s->solve.reduces) return other_precision ? kaon_vector_copy(s->outer.own_x, x) : KAON_OK;
  if (s->solve.zero_guess) return kaon_vector_zero(s->outer.own_x);
  if (other_precision) KAON_TRY(kaon_vector_copy(s->outer.user_x, x));
  return s->system->reduction->guess(s->system, other_precision ? s->outer.user_x : x,
                                     s->outer.own_x);
}

/* Replays the recorded beginning and reads its norms. The host sleeps for as long as the beginning
 * took the last time, since polling would cost more than all launches. */
static kaon_status replay_begin(kaon_solver *s) {
  const kaon_record_ops *ops = s->ctx->backend->record;
  KAON_TRY(ops->run(s->launch.before_after, 1));
  KAON_TRY(ops->post(s->launch.before_after, s->states.sums->state, 0));
  return ops->wait(s->launch.before_after, 0, s->states.sums_host);
}

/* Reads and checks the norms of s->solve.x and s->solve.b in one wait. */
static kaon_status inspect_end_norms(kaon_solver *s) {
  KAON_TRY(s->launch.replays ? replay_begin(s) : kaon_solver_issue_begin(s));
  if (!s->launch.replays) KAON_TRY(kaon_scalars_read(s->states.sums, s->states.sums_host));
  kaon_solver_take_norms(s, KAON_OF_X, s->states.norm2);
  kaon_solver_take_norms(s, KAON_OF_B, s->states.norm2_full);
  KAON_TRY(check_finite(s, "x", s->states.norm2));
  KAON_TRY(check_finite(s, "b", s->states.norm2_full));
  kaon_null_take_source(s);
  return check_small(s, s->solve.b);
}

kaon_norm_range kaon_solver_norm_range(const kaon_solver *s) {
  return kaon_norm_range_of(s->options.tol, s->process.mixed || s->K != NULL);
}

/* Replaces an out-of-range b by a scaled copy, and gives up recordings of the user's b. */
static kaon_status scale(kaon_solver *s) {
  KAON_TRY(kaon_scaling_begin(&s->solve.units, s->solve.b, s->solve.x, kaon_solver_norm_range(s),
                              s->states.norm2_full));
  s->solve.b = s->solve.units.b;
  s->launch.replays = 0;
  kaon_solver_bind(s);
  return inspect_end_norms(s);
}

kaon_status kaon_solver_begin(kaon_solver *s) {
  KAON_TRY(inspect_end_norms(s));
  if (s->solve.b->precision == KAON_DOUBLE &&
      kaon_norm_range_exceeded(kaon_solver_norm_range(s), s->states.norm2_full, s->columns))
    KAON_TRY(scale(s));
  s->solve.from_zero = s->shifts != NULL || all_zero(s, s->states.norm2) ||
                       (s->solve.reduces && s->system->reduction->guess == NULL);
  s->solve.zero_guess = s->solve.from_zero;
  KAON_TRY(source_norms(s));
  return kaon_solver_issue_guess(s);
}
