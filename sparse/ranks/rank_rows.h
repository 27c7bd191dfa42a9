/* rank_rows.h - communication between ranks while a matrix is set up: sends entries to the rank
 * that has their row. */
#ifndef KAON_SPARSE_RANKS_H
#define KAON_SPARSE_RANKS_H

#include "sparse/storage/matrix.h"

/* A = A^H, -A^H, A^T, -A^T: bit mask of what holds. */
enum {
  KAON_HERMITIAN = 1,
  KAON_SKEW = 2,
  KAON_SYMMETRIC = 4,
  KAON_ANTISYMMETRIC = 8,
  KAON_MIRRORED = 15
};
/* Which of them hold for an entry and its counterpart in the adjoint. */
int kaon_ranks_same(const double *value, const double *adjoint, int reals);
/* *same: on entry what holds for this rank's own square block, on return what holds for all of A.
 * given: rows with columns of the whole matrix, in the caller's order. Collective. */
kaon_status kaon_ranks_hermitian(const kaon_matrix *matrix, const kaon_csr *given, int *same);
/* This rank's rows of the adjoint of `set` (in the matrix' space). They are in the caller's order,
 * with columns of the whole matrix. Collective. */
kaon_status kaon_ranks_adjoint(kaon_matrix *matrix, const kaon_row_set *set, kaon_csr **given);

/* Sends items of `bytes` each to other ranks: count[rank] of them, in one array `items` by rank.
 * *received has the items from other ranks, came[rank] of them, by rank; release it with free(). A
 * rank's own items are passed through. Collective. Errors: MEMORY, COMM. */
kaon_status kaon_ranks_trade(kaon_context *ctx, size_t bytes, const int64_t *count,
                             const void *items, int64_t *came, void **received);
/* The direction (lib/comm/comm.h) of messages to a rank. It is opposite on both sides. With up to 9
 * ranks, each has a direction of its own. */
int kaon_ranks_direction(const kaon_comm *comm, int peer);

/* The rank that has a row of the whole matrix. */
static inline int kaon_rank_of_row(const kaon_matrix *matrix, int64_t row) {
  int low = 0, high = matrix->ctx->comm->ranks;
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    if (matrix->first_rows[middle] <= row)
      low = middle;
    else
      high = middle;
  }
  return low;
}

#endif
