/* remote_values.c - makes the lists of the values that blocks of rows read from other ranks'
 * blocks, and of those they send. Once for a matrix and block length. See remote_values.h. */
#include "sparse/ranks/remote_values_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sparse/storage/number.h"
#include "sparse/ranks/rank_rows.h"

kaon_box kaon_box_of(const kaon_remote_values *a, int64_t elements, int columns) {
  enum { LINE = 256 };
  kaon_box b = {.element = (size_t)(a->reals * columns) * kaon_precision_bytes(a->precision),
                .counter = (size_t)columns * sizeof(int32_t)};
  const size_t values = ((size_t)elements * b.element + LINE - 1) / LINE * LINE;
  const size_t counters = ((size_t)elements * b.counter + LINE - 1) / LINE * LINE;
  b.incoming_counts = values;
  b.sent = values + counters;
  b.sent_counts = 2 * values + counters;
  b.bytes = 2 * (values + counters) + LINE;
  return b;
}

const kaon_remote_rank *kaon_remote_rank_of(const kaon_remote_values *a, int64_t element) {
  int n = 0;
  while (n + 1 < a->peers && a->remote_rank[n + 1].first <= element) n++;
  return &a->remote_rank[n];
}

kaon_relax_exchange kaon_remote_values_exchange(const kaon_remote_values *a) {
  return a != NULL ? a->exchange_kind : KAON_EXCHANGE_SYNC;
}

const char *kaon_remote_values_note(const kaon_remote_values *a) {
  return a != NULL ? a->note : "";
}

const kaon_block_ghosts *kaon_remote_values_ghosts(const kaon_remote_values *a) {
  return &a->ghosts;
}

int kaon_remote_values_by_kernels(const kaon_remote_values *a) {
  return a->exchange_kind == KAON_EXCHANGE_DK || a->exchange_kind == KAON_EXCHANGE_PUSH ||
         (a->exchange_kind == KAON_EXCHANGE_AMC && a->ctx->backend->host_accessible);
}

/* ---- the kind of exchange ---- */

const char *kaon_exchange_name(kaon_relax_exchange exchange_kind) {
  static const char *const names[] = {"auto", "amc", "dc", "dk", "push", "sync"};
  return names[exchange_kind];
}

static int one_node(const kaon_context *ctx) {
  return ctx->comm->local_ranks == ctx->comm->ranks;
}

/* Why an exchange is not available; NULL: it is. */
static const char *lacks(const kaon_context *ctx, kaon_relax_exchange exchange_kind) {
  const int device = !ctx->backend->host_accessible;
  const int boards = ctx->comm->ops->window_create != NULL;
  if (exchange_kind == KAON_EXCHANGE_AMC)
    return boards ? NULL : "the communicator has no one-sided messages";
  if (!one_node(ctx)) return "ranks are on several nodes";
  if (device) return ctx->backend->ranks->share != NULL ? NULL : "devices share no memory";
  if (exchange_kind == KAON_EXCHANGE_DC) return "a CPU has no copy engines";
  return boards ? NULL : "the communicator shares no memory";
}

/* Chooses the first available exchange, beginning with the requested one. */
static void choose(kaon_remote_values *a, kaon_relax_exchange wanted) {
  const kaon_relax_exchange order[] = {wanted == KAON_EXCHANGE_AUTO ? KAON_EXCHANGE_PUSH : wanted,
                                       KAON_EXCHANGE_AMC, KAON_EXCHANGE_SYNC};
  const char *why = NULL;
  for (int i = 0; i < 3; i++) {
    a->exchange_kind = order[i];
    if (a->exchange_kind == KAON_EXCHANGE_SYNC) break;
    const char *missing = lacks(a->ctx, a->exchange_kind);
    if (missing == NULL) break;
    if (why == NULL) why = missing;
  }
  a->note[0] = '\0';
  if (a->exchange_kind != wanted && wanted != KAON_EXCHANGE_AUTO)
    snprintf(a->note, sizeof a->note, "exchange %s is not available (%s); %s is used",
             kaon_exchange_name(wanted), why != NULL ? why : "",
             kaon_exchange_name(a->exchange_kind));
}

/* ---- remote ranks ---- */

static kaon_status no_memory(const kaon_remote_values *a) {
  return kaon_fail(a->ctx, KAON_ERR_MEMORY, "exchange: out of host memory for %lld elements",
                   (long long)a->elements);
}

