/* sparse_operator.c - products with sparse rows as kaon_operator: those of a matrix, those made
 * from its rows (approximate inverses), and the blocks on its diagonal.
 *
 * Operators of one matrix in several precisions share a family: the rows, and the rows of the
 * adjoint. The latter are made when A^dagger is first needed: by `reserve`, so never inside a
 * solve. A matrix that is its own adjoint stores nothing twice. */
#include "sparse/storage/sparse_operator.h"

#include <stdio.h>
#include <stdlib.h>

#include <kaon/context.h>

#include "blas/blas.h"
#include "blas/submit.h"
#include "lib/vector/vector_transfer.h"
#include "lib/operator/fused_apply.h"
#include "lib/operator/send_ahead.h"
#include "lib/core/options_table.h"
#include "sparse/ranks/row_ghosts.h"
#include "sparse/storage/single_range.h"
#include "sparse/storage/number.h"
#include "sparse/ranks/rank_rows.h"
#include "sparse/storage/stored.h"
#include "sparse/sweeps/sweeps.h"
#include "lib/core/entry.h"

typedef struct family {
  int references;
  kaon_matrix *matrix; /* the matrix whose space it is */
  int whole;           /* the rows are those of the matrix */
  kaon_row_set *rows, *dagger;
  char name[48];
} family;

typedef struct product {
  kaon_operator_ops ops; /* a copy with the family's name */
  family *family;
  kaon_stored *plain, *dagger;
  int values_half;
  kaon_matrix_format format;
  int completes_sums; /* 1: on every rank its kernels can complete deferred sums */
} product;

static const kaon_operator_ops product_ops;

static product *self_of(const kaon_operator *A) {
  return A->self;
}

static void family_release(family **f) {
  family *gone = *f;
  *f = NULL;
  if (gone == NULL || --gone->references > 0) return;
  kaon_row_set_destroy(&gone->rows);
  kaon_row_set_destroy(&gone->dagger);
  kaon_matrix_destroy(&gone->matrix);
  free(gone);
}

/* ---- an application ---- */

typedef struct stages {
  const kaon_sparse_ops *ops;
  kaon_launch launch;
  kaon_spmv_args spmv;
  kaon_pick_args pick;
  int sent; /* the picked values are under way, or already received */
} stages;

static void run_part(void *user, int part, const kaon_peer_exchange *peer) {
  stages *s = user;
  (void)peer;
  s->spmv.part = part == KAON_PART_INTERIOR ? KAON_ROWS_INTERIOR : KAON_ROWS_BOUNDARY;
  if (part != KAON_PART_GATHER)
    s->ops->spmv(&s->launch, &s->spmv);
  else if (s->pick.count > 0)
    s->ops->pick(&s->launch, &s->pick);
}

/* Runs rows and messages in one launch, if the device can (KAON_OVERLAP_FUSED, also by AUTO). */
static int run_with_exchange(kaon_row_messages *messages, stages *s) {
  const kaon_context *ctx = messages->halo.ctx;
  const kaon_overlap wanted = kaon_overlap_wanted(ctx);
  if (s->ops->spmv_with_exchange == NULL || messages->halo.device == NULL ||
      (wanted != KAON_OVERLAP_AUTO && wanted != KAON_OVERLAP_FUSED))
    return 0;
  const struct kaon_peer_messages *post =
      ctx->backend->ranks->exchange_in_kernel(messages->halo.device);
  s->spmv.part = KAON_ROWS_ALL;
  if (post == NULL ||
      !s->ops->spmv_with_exchange(&s->launch, &s->spmv, s->sent ? NULL : &s->pick, post))
    return 0;
  kaon_halo_count(&messages->halo);
  messages->halo.under_way = 0;
  return 1;
}

static void list_picked(const kaon_row_messages *messages, stages *s) {
  s->pick = (kaon_pick_args){.nrhs = s->spmv.nrhs,
                             .reals = s->spmv.matrix->reals,
                             .count = messages->count,
                             .row = messages->row,
                             .x = s->spmv.x,
                             .to = messages->send,
                             .gate = s->spmv.gate};
}

