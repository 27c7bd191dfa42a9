/* precond_build.c - makes the parts of a preconditioner. It puts the rows into the order of the
 * factorisation, factorises them, and puts the factors back into the space's order. Row indices in
 * stored triangles are always the space's; the factorisation's order is retained in the levels. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/comm/comm.h"
#include "sparse/precond/ordered_rows.h"
#include "sparse/storage/number.h"
#include "sparse/precond/matrix_precond.h"

/* The first shift after a breakdown without a shift. */
static const double FIRST_SHIFT = 1e-3;

typedef struct host_tables {
  kaon_precond *self;
  kaon_context *ctx;
  const kaon_csr *from;  /* the matrix' rows, in the space's order */
  kaon_ordered_rows way; /* in the factorisation's order, without ghosts */
  kaon_factors *factors;
  kaon_inverse_factors inverse;
  kaon_csr *blocks;
} host_tables;

static const char *const names[] = {"block jacobi", "dic",  "dilu", "ssor", "gauss-seidel",
                                    "ic0",          "ilu0", "ainv", "fsai"};

/* ---- order ---- */

/* Puts rows back into the space's order, in place. */
static kaon_status put_back(const host_tables *w, kaon_csr **rows) {
  kaon_csr *back = NULL;
  KAON_TRY(kaon_csr_permute(w->ctx, *rows, w->way.where, &back));
  kaon_csr_destroy(rows);
  *rows = back;
  return KAON_OK;
}

/* ---- factors ---- */

static kaon_status factorise(host_tables *w, double shift, kaon_bad_pivot *bad) {
  const kaon_precond_options *o = &w->self->options;
  const int hermitian = w->self->hermitian;
  const int singular = w->self->matrix->null_count > 0;
  kaon_factor_how how = {KAON_FACTOR_LU0, hermitian, shift, o->omega, singular};
  const kaon_ainv_how ainv = {hermitian, shift, o->drop, o->fill, singular};
  const kaon_fsai_how fsai = {shift, o->power, w->ctx->threads};
  switch (o->kind) {
    case KAON_PRECOND_BLOCK_JACOBI:
      return kaon_block_inverses(w->ctx, w->way.rows, o->block, hermitian, shift, &w->blocks, bad);
    case KAON_PRECOND_AINV:
      return kaon_ainv_create(w->ctx, w->way.rows, &ainv, &w->inverse, bad);
    case KAON_PRECOND_FSAI:
      return kaon_fsai_create(w->ctx, w->way.rows, &fsai, &w->inverse, bad);
    case KAON_PRECOND_DIC:
    case KAON_PRECOND_DILU:
      how.kind = KAON_FACTOR_DIAGONAL;
      break;
    case KAON_PRECOND_SSOR:
      how.kind = KAON_FACTOR_SSOR;
      break;
    case KAON_PRECOND_GS:
      how.kind = KAON_FACTOR_SSOR;
      how.omega = 1;
      break;
    default:
      break;
  }
  return kaon_factors_create(w->ctx, w->way.rows, &how, &w->factors, bad);
}

/* The caller's row index, from 1, of a row in the factorisation's order. */
static long long given_row(const host_tables *w, int64_t i) {
  const kaon_matrix *matrix = w->self->matrix;
  const int64_t mine = w->way.order[i];
  return (long long)kaon_matrix_caller_row(matrix,
                                           matrix->order != NULL ? matrix->order[mine] : mine) +
         1;
}

/* The first of the rows that broke down with 0 or no entry on the diagonal; -1: none. *there: 1 if
 * there is an entry. A block of block Jacobi breaks down as a whole. */
static int64_t zero_diagonal(const host_tables *w, const kaon_bad_pivot *bad, int *there) {
  const kaon_precond_options *o = &w->self->options;
  const kaon_csr *A = w->way.rows;
  const int rows = o->kind == KAON_PRECOND_BLOCK_JACOBI ? o->block : 1;
  for (int64_t i = bad->row; i < A->rows && i < bad->row + rows; i++) {
    const int64_t n = kaon_csr_find(A, i, (int32_t)i);
    *there = n >= 0;
    if (n < 0) return i;
    const kaon_number d = kaon_number_at(A->value, n, A->reals);
    if (d.re == 0 && d.im == 0) return i;
  }
  return -1;
}

