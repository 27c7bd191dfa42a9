/* comm.h - the communicator: who there is, split-phase sums, persistent neighbour exchange,
 * agreement on failures. One implementation per transport, chosen at context creation; this page is
 * all that the rest of the library knows. Every rank makes the same calls in the same order. */
#ifndef KAON_LIB_COMM_H
#define KAON_LIB_COMM_H

#include <kaon/context.h>

typedef struct kaon_comm kaon_comm;
typedef struct kaon_exchange kaon_exchange;

/* One message of a persistent exchange with the neighbour in direction `dir` (lib/vector/layout.h), which
 * is rank `peer`: `bytes` of `send` go there, and as many that it sends in the opposite direction
 * arrive in `receive`. A rank may be its own neighbour. */
typedef struct kaon_message {
  int dir;
  int peer;
  void *send;
  void *receive;
  size_t bytes;
} kaon_message;

/* What exchanges that wait for nothing brought: ages in rounds (async_round below). */
typedef struct kaon_message_lags {
  int64_t reads; /* messages that were looked for */
  int64_t late;  /* of them those of which an older one, or none, had come */
  int oldest;    /* in rounds, of what was taken; none had come: counted from before the first */
} kaon_message_lags;

/* Memory of each rank that the others reach while it is busy with something else: they put numbers
 * of 4 or 8 bytes into it, each of which is whole whenever it is read; where it is mapped, they may
 * also work on it as on their own. Puts to one rank take place in their order; nothing else is
 * ordered. */
typedef struct kaon_window {
  kaon_comm *comm;
  size_t bytes;
  void *mine;   /* 0 at first; not mapped: to be read by window_get alone */
  void **there; /* [rank] mapped: the memory of each rank, ours among it; NULL: it is not */
  void *self;
} kaon_window;

typedef struct kaon_comm_ops {
  const char *name;
  /* Sums of up to n numbers take no memory from now on (longer ones may, and may fail). NULL: none
   * ever does. Not collective. */
  kaon_status (*reserve)(kaon_comm *comm, int n);
  /* values[0..n-1], the host's, += over ranks, in the order of the ranks: the same bits in every
   * run. start and finish bracket work that does not touch values, exchanges among it, which move
   * the sum on (MPI_Iallgather), and one other sum, which begins and ends there: finish is of the
   * last one begun. Scalars that are on a device are summed by kaon_ranks_ops (lib/core/backend.h). */
  kaon_status (*sum_start)(kaon_comm *comm, double *values, int n);
  kaon_status (*sum_finish)(kaon_comm *comm);
  /* all[r * n + i] = mine[i] of rank r. */
  kaon_status (*gather)(kaon_comm *comm, const double *mine, int n, double *all);
  /* bytes of rank `root`'s data become everybody's. */
  kaon_status (*broadcast)(kaon_comm *comm, void *data, size_t bytes, int root);
  /* Memory of the messages stays theirs until the exchange is destroyed. */
  kaon_status (*exchange_create)(kaon_comm *comm, const kaon_message *messages, int n,
                                 kaon_exchange **exchange);
  kaon_status (*exchange_start)(kaon_exchange *exchange);
  kaon_status (*exchange_finish)(kaon_exchange *exchange);
  void (*exchange_destroy)(kaon_exchange **exchange); /* NULL allowed */
  /* Exchanges that wait for nothing: from async_round on, exchange_start sends and
   * exchange_finish takes the newest message that has come from each neighbour, 0 where none has.
   * What is started first, second, ... of a round (an operator's application) takes the place of
   * what was so in the round before. async_end takes in what is still under way; all ranks have
   * started as many by then. async_prepare, before: rounds > 0: exchanges that are started take
   * memory for so many rounds and send nothing; 0: they are as ever again, and whether memory was
   * had, not agreed on. NULL: not offered. */
  kaon_status (*async_prepare)(kaon_comm *comm, int rounds);
  void (*async_round)(kaon_comm *comm, int round, kaon_message_lags *lags);
  kaon_status (*async_end)(kaon_comm *comm);
  /* window_create: collective and agreed on; mapped: on ranks of one node. Errors: UNSUPPORTED,
   * MEMORY, COMM. put: n numbers of `width` bytes to byte `at` of rank peer's, there when it
   * returns. get: of this rank's own. destroy: not collective; the memory goes when all ranks make
   * the next board or end. NULL, all of them: not offered. */
  kaon_status (*window_create)(kaon_comm *comm, size_t bytes, int mapped, kaon_window **comm_window);
  kaon_status (*window_put)(kaon_window *comm_window, int peer, size_t at, const void *numbers, int width,
                           int64_t n);
  kaon_status (*window_get)(kaon_window *comm_window, size_t at, void *numbers, int width, int64_t n);
  void (*window_destroy)(kaon_window **comm_window); /* NULL allowed */
  /* The status of the first rank that failed, those with COMM after all others, with its sentence
   * kept on every rank. */
  kaon_status (*agree)(kaon_comm *comm, kaon_status mine);
  void (*destroy)(kaon_comm **comm);
} kaon_comm_ops;

