/* coarse.c - hops with dense matrices on the CPU (coarse_ops.h). A thread takes a block of sites
 * and as many columns as fit its buffers. Direction by direction it collects the neighbours'
 * numbers in the block's own lanes, and adds their products with the matrices (product.h). At last
 * come T, the numbers a and b, and the sums. */
#include "dslash/coarse/cpu/kernels.h"
#include "lib/cpu/reduce.h"
#include "lib/cpu/team.h"
#include "lib/math/vreal.h"

#include "dslash/coarse/cpu/product.h"
#include "dslash/cpu/gathered.h"
#include "lib/cpu/wide.h"
#include "lib/math/half.h"

/* Reals of a buffer, and columns that it holds at most. */
enum { HOP_ROOM = 8192, HOP_COLUMNS = 32 };

typedef struct hop_plan {
  const kaon_coarse_args *args;
  const uint32_t *table, *dropped; /* lanes of hops that are dropped; NULL: no hops are */
  const int32_t *gather;
  const kaon_faces *faces; /* of blocks that read ghosts; else NULL */
  int top[4];              /* mu is divided by the lane bit that selects the part of a block */
  vperm exchange[4];
  int dot;
  const int32_t *blocks; /* the blocks of a part of a divided lattice; NULL: all */
  int64_t count;         /* number of blocks */
  int chunk_first;       /* index of the part's first chunk among the partial sums */
} hop_plan;

/* The columns of a block that are worked on together. */
typedef struct hop_group {
  int count, column[HOP_COLUMNS];
  real *sums[HOP_COLUMNS], *room[HOP_COLUMNS], *more[HOP_COLUMNS]; /* in three buffers */
} hop_group;

/* Index of the first number of a block's column, in fields of vectors. */
KAON_INLINE int64_t hop_numbers_at(const kaon_coarse_args *a, int64_t block, int column) {
  return (block * a->nrhs + column) * a->reals * KAON_W;
}

static coarse_matrix hop_matrix_of(const kaon_coarse_args *a, kaon_view field, int64_t block) {
  const int64_t at = block * (a->reals / 2) * a->reals * KAON_W;
  return (coarse_matrix){
      .data = (const char *)field.data +
              at * (a->half_matrices ? (int64_t)sizeof(int16_t) : (int64_t)sizeof(real)),
      .half = a->half_matrices,
      .reals = a->reals};
}

/* ---- the neighbours' numbers ---- */

/* to = from with the lanes exchanged in mu. */
static void hop_exchange_lanes(const hop_plan *plan, int mu, const real *from, real *to) {
  for (int c = 0; c < plan->args->reals; c++)
    for (int part = 0; part < KAON_PARTS; part++) {
      const int other = KAON_PARTS > 1 && plan->top[mu] ? !part : part;
      const vreal v = v_load_real(from + c * KAON_W + other * KAON_VL);
      v_store_real(to + c * KAON_W + part * KAON_VL,
                   other != part ? v : v_exchange(v, plan->exchange[mu]));
    }
}

/* Stores the ghosts that lanes of the boundary block at `place` read. */
static void hop_take_ghosts(const hop_plan *plan, int64_t place, int dir, int column, real *to) {
  const kaon_coarse_args *a = plan->args;
  const int side = plan->faces->group[dir & 3];
  const uint32_t lanes = plan->faces->lanes[a->parity][place * KAON_DIRS + dir];
  int64_t n = plan->faces->first[a->parity][place * KAON_DIRS + dir];
  for (int lane = 0; lane < KAON_W; lane++) {
    if (!(lanes >> lane & 1)) continue;
    const real *p = (const real *)a->ghost[dir].data +
                    kaon_ghost_index(n++, column, 0, a->nrhs, a->reals, side);
    for (int c = 0; c < a->reals; c++) to[c * KAON_W + lane] = p[c * side];
  }
}

/* The numbers that a block's hops in a direction read: in the field itself, or in `room`, where
 * dropped lanes are 0. */
