/* site_steps.h - the site of a GPU thread and its neighbours along paths of links.
 * Plain order (lib/vector/layout.h): site i of a parity is lane i % 32 of block i / 32. Its
 * lexicographic index is whichever of 2 i and 2 i + 1 has that parity. So a lattice that is not
 * partitioned needs no tables. On a partitioned lattice a step may lead to a ghost; then all steps
 * use a table (kaon_stencil.walk). Boundaries are periodic: the sign of the fermion boundary is
 * ignored. Common subset of C and CUDA C. */
#pragma once

#include <stddef.h>

#include "lib/vector/layout.h"
#include "lib/cuda/lanes.h"

#ifdef __CUDACC__
#define KAON_UNROLL _Pragma("unroll")
#else
#define KAON_UNROLL
#endif

/* x: local coordinates. On a partitioned lattice x[0] is instead the site's index block *
 * KAON_LANES + lane, and the others are unused. */
typedef struct vsites {
  int parity;
  int x[4];
} vsites;

/* 1: steps use the table. The same for all sites. */
static inline KAON_HD int sites_walked(const kaon_stencil *st) {
  return st->walk[0] != NULL;
}

/* Coordinates of local site i. `parity` is that of the local coordinates. */
static inline KAON_HD void sites_coordinates(const kaon_stencil *st, int parity, int64_t i,
                                             int x[4]) {
  unsigned rank = 2 * (unsigned)i;
  for (int mu = 0; mu < 3; mu++) {
    x[mu] = (int)(rank % (unsigned)st->extents[mu]);
    rank /= (unsigned)st->extents[mu];
  }
  x[3] = (int)rank;
  x[0] += (x[0] + x[1] + x[2] + x[3] + parity) & 1;
  for (int mu = 0; mu < 3; mu++) { /* the second site of a pair may start the next row */
    if (x[mu] < st->extents[mu]) break;
    x[mu] = 0;
    x[mu + 1]++;
  }
}

/* The index of a site among those of its parity. */
static inline KAON_HD unsigned sites_rank_at(const kaon_stencil *st, const int x[4]) {
  const int *n = st->extents;
  return (unsigned)(x[0] + n[0] * (x[1] + n[1] * (x[2] + n[2] * x[3]))) / 2;
}

static inline KAON_HD unsigned sites_rank(const kaon_stencil *st, const vsites *s) {
  return sites_walked(st) ? (unsigned)s->x[0] : sites_rank_at(st, s->x);
}

static inline KAON_HD vsites sites_local(const kaon_stencil *st, int parity, int64_t i) {
  vsites s;
  s.parity = parity;
  if (sites_walked(st)) {
    s.x[0] = (int)i;
    s.x[1] = s.x[2] = s.x[3] = 0;
  } else {
    sites_coordinates(st, parity, i, s.x);
  }
  return s;
}

/* The neighbour in direction dir (0..3 forward, 4..7 backward). */
static inline KAON_HD vsites sites_step(const kaon_stencil *st, const vsites *from, int dir) {
  vsites s = *from;
  s.parity = 1 - from->parity;
  if (sites_walked(st)) {
    const int32_t *table = from->parity ? st->walk[1] : st->walk[0];
    const int block = from->x[0] / KAON_LANES, lane = from->x[0] % KAON_LANES;
    s.x[0] = table[((int64_t)block * KAON_DIRS + dir) * KAON_LANES + lane];
    return s;
  }
  const int mu = dir & 3, last = st->extents[mu] - 1;
  const int edge = dir < 4 ? last : 0, beyond = dir < 4 ? 0 : last, step = dir < 4 ? 1 : -1;
  KAON_UNROLL
  for (int nu = 0; nu < 4; nu++) /* a constant index keeps the coordinates in registers */
    if (nu == mu) s.x[nu] = s.x[nu] == edge ? beyond : s.x[nu] + step;
  return s;
}

/* x + X (y + Y (z + Z t)) in the whole lattice, of local site i: the index that random streams use
 * (lib/grid/site_table.h). */
static inline KAON_HD int64_t sites_index(const kaon_stencil *st, int parity, int64_t i) {
  const int *o = st->origin, *g = st->global;
  int x[4];
  sites_coordinates(st, parity ^ st->odd_origin, i, x);
  const int64_t row = x[2] + o[2] + (int64_t)g[2] * (x[3] + o[3]);
  return x[0] + o[0] + g[0] * (x[1] + o[1] + g[1] * row);
}

/* The first site of a parity on slice t of the whole lattice. The sites of a slice are contiguous,
 * up to the first one of the next slice. For a slice of another rank the result is before or after
 * all local sites. If a slice has an odd number of sites, those at even local t have one more site
 * of the parity of their first and last site. */
static inline KAON_HD int64_t sites_of_slice(const kaon_stencil *st, int parity, int t) {
  const int64_t slice = (int64_t)st->extents[0] * st->extents[1] * st->extents[2];
  const int local = t - st->origin[3];
  const int64_t before = slice * (local < 0 ? 0 : local < st->extents[3] ? local : st->extents[3]);
  return (before + ((parity ^ st->odd_origin) == 0)) / 2;
}
