/* remote_values_exchange.c - the memory for values of other ranks, and their transfer. See
 * remote_values.h.
 *
 * How a value is ordered before the counter that counts it:
 *   kernels   as kaon_block_ghosts says: stores, then a counter with release; a counter with
 *             acquire, then loads, all at system scope
 *   DC        the queue: a launch has ended before its results are copied, values before counters
 *   AMC       counters are read (acquire) before the values sent with them, and put into the window
 *             after them; the receiver gets the counters before the values
 * So in every kind, what a block reads is at least as new as the counter that it read. */
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "lib/cpu/clock.h"
#include "lib/core/error.h"
#include "sparse/ranks/remote_values_internal.h"

static kaon_status no_memory(const kaon_remote_values *a, size_t numbers) {
  return kaon_fail(a->ctx, KAON_ERR_MEMORY, "exchange: out of host memory for %zu numbers",
                   numbers);
}

static int on_host(const kaon_remote_values *a) {
  return a->ctx->backend->host_accessible;
}

/* ---- memory ---- */

void kaon_remote_values_clear(kaon_remote_values *a) {
  kaon_context *ctx = a->ctx;
  for (int i = 0; i < KAON_REMOTE_VALUE_ADDRESSES; i++) {
    kaon_pool_release(ctx, a->address[i]);
    a->address[i] = NULL;
  }
  if (a->shared != NULL)
    ctx->backend->ranks->unshare(ctx, &a->shared);
  else if (a->exchange_kind == KAON_EXCHANGE_AMC)
    kaon_pool_release(ctx, a->mine);
  if (a->comm_window != NULL) ctx->comm->ops->window_destroy(&a->comm_window);
  free(a->there);
  free(a->stage);
  a->mine = a->stage = NULL;
  a->there = NULL;
  a->columns = 0;
}

/* Creates a window that both CPUs and devices put into, in shared memory if all ranks share a node,
 * and local buffers on each rank. */
static kaon_status create_window(kaon_remote_values *a) {
  kaon_context *ctx = a->ctx;
  const int mapped = ctx->comm->local_ranks == ctx->comm->ranks;
  size_t most = a->box.bytes;
  void *box = NULL;
  KAON_TRY(ctx->comm->ops->window_create(ctx->comm, most, mapped, &a->comm_window));
  a->stage = calloc(most, 1);
  kaon_status status =
      KAON_CHECK_MEMORY(ctx, a->stage != NULL, "exchange: out of host memory for %zu bytes", most);
  if (status == KAON_OK) status = kaon_pool_allocate(ctx, most, "rows of other ranks", &box);
  a->mine = box;
  if (status == KAON_OK) status = ctx->backend->memory->clear(ctx, box, most);
  return status;
}

/* Creates buffers that all ranks reach. */
static kaon_status create_shared(kaon_remote_values *a) {
  kaon_context *ctx = a->ctx;
  const int ranks = ctx->comm->ranks;
  if (on_host(a)) {
    KAON_TRY(ctx->comm->ops->window_create(ctx->comm, a->box.bytes, 1, &a->comm_window));
    memcpy(a->there, a->comm_window->there, (size_t)ranks * sizeof *a->there);
  } else {
    KAON_TRY(ctx->backend->ranks->share(ctx, a->box.bytes, &a->shared, (void **)a->there));
  }
  a->mine = a->there[ctx->comm->rank];
  return KAON_OK;
}

static kaon_status allocate_memory(kaon_remote_values *a) {
  kaon_context *ctx = a->ctx;
  a->there = calloc((size_t)ctx->comm->ranks, sizeof *a->there);
  KAON_TRY(KAON_AGREE_MEMORY(ctx, a->there != NULL, "exchange: out of host memory"));
  if (a->exchange_kind == KAON_EXCHANGE_AMC) return kaon_agree(ctx, create_window(a));
  kaon_status status = kaon_agree(ctx, create_shared(a));
  if (status != KAON_ERR_UNSUPPORTED || ctx->comm->ops->window_create == NULL) return status;
  snprintf(a->note, sizeof a->note, "exchange %s is not available (%.90s); amc is used",
           kaon_exchange_name(a->exchange_kind), kaon_last_error(ctx));
  kaon_error_clear();
  a->exchange_kind = KAON_EXCHANGE_AMC;
  return kaon_agree(ctx, create_window(a));
}

/* ---- addresses ---- */

typedef enum side { HERE, THERE } side;

/* The address of an element, or a counter slot, received or sent. It is in this rank's buffer, or
 * in that of the message's remote rank, where what is sent here is what is received, and vice
 * versa. */
