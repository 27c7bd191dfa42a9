/* dense_level.c - the inverse of a coarse operator as one dense matrix (dense_level.h).
 *
 * The matrix is a vector of as many columns as it has rows, on this rank's sites. An application
 * collects the numbers of x from all ranks, and multiplies. */
#include "multigrid/dense_level.h"

#include <stdlib.h>
#include <string.h>

#include "blas/submit.h"
#include "dslash/coarse/coarse_ops.h"
#include "lib/core/entry.h"
#include "lib/operator/workspace.h"
#include "lib/vector/space.h"
#include "multigrid/dense_matrix.h"

/* Vectors of the workspace, used as plain memory: the numbers of the whole lattice, and with
 * several ranks those of this one and those of all, rank by rank. */
enum { WHOLE, MINE, ALL };

typedef struct dense_level {
  kaon_operator *of; /* the inverse that this is a twin of; else NULL */
  kaon_vector *matrix;
  int32_t *order;      /* [place]: this rank's site, x fastest; device memory */
  kaon_space *numbers; /* one complex number for each row */
  kaon_workspace *rooms;
} dense_level;

static int64_t rows_of(const kaon_operator *K) {
  return ((const dense_level *)K->self)->matrix->nrhs;
}

static const kaon_coarse_ops *kernels_of(const kaon_context *ctx, kaon_precision precision) {
  return precision == KAON_HALF ? NULL : ctx->backend->coarse[precision];
}

/* ---- application ---- */

static kaon_status get_room(kaon_operator *K, int columns, kaon_workspace **room) {
  dense_level *self = K->self;
  return kaon_workspace_get(K, self->numbers, K->ctx->comm->ranks > 1 ? 3 : 1, columns,
                            &self->rooms, room);
}

static kaon_status reserve(kaon_operator *K, kaon_mode mode, int columns) {
  kaon_workspace *room = NULL;
  (void)mode;
  return get_room(K, columns, &room);
}

static void *memory_of(const kaon_workspace *room, int which) {
  return room->vector[which]->data;
}

/* Gathers the numbers of all ranks, in the order of the whole lattice. A complex number in single
 * precision is sent as a double: communicators keep all bits, but perhaps not the sign of a zero. */
static kaon_status share(const kaon_operator *K, const kaon_workspace *room, int columns) {
  const kaon_lattice *l = K->space->lattice;
  kaon_comm *comm = K->ctx->comm;
  const size_t bytes = (size_t)(K->space->ncomp * columns) * kaon_precision_bytes(K->precision);
  const int64_t doubles = (int64_t)(bytes / sizeof(double)) * l->volume;
  const char *from = memory_of(room, ALL);
  char *to = memory_of(room, WHOLE);
  KAON_TRY(comm->ops->gather(comm, memory_of(room, MINE), (int)doubles, memory_of(room, ALL)));
  for (int rank = 0; rank < comm->ranks; rank++)
    for (int64_t local = 0; local < l->volume; local++, from += bytes)
      memcpy(to + (size_t)kaon_dense_matrix_site(l, rank, local, KAON_DIRS) * bytes, from, bytes);
  return KAON_OK;
}

