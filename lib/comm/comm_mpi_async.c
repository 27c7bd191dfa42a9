/* comm_mpi_async.c - asynchronous exchanges over MPI. Each message of a round has its own buffers,
 * so that it may be under way while later ones are made. Its receive is posted when the message to
 * the same neighbour is sent. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "lib/comm/comm_mpi.h"
#include "lib/core/error.h"
#include "lib/vector/layout.h"

enum { ASYNC_TAG = 1 << 14, ORDINALS = 64 };

typedef struct async_slot {
  char *out, *in; /* one allocation, `out` first */
  MPI_Request send, receive;
} async_slot;

typedef struct async {
  struct async *next;
  int rounds, ordinals; /* capacity */
  int count;            /* number of messages */
  int at;               /* how many times it was started in this round */
  async_slot *slots;    /* [ordinal][round][message] */
} async;

static async_slot *slot_of(const kaon_exchange *e, int ordinal, int round, int message) {
  return e->async->slots + ((int64_t)ordinal * e->async->rounds + round) * e->count + message;
}

void kaon_mpi_async_free(kaon_exchange *e) {
  async *gone = e->async;
  if (gone == NULL) return;
  async **at = &kaon_mpi_self(e->comm)->loosened;
  while (*at != gone) at = &(*at)->next;
  *at = gone->next;
  for (int64_t i = 0; i < (int64_t)gone->ordinals * gone->rounds * e->count; i++)
    free(gone->slots[i].out);
  free(gone->slots);
  free(gone);
  e->async = NULL;
}

/* Allocates memory for one more ordinal. */
static kaon_status async_grow(kaon_exchange *e) {
  async *l = e->async;
  const int64_t each = (int64_t)l->rounds * e->count, before = l->ordinals * each;
  async_slot *slots = l->ordinals < ORDINALS
                          ? realloc(l->slots, (size_t)(before + each + 1) * sizeof *slots)
                          : NULL;
  int whole = slots != NULL;
  if (whole) {
    l->slots = slots;
    l->ordinals++;
    for (int64_t i = 0; i < each; i++) {
      const size_t bytes = e->messages[i % e->count].bytes;
      char *out = malloc(2 * bytes + 1);
      slots[before + i] =
          (async_slot){out, out != NULL ? out + bytes : NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
      whole &= out != NULL && bytes <= INT_MAX;
    }
  }
  if (whole) return KAON_OK;
  return kaon_fail(e->comm->ctx, KAON_ERR_MEMORY,
                   "exchange: out of host memory for asynchronous messages of %d rounds",
                   l->rounds);
}

kaon_status kaon_mpi_async_capacity(kaon_exchange *e, int rounds) {
  mpi_self *self = kaon_mpi_self(e->comm);
  if (e->async != NULL && e->async->rounds < rounds) kaon_mpi_async_free(e);
  if (e->async == NULL) {
    e->async = calloc(1, sizeof *e->async);
    if (e->async == NULL)
      return kaon_fail(e->comm->ctx, KAON_ERR_MEMORY, "exchange: out of host memory");
    *e->async = (async){.next = self->loosened, .rounds = rounds, .count = e->count};
    self->loosened = e->async;
  }
  return e->async->at++ < e->async->ordinals ? KAON_OK : async_grow(e);
}

kaon_status kaon_mpi_async_start(kaon_exchange *e) {
  const kaon_comm *comm = e->comm;
  const mpi_self *self = kaon_mpi_self(comm);
  async *l = e->async;
  if (l == NULL || l->at == l->ordinals || self->round >= l->rounds)
    return kaon_fail(comm->ctx, KAON_ERR_INTERNAL,
                     "exchange: it was not prepared for asynchronous messages");
  const int ordinal = l->at++;
  for (int i = 0; i < e->count; i++) {
    const kaon_message *m = &e->messages[i];
    async_slot *s = slot_of(e, ordinal, self->round, i);
    const int tag = ASYNC_TAG + ordinal * KAON_DIRS, back = (m->dir + KAON_DIRS / 2) % KAON_DIRS;
    KAON_TRY(kaon_mpi_check(
        comm,
        MPI_Irecv(s->in, (int)m->bytes, MPI_BYTE, m->peer, tag + back, self->comm, &s->receive),
        "a receive"));
    memcpy(s->out, m->send, m->bytes);
    KAON_TRY(kaon_mpi_check(
        comm,
        MPI_Isend(s->out, (int)m->bytes, MPI_BYTE, m->peer, tag + m->dir, self->comm, &s->send),
        "a send"));
  }
  return KAON_OK;
}

kaon_status kaon_mpi_async_finish(kaon_exchange *e) {
  const kaon_comm *comm = e->comm;
  kaon_message_lags *lags = kaon_mpi_self(comm)->lags;
  const int round = kaon_mpi_self(comm)->round, ordinal = e->async->at - 1;
  for (int i = 0; i < e->count; i++) {
    int newest = round - comm->late, come = 0;
    for (; newest >= 0; newest--) { /* MPI_Test succeeds again for a completed message */
      KAON_TRY(kaon_mpi_check(
          comm, MPI_Test(&slot_of(e, ordinal, newest, i)->receive, &come, MPI_STATUS_IGNORE),
          "a probe for a message"));
      if (come) break;
    }
    if (newest < 0) newest = -1;
    lags->reads++;
    lags->late += newest < round;
    if (round - newest > lags->oldest) lags->oldest = round - newest;
    if (newest >= 0)
      memcpy(e->messages[i].receive, slot_of(e, ordinal, newest, i)->in, e->messages[i].bytes);
    else
      memset(e->messages[i].receive, 0, e->messages[i].bytes);
  }
  return KAON_OK;
}

kaon_status kaon_mpi_async_prepare(kaon_comm *comm, int rounds) {
  mpi_self *self = kaon_mpi_self(comm);
  for (async *l = self->loosened; l != NULL; l = l->next) l->at = 0;
  if (rounds > 0) self->prepared = KAON_OK;
  self->mode = rounds > 0 ? PREPARING : WAITING;
  self->rounds = rounds;
  return self->prepared;
}

void kaon_mpi_async_round(kaon_comm *comm, int round, kaon_message_lags *lags) {
  mpi_self *self = kaon_mpi_self(comm);
  self->mode = ASYNC_OPEN;
  self->round = round;
  self->lags = lags;
  for (async *l = self->loosened; l != NULL; l = l->next) l->at = 0;
}

/* Requests that are done or were never begun are null, and waiting for them returns at once. */
static kaon_status async_wait(const kaon_comm *comm, async_slot *s) {
  KAON_TRY(kaon_mpi_wait(comm, 1, &s->receive, "waiting for a message"));
  return kaon_mpi_wait(comm, 1, &s->send, "waiting for a message to leave");
}

kaon_status kaon_mpi_async_end(kaon_comm *comm) {
  mpi_self *self = kaon_mpi_self(comm);
  kaon_status first = KAON_OK;
  self->mode = WAITING;
  for (async *l = self->loosened; l != NULL; l = l->next)
    for (int64_t i = 0; i < (int64_t)l->ordinals * l->rounds * l->count; i++) {
      const kaon_status status = async_wait(comm, &l->slots[i]);
      if (first == KAON_OK) first = status;
    }
  return first;
}
