/* dense.h - small dense matrices in host memory. */
#ifndef KAON_BLAS_DENSE_H
#define KAON_BLAS_DENSE_H

enum { KAON_DENSE_MAX = 32 };

/* a, n x n, becomes its inverse in place; entry (i, j) is at (i * n + j) * reals, reals = 1 (real)
 * or 2 (re, im); 1 <= n <= KAON_DENSE_MAX. By Gauss-Jordan elimination with partial pivoting.
 * Returns 0, or 1 + the column in which no entry was left above 1e-14 times the largest that its
 * row of a had (or one was no number); *pivot (NULL: not asked for) then has the size of what was
 * left there, and a is destroyed. */
int kaon_dense_invert(int n, int reals, double *a, double *pivot);

/* The upper triangle of a, n x n, Hermitian and positive definite, stored as above, becomes U of
 * Cholesky's a = U^H U; what stands below the diagonal is neither read nor written. n as memory
 * allows. Returns 0, or 1 + the row whose pivot was not above `smallest` or no finite number;
 * *pivot then has what it was, and the triangle is destroyed. Golub, Van Loan, Matrix Computations,
 * 4th edition, 4.2. */
int kaon_dense_cholesky(int n, int reals, double *a, double smallest, double *pivot);

#endif