static const real *hop_neighbours(const hop_plan *plan, int64_t block, int64_t place, int dir,
                                  int column, real *room) {
  const kaon_coarse_args *a = plan->args;
  const int64_t at = block * KAON_DIRS + dir;
  const uint32_t entry = plan->table[at], dropped = plan->dropped != NULL ? plan->dropped[at] : 0;
  const real *from = (const real *)a->in.data + hop_numbers_at(a, entry >> KAON_NB_SHIFT, column);
  const int ghosts =
      plan->faces != NULL && plan->faces->lanes[a->parity][place * KAON_DIRS + dir] != 0;
  if (entry & KAON_NB_GATHER)
    for (int part = 0; part < KAON_PARTS; part++)
      gathered(plan->gather + at * KAON_W + part * KAON_VL, a->in.data,
               (int64_t)a->nrhs * a->reals * KAON_W, (int64_t)column * a->reals * KAON_W, a->reals,
               0, room + part * KAON_VL);
  else if (KAON_W > 1 && entry & KAON_NB_EXCHANGE)
    hop_exchange_lanes(plan, dir & 3, from, room);
  else if (!ghosts && dropped == 0)
    return from;
  else
    for (int i = 0; i < a->reals * KAON_W; i++) room[i] = from[i];
  if (ghosts) hop_take_ghosts(plan, place, dir, column, room);
  for (int lane = 0; lane < KAON_W && dropped != 0; lane++)
    for (int c = 0; c < a->reals && dropped >> lane & 1; c++) room[c * KAON_W + lane] = 0;
  return room;
}

/* ---- products ---- */

/* Half matrices: room = in times the units of the matrix's columns. */
static const real *hop_times_units(const kaon_coarse_args *a, kaon_view field, int64_t block,
                                   const real *in, real *room) {
#if defined(KAON_PREC_SINGLE)
  const float *scale = field.scale + block * (a->reals / 2) * KAON_W;
  for (int j = 0; j < a->reals / 2; j++, scale += KAON_W) {
    const vreal unit = v_load_float(scale) * v_set(KAON_HALF_STEP);
    for (int i = 2 * j * KAON_W; i < 2 * (j + 1) * KAON_W; i += KAON_W)
      v_store_real(room + i, v_load_real(in + i) * unit);
  }
#else
  (void)a, (void)field, (void)block, (void)in;
#endif
  return room;
}

/* out += M in for the columns of a group; in[k] may be room[k]. */
static void hop_add_product(const kaon_coarse_args *a, kaon_view field, int64_t block, int count,
                            const real *const *in, real *const *room, real *const *out) {
  const coarse_matrix m = hop_matrix_of(a, field, block);
  const real *scaled[HOP_COLUMNS];
  for (int k = 0; k < count && a->half_matrices; k++)
    scaled[k] = hop_times_units(a, field, block, in[k], room[k]);
  coarse_multiply(&m, count, a->half_matrices ? scaled : in, out);
}

static void hop_clear(const kaon_coarse_args *a, int count, real *const *sums) {
  for (int k = 0; k < count; k++)
    for (int i = 0; i < a->reals * KAON_W; i++) sums[k][i] = 0;
}

/* g->sums = D in */
static void hop_add_all(const hop_plan *plan, const hop_group *g, int64_t block, int64_t place) {
  const kaon_coarse_args *a = plan->args;
  hop_clear(a, g->count, g->sums);
  for (int dir = 0; dir < KAON_DIRS && a->hop[0].data != NULL; dir++) {
    const real *in[HOP_COLUMNS];
    if (plan->dropped != NULL && plan->dropped[block * KAON_DIRS + dir] == UINT32_MAX) continue;
    for (int k = 0; k < g->count; k++)
      in[k] = hop_neighbours(plan, block, place, dir, g->column[k], g->room[k]);
    hop_add_product(a, a->hop[dir], block, g->count, in, g->room, g->sums);
  }
}

/* ---- results ---- */

/* out = a x + b d, which may all be one array; NULL: no such term. */
static void hop_combine(const kaon_coarse_args *args, double a, const real *x, double b,
                        const real *d, real *out) {
  const vreal va = v_set(a), vb = v_set(b);
  for (int i = 0; i < args->reals * KAON_W; i += KAON_VL) {
    vreal v = d != NULL ? vb * v_load_real(d + i) : v_set(0);
    if (x != NULL) v = v_fma(va, v_load_real(x + i), v);
    v_store_real(out + i, v);
  }
}

