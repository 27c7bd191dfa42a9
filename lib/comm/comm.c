/* comm.c - what all communicators share. */
#include "lib/comm/comm.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/core/context_internal.h"
#include "lib/core/error.h"

kaon_status kaon_agree(const kaon_context *ctx, kaon_status mine) {
  if (ctx == NULL || ctx->comm->ranks == 1) return mine;
  if (mine != KAON_OK && kaon_error_agreed(ctx)) return mine;
  if (mine == KAON_OK) kaon_error_mark_agreed(ctx, 0); /* forgets earlier failures */
  return ctx->comm->ops->agree(ctx->comm, mine);
}

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

/* Returns the first rank that failed, or -1. Ranks that only timed out waiting for another (COMM)
 * count after those with a reason of their own. *alike: all ranks failed with the same status. */
static int first_failed(const double *numbers, int ranks, kaon_status *status, int *alike) {
  int first = -1;
  *alike = 1;
  for (int r = ranks - 1; r >= 0; r--) {
    if (numbers[r] != numbers[0] || numbers[r] == KAON_OK) *alike = 0;
    if (numbers[r] == KAON_OK) continue;
    if (first < 0 || numbers[r] != KAON_ERR_COMM || numbers[first] == KAON_ERR_COMM) first = r;
  }
  if (first >= 0) *status = (kaon_status)(int)numbers[first];
  return first;
}

kaon_status kaon_comm_agree(kaon_comm *comm, kaon_status mine) {
  enum { SENTENCE = 1024 };
  char text[SENTENCE] = "";
  const double number = (double)mine;
  double *numbers = malloc((size_t)comm->ranks * sizeof *numbers);
  kaon_status status = KAON_OK;
  int first = -1, alike = 0;
  if (numbers == NULL) return kaon_fail(comm->ctx, KAON_ERR_MEMORY, "ranks: out of host memory");
  const kaon_status sent = comm->ops->gather(comm, &number, 1, numbers);
  if (sent == KAON_OK) first = first_failed(numbers, comm->ranks, &status, &alike);
  free(numbers);
  if (sent != KAON_OK || first < 0) return sent;
  if (comm->rank == first) {
    const char *sentence = kaon_last_error(comm->ctx);
    if (sentence[0] == '\0') sentence = kaon_status_text(mine);
    strncpy(text, sentence, sizeof text - 1);
  }
  KAON_TRY(comm->ops->broadcast(comm, text, sizeof text, first));
  if (alike) /* the rank's index would say nothing */
    kaon_fail(comm->ctx, status, "%s", text);
  else
    kaon_fail(comm->ctx, status, "rank %d: %s", first, text);
  kaon_error_mark_agreed(comm->ctx, 1);
  return status;
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
