/* comm_mpi.c - the communicator over MPI (3.0 or later), on a duplicate of the application's
 * communicator, so that messages of both cannot be confused.
 *
 * Sums: MPI does not specify the order in which MPI_Allreduce adds, and implementations choose it
 * by message size, number and placement of ranks. So the partial sums are gathered instead, and
 * every rank adds them in rank order: equal bits in every run and on every rank. This takes as many
 * steps (log of the number of ranks). A message has n doubles of each rank, which is short for the
 * few values of a solver step. */
#include <limits.h>
#include <mpi.h>
#if defined(__has_include)
#if __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif
#endif
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/comm/comm_mpi.h"
#include "lib/core/context_internal.h"
#include "lib/core/error.h"
#include "lib/vector/layout.h"

enum { SUM_CAPACITY = 1024, PIECE = 1 << 20 };

static int began; /* 1: MPI was initialized here; MPI is initialized once a process */

kaon_status kaon_mpi_check(const kaon_comm *comm, int code, const char *what) {
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  if (code == MPI_SUCCESS) return KAON_OK;
  MPI_Error_string(code, text, &length);
  return kaon_fail(comm->ctx, KAON_ERR_COMM, "MPI: %s failed on rank %d of %d: %s", what,
                   comm->rank, comm->ranks, text);
}

/* Waits until all requests are done. Returns COMM if another rank did not answer within `patience`
 * seconds, so that it must have failed. */
static kaon_status await_for(const kaon_comm *comm, double patience, int n, MPI_Request *requests,
                             const char *what) {
  enum { POLLS = 64 }; /* polls between two reads of the clock */
  const double begin = MPI_Wtime();
  for (int polls = 1, done = 0;; polls++) {
    KAON_TRY(kaon_mpi_check(comm, MPI_Testall(n, requests, &done, MPI_STATUSES_IGNORE), what));
    if (done) return KAON_OK;
    if (polls % POLLS != 0) continue;
    if (MPI_Wtime() - begin > patience) break;
    sched_yield(); /* the other rank may wait for this core */
  }
  return kaon_fail(comm->ctx, KAON_ERR_COMM,
                   "MPI: rank %d of %d gave up %s after %g s; has another rank failed, or made "
                   "other calls? If it is only slow, give the context a longer `patience` "
                   "(--patience)",
                   comm->rank, comm->ranks, what, patience);
}

kaon_status kaon_mpi_wait(const kaon_comm *comm, int n, MPI_Request *requests, const char *what) {
  return await_for(comm, comm->ctx->options.patience, n, requests, what);
}

/* Twice as long: the other rank may itself wait for a message of one that has failed. */
static kaon_status await_control(kaon_comm *comm, MPI_Request *request, const char *what) {
  mpi_self *self = kaon_mpi_self(comm);
  const kaon_status status = await_for(comm, 2 * comm->ctx->options.patience, 1, request, what);
  self->control_gave_up = status != KAON_OK;
  return status;
}

static kaon_status check_open(const kaon_comm *comm, int gave_up) {
  if (!gave_up) return KAON_OK;
  return kaon_fail(comm->ctx, KAON_ERR_COMM,
                   "MPI: rank %d of %d has given up waiting for another rank; make a new context",
                   comm->rank, comm->ranks);
}

/* ---- sums ---- */

static kaon_status make_room(kaon_comm *comm, int deep, int n) {
  mpi_self *self = kaon_mpi_self(comm);
  if (n <= self->sum[deep].room) return KAON_OK;
  double *all = realloc(self->sum[deep].all, (size_t)n * (size_t)comm->ranks * sizeof *all);
  if (all == NULL)
    return kaon_fail(comm->ctx, KAON_ERR_MEMORY,
                     "MPI: out of host memory for sums of %d numbers over %d ranks", n,
                     comm->ranks);
  self->sum[deep].all = all;
  self->sum[deep].room = n;
  if (n > comm->room) comm->room = n;
  return KAON_OK;
}

