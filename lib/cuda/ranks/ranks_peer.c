/* ranks_peer.c - PEER: the ranks of one node write into each other's device memory. A rank exports
 * its memory as an IPC handle, which the others map (CUDA Programming Guide, "Interprocess
 * Communication"). Handles refer to whole allocations of at least 2 MB, so each shared block is a
 * separate allocation. Any assignment of devices to ranks works; several ranks may share one.
 *
 * Memory of an exchange, with the same layout on all ranks (offsets in bytes):
 *   0     turn        128   tickets        256   arrived        512   messages, two halves
 * The reduction buffer of a context (lib/cuda/ranks/rank_sums.h):
 *   0     turn        128   ticket         256   words for the open test and the shutdown
 *   512   a kaon_peer_reduction, for kernels                  1024  reduction values
 *
 * Release of memory. No rank writes into an exchange's memory once this rank has received the last
 * message, but others may still have it mapped. So it is retained until all ranks next share
 * memory: by then they have unmapped it. Otherwise it is retained until the context ends. There a
 * rank waits briefly for the shutdown words of the others. A failed rank sends none; what it may
 * have mapped is released by the end of the process.
 * The reduction buffer receives the shutdown words, so others keep it mapped until they have sent
 * theirs. It is never freed, but retained for a later context of this process. All ranks create
 * that only after they have ended this one. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/cuda/ranks/ranks.h"
#include "lib/grid/overlap.h"

enum {
  WHOLE = 2 << 20,
  TICKETS = 128,
  ARRIVED = 256,
  MESSAGES = 512,
  WORDS = 256,
  BOX = 512,
  WORDS_AT = 1024,
  LINE = 256,
  TRIAL = 0x6b61,   /* + rank */
  GOODBYE = 0x6f6e, /* + rank */
  GOODBYE_MILLISECONDS = 2000
};

struct kaon_retired_memory {
  kaon_retired_memory *next;
  void *memory;
  size_t bytes;
  int device;
};

/* Reduction buffers of contexts that have ended. */
static _Atomic(kaon_retired_memory *) retained_peer_memory;

/* ---- shared memory ---- */

static void *reuse_retired_memory(kaon_cuda_ranks *r, size_t bytes) {
  for (kaon_retired_memory **at = &r->retired; *at != NULL; at = &(*at)->next) {
    kaon_retired_memory *found = *at;
    if (found->bytes != bytes) continue;
    void *memory = found->memory;
    *at = found->next;
    free(found);
    return memory;
  }
  return NULL;
}

static void retire_memory(kaon_context *ctx, void *memory, size_t bytes) {
  kaon_cuda_ranks *r = kaon_cuda_ranks_of(ctx);
  kaon_retired_memory *kept = malloc(sizeof *kept);
  if (memory == NULL || kept == NULL) {
    free(kept);
    kaon_cuda_release(ctx, memory, bytes);
    return;
  }
  *kept = (kaon_retired_memory){.next = r->retired, .memory = memory, .bytes = bytes};
  r->retired = kept;
}

static void free_retired_memory(kaon_context *ctx) {
  kaon_cuda_ranks *r = kaon_cuda_ranks_of(ctx);
  while (r->retired != NULL) {
    kaon_retired_memory *gone = r->retired;
    r->retired = gone->next;
    kaon_cuda_release(ctx, gone->memory, gone->bytes);
    free(gone);
  }
}

static void return_peer_memory(kaon_retired_memory *kept) {
  kept->next = atomic_load(&retained_peer_memory);
  while (!atomic_compare_exchange_weak(&retained_peer_memory, &kept->next, kept)) {
  }
}

/* Returns a retained buffer of this device and size, or NULL if there is none or another thread is
 * searching the list. */
static void *reuse_peer_memory(int device, size_t bytes) {
  kaon_retired_memory *all = atomic_exchange(&retained_peer_memory, NULL);
  void *memory = NULL;
  while (all != NULL) {
    kaon_retired_memory *one = all;
    all = one->next;
    if (memory != NULL || one->device != device || one->bytes != bytes) {
      return_peer_memory(one);
      continue;
    }
    memory = one->memory;
    free(one);
  }
  return memory;
}

