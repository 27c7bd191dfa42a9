/* backend.h - the only seam between the library and a machine: one constant table per backend (and
 * CPU instruction set). A NULL entry means: composed from required entries where that is possible,
 * otherwise KAON_ERR_NOT_BUILT. */
#ifndef KAON_LIB_BACKEND_H
#define KAON_LIB_BACKEND_H

#include <kaon/context.h>
#include <kaon/lab.h>

#include "lib/comm/comm.h"
#include "lib/core/launch.h"

struct kaon_blas_ops;
struct kaon_convert_ops;
struct kaon_import_ops;
struct kaon_dslash_ops;
struct kaon_staggered_ops;
struct kaon_measure_ops;
struct kaon_gauge_ops;
struct kaon_sparse_ops;
struct kaon_coarse_ops;

enum { KAON_PRECISIONS = 3 };

/* Where memory that a user hands over can be reached from. */
enum { KAON_AT_HOST = 1, KAON_AT_DEVICE = 2 };

/* Raw memory of the backend's device, below the pool. Sizes in bytes; alignment at least 64. Host
 * memory handed in may be reused when a call returns; what to_host brings is complete. */
typedef struct kaon_memory_ops {
  kaon_status (*allocate)(kaon_context *ctx, size_t bytes, void **pointer);
  void (*release)(kaon_context *ctx, void *pointer, size_t bytes);
  kaon_status (*to_device)(kaon_context *ctx, void *device, const void *host, size_t bytes);
  kaon_status (*to_host)(kaon_context *ctx, void *host, const void *device, size_t bytes);
  kaon_status (*clear)(kaon_context *ctx, void *device, size_t bytes);
  kaon_status (*synchronise)(
      kaon_context *ctx); /* waits, and reports the first error of asynchronous work */
  /* Bytes not yet taken, by anybody; NULL, or a failure: unknown */
  kaon_status (*available)(kaon_context *ctx, size_t *bytes);
  int (*place)(kaon_context *ctx, const void *pointer); /* KAON_AT_...; NULL: both, always */
  /* Memory of the host that kernels reach too; NULL: not offered */
  kaon_status (*shared)(kaon_context *ctx, size_t bytes, void **pointer);
  void (*unshare)(kaon_context *ctx, void *pointer);
} kaon_memory_ops;

/* How a solve's steps come to the device. A block of them (kaon_loop.steps) and the service of
 * columns that wait are recorded once and issued again as a whole; the host looks at the columns'
 * states through copies that arrive while the next blocks are at work.
 *   REPLAY  blocks follow each other as the host says, and so do services
 *   WHILE   the device repeats the block and serves by itself, until no column is left or the host
 *           is due to look
 *   TAIL    the same by graphs that launch each other
 *   CDP     the device repeats the block, the host serves
 *   PERSISTENT  as WHILE, steps by one kernel */
typedef struct kaon_recorder kaon_recorder;
struct kaon_start;
typedef struct kaon_loop {
  kaon_status (*steps)(void *user);   /* issue gated work alone: no number asked for, no memory */
  kaon_status (*service)(void *user); /* taken or given */
  void *user;
  const kaon_column_state *state; /* device memory: its gates say who steps, who waits */
  /* WHILE, PERSISTENT: what goes ahead of the first block, so that a run is a whole solve; what
   * goes behind the last where no column is open any more, unless one never was (lib/math/steps/start.h),
   * or NULL; and what each run brings to the host by itself, as copy 1, besides the states, as copy
   * 0: their first slots (up to KAON_S_METHOD), of states histories and all behind them besides */
  kaon_status (*before)(void *user), (*after)(void *user);
  const kaon_column_state *norms;
} kaon_loop;

/* NULL: this machine does work when it is asked. A recorder belongs to one batch of columns. */
typedef struct kaon_record_ops {
  kaon_status (*create)(kaon_context *ctx, int columns, kaon_recorder **recorder);
  void (*destroy)(kaon_recorder **recorder); /* NULL allowed; waits for what was issued */
  /* Takes the place of an earlier recording. Nothing is done by it. Fails (UNSUPPORTED, or what
   * steps and service return) where something cannot be recorded. */
  kaon_status (*record)(kaon_recorder *recorder, const kaon_loop *loop, kaon_issue form);
  /* Issues `blocks` of them; all but REPLAY: at most so many. */
  kaon_status (*run)(kaon_recorder *recorder, int blocks);
  kaon_status (*service_waiting)(kaon_recorder *recorder); /* REPLAY and CDP alone */
  /* The states, as they are after all that was issued so far, on their way to copy `number` (0 or
   * 1); and their arrival. The waiting thread sleeps. */
  kaon_status (*post)(kaon_recorder *recorder, const kaon_column_state *state, int number);
  kaon_status (*wait)(kaon_recorder *recorder, int number, kaon_column_state *host);
  /* States of a solve from what was prepared and the norms there are by then (lib/math/steps/start.h). */
  kaon_status (*start)(kaon_context *ctx, const struct kaon_start *start);
} kaon_record_ops;

/* What several ranks do on memory that the host does not reach: exchanges of messages and sums of
 * scalars, in the queue's order. NULL (the CPU): the communicator takes both itself. Also of one
 * rank that is partitioned against itself (lib/comm/comm.h), with itself for a neighbour. */
