/* matching.h - how many rows of a matrix can each be given a column of its own. */
#ifndef KAON_SPARSE_MATCHING_H
#define KAON_SPARSE_MATCHING_H

#include "sparse/storage/csr.h"

/* *rank: the most rows that can each be given a column of its own in which it has an entry other
 * than 0. Fewer than all: no numbers in the place of the entries would make the matrix regular.
 * taken[rows], the caller's: 1 of the rows that one such choice gives a column. Errors: MEMORY. */
kaon_status kaon_csr_structural_rank(const kaon_context *ctx, const kaon_csr *a, int64_t *rank,
                                     char *taken);

#endif