static kaon_status take(kaon_context *ctx, size_t bytes, kaon_shared *s) {
  cudaStream_t stream = kaon_cuda_machine_of(ctx)->stream;
  *s = (kaon_shared){.bytes = (bytes + WHOLE - 1) / WHOLE * WHOLE};
  s->mine = reuse_retired_memory(kaon_cuda_ranks_of(ctx), s->bytes);
  if (s->mine == NULL) {
    s->mine = reuse_peer_memory(kaon_cuda_machine_of(ctx)->device, s->bytes);
    if (s->mine != NULL)
      KAON_TRY(kaon_pool_account(ctx, (int64_t)s->bytes, "memory for sums over ranks"));
  }
  if (s->mine == NULL) return kaon_cuda_zeroed(ctx, s->bytes, "memory that ranks share", &s->mine);
  KAON_TRY(kaon_cuda_check(ctx, cudaMemsetAsync(s->mine, 0, s->bytes, stream),
                           "clearing memory that ranks share"));
  return kaon_cuda_check(ctx, cudaStreamSynchronize(stream), "clearing memory that ranks share");
}

static kaon_status map(kaon_context *ctx, const unsigned char *wanted,
                       const cudaIpcMemHandle_t *handles, kaon_shared *s) {
  const kaon_comm *comm = ctx->comm;
  for (int r = 0; r < comm->ranks; r++) {
    if (r == comm->rank || !wanted[r]) continue;
    const cudaError_t error =
        cudaIpcOpenMemHandle(&s->theirs[r], handles[r], cudaIpcMemLazyEnablePeerAccess);
    if (error == cudaSuccess) continue;
    s->theirs[r] = NULL;
    cudaGetLastError();
    return kaon_fail(ctx, KAON_ERR_UNSUPPORTED,
                     "ranks: the device of rank %d cannot write into that of rank %d: %s (%s)",
                     comm->rank, r, cudaGetErrorString(error), cudaGetErrorName(error));
  }
  return KAON_OK;
}

kaon_status kaon_cuda_share(kaon_context *ctx, size_t bytes, const unsigned char *wanted,
                            kaon_shared *s) {
  enum { WORDS_OF_HANDLE = sizeof(cudaIpcMemHandle_t) / sizeof(uint32_t) };
  const kaon_comm *comm = ctx->comm;
  cudaIpcMemHandle_t mine, handles[KAON_PEERS];
  kaon_status status = take(ctx, bytes, s);
  s->theirs[comm->rank] = s->mine;
  if (comm->ranks == 1) free_retired_memory(ctx);
  if (comm->ranks == 1) return status;
  memset(&mine, 0, sizeof mine);
  if (status == KAON_OK)
    status = kaon_cuda_check(ctx, cudaIpcGetMemHandle(&mine, s->mine),
                             "a handle of memory shared with other ranks");
  KAON_TRY(kaon_agree(ctx, status)); /* the memory is zeroed everywhere */
  KAON_TRY(kaon_cuda_gather_words(ctx, (const uint32_t *)(const void *)&mine, WORDS_OF_HANDLE,
                                  (uint32_t *)(void *)handles));
  free_retired_memory(ctx); /* all ranks have arrived here */
  return kaon_agree(ctx, map(ctx, wanted, handles, s));
}

static void unmap(const kaon_context *ctx, kaon_shared *s) {
  for (int r = 0; r < ctx->comm->ranks && r < KAON_PEERS; r++) {
    if (r != ctx->comm->rank && s->theirs[r] != NULL) cudaIpcCloseMemHandle(s->theirs[r]);
    s->theirs[r] = NULL;
  }
}

void kaon_cuda_unshare(kaon_context *ctx, kaon_shared *s) {
  unmap(ctx, s);
  retire_memory(ctx, s->mine, s->bytes);
  s->mine = NULL;
}

/* ---- open and close ---- */

/* Writes a word into the buffer of every other rank. */
static kaon_status write_to_peers(kaon_context *ctx, uint32_t word) {
  const kaon_comm *comm = ctx->comm;
  const kaon_cuda_ranks *r = kaon_cuda_ranks_of(ctx);
  for (int i = 0; i < comm->ranks; i++) {
    char *to = r->sum_memory.theirs[i];
    if (i == comm->rank || to == NULL) continue;
    KAON_TRY(kaon_cuda_check(
        ctx, cudaMemcpy(to + WORDS + 4 * comm->rank, &word, sizeof word, cudaMemcpyHostToDevice),
        "writing to another rank's device"));
  }
  return kaon_cuda_check(ctx, cudaStreamSynchronize(NULL), "writing to another rank's device");
}

