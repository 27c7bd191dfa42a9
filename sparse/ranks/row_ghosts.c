/* row_ghosts.c - rows in the space's order, and the columns that are on other ranks
 * (row_ghosts.h). */
#include "sparse/ranks/row_ghosts.h"

#include <stdlib.h>
#include <string.h>

#include "sparse/ranks/rank_rows.h"

struct kaon_row_halo {
  int references;
  kaon_context *ctx;
  int reals;
  int peers;
  int *peer;
  int64_t *first; /* [peers + 1] first element of each message */
  int32_t *row;   /* [element] row that is sent */
  int32_t *there; /* the same list where kernels read it */
  kaon_row_messages *messages;
};

/* ---- lifetime ---- */

static void messages_destroy(kaon_context *ctx, kaon_row_messages *m) {
  if (m->halo.exchange != NULL) ctx->comm->ops->exchange_destroy(&m->halo.exchange);
  if (m->halo.device != NULL) ctx->backend->ranks->exchange_destroy(&m->halo.device);
  if (ctx->backend->host_accessible) {
    kaon_pool_release(ctx, m->send.data);
    kaon_pool_release(ctx, m->receive.data);
  }
  free(m);
}

static void halo_release(kaon_row_halo **halo) {
  kaon_row_halo *gone = *halo;
  *halo = NULL;
  if (gone == NULL || --gone->references > 0) return;
  while (gone->messages != NULL) {
    kaon_row_messages *m = gone->messages;
    gone->messages = m->next;
    messages_destroy(gone->ctx, m);
  }
  kaon_pool_release(gone->ctx, gone->there);
  free(gone->peer);
  free(gone->first);
  free(gone->row);
  free(gone);
}

void kaon_row_set_destroy(kaon_row_set **set) {
  if (set == NULL || *set == NULL) return;
  kaon_row_set *gone = *set;
  *set = NULL;
  if (--gone->references > 0) return;
  kaon_csr_destroy(&gone->rows);
  halo_release(&gone->halo);
  free(gone->ghost_row);
  kaon_context_release(gone->ctx);
  free(gone);
}

/* ---- rows needed from other ranks ---- */

typedef struct wanted {
  int32_t *row; /* index in the whole matrix, ascending, so by rank */
  int64_t total;
  int64_t *count, *came; /* by rank */
  int32_t *for_others;   /* rows of this rank that other ranks need */
  int64_t *ghost;        /* [rank] first of its rows in `row`; then [rank] its first ghost */
} wanted;

static void drop(wanted *w) {
  free(w->row);
  free(w->count);
  free(w->for_others);
  free(w->ghost);
}

static kaon_status find_wanted(const kaon_matrix *matrix, const kaon_csr *given, wanted *w) {
  const int64_t first = matrix->first_row, end = first + given->rows;
  const int64_t entries = given->start[given->rows];
  const size_t ranks = (size_t)matrix->ctx->comm->ranks;
  int64_t outside = 0;
  for (int64_t n = 0; n < entries; n++)
    outside += given->column[n] < first || given->column[n] >= end;
  w->row = malloc(((size_t)outside + 1) * sizeof *w->row);
  w->count = calloc(2 * ranks, sizeof *w->count);
  w->ghost = calloc(2 * (ranks + 1), sizeof *w->ghost);
  if (w->row == NULL || w->count == NULL || w->ghost == NULL)
    return kaon_fail(matrix->ctx, KAON_ERR_MEMORY,
                     "matrix: out of host memory for %lld columns of other ranks",
                     (long long)outside);
  w->came = w->count + ranks;
  outside = 0;
  for (int64_t n = 0; n < entries; n++)
    if (given->column[n] < first || given->column[n] >= end) w->row[outside++] = given->column[n];
  qsort(w->row, (size_t)outside, sizeof *w->row, kaon_ascending);
  for (int64_t n = 0; n < outside; n++)
    if (w->total == 0 || w->row[w->total - 1] != w->row[n]) w->row[w->total++] = w->row[n];
  for (int64_t n = 0; n < w->total; n++) w->count[kaon_rank_of_row(matrix, w->row[n])]++;
  return KAON_OK;
}

