/* chebyshev.c - polynomial preconditioner y = p(D^-1 A) D^-1 x, D the diagonal of A or 1.
 * Source: Saad, Iterative Methods for Sparse Linear Systems, 2nd edition, section 12.3.2, algorithm
 * 12.1: Chebyshev's iteration from 0 for D^-1 A y = D^-1 x, whose residual polynomial is the
 * smallest on [low, high]. theta = (high + low) / 2;  delta = (high - low) / 2;  sigma = theta /
 * delta;  rho = 1 / sigma p = D^-1 x / theta;  y = p `degree` times:  t = x - A y;  rho' = 1 / (2
 * sigma - rho) p = rho' rho p + (2 rho' / delta) D^-1 t;  y += p;  rho = rho' The interval is
 * estimated by conjugate gradients with D, whose coefficients are those of Lanczos' process
 * (section 6.7.3): extreme eigenvalues of its tridiagonal matrix, by bisection. No number is asked
 * for in an application, no sum taken. Storage: p, t, and with D z. An application: `degree` A;
 * vectors read 6, written 3 besides each, with D 8 and 4. */
#include <kaon/options.h>
#include <kaon/precond.h>

#include <math.h>
#include <stdlib.h>

#include "blas/precond.h"
#include "lib/space.h"
#include "lib/workspace.h"

enum { STEPS_MAX = 64 };

typedef struct chebyshev {
  kaon_operator *A;      /* kept alive */
  kaon_operator *jacobi; /* NULL: D = 1 */
  int degree;
  double low, high;
  kaon_workspace *work;
} chebyshev;

/* ---- workspace ---- */

enum { P, T, Z }; /* z: with D alone */

static kaon_status work_of(kaon_operator *K, int columns, kaon_workspace **set) {
  chebyshev *self = K->self;
  return kaon_workspace_get(K, self->jacobi != NULL ? Z + 1 : T + 1, columns, &self->work, set);
}

static kaon_status reserve(kaon_operator *K, int columns) {
  const chebyshev *self = K->self;
  kaon_workspace *unused;
  KAON_TRY(work_of(K, columns, &unused));
  return self->A->ops->reserve != NULL ? self->A->ops->reserve(self->A, columns) : KAON_OK;
}

static kaon_status reserve_dagger(kaon_operator *K, int columns) {
  const chebyshev *self = K->self;
  if (self->A->ops->reserve_dagger == NULL) return KAON_OK;
  return self->A->ops->reserve_dagger(self->A, columns);
}

/* ---- an application ---- */

/* out = D^-1 in; without D in itself stands for it. */
static kaon_status scale_back(const chebyshev *self, kaon_mode mode, const kaon_vector *in,
                              kaon_vector *out, const kaon_pass *gate) {
  if (self->jacobi == NULL) return kaon_blas_copy(in, out, gate);
  return kaon_operator_run(self->jacobi, mode, in, out, gate);
}

static kaon_status apply(kaon_operator *K, kaon_mode mode, const kaon_vector *x, kaon_vector *y,
                         const kaon_pass *pass) {
  chebyshev *self = K->self;
  const kaon_pass gate = kaon_pass_gate_only(pass);
  const double theta = (self->high + self->low) / 2, delta = (self->high - self->low) / 2,
               sigma = theta / delta;
  double rho = 1 / sigma;
  kaon_workspace *work;
  KAON_TRY(work_of(K, x->nrhs, &work));
  kaon_vector *p = work->vector[P], *t = work->vector[T];
  kaon_vector *z = self->jacobi != NULL ? work->vector[Z] : t;
  KAON_TRY(scale_back(self, mode, x, p, &gate));
  KAON_TRY(kaon_blas_scale(KAON_NUMBER(1 / theta), p, &gate));
  KAON_TRY(kaon_blas_copy(p, y, &gate));
  for (int i = 0; i < self->degree; i++) {
    const double next = 1 / (2 * sigma - rho);
    KAON_TRY(kaon_operator_run(self->A, mode, y, t, &gate));
    KAON_TRY(kaon_blas_xpay(x, KAON_NUMBER(-1), t, &gate));
    if (self->jacobi != NULL) KAON_TRY(kaon_operator_run(self->jacobi, mode, t, z, &gate));
    KAON_TRY(kaon_blas_axpby(KAON_NUMBER(2 * next / delta), z, KAON_NUMBER(next * rho), p, &gate));
    KAON_TRY(kaon_blas_axpy(KAON_NUMBER(1), p, y, i + 1 < self->degree ? &gate : pass));
    rho = next;
  }
  return KAON_OK;
}

static kaon_status check(const kaon_operator *K) {
  const chebyshev *self = K->self;
  return self->A->ops->check != NULL ? self->A->ops->check(self->A) : KAON_OK;
}

