/* kaczmarz.c - reductions by row projections, and preconditioners. Contract: kaon/relax.h. */
#include "lib/cpu/clock.h"
#include "sparse/sweeps/kaczmarz_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <kaon/context.h>

#include "blas/blas.h"
#include "blas/precond_updates.h"
#include "lib/comm/comm.h"
#include "lib/vector/vector_transfer.h"
#include "lib/core/options_table.h"
#include "lib/core/output.h"
#include "lib/core/entry.h"

enum { WORK = 2, BLOCK_ROWS = 128, POWER_STEPS = 30 };
static const double LAMBDA_SHARE = 1.8; /* fraction of 2, below which the method converges */

typedef struct kaczmarz {
  kaon_matrix *matrix;           /* retained */
  kaon_operator *A;              /* the matrix' operator, also retained */
  kaon_kaczmarz_options options; /* as chosen */
  kaon_kaczmarz_info info;
  kaon_kaczmarz_kind kind;
  int32_t *permutation; /* copies of the caller's, for twins */
  double *coordinates;
  kaon_projector *rows;   /* not for CIMMINO */
  kaon_copies *copies;    /* CARP */
  kaon_operator *B;       /* CIMMINO */
  kaon_vector *weights;   /* of one column: CIMMINO sqrt(lambda) / |a_i|, CARP s^-1/2 */
  kaon_vector *unweights; /* CARP: s^1/2 */
  kaon_vector *work[WORK];
  int columns;
  void *z;    /* the copies, for as many columns as the work vectors */
  int sweeps; /* > 0: a preconditioner */
  kaon_reduction reduction;
} kaczmarz;

static kaczmarz *self_of(const kaon_operator *R) {
  return R->self;
}

/* ---- workspace ---- */

static void release_all(kaon_operator *R) {
  kaczmarz *self = self_of(R);
  for (int i = 0; i < WORK; i++) kaon_vector_destroy(&self->work[i]);
  kaon_pool_release(R->ctx, self->z);
  self->z = NULL;
  self->columns = 0;
}

static kaon_status get_workspace(kaon_operator *R, int columns) {
  kaczmarz *self = self_of(R);
  if (self->columns == columns) return KAON_OK;
  release_all(R);
  kaon_status status = KAON_OK;
  const int work = self->kind == KAON_KACZMARZ_CIMMINO || self->sweeps > 0 ? WORK : 0;
  for (int i = 0; i < work && status == KAON_OK; i++)
    status = kaon_vector_create(R->ctx, R->space, R->precision, columns, &self->work[i]);
  if (self->copies != NULL && status == KAON_OK) {
    const int64_t width = R->ctx->backend->width;
    const int64_t places = (self->copies->count + width - 1) / width * width;
    const size_t bytes =
        (size_t)(places * R->space->ncomp) * (size_t)columns * kaon_precision_bytes(R->precision);
    status = kaon_pool_allocate(R->ctx, bytes > 0 ? bytes : 64, "copies of unknowns", &self->z);
    if (status == KAON_OK) status = R->ctx->backend->memory->clear(R->ctx, self->z, bytes);
  }
  if (self->B != NULL && status == KAON_OK)
    status = kaon_operator_reserve(self->B, KAON_PLAIN, columns);
  if (self->B != NULL && status == KAON_OK)
    status = kaon_operator_reserve(self->B, KAON_DAGGER, columns);
  if (status == KAON_OK) status = kaon_operator_reserve(self->A, KAON_PLAIN, columns);
  if (status != KAON_OK)
    release_all(R);
  else
    self->columns = columns;
  return status;
}

static kaon_status reserve(kaon_operator *R, kaon_mode mode, int columns) {
  (void)mode;
  return get_workspace(R, columns);
}

/* ---- sweeps ---- */

