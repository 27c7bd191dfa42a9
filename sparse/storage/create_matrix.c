/* create_matrix.c - matrices from the caller's arrays. Everything is checked before it is used, and
 * messages name the position of what is wrong. */
#include <math.h>
#include <stdlib.h>

#include "sparse/storage/matrix.h"
#include "sparse/ranks/rank_rows.h"
#include "lib/core/entry.h"

typedef struct source {
  kaon_context *ctx;
  int64_t global_rows, first_row, rows;
  int reals, base;
} source;

static kaon_status check_source(const source *s, const char *name) {
  if (s->global_rows < 0 || s->global_rows > INT32_MAX)
    return kaon_fail(s->ctx, s->global_rows < 0 ? KAON_ERR_ARGUMENT : KAON_ERR_UNSUPPORTED,
                     "%s: the matrix has %lld rows, but 0 to %d are supported", name,
                     (long long)s->global_rows, INT32_MAX);
  if (s->first_row < 0 || s->rows < 0 || s->first_row > s->global_rows - s->rows)
    return kaon_fail(s->ctx, KAON_ERR_ARGUMENT,
                     "%s: rows %lld to %lld were passed, but the matrix has rows 0 to %lld", name,
                     (long long)s->first_row, (long long)(s->first_row + s->rows) - 1,
                     (long long)s->global_rows - 1);
  if (s->reals != 1 && s->reals != 2)
    return kaon_fail(s->ctx, KAON_ERR_ARGUMENT,
                     "%s: values have %d reals, but must have 1 (real) or 2 (complex)", name,
                     s->reals);
  if (s->base != 0 && s->base != 1)
    return kaon_fail(s->ctx, KAON_ERR_ARGUMENT, "%s: indices begin at %d, but must begin at 0 or 1",
                     name, s->base);
  return KAON_OK;
}

static kaon_csr_duplicates duplicates_of(const kaon_matrix_options *options) {
  return options != NULL && options->refuse_duplicates ? KAON_CSR_REFUSE : KAON_CSR_ADD;
}

/* Makes the matrix from this rank's rows, or passes on its failure; all ranks get the same
 * status. */
static kaon_status finish(kaon_context *ctx, kaon_status status, kaon_csr **rows, int64_t first_row,
                          const kaon_matrix_options *options, kaon_matrix **matrix) {
  status = kaon_agree(ctx, status);
  if (status != KAON_OK) {
    kaon_csr_destroy(rows);
    return status;
  }
  return kaon_matrix_from_rows(ctx, rows, first_row, options, matrix);
}

/* ---- compressed rows ---- */

static int64_t start_of(const kaon_csr_arrays *a, int64_t i) {
  if (a->start64 == NULL && a->start32 == NULL) return 0; /* no rows (check_csr) */
  return (a->start64 != NULL ? a->start64[i] : a->start32[i]) - a->base;
}

static int64_t column_of(const kaon_csr_arrays *a, int64_t n) {
  return (a->column64 != NULL ? a->column64[n] : a->column32[n]) - a->base;
}

/* 1: exactly one of the two arrays is set, or none and `empty`. */
static int one_of(const void *narrow, const void *wide, int empty) {
  return (narrow == NULL) != (wide == NULL) || (narrow == NULL && empty);
}

static kaon_status check_csr(kaon_context *ctx, const kaon_csr_arrays *a) {
  if (!one_of(a->start32, a->start64, a->rows == 0) ||
      !one_of(a->column32, a->column64, start_of(a, a->rows) == 0))
    return kaon_fail(ctx, KAON_ERR_ARGUMENT,
                     "matrix csr: one of start32 and start64 (where there are rows) and one of "
                     "column32 and column64 (where there are entries) are needed");
  if (start_of(a, 0) != 0)
    return kaon_fail(ctx, KAON_ERR_ARGUMENT, "matrix csr: start[0] is %lld, but the base is %d",
                     (long long)(start_of(a, 0) + a->base), a->base);
  for (int64_t i = 0; i < a->rows; i++)
    if (start_of(a, i + 1) < start_of(a, i))
      return kaon_fail(ctx, KAON_ERR_ARGUMENT,
                       "matrix csr: start[%lld] is %lld, below start[%lld] = %lld; starts ascend",
                       (long long)i + 1, (long long)(start_of(a, i + 1) + a->base), (long long)i,
                       (long long)(start_of(a, i) + a->base));
  if (a->values == NULL && start_of(a, a->rows) > 0)
    return kaon_fail(ctx, KAON_ERR_ARGUMENT, "matrix csr: %lld entries without values",
                     (long long)start_of(a, a->rows));
  return KAON_OK;
}

