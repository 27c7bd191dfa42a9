/* device.h - the host side of the CUDA backend: device, stream and staging memory of a context.
 * A context uses the device that was current when it was created. With several ranks on a node that
 * is the one that each rank made current then. The context makes it current again where needed
 * (kaon_cuda_enter). All work goes through one stream, in order. */
#pragma once

#include <cuda_runtime_api.h>

#include "lib/core/context_internal.h"

/* Transfers pass through pinned memory in two halves. The host's threads fill or empty one half
 * while the other is being transferred. */
enum { KAON_CUDA_STAGES = 2, KAON_CUDA_STAGE_BYTES = 8 << 20 };

typedef struct kaon_cuda_machine {
  int device;
  uint32_t identity[4]; /* of the device, unique among all nodes (its UUID) */
  cudaStream_t stream;
  void *stage[KAON_CUDA_STAGES]; /* pinned; allocated at the first transfer */
  cudaEvent_t passed[KAON_CUDA_STAGES];
  struct kaon_short_copy *short_copy; /* short_copy.h; allocated at the first short transfer to
                                            * the host */
  uint32_t turn;                      /* sequence number of the last short copy */
  struct kaon_cuda_meter *meter;      /* energy.c; created at the first query */
  cudaEvent_t here;                   /* wait.c */
  double typical_wait;                /* seconds that a wait for a word usually takes (wait.c) */
  cudaStream_t aside;                 /* stream for delays (delay.c); NULL if none are requested */
  cudaEvent_t fork, join;
  struct kaon_cuda_ranks *ranks;    /* ranks.c: communication with the devices of other ranks */
  uint32_t *timeout_report;         /* pinned; written by a kernel that timed out; NULL: no kernel
                                       * waits */
  struct kaon_cdp_image *cdp_image; /* launch_list.h; loaded at first use */
  struct kaon_cuda_solver *solver;  /* invert.c; loaded at first use */
} kaon_cuda_machine;

static inline kaon_cuda_machine *kaon_cuda_machine_of(const kaon_context *ctx) {
  return (kaon_cuda_machine *)ctx->machine;
}

/* Makes the context's device current again: the application or another context may have changed
 * it. */
void kaon_cuda_enter(const kaon_context *ctx);

/* KAON_OK, or DEVICE (MEMORY for out of memory) with a message that says what failed and why. */
kaon_status kaon_cuda_check(const kaon_context *ctx, cudaError_t error, const char *what);
/* The first error of launches and asynchronous work so far, without waiting. */
kaon_status kaon_cuda_pending(const kaon_context *ctx, const char *what);

/* Wait for the event, or for all work in the stream, as the option `sync` says. A wait for other
 * ranks ends when their transport reports a failure (kaon_cuda_check_ranks). Such events must be
 * created with cudaEventBlockingSync. */
kaon_status kaon_cuda_await(const kaon_context *ctx, cudaEvent_t event, const char *what);
kaon_status kaon_cuda_wait_stream(const kaon_context *ctx, cudaStream_t stream, const char *what);
/* Waits until a kernel in the context's stream has written `turn` into pinned memory. */
kaon_status kaon_cuda_wait_word(const kaon_context *ctx, const uint32_t *word, uint32_t turn,
                                const char *what);
/* Called from time to time during a wait (kaon_cuda_transport in ranks.h); an error ends the
 * wait. */
kaon_status kaon_cuda_check_ranks(const kaon_context *ctx, double waited);
/* Sets the timer slack of this thread to `wanted` nanoseconds (0: unchanged). The system adds the
 * slack to every sleep; it is 50 us unless it was set. Returns the previous value, or 0 if it is
 * unknown or cannot be changed. */
unsigned long kaon_cuda_timer_slack(unsigned long wanted);
/* Restores the value that kaon_cuda_timer_slack returned. */
void kaon_cuda_timer_slack_back(unsigned long before);

/* UNSUPPORTED while the stream is captured, since nothing runs then that could return an answer. */
kaon_status kaon_cuda_refuse_recorded(const kaon_context *ctx, const char *what);

kaon_status kaon_cuda_open(kaon_context *ctx);
void kaon_cuda_close(kaon_context *ctx);

/* Creates the stream and the events for delays if the context's options request delays. They cannot
 * be created while steps are recorded. */
kaon_status kaon_cuda_delay_open(kaon_context *ctx);
void kaon_cuda_delay_close(kaon_cuda_machine *machine);
kaon_status kaon_cuda_delay_start(kaon_context *ctx, double seconds);
kaon_status kaon_cuda_delay_finish(kaon_context *ctx);

extern const kaon_memory_ops kaon_cuda_memory;
extern const kaon_record_ops kaon_cuda_record;

/* Joules from the device's counter, read through the driver's NVML library; NaN without it. */
double kaon_cuda_energy(kaon_context *ctx);
void kaon_cuda_meter_destroy(struct kaon_cuda_meter **meter);

/* The backend's entry `invert` (lib/core/backend.h), by cuSOLVER. Additional error: UNSUPPORTED (the
 * library is missing). */
kaon_status kaon_cuda_invert(kaon_context *ctx, int64_t rows, double *matrix, double *inverse,
                             double *pivots);
void kaon_cuda_solver_destroy(struct kaon_cuda_solver **solver); /* NULL allowed */

/* Whether this build has code for the current device, and the compute capability of that code
 * (probe.cu). */
cudaError_t kaon_cuda_probe(int *capability);
