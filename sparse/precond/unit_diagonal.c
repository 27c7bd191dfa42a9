/* unit_diagonal.c - scales rows to a diagonal of size 1, so that what approximate inverses drop or
 * refuse does not depend on units (sparse/precond/factors.h). */
#include "sparse/precond/factors.h"
#include "sparse/storage/number.h"

static void find_scale(const kaon_csr *A, double *scale) {
  for (int64_t i = 0; i < A->rows; i++) {
    const int64_t n = kaon_csr_find(A, i, (int32_t)i);
    const double size =
        n < 0 ? 0 : kaon_number_size(kaon_number_at(A->value, n, A->reals), A->reals);
    scale[i] = size > 0 ? 1 / sqrt(size) : 1;
  }
}

kaon_status kaon_unit_diagonal(const kaon_context *ctx, const kaon_csr *A, double shift,
                               double *scale, kaon_csr **scaled) {
  int64_t entries = 0, at = 0;
  find_scale(A, scale);
  for (int64_t n = A->start[0]; n < A->start[A->rows]; n++) entries += A->column[n] < A->rows;
  KAON_TRY(kaon_csr_create(ctx, A->rows, A->rows, A->reals, entries, scaled));
  for (int64_t i = 0; i < A->rows; i++) {
    for (int64_t n = A->start[i]; n < A->start[i + 1]; n++) {
      const int64_t j = A->column[n];
      if (j >= A->rows) continue;
      const double factor = (j == i ? 1 + shift : 1) * scale[i] * scale[j];
      (*scaled)->column[at] = A->column[n];
      for (int c = 0; c < A->reals; c++)
        (*scaled)->value[at * A->reals + c] = A->value[n * A->reals + c] * factor;
      at++;
    }
    (*scaled)->start[i + 1] = at;
  }
  return KAON_OK;
}
