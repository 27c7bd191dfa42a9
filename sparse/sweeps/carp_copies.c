/* carp_copies.c - the copies of unknowns that the blocks of CARP have, and their averages.
 * Contract: kaczmarz_internal.h. */
#include <math.h>
#include <stdlib.h>

#include "blas/blas.h"
#include "blas/submit.h"
#include "sparse/sweeps/kaczmarz_internal.h"

static kaon_status no_memory(const kaon_context *ctx) {
  return kaon_fail(ctx, KAON_ERR_MEMORY, "carp: out of host memory for copies of unknowns");
}

static int64_t block_begin(const kaon_sweep_rows *o, int64_t block) {
  return o->step != NULL ? o->step[o->group[block]] : o->group[block];
}

/* Numbers the copies block by block, in the order in which the block's rows read them, and sets
 * rows->column to copies. last[j], copy[j]: the last block that read j, and its copy. *of: the
 * unknown of each copy. The function runs twice: with *of NULL it only counts. */
static int64_t number_copies(const kaon_csr *rows, kaon_sweep_rows *o, int64_t *last, int32_t *copy,
                             int32_t *of, kaon_csr *local, double *times) {
  int64_t count = 0;
  for (int64_t j = 0; j < rows->columns; j++) last[j] = -1;
  for (int64_t b = 0; b < o->groups; b++) {
    o->part[b] = count;
    for (int64_t r = block_begin(o, b); r < block_begin(o, b + 1); r++)
      for (int64_t n = rows->start[o->row[r]]; n < rows->start[o->row[r] + 1]; n++) {
        const int32_t j = rows->column[n];
        if (last[j] != b) {
          last[j] = b;
          copy[j] = (int32_t)count;
          if (of != NULL) of[count] = j;
          if (of != NULL) times[j] += 1;
          count++;
        }
        if (local != NULL) local->column[n] = copy[j];
      }
  }
  o->part[o->groups] = count;
  for (int64_t j = 0; j < rows->columns; j++) { /* unknowns that no block reads */
    if (last[j] >= 0) continue;
    if (of != NULL) of[count] = (int32_t)j;
    if (of != NULL) times[j] = 1;
    count++;
  }
  return count;
}

/* V as rows of the copies; V^H as its transpose, whose columns follow those of the unknowns. */
static kaon_status store(kaon_context *ctx, const int32_t *of, int64_t unknowns, int reals,
                         kaon_precision precision, kaon_copies *c) {
  KAON_AUTO(kaon_csr_destroy) kaon_csr *V = NULL, *adjoint = NULL;
  KAON_TRY(kaon_csr_create(ctx, c->count, unknowns, reals, c->count, &V));
  for (int64_t n = 0; n < c->count; n++) {
    V->start[n + 1] = n + 1;
    V->column[n] = of[n];
    V->value[n * reals] = 1 / c->root[of[n]];
    if (reals == 2) V->value[n * 2 + 1] = 0;
  }
  KAON_TRY(kaon_csr_transpose(ctx, V, 1, &adjoint));
  for (int64_t n = 0; n < c->count; n++) adjoint->column[n] += (int32_t)unknowns;
  adjoint->columns = unknowns + c->count;
  KAON_TRY(kaon_stored_create_as(ctx, V, c->count, precision, 0, KAON_STORE_AUTO,
                                 KAON_COLUMNS_32BIT, &c->spread));
  return kaon_stored_create_as(ctx, adjoint, 0, precision, 0, KAON_STORE_AUTO, KAON_COLUMNS_32BIT,
                               &c->gather);
}

