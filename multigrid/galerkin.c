/* galerkin.c - the coarse operator V^dagger A V, for any operator with couplings.
 *
 * A is what stays within aggregates plus the hops that leave them, in eight directions. With the
 * hops of direction d, column (h, j) of the matrix at aggregate X is V^dagger applied to the hops of
 * half h of vector j: only numbers of the aggregate next to X in direction d get there. So each
 * part of A is applied to vectors of one half, some at once, and restricting the result gives the
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

/* Vectors for some columns at a time. v: half of the basis's; w: the part applied to it. */
typedef struct room {
  kaon_vector *v, *w, *coarse;
} room;

static kaon_status take(const kaon_operator *A, const kaon_transfer *t, int columns, room *r) {
  KAON_TRY(kaon_vector_create(A->ctx, A->space, A->precision, columns, &r->v));
  KAON_TRY(kaon_vector_create(A->ctx, A->space, A->precision, columns, &r->w));
  return kaon_vector_create(A->ctx, t->coarse, t->coarse_precision, columns, &r->coarse);
}

static void release(room *r) {
  kaon_vector_destroy(&r->v);
  kaon_vector_destroy(&r->w);
  kaon_vector_destroy(&r->coarse);
}

/* Columns `first` and following of one half, as many as the room has or the basis has left. */
static kaon_status some_columns(kaon_operator *part, const kaon_transfer *t, int direction,
                                int half, int first, const room *r, kaon_vector *matrix) {
  const int left = t->vectors - first, count = left < r->v->nrhs ? left : r->v->nrhs;
  KAON_TRY(kaon_transfer_half(t, half, first, count, r->v));
  KAON_TRY(kaon_operator_run(part, KAON_PLAIN, r->v, r->w, NULL));
  KAON_TRY(direction < KAON_DIRS ? kaon_transfer_restrict_face(t, direction, r->w, r->coarse)
                                 : kaon_transfer_restrict(t, r->w, r->coarse, NULL));
  return kaon_vector_copy_columns(matrix, half * t->vectors + first, r->coarse, 0, count);
}

static kaon_status all_parts(kaon_operator *A, const kaon_transfer *t, const room *r,
                             const kaon_coarse_links *links) {
  for (int direction = 0; direction <= KAON_DIRS; direction++) {
    KAON_AUTO(kaon_operator_destroy) kaon_operator *part = NULL;
    kaon_vector *matrix = direction < KAON_DIRS ? links->hop[direction] : links->inside;
    KAON_TRY(part_of(A, t->aggregates->block, direction, &part));
    for (int half = 0; half < 2; half++)
      for (int first = 0; first < t->vectors; first += r->v->nrhs)
        KAON_TRY(some_columns(part, t, direction, half, first, r, matrix));
  }
  return KAON_OK;
}

kaon_status kaon_galerkin(kaon_operator *A, const kaon_transfer *transfer,
                          const kaon_coarse_links *links) {
  room r = {NULL, NULL, NULL};
  kaon_status status = take(A, transfer, kaon_setup_columns(transfer->vectors), &r);
  if (status == KAON_OK) status = all_parts(A, transfer, &r, links);
  release(&r);
  return status;
}
