/* choose.c - the rows of the GPU kernels of hops and clover blocks, the choice among them, and the
 * tables of dslash_ops.h and staggered_ops.h. Needs no device and no CUDA header. */
#include "dslash/cuda/choose.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "dslash/cuda/kernels.h"
#include "lib/core/context_internal.h"
#include "lib/cuda/backend.h"
#include "lib/cuda/lanes.h"
#include "lib/cuda/ranks/boxes.h"

static const int bytes_of[3] = {8, 4, 2};
static const char *const precision_name[3] = {"double", "single", "half"};

/* ---- when a kernel pays off ---- */

/* Two warps share sites: few sites times columns, or a tuning result. */
static int few_sites(const kaon_kernel_question *q) {
  if (q->tuned.threads != 0) return q->tuned.threads == PAIR_CHOICE;
  return q->stencil->nsites * q->columns <= (q->precision == KAON_DOUBLE ? 1 << 14 : 1 << 15);
}

/* Enough columns, and enough tiles to fill a device; or a tuning result, whose group is then the
 * number of columns of a block. */
enum { STAGE_REQUESTED = 4, STAGE_TILES = 256 };
static int stage_requested(const kaon_launch_shape *tuned) {
  return tuned->group >= STAGE_REQUESTED && tuned->group <= STAGE_COLUMNS;
}
static int many_columns(const kaon_kernel_question *q) {
  if (stage_requested(&q->tuned)) return 1;
  return q->tuned.threads == 0 && q->tuned.group == 0 &&
         q->columns >= (q->precision == KAON_DOUBLE ? 8 : 4) &&
         q->stencil->nsites / STAGE_CELLS >= STAGE_TILES;
}

/* ---- the rows ---- */

enum {
  WHOLE = 1u << KAON_PART_ALL,
  DIVIDED = 1u << KAON_PART_INTERIOR | 1u << KAON_PART_BOUNDARY | 1u << KAON_PART_FUSED |
            1u << KAON_PART_GATHER,
  UNCUT = 1u << DROPS_NONE,
  CUT = 1u << DROPS_BETWEEN,
  ALONG = 1u << DROPS_OTHERS,
  LINKS_18 = 1u << 0,
  LINKS = 7u, /* of any storage */
  NO_CLOVER = 1u << KAON_CLOVER_NONE,
  CLOVER_ON_HOP = 1u << KAON_CLOVER_ON_HOP,
  CLOVER = 7u, /* anywhere */
  SUMS = KAON_SUMS_NORM | KAON_SUMS_DOT,
  /* sites for which there is space for one partial sum of each block */
  PAIR_SITES = KAON_REDUCE_CHUNKS * KAON_REDUCE_MAX / 4 * KAON_LANES
};
#define EACH(value) \
  { value, value, value }
