/* ranks.c - devices of several ranks: choice of the transport, and what all transports share. */
#include "lib/cuda/ranks/ranks.h"

#include <stdlib.h>
#include <string.h>

/* In the order in which AUTO tries them. */
static const kaon_cuda_transport *const transports[] = {&kaon_cuda_peer, &kaon_cuda_nccl,
                                                        &kaon_cuda_direct, &kaon_cuda_host};
enum { TRANSPORTS = sizeof transports / sizeof *transports };

/* ---- helpers of the transports ---- */

const kaon_message *kaon_cuda_opposite_message(const kaon_message *messages, int n, int i) {
  for (int j = 0; j < n; j++)
    if (messages[j].dir == (messages[i].dir + KAON_DIRS / 2) % KAON_DIRS)
      return messages[j].bytes == messages[i].bytes ? &messages[j] : NULL;
  return NULL;
}

/* Words travel as doubles: adding zeros to one keeps every 32-bit integer exact. */
kaon_status kaon_cuda_gather_words(kaon_context *ctx, const uint32_t *mine, int n, uint32_t *all) {
  enum { MOST = 64 };
  kaon_comm *comm = ctx->comm;
  const int total = n * comm->ranks;
  double numbers[MOST], *others = malloc((size_t)total * sizeof *others);
  kaon_status status = KAON_OK;
  if (others == NULL || n > MOST)
    status = kaon_fail(ctx, KAON_ERR_MEMORY, "ranks: out of host memory for %d words", total);
  status = kaon_agree(ctx, status);
  for (int i = 0; i < n && status == KAON_OK; i++) numbers[i] = mine[i];
  if (status == KAON_OK) status = comm->ops->gather(comm, numbers, n, others);
  for (int i = 0; i < total && status == KAON_OK; i++) all[i] = (uint32_t)others[i];
  free(others);
  return status;
}

kaon_status kaon_cuda_zeroed(kaon_context *ctx, size_t bytes, const char *what, void **memory) {
  cudaStream_t stream = kaon_cuda_machine_of(ctx)->stream;
  *memory = NULL;
  KAON_TRY(kaon_cuda_refuse_recorded(ctx, "taking memory"));
  KAON_TRY(kaon_pool_account(ctx, (int64_t)bytes, what));
  const kaon_status status = kaon_cuda_check(ctx, cudaMalloc(memory, bytes), what);
  if (status != KAON_OK) {
    *memory = NULL;
    kaon_pool_account(ctx, -(int64_t)bytes, what);
    return status;
  }
  KAON_TRY(kaon_cuda_check(ctx, cudaMemsetAsync(*memory, 0, bytes, stream), what));
  return kaon_cuda_check(ctx, cudaStreamSynchronize(stream), what);
}

void kaon_cuda_release(kaon_context *ctx, void *memory, size_t bytes) {
  if (memory == NULL) return;
  cudaFree(memory);
  kaon_pool_account(ctx, -(int64_t)bytes, "");
}

kaon_status kaon_cuda_create_buffers(kaon_device_exchange *e) {
  enum { LINE = 256 };
  size_t at[KAON_DIRS], half = 0;
  for (int i = 0; i < e->n; i++) {
    at[i] = half;
    half += (e->messages[i].bytes + LINE - 1) / LINE * LINE;
  }
  e->half = half;
  e->shared.bytes = 2 * half;
  if (half == 0) return KAON_OK;
  KAON_TRY(kaon_cuda_zeroed(e->ctx, 2 * half, "memory for messages", &e->shared.mine));
  for (int i = 0; i < e->n; i++) {
    e->messages[i].send = (char *)e->shared.mine + at[i];
    e->messages[i].receive = (char *)e->shared.mine + half + at[i];
  }
  return KAON_OK;
}

kaon_status kaon_cuda_create_messages(kaon_context *ctx, int ranks) {
  enum { BYTES = 2 * KAON_SUM_ENTRIES * sizeof(double) };
  kaon_cuda_ranks *r = kaon_cuda_ranks_of(ctx);
  void *device = NULL, *host = NULL;
  r->message_bytes = (size_t)(1 + ranks) * BYTES;
  KAON_TRY(kaon_cuda_zeroed(ctx, r->message_bytes, "memory for sums", &device));
  r->message = device;
  r->messages = (double *)((char *)device + BYTES);
  KAON_TRY(kaon_cuda_check(ctx, cudaHostAlloc(&host, BYTES, cudaHostAllocDefault),
                           "pinned memory for sums"));
  r->pinned = host;
  return KAON_OK;
}

