/* scaling.c - scales right-hand sides and solutions by powers of 2. Contract: scaling.h. */
#include "solvers/engine/scaling.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "blas/blas.h"
#include "lib/math/steps/stopping.h"

/* Residuals of size tol |b|, and products of their squares, must stay normal numbers.
 * - Single and half: kernels square components in single. With 2^34 unknowns, the components of a
 *   residual of 2^-44 are 2^-61, and |r| may grow by 2^39 above 2^24. A^dagger and K cost 2^20
 *   more, where squares are summed in double. A |b| from 1 to 2^24 is in range for every tolerance.
 * - Double: BiCGStab squares (t, s), of size |r|^2 |A|, and compares it with 1e-28 |s|^2 |t|^2. */
kaon_norm_range kaon_norm_range_of(double tol, int coarse) {
  const double part = fmin(fmax(tol, coarse ? 0x1p-44 : DBL_EPSILON), 1);
  const double least = (coarse ? 0x1p-44 : 0x1p-180) / part, most = coarse ? 0x1p24 : 0x1p180;
  return (kaon_norm_range){least * least, most * most};
}

static int beyond(kaon_norm_range norm_range, double norm2) {
  return norm2 != 0 && !(norm2 >= norm_range.least && norm2 <= norm_range.most);
}

int kaon_norm_range_exceeded(kaon_norm_range norm_range, const double *norm2, int columns) {
  for (int k = 0; k < columns; k++)
    if (beyond(norm_range, norm2[k])) return 1;
  return 0;
}

enum { FACTOR = KAON_S_METHOD };

/* A pass over v's columns, all open. */
static kaon_pass over(const kaon_vector *v, kaon_scalars *view) {
  kaon_pass pass = KAON_PASS_INIT;
  view->columns = v->nrhs;
  pass.scalars = view;
  return pass;
}

/* e of x = 2^e y in column m of x. */
static int exponent_of(const kaon_scaling *g, int m) {
  return g->exponent[m % g->columns] - g->of_A;
}

/* Column m of v times 2^(sign exponent + shift), in steps that a factor of its precision holds. */
static kaon_status multiply(const kaon_scaling *g, int sign, kaon_vector *v) {
  kaon_scalars view = *g->sums;
  const kaon_pass pass = over(v, &view);
  for (int step = 0, left = 1; left; step++) {
    left = 0;
    for (int m = 0; m < v->nrhs; m++) {
      int e = sign < 0 ? -g->exponent[m % g->columns] : sign * exponent_of(g, m);
      e += g->shift[m];
      for (int i = 0; i < step; i++) e -= kaon_blas_power(v, e);
      const int power = kaon_blas_power(v, e);
      g->host[m].slot[FACTOR][0] = ldexp(1, power);
      g->host[m].slot[FACTOR][1] = 0;
      g->host[m].gate = KAON_GATE_STEP;
      left |= e != power;
    }
    KAON_TRY(kaon_agree(v->ctx, kaon_scalars_write(&view, g->host)));
    KAON_TRY(kaon_blas_scale(KAON_PLUS(FACTOR), v, &pass));
  }
  return KAON_OK;
}

kaon_status kaon_scaling_guess(const kaon_scaling *g, int back, kaon_vector *x) {
  return kaon_blas_times_power(x, back ? -g->of_A : g->of_A);
}

static void release_all(kaon_scaling *g) {
  kaon_vector_destroy(&g->b);
  free(g->exponent);
  g->exponent = NULL;
}

static kaon_status take_exponents(kaon_scaling *g, const kaon_vector *x) {
  g->exponent = calloc((size_t)(g->columns + x->nrhs), sizeof *g->exponent);
  if (g->exponent == NULL)
    return kaon_fail(x->ctx, KAON_ERR_MEMORY, "solve: out of host memory for %d columns", x->nrhs);
  g->shift = g->exponent + g->columns;
  return KAON_OK;
}