#define LAUNCHERS_OF(name, prec) \
  { name##_18_cuda_##prec, name##_12_cuda_##prec, name##_8_cuda_##prec }
#define LAUNCHERS(name) \
  { LAUNCHERS_OF(name, d), LAUNCHERS_OF(name, s), LAUNCHERS_OF(name, h) }

/* What rows share: kernels whose threads update a site, in one column; whose warps share sites. */
#define SITE_ROW .links = EACH(LINKS), .least_threads = EACH(SITE_THREADS / 2)
#define PAIR_ROW                                                                         \
  .parts = WHOLE, .dropped = UNCUT, .links = EACH(LINKS), .most_sites = PAIR_SITES,      \
  .pays = few_sites, .least_threads = EACH(PAIR_THREADS), .threads = EACH(PAIR_THREADS), \
  .columns = EACH(1)
#define SITE_COLUMN_ROW SITE_ROW, .threads = EACH(SITE_THREADS), .columns = EACH(1)

const kaon_kernel_row kaon_hop_rows[HOP_KERNELS] = {
    [HOP_ALONG] = {.name = "hop_along",
                   .when = "hops in one direction alone",
                   .parts = WHOLE | DIVIDED,
                   .dropped = ALONG,
                   SITE_COLUMN_ROW,
                   .clover = NO_CLOVER,
                   .rounded = 1,
                   .writes = KAON_WRITES_OUT,
                   .hop = LAUNCHERS(kaon_hop_along)},
    [HOP_FACES] = {.name = "hop_faces",
                   .when = "the lattice is partitioned",
                   .parts = DIVIDED,
                   .dropped = UNCUT | ALONG, /* ALONG: gathers its messages */
                   SITE_COLUMN_ROW,
                   .clover = CLOVER,
                   .rounded = 1,
                   .writes = KAON_WRITES_OUT | SUMS | KAON_WRITES_MESSAGES,
                   .hop = LAUNCHERS(kaon_hop_faces)},
    [HOP_CUT] = {.name = "hop_cut",
                 .when = "hops between blocks are omitted",
                 .parts = WHOLE,
                 .dropped = CUT,
                 SITE_COLUMN_ROW,
                 .clover = CLOVER,
                 .rounded = 1,
                 .writes = KAON_WRITES_OUT,
                 .hop = LAUNCHERS(kaon_hop_cut)},
    [HOP_PAIR] = {.name = "hop_pair",
                  .when = "few sites, or tuning: two warps share 32 sites",
                  PAIR_ROW,
                  .clover = NO_CLOVER | CLOVER_ON_HOP,
                  .writes = KAON_WRITES_OUT | SUMS,
                  .hop = LAUNCHERS(kaon_hop_pair)},
    /* The registers have no space for clover blocks, 72 reals a site. Reading them for each column
     * would take more time than is saved. In double there is none for links of 18 reals either. */
    [HOP_STAGED] = {.name = "hop_staged",
                    .when = "many columns, or tuning: links stay in registers",
                    .parts = WHOLE,
                    .dropped = UNCUT,
                    .links = {LINKS & ~LINKS_18, LINKS, LINKS},
                    .clover = NO_CLOVER,
                    .tile = {16, 4, 2, 2},
                    .shared_bytes = {STAGE_SHARED(8), STAGE_SHARED(4), STAGE_SHARED(2)},
                    .pays = many_columns,
                    .writes = KAON_WRITES_OUT | SUMS,
                    .least_threads = {STAGE_CELLS * STAGE_SIDES_OF(8), STAGE_CELLS, STAGE_CELLS},
                    .threads = {STAGE_CELLS * STAGE_SIDES_OF(8), STAGE_CELLS, STAGE_CELLS},
                    .columns = EACH(STAGE_COLUMNS),
                    .hop = {{NULL, kaon_hop_staged_12_cuda_d, kaon_hop_staged_8_cuda_d},
                            LAUNCHERS_OF(kaon_hop_staged, s),
                            LAUNCHERS_OF(kaon_hop_staged, h)}},
    [HOP_SITE] = {.name = "hop_kernel",
                  .when = "a thread updates a site",
                  .parts = WHOLE,
                  .dropped = UNCUT,
                  SITE_ROW,
                  .clover = CLOVER,
                  .rounded = 1,
                  .writes = KAON_WRITES_OUT | SUMS,
                  .threads = EACH(SITE_THREADS),
                  .columns = {SITE_COLUMNS(8), SITE_COLUMNS(4), SITE_COLUMNS(2)},
                  .hop = LAUNCHERS(kaon_hop)}};

const kaon_kernel_row kaon_staggered_rows[STAGGERED_KERNELS] = {
    /* Its groups of columns are those of the messages' kernel, which counts them. */
    [STAGGERED_ALONG] = {.name = "staggered_along",
                         .when = "hops in one direction alone",
                         .parts = WHOLE | DIVIDED,
                         .dropped = ALONG,
                         SITE_ROW,
                         .clover = NO_CLOVER,
                         .writes = KAON_WRITES_OUT,
                         .threads = EACH(SITE_THREADS),
                         .columns = {FACES_COLUMNS(8), FACES_COLUMNS(4), FACES_COLUMNS(2)},
                         .staggered = LAUNCHERS(kaon_staggered_along)},
    [STAGGERED_FACES] = {.name = "staggered_faces",
                         .when = "the lattice is partitioned",
                         .parts = DIVIDED,
                         .dropped = UNCUT | ALONG,
                         SITE_ROW,
                         .clover = NO_CLOVER,
                         .writes = KAON_WRITES_OUT | SUMS | KAON_WRITES_MESSAGES,
                         .threads = EACH(SITE_THREADS),
                         .columns = {FACES_COLUMNS(8), FACES_COLUMNS(4), FACES_COLUMNS(2)},
                         .staggered = LAUNCHERS(kaon_staggered_faces)},
    [STAGGERED_SITE] = {.name = "staggered_kernel",
                        .when = "a thread updates a site",
                        .parts = WHOLE,
                        .dropped = UNCUT,
                        SITE_ROW,
                        .clover = NO_CLOVER,
                        .writes = KAON_WRITES_OUT | SUMS,
                        .threads = {SITE_THREADS, SITE_THREADS, 2 * SITE_THREADS},
                        .columns = EACH(STAGGERED_MANY),
                        .staggered = LAUNCHERS(kaon_staggered)}};

const kaon_kernel_row kaon_clover_rows[CLOVER_KERNELS] = {
    [CLOVER_PAIR] = {.name = "hop_pair, clover blocks alone",
                     .when = "few sites: two warps share 32 sites",
                     PAIR_ROW,
                     .clover = NO_CLOVER,
                     .writes = KAON_WRITES_OUT | KAON_SUMS_NORM | KAON_WRITES_UPDATED,
                     .block = {kaon_clover_pair_cuda_d, kaon_clover_pair_cuda_s,
                               kaon_clover_pair_cuda_h}},
    [CLOVER_SITE] = {.name = "clover",
                     .when = "a thread updates a site",
                     .parts = WHOLE,
                     .dropped = UNCUT,
                     SITE_COLUMN_ROW,
                     .clover = NO_CLOVER,
                     .writes = KAON_WRITES_OUT | KAON_SUMS_NORM,
                     .block = {kaon_dslash_clover_cuda_d, kaon_dslash_clover_cuda_s,
                               kaon_dslash_clover_cuda_h}}};

/* ---- the choice ---- */

/* What a part of a hop writes at least: bits KAON_WRITES_.... */
static int needs_of(int part) {
  return (part != KAON_PART_GATHER ? KAON_WRITES_OUT : 0) |
         (part == KAON_PART_GATHER || part == KAON_PART_FUSED ? KAON_WRITES_MESSAGES : 0);
}

static int accepts(const kaon_kernel_row *row, const kaon_kernel_question *q) {
  const int64_t shared = row->shared_bytes[q->precision];
  if (needs_of(q->part) & ~row->writes) return 0;
  if (!(row->parts >> q->part & 1) || !(row->dropped >> q->dropped & 1) ||
      !(row->links[q->precision] >> q->links & 1) || !(row->clover >> q->clover_on & 1) ||
      (q->rounded && !row->rounded))
    return 0;
  if (row->most_sites > 0 && q->stencil->nsites > row->most_sites) return 0;
  if (row->pays != NULL && !row->pays(q)) return 0;
  for (int mu = 0; mu < 4; mu++)
    if (row->tile[mu] > 0 && q->stencil->extents[mu] % row->tile[mu] != 0) return 0;
  return shared == 0 || shared <= kaon_cuda_shared_bytes();
}

/* The first row that accepts. There always is one, since the most general rows have no limits. */
static const kaon_kernel_row *row_for(const kaon_kernel_row *row, const kaon_kernel_question *q) {
  while (!accepts(row, q)) row++;
  return row;
}

static int links_of(int recon) {
  return recon == 18 ? 0 : recon == 12 ? 1 : 2;
}

static int dropped_of(const kaon_stencil *st) {
  const int cut = st->cut[0] != 0 || st->cut[1] != 0 || st->cut[2] != 0 || st->cut[3] != 0;
  return st->along != 0 ? DROPS_OTHERS : cut ? DROPS_BETWEEN : DROPS_NONE;
}

/* 1 if the kernel's factor in some direction, which is the coefficient and in t the projector's 2,
 * has a remainder in single (hop_kernel.h, call_of). */
static int is_rounded(const double coefficient[4]) {
  for (int mu = 0; mu < 4; mu++) {
    const double f = coefficient[mu] * (mu == 3 ? 2 : 1);
    if (f != (double)(float)f) return 1;
  }
  return 0;
}

static int64_t tiles_of(uint32_t sites, int threads) {
  return ((int64_t)sites + threads - 1) / threads;
}

/* Blocks of a column: a block for each tile of sites. */
static int64_t blocks_of(const kaon_hop_args *args, int threads) {
  const kaon_stencil *st = args->stencil;
  if (args->part == KAON_PART_ALL) return tiles_of((uint32_t)st->sites[args->parity], threads);
  const kaon_sites sites = kaon_sites_of(st, args->parity);
  const kaon_boxes boxes = kaon_boxes_of(&sites, st->faces->partitioned);
  int64_t blocks = 0;
  for (int i = 0; i <= boxes.slabs; i++) blocks += tiles_of(boxes.box[i].sites, threads);
  return blocks;
}

/* 1 if a NORM kernel suffices, that is, if at most |out|^2 of one column is wanted and there is
 * memory for the tagged sums of all blocks (lib/cuda/reduction/reduce.h). */
static int norm_alone(const kaon_launch *launch, const kaon_hop_args *args, int threads) {
  const int dot = args->w.data != NULL && args->sum.slot[1] != KAON_NO_SLOT;
  return launch->marked != NULL && !dot && blocks_of(args, threads) <= KAON_MARKED_SUMS / 2;
}

/* The sums of hop_kernel and hop_faces, one column at a time. */
static int site_sums(const kaon_launch *launch, const kaon_hop_args *args,
                     const kaon_kernel_question *q, int threads) {
  const int bytes = bytes_of[q->precision];
  if (q->rounded) return SUMS_ALL;
  if (args->sum.state == NULL) return SITE_HAS_PLAIN(bytes, args->recon) ? SUMS_NONE : SUMS_ALL;
  return SITE_HAS_NORM(bytes) && norm_alone(launch, args, threads) ? SUMS_NORM : SUMS_ALL;
}

/* Threads of a block: the result of kaon tune, or the default for so many sites. */
static int threads_of(const kaon_kernel_row *row, const kaon_kernel_question *q, int64_t sites) {
  const int least = row->least_threads[q->precision], most = row->threads[q->precision];
  if (least == most) return most;
  if (q->tuned.threads == least || q->tuned.threads == most) return q->tuned.threads;
  return site_threads((uint32_t)sites);
}

kaon_kernel_choice kaon_hop_choose(kaon_precision precision, const kaon_launch *launch,
                                   const kaon_hop_args *args) {
  const kaon_kernel_question q = {
      .precision = precision,
      .links = links_of(args->recon),
      .part = args->part,
      .dropped = dropped_of(args->stencil),
      .clover_on = args->clover_on,
      .columns = args->nrhs,
      .rounded = precision != KAON_DOUBLE && is_rounded(args->coefficient),
      .stencil = args->stencil,
      .tuned = launch->tuned};
  const kaon_kernel_row *row = row_for(kaon_hop_rows, &q);
  const int staged = row == &kaon_hop_rows[HOP_STAGED], site = row == &kaon_hop_rows[HOP_SITE];
  kaon_kernel_choice c = {.row = row,
                          .links = q.links,
                          .threads = threads_of(row, &q, args->stencil->sites[args->parity]),
                          .group = 1,
                          .groups = q.columns,
                          .beside = 1,
                          .sums = args->sum.state != NULL ? SUMS_ALL : SUMS_NONE,
                          .rounded = q.rounded};
  if (site || row == &kaon_hop_rows[HOP_FACES]) c.sums = site_sums(launch, args, &q, c.threads);
  if (site && !q.rounded) {
    c.group = row->columns[precision];
    c.groups = q.tuned.group == 1 ? 0 : q.columns / c.group;
  } else if (staged) {
    const int most = stage_requested(&q.tuned) ? q.tuned.group : row->columns[precision];
    c.groups = (q.columns + most - 1) / most;
    c.group = (q.columns + c.groups - 1) / c.groups;
  }
  return c;
}

kaon_kernel_choice kaon_clover_choose(kaon_precision precision, const kaon_stencil *stencil,
                                      int parity, int columns) {
  const kaon_kernel_question q = {.precision = precision, .columns = columns, .stencil = stencil};
  const kaon_kernel_row *row = row_for(kaon_clover_rows, &q);
  return (kaon_kernel_choice){.row = row,
                              .threads = threads_of(row, &q, stencil->sites[parity]),
                              .group = 1,
                              .groups = columns,
                              .beside = 1};
}

/* The storage of the links for which a kernel is compiled. */
static int staggered_recon(const kaon_staggered_args *args) {
  return args->naik.links[0] != NULL ? args->naik.recon : args->fat.recon;
}

kaon_kernel_choice kaon_staggered_choose(kaon_precision precision,
                                         const kaon_staggered_args *args) {
  const int columns = args->nrhs, many = columns > 1;
  const kaon_kernel_question q = {.precision = precision,
                                  .links = links_of(staggered_recon(args)),
                                  .part = args->part,
                                  .dropped = dropped_of(args->stencil),
                                  .columns = columns,
                                  .stencil = args->stencil};
  const kaon_kernel_row *row = row_for(kaon_staggered_rows, &q);
  const int whole = row == &kaon_staggered_rows[STAGGERED_SITE];
  const int most = many ? row->columns[precision] : 1;
  kaon_kernel_choice c = {.row = row, .links = q.links, .beside = 1};
  c.groups = (columns + most - 1) / most;
  c.group = (columns + c.groups - 1) / c.groups;
  c.threads = site_threads((uint32_t)args->stencil->sites[args->parity]);
  if (many && row->threads[precision] > SITE_THREADS) { /* a block holds two groups */
    c.threads *= 2;
    if (c.groups % 2 == 0) c.beside = 2;
  }
  const int plain = !many && (whole || FACES_HAS_PLAIN(bytes_of[precision]));
  c.sums = args->sum.state == NULL && plain ? SUMS_NONE : SUMS_ALL;
  return c;
}

/* ---- what callers ask ---- */

/* Sites from which a hop of one column leaves (w, out) to a separate kernel: a hop without (w, out)
 * fits half as many sites again on the device at a time. In double there is no such kernel for
 * 12-real links. */
enum { SEPARATE_DOT = 1 << 17 };

static int hop_writes(kaon_precision precision, const kaon_stencil *st, int columns) {
  static const int rows[] = {
      [DROPS_NONE] = HOP_SITE, [DROPS_BETWEEN] = HOP_CUT, [DROPS_OTHERS] = HOP_ALONG};
  const int writes = kaon_hop_rows[rows[dropped_of(st)]].writes;
  const int separate = precision != KAON_DOUBLE && columns == 1 && st->nsites >= SEPARATE_DOT;
  return separate ? writes & ~KAON_SUMS_DOT : writes;
}

static int clover_writes(kaon_precision precision, const kaon_stencil *st, int columns) {
  return kaon_clover_choose(precision, st, 0, columns).row->writes;
}

/* Logs the choice, if that is wanted. */
static void log_choice(const kaon_launch *launch, const kaon_kernel_choice *c,
                       kaon_precision precision, int recon, int columns, const kaon_stencil *st) {
  static const char *const sums[] = {"none", "|out|^2", "all"};
  char text[384];
  if (launch->log == NULL) return;
  snprintf(
      text, sizeof text,
      "hop in %s on %d x %d x %d x %d sites, reals of a link: %d, columns: %d. Kernel %s (%s). "
      "Threads of a block: %d, columns at a time: %d, sums: %s",
      precision_name[precision], st->extents[0], st->extents[1], st->extents[2], st->extents[3],
      recon, columns, c->row->name, c->row->when, c->threads, c->groups > 0 ? c->group : 1,
      sums[c->sums]);
  kaon_log_once(launch->log, KAON_LOG_DEBUG, text);
}

/* ---- the tables ---- */

/* The arguments of a hop that only gathers its messages. */
static kaon_hop_args hop_of_gather(const kaon_gather_args *gather) {
  kaon_hop_args args = {.stencil = gather->stencil,
                        .parity = gather->parity,
                        .dagger = gather->dagger,
                        .nrhs = gather->nrhs,
                        .recon = gather->recon,
                        .b = 1,
                        .links = {gather->links[0], gather->links[1]},
                        .part = KAON_PART_GATHER,
                        .in = gather->in,
                        .gate = gather->gate};
  memcpy(args.coefficient, gather->coefficient, sizeof args.coefficient);
  return args;
}

static kaon_staggered_args staggered_of_gather(const kaon_staggered_gather_args *gather) {
  kaon_staggered_args args = {.stencil = gather->stencil,
                              .parity = gather->parity,
                              .nrhs = gather->nrhs,
                              .part = KAON_PART_GATHER,
                              .faces = {gather->faces, NULL},
                              .in = gather->in,
                              .gate = gather->gate};
  *(gather->steps > 1 ? &args.naik : &args.fat) = gather->links;
  return args;
}

static void run_hop(kaon_precision precision, const kaon_launch *launch,
                    const kaon_gather_args *gather, const kaon_hop_args *args) {
  const kaon_kernel_choice c = kaon_hop_choose(precision, launch, args);
  if (args->part != KAON_PART_GATHER)
    log_choice(launch, &c, precision, args->recon, args->nrhs, args->stencil);
  c.row->hop[precision][c.links](launch, &c, gather, args);
}

static void run_clover(kaon_precision precision, const kaon_launch *launch,
                       const kaon_clover_args *args) {
  const kaon_kernel_choice c =
      kaon_clover_choose(precision, args->stencil, args->parity, args->nrhs);
  c.row->block[precision](launch, &c, args);
}

static void run_staggered(kaon_precision precision, const kaon_launch *launch,
                          const kaon_staggered_gather_args *gather,
                          const kaon_staggered_args *args) {
  const kaon_kernel_choice c = kaon_staggered_choose(precision, args);
  if (args->part != KAON_PART_GATHER)
    log_choice(launch, &c, precision, staggered_recon(args), args->nrhs, args->stencil);
  c.row->staggered[precision][c.links](launch, &c, gather, args);
}

#define KAON_HOP(prec, precision)                                                              \
  static void hop_##prec(const kaon_launch *launch, const kaon_hop_args *args) {               \
    run_hop(precision, launch, NULL, args);                                                    \
  }                                                                                            \
  static void gather_##prec(const kaon_launch *launch, const kaon_gather_args *gather) {       \
    const kaon_hop_args args = hop_of_gather(gather);                                          \
    run_hop(precision, launch, gather, &args);                                                 \
  }                                                                                            \
  static void fused_##prec(const kaon_launch *launch, const kaon_gather_args *gather,          \
                           const kaon_hop_args *args) {                                        \
    run_hop(precision, launch, gather, args);                                                  \
  }                                                                                            \
  static void clover_##prec(const kaon_launch *launch, const kaon_clover_args *args) {         \
    run_clover(precision, launch, args);                                                       \
  }                                                                                            \
  static int hop_writes_##prec(const kaon_stencil *st, int columns) {                          \
    return hop_writes(precision, st, columns);                                                 \
  }                                                                                            \
  static int clover_writes_##prec(const kaon_stencil *st, int columns) {                       \
    return clover_writes(precision, st, columns);                                              \
  }                                                                                            \
  const kaon_dslash_ops kaon_dslash_ops_cuda_##prec = {.hop = hop_##prec,                      \
                                                       .clover = clover_##prec,                \
                                                       .gather = gather_##prec,                \
                                                       .hop_fused = fused_##prec,              \
                                                       .hop_writes = hop_writes_##prec,        \
                                                       .clover_writes = clover_writes_##prec,  \
                                                       .twist = kaon_dslash_twist_cuda_##prec, \
                                                       .inner = kaon_dslash_inner_cuda_##prec};
