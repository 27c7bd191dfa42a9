/* matrix.c - kaon_matrix: made from the rows that every rank passes, stored in an order of its own
 * (sparse/order/order.h). */
#include "sparse/storage/matrix.h"

#include <math.h>
#include <stdlib.h>

#include <kaon/context.h>

#include "sparse/ranks/redistribution.h"
#include "sparse/order/order.h"
#include "sparse/ranks/rank_rows.h"
#include "lib/core/options_table.h"

void kaon_matrix_retain(kaon_matrix *matrix) {
  matrix->references++;
}

static void retain_owner(void *owner) {
  kaon_matrix_retain(owner);
}

static void release_owner(void *owner) {
  kaon_matrix *matrix = owner;
  kaon_matrix_destroy(&matrix);
}

void kaon_matrix_destroy(kaon_matrix **matrix) {
  if (matrix == NULL || *matrix == NULL) return;
  kaon_matrix *gone = *matrix;
  *matrix = NULL;
  if (--gone->references > 0) return;
  kaon_row_set_destroy(&gone->rows);
  kaon_row_set_destroy(&gone->dagger);
  kaon_pool_release(gone->ctx, (void *)(uintptr_t)gone->space.rows.there);
  kaon_row_redistribution_destroy(&gone->redistribution);
  free(gone->null_vectors);
  free(gone->first_rows);
  free(gone->order);
  free(gone->place);
  free(gone->number);
  kaon_context_release(gone->ctx);
  free(gone);
}

const kaon_space *kaon_matrix_space(const kaon_matrix *matrix) {
  return matrix != NULL ? &matrix->space : NULL;
}

/* ---- units ---- */

/* largest[i]: the largest entry of row i, by its real and imaginary parts. sums: of the exponents
 * of those that are not 0, and their number. */
static void measure_rows(const kaon_context *ctx, const kaon_csr *a, double *largest,
                         double sums[2]) {
  int64_t exponents = 0, rows = 0;
#pragma omp parallel for num_threads(ctx->threads) schedule(static) reduction(+ : exponents, rows)
  for (int64_t i = 0; i < a->rows; i++) {
    double most = 0;
    for (int64_t n = a->start[i] * a->reals; n < a->start[i + 1] * a->reals; n++)
      if (fabs(a->value[n]) > most) most = fabs(a->value[n]);
    largest[i] = most;
    if (most == 0) continue;
    exponents += ilogb(most);
    rows++;
  }
  sums[0] = (double)exponents;
  sums[1] = (double)rows;
}

/* If the geometric mean of the rows' largest entries is below 2^-ORDINARY or above 2^ORDINARY,
 * divides A by a power of 4 near that mean. The division does not round, nor does the square root
 * of the power. A^H A and A^2 times a source in range (solvers/engine/scaling.c) are then in range
 * too, also in single. largest: set to the largest entry of each row. */
static kaon_status choose_units(kaon_matrix *matrix, kaon_csr *given, double *largest) {
  enum { ORDINARY = 20, MOST = 500 };
  double sums[2]; /* of exponents; rows */
  measure_rows(matrix->ctx, given, largest, sums);
  KAON_TRY(kaon_comm_sum(matrix->ctx, sums, 2));
  const double mean = sums[1] > 0 ? sums[0] / sums[1] : 0;
  if (fabs(mean) <= ORDINARY) return KAON_OK;
  matrix->exponent = 2 * (int)lround(fmin(fmax(mean, -MOST), MOST) / 2);
  kaon_csr_scale(given, -matrix->exponent);
  measure_rows(matrix->ctx, given, largest, sums);
  return KAON_OK;
}

/* ---- A = A^H, -A^H, A^T, -A^T ---- */

/* Compares the entries of row i in this rank's square block with their counterparts: those below
 * the diagonal, or all others. Returns how many entries it has below the diagonal, less the
 * counterparts that it found there. */
static int64_t compare_row(const kaon_csr *a, int64_t first, int64_t i, int below,
                           const double *largest, kaon_mirror *m) {
  const int reals = a->reals;
  int64_t unmet = 0;
  for (int64_t n = a->start[i]; n < a->start[i + 1]; n++) {
    const int64_t j = a->column[n] - first;
    if (j < 0 || j >= a->rows) continue; /* on another rank */
    unmet += j < i;
    if ((j < i) != below) continue;
    const int64_t there = j == i ? n : kaon_csr_find(a, j, (int32_t)(first + i));
    unmet -= there >= 0 && j > i;
    kaon_mirror_take(m, a->value + n * reals, there >= 0 ? a->value + there * reals : NULL, reals,
                     &largest[i], &largest[j]);
  }
  return unmet;
}

