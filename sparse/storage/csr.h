/* csr.h - rows of a sparse matrix in host memory. Files, generators, orderings and factorisations
 * share this form. Column indices have 32 bits, so a matrix has fewer than 2^31 columns; row starts
 * have 64 bits. */
#pragma once

#include <stdint.h>

#include "lib/core/error.h"

/* How messages number rows and columns: `row` is added to a row index (from 0), and `base` to both
 * indices. */
typedef struct kaon_csr_names {
  int64_t row;
  int base;
} kaon_csr_names;

typedef struct kaon_csr {
  int64_t rows, columns;
  int reals;       /* of a value: 1 real, 2 complex (re, im) */
  int64_t *start;  /* [rows + 1]; row i is [start[i], start[i + 1]) */
  int32_t *column; /* ascending within a row, no duplicates */
  double *value;   /* [entry * reals + part] */
  kaon_csr_names names;
} kaon_csr;

/* Allocates space for `entries` entries. Contents are not set except start[0] = 0. *csr is NULL on
 * failure. ctx: for the message, may be NULL. Errors: ARGUMENT (a size out of range), MEMORY (with
 * the bytes). */
kaon_status kaon_csr_create(const kaon_context *ctx, int64_t rows, int64_t columns, int reals,
                            int64_t entries, kaon_csr **csr);
void kaon_csr_destroy(kaon_csr **csr); /* NULL allowed */

/* What to do with several entries at one position: add them, or refuse them (FORMAT, with the
 * position). */
typedef enum kaon_csr_duplicates { KAON_CSR_ADD, KAON_CSR_REFUSE } kaon_csr_duplicates;

/* From `entries` triplets in any order, 0-based, value [entry * reals + part]. The arrays stay the
 * caller's. Explicit zeros are retained. Errors: ARGUMENT (an index out of range; with its value
 * and both limits), FORMAT, NOT_FINITE (the entry and its position), MEMORY. */
kaon_status kaon_csr_from_triplets(const kaon_context *ctx, int64_t rows, int64_t columns,
                                   int reals, int64_t entries, const int64_t *row,
                                   const int64_t *column, const double *value,
                                   kaon_csr_duplicates duplicates, kaon_csr **csr);
/* The same, with indices in messages as `names` says. */
kaon_status kaon_csr_from_named_triplets(const kaon_context *ctx, kaon_csr_names names,
                                         int64_t rows, int64_t columns, int reals, int64_t entries,
                                         const int64_t *row, const int64_t *column,
                                         const double *value, kaon_csr_duplicates duplicates,
                                         kaon_csr **csr);

/* Sorts each row by column in place, and adds or refuses duplicates. */
kaon_status kaon_csr_sort(const kaon_context *ctx, kaon_csr *csr, kaon_csr_duplicates duplicates);

/* Multiplies all values by 2^exponent. */
void kaon_csr_scale(kaon_csr *csr, int exponent);
kaon_status kaon_csr_copy(const kaon_context *ctx, const kaon_csr *csr, kaon_csr **copy);
/* A^T, or A^H if conjugate = 1. */
kaon_status kaon_csr_transpose(const kaon_context *ctx, const kaon_csr *csr, int conjugate,
                               kaon_csr **transpose);
/* P A: row order[i] of A becomes row i. */
kaon_status kaon_csr_reorder(const kaon_context *ctx, const kaon_csr *csr, const int32_t *order,
                             kaon_csr **reordered);
/* P A P^T of a square matrix: row and column order[i] of A become row and column i. */
kaon_status kaon_csr_permute(const kaon_context *ctx, const kaon_csr *csr, const int32_t *order,
                             kaon_csr **permuted);
/* The entry of row i and column j; -1: there is none. */
static inline int64_t kaon_csr_find(const kaon_csr *csr, int64_t i, int32_t j) {
  int64_t low = csr->start[i], high = csr->start[i + 1];
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (csr->column[middle] < j)
      low = middle + 1;
    else
      high = middle;
  }
  return low < csr->start[i + 1] && csr->column[low] == j ? low : -1;
}

/* Compares two int32_t, for qsort and bsearch. */
static inline int kaon_ascending(const void *a, const void *b) {
  const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
  return (x > y) - (x < y);
}
