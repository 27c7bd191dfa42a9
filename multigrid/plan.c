/* plan.c - which levels a multigrid method has on a lattice, and how much memory it takes. Nothing
 * is made for it. */
#include <kaon/multigrid.h>

#include <string.h>

#include "lib/core/entry.h"
#include "lib/core/options_table.h"
#include "lib/core/output.h"
#include "multigrid/hierarchy.h"

/* ---- options ---- */

/* The extent of aggregates in a direction, if the user gave none: the first of these that divides a
 * rank's part and leaves an even number of them. */
static int extent_of(int part, int whole, int level) {
  static const int tried[2][8] = {{4, 2, 3, 5, 6, 7, 8, 1}, {2, 3, 4, 5, 6, 7, 8, 1}};
  for (int i = 0; i < 8; i++) {
    const int e = tried[level > 0][i];
    if (part % e == 0 && whole / e % 2 == 0) return e;
  }
  return 1;
}

/* A rank's part of a level that becomes coarser: of level 0 its own, below that of a box of ranks, if
 * these merge. Returns whether they do. */
static int merge(const kaon_context *ctx, int part[4], const int whole[4], int level) {
  int box[4];
  if (level == 0 || !kaon_agglomeration_box(ctx, part, whole, box)) return 0;
  for (int mu = 0; mu < 4; mu++) part[mu] *= box[mu];
  return 1;
}

/* Fills in the aggregates of a level. Below level 0, 2^4 sites are enough: larger aggregates, where 2
 * divides no extent, would have too few vectors. 0: the lattice is too small for the level. */
static int choose_block(const int part[4], const int whole[4], int level, int block[4]) {
  int64_t sites = 1;
  for (int mu = 0; mu < 4; mu++) {
    const int enough = level > 0 && sites >= 16;
    if (block[mu] == 0) block[mu] = enough ? 1 : extent_of(part[mu], whole[mu], level);
    sites *= block[mu];
  }
  return sites > 1;
}

static int64_t volume_of(const int extents[4]) {
  return (int64_t)extents[0] * extents[1] * extents[2] * extents[3];
}

/* Vectors that are independent on an aggregate, in one half. */
static int64_t most_vectors(const kaon_multigrid_options *o, int level) {
  enum { SPINOR_HALF = 6 };
  const int64_t of_site = level == 0 ? SPINOR_HALF : o->vectors[level - 1];
  return volume_of(o->block[level]) * of_site;
}

static kaon_status choose_vectors(const kaon_context *ctx, kaon_multigrid_options *o, int level) {
  const int64_t most = most_vectors(o, level), standard = level == 0 ? 20 : 24;
  const int *b = o->block[level];
  if (o->vectors[level] == 0) o->vectors[level] = (int)(most / 2 < standard ? most / 2 : standard);
  if (o->vectors[level] > most)
    return kaon_fail(
        ctx, KAON_ERR_ARGUMENT,
        "multigrid: %d vectors on level %d, but half a block of %d x %d x %d x %d sites "
        "has only %lld numbers; ask for fewer vectors, or larger blocks",
        o->vectors[level], level, b[0], b[1], b[2], b[3], (long long)most);
  return KAON_OK;
}

/* Schwarz methods need blocks of even extents. */
static kaon_status choose_smoother(const kaon_context *ctx, kaon_multigrid_options *o, int level) {
  const int schwarz = o->smoother[level] >= KAON_SMOOTHER_SAP;
  const int *b = o->block[level];
  if (o->steps[level] == 0) o->steps[level] = schwarz ? 3 : 4;
  if (schwarz && (b[0] | b[1] | b[2] | b[3]) & 1)
    return kaon_fail(
        ctx, KAON_ERR_ARGUMENT,
        "multigrid: smoother %s on level %d needs blocks of even extents, but they are %d "
        "x %d x %d x %d; choose other blocks, or smoother gcr",
        o->smoother[level] == KAON_SMOOTHER_SAP ? "sap" : "async", level, b[0], b[1], b[2], b[3]);
  return KAON_OK;
}