static kaon_status broken(const host_tables *w, const kaon_bad_pivot *bad) {
  const kaon_precond_info *info = &w->self->info;
  const kaon_precond_options *o = &w->self->options;
  int there = 0;
  const int64_t zero = zero_diagonal(w, bad, &there);
  char imaginary[40] = "";
  /* approximate inverses work on a unit diagonal */
  const int scaled = o->kind == KAON_PRECOND_AINV || o->kind == KAON_PRECOND_FSAI;
  const int e = scaled ? 0 : w->self->matrix->exponent;
  const double re = ldexp(bad->pivot[0], e), im = ldexp(bad->pivot[1], e);
  if (zero >= 0)
    return kaon_fail(
        w->ctx, KAON_ERR_SINGULAR,
        "%s: breakdown with pivot %.3g: row %lld (counted from 1, as it was given) has "
        "%s on the diagonal, which 'shift' only multiplies; take no preconditioner "
        "(--precond none), with gcr or cgnr for the method, or exchange rows so that no "
        "0 is there",
        names[o->kind], re, given_row(w, zero), there ? "0" : "no entry");
  if (w->from->reals == 2) snprintf(imaginary, sizeof imaginary, " %+.3g i", im);
  return kaon_fail(
      w->ctx, KAON_ERR_SINGULAR,
      "%s: breakdown in row %lld (counted from 1, as it was given) with pivot %.3g%s and the "
      "diagonal times %.4g, where it must be %s; give a larger 'shift', or choose another "
      "kind",
      names[o->kind], given_row(w, bad->row), re, imaginary, 1 + info->shift,
      w->self->hermitian ? "positive" : "nonzero");
}

/* Factorises, with shifts according to the options. */
static kaon_status factorise_somehow(host_tables *w) {
  kaon_precond_info *info = &w->self->info;
  kaon_bad_pivot bad = {0, {0, 0}};
  info->shift = w->self->options.shift;
  for (int n = 0;; n++) {
    const kaon_status status = factorise(w, info->shift, &bad);
    if (status != KAON_ERR_SINGULAR) return status;
    if (n >= w->self->options.tries) return broken(w, &bad);
    info->shift = info->shift > 0 ? 2 * info->shift : FIRST_SHIFT;
  }
}

/* Replaces the factors by those of M^H: (E + L) E^-1 (E + U) becomes (E^H + U^H) E^-H (E^H +
 * L^H). */
static kaon_status take_adjoint(host_tables *w) {
  kaon_factors *f = w->factors;
  kaon_csr *lower = NULL, *upper = NULL;
  kaon_status status = kaon_csr_transpose(w->ctx, f->upper, 1, &lower);
  if (status == KAON_OK) status = kaon_csr_transpose(w->ctx, f->lower, 1, &upper);
  if (status != KAON_OK) {
    kaon_csr_destroy(&lower);
    kaon_csr_destroy(&upper);
    return status;
  }
  kaon_csr_destroy(&f->lower);
  kaon_csr_destroy(&f->upper);
  f->lower = lower;
  f->upper = upper;
  for (int64_t i = 0; i < lower->rows && lower->reals == 2; i++) f->pivot[2 * i + 1] *= -1;
  return KAON_OK;
}

/* Multiplies the rows of T by factor / E. */
static void divide(kaon_csr *T, const double *pivot, double factor) {
  for (int64_t i = 0; i < T->rows; i++) {
    kaon_number e = kaon_number_inverse(kaon_number_at(pivot, i, T->reals), T->reals);
    e.re *= factor;
    e.im *= factor;
    for (int64_t n = T->start[i]; n < T->start[i + 1]; n++)
      kaon_number_put(T->value, n, T->reals,
                      kaon_number_times(kaon_number_at(T->value, n, T->reals), e, T->reals));
  }
}

/* scale / E, or just scale, by row of the space. */
static double *diagonal_numbers(const host_tables *w, int inverse, double scale) {
  const int reals = w->from->reals;
  double *d = malloc(((size_t)w->from->rows + 1) * (size_t)reals * sizeof *d);
  for (int64_t i = 0; i < w->from->rows && d != NULL; i++) {
    kaon_number e = {1, 0};
    if (inverse) e = kaon_number_inverse(kaon_number_at(w->factors->pivot, i, reals), reals);
    kaon_number_put(d, w->way.order[i], reals, (kaon_number){scale * e.re, scale * e.im});
  }
  return d;
}

static kaon_precision vectors_of(const kaon_precond *self) {
  return self->options.precision == KAON_HALF ? KAON_SINGLE : self->options.precision;
}

/* Makes a triangle that is solved level by level from one in the factorisation's order. */
static kaon_status make_triangle(host_tables *w, kaon_csr **T, int upper, const double *diagonal,
                                 kaon_triangle **triangle) {
  kaon_level_sets *sets = NULL;
  const kaon_precond *self = w->self;
  KAON_TRY(kaon_level_sets_create(w->ctx, *T, upper, w->way.order, &sets));
  const kaon_status status = put_back(w, T);
  if (status != KAON_OK) {
    kaon_level_sets_destroy(&sets);
    return status;
  }
  return kaon_triangle_create(w->ctx, *T, &sets, diagonal, vectors_of(self),
                              self->options.precision == KAON_HALF, triangle);
}