typedef struct work {
  const kaon_matrix *matrix;
  const kaon_row_blocks *blocks;
  kaon_row_lists lists;
  int32_t *block;                     /* [element] the local block that sends it */
  int32_t *sent_slot, *incoming_slot; /* [element] the counter sent, received with it */
  int64_t *count, *incoming;          /* [rank] items sent and received */
} work;

static int64_t number_of(const work *w, int64_t row) {
  return w->matrix->number != NULL ? w->matrix->number[row] : row;
}

static kaon_status create_partners(kaon_remote_values *a, work *w) {
  const size_t elements = (size_t)a->elements + 1, ranks = (size_t)a->ctx->comm->ranks;
  a->remote_rank = calloc((size_t)a->peers + 1, sizeof *a->remote_rank);
  w->block = malloc(elements * sizeof *w->block);
  w->sent_slot = malloc(elements * sizeof *w->sent_slot);
  w->incoming_slot = malloc(elements * sizeof *w->incoming_slot);
  w->count = calloc(ranks, sizeof *w->count);
  w->incoming = calloc(ranks, sizeof *w->incoming);
  if (a->remote_rank == NULL || w->block == NULL || w->sent_slot == NULL ||
      w->incoming_slot == NULL || w->count == NULL || w->incoming == NULL)
    return no_memory(a);
  for (int i = 0; i < a->peers; i++) {
    kaon_remote_rank *p = &a->remote_rank[i];
    p->rank = w->lists.peer[i];
    p->first = w->lists.first[i];
    while (p->first + p->receive_count < w->lists.first[i + 1] &&
           w->matrix->rows->ghost_row[p->first + p->receive_count] >= 0)
      p->receive_count++;
  }
  for (int64_t n = 0; n < a->elements; n++)
    w->block[n] = (int32_t)(number_of(w, w->lists.row[n]) / w->blocks->block);
  return KAON_OK;
}

/* Exchanges how many elements of each message the other rank reads. */
static kaon_status trade_lengths(kaon_remote_values *a, work *w) {
  KAON_AUTOFREE int32_t *mine = malloc(((size_t)a->peers + 1) * sizeof *mine);
  KAON_AUTOFREE void *received = NULL;
  KAON_TRY(kaon_agree(a->ctx, mine != NULL ? KAON_OK : no_memory(a)));
  for (int i = 0; i < a->peers; i++) {
    mine[i] = (int32_t)a->remote_rank[i].receive_count;
    w->count[a->remote_rank[i].rank] = 1;
  }
  KAON_TRY(kaon_ranks_trade(a->ctx, sizeof *mine, w->count, mine, w->incoming, &received));
  for (int i = 0; i < a->peers; i++) a->remote_rank[i].send_count = ((const int32_t *)received)[i];
  return KAON_OK;
}

/* Numbers the counter of each element of a message: the index of its block among the message's
 * blocks. */
static kaon_status number_counters(const kaon_remote_values *a, const work *w,
                                   kaon_remote_rank *p) {
  KAON_AUTOFREE int32_t *at = malloc(((size_t)a->blocks + 1) * sizeof *at);
  if (at == NULL) return no_memory(a);
  for (int64_t b = 0; b < a->blocks; b++) at[b] = -1;
  for (int64_t n = p->first; n < p->first + p->send_count; n++) at[w->block[n]] = 0;
  p->local_counters = 0;
  for (int64_t b = 0; b < a->blocks; b++)
    if (at[b] == 0) at[b] = (int32_t)p->local_counters++;
  for (int64_t n = p->first; n < p->first + p->send_count; n++)
    w->sent_slot[n] = (int32_t)p->first + at[w->block[n]];
  return KAON_OK;
}

enum { HEAD = 3 };

static int32_t *items_for_others(kaon_remote_values *a, work *w) {
  int64_t all = 0;
  for (int i = 0; i < a->peers; i++) all += HEAD + a->remote_rank[i].send_count;
  int32_t *items = malloc(((size_t)all + 1) * sizeof *items), *to = items;
  for (int i = 0; i < a->peers && items != NULL; i++) {
    const kaon_remote_rank *p = &a->remote_rank[i];
    w->count[p->rank] = HEAD + p->send_count;
    *to++ = (int32_t)a->elements;
    *to++ = (int32_t)p->first;
    *to++ = (int32_t)p->local_counters;
    for (int64_t n = p->first; n < p->first + p->send_count; n++)
      *to++ = w->sent_slot[n] - (int32_t)p->first;
  }
  return items;
}

/* Exchanges the positions of our messages on the other ranks, and the counters of what is
 * received. */