/* Compares this rank's square block with its adjoint. A pair is found from its entry above the
 * diagonal. Entries below it are searched for only if some belong to no pair. */
static void compare_adjoint(const kaon_matrix *matrix, const kaon_csr *a, const double *largest,
                            kaon_mirror *m) {
  int64_t unmet = 1;
  for (int below = 0; below <= 1 && unmet != 0; below++) {
    int same = m->same, skew = m->skew;
    double off = m->off;
    unmet = 0;
#pragma omp parallel for num_threads(matrix->ctx->threads) schedule(static) \
    reduction(+ : unmet) reduction(& : same, skew) reduction(max : off)
    for (int64_t i = 0; i < a->rows; i++) {
      kaon_mirror so_far = {same, skew, off};
      unmet += compare_row(a, matrix->first_row, i, below, largest, &so_far);
      same = so_far.same;
      skew = so_far.skew;
      off = so_far.off;
    }
    *m = (kaon_mirror){same, skew, off};
  }
}

static kaon_status find_hermitian(kaon_matrix *matrix, const kaon_csr *given,
                                  const double *largest) {
  kaon_mirror m = {KAON_MIRRORED, 1, 0};
  compare_adjoint(matrix, given, largest, &m);
  KAON_TRY(kaon_ranks_mirror(matrix, given, largest, &m));
  matrix->mirrored = m.same;
  matrix->asymmetry = m.off;
  matrix->hermitian = m.off <= KAON_SYMMETRIC_TO;
  matrix->skew = !matrix->hermitian && m.skew;
  return KAON_OK;
}

/* ---- creation ---- */

/* Checks that the ranks' rows follow each other without gaps and are all of the matrix. Sets
 * first_rows. */
static kaon_status join(kaon_matrix *matrix, const kaon_csr *given) {
  enum { FIRST, ROWS, GLOBAL, REALS, NUMBERS };
  kaon_context *ctx = matrix->ctx;
  const int ranks = ctx->comm->ranks;
  const double mine[NUMBERS] = {(double)matrix->first_row, (double)given->rows,
                                (double)matrix->global_rows, (double)given->reals};
  KAON_AUTOFREE double *all = malloc((size_t)ranks * NUMBERS * sizeof *all);
  matrix->first_rows = malloc(((size_t)ranks + 1) * sizeof *matrix->first_rows);
  kaon_status status = KAON_AGREE_MEMORY(ctx, all != NULL && matrix->first_rows != NULL,
                                         "matrix: out of host memory for %d ranks", ranks);
  if (status == KAON_OK) status = ctx->comm->ops->gather(ctx->comm, mine, NUMBERS, all);
  int64_t next = 0;
  for (int r = 0; r < ranks && status == KAON_OK; r++) {
    const double *n = all + (size_t)r * NUMBERS;
    matrix->first_rows[r] = next;
    if ((int64_t)n[FIRST] != next)
      status = kaon_fail(ctx, KAON_ERR_SHAPE,
                         "matrix: rank %d passes rows from %lld on, but the ranks before it end at "
                         "row %lld; each rank's rows must begin where the last one's end",
                         r, (long long)n[FIRST], (long long)next);
    else if ((int64_t)n[GLOBAL] != matrix->global_rows || (int)n[REALS] != given->reals)
      status = kaon_fail(ctx, KAON_ERR_SHAPE,
                         "matrix: rank %d has %lld rows of %d reals in all, but this rank says "
                         "%lld of %d",
                         r, (long long)n[GLOBAL], (int)n[REALS], (long long)matrix->global_rows,
                         given->reals);
    next += (int64_t)n[ROWS];
  }
  if (status == KAON_OK) matrix->first_rows[ranks] = next;
  if (status == KAON_OK && next != matrix->global_rows)
    status = kaon_fail(ctx, KAON_ERR_SHAPE,
                       "matrix: the ranks pass %lld rows together, but the matrix has %lld",
                       (long long)next, (long long)matrix->global_rows);
  return kaon_agree(ctx, status);
}

static kaon_status enter_rows(void *owner, const double *given, double *here) {
  const kaon_matrix *matrix = owner;
  return kaon_rows_from_caller(matrix->redistribution, matrix->space.ncomp, given, here);
}