/* Makes the triangles: forward y = E^-1 (x - L y), backward y = scale x - E^-1 U y. */
static kaon_status make_triangles(host_tables *w, int dagger) {
  kaon_precond *self = w->self;
  kaon_factors *f = w->factors;
  if (dagger) KAON_TRY(take_adjoint(w));
  double *inverse = diagonal_numbers(w, 1, 1);
  double *scale = f->scale != 1 ? diagonal_numbers(w, 0, f->scale) : NULL;
  kaon_status status = KAON_OK;
  if (inverse == NULL || (scale == NULL && f->scale != 1))
    status =
        kaon_fail(w->ctx, KAON_ERR_MEMORY, "preconditioner: out of host memory for a diagonal");
  if (status == KAON_OK) status = make_triangle(w, &f->lower, 0, inverse, &self->forward[dagger]);
  if (status == KAON_OK) {
    divide(f->upper, f->pivot, 1 / f->scale);
    status = make_triangle(w, &f->upper, 1, scale, &self->backward[dagger]);
  }
  free(inverse);
  free(scale);
  if (status == KAON_OK && !dagger) {
    self->info.levels = self->forward[0]->sets->levels + self->backward[0]->sets->levels;
    self->info.entries =
        f->lower->start[w->from->rows] + f->upper->start[w->from->rows] + w->from->rows;
  }
  return status;
}

/* ---- products ---- */

/* Makes an operator from rows in the factorisation's order. Collective. */
static kaon_status make_product(host_tables *w, kaon_csr **rows, kaon_status status,
                                kaon_operator **op) {
  kaon_precond *self = w->self;
  const kaon_precond_options *o = &self->options;
  if (status == KAON_OK) status = put_back(w, rows);
  KAON_TRY(kaon_agree(w->ctx, status));
  self->info.entries += (*rows)->start[w->from->rows];
  return kaon_rows_operator(self->matrix, rows, names[o->kind], vectors_of(self),
                            o->precision == KAON_HALF, KAON_STORE_AUTO, op);
}

static kaon_status diagonal_rows(const host_tables *w, double scale, kaon_csr **rows) {
  const int64_t n = w->from->rows;
  KAON_TRY(kaon_csr_create(w->ctx, n, n, w->from->reals, n, rows));
  for (int64_t i = 0; i < n; i++) {
    const kaon_number e =
        kaon_number_inverse(kaon_number_at(w->factors->pivot, i, w->from->reals), w->from->reals);
    (*rows)->start[i + 1] = i + 1;
    (*rows)->column[i] = (int32_t)i;
    kaon_number_put((*rows)->value, i, w->from->reals, (kaon_number){scale * e.re, scale * e.im});
  }
  return KAON_OK;
}

static kaon_status make_sweeps(host_tables *w) {
  kaon_precond *self = w->self;
  kaon_factors *f = w->factors;
  KAON_AUTO(kaon_csr_destroy) kaon_csr *diagonal = NULL;
  divide(f->lower, f->pivot, 1);
  divide(f->upper, f->pivot, 1);
  kaon_status status = diagonal_rows(w, f->scale, &diagonal);
  KAON_TRY(make_product(w, &diagonal, status, &self->diagonal));
  KAON_TRY(make_product(w, &f->lower, KAON_OK, &self->lower));
  return make_product(w, &f->upper, KAON_OK, &self->upper);
}

static kaon_status make_parts(host_tables *w, int dagger) {
  kaon_precond *self = w->self;
  if (w->blocks != NULL) return make_product(w, &w->blocks, KAON_OK, &self->first);
  if (w->inverse.first != NULL) {
    KAON_TRY(make_product(w, &w->inverse.first, KAON_OK, &self->first));
    return make_product(w, &w->inverse.second, KAON_OK, &self->second);
  }
  if (self->options.sweeps > 0) return make_sweeps(w);
  return kaon_agree(w->ctx, make_triangles(w, dagger));
}

kaon_status kaon_precond_build(kaon_precond *self, int dagger) {
  const kaon_precond_options *o = &self->options;
  host_tables w = {.self = self, .ctx = self->matrix->ctx, .from = self->matrix->rows->rows};
  const int coloured = o->order == KAON_PRECOND_COLOUR || o->kind == KAON_PRECOND_GS;
  kaon_status status = kaon_order_rows(self->matrix, coloured, &w.way);
  self->info.colours = w.way.colours;
  if (status == KAON_OK) status = factorise_somehow(&w);
  status = kaon_agree(w.ctx, status);
  if (status == KAON_OK) status = make_parts(&w, dagger);
  kaon_factors_destroy(&w.factors);
  kaon_inverse_factors_destroy(&w.inverse);
  kaon_csr_destroy(&w.blocks);
  kaon_ordered_rows_clear(&w.way);
  return status;
}