/* Counts the other ranks that have written theirs. *missing: the first one that has not. */
static kaon_status peer_words(kaon_context *ctx, uint32_t word, int *count, int *missing) {
  const kaon_comm *comm = ctx->comm;
  uint32_t words[KAON_PEERS];
  KAON_TRY(
      kaon_cuda_check(ctx,
                      cudaMemcpy(words, (char *)kaon_cuda_ranks_of(ctx)->sum_memory.mine + WORDS,
                                 sizeof words, cudaMemcpyDeviceToHost),
                      "reading what other ranks wrote"));
  *count = 0;
  *missing = -1;
  for (int i = 0; i < comm->ranks; i++) {
    if (i == comm->rank) continue;
    if (words[i] == word + (uint32_t)i)
      ++*count;
    else if (*missing < 0)
      *missing = i;
  }
  return KAON_OK;
}

/* Tests that what other ranks write arrives here. */
static kaon_status prove(kaon_context *ctx) {
  const kaon_comm *comm = ctx->comm;
  int count = 0, missing = -1;
  KAON_TRY(kaon_agree(ctx, write_to_peers(ctx, TRIAL + (uint32_t)comm->rank)));
  kaon_status status = peer_words(ctx, TRIAL, &count, &missing);
  if (status == KAON_OK && missing >= 0)
    status = kaon_fail(
        ctx, KAON_ERR_UNSUPPORTED,
        "ranks: rank %d wrote into the device memory of rank %d, but the values did not arrive",
        missing, comm->rank);
  return kaon_agree(ctx, status);
}

/* Allocates the timeout report, where a kernel says which rank it waited for. It is in host memory,
 * because device memory is lost after such an error. */
static kaon_status create_timeout_report(kaon_context *ctx) {
  kaon_cuda_machine *machine = kaon_cuda_machine_of(ctx);
  void *words = NULL;
  if (machine->timeout_report != NULL) return KAON_OK;
  KAON_TRY(kaon_cuda_check(ctx,
                           cudaHostAlloc(&words, LINE, cudaHostAllocMapped | cudaHostAllocPortable),
                           "pinned memory for the timeout report"));
  memset(words, 0, LINE);
  machine->timeout_report = words;
  return KAON_OK;
}

/* Copies the box to where kernels read it, unless `overlap` requests separate launches. */
static kaon_status post_box(kaon_context *ctx) {
  kaon_cuda_ranks *r = kaon_cuda_ranks_of(ctx);
  const kaon_overlap how = kaon_overlap_wanted(ctx);
  _Static_assert(BOX + sizeof(kaon_peer_reduction) <= WORDS_AT, "the words begin after the header");
  if (how != KAON_OVERLAP_AUTO && how != KAON_OVERLAP_FUSED) return KAON_OK;
  char *there = (char *)r->sum_memory.mine + BOX;
  KAON_TRY(kaon_cuda_check(ctx, cudaMemcpy(there, &r->box, sizeof r->box, cudaMemcpyHostToDevice),
                           "writing memory for sums over ranks"));
  KAON_TRY(kaon_cuda_check(ctx, cudaStreamSynchronize(NULL), "writing memory for sums over ranks"));
  ctx->peer_reduction = r->sums_in_device = there;
  return KAON_OK;
}

static kaon_status open_peer(kaon_context *ctx) {
  enum { WORD = sizeof(uint64_t) };
  kaon_cuda_ranks *r = kaon_cuda_ranks_of(ctx);
  const kaon_comm *comm = ctx->comm;
  unsigned char all[KAON_PEERS];
  if (comm->ranks == 1) return KAON_OK;
  if (comm->local_ranks != comm->ranks)
    return kaon_fail(ctx, KAON_ERR_UNSUPPORTED,
                     "ranks: %d of %d are on this node, but only those of one node can write into "
                     "each other's device memory; use transport nccl, direct or host",
                     comm->local_ranks, comm->ranks);
  if (comm->ranks > KAON_PEERS)
    return kaon_fail(
        ctx, KAON_ERR_UNSUPPORTED,
        "ranks: there are %d, but at most %d can write into each other's device memory",
        comm->ranks, (int)KAON_PEERS);
  memset(all, 1, sizeof all);
  const size_t sum_memory = 2 * (size_t)comm->ranks * KAON_PEER_REDUCTION_WORDS * WORD;
  KAON_TRY(kaon_cuda_share(ctx, WORDS_AT + sum_memory, all, &r->sum_memory));
  KAON_TRY(prove(ctx));
  KAON_TRY(create_timeout_report(ctx));
  char *mine = r->sum_memory.mine;
  r->box = (kaon_peer_reduction){.patience = kaon_cuda_patience(ctx),
                                 .turn = (uint32_t *)mine,
                                 .ticket = (uint32_t *)(mine + TICKETS),
                                 .timeout_report = kaon_cuda_machine_of(ctx)->timeout_report,
                                 .rank = comm->rank,
                                 .ranks = comm->ranks};
  for (int i = 0; i < comm->ranks; i++)
    r->box.words[i] = (uint64_t *)((char *)r->sum_memory.theirs[i] + WORDS_AT);
  return post_box(ctx);
}

