/* hop.c - the Wilson hop on the CPU, fused with x-pay, clover blocks and sums (dslash_ops.h). The
 * kernel takes one block at a time, and of a block one part (VL lanes) at a time.
 * - The eight directions are summed in registers and first-level cache. t comes first, since each
 *   of its two hops fills one half of the result.
 * - A backward hop multiplies in the neighbour's lanes and permutes afterwards. So links are never
 *   permuted.
 * - With many columns each pair of directions goes through all columns before the next pair does
 *   (hop_columns). Links that must be decoded are decoded once.
 * - Software prefetches load the next data, one direction at a time, during the computation. The
 *   pieces are too short and too many for the hardware prefetcher.
 * - Plain hops have all neighbours on this rank and at most exchange lanes. Their code makes no
 *   calls and has few branches. All other hops use separate functions (`_any`), since their code
 *   would need registers in the plain kernel. */

#include "dslash/cpu/hop_direction.h"
#include "dslash/cpu/kernels.h"
#include "lib/cpu/team.h"

/* out = (a [C] + twist) x + (b [C] + twist) d: the end of every kernel. It is not inlined into each kind of hop, since
 * the code would be several times as long. */
KAON_ONCE void hop_end(const hop_plan *plan, int64_t block, int part, int column, vspinor *d,
                       double *sums, site_late *late) {
  const kaon_hop_args *args = plan->args;
  const double half_on_hop = args->clover_on == KAON_CLOVER_ON_HOP ? 0.5 : 1;
  if (args->clover_on == KAON_CLOVER_ON_HOP) site_clover(&plan->site, block, part, d);
  if (plan->twist != 0)
    twist_scale(d, plan->b, plan->twist);
  else
    spinor_scale(d, plan->b * half_on_hop);
  if (args->x.data != NULL) {
    vspinor x;
    site_load(&plan->site, args->x, block, part, column, &x);
    if (args->twist[0] != 0) twist_spinor(d, args->twist[0], &x);
    if (args->clover_on == KAON_CLOVER_ON_X) site_clover(&plan->site, block, part, &x);
    spinor_add(d, v_set(args->a * (args->clover_on == KAON_CLOVER_ON_X ? 0.5 : 1)), &x);
  }
  site_finish(&plan->site, block, part, column, d, sums, late);
}

/* The end of all kinds of sites. */
KAON_INLINE void hop_leave(const hop_plan *plan, int64_t block, int part, int column, vspinor *d,
                           double *sums, site_late *late) {
  if (plan->bare) {
#if KAON_IS_HALF
    site_quantise(&plan->site, block, part, column, d);
#endif
    site_store(&plan->site, block, part, column, d, late);
  } else {
    vspinor result = *d; /* a copy, so that d itself can stay in registers */
    hop_end(plan, block, part, column, &result, sums, late);
  }
}

/* step(direction, index): t first, since each of its two hops fills one half of the result. */
#define HOP_ALL(step) \
  step(3, 0) step(7, 1) step(2, 2) step(6, 3) step(1, 4) step(5, 5) step(0, 6) step(4, 7)

/* Prefetches what direction dir of the only column reads at the next place. */
KAON_INLINE void hop_fetch(const hop_plan *plan, const hop_place *there, const int dir,
                           const int kind) {
  if (!plan->prefetch) return;
  const hop_from from = hop_from_place(plan, there, dir, kind, 0);
  if (!(from.entry & KAON_NB_UNIT)) cache_fetch(from.link, 0, plan->recon, 0);
  hop_fetch_spinor(plan, &from, dir, 0);
}

