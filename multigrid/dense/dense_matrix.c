/* dense_matrix.c - rows of a coarse operator from its matrices, and the inverse: by the backend, or
 * by LAPACKE. */
#include "multigrid/dense/dense_matrix.h"

#include <complex.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "blas/submit.h"
#include "dslash/coarse/coarse_ops.h"
#include "lib/core/entry.h"
#include "lib/vector/space.h"

#define lapack_complex_double double _Complex
#define lapack_complex_float float _Complex
#include <lapacke.h>

/* ---- memory ---- */

static size_t bytes_of(const kaon_dense_matrix *m) {
  return 2 * (size_t)m->rows * (size_t)m->rows * sizeof(double);
}

/* Not the pool's, which would keep it. */
static kaon_status take_elements(const kaon_dense_matrix *m, double **element) {
  kaon_context *ctx = m->lattice->ctx;
  void *made = NULL;
  const kaon_status status = kaon_memory_allocate(ctx, bytes_of(m), &made);
  *element = made;
  if (status != KAON_ERR_MEMORY) return status;
  return kaon_fail(ctx, KAON_ERR_MEMORY,
                   "dense inverse: out of memory on %s for a matrix of %lld rows (%.3g GiB); make "
                   "the coarsest lattice smaller, or solve it by a solver",
                   ctx->device, (long long)m->rows, (double)bytes_of(m) / 0x1p30);
}

static void release_elements(const kaon_dense_matrix *m, double **element) {
  kaon_context *ctx = m->lattice->ctx;
  if (*element != NULL) ctx->backend->memory->release(ctx, *element, bytes_of(m));
  *element = NULL;
}

void kaon_dense_matrix_free(kaon_dense_matrix *m) {
  release_elements(m, &m->element);
  kaon_pool_release(m->lattice->ctx, m->sites);
  m->sites = NULL;
}

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

/* Fills m->sites for the places of a space. */
static kaon_status upload_sites(kaon_dense_matrix *m, const kaon_space *space) {
  enum { TABLES = KAON_DIRS + 1 };
  const kaon_lattice *l = m->lattice;
  void *device = NULL;
  m->places = (size_t)(space->nblocks * space->width);
  KAON_AUTOFREE int32_t *host = malloc(TABLES * m->places * sizeof *host);
  KAON_TRY(KAON_CHECK_MEMORY(l->ctx, host != NULL, "dense inverse: out of host memory"));
  for (size_t place = 0; place < m->places; place++) {
    const int64_t local = kaon_space_caller_site(space, (int64_t)place / space->width,
                                                 (int)((int64_t)place % space->width));
    for (int dir = 0; dir < TABLES; dir++)
      host[(size_t)dir * m->places + place] =
          local < 0 ? -1 : (int32_t)kaon_dense_matrix_site(l, l->ctx->comm->rank, local, dir);
  }
  KAON_TRY(kaon_table_upload(l->ctx, host, TABLES * m->places * sizeof *host,
                             "sites of a dense inverse", &device));
  m->sites = device;
  return KAON_OK;
}

/* For kernels between the matrix and a vector. Rows are of this rank's sites, columns of those next
 * to them in direction `dir`. */
static kaon_square_args args_of(const kaon_dense_matrix *m, const kaon_vector *v, int dir) {
  return (kaon_square_args){.blocks = v->space->nblocks,
                            .rows = m->rows,
                            .width = v->space->width,
                            .access = v->ctx->backend->access,
                            .reals = v->space->ncomp,
                            .nrhs = v->nrhs,
                            .order = m->sites + (size_t)KAON_DIRS * m->places,
                            .reads = m->sites + (size_t)dir * m->places,
                            .vector = kaon_view_of(v),
                            .matrix = m->element};
}

static kaon_status prepare(const kaon_dense_matrix *m, kaon_launch *launch) {
  return kaon_launch_prepare(m->lattice->ctx, 1, bytes_of(m), launch);
}

/* Adds a matrix field, whose matrices multiply the neighbours in direction `dir`, to this rank's
 * rows. Where an extent is 1 or 2, several directions meet the same columns. */
static kaon_status add_field(const kaon_dense_matrix *m, const kaon_vector *field, int dir) {
  const kaon_square_args args = args_of(m, field, dir);
  kaon_launch launch;
  KAON_TRY(prepare(m, &launch));
  m->lattice->ctx->backend->coarse[field->precision]->add_to_matrix(&launch, &args);
  return KAON_OK;
}

kaon_status kaon_dense_matrix_store(const kaon_dense_matrix *m, kaon_vector *v) {
  kaon_square_args args = args_of(m, v, KAON_DIRS);
  kaon_launch launch;
  args.reads = NULL;
  KAON_TRY(prepare(m, &launch));
  m->lattice->ctx->backend->coarse[v->precision]->take_from_matrix(&launch, &args);
  return KAON_OK;
}

