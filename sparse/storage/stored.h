/* stored.h - rows as kernels read them, in the context's memory (kaon_stored_matrix). */
#ifndef KAON_SPARSE_STORED_H
#define KAON_SPARSE_STORED_H

#include "sparse/storage/matrix.h"
#include "sparse/sparse_ops.h"

enum { KAON_STORED_TEXT = 320 };

typedef struct kaon_stored {
  int references;
  kaon_context *ctx;
  kaon_precision precision; /* of the vectors: which table serves it */
  kaon_stored_matrix matrix;
  int64_t bytes;
  int64_t index_bytes; /* that a product reads to know where entries are: starts, lists of columns,
                          and columns but for padding and runs */
  char text[KAON_STORED_TEXT]; /* the form, and why it was taken */
  kaon_long_entries *long_part;   /* matrix.long_part */
} kaon_stored;

/* rows: columns from rows->rows on are ghosts. interior: rows from 0 without ghosts, a multiple of
 * the width or all. values_half: 16 bits and a scale a row, where precision is single. AUTO takes
 * the form by the lengths of the rows. Errors: MEMORY. */
kaon_status kaon_stored_create(kaon_context *ctx, const kaon_csr *rows, int64_t interior,
                               kaon_precision precision, int values_half, kaon_matrix_format format,
                               kaon_stored **stored);
/* The same with columns stored as KAON_COLUMNS_... says where that can be done, else whole; -1: of
 * what can be done that of which a product reads least. CSR: whole. */
kaon_status kaon_stored_create_as(kaon_context *ctx, const kaon_csr *rows, int64_t interior,
                                  kaon_precision precision, int values_half,
                                  kaon_matrix_format format, int columns, kaon_stored **stored);
void kaon_stored_destroy(kaon_stored **stored); /* lets go of it; NULL allowed */

#endif
