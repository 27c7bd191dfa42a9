/* dense_matrix.c - rows of a coarse operator from its matrices, and the inverse by LAPACKE. */
#include "multigrid/dense_matrix.h"

#include <complex.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "lib/core/entry.h"
#include "lib/vector/space.h"

#define lapack_complex_double double _Complex
#define lapack_complex_float float _Complex
#include <lapacke.h>

/* ---- assembly ---- */

int64_t kaon_dense_matrix_site(const kaon_lattice *lattice, int rank, int64_t local, int dir) {
  const int *n = lattice->extents, *g = lattice->global, *grid = lattice->grid;
  int64_t site = 0, stride = 1;
  for (int mu = 0; mu < 4; mu++) {
    const int64_t own = rank % grid[mu] * n[mu] + local % n[mu];
    const int step = dir == mu ? 1 : dir == mu + 4 ? g[mu] - 1 : 0;
    site += (own + step) % g[mu] * stride;
    stride *= g[mu];
    rank /= grid[mu];
    local /= n[mu];
  }
  return site;
}

/* Adds a matrix field, whose matrices multiply the neighbours in direction `dir`, to this rank's
 * rows. Where an extent is 1 or 2, several directions meet the same columns. */
static kaon_status add_field(const kaon_dense_matrix *m, const kaon_vector *field, int dir,
                             double _Complex *column) {
  const int rank = m->lattice->ctx->comm->rank, numbers = m->numbers;
  for (int j = 0; j < numbers; j++) {
    KAON_TRY(kaon_vector_export(field, j, (double *)column, KAON_BASIS_UKQCD));
    for (int64_t local = 0; local < m->lattice->volume; local++) {
      const int64_t row = kaon_dense_matrix_site(m->lattice, rank, local, KAON_DIRS) * numbers;
      const int64_t read = kaon_dense_matrix_site(m->lattice, rank, local, dir) * numbers + j;
      for (int i = 0; i < numbers; i++)
        m->element[(row + i) * m->rows + read] += column[local * numbers + i];
    }
  }
  return KAON_OK;
}

/* Every rank sends its rows, which are contiguous for each site, to all. */
static kaon_status share_rows(const kaon_dense_matrix *m) {
  const kaon_lattice *l = m->lattice;
  kaon_comm *comm = l->ctx->comm;
  const int64_t of_site = m->numbers * m->rows;
  for (int rank = 0; rank < comm->ranks && comm->ranks > 1; rank++)
    for (int64_t local = 0; local < l->volume; local++) {
      const int64_t site = kaon_dense_matrix_site(l, rank, local, KAON_DIRS);
      KAON_TRY(comm->ops->broadcast(comm, m->element + site * of_site,
                                    (size_t)of_site * sizeof *m->element, rank));
    }
  return KAON_OK;
}

kaon_status kaon_dense_matrix_assemble(const kaon_coarse_links *links, kaon_dense_matrix *matrix) {
  const kaon_space *space = links->inside->space;
  const kaon_lattice *l = space->lattice;
  const int64_t rows = l->global_volume * (space->ncomp / 2);
  *matrix = (kaon_dense_matrix){.lattice = l, .numbers = space->ncomp / 2, .rows = rows};
  matrix->element = calloc((size_t)(rows * rows), sizeof *matrix->element);
  KAON_AUTOFREE double _Complex *column =
      malloc((size_t)(l->volume * matrix->numbers) * sizeof *column);
  KAON_TRY(KAON_AGREE_MEMORY(l->ctx, matrix->element != NULL && column != NULL,
                             "dense inverse: out of host memory for a matrix of %lld rows (%.3g "
                             "GiB)",
                             (long long)rows,
                             (double)rows * (double)rows * sizeof *column / 0x1p30));
  KAON_TRY(add_field(matrix, links->inside, KAON_DIRS, column));
  for (int d = 0; d < KAON_DIRS; d++) KAON_TRY(add_field(matrix, links->hop[d], d, column));
  return share_rows(matrix);
}

/* ---- inverse ---- */

/* OpenBLAS divides a factorisation among its threads, and then rounds differently. These are its
 * functions, or NULL if the process has another library. */
extern void openblas_set_num_threads(int threads) __attribute__((weak));
extern int openblas_get_num_threads(void) __attribute__((weak));

