/* null_vectors.c - vectors n with A n = 0 that belong to a matrix, and right-hand sides that a
 * singular matrix cannot reach. Contract: kaon/sparse.h. */
#include "sparse/storage/matrix.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/core/entry.h"
#include "lib/core/output.h"
#include "lib/vector/vector_transfer.h"
#include "sparse/storage/number.h"

_Static_assert((int)KAON_NULL_VECTORS == (int)KAON_NULL_MOST, "solvers take as many vectors");

/* A n = 0 to rounding: an entry of A n is at most this times the sum of its row's entries, times
 * the largest entry of n. As for symmetry, A and n may have been rounded before. */
static const double NULL_TO = KAON_SYMMETRIC_TO;
/* Smaller parts that A x cannot reach are rounding errors of sums. */
static const double ROUNDING = 0x1p-50;

/* ---- is A v = 0? ---- */

/* The row of A v that is furthest from 0, relative to the sum of the row's |entries| times the
 * largest |entry| of v. row: counted from 0 in the caller's whole matrix. */
typedef struct worst_row {
  double ratio, row, value, bound;
} worst_row;
enum { NUMBERS = 5 };

static double size_at(const double *values, int64_t i, int reals) {
  return kaon_number_size(kaon_number_at(values, i, reals), reals);
}

static void look_at_rows(const kaon_matrix *matrix, const kaon_csr *a, const double *v,
                         const double *product, double mine[NUMBERS]) {
  mine[0] = -1;
  for (int64_t i = 0; i < a->rows; i++) {
    const int64_t place = matrix->order != NULL ? matrix->order[i] : i;
    const double value = size_at(product, place, a->reals);
    double sum = 0;
    for (int64_t n = a->start[i]; n < a->start[i + 1]; n++) sum += size_at(a->value, n, a->reals);
    mine[4] = fmax(mine[4], size_at(v, place, a->reals));
    if (sum == 0 || value / sum <= mine[0]) continue;
    mine[0] = value / sum;
    mine[1] = (double)kaon_matrix_caller_row(matrix, place);
    mine[2] = value;
    mine[3] = sum;
  }
}

/* product = A v, or A^dagger v, of one column each; `rows`: of A or of A^dagger. Collective. */
static kaon_status find_worst(const kaon_matrix *matrix, const kaon_csr *rows, const kaon_vector *v,
                              const kaon_vector *product, worst_row *worst) {
  const kaon_context *ctx = matrix->ctx;
  const int ranks = ctx->comm->ranks;
  const size_t numbers = (size_t)(rows->rows * rows->reals) + 1;
  double *room = malloc(2 * numbers * sizeof *room), mine[NUMBERS] = {0}, largest = 0;
  double *all = malloc((size_t)ranks * sizeof mine);
  kaon_status status = KAON_OK;
  if (room == NULL || all == NULL)
    status = kaon_fail(ctx, KAON_ERR_MEMORY, "null space: out of host memory for %lld rows",
                       (long long)rows->rows);
  if (status == KAON_OK) status = kaon_vector_export_here(v, 0, room, KAON_BASIS_UKQCD);
  if (status == KAON_OK)
    status = kaon_vector_export_here(product, 0, room + numbers, KAON_BASIS_UKQCD);
  if (status == KAON_OK) look_at_rows(matrix, rows, room, room + numbers, mine);
  status = kaon_agree(ctx, status);
  if (status == KAON_OK) status = ctx->comm->ops->gather(ctx->comm, mine, NUMBERS, all);
  *worst = (worst_row){.ratio = -1};
  for (int r = 0; r < ranks && status == KAON_OK; r++) {
    const double *its = all + (size_t)r * NUMBERS;
    largest = fmax(largest, its[4]);
    if (its[0] > worst->ratio) *worst = (worst_row){its[0], its[1], its[2], its[3]};
  }
  worst->value = ldexp(worst->value, matrix->exponent); /* for messages */
  worst->bound = ldexp(worst->bound * largest, matrix->exponent);
  worst->ratio = worst->ratio > 0 ? worst->ratio / largest : 0;
  free(room);
  free(all);
  return status;
}

