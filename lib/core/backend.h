/* backend.h - the only interface between the library and a machine: one constant table per backend
 * (and CPU instruction set). Where an entry is NULL, the library composes the operation from
 * required entries if it can, and fails with KAON_ERR_NOT_BUILT if not. */
#pragma once

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
struct kaon_transfer_ops;

enum { KAON_PRECISIONS = 3 };

/* Where memory passed in by a user can be reached from. */
enum { KAON_AT_HOST = 1, KAON_AT_DEVICE = 2 };

/* Raw memory of the backend's device, below the pool. Sizes are in bytes; alignment is at least 64.
 * The caller may reuse host memory as soon as to_device returns. What to_host copies is complete on
 * return. */
typedef struct kaon_memory_ops {
  kaon_status (*allocate)(kaon_context *ctx, size_t bytes, void **pointer);
  void (*release)(kaon_context *ctx, void *pointer, size_t bytes);
  kaon_status (*to_device)(kaon_context *ctx, void *device, const void *host, size_t bytes);
  kaon_status (*to_host)(kaon_context *ctx, void *host, const void *device, size_t bytes);
  kaon_status (*clear)(kaon_context *ctx, void *device, size_t bytes);
  /* Copies `pieces` pieces of `bytes` bytes within the device. Pieces begin `from_step` and
   * `to_step` bytes apart. No written byte is read. */
  kaon_status (*copy)(kaon_context *ctx, void *to, size_t to_step, const void *from,
                      size_t from_step, size_t bytes, size_t pieces);
  /* Waits for the device and reports the first error of asynchronous work. */
  kaon_status (*synchronise)(kaon_context *ctx);
  /* Bytes that no process has allocated. NULL or a failure: not known. */
  kaon_status (*available)(kaon_context *ctx, size_t *bytes);
  int (*place)(kaon_context *ctx, const void *pointer); /* KAON_AT_...; NULL: always both */
  /* Host memory that kernels reach too. NULL: not offered. */
  kaon_status (*shared)(kaon_context *ctx, size_t bytes, void **pointer);
  void (*unshare)(kaon_context *ctx, void *pointer);
} kaon_memory_ops;

/* How the steps of a solve reach the device. A block of steps (kaon_loop.steps) and the service of
 * waiting columns are recorded once and replayed as a whole. The host polls the columns' states
 * through copies that arrive while the next blocks run.
 *   REPLAY      the host enqueues each block and each service
 *   WHILE       the device repeats the block and runs services, until no column is left or the host
 *               has to poll
 *   TAIL        the same, by graphs that launch each other
 *   CDP         the device repeats the block, the host enqueues services
 *   PERSISTENT  as WHILE, with the steps inside one kernel */
typedef struct kaon_recorder kaon_recorder;
struct kaon_start;
typedef struct kaon_loop {
  /* Both enqueue gated work only. They read no result and neither allocate nor release memory. */
  kaon_status (*steps)(void *user);
  kaon_status (*service)(void *user);
  void *user;
  const kaon_column_state *state; /* device memory: its gates say which columns step and which
                                     wait */
  /* WHILE and PERSISTENT only; each may be NULL.
   *   before  runs ahead of the first block, so that a run is a whole solve
   *   after   runs behind the last block if no column is open any more, unless none ever was
   *           (lib/math/steps/start.h)
   *   norms   each run copies the states to the host as copy 0, and `norms` as copy 1. Both copies
   *           have the slots up to KAON_S_METHOD; that of the states also has the histories and all
   *           members after them */
  kaon_status (*before)(void *user), (*after)(void *user);
  const kaon_column_state *norms;
} kaon_loop;

/* NULL: this machine runs work at once. A recorder belongs to one batch of
 * columns. */