static kaon_status leave_rows(void *owner, const double *here, double *given) {
  const kaon_matrix *matrix = owner;
  return kaon_rows_to_caller(matrix->redistribution, matrix->space.ncomp, here, given);
}

static kaon_status fill_space(kaon_matrix *matrix, const kaon_csr *given) {
  kaon_context *ctx = matrix->ctx;
  const int width = ctx->backend->width;
  matrix->space =
      (kaon_space){.ctx = ctx,
                   .inner = 1,
                   .nblocks = (given->rows + width - 1) / width,
                   .nsites = given->rows,
                   .width = width,
                   .ncomp = given->reals,
                   .complex_space = given->reals == 2,
                   .rows = {.owner = matrix, .retain = retain_owner, .release = release_owner}};
  if (matrix->redistribution == NULL) return KAON_OK;
  matrix->space.rows.given = matrix->redistribution->rows;
  matrix->space.rows.enter = enter_rows;
  matrix->space.rows.leave = leave_rows;
  return KAON_OK;
}

static kaon_status fill_order(kaon_matrix *matrix, const kaon_csr *given,
                              const kaon_matrix_options *options) {
  kaon_context *ctx = matrix->ctx;
  void *there = NULL;
  KAON_TRY(kaon_matrix_order(matrix, given, options));
  matrix->space.rows.order = matrix->order;
  if (matrix->order == NULL || ctx->backend->host_accessible) return KAON_OK;
  KAON_TRY(kaon_table_upload(ctx, matrix->order, (size_t)given->rows * sizeof *matrix->order,
                             "the order of a matrix' rows", &there));
  matrix->space.rows.there = there;
  return KAON_OK;
}

static kaon_status build(kaon_matrix *matrix, kaon_csr **given,
                         const kaon_matrix_options *options) {
  KAON_TRY(join(matrix, *given));
  KAON_TRY(kaon_rows_redistribute(matrix, given, options->partition));
  KAON_AUTOFREE double *largest = malloc(((size_t)(*given)->rows + 1) * sizeof *largest);
  KAON_TRY(KAON_AGREE_MEMORY(matrix->ctx, largest != NULL,
                             "matrix: out of host memory for %lld rows",
                             (long long)(*given)->rows));
  KAON_TRY(choose_units(matrix, *given, largest));
  kaon_status status = fill_space(matrix, *given);
  if (status == KAON_OK) status = fill_order(matrix, *given, options);
  KAON_TRY(kaon_agree(matrix->ctx, status));
  KAON_TRY(find_hermitian(matrix, *given, largest));
  return kaon_row_set_create(matrix, given, &matrix->rows);
}

kaon_status kaon_matrix_from_rows(kaon_context *ctx, kaon_csr **given, int64_t first_row,
                                  const kaon_matrix_options *options, kaon_matrix **matrix) {
  kaon_matrix_options own;
  kaon_matrix *made = calloc(1, sizeof *made);
  *matrix = NULL;
  kaon_status status = KAON_CHECK_MEMORY(ctx, made != NULL, "matrix: out of host memory");
  if (made != NULL) {
    *made = (kaon_matrix){
        .references = 1, .ctx = ctx, .global_rows = (*given)->columns, .first_row = first_row};
    kaon_context_retain(ctx);
  }
  status = kaon_options_share(ctx, status, KAON_OPTIONS_MATRIX, options, &own, NULL, 0);
  if (status == KAON_OK) status = build(made, given, &own);
  kaon_csr_destroy(given);
  *matrix = made;
  if (status != KAON_OK) kaon_matrix_destroy(matrix);
  return status;
}

kaon_status kaon_matrix_dagger(kaon_matrix *matrix, kaon_row_set **dagger) {
  if (matrix->mirrored & KAON_HERMITIAN) {
    *dagger = matrix->rows;
    return KAON_OK;
  }
  if (matrix->dagger == NULL) {
    kaon_csr *given = NULL;
    kaon_status status = kaon_ranks_adjoint(matrix, matrix->rows, &given);
    if (status == KAON_OK) status = kaon_row_set_create(matrix, &given, &matrix->dagger);
    KAON_TRY(status);
  }
  *dagger = matrix->dagger;
  return KAON_OK;
}

int64_t kaon_matrix_caller_row(const kaon_matrix *matrix, int64_t i) {
  return matrix->redistribution != NULL ? matrix->redistribution->number[i] : matrix->first_row + i;
}
