/* pipeline.c - see pipeline.h. Where to cut is not known beforehand: the distance at which a row
 * counts as free is tried in powers of two, and what each would take is worked out piece by piece.
 * A piece takes its entries and rows, and a look at the others (two cores of a Zen 4: 4 ns a row of
 * four entries, 0.15 us a look). */
#include "sparse/pipeline.h"

#include <stdlib.h>
#include <string.h>

enum { LEAST_ROWS = 4096, LEAST_STRIP = 64 };
enum { MOST_PIECES = 4, LEAST_PIECE = 64, MOST_PIECE = 1024 }; /* of a strip and thread; rows */
/* Work, half a nanosecond each. A look waits for another core's store; TEAM: to wake the others. */
enum { ENTRY = 1, ROW = 4, LOOK = 300, TEAM = 8000 };
/* What is worth waking threads for. Many of them have levels, too, which gain less than they. */
static const double GAIN = 1.25, GAIN_OF_MANY = 0.25; /* of a thread */
static const double ENOUGH = 0.75;                    /* no other distance is tried */

typedef struct triangle {
  const kaon_csr *T;
  int down, threads;
} triangle;

static int64_t row_at(const triangle *t, int64_t n) {
  return t->down ? t->T->rows - 1 - n : n;
}

/* The last row, as they are counted, that row n waits for; -1: none. T's rows are sorted. */
static int64_t last_need(const triangle *t, int64_t n) {
  const int64_t row = row_at(t, n), begin = t->T->start[row], end = t->T->start[row + 1];
  if (begin == end) return -1;
  return row_at(t, t->T->column[t->down ? begin : end - 1]);
}

static int cuts(const triangle *t, int64_t n, int64_t distance) {
  return n == 0 || n - last_need(t, n) >= distance;
}

/* ---- strips and pieces ---- */

static int count_strips(const triangle *t, int64_t distance) {
  int strips = 0;
  for (int64_t n = 0, first = -LEAST_STRIP; n < t->T->rows; n++)
    if (n - first >= LEAST_STRIP && cuts(t, n, distance)) {
      first = n;
      strips++;
    }
  return strips;
}

static int64_t piece_rows(const triangle *t, int strips, int pieces) {
  const int64_t rows = t->T->rows / ((int64_t)strips * pieces * t->threads);
  return rows < LEAST_PIECE ? LEAST_PIECE : rows > MOST_PIECE ? MOST_PIECE : rows;
}

/* The pieces of all strips, of which no one ends a strip and begins the next. */
static kaon_status cut(const triangle *t, int64_t distance, int64_t length, kaon_pipeline *p) {
  const int64_t rows = t->T->rows;
  const size_t most = (size_t)(rows / length) + (size_t)p->strips + 2;
  p->strip = malloc(((size_t)p->strips + 1) * sizeof *p->strip);
  p->piece = malloc(most * sizeof *p->piece);
  if (p->strip == NULL || p->piece == NULL) return KAON_ERR_MEMORY;
  int strips = 0;
  int64_t strip = -LEAST_STRIP, piece = 0;
  for (int64_t n = 0; n < rows; n++) {
    const int begins = n - strip >= LEAST_STRIP && cuts(t, n, distance);
    if (!begins && n - piece < length) continue;
    if (begins) p->strip[strips++] = p->pieces;
    if (begins) strip = n;
    p->piece[p->pieces++] = (int32_t)n;
    piece = n;
  }
  p->strip[strips] = p->pieces;
  p->piece[p->pieces] = (int32_t)rows;
  return KAON_OK;
}

static int strip_of(const kaon_pipeline *p, int64_t n) {
  int low = 0, high = p->strips;
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    if (p->piece[p->strip[middle]] <= n)
      low = middle;
    else
      high = middle;
  }
  return low;
}

/* Of each other thread the last row that rows [first, last) of strip `own` wait for. */
static void find_needs(const triangle *t, const kaon_pipeline *p, int own, int64_t first,
                       int64_t last, int32_t *need) {
  const int64_t begin = p->piece[p->strip[own]];
  int64_t from = 0, to = 0; /* the strip of the entry before */
  int owner = 0;
  memset(need, 0, (size_t)p->threads * sizeof *need);
  for (int64_t n = first; n < last; n++) {
    const int64_t row = row_at(t, n);
    for (int64_t i = t->T->start[row]; i < t->T->start[row + 1]; i++) {
      const int64_t other = row_at(t, t->T->column[i]);
      if (other >= begin) continue;
      if (other < from || other >= to) {
        const int strip = strip_of(p, other);
        from = p->piece[p->strip[strip]];
        to = p->piece[p->strip[strip + 1]];
        owner = strip % p->threads;
      }
      if (owner != own % p->threads && other >= need[owner]) need[owner] = (int32_t)(other + 1);
    }
  }
}

/* ---- what it takes ---- */

