/* row_case.h - sparse matrices in host memory: files through a reader of the tests' own, generated
 * ones, and plain arithmetic. A failure ends the program. Include the cmocka preamble before. */
#ifndef ROW_CASE_H
#define ROW_CASE_H

#include <complex.h>

#include "sparse/storage/csr.h"
#include "tests/util/test_util.h"

/* A file of the data folder: "sparse/fv1.mtx" (real or integer, general or symmetric) or
 * "sparse/kaczmarz/problem...txt" (triplets; the right-hand side after them is ignored). NULL,
 * with a message: it is absent. */
kaon_csr *row_case_file(const char *name);

/* 5 or 7 points, 2 * (directions with more than one point) on the diagonal, -1 beside it. */
kaon_csr *row_case_laplace(int nx, int ny, int nz);
/* Tridiagonal; reals = 2: the entries beside the diagonal have phases; hermitian = 0: those above
 * are 0.3 times as large. Diagonally dominant. */
kaon_csr *row_case_tridiagonal(int n, int reals, int hermitian);
/* About `each` entries a row in random places beside a diagonal that makes it diagonally dominant
 * by 10 % (and positive where hermitian). hermitian 0: the pattern is not symmetric either. */
kaon_csr *row_case_random(int n, int each, int reals, int hermitian, uint64_t seed);
/* Real rows of A with one more entry of 100 each, row i in column rows + i % ghosts. */
kaon_csr *row_case_ghosts(const kaon_csr *A, int ghosts);
/* Rows and columns i and j given the same new places: order[i] becomes i; random. */
void row_case_shuffle(int n, uint64_t seed, int32_t *order);

/* row-major rows x rows, without ghosts. Free with free(). */
double complex *row_case_dense(const kaon_csr *csr);
/* y = A x, or A^H x. */
void row_case_multiply(const kaon_csr *A, int dagger, const double complex *x, double complex *y);
/* sqrt(sum |x|^2), and sum conj(x) y. */
double row_case_norm(int64_t n, const double complex *x);
double complex row_case_dot(int64_t n, const double complex *x, const double complex *y);
/* parts in [-1, 1); without an imaginary part where reals = 1. */
void row_case_vector(int64_t n, int reals, uint64_t seed, double complex *x);

#endif
