/* multishift_make.c - creation of CG for several shifts: options, twins, workspace. */
#include <math.h>
#include <stdlib.h>

#include <kaon/context.h>
#include <kaon/lab.h>

#include "solvers/shifts/multishift_internal.h"
#include "lib/core/options_table.h"

static kaon_status take_options(const kaon_operator *A, int n, const double *sigma,
                                const kaon_multishift_options *options,
                                kaon_multishift_options *own) {
  KAON_TRY(kaon_operator_check_square(A, "multishift"));
  if (sigma == NULL) return kaon_fail(A->ctx, KAON_ERR_ARGUMENT, "multishift: the shifts are NULL");
  if (n < 1 || n > KAON_MULTISHIFT_MAX)
    return kaon_fail(A->ctx, KAON_ERR_ARGUMENT,
                     "multishift: %d shifts were asked for, but 1 to %d are supported", n,
                     (int)KAON_MULTISHIFT_MAX);
  for (int i = 0; i < n; i++)
    if (!isfinite(sigma[i]))
      return kaon_fail(A->ctx, KAON_ERR_ARGUMENT, "multishift: shift %d is %g, no number", i,
                       sigma[i]);
  KAON_TRY(kaon_options_share(A->ctx, KAON_OK, KAON_OPTIONS_MULTISHIFT, options, own, NULL, 0));
  if (A->precision == KAON_HALF)
    return kaon_fail(A->ctx, KAON_ERR_UNSUPPORTED,
                     "multishift: an operator in half precision is not supported; make it in "
                     "double or single, with sloppy=half");
  return KAON_OK;
}

static kaon_status create_vectors(kaon_multishift *s, const kaon_space *space,
                                  kaon_precision precision, kaon_shift_vectors *v,
                                  int own_solution) {
  const int c = s->columns, all = kaon_shift_all(s);
  KAON_TRY(kaon_vector_create(s->ctx, space, precision, c, &v->r));
  KAON_TRY(kaon_vector_create(s->ctx, space, precision, c, &v->p));
  KAON_TRY(kaon_vector_create(s->ctx, space, precision, c, &v->q));
  KAON_TRY(kaon_vector_create(s->ctx, space, precision, all, &v->P));
  return own_solution ? kaon_vector_create(s->ctx, space, precision, all, &v->X) : KAON_OK;
}

/* Unit roundoffs; half: half a unit of a site's largest value. */
static double roundoff(kaon_precision precision) {
  return precision == KAON_DOUBLE ? 0x1p-53 : precision == KAON_SINGLE ? 0x1p-24 : 0x1p-16;
}

/* Adds a level on vectors v, with a twin of A. */
static kaon_status add_level(kaon_multishift *s, kaon_precision precision, kaon_shift_vectors *v) {
  kaon_operator *A = s->level[0].A;
  kaon_shift_level *w = &s->level[s->levels++];
  *w = (kaon_shift_level){.v = v, .owner = s, .unit = roundoff(precision)};
  return A->ops->twin(A, precision, s->options.reconstruct, &w->A);
}

static kaon_status add_levels(kaon_multishift *s, kaon_operator *A) {
  const kaon_precision sloppy = s->options.sloppy;
  kaon_shift_vectors *v = &s->outer;
  s->levels = 1;
  s->level[0] = (kaon_shift_level){.A = A, .v = v, .owner = s, .unit = roundoff(A->precision)};
  if (A->precision == KAON_DOUBLE && sloppy > KAON_DOUBLE) {
    v = &s->inner;
    KAON_TRY(add_level(s, KAON_SINGLE, v));
  }
  return sloppy == KAON_HALF ? add_level(s, KAON_HALF, v) : KAON_OK;
}

/* Workspace of a level, in addition to its vectors. */
static kaon_status create_copies(kaon_multishift *s, kaon_shift_level *w) {
  const kaon_space *space = w->A->space;
  const kaon_precision precision = w->A->precision;
  const int c = s->columns;
  if (s->options.normal) KAON_TRY(kaon_vector_create(s->ctx, space, precision, c, &w->t));
  if (precision != KAON_HALF) return KAON_OK;
  KAON_TRY(kaon_vector_create(s->ctx, space, precision, c, &w->in));
  return kaon_vector_create(s->ctx, space, precision, c, &w->out);
}

