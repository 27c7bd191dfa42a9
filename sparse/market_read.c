/* market_read.c - entries of a Matrix Market file collected, and put into rows or columns.
 * Contract: market.h. Text is read in blocks of whole lines, a part a thread; parts are collected
 * in the file's order, so nothing depends on how many there are. Memory at most (s entries in the
 * file, f in the matrix, of r reals): s (8 + 8 r) to collect, of which nothing is touched before
 * there is something to keep, and f (4 + 8 r) + 8 rows of the result. */
#include <stdlib.h>
#include <string.h>

#include "lib/context.h"
#include "sparse/host_memory.h"
#include "sparse/market_job.h"

enum { MOST_THREADS = 64 };

/* Entries in the file's order. */
typedef struct entries {
  int64_t count, room;
  int32_t *row, *column; /* NULL: an array */
  double *value;         /* NULL: a pattern */
} entries;

static int pattern(const kaon_market_job *job) {
  return job->header.field == KAON_MARKET_PATTERN;
}

static int indexed(const kaon_market_job *job) {
  return !job->header.array;
}

static size_t bytes_each(const kaon_market_job *job) {
  return (indexed(job) ? 2 * sizeof(int32_t) : 0) +
         (pattern(job) ? 0 : (size_t)job->reals * sizeof(double));
}

static void release_entries(entries *e) {
  free(e->row);
  free(e->column);
  free(e->value);
  *e = (entries){0};
}

/* Room for `room` entries, those that are there kept. */
static kaon_status give_room(const kaon_market_job *job, entries *e, int64_t room) {
  int failed = 0;
  void *moved;
  if (indexed(job)) {
    moved = realloc(e->row, (size_t)room * sizeof *e->row);
    if (moved != NULL) e->row = moved;
    failed |= moved == NULL;
    moved = realloc(e->column, (size_t)room * sizeof *e->column);
    if (moved != NULL) e->column = moved;
    failed |= moved == NULL;
  }
  if (!pattern(job)) {
    moved = realloc(e->value, (size_t)room * (size_t)job->reals * sizeof *e->value);
    if (moved != NULL) e->value = moved;
    failed |= moved == NULL;
  }
  if (failed)
    return kaon_fail(job->ctx, KAON_ERR_MEMORY,
                     "%s: %lld entries of %zu bytes find no host memory to be collected in",
                     job->bytes->name, (long long)room, bytes_each(job));
  e->room = room;
  return KAON_OK;
}

static kaon_status append(const kaon_market_job *job, const kaon_market_part *part, entries *e) {
  const int64_t need = e->count + part->kept;
  if (need > e->room) {
    int64_t room = e->room + e->room / 2;
    if (room < need) room = need;
    if (room > job->header.stored && need <= job->header.stored) room = job->header.stored;
    KAON_TRY(give_room(job, e, room));
  }
  const size_t n = (size_t)part->kept, reals = (size_t)job->reals;
  if (indexed(job) && n > 0) {
    memcpy(e->row + e->count, part->row, n * sizeof *e->row);
    memcpy(e->column + e->count, part->column, n * sizeof *e->column);
  }
  if (!pattern(job) && n > 0)
    memcpy(e->value + (size_t)e->count * reals, part->value, n * reals * sizeof *e->value);
  e->count = need;
  return KAON_OK;
}

/* ---- parts of a block ---- */

static int parts_of(const kaon_market_job *job) {
  return job->options->threads < MOST_THREADS ? job->options->threads : MOST_THREADS;
}

static void release_parts(kaon_market_part *parts, int n) {
  for (int i = 0; i < n; i++) {
    free(parts[i].row);
    free(parts[i].column);
    free(parts[i].value);
  }
}

/* A part ends with the line that its share of the text ends in; longer lines are refused. */
static kaon_status make_parts(const kaon_market_job *job, kaon_market_part *parts, int n) {
  const size_t text = job->room / (size_t)n + job->longest_line + 2;
  const size_t most = text / (size_t)kaon_market_shortest(&job->header) + 1;
  int failed = 0;
  memset(parts, 0, (size_t)n * sizeof *parts);
  for (int i = 0; i < n; i++) {
    if (indexed(job)) {
      parts[i].row = malloc(most * sizeof(int32_t));
      parts[i].column = malloc(most * sizeof(int32_t));
      failed |= parts[i].row == NULL || parts[i].column == NULL;
    }
    if (!pattern(job)) {
      parts[i].value = malloc(most * (size_t)job->reals * sizeof(double));
      failed |= parts[i].value == NULL;
    }
  }
  if (!failed) return KAON_OK;
  release_parts(parts, n);
  return kaon_fail(job->ctx, KAON_ERR_MEMORY, "%s: no host memory for %zu entries of a block",
                   job->bytes->name, most);
}

