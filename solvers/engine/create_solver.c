/* create_solver.c - makes a solver: chooses the operator for each precision and allocates all
 * workspace. */
#include <kaon/context.h>
#include <kaon/lab.h>

#include <stdlib.h>

#include "solvers/spectra/deflate.h"
#include "solvers/relax/relax_internal.h"
#include "solvers/shifts/shifted.h"
#include "lib/core/options_table.h"
#include "lib/operator/pointwise.h"
#include "lib/core/entry.h"

/* Steps between flushes of x_inner. Within n steps from 0 its rounding error grows to about eps
 * n^(3/2) / sqrt(3) of a step's size. The part of it along a small singular vector has to be solved
 * for again. */
enum { FLUSH_STEPS = 8 };

static kaon_status check_options(const kaon_operator *A, int columns,
                                 const kaon_solver_options *options) {
  KAON_TRY(kaon_operator_check_square(A, "solver"));
  if (columns < 1)
    return kaon_fail(A->ctx, KAON_ERR_ARGUMENT,
                     "solver: %d columns asked for, at least 1 is needed", columns);
  const kaon_method_ops *m = kaon_method_find(options->method);
  const char *name = kaon_method_name(options->method);
  if (kaon_method_has(m, KAON_METHOD_BLOCK) && columns > KAON_BLOCK_MAX)
    return kaon_fail(A->ctx, KAON_ERR_UNSUPPORTED,
                     "solver: %s joins at most %d columns, but %d were asked for; split them into "
                     "batches",
                     name, (int)KAON_BLOCK_MAX, columns);
  if (options->heavy_quark_tol > 0 &&
      (options->stop == KAON_STOP_NORMAL || kaon_method_has(m, KAON_METHOD_RELAXATION)))
    return kaon_fail(A->ctx, KAON_ERR_UNSUPPORTED,
                     "solver: heavy_quark_tol goes with stop full or reduced and a Krylov method, "
                     "not with stop %s of method %s; leave it at 0",
                     options->stop == KAON_STOP_NORMAL ? "normal" : "full or reduced", name);
  const kaon_operator *K = options->preconditioner;
  if (K == NULL) return KAON_OK;
  if (!kaon_method_has(m, KAON_METHOD_PRECONDITIONED))
    return kaon_fail(
        A->ctx, KAON_ERR_UNSUPPORTED,
        "solver: %s takes no preconditioner; use method gcr, bicgstab, or for Hermitian "
        "positive definite systems cg or fcg",
        name);
  KAON_TRY(kaon_operator_check_square(K, "solver: the preconditioner"));
  if (K->space != A->space)
    return kaon_fail(A->ctx, KAON_ERR_SHAPE,
                     "solver: the preconditioner's space is not the operator's; make both on one");
  if (kaon_reduces_within(A) && kaon_inverts_within(K))
    return kaon_fail(
        A->ctx, KAON_ERR_UNSUPPORTED,
        "solver: the preconditioner solves the reduced system, so it approximates the inverse of "
        "the operator before reduction; use it to precondition that operator, not the reduction");
  return KAON_OK;
}

/* system: A in double, if A has such a twin, so that residuals are recomputed in double. Without
 * verification (tol = 0), and for several shifts, it is A. inner: A at the lower of its own and the
 * sloppy precision. */
static kaon_status choose_operators(kaon_solver *s) {
  kaon_operator *A = s->A;
  const kaon_solver_options *o = &s->options;
  const kaon_precision inner = o->sloppy > A->precision ? o->sloppy : A->precision;
  s->system = A;
  /* an accumulated A K y has no bound on its rounding in half between two services */
  const int gathers = o->preconditioner != NULL && s->method->preconditions.finish > 0;
  if (inner == KAON_HALF && (kaon_method_has(s->method, KAON_METHOD_NO_HALF) || gathers))
    return kaon_fail(s->ctx, KAON_ERR_UNSUPPORTED,
                     "solver: %s%s does not support an inner iteration in half precision; choose "
                     "sloppy single, or method cg or bicgstab",
                     kaon_method_name(o->method), gathers ? " with a preconditioner" : "");
  if (A->precision != KAON_DOUBLE && o->tol > 0 && s->shifts == NULL) {
    const kaon_status status = A->ops->twin(A, KAON_DOUBLE, KAON_RECONSTRUCT_18, &s->system);
    if (status != KAON_OK) s->system = A;
    if (status != KAON_OK && status != KAON_ERR_UNSUPPORTED) return status;
    if (status == KAON_ERR_UNSUPPORTED) kaon_error_clear();
  }
  if (inner == s->system->precision)
    s->inner = s->system;
  else if (inner == A->precision)
    s->inner = A;
  else
    KAON_TRY(A->ops->twin(A, inner, o->reconstruct, &s->inner));
  s->process.mixed = s->inner->precision != s->system->precision;
  return KAON_OK;
}

