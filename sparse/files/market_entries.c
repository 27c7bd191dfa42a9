/* market_entries.c - collects the entries of a Matrix Market file in file order. Contract:
 * market_job.h. Text is read in blocks of whole lines. Each thread parses a part of a block; in
 * coordinate files each rank parses a share too (market_shared.c). Parts are collected in file
 * order, so the result does not depend on their number. */
#include <stdlib.h>
#include <string.h>

#include "lib/core/context_internal.h"
#include "sparse/files/market_job.h"

typedef kaon_market_entries entries;

size_t kaon_market_bytes_each(const kaon_market_job *job) {
  return (kaon_market_is_indexed(job) ? 2 * sizeof(int32_t) : 0) +
         (kaon_market_is_pattern(job) ? 0 : (size_t)job->reals * sizeof(double));
}

int64_t kaon_market_expected(const kaon_market_job *job) {
  const int64_t stored = job->header.stored, ranks = job->options->ranks;
  if (!kaon_market_is_indexed(job) || ranks == 1) return stored;
  if (job->header.symmetry == KAON_MARKET_GENERAL) return stored / ranks + 1;
  return ranks == 2 ? stored : 2 * (stored / ranks) + 2;
}

void kaon_market_release(kaon_market_entries *e) {
  free(e->row);
  free(e->column);
  free(e->value);
  *e = (entries){0};
}

/* Provides capacity for `room` entries and retains the existing ones. */
static kaon_status free_workspace(const kaon_market_job *job, entries *e, int64_t room) {
  int failed = 0;
  void *moved;
  if (kaon_market_is_indexed(job)) {
    moved = realloc(e->row, (size_t)room * sizeof *e->row);
    if (moved != NULL) e->row = moved;
    failed |= moved == NULL;
    moved = realloc(e->column, (size_t)room * sizeof *e->column);
    if (moved != NULL) e->column = moved;
    failed |= moved == NULL;
  }
  if (!kaon_market_is_pattern(job)) {
    moved = realloc(e->value, (size_t)room * (size_t)job->reals * sizeof *e->value);
    if (moved != NULL) e->value = moved;
    failed |= moved == NULL;
  }
  if (failed)
    return kaon_fail(job->ctx, KAON_ERR_MEMORY,
                     "%s: out of host memory to collect %lld entries of %zu bytes in",
                     job->bytes->name, (long long)room, kaon_market_bytes_each(job));
  e->room = room;
  return KAON_OK;
}

kaon_status kaon_market_reserve(const kaon_market_job *job, entries *e, int64_t need) {
  if (need <= e->room) return KAON_OK;
  int64_t room = e->room + e->room / 2;
  if (room < need) room = need;
  if (room > job->header.stored && need <= job->header.stored) room = job->header.stored;
  return free_workspace(job, e, room);
}

static kaon_status append(const kaon_market_job *job, const kaon_market_part *part, entries *e) {
  const int64_t need = e->count + part->kept;
  KAON_TRY(kaon_market_reserve(job, e, need));
  const size_t n = (size_t)part->kept, reals = (size_t)job->reals;
  if (kaon_market_is_indexed(job) && n > 0) {
    memcpy(e->row + e->count, part->row, n * sizeof *e->row);
    memcpy(e->column + e->count, part->column, n * sizeof *e->column);
  }
  if (!kaon_market_is_pattern(job) && n > 0)
    memcpy(e->value + (size_t)e->count * reals, part->value, n * reals * sizeof *e->value);
  e->count = need;
  return KAON_OK;
}

/* ---- parts of a block ---- */

static void release_parts(kaon_market_part *parts, int n) {
  for (int i = 0; i < n; i++) {
    free(parts[i].row);
    free(parts[i].column);
    free(parts[i].value);
  }
}

/* A part ends with the line in which its share of the text ends; longer lines are refused. Shares
 * are rounded (divide_block). */
static kaon_status make_parts(const kaon_market_job *job, kaon_market_part *parts, int n) {
  const size_t text = job->room / (size_t)job->parsing_ranks / (size_t)n + job->longest_line +
                      KAON_MARKET_PARTS + 4;
  const size_t most = text / (size_t)kaon_market_shortest(&job->header) + 1;
  int failed = 0;
  memset(parts, 0, (size_t)n * sizeof *parts);
  for (int i = 0; i < n; i++) {
    if (kaon_market_is_indexed(job)) {
      parts[i].row = malloc(most * sizeof(int32_t));
      parts[i].column = malloc(most * sizeof(int32_t));
      failed |= parts[i].row == NULL || parts[i].column == NULL;
    }
    if (!kaon_market_is_pattern(job)) {
      parts[i].value = malloc(most * (size_t)job->reals * sizeof(double));
      failed |= parts[i].value == NULL;
    }
  }
  if (!failed) return KAON_OK;
  release_parts(parts, n);
  return kaon_fail(job->ctx, KAON_ERR_MEMORY, "%s: out of host memory for %zu entries of a block",
                   job->bytes->name, most);
}

