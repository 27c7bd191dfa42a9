/* market_triangle.c - a symmetric, skew-symmetric or Hermitian coordinate file has one triangle,
 * whichever it is. Finds out what a file with entries in both has, so that the remedy is right.
 * Contract: market_job.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/comm/comm.h"
#include "lib/core/context_internal.h"
#include "sparse/files/market_job.h"

/* An entry off the diagonal, at its place above the diagonal. */
typedef struct item {
  int32_t row, column;
  int below; /* 1: it stands below, and this is its mirror image */
  double value[2];
} item;

/* What is at a place (i, j) above the diagonal and at (j, i) below it. */
typedef enum state { ABOVE, BELOW, EQUAL, UNEQUAL, STATES } state;

/* Number of places in each state, and the first of each (row -1: none), of this rank's rows. */
typedef struct census {
  double count[STATES];
  kaon_market_target first[STATES];
} census;

static int compare(const void *a, const void *b) {
  const item *x = a, *y = b;
  if (x->row != y->row) return x->row < y->row ? -1 : 1;
  if (x->column != y->column) return x->column < y->column ? -1 : 1;
  return x->below - y->below;
}

/* The entries off the diagonal whose place above it is in this rank's rows, sorted. */
static int64_t take_items(const kaon_market_job *job, const kaon_market_entries *e, item *items) {
  int64_t count = 0;
  for (int64_t n = 0; n < e->count; n++) {
    const int64_t i = e->row[n], j = e->column[n];
    item *to = &items[count];
    if (i == j || (i < j ? i : j) < job->first || (i < j ? i : j) >= job->last) continue;
    *to = (item){(int32_t)(i < j ? i : j), (int32_t)(i < j ? j : i), i > j, {1, 0}};
    if (!kaon_market_is_pattern(job))
      memcpy(to->value, e->value + n * job->reals, (size_t)job->reals * sizeof(double));
    if (i > j) kaon_market_mirror(job, to->value);
    count++;
  }
  qsort(items, (size_t)count, sizeof *items, compare);
  return count;
}

/* The state of the place of items[at], and where the next place begins. */
static int64_t look_at(const item *items, int64_t at, int64_t count, state *is) {
  double sum[2][2] = {{0, 0}, {0, 0}};
  int has[2] = {0, 0};
  const item *first = &items[at];
  for (; at < count && items[at].row == first->row && items[at].column == first->column; at++) {
    const int side = items[at].below;
    has[side] = 1;
    for (int k = 0; k < 2; k++) sum[side][k] += items[at].value[k];
  }
  const int equal = sum[0][0] == sum[1][0] && sum[0][1] == sum[1][1];
  *is = !has[1] ? ABOVE : !has[0] ? BELOW : equal ? EQUAL : UNEQUAL;
  return at;
}

static kaon_status count_states(const kaon_market_job *job, const kaon_market_entries *e,
                                census *c) {
  KAON_AUTOFREE item *items = malloc(((size_t)e->count + 1) * sizeof *items);
  for (int i = 0; i < STATES; i++) c->first[i] = (kaon_market_target){-1, -1, -1};
  if (items == NULL)
    return kaon_fail(job->ctx, KAON_ERR_MEMORY,
                     "%s: has entries in both triangles, and there is no memory to compare them",
                     job->bytes->name);
  const int64_t count = take_items(job, e, items);
  for (int64_t at = 0; at < count;) {
    const kaon_market_target place = {-1, items[at].row, items[at].column};
    state is;
    at = look_at(items, at, count, &is);
    if (c->count[is]++ == 0) c->first[is] = place;
  }
  return KAON_OK;
}

/* What to do with entries above the diagonal whose mirror image is missing. */
static const char *exchange(const kaon_market_job *job) {
  static const char *const words[] = {"", "exchange row and column of",
                                      "negate, and exchange row and column of",
                                      "conjugate, and exchange row and column of"};
  return words[job->header.symmetry];
}

static kaon_status refuse(const kaon_market_job *job, census *c) {
  const state is = c->count[UNEQUAL] > 0 ? UNEQUAL : c->count[EQUAL] > 0 ? EQUAL : ABOVE;
  const int whole = c->count[ABOVE] == 0 && c->count[BELOW] == 0;
  kaon_market_target *place = &c->first[is];
  int64_t line[2];
  char begins[160];
  KAON_TRY(kaon_market_share_target(job->ctx, place));
  KAON_TRY(kaon_market_lines_of(job, place, is == ABOVE ? 1 : 2, line));
  snprintf(begins, sizeof begins,
           "a file that is not 'general' has one triangle alone, but this one has row %lld and "
           "column %lld",
           (long long)place->row + 1, (long long)place->column + 1);
  if (is == ABOVE)
    return kaon_market_fault(
        job, KAON_ERR_FORMAT, line[0],
        "%s above the diagonal, and others below it, without mirror images; %s those above (%.0f)",
        begins, exchange(job), c->count[ABOVE]);
  if (is == UNEQUAL)
    return kaon_market_fault(
        job, KAON_ERR_FORMAT, line[1],
        "%s twice, with the mirror image on line %lld, and their values differ; "
        "leave one of them out%s",
        begins, (long long)line[0],
        whole ? ", or write 'general' on line 1 if the matrix has no symmetry" : "");
  if (whole)
    return kaon_market_fault(job, KAON_ERR_FORMAT, line[1],
                             "%s twice, with the mirror image on line %lld, and so all the others; "
                             "write 'general' on line 1",
                             begins, (long long)line[0]);
  return kaon_market_fault(
      job, KAON_ERR_FORMAT, line[1],
      "%s twice, with the mirror image on line %lld; leave out what is above "
      "the diagonal where its mirror image is there (%.0f), and %s the others (%.0f)",
      begins, (long long)line[0], c->count[EQUAL], exchange(job), c->count[ABOVE]);
}

kaon_status kaon_market_check_triangle(const kaon_market_job *job, const kaon_market_entries *e) {
  const kaon_context *ctx = job->ctx;
  double has[2] = {0, 0};
  census c = {.count = {0}};
  if (job->header.symmetry == KAON_MARKET_GENERAL || !kaon_market_is_indexed(job)) return KAON_OK;
  for (int64_t n = 0; n < e->count; n++)
    if (e->row[n] != e->column[n]) has[e->row[n] > e->column[n]] = 1;
  if (ctx != NULL) KAON_TRY(kaon_comm_sum(ctx, has, 2));
  if (has[0] == 0 || has[1] == 0) return KAON_OK;
  KAON_TRY(kaon_agree(ctx, count_states(job, e, &c)));
  if (ctx != NULL) KAON_TRY(kaon_comm_sum(ctx, c.count, STATES));
  return refuse(job, &c);
}