/* Applies the sweeps to y in place for the right-hand side b (NULL: 0). */
static kaon_status sweep_rows(const kaczmarz *self, const kaon_vector *b, kaon_vector *y,
                              const kaon_pass *gate) {
  const kaon_view view = kaon_view_of(y);
  KAON_TRY(kaon_projector_sweep(self->rows, 0, b, view, y->nrhs, gate));
  if (self->kind == KAON_KACZMARZ_SWEEP) return KAON_OK;
  return kaon_projector_sweep(self->rows, 1, b, view, y->nrhs, gate);
}

/* CARP, in the unknowns u: y = Q x + R b except for the last averages, which the caller
 * computes. */
static kaon_status sweep_copies(const kaczmarz *self, const kaon_vector *b, const kaon_vector *x,
                                kaon_vector *y, const kaon_pass *gate) {
  const kaon_view z = {self->z, NULL};
  KAON_TRY(kaon_copies_spread(self->copies, x, z, gate));
  KAON_TRY(kaon_projector_sweep(self->rows, 0, b, z, y->nrhs, gate));
  KAON_TRY(kaon_copies_gather(self->copies, NULL, z, y, gate));
  KAON_TRY(kaon_copies_spread(self->copies, y, z, gate));
  return kaon_projector_sweep(self->rows, 1, b, z, y->nrhs, gate);
}

/* (1 - Q) x with u = B x: x' = x - B^H u, then B^H (u + B x'). */
static kaon_status cimmino(const kaczmarz *self, const kaon_vector *x, kaon_vector *y,
                           const kaon_pass *pass) {
  const kaon_pass gate = kaon_pass_gate_only(pass);
  kaon_vector *u = self->work[0], *next = self->work[1];
  KAON_TRY(kaon_operator_run(self->B, KAON_PLAIN, x, u, &gate));
  KAON_TRY(kaon_rows_affine(self->B, KAON_DAGGER, -1, x, u, next, &gate));
  KAON_TRY(kaon_rows_affine(self->B, KAON_PLAIN, 1, u, next, u, &gate));
  return kaon_operator_run(self->B, KAON_DAGGER, u, y, pass);
}

static kaon_status apply(kaon_operator *R, kaon_mode mode, const kaon_vector *x, kaon_vector *y,
                         const kaon_pass *pass) {
  kaczmarz *self = self_of(R);
  const kaon_pass gate = kaon_pass_gate_only(pass);
  if (mode == KAON_DAGGER && self->kind == KAON_KACZMARZ_SWEEP)
    return kaon_fail(
        R->ctx, KAON_ERR_UNSUPPORTED,
        "kaczmarz: a single sweep has no adjoint; take kind DOUBLE, which is its own adjoint");
  KAON_TRY(get_workspace(R, x->nrhs));
  if (self->kind == KAON_KACZMARZ_CIMMINO) return cimmino(self, x, y, pass);
  if (self->kind == KAON_KACZMARZ_CARP) {
    KAON_TRY(sweep_copies(self, NULL, x, y, &gate));
    return kaon_copies_gather(self->copies, x, (kaon_view){self->z, NULL}, y, pass);
  }
  KAON_TRY(kaon_blas_copy(x, y, &gate));
  KAON_TRY(sweep_rows(self, NULL, y, &gate));
  KAON_TRY(kaon_blas_xpay(x, KAON_NUMBER(-1), y, &gate));
  return kaon_pass_sum_separately(y, pass);
}

/* y = R b + Q y (CARP: in its unknowns u). fresh: y is 0 on entry. Otherwise the previous call had
 * the same b, which CIMMINO has scaled. */
