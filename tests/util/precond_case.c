/* precond_case.c - see precond_case.h. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "precond_case.h"

#include <stdlib.h>
#include <string.h>

#include "row_case.h"

void precond_ok(const kaon_context *ctx, kaon_status status) {
  if (status != KAON_OK) print_message("%s\n", kaon_last_error(ctx));
  assert_int_equal(status, KAON_OK);
}

kaon_matrix *precond_matrix_of(kaon_context *ctx, const kaon_csr *csr,
                               const kaon_matrix_options *options) {
  const kaon_csr_arrays arrays = {.global_rows = csr->rows,
                                  .rows = csr->rows,
                                  .reals = csr->reals,
                                  .start64 = csr->start,
                                  .column32 = csr->column,
                                  .values = csr->value};
  kaon_matrix *matrix = NULL;
  precond_ok(ctx, kaon_matrix_create_csr(ctx, &arrays, options, &matrix));
  return matrix;
}

kaon_matrix *precond_matrix(kaon_context *ctx, const kaon_csr *csr, int window) {
  kaon_matrix_options options = KAON_MATRIX_OPTIONS_INIT;
  options.window = window;
  return precond_matrix_of(ctx, csr, &options);
}

void precond_import(kaon_vector *v, int column, int64_t n, const number *x) {
  const int reals = v->space->ncomp;
  double *host = malloc(((size_t)n * 2 + 1) * sizeof *host);
  assert_non_null(host);
  for (int64_t i = 0; i < n; i++) {
    host[i * reals] = creal(x[i]);
    if (reals == 2) host[2 * i + 1] = cimag(x[i]);
  }
  precond_ok(v->ctx, kaon_vector_import(v, column, host, KAON_BASIS_UKQCD));
  free(host);
}

void precond_export(const kaon_vector *v, int column, int64_t n, number *x) {
  const int reals = v->space->ncomp;
  double *host = malloc(((size_t)n * 2 + 1) * sizeof *host);
  assert_non_null(host);
  precond_ok(v->ctx, kaon_vector_export(v, column, host, KAON_BASIS_UKQCD));
  for (int64_t i = 0; i < n; i++) x[i] = reals == 2 ? host[2 * i] + I * host[2 * i + 1] : host[i];
  free(host);
}

int precond_fits(int kind, int hermitian) {
  return hermitian ||
         (kind != KAON_PRECOND_DIC && kind != KAON_PRECOND_IC0 && kind != KAON_PRECOND_FSAI);
}

/* ---- the host's own ---- */

static void order_rows(const kaon_csr *csr, int by_colour, int32_t *order) {
  for (int64_t i = 0; i < csr->rows; i++) order[i] = (int32_t)i;
  if (!by_colour) return;
  int32_t *colour = malloc((size_t)csr->rows * sizeof *colour);
  int colours = 0;
  precond_ok(NULL, kaon_colour(NULL, csr, 1, colour, &colours));
  int64_t at = 0;
  for (int c = 0; c < colours; c++)
    for (int64_t i = 0; i < csr->rows; i++)
      if (colour[i] == c) order[at++] = (int32_t)i;
  free(colour);
}

static int is_hermitian(const kaon_csr *csr) {
  kaon_csr *adjoint = NULL;
  precond_ok(NULL, kaon_csr_transpose(NULL, csr, 1, &adjoint));
  const size_t entries = (size_t)csr->start[csr->rows];
  const int same =
      memcmp(adjoint->start, csr->start, (size_t)(csr->rows + 1) * sizeof *csr->start) == 0 &&
      memcmp(adjoint->column, csr->column, entries * sizeof *csr->column) == 0 &&
      memcmp(adjoint->value, csr->value, entries * (size_t)csr->reals * sizeof *csr->value) == 0;
  kaon_csr_destroy(&adjoint);
  return same;
}

precond_host *precond_host_create(const kaon_csr *csr, const kaon_precond_options *o) {
  precond_host *host = calloc(1, sizeof *host);
  kaon_csr *rows = NULL;
  kaon_bad_pivot where;
  assert_non_null(host);
  host->rows = csr->rows;
  host->options = *o;
  host->order = malloc((size_t)csr->rows * sizeof *host->order);
  order_rows(csr, o->order == KAON_PRECOND_COLOUR || o->kind == KAON_PRECOND_GS, host->order);
  precond_ok(NULL, kaon_csr_permute(NULL, csr, host->order, &rows));
  const int hermitian = is_hermitian(csr) && o->kind != KAON_PRECOND_ILU0;
  const kaon_ainv_how ainv = {hermitian, o->shift, o->drop, o->fill, 0};
  const kaon_fsai_how fsai = {o->shift, o->power, 1};
  kaon_factor_how how = {KAON_FACTOR_LU0, hermitian, o->shift, 1, 0};
  if (o->kind == KAON_PRECOND_DIC || o->kind == KAON_PRECOND_DILU) how.kind = KAON_FACTOR_DIAGONAL;
  if (o->kind == KAON_PRECOND_SSOR || o->kind == KAON_PRECOND_GS) how.kind = KAON_FACTOR_SSOR;
  if (o->kind == KAON_PRECOND_SSOR) how.omega = o->omega;
  if (o->kind == KAON_PRECOND_BLOCK_JACOBI)
    precond_ok(NULL, kaon_block_inverses(NULL, rows, o->block, hermitian, o->shift, &host->blocks,
                                         &where));
  else if (o->kind == KAON_PRECOND_AINV)
    precond_ok(NULL, kaon_ainv_create(NULL, rows, &ainv, &host->inverse, &where));
  else if (o->kind == KAON_PRECOND_FSAI)
    precond_ok(NULL, kaon_fsai_create(NULL, rows, &fsai, &host->inverse, &where));
  else
    precond_ok(NULL, kaon_factors_create(NULL, rows, &how, &host->factors, &where));
  kaon_csr_destroy(&rows);
  return host;
}