/* A site of one column; there: the place after this one. */
KAON_INLINE void hop_site(const hop_plan *plan, const hop_place *here, const hop_place *there,
                          const int kind, const real *decoded, double *sums, site_late *late) {
  enum { whole = KAON_PARTS > 1 }; /* see hop_fetch_rest */
  const int ahead = plan->prefetch | plan->site.stream;
  vspinor d;
#define HOP_DIRECTION(dir, piece)                                    \
  if (__builtin_expect(ahead, 0)) {                                  \
    hop_fetch(plan, there, dir, kind);                               \
    if (!whole) hop_fetch_rest(plan, there, 0, 1, piece, piece + 1); \
    site_drain(late, piece);                                         \
  }                                                                  \
  hop_direction(plan, dir, here, 0, kind, 0, decoded, &d);
  HOP_ALL(HOP_DIRECTION)
#undef HOP_DIRECTION
  if (whole) hop_fetch_rest(plan, there, 0, 1, 0, SITE_PIECES);
  hop_leave(plan, here->block, here->part, 0, &d, sums, late);
}

/* Decodes the links of all directions to whole matrices. There is one function for each kind of
 * storage. The call costs little in a hop of many columns, or in one that is not plain. */
KAON_ONCE void hop_decode(const hop_plan *plan, int64_t block, int part, real *decoded) {
  for (int dir = 0; dir < KAON_DIRS; dir++) {
    real *to = decoded + dir * 18 * KAON_VL;
    if (hop_left_out(plan, block, part, dir) == HOP_ALL_LANES) continue;
    if (plan->recon == 18)
      hop_decode_direction(plan, block, part, dir, 18, to);
    else if (plan->recon == 12)
      hop_decode_direction(plan, block, part, dir, 12, to);
    else
      hop_decode_direction(plan, block, part, dir, 8, to);
  }
}

/* A part of a block whose hops are not plain. */
KAON_INLINE void hop_site_any(const hop_plan *plan, const hop_part_of *here, int column,
                              const int kind, const real *decoded, double *sums, site_late *late) {
  vspinor d;
  site_drain_all(late);
#define HOP_DIRECTION(dir, piece) hop_direction_any(plan, dir, here, column, kind, decoded, &d);
  HOP_ALL(HOP_DIRECTION)
#undef HOP_DIRECTION
  hop_leave(plan, here->block, here->part, column, &d, sums, late);
}

/* `count` blocks of the part, from index `place` on in steps of 1 or -1. slot: index of their sums
 * in `partials`. */
typedef struct hop_walk {
  int slot;
  int64_t place, count;
  int step;
} hop_walk;

/* The sums of a column; NULL: none requested. */
KAON_INLINE double *hop_sums(const hop_plan *plan, double *partials, int slot, int column) {
  if (plan->args->sum.state == NULL) return NULL;
  return kaon_partial(partials, slot, column, plan->args->nrhs, 2);
}

/* ---- many columns ---- */

/* HOP_GROUP: columns whose sums fit in the first-level cache together. The others: how many columns
 * ahead to prefetch, into the first-level cache or into the larger second-level one. */
enum { HOP_FITS = 18432 / sizeof(vspinor), HOP_GROUP = HOP_FITS < 16 ? HOP_FITS : 16 };
enum { HOP_LEAD = 3, HOP_LEAD_SECOND = 6, HOP_LINE = 64 };

/* A group of adjacent columns that all take part, so that addresses are increments. */
typedef struct hop_group {
  int begin, count;
  int before; /* number of participating columns before them */
  int last;   /* no participating column follows */
} hop_group;

/* The group after a group; the first group after the last one, or after NULL. */
KAON_ONCE hop_group hop_group_after(const hop_plan *plan, const hop_group *group) {
  const kaon_gate *gate = &plan->args->gate;
  const int anew = group == NULL || group->last, n = plan->args->nrhs;
  hop_group next = {0, 0, 0, 0};
  if (!anew) {
    next.begin = group->begin + group->count;
    next.before = group->before + group->count;
  }
  while (next.begin < n && !kaon_inner_gate_open(gate, next.begin)) next.begin++;
  while (next.count < plan->group && next.begin + next.count < n &&
         kaon_inner_gate_open(gate, next.begin + next.count))
    next.count++;
  next.last = next.before + next.count >= plan->open;
  return next;
}

