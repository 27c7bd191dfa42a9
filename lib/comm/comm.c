/* comm.c - what all communicators share. */
#include "lib/comm/comm.h"

#include <stdlib.h>
#include <unistd.h>

#include "lib/core/context_internal.h"
#include "lib/core/error.h"

kaon_status kaon_comm_reserve(const kaon_context *ctx, int n) {
  kaon_comm *comm = ctx->comm;
  return comm->ops->reserve != NULL ? comm->ops->reserve(comm, n) : KAON_OK;
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

kaon_status kaon_broadcast(const kaon_context *ctx, void *data, size_t bytes) {
  if (ctx == NULL || ctx->comm->ranks == 1) return KAON_OK;
  return ctx->comm->ops->broadcast(ctx->comm, data, bytes, 0);
}

void kaon_comm_add(const kaon_comm *comm, const double *all, int n, double *sum) {
  for (int i = 0; i < n; i++) {
    sum[i] = all[i];
    for (int r = 1; r < comm->ranks; r++) sum[i] += all[(size_t)r * (size_t)n + (size_t)i];
  }
}

void kaon_comm_host(char *name, size_t room) {
  if (gethostname(name, room) != 0) name[0] = '\0';
  name[room - 1] = '\0';
}

#ifndef KAON_BUILD_RANKS
kaon_status kaon_comm_ranks_create(kaon_context *ctx, const void *handle, kaon_comm **comm) {
  (void)handle, (void)comm;
  return kaon_fail(ctx, KAON_ERR_NOT_BUILT,
                   "ranks: several ranks were asked for, but this kaon was built without MPI; "
                   "install an MPI library and configure with -DKAON_COMM=MPI");
}

const char *kaon_comm_ranks_name(void) {
  return "";
}

void kaon_comm_ranks_end(void) {}

int kaon_comm_ranks_finish(double seconds, int *first) {
  (void)seconds, (void)first;
  return 1;
}
#endif
