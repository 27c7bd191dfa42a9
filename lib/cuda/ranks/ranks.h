/* ranks.h - inside the CUDA backend: how devices of several ranks talk (kaon_ranks_ops in
 * lib/core/backend.h). One table a transport; ranks.c chooses among them. */
#ifndef KAON_LIB_CUDA_RANKS_H
#define KAON_LIB_CUDA_RANKS_H

#include "lib/cuda/device.h"
#include "lib/cuda/ranks/peer_messages.h"
#include "lib/cuda/ranks/rank_sums.h"

/* Device memory of this rank and, mapped here, the same of other ranks of this node. */
typedef struct kaon_shared {
  void *mine;
  size_t bytes;
  void *theirs[KAON_PEERS]; /* by rank, ours among them; NULL: not mapped */
} kaon_shared;

struct kaon_device_exchange {
  kaon_context *ctx;
  int n;
  kaon_message messages[KAON_DIRS];
  kaon_shared shared; /* flags and buffers; but for PEER ours alone: what is sent, what comes */
  size_t half;        /* bytes of all messages one way */
  kaon_peer_exchange peer;
  int plain;     /* PEER: start and finish move the messages, by kernels of their own (peer_messages.h) */
  void *buffers; /* then: what is sent, what comes */
  kaon_peer_messages post;
  kaon_exchange *comm_exchange; /* DIRECT, HOST: the communicator's */
  char *host;             /* HOST: pinned, like `shared` */
  cudaEvent_t arrived;    /* NCCL */
};

typedef struct kaon_cuda_transport {
  kaon_transport kind;
  const char *name;
  int by_kernels;  /* exchanges are the kernels' own affair, unless they are plain */
  int own_device;  /* AUTO takes it where no two ranks share a device: its work waits on the device
                      for another rank's, which may not come in meanwhile */
  kaon_issue most; /* the most independent way of issuing that its work can be recorded for */
  /* Proves that it works, and takes what sums need. Collective; a rank may fail alone. On one rank:
   * called when the first exchange is made. */
  kaon_status (*open)(kaon_context *ctx);
  void (*close)(kaon_context *ctx);
  /* As kaon_ranks_ops. create: `made` has ctx, n and messages; what it took is destroy's. */
  kaon_status (*create)(kaon_device_exchange *made);
  kaon_status (*start)(kaon_device_exchange *exchange);
  kaon_status (*finish)(kaon_device_exchange *exchange);
  void (*destroy)(kaon_device_exchange *exchange);
  kaon_status (*sum_start)(kaon_context *ctx, const kaon_sum_call *call);
  kaon_status (*sum_finish)(kaon_context *ctx, const kaon_sum_call *call);
  /* Of work that cannot see by itself that a rank is gone: asked from time to time by a host that
   * has waited for its device for so many seconds; what it returns ends the wait. NULL: none. */
  kaon_status (*check_ranks)(kaon_context *ctx, double waited);
  /* both at once; NULL: one after the other */
  kaon_status (*sum)(kaon_context *ctx, const kaon_sum_call *call);
} kaon_cuda_transport;

extern const kaon_cuda_transport kaon_cuda_peer, kaon_cuda_direct, kaon_cuda_nccl, kaon_cuda_host;

typedef struct kaon_retired_memory kaon_retired_memory;

/* A context's, from open to close. */
typedef struct kaon_cuda_ranks {
  const kaon_cuda_transport *transport; /* NULL: one rank that has not exchanged anything yet */
  int exchanges;                        /* that there are */
  /* A sum between its two halves, and whether its first half was recorded instead of done. */
  int under_way, recorded;
  kaon_sum_call sum;
  /* PEER */
  kaon_shared sum_memory;
  kaon_peer_reduction box;
  const void *sums_in_device; /* the box in device memory, for kernels that sum over ranks by themselves
                         (ctx->peer_reduction, but while a sum is under way); NULL: they do not */
  kaon_retired_memory *retired; /* memory of exchanges that are gone, which others may still have mapped */
  /* the others: a message and those of all ranks, in device memory; pinned */
  double *message, *messages, *pinned;
  size_t message_bytes; /* of both */
  struct kaon_nccl *nccl;
} kaon_cuda_ranks;

static inline kaon_cuda_ranks *kaon_cuda_ranks_of(const kaon_context *ctx) {
  return kaon_cuda_machine_of(ctx)->ranks;
}

/* Nanoseconds that work on the device waits for another rank. */
static inline uint64_t kaon_cuda_patience(const kaon_context *ctx) {
  return (uint64_t)(ctx->options.patience * 1e9);
}

/* The launch of a kernel beside those of blas/ and dslash/. */
static inline kaon_launch kaon_cuda_launch_of(const kaon_context *ctx) {
  return (kaon_launch){.queue = ctx->queue, .dependent = ctx->dependent};
}

/* The message in `messages` that is in the other direction of number i; NULL: there is none of its
 * size. */
const kaon_message *kaon_cuda_opposite_message(const kaon_message *messages, int n, int i);
/* 32-bit words of all ranks, exactly: all[r * n + i]. n <= 64. Collective. */
kaon_status kaon_cuda_gather_words(kaon_context *ctx, const uint32_t *mine, int n, uint32_t *all);
/* Device memory of 0, there when it returns, an allocation of its own but counted with the pool's.
 */
kaon_status kaon_cuda_zeroed(kaon_context *ctx, size_t bytes, const char *what, void **memory);
void kaon_cuda_release(kaon_context *ctx, void *memory, size_t bytes); /* NULL allowed */
/* For transports that are no kernels: send and receive of the messages in memory of their own. */
kaon_status kaon_cuda_create_buffers(kaon_device_exchange *made);
/* The messages of sums, `ranks` of them to take in. */
kaon_status kaon_cuda_create_messages(kaon_context *ctx, int ranks);
void kaon_cuda_destroy_messages(kaon_context *ctx);

/* Zeroed memory of `bytes` on every rank, mapped where wanted[rank]. Collective and agreed on. */
kaon_status kaon_cuda_share(kaon_context *ctx, size_t bytes, const unsigned char *wanted,
                            kaon_shared *shared);
void kaon_cuda_unshare(kaon_context *ctx, kaon_shared *shared);

extern const kaon_ranks_ops kaon_cuda_ranks_table;

#endif
