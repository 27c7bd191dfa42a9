/* staggered.c - the staggered hop on the CPU, with thin links or with fat and long links, fused
 * with x-pay and sums (staggered_ops.h). The kernel takes one block at a time, of a block one part
 * (VL lanes), and of that one column.
 * - Links that must be rebuilt, or that several columns share, are decoded into first-level cache
 *   once for each part.
 * - A backward hop multiplies in the neighbour's lanes and permutes afterwards. So links are never
 *   permuted.
 * - Signs are applied to the neighbour's colours in a forward hop, and to the product in a backward
 *   one.
 * - Data of the next part are prefetched, one direction and column at a time, during the
 *   computation. */
#include "dslash/cpu/colour.h"
#include "dslash/dslash_ops.h"
#include "lib/cpu/team.h"
#include "lib/math/recon.h"

/* Hops of one length. */
typedef struct hop_table_plan {
  const kaon_hop_table *reach;
  const uint32_t *table, *negative;
  const int32_t *gather;
  const stored *links[2], *phase[2]; /* of the result's parity, of the other one */
  int recon, decode;
  int64_t stride; /* number of blocks between the links of consecutive directions */
  kaon_factor factor;
  const uint32_t *dropped; /* lanes of hops that are dropped; NULL: no hops are */
  const kaon_faces *faces; /* faces of blocks that read ghosts; else NULL */
  const kaon_view *ghosts;
} hop_table_plan;

typedef struct staggered_plan {
  const kaon_staggered_args *args;
  hop_table_plan fat, naik;
  int improved, dot;
  int along;    /* kaon_stencil.along */
  int prefetch; /* cache level for prefetched data; 0: no prefetch */
  int first;    /* the first column that takes part */
  int stream;   /* results bypass the cache */
  int top[4];   /* mu is divided by the lane bit that selects the part of a block */
  vperm exchange[4];
  const int32_t *blocks; /* the blocks of a part of a partitioned lattice; NULL: all */
  int64_t count;         /* number of blocks */
  int chunk_first;       /* index of the part's first chunk among the partial sums */
} staggered_plan;

/* The block at index `place` of those to update. */
KAON_INLINE int64_t block_at(const staggered_plan *plan, int64_t place) {
  return plan->blocks != NULL ? plan->blocks[place] : place;
}

/* A decoded link: 18 values for each lane. */
enum { LINK = 18 * KAON_VL };

/* Addresses of a direction's neighbours. */
typedef struct hop_from {
  int64_t block;
  int part;
  int permute, gather;
  const int32_t *lanes; /* gather: their sites */
} hop_from;

KAON_INLINE hop_from from_of(const staggered_plan *plan, const hop_table_plan *r, int64_t block,
                             int part, const int dir) {
  const uint32_t entry = r->table[block * KAON_DIRS + dir];
  const int exchanged = (entry & KAON_NB_EXCHANGE) != 0;
  const int whole = KAON_PARTS > 1 && plan->top[dir & 3];
  hop_from from = {.block = entry >> KAON_NB_SHIFT,
                   .part = exchanged && whole ? !part : part,
                   .permute = KAON_W > 1 && exchanged && !whole,
                   .gather = (entry & KAON_NB_GATHER) != 0};
  if (from.gather) from.lanes = r->gather + (block * KAON_DIRS + dir) * KAON_W + part * KAON_VL;
  return from;
}

/* Plain order: loads `count` values of each lane's site of `field`, and stores them KAON_W apart.
 * stride: that of a block; first: the column or direction. */
static __attribute__((noinline)) void gather_lanes(const int32_t *lanes, const stored *field,
                                                   int64_t stride, int64_t first, int count,
                                                   stored *to) {
  for (int l = 0; l < KAON_VL; l++) {
    const stored *p = field + lanes[l] / KAON_W * stride + first + lanes[l] % KAON_W;
    for (int c = 0; c < count; c++) to[c * KAON_W + l] = p[c * KAON_W];
  }
}

/* The address of `count` values of a hop's link, in direction dir of a link field. `room` is a
 * buffer for gathered lanes. */
