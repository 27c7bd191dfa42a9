/* spmv_matrices.h - the matrices of spmv_times, made row by row in host memory. */
#ifndef SPMV_MATRICES_H
#define SPMV_MATRICES_H

#include "sparse/storage/csr.h"

/* The columns of a row, ascending, in `column`; returns how many there are. column NULL: they are
 * only counted. */
typedef int row_maker(int64_t n, int64_t row, int32_t *column);

row_maker laplace_row;    /* n^3 points, each with its 6 neighbours */
row_maker elasticity_row; /* n^3 nodes of 3 unknowns, each with those of the 27 around it */
row_maker trefethen_row;  /* n rows, columns a power of 2 away */
row_maker skewed_row;     /* 2^n rows, of which one in 1024 is long by a power law */

/* In [-1, 1), without a pattern, symmetric. */
double matrix_number(int64_t i, int64_t j);

/* Diagonal entries are their row's count, the others numbers. */
void matrix_make(row_maker *maker, int64_t n, int64_t rows, kaon_csr *m);
void matrix_free(kaon_csr *m);

/* Whether the j-th columns of 32 rows are never more than 16 bits apart. */
int matrix_columns_are_near(const kaon_csr *m);

#endif