/* Options of levels that have none, because they are the coarsest or beyond it. */
static kaon_status check_idle(const kaon_context *ctx, const kaon_multigrid_options *o) {
  for (int l = o->levels - 1; l < KAON_MULTIGRID_LEVELS - 1; l++) {
    const int *b = o->block[l];
    const int block = b[0] || b[1] || b[2] || b[3];
    if (block || o->vectors[l] || o->steps[l] || o->cycle[l])
      return kaon_fail(
          ctx, KAON_ERR_ARGUMENT,
          "multigrid: there are %d levels, from 0 to %d, and level %d has no %s because "
          "it is not above another; leave the option out, or ask for %d levels",
          o->levels, o->levels - 1, l,
          block           ? "blocks"
          : o->vectors[l] ? "vectors"
          : o->steps[l]   ? "smoother"
                          : "cycle",
          l + 2);
  }
  return KAON_OK;
}

kaon_status kaon_multigrid_complete(const kaon_context *ctx, const int part_of_0[4],
                                    const int whole_of_0[4], kaon_multigrid_options *o) {
  const int asked = o->levels;
  int part[4], whole[4], level = 0;
  memcpy(part, part_of_0, sizeof part);
  memcpy(whole, whole_of_0, sizeof whole);
  if (o->precision[0] == KAON_DOUBLE || o->precision[1] == KAON_DOUBLE ||
      o->precision[2] == KAON_DOUBLE)
    return kaon_fail(
        ctx, KAON_ERR_ARGUMENT,
        "multigrid: a level in double precision was asked for, but single and half are "
        "possible; the solver that it preconditions may be in double");
  if (asked == 1)
    return kaon_fail(ctx, KAON_ERR_ARGUMENT,
                     "multigrid: 1 level was asked for, but 2 to %d are possible, or 0 for an "
                     "automatic choice",
                     KAON_MULTIGRID_LEVELS);
  for (;; level++) {
    const int last = asked > 0 ? asked - 1 : KAON_MULTIGRID_LEVELS - 1;
    if (level > 0 && asked == 0 && 2 * o->vectors[level - 1] * volume_of(whole) <= o->dense) break;
    if (level == last) break;
    merge(ctx, part, whole, level);
    if (!choose_block(part, whole, level, o->block[level])) break;
    KAON_TRY(kaon_aggregates_check(ctx, part, whole, o->block[level]));
    KAON_TRY(choose_vectors(ctx, o, level));
    KAON_TRY(choose_smoother(ctx, o, level));
    if (o->cycle[level] == 0) o->cycle[level] = 2;
    for (int mu = 0; mu < 4; mu++) {
      part[mu] /= o->block[level][mu];
      whole[mu] /= o->block[level][mu];
    }
  }
  o->levels = level + 1;
  if (level > 0 && (asked == 0 || level + 1 == asked)) return check_idle(ctx, o);
  return kaon_fail(ctx, KAON_ERR_ARGUMENT,
                   "multigrid: %d levels are needed, but the lattice %d x %d x %d x %d on this "
                   "grid of ranks has "
                   "aggregates for %d; %s",
                   asked > 0 ? asked : 2, whole_of_0[0], whole_of_0[1], whole_of_0[2],
                   whole_of_0[3], level + 1,
                   level > 0 ? "ask for fewer levels" : "take a Krylov method, such as bicgstab");
}

/* ---- levels and bytes ---- */

/* What a level's memory is made of. */
typedef struct level_size {
  int64_t column; /* bytes of a vector of one column */
  int64_t places; /* of a rank's sites; the last block of either parity may have idle lanes */
  int vectors, steps, cycle;
  int merged; /* 1: fewer ranks hold it than the level above */
  kaon_smoother smoother;
} level_size;

static int64_t column_bytes(int64_t places, int reals, kaon_precision precision) {
  return places * (reals * (int64_t)kaon_precision_bytes(precision) +
                   (precision == KAON_HALF ? (int64_t)sizeof(float) : 0));
}