/* The rows of one site, from the rank that holds them to all. host: room for them where the host does
 * not reach the matrix, else NULL. */
static kaon_status share_site(const kaon_dense_matrix *m, int64_t site, int rank, double *host) {
  kaon_context *ctx = m->lattice->ctx;
  const kaon_memory_ops *memory = ctx->backend->memory;
  const int64_t of_site = 2 * m->numbers * m->rows;
  const size_t bytes = (size_t)of_site * sizeof *m->element;
  double *rows = m->element + site * of_site, *sent = host != NULL ? host : rows;
  const int mine = ctx->comm->rank == rank;
  if (host != NULL && mine) KAON_TRY(memory->to_host(ctx, host, rows, bytes));
  KAON_TRY(ctx->comm->ops->broadcast(ctx->comm, sent, bytes, rank));
  return host != NULL && !mine ? memory->to_device(ctx, rows, host, bytes) : KAON_OK;
}

/* Every rank sends its rows, which are contiguous for each site, to all. */
static kaon_status share_rows(const kaon_dense_matrix *m) {
  const kaon_lattice *l = m->lattice;
  kaon_context *ctx = l->ctx;
  const size_t bytes = 2 * (size_t)m->numbers * (size_t)m->rows * sizeof(double);
  const int staged = !ctx->backend->host_accessible;
  if (ctx->comm->ranks == 1) return KAON_OK;
  KAON_AUTOFREE double *host = staged ? malloc(bytes) : NULL;
  KAON_TRY(KAON_AGREE_MEMORY(ctx, !staged || host != NULL,
                             "dense inverse: out of host memory for the rows of a site"));
  for (int rank = 0; rank < ctx->comm->ranks; rank++)
    for (int64_t local = 0; local < l->volume; local++)
      KAON_TRY(share_site(m, kaon_dense_matrix_site(l, rank, local, KAON_DIRS), rank, host));
  return KAON_OK;
}

static kaon_status assemble(const kaon_coarse_links *links, kaon_dense_matrix *m) {
  kaon_context *ctx = m->lattice->ctx;
  kaon_status status = upload_sites(m, links->inside->space);
  if (status == KAON_OK) status = take_elements(m, &m->element);
  if (status == KAON_OK) status = ctx->backend->memory->clear(ctx, m->element, bytes_of(m));
  if (status == KAON_OK) status = add_field(m, links->inside, KAON_DIRS);
  for (int d = 0; d < KAON_DIRS && status == KAON_OK; d++) status = add_field(m, links->hop[d], d);
  KAON_TRY(kaon_agree(ctx, status));
  return share_rows(m);
}

kaon_status kaon_dense_matrix_assemble(const kaon_coarse_links *links, kaon_dense_matrix *matrix) {
  const kaon_space *space = links->inside->space;
  const int numbers = space->ncomp / 2;
  *matrix = (kaon_dense_matrix){.lattice = space->lattice,
                                .numbers = numbers,
                                .rows = space->lattice->global_volume * numbers};
  const kaon_status status = assemble(links, matrix);
  if (status != KAON_OK) kaon_dense_matrix_free(matrix);
  return status;
}

/* ---- inverse on the host ---- */

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

static kaon_status failed(const kaon_dense_matrix *m, const char *function, lapack_int code) {
  const int memory = code == LAPACK_WORK_MEMORY_ERROR;
  return kaon_fail(m->lattice->ctx, memory ? KAON_ERR_MEMORY : KAON_ERR_INTERNAL,
                   "dense inverse: %s of %lld rows returned %d%s", function, (long long)m->rows,
                   (int)code, memory ? ", out of host memory" : "");
}

/* element: the matrix in host memory, which its inverse replaces unless a pivot is 0. */
static kaon_status factor_and_invert(const kaon_dense_matrix *m, double _Complex *element,
                                     lapack_int *order, double *pivots) {
  const lapack_int n = (lapack_int)m->rows;
  lapack_int code = LAPACKE_zgetrf(LAPACK_COL_MAJOR, n, n, element, n, order);
  if (code < 0) return failed(m, "LAPACKE_zgetrf", code);
  for (int64_t i = 0; i < n; i++) pivots[i] = cabs(element[i * n + i]);
  if (code > 0) return KAON_OK;
  code = LAPACKE_zgetri(LAPACK_COL_MAJOR, n, element, n, order);
  return code != 0 ? failed(m, "LAPACKE_zgetri", code) : KAON_OK;
}

static kaon_status invert_element(const kaon_dense_matrix *m, double _Complex *element,
                                  double *pivots) {
  KAON_AUTOFREE lapack_int *order = malloc((size_t)m->rows * sizeof *order);
  KAON_TRY(KAON_CHECK_MEMORY(m->lattice->ctx, order != NULL,
                             "dense inverse: out of host memory for %lld pivots",
                             (long long)m->rows));
  const int threads = set_threads(1);
  const kaon_status status = factor_and_invert(m, element, order, pivots);
  (void)set_threads(threads);
  return status;
}