static kaon_status run(const kaon_row_set *set, kaon_precision precision, stages *s) {
  kaon_row_messages *messages = NULL;
  if (set->halo == NULL) {
    s->spmv.part = KAON_ROWS_ALL;
    s->ops->spmv(&s->launch, &s->spmv);
    return KAON_OK;
  }
  KAON_TRY(kaon_row_messages_get(set, precision, s->spmv.nrhs, &messages));
  kaon_halo *halo = &messages->halo;
  s->spmv.ghosts = messages->receive;
  s->sent = messages->halo.under_way;
  if (s->sent && messages->sent != s->spmv.x.data)
    return kaon_fail(set->ctx, KAON_ERR_INTERNAL,
                     "matrix: the messages in flight belong to another product");
  list_picked(messages, s);
  if (run_with_exchange(messages, s)) return KAON_OK;
  const kaon_stages all = {.run = run_part, .user = s, .lenient = 1, .sent = s->sent};
  return kaon_overlap_run(&halo, 1, &all);
}

/* ---- early messages ---- */

static int sends_ahead(const kaon_operator *A) {
  return self_of(A)->family->rows->halo != NULL && kaon_overlap_ahead(A->ctx);
}

static kaon_status send(kaon_operator *A, const kaon_vector *x, const kaon_pass *pass) {
  const product *self = self_of(A);
  const kaon_row_set *set = self->family->rows;
  kaon_context *ctx = A->ctx;
  kaon_row_messages *messages = NULL;
  if (set->halo == NULL) return KAON_OK;
  stages s = {.ops = ctx->backend->sparse[A->precision]};
  s.spmv = (kaon_spmv_args){.matrix = &self->plain->matrix,
                            .nrhs = x->nrhs,
                            .x = kaon_view_of(x),
                            .gate = kaon_pass_gate(pass)};
  KAON_TRY(kaon_row_messages_get(set, A->precision, x->nrhs, &messages));
  if (messages->halo.under_way)
    return kaon_fail(ctx, KAON_ERR_INTERNAL, "matrix: messages are in flight already");
  KAON_TRY(kaon_launch_prepare(ctx, x->nrhs, kaon_vector_bytes(x), &s.launch));
  list_picked(messages, &s);
  const kaon_stages first = {.run = run_part, .user = &s};
  KAON_TRY(kaon_overlap_send(&messages->halo, &first));
  messages->sent = s.spmv.x.data;
  ctx->comm->traffic.ahead++;
  ctx->no_flush_needed = 1;
  return KAON_OK;
}

static void cancel_send(kaon_operator *A, int columns) {
  const kaon_row_set *set = self_of(A)->family->rows;
  kaon_row_messages *messages = NULL;
  kaon_saved_error first; /* the error that led to the call */
  if (set->halo == NULL) return;
  kaon_error_save(&first);
  if (kaon_row_messages_get(set, A->precision, columns, &messages) == KAON_OK)
    kaon_halo_abandon(&messages->halo);
  kaon_error_restore(&first);
}

/* 1: applications in this mode use the rows of the adjoint. */
static int has_own_dagger(const kaon_operator *A, kaon_mode mode) {
  const family *f = self_of(A)->family;
  return mode == KAON_DAGGER && !(f->whole && (f->matrix->mirrored & KAON_HERMITIAN));
}

static kaon_status take_dagger(kaon_operator *A);

/* y = A x, or b + a A x if b is not NULL. */
static kaon_status apply_affine(kaon_operator *A, kaon_mode mode, double a, const kaon_vector *b,
                                const kaon_vector *x, kaon_vector *y, const kaon_pass *pass) {
  product *self = self_of(A);
  kaon_context *ctx = A->ctx;
  const int other = has_own_dagger(A, mode);
  if (other && self->dagger == NULL) KAON_TRY(take_dagger(A));
  const kaon_stored *stored = other ? self->dagger : self->plain;
  stages s = {.ops = ctx->backend->sparse[A->precision]};
  const kaon_kernel_sums sums =
      kaon_sums_for_kernel(y, pass, s.ops->sums(&stored->matrix, y->nrhs));
  s.spmv = (kaon_spmv_args){.matrix = &stored->matrix,
                            .nrhs = y->nrhs,
                            .a = a,
                            .x = kaon_view_of(x),
                            .b = kaon_view_of(b),
                            .w = sums.w,
                            .y = kaon_view_of(y),
                            .gate = kaon_pass_gate(pass),
                            .sum = sums.sum};
  const size_t bytes = (size_t)stored->bytes + 2 * kaon_vector_bytes(y);
  KAON_TRY(kaon_launch_prepare(ctx, y->nrhs, bytes, &s.launch));
  KAON_TRY(run(other ? self->family->dagger : self->family->rows, A->precision, &s));
  ctx->no_flush_needed = 1;
  return kaon_sums_after_kernel(&sums);
}

