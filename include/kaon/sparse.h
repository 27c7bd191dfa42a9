/** @file sparse.h
 * Sparse matrices, distributed by rows, as operators. Files and generators of matrices. */
#ifndef KAON_SPARSE_H
#define KAON_SPARSE_H

#include <kaon/operator.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A square sparse matrix. */
typedef struct kaon_matrix kaon_matrix;

/** How rows are stored for products.
 *
 * - AUTO: chosen from the rows' lengths; kaon_matrix_operator_format() says what and why
 * - CSR: compressed rows
 * - ELL: all rows padded to the longest
 * - SELL: blocks of rows, each padded to its own longest, sorted by length within windows
 *
 * On a device, SELL and AUTO store rows of a large matrix separately, by ranges of columns, if they
 * are few and much longer than the others. */
typedef enum kaon_matrix_format {
  KAON_STORE_AUTO,
  KAON_STORE_CSR,
  KAON_STORE_ELL,
  KAON_STORE_SELL
} kaon_matrix_format;

/** Order in which the library keeps rows. RCM: reverse Cuthill-McKee of the symmetrised pattern.
 * Vectors are always imported and exported in the caller's order. */
typedef enum kaon_ordering { KAON_ORDERING_NONE, KAON_ORDERING_RCM } kaon_ordering;

/** Which rank keeps which rows.
 *
 * - GIVEN: the rank that gave them (files and generators: equal blocks)
 * - METIS: its multilevel k-way partition of the whole symmetrised pattern, so that few entries
 *   couple ranks. The same in every run. Meanwhile rank 0 holds the whole pattern, about 16 bytes
 *   an entry, and each rank 4 bytes a row of the whole matrix. Without METIS in the library rows
 *   stay as given; the log and kaon_matrix_describe_distribution() say so
 * - AUTO: METIS if it spares at least a fifth of the entries between ranks, for matrices of up to
 *   2^28 entries
 *
 * Vectors are always imported, exported and written as the caller's rows, on the rank that gave
 * them. Blocks of rows (kaon_operator_local_part()) count in the stored order. */
typedef enum kaon_matrix_partition {
  KAON_PARTITION_GIVEN,
  KAON_PARTITION_METIS,
  KAON_PARTITION_AUTO
} kaon_matrix_partition;

/** Options of a matrix. */
typedef struct kaon_matrix_options {
  size_t size;
  int version;
  kaon_ordering ordering; /**< of the rows that a rank keeps */
  int window;             /**< SELL: rows that may change places (sigma). 0: automatic; 1: none */
  int refuse_duplicates;  /**< 1: several entries in one place are refused. 0: they are added */
  kaon_matrix_partition partition; /**< several ranks; the same on all */
} kaon_matrix_options;
/** Defaults. */
#define KAON_MATRIX_OPTIONS_INIT                                                                   \
  {                                                                                                \
    sizeof(kaon_matrix_options), KAON_OPTIONS_VERSION(KAON_OPTIONS_MATRIX, 1), KAON_ORDERING_NONE, \
        0, 0, KAON_PARTITION_GIVEN                                                                 \
  }

/** Rows [first_row, first_row + rows) of a square matrix, compressed. Set one of start32 and
 * start64 and one of column32 and column64. Without rows no start is needed, without entries no
 * column. Fixed size. */
typedef struct kaon_csr_arrays {
  int64_t global_rows, first_row, rows;
  int reals; /**< reals of a value: 1, or 2 (re, im) */
  int base;  /**< of start and column: 0 or 1 */
  const int32_t *start32;
  const int64_t *start64;
  const int32_t *column32;
  const int64_t *column64;
  const double *values;
} kaon_csr_arrays;

/** Entries (row[n], column[n]) = values of this rank's rows, in any order. Rows of other ranks are
 * refused. Fixed size. */
typedef struct kaon_triplet_arrays {
  int64_t global_rows, first_row, rows;
  int reals, base;
  int64_t entries;
  const int64_t *row, *column;
  const double *values;
} kaon_triplet_arrays;

/** A processor patch of OpenFOAM: faces between cells of this rank and of another. The other rank
 * has an interface with the same faces in the same order. Fixed size. */
