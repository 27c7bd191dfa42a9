/* sparse.h - sparse matrices, distributed by rows, as operators. */
#ifndef KAON_SPARSE_H
#define KAON_SPARSE_H

#include <kaon/operator.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kaon_matrix kaon_matrix;

/* How rows are stored for products. AUTO: by the statistics of the rows
 * (kaon_matrix_operator_format says which and why). ELL: all rows padded to the longest; SELL:
 * blocks of rows, each padded to its own longest, sorted by length within windows. Of large
 * matrices SELL, and AUTO, keep few rows that are much longer than the others by stretches of
 * columns on a device. */
typedef enum kaon_matrix_format {
  KAON_STORE_AUTO,
  KAON_STORE_CSR,
  KAON_STORE_ELL,
  KAON_STORE_SELL
} kaon_matrix_format;

/* The order in which the library keeps rows. Vectors are imported and exported in the caller's
 * order whatever it is. RCM: reverse Cuthill-McKee of the symmetrised pattern. */
typedef enum kaon_ordering { KAON_ORDERING_NONE, KAON_ORDERING_RCM } kaon_ordering;

/* Which rank keeps which rows. GIVEN: as they are handed over (files and generators: equal blocks).
 * METIS: by its multilevel k-way partition of the whole symmetrised pattern, so that few entries
 * meet other ranks' rows; the same on every run. Rank 0 has the whole pattern for a while, at some
 * 16 bytes an entry, and each rank 4 bytes a row of the whole matrix. AUTO: METIS where that spares
 * at least a fifth of the entries between ranks, of matrices of up to 2^28 entries. Where the
 * library was built without METIS rows stay as given, and the log and kaon_matrix_describe_distribution
 * say so. Whoever keeps them, vectors are imported and exported, and matrices written, as the
 * caller's rows on the rank that gave them; blocks of rows (local parts) are counted in the kept
 * order. */
typedef enum kaon_matrix_partition {
  KAON_PARTITION_GIVEN,
  KAON_PARTITION_METIS,
  KAON_PARTITION_AUTO
} kaon_matrix_partition;

typedef struct kaon_matrix_options {
  size_t size;
  int version;
  kaon_ordering ordering; /* of the rows that a rank keeps */
  int window;             /* rows that may change places for SELL: sigma, 0: by rule, 1: none */
  int refuse_duplicates;  /* 1: entries that stand in one place are refused, else they are added */
  kaon_matrix_partition partition; /* of several ranks; the same on all */
} kaon_matrix_options;
#define KAON_MATRIX_OPTIONS_INIT \
  { sizeof(kaon_matrix_options), 1, KAON_ORDERING_NONE, 0, 0, KAON_PARTITION_GIVEN }

/* Rows [first_row, first_row + rows) of a square matrix of global_rows rows, compressed. One of
 * start32 and start64 and one of column32 and column64 is set; without rows no start has to be,
 * without entries no column. values: rows' entries, reals numbers each (2: re, im). */
typedef struct kaon_csr_arrays {
  int64_t global_rows, first_row, rows;
  int reals; /* 1 or 2 */
  int base;  /* of start and column: 0 or 1 */
  const int32_t *start32;
  const int64_t *start64;
  const int32_t *column32;
  const int64_t *column64;
  const double *values;
} kaon_csr_arrays;

/* Entries (row[n], column[n]) = values of this rank in any order; rows of other ranks are refused.
 */
typedef struct kaon_triplet_arrays {
  int64_t global_rows, first_row, rows;
  int reals, base;
  int64_t entries;
  const int64_t *row, *column;
  const double *values;
} kaon_triplet_arrays;

/* A processor patch of OpenFOAM's: faces between cells of this rank and of another one, which has
 * an interface of the same faces in the same order with this rank. coefficients are those that
 * lduMatrix::Amul gets as interfaceBouCoeffs: the entry of the cell of face f and the cell beyond
 * it is -coefficients[f]. */
