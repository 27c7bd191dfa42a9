/* ainv.c - stabilised approximate inverses by right-looking conjugation (sparse/precond/factors.h).
 *
 * With A scaled, directions begin as z_i = w_i = e_i. Step i computes u = w_i^H A and d_i = u z_i.
 * Then every later z_j becomes z_j - (u z_j / d_i) z_i, so that w_i^H A z_j = 0. The w_j are
 * treated likewise, with v = A z_i instead of u. For a Hermitian matrix w = z, and that half is
 * left out. A direction's own entry, 1, is not stored. */
#include <stdlib.h>

#include "sparse/precond/factors.h"
#include "sparse/storage/number.h"

/* Growing array. */
typedef struct strip {
  int32_t *number;
  double *value; /* NULL in lists of directions */
  int32_t count, room;
} strip;

/* One family of directions. */
typedef struct family {
  strip *direction; /* [row]: entries of z_j */
  strip *list;      /* [row]: later directions with an entry there; may contain some that had one
                       before */
} family;

typedef struct work {
  int64_t rows;
  int reals;
  const kaon_ainv_how *how;
  const kaon_csr *A, *columns; /* scaled A, and its transpose (if not Hermitian) */
  family z, w;
  double *sum;      /* [rows] u or v, 0 outside touched */
  int32_t *touched; /* rows where it is not 0 */
  int32_t *at;      /* [rows] 0, or 1 + the entry of the direction being changed */
  int32_t *seen;    /* [rows] the last collection that contained the direction, from 1 */
  int32_t *later;   /* directions that may overlap with sum */
  double *sizes;    /* [rows] sizes of a direction's entries, to find the largest */
  double *pivot;    /* d */
  int64_t touched_count;
  int32_t stamp;
} work;

static int grow(strip *s, int reals) {
  if (s->count < s->room) return 1;
  const int32_t room = s->room < 4 ? 4 : s->room > INT32_MAX / 2 ? INT32_MAX : 2 * s->room;
  int32_t *number = realloc(s->number, (size_t)room * sizeof *number);
  if (number == NULL) return 0;
  s->number = number;
  if (reals > 0) {
    double *value = realloc(s->value, (size_t)room * (size_t)reals * sizeof *value);
    if (value == NULL) return 0;
    s->value = value;
  }
  s->room = room;
  return 1;
}

static void free_family(family *f, int64_t rows) {
  for (int64_t i = 0; i < rows; i++) {
    if (f->direction != NULL) {
      free(f->direction[i].number);
      free(f->direction[i].value);
    }
    if (f->list != NULL) free(f->list[i].number);
  }
  free(f->direction);
  free(f->list);
}

/* ---- u = w_i^H A, v^T = (A z_i)^T ---- */

static inline void add_row(work *s, const kaon_csr *A, int64_t row, kaon_number factor, int reals) {
  for (int64_t n = A->start[row]; n < A->start[row + 1]; n++) {
    const int32_t j = A->column[n];
    if (s->at[j] == 0) {
      s->at[j] = 1;
      s->touched[s->touched_count++] = j;
    }
    const kaon_number sum = kaon_number_plus(kaon_number_at(s->sum, j, reals), factor,
                                             kaon_number_at(A->value, n, reals), reals);
    kaon_number_put(s->sum, j, reals, sum);
  }
}

/* sum = the sum of A's rows weighted with the entries of direction i, conjugated if `conjugate`. */
static inline void multiply(work *s, const kaon_csr *A, const family *f, int64_t i, int conjugate,
                            int reals) {
  const strip *d = &f->direction[i];
  s->touched_count = 0;
  add_row(s, A, i, (kaon_number){1, 0}, reals);
  for (int32_t n = 0; n < d->count; n++) {
    const kaon_number entry = kaon_number_at(d->value, n, reals);
    add_row(s, A, d->number[n], conjugate ? kaon_number_conjugate(entry, reals) : entry, reals);
  }
  for (int64_t n = 0; n < s->touched_count; n++) s->at[s->touched[n]] = 0;
}

static inline kaon_number product(const work *s, const family *f, int64_t j, int reals) {
  const strip *d = &f->direction[j];
  kaon_number sum = kaon_number_at(s->sum, j, reals);
  for (int32_t n = 0; n < d->count; n++)
    sum = kaon_number_plus(sum, kaon_number_at(d->value, n, reals),
                           kaon_number_at(s->sum, d->number[n], reals), reals);
  return sum;
}

