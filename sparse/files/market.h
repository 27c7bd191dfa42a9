/* market.h - Matrix Market files to and from rows in host memory.
 * Format: Boisvert, Pozo, Remington, "The Matrix Market Exchange Formats", NISTIR 5935 (1996);
 * what kaon makes of its open ends: docs/files.md. */
#ifndef KAON_SPARSE_MARKET_H
#define KAON_SPARSE_MARKET_H

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
  int64_t stored; /* entries that follow: of the size line, or of an array's shape */
  int64_t line;   /* number of the size line */
} kaon_market_header;

typedef struct kaon_market_options {
  kaon_csr_duplicates duplicates;
  int square;      /* 1: another shape is refused (UNSUPPORTED) before entries are read */
  int rank, ranks; /* rows of this part of equal ones (kaon_rows_part) */
  int threads;     /* that parse; entries and sentences do not depend on it */
  int64_t memory;  /* bytes that may be taken; 0: what the machine has */
  size_t block;    /* bytes of text a thread parses at a time, 0: 4 MiB; a line is a quarter of it
                      at most */
} kaon_market_options;
#define KAON_MARKET_OPTIONS_INIT \
  { KAON_CSR_ADD, 0, 0, 1, 1, 0, 0 }

/* Rows [*first, *last) of part `rank` of `ranks` equal ones. */
void kaon_rows_part(int64_t rows, int rank, int ranks, int64_t *first, int64_t *last);

/* The matrix of the file, both triangles of a symmetric one, reals = 2 where it is complex; zeros
 * that a coordinate file spells out stay, those of an array go. Collective as kaon_bytes_read is.
 * Errors: FORMAT, NOT_FINITE, UNSUPPORTED (2^31 rows or columns and more; not square), MEMORY
 * (before anything of that size is taken), IO; the sentence names file and line. */
kaon_status kaon_market_read(const kaon_context *ctx, const kaon_bytes *bytes,
                             const kaon_market_options *options, kaon_market_header *header,
                             kaon_csr **csr);
/* The first lines alone, by a process by itself, and the bytes of host memory that one of
 * options->ranks ranks would take to collect its entries by options->threads, and for its rows.
 * Errors: as above. */
kaon_status kaon_market_inspect(const kaon_bytes *bytes, const kaon_market_options *options,
                             kaon_market_header *header, double *collecting, double *keep);
/* All of it as numbers: values[(column * rows + row) * reals + part], to be freed. Entries of one
 * place are added or refused as `options` say; rank and ranks are without meaning. */
kaon_status kaon_market_read_dense(const kaon_context *ctx, const kaon_bytes *bytes,
                                   const kaon_market_options *options, kaon_market_header *header,
                                   double **values);

/* coordinate; field: REAL or COMPLEX by rows->reals, INTEGER of real whole numbers below 2^53, or
 * PATTERN, without numbers; compressed where the name ends in ".gz". rows: this rank's, from
 * first_row, with columns of the whole matrix, the ranks' one after the other. symmetry: what A is,
 * so that the lower triangle alone is written, SKEW without entries on the diagonal, of which there
 * are none. Collective. Errors: IO, ARGUMENT, MEMORY. */
kaon_status kaon_market_write(const kaon_context *ctx, const char *path, const kaon_csr *rows,
                              int64_t first_row, kaon_market_field field,
                              kaon_market_symmetry symmetry);
/* array, real or complex, general. values[(column * rows + row) * reals + part] of this rank's
 * rows, the ranks' one after the other. Collective. Errors: IO, ARGUMENT, MEMORY. */
kaon_status kaon_market_write_dense(const kaon_context *ctx, const char *path, int64_t rows,
                                    int64_t columns, int reals, const double *values);

#endif