typedef struct kaon_record_ops {
  kaon_status (*create)(kaon_context *ctx, int columns, kaon_recorder **recorder);
  void (*destroy)(kaon_recorder **recorder); /* NULL allowed; waits for enqueued work */
  /* Records a loop without running it and replaces an earlier recording. Fails with UNSUPPORTED, or
   * with the status of steps or service, if something cannot be recorded. */
  kaon_status (*record)(kaon_recorder *recorder, const kaon_loop *loop, kaon_issue form);
  /* Enqueues `blocks` blocks: exactly as many with REPLAY, at most as many with the other forms. */
  kaon_status (*run)(kaon_recorder *recorder, int blocks);
  kaon_status (*service_waiting)(kaon_recorder *recorder); /* REPLAY and CDP only */
  /* post: enqueues a copy of the states, as they are after all work enqueued so far, to host copy
   * `number` (0 or 1). wait: waits until that copy has arrived; the waiting thread sleeps. */
  kaon_status (*post)(kaon_recorder *recorder, const kaon_column_state *state, int number);
  kaon_status (*wait)(kaon_recorder *recorder, int number, kaon_column_state *host);
  /* Sets the states of a solve from the prepared values and the norms that are there by then
   * (lib/math/steps/start.h). */
  kaon_status (*start)(kaon_context *ctx, const struct kaon_start *start);
} kaon_record_ops;

/* Operations between ranks on memory that the host does not reach: message exchanges and sums of
 * scalars, in the queue's order. NULL (the CPU): the communicator does both itself. One rank that
 * is partitioned against itself (lib/comm/comm.h) uses them with itself as neighbour. */
typedef struct kaon_device_exchange kaon_device_exchange;
struct kaon_shared;
typedef struct kaon_ranks_ops {
  /* open: chooses the transport (ctx->options.transport), after the machine is open and ctx->comm
   * is set. close: releases what open made. Collective. */
  kaon_status (*open)(kaon_context *ctx);
  void (*close)(kaon_context *ctx);
  const char *(*transport)(const kaon_context *ctx); /* a description for kaon info */
  /* The most independent form of issuing (kaon_record_ops) that exchanges and sums can be part of.
   * PLAIN: none. */
  kaon_issue (*recordable)(const kaon_context *ctx);
  /* 1: the communicator exchanges from host memory, so exchanges can be asynchronous
   * (lib/comm/comm.h) */
  int (*by_host)(const kaon_context *ctx);
  /* A persistent exchange. Fills in the buffers send and receive of the messages; the exchange owns
   * them. Collective; all ranks return the same status.
   * - *peer != NULL on return: kernels send by themselves. Then `send` is the neighbour's memory,
   *   and start and finish do nothing.
   * - peer == NULL on entry: start and finish move the messages, by any transport. Messages may
   *   have any pattern, one direction each (sparse/ranks/row_ghosts.c). Buffers are contiguous if
   *   messages are whole lines of 256 bytes. */
  kaon_status (*exchange_create)(kaon_context *ctx, kaon_message *messages, int n,
                                 kaon_device_exchange **exchange, const kaon_peer_exchange **peer);
  kaon_status (*exchange_start)(kaon_device_exchange *exchange);
  kaon_status (*exchange_finish)(kaon_device_exchange *exchange);
  void (*exchange_destroy)(kaon_device_exchange **exchange); /* NULL allowed */
  /* What a kernel needs to move the messages of such an exchange itself instead of start and finish
   * (lib/cuda/ranks/peer_messages.h). Other ranks may still use start and finish. NULL: not
   * possible, or there are no messages. */
  const struct kaon_peer_messages *(*exchange_in_kernel)(const kaon_device_exchange *exchange);
  /* Adds slot[slots[i]] of the open columns of state over all ranks, in rank order. The gates must
   * be equal on all ranks. Then recurrence `then` (0: none) runs on each open column. KAON_NO_SLOT
   * entries are skipped; at least one entry is a slot.
   * Work enqueued between start and finish does not wait. It may contain sums of this rank, but no
   * other sum over ranks (blas/pass.c). finish has the arguments of its start. A sum that was
   * never finished is dropped when the next one begins. */
  kaon_status (*sum)(kaon_context *ctx, kaon_column_state *state, int columns, int gate,
                     const int *slots, int nslots, int then);
  kaon_status (*sum_start)(kaon_context *ctx, kaon_column_state *state, int columns, int gate,
                           const int *slots, int nslots);
  kaon_status (*sum_finish)(kaon_context *ctx, kaon_column_state *state, int columns, int gate,
                            const int *slots, int nslots, int then);
  /* share: zeroed device memory on every rank, into which kernels of all ranks store and from which
   * they read at any time. there[rank] is that rank's memory as mapped here. All ranks must be on
   * one node; the transport does not matter. Collective; all ranks return the same status. Errors:
   * UNSUPPORTED, MEMORY.
   * unshare: not collective. copy: in the queue's order, by a copy engine if there is one. */
  kaon_status (*share)(kaon_context *ctx, size_t bytes, struct kaon_shared **shared, void **there);
  void (*unshare)(kaon_context *ctx, struct kaon_shared **shared); /* NULL allowed */
  kaon_status (*copy)(kaon_context *ctx, void *to, const void *from, size_t bytes);
  /* For tests: continues as if `sums` sums had been made, if the transport numbers them.
   * Collective, with no sum under way. */
  kaon_status (*count_from)(kaon_context *ctx, uint32_t sums);
} kaon_ranks_ops;

