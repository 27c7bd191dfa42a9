/* multigrid.c - makes, describes and updates multigrid preconditioners. */
#include <kaon/multigrid.h>

#include <stdlib.h>
#include <string.h>

#include "lib/core/entry.h"
#include "lib/core/options_table.h"
#include "lib/core/output.h"
#include "multigrid/hierarchy.h"

/* ---- levels ---- */

/* What is in the level's precision. */
static void release_cycle(kaon_mg_level *level) {
  kaon_cycle_clear(level, NULL);
  kaon_operator_destroy(&level->K);
  kaon_operator_destroy(&level->reduced);
  kaon_operator_destroy(&level->A);
  kaon_transfer_destroy(&level->transfer);
}

static void release_level(kaon_mg_level *level) {
  release_cycle(level);
  kaon_vector_destroy(&level->coordinates);
  kaon_agglomeration_destroy(&level->merging);
  kaon_aggregates_destroy(&level->aggregates);
}

static void begin_level(kaon_multigrid *mg, int number, kaon_mg_level *level) {
  const kaon_multigrid_options *o = &mg->options;
  const kaon_space *space = level->A->space;
  level->ctx = level->A->ctx;
  level->number = number;
  level->unknowns = space->lattice->global_volume * (space->ncomp / 2);
  if (number + 1 < o->levels) {
    level->vectors = o->vectors[number];
    level->steps = o->steps[number];
    level->cycle = o->cycle[number];
    level->smoother = o->smoother[number];
    level->below = level + 1;
  }
}

/* The lattice of the level below: the coarse one, or that of fewer ranks, if it becomes coarser. */
static kaon_status choose_lattice(kaon_mg_level *level, int coarsest, kaon_lattice **below) {
  int box[4];
  *below = level->aggregates->coarse;
  if (coarsest || !kaon_agglomeration_box(level->ctx, (*below)->extents, (*below)->global, box))
    return KAON_OK;
  KAON_TRY(kaon_agglomeration_create(*below, box, &level->merging));
  *below = level->merging->merged;
  return KAON_OK;
}

static kaon_status make_operator(const kaon_mg_level *level, kaon_lattice *lattice, int half,
                                 kaon_operator **A) {
  const kaon_precision precision = level->transfer->coarse_precision;
  kaon_coarse_links links = {NULL, {NULL}};
  kaon_status status = kaon_coarse_links_create(lattice, 4 * level->vectors, precision, &links);
  if (status == KAON_OK) status = kaon_coarse_create(&links, precision, half, A);
  kaon_coarse_links_destroy(&links);
  return status;
}

/* The transfer of a level, and the operator of the level below, still without numbers. */
static kaon_status make_transfer(kaon_multigrid *mg, kaon_mg_level *level) {
  const kaon_operator *A = level->A;
  const int n = level->vectors, below = level->number + 1;
  const int half_below =
      below + 1 < mg->options.levels && mg->options.precision[below] == KAON_HALF;
  kaon_lattice *lattice = NULL;
  KAON_TRY(kaon_aggregates_create(A->space->lattice, mg->options.block[level->number],
                                  &level->aggregates));
  KAON_TRY(kaon_transfer_create(level->aggregates, A->space, kaon_couplings_of(A)->halves, n,
                                A->precision, &level->transfer));
  const kaon_transfer *t = level->transfer;
  KAON_TRY(kaon_vector_create(level->ctx, t->coarse, t->coarse_precision, n, &level->coordinates));
  KAON_TRY(choose_lattice(level, below + 1 == mg->options.levels, &lattice));
  const kaon_status status = make_operator(level, lattice, half_below, &level->below->A);
  KAON_TRY(kaon_level_agree(level, status));
  return kaon_cycle_create(level);
}

/* A itself in this precision. */
static kaon_status in_precision(kaon_operator *A, kaon_precision precision, kaon_operator **twin) {
  if (A->precision != precision) return A->ops->twin(A, precision, KAON_RECONSTRUCT_18, twin);
  kaon_operator_retain(A);
  *twin = A;
  return KAON_OK;
}

