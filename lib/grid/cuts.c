/* cuts.c - finds the lanes whose hops leave a block of the lattice (kaon_cuts in
 * lib/vector/layout.h). */
#include "lib/grid/cuts.h"

#include <stdlib.h>

/* 1 if the hop from `site` in direction dir leaves its block. */
static int leaves(const int cut[4], const int site[4], int dir) {
  const int mu = dir % 4;
  return cut[mu] > 0 && site[mu] % cut[mu] == (dir < 4 ? cut[mu] - 1 : 0);
}

/* If the hops of all valid lanes are dropped, those of masked lanes count as dropped too, so that
 * the whole vector is. */
static uint32_t lanes_of(const kaon_lattice *lattice, const int cut[4], int parity, int64_t block,
                         int dir) {
  uint32_t lanes = 0, there = 0;
  for (int lane = 0; lane < lattice->stencil.width; lane++) {
    int site[4];
    if (!kaon_lattice_site(lattice, parity, block, lane, site)) continue;
    there |= UINT32_C(1) << lane;
    if (leaves(cut, site, dir)) lanes |= UINT32_C(1) << lane;
  }
  return lanes == there ? UINT32_MAX : lanes;
}

static kaon_status fill(const kaon_lattice *lattice, const int cut[4], int parity, uint8_t *dirs,
                        uint32_t *lanes, kaon_cuts *cuts) {
  kaon_context *ctx = lattice->ctx;
  const int64_t n = lattice->stencil.nblocks;
  void *device = NULL;
  for (int64_t block = 0; block < n; block++) {
    dirs[block] = 0;
    for (int dir = 0; dir < KAON_DIRS; dir++) {
      lanes[block * KAON_DIRS + dir] = lanes_of(lattice, cut, parity, block, dir);
      if (lanes[block * KAON_DIRS + dir] != 0) dirs[block] |= (uint8_t)(1 << dir);
    }
  }
  const char *what = "tables of hops that are left out";
  KAON_TRY(kaon_table_upload(ctx, dirs, (size_t)n, what, &device));
  cuts->dirs[parity] = device;
  KAON_TRY(kaon_table_upload(ctx, lanes, (size_t)n * KAON_DIRS * sizeof *lanes, what, &device));
  cuts->lanes[parity] = device;
  return KAON_OK;
}

kaon_status kaon_cuts_create(const kaon_lattice *lattice, const int cut[4], kaon_cuts **cuts) {
  kaon_context *ctx = lattice->ctx;
  const size_t n = (size_t)lattice->stencil.nblocks;
  *cuts = NULL;
  if (ctx->backend->computed_neighbours) return KAON_OK;
  kaon_cuts *made = calloc(1, sizeof *made);
  uint8_t *dirs = malloc(n);
  uint32_t *lanes = malloc(n * KAON_DIRS * sizeof *lanes);
  kaon_status status = KAON_OK;
  if (made == NULL || dirs == NULL || lanes == NULL)
    status =
        kaon_fail(ctx, KAON_ERR_MEMORY, "lattice: out of host memory for tables of its blocks");
  for (int parity = 0; parity < 2 && status == KAON_OK; parity++)
    status = fill(lattice, cut, parity, dirs, lanes, made);
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
  }
  free(gone);
}
