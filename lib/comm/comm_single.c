/* comm_single.c - the communicator of one rank: sums are unchanged, and the rank is its own
 * neighbour. */
#include <stdlib.h>
#include <string.h>

#include "lib/comm/comm.h"
#include "lib/core/error.h"

struct kaon_exchange {
  kaon_message *messages;
  int n;
};

static kaon_status sum_start(kaon_comm *comm, double *values, int n) {
  (void)comm, (void)values, (void)n;
  return KAON_OK;
}

static kaon_status sum_finish(kaon_comm *comm) {
  (void)comm;
  return KAON_OK;
}

static kaon_status gather(kaon_comm *comm, const double *mine, int n, double *all) {
  (void)comm;
  memmove(all, mine, (size_t)n * sizeof *all);
  return KAON_OK;
}

static kaon_status broadcast(kaon_comm *comm, void *data, size_t bytes, int root) {
  (void)comm, (void)data, (void)bytes, (void)root;
  return KAON_OK;
}

static int opposite(int dir) {
  return (dir + 4) % 8;
}

static kaon_status exchange_create(kaon_comm *comm, const kaon_message *messages, int n,
                                   kaon_exchange **exchange) {
  for (int i = 0; i < n; i++) {
    int partner = -1;
    if (messages[i].peer != 0)
      return kaon_fail(comm->ctx, KAON_ERR_COMM, "exchange: message %d is for rank %d of one", i,
                       messages[i].peer);
    for (int j = 0; j < n; j++)
      if (messages[j].dir == opposite(messages[i].dir) && messages[j].bytes == messages[i].bytes)
        partner = j;
    if (partner < 0)
      return kaon_fail(comm->ctx, KAON_ERR_COMM,
                       "exchange: message %d in direction %d has no matching message of %zu bytes",
                       i, messages[i].dir, messages[i].bytes);
  }
  kaon_exchange *made = malloc(sizeof *made);
  kaon_message *copy = malloc((size_t)(n > 0 ? n : 1) * sizeof *copy);
  if (made == NULL || copy == NULL) {
    free(made);
    free(copy);
    return kaon_fail(comm->ctx, KAON_ERR_MEMORY, "exchange: out of host memory for %d messages", n);
  }
  memcpy(copy, messages, (size_t)n * sizeof *copy);
  *made = (kaon_exchange){copy, n};
  *exchange = made;
  return KAON_OK;
}

/* A message sent forward is received as the message from the backward neighbour, which is this
 * rank. */
static kaon_status exchange_start(kaon_exchange *exchange) {
  for (int i = 0; i < exchange->n; i++)
    for (int j = 0; j < exchange->n; j++)
      if (exchange->messages[j].dir == opposite(exchange->messages[i].dir))
        memcpy(exchange->messages[j].receive, exchange->messages[i].send,
               exchange->messages[i].bytes);
  return KAON_OK;
}

static kaon_status exchange_finish(kaon_exchange *exchange) {
  (void)exchange;
  return KAON_OK;
}

static void exchange_destroy(kaon_exchange **exchange) {
  if (exchange == NULL || *exchange == NULL) return;
  free((*exchange)->messages);
  free(*exchange);
  *exchange = NULL;
}

static void destroy(kaon_comm **comm) {
  free(*comm);
  *comm = NULL;
}

static const kaon_comm_ops single_ops = {
    .name = "single",
    .sum_start = sum_start,
    .sum_finish = sum_finish,
    .gather = gather,
    .broadcast = broadcast,
    .exchange_create = exchange_create,
    .exchange_start = exchange_start,
    .exchange_finish = exchange_finish,
    .exchange_destroy = exchange_destroy,
    .destroy = destroy,
};

kaon_status kaon_comm_single_create(kaon_context *ctx, kaon_comm **comm) {
  kaon_comm *made = malloc(sizeof *made);
  if (made == NULL) return kaon_fail(ctx, KAON_ERR_MEMORY, "communicator: out of host memory");
  *made = (kaon_comm){
      .ops = &single_ops, .ctx = ctx, .ranks = 1, .grid = {1, 1, 1, 1}, .local_ranks = 1};
  *comm = made;
  return KAON_OK;
}
