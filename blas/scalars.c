/* scalars.c - the scalars of a batch of columns (lib/operator/pass.h), and recurrences without a
 * sum. */
#include <stdlib.h>
#include <string.h>

#include "blas/blas.h"
#include "blas/blas_ops.h"
#include "lib/math/steps/block_recurrences.h"

/* Sets all slots to zero and opens every column to KAON_GATE_STEP. */
static kaon_status fill(kaon_scalars *scalars) {
  KAON_AUTOFREE kaon_column_state *host = calloc((size_t)scalars->columns, sizeof *host);
  if (host == NULL)
    return kaon_fail(scalars->ctx, KAON_ERR_MEMORY, "scalars: out of host memory for %d columns",
                     scalars->columns);
  for (int k = 0; k < scalars->columns; k++) host[k].gate = KAON_GATE_STEP;
  return kaon_scalars_write(scalars, host);
}

/* Only the host sends messages of its own. */
static size_t message_bytes(const kaon_context *ctx, int columns) {
  if (!ctx->backend->host_accessible) return 0;
  return (size_t)columns * 2 * KAON_MESSAGE_SLOTS * sizeof(double);
}

kaon_status kaon_scalars_borrow(kaon_context *ctx, int columns, kaon_scalars *scalars) {
  *scalars = (kaon_scalars){.ctx = ctx, .columns = columns};
  if (ctx->states_columns < columns) {
    void *states = NULL;
    KAON_TRY(kaon_pool_allocate(
        ctx, (size_t)columns * sizeof *scalars->state + message_bytes(ctx, columns), "scalars",
        &states));
    scalars->state = states;
    const kaon_status status = fill(scalars);
    kaon_pool_release(ctx, status == KAON_OK ? ctx->states : states);
    KAON_TRY(status);
    ctx->states = states;
    ctx->states_columns = columns;
  }
  scalars->state = ctx->states;
  scalars->message = (double *)(scalars->state + ctx->states_columns);
  return KAON_OK;
}

kaon_status kaon_scalars_create(kaon_context *ctx, int columns, kaon_scalars **scalars) {
  if (scalars != NULL) *scalars = NULL;
  if (ctx == NULL || scalars == NULL)
    return kaon_fail(ctx, KAON_ERR_ARGUMENT,
                     "scalars: the context and the address of the result are needed");
  if (columns < 1)
    return kaon_fail(ctx, KAON_ERR_ARGUMENT, "scalars: %d columns asked for, at least 1 is needed",
                     columns);
  kaon_scalars *made = calloc(1, sizeof *made);
  if (made == NULL) return kaon_fail(ctx, KAON_ERR_MEMORY, "scalars: out of host memory");
  made->ctx = ctx;
  made->columns = columns;
  kaon_context_retain(ctx);
  void *state = NULL;
  const size_t states = (size_t)columns * sizeof *made->state;
  const size_t message = message_bytes(ctx, columns);
  kaon_status status = ctx->backend->host_scalars
                           ? ctx->backend->memory->shared(ctx, states + message, &state)
                           : kaon_pool_allocate(ctx, states + message, "scalars", &state);
  made->state = state;
  if (status == KAON_OK) made->message = (double *)((char *)state + states);
  if (status == KAON_OK) status = fill(made);
  *scalars = made;
  if (status != KAON_OK) kaon_scalars_destroy(scalars);
  return status;
}

void kaon_scalars_destroy(kaon_scalars **scalars) {
  if (scalars == NULL || *scalars == NULL) return;
  kaon_scalars *gone = *scalars;
  kaon_comm *comm = gone->ctx->comm;
  *scalars = NULL;
  if (gone->under_way && gone->ctx->backend->host_accessible) /* a step failed in between */
    comm->ops->sum_finish(comm);
  if (gone->ctx->backend->host_scalars)
    gone->ctx->backend->memory->unshare(gone->ctx, gone->state);
  else
    kaon_pool_release(gone->ctx, gone->state);
  kaon_context_release(gone->ctx);
  free(gone);
}

kaon_status kaon_scalars_read(const kaon_scalars *scalars, kaon_column_state *host) {
  if (scalars->ctx->backend->host_scalars) {
    /* for one column, the entry that wrote the states returned with them complete (library.c) */
    if (scalars->columns > 1) KAON_TRY(scalars->ctx->backend->memory->synchronise(scalars->ctx));
    memcpy(host, scalars->state, (size_t)scalars->columns * sizeof *host);
    return KAON_OK;
  }
  return scalars->ctx->backend->memory->to_host(scalars->ctx, host, scalars->state,
                                                (size_t)scalars->columns * sizeof *host);
}

kaon_status kaon_scalars_write(kaon_scalars *scalars, const kaon_column_state *host) {
  if (scalars->ctx->backend->host_scalars) {
    KAON_TRY(scalars->ctx->backend->memory->synchronise(scalars->ctx));
    memcpy(scalars->state, host, (size_t)scalars->columns * sizeof *host);
    return KAON_OK;
  }
  return scalars->ctx->backend->memory->to_device(scalars->ctx, scalars->state, host,
                                                  (size_t)scalars->columns * sizeof *host);
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