typedef struct kaon_ldu_interface {
  int rank; /* of the other side */
  int tag;  /* where two ranks share several interfaces: tells them apart, alike on both sides */
  int64_t faces;        /* the others: one number a face */
  const int32_t *cells; /* faceCells: this rank's cells, from 0 */
  const double *coefficients;
} kaon_ldu_interface;

/* OpenFOAM's addressing of a rank: cells are numbered from 0 on each rank, faces f join
 * owner[f] < neighbour[f] of its cells; upper[f] is the entry (owner, neighbour), lower[f] (NULL:
 * symmetric, upper) the entry (neighbour, owner). diagonal: as the solver sees it, with what
 * patches add (internalCoeffs). interface: with other ranks; cyclic patches within a rank are
 * faces. The matrix' rows are the ranks' cells, rank by rank. */
typedef struct kaon_ldu_arrays {
  int64_t cells, faces;
  const int32_t *owner, *neighbour;
  const double *diagonal, *upper, *lower;
  int interfaces;
  const kaon_ldu_interface *interface;
} kaon_ldu_arrays;

/* Matrices from the caller's arrays, which are copied; options NULL: the defaults. Each rank hands
 * over its rows, rank by rank without gaps. *matrix is NULL on failure. Collective. Errors:
 * ARGUMENT (a number outside; its place and both limits), FORMAT (duplicates, with the place),
 * NOT_FINITE (with the place), SHAPE (rows or interfaces of ranks that do not join), MEMORY,
 * UNSUPPORTED (2^31 rows and more). */
kaon_status kaon_matrix_create_csr(kaon_context *ctx, const kaon_csr_arrays *arrays,
                                   const kaon_matrix_options *options, kaon_matrix **matrix);
kaon_status kaon_matrix_create_triplets(kaon_context *ctx, const kaon_triplet_arrays *arrays,
                                        const kaon_matrix_options *options, kaon_matrix **matrix);
kaon_status kaon_matrix_create_ldu(kaon_context *ctx, const kaon_ldu_arrays *arrays,
                                   const kaon_matrix_options *options, kaon_matrix **matrix);
/* Lets go of the matrix (operators made of it keep it alive) and sets *matrix to NULL; NULL is
 * allowed. */
void kaon_matrix_destroy(kaon_matrix **matrix);

/* The space of its rows: vectors of it are imported and exported by kaon_vector_import and _export
 * as this rank's rows in the caller's order, `reals` numbers a row. */
const kaon_space *kaon_matrix_space(const kaon_matrix *matrix);

typedef struct kaon_matrix_info {
  int64_t global_rows, rows, first_row, global_entries, entries;
  int reals;
  int hermitian;                   /* A = A^H exactly */
  int64_t shortest, longest;       /* rows, in entries, of all ranks */
  double mean, deviation;          /* of the entries a row */
  int64_t bandwidth;               /* max |i - j| of this rank's own entries, in the kept order */
  int64_t empty_rows, no_diagonal; /* rows without an entry other than 0; without a diagonal one, or
                                      with 0 there */
  int64_t empty_columns;           /* columns without an entry other than 0 */
  int64_t first_empty_row, first_empty_column, first_no_diagonal; /* the least number of each, from
                                      0 in the caller's order of the whole matrix; -1: none */
  /* The most rows that can each be given a column of its own in which they have an entry other than
   * 0 (fewer than all: the matrix is singular, whatever its numbers), and the least row that such a
   * choice leaves without one; -1: none. Of several ranks structural_rank is -1 where a row lacks
   * its diagonal entry and there are more than 2^22 entries: it is not looked for. */
  int64_t structural_rank, first_unmatched;
  int skew; /* A = -A^H exactly */
} kaon_matrix_info;
/* Collective. Errors: ARGUMENT, MEMORY, COMM. */
kaon_status kaon_matrix_describe(const kaon_matrix *matrix, kaon_matrix_info *info);

