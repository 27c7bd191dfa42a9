/* runner.c - the main loop: it issues steps in blocks, polls the columns' states between blocks,
 * serves columns that wait, and ends when no column is open.
 *
 * A step never reads a value on the host, so only this file decides how steps are issued: one
 * operation after another, or in recorded blocks (replay.c) if backend and communicator allow it.
 * When the host polls affects only the time: a column that needs the host is frozen until then. */

#include "solvers/relax/relax_internal.h"
#include "solvers/engine/runner.h"

/* Where the host shares memory with the kernels a poll is free. Poll at least this often, so that a
 * monitor can soon end a solve with slow steps. */
static const double poll_seconds = 0.2;

kaon_step_rate kaon_step_rate_begin(void) {
  return (kaon_step_rate){.begin = kaon_seconds(), .limit = 1};
}

/* One rank reads the clock after every step. Several ranks must issue the same steps, so at each
 * poll they agree on the number of steps to the next one. */
static int late(const kaon_solver *s, const kaon_step_rate *p) {
  if (!s->ctx->backend->host_accessible) return 0;
  if (s->ctx->comm->ranks > 1) return p->steps >= p->limit;
  return kaon_seconds() - p->begin > poll_seconds;
}

static int none_open(const kaon_scalars *scalars, const kaon_column_state *state, int gate) {
  for (int k = 0; k < scalars->columns; k++)
    if (state[k].gate & gate) return 0;
  return 1;
}

/* Where hosts carry the messages of devices, a message costs more than reading the states. The
 * states are the same on all ranks. A read that fails is found at the next poll. */
int kaon_gate_closed(const kaon_solver *s, int gate) {
  const kaon_context *ctx = s->ctx;
  const kaon_column_state *state = s->states.scalars->state;
  if (!ctx->backend->host_accessible) {
    if (ctx->comm->ranks == 1 || kaon_replay_most(ctx) > KAON_ISSUE_PLAIN) return 0;
    if (kaon_scalars_read(s->states.scalars, s->states.host) != KAON_OK) return 0;
    state = s->states.host;
  }
  return none_open(s->states.scalars, state, gate);
}

kaon_columns_now kaon_columns_count(const kaon_solver *s) {
  kaon_columns_now n = {0, 0};
  for (int k = 0; k < s->columns; k++) {
    if (s->states.host[k].gate & KAON_GATE_STEP) n.stepping++;
    if (s->states.host[k].gate & KAON_GATE_SERVICE) n.waiting++;
  }
  return n;
}

/* Steps before the next poll: at most to the end of a cycle, and never more than the rings hold. */
static int block_length(const kaon_solver *s, int position) {
  int n = s->options.check_interval;
  if (n > KAON_HISTORY - 1) n = KAON_HISTORY - 1;
  if (s->process.cycle > 0 && n > s->process.cycle - position) n = s->process.cycle - position;
  return n > 0 ? n : 1;
}

/* Adds x_inner to the outer solution every few steps. Each step rounds all of x_inner again, so
 * x_inner must stay small. The residual does not change, so nothing waits for the flush.
 * A step opens the gate and the end of the next step closes it. Therefore the flush is issued after
 * each step that can have opened the gate (replay.c). */
kaon_status kaon_runner_flush(kaon_solver *s) {
  kaon_pass due = kaon_gated(s, KAON_GATE_FLUSH);
  if (s->process.flush == 0) return KAON_OK;
  due.scalars = s->states.of_x;
  if (s->ctx->backend->host_accessible && none_open(due.scalars, due.scalars->state, due.gate))
    return KAON_OK;
  return kaon_blas_add_and_zero(s->x_inner, s->outer.x, &due);
}

/* Issues up to n steps. It stops early when no column is seen to be open: further steps would
 * compute nothing but send messages. *position: of the first step in its cycle, then of the next
 * one. */
static kaon_status issue_block(kaon_solver *s, int n, kaon_step_rate *p, int *position) {
  for (int i = 0; i < n; i++) {
    KAON_TRY(s->method->step(s, *position));
    KAON_TRY(kaon_runner_flush(s));
    *position = s->process.cycle > 0 ? (*position + 1) % s->process.cycle : 0;
    p->steps++;
    if (late(s, p) || kaon_gate_closed(s, KAON_GATE_STEP)) break;
  }
  return KAON_OK;
}

kaon_status kaon_runner_agree(const kaon_solver *s, kaon_status status, kaon_step_rate *p,
                              int *cancel) {
  kaon_comm *comm = s->ctx->comm;
  const int ranks = comm->ranks;
  const double now = kaon_seconds();
  double sum[2] = {*cancel != 0, p->steps > 0 ? (now - p->begin) / p->steps : 0};
  if (ranks > 1) {
    KAON_TRY(kaon_agree(s->ctx, status));
    KAON_TRY(comm->ops->sum_start(comm, sum, 2));
    KAON_TRY(comm->ops->sum_finish(comm));
    *cancel = sum[0] > 0;
  } else {
    KAON_TRY(status);
  }
  if (p->steps > 0) {
    p->rate = sum[1] / ranks;
    const double steps = poll_seconds / p->rate;
    p->limit = steps < 1 ? 1 : steps < KAON_HISTORY ? (int)steps : KAON_HISTORY;
  }
  p->begin = now;
  p->steps = 0;
  return KAON_OK;
}

