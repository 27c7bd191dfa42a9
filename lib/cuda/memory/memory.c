/* memory.c - device memory and transfers to and from the host. Check mode fills allocated memory
 * with 0xff (NaN in double and single), so uninitialised reads become visible. Overruns are left to
 * compute-sanitizer. */
#include <string.h>

#include "lib/cuda/queue/short_copy.h"
#include "lib/cuda/device.h"

static kaon_status allocate(kaon_context *ctx, size_t bytes, void **pointer) {
  KAON_TRY(kaon_cuda_refuse_recorded(ctx, "taking memory"));
  kaon_cuda_enter(ctx);
  const cudaError_t error = cudaMalloc(pointer, bytes);
  if (error == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    return KAON_ERR_MEMORY; /* the pool reports what was requested */
  }
  KAON_TRY(kaon_cuda_check(ctx, error, "taking device memory"));
  if (!ctx->options.check) return KAON_OK;
  return kaon_cuda_check(ctx, cudaMemsetAsync(*pointer, 0xff, bytes, (cudaStream_t)ctx->queue),
                         "poisoning device memory");
}

static void release(kaon_context *ctx, void *pointer, size_t bytes) {
  (void)bytes;
  kaon_cuda_enter(ctx);
  cudaFree(pointer); /* waits for work that still uses it */
}

static kaon_status shared(kaon_context *ctx, size_t bytes, void **pointer) {
  kaon_cuda_enter(ctx);
  return kaon_cuda_check(ctx, cudaHostAlloc(pointer, bytes, cudaHostAllocMapped), "pinned memory");
}

static void unshare(kaon_context *ctx, void *pointer) {
  kaon_cuda_enter(ctx);
  cudaStreamSynchronize((cudaStream_t)ctx->queue); /* work may still read it */
  cudaFreeHost(pointer);
}

static kaon_status available(kaon_context *ctx, size_t *bytes) {
  size_t total;
  kaon_cuda_enter(ctx);
  return kaon_cuda_check(ctx, cudaMemGetInfo(bytes, &total), "querying free memory");
}

static kaon_status synchronise(kaon_context *ctx) {
  KAON_TRY(kaon_cuda_refuse_recorded(ctx, "waiting"));
  kaon_cuda_enter(ctx);
  KAON_TRY(kaon_cuda_pending(ctx, "a kernel launch"));
  return kaon_cuda_wait_stream(ctx, (cudaStream_t)ctx->queue, "work on the device");
}

static kaon_status stages(kaon_context *ctx) {
  kaon_cuda_machine *machine = kaon_cuda_machine_of(ctx);
  for (int i = 0; i < KAON_CUDA_STAGES; i++)
    if (machine->stage[i] == NULL)
      KAON_TRY(kaon_cuda_check(
          ctx, cudaHostAlloc(&machine->stage[i], KAON_CUDA_STAGE_BYTES, cudaHostAllocDefault),
          "pinned memory for transfers"));
  return KAON_OK;
}

/* Copies with several threads, because one core is slower than the bus. */
static void copy_on_host(const kaon_context *ctx, char *to, const char *from, size_t bytes) {
  enum { PIECE = 1 << 18 };
  const long pieces = (long)((bytes + PIECE - 1) / PIECE);
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (pieces > 4)
  for (long i = 0; i < pieces; i++) {
    const size_t begin = (size_t)i * PIECE, left = bytes - begin;
    memcpy(to + begin, from + begin, left < PIECE ? left : PIECE);
  }
}

static size_t stage_length(size_t bytes, size_t begin) {
  return bytes - begin < KAON_CUDA_STAGE_BYTES ? bytes - begin : KAON_CUDA_STAGE_BYTES;
}

/* Returns when the host's memory has been read. The rest of the transfer is in the stream. */
static kaon_status to_device(kaon_context *ctx, void *device, const void *host, size_t bytes) {
  kaon_cuda_machine *machine = kaon_cuda_machine_of(ctx);
  int i = 0;
  KAON_TRY(kaon_cuda_refuse_recorded(ctx, "a transfer"));
  kaon_cuda_enter(ctx);
  KAON_TRY(kaon_cuda_pending(ctx, "a kernel launch")); /* waiting would clear this error */
  KAON_TRY(stages(ctx));
  for (size_t begin = 0; begin < bytes; begin += KAON_CUDA_STAGE_BYTES) {
    const size_t length = stage_length(bytes, begin);
    KAON_TRY(kaon_cuda_await(ctx, machine->passed[i], "a transfer"));
    copy_on_host(ctx, machine->stage[i], (const char *)host + begin, length);
    KAON_TRY(kaon_cuda_check(ctx,
                             cudaMemcpyAsync((char *)device + begin, machine->stage[i], length,
                                             cudaMemcpyHostToDevice, machine->stream),
                             "a transfer to the device"));
    KAON_TRY(
        kaon_cuda_check(ctx, cudaEventRecord(machine->passed[i], machine->stream), "a transfer"));
    i = (i + 1) % KAON_CUDA_STAGES;
  }
  return KAON_OK;
}

