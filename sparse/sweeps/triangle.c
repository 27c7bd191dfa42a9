/* triangle.c - see triangle.h. */
#include "sparse/sweeps/triangle.h"

#include <stdlib.h>

#include "blas/blas.h"
#include "blas/submit.h"
#include "sparse/storage/single_range.h"

/* Uploads values in the precision of vectors. */
static kaon_status upload_numbers(kaon_context *ctx, const double *numbers, int64_t count,
                                  kaon_precision precision, void **device) {
  const size_t bytes = (size_t)count * kaon_precision_bytes(precision);
  if (precision == KAON_DOUBLE)
    return kaon_table_upload(ctx, numbers, bytes, "the diagonal of a triangle", device);
  KAON_AUTOFREE float *rounded = malloc(bytes + 1);
  if (rounded == NULL)
    return kaon_fail(ctx, KAON_ERR_MEMORY, "triangle: out of host memory for %lld numbers",
                     (long long)count);
  for (int64_t i = 0; i < count; i++) rounded[i] = (float)numbers[i];
  return kaon_table_upload(ctx, rounded, bytes, "the diagonal of a triangle", device);
}

/* 1: all entries are below the diagonal (or there are none), -1: above it, 0: on both sides. */
static int order_of(const kaon_csr *T) {
  int below = 1, above = 1;
  for (int64_t row = 0; row < T->rows && (below || above); row++)
    for (int64_t n = T->start[row]; n < T->start[row + 1]; n++) {
      below &= T->column[n] < row;
      above &= T->column[n] > row;
    }
  return below ? 1 : above ? -1 : 0;
}

kaon_status kaon_triangle_create(kaon_context *ctx, const kaon_csr *T, kaon_level_sets **sets,
                                 const double *diagonal, kaon_precision precision, int values_half,
                                 kaon_triangle **triangle) {
  kaon_triangle *made = calloc(1, sizeof *made);
  *triangle = NULL;
  if (made == NULL) {
    kaon_level_sets_destroy(sets);
    return kaon_fail(ctx, KAON_ERR_MEMORY, "triangle: out of host memory");
  }
  made->ctx = ctx;
  made->sets = *sets;
  made->in_order = order_of(T);
  *sets = NULL;
  kaon_context_retain(ctx);
  kaon_status status = KAON_OK;
  if (precision != KAON_DOUBLE)
    status = kaon_single_range_check_values(ctx, "an entry of a triangle",
                                            T->start[T->rows] * T->reals, T->value);
  if (status == KAON_OK && precision != KAON_DOUBLE && diagonal != NULL)
    status = kaon_single_range_check_values(ctx, "the diagonal of a triangle", T->rows * T->reals,
                                            diagonal);
  if (status == KAON_OK && ctx->backend->host_accessible)
    status = kaon_pipeline_create(ctx, T, made->in_order, made->sets, &made->pipeline);
  if (status == KAON_OK)
    status =
        kaon_stored_create(ctx, T, T->rows, precision, values_half, KAON_STORE_CSR, &made->stored);
  if (status == KAON_OK)
    status = kaon_table_upload(ctx, made->sets->first,
                               ((size_t)made->sets->levels + 1) * sizeof *made->sets->first,
                               "levels of a triangle", &made->level);
  if (status == KAON_OK)
    status = kaon_table_upload(ctx, made->sets->row, (size_t)T->rows * sizeof *made->sets->row,
                               "levels of a triangle", &made->row);
  if (status == KAON_OK && diagonal != NULL)
    status = upload_numbers(ctx, diagonal, T->rows * T->reals, precision, &made->diagonal);
  free(made->sets->row);
  made->sets->row = NULL;
  *triangle = made;
  if (status != KAON_OK) kaon_triangle_destroy(triangle);
  return status;
}

void kaon_triangle_destroy(kaon_triangle **triangle) {
  if (triangle == NULL || *triangle == NULL) return;
  kaon_triangle *gone = *triangle;
  *triangle = NULL;
  kaon_stored_destroy(&gone->stored);
  kaon_pool_release(gone->ctx, gone->level);
  kaon_pool_release(gone->ctx, gone->row);
  kaon_pool_release(gone->ctx, gone->diagonal);
  kaon_level_sets_destroy(&gone->sets);
  kaon_pipeline_destroy(&gone->pipeline);
  kaon_context_release(gone->ctx);
  free(gone);
}

double kaon_triangle_bytes(const kaon_triangle *triangle) {
  const kaon_stored_matrix *m = &triangle->stored->matrix;
  const double number = (double)kaon_precision_bytes(triangle->stored->precision);
  const double diagonal = triangle->diagonal != NULL ? number * m->reals : 0;
  return (double)triangle->stored->bytes + (double)m->rows * (4 + diagonal);
}

kaon_status kaon_triangle_solve(const kaon_triangle *triangle, const kaon_vector *x, kaon_vector *y,
                                const kaon_pass *pass) {
  kaon_context *ctx = triangle->ctx;
  const kaon_levels_args args = {.matrix = &triangle->stored->matrix,
                                 .nrhs = y->nrhs,
                                 .levels = triangle->sets->levels,
                                 .level = triangle->level,
                                 .level_host = triangle->sets->first,
                                 .row = triangle->row,
                                 .in_order = triangle->in_order,
                                 .pipeline = triangle->pipeline,
                                 .diagonal = triangle->diagonal,
                                 .x = kaon_view_of(x),
                                 .y = kaon_view_of(y),
                                 .gate = kaon_pass_gate(pass)};
  const double bytes = kaon_triangle_bytes(triangle) + 2 * (double)kaon_vector_bytes(y);
  kaon_launch launch;
  KAON_TRY(kaon_launch_prepare(ctx, y->nrhs, (size_t)bytes, &launch));
  ctx->backend->sparse[triangle->stored->precision]->levels(&launch, &args);
  ctx->no_flush_needed = 1;
  return KAON_OK;
}
