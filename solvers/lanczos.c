/* lanczos.c - see lanczos.h. */
#include "solvers/lanczos.h"

#include <math.h>
#include <stdlib.h>

#include "blas/blas.h"
#include "lib/space.h"

/* Of |r|^2: long after r is rounding alone its recurrence goes on, and with it the process. */
static const double SPENT = 1e-60;

typedef struct job {
  kaon_operator *A, *jacobi;
  const char *name;
  int indefinite;
} job;

/* out = D^-1 in; without D in itself stands for it. */
static kaon_status scale_back(const job *self, const kaon_vector *in, kaon_vector *out) {
  if (self->jacobi == NULL) return kaon_blas_copy(in, out, NULL);
  return kaon_operator_run(self->jacobi, KAON_PLAIN, in, out, NULL);
}

/* Eigenvalues below x of the symmetric tridiagonal matrix with diagonal d and squares s of what
 * stands beside it: negative pivots of its factors (Sturm). */
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

/* Its eigenvalue number k from below. */
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

/* Numbers in [-1, 1) that differ from rank to rank (splitmix64). */
kaon_status kaon_noise_fill(kaon_vector *v) {
  const kaon_space *space = v->space;
  const int64_t sites = space->lattice != NULL ? space->lattice->volume : kaon_space_given(space);
  const int64_t count = sites * space->ncomp;
  double *host = malloc((size_t)(count > 0 ? count : 1) * sizeof *host);
  kaon_status status = KAON_OK;
  if (host == NULL)
    status = kaon_fail(v->ctx, KAON_ERR_MEMORY, "noise: no host memory for %lld numbers",
                       (long long)count);
  KAON_TRY(kaon_agree(v->ctx, status)); /* imports are collective */
  uint64_t seed = (uint64_t)v->ctx->comm->rank << 40;
  for (int64_t i = 0; i < count; i++) {
    uint64_t z = seed += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    host[i] = (double)(int64_t)(z ^ (z >> 31)) * 0x1p-63;
  }
  status = kaon_vector_import(v, 0, host, KAON_BASIS_UKQCD);
  free(host);
  return status;
}

/* (x, y) over all ranks. */
static kaon_status product(const kaon_vector *x, const kaon_vector *y, double *re) {
  double dot[1][2];
  KAON_TRY(kaon_vector_dot(x, y, dot));
  *re = dot[0][0];
  return KAON_OK;
}

enum { R, Z, P, Q, WORK };

/* Up to `steps` steps of conjugate gradients; *n of them give the matrix d, s. Where A is found not
 * to be for it, *n products were made. */
static kaon_status process(job *self, kaon_vector *const *v, int steps, double *d, double *s,
                           int *n) {
  kaon_context *ctx = self->A->ctx;
  double rho = 0, first = 0, alpha_old = 1, beta = 0;
  KAON_TRY(kaon_noise_fill(v[R]));
  KAON_TRY(kaon_blas_zero(v[P], NULL));
  for (*n = 0; *n < steps; (*n)++) {
    double next, pq;
    KAON_TRY(scale_back(self, v[R], v[Z]));
    KAON_TRY(product(v[R], v[Z], &next));
    if (*n == 0) first = next;
    if (!(next >= 0) || !isfinite(next) || (next == 0 && *n == 0))
      return kaon_fail(
          ctx, KAON_ERR_ARGUMENT,
          "%s: (r, D^-1 r) is %g in step %d of the estimate, but must be positive: it is "
          "for Hermitian positive definite operators",
          self->name, next, *n);
    if (!(next > SPENT * first)) return KAON_OK; /* the space is spent */
    beta = *n > 0 ? next / rho : 0;
    KAON_TRY(kaon_blas_xpay(v[Z], KAON_NUMBER(beta), v[P], NULL));
    KAON_TRY(kaon_operator_run(self->A, KAON_PLAIN, v[P], v[Q], NULL));
    KAON_TRY(product(v[P], v[Q], &pq));
    if (!(pq > 0)) {
      const int step = (*n)++;
      self->indefinite = isfinite(pq);
      return kaon_fail(
          ctx, KAON_ERR_ARGUMENT,
          "%s: (p, A p) = %g in step %d of the estimate: the operator is not Hermitian "
          "positive definite",
          self->name, pq, step);
    }
    const double alpha = next / pq;
    d[*n] = 1 / alpha + (*n > 0 ? beta / alpha_old : 0);
    if (*n > 0) s[*n - 1] = beta / (alpha_old * alpha_old);
    KAON_TRY(kaon_blas_axpy(KAON_NUMBER(-alpha), v[Q], v[R], NULL));
    rho = next;
    alpha_old = alpha;
  }
  return KAON_OK;
}

kaon_status kaon_lanczos(kaon_operator *A, kaon_operator *jacobi, int steps, const char *name,
                         kaon_extremes *extremes) {
  job self = {A, jacobi, name, 0};
  kaon_vector *v[WORK] = {NULL};
  double *d = malloc(2 * (size_t)steps * sizeof *d);
  int n = 0;
  kaon_status status = KAON_OK;
  if (d == NULL)
    status = kaon_fail(A->ctx, KAON_ERR_MEMORY, "%s: no host memory for %d steps", name, steps);
  for (int i = 0; i < WORK && status == KAON_OK; i++)
    status = kaon_vector_create(A->ctx, A->space, A->precision, 1, &v[i]);
  status = kaon_agree(A->ctx, status);
  if (status == KAON_OK) status = process(&self, v, steps, d, d + steps, &n);
  for (int i = 0; i < WORK; i++) kaon_vector_destroy(&v[i]);
  *extremes = (kaon_extremes){.steps = n, .indefinite = self.indefinite};
  if (status == KAON_OK) {
    const int half = n > 1 ? n / 2 : n;
    extremes->low = eigenvalue(n, d, d + steps, 0);
    extremes->high = eigenvalue(n, d, d + steps, n - 1);
    if (n == steps || n > KAON_LANCZOS_SOON) {
      extremes->low_error = eigenvalue(half, d, d + steps, 0) - extremes->low;
      extremes->high_error = extremes->high - eigenvalue(half, d, d + steps, half - 1);
    }
  }
  free(d);
  return status;
}
