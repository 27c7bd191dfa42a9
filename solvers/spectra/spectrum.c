/* spectrum.c - estimates whether relaxation converges. With B = 1 - D^-1 A it computes:
 * - extreme eigenvalues of D^-1 A by Lanczos, if A is Hermitian positive definite or semi-definite;
 * - otherwise spectral radii by the power method.
 * Source: Saad, Numerical Methods for Large Eigenvalue Problems, 2nd edition, section 4.1.
 *
 * Radius of |B|: powers of 1 + |B| = D^-1 |A| on a vector of ones, which has a component along the
 * Perron vector. The shift makes the largest eigenvalue unique. The Rayleigh quotient in the inner
 * product of |D|, which makes the operator self-adjoint, has the square of the vector's error. It
 * can stay long at the radius of most of a matrix, if only a few rows have the largest one. So the
 * largest growth of a row is found as well: it bounds the radius from above (Collatz, Wielandt).
 *
 * Radius of B, A not Hermitian: growth of |B^k x|, averaged over the last half of the steps.
 * Vectors can grow beyond the radius for a while, so the bound for |B| bounds this estimate too.
 *
 * If A = A^H has a positive diagonal but is not positive definite, D^-1 A has an eigenvalue <= 0,
 * and B one >= 1. Powers of B may show this only slowly. */
#include <math.h>
#include <stdlib.h>

#include <kaon/precond.h>
#include <kaon/relax.h>

#include "blas/blas.h"
#include "lib/vector/space.h"
#include "lib/core/output.h"
#include "lib/operator/row_sweeps.h"
#include "solvers/spectra/lanczos.h"
#include "lib/core/entry.h"

enum { DEFAULT_STEPS = 300, DEFAULT_POWERS = 2400 };
static const double SETTLED = 1e-7; /* relative change of an estimate in ten steps */
static const double ROUNDING = 1e-10;

enum { X, Y, Z, WORK };

static kaon_status product(const kaon_vector *x, const kaon_vector *y, double *re, double *size) {
  double dot[1][2];
  KAON_TRY(kaon_vector_dot(x, y, dot));
  *re = dot[0][0];
  if (size != NULL) *size = hypot(dot[0][0], dot[0][1]);
  return KAON_OK;
}

/* Checks (A x, y) = (x, A y) for noise x, y, and (x, A x) > 0. */
static kaon_status look_hermitian(kaon_operator *A, kaon_vector *const *v, int *hermitian) {
  double left[1][2], right[1][2], xx, ax;
  const double scale = A->precision == KAON_DOUBLE ? ROUNDING : 1e-4;
  KAON_TRY(kaon_noise_fill(v[X]));
  KAON_TRY(kaon_operator_run(A, KAON_PLAIN, v[X], v[Y], NULL));
  KAON_TRY(product(v[X], v[Y], &xx, NULL));
  KAON_TRY(kaon_operator_run(A, KAON_PLAIN, v[Y], v[Z], NULL));
  KAON_TRY(kaon_vector_dot(v[Y], v[Y], left)); /* (A x, A x) = (x, A A x) */
  KAON_TRY(kaon_vector_dot(v[X], v[Z], right));
  KAON_TRY(product(v[Z], v[Z], &ax, NULL));
  const double off = hypot(left[0][0] - right[0][0], left[0][1] - right[0][1]);
  *hermitian = xx > 0 && off <= scale * sqrt(ax) * sqrt(left[0][0]);
  return KAON_OK;
}

/* v[X] = v / |v|; *size = |v| */
static kaon_status normalise(const kaon_vector *v, kaon_vector *x, double *size) {
  double norm2;
  KAON_TRY(product(v, v, &norm2, NULL));
  *size = sqrt(norm2);
  if (!(*size > 0) || !isfinite(*size)) return KAON_OK;
  KAON_TRY(kaon_blas_copy(v, x, NULL));
  return kaon_blas_scale(KAON_NUMBER(1 / *size), x, NULL);
}

static kaon_status fill_ones(kaon_vector *v) {
  const kaon_space *space = v->space;
  const int64_t sites = kaon_space_caller_rows(space);
  const int64_t count = sites * space->ncomp, step = space->complex_space ? 2 : 1;
  KAON_AUTOFREE double *host = calloc((size_t)count + 1, sizeof *host);
  KAON_TRY(KAON_AGREE_MEMORY(v->ctx, host != NULL, "spectrum: out of host memory"));
  for (int64_t i = 0; i < count; i += step) host[i] = 1;
  return kaon_vector_import(v, 0, host, KAON_BASIS_UKQCD);
}

/* The largest z_i / x_i on this rank; both vectors have no negative components. */
static kaon_status largest_ratio(const kaon_vector *x, const kaon_vector *z, double *ratio) {
  const kaon_space *space = x->space;
  const int64_t sites = kaon_space_caller_rows(space);
  const int64_t count = sites * space->ncomp;
  KAON_AUTOFREE double *host = malloc((2 * (size_t)count + 1) * sizeof *host);
  *ratio = 0;
  KAON_TRY(KAON_AGREE_MEMORY(x->ctx, host != NULL, "spectrum: out of host memory"));
  KAON_TRY(kaon_vector_export(x, 0, host, KAON_BASIS_UKQCD));
  KAON_TRY(kaon_vector_export(z, 0, host + count, KAON_BASIS_UKQCD));
  for (int64_t i = 0; i < count; i++)
    if (host[i] > 0) *ratio = fmax(*ratio, host[count + i] / host[i]);
  return KAON_OK;
}