typedef struct kaon_backend {
  const char *name;        /* "cpu", "cuda" */
  const char *isa;         /* CPU: "avx512", ... */
  int width;               /* lanes of a block (W) */
  int access;              /* bytes that a lane reads at once (kaon_pack); 0: one component */
  int host_accessible;     /* device pointers may be read by the host: the CPU */
  int host_scalars;        /* kaon_scalars are in memory.shared and complete when an entry
                              returns */
  int computed_neighbours; /* plain site order; kernels compute neighbours without tables */
  size_t field_bytes;      /* largest lattice field that kernels can index; 0: any */
  /* Opens what a context needs of the machine: ctx->machine, queue, device, details. NULL:
   * nothing. */
  kaon_status (*open)(kaon_context *ctx);
  void (*close)(kaon_context *ctx);
  /* Makes the context's device the current one of this thread; called before kernels are launched.
   * NULL: nothing to do. */
  void (*enter)(const kaon_context *ctx);
  /* Joules drawn so far (kaon_context_energy); NaN: not known. NULL: never known. */
  double (*energy)(kaon_context *ctx);
  /* Work enqueued after delay_finish begins at least `seconds` after the end of the work enqueued
   * before delay_start. Work in between does not wait. One delay at a time; recordable. NULL: the
   * host, which sums itself, also waits itself (lib/comm/comm_delay.c). */
  kaon_status (*delay_start)(kaon_context *ctx, double seconds);
  kaon_status (*delay_finish)(kaon_context *ctx);
  /* inverse = matrix^-1 by LU factors with row exchanges, for a matrix of complex numbers in double
   * precision in device memory, with element (i, j) at 2 * (i * rows + j). `matrix` is overwritten.
   * pivots: host memory, their magnitudes; if one is 0, there is no inverse. Not collective.
   * Errors: UNSUPPORTED, MEMORY. NULL or UNSUPPORTED: the host inverts, by LAPACKE. */
  kaon_status (*invert)(kaon_context *ctx, int64_t rows, double *matrix, double *inverse,
                        double *pivots);
  const kaon_memory_ops *memory;
  const struct kaon_import_ops *import_ops; /* NULL if the host reaches the memory */
  const kaon_record_ops *record;
  const kaon_ranks_ops *ranks;
  const struct kaon_convert_ops *convert;
  const struct kaon_blas_ops *blas[KAON_PRECISIONS];
  const struct kaon_domain_ops *domain[KAON_PRECISIONS];
  const struct kaon_precond_ops *precond[KAON_PRECISIONS]; /* NULL in half precision */
  const struct kaon_gauge_ops *gauge[KAON_PRECISIONS];
  const struct kaon_dslash_ops *dslash[KAON_PRECISIONS];
  const struct kaon_staggered_ops *staggered[KAON_PRECISIONS];
  const struct kaon_measure_ops *measure[KAON_PRECISIONS];
  const struct kaon_sparse_ops *sparse[KAON_PRECISIONS];
  const struct kaon_coarse_ops *coarse[KAON_PRECISIONS]; /* NULL in half precision */
  const struct kaon_transfer_ops *transfer[KAON_PRECISIONS];
} kaon_backend;