static kaon_status reserve(const kaon_multishift *s, kaon_operator *A, int columns) {
  KAON_TRY(kaon_operator_reserve(A, KAON_PLAIN, columns));
  return s->options.normal ? kaon_operator_reserve(A, KAON_DAGGER, columns) : KAON_OK;
}

static kaon_status take_shifts(kaon_multishift *s, const double *sigma) {
  s->sigma = calloc((size_t)s->n, sizeof *s->sigma);
  if (s->sigma == NULL)
    return kaon_fail(s->ctx, KAON_ERR_MEMORY, "multishift: out of host memory for %d shifts", s->n);
  s->sigma0 = sigma[0];
  for (int i = 0; i < s->n; i++) {
    s->sigma[i] = sigma[i];
    s->sigma0 = fmin(s->sigma0, sigma[i]);
  }
  return KAON_OK;
}

/* ---- memory for right-hand sides ---- */

static kaon_status allocate_host_memory(kaon_multishift *s) {
  const size_t c = (size_t)s->columns, all = (size_t)kaon_shift_all(s);
  s->norm2 = calloc(all, sizeof *s->norm2);
  s->host = calloc(c + all, sizeof *s->host);
  s->sums_host = calloc(all, sizeof *s->sums_host);
  s->reports = calloc(all, sizeof *s->reports);
  s->missed = calloc(all, sizeof *s->missed);
  s->source = calloc(c, sizeof *s->source);
  if (s->norm2 == NULL || s->host == NULL || s->sums_host == NULL || s->reports == NULL ||
      s->missed == NULL || s->source == NULL)
    return kaon_fail(s->ctx, KAON_ERR_MEMORY,
                     "multishift: out of host memory for %d shifts of %d columns", s->n,
                     s->columns);
  return KAON_OK;
}

static kaon_status create_recorders(kaon_multishift *s) {
  const kaon_record_ops *record = s->ctx->backend->record;
  const int states = s->columns + kaon_shift_all(s);
  kaon_launch unused;
  KAON_TRY(kaon_launch_prepare(s->ctx, states, 0,
                               &unused)); /* reserves buffers for sums, so that none is allocated
                                             later */
  if (record == NULL || s->ctx->lab.issue == KAON_ISSUE_PLAIN || kaon_separate(s->ctx))
    return KAON_OK;
  for (int l = 0; l < s->levels; l++)
    KAON_TRY(record->create(s->ctx, states, &s->level[l].recorder));
  return KAON_OK;
}

static kaon_status create_scalars(kaon_multishift *s) {
  const int c = s->columns, all = kaon_shift_all(s);
  KAON_TRY(kaon_scalars_create(s->ctx, c + all, &s->scalars));
  KAON_TRY(kaon_scalars_create(s->ctx, all, &s->sums));
  for (int m = 0; m < all; m++) s->sums_host[m].gate = KAON_GATE_STEP;
  KAON_TRY(kaon_scalars_write(s->sums, s->sums_host));
  s->base = s->shifts = *s->scalars;
  s->base.columns = c;
  s->shifts.columns = all;
  s->shifts.state = s->scalars->state + c;
  return KAON_OK;
}

static kaon_status allocate_memory(kaon_multishift *s) {
  const kaon_operator *A = s->level[0].A;
  KAON_TRY(allocate_host_memory(s));
  KAON_TRY(create_vectors(s, A->space, A->precision, &s->outer, 0));
  if (s->level[s->levels - 1].v == &s->inner)
    KAON_TRY(create_vectors(s, A->space, KAON_SINGLE, &s->inner, 1));
  for (int l = 0; l < s->levels; l++) KAON_TRY(create_copies(s, &s->level[l]));
  if (s->options.normal)
    KAON_TRY(kaon_vector_create(s->ctx, A->space, A->precision, kaon_shift_all(s), &s->several));
  return create_scalars(s);
}

static kaon_status reserve_operators(kaon_multishift *s) {
  KAON_TRY(reserve(s, s->level[0].A, kaon_shift_all(s)));
  for (int l = 0; l < s->levels; l++) KAON_TRY(reserve(s, s->level[l].A, s->columns));
  return create_recorders(s);
}