/* Copies row i. Returns 0 if it has an entry that cannot be taken. */
static int take_row(const kaon_csr_arrays *a, kaon_csr *to, int64_t i) {
  const int64_t end = to->start[i + 1] = start_of(a, i + 1);
  int fits = 1;
  for (int64_t n = start_of(a, i); n < end; n++) {
    const int64_t column = column_of(a, n);
    fits &= column >= 0 && column < a->global_rows;
    to->column[n] = (int32_t)column;
    for (int64_t c = n * a->reals; c < (n + 1) * a->reals; c++) {
      fits &= isfinite(a->values[c]) != 0;
      to->value[c] = a->values[c];
    }
  }
  return fits;
}

/* The sentence of the first entry of row i that cannot be taken. */
static kaon_status refuse_row(kaon_context *ctx, const kaon_csr_arrays *a, int64_t i) {
  int64_t n = start_of(a, i), column = column_of(a, n), c = 0;
  while (column >= 0 && column < a->global_rows && isfinite(a->values[n * a->reals + c])) {
    if (++c < a->reals) continue;
    column = column_of(a, ++n);
    c = 0;
  }
  if (column < 0 || column >= a->global_rows)
    return kaon_fail(ctx, KAON_ERR_ARGUMENT,
                     "matrix csr: entry %lld (row %lld) is in column %lld, but columns are %d to "
                     "%lld",
                     (long long)n, (long long)(a->first_row + i + a->base),
                     (long long)(column + a->base), a->base,
                     (long long)(a->global_rows - 1 + a->base));
  return kaon_fail(ctx, KAON_ERR_NOT_FINITE,
                   "matrix csr: entry %lld at row %lld, column %lld is %g, not a finite number",
                   (long long)n, (long long)(a->first_row + i + a->base),
                   (long long)(column + a->base), a->values[n * a->reals + c]);
}

static kaon_status rows_from_csr(kaon_context *ctx, const kaon_csr_arrays *a,
                                 const kaon_matrix_options *options, kaon_csr **rows) {
  const source s = {ctx, a->global_rows, a->first_row, a->rows, a->reals, a->base};
  KAON_TRY(check_source(&s, "matrix csr"));
  KAON_TRY(check_csr(ctx, a));
  KAON_TRY(kaon_csr_create(ctx, a->rows, a->global_rows, a->reals, start_of(a, a->rows), rows));
  (*rows)->names = (kaon_csr_names){a->first_row, a->base};
  kaon_csr *to = *rows;
  int64_t bad = INT64_MAX;
#pragma omp parallel for num_threads(ctx->threads) schedule(static) reduction(min : bad)
  for (int64_t i = 0; i < a->rows; i++)
    if (!take_row(a, to, i) && i < bad) bad = i;
  if (bad < INT64_MAX) return refuse_row(ctx, a, bad);
  return kaon_csr_sort(ctx, to, duplicates_of(options));
}

kaon_status kaon_matrix_create_csr(kaon_context *ctx, const kaon_csr_arrays *arrays,
                                   const kaon_matrix_options *options, kaon_matrix **matrix) {
  kaon_csr *rows = NULL;
  if (matrix != NULL) *matrix = NULL;
  KAON_ENTER(ctx, ctx, arrays, matrix);
  const kaon_status status = rows_from_csr(ctx, arrays, options, &rows);
  return finish(ctx, status, &rows, arrays->first_row, options, matrix);
}

