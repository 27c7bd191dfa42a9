/* ranks_nccl.c - NCCL: messages and sums by NVIDIA's library, in a second stream. It forks off the
 * queue and is joined again by events, so both can be recorded. That holds for replayed blocks
 * only: a loop on the device accepts only kernels and copies, and NCCL may record other nodes.
 * Sums are gathered and added in rank order, as everywhere. The library is loaded at first use,
 * so nothing is linked. The few functions needed are declared here as in version 2 (NCCL user
 * guide, "Group Calls", "Point To Point Communication Functions", "Collective Communication
 * Functions"). */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/core/config.h"
#include "lib/cuda/ranks/ranks.h"

enum { NCCL_BYTES = 0 /* ncclInt8 */, NCCL_DOUBLE = 8 /* ncclFloat64 */ };
enum { NCCL_OK = 0, NCCL_IN_PROGRESS = 7 };
enum { OLDEST = 20700 }; /* point-to-point messages came with 2.7 */

typedef struct nccl_id {
  char internal[128];
} nccl_id;
typedef int nccl_version(int *version);
typedef const char *nccl_text(int error);
typedef int nccl_make_id(nccl_id *id);
typedef int nccl_join(void **comm, int ranks, nccl_id id, int rank);
typedef int nccl_comm_call(void *comm);
typedef int nccl_error_of(void *comm, int *error);
typedef int nccl_call(void);
typedef int nccl_send(const void *from, size_t count, int type, int peer, void *comm,
                      cudaStream_t stream);
typedef int nccl_receive(void *to, size_t count, int type, int peer, void *comm,
                         cudaStream_t stream);
typedef int nccl_gather(const void *from, void *to, size_t count, int type, void *comm,
                        cudaStream_t stream);

struct kaon_nccl {
  void *library, *comm;
  cudaStream_t aside;
  cudaEvent_t fork, summed;
  nccl_version *version;
  nccl_text *text;
  nccl_make_id *make_id;
  nccl_join *join;
  nccl_comm_call *leave, *break_off;
  nccl_error_of *error_of;
  nccl_call *group_start, *group_end;
  nccl_send *send;
  nccl_receive *receive;
  nccl_gather *all_gather;
};

static kaon_status check(const kaon_context *ctx, int error, const char *what) {
  if (error == NCCL_OK) return KAON_OK;
  return kaon_fail(ctx, KAON_ERR_COMM, "NCCL: %s failed on rank %d of %d: %s", what,
                   ctx->comm->rank, ctx->comm->ranks, kaon_cuda_ranks_of(ctx)->nccl->text(error));
}

/* ---- the library ---- */

/* Looks up a function by name. The indirection avoids a cast from a data pointer, which C does not
 * allow. */
static int find(void *library, const char *name, void *function) {
  void *symbol = dlsym(library, name);
  if (symbol == NULL) return 0;
  *(void **)function = symbol;
  return 1;
}

static void *load(void) {
  void *library = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
#ifdef KAON_NCCL_LIBRARY
  if (library == NULL) library = dlopen(KAON_NCCL_LIBRARY, RTLD_NOW | RTLD_LOCAL);
#endif
  return library;
}

