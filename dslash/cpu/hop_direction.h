/* hop_direction.h - one direction of the Wilson hop on the CPU: where the neighbours and the link
 * are, projection, factors, product with the link; lanes that meet ghosts, lanes whose hop is left
 * out. Included by hop.c. */
#ifndef KAON_DSLASH_CPU_HOP_DIRECTION_H
#define KAON_DSLASH_CPU_HOP_DIRECTION_H

#include "dslash/cpu/site.h"
#include "dslash/dslash_ops.h"
#include "lib/math/recon.h"

typedef struct hop_plan {
  const kaon_hop_args *args;
  site_plan site;
  const uint32_t *table;
  const int32_t *gather;
  const stored *links[2]; /* of the result's parity, of the other */
  const stored *in;
  int recon;
  int bare; /* out = D in and nothing else */
  int prefetch;
  const uint8_t *cut_dirs;   /* where hops are left out (kaon_cuts); NULL: nowhere */
  const uint32_t *cut_lanes; /* and in which lanes */
  const int32_t *blocks;     /* a part of a partitioned lattice: which ones; NULL: all */
  int64_t count;             /* of blocks */
  int chunk_first;           /* of the part, in the partial sums */
  int first;                 /* the first open column */
  int all;                   /* 1: all columns are open */
  int top[4];                /* mu is cut by the lane bit that tells the parts of a block apart */
  int scaled[4];             /* hops of mu carry a factor other than 1 everywhere */
  real rest[4];              /* what rounding took from that factor, relative to it */
  vperm exchange[4];
  /* by direction, whether the block touches the boundary, and lane */
  real factor[KAON_DIRS][2][KAON_W] __attribute__((aligned(64)));
  real ghost_factor[4]; /* of forward hops that meet ghosts */
} hop_plan;

/* One turn of a chunk's loops. */
typedef struct hop_at {
  int64_t block;
  int part, column;
} hop_at;

/* Where a direction's neighbours are. */
typedef struct hop_from {
  uint32_t entry;
  int64_t block;
  int part;
  int permute; /* exchange lanes inside a vreal */
} hop_from;

KAON_INLINE hop_from hop_neighbour(const hop_plan *plan, int64_t block, int part, const int dir) {
  hop_from from;
  from.entry = plan->table[block * KAON_DIRS + dir];
  from.block = from.entry >> KAON_NB_SHIFT;
  const int exchanged = (from.entry & KAON_NB_EXCHANGE) != 0;
  const int whole = KAON_PARTS > 1 && plan->top[dir & 3];
  from.part = exchanged && whole ? !part : part;
  from.permute = KAON_W > 1 && exchanged && !whole;
  return from;
}

/* Plain order: `count` numbers a site of `field`, from the sites that the lanes of (block, part)
 * meet in direction dir, to KAON_W apart. first: of the column or direction; stride: of a block. */
static __attribute__((noinline)) void hop_gather(const hop_plan *plan, int64_t block, int part,
                                                 int dir, const stored *field, int64_t stride,
                                                 int64_t first, int count, int with_sign,
                                                 stored *to) {
  const int32_t *at = plan->gather + (block * KAON_DIRS + dir) * KAON_W + part * KAON_VL;
  for (int l = 0; l < KAON_VL; l++) {
    const int64_t site = at[l] < 0 ? ~at[l] : at[l];
    const int negative = with_sign && at[l] < 0;
    const stored *p = field + site / KAON_W * stride + first + site % KAON_W;
    for (int c = 0; c < count; c++)
      to[c * KAON_W + l] = negative ? (stored)-p[c * KAON_W] : p[c * KAON_W];
  }
}

#if KAON_HALF
static __attribute__((noinline)) void hop_gather_scale(const hop_plan *plan, int64_t block, int dir,
                                                       int column, float *to) {
  const int32_t *at = plan->gather + (block * KAON_DIRS + dir) * KAON_W;
  for (int l = 0; l < KAON_VL; l++) {
    const int64_t site = at[l] < 0 ? ~at[l] : at[l];
    to[l] =
        plan->args->in.scale[(site / KAON_W * plan->site.nrhs + column) * KAON_W + site % KAON_W];
  }
}
#endif