/* What a check of A needs: A in double, and two vectors of one column. */
typedef struct probe {
  kaon_matrix *matrix;
  kaon_operator *A;
  kaon_vector *v, *product;
} probe;

/* A: an operator of the matrix, which is used if it is in double; NULL: there is none. */
static kaon_status probe_create(kaon_matrix *matrix, kaon_operator *A, probe *p) {
  const kaon_matrix_operator_options options = KAON_MATRIX_OPERATOR_OPTIONS_INIT;
  *p = (probe){.matrix = matrix};
  if (A != NULL && A->precision == KAON_DOUBLE) {
    kaon_operator_retain(A);
    p->A = A;
  } else {
    KAON_TRY(kaon_matrix_operator(matrix, &options, &p->A));
  }
  KAON_TRY(kaon_vector_create(matrix->ctx, &matrix->space, KAON_DOUBLE, 1, &p->v));
  return kaon_vector_create(matrix->ctx, &matrix->space, KAON_DOUBLE, 1, &p->product);
}

static void probe_destroy(probe *p) {
  kaon_vector_destroy(&p->v);
  kaon_vector_destroy(&p->product);
  kaon_operator_destroy(&p->A);
}

/* The worst row of A v or A^dagger v for the probe's v. */
static kaon_status probe_apply(probe *p, kaon_mode mode, worst_row *worst) {
  kaon_row_set *rows = p->matrix->rows;
  if (mode == KAON_DAGGER) KAON_TRY(kaon_matrix_dagger(p->matrix, &rows));
  KAON_TRY(kaon_operator_run(p->A, mode, p->v, p->product, NULL)); /* in the units of the rows */
  return find_worst(p->matrix, rows->rows, p->v, p->product, worst);
}

/* ---- the vectors ---- */

/* Numbers of a vector on this rank, in the caller's order. */
static size_t numbers_of(const kaon_matrix *matrix) {
  return (size_t)kaon_space_caller_rows(&matrix->space) * (size_t)matrix->space.ncomp;
}

/* Column k of v = the constant vector of length 1, or values in the caller's order. */
static kaon_status import(const kaon_matrix *matrix, const double *values, int k, kaon_vector *v) {
  const size_t numbers = numbers_of(matrix), reals = (size_t)matrix->space.ncomp;
  if (values != NULL) return kaon_vector_import(v, k, values, KAON_BASIS_UKQCD);
  double *equal = calloc(numbers + 1, sizeof *equal);
  kaon_status status = KAON_OK;
  if (equal == NULL)
    status = kaon_fail(matrix->ctx, KAON_ERR_MEMORY, "null space: out of host memory for %zu rows",
                       numbers / reals);
  status = kaon_agree(matrix->ctx, status);
  for (size_t i = 0; i < numbers && status == KAON_OK; i += reals)
    equal[i] = 1 / sqrt((double)matrix->global_rows);
  if (status == KAON_OK) status = kaon_vector_import(v, k, equal, KAON_BASIS_UKQCD);
  free(equal);
  return status;
}

/* Removes from v, of one column, its part along vector n of `values`. */
static kaon_status subtract(probe *p, const double *values, int n) {
  double dot[1][2];
  KAON_TRY(import(p->matrix, values + (size_t)n * numbers_of(p->matrix), 0, p->product));
  KAON_TRY(kaon_vector_dot(p->product, p->v, dot));
  return kaon_vector_axpy(-dot[0][0], -dot[0][1], p->product, p->v);
}