void kaon_cuda_destroy_messages(kaon_context *ctx) {
  kaon_cuda_ranks *r = kaon_cuda_ranks_of(ctx);
  kaon_cuda_release(ctx, r->message, r->message_bytes);
  if (r->pinned != NULL) cudaFreeHost(r->pinned);
  r->message = r->messages = r->pinned = NULL;
}

/* ---- choosing a transport ---- */

/* *pair: the first two ranks that share a device, or pair[0] = -1 if none do. Collective. */
static kaon_status find_sharing(kaon_context *ctx, int pair[2]) {
  const uint32_t *mine = kaon_cuda_machine_of(ctx)->identity;
  enum { WORDS = sizeof kaon_cuda_machine_of(ctx)->identity / sizeof *mine };
  const int ranks = ctx->comm->ranks;
  uint32_t(*all)[WORDS] = malloc((size_t)ranks * sizeof *all);
  pair[0] = pair[1] = -1;
  kaon_status status = KAON_AGREE_MEMORY(ctx, all != NULL, "ranks: out of host memory");
  if (status == KAON_OK) status = kaon_cuda_gather_words(ctx, mine, WORDS, all[0]);
  for (int b = 1; b < ranks && status == KAON_OK && pair[0] < 0; b++)
    for (int a = 0; a < b && pair[0] < 0; a++)
      if (memcmp(all[a], all[b], sizeof *all) == 0) pair[0] = a, pair[1] = b;
  free(all);
  return status;
}

/* Only the first rank logs it. */
static void warn_of_sharing(kaon_context *ctx, const int pair[2]) {
  if (ctx->comm->rank == 0)
    kaon_log(ctx, KAON_LOG_WARNING,
             "context: %d ranks, but ranks %d and %d share a device: they run on it in turn and "
             "exchange messages by %s, since a kernel that waits for another rank could block that "
             "rank's kernels; start one rank per device",
             ctx->comm->ranks, pair[0], pair[1], kaon_cuda_ranks_of(ctx)->transport->name);
}

/* Opens a transport on all ranks or on none. */
static kaon_status try(kaon_context *ctx, const kaon_cuda_transport *t) {
  kaon_cuda_ranks *r = kaon_cuda_ranks_of(ctx);
  const kaon_status status = kaon_agree(ctx, t->open(ctx));
  if (status != KAON_OK)
    t->close(ctx);
  else
    r->transport = t;
  return status;
}

static kaon_status choose(kaon_context *ctx) {
  const kaon_transport wanted = ctx->options.transport;
  kaon_status status = KAON_ERR_UNSUPPORTED;
  int sharing[2] = {-1, -1};
  if (wanted == KAON_TRANSPORT_AUTO) KAON_TRY(find_sharing(ctx, sharing));
  for (int i = 0; i < TRANSPORTS && status != KAON_OK; i++) {
    const kaon_cuda_transport *t = transports[i];
    if (wanted != KAON_TRANSPORT_AUTO && wanted != t->kind) continue;
    if (sharing[0] >= 0 && t->own_device) continue;
    status = try(ctx, t);
    if (status == KAON_OK)
      kaon_log(ctx, KAON_LOG_DEBUG, "context: %d ranks, devices exchange messages by %s",
               ctx->comm->ranks, t->name);
    else
      kaon_log(ctx, KAON_LOG_DEBUG, "context: not by %s: %s", t->name, kaon_last_error(ctx));
    if (status != KAON_OK && wanted == KAON_TRANSPORT_AUTO && i < TRANSPORTS - 1)
      kaon_error_clear();
  }
  if (sharing[0] >= 0 && status == KAON_OK) warn_of_sharing(ctx, sharing);
  return status;
}

static kaon_status open(kaon_context *ctx) {
  kaon_cuda_machine *machine = kaon_cuda_machine_of(ctx);
  machine->ranks = calloc(1, sizeof *machine->ranks);
  KAON_TRY(KAON_AGREE_MEMORY(ctx, machine->ranks != NULL, "ranks: out of host memory"));
  if (ctx->comm->ranks == 1) return KAON_OK;
  return choose(ctx);
}