static uint64_t address_of(const kaon_remote_values *a, int32_t number, int counter, int sent,
                           side s) {
  const kaon_remote_rank *p = kaon_remote_rank_of(a, number);
  const kaon_box theirs = kaon_box_of(a, p->elements, a->columns);
  const kaon_box *box = s == HERE ? &a->box : &theirs;
  const char *base = s == HERE ? a->mine : a->there[p->rank];
  const int64_t at = s == HERE ? number : p->there + (number - p->first);
  const size_t begin = counter ? (sent ? box->sent_counts : box->incoming_counts)
                               : (sent ? box->sent : box->incoming);
  return (uint64_t)(uintptr_t)(base + begin + (size_t)at * (counter ? box->counter : box->element));
}

static kaon_status list_addresses(kaon_remote_values *a, int n, const int32_t *numbers,
                                  int64_t count, int counter, int sent, side s,
                                  const uint64_t **device) {
  uint64_t *list = malloc(((size_t)count + 1) * sizeof *list);
  if (list == NULL) return no_memory(a, (size_t)count);
  for (int64_t i = 0; i < count; i++)
    list[i] = numbers[i] < 0 ? 0 : address_of(a, numbers[i], counter, sent, s);
  list[count] = 0;
  const kaon_status status = kaon_table_upload(a->ctx, list, ((size_t)count + 1) * sizeof *list,
                                               "addresses at other ranks", &a->address[n]);
  free(list);
  *device = a->address[n];
  return status;
}

static kaon_status find_addresses(kaon_remote_values *a) {
  const int pull = a->exchange_kind == KAON_EXCHANGE_DK,
            push = a->exchange_kind == KAON_EXCHANGE_PUSH;
  const side from = pull ? THERE : HERE, to = push ? THERE : HERE;
  kaon_block_ghosts *g = &a->ghosts;
  KAON_TRY(list_addresses(a, 0, a->ghost, a->entries, 0, pull, from, &g->from));
  KAON_TRY(list_addresses(a, 1, a->read_slot, a->reads, 1, pull, from, &g->there));
  KAON_TRY(list_addresses(a, 2, a->element, a->sends, 0, !push, to, &g->to));
  return list_addresses(a, 3, a->notify_slot, a->notifications, 1, !push, to, &g->notify);
}

kaon_status kaon_remote_values_reserve(kaon_remote_values *a, int columns) {
  if (a->exchange_kind == KAON_EXCHANGE_SYNC || a->columns == columns) return KAON_OK;
  kaon_remote_values_clear(a);
  a->box = kaon_box_of(a, a->elements, columns);
  kaon_status status = allocate_memory(a);
  a->columns = columns;
  if (status == KAON_OK) status = kaon_agree(a->ctx, find_addresses(a));
  if (status != KAON_OK) kaon_remote_values_clear(a);
  return status;
}

/* ---- through the window ---- */

/* Copies n values of `bytes` bytes each, while others may write the source or read the
 * destination. */
static void copy_atomic(void *to, const void *from, int bytes, int64_t n, int order_from,
                        int order_to) {
  for (int64_t i = 0; i < n; i++) {
    if (bytes == 8) {
      const uint64_t x = __atomic_load_n((const uint64_t *)from + i, __ATOMIC_RELAXED);
      __atomic_store_n((uint64_t *)to + i, x, __ATOMIC_RELAXED);
    } else {
      const uint32_t x = order_from == __ATOMIC_ACQUIRE
                             ? __atomic_load_n((const uint32_t *)from + i, __ATOMIC_ACQUIRE)
                             : __atomic_load_n((const uint32_t *)from + i, __ATOMIC_RELAXED);
      if (order_to == __ATOMIC_RELEASE)
        __atomic_store_n((uint32_t *)to + i, x, __ATOMIC_RELEASE);
      else
        __atomic_store_n((uint32_t *)to + i, x, __ATOMIC_RELAXED);
    }
  }
}

/* The number of values in a number of elements. */
static int64_t numbers_of(const kaon_remote_values *a, int64_t elements) {
  return elements * a->reals * a->columns;
}

/* Sends one message, if one of its counters has changed since it was last sent (`always`: in any
 * case). */
