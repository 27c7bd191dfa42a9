/* market_write.c - writes rows and dense columns to Matrix Market files. Contract: market.h. All
 * ranks print the same text, and the first one writes it (lib/io/atomic_file.h). So entries are
 * broadcast in pieces. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/core/context_internal.h"
#include "lib/io/decimal.h"
#include "lib/io/gzip.h"
#include "sparse/files/market.h"

enum { PIECE = 1 << 14, TEXT = 1 << 16, LONGEST_LINE = 4 * KAON_DECIMAL_CAPACITY };

typedef struct printer {
  const kaon_context *ctx;
  kaon_writer *writer;
  size_t used;
  char text[TEXT];
} printer;

/* Entries of one rank, as broadcast. */
typedef struct piece {
  int64_t count;
  int64_t row[PIECE], column[PIECE]; /* from 0 */
  double value[2 * PIECE];
} piece;

static kaon_status flush(printer *p) {
  const size_t n = p->used;
  p->used = 0;
  return kaon_writer_put(p->writer, p->text, n);
}

static kaon_status make_room(printer *p) {
  return TEXT - p->used < LONGEST_LINE ? flush(p) : KAON_OK;
}

static void print_count(printer *p, int64_t n) {
  p->used += (size_t)kaon_decimal_write_count(n, p->text + p->used);
  p->text[p->used++] = ' ';
}

/* A whole number below 2^53. */
static void print_integer(printer *p, double value) {
  if (value < 0) p->text[p->used++] = '-';
  print_count(p, (int64_t)fabs(value));
}

/* One or two reals and the end of the line. */
static void print_value(printer *p, const double *value, int reals) {
  for (int c = 0; c < reals; c++) {
    p->used += (size_t)kaon_decimal_write(value[c], p->text + p->used);
    p->text[p->used++] = c + 1 < reals ? ' ' : '\n';
  }
}

static kaon_status begin(const kaon_context *ctx, const char *path, const char *head,
                         printer **made) {
  printer *p = malloc(sizeof *p);
  *made = NULL;
  if (path == NULL) path = "";
  kaon_status status =
      KAON_AGREE_MEMORY(ctx, p != NULL, "%s: out of host memory to write", kaon_short_path(path));
  if (status == KAON_OK) {
    p->ctx = ctx;
    p->used = 0;
    status = kaon_writer_open(ctx, path, &p->writer);
  }
  if (status != KAON_OK) {
    free(p);
    return status;
  }
  *made = p;
  return kaon_writer_put(p->writer, head, strlen(head));
}

static kaon_status end(printer **made, kaon_status status) {
  printer *p = *made;
  if (p == NULL) return status;
  if (status == KAON_OK) status = flush(p);
  if (status == KAON_OK)
    status = kaon_writer_commit(&p->writer);
  else
    kaon_writer_abandon(&p->writer);
  free(p);
  *made = NULL;
  return status;
}

static int ranks_of(const kaon_context *ctx) {
  return ctx != NULL ? ctx->comm->ranks : 1;
}

static int rank_of(const kaon_context *ctx) {
  return ctx != NULL ? ctx->comm->rank : 0;
}

static kaon_status share(const kaon_context *ctx, int root, void *data, size_t bytes) {
  if (ranks_of(ctx) == 1 || bytes == 0) return KAON_OK;
  return ctx->comm->ops->broadcast(ctx->comm, data, bytes, root);
}

/* ---- rows ---- */

/* A rank's position among its entries. */
typedef struct cursor {
  const kaon_csr *rows;
  int64_t first_row, row, entry;
  int lower; /* only the lower triangle */
} cursor;

static void next_piece(cursor *at, piece *to) {
  const kaon_csr *a = at->rows;
  to->count = 0;
  for (; at->row < a->rows; at->row++) {
    if (at->entry < a->start[at->row]) at->entry = a->start[at->row];
    for (; at->entry < a->start[at->row + 1]; at->entry++) {
      if (to->count == PIECE) return;
      if (at->lower && a->column[at->entry] > at->first_row + at->row) break;
      to->row[to->count] = at->first_row + at->row;
      to->column[to->count] = a->column[at->entry];
      for (int c = 0; c < a->reals; c++)
        to->value[to->count * a->reals + c] = a->value[at->entry * a->reals + c];
      to->count++;
    }
    at->entry = 0;
  }
}

static kaon_status share_piece(const kaon_context *ctx, int root, piece *p, int reals) {
  KAON_TRY(share(ctx, root, &p->count, sizeof p->count));
  KAON_TRY(share(ctx, root, p->row, (size_t)p->count * sizeof *p->row));
  KAON_TRY(share(ctx, root, p->column, (size_t)p->count * sizeof *p->column));
  return share(ctx, root, p->value, (size_t)(p->count * reals) * sizeof *p->value);
}