static kaon_status sweeps_with(kaon_operator *R, const kaon_vector *b, kaon_vector *y, int fresh,
                               const kaon_pass *gate) {
  kaczmarz *self = self_of(R);
  KAON_TRY(get_workspace(R, b->nrhs));
  if (self->kind == KAON_KACZMARZ_CIMMINO) {
    kaon_vector *u = self->work[0], *scaled = self->work[1];
    if (fresh) KAON_TRY(kaon_blas_scaled(self->weights, 0, b, scaled, gate));
    for (int i = 0; i < 2; i++) {
      if (fresh && i == 0)
        KAON_TRY(kaon_blas_copy(scaled, u, gate));
      else
        KAON_TRY(kaon_rows_affine(self->B, KAON_PLAIN, -1, scaled, y, u, gate));
      KAON_TRY(fresh && i == 0 ? kaon_operator_run(self->B, KAON_DAGGER, u, y, gate)
                               : kaon_rows_affine(self->B, KAON_DAGGER, 1, y, u, y, gate));
    }
    return KAON_OK;
  }
  if (fresh) KAON_TRY(kaon_blas_zero(y, gate));
  if (self->kind != KAON_KACZMARZ_CARP) return sweep_rows(self, b, y, gate);
  KAON_TRY(sweep_copies(self, b, y, y, gate));
  return kaon_copies_gather(self->copies, NULL, (kaon_view){self->z, NULL}, y, gate);
}

/* ---- the reduction ---- */

static kaon_status prepare(kaon_operator *R, const kaon_vector *b, kaon_vector *reduced_b) {
  return sweeps_with(R, b, reduced_b, 1, NULL);
}

static kaon_status reconstruct(kaon_operator *R, const kaon_vector *reduced_x, const kaon_vector *b,
                               kaon_vector *x) {
  const kaczmarz *self = self_of(R);
  (void)b;
  return self->kind == KAON_KACZMARZ_CARP ? kaon_blas_scaled(self->weights, 0, reduced_x, x, NULL)
                                          : kaon_blas_copy(reduced_x, x, NULL);
}

static kaon_status guess(kaon_operator *R, const kaon_vector *x, kaon_vector *reduced_x) {
  const kaczmarz *self = self_of(R);
  return self->kind == KAON_KACZMARZ_CARP ? kaon_blas_scaled(self->unweights, 0, x, reduced_x, NULL)
                                          : kaon_blas_copy(x, reduced_x, NULL);
}

static kaon_status residual(kaon_operator *R, const kaon_vector *reduced_x, const kaon_vector *b,
                            kaon_vector *r, const kaon_pass *pass) {
  kaczmarz *self = self_of(R);
  const kaon_pass gate = kaon_pass_gate_only(pass);
  const kaon_vector *x = reduced_x;
  if (self->kind == KAON_KACZMARZ_CARP) {
    KAON_TRY(get_workspace(R, reduced_x->nrhs));
    kaon_vector room = *r; /* the memory of the copies is free and as large as a vector */
    room.data = self->z;
    room.owns = 0;
    KAON_TRY(kaon_blas_scaled(self->weights, 0, reduced_x, &room, &gate));
    return kaon_rows_affine(self->A, KAON_PLAIN, -1, b, &room, r, pass);
  }
  return kaon_rows_affine(self->A, KAON_PLAIN, -1, b, x, r, pass);
}

static kaon_status reduce(kaon_operator *R, const kaon_vector *r, kaon_vector *reduced_r,
                          const kaon_pass *pass) {
  const kaon_pass gate = kaon_pass_gate_only(pass);
  KAON_TRY(sweeps_with(R, r, reduced_r, 1, &gate));
  return kaon_pass_sum_separately(reduced_r, pass);
}

/* ---- the preconditioner ---- */

static kaon_status apply_sweeps(kaon_operator *K, kaon_mode mode, const kaon_vector *x,
                                kaon_vector *y, const kaon_pass *pass) {
  const kaczmarz *self = self_of(K);
  const kaon_pass gate = kaon_pass_gate_only(pass);
  const int carp = self->kind == KAON_KACZMARZ_CARP;
  if (mode == KAON_DAGGER)
    return kaon_fail(K->ctx, KAON_ERR_UNSUPPORTED,
                     "kaczmarz: the adjoint of a preconditioner made of sweeps is not supported; "
                     "use gcr or bicgstab");
  KAON_TRY(get_workspace(K, x->nrhs));
  kaon_vector *to = carp ? self->work[0] : y;
  for (int i = 0; i < self->sweeps; i++) KAON_TRY(sweeps_with(K, x, to, i == 0, &gate));
  if (carp) return kaon_blas_scaled(self->weights, 0, to, y, pass);
  return kaon_pass_sum_separately(y, pass);
}

