/* replay.c - steps in recorded blocks, where the backend offers them (lib/core/backend.h).
 *
 * The host issues one launch for many steps and requests a poll after it. Then it enqueues the next
 * launch and sleeps until the poll arrives. The device always has work, and steps after the end
 * find every gate closed.
 *
 * A block is a cycle, or the steps between two flushes. It is half of those steps in two cases:
 * - several columns: a column that waits idles to the end of its block;
 * - kernel lists, whose length is limited (lib/core/backend.h).
 * Columns are served only between blocks and count the steps to their next flush from there. So all
 * flushes are due at the end of a block, and no step has to check for them.
 *
 * Recorded addresses are valid while the same vectors are bound and no block of memory has been
 * released. Recorded launches are valid while the context's tuning stays. They hold numbers, such
 * as the interval of a polynomial. When an operator changes, such numbers are recomputed in memory
 * that is released afterwards, which makes the recordings invalid. */
#include <math.h>

#include "solvers/engine/runner.h"

enum { BLOCK_STEPS = 8 };

/* The host sleeps this long between polls, or for check_interval steps if that is longer, but never
 * longer than the second value. */
static const double poll_seconds = 0.01, longest_poll_seconds = 0.2;

/* Forms that use a list of a step's kernels. Not every step has one; then the form is AUTO. */
static int is_listed(kaon_issue form) {
  return form == KAON_ISSUE_CDP || form == KAON_ISSUE_PERSISTENT;
}

int kaon_solver_block(const kaon_solver *s) {
  const int half = s->columns > 1 || is_listed(s->ctx->lab.issue) ? 2 : 1;
  return s->process.cycle > 0   ? s->process.cycle
         : s->process.flush > 0 ? s->process.flush / half
                                : BLOCK_STEPS;
}

static kaon_status steps(void *user) {
  kaon_solver *s = user;
  const kaon_traffic before = s->ctx->comm->traffic;
  for (int i = 0; i < s->replay.block; i++) {
    KAON_TRY(s->method->step(s, s->process.cycle > 0 ? i : 0));
    const int flushes =
        s->process.flush > 0 && ((i + 1) % s->process.flush == 0 || i + 1 == s->replay.block);
    if (flushes) KAON_TRY(kaon_runner_flush(s));
  }
  s->replay.of_block = kaon_traffic_since(s->ctx, &before);
  return KAON_OK;
}

static kaon_status service(void *user) {
  kaon_solver *s = user;
  const kaon_traffic before = s->ctx->comm->traffic;
  s->replay.recording = 1;
  const kaon_status status = kaon_service_run(s);
  s->replay.recording = 0;
  s->replay.of_service = kaon_traffic_since(s->ctx, &before);
  return status;
}

/* Steps so far of the column that took most of them, as polls have seen them. */
static int64_t steps_seen(const kaon_solver *s) {
  int64_t most = 0;
  for (int k = 0; k < s->columns; k++)
    if (s->history.column[k].count - 1 > most) most = s->history.column[k].count - 1;
  return most;
}

/* Traffic of the steps and services of the column that took most of them. before: its steps when
 * they began. Steps after its end find every gate closed and are not counted. */
static void count_traffic(kaon_solver *s, int64_t before) {
  const int64_t steps = steps_seen(s) - before;
  int64_t served = 0;
  for (int k = 0; k < s->columns; k++)
    if (s->states.host[k].updates > served && s->deflation == NULL)
      served = s->states.host[k].updates;
  const kaon_traffic *b = &s->replay.of_block, *v = &s->replay.of_service;
  kaon_traffic *all = &s->solve.repeated;
  all->sums += b->sums * steps / s->replay.block + v->sums * served;
  all->exchanges += b->exchanges * steps / s->replay.block + v->exchanges * served;
  all->bytes += b->bytes * steps / s->replay.block + v->bytes * served;
  all->hidden += b->hidden * steps / s->replay.block + v->hidden * served;
  all->ahead += b->ahead * steps / s->replay.block + v->ahead * served;
}

/* ---- the recording ---- */

/* Where a residual of the parent is computed, recorded services use the user's b and x (service.c),
 * else the system's. Those of shifts read no b. */