static kaon_cost cost(const kaon_operator *K, int columns) {
  const chebyshev *self = K->self;
  const double numbers = (double)K->space->nsites * K->space->ncomp;
  const double bytes = (double)kaon_precision_bytes(K->precision);
  const int vectors = self->jacobi != NULL ? 12 : 9;
  kaon_cost c = self->A->ops->cost(self->A, columns);
  c.flops = self->degree * (c.flops + numbers * (self->jacobi != NULL ? 6 : 5));
  c.bytes = self->degree * (c.bytes + numbers * bytes * vectors);
  return c;
}

static void destroy(kaon_operator *K) {
  chebyshev *self = K->self;
  kaon_context *ctx = K->ctx;
  kaon_workspace_free(&self->work);
  kaon_operator_destroy(&self->jacobi);
  kaon_operator_destroy(&self->A);
  free(self);
  free(K);
  kaon_context_release(ctx);
}

static kaon_status at_precision(kaon_operator *K, kaon_precision precision,
                                kaon_reconstruct reconstruct, kaon_operator **twin);

static const kaon_operator_ops chebyshev_ops = {
    .name = "chebyshev",
    .apply = apply,
    .at_precision = at_precision,
    .reserve = reserve,
    .reserve_dagger = reserve_dagger,
    .check = check,
    .cost = cost,
    .destroy = destroy,
};

/* Takes over A and jacobi, also where it fails. */
static kaon_status make(kaon_operator *A, kaon_operator *jacobi, kaon_operator **made) {
  kaon_operator *K = calloc(1, sizeof *K);
  chebyshev *self = calloc(1, sizeof *self);
  *made = NULL;
  if (K == NULL || self == NULL) {
    const kaon_status status = kaon_fail(A->ctx, KAON_ERR_MEMORY, "chebyshev: no host memory");
    free(K);
    free(self);
    kaon_operator_destroy(&A);
    kaon_operator_destroy(&jacobi);
    return status;
  }
  *self = (chebyshev){.A = A, .jacobi = jacobi};
  *K = (kaon_operator){.ops = &chebyshev_ops,
                       .ctx = A->ctx,
                       .space = A->space,
                       .precision = A->precision,
                       .references = 1,
                       .self = self};
  kaon_context_retain(K->ctx);
  *made = K;
  return KAON_OK;
}

static kaon_status at_precision(kaon_operator *K, kaon_precision precision,
                                kaon_reconstruct reconstruct, kaon_operator **twin) {
  const chebyshev *self = K->self;
  kaon_operator *A = NULL, *jacobi = NULL;
  *twin = NULL;
  KAON_TRY(self->A->ops->at_precision(self->A, precision, reconstruct, &A));
  if (self->jacobi != NULL) {
    const kaon_status status =
        self->jacobi->ops->at_precision(self->jacobi, precision, reconstruct, &jacobi);
    if (status != KAON_OK) {
      kaon_operator_destroy(&A);
      return status;
    }
  }
  KAON_TRY(make(A, jacobi, twin));
  chebyshev *own = (*twin)->self;
  own->degree = self->degree;
  own->low = self->low;
  own->high = self->high;
  return KAON_OK;
}