/* ---- cost and twins ---- */

static kaon_cost cost(const kaon_operator *R, int columns) {
  const kaczmarz *self = self_of(R);
  const kaon_csr *rows = self->matrix->rows->rows;
  const double sides = self->kind == KAON_KACZMARZ_SWEEP ? 1 : 2;
  const double times = self->sweeps > 0 ? sides * self->sweeps : sides;
  const double entries = (double)rows->start[rows->rows];
  return (kaon_cost){.flops = times * 2 * (rows->reals == 2 ? 8 : 2) * entries,
                     .bytes = times * self->info.bytes / columns};
}

static void destroy(kaon_operator *R) {
  kaczmarz *self = self_of(R);
  release_all(R);
  kaon_projector_destroy(&self->rows);
  kaon_copies_destroy(&self->copies);
  kaon_operator_destroy(&self->B);
  kaon_operator_destroy(&self->A);
  kaon_vector_destroy(&self->weights);
  kaon_vector_destroy(&self->unweights);
  kaon_matrix_destroy(&self->matrix);
  free(self->permutation);
  free(self->coordinates);
}

static kaon_status make_twin(kaon_operator *R, kaon_precision precision,
                             kaon_reconstruct reconstruct, kaon_operator **twin) {
  const kaczmarz *self = self_of(R);
  KAON_AUTO(kaon_operator_destroy) kaon_operator *A = NULL;
  *twin = NULL;
  if (precision == KAON_HALF)
    return kaon_fail(R->ctx, KAON_ERR_UNSUPPORTED,
                     "kaczmarz: sweeps do not work in half precision; choose sloppy single");
  KAON_TRY(self->A->ops->twin(self->A, precision, reconstruct, &A));
  return self->sweeps > 0 ? kaon_kaczmarz_preconditioner(A, &self->options, self->sweeps, twin)
                          : kaon_kaczmarz_reduce(A, &self->options, twin);
}

static const kaon_operator_ops reduction_ops = {.name = "kaczmarz",
                                                .apply = apply,
                                                .twin = make_twin,
                                                .reserve = reserve,
                                                .cost = cost,
                                                .destroy = destroy};
static const kaon_operator_ops sweeps_ops = {.name = "kaczmarz preconditioner",
                                             .apply = apply_sweeps,
                                             .twin = make_twin,
                                             .reserve = reserve,
                                             .cost = cost,
                                             .destroy = destroy};

kaon_status kaon_kaczmarz_describe(const kaon_operator *reduced, kaon_kaczmarz_info *info) {
  KAON_ENTER(KAON_OF(reduced), reduced, info);
  if (reduced->ops != &reduction_ops && reduced->ops != &sweeps_ops)
    return kaon_fail(reduced->ctx, KAON_ERR_ARGUMENT,
                     "kaczmarz: operator '%s' cannot be described here; pass one made by "
                     "kaon_kaczmarz_reduce or kaon_kaczmarz_preconditioner",
                     reduced->ops->name);
  KAON_TRY(kaon_output_check(reduced->ctx, "kaon_kaczmarz_info", info));
  kaon_kaczmarz_info made = self_of(reduced)->info;
  made.options = &self_of(reduced)->options;
  kaon_output_fill(info, &made, sizeof made);
  return KAON_OK;
}

/* ---- creation ---- */

/* Whether blocks have one row each. They then project all rows at once, as in Cimmino's method, and
 * average by the copies of an unknown (Censor, Gordon, Gordon, Parallel Computing 27 (2001)
 * 777). */
static int rows_alone(const kaon_kaczmarz_options *o, const kaon_matrix *matrix) {
  return o->kind == KAON_KACZMARZ_CARP && o->blocks == matrix->rows->rows->rows;
}

