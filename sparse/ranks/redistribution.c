/* redistribution.c - see redistribution.h. Rank 0 collects the pattern, partitions it, and sends
 * all ranks the new index of every row. Memory while the matrix is made:
 * - rank 0: 4 bytes an entry and about 12 bytes a coupling;
 * - each rank: 4 bytes a row of the whole matrix. */
#include "sparse/ranks/redistribution.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sparse/order/orderings.h"
#include "sparse/ranks/rank_rows.h"

/* AUTO uses METIS if it leaves at most WORTH of the entries between ranks. Rank 0 processes the
 * whole pattern, so AUTO refrains from it above AUTO_ENTRIES entries. */
static const double WORTH = 0.8;
static const int64_t AUTO_ENTRIES = INT64_C(1) << 28;

/* The decision of rank 0, sent to all. */
typedef struct plan {
  int64_t moved, cut_given, cut;
  int64_t *first;  /* [ranks + 1] */
  int32_t *number; /* [row of the whole matrix] its new index */
  int32_t *part;   /* [row of the whole matrix] */
} plan;

static void plan_drop(plan *p) {
  free(p->first);
  free(p->number);
  free(p->part);
}

void kaon_row_redistribution_destroy(kaon_row_redistribution **redistribution) {
  kaon_row_redistribution *gone = *redistribution;
  *redistribution = NULL;
  if (gone == NULL) return;
  free(gone->count);
  free(gone->came);
  free(gone->by_rank);
  free(gone->number);
  free(gone);
}

static kaon_status no_memory(const kaon_context *ctx, const char *what, int64_t rows) {
  return kaon_fail(ctx, KAON_ERR_MEMORY, "matrix: out of host memory for %s of %lld rows", what,
                   (long long)rows);
}

/* ---- on rank 0 ---- */

static kaon_status lengths_of(const kaon_context *ctx, const kaon_csr *rows, int32_t **length) {
  *length = malloc(((size_t)rows->rows + 1) * sizeof **length);
  if (*length == NULL) return no_memory(ctx, "the lengths", rows->rows);
  for (int64_t i = 0; i < rows->rows; i++)
    (*length)[i] = (int32_t)(rows->start[i + 1] - rows->start[i]);
  return KAON_OK;
}

/* Collects the whole pattern, without values, on rank 0; an empty one elsewhere. */
static kaon_status collect(const kaon_matrix *matrix, const kaon_csr *given, kaon_csr *whole) {
  kaon_context *ctx = matrix->ctx;
  const size_t ranks = (size_t)ctx->comm->ranks;
  KAON_AUTOFREE int64_t *count = calloc(2 * ranks, sizeof *count);
  KAON_AUTOFREE int32_t *mine = NULL;
  KAON_AUTOFREE void *length = NULL, *column = NULL;
  kaon_status status =
      count == NULL ? no_memory(ctx, "counts", given->rows) : lengths_of(ctx, given, &mine);
  status = kaon_agree(ctx, status);
  if (status == KAON_OK) {
    count[0] = given->rows;
    status = kaon_ranks_trade(ctx, sizeof *mine, count, mine, count + ranks, &length);
  }
  if (status == KAON_OK) {
    count[0] = given->start[given->rows];
    status =
        kaon_ranks_trade(ctx, sizeof *given->column, count, given->column, count + ranks, &column);
  }
  *whole = (kaon_csr){.columns = matrix->global_rows, .reals = 1};
  if (status == KAON_OK && ctx->comm->rank == 0) {
    whole->rows = matrix->global_rows;
    whole->column = column;
    column = NULL;
    whole->start = calloc((size_t)whole->rows + 1, sizeof *whole->start);
    if (whole->start == NULL) status = no_memory(ctx, "the pattern", whole->rows);
    for (int64_t i = 0; i < whole->rows && whole->start != NULL; i++)
      whole->start[i + 1] = whole->start[i] + ((const int32_t *)length)[i];
  }
  return kaon_agree(ctx, status);
}

/* Entries between different parts; part NULL: between the ranks, with rows as they were given. */
static int64_t entries_between(const kaon_matrix *matrix, const kaon_csr *whole,
                               const int32_t *part) {
  int64_t cut = 0;
  for (int64_t i = 0; i < whole->rows; i++) {
    const int mine = part != NULL ? part[i] : kaon_rank_of_row(matrix, i);
    for (int64_t n = whole->start[i]; n < whole->start[i + 1]; n++) {
      const int32_t j = whole->column[n];
      cut += part != NULL ? part[j] != mine
                          : j < matrix->first_rows[mine] || j >= matrix->first_rows[mine + 1];
    }
  }
  return cut;
}