static void share_out(const kaon_market_job *job, kaon_market_part *parts, int n, int64_t room) {
  const char *at = job->buffer + job->at, *const end = job->buffer + job->cut;
  const size_t each = (size_t)(end - at) / (size_t)n + 1;
  for (int i = 0; i < n; i++) {
    const char *stop = (size_t)(end - at) > each && i < n - 1 ? at + each : end;
    while (stop < end && stop[-1] != '\n') stop++;
    parts[i].text = at;
    parts[i].end = stop;
    parts[i].room = room;
    parts[i].report = 0;
    at = stop;
  }
}

/* One part's entries to those before it; a failure in words. */
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

/* All ranks see the same text, but memory may lack on one. */
static kaon_status read_block(kaon_market_job *job, kaon_market_part *parts, int n, int64_t *seen,
                              entries *e) {
  share_out(job, parts, n, job->header.stored - *seen);
#pragma omp parallel for num_threads(n) schedule(static, 1)
  for (int i = 0; i < n; i++) kaon_market_parse(job, &parts[i]);
  kaon_status status = KAON_OK;
  for (int i = 0; i < n && status == KAON_OK; i++) status = collect(job, &parts[i], seen, e);
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

static kaon_status read_entries(kaon_market_job *job, entries *e) {
  kaon_market_part parts[MOST_THREADS];
  const int n = parts_of(job);
  int64_t room = job->header.stored / job->options->ranks + 1;
  if (kaon_reader_is_compressed(job->reader)) { /* a bold promise is believed bit by bit */
    const int64_t likely = job->bytes->size;
    if (room > likely) room = likely;
  }
  kaon_status status = make_parts(job, parts, n);
  if (status == KAON_OK) {
    status = kaon_agree(job->ctx, give_room(job, e, room));
    if (status == KAON_OK) status = read_parts(job, parts, n, e);
    release_parts(parts, n);
  } else {
    status = kaon_agree(job->ctx, status);
  }
  return status;
}

/* ---- memory, before it is taken ---- */

/* `collecting` bytes while the file is read, of them and `keep` bytes of the result at the end. */
static kaon_status expect_memory(const kaon_market_job *job, double collecting, double keep) {
  const int64_t limit = job->options->memory > 0 ? job->options->memory : kaon_host_memory();
  if (collecting + keep <= (double)limit) return KAON_OK;
  return kaon_market_fault(job, KAON_ERR_MEMORY, job->header.line,
                           "%lld x %lld with %lld entries needs %.3f GB of host memory to be read, "
                           "%.3f GB of them to be kept, but there are %.3f GB; read it on a larger "
                           "machine or on more ranks",
                           (long long)job->header.rows, (long long)job->header.columns,
                           (long long)job->header.stored, (collecting + keep) * 1e-9, keep * 1e-9,
                           (double)limit * 1e-9);
}

static double entries_kept(const kaon_market_job *job) {
  const double stored = (double)job->header.stored;
  return job->header.symmetry == KAON_MARKET_GENERAL ? stored : 2 * stored;
}

/* ---- rows ---- */

/* Calls put(user, i, j, value) with all entries, in the file's order, each followed by its mirror
 * image. */
typedef void put_entry(void *user, int64_t i, int64_t j, const double *value);

static void put_both(const kaon_market_job *job, int64_t i, int64_t j, const double *value,
                     put_entry *put, void *user) {
  const kaon_market_symmetry symmetry = job->header.symmetry;
  put(user, i, j, value);
  if (symmetry == KAON_MARKET_GENERAL || i == j) return;
  double mirrored[2] = {value[0], value[job->reals - 1]};
  if (symmetry == KAON_MARKET_SKEW) {
    mirrored[0] = -mirrored[0];
    mirrored[1] = -mirrored[1];
  }
  if (symmetry == KAON_MARKET_HERMITIAN) mirrored[1] = -mirrored[1];
  put(user, j, i, mirrored);
}

static void each_entry(const kaon_market_job *job, const entries *e, put_entry *put, void *user) {
  static const double one[2] = {1, 0};
  if (indexed(job)) {
    for (int64_t n = 0; n < e->count; n++)
      put_both(job, e->row[n], e->column[n], pattern(job) ? one : e->value + n * job->reals, put,
               user);
    return;
  }
  const kaon_market_header *h = &job->header;
  const double *value = e->value;
  for (int64_t j = 0; j < h->columns; j++) {
    const int64_t first =
        h->symmetry == KAON_MARKET_GENERAL ? 0 : j + (h->symmetry == KAON_MARKET_SKEW);
    for (int64_t i = first; i < h->rows; i++, value += job->reals)
      put_both(job, i, j, value, put, user);
  }
}

typedef struct rows_made {
  const kaon_market_job *job;
  kaon_csr *csr;
  int64_t *at; /* [row]: counted, or the place of its next entry */
} rows_made;

static int is_kept(const kaon_market_job *job, int64_t i, const double *value) {
  if (i < job->first || i >= job->last) return 0;
  return indexed(job) || value[0] != 0 || value[job->reals - 1] != 0;
}

static void count_entry(void *user, int64_t i, int64_t j, const double *value) {
  rows_made *r = user;
  (void)j;
  if (is_kept(r->job, i, value)) r->at[i - r->job->first + 1]++;
}

static void put_in_row(void *user, int64_t i, int64_t j, const double *value) {
  rows_made *r = user;
  if (!is_kept(r->job, i, value)) return;
  const int64_t at = r->at[i - r->job->first]++;
  r->csr->column[at] = (int32_t)j;
  for (int c = 0; c < r->csr->reals; c++) r->csr->value[at * r->csr->reals + c] = value[c];
}

static kaon_status make_rows(const kaon_market_job *job, const entries *e, kaon_csr **csr) {
  const int64_t rows = job->last - job->first;
  int64_t *at = calloc((size_t)rows + 1, sizeof *at);
  if (at == NULL)
    return kaon_fail(job->ctx, KAON_ERR_MEMORY, "%s: %lld rows find no host memory",
                     job->bytes->name, (long long)rows);
  rows_made made = {job, NULL, at};
  each_entry(job, e, count_entry, &made);
  for (int64_t i = 0; i < rows; i++) at[i + 1] += at[i];
  const kaon_status status =
      kaon_csr_create(job->ctx, rows, job->header.columns, job->reals, at[rows], &made.csr);
  if (status == KAON_OK) {
    memcpy(made.csr->start, at, ((size_t)rows + 1) * sizeof *at);
    each_entry(job, e, put_in_row, &made);
  }
  free(at);
  *csr = made.csr;
  return status;
}

/* ---- what is wrong with all of them together ---- */

/* The target of the first rank that has one (row >= 0), on all. */
static kaon_status share_target(const kaon_context *ctx, kaon_market_target *target) {
  if (ctx == NULL || ctx->comm->ranks == 1) return KAON_OK;
  const int ranks = ctx->comm->ranks;
  const double mine[2] = {(double)target->row, (double)target->column};
  double *all = malloc((size_t)ranks * sizeof mine);
  KAON_TRY(kaon_agree(
      ctx, all != NULL ? KAON_OK
                       : kaon_fail(ctx, KAON_ERR_MEMORY, "no host memory for %d ranks", ranks)));
  const kaon_status status = ctx->comm->ops->gather(ctx->comm, mine, 2, all);
  target->row = -1;
  for (int r = ranks - 1; r >= 0 && status == KAON_OK; r--)
    if (all[2 * r] >= 0) {
      target->row = (int64_t)all[2 * r];
      target->column = (int64_t)all[2 * r + 1];
    }
  free(all);
  return status;
}

/* Sorts; entries of one place are added, or refused with their lines. */
static kaon_status settle_rows(const kaon_market_job *job, kaon_csr *csr) {
  const kaon_csr_duplicates duplicates = job->options->duplicates;
  kaon_status status = kaon_csr_sort(job->ctx, csr, duplicates);
  if (duplicates == KAON_CSR_ADD || (status != KAON_OK && status != KAON_ERR_FORMAT))
    return kaon_agree(job->ctx, status);
  kaon_market_target target = {-1, -1, -1};
  for (int64_t i = 0; i < csr->rows && status != KAON_OK && target.row < 0; i++)
    for (int64_t n = csr->start[i] + 1; n < csr->start[i + 1]; n++)
      if (csr->column[n] == csr->column[n - 1]) {
        target.row = i + job->first;
        target.column = csr->column[n];
        break;
      }
  int64_t lines[2];
  KAON_TRY(share_target(job->ctx, &target));
  if (target.row < 0) return kaon_agree(job->ctx, status);
  KAON_TRY(kaon_market_lines_of(job, &target, 2, lines));
  return kaon_market_fault(
      job, KAON_ERR_FORMAT, lines[1],
      "row %lld and column %lld have an entry on line %lld already; remove one "
      "of them, or let duplicates be added",
      (long long)target.row + 1, (long long)target.column + 1, (long long)lines[0]);
}

/* Diagonals of an array are told by counting alone, so they are looked at here. */
static kaon_status check_array(const kaon_market_job *job, const entries *e) {
  if (job->header.symmetry != KAON_MARKET_HERMITIAN || indexed(job)) return KAON_OK;
  int64_t at = 0, line = 0;
  for (int64_t j = 0; j < job->header.columns; at += job->header.rows - j, j++) {
    if (e->value[2 * at + 1] == 0) continue;
    const kaon_market_target target = {at, -1, -1};
    KAON_TRY(kaon_market_lines_of(job, &target, 1, &line));
    return kaon_market_fault(job, KAON_ERR_FORMAT, line,
                             "the diagonal entry of row %lld has the imaginary part %g, but a "
                             "Hermitian matrix has 0 there; correct it",
                             (long long)j + 1, e->value[2 * at + 1]);
  }
  return KAON_OK;
}

static kaon_status read_rows(kaon_market_job *job, kaon_csr **csr) {
  const double ranks = job->options->ranks, full = entries_kept(job) / ranks;
  entries e = {0};
  const double collecting = (double)job->header.stored / ranks * (double)bytes_each(job);
  const double keep = full * (4 + 8.0 * job->reals) + 8.0 * (double)job->header.rows / ranks;
  KAON_TRY(kaon_agree(job->ctx, expect_memory(job, collecting, keep)));
  kaon_status status = read_entries(job, &e);
  if (status == KAON_OK) status = check_array(job, &e);
  if (status == KAON_OK) status = kaon_agree(job->ctx, make_rows(job, &e, csr));
  release_entries(&e);
  if (status == KAON_OK) status = settle_rows(job, *csr);
  if (status != KAON_OK) kaon_csr_destroy(csr);
  return status;
}

kaon_status kaon_market_read(const kaon_context *ctx, const kaon_bytes *bytes,
                             const kaon_market_options *options, kaon_market_header *header,
                             kaon_csr **csr) {
  kaon_market_job job;
  *csr = NULL;
  kaon_status status = kaon_market_begin(ctx, bytes, options, &job);
  *header = job.header;
  if (status == KAON_OK) status = read_rows(&job, csr);
  kaon_market_end(&job);
  return status;
}

/* ---- columns ---- */

typedef struct columns_made {
  int64_t rows;
  int reals;
  double *value;
} columns_made;

static void put_in_column(void *user, int64_t i, int64_t j, const double *value) {
  columns_made *made = user;
  for (int c = 0; c < made->reals; c++)
    made->value[(j * made->rows + i) * made->reals + c] += value[c];
}

/* A place that two entries share, by way of rows. */
static kaon_status refuse_duplicates(const kaon_market_job *job, const entries *e) {
  kaon_csr *csr = NULL;
  if (job->options->duplicates == KAON_CSR_ADD || !indexed(job)) return KAON_OK;
  kaon_status status = kaon_agree(job->ctx, make_rows(job, e, &csr));
  if (status == KAON_OK) status = settle_rows(job, csr);
  kaon_csr_destroy(&csr);
  return status;
}

static kaon_status make_columns(const kaon_market_job *job, entries *e, double **values) {
  const kaon_market_header *h = &job->header;
  const size_t count = (size_t)h->rows * (size_t)h->columns * (size_t)job->reals;
  if (h->array && h->symmetry == KAON_MARKET_GENERAL) { /* they are it already */
    *values = e->value;
    e->value = NULL;
    return KAON_OK;
  }
  *values = calloc(count > 0 ? count : 1, sizeof **values);
  if (*values == NULL)
    return kaon_fail(job->ctx, KAON_ERR_MEMORY, "%s: %zu numbers find no host memory",
                     job->bytes->name, count);
  columns_made made = {h->rows, job->reals, *values};
  each_entry(job, e, put_in_column, &made);
  return KAON_OK;
}

static kaon_status read_columns(kaon_market_job *job, double **values) {
  const double numbers =
      (double)job->header.rows * (double)job->header.columns * (double)job->reals;
  entries e = {0};
  const double collecting = (double)job->header.stored * (double)bytes_each(job);
  KAON_TRY(kaon_agree(job->ctx, expect_memory(job, collecting, 8.0 * numbers)));
  kaon_status status = read_entries(job, &e);
  if (status == KAON_OK) status = check_array(job, &e);
  if (status == KAON_OK) status = refuse_duplicates(job, &e);
  if (status == KAON_OK) status = kaon_agree(job->ctx, make_columns(job, &e, values));
  release_entries(&e);
  return status;
}

kaon_status kaon_market_read_dense(const kaon_context *ctx, const kaon_bytes *bytes,
                                   const kaon_market_options *options, kaon_market_header *header,
                                   double **values) {
  kaon_market_options all = *options;
  kaon_market_job job;
  *values = NULL;
  all.rank = 0;
  all.ranks = 1;
  kaon_status status = kaon_market_begin(ctx, bytes, &all, &job);
  *header = job.header;
  if (status == KAON_OK) status = read_columns(&job, values);
  kaon_market_end(&job);
  return status;
}
