/* comm.c - what is the same over every communicator. */
#include "lib/comm.h"

#include "lib/context.h"
#include "lib/error.h"

kaon_status kaon_agree(kaon_context *ctx, kaon_status mine) {
  if (ctx->comm->ranks == 1 || (mine != KAON_OK && kaon_error_agreed(ctx))) return mine;
  return ctx->comm->ops->agree(ctx->comm, mine);
}

kaon_status kaon_comm_sum(kaon_context *ctx, double *values, int n) {
  kaon_comm *comm = ctx->comm;
  if (comm->ranks == 1) return KAON_OK;
  KAON_TRY(comm->ops->sum_start(comm, values, n));
  return comm->ops->sum_finish(comm);
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