/* ---- triplets ---- */

static kaon_status check_triplets(kaon_context *ctx, const kaon_triplet_arrays *a) {
  if (a->entries < 0 ||
      (a->entries > 0 && (a->row == NULL || a->column == NULL || a->values == NULL)))
    return kaon_fail(ctx, KAON_ERR_ARGUMENT,
                     "matrix triplets: %lld entries need rows, columns and values",
                     (long long)a->entries);
  for (int64_t n = 0; n < a->entries; n++) {
    const int64_t row = a->row[n] - a->base, column = a->column[n] - a->base;
    if (row < a->first_row || row >= a->first_row + a->rows || column < 0 ||
        column >= a->global_rows)
      return kaon_fail(ctx, KAON_ERR_ARGUMENT,
                       "matrix triplets: entry %lld stands at row %lld, column %lld, but this "
                       "rank's rows are %lld to %lld and columns %d to %lld",
                       (long long)n, (long long)a->row[n], (long long)a->column[n],
                       (long long)(a->first_row + a->base),
                       (long long)(a->first_row + a->rows - 1 + a->base), a->base,
                       (long long)(a->global_rows - 1 + a->base));
  }
  return KAON_OK;
}

static kaon_status rows_from_triplets(kaon_context *ctx, const kaon_triplet_arrays *a,
                                      const kaon_matrix_options *options, kaon_csr **rows) {
  const source s = {ctx, a->global_rows, a->first_row, a->rows, a->reals, a->base};
  KAON_TRY(check_source(&s, "matrix triplets"));
  KAON_TRY(check_triplets(ctx, a));
  const size_t room = ((size_t)a->entries + 1) * sizeof(int64_t);
  KAON_AUTOFREE int64_t *row = malloc(room), *column = malloc(room);
  KAON_TRY(KAON_CHECK_MEMORY(ctx, row != NULL && column != NULL,
                             "matrix triplets: out of host memory for the places of %lld entries",
                             (long long)a->entries));
  for (int64_t n = 0; n < a->entries; n++) {
    row[n] = a->row[n] - a->base - a->first_row;
    column[n] = a->column[n] - a->base;
  }
  return kaon_csr_from_named_triplets(ctx, (kaon_csr_names){a->first_row, a->base}, a->rows,
                                      a->global_rows, a->reals, a->entries, row, column, a->values,
                                      duplicates_of(options), rows);
}

kaon_status kaon_matrix_create_triplets(kaon_context *ctx, const kaon_triplet_arrays *arrays,
                                        const kaon_matrix_options *options, kaon_matrix **matrix) {
  kaon_csr *rows = NULL;
  if (matrix != NULL) *matrix = NULL;
  KAON_ENTER(ctx, ctx, arrays, matrix);
  const kaon_status status = rows_from_triplets(ctx, arrays, options, &rows);
  return finish(ctx, status, &rows, arrays->first_row, options, matrix);
}

/* ---- OpenFOAM's faces ---- */