static void clear(work *s) {
  for (int64_t n = 0; n < s->touched_count; n++)
    for (int c = 0; c < s->reals; c++) s->sum[(int64_t)s->touched[n] * s->reals + c] = 0;
}

/* ---- subtraction from a later direction ---- */

static double nth_largest(double *sizes, int32_t count, int32_t n) {
  int32_t low = 0, high = count - 1;
  while (low < high) {
    const double middle = sizes[low + (high - low) / 2];
    int32_t a = low, b = high;
    while (a <= b) {
      while (sizes[a] > middle) a++;
      while (sizes[b] < middle) b--;
      if (a > b) break;
      const double size = sizes[a];
      sizes[a++] = sizes[b];
      sizes[b--] = size;
    }
    if (n <= b)
      high = b;
    else if (n >= a)
      low = a;
    else
      return sizes[n];
  }
  return sizes[n];
}

/* Drops entries below `drop`. If more than `fill` are left, it drops the smallest, and among equal
 * ones the later. */
static inline void thin(work *s, strip *d, int reals) {
  const int32_t fill = s->how->fill > 0 ? s->how->fill : INT32_MAX;
  double bound = s->how->drop;
  int32_t kept = 0, equals = INT32_MAX;
  if (d->count > fill) {
    int32_t above = 0;
    for (int32_t n = 0; n < d->count; n++)
      s->sizes[n] = kaon_number_size(kaon_number_at(d->value, n, reals), reals);
    const double last = nth_largest(s->sizes, d->count, fill - 1);
    for (int32_t n = 0; n < d->count; n++) above += s->sizes[n] > last;
    if (last >= bound) {
      bound = last;
      equals = fill - above;
    }
  }
  for (int32_t n = 0; n < d->count; n++) {
    const kaon_number entry = kaon_number_at(d->value, n, reals);
    const double size = kaon_number_size(entry, reals);
    if (size < bound || (size == bound && equals-- <= 0)) continue;
    d->number[kept] = d->number[n];
    kaon_number_put(d->value, kept++, reals, entry);
  }
  d->count = kept;
}

static inline int enter(work *s, family *f, int64_t j, int32_t row, kaon_number value, int reals) {
  strip *d = &f->direction[j], *list = &f->list[row];
  if (s->at[row] != 0) {
    const int32_t n = s->at[row] - 1;
    const kaon_number old = kaon_number_at(d->value, n, reals);
    kaon_number_put(d->value, n, reals, (kaon_number){old.re + value.re, old.im + value.im});
    return 1;
  }
  if (kaon_number_size(value, reals) < s->how->drop) return 1;
  if (!grow(d, reals) || !grow(list, 0)) return 0;
  d->number[d->count] = row;
  kaon_number_put(d->value, d->count++, reals, value);
  list->number[list->count++] = (int32_t)j;
  return 1;
}

/* z_j -= factor z_i. Returns 0 without memory. */
static inline int subtract(work *s, family *f, int64_t i, int64_t j, kaon_number factor,
                           int reals) {
  const strip *from = &f->direction[i];
  strip *d = &f->direction[j];
  const kaon_number minus = {-factor.re, -factor.im};
  for (int32_t n = 0; n < d->count; n++) s->at[d->number[n]] = n + 1;
  const int32_t before = d->count;
  int good = enter(s, f, j, (int32_t)i, minus, reals);
  for (int32_t n = 0; n < from->count && good; n++) {
    const kaon_number entry = kaon_number_at(from->value, n, reals);
    good = enter(s, f, j, from->number[n], kaon_number_times(minus, entry, reals), reals);
  }
  for (int32_t n = 0; n < before; n++) s->at[d->number[n]] = 0;
  if (good) thin(s, d, reals);
  return good;
}

/* Collects the directions after i that may overlap with `sum` in s->later. Removes finished ones
 * from the lists. Returns their number. */
static int64_t collect(work *s, family *f, int64_t i) {
  const int32_t stamp = ++s->stamp;
  int64_t count = 0;
  for (int64_t t = 0; t < s->touched_count; t++) {
    const int32_t row = s->touched[t];
    strip *list = &f->list[row];
    int32_t kept = 0;
    for (int32_t n = 0; n < list->count; n++)
      if (list->number[n] > i) list->number[kept++] = list->number[n];
    list->count = kept;
    for (int32_t n = -1; n < kept; n++) { /* -1: the direction that begins at this row */
      const int32_t j = n < 0 ? row : list->number[n];
      if (j <= i || s->seen[j] == stamp) continue;
      s->seen[j] = stamp;
      s->later[count++] = j;
    }
  }
  return count;
}

