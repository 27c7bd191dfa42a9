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
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/comm/comm.h"
#include "lib/comm/comm_windows.h"
#include "lib/core/error.h"
#include "lib/vector/layout.h"

enum { SUM_CAPACITY = 1024 };

enum { SUMS_DEEP = 2 };
typedef struct mpi_self {
  MPI_Comm comm;
  kaon_windows *comm_windows;
  /* Sums under way: one that is split, and a whole one within it. */
  struct {
    MPI_Request request;
    double *values;
    int n, room;
    double *all; /* [rank][n], capacity: `room` values of each rank */
  } sum[SUMS_DEEP];
  int begun;
  enum { WAITING, PREPARING, ASYNC_OPEN } mode;
  int round, rounds;
  kaon_message_lags *lags;
  struct async *loosened; /* exchanges with memory for asynchronous rounds */
  kaon_status prepared;
  int gave_up; /* 1: a sum timed out; its memory must not be freed */
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

static int began; /* 1: MPI was initialized here; MPI is initialized once a process */

static mpi_self *self_of(const kaon_comm *comm) {
  return comm->self;
}

static kaon_status check(const kaon_comm *comm, int code, const char *what) {
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  if (code == MPI_SUCCESS) return KAON_OK;
  MPI_Error_string(code, text, &length);
  return kaon_fail(comm->ctx, KAON_ERR_COMM, "MPI: %s failed on rank %d of %d: %s", what,
                   comm->rank, comm->ranks, text);
}

kaon_status kaon_mpi_check(const kaon_comm *comm, int code, const char *what) {
  return check(comm, code, what);
}

void *kaon_mpi_of(const kaon_comm *comm, kaon_windows ***comm_windows) {
  mpi_self *self = self_of(comm);
  *comm_windows = &self->comm_windows;
  return &self->comm;
}

/* Waits until all requests are done. Returns COMM if another rank did not answer for so long that
 * it must have failed. */
static kaon_status await(const kaon_comm *comm, int n, MPI_Request *requests, const char *what) {
  enum { POLLS = 64 }; /* polls between two reads of the clock */
  if (!(comm->patience > 0))
    return check(comm, MPI_Waitall(n, requests, MPI_STATUSES_IGNORE), what);
  const double begin = MPI_Wtime();
  for (int polls = 1, done = 0;; polls++) {
    KAON_TRY(check(comm, MPI_Testall(n, requests, &done, MPI_STATUSES_IGNORE), what));
    if (done) return KAON_OK;
    if (polls % POLLS == 0 && MPI_Wtime() - begin > comm->patience) break;
  }
  return kaon_fail(comm->ctx, KAON_ERR_COMM,
                   "MPI: rank %d of %d gave up %s after %g s; has another rank failed?", comm->rank,
                   comm->ranks, what, comm->patience);
}

/* ---- sums ---- */

static kaon_status make_room(kaon_comm *comm, int deep, int n) {
  mpi_self *self = self_of(comm);
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
  mpi_self *self = self_of(comm);
  const int deep = self->begun;
  if (deep == SUMS_DEEP)
    return kaon_fail(comm->ctx, KAON_ERR_INTERNAL, "MPI: a sum is begun before the last one ended");
  if (self->gave_up)
    return kaon_fail(comm->ctx, KAON_ERR_COMM,
                     "MPI: rank %d of %d has given up a sum over ranks; make a new context",
                     comm->rank, comm->ranks);
  KAON_TRY(make_room(comm, deep, n));
  self->sum[deep].values = values;
  self->sum[deep].n = n;
  KAON_TRY(check(comm,
                 MPI_Iallgather(values, n, MPI_DOUBLE, self->sum[deep].all, n, MPI_DOUBLE,
                                self->comm, &self->sum[deep].request),
                 "beginning a sum"));
  self->begun++;
  return KAON_OK;
}

static kaon_status sum_finish(kaon_comm *comm) {
  mpi_self *self = self_of(comm);
  const int deep = --self->begun; /* the last one begun */
  const kaon_status status = await(comm, 1, &self->sum[deep].request, "waiting for a sum");
  self->gave_up = status != KAON_OK;
  if (status == KAON_OK)
    kaon_comm_add(comm, self->sum[deep].all, self->sum[deep].n, self->sum[deep].values);
  return status;
}

static kaon_status gather(kaon_comm *comm, const double *mine, int n, double *all) {
  return check(comm, MPI_Allgather(mine, n, MPI_DOUBLE, all, n, MPI_DOUBLE, self_of(comm)->comm),
               "gathering numbers");
}

/* ---- bytes, in pieces that an int can count ---- */

static kaon_status broadcast(kaon_comm *comm, void *data, size_t bytes, int root) {
  for (size_t done = 0; done < bytes;) {
    const size_t piece = bytes - done < INT_MAX / 2 ? bytes - done : INT_MAX / 2;
    KAON_TRY(check(comm,
                   MPI_Bcast((char *)data + done, (int)piece, MPI_BYTE, root, self_of(comm)->comm),
                   "a broadcast"));
    done += piece;
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
  const MPI_Comm mpi = self_of(comm)->comm;
  const int back = (m->dir + KAON_DIRS / 2) % KAON_DIRS;
  const size_t begin = (size_t)piece * comm->piece, left = m->bytes - begin;
  const int bytes = (int)(left < comm->piece ? left : comm->piece);
  KAON_TRY(check(comm,
                 MPI_Recv_init((char *)m->receive + begin, bytes, MPI_BYTE, m->peer,
                               piece * KAON_DIRS + back, mpi, &exchange->requests[i]),
                 "declaring a receive"));
  return check(comm,
               MPI_Send_init((char *)m->send + begin, bytes, MPI_BYTE, m->peer,
                             piece * KAON_DIRS + m->dir, mpi, &exchange->requests[n + i]),
               "declaring a send");
}

/* ---- asynchronous exchanges ----
 * Each message of a round has its own buffers, so that it may be under way while later ones are
 * made. Its receive is posted when the message to the same neighbour is sent. */

enum { ASYNC_TAG = 1 << 14, ORDINALS = 64 };

typedef struct async_slot {
  char *out, *in; /* one allocation, `out` first */
  MPI_Request send, receive;
} async_slot;

typedef struct async {
  struct async *next;
  int rounds, ordinals; /* capacity */
  int count;            /* number of messages */
  int at;               /* how many times it was started in this round */
  async_slot *slots;    /* [ordinal][round][message] */
} async;

static async_slot *slot_of(const kaon_exchange *e, int ordinal, int round, int message) {
  return e->async->slots + ((int64_t)ordinal * e->async->rounds + round) * e->count + message;
}

static void async_free(kaon_exchange *e) {
  async *gone = e->async;
  if (gone == NULL) return;
  async **at = &self_of(e->comm)->loosened;
  while (*at != gone) at = &(*at)->next;
  *at = gone->next;
  for (int64_t i = 0; i < (int64_t)gone->ordinals * gone->rounds * e->count; i++)
    free(gone->slots[i].out);
  free(gone->slots);
  free(gone);
  e->async = NULL;
}

/* Allocates memory for one more ordinal. */
static kaon_status async_grow(kaon_exchange *e) {
  async *l = e->async;
  const int64_t each = (int64_t)l->rounds * e->count, before = l->ordinals * each;
  async_slot *slots = l->ordinals < ORDINALS
                          ? realloc(l->slots, (size_t)(before + each + 1) * sizeof *slots)
                          : NULL;
  int whole = slots != NULL;
  if (whole) {
    l->slots = slots;
    l->ordinals++;
    for (int64_t i = 0; i < each; i++) {
      const size_t bytes = e->messages[i % e->count].bytes;
      char *out = malloc(2 * bytes + 1);
      slots[before + i] =
          (async_slot){out, out != NULL ? out + bytes : NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
      whole &= out != NULL && bytes <= INT_MAX;
    }
  }
  if (whole) return KAON_OK;
  return kaon_fail(e->comm->ctx, KAON_ERR_MEMORY,
                   "exchange: out of host memory for asynchronous messages of %d rounds",
                   l->rounds);
}

static kaon_status async_capacity(kaon_exchange *e, int rounds) {
  mpi_self *self = self_of(e->comm);
  if (e->async != NULL && e->async->rounds < rounds) async_free(e);
  if (e->async == NULL) {
    e->async = calloc(1, sizeof *e->async);
    if (e->async == NULL)
      return kaon_fail(e->comm->ctx, KAON_ERR_MEMORY, "exchange: out of host memory");
    *e->async = (async){.next = self->loosened, .rounds = rounds, .count = e->count};
    self->loosened = e->async;
  }
  return e->async->at++ < e->async->ordinals ? KAON_OK : async_grow(e);
}

static kaon_status async_start(kaon_exchange *e) {
  const kaon_comm *comm = e->comm;
  const mpi_self *self = self_of(comm);
  async *l = e->async;
  if (l == NULL || l->at == l->ordinals || self->round >= l->rounds)
    return kaon_fail(comm->ctx, KAON_ERR_INTERNAL,
                     "exchange: it was not prepared for asynchronous messages");
  const int ordinal = l->at++;
  for (int i = 0; i < e->count; i++) {
    const kaon_message *m = &e->messages[i];
    async_slot *s = slot_of(e, ordinal, self->round, i);
    const int tag = ASYNC_TAG + ordinal * KAON_DIRS, back = (m->dir + KAON_DIRS / 2) % KAON_DIRS;
    KAON_TRY(check(
        comm,
        MPI_Irecv(s->in, (int)m->bytes, MPI_BYTE, m->peer, tag + back, self->comm, &s->receive),
        "a receive"));
    memcpy(s->out, m->send, m->bytes);
    KAON_TRY(check(
        comm,
        MPI_Isend(s->out, (int)m->bytes, MPI_BYTE, m->peer, tag + m->dir, self->comm, &s->send),
        "a send"));
  }
  return KAON_OK;
}

static kaon_status async_finish(kaon_exchange *e) {
  const kaon_comm *comm = e->comm;
  kaon_message_lags *lags = self_of(comm)->lags;
  const int round = self_of(comm)->round, ordinal = e->async->at - 1;
  for (int i = 0; i < e->count; i++) {
    int newest = round - comm->late, come = 0;
    for (; newest >= 0; newest--) { /* MPI_Test succeeds again for a completed message */
      KAON_TRY(check(comm,
                     MPI_Test(&slot_of(e, ordinal, newest, i)->receive, &come, MPI_STATUS_IGNORE),
                     "a probe for a message"));
      if (come) break;
    }
    if (newest < 0) newest = -1;
    lags->reads++;
    lags->late += newest < round;
    if (round - newest > lags->oldest) lags->oldest = round - newest;
    if (newest >= 0)
      memcpy(e->messages[i].receive, slot_of(e, ordinal, newest, i)->in, e->messages[i].bytes);
    else
      memset(e->messages[i].receive, 0, e->messages[i].bytes);
  }
  return KAON_OK;
}

static kaon_status async_prepare(kaon_comm *comm, int rounds) {
  mpi_self *self = self_of(comm);
  for (async *l = self->loosened; l != NULL; l = l->next) l->at = 0;
  if (rounds > 0) self->prepared = KAON_OK;
  self->mode = rounds > 0 ? PREPARING : WAITING;
  self->rounds = rounds;
  return self->prepared;
}

static void async_round(kaon_comm *comm, int round, kaon_message_lags *lags) {
  mpi_self *self = self_of(comm);
  self->mode = ASYNC_OPEN;
  self->round = round;
  self->lags = lags;
  for (async *l = self->loosened; l != NULL; l = l->next) l->at = 0;
}

/* Requests that are done or were never begun are null, and waiting for them returns at once. */
static kaon_status async_wait(const kaon_comm *comm, async_slot *s) {
  KAON_TRY(check(comm, MPI_Wait(&s->receive, MPI_STATUS_IGNORE), "waiting for a message"));
  return check(comm, MPI_Wait(&s->send, MPI_STATUS_IGNORE), "waiting for a message to leave");
}

static kaon_status async_end(kaon_comm *comm) {
  mpi_self *self = self_of(comm);
  kaon_status first = KAON_OK;
  self->mode = WAITING;
  for (async *l = self->loosened; l != NULL; l = l->next)
    for (int64_t i = 0; i < (int64_t)l->ordinals * l->rounds * l->count; i++) {
      const kaon_status status = async_wait(comm, &l->slots[i]);
      if (first == KAON_OK) first = status;
    }
  return first;
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
  async_free(gone);
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
  kaon_status status = KAON_OK;
  if (copy == NULL)
    status =
        kaon_fail(comm->ctx, KAON_ERR_MEMORY, "exchange: out of host memory for %d messages", n);
  for (int i = 0; i < n && copy != NULL; i++) copy[i] = messages[i];
  for (int i = 0; i < n; i++)
    for (int p = 0; p < pieces_of(comm, &messages[i]) && status == KAON_OK; p++)
      status = declare(made, &messages[i], p, next++, all);
  if (status != KAON_OK)
    exchange_destroy(&made);
  else
    *exchange = made;
  return status;
}

static kaon_status exchange_start(kaon_exchange *exchange) {
  mpi_self *self = self_of(exchange->comm);
  if (self->mode == ASYNC_OPEN) return async_start(exchange);
  if (self->mode == PREPARING) {
    if (self->prepared == KAON_OK) self->prepared = async_capacity(exchange, self->rounds);
    return KAON_OK;
  }
  if (exchange->n == 0) return KAON_OK;
  return check(exchange->comm, MPI_Startall(exchange->n, exchange->requests),
               "starting an exchange");
}

static kaon_status exchange_finish(kaon_exchange *exchange) {
  const mpi_self *self = self_of(exchange->comm);
  if (self->mode == ASYNC_OPEN) return async_finish(exchange);
  if (self->mode == PREPARING) return KAON_OK;
  const kaon_status status =
      await(exchange->comm, exchange->n, exchange->requests, "waiting for an exchange");
  exchange->gave_up = status != KAON_OK;
  return status;
}

/* ---- beginning and end ---- */

static void destroy(kaon_comm **comm) {
  kaon_comm *gone = *comm;
  *comm = NULL;
  if (gone == NULL) return;
  mpi_self *self = self_of(gone);
  int finalised = 0;
  MPI_Finalized(&finalised);
  if (!finalised) kaon_windows_end(gone);
  if (!finalised && self->comm != MPI_COMM_NULL) MPI_Comm_free(&self->comm);
  for (int deep = 0; deep < SUMS_DEEP && !self->gave_up; deep++) free(self->sum[deep].all);
  free(self);
  free(gone);
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
    .async_prepare = async_prepare,
    .async_round = async_round,
    .async_end = async_end,
    .agree = kaon_comm_agree,
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
  KAON_TRY(check(comm,
                 MPI_Comm_split_type(self_of(comm)->comm, MPI_COMM_TYPE_SHARED, comm->rank,
                                     MPI_INFO_NULL, &node),
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
  mpi_self *self = self_of(comm);
  MPI_Comm theirs = MPI_COMM_WORLD;
  if (handle != NULL) memcpy(&theirs, handle, sizeof theirs);
  if (theirs == MPI_COMM_NULL)
    return kaon_fail(comm->ctx, KAON_ERR_ARGUMENT, "ranks: the communicator is MPI_COMM_NULL");
  KAON_TRY(check(comm, MPI_Comm_dup(theirs, &self->comm), "copying the communicator"));
  KAON_TRY(
      check(comm, MPI_Comm_set_errhandler(self->comm, MPI_ERRORS_RETURN), "asking for errors"));
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
  if (made == NULL || self == NULL) {
    free(made);
    free(self);
    return kaon_fail(ctx, KAON_ERR_MEMORY, "MPI: out of host memory");
  }
  *made = (kaon_comm){.ops = &mpi_ops,
                      .ctx = ctx,
                      .ranks = 1,
                      .local_ranks = 1,
                      .piece = INT_MAX / 64 * 64,
                      .self = self};
  self->comm = MPI_COMM_NULL;
  const kaon_status status = open_comm(made, handle);
  if (status != KAON_OK)
    destroy(&made);
  else
    *comm = made;
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