typedef struct kaon_device_exchange kaon_device_exchange;
struct kaon_shared;
typedef struct kaon_ranks_ops {
  /* Chooses how devices talk (ctx->options.transport), once the machine is open and ctx->comm is
   * there; and lets go. Collective. */
  kaon_status (*open)(kaon_context *ctx);
  void (*close)(kaon_context *ctx);
  const char *(*transport)(const kaon_context *ctx); /* in words, for kaon info */
  /* The most independent way of issuing (kaon_record_ops) that both can be part of; PLAIN: none */
  kaon_issue (*recordable)(const kaon_context *ctx);
  /* 1: exchanges are the communicator's own, from host memory, so they can be loose (lib/comm/comm.h) */
  int (*by_host)(const kaon_context *ctx);
  /* A persistent exchange. send and receive of the messages are filled in: the buffers are the
   * exchange's. Where kernels send by themselves (*peer != NULL on return), send is the neighbour's
   * memory and start and finish have nothing to do. peer NULL: start and finish move the messages
   * in any case, in whatever way, and buffers follow one another where messages are whole lines of
   * 256 bytes: for messages of any pattern, a direction each (sparse/ranks/row_ghosts.c). Collective, and
   * agreed on. */
  kaon_status (*exchange_create)(kaon_context *ctx, kaon_message *messages, int n,
                                 kaon_device_exchange **exchange, const kaon_peer_exchange **peer);
  kaon_status (*exchange_start)(kaon_device_exchange *exchange);
  kaon_status (*exchange_finish)(kaon_device_exchange *exchange);
  void (*exchange_destroy)(kaon_device_exchange **exchange); /* NULL allowed */
  /* What a kernel needs to move the messages of an exchange of any pattern by itself, in the place
   * of start and finish, which other ranks may use nevertheless (lib/cuda/ranks/peer_messages.h); NULL: it cannot,
   * or there are none. */
  const struct kaon_peer_messages *(*exchange_in_kernel)(const kaon_device_exchange *exchange);
  /* slot[slots[i]] of the open columns of state += over ranks, in their order; the gates are the
   * same on all of them. Then the recurrence `then` of a column (0: none) runs on those. Slots
   * KAON_NO_SLOT are skipped; one at least is none. What is queued between start and finish does
   * not wait, and may take sums of its own, but no other one over ranks (blas/reduce.c); finish has
   * the arguments of its start. A sum whose finish did not come is dropped when the next one
   * begins. */
  kaon_status (*sum)(kaon_context *ctx, kaon_column_state *state, int columns, int gate,
                     const int *slots, int nslots, int then);
  kaon_status (*sum_start)(kaon_context *ctx, kaon_column_state *state, int columns, int gate,
                           const int *slots, int nslots);
  kaon_status (*sum_finish)(kaon_context *ctx, kaon_column_state *state, int columns, int gate,
                            const int *slots, int nslots, int then);
  /* Device memory of 0 on every rank, all of one node, that kernels of all of them store into and
   * read at any time: there[rank] is that rank's as it is mapped here. Collective, agreed on; the
   * way that ranks talk by otherwise does not matter. Errors: UNSUPPORTED, MEMORY. unshare: not
   * collective. copy: in the queue's order, by a copy engine where there is one. */
  kaon_status (*share)(kaon_context *ctx, size_t bytes, struct kaon_shared **shared, void **there);
  void (*unshare)(kaon_context *ctx, struct kaon_shared **shared); /* NULL allowed */
  kaon_status (*copy)(kaon_context *ctx, void *to, const void *from, size_t bytes);
  /* For tests: from now on as if there had been `sums` sums, where a transport numbers them.
   * Collective, with none under way. */
  kaon_status (*count_from)(kaon_context *ctx, uint32_t sums);
} kaon_ranks_ops;

typedef struct kaon_backend {
  const char *name;        /* "cpu", "cuda" */
  const char *isa;         /* CPU: "avx512", ... */
  int width;               /* lanes of a block (W) */
  int access;              /* bytes that a lane reads at once (kaon_pack); 0: one component */
  int host_accessible;     /* device pointers may be read by the host: the CPU */
  int host_scalars;        /* kaon_scalars are in memory.shared, and entries leave them complete */
  int computed_neighbours; /* plain site order, neighbours worked out by kernels: no tables */
  size_t field_bytes;      /* of a lattice field that kernels can number at most; 0: any */
  /* What a context needs of the machine: ctx->machine, queue, device, details. NULL: nothing. */
  kaon_status (*open)(kaon_context *ctx);
  void (*close)(kaon_context *ctx);
  /* Before kernels are launched: makes the machine the one that this thread asks. NULL: it is. */
  void (*enter)(const kaon_context *ctx);
  /* Joules drawn so far (kaon_context_energy); NaN: not known. NULL: never known. */
  double (*energy)(kaon_context *ctx);
  /* What is queued after delay_finish begins no earlier than `seconds` after what was queued before
   * delay_start has ended; what is queued in between does not wait. One at a time, recordable.
   * NULL: the host, which sums by itself, waits as well (lib/comm/comm_delay.c). */
  kaon_status (*delay_start)(kaon_context *ctx, double seconds);
  kaon_status (*delay_finish)(kaon_context *ctx);
  const kaon_memory_ops *memory;
  const struct kaon_import_ops *import_ops; /* NULL where the host reaches the memory */
  const kaon_record_ops *record;
  const kaon_ranks_ops *ranks;
  const struct kaon_convert_ops *convert;
  const struct kaon_blas_ops *blas[KAON_PRECISIONS];
  const struct kaon_domain_ops *domain[KAON_PRECISIONS];
  const struct kaon_precond_ops *precond[KAON_PRECISIONS]; /* none in half */
  const struct kaon_gauge_ops *gauge[KAON_PRECISIONS];
  const struct kaon_dslash_ops *dslash[KAON_PRECISIONS];
  const struct kaon_staggered_ops *staggered[KAON_PRECISIONS];
  const struct kaon_measure_ops *measure[KAON_PRECISIONS];
  const struct kaon_sparse_ops *sparse[KAON_PRECISIONS];
  const struct kaon_coarse_ops *coarse[KAON_PRECISIONS];
} kaon_backend;

#endif