static kaon_status poll_states(kaon_solver *s, kaon_step_rate *p, int *cancel) {
  kaon_status status = kaon_scalars_read(s->states.scalars, s->states.host);
  if (status == KAON_OK && s->history.monitored) status = kaon_history_drain(s, cancel);
  return kaon_runner_agree(s, status, p, cancel);
}

/* Columns of a method with cycles are served only between cycles. */
int kaon_runner_service_due(const kaon_solver *s, kaon_columns_now n, int begins, int *patience) {
  if (s->process.cycle > 0 && n.stepping > 0) return n.waiting > 0 && begins;
  return kaon_service_due(n.stepping, n.waiting, patience);
}

kaon_status kaon_runner_run(kaon_solver *s) {
  if (s->launch.single) {
    /* already issued with the beginning */
  } else if (s->launch.replays && s->solve.zero_guess) {
    s->solve.zero_guess = 0;
    KAON_TRY(s->ctx->backend->record->run(s->launch.first, 1));
  } else {
    KAON_TRY(kaon_service_run(s));
  }
  return kaon_relax_is_host_led(s) ? kaon_relax_run(s) : kaon_runner_loop(s);
}

kaon_status kaon_runner_loop(kaon_solver *s) {
  int cancel = 0, position = 0, patience = 0;
  if (kaon_replay_possible(s)) {
    int over = 0;
    KAON_TRY(kaon_replay_run(s, &cancel, &over));
    if (over) return KAON_OK;
  }
  kaon_step_rate p = kaon_step_rate_begin();
  for (;;) {
    KAON_TRY(poll_states(s, &p, &cancel));
    kaon_columns_now n = kaon_columns_count(s);
    if (n.stepping + n.waiting == 0) return KAON_OK;
    if (cancel) {
      KAON_TRY(kaon_recur(s, KAON_GATE_ANY, KAON_REC_CANCEL));
      KAON_TRY(kaon_service_run(s));
      continue;
    }
    if (kaon_runner_service_due(s, n, position == 0, &patience)) {
      KAON_TRY(kaon_service_run(s));
      if (n.stepping == 0) position = 0;
    } else {
      KAON_TRY(issue_block(s, block_length(s, position), &p, &position));
    }
  }
}

int kaon_solver_fixed_steps(const kaon_solver *s) {
  const int limit = s->options.max_iterations;
  const int bounded = kaon_method_has(s->method, KAON_METHOD_FIXED_STEPS);
  return bounded && s->options.subspace < limit ? s->options.subspace : limit;
}

/* r = b - A x in the inner precision. */
static kaon_status fixed_residual(kaon_solver *s) {
  const kaon_pass sums = kaon_gated_norm(s, KAON_GATE_START, KAON_S_R2, KAON_REC_NONE);
  const kaon_pass plain = kaon_gated(s, KAON_GATE_START);
  if (s->process.mixed || s->solve.zero_guess) KAON_TRY(kaon_blas_zero(s->x_inner, &plain));
  if (s->solve.zero_guess) return kaon_blas_convert(s->outer.b, s->r, 0, &sums);
  KAON_TRY(kaon_operator_run(s->system, KAON_PLAIN, s->outer.x, s->outer.r, &plain));
  if (!s->process.mixed) return kaon_blas_xpay(s->outer.b, KAON_NUMBER(-1), s->outer.r, &sums);
  KAON_TRY(kaon_blas_xpay(s->outer.b, KAON_NUMBER(-1), s->outer.r, &plain));
  return kaon_blas_convert(s->outer.r, s->r, 0, &sums);
}

kaon_status kaon_runner_fixed(kaon_solver *s, int steps, int *cancelled) {
  const int every =
      s->options.check_interval < KAON_HISTORY - 1 ? s->options.check_interval : KAON_HISTORY - 1;
  kaon_step_rate p = kaon_step_rate_begin();
  KAON_TRY(kaon_recur(s, KAON_GATE_ANY, KAON_REC_FIXED_BEGIN));
  KAON_TRY(fixed_residual(s));
  KAON_TRY(kaon_method_start(s));
  KAON_TRY(kaon_recur(s, KAON_GATE_START, KAON_REC_FIXED_RESUME));
  for (int i = 0, position = 0; i < steps; i++) {
    KAON_TRY(s->method->step(s, position));
    position = s->process.cycle > 0 ? (position + 1) % s->process.cycle : 0;
    if (s->process.cycle > 0 && position == 0) {
      KAON_TRY(kaon_method_finish(s, KAON_GATE_SOLUTION));
      KAON_TRY(kaon_recur(s, KAON_GATE_SERVICE, KAON_REC_FIXED_RESUME));
    }
    if (!s->history.monitored) continue;
    p.steps++;
    if ((i + 1) % every != 0 && !late(s, &p)) continue;
    KAON_TRY(poll_states(s, &p, cancelled));
    if (*cancelled) break;
  }
  KAON_TRY(kaon_method_finish(s, KAON_GATE_STEP | KAON_GATE_SOLUTION));
  if (s->history.monitored) KAON_TRY(poll_states(s, &p, cancelled));
  if (!s->process.mixed) return KAON_OK;
  const kaon_pass all = kaon_gated(s, KAON_GATE_ANY);
  return kaon_blas_convert(s->x_inner, s->outer.x, !s->solve.zero_guess, &all);
}
