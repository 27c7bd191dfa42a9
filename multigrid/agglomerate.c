/* agglomerate.c - see agglomerate.h. */
#include "multigrid/agglomerate.h"

#include <stdlib.h>

#include "blas/submit.h"
#include "dslash/coarse/coarse_ops.h"
#include "lib/core/entry.h"
#include "lib/grid/site_table.h"

/* ---- boxes ---- */

static int smallest_divisor(int ranks) {
  int d = 2;
  while (ranks % d != 0) d++;
  return d;
}

int kaon_agglomeration_box(const kaon_context *ctx, const int part[4], const int whole[4],
                           int box[4]) {
  const int offered = ctx->backend->host_accessible;
  int merges = 0;
  for (int mu = 0; mu < 4; mu++) {
    const int ranks = whole[mu] / part[mu], few = offered && ranks > 1 && part[mu] < 2;
    box[mu] = few ? smallest_divisor(ranks) : 1;
    merges |= few;
  }
  return merges;
}

/* ---- making ---- */

static kaon_status upload(kaon_context *ctx, const int32_t *host, int64_t n, int32_t **table) {
  void *device = NULL;
  KAON_TRY(
      kaon_table_upload(ctx, host, (size_t)n * sizeof *host, "order of merged parts", &device));
  *table = device;
  return KAON_OK;
}

/* host[place]: the site of a rank's part in this place, x fastest; -1: there is none. Returns the
 * number of places. */
static int64_t order_of(const kaon_lattice *l, int32_t *host) {
  const kaon_stencil *st = &l->stencil;
  const int64_t places = 2 * st->nblocks * st->width;
  for (int64_t i = 0; i < places; i++) {
    const int64_t block = i / st->width;
    int x[4];
    const int is_site =
        kaon_lattice_site(l, block >= st->nblocks, block % st->nblocks, (int)(i % st->width), x);
    host[i] = is_site ? (int32_t)kaon_site_index(l->extents, x) : -1;
  }
  return places;
}

/* Of a site of the merged part, the site of this rank's part, or -1. */
static int32_t own_site(const kaon_agglomeration *a, int32_t site) {
  const kaon_lattice *p = a->parts, *m = a->merged;
  int x[4];
  if (site < 0) return -1;
  kaon_site_coordinates(m->extents, site, x);
  for (int mu = 0; mu < 4; mu++) {
    x[mu] -= p->origin[mu] - m->origin[mu];
    if (x[mu] < 0 || x[mu] >= p->extents[mu]) return -1;
  }
  return (int32_t)kaon_site_index(p->extents, x);
}

static kaon_status make_orders(kaon_agglomeration *a) {
  kaon_context *ctx = a->parts->ctx;
  const kaon_stencil *st = &a->merged->stencil;
  const size_t most = (size_t)(2 * st->nblocks * st->width);
  KAON_AUTOFREE int32_t *order = malloc(3 * most * sizeof *order);
  KAON_TRY(KAON_CHECK_MEMORY(ctx, order != NULL, "multigrid: out of host memory"));
  int32_t *own = order + most, *from = own + most;
  KAON_TRY(upload(ctx, order, order_of(a->parts, order), &a->part_order));
  const int64_t places = order_of(a->merged, order);
  kaon_rank_gather_order(a->parts, a->box, from);
  for (int64_t i = 0; i < places; i++) own[i] = own_site(a, order[i]);
  for (int64_t i = 0; i < places; i++) order[i] = order[i] < 0 ? -1 : from[order[i]];
  KAON_TRY(upload(ctx, own, places, &a->own_order));
  return upload(ctx, order, places, &a->gathered_order);
}

/* The context and the lattice of the ranks with this one's place in its box. */
static kaon_status make(kaon_agglomeration *a) {
  const kaon_lattice *parts = a->parts;
  KAON_AUTO(kaon_context_destroy) kaon_context *few = NULL;
  int grid[4], box_at[4], member[4];
  for (int mu = 0; mu < 4; mu++) {
    const int at = parts->origin[mu] / parts->extents[mu];
    grid[mu] = parts->grid[mu] / a->box[mu];
    box_at[mu] = at / a->box[mu];
    member[mu] = at % a->box[mu];
  }
  KAON_TRY(kaon_context_split(parts->ctx, (int)kaon_site_index(a->box, member),
                              (int)kaon_site_index(grid, box_at), grid, &few));
  kaon_status status =
      kaon_lattice_create_on(few, parts->global, parts->boundary_t, grid, &a->merged);
  if (status == KAON_OK) status = make_orders(a);
  return kaon_agree(parts->ctx, status);
}