static kaon_status apply(kaon_operator *A, kaon_mode mode, const kaon_vector *x, kaon_vector *y,
                         const kaon_pass *pass) {
  return apply_affine(A, mode, 1, NULL, x, y, pass);
}

kaon_status kaon_rows_affine(kaon_operator *A, kaon_mode mode, double a, const kaon_vector *b,
                             const kaon_vector *x, kaon_vector *y, const kaon_pass *pass) {
  return apply_affine(A, mode, a, b, x, y, pass);
}

/* ---- stored rows ---- */

static kaon_status take_dagger(kaon_operator *A) {
  product *self = self_of(A);
  family *f = self->family;
  if (self->dagger != NULL) return KAON_OK;
  if (f->dagger == NULL && f->whole) {
    KAON_TRY(kaon_matrix_dagger(f->matrix, &f->dagger));
    f->dagger->references++;
  } else if (f->dagger == NULL) {
    kaon_csr *given = NULL;
    kaon_status status = kaon_ranks_adjoint(f->matrix, f->rows, &given);
    if (status == KAON_OK) status = kaon_row_set_create(f->matrix, &given, &f->dagger);
    KAON_TRY(status);
  }
  return kaon_agree(A->ctx,
                    kaon_stored_create(A->ctx, f->dagger->rows, f->dagger->interior, A->precision,
                                       self->values_half, self->format, &self->dagger));
}

static kaon_status reserve(kaon_operator *A, kaon_mode mode, int columns) {
  kaon_row_messages *messages = NULL;
  const int other = has_own_dagger(A, mode);
  if (other) KAON_TRY(take_dagger(A));
  const kaon_row_set *set = other ? self_of(A)->family->dagger : self_of(A)->family->rows;
  if (set->halo == NULL) return KAON_OK;
  return kaon_row_messages_get(set, A->precision, columns, &messages);
}

static kaon_cost cost(const kaon_operator *A, int columns) {
  const product *self = self_of(A);
  const kaon_stored_matrix *m = &self->plain->matrix;
  const double entries = (double)m->entries, rows = (double)m->rows;
  const double number = (double)kaon_precision_bytes(A->precision);
  const double value = self->values_half ? 2 : number;
  const double of_matrix =
      entries * (4 + value * m->reals) + rows * (4 + (self->values_half ? 4 : 0));
  return (kaon_cost){.flops = (m->reals == 2 ? 8 : 2) * entries,
                     .bytes = of_matrix / columns + 2 * number * m->reals * rows};
}

/* ---- the diagonal ---- */

static kaon_status diagonal(kaon_operator *A, kaon_vector *d) {
  const kaon_matrix *matrix = self_of(A)->family->matrix;
  const kaon_csr *rows = self_of(A)->family->rows->rows;
  const int reals = rows->reals;
  KAON_AUTOFREE double *host = calloc((size_t)(rows->rows * reals) + 1, sizeof *host);
  if (host == NULL)
    return kaon_fail(A->ctx, KAON_ERR_MEMORY, "%s: out of host memory for its diagonal",
                     A->ops->name);
#pragma omp parallel for num_threads(A->ctx->threads) schedule(static)
  for (int64_t i = 0; i < rows->rows; i++) {
    const int64_t n = kaon_csr_find(rows, i, (int32_t)i);
    const int64_t to = matrix->order != NULL ? matrix->order[i] : i;
    for (int c = 0; c < reals && n >= 0; c++) host[to * reals + c] = rows->value[n * reals + c];
  }
  for (int k = 0; k < d->nrhs; k++) KAON_TRY(kaon_vector_import_here(d, k, host, KAON_BASIS_UKQCD));
  return KAON_OK;
}

