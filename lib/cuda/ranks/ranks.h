/* ranks.h - internal to the CUDA backend: communication between the devices of several ranks
 * (kaon_ranks_ops in lib/core/backend.h). Each transport has one table; ranks.c chooses one. */
#pragma once

#include "lib/cuda/device.h"
#include "lib/cuda/ranks/peer_messages.h"
#include "lib/cuda/ranks/rank_sums.h"

/* Device memory of this rank and, mapped here, the same memory of other ranks of this node. */
typedef struct kaon_shared {
  void *mine;
  size_t bytes;
  void *theirs[KAON_PEERS]; /* by rank, including this one; NULL: not mapped */
} kaon_shared;

struct kaon_device_exchange {
  kaon_context *ctx;
  int n;
  kaon_message messages[KAON_DIRS];
  kaon_shared shared; /* flags and buffers; for transports other than PEER only the local send and
                       * receive buffers */
  size_t half;        /* bytes of all messages in one direction */
  kaon_peer_exchange peer;
  int plain;     /* PEER: start and finish move the messages by separate kernels
                  * (peer_messages.h) */
  void *buffers; /* for `plain`: send and receive buffers */
  kaon_peer_messages post;
  kaon_exchange *comm_exchange; /* DIRECT, HOST: the exchange of the communicator */
  char *host;                   /* HOST: pinned, laid out like `shared` */
  cudaEvent_t arrived;          /* NCCL */
};

typedef struct kaon_cuda_transport {
  kaon_transport kind;
  const char *name;
  int by_kernels;  /* kernels handle exchanges themselves, except plain ones */
  int own_device;  /* AUTO uses it only if no two ranks share a device: its work waits on the device
                    * for another rank, whose work may not be able to start meanwhile */
  kaon_issue most; /* the most independent form of issue that its work can be recorded for */
  /* Tests that the transport works, and allocates what sums need. Collective; it may fail on some
   * ranks only. With one rank it is called when the first exchange is created. */
  kaon_status (*open)(kaon_context *ctx);
  void (*close)(kaon_context *ctx);
  /* As in kaon_ranks_ops. create: `made` has ctx, n and messages; destroy releases what it
   * allocated. */
  kaon_status (*create)(kaon_device_exchange *made);
  kaon_status (*start)(kaon_device_exchange *exchange);
  kaon_status (*finish)(kaon_device_exchange *exchange);
  void (*destroy)(kaon_device_exchange *exchange);
  kaon_status (*sum_start)(kaon_context *ctx, const kaon_sum_call *call);
  kaon_status (*sum_finish)(kaon_context *ctx, const kaon_sum_call *call);
  /* Detects that a rank has ended, for work that cannot detect it itself. The host calls it from
   * time to time while it waits for its device; `waited` is in seconds. An error ends the wait.
   * NULL: not needed. */
  kaon_status (*check_ranks)(kaon_context *ctx, double waited);
  /* both halves at once; NULL: one after the other */
  kaon_status (*sum)(kaon_context *ctx, const kaon_sum_call *call);
} kaon_cuda_transport;

extern const kaon_cuda_transport kaon_cuda_peer, kaon_cuda_direct, kaon_cuda_nccl, kaon_cuda_host;

typedef struct kaon_retired_memory kaon_retired_memory;

/* One for each context, from open to close. */
typedef struct kaon_cuda_ranks {
  const kaon_cuda_transport *transport; /* NULL: one rank that has not exchanged anything yet */
  int exchanges;                        /* number of existing exchanges */
  /* A sum between its two halves, and whether its first half was recorded instead of executed. */
  int under_way, recorded;
  kaon_sum_call sum;
  /* PEER */
  kaon_shared sum_memory;
  kaon_peer_reduction box;
  const void *sums_in_device; /* `box` in device memory, for kernels that sum over ranks themselves;
                               * NULL: they do not. ctx->peer_reduction is the same, except while a
                               * sum is in progress */
  kaon_retired_memory *retired; /* memory of destroyed exchanges that peers may still have mapped */
  /* other transports: the local message and those of all ranks, in device memory; pinned memory */
  double *message, *messages, *pinned;
  size_t message_bytes; /* size of `message` and `messages` together */
  struct kaon_nccl *nccl;
} kaon_cuda_ranks;

static inline kaon_cuda_ranks *kaon_cuda_ranks_of(const kaon_context *ctx) {
  return kaon_cuda_machine_of(ctx)->ranks;
}

/* Nanoseconds that work on the device waits for another rank. */
static inline uint64_t kaon_cuda_patience(const kaon_context *ctx) {
  return (uint64_t)(ctx->options.patience * 1e9);
}

/* The launch parameters of a kernel that is not in blas/ or dslash/. */
static inline kaon_launch kaon_cuda_launch_of(const kaon_context *ctx) {
  return (kaon_launch){.queue = ctx->queue, .dependent = ctx->dependent};
}

/* The message in `messages` for the opposite direction of message i, or NULL if none has its
 * size. */
const kaon_message *kaon_cuda_opposite_message(const kaon_message *messages, int n, int i);
/* Gathers 32-bit words from all ranks, exactly: all[r * n + i]. n <= 64. Collective. */
kaon_status kaon_cuda_gather_words(kaon_context *ctx, const uint32_t *mine, int n, uint32_t *all);
/* Allocates zeroed device memory, ready on return. It is a separate allocation, but counted with
 * the pool's. */
kaon_status kaon_cuda_zeroed(kaon_context *ctx, size_t bytes, const char *what, void **memory);
void kaon_cuda_release(kaon_context *ctx, void *memory, size_t bytes); /* NULL allowed */
/* For transports without kernels: allocates `send` and `receive` of the messages. */
kaon_status kaon_cuda_create_buffers(kaon_device_exchange *made);
/* Allocates the messages of sums, with space to receive `ranks` of them. */
kaon_status kaon_cuda_create_messages(kaon_context *ctx, int ranks);
void kaon_cuda_destroy_messages(kaon_context *ctx);

/* Allocates `bytes` of zeroed memory on every rank, mapped where wanted[rank]. Collective; all
 * ranks succeed or fail. */
kaon_status kaon_cuda_share(kaon_context *ctx, size_t bytes, const unsigned char *wanted,
                            kaon_shared *shared);
void kaon_cuda_unshare(kaon_context *ctx, kaon_shared *shared);

extern const kaon_ranks_ops kaon_cuda_ranks_table;