static void close(kaon_context *ctx) {
  kaon_cuda_ranks *r = kaon_cuda_ranks_of(ctx);
  if (r == NULL) return;
  kaon_cuda_enter(ctx);
  if (r->transport != NULL) r->transport->close(ctx);
  free(r);
  kaon_cuda_machine_of(ctx)->ranks = NULL;
}

static const char *transport(const kaon_context *ctx) {
  const kaon_cuda_ranks *r = kaon_cuda_ranks_of(ctx);
  return r != NULL && r->transport != NULL ? r->transport->name : "";
}

static int by_host(const kaon_context *ctx) {
  const kaon_cuda_ranks *r = kaon_cuda_ranks_of(ctx);
  return r != NULL && r->transport == &kaon_cuda_host;
}

static kaon_issue recordable(const kaon_context *ctx) {
  const kaon_cuda_ranks *r = kaon_cuda_ranks_of(ctx);
  if (ctx->comm->ranks == 1 && (r == NULL || r->exchanges == 0)) return KAON_ISSUE_WHILE;
  return r->transport->most;
}

/* ---- exchanges ---- */

/* paired: each message has its counterpart on this rank, as the faces of a lattice have. */
static kaon_status check_messages(kaon_context *ctx, const kaon_message *messages, int n,
                                  int paired) {
  if (n > KAON_DIRS)
    return kaon_fail(ctx, KAON_ERR_INTERNAL, "exchange: %d messages, but at most %d are supported",
                     n, KAON_DIRS);
  for (int i = 0; i < n; i++) {
    if (messages[i].peer < 0 || messages[i].peer >= ctx->comm->ranks)
      return kaon_fail(ctx, KAON_ERR_INTERNAL, "exchange: message %d is for rank %d of %d", i,
                       messages[i].peer, ctx->comm->ranks);
    if (paired && kaon_cuda_opposite_message(messages, n, i) == NULL)
      return kaon_fail(ctx, KAON_ERR_INTERNAL,
                       "exchange: message %d in direction %d has no matching message of %zu bytes",
                       i, messages[i].dir, messages[i].bytes);
  }
  return KAON_OK;
}

static void exchange_destroy(kaon_device_exchange **exchange) {
  if (exchange == NULL || *exchange == NULL) return;
  kaon_device_exchange *gone = *exchange;
  kaon_cuda_ranks *r = kaon_cuda_ranks_of(gone->ctx);
  *exchange = NULL;
  kaon_cuda_enter(gone->ctx);
  kaon_cuda_wait_stream(gone->ctx, kaon_cuda_machine_of(gone->ctx)->stream, "an exchange's end");
  r->transport->destroy(gone);
  r->exchanges--;
  free(gone);
}

static kaon_status exchange_create(kaon_context *ctx, kaon_message *messages, int n,
                                   kaon_device_exchange **exchange,
                                   const kaon_peer_exchange **peer) {
  kaon_cuda_ranks *r = kaon_cuda_ranks_of(ctx);
  kaon_device_exchange *made = calloc(1, sizeof *made);
  kaon_status status = kaon_cuda_refuse_recorded(ctx, "a new exchange");
  *exchange = NULL;
  if (peer != NULL) *peer = NULL;
  kaon_cuda_enter(ctx);
  if (status == KAON_OK && made == NULL)
    status = kaon_fail(ctx, KAON_ERR_MEMORY, "exchange: out of host memory for %d messages", n);
  if (status == KAON_OK) status = check_messages(ctx, messages, n, peer != NULL);
  status = kaon_agree(ctx, status);
  /* one rank with a partitioned lattice */
  if (status == KAON_OK && r->transport == NULL) status = choose(ctx);
  if (status != KAON_OK) {
    free(made);
    return status;
  }
  made->ctx = ctx;
  made->n = n;
  made->plain = peer == NULL;
  memcpy(made->messages, messages, (size_t)n * sizeof *messages);
  r->exchanges++;
  status = kaon_agree(ctx, r->transport->create(made));
  if (status != KAON_OK) {
    exchange_destroy(&made);
    return status;
  }
  memcpy(messages, made->messages, (size_t)n * sizeof *messages);
  if (r->transport->by_kernels && peer != NULL) *peer = &made->peer;
  *exchange = made;
  return KAON_OK;
}