/* Adds |out|^2 and conj(w) out to a column's sums. */
static void hop_add_sums(const hop_plan *plan, const real *w, const real *out, double *sums) {
  vwide norm = w_zero(), re = w_zero(), im = w_zero();
  for (int part = 0; part < KAON_PARTS; part++)
    for (int c = 0; c < plan->args->reals; c += 2) {
      const int at = c * KAON_W + part * KAON_VL;
      const vwide y = w_from(v_load_real(out + at)), z = w_from(v_load_real(out + at + KAON_W));
      norm = w_fma(z, z, w_fma(y, y, norm));
      if (!plan->dot) continue;
      const vwide p = w_from(v_load_real(w + at)), q = w_from(v_load_real(w + at + KAON_W));
      re = w_fma(q, z, w_fma(p, y, re));
      im = w_fnma(q, y, w_fma(p, z, im));
    }
  if (plan->args->sum.slot[0] != KAON_NO_SLOT) sums[0] += w_sum(norm);
  if (!plan->dot) return;
  sums[2] += w_sum(re);
  sums[3] += w_sum(im);
}

static void hop_mask_tail(const hop_plan *plan, int64_t block, real *out) {
  const kaon_coarse_args *a = plan->args;
  if (block != a->stencil->nblocks - 1) return;
  for (int lane = a->stencil->tail_lanes[a->parity]; lane < KAON_W; lane++)
    for (int c = 0; c < a->reals; c++) out[c * KAON_W + lane] = 0;
}

/* T of something for all columns, in g->more. */
static void hop_apply_site(const kaon_coarse_args *a, const hop_group *g, int64_t block,
                           const real *const *in) {
  hop_clear(a, g->count, g->more);
  hop_add_product(a, a->site, block, g->count, in, g->room, g->more);
}

/* Writes the results of a group and adds their sums. */
static void hop_finish(const hop_plan *plan, const hop_group *g, int64_t block, double *sums) {
  const kaon_coarse_args *a = plan->args;
  const int hops = a->hop[0].data != NULL, both = a->on == KAON_SITE_ON_BOTH;
  const real *x[HOP_COLUMNS];
  for (int k = 0; k < g->count; k++) {
    x[k] =
        a->x.data != NULL ? (const real *)a->x.data + hop_numbers_at(a, block, g->column[k]) : NULL;
    if (both) hop_combine(a, a->a, x[k], a->b, hops ? g->sums[k] : NULL, g->sums[k]);
  }
  if (a->on != KAON_SITE_NOWHERE)
    hop_apply_site(a, g, block, a->on == KAON_SITE_ON_X ? x : (const real *const *)g->sums);
  for (int k = 0; k < g->count; k++) {
    const int64_t at = hop_numbers_at(a, block, g->column[k]);
    real *out = (real *)a->out.data + at;
    const real *d = hops ? g->sums[k] : NULL;
    if (both)
      hop_combine(a, 0, NULL, 1, g->more[k], out);
    else if (a->on == KAON_SITE_ON_X)
      hop_combine(a, a->a, g->more[k], a->b, d, out);
    else
      hop_combine(a, a->a, x[k], a->b, a->on == KAON_SITE_ON_HOP ? g->more[k] : d, out);
    hop_mask_tail(plan, block, out);
    if (sums != NULL)
      hop_add_sums(plan, plan->dot ? (const real *)a->w.data + at : NULL, out,
                   sums + 4 * g->column[k]);
  }
}

/* ---- blocks ---- */

/* The next open columns from `first` on; returns the column after them. */
static int hop_take_columns(const kaon_coarse_args *a, int first, hop_group *g) {
  const int fit = HOP_ROOM / (a->reals * KAON_W), most = fit < HOP_COLUMNS ? fit : HOP_COLUMNS;
  g->count = 0;
  for (; first < a->nrhs && g->count < most; first++)
    if (kaon_gate_open(&a->gate, first)) g->column[g->count++] = first;
  return first;
}

/* A part has at most half as many chunks: interior and boundary store their sums side by side. */
static int hop_part_chunks(int64_t blocks) {
  return blocks < KAON_REDUCE_CHUNKS / 2 ? (int)blocks : KAON_REDUCE_CHUNKS / 2;
}

static int hop_chunks_of(const hop_plan *plan) {
  return plan->blocks != NULL ? hop_part_chunks(plan->count) : kaon_chunk_count(plan->count);
}

