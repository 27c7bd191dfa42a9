/* apply.c - the public functions that apply operators and reductions, in the user's units
 * (kaon_operator.exponent). */
#include <math.h>

#include "blas/blas.h"
#include "lib/core/entry.h"

int kaon_blas_power(const kaon_vector *v, int exponent) {
  const int most = v->precision == KAON_DOUBLE ? 1000 : 100;
  return exponent > most ? most : exponent < -most ? -most : exponent;
}

kaon_status kaon_blas_times_power(kaon_vector *v, int exponent) {
  while (exponent != 0) {
    const int power = kaon_blas_power(v, exponent);
    KAON_TRY(kaon_blas_scale(KAON_NUMBER(ldexp(1, power)), v, NULL));
    exponent -= power;
  }
  return KAON_OK;
}

kaon_status kaon_operator_apply(kaon_operator *A, kaon_mode mode, const kaon_vector *x,
                                kaon_vector *y) {
  KAON_ENTER(KAON_OF(A), A, x, y);
  if (mode != KAON_PLAIN && mode != KAON_DAGGER)
    return kaon_fail(A->ctx, KAON_ERR_ARGUMENT, "%s: mode %d is neither KAON_PLAIN nor KAON_DAGGER",
                     A->ops->name, (int)mode);
  const int exponent = A->exponent; /* a function of the application may destroy A */
  KAON_TRY(kaon_operator_run(A, mode, x, y, NULL));
  return kaon_blas_times_power(y, exponent);
}

static kaon_status check_reduction(const kaon_operator *R, const char *what) {
  if (R->reduction == NULL)
    return kaon_fail(R->ctx, KAON_ERR_UNSUPPORTED,
                     "%s: %s is not a reduction of another operator; make one with "
                     "kaon_dirac_even_odd",
                     what, R->ops->name);
  return KAON_OK;
}

kaon_status kaon_operator_prepare(kaon_operator *R, const kaon_vector *b, kaon_vector *reduced_b) {
  KAON_ENTER(KAON_OF(R), R, b, reduced_b);
  KAON_TRY(check_reduction(R, "prepare"));
  KAON_TRY(kaon_operator_check_vector(R, R->reduction->parent->space, b, "b"));
  KAON_TRY(kaon_operator_check_vector(R, R->space, reduced_b, "reduced b"));
  KAON_TRY(kaon_operator_check_columns(R, b, reduced_b));
  if (b == reduced_b || b->data == reduced_b->data)
    return kaon_fail(R->ctx, KAON_ERR_ALIAS, "prepare: b and the reduced b are the same vector");
  KAON_TRY(kaon_current(R->revision));
  KAON_TRY(R->reduction->prepare(R, b, reduced_b));
  return kaon_blas_times_power(reduced_b, -R->reduction->parent->exponent);
}

kaon_status kaon_operator_reconstruct(kaon_operator *R, const kaon_vector *reduced_x,
                                      const kaon_vector *b, kaon_vector *x) {
  KAON_ENTER(KAON_OF(R), R, reduced_x, b, x);
  KAON_TRY(check_reduction(R, "reconstruct"));
  KAON_TRY(kaon_operator_check_vector(R, R->space, reduced_x, "reduced x"));
  KAON_TRY(kaon_operator_check_vector(R, R->reduction->parent->space, b, "b"));
  KAON_TRY(kaon_operator_check_vector(R, R->reduction->parent->space, x, "x"));
  KAON_TRY(kaon_operator_check_columns(R, reduced_x, x));
  KAON_TRY(kaon_operator_check_columns(R, b, x));
  if (x->data == b->data || x->data == reduced_x->data)
    return kaon_fail(R->ctx, KAON_ERR_ALIAS, "reconstruct: x is the same vector as another one");
  KAON_TRY(kaon_current(R->revision));
  return R->reduction->reconstruct(R, reduced_x, b, x);
}