static kaon_status trade_places(kaon_remote_values *a, work *w) {
  kaon_status status = KAON_OK;
  KAON_AUTOFREE void *received = NULL;
  for (int i = 0; i < a->peers && status == KAON_OK; i++)
    status = number_counters(a, w, &a->remote_rank[i]);
  int32_t *items = status == KAON_OK ? items_for_others(a, w) : NULL;
  if (status == KAON_OK && items == NULL) status = no_memory(a);
  status = kaon_agree(a->ctx, status);
  if (status == KAON_OK)
    status = kaon_ranks_trade(a->ctx, sizeof *items, w->count, items, w->incoming, &received);
  const int32_t *from = received;
  for (int i = 0; i < a->peers && status == KAON_OK; i++) {
    kaon_remote_rank *p = &a->remote_rank[i];
    p->elements = *from++;
    p->there = *from++;
    p->remote_counters = *from++;
    for (int64_t n = p->first; n < p->first + p->receive_count; n++)
      w->incoming_slot[n] = (int32_t)p->first + *from++;
  }
  free(items);
  return status;
}

/* ---- lists ---- */

static kaon_status upload(kaon_remote_values *a, int n, const void *host, size_t bytes,
                          const void **device) {
  KAON_TRY(
      kaon_table_upload(a->ctx, host, bytes > 0 ? bytes : 1, "rows of other ranks", &a->list[n]));
  *device = a->list[n];
  return KAON_OK;
}

static int is_ghost(const kaon_csr *csr, int64_t n) {
  return csr->column[n] >= csr->rows;
}

/* Lists the entries by slices, as row_blocks.c does for one rank. Lanes without an entry are
 * padding. */
static kaon_status list_entries(kaon_remote_values *a, const work *w) {
  const kaon_row_blocks *m = w->blocks;
  const kaon_csr *csr = w->matrix->rows->rows;
  const int64_t slices = m->blocks * m->slices;
  KAON_AUTOFREE int64_t *start = calloc((size_t)slices + 2, sizeof *start);
  KAON_AUTOFREE double *value = NULL;
  const void *table = NULL;
  if (start == NULL) return no_memory(a);
  for (int pass = 0; pass < 2; pass++) {
    for (int64_t i = 0; i < csr->rows; i++) {
      const int64_t number = number_of(w, i), block = number / m->block;
      const int64_t at = number - block * m->block, slice = block * m->slices + at / m->width;
      int64_t count = 0;
      for (int64_t n = csr->start[i]; n < csr->start[i + 1]; n++) {
        if (!is_ghost(csr, n)) continue;
        const int64_t to = (start[slice] + count++) * m->width + at % m->width;
        if (pass == 0) continue;
        a->ghost[to] = (int32_t)(csr->column[n] - csr->rows);
        kaon_number_put(value, to, a->reals, kaon_number_at(csr->value, n, a->reals));
      }
      if (pass == 0 && count > start[slice + 1]) start[slice + 1] = count;
    }
    if (pass == 1) break;
    for (int64_t s = 0; s < slices; s++) start[s + 1] += start[s];
    a->entries = start[slices] * m->width;
    a->ghost = malloc(((size_t)a->entries + 1) * sizeof *a->ghost);
    value = calloc((size_t)(a->entries * a->reals) + 1, sizeof *value);
    for (int64_t n = 0; n < a->entries && a->ghost != NULL; n++) a->ghost[n] = -1;
    if (a->ghost == NULL || value == NULL) break;
  }
  kaon_status status = a->ghost != NULL && value != NULL ? KAON_OK : no_memory(a);
  const int64_t numbers = a->entries * a->reals;
  if (status == KAON_OK && a->precision == KAON_SINGLE) /* in place: a single is not longer */
    for (int64_t i = 0; i < numbers; i++) {
      const float rounded = (float)value[i];
      memcpy((char *)value + (size_t)i * sizeof rounded, &rounded, sizeof rounded);
    }
  if (status == KAON_OK) status = upload(a, 0, start, (size_t)(slices + 1) * sizeof *start, &table);
  a->ghosts.start = table;
  if (status == KAON_OK)
    status =
        upload(a, 1, value, (size_t)numbers * kaon_precision_bytes(a->precision), &a->ghosts.value);
  return status;
}

