/* long_rows.h - rows of very different lengths, divided for a device: those that blocks of rows
 * have places for, and the long ones. */
#ifndef KAON_SPARSE_LONG_ROWS_H
#define KAON_SPARSE_LONG_ROWS_H

#include "sparse/storage/csr.h"

typedef struct kaon_long_rows {
  kaon_csr *short_part;   /* all rows, the long ones empty; NULL: not divided */
  kaon_csr *long_part; /* the long ones, one after another; columns of the same numbers */
  int32_t *row;     /* [beyond->rows] which ones they are, ascending */
} kaon_long_rows;

/* Divides rows where a few hold up all others, blocks of `width` rows would keep the others almost
 * without padding, and the matrix is large enough for a product to be worth more launches; else all
 * of *parts is NULL. Errors: MEMORY. */
kaon_status kaon_long_rows_divide(const kaon_context *ctx, const kaon_csr *rows, int width,
                                  kaon_long_rows *parts);
void kaon_long_rows_clear(kaon_long_rows *parts);

/* Rows longer than this go apart whatever their block has; INT64_MAX: none do. */
int64_t kaon_long_rows_limit(const kaon_csr *rows);

/* Whether a few rows are so long that they would hold up all others. */
int kaon_rows_are_skewed(int64_t rows, int64_t entries, int64_t longest);

#endif