void precond_host_rename(precond_host *host, const int32_t *names) {
  for (int64_t i = 0; i < host->rows; i++) host->order[i] = names[host->order[i]];
}

void precond_host_destroy(precond_host **host) {
  if (*host == NULL) return;
  kaon_factors_destroy(&(*host)->factors);
  kaon_inverse_factors_destroy(&(*host)->inverse);
  kaon_csr_destroy(&(*host)->blocks);
  free((*host)->order);
  free(*host);
  *host = NULL;
}

static number pivot_of(const precond_host *host, int64_t i, int dagger) {
  const double *e = host->factors->pivot;
  const number pivot = host->factors->lower->reals == 1 ? e[i] : e[2 * i] + I * e[2 * i + 1];
  return dagger ? conj(pivot) : pivot;
}

static number entry_of(const kaon_csr *P, int64_t n, int dagger) {
  const number entry = P->reals == 1 ? P->value[n] : P->value[2 * n] + I * P->value[2 * n + 1];
  return dagger ? conj(entry) : entry;
}

/* x = (1 + P D)^-1 x or (left) (1 + D P)^-1 x, D = E^-1, P a strict triangle or (dagger) the
 * adjoint of one, whose rows are columns then: by substitution, */
static void substitute(const precond_host *host, const kaon_csr *P, int upper, int dagger, int left,
                       number *x) {
  for (int64_t step = 0; step < host->rows; step++) {
    const int64_t i = upper != dagger ? host->rows - 1 - step : step;
    for (int64_t n = P->start[i]; n < P->start[i + 1]; n++) {
      const int64_t to = dagger ? P->column[n] : i, from = dagger ? i : P->column[n];
      x[to] -= entry_of(P, n, dagger) / pivot_of(host, left ? to : from, dagger) * x[from];
    }
  }
}

/* or by sweeps that begin with x. */
static void sweep(const precond_host *host, const kaon_csr *P, int dagger, int left, number *x) {
  const int64_t n = host->rows;
  number *from = malloc((size_t)n * 3 * sizeof *from), *to = from + n, *divided = to + n;
  assert_non_null(from);
  memcpy(from, x, (size_t)n * sizeof *x);
  for (int s = 0; s < host->options.sweeps; s++) {
    for (int64_t i = 0; i < n; i++)
      divided[i] = left ? from[i] : from[i] / pivot_of(host, i, dagger);
    row_case_multiply(P, dagger, divided, to);
    for (int64_t i = 0; i < n; i++)
      from[i] = x[i] - (left ? to[i] / pivot_of(host, i, dagger) : to[i]);
  }
  memcpy(x, from, (size_t)n * sizeof *x);
  free(from);
}

static void triangle(const precond_host *host, int upper, int dagger, int left, number *x) {
  const kaon_csr *P = upper ? host->factors->upper : host->factors->lower;
  if (host->options.sweeps > 0)
    sweep(host, P, dagger, left, x);
  else
    substitute(host, P, upper, dagger, left, x);
}

/* M^-1 = scale (1 + E^-1 U)^-1 E^-1 (1 + L E^-1)^-1, whose sweeps are those of K. */
static void apply_factors(const precond_host *host, int dagger, number *x) {
  triangle(host, dagger, dagger, 0, x);
  for (int64_t i = 0; i < host->rows; i++) x[i] *= host->factors->scale / pivot_of(host, i, dagger);
  triangle(host, !dagger, dagger, 1, x);
}

void precond_host_apply(const precond_host *host, int dagger, const number *x, number *z) {
  const int64_t n = host->rows;
  number *a = malloc((size_t)n * 2 * sizeof *a), *b = a + n;
  assert_non_null(a);
  for (int64_t i = 0; i < n; i++) a[i] = x[host->order[i]];
  if (host->factors != NULL) {
    apply_factors(host, dagger, a);
  } else if (host->blocks != NULL) {
    row_case_multiply(host->blocks, dagger, a, b);
    memcpy(a, b, (size_t)n * sizeof *a);
  } else {
    row_case_multiply(dagger ? host->inverse.second : host->inverse.first, dagger, a, b);
    row_case_multiply(dagger ? host->inverse.first : host->inverse.second, dagger, b, a);
  }
  for (int64_t i = 0; i < n; i++) z[host->order[i]] = a[i];
  free(a);
}