/* Makes vector n of length 1 and orthogonal to those before it, in place. */
static kaon_status orthonormalise(probe *p, double *values, int n) {
  kaon_context *ctx = p->matrix->ctx;
  double *own = values + (size_t)n * numbers_of(p->matrix);
  double before = 0, after = 0;
  KAON_TRY(import(p->matrix, own, 0, p->v));
  KAON_TRY(kaon_vector_norm2(p->v, &before));
  if (!(before >= 0x1p-900 && before <= 0x1p900))
    return kaon_fail(ctx, KAON_ERR_ARGUMENT,
                     "null space: the length of vector %d is %g; give vectors of moderate size "
                     "other than 0",
                     n, sqrt(before));
  for (int twice = 0; twice < 2; twice++)
    for (int i = 0; i < n; i++) KAON_TRY(subtract(p, values, i));
  KAON_TRY(kaon_vector_norm2(p->v, &after));
  if (!(after > NULL_TO * NULL_TO * before))
    return kaon_fail(ctx, KAON_ERR_ARGUMENT,
                     "null space: vector %d is a combination of those before it: %.2g of its "
                     "length is its own; leave it out",
                     n, sqrt(after / before));
  const double factor[1][2] = {{1 / sqrt(after), 0}};
  KAON_TRY(kaon_vector_scale(factor, p->v));
  return kaon_vector_export(p->v, 0, own, KAON_BASIS_UKQCD);
}

static kaon_status check_null(probe *p, int n, int constant) {
  worst_row worst;
  char name[32] = "a constant vector";
  KAON_TRY(probe_apply(p, KAON_PLAIN, &worst));
  if (!constant) snprintf(name, sizeof name, "vector %d", n);
  if (worst.ratio <= NULL_TO) return KAON_OK;
  return kaon_fail(
      p->matrix->ctx, KAON_ERR_ARGUMENT,
      "null space: A times %s is %.3g in row %lld (counted from 0), where rounding explains at "
      "most %.1g times %.3g, the sum of the row's entries times the largest entry of the "
      "vector; give vectors with A n = 0, or none",
      name, worst.value, (long long)worst.row, NULL_TO, worst.bound);
}

/* Makes the vectors in `values` orthonormal and checks them; NULL: the constant vector. */
static kaon_status prepare(kaon_matrix *matrix, int count, double *values) {
  probe p;
  kaon_status status = probe_create(matrix, NULL, &p);
  for (int n = 0; n < count && status == KAON_OK; n++) {
    status = values != NULL ? orthonormalise(&p, values, n) : import(matrix, NULL, 0, p.v);
    if (status == KAON_OK) status = check_null(&p, n, values == NULL);
  }
  probe_destroy(&p);
  return kaon_agree(matrix->ctx, status);
}

static kaon_status copy_values(const kaon_matrix *matrix, int count, const double *vectors,
                               double **values) {
  const size_t numbers = (size_t)(count > 0 ? count : 0) * numbers_of(matrix);
  *values = NULL;
  if (count < 0 || count > KAON_NULL_VECTORS)
    return kaon_fail(matrix->ctx, KAON_ERR_ARGUMENT,
                     "null space: %d vectors were given, but 0 to %d are possible; give fewer",
                     count, (int)KAON_NULL_VECTORS);
  if (vectors == NULL && count > 1)
    return kaon_fail(matrix->ctx, KAON_ERR_ARGUMENT,
                     "null space: no vectors were given, but their number is %d; give them, or the "
                     "number 1 for the constant vector",
                     count);
  if (vectors == NULL || count == 0) return KAON_OK;
  *values = malloc((numbers + 1) * sizeof **values);
  if (*values == NULL)
    return kaon_fail(matrix->ctx, KAON_ERR_MEMORY, "null space: out of host memory for %d vectors",
                     count);
  memcpy(*values, vectors, numbers * sizeof *vectors);
  return KAON_OK;
}

