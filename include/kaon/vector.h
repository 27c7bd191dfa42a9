/* vector.h - columns of numbers in one space and one precision. */
#ifndef KAON_VECTOR_H
#define KAON_VECTOR_H

#include <kaon/lattice.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kaon_vector kaon_vector;

/* HALF is storage: 16-bit integers with one float scale a site and column; arithmetic is in float.
 */
typedef enum kaon_precision { KAON_DOUBLE, KAON_SINGLE, KAON_HALF } kaon_precision;

/* Spin bases at the door (docs/conventions.md); the library works in KAON_BASIS_UKQCD (gamma_4
 * diagonal). */
typedef enum kaon_basis {
  KAON_BASIS_UKQCD,
  KAON_BASIS_DEGRAND_ROSSI,
  KAON_BASIS_DDALPHAAMG
} kaon_basis;

/* Creates `nrhs` columns (at least 1) of zeros of a space of ctx; keeps its lattice and context
 * alive. *vector is NULL on failure. Collective. Errors: ARGUMENT, UNSUPPORTED (half precision of a
 * space with more reals a site than a scale serves), MEMORY. */
kaon_status kaon_vector_create(kaon_context *ctx, const kaon_space *space, kaon_precision precision,
                               int nrhs, kaon_vector **vector);
/* Destroys it and sets *vector to NULL; NULL is allowed. */
void kaon_vector_destroy(kaon_vector **vector);

/* Of a vector that is not NULL. Not collective. */
const kaon_space *kaon_vector_space(const kaon_vector *vector);
kaon_precision kaon_vector_precision(const kaon_vector *vector);
int kaon_vector_columns(const kaon_vector *vector);

/* One column from or to a host array of all sites, `double psi[site][spin][colour][2]`, site
 * lexicographic with x fastest, in `basis`. With several ranks: of the rank's own sites, counted in
 * its part of the lattice (kaon_lattice_part; the whole: kaon_vector_gather). A space of one parity
 * takes and gives that parity's sites and leaves the others alone. On a GPU the column alone is
 * moved, and put in order there. The array may not alias library memory. Collective. Errors:
 * ARGUMENT (also: memory of a device), SHAPE, NOT_FINITE (import), MEMORY, DEVICE. */
kaon_status kaon_vector_import(kaon_vector *vector, int column, const double *psi,
                               kaon_basis basis);
kaon_status kaon_vector_export(const kaon_vector *vector, int column, double *psi,
                               kaon_basis basis);
/* The same, bit by bit, for an array in the memory of the context's device (on the CPU: of the
 * host), which does not leave it. What filled or reads the array must have ended before, in the
 * caller's streams; when the function returns the array may be used again. Collective. Errors:
 * ARGUMENT (also: memory of the host, or of another device), SHAPE, NOT_FINITE (import), DEVICE. */
kaon_status kaon_vector_import_device(kaon_vector *vector, int column, const double *psi,
                                      kaon_basis basis);
kaon_status kaon_vector_export_device(const kaon_vector *vector, int column, double *psi,
                                      kaon_basis basis);

/* All columns to 0. Local to the rank; asynchronous on CUDA. Errors: ARGUMENT, NOT_BUILT. */
kaon_status kaon_vector_zero(kaon_vector *vector);
/* to = from on every column. Both of one space (the same pointer) with equal columns, in any two
 * precisions: equal ones copy the bits, else each number is rounded once (half: to its site's and
 * column's scale). from == to is allowed and does nothing; otherwise they must not share memory.
 * from is unchanged. Local to the rank; asynchronous on CUDA. Errors: ARGUMENT, SHAPE, ALIAS,
 * NOT_BUILT. */
kaon_status kaon_vector_copy(kaon_vector *to, const kaon_vector *from);
/* norm2[column] = sum |v|^2 of each column into host memory for kaon_vector_columns numbers, summed
 * in double, the same bits for any number of threads. NaN and infinity come through. The vector is
 * unchanged. Collective; waits for the result. Errors: ARGUMENT, MEMORY, NOT_BUILT; norm2 is then
 * unchanged. */
kaon_status kaon_vector_norm2(const kaon_vector *vector, double *norm2);
/* dot[column] = (re, im) of sum conj(x) y of each column, into host memory, summed as norm2. x and
 * y of one space and precision with equal columns; they may be the same vector; both are unchanged.
 * Collective; waits for the result. Errors: ARGUMENT, SHAPE, PRECISION, MEMORY, NOT_BUILT; dot is
 * then unchanged. */
kaon_status kaon_vector_dot(const kaon_vector *x, const kaon_vector *y, double (*dot)[2]);
/* y[column] += (re, im) x[column], the same factor for all columns; im = 0 in a real space. x and y
 * of one space and precision with equal columns, not sharing memory; x is unchanged. Local to the
 * rank. Errors: ARGUMENT, SHAPE, PRECISION, ALIAS, MEMORY, NOT_BUILT. */
kaon_status kaon_vector_axpy(double re, double im, const kaon_vector *x, kaon_vector *y);

/* A column of the whole lattice, on every rank: psi is what import and export take on one rank, for
 * all sites of all ranks. gather fills psi with the column on all ranks; scatter takes each rank's
 * part of psi, which is the same on all. For spinors on all sites. Collective. Errors: those of
 * import and export, SHAPE (one parity, matrix rows), MEMORY. */
kaon_status kaon_vector_gather(const kaon_vector *vector, int column, double *psi,
                               kaon_basis basis);
kaon_status kaon_vector_scatter(kaon_vector *vector, int column, const double *psi,
                                kaon_basis basis);

#ifdef __cplusplus
}
#endif
#endif
