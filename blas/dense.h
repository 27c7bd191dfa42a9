/* dense.h - small dense matrices in host memory. */
#pragma once

enum { KAON_DENSE_MAX = 32 };

/* Replaces a, n x n, by its inverse. Entry (i, j) is at (i * n + j) * reals, with reals = 1 (real)
 * or 2 (re, im); 1 <= n <= KAON_DENSE_MAX. Uses Gauss-Jordan elimination with partial pivoting.
 * Returns 0, or 1 + the column in which no pivot was above 1e-14 times the largest entry of its row
 * of a (or one was NaN). Then *pivot (NULL allowed) is the size of the best pivot there, and a is
 * destroyed. */
int kaon_dense_invert(int n, int reals, double *a, double *pivot);

/* Replaces the upper triangle of a, n x n, Hermitian and positive definite, stored as above, by U
 * of Cholesky's a = U^H U. Entries below the diagonal are neither read nor written. n is not
 * bounded. Returns 0, or 1 + the row whose pivot was not finite or not above `smallest`. Then
 * *pivot is that value, and the triangle is destroyed. Source: Golub, Van Loan, Matrix
 * Computations, 4th edition, 4.2. */
int kaon_dense_cholesky(int n, int reals, double *a, double smallest, double *pivot);
