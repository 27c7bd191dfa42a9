/* choose.c - the rows of the GPU kernels of hops and clover blocks, the choice among them, and the
 * tables of dslash_ops.h and staggered_ops.h. Needs no device and no CUDA header. */
#include "dslash/cuda/choose.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "dslash/cuda/kernels.h"
#include "lib/cuda/backend.h"
#include "lib/cuda/lanes.h"
#include "lib/cuda/ranks/boxes.h"

static const int bytes_of[3] = {8, 4, 2};
static const char *const precision_name[3] = {"double", "single", "half"};

/* ---- when a kernel pays off ---- */

/* Two warps share sites: few sites times columns, or a tuning result. */
static int few_sites(const kaon_kernel_question *q) {
  if (q->tuned.threads != 0) return q->tuned.threads == PAIR_CHOICE;
  return q->stencil->nsites * q->columns <= (q->bytes == 8 ? 1 << 14 : 1 << 15);
}

/* Enough columns, and enough tiles to fill a device; or a tuning result, whose group is then the
 * number of columns of a block. */
enum { STAGE_REQUESTED = 4, STAGE_TILES = 256 };
static int stage_requested(const kaon_launch_shape *tuned) {
  return tuned->group >= STAGE_REQUESTED && tuned->group <= STAGE_COLUMNS;
}
static int many_columns(const kaon_kernel_question *q) {
  if (stage_requested(&q->tuned)) return 1;
  return q->tuned.threads == 0 && q->tuned.group == 0 && q->columns >= (q->bytes == 8 ? 8 : 4) &&
         q->stencil->nsites / STAGE_CELLS >= STAGE_TILES;
}

/* ---- the rows ---- */

enum {
  WHOLE = 1u << KAON_PART_ALL,
  DIVIDED = 1u << KAON_PART_INTERIOR | 1u << KAON_PART_BOUNDARY | 1u << KAON_PART_FUSED |
            1u << KAON_PART_GATHER,
  UNCUT = 1u << 0,
  CUT = 1u << 1,
  LINKS_18 = 1u << 0,
  ANY_LINKS = 7,
  NO_CLOVER = 1u << KAON_CLOVER_NONE,
  CLOVER_ON_HOP = 1u << KAON_CLOVER_ON_HOP,
  ANY_CLOVER = 7,
  SUMS = KAON_WRITES_NORM | KAON_WRITES_DOT,
  /* one chunk of the sums for each block of sites */
  PAIR_SITES = KAON_REDUCE_CHUNKS * KAON_REDUCE_MAX / 4 * KAON_LANES
};

