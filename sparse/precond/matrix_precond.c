/* matrix_precond.c - preconditioners made from a matrix' entries, as operators on its space. There
 * are three ways to apply them:
 * - exact triangles: forward from x into y, backward in place, without another vector;
 * - sweeps: w_0 = g = D x, w_{n+1} = g - (E^-1 L) w_n, then z_0 = w, z_{n+1} = w - (E^-1 U) z_n.
 *   This is a polynomial in each triangle, exact after as many sweeps as there are levels.
 *   Hermitian factors give a Hermitian K;
 * - one or two products.
 * On several ranks nothing is sent. */
#include <stdlib.h>

#include <kaon/context.h>

#include "lib/cpu/clock.h"
#include "blas/blas.h"
#include "lib/comm/comm.h"
#include "lib/core/options_table.h"
#include "lib/core/output.h"
#include "sparse/precond/matrix_precond.h"
#include "lib/core/entry.h"

static kaon_precond *self_of(const kaon_operator *K) {
  return K->self;
}

/* ---- workspace ---- */

static int work_needed(const kaon_precond *self) {
  if (self->second != NULL) return 1;
  return self->lower != NULL ? 3 : 0;
}

static kaon_status work_of(kaon_operator *K, int columns, kaon_workspace **set) {
  kaon_precond *self = self_of(K);
  return kaon_workspace_get(K, K->space, work_needed(self), columns, &self->work, set);
}

static kaon_status reserve(kaon_operator *K, kaon_mode mode, int columns) {
  kaon_precond *self = self_of(K);
  kaon_workspace *unused;
  kaon_operator *const parts[] = {self->first, self->second, self->lower, self->upper,
                                  self->diagonal};
  KAON_TRY(work_of(K, columns, &unused));
  if (mode == KAON_PLAIN || self->hermitian) return KAON_OK;
  if (self->forward[0] != NULL && self->forward[1] == NULL) KAON_TRY(kaon_precond_build(self, 1));
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
    if (parts[i] != NULL) KAON_TRY(kaon_operator_reserve(parts[i], KAON_DAGGER, columns));
  return KAON_OK;
}

/* ---- an application ---- */

/* Runs sweeps y = base - T y', alternating between two vectors so that the last result is in
 * `y`. */
static kaon_status sweep(kaon_operator *T, kaon_mode mode, int sweeps, const kaon_vector *base,
                         kaon_vector *other, kaon_vector *y, const kaon_pass *gate) {
  const kaon_vector *from = base;
  for (int n = sweeps; n > 0; n--) {
    kaon_vector *to = n % 2 == 1 ? y : other;
    KAON_TRY(kaon_operator_run(T, mode, from, to, gate));
    KAON_TRY(kaon_blas_xpay(base, KAON_NUMBER(-1), to, gate));
    from = to;
  }
  return KAON_OK;
}

static kaon_status by_sweeps(const kaon_precond *self, kaon_vector *const *work, kaon_mode mode,
                             const kaon_vector *x, kaon_vector *y, const kaon_pass *pass) {
  const kaon_pass gate = kaon_pass_gate_only(pass);
  const int n = self->options.sweeps;
  if (mode == KAON_PLAIN || self->hermitian) {
    KAON_TRY(kaon_operator_run(self->diagonal, KAON_PLAIN, x, work[0], &gate));
    KAON_TRY(sweep(self->lower, KAON_PLAIN, n, work[0], work[1], work[2], &gate));
    KAON_TRY(sweep(self->upper, KAON_PLAIN, n, work[2], work[0], y, &gate));
    return kaon_pass_sum_separately(y, pass);
  }
  KAON_TRY(sweep(self->upper, KAON_DAGGER, n, x, work[1], work[0], &gate));
  KAON_TRY(sweep(self->lower, KAON_DAGGER, n, work[0], work[1], work[2], &gate));
  return kaon_operator_run(self->diagonal, KAON_DAGGER, work[2], y, pass);
}

