/* csr.c - rows in host memory: made from triplets, sorted, transposed, permuted. The time is
 * proportional to the number of entries. Entries at the same position are added in the order in
 * which they were given, so results depend on nothing else. */
#include "sparse/storage/csr.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/core/context_internal.h"

/* Rows up to this length are sorted by insertion, longer ones by the digits of their columns. */
enum { SHORT_ROW = 48, DIGIT_BITS = 11, DIGITS = 1 << DIGIT_BITS };

/* Allocates host memory for count elements (at least one). what: begins the message. */
static kaon_status room(const kaon_context *ctx, int64_t count, size_t size, const char *what,
                        void **memory) {
  if (count < 1) count = 1;
  *memory = (uint64_t)count > PTRDIFF_MAX / size ? NULL : malloc((size_t)count * size);
  if (*memory != NULL) return KAON_OK;
  return kaon_fail(ctx, KAON_ERR_MEMORY,
                   "sparse rows: out of host memory for %s of %lld elements of %zu bytes", what,
                   (long long)count, size);
}

kaon_status kaon_csr_create(const kaon_context *ctx, int64_t rows, int64_t columns, int reals,
                            int64_t entries, kaon_csr **csr) {
  *csr = NULL;
  if (rows < 0 || rows > INT32_MAX || columns < 0 || columns > INT32_MAX)
    return kaon_fail(
        ctx, KAON_ERR_ARGUMENT,
        "sparse rows: %lld x %lld were asked for, but 0 to %d rows and columns are supported",
        (long long)rows, (long long)columns, INT32_MAX);
  if (entries < 0 || (reals != 1 && reals != 2))
    return kaon_fail(ctx, KAON_ERR_ARGUMENT,
                     "sparse rows: %lld entries of %d reals were asked for, but must be at least 0 "
                     "entries of 1 (real) or 2 (complex)",
                     (long long)entries, reals);
  kaon_csr *made = calloc(1, sizeof *made);
  if (made == NULL) return kaon_fail(ctx, KAON_ERR_MEMORY, "sparse rows: out of host memory");
  made->rows = rows;
  made->columns = columns;
  made->reals = reals;
  void *start = NULL, *column = NULL, *value = NULL;
  kaon_status status = room(ctx, rows + 1, sizeof *made->start, "starts of rows", &start);
  if (status == KAON_OK)
    status = room(ctx, entries, sizeof *made->column, "columns of entries", &column);
  if (status == KAON_OK)
    status = room(ctx, entries, (size_t)reals * sizeof *made->value, "values of entries", &value);
  made->start = start;
  made->column = column;
  made->value = value;
  if (status != KAON_OK) {
    kaon_csr_destroy(&made);
    return status;
  }
  made->start[0] = 0;
  *csr = made;
  return KAON_OK;
}

void kaon_csr_destroy(kaon_csr **csr) {
  if (csr == NULL || *csr == NULL) return;
  free((*csr)->start);
  free((*csr)->column);
  free((*csr)->value);
  free(*csr);
  *csr = NULL;
}

static int threads_of(const kaon_context *ctx) {
  return ctx != NULL ? ctx->threads : 1;
}

/* Stores an entry with its value. */
static inline void put(kaon_csr *to, int64_t at, int32_t column, const double *value) {
  to->column[at] = column;
  for (int c = 0; c < to->reals; c++) to->value[at * to->reals + c] = value[c];
}

static kaon_status check_triplets(const kaon_context *ctx, const kaon_csr *shape, int64_t entries,
                                  const int64_t *row, const int64_t *column, const double *value) {
  for (int64_t n = 0; n < entries; n++) {
    if (row[n] < 0 || row[n] >= shape->rows || column[n] < 0 || column[n] >= shape->columns)
      return kaon_fail(ctx, KAON_ERR_ARGUMENT,
                       "sparse entry %lld stands at row %lld, column %lld, but rows are 0 to %lld "
                       "and columns 0 to %lld",
                       (long long)n, (long long)row[n], (long long)column[n],
                       (long long)shape->rows - 1, (long long)shape->columns - 1);
    for (int c = 0; c < shape->reals; c++)
      if (!isfinite(value[n * shape->reals + c]))
        return kaon_fail(ctx, KAON_ERR_NOT_FINITE,
                         "sparse entry %lld at row %lld, column %lld is %g, not a finite number",
                         (long long)n, (long long)(row[n] + shape->names.row + shape->names.base),
                         (long long)(column[n] + shape->names.base), value[n * shape->reals + c]);
  }
  return KAON_OK;
}

/* On entry start[i + 1] is the number of row i's entries. On return start[i] is its first entry.
 * Filling a row advances start[i]; step_back then restores it. */