static int64_t work_of(const triangle *t, int64_t first, int64_t last) {
  const int64_t a = row_at(t, first), b = row_at(t, last - 1), *start = t->T->start;
  const int64_t entries = t->down ? start[a + 1] - start[b] : start[b + 1] - start[a];
  return ENTRY * entries + ROW * (last - first);
}

static int piece_of(const kaon_pipeline *p, int64_t n) {
  int low = 0, high = p->pieces;
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    if (p->piece[middle] <= n)
      low = middle;
    else
      high = middle;
  }
  return low;
}

/* Finds all needs, and what one thread takes over what all of them do. `end`: room for when each
 * piece ends. Pieces only wait for pieces before them. */
static double gain_of(const triangle *t, kaon_pipeline *p, int64_t *end) {
  int64_t ready[KAON_PIPELINE_THREADS] = {0}, all = 0, longest = 1;
  for (int strip = 0; strip < p->strips; strip++)
    for (int piece = p->strip[strip]; piece < p->strip[strip + 1]; piece++) {
      int32_t *need = p->need + (size_t)piece * (size_t)p->threads;
      const int own = strip % p->threads;
      const int64_t first = p->piece[piece], last = p->piece[piece + 1];
      const int64_t work = work_of(t, first, last);
      int64_t begin = ready[own];
      find_needs(t, p, strip, first, last, need);
      for (int other = 0; other < p->threads; other++)
        if (need[other] > 0 && end[piece_of(p, need[other] - 1)] > begin)
          begin = end[piece_of(p, need[other] - 1)];
      all += work;
      end[piece] = ready[own] = begin + work + LOOK;
      if (end[piece] > longest) longest = end[piece];
    }
  return (double)all / (double)(longest + TEAM);
}

static kaon_status try_pieces(const triangle *t, int64_t distance, int strips, int pieces,
                              kaon_pipeline **tried) {
  kaon_pipeline *p = calloc(1, sizeof *p);
  *tried = p;
  if (p == NULL) return KAON_ERR_MEMORY;
  p->threads = t->threads;
  p->strips = strips;
  KAON_TRY(cut(t, distance, piece_rows(t, strips, pieces), p));
  p->need = malloc((size_t)p->pieces * (size_t)p->threads * sizeof *p->need);
  int64_t *end = malloc((size_t)p->pieces * sizeof *end);
  const kaon_status status = p->need == NULL || end == NULL ? KAON_ERR_MEMORY : KAON_OK;
  if (status == KAON_OK) p->gain = gain_of(t, p, end);
  free(end);
  return status;
}

/* The better of what is there and what strips cut at this distance make; short pieces first. */
static kaon_status try_distance(const triangle *t, int64_t distance, int strips, double wanted,
                                kaon_pipeline **best) {
  for (int pieces = MOST_PIECES; pieces > 0; pieces /= 2) {
    kaon_pipeline *tried = NULL;
    const kaon_status status = try_pieces(t, distance, strips, pieces, &tried);
    const int better =
        status == KAON_OK && tried->gain > wanted && (*best == NULL || tried->gain > (*best)->gain);
    if (better) {
      kaon_pipeline *worse = *best;
      *best = tried;
      tried = worse;
    }
    kaon_pipeline_destroy(&tried);
    KAON_TRY(status);
  }
  return KAON_OK;
}

kaon_status kaon_pipeline_create(const kaon_context *ctx, const kaon_csr *T, int order,
                                 kaon_pipeline **pipeline) {
  const triangle t = {.T = T, .down = order < 0, .threads = ctx->threads};
  const double wanted = GAIN > GAIN_OF_MANY * t.threads ? GAIN : GAIN_OF_MANY * t.threads;
  kaon_status status = KAON_OK;
  int before = 0;
  *pipeline = NULL;
  if (order == 0 || t.threads < 2 || t.threads > KAON_PIPELINE_THREADS || T->rows < LEAST_ROWS)
    return KAON_OK;
  for (int64_t distance = T->rows / 2; distance >= LEAST_STRIP && status == KAON_OK;
       distance /= 2) {
    const int strips = count_strips(&t, distance);
    if (strips < 2 * t.threads || strips == before) continue;
    before = strips;
    status = try_distance(&t, distance, strips, wanted, pipeline);
    if (*pipeline != NULL && (*pipeline)->gain > ENOUGH * t.threads) break;
  }
  if (status == KAON_OK) return KAON_OK;
  kaon_pipeline_destroy(pipeline);
  return kaon_fail(ctx, status, "triangle: no host memory for the pieces of %lld rows",
                   (long long)T->rows);
}

void kaon_pipeline_destroy(kaon_pipeline **pipeline) {
  if (pipeline == NULL || *pipeline == NULL) return;
  free((*pipeline)->strip);
  free((*pipeline)->piece);
  free((*pipeline)->need);
  free(*pipeline);
  *pipeline = NULL;
}