/* Subtracts direction i from them. Returns 0 without memory. */
static inline int conjugate_later(work *s, family *f, int64_t i, kaon_number pivot, int reals) {
  const kaon_number inverse = kaon_number_inverse(pivot, reals);
  const int64_t count = collect(s, f, i);
  for (int64_t n = 0; n < count; n++) {
    const int64_t j = s->later[n];
    const kaon_number overlap = product(s, f, j, reals);
    if (overlap.re == 0 && overlap.im == 0) continue;
    if (!subtract(s, f, i, j, kaon_number_times(overlap, inverse, reals), reals)) return 0;
  }
  return 1;
}

/* ---- the process ---- */

enum { DONE, BROKEN, NO_MEMORY };

static inline int conjugate(work *s, kaon_bad_pivot *where, int reals) {
  const int hermitian = s->how->hermitian;
  for (int64_t i = 0; i < s->rows; i++) {
    multiply(s, s->A, hermitian ? &s->z : &s->w, i, 1, reals);
    kaon_number pivot = product(s, &s->z, i, reals);
    const double size = hermitian ? pivot.re : kaon_number_size(pivot, reals);
    if (!(size > kaon_smallest_pivot(s->how->singular) && size < INFINITY)) {
      *where = (kaon_bad_pivot){i, {pivot.re, pivot.im}};
      return BROKEN;
    }
    if (hermitian) pivot.im = 0;
    kaon_number_put(s->pivot, i, reals, pivot);
    int good = conjugate_later(s, &s->z, i, pivot, reals);
    clear(s);
    if (!hermitian && good) {
      multiply(s, s->columns, &s->z, i, 0, reals);
      for (int64_t n = 0; n < s->touched_count && reals == 2; n++)
        s->sum[2 * (int64_t)s->touched[n] + 1] *= -1;
      good = conjugate_later(s, &s->w, i, kaon_number_conjugate(pivot, reals), reals);
      clear(s);
    }
    if (!good) return NO_MEMORY;
  }
  return DONE;
}

/* The matrix whose row i is the conjugate of direction i, with A's scaling undone. It is D^-1, or
 * for a Hermitian matrix D^-1/2, times the adjoint of the directions. divide = 0: without D. */
static kaon_status adjoint(const kaon_context *ctx, const work *s, const family *f, int divide,
                           const double *scale, kaon_csr **result) {
  const int reals = s->reals;
  int64_t entries = 0, at = 0;
  for (int64_t i = 0; i < s->rows; i++) entries += 1 + f->direction[i].count;
  KAON_TRY(kaon_csr_create(ctx, s->rows, s->rows, reals, entries, result));
  kaon_csr *made = *result;
  for (int64_t i = 0; i < s->rows; i++) {
    const strip *d = &f->direction[i];
    kaon_number factor = {1, 0};
    if (divide && s->how->hermitian)
      factor.re = 1 / sqrt(kaon_number_at(s->pivot, i, reals).re);
    else if (divide)
      factor = kaon_number_inverse(kaon_number_at(s->pivot, i, reals), reals);
    for (int32_t n = -1; n < d->count; n++) {
      const int64_t k = n < 0 ? i : d->number[n];
      kaon_number entry = n < 0 ? (kaon_number){1, 0}
                                : kaon_number_conjugate(kaon_number_at(d->value, n, reals), reals);
      entry = kaon_number_times(entry, factor, reals);
      made->column[at] = (int32_t)k;
      kaon_number_put(made->value, at++, reals,
                      (kaon_number){entry.re * scale[k], entry.im * scale[k]});
    }
    made->start[i + 1] = at;
  }
  return kaon_csr_sort(ctx, made, KAON_CSR_REFUSE);
}

static kaon_status finish(const kaon_context *ctx, const work *s, const double *scale,
                          kaon_inverse_factors *factors) {
  KAON_AUTO(kaon_csr_destroy) kaon_csr *z = NULL;
  if (s->how->hermitian) {
    KAON_TRY(adjoint(ctx, s, &s->z, 1, scale, &factors->first));
    return kaon_csr_transpose(ctx, factors->first, 1, &factors->second);
  }
  KAON_TRY(adjoint(ctx, s, &s->w, 1, scale, &factors->first));
  KAON_TRY(adjoint(ctx, s, &s->z, 0, scale, &z));
  return kaon_csr_transpose(ctx, z, 1, &factors->second);
}