/* *most = max (|B| x)_i / x_i over all rows, with x = v[X]. */
static kaon_status largest_growth(kaon_operator *absolute, kaon_operator *jacobi,
                                  kaon_vector *const *v, double *most) {
  const kaon_comm *comm = absolute->ctx->comm;
  double mine = 0;
  KAON_TRY(kaon_operator_run(absolute, KAON_PLAIN, v[X], v[Y], NULL));
  KAON_TRY(kaon_operator_run(jacobi, KAON_PLAIN, v[Y], v[Z], NULL));
  kaon_status status = kaon_agree(absolute->ctx, largest_ratio(v[X], v[Z], &mine));
  KAON_AUTOFREE double *all = malloc((size_t)comm->ranks * sizeof *all);
  if (status == KAON_OK && all == NULL)
    status = kaon_fail(absolute->ctx, KAON_ERR_MEMORY, "spectrum: out of host memory");
  status = kaon_agree(absolute->ctx, status);
  if (status == KAON_OK) status = comm->ops->gather(absolute->ctx->comm, &mine, 1, all);
  for (int r = 0; r < comm->ranks && status == KAON_OK; r++) mine = fmax(mine, all[r]);
  *most = mine - 1;
  return status;
}

static const kaon_absolute_values *values_of(const kaon_operator *A) {
  return kaon_operator_capability(A, KAON_CAPABILITY_ABSOLUTE);
}

/* *rho: the radius of |B| from below; *most: from above. With y = |A| x and z = |D|^-1 y = (1 +
 * |B|) x, the quotient (z, |D| z) / (x, |D| z) = (z, y) / (x, y) needs no |D| x. */
static kaon_status power_absolute(kaon_operator *A, kaon_vector *const *v, int steps, double *rho,
                                  double *most, int *taken) {
  KAON_AUTO(kaon_operator_destroy) kaon_operator *absolute = NULL, *jacobi = NULL;
  KAON_TRY(values_of(A)->absolute(A, &absolute));
  kaon_status status = kaon_precond_jacobi(absolute, &jacobi);
  double last = 0;
  if (status == KAON_OK) status = fill_ones(v[X]);
  for (int n = 0; n < steps && status == KAON_OK; n++) {
    double above = 0, below = 0, size = 0;
    status = kaon_operator_run(absolute, KAON_PLAIN, v[X], v[Y], NULL);
    if (status == KAON_OK) status = kaon_operator_run(jacobi, KAON_PLAIN, v[Y], v[Z], NULL);
    if (status == KAON_OK) status = product(v[Z], v[Y], &above, NULL);
    if (status == KAON_OK) status = product(v[X], v[Y], &below, NULL);
    if (status == KAON_OK) status = normalise(v[Z], v[X], &size);
    (*taken)++;
    *rho = above / below - 1;
    if (n % 10 == 9) {
      if (fabs(*rho - last) <= SETTLED) break;
      last = *rho;
    }
  }
  if (status == KAON_OK) status = largest_growth(absolute, jacobi, v, most);
  (*taken)++;
  return status;
}

/* *rho: the radius of B, from the growth of powers on noise in the last half of the steps. *error:
 * the growth in the quarter before that, minus *rho. This is the remaining error if growth
 * converges as 1 / steps. */
static kaon_status power_general(kaon_operator *A, kaon_operator *jacobi, kaon_vector *const *v,
                                 int steps, double *rho, double *error, int *taken) {
  double size, sum[2] = {0};
  int counted[2] = {0};
  *rho = *error = 0;
  KAON_TRY(kaon_noise_fill(v[Y]));
  KAON_TRY(normalise(v[Y], v[X], &size));
  for (int n = 0; n < steps; n++) {
    KAON_TRY(kaon_operator_run(A, KAON_PLAIN, v[X], v[Y], NULL));
    KAON_TRY(kaon_operator_run(jacobi, KAON_PLAIN, v[Y], v[Z], NULL));
    KAON_TRY(kaon_blas_xpay(v[X], KAON_NUMBER(-1), v[Z], NULL));
    KAON_TRY(normalise(v[Z], v[X], &size));
    (*taken)++;
    if (!(size > 0)) return KAON_OK;
    if (4 * n < steps) continue;
    const int last = 2 * n >= steps;
    sum[last] += log(size);
    counted[last]++;
  }
  *rho = counted[1] > 0 ? exp(sum[1] / counted[1]) : NAN;
  if (counted[0] > 0) *error = fabs(exp(sum[0] / counted[0]) - *rho);
  return KAON_OK;
}