/* Chooses K as the process applies it. A K of coarser precision is used as it is, since that is
 * cheaper; one of finer precision gets a twin. Flexible methods use K as it is. */
static kaon_status choose_preconditioner(kaon_solver *s) {
  kaon_operator *K = s->options.preconditioner;
  s->K = K;
  if (K == NULL) return KAON_OK;
  if (!kaon_method_has(s->method, KAON_METHOD_FLEXIBLE) && K->precision < s->inner->precision) {
    const kaon_status status = K->ops->twin(K, s->inner->precision, KAON_RECONSTRUCT_18, &s->K);
    if (status != KAON_OK) s->K = K;
    if (status != KAON_OK && status != KAON_ERR_UNSUPPORTED) return status;
    if (status == KAON_ERR_UNSUPPORTED) kaon_error_clear();
  }
  const int same = s->K->precision == s->inner->precision;
  const kaon_pointwise *pointwise = kaon_operator_capability(s->K, KAON_CAPABILITY_POINTWISE);
  if (same && pointwise != NULL) s->process.scaling = pointwise->factors(s->K);
  return KAON_OK;
}

static kaon_status new_vectors(kaon_solver *s, const kaon_operator *like, int columns,
                               kaon_vector **v) {
  if (s->process.counting) {
    s->process.bytes += kaon_vector_needs(like->space, like->precision, columns);
    return KAON_OK;
  }
  return kaon_vector_create(s->ctx, like->space, like->precision, columns, v);
}

static kaon_status new_vector(kaon_solver *s, const kaon_operator *like, kaon_vector **v) {
  return new_vectors(s, like, s->columns, v);
}

/* One with the columns of x. */
static kaon_status new_wide_vector(kaon_solver *s, const kaon_operator *like, kaon_vector **v) {
  return new_vectors(s, like, s->columns * s->solutions, v);
}

static kaon_status create_outer_vectors(kaon_solver *s) {
  kaon_operator *system = s->system;
  const int other_precision = s->A->precision != system->precision;
  if (s->A->reduction != NULL || other_precision) {
    KAON_TRY(new_vector(s, system, &s->outer.own_b));
    KAON_TRY(new_vector(s, system, &s->outer.own_x));
  }
  if (s->A->reduction != NULL) {
    KAON_TRY(new_vector(s, system->reduction->parent, &s->outer.full_r));
    if (other_precision) {
      KAON_TRY(new_vector(s, system->reduction->parent, &s->outer.user_b));
      KAON_TRY(new_vector(s, system->reduction->parent, &s->outer.user_x));
    }
  }
  KAON_TRY(new_vector(s, system, &s->outer.r));
  for (int i = 0; i < s->null.count; i++) KAON_TRY(new_vector(s, system, &s->null.vector[i]));
  const int lifts = system->reduction != NULL && system->reduction->lift != NULL &&
                    s->options.stop == KAON_STOP_FULL;
  if (s->process.mixed && (lifts || s->options.stop == KAON_STOP_NORMAL))
    KAON_TRY(new_vector(s, system, &s->outer.own_chosen_r));
  return KAON_OK;
}

static kaon_status create_inner_vectors(kaon_solver *s) {
  const kaon_method_storage *m = &s->method->storage;
  s->process.cycle = m->per_direction > 0 ? s->options.subspace : 0;
  const int narrow = m->vectors + m->per_direction * s->options.subspace +
                     (s->K == NULL                 ? 0
                      : s->process.scaling != NULL ? m->diagonal
                                                   : m->general);
  s->process.nwork = narrow + m->wide;
  for (int i = 0; i < narrow; i++) KAON_TRY(new_vector(s, s->inner, &s->work[i]));
  for (int i = narrow; i < s->process.nwork; i++)
    KAON_TRY(new_wide_vector(s, s->inner, &s->work[i]));
  s->outer.chosen_r = s->process.mixed ? s->outer.own_chosen_r : s->work[m->scratch];
  const kaon_operator *K = s->K;
  if (K != NULL && K->precision != s->inner->precision) {
    KAON_TRY(new_vector(s, K, &s->process.precond_input));
    KAON_TRY(new_vector(s, K, &s->process.precond_output));
  }
  if (!s->process.mixed) {
    s->r = s->outer.r;
    return KAON_OK;
  }
  KAON_TRY(new_wide_vector(s, s->inner, &s->outer.own_x_inner));
  s->x_inner = s->outer.own_x_inner;
  for (int i = 0; i < s->null.count && kaon_null_has_shadow(s); i++)
    KAON_TRY(new_vector(s, s->inner, &s->null.shadow[i]));
  return new_vector(s, s->inner, &s->r);
}

