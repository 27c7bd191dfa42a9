/* ranks.c - see ranks.h. */
#include "sparse/ranks.h"

kaon_status kaon_ranks_hermitian(kaon_matrix *matrix, const kaon_csr *given) {
  (void)given;
  if (matrix->ctx->comm->ranks == 1) return KAON_OK;
  return kaon_fail(matrix->ctx, KAON_ERR_UNSUPPORTED, "matrix: several ranks are not offered");
}

/* Rows of the space in the caller's order, as triplets of the adjoint. */
kaon_status kaon_ranks_adjoint(kaon_matrix *matrix, const kaon_row_set *set, kaon_csr **given) {
  const kaon_csr *a = set->rows;
  kaon_csr *own = NULL;
  *given = NULL;
  if (matrix->place == NULL) return kaon_csr_transpose(matrix->ctx, a, 1, given);
  KAON_TRY(kaon_csr_permute(matrix->ctx, a, matrix->place, &own));
  const kaon_status status = kaon_csr_transpose(matrix->ctx, own, 1, given);
  kaon_csr_destroy(&own);
  return status;
}