static level_size size_of(const kaon_context *ctx, const kaon_multigrid_options *o, int l,
                          const int part[4], int reals) {
  const int64_t width = ctx->backend->width, half = (volume_of(part) + 1) / 2;
  level_size s = {.places = 2 * ((half + width - 1) / width * width)};
  s.column = column_bytes(s.places, reals, l == 0 ? o->precision[0] : KAON_SINGLE);
  if (l + 1 == o->levels) return s;
  s.vectors = o->vectors[l];
  s.steps = o->steps[l];
  s.cycle = o->cycle[l];
  s.smoother = o->smoother[l];
  return s;
}

/* Bytes of the vectors for one column that a fixed number of GCR steps takes, with two of the
 * operator that it is (solvers/engine/as_operator.c). A reduction adds copies of both sides, a
 * residual on all sites, and those of what it is reduced from (smoother.c). */
static int64_t gcr_bytes(int64_t column, int steps) {
  return (2 * steps + 3) * column;
}
static int64_t reduced_gcr_bytes(int64_t column, int steps) {
  return (2 * steps + 9) * column / 2;
}

static int64_t smoother_bytes(const level_size *level) {
  switch (level->smoother) {
    case KAON_SMOOTHER_GCR:
      return reduced_gcr_bytes(level->column, level->steps);
    case KAON_SMOOTHER_MR:
      return 5 * level->column;
    default:
      return 3 * level->column; /* solvers/schwarz: in and out, and a step's */
  }
}

/* For each column that a level's cycle is applied to, with all levels below it. `rows`: of the
 * coarsest level, if it is inverted, else 0. */
static int64_t cycle_bytes(const level_size *level, int64_t rows) {
  int64_t bytes = 0;
  for (; level->vectors > 0; level++) {
    const level_size *below = level + 1;
    bytes += 2 * level->column + smoother_bytes(level) + 2 * below->column;
    bytes += below->merged * 2 * below->column; /* the parts, and what ranks gather */
    if ((below->vectors > 0 || rows == 0) && level->cycle > 1)
      bytes += gcr_bytes(below->column, level->cycle);
    if (below->vectors == 0 && rows == 0) bytes += reduced_gcr_bytes(below->column, KAON_GCR_MAX);
  }
  return bytes + 2 * rows * (int64_t)sizeof(float);
}

/* Sizes and the description of level l, whose site has `reals` numbers. */
static void count_level(const kaon_context *ctx, const kaon_multigrid_options *o, int l,
                        const int part[4], const int whole[4], int reals, level_size *size,
                        kaon_multigrid_level *out) {
  *size = size_of(ctx, o, l, part, reals);
  memcpy(out->extents, whole, sizeof out->extents);
  out->numbers = reals / 2;
  out->unknowns = volume_of(whole) * (reals / 2);
  out->vectors = size->vectors;
  for (int mu = 0; mu < 4; mu++) out->block[mu] = size->vectors > 0 ? o->block[l][mu] : 0;
  out->bytes = size->vectors * size->column;
  if (l == 0) return;
  const int dense = size->vectors == 0 && out->unknowns <= o->dense;
  const int halved = size->vectors > 0 && o->precision[l] == KAON_HALF; /* and in single */
  const int64_t half = column_bytes(size->places, reals, KAON_HALF);
  out->bytes += 9 * (reals / 2) * (size->column + halved * half);
  /* its inverse, or that of each site, for the reduction */
  out->bytes += dense ? out->unknowns * size->column : reals / 2 * (halved ? half : size->column);
}

/* Between a level and the next: tables of aggregates, the candidates in terms of the basis, and what
 * the level's reduction holds on one parity for as many columns. */
static int64_t between(const level_size *level) {
  return level->places * 4 * (int64_t)sizeof(int32_t) +
         level->vectors * (level[1].column + level->column / 2);
}

