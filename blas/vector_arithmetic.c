/* vector_arithmetic.c - the arithmetic of include/kaon/vector.h, by blas functions with private
 * scalars. */
#include <math.h>
#include <stdlib.h>

#include "blas/blas.h"
#include "lib/core/entry.h"

kaon_status kaon_vector_zero(kaon_vector *vector) {
  KAON_ENTER(KAON_OF(vector), vector);
  return kaon_blas_zero(vector, NULL);
}

kaon_status kaon_vector_copy(kaon_vector *to, const kaon_vector *from) {
  KAON_ENTER(KAON_OF(to), to, from);
  if (to == from) return KAON_OK;
  return kaon_blas_convert(from, to, 0, NULL);
}

enum { DOT, NORM, SLOTS };

/* Reads the states; for one column only its first slots. */
static kaon_status read_slots(const kaon_scalars *scalars, kaon_column_state *host) {
  if (scalars->columns > 1) return kaon_scalars_read(scalars, host);
  return scalars->ctx->backend->memory->to_host(scalars->ctx, host->slot, scalars->state->slot,
                                                SLOTS * sizeof host->slot[0]);
}

static kaon_status issue_sums(const kaon_vector *x, const kaon_vector *y, int dot, int norm,
                              const kaon_pass *pass) {
  const int slot[3] = {dot, KAON_NO_SLOT, norm};
  return dot == KAON_NO_SLOT && norm == KAON_NO_SLOT ? kaon_blas_site_ratio(x, y, DOT, pass)
                                                     : kaon_blas_dot(x, y, slot, pass);
}

/* Computes (x, y) into slot DOT or |y|^2 into slot NORM of each column, in host states. Without
 * either: kaon_blas_site_ratio(x, y) into slot DOT. */
static kaon_status sums(const kaon_vector *x, const kaon_vector *y, int dot, int norm,
                        kaon_column_state *host) {
  kaon_pass pass = KAON_PASS_INIT;
  kaon_scalars borrowed;
  if (!y->ctx->backend->host_scalars) {
    KAON_TRY(kaon_scalars_borrow(y->ctx, y->nrhs, &borrowed));
    pass.scalars = &borrowed;
    KAON_TRY(issue_sums(x, y, dot, norm, &pass));
    return read_slots(&borrowed, host);
  }
  KAON_TRY(kaon_scalars_create(y->ctx, y->nrhs, &pass.scalars));
  kaon_status status = issue_sums(x, y, dot, norm, &pass);
  if (status == KAON_OK) status = kaon_scalars_read(pass.scalars, host);
  kaon_scalars_destroy(&pass.scalars);
  return status;
}

static kaon_status host_states(const kaon_vector *v, kaon_column_state **host) {
  *host = malloc((size_t)v->nrhs * sizeof **host);
  if (*host == NULL)
    return kaon_fail(v->ctx, KAON_ERR_MEMORY, "vector sums: out of host memory for %d columns",
                     v->nrhs);
  return KAON_OK;
}

kaon_status kaon_vector_norm2(const kaon_vector *vector, double *norm2) {
  KAON_ENTER(KAON_OF(vector), vector, norm2);
  KAON_AUTOFREE kaon_column_state *host = NULL;
  KAON_TRY(host_states(vector, &host));
  KAON_TRY(sums(vector, vector, KAON_NO_SLOT, NORM, host));
  for (int k = 0; k < vector->nrhs; k++) norm2[k] = host[k].slot[NORM][0];
  return KAON_OK;
}

kaon_status kaon_vector_dot(const kaon_vector *x, const kaon_vector *y, double (*dot)[2]) {
  KAON_ENTER(KAON_OF(x), x, y, dot);
  KAON_AUTOFREE kaon_column_state *host = NULL;
  KAON_TRY(host_states(y, &host));
  KAON_TRY(sums(x, y, DOT, KAON_NO_SLOT, host));
  for (int k = 0; k < y->nrhs; k++)
    for (int c = 0; c < 2; c++) dot[k][c] = host[k].slot[DOT][c];
  return KAON_OK;
}

kaon_status kaon_vector_heavy_quark(const kaon_vector *r, const kaon_vector *x, double *residual) {
  KAON_ENTER(KAON_OF(r), r, x, residual);
  KAON_AUTOFREE kaon_column_state *host = NULL;
  KAON_TRY(host_states(x, &host));
  KAON_TRY(sums(r, x, KAON_NO_SLOT, KAON_NO_SLOT, host));
  double sites = (double)x->space->nsites;
  KAON_TRY(kaon_comm_sum(x->ctx, &sites, 1));
  for (int k = 0; k < x->nrhs; k++)
    residual[k] = sqrt((host[k].slot[DOT][0] + (sites - host[k].slot[DOT][1])) / sites);
  return KAON_OK;
}

/* ---- factors by column ---- */

/* Runs y = factor y (x NULL), or y += factor x, with factor[k * step] for column k. */
static kaon_status combine(const double (*factor)[2], int step, const kaon_vector *x,
                           kaon_vector *y, const char *what) {
  KAON_AUTOFREE kaon_column_state *host = NULL;
  kaon_pass pass = KAON_PASS_INIT;
  for (int k = 0; k < y->nrhs; k++)
    if (factor[k * step][1] != 0 && !y->space->complex_space)
      return kaon_fail(y->ctx, KAON_ERR_ARGUMENT,
                       "%s: the factor of column %d is %g + %g i but the space is real; pass 0 as "
                       "imaginary part",
                       what, k, factor[k * step][0], factor[k * step][1]);
  KAON_TRY(host_states(y, &host));
  kaon_status status = kaon_scalars_create(y->ctx, y->nrhs, &pass.scalars);
  if (status == KAON_OK) status = kaon_scalars_read(pass.scalars, host);
  for (int k = 0; k < y->nrhs && status == KAON_OK; k++)
    for (int c = 0; c < 2; c++) host[k].slot[0][c] = factor[k * step][c];
  if (status == KAON_OK) status = kaon_scalars_write(pass.scalars, host);
  if (status == KAON_OK)
    status = x == NULL ? kaon_blas_scale(KAON_PLUS(0), y, &pass)
                       : kaon_blas_axpy(KAON_PLUS(0), x, y, &pass);
  kaon_scalars_destroy(&pass.scalars);
  return status;
}

kaon_status kaon_vector_axpy(double re, double im, const kaon_vector *x, kaon_vector *y) {
  KAON_ENTER(KAON_OF(x), x, y);
  const double factor[1][2] = {{re, im}};
  if (im == 0) return kaon_blas_axpy(KAON_NUMBER(re), x, y, NULL);
  return combine(factor, 0, x, y, "axpy");
}

kaon_status kaon_vector_axpy_columns(const double (*factor)[2], const kaon_vector *x,
                                     kaon_vector *y) {
  KAON_ENTER(KAON_OF(x), factor, x, y);
  return combine(factor, 1, x, y, "axpy by column");
}

kaon_status kaon_vector_scale(const double (*factor)[2], kaon_vector *vector) {
  KAON_ENTER(KAON_OF(vector), factor, vector);
  return combine(factor, 1, NULL, vector, "scale");
}
