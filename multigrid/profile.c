/* profile.c - how long each part of a multigrid cycle takes: each is run by itself. */
#include <math.h>

#include "lib/core/entry.h"
#include "lib/core/output.h"
#include "lib/cpu/clock.h"
#include "multigrid/hierarchy.h"

/* A part of the cycle of a level, on the vectors of its room. `other`: an operator of the part. */
typedef kaon_status part(const kaon_mg_level *level, const kaon_cycle_room *room,
                         kaon_operator *other);

/* With the messages of ranks that merge. */
static kaon_status merge(const kaon_mg_level *level, const kaon_cycle_room *room) {
  if (level->merging == NULL) return KAON_OK;
  KAON_TRY(kaon_agglomeration_gather(level->merging, room->gather, room->coarse_source,
                                     room->merged_source, NULL));
  return kaon_agglomeration_take(level->merging, room->gather, room->merged_source,
                                 room->coarse_solution, NULL);
}

static kaon_status smoother(const kaon_mg_level *level, const kaon_cycle_room *room,
                            kaon_operator *other) {
  (void)level;
  (void)other;
  return kaon_operator_run(room->smoother, KAON_PLAIN, room->residual, room->correction, NULL);
}

static kaon_status transfer(const kaon_mg_level *level, const kaon_cycle_room *room,
                            kaon_operator *other) {
  (void)other;
  KAON_TRY(kaon_transfer_restrict(level->transfer, room->residual, room->coarse_source, NULL));
  KAON_TRY(merge(level, room));
  return kaon_transfer_prolong(level->transfer, room->coarse_source, 0, room->correction, NULL);
}

/* With the two updates of vectors. The correction stays, so numbers do not grow. */
static kaon_status residual(const kaon_mg_level *level, const kaon_cycle_room *room,
                            kaon_operator *other) {
  (void)other;
  KAON_TRY(kaon_operator_run(level->A, KAON_PLAIN, room->correction, room->residual, NULL));
  KAON_TRY(kaon_blas_xpay(room->correction, KAON_NUMBER(-1), room->residual, NULL));
  return kaon_blas_axpy(KAON_NUMBER(1), room->correction, room->residual, NULL);
}

static kaon_status below(const kaon_mg_level *level, const kaon_cycle_room *room,
                         kaon_operator *other) {
  const int merged = level->merging != NULL;
  return kaon_operator_run(other, KAON_PLAIN, merged ? room->merged_source : room->coarse_source,
                           merged ? room->merged_solution : room->coarse_solution, NULL);
}

/* The shortest of a few runs, after one that may still allocate. */
static kaon_status measure(const kaon_mg_level *level, const kaon_cycle_room *room, part *run,
                           kaon_operator *other, double *seconds) {
  enum { RUNS = 3 };
  kaon_context *ctx = level->ctx;
  *seconds = INFINITY;
  for (int i = 0; i <= RUNS; i++) {
    KAON_TRY(ctx->backend->memory->synchronise(ctx));
    const double start = kaon_seconds();
    KAON_TRY(run(level, room, other));
    KAON_TRY(ctx->backend->memory->synchronise(ctx));
    if (i > 0) *seconds = fmin(*seconds, kaon_seconds() - start);
  }
  return KAON_OK;
}

/* GCR on the level below without its preconditioner; or the solve of the coarsest level. */
static kaon_status measure_below(const kaon_mg_level *level, const kaon_cycle_room *room,
                                 kaon_multigrid_part *times) {
  kaon_mg_level *coarse = level->below;
  KAON_AUTO(kaon_operator_destroy) kaon_operator *steps = NULL;
  if (coarse->below == NULL) return measure(level, room, below, room->below, &times->coarsest);
  if (level->cycle == 1) return KAON_OK;
  KAON_TRY(kaon_fixed_steps(coarse->A, KAON_GCR, level->cycle, room->columns, NULL, &steps));
  return measure(level, room, below, steps, &times->krylov);
}

/* Parts of one cycle of this level, and of the solve of the level below without its cycles. */
static kaon_status measure_level(kaon_mg_level *level, int columns, kaon_multigrid_part *times) {
  kaon_cycle_room *room = NULL;
  KAON_TRY(kaon_cycle_room_get(level, columns, &room));
  KAON_TRY(kaon_random_columns(room->residual, 0, 1));
  KAON_TRY(measure(level, room, smoother, NULL, &times->smoother));
  KAON_TRY(measure(level, room, residual, NULL, &times->residual));
  KAON_TRY(measure(level, room, transfer, NULL, &times->transfer));
  return kaon_level_agree(level, measure_below(level, room, times + 1));
}

static kaon_status measure_all(kaon_multigrid *mg, int columns, const kaon_multigrid_info *info,
                               kaon_multigrid_times *times) {
  for (int l = 0; l + 1 < info->levels; l++)
    KAON_TRY(measure_level(&mg->level[l], columns, &times->level[l]));
  for (int l = 0; l < info->levels; l++) {
    kaon_multigrid_part *at = &times->level[l];
    const int cycles = info->level[l].cycles;
    at->smoother *= cycles;
    at->residual *= cycles;
    at->transfer *= cycles;
    at->krylov *= l > 0 ? info->level[l - 1].cycles : 0;
    at->coarsest *= cycles;
    at->seconds = at->smoother + at->residual + at->transfer + at->krylov + at->coarsest;
    times->seconds += at->seconds;
  }
  return KAON_OK;
}

kaon_status kaon_multigrid_measure(kaon_operator *K, int columns, kaon_multigrid_times *times) {
  kaon_multigrid_info info = KAON_MULTIGRID_INFO_INIT;
  KAON_ENTER(KAON_OF(K), K, times);
  KAON_TRY(kaon_multigrid_describe(K, &info));
  KAON_TRY(kaon_output_check(K->ctx, "kaon_multigrid_times", times));
  if (columns < 1)
    return kaon_fail(K->ctx, KAON_ERR_ARGUMENT,
                     "multigrid measure: %d columns, but at least 1 is needed", columns);
  KAON_TRY(kaon_current(K->revision));
  kaon_multigrid *mg = K->self;
  kaon_multigrid_times made = {.levels = info.levels};
  kaon_cycle_room *before[KAON_MULTIGRID_LEVELS];
  for (int l = 0; l < info.levels; l++) before[l] = mg->level[l].rooms;
  const kaon_status status = kaon_agree(K->ctx, measure_all(mg, columns, &info, &made));
  for (int l = 0; l < info.levels; l++) kaon_cycle_clear(&mg->level[l], before[l]);
  if (status == KAON_OK) kaon_output_fill(times, &made, sizeof made);
  return status;
}
