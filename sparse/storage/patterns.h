/* patterns.h - finds blocks of rows with the same columns relative to their first rows. On grids,
 * and wherever a stencil or an element repeats, a few patterns serve nearly all blocks. */
#pragma once

#include "lib/core/context_internal.h"
#include "sparse/storage/csr.h"

/* like[b], b < blocks of `width` rows: the first block with the same pattern as b. The same pattern
 * means equal lengths of rows and equal columns relative to the block's first row, for local
 * columns and ghosts (from rows->rows on). like[b] = b if there is none before, and for an
 * incomplete block. Errors: MEMORY. */
kaon_status kaon_patterns_find(kaon_context *ctx, const kaon_csr *rows, int width, int64_t blocks,
                               int32_t *like);
