/* comm.c - what is the same over every communicator. */
#include "lib/comm.h"

#include "lib/context.h"
#include "lib/error.h"

kaon_status kaon_agree(const kaon_context *ctx, kaon_status mine) {
  if (ctx == NULL || ctx->comm->ranks == 1) return mine;
  if (mine != KAON_OK && kaon_error_agreed(ctx)) return mine;
  if (mine == KAON_OK) kaon_error_mark_agreed(ctx, 0); /* what failed before is over */
  return ctx->comm->ops->agree(ctx->comm, mine);
}

kaon_status kaon_comm_sum(const kaon_context *ctx, double *values, int n) {
  kaon_comm *comm = ctx->comm;
  if (comm->ranks == 1) return KAON_OK;
  KAON_TRY(comm->ops->sum_start(comm, values, n));
  return comm->ops->sum_finish(comm);
}

int kaon_is_first(const kaon_context *ctx) {
  return ctx == NULL || ctx->comm->rank == 0;
}

kaon_status kaon_share(const kaon_context *ctx, void *data, size_t bytes) {
  if (ctx == NULL || ctx->comm->ranks == 1) return KAON_OK;
  return ctx->comm->ops->broadcast(ctx->comm, data, bytes, 0);
}

#ifndef KAON_BUILD_MPI
kaon_status kaon_comm_mpi_create(kaon_context *ctx, const void *handle, kaon_comm **comm) {
  (void)handle, (void)comm;
  return kaon_fail(ctx, KAON_ERR_NOT_BUILT,
                   "ranks: several ranks were asked for, but this kaon was built without MPI; "
                   "install an MPI library and configure with -DKAON_COMM=MPI");
}

void kaon_comm_mpi_end(void) {}
#endif