static kaon_status load_library(kaon_context *ctx, struct kaon_nccl *n) {
#ifdef KAON_NO_NCCL
  (void)load, (void)find;
  return kaon_fail(ctx, KAON_ERR_NOT_BUILT,
                   "NCCL: this kaon was built without it (KAON_NCCL=OFF); use another transport");
#endif
  int version = 0;
  kaon_config_no_multicast();
  n->library = load();
  if (n->library == NULL)
    return kaon_fail(ctx, KAON_ERR_UNSUPPORTED,
                     "NCCL: libnccl.so.2 is not found; name its folder in LD_LIBRARY_PATH, or "
                     "configure with -DNCCL_ROOT=...");
  if (!find(n->library, "ncclGetVersion", &n->version) ||
      !find(n->library, "ncclGetErrorString", &n->text) ||
      !find(n->library, "ncclGetUniqueId", &n->make_id) ||
      !find(n->library, "ncclCommInitRank", &n->join) ||
      !find(n->library, "ncclCommDestroy", &n->leave) ||
      !find(n->library, "ncclCommAbort", &n->break_off) ||
      !find(n->library, "ncclCommGetAsyncError", &n->error_of) ||
      !find(n->library, "ncclGroupStart", &n->group_start) ||
      !find(n->library, "ncclGroupEnd", &n->group_end) || !find(n->library, "ncclSend", &n->send) ||
      !find(n->library, "ncclRecv", &n->receive) ||
      !find(n->library, "ncclAllGather", &n->all_gather) || n->version(&version) != NCCL_OK ||
      version < OLDEST)
    return kaon_fail(ctx, KAON_ERR_UNSUPPORTED,
                     "NCCL: version 2.7 or later is needed, but the library found is version %d",
                     version);
  return KAON_OK;
}

/* ---- open and close ---- */

static kaon_status open_streams(kaon_context *ctx, struct kaon_nccl *n) {
  int least = 0, greatest = 0;
  KAON_TRY(kaon_cuda_check(ctx, cudaDeviceGetStreamPriorityRange(&least, &greatest),
                           "asking for priorities"));
  KAON_TRY(kaon_cuda_check(ctx,
                           cudaStreamCreateWithPriority(&n->aside, cudaStreamNonBlocking, greatest),
                           "a stream for messages"));
  KAON_TRY(
      kaon_cuda_check(ctx, cudaEventCreateWithFlags(&n->fork, cudaEventDisableTiming), "an event"));
  return kaon_cuda_check(ctx, cudaEventCreateWithFlags(&n->summed, cudaEventDisableTiming),
                         "an event");
}

static kaon_status join_ranks(kaon_context *ctx, struct kaon_nccl *n) {
  kaon_comm *comm = ctx->comm;
  nccl_id id;
  kaon_status status = KAON_OK;
  memset(&id, 0, sizeof id);
  if (comm->rank == 0) status = check(ctx, n->make_id(&id), "making an id");
  KAON_TRY(kaon_agree(ctx, status));
  KAON_TRY(kaon_agree(ctx, comm->ops->broadcast(comm, &id, sizeof id, 0)));
  return check(ctx, n->join(&n->comm, comm->ranks, id, comm->rank),
               "joining the ranks (each needs a device of its own)");
}

/* ---- ranks that have ended ---- */

/* The library's kernels wait for ever unless they are aborted. After that the queue continues, but
 * its results are invalid. */
static kaon_status give_up(kaon_context *ctx, const char *why) {
  struct kaon_nccl *n = kaon_cuda_ranks_of(ctx)->nccl;
  n->break_off(n->comm);
  n->comm = NULL;
  ctx->tunings++; /* recordings refer to the communicator */
  return kaon_fail(ctx, KAON_ERR_COMM,
                   "NCCL: rank %d of %d gave up its messages and sums: %s; has another rank ended?",
                   ctx->comm->rank, ctx->comm->ranks, why);
}

static kaon_status check_ranks(kaon_context *ctx, double waited) {
  const struct kaon_nccl *n = kaon_cuda_ranks_of(ctx)->nccl;
  int error = NCCL_OK;
  char why[64];
  if (n == NULL || n->comm == NULL) return KAON_OK;
  if (n->error_of(n->comm, &error) == NCCL_OK && error != NCCL_OK && error != NCCL_IN_PROGRESS)
    return give_up(ctx, n->text(error));
  if (waited <= ctx->options.patience) return KAON_OK;
  snprintf(why, sizeof why, "its device waited %g s", ctx->options.patience);
  return give_up(ctx, why);
}