/* Rounds up the rows of a message. A multiple of `unit` fills whole blocks; on a device it also
 * fills whole lines of the buffers (lib/cuda), which are then contiguous. */
static int64_t whole(const kaon_matrix *matrix, int64_t rows) {
  const int width = matrix->space.width;
  const int64_t unit = matrix->ctx->backend->host_accessible ? width : 2 * width;
  return (rows + unit - 1) / unit * unit;
}

/* Makes the halo's lists and the set's ghosts. w: already exchanged. */
static kaon_status list(const kaon_matrix *matrix, wanted *w, kaon_row_set *set) {
  kaon_row_halo *halo = set->halo;
  kaon_context *ctx = matrix->ctx;
  const int ranks = ctx->comm->ranks;
  int64_t sent = 0, asked = 0, element = 0;
  halo->peer = calloc((size_t)ranks, sizeof *halo->peer);
  halo->first = calloc((size_t)ranks + 1, sizeof *halo->first);
  for (int r = 0; r < ranks && halo->peer != NULL && halo->first != NULL; r++) {
    const int64_t most = w->count[r] > w->came[r] ? w->count[r] : w->came[r];
    if (most == 0) continue;
    halo->peer[halo->peers++] = r;
    halo->first[halo->peers] = halo->first[halo->peers - 1] + whole(matrix, most);
  }
  set->ghosts = halo->first != NULL ? halo->first[halo->peers] : 0;
  halo->row = calloc((size_t)set->ghosts + 1, sizeof *halo->row);
  set->ghost_row = malloc(((size_t)set->ghosts + 1) * sizeof *set->ghost_row);
  if (halo->peer == NULL || halo->first == NULL || halo->row == NULL || set->ghost_row == NULL)
    return kaon_fail(ctx, KAON_ERR_MEMORY, "matrix: out of host memory for %lld ghosts",
                     (long long)set->ghosts);
  for (int64_t n = 0; n < set->ghosts; n++) set->ghost_row[n] = -1;
  for (int r = 0, i = 0; r < ranks; r++) {
    if (i < halo->peers && halo->peer[i] == r) element = halo->first[i++];
    w->ghost[r] = asked;
    w->ghost[ranks + 1 + r] = element;
    for (int64_t n = 0; n < w->count[r]; n++) set->ghost_row[element + n] = w->row[asked++];
    for (int64_t n = 0; n < w->came[r]; n++) {
      const int32_t row = w->for_others[sent++] - (int32_t)matrix->first_row;
      halo->row[element + n] = matrix->place != NULL ? matrix->place[row] : row;
    }
  }
  if (set->ghosts == 0) return KAON_OK;
  void *there = NULL;
  KAON_TRY(kaon_table_upload(ctx, halo->row, (size_t)set->ghosts * sizeof *halo->row,
                             "rows that other ranks need", &there));
  halo->there = there;
  return KAON_OK;
}

/* Finds the ghosts of a matrix on several ranks. halo stays NULL if no rank has any. */
static kaon_status find_ghosts(const kaon_matrix *matrix, const kaon_csr *given, wanted *w,
                               kaon_row_set *set) {
  kaon_context *ctx = matrix->ctx;
  void *received = NULL;
  double all = 0;
  if (ctx->comm->ranks == 1) return KAON_OK;
  KAON_TRY(kaon_agree(ctx, find_wanted(matrix, given, w)));
  all = (double)w->total;
  KAON_TRY(kaon_comm_sum(ctx, &all, 1));
  if (all == 0) return KAON_OK;
  kaon_row_halo *halo = set->halo = calloc(1, sizeof *halo);
  kaon_status status = KAON_OK;
  if (halo == NULL)
    status = kaon_fail(ctx, KAON_ERR_MEMORY, "matrix: out of host memory");
  else
    *halo = (kaon_row_halo){.references = 1, .ctx = ctx, .reals = given->reals};
  KAON_TRY(kaon_agree(ctx, status));
  KAON_TRY(kaon_ranks_trade(ctx, sizeof *w->row, w->count, w->row, w->came, &received));
  w->for_others = received;
  return kaon_agree(ctx, list(matrix, w, set));
}

/* ---- rows ---- */

