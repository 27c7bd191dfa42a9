/* ranks_host.c - transports that use the communicator. DIRECT passes it device memory (CUDA-aware
 * MPI); HOST copies through pinned host memory. Neither can be recorded, because the host waits for
 * the queue before it sends. Sums are few values, which go through the host in both. */
#include "lib/cuda/ranks/ranks.h"

static kaon_status open_host(kaon_context *ctx) {
  KAON_TRY(kaon_comm_reserve(ctx, 2 * KAON_SUM_ENTRIES));
  return kaon_cuda_create_messages(ctx, 1);
}

static kaon_status open_direct(kaon_context *ctx) {
  if (!ctx->comm->device_memory)
    return kaon_fail(ctx, KAON_ERR_UNSUPPORTED,
                     "ranks: the communicator (%s) does not accept device memory, as a CUDA-aware "
                     "MPI does; use transport host, or another MPI",
                     ctx->comm->ops->name);
  return open_host(ctx);
}

static kaon_status waited(kaon_context *ctx, const char *what) {
  KAON_TRY(kaon_cuda_refuse_recorded(ctx, what));
  KAON_TRY(kaon_cuda_pending(ctx, "a kernel launch"));
  return kaon_cuda_check(ctx, cudaStreamSynchronize(kaon_cuda_machine_of(ctx)->stream), what);
}

/* ---- exchanges ---- */

static kaon_status create_direct(kaon_device_exchange *e) {
  kaon_comm *comm = e->ctx->comm;
  KAON_TRY(kaon_cuda_create_buffers(e));
  return comm->ops->exchange_create(comm, e->messages, e->n, &e->comm_exchange);
}

static kaon_status create_host(kaon_device_exchange *e) {
  kaon_comm *comm = e->ctx->comm;
  kaon_message messages[KAON_DIRS];
  void *host = NULL;
  KAON_TRY(kaon_cuda_create_buffers(e));
  if (e->half > 0)
    KAON_TRY(kaon_cuda_check(e->ctx, cudaHostAlloc(&host, 2 * e->half, cudaHostAllocDefault),
                             "pinned memory for messages"));
  e->host = host;
  for (int i = 0; i < e->n; i++) {
    const char *device = e->shared.mine;
    messages[i] = e->messages[i];
    messages[i].send = e->host + ((const char *)e->messages[i].send - device);
    messages[i].receive = e->host + ((const char *)e->messages[i].receive - device);
  }
  return comm->ops->exchange_create(comm, messages, e->n, &e->comm_exchange);
}

static void destroy(kaon_device_exchange *e) {
  if (e->comm_exchange != NULL) e->ctx->comm->ops->exchange_destroy(&e->comm_exchange);
  if (e->host != NULL) cudaFreeHost(e->host);
  kaon_cuda_release(e->ctx, e->shared.mine, e->shared.bytes);
}

static kaon_status start_direct(kaon_device_exchange *e) {
  KAON_TRY(waited(e->ctx, "messages of the communicator's"));
  return e->ctx->comm->ops->exchange_start(e->comm_exchange);
}

static kaon_status finish_direct(kaon_device_exchange *e) {
  KAON_TRY(kaon_cuda_refuse_recorded(e->ctx, "messages of the communicator's"));
  return e->ctx->comm->ops->exchange_finish(e->comm_exchange);
}

/* Stream order puts this after the last exchange's copy to the device, so its pinned memory is free
 * again. */
static kaon_status start_host(kaon_device_exchange *e) {
  KAON_TRY(kaon_cuda_refuse_recorded(e->ctx, "messages through the host"));
  KAON_TRY(kaon_cuda_check(e->ctx,
                           cudaMemcpyAsync(e->host, e->shared.mine, e->half, cudaMemcpyDeviceToHost,
                                           kaon_cuda_machine_of(e->ctx)->stream),
                           "messages to the host"));
  KAON_TRY(waited(e->ctx, "messages to the host"));
  return e->ctx->comm->ops->exchange_start(e->comm_exchange);
}

static kaon_status finish_host(kaon_device_exchange *e) {
  KAON_TRY(kaon_cuda_refuse_recorded(e->ctx, "messages through the host"));
  KAON_TRY(e->ctx->comm->ops->exchange_finish(e->comm_exchange));
  return kaon_cuda_check(
      e->ctx,
      cudaMemcpyAsync((char *)e->shared.mine + e->half, e->host + e->half, e->half,
                      cudaMemcpyHostToDevice, kaon_cuda_machine_of(e->ctx)->stream),
      "messages to the device");
}

/* ---- sums ---- */

static kaon_status sum_start(kaon_context *ctx, const kaon_sum_call *call) {
  const kaon_cuda_ranks *r = kaon_cuda_ranks_of(ctx);
  const kaon_launch launch = kaon_cuda_launch_of(ctx);
  const int numbers = 2 * call->n * call->columns;
  KAON_TRY(kaon_cuda_refuse_recorded(ctx, "a sum through the host"));
  kaon_rank_sums_pack(&launch, call, r->message);
  KAON_TRY(
      kaon_cuda_check(ctx,
                      cudaMemcpyAsync(r->pinned, r->message, (size_t)numbers * sizeof *r->pinned,
                                      cudaMemcpyDeviceToHost, kaon_cuda_machine_of(ctx)->stream),
                      "a copy of a sum to the host"));
  KAON_TRY(waited(ctx, "a copy of a sum to the host"));
  return kaon_comm_undelayed(ctx->comm)->sum_start(ctx->comm, r->pinned, numbers);
}

static kaon_status sum_finish(kaon_context *ctx, const kaon_sum_call *call) {
  const kaon_cuda_ranks *r = kaon_cuda_ranks_of(ctx);
  const kaon_launch launch = kaon_cuda_launch_of(ctx);
  const int numbers = 2 * call->n * call->columns;
  KAON_TRY(kaon_comm_undelayed(ctx->comm)->sum_finish(ctx->comm));
  KAON_TRY(
      kaon_cuda_check(ctx,
                      cudaMemcpyAsync(r->messages, r->pinned, (size_t)numbers * sizeof *r->pinned,
                                      cudaMemcpyHostToDevice, kaon_cuda_machine_of(ctx)->stream),
                      "a copy of a sum to the device"));
  kaon_rank_sums_unpack(&launch, call, r->messages, 1);
  return KAON_OK;
}

const kaon_cuda_transport kaon_cuda_direct = {
    .kind = KAON_TRANSPORT_DIRECT,
    .name = "CUDA-aware MPI",
    .most = KAON_ISSUE_PLAIN,
    .open = open_direct,
    .close = kaon_cuda_destroy_messages,
    .create = create_direct,
    .start = start_direct,
    .finish = finish_direct,
    .destroy = destroy,
    .sum_start = sum_start,
    .sum_finish = sum_finish,
};

const kaon_cuda_transport kaon_cuda_host = {
    .kind = KAON_TRANSPORT_HOST,
    .name = "host memory",
    .most = KAON_ISSUE_PLAIN,
    .open = open_host,
    .close = kaon_cuda_destroy_messages,
    .create = create_host,
    .start = start_host,
    .finish = finish_host,
    .destroy = destroy,
    .sum_start = sum_start,
    .sum_finish = sum_finish,
};
