/* rank_rows.c - see rank_rows.h. Everything here runs once for a matrix, in host memory. */
#include "sparse/ranks/rank_rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Ranks form a ring: up to half-way round is forward. */
int kaon_ranks_direction(const kaon_comm *comm, int peer) {
  const int there = (peer - comm->rank + comm->ranks) % comm->ranks, back = comm->ranks - there;
  const int forward = there < back || (there == back && comm->rank < peer);
  return forward ? (there - 1) % 4 : 4 + (back - 1) % 4;
}

/* ---- items sent to other ranks ---- */

typedef struct trade {
  kaon_context *ctx;
  size_t bytes;
  const int64_t *count;
  int64_t *came;
  const char *items;
  char *received;
  kaon_message *messages;
  char *buffers; /* of all messages: send buffers, then receive buffers */
  int n;
} trade;

/* Sizes the messages. Both ranks of a pair know both counts, so messages have the larger size. */
static kaon_status prepare(trade *t) {
  const kaon_comm *comm = t->ctx->comm;
  size_t all = 0, total = 0;
  for (int r = 0; r < comm->ranks; r++) {
    const int64_t most = t->count[r] > t->came[r] ? t->count[r] : t->came[r];
    if (r != comm->rank) all += 2 * (size_t)most * t->bytes;
    total += (size_t)t->came[r] * t->bytes;
  }
  t->messages = calloc((size_t)comm->ranks + 1, sizeof *t->messages);
  t->buffers = calloc(all + 1, 1);
  t->received = malloc(total + 1);
  if (t->messages == NULL || t->buffers == NULL || t->received == NULL)
    return kaon_fail(t->ctx, KAON_ERR_MEMORY,
                     "matrix: out of host memory for %zu bytes of other ranks' rows", all + total);
  char *next = t->buffers;
  const char *from = t->items;
  for (int r = 0; r < comm->ranks; r++) {
    const int64_t most = t->count[r] > t->came[r] ? t->count[r] : t->came[r];
    const size_t room = (size_t)most * t->bytes, mine = (size_t)t->count[r] * t->bytes;
    if (r != comm->rank && most > 0) {
      if (mine > 0) memcpy(next, from, mine);
      t->messages[t->n++] = (kaon_message){.dir = kaon_ranks_direction(comm, r),
                                           .peer = r,
                                           .send = next,
                                           .receive = next + room,
                                           .bytes = room};
      next += 2 * room;
    }
    from += mine;
  }
  return KAON_OK;
}

static kaon_status exchange(trade *t) {
  kaon_comm *comm = t->ctx->comm;
  kaon_exchange *moved = NULL;
  kaon_status status = comm->ops->exchange_create(comm, t->messages, t->n, &moved);
  status = kaon_agree(t->ctx, status);
  if (status == KAON_OK) status = comm->ops->exchange_start(moved);
  if (status == KAON_OK) status = comm->ops->exchange_finish(moved);
  if (moved != NULL) comm->ops->exchange_destroy(&moved);
  return kaon_agree(t->ctx, status);
}

static void sort_out(const trade *t) {
  const kaon_comm *comm = t->ctx->comm;
  char *to = t->received;
  const char *from = t->items;
  for (int r = 0, i = 0; r < comm->ranks; r++) {
    const size_t size = (size_t)t->came[r] * t->bytes;
    const char *source = from;
    if (r != comm->rank && i < t->n && t->messages[i].peer == r) source = t->messages[i++].receive;
    if (size > 0) memcpy(to, source, size);
    to += size;
    from += (size_t)t->count[r] * t->bytes;
  }
}