static kaon_status check_interface(kaon_context *ctx, const kaon_ldu_arrays *a, int n) {
  const kaon_ldu_interface *i = &a->interface[n];
  if (i->rank < 0 || i->rank >= ctx->comm->ranks || i->rank == ctx->comm->rank)
    return kaon_fail(ctx, KAON_ERR_ARGUMENT,
                     "matrix ldu: interface %d is with rank %d, but an interface of rank %d of %d "
                     "must be with another rank; give a cyclic pair on one rank as faces",
                     n, i->rank, ctx->comm->rank, ctx->comm->ranks);
  if (i->faces < 0 || i->faces > INT32_MAX ||
      (i->faces > 0 && (i->cells == NULL || i->coefficients == NULL)))
    return kaon_fail(ctx, KAON_ERR_ARGUMENT,
                     "matrix ldu: interface %d of %lld faces needs cells and coefficients", n,
                     (long long)i->faces);
  for (int64_t f = 0; f < i->faces; f++)
    if (i->cells[f] < 0 || i->cells[f] >= a->cells)
      return kaon_fail(
          ctx, KAON_ERR_ARGUMENT,
          "matrix ldu: face %lld of interface %d belongs to cell %d, but cells are 0 to %lld",
          (long long)f, n, (int)i->cells[f], (long long)a->cells - 1);
  for (int m = 0; m < n; m++)
    if (a->interface[m].rank == i->rank && a->interface[m].tag == i->tag)
      return kaon_fail(ctx, KAON_ERR_ARGUMENT,
                       "matrix ldu: interfaces %d and %d are both with rank %d and have tag %d; "
                       "give those of one rank tags that differ",
                       m, n, i->rank, i->tag);
  return KAON_OK;
}

static kaon_status check_numbers(kaon_context *ctx, const char *name, const double *values,
                                 int64_t count) {
  for (int64_t i = 0; values != NULL && i < count; i++)
    if (!isfinite(values[i]))
      return kaon_fail(ctx, KAON_ERR_NOT_FINITE, "matrix ldu: %s[%lld] is %g, not a finite number",
                       name, (long long)i, values[i]);
  return KAON_OK;
}

static kaon_status check_ldu(kaon_context *ctx, const kaon_ldu_arrays *a) {
  if (a->cells < 0 || a->cells > INT32_MAX)
    return kaon_fail(ctx, a->cells < 0 ? KAON_ERR_ARGUMENT : KAON_ERR_UNSUPPORTED,
                     "matrix ldu: the matrix has %lld rows, but 0 to %d are supported",
                     (long long)a->cells, INT32_MAX);
  if (a->faces < 0 || (a->cells > 0 && a->diagonal == NULL) ||
      (a->faces > 0 && (a->owner == NULL || a->neighbour == NULL || a->upper == NULL)))
    return kaon_fail(ctx, KAON_ERR_ARGUMENT,
                     "matrix ldu: %lld cells and %lld faces need diagonal, owner, neighbour and "
                     "upper",
                     (long long)a->cells, (long long)a->faces);
  for (int64_t f = 0; f < a->faces; f++) {
    if (a->owner[f] < 0 || a->owner[f] >= a->cells || a->neighbour[f] < 0 ||
        a->neighbour[f] >= a->cells)
      return kaon_fail(ctx, KAON_ERR_ARGUMENT,
                       "matrix ldu: face %lld joins cells %d and %d, but cells are 0 to %lld",
                       (long long)f, (int)a->owner[f], (int)a->neighbour[f],
                       (long long)a->cells - 1);
    if (a->owner[f] == a->neighbour[f])
      return kaon_fail(ctx, KAON_ERR_ARGUMENT,
                       "matrix ldu: face %lld joins cell %d with itself; its entries belong to the "
                       "diagonal",
                       (long long)f, (int)a->owner[f]);
  }
  KAON_TRY(check_numbers(ctx, "diagonal", a->diagonal, a->cells));
  KAON_TRY(check_numbers(ctx, "upper", a->upper, a->faces));
  KAON_TRY(check_numbers(ctx, "lower", a->lower, a->faces));
  if (a->interfaces < 0 || (a->interfaces > 0 && a->interface == NULL))
    return kaon_fail(ctx, KAON_ERR_ARGUMENT,
                     "matrix ldu: %d interfaces are announced, but their address is NULL",
                     a->interfaces);
  for (int n = 0; n < a->interfaces; n++) KAON_TRY(check_interface(ctx, a, n));
  return KAON_OK;
}

/* A face of an interface, as it is sent to the other side. */
typedef struct ldu_face {
  int32_t tag, face, cell; /* cell: index in the whole matrix */
} ldu_face;

/* Per rank: its first cell in the whole matrix, and `beyond`: the cells on the other side of the
 * interfaces' faces, one interface after another. */
