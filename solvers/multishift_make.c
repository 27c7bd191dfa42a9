/* multishift_make.c - creation of CG for several shifts: what is asked for, twins, workspace. */
#include <math.h>
#include <stdlib.h>

#include <kaon/options.h>

#include "solvers/multishift.h"

static kaon_status check_options(const kaon_operator *A, int n, const double *sigma,
                                 const kaon_multishift_options *o) {
  if (n < 1 || n > KAON_MULTISHIFT_MAX || sigma == NULL)
    return kaon_fail(A->ctx, KAON_ERR_ARGUMENT,
                     "multishift: %d shifts asked for, 1 to %d are taken", n,
                     (int)KAON_MULTISHIFT_MAX);
  for (int i = 0; i < n; i++)
    if (!isfinite(sigma[i]))
      return kaon_fail(A->ctx, KAON_ERR_ARGUMENT, "multishift: shift %d is %g, no number", i,
                       sigma[i]);
  if (kaon_options_check(KAON_OPTIONS_MULTISHIFT, o) != KAON_OK)
    return kaon_fail(A->ctx, KAON_ERR_ARGUMENT, "%s", kaon_last_error(NULL));
  if (A->precision == KAON_HALF)
    return kaon_fail(A->ctx, KAON_ERR_UNSUPPORTED,
                     "multishift: an operator in half precision is not taken; make it in double or "
                     "single, with sloppy=half");
  return KAON_OK;
}

static kaon_status take_vectors(kaon_multishift *s, const kaon_space *space,
                                kaon_precision precision, kaon_shift_vectors *v, int own_solution) {
  KAON_TRY(kaon_vector_create(s->ctx, space, precision, 1, &v->r));
  KAON_TRY(kaon_vector_create(s->ctx, space, precision, 1, &v->p));
  KAON_TRY(kaon_vector_create(s->ctx, space, precision, 1, &v->q));
  KAON_TRY(kaon_vector_create(s->ctx, space, precision, s->n, &v->P));
  return own_solution ? kaon_vector_create(s->ctx, space, precision, s->n, &v->X) : KAON_OK;
}

/* Unit roundoffs; half: half a step of a site's largest number. */
static double roundoff(kaon_precision precision) {
  return precision == KAON_DOUBLE ? 0x1p-53 : precision == KAON_SINGLE ? 0x1p-24 : 0x1p-16;
}

/* The next level, on vectors v: A's twin, and what it needs beside these. */
static kaon_status take_level(kaon_multishift *s, kaon_precision precision, kaon_shift_vectors *v) {
  kaon_operator *A = s->level[0].A;
  kaon_shift_level *w = &s->level[s->levels++];
  *w = (kaon_shift_level){.v = v, .unit = roundoff(precision)};
  KAON_TRY(A->ops->at_precision(A, precision, s->options.reconstruct, &w->A));
  if (s->options.normal) KAON_TRY(kaon_vector_create(s->ctx, A->space, precision, 1, &w->t));
  if (precision != KAON_HALF) return KAON_OK;
  KAON_TRY(kaon_vector_create(s->ctx, A->space, precision, 1, &w->in));
  return kaon_vector_create(s->ctx, A->space, precision, 1, &w->out);
}

static kaon_status take_levels(kaon_multishift *s, kaon_operator *A) {
  const kaon_precision sloppy = s->options.sloppy;
  kaon_shift_vectors *v = &s->outer;
  s->levels = 1;
  s->level[0] = (kaon_shift_level){.A = A, .v = v, .unit = roundoff(A->precision)};
  KAON_TRY(take_vectors(s, A->space, A->precision, v, 0));
  if (s->options.normal) {
    KAON_TRY(kaon_vector_create(s->ctx, A->space, A->precision, 1, &s->level[0].t));
    KAON_TRY(kaon_vector_create(s->ctx, A->space, A->precision, s->n, &s->several));
  }
  if (A->precision == KAON_DOUBLE && sloppy > KAON_DOUBLE) {
    v = &s->inner;
    KAON_TRY(take_vectors(s, A->space, KAON_SINGLE, v, 1));
    KAON_TRY(take_level(s, KAON_SINGLE, v));
  }
  return sloppy == KAON_HALF ? take_level(s, KAON_HALF, v) : KAON_OK;
}

static kaon_status reserve(const kaon_multishift *s, kaon_operator *A, int columns) {
  if (A->ops->reserve != NULL) KAON_TRY(A->ops->reserve(A, columns));
  return s->options.normal && A->ops->reserve_dagger != NULL ? A->ops->reserve_dagger(A, columns)
                                                             : KAON_OK;
}

