/* shifted_operator.c - A or A^dag A, with or without a shift, as an operator. Its vectors may have
 * another precision than A's: x and the directions of all shifts do not work in half. */
#include <stdlib.h>

#include "lib/operator/workspace.h"
#include "solvers/shifts/shifted.h"

typedef struct shifted {
  kaon_operator *A;
  kaon_precision precision; /* of x and y */
  int normal;               /* A^dag A */
  int shifts;               /* sigma is added */
  double sigma;
  kaon_workspace *work; /* in A's precision: copies of x and y, what is between A and A^dag */
} shifted;

static int converts(const shifted *self) {
  return self->precision != self->A->precision;
}

static kaon_status work_of(shifted *self, int columns, kaon_workspace **set) {
  return kaon_workspace_get(self->A, self->A->space, 2 * converts(self) + self->normal, columns,
                            &self->work, set);
}

/* If the pass asks for (x, y) alone, the first application has this sum: (x, A^dag A x) = |A x|^2.
 * A column that the pass's recurrence closes then has no result. */
static kaon_status product(shifted *self, const kaon_vector *x, kaon_vector *y,
                           const kaon_pass *pass) {
  const kaon_pass gate = kaon_pass_gate_only(pass);
  const int sums = pass->w == x && pass->norm == KAON_NO_SLOT;
  kaon_pass first = sums ? *pass : gate;
  kaon_workspace *work;
  if (!self->normal && !converts(self)) return kaon_operator_run(self->A, KAON_PLAIN, x, y, pass);
  KAON_TRY(work_of(self, x->nrhs, &work));
  const kaon_vector *in = converts(self) ? work->vector[0] : x;
  kaon_vector *out = converts(self) ? work->vector[1] : y;
  if (converts(self)) KAON_TRY(kaon_blas_convert(x, work->vector[0], 0, &gate));
  if (self->normal) {
    kaon_vector *between = work->vector[2 * converts(self)];
    first.norm = first.dot;
    first.dot = KAON_NO_SLOT;
    KAON_TRY(kaon_operator_run(self->A, KAON_PLAIN, in, between, &first));
    KAON_TRY(kaon_operator_run(self->A, KAON_DAGGER, between, out, &gate));
  } else {
    if (sums) first.w = in;
    KAON_TRY(kaon_operator_run(self->A, KAON_PLAIN, in, out, &first));
  }
  if (converts(self)) KAON_TRY(kaon_blas_convert(out, y, 0, &gate));
  return sums ? KAON_OK : kaon_pass_sum_separately(y, pass);
}

static kaon_status apply(kaon_operator *S, kaon_mode mode, const kaon_vector *x, kaon_vector *y,
                         const kaon_pass *pass) {
  static const kaon_pass all = KAON_PASS_INIT;
  shifted *self = S->self;
  const kaon_pass gate = kaon_pass_gate_only(pass);
  (void)mode; /* it is self-adjoint */
  if (!self->shifts) return product(self, x, y, pass != NULL ? pass : &all);
  KAON_TRY(product(self, x, y, &gate));
  KAON_TRY(kaon_blas_axpy(KAON_NUMBER(self->sigma), x, y, &gate));
  return kaon_pass_sum_separately(y, pass);
}

static kaon_status make_twin(kaon_operator *S, kaon_precision precision,
                             kaon_reconstruct reconstruct, kaon_operator **twin) {
  const shifted *self = S->self;
  kaon_operator *A = NULL;
  *twin = NULL;
  KAON_TRY(self->A->ops->twin(self->A, precision, reconstruct, &A));
  const kaon_status status = kaon_shifted_operator(
      A, self->normal, self->shifts ? &self->sigma : NULL, A->precision, twin);
  kaon_operator_destroy(&A); /* the twin retains it */
  return status;
}

static kaon_status reserve(kaon_operator *S, kaon_mode mode, int columns) {
  shifted *self = S->self;
  kaon_workspace *unused;
  (void)mode;
  KAON_TRY(kaon_operator_reserve(self->A, KAON_PLAIN, columns));
  if (self->normal) KAON_TRY(kaon_operator_reserve(self->A, KAON_DAGGER, columns));
  return self->normal || converts(self) ? work_of(self, columns, &unused) : KAON_OK;
}

static kaon_cost cost(const kaon_operator *S, int columns) {
  const shifted *self = S->self;
  kaon_cost c = self->A->ops->cost(self->A, columns);
  c.flops *= 1 + self->normal;
  c.bytes *= 1 + self->normal;
  return c;
}

static void destroy(kaon_operator *S) {
  shifted *self = S->self;
  kaon_workspace_free(&self->work);
  kaon_operator_destroy(&self->A);
}

kaon_status kaon_shifted_operator(kaon_operator *A, int normal, const double *sigma,
                                  kaon_precision precision, kaon_operator **result) {
  static const kaon_operator_ops ops = {.name = "shifted",
                                        .apply = apply,
                                        .twin = make_twin,
                                        .reserve = reserve,
                                        .cost = cost,
                                        .destroy = destroy};
  *result = kaon_operator_new((kaon_operator){.ops = &ops,
                                              .ctx = A->ctx,
                                              .space = A->space,
                                              .precision = precision,
                                              .revision = A->revision},
                              sizeof(shifted));
  if (*result == NULL) return kaon_fail(A->ctx, KAON_ERR_MEMORY, "multishift: out of host memory");
  *(shifted *)(*result)->self = (shifted){.A = A,
                                          .precision = precision,
                                          .normal = normal,
                                          .shifts = sigma != NULL,
                                          .sigma = sigma != NULL ? *sigma : 0};
  kaon_operator_retain(A);
  return KAON_OK;
}