struct kaon_comm {
  const kaon_comm_ops *ops;
  kaon_context *ctx;
  int rank, ranks;
  int grid[4];                 /* ranks in x, y, z, t; all 0: chosen for each lattice */
  int partitioned[4];          /* 1: exchanged along mu though the grid is 1 there (for tests) */
  int local_rank, local_ranks; /* among those of one node: a device each */
  int device_memory;           /* messages of exchanges may be in device memory (CUDA-aware MPI) */
  double patience; /* > 0: an exchange or a sum fails with COMM after so many seconds (MPI); of
                      devices, whose errors one rank alone may meet in between */
  int room;        /* numbers of a sum that there is memory for */
  int late;        /* loose exchanges take no message of the last so many rounds (for tests) */
  size_t piece;    /* longer messages of exchanges go in pieces (for tests: short) */
  int64_t pause;   /* nanoseconds before each iteration of asynchronous blocks here (for tests) */
  void *self;      /* the implementation's own */
  struct kaon_comm_delay *delay; /* comm_delay.c; NULL: none */
  kaon_traffic traffic;          /* so far, of what is issued (not of what a device repeats) */
};

kaon_status kaon_comm_single_create(kaon_context *ctx, kaon_comm **comm);
/* Of several ranks, by the one transport that is built in (lib/comm/comm_mpi.c, lib/comm/comm_qmp.c). handle:
 * address of the application's MPI_Comm or QMP_comm_t, NULL: all processes that were started
 * together. Errors: COMM, MEMORY, NOT_BUILT. */
kaon_status kaon_comm_ranks_create(kaon_context *ctx, const void *handle, kaon_comm **comm);
/* Its name, "" where none is. */
const char *kaon_comm_ranks_name(void);
/* Ends what kaon itself began. */
void kaon_comm_ranks_end(void);
/* As kaon_ranks_finish; *first in: this rank's number. */
int kaon_comm_ranks_finish(double seconds, int *first);

/* For transports: `agree` made of gather and broadcast; n numbers of all ranks ([rank][n]) added in
 * the order of the ranks; this node's name. */
kaon_status kaon_comm_agree(kaon_comm *comm, kaon_status mine);
void kaon_comm_add(const kaon_comm *comm, const double *all, int n, double *sum);
void kaon_comm_host(char *name, size_t room);

/* What every collective function returns through: all ranks leave it with the status and sentence
 * of the first that failed (kaon_comm_ops.agree). A failure that was agreed on further down passes
 * through without another message, so nested functions may each do this; but a rank must not fail
 * alone between two messages of any other kind. */
kaon_status kaon_agree(const kaon_context *ctx, kaon_status mine);

/* Memory for sums of up to n numbers, before something begins that must not fail on one rank. */
kaon_status kaon_comm_reserve(const kaon_context *ctx, int n);

/* values[i] summed over ranks; for results, not for solvers. */
kaon_status kaon_comm_sum(const kaon_context *ctx, double *values, int n);

/* For files, which rank 0 alone touches while all ranks read or write through the same code:
 * whether this rank is the one (ctx NULL: a process by itself), and its bytes for all. */
int kaon_is_first(const kaon_context *ctx);
kaon_status kaon_broadcast(const kaon_context *ctx, void *data, size_t bytes);

/* comm_delay.c: from now on a sum is complete no earlier than `seconds` after its start, whatever
 * the transport, so that one rank shows what many would wait for. Bits do not change. */
kaon_status kaon_comm_delay(kaon_comm *comm, double seconds);
/* The same around a sum of numbers that are on the device (kaon_ranks_ops), in the queue's order;
 * without a delay nothing is done. */
kaon_status kaon_comm_delay_begin(kaon_comm *comm);
kaon_status kaon_comm_delay_end(kaon_comm *comm);
/* The functions without delays. */
const kaon_comm_ops *kaon_comm_undelayed(const kaon_comm *comm);

/* 1: a kernel's sums are this rank's only, or held back: they pass through the communicator before
 * what follows them runs. */
static inline int kaon_comm_sums(const kaon_comm *comm) {
  return comm->ranks > 1 || comm->delay != NULL;
}

#endif
