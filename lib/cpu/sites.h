/* sites.h - VL sites of a CPU kernel and their neighbours, for kernels that follow paths of links.
 * In the split order all lanes move to one block, with lanes exchanged at the block boundaries. In
 * the plain order, and where paths may leave the rank, each lane has its own site. Boundaries are
 * periodic: the sign of the fermion boundary is ignored. */
#pragma once

#include "lib/core/kernel.h"
#include "lib/math/su3_matrix.h"

typedef struct vsites {
  int parity;
  int64_t block;
  int part;
  int exchange;                /* split order; bit i set: lanes l and l ^ (1 << i) are exchanged */
  const int32_t *const *table; /* neighbours, if each lane has its own site; else NULL */
  int64_t at[KAON_VL];         /* in that case: block * W + lane */
} vsites;

KAON_INLINE vsites sites_local(const kaon_stencil *st, int parity, int64_t block, int part) {
  vsites s = {parity, block, part, 0, NULL, {0}};
  if (st->walk[parity] != NULL) {
    if (st->gather[parity] != NULL || st->edge[parity][block]) s.table = st->walk;
  } else if (st->gather[parity] != NULL) {
    s.table = st->gather;
  }
  if (s.table != NULL)
    for (int l = 0; l < KAON_VL; l++) s.at[l] = block * KAON_W + part * KAON_VL + l;
  return s;
}

/* The neighbours in direction dir (0..3 forward, 4..7 backward). */
KAON_INLINE vsites sites_step(const kaon_stencil *st, const vsites *from, int dir) {
  vsites s = *from;
  s.parity = 1 - from->parity;
  if (from->table != NULL) {
    const int32_t *table = from->table[from->parity];
    for (int l = 0; l < KAON_VL; l++) {
      const int64_t block = from->at[l] / KAON_W, lane = from->at[l] % KAON_W;
      const int32_t to = table[(block * KAON_DIRS + dir) * KAON_W + lane];
      s.at[l] = to < 0 ? ~to : to;
    }
    return s;
  }
  const uint32_t entry = st->neighbour[from->parity][from->block * KAON_DIRS + dir];
  s.block = entry >> KAON_NB_SHIFT;
  if (entry & KAON_NB_EXCHANGE) {
    const int bit = 1 << st->exchange_bit[dir % 4];
    if (bit >= KAON_VL) /* this lane bit selects the part of the block */
      s.part = 1 - from->part;
    else
      s.exchange = from->exchange ^ bit;
  }
  return s;
}

/* values[i] = component i of the sites' element in a field of `ncomp` reals a site. */
KAON_INLINE void sites_load(const real *field, const vsites *s, const int ncomp, vreal *values) {
  if (s->table != NULL) {
    real lanes[KAON_VL] __attribute__((aligned(64)));
    for (int i = 0; i < ncomp; i++) {
      for (int l = 0; l < KAON_VL; l++)
        lanes[l] = field[kaon_field_index(s->at[l] / KAON_W, 0, i, (int)(s->at[l] % KAON_W), 1,
                                          ncomp, KAON_W)];
      values[i] = v_load_real(lanes);
    }
    return;
  }
  const real *p = field + kaon_field_index(s->block, 0, 0, s->part * KAON_VL, 1, ncomp, KAON_W);
  for (int i = 0; i < ncomp; i++) values[i] = v_load_real(p + i * KAON_W);
  for (int bit = 0; s->exchange >> bit != 0; bit++) {
    if ((s->exchange >> bit & 1) == 0) continue;
    const vperm index = v_exchange_index(bit);
    for (int i = 0; i < ncomp; i++) values[i] = v_exchange(values[i], index);
  }
}

/* U_mu at the sites; links[parity] in 18 reals. */
KAON_INLINE void sites_link(const kaon_stencil *st, const void *const links[2], const vsites *s,
                            int mu, vsu3 *u) {
  const int64_t first = kaon_link_index(0, mu, 0, 0, kaon_matrix_blocks(st), 18, KAON_W);
  sites_load((const real *)links[s->parity] + first, s, 18, (vreal *)u);
}

/* A site field of 3x3 matrices (a gauge transformation). */
KAON_INLINE void sites_matrix(const kaon_stencil *st, const void *const field[2], const vsites *s,
                              vsu3 *g) {
  (void)st;
  sites_load((const real *)field[s->parity], s, 18, (vreal *)g);
}

/* Stores a matrix at the local sites of one part of a block. */
KAON_INLINE void sites_store(real *block_component, const vsu3 *u) {
  const vreal *values = (const vreal *)u;
  for (int i = 0; i < 18; i++) v_store_real(block_component + i * KAON_W, values[i]);
}