typedef struct kaon_ldu_interface {
  int rank; /**< of the other side */
  int tag;  /**< tells several interfaces of two ranks apart; the same on both sides */
  int64_t faces;
  const int32_t *cells;       /**< faceCells: this rank's cell of each face, from 0 */
  const double *coefficients; /**< as lduMatrix::Amul gets interfaceBouCoeffs: the entry of the cell
                                   of face f and the cell beyond it is -coefficients[f] */
} kaon_ldu_interface;

/** OpenFOAM's addressing on one rank. Cells are numbered from 0 on each rank; the matrix' rows are
 * the cells, rank by rank. Face f couples the cells owner[f] < neighbour[f]. Cyclic patches within
 * a rank are faces. Fixed size. */
typedef struct kaon_ldu_arrays {
  int64_t cells, faces;
  const int32_t *owner, *neighbour;
  const double *diagonal; /**< as the solver sees it, with the patches' internalCoeffs */
  const double *upper;    /**< entries (owner, neighbour) */
  const double *lower;    /**< entries (neighbour, owner). NULL: symmetric */
  int interfaces;         /**< with other ranks */
  const kaon_ldu_interface *interface;
} kaon_ldu_arrays;

/** Creates a matrix from compressed rows, which are copied. `options` NULL: the defaults. Each rank
 * gives its rows, rank by rank without gaps. Collective. Errors: ARGUMENT (a number out of range;
 * with its place and the limits), FORMAT (duplicates, with the place), NOT_FINITE (with the place),
 * SHAPE (rows or interfaces of ranks do not join), MEMORY, UNSUPPORTED (2^31 rows or more). */
KAON_API kaon_status kaon_matrix_create_csr(kaon_context *ctx, const kaon_csr_arrays *arrays,
                                            const kaon_matrix_options *options,
                                            kaon_matrix **matrix);
/** kaon_matrix_create_csr() from entries in any order. Collective. Errors: likewise. */
KAON_API kaon_status kaon_matrix_create_triplets(kaon_context *ctx,
                                                 const kaon_triplet_arrays *arrays,
                                                 const kaon_matrix_options *options,
                                                 kaon_matrix **matrix);
/** kaon_matrix_create_csr() from OpenFOAM's arrays. Collective. Errors: likewise. */
KAON_API kaon_status kaon_matrix_create_ldu(kaon_context *ctx, const kaon_ldu_arrays *arrays,
                                            const kaon_matrix_options *options,
                                            kaon_matrix **matrix);
/** Destroys a matrix. Operators that were made from it keep it alive. */
KAON_API void kaon_matrix_destroy(kaon_matrix **matrix);

/** Space of its rows. kaon_vector_import() and kaon_vector_export() take this rank's rows in the
 * caller's order, `reals` numbers a row. Local. */
KAON_API const kaon_space *kaon_matrix_space(const kaon_matrix *matrix);

/** Facts about a matrix. Rows and columns count from 0 in the caller's order of the whole
 * matrix. */
typedef struct kaon_matrix_info {
  size_t size;
  int64_t global_rows, rows, first_row, global_entries, entries;
  int reals;
  int hermitian;             /**< 1: A = A^H to rounding (see `asymmetry`) */
  int64_t shortest, longest; /**< row lengths in entries, of all ranks */
  double mean, deviation;    /**< of the row lengths */
  int64_t bandwidth;         /**< max |i - j| of this rank's own entries, in the stored order */
  int64_t empty_rows;        /**< rows without an entry other than 0 */
  int64_t no_diagonal;       /**< rows whose diagonal entry is missing or 0 */
  int64_t empty_columns;     /**< columns without an entry other than 0 */
  int64_t first_empty_row, first_empty_column, first_no_diagonal; /**< -1: none */
  int64_t structural_rank; /**< most rows that can each be given a column of its own in which they
                                have an entry other than 0. If not all can, the matrix is singular
                                for any values. -1: not determined (several ranks, a missing
                                diagonal entry and more than 2^22 entries) */
  int64_t first_unmatched; /**< first row that such a choice leaves without a column. -1: none */
  int skew;                /**< 1: A = -A^H to rounding, and not `hermitian` */
  double asymmetry; /**< largest entry of A - A^H, where entry (i, j) is relative to the largest
                         entry of row i or of row j, whichever is smaller. 0: A = A^H exactly; up to
                         1e-10: to rounding. All of kaon goes by this: preconditioners for Hermitian
                         matrices take the lower triangle. KAON_DAGGER is exact all the same */
} kaon_matrix_info;
/** Initial value. */
#define KAON_MATRIX_INFO_INIT KAON_SIZED(kaon_matrix_info)
/** Describes a matrix. Collective. Errors: ARGUMENT, MEMORY, COMM. */
KAON_API kaon_status kaon_matrix_describe(const kaon_matrix *matrix, kaon_matrix_info *info);