/* ---- rows ---- */

static kaon_status rows(kaon_operator *A, const kaon_row_how *how, kaon_row_sweeps **sweeps) {
  const product *self = self_of(A);
  if (self->family->whole)
    return kaon_matrix_sweeps(self->family->matrix, how, A->precision, self->values_half, sweeps);
  *sweeps = NULL;
  return kaon_fail(A->ctx, KAON_ERR_UNSUPPORTED,
                   "%s: its rows are not accessible; pass an operator made by kaon_matrix_operator",
                   A->ops->name);
}

static kaon_status absolute(kaon_operator *A, kaon_operator **made) {
  const family *f = self_of(A)->family;
  const kaon_csr *from = f->rows->rows;
  KAON_AUTO(kaon_csr_destroy) kaon_csr *to = NULL;
  *made = NULL;
  const kaon_status status = kaon_csr_copy(A->ctx, from, &to);
  KAON_TRY(kaon_agree(A->ctx, status));
#pragma omp parallel for num_threads(A->ctx->threads) schedule(static)
  for (int64_t n = 0; n < from->start[from->rows]; n++)
    kaon_number_put(
        to->value, n, from->reals,
        (kaon_number){kaon_number_size(kaon_number_at(from->value, n, from->reals), from->reals),
                      0});
  return kaon_rows_operator(f->matrix, &to, "absolute values", A->precision, 0, KAON_STORE_AUTO,
                            made);
}

/* ---- creation ---- */

static void destroy(kaon_operator *A) {
  product *self = self_of(A);
  kaon_stored_destroy(&self->plain);
  kaon_stored_destroy(&self->dagger);
  family_release(&self->family);
}

/* Takes over a reference to the family, also on failure. */
static kaon_status make(family *f, kaon_precision precision, int values_half,
                        kaon_matrix_format format, kaon_operator **op) {
  kaon_context *ctx = f->matrix->ctx;
  kaon_operator *A = kaon_operator_new((kaon_operator){.ctx = ctx,
                                                       .space = &f->matrix->space,
                                                       .precision = precision,
                                                       .exponent = f->matrix->exponent},
                                       sizeof(product));
  *op = NULL;
  if (A == NULL) {
    family_release(&f);
    return kaon_fail(ctx, KAON_ERR_MEMORY, "matrix operator: out of host memory");
  }
  product *self = A->self;
  *self = (product){.ops = product_ops, .family = f, .values_half = values_half, .format = format};
  self->ops.name = f->name;
  A->ops = &self->ops;
  kaon_status status = KAON_OK;
  if (ctx->backend->sparse[precision] == NULL)
    status = kaon_fail(ctx, KAON_ERR_NOT_BUILT,
                       "matrix operator: backend %s %s has no sparse kernels in precision %d (0 "
                       "double, 1 single); choose another backend",
                       ctx->backend->name, ctx->backend->isa, (int)precision);
  if (status == KAON_OK && precision != KAON_DOUBLE)
    status = kaon_single_range_check(f->matrix, f->rows, f->name, f->whole);
  if (status == KAON_OK)
    status = kaon_stored_create(ctx, f->rows->rows, f->rows->interior, precision, values_half,
                                format, &self->plain);
  *op = A;
  if (status != KAON_OK) kaon_operator_destroy(op);
  return status;
}

/* Combines the ranks' status and what all of them can do. *A is NULL on failure. */
static kaon_status agree(const kaon_context *ctx, kaon_status status, kaon_operator **A) {
  status = kaon_agree(ctx, status);
  if (status == KAON_OK) {
    product *self = self_of(*A);
    const kaon_sparse_ops *ops = ctx->backend->sparse[(*A)->precision];
    double lacking = !(ops->sums(&self->plain->matrix, 1) & KAON_SUMS_COMPLETES);
    status = kaon_comm_sum(ctx, &lacking, 1);
    self->completes_sums = lacking == 0;
  }
  if (status != KAON_OK) kaon_operator_destroy(A);
  return status;
}

