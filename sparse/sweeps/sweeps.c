/* sweeps.c - row-wise operations of a matrix: triangles for Gauss-Seidel and SOR, solved level by
 * level. Rows of one level are processed concurrently, and the bits are those of a sweep row by
 * row. Blocks of rows: sparse/sweeps/block_sweeps.c. */
#include "sparse/sweeps/sweeps.h"

#include <stdlib.h>

#include "blas/blas.h"
#include "sparse/precond/ordered_rows.h"
#include "sparse/storage/number.h"
#include "sparse/sweeps/triangle.h"

typedef struct sweeps_triangle {
  kaon_triangle *forward, *backward;
  kaon_row_info info;
} sweeps_triangle;

static kaon_status sweep(kaon_row_sweeps *S, const kaon_row_sweep *how, const kaon_vector *b,
                         kaon_vector *x, const kaon_pass *pass) {
  const sweeps_triangle *self = S->self;
  return kaon_triangle_solve(how->backward ? self->backward : self->forward, b, x, pass);
}

static kaon_status reserve(kaon_row_sweeps *S, int columns) {
  (void)S;
  (void)columns;
  return KAON_OK;
}

static void describe(const kaon_row_sweeps *S, kaon_row_info *info) {
  *info = ((const sweeps_triangle *)S->self)->info;
}

static kaon_cost cost(const kaon_row_sweeps *S, int columns) {
  const sweeps_triangle *self = S->self;
  const double rows = (double)S->space->nsites, reals = S->space->ncomp;
  const double entries = (double)self->forward->stored->matrix.entries;
  return (kaon_cost){.flops = (reals == 2 ? 8 : 2) * (entries + rows),
                     .bytes = kaon_triangle_bytes(self->forward) / columns +
                              2 * rows * reals * (double)kaon_precision_bytes(S->precision)};
}

static void destroy(kaon_row_sweeps *S) {
  sweeps_triangle *self = S->self;
  kaon_triangle_destroy(&self->forward);
  kaon_triangle_destroy(&self->backward);
  free(self);
}

static const kaon_row_sweeps_ops triangle_ops = {.name = "triangle",
                                                 .sweep = sweep,
                                                 .reserve = reserve,
                                                 .describe = describe,
                                                 .cost = cost,
                                                 .destroy = destroy};

/* The entries before (upper = 0) or after the diagonal, back in the space's order. */
static kaon_status take_side(const kaon_ordered_rows *way, const kaon_context *ctx, int upper,
                             kaon_csr **side) {
  const kaon_csr *a = way->rows;
  KAON_AUTO(kaon_csr_destroy) kaon_csr *cut = NULL;
  int64_t at = 0;
  KAON_TRY(kaon_csr_create(ctx, a->rows, a->rows, a->reals, a->start[a->rows], &cut));
  for (int64_t i = 0; i < a->rows; i++) {
    for (int64_t n = a->start[i]; n < a->start[i + 1]; n++) {
      if (upper ? a->column[n] <= i : a->column[n] >= i) continue;
      cut->column[at] = a->column[n];
      kaon_number_put(cut->value, at++, a->reals, kaon_number_at(a->value, n, a->reals));
    }
    cut->start[i + 1] = at;
  }
  return kaon_csr_permute(ctx, cut, way->where, side);
}

static kaon_status make_side(const kaon_row_sweeps *S, const kaon_ordered_rows *way, int upper,
                             int values_half, const double *diagonal, kaon_triangle **triangle) {
  kaon_level_sets *sets = NULL;
  KAON_AUTO(kaon_csr_destroy) kaon_csr *side = NULL;
  KAON_TRY(kaon_level_sets_create(S->ctx, way->rows, upper, way->order, &sets));
  kaon_status status = take_side(way, S->ctx, upper, &side);
  if (status == KAON_OK)
    status =
        kaon_triangle_create(S->ctx, side, &sets, diagonal, S->precision, values_half, triangle);
  else
    kaon_level_sets_destroy(&sets);
  return status;
}