static kaon_status check(const kaon_operator *A, const kaon_matrix *matrix,
                         const kaon_kaczmarz_options *o) {
  kaon_context *ctx = A->ctx;
  if (matrix == NULL)
    return kaon_fail(ctx, KAON_ERR_UNSUPPORTED,
                     "kaczmarz: operator '%s' has no rows to project onto; pass one made by "
                     "kaon_matrix_operator",
                     A->ops->name);
  const int cimmino = o->kind == KAON_KACZMARZ_CIMMINO;
  if (!cimmino && !rows_alone(o, matrix) && !(o->lambda < 2))
    return kaon_fail(ctx, KAON_ERR_ARGUMENT,
                     "kaczmarz: lambda is %g; sweeps converge for 0 < lambda < 2 (0: by rule)",
                     o->lambda);
  if (ctx->comm->ranks > 1 && !(cimmino && o->lambda > 0))
    return kaon_fail(
        ctx, KAON_ERR_UNSUPPORTED,
        "kaczmarz: sweeps and the automatic choice of lambda work on one rank only, but there are "
        "%d; take cimmino (the program's --method) with a lambda above 0, or one rank",
        ctx->comm->ranks);
  const int64_t rows = matrix->rows->rows->rows;
  if (o->kind == KAON_KACZMARZ_CARP && rows > 0 && o->blocks > rows)
    return kaon_fail(
        ctx, KAON_ERR_ARGUMENT,
        "carp: %d blocks were asked for, but a matrix of %lld rows has at most one a row",
        o->blocks, (long long)rows);
  return KAON_OK;
}

/* LAMBDA_SHARE over the largest eigenvalue of A^H D^-1 A, whose columns are divided by their copies
 * if `average`. 1 - Q is positive for lambda below 2 over that eigenvalue. */
static kaon_status choose_lambda(const kaon_operator *R, int average, double *lambda) {
  const kaon_matrix *matrix = self_of(R)->matrix;
  KAON_AUTO(kaon_csr_destroy) kaon_csr *rows = NULL;
  double largest = 0, *copies = NULL;
  KAON_TRY(kaon_scaled_rows(matrix, 1, &rows, NULL));
  const int64_t entries = rows->start[rows->rows];
  kaon_status status = KAON_OK;
  if (average) {
    copies = calloc((size_t)rows->columns + 1, sizeof *copies);
    if (copies == NULL) status = kaon_fail(R->ctx, KAON_ERR_MEMORY, "kaczmarz: out of host memory");
  }
  for (int64_t n = 0; n < entries && copies != NULL; n++) copies[rows->column[n]]++;
  for (int64_t n = 0; n < entries && copies != NULL; n++)
    for (int c = 0; c < rows->reals; c++)
      rows->value[n * rows->reals + c] /= sqrt(copies[rows->column[n]]);
  const int32_t *number = rows->columns == rows->rows ? matrix->order : NULL;
  if (status == KAON_OK) status = kaon_power_estimate(R->ctx, rows, number, POWER_STEPS, &largest);
  if (status == KAON_OK) *lambda = LAMBDA_SHARE / largest;
  free(copies);
  return status;
}

/* A vector of one column from values in the space's order. */
static kaon_status weights_of(const kaon_operator *R, const double *number, int inverse,
                              kaon_vector **weights) {
  const kaon_matrix *matrix = self_of(R)->matrix;
  const int64_t rows = matrix->rows->rows->rows;
  const int reals = matrix->rows->rows->reals;
  KAON_AUTOFREE double *given = calloc((size_t)(rows * reals) + 1, sizeof *given);
  if (given == NULL) return kaon_fail(R->ctx, KAON_ERR_MEMORY, "kaczmarz: out of host memory");
  for (int64_t i = 0; i < rows; i++) {
    const int64_t to = matrix->order != NULL ? matrix->order[i] : i;
    given[to * reals] = inverse ? 1 / number[i] : number[i];
  }
  KAON_TRY(kaon_vector_create(R->ctx, R->space, R->precision, 1, weights));
  return kaon_vector_import_here(*weights, 0, given, KAON_BASIS_UKQCD);
}