/* How rows are shared among the ranks. */
typedef struct kaon_matrix_distribution {
  int moved;                                    /* by the library; 0: as they were given */
  int64_t rows, entries, ghosts;                /* that this rank keeps; other ranks' it needs */
  int64_t most_rows, most_entries, most_ghosts; /* of the rank that has most of each */
  int64_t all_ghosts, cut; /* of all ranks: ghosts; entries in columns of other ranks */
  char how[120];           /* in words */
} kaon_matrix_distribution;
/* Collective. Errors: ARGUMENT, MEMORY, COMM. */
kaon_status kaon_matrix_describe_distribution(const kaon_matrix *matrix, kaon_matrix_distribution *shares);

typedef struct kaon_matrix_operator_options {
  size_t size;
  int version;
  kaon_precision precision; /* of vectors: double or single; HALF: of the values alone, 16 bits and
                               a scale a row, with vectors in single */
  kaon_matrix_format format;
} kaon_matrix_operator_options;
#define KAON_MATRIX_OPERATOR_OPTIONS_INIT \
  { sizeof(kaon_matrix_operator_options), 1, KAON_DOUBLE, KAON_STORE_AUTO }

/* y = A x, and A^H x by KAON_DAGGER; options NULL: the defaults. Keeps the matrix alive. *A is NULL
 * on failure. Collective. Errors: ARGUMENT, MEMORY, NOT_BUILT, PRECISION (single or 16-bit values
 * of a matrix that floats do not hold; the place. Likewise where a solver makes such a twin). */
kaon_status kaon_matrix_operator(kaon_matrix *matrix, const kaon_matrix_operator_options *options,
                                 kaon_operator **A);
/* How such an operator stores its rows, in words. Not collective. "" of another kind. */
const char *kaon_matrix_operator_format(const kaon_operator *A);
/* Bytes of this rank's rows as such an operator stores them that a product with one column reads:
 * numbers, and what says where they stand, a list that blocks of rows share counted once. Vectors
 * are not among them. 0 of another kind. Not collective. kaon_operator_cost counts the plain form's
 * (docs/conventions.md, "Cost"). */
double kaon_matrix_operator_bytes(const kaon_operator *A);

/* Matrix Market files, also compressed by gzip: coordinate and array; real, integer, complex and
 * pattern; general, symmetric, skew-symmetric and Hermitian. options NULL: the defaults. Ranks get
 * equal shares of the rows, the first ones one more. *matrix is NULL on failure. Collective.
 * Errors: ARGUMENT, IO, FORMAT (with the line), NOT_FINITE (with the line), UNSUPPORTED (not
 * square; 2^31 rows and more), MEMORY (before it is taken). */
kaon_status kaon_matrix_read(kaon_context *ctx, const char *path,
                             const kaon_matrix_options *options, kaon_matrix **matrix);
typedef struct kaon_matrix_file_info {
  int64_t rows;             /* and columns */
  int64_t stored;           /* entries in the file */
  int64_t entries;          /* with both triangles, where the whole diagonal is there */
  int reals, array, halves; /* of a value; 1: every number is spelt out; one triangle is stored */
  double bytes_reading;     /* of host memory that a rank takes while it reads, entries and rows */
  double bytes_rows;        /* and of its rows, which are kept */
  int skew;                 /* of halves: the other triangle has the opposite signs */
} kaon_matrix_file_info;
/* What the first lines of such a file say, for `ranks` ranks of `threads` threads. By a process by
 * itself, without a context; errors, as of kaon_matrix_read, are read with kaon_last_error(NULL).
 */
kaon_status kaon_matrix_file_query(const char *path, int ranks, int threads,
                                   kaon_matrix_file_info *info);
/* coordinate, real or complex; the lower triangle alone where A = A^T, A^H or -A^T exactly
 * (symmetric, hermitian, skew-symmetric); rows and columns in the caller's order, numbers as they
 * are to the last bit, but for the signs of zeros in a triangle that is left out. By gzip where the
 * name ends in .gz. The file appears whole or not at all. Collective. Errors: ARGUMENT, IO, MEMORY.
 */