static kaon_status number(const kaon_matrix *matrix, const kaon_csr *rows, kaon_sweep_rows *order,
                          kaon_precision precision, kaon_csr *local, kaon_copies *c) {
  const int64_t n = rows->columns;
  KAON_AUTOFREE int64_t *last = malloc((size_t)(n + 1) * sizeof *last);
  KAON_AUTOFREE int32_t *copy = malloc((size_t)(n + 1) * sizeof *copy), *of = NULL;
  c->root = calloc((size_t)n + 1, sizeof *c->root);
  order->part = calloc((size_t)order->groups + 1, sizeof *order->part);
  if (last == NULL || copy == NULL || c->root == NULL || order->part == NULL)
    return no_memory(matrix->ctx);
  c->count = number_copies(rows, order, last, copy, NULL, NULL, NULL);
  if (c->count + n >= INT32_MAX)
    return kaon_fail(
        matrix->ctx, KAON_ERR_UNSUPPORTED,
        "carp: %lld copies of %lld unknowns are too many for 32-bit indices; take fewer blocks",
        (long long)c->count, (long long)n);
  of = malloc((size_t)(c->count + 1) * sizeof *of);
  if (of == NULL) return no_memory(matrix->ctx);
  number_copies(rows, order, last, copy, of, local, c->root);
  for (int64_t j = 0; j < n; j++) c->root[j] = sqrt(c->root[j]);
  local->columns = c->count;
  return store(matrix->ctx, of, n, rows->reals, precision, c);
}

kaon_status kaon_copies_create(const kaon_matrix *matrix, const kaon_csr *rows,
                               kaon_sweep_rows *order, kaon_precision precision, kaon_csr **local,
                               kaon_copies **made) {
  kaon_copies *c = calloc(1, sizeof *c);
  *made = NULL;
  *local = NULL;
  if (c == NULL) return no_memory(matrix->ctx);
  kaon_status status = kaon_csr_copy(matrix->ctx, rows, local);
  if (status == KAON_OK) status = number(matrix, rows, order, precision, *local, c);
  if (status == KAON_OK) {
    *made = c;
    return KAON_OK;
  }
  kaon_copies_destroy(&c);
  kaon_csr_destroy(local);
  return status;
}

void kaon_copies_destroy(kaon_copies **gone) {
  if (gone == NULL || *gone == NULL) return;
  kaon_stored_destroy(&(*gone)->spread);
  kaon_stored_destroy(&(*gone)->gather);
  free((*gone)->root);
  free(*gone);
  *gone = NULL;
}

kaon_status kaon_copies_spread(const kaon_copies *c, const kaon_vector *x, kaon_view z,
                               const kaon_pass *pass) {
  kaon_context *ctx = x->ctx;
  const kaon_spmv_args args = {.matrix = &c->spread->matrix,
                               .nrhs = x->nrhs,
                               .part = KAON_ROWS_ALL,
                               .a = 1,
                               .x = kaon_view_of(x),
                               .y = z,
                               .gate = kaon_pass_gate(pass)};
  kaon_launch launch;
  KAON_TRY(kaon_launch_prepare(ctx, x->nrhs, (size_t)c->spread->bytes, &launch));
  ctx->backend->sparse[x->precision]->spmv(&launch, &args);
  ctx->no_flush_needed = 1;
  return KAON_OK;
}

kaon_status kaon_copies_gather(const kaon_copies *c, const kaon_vector *x, kaon_view z,
                               kaon_vector *y, const kaon_pass *pass) {
  kaon_context *ctx = y->ctx;
  const kaon_sparse_ops *ops = ctx->backend->sparse[y->precision];
  const kaon_kernel_sums sums =
      kaon_sums_for_kernel(y, pass, ops->sums(&c->gather->matrix, y->nrhs));
  kaon_spmv_args args = {.matrix = &c->gather->matrix,
                         .nrhs = y->nrhs,
                         .part = KAON_ROWS_ALL,
                         .a = x != NULL ? -1 : 1,
                         .x = z, /* read only for padding */
                         .ghosts = z,
                         .b = kaon_view_of(x),
                         .w = sums.w,
                         .y = kaon_view_of(y),
                         .gate = kaon_pass_gate(pass),
                         .sum = sums.sum};
  kaon_launch launch;
  KAON_TRY(kaon_launch_prepare(ctx, y->nrhs, (size_t)c->gather->bytes, &launch));
  ops->spmv(&launch, &args);
  ctx->no_flush_needed = 1;
  return kaon_sums_after_kernel(&sums);
}
