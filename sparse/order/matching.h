/* matching.h - the structural rank: how many rows can each have a column of their own. */
#pragma once

#include "sparse/storage/csr.h"

/* *rank: the largest number of rows that can each be matched with a different column in which they
 * have a nonzero entry. If it is smaller than the number of rows, no values of the entries make the
 * matrix regular. taken[rows], owned by the caller: 1 for the rows of one such matching. Errors:
 * MEMORY. */
kaon_status kaon_csr_structural_rank(const kaon_context *ctx, const kaon_csr *a, int64_t *rank,
                                     char *taken);