/* The ghost index of a column on another rank. */
static int64_t ghost_of(const kaon_matrix *matrix, const wanted *w, int32_t column) {
  const int ranks = matrix->ctx->comm->ranks, r = kaon_rank_of_row(matrix, column);
  const int32_t *found = bsearch(&column, w->row, (size_t)w->total, sizeof column, kaon_ascending);
  return w->ghost[ranks + 1 + r] + (found - w->row) - w->ghost[r];
}

/* Puts rows into the space's order, with columns of this rank. */
static kaon_status renumber(const kaon_matrix *matrix, kaon_csr **given, const wanted *w,
                            kaon_row_set *set) {
  if (matrix->order != NULL) {
    KAON_TRY(kaon_csr_reorder(set->ctx, *given, matrix->order, &set->rows));
    kaon_csr_destroy(given);
  } else {
    set->rows = *given;
    *given = NULL;
  }
  kaon_csr *to = set->rows;
  const int32_t *place = matrix->place;
  to->columns = to->rows + set->ghosts;
  if (place == NULL && matrix->first_row == 0 && set->ghosts == 0) return KAON_OK;
#pragma omp parallel for num_threads(matrix->ctx->threads) schedule(static)
  for (int64_t n = 0; n < to->start[to->rows]; n++) {
    const int64_t own = to->column[n] - matrix->first_row;
    if (own < 0 || own >= to->rows)
      to->column[n] = (int32_t)(to->rows + ghost_of(matrix, w, to->column[n]));
    else
      to->column[n] = place != NULL ? place[own] : (int32_t)own;
  }
  return kaon_csr_sort(set->ctx, to, KAON_CSR_REFUSE);
}

/* Ghosts come last in a row. */
static int64_t interior_of(const kaon_row_set *set) {
  const kaon_csr *rows = set->rows;
  const int width = set->ctx->backend->width;
  int64_t i = 0;
  if (set->ghosts == 0) return rows->rows;
  while (i < rows->rows && (rows->start[i] == rows->start[i + 1] ||
                            rows->column[rows->start[i + 1] - 1] < rows->rows))
    i++;
  return i == rows->rows ? i : i / width * width;
}

static kaon_row_set *new_set(kaon_context *ctx) {
  kaon_row_set *made = calloc(1, sizeof *made);
  if (made == NULL) return NULL;
  *made = (kaon_row_set){.references = 1, .ctx = ctx};
  kaon_context_retain(ctx);
  return made;
}

kaon_status kaon_row_set_create(kaon_matrix *matrix, kaon_csr **given, kaon_row_set **set) {
  kaon_context *ctx = matrix->ctx;
  kaon_row_set *made = new_set(ctx);
  wanted w = {0};
  *set = NULL;
  kaon_status status = KAON_AGREE_MEMORY(ctx, made != NULL, "matrix: out of host memory");
  if (status == KAON_OK) status = find_ghosts(matrix, *given, &w, made);
  if (status == KAON_OK) status = kaon_agree(ctx, renumber(matrix, given, &w, made));
  drop(&w);
  kaon_csr_destroy(given);
  if (status != KAON_OK) {
    kaon_row_set_destroy(&made);
    return status;
  }
  made->interior = interior_of(made);
  *set = made;
  return KAON_OK;
}

kaon_status kaon_row_set_like(const kaon_row_set *like, kaon_csr **rows, kaon_row_set **set) {
  kaon_row_set *made = new_set(like->ctx);
  *set = NULL;
  if (made == NULL) return kaon_fail(like->ctx, KAON_ERR_MEMORY, "matrix: out of host memory");
  if ((*rows)->columns > (*rows)->rows && like->halo != NULL) {
    made->ghost_row = malloc(((size_t)like->ghosts + 1) * sizeof *made->ghost_row);
    if (made->ghost_row == NULL) {
      kaon_row_set_destroy(&made);
      return kaon_fail(like->ctx, KAON_ERR_MEMORY, "matrix: out of host memory for %lld ghosts",
                       (long long)like->ghosts);
    }
    memcpy(made->ghost_row, like->ghost_row, (size_t)like->ghosts * sizeof *made->ghost_row);
    made->ghosts = like->ghosts;
    made->halo = like->halo;
    made->halo->references++;
  }
  made->rows = *rows;
  *rows = NULL;
  made->interior = interior_of(made);
  *set = made;
  return KAON_OK;
}