KAON_HOP(d, KAON_DOUBLE)
KAON_HOP(s, KAON_SINGLE)
KAON_HOP(h, KAON_HALF)

#define KAON_STAGGERED(prec, precision)                                                      \
  static void staggered_##prec(const kaon_launch *launch, const kaon_staggered_args *args) { \
    run_staggered(precision, launch, NULL, args);                                            \
  }                                                                                          \
  static void staggered_gather_##prec(const kaon_launch *launch,                             \
                                      const kaon_staggered_gather_args *gather) {            \
    const kaon_staggered_args args = staggered_of_gather(gather);                            \
    run_staggered(precision, launch, gather, &args);                                         \
  }                                                                                          \
  static void staggered_fused_##prec(const kaon_launch *launch,                              \
                                     const kaon_staggered_gather_args *gather,               \
                                     const kaon_staggered_args *args) {                      \
    run_staggered(precision, launch, gather, args);                                          \
  }                                                                                          \
  const kaon_staggered_ops kaon_staggered_ops_cuda_##prec = {                                \
      .hop = staggered_##prec,                                                               \
      .gather = staggered_gather_##prec,                                                     \
      .hop_fused = staggered_fused_##prec,                                                   \
      .face_links = kaon_staggered_face_links_cuda_##prec};
KAON_STAGGERED(d, KAON_DOUBLE)
KAON_STAGGERED(s, KAON_SINGLE)
KAON_STAGGERED(h, KAON_HALF)