static kaon_status build(kaon_multigrid *mg) {
  KAON_TRY(in_precision(mg->A, mg->options.precision[0], &mg->level[0].A));
  for (int l = 0; l < mg->options.levels; l++) {
    begin_level(mg, l, &mg->level[l]);
    if (mg->level[l].below == NULL) continue;
    const kaon_status status = make_transfer(mg, &mg->level[l]);
    KAON_TRY(mg->level[l].ctx != mg->A->ctx ? kaon_agree(mg->A->ctx, status) : status);
  }
  return KAON_OK;
}

/* Level 0 in single precision, with the same basis, aggregates, coordinates and levels below. */
static kaon_status single_level(kaon_multigrid *mg, kaon_mg_level *made) {
  const kaon_mg_level *level = &mg->level[0];
  *made = *level;
  made->A = made->reduced = made->K = NULL;
  made->transfer = NULL;
  made->rooms = NULL;
  KAON_TRY(in_precision(mg->A, KAON_SINGLE, &made->A));
  KAON_TRY(kaon_transfer_create(made->aggregates, made->A->space,
                                kaon_couplings_of(made->A)->halves, made->vectors, KAON_SINGLE,
                                &made->transfer));
  made->rounded = level->transfer;
  KAON_TRY(kaon_vector_copy(made->transfer->basis, level->transfer->basis));
  return kaon_cycle_create(made);
}

/* The set-up is in single precision. Where level 0 is not, it is made for a level that is, whose
 * bases are rounded. What solvers may have recorded stays in place. */
static kaon_status set_up_level_0(kaon_multigrid *mg, int rounds, int fresh) {
  kaon_mg_level *level = &mg->level[0], single;
  if (level->A->precision == KAON_SINGLE) {
    KAON_TRY(kaon_multigrid_setup(mg, level, rounds, fresh));
    return kaon_level_reduce(level);
  }
  kaon_status status = single_level(mg, &single);
  if (status == KAON_OK) status = kaon_multigrid_setup(mg, &single, rounds, fresh);
  release_cycle(&single);
  return status == KAON_OK ? kaon_level_reduce(level) : status;
}

/* Releases the work vectors for the columns of the set-up, but none that solvers use. */
static kaon_status set_up(kaon_multigrid *mg, int rounds, int fresh) {
  kaon_cycle_room *before[KAON_MULTIGRID_LEVELS];
  for (int l = 0; l < KAON_MULTIGRID_LEVELS; l++) before[l] = mg->level[l].rooms;
  const kaon_status status = set_up_level_0(mg, rounds, fresh);
  for (int l = 0; l < KAON_MULTIGRID_LEVELS; l++) kaon_cycle_clear(&mg->level[l], before[l]);
  return status;
}

/* ---- the operator ---- */

static kaon_status apply(kaon_operator *K, kaon_mode mode, const kaon_vector *x, kaon_vector *y,
                         const kaon_pass *pass) {
  kaon_operator *cycle = ((kaon_multigrid *)K->self)->level[0].K;
  return cycle->ops->apply(cycle, mode, x, y, pass);
}

static kaon_status make_twin(kaon_operator *K, kaon_precision precision,
                             kaon_reconstruct reconstruct, kaon_operator **twin) {
  kaon_operator *cycle = ((kaon_multigrid *)K->self)->level[0].K;
  return cycle->ops->twin(cycle, precision, reconstruct, twin);
}

static kaon_status reserve(kaon_operator *K, kaon_mode mode, int columns) {
  return kaon_operator_reserve(((kaon_multigrid *)K->self)->level[0].K, mode, columns);
}

static kaon_cost cost(const kaon_operator *K, int columns) {
  const kaon_operator *cycle = ((const kaon_multigrid *)K->self)->level[0].K;
  return cycle->ops->cost(cycle, columns);
}

static void destroy(kaon_operator *K) {
  kaon_multigrid *mg = K->self;
  for (int l = 0; l < KAON_MULTIGRID_LEVELS; l++) release_level(&mg->level[l]);
  kaon_operator_destroy(&mg->A);
  kaon_revision_release(&K->revision);
}