/* Assigns the new indices: by part, and within a part in the given order. */
static void renumber_rows(int64_t rows, int parts, plan *p) {
  for (int r = 0; r <= parts; r++) p->first[r] = 0;
  for (int64_t i = 0; i < rows; i++) p->first[p->part[i] + 1]++;
  for (int r = 0; r < parts; r++) p->first[r + 1] += p->first[r];
  for (int64_t i = 0; i < rows; i++) p->number[i] = (int32_t)p->first[p->part[i]]++;
  for (int r = parts; r > 0; r--) p->first[r] = p->first[r - 1];
  p->first[0] = 0;
}

static kaon_status decide(const kaon_matrix *matrix, const kaon_csr *whole,
                          kaon_matrix_partition partition, plan *p) {
  const int ranks = matrix->ctx->comm->ranks;
  KAON_TRY(kaon_partition_rows(matrix->ctx, whole, KAON_PARTITION_GRAPH, ranks, p->part));
  p->cut_given = entries_between(matrix, whole, NULL);
  p->cut = entries_between(matrix, whole, p->part);
  p->moved = partition == KAON_PARTITION_METIS || (double)p->cut <= WORTH * (double)p->cut_given;
  renumber_rows(whole->rows, ranks, p);
  return KAON_OK;
}

/* Makes the plan and sends it to all ranks. */
static kaon_status make_plan(const kaon_matrix *matrix, const kaon_csr *given,
                             kaon_matrix_partition partition, plan *p) {
  kaon_context *ctx = matrix->ctx;
  const size_t ranks = (size_t)ctx->comm->ranks, rows = (size_t)matrix->global_rows;
  kaon_csr whole;
  p->first = calloc(ranks + 1, sizeof *p->first);
  p->number = malloc((rows + 1) * sizeof *p->number);
  p->part = malloc((rows + 1) * sizeof *p->part);
  kaon_status status = KAON_OK;
  if (p->first == NULL || p->number == NULL || p->part == NULL)
    status = no_memory(ctx, "the new numbers", matrix->global_rows);
  KAON_TRY(kaon_agree(ctx, status));
  KAON_TRY(collect(matrix, given, &whole));
  if (ctx->comm->rank == 0) status = decide(matrix, &whole, partition, p);
  free(whole.start);
  free(whole.column);
  KAON_TRY(kaon_agree(ctx, status));
  int64_t told[3] = {p->moved, p->cut_given, p->cut};
  KAON_TRY(ctx->comm->ops->broadcast(ctx->comm, told, sizeof told, 0));
  p->moved = told[0];
  p->cut_given = told[1];
  p->cut = told[2];
  if (!p->moved) return KAON_OK;
  KAON_TRY(ctx->comm->ops->broadcast(ctx->comm, p->first, (ranks + 1) * sizeof *p->first, 0));
  return ctx->comm->ops->broadcast(ctx->comm, p->number, rows * sizeof *p->number, 0);
}

/* ---- sending rows ---- */

/* Sends items of `bytes` each, item i at list[i] (NULL: i), count[rank] of them to each rank. */
static kaon_status send_items(kaon_context *ctx, size_t bytes, const void *items,
                              const int32_t *list, int64_t n, const int64_t *count, int64_t *came,
                              void **received) {
  KAON_AUTOFREE char *sorted = malloc((size_t)n * bytes + 1);
  kaon_status status = sorted != NULL ? KAON_OK : no_memory(ctx, "messages", n);
  *received = NULL;
  for (int64_t i = 0; i < n && sorted != NULL; i++)
    memcpy(sorted + (size_t)i * bytes,
           (const char *)items + (size_t)(list != NULL ? list[i] : i) * bytes, bytes);
  KAON_TRY(kaon_agree(ctx, status));
  return kaon_ranks_trade(ctx, bytes, count, sorted, came, received);
}

/* entries[rank]: sum of the lengths of count[rank] rows, by rank. */
static void entries_by_rank(const int32_t *length, const int64_t *count, int ranks,
                            int64_t *entries) {
  for (int r = 0; r < ranks; r++) {
    entries[r] = 0;
    for (int64_t i = 0; i < count[r]; i++) entries[r] += *length++;
  }
}