static kaon_recorded now(const kaon_solver *s) {
  const int heavy = kaon_solver_heavy_of_parent(s);
  const int ends = (heavy || kaon_solver_monitors_residual(s)) && s->solve.b != NULL;
  const kaon_vector *b = ends ? s->solve.b : s->outer.b;
  return (kaon_recorded){.b = kaon_view_of(s->shifts != NULL ? NULL : b),
                         .x = kaon_view_of(heavy ? s->solve.x : s->outer.x),
                         .given = kaon_pool_release_count(s->ctx->pool),
                         .tunings = s->ctx->tunings,
                         .reduces = s->solve.reduces,
                         .block = s->replay.block,
                         .form = s->replay.recorded.form};
}

int kaon_recorded_same(const kaon_recorded *a, const kaon_recorded *b) {
  return a->b.data == b->b.data && a->b.scale == b->b.scale && a->x.data == b->x.data &&
         a->x.scale == b->x.scale && a->given == b->given && a->tunings == b->tunings &&
         a->reduces == b->reduces && a->block == b->block;
}

static int recording_valid(const kaon_solver *s) {
  const kaon_recorded this = now(s);
  return s->replay.recorded.form != KAON_ISSUE_AUTO &&
         kaon_recorded_same(&s->replay.recorded, &this);
}

kaon_issue kaon_replay_most(const kaon_context *ctx) {
  return ctx->backend->ranks != NULL ? ctx->backend->ranks->recordable(ctx) : KAON_ISSUE_WHILE;
}

int kaon_replay_possible(const kaon_solver *s) {
  return s->replay.recorder != NULL && !s->replay.unrecordable &&
         kaon_replay_most(s->ctx) > KAON_ISSUE_PLAIN;
}

/* 1: columns that wait are served when the host sees them. */
static int host_services(const kaon_solver *s) {
  return s->replay.recorded.form == KAON_ISSUE_REPLAY || s->replay.recorded.form == KAON_ISSUE_CDP;
}

int kaon_replay_loops(const kaon_solver *s) {
  const kaon_issue form = s->replay.recorded.form;
  return recording_valid(s) && (form == KAON_ISSUE_WHILE || form == KAON_ISSUE_PERSISTENT);
}

/* The requested form, or AUTO if that form cannot list the steps. */
static kaon_issue wanted_form(const kaon_solver *s) {
  const kaon_issue wanted = s->ctx->lab.issue;
  return is_listed(wanted) && s->replay.unlisted ? KAON_ISSUE_AUTO : wanted;
}

kaon_status kaon_replay_record_whole(kaon_solver *s, kaon_status (*before)(void *),
                                     kaon_status (*after)(void *)) {
  const kaon_loop loop = {.steps = steps,
                          .service = service,
                          .user = s,
                          .state = s->states.scalars->state,
                          .before = before,
                          .after = after,
                          .norms = s->states.sums->state};
  const kaon_traffic sent = s->ctx->comm->traffic; /* recording sends nothing */
  const kaon_status status =
      s->ctx->backend->record->record(s->launch.whole, &loop, s->replay.recorded.form);
  s->ctx->comm->traffic = sent;
  return status;
}

/* Records the loop in the form that needs the host least and is allowed and possible. With
 * deflation blocks are replayed, and the host serves between them. Collective. */
static kaon_status record(kaon_solver *s) {
  kaon_context *ctx = s->ctx;
  const kaon_loop loop = {
      .steps = steps, .service = service, .user = s, .state = s->states.scalars->state};
  const kaon_traffic before = ctx->comm->traffic; /* recording sends nothing */
  const kaon_issue most = kaon_replay_most(ctx), wanted = wanted_form(s);
  const int beyond = wanted == KAON_ISSUE_TAIL || is_listed(wanted);
  const kaon_issue first = most == KAON_ISSUE_WHILE && beyond ? wanted : most;
  kaon_status status = KAON_ERR_UNSUPPORTED;
  s->replay.recorded.form = KAON_ISSUE_AUTO;
  for (int form = first; form >= KAON_ISSUE_REPLAY && status != KAON_OK; form--) {
    if (wanted != KAON_ISSUE_AUTO && (int)wanted != form) continue;
    if (s->deflation != NULL && form != KAON_ISSUE_REPLAY) continue;
    status =
        kaon_agree(ctx, ctx->backend->record->record(s->replay.recorder, &loop, (kaon_issue)form));
    if (status == KAON_OK) s->replay.recorded.form = (kaon_issue)form;
  }
  ctx->comm->traffic = before;
  if (status == KAON_OK) s->replay.recorded = now(s);
  if (wanted != KAON_ISSUE_AUTO && (int)wanted > (int)first)
    kaon_fail(
        ctx, status,
        "solver: steps cannot be issued as asked for: with sums and messages over ranks, blocks of "
        "steps can be replayed but not run by the device; choose issue auto or another transport");
  return status;
}

