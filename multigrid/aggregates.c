/* aggregates.c - blocks of the sites of a lattice, the coarse lattice, and the tables between both.
 * The sites of an aggregate are in the order of their coordinates within the block: first those
 * whose coordinates have an even sum, then the others, x fastest. This order is the same for all
 * aggregates, so sums over an aggregate do not depend on where it is. */
#include "multigrid/aggregates.h"

#include <stdio.h>

#include "lib/core/entry.h"

/* Whether blocks of `sites` sites divide the ranks' parts and leave an even number. */
static int fits(int part, int whole, int sites) {
  return sites >= 1 && part % sites == 0 && whole / sites % 2 == 0;
}

static kaon_status check_block(const kaon_context *ctx, int part, int whole, int mu, int sites) {
  char good[256] = "";
  size_t end = 0;
  if (fits(part, whole, sites)) return KAON_OK;
  for (int b = 1; b <= part && end + 16 < sizeof good; b++)
    if (fits(part, whole, b))
      end += (size_t)snprintf(good + end, sizeof good - end, "%s%d", end > 0 ? ", " : "", b);
  return kaon_fail(ctx, KAON_ERR_ARGUMENT,
                   "aggregates: blocks of %d sites in %c do not divide a rank's %d sites into an "
                   "even number on the whole lattice of %d; sizes that do: %s%s",
                   sites, "XYZT"[mu], part, whole, good,
                   fits(whole, whole, sites) ? "; or choose a grid of ranks with other parts" : "");
}

kaon_status kaon_aggregates_check(const kaon_context *ctx, const int part[4], const int whole[4],
                                  const int block[4]) {
  for (int mu = 0; mu < 4; mu++) KAON_TRY(check_block(ctx, part[mu], whole[mu], mu, block[mu]));
  return KAON_OK;
}

static int64_t blocks_of(const kaon_lattice *lattice) {
  return 2 * lattice->stencil.nblocks;
}

static int32_t place_of(const kaon_lattice *lattice, const int site[4]) {
  const kaon_place at = kaon_lattice_place(lattice, site);
  const kaon_stencil *st = &lattice->stencil;
  return (int32_t)((at.parity * st->nblocks + at.block) * st->width + at.lane);
}

/* Coordinates of the sites of a block, in the order of the list. */
static void order_sites(const int block[4], int (*site)[4]) {
  const int sites = block[0] * block[1] * block[2] * block[3];
  for (int parity = 0; parity < 2; parity++)
    for (int n = 0; n < sites; n++) {
      const int x = n % block[0], y = n / block[0] % block[1];
      const int z = n / block[0] / block[1] % block[2], t = n / block[0] / block[1] / block[2];
      if ((x + y + z + t) % 2 != parity) continue;
      memcpy(*site++, (const int[4]){x, y, z, t}, sizeof *site);
    }
}

/* The tables in host memory. */
typedef struct tables {
  int (*site)[4]; /* of a block */
  int32_t *list, *aggregate;
} tables;

static void fill_lane(const kaon_aggregates *a, const tables *t, int64_t block, int lane) {
  const kaon_aggregate_view *v = &a->view;
  const int64_t half = a->coarse->stencil.nblocks;
  int corner[4], site[4];
  const int there = kaon_lattice_site(a->coarse, block >= half, block % half, lane, corner);
  for (int s = 0; s < v->sites; s++) {
    int32_t *entry = &t->list[(block * v->sites + s) * v->width + lane];
    *entry = -1;
    if (!there) continue;
    for (int mu = 0; mu < 4; mu++) site[mu] = corner[mu] * a->block[mu] + t->site[s][mu];
    *entry = place_of(a->fine, site);
    t->aggregate[*entry] = (int32_t)(block * v->width + lane);
  }
}

/* Lane l of each entry is lane l of one block, and no block has a lane without a site. */
static int is_aligned(const kaon_aggregate_view *v, const tables *t) {
  for (int64_t i = 0; i < v->coarse_blocks * v->sites * v->width; i += v->width)
    for (int l = 0; l < v->width; l++)
      if (t->list[i] < 0 || t->list[i + l] != t->list[i] + l || t->list[i] % v->width != 0)
        return 0;
  for (int64_t i = 0; i < v->fine_blocks * v->width; i++)
    if (t->aggregate[i] < 0) return 0;
  return 1;
}

static kaon_status upload(kaon_aggregates *a, const tables *t, size_t listed, size_t places) {
  kaon_context *ctx = a->ctx;
  void *device = NULL;
  KAON_TRY(kaon_table_upload(ctx, t->list, listed * sizeof *t->list, "sites of the aggregates",
                             &device));
  a->view.list = device;
  KAON_TRY(kaon_table_upload(ctx, t->aggregate, places * sizeof *t->aggregate,
                             "aggregates of the sites", &device));
  a->view.aggregate = device;
  return KAON_OK;
}

/* 1: a hop in this direction leaves a block from this site. */
static int leaves(const kaon_aggregates *a, const int site[4], int direction) {
  const int mu = direction % 4;
  return site[mu] == (direction < 4 ? a->block[mu] - 1 : 0);
}