static void print_entry(printer *to, const double *value, int reals, kaon_market_field field) {
  if (field == KAON_MARKET_REAL || field == KAON_MARKET_COMPLEX) {
    print_value(to, value, reals);
    return;
  }
  if (field == KAON_MARKET_INTEGER) print_integer(to, *value);
  to->text[to->used - 1] = '\n'; /* replaces the blank after the last value */
}

static kaon_status print_rows(printer *to, const cursor *start, kaon_market_field field, piece *p) {
  const int reals = start->rows->reals;
  for (int root = 0; root < ranks_of(to->ctx); root++) {
    cursor at = *start;
    do {
      if (root == rank_of(to->ctx)) next_piece(&at, p);
      KAON_TRY(share_piece(to->ctx, root, p, reals));
      for (int64_t n = 0; n < p->count; n++) {
        KAON_TRY(make_room(to));
        print_count(to, p->row[n] + 1);
        print_count(to, p->column[n] + 1);
        print_entry(to, p->value + n * reals, reals, field);
      }
    } while (p->count == PIECE);
  }
  return KAON_OK;
}

/* The number of this rank's entries. */
static double entries_of(const cursor *start) {
  const kaon_csr *a = start->rows;
  if (!start->lower) return (double)a->start[a->rows];
  int64_t count = 0;
  for (int64_t i = 0; i < a->rows; i++)
    for (int64_t n = a->start[i]; n < a->start[i + 1]; n++)
      count += a->column[n] <= start->first_row + i;
  return (double)count;
}

kaon_status kaon_market_write(const kaon_context *ctx, const char *path, const kaon_csr *rows,
                              int64_t first_row, kaon_market_field field,
                              kaon_market_symmetry symmetry) {
  static const char *const fields[] = {"real", "integer", "complex", "pattern"};
  static const char *const kinds[] = {"general", "symmetric", "skew-symmetric", "hermitian"};
  const cursor start = {rows, first_row, 0, 0, symmetry != KAON_MARKET_GENERAL};
  double totals[2] = {entries_of(&start), (double)rows->rows};
  char head[160];
  printer *p = NULL;
  KAON_AUTOFREE piece *moving = malloc(sizeof *moving);
  kaon_status status =
      KAON_AGREE_MEMORY(ctx, moving != NULL, "out of host memory to write a matrix");
  if (status == KAON_OK && ranks_of(ctx) > 1) status = kaon_comm_sum(ctx, totals, 2);
  if (status == KAON_OK) {
    snprintf(head, sizeof head, "%%%%MatrixMarket matrix coordinate %s %s\n%.0f %lld %.0f\n",
             fields[field], kinds[symmetry], totals[1], (long long)rows->columns, totals[0]);
    status = begin(ctx, path, head, &p);
  }
  if (status == KAON_OK) status = print_rows(p, &start, field, moving);
  return end(&p, status);
}

/* ---- columns ---- */

/* Values [0, count) of one column on this rank. */
static kaon_status print_column(printer *to, const double *values, int64_t rows, int reals,
                                double *moving) {
  const int64_t each = PIECE / reals;
  for (int root = 0; root < ranks_of(to->ctx); root++) {
    int64_t all = rows;
    KAON_TRY(share(to->ctx, root, &all, sizeof all));
    for (int64_t first = 0; first < all; first += each) {
      const int64_t count = all - first < each ? all - first : each;
      const size_t bytes = (size_t)(count * reals) * sizeof *values;
      if (root == rank_of(to->ctx)) memcpy(moving, values + first * reals, bytes);
      KAON_TRY(share(to->ctx, root, moving, bytes));
      for (int64_t n = 0; n < count; n++) {
        KAON_TRY(make_room(to));
        print_value(to, moving + n * reals, reals);
      }
    }
  }
  return KAON_OK;
}

kaon_status kaon_market_write_dense(const kaon_context *ctx, const char *path, int64_t rows,
                                    int64_t columns, int reals, const double *values) {
  double total = (double)rows;
  char head[160];
  printer *p = NULL;
  KAON_AUTOFREE double *moving = malloc(PIECE * sizeof *moving);
  kaon_status status =
      KAON_AGREE_MEMORY(ctx, moving != NULL, "out of host memory to write columns");
  if (status == KAON_OK && ranks_of(ctx) > 1) status = kaon_comm_sum(ctx, &total, 1);
  if (status == KAON_OK) {
    snprintf(head, sizeof head, "%%%%MatrixMarket matrix array %s general\n%.0f %lld\n",
             reals == 2 ? "complex" : "real", total, (long long)columns);
    status = begin(ctx, path, head, &p);
  }
  for (int64_t j = 0; j < columns && status == KAON_OK; j++)
    status = print_column(p, values + j * rows * reals, rows, reals, moving);
  return end(&p, status);
}
