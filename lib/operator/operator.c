/* operator.c - what all operators share: references, checks before an application, and what an
 * operator says of itself. */
#include "lib/operator/operator_internal.h"

#include <stddef.h>
#include <stdlib.h>

#include "lib/operator/fused_apply.h"
#include "lib/operator/row_sweeps.h"
#include "lib/operator/send_ahead.h"
#include "lib/core/entry.h"

static const char *const precision_names[] = {"double", "single", "half"};

kaon_operator *kaon_operator_new(kaon_operator like, size_t bytes) {
  const size_t head =
      (sizeof like + sizeof(max_align_t) - 1) / sizeof(max_align_t) * sizeof(max_align_t);
  kaon_operator *made = calloc(1, head + bytes);
  if (made == NULL) return NULL;
  *made = like;
  made->references = 1;
  made->at_work = 0;
  made->self = (char *)made + head;
  kaon_context_retain(made->ctx);
  return made;
}

void kaon_operator_retain(kaon_operator *A) {
  A->references++;
}

void kaon_operator_destroy(kaon_operator **A) {
  if (A == NULL || *A == NULL) return;
  kaon_operator *gone = *A;
  *A = NULL;
  if (--gone->references > 0) return;
  kaon_context *ctx = gone->ctx;
  gone->ops->destroy(gone);
  free(gone);
  kaon_context_release(ctx);
}

const kaon_space *kaon_operator_space(const kaon_operator *A) {
  return A != NULL ? A->space : NULL;
}

const kaon_space *kaon_operator_range(const kaon_operator *A) {
  return A != NULL ? kaon_operator_to(A, KAON_PLAIN) : NULL;
}

kaon_status kaon_operator_check_square(const kaon_operator *A, const char *what) {
  if (A->range == NULL) return KAON_OK;
  return kaon_fail(A->ctx, KAON_ERR_SHAPE,
                   "%s: operator '%s' maps a space of %lld sites of %d reals to another of %lld "
                   "sites of %d reals, but one that maps a space to itself is needed",
                   what, A->ops->name, (long long)A->space->nsites, A->space->ncomp,
                   (long long)A->range->nsites, A->range->ncomp);
}

kaon_precision kaon_operator_precision(const kaon_operator *A) {
  return A != NULL ? A->precision : KAON_DOUBLE;
}

kaon_status kaon_operator_cost(const kaon_operator *A, int columns, kaon_cost *cost) {
  KAON_ENTER(KAON_OF(A), A, cost);
  if (columns < 1)
    return kaon_fail(A->ctx, KAON_ERR_ARGUMENT,
                     "%s: the cost of %d columns was asked for, but at least 1 is needed",
                     A->ops->name, columns);
  *cost = A->ops->cost(A, columns);
  return KAON_OK;
}

kaon_status kaon_operator_check_vector(const kaon_operator *A, const kaon_space *space,
                                       const kaon_vector *v, const char *name) {
  if (v == NULL)
    return kaon_fail(A->ctx, KAON_ERR_ARGUMENT, "%s: vector %s is NULL", A->ops->name, name);
  if (v->space != space)
    return kaon_fail(A->ctx, KAON_ERR_SHAPE,
                     "%s: vector %s is of another space (%lld sites of %d reals) than the operator "
                     "(%lld sites of %d reals); create it from kaon_operator_%s",
                     A->ops->name, name, (long long)v->space->nsites, v->space->ncomp,
                     (long long)space->nsites, space->ncomp, space == A->range ? "range" : "space");
  if (v->precision != A->precision)
    return kaon_fail(A->ctx, KAON_ERR_PRECISION,
                     "%s: vector %s is in %s precision but the operator in %s; convert it with "
                     "kaon_vector_copy",
                     A->ops->name, name, precision_names[v->precision],
                     precision_names[A->precision]);
  return KAON_OK;
}

kaon_status kaon_operator_check_columns(const kaon_operator *A, const kaon_vector *x,
                                        const kaon_vector *y) {
  if (x->nrhs != y->nrhs)
    return kaon_fail(A->ctx, KAON_ERR_SHAPE, "%s: one vector has %d columns, the other %d",
                     A->ops->name, x->nrhs, y->nrhs);
  return KAON_OK;
}

