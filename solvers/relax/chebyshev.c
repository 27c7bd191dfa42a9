/* chebyshev.c - polynomial preconditioner y = p(D^-1 A) D^-1 x, D the diagonal of A or 1.
 * Source: Saad, Iterative Methods for Sparse Linear Systems, 2nd edition, section 12.3.2, algorithm
 * 12.1: Chebyshev iteration from 0 for D^-1 A y = D^-1 x. Its residual polynomial is the smallest
 * on [low, high].
 *   theta = (high + low) / 2;  delta = (high - low) / 2;  sigma = theta / delta;  rho = 1 / sigma
 *   p = D^-1 x / theta;  y = p
 *   `degree` times:
 *     t = x - A y;  rho' = 1 / (2 sigma - rho)
 *     p = rho' rho p + (2 rho' / delta) D^-1 t;  y += p;  rho = rho'
 * Lanczos (lanczos.h), in D's inner product, estimates the interval. For a singular A the
 * eigenvalue 0 is left out: a system that has solutions has no null vectors in its residuals.
 * An application reads nothing on the host and needs no sum. Storage: p, t, and with D z. An
 * application: `degree` A; for each of them vectors read 6, written 3; with D: read 8, written 4. */
#include <kaon/context.h>
#include <kaon/precond.h>

#include <math.h>
#include <stdlib.h>

#include "blas/precond_updates.h"
#include "lib/vector/space.h"
#include "lib/operator/workspace.h"
#include "lib/core/options_table.h"
#include "solvers/spectra/lanczos.h"
#include "lib/core/entry.h"

typedef struct chebyshev {
  kaon_operator *A;      /* retained */
  kaon_operator *jacobi; /* NULL: D = 1 */
  kaon_operator *of; /* the preconditioner that this is a twin of, for its interval; else NULL */
  kaon_chebyshev_options options;
  double low, high;
  kaon_workspace *work;
} chebyshev;

/* ---- workspace ---- */

enum { P, T, Z }; /* z: only with D */

static kaon_status work_of(kaon_operator *K, int columns, kaon_workspace **set) {
  chebyshev *self = K->self;
  return kaon_workspace_get(K, K->space, self->jacobi != NULL ? Z + 1 : T + 1, columns, &self->work,
                            set);
}

static kaon_status reserve(kaon_operator *K, kaon_mode mode, int columns) {
  const chebyshev *self = K->self;
  kaon_workspace *unused;
  KAON_TRY(work_of(K, columns, &unused));
  return kaon_operator_reserve(self->A, mode, columns);
}

/* ---- an application ---- */

/* out = D^-1 in; a copy if there is no D. */
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
  for (int i = 0; i < self->options.degree; i++) {
    const double next = 1 / (2 * sigma - rho);
    KAON_TRY(kaon_operator_run(self->A, mode, y, t, &gate));
    KAON_TRY(kaon_blas_xpay(x, KAON_NUMBER(-1), t, &gate));
    if (self->jacobi != NULL) KAON_TRY(kaon_operator_run(self->jacobi, mode, t, z, &gate));
    KAON_TRY(kaon_blas_axpby(KAON_NUMBER(2 * next / delta), z, KAON_NUMBER(next * rho), p, &gate));
    KAON_TRY(kaon_blas_axpy(KAON_NUMBER(1), p, y, i + 1 < self->options.degree ? &gate : pass));
    rho = next;
  }
  return KAON_OK;
}

static kaon_cost cost(const kaon_operator *K, int columns) {
  const chebyshev *self = K->self;
  const double numbers = (double)K->space->nsites * K->space->ncomp;
  const double bytes = (double)kaon_precision_bytes(K->precision);
  const int vectors = self->jacobi != NULL ? 12 : 9;
  kaon_cost c = self->A->ops->cost(self->A, columns);
  c.flops = self->options.degree * (c.flops + numbers * (self->jacobi != NULL ? 6 : 5));
  c.bytes = self->options.degree * (c.bytes + numbers * bytes * vectors);
  return c;
}

static void destroy(kaon_operator *K) {
  chebyshev *self = K->self;
  kaon_workspace_free(&self->work);
  kaon_revision_release(&K->revision);
  kaon_operator_destroy(&self->of);
  kaon_operator_destroy(&self->jacobi);
  kaon_operator_destroy(&self->A);
}

static kaon_status make_twin(kaon_operator *K, kaon_precision precision,
                             kaon_reconstruct reconstruct, kaon_operator **twin);

static const kaon_operator_ops chebyshev_ops = {
    .name = "chebyshev",
    .apply = apply,
    .twin = make_twin,
    .reserve = reserve,
    .cost = cost,
    .destroy = destroy,
};

/* ---- the interval ---- */

/* Exponent of the interval's unit: that of A, or 0 for D^-1 A. */
static int exponent_of(const chebyshev *self) {
  return self->jacobi != NULL ? 0 : self->A->exponent;
}

/* Takes the interval from the preconditioner that this is a twin of, from the options, or from an
 * estimate for A. */
