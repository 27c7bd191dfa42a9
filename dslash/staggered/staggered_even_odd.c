/* staggered_even_odd.c - the reduction of M = 2 m + D to the sites p of one parity:
 *
 *   A = 4 m^2 - D_pq D_qp,   b' = 2 m b_p - D_pq b_q,   x_q = (b_q - D_qp x_p) / (2 m).
 *
 * D_qp = -D_pq^dagger, so A is Hermitian and at least 4 m^2. A is the p block of M^dagger M = 4 m^2
 * - D^2, and b' is the p part of M^dagger b. An application is two fused hops. The parent's
 * residual b - M x vanishes on q; on p it is (b' - A x_p) / (2 m). Storage: one vector on the sites
 * of q. */
#include <kaon/context.h>

#include "dslash/staggered/staggered_internal.h"

/* Retains one vector on the sites of q, with the largest column count so far. */
static kaon_status reserve(kaon_operator *A, kaon_mode mode, int columns) {
  kaon_staggered *self = kaon_staggered_of(A);
  KAON_TRY(kaon_staggered_reserve(A, mode, columns));
  if (self->scratch != NULL && self->scratch->nrhs >= columns) return KAON_OK;
  kaon_vector_destroy(&self->scratch);
  kaon_lattice *lattice = self->fields->family->lattice;
  return kaon_vector_create(A->ctx, &lattice->staggered[1 - (int)self->parity], A->precision,
                            columns, &self->scratch);
}

/* A view into that vector. */
static kaon_status get_scratch(kaon_operator *A, int columns, kaon_vector *view) {
  KAON_TRY(reserve(A, KAON_PLAIN, columns));
  *view = *kaon_staggered_of(A)->scratch;
  view->nrhs = columns;
  view->owns = 0;
  return KAON_OK;
}

static double mass_of(const kaon_staggered *self) {
  return self->fields->family->options.mass;
}

/* A^dagger = A. */
static kaon_status apply(kaon_operator *A, kaon_mode mode, const kaon_vector *x, kaon_vector *y,
                         const kaon_pass *pass) {
  const kaon_staggered *self = kaon_staggered_of(A);
  const int p = (int)self->parity;
  const double m = mass_of(self);
  const kaon_pass gate = kaon_pass_gate_only(pass);
  kaon_vector t;
  (void)mode;
  KAON_TRY(kaon_staggered_fields_check(self->fields));
  KAON_TRY(get_scratch(A, x->nrhs, &t));
  KAON_TRY(kaon_staggered_fused(self->fields, 1 - p, 0, NULL, 1, x, &t, &gate));
  return kaon_staggered_fused(self->fields, p, 4 * m * m, x, -1, &t, y, pass);
}

static kaon_status prepare(kaon_operator *R, const kaon_vector *b, kaon_vector *reduced_b) {
  const kaon_staggered *self = kaon_staggered_of(R);
  const int p = (int)self->parity;
  kaon_vector b_p, b_q;
  KAON_TRY(kaon_staggered_fields_check(self->fields));
  KAON_TRY(kaon_vector_view(b, (kaon_parity)p, &b_p));
  KAON_TRY(kaon_vector_view(b, (kaon_parity)(1 - p), &b_q));
  return kaon_staggered_fused(self->fields, p, 2 * mass_of(self), &b_p, -1, &b_q, reduced_b, NULL);
}

static kaon_status reconstruct(kaon_operator *R, const kaon_vector *reduced_x, const kaon_vector *b,
                               kaon_vector *x) {
  const kaon_staggered *self = kaon_staggered_of(R);
  const int p = (int)self->parity;
  const double inverse = 1 / (2 * mass_of(self));
  kaon_vector b_q, x_p, x_q;
  KAON_TRY(kaon_staggered_fields_check(self->fields));
  KAON_TRY(kaon_vector_view(b, (kaon_parity)(1 - p), &b_q));
  KAON_TRY(kaon_vector_view(x, (kaon_parity)p, &x_p));
  KAON_TRY(kaon_vector_view(x, (kaon_parity)(1 - p), &x_q));
  KAON_TRY(
      kaon_staggered_fused(self->fields, 1 - p, inverse, &b_q, -inverse, reduced_x, &x_q, NULL));
  return kaon_blas_copy(reduced_x, &x_p, NULL);
}