static void starts_from_counts(kaon_csr *csr) {
  for (int64_t i = 0; i < csr->rows; i++) csr->start[i + 1] += csr->start[i];
}

static void step_back(kaon_csr *csr) {
  memmove(csr->start + 1, csr->start, (size_t)csr->rows * sizeof *csr->start);
  csr->start[0] = 0;
}

kaon_status kaon_csr_from_triplets(const kaon_context *ctx, int64_t rows, int64_t columns,
                                   int reals, int64_t entries, const int64_t *row,
                                   const int64_t *column, const double *value,
                                   kaon_csr_duplicates duplicates, kaon_csr **csr) {
  const kaon_csr_names names = {0, 0};
  return kaon_csr_from_named_triplets(ctx, names, rows, columns, reals, entries, row, column, value,
                                      duplicates, csr);
}

kaon_status kaon_csr_from_named_triplets(const kaon_context *ctx, kaon_csr_names names,
                                         int64_t rows, int64_t columns, int reals, int64_t entries,
                                         const int64_t *row, const int64_t *column,
                                         const double *value, kaon_csr_duplicates duplicates,
                                         kaon_csr **csr) {
  kaon_csr *made = NULL;
  *csr = NULL;
  KAON_TRY(kaon_csr_create(ctx, rows, columns, reals, entries, &made));
  made->names = names;
  kaon_status status = check_triplets(ctx, made, entries, row, column, value);
  if (status == KAON_OK) {
    memset(made->start, 0, ((size_t)rows + 1) * sizeof *made->start);
    for (int64_t n = 0; n < entries; n++) made->start[row[n] + 1]++;
    starts_from_counts(made);
    for (int64_t n = 0; n < entries; n++)
      put(made, made->start[row[n]]++, (int32_t)column[n], value + n * reals);
    step_back(made);
    status = kaon_csr_sort(ctx, made, duplicates);
  }
  *csr = made;
  if (status != KAON_OK) kaon_csr_destroy(csr);
  return status;
}

static int ascending(const kaon_csr *csr, int64_t i) {
  for (int64_t n = csr->start[i] + 1; n < csr->start[i + 1]; n++)
    if (csr->column[n] <= csr->column[n - 1]) return 0;
  return 1;
}

/* A row, as the sorting functions see it. */
typedef struct row_entries {
  int32_t *column;
  double *value;
  int64_t count;
  int reals;
} row_entries;

static void sort_by_insertion(const row_entries *e) {
  const int reals = e->reals;
  for (int64_t n = 1; n < e->count; n++) {
    const int32_t column = e->column[n];
    const double value[2] = {e->value[n * reals], e->value[n * reals + reals - 1]};
    int64_t at = n;
    for (; at > 0 && e->column[at - 1] > column; at--) {
      e->column[at] = e->column[at - 1];
      for (int c = 0; c < reals; c++) e->value[at * reals + c] = e->value[(at - 1) * reals + c];
    }
    e->column[at] = column;
    for (int c = 0; c < reals; c++) e->value[at * reals + c] = value[c];
  }
}

/* Radix sort, lowest digit first, alternating between the row and `other`. */
static void sort_by_digits(const row_entries *e, row_entries other, int64_t columns,
                           int64_t *count) {
  row_entries from = *e, to = other;
  for (int shift = 0; shift == 0 || columns >> shift != 0; shift += DIGIT_BITS) {
    memset(count, 0, (DIGITS + 1) * sizeof *count);
    for (int64_t n = 0; n < e->count; n++) count[(from.column[n] >> shift & (DIGITS - 1)) + 1]++;
    for (int d = 0; d < DIGITS; d++) count[d + 1] += count[d];
    for (int64_t n = 0; n < e->count; n++) {
      const int64_t at = count[from.column[n] >> shift & (DIGITS - 1)]++;
      to.column[at] = from.column[n];
      for (int c = 0; c < e->reals; c++) to.value[at * e->reals + c] = from.value[n * e->reals + c];
    }
    const row_entries turn = from;
    from = to;
    to = turn;
  }
  if (from.column == e->column) return;
  memcpy(e->column, from.column, (size_t)e->count * sizeof *e->column);
  memcpy(e->value, from.value, (size_t)(e->count * e->reals) * sizeof *e->value);
}