kaon_status kaon_matrix_set_null_space(kaon_matrix *matrix, int count, const double *vectors) {
  KAON_ENTER(KAON_OF(matrix), matrix);
  double *values = NULL;
  const kaon_argument arguments[] = {kaon_whole("count", count),
                                     kaon_whole("vectors given", count > 0 && vectors != NULL)};
  kaon_status status = copy_values(matrix, count, vectors, &values);
  status = kaon_same(matrix->ctx, status, "null space", arguments, 2);
  if (status == KAON_OK) status = prepare(matrix, count, values);
  if (status != KAON_OK) {
    free(values);
    return status;
  }
  free(matrix->null_vectors);
  matrix->null_vectors = values;
  matrix->null_count = count;
  return KAON_OK;
}

/* ---- for solvers ---- */

static int count_of(const kaon_operator *A) {
  const kaon_matrix *matrix = kaon_operator_matrix(A);
  return matrix != NULL ? matrix->null_count : 0;
}

static int is_left(const kaon_operator *A) {
  const kaon_matrix *matrix = kaon_operator_matrix(A);
  return matrix->hermitian || matrix->skew;
}

static kaon_status fill_from(const kaon_matrix *matrix, int i, kaon_vector *v) {
  const double *values = matrix->null_vectors;
  if (values != NULL) values += (size_t)i * numbers_of(matrix);
  for (int k = 0; k < v->nrhs; k++) KAON_TRY(import(matrix, values, k, v));
  return KAON_OK;
}

static kaon_status fill(const kaon_operator *A, int i, kaon_vector *v) {
  return fill_from(kaon_operator_matrix(A), i, v);
}

const kaon_null_space kaon_matrix_null_space = {count_of, is_left, fill};

/* ---- what A x cannot reach ---- */

/* The vectors n with n^dagger A = 0 that are known: those of the null space, where A^dagger has the
 * same one, else the constant vector where the columns of A add up to 0. */
typedef struct left_null {
  int count;
  int constant;    /* 1: the constant vector alone, whatever the null space is */
  worst_row worst; /* of A^dagger times the constant vector, if that decided */
} left_null;

static kaon_status find_left(probe *p, left_null *left) {
  const kaon_matrix *matrix = p->matrix;
  *left = (left_null){.count = matrix->hermitian || matrix->skew ? matrix->null_count : 0};
  if (left->count > 0) return KAON_OK;
  KAON_TRY(import(matrix, NULL, 0, p->v));
  KAON_TRY(probe_apply(p, KAON_DAGGER, &left->worst));
  left->constant = left->count = left->worst.ratio <= NULL_TO;
  return KAON_OK;
}

/* Adds to part2[k] the square of column k's part along each of them. remove: 1: removes these
 * parts from b. */
static kaon_status find_parts(const kaon_matrix *matrix, const left_null *left, int remove,
                              kaon_vector *b, double *part2) {
  double(*dot)[2] = malloc((size_t)b->nrhs * sizeof *dot);
  kaon_vector *n = NULL;
  kaon_status status = KAON_OK;
  if (dot == NULL)
    status = kaon_fail(matrix->ctx, KAON_ERR_MEMORY,
                       "null space: out of host memory for %d columns", b->nrhs);
  status = kaon_agree(matrix->ctx, status);
  if (status == KAON_OK)
    status = kaon_vector_create(matrix->ctx, b->space, b->precision, b->nrhs, &n);
  for (int i = 0; i < left->count && status == KAON_OK; i++) {
    for (int k = 0; left->constant && k < b->nrhs && status == KAON_OK; k++)
      status = import(matrix, NULL, k, n);
    if (!left->constant) status = fill_from(matrix, i, n);
    if (status == KAON_OK) status = kaon_vector_dot(n, b, dot);
    for (int k = 0; k < b->nrhs && status == KAON_OK; k++) {
      part2[k] += dot[k][0] * dot[k][0] + dot[k][1] * dot[k][1];
      dot[k][0] = -dot[k][0];
      dot[k][1] = -dot[k][1];
    }
    if (remove && status == KAON_OK)
      status = kaon_vector_axpy_columns((const double(*)[2])dot, n, b);
  }
  kaon_vector_destroy(&n);
  free(dot);
  return status;
}

