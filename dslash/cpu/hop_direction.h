/* hop_direction.h - one direction of the Wilson hop on the CPU: addresses of neighbours and links,
 * projection, factors, product with the link. It also handles lanes that read ghosts and lanes
 * whose hop is omitted. Included by hop.c. */
#pragma once

#include "dslash/cpu/gathered.h"
#include "dslash/cpu/site.h"
#include "dslash/dslash_ops.h"
#include "lib/math/recon.h"

typedef struct hop_plan {
  const kaon_hop_args *args;
  site_plan site;
  const uint32_t *table;
  const int32_t *gather;
  const stored *link[KAON_DIRS]; /* of block 0: of the result's parity, of the other one */
  const stored *in;
  int64_t spinors, reals; /* stride between blocks: of `in`, of the links of one direction */
  int recon;
  int bare;                   /* out = D in and nothing else */
  int faced;                  /* these are the blocks that read ghosts */
  int prefetch;               /* cache level for prefetched spinors; 0: no prefetch */
  const uint8_t *cut_dirs;    /* directions of omitted hops (kaon_cuts); NULL: none are omitted */
  const uint32_t *cut_lanes;  /* the lanes of omitted hops */
  const int32_t *blocks;      /* the blocks of a part of a partitioned lattice; NULL: all */
  int64_t count;              /* number of blocks */
  int chunk_first;            /* index of the part's first chunk among the partial sums */
  int open;                   /* columns that take part */
  int group;                  /* how many of them are computed together (hop_columns) */
  int lead;                   /* how many columns ahead spinors are prefetched */
  int link_bytes, link_piece; /* bytes of a block's links of one direction; those prefetched with a
                                 column */
  int top[4];                 /* mu is divided by the lane bit that selects the part of a block */
  uint32_t exchanges[4]; /* KAON_NB_EXCHANGE where such hops exchange lanes of a vreal, else 0 */
  vperm exchange[4];
  double b, twist; /* factors of d, with that of the spatial hops; the rest of the factor of t: */
  /* [forward, backward][whether the block touches the boundary][lane] */
  real factor[2][2][KAON_W] __attribute__((aligned(64)));
  real ghost_factor; /* of forward hops that read ghosts */
  real rest;         /* relative rounding error of the factor */
} hop_plan;

/* Addresses of a direction's neighbours, the same for all columns. */
typedef struct hop_from {
  const stored *psi;  /* the neighbour's spinor, column 0 */
  const stored *link; /* as stored; unused where lanes are gathered */
#if KAON_IS_HALF
  const float *scale; /* column 0 */
#endif
  uint32_t entry;
  int permute; /* exchange lanes inside a vreal */
} hop_from;

/* A part of a block, with its neighbours. */
typedef struct hop_place {
  int64_t block;
  int part;
  hop_from from[KAON_DIRS];
} hop_place;

/* Stride between blocks. The compiler knows it for one column, and for links that are read as
 * stored. */
KAON_INLINE int64_t hop_spinors(const hop_plan *plan, const int many) {
  return many ? plan->spinors : 24 * KAON_W;
}

KAON_INLINE int64_t hop_reals(const hop_plan *plan, const int kind) {
  return kind == KAON_LINK_BUFFER ? plan->reals : kind * KAON_W;
}

/* kind, many: known at compile time where possible; KAON_LINK_BUFFER and 1 are always valid. */
_Static_assert(KAON_NB_EXCHANGE == 1, "entry & top is 0 or 1");
KAON_INLINE hop_from hop_neighbour(const hop_plan *plan, int64_t block, int part, const int dir,
                                   const int kind, const int many) {
  hop_from from;
  from.entry = plan->table[block * KAON_DIRS + dir];
  const int64_t there = from.entry >> KAON_NB_SHIFT;
  const int64_t lane = part * KAON_VL;
  const int64_t lane_there =
      KAON_PARTS > 1 ? lane ^ (int64_t)(from.entry & (uint32_t)plan->top[dir & 3]) * KAON_VL : lane;
  from.permute = KAON_W > 1 ? (int)(from.entry & plan->exchanges[dir & 3]) : 0;
  from.psi = plan->in + there * hop_spinors(plan, many) + lane_there;
  from.link = plan->link[dir] + (dir < 4 ? block : there) * hop_reals(plan, kind) +
              (dir < 4 ? lane : lane_there);
#if KAON_IS_HALF
  from.scale = plan->args->in.scale + there * (many ? plan->site.nrhs : 1) * KAON_W + lane_there;
#endif
  return from;
}