/* *positive: D is positive. Then the inverse of D equals that of |D|, value by value. */
static kaon_status inspect_diagonal(kaon_operator *A, kaon_operator *jacobi, kaon_vector *const *v,
                                    int *positive) {
  KAON_AUTO(kaon_operator_destroy) kaon_operator *absolute = NULL, *other = NULL;
  double off = 1;
  *positive = 0;
  if (values_of(A) == NULL) return KAON_OK;
  KAON_TRY(values_of(A)->absolute(A, &absolute));
  kaon_status status = kaon_precond_jacobi(absolute, &other);
  if (status == KAON_OK) status = fill_ones(v[X]);
  if (status == KAON_OK) status = kaon_operator_run(jacobi, KAON_PLAIN, v[X], v[Y], NULL);
  if (status == KAON_OK) status = kaon_operator_run(other, KAON_PLAIN, v[X], v[Z], NULL);
  if (status == KAON_OK) status = kaon_blas_axpy(KAON_NUMBER(-1), v[Y], v[Z], NULL);
  if (status == KAON_OK) status = product(v[Z], v[Z], &off, NULL);
  *positive = status == KAON_OK && off == 0;
  return status;
}

/* Extreme eigenvalues of D^-1 A by Lanczos. If that finds A not positive definite, it only sets
 * hermitian = 0. */
static kaon_status extremes(kaon_operator *A, kaon_operator *jacobi, int steps,
                            kaon_vector *const *v, kaon_spectrum *to) {
  kaon_extremes e;
  const kaon_status status = kaon_lanczos(A, jacobi, steps, 1, "spectrum", &e);
  if (status != KAON_OK && status != KAON_ERR_ARGUMENT) return status;
  to->steps += e.steps;
  if (status == KAON_ERR_ARGUMENT) {
    to->hermitian = 0;
    kaon_error_clear();
    return e.indefinite ? inspect_diagonal(A, jacobi, v, &to->indefinite) : KAON_OK;
  }
  to->low = e.low;
  to->high = e.high;
  to->tau = 2 / (e.least + e.high);
  to->rho = fmax(fabs(1 - e.low), fabs(e.high - 1));
  /* for a singular A: the error of `high`, since B's radius is at least 1 */
  to->rho_error = fmax(1 - e.low + e.low_error, e.high + e.high_error - 1) - to->rho;
  return KAON_OK;
}

/* steps: of each process; 0: the defaults. */
static kaon_status estimate(kaon_operator *A, kaon_operator *jacobi, int steps,
                            kaon_vector *const *v, kaon_spectrum *to) {
  const int most = steps > 0 ? steps : DEFAULT_STEPS;
  KAON_TRY(look_hermitian(A, v, &to->hermitian));
  to->steps = 2;
  if (to->hermitian) KAON_TRY(extremes(A, jacobi, most, v, to));
  if (!to->hermitian)
    KAON_TRY(power_general(A, jacobi, v, most, &to->rho, &to->rho_error, &to->steps));
  if (to->indefinite) to->rho = fmax(to->rho, 1);
  if (values_of(A) == NULL) return KAON_OK;
  KAON_TRY(power_absolute(A, v, steps > 0 ? steps : DEFAULT_POWERS, &to->rho_absolute,
                          &to->most_absolute, &to->steps));
  if (to->hermitian) { /* both are from below */
    to->rho_absolute = fmax(to->rho_absolute, to->rho);
  } else { /* vectors may grow by more than the radius for some steps */
    to->rho_absolute = fmin(to->rho_absolute, to->most_absolute);
    to->rho = fmin(to->rho, to->most_absolute);
    if (to->indefinite) to->rho = fmax(to->rho, 1);
  }
  if (to->low != 0) to->rho_error = fmin(to->rho_error, fmax(to->most_absolute - to->rho, 0));
  return KAON_OK;
}

kaon_status kaon_spectrum_estimate(kaon_operator *A, int steps, kaon_spectrum *spectrum) {
  KAON_ENTER(KAON_OF(A), A, spectrum);
  kaon_operator *jacobi = NULL;
  kaon_vector *v[WORK] = {NULL};
  if (steps < 0)
    return kaon_fail(A->ctx, KAON_ERR_ARGUMENT,
                     "spectrum: %d steps were asked for, but 0 (automatic) or more are needed",
                     steps);
  KAON_TRY(kaon_output_check(A->ctx, "kaon_spectrum", spectrum));
  kaon_spectrum made = {
      .low = NAN, .high = NAN, .rho_absolute = NAN, .most_absolute = NAN, .tau = NAN};
  KAON_TRY(kaon_precond_jacobi(A, &jacobi));
  kaon_status status = KAON_OK;
  for (int i = 0; i < WORK && status == KAON_OK; i++)
    status = kaon_vector_create(A->ctx, A->space, A->precision, 1, &v[i]);
  status = kaon_agree(A->ctx, status);
  if (status == KAON_OK) status = estimate(A, jacobi, steps, v, &made);
  for (int i = 0; i < WORK; i++) kaon_vector_destroy(&v[i]);
  kaon_operator_destroy(&jacobi);
  kaon_output_fill(spectrum, &made, sizeof made);
  return status;
}