static kaon_status invert_on_host(const kaon_dense_matrix *m, double *pivots) {
  kaon_context *ctx = m->lattice->ctx;
  const kaon_memory_ops *memory = ctx->backend->memory;
  if (ctx->backend->host_accessible)
    return invert_element(m, (double _Complex *)m->element, pivots);
  KAON_AUTOFREE double _Complex *host = malloc(bytes_of(m));
  KAON_TRY(KAON_CHECK_MEMORY(ctx, host != NULL,
                             "dense inverse: out of host memory for a matrix of %lld rows (%.3g "
                             "GiB)",
                             (long long)m->rows, (double)bytes_of(m) / 0x1p30));
  KAON_TRY(memory->to_host(ctx, host, m->element, bytes_of(m)));
  KAON_TRY(invert_element(m, host, pivots));
  return memory->to_device(ctx, m->element, host, bytes_of(m));
}

/* ---- inverse ---- */

/* The backend's own inverse. UNSUPPORTED: it has none. */
static kaon_status invert_on_device(kaon_dense_matrix *m, double *pivots) {
  kaon_context *ctx = m->lattice->ctx;
  double *inverse = NULL;
  if (ctx->backend->invert == NULL) return KAON_ERR_UNSUPPORTED;
  KAON_TRY(take_elements(m, &inverse));
  const kaon_status status = ctx->backend->invert(ctx, m->rows, m->element, inverse, pivots);
  if (status == KAON_OK) {
    double *factors = m->element;
    m->element = inverse;
    inverse = factors;
  } else if (status == KAON_ERR_UNSUPPORTED) {
    kaon_log_once(ctx, KAON_LOG_WARNING, kaon_last_error(ctx));
  }
  release_elements(m, &inverse);
  return status;
}

/* Both take the matrix in rows, but factor its transpose by columns, whose inverse is the transpose
 * of the inverse. Pivot i is 0 if row i depends on those before it. */
static kaon_status invert(kaon_dense_matrix *m, double *pivots) {
  const kaon_status status = invert_on_device(m, pivots);
  return status == KAON_ERR_UNSUPPORTED ? invert_on_host(m, pivots) : status;
}

/* Largest sum of magnitudes of a column; NaN if one is not finite. sum: `rows` numbers. */
static kaon_status norm_1(const kaon_dense_matrix *m, double *sum, double *largest) {
  kaon_context *ctx = m->lattice->ctx;
  const size_t bytes = (size_t)m->rows * sizeof *sum;
  void *norms = NULL;
  kaon_launch launch;
  KAON_TRY(kaon_pool_allocate(ctx, bytes, "norms of a dense matrix", &norms));
  const kaon_square_args args = {.rows = m->rows, .matrix = m->element, .norms = norms};
  kaon_status status = prepare(m, &launch);
  if (status == KAON_OK) {
    ctx->backend->coarse[KAON_DOUBLE]->column_norms(&launch, &args);
    status = ctx->backend->memory->to_host(ctx, sum, norms, bytes);
  }
  kaon_pool_release(ctx, norms);
  KAON_TRY(status);
  *largest = 0;
  for (int64_t j = 0; j < m->rows && !isnan(*largest); j++)
    *largest = isfinite(sum[j]) ? fmax(*largest, sum[j]) : NAN;
  return KAON_OK;
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

/* room: 2 `rows` numbers. */
static kaon_status invert_checked(kaon_dense_matrix *m, double *room, kaon_dense_info *info) {
  double *pivots = room + m->rows, norm;
  int64_t least = 0;
  KAON_TRY(norm_1(m, room, &norm));
  if (isnan(norm))
    return kaon_fail(m->lattice->ctx, KAON_ERR_NOT_FINITE,
                     "dense inverse: a matrix of the coarse operator has a number that is not "
                     "finite");
  KAON_TRY(invert(m, pivots));
  for (int64_t i = 1; i < m->rows; i++)
    if (pivots[i] < pivots[least]) least = i;
  if (pivots[least] == 0) return singular(m, least, 0, INFINITY);
  *info = (kaon_dense_info){.rows = m->rows};
  KAON_TRY(norm_1(m, room, &info->inverse_norm));
  info->condition = norm * info->inverse_norm;
  return info->condition < 1 / DBL_EPSILON ? KAON_OK
                                           : singular(m, least, pivots[least], info->condition);
}

kaon_status kaon_dense_matrix_invert(kaon_dense_matrix *m, kaon_dense_info *info) {
  KAON_AUTOFREE double *room = malloc(2 * (size_t)m->rows * sizeof *room);
  KAON_TRY(KAON_CHECK_MEMORY(m->lattice->ctx, room != NULL,
                             "dense inverse: out of host memory for %lld pivots",
                             (long long)m->rows));
  return invert_checked(m, room, info);
}