KAON_ONCE void hop_lookup_all(const hop_plan *plan, hop_place *place) {
#pragma GCC unroll 1
  for (int dir = 0; dir < KAON_DIRS; dir++)
    place->from[dir] = hop_neighbour(plan, place->block, place->part, dir, KAON_LINK_BUFFER, 1);
}

/* many: with many columns neighbours are looked up here, once for all; else where they are
 * needed. */
KAON_INLINE void hop_lookup(const hop_plan *plan, int64_t block, int part, const int many,
                            hop_place *place) {
  place->block = block;
  place->part = part;
  if (many) hop_lookup_all(plan, place);
}

KAON_INLINE hop_from hop_from_place(const hop_plan *plan, const hop_place *place, const int dir,
                                    const int kind, const int many) {
  return many ? place->from[dir] : hop_neighbour(plan, place->block, place->part, dir, kind, many);
}

/* Plain order: gathers from the sites that the lanes of (block, part) read in direction dir
 * (gathered.h). */
KAON_INLINE void hop_gather(const hop_plan *plan, int64_t block, int part, int dir,
                            const stored *field, int64_t stride, int64_t first, int count,
                            int with_sign, stored *to) {
  gathered(plan->gather + (block * KAON_DIRS + dir) * KAON_W + part * KAON_VL, field, stride, first,
           count, with_sign, to);
}

#if KAON_IS_HALF
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

/* The address of a hop's link as stored. `room` is a buffer for gathered lanes. A link that is the
 * identity is not read. */
KAON_INLINE const stored *hop_link(const hop_plan *plan, const hop_from *from, int64_t block,
                                   int part, const int dir, stored *room) {
  if (dir < 4 || (from->entry & (KAON_NB_GATHER | KAON_NB_UNIT)) != KAON_NB_GATHER)
    return from->link;
  hop_gather(plan, block, part, dir, plan->link[dir], plan->reals, 0, plan->recon, 0, room);
  return room;
}

/* Decodes to `to`: 18 vreal, KAON_VL apart. */
KAON_INLINE void hop_decode_direction(const hop_plan *plan, int64_t block, int part, const int dir,
                                      const int recon, real *to) {
  const hop_from from = hop_neighbour(plan, block, part, dir, KAON_LINK_BUFFER, 1);
  stored room[KAON_LINK_18 * KAON_W] __attribute__((aligned(64)));
  if (from.entry & KAON_NB_UNIT) return;
  vcomplex u[9];
  recon_decode(hop_link(plan, &from, block, part, dir, room), recon, u);
  for (int i = 0; i < 9; i++) {
    v_store_real(to + 2 * i * KAON_VL, u[i].re);
    v_store_real(to + (2 * i + 1) * KAON_VL, u[i].im);
  }
}

/* Prefetches the spinor of a hop; in t only the half that the projector keeps. */
KAON_INLINE void hop_fetch_spinor(const hop_plan *plan, const hop_from *from, const int dir,
                                  int column) {
  const stored *psi = from->psi + column * 24 * KAON_W;
  const int t = (dir & 3) == 3;
  if (t) psi += dir < 4 ? plan->site.lower : plan->site.upper;
  cache_fetch(psi, 0, t ? 12 : 24, plan->prefetch == 1);
#if KAON_IS_HALF
  __builtin_prefetch(from->scale + column * KAON_W);
#endif
}

/* Prefetches what else is read: pieces begin .. end - 1 of SITE_PIECES. Processors drop requests
 * when too many come at once, so the pieces are spread over the hop. Double precision takes every
 * other line of a block at a time, and its first-level cache has no space for them until the hops
 * are done. with_clover: once for all columns. */