static kaon_status reserve(kaon_comm *comm, int n) {
  for (int deep = 0; deep < SUMS_DEEP; deep++) KAON_TRY(make_room(comm, deep, n));
  return KAON_OK;
}

static kaon_status sum_start(kaon_comm *comm, double *values, int n) {
  mpi_self *self = kaon_mpi_self(comm);
  const int deep = self->begun;
  if (deep == SUMS_DEEP)
    return kaon_fail(comm->ctx, KAON_ERR_INTERNAL, "MPI: a sum is begun before the last one ended");
  KAON_TRY(check_open(comm, self->gave_up));
  KAON_TRY(make_room(comm, deep, n));
  self->sum[deep].values = values;
  self->sum[deep].n = n;
  KAON_TRY(kaon_mpi_check(comm,
                          MPI_Iallgather(values, n, MPI_DOUBLE, self->sum[deep].all, n, MPI_DOUBLE,
                                         self->comm, &self->sum[deep].request),
                          "beginning a sum"));
  self->begun++;
  return KAON_OK;
}

static kaon_status sum_finish(kaon_comm *comm) {
  mpi_self *self = kaon_mpi_self(comm);
  const int deep = --self->begun; /* the last one begun */
  const kaon_status status = kaon_mpi_wait(comm, 1, &self->sum[deep].request, "waiting for a sum");
  self->gave_up = status != KAON_OK;
  if (status == KAON_OK)
    kaon_comm_add(comm, self->sum[deep].all, self->sum[deep].n, self->sum[deep].values);
  return status;
}

/* From and to memory of its own: what the caller gave may be gone when a late message arrives. */
static kaon_status gather(kaon_comm *comm, const double *mine, int n, double *all) {
  mpi_self *self = kaon_mpi_self(comm);
  const size_t bytes = (size_t)n * sizeof *mine;
  MPI_Request request;
  KAON_TRY(check_open(comm, self->control_gave_up));
  double *own = malloc(bytes * ((size_t)comm->ranks + 1));
  if (own == NULL)
    return kaon_fail(comm->ctx, KAON_ERR_MEMORY, "MPI: out of host memory to gather %d numbers", n);
  memcpy(own, mine, bytes);
  kaon_status status = kaon_mpi_check(
      comm, MPI_Iallgather(own, n, MPI_DOUBLE, own + n, n, MPI_DOUBLE, self->control, &request),
      "gathering numbers");
  if (status == KAON_OK) status = await_control(comm, &request, "gathering numbers");
  if (status != KAON_OK) return status; /* `own` stays */
  memcpy(all, own + n, bytes * (size_t)comm->ranks);
  free(own);
  return status;
}

/* ---- bytes, in pieces that have memory of their own, as above ---- */

static kaon_status broadcast(kaon_comm *comm, void *data, size_t bytes, int root) {
  mpi_self *self = kaon_mpi_self(comm);
  KAON_TRY(check_open(comm, self->control_gave_up));
  for (size_t done = 0; done < bytes; done += PIECE) {
    const size_t piece = bytes - done < PIECE ? bytes - done : PIECE;
    MPI_Request request;
    if (comm->rank == root) memcpy(self->piece, (char *)data + done, piece);
    KAON_TRY(kaon_mpi_check(
        comm, MPI_Ibcast(self->piece, (int)piece, MPI_BYTE, root, self->control, &request),
        "a broadcast"));
    KAON_TRY(await_control(comm, &request, "waiting for a broadcast"));
    if (comm->rank != root) memcpy((char *)data + done, self->piece, piece);
  }
  return KAON_OK;
}

/* ---- exchanges ---- */

/* Pieces of a message: an int counts the bytes of each. */
static int pieces_of(const kaon_comm *comm, const kaon_message *m) {
  return m->bytes > 0 ? (int)((m->bytes - 1) / comm->piece) + 1 : 1;
}

/* Declares one piece of message m: requests i and, of n, n + i. Each direction and piece has its
 * own tag, since persistent requests start in any order. */