/** How rows are shared among the ranks. */
typedef struct kaon_matrix_distribution {
  size_t size;
  int moved;             /**< 1: the library moved rows. 0: they are where they were given */
  int64_t rows, entries; /**< that this rank keeps */
  int64_t ghosts;        /**< rows of other ranks that this rank needs */
  int64_t most_rows, most_entries, most_ghosts; /**< of the rank that has most of each */
  int64_t all_ghosts;                           /**< of all ranks */
  int64_t cut;   /**< entries in columns of other ranks, of all ranks */
  char how[120]; /**< in words */
} kaon_matrix_distribution;
/** Initial value. */
#define KAON_MATRIX_DISTRIBUTION_INIT KAON_SIZED(kaon_matrix_distribution)
/** Describes the shares. Collective. Errors: ARGUMENT, MEMORY, COMM. */
KAON_API kaon_status kaon_matrix_describe_distribution(const kaon_matrix *matrix,
                                                       kaon_matrix_distribution *shares);

/** Options of a matrix as operator. */
typedef struct kaon_matrix_operator_options {
  size_t size;
  int version;
  kaon_precision precision; /**< of vectors: double or single. HALF: values have 16 bits and a scale
                                 a row, vectors are single */
  kaon_matrix_format format;
} kaon_matrix_operator_options;
/** Defaults. */
#define KAON_MATRIX_OPERATOR_OPTIONS_INIT                                                        \
  {                                                                                              \
    sizeof(kaon_matrix_operator_options), KAON_OPTIONS_VERSION(KAON_OPTIONS_MATRIX_OPERATOR, 1), \
        KAON_DOUBLE, KAON_STORE_AUTO                                                             \
  }

/** Creates the operator y = A x; KAON_DAGGER is A^H. `options` NULL: the defaults. Keeps the matrix
 * alive. Collective. Errors: ARGUMENT, MEMORY, NOT_BUILT, PRECISION (values that floats do not
 * hold, with the place; also where a solver needs single or half precision). */
KAON_API kaon_status kaon_matrix_operator(kaon_matrix *matrix,
                                          const kaon_matrix_operator_options *options,
                                          kaon_operator **A);
/** How such an operator stores its rows, in words. "" for other operators. Local. */
KAON_API const char *kaon_matrix_operator_format(const kaon_operator *A);
/** Bytes of the matrix on this rank that a product with one column reads: values and indices,
 * without vectors. An index list that several blocks of rows share counts once. 0 for other
 * operators. kaon_operator_cost() counts plain storage instead (docs/conventions.md, "Cost").
 * Local. */
KAON_API double kaon_matrix_operator_bytes(const kaon_operator *A);

/** @name Singular matrices
 * A x = b with A n = 0 for vectors n other than 0. It has solutions if b has no part that A x
 * cannot reach: n^dag b = 0 for every n with n^dag A = 0. Otherwise it is *inconsistent*. */
/** @{ */
/** Maximum number of null vectors. */
#define KAON_NULL_VECTORS 16
/** Sets the null space: vectors n with A n = 0. Solvers that are made afterwards return the
 * solution orthogonal to all n, whatever the initial guess. If A = A^dag or -A^dag to rounding,
 * they also find before the first step whether b is consistent (kaon_column_report.unreachable).
 * Not used for several shifts, nor for operators that are made of A's: adjoints, row projections,
 * solvers with tol = 0. These find a solution too, with the initial guess's part along the n.
 *
 * `vectors`: `count` vectors one after another, each as kaon_vector_import() takes it. They are
 * copied, and need not be orthogonal. NULL with `count` 1: the constant vector, as of Neumann or
 * periodic boundaries. `count` 0: none, the default. A solver keeps a copy for each column.
 *
 * Each n is checked: |(A n)_i| is at most 1e-10 sum_j |a_ij| max |n|. The check needs another copy
 * of A, in double. Collective. Errors: ARGUMENT (A n is not 0, with both sizes; linearly dependent
 * vectors; a number out of range; ranks differ), NOT_FINITE, MEMORY, NOT_BUILT. After an error the
 * matrix is unchanged. */
