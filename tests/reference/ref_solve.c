/* ref_solve.c - CG, CG on the normal equations, BiCGStab: the textbook recurrences (test oracle).
 * Sources: Hestenes, Stiefel, J. Res. NBS 49 (1952) 409; van der Vorst, SIAM J. Sci. Stat. Comput.
 * 13 (1992) 631. */
#include "reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double residual_of(ref_operator a, const void *matrix, const ref_complex *b,
                          const ref_complex *x, size_t count) {
  ref_complex *ax = ref_new(count);
  a(matrix, x, ax);
  double r = ref_rel_diff(ax, b, count);
  free(ax);
  return r;
}

void ref_operator_m(const void *matrix, const ref_complex *in, ref_complex *out) {
  ref_apply(matrix, in, out);
}

ref_report ref_cg(ref_operator a, const void *matrix, const ref_complex *b, ref_complex *x,
                  size_t count, double tol, int max_iter) {
  ref_complex *r = ref_new(count), *p = ref_new(count), *ap = ref_new(count);
  ref_report report = {0};
  memset(x, 0, count * sizeof *x);
  memcpy(r, b, count * sizeof *r);
  memcpy(p, b, count * sizeof *p);
  double rr = ref_norm2(r, count), stop = tol * tol * rr;
  while (rr > stop && report.iterations < max_iter) {
    a(matrix, p, ap);
    double alpha = rr / creal(ref_dot(p, ap, count));
    ref_axpy(alpha, p, x, count);
    ref_axpy(-alpha, ap, r, count);
    double next = ref_norm2(r, count), beta = next / rr;
    for (size_t i = 0; i < count; i++) p[i] = r[i] + beta * p[i];
    rr = next;
    report.iterations++;
  }
  report.residual = residual_of(a, matrix, b, x, count);
  free(r);
  free(p);
  free(ap);
  return report;
}

/* |M^dag (b - M x)| / |M^dag b| */
static double normal_residual(const ref_dirac *d, const ref_complex *b, const ref_complex *x) {
  size_t count = ref_spinor_size(&d->L);
  ref_complex *r = ref_new(count), *s = ref_new(count);
  ref_apply_dagger(d, b, s);
  double norm = ref_norm2(s, count);
  ref_apply(d, x, r);
  for (size_t i = 0; i < count; i++) r[i] = b[i] - r[i];
  ref_apply_dagger(d, r, s);
  double result = sqrt(ref_norm2(s, count) / norm);
  free(r);
  free(s);
  return result;
}

/* The CGNR form: r = b - M x and s = M^dag r are both carried by their recurrences. */
ref_report ref_cgn(const ref_dirac *d, const ref_complex *b, ref_complex *x, double tol,
                   int max_iter, int stop_full) {
  size_t count = ref_spinor_size(&d->L);
  ref_complex *r = ref_new(count), *s = ref_new(count), *p = ref_new(count), *mp = ref_new(count);
  ref_complex *nmp = ref_new(count);
  ref_report report = {0};
  memset(x, 0, count * sizeof *x);
  memcpy(r, b, count * sizeof *r);
  ref_apply_dagger(d, b, s);
  memcpy(p, s, count * sizeof *p);
  double ss = ref_norm2(s, count), rr = ref_norm2(r, count);
  double stop = tol * tol * (stop_full ? rr : ss);
  while ((stop_full ? rr : ss) > stop && report.iterations < max_iter) {
    ref_apply(d, p, mp);
    ref_apply_dagger(d, mp, nmp);
    double alpha = ss / ref_norm2(mp, count);
    ref_axpy(alpha, p, x, count);
    ref_axpy(-alpha, mp, r, count);
    ref_axpy(-alpha, nmp, s, count);
    double next = ref_norm2(s, count), beta = next / ss;
    for (size_t i = 0; i < count; i++) p[i] = s[i] + beta * p[i];
    ss = next;
    rr = ref_norm2(r, count);
    report.iterations++;
  }
  report.residual = residual_of(ref_operator_m, d, b, x, count);
  report.normal_residual = normal_residual(d, b, x);
  free(r);
  free(s);
  free(p);
  free(mp);
  free(nmp);
  return report;
}

ref_report ref_bicgstab(ref_operator a, const void *matrix, const ref_complex *b, ref_complex *x,
                        size_t count, double tol, int max_iter) {
  ref_complex *r = ref_new(count), *r0 = ref_new(count), *p = ref_new(count), *v = ref_new(count);
  ref_complex *t = ref_new(count), rho, alpha, omega;
  ref_report report = {0};
  memset(x, 0, count * sizeof *x);
  memcpy(r, b, count * sizeof *r);
  memcpy(r0, b, count * sizeof *r0);
  memcpy(p, b, count * sizeof *p);
  rho = ref_dot(r0, r, count);
  double stop = tol * tol * ref_norm2(b, count);
  while (ref_norm2(r, count) > stop && report.iterations < max_iter) {
    a(matrix, p, v);
    alpha = rho / ref_dot(r0, v, count);
    ref_axpy(-alpha, v, r, count); /* s */
    a(matrix, r, t);
    omega = ref_dot(t, r, count) / ref_norm2(t, count);
    ref_axpy(alpha, p, x, count);
    ref_axpy(omega, r, x, count);
    ref_axpy(-omega, t, r, count);
    ref_complex next = ref_dot(r0, r, count), beta = next / rho * alpha / omega;
    for (size_t i = 0; i < count; i++) p[i] = r[i] + beta * (p[i] - omega * v[i]);
    rho = next;
    report.iterations++;
  }
  report.residual = residual_of(a, matrix, b, x, count);
  free(r);
  free(r0);
  free(p);
  free(v);
  free(t);
  return report;
}