static kaon_status sound(kaon_context *ctx) {
  if (kaon_cuda_ranks_of(ctx)->nccl->comm != NULL) return KAON_OK;
  return kaon_fail(ctx, KAON_ERR_COMM,
                   "NCCL: rank %d of %d has given up its messages and sums; make a new context",
                   ctx->comm->rank, ctx->comm->ranks);
}

static kaon_status gather_sums(kaon_context *ctx, size_t doubles) {
  const kaon_cuda_ranks *r = kaon_cuda_ranks_of(ctx);
  KAON_TRY(sound(ctx));
  return check(ctx,
               r->nccl->all_gather(r->message, r->messages, doubles, NCCL_DOUBLE, r->nccl->comm,
                                   r->nccl->aside),
               "gathering a sum");
}

/* The library allocates memory at the first communication, which is not possible while steps are
 * recorded. */
static kaon_status warm_up(kaon_context *ctx) {
  KAON_TRY(gather_sums(ctx, 1));
  return kaon_cuda_wait_stream(ctx, kaon_cuda_ranks_of(ctx)->nccl->aside, "NCCL's first sum");
}

static kaon_status open_nccl(kaon_context *ctx) {
  kaon_cuda_ranks *r = kaon_cuda_ranks_of(ctx);
  struct kaon_nccl *n = r->nccl = calloc(1, sizeof *n);
  kaon_status status = KAON_CHECK_MEMORY(ctx, n != NULL, "NCCL: out of host memory");
  if (status == KAON_OK) status = load_library(ctx, n);
  if (status == KAON_OK) status = open_streams(ctx, n);
  if (status == KAON_OK) status = kaon_cuda_create_messages(ctx, ctx->comm->ranks);
  KAON_TRY(kaon_agree(ctx, status)); /* joining waits for the other ranks */
  KAON_TRY(kaon_agree(ctx, join_ranks(ctx, n)));
  return kaon_agree(ctx, warm_up(ctx));
}

/* The library stays loaded, because it has its own threads. */
static void close_nccl(kaon_context *ctx) {
  kaon_cuda_ranks *r = kaon_cuda_ranks_of(ctx);
  struct kaon_nccl *n = r->nccl;
  const int well = n == NULL || n->aside == NULL ||
                   kaon_cuda_wait_stream(ctx, n->aside, "NCCL's end") == KAON_OK;
  r->nccl = NULL;
  kaon_cuda_destroy_messages(ctx);
  if (n == NULL) return;
  if (n->comm != NULL) (well ? n->leave : n->break_off)(n->comm);
  if (n->fork != NULL) cudaEventDestroy(n->fork);
  if (n->summed != NULL) cudaEventDestroy(n->summed);
  if (n->aside != NULL) cudaStreamDestroy(n->aside);
  free(n);
}

/* ---- the second stream ---- */

static kaon_status fork_off(kaon_context *ctx) {
  const struct kaon_nccl *n = kaon_cuda_ranks_of(ctx)->nccl;
  KAON_TRY(kaon_cuda_check(ctx, cudaEventRecord(n->fork, kaon_cuda_machine_of(ctx)->stream),
                           "messages on a second stream"));
  return kaon_cuda_check(ctx, cudaStreamWaitEvent(n->aside, n->fork, 0),
                         "messages on a second stream");
}

static kaon_status wait_for_event(kaon_context *ctx, cudaEvent_t event) {
  return kaon_cuda_check(ctx, cudaStreamWaitEvent(kaon_cuda_machine_of(ctx)->stream, event, 0),
                         "messages on a second stream");
}

/* ---- exchanges ---- */

/* Messages between two ranks are matched only by order. They are sent in the order of directions,
 * and received in the order of the directions in which they were sent. */
