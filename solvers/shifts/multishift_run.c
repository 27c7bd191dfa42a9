/* multishift_run.c - a step of CG for several shifts (multishift.c), and the processes. Steps are
 * issued one by one, or in recorded blocks (as in replay.c) where the backend offers them.
 *
 * A block is the steps from one flush of x to the next. A recorded loop ends when no column is
 * open: the block's service closes columns that wait, and the host reads the reason from their
 * states. */
#include "blas/precond_updates.h"
#include "lib/core/error.h"
#include "solvers/shifts/multishift_internal.h"
#include "solvers/engine/runner.h"

/* A step rounds all of x in a coarser precision. So x is added to the user's and zeroed every
 * FLUSH_INTERVAL steps. */
enum { FLUSH_INTERVAL = 16 };
/* Blocks of a launch. A loop ends by itself. Replayed blocks after the end find every gate
 * closed. */
enum { LOOP_BLOCKS = 256, REPLAY_BLOCKS = 4 };

/* ---- a step ---- */

/* q = A p and its product with p. */
static kaon_status apply_operator(kaon_multishift *s, const kaon_shift_level *w) {
  const kaon_pass plain = kaon_shift_pass(&s->base, KAON_NO_SLOT, KAON_REC_NONE);
  kaon_pass alpha = kaon_shift_pass(&s->base, KAON_NO_SLOT, KAON_REC_SHIFT_ALPHA);
  const kaon_vector *in = w->in != NULL ? w->in : w->v->p;
  kaon_vector *out = w->out != NULL ? w->out : w->v->q;
  if (w->in != NULL) KAON_TRY(kaon_blas_convert(w->v->p, w->in, 0, &plain));
  if (s->options.normal) { /* (p, A^dag A p) = |A p|^2 */
    alpha.norm = KAON_S_DENOMINATOR;
    KAON_TRY(kaon_operator_run(w->A, KAON_PLAIN, in, w->t, &alpha));
    KAON_TRY(kaon_operator_run(w->A, KAON_DAGGER, w->t, out, &plain));
  } else {
    alpha.w = in;
    alpha.dot = KAON_S_DENOMINATOR;
    KAON_TRY(kaon_operator_run(w->A, KAON_PLAIN, in, out, &alpha));
  }
  return w->out != NULL ? kaon_blas_convert(w->out, w->v->q, 0, &plain) : KAON_OK;
}

static kaon_status update_residual(kaon_multishift *s, const kaon_shift_vectors *v) {
  const kaon_pass plain = kaon_shift_pass(&s->base, KAON_NO_SLOT, KAON_REC_NONE);
  const kaon_pass beta = kaon_shift_pass(&s->base, KAON_S_R2, KAON_REC_CG_BETA);
  if (s->sigma0 == 0) return kaon_blas_axpy(KAON_MINUS(KAON_S_ALPHA), v->q, v->r, &beta);
  KAON_TRY(kaon_blas_axpy(KAON_MINUS(KAON_S_ALPHA), v->q, v->r, &plain));
  return kaon_blas_axpy(KAON_MINUS(KAON_S_SIGMA_ALPHA), v->p, v->r, &beta);
}

/* p = r + beta p, with (p, p) if the smallest shift is not 0. */
kaon_status kaon_shift_next_direction(kaon_multishift *s, const kaon_shift_vectors *v) {
  const int norm = s->sigma0 != 0 ? KAON_S_DIRECTION2 : KAON_NO_SLOT;
  const kaon_pass pass = kaon_shift_pass(&s->base, norm, KAON_REC_NONE);
  return kaon_blas_xpay(v->r, KAON_PLUS(KAON_S_BETA), v->p, &pass);
}

static kaon_status step(kaon_multishift *s, const kaon_shift_level *w) {
  const kaon_pass shifts = kaon_shift_pass(&s->shifts, KAON_NO_SLOT, KAON_REC_SHIFT_STEP);
  const kaon_pass plain = kaon_shift_pass(&s->shifts, KAON_NO_SLOT, KAON_REC_NONE);
  const kaon_shift_vectors *v = w->v;
  KAON_TRY(apply_operator(s, w));
  KAON_TRY(update_residual(s, v));
  KAON_TRY(kaon_blas_recur(s->ctx, &shifts));
  KAON_TRY(
      kaon_blas_shifted(KAON_PLUS(KAON_S_ALPHA), v->P, v->X, v->r, KAON_PLUS(KAON_S_BETA), &plain));
  return kaon_shift_next_direction(s, v);
}