/* 1: all ranks have sent their shutdown word, and write no more. */
static int all_ranks_closed(kaon_context *ctx) {
  const struct timespec pause = {0, 200000};
  int count = 0, missing = 0;
  if (write_to_peers(ctx, GOODBYE + (uint32_t)ctx->comm->rank) != KAON_OK) return 0;
  for (int i = 0; i < 5 * GOODBYE_MILLISECONDS && missing >= 0; i++) {
    if (peer_words(ctx, GOODBYE, &count, &missing) != KAON_OK) return 0;
    if (missing >= 0) nanosleep(&pause, NULL);
  }
  return missing < 0;
}

static void retain_peer_memory(kaon_context *ctx, const kaon_shared *s) {
  kaon_retired_memory *kept = malloc(sizeof *kept);
  if (s->mine == NULL || kept == NULL) {
    free(kept);
    return;
  }
  kaon_pool_account(ctx, -(int64_t)s->bytes, "");
  *kept = (kaon_retired_memory){
      .memory = s->mine, .bytes = s->bytes, .device = kaon_cuda_machine_of(ctx)->device};
  return_peer_memory(kept);
}

static void close_peer(kaon_context *ctx) {
  kaon_cuda_ranks *r = kaon_cuda_ranks_of(ctx);
  const int proven = r->box.ranks > 1;
  cudaStreamSynchronize(kaon_cuda_machine_of(ctx)->stream);
  ctx->peer_reduction = r->sums_in_device = NULL;
  const int alone = proven && !all_ranks_closed(ctx);
  unmap(ctx, &r->sum_memory);
  if (!alone) retain_peer_memory(ctx, &r->sum_memory);
  memset(&r->sum_memory, 0, sizeof r->sum_memory);
  memset(&r->box, 0, sizeof r->box);
  if (!alone) free_retired_memory(ctx);
}

/* ---- exchanges ---- */

/* For plain exchanges, whose messages differ between ranks: gathers the offsets of each rank's
 * messages, by direction, and the size of its half. All halves get the largest size. */
static kaon_status exchange_offsets(kaon_context *ctx, const size_t *at, size_t *half,
                                    uint32_t (*all)[2 * (KAON_DIRS + 1)]) {
  uint32_t mine[2 * (KAON_DIRS + 1)];
  for (int i = 0; i <= KAON_DIRS; i++) {
    const uint64_t number = i < KAON_DIRS ? at[i] : *half;
    mine[2 * i] = (uint32_t)number;
    mine[2 * i + 1] = (uint32_t)(number >> 32);
  }
  KAON_TRY(kaon_cuda_gather_words(ctx, mine, 2 * (KAON_DIRS + 1), all[0]));
  for (int r = 0; r < ctx->comm->ranks; r++) {
    const size_t theirs = (size_t)all[r][2 * KAON_DIRS] | (size_t)all[r][2 * KAON_DIRS + 1] << 32;
    if (theirs > *half) *half = theirs;
  }
  return KAON_OK;
}

/* Send and receive buffers are local. Kernels copy between them and the shared memory. */
static kaon_status create_plain_buffers(kaon_device_exchange *e, const size_t *at) {
  kaon_peer_messages *post = &e->post;
  post->peer = e->peer;
  post->n = e->n;
  KAON_TRY(kaon_cuda_zeroed(e->ctx, 2 * e->half + LINE, "memory for messages", &e->buffers));
  for (int i = 0; i < e->n; i++) {
    kaon_message *m = &e->messages[i];
    char *own = (char *)e->buffers + (at[m->dir] - MESSAGES);
    post->message[i] = (kaon_peer_message){.dir = m->dir,
                                           .from = own,
                                           .there = m->send,
                                           .arrived = m->receive,
                                           .to = own + e->half,
                                           .lines = (int64_t)((m->bytes + LINE - 1) / LINE)};
    m->send = own;
    m->receive = own + e->half;
  }
  return KAON_OK;
}

