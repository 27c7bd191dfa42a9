/* unitary.h - the unitary matrix W = V (V^dag V)^(-1/2) nearest to a 3x3 matrix V. One matrix at a
 * time, always in double, since single precision does not suffice for fat links. Common subset of C
 * and CUDA C.
 *
 * Q = V^dag V has the eigenvalues g = q + 2 sqrt(p) cos((theta + 2 pi k) / 3). Here q = tr Q / 3, B
 * = Q - q has trace 0, p = tr B^2 / 6 and cos theta = det B / (2 p^(3/2)). By Cayley and Hamilton
 * Q^(-1/2) = f0 + f1 Q + f2 Q^2. The f are symmetric functions of the roots of g, without
 * differences in denominators: Hasenfratz, Hoffmann, Schaefer, JHEP 05 (2007) 029, hep-lat/0702028;
 * for HISQ: Bazavov et al., Phys. Rev. D 82 (2010) 074501, arXiv:1004.0342, appendix.
 * The error of W then commutes with Q, so one step W (3 - W^dag W) / 2 squares it. If g is not
 * reliable, singular values are computed by column rotations (Hestenes), which find small ones with
 * the same relative accuracy as large ones. */
#pragma once

#include <math.h>

#include "lib/vector/layout.h"
#include "lib/math/fatten_factors.h"

#ifdef __CUDACC__
#define UNITARY_UNROLL _Pragma("unroll")
#else
#define UNITARY_UNROLL
#endif

/* A matrix is 18 doubles, (row * 3 + column) * 2 + re/im. */

/* c = a b, or a^dag b. c must not be a or b. */
static inline KAON_HD void unitary_mul(double *c, const double *a, const int dagger,
                                       const double *b) {
  UNITARY_UNROLL
  for (int i = 0; i < 3; i++) UNITARY_UNROLL
  for (int j = 0; j < 3; j++) {
    double re = 0, im = 0;
    UNITARY_UNROLL
    for (int k = 0; k < 3; k++) {
      const int e = dagger ? (k * 3 + i) * 2 : (i * 3 + k) * 2;
      const double x = a[e], y = dagger ? -a[e + 1] : a[e + 1];
      const double u = b[(k * 3 + j) * 2], v = b[(k * 3 + j) * 2 + 1];
      re += x * u - y * v;
      im += x * v + y * u;
    }
    c[(i * 3 + j) * 2] = re;
    c[(i * 3 + j) * 2 + 1] = im;
  }
}

static inline KAON_HD void unitary_det(const double *a, double det[2]) {
  det[0] = det[1] = 0;
  UNITARY_UNROLL
  for (int j = 0; j < 3; j++) {
    const int k = (j + 1) % 3, l = (j + 2) % 3;
    const double *p = a + 6 + 2 * k, *q = a + 12 + 2 * l, *r = a + 6 + 2 * l, *s = a + 12 + 2 * k;
    const double re = p[0] * q[0] - p[1] * q[1] - (r[0] * s[0] - r[1] * s[1]);
    const double im = p[0] * q[1] + p[1] * q[0] - (r[0] * s[1] + r[1] * s[0]);
    det[0] += a[2 * j] * re - a[2 * j + 1] * im;
    det[1] += a[2 * j] * im + a[2 * j + 1] * re;
  }
}

/* The square roots of the eigenvalues of Q = V^dag V. */
static inline KAON_HD void unitary_roots(const double *q, double root[3]) {
  const double mean = (q[0] + q[8] + q[16]) / 3;
  double b[18], det[2], p = 0;
  UNITARY_UNROLL
  for (int c = 0; c < 18; c++) {
    b[c] = c % 8 == 0 ? q[c] - mean : q[c];
    p += b[c] * b[c];
  }
  p /= 6;
  unitary_det(b, det);
  const double s = sqrt(p), cube = p * s;
  double cosine = cube > 0 ? det[0] / (2 * cube) : 1;
  if (cosine > 1) cosine = 1;
  if (cosine < -1) cosine = -1;
  const double theta = acos(cosine) / 3, turn = 2.09439510239319549231; /* 2 pi / 3 */
  UNITARY_UNROLL
  for (int k = 0; k < 3; k++) {
    const double g = mean + 2 * s * cos(theta + turn * k);
    root[k] = g > 0 ? sqrt(g) : 0;
  }
}