/* ---- the interval ---- */

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
static kaon_status noise(kaon_vector *v) {
  const kaon_space *space = v->space;
  const int64_t sites = space->lattice != NULL ? space->lattice->volume : kaon_space_given(space);
  const int64_t count = sites * space->ncomp;
  double *host = malloc((size_t)(count > 0 ? count : 1) * sizeof *host);
  kaon_status status = KAON_OK;
  if (host == NULL)
    status = kaon_fail(v->ctx, KAON_ERR_MEMORY, "chebyshev: no host memory for %lld numbers",
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

enum { OF_R, OF_Z, OF_P, OF_Q, WORK };

/* Up to `steps` steps of conjugate gradients; *n of them give the matrix d, s. */
static kaon_status lanczos(const chebyshev *self, kaon_vector *const *v, int steps, double *d,
                           double *s, int *n) {
  kaon_context *ctx = self->A->ctx;
  double rho = 0, first = 0, alpha_old = 1, beta = 0;
  KAON_TRY(noise(v[OF_R]));
  KAON_TRY(kaon_blas_zero(v[OF_P], NULL));
  for (*n = 0; *n < steps; (*n)++) {
    double next, pq;
    KAON_TRY(scale_back(self, KAON_PLAIN, v[OF_R], v[OF_Z], NULL));
    KAON_TRY(product(v[OF_R], v[OF_Z], &next));
    if (*n == 0) first = next;
    if (!(next >= 0) || !isfinite(next) || (next == 0 && *n == 0))
      return kaon_fail(ctx, KAON_ERR_ARGUMENT,
                       "chebyshev: (r, D^-1 r) is %g in step %d of the estimate, but must be "
                       "positive; the polynomial is for Hermitian positive definite operators",
                       next, *n);
    if (!(next > 1e-20 * first)) return KAON_OK; /* the space is spent */
    beta = *n > 0 ? next / rho : 0;
    KAON_TRY(kaon_blas_xpay(v[OF_Z], KAON_NUMBER(beta), v[OF_P], NULL));
    KAON_TRY(kaon_operator_run(self->A, KAON_PLAIN, v[OF_P], v[OF_Q], NULL));
    KAON_TRY(product(v[OF_P], v[OF_Q], &pq));
    if (!(pq > 0))
      return kaon_fail(ctx, KAON_ERR_ARGUMENT,
                       "chebyshev: (p, A p) = %g in step %d of the estimate: the operator is not "
                       "Hermitian positive definite",
                       pq, *n);
    const double alpha = next / pq;
    d[*n] = 1 / alpha + (*n > 0 ? beta / alpha_old : 0);
    if (*n > 0) s[*n - 1] = beta / (alpha_old * alpha_old);
    KAON_TRY(kaon_blas_axpy(KAON_NUMBER(-alpha), v[OF_Q], v[OF_R], NULL));
    rho = next;
    alpha_old = alpha;
  }
  return KAON_OK;
}

static kaon_status estimate(chebyshev *self, const kaon_chebyshev_options *o) {
  const kaon_operator *A = self->A;
  kaon_vector *v[WORK] = {NULL};
  double d[STEPS_MAX], s[STEPS_MAX];
  int n = 0;
  kaon_status status = KAON_OK;
  for (int i = 0; i < WORK && status == KAON_OK; i++)
    status = kaon_vector_create(A->ctx, A->space, A->precision, 1, &v[i]);
  status = kaon_agree(A->ctx, status);
  if (status == KAON_OK) status = lanczos(self, v, o->steps, d, s, &n);
  for (int i = 0; i < WORK; i++) kaon_vector_destroy(&v[i]);
  KAON_TRY(status);
  const double smallest = eigenvalue(n, d, s, 0);
  self->high = o->safety * eigenvalue(n, d, s, n - 1);
  self->low = self->high / o->ratio > smallest ? self->high / o->ratio : smallest;
  if (self->low > 0.9 * self->high) self->low = 0.9 * self->high; /* one eigenvalue */
  return KAON_OK;
}

static kaon_status check_options(const kaon_operator *A, const kaon_chebyshev_options *o) {
  if (kaon_options_check(KAON_OPTIONS_CHEBYSHEV, o) != KAON_OK)
    return kaon_fail(A->ctx, KAON_ERR_ARGUMENT, "%s", kaon_last_error(NULL));
  if (o->high > 0 && !(o->low > 0 && o->low < o->high))
    return kaon_fail(A->ctx, KAON_ERR_ARGUMENT,
                     "chebyshev: the interval is [%g, %g], but 0 < low < high is needed (high = 0: "
                     "both are estimated)",
                     o->low, o->high);
  return KAON_OK;
}

kaon_status kaon_precond_chebyshev(kaon_operator *A, const kaon_chebyshev_options *options,
                                   kaon_operator **K) {
  const kaon_chebyshev_options defaults = KAON_CHEBYSHEV_OPTIONS_INIT;
  const kaon_chebyshev_options *o = options != NULL ? options : &defaults;
  kaon_operator *jacobi = NULL;
  if (A == NULL || K == NULL)
    return kaon_fail(A ? A->ctx : NULL, KAON_ERR_ARGUMENT,
                     "chebyshev: the operator or the address of the result is NULL");
  *K = NULL;
  KAON_TRY(check_options(A, o));
  if (o->scaled && A->ops->diagonal != NULL) KAON_TRY(kaon_precond_jacobi(A, &jacobi));
  kaon_operator_retain(A);
  KAON_TRY(kaon_agree(A->ctx, make(A, jacobi, K)));
  chebyshev *self = (*K)->self;
  self->degree = o->degree;
  self->low = o->low;
  self->high = o->high;
  const kaon_status status = o->high > 0 ? KAON_OK : estimate(self, o);
  if (status != KAON_OK) kaon_operator_destroy(K);
  return status;
}

kaon_status kaon_precond_chebyshev_interval(const kaon_operator *K, double *low, double *high) {
  if (K == NULL || low == NULL || high == NULL || K->ops != &chebyshev_ops)
    return kaon_fail(K ? K->ctx : NULL, KAON_ERR_ARGUMENT,
                     "chebyshev interval: a polynomial preconditioner and two places are needed");
  *low = ((const chebyshev *)K->self)->low;
  *high = ((const chebyshev *)K->self)->high;
  return KAON_OK;
}