/* A group at a place, and what follows: the next group here, or the first one at the next place. */
typedef struct hop_turn {
  const hop_place *here, *there, *next_place;
  hop_group group, next_group;
  int lead;
} hop_turn;

/* While column i computes direction dir, prefetches what the column `lead` ahead reads. Past the
 * last column it prefetches for direction `after`. */
KAON_INLINE void hop_prefetch(const hop_plan *plan, const hop_turn *turn, const int dir,
                              const int after, int i) {
  const int ahead = i + turn->lead, beyond = ahead - turn->group.count;
  if (beyond < 0) {
    hop_fetch_spinor(plan, &turn->here->from[dir], dir, turn->group.begin + ahead);
    return;
  }
  const hop_place *place = after == 3 ? turn->next_place : turn->here;
  const hop_group *group = after == 3 ? &turn->next_group : &turn->group;
  const int then = after + (dir & 4);
  if (beyond < group->count)
    hop_fetch_spinor(plan, &place->from[then], then, group->begin + beyond);
}

/* Prefetches the links of the next block's hops in directions mu and mu + 4, one piece with each
 * column. The pieces are consecutive lines, since processors also load the adjacent line. */
KAON_INLINE void hop_prefetch_links(const hop_plan *plan, const hop_turn *turn, const int mu,
                                    int i) {
  const hop_from *forward = &turn->there->from[mu], *backward = &turn->there->from[mu + 4];
  if (KAON_PARTS > 1 && turn->there->block == turn->here->block) return;
  const int begin = (turn->group.before + i) * plan->link_piece, end = begin + plan->link_piece;
  for (int at = begin; at < end && at < plan->link_bytes; at += HOP_LINE) {
    if (mu != 3 || !(forward->entry & KAON_NB_UNIT))
      __builtin_prefetch((const char *)forward->link + at, 0, 2);
    if (mu != 3 || !(backward->entry & KAON_NB_UNIT))
      __builtin_prefetch((const char *)backward->link + at, 0, 2);
  }
}

/* Prefetches what else the column's end reads, during the three pairs of directions before the
 * last. In double precision it prefetches that of the next place. */
KAON_ONCE void hop_prefetch_rest(const hop_plan *plan, const hop_turn *turn, int pass, int i) {
  __asm__ volatile(""); /* keeps the compiler from removing the call, which only prefetches */
  const int column = turn->group.begin + i, with_clover = turn->group.before + i == 0;
  if (KAON_PARTS > 1 && pass == 3)
    hop_fetch_rest(plan, turn->there, column, with_clover, 0, SITE_PIECES);
  if (KAON_PARTS == 1 && pass < 3)
    hop_fetch_rest(plan, turn->here, column, with_clover, pass * 3,
                   pass == 2 ? SITE_PIECES : pass * 3 + 3);
}

/* Column i of the group computes both hops in mu. The directions of `after` come next. */
KAON_INLINE void hop_pair(const hop_plan *plan, const hop_turn *turn, const int mu, const int after,
                          int i, const int kind, const real *decoded, vspinor *d) {
  const int column = turn->group.begin + i;
  if (plan->prefetch) {
    hop_prefetch(plan, turn, mu, after, i);
    hop_prefetch_links(plan, turn, mu, i);
    if (__builtin_expect(!plan->bare, 0)) hop_prefetch_rest(plan, turn, 3 - mu, i);
  }
  hop_direction(plan, mu, turn->here, column, kind, 1, decoded, d);
  if (plan->prefetch) hop_prefetch(plan, turn, mu + 4, after, i);
  hop_direction(plan, mu + 4, turn->here, column, kind, 1, decoded, d);
}

/* A pair of directions goes through all columns of a group before the next pair does. So its data
 * are adjacent, only two links are read repeatedly, and the loop is short. A column is summed in
 * the order of hop_site. */