/* Removes them twice. The first time leaves rounding errors of b, which matter where little of b is
 * left. A b that lies in the span of the vectors, to rounding, becomes 0. */
static kaon_status remove_parts(const kaon_matrix *matrix, const left_null *left, kaon_vector *b,
                                double *removed) {
  const size_t columns = (size_t)b->nrhs;
  const double rounding = b->precision == KAON_DOUBLE ? ROUNDING : 0x1p-21;
  double *part2 = calloc(5 * columns, sizeof *part2), *before = part2 + columns,
         *after = before + columns;
  double(*factor)[2] = (double(*)[2])(void *)(after + columns);
  kaon_status status = KAON_OK;
  if (part2 == NULL)
    status = kaon_fail(matrix->ctx, KAON_ERR_MEMORY,
                       "null space: out of host memory for %d columns", b->nrhs);
  status = kaon_agree(matrix->ctx, status);
  if (status == KAON_OK) status = kaon_vector_norm2(b, before);
  for (int twice = 0; twice < 2 && status == KAON_OK; twice++)
    status = find_parts(matrix, left, 1, b, part2);
  if (status == KAON_OK) status = kaon_vector_norm2(b, after);
  for (size_t k = 0; k < columns && status == KAON_OK; k++) {
    factor[k][0] = after[k] > rounding * rounding * before[k];
    removed[k] = part2[k] > 0 ? sqrt(part2[k] / before[k]) : 0;
  }
  if (status == KAON_OK) status = kaon_vector_scale((const double(*)[2])factor, b);
  free(part2);
  return status;
}

kaon_status kaon_matrix_project_rhs(kaon_matrix *matrix, kaon_vector *b, double *removed) {
  KAON_ENTER(KAON_OF(matrix), matrix, b, removed);
  kaon_context *ctx = matrix->ctx;
  probe p = {0};
  left_null left = {0};
  kaon_status status = KAON_OK;
  if (b->space != &matrix->space)
    status = kaon_fail(ctx, KAON_ERR_SHAPE,
                       "null space: b is not of the matrix' space; create it on "
                       "kaon_matrix_space()");
  status = kaon_agree(ctx, status);
  if (status == KAON_OK) status = probe_create(matrix, NULL, &p);
  if (status == KAON_OK) status = find_left(&p, &left);
  if (status == KAON_OK && left.count == 0)
    status = kaon_fail(
        ctx, KAON_ERR_UNSUPPORTED,
        "null space: no n with n^dag A = 0 is known: column %lld of A (counted from "
        "0) adds up to %.3g, and %s; cgnr with the option stop=normal finds the least |b - A x|",
        (long long)left.worst.row, left.worst.value,
        matrix->null_count > 0 ? "the null space is that of A alone, since A and A^dag differ"
                               : "no null space was set");
  if (status == KAON_OK) status = remove_parts(matrix, &left, b, removed);
  probe_destroy(&p);
  return status;
}

/* One column of b and of x in double. x becomes b - A x. */
typedef struct one_column {
  kaon_vector *b, *x, *narrow; /* narrow: in the precision of the given vectors */
} one_column;

static kaon_status take_column(const kaon_vector *from, int k, kaon_vector *narrow,
                               kaon_vector *to) {
  KAON_TRY(kaon_vector_copy_columns(narrow, 0, from, k, 1));
  return kaon_vector_copy(to, narrow);
}

