/* row_distribution.c - describes the distribution of a matrix' rows over ranks, and its
 * messages. */
#include <stdio.h>
#include <stdlib.h>

#include "sparse/storage/matrix.h"
#include "lib/core/output.h"
#include "lib/core/entry.h"

kaon_status kaon_matrix_describe_distribution(const kaon_matrix *matrix,
                                              kaon_matrix_distribution *shares) {
  KAON_ENTER(KAON_OF(matrix), matrix, shares);
  KAON_TRY(kaon_output_check(matrix->ctx, "kaon_matrix_distribution", shares));
  enum { ROWS, ENTRIES, GHOSTS, CUT, NUMBERS };
  kaon_context *ctx = matrix->ctx;
  const kaon_row_set *set = matrix->rows;
  const kaon_csr *a = set->rows;
  double mine[NUMBERS] = {[ROWS] = (double)a->rows, [ENTRIES] = (double)a->start[a->rows]};
  for (int64_t n = 0; n < set->ghosts; n++) mine[GHOSTS] += set->ghost_row[n] >= 0;
  for (int64_t n = 0; n < a->start[a->rows] && set->ghosts > 0; n++)
    mine[CUT] += a->column[n] >= a->rows;
  KAON_AUTOFREE double *all = malloc((size_t)ctx->comm->ranks * NUMBERS * sizeof *all);
  kaon_status status = KAON_AGREE_MEMORY(
      ctx, all != NULL, "matrix shares: out of host memory for %d ranks", ctx->comm->ranks);
  if (status == KAON_OK) status = ctx->comm->ops->gather(ctx->comm, mine, NUMBERS, all);
  kaon_matrix_distribution made = {.moved = matrix->redistribution != NULL,
                                   .rows = a->rows,
                                   .entries = a->start[a->rows],
                                   .ghosts = (int64_t)mine[GHOSTS]};
  snprintf(made.how, sizeof made.how, "%s", matrix->shared);
  for (int r = 0; r < ctx->comm->ranks && status == KAON_OK; r++) {
    const double *n = all + (size_t)r * NUMBERS;
    if ((int64_t)n[ROWS] > made.most_rows) made.most_rows = (int64_t)n[ROWS];
    if ((int64_t)n[ENTRIES] > made.most_entries) made.most_entries = (int64_t)n[ENTRIES];
    if ((int64_t)n[GHOSTS] > made.most_ghosts) made.most_ghosts = (int64_t)n[GHOSTS];
    made.all_ghosts += (int64_t)n[GHOSTS];
    made.cut += (int64_t)n[CUT];
  }
  if (status == KAON_OK) kaon_output_fill(shares, &made, sizeof made);
  return status;
}