/* h = q^(-1/2) = f0 + f1 q + f2 q^2, from the square roots s of the eigenvalues of q. */
static inline KAON_HD void unitary_inverse_root(const double *q, const double s[3], double *h) {
  const double u = s[0] + s[1] + s[2], v = s[0] * s[1] + s[1] * s[2] + s[2] * s[0],
               w = s[0] * s[1] * s[2], d = 1 / (w * (u * v - w));
  const double f0 = (u * v * v - w * (u * u + v)) * d, f1 = (2 * u * v - w - u * u * u) * d,
               f2 = u * d;
  double q2[18];
  unitary_mul(q2, q, 0, q);
  UNITARY_UNROLL
  for (int c = 0; c < 18; c++) h[c] = f1 * q[c] + f2 * q2[c] + (c % 8 == 0 ? f0 : 0);
}

/* ---- by singular values ---- */

static inline KAON_HD double unitary_column2(const double *a, int j) {
  double sum = 0;
  for (int i = 0; i < 3; i++) {
    const double *x = a + (i * 3 + j) * 2;
    sum += x[0] * x[0] + x[1] * x[1];
  }
  return sum;
}

/* (a_p, a_q) = (c a_p - s conj(e) a_q, s e a_p + c a_q) */
static inline KAON_HD void unitary_rotate(double *a, int p, int q, double c, double s,
                                          const double e[2]) {
  for (int i = 0; i < 3; i++) {
    double *x = a + (i * 3 + p) * 2, *y = a + (i * 3 + q) * 2;
    const double x0 = x[0], x1 = x[1], y0 = y[0], y1 = y[1];
    x[0] = c * x0 - s * (e[0] * y0 + e[1] * y1);
    x[1] = c * x1 - s * (e[0] * y1 - e[1] * y0);
    y[0] = s * (e[0] * x0 - e[1] * x1) + c * y0;
    y[1] = s * (e[0] * x1 + e[1] * x0) + c * y1;
  }
}

/* Makes columns p and q of a orthogonal. Returns 0 if they were already. */
static inline KAON_HD int unitary_orthogonalise(double *a, double *rotations, int p, int q) {
  double dot[2] = {0, 0};
  for (int i = 0; i < 3; i++) {
    const double *x = a + (i * 3 + p) * 2, *y = a + (i * 3 + q) * 2;
    dot[0] += x[0] * y[0] + x[1] * y[1];
    dot[1] += x[0] * y[1] - x[1] * y[0];
  }
  const double alpha = unitary_column2(a, p), beta = unitary_column2(a, q);
  const double size = hypot(dot[0], dot[1]);
  if (!(size > 2e-16 * sqrt(alpha) * sqrt(beta)) || size == 0) return 0;
  const double zeta = (beta - alpha) / (2 * size);
  const double t = (zeta < 0 ? -1 : 1) / (fabs(zeta) + sqrt(1 + zeta * zeta));
  const double c = 1 / sqrt(1 + t * t), e[2] = {dot[0] / size, dot[1] / size};
  unitary_rotate(a, p, q, c, c * t, e);
  unitary_rotate(rotations, p, q, c, c * t, e);
  return 1;
}

/* Column j = the conjugate of the cross product of the other two. */
static inline KAON_HD void unitary_cross(double *a, int j) {
  const int k = (j + 1) % 3, l = (j + 2) % 3;
  for (int i = 0; i < 3; i++) {
    const int m = (i + 1) % 3, n = (i + 2) % 3;
    const double *p = a + (m * 3 + k) * 2, *q = a + (n * 3 + l) * 2;
    const double *r = a + (n * 3 + k) * 2, *s = a + (m * 3 + l) * 2;
    a[(i * 3 + j) * 2] = p[0] * q[0] - p[1] * q[1] - (r[0] * s[0] - r[1] * s[1]);
    a[(i * 3 + j) * 2 + 1] = -(p[0] * q[1] + p[1] * q[0] - (r[0] * s[1] + r[1] * s[0]));
  }
}

/* Column j = a unit vector orthogonal to column k, made from the axis along which column k is
 * smallest. */