static kaon_status take_residual(const probe *p, const kaon_vector *b, const kaon_vector *x, int k,
                                 one_column *c) {
  kaon_context *ctx = p->matrix->ctx;
  for (int i = 0; i < 2; i++) {
    const kaon_vector *from = i == 0 ? b : x;
    kaon_vector **to = i == 0 ? &c->b : &c->x;
    if (*to == NULL) KAON_TRY(kaon_vector_create(ctx, from->space, KAON_DOUBLE, 1, to));
    if (c->narrow != NULL && c->narrow->precision != from->precision)
      kaon_vector_destroy(&c->narrow);
    if (c->narrow == NULL)
      KAON_TRY(kaon_vector_create(ctx, from->space, from->precision, 1, &c->narrow));
    KAON_TRY(take_column(from, k, c->narrow, *to));
  }
  KAON_TRY(kaon_operator_apply(p->A, KAON_PLAIN, c->x, p->product));
  KAON_TRY(kaon_vector_copy(c->x, c->b));
  return kaon_vector_axpy(-1, 0, p->product, c->x);
}

/* Judges one column by its b and its residual. */
static kaon_status judge(probe *p, const left_null *left, one_column *c, kaon_consistency *found) {
  double b2 = 0, r2 = 0, part2 = 0;
  worst_row worst;
  KAON_TRY(kaon_vector_norm2(c->b, &b2));
  KAON_TRY(kaon_vector_norm2(c->x, &r2));
  KAON_TRY(find_parts(p->matrix, left, 0, c->b, &part2));
  found->removable = left->count > 0;
  found->unreachable = part2 > ROUNDING * ROUNDING * b2 ? sqrt(part2 / b2) : 0;
  if (found->unreachable > 0 || !(b2 > 0 && r2 > 0 && isfinite(r2))) return KAON_OK;
  KAON_TRY(kaon_vector_copy(p->v, c->x));
  KAON_TRY(probe_apply(p, KAON_DAGGER, &worst));
  if (worst.ratio > NULL_TO) return KAON_OK;
  found->unreachable = sqrt(r2 / b2);
  found->removable = 0;
  return KAON_OK;
}

static kaon_status find_consistency(probe *p, const kaon_vector *b, const kaon_vector *x,
                                    one_column *c, kaon_consistency *found) {
  left_null left;
  worst_row ones;
  KAON_TRY(find_left(p, &left));
  KAON_TRY(import(p->matrix, NULL, 0, p->v));
  KAON_TRY(probe_apply(p, KAON_PLAIN, &ones));
  for (int k = 0; k < b->nrhs; k++) {
    found[k] = (kaon_consistency){.constant = ones.ratio <= NULL_TO};
    KAON_TRY(take_residual(p, b, x, k, c));
    KAON_TRY(judge(p, &left, c, &found[k]));
  }
  return KAON_OK;
}

kaon_status kaon_matrix_check_consistency(kaon_operator *A, const kaon_vector *b,
                                          const kaon_vector *x, kaon_consistency *columns) {
  KAON_ENTER(KAON_OF(A), A, b, x, columns);
  kaon_matrix *matrix = kaon_operator_matrix(A);
  probe p = {0};
  one_column c = {0};
  kaon_status status = KAON_OK;
  if (matrix == NULL)
    status = kaon_fail(A->ctx, KAON_ERR_ARGUMENT,
                       "null space: operator '%s' has no matrix; pass one made by "
                       "kaon_matrix_operator",
                       A->ops->name);
  else if (b->space != A->space || x->space != A->space || b->nrhs != x->nrhs)
    status = kaon_fail(A->ctx, KAON_ERR_SHAPE,
                       "null space: b has %d columns and x %d; both must be of the matrix' space, "
                       "with as many columns",
                       b->nrhs, x->nrhs);
  status = kaon_agree(A->ctx, status);
  if (status == KAON_OK) status = probe_create(matrix, A, &p);
  if (status == KAON_OK) status = find_consistency(&p, b, x, &c, columns);
  kaon_vector_destroy(&c.b);
  kaon_vector_destroy(&c.x);
  kaon_vector_destroy(&c.narrow);
  probe_destroy(&p);
  return status;
}
