/* reduce.c - completes a kernel's local sums over several ranks, at once or in two halves with
 * other work between them. */
#include "blas/submit.h"
#include "lib/math/steps/block_recurrences.h"

/* Copies the slots of the open columns between the states and a dense array, which holds (re, im)
 * in the order column, slot. Returns the number of doubles. */
static int merge_slots(kaon_column_state *state, int columns, int gate, const int *slots,
                       int nslots, double *dense, int unpack) {
  int n = 0;
  for (int k = 0; k < columns; k++) {
    if ((state[k].gate & gate) == 0) continue;
    for (int i = 0; i < nslots; i++) {
      if (slots[i] == KAON_NO_SLOT) continue;
      for (int c = 0; c < 2; c++, n++) {
        if (unpack)
          state[k].slot[slots[i]][c] = dense[n];
        else
          dense[n] = state[k].slot[slots[i]][c];
      }
    }
  }
  return n;
}

/* 1 if slots are wanted and some column is open, or if the host cannot read the gates. Gates are
 * the same on all ranks. */
static int anything_to_sum(const kaon_context *ctx, const kaon_pass *pass, const int *slots,
                           int nslots) {
  int open = !ctx->backend->host_accessible, wanted = 0;
  for (int i = 0; i < nslots; i++) wanted |= slots[i] != KAON_NO_SLOT;
  for (int k = 0; k < pass->scalars->columns && wanted && !open; k++)
    open = (pass->scalars->state[k].gate & pass->gate) != 0;
  return open && wanted;
}

/* ---- on a device: by the backend, in the queue's order (lib/core/backend.h) ---- */

/* The recurrence that the kernel which completes a sum over ranks can also run: a recurrence of a
 * column, without a delay before it. */
static int device_then(const kaon_context *ctx, const kaon_pass *pass) {
  const kaon_comm *comm = ctx->comm;
  return comm->ranks > 1 && comm->delay == NULL && pass->then < KAON_REC_BLOCK ? pass->then : 0;
}

static kaon_status device_rest(kaon_context *ctx, const kaon_pass *pass, int ran) {
  ctx->no_flush_needed = 1; /* only scalars were written */
  return pass->then != ran ? kaon_blas_recur(ctx, pass) : KAON_OK;
}

static kaon_status device_whole(kaon_context *ctx, const kaon_pass *pass, const int *slots,
                                int nslots) {
  kaon_comm *comm = ctx->comm;
  const kaon_scalars *s = pass->scalars;
  const int then = device_then(ctx, pass);
  if (!anything_to_sum(ctx, pass, slots, nslots)) return kaon_blas_recur(ctx, pass);
  KAON_TRY(kaon_comm_delay_begin(comm));
  if (comm->ranks > 1)
    KAON_TRY(ctx->backend->ranks->sum(ctx, s->state, s->columns, pass->gate, slots, nslots, then));
  KAON_TRY(kaon_comm_delay_end(comm));
  return device_rest(ctx, pass, then);
}

static kaon_status device_start(kaon_context *ctx, const kaon_pass *pass, int *under_way) {
  kaon_comm *comm = ctx->comm;
  const kaon_scalars *s = pass->scalars;
  *under_way = 0;
  if (!anything_to_sum(ctx, pass, s->deferred.slot, s->deferred.n)) return KAON_OK;
  KAON_TRY(kaon_comm_delay_begin(comm));
  if (comm->ranks > 1)
    KAON_TRY(ctx->backend->ranks->sum_start(ctx, s->state, s->columns, pass->gate, s->deferred.slot,
                                            s->deferred.n));
  *under_way = 1;
  return KAON_OK;
}

static kaon_status device_finish(kaon_context *ctx, const kaon_pass *pass, int nslots) {
  kaon_comm *comm = ctx->comm;
  const kaon_scalars *s = pass->scalars;
  const int then = device_then(ctx, pass);
  if (comm->ranks > 1)
    KAON_TRY(ctx->backend->ranks->sum_finish(ctx, s->state, s->columns, pass->gate,
                                             s->deferred.slot, nslots, then));
  KAON_TRY(kaon_comm_delay_end(comm));
  return device_rest(ctx, pass, then);
}

/* ---- in host memory ---- */

/* Starts the sum of `slots` in `message`; *under_way: 1 if there is one. A single rank with delayed
 * sums (lib/comm/comm_delay.c) sends nothing. */