/* If a requested form cannot list the steps, another one is used. */
static kaon_status record_any(kaon_solver *s) {
  kaon_status status = record(s);
  kaon_scalars_drop_deferred(s->states.scalars); /* in case it failed within a step */
  if (status != KAON_OK && is_listed(wanted_form(s))) {
    const char *const form = wanted_form(s) == KAON_ISSUE_CDP ? "cdp" : "persistent";
    kaon_log(s->ctx, KAON_LOG_WARNING,
             "solver: issue=%s does not apply to this solve, which continues with auto: %s", form,
             kaon_last_error(s->ctx));
    kaon_error_clear();
    s->replay.unlisted = 1;
    status = record(s);
    kaon_scalars_drop_deferred(s->states.scalars);
  }
  if (status != KAON_OK)
    kaon_log(s->ctx, KAON_LOG_DEBUG, "solver: steps are launched one by one, without replay: %s",
             kaon_last_error(s->ctx));
  return status;
}

/* ---- the loop ---- */

/* Steps that the slowest column still needs, extrapolated from the second half of its history. 0:
 * nothing is known yet. */
static double steps_left(const kaon_solver *s) {
  double most = 0;
  for (int k = 0; k < s->columns; k++) {
    const kaon_column_history *h = &s->history.column[k];
    const int last = h->count - 1, middle = h->count / 2;
    if ((s->states.host[k].gate & KAON_GATE_STEP) == 0 || last <= middle) continue;
    const double drop = log(h->residual[middle] / h->residual[last]);
    const double left = (last - middle) * log(h->residual[last] / s->options.tol) / drop;
    if (drop > 0 && left > most) most = left;
  }
  return most;
}

/* Blocks until the next poll. A loop on the device ends by itself. Replayed blocks after a column's
 * end find its gate closed. Two launches are enqueued at a time, so each gets half of the steps
 * that seem to be left. Where columns are going to wait, a launch is one block. */
static int blocks_until_poll(const kaon_solver *s, const kaon_step_rate *p) {
  const int most = (KAON_HISTORY - 1) / s->replay.block;
  double steps = s->options.check_interval;
  if (p->rate <= 0) return 1;
  if (steps * p->rate > longest_poll_seconds) steps = longest_poll_seconds / p->rate;
  if (steps * p->rate < poll_seconds) steps = poll_seconds / p->rate;
  if (s->replay.recorded.form == KAON_ISSUE_REPLAY) {
    const double left = s->process.delta > 0 || s->process.cycle > 0 ? 0 : 0.5 * steps_left(s);
    if (left < steps) steps = left;
  }
  const double blocks = ceil(steps / s->replay.block);
  return blocks >= most ? most : blocks > 1 ? (int)blocks : 1;
}

/* Enqueues another launch and a poll after it. If `ends`, it also enqueues the solve's end and its
 * norms between the two, since all columns are expected to have ended by then. */
static kaon_status issue(kaon_solver *s, const kaon_step_rate *p, int number, int ends) {
  const kaon_record_ops *ops = s->ctx->backend->record;
  KAON_TRY(ops->run(s->replay.recorder, blocks_until_poll(s, p)));
  if (ends) {
    KAON_TRY(kaon_solver_end_early(s));
    KAON_TRY(ops->post(s->replay.recorder, s->states.sums->state, 1 - number));
  }
  KAON_TRY(ops->post(s->replay.recorder, s->states.scalars->state, number));
  return KAON_OK;
}

/* The first launch and a poll after it, with the same end between them. */
static kaon_status issue_first(kaon_solver *s, const kaon_step_rate *p, int ended_at_first_poll) {
  if (s->launch.single) return kaon_solve_launch_issue(s, blocks_until_poll(s, p));
  return issue(s, p, 0, ended_at_first_poll && kaon_solver_can_end_early(s));
}

