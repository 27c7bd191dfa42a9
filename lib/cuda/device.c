/* device.c - finds a usable device and sets up what a context needs on it. */
#include "lib/cuda/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/cuda/backend.h"
#include "lib/cuda/queue/launch_list.h"
#include "lib/core/refusal.h"

/* The timeout report, if a kernel that waited for another rank has ended this one
 * (lib/core/launch.h). */
static const volatile uint32_t *timeout_report_of(const kaon_context *ctx) {
  if (ctx == NULL || ctx->machine == NULL) return NULL;
  const volatile uint32_t *timeout_report = kaon_cuda_machine_of(ctx)->timeout_report;
  return timeout_report != NULL && timeout_report[KAON_TIMEOUT_KIND] != 0 ? timeout_report : NULL;
}

static kaon_status report_timeout(const kaon_context *ctx, const volatile uint32_t *timeout_report,
                                  const char *what) {
  static const char *const directions[] = {"+x", "+y", "+z", "+t", "-x", "-y", "-z", "-t"};
  const unsigned rank = timeout_report[KAON_TIMEOUT_RANK],
                 number = timeout_report[KAON_TIMEOUT_SEQUENCE];
  const double seconds = ctx->options.patience;
  if (timeout_report[KAON_TIMEOUT_KIND] == KAON_TIMEOUT_SUM)
    return kaon_fail(ctx, KAON_ERR_COMM,
                     "cuda: %s: rank %d waited %g s without success for the contribution of rank "
                     "%u to sum %u over ranks; has that rank ended?",
                     what, ctx->comm->rank, seconds, rank, number);
  return kaon_fail(ctx, KAON_ERR_COMM,
                   "cuda: %s: rank %d waited %g s without success for the message in direction %s "
                   "from rank %u (number %u of that exchange); has that rank ended?",
                   what, ctx->comm->rank, seconds, directions[timeout_report[KAON_TIMEOUT_DIR] % 8],
                   rank, number);
}

kaon_status kaon_cuda_check(const kaon_context *ctx, cudaError_t error, const char *what) {
  if (error == cudaSuccess) return KAON_OK;
  cudaGetLastError(); /* clears the error, so that the next call does not report it */
  const volatile uint32_t *timeout_report = timeout_report_of(ctx);
  if (timeout_report != NULL) return report_timeout(ctx, timeout_report, what);
  if (error == cudaErrorMemoryAllocation)
    return kaon_fail(ctx, KAON_ERR_MEMORY, "cuda: %s: out of memory", what);
  return kaon_fail(ctx, KAON_ERR_DEVICE, "cuda: %s: %s (%s)", what, cudaGetErrorString(error),
                   cudaGetErrorName(error));
}

kaon_status kaon_cuda_pending(const kaon_context *ctx, const char *what) {
  return kaon_cuda_check(ctx, cudaGetLastError(), what);
}

kaon_status kaon_cuda_refuse_recorded(const kaon_context *ctx, const char *what) {
  if (!ctx->recording) return KAON_OK;
  return kaon_fail(ctx, KAON_ERR_UNSUPPORTED, "cuda: %s cannot be part of a recording", what);
}

/* ---- finding a device ---- */

_Static_assert((int)cudaSuccess == KAON_CUDA_SUCCESS &&
                   (int)cudaErrorInsufficientDriver == KAON_CUDA_OLD_DRIVER &&
                   (int)cudaErrorInvalidDeviceFunction == KAON_CUDA_NO_FUNCTION &&
                   (int)cudaErrorNoDevice == KAON_CUDA_NO_DEVICE &&
                   (int)cudaErrorNoKernelImageForDevice == KAON_CUDA_NO_IMAGE &&
                   (int)cudaErrorUnsupportedPtxVersion == KAON_CUDA_NEW_PTX,
               "lib/core/refusal.h has CUDA's numbers");

static kaon_cuda_status_facts facts_of(cudaError_t error, int devices) {
  kaon_cuda_status_facts facts = {.compiled = KAON_CUDA_ARCHS,
                                  .error = (int)error,
                                  .text = cudaGetErrorString(error),
                                  .name = cudaGetErrorName(error),
                                  .devices = devices};
  cudaDriverGetVersion(&facts.driver);
  cudaRuntimeGetVersion(&facts.runtime);
  return facts;
}

static kaon_status check_driver(cudaError_t error, int devices) {
  const kaon_cuda_status_facts facts = facts_of(error, devices);
  const kaon_status status = kaon_cuda_usable(&facts);
  if (status != KAON_OK) cudaGetLastError();
  return status;
}

static kaon_status check_code(int devices) {
  int device = 0, capability;
  const cudaError_t error = kaon_cuda_probe(&capability);
  struct cudaDeviceProp properties;
  if (error == cudaSuccess) return KAON_OK;
  cudaGetLastError();
  kaon_cuda_status_facts facts = facts_of(error, devices);
  if (cudaGetDevice(&device) == cudaSuccess &&
      cudaGetDeviceProperties(&properties, device) == cudaSuccess) {
    facts.device = properties.name;
    facts.major = properties.major;
    facts.minor = properties.minor;
  }
  return kaon_cuda_usable(&facts);
}

