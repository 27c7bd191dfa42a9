/* pass.c - gate, sums and recurrence of a pass (lib/operator/pass.h): which kernel computes the
 * sums, how they reach the other ranks, and what runs the recurrence. */
#include <string.h>

#include "blas/blas.h"
#include "lib/operator/fused_apply.h"
#include "lib/math/steps/block_recurrences.h"

/* If the host can read the gate and it is open, the kernel need not read it over the bus. */
kaon_gate kaon_pass_gate(const kaon_pass *pass) {
  if (pass == NULL || pass->scalars == NULL) return (kaon_gate){.mask = KAON_GATE_ANY};
  const kaon_scalars *s = pass->scalars;
  if (s->ctx->backend->host_scalars && s->columns == 1 && (s->state[0].gate & pass->gate) != 0)
    return (kaon_gate){.mask = KAON_GATE_ANY};
  return (kaon_gate){.state = pass->scalars->state, .mask = pass->gate};
}

kaon_gate kaon_pass_gate_inner(const kaon_pass *pass, const kaon_vector *v) {
  kaon_gate gate = kaon_pass_gate(pass);
  if (v->space->inner > 1) gate.columns = v->nrhs;
  return gate;
}

kaon_pass kaon_pass_gate_only(const kaon_pass *pass) {
  kaon_pass gate_only = KAON_PASS_INIT;
  if (pass != NULL) {
    gate_only.scalars = pass->scalars;
    gate_only.gate = pass->gate;
  }
  return gate_only;
}

/* ---- which kernel computes the sums ---- */

/* 1: sums need a call of the communicator: there are several ranks, or a delay is injected. */
static int travels(const kaon_scalars *s) {
  return !s->local && kaon_comm_sums(s->ctx->comm);
}

/* 1: kernels of these columns end with sequence-tagged sums (lib/cuda/reduction/reduce.h), as
 * KAON_SUMS_RANKS, COMPLETES and LEAVES require. The same on all ranks. */
static int are_tagged(const kaon_scalars *s) {
  const kaon_context *ctx = s->ctx;
  return s->columns == 1 && !ctx->backend->host_accessible && ctx->library == NULL &&
         !kaon_separate(ctx);
}

/* 1: the kernel's last block may sum over ranks and run the recurrence, so that nothing is left to
 * do. */
static int kernel_sums_ranks(const kaon_pass *pass) {
  const kaon_scalars *s = pass->scalars;
  return s->ctx->peer_reduction != NULL && !s->local && pass->sum == KAON_SUM_NOW &&
         s->nslots == 0 && pass->then < KAON_REC_BLOCK && s->ctx->comm->delay == NULL &&
         are_tagged(s);
}

/* 1: the kernel may leave its sums to the operator that completes them. They must be its first
 * ones. */
static int may_leave(const kaon_kernel_sums *sums) {
  const kaon_pass *pass = sums->pass;
  const kaon_operator *A = pass->completed_by;
  for (int i = 0; i < sums->nslots; i++)
    if (sums->sum.slot[i] == KAON_NO_SLOT) return 0;
  return sums->nslots > 0 && pass->sum == KAON_SUM_DEFER && A != NULL &&
         kaon_operator_completes_sums(A, pass->scalars->columns) && are_tagged(pass->scalars);
}

void kaon_sums_plan(kaon_kernel_sums *sums, int offers) {
  const kaon_pass *pass = sums->pass;
  if (pass == NULL || pass->scalars == NULL || (sums->nslots == 0 && pass->then == 0)) return;
  kaon_scalars *s = pass->scalars;
  sums->sum.state = s->state;
  sums->sum.ranks = (offers & KAON_SUMS_RANKS) && sums->nslots > 0 && kernel_sums_ranks(pass);
  if ((!travels(s) || sums->sum.ranks) &&
      ((offers & KAON_SUMS_RECURRENCES) || kaon_recurrence_of_product(pass->then)))
    sums->sum.then = pass->then;
  sums->sum.leave = (offers & KAON_SUMS_LEAVES) && may_leave(sums);
  if (sums->sum.leave || ((offers & KAON_SUMS_COMPLETES) && sums->nslots > 0 &&
                          pass->sum != KAON_SUM_DEFER && s->deferred.left > 0))
    sums->sum.deferred = &s->deferred;
}

