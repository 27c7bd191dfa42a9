/* pipeline.h - how several threads go through the rows of a triangle at one time, each of them in
 * the order of numbers. Rows are cut into strips where one has nothing to wait for nearby (the
 * first of a plane, on grids); thread t has strips t, t + threads, ..., and goes through one piece
 * by piece behind the threads that have the strips before, which have to have passed what the piece
 * needs. So each works on rows that lie together, and a grid of n planes keeps up to n threads
 * busy. Rows of a level, which do not wait for each other, lie far apart. */
#ifndef KAON_SPARSE_PIPELINE_H
#define KAON_SPARSE_PIPELINE_H

#include "lib/core/context_internal.h"
#include "sparse/storage/csr.h"
#include "sparse/order/orderings.h"
#include "sparse/sparse_ops.h"

/* For the strict triangle T, whose entries are below the diagonal (order 1) or above it (-1), its
 * levels and the context's threads. *pipeline NULL: there are no strips that would gain, or levels
 * gain more. Takes at most some ten looks at T's entries. Errors: MEMORY. */
kaon_status kaon_pipeline_create(const kaon_context *ctx, const kaon_csr *T, int order,
                                 const kaon_level_sets *sets, kaon_pipeline **pipeline);
void kaon_pipeline_destroy(kaon_pipeline **pipeline); /* NULL allowed */

#endif