static kaon_status apply(kaon_operator *K, kaon_mode mode, const kaon_vector *x, kaon_vector *y,
                         const kaon_pass *pass) {
  kaon_precond *self = self_of(K);
  const kaon_pass gate = kaon_pass_gate_only(pass);
  const kaon_mode as = self->hermitian ? KAON_PLAIN : mode;
  kaon_workspace *work;
  KAON_TRY(work_of(K, x->nrhs, &work));
  if (self->lower != NULL) return by_sweeps(self, work->vector, mode, x, y, pass);
  if (self->second != NULL) {
    kaon_operator *one = as == KAON_PLAIN ? self->first : self->second;
    kaon_operator *two = as == KAON_PLAIN ? self->second : self->first;
    KAON_TRY(kaon_operator_run(one, as, x, work->vector[0], &gate));
    return kaon_operator_run(two, as, work->vector[0], y, pass);
  }
  if (self->first != NULL) return kaon_operator_run(self->first, as, x, y, pass);
  const int side = as == KAON_DAGGER;
  if (self->forward[side] == NULL) KAON_TRY(reserve(K, KAON_DAGGER, x->nrhs));
  KAON_TRY(kaon_triangle_solve(self->forward[side], x, y, &gate));
  KAON_TRY(kaon_triangle_solve(self->backward[side], y, y, &gate));
  return kaon_pass_sum_separately(y, pass);
}

/* ---- operator methods ---- */

static void add_cost(kaon_cost *sum, const kaon_operator *op, int columns, double times) {
  if (op == NULL) return;
  const kaon_cost c = op->ops->cost(op, columns);
  sum->flops += times * c.flops;
  sum->bytes += times * c.bytes;
}

static kaon_cost cost(const kaon_operator *K, int columns) {
  const kaon_precond *self = self_of(K);
  const double rows = (double)K->space->nsites, sweeps = self->options.sweeps;
  const double vector = rows * K->space->ncomp * (double)kaon_precision_bytes(K->precision);
  kaon_cost c = {0, 0};
  add_cost(&c, self->first, columns, 1);
  add_cost(&c, self->second, columns, 1);
  add_cost(&c, self->diagonal, columns, 1);
  add_cost(&c, self->lower, columns, sweeps);
  add_cost(&c, self->upper, columns, sweeps);
  if (self->lower != NULL) { /* the vector differences */
    c.flops += 2 * sweeps * rows * K->space->ncomp;
    c.bytes += 2 * sweeps * 3 * vector;
  }
  if (self->forward[0] != NULL) {
    const double entries = (double)self->info.entries;
    c.flops += (K->space->complex_space ? 8 : 2) * entries;
    c.bytes +=
        (kaon_triangle_bytes(self->forward[0]) + kaon_triangle_bytes(self->backward[0])) / columns +
        4 * vector;
  }
  return c;
}

static kaon_status make_twin(kaon_operator *K, kaon_precision precision,
                             kaon_reconstruct reconstruct, kaon_operator **twin) {
  kaon_precond *self = self_of(K);
  kaon_precond_options options = self->options;
  (void)reconstruct;
  options.precision = precision;
  return kaon_precond_create(self->matrix, &options, twin);
}

static void destroy(kaon_operator *K) {
  kaon_precond *self = self_of(K);
  kaon_workspace_free(&self->work);
  for (int side = 0; side < 2; side++) {
    kaon_triangle_destroy(&self->forward[side]);
    kaon_triangle_destroy(&self->backward[side]);
  }
  kaon_operator_destroy(&self->lower);
  kaon_operator_destroy(&self->upper);
  kaon_operator_destroy(&self->diagonal);
  kaon_operator_destroy(&self->first);
  kaon_operator_destroy(&self->second);
  kaon_matrix_destroy(&self->matrix);
}

static const kaon_operator_ops precond_ops = {.name = "preconditioner",
                                              .apply = apply,
                                              .twin = make_twin,
                                              .reserve = reserve,
                                              .cost = cost,
                                              .destroy = destroy};