KAON_INLINE void hop_columns(const hop_plan *plan, const hop_turn *turn, const int kind,
                             const real *decoded, double *partials, int slot, site_late *late) {
  vspinor d[HOP_GROUP];
  const int count = turn->group.count;
#define HOP_PASS(mu, after) \
  for (int i = 0; i < count; i++) hop_pair(plan, turn, mu, after, i, kind, decoded, &d[i]);
  HOP_PASS(3, 2)
  HOP_PASS(2, 1)
  HOP_PASS(1, 0)
#undef HOP_PASS
  for (int i = 0; i < count; i++) {
    const int column = turn->group.begin + i;
    hop_pair(plan, turn, 0, 3, i, kind, decoded, &d[i]);
    site_drain_all(late);
    hop_leave(plan, turn->here->block, turn->here->part, column, &d[i],
              hop_sums(plan, partials, slot, column), late);
  }
}

/* All groups at a place, beginning with `group`. */
KAON_INLINE void hop_place_columns(const hop_plan *plan, const hop_place *here,
                                   const hop_place *there, const hop_group *group, const int kind,
                                   const real *decoded, double *partials, int slot,
                                   site_late *late) {
  hop_turn turn = {.here = here, .there = there, .group = *group};
  for (;;) {
    turn.next_group = group->last ? *group : hop_group_after(plan, &turn.group);
    turn.next_place = turn.group.last ? there : here;
    turn.lead = turn.group.count < plan->lead ? turn.group.count : plan->lead;
    hop_columns(plan, &turn, kind, decoded, partials, slot, late);
    if (turn.group.last) break;
    turn.group = turn.next_group;
  }
}

/* ---- loops over blocks ---- */

/* A block whose hops are not plain. kind: how its links are read. They are decoded once for all
 * columns, or again for each column. */
KAON_INLINE void hop_block_any(const hop_plan *plan, int64_t block, int64_t place, int slot,
                               const int kind, double *partials, site_late *late) {
  real decoded[kind == KAON_LINK_BUFFER ? KAON_DIRS * 18 * KAON_VL : 1]
      __attribute__((aligned(64)));
  for (int part = 0; part < KAON_PARTS; part++) {
    const hop_part_of here = {block, place, part};
    if (kind == KAON_LINK_BUFFER) hop_decode(plan, block, part, decoded);
    for (int k = 0; k < plan->args->nrhs; k++) {
      if (!kaon_inner_gate_open(&plan->args->gate, k)) continue;
      hop_site_any(plan, &here, k, kind, decoded, hop_sums(plan, partials, slot, k), late);
    }
  }
}

/* A block with decoded links that may need any kind of hop, among others that are plain. */
KAON_ONCE void hop_block_decoded(const hop_plan *plan, int64_t block, int64_t place, int slot,
                                 double *partials, site_late *late) {
  hop_block_any(plan, block, place, slot, KAON_LINK_BUFFER, partials, late);
}

/* Chunks of one of the two parts of a partitioned lattice. */
static inline int hop_part_chunks(int64_t blocks) {
  return blocks < KAON_REDUCE_CHUNKS / 2 ? (int)blocks : KAON_REDUCE_CHUNKS / 2;
}

static inline int hop_chunks(const hop_plan *plan) {
  return plan->blocks != NULL ? hop_part_chunks(plan->count) : kaon_chunk_count(plan->count);
}

static inline int64_t hop_chunk_begin(const hop_plan *plan, int chunk) {
  const int chunks = hop_chunks(plan);
  return plan->count * chunk / (chunks > 0 ? chunks : 1);
}

/* The part's block at `place`; outside the range, the block at that end. */
KAON_INLINE int64_t hop_block(const hop_plan *plan, int64_t place) {
  if (place >= plan->count) place = plan->count - 1;
  if (place < 0) place = 0;
  return plan->blocks != NULL ? plan->blocks[place] : place;
}

