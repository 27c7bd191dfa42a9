/* device.h - the host side of the CUDA backend: a context's device, stream and staging memory.
 * A context works on the device that was current when it was created, one of several ranks of a
 * node on the one that it made current then, and makes it current again where it must
 * (kaon_cuda_enter). All work goes through one stream, in order. */
#ifndef KAON_LIB_CUDA_DEVICE_H
#define KAON_LIB_CUDA_DEVICE_H

#include <cuda_runtime_api.h>

#include "lib/core/context_internal.h"

/* Transfers pass through pinned memory in two halves: one is filled (or emptied) by the host's
 * threads while the other one is on its way. */
enum { KAON_CUDA_STAGES = 2, KAON_CUDA_STAGE_BYTES = 8 << 20 };

typedef struct kaon_cuda_machine {
  int device;
  uint32_t identity[4]; /* of the device, among all of all nodes (its UUID) */
  cudaStream_t stream;
  void *stage[KAON_CUDA_STAGES]; /* pinned; taken at the first transfer */
  cudaEvent_t passed[KAON_CUDA_STAGES];
  struct kaon_short_copy *short_copy;      /* short_copy.h; taken at the first short transfer to the host */
  uint32_t turn;                 /* of the last one */
  struct kaon_cuda_meter *meter; /* energy.c; made when it is first asked */
  cudaEvent_t here;              /* wait.c */
  double typical_wait;             /* seconds for a word (there, too) */
  cudaStream_t aside;            /* delays pass here (delay.c); NULL where none are asked for */
  cudaEvent_t fork, join;
  struct kaon_cuda_ranks *ranks; /* ranks.c: how it talks with other ranks' devices */
  uint32_t *timeout_report;           /* pinned, of a kernel that waited in vain; NULL: none can */
  struct kaon_cdp_image *cdp_image;      /* launch_list.h; loaded when it is first asked for */
} kaon_cuda_machine;

static inline kaon_cuda_machine *kaon_cuda_machine_of(const kaon_context *ctx) {
  return (kaon_cuda_machine *)ctx->machine;
}

/* Makes the context's device current: an application, or another context, may have chosen one
 * since. */
void kaon_cuda_enter(const kaon_context *ctx);

/* KAON_OK, or DEVICE (MEMORY for memory) with a sentence that says what failed and why. */
kaon_status kaon_cuda_check(const kaon_context *ctx, cudaError_t error, const char *what);
/* The first error of launches and asynchronous work so far, without waiting for more. */
kaon_status kaon_cuda_pending(const kaon_context *ctx, const char *what);

/* Wait until the event, or all that is in the stream, has come, as the option `sync` says; for
 * other ranks no longer than their transport bears (kaon_cuda_check_ranks). Events that are waited for
 * are made with cudaEventBlockingSync. */
kaon_status kaon_cuda_await(const kaon_context *ctx, cudaEvent_t event, const char *what);
kaon_status kaon_cuda_wait_stream(const kaon_context *ctx, cudaStream_t stream, const char *what);
/* Until a kernel in the context's stream has written `turn` into pinned memory. */
kaon_status kaon_cuda_wait_word(const kaon_context *ctx, const uint32_t *word, uint32_t turn,
                                const char *what);
/* What a wait elsewhere asks from time to time (kaon_cuda_transport in ranks.h). */
kaon_status kaon_cuda_check_ranks(const kaon_context *ctx, double waited);
/* Has the system wake this thread `wanted` nanoseconds late at most (0: as it was); returns what it
 * was, 0: it is not known, or not to be changed. It is 50 us unless it was set, and comes on top of
 * every nap. */
unsigned long kaon_cuda_timer_slack(unsigned long wanted);
/* As it was: what the other one returned. */
void kaon_cuda_timer_slack_back(unsigned long before);

/* UNSUPPORTED while the stream is captured: then nothing is done that an answer could come from. */
kaon_status kaon_cuda_refuse_recorded(const kaon_context *ctx, const char *what);

kaon_status kaon_cuda_open(kaon_context *ctx);
void kaon_cuda_close(kaon_context *ctx);

/* A stream and events for delays, where the context's options ask for them: they cannot be made
 * while steps are recorded. */
kaon_status kaon_cuda_delay_open(kaon_context *ctx);
void kaon_cuda_delay_close(kaon_cuda_machine *machine);
kaon_status kaon_cuda_delay_start(kaon_context *ctx, double seconds);
kaon_status kaon_cuda_delay_finish(kaon_context *ctx);

extern const kaon_memory_ops kaon_cuda_memory;
extern const kaon_record_ops kaon_cuda_record;

/* Joules by the device's counter, read through the driver's NVML library; NaN without it. */
double kaon_cuda_energy(kaon_context *ctx);
void kaon_cuda_meter_destroy(struct kaon_cuda_meter **meter);

/* Whether this build has code for the current device, and the capability it was made for
 * (probe.cu). */
cudaError_t kaon_cuda_probe(int *capability);

#endif
