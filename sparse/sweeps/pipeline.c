/* pipeline.c - see pipeline.h. The best cut is not known beforehand. The distance at which a row
 * counts as free is tried in powers of two, and the time of each is estimated chunk by chunk. The
 * estimate adds the work of entries and rows, and the polls of other threads' progress. A distance
 * is given up as soon as it cannot win: rows without a regular pattern have many free rows and gain
 * nothing. */
#include "sparse/sweeps/pipeline.h"

#include <stdlib.h>
#include <string.h>

enum { LEAST_ROWS = 4096, LEAST_STRIP = 64, TRIES = 4 };
enum { MOST_CHUNKS = 4, LEAST_CHUNK = 64, MOST_CHUNK = 1024 }; /* of a strip and thread; rows */
/* Work in units of half a nanosecond. POLL: a poll, which waits for another core's store; TEAM:
 * waking the other threads; LEVEL: a barrier. Rows of a level that are not adjacent take SCATTERED
 * times as long. */
enum { ENTRY = 1, ROW = 4, POLL = 300, TEAM = 8000, LEVEL = 4000, BESIDE = 8, SCATTERED = 3 };
static const double GAIN = 1.25;   /* least gain for which threads are woken */
static const double ENOUGH = 0.75; /* times the threads: beyond this gain the search ends */

typedef struct triangle {
  const kaon_csr *T;
  int down, threads;
  int64_t work;  /* of all rows */
  double wanted; /* smaller gains are of no use */
} triangle;

static int64_t row_at(const triangle *t, int64_t n) {
  return t->down ? t->T->rows - 1 - n : n;
}

/* The last row, in processing order, that row n waits for; -1: none. The rows of T are sorted. */
static int64_t last_need(const triangle *t, int64_t n) {
  const int64_t row = row_at(t, n), begin = t->T->start[row], end = t->T->start[row + 1];
  if (begin == end) return -1;
  return row_at(t, t->T->column[t->down ? begin : end - 1]);
}

static int cuts(const triangle *t, int64_t n, int64_t distance) {
  return n == 0 || n - last_need(t, n) >= distance;
}

static int64_t work_of(const triangle *t, int64_t first, int64_t last) {
  const int64_t a = row_at(t, first), b = row_at(t, last - 1), *start = t->T->start;
  const int64_t entries = t->down ? start[a + 1] - start[b] : start[b + 1] - start[a];
  return ENTRY * entries + ROW * (last - first);
}

/* ---- strips and chunks ---- */

static int count_strips(const triangle *t, int64_t distance) {
  int strips = 0;
  for (int64_t n = 0, first = -LEAST_STRIP; n < t->T->rows; n++)
    if (n - first >= LEAST_STRIP && cuts(t, n, distance)) {
      first = n;
      strips++;
    }
  return strips;
}

static int64_t chunk_rows(const triangle *t, int strips, int chunks) {
  const int64_t rows = t->T->rows / ((int64_t)strips * chunks * t->threads);
  return rows < LEAST_CHUNK ? LEAST_CHUNK : rows > MOST_CHUNK ? MOST_CHUNK : rows;
}

/* Cuts all strips into chunks. No chunk ends one strip and begins the next. */
static kaon_status cut(const triangle *t, int64_t distance, int64_t length, kaon_pipeline *p) {
  const int64_t rows = t->T->rows;
  const size_t most = (size_t)(rows / length) + (size_t)p->strips + 2;
  p->strip = malloc(((size_t)p->strips + 1) * sizeof *p->strip);
  p->chunk = malloc(most * sizeof *p->chunk);
  if (p->strip == NULL || p->chunk == NULL) return KAON_ERR_MEMORY;
  int strips = 0;
  int64_t strip = -LEAST_STRIP, chunk = 0;
  for (int64_t n = 0; n < rows; n++) {
    const int begins = n - strip >= LEAST_STRIP && cuts(t, n, distance);
    if (!begins && n - chunk < length) continue;
    if (begins) p->strip[strips++] = p->chunks;
    if (begins) strip = n;
    p->chunk[p->chunks++] = (int32_t)n;
    chunk = n;
  }
  p->strip[strips] = p->chunks;
  p->chunk[p->chunks] = (int32_t)rows;
  return KAON_OK;
}

