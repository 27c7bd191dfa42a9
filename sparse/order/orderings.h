/* orderings.h - permutations, colours, levels and shares of the rows of a square matrix, from its
 * pattern alone. "Neighbours" are rows that an entry (i, j) or (j, i) joins: the symmetrised
 * pattern, without the diagonal. Columns beyond the rows (ghosts) join nothing. All results are
 * functions of the pattern: no random number, no thread's race. Arrays are the caller's, of
 * csr->rows numbers, unless something else is said. Not collective. */
#ifndef KAON_SPARSE_ORDERINGS_H
#define KAON_SPARSE_ORDERINGS_H

#include "sparse/storage/csr.h"

/* The symmetrised pattern. */
typedef struct kaon_graph {
  int64_t vertices;
  int64_t *start;     /* [vertices + 1] */
  int32_t *neighbour; /* ascending within a vertex, neither itself nor one twice */
} kaon_graph;

/* Errors: ARGUMENT (fewer columns than rows), MEMORY. */
kaon_status kaon_graph_create(const kaon_context *ctx, const kaon_csr *csr, kaon_graph **graph);
void kaon_graph_destroy(kaon_graph **graph); /* NULL allowed */

/* max |i - j| over the entries within the rows' own columns, rows and columns in this order (NULL:
 * as they stand). */
int64_t kaon_bandwidth(const kaon_csr *csr, const int32_t *where);

/* Reverse Cuthill-McKee: row order[i] becomes row i (as kaon_csr_permute has it). Each connected
 * part begins at a pseudo-peripheral vertex by George and Liu, searched for from the part's first
 * row. A part whose bandwidth does not shrink keeps its rows in the order that they had, so the
 * result's is never above the given one. Sources: Cuthill, McKee, Proc. 24th ACM Conf. (1969) 157;
 * George, Liu, ACM Trans. Math. Softw. 5 (1979) 284. Errors: ARGUMENT, MEMORY. */
kaon_status kaon_order_rcm(const kaon_context *ctx, const kaon_csr *csr, int32_t *order);

/* Colours 0 ... *colours - 1, each row's the smallest one that is free, rows in ascending order.
 * distance 1: neighbours differ; 2: neighbours of a common row differ as well (so do rows with
 * entries in a common column). Errors: ARGUMENT (another distance), MEMORY. */
kaon_status kaon_colour(const kaon_context *ctx, const kaon_csr *csr, int distance, int32_t *colour,
                        int *colours);
/* Rows by colour (or by part, below), each colour's in ascending order; as an order of rows.
 * first[c] (room for colours + 1): where colour c begins. Errors: MEMORY. */
kaon_status kaon_order_by_colour(const kaon_context *ctx, int64_t rows, const int32_t *colour,
                                 int colours, int32_t *order, int64_t *first);

/* `blocks` (1 to csr->rows) blocks of neighbours: row order[i] of place i = rows k / blocks ... is
 * block k's, a block's rows ascending. Blocks are equal to one row. The pattern is halved along a
 * breadth-first search from a row at its rim, and the halves again. Simon, Computing Systems in
 * Engineering 2 (1991) 135. Errors: ARGUMENT (not square), MEMORY. */
kaon_status kaon_order_by_blocks(const kaon_context *ctx, const kaon_csr *csr, int64_t blocks,
                                 int32_t *order);

/* Rows of a triangular matrix by level: those of a level have entries in columns of lower levels
 * alone, so they can be solved for at once. */
typedef struct kaon_level_sets {
  int levels;
  int64_t *first; /* [levels + 1] */
  int32_t *row;   /* [rows], ascending within a level */
} kaon_level_sets;

/* Of the strict triangle of csr below (upper = 0) or above (1) the diagonal; entries elsewhere are
 * not looked at. names: what row i is called in sets->row (NULL: i), so that levels of a permuted
 * matrix come out in the numbers of the unpermuted one (names = its order). Errors: MEMORY. */
kaon_status kaon_level_sets_create(const kaon_context *ctx, const kaon_csr *csr, int upper,
                                   const int32_t *names, kaon_level_sets **sets);
void kaon_level_sets_destroy(kaon_level_sets **sets); /* NULL allowed */

/* How rows are shared out among parts.
 *   BLOCKS   consecutive rows, each part's entries as near to equal as whole rows allow
 *   GRAPH    by METIS' multilevel k-way partition of the symmetrised pattern, a row's weight its
 *            entries: few couplings between parts. Karypis, Kumar, SIAM J. Sci. Comput. 20 (1998)
 *            359 */
typedef enum kaon_partition_kind {
  KAON_PARTITION_BLOCKS,
  KAON_PARTITION_GRAPH
} kaon_partition_kind;

/* 1 where GRAPH was compiled in. */
int kaon_partition_by_graph(void);
/* part[i]: of row i, 0 ... parts - 1. GRAPH with fewer than 32 rows a part does what BLOCKS does.
 * Errors: ARGUMENT (parts below 1), UNSUPPORTED (GRAPH: 2^31 couplings and more), NOT_BUILT (GRAPH
 * without METIS), MEMORY. */
kaon_status kaon_partition_rows(const kaon_context *ctx, const kaon_csr *csr,
                                kaon_partition_kind kind, int parts, int32_t *part);
/* What a partition costs: the entries between different parts, and those of the part that has most
 * of them. entries: room for one number a part. */
void kaon_partition_weigh(const kaon_csr *csr, int parts, const int32_t *part, int64_t *entries,
                          int64_t *cut, int64_t *heaviest);

#endif
