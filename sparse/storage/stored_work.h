/* stored_work.h - what stored.c and stored_blocks.c share while rows are put into their stored form
 * in host memory. */
#ifndef KAON_SPARSE_STORED_WORK_H
#define KAON_SPARSE_STORED_WORK_H

#include "sparse/storage/stored.h"

/* The arrays of a stored form; NARROW's 16-bit columns stand in the place of `column`. */
enum { START, COLUMN, VALUE, SCALE, LINE, LANES, PATTERN, ARRAYS };

typedef struct kaon_stored_work {
  kaon_context *ctx;
  const kaon_csr *rows;
  kaon_stored *stored;
  int width, pack;
  size_t size; /* of a stored component */
  int32_t *length;
  int64_t *start;            /* of blocks, in lines: entries of W */
  int with_runs;             /* runs are looked for */
  int32_t *like;             /* SHARED: the block whose columns a block has */
  int64_t in_runs;           /* entries */
  int64_t lists, list_lines; /* SHARED: lists of columns, and their lines */
  void *host[ARRAYS];
  size_t bytes[ARRAYS];
} kaon_stored_work;

/* Room for an array, whose bytes are noted. Errors: MEMORY. */
kaon_status kaon_stored_allocate(kaon_stored_work *w, int array, int64_t count, size_t size);

/* Row i's scale is kept (16-bit values); what its numbers are multiplied with. */
float kaon_stored_scale(const kaon_stored_work *w, int64_t i);

/* A component in place `at` of the values. */
void kaon_stored_value(const kaon_stored_work *w, int64_t at, double value, float factor);

/* Columns and values of blocks of rows, which begin at w->start; columns: KAON_COLUMNS_... where
 * they can be had, -1: those of which a product reads least. Sets the matrix' columns and its
 * bytes of them (index_bytes but for starts). Errors: MEMORY. */
kaon_status kaon_stored_blocks(kaon_stored_work *w, int columns);

#endif