/* Lists the counters that each block reads, without duplicates. */
static kaon_status list_reads(kaon_remote_values *a, const work *w, const int32_t *order) {
  const kaon_row_blocks *m = w->blocks;
  const kaon_csr *csr = w->matrix->rows->rows;
  KAON_AUTOFREE int64_t *start = calloc((size_t)m->blocks + 1, sizeof *start), *mark = NULL;
  const void *table = NULL;
  mark = calloc((size_t)a->elements + 1, sizeof *mark); /* 1 + the last block that reads a slot */
  kaon_status status = start != NULL && mark != NULL ? KAON_OK : no_memory(a);
  for (int pass = 0; pass < 2 && status == KAON_OK; pass++) {
    int64_t at = 0;
    memset(mark, 0, ((size_t)a->elements + 1) * sizeof *mark);
    for (int64_t b = 0; b < m->blocks; b++) {
      const int64_t end = (b + 1) * m->block < csr->rows ? (b + 1) * m->block : csr->rows;
      for (int64_t place = b * m->block; place < end; place++)
        for (int64_t n = csr->start[order[place]]; n < csr->start[order[place] + 1]; n++) {
          if (!is_ghost(csr, n)) continue;
          const int32_t slot = w->incoming_slot[csr->column[n] - csr->rows];
          if (mark[slot] == b + 1) continue;
          mark[slot] = b + 1;
          if (pass == 1) a->read_slot[at] = slot;
          at++;
        }
      start[b + 1] = at;
    }
    a->reads = at;
    if (pass == 0) a->read_slot = malloc(((size_t)at + 1) * sizeof *a->read_slot);
    if (a->read_slot == NULL) status = no_memory(a);
  }
  if (status == KAON_OK)
    status = upload(a, 2, start, (size_t)(m->blocks + 1) * sizeof *start, &table);
  a->ghosts.reads = table;
  return status;
}

/* Lists what each block sends: by block, message by message. */
static kaon_status list_sends(kaon_remote_values *a, const work *w) {
  const kaon_row_blocks *m = w->blocks;
  KAON_AUTOFREE int64_t *start = calloc((size_t)m->blocks + 2, sizeof *start);
  const void *table = NULL;
  int32_t *place;
  for (int i = 0; i < a->peers; i++) a->sends += a->remote_rank[i].send_count;
  a->element = malloc(((size_t)a->sends + 1) * sizeof *a->element);
  place = malloc(((size_t)a->sends + 1) * sizeof *place);
  kaon_status status =
      start != NULL && a->element != NULL && place != NULL ? KAON_OK : no_memory(a);
  for (int pass = 0; pass < 2 && status == KAON_OK; pass++) {
    for (int i = 0; i < a->peers; i++)
      for (int64_t k = 0; k < a->remote_rank[i].send_count; k++) {
        const int64_t n = a->remote_rank[i].first + k, block = w->block[n];
        if (pass == 0) {
          start[block + 2]++;
          continue;
        }
        const int64_t at = start[block + 1]++;
        a->element[at] = (int32_t)n;
        place[at] = (int32_t)(number_of(w, w->lists.row[n]) - block * m->block);
      }
    for (int64_t b = 0; b < m->blocks && pass == 0; b++) start[b + 2] += start[b + 1];
  }
  if (status == KAON_OK)
    status = upload(a, 3, start, (size_t)(m->blocks + 1) * sizeof *start, &table);
  a->ghosts.sends = table;
  if (status == KAON_OK) status = upload(a, 4, place, (size_t)a->sends * sizeof *place, &table);
  a->ghosts.place = table;
  free(place);
  return status;
}

/* Lists the counters that each block raises. */
static kaon_status list_notifications(kaon_remote_values *a, const work *w) {
  const kaon_row_blocks *m = w->blocks;
  KAON_AUTOFREE int64_t *start = calloc((size_t)m->blocks + 2, sizeof *start);
  const void *table = NULL;
  for (int i = 0; i < a->peers; i++) a->notifications += a->remote_rank[i].local_counters;
  a->notify_slot = malloc(((size_t)a->notifications + 1) * sizeof *a->notify_slot);
  kaon_status status = start != NULL && a->notify_slot != NULL ? KAON_OK : no_memory(a);
  for (int pass = 0; pass < 2 && status == KAON_OK; pass++) {
    for (int i = 0; i < a->peers; i++) {
      const kaon_remote_rank *p = &a->remote_rank[i];
      char *seen = calloc((size_t)p->local_counters + 1, 1);
      if (seen == NULL) status = no_memory(a);
      for (int64_t n = p->first; n < p->first + p->send_count && status == KAON_OK; n++) {
        if (seen[w->sent_slot[n] - p->first]) continue;
        if (pass == 0)
          start[w->block[n] + 2]++;
        else
          a->notify_slot[start[w->block[n] + 1]++] = w->sent_slot[n];
        seen[w->sent_slot[n] - p->first] = 1;
      }
      free(seen);
    }
    for (int64_t b = 0; b < m->blocks && pass == 0; b++) start[b + 2] += start[b + 1];
  }
  if (status == KAON_OK)
    status = upload(a, 5, start, (size_t)(m->blocks + 1) * sizeof *start, &table);
  a->ghosts.notifications = table;
  return status;
}

