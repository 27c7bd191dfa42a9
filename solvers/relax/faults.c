/* faults.c - injects faults into relaxations, for experiments, with a monitor that sees only
 * residuals (kaon_fault_options). A fault changes x, or the rows that are updated, between two
 * iterations. No other part is informed of it.
 * - Alarm: |r|^2 grows by more than GROWN; or over WINDOW polls log |r|^2 falls less than half as
 *   fast as before the first alarm, or not at all.
 * - Repair: if |r|^2 has grown or is not finite, x is restored from the last copy. If it no longer
 *   falls, the frozen rows are released. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <kaon/context.h>
#include <kaon/lab.h>

#include "lib/vector/space.h"
#include "solvers/relax/relax_internal.h"

enum { WINDOW = 6, COPY_EVERY = 10, SETTLED = 4, STRETCH = 4 };
static const double GROWN = 4;      /* growth of |r|^2 in one iteration */
static const double FLOOR2 = 1e-28; /* |r|^2 / |b|^2 below which there is only rounding */
static const double STILL = 1e-6;   /* change of log |r|^2 an iteration below which it stagnates */

static uint64_t next_random(uint64_t *state) { /* splitmix64 */
  uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return z ^ (z >> 31);
}

static double uniform(uint64_t *state) {
  return (double)(next_random(state) >> 11) * 0x1p-53;
}

/* ---- which rows ---- */

/* Chooses a random share of this rank's rows, by one pass over them. */
static void choose_rows(kaon_faults *f, int64_t rows, int64_t wanted) {
  for (int64_t i = 0; i < rows && wanted > 0; i++) {
    const double left = (double)(rows - i);
    if (uniform(&f->random) * left >= (double)wanted) continue;
    f->frozen[i] = 1;
    wanted--;
  }
}

static void choose_block(kaon_faults *f, const kaon_space *space, int64_t wanted) {
  const int64_t rows = space->nsites;
  const int64_t first = (int64_t)(uniform(&f->random) * (double)(rows - wanted + 1));
  for (int64_t i = 0; i < rows; i++) {
    const int64_t row = space->rows.order != NULL ? space->rows.order[i] : i;
    f->frozen[i] = row >= first && row < first + wanted;
  }
}

static kaon_status choose(kaon_solver *s) {
  kaon_faults *f = s->relax->faults;
  const kaon_fault_options *o = &f->options;
  const int64_t rows = s->inner->space->nsites;
  const int64_t wanted = (int64_t)(o->share * (double)rows + 0.5);
  double sum = 0;
  memset(f->frozen, 0, (size_t)rows + 1);
  if (o->kind == KAON_FAULT_RANK)
    memset(f->frozen, s->ctx->comm->rank == o->rank && o->share > 0, (size_t)rows);
  else if (o->kind == KAON_FAULT_BLOCK)
    choose_block(f, s->inner->space, wanted);
  else
    choose_rows(f, rows, wanted);
  for (int64_t i = 0; i < rows; i++) sum += f->frozen[i];
  if (s->ctx->comm->ranks > 1) {
    KAON_TRY(s->ctx->comm->ops->sum_start(s->ctx->comm, &sum, 1));
    KAON_TRY(s->ctx->comm->ops->sum_finish(s->ctx->comm));
  }
  f->rows = (int64_t)sum;
  return KAON_OK;
}

/* ---- bits ---- */

/* Flips one bit of one value of x on this rank. */
static kaon_status flip(kaon_solver *s) {
  kaon_faults *f = s->relax->faults;
  const kaon_vector *x = s->x_inner;
  const kaon_space *space = x->space;
  const kaon_memory_ops *memory = s->ctx->backend->memory;
  const int bytes = (int)kaon_precision_bytes(x->precision);
  const int64_t row = (int64_t)(uniform(&f->random) * (double)space->nsites);
  const int column = (int)(uniform(&f->random) * s->columns);
  const int part = (int)(uniform(&f->random) * space->ncomp);
  const int bit = (int)(uniform(&f->random) * 8 * bytes);
  const int64_t at = kaon_packed_index(row / space->width, column, part, (int)(row % space->width),
                                       x->nrhs, space->ncomp, space->width,
                                       kaon_pack_of(s->ctx, space->ncomp, x->precision));
  unsigned char *place = (unsigned char *)x->data + at * bytes, number[8];
  if (!(s->states.host[column].gate & KAON_GATE_STEP)) return KAON_OK; /* the column has ended */
  KAON_TRY(memory->to_host(s->ctx, number, place, (size_t)bytes));
  number[bit / 8] ^= (unsigned char)(1u << bit % 8);
  f->noted.flips++;
  return memory->to_device(s->ctx, place, number, (size_t)bytes);
}