KAON_INLINE const stored *field_at(const hop_table_plan *r, const stored *const field[2],
                                   const hop_from *from, int64_t block, int part, const int dir,
                                   int count, stored *room) {
  const int64_t first = (dir & 3) * r->stride * count * KAON_W, stride = (int64_t)count * KAON_W;
  if (dir < 4) return field[0] + first + block * stride + part * KAON_VL;
  if (from->gather) {
    gather_lanes(from->lanes, field[1], stride, first, count, room);
    return room;
  }
  return field[1] + first + from->block * stride + from->part * KAON_VL;
}

/* A part of a block; place: its index among the blocks to update. */
typedef struct site_part {
  int64_t place;
  int part;
} site_part;

/* Prefetches what a column reads in direction dir at `there`: the neighbour's colours, and with the
 * first column the link. */
static __attribute__((noinline)) void fetch_hop(const staggered_plan *plan, const hop_table_plan *r,
                                                const site_part *there, int column, int dir) {
  const kaon_staggered_args *a = plan->args;
  const int64_t block = block_at(plan, there->place);
  const int near = plan->prefetch == 1;
  const hop_from from = from_of(plan, r, block, there->part, dir);
  __asm__ volatile(""); /* keeps the compiler from removing the call, which only prefetches */
  if (from.gather) return;
  cache_fetch((const stored *)a->in.data + colour_at(a->nrhs, from.block, from.part, column), 0,
              KAON_STAGGERED_REALS, near);
#if KAON_IS_HALF
  __builtin_prefetch(a->in.scale + colour_scale_at(a->nrhs, from.block, from.part, column));
#endif
  if (column != plan->first) return;
  cache_fetch(field_at(r, r->links, &from, block, there->part, dir, r->recon, NULL), 0, r->recon,
              0);
  if (r->phase[0] != NULL)
    cache_fetch(field_at(r, r->phase, &from, block, there->part, dir, 1, NULL), 0, 1, 0);
}

/* Prefetches what else is read. */
static __attribute__((noinline)) void fetch_rest(const staggered_plan *plan, const site_part *there,
                                                 int column) {
  const kaon_staggered_args *a = plan->args;
  const int64_t at = colour_at(a->nrhs, block_at(plan, there->place), there->part, column);
  __asm__ volatile("");
#if KAON_IS_HALF
  const int64_t scale = colour_scale_at(a->nrhs, block_at(plan, there->place), there->part, column);
  if (a->x.data != NULL) __builtin_prefetch(a->x.scale + scale);
  if (plan->dot) __builtin_prefetch(a->w.scale + scale);
#endif
  if (a->x.data != NULL)
    cache_fetch((const stored *)a->x.data + at, 0, KAON_STAGGERED_REALS, plan->prefetch == 1);
  if (plan->dot)
    cache_fetch((const stored *)a->w.data + at, 0, KAON_STAGGERED_REALS, plan->prefetch == 1);
}

/* -1 in the lanes whose hop has the sign -1, 1 in the others. */
KAON_INLINE vreal signs_of(const hop_table_plan *r, int64_t block, int part, const int dir) {
  const uint32_t lanes = r->negative[block * KAON_DIRS + dir] >> part * KAON_VL;
  const uint32_t all = (UINT32_C(1) << KAON_VL) - 1;
  if ((lanes & all) == 0) return v_set(1);
  if ((lanes & all) == all) return v_set(-1);
  real sign[KAON_VL] __attribute__((aligned(64)));
  for (int l = 0; l < KAON_VL; l++) sign[l] = lanes >> l & 1 ? (real)-1 : (real)1;
  return v_load_real(sign);
}

KAON_INLINE void exchange(const staggered_plan *plan, const int mu, vcolour *d) {
  for (int i = 0; i < 3; i++) {
    d->c[i].re = v_exchange(d->c[i].re, plan->exchange[mu]);
    d->c[i].im = v_exchange(d->c[i].im, plan->exchange[mu]);
  }
}