static kaon_status make_lists(kaon_remote_values *a, const work *w) {
  int32_t *order = kaon_matrix_by_index(w->matrix);
  if (order == NULL) return no_memory(a);
  kaon_status status = list_entries(a, w);
  if (status == KAON_OK) status = list_reads(a, w, order);
  if (status == KAON_OK) status = list_sends(a, w);
  if (status == KAON_OK) status = list_notifications(a, w);
  free(order);
  return status;
}

/* ---- creation ---- */

/* Checks that options are equal on all ranks. *any: some rank has rows of others. */
static kaon_status same_options(const kaon_context *ctx, kaon_relax_exchange wanted,
                                int64_t elements, int *any) {
  const int ranks = ctx->comm->ranks;
  const double mine[2] = {wanted, (double)elements};
  KAON_AUTOFREE double *all = malloc(2 * (size_t)ranks * sizeof *all);
  kaon_status status = KAON_AGREE_MEMORY(ctx, all != NULL, "exchange: out of host memory");
  if (status == KAON_OK) status = ctx->comm->ops->gather(ctx->comm, mine, 2, all);
  *any = 0;
  for (int r = 0; r < ranks && status == KAON_OK; r++) {
    *any = *any || all[2 * r + 1] > 0;
    if (all[2 * r] != mine[0])
      status = kaon_fail(ctx, KAON_ERR_ARGUMENT,
                         "exchange: rank %d asks for %s, but rank %d for %s; all ranks need the "
                         "same",
                         ctx->comm->rank, kaon_exchange_name(wanted), r,
                         kaon_exchange_name((kaon_relax_exchange)all[2 * r]));
  }
  return kaon_agree(ctx, status);
}

static kaon_status build(kaon_remote_values *a, work *w) {
  KAON_TRY(kaon_agree(a->ctx, create_partners(a, w)));
  KAON_TRY(trade_lengths(a, w));
  KAON_TRY(trade_places(a, w));
  return kaon_agree(a->ctx, make_lists(a, w));
}

kaon_status kaon_remote_values_create(const kaon_matrix *matrix, const kaon_blocked *blocked,
                                      kaon_relax_exchange wanted,
                                      kaon_remote_values **remote_values) {
  kaon_context *ctx = matrix->ctx;
  work w = {.matrix = matrix, .blocks = &blocked->rows, .lists = kaon_row_set_lists(matrix->rows)};
  int any = 0;
  kaon_remote_values *made = *remote_values = calloc(1, sizeof *made);
  KAON_TRY(KAON_AGREE_MEMORY(ctx, made != NULL, "exchange: out of host memory"));
  *made = (kaon_remote_values){.ctx = ctx,
                               .precision = blocked->precision,
                               .reals = blocked->rows.reals,
                               .peers = w.lists.peers,
                               .elements = matrix->rows->ghosts,
                               .blocks = blocked->rows.blocks};
  kaon_context_retain(ctx);
  KAON_TRY(same_options(ctx, wanted, made->elements, &any));
  choose(made, wanted);
  if (made->exchange_kind == KAON_EXCHANGE_SYNC) return KAON_OK;
  if (!any) {
    made->exchange_kind = KAON_EXCHANGE_SYNC;
    snprintf(made->note, sizeof made->note, "no rank reads rows of another; sync is used");
    return KAON_OK;
  }
  kaon_status status = build(made, &w);
  free(w.block);
  free(w.sent_slot);
  free(w.incoming_slot);
  free(w.count);
  free(w.incoming);
  return status;
}

void kaon_remote_values_destroy(kaon_remote_values **remote_values) {
  kaon_remote_values *gone = remote_values != NULL ? *remote_values : NULL;
  if (gone == NULL) return;
  *remote_values = NULL;
  kaon_remote_values_clear(gone);
  for (int i = 0; i < KAON_REMOTE_VALUE_LISTS; i++) kaon_pool_release(gone->ctx, gone->list[i]);
  free(gone->remote_rank);
  free(gone->ghost);
  free(gone->read_slot);
  free(gone->element);
  free(gone->notify_slot);
  kaon_context_release(gone->ctx);
  free(gone);
}
