/* relax_run.c - the loop of relaxations that the host leads. It is for
 * - asynchronous iteration without barriers, where the number of sweeps differs each time;
 * - solves with faults, which come at a given iteration and are checked after each.
 * The columns' states are maintained as by the runner. A run of n iterations ends like a step
 * (kaon_step_end). Its first n - 1 entries of the history hold the residual before the run.
 *
 * On several ranks no rank knows the residual unless all communicate. So the length of a run is
 * predicted from the decrease of |r| an iteration in the run before. The first run is short. */
#include <math.h>

#include "solvers/relax/relax_internal.h"
#include "solvers/engine/runner.h"

int kaon_relax_is_host_led(const kaon_solver *s) {
  const kaon_relaxation *relax = s->relax;
  return relax != NULL &&
         (relax->faults != NULL || relax->ranks || relax->options.driver == KAON_RELAX_FREE);
}

/* ---- a run of iterations without barriers ---- */

/* Sets the squared residuals at which blocks end a run: the one that asks for verification, and the
 * one that counts as diverging. Only on one rank, since blocks see only its rows. */
static void set_ends(kaon_solver *s) {
  kaon_relaxation *relax = s->relax;
  for (int k = 0; k < s->columns; k++) {
    const kaon_column_state *state = &s->states.host[k];
    const int alone = s->ctx->comm->ranks == 1 && state->scale > 0;
    relax->goal[k] = alone ? state->threshold : -1;
    relax->limit[k] = alone ? KAON_GROWTH2 * state->first / state->scale : HUGE_VAL;
  }
}

/* Iterations until a column reaches its goal, predicted from the last run. */
static double predicted_solve(const kaon_solver *s, int k) {
  enum { FIRST = 16 };
  const kaon_relaxation *relax = s->relax;
  const kaon_column_state *state = &s->states.host[k];
  const double now = state->slot[KAON_S_R2][0], before = relax->before[k];
  if (before == 0) return FIRST;
  const double rate = log(before / now) / relax->done[k];
  if (!(rate > 0) || !(state->threshold > 0)) return relax->options.stride;
  return ceil(log(now / state->threshold) / rate);
}

static int most_rounds(const kaon_solver *s) {
  int rounds = s->relax->options.stride;
  double wanted = 1;
  if (s->relax->faults != NULL) {
    const int room = kaon_faults_steps_until(s);
    if (room < rounds) rounds = room;
  }
  for (int k = 0; k < s->columns; k++) {
    const kaon_column_state *state = &s->states.host[k];
    const int left = state->max_iterations - state->iterations;
    if (!(state->gate & KAON_GATE_STEP)) continue;
    if (left < rounds) rounds = left > 0 ? left : 1;
    if (s->relax->ranks) wanted = fmax(wanted, predicted_solve(s, k));
  }
  return s->relax->ranks && wanted < rounds ? (int)wanted : rounds;
}

/* For the prediction of the next run. */
static void note_residuals(kaon_solver *s) {
  for (int k = 0; k < s->columns; k++) {
    const int open = (s->states.host[k].gate & KAON_GATE_STEP) != 0;
    s->relax->open[k] = open;
    s->relax->before[k] = open ? s->states.host[k].slot[KAON_S_R2][0] : 0;
  }
}

/* Makes each column's number of iterations equal on all ranks: the mean, rounded up. */
static kaon_status agree_on_rounds(kaon_solver *s, kaon_status mine) {
  double *sum = s->relax->limit; /* set anew before each run */
  KAON_TRY(kaon_agree(s->ctx, mine));
  for (int k = 0; k < s->columns; k++) sum[k] = s->relax->done[k];
  sum[s->columns] = s->relax->report.blocks > 0; /* number of ranks with rows */
  KAON_TRY(kaon_comm_sum(s->ctx, sum, s->columns + 1));
  for (int k = 0; k < s->columns; k++)
    s->relax->done[k] = (int)fmax(1, ceil(sum[k] / fmax(1, sum[s->columns])));
  return KAON_OK;
}