static int64_t first_row(const kaon_pipeline *p, int strip) {
  return p->chunk[p->strip[strip]];
}

/* Stores the strips of rows 0, LEAST_STRIP, 2 LEAST_STRIP, .... A strip has at least that many
 * rows, so any other row is in the stored strip or in the next one. */
static void note_strips(const kaon_pipeline *p, int64_t rows, int32_t *strip_at) {
  int strip = 0;
  for (int64_t n = 0; n < rows; n += LEAST_STRIP) {
    while (strip + 1 < p->strips && first_row(p, strip + 1) <= n) strip++;
    strip_at[n / LEAST_STRIP] = strip;
  }
}

/* For each other thread, the last row that rows [first, last) of strip `own` wait for. */
static void find_needs(const triangle *t, const kaon_pipeline *p, const int32_t *strip_at, int own,
                       int64_t first, int64_t last, int32_t *need) {
  const int64_t begin = first_row(p, own);
  memset(need, 0, (size_t)p->threads * sizeof *need);
  for (int64_t n = first; n < last; n++) {
    const int64_t row = row_at(t, n);
    for (int64_t i = t->T->start[row]; i < t->T->start[row + 1]; i++) {
      const int64_t other = row_at(t, t->T->column[i]);
      if (other >= begin) continue;
      int strip = strip_at[other / LEAST_STRIP];
      if (strip + 1 < p->strips && first_row(p, strip + 1) <= other) strip++;
      const int owner = strip % p->threads;
      if (owner != own % p->threads && other >= need[owner]) need[owner] = (int32_t)(other + 1);
    }
  }
}

/* ---- estimated time ---- */

static int chunk_of(const kaon_pipeline *p, int64_t n) {
  int low = 0, high = p->chunks;
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    if (p->chunk[middle] <= n)
      low = middle;
    else
      high = middle;
  }
  return low;
}

/* Finds all needs, and the ratio of the time of one thread to that of all of them; 0 as soon as
 * that is less than wanted. end: workspace for the time at which each chunk ends. A chunk waits
 * only for chunks before it. */
static double gain_of(const triangle *t, kaon_pipeline *p, const int32_t *strip_at, int64_t *end) {
  const double most = (double)t->work / t->wanted - TEAM;
  int64_t ready[KAON_PIPELINE_THREADS] = {0}, longest = 0;
  for (int strip = 0; strip < p->strips; strip++)
    for (int chunk = p->strip[strip]; chunk < p->strip[strip + 1]; chunk++) {
      int32_t *need = p->need + (size_t)chunk * (size_t)p->threads;
      const int own = strip % p->threads;
      int64_t begin = ready[own];
      find_needs(t, p, strip_at, strip, p->chunk[chunk], p->chunk[chunk + 1], need);
      for (int other = 0; other < p->threads; other++)
        if (need[other] > 0 && end[chunk_of(p, need[other] - 1)] > begin)
          begin = end[chunk_of(p, need[other] - 1)];
      end[chunk] = ready[own] = begin + work_of(t, p->chunk[chunk], p->chunk[chunk + 1]) + POLL;
      if (end[chunk] > longest) longest = end[chunk];
      if ((double)longest > most) return 0;
    }
  return (double)t->work / (double)(longest + TEAM);
}

