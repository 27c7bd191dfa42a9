/* site_order.c - the positions of sites: the split and the plain order of lib/grid/README.md, and
 * their neighbour tables.
 * Split: up to four directions are cut into halves, with one lane bit each. A block is one site of
 * the sub-lattice, whose sites are numbered tile by tile.
 * Plain: lanes are consecutive sites of a parity; every lane looks up its neighbours. */
#include <stdlib.h>
#include <string.h>

#include "lib/vector/space.h"

/* Cuts t, z, y, x in this order until the lanes are used up. A cut direction keeps an even
 * sub-extent. */
static void choose_cuts(kaon_lattice *lattice, int width) {
  kaon_stencil *st = &lattice->stencil;
  int bits = 0, wanted = 0;
  while ((1 << wanted) < width) wanted++;
  /* More than four directions: this forces the plain order. */
  if (lattice->ctx->backend->computed_neighbours) wanted = 5;
  for (int mu = 3; mu >= 0; mu--) {
    int cut = bits < wanted && lattice->extents[mu] % 4 == 0;
    lattice->cut[mu] = cut ? 2 : 1;
    st->exchange_bit[mu] = cut ? bits++ : -1;
  }
  /* One lane needs no bits, but with an odd number of sites it needs the plain order's mask. */
  lattice->split = bits == wanted && lattice->volume % 2 == 0;
  if (lattice->split) return;
  for (int mu = 0; mu < 4; mu++) {
    lattice->cut[mu] = 1;
    st->exchange_bit[mu] = -1;
  }
}

/* Chooses the tile of y and z. Blocks are numbered tile by tile, and within a tile with t slowest.
 * A hop then reads a spinor again while a core's cache still holds it: the cache must hold three
 * slices of the tile in t with the neighbours in y and z, in double precision. Among the tiles that
 * fit, the one with the fewest reads beyond its edges wins. Depends only on the shape and lanes. */
static void choose_tile(kaon_lattice *lattice) {
  const double room = 2 << 20;
  double least = 0;
  int extent[4], *tile = lattice->tile;
  for (int mu = 0; mu < 4; mu++) extent[mu] = tile[mu] = lattice->extents[mu] / lattice->cut[mu];
  if (!lattice->split) return;
  const double row = 0.5 * extent[0] * 24 * lattice->stencil.width * sizeof(double);
  for (int z = extent[2]; z >= 1; z--)
    for (int y = extent[1]; y >= 1; y--) {
      if (extent[2] % z != 0 || extent[1] % y != 0) continue;
      const double beside = 2 * (y < extent[1] ? z : 0) + 2 * (z < extent[2] ? y : 0);
      const double reads = 1 + beside / (y * z);
      if ((3 * y * z + beside) * row > room || (least > 0 && reads >= least)) continue;
      least = reads;
      tile[1] = y;
      tile[2] = z;
    }
}

kaon_place kaon_lattice_place(const kaon_lattice *lattice, const int site[4]) {
  int local[4], extent[4], lane = 0;
  for (int mu = 0; mu < 4; mu++) {
    extent[mu] = lattice->extents[mu] / lattice->cut[mu];
    local[mu] = site[mu] % extent[mu];
    if (lattice->cut[mu] == 2) lane |= (site[mu] / extent[mu]) << lattice->stencil.exchange_bit[mu];
  }
  const int *tile = lattice->tile;
  int64_t rank = local[2] / tile[2];
  rank = rank * (extent[1] / tile[1]) + local[1] / tile[1];
  rank = rank * extent[3] + local[3];
  rank = rank * tile[2] + local[2] % tile[2];
  rank = rank * tile[1] + local[1] % tile[1];
  rank = rank * extent[0] + local[0];
  kaon_place place = {
      .parity = kaon_lattice_parity(lattice, site), .block = rank / 2, .lane = lane};
  if (!lattice->split) {
    place.lane = (int)(place.block % lattice->stencil.width);
    place.block /= lattice->stencil.width;
  }
  return place;
}