/* Counts first: a solver that does not fit is refused before any vector is allocated. */
static kaon_status create_vectors(kaon_solver *s) {
  int pairs;
  s->process.counting = 1;
  KAON_TRY(create_outer_vectors(s));
  KAON_TRY(create_inner_vectors(s));
  KAON_TRY(kaon_deflation_choose(s, &pairs));
  KAON_TRY(kaon_deflation_create(s, pairs));
  s->process.counting = 0;
  KAON_TRY(kaon_pool_require(s->ctx, s->process.bytes, "the solver"));
  KAON_TRY(create_outer_vectors(s));
  KAON_TRY(create_inner_vectors(s));
  return kaon_deflation_create(s, pairs);
}

/* States of the columns and, with several shifts, of those of x behind them. */
static int states_of(const kaon_solver *s) {
  return s->columns * (s->shifts != NULL ? 1 + s->solutions : 1);
}

/* Scalars of the columns, with memory for `states` of them. */
static kaon_status create_scalars(const kaon_solver *s, int states, kaon_scalars **scalars) {
  KAON_TRY(kaon_scalars_create(s->ctx, states, scalars));
  (*scalars)->columns = s->columns;
  return KAON_OK;
}

static kaon_status allocate_host_memory(kaon_solver *s) {
  const size_t n = (size_t)s->columns;
  s->states.host = calloc((size_t)states_of(s), sizeof *s->states.host);
  s->states.sums_host = calloc(n * (size_t)s->solutions, sizeof *s->states.sums_host);
  s->states.norm2 = calloc(n, sizeof *s->states.norm2);
  s->states.norm2_full = calloc(n, sizeof *s->states.norm2_full);
  if (s->states.host == NULL || s->states.sums_host == NULL || s->states.norm2 == NULL ||
      s->states.norm2_full == NULL)
    return kaon_fail(s->ctx, KAON_ERR_MEMORY, "solver: out of host memory for %d columns",
                     s->columns);
  return kaon_history_create(s);
}

static kaon_status reserve(const kaon_solver *s, kaon_operator *A, int dagger) {
  KAON_TRY(kaon_operator_reserve(A, KAON_PLAIN, s->columns));
  return dagger ? kaon_operator_reserve(A, KAON_DAGGER, s->columns) : KAON_OK;
}

static kaon_status reserve_operators(kaon_solver *s) {
  const int adjoint = kaon_method_has(s->method, KAON_METHOD_ADJOINT);
  const int dagger = adjoint || s->options.stop == KAON_STOP_NORMAL;
  KAON_TRY(reserve(s, s->system, dagger));
  KAON_TRY(reserve(s, s->inner, dagger));
  if (s->system->reduction != NULL) KAON_TRY(reserve(s, s->system->reduction->parent, dagger));
  return s->K != NULL ? reserve(s, s->K, adjoint) : KAON_OK;
}

/* Reserves buffers for sums over ranks, so that a solve allocates none. The largest sum has all
 * products of a cycle's directions, of the deflated ones, or of a block's columns, and two
 * norms. */
static kaon_status reserve_sums(kaon_solver *s) {
  const int deflated = s->deflation != NULL ? KAON_RITZ_MAX : 0;
  const int cycle = s->process.cycle > deflated ? s->process.cycle : deflated;
  const int products = kaon_method_has(s->method, KAON_METHOD_BLOCK) ? s->columns : cycle;
  const int slots = (products > KAON_DEFERRED_SLOTS ? products : KAON_DEFERRED_SLOTS) + 2;
  return kaon_comm_reserve(s->ctx, 2 * slots * s->columns * s->solutions);
}

static double flops_of(const kaon_solver *s, const kaon_operator *A) {
  return A != NULL ? A->ops->cost(A, s->columns).flops : 0;
}