static kaon_status apply(kaon_operator *K, kaon_mode mode, const kaon_vector *x, kaon_vector *y,
                         const kaon_pass *pass) {
  const dense_level *self = K->self;
  const kaon_coarse_ops *ops = kernels_of(K->ctx, K->precision);
  const int several = K->ctx->comm->ranks > 1;
  kaon_workspace *room = NULL;
  kaon_launch launch;
  if (mode == KAON_DAGGER)
    return kaon_fail(K->ctx, KAON_ERR_UNSUPPORTED, "dense inverse: its adjoint is not supported");
  KAON_TRY(get_room(K, x->nrhs, &room));
  kaon_dense_args args = {.blocks = K->space->nblocks,
                          .rows = self->matrix->nrhs,
                          .width = K->space->width,
                          .access = K->ctx->backend->access,
                          .reals = K->space->ncomp,
                          .nrhs = x->nrhs,
                          .order = self->order,
                          .in = kaon_view_of(x),
                          .out = kaon_view_of(y),
                          .matrix = kaon_view_of(self->matrix),
                          .collected = memory_of(room, several ? MINE : WHOLE),
                          .gate = kaon_pass_gate(pass)};
  KAON_TRY(kaon_launch_prepare(K->ctx, x->nrhs, kaon_vector_bytes(x), &launch));
  ops->collect(&launch, &args);
  if (several) KAON_TRY(share(K, room, x->nrhs));
  args.collected = memory_of(room, WHOLE);
  KAON_TRY(kaon_launch_prepare(K->ctx, x->nrhs, kaon_vector_bytes(self->matrix), &launch));
  ops->dense(&launch, &args);
  K->ctx->no_flush_needed = 1;
  return kaon_pass_sum_separately(y, pass);
}

static kaon_cost cost(const kaon_operator *K, int columns) {
  const dense_level *self = K->self;
  const double numbers = (double)K->space->nsites * (K->space->ncomp / 2);
  const double rows = self->matrix->nrhs;
  return (kaon_cost){.flops = 8 * rows * numbers,
                     .bytes = 2 * (double)kaon_precision_bytes(K->precision) *
                              (numbers * (rows / columns + 2) + 2 * rows)};
}

static void destroy(kaon_operator *K) {
  dense_level *self = K->self;
  kaon_workspace_free(&self->rooms);
  kaon_space_destroy(&self->numbers);
  kaon_pool_release(K->ctx, self->order);
  kaon_vector_destroy(&self->matrix);
  kaon_operator_destroy(&self->of);
  kaon_revision_release(&K->revision);
}

/* ---- making ---- */

static kaon_status twin(kaon_operator *K, kaon_precision precision, kaon_reconstruct reconstruct,
                        kaon_operator **twin);

static const kaon_operator_ops dense_ops = {.name = "dense inverse",
                                            .apply = apply,
                                            .twin = twin,
                                            .reserve = reserve,
                                            .cost = cost,
                                            .destroy = destroy};

static kaon_status check(const kaon_space *space, kaon_precision precision) {
  const kaon_context *ctx = space->ctx;
  if (precision == KAON_HALF)
    return kaon_fail(ctx, KAON_ERR_UNSUPPORTED,
                     "dense inverse: it is offered in double and single precision, not in half");
  if (ctx->comm->ranks > 1 && !ctx->backend->host_accessible)
    return kaon_fail(ctx, KAON_ERR_UNSUPPORTED,
                     "dense inverse: on a device it is offered on one rank, but there are %d; take "
                     "one rank, or solve the coarsest level by a solver",
                     ctx->comm->ranks);
  const kaon_coarse_ops *ops = kernels_of(ctx, precision);
  if (ops == NULL || ops->dense == NULL)
    return kaon_fail(ctx, KAON_ERR_NOT_BUILT,
                     "dense inverse: its kernels are not part of backend %s %s", ctx->backend->name,
                     ctx->backend->isa);
  return KAON_OK;
}

static kaon_status upload_order(const kaon_space *space, int32_t **order) {
  const int64_t places = space->nblocks * space->width;
  void *device = NULL;
  KAON_AUTOFREE int32_t *host = malloc((size_t)places * sizeof *host);
  KAON_TRY(KAON_CHECK_MEMORY(space->ctx, host != NULL, "dense inverse: out of host memory"));
  for (int64_t i = 0; i < places; i++)
    host[i] = (int32_t)kaon_space_caller_site(space, i / space->width, (int)(i % space->width));
  KAON_TRY(kaon_table_upload(space->ctx, host, (size_t)places * sizeof *host,
                             "order of a dense inverse", &device));
  *order = device;
  return KAON_OK;
}