/* Copies columns or values of rows list[0], list[1], ... side by side. */
static char *entries_in_order(const kaon_csr *rows, const int32_t *list, const void *items,
                              size_t bytes) {
  char *sorted = malloc((size_t)rows->start[rows->rows] * bytes + 1), *to = sorted;
  for (int64_t i = 0; i < rows->rows && sorted != NULL; i++) {
    const int64_t row = list != NULL ? list[i] : i;
    const size_t size = (size_t)(rows->start[row + 1] - rows->start[row]) * bytes;
    memcpy(to, (const char *)items + (size_t)rows->start[row] * bytes, size);
    to += size;
  }
  return sorted;
}

/* Sends columns (part 0) or values (1) to their ranks. */
static kaon_status send_entries(kaon_context *ctx, const kaon_csr *rows, const int32_t *list,
                                int part, const int64_t *count, int64_t *came, void **received) {
  const size_t bytes = part == 0 ? sizeof *rows->column : (size_t)rows->reals * sizeof(double);
  char *sorted =
      entries_in_order(rows, list, part == 0 ? (void *)rows->column : (void *)rows->value, bytes);
  kaon_status status = sorted != NULL ? KAON_OK : no_memory(ctx, "the entries", rows->rows);
  *received = NULL;
  status = kaon_agree(ctx, status);
  if (status == KAON_OK) status = kaon_ranks_trade(ctx, bytes, count, sorted, came, received);
  free(sorted);
  return status;
}

/* Sends rows list[0], list[1], ... (NULL: as they are), count[rank] of them to each rank. *rows
 * becomes the received rows, by rank, with their old columns, unsorted. */
static kaon_status send_rows(kaon_context *ctx, kaon_csr **rows, const int32_t *list,
                             const int64_t *count, int64_t *came) {
  const int ranks = ctx->comm->ranks;
  const kaon_csr *from = *rows;
  KAON_AUTOFREE int64_t *entries = calloc(2 * (size_t)ranks, sizeof *entries);
  int64_t total = 0, all = 0;
  KAON_AUTOFREE int32_t *length = NULL, *sorted = malloc(((size_t)from->rows + 1) * sizeof *sorted);
  KAON_AUTOFREE void *lengths = NULL, *column = NULL, *value = NULL;
  kaon_csr *made = NULL;
  kaon_status status = lengths_of(ctx, from, &length);
  if (status == KAON_OK && (entries == NULL || sorted == NULL))
    status = no_memory(ctx, "messages", from->rows);
  for (int64_t i = 0; i < from->rows && status == KAON_OK; i++)
    sorted[i] = length[list != NULL ? list[i] : i];
  status = kaon_agree(ctx, status);
  if (status == KAON_OK)
    status = kaon_ranks_trade(ctx, sizeof *sorted, count, sorted, came, &lengths);
  if (status == KAON_OK) {
    entries_by_rank(sorted, count, ranks, entries);
    status = send_entries(ctx, from, list, 0, entries, entries + ranks, &column);
  }
  if (status == KAON_OK)
    status = send_entries(ctx, from, list, 1, entries, entries + ranks, &value);
  for (int r = 0; r < ranks && status == KAON_OK; r++) {
    total += came[r];
    all += entries[ranks + r];
  }
  if (status == KAON_OK)
    status = kaon_agree(ctx, kaon_csr_create(ctx, total, from->columns, from->reals, all, &made));
  if (status == KAON_OK) {
    for (int64_t i = 0; i < total; i++)
      made->start[i + 1] = made->start[i] + ((const int32_t *)lengths)[i];
    memcpy(made->column, column, (size_t)all * sizeof *made->column);
    memcpy(made->value, value, (size_t)(all * made->reals) * sizeof *made->value);
    kaon_csr_destroy(rows);
    *rows = made;
  } else {
    kaon_csr_destroy(&made);
  }
  return status;
}

/* ---- redistribution ---- */

