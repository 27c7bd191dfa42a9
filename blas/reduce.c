/* reduce.c - what follows a kernel's local sums where there are several ranks. */
#include "blas/submit.h"
#include "lib/math/block.h"

/* Moves the slots of the open columns between the states and a dense array, which holds (re, im) in
 * the order column, slot. Returns how many doubles there are. */
static int move_slots(kaon_column_state *state, int columns, int gate, const int *slots, int nslots,
                      double *dense, int unpack) {
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

/* The kernel's partial sums are spent: their buffer carries the message. */
static kaon_status sum_over_ranks(kaon_context *ctx, const kaon_pass *pass, const int *slots,
                                  int nslots) {
  kaon_comm *comm = ctx->comm;
  const kaon_scalars *scalars = pass->scalars;
  if (!ctx->backend->host_accessible)
    return kaon_fail(ctx, KAON_ERR_NOT_BUILT,
                     "sums over %d ranks: backend %s keeps its scalars on the device and has no "
                     "sum over ranks there; use --backend cpu or one rank",
                     comm->ranks, ctx->backend->name);
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
  const int n =
      move_slots(scalars->state, scalars->columns, pass->gate, slots, nslots, ctx->partials, 0);
  if (n == 0) return KAON_OK;
  KAON_TRY(comm->ops->sum_start(comm, ctx->partials, n));
  KAON_TRY(comm->ops->sum_finish(comm));
  move_slots(scalars->state, scalars->columns, pass->gate, slots, nslots, ctx->partials, 1);
  return KAON_OK;
}

kaon_status kaon_blas_complete(kaon_context *ctx, const kaon_pass *pass, const int *slots,
                               int nslots) {
  if (ctx->comm->ranks == 1 || pass == NULL || pass->scalars == NULL) return KAON_OK;
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
  ctx->calm = 1;
  return KAON_OK;
}