/* The neighbour's colours, in the neighbour's lanes; half: times the unit. */
KAON_INLINE vcolour neighbour_of(const staggered_plan *plan, const hop_from *from, int column) {
  const kaon_staggered_args *a = plan->args;
  const stored *field = a->in.data;
  stored room[KAON_STAGGERED_REALS * KAON_W] __attribute__((aligned(64)));
  if (!from->gather) return colour_load(a->in, a->nrhs, from->block, from->part, column);
  gather_lanes(from->lanes, field, (int64_t)a->nrhs * KAON_STAGGERED_REALS * KAON_W,
               (int64_t)column * KAON_STAGGERED_REALS * KAON_W, KAON_STAGGERED_REALS, room);
  vcolour chi = colour_raw(room);
#if KAON_IS_HALF
  float unit[KAON_W] __attribute__((aligned(64)));
  for (int l = 0; l < KAON_VL; l++)
    unit[l] = a->in.scale[((int64_t)(from->lanes[l] / KAON_W) * a->nrhs + column) * KAON_W +
                          from->lanes[l] % KAON_W];
  chi = colour_scale(&chi, v_load_float(unit) * v_set(KAON_HALF_STEP));
#endif
  return chi;
}

/* Loads the ghosts that lanes of the boundary block at `place` read in direction dir into these
 * lanes of d. The other lanes are unchanged. */
static __attribute__((noinline)) void take_ghosts(const staggered_plan *plan,
                                                  const hop_table_plan *r, int64_t place, int part,
                                                  int column, int dir, vcolour *d) {
  const int parity = plan->args->parity, nrhs = plan->args->nrhs, group = r->faces->group[dir & 3];
  const int32_t first = r->faces->first[parity][place * KAON_DIRS + dir];
  const uint32_t lanes = r->faces->lanes[parity][place * KAON_DIRS + dir];
  const kaon_view *from = &r->ghosts[dir];
  vreal *values = (vreal *)d;
  real room[KAON_STAGGERED_REALS][KAON_VL] __attribute__((aligned(64)));
  if (lanes == 0) return;
  for (int i = 0; i < KAON_STAGGERED_REALS; i++) v_store_real(room[i], values[i]);
  for (int l = 0; l < KAON_VL; l++) {
    const int lane = part * KAON_VL + l;
    real unit = 1;
    if (!(lanes >> lane & 1)) continue;
    const int64_t n = first + __builtin_popcount(lanes & ((UINT32_C(1) << lane) - 1));
    const stored *p = (const stored *)from->data +
                      kaon_ghost_index(n, column, 0, nrhs, KAON_STAGGERED_REALS, group);
#if KAON_IS_HALF
    unit = from->scale[kaon_ghost_index(n, column, 0, nrhs, 1, group)] * KAON_HALF_STEP;
#endif
    for (int i = 0; i < KAON_STAGGERED_REALS; i++) room[i][l] = (real)p[i * group] * unit;
  }
  for (int i = 0; i < KAON_STAGGERED_REALS; i++) values[i] = v_load_real(room[i]);
}

/* tan(theta / 2) as stored. */
KAON_INLINE vreal phase_at(const stored *p) {
  return v_load(p) * v_set(KAON_LINK_UNIT);
}

/* d += the hop from direction dir. u: the link in the form `kind`. place: index of the block, where
 * there may be ghosts. */