/* The link of a hop as it stands in memory; `room` is used where lanes must be gathered. */
KAON_INLINE const stored *hop_link(const hop_plan *plan, const hop_from *from, int64_t block,
                                   int part, const int dir, stored *room) {
  const int64_t stride = (int64_t)plan->recon * KAON_W;
  const int64_t nblocks = kaon_matrix_blocks(plan->args->stencil);
  const int64_t first = kaon_link_index(0, dir & 3, 0, 0, nblocks, plan->recon, KAON_W);
  if (dir < 4) return plan->links[0] + block * stride + first + part * KAON_VL;
  if (from->entry & KAON_NB_GATHER) {
    hop_gather(plan, block, part, dir, plan->links[1], stride, first, plan->recon, 0, room);
    return room;
  }
  return plan->links[1] + from->block * stride + first + from->part * KAON_VL;
}

/* Asks for what direction dir will read at `next`. */
KAON_INLINE void hop_fetch(const hop_plan *plan, const hop_at *next, const int dir) {
  if (!plan->prefetch) return;
  const hop_from from = hop_neighbour(plan, next->block, next->part, dir);
  if (next->column == plan->first && !(from.entry & KAON_NB_UNIT))
    site_fetch(hop_link(plan, &from, next->block, next->part, dir, NULL), plan->recon, 0);
  site_fetch(plan->in + site_spinor(&plan->site, from.block, from.part, next->column), 24, 1);
}

/* The same for what is read besides. */
KAON_INLINE void hop_fetch_rest(const hop_plan *plan, const hop_at *next) {
  const int64_t at = site_spinor(&plan->site, next->block, next->part, next->column);
  if (!plan->prefetch) return;
  if (plan->args->x.data != NULL) site_fetch((const stored *)plan->args->x.data + at, 24, 1);
  if (plan->site.dot) site_fetch((const stored *)plan->site.w.data + at, 24, 1);
  if (plan->args->clover_on != KAON_CLOVER_NONE && next->column == plan->first)
    site_fetch(site_clover_block(&plan->site, next->block, next->part), KAON_CLOVER_REALS, 0);
}

KAON_INLINE void hop_exchange(vcomplex *a, vperm index) {
  a->re = v_exchange(a->re, index);
  a->im = v_exchange(a->im, index);
}

/* Projects the neighbour's spinor and brings in every factor of the hop. */
KAON_INLINE void hop_project(const hop_plan *plan, const hop_from *from, int64_t block, int part,
                             int column, const int dir, const int kind, vhalf *h) {
  const int mu = dir & 3, s = dir < 4 ? 1 : -1;
  const int boundary = (from->entry & KAON_NB_BOUNDARY) != 0;
  const stored *psi = plan->in + site_spinor(&plan->site, from->block, from->part, column);
  stored room[24 * KAON_W] __attribute__((aligned(64)));
  if (from->entry & KAON_NB_GATHER) {
    const int64_t stride = (int64_t)plan->site.nrhs * 24 * KAON_W;
    hop_gather(plan, block, part, dir, plan->in, stride, column * 24 * KAON_W, 24, 1, room);
    psi = room;
  }
  spin_project(mu, s, psi + plan->site.upper, psi + plan->site.lower, h);
  if (!KAON_HALF && mu != 3 && !boundary && !plan->scaled[mu]) return;
  vreal f = v_load_real(plan->factor[dir][boundary] + part * KAON_VL);
  if (boundary && from->permute) f = v_exchange(f, plan->exchange[mu]);
#if KAON_HALF
  vreal unit = site_unit(&plan->site, plan->args->in.scale, from->block, from->part, column);
  if (from->entry & KAON_NB_GATHER) {
    float scale[KAON_W] __attribute__((aligned(64)));
    hop_gather_scale(plan, block, dir, column, scale);
    unit = v_load_float(scale) * v_set(KAON_HALF_STEP);
  }
  f = f * unit;
  if (kind != KAON_LINK_BUFFER && !(from->entry & KAON_NB_UNIT)) f = f * v_set(KAON_HALF_STEP);
#else
  (void)kind;
#endif
  const vreal rest = f * v_set(plan->rest[mu]);
  for (int i = 0; i < 2; i++)
    for (int c = 0; c < 3; c++)
      h->s[i][c] =
          plan->rest[mu] == 0 ? c_scale(h->s[i][c], f) : c_scale_split(h->s[i][c], f, rest);
}

/* ---- hops across the faces of a partitioned lattice ---- */

