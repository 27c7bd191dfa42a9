/* jacobi.c - Jacobi preconditioner: x / d with d the diagonal of an operator. 1 / d is one column,
 * computed once on the host. An application reads it and a vector, and writes one vector. Solvers
 * that ask for it (KAON_CAPABILITY_POINTWISE) multiply in their own passes. */
#include <kaon/precond.h>

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "blas/precond_updates.h"
#include "lib/operator/pointwise.h"
#include "lib/vector/space.h"
#include "lib/core/entry.h"

typedef struct jacobi {
  kaon_operator *of; /* whose diagonal it is, or the preconditioner that this is a twin of. NULL:
                        not needed, since it never changes */
  kaon_vector *inverse;
  double largest; /* largest value in it, on this rank */
} jacobi;

static const kaon_vector *inverse_of(const kaon_operator *K) {
  return ((const jacobi *)K->self)->inverse;
}

static kaon_status apply(kaon_operator *K, kaon_mode mode, const kaon_vector *x, kaon_vector *y,
                         const kaon_pass *pass) {
  return kaon_blas_scaled(inverse_of(K), mode == KAON_DAGGER, x, y, pass);
}

static kaon_cost cost(const kaon_operator *K, int columns) {
  const kaon_space *s = K->space;
  const double numbers = (double)s->nsites * s->ncomp;
  return (kaon_cost){
      .flops = numbers * (s->complex_space ? 3 : 1),
      .bytes = numbers * (double)kaon_precision_bytes(K->precision) * (2 + 1.0 / columns)};
}

static void destroy(kaon_operator *K) {
  jacobi *self = K->self;
  kaon_vector_destroy(&self->inverse);
  kaon_operator_destroy(&self->of);
  kaon_revision_release(&K->revision);
}

static kaon_status make_twin(kaon_operator *K, kaon_precision precision,
                             kaon_reconstruct reconstruct, kaon_operator **twin);

static const kaon_pointwise pointwise = {inverse_of};
static const void *const capabilities[KAON_CAPABILITIES] = {[KAON_CAPABILITY_POINTWISE] =
                                                                &pointwise};

static const kaon_operator_ops jacobi_ops = {
    .name = "jacobi",
    .apply = apply,
    .twin = make_twin,
    .capabilities = capabilities,
    .cost = cost,
    .destroy = destroy,
};

/* exponent: of 1 / D. */
static kaon_status make(kaon_context *ctx, const kaon_space *space, kaon_precision precision,
                        int exponent, kaon_operator **made) {
  *made = NULL;
  if (precision == KAON_HALF)
    return kaon_fail(ctx, KAON_ERR_UNSUPPORTED,
                     "jacobi: it is offered in double and single precision, not in half");
  kaon_operator *K = kaon_operator_new((kaon_operator){.ops = &jacobi_ops,
                                                       .ctx = ctx,
                                                       .space = space,
                                                       .precision = precision,
                                                       .exponent = exponent},
                                       sizeof(jacobi));
  if (K == NULL) return kaon_fail(ctx, KAON_ERR_MEMORY, "jacobi: out of host memory");
  const kaon_status status =
      kaon_vector_create(ctx, space, precision, 1, &((jacobi *)K->self)->inverse);
  *made = K;
  if (status != KAON_OK) kaon_operator_destroy(made);
  return status;
}

/* Fills K from `of`, now and whenever `of` has changed. */
static kaon_status fill_from(kaon_operator *K, kaon_operator *of, kaon_status (*fill)(void *K)) {
  jacobi *self = K->self;
  self->of = of;
  kaon_operator_retain(of);
  KAON_TRY(fill(K));
  if (of->revision == NULL) {
    kaon_operator_destroy(&self->of);
    return KAON_OK;
  }
  KAON_TRY(kaon_revision_create(K->ctx, "jacobi", NULL, &K->revision));
  K->revision->follow = fill;
  K->revision->owner = K;
  kaon_made_of(K->revision, of->revision);
  return KAON_OK;
}

static kaon_status fill_twin(void *owner) {
  kaon_operator *K = owner;
  jacobi *self = K->self;
  const jacobi *of = self->of->self;
  kaon_status fits = KAON_OK;
  if (K->precision == KAON_SINGLE && of->largest > FLT_MAX)
    fits = kaon_fail(K->ctx, KAON_ERR_PRECISION,
                     "jacobi: 1 over the diagonal is up to %g, but single precision holds up to "
                     "%.2g; scale the system, or take double precision inside",
                     ldexp(of->largest, K->exponent), ldexp(FLT_MAX, K->exponent));
  KAON_TRY(kaon_agree(K->ctx, fits));
  self->largest = of->largest;
  return kaon_vector_copy(self->inverse, of->inverse);
}