/* Steps since the last poll, of the column that took most of them. */
static int new_steps(const kaon_solver *s) {
  int most = 0;
  for (int k = 0; k < s->columns; k++) {
    const int n = s->states.host[k].iterations + 1 - s->history.column[k].count;
    if (n > most) most = n;
  }
  return most;
}

/* status: of what was issued since the last poll; ranks fail together. refused: for the first poll,
 * else NULL. */
static kaon_status poll_states(kaon_solver *s, kaon_status status, kaon_step_rate *p, int number,
                               int *cancel, int *refused) {
  kaon_recorder *posted =
      refused != NULL && s->launch.single ? s->launch.whole : s->replay.recorder;
  if (status == KAON_OK) status = s->ctx->backend->record->wait(posted, number, s->states.host);
  if (status == KAON_OK && refused != NULL && s->launch.single) { /* only on one rank */
    kaon_solve_launch_poll(s, refused);
    if (*refused) return KAON_OK;
  }
  if (status == KAON_OK) p->steps = new_steps(s);
  if (status == KAON_OK) status = kaon_history_drain(s, cancel);
  return kaon_runner_agree(s, status, p, cancel);
}

/* Deflation reads values on the host, so its services are not recorded. */
static kaon_status service_waiting(kaon_solver *s) {
  return s->deflation != NULL ? kaon_service_run(s)
                              : s->ctx->backend->record->service_waiting(s->replay.recorder);
}

/* Launches and polls in turn. A poll shows the time before the next launch was enqueued: it can
 * still show columns as waiting that a service has treated meanwhile. If the last solve had ended
 * at its first poll, no second launch is enqueued before that poll. The end of the solve is, if
 * there is one. */
static kaon_status drive(kaon_solver *s, int *cancel, int *over) {
  const int serves = host_services(s);
  const int ended_at_first_poll =
      s->replay.ended_at_first_poll && !serves && s->ctx->comm->ranks == 1;
  int patience = 0, served = 0, issued = 1;
  kaon_step_rate p = kaon_step_rate_begin();
  p.rate = s->replay.rate;
  s->replay.ended_at_first_poll = 0;
  kaon_status status = issue_first(s, &p, ended_at_first_poll);
  for (int number = 0;; number = 1 - number) {
    if (status == KAON_OK && (issued > 1 || !ended_at_first_poll))
      status = issue(s, &p, 1 - number, 0);
    KAON_TRY(poll_states(s, status, &p, number, cancel, issued == 1 ? over : NULL));
    if (*over) return KAON_OK;
    s->replay.rate = p.rate;
    const kaon_columns_now n = kaon_columns_count(s);
    if (n.stepping + n.waiting == 0) {
      s->replay.ended_at_first_poll = issued == 1;
      *over = 1;
      return KAON_OK;
    }
    s->solve.ended_early = 0;
    if (*cancel) return KAON_OK;
    if (issued++ == 1 && ended_at_first_poll) status = issue(s, &p, 1 - number, 0);
    const int old = served;
    served = serves && !old && kaon_runner_service_due(s, n, 1, &patience);
    if (served) status = service_waiting(s);
  }
}

/* Addresses differ from rank to rank, but all ranks must decide alike. */
static kaon_status recording_valid_everywhere(const kaon_solver *s, int *good) {
  double count = recording_valid(s);
  KAON_TRY(kaon_comm_sum(s->ctx, &count, 1));
  *good = count == s->ctx->comm->ranks;
  return KAON_OK;
}

kaon_status kaon_replay_run(kaon_solver *s, int *cancel, int *over) {
  const int64_t before = steps_seen(s);
  int good = 0;
  KAON_TRY(recording_valid_everywhere(s, &good));
  if (!good) {
    const kaon_status status = record_any(s);
    if (status != KAON_OK) {
      kaon_error_clear(); /* plain issue reports the error, if there is one */
      s->replay.unrecordable = status == KAON_ERR_UNSUPPORTED;
      return KAON_OK;
    }
  }
  s->solve.issued = s->replay.recorded.form;
  KAON_TRY(drive(s, cancel, over));
  count_traffic(s, before);
  return KAON_OK;
}
