/* comm_qmp.c - the communicator over QMP (USQCD's message passing), on an allocated communicator of
 * the application or the default one.
 * What QMP lacks is built from what it has:
 * - Values of all ranks are gathered by summing arrays that are 0 except for a rank's own
 *   entries. The order of adding does not change such a sum.
 * - A broadcast from a rank other than 0 first sends the bytes to rank 0.
 * - Sums over ranks are not split. */
#include <limits.h>
#include <qmp.h>
#include <stdlib.h>
#include <string.h>

#include "lib/comm/comm.h"
#include "lib/core/error.h"
#include "lib/vector/layout.h"

enum { SUMS_DEEP = 2 };
typedef struct qmp_self {
  QMP_comm_t comm;
  int owns; /* 1: it was made here (split) */
  /* Sums under way: one that is split, and a whole one within it. */
  struct {
    double *values;
    int n;
  } sum[SUMS_DEEP];
  int begun;
  double *all; /* [rank][n], capacity: comm->room values of each rank */
} qmp_self;

struct kaon_exchange {
  kaon_comm *comm;
  int n;
  QMP_msghandle_t all;   /* receives, then sends; NULL: none */
  QMP_msgmem_t memory[]; /* [2 n] */
};

static int began;

static qmp_self *self_of(const kaon_comm *comm) {
  return comm->self;
}

static kaon_status check(const kaon_comm *comm, QMP_status_t code, const char *what) {
  if (code == QMP_SUCCESS) return KAON_OK;
  return kaon_fail(comm->ctx, KAON_ERR_COMM, "QMP: %s failed on rank %d of %d: %s", what,
                   comm->rank, comm->ranks, QMP_error_string(code));
}

/* ---- values ---- */

static kaon_status reserve(kaon_comm *comm, int n) {
  qmp_self *self = self_of(comm);
  if (n <= comm->room) return KAON_OK;
  double *all = realloc(self->all, (size_t)n * (size_t)comm->ranks * sizeof *all);
  if (all == NULL)
    return kaon_fail(comm->ctx, KAON_ERR_MEMORY,
                     "QMP: out of host memory for sums of %d numbers over %d ranks", n,
                     comm->ranks);
  self->all = all;
  comm->room = n;
  return KAON_OK;
}

static kaon_status gather(kaon_comm *comm, const double *mine, int n, double *all) {
  const size_t total = (size_t)n * (size_t)comm->ranks;
  memset(all, 0, total * sizeof *all);
  memcpy(all + (size_t)n * (size_t)comm->rank, mine, (size_t)n * sizeof *all);
  return check(comm, QMP_comm_sum_double_array(self_of(comm)->comm, all, (int)total),
               "gathering numbers");
}

static kaon_status sum_start(kaon_comm *comm, double *values, int n) {
  qmp_self *self = self_of(comm);
  if (self->begun == SUMS_DEEP)
    return kaon_fail(comm->ctx, KAON_ERR_INTERNAL, "QMP: a sum is begun before the last one ended");
  KAON_TRY(reserve(comm, n));
  self->sum[self->begun].values = values;
  self->sum[self->begun++].n = n;
  return KAON_OK;
}

static kaon_status sum_finish(kaon_comm *comm) {
  qmp_self *self = self_of(comm);
  const int deep = --self->begun, n = self->sum[deep].n; /* the last one begun */
  KAON_TRY(gather(comm, self->sum[deep].values, n, self->all));
  kaon_comm_add(comm, self->all, n, self->sum[deep].values);
  return KAON_OK;
}

/* ---- bytes ---- */

/* Sends bytes from one rank to another; other ranks do nothing. */
static kaon_status pass(kaon_comm *comm, void *data, size_t bytes, int from, int to) {
  QMP_comm_t qmp = self_of(comm)->comm;
  if (from == to || (comm->rank != from && comm->rank != to)) return KAON_OK;
  QMP_msgmem_t memory = QMP_declare_msgmem(data, bytes);
  QMP_msghandle_t handle = comm->rank == from ? QMP_comm_declare_send_to(qmp, memory, to, 0)
                                              : QMP_comm_declare_receive_from(qmp, memory, from, 0);
  kaon_status status = check(comm, QMP_start(handle), "starting a message");
  if (status == KAON_OK) status = check(comm, QMP_wait(handle), "waiting for a message");
  QMP_free_msghandle(handle);
  QMP_free_msgmem(memory);
  return status;
}

