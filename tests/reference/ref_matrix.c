/* ref_matrix.c - 3x3 products, dense elimination, plain vector sums (test oracle). */
#include "reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/util/max_error.h"

void ref_mul(ref_complex c[9], const ref_complex a[9], const ref_complex b[9]) {
  ref_complex r[9];
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) {
      r[3 * i + j] = 0;
      for (int k = 0; k < 3; k++) r[3 * i + j] += a[3 * i + k] * b[3 * k + j];
    }
  memcpy(c, r, sizeof r);
}

void ref_adjoint(ref_complex c[9], const ref_complex a[9]) {
  ref_complex r[9];
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) r[3 * i + j] = conj(a[3 * j + i]);
  memcpy(c, r, sizeof r);
}

void ref_mul_na(ref_complex c[9], const ref_complex a[9], const ref_complex b[9]) {
  ref_complex bd[9];
  ref_adjoint(bd, b);
  ref_mul(c, a, bd);
}

void ref_mul_an(ref_complex c[9], const ref_complex a[9], const ref_complex b[9]) {
  ref_complex ad[9];
  ref_adjoint(ad, a);
  ref_mul(c, ad, b);
}

ref_complex ref_trace(const ref_complex a[9]) {
  return a[0] + a[4] + a[8];
}

ref_complex ref_det(const ref_complex a[9]) {
  return a[0] * (a[4] * a[8] - a[5] * a[7]) - a[1] * (a[3] * a[8] - a[5] * a[6]) +
         a[2] * (a[3] * a[7] - a[4] * a[6]);
}

double ref_su3_deviation(const ref_complex u[9]) {
  ref_complex p[9];
  ref_mul_na(p, u, u);
  double worst = cabs(ref_det(u) - 1);
  for (int i = 0; i < 9; i++) worst = larger(worst, cabs(p[i] - (i % 4 == 0)));
  return worst;
}

void ref_complete_row2(ref_complex u[9]) {
  for (int i = 0; i < 3; i++) {
    int j = (i + 1) % 3, k = (i + 2) % 3;
    u[6 + i] = conj(u[j] * u[3 + k] - u[k] * u[3 + j]);
  }
}

/* Gauss elimination of [a | b] with nrhs columns, row pivoting; logs the determinant if asked.
 * a and b are overwritten, b with the solution. */
static int eliminate(int n, ref_complex *a, int nrhs, ref_complex *b, ref_complex *log_det) {
  ref_complex log_sum = 0;
  for (int c = 0; c < n; c++) {
    int pivot = c;
    for (int i = c + 1; i < n; i++)
      if (cabs(a[(size_t)i * n + c]) > cabs(a[(size_t)pivot * n + c])) pivot = i;
    if (cabs(a[(size_t)pivot * n + c]) == 0) return 0;
    if (pivot != c) {
      for (int j = 0; j < n; j++) {
        ref_complex t = a[(size_t)c * n + j];
        a[(size_t)c * n + j] = a[(size_t)pivot * n + j];
        a[(size_t)pivot * n + j] = t;
      }
      for (int j = 0; j < nrhs; j++) {
        ref_complex t = b[(size_t)c * nrhs + j];
        b[(size_t)c * nrhs + j] = b[(size_t)pivot * nrhs + j];
        b[(size_t)pivot * nrhs + j] = t;
      }
      log_sum += clog(-1);
    }
    log_sum += clog(a[(size_t)c * n + c]);
    ref_complex inv = 1 / a[(size_t)c * n + c];
    for (int j = c; j < n; j++) a[(size_t)c * n + j] *= inv;
    for (int j = 0; j < nrhs; j++) b[(size_t)c * nrhs + j] *= inv;
    for (int i = 0; i < n; i++) {
      ref_complex f = a[(size_t)i * n + c];
      if (i == c || f == 0) continue;
      for (int j = c; j < n; j++) a[(size_t)i * n + j] -= f * a[(size_t)c * n + j];
      for (int j = 0; j < nrhs; j++) b[(size_t)i * nrhs + j] -= f * b[(size_t)c * nrhs + j];
    }
  }
  if (log_det) *log_det = log_sum;
  return 1;
}

int ref_invert(int n, const ref_complex *a, ref_complex *inverse) {
  size_t size = (size_t)n * n;
  ref_complex *w = ref_new(size), *r = ref_new(size);
  memcpy(w, a, size * sizeof *w);
  for (int i = 0; i < n; i++) r[(size_t)i * n + i] = 1;
  int ok = eliminate(n, w, n, r, NULL);
  memcpy(inverse, r, size * sizeof *r);
  free(w);
  free(r);
  return ok;
}

int ref_solve_dense(int n, const ref_complex *a, const ref_complex *b, ref_complex *x) {
  size_t size = (size_t)n * n;
  ref_complex *w = ref_new(size);
  memcpy(w, a, size * sizeof *w);
  memmove(x, b, (size_t)n * sizeof *x);
  int ok = eliminate(n, w, 1, x, NULL);
  free(w);
  return ok;
}

ref_complex ref_log_det(int n, const ref_complex *a) {
  size_t size = (size_t)n * n;
  ref_complex *w = ref_new(size), log_det = -INFINITY;
  memcpy(w, a, size * sizeof *w);
  if (eliminate(n, w, 0, w, &log_det)) {
    double phase = remainder(cimag(log_det), 2 * 3.14159265358979323846);
    log_det = creal(log_det) + I * phase;
  }
  free(w);
  return log_det;
}

double ref_norm2(const ref_complex *a, size_t count) {
  double sum = 0;
  for (size_t i = 0; i < count; i++) sum += creal(a[i]) * creal(a[i]) + cimag(a[i]) * cimag(a[i]);
  return sum;
}

ref_complex ref_dot(const ref_complex *a, const ref_complex *b, size_t count) {
  ref_complex sum = 0;
  for (size_t i = 0; i < count; i++) sum += conj(a[i]) * b[i];
  return sum;
}

double ref_max_diff(const ref_complex *a, const ref_complex *b, size_t count) {
  double worst = 0;
  for (size_t i = 0; i < count; i++) {
    double d = cabs(a[i] - b[i]);
    if (!(d <= worst)) worst = d; /* keeps NaN */
  }
  return worst;
}

double ref_rel_diff(const ref_complex *a, const ref_complex *b, size_t count) {
  double diff = 0;
  for (size_t i = 0; i < count; i++) {
    ref_complex d = a[i] - b[i];
    diff += creal(d) * creal(d) + cimag(d) * cimag(d);
  }
  return sqrt(diff / ref_norm2(b, count));
}

void ref_axpy(ref_complex alpha, const ref_complex *x, ref_complex *y, size_t count) {
  for (size_t i = 0; i < count; i++) y[i] += alpha * x[i];
}
