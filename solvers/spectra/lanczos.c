/* lanczos.c - see lanczos.h. */
#include "solvers/spectra/lanczos.h"

#include <math.h>
#include <stdlib.h>

#include "blas/blas.h"
#include "lib/vector/space.h"

/* An eigenvalue below this many roundings of the largest one cannot be told from 0. */
static const double ROUNDINGS = 64;

/* The tridiagonal matrix of the process: n diagonal entries d and n - 1 squares s of the
 * off-diagonal ones, in multiples of `unit`. */
typedef struct job {
  kaon_operator *A, *jacobi;
  const char *name;
  double *d, *s, unit;
  double least; /* if singular: the smallest eigenvalue seen besides 0 */
  int n, products, singular, indefinite, skewed;
} job;

/* out = D^-1 in; a copy if there is no D. */
static kaon_status scale_back(const job *self, const kaon_vector *in, kaon_vector *out) {
  if (self->jacobi == NULL) return kaon_blas_copy(in, out, NULL);
  return kaon_operator_run(self->jacobi, KAON_PLAIN, in, out, NULL);
}

/* Number of eigenvalues below x of the symmetric tridiagonal matrix with diagonal d and squared
 * off-diagonal entries s. It counts the negative pivots (Sturm). */
static int below(int n, const double *d, const double *s, double x) {
  int count = 0;
  double pivot = 1;
  for (int i = 0; i < n; i++) {
    pivot = d[i] - x - (i > 0 ? s[i - 1] / pivot : 0);
    if (pivot == 0) pivot = -1e-300;
    count += pivot < 0;
  }
  return count;
}

/* The k-th smallest eigenvalue of that matrix. */
static double eigenvalue(int n, const double *d, const double *s, int k) {
  double low = 0, high = 0;
  for (int i = 0; i < n; i++) { /* Gershgorin */
    const double r = (i > 0 ? sqrt(s[i - 1]) : 0) + (i + 1 < n ? sqrt(s[i]) : 0);
    low = i == 0 || d[i] - r < low ? d[i] - r : low;
    high = i == 0 || d[i] + r > high ? d[i] + r : high;
  }
  for (int i = 0; i < 100; i++) {
    const double middle = (low + high) / 2;
    if (below(n, d, s, middle) > k)
      high = middle;
    else
      low = middle;
  }
  return (low + high) / 2;
}

/* Fills v with values in [-1, 1) that differ from rank to rank (splitmix64). */
kaon_status kaon_noise_fill(kaon_vector *v) {
  const kaon_space *space = v->space;
  const int64_t sites = kaon_space_caller_rows(space);
  const int64_t count = sites * space->ncomp;
  KAON_AUTOFREE double *host = malloc((size_t)(count > 0 ? count : 1) * sizeof *host);
  KAON_TRY(KAON_AGREE_MEMORY(v->ctx, host != NULL, "noise: out of host memory for %lld numbers",
                             (long long)count)); /* imports are collective */
  uint64_t seed = (uint64_t)v->ctx->comm->rank << 40;
  for (int64_t i = 0; i < count; i++) {
    uint64_t z = seed += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    host[i] = (double)(int64_t)(z ^ (z >> 31)) * 0x1p-63;
  }
  return kaon_vector_import(v, 0, host, KAON_BASIS_UKQCD);
}

/* (x, y) over all ranks. */
static kaon_status product(const kaon_vector *x, const kaon_vector *y, double *re) {
  double dot[1][2];
  KAON_TRY(kaon_vector_dot(x, y, dot));
  *re = dot[0][0];
  return KAON_OK;
}

/* The size below which an eigenvalue cannot be told from 0, so far. */
static double rounding(const job *self) {
  static const double epsilon[KAON_PRECISIONS] = {0x1p-53, 0x1p-24, 0x1p-16};
  double largest = 0;
  for (int i = 0; i < self->n; i++) largest = self->d[i] > largest ? self->d[i] : largest;
  return ROUNDINGS * epsilon[self->A->precision] * largest;
}

/* Updates the estimates after a step. An eigenvalue that is negative beyond rounding ends the
 * process. One that is 0 up to rounding belongs to A. The next one is read in this step, before
 * rounding brings further copies of the 0, which would pass near it. */
static kaon_status update_interval(job *self, double alpha) {
  const double zero = rounding(self);
  if (!isfinite(alpha) || !(zero > 0)) {
    self->indefinite = isfinite(alpha);
    return kaon_fail(self->A->ctx, KAON_ERR_ARGUMENT,
                     "%s: (p, A p) = %g in step %d of the estimate: the operator is not Hermitian "
                     "positive definite",
                     self->name, alpha * self->unit, self->n - 1);
  }
  self->indefinite = below(self->n, self->d, self->s, -zero) > 0;
  if (self->indefinite) return KAON_OK;
  const int zeros = self->singular ? 0 : below(self->n, self->d, self->s, zero);
  if (zeros > 0 && zeros < self->n) {
    self->singular = 1;
    self->least = eigenvalue(self->n, self->d, self->s, zeros);
  }
  return KAON_OK;
}

