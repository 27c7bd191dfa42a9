/* stored.h - rows as kernels read them, in the context's memory (kaon_stored_matrix). */
#ifndef KAON_SPARSE_STORED_H
#define KAON_SPARSE_STORED_H

#include "sparse/matrix.h"
#include "sparse/sparse_ops.h"

enum { KAON_STORED_TEXT = 240 };

typedef struct kaon_stored {
  int references;
  kaon_context *ctx;
  kaon_precision precision; /* of the vectors: which table serves it */
  kaon_stored_matrix matrix;
  int64_t bytes;
  char text[KAON_STORED_TEXT]; /* the form, and why it was taken */
} kaon_stored;

/* rows: columns from rows->rows on are ghosts. interior: rows from 0 without ghosts, a multiple of
 * the width or all. values_half: 16 bits and a scale a row, where precision is single. AUTO takes
 * the form by the lengths of the rows. Errors: MEMORY. */
kaon_status kaon_stored_create(kaon_context *ctx, const kaon_csr *rows, int64_t interior,
                               kaon_precision precision, int values_half, kaon_matrix_format format,
                               kaon_stored **stored);
void kaon_stored_destroy(kaon_stored **stored); /* lets go of it; NULL allowed */

#endif