static kaon_status broadcast(kaon_comm *comm, void *data, size_t bytes, int root) {
  void *there = data;
  kaon_status status = KAON_OK;
  if (bytes == 0) return KAON_OK;
  status = pass(comm, there, bytes, root, 0);
  if (status == KAON_OK)
    status = check(comm, QMP_comm_broadcast(self_of(comm)->comm, there, bytes), "a broadcast");
  return status;
}

/* ---- exchanges ---- */

static int receive_order(const kaon_message *m) {
  return (m->dir + KAON_DIRS / 2) % KAON_DIRS;
}

/* QMP distinguishes messages between two ranks only by their order. All are sent in the order of
 * their directions and received in the order in which the senders sent them. handles: capacity 2
 * n. */
static void declare(kaon_exchange *exchange, const kaon_message *messages, int n,
                    QMP_msghandle_t *handles) {
  QMP_comm_t qmp = self_of(exchange->comm)->comm;
  int count = 0;
  for (int pass_number = 0; pass_number < 2; pass_number++)
    for (int dir = 0; dir < KAON_DIRS; dir++)
      for (int i = 0; i < n; i++) {
        const kaon_message *m = &messages[i];
        const int receives = pass_number == 0;
        if ((receives ? receive_order(m) : m->dir) != dir) continue;
        QMP_msgmem_t memory = QMP_declare_msgmem(receives ? m->receive : m->send, m->bytes);
        exchange->memory[count] = memory;
        handles[count++] = receives ? QMP_comm_declare_receive_from(qmp, memory, m->peer, 0)
                                    : QMP_comm_declare_send_to(qmp, memory, m->peer, 0);
      }
  exchange->all = QMP_declare_multiple(handles, count);
}

static void exchange_destroy(kaon_exchange **exchange) {
  kaon_exchange *gone = *exchange;
  *exchange = NULL;
  if (gone == NULL) return;
  if (QMP_is_initialized()) {
    if (gone->all != NULL) QMP_free_msghandle(gone->all);
    for (int i = 0; i < 2 * gone->n; i++) QMP_free_msgmem(gone->memory[i]);
  }
  free(gone);
}

static kaon_status exchange_create(kaon_comm *comm, const kaon_message *messages, int n,
                                   kaon_exchange **exchange) {
  *exchange = NULL;
  for (int i = 0; i < n; i++)
    if (messages[i].bytes > INT_MAX)
      return kaon_fail(comm->ctx, KAON_ERR_UNSUPPORTED,
                       "exchange: a message has %zu bytes, but QMP sends at most %d at once; take "
                       "fewer columns at once, more ranks, or MPI",
                       messages[i].bytes, INT_MAX);
  const size_t count = 2 * (size_t)n;
  kaon_exchange *made = calloc(1, sizeof *made + count * sizeof made->memory[0]);
  QMP_msghandle_t *handles = calloc(count + 1, sizeof *handles);
  if (made == NULL || handles == NULL) {
    free(made);
    free(handles);
    return kaon_fail(comm->ctx, KAON_ERR_MEMORY, "exchange: out of host memory for %d messages", n);
  }
  made->comm = comm;
  made->n = n;
  if (n > 0) declare(made, messages, n, handles); /* copies them */
  free(handles);
  *exchange = made;
  if (n == 0 || made->all != NULL) return KAON_OK;
  exchange_destroy(exchange);
  return kaon_fail(comm->ctx, KAON_ERR_COMM, "QMP: %d messages could not be declared", n);
}

static kaon_status exchange_start(kaon_exchange *exchange) {
  if (exchange->n == 0) return KAON_OK;
  return check(exchange->comm, QMP_start(exchange->all), "starting an exchange");
}

static kaon_status exchange_finish(kaon_exchange *exchange) {
  if (exchange->n == 0) return KAON_OK;
  return check(exchange->comm, QMP_wait(exchange->all), "waiting for an exchange");
}

/* ---- beginning and end ---- */