/* While a cycle improves the candidates of a level, those of the levels above are there too. A level
 * has its candidates, and for some columns at once what goes through the cycle and what the cycle
 * needs; the coarse matrices are made in the same memory. Level 0, of which a single-precision
 * column takes `fine` bytes, has its basis in that precision, too. */
static int64_t setup_bytes(const level_size *solving, int64_t fine, int64_t rows) {
  level_size size[KAON_MULTIGRID_LEVELS];
  const level_size *level = size;
  memcpy(size, solving, sizeof size);
  size[0].column = fine;
  int64_t bytes = fine > solving->column ? size->vectors * fine : 0;
  for (; level->vectors > 0; level++)
    bytes += level->vectors * level->column +
             kaon_setup_columns(level->vectors) * (2 * level->column + cycle_bytes(level, rows));
  return bytes;
}

void kaon_multigrid_count(const kaon_context *ctx, const int part[4], const int whole[4], int reals,
                          const kaon_multigrid_options *o, kaon_multigrid_info *info) {
  level_size size[KAON_MULTIGRID_LEVELS] = {{0}};
  const int reals_of_0 = reals;
  int p[4], w[4], cycles = 1;
  memcpy(p, part, sizeof p);
  memcpy(w, whole, sizeof w);
  info->levels = o->levels;
  info->bytes = 0;
  for (int l = 0; l < o->levels; l++) {
    const int merged = l + 1 < o->levels && merge(ctx, p, w, l);
    for (int mu = 0; mu < 4; mu++) info->grid[l][mu] = w[mu] / p[mu];
    count_level(ctx, o, l, p, w, reals, &size[l], &info->level[l]);
    size[l].merged = merged;
    if (l > 0 && !(size[l].vectors == 0 && info->level[l].unknowns <= o->dense))
      cycles *= o->cycle[l - 1];
    info->level[l].cycles = cycles;
    info->bytes += info->level[l].bytes;
    if (l > 0) info->bytes += between(&size[l - 1]);
    if (l + 1 == o->levels) break;
    for (int mu = 0; mu < 4; mu++) {
      p[mu] /= o->block[l][mu];
      w[mu] /= o->block[l][mu];
    }
    reals = 4 * o->vectors[l];
  }
  const int64_t rows = info->level[o->levels - 1].unknowns;
  const int64_t inverted = rows <= o->dense ? rows : 0;
  info->column_bytes = cycle_bytes(size, inverted);
  info->setup_bytes =
      setup_bytes(size, column_bytes(size[0].places, reals_of_0, KAON_SINGLE), inverted);
  /* a device inverts the coarsest level's matrix in memory of its own, the host in the host's */
  if (!ctx->backend->host_accessible) info->setup_bytes += 2 * 16 * inverted * inverted;
}

kaon_status kaon_multigrid_plan(const kaon_context *ctx, const int extents[4], const int grid[4],
                                const kaon_multigrid_options *options, kaon_multigrid_info *info) {
  enum { SPINOR = 24 };
  kaon_multigrid_options own;
  int part[4];
  KAON_ENTER(ctx, ctx, extents, grid, info);
  KAON_TRY(kaon_options_take(KAON_OPTIONS_MULTIGRID, options, &own));
  KAON_TRY(kaon_output_check(ctx, "kaon_multigrid_info", info));
  for (int mu = 0; mu < 4; mu++) {
    if (extents[mu] < 2 || grid[mu] < 1 || extents[mu] % grid[mu] != 0)
      return kaon_fail(ctx, KAON_ERR_ARGUMENT,
                       "multigrid plan: extent %d in %c on %d ranks; give an extent of at least 2 "
                       "that the grid divides",
                       extents[mu], "xyzt"[mu], grid[mu]);
    part[mu] = extents[mu] / grid[mu];
  }
  KAON_TRY(kaon_multigrid_complete(ctx, part, extents, &own));
  kaon_multigrid_info made = {.size = sizeof made};
  kaon_multigrid_count(ctx, part, extents, SPINOR, &own, &made);
  kaon_output_fill(info, &made, sizeof made);
  return KAON_OK;
}