static kaon_status take_interval(void *owner) {
  chebyshev *self = ((kaon_operator *)owner)->self;
  const chebyshev *of = self->of != NULL ? self->of->self : NULL;
  const kaon_chebyshev_options *o = &self->options;
  self->low = of != NULL ? of->low : ldexp(o->low, -exponent_of(self));
  self->high = of != NULL ? of->high : ldexp(o->high, -exponent_of(self));
  if (self->high > 0) return KAON_OK;
  kaon_extremes e;
  KAON_TRY(kaon_lanczos(self->A, self->jacobi, o->steps, 0, "chebyshev", &e));
  self->high = o->safety * e.high;
  self->low = self->high / o->ratio > e.least ? self->high / o->ratio : e.least;
  if (self->low > 0.9 * self->high) self->low = 0.9 * self->high; /* there is one eigenvalue */
  return KAON_OK;
}

/* ---- creation ---- */

/* of: NULL, or the preconditioner that this is a twin of. Takes over A and jacobi, also on
 * failure. */
static kaon_status make(kaon_operator *A, kaon_operator *jacobi, kaon_operator *of,
                        const kaon_chebyshev_options *options, kaon_operator **made) {
  kaon_revision *revision = NULL;
  kaon_status status = kaon_revision_create(A->ctx, "chebyshev", NULL, &revision);
  *made = kaon_operator_new((kaon_operator){.ops = &chebyshev_ops,
                                            .ctx = A->ctx,
                                            .space = A->space,
                                            .precision = A->precision,
                                            .exponent = -A->exponent,
                                            .revision = revision},
                            sizeof(chebyshev));
  if (*made == NULL) kaon_revision_release(&revision);
  if (revision == NULL) {
    kaon_operator_destroy(made);
    status = kaon_fail(A->ctx, KAON_ERR_MEMORY, "chebyshev: out of host memory");
    kaon_operator_destroy(&A);
    kaon_operator_destroy(&jacobi);
    return status;
  }
  *(chebyshev *)(*made)->self =
      (chebyshev){.A = A, .jacobi = jacobi, .of = of, .options = *options};
  revision->follow = take_interval;
  revision->owner = *made;
  kaon_made_of(revision, A->revision);
  if (jacobi != NULL) kaon_made_of(revision, jacobi->revision);
  if (of != NULL) {
    kaon_operator_retain(of);
    kaon_made_of(revision, of->revision);
  }
  return status;
}

static kaon_status make_twin(kaon_operator *K, kaon_precision precision,
                             kaon_reconstruct reconstruct, kaon_operator **twin) {
  const chebyshev *self = K->self;
  kaon_operator *A = NULL, *jacobi = NULL;
  *twin = NULL;
  KAON_TRY(self->A->ops->twin(self->A, precision, reconstruct, &A));
  if (self->jacobi != NULL) {
    const kaon_status status =
        self->jacobi->ops->twin(self->jacobi, precision, reconstruct, &jacobi);
    if (status != KAON_OK) {
      kaon_operator_destroy(&A);
      return status;
    }
  }
  KAON_TRY(make(A, jacobi, K, &self->options, twin));
  return take_interval(*twin);
}

static kaon_status take_options(const kaon_operator *A, const kaon_chebyshev_options *options,
                                kaon_chebyshev_options *o) {
  KAON_TRY(kaon_operator_check_square(A, "chebyshev"));
  KAON_TRY(kaon_options_share(A->ctx, KAON_OK, KAON_OPTIONS_CHEBYSHEV, options, o, NULL, 0));
  if (o->high > 0 && !(o->low > 0 && o->low < o->high))
    return kaon_fail(A->ctx, KAON_ERR_ARGUMENT,
                     "chebyshev: the interval is [%g, %g], but 0 < low < high is needed (high = 0: "
                     "both are estimated)",
                     o->low, o->high);
  return KAON_OK;
}

kaon_status kaon_precond_chebyshev(kaon_operator *A, const kaon_chebyshev_options *options,
                                   kaon_operator **K) {
  kaon_chebyshev_options own;
  const kaon_chebyshev_options *o = &own;
  kaon_operator *jacobi = NULL;
  if (K != NULL) *K = NULL;
  KAON_ENTER(KAON_OF(A), A, K);
  KAON_TRY(take_options(A, options, &own));
  if (o->scaled && A->ops->diagonal != NULL) KAON_TRY(kaon_precond_jacobi(A, &jacobi));
  kaon_operator_retain(A);
  KAON_TRY(kaon_agree(A->ctx, make(A, jacobi, NULL, o, K)));
  const kaon_status status = take_interval(*K);
  if (status != KAON_OK) kaon_operator_destroy(K);
  return status;
}

kaon_status kaon_precond_chebyshev_interval(const kaon_operator *K, double *low, double *high) {
  KAON_ENTER(KAON_OF(K), K, low, high);
  if (K->ops != &chebyshev_ops)
    return kaon_fail(K->ctx, KAON_ERR_ARGUMENT,
                     "chebyshev interval: operator '%s' has none; pass one made by "
                     "kaon_precond_chebyshev",
                     K->ops->name);
  const chebyshev *self = K->self;
  *low = ldexp(self->low, exponent_of(self));
  *high = ldexp(self->high, exponent_of(self));
  return KAON_OK;
}