static kaon_status run_free(kaon_solver *s) {
  kaon_relaxation *relax = s->relax;
  const kaon_relax_options *o = &relax->options;
  const kaon_pass gate = kaon_gated(s, KAON_GATE_STEP);
  const int apart = s->ctx->comm->ranks > 1 && !relax->ranks;
  kaon_row_sweep how = {.inner = o->local_sweeps,
                        .damping = relax->tau,
                        .rounds = most_rounds(s),
                        .lag = o->lag,
                        .goal = relax->goal,
                        .limit = relax->limit,
                        .together = o->together,
                        .exchange = relax->ranks,
                        .free = o->driver == KAON_RELAX_FREE,
                        .rank_lag = relax->lab.rank_lag,
                        .open = relax->open};
  kaon_vector *x = apart ? s->work[0] : s->x_inner;
  relax->turn++;
  if (o->seed != 0) how.shuffle = (o->seed + relax->turn) * UINT64_C(0x9e3779b97f4a7c15) | 1;
  set_ends(s);
  note_residuals(s);
  if (apart) KAON_TRY(kaon_blas_zero(x, &gate));
  const kaon_vector *b = apart ? s->r : kaon_relax_source(s);
  KAON_TRY(relax->rows->ops->sweep(relax->rows, &how, b, x, &gate));
  if (how.rounds > 1 || relax->ranks) {
    KAON_TRY(agree_on_rounds(s, relax->rows->ops->rounds(relax->rows, relax->done)));
  } else {
    for (int k = 0; k < s->columns; k++) relax->done[k] = 1;
  }
  return apart ? kaon_blas_axpy(KAON_NUMBER(1), x, s->x_inner, &gate) : KAON_OK;
}

/* ---- the end of a step, for `done` of them ---- */

static void end_run(kaon_solver *s) {
  for (int k = 0; k < s->columns; k++) {
    kaon_column_state *state = &s->states.host[k];
    if (!(state->gate & KAON_GATE_STEP)) continue;
    const double before = state->history[state->iterations % KAON_HISTORY];
    for (int i = 1; i < s->relax->done[k]; i++)
      state->history[++state->iterations % KAON_HISTORY] = before;
    kaon_step_end(state, state->slot[KAON_S_R2][0]);
  }
}

static kaon_status advance_and_check(kaon_solver *s) {
  kaon_relaxation *relax = s->relax;
  const int alone = relax->options.driver == KAON_RELAX_FREE;
  int again = 0, done = 1;
  if (relax->faults != NULL) KAON_TRY(kaon_agree(s->ctx, kaon_faults_before(s)));
  if (relax->ranks || alone) {
    KAON_TRY(run_free(s));
  } else {
    KAON_TRY(kaon_relax_advance(s));
    for (int k = 0; k < s->columns; k++) relax->done[k] = 1;
  }
  for (int tries = 0; tries < 2; tries++) {
    KAON_TRY(kaon_relax_residual(s, KAON_REC_NONE));
    KAON_TRY(kaon_scalars_read(s->states.scalars, s->states.host));
    if (relax->faults == NULL || tries > 0) break;
    for (int k = 0; k < s->columns; k++)
      if (s->states.host[k].gate & KAON_GATE_STEP && relax->done[k] > done) done = relax->done[k];
    KAON_TRY(kaon_faults_after(s, done, &again));
    if (!again) break;
  }
  end_run(s);
  return kaon_scalars_write(s->states.scalars, s->states.host);
}

kaon_status kaon_relax_run(kaon_solver *s) {
  kaon_step_rate p = kaon_step_rate_begin();
  int cancel = 0;
  for (;;) {
    kaon_status status = kaon_scalars_read(s->states.scalars, s->states.host);
    if (status == KAON_OK && s->history.monitored) status = kaon_history_drain(s, &cancel);
    KAON_TRY(kaon_runner_agree(s, status, &p, &cancel));
    const kaon_columns_now n = kaon_columns_count(s);
    if (n.stepping + n.waiting == 0) return KAON_OK;
    if (cancel) KAON_TRY(kaon_recur(s, KAON_GATE_ANY, KAON_REC_CANCEL));
    KAON_TRY(cancel || n.waiting > 0 ? kaon_service_run(s) : advance_and_check(s));
    p.steps++;
  }
}
