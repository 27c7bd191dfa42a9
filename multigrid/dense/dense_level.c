/* dense_level.c - the inverse of a coarse operator as one dense matrix (dense_level.h).
 *
 * The matrix is a vector of as many columns as it has rows, on this rank's sites. An application
 * gathers the numbers of x from all ranks, puts them into the order of the whole lattice, on which
 * bits depend, and multiplies. */
#include "multigrid/dense/dense_level.h"

#include <stdlib.h>
#include <string.h>

#include "blas/submit.h"
#include "dslash/coarse/coarse_ops.h"
#include "lib/core/entry.h"
#include "lib/grid/rank_gather.h"
#include "lib/vector/space.h"
#include "multigrid/dense/dense_matrix.h"

/* What an application to a given number of columns needs. It is retained
 * (lib/operator/workspace.h says why). */
typedef struct dense_room {
  struct dense_room *next;
  int columns;
  kaon_rank_gather *gather; /* the numbers of all ranks, rank by rank */
  void *whole;              /* in the order of the whole lattice; one rank: NULL */
} dense_room;

typedef struct dense_level {
  kaon_operator *of; /* the inverse that this is a twin of; else NULL */
  kaon_vector *matrix;
  int32_t *order;    /* [place]: this rank's site, x fastest; device memory */
  int32_t *gathered; /* [place among the gathered sites]: site of the whole lattice; likewise */
  dense_room *rooms;
} dense_level;

static int64_t rows_of(const kaon_operator *K) {
  return ((const dense_level *)K->self)->matrix->nrhs;
}

static const kaon_coarse_ops *kernels_of(const kaon_context *ctx, kaon_precision precision) {
  return precision == KAON_HALF ? NULL : ctx->backend->coarse[precision];
}

/* ---- rooms ---- */

/* gone NULL: nothing. */
static void release_room(kaon_context *ctx, dense_room *gone) {
  if (gone == NULL) return;
  kaon_rank_gather_destroy(&gone->gather);
  kaon_pool_release(ctx, gone->whole);
  free(gone);
}

static kaon_status take(const kaon_operator *K, dense_room *room) {
  const kaon_lattice *l = K->space->lattice;
  const size_t of_site =
      (size_t)(K->space->ncomp * room->columns) * kaon_precision_bytes(K->precision);
  KAON_TRY(kaon_rank_gather_create(l, l->grid, (size_t)l->volume * of_site, &room->gather));
  if (K->ctx->comm->ranks == 1) return KAON_OK;
  return kaon_agree(K->ctx, kaon_pool_allocate(K->ctx, (size_t)l->global_volume * of_site,
                                               "numbers of a dense inverse", &room->whole));
}

static kaon_status get_room(kaon_operator *K, int columns, dense_room **room) {
  dense_level *self = K->self;
  for (*room = self->rooms; *room != NULL; *room = (*room)->next)
    if ((*room)->columns == columns) return KAON_OK;
  dense_room *made = calloc(1, sizeof *made);
  kaon_status status = KAON_AGREE_MEMORY(K->ctx, made != NULL, "dense inverse: out of host memory");
  if (status == KAON_OK) {
    made->columns = columns;
    status = take(K, made);
  }
  if (status != KAON_OK) {
    release_room(K->ctx, made);
    return status;
  }
  made->next = self->rooms;
  *room = self->rooms = made;
  return KAON_OK;
}

static kaon_status reserve(kaon_operator *K, kaon_mode mode, int columns) {
  dense_room *room = NULL;
  (void)mode;
  return get_room(K, columns, &room);
}

/* ---- application ---- */

static int64_t blocks_for(const kaon_space *space, int64_t sites) {
  return (sites + space->width - 1) / space->width;
}

/* args->collected: this rank's numbers; then those of all ranks, in the order of the whole
 * lattice. */
