/* solve_launch.c - records what a solve does before and after its loop.
 *
 * A solver that is used again with the same vectors issues its beginning, its first service (from x
 * = 0) and its end as one launch each. In a short solve these launches cost the processor more than
 * all steps.
 *
 * If the last solve began from x = 0 and had ended at its first poll, the next one is a single
 * launch (single_launch). The host waits once, for the end. The device computes the states from the
 * norms, starting from states prepared beforehand (lib/math/steps/start.h). If the norms are not as
 * expected, nothing is done, x is untouched, and the solve begins in the ordinary way.
 *
 * Recordings are valid for the same vectors, memory and launch choices (replay.c). They are made
 * when these are met for the second time, if the loop could be recorded. */
#include <float.h>
#include <math.h>

#include "lib/math/steps/start.h"
#include "solvers/engine/runner.h"

static kaon_recorded now(const kaon_solver *s) {
  return (kaon_recorded){.b = kaon_view_of(s->solve.b),
                         .x = kaon_view_of(s->solve.x),
                         .given = kaon_pool_release_count(s->ctx->pool),
                         .tunings = s->ctx->tunings,
                         .reduces = s->solve.reduces};
}

/* 1: such a launch is possible. It needs one rank. */
static int possible(const kaon_solver *s) {
  return s->launch.before_after != NULL && kaon_replay_possible(s) && s->ctx->comm->ranks == 1 &&
         s->null.count == 0 && /* the host looks at products with b before the first step */
         s->options.tol > 0 && !s->launch.unrecordable;
}

static kaon_status begin(void *user) {
  return kaon_solver_issue_begin(user);
}

static kaon_status end(void *user) {
  return kaon_solver_issue_end(user);
}

static kaon_status first_service(void *user) {
  kaon_solver *s = user;
  s->solve.zero_guess = s->replay.recording = 1;
  const kaon_status status = kaon_service_run(s);
  s->replay.recording = 0;
  return status;
}

static kaon_status all_before_the_steps(void *user) {
  kaon_solver *s = user;
  const kaon_norm_range norm_range = kaon_solver_norm_range(s);
  const int scales = s->solve.b->precision == KAON_DOUBLE;
  const kaon_start start = {
      .prepared = s->launch.prepared->state,
      .norms = s->states.sums->state,
      .b = KAON_OF_B,
      .x = KAON_OF_X,
      .source = kaon_solver_source_slot(s),
      .least = scales ? fmax(norm_range.least, kaon_least_norm2(s->options.tol)) : DBL_MIN,
      .most = scales ? norm_range.most : DBL_MAX,
      .state = s->states.scalars->state,
      .columns = s->columns};
  s->solve.zero_guess = 1;
  KAON_TRY(kaon_solver_issue_begin(s));
  KAON_TRY(kaon_solver_issue_guess(s));
  KAON_TRY(s->ctx->backend->record->start(s->ctx, &start));
  return first_service(s);
}

static kaon_status nothing(void *user) {
  (void)user;
  return KAON_OK;
}

static kaon_status record(kaon_solver *s) {
  const kaon_record_ops *ops = s->ctx->backend->record;
  const kaon_loop ends = {
      .steps = begin, .service = end, .user = s, .state = s->states.scalars->state};
  const kaon_loop first = {
      .steps = first_service, .service = nothing, .user = s, .state = s->states.scalars->state};
  const kaon_traffic before = s->ctx->comm->traffic; /* recording sends nothing */
  kaon_status status = ops->record(s->launch.before_after, &ends, KAON_ISSUE_REPLAY);
  if (status == KAON_OK) status = ops->record(s->launch.first, &first, KAON_ISSUE_REPLAY);
  s->launch.of_begin_end = kaon_traffic_since(s->ctx, &before);
  s->ctx->comm->traffic = before;
  return status;
}

/* The device puts the norms into the prepared states. */
static kaon_status record_whole(kaon_solver *s) {
  for (int k = 0; k < s->columns; k++) s->states.norm2[k] = 1;
  kaon_solver_prepare_states(s);
  KAON_TRY(kaon_scalars_write(s->launch.prepared, s->states.host));
  return kaon_replay_record_whole(s, all_before_the_steps, kaon_solver_ends_behind(s) ? end : NULL);
}

/* 1: this solve can be a single launch, if it goes as the one before. */
static int can_single_launch(kaon_solver *s) {
  if (!s->replay.ended_at_first_poll || !s->solve.from_zero || s->deflation != NULL ||
      !kaon_replay_loops(s))
    return 0;
  if (s->launch.has_whole == 0) {
    s->launch.has_whole = record_whole(s) == KAON_OK ? 1 : -1;
    if (s->launch.has_whole < 0) {
      kaon_log(s->ctx, KAON_LOG_DEBUG, "solver: a solve is not issued as a single launch: %s",
               kaon_last_error(s->ctx));
      kaon_error_clear();
    }
  }
  return s->launch.has_whole > 0;
}

static void replays(kaon_solver *s) {
  s->launch.replays = 1;
  s->launch.single = can_single_launch(s);
  s->solve.repeated.sums += s->launch.of_begin_end.sums; /* one rank sends nothing */
}

kaon_status kaon_solve_launch_issue(kaon_solver *s, int blocks) {
  s->solve.ended_early = kaon_solver_ends_behind(s);
  return s->ctx->backend->record->run(s->launch.whole, blocks);
}

void kaon_solve_launch_poll(kaon_solver *s, int *refused) {
  *refused = 0;
  for (int k = 0; k < s->columns; k++) *refused |= kaon_start_refused(&s->states.host[k]);
  if (*refused) s->launch.single = s->solve.ended_early = 0;
  for (int k = 0; k < s->columns; k++) {
    s->states.norm2_full[k] = s->states.host[k].source;
    s->states.norm2[k] = s->states.host[k].reference;
  }
}

kaon_status kaon_solve_launch_prepare(kaon_solver *s) {
  const kaon_recorded this = now(s);
  s->launch.replays = s->launch.single = 0;
  if (!possible(s)) return KAON_OK;
  if (s->launch.ends.form != KAON_ISSUE_AUTO && kaon_recorded_same(&s->launch.ends, &this)) {
    replays(s);
    return KAON_OK;
  }
  const int again = kaon_recorded_same(&s->launch.seen, &this);
  s->launch.seen = this;
  s->launch.ends.form = KAON_ISSUE_AUTO;
  s->launch.has_whole = 0;
  if (!again || s->replay.recorded.form == KAON_ISSUE_AUTO) return KAON_OK;
  const kaon_status status = record(s);
  if (status != KAON_OK) {
    kaon_log(s->ctx, KAON_LOG_DEBUG, "solver: begin and end are launched without replay: %s",
             kaon_last_error(s->ctx));
    kaon_error_clear();
    s->launch.unrecordable = status == KAON_ERR_UNSUPPORTED;
    return KAON_OK;
  }
  s->launch.ends = this;
  s->launch.ends.form = KAON_ISSUE_REPLAY;
  replays(s);
  return KAON_OK;
}