/* The launchers of the three storages of links. In double hop_staged has none for 18 reals. */
#define LAUNCHERS(name, prec) \
  { name##_18_cuda_##prec, name##_12_cuda_##prec, name##_8_cuda_##prec }
#define STAGED_d \
  { NULL, kaon_hop_staged_12_cuda_d, kaon_hop_staged_8_cuda_d }
#define STAGED_s LAUNCHERS(kaon_hop_staged, s)
#define STAGED_h LAUNCHERS(kaon_hop_staged, h)

#define HOP_ROWS(prec, bytes)                                                                                         \
  {                                                                                                                   \
    [HOP_FACES] = {.name = "hop_faces",                                                                               \
                   .when = "the lattice is partitioned",                                                              \
                   .parts = DIVIDED,                                                                                  \
                   .cut = UNCUT | CUT,                                                                                \
                   .links = ANY_LINKS,                                                                                \
                   .clover = ANY_CLOVER,                                                                              \
                   .rounded = 1,                                                                                      \
                   .writes = KAON_WRITES_OUT | SUMS | KAON_WRITES_MESSAGES,                                           \
                   .least_threads = SITE_THREADS / 2,                                                                 \
                   .threads = SITE_THREADS,                                                                           \
                   .columns = 1,                                                                                      \
                   .hop = LAUNCHERS(kaon_hop_faces, prec)},                                                           \
    [HOP_CUT] = {.name = "hop_cut",                                                                                   \
                 .when = "hops between blocks are omitted",                                                           \
                 .parts = WHOLE,                                                                                      \
                 .cut = CUT,                                                                                          \
                 .links = ANY_LINKS,                                                                                  \
                 .clover = ANY_CLOVER,                                                                                \
                 .rounded = 1,                                                                                        \
                 .writes = KAON_WRITES_OUT,                                                                           \
                 .least_threads = SITE_THREADS / 2,                                                                   \
                 .threads = SITE_THREADS,                                                                             \
                 .columns = 1,                                                                                        \
                 .hop = LAUNCHERS(kaon_hop_cut, prec)},                                                               \
    [HOP_PAIR] =                                                                                                      \
        {.name = "hop_pair",                                                                                          \
         .when = "few sites, or tuning: two warps share 32 sites",                                                    \
         .parts = WHOLE,                                                                                              \
         .cut = UNCUT,                                                                                                \
         .links = ANY_LINKS,                                                                                          \
         .clover = NO_CLOVER | CLOVER_ON_HOP,                                                                         \
         .most_sites = PAIR_SITES,                                                                                    \
         .pays = few_sites,                                                                                           \
         .writes = KAON_WRITES_OUT | SUMS,                                                                            \
         .least_threads = PAIR_THREADS,                                                                               \
         .threads = PAIR_THREADS,                                                                                     \
         .columns = 1,                                                                                                \
         .hop = LAUNCHERS(                                                                                            \
             kaon_hop_pair,                                                                                           \
             prec)}, /* Clover blocks have no space here: 72 reals a site. Reading them for each column would take  \
     * more time than is saved. */ \
        [HOP_STAGED] = {.name = "hop_staged",                                                                         \
                        .when = "many columns, or tuning: links stay in registers",                                   \
                        .parts = WHOLE,                                                                               \
                        .cut = UNCUT,                                                                                 \
                        .links = ANY_LINKS & ~((bytes) == 8 ? LINKS_18 : 0u),                                         \
                        .clover = NO_CLOVER,                                                                          \
                        .tile = {16, 4, 2, 2},                                                                        \
                        .shared_bytes = STAGE_SHARED(bytes),                                                          \
                        .pays = many_columns,                                                                         \
                        .writes = KAON_WRITES_OUT | SUMS,                                                             \
                        .least_threads = STAGE_CELLS * STAGE_SIDES_OF(bytes),                                         \
                        .threads = STAGE_CELLS * STAGE_SIDES_OF(bytes),                                               \
                        .columns = STAGE_COLUMNS,                                                                     \
                        .hop = STAGED_##prec},                                                                        \
    [HOP_SITE] = {.name = "hop_kernel",                                                                               \
                  .when = "a thread updates a site",                                                                  \
                  .parts = WHOLE,                                                                                     \
                  .cut = UNCUT,                                                                                       \
                  .links = ANY_LINKS,                                                                                 \
                  .clover = ANY_CLOVER,                                                                               \
                  .rounded = 1,                                                                                       \
                  .writes = KAON_WRITES_OUT | SUMS,                                                                   \
                  .least_threads = SITE_THREADS / 2,                                                                  \
                  .threads = SITE_THREADS,                                                                            \
                  .columns = SITE_COLUMNS(bytes),                                                                     \
                  .hop = LAUNCHERS(kaon_hop, prec)},                                                                  \
  }
const kaon_kernel_row kaon_hop_rows[3][HOP_KERNELS] = {HOP_ROWS(d, 8), HOP_ROWS(s, 4),
                                                       HOP_ROWS(h, 2)};

#define STAGGERED_ROWS(prec, bytes)                                                \
  {                                                                                \
    [STAGGERED_FACES] = {.name = "staggered_faces",                                \
                         .when = "the lattice is partitioned",                     \
                         .parts = DIVIDED,                                         \
                         .cut = UNCUT,                                             \
                         .links = ANY_LINKS,                                       \
                         .clover = NO_CLOVER,                                      \
                         .rounded = 1,                                             \
                         .writes = KAON_WRITES_OUT | SUMS | KAON_WRITES_MESSAGES,  \
                         .least_threads = SITE_THREADS / 2,                        \
                         .threads = SITE_THREADS,                                  \
                         .columns = FACES_COLUMNS(bytes),                          \
                         .staggered = LAUNCHERS(kaon_staggered_faces, prec)},      \
    [STAGGERED_SITE] = {.name = "staggered_kernel",                                \
                        .when = "a thread updates a site",                         \
                        .parts = WHOLE,                                            \
                        .cut = UNCUT,                                              \
                        .links = ANY_LINKS,                                        \
                        .clover = NO_CLOVER,                                       \
                        .rounded = 1,                                              \
                        .writes = KAON_WRITES_OUT | SUMS,                          \
                        .least_threads = SITE_THREADS / 2,                         \
                        .threads = (bytes) == 2 ? 2 * SITE_THREADS : SITE_THREADS, \
                        .columns = STAGGERED_MANY,                                 \
                        .staggered = LAUNCHERS(kaon_staggered, prec)},             \
  }
const kaon_kernel_row kaon_staggered_rows[3][STAGGERED_KERNELS] = {
    STAGGERED_ROWS(d, 8), STAGGERED_ROWS(s, 4), STAGGERED_ROWS(h, 2)};

#define CLOVER_ROWS(prec)                                                                \
  {                                                                                      \
    [CLOVER_PAIR] = {.name = "clover_pair",                                              \
                     .when = "few sites: two warps share 32 sites",                      \
                     .parts = WHOLE,                                                     \
                     .cut = UNCUT | CUT,                                                 \
                     .links = ANY_LINKS,                                                 \
                     .clover = NO_CLOVER,                                                \
                     .most_sites = PAIR_SITES,                                           \
                     .pays = few_sites,                                                  \
                     .writes = KAON_WRITES_OUT | KAON_WRITES_NORM | KAON_WRITES_UPDATED, \
                     .least_threads = PAIR_THREADS,                                      \
                     .threads = PAIR_THREADS,                                            \
                     .columns = 1,                                                       \
                     .block = kaon_clover_pair_cuda_##prec},                             \
    [CLOVER_SITE] = {.name = "clover",                                                   \
                     .when = "a thread updates a site",                                  \
                     .parts = WHOLE,                                                     \
                     .cut = UNCUT | CUT,                                                 \
                     .links = ANY_LINKS,                                                 \
                     .clover = NO_CLOVER,                                                \
                     .writes = KAON_WRITES_OUT | KAON_WRITES_NORM,                       \
                     .least_threads = SITE_THREADS / 2,                                  \
                     .threads = SITE_THREADS,                                            \
                     .columns = 1,                                                       \
                     .block = kaon_dslash_clover_cuda_##prec},                           \
  }
const kaon_kernel_row kaon_clover_rows[3][CLOVER_KERNELS] = {CLOVER_ROWS(d), CLOVER_ROWS(s),
                                                             CLOVER_ROWS(h)};

/* ---- the choice ---- */

static int accepts(const kaon_kernel_row *row, const kaon_kernel_question *q) {
  const int *extents = q->stencil->extents;
  if (!(row->parts >> q->part & 1) || !(row->cut >> q->cut & 1) || !(row->links >> q->links & 1) ||
      !(row->clover >> q->clover_on & 1) || (q->rounded && !row->rounded))
    return 0;
  if (row->most_sites > 0 && q->stencil->nsites > row->most_sites) return 0;
  if (row->pays != NULL && !row->pays(q)) return 0;
  for (int mu = 0; mu < 4; mu++)
    if (row->tile[mu] > 0 && extents[mu] % row->tile[mu] != 0) return 0;
  return row->shared_bytes == 0 || row->shared_bytes <= kaon_cuda_shared_bytes();
}

/* The first row that accepts the hop. The last row of each part accepts all. */
static const kaon_kernel_row *row_for(const kaon_kernel_row *row, const kaon_kernel_question *q) {
  while (!accepts(row, q)) row++;
  return row;
}

static int links_of(int recon) {
  return recon == 18 ? 0 : recon == 12 ? 1 : 2;
}

static int is_cut(const kaon_stencil *st) {
  return st->cut[0] != 0 || st->cut[1] != 0 || st->cut[2] != 0 || st->cut[3] != 0;
}

/* 1 if the kernel's factor in some direction, which is the coefficient and in t the projector's 2,
 * has a remainder in single (hop_kernel.h, call_of). */
static int is_rounded(const double coefficient[4]) {
  for (int mu = 0; mu < 4; mu++) {
    const double f = coefficient[mu] * (mu == 3 ? 2 : 1);
    if ((float)((f - (double)(float)f) / f) != 0) return 1;
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

/* 1 if a NORM kernel suffices: at most |out|^2 of one column. A block that has stored its tagged
 * part waits for nothing (lib/cuda/reduction/reduce.h). */
static int norm_alone(const kaon_launch *launch, const kaon_hop_args *args, int threads) {
  const int dot = args->w.data != NULL && args->sum.slot[1] != KAON_NO_SLOT;
  return launch->marked != NULL && !dot && blocks_of(args, threads) <= KAON_MARKED_SUMS / 2;
}

/* The sums of hop_kernel and hop_faces, one column at a time. */
static int site_sums(const kaon_launch *launch, const kaon_hop_args *args,
                     const kaon_kernel_question *q, int threads) {
  if (q->rounded) return SUMS_ALL;
  if (args->sum.state == NULL) return SITE_HAS_PLAIN(q->bytes, args->recon) ? SUMS_NONE : SUMS_ALL;
  return SITE_HAS_NORM(q->bytes) && norm_alone(launch, args, threads) ? SUMS_NORM : SUMS_ALL;
}

/* Threads of a block: the default, or the result of kaon tune. */
static int hop_threads(const kaon_launch_shape *tuned, int64_t sites) {
  const int possible = tuned->threads == SITE_THREADS || tuned->threads == SITE_THREADS / 2;
  return possible ? tuned->threads : site_threads((uint32_t)sites);
}

kaon_kernel_choice kaon_hop_choose(kaon_precision precision, const kaon_launch *launch,
                                   const kaon_hop_args *args) {
  const int bytes = bytes_of[precision], columns = args->nrhs;
  const kaon_kernel_question q = {.bytes = bytes,
                                  .links = links_of(args->recon),
                                  .part = args->part,
                                  .cut = is_cut(args->stencil),
                                  .clover_on = args->clover_on,
                                  .columns = columns,
                                  .rounded = bytes < 8 && is_rounded(args->coefficient),
                                  .stencil = args->stencil,
                                  .tuned = launch->tuned};
  const kaon_kernel_row *rows = kaon_hop_rows[precision], *row = row_for(rows, &q);
  kaon_kernel_choice c = {.row = row,
                          .links = q.links,
                          .threads = row->threads,
                          .group = 1,
                          .groups = columns,
                          .beside = 1,
                          .sums = args->sum.state != NULL ? SUMS_ALL : SUMS_NONE,
                          .rounded = q.rounded};
  if (row->least_threads < row->threads)
    c.threads = hop_threads(&launch->tuned, args->stencil->sites[args->parity]);
  if (row == &rows[HOP_SITE] || row == &rows[HOP_FACES])
    c.sums = site_sums(launch, args, &q, c.threads);
  if (row == &rows[HOP_SITE] && !q.rounded) {
    c.group = row->columns;
    c.groups = launch->tuned.group == 1 ? 0 : columns / row->columns;
  } else if (row == &rows[HOP_STAGED]) {
    const int most = stage_requested(&launch->tuned) ? launch->tuned.group : row->columns;
    c.groups = (columns + most - 1) / most;
    c.group = (columns + c.groups - 1) / c.groups;
  }
  return c;
}

kaon_kernel_choice kaon_clover_choose(kaon_precision precision, const kaon_launch_shape *tuned,
                                      const kaon_stencil *stencil, int columns) {
  const kaon_kernel_question q = {
      .bytes = bytes_of[precision], .columns = columns, .stencil = stencil, .tuned = *tuned};
  const kaon_kernel_row *row = row_for(kaon_clover_rows[precision], &q);
  return (kaon_kernel_choice){.row = row, .group = 1, .groups = columns, .beside = 1};
}

/* The storage of the links for which a kernel is compiled. */
static int staggered_recon(const kaon_staggered_args *args) {
  return args->naik.links[0] != NULL ? args->naik.recon : args->fat.recon;
}

kaon_kernel_choice kaon_staggered_choose(kaon_precision precision, const kaon_launch *launch,
                                         const kaon_staggered_args *args) {
  const int bytes = bytes_of[precision], columns = args->nrhs;
  const kaon_kernel_question q = {.bytes = bytes,
                                  .links = links_of(staggered_recon(args)),
                                  .part = args->part,
                                  .columns = columns,
                                  .stencil = args->stencil,
                                  .tuned = launch->tuned};
  const kaon_kernel_row *rows = kaon_staggered_rows[precision], *row = row_for(rows, &q);
  const int whole = row == &rows[STAGGERED_SITE], most = columns > 1 ? row->columns : 1;
  kaon_kernel_choice c = {.row = row, .links = q.links, .beside = 1};
  c.groups = (columns + most - 1) / most;
  c.group = (columns + c.groups - 1) / c.groups;
  c.threads = site_threads((uint32_t)args->stencil->sites[args->parity]);
  if (whole && columns > 1 && bytes == 2) {
    /* a block has two groups of columns, one warp each, or twice the sites */
    if (c.groups % 2 == 0) c.beside = 2;
    c.threads *= 2;
  }
  const int has_plain = columns == 1 && (whole || FACES_HAS_PLAIN(bytes));
  c.sums = args->sum.state == NULL && has_plain ? SUMS_NONE : SUMS_ALL;
  return c;
}

/* ---- what callers ask ---- */

/* Sites from which a hop of one column leaves (w, out) to a separate kernel: a hop without (w, out)
 * fits half as many sites again on the device at a time. In double there is no such kernel for
 * 12-real links. */
enum { SEPARATE_DOT = 1 << 17 };

static unsigned hop_writes(kaon_precision precision, const kaon_stencil *st, int columns) {
  const unsigned writes = kaon_hop_rows[precision][is_cut(st) ? HOP_CUT : HOP_SITE].writes;
  const int apart = precision != KAON_DOUBLE && columns == 1 && st->nsites >= SEPARATE_DOT;
  return apart ? writes & ~(unsigned)KAON_WRITES_DOT : writes;
}

static unsigned clover_writes(kaon_precision precision, const kaon_stencil *st, int columns) {
  const kaon_launch_shape untuned = {0};
  return kaon_clover_choose(precision, &untuned, st, columns).row->writes;
}

static void explain(const kaon_kernel_choice *c, kaon_precision precision, int recon, int columns,
                    const kaon_stencil *st, char *text, size_t room) {
  const char *const sums[] = {"no sums", "|out|^2", "all sums"};
  snprintf(text, room,
           "hop in %s, links of %d reals, %d x %d x %d x %d, columns %d: kernel %s (%s), blocks of "
           "%d threads, %d columns at a time, %s",
           precision_name[precision], recon, st->extents[0], st->extents[1], st->extents[2],
           st->extents[3], columns, c->row->name, c->row->when, c->threads,
           c->groups > 0 ? c->group : 1, sums[c->sums]);
}

/* ---- the tables ---- */

/* The messages of a hop of which nothing else is done, as a hop. */
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

#define KAON_DSLASH(prec, precision)                                                               \
  static void hop_fused_##prec(const kaon_launch *launch, const kaon_gather_args *gather,          \
                               const kaon_hop_args *args) {                                        \
    const kaon_kernel_choice choice = kaon_hop_choose(precision, launch, args);                    \
    choice.row->hop[choice.links](launch, &choice, gather, args);                                  \
  }                                                                                                \
  static void hop_##prec(const kaon_launch *launch, const kaon_hop_args *args) {                   \
    hop_fused_##prec(launch, NULL, args);                                                          \
  }                                                                                                \
  static void gather_##prec(const kaon_launch *launch, const kaon_gather_args *gather) {           \
    const kaon_hop_args args = hop_of_gather(gather);                                              \
    hop_fused_##prec(launch, gather, &args);                                                       \
  }                                                                                                \
  static void clover_##prec(const kaon_launch *launch, const kaon_clover_args *args) {             \
    const kaon_kernel_choice choice =                                                              \
        kaon_clover_choose(precision, &launch->tuned, args->stencil, args->nrhs);                  \
    choice.row->block(launch, &choice, args);                                                      \
  }                                                                                                \
  static unsigned hop_writes_##prec(const kaon_stencil *st, int columns) {                         \
    return hop_writes(precision, st, columns);                                                     \
  }                                                                                                \
  static unsigned clover_writes_##prec(const kaon_stencil *st, int columns) {                      \
    return clover_writes(precision, st, columns);                                                  \
  }                                                                                                \
  static void explain_##prec(const kaon_launch *launch, const kaon_hop_args *args, char *text,     \
                             size_t room) {                                                        \
    const kaon_kernel_choice choice = kaon_hop_choose(precision, launch, args);                    \
    explain(&choice, precision, args->recon, args->nrhs, args->stencil, text, room);               \
  }                                                                                                \
  static void staggered_fused_##prec(const kaon_launch *launch,                                    \
                                     const kaon_staggered_gather_args *gather,                     \
                                     const kaon_staggered_args *args) {                            \
    const kaon_kernel_choice choice = kaon_staggered_choose(precision, launch, args);              \
    choice.row->staggered[choice.links](launch, &choice, gather, args);                            \
  }                                                                                                \
  static void staggered_##prec(const kaon_launch *launch, const kaon_staggered_args *args) {       \
    staggered_fused_##prec(launch, NULL, args);                                                    \
  }                                                                                                \
  static void staggered_gather_##prec(const kaon_launch *launch,                                   \
                                      const kaon_staggered_gather_args *gather) {                  \
    const kaon_staggered_args args = staggered_of_gather(gather);                                  \
    staggered_fused_##prec(launch, gather, &args);                                                 \
  }                                                                                                \
  static void explain_staggered_##prec(const kaon_launch *launch, const kaon_staggered_args *args, \
                                       char *text, size_t room) {                                  \
    const kaon_kernel_choice choice = kaon_staggered_choose(precision, launch, args);              \
    explain(&choice, precision, staggered_recon(args), args->nrhs, args->stencil, text, room);     \
  }                                                                                                \
  const kaon_dslash_ops kaon_dslash_ops_cuda_##prec = {.hop = hop_##prec,                          \
                                                       .clover = clover_##prec,                    \
                                                       .gather = gather_##prec,                    \
                                                       .hop_fused = hop_fused_##prec,              \
                                                       .hop_writes = hop_writes_##prec,            \
                                                       .clover_writes = clover_writes_##prec,      \
                                                       .explain = explain_##prec};                 \
  const kaon_staggered_ops kaon_staggered_ops_cuda_##prec = {                                      \
      .hop = staggered_##prec,                                                                     \
      .gather = staggered_gather_##prec,                                                           \
      .hop_fused = staggered_fused_##prec,                                                         \
      .face_links = kaon_staggered_face_links_cuda_##prec,                                         \
      .explain = explain_staggered_##prec};
KAON_DSLASH(d, KAON_DOUBLE)
KAON_DSLASH(s, KAON_SINGLE)
KAON_DSLASH(h, KAON_HALF)