static kaon_status share(const kaon_operator *K, const dense_room *room, kaon_dense_args *args) {
  kaon_dense_args all = *args;
  kaon_launch launch;
  if (room->whole == NULL) return KAON_OK;
  KAON_TRY(kaon_rank_gather_run(room->gather));
  args->collected = all.collected = room->whole;
  all.list = kaon_rank_gather_all(room->gather);
  all.order = ((const dense_level *)K->self)->gathered;
  all.blocks = blocks_for(K->space, K->space->lattice->global_volume);
  KAON_TRY(kaon_launch_prepare(K->ctx, args->nrhs, 0, &launch));
  kernels_of(K->ctx, K->precision)->collect(&launch, &all);
  return KAON_OK;
}

static kaon_status apply(kaon_operator *K, kaon_mode mode, const kaon_vector *x, kaon_vector *y,
                         const kaon_pass *pass) {
  const dense_level *self = K->self;
  const kaon_coarse_ops *ops = kernels_of(K->ctx, K->precision);
  dense_room *room = NULL;
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
                          .collected = kaon_rank_gather_mine(room->gather),
                          .gate = kaon_pass_gate(pass)};
  KAON_TRY(kaon_launch_prepare(K->ctx, x->nrhs, kaon_vector_bytes(x), &launch));
  ops->collect(&launch, &args);
  KAON_TRY(share(K, room, &args));
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
  while (self->rooms != NULL) {
    dense_room *gone = self->rooms;
    self->rooms = gone->next;
    release_room(K->ctx, gone);
  }
  kaon_pool_release(K->ctx, self->order);
  kaon_pool_release(K->ctx, self->gathered);
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
  const kaon_coarse_ops *ops = kernels_of(ctx, precision);
  if (ops == NULL || ops->dense == NULL)
    return kaon_fail(ctx, KAON_ERR_NOT_BUILT,
                     "dense inverse: its kernels are not part of backend %s %s", ctx->backend->name,
                     ctx->backend->isa);
  return KAON_OK;
}

static kaon_status upload(kaon_context *ctx, const int32_t *host, int64_t n, int32_t **table) {
  void *device = NULL;
  KAON_TRY(
      kaon_table_upload(ctx, host, (size_t)n * sizeof *host, "order of a dense inverse", &device));
  *table = device;
  return KAON_OK;
}

/* host[place]: site of the whole lattice. */
static kaon_status list_gathered(const kaon_space *space, int32_t *host, int64_t places) {
  const kaon_lattice *l = space->lattice;
  KAON_AUTOFREE int32_t *from = malloc((size_t)l->global_volume * sizeof *from);
  KAON_TRY(KAON_CHECK_MEMORY(space->ctx, from != NULL, "dense inverse: out of host memory"));
  kaon_rank_gather_order(l, l->grid, from);
  for (int64_t i = 0; i < places; i++) host[i] = -1;
  for (int64_t site = 0; site < l->global_volume; site++) host[from[site]] = (int32_t)site;
  return KAON_OK;
}

static kaon_status make_orders(const kaon_space *space, dense_level *self) {
  const int64_t places = space->nblocks * space->width;
  const int64_t gathered = blocks_for(space, space->lattice->global_volume) * space->width;
  KAON_AUTOFREE int32_t *host =
      malloc((size_t)(places > gathered ? places : gathered) * sizeof *host);
  KAON_TRY(KAON_CHECK_MEMORY(space->ctx, host != NULL, "dense inverse: out of host memory"));
  for (int64_t i = 0; i < places; i++)
    host[i] = (int32_t)kaon_space_caller_site(space, i / space->width, (int)(i % space->width));
  KAON_TRY(upload(space->ctx, host, places, &self->order));
  if (space->ctx->comm->ranks == 1) return KAON_OK;
  KAON_TRY(list_gathered(space, host, gathered));
  return upload(space->ctx, host, gathered, &self->gathered);
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
  kaon_status status = KAON_AGREE_MEMORY(ctx, K != NULL, "dense inverse: out of host memory");
  dense_level *self = K != NULL ? K->self : NULL;
  if (status == KAON_OK)
    status = kaon_vector_create(ctx, space, precision, (int)rows, &self->matrix);
  if (status == KAON_OK) status = kaon_agree(ctx, make_orders(space, self));
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
  kaon_status status = kaon_agree(K->ctx, kaon_dense_matrix_assemble(links, &matrix));
  if (status == KAON_OK) status = kaon_dense_matrix_invert(&matrix, info != NULL ? info : &unused);
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