static kaon_status exchange_start(kaon_device_exchange *exchange) {
  const kaon_cuda_transport *t = kaon_cuda_ranks_of(exchange->ctx)->transport;
  kaon_cuda_enter(exchange->ctx);
  return t->start != NULL && exchange->n > 0 ? t->start(exchange) : KAON_OK;
}

static kaon_status exchange_finish(kaon_device_exchange *exchange) {
  const kaon_cuda_transport *t = kaon_cuda_ranks_of(exchange->ctx)->transport;
  kaon_cuda_enter(exchange->ctx);
  return t->finish != NULL && exchange->n > 0 ? t->finish(exchange) : KAON_OK;
}

static const kaon_peer_messages *exchange_in_kernel(const kaon_device_exchange *exchange) {
  const kaon_cuda_transport *t = kaon_cuda_ranks_of(exchange->ctx)->transport;
  return t->by_kernels && exchange->plain && exchange->n > 0 ? &exchange->post : NULL;
}

/* ---- sums ---- */

/* Finishes a sum whose step failed, since the other ranks wait for its second half. A recorded sum
 * has not started. */
static kaon_status drop_sum(kaon_context *ctx) {
  kaon_cuda_ranks *r = kaon_cuda_ranks_of(ctx);
  const int begun = r->under_way && !r->recorded;
  ctx->peer_reduction = r->sums_in_device;
  if (begun) KAON_TRY(kaon_cuda_refuse_recorded(ctx, "clearing what a failed step left"));
  r->under_way = 0;
  r->sum.state = NULL;
  r->sum.then = 0;
  return begun ? r->transport->sum_finish(ctx, &r->sum) : KAON_OK;
}

/* Takes as many wanted slots as fit a call. Returns how many entries of the list were consumed. */
static int fill(kaon_sum_call *call, const int *slots, int nslots) {
  int i = 0;
  for (call->n = 0; i < nslots && call->n < KAON_SUM_SLOTS; i++)
    if (slots[i] != KAON_NO_SLOT) call->slot[call->n++] = (int16_t)slots[i];
  while (i < nslots && slots[i] == KAON_NO_SLOT) i++;
  return i;
}

static kaon_status sum_one(kaon_context *ctx, const kaon_sum_call *call) {
  const kaon_cuda_transport *t = kaon_cuda_ranks_of(ctx)->transport;
  if (t->sum != NULL) return t->sum(ctx, call);
  KAON_TRY(t->sum_start(ctx, call));
  return t->sum_finish(ctx, call);
}

static kaon_status sum(kaon_context *ctx, kaon_column_state *state, int columns, int gate,
                       const int *slots, int nslots, int then) {
  kaon_sum_call call = {.state = state, .gate = gate};
  kaon_cuda_enter(ctx);
  KAON_TRY(drop_sum(ctx));
  for (int done = 0; done < nslots;) {
    done += fill(&call, slots + done, nslots - done);
    if (call.n == 0) return KAON_OK;
    call.then = done == nslots ? then : 0;
    const int most = KAON_SUM_ENTRIES / call.n;
    for (int first = 0; first < columns; first += most) {
      call.state = state + first;
      call.columns = columns - first < most ? columns - first : most;
      KAON_TRY(sum_one(ctx, &call));
    }
  }
  return kaon_cuda_pending(ctx, "a sum over ranks");
}

static kaon_status sum_start(kaon_context *ctx, kaon_column_state *state, int columns, int gate,
                             const int *slots, int nslots) {
  kaon_cuda_ranks *r = kaon_cuda_ranks_of(ctx);
  kaon_cuda_enter(ctx);
  KAON_TRY(drop_sum(ctx));
  r->sum = (kaon_sum_call){.state = state, .columns = columns, .gate = gate};
  if (fill(&r->sum, slots, nslots) < nslots || r->sum.n * columns > KAON_SUM_ENTRIES)
    return kaon_fail(
        ctx, KAON_ERR_UNSUPPORTED,
        "sums over ranks: %d slots of %d columns do not fit one message of %d numbers; "
        "solve fewer columns at once",
        nslots, columns, (int)KAON_SUM_ENTRIES);
  if (r->sum.n == 0) return KAON_OK;
  KAON_TRY(r->transport->sum_start(ctx, &r->sum));
  r->under_way = 1;
  r->recorded = ctx->recording;
  ctx->peer_reduction = NULL; /* one sum at a time */
  return kaon_cuda_pending(ctx, "beginning a sum over ranks");
}