static inline KAON_HD void unitary_beside(double *a, int j, int k) {
  int axis = 0;
  double smallest = HUGE_VAL;
  for (int i = 0; i < 3; i++) {
    const double *x = a + (i * 3 + k) * 2, size = x[0] * x[0] + x[1] * x[1];
    if (size < smallest) smallest = size, axis = i;
  }
  const double e[2] = {a[(axis * 3 + k) * 2], a[(axis * 3 + k) * 2 + 1]};
  const double inverse = 1 / sqrt(1 - smallest);
  for (int i = 0; i < 3; i++) {
    const double *x = a + (i * 3 + k) * 2;
    a[(i * 3 + j) * 2] = ((i == axis) - (x[0] * e[0] + x[1] * e[1])) * inverse;
    a[(i * 3 + j) * 2 + 1] = -(x[1] * e[0] - x[0] * e[1]) * inverse;
  }
}

/* Normalises the orthogonal columns of a. Columns that vanish are replaced so that the matrix
 * becomes unitary. */
static inline KAON_HD void unitary_complete(double *a) {
  double size[3];
  int order[3] = {0, 1, 2};
  for (int j = 0; j < 3; j++) size[j] = sqrt(unitary_column2(a, j));
  for (int i = 0; i < 2; i++)
    for (int j = i + 1; j < 3; j++)
      if (size[order[j]] > size[order[i]]) {
        const int other = order[i];
        order[i] = order[j];
        order[j] = other;
      }
  const double least = 1e-15 * size[order[0]];
  for (int n = 0; n < 3; n++) {
    const int j = order[n];
    for (int i = 0; i < 3; i++) {
      a[(i * 3 + j) * 2] /= size[j];
      a[(i * 3 + j) * 2 + 1] /= size[j];
    }
    if (size[j] > least || size[j] != size[j]) continue;
    if (n == 0)
      for (int i = 0; i < 3; i++) a[(i * 3 + j) * 2] = i == j, a[(i * 3 + j) * 2 + 1] = 0;
    if (n == 1) unitary_beside(a, j, order[0]);
    if (n == 2) unitary_cross(a, j);
  }
}

/* w = the unitary factor of v: V = U S J^dag, W = U J^dag. It is not unique if V is singular. */
static inline KAON_HD_CALLED void unitary_by_singular_values(const double *v, double *w) {
  double a[18], rotations[18], adjoint[18];
  int turning = 1;
  for (int c = 0; c < 18; c++) a[c] = v[c], rotations[c] = c % 8 == 0;
  for (int sweep = 0; sweep < 40 && turning; sweep++) {
    turning = 0;
    for (int p = 0; p < 2; p++)
      for (int q = p + 1; q < 3; q++) turning |= unitary_orthogonalise(a, rotations, p, q);
  }
  unitary_complete(a);
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) {
      adjoint[(i * 3 + j) * 2] = rotations[(j * 3 + i) * 2];
      adjoint[(i * 3 + j) * 2 + 1] = -rotations[(j * 3 + i) * 2 + 1];
    }
  unitary_mul(w, a, 0, adjoint);
}

/* ---- both methods ---- */

/* Replaces v by its unitary factor. Returns |det V|, which is NaN or infinite if V is not finite.
 * *fallback: 1 if singular values were used. */
static inline KAON_HD double unitary_project(const kaon_unitary_limits *limits, double *v,
                                             int *fallback) {
  double q[18], h[18], w[18], det[2], root[3];
  unitary_mul(q, v, 1, v);
  unitary_det(v, det);
  unitary_roots(q, root);
  const double det2 = det[0] * det[0] + det[1] * det[1];
  const double product = root[0] * root[1] * root[2];
  *fallback = !(det2 >= limits->absolute && det2 > 0 &&
                fabs(product * product - det2) < limits->relative * det2);
  if (*fallback) {
    unitary_by_singular_values(v, w);
  } else {
    unitary_inverse_root(q, root, h);
    unitary_mul(w, v, 0, h);
  }
  unitary_mul(q, w, 1, w);
  UNITARY_UNROLL
  for (int c = 0; c < 18; c++) q[c] = (c % 8 == 0 ? 1.5 : 0) - 0.5 * q[c];
  unitary_mul(v, w, 0, q);
  return sqrt(det2);
}
