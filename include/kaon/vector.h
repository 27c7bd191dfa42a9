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

/* Creates `nrhs` columns (at least 1) of zeros. Collective. Errors: ARGUMENT, MEMORY. */
kaon_status kaon_vector_create(kaon_context *ctx, const kaon_space *space, kaon_precision precision,
                               int nrhs, kaon_vector **vector);
void kaon_vector_destroy(kaon_vector **vector);

const kaon_space *kaon_vector_space(const kaon_vector *vector);
kaon_precision kaon_vector_precision(const kaon_vector *vector);
int kaon_vector_columns(const kaon_vector *vector);

/* One column from or to a host array of all sites, `double psi[site][spin][colour][2]`, site
 * lexicographic with x fastest, in `basis`. A space of one parity takes and gives that parity's
 * sites and leaves the others alone. The array may not alias library memory. Collective. Errors:
 * ARGUMENT, SHAPE, NOT_FINITE (import). */
kaon_status kaon_vector_import(kaon_vector *vector, int column, const double *psi,
                               kaon_basis basis);
kaon_status kaon_vector_export(const kaon_vector *vector, int column, double *psi,
                               kaon_basis basis);

/* All columns to 0. */
kaon_status kaon_vector_zero(kaon_vector *vector);
/* to = from, converting precision; equal spaces and column counts. */
kaon_status kaon_vector_copy(kaon_vector *to, const kaon_vector *from);
/* norm2[column] = sum |v|^2 of each column, summed in double, the same for any number of threads.
 * Collective. */
kaon_status kaon_vector_norm2(const kaon_vector *vector, double *norm2);
/* dot[column][2] = sum conj(x) y of each column. Collective. */
kaon_status kaon_vector_dot(const kaon_vector *x, const kaon_vector *y, double (*dot)[2]);
/* y[column] += (re, im) x[column], the same factor for all columns. Errors: SHAPE, PRECISION. */
kaon_status kaon_vector_axpy(double re, double im, const kaon_vector *x, kaon_vector *y);

#ifdef __cplusplus
}
#endif
#endif