/* The ghosts that the lanes of `lanes` meet, the numbers of `first` on, into their lanes of h; a
 * lane that meets none keeps what it has. */
static __attribute__((noinline)) void hop_ghosts(const hop_plan *plan, int64_t place, int part,
                                                 int column, int dir, vhalf *h) {
  const kaon_faces *faces = plan->args->stencil->faces;
  const int parity = plan->args->parity, mu = dir & 3, group = faces->group[mu];
  const int32_t first = faces->first[parity][place * KAON_DIRS + dir];
  const uint32_t lanes = faces->lanes[parity][place * KAON_DIRS + dir];
  const kaon_view *from = &plan->args->ghosts[dir];
  real room[KAON_GHOST_REALS][KAON_VL] __attribute__((aligned(64)));
  vreal *values = (vreal *)h, f = v_set(1);
  for (int i = 0; i < KAON_GHOST_REALS; i++) v_store_real(room[i], v_set(0));
#if KAON_HALF
  real unit[KAON_VL] __attribute__((aligned(64))) = {0};
#endif
  for (int l = 0; l < KAON_VL; l++) {
    const int lane = part * KAON_VL + l;
    if (!(lanes >> lane & 1)) continue;
    const int64_t n = first + __builtin_popcount(lanes & ((UINT32_C(1) << lane) - 1));
    const stored *p = (const stored *)from->data +
                      kaon_ghost_index(n, column, 0, plan->site.nrhs, KAON_GHOST_REALS, group);
    for (int i = 0; i < KAON_GHOST_REALS; i++) room[i][l] = (real)p[i * group];
#if KAON_HALF
    unit[l] =
        from->scale[kaon_ghost_index(n, column, 0, plan->site.nrhs, 1, group)] * KAON_HALF_STEP;
#endif
  }
  if (dir < 4) f = v_set(plan->ghost_factor[mu]); /* who sends for backward hops puts it in */
#if KAON_HALF
  f = f * v_load_real(unit);
#endif
  const vreal rest = f * v_set(plan->rest[mu]);
  for (int i = 0; i < KAON_GHOST_REALS; i++) {
    real mine[KAON_VL] __attribute__((aligned(64)));
    vreal x = v_load_real(room[i]);
    if (KAON_HALF || dir < 4)
      x = dir >= 4 || plan->rest[mu] == 0 ? x * f : v_scale_split(x, f, rest);
    v_store_real(room[i], x);
    v_store_real(mine, values[i]);
    for (int l = 0; l < KAON_VL; l++)
      if (lanes >> (part * KAON_VL + l) & 1) mine[l] = room[i][l];
    values[i] = v_load_real(mine);
  }
}

/* The same as hop_direction where some lanes meet ghosts. */
KAON_INLINE void hop_direction_at_face(const hop_plan *plan, const int dir, int64_t block,
                                       int64_t place, int part, int column, const real *decoded,
                                       vspinor *d) {
  const int mu = dir & 3, s = dir < 4 ? 1 : -1;
  const hop_from from = hop_neighbour(plan, block, part, dir);
  const kaon_faces *faces = plan->args->stencil->faces;
  const int ghosts = faces->lanes[plan->args->parity][place * KAON_DIRS + dir] != 0;
  const real *u = decoded + dir * 18 * KAON_VL;
  vhalf h, g;
  hop_project(plan, &from, block, part, column, dir, KAON_LINK_BUFFER, &h);
  if (s > 0 && from.permute)
    for (int i = 0; i < 2; i++)
      for (int c = 0; c < 3; c++) hop_exchange(&h.s[i][c], plan->exchange[mu]);
  if (s > 0 && ghosts) hop_ghosts(plan, place, part, column, dir, &h);
  for (int c = 0; c < 3; c++) {
    const vpair product = from.entry & KAON_NB_UNIT
                              ? (vpair){{h.s[0][c], h.s[1][c]}}
                              : link_times_half(u, KAON_LINK_BUFFER, s < 0, c, &h);
    for (int i = 0; i < 2; i++) {
      g.s[i][c] = product.s[i];
      if (s < 0 && from.permute) hop_exchange(&g.s[i][c], plan->exchange[mu]);
    }
  }
  if (s < 0 && ghosts) hop_ghosts(plan, place, part, column, dir, &g);
  for (int c = 0; c < 3; c++) spin_accumulate(mu, s, (vpair){{g.s[0][c], g.s[1][c]}}, c, d);
}