kaon_status kaon_pass_check(const kaon_context *ctx, const char *name, const kaon_pass *pass,
                            int columns) {
  if (pass == NULL) return KAON_OK;
  if (pass->scalars == NULL) {
    if (pass->norm != KAON_NO_SLOT || pass->dot != KAON_NO_SLOT || pass->then != 0)
      return kaon_fail(
          ctx, KAON_ERR_ARGUMENT,
          "%s: the pass asks for sums but has no scalars to hold them; set pass.scalars", name);
    return KAON_OK;
  }
  if (pass->scalars->columns != columns)
    return kaon_fail(ctx, KAON_ERR_SHAPE,
                     "%s: the scalars have %d columns but the vectors %d; create scalars with the "
                     "vectors' column count",
                     name, pass->scalars->columns, columns);
  return KAON_OK;
}

static kaon_status check_pass(const kaon_operator *A, const kaon_vector *y, const kaon_pass *pass) {
  KAON_TRY(kaon_pass_check(A->ctx, A->ops->name, pass, y->nrhs));
  if (pass == NULL || pass->dot == KAON_NO_SLOT) return KAON_OK;
  KAON_TRY(kaon_operator_check_vector(A, y->space, pass->w, "w"));
  return kaon_operator_check_columns(A, pass->w, y);
}

kaon_status kaon_operator_run(kaon_operator *A, kaon_mode mode, const kaon_vector *x,
                              kaon_vector *y, const kaon_pass *pass) {
  KAON_TRY(kaon_operator_check_vector(A, kaon_operator_from(A, mode), x, "x"));
  KAON_TRY(kaon_operator_check_vector(A, kaon_operator_to(A, mode), y, "y"));
  KAON_TRY(kaon_operator_check_columns(A, x, y));
  if (x == y || x->data == y->data)
    return kaon_fail(A->ctx, KAON_ERR_ALIAS, "%s: x and y are the same vector; use two",
                     A->ops->name);
  KAON_TRY(check_pass(A, y, pass));
  KAON_TRY(kaon_current(A->revision));
  KAON_TRY(kaon_begin_work(A->ctx, &A->at_work, "operator", A->ops->name));
  kaon_operator_retain(A);
  const kaon_status status = A->ops->apply(A, mode, x, y, pass);
  A->at_work = 0;
  kaon_operator_destroy(&A);
  return status;
}

static const kaon_send_ahead *send_ahead_of(const kaon_operator *A) {
  return kaon_operator_capability(A, KAON_CAPABILITY_SEND_AHEAD);
}

int kaon_operator_sends_ahead(const kaon_operator *A) {
  const kaon_send_ahead *ahead = send_ahead_of(A);
  return ahead != NULL && ahead->pays(A);
}

kaon_status kaon_operator_send(kaon_operator *A, const kaon_vector *x, const kaon_pass *pass) {
  KAON_TRY(kaon_operator_check_vector(A, A->space, x, "x"));
  KAON_TRY(kaon_pass_check(A->ctx, A->ops->name, pass, x->nrhs));
  return send_ahead_of(A)->send(A, x, pass);
}

void kaon_operator_cancel_send(kaon_operator *A, int columns) {
  send_ahead_of(A)->cancel(A, columns);
}

int kaon_operator_completes_sums(const kaon_operator *A, int columns) {
  const kaon_partial_sums *sums = kaon_operator_capability(A, KAON_CAPABILITY_PARTIAL_SUMS);
  return sums != NULL && sums->accepts(A, columns);
}

void kaon_row_sweeps_destroy(kaon_row_sweeps **sweeps) {
  if (sweeps == NULL || *sweeps == NULL) return;
  kaon_row_sweeps *gone = *sweeps;
  *sweeps = NULL;
  kaon_context *ctx = gone->ctx;
  const kaon_space *space = gone->space;
  if (gone->self != NULL) gone->ops->destroy(gone);
  free(gone);
  kaon_space_release(space);
  kaon_context_release(ctx);
}
