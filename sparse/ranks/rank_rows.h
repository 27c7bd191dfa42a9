/* rank_rows.h - communication between ranks while a matrix is set up: sends entries to the rank
 * that has their row. */
#pragma once

#include <math.h>

#include "sparse/storage/matrix.h"

/* A = A^H, -A^H, A^T, -A^T: bit mask of what holds. */
enum {
  KAON_HERMITIAN = 1,
  KAON_SKEW = 2,
  KAON_SYMMETRIC = 4,
  KAON_ANTISYMMETRIC = 8,
  KAON_MIRRORED = 15
};
/* How A compares with its adjoint. Entry (i, j) of A - A^H or A + A^H counts relative to the
 * largest entry of row i or of row j, whichever is smaller. */
typedef struct kaon_mirror {
  int same;   /* what holds exactly */
  int skew;   /* 1: all entries of A + A^H are at most KAON_SYMMETRIC_TO */
  double off; /* the largest entry of A - A^H */
} kaon_mirror;
/* Takes in entry (i, j) and entry (j, i); NULL: A has no such entry. largest: entries of both
 * rows. */
static inline void kaon_mirror_take(kaon_mirror *m, const double *value, const double *mirrored,
                                    int reals, const double *largest_i, const double *largest_j) {
  if (mirrored == NULL) m->same = 0;
  for (int c = 0; c < reals; c++) {
    const double a = value[c], b = mirrored == NULL ? 0 : c == 0 ? mirrored[0] : -mirrored[1];
    const double minus = fabs(a - b), plus = fabs(a + b);
    if (minus != 0) {
      const double off = minus / (*largest_i < *largest_j ? *largest_i : *largest_j);
      m->same &= ~(KAON_HERMITIAN | (c == 0 ? KAON_SYMMETRIC : KAON_ANTISYMMETRIC));
      if (off > m->off) m->off = off;
    }
    if (plus != 0) {
      m->same &= ~(KAON_SKEW | (c == 0 ? KAON_ANTISYMMETRIC : KAON_SYMMETRIC));
      if (m->skew)
        m->skew = plus / (*largest_i < *largest_j ? *largest_i : *largest_j) <= KAON_SYMMETRIC_TO;
    }
  }
}
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
  const int own = matrix->ctx->comm->rank;
  int low = 0, high = matrix->ctx->comm->ranks;
  if (matrix->first_rows[own] <= row && row < matrix->first_rows[own + 1]) return own;
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    if (matrix->first_rows[middle] <= row)
      low = middle;
    else
      high = middle;
  }
  return low;
}
