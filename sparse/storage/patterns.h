/* patterns.h - blocks of rows whose columns are the same as seen from their first rows: on grids,
 * and wherever a stencil or an element repeats, a few patterns serve nearly all blocks. */
#ifndef KAON_SPARSE_PATTERNS_H
#define KAON_SPARSE_PATTERNS_H

#include "lib/core/context_internal.h"
#include "sparse/storage/csr.h"

/* like[b], b < blocks of `width` rows: the first block whose rows have as many entries as those of
 * b each, in the same places relative to the first row of the block, own columns and ghosts (from
 * rows->rows on) alike; b itself where there is none before, and for a block that is not whole.
 * Errors: MEMORY. */
kaon_status kaon_patterns_find(kaon_context *ctx, const kaon_csr *rows, int width, int64_t blocks,
                               int32_t *like);

#endif