enum { R, OLD, P, Q, WORK };

static kaon_status multiply(job *self, const kaon_vector *in, kaon_vector *out) {
  self->products++;
  return kaon_operator_run(self->A, KAON_PLAIN, in, out, NULL);
}

/* Q = A P - beta OLD, *alpha = (P, Q). If squares of eigenvalues might overflow or underflow,
 * values are in units of the power of two nearest to the first alpha. */
static kaon_status image(job *self, kaon_vector *const *v, double beta, double *alpha) {
  KAON_TRY(multiply(self, v[P], v[Q]));
  if (self->n == 0) {
    KAON_TRY(product(v[P], v[Q], alpha));
    const int e = isfinite(*alpha) && *alpha != 0 ? ilogb(*alpha) : 0;
    self->unit = abs(e) > 100 ? ldexp(1, e) : 1;
  }
  if (self->unit != 1) KAON_TRY(kaon_blas_scale(KAON_NUMBER(1 / self->unit), v[Q], NULL));
  if (self->n > 0) KAON_TRY(kaon_blas_axpy(KAON_NUMBER(-beta), v[OLD], v[Q], NULL));
  return product(v[P], v[Q], alpha);
}

/* An operator without unknowns counts as the identity. */
static kaon_status check_empty(job *self, const kaon_vector *noise, int *empty) {
  double all;
  KAON_TRY(product(noise, noise, &all));
  *empty = all == 0;
  if (*empty) self->d[self->n++] = 1;
  return KAON_OK;
}

/* Runs up to `steps` steps with one product each, or until a negative eigenvalue shows. Conjugate
 * gradients give factors of the same matrix, but these coefficients stay accurate if it is
 * singular. */
static kaon_status process(job *self, kaon_vector **v, int steps) {
  int empty;
  KAON_TRY(kaon_noise_fill(v[R]));
  KAON_TRY(check_empty(self, v[R], &empty));
  while (self->n < steps && !empty) {
    double beta2, alpha;
    KAON_TRY(scale_back(self, v[R], v[P]));
    KAON_TRY(product(v[R], v[P], &beta2));
    if (!(beta2 >= 0) || !isfinite(beta2) || (beta2 == 0 && self->n == 0))
      return kaon_fail(
          self->A->ctx, KAON_ERR_ARGUMENT,
          "%s: (r, D^-1 r) is %g in step %d of the estimate, but must be positive: it is "
          "for Hermitian positive definite operators",
          self->name, beta2, self->n);
    const double beta = sqrt(beta2);
    if (self->n > 0 && beta <= rounding(self)) return KAON_OK; /* the Krylov space is exhausted */
    KAON_TRY(kaon_blas_scale(KAON_NUMBER(1 / beta), v[R], NULL));
    KAON_TRY(kaon_blas_scale(KAON_NUMBER(1 / beta), v[P], NULL));
    KAON_TRY(image(self, v, beta, &alpha));
    KAON_TRY(kaon_blas_axpy(KAON_NUMBER(-alpha), v[R], v[Q], NULL));
    self->d[self->n] = alpha;
    if (self->n > 0) self->s[self->n - 1] = beta2;
    self->n++;
    KAON_TRY(update_interval(self, alpha));
    if (self->indefinite) return KAON_OK;
    kaon_vector *spare = v[OLD];
    v[OLD] = v[R];
    v[R] = v[Q];
    v[Q] = spare;
  }
  return KAON_OK;
}

/* Checks (A x, A x) = (x, A A x) for noise x. If it fails, what looked like an eigenvalue is
 * none. */
static kaon_status check_hermitian(job *self, kaon_vector *const *v) {
  double left, right[1][2], size;
  const double scale = self->A->precision == KAON_DOUBLE ? 1e-10 : 1e-4;
  KAON_TRY(kaon_noise_fill(v[P]));
  KAON_TRY(multiply(self, v[P], v[Q]));
  KAON_TRY(multiply(self, v[Q], v[R]));
  KAON_TRY(product(v[Q], v[Q], &left));
  KAON_TRY(kaon_vector_dot(v[P], v[R], right));
  KAON_TRY(product(v[R], v[R], &size));
  self->skewed = !(hypot(left - right[0][0], right[0][1]) <= scale * sqrt(size) * sqrt(left));
  return KAON_OK;
}

