/* row_blocks.h - rows in blocks, in the form that relaxation kernels read (kaon_row_blocks), in the
 * context's memory. */
#pragma once

#include "sparse/storage/matrix.h"
#include "sparse/sparse_ops.h"

enum { KAON_BLOCK_TABLES = 11 };

typedef struct kaon_blocked {
  kaon_context *ctx;
  kaon_precision precision;
  kaon_row_blocks rows;
  int64_t reads;                  /* of other blocks, over all blocks */
  int64_t entries, bytes;         /* entries without padding; bytes of all tables */
  void *table[KAON_BLOCK_TABLES]; /* memory to release */
} kaon_blocked;

/* The matrix' rows on this rank, in blocks of `block` rows by index (kaon_matrix.number), without
 * couplings to other ranks. Errors: SINGULAR (a diagonal entry is 0 or missing; the message has the
 * caller's row), MEMORY. Not collective. */
kaon_status kaon_blocked_create(const kaon_matrix *matrix, int64_t block, kaon_precision precision,
                                kaon_blocked **blocked);
void kaon_blocked_destroy(kaon_blocked **blocked); /* NULL allowed */

/* The rows of the space by index: order[n] = row. Host memory, which the caller frees; NULL: no
 * memory. */
int32_t *kaon_matrix_by_index(const kaon_matrix *matrix);
