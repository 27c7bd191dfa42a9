/* market_read.c - puts collected entries of a Matrix Market file into rows or columns. Contract:
 * market.h. Maximum memory, for s entries in the file and f in the matrix, with r reals each:
 * - s (8 + 8 r) to collect; for an array 8 s r, of which nothing is touched before there is
 *   something to retain;
 * - f (4 + 8 r) + 8 rows for the result.
 * On ranks, with equal rows, it is a share of this. But an array is collected whole, and of one
 * triangle a rank collects what touches its rows or columns: up to two shares. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/core/context_internal.h"
#include "sparse/storage/host_memory.h"
#include "sparse/files/market_job.h"

typedef kaon_market_entries entries;

/* ---- memory, checked before it is allocated ---- */

/* Fails unless there are `collecting` bytes for reading the file and `keep` bytes for the result. */
static kaon_status require_memory(const kaon_market_job *job, double collecting, double keep) {
  const int64_t limit = job->options->memory > 0 ? job->options->memory : kaon_host_memory();
  if (collecting + keep <= (double)limit) return KAON_OK;
  return kaon_market_fault(
      job, KAON_ERR_MEMORY, job->header.line,
      "%lld x %lld with %lld entries needs %.3f GB of host memory to be read, %.3f GB of it after "
      "reading, but there are %.3f GB; read it on a larger machine or on more ranks",
      (long long)job->header.rows, (long long)job->header.columns, (long long)job->header.stored,
      (collecting + keep) * 1e-9, keep * 1e-9, (double)limit * 1e-9);
}

static double entries_kept(const kaon_market_job *job) {
  const double stored = (double)job->header.stored;
  return job->header.symmetry == KAON_MARKET_GENERAL ? stored : 2 * stored;
}

/* ---- rows ---- */

/* Calls put(user, i, j, value) for all entries in file order, each followed by its mirror image. */
typedef void put_entry(void *user, int64_t i, int64_t j, const double *value);

static void put_both(const kaon_market_job *job, int64_t i, int64_t j, const double *value,
                     put_entry *put, void *user) {
  put(user, i, j, value);
  if (job->header.symmetry == KAON_MARKET_GENERAL || i == j) return;
  double mirrored[2] = {value[0], value[job->reals - 1]};
  kaon_market_mirror(job, mirrored);
  put(user, j, i, mirrored);
}

static void each_entry(const kaon_market_job *job, const entries *e, put_entry *put, void *user) {
  static const double one[2] = {1, 0};
  if (kaon_market_is_indexed(job)) {
    for (int64_t n = 0; n < e->count; n++)
      put_both(job, e->row[n], e->column[n],
               kaon_market_is_pattern(job) ? one : e->value + n * job->reals, put, user);
    return;
  }
  const kaon_market_header *h = &job->header;
  const double *value = e->value;
  for (int64_t j = 0; j < h->columns && h->rows > 0; j++) { /* 2^31 columns without rows have no
                                                               values */
    const int64_t first =
        h->symmetry == KAON_MARKET_GENERAL ? 0 : j + (h->symmetry == KAON_MARKET_SKEW);
    for (int64_t i = first; i < h->rows; i++, value += job->reals)
      put_both(job, i, j, value, put, user);
  }
}

typedef struct rows_made {
  const kaon_market_job *job;
  kaon_csr *csr;
  int64_t *at; /* [row]: a count, or the index of its next entry */
} rows_made;

