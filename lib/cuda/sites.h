/* sites.h - a thread's site on the GPU and the way to its neighbours, for kernels that walk paths
 * of links: what lib/math/link_paths.h is written over. Plain order (lib/layout.h): site i of a
 * parity is lane i % 32 of block i / 32, and i = ((t Z + z) Y + y) X / 2 + x / 2. Periodic: the
 * fermions' boundary sign is ignored. The stencil is a copy in the kernel's arguments. */
#ifndef KAON_LIB_CUDA_SITES_H
#define KAON_LIB_CUDA_SITES_H

#include "lib/kernel.h"
#include "lib/cuda/access.h"
#include "lib/math/su3_matrix.h"

typedef struct vsites {
  int parity;
  int x[4];
} vsites;

KAON_MATH vsites sites_home(const kaon_stencil *st, int parity, int64_t i) {
  const unsigned half_x = (unsigned)st->extents[0] / 2, y = (unsigned)st->extents[1],
                 z = (unsigned)st->extents[2];
  unsigned rank = (unsigned)i;
  vsites s;
  s.parity = parity;
  s.x[0] = (int)(2 * (rank % half_x));
  rank /= half_x;
  s.x[1] = (int)(rank % y);
  rank /= y;
  s.x[2] = (int)(rank % z);
  s.x[3] = (int)(rank / z);
  s.x[0] += (s.x[1] + s.x[2] + s.x[3] + parity) & 1;
  return s;
}

/* The neighbour in direction dir (0..3 forward, 4..7 backward). */
KAON_MATH vsites sites_step(const kaon_stencil *st, const vsites *from, int dir) {
  const int mu = dir & 3, last = st->extents[mu] - 1;
  const int edge = dir < 4 ? last : 0, beyond = dir < 4 ? 0 : last, step = dir < 4 ? 1 : -1;
  vsites s = *from;
  s.parity = 1 - from->parity;
#pragma unroll
  for (int nu = 0; nu < 4; nu++) /* a constant index: coordinates stay in registers */
    if (nu == mu) s.x[nu] = s.x[nu] == edge ? beyond : s.x[nu] + step;
  return s;
}

/* x + X (y + Y (z + Z t)): the number that random streams know a site by. */
KAON_MATH int64_t sites_number(const kaon_stencil *st, const vsites *s) {
  const int64_t row = s->x[2] + (int64_t)st->extents[2] * s->x[3];
  return s->x[0] + st->extents[0] * (s->x[1] + st->extents[1] * row);
}

/* Which site of its parity it is. */
KAON_MATH unsigned sites_rank(const kaon_stencil *st, const vsites *s) {
  const int row = (s->x[3] * st->extents[2] + s->x[2]) * st->extents[1] + s->x[1];
  return (unsigned)row * ((unsigned)st->extents[0] / 2) + (unsigned)s->x[0] / 2;
}

/* The block of U_mu that a site is in, and the block of a field of `ncomp` reals. */
KAON_MATH real *sites_link_block(const kaon_stencil *st, void *links, unsigned rank, int mu) {
  const int64_t block = mu * kaon_link_blocks(st->nblocks) + rank / KAON_LANES;
  return (real *)links + block * 18 * KAON_LANES;
}

KAON_MATH real *sites_block(void *field, unsigned rank, int ncomp) {
  return (real *)field + (int64_t)(rank / KAON_LANES) * ncomp * KAON_LANES;
}

/* U_mu at the site; links[parity] in 18 reals. */
KAON_MATH void sites_link(const kaon_stencil *st, const void *const links[2], const vsites *s,
                          int mu, vsu3 *u) {
  const unsigned rank = sites_rank(st, s);
  void *of_parity = (void *)(s->parity ? links[1] : links[0]);
  site_read<real, 18>(sites_link_block(st, of_parity, rank, mu), rank % KAON_LANES, (real *)u);
}

/* A site field of 3x3 matrices (a gauge transformation). */
KAON_MATH void sites_matrix(const kaon_stencil *st, const void *const field[2], const vsites *s,
                            vsu3 *g) {
  const unsigned rank = sites_rank(st, s);
  void *of_parity = (void *)(s->parity ? field[1] : field[0]);
  site_read<real, 18>(sites_block(of_parity, rank, 18), rank % KAON_LANES, (real *)g);
}

/* Stores U_mu at home: the site's own number i. */
KAON_MATH void sites_store_link(const kaon_stencil *st, void *links, int64_t i, int mu,
                                const vsu3 *u) {
  const unsigned rank = (unsigned)i;
  site_write<real, 18>(sites_link_block(st, links, rank, mu), rank % KAON_LANES, (const real *)u);
}

KAON_MATH void sites_store_matrix(void *field, int64_t i, const vsu3 *g) {
  const unsigned rank = (unsigned)i;
  site_write<real, 18>(sites_block(field, rank, 18), rank % KAON_LANES, (const real *)g);
}

#endif