static kaon_status declare(kaon_exchange *exchange, const kaon_message *m, int piece, int i,
                           int n) {
  const kaon_comm *comm = exchange->comm;
  const MPI_Comm mpi = kaon_mpi_self(comm)->comm;
  const int back = (m->dir + KAON_DIRS / 2) % KAON_DIRS;
  const size_t begin = (size_t)piece * comm->piece, left = m->bytes - begin;
  const int bytes = (int)(left < comm->piece ? left : comm->piece);
  KAON_TRY(kaon_mpi_check(comm,
                          MPI_Recv_init((char *)m->receive + begin, bytes, MPI_BYTE, m->peer,
                                        piece * KAON_DIRS + back, mpi, &exchange->requests[i]),
                          "declaring a receive"));
  return kaon_mpi_check(comm,
                        MPI_Send_init((char *)m->send + begin, bytes, MPI_BYTE, m->peer,
                                      piece * KAON_DIRS + m->dir, mpi, &exchange->requests[n + i]),
                        "declaring a send");
}

/* Cancels an exchange that timed out, so that nothing arrives in its messages' memory later. */
static void cancel(kaon_exchange *exchange) {
  for (int i = 0; i < exchange->n / 2; i++) {
    int done = 1;
    if (exchange->requests[i] == MPI_REQUEST_NULL) continue;
    MPI_Request_get_status(exchange->requests[i], &done, MPI_STATUS_IGNORE);
    if (!done) MPI_Cancel(&exchange->requests[i]);
  }
}

static void exchange_destroy(kaon_exchange **exchange) {
  kaon_exchange *gone = *exchange;
  *exchange = NULL;
  if (gone == NULL) return;
  int finalised = 0; /* 1: MPI has freed them already */
  MPI_Finalized(&finalised);
  if (gone->gave_up && !finalised) cancel(gone);
  for (int i = 0; i < gone->n && !finalised; i++)
    if (gone->requests[i] != MPI_REQUEST_NULL) MPI_Request_free(&gone->requests[i]);
  kaon_mpi_async_free(gone);
  free(gone->messages);
  free(gone);
}

static kaon_status exchange_create(kaon_comm *comm, const kaon_message *messages, int n,
                                   kaon_exchange **exchange) {
  int all = 0, next = 0;
  for (int i = 0; i < n; i++) all += pieces_of(comm, &messages[i]);
  kaon_exchange *made = malloc(sizeof *made + 2 * (size_t)all * sizeof made->requests[0]);
  *exchange = NULL;
  if (made == NULL)
    return kaon_fail(comm->ctx, KAON_ERR_MEMORY, "exchange: out of host memory for %d messages", n);
  kaon_message *copy = malloc((size_t)(n > 0 ? n : 1) * sizeof *copy);
  *made = (struct kaon_exchange){.comm = comm, .count = n, .messages = copy, .n = 2 * all};
  for (int i = 0; i < 2 * all; i++) made->requests[i] = MPI_REQUEST_NULL;
  kaon_status status =
      KAON_CHECK_MEMORY(comm->ctx, copy != NULL, "exchange: out of host memory for %d messages", n);
  for (int i = 0; i < n && copy != NULL; i++) copy[i] = messages[i];
  for (int i = 0; i < n; i++)
    for (int p = 0; p < pieces_of(comm, &messages[i]) && status == KAON_OK; p++)
      status = declare(made, &messages[i], p, next++, all);
  *exchange = made;
  if (status != KAON_OK) exchange_destroy(exchange);
  return status;
}

static kaon_status exchange_start(kaon_exchange *exchange) {
  mpi_self *self = kaon_mpi_self(exchange->comm);
  if (self->mode == ASYNC_OPEN) return kaon_mpi_async_start(exchange);
  if (self->mode == PREPARING) {
    if (self->prepared == KAON_OK) self->prepared = kaon_mpi_async_capacity(exchange, self->rounds);
    return KAON_OK;
  }
  if (exchange->n == 0) return KAON_OK;
  return kaon_mpi_check(exchange->comm, MPI_Startall(exchange->n, exchange->requests),
                        "starting an exchange");
}