static kaon_status create(kaon_device_exchange *e) {
  unsigned char wanted[KAON_PEERS] = {0};
  uint32_t places[KAON_PEERS][2 * (KAON_DIRS + 1)];
  size_t at[KAON_DIRS] = {0}, half = 0;
  for (int i = 0; i < e->n; i++) {
    at[e->messages[i].dir] = MESSAGES + half;
    half += (e->messages[i].bytes + LINE - 1) / LINE * LINE;
    wanted[e->messages[i].peer] = 1;
  }
  if (e->plain) KAON_TRY(exchange_offsets(e->ctx, at, &half, places));
  e->half = half;
  KAON_TRY(kaon_cuda_share(e->ctx, MESSAGES + 2 * half, wanted, &e->shared));
  KAON_TRY(create_timeout_report(e->ctx));
  char *mine = e->shared.mine;
  e->peer = (kaon_peer_exchange){.turn = (uint32_t *)mine,
                                 .tickets = (uint32_t *)(mine + TICKETS),
                                 .arrived = (uint32_t *)(mine + ARRIVED),
                                 .flip = (int64_t)half,
                                 .patience = kaon_cuda_patience(e->ctx),
                                 .timeout_report = kaon_cuda_machine_of(e->ctx)->timeout_report};
  for (int i = 0; i < e->n; i++) {
    kaon_message *m = &e->messages[i];
    /* what is sent to the neighbour in dir serves its hops in the opposite direction */
    const int back = (m->dir + KAON_DIRS / 2) % KAON_DIRS;
    const uint32_t *place = e->plain ? places[m->peer] + 2 * back : NULL;
    char *theirs = e->shared.theirs[m->peer];
    m->receive = mine + at[m->dir];
    m->send = theirs + (place != NULL ? (size_t)place[0] | (size_t)place[1] << 32 : at[back]);
    e->peer.raise[back] = (uint32_t *)(theirs + ARRIVED) + back;
    e->peer.partitioned |= UINT32_C(1) << m->dir;
    e->peer.neighbour[m->dir] = (uint8_t)m->peer;
  }
  return e->plain && e->n > 0 ? create_plain_buffers(e, at) : KAON_OK;
}

static void destroy(kaon_device_exchange *e) {
  kaon_cuda_unshare(e->ctx, &e->shared);
  kaon_cuda_release(e->ctx, e->buffers, 2 * e->half + LINE);
}

static kaon_status start(kaon_device_exchange *e) {
  const kaon_launch launch = kaon_cuda_launch_of(e->ctx);
  if (!e->plain) return KAON_OK;
  kaon_peer_messages_send(&launch, &e->post);
  return kaon_cuda_pending(e->ctx, "sending messages");
}

static kaon_status finish(kaon_device_exchange *e) {
  const kaon_launch launch = kaon_cuda_launch_of(e->ctx);
  if (!e->plain) return KAON_OK;
  kaon_peer_messages_receive(&launch, &e->post);
  return kaon_cuda_pending(e->ctx, "taking messages");
}

/* ---- sums ---- */

static void sum_memory(kaon_context *ctx, const kaon_sum_call *call, int parts) {
  const kaon_launch launch = kaon_cuda_launch_of(ctx);
  kaon_rank_sums_by_peers(&launch, call, &kaon_cuda_ranks_of(ctx)->box, parts);
}

static kaon_status sum_start(kaon_context *ctx, const kaon_sum_call *call) {
  sum_memory(ctx, call, KAON_SUM_SEND);
  return KAON_OK;
}

static kaon_status sum_finish(kaon_context *ctx, const kaon_sum_call *call) {
  sum_memory(ctx, call, KAON_SUM_RECEIVE);
  return KAON_OK;
}

static kaon_status sum(kaon_context *ctx, const kaon_sum_call *call) {
  sum_memory(ctx, call, KAON_SUM_SEND | KAON_SUM_RECEIVE);
  return KAON_OK;
}

const kaon_cuda_transport kaon_cuda_peer = {
    .kind = KAON_TRANSPORT_PEER,
    .name = "peer stores",
    .by_kernels = 1,
    .own_device = 1,
    .most = KAON_ISSUE_WHILE,
    .open = open_peer,
    .close = close_peer,
    .create = create,
    .start = start,
    .finish = finish,
    .destroy = destroy,
    .sum_start = sum_start,
    .sum_finish = sum_finish,
    .sum = sum,
};