/* Coordinates of site `number` in the sub-lattice of `extent`, tile by tile. */
static void site_of_index(const kaon_lattice *lattice, const int extent[4], int64_t number,
                          int local[4]) {
  const int *tile = lattice->tile;
  local[0] = (int)(number % extent[0]);
  number /= extent[0];
  for (int mu = 1; mu < 4; mu++) {
    local[mu] = (int)(number % tile[mu]);
    number /= tile[mu]; /* a tile has all of t */
  }
  local[1] += tile[1] * (int)(number % (extent[1] / tile[1]));
  number /= extent[1] / tile[1];
  local[2] += tile[2] * (int)number;
}

/* One of the sites 2 n and 2 n + 1 is even. If they are not adjacent, all counters that wrap
 * between them are odd, so their coordinates change by an odd number in total. The last site of an
 * odd volume has no partner. */
int kaon_lattice_site(const kaon_lattice *lattice, int parity, int64_t block, int lane,
                      int site[4]) {
  int extent[4], local[4];
  int64_t rank = lattice->split ? block : block * lattice->stencil.width + lane;
  if (!lattice->split && rank >= lattice->stencil.nsites) return 0;
  for (int mu = 0; mu < 4; mu++) extent[mu] = lattice->extents[mu] / lattice->cut[mu];
  site_of_index(lattice, extent, 2 * rank, local);
  if (kaon_lattice_parity(lattice, local) != parity) { /* sub-extents of halves are even */
    if (!lattice->split && 2 * rank + 1 >= lattice->volume) return 0;
    if (++local[0] == extent[0]) site_of_index(lattice, extent, 2 * rank + 1, local);
  }
  for (int mu = 0; mu < 4; mu++) {
    int upper = lattice->cut[mu] == 2 ? (lane >> lattice->stencil.exchange_bit[mu]) & 1 : 0;
    site[mu] = local[mu] + upper * extent[mu];
  }
  return 1;
}

/* 1 if hops within the rank have antiperiodic signs; those of ghosts are in kaon_faces. */
static int has_signs(const kaon_lattice *lattice) {
  return lattice->boundary_t == KAON_ANTIPERIODIC && !lattice->partitioned[3];
}

/* Finds the neighbour of `site` in direction dir; returns 1 if the step leaves the lattice in t.
 * Across a face it is the site on the opposite face. If that site is on another rank, it represents
 * the ghost. If the extent is odd, it has the parity of `site` itself. */
static int step(const kaon_lattice *lattice, const int site[4], int dir, int to[4]) {
  int mu = dir % 4, extent = lattice->extents[mu];
  memcpy(to, site, 4 * sizeof to[0]);
  to[mu] = (site[mu] + (dir < 4 ? 1 : extent - 1)) % extent;
  return mu == 3 && site[3] == (dir < 4 ? extent - 1 : 0);
}

static uint32_t split_entry(kaon_lattice *lattice, int parity, int64_t block, int dir) {
  int site[4], to[4];
  kaon_lattice_site(lattice, parity, block, 0, site);
  step(lattice, site, dir, to);
  kaon_place there = kaon_lattice_place(lattice, to);
  uint32_t flags = there.lane != 0 ? KAON_NB_EXCHANGE : 0;
  if (has_signs(lattice) && dir % 4 == 3) {
    int edge = lattice->extents[3] / lattice->cut[3];
    if (site[3] % edge == (dir < 4 ? edge - 1 : 0)) flags |= KAON_NB_BOUNDARY;
  }
  return (uint32_t)there.block << KAON_NB_SHIFT | flags;
}

/* Lanes whose t is in the half at the boundary change sign. */
static void split_signs(kaon_lattice *lattice) {
  kaon_stencil *st = &lattice->stencil;
  for (int dir = 0; dir < KAON_DIRS; dir++)
    for (int lane = 0; lane < KAON_MAX_WIDTH; lane++) {
      int upper = lattice->cut[3] == 2 ? (lane >> st->exchange_bit[3]) & 1 : dir < 4;
      st->boundary_sign[dir][lane] = dir % 4 == 3 && upper == (dir < 4) ? -1.0f : 1.0f;
    }
}