static kaon_status family_create(kaon_matrix *matrix, const char *name, family **f) {
  family *made = *f = calloc(1, sizeof *made);
  if (made == NULL)
    return kaon_fail(matrix->ctx, KAON_ERR_MEMORY, "matrix operator: out of host memory");
  *made = (family){.references = 1, .matrix = matrix};
  kaon_matrix_retain(matrix);
  snprintf(made->name, sizeof made->name, "%s", name);
  return KAON_OK;
}

/* KAON_HALF is only for the values: vectors are in single. */
static kaon_precision vectors_of(kaon_precision asked) {
  return asked == KAON_HALF ? KAON_SINGLE : asked;
}

static kaon_status make_twin(kaon_operator *A, kaon_precision precision,
                             kaon_reconstruct reconstruct, kaon_operator **twin) {
  product *self = self_of(A);
  (void)reconstruct;
  self->family->references++;
  return agree(
      A->ctx, make(self->family, vectors_of(precision), precision == KAON_HALF, self->format, twin),
      twin);
}

/* The entries within blocks of `block` rows by index; 0: all that are on this rank. */
static kaon_status cut_rows(const kaon_matrix *matrix, const kaon_csr *rows, int64_t block,
                            kaon_csr **cut) {
  const int32_t *number = matrix->number;
  KAON_TRY(kaon_csr_create(matrix->ctx, rows->rows, rows->rows, rows->reals,
                           rows->start[rows->rows], cut));
  kaon_csr *to = *cut;
  int64_t at = 0;
  for (int64_t i = 0; i < rows->rows; i++) {
    for (int64_t n = rows->start[i]; n < rows->start[i + 1]; n++) {
      const int64_t j = rows->column[n];
      if (j >= rows->rows) continue;
      const int64_t a = number != NULL ? number[i] : i, b = number != NULL ? number[j] : j;
      if (block > 0 && a / block != b / block) continue;
      to->column[at] = (int32_t)j;
      for (int c = 0; c < rows->reals; c++)
        to->value[at * rows->reals + c] = rows->value[n * rows->reals + c];
      at++;
    }
    to->start[i + 1] = at;
  }
  return KAON_OK;
}

static kaon_status local_part(kaon_operator *A, const kaon_local *how, kaon_operator **local,
                              kaon_domains **domains) {
  const family *f = self_of(A)->family;
  kaon_csr *cut = NULL;
  *local = NULL;
  if (domains != NULL) *domains = NULL;
  if (how->block[0] < 0 || how->block[1] > 0 || how->block[2] > 0 || how->block[3] > 0)
    return kaon_fail(
        A->ctx, KAON_ERR_ARGUMENT,
        "local part: blocks of %d x %d x %d x %d were asked for, but a matrix has blocks of "
        "block[0] rows (0: all rows of the rank), and the other extents must be 0",
        how->block[0], how->block[1], how->block[2], how->block[3]);
  kaon_status status = cut_rows(f->matrix, f->rows->rows, how->block[0], &cut);
  status = kaon_agree(A->ctx, status);
  if (status == KAON_OK)
    status =
        kaon_rows_operator(f->matrix, &cut, "local part of a matrix", vectors_of(how->precision),
                           how->precision == KAON_HALF, self_of(A)->format, local);
  if (status == KAON_OK && domains != NULL)
    status = kaon_matrix_domains(f->matrix, f->rows, how->block[0], domains);
  kaon_csr_destroy(&cut);
  if (status != KAON_OK) kaon_operator_destroy(local);
  return status;
}

static int accepts_sums(const kaon_operator *A, int columns) {
  (void)columns;
  return self_of(A)->completes_sums;
}

static const kaon_row_access row_access = {rows};
static const kaon_absolute_values absolute_values = {absolute};
static const kaon_send_ahead send_ahead = {sends_ahead, send, cancel_send};
static const kaon_partial_sums partial_sums = {accepts_sums};
static const void *const capabilities[KAON_CAPABILITIES] = {
    [KAON_CAPABILITY_ROWS] = &row_access,
    [KAON_CAPABILITY_ABSOLUTE] = &absolute_values,
    [KAON_CAPABILITY_SEND_AHEAD] = &send_ahead,
    [KAON_CAPABILITY_PARTIAL_SUMS] = &partial_sums,
    [KAON_CAPABILITY_NULL_SPACE] = &kaon_matrix_null_space};