/* Also counts unknowns and sites. This happens once, so that a report needs no message. */
static kaon_status count_flops(kaon_solver *s) {
  const kaon_space *space = s->system->space;
  const kaon_reduction *reduction = s->system->reduction;
  const kaon_space *parent = reduction != NULL ? reduction->parent->space : space;
  double flops[] = {flops_of(s, s->inner),
                    flops_of(s, s->system),
                    flops_of(s, s->K),
                    kaon_relax_flops(s),
                    (double)space->nsites * space->ncomp,
                    (double)space->nsites,
                    (double)parent->nsites};
  KAON_TRY(kaon_comm_sum(s->ctx, flops, 7));
  s->process.sites = flops[5];
  s->process.parent_sites = flops[6];
  s->process.flops.inner = flops[0];
  s->process.flops.outer = flops[1];
  s->process.flops.preconditioner = flops[2];
  s->process.flops.sweep = flops[3];
  s->process.unknowns = flops[4] < INT32_MAX ? (int)flops[4] : INT32_MAX;
  return KAON_OK;
}

/* 1: this solver records steps. A solver with fixed steps does not: its steps are part of the outer
 * solver's block. */
static int records(const kaon_solver *s) {
  return s->ctx->backend->record != NULL && s->ctx->lab.issue != KAON_ISSUE_PLAIN &&
         !kaon_separate(s->ctx) && s->options.tol > 0 && !kaon_relax_is_host_led(s);
}

/* Operators and host memory: everything that can fail on a single rank, before the ranks agree on
 * the other memory. */
static kaon_status prepare(kaon_solver *s) {
  const kaon_method_ops *m = s->method;
  const kaon_method_replacement *r = &m->replacement;
  const kaon_solver_options *o = &s->options;
  KAON_TRY(choose_operators(s));
  KAON_TRY(choose_preconditioner(s));
  KAON_TRY(kaon_null_choose(s));
  const double *rule = o->refinement == KAON_REFINE_RESTART ? r->delta_restart : r->delta;
  s->process.delta = o->delta > 0       ? o->delta
                     : s->process.mixed ? rule[s->inner->precision]
                                        : r->delta_alone;
  const int gathers = m->storage.per_direction > 0 || kaon_method_has(m, KAON_METHOD_RELAXATION) ||
                      (s->K != NULL && m->preconditions.finish > 0);
  s->process.flush =
      s->process.mixed && !gathers ? FLUSH_STEPS : 0; /* else x changes only in services */
  KAON_TRY(allocate_host_memory(s));
  KAON_TRY(create_scalars(s, states_of(s), &s->states.scalars));
  s->states.of_x = s->states.scalars;
  return create_scalars(s, s->columns * s->solutions, &s->states.sums);
}

static kaon_status note_operators(kaon_solver *s) {
  KAON_TRY(kaon_revision_create(s->ctx, "solver", NULL, &s->revision));
  s->revision->follow = kaon_relax_follow;
  s->revision->owner = s;
  /* first K, whose sentence also names what A needs */
  if (s->K != NULL) kaon_made_of(s->revision, s->K->revision);
  kaon_made_of(s->revision, s->A->revision);
  kaon_made_of(s->revision, s->system->revision);
  kaon_made_of(s->revision, s->inner->revision);
  return KAON_OK;
}

static kaon_status build(kaon_solver *s) {
  kaon_launch unused;
  kaon_status status = prepare(s);
  if (status == KAON_OK) status = note_operators(s);
  KAON_TRY(kaon_agree(s->ctx, status));
  KAON_TRY(create_vectors(s));
  KAON_TRY(kaon_null_fill(s));
  KAON_TRY(kaon_relax_create(s));
  KAON_TRY(reserve_sums(s));
  KAON_TRY(reserve_operators(s));
  KAON_TRY(kaon_launch_prepare(s->ctx, states_of(s), 0, &unused));
  kaon_solver_idle(s);
  s->replay.block = kaon_solver_block(s);
  if (records(s)) {
    const kaon_record_ops *record = s->ctx->backend->record;
    KAON_TRY(record->create(s->ctx, s->columns, &s->replay.recorder));
    if (s->ctx->comm->ranks == 1 && s->shifts == NULL) { /* solve_launch.c */
      KAON_TRY(record->create(s->ctx, s->columns, &s->launch.before_after));
      KAON_TRY(record->create(s->ctx, s->columns, &s->launch.first));
      KAON_TRY(record->create(s->ctx, s->columns, &s->launch.whole));
      KAON_TRY(kaon_scalars_create(s->ctx, s->columns, &s->launch.prepared));
    }
  }
  return kaon_scalars_write(s->states.scalars, s->states.host);
}

