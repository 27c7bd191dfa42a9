/* galerkin.c - the coarse operator V^dagger A V, for any operator with couplings.
 *
 * A is what stays within aggregates plus the hops that leave them, in eight directions. With the
 * hops of direction d, column (h, j) of the matrix at aggregate X is V^dagger applied to the hops of
 * half h of vector j: only numbers of the aggregate next to X in direction d get there. So each
 * part of A is applied to all vectors at once, of one half, and restricting the result gives the
 * columns of a matrix field. */
#include <string.h>

#include "multigrid/hierarchy.h"

/* Direction KAON_DIRS: what stays within aggregates. */
static kaon_status part_of(kaon_operator *A, const int block[4], int direction,
                           kaon_operator **part) {
  if (direction < KAON_DIRS) {
    const kaon_coupling which = {direction, block[direction % 4], A->precision,
                                 KAON_RECONSTRUCT_18};
    return kaon_couplings_of(A)->couple(A, &which, part);
  }
  const kaon_local how = {
      {block[0], block[1], block[2], block[3]}, A->precision, KAON_RECONSTRUCT_18, 0};
  return A->ops->local(A, &how, part, NULL);
}

static kaon_status restrict_part(kaon_operator *part, const kaon_transfer *transfer, int direction,
                                 int half, const kaon_vector *v, kaon_vector *w,
                                 kaon_vector *coarse, kaon_vector *matrix) {
  const int n = transfer->vectors;
  KAON_TRY(kaon_operator_run(part, KAON_PLAIN, v, w, NULL));
  KAON_TRY(direction < KAON_DIRS ? kaon_transfer_restrict_face(transfer, direction, w, coarse)
                                 : kaon_transfer_restrict(transfer, w, coarse, NULL));
  return kaon_vector_copy_columns(matrix, half * n, coarse, 0, n);
}

static kaon_status all_parts(kaon_operator *A, const kaon_transfer *transfer, kaon_vector *v,
                             kaon_vector *w, kaon_vector *coarse, const kaon_coarse_links *links) {
  for (int direction = 0; direction <= KAON_DIRS; direction++) {
    KAON_AUTO(kaon_operator_destroy) kaon_operator *part = NULL;
    kaon_vector *matrix = direction < KAON_DIRS ? links->hop[direction] : links->inside;
    KAON_TRY(part_of(A, transfer->aggregates->block, direction, &part));
    for (int half = 0; half < 2; half++) {
      KAON_TRY(kaon_transfer_half(transfer, half, v));
      KAON_TRY(restrict_part(part, transfer, direction, half, v, w, coarse, matrix));
    }
  }
  return KAON_OK;
}

kaon_status kaon_galerkin(kaon_operator *A, const kaon_transfer *transfer, kaon_vector *v,
                          kaon_vector *w, const kaon_coarse_links *links) {
  KAON_AUTO(kaon_vector_destroy) kaon_vector *coarse = NULL;
  KAON_TRY(kaon_vector_create(A->ctx, transfer->coarse, transfer->coarse_precision,
                              transfer->vectors, &coarse));
  return all_parts(A, transfer, v, w, coarse, links);
}