static kaon_status take_host_memory(kaon_multishift *s, const double *sigma) {
  const size_t n = (size_t)s->n;
  s->sigma = calloc(n, sizeof *s->sigma);
  s->norm2 = calloc(n, sizeof *s->norm2);
  s->host = calloc(n + 1, sizeof *s->host);
  s->sums_host = calloc(n, sizeof *s->sums_host);
  if (s->sigma == NULL || s->norm2 == NULL || s->host == NULL || s->sums_host == NULL)
    return kaon_fail(s->ctx, KAON_ERR_MEMORY, "multishift: no host memory for %d shifts", s->n);
  s->sigma0 = sigma[0];
  for (int i = 0; i < s->n; i++) {
    s->sigma[i] = sigma[i];
    s->sigma0 = fmin(s->sigma0, sigma[i]);
  }
  return KAON_OK;
}

static kaon_status take_recorders(kaon_multishift *s) {
  const kaon_record_ops *record = s->ctx->backend->record;
  kaon_launch unused;
  KAON_TRY(kaon_launch_prepare(s->ctx, s->n + 1, 0,
                               &unused)); /* room for sums, so that none is taken later */
  for (int l = 0; l < s->levels; l++) s->level[l].owner = s;
  if (record == NULL || s->ctx->options.issue == KAON_ISSUE_PLAIN || kaon_separate(s->ctx))
    return KAON_OK;
  for (int l = 0; l < s->levels; l++)
    KAON_TRY(record->create(s->ctx, s->n + 1, &s->level[l].recorder));
  return KAON_OK;
}

static kaon_status build(kaon_multishift *s, kaon_operator *A, const double *sigma) {
  KAON_TRY(kaon_agree(s->ctx, take_host_memory(s, sigma)));
  s->flops = A->ops->cost(A, 1).flops;
  KAON_TRY(kaon_comm_sum(s->ctx, &s->flops, 1));
  KAON_TRY(take_levels(s, A));
  KAON_TRY(kaon_scalars_create(s->ctx, s->n + 1, &s->scalars));
  KAON_TRY(kaon_scalars_create(s->ctx, s->n, &s->sums));
  for (int k = 0; k < s->n; k++) s->sums_host[k].gate = KAON_GATE_STEP;
  KAON_TRY(kaon_scalars_write(s->sums, s->sums_host));
  s->base = s->shifts = *s->scalars;
  s->base.columns = 1;
  s->shifts.columns = s->n;
  s->shifts.state = s->scalars->state + 1;
  KAON_TRY(reserve(s, A, s->n));
  for (int l = 0; l < s->levels; l++) KAON_TRY(reserve(s, s->level[l].A, 1));
  return take_recorders(s);
}

kaon_status kaon_multishift_create(kaon_operator *A, int shifts, const double *sigma,
                                   const kaon_multishift_options *options,
                                   kaon_multishift **solver) {
  static const kaon_multishift_options defaults = KAON_MULTISHIFT_OPTIONS_INIT;
  if (solver != NULL) *solver = NULL;
  if (A == NULL || solver == NULL)
    return kaon_fail(A != NULL ? A->ctx : NULL, KAON_ERR_ARGUMENT,
                     "multishift: the operator or the address of the result is NULL");
  if (options == NULL) options = &defaults;
  KAON_TRY(kaon_agree(A->ctx, check_options(A, shifts, sigma, options)));
  kaon_multishift *s = calloc(1, sizeof *s);
  if (s == NULL) return kaon_fail(A->ctx, KAON_ERR_MEMORY, "multishift: no host memory");
  s->ctx = A->ctx;
  s->options = *options;
  s->n = shifts;
  kaon_context_retain(s->ctx);
  const kaon_status status = kaon_agree(s->ctx, build(s, A, sigma));
  if (status != KAON_OK)
    kaon_multishift_destroy(&s);
  else
    *solver = s;
  return status;
}

static void give_vectors(kaon_shift_vectors *v) {
  kaon_vector_destroy(&v->r);
  kaon_vector_destroy(&v->p);
  kaon_vector_destroy(&v->q);
  kaon_vector_destroy(&v->P);
  kaon_vector_destroy(&v->X);
}

void kaon_multishift_destroy(kaon_multishift **solver) {
  if (solver == NULL || *solver == NULL) return;
  kaon_multishift *s = *solver;
  kaon_context *ctx = s->ctx;
  *solver = NULL;
  for (int l = 0; l < s->levels; l++) {
    kaon_shift_level *w = &s->level[l];
    if (w->recorder != NULL) ctx->backend->record->destroy(&w->recorder);
    kaon_vector_destroy(&w->t);
    kaon_vector_destroy(&w->in);
    kaon_vector_destroy(&w->out);
    if (l > 0) kaon_operator_destroy(&w->A); /* the first one is the user's */
  }
  give_vectors(&s->outer);
  give_vectors(&s->inner);
  kaon_vector_destroy(&s->several);
  kaon_vector_destroy(&s->one);
  kaon_vector_destroy(&s->all);
  kaon_scalars_destroy(&s->scalars);
  kaon_scalars_destroy(&s->sums);
  free(s->sigma);
  free(s->norm2);
  free(s->host);
  free(s->sums_host);
  free(s);
  kaon_context_release(ctx);
}