/* Returns the number before. */
static int set_threads(int threads) {
  if (openblas_set_num_threads == NULL || openblas_get_num_threads == NULL) return threads;
  const int before = openblas_get_num_threads();
  if (before != threads) openblas_set_num_threads(threads);
  return before;
}

/* Largest sum of magnitudes of a column; NaN if one is not finite. sum: `rows` numbers. */
static double norm_1(const kaon_dense_matrix *m, double *sum) {
  double largest = 0;
  for (int64_t j = 0; j < m->rows; j++) sum[j] = 0;
  for (int64_t i = 0; i < m->rows; i++)
    for (int64_t j = 0; j < m->rows; j++) sum[j] += cabs(m->element[i * m->rows + j]);
  for (int64_t j = 0; j < m->rows; j++) {
    if (!isfinite(sum[j])) return NAN;
    largest = fmax(largest, sum[j]);
  }
  return largest;
}

static kaon_status singular(const kaon_dense_matrix *m, int64_t row, double pivot,
                            double condition) {
  const int *g = m->lattice->global;
  const int64_t site = row / m->numbers;
  return kaon_fail(m->lattice->ctx, KAON_ERR_SINGULAR,
                   "dense inverse: the coarse operator has no inverse in double precision: pivot "
                   "%lld of %lld is %.3g (number %d at coarse site %d %d %d %d), and the condition "
                   "number is %.3g",
                   (long long)row + 1, (long long)m->rows, pivot, (int)(row % m->numbers),
                   (int)(site % g[0]), (int)(site / g[0] % g[1]), (int)(site / g[0] / g[1] % g[2]),
                   (int)(site / g[0] / g[1] / g[2]), condition);
}

static kaon_status failed(const kaon_dense_matrix *m, const char *function, lapack_int code) {
  const int memory = code == LAPACK_WORK_MEMORY_ERROR;
  return kaon_fail(m->lattice->ctx, memory ? KAON_ERR_MEMORY : KAON_ERR_INTERNAL,
                   "dense inverse: %s of %lld rows returned %d%s", function, (long long)m->rows,
                   (int)code, memory ? ", out of host memory" : "");
}

/* LAPACK stores columns, so to LAPACK the elements are those of the transpose, whose inverse is the
 * transpose of the inverse. Pivot i is 0 if row i depends on those before it. */
static kaon_status factor_and_invert(kaon_dense_matrix *m, lapack_int *order, int64_t *least,
                                     double *pivot) {
  const lapack_int n = (lapack_int)m->rows;
  lapack_int code = LAPACKE_zgetrf(LAPACK_COL_MAJOR, n, n, m->element, n, order);
  if (code < 0) return failed(m, "LAPACKE_zgetrf", code);
  *pivot = INFINITY;
  for (int64_t i = 0; i < n; i++) {
    const double size = cabs(m->element[i * n + i]);
    if (size < *pivot) *least = i, *pivot = size;
  }
  if (code > 0) return singular(m, code - 1, 0, INFINITY);
  code = LAPACKE_zgetri(LAPACK_COL_MAJOR, n, m->element, n, order);
  return code != 0 ? failed(m, "LAPACKE_zgetri", code) : KAON_OK;
}

kaon_status kaon_dense_matrix_invert(kaon_dense_matrix *m, kaon_dense_info *info) {
  const size_t rows = (size_t)m->rows;
  KAON_AUTOFREE lapack_int *order = malloc(rows * sizeof *order);
  KAON_AUTOFREE double *sum = malloc(rows * sizeof *sum);
  KAON_TRY(KAON_CHECK_MEMORY(m->lattice->ctx, order != NULL && sum != NULL,
                             "dense inverse: out of host memory for %zu pivots", rows));
  const double norm = norm_1(m, sum);
  if (isnan(norm))
    return kaon_fail(m->lattice->ctx, KAON_ERR_NOT_FINITE,
                     "dense inverse: a matrix of the coarse operator has a number that is not "
                     "finite");
  int64_t least = 0;
  double pivot = 0;
  const int threads = set_threads(1);
  const kaon_status status = factor_and_invert(m, order, &least, &pivot);
  (void)set_threads(threads);
  KAON_TRY(status);
  *info = (kaon_dense_info){.rows = m->rows, .inverse_norm = norm_1(m, sum)};
  info->condition = norm * info->inverse_norm;
  return info->condition < 1 / DBL_EPSILON ? KAON_OK : singular(m, least, pivot, info->condition);
}