static kaon_status make_twin(kaon_operator *K, kaon_precision precision,
                             kaon_reconstruct reconstruct, kaon_operator **twin) {
  (void)reconstruct;
  KAON_TRY(make(K->ctx, K->space, precision, K->exponent, twin));
  const kaon_status status = fill_from(*twin, K, fill_twin);
  if (status != KAON_OK) kaon_operator_destroy(twin);
  return status;
}

/* d = 1 / d on the host, for `count` values of `reals` reals each. *most: the largest part. */
static kaon_status invert(const kaon_operator *K, double *d, int64_t count, int reals,
                          double *most) {
  const kaon_context *ctx = K->ctx;
  const double limit = K->precision == KAON_DOUBLE ? DBL_MAX : FLT_MAX;
  for (int64_t i = 0; i < count; i++) {
    double *z = d + i * reals;
    const double re = z[0], im = reals == 2 ? z[1] : 0, largest = fmax(fabs(re), fabs(im));
    if (!isfinite(re) || !isfinite(im))
      return kaon_fail(
          ctx, KAON_ERR_NOT_FINITE,
          "jacobi: the diagonal is not finite in row %lld (counted from 1) of this rank",
          (long long)i + 1);
    if (largest == 0)
      return kaon_fail(
          ctx, KAON_ERR_SINGULAR,
          "jacobi: the diagonal is 0 in row %lld (counted from 1) of this rank; choose "
          "another method or preconditioner",
          (long long)i + 1);
    const double a = re / largest, b = im / largest, norm = (a * a + b * b) * largest;
    z[0] = a / norm;
    if (reals == 2) z[1] = -b / norm;
    const double part = fmax(fabs(z[0]), fabs(z[reals - 1]));
    *most = fmax(*most, part);
    if (!(part <= limit))
      return kaon_fail(ctx, KAON_ERR_SINGULAR,
                       "jacobi: the diagonal of row %lld (counted from 1) of this rank is %g, too "
                       "small to divide by",
                       (long long)i + 1, ldexp(largest, -K->exponent));
  }
  return KAON_OK;
}

/* Reads the diagonal in the caller's order, so that messages can name a row. Lattice sites that are
 * not in the space have no row: their value is 1. */
static kaon_status take_inverse(void *owner) {
  kaon_operator *K = owner;
  jacobi *self = K->self;
  kaon_operator *A = self->of;
  kaon_vector *inverse = self->inverse;
  const kaon_space *space = A->space;
  const int reals = space->complex_space ? 2 : 1;
  const int64_t sites = kaon_space_caller_rows(space);
  const int64_t numbers = sites * space->ncomp;
  KAON_AUTOFREE double *d = malloc((size_t)(numbers > 0 ? numbers : 1) * sizeof *d);
  KAON_TRY(KAON_AGREE_MEMORY(A->ctx, d != NULL,
                             "jacobi: out of host memory for a diagonal of %lld rows",
                             (long long)(numbers / reals))); /* exports are collective */
  for (int64_t i = 0; i < numbers; i++) d[i] = 1;
  self->largest = 0;
  kaon_status status = A->ops->diagonal(A, inverse);
  if (status == KAON_OK) status = kaon_vector_export(inverse, 0, d, KAON_BASIS_UKQCD);
  if (status == KAON_OK) status = invert(K, d, numbers / reals, reals, &self->largest);
  KAON_TRY(kaon_agree(A->ctx, status));
  return kaon_vector_import(inverse, 0, d, KAON_BASIS_UKQCD);
}

kaon_status kaon_precond_jacobi(kaon_operator *A, kaon_operator **K) {
  if (K != NULL) *K = NULL;
  KAON_ENTER(KAON_OF(A), A, K);
  KAON_TRY(kaon_operator_check_square(A, "jacobi"));
  if (A->ops->diagonal == NULL)
    return kaon_fail(
        A->ctx, KAON_ERR_UNSUPPORTED,
        "jacobi: operator '%s' does not know its diagonal; pass one that does (of an even-odd "
        "reduction, the operator that was reduced), or take another method",
        A->ops->name);
  KAON_TRY(kaon_agree(A->ctx, make(A->ctx, A->space, A->precision, -A->exponent, K)));
  const kaon_status status = fill_from(*K, A, take_inverse);
  if (status != KAON_OK) kaon_operator_destroy(K);
  return status;
}
