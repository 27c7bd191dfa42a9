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

/* Vectors of a level during the set-up, in its precision: n columns each. */
typedef struct candidates {
  kaon_vector *v, *w;
} candidates;

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

/* The matrices of the level below. half, w: overwritten. */
static kaon_status make_matrices(const kaon_mg_level *level, kaon_vector *half, kaon_vector *w) {
  const kaon_transfer *t = level->transfer;
  const kaon_coarse_links *below = kaon_coarse_links_of(level->below->A);
  kaon_coarse_links parts;
  if (level->merging == NULL) return kaon_galerkin(level->A, t, half, w, below);
  KAON_TRY(kaon_coarse_links_create(level->aggregates->coarse, t->coarse->ncomp,
                                    t->coarse_precision, &parts));
  kaon_status status = kaon_galerkin(level->A, t, half, w, &parts);
  if (status == KAON_OK) status = merge(level, parts.inside, below->inside);
  for (int d = 0; d < KAON_DIRS && status == KAON_OK; d++)
    status = merge(level, parts.hop[d], below->hop[d]);
  kaon_coarse_links_destroy(&parts);
  return status;
}

/* The numbers of the level below, from V and A's present ones. w: n columns, overwritten. */
static kaon_status project(kaon_multigrid *mg, kaon_mg_level *level, kaon_vector *w) {
  double clock = kaon_seconds();
  KAON_AUTO(kaon_vector_destroy) kaon_vector *half = NULL;
  KAON_TRY(kaon_vector_create(level->ctx, level->A->space, level->A->precision, w->nrhs, &half));
  KAON_TRY(make_matrices(level, half, w));
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
static kaon_status rebuild(kaon_multigrid *mg, kaon_mg_level *level, const candidates *c) {
  kaon_dependence where = {-1, {0, 0, 0, 0}};
  double clock = kaon_seconds();
  KAON_TRY(kaon_vector_copy(c->w, c->v));
  const kaon_status status = kaon_transfer_set(level->transfer, c->w, &where);
  if (status == KAON_ERR_SINGULAR && where.vector >= 0) return dependent(mg, level, &where);
  KAON_TRY(status);
  KAON_TRY(round_basis(level));
  KAON_TRY(kaon_transfer_restrict(level->transfer, c->v, level->coordinates, NULL));
  note(mg, level, &clock, &mg->info.orthonormalise);
  return project(mg, level, c->w);
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

/* w = K v, some columns at a time. The last ones may overlap those before, with the same result. */
static kaon_status apply(kaon_operator *K, const kaon_vector *v, kaon_vector *w) {
  const int columns = kaon_setup_columns(v->nrhs);
  KAON_AUTO(kaon_vector_destroy) kaon_vector *in = NULL, *out = NULL;
  KAON_TRY(kaon_vector_create(v->ctx, v->space, v->precision, columns, &in));
  KAON_TRY(kaon_vector_create(v->ctx, v->space, v->precision, columns, &out));
  for (int i = 0; i < v->nrhs; i += columns) {
    const int first = i + columns < v->nrhs ? i : v->nrhs - columns;
    KAON_TRY(kaon_vector_copy_columns(in, 0, v, first, columns));
    KAON_TRY(kaon_operator_run(K, KAON_PLAIN, in, out, NULL));
    KAON_TRY(kaon_vector_copy_columns(w, first, out, 0, columns));
  }
  return KAON_OK;
}

/* v = K v or S v, of norm 1. */
static kaon_status improve(kaon_multigrid *mg, kaon_mg_level *level, kaon_operator *K,
                           candidates *c) {
  double clock = kaon_seconds();
  KAON_TRY(apply(K, c->v, c->w));
  kaon_vector *swapped = c->v;
  c->v = c->w;
  c->w = swapped;
  KAON_TRY(kaon_normalise_columns(c->v));
  note(mg, level, &clock, &mg->info.smooth);
  return KAON_OK;
}

static kaon_status smooth(kaon_multigrid *mg, kaon_mg_level *level, candidates *c, int times) {
  KAON_AUTO(kaon_operator_destroy) kaon_operator *smoother = NULL;
  KAON_TRY(tell(mg, level, 0));
  KAON_TRY(kaon_level_smoother(level, kaon_setup_columns(level->vectors), &smoother));
  for (int i = 0; i < times; i++) KAON_TRY(improve(mg, level, smoother, c));
  return KAON_OK;
}

static kaon_status make_below(kaon_multigrid *mg, kaon_mg_level *level, int rounds, origin from);

/* All that follows from the candidates, with `rounds` rounds on the level below. */
static kaon_status descend(kaon_multigrid *mg, kaon_mg_level *level, const candidates *c,
                           int rounds, origin from) {
  KAON_TRY(rebuild(mg, level, c));
  return make_below(mg, level, rounds, from);
}

static void release(candidates *c) {
  kaon_vector_destroy(&c->v);
  kaon_vector_destroy(&c->w);
}

static kaon_status take(const kaon_mg_level *level, candidates *c) {
  const kaon_operator *A = level->A;
  KAON_TRY(kaon_vector_create(level->ctx, A->space, A->precision, level->vectors, &c->v));
  return kaon_vector_create(level->ctx, A->space, A->precision, level->vectors, &c->w);
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
static kaon_status improve_level(kaon_multigrid *mg, kaon_mg_level *level, candidates *c,
                                 int rounds) {
  for (int i = 0; i < rounds; i++) {
    KAON_TRY(tell(mg, level, i + 1));
    double clock = kaon_seconds();
    KAON_TRY(kaon_orthonormalise_columns(c->v));
    note(mg, level, &clock, &mg->info.orthonormalise);
    KAON_TRY(improve(mg, level, level->K, c));
    KAON_TRY(descend(mg, level, c, i + 1 == rounds ? rounds : 0, FROM_ABOVE));
  }
  return KAON_OK;
}

/* The level below begins with these coordinates. */
static kaon_status make_on(kaon_multigrid *mg, kaon_mg_level *below, const kaon_vector *coordinates,
                           int rounds, origin from) {
  candidates c = {NULL, NULL};
  kaon_status status = kaon_level_reduce(below);
  if (status == KAON_OK) status = take(below, &c);
  if (status == KAON_OK) status = begin(mg, coordinates, below, from, c.v);
  if (status == KAON_OK && from == FROM_RANDOM) status = smooth(mg, below, &c, SMOOTHINGS);
  if (status == KAON_OK) status = descend(mg, below, &c, 0, from);
  if (status == KAON_OK) status = improve_level(mg, below, &c, rounds);
  release(&c);
  return status;
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
  kaon_vector *w = NULL;
  KAON_TRY(
      kaon_vector_create(level->ctx, level->A->space, level->A->precision, level->vectors, &w));
  kaon_status status = project(mg, level, w);
  kaon_vector_destroy(&w);
  KAON_TRY(status);
  if (below->below == NULL) return invert_coarsest(mg, below);
  status = kaon_level_reduce(below);
  if (status == KAON_OK) status = follow(mg, below);
  return kaon_level_agree(level, status);
}

/* Candidates to begin with. */
static kaon_status begin_top(kaon_multigrid *mg, kaon_mg_level *top, candidates *c, int fresh) {
  KAON_TRY(take(top, c));
  if (!fresh) return kaon_transfer_prolong(top->transfer, top->coordinates, 0, c->v, NULL);
  KAON_TRY(kaon_random_columns(c->v, 0, mg->options.seed));
  KAON_TRY(smooth(mg, top, c, SMOOTHINGS));
  return descend(mg, top, c, 0, FROM_RANDOM);
}

kaon_status kaon_multigrid_setup(kaon_multigrid *mg, kaon_mg_level *top, int rounds, int fresh) {
  candidates c = {NULL, NULL};
  const double start = kaon_seconds();
  const int improves = fresh || rounds > 0;
  kaon_status status = improves ? kaon_level_reduce(top) : follow(mg, top);
  if (status == KAON_OK && improves) status = begin_top(mg, top, &c, fresh);
  if (status == KAON_OK && improves) status = improve_level(mg, top, &c, rounds);
  release(&c);
  mg->info.seconds += kaon_seconds() - start;
  return kaon_agree(top->ctx, status);
}