static void plain_entries(kaon_lattice *lattice, int parity, int64_t block, uint32_t *neighbour,
                          int32_t *gather) {
  int width = lattice->stencil.width;
  for (int dir = 0; dir < KAON_DIRS; dir++) {
    neighbour[block * KAON_DIRS + dir] = (uint32_t)block << KAON_NB_SHIFT | KAON_NB_GATHER;
    for (int lane = 0; lane < width; lane++) {
      int site[4], to[4];
      int32_t *entry = &gather[(block * KAON_DIRS + dir) * width + lane];
      *entry = (int32_t)(block * width + lane); /* entries of masked lanes do not matter */
      if (!kaon_lattice_site(lattice, parity, block, lane, site)) continue;
      int crosses = step(lattice, site, dir, to);
      kaon_place there = kaon_lattice_place(lattice, to);
      *entry = (int32_t)(there.block * width + there.lane);
      if (crosses && has_signs(lattice)) *entry = ~*entry;
    }
  }
}

kaon_status kaon_table_upload(kaon_context *ctx, const void *host, size_t bytes, const char *what,
                              void **device) {
  KAON_TRY(kaon_pool_allocate(ctx, bytes, what, device));
  return ctx->backend->memory->to_device(ctx, *device, host, bytes);
}

static kaon_status fill_tables(kaon_lattice *lattice, int parity, uint32_t *neighbour,
                               int32_t *gather) {
  kaon_stencil *st = &lattice->stencil;
  size_t entries = (size_t)st->nblocks * KAON_DIRS;
  for (int64_t block = 0; block < st->nblocks; block++) {
    if (!lattice->split) {
      plain_entries(lattice, parity, block, neighbour, gather);
      continue;
    }
    for (int dir = 0; dir < KAON_DIRS; dir++)
      neighbour[block * KAON_DIRS + dir] = split_entry(lattice, parity, block, dir);
  }
  void *device = NULL;
  KAON_TRY(kaon_table_upload(lattice->ctx, neighbour, entries * sizeof *neighbour,
                             "neighbour table", &device));
  st->neighbour[parity] = lattice->neighbour[parity] = device;
  if (lattice->split) return KAON_OK;
  KAON_TRY(kaon_table_upload(lattice->ctx, gather, entries * (size_t)st->width * sizeof *gather,
                             "gather table", &device));
  st->gather[parity] = lattice->gather[parity] = device;
  return KAON_OK;
}

static kaon_status build_tables(kaon_lattice *lattice) {
  const kaon_stencil *st = &lattice->stencil;
  size_t entries = (size_t)st->nblocks * KAON_DIRS;
  KAON_AUTOFREE uint32_t *neighbour = malloc(entries * sizeof *neighbour);
  int32_t *gather = lattice->split ? NULL : malloc(entries * (size_t)st->width * sizeof *gather);
  kaon_status status = KAON_OK;
  if (neighbour == NULL || (gather == NULL && !lattice->split))
    status = kaon_fail(lattice->ctx, KAON_ERR_MEMORY,
                       "lattice: out of host memory for the neighbour table of %lld sites",
                       (long long)lattice->volume);
  for (int parity = 0; parity < 2 && status == KAON_OK; parity++)
    status = fill_tables(lattice, parity, neighbour, gather);
  free(gather);
  return status;
}

kaon_status kaon_site_order_build(kaon_lattice *lattice) {
  kaon_stencil *st = &lattice->stencil;
  const kaon_backend *backend = lattice->ctx->backend;
  const int width = backend->width;
  choose_cuts(lattice, width);
  st->width = width;
  st->access = backend->access;
  memcpy(st->extents, lattice->extents, sizeof st->extents);
  memcpy(st->global, lattice->global, sizeof st->global);
  memcpy(st->origin, lattice->origin, sizeof st->origin);
  st->odd_origin = (st->origin[0] + st->origin[1] + st->origin[2] + st->origin[3]) & 1;
  st->antiperiodic = lattice->boundary_t == KAON_ANTIPERIODIC;
  choose_tile(lattice);
  st->nsites = (lattice->volume + 1) / 2;
  st->nblocks = (st->nsites + width - 1) / width;
  /* If the volume is odd, all extents are odd, so the last site has the parity of the first. */
  for (int p = 0; p < 2; p++) {
    st->sites[p] = (lattice->volume + ((p ^ st->odd_origin) == 0)) / 2;
    st->tail_lanes[p] = (int)(st->sites[p] - (st->nblocks - 1) * width);
  }
  split_signs(lattice);
  return backend->computed_neighbours ? KAON_OK : build_tables(lattice);
}