/* ---- messages ---- */

/* Describes the messages, one for each peer, without their buffers. */
static void describe(const kaon_row_halo *halo, size_t bytes, kaon_message *messages) {
  for (int i = 0; i < halo->peers; i++)
    messages[i] = (kaon_message){.dir = kaon_ranks_direction(halo->ctx->comm, halo->peer[i]),
                                 .peer = halo->peer[i],
                                 .bytes = (size_t)(halo->first[i + 1] - halo->first[i]) * bytes};
}

/* Declares them to the communicator, which uses two arrays of ours. */
static kaon_status declare(const kaon_row_halo *halo, kaon_message *messages, size_t bytes,
                           kaon_row_messages *m) {
  kaon_context *ctx = halo->ctx;
  const size_t all = (size_t)m->count * bytes;
  KAON_TRY(kaon_pool_allocate(ctx, all, "elements for other ranks", &m->send.data));
  KAON_TRY(kaon_pool_allocate(ctx, all, "elements of other ranks", &m->receive.data));
  KAON_TRY(ctx->backend->memory->clear(ctx, m->send.data, all));
  KAON_TRY(ctx->backend->memory->clear(ctx, m->receive.data, all));
  for (int i = 0; i < halo->peers; i++) {
    const size_t at = (size_t)halo->first[i] * bytes;
    messages[i].send = (char *)m->send.data + at;
    messages[i].receive = (char *)m->receive.data + at;
  }
  return ctx->comm->ops->exchange_create(ctx->comm, messages, halo->peers, &m->halo.exchange);
}

static int dir_taken(const kaon_message *messages, int n) {
  unsigned taken = 0;
  for (int i = 0; i < n; i++) {
    if (taken >> messages[i].dir & 1) return 1;
    taken |= 1u << messages[i].dir;
  }
  return 0;
}

/* Declares them to the device's exchange. It has buffers of its own, contiguous as our arrays would
 * be. */
static kaon_status declare_there(const kaon_row_halo *halo, kaon_message *messages, size_t bytes,
                                 kaon_row_messages *m) {
  kaon_context *ctx = halo->ctx;
  kaon_status status = KAON_OK;
  if (dir_taken(messages, halo->peers))
    status =
        kaon_fail(ctx, KAON_ERR_UNSUPPORTED,
                  "matrix: rank %d has %d neighbours among %d ranks, more than a device's messages "
                  "can distinguish; use fewer ranks, or an order with fewer neighbours",
                  ctx->comm->rank, halo->peers, ctx->comm->ranks);
  KAON_TRY(kaon_agree(ctx, status));
  KAON_TRY(ctx->backend->ranks->exchange_create(ctx, messages, halo->peers, &m->halo.device, NULL));
  if (halo->peers == 0) return KAON_OK;
  m->send.data = messages[0].send;
  m->receive.data = messages[0].receive;
  for (int i = 0; i < halo->peers; i++) {
    const size_t at = (size_t)halo->first[i] * bytes;
    if ((char *)messages[i].send != (char *)m->send.data + at ||
        (char *)messages[i].receive != (char *)m->receive.data + at)
      return kaon_fail(ctx, KAON_ERR_INTERNAL, "matrix: messages of %zu bytes are not contiguous",
                       bytes);
  }
  return KAON_OK;
}

static kaon_status make(const kaon_row_halo *halo, kaon_precision precision, int nrhs,
                        kaon_row_messages *m) {
  kaon_context *ctx = halo->ctx;
  const size_t bytes = kaon_precision_bytes(precision) * (size_t)(nrhs * halo->reals);
  KAON_AUTOFREE kaon_message *messages = calloc((size_t)halo->peers + 1, sizeof *messages);
  kaon_status status =
      KAON_CHECK_MEMORY(ctx, messages != NULL, "matrix: out of host memory for messages");
  if (!ctx->backend->host_accessible) status = kaon_agree(ctx, status);
  if (status == KAON_OK) {
    describe(halo, bytes, messages);
    status = ctx->backend->host_accessible ? declare(halo, messages, bytes, m)
                                           : declare_there(halo, messages, bytes, m);
  }
  for (int i = 0; i < halo->peers && status == KAON_OK; i++)
    m->halo.bytes += (int64_t)messages[i].bytes;
  return status;
}