static kaon_status list_redistribution(const kaon_matrix *matrix, const kaon_csr *given,
                                       const plan *p, kaon_row_redistribution *m) {
  kaon_context *ctx = matrix->ctx;
  const int ranks = ctx->comm->ranks;
  KAON_AUTOFREE int64_t *next = calloc((size_t)ranks + 1, sizeof *next), *number = NULL;
  void *received = NULL;
  m->count = calloc((size_t)ranks + 1, sizeof *m->count);
  m->came = calloc((size_t)ranks + 1, sizeof *m->came);
  m->by_rank = malloc(((size_t)given->rows + 1) * sizeof *m->by_rank);
  number = malloc(((size_t)given->rows + 1) * sizeof *number);
  kaon_status status = KAON_OK;
  if (next == NULL || m->count == NULL || m->came == NULL || m->by_rank == NULL || number == NULL)
    status = no_memory(ctx, "the ways", given->rows);
  status = kaon_agree(ctx, status);
  for (int pass = 0; pass < 2 && status == KAON_OK; pass++) {
    for (int64_t i = 0; i < given->rows; i++) {
      const int64_t now = p->number[matrix->first_row + i];
      int to = 0;
      while (to + 1 < ranks && p->first[to + 1] <= now) to++;
      if (pass == 0) {
        m->count[to]++;
      } else {
        number[next[to]] = matrix->first_row + i;
        m->by_rank[next[to]++] = (int32_t)i;
      }
    }
    for (int r = 0; pass == 0 && r < ranks; r++) next[r + 1] = next[r] + m->count[r];
  }
  if (status == KAON_OK)
    status = kaon_ranks_trade(ctx, sizeof *number, m->count, number, m->came, &received);
  m->number = received;
  return status;
}

static kaon_status move(kaon_matrix *matrix, kaon_csr **given, const plan *p) {
  kaon_context *ctx = matrix->ctx;
  kaon_row_redistribution *m = matrix->redistribution = calloc(1, sizeof *m);
  kaon_status status = m != NULL ? KAON_OK : no_memory(ctx, "the ways", (*given)->rows);
  KAON_TRY(kaon_agree(ctx, status));
  *m = (kaon_row_redistribution){.ctx = ctx, .first = matrix->first_row, .rows = (*given)->rows};
  KAON_TRY(list_redistribution(matrix, *given, p, m));
  int64_t came_rows = 0;
  for (int64_t n = 0; n < (*given)->start[(*given)->rows]; n++)
    (*given)->column[n] = p->number[(*given)->column[n]];
  KAON_TRY(send_rows(ctx, given, m->by_rank, m->count, m->came));
  for (int r = 0; r < ctx->comm->ranks; r++) came_rows += m->came[r];
  memcpy(matrix->first_rows, p->first, ((size_t)ctx->comm->ranks + 1) * sizeof *p->first);
  matrix->first_row = p->first[ctx->comm->rank];
  if (came_rows != p->first[ctx->comm->rank + 1] - matrix->first_row)
    status = kaon_fail(
        ctx, KAON_ERR_INTERNAL, "matrix: %lld rows were received, but %lld were distributed",
        (long long)came_rows, (long long)(p->first[ctx->comm->rank + 1] - matrix->first_row));
  if (status == KAON_OK) status = kaon_csr_sort(ctx, *given, KAON_CSR_REFUSE);
  return kaon_agree(ctx, status);
}

static kaon_status same_options(kaon_context *ctx, kaon_matrix_partition partition) {
  double first = partition;
  KAON_TRY(ctx->comm->ops->broadcast(ctx->comm, &first, sizeof first, 0));
  kaon_status status = KAON_OK;
  if ((int)first != (int)partition)
    status = kaon_fail(ctx, KAON_ERR_ARGUMENT,
                       "matrix: option partition is %d, but %d on rank 0; all ranks need the same",
                       (int)partition, (int)first);
  return kaon_agree(ctx, status);
}

kaon_status kaon_rows_redistribute(kaon_matrix *matrix, kaon_csr **given,
                                   kaon_matrix_partition partition) {
  kaon_context *ctx = matrix->ctx;
  const size_t room = sizeof matrix->shared;
  plan p = {0};
  double entries = (double)(*given)->start[(*given)->rows];
  snprintf(matrix->shared, room, "as given");
  if (ctx->comm->ranks == 1) return KAON_OK;
  KAON_TRY(same_options(ctx, partition));
  if (partition == KAON_PARTITION_GIVEN) return KAON_OK;
  KAON_TRY(kaon_comm_sum(ctx, &entries, 1));
  if (!kaon_partition_by_graph()) {
    snprintf(matrix->shared, room, "as given: this kaon was built without METIS");
    kaon_log(ctx, KAON_LOG_WARNING, "matrix: rows stay as given, built without METIS");
    return KAON_OK;
  }
  if (partition == KAON_PARTITION_AUTO && entries > (double)AUTO_ENTRIES) {
    snprintf(matrix->shared, room, "as given: %.3g entries are many for METIS on one rank",
             entries);
    return KAON_OK;
  }
  kaon_status status = make_plan(matrix, *given, partition, &p);
  if (status == KAON_OK && p.moved) status = move(matrix, given, &p);
  if (status == KAON_OK)
    snprintf(matrix->shared, room, "%s: %lld entries between ranks, %lld %s",
             p.moved ? "by METIS" : "as given", (long long)(p.moved ? p.cut : p.cut_given),
             (long long)(p.moved ? p.cut_given : p.cut), p.moved ? "as given" : "by METIS");
  plan_drop(&p);
  return status;
}