static void destroy(kaon_comm **comm) {
  kaon_comm *gone = *comm;
  *comm = NULL;
  if (gone == NULL) return;
  if (self_of(gone)->owns && QMP_is_initialized()) QMP_comm_free(self_of(gone)->comm);
  free(self_of(gone)->all);
  free(gone->self);
  free(gone);
}

static kaon_status split(kaon_comm *comm, int colour, int key, kaon_context *ctx,
                         kaon_comm **part) {
  QMP_comm_t theirs = NULL;
  *part = NULL;
  KAON_TRY(
      check(comm, QMP_comm_split(self_of(comm)->comm, colour, key, &theirs), "dividing the ranks"));
  const kaon_status status = kaon_comm_ranks_create(ctx, &theirs, part);
  if (*part != NULL)
    self_of(*part)->owns = 1;
  else
    QMP_comm_free(theirs);
  return status;
}

static const kaon_comm_ops qmp_ops = {
    .name = "QMP",
    .reserve = reserve,
    .sum_start = sum_start,
    .sum_finish = sum_finish,
    .gather = gather,
    .broadcast = broadcast,
    .exchange_create = exchange_create,
    .exchange_start = exchange_start,
    .exchange_finish = exchange_finish,
    .exchange_destroy = exchange_destroy,
    .split = split,
    .destroy = destroy,
};

static kaon_status initialise(kaon_context *ctx) {
  static char name[] = "kaon";
  char *words[] = {name, NULL}, **argv = words;
  int argc = 1;
  QMP_thread_level_t given;
  if (QMP_is_initialized()) return KAON_OK;
  if (QMP_init_msg_passing(&argc, &argv, QMP_THREAD_FUNNELED, &given) != QMP_SUCCESS)
    return kaon_fail(ctx, KAON_ERR_COMM, "QMP: it does not start");
  began = 1;
  return KAON_OK;
}

/* QMP does not report which ranks share a node. Their host names do, compared as numbers. */
static kaon_status find_node(kaon_comm *comm) {
  double mine = 0;
  char host[256] = "";
  kaon_comm_host(host, sizeof host);
  for (const char *c = host; *c != '\0'; c++)
    mine = (double)((uint64_t)(mine * 131 + *c) % (1 << 26));
  KAON_AUTOFREE double *all = malloc((size_t)comm->ranks * sizeof *all);
  if (all == NULL) return kaon_fail(comm->ctx, KAON_ERR_MEMORY, "QMP: out of host memory");
  const kaon_status status = gather(comm, &mine, 1, all);
  comm->local_ranks = 0;
  for (int r = 0; r < comm->ranks; r++) {
    if (all[r] != mine) continue;
    if (r < comm->rank) comm->local_rank++;
    comm->local_ranks++;
  }
  return status;
}

const char *kaon_comm_ranks_name(void) {
  return "QMP";
}

kaon_status kaon_comm_ranks_create(kaon_context *ctx, const void *handle, kaon_comm **comm) {
  *comm = NULL;
  KAON_TRY(initialise(ctx));
  kaon_comm *made = calloc(1, sizeof *made);
  qmp_self *self = calloc(1, sizeof *self);
  if (made == NULL || self == NULL) {
    free(made);
    free(self);
    return kaon_fail(ctx, KAON_ERR_MEMORY, "QMP: out of host memory");
  }
  *made = (kaon_comm){.ops = &qmp_ops, .ctx = ctx, .self = self};
  self->comm = QMP_comm_get_default();
  if (handle != NULL) memcpy(&self->comm, handle, sizeof self->comm);
  made->rank = QMP_comm_get_node_number(self->comm);
  made->ranks = QMP_comm_get_number_of_nodes(self->comm);
  const kaon_status status = find_node(made);
  *comm = made;
  if (status != KAON_OK) destroy(comm);
  return status;
}

void kaon_comm_ranks_end(void) {
  if (began && QMP_is_initialized()) QMP_finalize_msg_passing();
}

int kaon_comm_ranks_finish(double seconds, int *first) {
  (void)first;
  if (began && QMP_is_initialized() && seconds >= 0) return 0;
  kaon_comm_ranks_end();
  return 1;
}