typedef struct ldu_ranks {
  int64_t first, all, joints; /* joints: faces of all interfaces */
  int32_t *beyond;
} ldu_ranks;

static kaon_status count_cells(kaon_context *ctx, const kaon_ldu_arrays *a, ldu_ranks *l) {
  const int ranks = ctx->comm->ranks;
  const double mine = (double)a->cells;
  double *all = malloc((size_t)ranks * sizeof *all);
  kaon_status status =
      KAON_AGREE_MEMORY(ctx, all != NULL, "matrix ldu: out of host memory for %d ranks", ranks);
  if (status == KAON_OK) status = ctx->comm->ops->gather(ctx->comm, &mine, 1, all);
  for (int r = 0; r < ranks && status == KAON_OK; r++) {
    if (r < ctx->comm->rank) l->first += (int64_t)all[r];
    l->all += (int64_t)all[r];
  }
  free(all);
  if (status == KAON_OK && l->all > INT32_MAX)
    return kaon_fail(ctx, KAON_ERR_UNSUPPORTED,
                     "matrix ldu: the matrix has %lld rows, but 0 to %d are supported",
                     (long long)l->all, INT32_MAX);
  return status;
}

/* Finds the cells beyond one interface in what its rank has sent. */
static kaon_status meet(kaon_context *ctx, const kaon_ldu_interface *i, const ldu_face *sent,
                        int64_t count, int32_t *beyond) {
  int64_t met = 0;
  for (int64_t f = 0; f < i->faces; f++) beyond[f] = -1;
  for (int64_t n = 0; n < count; n++) {
    if (sent[n].tag != i->tag) continue;
    met++;
    if (sent[n].face < i->faces) beyond[sent[n].face] = sent[n].cell;
  }
  if (met == i->faces) return KAON_OK;
  return kaon_fail(ctx, KAON_ERR_SHAPE,
                   "matrix ldu: the interface of rank %d with rank %d, tag %d, has %lld faces, but "
                   "%lld on the other side; both list the same faces in the same order",
                   ctx->comm->rank, i->rank, i->tag, (long long)i->faces, (long long)met);
}

/* Refuses faces that another rank sends but no interface here has. */
static kaon_status check_met(kaon_context *ctx, const kaon_ldu_arrays *a, const int64_t *came) {
  for (int r = 0; r < ctx->comm->ranks; r++) {
    int64_t mine = 0;
    for (int n = 0; n < a->interfaces; n++)
      if (a->interface[n].rank == r) mine += a->interface[n].faces;
    if (mine != came[r])
      return kaon_fail(ctx, KAON_ERR_SHAPE,
                       "matrix ldu: rank %d has %lld faces of interfaces with rank %d, which has "
                       "%lld with it; both must be equal",
                       ctx->comm->rank, (long long)mine, r, (long long)came[r]);
  }
  return KAON_OK;
}

/* Exchanges the cells between both sides of all interfaces. */
static kaon_status join_interfaces(kaon_context *ctx, const kaon_ldu_arrays *a, ldu_ranks *l) {
  const int ranks = ctx->comm->ranks;
  KAON_AUTOFREE int64_t *count = calloc(2 * (size_t)ranks, sizeof *count);
  int64_t at = 0, from = 0;
  for (int n = 0; n < a->interfaces; n++) l->joints += a->interface[n].faces;
  KAON_AUTOFREE ldu_face *sent = malloc(((size_t)l->joints + 1) * sizeof *sent);
  KAON_AUTOFREE void *received = NULL;
  l->beyond = malloc(((size_t)l->joints + 1) * sizeof *l->beyond);
  kaon_status status =
      KAON_AGREE_MEMORY(ctx, count != NULL && sent != NULL && l->beyond != NULL,
                        "matrix ldu: out of host memory for %lld faces", (long long)l->joints);
  for (int r = 0; r < ranks && status == KAON_OK; r++)
    for (int n = 0; n < a->interfaces; n++) {
      const kaon_ldu_interface *i = &a->interface[n];
      for (int64_t f = 0; i->rank == r && f < i->faces; f++)
        sent[at++] = (ldu_face){i->tag, (int32_t)f, (int32_t)(l->first + i->cells[f])};
      if (i->rank == r) count[r] += i->faces;
    }
  if (status == KAON_OK)
    status = kaon_ranks_trade(ctx, sizeof *sent, count, sent, count + ranks, &received);
  at = 0;
  for (int n = 0; n < a->interfaces && status == KAON_OK; n++) {
    const kaon_ldu_interface *i = &a->interface[n];
    from = 0;
    for (int r = 0; r < i->rank; r++) from += count[ranks + r];
    status =
        meet(ctx, i, (const ldu_face *)received + from, count[ranks + i->rank], l->beyond + at);
    at += i->faces;
  }
  if (status == KAON_OK) status = check_met(ctx, a, count + ranks);
  return status;
}

