/* solution_forecast.c - a guess from earlier solutions, with the least residual in their span.
 * Brower, Ivanenko, Levi, Orginos, Nucl. Phys. B 484 (1997) 353, hep-lat/9509012.
 *
 * With w_i = A v_i, Gram and Schmidt make the w_i orthonormal, newest first and twice, and the same
 * combinations are made of the v_i. Then x = sum_i (w_i, r) v_i with r = b - A x so far. Earlier
 * solutions are nearly parallel: of what is left of one, a part below sqrt(eps) is mostly rounding,
 * and is dropped. Storage: 2 n + 1 vectors. */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "lib/core/entry.h"
#include "lib/core/threads.h"
#include "lib/operator/operator_internal.h"
#include <kaon/solver.h>

typedef struct forecast {
  kaon_operator *A;
  int n, columns;
  kaon_vector *v[KAON_FORECAST_MOST], *w[KAON_FORECAST_MOST], *r;
  double (*factor)[2], *before, *after; /* of each column */
} forecast;

static void release(forecast *f) {
  for (int i = 0; i < f->n; i++) {
    kaon_vector_destroy(&f->v[i]);
    kaon_vector_destroy(&f->w[i]);
  }
  kaon_vector_destroy(&f->r);
  free(f->factor);
  free(f->before);
}

static kaon_status allocate(forecast *f) {
  const kaon_operator *A = f->A;
  const size_t columns = (size_t)f->columns;
  f->factor = calloc(columns, sizeof *f->factor);
  f->before = calloc(2 * columns, sizeof *f->before);
  KAON_TRY(KAON_AGREE_MEMORY(A->ctx, f->factor != NULL && f->before != NULL,
                             "forecast: out of host memory"));
  f->after = f->before + columns;
  KAON_TRY(kaon_vector_create(A->ctx, A->space, A->precision, f->columns, &f->r));
  for (int i = 0; i < f->n; i++) {
    KAON_TRY(kaon_vector_create(A->ctx, A->space, A->precision, f->columns, &f->v[i]));
    KAON_TRY(kaon_vector_create(A->ctx, A->space, A->precision, f->columns, &f->w[i]));
  }
  return KAON_OK;
}

/* factor[k] = -(w_i, u) */
static kaon_status project(const forecast *f, int i, const kaon_vector *u) {
  KAON_TRY(kaon_vector_dot(f->w[i], u, f->factor));
  for (int k = 0; k < f->columns; k++)
    for (int c = 0; c < 2; c++) f->factor[k][c] = -f->factor[k][c];
  return KAON_OK;
}

static kaon_status orthogonalise(const forecast *f, int i) {
  for (int pass = 0; pass < 2; pass++)
    for (int j = 0; j < i; j++) {
      KAON_TRY(project(f, j, f->w[i]));
      KAON_TRY(kaon_vector_axpy_columns((const double(*)[2])f->factor, f->w[j], f->w[i]));
      KAON_TRY(kaon_vector_axpy_columns((const double(*)[2])f->factor, f->v[j], f->v[i]));
    }
  return KAON_OK;
}

/* Scales w_i to norm 1 in each column, or to 0 where it depends on those before. */
static kaon_status normalise(const forecast *f, int i) {
  const double least = f->A->precision == KAON_DOUBLE ? DBL_EPSILON : (double)FLT_EPSILON;
  KAON_TRY(kaon_vector_norm2(f->w[i], f->after));
  for (int k = 0; k < f->columns; k++) {
    f->factor[k][0] = f->after[k] > least * f->before[k] ? 1 / sqrt(f->after[k]) : 0;
    f->factor[k][1] = 0;
  }
  KAON_TRY(kaon_vector_scale((const double(*)[2])f->factor, f->w[i]));
  return kaon_vector_scale((const double(*)[2])f->factor, f->v[i]);
}

static kaon_status take(const forecast *f, int i, const kaon_vector *solution) {
  KAON_TRY(kaon_vector_copy(f->v[i], solution));
  KAON_TRY(kaon_operator_apply(f->A, KAON_PLAIN, f->v[i], f->w[i]));
  KAON_TRY(kaon_vector_norm2(f->w[i], f->before));
  for (int k = 0; k < f->columns; k++)
    if (!isfinite(f->before[k]))
      return kaon_fail(
          f->A->ctx, KAON_ERR_NOT_FINITE,
          "forecast: |A s|^2 of solution %d, column %d, is %g; leave this solution out", i, k,
          f->before[k]);
  KAON_TRY(orthogonalise(f, i));
  return normalise(f, i);
}

static kaon_status run(const forecast *f, kaon_vector *const *solutions, const kaon_vector *b,
                       kaon_vector *x) {
  KAON_TRY(kaon_vector_copy(f->r, b));
  KAON_TRY(kaon_vector_zero(x));
  for (int i = 0; i < f->n; i++) {
    KAON_TRY(take(f, i, solutions[i]));
    KAON_TRY(project(f, i, f->r));
    KAON_TRY(kaon_vector_axpy_columns((const double(*)[2])f->factor, f->w[i], f->r));
    for (int k = 0; k < f->columns; k++)
      for (int c = 0; c < 2; c++) f->factor[k][c] = -f->factor[k][c];
    KAON_TRY(kaon_vector_axpy_columns((const double(*)[2])f->factor, f->v[i], x));
  }
  return KAON_OK;
}

static kaon_status check(const kaon_operator *A, int n, kaon_vector *const *solutions,
                         const kaon_vector *b, const kaon_vector *x) {
  KAON_TRY(kaon_operator_check_square(A, "forecast"));
  if (n < 0 || n > KAON_FORECAST_MOST || (n > 0 && solutions == NULL))
    return kaon_fail(A->ctx, KAON_ERR_ARGUMENT,
                     "forecast: %d solutions%s; give 0 to %d of them, the newest ones", n,
                     solutions == NULL ? " in a list that is NULL" : "", KAON_FORECAST_MOST);
  KAON_TRY(kaon_operator_check_vector(A, A->space, b, "b"));
  KAON_TRY(kaon_operator_check_vector(A, A->space, x, "x"));
  KAON_TRY(kaon_operator_check_columns(A, b, x));
  if (b->data == x->data)
    return kaon_fail(A->ctx, KAON_ERR_ALIAS, "forecast: b and x are the same vector; use two");
  for (int i = 0; i < n; i++) {
    if (solutions[i] == NULL)
      return kaon_fail(A->ctx, KAON_ERR_ARGUMENT, "forecast: solution %d is NULL", i);
    KAON_TRY(kaon_operator_check_vector(A, A->space, solutions[i], "of a solution"));
    KAON_TRY(kaon_operator_check_columns(A, b, solutions[i]));
    if (solutions[i]->data == x->data)
      return kaon_fail(A->ctx, KAON_ERR_ALIAS,
                       "forecast: x is the same vector as solution %d; use another", i);
  }
  return KAON_OK;
}

kaon_status kaon_forecast(kaon_operator *A, int n, kaon_vector *const *solutions,
                          const kaon_vector *b, kaon_vector *x) {
  KAON_ENTER(KAON_OF(A), A, b, x);
  KAON_TRY(kaon_agree(A->ctx, check(A, n, solutions, b, x)));
  forecast f = {.A = A, .n = n, .columns = b->nrhs};
  kaon_status status = allocate(&f);
  if (status == KAON_OK) status = run(&f, solutions, b, x);
  release(&f);
  return status;
}
