/* cycle.c - one multigrid cycle as an operator: z = P c with c ~ A_c^-1 P^dagger b from the level
 * below, then z += S (b - A z) by the smoother S ~ A^-1. The smoother works on the even-odd
 * reduction, which needs P c on its sites alone.
 *
 * The level below is solved by some steps of GCR, each preconditioned by that level's own cycle (a
 * K-cycle), by one cycle alone (a V-cycle), or exactly, if it is the coarsest and inverted. On a
 * coarsest level that is too large for that, steps of GCR stand for the cycle. No step reads a number on
 * the host, so a device records a cycle like any operator. */
#include <stdlib.h>

#include "lib/core/entry.h"
#include "multigrid/hierarchy.h"

/* ---- rooms ---- */

/* gone NULL: nothing. */
static void release_room(kaon_cycle_room *gone) {
  if (gone == NULL) return;
  kaon_operator_destroy(&gone->smoother);
  kaon_operator_destroy(&gone->below);
  kaon_vector_destroy(&gone->start);
  kaon_vector_destroy(&gone->residual);
  kaon_vector_destroy(&gone->correction);
  kaon_vector_destroy(&gone->coarse_source);
  kaon_vector_destroy(&gone->coarse_solution);
  kaon_vector_destroy(&gone->merged_source);
  kaon_vector_destroy(&gone->merged_solution);
  kaon_rank_gather_destroy(&gone->gather);
  free(gone);
}

void kaon_cycle_clear(kaon_mg_level *level, const kaon_cycle_room *until) {
  while (level->rooms != until) {
    kaon_cycle_room *gone = level->rooms;
    level->rooms = gone->next;
    release_room(gone);
  }
}

/* 1: the level below is solved by one application of an inverse of it. */
static int applies_once(const kaon_mg_level *level) {
  const kaon_mg_level *below = level->below;
  return level->cycle == 1 || (below->below == NULL && below->K != NULL);
}

static kaon_status make_inverse(kaon_mg_level *level, kaon_cycle_room *room) {
  kaon_mg_level *below = level->below;
  KAON_AUTO(kaon_operator_destroy) kaon_operator *K = below->K;
  if (K != NULL)
    kaon_operator_retain(K);
  else
    KAON_TRY(kaon_reduced_steps(below->reduced, KAON_GCR, KAON_GCR_MAX, room->columns, &K));
  if (!applies_once(level))
    return kaon_fixed_steps(below->A, KAON_GCR, level->cycle, room->columns, K, &room->below);
  kaon_operator_retain(K);
  room->below = K;
  return KAON_OK;
}

static kaon_status make_merged(kaon_mg_level *level, kaon_cycle_room *room) {
  const kaon_operator *A = level->below->A;
  KAON_TRY(kaon_vector_create(A->ctx, A->space, A->precision, room->columns, &room->merged_source));
  return kaon_vector_create(A->ctx, A->space, A->precision, room->columns, &room->merged_solution);
}

/* All that belongs to the level below. */
static kaon_status make_below(kaon_mg_level *level, kaon_cycle_room *room) {
  const kaon_transfer *t = level->transfer;
  kaon_status status = KAON_OK;
  if (level->merging != NULL) {
    KAON_TRY(kaon_agglomeration_room(level->merging, t->coarse, t->coarse_precision, room->columns,
                                     &room->gather));
    status = make_merged(level, room);
  }
  if (status == KAON_OK) status = make_inverse(level, room);
  if (status == KAON_OK) status = kaon_operator_reserve(room->below, KAON_PLAIN, room->columns);
  return kaon_level_agree(level, status);
}

static kaon_status take(kaon_mg_level *level, kaon_cycle_room *room) {
  const kaon_operator *A = level->A;
  const kaon_transfer *t = level->transfer;
  kaon_context *ctx = level->ctx;
  const kaon_space *reduced = level->reduced->space;
  KAON_TRY(kaon_vector_create(ctx, reduced, A->precision, room->columns, &room->start));
  KAON_TRY(kaon_vector_create(ctx, reduced, A->precision, room->columns, &room->residual));
  KAON_TRY(kaon_vector_create(ctx, A->space, A->precision, room->columns, &room->correction));
  KAON_TRY(
      kaon_vector_create(ctx, t->coarse, t->coarse_precision, room->columns, &room->coarse_source));
  KAON_TRY(kaon_vector_create(ctx, t->coarse, t->coarse_precision, room->columns,
                              &room->coarse_solution));
  KAON_TRY(kaon_level_smoother(level, room->columns, &room->smoother));
  KAON_TRY(make_below(level, room));
  KAON_TRY(kaon_operator_reserve(level->A, KAON_PLAIN, room->columns));
  return kaon_operator_reserve(room->smoother, KAON_PLAIN, room->columns);
}

kaon_status kaon_cycle_room_get(kaon_mg_level *level, int columns, kaon_cycle_room **room) {
  for (*room = level->rooms; *room != NULL; *room = (*room)->next)
    if ((*room)->columns == columns) return KAON_OK;
  kaon_cycle_room *made = calloc(1, sizeof *made);
  kaon_status status = KAON_AGREE_MEMORY(level->ctx, made != NULL, "multigrid: out of host memory");
  if (status == KAON_OK) {
    made->columns = columns;
    status = take(level, made);
  }
  if (status != KAON_OK) {
    release_room(made);
    return status;
  }
  made->next = level->rooms;
  *room = level->rooms = made;
  return KAON_OK;
}