typedef struct ldu_entries {
  int64_t n, *row, *column;
  double *value;
} ldu_entries;

static void add_entry(ldu_entries *e, int64_t row, int64_t column, double value) {
  e->row[e->n] = row;
  e->column[e->n] = column;
  e->value[e->n++] = value;
}

static void fill_ldu(const kaon_ldu_arrays *a, const ldu_ranks *l, ldu_entries *e) {
  const int32_t *beyond = l->beyond;
  for (int64_t i = 0; i < a->cells; i++) add_entry(e, i, l->first + i, a->diagonal[i]);
  for (int64_t f = 0; f < a->faces; f++) {
    add_entry(e, a->owner[f], l->first + a->neighbour[f], a->upper[f]);
    add_entry(e, a->neighbour[f], l->first + a->owner[f],
              a->lower != NULL ? a->lower[f] : a->upper[f]);
  }
  for (int n = 0; n < a->interfaces; n++)
    for (int64_t f = 0; f < a->interface[n].faces; f++)
      add_entry(e, a->interface[n].cells[f], *beyond++, -a->interface[n].coefficients[f]);
}

static kaon_status rows_of_ldu(kaon_context *ctx, const kaon_ldu_arrays *a, const ldu_ranks *l,
                               const kaon_matrix_options *options, kaon_csr **rows) {
  const size_t room = (size_t)(a->cells + 2 * a->faces + l->joints) + 1;
  ldu_entries e = {0, malloc(room * sizeof *e.row), malloc(room * sizeof *e.column),
                   malloc(room * sizeof *e.value)};
  kaon_status status = KAON_OK;
  if (e.row == NULL || e.column == NULL || e.value == NULL) {
    status =
        kaon_fail(ctx, KAON_ERR_MEMORY, "matrix ldu: out of host memory for %zu entries", room);
  } else {
    fill_ldu(a, l, &e);
    status = kaon_csr_from_triplets(ctx, a->cells, l->all, 1, e.n, e.row, e.column, e.value,
                                    duplicates_of(options), rows);
  }
  free(e.row);
  free(e.column);
  free(e.value);
  return status;
}

kaon_status kaon_matrix_create_ldu(kaon_context *ctx, const kaon_ldu_arrays *arrays,
                                   const kaon_matrix_options *options, kaon_matrix **matrix) {
  kaon_csr *rows = NULL;
  ldu_ranks l = {0};
  if (matrix != NULL) *matrix = NULL;
  KAON_ENTER(ctx, ctx, arrays, matrix);
  kaon_status status = kaon_agree(ctx, check_ldu(ctx, arrays));
  if (status == KAON_OK) status = kaon_agree(ctx, count_cells(ctx, arrays, &l));
  if (status == KAON_OK) status = kaon_agree(ctx, join_interfaces(ctx, arrays, &l));
  if (status == KAON_OK) status = rows_of_ldu(ctx, arrays, &l, options, &rows);
  free(l.beyond);
  return finish(ctx, status, &rows, l.first, options, matrix);
}