static kaon_status lift(kaon_operator *R, const kaon_vector *reduced_r, kaon_vector *r,
                        const kaon_pass *pass) {
  const double inverse = 1 / (2 * mass_of(kaon_staggered_of(R)));
  const kaon_pass gate = kaon_pass_gate_only(pass);
  if (r->data != reduced_r->data) KAON_TRY(kaon_blas_copy(reduced_r, r, &gate));
  KAON_TRY(kaon_blas_scale(KAON_NUMBER(inverse), r, &gate));
  return kaon_pass_sum_separately(r, pass);
}

static kaon_status guess(kaon_operator *R, const kaon_vector *x, kaon_vector *reduced_x) {
  kaon_vector x_p;
  KAON_TRY(kaon_vector_view(x, kaon_staggered_of(R)->parity, &x_p));
  return kaon_blas_copy(&x_p, reduced_x, NULL);
}

static kaon_cost cost(const kaon_operator *A, int columns) {
  const kaon_staggered_fields *fields = kaon_staggered_of(A)->fields;
  return kaon_staggered_cost(fields, A->space->nsites, 2, columns);
}

static kaon_status make_twin(kaon_operator *A, kaon_precision precision,
                             kaon_reconstruct reconstruct, kaon_operator **twin);

static const kaon_operator_ops reduced_ops = {.name = "staggered even-odd",
                                              .apply = apply,
                                              .twin = make_twin,
                                              .reserve = reserve,
                                              .check = kaon_staggered_operator_check,
                                              .cost = cost,
                                              .destroy = kaon_staggered_operator_destroy};

/* The reduction without its parent. */
static kaon_status make(kaon_staggered_family *family, kaon_parity parity, kaon_precision precision,
                        kaon_reconstruct storage, kaon_operator **reduced) {
  kaon_staggered_fields *fields = NULL;
  KAON_TRY(kaon_staggered_fields_get(family, precision, storage, &fields));
  KAON_TRY(kaon_staggered_operator_new(&reduced_ops, fields, &family->lattice->staggered[parity],
                                       reduced));
  kaon_staggered_of(*reduced)->parity = parity;
  return KAON_OK;
}

/* Takes over one reference of `parent`. */
static void set_parent(kaon_operator *R, kaon_operator *parent) {
  kaon_staggered *self = kaon_staggered_of(R);
  self->reduction = (kaon_reduction){.parent = parent,
                                     .prepare = prepare,
                                     .reconstruct = reconstruct,
                                     .lift = lift,
                                     .guess = guess};
  R->reduction = &self->reduction;
}

/* A more precise twin is a reduction too. A less precise one is the inner operator of a solver,
 * which prepares and lifts in the outer precision. */
static kaon_status make_twin(kaon_operator *A, kaon_precision precision, kaon_reconstruct storage,
                             kaon_operator **twin) {
  const kaon_staggered *self = kaon_staggered_of(A);
  KAON_TRY(make(self->fields->family, self->parity, precision, storage, twin));
  if (precision >= A->precision || A->reduction == NULL) return KAON_OK;
  kaon_operator *parent = self->reduction.parent, *parent_twin = NULL;
  const kaon_status status = parent->ops->twin(parent, precision, storage, &parent_twin);
  if (status == KAON_OK)
    set_parent(*twin, parent_twin);
  else
    kaon_operator_destroy(twin);
  return status;
}

kaon_status kaon_staggered_even_odd(kaon_operator *M, kaon_parity parity, kaon_operator **reduced) {
  if (reduced != NULL) *reduced = NULL;
  if (M == NULL || reduced == NULL || (parity != KAON_EVEN && parity != KAON_ODD))
    return kaon_fail(M != NULL ? M->ctx : NULL, KAON_ERR_ARGUMENT,
                     "staggered even-odd: the operator and the address of the result are needed, "
                     "and parity %d must be 0 (even) or 1 (odd)",
                     (int)parity);
  if (M->ops != &kaon_staggered_ops_full)
    return kaon_fail(M->ctx, KAON_ERR_UNSUPPORTED,
                     "staggered even-odd: operator '%s' is not the full operator M; pass one made "
                     "by kaon_staggered_create",
                     M->ops->name);
  const kaon_staggered_fields *fields = kaon_staggered_of(M)->fields;
  if (fields->family->options.mass == 0)
    return kaon_fail(M->ctx, KAON_ERR_ARGUMENT,
                     "staggered even-odd: the mass is 0, so the solution on the other parity "
                     "cannot be reconstructed; take a mass that is not 0");
  KAON_TRY(kaon_agree(
      M->ctx, make(fields->family, parity, fields->precision, fields->reconstruct, reduced)));
  kaon_operator_retain(M);
  set_parent(*reduced, M);
  return KAON_OK;
}
