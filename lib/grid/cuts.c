/* cuts.c - finds the lanes whose hops are dropped (kaon_cuts in lib/vector/layout.h). */
#include "lib/grid/cuts.h"

#include <stdlib.h>

/* 1 if the hop of `steps` sites to `site` from direction dir is dropped. */
static int dropped(const kaon_stencil *st, const int site[4], int dir, int steps) {
  const int mu = dir % 4, n = st->cut[mu];
  const int leaves = n > 0 && (dir < 4 ? site[mu] % n >= n - steps : site[mu] % n < steps);
  return st->along == 0 ? leaves : dir != st->along - 1 || (n > 0 && !leaves);
}

/* Lanes of the hops of `steps` sites to a block, by direction. If the hops of all valid lanes are
 * dropped, those of masked lanes count as dropped too, so that the whole vector is. */
static void find_lanes(const kaon_lattice *lattice, const kaon_stencil *st, int steps, int parity,
                       int64_t block, uint32_t lanes[KAON_DIRS]) {
  uint32_t there = 0;
  for (int dir = 0; dir < KAON_DIRS; dir++) lanes[dir] = 0;
  for (int lane = 0; lane < st->width; lane++) {
    int site[4];
    if (!kaon_lattice_site(lattice, parity, block, lane, site)) continue;
    there |= UINT32_C(1) << lane;
    for (int dir = 0; dir < KAON_DIRS; dir++)
      if (dropped(st, site, dir, steps)) lanes[dir] |= UINT32_C(1) << lane;
  }
  for (int dir = 0; dir < KAON_DIRS; dir++)
    if (lanes[dir] == there) lanes[dir] = UINT32_MAX;
}

static kaon_status upload_lanes(const kaon_lattice *lattice, const kaon_stencil *st, int steps,
                                int parity, uint32_t *lanes, uint32_t **table) {
  void *device = NULL;
  for (int64_t block = 0; block < st->nblocks; block++)
    find_lanes(lattice, st, steps, parity, block, lanes + block * KAON_DIRS);
  KAON_TRY(kaon_table_upload(lattice->ctx, lanes, (size_t)st->nblocks * KAON_DIRS * sizeof *lanes,
                             "tables of hops that are left out", &device));
  *table = device;
  return KAON_OK;
}

static kaon_status fill(const kaon_lattice *lattice, const kaon_stencil *st, int far, int parity,
                        uint8_t *dirs, uint32_t *lanes, kaon_cuts *cuts) {
  void *device = NULL;
  if (far) KAON_TRY(upload_lanes(lattice, st, 3, parity, lanes, &cuts->far[parity]));
  KAON_TRY(upload_lanes(lattice, st, 1, parity, lanes, &cuts->lanes[parity]));
  for (int64_t block = 0; block < st->nblocks; block++) {
    dirs[block] = 0;
    for (int dir = 0; dir < KAON_DIRS; dir++)
      if (lanes[block * KAON_DIRS + dir] != 0) dirs[block] |= (uint8_t)(1 << dir);
  }
  KAON_TRY(kaon_table_upload(lattice->ctx, dirs, (size_t)st->nblocks,
                             "tables of hops that are left out", &device));
  cuts->dirs[parity] = device;
  return KAON_OK;
}

kaon_status kaon_cuts_create(const kaon_lattice *lattice, const kaon_stencil *stencil, int far,
                             kaon_cuts **cuts) {
  kaon_context *ctx = lattice->ctx;
  const size_t n = (size_t)stencil->nblocks;
  *cuts = NULL;
  if (ctx->backend->computed_neighbours) return KAON_OK;
  kaon_cuts *made = calloc(1, sizeof *made);
  uint8_t *dirs = malloc(n);
  uint32_t *lanes = malloc(n * KAON_DIRS * sizeof *lanes);
  kaon_status status = KAON_CHECK_MEMORY(ctx, made != NULL && dirs != NULL && lanes != NULL,
                                         "lattice: out of host memory for tables of its blocks");
  for (int parity = 0; parity < 2 && status == KAON_OK; parity++)
    status = fill(lattice, stencil, far, parity, dirs, lanes, made);
  free(dirs);
  free(lanes);
  if (status != KAON_OK) kaon_cuts_destroy(ctx, &made);
  *cuts = made;
  return status;
}

void kaon_cuts_destroy(kaon_context *ctx, kaon_cuts **cuts) {
  kaon_cuts *gone = *cuts;
  *cuts = NULL;
  if (gone == NULL) return;
  for (int parity = 0; parity < 2; parity++) {
    kaon_pool_release(ctx, gone->dirs[parity]);
    kaon_pool_release(ctx, gone->lanes[parity]);
    kaon_pool_release(ctx, gone->far[parity]);
  }
  free(gone);
}