/* ---- the operator ---- */

static kaon_mg_level *level_of(const kaon_operator *K) {
  return *(kaon_mg_level **)K->self;
}

/* Adds the traffic of fewer ranks since `before`, which their own communicator counts. */
static void count(kaon_traffic *all, const kaon_traffic *now, const kaon_traffic *before) {
  all->sums += now->sums - before->sums;
  all->exchanges += now->exchanges - before->exchanges;
  all->bytes += now->bytes - before->bytes;
  all->hidden += now->hidden - before->hidden;
  all->ahead += now->ahead - before->ahead;
}

/* coarse_solution ~ A_c^-1 coarse_source */
static kaon_status solve_below(const kaon_mg_level *level, kaon_cycle_room *room,
                               const kaon_pass *gate) {
  const kaon_agglomeration *m = level->merging;
  if (m == NULL)
    return kaon_operator_run(room->below, KAON_PLAIN, room->coarse_source, room->coarse_solution,
                             gate);
  KAON_TRY(
      kaon_agglomeration_gather(m, room->gather, room->coarse_source, room->merged_source, gate));
  const kaon_comm *few = m->merged->ctx->comm;
  const kaon_traffic before = few->traffic;
  KAON_TRY(
      kaon_operator_run(room->below, KAON_PLAIN, room->merged_source, room->merged_solution, gate));
  count(&level->ctx->comm->traffic, &few->traffic, &before);
  return kaon_agglomeration_take(m, room->gather, room->merged_solution, room->coarse_solution,
                                 gate);
}

static kaon_status run(kaon_mg_level *level, kaon_cycle_room *room, const kaon_vector *b,
                       kaon_vector *z, const kaon_pass *gate) {
  KAON_TRY(kaon_transfer_restrict(level->transfer, b, room->coarse_source, gate));
  KAON_TRY(solve_below(level, room, gate));
  KAON_TRY(kaon_transfer_prolong(level->transfer, room->coarse_solution, 0, room->start, gate));
  KAON_TRY(
      kaon_reduced_improve(room->smoother, b, room->start, room->residual, room->correction, gate));
  return kaon_blas_copy(room->correction, z, gate);
}

static kaon_status apply(kaon_operator *K, kaon_mode mode, const kaon_vector *x, kaon_vector *y,
                         const kaon_pass *pass) {
  kaon_cycle_room *room = NULL;
  if (mode == KAON_DAGGER)
    return kaon_fail(K->ctx, KAON_ERR_UNSUPPORTED,
                     "multigrid: its adjoint is not offered; use method gcr");
  KAON_TRY(kaon_cycle_room_get(level_of(K), x->nrhs, &room));
  const kaon_pass gate = kaon_pass_gate_only(pass);
  KAON_TRY(run(level_of(K), room, x, y, &gate));
  return kaon_pass_sum_separately(y, pass);
}

static kaon_status make_twin(kaon_operator *K, kaon_precision precision,
                             kaon_reconstruct reconstruct, kaon_operator **twin) {
  (void)precision;
  (void)reconstruct;
  *twin = NULL;
  return kaon_fail(K->ctx, KAON_ERR_UNSUPPORTED,
                   "multigrid: a preconditioner cannot change its precision; create a second one");
}

static kaon_status reserve(kaon_operator *K, kaon_mode mode, int columns) {
  kaon_cycle_room *room = NULL;
  (void)mode;
  return kaon_cycle_room_get(level_of(K), columns, &room);
}

/* The restriction multiplies each number of V once, the prolongation those of one parity. A Schwarz
 * cycle has 4 steps in blocks and one residual. */
static kaon_cost cost(const kaon_operator *K, int columns) {
  const kaon_mg_level *level = level_of(K);
  const kaon_cost a = level->A->ops->cost(level->A, columns);
  const kaon_operator *inverse = level->below->K != NULL ? level->below->K : level->below->A;
  const kaon_cost below = inverse->ops->cost(inverse, columns);
  const double numbers = (double)level->A->space->nsites * level->A->space->ncomp / 2;
  const double applications =
      level->smoother >= KAON_SMOOTHER_SAP ? 5 * level->steps + 1 : level->steps + 2;
  const double transfers = 1.5;
  const int cycles =
      (level->below->K == NULL ? KAON_GCR_MAX : 1) * (applies_once(level) ? 1 : level->cycle);
  return (kaon_cost){.flops = applications * a.flops + cycles * below.flops +
                              transfers * 8 * numbers * level->vectors,
                     .bytes = applications * a.bytes + cycles * below.bytes +
                              transfers * 8 * numbers * level->vectors / columns};
}

static void destroy(kaon_operator *K) {
  kaon_cycle_clear(level_of(K), NULL);
}

static const kaon_operator_ops cycle_ops = {.name = "multigrid cycle",
                                            .apply = apply,
                                            .twin = make_twin,
                                            .reserve = reserve,
                                            .cost = cost,
                                            .destroy = destroy};

kaon_status kaon_cycle_create(kaon_mg_level *level) {
  const kaon_operator *A = level->A;
  level->K = kaon_operator_new(
      (kaon_operator){
          .ops = &cycle_ops, .ctx = A->ctx, .space = A->space, .precision = A->precision},
      sizeof level);
  if (level->K != NULL) *(kaon_mg_level **)level->K->self = level;
  return KAON_AGREE_MEMORY(level->ctx, level->K != NULL, "multigrid: out of host memory");
}