/* This must be the first call that touches a device: every device touched keeps a context of this
 * process. */
static kaon_status choose_device(int number, int devices) {
  if (number < 0) return KAON_OK;
  return kaon_cuda_check(NULL, cudaSetDevice(number % devices), "choosing a device");
}

kaon_status kaon_cuda_backend(int number, const kaon_backend **backend) {
  int devices = 0;
  const cudaError_t error = cudaGetDeviceCount(&devices);
  KAON_TRY(check_driver(error, devices));
  KAON_TRY(choose_device(number, devices));
  KAON_TRY(check_code(devices));
  *backend = &kaon_cuda_table;
  return KAON_OK;
}

int64_t kaon_cuda_shared_bytes(void) {
  int device = 0, bytes = 0;
  if (cudaGetDevice(&device) != cudaSuccess ||
      cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerMultiprocessor, device) !=
          cudaSuccess)
    return 0;
  return bytes;
}

/* ---- the device of a context ---- */

void kaon_cuda_enter(const kaon_context *ctx) {
  const int wanted = kaon_cuda_machine_of(ctx)->device;
  int device = -1;
  if (cudaGetDevice(&device) != cudaSuccess || device != wanted) cudaSetDevice(wanted);
}

static kaon_status describe(kaon_context *ctx) {
  int device = 0, driver = 0;
  struct cudaDeviceProp p;
  KAON_TRY(kaon_cuda_check(ctx, cudaGetDevice(&device), "querying the device"));
  KAON_TRY(kaon_cuda_check(ctx, cudaGetDeviceProperties(&p, device), "querying its properties"));
  cudaDriverGetVersion(&driver);
  kaon_cuda_machine *machine = kaon_cuda_machine_of(ctx);
  _Static_assert(sizeof machine->identity == sizeof p.uuid, "a UUID is four words");
  memcpy(machine->identity, &p.uuid, sizeof machine->identity);
  machine->device = device;
  snprintf(ctx->device, sizeof ctx->device, "%.100s", p.name);
  snprintf(ctx->details, sizeof ctx->details,
           "%.1f GB, compute capability %d.%d, %d multiprocessors, %.0f MB of cache, driver for "
           "CUDA %d.%d",
           (double)p.totalGlobalMem * 1e-9, p.major, p.minor, p.multiProcessorCount,
           (double)p.l2CacheSize / (1 << 20), driver / 1000, driver % 1000 / 10);
  return KAON_OK;
}

kaon_status kaon_cuda_open(kaon_context *ctx) {
  kaon_cuda_machine *machine = calloc(1, sizeof *machine);
  if (machine == NULL) return kaon_fail(ctx, KAON_ERR_MEMORY, "cuda: out of host memory");
  ctx->machine = machine;
  KAON_TRY(describe(ctx));
  KAON_TRY(kaon_cuda_check(ctx, cudaStreamCreateWithFlags(&machine->stream, cudaStreamNonBlocking),
                           "a stream"));
  ctx->queue = machine->stream;
  int capability;
  KAON_TRY(kaon_cuda_check(ctx, kaon_cuda_probe(&capability), "querying its code"));
  ctx->dependent = capability >= 90;
  KAON_TRY(kaon_cuda_delay_open(ctx));
  for (int i = 0; i < KAON_CUDA_STAGES; i++)
    KAON_TRY(
        kaon_cuda_check(ctx,
                        cudaEventCreateWithFlags(&machine->passed[i],
                                                 cudaEventDisableTiming | cudaEventBlockingSync),
                        "an event"));
  return kaon_cuda_check(
      ctx, cudaEventCreateWithFlags(&machine->here, cudaEventDisableTiming | cudaEventBlockingSync),
      "an event");
}

void kaon_cuda_close(kaon_context *ctx) {
  kaon_cuda_machine *machine = kaon_cuda_machine_of(ctx);
  kaon_cuda_enter(ctx);
  for (int i = 0; i < KAON_CUDA_STAGES; i++) {
    if (machine->passed[i] != NULL) cudaEventDestroy(machine->passed[i]);
    if (machine->stage[i] != NULL) cudaFreeHost(machine->stage[i]);
  }
  if (machine->short_copy != NULL) cudaFreeHost(machine->short_copy);
  if (machine->here != NULL) cudaEventDestroy(machine->here);
  kaon_cuda_delay_close(machine);
  kaon_cuda_meter_destroy(&machine->meter);
  kaon_cdp_destroy(&machine->cdp_image);
  kaon_cuda_solver_destroy(&machine->solver);
  if (machine->timeout_report != NULL) cudaFreeHost(machine->timeout_report);
  if (machine->stream != NULL) cudaStreamDestroy(machine->stream);
  free(machine);
  ctx->machine = NULL;
}