/* omega / a_ii for the rows of the space. */
static kaon_status diagonal_of(const kaon_matrix *matrix, double omega, double **diagonal) {
  const kaon_csr *a = matrix->rows->rows;
  double *d = *diagonal = malloc(((size_t)a->rows + 1) * (size_t)a->reals * sizeof *d);
  if (d == NULL)
    return kaon_fail(matrix->ctx, KAON_ERR_MEMORY, "relaxation: out of host memory for a diagonal");
  for (int64_t i = 0; i < a->rows; i++) {
    const int64_t n = kaon_csr_find(a, i, (int32_t)i);
    kaon_number e = {0, 0};
    if (n >= 0) e = kaon_number_at(a->value, n, a->reals);
    if (!(kaon_number_size(e, a->reals) > 0))
      return kaon_fail(
          matrix->ctx, KAON_ERR_SINGULAR,
          "relaxation: row %lld (counted from 1, as it was given) has no diagonal entry or 0 "
          "there, but is divided by it; reorder the rows, or take a method that needs "
          "none",
          (long long)kaon_matrix_caller_row(matrix, matrix->order ? matrix->order[i] : i) + 1);
    e = kaon_number_inverse(e, a->reals);
    kaon_number_put(d, i, a->reals, (kaon_number){omega * e.re, omega * e.im});
  }
  return KAON_OK;
}

kaon_status kaon_sweeps_triangle(kaon_matrix *matrix, const kaon_row_how *how, int values_half,
                                 kaon_row_sweeps *sweeps) {
  sweeps_triangle *self = calloc(1, sizeof *self);
  KAON_AUTO(kaon_ordered_rows_clear) kaon_ordered_rows way = {.rows = NULL};
  KAON_AUTOFREE double *diagonal = NULL;
  if (self == NULL)
    return kaon_fail(matrix->ctx, KAON_ERR_MEMORY, "relaxation: out of host memory");
  sweeps->ops = &triangle_ops;
  sweeps->self = self;
  KAON_TRY(kaon_order_rows(matrix, how->by_colour, &way));
  KAON_TRY(diagonal_of(matrix, how->omega, &diagonal));
  KAON_TRY(make_side(sweeps, &way, 0, values_half, diagonal, &self->forward));
  if (how->both) KAON_TRY(make_side(sweeps, &way, 1, values_half, diagonal, &self->backward));
  self->info = (kaon_row_info){.colours = way.colours, .levels = self->forward->sets->levels};
  return KAON_OK;
}

/* ---- all kinds ---- */

static kaon_status check(const kaon_matrix *matrix, const kaon_row_how *how,
                         kaon_precision precision) {
  if (matrix->ctx->backend->sparse[precision] == NULL)
    return kaon_fail(matrix->ctx, KAON_ERR_NOT_BUILT,
                     "rows: backend %s %s has no sparse kernels in precision %d (0 double, 1 "
                     "single); choose another backend",
                     matrix->ctx->backend->name, matrix->ctx->backend->isa, (int)precision);
  if (how->kind == KAON_ROW_BLOCKS && (how->block < 1 || how->block > KAON_ROW_BLOCK))
    return kaon_fail(matrix->ctx, KAON_ERR_ARGUMENT,
                     "rows: blocks of %lld rows were asked for, but a block has 1 to %d",
                     (long long)how->block, (int)KAON_ROW_BLOCK);
  return KAON_OK;
}

static kaon_status make(kaon_matrix *matrix, const kaon_row_how *how, kaon_precision precision,
                        int values_half, kaon_row_sweeps **sweeps) {
  KAON_TRY(check(matrix, how, precision));
  kaon_row_sweeps *made = *sweeps = calloc(1, sizeof *made);
  if (made == NULL) return kaon_fail(matrix->ctx, KAON_ERR_MEMORY, "rows: out of host memory");
  *made = (kaon_row_sweeps){.ctx = matrix->ctx, .space = &matrix->space, .precision = precision};
  kaon_context_retain(matrix->ctx);
  kaon_space_retain(&matrix->space);
  switch (how->kind) {
    case KAON_ROW_TRIANGLE:
      return kaon_sweeps_triangle(matrix, how, values_half, made);
    case KAON_ROW_BLOCKS:
      return kaon_sweeps_blocks(matrix, how, made);
    default:
      return kaon_fail(matrix->ctx, KAON_ERR_UNSUPPORTED,
                       "rows: sweeps of kind %d are not supported for matrices", (int)how->kind);
  }
}

kaon_status kaon_matrix_sweeps(kaon_matrix *matrix, const kaon_row_how *how,
                               kaon_precision precision, int values_half,
                               kaon_row_sweeps **sweeps) {
  *sweeps = NULL;
  kaon_status status = kaon_agree(matrix->ctx, make(matrix, how, precision, values_half, sweeps));
  if (status == KAON_OK && how->kind == KAON_ROW_BLOCKS && matrix->ctx->comm->ranks > 1)
    status = kaon_sweeps_blocks_exchange(matrix, how->exchange, *sweeps);
  if (status != KAON_OK) kaon_row_sweeps_destroy(sweeps);
  return status;
}
