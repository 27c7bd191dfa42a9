/* pipeline.h - how several threads process the rows of a triangle concurrently, each in index
 * order. Rows are cut into strips where a row depends on no nearby row (on grids, the first row of
 * a plane). Thread t has strips t, t + threads, .... It processes a strip chunk by chunk. Before
 * each chunk it waits until the threads of the previous strips have passed the rows that the chunk
 * needs. So each thread works on adjacent rows, and a grid of n planes keeps up to n threads busy.
 * By contrast, rows of a level, which do not depend on each other, are far apart. */
#pragma once

#include "lib/core/context_internal.h"
#include "sparse/storage/csr.h"
#include "sparse/order/orderings.h"
#include "sparse/sparse_ops.h"

/* For the strict triangle T, whose entries are below the diagonal (order 1) or above it (-1), its
 * level sets and the context's threads. *pipeline is NULL if no strips gain, or levels gain more.
 * It reads T's entries some ten times at most. Errors: MEMORY. */
kaon_status kaon_pipeline_create(const kaon_context *ctx, const kaon_csr *T, int order,
                                 const kaon_level_sets *sets, kaon_pipeline **pipeline);
void kaon_pipeline_destroy(kaon_pipeline **pipeline); /* NULL allowed */