static kaon_status sum_finish(kaon_context *ctx, kaon_column_state *state, int columns, int gate,
                              const int *slots, int nslots, int then) {
  kaon_cuda_ranks *r = kaon_cuda_ranks_of(ctx);
  (void)state, (void)columns, (void)slots, (void)nslots; /* the same as at its start */
  if (!r->under_way || r->recorded != ctx->recording)
    return kaon_fail(ctx, KAON_ERR_INTERNAL, "sums over ranks: none is under way");
  kaon_cuda_enter(ctx);
  r->under_way = 0;
  ctx->peer_reduction = r->sums_in_device;
  r->sum.gate = gate;
  r->sum.then = then;
  KAON_TRY(r->transport->sum_finish(ctx, &r->sum));
  return kaon_cuda_pending(ctx, "a sum over ranks");
}

static kaon_status count_from(kaon_context *ctx, uint32_t sums) {
  const kaon_cuda_ranks *r = kaon_cuda_ranks_of(ctx);
  kaon_status status = ctx->backend->memory->synchronise(ctx);
  KAON_TRY(kaon_agree(ctx, status)); /* no rank still needs the last sum */
  if (r != NULL && r->box.turn != NULL)
    status = ctx->backend->memory->to_device(ctx, r->box.turn, &sums, sizeof sums);
  return kaon_agree(ctx, status);
}

/* ---- memory that kernels of all ranks access ---- */

static void unshare(kaon_context *ctx, kaon_shared **shared) {
  if (shared == NULL || *shared == NULL) return;
  kaon_shared *gone = *shared;
  *shared = NULL;
  kaon_cuda_enter(ctx);
  kaon_cuda_wait_stream(ctx, kaon_cuda_machine_of(ctx)->stream, "work on memory that ranks share");
  kaon_cuda_unshare(ctx, gone);
  free(gone);
}

static kaon_status share(kaon_context *ctx, size_t bytes, kaon_shared **shared, void **there) {
  const kaon_comm *comm = ctx->comm;
  unsigned char all[KAON_PEERS];
  kaon_shared *made = calloc(1, sizeof *made);
  kaon_status status = kaon_cuda_refuse_recorded(ctx, "memory that ranks share");
  *shared = NULL;
  kaon_cuda_enter(ctx);
  if (status == KAON_OK && made == NULL)
    status = kaon_fail(ctx, KAON_ERR_MEMORY, "ranks: out of host memory");
  if (status == KAON_OK && (comm->local_ranks != comm->ranks || comm->ranks > KAON_PEERS))
    status = kaon_fail(ctx, KAON_ERR_UNSUPPORTED,
                       "ranks: %d of %d are on this node, but only the ranks of one node, at most "
                       "%d, share their devices' memory",
                       comm->local_ranks, comm->ranks, (int)KAON_PEERS);
  status = kaon_agree(ctx, status);
  if (status != KAON_OK) {
    free(made);
    return status;
  }
  memset(all, 1, sizeof all);
  status = kaon_cuda_share(ctx, bytes, all, made);
  if (status != KAON_OK) {
    unshare(ctx, &made);
    return status;
  }
  for (int r = 0; r < comm->ranks; r++) there[r] = made->theirs[r];
  *shared = made;
  return KAON_OK;
}

static kaon_status copy(kaon_context *ctx, void *to, const void *from, size_t bytes) {
  kaon_cuda_enter(ctx);
  return kaon_cuda_check(
      ctx, cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, kaon_cuda_machine_of(ctx)->stream),
      "a copy into another rank's memory");
}

const kaon_ranks_ops kaon_cuda_ranks_table = {
    .share = share,
    .unshare = unshare,
    .copy = copy,
    .open = open,
    .close = close,
    .transport = transport,
    .recordable = recordable,
    .by_host = by_host,
    .exchange_create = exchange_create,
    .exchange_start = exchange_start,
    .exchange_finish = exchange_finish,
    .exchange_destroy = exchange_destroy,
    .exchange_in_kernel = exchange_in_kernel,
    .sum = sum,
    .sum_start = sum_start,
    .sum_finish = sum_finish,
    .count_from = count_from,
};