/* Everything but the numbers. On failure *made is NULL. */
static kaon_status make(const kaon_space *space, kaon_precision precision, int64_t rows,
                        kaon_operator **made) {
  kaon_context *ctx = space->ctx;
  *made = NULL;
  KAON_TRY(kaon_agree(ctx, check(space, precision)));
  kaon_operator *K = kaon_operator_new(
      (kaon_operator){.ops = &dense_ops, .ctx = ctx, .space = space, .precision = precision},
      sizeof(dense_level));
  KAON_TRY(KAON_AGREE_MEMORY(ctx, K != NULL, "dense inverse: out of host memory"));
  dense_level *self = K->self;
  kaon_status status = kaon_vector_create(ctx, space, precision, (int)rows, &self->matrix);
  if (status == KAON_OK) status = kaon_space_create(ctx, rows, 1, 1, &self->numbers);
  if (status == KAON_OK) status = kaon_agree(ctx, upload_order(space, &self->order));
  if (status == KAON_OK)
    status = kaon_agree(
        ctx, kaon_revision_create(ctx, "dense inverse", "kaon_dense_inverse_update", &K->revision));
  if (status == KAON_OK)
    *made = K;
  else
    kaon_operator_destroy(&K);
  return status;
}

static kaon_status copy(void *owner) {
  const dense_level *self = ((kaon_operator *)owner)->self, *of = self->of->self;
  return kaon_vector_copy(self->matrix, of->matrix);
}

static kaon_status twin(kaon_operator *K, kaon_precision precision, kaon_reconstruct reconstruct,
                        kaon_operator **made) {
  (void)reconstruct;
  KAON_TRY(make(K->space, precision, rows_of(K), made));
  ((dense_level *)(*made)->self)->of = K;
  kaon_operator_retain(K);
  (*made)->revision->follow = copy;
  (*made)->revision->owner = *made;
  kaon_made_of((*made)->revision, K->revision);
  const kaon_status status = copy(*made);
  if (status != KAON_OK) kaon_operator_destroy(made);
  return status;
}

/* ---- the numbers ---- */

static kaon_status fill(const kaon_operator *K, const kaon_coarse_links *links,
                        kaon_dense_info *info) {
  const dense_level *self = K->self;
  kaon_dense_info unused;
  kaon_dense_matrix matrix;
  KAON_TRY(kaon_dense_matrix_assemble(links, &matrix));
  kaon_status status = kaon_dense_matrix_invert(&matrix, info != NULL ? info : &unused);
  if (status == KAON_OK) status = kaon_dense_matrix_store(&matrix, self->matrix);
  kaon_dense_matrix_free(&matrix);
  return kaon_agree(K->ctx, status);
}

kaon_status kaon_dense_inverse(const kaon_coarse_links *links, kaon_precision precision,
                               int64_t most, kaon_operator **K, kaon_dense_info *info) {
  const kaon_space *space = links->inside->space;
  const int64_t rows = space->lattice->global_volume * (space->ncomp / 2);
  *K = NULL;
  if (rows > most)
    return kaon_fail(space->ctx, KAON_ERR_ARGUMENT,
                     "dense inverse: the coarse operator has %lld rows, but at most %lld are "
                     "allowed; make the coarsest lattice smaller, or solve it by a solver",
                     (long long)rows, (long long)most);
  KAON_TRY(make(space, precision, rows, K));
  const kaon_status status = fill(*K, links, info);
  if (status != KAON_OK) kaon_operator_destroy(K);
  return status;
}

kaon_status kaon_dense_inverse_update(kaon_operator *K, const kaon_coarse_links *links,
                                      kaon_dense_info *info) {
  if (links->inside->space != K->space)
    return kaon_fail(K->ctx, KAON_ERR_SHAPE,
                     "dense inverse: the new matrices are of another space than those that it was "
                     "made of");
  const kaon_status status = fill(K, links, info);
  kaon_made_anew(K->revision, status);
  return status;
}
