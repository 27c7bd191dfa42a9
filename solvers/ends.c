/* ends.c - what a solve does before and after its loop, recorded: a solver that is used again with
 * the same vectors issues its beginning, its first service (from x = 0) and its end as one launch
 * each. A short solve is full of such launches: they cost the processor more than all of its steps.
 *
 * Recordings hold for the same vectors, memory and launch choices (replay.c), and are made when
 * these are met for the second time. Whether operators are stale is asked at each solve. */
#include "solvers/runner.h"

static kaon_recorded now(const kaon_solver *s) {
  return (kaon_recorded){.b = kaon_view_of(s->end_b),
                         .x = kaon_view_of(s->end_x),
                         .given = kaon_pool_given(s->ctx->pool),
                         .tunings = s->ctx->tunings,
                         .reduces = s->reduces};
}

static int can_check(const kaon_operator *A) {
  return A->ops->check != NULL;
}

/* K, where the first service applies it. */
static kaon_operator *cook(const kaon_solver *s) {
  return s->method->cooks_at_start > 0 ? s->K : NULL;
}

/* Operators whose state can be asked for without an application, on one rank. */
static int possible(const kaon_solver *s) {
  return s->before_after != NULL && kaon_replay_possible(s) && s->ctx->comm->ranks == 1 &&
         s->options.tol > 0 && !s->ends_unrecordable && can_check(s->system) &&
         can_check(s->inner) && (cook(s) == NULL || can_check(s->K)) &&
         (!s->reduces || can_check(s->system->reduction->parent));
}

static kaon_status check(const kaon_solver *s) {
  KAON_TRY(s->system->ops->check(s->system));
  KAON_TRY(s->inner->ops->check(s->inner));
  if (cook(s) != NULL) KAON_TRY(s->K->ops->check(s->K));
  if (!s->reduces) return KAON_OK;
  return s->system->reduction->parent->ops->check(s->system->reduction->parent);
}

static kaon_status begin(void *user) {
  return kaon_solver_issue_begin(user);
}

static kaon_status end(void *user) {
  return kaon_solver_issue_end(user);
}

static kaon_status first_service(void *user) {
  kaon_solver *s = user;
  s->zero_guess = s->recording = 1;
  const kaon_status status = kaon_service_run(s);
  s->recording = 0;
  return status;
}

static kaon_status nothing(void *user) {
  (void)user;
  return KAON_OK;
}

static kaon_status record(kaon_solver *s) {
  const kaon_record_ops *ops = s->ctx->backend->record;
  const kaon_loop ends = {begin, end, s, s->scalars->state};
  const kaon_loop first = {first_service, nothing, s, s->scalars->state};
  const kaon_traffic before = s->ctx->comm->traffic; /* recording sends nothing */
  kaon_status status = ops->record(s->before_after, &ends, KAON_ISSUE_REPLAY);
  if (status == KAON_OK) status = ops->record(s->first, &first, KAON_ISSUE_REPLAY);
  s->of_ends = kaon_traffic_since(s->ctx, &before);
  s->ctx->comm->traffic = before;
  return status;
}

static void replays(kaon_solver *s) {
  s->replays_ends = 1;
  s->repeated.sums += s->of_ends.sums; /* one rank sends nothing */
}

kaon_status kaon_ends_begin(kaon_solver *s) {
  const kaon_recorded this = now(s);
  s->replays_ends = 0;
  if (!possible(s)) return KAON_OK;
  if (s->ends.form != KAON_ISSUE_AUTO && kaon_recorded_same(&s->ends, &this)) {
    replays(s);
    return check(s);
  }
  const int again = kaon_recorded_same(&s->seen, &this);
  s->seen = this;
  s->ends.form = KAON_ISSUE_AUTO;
  if (!again) return KAON_OK;
  const kaon_status status = record(s);
  if (status != KAON_OK) {
    kaon_log(s->ctx, KAON_LOG_DEBUG, "solver: begin and end are issued plainly: %s",
             kaon_last_error(s->ctx));
    kaon_error_forget(s->ctx);
    s->ends_unrecordable = status == KAON_ERR_UNSUPPORTED;
    return KAON_OK;
  }
  s->ends = this;
  s->ends.form = KAON_ISSUE_REPLAY;
  replays(s);
  return KAON_OK;
}