static kaon_status exchange_finish(kaon_exchange *exchange) {
  const mpi_self *self = kaon_mpi_self(exchange->comm);
  if (self->mode == ASYNC_OPEN) return kaon_mpi_async_finish(exchange);
  if (self->mode == PREPARING) return KAON_OK;
  const kaon_status status =
      kaon_mpi_wait(exchange->comm, exchange->n, exchange->requests, "waiting for an exchange");
  exchange->gave_up = status != KAON_OK;
  return status;
}

/* ---- beginning and end ---- */

static void destroy(kaon_comm **comm) {
  kaon_comm *old = *comm;
  *comm = NULL;
  if (old == NULL) return;
  mpi_self *self = kaon_mpi_self(old);
  int finalised = 0;
  MPI_Finalized(&finalised);
  if (!finalised) kaon_windows_end(old);
  const int gone = finalised || self->gave_up || self->control_gave_up; /* freeing would wait */
  if (!gone && self->comm != MPI_COMM_NULL) MPI_Comm_free(&self->comm);
  if (!gone && self->control != MPI_COMM_NULL) MPI_Comm_free(&self->control);
  for (int deep = 0; deep < SUMS_DEEP && !self->gave_up; deep++) free(self->sum[deep].all);
  if (!self->control_gave_up) free(self->piece);
  free(self);
  free(old);
}

static kaon_status split(kaon_comm *comm, int colour, int key, kaon_context *ctx,
                         kaon_comm **part) {
  MPI_Comm theirs = MPI_COMM_NULL;
  *part = NULL;
  KAON_TRY(check_open(comm, kaon_mpi_self(comm)->control_gave_up));
  KAON_TRY(kaon_mpi_check(comm, MPI_Comm_split(kaon_mpi_self(comm)->control, colour, key, &theirs),
                          "dividing the ranks"));
  const kaon_status status = kaon_comm_ranks_create(ctx, &theirs, part);
  MPI_Comm_free(&theirs);
  return status;
}

static const kaon_comm_ops mpi_ops = {
    .name = "MPI",
    .reserve = reserve,
    .sum_start = sum_start,
    .sum_finish = sum_finish,
    .gather = gather,
    .broadcast = broadcast,
    .exchange_create = exchange_create,
    .exchange_start = exchange_start,
    .exchange_finish = exchange_finish,
    .exchange_destroy = exchange_destroy,
    .window_create = kaon_window_create,
    .window_put = kaon_window_put,
    .window_get = kaon_window_get,
    .window_destroy = kaon_window_destroy,
    .async_prepare = kaon_mpi_async_prepare,
    .async_round = kaon_mpi_async_round,
    .async_end = kaon_mpi_async_end,
    .split = split,
    .destroy = destroy,
};

static kaon_status initialise(kaon_context *ctx) {
  int initialised = 0, finalised = 0, level = 0;
  MPI_Finalized(&finalised);
  if (finalised)
    return kaon_fail(
        ctx, KAON_ERR_COMM,
        "MPI: it was finalized in this process already and cannot be initialised again");
  MPI_Initialized(&initialised);
  if (initialised) return KAON_OK;
  if (MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &level) != MPI_SUCCESS)
    return kaon_fail(ctx, KAON_ERR_COMM, "MPI: it does not start");
  began = 1;
  if (level < MPI_THREAD_FUNNELED)
    return kaon_fail(
        ctx, KAON_ERR_COMM,
        "MPI: it allows no threads besides the one that calls it (level %d of MPI_Init_thread), "
        "but kaon computes with several; use an MPI that allows them",
        level);
  return KAON_OK;
}

/* Finds this rank's index among the ranks of its node. */
static kaon_status find_node(kaon_comm *comm) {
  MPI_Comm node = MPI_COMM_NULL;
  KAON_TRY(kaon_mpi_check(comm,
                          MPI_Comm_split_type(kaon_mpi_self(comm)->comm, MPI_COMM_TYPE_SHARED,
                                              comm->rank, MPI_INFO_NULL, &node),
                          "finding the ranks of this node"));
  MPI_Comm_rank(node, &comm->local_rank);
  MPI_Comm_size(node, &comm->local_ranks);
  MPI_Comm_free(&node);
  return KAON_OK;
}