KAON_API kaon_status kaon_matrix_set_null_space(kaon_matrix *matrix, int count,
                                                const double *vectors);
/** Removes from every column of b its part along the n with n^dag A = 0, which makes b consistent.
 * These n are the vectors of kaon_matrix_set_null_space() if A = A^dag or -A^dag, else the constant
 * vector if every column of A adds up to 0. `removed[column]`: size of that part over |b| before
 * the call. Collective. Errors: ARGUMENT, SHAPE, UNSUPPORTED (no n is known), MEMORY. */
KAON_API kaon_status kaon_matrix_project_rhs(kaon_matrix *matrix, kaon_vector *b, double *removed);
/** What kaon_matrix_check_consistency() found for a column. Its size is fixed, because it is used
 * in arrays. */
typedef struct kaon_consistency {
  double unreachable; /**< size over |b| of the part of b that A x cannot reach: no x has a smaller
                           residual. 0: none was found */
  int removable;      /**< 1: kaon_matrix_project_rhs() can remove it. 0 with `unreachable` > 0:
                           A^dag (b - A x) = 0 to rounding, so x is a least-squares solution */
  int constant;       /**< 1: A times the constant vector is 0 to rounding */
} kaon_consistency;
/** Checks whether a solve with A of kaon_matrix_operator() ended without a solution because b is
 * inconsistent. x: as the solve left it. b and x may have any precision. The check makes A^dag,
 * and A in double if it is not. Collective. Errors: ARGUMENT (also: another operator), SHAPE,
 * MEMORY, NOT_BUILT. */
KAON_API kaon_status kaon_matrix_check_consistency(kaon_operator *A, const kaon_vector *b,
                                                   const kaon_vector *x, kaon_consistency *columns);
/** @} */

/** @name Matrix Market files
 * Coordinate and array; real, integer, complex and pattern; general, symmetric, skew-symmetric and
 * Hermitian; also compressed by gzip. */
/** @{ */

/** Reads a matrix. Ranks get equal shares of the rows, the first ones one more. `options` NULL: the
 * defaults. Collective. Errors: ARGUMENT, IO, FORMAT (with the line), NOT_FINITE (with the line),
 * UNSUPPORTED (not square; 2^31 rows or more), MEMORY (before it is taken). */
KAON_API kaon_status kaon_matrix_read(kaon_context *ctx, const char *path,
                                      const kaon_matrix_options *options, kaon_matrix **matrix);
/** What the first lines of a file say. */
typedef struct kaon_matrix_file_info {
  size_t size;
  int64_t rows;         /**< and columns */
  int64_t stored;       /**< entries in the file */
  int64_t entries;      /**< with both triangles, if the whole diagonal is there */
  int reals;            /**< reals of a value */
  int array;            /**< 1: every number is written out */
  int halves;           /**< 1: one triangle is stored */
  double bytes_reading; /**< host memory that a rank needs to read entries and rows */
  double bytes_rows;    /**< of these, what its rows keep */
  int skew;             /**< 1: with halves: the other triangle has opposite signs */
} kaon_matrix_file_info;
/** Initial value. */
#define KAON_MATRIX_FILE_INFO_INIT KAON_SIZED(kaon_matrix_file_info)
/** Reads the first lines of a file, for `ranks` ranks of `threads` threads. Local. Errors:
 * those of kaon_matrix_read(). */
KAON_API kaon_status kaon_matrix_file_query(const char *path, int ranks, int threads,
                                            kaon_matrix_file_info *info);
/** Writes a matrix as coordinates, real or complex, by gzip if the name ends in .gz. If A = A^T,
 * A^H or -A^T exactly, only the lower triangle (symmetric, hermitian, skew-symmetric). Rows and
 * columns are in the caller's order. Numbers are exact to the last bit, except for signs of zeros
 * in a triangle that is left out. The file appears whole or not at all. Collective. Errors:
 * ARGUMENT, IO, MEMORY. */
KAON_API kaon_status kaon_matrix_write(const kaon_matrix *matrix, const char *path);

/** Which numbers are written.
 *
 * - FULL: as kaon_matrix_write()
 * - INTEGER: whole real numbers below 2^53, in digits
 * - PATTERN: only the places of the entries, which read back as 1. Symmetric if A = A^T, A^H, -A^T
 *   or -A^H */
