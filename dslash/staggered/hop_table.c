/* hop_table.c - tables of staggered hops on the CPU: the neighbour one or three steps away, and the
 * lanes whose hop has the sign -1 (kaon_hop_table in staggered_ops.h). In the split order all lanes
 * of a block lead to one block, with lanes exchanged or not. A step of three in a half of two sites
 * goes around the lattice; the site positions account for it. */
#include <stdlib.h>
#include <string.h>

#include "dslash/staggered/staggered_internal.h"

void kaon_staggered_masks(kaon_staggered_phases phases, uint8_t masks[4]) {
  enum { X = 1, Y = 2, Z = 4, T = 8 };
  static const uint8_t milc[4] = {T, T | X, T | X | Y, 0}, chroma[4] = {0, X, X | Y, X | Y | Z};
  memcpy(masks, phases == KAON_PHASES_MILC ? milc : chroma, 4);
}

int kaon_staggered_sign(const kaon_lattice *lattice, const uint8_t masks[4], int mu, int steps,
                        const int site[4]) {
  int odd = 0;
  for (int nu = 0; nu < 4; nu++) odd += masks[mu] >> nu & 1 ? site[nu] : 0;
  if (mu == 3 && lattice->boundary_t == KAON_ANTIPERIODIC)
    odd += (site[3] + steps) / lattice->global[3];
  return odd % 2 ? -1 : 1;
}

/* The table entries of one parity. */
typedef struct tables {
  uint32_t *neighbour, *negative;
  int32_t *gather; /* plain order */
} tables;

/* The hop from `site` in direction dir: its target and its sign. */
static int hop_of(const kaon_lattice *lattice, const uint8_t masks[4], int steps, int dir,
                  const int site[4], int to[4]) {
  const int mu = dir % 4, n = lattice->extents[mu], whole = lattice->global[mu];
  int first[4]; /* the site that has the link, perhaps on another rank */
  memcpy(to, site, 4 * sizeof *to);
  to[mu] = (site[mu] + (dir < 4 ? steps : 2 * n - steps % n)) % n;
  for (int nu = 0; nu < 4; nu++) first[nu] = site[nu] + lattice->origin[nu];
  if (dir >= 4) first[mu] = (first[mu] + 2 * whole - steps % whole) % whole;
  return kaon_staggered_sign(lattice, masks, mu, steps, first);
}

static void fill_block(const kaon_lattice *lattice, const uint8_t masks[4], int steps, int parity,
                       int64_t block, tables *t) {
  const int width = lattice->stencil.width;
  for (int dir = 0; dir < KAON_DIRS; dir++) {
    const int64_t at = block * KAON_DIRS + dir;
    t->negative[at] = 0;
    t->neighbour[at] = (uint32_t)block << KAON_NB_SHIFT | KAON_NB_GATHER;
    for (int lane = 0; lane < width; lane++) {
      int site[4], to[4];
      if (t->gather != NULL)
        t->gather[at * width + lane] = (int32_t)(block * width + lane); /* masked lane: any value
                                                                           will do */
      if (!kaon_lattice_site(lattice, parity, block, lane, site)) continue;
      const int sign = hop_of(lattice, masks, steps, dir, site, to);
      if (sign < 0) t->negative[at] |= UINT32_C(1) << lane;
      const kaon_place there = kaon_lattice_place(lattice, to);
      if (t->gather != NULL)
        t->gather[at * width + lane] = (int32_t)(there.block * width + there.lane);
      else if (lane == 0)
        t->neighbour[at] =
            (uint32_t)there.block << KAON_NB_SHIFT | (there.lane != 0 ? KAON_NB_EXCHANGE : 0);
    }
  }
}

static kaon_status upload(kaon_lattice *lattice, const tables *t, int parity,
                          kaon_hop_table *reach) {
  kaon_context *ctx = lattice->ctx;
  const size_t entries = (size_t)lattice->stencil.nblocks * KAON_DIRS;
  void *there[3] = {NULL, NULL, NULL};
  static const char what[] = "tables of staggered hops";
  kaon_status status =
      kaon_table_upload(ctx, t->neighbour, entries * sizeof *t->neighbour, what, &there[0]);
  if (status == KAON_OK)
    status = kaon_table_upload(ctx, t->negative, entries * sizeof *t->negative, what, &there[1]);
  if (status == KAON_OK && t->gather != NULL)
    status = kaon_table_upload(ctx, t->gather,
                               entries * (size_t)lattice->stencil.width * sizeof *t->gather, what,
                               &there[2]);
  reach->neighbour[parity] = there[0];
  reach->negative[parity] = there[1];
  reach->gather[parity] = there[2];
  return status;
}

kaon_status kaon_hop_table_create(kaon_lattice *lattice, int steps, const uint8_t masks[4],
                                  kaon_hop_table *reach) {
  const kaon_stencil *st = &lattice->stencil;
  const size_t entries = (size_t)st->nblocks * KAON_DIRS;
  *reach = (kaon_hop_table){.steps = steps};
  if (lattice->ctx->backend->computed_neighbours) return KAON_OK;
  tables t = {.neighbour = malloc(entries * sizeof *t.neighbour),
              .negative = malloc(entries * sizeof *t.negative)};
  if (!lattice->split) t.gather = malloc(entries * (size_t)st->width * sizeof *t.gather);
  kaon_status status = KAON_OK;
  if (t.neighbour == NULL || t.negative == NULL || (t.gather == NULL && !lattice->split))
    status = kaon_fail(lattice->ctx, KAON_ERR_MEMORY,
                       "staggered: out of host memory for tables of %lld sites",
                       (long long)lattice->volume);
  for (int parity = 0; parity < 2 && status == KAON_OK; parity++) {
#pragma omp parallel for num_threads(lattice->ctx->threads) schedule(static)
    for (int64_t block = 0; block < st->nblocks; block++)
      fill_block(lattice, masks, steps, parity, block, &t);
    status = upload(lattice, &t, parity, reach);
  }
  free(t.neighbour);
  free(t.negative);
  free(t.gather);
  return status;
}

void kaon_hop_table_destroy(kaon_context *ctx, kaon_hop_table *reach) {
  for (int parity = 0; parity < 2; parity++) {
    kaon_pool_release(ctx, (void *)(uintptr_t)reach->neighbour[parity]);
    kaon_pool_release(ctx, (void *)(uintptr_t)reach->negative[parity]);
    kaon_pool_release(ctx, (void *)(uintptr_t)reach->gather[parity]);
  }
  *reach = (kaon_hop_table){0};
}
