/* dense.c - inverses and factors of small dense matrices, by Gauss-Jordan elimination with row
 * exchanges.
 * For one matrix of at most 32 rows it is as good as an LU factorisation and two triangular
 * inversions (N. Higham, Accuracy and Stability of Numerical Algorithms, SIAM 2002, 14.4). The same
 * code serves real and complex numbers, and its bits do not depend on a LAPACK library. */
#include "blas/dense.h"

#include <math.h>
#include <stdint.h>

static double size_of(const double *a, int reals) {
  return reals == 1 ? fabs(a[0]) : hypot(a[0], a[1]);
}

static void exchange_rows(int n, int reals, double *a, int i, int k) {
  if (i == k) return;
  for (int c = 0; c < n * reals; c++) {
    const double other = a[i * n * reals + c];
    a[i * n * reals + c] = a[k * n * reals + c];
    a[k * n * reals + c] = other;
  }
}

static void exchange_columns(int n, int reals, double *a, int j, int k) {
  if (j == k) return;
  for (int i = 0; i < n; i++)
    for (int c = 0; c < reals; c++) {
      const double other = a[(i * n + j) * reals + c];
      a[(i * n + j) * reals + c] = a[(i * n + k) * reals + c];
      a[(i * n + k) * reals + c] = other;
    }
}

/* to = to * keep + factor * from, entry by entry; `to` and `from` are different rows. */
static void combine(int n, int reals, double keep, const double *factor, const double *from,
                    double *to) {
  if (reals == 1) {
#pragma omp simd
    for (int j = 0; j < n; j++) to[j] = keep * to[j] + factor[0] * from[j];
    return;
  }
#pragma omp simd
  for (int j = 0; j < n; j++) {
    const double re = from[2 * j], im = from[2 * j + 1];
    to[2 * j] = keep * to[2 * j] + factor[0] * re - factor[1] * im;
    to[2 * j + 1] = keep * to[2 * j + 1] + factor[0] * im + factor[1] * re;
  }
}

/* Divides row k by its entry k and clears column k of the other rows. The columns of the inverse
 * replace those of the identity. */
static void eliminate(int n, int reals, double *a, int k) {
  double *row = a + k * n * reals, inverse[2] = {0, 0};
  if (reals == 1) {
    inverse[0] = 1 / row[k];
  } else {
    const double re = row[2 * k], im = row[2 * k + 1], square = re * re + im * im;
    inverse[0] = re / square;
    inverse[1] = -im / square;
  }
  for (int c = 0; c < reals; c++) row[k * reals + c] = c == 0;
  double copy[2 * KAON_DENSE_MAX];
  for (int c = 0; c < n * reals; c++) copy[c] = row[c];
  combine(n, reals, 0, inverse, copy, row);
  for (int i = 0; i < n; i++) {
    if (i == k) continue;
    double *other = a + i * n * reals, minus[2] = {0, 0};
    for (int c = 0; c < reals; c++) {
      minus[c] = -other[k * reals + c];
      other[k * reals + c] = 0;
    }
    combine(n, reals, 1, minus, row, other);
  }
}

int kaon_dense_invert(int n, int reals, double *a, double *pivot) {
  int exchanged[KAON_DENSE_MAX];
  double largest[KAON_DENSE_MAX] = {0}; /* of each row of the input, as rows may differ in scale */
  for (int i = 0; i < n * n; i++) {
    const double size = size_of(a + i * reals, reals);
    if (!(size <= largest[i / n])) largest[i / n] = size; /* keeps NaN */
  }
  for (int k = 0; k < n; k++) {
    int best = k;
    for (int i = k + 1; i < n; i++)
      if (size_of(a + (i * n + k) * reals, reals) > size_of(a + (best * n + k) * reals, reals))
        best = i;
    const double left = size_of(a + (best * n + k) * reals, reals);
    if (!(left > 1e-14 * largest[best] && left < INFINITY)) {
      if (pivot != 0) *pivot = left;
      return k + 1;
    }
    exchange_rows(n, reals, a, k, best);
    largest[best] = largest[k];
    exchanged[k] = best;
    eliminate(n, reals, a, k);
  }
  for (int k = n - 1; k >= 0; k--) exchange_columns(n, reals, a, k, exchanged[k]);
  return 0;
}

int kaon_dense_cholesky(int n, int reals, double *a, double smallest, double *pivot) {
  const int64_t stride = (int64_t)n * reals;
  for (int k = 0; k < n; k++) {
    double *row = a + k * (stride + reals); /* from its diagonal on */
    const double left = row[0];
    if (!(left > smallest && left < INFINITY)) {
      *pivot = left;
      return k + 1;
    }
    const double root = sqrt(left);
    for (int c = reals; c < (n - k) * reals; c++) row[c] /= root;
    row[0] = root;
    if (reals == 2) row[1] = 0;
    for (int i = k + 1; i < n; i++) {
      const double *entry = row + (i - k) * reals;
      const double minus[2] = {-entry[0], reals == 2 ? entry[1] : 0};
      combine(n - i, reals, 1, minus, entry, a + i * (stride + reals));
    }
  }
  return 0;
}
