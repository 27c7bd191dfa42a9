/* market.h - Matrix Market files to and from rows in host memory. Format: Boisvert, Pozo,
 * Remington, "The Matrix Market Exchange Formats", NISTIR 5935 (1996). docs/files.md says what kaon
 * does where the format leaves a choice. */
#pragma once

#include "lib/io/bytes.h"
#include "sparse/storage/csr.h"

typedef enum kaon_market_field {
  KAON_MARKET_REAL,
  KAON_MARKET_INTEGER,
  KAON_MARKET_COMPLEX,
  KAON_MARKET_PATTERN
} kaon_market_field;

typedef enum kaon_market_symmetry {
  KAON_MARKET_GENERAL,
  KAON_MARKET_SYMMETRIC,
  KAON_MARKET_SKEW,
  KAON_MARKET_HERMITIAN
} kaon_market_symmetry;

typedef struct kaon_market_header {
  int array; /* 0: coordinate */
  kaon_market_field field;
  kaon_market_symmetry symmetry;
  int64_t rows, columns;
  int64_t stored; /* entries that follow: from the size line, or from an array's shape */
  int64_t line;   /* line number of the size line */
} kaon_market_header;

typedef struct kaon_market_options {
  kaon_csr_duplicates duplicates;
  int square;      /* 1: fails for another shape (UNSUPPORTED) before entries are read */
  int rank, ranks; /* rows of this part, with equal parts (kaon_rows_part) */
  int threads;     /* threads that parse; entries and messages do not depend on it */
  int64_t memory;  /* bytes that may be allocated; 0: what the machine has */
  size_t block;    /* bytes of text that a thread parses at a time; 0: 4 MiB; a line may have a
                      quarter of it */
} kaon_market_options;
#define KAON_MARKET_OPTIONS_INIT \
  { KAON_CSR_ADD, 0, 0, 1, 1, 0, 0 }

/* Rows [*first, *last) of part `rank` of `ranks` equal parts. */
void kaon_rows_part(int64_t rows, int rank, int ranks, int64_t *first, int64_t *last);

/* Reads the matrix of the file. A symmetric one gets both triangles; a complex one has reals = 2.
 * Explicit zeros of a coordinate file stay; zeros of an array are dropped. Collective like
 * kaon_bytes_read. The error message names file and line. Errors:
 * - FORMAT, NOT_FINITE, IO;
 * - UNSUPPORTED: 2^31 or more rows or columns, or not square;
 * - MEMORY: detected before memory of that size is allocated. */
kaon_status kaon_market_read(const kaon_context *ctx, const kaon_bytes *bytes,
                             const kaon_market_options *options, kaon_market_header *header,
                             kaon_csr **csr);
/* Reads only the first lines, on one process. Computes the bytes of host memory that one of
 * options->ranks ranks needs to collect its entries with options->threads threads, and for its
 * rows. Errors: as above. */
kaon_status kaon_market_inspect(const kaon_bytes *bytes, const kaon_market_options *options,
                                kaon_market_header *header, double *collecting, double *keep);
/* Reads the whole file as dense values[(column * rows + row) * reals + part], which the caller
 * frees. Duplicate entries are added or refused as in `options`; rank and ranks are ignored. */
kaon_status kaon_market_read_dense(const kaon_context *ctx, const kaon_bytes *bytes,
                                   const kaon_market_options *options, kaon_market_header *header,
                                   double **values);

/* Writes a coordinate file. The name's end ".gz" selects compression. Collective.
 * - field: REAL or COMPLEX by rows->reals; INTEGER for whole real values below 2^53; PATTERN
 *   without values.
 * - rows: this rank's, from first_row, with columns of the whole matrix. Ranks follow one another.
 * - symmetry: that of A. Then only the lower triangle is written. SKEW: A must have no entries on
 *   the diagonal, and none are written.
 * Errors: IO, ARGUMENT, MEMORY. */
kaon_status kaon_market_write(const kaon_context *ctx, const char *path, const kaon_csr *rows,
                              int64_t first_row, kaon_market_field field,
                              kaon_market_symmetry symmetry);
/* Writes an array file: real or complex, general. values[(column * rows + row) * reals + part] are
 * this rank's rows; ranks follow one another. Collective. Errors: IO, ARGUMENT, MEMORY. */
kaon_status kaon_market_write_dense(const kaon_context *ctx, const char *path, int64_t rows,
                                    int64_t columns, int reals, const double *values);
