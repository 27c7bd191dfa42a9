/* rank_rows.h - communication between ranks while a matrix is set up: sends entries to the rank
 * that has their row. */
#pragma once

#include "sparse/storage/matrix.h"

/* A = A^H, -A^H, A^T, -A^T: bit mask of what holds. */
enum {
  KAON_HERMITIAN = 1,
  KAON_SKEW = 2,
  KAON_SYMMETRIC = 4,
  KAON_ANTISYMMETRIC = 8,
  KAON_MIRRORED = 15
};
/* How A compares with its adjoint. */
typedef struct kaon_mirror {
  int same;      /* what holds exactly */
  double off[2]; /* the largest entry of A - A^H, and of A + A^H. Entry (i, j) is relative to the
                    largest entry of row i or of row j, whichever is smaller */
} kaon_mirror;
/* Takes in an entry and its counterpart in the adjoint; NULL: A has no such entry. least: the
 * smaller of both rows' largest entries. */
void kaon_mirror_take(kaon_mirror *mirror, const double *value, const double *adjoint, int reals,
                      double least);
/* *mirror: on entry for this rank's own square block, on return for all of A. given: rows with
 * columns of the whole matrix, in the caller's order. largest: entry of each row. Collective. */
kaon_status kaon_ranks_mirror(const kaon_matrix *matrix, const kaon_csr *given,
                              const double *largest, kaon_mirror *mirror);
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
