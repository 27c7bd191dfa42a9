/* block_inverses.c - inverses of the diagonal blocks of a matrix, as rows. */
#include <stdlib.h>

#include "blas/dense.h"
#include "sparse/precond/factors.h"
#include "sparse/storage/number.h"

/* Gathers A's rows first ... first + n - 1, restricted to the same columns, as a dense matrix. */
static void gather(const kaon_csr *A, int64_t first, int n, double shift, double *block) {
  const int reals = A->reals;
  for (int c = 0; c < n * n * reals; c++) block[c] = 0;
  for (int i = 0; i < n; i++)
    for (int64_t m = A->start[first + i]; m < A->start[first + i + 1]; m++) {
      const int64_t j = A->column[m] - first;
      if (j < 0 || j >= n) continue;
      const double factor = j == i ? 1 + shift : 1;
      for (int c = 0; c < reals; c++)
        block[(i * n + j) * reals + c] = factor * A->value[m * reals + c];
    }
}

/* Symmetrises the inverse of a Hermitian block, which is Hermitian only up to rounding. */
static void make_hermitian(int n, int reals, double *a) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j <= i; j++) {
      double *x = a + (i * n + j) * reals, *y = a + (j * n + i) * reals;
      x[0] = y[0] = 0.5 * (x[0] + y[0]);
      if (reals == 1) continue;
      x[1] = 0.5 * (x[1] - y[1]);
      y[1] = -x[1];
    }
}

static kaon_status invert_all(const kaon_context *ctx, const kaon_csr *A, int block, int hermitian,
                              double shift, double *dense, kaon_csr *inverses,
                              kaon_bad_pivot *where) {
  const int reals = A->reals;
  int64_t at = 0;
  for (int64_t first = 0; first < A->rows; first += block) {
    const int n = (int)(A->rows - first < block ? A->rows - first : block);
    double pivot = 0;
    gather(A, first, n, shift, dense);
    if (kaon_dense_invert(n, reals, dense, &pivot) != 0) {
      *where = (kaon_bad_pivot){first, {pivot, 0}};
      return kaon_fail(ctx, KAON_ERR_SINGULAR,
                       "block inverses: the block of %d rows from row %lld (counted from 1) on is "
                       "singular (%g left for a pivot)",
                       n, (long long)first + 1, pivot);
    }
    if (hermitian) make_hermitian(n, reals, dense);
    for (int i = 0; i < n; i++) {
      for (int j = 0; j < n; j++) {
        inverses->column[at] = (int32_t)(first + j);
        kaon_number_put(inverses->value, at++, reals, kaon_number_at(dense, i * n + j, reals));
      }
      inverses->start[first + i + 1] = at;
    }
  }
  return KAON_OK;
}

kaon_status kaon_block_inverses(const kaon_context *ctx, const kaon_csr *A, int block,
                                int hermitian, double shift, kaon_csr **inverses,
                                kaon_bad_pivot *where) {
  *inverses = NULL;
  if (A->columns < A->rows || block < 1 || block > KAON_DENSE_MAX)
    return kaon_fail(ctx, KAON_ERR_ARGUMENT,
                     "block inverses: blocks of %d rows of a matrix of %lld rows and %lld columns "
                     "asked for; blocks have 1 to %d rows, the matrix at least as many columns",
                     block, (long long)A->rows, (long long)A->columns, (int)KAON_DENSE_MAX);
  const int64_t rest = A->rows % block;
  KAON_AUTOFREE double *dense = malloc((size_t)(block * block * A->reals) * sizeof *dense);
  if (dense == NULL) return kaon_fail(ctx, KAON_ERR_MEMORY, "block inverses: out of host memory");
  kaon_status status = kaon_csr_create(ctx, A->rows, A->rows, A->reals,
                                       (A->rows - rest) * block + rest * rest, inverses);
  if (status == KAON_OK)
    status = invert_all(ctx, A, block, hermitian, shift, dense, *inverses, where);
  if (status != KAON_OK) kaon_csr_destroy(inverses);
  return status;
}