KAON_INLINE void add_hop(const staggered_plan *plan, const hop_table_plan *r, const hop_from *from,
                         int64_t place, int part, int column, const int dir, const void *u,
                         const int kind, vcolour *d) {
  const int64_t block = block_at(plan, place);
  const int mu = dir & 3;
  const vreal sign = signs_of(r, block, part, dir);
  stored room[KAON_W] __attribute__((aligned(64)));
  vcolour chi = neighbour_of(plan, from, column);
  if (dir < 4) {
    if (from->permute) exchange(plan, mu, &chi);
    if (r->faces != NULL) take_ghosts(plan, r, place, part, column, dir, &chi);
    chi = colour_scale(&chi, sign);
    if (r->phase[0] == NULL) {
      colour_add_link(u, kind, 0, &chi, d);
      return;
    }
    chi = colour_times_i(phase_at(field_at(r, r->phase, from, block, part, dir, 1, room)), 0, &chi);
    colour_add_link(u, kind, 0, &chi, d);
    return;
  }
  vcolour product = colour_zero();
  if (r->phase[0] != NULL)
    chi = colour_times_i(phase_at(field_at(r, r->phase, from, block, part, dir, 1, room)), 1, &chi);
  colour_add_link(u, kind, 1, &chi, &product);
  if (from->permute) exchange(plan, mu, &product);
  if (r->faces != NULL) take_ghosts(plan, r, place, part, column, dir, &product);
  colour_add(d, -sign, &product);
}

KAON_INLINE void decode(const stored *from, const int recon, real *to) {
  vcomplex u[9];
  recon_decode(from, recon, u);
  for (int i = 0; i < 9; i++) {
    v_store_real(to + 2 * i * KAON_VL, u[i].re);
    v_store_real(to + (2 * i + 1) * KAON_VL, u[i].im);
  }
}

static void decode_link(const hop_table_plan *r, const stored *from, real *to) {
  if (r->recon == 8)
    decode(from, 8, to);
  else if (r->recon == 12)
    decode(from, 12, to);
  else
    decode(from, 18, to);
}

static __attribute__((noinline)) void decode_all(const staggered_plan *plan,
                                                 const hop_table_plan *r, int64_t block, int part,
                                                 real *to) {
  stored room[KAON_LINK_18 * KAON_W] __attribute__((aligned(64)));
  for (int dir = 0; dir < KAON_DIRS; dir++, to += LINK) {
    const hop_from from = from_of(plan, r, block, part, dir);
    decode_link(r, field_at(r, r->links, &from, block, part, dir, r->recon, room), to);
  }
}

/* All hops of one length. there: the next part, if its data are to be prefetched. */
KAON_INLINE vcolour add_all(const staggered_plan *plan, const hop_table_plan *r,
                            const site_part *here, const site_part *there, int column,
                            const int kind, const real *decoded) {
  const int64_t block = block_at(plan, here->place);
  const int part = here->part;
  vcolour d = colour_zero();
  stored room[KAON_LINK_18 * KAON_W] __attribute__((aligned(64)));
  for (int dir = 0; dir < KAON_DIRS; dir++) {
    const hop_from from = from_of(plan, r, block, part, dir);
    const void *u = decoded + dir * LINK;
    if (plan->prefetch) fetch_hop(plan, r, there, column, dir);
    if (kind != KAON_LINK_BUFFER) u = field_at(r, r->links, &from, block, part, dir, kind, room);
    add_hop(plan, r, &from, here->place, part, column, dir, u, kind, &d);
  }
  return d;
}

/* The hop in one direction (kaon_stencil.along), 0 in the lanes where it is dropped. */
static vcolour hop_along(const staggered_plan *plan, const hop_table_plan *r, const site_part *here,
                         int column) {
  enum { ALL = (1 << KAON_VL) - 1 };
  const int64_t block = block_at(plan, here->place);
  const int dir = plan->along - 1, part = here->part;
  const uint32_t out = r->dropped[block * KAON_DIRS + dir] >> part * KAON_VL & ALL;
  vcolour d = colour_zero();
  stored room[KAON_LINK_18 * KAON_W] __attribute__((aligned(64)));
  real link[LINK] __attribute__((aligned(64)));
  if (out == ALL) return d;
  const hop_from from = from_of(plan, r, block, part, dir);
  decode_link(r, field_at(r, r->links, &from, block, part, dir, r->recon, room), link);
  add_hop(plan, r, &from, here->place, part, column, dir, link, KAON_LINK_BUFFER, &d);
  for (int i = 0; i < KAON_STAGGERED_REALS && out != 0; i++) {
    real value[KAON_VL] __attribute__((aligned(64)));
    v_store_real(value, ((vreal *)&d)[i]);
    for (int l = 0; l < KAON_VL; l++)
      if (out >> l & 1) value[l] = 0;
    ((vreal *)&d)[i] = v_load_real(value);
  }
  return d;
}