static kaon_status build_face(kaon_aggregates *a, const tables *t, int direction, int32_t *list) {
  kaon_aggregate_view *v = &a->face[direction];
  void *device = NULL;
  *v = a->view;
  v->sites = a->view.sites / a->block[direction % 4];
  int32_t *to = list;
  for (int64_t block = 0; block < v->coarse_blocks; block++)
    for (int s = 0; s < a->view.sites; s++) {
      if (!leaves(a, t->site[s], direction)) continue;
      memcpy(to, t->list + (block * a->view.sites + s) * v->width, (size_t)v->width * sizeof *list);
      to += v->width;
    }
  v->list = NULL;
  KAON_TRY(kaon_table_upload(a->ctx, list, (size_t)(to - list) * sizeof *list,
                             "faces of the aggregates", &device));
  v->list = device;
  return KAON_OK;
}

static kaon_status build(kaon_aggregates *a) {
  kaon_aggregate_view *v = &a->view;
  const int *b = a->block;
  *v = (kaon_aggregate_view){.fine_blocks = blocks_of(a->fine),
                             .coarse_blocks = blocks_of(a->coarse),
                             .width = a->fine->stencil.width,
                             .access = a->fine->stencil.access,
                             .sites = b[0] * b[1] * b[2] * b[3]};
  const size_t listed = (size_t)(v->coarse_blocks * v->sites * v->width);
  const size_t places = (size_t)(v->fine_blocks * v->width);
  KAON_AUTOFREE int(*site)[4] = malloc((size_t)v->sites * sizeof *site);
  KAON_AUTOFREE int32_t *list = malloc(listed * sizeof *list);
  KAON_AUTOFREE int32_t *aggregate = malloc(places * sizeof *aggregate);
  KAON_TRY(KAON_CHECK_MEMORY(a->ctx, site != NULL && list != NULL && aggregate != NULL,
                             "aggregates: out of host memory for the tables of %lld sites",
                             (long long)a->fine->volume));
  const tables t = {site, list, aggregate};
  order_sites(b, site);
  for (size_t i = 0; i < places; i++) aggregate[i] = -1;
  for (int64_t block = 0; block < v->coarse_blocks; block++)
    for (int lane = 0; lane < v->width; lane++) fill_lane(a, &t, block, lane);
  v->aligned = is_aligned(v, &t);
  KAON_TRY(upload(a, &t, listed, places));
  KAON_AUTOFREE int32_t *face = malloc(listed * sizeof *face);
  KAON_TRY(KAON_CHECK_MEMORY(a->ctx, face != NULL, "aggregates: out of host memory for faces"));
  for (int direction = 0; direction < KAON_DIRS; direction++)
    KAON_TRY(build_face(a, &t, direction, face));
  return KAON_OK;
}

/* The ranks of the fine lattice hold the parts of the coarse one, whatever grid a lattice of its
 * extents would get. */
static kaon_status make(kaon_lattice *fine, const int block[4], kaon_aggregates **aggregates) {
  kaon_aggregates *made = *aggregates = calloc(1, sizeof *made);
  int extents[4];
  KAON_TRY(KAON_AGREE_MEMORY(fine->ctx, made != NULL, "aggregates: out of host memory"));
  made->ctx = fine->ctx;
  made->fine = fine;
  kaon_lattice_retain(fine);
  memcpy(made->block, block, sizeof made->block);
  for (int mu = 0; mu < 4; mu++) extents[mu] = fine->global[mu] / block[mu];
  KAON_TRY(kaon_lattice_create_on(fine->ctx, extents, KAON_PERIODIC, fine->grid, &made->coarse));
  return kaon_agree(fine->ctx, build(made));
}

kaon_status kaon_aggregates_create(kaon_lattice *fine, const int block[4],
                                   kaon_aggregates **aggregates) {
  *aggregates = NULL;
  const kaon_argument given[] = {kaon_whole("block[0]", block[0]), kaon_whole("block[1]", block[1]),
                                 kaon_whole("block[2]", block[2]),
                                 kaon_whole("block[3]", block[3])};
  KAON_TRY(kaon_same(fine->ctx,
                     kaon_aggregates_check(fine->ctx, fine->extents, fine->global, block),
                     "aggregates", given, 4));
  const kaon_status status = make(fine, block, aggregates);
  if (status != KAON_OK) kaon_aggregates_destroy(aggregates);
  return status;
}

void kaon_aggregates_destroy(kaon_aggregates **aggregates) {
  if (aggregates == NULL || *aggregates == NULL) return;
  kaon_aggregates *gone = *aggregates;
  *aggregates = NULL;
  if (gone->fine == NULL) { /* another rank had no memory */
    free(gone);
    return;
  }
  kaon_pool_release(gone->ctx, (void *)gone->view.list);
  kaon_pool_release(gone->ctx, (void *)gone->view.aggregate);
  for (int direction = 0; direction < KAON_DIRS; direction++)
    kaon_pool_release(gone->ctx, (void *)gone->face[direction].list);
  kaon_lattice_destroy(&gone->coarse);
  kaon_lattice_destroy(&gone->fine);
  free(gone);
}