/* Open MPI and MPICH report whether CUDA support is built and active. The question goes to the
 * loaded library, since an application may run with another build than its headers are from. */
static int takes_device_memory(void) {
#if defined(MPIX_CUDA_AWARE_SUPPORT)
  return MPIX_Query_cuda_support();
#else
  return 0;
#endif
}

static kaon_status open_comm(kaon_comm *comm, const void *handle) {
  mpi_self *self = kaon_mpi_self(comm);
  MPI_Comm theirs = MPI_COMM_WORLD;
  if (handle != NULL) memcpy(&theirs, handle, sizeof theirs);
  if (theirs == MPI_COMM_NULL)
    return kaon_fail(comm->ctx, KAON_ERR_ARGUMENT, "ranks: the communicator is MPI_COMM_NULL");
  KAON_TRY(kaon_mpi_check(comm, MPI_Comm_dup(theirs, &self->comm), "copying the communicator"));
  KAON_TRY(kaon_mpi_check(comm, MPI_Comm_dup(theirs, &self->control), "copying the communicator"));
  KAON_TRY(kaon_mpi_check(comm, MPI_Comm_set_errhandler(self->comm, MPI_ERRORS_RETURN),
                          "asking for errors"));
  KAON_TRY(kaon_mpi_check(comm, MPI_Comm_set_errhandler(self->control, MPI_ERRORS_RETURN),
                          "asking for errors"));
  MPI_Comm_rank(self->comm, &comm->rank);
  MPI_Comm_size(self->comm, &comm->ranks);
  comm->device_memory = takes_device_memory();
  KAON_TRY(find_node(comm));
  return reserve(comm, SUM_CAPACITY);
}

const char *kaon_comm_ranks_name(void) {
  return "MPI";
}

kaon_status kaon_comm_ranks_create(kaon_context *ctx, const void *handle, kaon_comm **comm) {
  *comm = NULL;
  KAON_TRY(initialise(ctx));
  kaon_comm *made = calloc(1, sizeof *made);
  mpi_self *self = calloc(1, sizeof *self);
  char *piece = malloc(PIECE);
  if (made == NULL || self == NULL || piece == NULL) {
    free(made);
    free(self);
    free(piece);
    return kaon_fail(ctx, KAON_ERR_MEMORY, "MPI: out of host memory");
  }
  self->piece = piece;
  *made = (kaon_comm){.ops = &mpi_ops,
                      .ctx = ctx,
                      .ranks = 1,
                      .local_ranks = 1,
                      .piece = INT_MAX / 64 * 64,
                      .self = self};
  self->comm = self->control = MPI_COMM_NULL;
  const kaon_status status = open_comm(made, handle);
  *comm = made;
  if (status != KAON_OK) destroy(comm);
  return status;
}

void kaon_comm_ranks_end(void) {
  int finalised = 0;
  MPI_Finalized(&finalised);
  if (began && !finalised) MPI_Finalize();
}

/* Broadcasts the maximum of rank 0's value and zeros; it completes only when all ranks have
 * called. */
int kaon_comm_ranks_finish(double seconds, int *first) {
  const struct timespec pause = {0, 1000000};
  MPI_Request request;
  int finalised = 0, rank = 0, mine, largest = 0, come = 0;
  MPI_Finalized(&finalised);
  if (!began || finalised) return 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  mine = rank == 0 ? *first : 0;
  if (MPI_Iallreduce(&mine, &largest, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD, &request) != MPI_SUCCESS)
    return 0;
  for (double waited = 0; !come && (seconds < 0 || waited <= seconds); waited += 1e-3) {
    if (MPI_Test(&request, &come, MPI_STATUS_IGNORE) != MPI_SUCCESS) return 0;
    if (!come) nanosleep(&pause, NULL);
  }
  if (!come) return 0;
  *first = largest;
  MPI_Finalize();
  return 1;
}