static vcolour hops(const staggered_plan *plan, const hop_table_plan *r, const site_part *here,
                    const site_part *there, int column, const real *decoded) {
  if (plan->along) return hop_along(plan, r, here, column);
  if (r->decode) return add_all(plan, r, here, there, column, KAON_LINK_BUFFER, decoded);
  return add_all(plan, r, here, there, column, KAON_LINK_18, NULL);
}

static void hop_site(const staggered_plan *plan, const site_part *here, const site_part *there,
                     int column, const real *fat_links, const real *naik_links, double *sums) {
  const kaon_staggered_args *a = plan->args;
  const kaon_stencil *st = a->stencil;
  const int64_t block = block_at(plan, here->place);
  const int part = here->part;
  vcolour d = hops(plan, &plan->fat, here, there, column, fat_links), naik = d, w;
  if (plan->improved) naik = hops(plan, &plan->naik, here, there, column, naik_links);
  if (plan->prefetch) fetch_rest(plan, there, column);
  colour_join(plan->fat.factor, &d, plan->improved, plan->naik.factor, &naik);
  if (a->x.data != NULL) {
    const vcolour x = colour_load(a->x, a->nrhs, block, part, column);
    colour_add(&d, v_set(a->a), &x);
  }
  if (block == st->nblocks - 1 && st->tail_lanes[a->parity] < KAON_W)
    for (int i = 0; i < KAON_STAGGERED_REALS; i++)
      ((vreal *)&d)[i] = v_mask_tail(((vreal *)&d)[i], st->tail_lanes[a->parity] - part * KAON_VL);
  if (plan->dot) w = colour_load(a->w, a->nrhs, block, part, column);
  if (sums != NULL) colour_sums(&a->sum, plan->dot ? &w : NULL, &d, sums);
  colour_store(a->out, a->nrhs, block, part, column, &d, plan->stream);
}

/* A part has at most half as many chunks: interior and boundary store their sums side by side. */
static int part_chunks(int64_t blocks) {
  return blocks < KAON_REDUCE_CHUNKS / 2 ? (int)blocks : KAON_REDUCE_CHUNKS / 2;
}

static int chunks_of(const staggered_plan *plan) {
  return plan->blocks != NULL ? part_chunks(plan->count) : kaon_chunk_count(plan->count);
}

static void hop_chunk(const staggered_plan *plan, int chunk, double *partials) {
  const kaon_staggered_args *a = plan->args;
  const int64_t begin = plan->count * chunk / chunks_of(plan),
                end = plan->count * (chunk + 1) / chunks_of(plan);
  real links[2][KAON_DIRS * LINK] __attribute__((aligned(64)));
  double *sums = NULL;
  chunk += plan->chunk_first;
  if (a->sum.state) kaon_partial_clear(partials, chunk, a->nrhs, 2);
  for (int64_t place = begin; place < end; place++)
    for (int part = 0; part < KAON_PARTS; part++) {
      const int64_t block = block_at(plan, place), next = place + (part + 1 == KAON_PARTS);
      const site_part here = {place, part},
                      there = {next < plan->count ? next : place, (part + 1) % KAON_PARTS};
      if (plan->fat.decode && !plan->along) decode_all(plan, &plan->fat, block, part, links[0]);
      if (plan->improved && plan->naik.decode && !plan->along)
        decode_all(plan, &plan->naik, block, part, links[1]);
      for (int k = 0; k < a->nrhs; k++) {
        if (!kaon_gate_open(&a->gate, k)) continue;
        if (a->sum.state) sums = kaon_partial(partials, chunk, k, a->nrhs, 2);
        hop_site(plan, &here, &there, k, links[0], links[1], sums);
      }
    }
}