kaon_status kaon_solver_create(kaon_operator *A, int columns, const kaon_solver_options *options,
                               kaon_solver **solver) {
  kaon_solver_options own;
  if (solver != NULL) *solver = NULL;
  KAON_ENTER(KAON_OF(A), A, solver);
  const kaon_argument more = kaon_whole("columns", columns);
  KAON_TRY(kaon_options_share(A->ctx, KAON_OK, KAON_OPTIONS_SOLVER, options, &own, &more, 1));
  KAON_TRY(check_options(A, columns, &own));
  if (own.heavy_quark_tol > 0 && own.tol == 0) own.tol = 1; /* every |r| will do */
  return kaon_solver_make(A, columns, &own, NULL, solver);
}

kaon_status kaon_solver_make(kaon_operator *A, int columns, const kaon_solver_options *options,
                             kaon_multishift *shifts, kaon_solver **solver) {
  kaon_solver *s = calloc(1, sizeof *s);
  if (s == NULL) return kaon_fail(A->ctx, KAON_ERR_MEMORY, "solver: out of host memory");
  s->ctx = A->ctx;
  s->references = 1;
  s->A = A;
  s->options = *options;
  s->method = shifts != NULL ? &kaon_method_multishift : kaon_method_find(options->method);
  s->columns = columns;
  s->solutions = shifts != NULL ? shifts->n : 1;
  s->shifts = shifts;
  kaon_context_retain(s->ctx);
  kaon_operator_retain(A);
  if (options->preconditioner != NULL) kaon_operator_retain(options->preconditioner);
  kaon_status status = kaon_agree(s->ctx, build(s));
  if (status == KAON_OK) status = count_flops(s);
  s->options.relax = NULL; /* copied */
  *solver = s;
  if (status != KAON_OK) kaon_solver_destroy(solver);
  return status;
}

static void destroy_recorder(const kaon_solver *s, kaon_recorder **recorder) {
  if (*recorder != NULL) s->ctx->backend->record->destroy(recorder);
}

void kaon_solver_destroy(kaon_solver **solver) {
  if (solver == NULL || *solver == NULL) return;
  kaon_solver *s = *solver;
  *solver = NULL;
  if (--s->references > 0) return;
  destroy_recorder(s, &s->launch.whole);
  destroy_recorder(s, &s->launch.first);
  destroy_recorder(s, &s->launch.before_after);
  destroy_recorder(s, &s->replay.recorder);
  kaon_shifted_destroy(s);
  for (int i = 0; i < s->process.nwork; i++) kaon_vector_destroy(&s->work[i]);
  if (s->process.mixed) kaon_vector_destroy(&s->r);
  kaon_deflation_destroy(s);
  kaon_relax_destroy(s);
  kaon_vector_destroy(&s->process.precond_input);
  kaon_vector_destroy(&s->process.precond_output);
  kaon_vector_destroy(&s->outer.r);
  kaon_vector_destroy(&s->outer.own_chosen_r);
  kaon_vector_destroy(&s->outer.own_x_inner);
  kaon_vector_destroy(&s->outer.own_b);
  kaon_vector_destroy(&s->outer.own_x);
  kaon_vector_destroy(&s->outer.user_b);
  kaon_vector_destroy(&s->outer.user_x);
  kaon_vector_destroy(&s->outer.full_r);
  kaon_scalars_destroy(&s->states.scalars);
  kaon_scalars_destroy(&s->states.sums);
  kaon_scalars_destroy(&s->launch.prepared);
  kaon_history_destroy(s);
  kaon_null_destroy(s);
  free(s->states.host);
  free(s->states.sums_host);
  free(s->states.norm2);
  free(s->states.norm2_full);
  if (s->K != s->options.preconditioner) kaon_operator_destroy(&s->K);
  if (s->inner != s->system && s->inner != s->A) kaon_operator_destroy(&s->inner);
  if (s->system != s->A) kaon_operator_destroy(&s->system);
  kaon_operator_destroy(&s->options.preconditioner);
  kaon_operator_destroy(&s->A);
  kaon_revision_release(&s->revision);
  kaon_context *ctx = s->ctx;
  free(s);
  kaon_context_release(ctx);
}