static kaon_status post(kaon_device_exchange *e) {
  const struct kaon_nccl *n = kaon_cuda_ranks_of(e->ctx)->nccl;
  for (int dir = 0; dir < KAON_DIRS; dir++)
    for (int i = 0; i < e->n; i++) {
      const kaon_message *m = &e->messages[i];
      if (m->dir == dir)
        KAON_TRY(check(e->ctx, n->send(m->send, m->bytes, NCCL_BYTES, m->peer, n->comm, n->aside),
                       "sending"));
      if ((m->dir + KAON_DIRS / 2) % KAON_DIRS == dir)
        KAON_TRY(check(e->ctx,
                       n->receive(m->receive, m->bytes, NCCL_BYTES, m->peer, n->comm, n->aside),
                       "receiving"));
    }
  return KAON_OK;
}

static kaon_status start(kaon_device_exchange *e) {
  const struct kaon_nccl *n = kaon_cuda_ranks_of(e->ctx)->nccl;
  KAON_TRY(sound(e->ctx));
  KAON_TRY(fork_off(e->ctx));
  KAON_TRY(check(e->ctx, n->group_start(), "an exchange"));
  const kaon_status status = post(e);
  const int ended = n->group_end();
  KAON_TRY(status);
  KAON_TRY(check(e->ctx, ended, "an exchange"));
  return kaon_cuda_check(e->ctx, cudaEventRecord(e->arrived, n->aside), "an exchange");
}

static kaon_status finish(kaon_device_exchange *e) {
  return wait_for_event(e->ctx, e->arrived);
}

static kaon_status create(kaon_device_exchange *e) {
  KAON_TRY(kaon_cuda_create_buffers(e));
  KAON_TRY(kaon_cuda_check(e->ctx, cudaEventCreateWithFlags(&e->arrived, cudaEventDisableTiming),
                           "an event"));
  return KAON_OK;
}

/* Runs one exchange before any is recorded, for the same reason as warm_up. */
static kaon_status create_and_try(kaon_device_exchange *e) {
  KAON_TRY(kaon_agree(e->ctx, create(e)));
  if (e->n == 0) return KAON_OK;
  KAON_TRY(start(e));
  KAON_TRY(finish(e));
  return kaon_cuda_wait_stream(e->ctx, kaon_cuda_machine_of(e->ctx)->stream,
                               "NCCL's first exchange");
}

static void destroy(kaon_device_exchange *e) {
  kaon_cuda_wait_stream(e->ctx, kaon_cuda_ranks_of(e->ctx)->nccl->aside, "an exchange's end");
  if (e->arrived != NULL) cudaEventDestroy(e->arrived);
  kaon_cuda_release(e->ctx, e->shared.mine, e->shared.bytes);
}

/* ---- sums ---- */

static kaon_status sum_start(kaon_context *ctx, const kaon_sum_call *call) {
  const kaon_cuda_ranks *r = kaon_cuda_ranks_of(ctx);
  const kaon_launch launch = kaon_cuda_launch_of(ctx);
  kaon_rank_sums_pack(&launch, call, r->message);
  KAON_TRY(fork_off(ctx));
  KAON_TRY(gather_sums(ctx, 2 * (size_t)call->n * (size_t)call->columns));
  return kaon_cuda_check(ctx, cudaEventRecord(r->nccl->summed, r->nccl->aside), "a sum");
}

static kaon_status sum_finish(kaon_context *ctx, const kaon_sum_call *call) {
  const kaon_cuda_ranks *r = kaon_cuda_ranks_of(ctx);
  const kaon_launch launch = kaon_cuda_launch_of(ctx);
  KAON_TRY(wait_for_event(ctx, r->nccl->summed));
  kaon_rank_sums_unpack(&launch, call, r->messages, ctx->comm->ranks);
  return KAON_OK;
}

const kaon_cuda_transport kaon_cuda_nccl = {
    .kind = KAON_TRANSPORT_NCCL,
    .name = "NCCL",
    .own_device = 1,
    .most = KAON_ISSUE_REPLAY,
    .open = open_nccl,
    .close = close_nccl,
    .create = create_and_try,
    .start = start,
    .finish = finish,
    .check_ranks = check_ranks,
    .destroy = destroy,
    .sum_start = sum_start,
    .sum_finish = sum_finish,
};