/* Plain hops; kind: how they read their links. */
KAON_INLINE void hop_run(const hop_plan *plan, const hop_walk *walk, double *partials,
                         const int kind, const int many) {
  real decoded[kind == KAON_LINK_BUFFER ? KAON_DIRS * 18 * KAON_VL : 1]
      __attribute__((aligned(64)));
  site_late late;
  late.to = NULL;
  hop_place places[2], *here = places, *there = places + 1;
  const hop_group group = hop_group_after(plan, NULL);
  hop_lookup(plan, hop_block(plan, walk->place), 0, many, here);
  for (int64_t i = 1; i <= walk->count; i++) {
    const int64_t block = here->block, after = hop_block(plan, walk->place + i * walk->step);
    if (plan->cut_dirs != NULL && plan->cut_dirs[block] != 0) {
      hop_block_decoded(plan, block, 0, walk->slot, partials, &late);
      hop_lookup(plan, after, 0, many, here);
      continue;
    }
    for (int part = 0; part < KAON_PARTS; part++) {
      const int last = part + 1 == KAON_PARTS;
      hop_lookup(plan, last ? after : block, last ? 0 : part + 1, many, there);
      if (kind == KAON_LINK_BUFFER) hop_decode(plan, block, part, decoded);
      if (many)
        hop_place_columns(plan, here, there, &group, kind, decoded, partials, walk->slot, &late);
      else if (kaon_inner_gate_open(&plan->args->gate, 0))
        hop_site(plan, here, there, kind, decoded, hop_sums(plan, partials, walk->slot, 0), &late);
      hop_place *left = here;
      here = there;
      there = left;
    }
  }
  site_drain_all(&late);
}

/* Hops that are not plain. */
KAON_INLINE void hop_run_any(const hop_plan *plan, const hop_walk *walk, double *partials,
                             const int kind) {
  site_late late;
  late.to = NULL;
  for (int64_t i = 0; i < walk->count; i++) {
    const int64_t place = walk->place + i * walk->step;
    const int64_t block = hop_block(plan, place);
    if (kind == KAON_LINK_BUFFER)
      hop_block_decoded(plan, block, place, walk->slot, partials, &late);
    else
      hop_block_any(plan, block, place, walk->slot, kind, partials, &late);
  }
  site_drain_all(&late);
}

/* Variants for one column and for many. With many columns links are decoded, except those that are
 * stored in the form in which they are used. */
#define HOP_RUN(name, kind, many)                                                            \
  static void hop_run_##name(const hop_plan *plan, const hop_walk *walk, double *partials) { \
    hop_run(plan, walk, partials, kind, many);                                               \
  }
HOP_RUN(18, KAON_LINK_18, 0)
HOP_RUN(12, KAON_LINK_12, 0)
HOP_RUN(decoded, KAON_LINK_BUFFER, 0)
#if !KAON_IS_HALF
HOP_RUN(18_many, KAON_LINK_18, 1)
#endif
HOP_RUN(decoded_many, KAON_LINK_BUFFER, 1)

#define HOP_RUN_ANY(name, kind)                                                                  \
  static void hop_run_any_##name(const hop_plan *plan, const hop_walk *walk, double *partials) { \
    hop_run_any(plan, walk, partials, kind);                                                     \
  }
HOP_RUN_ANY(decoded, KAON_LINK_BUFFER)
HOP_RUN_ANY(18, KAON_LINK_18)

typedef void hop_work(const hop_plan *plan, const hop_walk *walk, double *partials);

/* Hops are plain unless lanes must be gathered or read ghosts. Where gathering is the only
 * exception, one column with whole links has a variant without decoding. */
static hop_work *hop_choose(const hop_plan *plan) {
  const int many = plan->args->nrhs > 1;
  if (plan->gather != NULL && !plan->faced && !many && plan->recon == 18) return hop_run_any_18;
  if (plan->faced || plan->gather != NULL) return hop_run_any_decoded;
#if !KAON_IS_HALF
  if (many && plan->recon == 18) return hop_run_18_many;
#endif
  if (many) return hop_run_decoded_many;
  return plan->recon == 18 ? hop_run_18 : plan->recon == 12 ? hop_run_12 : hop_run_decoded;
}

