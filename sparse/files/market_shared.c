/* market_shared.c - blocks of text that the ranks of a job parse together. Each rank parses a share
 * of the lines. The entries then go to the ranks that own their rows or, in one triangle, their
 * columns. A rank receives them in file order, since shares follow one another. So rows have the
 * bits that one rank would give them. Contract: market_job.h. */
#include <stdlib.h>
#include <string.h>

#include "sparse/files/market_job.h"
#include "sparse/ranks/rank_rows.h"

/* Bytes of an entry in a message: row and column, then the value unless the file is a pattern. */
static size_t item_bytes(const kaon_market_job *job) {
  return 2 * sizeof(int32_t) +
         (kaon_market_is_pattern(job) ? 0 : (size_t)job->reals * sizeof(double));
}

static int owner_of(const kaon_market_job *job, int64_t row) {
  const int64_t each = job->header.rows / job->parsing_ranks,
                more = job->header.rows % job->parsing_ranks;
  const int64_t longer = more * (each + 1);
  return (int)(row < longer ? row / (each + 1) : more + (row - longer) / each);
}

/* The ranks that an entry goes to: one or two. */
static int owners_of(const kaon_market_job *job, int64_t row, int64_t column, int owner[2]) {
  owner[0] = owner_of(job, row);
  if (job->header.symmetry == KAON_MARKET_GENERAL) return 1;
  owner[1] = owner_of(job, column);
  return owner[0] == owner[1] ? 1 : 2;
}

static void count_items(const kaon_market_job *job, const kaon_market_part *parts, int n,
                        int64_t *count) {
  int owner[2];
  for (int p = 0; p < n; p++)
    for (int64_t e = 0; e < parts[p].kept; e++) {
      const int owners = owners_of(job, parts[p].row[e], parts[p].column[e], owner);
      for (int o = 0; o < owners; o++) count[owner[o]]++;
    }
}

/* next[rank]: index of its next item in `items`. */
static void pack(const kaon_market_job *job, const kaon_market_part *parts, int n, int64_t *next,
                 char *items) {
  const size_t bytes = item_bytes(job), value = bytes - 2 * sizeof(int32_t);
  int owner[2];
  for (int p = 0; p < n; p++)
    for (int64_t e = 0; e < parts[p].kept; e++) {
      const int owners = owners_of(job, parts[p].row[e], parts[p].column[e], owner);
      for (int o = 0; o < owners; o++) {
        char *to = items + (size_t)next[owner[o]]++ * bytes;
        memcpy(to, &parts[p].row[e], sizeof(int32_t));
        memcpy(to + sizeof(int32_t), &parts[p].column[e], sizeof(int32_t));
        if (value > 0) memcpy(to + 2 * sizeof(int32_t), parts[p].value + e * job->reals, value);
      }
    }
}

static kaon_status unpack(const kaon_market_job *job, const char *items, int64_t count,
                          kaon_market_entries *e) {
  const size_t bytes = item_bytes(job), value = bytes - 2 * sizeof(int32_t);
  KAON_TRY(kaon_market_reserve(job, e, e->count + count));
  for (int64_t i = 0; i < count; i++, items += bytes) {
    memcpy(&e->row[e->count + i], items, sizeof(int32_t));
    memcpy(&e->column[e->count + i], items + sizeof(int32_t), sizeof(int32_t));
    if (value > 0)
      memcpy(e->value + (e->count + i) * job->reals, items + 2 * sizeof(int32_t), value);
  }
  e->count += count;
  return KAON_OK;
}

kaon_status kaon_market_send(const kaon_market_job *job, const kaon_market_part *parts, int n,
                             kaon_market_entries *e) {
  kaon_context *ctx = (kaon_context *)(uintptr_t)job->ctx;
  const size_t ranks = (size_t)job->parsing_ranks;
  KAON_AUTOFREE int64_t *count = calloc(3 * ranks, sizeof *count);
  int64_t total = 0;
  int64_t *next = count + ranks, *came = next + ranks;
  KAON_AUTOFREE char *items = NULL;
  KAON_AUTOFREE void *received = NULL;
  if (count != NULL) {
    count_items(job, parts, n, count);
    for (size_t r = 0; r < ranks; r++) {
      next[r] = total;
      total += count[r];
    }
    items = malloc((size_t)total * item_bytes(job) + 1);
  }
  KAON_TRY(KAON_AGREE_MEMORY(ctx, items != NULL,
                             "%s: out of host memory for %lld entries of a block", job->bytes->name,
                             (long long)total));
  pack(job, parts, n, next, items);
  KAON_TRY(kaon_ranks_trade(ctx, item_bytes(job), count, items, came, &received));
  total = 0;
  for (size_t r = 0; r < ranks; r++) total += came[r];
  return unpack(job, received, total, e);
}

kaon_status kaon_market_block_sum(const kaon_market_job *job, const kaon_market_part *parts, int n,
                                  int64_t rest, kaon_market_block_totals *verdict) {
  enum { LINES, SEEN, BAD, NUMBERS };
  double mine[NUMBERS] = {0}, *all = malloc((size_t)job->parsing_ranks * sizeof mine);
  for (int p = 0; p < n; p++) {
    mine[LINES] += (double)parts[p].lines;
    mine[SEEN] += (double)parts[p].seen;
    mine[BAD] += parts[p].status != KAON_OK;
  }
  kaon_status status =
      KAON_AGREE_MEMORY(job->ctx, all != NULL, "%s: out of host memory for %d ranks",
                        job->bytes->name, job->parsing_ranks);
  if (status == KAON_OK) status = job->ctx->comm->ops->gather(job->ctx->comm, mine, NUMBERS, all);
  *verdict = (kaon_market_block_totals){0, 0, 0};
  for (int r = 0; r < job->parsing_ranks && status == KAON_OK; r++) {
    verdict->lines += (int64_t)all[r * NUMBERS + LINES];
    verdict->seen += (int64_t)all[r * NUMBERS + SEEN];
    verdict->bad |= all[r * NUMBERS + BAD] != 0;
  }
  verdict->bad |= verdict->seen > rest;
  free(all);
  return status;
}

kaon_status kaon_market_explain(const kaon_market_job *job, int64_t rest) {
  kaon_market_job nothing = *job; /* no entry is retained */
  nothing.first = nothing.last = 0;
  kaon_market_part all = {.text = job->buffer + job->at,
                          .end = job->buffer + job->cut,
                          .line = job->line,
                          .report = 1,
                          .room = rest};
  kaon_market_parse(&nothing, &all);
  if (all.status != KAON_OK) return all.status;
  return kaon_fail(job->ctx, KAON_ERR_INTERNAL,
                   "%s: a block of lines was refused by one rank and not by another",
                   job->bytes->name);
}
