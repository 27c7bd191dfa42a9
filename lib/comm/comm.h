/* comm.h - the communicator: ranks, split-phase sums, persistent neighbour exchange, agreement on
 * failures. There is one implementation for each transport, chosen when the context is created. The
 * rest of the library knows only this file. Every rank makes the same calls in the same order. */
#pragma once

#include <kaon/context.h>

typedef struct kaon_comm kaon_comm;
typedef struct kaon_exchange kaon_exchange;

/* One message of a persistent exchange with the neighbour in direction `dir` (lib/vector/layout.h),
 * which is rank `peer`. `bytes` of `send` go there. As many bytes, which it sends in the opposite
 * direction, arrive in `receive`. A rank may be its own neighbour. */
typedef struct kaon_message {
  int dir;
  int peer;
  void *send;
  void *receive;
  size_t bytes;
} kaon_message;

/* Statistics of asynchronous exchanges; ages are in rounds (async_round below). */
typedef struct kaon_message_lags {
  int64_t reads; /* messages that were looked for */
  int64_t late;  /* of these, those of which only an older one or none had arrived */
  /* Largest age of a message used. If none had arrived, it counts from before the first. */
  int oldest;
} kaon_message_lags;

/* Memory of each rank that other ranks access while it does other work (an MPI RMA window). Ranks
 * put values of 4 or 8 bytes into it; each read of a value is complete. Mapped memory may also be
 * used like local memory. Puts to one rank happen in their order; nothing else is ordered. */
typedef struct kaon_window {
  kaon_comm *comm;
  size_t bytes;
  void *mine;   /* 0 at first; not mapped: read only by window_get */
  void **there; /* [rank] mapped: the memory of each rank, this one included; NULL: not mapped */
  void *self;
} kaon_window;

typedef struct kaon_comm_ops {
  const char *name;
  /* After this, sums of up to n values allocate no memory; longer ones may, and may fail. NULL:
   * sums never allocate. Not collective. */
  kaon_status (*reserve)(kaon_comm *comm, int n);
  /* values[0..n-1], in host memory, += over ranks, in rank order, so with the same bits in every
   * run. Work between start and finish must not touch values. It may contain exchanges, which make
   * progress on the sum (MPI_Iallgather), and one other whole sum: finish completes the last one
   * begun. Scalars on a device are summed by kaon_ranks_ops (lib/core/backend.h). */
  kaon_status (*sum_start)(kaon_comm *comm, double *values, int n);
  kaon_status (*sum_finish)(kaon_comm *comm);
  /* all[r * n + i] = mine[i] of rank r. */
  kaon_status (*gather)(kaon_comm *comm, const double *mine, int n, double *all);
  /* Copies rank `root`'s bytes to all ranks. */
  kaon_status (*broadcast)(kaon_comm *comm, void *data, size_t bytes, int root);
  /* The messages' memory stays owned by the caller and must exist until the exchange is
   * destroyed. */
  kaon_status (*exchange_create)(kaon_comm *comm, const kaon_message *messages, int n,
                                 kaon_exchange **exchange);
  kaon_status (*exchange_start)(kaon_exchange *exchange);
  kaon_status (*exchange_finish)(kaon_exchange *exchange);
  void (*exchange_destroy)(kaon_exchange **exchange); /* NULL allowed */
  /* Asynchronous exchanges. NULL: not offered.
   * async_prepare: rounds > 0: exchanges started from now on allocate memory for that many rounds
   * and send nothing; 0: exchanges are normal again, and the return value says whether memory was
   * available (not agreed on).
   * async_round: from then on, exchange_start sends, and exchange_finish takes the newest message
   * that has arrived from each neighbour, or 0 if none has. The n-th exchange started in a round
   * (an operator's application) replaces the n-th of the round before.
   * async_end: receives what is still under way. All ranks must have started the same number by
   * then. */
  kaon_status (*async_prepare)(kaon_comm *comm, int rounds);
  void (*async_round)(kaon_comm *comm, int round, kaon_message_lags *lags);
  kaon_status (*async_end)(kaon_comm *comm);
  /* NULL, all of them: not offered.
   * window_create: collective; all ranks return the same status. mapped: needs all ranks on one
   * node. Errors: UNSUPPORTED, MEMORY, COMM.
   * window_put: copies n values of `width` bytes to offset `at` of rank peer's window; complete on
   * return. window_get: reads from this rank's own window.
   * window_destroy: not collective; the memory is freed when all ranks create the next window or
   * end. */
  kaon_status (*window_create)(kaon_comm *comm, size_t bytes, int mapped,
                               kaon_window **comm_window);
  kaon_status (*window_put)(kaon_window *comm_window, int peer, size_t at, const void *numbers,
                            int width, int64_t n);
  kaon_status (*window_get)(kaon_window *comm_window, size_t at, void *numbers, int width,
                            int64_t n);
  void (*window_destroy)(kaon_window **comm_window); /* NULL allowed */
  /* A communicator for `ctx` of the ranks that give the same colour, in the order of their keys.
   * NULL: one rank. Collective. Errors: COMM, MEMORY. */
  kaon_status (*split)(kaon_comm *comm, int colour, int key, kaon_context *ctx, kaon_comm **part);
  void (*destroy)(kaon_comm **comm);
} kaon_comm_ops;

