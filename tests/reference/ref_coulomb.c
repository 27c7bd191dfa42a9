/* ref_coulomb.c - Coulomb gauge by relaxation in SU(2) subgroups.
 *
 * It maximises sum_x sum_{i = x, y, z} Re tr U_i(x) slice by slice. At every site, in the three
 * subgroups in turn, it applies the SU(2) element that maximises the site's own terms (Cabibbo,
 * Marinari, Phys. Lett. B 119 (1982) 387; over-relaxed as in Mandula, Ogilvie, Phys. Lett. B 248
 * (1990) 156). The gauge leaves one colour rotation a slice free, and other local maxima (Gribov
 * copies) exist. */
#include "reference.h"

#include <math.h>
#include <stdlib.h>

/* s = sum of the space-like links that g(x) multiplies from the left: U_i(x) + U_i(x-i)^dag. */
static void local_sum(const ref_lattice *L, const ref_complex *u, size_t x, ref_complex s[9]) {
  for (int i = 0; i < 9; i++) s[i] = 0;
  for (int mu = 0; mu < 3; mu++) {
    ref_complex back[9];
    ref_adjoint(back, u + 9 * (4 * ref_shift(L, x, mu, -1) + (size_t)mu));
    for (int i = 0; i < 9; i++) s[i] += u[9 * (4 * x + (size_t)mu) + (size_t)i] + back[i];
  }
}

/* The SU(2) element a + i b.sigma in rows (p, q) that maximises Re tr g s, stretched by `omega`. */
static void subgroup(const ref_complex s[9], int p, int q, double omega, ref_complex g[9]) {
  ref_complex pp = s[4 * p], qq = s[4 * q], pq = s[3 * p + q], qp = s[3 * q + p];
  double a = creal(pp + qq), b3 = cimag(qq - pp), b2 = creal(qp - pq), b1 = -cimag(pq + qp);
  double b = sqrt(b1 * b1 + b2 * b2 + b3 * b3), angle = omega * atan2(b, a);
  double c = cos(angle), f = b > 0 ? sin(angle) / b : 0;
  for (int i = 0; i < 9; i++) g[i] = i % 4 == 0;
  g[4 * p] = c + I * f * b3;
  g[4 * q] = c - I * f * b3;
  g[3 * p + q] = f * (b2 + I * b1);
  g[3 * q + p] = f * (-b2 + I * b1);
}

/* |antihermitian traceless part of s|^2: zero at a maximum. */
static double gradient2(const ref_complex s[9]) {
  ref_complex d[9], trace = 0;
  ref_adjoint(d, s);
  for (int i = 0; i < 9; i++) d[i] = 0.5 * (s[i] - d[i]);
  trace = ref_trace(d) / 3;
  for (int i = 0; i < 3; i++) d[4 * i] -= trace;
  return ref_norm2(d, 9);
}

static void transform_site(const ref_lattice *L, const ref_complex g[9], size_t x, ref_complex *u) {
  for (int mu = 0; mu < 4; mu++) {
    ref_complex *ahead = u + 9 * (4 * x + (size_t)mu);
    ref_complex *back = u + 9 * (4 * ref_shift(L, x, mu, -1) + (size_t)mu);
    ref_mul(ahead, g, ahead);
    ref_mul_na(back, back, g);
  }
}

int ref_coulomb_gauge(const ref_lattice *L, ref_complex *u, double tol, int max_sweeps) {
  const double omega = 1.7;
  for (int sweep = 1; sweep <= max_sweeps; sweep++) {
    double gradient = 0;
    for (size_t x = 0; x < ref_volume(L); x++) {
      ref_complex s[9], g[9];
      local_sum(L, u, x, s);
      gradient += gradient2(s);
      for (int k = 0; k < 3; k++) {
        local_sum(L, u, x, s);
        subgroup(s, k == 2, k == 0 ? 1 : 2, omega, g);
        transform_site(L, g, x, u);
      }
    }
    if (sqrt(gradient / (double)ref_volume(L)) <= tol) return sweep;
  }
  return 0;
}