kaon_kernel_sums kaon_sums_for_kernel(const kaon_vector *y, const kaon_pass *pass, int offers) {
  const int norm = pass != NULL && pass->norm != KAON_NO_SLOT,
            dot = pass != NULL && pass->dot != KAON_NO_SLOT;
  const int wanted = norm * KAON_SUMS_NORM + dot * KAON_SUMS_DOT;
  kaon_kernel_sums sums = {.y = y, .pass = pass, .sum = KAON_SUM_NONE};
  if (pass == NULL || pass->scalars == NULL || (wanted == 0 && pass->then == 0)) return sums;
  sums.separate = kaon_separate(pass->scalars->ctx) || (wanted & ~offers) != 0 ||
                  (offers & (KAON_SUMS_NORM | KAON_SUMS_DOT)) == 0;
  if (sums.separate) return sums;
  sums.sum.slot[0] = pass->norm;
  sums.sum.slot[1] = pass->dot;
  if (norm) sums.slots[sums.nslots++] = pass->norm;
  if (dot) sums.slots[sums.nslots++] = pass->dot;
  if (dot) sums.w = kaon_view_of(pass->w);
  kaon_sums_plan(&sums, offers);
  return sums;
}

kaon_status kaon_pass_sum_separately(const kaon_vector *y, const kaon_pass *pass) {
  if (pass == NULL || pass->scalars == NULL) return KAON_OK;
  if (pass->norm == KAON_NO_SLOT && pass->dot == KAON_NO_SLOT) return kaon_blas_recur(y->ctx, pass);
  const int slot[3] = {pass->dot, KAON_NO_SLOT, pass->norm};
  kaon_pass sums = *pass;
  sums.norm = sums.dot = KAON_NO_SLOT;
  return kaon_blas_dot(pass->dot == KAON_NO_SLOT ? y : pass->w, y, slot, &sums);
}

/* ---- how sums reach the other ranks ---- */

/* Copies the slots of the open columns between the states and a dense array, which holds (re, im)
 * in the order column, slot. Returns the number of doubles. */
static int copy_slots(const kaon_pass *pass, int unpack) {
  const kaon_scalars *s = pass->scalars;
  double *message = s->message;
  for (int k = 0; k < s->columns; k++) {
    if ((s->state[k].gate & pass->gate) == 0) continue;
    for (int i = 0; i < s->nslots; i++, message += 2) {
      double *slot = s->state[k].slot[s->slots[i]];
      memcpy(unpack ? slot : message, unpack ? message : slot, 2 * sizeof *slot);
    }
  }
  return (int)(message - s->message);
}

/* 1: some column is open, or the host cannot read the gates. Gates are the same on all ranks. */
static int any_open(const kaon_pass *pass) {
  const kaon_scalars *s = pass->scalars;
  int open = !s->ctx->backend->host_accessible;
  for (int k = 0; k < s->columns && !open; k++) open = (s->state[k].gate & pass->gate) != 0;
  return open;
}

/* The recurrence that a device runs when it completes a sum over ranks; 0: the host issues it. A
 * device cannot run those that join columns, or wait for an injected delay. */
static int device_then(const kaon_pass *pass) {
  const kaon_comm *comm = pass->scalars->ctx->comm;
  return comm->ranks > 1 && comm->delay == NULL && pass->then < KAON_REC_BLOCK ? pass->then : 0;
}

/* Begins and completes a sum in one call of a device's backend. */
static kaon_status sum_on_device(const kaon_pass *pass) {
  kaon_scalars *s = pass->scalars;
  kaon_context *ctx = s->ctx;
  const int n = s->nslots, then = device_then(pass);
  s->nslots = 0;
  if (n == 0) return kaon_blas_recur(ctx, pass);
  KAON_TRY(kaon_comm_delay_begin(ctx->comm));
  if (ctx->comm->ranks > 1)
    KAON_TRY(ctx->backend->ranks->sum(ctx, s->state, s->columns, pass->gate, s->slots, n, then));
  KAON_TRY(kaon_comm_delay_end(ctx->comm));
  ctx->no_flush_needed = 1; /* only scalars were written */
  return pass->then != then ? kaon_blas_recur(ctx, pass) : KAON_OK;
}

static kaon_status begin(const kaon_pass *pass) {
  kaon_scalars *s = pass->scalars;
  kaon_context *ctx = s->ctx;
  kaon_comm *comm = ctx->comm;
  if (s->nslots == 0 || !any_open(pass)) return KAON_OK;
  if (ctx->backend->host_accessible) { /* a single rank with delayed sums sends nothing */
    KAON_TRY(comm->ops->sum_start(comm, s->message, comm->ranks > 1 ? copy_slots(pass, 0) : 0));
  } else {
    KAON_TRY(kaon_comm_delay_begin(comm));
    if (comm->ranks > 1)
      KAON_TRY(ctx->backend->ranks->sum_start(ctx, s->state, s->columns, pass->gate, s->slots,
                                              s->nslots));
  }
  s->under_way = 1;
  return KAON_OK;
}

