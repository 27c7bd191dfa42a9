/* setup.c - the bases of a multigrid preconditioner, and the operators that follow from them.
 *
 * Each level has n candidates: vectors that its operator makes small. They begin as random vectors
 * that are smoothed. In each round one multigrid cycle, which approximates the inverse, is applied
 * to all of them together, as columns. Then the basis and the levels below are made again. Source:
 * Frommer et al., SIAM J. Sci. Comput. 36 (2014) A1581, section 3. */
#include <math.h>

#include "lib/core/context_internal.h"
#include "lib/cpu/clock.h"
#include "multigrid/hierarchy.h"

enum { SMOOTHINGS = 3 };

/* Where the candidates of a lower level come from: those of the level above, restricted. If the
 * level has more, RANDOM adds random vectors, ABOVE the level's former ones. */
typedef enum origin { FROM_RANDOM, FROM_ABOVE } origin;

/* Adds the seconds since *clock to *part and to those of the level, and starts anew. */
static void note(kaon_multigrid *mg, const kaon_mg_level *level, double *clock, double *part) {
  (void)level->ctx->backend->memory->synchronise(level->ctx);
  const double now = kaon_seconds();
  *part += now - *clock;
  mg->info.level[level->number].seconds += now - *clock;
  *clock = now;
}

/* Tells the user's monitor which round of a level begins. Any rank may have one, and cancel.
 * Collective. */
static kaon_status tell(const kaon_multigrid *mg, const kaon_mg_level *level, int round) {
  const kaon_multigrid_options *o = &mg->options;
  kaon_status status = KAON_OK;
  if (o->monitor != NULL && o->monitor(o->monitor_user, round, level->number, 0))
    status = kaon_fail(level->ctx, KAON_ERR_CANCELLED,
                       "multigrid: the monitor ended the set-up in round %d of level %d", round,
                       level->number);
  return kaon_agree(level->ctx, status);
}

static kaon_status dependent(const kaon_multigrid *mg, const kaon_mg_level *level,
                             const kaon_dependence *d) {
  return kaon_fail(level->ctx, KAON_ERR_SINGULAR,
                   "multigrid: vector %d of the %d of level %d depends on those before it in the "
                   "aggregate at %d %d %d %d; use larger blocks, fewer rounds of the set-up (there "
                   "are %d) or fewer vectors",
                   d->vector, level->vectors, level->number, d->site[0], d->site[1], d->site[2],
                   d->site[3], mg->options.setup);
}

/* to = from, which is of the coarse space, where fewer ranks hold the level below. */
static kaon_status merge(const kaon_mg_level *level, const kaon_vector *from, kaon_vector *to) {
  kaon_rank_gather *room = NULL;
  KAON_TRY(
      kaon_agglomeration_room(level->merging, from->space, from->precision, from->nrhs, &room));
  const kaon_status status = kaon_agglomeration_gather(level->merging, room, from, to, NULL);
  kaon_rank_gather_destroy(&room);
  return status;
}

/* The matrices of the level below. */
static kaon_status make_matrices(const kaon_mg_level *level) {
  const kaon_transfer *t = level->transfer;
  const kaon_coarse_links *below = kaon_coarse_links_of(level->below->A);
  kaon_coarse_links parts;
  if (level->merging == NULL) return kaon_galerkin(level->A, t, below);
  KAON_TRY(kaon_coarse_links_create(level->aggregates->coarse, t->coarse->ncomp,
                                    t->coarse_precision, &parts));
  kaon_status status = kaon_galerkin(level->A, t, &parts);
  if (status == KAON_OK) status = merge(level, parts.inside, below->inside);
  for (int d = 0; d < KAON_DIRS && status == KAON_OK; d++)
    status = merge(level, parts.hop[d], below->hop[d]);
  kaon_coarse_links_destroy(&parts);
  return status;
}

/* The numbers of the level below, from V and A's present ones. */
static kaon_status project(kaon_multigrid *mg, kaon_mg_level *level) {
  double clock = kaon_seconds();
  KAON_TRY(make_matrices(level));
  KAON_TRY(kaon_level_agree(level, kaon_coarse_update(level->below->A)));
  note(mg, level, &clock, &mg->info.galerkin);
  return KAON_OK;
}

/* The cycle's own basis, and V as that one has it: coarse matrices and cycle have one basis. */
static kaon_status round_basis(const kaon_mg_level *level) {
  if (level->rounded == NULL) return KAON_OK;
  KAON_TRY(kaon_vector_copy(level->rounded->basis, level->transfer->basis));
  return kaon_vector_copy(level->transfer->basis, level->rounded->basis);
}