kaon_status kaon_ranks_trade(kaon_context *ctx, size_t bytes, const int64_t *count,
                             const void *items, int64_t *came, void **received) {
  const size_t ranks = (size_t)ctx->comm->ranks;
  trade t = {.ctx = ctx, .bytes = bytes, .count = count, .came = came, .items = items};
  double *mine = malloc(ranks * sizeof *mine), *all = malloc(ranks * ranks * sizeof *all);
  *received = NULL;
  kaon_status status = KAON_AGREE_MEMORY(ctx, mine != NULL && all != NULL,
                                         "matrix: out of host memory for %zu ranks", ranks);
  for (size_t r = 0; r < ranks && status == KAON_OK; r++) mine[r] = (double)count[r];
  if (status == KAON_OK) status = ctx->comm->ops->gather(ctx->comm, mine, (int)ranks, all);
  for (size_t r = 0; r < ranks && status == KAON_OK; r++)
    came[r] = (int64_t)all[r * ranks + (size_t)ctx->comm->rank];
  if (status == KAON_OK) status = kaon_agree(ctx, prepare(&t));
  if (status == KAON_OK) status = exchange(&t);
  if (status == KAON_OK) {
    sort_out(&t);
    *received = t.received;
    t.received = NULL;
  }
  free(mine);
  free(all);
  free(t.messages);
  free(t.buffers);
  free(t.received);
  return status;
}

/* ---- entries of the adjoint, sent to the ranks with their rows ---- */

typedef struct adjoint_entry {
  int32_t row, column; /* indices in the whole matrix */
  double value[2];
  double largest; /* entry of A's row that it is from; 0: not asked for */
} adjoint_entry;

static adjoint_entry entry_of(int64_t row, int64_t column, const double *value, int reals) {
  adjoint_entry e = {(int32_t)column, (int32_t)row, {value[0], 0}, 0};
  if (reals == 2) e.value[1] = -value[1];
  return e;
}

/* The source of a list of entries: entry n of row i, by index in the whole matrix. */
typedef struct entry_source {
  const kaon_matrix *matrix;
  const kaon_csr *rows;
  const kaon_row_set *set; /* NULL: columns are those of the whole matrix, rows the caller's */
  const double *largest;   /* [row]: entries of other ranks alone are exchanged; NULL: all are */
} entry_source;

static int64_t row_of(const entry_source *s, int64_t i) {
  const int32_t *order = s->set != NULL ? s->matrix->order : NULL;
  return s->matrix->first_row + (order != NULL ? order[i] : i);
}

static int64_t column_of(const entry_source *s, int64_t n) {
  const int32_t column = s->rows->column[n];
  if (s->set == NULL) return column;
  return column < s->rows->rows ? row_of(s, column) : s->set->ghost_row[column - s->rows->rows];
}

/* Exchanges the adjoint's entries by the rank with their row. */
static kaon_status trade_entries(const entry_source *s, int64_t *total, adjoint_entry **entries) {
  const int others_only = s->largest != NULL;
  const kaon_csr *a = s->rows;
  kaon_context *ctx = s->matrix->ctx;
  const int ranks = ctx->comm->ranks, own = ctx->comm->rank;
  KAON_AUTOFREE int64_t *count = calloc(2 * (size_t)ranks + 1, sizeof *count);
  int64_t *came = NULL;
  KAON_AUTOFREE int64_t *next = calloc((size_t)ranks + 1, sizeof *next);
  KAON_AUTOFREE adjoint_entry *items = NULL;
  void *received = NULL;
  if (count != NULL && next != NULL) {
    came = count + ranks;
    for (int64_t n = 0; n < a->start[a->rows]; n++) {
      const int r = kaon_rank_of_row(s->matrix, column_of(s, n));
      if (r != own || !others_only) count[r]++;
    }
    for (int r = 0; r < ranks; r++) next[r + 1] = next[r] + count[r];
    items = malloc(((size_t)next[ranks] + 1) * sizeof *items);
  }
  kaon_status status =
      KAON_AGREE_MEMORY(ctx, items != NULL, "matrix: out of host memory for the entries of A^H");
  for (int64_t i = 0; i < a->rows && status == KAON_OK; i++)
    for (int64_t n = a->start[i]; n < a->start[i + 1]; n++) {
      const int64_t column = column_of(s, n);
      const int r = kaon_rank_of_row(s->matrix, column);
      if (r == own && others_only) continue;
      adjoint_entry *e = &items[next[r]++];
      *e = entry_of(row_of(s, i), column, a->value + n * a->reals, a->reals);
      if (others_only) e->largest = s->largest[i];
    }
  if (status == KAON_OK)
    status = kaon_ranks_trade(ctx, sizeof *items, count, items, came, &received);
  *total = 0;
  for (int r = 0; r < ranks && status == KAON_OK; r++) *total += came[r];
  *entries = received;
  return status;
}