/* ---- the process ---- */

kaon_status kaon_shift_poll(kaon_multishift *s) {
  return kaon_agree(s->ctx, kaon_scalars_read(s->scalars, s->host));
}

kaon_status kaon_shift_gather(kaon_multishift *s, const kaon_shift_level *w,
                              const kaon_pass *pass) {
  return w->v != &s->outer ? kaon_blas_add_and_zero(w->v->X, s->outer.X, pass) : KAON_OK;
}

kaon_status kaon_shift_norms(kaon_multishift *s, const kaon_vector *v, double *norm2) {
  static const int slots[3] = {KAON_NO_SLOT, KAON_S_R2, KAON_NO_SLOT};
  kaon_scalars view = *s->sums;
  view.columns = v->nrhs;
  const kaon_pass all = kaon_shift_pass(&view, KAON_NO_SLOT, KAON_REC_NONE);
  KAON_TRY(kaon_blas_dot(v, v, slots, &all));
  KAON_TRY(kaon_agree(s->ctx, kaon_scalars_read(&view, s->sums_host)));
  for (int k = 0; k < v->nrhs; k++) norm2[k] = s->sums_host[k].slot[KAON_S_R2][0];
  return KAON_OK;
}

/* Step `number`, counted from 1. */
static kaon_status counted_step(kaon_multishift *s, const kaon_shift_level *w, int number) {
  const kaon_pass going = kaon_shift_pass(&s->shifts, KAON_NO_SLOT, KAON_REC_NONE);
  KAON_TRY(step(s, w));
  return number % FLUSH_INTERVAL == 0 ? kaon_shift_gather(s, w, &going) : KAON_OK;
}

static int some_process_runs(const kaon_multishift *s) {
  int gates = 0;
  for (int j = 0; j < s->columns; j++) gates |= s->host[j].gate;
  return gates & KAON_GATE_STEP;
}

/* Steps of process j since kaon_shift_process began. */
static int steps_of(const kaon_multishift *s, int j) {
  return s->host[j].iterations - s->source[j].begun;
}

/* Steps of the longest process. */
static int steps_taken(const kaon_multishift *s) {
  int most = 0;
  for (int j = 0; j < s->columns; j++)
    if (steps_of(s, j) > most) most = steps_of(s, j);
  return most;
}

static kaon_status run_plainly(kaon_multishift *s, const kaon_shift_level *w) {
  int steps = 0;
  do {
    for (int i = 0; i < s->options.check_interval; i++) {
      KAON_TRY(counted_step(s, w, ++steps));
      if (kaon_states_closed(s->scalars, s->host, KAON_GATE_STEP)) break;
    }
    KAON_TRY(kaon_shift_poll(s));
  } while (some_process_runs(s));
  return KAON_OK;
}

/* ---- recorded ---- */

static kaon_status block(void *user) {
  kaon_shift_level *w = user;
  const kaon_traffic before = w->owner->ctx->comm->traffic;
  for (int i = 1; i <= FLUSH_INTERVAL; i++) KAON_TRY(counted_step(w->owner, w, i));
  w->of_block = kaon_traffic_since(w->owner->ctx, &before);
  return KAON_OK;
}

static kaon_status close_waiting(void *user) {
  kaon_multishift *s = ((kaon_shift_level *)user)->owner;
  kaon_pass waiting = kaon_shift_pass(s->scalars, KAON_NO_SLOT, KAON_REC_LOCAL_CLOSE);
  waiting.gate = KAON_GATE_SERVICE;
  return kaon_blas_recur(s->ctx, &waiting);
}

static kaon_recorded now(const kaon_multishift *s, kaon_issue form) {
  return (kaon_recorded){.x = kaon_view_of(s->outer.X),
                         .given = kaon_pool_release_count(s->ctx->pool),
                         .tunings = s->ctx->tunings,
                         .block = FLUSH_INTERVAL,
                         .form = form};
}