typedef enum kaon_matrix_field {
  KAON_FIELD_FULL,
  KAON_FIELD_INTEGER,
  KAON_FIELD_PATTERN
} kaon_matrix_field;
/** kaon_matrix_write() with a choice of numbers. Collective. Errors: those of kaon_matrix_write();
 * ARGUMENT also: INTEGER, with the first entry that is no such number. */
KAON_API kaon_status kaon_matrix_write_as(const kaon_matrix *matrix, kaon_matrix_field field,
                                          const char *path);

/** Copies the rows to host memory, in the order in which they were given, for other libraries such
 * as direct solvers. Row i has the entries start[i] to start[i + 1] - 1, with columns ascending
 * from 0. The caller's arrays start[rows + 1], column[entries] and value[entries * reals] have the
 * sizes of kaon_matrix_describe(); a complex value is two reals. For one rank. Local. Errors:
 * ARGUMENT, UNSUPPORTED (several ranks). */
KAON_API kaon_status kaon_matrix_rows(const kaon_matrix *matrix, int64_t *start, int32_t *column,
                                      double *value);

/** Reads columns of numbers, such as right-hand sides, from a Matrix Market file (array, or
 * coordinate: missing entries are 0, several in one place are added). Every rank gets all rows:
 * values[(column * rows + row) * reals + part]. The caller frees `*values` by free(). Collective.
 * Errors: as for kaon_matrix_read(). */
KAON_API kaon_status kaon_array_read(kaon_context *ctx, const char *path, int64_t *rows,
                                     int64_t *columns, int *reals, double **values);
/** Writes columns of numbers as an array, likewise. `rows` and `values` are this rank's; the file
 * has those of all ranks, one after another. `columns` and `reals` (1: real, 2: complex) are the
 * same on all ranks. By gzip if the name ends in .gz. Collective. Errors: as for
 * kaon_matrix_write(). */
KAON_API kaon_status kaon_array_write(kaon_context *ctx, const char *path, int64_t rows,
                                      int64_t columns, int reals, const double *values);
/** @} */

/** @name Generated matrices
 * By name (docs/conventions.md, "Generated matrices"):
 *
 * - "laplace2d:N" (5 points), "laplace3d:N" (7 points), "laplace3d27:N"
 * - "convdiff3d:N,PECLET" (upwind)
 * - "cavity3d:N" (a pressure equation: Neumann, one reference cell)
 * - "elasticity:N" (N^3 nodes), "trefethen:N", "banded:N,B[,SEED]", "fem:PROBLEM,DEGREE,LEVEL" */
/** @{ */

/** Creates a matrix by name. `options` NULL: the defaults. Ranks get shares as from
 * kaon_matrix_read().
 *
 * `own` (may be NULL) gets the right-hand side that belongs to elasticity, banded and fem: this
 * rank's rows in the caller's order, to be freed by free(). NULL for other names. Collective.
 * Errors: ARGUMENT (with the names, or the limits), UNSUPPORTED, MEMORY. */
KAON_API kaon_status kaon_matrix_generate(kaon_context *ctx, const char *name,
                                          const kaon_matrix_options *options, kaon_matrix **matrix,
                                          double **own);
/** Checks a name and its numbers. Local. Errors: ARGUMENT, UNSUPPORTED. */
KAON_API kaon_status kaon_matrix_generate_check(const char *name);
/** Says how large a matrix by name is, as kaon_matrix_file_query() does of a file. `halves`: 1 if A
 * is symmetric. Beyond level 6 of fem, rows and entries are estimates, and `stored` is 0. Local.
 * Errors: ARGUMENT, UNSUPPORTED, MEMORY. */
KAON_API kaon_status kaon_matrix_generate_query(const char *name, kaon_matrix_file_info *info);
/** Coordinates of the unknowns of laplace2d:N, laplace3d:N and fem:PROBLEM,1,LEVEL: points[row *
 * *dimensions + d], all rows of all ranks in the caller's order, in units of the grid or of the
 * domain [0, 3]^2. The caller frees `*points` by free(). Local. Errors: ARGUMENT, UNSUPPORTED
 * (another name), MEMORY. */
KAON_API kaon_status kaon_matrix_generate_points(kaon_context *ctx, const char *name,
                                                 int *dimensions, double **points);
/** @} */

#ifdef __cplusplus
}
#endif
#endif