KAON_INLINE void hop_fetch_rest(const hop_plan *plan, const hop_place *place, int column,
                                const int with_clover, const int begin, const int end) {
  const kaon_hop_args *args = plan->args;
  const int64_t block = place->block;
  const int part = place->part, near = !KAON_IS_HALF && KAON_PARTS == 1 && plan->prefetch == 1;
  if (!plan->prefetch || plan->bare) return;
  if (args->x.data != NULL)
    site_fetch_spinor(&plan->site, args->x, block, part, column, begin, end, near);
  if (plan->site.dot)
    site_fetch_spinor(&plan->site, plan->site.w, block, part, column, begin, end, near);
  if (args->clover_on != KAON_CLOVER_NONE && with_clover)
    site_fetch_clover(&plan->site, block, part, begin, end, near);
}

KAON_INLINE void hop_exchange(vcomplex *a, vperm index) {
  a->re = v_exchange(a->re, index);
  a->im = v_exchange(a->im, index);
}

/* The value of one unit of a half spinor's integers; 1 in other precisions. */
KAON_INLINE vreal hop_unit(const hop_from *from, int column) {
#if KAON_IS_HALF
  return v_load_float(from->scale + column * KAON_W) * v_set(KAON_HALF_STEP);
#else
  (void)from, (void)column;
  return v_set(1);
#endif
}

/* Applies the factors of a hop. Only t has any: the projector's, an anisotropy other than 1, signs.
 * In half there are also the units of spinors, and of links where kind has them. */
KAON_INLINE void hop_scale(const hop_plan *plan, uint32_t entry, int part, const int dir,
                           const int kind, vreal unit, vhalf *h) {
  const int t = (dir & 3) == 3;
  vreal f = unit;
  if (!KAON_IS_HALF && !t) return;
  if (t) {
    const int boundary = (entry & KAON_NB_BOUNDARY) != 0;
    f = v_load_real(plan->factor[dir / 4][boundary] + part * KAON_VL) * f;
  }
#if KAON_IS_HALF
  const int whole = kind == KAON_LINK_BUFFER || (t && (entry & KAON_NB_UNIT) != 0);
  f = f * v_set(whole ? 1 : KAON_HALF_STEP);
#else
  (void)kind;
#endif
  const vreal rest = f * v_set(plan->rest);
  const int split = t && __builtin_expect(plan->rest != 0, 0);
  for (int i = 0; i < 2; i++)
    for (int c = 0; c < 3; c++)
      h->s[i][c] = split ? c_scale_split(h->s[i][c], f, rest) : c_scale(h->s[i][c], f);
}

/* Projects the neighbour's spinor, in whichever lanes it is stored. */
KAON_INLINE void hop_project(const hop_plan *plan, const hop_from *from, int64_t block, int part,
                             int column, const int dir, const int kind, vhalf *h) {
  const stored *psi = from->psi + column * 24 * KAON_W;
  stored room[24 * KAON_W] __attribute__((aligned(64)));
  vreal unit = v_set(1);
  if (from->entry & KAON_NB_GATHER) {
    hop_gather(plan, block, part, dir, plan->in, plan->spinors, column * 24 * KAON_W, 24, 1, room);
    psi = room;
#if KAON_IS_HALF
    float scale[KAON_W] __attribute__((aligned(64)));
    hop_gather_scale(plan, block, dir, column, scale);
    unit = v_load_float(scale) * v_set(KAON_HALF_STEP);
#endif
  } else {
    unit = hop_unit(from, column);
  }
  spin_project(dir & 3, dir < 4 ? 1 : -1, psi + plan->site.upper, psi + plan->site.lower, h);
  hop_scale(plan, from->entry, part, dir, kind, unit, h);
}

/* ---- hops across the faces of a partitioned lattice ---- */

/* Loads ghosts into the given `lanes` of h, from ghost index `first` on. The other lanes of h are
 * unchanged. */
