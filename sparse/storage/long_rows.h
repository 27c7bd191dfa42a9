/* long_rows.h - divides rows of very different lengths for a device: into those that fit blocks of
 * rows, and long ones. */
#pragma once

#include "sparse/storage/csr.h"

typedef struct kaon_long_rows {
  kaon_csr *short_part; /* all rows, the long ones empty; NULL: not divided */
  kaon_csr *long_part;  /* the long rows, one after another; column indices unchanged */
  int32_t *row;         /* [long_part->rows] their row indices, ascending */
} kaon_long_rows;

/* Divides the rows, or leaves all of *parts NULL. Rows are divided under three conditions: a few
 * rows would delay all others; blocks of `width` rows hold the others almost without padding; the
 * matrix is large enough for more launches to pay off. Errors: MEMORY. */
kaon_status kaon_long_rows_divide(const kaon_context *ctx, const kaon_csr *rows, int width,
                                  kaon_long_rows *parts);
void kaon_long_rows_clear(kaon_long_rows *parts);

/* Rows longer than this are always separated; INT64_MAX: no limit. */
int64_t kaon_long_rows_limit(const kaon_context *ctx, const kaon_csr *rows);

/* 1: a few rows are so long that they would delay all others. */
int kaon_rows_are_skewed(int64_t rows, int64_t entries, int64_t longest);
