/* fsai.c - factorised sparse approximate inverses (sparse/precond/factors.h).
 *
 * Row i of G has a pattern J with i as its last column. With A_JJ = L L^H, the row is the last row
 * of L^-1. Then g A_JJ = e^T L^H vanishes except in column i, and g A_JJ g^H = 1. Rows are
 * independent, so threads share them dynamically, and bits do not depend on which thread had which
 * row. */
#include <stdlib.h>
#include <string.h>

#include "blas/dense.h"
#include "sparse/precond/factors.h"
#include "sparse/storage/host_memory.h"
#include "sparse/storage/number.h"

typedef struct work {
  const kaon_csr *A; /* scaled */
  const double *scale;
  int power, threads;
} work;

/* Workspace of a thread. */
typedef struct room {
  int32_t *seen; /* [rows] 1 + the last row whose pattern contained it */
  int32_t *list; /* [rows] */
  double *dense; /* A_JJ, then its factor */
} room;

static int allocate_workspace(const work *w, int64_t longest, room *r) {
  const size_t rows = (size_t)w->A->rows + 1;
  const size_t numbers = (size_t)(longest * longest * w->A->reals);
  r->seen = calloc(rows, sizeof *r->seen);
  r->list = malloc(rows * sizeof *r->list);
  r->dense = malloc((numbers + 1) * sizeof *r->dense);
  return r->seen != NULL && r->list != NULL && r->dense != NULL;
}

static void free_workspace(room *r) {
  free(r->seen);
  free(r->list);
  free(r->dense);
}

/* ---- the pattern ---- */

/* Lists row i's columns in r->list: those that `power` steps along A's entries reach, up to i,
 * unordered. Returns their number. */
static int32_t find_columns(const work *w, int64_t i, room *r) {
  const kaon_csr *A = w->A;
  const int32_t stamp = (int32_t)i + 1;
  int32_t count = 0, kept = 0, from = 0;
  r->seen[i] = stamp;
  r->list[count++] = (int32_t)i;
  for (int step = 0; step < w->power; step++)
    for (const int32_t end = count; from < end; from++) {
      const int64_t row = r->list[from];
      for (int64_t n = A->start[row]; n < A->start[row + 1]; n++) {
        const int32_t j = A->column[n];
        if (r->seen[j] == stamp) continue;
        r->seen[j] = stamp;
        r->list[count++] = j;
      }
    }
  for (int32_t n = 0; n < count; n++)
    if (r->list[n] <= i) r->list[kept++] = r->list[n];
  return kept;
}

/* length[i]: columns of row i of the pattern. Returns 0 without memory. */
static int count_columns(const work *w, int64_t *length) {
  int failed = 0;
#pragma omp parallel num_threads(w->threads) reduction(| : failed)
  {
    room r;
    failed = !allocate_workspace(w, 0, &r);
#pragma omp for schedule(dynamic, 64)
    for (int64_t i = 0; i < w->A->rows; i++)
      if (!failed) length[i] = find_columns(w, i, &r);
    free_workspace(&r);
  }
  return !failed;
}

/* ---- rows ---- */

/* Gathers the upper triangle of A_JJ from A's entries below the diagonal. A dense row then costs
 * its length once, not once for each row that contains it. */
static inline void gather(const kaon_csr *A, const int32_t *J, int n, double *dense, int reals) {
  memset(dense, 0, (size_t)n * (size_t)n * (size_t)reals * sizeof *dense);
  for (int m = 0; m < n; m++) {
    int k = 0;
    for (int64_t at = A->start[J[m]]; at < A->start[J[m] + 1] && A->column[at] <= J[m]; at++) {
      while (J[k] < A->column[at]) k++;
      if (J[k] == A->column[at])
        kaon_number_put(dense, (int64_t)k * n + m, reals,
                        kaon_number_conjugate(kaon_number_at(A->value, at, reals), reals));
    }
  }
}

/* Computes row i of G, whose columns are set. Returns 0, or 1 + the position in its pattern of the
 * pivot that broke down. */
static inline int solve_row(const work *w, kaon_csr *G, int64_t i, double *U, double *pivot,
                            int reals) {
  const int32_t *J = G->column + G->start[i];
  double *g = G->value + G->start[i] * reals;
  const int n = (int)(G->start[i + 1] - G->start[i]);
  gather(w->A, J, n, U, reals);
  const int broken = kaon_dense_cholesky(n, reals, U, KAON_SMALLEST_PIVOT, pivot);
  if (broken) return broken;
  for (int k = n - 1; k >= 0; k--) { /* L^T g = e, L = U^H */
    kaon_number sum = {k == n - 1, 0};
    for (int m = k + 1; m < n; m++) {
      const kaon_number u = kaon_number_at(U, (int64_t)k * n + m, reals);
      sum = kaon_number_less(sum, kaon_number_conjugate(u, reals), kaon_number_at(g, m, reals),
                             reals);
    }
    const double diagonal = kaon_number_at(U, (int64_t)k * n + k, reals).re;
    kaon_number_put(g, k, reals, (kaon_number){sum.re / diagonal, sum.im / diagonal});
  }
  for (int k = 0; k < n * reals; k++) g[k] *= w->scale[J[k / reals]];
  return 0;
}