KAON_ONCE void hop_ghosts(const hop_plan *plan, int64_t place, int part, int column, int dir,
                          vhalf *h) {
  const kaon_faces *faces = plan->args->stencil->faces;
  const int parity = plan->args->parity, mu = dir & 3, group = faces->group[mu];
  const int32_t first = faces->first[parity][place * KAON_DIRS + dir];
  const uint32_t lanes = faces->lanes[parity][place * KAON_DIRS + dir];
  const kaon_view *from = &plan->args->ghosts[dir];
  real room[KAON_GHOST_REALS][KAON_VL] __attribute__((aligned(64)));
  vreal *values = (vreal *)h, f = v_set(1);
  for (int i = 0; i < KAON_GHOST_REALS; i++) v_store_real(room[i], v_set(0));
#if KAON_IS_HALF
  real unit[KAON_VL] __attribute__((aligned(64))) = {0};
#endif
  for (int l = 0; l < KAON_VL; l++) {
    const int lane = part * KAON_VL + l;
    if (!(lanes >> lane & 1)) continue;
    const int64_t n = first + __builtin_popcount(lanes & ((UINT32_C(1) << lane) - 1));
    const stored *p = (const stored *)from->data +
                      kaon_ghost_index(n, column, 0, plan->site.nrhs, KAON_GHOST_REALS, group);
    for (int i = 0; i < KAON_GHOST_REALS; i++) room[i][l] = (real)p[i * group];
#if KAON_IS_HALF
    unit[l] =
        from->scale[kaon_ghost_index(n, column, 0, plan->site.nrhs, 1, group)] * KAON_HALF_STEP;
#endif
  }
  if (dir == 3) f = v_set(plan->ghost_factor); /* the sender of backward hops has applied it */
#if KAON_IS_HALF
  f = f * v_load_real(unit);
#endif
  const vreal rest = f * v_set(plan->rest);
  for (int i = 0; i < KAON_GHOST_REALS; i++) {
    real mine[KAON_VL] __attribute__((aligned(64)));
    vreal x = v_load_real(room[i]);
    if (KAON_IS_HALF || dir == 3)
      x = dir != 3 || plan->rest == 0 ? x * f : v_scale_split(x, f, rest);
    v_store_real(room[i], x);
    v_store_real(mine, values[i]);
    for (int l = 0; l < KAON_VL; l++)
      if (lanes >> (part * KAON_VL + l) & 1) mine[l] = room[i][l];
    values[i] = v_load_real(mine);
  }
}

/* ---- omitted hops (kaon_stencil.cut) ---- */

enum { HOP_ALL_LANES = (1 << KAON_VL) - 1 };

/* The lanes of `part` whose hop in direction dir is omitted, one bit for each. */
KAON_INLINE uint32_t hop_left_out(const hop_plan *plan, int64_t block, int part, const int dir) {
  if (plan->cut_lanes == NULL) return 0;
  return plan->cut_lanes[block * KAON_DIRS + dir] >> part * KAON_VL & HOP_ALL_LANES;
}

/* Sets the given lanes to 0, whatever they hold. */
KAON_ONCE void hop_clear_lanes(uint32_t lanes, vpair *g) {
  vreal *values = (vreal *)g;
  for (int i = 0; i < 4; i++) {
    real room[KAON_VL] __attribute__((aligned(64)));
    v_store_real(room, values[i]);
    for (int l = 0; l < KAON_VL; l++)
      if (lanes >> l & 1) room[l] = 0;
    values[i] = v_load_real(room);
  }
}

/* ---- general hops and plain hops ---- */

/* A part of a block; place: the block's index in the list of those that read ghosts. */
typedef struct hop_part_of {
  int64_t block, place;
  int part;
} hop_part_of;

/* Adds the hop from direction dir in the general case. Lanes may be gathered, read ghosts (with
 * decoded links only), or have their hop omitted. If all lanes are omitted, neither spinor nor link
 * is read. kind KAON_LINK_BUFFER: decoded links of all directions. */