static kaon_status refuse(const job *self) {
  const int e = self->jacobi != NULL ? 0 : self->A->exponent;
  return kaon_fail(self->A->ctx, KAON_ERR_ARGUMENT,
                   "%s: %s has an eigenvalue of %g or less, as %d steps of the estimate show: the "
                   "operator is not Hermitian positive definite",
                   self->name, self->jacobi != NULL ? "D^-1 A" : "A",
                   ldexp(eigenvalue(self->n, self->d, self->s, 0) * self->unit, e), self->n);
}

/* For an operator that is not Hermitian but has a positive Hermitian part, which has no Lanczos
 * matrix. The matrix of the coefficients of conjugate gradients is positive definite all the same.
 * Its extreme values suit a Chebyshev polynomial as a preconditioner of GCR. */
static kaon_status conjugate(job *self, kaon_vector *const *v, int steps) {
  double rho = 1, alpha_old = 1, first = 0, next, pq;
  KAON_TRY(kaon_noise_fill(v[R]));
  KAON_TRY(kaon_blas_zero(v[P], NULL));
  self->unit = 1;
  self->singular = self->indefinite = 0;
  for (self->n = 0; self->n < steps; self->n++) {
    KAON_TRY(scale_back(self, v[R], v[OLD]));
    KAON_TRY(product(v[R], v[OLD], &next));
    if (self->n == 0) first = next;
    if (self->n > 0 && next <= 1e-60 * first) return KAON_OK; /* the Krylov space is exhausted */
    const double beta = self->n > 0 ? next / rho : 0;
    KAON_TRY(kaon_blas_xpay(v[OLD], KAON_NUMBER(beta), v[P], NULL));
    KAON_TRY(multiply(self, v[P], v[Q]));
    KAON_TRY(product(v[P], v[Q], &pq));
    if (!(pq > 0) || !(next > 0) || !isfinite(next))
      return kaon_fail(self->A->ctx, KAON_ERR_ARGUMENT,
                       "%s: (p, A p) = %g in step %d of the estimate: the operator is not "
                       "Hermitian positive definite",
                       self->name, pq, self->n);
    const double alpha = next / pq;
    self->d[self->n] = 1 / alpha + (self->n > 0 ? beta / alpha_old : 0);
    if (self->n > 0) self->s[self->n - 1] = beta / (alpha_old * alpha_old);
    KAON_TRY(kaon_blas_axpy(KAON_NUMBER(-alpha), v[Q], v[R], NULL));
    rho = next;
    alpha_old = alpha;
  }
  return KAON_OK;
}

static kaon_status estimate(job *self, kaon_vector **v, int steps, int hermitian) {
  KAON_TRY(process(self, v, steps));
  if (!self->indefinite) return KAON_OK;
  if (!hermitian) KAON_TRY(check_hermitian(self, v));
  return self->skewed ? conjugate(self, v, steps) : refuse(self);
}

static void read_off(const job *self, int steps, kaon_extremes *to) {
  const int n = self->n, half = n > 1 ? n / 2 : n;
  const double low = eigenvalue(n, self->d, self->s, 0),
               high = eigenvalue(n, self->d, self->s, n - 1);
  to->low = self->singular ? 0 : low * self->unit;
  to->least = (self->singular ? self->least : low) * self->unit;
  to->high = high * self->unit;
  if (n < steps && n <= KAON_LANCZOS_SOON) return;
  if (!self->singular) to->low_error = (eigenvalue(half, self->d, self->s, 0) - low) * self->unit;
  to->high_error = (high - eigenvalue(half, self->d, self->s, half - 1)) * self->unit;
}

kaon_status kaon_lanczos(kaon_operator *A, kaon_operator *jacobi, int steps, int hermitian,
                         const char *name, kaon_extremes *extremes) {
  KAON_AUTOFREE double *d = calloc(2 * (size_t)steps, sizeof *d);
  job self = {.A = A, .jacobi = jacobi, .name = name, .d = d, .unit = 1};
  kaon_vector *v[WORK] = {NULL};
  kaon_status status =
      KAON_CHECK_MEMORY(A->ctx, d != NULL, "%s: out of host memory for %d steps", name, steps);
  for (int i = 0; i < WORK && status == KAON_OK; i++)
    status = kaon_vector_create(A->ctx, A->space, A->precision, 1, &v[i]);
  status = kaon_agree(A->ctx, status);
  if (d != NULL) self.s = d + steps;
  if (status == KAON_OK) status = estimate(&self, v, steps, hermitian);
  for (int i = 0; i < WORK; i++) kaon_vector_destroy(&v[i]);
  *extremes = (kaon_extremes){.steps = self.products, .indefinite = self.indefinite};
  if (status == KAON_OK) read_off(&self, steps, extremes);
  return status;
}