/* Factors of the hops. The factor of the spatial hops is applied at the end. t has its own factor
 * divided by that one, the factor 2 of its projector, and the boundary signs. */
static void hop_factors(hop_plan *plan) {
  const kaon_stencil *st = plan->args->stencil;
  const double space = plan->args->coefficient[0], f = 2 * plan->args->coefficient[3] / space;
  plan->b = plan->args->b * space;
  plan->twist = plan->args->twist[1] * space;
  plan->rest = (real)((f - (double)(real)f) / f);
  if (st->faces != NULL) plan->ghost_factor = (real)(f * (double)st->faces->sign[3]);
  for (int mu = 0; mu < 4; mu++) {
    const int bit = st->exchange_bit[mu];
    plan->top[mu] = bit >= 0 && (1 << bit) == KAON_VL;
    plan->exchanges[mu] = plan->top[mu] ? 0 : KAON_NB_EXCHANGE;
    plan->exchange[mu] = v_exchange_index(bit >= 0 && (1 << bit) < KAON_VL ? bit : 0);
  }
  const int bit = st->exchange_bit[3];
  for (int back = 0; back < 2; back++)
    for (int l = 0; l < KAON_W; l++) {
      const int meets = plan->top[3] || bit < 0 ? l : l ^ (1 << bit);
      plan->factor[back][0][l] = (real)f;
      plan->factor[back][1][meets] = (real)(f * (double)st->boundary_sign[3 + 4 * back][l]);
    }
}

/* The part's blocks. Interior and boundary store their sums side by side, in half the chunks
 * each. */
static void hop_part(hop_plan *plan) {
  const kaon_hop_args *args = plan->args;
  const kaon_faces *faces = args->stencil->faces;
  const int p = args->parity;
  plan->blocks = NULL;
  plan->count = args->stencil->nblocks;
  plan->chunk_first = 0;
  if (args->list != NULL) {
    plan->blocks = args->list;
    plan->count = args->listed;
    return;
  }
  if (args->part == KAON_PART_ALL) return;
  const int inside = args->part == KAON_PART_INTERIOR;
  plan->blocks = inside ? faces->interior[p] : faces->boundary[p];
  plan->count = inside ? faces->interior_blocks[p] : faces->boundary_blocks[p];
  if (!inside) plan->chunk_first = hop_part_chunks(faces->interior_blocks[p]);
}

static void hop_sum(const hop_plan *plan, const double *partials) {
  const kaon_hop_args *args = plan->args;
  if (args->part == KAON_PART_INTERIOR) return;
  kaon_reduce_finish_chunks(partials, plan->chunk_first + hop_chunks(plan), args->nrhs, &args->gate,
                            &args->sum, 2);
}

typedef struct hop_job {
  const hop_plan *plan;
  hop_work *run;
  double *partials;
} hop_job;

/* A thread's share. Without sums it is a contiguous range of blocks, walked backward if the call
 * says so. With sums it is chunks with separate sums: each chunk is walked forward, the last chunk
 * first. */
static void hop_share(const void *job_, int t, int threads) {
  const hop_job *j = job_;
  const hop_plan *plan = j->plan;
  const int forward = !plan->args->backward, sums = plan->args->sum.state != NULL;
  const int64_t shared = sums ? hop_chunks(plan) : plan->count;
  const int64_t begin = shared * t / threads, end = shared * (t + 1) / threads;
  if (!sums && end > begin) {
    const hop_walk walk = {0, forward ? begin : end - 1, end - begin, forward ? 1 : -1};
    j->run(plan, &walk, j->partials);
  }
  for (int64_t i = begin; sums && i < end; i++) {
    const int chunk = (int)(forward ? i : begin + end - 1 - i);
    const int64_t first = hop_chunk_begin(plan, chunk);
    const hop_walk walk = {chunk + plan->chunk_first, first,
                           hop_chunk_begin(plan, chunk + 1) - first, 1};
    kaon_partial_clear(j->partials, walk.slot, plan->args->nrhs, 2);
    j->run(plan, &walk, j->partials);
  }
  v_stream_fence();
}

