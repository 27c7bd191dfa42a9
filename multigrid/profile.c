/* profile.c - how long each part of a multigrid cycle takes: each is run by itself. */
#include <math.h>

#include "lib/core/entry.h"
#include "lib/core/output.h"
#include "lib/cpu/clock.h"
#include "multigrid/hierarchy.h"

/* A part of the cycle of a level is run on the vectors of a room. */
typedef struct probe {
  const kaon_mg_level *level;
  const kaon_cycle_room *room;
  kaon_vector *source;   /* random, on the level */
  kaon_operator *solver; /* of the level below */
} probe;

typedef kaon_status part(const probe *p);

/* With the residual. */
static kaon_status smoother(const probe *p) {
  const kaon_cycle_room *r = p->room;
  return kaon_reduced_improve(r->smoother, p->source, r->start, r->residual, r->correction, NULL);
}

/* With the messages of ranks that merge. */
static kaon_status transfer(const probe *p) {
  const kaon_agglomeration *merging = p->level->merging;
  const kaon_transfer *t = p->level->transfer;
  const kaon_cycle_room *r = p->room;
  KAON_TRY(kaon_transfer_restrict(t, p->source, r->coarse_source, NULL));
  if (merging != NULL) {
    KAON_TRY(
        kaon_agglomeration_gather(merging, r->gather, r->coarse_source, r->merged_source, NULL));
    KAON_TRY(kaon_agglomeration_take(merging, r->gather, r->merged_source, r->coarse_source, NULL));
  }
  return kaon_transfer_prolong(t, r->coarse_source, 0, r->start, NULL);
}

static kaon_status below(const probe *p) {
  const kaon_cycle_room *r = p->room;
  const int merged = p->level->merging != NULL;
  return kaon_operator_run(p->solver, KAON_PLAIN, merged ? r->merged_source : r->coarse_source,
                           merged ? r->merged_solution : r->coarse_solution, NULL);
}

/* The shortest of a few runs, after one that may still allocate. */
static kaon_status measure(const probe *p, part *run, double *seconds) {
  enum { RUNS = 3 };
  kaon_context *ctx = p->level->ctx;
  *seconds = INFINITY;
  for (int i = 0; i <= RUNS; i++) {
    KAON_TRY(ctx->backend->memory->synchronise(ctx));
    const double start = kaon_seconds();
    KAON_TRY(run(p));
    KAON_TRY(ctx->backend->memory->synchronise(ctx));
    if (i > 0) *seconds = fmin(*seconds, kaon_seconds() - start);
  }
  return KAON_OK;
}

/* GCR on the level below without its preconditioner; or the solve of the coarsest level. */
static kaon_status measure_below(probe *p, kaon_multigrid_part *times) {
  const kaon_mg_level *level = p->level;
  kaon_mg_level *coarse = level->below;
  KAON_AUTO(kaon_operator_destroy) kaon_operator *steps = NULL;
  p->solver = p->room->below;
  if (coarse->below == NULL) return measure(p, below, &times->coarsest);
  if (level->cycle == 1) return KAON_OK;
  KAON_TRY(kaon_fixed_steps(coarse->A, KAON_GCR, level->cycle, p->room->columns, NULL, &steps));
  p->solver = steps;
  return measure(p, below, &times->krylov);
}

/* Parts of one cycle of this level, and of the solve of the level below without its cycles. */
static kaon_status measure_level(kaon_mg_level *level, int columns, kaon_multigrid_part *times) {
  const kaon_operator *A = level->A;
  kaon_cycle_room *room = NULL;
  KAON_AUTO(kaon_vector_destroy) kaon_vector *source = NULL;
  KAON_TRY(kaon_cycle_room_get(level, columns, &room));
  KAON_TRY(kaon_vector_create(level->ctx, A->space, A->precision, columns, &source));
  KAON_TRY(kaon_random_columns(source, 0, 1));
  probe p = {level, room, source, NULL};
  KAON_TRY(measure(&p, transfer, &times->transfer));
  KAON_TRY(measure(&p, smoother, &times->smoother));
  return kaon_level_agree(level, measure_below(&p, times + 1));
}

static kaon_status measure_all(kaon_multigrid *mg, int columns, const kaon_multigrid_info *info,
                               kaon_multigrid_times *times) {
  for (int l = 0; l + 1 < info->levels; l++)
    KAON_TRY(measure_level(&mg->level[l], columns, &times->level[l]));
  for (int l = 0; l < info->levels; l++) {
    kaon_multigrid_part *at = &times->level[l];
    const int cycles = info->level[l].cycles, solves = l > 0 ? info->level[l - 1].cycles : 0;
    at->smoother *= cycles;
    at->transfer *= cycles;
    at->krylov *= solves;
    at->coarsest *= solves;
    at->seconds = at->smoother + at->transfer + at->krylov + at->coarsest;
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