static kaon_status flip_some(kaon_solver *s) {
  kaon_faults *f = s->relax->faults;
  const kaon_fault_options *o = &f->options;
  if (o->flip_rate == 0 || f->at < o->flip_begin || (o->flip_end > 0 && f->at >= o->flip_end))
    return KAON_OK;
  /* the integer part of the mean, and one more with the remaining probability */
  const double mean = o->flip_rate * (double)s->inner->space->nsites;
  const int64_t flips = (int64_t)mean + (uniform(&f->random) < mean - floor(mean));
  for (int64_t i = 0; i < flips; i++) KAON_TRY(flip(s));
  return KAON_OK;
}

/* ---- before and after an iteration ---- */

static kaon_status restore_copy(kaon_solver *s, int by_monitor) {
  kaon_faults *f = s->relax->faults;
  f->holds = 0;
  f->noted.restored_at = f->at;
  f->noted.restored_by_monitor = by_monitor;
  f->known = 0;
  return s->relax->rows->ops->freeze(s->relax->rows, NULL);
}

kaon_status kaon_faults_before(kaon_solver *s) {
  kaon_faults *f = s->relax->faults;
  const kaon_fault_options *o = &f->options;
  if (f->at == o->begin && f->rows > 0) {
    f->holds = 1;
    f->noted.frozen = f->rows;
    f->noted.frozen_at = f->at;
    KAON_TRY(s->relax->rows->ops->freeze(s->relax->rows, f->frozen));
  }
  if (f->holds && o->recovery > 0 && f->at >= o->begin + o->recovery) KAON_TRY(restore_copy(s, 0));
  return flip_some(s);
}

/* Iterations until the next poll: 1 while bits are flipped or the decrease of |r| is not known;
 * otherwise at most STRETCH, and not beyond the next fault. */
int kaon_faults_steps_until(const kaon_solver *s) {
  const kaon_faults *f = s->relax->faults;
  const kaon_fault_options *o = &f->options;
  const int events[] = {o->begin, o->begin + o->recovery, o->flip_begin, o->flip_end};
  const int flips =
      o->flip_rate > 0 && f->at >= o->flip_begin && (o->flip_end == 0 || f->at < o->flip_end);
  int room = STRETCH;
  if (flips || f->at < WINDOW + SETTLED) return 1;
  for (int i = 0; i < 4; i++)
    if (events[i] > f->at && events[i] - f->at < room) room = events[i] - f->at;
  return room;
}

/* |r|^2 / |b|^2 of the slowest column. */
static double worst(const kaon_solver *s) {
  double most = 0;
  for (int k = 0; k < s->columns; k++) {
    const kaon_column_state *state = &s->states.host[k];
    if (!(state->gate & KAON_GATE_STEP)) continue;
    const double relative = state->slot[KAON_S_R2][0] * state->scale;
    if (!(relative <= most)) most = relative; /* NaN is retained */
  }
  return most;
}

static void alarm(kaon_faults *f) {
  if (f->noted.alarms++ == 0) f->noted.first_alarm = f->at;
  f->known = 0;
  f->quiet = 0;
}

static kaon_status roll_back(kaon_solver *s, int *again) {
  kaon_faults *f = s->relax->faults;
  const kaon_pass open = kaon_gated(s, KAON_GATE_STEP);
  if (!f->options.repair || f->safe_residual2 < 0) return KAON_OK;
  f->noted.rollbacks++;
  *again = 1;
  return kaon_blas_copy(f->safe, s->x_inner, &open);
}

