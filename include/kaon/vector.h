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
 * diagonal. */
typedef enum kaon_basis {
  KAON_BASIS_UKQCD,
  KAON_BASIS_DEGRAND_ROSSI,
  KAON_BASIS_DDALPHAAMG
} kaon_basis;

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
 * sites of that parity. For rows of a matrix: its numbers in the caller's order. The array must not
 * be memory of the library. Collective. Errors: ARGUMENT (also: memory of a device), SHAPE,
 * NOT_FINITE, MEMORY, DEVICE. */
KAON_API kaon_status kaon_vector_import(kaon_vector *vector, int column, const double *psi,
                                        kaon_basis basis);
/** Writes one column to such an array. A vector of one parity leaves the other sites alone. Errors:
 * those of import, without NOT_FINITE. Collective. */
KAON_API kaon_status kaon_vector_export(const kaon_vector *vector, int column, double *psi,
                                        kaon_basis basis);
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
/** `y += (re + i im) x`, the same factor for all columns. `im` is 0 in a real space. x and y are of
 * one space and precision with equal columns, and share no memory. Local. Errors: ARGUMENT, SHAPE,
 * PRECISION, ALIAS, MEMORY, NOT_BUILT. */
KAON_API kaon_status kaon_vector_axpy(double re, double im, const kaon_vector *x, kaon_vector *y);

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