/* Adds the hop from direction dir. decoded: the links of all directions, kind KAON_LINK_BUFFER. */
KAON_INLINE void hop_direction(const hop_plan *plan, const int dir, int64_t block, int part,
                               int column, const int kind, const real *decoded, vspinor *d) {
  const int mu = dir & 3, s = dir < 4 ? 1 : -1;
  const hop_from from = hop_neighbour(plan, block, part, dir);
  stored room[KAON_LINK_18 * KAON_W] __attribute__((aligned(64)));
  const void *u = kind == KAON_LINK_BUFFER
                      ? (const void *)(decoded + dir * 18 * KAON_VL)
                      : (const void *)hop_link(plan, &from, block, part, dir, room);
  vhalf h;
  hop_project(plan, &from, block, part, column, dir, kind, &h);
  if (s > 0 && from.permute)
    for (int i = 0; i < 2; i++)
      for (int c = 0; c < 3; c++) hop_exchange(&h.s[i][c], plan->exchange[mu]);
  for (int c = 0; c < 3; c++) {
    vpair g;
    if (from.entry & KAON_NB_UNIT) {
      g.s[0] = h.s[0][c];
      g.s[1] = h.s[1][c];
    } else {
      g = link_times_half(u, kind, s < 0, c, &h);
    }
    if (s < 0 && from.permute) {
      hop_exchange(&g.s[0], plan->exchange[mu]);
      hop_exchange(&g.s[1], plan->exchange[mu]);
    }
    spin_accumulate(mu, s, g, c, d);
  }
}

/* ---- hops that are left out (kaon_stencil.cut) ---- */

/* The lanes of `part` whose hop in direction dir is left out, a bit each. */
KAON_INLINE uint32_t hop_left_out(const hop_plan *plan, int64_t block, int part, const int dir) {
  const uint32_t lanes = plan->cut_lanes[block * KAON_DIRS + dir];
  return lanes >> part * KAON_VL & ((UINT32_C(1) << KAON_VL) - 1);
}

/* 0 in `lanes`, whatever is there. */
static __attribute__((noinline)) void hop_clear_lanes(uint32_t lanes, vpair *g) {
  vreal *values = (vreal *)g;
  for (int i = 0; i < 4; i++) {
    real room[KAON_VL] __attribute__((aligned(64)));
    v_store_real(room, values[i]);
    for (int l = 0; l < KAON_VL; l++)
      if (lanes >> l & 1) room[l] = 0;
    values[i] = v_load_real(room);
  }
}

/* The same as hop_direction where some lanes may be left out; where all are, neither spinor nor
 * link is read. */
KAON_INLINE void hop_direction_cut(const hop_plan *plan, const int dir, int64_t block, int part,
                                   int column, const real *decoded, vspinor *d) {
  const int mu = dir & 3, s = dir < 4 ? 1 : -1;
  const uint32_t lanes = hop_left_out(plan, block, part, dir);
  const vpair none = {{{v_set(0), v_set(0)}, {v_set(0), v_set(0)}}};
  if (lanes == (UINT32_C(1) << KAON_VL) - 1) {
    for (int c = 0; c < 3 && mu == 3; c++) spin_accumulate(mu, s, none, c, d); /* t sets d */
    return;
  }
  const hop_from from = hop_neighbour(plan, block, part, dir);
  const real *u = decoded + dir * 18 * KAON_VL;
  vhalf h;
  hop_project(plan, &from, block, part, column, dir, KAON_LINK_BUFFER, &h);
  if (s > 0 && from.permute)
    for (int i = 0; i < 2; i++)
      for (int c = 0; c < 3; c++) hop_exchange(&h.s[i][c], plan->exchange[mu]);
  for (int c = 0; c < 3; c++) {
    vpair g = from.entry & KAON_NB_UNIT ? (vpair){{h.s[0][c], h.s[1][c]}}
                                        : link_times_half(u, KAON_LINK_BUFFER, s < 0, c, &h);
    if (s < 0 && from.permute)
      for (int i = 0; i < 2; i++) hop_exchange(&g.s[i], plan->exchange[mu]);
    if (lanes != 0) hop_clear_lanes(lanes, &g);
    spin_accumulate(mu, s, g, c, d);
  }
}

#endif