static void destroy_vectors(kaon_shift_vectors *v) {
  kaon_vector_destroy(&v->r);
  kaon_vector_destroy(&v->p);
  kaon_vector_destroy(&v->q);
  kaon_vector_destroy(&v->P);
  kaon_vector_destroy(&v->X);
}

static void free_host_memory(kaon_multishift *s) {
  free(s->norm2);
  free(s->host);
  free(s->sums_host);
  free(s->reports);
  free(s->missed);
  free(s->source);
  s->norm2 = NULL;
  s->host = s->sums_host = NULL;
  s->reports = NULL;
  s->missed = NULL;
  s->source = NULL;
}

static void free_workspace(kaon_multishift *s) {
  for (int l = 0; l < s->levels; l++) {
    kaon_shift_level *w = &s->level[l];
    if (w->recorder != NULL) s->ctx->backend->record->destroy(&w->recorder);
    w->recorded = (kaon_recorded){.form = KAON_ISSUE_AUTO};
    w->unrecordable = 0;
    kaon_vector_destroy(&w->t);
    kaon_vector_destroy(&w->in);
    kaon_vector_destroy(&w->out);
  }
  s->outer.X = NULL; /* owned by the user */
  destroy_vectors(&s->outer);
  destroy_vectors(&s->inner);
  kaon_vector_destroy(&s->several);
  kaon_scalars_destroy(&s->scalars);
  kaon_scalars_destroy(&s->sums);
  free_host_memory(s);
  s->columns = 0;
}

kaon_status kaon_shift_allocate(kaon_multishift *s, int columns) {
  free_workspace(s);
  s->columns = columns;
  kaon_status status = kaon_agree(s->ctx, allocate_memory(s));
  if (status == KAON_OK) status = kaon_agree(s->ctx, reserve_operators(s));
  if (status != KAON_OK) free_workspace(s);
  return status;
}

/* ---- creation ---- */

static kaon_status build(kaon_multishift *s, kaon_operator *A, const double *sigma) {
  KAON_TRY(kaon_agree(s->ctx, take_shifts(s, sigma)));
  s->flops = A->ops->cost(A, 1).flops;
  KAON_TRY(kaon_comm_sum(s->ctx, &s->flops, 1));
  KAON_TRY(add_levels(s, A));
  return kaon_shift_allocate(s, 1);
}

kaon_status kaon_multishift_create(kaon_operator *A, int shifts, const double *sigma,
                                   const kaon_multishift_options *options,
                                   kaon_multishift **solver) {
  kaon_multishift_options own;
  if (solver != NULL) *solver = NULL;
  if (A == NULL || solver == NULL)
    return kaon_fail(A != NULL ? A->ctx : NULL, KAON_ERR_ARGUMENT,
                     "multishift: the operator or the address of the result is NULL");
  KAON_TRY(kaon_agree(A->ctx, take_options(A, shifts, sigma, options, &own)));
  kaon_multishift *s = calloc(1, sizeof *s);
  kaon_status status = KAON_OK;
  if (s == NULL) status = kaon_fail(A->ctx, KAON_ERR_MEMORY, "multishift: out of host memory");
  status = kaon_agree(A->ctx, status);
  if (status != KAON_OK) {
    free(s);
    return status;
  }
  s->ctx = A->ctx;
  s->options = own;
  s->n = shifts;
  kaon_context_retain(s->ctx);
  status = kaon_agree(s->ctx, build(s, A, sigma));
  if (status != KAON_OK)
    kaon_multishift_destroy(&s);
  else
    *solver = s;
  return status;
}

void kaon_multishift_destroy(kaon_multishift **solver) {
  if (solver == NULL || *solver == NULL) return;
  kaon_multishift *s = *solver;
  kaon_context *ctx = s->ctx;
  *solver = NULL;
  free_workspace(s);
  for (int l = 1; l < s->levels; l++)
    kaon_operator_destroy(&s->level[l].A); /* the first one is the user's */
  free(s->sigma);
  free(s);
  kaon_context_release(ctx);
}