kaon_status kaon_matrix_write(const kaon_matrix *matrix, const char *path);

/* The same of other numbers. FULL: as above. INTEGER: real whole numbers below 2^53, in digits.
 * PATTERN: the places of the entries alone, which are read back as 1; symmetric where A = A^T, A^H,
 * -A^T or -A^H. Errors besides: ARGUMENT (INTEGER: the first entry that is no such number). */
typedef enum kaon_matrix_field {
  KAON_FIELD_FULL,
  KAON_FIELD_INTEGER,
  KAON_FIELD_PATTERN
} kaon_matrix_field;
kaon_status kaon_matrix_write_as(const kaon_matrix *matrix, kaon_matrix_field field,
                                 const char *path);

/* The rows in host memory, in the order in which they were given, for other libraries (direct
 * solvers): row i has the entries start[i] to start[i + 1] - 1, columns ascending, from 0; complex
 * values are two reals. start[rows + 1], column[entries], value[entries * reals], the caller's;
 * sizes are those of kaon_matrix_describe. One rank. Errors: ARGUMENT, UNSUPPORTED (several ranks).
 */
kaon_status kaon_matrix_rows(const kaon_matrix *matrix, int64_t *start, int32_t *column,
                             double *value);

/* Columns of numbers, such as right-hand sides and solutions, as Matrix Market files.
 * values[(column * rows + row) * reals + part].
 * read: array or coordinate (which is filled up with 0, entries of one place added); every rank
 * gets all rows. *values is to be released by free(), NULL on failure.
 * write: array; `rows` are this rank's and the file has those of all ranks one after the other, so
 * columns and reals (1 real, 2 complex) are the same on all; by gzip where the name ends in .gz.
 * Both collective. Errors: as kaon_matrix_read and kaon_matrix_write. */
kaon_status kaon_array_read(kaon_context *ctx, const char *path, int64_t *rows, int64_t *columns,
                            int *reals, double **values);
kaon_status kaon_array_write(kaon_context *ctx, const char *path, int64_t rows, int64_t columns,
                             int reals, const double *values);

/* Matrices by name: "laplace2d:N" (5 points), "laplace3d:N" (7 points), "laplace3d27:N",
 * "convdiff3d:N,PECLET" (upwind), "cavity3d:N" (a pressure equation: Neumann, one reference cell),
 * "elasticity:N" (N^3 nodes), "trefethen:N", "banded:N,B[,SEED]", "fem:PROBLEM,DEGREE,LEVEL"
 * (docs/conventions.md, "Generated matrices"). options NULL: the defaults. own: the right-hand side
 * that it brings (elasticity, banded, fem), this rank's rows in the caller's order, to be released
 * by free(), NULL where it brings none; NULL: not asked for. Ranks get shares as from
 * kaon_matrix_read. *matrix is NULL on failure. Collective. Errors: ARGUMENT (with the names there
 * are, or the limits), UNSUPPORTED, MEMORY. */
kaon_status kaon_matrix_generate(kaon_context *ctx, const char *name,
                                 const kaon_matrix_options *options, kaon_matrix **matrix,
                                 double **own);
/* Whether such a name is known and its numbers are within their limits; without a context, errors,
 * as above, are read with kaon_last_error(NULL). Not collective. */
kaon_status kaon_matrix_generate_check(const char *name);
/* Where the unknowns of laplace2d:N, laplace3d:N and fem:PROBLEM,1,LEVEL are: points[row *
 * *dimensions + d], all rows of all ranks in the caller's order, to be released by free(); in units
 * of the grid, or of the domain [0, 3]^2. *points is NULL on failure. Not collective. Errors:
 * ARGUMENT, UNSUPPORTED (another name), MEMORY. */
kaon_status kaon_matrix_generate_points(kaon_context *ctx, const char *name, int *dimensions,
                                        double **points);

#ifdef __cplusplus
}
#endif
#endif
