/* vector.c - storage of vectors: creation, views of the two parities, destruction. Their arithmetic
 * is in blas/vector_arithmetic.c, import and export in lib/vector/vector_import.c. */
#include <stdlib.h>

#include "lib/math/half.h"
#include "lib/vector/space.h"
#include "lib/core/entry.h"

static size_t site_count(const kaon_space *space, int nrhs) {
  return (size_t)space->nblocks * (size_t)space->width * (size_t)nrhs;
}

static size_t data_bytes(const kaon_space *space, kaon_precision precision, int nrhs) {
  return site_count(space, nrhs) * (size_t)space->ncomp * kaon_precision_bytes(precision);
}

static kaon_status check(kaon_context *ctx, const kaon_space *space, kaon_precision precision,
                         int nrhs) {
  if (nrhs < 1)
    return kaon_fail(ctx, KAON_ERR_ARGUMENT, "vector: %d columns asked for, at least 1 is needed",
                     nrhs);
  if (space->ctx != ctx)
    return kaon_fail(ctx, KAON_ERR_ARGUMENT,
                     "vector: the space belongs to another context; use the context that its "
                     "lattice was created with");
  if (precision != KAON_DOUBLE && precision != KAON_SINGLE && precision != KAON_HALF)
    return kaon_fail(ctx, KAON_ERR_ARGUMENT,
                     "vector: precision is %d, but must be 0 (double), 1 (single) or 2 (half)",
                     (int)precision);
  if (precision == KAON_HALF && space->ncomp > KAON_HALF_COMPONENTS)
    return kaon_fail(ctx, KAON_ERR_UNSUPPORTED,
                     "vector: half precision holds at most %d reals a site but this space has %d; "
                     "use single",
                     KAON_HALF_COMPONENTS, space->ncomp);
  if ((size_t)nrhs > SIZE_MAX / 16 / ((size_t)space->ncomp * site_count(space, 1) + 1))
    return kaon_fail(ctx, KAON_ERR_MEMORY, "vector: %d columns of %lld sites exceed any memory",
                     nrhs, (long long)space->nsites);
  return space->lattice == NULL
             ? KAON_OK
             : kaon_field_check(ctx, "vector", data_bytes(space, precision, nrhs));
}

static kaon_status take(kaon_vector *v) {
  kaon_context *ctx = v->ctx;
  const size_t sites = site_count(v->space, v->nrhs);
  const size_t bytes = data_bytes(v->space, v->precision, v->nrhs);
  KAON_TRY(kaon_pool_allocate(ctx, bytes, "vector", &v->data));
  KAON_TRY(ctx->backend->memory->clear(ctx, v->data, bytes));
  if (v->precision != KAON_HALF) return KAON_OK;
  void *scale = NULL;
  KAON_TRY(kaon_pool_allocate(ctx, sites * sizeof *v->scale, "scales of a half-precision vector",
                              &scale));
  v->scale = scale;
  return ctx->backend->memory->clear(ctx, scale, sites * sizeof *v->scale);
}

/* The caller destroys *made after success and after failure. */
static kaon_status make(kaon_context *ctx, const kaon_space *space, kaon_precision precision,
                        int nrhs, kaon_vector **made) {
  kaon_vector *v = *made = calloc(1, sizeof *v);
  if (v == NULL) return kaon_fail(ctx, KAON_ERR_MEMORY, "vector: out of host memory");
  *v = (kaon_vector){.ctx = ctx, .space = space, .precision = precision, .nrhs = nrhs, .owns = 1};
  kaon_context_retain(ctx);
  kaon_space_retain(space);
  return take(v);
}

kaon_status kaon_vector_create(kaon_context *ctx, const kaon_space *space, kaon_precision precision,
                               int nrhs, kaon_vector **vector) {
  if (vector != NULL) *vector = NULL;
  KAON_ENTER(ctx, ctx, space, vector);
  const kaon_argument given[] = {kaon_whole("precision", precision), kaon_whole("columns", nrhs),
                                 kaon_whole("numbers of a site", space->ncomp),
                                 kaon_whole("sites of the fifth dimension", space->inner)};
  KAON_TRY(kaon_same(ctx, check(ctx, space, precision, nrhs), "vector", given, 4));
  kaon_vector *made = NULL;
  const kaon_status status = kaon_agree(ctx, make(ctx, space, precision, nrhs, &made));
  *vector = made;
  if (status != KAON_OK) kaon_vector_destroy(vector);
  return status;
}

void kaon_vector_destroy(kaon_vector **vector) {
  if (vector == NULL || *vector == NULL) return;
  kaon_vector *gone = *vector;
  kaon_context *ctx = gone->ctx;
  const kaon_space *space = gone->space;
  *vector = NULL;
  kaon_pool_release(ctx, gone->data);
  kaon_pool_release(ctx, gone->scale);
  free(gone);
  kaon_space_release(space);
  kaon_context_release(ctx);
}

kaon_status kaon_vector_view(const kaon_vector *full, kaon_parity parity, kaon_vector *view) {
  const kaon_space *space = full->space;
  if (space->lattice == NULL || space->parity != KAON_FULL || parity == KAON_FULL)
    return kaon_fail(full->ctx, KAON_ERR_SHAPE,
                     "vector view: only the even or odd part of a full-lattice vector can be "
                     "viewed, but parity is %d and the vector's %d (0 even, 1 odd, 2 full)",
                     (int)parity, (int)space->parity);
  const kaon_space *half = space - KAON_FULL + parity; /* a lattice has its spaces in arrays */
  const size_t sites = parity == KAON_ODD ? site_count(half, full->nrhs) : 0;
  *view = *full;
  view->space = half;
  view->owns = 0;
  view->data =
      (char *)full->data + sites * (size_t)space->ncomp * kaon_precision_bytes(full->precision);
  if (full->scale != NULL) view->scale = full->scale + sites;
  return KAON_OK;
}

kaon_vector kaon_vector_flat(const kaon_vector *v) {
  kaon_vector flat = *v;
  flat.owns = 0;
  if (v->space->inner > 1) {
    flat.space = kaon_lattice_space(v->space->lattice, v->space->parity, v->space->ncomp, 1);
    flat.nrhs *= v->space->inner;
  }
  return flat;
}

const kaon_space *kaon_vector_space(const kaon_vector *vector) {
  return vector != NULL ? vector->space : NULL;
}

kaon_precision kaon_vector_precision(const kaon_vector *vector) {
  return vector != NULL ? vector->precision : KAON_DOUBLE;
}

int kaon_vector_columns(const kaon_vector *vector) {
  return vector != NULL ? vector->nrhs : 0;
}