/* The integers of links that are not decoded have a further unit. */
static hop_table_plan hop_table_plan_of(const kaon_staggered_args *a, const kaon_hop_links *l,
                                        int number) {
  const int p = a->parity, boundary = a->part == KAON_PART_BOUNDARY;
  const kaon_hop_table *reach = a->reach[number];
  const kaon_cuts *cuts = a->stencil->cuts;
  hop_table_plan r = {.reach = reach,
                      .table = reach->neighbour[p],
                      .negative = reach->negative[p],
                      .gather = reach->gather[p],
                      .links = {l->links[p], l->links[1 - p]},
                      .phase = {l->phase[p], l->phase[1 - p]},
                      .recon = l->recon,
                      .decode = l->recon != 18 || a->nrhs > 1 || boundary || cuts != NULL,
                      .dropped = cuts == NULL ? NULL
                                 : number     ? cuts->far[p]
                                              : cuts->lanes[p],
                      .faces = boundary ? a->faces[number] : NULL,
                      .ghosts = a->ghosts[number],
                      .stride = kaon_link_blocks(kaon_matrix_blocks(a->stencil))};
  r.factor = kaon_factor_of(a->b * l->factor * (r.decode ? 1 : KAON_LINK_UNIT));
  return r;
}

static void choose_part(staggered_plan *plan) {
  const kaon_staggered_args *a = plan->args;
  const kaon_faces *faces = a->faces[0];
  const int inside = a->part == KAON_PART_INTERIOR;
  plan->count = a->stencil->nblocks;
  if (a->part == KAON_PART_ALL) return;
  plan->blocks = inside ? faces->interior[a->parity] : faces->boundary[a->parity];
  plan->count = inside ? faces->interior_blocks[a->parity] : faces->boundary_blocks[a->parity];
  if (!inside) plan->chunk_first = part_chunks(faces->interior_blocks[a->parity]);
}

typedef struct staggered_job {
  const staggered_plan *plan;
  int chunks;
  double *partials;
} staggered_job;

static void staggered_share(const void *job_, int t, int threads) {
  const staggered_job *j = job_;
  const int end = (int)((int64_t)j->chunks * (t + 1) / threads);
  for (int chunk = (int)((int64_t)j->chunks * t / threads); chunk < end; chunk++)
    hop_chunk(j->plan, chunk, j->partials);
  v_stream_fence();
}

static void KAON_EXPORT(staggered_hop)(const kaon_launch *launch, const kaon_staggered_args *args) {
  staggered_plan plan = {.args = args, .improved = args->naik.links[0] != NULL};
  const kaon_stencil *st = args->stencil;
  plan.fat = hop_table_plan_of(args, &args->fat, 0);
  if (plan.improved) plan.naik = hop_table_plan_of(args, &args->naik, 1);
  choose_part(&plan);
  plan.dot = args->sum.state != NULL && args->w.data != NULL && args->sum.slot[1] != KAON_NO_SLOT;
  for (int mu = 0; mu < 4; mu++) {
    const int bit = st->exchange_bit[mu];
    plan.top[mu] = bit >= 0 && (1 << bit) == KAON_VL;
    plan.exchange[mu] = v_exchange_index(bit >= 0 && (1 << bit) < KAON_VL ? bit : 0);
  }
  plan.along = st->along;
  plan.prefetch = plan.along ? 0 : launch->prefetch;
  plan.stream = may_stream(launch, KAON_STAGGERED_REALS);
  while (plan.first < args->nrhs - 1 && !kaon_gate_open(&args->gate, plan.first)) plan.first++;
  const int chunks = chunks_of(&plan);
  const staggered_job j = {&plan, chunks, launch->partials};
  kaon_team_run(kaon_team_of(launch, 6 * KAON_W * st->nblocks * args->nrhs), staggered_share, &j);
  if (args->part != KAON_PART_INTERIOR)
    kaon_reduce_finish_chunks(launch->partials, plan.chunk_first + chunks, args->nrhs, &args->gate,
                              &args->sum, 2);
}

const kaon_staggered_ops KAON_EXPORT(kaon_staggered_ops) = {
    .hop = KAON_EXPORT(staggered_hop), .gather = KAON_EXPORT(kaon_staggered_gather)};