static const kaon_operator_ops multigrid_ops = {.name = "multigrid",
                                                .apply = apply,
                                                .twin = make_twin,
                                                .reserve = reserve,
                                                .cost = cost,
                                                .destroy = destroy};

static kaon_status check(const kaon_operator *A) {
  KAON_TRY(kaon_operator_check_square(A, "multigrid"));
  if (kaon_couplings_of(A) != NULL && A->ops->local != NULL && A->space->lattice != NULL &&
      A->space->inner == 1)
    return kaon_current(A->revision);
  return kaon_fail(
      A->ctx, KAON_ERR_UNSUPPORTED,
      "multigrid: operator '%s' is not one of four dimensions that offers its hops one "
      "direction at a time; pass one made by kaon_dirac_create(), not a reduction of it",
      A->ops->name);
}

/* path NULL: bases from random vectors, else from the file. */
static kaon_status make(kaon_operator *A, const kaon_multigrid_options *options, const char *path,
                        kaon_operator *K) {
  kaon_multigrid *mg = K->self;
  mg->options = *options;
  mg->A = A;
  kaon_operator_retain(A);
  KAON_TRY(kaon_agree(
      A->ctx, kaon_revision_create(A->ctx, "multigrid", "kaon_multigrid_update", &K->revision)));
  kaon_made_of(K->revision, A->revision);
  const kaon_lattice *lattice = A->space->lattice;
  if (path != NULL) KAON_TRY(kaon_bases_complete(A->ctx, path, lattice->global, &mg->options));
  KAON_TRY(kaon_multigrid_complete(A->ctx, lattice->extents, lattice->global, &mg->options));
  KAON_TRY(build(mg));
  mg->rule.last = path != NULL ? KAON_MULTIGRID_UPDATE : KAON_MULTIGRID_REBUILD;
  if (path == NULL) return set_up(mg, mg->options.setup, 1);
  KAON_TRY(kaon_bases_read(mg, path));
  return set_up(mg, 0, 0);
}

static kaon_status create(kaon_operator *A, const kaon_multigrid_options *options, const char *path,
                          kaon_operator **K) {
  kaon_multigrid_options own;
  KAON_TRY(kaon_options_share(A->ctx, KAON_OK, KAON_OPTIONS_MULTIGRID, options, &own, NULL, 0));
  KAON_TRY(check(A));
  kaon_operator *made = kaon_operator_new((kaon_operator){.ops = &multigrid_ops,
                                                          .ctx = A->ctx,
                                                          .space = A->space,
                                                          .precision = own.precision[0],
                                                          .exponent = -A->exponent},
                                          sizeof(kaon_multigrid));
  kaon_status status = KAON_AGREE_MEMORY(A->ctx, made != NULL, "multigrid: out of host memory");
  if (status == KAON_OK) status = make(A, &own, path, made);
  status = kaon_agree(A->ctx, status);
  *K = made;
  if (status != KAON_OK) kaon_operator_destroy(K);
  return status;
}

kaon_status kaon_multigrid_create(kaon_operator *A, const kaon_multigrid_options *options,
                                  kaon_operator **K) {
  if (K != NULL) *K = NULL;
  KAON_ENTER(KAON_OF(A), A, K);
  return create(A, options, NULL, K);
}

kaon_status kaon_multigrid_load(kaon_operator *A, const kaon_multigrid_options *options,
                                const char *path, kaon_operator **K) {
  if (K != NULL) *K = NULL;
  KAON_ENTER(KAON_OF(A), A, path, K);
  return create(A, options, path, K);
}

/* ---- queries ---- */

static kaon_status check_multigrid(const kaon_operator *K, const char *what) {
  if (K->ops == &multigrid_ops) return KAON_OK;
  return kaon_fail(K->ctx, KAON_ERR_ARGUMENT,
                   "%s: operator '%s' was not made by kaon_multigrid_create()", what, K->ops->name);
}