/* ---- import and export ---- */

kaon_status kaon_rows_from_caller(const kaon_row_redistribution *m, int reals, const double *given,
                                  double *here) {
  const size_t bytes = (size_t)reals * sizeof *given;
  KAON_AUTOFREE void *received = NULL;
  KAON_TRY(send_items(m->ctx, bytes, given, m->by_rank, m->rows, m->count, m->came, &received));
  size_t rows = 0;
  for (int r = 0; r < m->ctx->comm->ranks; r++) rows += (size_t)m->came[r];
  memcpy(here, received, rows * bytes);
  return KAON_OK;
}

kaon_status kaon_rows_to_caller(const kaon_row_redistribution *m, int reals, const double *here,
                                double *given) {
  const size_t bytes = (size_t)reals * sizeof *given;
  KAON_AUTOFREE void *received = NULL;
  KAON_TRY(kaon_ranks_trade(m->ctx, bytes, m->came, here, m->count, &received));
  for (int64_t i = 0; i < m->rows; i++)
    memcpy(given + (int64_t)m->by_rank[i] * reals, (const char *)received + (size_t)i * bytes,
           bytes);
  return KAON_OK;
}

/* The caller's index of every row in the new numbering. */
static kaon_status all_numbers(const kaon_matrix *matrix, int32_t **number) {
  kaon_context *ctx = matrix->ctx;
  const int64_t *first = matrix->first_rows;
  *number = malloc(((size_t)matrix->global_rows + 1) * sizeof **number);
  kaon_status status =
      *number != NULL ? KAON_OK : no_memory(ctx, "the numbers", first[ctx->comm->ranks]);
  status = kaon_agree(ctx, status);
  if (status != KAON_OK) return status;
  for (int64_t i = first[ctx->comm->rank]; i < first[ctx->comm->rank + 1]; i++)
    (*number)[i] = (int32_t)matrix->redistribution->number[i - first[ctx->comm->rank]];
  for (int r = 0; r < ctx->comm->ranks && status == KAON_OK; r++)
    status = ctx->comm->ops->broadcast(ctx->comm, *number + first[r],
                                       (size_t)(first[r + 1] - first[r]) * sizeof **number, r);
  return status;
}

/* Restores the caller's order. Rows received from one rank are in its order, and by_rank gives
 * their indices. */
static kaon_status put_back(const kaon_row_redistribution *m, kaon_csr **rows) {
  kaon_csr *made = NULL;
  KAON_AUTOFREE int32_t *at = malloc(((size_t)m->rows + 1) * sizeof *at);
  KAON_TRY(at != NULL ? KAON_OK : no_memory(m->ctx, "the order", m->rows));
  for (int64_t i = 0; i < m->rows; i++) at[m->by_rank[i]] = (int32_t)i;
  KAON_TRY(kaon_csr_reorder(m->ctx, *rows, at, &made));
  kaon_csr_destroy(rows);
  *rows = made;
  return kaon_csr_sort(m->ctx, made, KAON_CSR_REFUSE);
}

kaon_status kaon_rows_to_caller_order(const kaon_matrix *matrix, kaon_csr **rows) {
  const kaon_row_redistribution *m = matrix->redistribution;
  kaon_context *ctx = matrix->ctx;
  KAON_AUTOFREE int32_t *number = NULL;
  KAON_AUTOFREE int64_t *count = calloc((size_t)ctx->comm->ranks + 1, sizeof *count);
  kaon_status status = count != NULL ? KAON_OK : no_memory(ctx, "counts", m->rows);
  KAON_TRY(kaon_agree(ctx, status));
  KAON_TRY(all_numbers(matrix, &number));
  for (int64_t n = 0; n < (*rows)->start[(*rows)->rows]; n++)
    (*rows)->column[n] = number[(*rows)->column[n]];
  KAON_TRY(send_rows(ctx, rows, NULL, m->came, count));
  return kaon_agree(ctx, put_back(m, rows));
}