/* Fills in columns and values of all rows. Returns 0 without memory. *where: the first row that
 * broke down, with its pivot; rows after it may be missing. */
static int fill_rows(const work *w, int64_t longest, kaon_csr *G, kaon_bad_pivot *where) {
  int failed = 0;
  *where = (kaon_bad_pivot){INT64_MAX, {0, 0}};
#pragma omp parallel num_threads(w->threads) reduction(| : failed)
  {
    room r;
    int64_t broken = INT64_MAX; /* the first row that broke down in this thread */
    failed = !allocate_workspace(w, longest, &r);
#pragma omp for schedule(dynamic, 64)
    for (int64_t i = 0; i < G->rows; i++) {
      double pivot;
      if (failed || i > broken) continue;
      const size_t count = (size_t)find_columns(w, i, &r);
      qsort(r.list, count, sizeof *r.list, kaon_ascending);
      memcpy(G->column + G->start[i], r.list, count * sizeof *r.list);
      const int bad = G->reals == 1 ? solve_row(w, G, i, r.dense, &pivot, 1)
                                    : solve_row(w, G, i, r.dense, &pivot, 2);
      if (!bad) continue;
      broken = i;
#pragma omp critical(kaon_fsai)
      if (i < where->row) *where = (kaon_bad_pivot){i, {pivot, 0}};
    }
    free_workspace(&r);
  }
  return !failed;
}

static kaon_status no_memory(const kaon_context *ctx, int64_t rows) {
  return kaon_fail(ctx, KAON_ERR_MEMORY, "fsai: out of host memory for %lld rows", (long long)rows);
}

/* Refuses dense systems that cannot fit into memory. */
static kaon_status require_memory(const kaon_context *ctx, const work *w, int64_t longest) {
  const double need = 8.0 * w->A->reals * (double)longest * (double)longest;
  const double have = (double)kaon_host_memory();
  if (need * w->threads <= have) return KAON_OK;
  return kaon_fail(
      ctx, KAON_ERR_MEMORY,
      "fsai: the longest row of the pattern has %lld entries, whose dense system takes "
      "%.3f GB of host memory, on %d thread%s at once, but the machine has %.3f GB; take "
      "%s%sanother kind",
      (long long)longest, need * 1e-9, w->threads, w->threads > 1 ? "s" : "", have * 1e-9,
      w->power > 1 ? "a smaller power, or " : "", w->threads > 1 ? "fewer threads, or " : "");
}

/* Makes G from what w has. */
static kaon_status make_rows(const kaon_context *ctx, const work *w, kaon_csr **G,
                             kaon_bad_pivot *where) {
  const int64_t rows = w->A->rows;
  kaon_bad_pivot broken;
  int64_t entries = 0, longest = 0;
  int64_t *length = malloc(((size_t)rows + 1) * sizeof *length);
  if (length == NULL || !count_columns(w, length)) {
    free(length);
    return no_memory(ctx, rows);
  }
  for (int64_t i = 0; i < rows; i++) {
    entries += length[i];
    if (length[i] > longest) longest = length[i];
  }
  kaon_status status = require_memory(ctx, w, longest);
  if (status == KAON_OK) status = kaon_csr_create(ctx, rows, rows, w->A->reals, entries, G);
  for (int64_t i = 0; i < rows && status == KAON_OK; i++)
    (*G)->start[i + 1] = (*G)->start[i] + length[i];
  free(length);
  if (status != KAON_OK) return status;
  if (!fill_rows(w, longest, *G, &broken)) return no_memory(ctx, rows);
  if (broken.row == INT64_MAX) return KAON_OK;
  *where = broken;
  return kaon_fail(
      ctx, KAON_ERR_SINGULAR,
      "fsai: the system of row %lld (counted from 1) is not positive definite: a pivot "
      "is %g (its diagonal entry scaled to 1)",
      (long long)broken.row + 1, broken.pivot[0]);
}

kaon_status kaon_fsai_create(const kaon_context *ctx, const kaon_csr *A, const kaon_fsai_how *how,
                             kaon_inverse_factors *factors, kaon_bad_pivot *where) {
  *factors = (kaon_inverse_factors){NULL, NULL};
  if (A->columns < A->rows || how->power < 1 || how->threads < 1)
    return kaon_fail(ctx, KAON_ERR_ARGUMENT,
                     "fsai: a matrix of %lld rows and %lld columns, power %d and %d threads asked "
                     "for; the matrix must have at least as many columns as rows, the others be 1 "
                     "or more",
                     (long long)A->rows, (long long)A->columns, how->power, how->threads);
  KAON_AUTOFREE double *scale = malloc(((size_t)A->rows + 1) * sizeof *scale);
  KAON_AUTO(kaon_csr_destroy) kaon_csr *copy = NULL;
  if (scale == NULL) return no_memory(ctx, A->rows);
  kaon_status status = kaon_unit_diagonal(ctx, A, how->shift, scale, &copy);
  if (status == KAON_OK) {
    const work w = {copy, scale, how->power, how->threads};
    status = make_rows(ctx, &w, &factors->first, where);
  }
  if (status == KAON_OK) status = kaon_csr_transpose(ctx, factors->first, 1, &factors->second);
  if (status != KAON_OK) kaon_inverse_factors_destroy(factors);
  return status;
}