/* Of one application of a level's operator to a column. */
static double flops(const kaon_multigrid *mg, int level) {
  const kaon_operator *A = mg->level[level].A;
  return A->ops->cost(A, 1).flops;
}

kaon_status kaon_multigrid_describe(const kaon_operator *K, kaon_multigrid_info *info) {
  KAON_ENTER(KAON_OF(K), K, info);
  KAON_TRY(check_multigrid(K, "multigrid"));
  KAON_TRY(kaon_output_check(K->ctx, "kaon_multigrid_info", info));
  const kaon_multigrid *mg = K->self;
  kaon_multigrid_info made = mg->info;
  made.last = mg->rule.last;
  const kaon_space *space = mg->A->space;
  kaon_multigrid_count(K->ctx, space->lattice->extents, space->lattice->global, space->ncomp,
                       &mg->options, &made);
  for (int l = 0; l < made.levels; l++) made.level[l].complexity = flops(mg, l) / flops(mg, 0);
  kaon_output_fill(info, &made, sizeof made);
  return KAON_OK;
}

kaon_status kaon_multigrid_save(const kaon_operator *K, const char *path) {
  KAON_ENTER(KAON_OF(K), K, path);
  KAON_TRY(check_multigrid(K, "multigrid save"));
  KAON_TRY(kaon_current(K->revision));
  return kaon_agree(K->ctx, kaon_bases_write(K->self, path));
}

/* ---- updates ---- */

static kaon_status update(kaon_multigrid *mg, kaon_multigrid_refresh how) {
  if (how == KAON_MULTIGRID_REUSE) return KAON_OK;
  mg->info = (kaon_multigrid_info){.size = 0};
  const int fresh = how == KAON_MULTIGRID_REBUILD;
  const int rounds = fresh ? mg->options.setup : how == KAON_MULTIGRID_REFRESH;
  const kaon_status status = kaon_agree(mg->A->ctx, set_up(mg, rounds, fresh));
  mg->lost = status != KAON_OK;
  return status;
}

kaon_status kaon_multigrid_update(kaon_operator *K, kaon_multigrid_refresh how) {
  KAON_ENTER(KAON_OF(K), K);
  KAON_TRY(check_multigrid(K, "multigrid update"));
  kaon_multigrid *mg = K->self;
  kaon_status status = KAON_OK;
  if (how < KAON_MULTIGRID_REUSE || how > KAON_MULTIGRID_AUTO)
    status = kaon_fail(K->ctx, KAON_ERR_ARGUMENT,
                       "multigrid update: how is %d, but must be 0 (reuse), 1 (update), 2 "
                       "(refresh), 3 (rebuild) or 4 (auto)",
                       (int)how);
  if (how == KAON_MULTIGRID_AUTO) how = kaon_refresh_choose(&mg->rule);
  if (mg->lost) how = KAON_MULTIGRID_REBUILD;
  const kaon_argument chosen = kaon_whole("how", how);
  KAON_TRY(kaon_same(K->ctx, status, "multigrid update", &chosen, 1));
  KAON_TRY(kaon_current(mg->A->revision));
  status = update(mg, how);
  if (status == KAON_OK) kaon_refresh_updated(&mg->rule, how);
  kaon_made_anew(K->revision, status);
  return status;
}

kaon_status kaon_multigrid_solved(kaon_operator *K, const kaon_column_report *reports,
                                  int columns) {
  KAON_ENTER(KAON_OF(K), K, reports);
  KAON_TRY(check_multigrid(K, "multigrid solved"));
  if (columns < 1)
    return kaon_fail(K->ctx, KAON_ERR_ARGUMENT,
                     "multigrid solved: %d columns, but at least 1 is needed", columns);
  for (int k = 0; k < columns; k++)
    if (reports[k].reason != KAON_CANCELLED)
      kaon_refresh_solved(&((kaon_multigrid *)K->self)->rule, reports[k].iterations,
                          reports[k].reason == KAON_CONVERGED);
  return KAON_OK;
}
