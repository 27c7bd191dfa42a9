/* orderings.h - permutations, colourings, level sets and partitions of the rows of a square matrix,
 * from its pattern only.
 * - Neighbours are rows that an entry (i, j) or (j, i) connects: the symmetrised pattern without
 *   the diagonal. Columns beyond the rows (ghosts) connect nothing.
 * - All results are functions of the pattern. They depend on no random number and no thread.
 * - Arrays have csr->rows elements and are owned by the caller, unless stated otherwise.
 * - No function is collective. */
#pragma once

#include "sparse/storage/csr.h"

/* The symmetrised pattern. */
typedef struct kaon_graph {
  int64_t vertices;
  int64_t *start;     /* [vertices + 1] */
  int32_t *neighbour; /* ascending for each vertex, without itself and without duplicates */
} kaon_graph;

/* Errors: ARGUMENT (fewer columns than rows), MEMORY. */
kaon_status kaon_graph_create(const kaon_context *ctx, const kaon_csr *csr, kaon_graph **graph);
void kaon_graph_destroy(kaon_graph **graph); /* NULL allowed */

/* max |i - j| over the entries in the rows' own columns. where: the positions of rows and columns
 * (NULL: unchanged). */
int64_t kaon_bandwidth(const kaon_csr *csr, const int32_t *where);

/* Reverse Cuthill-McKee: row order[i] becomes row i (as in kaon_csr_permute). Each connected
 * component begins at a pseudo-peripheral vertex by George and Liu, searched for from the
 * component's first row. A component whose bandwidth does not shrink keeps its order, so the
 * bandwidth never grows. Sources: Cuthill, McKee, Proc. 24th ACM Conf. (1969) 157; George, Liu, ACM
 * Trans. Math. Softw. 5 (1979) 284. Errors: ARGUMENT, MEMORY. */
kaon_status kaon_order_rcm(const kaon_context *ctx, const kaon_csr *csr, int32_t *order);

/* Colours 0 ... *colours - 1. Rows are coloured in ascending order, each with the smallest free
 * colour. distance 1: neighbours differ. distance 2: neighbours of a common row differ as well, and
 * so do rows with entries in a common column. Errors: ARGUMENT (another distance), MEMORY. */
kaon_status kaon_colour(const kaon_context *ctx, const kaon_csr *csr, int distance, int32_t *colour,
                        int *colours);
/* Orders rows by colour (or by part, below), ascending within a colour. first[c], with space for
 * colours + 1 elements: where colour c begins. Errors: MEMORY. */
kaon_status kaon_order_by_colour(const kaon_context *ctx, int64_t rows, const int32_t *colour,
                                 int colours, int32_t *order, int64_t *first);

/* Divides the rows into `blocks` (1 to csr->rows) blocks of neighbours. Row order[i] at position i
 * = rows k / blocks ... belongs to block k. Rows ascend within a block, and block sizes differ by
 * at most one. The pattern is bisected recursively along breadth-first searches from a row at the
 * boundary. Simon, Computing Systems in Engineering 2 (1991) 135. Errors: ARGUMENT (not square),
 * MEMORY. */
kaon_status kaon_order_by_blocks(const kaon_context *ctx, const kaon_csr *csr, int64_t blocks,
                                 int32_t *order);

/* Rows of a triangular matrix by level. Rows of a level have entries only in columns of lower
 * levels, so they can be solved concurrently. */
typedef struct kaon_level_sets {
  int levels;
  int64_t *first; /* [levels + 1] */
  int32_t *row;   /* [rows], ascending within a level */
} kaon_level_sets;

/* Uses the strict triangle of csr below (upper = 0) or above (1) the diagonal, and ignores other
 * entries. names: the index of row i in sets->row (NULL: i). With names = order, the levels of a
 * permuted matrix have the indices of the unpermuted one. Errors: MEMORY. */
kaon_status kaon_level_sets_create(const kaon_context *ctx, const kaon_csr *csr, int upper,
                                   const int32_t *names, kaon_level_sets **sets);
void kaon_level_sets_destroy(kaon_level_sets **sets); /* NULL allowed */

/* How rows are distributed to parts.
 *   BLOCKS   consecutive rows, with the entries of the parts as equal as whole rows allow
 *   GRAPH    METIS' multilevel k-way partition of the symmetrised pattern, with a row's entries as
 *         its weight, for few couplings between parts. Karypis, Kumar, SIAM J. Sci. Comput. 20
 *         (1998) 359 */
typedef enum kaon_partition_kind {
  KAON_PARTITION_BLOCKS,
  KAON_PARTITION_GRAPH
} kaon_partition_kind;

/* 1 if GRAPH is compiled in. */
int kaon_partition_by_graph(void);
/* part[i]: the part of row i, 0 ... parts - 1. GRAPH with fewer than 32 rows in a part is the same
 * as BLOCKS. Errors: ARGUMENT (parts below 1), UNSUPPORTED (GRAPH: 2^31 or more couplings),
 * NOT_BUILT (GRAPH without METIS), MEMORY. */
kaon_status kaon_partition_rows(const kaon_context *ctx, const kaon_csr *csr,
                                kaon_partition_kind kind, int parts, int32_t *part);
/* The quality of a partition: the entries between different parts, and the entries of the largest
 * part. entries: workspace of one value for each part. */
void kaon_partition_weigh(const kaon_csr *csr, int parts, const int32_t *part, int64_t *entries,
                          int64_t *cut, int64_t *heaviest);