static kaon_status open_work(const kaon_context *ctx, work *s) {
  const size_t rows = (size_t)s->rows + 1, reals = (size_t)s->reals;
  s->z.direction = calloc(rows, sizeof(strip));
  s->z.list = calloc(rows, sizeof(strip));
  s->sum = calloc(rows * reals, sizeof *s->sum);
  s->pivot = malloc(rows * reals * sizeof *s->pivot);
  s->touched = malloc(rows * sizeof *s->touched);
  s->later = malloc(rows * sizeof *s->later);
  s->at = calloc(rows, sizeof *s->at);
  s->seen = calloc(rows, sizeof *s->seen);
  s->sizes = malloc(rows * sizeof *s->sizes);
  int complete = s->z.direction != NULL && s->z.list != NULL && s->sum != NULL &&
                 s->pivot != NULL && s->touched != NULL && s->later != NULL && s->at != NULL &&
                 s->seen != NULL && s->sizes != NULL;
  if (!s->how->hermitian) {
    s->w.direction = calloc(rows, sizeof(strip));
    s->w.list = calloc(rows, sizeof(strip));
    complete = complete && s->w.direction != NULL && s->w.list != NULL;
  }
  if (complete) return KAON_OK;
  return kaon_fail(ctx, KAON_ERR_MEMORY, "ainv: out of host memory for %lld rows",
                   (long long)s->rows);
}

static void close_work(work *s) {
  free_family(&s->z, s->rows);
  free_family(&s->w, s->rows);
  free(s->sum);
  free(s->pivot);
  free(s->touched);
  free(s->later);
  free(s->at);
  free(s->seen);
  free(s->sizes);
}

/* Runs the process; the scaled matrix is in s->A. */
static kaon_status run(const kaon_context *ctx, work *s, const double *scale,
                       kaon_inverse_factors *factors, kaon_bad_pivot *where) {
  KAON_AUTO(kaon_csr_destroy) kaon_csr *columns = NULL;
  kaon_status status = open_work(ctx, s);
  if (status == KAON_OK && !s->how->hermitian) status = kaon_csr_transpose(ctx, s->A, 0, &columns);
  s->columns = columns;
  const int end = status != KAON_OK ? DONE
                  : s->reals == 1   ? conjugate(s, where, 1)
                                    : conjugate(s, where, 2);
  if (end == NO_MEMORY)
    status = kaon_fail(ctx, KAON_ERR_MEMORY,
                       "ainv: out of host memory for the entries of the inverse of %lld rows; "
                       "raise drop, or set a limit by fill",
                       (long long)s->rows);
  if (end == BROKEN)
    status = kaon_fail(ctx, KAON_ERR_SINGULAR,
                       "ainv: the pivot of row %lld (counted from 1) is %g%+gi (the row's diagonal "
                       "entry scaled to 1)",
                       (long long)where->row + 1, where->pivot[0], where->pivot[1]);
  if (status == KAON_OK) status = finish(ctx, s, scale, factors);
  close_work(s);
  return status;
}

kaon_status kaon_ainv_create(const kaon_context *ctx, const kaon_csr *A, const kaon_ainv_how *how,
                             kaon_inverse_factors *factors, kaon_bad_pivot *where) {
  *factors = (kaon_inverse_factors){NULL, NULL};
  if (A->columns < A->rows)
    return kaon_fail(ctx, KAON_ERR_ARGUMENT,
                     "ainv: a matrix of %lld rows and %lld columns is not square",
                     (long long)A->rows, (long long)A->columns);
  KAON_AUTOFREE double *scale = malloc(((size_t)A->rows + 1) * sizeof *scale);
  if (scale == NULL)
    return kaon_fail(ctx, KAON_ERR_MEMORY, "ainv: out of host memory for %lld rows",
                     (long long)A->rows);
  KAON_AUTO(kaon_csr_destroy) kaon_csr *copy = NULL;
  kaon_status status = kaon_unit_diagonal(ctx, A, how->shift, scale, &copy);
  if (status == KAON_OK) {
    work s = {.rows = A->rows, .reals = A->reals, .how = how, .A = copy};
    status = run(ctx, &s, scale, factors, where);
  }
  if (status != KAON_OK) kaon_inverse_factors_destroy(factors);
  return status;
}

void kaon_inverse_factors_destroy(kaon_inverse_factors *factors) {
  kaon_csr_destroy(&factors->first);
  kaon_csr_destroy(&factors->second);
}