static kaon_status start_sum(kaon_context *ctx, const kaon_pass *pass, const int *slots, int nslots,
                             double *message, int *under_way) {
  kaon_comm *comm = ctx->comm;
  const kaon_scalars *scalars = pass->scalars;
  *under_way = 0;
  if (!anything_to_sum(ctx, pass, slots, nslots)) return KAON_OK;
  int n = 0;
  if (comm->ranks > 1)
    n = merge_slots(scalars->state, scalars->columns, pass->gate, slots, nslots, message, 0);
  KAON_TRY(comm->ops->sum_start(comm, message, n));
  *under_way = 1;
  return KAON_OK;
}

static kaon_status finish_sum(kaon_context *ctx, const kaon_pass *pass, const int *slots,
                              int nslots, double *message) {
  const kaon_scalars *scalars = pass->scalars;
  KAON_TRY(ctx->comm->ops->sum_finish(ctx->comm));
  if (ctx->comm->ranks > 1)
    merge_slots(scalars->state, scalars->columns, pass->gate, slots, nslots, message, 1);
  return KAON_OK;
}

/* The kernel's partial sums are no longer needed, so their buffer holds the message. */
static kaon_status sum_over_ranks(kaon_context *ctx, const kaon_pass *pass, const int *slots,
                                  int nslots) {
  const kaon_scalars *scalars = pass->scalars;
  int under_way;
  const size_t need = 2 * sizeof(double) * (size_t)nslots * (size_t)scalars->columns;
  if (need > ctx->partials_bytes) {
    kaon_launch unused;
    KAON_TRY(kaon_launch_prepare(ctx, scalars->columns, 0, &unused));
  }
  if (need > ctx->partials_bytes)
    return kaon_fail(ctx, KAON_ERR_ARGUMENT,
                     "sums over ranks: %d slots of %d columns do not fit the reduction buffer of "
                     "%zu bytes; sum fewer at once",
                     nslots, scalars->columns, ctx->partials_bytes);
  KAON_TRY(start_sum(ctx, pass, slots, nslots, ctx->partials, &under_way));
  return under_way ? finish_sum(ctx, pass, slots, nslots, ctx->partials) : KAON_OK;
}

/* Adds slots to those of a split sum, deferred or started. */
static kaon_status defer_slots(kaon_context *ctx, kaon_scalars *scalars, const int *slots,
                               int nslots) {
  for (int i = 0; i < nslots; i++) {
    if (slots[i] == KAON_NO_SLOT) continue;
    if (scalars->deferred.n == KAON_SPLIT_SLOTS)
      return kaon_fail(
          ctx, KAON_ERR_ARGUMENT,
          "sums over ranks: more slots hold partial sums than the %d that fit a message",
          (int)KAON_SPLIT_SLOTS);
    scalars->deferred.slot[scalars->deferred.n++] = slots[i];
  }
  return KAON_OK;
}

/* The message of a split sum has a separate buffer, since work in between may compute other
 * sums. */
static kaon_status split_sum(kaon_context *ctx, const kaon_pass *pass, const int *slots,
                             int nslots) {
  kaon_scalars *scalars = pass->scalars;
  if (scalars->under_way) { /* left by a failed step; on a device the backend drops it */
    scalars->under_way = scalars->deferred.n = 0;
    if (ctx->backend->host_accessible) KAON_TRY(ctx->comm->ops->sum_finish(ctx->comm));
  }
  KAON_TRY(defer_slots(ctx, scalars, slots, nslots));
  if (pass->split == KAON_SUM_DEFER || pass->split == KAON_SUM_PARTIAL) return KAON_OK;
  if (!ctx->backend->host_accessible) return device_start(ctx, pass, &scalars->under_way);
  return start_sum(ctx, pass, scalars->deferred.slot, scalars->deferred.n, scalars->message,
                   &scalars->under_way);
}

kaon_status kaon_blas_finish(kaon_context *ctx, const kaon_pass *pass) {
  kaon_scalars *scalars = pass->scalars;
  const int under_way = scalars->under_way, count = scalars->deferred.n;
  if (!kaon_comm_sums(ctx->comm)) return KAON_OK;
  scalars->under_way = scalars->deferred.n = 0;
  if (under_way && !ctx->backend->host_accessible) return device_finish(ctx, pass, count);
  if (under_way) KAON_TRY(finish_sum(ctx, pass, scalars->deferred.slot, count, scalars->message));
  return pass->then != 0 ? kaon_blas_recur(ctx, pass) : KAON_OK;
}