/* Sorts every row. longest: the length of the longest one. */
static kaon_status sort_rows(const kaon_context *ctx, kaon_csr *csr, int64_t longest) {
  const size_t room = longest > SHORT_ROW ? (size_t)longest : 0;
  int lacking = 0;
#pragma omp parallel num_threads(threads_of(ctx)) reduction(| : lacking)
  {
    int32_t *column = malloc(room * sizeof *column + 1);
    double *value = malloc(room * (size_t)csr->reals * sizeof *value + 1);
    int64_t *count = malloc((DIGITS + 1) * sizeof *count);
    lacking = column == NULL || value == NULL || count == NULL;
#pragma omp for schedule(static)
    for (int64_t i = 0; i < csr->rows; i++) {
      const int64_t first = csr->start[i];
      const row_entries row = {csr->column + first, csr->value + first * csr->reals,
                               csr->start[i + 1] - first, csr->reals};
      if (lacking || ascending(csr, i)) continue;
      if (row.count <= SHORT_ROW)
        sort_by_insertion(&row);
      else
        sort_by_digits(&row, (row_entries){column, value, row.count, csr->reals}, csr->columns,
                       count);
    }
    free(column);
    free(value);
    free(count);
  }
  if (!lacking) return KAON_OK;
  return kaon_fail(
      ctx, KAON_ERR_MEMORY,
      "sparse rows: out of host memory for %lld entries of the longest row, to sort it",
      (long long)room);
}

static int has_duplicates(const kaon_csr *csr, int64_t *row, int64_t *entry) {
  for (int64_t i = 0; i < csr->rows; i++)
    for (int64_t n = csr->start[i] + 1; n < csr->start[i + 1]; n++)
      if (csr->column[n] == csr->column[n - 1]) {
        *row = i;
        *entry = n;
        return 1;
      }
  return 0;
}

/* Adds duplicates in sorted rows. */
static void add_duplicates(kaon_csr *csr) {
  int64_t at = 0, first = csr->start[0];
  for (int64_t i = 0; i < csr->rows; i++) {
    const int64_t begin = at, end = csr->start[i + 1];
    for (int64_t n = first; n < end; n++) {
      if (at > begin && csr->column[at - 1] == csr->column[n]) {
        for (int c = 0; c < csr->reals; c++)
          csr->value[(at - 1) * csr->reals + c] += csr->value[n * csr->reals + c];
        continue;
      }
      if (at != n) put(csr, at, csr->column[n], csr->value + n * csr->reals);
      at++;
    }
    first = end;
    csr->start[i + 1] = at;
  }
}

kaon_status kaon_csr_sort(const kaon_context *ctx, kaon_csr *csr, kaon_csr_duplicates duplicates) {
  int64_t longest = 0, row = 0, entry = 0;
  int sorted = 1;
  const kaon_csr_names *names = &csr->names;
#pragma omp parallel for num_threads(threads_of(ctx)) reduction(max : longest) reduction(& : sorted)
  for (int64_t i = 0; i < csr->rows; i++) {
    const int64_t length = csr->start[i + 1] - csr->start[i];
    if (length > longest) longest = length;
    sorted &= ascending(csr, i);
  }
  if (sorted) return KAON_OK; /* and without duplicates */
  KAON_TRY(sort_rows(ctx, csr, longest));
  if (!has_duplicates(csr, &row, &entry)) return KAON_OK;
  if (duplicates == KAON_CSR_REFUSE)
    return kaon_fail(
        ctx, KAON_ERR_FORMAT,
        "sparse rows: row %lld has more than one entry in column %lld, both counted from "
        "%d (%g and %g are two of them); remove them, or let them be added",
        (long long)(row + names->row + names->base), (long long)csr->column[entry] + names->base,
        names->base, csr->value[(entry - 1) * csr->reals], csr->value[entry * csr->reals]);
  add_duplicates(csr);
  for (int64_t i = 0; i < csr->rows; i++)
    for (int64_t n = csr->start[i] * csr->reals; n < csr->start[i + 1] * csr->reals; n++)
      if (!isfinite(csr->value[n]))
        return kaon_fail(ctx, KAON_ERR_NOT_FINITE,
                         "sparse rows: the entries of row %lld in column %lld, both counted from "
                         "%d, add up to %g, which is no number",
                         (long long)(i + names->row + names->base),
                         (long long)csr->column[n / csr->reals] + names->base, names->base,
                         csr->value[n]);
  return KAON_OK;
}

void kaon_csr_scale(kaon_csr *csr, int exponent) {
  for (int64_t n = 0; n < csr->start[csr->rows] * csr->reals; n++)
    csr->value[n] = ldexp(csr->value[n], exponent);
}

kaon_status kaon_csr_copy(const kaon_context *ctx, const kaon_csr *csr, kaon_csr **copy) {
  const int64_t entries = csr->start[csr->rows] - csr->start[0];
  KAON_TRY(kaon_csr_create(ctx, csr->rows, csr->columns, csr->reals, entries, copy));
  kaon_csr *made = *copy;
  for (int64_t i = 0; i <= csr->rows; i++) made->start[i] = csr->start[i] - csr->start[0];
  memcpy(made->column, csr->column + csr->start[0], (size_t)entries * sizeof *made->column);
  memcpy(made->value, csr->value + csr->start[0] * csr->reals,
         (size_t)(entries * csr->reals) * sizeof *made->value);
  return KAON_OK;
}