/* The end of the line in which the first `each` bytes of [at, end) end. */
static const char *cut(const char *at, const char *end, size_t each) {
  const char *stop = (size_t)(end - at) > each ? at + each : end;
  while (stop < end && stop[-1] != '\n') stop++;
  return stop;
}

/* Divides this rank's share of a block into parts. Ranks may have different numbers of parts. */
static void divide_block(const kaon_market_job *job, kaon_market_part *parts, int n, int64_t room) {
  const char *at = job->buffer + job->at, *end = job->buffer + job->cut;
  const size_t share = (size_t)(end - at) / (size_t)job->parsing_ranks + 1,
               each = share / (size_t)n + 1;
  for (int r = 0; r < job->options->rank && job->parsing_ranks > 1; r++) at = cut(at, end, share);
  if (job->parsing_ranks > 1 && job->options->rank < job->parsing_ranks - 1)
    end = cut(at, end, share);
  for (int i = 0; i < n; i++) {
    kaon_market_part *part = &parts[i];
    part->text = at;
    part->end = at = i < n - 1 ? cut(at, end, each) : end;
    part->room = room;
    part->report = 0;
  }
}

/* Appends one part's entries to those before it, or reports its failure. */
static kaon_status collect(kaon_market_job *job, kaon_market_part *part, int64_t *seen,
                           entries *e) {
  const int64_t rest = job->header.stored - *seen;
  if (part->status != KAON_OK || part->seen > rest) {
    part->report = 1;
    part->line = job->line;
    part->room = rest;
    kaon_market_parse(job, part);
    return part->status;
  }
  *seen += part->seen;
  job->line += part->lines;
  return append(job, part, e);
}

/* Collects the parts of all ranks that share a block. */
static kaon_status collect_shares(kaon_market_job *job, const kaon_market_part *parts, int n,
                                  int64_t *seen, entries *e) {
  const int64_t rest = job->header.stored - *seen;
  kaon_market_block_totals v;
  KAON_TRY(kaon_market_block_sum(job, parts, n, rest, &v));
  if (v.bad) return kaon_market_explain(job, rest);
  *seen += v.seen;
  job->line += v.lines;
  return kaon_market_send(job, parts, n, e);
}

/* All ranks see the same text, but one of them may run out of memory. */
static kaon_status read_block(kaon_market_job *job, kaon_market_part *parts, int n, int64_t *seen,
                              entries *e) {
  divide_block(job, parts, n, job->header.stored - *seen);
#pragma omp parallel for num_threads(n) schedule(static, 1)
  for (int i = 0; i < n; i++) kaon_market_parse(job, &parts[i]);
  kaon_status status = KAON_OK;
  if (job->parsing_ranks > 1) status = collect_shares(job, parts, n, seen, e);
  for (int i = 0; i < n && status == KAON_OK && job->parsing_ranks == 1; i++)
    status = collect(job, &parts[i], seen, e);
  job->at = job->cut;
  return kaon_agree(job->ctx, status);
}

static kaon_status read_parts(kaon_market_job *job, kaon_market_part *parts, int n, entries *e) {
  int64_t seen = 0;
  for (;;) {
    KAON_TRY(kaon_market_fill(job));
    if (job->at == job->cut) break;
    KAON_TRY(read_block(job, parts, n, &seen, e));
  }
  if (seen < job->header.stored)
    return kaon_market_fault(job, KAON_ERR_FORMAT, job->line,
                             "the file ends here with %lld of the %lld entries of line %lld; "
                             "correct that number, or copy the file again",
                             (long long)seen, (long long)job->header.stored,
                             (long long)job->header.line);
  return KAON_OK;
}

/* For a coordinate file that the ranks of a job read for their own rows. A rank retains all that it
 * parses until it is sent. */
static void share_lines(kaon_market_job *job) {
  const kaon_comm *comm = job->ctx != NULL ? job->ctx->comm : NULL;
  if (comm == NULL || comm->ranks == 1 || !kaon_market_is_indexed(job) ||
      job->options->ranks != comm->ranks || job->options->rank != comm->rank)
    return;
  job->parsing_ranks = comm->ranks;
  job->first = 0;
  job->last = job->header.rows;
}

kaon_status kaon_market_collect(kaon_market_job *job, kaon_market_entries *e) {
  kaon_market_part parts[KAON_MARKET_PARTS];
  const int n = job->parts;
  const int64_t first = job->first, last = job->last;
  int64_t room = kaon_market_expected(job) + 1;
  if (kaon_reader_is_compressed(job->reader)) { /* the size line is not trusted: start small */
    const int64_t likely = job->bytes->size;
    if (room > likely) room = likely;
  }
  share_lines(job);
  kaon_status status = make_parts(job, parts, n);
  if (status == KAON_OK) {
    status = kaon_agree(job->ctx, free_workspace(job, e, room));
    if (status == KAON_OK) status = read_parts(job, parts, n, e);
    release_parts(parts, n);
  } else {
    status = kaon_agree(job->ctx, status);
  }
  job->first = first;
  job->last = last;
  return status;
}