/* Counts the columns that take part, and chooses groups of nearly equal size. */
static void hop_count_columns(hop_plan *plan) {
  plan->open = 0;
  for (int k = 0; k < plan->args->nrhs; k++)
    plan->open += kaon_inner_gate_open(&plan->args->gate, k);
  const int open = plan->open > 0 ? plan->open : 1, groups = (open + HOP_GROUP - 1) / HOP_GROUP;
  plan->group = (open + groups - 1) / groups;
  plan->link_bytes = (int)(plan->reals * (int64_t)sizeof(stored));
  plan->link_piece = (plan->link_bytes + open * HOP_LINE - 1) / (open * HOP_LINE) * HOP_LINE;
}

void KAON_EXPORT(kaon_dslash_hop)(const kaon_launch *launch, const kaon_hop_args *args) {
  hop_plan plan;
  plan.args = args;
  plan.site =
      site_plan_make(launch, args->stencil, args->parity, args->nrhs, args->out, &args->sum);
  plan.site.w = args->w;
  plan.site.dot =
      args->sum.state != NULL && args->w.data != NULL && args->sum.slot[1] != KAON_NO_SLOT;
  plan.site.clover = args->clover;
  plan.site.clover_scale = args->clover_scale;
  if (args->dagger) {
    plan.site.upper = 12 * KAON_W;
    plan.site.lower = 0;
  }
  plan.table = args->stencil->neighbour[args->parity];
  plan.gather = args->stencil->gather[args->parity];
  const kaon_cuts *cuts = args->stencil->cuts;
  plan.cut_dirs = cuts != NULL ? cuts->dirs[args->parity] : NULL;
  plan.cut_lanes = cuts != NULL ? cuts->lanes[args->parity] : NULL;
  for (int dir = 0; dir < KAON_DIRS; dir++)
    plan.link[dir] =
        (const stored *)args->links[dir < 4 ? args->parity : 1 - args->parity] +
        kaon_link_index(0, dir & 3, 0, 0, kaon_matrix_blocks(args->stencil), args->recon, KAON_W);
  plan.spinors = (int64_t)args->nrhs * 24 * KAON_W;
  plan.reals = (int64_t)args->recon * KAON_W;
  plan.in = args->in.data;
  plan.recon = args->recon;
  hop_count_columns(&plan);
  plan.prefetch = plan.gather == NULL ? launch->prefetch : 0;
  plan.lead = plan.prefetch == 1 ? HOP_LEAD : HOP_LEAD_SECOND;
  hop_factors(&plan);
  plan.bare = plan.b == 1 && plan.twist == 0 && args->x.data == NULL && args->sum.state == NULL &&
              args->clover_on == KAON_CLOVER_NONE &&
              args->stencil->tail_lanes[args->parity] == KAON_W;
  hop_part(&plan);
  plan.faced = args->part == KAON_PART_BOUNDARY;
  const hop_job j = {&plan, hop_choose(&plan), launch->partials};
  kaon_team_run(kaon_team_of(launch, 24 * KAON_W * args->stencil->nblocks * args->nrhs), hop_share,
                &j);
  hop_sum(&plan, launch->partials);
}

const kaon_dslash_ops KAON_EXPORT(kaon_dslash_ops) = {
    .hop = KAON_EXPORT(kaon_dslash_hop),
    .clover = KAON_EXPORT(kaon_dslash_clover),
    .gather = KAON_EXPORT(kaon_dslash_gather),
    .free_blocks = KAON_EXPORT(kaon_dslash_free_blocks),
    .twist = KAON_EXPORT(kaon_dslash_twist),
    .inner = KAON_EXPORT(kaon_dslash_inner)};