KAON_INLINE void hop_direction_any(const hop_plan *plan, const int dir, const hop_part_of *here,
                                   int column, const int kind, const real *decoded, vspinor *d) {
  const int mu = dir & 3, s = dir < 4 ? 1 : -1, part = here->part;
  const int64_t block = here->block;
  const uint32_t out = hop_left_out(plan, block, part, dir);
  const vpair none = {{{v_set(0), v_set(0)}, {v_set(0), v_set(0)}}};
  if (out == HOP_ALL_LANES) {
    for (int c = 0; c < 3 && mu == 3; c++) spin_accumulate(mu, s, none, c, d); /* t sets d */
    return;
  }
  const hop_from from = hop_neighbour(plan, block, part, dir, KAON_LINK_BUFFER, 1);
  const kaon_faces *faces = plan->args->stencil->faces;
  const int ghosts = kind == KAON_LINK_BUFFER && plan->faced &&
                     faces->lanes[plan->args->parity][here->place * KAON_DIRS + dir] != 0;
  stored room[KAON_LINK_18 * KAON_W] __attribute__((aligned(64)));
  const void *u = decoded + dir * 18 * KAON_VL;
  if (kind != KAON_LINK_BUFFER) u = hop_link(plan, &from, block, part, dir, room);
  vhalf h, g;
  hop_project(plan, &from, block, part, column, dir, kind, &h);
  if (s > 0 && from.permute)
    for (int i = 0; i < 2; i++)
      for (int c = 0; c < 3; c++) hop_exchange(&h.s[i][c], plan->exchange[mu]);
  if (s > 0 && ghosts) hop_ghosts(plan, here->place, part, column, dir, &h);
  for (int c = 0; c < 3; c++) {
    vpair product = {{h.s[0][c], h.s[1][c]}};
    if (mu != 3 || !(from.entry & KAON_NB_UNIT)) product = link_times_half(u, kind, s < 0, c, &h);
    for (int i = 0; i < 2; i++) {
      if (s < 0 && from.permute) hop_exchange(&product.s[i], plan->exchange[mu]);
      g.s[i][c] = product.s[i];
    }
  }
  if (s < 0 && ghosts) hop_ghosts(plan, here->place, part, column, dir, &g);
  for (int c = 0; c < 3; c++) {
    vpair product = {{g.s[0][c], g.s[1][c]}};
    if (out != 0) hop_clear_lanes(out, &product);
    spin_accumulate(mu, s, product, c, d);
  }
}

/* Adds a plain hop from direction dir. kind KAON_LINK_BUFFER: decoded links. The function makes no
 * calls. It branches only for the exchange of lanes and, in t, for unit links and for factors that
 * `real` does not hold exactly. The reason is that registers are moved where branches join, and
 * stored around every call. */
KAON_INLINE void hop_direction(const hop_plan *plan, const int dir, const hop_place *place,
                               int column, const int kind, const int many, const real *decoded,
                               vspinor *d) {
  const int mu = dir & 3, s = dir < 4 ? 1 : -1;
  const hop_from from = hop_from_place(plan, place, dir, kind, many);
  const void *u = kind == KAON_LINK_BUFFER ? (const void *)(decoded + dir * 18 * KAON_VL)
                                           : (const void *)from.link;
  const stored *psi = from.psi + column * 24 * KAON_W;
  vhalf h;
  spin_project(mu, s, psi + plan->site.upper, psi + plan->site.lower, &h);
  hop_scale(plan, from.entry, place->part, dir, kind, hop_unit(&from, column), &h);
  if (s > 0 && from.permute)
    for (int i = 0; i < 2; i++)
      for (int c = 0; c < 3; c++) hop_exchange(&h.s[i][c], plan->exchange[mu]);
  for (int c = 0; c < 3; c++) {
    vpair g = {{h.s[0][c], h.s[1][c]}};
    if (mu != 3 || !(from.entry & KAON_NB_UNIT)) g = link_times_half(u, kind, s < 0, c, &h);
    if (s < 0 && from.permute)
      for (int i = 0; i < 2; i++) hop_exchange(&g.s[i], plan->exchange[mu]);
    spin_accumulate(mu, s, g, c, d);
  }
}