static kaon_status keep_copy(kaon_solver *s, double now) {
  kaon_faults *f = s->relax->faults;
  const kaon_pass open = kaon_gated(s, KAON_GATE_STEP);
  if (f->safe_residual2 >= 0 && f->quiet < COPY_EVERY) return KAON_OK;
  f->quiet = 0;
  f->safe_residual2 = now;
  return kaon_blas_copy(s->x_inner, f->safe, &open);
}

/* Records the residual, newest first. Returns 1 if the decrease over the window is less than half
 * of the known rate, or if there is none. The rate is learned from the first few polls. These may
 * already follow a fault, so meanwhile each is compared with the rate of the poll before. A
 * residual that stagnates never sets the rate. */
static int slowed(kaon_faults *f, double now) {
  for (int i = WINDOW; i > 0; i--) {
    f->best[i] = f->best[i - 1];
    f->when[i] = f->when[i - 1];
  }
  f->best[0] = now;
  f->when[0] = f->at;
  f->known++;
  if (f->known <= WINDOW || now < FLOOR2) return 0;
  const double rate = log(f->best[WINDOW] / now) / (f->at - f->when[WINDOW]);
  const int slow = !(rate > STILL) || rate < 0.5 * f->rate;
  const int learns = f->rate <= 0 || (f->noted.alarms == 0 && f->known <= WINDOW + SETTLED);
  if (learns && !slow) f->rate = rate;
  return slow;
}

kaon_status kaon_faults_after(kaon_solver *s, int done, int *again) {
  kaon_faults *f = s->relax->faults;
  const double now = worst(s);
  const double before = f->known > 0 ? f->best[0] : f->safe_residual2;
  f->at += done;
  f->quiet += done;
  *again = 0;
  if (!kaon_finite(now) || (before > 0 && now > GROWN * before && now > FLOOR2)) {
    alarm(f);
    return roll_back(s, again);
  }
  if (slowed(f, now)) {
    alarm(f);
    return f->holds && f->options.repair && f->options.recovery == 0 ? restore_copy(s, 1) : KAON_OK;
  }
  return keep_copy(s, now);
}

/* ---- creation ---- */

kaon_status kaon_faults_create(kaon_solver *s, const kaon_fault_options *options) {
  kaon_faults *f = calloc(1, sizeof *f);
  if (f == NULL) return kaon_fail(s->ctx, KAON_ERR_MEMORY, "faults: out of host memory");
  s->relax->faults = f;
  f->frozen = calloc((size_t)s->inner->space->nsites + 1, 1);
  if (f->frozen == NULL) return kaon_fail(s->ctx, KAON_ERR_MEMORY, "faults: out of host memory");
  KAON_TRY(kaon_options_share(s->ctx, KAON_OK, KAON_OPTIONS_FAULTS, options, &f->options, NULL, 0));
  options = &f->options;
  const int ranks = s->ctx->comm->ranks;
  if (options->kind == KAON_FAULT_RANK && options->rank >= ranks)
    return kaon_fail(
        s->ctx, KAON_ERR_ARGUMENT,
        "faults: rank %d should lose its rows, but there are %d ranks; give one from 0 to %d",
        options->rank, ranks, ranks - 1);
  return kaon_vector_create(s->ctx, s->inner->space, s->inner->precision, s->columns, &f->safe);
}

void kaon_faults_destroy(kaon_solver *s) {
  kaon_faults *f = s->relax->faults;
  if (f == NULL) return;
  kaon_vector_destroy(&f->safe);
  free(f->frozen);
  free(f);
  s->relax->faults = NULL;
}

void kaon_faults_renew(kaon_solver *s) {
  kaon_faults *f = s->relax->faults;
  if (!s->process.mixed) return;
  f->safe_residual2 = -1;
  f->known = f->quiet = 0;
}

kaon_status kaon_faults_begin(kaon_solver *s) {
  kaon_faults *f = s->relax->faults;
  f->random = f->options.seed + ((uint64_t)s->ctx->comm->rank << 40);
  f->at = f->holds = f->known = f->quiet = 0;
  f->rate = 0;
  f->safe_residual2 = -1;
  f->noted = (kaon_relax_report){.frozen_at = -1, .restored_at = -1, .first_alarm = -1};
  KAON_TRY(s->relax->rows->ops->freeze(s->relax->rows, NULL));
  return choose(s);
}