static kaon_status try_chunks(const triangle *t, int64_t distance, int strips, int chunks,
                              kaon_pipeline **tried) {
  kaon_pipeline *p = calloc(1, sizeof *p);
  *tried = p;
  if (p == NULL) return KAON_ERR_MEMORY;
  p->threads = t->threads;
  p->strips = strips;
  KAON_TRY(cut(t, distance, chunk_rows(t, strips, chunks), p));
  p->need = malloc((size_t)p->chunks * (size_t)p->threads * sizeof *p->need);
  KAON_AUTOFREE int64_t *end = malloc((size_t)p->chunks * sizeof *end);
  KAON_AUTOFREE int32_t *strip_at =
      malloc((size_t)(t->T->rows / LEAST_STRIP + 1) * sizeof *strip_at);
  const int lacking = p->need == NULL || end == NULL || strip_at == NULL;
  if (!lacking) note_strips(p, t->T->rows, strip_at);
  if (!lacking) p->gain = gain_of(t, p, strip_at, end);
  return lacking ? KAON_ERR_MEMORY : KAON_OK;
}

/* Keeps the strips cut at this distance, in short or long chunks, if they are better than the
 * present ones, and raises the wanted gain accordingly. */
static kaon_status try_distance(triangle *t, int64_t distance, int strips, kaon_pipeline **best) {
  for (int chunks = 1; chunks <= MOST_CHUNKS; chunks *= MOST_CHUNKS) {
    kaon_pipeline *tried = NULL;
    const kaon_status status = try_chunks(t, distance, strips, chunks, &tried);
    if (status == KAON_OK && tried->gain > t->wanted) {
      kaon_pipeline *worse = *best;
      t->wanted = tried->gain;
      *best = tried;
      tried = worse;
    }
    kaon_pipeline_destroy(&tried);
    KAON_TRY(status);
  }
  return KAON_OK;
}

/* ---- levels ---- */

/* The ratio of the time of one thread by index to that of all threads by levels. */
static double gain_by_levels(const triangle *t, const kaon_level_sets *sets) {
  const int64_t rows = t->T->rows;
  const double row = (double)t->work / (double)rows;
  double longest = TEAM;
  int64_t beside = 0;
  for (int64_t n = 1; n < rows; n++) {
    const int64_t step = (int64_t)sets->row[n] - sets->row[n - 1];
    beside += step >= -BESIDE && step <= BESIDE;
  }
  const double each = 2 * beside > rows ? row : SCATTERED * row;
  for (int level = 0; level < sets->levels; level++) {
    const int64_t share =
        (sets->first[level + 1] - sets->first[level] + t->threads - 1) / t->threads;
    longest += each * (double)share + LEVEL;
  }
  return (double)t->work / longest;
}

kaon_status kaon_pipeline_create(const kaon_context *ctx, const kaon_csr *T, int order,
                                 const kaon_level_sets *sets, kaon_pipeline **pipeline) {
  triangle t = {.T = T, .down = order < 0, .threads = ctx->threads, .wanted = GAIN};
  kaon_status status = KAON_OK;
  *pipeline = NULL;
  if (order == 0 || t.threads < 2 || t.threads > KAON_PIPELINE_THREADS || T->rows < LEAST_ROWS)
    return KAON_OK;
  t.work = work_of(&t, 0, T->rows);
  if (t.threads >= KAON_LEVEL_THREADS) {
    const double levels = gain_by_levels(&t, sets);
    if (levels > t.wanted) t.wanted = levels;
  }
  int64_t before = 0;
  int tries = 0;
  for (int64_t distance = T->rows / 2; distance >= LEAST_STRIP && status == KAON_OK;
       distance /= 2) {
    const int strips = count_strips(&t, distance);
    if (strips < 2 * t.threads || 2 * strips < 3 * before) continue;
    before = strips;
    status = try_distance(&t, distance, strips, pipeline);
    if (t.wanted > ENOUGH * t.threads || ++tries == TRIES) break;
  }
  if (status == KAON_OK) return KAON_OK;
  kaon_pipeline_destroy(pipeline);
  return kaon_fail(ctx, status, "triangle: out of host memory for the chunks of %lld rows",
                   (long long)T->rows);
}

void kaon_pipeline_destroy(kaon_pipeline **pipeline) {
  if (pipeline == NULL || *pipeline == NULL) return;
  free((*pipeline)->strip);
  free((*pipeline)->chunk);
  free((*pipeline)->need);
  free(*pipeline);
  *pipeline = NULL;
}
