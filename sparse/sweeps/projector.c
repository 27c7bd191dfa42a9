/* projector.c - see projector.h. */
#include "sparse/sweeps/projector.h"

#include <stdlib.h>
#include <string.h>

#include "blas/blas.h"
#include "blas/submit.h"

/* Uploads values in the precision of vectors. */
static kaon_status upload_weights(kaon_context *ctx, const double *factor, int64_t rows,
                                  kaon_precision precision, void **device) {
  const size_t bytes = (size_t)rows * kaon_precision_bytes(precision);
  KAON_AUTOFREE float *rounded = malloc(bytes + 1);
  if (rounded == NULL)
    return kaon_fail(ctx, KAON_ERR_MEMORY, "kaczmarz: out of host memory for %lld weights",
                     (long long)rows);
  for (int64_t i = 0; i < rows && precision != KAON_DOUBLE; i++) rounded[i] = (float)factor[i];
  return kaon_table_upload(ctx, precision == KAON_DOUBLE ? (const void *)factor : rounded, bytes,
                           "weights of rows", device);
}

static kaon_status upload_order(kaon_projector *p, const kaon_sweep_rows *o) {
  const size_t size = sizeof(int64_t), launches = ((size_t)o->launches + 1) * size;
  p->launch = malloc(launches);
  if (p->launch == NULL)
    return kaon_fail(p->ctx, KAON_ERR_MEMORY, "kaczmarz: out of host memory for %d classes",
                     o->launches);
  memcpy(p->launch, o->launch, launches);
  KAON_TRY(kaon_table_upload(p->ctx, o->launch, launches, "classes of a sweep", &p->launch_there));
  if (o->group != NULL)
    KAON_TRY(kaon_table_upload(p->ctx, o->group, ((size_t)o->groups + 1) * size,
                               "groups of a sweep", &p->group));
  if (o->step != NULL)
    KAON_TRY(kaon_table_upload(p->ctx, o->step, ((size_t)o->steps + 1) * size, "steps of a sweep",
                               &p->step));
  if (o->part != NULL)
    KAON_TRY(kaon_table_upload(p->ctx, o->part, ((size_t)o->groups + 1) * size,
                               "copies of a sweep's blocks", &p->part));
  KAON_TRY(kaon_table_upload(p->ctx, o->row, (size_t)o->rows * sizeof *o->row, "rows of a sweep",
                             &p->row));
  p->order = (kaon_sweep_order_view){.launches = o->launches,
                                     .launch = p->launch,
                                     .launch_there = p->launch_there,
                                     .group = p->group,
                                     .step = p->step,
                                     .part = p->part,
                                     .row = p->row,
                                     .longest = 1};
  for (int64_t g = 0; g < o->groups && o->part != NULL; g++)
    if (o->part[g + 1] - o->part[g] > p->order.largest)
      p->order.largest = o->part[g + 1] - o->part[g];
  for (int64_t g = 0; g < o->groups && o->group != NULL; g++) {
    const int64_t first = o->group[g], last = o->group[g + 1];
    const int64_t rows = o->step != NULL ? o->step[last] - o->step[first] : last - first;
    if (rows > p->order.longest) p->order.longest = rows;
  }
  return KAON_OK;
}

kaon_status kaon_projector_create(kaon_context *ctx, const kaon_csr *rows, const double *factor,
                                  const kaon_sweep_rows *order, kaon_precision precision,
                                  kaon_projector **made) {
  kaon_projector *p = calloc(1, sizeof *p);
  *made = NULL;
  if (p == NULL) return kaon_fail(ctx, KAON_ERR_MEMORY, "kaczmarz: out of host memory");
  p->ctx = ctx;
  p->columns = rows->columns;
  kaon_context_retain(ctx);
  kaon_status status =
      kaon_stored_create(ctx, rows, rows->rows, precision, 0, KAON_STORE_CSR, &p->stored);
  if (status == KAON_OK) status = upload_weights(ctx, factor, rows->rows, precision, &p->weight);
  if (status == KAON_OK) status = upload_order(p, order);
  *made = p;
  if (status != KAON_OK) kaon_projector_destroy(made);
  return status;
}

void kaon_projector_destroy(kaon_projector **gone) {
  if (gone == NULL || *gone == NULL) return;
  kaon_projector *p = *gone;
  *gone = NULL;
  kaon_stored_destroy(&p->stored);
  kaon_pool_release(p->ctx, p->launch_there);
  kaon_pool_release(p->ctx, p->part);
  kaon_pool_release(p->ctx, p->group);
  kaon_pool_release(p->ctx, p->step);
  kaon_pool_release(p->ctx, p->row);
  kaon_pool_release(p->ctx, p->weight);
  free(p->launch);
  kaon_context_release(p->ctx);
  free(p);
}

double kaon_projector_bytes(const kaon_projector *p) {
  const kaon_stored_matrix *m = &p->stored->matrix;
  const double number = (double)kaon_precision_bytes(p->stored->precision) * m->reals;
  return (double)p->stored->bytes + 4 * (double)m->rows + 2 * number * (double)p->columns;
}

kaon_status kaon_projector_sweep(const kaon_projector *p, int backward, const kaon_vector *b,
                                 kaon_view y, int nrhs, const kaon_pass *pass) {
  kaon_context *ctx = p->ctx;
  const struct kaon_sparse_ops *ops = ctx->backend->sparse[p->stored->precision];
  const kaon_project_args args = {.matrix = &p->stored->matrix,
                                  .order = &p->order,
                                  .nrhs = nrhs,
                                  .backward = backward,
                                  .weight = p->weight,
                                  .b = kaon_view_of(b),
                                  .y = y,
                                  .gate = kaon_pass_gate(pass)};
  kaon_launch launch;
  if (ops->project == NULL)
    return kaon_fail(ctx, KAON_ERR_NOT_BUILT,
                     "kaczmarz: backend %s has no kernel for sweeps; take cimmino (the program's "
                     "--method), or another backend",
                     ctx->backend->name);
  KAON_TRY(kaon_launch_prepare(ctx, nrhs, (size_t)kaon_projector_bytes(p), &launch));
  ops->project(&launch, &args);
  ctx->no_flush_needed = 1;
  return KAON_OK;
}