/* V from the candidates, and the numbers of the level below. */
static kaon_status rebuild(kaon_multigrid *mg, kaon_mg_level *level, const kaon_vector *v) {
  kaon_dependence where = {-1, {0, 0, 0, 0}};
  double clock = kaon_seconds();
  KAON_TRY(kaon_vector_copy(level->transfer->basis, v));
  const kaon_status status = kaon_transfer_set(level->transfer, level->transfer->basis, &where);
  if (status == KAON_ERR_SINGULAR && where.vector >= 0) return dependent(mg, level, &where);
  KAON_TRY(status);
  KAON_TRY(round_basis(level));
  KAON_TRY(kaon_transfer_restrict(level->transfer, v, level->coordinates, NULL));
  note(mg, level, &clock, &mg->info.orthonormalise);
  return project(mg, level);
}

kaon_status kaon_level_reduce(kaon_mg_level *level) {
  if (level->reduced != NULL) return KAON_OK;
  return kaon_couplings_of(level->A)->reduce(level->A, KAON_EVEN_ODD_SYMMETRIC, &level->reduced);
}

/* The coarsest level's inverse. */
static kaon_status invert_coarsest(kaon_multigrid *mg, kaon_mg_level *level) {
  double clock = kaon_seconds();
  kaon_dense_info info = {0, 0, 0};
  if (level->unknowns > mg->options.dense) return kaon_level_reduce(level);
  const kaon_coarse_links *links = kaon_coarse_links_of(level->A);
  KAON_TRY(level->K == NULL
               ? kaon_dense_inverse(links, level->A->precision, mg->options.dense, &level->K, &info)
               : kaon_dense_inverse_update(level->K, links, &info));
  mg->info.level[level->number].dense_inverse_norm = info.inverse_norm;
  note(mg, level, &clock, &mg->info.dense);
  return KAON_OK;
}

/* v = K v, some columns at a time. */
static kaon_status apply(kaon_operator *K, kaon_vector *v) {
  const int columns = kaon_setup_columns(v->nrhs);
  KAON_AUTO(kaon_vector_destroy) kaon_vector *in = NULL, *out = NULL;
  KAON_TRY(kaon_vector_create(v->ctx, v->space, v->precision, columns, &in));
  KAON_TRY(kaon_vector_create(v->ctx, v->space, v->precision, columns, &out));
  for (int first = 0; first < v->nrhs; first += columns) {
    /* The last ones may be fewer: other columns of `in` are then those of the time before. */
    const int count = first + columns < v->nrhs ? columns : v->nrhs - first;
    KAON_TRY(kaon_vector_copy_columns(in, 0, v, first, count));
    KAON_TRY(kaon_operator_run(K, KAON_PLAIN, in, out, NULL));
    KAON_TRY(kaon_vector_copy_columns(v, first, out, 0, count));
  }
  return KAON_OK;
}

/* v = K v or S v, of norm 1. */
static kaon_status improve(kaon_multigrid *mg, kaon_mg_level *level, kaon_operator *K,
                           kaon_vector *v) {
  double clock = kaon_seconds();
  KAON_TRY(apply(K, v));
  KAON_TRY(kaon_normalise_columns(v));
  note(mg, level, &clock, &mg->info.smooth);
  return KAON_OK;
}

static kaon_status smooth(kaon_multigrid *mg, kaon_mg_level *level, kaon_vector *v, int times) {
  KAON_AUTO(kaon_operator_destroy) kaon_operator *smoother = NULL;
  KAON_TRY(tell(mg, level, 0));
  KAON_TRY(kaon_level_smoother(level, kaon_setup_columns(level->vectors), &smoother));
  for (int i = 0; i < times; i++) KAON_TRY(improve(mg, level, smoother, v));
  return KAON_OK;
}

static kaon_status make_below(kaon_multigrid *mg, kaon_mg_level *level, int rounds, origin from);

/* All that follows from the candidates, with `rounds` rounds on the level below. */
static kaon_status descend(kaon_multigrid *mg, kaon_mg_level *level, const kaon_vector *v,
                           int rounds, origin from) {
  KAON_TRY(rebuild(mg, level, v));
  return make_below(mg, level, rounds, from);
}

/* Candidates of a level, in its precision. */
static kaon_status take(const kaon_mg_level *level, kaon_vector **v) {
  return kaon_vector_create(level->ctx, level->A->space, level->A->precision, level->vectors, v);
}

