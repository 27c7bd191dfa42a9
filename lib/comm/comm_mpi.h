/* comm_mpi.h - what the files of the communicator over MPI share. */
#pragma once

#include <mpi.h>

#include "lib/comm/comm.h"
#include "lib/comm/comm_windows.h"

enum { SUMS_DEEP = 2 };
typedef struct mpi_self {
  MPI_Comm comm;
  MPI_Comm control; /* of gather and broadcast: ranks still agree after a sum was given up */
  kaon_windows *comm_windows;
  /* Sums under way: one that is split, and a whole one within it. */
  struct {
    MPI_Request request;
    double *values;
    int n, room;
    double *all; /* [rank][n], capacity: `room` values of each rank */
  } sum[SUMS_DEEP];
  int begun;
  char *piece; /* of a broadcast under way, PIECE bytes */
  enum { WAITING, PREPARING, ASYNC_OPEN } mode;
  int round, rounds;
  kaon_message_lags *lags;
  struct async *loosened; /* exchanges with memory for asynchronous rounds */
  kaon_status prepared;
  /* 1: a sum, or a message of `control`, timed out; its memory must not be freed */
  int gave_up, control_gave_up;
} mpi_self;

struct kaon_exchange {
  kaon_comm *comm;
  struct async *async; /* NULL: not prepared for asynchronous rounds */
  int count;           /* number of messages */
  kaon_message *messages;
  int gave_up;
  int n; /* number of requests: receives, then sends */
  MPI_Request requests[];
};

static inline mpi_self *kaon_mpi_self(const kaon_comm *comm) {
  return comm->self;
}

/* The status for the return code of an MPI function. */
kaon_status kaon_mpi_check(const kaon_comm *comm, int code, const char *what);
/* Waits until all requests are done. Errors: COMM (another rank did not answer within the
 * context's patience, so that it must have failed). */
kaon_status kaon_mpi_wait(const kaon_comm *comm, int n, MPI_Request *requests, const char *what);

/* ---- asynchronous exchanges (comm_mpi_async.c) ---- */

/* As in kaon_comm_ops. */
kaon_status kaon_mpi_async_prepare(kaon_comm *comm, int rounds);
void kaon_mpi_async_round(kaon_comm *comm, int round, kaon_message_lags *lags);
kaon_status kaon_mpi_async_end(kaon_comm *comm);
/* Memory for `rounds` rounds of an exchange; a round's messages; the memory is freed. */
kaon_status kaon_mpi_async_capacity(kaon_exchange *e, int rounds);
kaon_status kaon_mpi_async_start(kaon_exchange *e);
kaon_status kaon_mpi_async_finish(kaon_exchange *e);
void kaon_mpi_async_free(kaon_exchange *e);