struct kaon_comm {
  const kaon_comm_ops *ops;
  kaon_context *ctx;
  int rank, ranks;
  int grid[4];                 /* ranks in x, y, z, t; all 0: chosen for each lattice */
  int partitioned[4];          /* 1: exchange along mu though the grid is 1 there (for tests) */
  int local_rank, local_ranks; /* index and number among the ranks of one node, which use one device
                                  each */
  int device_memory;           /* 1: messages may be in device memory (CUDA-aware MPI) */
  int room;                    /* values of a sum for which memory is allocated */
  int late;      /* asynchronous exchanges ignore messages of this many last rounds (for tests) */
  size_t piece;  /* longer messages of exchanges are split into pieces (for tests: short) */
  int64_t pause; /* nanoseconds before each iteration of asynchronous blocks on this rank (for
                      tests) */
  void *self;    /* private to the implementation */
  struct kaon_comm_delay *delay; /* comm_delay.c; NULL: none */
  kaon_traffic traffic;          /* traffic so far, counting enqueued work but not what a device
                                    repeats */
};

kaon_status kaon_comm_single_create(kaon_context *ctx, kaon_comm **comm);
/* The communicator of several ranks, by the one transport that is built in (lib/comm/comm_mpi.c,
 * lib/comm/comm_qmp.c). handle: address of the application's MPI_Comm or QMP_comm_t; NULL: all
 * processes started together. Errors: COMM, MEMORY, NOT_BUILT. */
kaon_status kaon_comm_ranks_create(kaon_context *ctx, const void *handle, kaon_comm **comm);
/* Name of that transport; "" if none is built. */
const char *kaon_comm_ranks_name(void);
/* Finalizes the transport if kaon initialized it. */
void kaon_comm_ranks_end(void);
/* As kaon_ranks_finish; *first: on entry this rank's index. */
int kaon_comm_ranks_finish(double seconds, int *first);

/* For transports: the sum of n values of all ranks ([rank][n]) in rank order; the name of this
 * node. */
void kaon_comm_add(const kaon_comm *comm, const double *all, int n, double *sum);
void kaon_comm_host(char *name, size_t room);

/* Every collective function returns through this: all ranks return the status and message of the
 * first that failed; ranks with COMM count after all others. A failure that was already agreed on
 * passes through without another message, so nested functions may all use it. A rank must not fail
 * alone between two messages of any other kind. */
kaon_status kaon_agree(const kaon_context *ctx, kaon_status mine);
#define KAON_AGREE_MEMORY(ctx, ...) kaon_agree(ctx, KAON_CHECK_MEMORY(ctx, __VA_ARGS__))

/* An argument that must be equal on all ranks: what it is called, and its value. */
typedef struct kaon_argument {
  const char *name;
  enum { KAON_ARGUMENT_WHOLE, KAON_ARGUMENT_SEED, KAON_ARGUMENT_REAL } type;
  uint64_t bits;
  const char *const *names; /* of an enumeration's values; NULL: a number */
} kaon_argument;
kaon_argument kaon_whole(const char *name, int64_t value);
kaon_argument kaon_seed(const char *name, uint64_t value);
kaon_argument kaon_real(const char *name, double value);
/* A field of an options struct that is an enumeration. */
kaon_argument kaon_enumeration(kaon_options_kind kind, const char *name, int value);
enum { KAON_SAME_MOST = 80 };

/* Begins a collective function `what` that got n arguments: as kaon_agree, and fails on all ranks
 * (ARGUMENT) if one of the arguments differs between ranks, or (STATE) if another rank has begun
 * another function. */
kaon_status kaon_same(const kaon_context *ctx, kaon_status mine, const char *what,
                      const kaon_argument *arguments, int n);
/* Takes options (kaon_options_take) and begins the collective function that got them, whose
 * arguments are all fields of the struct and n `more`. */
kaon_status kaon_options_share(const kaon_context *ctx, kaon_status mine, kaon_options_kind kind,
                               const void *given, void *taken, const kaon_argument *more, int n);

/* Allocates memory for sums of up to n values, before work that must not fail on one rank only. */
kaon_status kaon_comm_reserve(const kaon_context *ctx, int n);

/* Sums values[i] over ranks; for results, not for solvers. */
kaon_status kaon_comm_sum(const kaon_context *ctx, double *values, int n);

/* For files, which only rank 0 opens while all ranks run the same code: whether this is rank 0 (ctx
 * NULL: a process without ranks), and a broadcast of its bytes. */
int kaon_is_first(const kaon_context *ctx);
kaon_status kaon_broadcast(const kaon_context *ctx, void *data, size_t bytes);

/* comm_delay.c: from now on a sum completes no earlier than `seconds` after its start, with any
 * transport. So one rank shows how long many ranks would wait. Bits do not change. */
kaon_status kaon_comm_delay(kaon_comm *comm, double seconds);
/* The same around a sum of values on the device (kaon_ranks_ops), in the queue's order. Do nothing
 * without a delay. */
kaon_status kaon_comm_delay_begin(kaon_comm *comm);
kaon_status kaon_comm_delay_end(kaon_comm *comm);
/* The functions of the transport without delays. */
const kaon_comm_ops *kaon_comm_undelayed(const kaon_comm *comm);

/* 1: a kernel's sums are only this rank's, or are delayed. The communicator must complete them
 * before dependent work runs. */
static inline int kaon_comm_sums(const kaon_comm *comm) {
  return comm->ranks > 1 || comm->delay != NULL;
}
