/* comm_delay.c - a communicator with delayed sums. All other functions are the transport's.
 * On the host, finish returns no earlier than start plus the delay. Around sums of a device's
 * scalars, its queue is delayed (lib/core/backend.h), while work enqueued in between runs. */
#include <stdlib.h>
#include <time.h>

#include "lib/cpu/clock.h"
#include "lib/core/context_internal.h"
#include "lib/core/error.h"

struct kaon_comm_delay {
  const kaon_comm_ops *own; /* the transport's */
  kaon_comm_ops ops;        /* the same except for the sums and the end */
  double seconds, due;
};

/* Sleeps, then spins for the last 200 us, as a sleep ends too late by some 50 us. */
static void wait_until(double due) {
  static const double awake = 2e-4;
  for (double left = due - kaon_seconds(); left > 0; left = due - kaon_seconds()) {
    if (left <= awake) continue;
    const double seconds = left - awake;
    const struct timespec t = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    nanosleep(&t, NULL);
  }
}

static kaon_status sum_start(kaon_comm *comm, double *values, int n) {
  struct kaon_comm_delay *d = comm->delay;
  d->due = kaon_seconds() + d->seconds;
  return comm->ranks > 1 ? d->own->sum_start(comm, values, n) : KAON_OK;
}

static kaon_status sum_finish(kaon_comm *comm) {
  const struct kaon_comm_delay *d = comm->delay;
  if (comm->ranks > 1) KAON_TRY(d->own->sum_finish(comm));
  wait_until(d->due);
  return KAON_OK;
}

kaon_status kaon_comm_delay_begin(kaon_comm *comm) {
  const kaon_backend *backend = comm->ctx->backend;
  if (comm->delay == NULL || backend->delay_start == NULL) return KAON_OK;
  return backend->delay_start(comm->ctx, comm->delay->seconds);
}

kaon_status kaon_comm_delay_end(kaon_comm *comm) {
  const kaon_backend *backend = comm->ctx->backend;
  if (comm->delay == NULL || backend->delay_finish == NULL) return KAON_OK;
  return backend->delay_finish(comm->ctx);
}

const kaon_comm_ops *kaon_comm_undelayed(const kaon_comm *comm) {
  return comm->delay != NULL ? comm->delay->own : comm->ops;
}

static void destroy(kaon_comm **comm) {
  struct kaon_comm_delay *d = (*comm)->delay;
  const kaon_comm_ops *own = d->own;
  free(d);
  own->destroy(comm);
}

kaon_status kaon_comm_delay(kaon_comm *comm, double seconds) {
  struct kaon_comm_delay *d = malloc(sizeof *d);
  if (d == NULL) return kaon_fail(comm->ctx, KAON_ERR_MEMORY, "communicator: out of host memory");
  *d = (struct kaon_comm_delay){.own = comm->ops, .ops = *comm->ops, .seconds = seconds};
  d->ops.sum_start = sum_start;
  d->ops.sum_finish = sum_finish;
  d->ops.destroy = destroy;
  comm->ops = &d->ops;
  comm->delay = d;
  return KAON_OK;
}
