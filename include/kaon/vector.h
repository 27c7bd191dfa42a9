/** @file vector.h
 * Vectors: columns of numbers in one space and one precision. */
#ifndef KAON_VECTOR_H
#define KAON_VECTOR_H

#include <kaon/lattice.h>

#ifdef __cplusplus
extern "C" {
#endif

/** One or more columns, such as right-hand sides that are solved together. */
typedef struct kaon_vector kaon_vector;

/** Spin basis of host arrays (docs/conventions.md). The library works in UKQCD, where gamma_4 is
 * diagonal. CHIRAL is the basis of tmLQCD and openQCD, and QUDA's of that name. */
typedef enum kaon_basis {
  KAON_BASIS_UKQCD,
  KAON_BASIS_DEGRAND_ROSSI,
  KAON_BASIS_DDALPHAAMG,
  KAON_BASIS_CHIRAL
} kaon_basis;

/** Order of the sites of a spinor array. Each rank's array has its own part
 * (kaon_lattice_part()), in coordinates of that part; parity counts coordinates in the whole
 * lattice. A fifth dimension is the slowest index, in the last two orders within each parity.
 *
 * - LEXICOGRAPHIC: all sites, x fastest
 * - EVEN_ODD: the even sites, then the odd ones, each in lexicographic order. Where the extents of
 *   the part are even, a site has the index parity * V / 2 + lexicographic / 2
 * - ONE_PARITY: only the sites of the vector's parity, in lexicographic order. For vectors of one
 *   parity */
typedef enum kaon_site_order {
  KAON_SITES_LEXICOGRAPHIC,
  KAON_SITES_EVEN_ODD,
  KAON_SITES_ONE_PARITY
} kaon_site_order;

/** Order of a site's components in a spinor array: `[spin][colour][2]` or `[colour][spin][2]`. For
 * staggered vectors both are `[colour][2]`. */
typedef enum kaon_component_order {
  KAON_COMPONENTS_SPIN_COLOUR,
  KAON_COMPONENTS_COLOUR_SPIN
} kaon_component_order;

/** How an array of kaon_vector_import_ordered() and kaon_vector_export_ordered() is stored. */
typedef struct kaon_vector_layout {
  size_t size;
  kaon_site_order sites;
  kaon_component_order components;
  kaon_precision precision; /**< of the array: KAON_DOUBLE or KAON_SINGLE */
  kaon_basis basis;
} kaon_vector_layout;
/** Sets the size, and the layout of kaon_vector_import() in #KAON_BASIS_UKQCD. */
#define KAON_VECTOR_LAYOUT_INIT KAON_SIZED(kaon_vector_layout)

/** Creates a space of the application, for example of a coarse grid: `sites` sites on this rank,
 * each with `numbers` real numbers, or complex ones if `complex_numbers` is 1.
 *
 * Ranks may have different numbers of sites, even none, but equal `numbers`. Host arrays of import
 * and export are `double v[site][number]`, or `double v[site][number][2]`, in #KAON_BASIS_UKQCD,
 * with this rank's sites in order. In memory they are in the same order (kaon_vector_locate()). In
 * half precision the numbers of a site share one scale. Two spaces are never equal, even if made
 * alike.
 * Collective. Errors: ARGUMENT (sites not from 0 to 2^31 - 65; numbers below 1, or more than 128
 * reals a site), MEMORY. */
KAON_API kaon_status kaon_space_create(kaon_context *ctx, int64_t sites, int numbers,
                                       int complex_numbers, kaon_space **space);
/** Destroys a space from kaon_space_create(). Vectors and operators on it keep it alive. */
KAON_API void kaon_space_destroy(kaon_space **space);
/** Tells which site each place in memory holds: `site[place]` is its index in a host array (see
 * kaon_vector_import()), or -1 where there is none. `places` is the member of that name of
 * #kaon_vector_storage for vectors of the space. Local. Errors: ARGUMENT (another number of
 * places), UNSUPPORTED (rows of a matrix that kaon moved between ranks). */
KAON_API kaon_status kaon_space_order(const kaon_space *space, int64_t places, int64_t *site);

/** Creates `nrhs` columns of zeros; nrhs is at least 1. Collective. Errors: ARGUMENT; UNSUPPORTED
 * (half precision in a space with too many reals a site); MEMORY. */
KAON_API kaon_status kaon_vector_create(kaon_context *ctx, const kaon_space *space,
                                        kaon_precision precision, int nrhs, kaon_vector **vector);
/** Destroys a vector. */
KAON_API void kaon_vector_destroy(kaon_vector **vector);

/** Space of a vector. Local. */
KAON_API const kaon_space *kaon_vector_space(const kaon_vector *vector);
/** Precision of a vector. Local. */
KAON_API kaon_precision kaon_vector_precision(const kaon_vector *vector);
/** Number of columns. Local. */
KAON_API int kaon_vector_columns(const kaon_vector *vector);

/** Fills one column from a host array `double psi[site][spin][colour][2]` of all sites, in `basis`.
 *
 * Sites are in lexicographic order, x fastest. With several ranks the array has this rank's part
 * (kaon_lattice_part()); kaon_vector_scatter() takes the whole. A vector of one parity reads the
 * sites of that parity. For spinors with a fifth dimension see kaon_lattice_spinors_5d(). For rows
 * of a matrix: its numbers in the caller's order. For spaces of the application see
 * kaon_space_create(). The array must not be memory of the library.
 * Collective. Errors: ARGUMENT (also: memory of a device), SHAPE, NOT_FINITE, MEMORY, DEVICE. */
KAON_API kaon_status kaon_vector_import(kaon_vector *vector, int column, const double *psi,
                                        kaon_basis basis);
/** Writes one column to such an array. A vector of one parity leaves the other sites alone. Errors:
 * those of import, without NOT_FINITE. Collective. */
KAON_API kaon_status kaon_vector_export(const kaon_vector *vector, int column, double *psi,
                                        kaon_basis basis);
/** Fills one column from an array in any layout, in memory of the host or of the context's device.
 * kaon_vector_import() is the case of sites and components in their first order, and of doubles.
 *
 * `bytes` is the length of the array: that of the whole part of this rank, or with
 * #KAON_SITES_ONE_PARITY that of the sites of one parity. Another length is refused. From a whole
 * array, a vector of one parity reads the sites of that parity. Vectors that are not of a lattice
 * take the layout of kaon_vector_import() alone. The array must not be memory of the library. An
 * array on the device is copied through the host; earlier work on it in the caller's streams must
 * be done. Collective. Errors: ARGUMENT (also: memory of another device), SHAPE (a column that the
 * vector does not have; the length; #KAON_SITES_ONE_PARITY for a vector of both), NOT_FINITE,
 * MEMORY, DEVICE. */
KAON_API kaon_status kaon_vector_import_ordered(kaon_vector *vector, int column, const void *array,
                                                size_t bytes, const kaon_vector_layout *layout);
/** Writes one column to such an array. In a whole array, a vector of one parity leaves the other
 * sites alone. Numbers beyond the range of float become infinite in an array of floats. Collective.
 * Errors: those of kaon_vector_import_ordered(), without NOT_FINITE. */
KAON_API kaon_status kaon_vector_export_ordered(const kaon_vector *vector, int column, void *array,
                                                size_t bytes, const kaon_vector_layout *layout);
/** kaon_vector_import() from an array in memory of the context's device (on the CPU: of the host).
 * The bits are the same. Earlier work on the array in the caller's streams must be done. When the
 * function returns, the array may be used again. Collective. Errors: ARGUMENT (also: memory of the
 * host or of another device), SHAPE, NOT_FINITE, DEVICE. */
KAON_API kaon_status kaon_vector_import_device(kaon_vector *vector, int column, const double *psi,
                                               kaon_basis basis);
/** kaon_vector_export() to an array on the device, likewise. Collective. Errors: those of
 * kaon_vector_import_device(), without NOT_FINITE. */
KAON_API kaon_status kaon_vector_export_device(const kaon_vector *vector, int column, double *psi,
                                               kaon_basis basis);

/** Where the numbers of a vector are in memory on this rank. Output of kaon_vector_locate().
 *
 * Places are in blocks of `width`. Real c of place n in column k is `data[kaon_storage_index()]`,
 * that is
 *
 *     ((n / width * columns + k) * reals + c - c % group) * width + n % width * group + c % group
 *
 * A complex number is two reals, re before im. Spinors have c = 2 * (3 * spin + colour) + (0 or 1).
 * In half precision a number is `data[...] / 32767 * scale[(n / width * columns + k) * width + n %
 * width]`. */
typedef struct kaon_vector_storage {
  size_t size;
  void *data;     /**< double, float or int16_t. On CUDA: memory of the device */
  float *scale;   /**< half precision, else NULL */
  int64_t places; /**< sites in memory, rounded up to whole blocks */
  int width;      /**< places in a block */
  int group;      /**< reals of a place that stand together: a divisor of `reals` */
  int reals;      /**< of a site */
  int columns;
} kaon_vector_storage;
/** Sets the size; the other members are output. */
#define KAON_VECTOR_STORAGE_INIT KAON_SIZED(kaon_vector_storage)
/** Tells where the numbers of a vector are, for access without copies. Waits until they are
 * complete. They may be read and, unless the vector was passed as const, written until the next
 * call of kaon with this vector. Work on them in the application's own streams must be complete by
 * then. Places without a site (kaon_space_order()) hold 0, and must stay 0. Local. Errors:
 * ARGUMENT, DEVICE. */
KAON_API kaon_status kaon_vector_locate(const kaon_vector *vector, kaon_vector_storage *storage);
/** Index of real `c` of `place` in column `column` in the data of a vector. Local. */
static inline int64_t kaon_storage_index(const kaon_vector_storage *storage, int64_t place,
                                         int column, int c) {
  const int64_t block = place / storage->width;
  const int lane = (int)(place % storage->width), within = c % storage->group;
  return ((block * storage->columns + column) * storage->reals + c - within) * storage->width +
         lane * storage->group + within;
}

/** Sets all columns to 0. Local; asynchronous on CUDA. Errors: ARGUMENT, NOT_BUILT. */
KAON_API kaon_status kaon_vector_zero(kaon_vector *vector);
/** `to = from`. Both are of one space with equal columns. Equal precisions copy the bits; otherwise
 * each number is rounded once (half: to the scale of its site and column). `to == from` does
 * nothing; other vectors must not share memory. Local; asynchronous on CUDA. Errors: ARGUMENT,
 * SHAPE, ALIAS, NOT_BUILT. */
KAON_API kaon_status kaon_vector_copy(kaon_vector *to, const kaon_vector *from);
/** `norm2[column]` = sum of `|v|^2` over each column, added up in double precision. The bits do not
 * depend on the number of threads. NaN and infinity are passed on. Collective; waits for the
 * result. Errors: ARGUMENT, MEMORY, NOT_BUILT; `norm2` is then unchanged. */
KAON_API kaon_status kaon_vector_norm2(const kaon_vector *vector, double *norm2);
/** `dot[column]` = (re, im) of the sum of `conj(x) y`, added up as in kaon_vector_norm2(). x and y
 * are of one space and precision with equal columns; they may be the same vector. Collective; waits
 * for the result. Errors: ARGUMENT, SHAPE, PRECISION, MEMORY, NOT_BUILT; `dot` is then
 * unchanged. */
KAON_API kaon_status kaon_vector_dot(const kaon_vector *x, const kaon_vector *y, double (*dot)[2]);
/** `residual[column]` = the heavy-quark residual (Fermilab) of a residual r and a solution x:
 * sqrt(mean over sites s, or rows, of `|r_s|^2 / |x_s|^2`), added up as in kaon_vector_norm2(). A
 * site with `x_s = 0` counts as 1. r and x are of one space and precision with equal columns.
 * Collective; waits for the result. Errors: ARGUMENT, SHAPE, PRECISION, MEMORY, NOT_BUILT;
 * `residual` is then unchanged. */
KAON_API kaon_status kaon_vector_heavy_quark(const kaon_vector *r, const kaon_vector *x,
                                             double *residual);
/** `y += (re + i im) x`, the same factor for all columns. `im` is 0 in a real space. x and y are of
 * one space and precision with equal columns, and share no memory. Local. Errors: ARGUMENT, SHAPE,
 * PRECISION, ALIAS, MEMORY, NOT_BUILT. */
KAON_API kaon_status kaon_vector_axpy(double re, double im, const kaon_vector *x, kaon_vector *y);

/** `y += factor[column] x`, with a factor (re, im) of its own for each column. Otherwise as
 * kaon_vector_axpy(). Local. Errors: those of kaon_vector_axpy(). */
KAON_API kaon_status kaon_vector_axpy_columns(const double (*factor)[2], const kaon_vector *x,
                                              kaon_vector *y);
/** `vector *= factor[column]`, likewise. Local. Errors: ARGUMENT, MEMORY, NOT_BUILT. */
KAON_API kaon_status kaon_vector_scale(const double (*factor)[2], kaon_vector *vector);
/** Copies `columns` columns bit by bit: column `from_first + k` of `from` becomes column
 * `to_first + k` of `to`. Both are of one space and precision. They may be one vector, if the two
 * ranges of columns do not overlap. Local; asynchronous on CUDA. Errors: ARGUMENT, SHAPE (two
 * spaces; columns that a vector does not have), PRECISION, ALIAS. */
KAON_API kaon_status kaon_vector_copy_columns(kaon_vector *to, int to_first,
                                              const kaon_vector *from, int from_first, int columns);
/** Copies the sites of one parity, bit by bit. One vector is on all sites of a lattice, the other
 * on its even or its odd sites. Other sites of `to` keep their values. Both have one precision and
 * equal columns. Local; asynchronous on CUDA. Errors: ARGUMENT, SHAPE, PRECISION. */
KAON_API kaon_status kaon_vector_copy_parity(kaon_vector *to, const kaon_vector *from);
/** `y = gamma_5 x` of Wilson colour-spinors, on every column (docs/conventions.md). x and y are of
 * one space and precision with equal columns, and share no memory. Local; asynchronous on CUDA.
 * Errors: ARGUMENT, SHAPE, PRECISION, ALIAS, MEMORY (half precision on CUDA). */
KAON_API kaon_status kaon_vector_gamma5(const kaon_vector *x, kaon_vector *y);

/** Exports a column of the whole lattice on every rank: `psi` is the array of kaon_vector_export()
 * for all sites of all ranks. For spinors on all sites. Collective. Errors: those of export; SHAPE
 * (one parity, or rows of a matrix); MEMORY. */
KAON_API kaon_status kaon_vector_gather(const kaon_vector *vector, int column, double *psi,
                                        kaon_basis basis);
/** Imports a column of the whole lattice: each rank takes its part of `psi`, which is the same on
 * all ranks. Collective. Errors: as for kaon_vector_gather(); NOT_FINITE. */
KAON_API kaon_status kaon_vector_scatter(kaon_vector *vector, int column, const double *psi,
                                         kaon_basis basis);

#ifdef __cplusplus
}
#endif
#endif
