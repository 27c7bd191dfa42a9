/* stored.h - rows as kernels read them, in the context's memory (kaon_stored_matrix). */
#pragma once

#include "sparse/storage/matrix.h"
#include "sparse/sparse_ops.h"

enum { KAON_STORED_TEXT = 320 };

typedef struct kaon_stored {
  int references;
  kaon_context *ctx;
  kaon_precision precision; /* of the vectors; it selects the kernel table */
  kaon_stored_matrix matrix;
  int64_t bytes;
  int64_t index_bytes; /* bytes that a product reads to find entries: starts, column lists, and
                          columns except padding and runs */
  char text[KAON_STORED_TEXT];  /* the form, and why it was chosen */
  kaon_long_entries *long_part; /* owns matrix.long_part */
} kaon_stored;

/* rows: columns from rows->rows on are ghosts. interior: number of leading rows without ghosts, a
 * multiple of the width or all. values_half: 16 bits and a scale for each row; needs precision
 * single. AUTO chooses the form from the lengths of the rows. Errors: MEMORY. */
kaon_status kaon_stored_create(kaon_context *ctx, const kaon_csr *rows, int64_t interior,
                               kaon_precision precision, int values_half, kaon_matrix_format format,
                               kaon_stored **stored);
/* The same, with columns stored as `columns` (KAON_COLUMNS_...) if possible, else with 32 bits. -1:
 * the kind of which a product reads least. CSR: always 32 bits. */
kaon_status kaon_stored_create_as(kaon_context *ctx, const kaon_csr *rows, int64_t interior,
                                  kaon_precision precision, int values_half,
                                  kaon_matrix_format format, int columns, kaon_stored **stored);
void kaon_stored_destroy(kaon_stored **stored); /* releases it; NULL allowed */