kaon_status kaon_row_messages_get(const kaon_row_set *set, kaon_precision precision, int nrhs,
                                  kaon_row_messages **messages) {
  kaon_row_halo *halo = set->halo;
  for (kaon_row_messages *m = halo->messages; m != NULL; m = m->next)
    if (m->halo.precision == precision && m->halo.nrhs == nrhs) {
      *messages = m;
      return KAON_OK;
    }
  kaon_row_messages *made = calloc(1, sizeof *made);
  *messages = NULL;
  kaon_status status = KAON_AGREE_MEMORY(set->ctx, made != NULL, "matrix: out of host memory");
  if (status == KAON_OK) {
    *made = (kaon_row_messages){.row = halo->there, .count = halo->first[halo->peers]};
    made->halo = (kaon_halo){.ctx = set->ctx, .precision = precision, .nrhs = nrhs};
    status = kaon_agree(set->ctx, make(halo, precision, nrhs, made));
  }
  if (status != KAON_OK) {
    if (made != NULL) messages_destroy(set->ctx, made);
    return status;
  }
  made->next = halo->messages;
  halo->messages = made;
  *messages = made;
  return KAON_OK;
}

kaon_row_lists kaon_row_set_lists(const kaon_row_set *set) {
  const kaon_row_halo *halo = set->halo;
  if (halo == NULL) return (kaon_row_lists){.peers = 0};
  return (kaon_row_lists){
      .peers = halo->peers, .peer = halo->peer, .first = halo->first, .row = halo->row};
}

/* ---- schedule of coupled ranks ---- */

/* Colours the ranks greedily in their order. Returns the colour of `rank`. all[rank][rank]: 1 if
 * coupled. */
static int colour_of_rank(const double *all, int ranks, int rank, int *colours) {
  KAON_AUTOFREE int *colour = calloc((size_t)ranks, sizeof *colour);
  *colours = 1;
  if (colour == NULL) return -1;
  for (int r = 0; r < ranks; r++) {
    int taken = 1;
    for (colour[r] = -1; taken;) {
      colour[r]++;
      taken = 0;
      for (int other = 0; other < r; other++)
        taken |= all[r * ranks + other] != 0 && colour[other] == colour[r];
    }
    if (colour[r] >= *colours) *colours = colour[r] + 1;
  }
  return colour[rank];
}

kaon_status kaon_row_set_schedule(const kaon_row_set *set, int *turns, int *first) {
  kaon_context *ctx = set->ctx;
  const int ranks = ctx->comm->ranks;
  *first = 0;
  if (ranks == 1) return KAON_OK;
  const size_t n = (size_t)ranks + 1;
  double *mine = calloc(n, sizeof *mine), *all = calloc(n * n, sizeof *all);
  double *coupled = calloc(n * n, sizeof *coupled);
  int most = 1, colours = 1, colour = 0;
  kaon_status status = KAON_AGREE_MEMORY(ctx, mine != NULL && all != NULL && coupled != NULL,
                                         "local part: out of host memory for %d ranks", ranks);
  if (status == KAON_OK) {
    for (int i = 0; set->halo != NULL && i < set->halo->peers; i++) mine[set->halo->peer[i]] = 1;
    mine[ranks] = *turns;
    status = ctx->comm->ops->gather(ctx->comm, mine, (int)n, all);
  }
  if (status == KAON_OK) {
    for (int r = 0; r < ranks; r++) {
      if (all[(size_t)r * n + (size_t)ranks] > most) most = (int)all[(size_t)r * n + (size_t)ranks];
      for (int other = 0; other < ranks; other++)
        coupled[r * ranks + other] = all[(size_t)r * n + (size_t)other];
    }
    colour = colour_of_rank(coupled, ranks, ctx->comm->rank, &colours);
    if (colour < 0)
      status =
          kaon_fail(ctx, KAON_ERR_MEMORY, "local part: out of host memory for %d ranks", ranks);
  }
  free(mine);
  free(all);
  free(coupled);
  KAON_TRY(kaon_agree(ctx, status));
  *turns = most * colours;
  *first = most * colour;
  return KAON_OK;
}