/* These steps cannot use the forms with kernel lists. */
static kaon_status record(kaon_multishift *s, kaon_shift_level *w) {
  const kaon_loop loop = {
      .steps = block, .service = close_waiting, .user = w, .state = s->scalars->state};
  const kaon_issue asked = s->ctx->lab.issue;
  const int one =
      asked == KAON_ISSUE_REPLAY || asked == KAON_ISSUE_WHILE || asked == KAON_ISSUE_TAIL;
  kaon_issue form;
  const kaon_status status =
      kaon_replay_record(s->ctx, w->recorder, &loop, one ? asked : KAON_ISSUE_AUTO, 0, &form);
  w->recorded.form = form;
  if (status == KAON_OK) w->recorded = now(s, form);
  return status;
}

/* Checks whether the operator is stale, since a replay does not. */
static kaon_status check_one_operator(kaon_multishift *s, const kaon_shift_level *w) {
  kaon_pass nobody = kaon_shift_pass(&s->base, KAON_NO_SLOT, KAON_REC_NONE);
  nobody.gate = 0;
  if (w->A->ops->check != NULL) return w->A->ops->check(w->A);
  return kaon_operator_run(w->A, KAON_PLAIN, w->in != NULL ? w->in : w->v->p,
                           w->out != NULL ? w->out : w->v->q, &nobody);
}

/* *ready: a valid recording for this solve exists on all ranks. */
static kaon_status prepare(kaon_multishift *s, kaon_shift_level *w, int *ready) {
  *ready = 0;
  if (w->recorder == NULL || w->unrecordable || kaon_replay_most(s->ctx) <= KAON_ISSUE_PLAIN)
    return KAON_OK;
  const kaon_recorded here = now(s, w->recorded.form);
  double good = w->recorded.form != KAON_ISSUE_AUTO && kaon_recorded_same(&w->recorded, &here);
  KAON_TRY(kaon_comm_sum(s->ctx, &good, 1));
  if (good == s->ctx->comm->ranks) {
    *ready = 1;
    return kaon_agree(s->ctx, check_one_operator(s, w));
  }
  const kaon_status status = record(s, w);
  *ready = status == KAON_OK;
  w->unrecordable = status == KAON_ERR_UNSUPPORTED;
  if (!*ready) kaon_error_clear(s->ctx); /* plain issue reports the error, if there is one */
  return KAON_OK;
}

static kaon_status launch(kaon_multishift *s, kaon_shift_level *w) {
  const kaon_record_ops *ops = s->ctx->backend->record;
  const int blocks = w->recorded.form == KAON_ISSUE_REPLAY ? REPLAY_BLOCKS : LOOP_BLOCKS;
  KAON_TRY(ops->run(w->recorder, blocks));
  KAON_TRY(ops->post(w->recorder, s->scalars->state, 0));
  return ops->wait(w->recorder, 0, s->host);
}

static kaon_status run_recorded(kaon_multishift *s, kaon_shift_level *w) {
  do {
    KAON_TRY(kaon_agree(s->ctx, launch(s, w)));
  } while (some_process_runs(s));
  const int64_t steps = steps_taken(s);
  s->repeated.sums += w->of_block.sums * steps / FLUSH_INTERVAL;
  s->repeated.exchanges += w->of_block.exchanges * steps / FLUSH_INTERVAL;
  s->repeated.bytes += w->of_block.bytes * steps / FLUSH_INTERVAL;
  s->issued = w->recorded.form;
  return KAON_OK;
}

kaon_status kaon_shift_process(kaon_multishift *s, kaon_shift_level *w) {
  int recorded = 0;
  for (int j = 0; j < s->columns; j++) s->source[j].begun = s->host[j].iterations;
  KAON_TRY(kaon_scalars_write(s->scalars, s->host));
  KAON_TRY(prepare(s, w, &recorded));
  KAON_TRY(recorded ? run_recorded(s, w) : run_plainly(s, w));
  s->applications += (1 + s->options.normal) * steps_taken(s);
  for (int j = 0; j < s->columns; j++) s->work += steps_of(s, j) * kaon_shift_flops(s);
  return KAON_OK;
}
