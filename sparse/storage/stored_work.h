/* stored_work.h - state shared by stored.c and stored_blocks.c while rows are put into their stored
 * form in host memory. */
#pragma once

#include "sparse/storage/stored.h"

/* The arrays of a stored form. 16-bit columns are in COLUMN. */
enum { START, COLUMN, VALUE, SCALE, LINE, LANES, PATTERN, ARRAYS };

typedef struct kaon_stored_work {
  kaon_context *ctx;
  const kaon_csr *rows;
  kaon_stored *stored;
  int width, pack;
  size_t size;        /* bytes of a stored component */
  int64_t *start;     /* of blocks, in lines of W entries */
  int with_runs;      /* 1: search for runs */
  int32_t *like;      /* SHARED: the block with the same columns */
  int64_t list_lines; /* SHARED: lines of all lists of columns */
  int32_t *entry;     /* SHARED: [line of the lists][lane] as in an arrangement (stored_blocks.c) */
  void *host[ARRAYS]; /* where the host reaches the context's memory: of the pool */
  size_t bytes[ARRAYS];
} kaon_stored_work;

/* Allocates an array, in the context's memory if the host reaches it, and records its bytes.
 * Errors: MEMORY. */
kaon_status kaon_stored_allocate(kaon_stored_work *w, int array, int64_t count, size_t size);

/* Stores row i's scale (16-bit values). Returns the factor for its values. */
float kaon_stored_scale(const kaon_stored_work *w, int64_t i);

/* The precision of stored values. */
static inline kaon_precision kaon_stored_precision(const kaon_stored_work *w) {
  return w->stored->matrix.half ? KAON_HALF : w->stored->precision;
}

/* Stores columns and values of the blocks of rows, which begin at w->start. columns:
 * KAON_COLUMNS_... if possible, -1: the kind of which a product reads least. Sets the kind of
 * columns, and their bytes in index_bytes (without starts). Errors: MEMORY. */
kaon_status kaon_stored_blocks(kaon_stored_work *w, int columns);