kaon_status kaon_scaling_begin(kaon_scaling *g, const kaon_vector *b, kaon_vector *x,
                               kaon_norm_range norm_range, const double *norm2) {
  kaon_status status = take_exponents(g, x);
  if (status == KAON_OK)
    status = kaon_vector_create(b->ctx, b->space, b->precision, b->nrhs, &g->b);
  status = kaon_agree(b->ctx, status);
  for (int k = 0; status == KAON_OK && k < b->nrhs; k++)
    g->exponent[k] = beyond(norm_range, norm2[k]) ? ilogb(norm2[k]) / 2 : 0;
  if (status == KAON_OK) status = kaon_blas_copy(b, g->b, NULL);
  if (status == KAON_OK) status = multiply(g, -1, g->b);
  if (status == KAON_OK) status = multiply(g, -1, x);
  return status;
}

static kaon_status norms(const kaon_scaling *g, const kaon_vector *y) {
  static const int slots[3] = {KAON_NO_SLOT, KAON_S_R2, KAON_NO_SLOT};
  kaon_scalars view = *g->sums;
  const kaon_pass pass = over(y, &view);
  KAON_TRY(kaon_blas_dot(y, y, slots, &pass));
  return kaon_agree(y->ctx, kaon_scalars_read(&view, g->host));
}

/* Multiplies columns of y whose squares underflow or overflow by 2^512 or 2^-512. That does not
 * round the largest values, and `shift` undoes it. The slots then hold the squares of the scaled
 * y. */
static kaon_status rescale_columns(const kaon_scaling *g, kaon_vector *y) {
  enum { FAR = 512 };
  int some = 0;
  KAON_TRY(norms(g, y));
  for (int m = 0; m < y->nrhs; m++) {
    const double y2 = g->host[m].slot[KAON_S_R2][0];
    g->shift[m] = exponent_of(g, m) == 0 ? 0 : y2 == 0 ? FAR : isinf(y2) ? -FAR : 0;
    some |= g->shift[m];
  }
  if (!some) return KAON_OK;
  KAON_TRY(multiply(g, 0, y));
  for (int m = 0; m < y->nrhs; m++) g->shift[m] *= -1;
  return norms(g, y);
}

/* Refuses a solution 2^e y that overflows, or that is so small that it loses more than the
 * tolerance allows. NaN is left to the reports. */
static kaon_status check_range(const kaon_scaling *g, const kaon_vector *y, double tol) {
  const int whole = y->precision == KAON_DOUBLE;
  const int lowest = (whole ? DBL_MIN_EXP : FLT_MIN_EXP) - (tol > 0 ? ilogb(tol) : 0);
  const int end = whole ? DBL_MAX_EXP : FLT_MAX_EXP;
  for (int m = 0; m < y->nrhs; m++) {
    const double y2 = g->host[m].slot[KAON_S_R2][0];
    const int e = exponent_of(g, m);
    if (e == 0 || y2 == 0 || !isfinite(y2)) continue;
    const int size = ilogb(y2) / 2 + e + g->shift[m]; /* |x| = 2^size */
    if (size < end && size >= lowest) continue;
    const int of_b = g->exponent[m % g->columns], k = of_b != 0 ? of_b : size / 2;
    return kaon_fail(y->ctx, KAON_ERR_NOT_FINITE,
                     "solve: |x| of column %d is 2^%d, but %s holds 2^%d to 2^%d in full; solve "
                     "for 2^%d b, and multiply x by 2^%d where it is used",
                     m, size, whole ? "double" : "single", lowest, end - 1, -k, k);
  }
  return KAON_OK;
}

kaon_status kaon_scaling_end(kaon_scaling *g, kaon_vector *x, double tol, kaon_status status) {
  if (status != KAON_OK) {
    (void)kaon_scaling_guess(g, 1, x); /* restores x if the solve has not begun */
  } else if (g->b != NULL || g->of_A != 0) {
    if (g->exponent == NULL) status = kaon_agree(x->ctx, take_exponents(g, x));
    if (status == KAON_OK) status = rescale_columns(g, x);
    if (status == KAON_OK) status = check_range(g, x, tol);
    if (status == KAON_OK) status = multiply(g, 1, x);
  }
  release_all(g);
  return status;
}