static kaon_status put(kaon_remote_values *a, const kaon_remote_rank *p, int always) {
  const kaon_box theirs = kaon_box_of(a, p->elements, a->columns);
  const int width = (int)kaon_precision_bytes(a->precision);
  const size_t values = a->box.sent + (size_t)p->first * a->box.element;
  const size_t counts = a->box.sent_counts + (size_t)p->first * a->box.counter;
  const int64_t counters = p->local_counters * a->columns;
  int changed = always;
  if (p->send_count == 0) return KAON_OK;
  if (on_host(a)) {
    const int32_t *now = (const int32_t *)(const void *)(a->mine + counts);
    int32_t *last = (int32_t *)(void *)(a->stage + counts);
    for (int64_t i = 0; i < counters && !changed; i++)
      changed = __atomic_load_n(&now[i], __ATOMIC_RELAXED) != last[i];
    if (!changed) return KAON_OK;
    copy_atomic(last, now, sizeof *now, counters, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
    copy_atomic(a->stage + values, a->mine + values, width, numbers_of(a, p->send_count),
                __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  }
  KAON_TRY(a->ctx->comm->ops->window_put(a->comm_window, p->rank,
                                         theirs.incoming + (size_t)p->there * theirs.element,
                                         a->stage + values, width, numbers_of(a, p->send_count)));
  return a->ctx->comm->ops->window_put(a->comm_window, p->rank,
                                       theirs.incoming_counts + (size_t)p->there * theirs.counter,
                                       a->stage + counts, sizeof(int32_t), counters);
}

/* Receives one message. */
static kaon_status get(kaon_remote_values *a, const kaon_remote_rank *p) {
  const int width = (int)kaon_precision_bytes(a->precision);
  const size_t values = a->box.incoming + (size_t)p->first * a->box.element;
  const size_t counts = a->box.incoming_counts + (size_t)p->first * a->box.counter;
  const int64_t counters = p->remote_counters * a->columns,
                numbers = numbers_of(a, p->receive_count);
  if (p->receive_count == 0) return KAON_OK;
  KAON_TRY(a->ctx->comm->ops->window_get(a->comm_window, counts, a->stage + counts, sizeof(int32_t),
                                         counters));
  KAON_TRY(
      a->ctx->comm->ops->window_get(a->comm_window, values, a->stage + values, width, numbers));
  if (!on_host(a)) return KAON_OK;
  copy_atomic(a->mine + values, a->stage + values, width, numbers, __ATOMIC_RELAXED,
              __ATOMIC_RELAXED);
  copy_atomic(a->mine + counts, a->stage + counts, sizeof(int32_t), counters, __ATOMIC_RELAXED,
              __ATOMIC_RELEASE);
  return KAON_OK;
}

static kaon_status put_all(kaon_remote_values *a, int always) {
  const kaon_memory_ops *memory = a->ctx->backend->memory;
  const size_t sent = a->box.bytes - a->box.sent;
  if (!on_host(a)) /* the launch has ended, so values and counters belong together */
    KAON_TRY(memory->to_host(a->ctx, a->stage + a->box.sent, a->mine + a->box.sent, sent));
  for (int i = 0; i < a->peers; i++) KAON_TRY(put(a, &a->remote_rank[i], always));
  return KAON_OK;
}

static kaon_status get_all(kaon_remote_values *a) {
  for (int i = 0; i < a->peers; i++) KAON_TRY(get(a, &a->remote_rank[i]));
  if (on_host(a)) return KAON_OK;
  return a->ctx->backend->memory->to_device(a->ctx, a->mine, a->stage, a->box.sent);
}

int kaon_remote_values_progress_once(void *remote_values) {
  kaon_remote_values *a = remote_values;
  if (a->failure == KAON_OK) a->failure = put_all(a, 0);
  if (a->failure == KAON_OK) a->failure = get_all(a);
  return a->failure != KAON_OK;
}

kaon_status kaon_remote_values_failure(const kaon_remote_values *a) {
  return a->failure;
}

/* ---- by copies ---- */

static kaon_status copy_all(kaon_remote_values *a) {
  const kaon_ranks_ops *ranks = a->ctx->backend->ranks;
  for (int counters = 0; counters < 2; counters++)
    for (int i = 0; i < a->peers; i++) {
      const kaon_remote_rank *p = &a->remote_rank[i];
      const kaon_box theirs = kaon_box_of(a, p->elements, a->columns);
      const size_t one = counters ? a->box.counter : a->box.element;
      const size_t from = (counters ? a->box.sent_counts : a->box.sent) + (size_t)p->first * one;
      const size_t to =
          (counters ? theirs.incoming_counts : theirs.incoming) + (size_t)p->there * one;
      const size_t bytes = (size_t)(counters ? p->local_counters : p->send_count) * one;
      if (bytes > 0) KAON_TRY(ranks->copy(a->ctx, a->there[p->rank] + to, a->mine + from, bytes));
    }
  return KAON_OK;
}

/* ---- in a sweep ---- */

kaon_status kaon_remote_values_progress(kaon_remote_values *a) {
  if (a->exchange_kind == KAON_EXCHANGE_DC) return copy_all(a);
  if (a->exchange_kind != KAON_EXCHANGE_AMC) return KAON_OK;
  KAON_TRY(put_all(a, 0));
  return get_all(a);
}

kaon_status kaon_remote_values_synchronise(kaon_remote_values *a, kaon_status mine) {
  kaon_context *ctx = a->ctx;
  a->failure = KAON_OK;
  if (mine == KAON_OK && a->exchange_kind == KAON_EXCHANGE_DC) mine = copy_all(a);
  if (mine == KAON_OK && a->exchange_kind == KAON_EXCHANGE_AMC) mine = put_all(a, 1);
  if (mine == KAON_OK) mine = ctx->backend->memory->synchronise(ctx);
  KAON_TRY(kaon_agree(ctx, mine));
  /* What is received may be newer than the initial values. A failure is this rank's only. */
  if (a->exchange_kind == KAON_EXCHANGE_AMC) a->failure = get_all(a);
  return KAON_OK;
}

/* Checks the host's copy of what was received. */
static int all_reached(const kaon_remote_values *a, int column, int32_t least) {
  for (int i = 0; i < a->peers; i++) {
    const kaon_remote_rank *p = &a->remote_rank[i];
    const int32_t *counts = (const int32_t *)(const void *)(a->stage + a->box.incoming_counts +
                                                            (size_t)p->first * a->box.counter);
    if (p->receive_count == 0) continue;
    for (int64_t n = 0; n < p->remote_counters; n++)
      if (counts[n * a->columns + column] < least) return 0;
  }
  return 1;
}

kaon_status kaon_remote_values_await(kaon_remote_values *a, int column, int32_t least) {
  const struct timespec pause = {0, 20000};
  const double begin = kaon_seconds();
  while (!all_reached(a, column, least)) {
    if (kaon_seconds() - begin > a->ctx->options.patience)
      return kaon_fail(a->ctx, KAON_ERR_COMM,
                       "exchange: rank %d waited %g s for another rank to do %d iterations",
                       a->ctx->comm->rank, a->ctx->options.patience, (int)least);
    nanosleep(&pause, NULL);
    KAON_TRY(kaon_remote_values_progress(a));
  }
  return KAON_OK;
}

/* On a device: marks all sent counters as finished after the launches so far, and copies them to
 * where other ranks read them. */
static kaon_status mark_there(kaon_remote_values *a) {
  const kaon_ranks_ops *ranks = a->ctx->backend->ranks;
  const size_t counters = (size_t)a->elements * (size_t)a->columns;
  int32_t *marked = malloc((counters + 1) * sizeof *marked);
  if (marked == NULL) return no_memory(a, counters);
  for (size_t n = 0; n < counters; n++) marked[n] = KAON_BLOCK_FINISHED;
  kaon_status status = a->ctx->backend->memory->to_device(a->ctx, a->mine + a->box.sent_counts,
                                                          marked, counters * sizeof *marked);
  free(marked);
  for (int i = 0; i < a->peers && a->exchange_kind != KAON_EXCHANGE_DK && status == KAON_OK; i++) {
    const kaon_remote_rank *p = &a->remote_rank[i];
    const kaon_box theirs = kaon_box_of(a, p->elements, a->columns);
    const size_t one = a->box.counter;
    if (p->local_counters > 0)
      status = ranks->copy(
          a->ctx, a->there[p->rank] + theirs.incoming_counts + (size_t)p->there * one,
          a->mine + a->box.sent_counts + (size_t)p->first * one, (size_t)p->local_counters * one);
  }
  return status == KAON_OK ? a->ctx->backend->memory->synchronise(a->ctx) : status;
}

/* AMC on a device: marks them in the window. */
static kaon_status mark_in_window(kaon_remote_values *a) {
  for (int i = 0; i < a->peers; i++) {
    const kaon_remote_rank *p = &a->remote_rank[i];
    int32_t *counts =
        (int32_t *)(void *)(a->stage + a->box.sent_counts + (size_t)p->first * a->box.counter);
    for (int64_t n = 0; n < p->local_counters * a->columns; n++) counts[n] |= KAON_BLOCK_FINISHED;
    KAON_TRY(put(a, p, 1));
  }
  return KAON_OK;
}

kaon_status kaon_remote_values_finish(kaon_remote_values *a) {
  if (!on_host(a)) return a->exchange_kind == KAON_EXCHANGE_AMC ? mark_in_window(a) : mark_there(a);
  for (int64_t n = 0; n < a->notifications; n++) {
    int32_t *counter = (int32_t *)(uintptr_t)a->ghosts.notify[n];
    for (int k = 0; k < a->columns; k++)
      __atomic_fetch_or(&counter[k], KAON_BLOCK_FINISHED, __ATOMIC_RELEASE);
  }
  return a->exchange_kind == KAON_EXCHANGE_AMC ? put_all(a, 1) : KAON_OK;
}