/* *m for the rows of all ranks. Collective. */
static kaon_status join_mirrors(kaon_context *ctx, kaon_mirror *m) {
  enum { NUMBERS = 3 };
  const int ranks = ctx->comm->ranks;
  const double mine[NUMBERS] = {m->same, m->skew, m->off};
  KAON_AUTOFREE double *all = malloc((size_t)ranks * sizeof mine);
  KAON_TRY(KAON_AGREE_MEMORY(ctx, all != NULL, "matrix: out of host memory for %d ranks", ranks));
  KAON_TRY(ctx->comm->ops->gather(ctx->comm, mine, NUMBERS, all));
  for (const double *n = all; n < all + ranks * NUMBERS; n += NUMBERS) {
    m->same &= (int)n[0];
    m->skew &= (int)n[1];
    m->off = fmax(m->off, n[2]);
  }
  return KAON_OK;
}

kaon_status kaon_ranks_mirror(const kaon_matrix *matrix, const kaon_csr *given,
                              const double *largest, kaon_mirror *m) {
  const entry_source source = {matrix, given, NULL, largest};
  KAON_AUTOFREE adjoint_entry *entries = NULL;
  int64_t total = 0;
  if (matrix->ctx->comm->ranks == 1) return KAON_OK;
  KAON_TRY(trade_entries(&source, &total, &entries));
  for (int64_t k = 0; k < total; k++) {
    const adjoint_entry *e = &entries[k];
    const double there[2] = {e->value[0], -e->value[1]};
    const int64_t row = e->row - matrix->first_row, n = kaon_csr_find(given, row, e->column);
    kaon_mirror_take(m, there, n < 0 ? NULL : given->value + n * given->reals, given->reals,
                     &largest[row], &e->largest);
  }
  return join_mirrors(matrix->ctx, m);
}

static kaon_status rows_of_entries(const kaon_matrix *matrix, const kaon_csr *like, int64_t total,
                                   const adjoint_entry *entries, kaon_csr **given) {
  const size_t room = (size_t)total + 1;
  KAON_AUTOFREE int64_t *row = malloc(room * sizeof *row), *column = malloc(room * sizeof *column);
  KAON_AUTOFREE double *value = malloc(2 * room * sizeof *value);
  KAON_TRY(KAON_CHECK_MEMORY(matrix->ctx, row != NULL && column != NULL && value != NULL,
                             "matrix: out of host memory for %lld entries of A^H",
                             (long long)total));
  for (int64_t n = 0; n < total; n++) {
    row[n] = entries[n].row - matrix->first_row;
    column[n] = entries[n].column;
    for (int c = 0; c < like->reals; c++) value[n * like->reals + c] = entries[n].value[c];
  }
  return kaon_csr_from_triplets(matrix->ctx, like->rows, matrix->global_rows, like->reals, total,
                                row, column, value, KAON_CSR_REFUSE, given);
}

kaon_status kaon_ranks_adjoint(kaon_matrix *matrix, const kaon_row_set *set, kaon_csr **given) {
  const kaon_csr *a = set->rows;
  *given = NULL;
  if (matrix->ctx->comm->ranks > 1) {
    const entry_source source = {matrix, a, set, NULL};
    adjoint_entry *entries = NULL;
    int64_t total = 0;
    KAON_TRY(trade_entries(&source, &total, &entries));
    const kaon_status status = rows_of_entries(matrix, a, total, entries, given);
    free(entries);
    return kaon_agree(matrix->ctx, status);
  }
  if (matrix->place == NULL) return kaon_csr_transpose(matrix->ctx, a, 1, given);
  KAON_AUTO(kaon_csr_destroy) kaon_csr *own = NULL;
  KAON_TRY(kaon_csr_permute(matrix->ctx, a, matrix->place, &own));
  return kaon_csr_transpose(matrix->ctx, own, 1, given);
}