static kaon_status fetch(kaon_context *ctx, int i, const char *device, size_t length) {
  kaon_cuda_machine *machine = kaon_cuda_machine_of(ctx);
  KAON_TRY(kaon_cuda_check(
      ctx,
      cudaMemcpyAsync(machine->stage[i], device, length, cudaMemcpyDeviceToHost, machine->stream),
      "a transfer to the host"));
  return kaon_cuda_check(ctx, cudaEventRecord(machine->passed[i], machine->stream), "a transfer");
}

/* Copies a few values with a kernel (short_copy.h). */
static kaon_status short_copy_to_host(kaon_context *ctx, void *host, const void *device,
                                      size_t bytes) {
  kaon_cuda_machine *machine = kaon_cuda_machine_of(ctx);
  const kaon_launch launch = {.queue = ctx->queue, .dependent = ctx->dependent};
  if (machine->short_copy == NULL) {
    void *made;
    KAON_TRY(kaon_cuda_check(ctx,
                             cudaHostAlloc(&made, sizeof *machine->short_copy, cudaHostAllocMapped),
                             "pinned memory for transfers"));
    machine->short_copy = made;
    machine->short_copy->turn = machine->turn;
  }
  machine->turn++;
  const kaon_short_copy_call call = {.from = device,
                                     .count = (int)(bytes / sizeof(double)),
                                     .turn = machine->turn,
                                     .to = machine->short_copy};
  kaon_short_copy_send(&launch, &call);
  KAON_TRY(kaon_cuda_pending(ctx, "a transfer to the host"));
  KAON_TRY(
      kaon_cuda_wait_word(ctx, &machine->short_copy->turn, machine->turn, "work on the device"));
  memcpy(host, machine->short_copy->bytes, bytes);
  return KAON_OK;
}

static int is_short_copy(const void *device, size_t bytes) {
  return bytes > 0 && bytes <= KAON_SHORT_COPY_BYTES &&
         (bytes | (size_t)(uintptr_t)device) % sizeof(double) == 0;
}

/* Each piece is copied to the host's memory while the next one is transferred. */
static kaon_status to_host(kaon_context *ctx, void *host, const void *device, size_t bytes) {
  kaon_cuda_machine *machine = kaon_cuda_machine_of(ctx);
  const char *from = device;
  int i = 0;
  KAON_TRY(kaon_cuda_refuse_recorded(ctx, "a transfer"));
  kaon_cuda_enter(ctx);
  KAON_TRY(kaon_cuda_pending(ctx, "a kernel launch"));
  if (is_short_copy(device, bytes)) return short_copy_to_host(ctx, host, device, bytes);
  KAON_TRY(stages(ctx));
  if (bytes > 0) KAON_TRY(fetch(ctx, 0, from, stage_length(bytes, 0)));
  for (size_t begin = 0; begin < bytes; begin += KAON_CUDA_STAGE_BYTES) {
    const size_t next = begin + KAON_CUDA_STAGE_BYTES;
    const int other = (i + 1) % KAON_CUDA_STAGES;
    if (next < bytes) KAON_TRY(fetch(ctx, other, from + next, stage_length(bytes, next)));
    KAON_TRY(kaon_cuda_await(ctx, machine->passed[i], "work on the device"));
    copy_on_host(ctx, (char *)host + begin, machine->stage[i], stage_length(bytes, begin));
    i = other;
  }
  return KAON_OK;
}

static kaon_status clear(kaon_context *ctx, void *device, size_t bytes) {
  kaon_cuda_enter(ctx);
  return kaon_cuda_check(ctx, cudaMemsetAsync(device, 0, bytes, (cudaStream_t)ctx->queue),
                         "clearing device memory");
}

static kaon_status copy(kaon_context *ctx, void *to, size_t to_step, const void *from,
                        size_t from_step, size_t bytes, size_t pieces) {
  kaon_cuda_enter(ctx);
  return kaon_cuda_check(ctx,
                         cudaMemcpy2DAsync(to, to_step, from, from_step, bytes, pieces,
                                           cudaMemcpyDeviceToDevice, (cudaStream_t)ctx->queue),
                         "copying within the device");
}

/* Pinned host memory counts as host memory, since kernels would read it over the bus. */
static int place(kaon_context *ctx, const void *pointer) {
  struct cudaPointerAttributes found;
  int device = -1;
  kaon_cuda_enter(ctx);
  if (cudaPointerGetAttributes(&found, pointer) != cudaSuccess) {
    cudaGetLastError(); /* memory that the driver does not know */
    return KAON_AT_HOST;
  }
  if (found.type == cudaMemoryTypeManaged) return KAON_AT_HOST | KAON_AT_DEVICE;
  if (found.type != cudaMemoryTypeDevice) return KAON_AT_HOST;
  return cudaGetDevice(&device) == cudaSuccess && device == found.device ? KAON_AT_DEVICE : 0;
}

const kaon_memory_ops kaon_cuda_memory = {
    .allocate = allocate,
    .release = release,
    .to_device = to_device,
    .to_host = to_host,
    .clear = clear,
    .copy = copy,
    .synchronise = synchronise,
    .available = available,
    .place = place,
    .shared = shared,
    .unshare = unshare,
};