int kaon_blas_kernel_sums_ranks(const kaon_context *ctx, const kaon_pass *pass) {
  return ctx->peer_reduction != NULL && !pass->scalars->local && pass->split == KAON_SUM_WHOLE &&
         pass->then < KAON_REC_BLOCK && ctx->comm->delay == NULL &&
         kaon_blas_marks(ctx, pass->scalars->columns);
}

int kaon_blas_leaves_partials(const kaon_context *ctx, const kaon_pass *pass) {
  return pass->split == KAON_SUM_PARTIAL && kaon_blas_marks(ctx, pass->scalars->columns);
}

/* Partial sums are only for a MERGE by an operator that accepts them. */
static kaon_status check_left(kaon_context *ctx, const kaon_pass *pass) {
  if (pass->split == KAON_SUM_DEFER || pass->scalars->deferred.left == 0) return KAON_OK;
  return kaon_fail(
      ctx, KAON_ERR_INTERNAL,
      "sums: %d of them are still partial sums, which the pass that completes them does not accept",
      pass->scalars->deferred.left);
}

kaon_status kaon_blas_complete(kaon_context *ctx, const kaon_pass *pass, const int *slots,
                               int nslots) {
  if (pass == NULL || pass->scalars == NULL || pass->scalars->local) return KAON_OK;
  const int keeps = pass->split == KAON_SUM_DEFER || pass->split == KAON_SUM_PARTIAL;
  if (pass->split == KAON_SUM_PARTIAL) pass->scalars->deferred.n = pass->scalars->deferred.left = 0;
  KAON_TRY(check_left(ctx, pass));
  if (!keeps && anything_to_sum(ctx, pass, slots, nslots)) {
    ctx->comm->traffic.sums++;
    ctx->comm->traffic.hidden += pass->split == KAON_SUM_START;
  }
  if (!kaon_comm_sums(ctx->comm)) return KAON_OK;
  if (pass->split != KAON_SUM_WHOLE) KAON_TRY(split_sum(ctx, pass, slots, nslots));
  if (pass->split == KAON_SUM_MERGE) return kaon_blas_finish(ctx, pass);
  if (pass->split != KAON_SUM_WHOLE) return KAON_OK;
  if (!ctx->backend->host_accessible) return device_whole(ctx, pass, slots, nslots);
  if (nslots > 0) KAON_TRY(sum_over_ranks(ctx, pass, slots, nslots));
  return pass->then != 0 ? kaon_blas_recur(ctx, pass) : KAON_OK;
}

kaon_status kaon_blas_recur(kaon_context *ctx, const kaon_pass *pass) {
  if (pass == NULL || pass->scalars == NULL)
    return kaon_fail(ctx, KAON_ERR_ARGUMENT,
                     "recurrence: a pass with scalars is needed; set pass.scalars");
  const kaon_blas_ops *ops = ctx->backend->blas[KAON_DOUBLE];
  if (pass->then == 0) return KAON_OK;
  if (pass->then > KAON_REC_BLOCK) return kaon_blas_block_recur(ctx, pass);
  kaon_update_args args = {.shape = {.nrhs = pass->scalars->columns},
                           .gate = {pass->scalars->state, pass->gate},
                           .sum = {.state = pass->scalars->state, .then = pass->then}};
  kaon_launch launch;
  KAON_TRY(kaon_launch_prepare(ctx, pass->scalars->columns, 0, &launch));
  ops->recur(&launch, &args);
  ctx->no_flush_needed = 1;
  return KAON_OK;
}

kaon_status kaon_blas_follow(const kaon_pass *outside, kaon_scalars *own) {
  kaon_context *ctx = own->ctx;
  const kaon_blas_ops *ops = ctx->backend->blas[KAON_DOUBLE];
  kaon_update_args args = {.shape = {.nrhs = own->columns},
                           .gate = {NULL, KAON_GATE_ANY},
                           .sum = {.state = own->state, .then = KAON_REC_LOCAL_CLOSE}};
  kaon_launch launch;
  KAON_TRY(kaon_launch_prepare(ctx, own->columns, 0, &launch));
  if (outside != NULL && outside->scalars != NULL) {
    ops->recur(&launch, &args);
    args.gate = kaon_pass_gate(outside);
  }
  args.sum.then = KAON_REC_LOCAL_OPEN;
  ops->recur(&launch, &args);
  ctx->no_flush_needed = 1;
  return KAON_OK;
}
