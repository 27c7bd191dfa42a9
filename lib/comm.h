/* comm.h - the communicator: rank grid, split-phase all-reduce, persistent neighbour exchange.
 * One implementation per transport, chosen at context creation; this page is all that the rest of
 * the library knows. */
#ifndef KAON_LIB_COMM_H
#define KAON_LIB_COMM_H

#include <kaon/context.h>

typedef struct kaon_comm kaon_comm;
typedef struct kaon_exchange kaon_exchange;

/* One message of a persistent exchange: `bytes` from `send` to the neighbour in +-mu (dir as in
 * lib/layout.h), and what that neighbour's opposite face sends into `receive`. */
typedef struct kaon_message {
  int dir;
  void *send;
  void *receive;
  size_t bytes;
} kaon_message;

typedef struct kaon_comm_ops {
  const char *name;
  int capturable; /* reductions and exchanges can be recorded in a CUDA graph */
  /* values[0..n-1] += over ranks, in a fixed order. start and finish bracket work that does not
   * touch values, exchanges and looks among it; one sum is under way at a time. values is memory of
   * the context's backend: a host's sum may have begun when start returns (MPI_Iallreduce, which
   * the exchanges in between move on) and is complete when finish does; a device's is ordered
   * behind what the queue holds at start, takes place beside what is queued afterwards (a stream
   * of its own, joined by events), and what is queued after finish sees its result: no host waits,
   * so that it can be recorded. */
  kaon_status (*sum_start)(kaon_comm *comm, double *values, int n);
  kaon_status (*sum_finish)(kaon_comm *comm);
  kaon_status (*exchange_create)(kaon_comm *comm, const kaon_message *messages, int n,
                                 kaon_exchange **exchange);
  kaon_status (*exchange_start)(kaon_exchange *exchange);
  kaon_status (*exchange_finish)(kaon_exchange *exchange);
  void (*exchange_destroy)(kaon_exchange **exchange);
  /* The worst status of all ranks, with the first failing rank's sentence kept on every rank. */
  kaon_status (*agree)(kaon_comm *comm, kaon_status mine);
  void (*destroy)(kaon_comm **comm);
} kaon_comm_ops;

struct kaon_comm {
  const kaon_comm_ops *ops;
  kaon_context *ctx;
  int rank, ranks;
  int grid[4];                   /* ranks in x, y, z, t */
  void *self;                    /* the implementation's own */
  struct kaon_comm_delay *delay; /* comm_delay.c; NULL: none */
};

kaon_status kaon_comm_single_create(kaon_context *ctx, kaon_comm **comm);

/* comm_delay.c: from now on a sum is complete no earlier than `seconds` after its start, whatever
 * the transport, so that one rank shows what many would wait for. Bits do not change. */
kaon_status kaon_comm_delay(kaon_comm *comm, double seconds);

/* 1: a kernel's sums are this rank's only, or held back: they pass through the communicator before
 * what follows them runs. */
static inline int kaon_comm_sums(const kaon_comm *comm) {
  return comm->ranks > 1 || comm->delay != NULL;
}

#endif