static const kaon_operator_ops product_ops = {.name = "matrix",
                                              .capabilities = capabilities,
                                              .apply = apply,
                                              .twin = make_twin,
                                              .local = local_part,
                                              .diagonal = diagonal,
                                              .reserve = reserve,
                                              .cost = cost,
                                              .destroy = destroy};

kaon_status kaon_matrix_operator(kaon_matrix *matrix, const kaon_matrix_operator_options *options,
                                 kaon_operator **A) {
  kaon_matrix_operator_options own;
  if (A != NULL) *A = NULL;
  KAON_ENTER(KAON_OF(matrix), matrix, A);
  KAON_TRY(kaon_options_share(matrix->ctx, KAON_OK, KAON_OPTIONS_MATRIX_OPERATOR, options, &own,
                              NULL, 0));
  family *f = NULL;
  kaon_status status = family_create(matrix, "matrix", &f);
  if (status == KAON_OK) {
    f->whole = 1;
    f->rows = matrix->rows;
    f->rows->references++;
    status = make(f, vectors_of(own.precision), own.precision == KAON_HALF, own.format, A);
  }
  return agree(matrix->ctx, status, A);
}

static kaon_status check_rows(const kaon_matrix *matrix, const kaon_csr *rows, const char *name,
                              kaon_precision precision, int values_half) {
  const kaon_csr *own = matrix->rows->rows;
  if (rows->rows != own->rows || rows->reals != own->reals ||
      (rows->columns != own->rows && rows->columns != own->columns))
    return kaon_fail(matrix->ctx, KAON_ERR_SHAPE,
                     "%s: %lld x %lld values of %d reals, but the matrix' space takes %lld rows, "
                     "%lld or %lld columns and %d reals",
                     name, (long long)rows->rows, (long long)rows->columns, rows->reals,
                     (long long)own->rows, (long long)own->rows, (long long)own->columns,
                     own->reals);
  if (precision == KAON_HALF || (values_half && precision != KAON_SINGLE))
    return kaon_fail(matrix->ctx, KAON_ERR_PRECISION,
                     "%s: vectors are in precision %d, but must be 0 (double) or 1 (single), and 1 "
                     "where values have 16 bits",
                     name, (int)precision);
  return KAON_OK;
}

kaon_status kaon_rows_operator(kaon_matrix *matrix, kaon_csr **rows, const char *name,
                               kaon_precision precision, int values_half, kaon_matrix_format format,
                               kaon_operator **op) {
  family *f = NULL;
  *op = NULL;
  kaon_status status = check_rows(matrix, *rows, name, precision, values_half);
  if (status == KAON_OK) status = family_create(matrix, name, &f);
  if (status == KAON_OK) status = kaon_row_set_like(matrix->rows, rows, &f->rows);
  if (status == KAON_OK)
    status = make(f, precision, values_half, format, op);
  else
    family_release(&f);
  kaon_csr_destroy(rows);
  return agree(matrix->ctx, status, op);
}

kaon_matrix *kaon_operator_matrix(const kaon_operator *A) {
  if (A == NULL || A->ops->apply != apply || !self_of(A)->family->whole) return NULL;
  return self_of(A)->family->matrix;
}

const char *kaon_matrix_operator_format(const kaon_operator *A) {
  return A != NULL && A->ops->apply == apply ? self_of(A)->plain->text : "";
}

double kaon_matrix_operator_bytes(const kaon_operator *A) {
  if (A == NULL || A->ops->apply != apply) return 0;
  const kaon_stored *stored = self_of(A)->plain;
  const kaon_stored_matrix *m = &stored->matrix;
  const int half = self_of(A)->values_half;
  const double value = half ? 2 : (double)kaon_precision_bytes(A->precision);
  const double entries =
      (double)m->entries + (m->long_part != NULL ? (double)m->long_part->entries : 0.0);
  return entries * value * m->reals + (half ? 4.0 * (double)m->rows : 0) +
         (double)stored->index_bytes;
}
