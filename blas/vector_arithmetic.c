/* vector_arithmetic.c - the arithmetic of include/kaon/vector.h, by blas functions with private
 * scalars. */
#include <stdlib.h>

#include "blas/blas.h"

/* Fails if an argument is NULL, before anything is read. any: an argument that is not NULL, or
 * NULL. */
static kaon_status need(const kaon_vector *any, int all, const char *name) {
  if (all) return KAON_OK;
  return kaon_fail(any ? any->ctx : NULL, KAON_ERR_ARGUMENT, "%s: an argument is NULL", name);
}

kaon_status kaon_vector_zero(kaon_vector *vector) {
  return kaon_blas_zero(vector, NULL);
}

kaon_status kaon_vector_copy(kaon_vector *to, const kaon_vector *from) {
  if (to != NULL && to == from) return KAON_OK;
  return kaon_blas_convert(from, to, 0, NULL);
}

enum { DOT, NORM, SLOTS };

/* Reads the states; for one column only its first slots. */
static kaon_status read_slots(const kaon_scalars *scalars, kaon_column_state *host) {
  if (scalars->columns > 1) return kaon_scalars_read(scalars, host);
  return scalars->ctx->backend->memory->to_host(scalars->ctx, host->slot, scalars->state->slot,
                                                SLOTS * sizeof host->slot[0]);
}

/* Computes (x, y) into slot DOT or |y|^2 into slot NORM of each column, in host states. */
static kaon_status sums(const kaon_vector *x, const kaon_vector *y, int dot, int norm,
                        kaon_column_state *host) {
  kaon_pass pass = KAON_PASS_INIT;
  const int slot[3] = {dot, KAON_NO_SLOT, norm};
  kaon_scalars borrowed;
  if (!y->ctx->backend->host_scalars) {
    KAON_TRY(kaon_scalars_borrow(y->ctx, y->nrhs, &borrowed));
    pass.scalars = &borrowed;
    KAON_TRY(kaon_blas_dot(x, y, slot, &pass));
    return read_slots(&borrowed, host);
  }
  KAON_TRY(kaon_scalars_create(y->ctx, y->nrhs, &pass.scalars));
  kaon_status status = kaon_blas_dot(x, y, slot, &pass);
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
  KAON_TRY(need(vector, vector != NULL && norm2 != NULL, "norm2"));
  kaon_column_state *host = NULL;
  KAON_TRY(host_states(vector, &host));
  const kaon_status status = sums(vector, vector, KAON_NO_SLOT, NORM, host);
  for (int k = 0; k < vector->nrhs && status == KAON_OK; k++) norm2[k] = host[k].slot[NORM][0];
  free(host);
  return status;
}

kaon_status kaon_vector_dot(const kaon_vector *x, const kaon_vector *y, double (*dot)[2]) {
  KAON_TRY(need(y, x != NULL && y != NULL && dot != NULL, "dot"));
  kaon_column_state *host = NULL;
  KAON_TRY(host_states(y, &host));
  const kaon_status status = sums(x, y, DOT, KAON_NO_SLOT, host);
  for (int k = 0; k < y->nrhs && status == KAON_OK; k++)
    for (int c = 0; c < 2; c++) dot[k][c] = host[k].slot[DOT][c];
  free(host);
  return status;
}

kaon_status kaon_vector_axpy(double re, double im, const kaon_vector *x, kaon_vector *y) {
  KAON_TRY(need(y, x != NULL && y != NULL, "axpy"));
  if (im == 0) return kaon_blas_axpy(KAON_NUMBER(re), x, y, NULL);
  if (!y->space->complex_space)
    return kaon_fail(y->ctx, KAON_ERR_ARGUMENT,
                     "axpy: the factor is %g + %g i but the space is real; pass im = 0", re, im);
  kaon_column_state *host = NULL;
  kaon_scalars *scalars = NULL;
  KAON_TRY(host_states(y, &host));
  kaon_status status = kaon_scalars_create(y->ctx, y->nrhs, &scalars);
  if (status == KAON_OK) status = kaon_scalars_read(scalars, host);
  for (int k = 0; k < y->nrhs && status == KAON_OK; k++) {
    host[k].slot[0][0] = re;
    host[k].slot[0][1] = im;
  }
  if (status == KAON_OK) status = kaon_scalars_write(scalars, host);
  kaon_pass pass = KAON_PASS_INIT;
  pass.scalars = scalars;
  if (status == KAON_OK) status = kaon_blas_axpy(KAON_PLUS(0), x, y, &pass);
  kaon_scalars_destroy(&scalars);
  free(host);
  return status;
}