static void hop_chunk(const hop_plan *plan, int chunk, double *partials) {
  const kaon_coarse_args *a = plan->args;
  const int chunks = hop_chunks_of(plan);
  const int64_t begin = plan->count * chunk / chunks, end = plan->count * (chunk + 1) / chunks;
  real buffer[3][HOP_ROOM] __attribute__((aligned(64)));
  double *sums = NULL;
  hop_group g;
  for (int k = 0; k < HOP_COLUMNS && (k + 1) * a->reals * KAON_W <= HOP_ROOM; k++) {
    g.sums[k] = buffer[0] + k * a->reals * KAON_W;
    g.room[k] = buffer[1] + k * a->reals * KAON_W;
    g.more[k] = buffer[2] + k * a->reals * KAON_W;
  }
  if (a->sum.state != NULL) {
    kaon_partial_clear(partials, plan->chunk_first + chunk, a->nrhs, 2);
    sums = kaon_partial(partials, plan->chunk_first + chunk, 0, a->nrhs, 2);
  }
  for (int64_t place = begin; place < end; place++)
    for (int first = 0; first < a->nrhs;) {
      const int64_t block = plan->blocks != NULL ? plan->blocks[place] : place;
      first = hop_take_columns(a, first, &g);
      if (g.count == 0) continue;
      hop_add_all(plan, &g, block, place);
      hop_finish(plan, &g, block, sums);
    }
}

static void hop_choose_part(hop_plan *plan) {
  const kaon_coarse_args *a = plan->args;
  const kaon_faces *faces = a->stencil->faces;
  const int inside = a->part == KAON_PART_INTERIOR;
  plan->count = a->stencil->nblocks;
  if (a->part == KAON_PART_ALL) return;
  plan->blocks = inside ? faces->interior[a->parity] : faces->boundary[a->parity];
  plan->count = inside ? faces->interior_blocks[a->parity] : faces->boundary_blocks[a->parity];
  if (inside) return;
  plan->faces = faces;
  plan->chunk_first = hop_part_chunks(faces->interior_blocks[a->parity]);
}

typedef struct hop_job {
  const hop_plan *plan;
  int chunks;
  double *partials;
} hop_job;

static void hop_share(const void *job_, int t, int threads) {
  const hop_job *j = job_;
  const int end = (int)((int64_t)j->chunks * (t + 1) / threads);
  for (int chunk = (int)((int64_t)j->chunks * t / threads); chunk < end; chunk++)
    hop_chunk(j->plan, chunk, j->partials);
}

static void KAON_EXPORT(coarse_hop)(const kaon_launch *launch, const kaon_coarse_args *args) {
  const kaon_stencil *st = args->stencil;
  hop_plan plan = {.args = args,
                   .table = st->neighbour[args->parity],
                   .gather = st->gather[args->parity],
                   .dropped = st->cuts != NULL ? st->cuts->lanes[args->parity] : NULL};
  hop_choose_part(&plan);
  plan.dot = args->sum.state != NULL && args->w.data != NULL && args->sum.slot[1] != KAON_NO_SLOT;
  for (int mu = 0; mu < 4; mu++) {
    const int bit = st->exchange_bit[mu];
    plan.top[mu] = bit >= 0 && (1 << bit) == KAON_VL;
    plan.exchange[mu] = v_exchange_index(bit >= 0 && (1 << bit) < KAON_VL ? bit : 0);
  }
  const int chunks = hop_chunks_of(&plan);
  const hop_job j = {&plan, chunks, launch->partials};
  const int64_t reals = st->nblocks * KAON_W * args->reals * args->reals;
  kaon_team_run(kaon_team_of(launch, reals * args->nrhs), hop_share, &j);
  if (args->part != KAON_PART_INTERIOR)
    kaon_reduce_finish_chunks(launch->partials, plan.chunk_first + chunks, args->nrhs, &args->gate,
                              &args->sum, 2);
}

const kaon_coarse_ops KAON_EXPORT(kaon_coarse_ops) = {
    .hop = KAON_EXPORT(coarse_hop),
    .gather = KAON_EXPORT(kaon_coarse_gather),
    .inverse = KAON_EXPORT(kaon_coarse_inverse),
    .collect = KAON_EXPORT(kaon_coarse_collect),
    .spread = KAON_EXPORT(kaon_coarse_spread),
    .dense = KAON_EXPORT(kaon_coarse_dense),
    .add_to_matrix = KAON_EXPORT(kaon_coarse_add_to_matrix),
    .take_from_matrix = KAON_EXPORT(kaon_coarse_take_from_matrix),
    .column_norms = KAON_EXPORT(kaon_coarse_column_norms),
};