kaon_status kaon_agglomeration_create(kaon_lattice *parts, const int box[4],
                                      kaon_agglomeration **a) {
  kaon_agglomeration *made = *a = calloc(1, sizeof *made);
  const kaon_status memory =
      KAON_CHECK_MEMORY(parts->ctx, made != NULL, "multigrid: out of host memory");
  kaon_status status = kaon_agree(parts->ctx, memory);
  if (made != NULL) {
    made->parts = parts;
    kaon_lattice_retain(parts);
    memcpy(made->box, box, sizeof made->box);
  }
  if (status == KAON_OK) status = make(made);
  if (status != KAON_OK) kaon_agglomeration_destroy(a);
  return status;
}

void kaon_agglomeration_destroy(kaon_agglomeration **a) {
  if (a == NULL || *a == NULL) return;
  kaon_agglomeration *gone = *a;
  kaon_context *ctx = gone->parts->ctx;
  *a = NULL;
  kaon_pool_release(ctx, gone->part_order);
  kaon_pool_release(ctx, gone->own_order);
  kaon_pool_release(ctx, gone->gathered_order);
  kaon_lattice_destroy(&gone->merged);
  kaon_lattice_destroy(&gone->parts);
  free(gone);
}

/* ---- vectors ---- */

kaon_status kaon_agglomeration_room(const kaon_agglomeration *a, const kaon_space *space,
                                    kaon_precision precision, int columns,
                                    kaon_rank_gather **room) {
  const size_t bytes = (size_t)(space->ncomp * columns) * kaon_precision_bytes(precision);
  return kaon_rank_gather_create(a->parts, a->box, (size_t)a->parts->volume * bytes, room);
}

/* Between a vector and numbers in the order of sites. */
static kaon_dense_args arguments(const kaon_vector *v, const int32_t *order, const void *numbers,
                                 const kaon_pass *pass) {
  return (kaon_dense_args){.blocks = v->space->nblocks,
                           .width = v->space->width,
                           .access = v->ctx->backend->access,
                           .reals = v->space->ncomp,
                           .nrhs = v->nrhs,
                           .order = order,
                           .in = kaon_view_of(v),
                           .out = kaon_view_of(v),
                           .collected = (void *)(uintptr_t)numbers,
                           .gate = kaon_pass_gate(pass)};
}

static kaon_status collect(const kaon_vector *v, const int32_t *order, void *numbers,
                           const kaon_pass *pass) {
  const kaon_dense_args args = arguments(v, order, numbers, pass);
  kaon_launch launch;
  KAON_TRY(kaon_launch_prepare(v->ctx, v->nrhs, kaon_vector_bytes(v), &launch));
  v->ctx->backend->coarse[v->precision]->collect(&launch, &args);
  return KAON_OK;
}

static kaon_status spread(const void *numbers, const int32_t *order, kaon_vector *v,
                          const kaon_pass *pass) {
  const kaon_dense_args args = arguments(v, order, numbers, pass);
  kaon_launch launch;
  KAON_TRY(kaon_launch_prepare(v->ctx, v->nrhs, kaon_vector_bytes(v), &launch));
  v->ctx->backend->coarse[v->precision]->spread(&launch, &args);
  return KAON_OK;
}

kaon_status kaon_agglomeration_gather(const kaon_agglomeration *a, kaon_rank_gather *room,
                                      const kaon_vector *part, kaon_vector *merged,
                                      const kaon_pass *pass) {
  KAON_TRY(collect(part, a->part_order, kaon_rank_gather_mine(room), pass));
  KAON_TRY(kaon_rank_gather_run(room));
  return spread(kaon_rank_gather_all(room), a->gathered_order, merged, pass);
}

kaon_status kaon_agglomeration_take(const kaon_agglomeration *a, kaon_rank_gather *room,
                                    const kaon_vector *merged, kaon_vector *part,
                                    const kaon_pass *pass) {
  void *numbers = kaon_rank_gather_mine(room);
  KAON_TRY(collect(merged, a->own_order, numbers, pass));
  return spread(numbers, a->part_order, part, pass);
}