/* above: the coordinates of the level above, on this one. */
static kaon_status begin(const kaon_multigrid *mg, const kaon_vector *above,
                         const kaon_mg_level *level, origin from, kaon_vector *v) {
  const int n = above->nrhs < level->vectors ? above->nrhs : level->vectors;
  if (from == FROM_RANDOM)
    KAON_TRY(kaon_random_columns(v, n, mg->options.seed + (uint64_t)level->number));
  else
    KAON_TRY(kaon_transfer_prolong(level->transfer, level->coordinates, 0, v, NULL));
  KAON_TRY(kaon_vector_copy_columns(v, 0, above, 0, n));
  return kaon_normalise_columns(v);
}

/* The levels below make rounds of their own in the last one: before, their bases change too much. */
static kaon_status improve_level(kaon_multigrid *mg, kaon_mg_level *level, kaon_vector *v,
                                 int rounds) {
  for (int i = 0; i < rounds; i++) {
    KAON_TRY(tell(mg, level, i + 1));
    double clock = kaon_seconds();
    KAON_TRY(kaon_orthonormalise_columns(v));
    note(mg, level, &clock, &mg->info.orthonormalise);
    KAON_TRY(improve(mg, level, level->K, v));
    KAON_TRY(descend(mg, level, v, i + 1 == rounds ? rounds : 0, FROM_ABOVE));
  }
  return KAON_OK;
}

/* The level below begins with these coordinates. */
static kaon_status make_on(kaon_multigrid *mg, kaon_mg_level *below, const kaon_vector *coordinates,
                           int rounds, origin from) {
  KAON_AUTO(kaon_vector_destroy) kaon_vector *v = NULL;
  KAON_TRY(kaon_level_reduce(below));
  KAON_TRY(take(below, &v));
  KAON_TRY(begin(mg, coordinates, below, from, v));
  if (from == FROM_RANDOM) KAON_TRY(smooth(mg, below, v, SMOOTHINGS));
  KAON_TRY(descend(mg, below, v, 0, from));
  return improve_level(mg, below, v, rounds);
}

static kaon_status make_below(kaon_multigrid *mg, kaon_mg_level *level, int rounds, origin from) {
  kaon_mg_level *below = level->below;
  const kaon_operator *A = below->A;
  if (below->below == NULL) return invert_coarsest(mg, below);
  if (level->merging == NULL) return make_on(mg, below, level->coordinates, rounds, from);
  KAON_AUTO(kaon_vector_destroy) kaon_vector *merged = NULL;
  kaon_status status = kaon_vector_create(A->ctx, A->space, A->precision, level->vectors, &merged);
  KAON_TRY(kaon_level_agree(level, status));
  KAON_TRY(merge(level, level->coordinates, merged));
  return kaon_level_agree(level, make_on(mg, below, merged, rounds, from));
}

/* All matrices again, from the present bases. */
static kaon_status follow(kaon_multigrid *mg, kaon_mg_level *level) {
  kaon_mg_level *below = level->below;
  KAON_TRY(project(mg, level));
  if (below->below == NULL) return invert_coarsest(mg, below);
  kaon_status status = kaon_level_reduce(below);
  if (status == KAON_OK) status = follow(mg, below);
  return kaon_level_agree(level, status);
}

/* Candidates to begin with. */
static kaon_status begin_top(kaon_multigrid *mg, kaon_mg_level *top, kaon_vector *v, int fresh) {
  if (!fresh) return kaon_transfer_prolong(top->transfer, top->coordinates, 0, v, NULL);
  KAON_TRY(kaon_random_columns(v, 0, mg->options.seed));
  KAON_TRY(smooth(mg, top, v, SMOOTHINGS));
  return descend(mg, top, v, 0, FROM_RANDOM);
}

kaon_status kaon_multigrid_setup(kaon_multigrid *mg, kaon_mg_level *top, int rounds, int fresh) {
  kaon_vector *v = NULL;
  const double start = kaon_seconds();
  const int improves = fresh || rounds > 0;
  kaon_status status = improves ? kaon_level_reduce(top) : follow(mg, top);
  if (status == KAON_OK && improves) status = take(top, &v);
  if (status == KAON_OK && improves) status = begin_top(mg, top, v, fresh);
  if (status == KAON_OK && improves) status = improve_level(mg, top, v, rounds);
  kaon_vector_destroy(&v);
  mg->info.seconds += kaon_seconds() - start;
  return kaon_agree(top->ctx, status);
}