kaon_status kaon_csr_transpose(const kaon_context *ctx, const kaon_csr *csr, int conjugate,
                               kaon_csr **transpose) {
  const int64_t entries = csr->start[csr->rows] - csr->start[0];
  KAON_TRY(kaon_csr_create(ctx, csr->columns, csr->rows, csr->reals, entries, transpose));
  kaon_csr *made = *transpose;
  memset(made->start, 0, ((size_t)made->rows + 1) * sizeof *made->start);
  for (int64_t n = csr->start[0]; n < csr->start[csr->rows]; n++) made->start[csr->column[n] + 1]++;
  starts_from_counts(made);
  const double sign = conjugate ? -1 : 1;
  for (int64_t i = 0; i < csr->rows; i++)
    for (int64_t n = csr->start[i]; n < csr->start[i + 1]; n++) {
      const int64_t at = made->start[csr->column[n]]++;
      put(made, at, (int32_t)i, csr->value + n * csr->reals);
      if (csr->reals == 2) made->value[at * 2 + 1] *= sign;
    }
  step_back(made);
  return KAON_OK;
}

kaon_status kaon_csr_reorder(const kaon_context *ctx, const kaon_csr *csr, const int32_t *order,
                             kaon_csr **reordered) {
  const size_t reals = (size_t)csr->reals;
  KAON_TRY(kaon_csr_create(ctx, csr->rows, csr->columns, csr->reals,
                           csr->start[csr->rows] - csr->start[0], reordered));
  kaon_csr *to = *reordered;
  for (int64_t i = 0; i < to->rows; i++)
    to->start[i + 1] = to->start[i] + csr->start[order[i] + 1] - csr->start[order[i]];
#pragma omp parallel for num_threads(threads_of(ctx)) schedule(static)
  for (int64_t i = 0; i < to->rows; i++) {
    const size_t from = (size_t)csr->start[order[i]], at = (size_t)to->start[i];
    const size_t count = (size_t)to->start[i + 1] - at;
    memcpy(to->column + at, csr->column + from, count * sizeof *to->column);
    memcpy(to->value + at * reals, csr->value + from * reals, count * reals * sizeof *to->value);
  }
  return KAON_OK;
}

/* where[order[i]] = i. Errors: ARGUMENT (order is not a permutation of 0 ... rows - 1). */
static kaon_status invert(const kaon_context *ctx, const int32_t *order, int64_t rows,
                          int32_t *where) {
  for (int64_t i = 0; i < rows; i++) where[i] = -1;
  for (int64_t i = 0; i < rows; i++) {
    if (order[i] < 0 || order[i] >= rows)
      return kaon_fail(
          ctx, KAON_ERR_ARGUMENT,
          "sparse rows: position %lld of an order names row %d, but rows are 0 to %lld",
          (long long)i, (int)order[i], (long long)rows - 1);
    if (where[order[i]] >= 0)
      return kaon_fail(ctx, KAON_ERR_ARGUMENT,
                       "sparse rows: positions %d and %lld of an order both name row %d",
                       (int)where[order[i]], (long long)i, (int)order[i]);
    where[order[i]] = (int32_t)i;
  }
  return KAON_OK;
}

kaon_status kaon_csr_permute(const kaon_context *ctx, const kaon_csr *csr, const int32_t *order,
                             kaon_csr **permuted) {
  *permuted = NULL;
  if (csr->rows != csr->columns)
    return kaon_fail(ctx, KAON_ERR_ARGUMENT,
                     "sparse rows: %lld rows and %lld columns cannot be permuted alike",
                     (long long)csr->rows, (long long)csr->columns);
  void *memory = NULL;
  KAON_TRY(room(ctx, csr->rows, sizeof(int32_t), "the inverse of an order", &memory));
  int32_t *where = memory;
  kaon_csr *made = NULL;
  kaon_status status = invert(ctx, order, csr->rows, where);
  if (status == KAON_OK) status = kaon_csr_reorder(ctx, csr, order, &made);
  if (status == KAON_OK) {
    for (int64_t n = 0; n < made->start[made->rows]; n++) made->column[n] = where[made->column[n]];
    status = kaon_csr_sort(ctx, made, KAON_CSR_REFUSE);
  }
  free(where);
  *permuted = made;
  if (status != KAON_OK) kaon_csr_destroy(permuted);
  return status;
}
