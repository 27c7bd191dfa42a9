/* row_blocks.h - rows in blocks as relaxation kernels read them (kaon_row_blocks), in the context's
 * memory. */
#ifndef KAON_SPARSE_ROW_BLOCKS_H
#define KAON_SPARSE_ROW_BLOCKS_H

#include "sparse/storage/matrix.h"
#include "sparse/sparse_ops.h"

enum { KAON_BLOCK_TABLES = 11 };

typedef struct kaon_blocked {
  kaon_context *ctx;
  kaon_precision precision;
  kaon_row_blocks rows;
  int64_t reads;                  /* that all blocks make of others */
  int64_t entries, bytes;         /* without padding; all tables */
  void *table[KAON_BLOCK_TABLES]; /* what is given back */
} kaon_blocked;

/* The matrix' rows on this rank in blocks of `block` rows by number (kaon_matrix.number), couplings
 * to other ranks left out. Errors: SINGULAR (a diagonal entry is 0 or missing; the row, as the
 * caller gave it), MEMORY. Not collective. */
kaon_status kaon_blocked_create(const kaon_matrix *matrix, int64_t block, kaon_precision precision,
                                kaon_blocked **blocked);
void kaon_blocked_destroy(kaon_blocked **blocked); /* NULL allowed */

/* The rows of the space by number: order[n] = row. Host memory, the caller's (free); NULL: none. */
int32_t *kaon_matrix_by_index(const kaon_matrix *matrix);

#endif