static kaon_status build_cimmino(kaon_operator *R) {
  kaczmarz *self = self_of(R);
  kaon_kaczmarz_options *o = &self->options;
  KAON_AUTO(kaon_csr_destroy) kaon_csr *rows = NULL;
  KAON_AUTOFREE double *factor = NULL;
  kaon_status status = KAON_OK;
  if (o->lambda == 0) status = choose_lambda(R, 0, &o->lambda);
  if (status == KAON_OK) status = kaon_scaled_rows(self->matrix, o->lambda, &rows, &factor);
  status = kaon_agree(R->ctx, status);
  if (status == KAON_OK)
    status = kaon_rows_operator(self->matrix, &rows, "cimmino", R->precision, 0, KAON_STORE_AUTO,
                                &self->B);
  if (status == KAON_OK) status = kaon_agree(R->ctx, weights_of(R, factor, 0, &self->weights));
  if (status == KAON_OK) status = kaon_operator_reserve(self->B, KAON_DAGGER, 1);
  self->info.bytes = self->B != NULL ? 2 * self->B->ops->cost(self->B, 1).bytes : 0;
  self->info.classes = 1;
  self->info.groups = R->space->nsites;
  return status;
}

static kaon_status build_copies(kaon_operator *R, kaon_csr **rows, kaon_sweep_rows *order) {
  kaczmarz *self = self_of(R);
  kaon_csr *local = NULL;
  KAON_TRY(kaon_copies_create(self->matrix, *rows, order, R->precision, &local, &self->copies));
  kaon_csr_destroy(rows);
  *rows = local;
  self->info.copies = (double)self->copies->count / (double)R->space->nsites;
  KAON_TRY(weights_of(R, self->copies->root, 1, &self->weights));
  return weights_of(R, self->copies->root, 0, &self->unweights);
}

static kaon_status build_sweeps(kaon_operator *R) {
  kaczmarz *self = self_of(R);
  kaon_kaczmarz_options *o = &self->options;
  const int64_t n = self->matrix->rows->rows->rows;
  KAON_AUTO(kaon_csr_destroy) kaon_csr *rows = NULL;
  KAON_AUTO(kaon_sweep_rows_destroy) kaon_sweep_rows *order = NULL;
  KAON_AUTOFREE double *factor = NULL;
  if (o->kind == KAON_KACZMARZ_CARP && o->blocks == 0)
    o->blocks = n > 0 ? (int)((n + BLOCK_ROWS - 1) / BLOCK_ROWS) : 1;
  kaon_status status = KAON_OK;
  if (o->lambda == 0 && rows_alone(o, self->matrix)) status = choose_lambda(R, 1, &o->lambda);
  if (o->lambda == 0) o->lambda = 1;
  if (status == KAON_OK) status = kaon_scaled_rows(self->matrix, o->lambda, &rows, &factor);
  if (status == KAON_OK)
    status = o->kind == KAON_KACZMARZ_CARP ? kaon_sweep_rows_blocks(self->matrix, o, &order)
                                           : kaon_sweep_rows_create(self->matrix, o, &order);
  if (status == KAON_OK && o->kind == KAON_KACZMARZ_CARP) status = build_copies(R, &rows, order);
  if (status == KAON_OK)
    status = kaon_projector_create(R->ctx, rows, factor, order, R->precision, &self->rows);
  if (status == KAON_OK) {
    self->info.classes = order->launches;
    self->info.groups = order->groups;
    self->info.bytes = kaon_projector_bytes(self->rows);
    if (self->copies != NULL)
      self->info.bytes += (double)(self->copies->spread->bytes + self->copies->gather->bytes);
  }
  return status;
}