static int is_kept(const kaon_market_job *job, int64_t i, const double *value) {
  if (i < job->first || i >= job->last) return 0;
  return kaon_market_is_indexed(job) || value[0] != 0 || value[job->reals - 1] != 0;
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
    return kaon_fail(job->ctx, KAON_ERR_MEMORY, "%s: out of host memory for %lld rows",
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

/* ---- checks of the whole matrix ---- */

kaon_status kaon_market_share_target(const kaon_context *ctx, kaon_market_target *target) {
  if (ctx == NULL || ctx->comm->ranks == 1) return KAON_OK;
  const int ranks = ctx->comm->ranks;
  const double mine[2] = {(double)target->row, (double)target->column};
  KAON_AUTOFREE double *all = malloc((size_t)ranks * sizeof mine);
  KAON_TRY(KAON_AGREE_MEMORY(ctx, all != NULL, "out of host memory for %d ranks", ranks));
  const kaon_status status = ctx->comm->ops->gather(ctx->comm, mine, 2, all);
  target->row = -1;
  for (int r = ranks - 1; r >= 0 && status == KAON_OK; r--)
    if (all[2 * r] >= 0) {
      target->row = (int64_t)all[2 * r];
      target->column = (int64_t)all[2 * r + 1];
    }
  return status;
}

/* Sorts rows. Duplicate entries are added, or refused with their lines. */
static kaon_status sort_and_merge_rows(const kaon_market_job *job, kaon_csr *csr) {
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
  KAON_TRY(kaon_market_share_target(job->ctx, &target));
  if (target.row < 0) return kaon_agree(job->ctx, status);
  KAON_TRY(kaon_market_lines_of(job, &target, 2, lines));
  return kaon_market_fault(
      job, KAON_ERR_FORMAT, lines[1],
      "row %lld and column %lld have an entry on line %lld already; remove one "
      "of them, or let duplicates be added",
      (long long)target.row + 1, (long long)target.column + 1, (long long)lines[0]);
}

/* The diagonal entries of an array are known only by counting, so they are checked here. */
static kaon_status check_array(const kaon_market_job *job, const entries *e) {
  if (job->header.symmetry != KAON_MARKET_HERMITIAN || kaon_market_is_indexed(job)) return KAON_OK;
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

/* Bytes that a rank needs to collect entries, and for its rows. */
static void count_bytes(const kaon_market_job *job, double *collecting, double *keep) {
  const double ranks = job->options->ranks, full = entries_kept(job) / ranks;
  *collecting = (double)kaon_market_expected(job) * (double)kaon_market_bytes_each(job);
  *keep = full * (4 + 8.0 * job->reals) + 8.0 * (double)job->header.rows / ranks;
}

kaon_status kaon_market_inspect(const kaon_bytes *bytes, const kaon_market_options *options,
                                kaon_market_header *header, double *collecting, double *keep) {
  kaon_market_job job;
  const kaon_status status = kaon_market_begin(NULL, bytes, options, &job);
  *header = job.header;
  if (status == KAON_OK) {
    /* Also a block of text and its entries, at the file's mean line length. A rank has its share of
     * them, and what it sends and receives, in four copies; entries of a triangle go to two
     * ranks. */
    const double text = (double)job.room,
                 entries_a_byte = (double)header->stored / ((double)bytes->size + 1);
    const int sent = options->ranks == 1 || header->array      ? 0
                     : header->symmetry == KAON_MARKET_GENERAL ? 1
                                                               : 2;
    const double share = sent > 0 ? (1.0 + 4 * sent) / options->ranks : 1;
    count_bytes(&job, collecting, keep);
    *collecting += text + share * text * fmin(entries_a_byte, 1.0 / kaon_market_shortest(header)) *
                              (double)kaon_market_bytes_each(&job);
  }
  kaon_market_end(&job);
  return status;
}

static kaon_status read_rows(kaon_market_job *job, kaon_csr **csr) {
  entries e = {0};
  double collecting, keep;
  count_bytes(job, &collecting, &keep);
  KAON_TRY(kaon_agree(job->ctx, require_memory(job, collecting, keep)));
  kaon_status status = kaon_market_collect(job, &e);
  if (status == KAON_OK) status = check_array(job, &e);
  if (status == KAON_OK) status = kaon_market_check_triangle(job, &e);
  if (status == KAON_OK) status = kaon_agree(job->ctx, make_rows(job, &e, csr));
  kaon_market_release(&e);
  if (status == KAON_OK) status = sort_and_merge_rows(job, *csr);
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

/* Refuses entries with the same row and column, found by way of rows. */
static kaon_status refuse_duplicates(const kaon_market_job *job, const entries *e) {
  KAON_AUTO(kaon_csr_destroy) kaon_csr *csr = NULL;
  if (job->options->duplicates == KAON_CSR_ADD || !kaon_market_is_indexed(job)) return KAON_OK;
  if (job->header.columns == 0) return KAON_OK; /* there may be 2^31 rows without values */
  KAON_TRY(kaon_agree(job->ctx, make_rows(job, e, &csr)));
  return sort_and_merge_rows(job, csr);
}

static kaon_status make_columns(const kaon_market_job *job, entries *e, double **values) {
  const kaon_market_header *h = &job->header;
  const size_t count = (size_t)h->rows * (size_t)h->columns * (size_t)job->reals;
  if (h->array && h->symmetry == KAON_MARKET_GENERAL) { /* the values are already in this form */
    *values = e->value;
    e->value = NULL;
    return KAON_OK;
  }
  *values = calloc(count > 0 ? count : 1, sizeof **values);
  if (*values == NULL)
    return kaon_fail(job->ctx, KAON_ERR_MEMORY, "%s: out of host memory for %zu numbers",
                     job->bytes->name, count);
  columns_made made = {h->rows, job->reals, *values};
  each_entry(job, e, put_in_column, &made);
  return KAON_OK;
}

static kaon_status read_columns(kaon_market_job *job, double **values) {
  const double numbers =
      (double)job->header.rows * (double)job->header.columns * (double)job->reals;
  KAON_AUTO(kaon_market_release) entries e = {0};
  const double collecting = (double)job->header.stored * (double)kaon_market_bytes_each(job);
  KAON_TRY(kaon_agree(job->ctx, require_memory(job, collecting, 8.0 * numbers)));
  KAON_TRY(kaon_market_collect(job, &e));
  KAON_TRY(check_array(job, &e));
  KAON_TRY(kaon_market_check_triangle(job, &e));
  KAON_TRY(refuse_duplicates(job, &e));
  return kaon_agree(job->ctx, make_columns(job, &e, values));
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