/* ---- creation ---- */

/* Kinds for Hermitian matrices only, and their counterparts for others. */
static const struct {
  kaon_precond_kind kind;
  const char *name, *other;
} hermitian[] = {{KAON_PRECOND_DIC, "dic", "dilu"},
                 {KAON_PRECOND_IC0, "ic0", "ilu0"},
                 {KAON_PRECOND_FSAI, "fsai", "ainv"}};

static kaon_status take_options(const kaon_matrix *matrix, const kaon_precond_options *options,
                                kaon_precond_options *o) {
  KAON_TRY(kaon_options_share(matrix->ctx, KAON_OK, KAON_OPTIONS_PRECOND, options, o, NULL, 0));
  const kaon_precision vectors = o->precision == KAON_HALF ? KAON_SINGLE : o->precision;
  for (size_t i = 0; i < sizeof hermitian / sizeof *hermitian && !matrix->hermitian; i++)
    if (o->kind == hermitian[i].kind)
      return kaon_fail(
          matrix->ctx, KAON_ERR_ARGUMENT,
          "preconditioner: %s is for Hermitian matrices, but A and A^H differ; take %s",
          hermitian[i].name, hermitian[i].other);
  if (matrix->ctx->backend->sparse[vectors] == NULL)
    return kaon_fail(matrix->ctx, KAON_ERR_NOT_BUILT,
                     "preconditioner: backend %s %s has no sparse kernels in precision %d (0 "
                     "double, 1 single); choose another backend",
                     matrix->ctx->backend->name, matrix->ctx->backend->isa, (int)vectors);
  return KAON_OK;
}

static kaon_status make(kaon_matrix *matrix, const kaon_precond_options *given, kaon_operator **K) {
  kaon_precond_options own;
  const kaon_precond_options *options = &own;
  KAON_TRY(take_options(matrix, given, &own));
  *K = kaon_operator_new(
      (kaon_operator){
          .ops = &precond_ops,
          .ctx = matrix->ctx,
          .space = &matrix->space,
          .precision = options->precision == KAON_HALF ? KAON_SINGLE : options->precision,
          .exponent = -matrix->exponent},
      sizeof(kaon_precond));
  if (*K == NULL)
    return kaon_fail(matrix->ctx, KAON_ERR_MEMORY, "preconditioner: out of host memory");
  kaon_precond *self = self_of(*K);
  self->matrix = matrix;
  self->hermitian = matrix->hermitian && options->kind != KAON_PRECOND_ILU0;
  self->options = *options;
  kaon_matrix_retain(matrix);
  return KAON_OK;
}

kaon_status kaon_precond_create(kaon_matrix *matrix, const kaon_precond_options *options,
                                kaon_operator **K) {
  if (K != NULL) *K = NULL;
  KAON_ENTER(KAON_OF(matrix), matrix, K);
  const double begun = kaon_seconds();
  KAON_TRY(kaon_agree(matrix->ctx, make(matrix, options, K)));
  kaon_precond *self = self_of(*K);
  const kaon_status status = kaon_precond_build(self, 0);
  self->info.seconds = kaon_seconds() - begun;
  if (status != KAON_OK) kaon_operator_destroy(K);
  return status;
}

kaon_status kaon_precond_describe(const kaon_operator *K, kaon_precond_info *info) {
  KAON_ENTER(KAON_OF(K), K, info);
  if (K->ops != &precond_ops)
    return kaon_fail(K->ctx, KAON_ERR_ARGUMENT,
                     "preconditioner: operator '%s' cannot be described here; pass one made by "
                     "kaon_precond_create",
                     K->ops->name);
  KAON_TRY(kaon_output_check(K->ctx, "kaon_precond_info", info));
  kaon_precond_info made = self_of(K)->info;
  made.options = &self_of(K)->options;
  kaon_output_fill(info, &made, sizeof made);
  return KAON_OK;
}