static kaon_status finish(const kaon_pass *pass, int *ran) {
  kaon_scalars *s = pass->scalars;
  kaon_context *ctx = s->ctx;
  kaon_comm *comm = ctx->comm;
  if (ctx->backend->host_accessible) {
    KAON_TRY(comm->ops->sum_finish(comm));
    if (comm->ranks > 1) copy_slots(pass, 1);
    return KAON_OK;
  }
  *ran = device_then(pass);
  if (comm->ranks > 1)
    KAON_TRY(ctx->backend->ranks->sum_finish(ctx, s->state, s->columns, pass->gate, s->slots,
                                             s->nslots, *ran));
  KAON_TRY(kaon_comm_delay_end(comm));
  ctx->no_flush_needed = 1; /* only scalars were written */
  return KAON_OK;
}

kaon_status kaon_pass_complete(const kaon_pass *pass) {
  kaon_scalars *s = pass->scalars;
  int ran = 0;
  if (!travels(s)) return KAON_OK; /* a kernel has run the recurrence */
  const int under_way = s->under_way;
  s->under_way = 0;
  const kaon_status status = under_way ? finish(pass, &ran) : KAON_OK;
  s->nslots = 0;
  KAON_TRY(status);
  return pass->then != ran ? kaon_blas_recur(s->ctx, pass) : KAON_OK;
}

/* Adds the kernel's slots to those of the next message. A sum that is still under way was left by a
 * failed step; a device's backend drops it itself. */
static kaon_status defer(const kaon_kernel_sums *sums) {
  kaon_scalars *s = sums->pass->scalars;
  kaon_context *ctx = s->ctx;
  if (s->under_way) {
    s->under_way = s->nslots = 0;
    if (ctx->backend->host_accessible) KAON_TRY(ctx->comm->ops->sum_finish(ctx->comm));
  }
  if (s->nslots + sums->nslots > KAON_MESSAGE_SLOTS)
    return kaon_fail(ctx, KAON_ERR_ARGUMENT,
                     "sums over ranks: %d slots, but a message has room for %d; sum fewer at once",
                     s->nslots + sums->nslots, (int)KAON_MESSAGE_SLOTS);
  memcpy(s->slots + s->nslots, sums->slots, (size_t)sums->nslots * sizeof *s->slots);
  s->nslots += sums->nslots;
  return KAON_OK;
}

/* Notes the partial sums that the kernel has left; its launcher has set their number of chunks.
 * What a failed step has left is dropped. */
static kaon_status note_left(const kaon_kernel_sums *sums) {
  kaon_scalars *s = sums->pass->scalars;
  s->nslots = 0;
  s->deferred.left = sums->nslots;
  s->deferred.real = !sums->y->space->complex_space;
  memcpy(s->deferred.slot, sums->sum.slot, sizeof s->deferred.slot);
  return travels(s) ? defer(sums) : KAON_OK;
}

static kaon_status send(const kaon_kernel_sums *sums) {
  const kaon_pass *pass = sums->pass;
  kaon_scalars *s = pass->scalars;
  const int alone = s->nslots == 0;
  KAON_TRY(defer(sums));
  if (pass->sum == KAON_SUM_DEFER) return KAON_OK;
  if (pass->sum == KAON_SUM_NOW && alone && !s->ctx->backend->host_accessible)
    return sum_on_device(pass);
  KAON_TRY(begin(pass));
  return pass->sum == KAON_SUM_NOW ? kaon_pass_complete(pass) : KAON_OK;
}

kaon_status kaon_sums_after_kernel(const kaon_kernel_sums *sums) {
  const kaon_pass *pass = sums->pass;
  if (sums->separate) return kaon_pass_sum_separately(sums->y, pass);
  if (sums->sum.state == NULL) return KAON_OK;
  if (sums->sum.leave) return note_left(sums);
  kaon_scalars *s = pass->scalars;
  kaon_traffic *traffic = &s->ctx->comm->traffic;
  if (sums->sum.deferred != NULL) s->deferred.left = 0; /* they are in their slots now */
  if (pass->sum != KAON_SUM_DEFER && !s->local) {
    if (s->deferred.left > 0)
      return kaon_fail(s->ctx, KAON_ERR_INTERNAL,
                       "sums: %d of them are still partial sums, which the pass that completes "
                       "them does not accept",
                       s->deferred.left);
    const int sent = sums->nslots > 0 && any_open(pass);
    traffic->sums += sent;
    traffic->hidden += sent && pass->sum == KAON_SUM_BEGIN;
  }
  if (sums->sum.ranks) return KAON_OK;
  if (travels(s)) return send(sums);
  return pass->then != sums->sum.then ? kaon_blas_recur(s->ctx, pass) : KAON_OK;
}
