/* sparse_case.h - the reference's triplets as a matrix of the library, and host columns of its
 * space. Include the cmocka preamble before. */
#ifndef SPARSE_CASE_H
#define SPARSE_CASE_H

#include <kaon/kaon.h>

#include "tests/reference/reference.h"
#include "lib/operator/operator_internal.h"
#include "tests/util/dirac_case.h"

/* All rows on one rank; with several ranks, rows [first, first + rows) of it. reals: of values and
 * vectors. */
kaon_matrix *sparse_matrix(kaon_context *ctx, const ref_sparse *a, int reals,
                           const kaon_matrix_options *options);
kaon_matrix *sparse_matrix_part(kaon_context *ctx, const ref_sparse *a, int reals, size_t first,
                                size_t rows, const kaon_matrix_options *options);
kaon_operator *sparse_operator(kaon_matrix *matrix, kaon_precision precision,
                               kaon_matrix_format format);
kaon_vector *sparse_vector(const kaon_operator *A, int columns);
/* x: `rows` numbers of which real spaces take the real part. */
void sparse_import(kaon_vector *v, int column, size_t rows, const ref_complex *x);
void sparse_export(const kaon_vector *v, int column, size_t rows, ref_complex *x);
/* Uniform in [-1, 1], imaginary parts too if reals = 2. Free with free(). */
ref_complex *sparse_random(size_t rows, int reals, uint64_t seed);

#endif
