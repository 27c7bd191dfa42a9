/* ref_relax.c - relaxation as in textbooks, one row after another, on rows given by arrays. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reference.h"

/* sum over j != i of a_ij x_j, of those with first <= j < last (inside) or the others; *d = a_ii.
 */
static ref_complex rest(const ref_rows *a, size_t i, size_t first, size_t last, int inside,
                        const ref_complex *x, ref_complex *d) {
  ref_complex sum = 0;
  for (int64_t n = a->start[i]; n < a->start[i + 1]; n++) {
    const size_t j = (size_t)a->column[n];
    if (j == i)
      *d = a->value[n];
    else if ((j >= first && j < last) == inside)
      sum += a->value[n] * x[j];
  }
  return sum;
}

void ref_relax_jacobi(const ref_rows *a, double tau, const ref_complex *b, ref_complex *x) {
  ref_complex *old = malloc(a->rows * sizeof *old), d = 1;
  memcpy(old, x, a->rows * sizeof *old);
  for (size_t i = 0; i < a->rows; i++) {
    const ref_complex sum = rest(a, i, 0, a->rows, 1, old, &d);
    x[i] = old[i] + tau * ((b[i] - sum) / d - old[i]);
  }
  free(old);
}

void ref_relax_sor(const ref_rows *a, double omega, const size_t *order, const ref_complex *b,
                   ref_complex *x) {
  ref_complex d = 1;
  for (size_t n = 0; n < a->rows; n++) {
    const size_t i = order != NULL ? order[n] : n;
    const ref_complex sum = rest(a, i, 0, a->rows, 1, x, &d);
    x[i] += omega * ((b[i] - sum) / d - x[i]);
  }
}

void ref_relax_blocks(const ref_rows *a, size_t block, int sweeps, double factor, int renew,
                      const ref_complex *b, ref_complex *x) {
  ref_complex *old = malloc(3 * a->rows * sizeof *old), *t = old + a->rows, *next = t + a->rows;
  memcpy(old, x, a->rows * sizeof *old);
  for (size_t first = 0; first < a->rows; first += block) {
    const size_t last = first + block < a->rows ? first + block : a->rows;
    ref_complex d = 1;
    for (size_t i = first; i < last; i++)
      t[i] = b[i] - rest(a, i, first, last, 0, renew ? x : old, &d);
    for (int k = 0; k < sweeps; k++) {
      for (size_t i = first; i < last; i++) {
        const ref_complex sum = rest(a, i, first, last, 1, x, &d);
        next[i] = x[i] + factor * ((t[i] - sum) / d - x[i]);
      }
      memcpy(x + first, next + first, (last - first) * sizeof *x);
    }
  }
  free(old);
}

double ref_relax_residual(const ref_rows *a, const ref_complex *b, const ref_complex *x) {
  double sum = 0, of_b = 0;
  for (size_t i = 0; i < a->rows; i++) {
    ref_complex r = b[i];
    for (int64_t n = a->start[i]; n < a->start[i + 1]; n++) r -= a->value[n] * x[a->column[n]];
    sum += creal(r) * creal(r) + cimag(r) * cimag(r);
    of_b += creal(b[i]) * creal(b[i]) + cimag(b[i]) * cimag(b[i]);
  }
  return sqrt(sum / of_b);
}