/* Copies the caller's arrays, which may be gone when a twin is made. */
static kaon_status copy_arrays(const kaon_operator *A, kaczmarz *self) {
  kaon_kaczmarz_options *o = &self->options;
  const size_t n = (size_t)kaon_space_caller_rows(A->space),
               numbers = n * (size_t)(o->dimensions > 0 ? o->dimensions : 0);
  if (o->permutation != NULL) {
    self->permutation = malloc((n + 1) * sizeof *self->permutation);
    if (self->permutation == NULL)
      return kaon_fail(A->ctx, KAON_ERR_MEMORY, "kaczmarz: out of host memory");
    memcpy(self->permutation, o->permutation, n * sizeof *self->permutation);
    o->permutation = self->permutation;
  }
  if (o->coordinates != NULL) {
    self->coordinates = malloc((numbers + 1) * sizeof *self->coordinates);
    if (self->coordinates == NULL)
      return kaon_fail(A->ctx, KAON_ERR_MEMORY, "kaczmarz: out of host memory");
    memcpy(self->coordinates, o->coordinates, numbers * sizeof *self->coordinates);
    o->coordinates = self->coordinates;
  }
  return KAON_OK;
}

static kaon_status make(kaon_operator *A, const kaon_kaczmarz_options *given, int sweeps,
                        kaon_operator **made) {
  kaon_matrix *matrix = kaon_operator_matrix(A);
  kaon_kaczmarz_options own;
  const kaon_kaczmarz_options *options = &own;
  KAON_TRY(kaon_options_share(A->ctx, KAON_OK, KAON_OPTIONS_KACZMARZ, given, &own, NULL, 0));
  KAON_TRY(check(A, matrix, options));
  kaon_operator *R =
      kaon_operator_new((kaon_operator){.ops = sweeps > 0 ? &sweeps_ops : &reduction_ops,
                                        .ctx = A->ctx,
                                        .space = A->space,
                                        .precision = A->precision,
                                        .exponent = sweeps > 0 ? -A->exponent : 0},
                        sizeof(kaczmarz));
  if (R == NULL) return kaon_fail(A->ctx, KAON_ERR_MEMORY, "kaczmarz: out of host memory");
  kaczmarz *self = self_of(R);
  self->matrix = matrix;
  self->A = A;
  self->kind = options->kind;
  self->sweeps = sweeps;
  self->options = *options;
  self->reduction = (kaon_reduction){.parent = A,
                                     .prepare = prepare,
                                     .reconstruct = reconstruct,
                                     .residual = residual,
                                     .reduce = reduce,
                                     .guess = guess};
  if (sweeps == 0) R->reduction = &self->reduction;
  kaon_matrix_retain(matrix);
  kaon_operator_retain(A);
  *made = R;
  return copy_arrays(A, self);
}

static kaon_status create(kaon_operator *A, const kaon_kaczmarz_options *options, int sweeps,
                          kaon_operator **made) {
  const double begun = kaon_seconds();
  kaon_status status = kaon_agree(A->ctx, make(A, options, sweeps, made));
  if (status == KAON_OK)
    status =
        kaon_agree(A->ctx, self_of(*made)->kind == KAON_KACZMARZ_CIMMINO ? build_cimmino(*made)
                                                                         : build_sweeps(*made));
  if (status != KAON_OK)
    kaon_operator_destroy(made);
  else
    self_of(*made)->info.seconds = kaon_seconds() - begun;
  return status;
}

kaon_status kaon_kaczmarz_reduce(kaon_operator *A, const kaon_kaczmarz_options *options,
                                 kaon_operator **reduced) {
  if (reduced != NULL) *reduced = NULL;
  KAON_ENTER(KAON_OF(A), A, reduced);
  return create(A, options, 0, reduced);
}

kaon_status kaon_kaczmarz_preconditioner(kaon_operator *A, const kaon_kaczmarz_options *options,
                                         int sweeps, kaon_operator **K) {
  if (K != NULL) *K = NULL;
  KAON_ENTER(KAON_OF(A), A, K);
  if (sweeps < 1)
    return kaon_fail(A->ctx, KAON_ERR_ARGUMENT,
                     "kaczmarz: %d sweeps were asked for, but at least 1 is needed", sweeps);
  return create(A, options, sweeps, K);
}
