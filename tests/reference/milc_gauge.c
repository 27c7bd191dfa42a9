/* milc_gauge.c - Coulomb gauge fixed as MILC does it (milc-qcd/milc_qcd, generic/gaugefix.c), step
 * by step. Walls in MILC's logs use links that it stopped fixing after a number of steps, which
 * differ from those at a maximum.
 *
 * A step: odd sites, then even ones; rows (0, 1), (1, 2) and (2, 0) in turn, each on all sites of
 * the parity; the locally best SU(2) element a0 + i a.sigma with a stretched by (boost a0^2 +
 * |a|^2) / (a0^2 + |a|^2). The functional is the mean of those after either parity. */
#include <math.h>

#include "reference.h"

static double functional(const ref_lattice *L, const ref_complex *u) {
  double sum = 0;
  for (size_t x = 0; x < ref_volume(L); x++)
    for (size_t mu = 0; mu < 3; mu++) sum += creal(ref_trace(u + 9 * (4 * x + mu)));
  return sum / (9 * (double)ref_volume(L));
}

static void hit(const ref_lattice *L, ref_complex *u, size_t x, int p, int q, double boost) {
  double a[4] = {0};
  ref_complex g[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
  for (int mu = 0; mu < 3; mu++) {
    const ref_complex *up = u + 9 * (4 * x + (size_t)mu);
    const ref_complex *down = u + 9 * (4 * ref_shift(L, x, mu, -1) + (size_t)mu);
    a[0] += creal(down[4 * p] + up[4 * p] + down[4 * q] + up[4 * q]);
    a[1] += cimag(down[3 * p + q] - up[3 * p + q] + down[3 * q + p] - up[3 * q + p]);
    a[2] += creal(down[3 * p + q] - up[3 * p + q] - down[3 * q + p] + up[3 * q + p]);
    a[3] += cimag(down[4 * p] - up[4 * p] - down[4 * q] + up[4 * q]);
  }
  const double a02 = a[0] * a[0], a2 = a[1] * a[1] + a[2] * a[2] + a[3] * a[3];
  const double stretch = (boost * a02 + a2) / (a02 + a2), r = sqrt(a02 + stretch * stretch * a2);
  a[0] /= r;
  for (int i = 1; i < 4; i++) a[i] *= stretch / r;
  g[4 * p] = a[0] + I * a[3];
  g[3 * p + q] = a[2] + I * a[1];
  g[3 * q + p] = -a[2] + I * a[1];
  g[4 * q] = a[0] - I * a[3];
  for (int mu = 0; mu < 4; mu++) {
    ref_complex *up = u + 9 * (4 * x + (size_t)mu);
    ref_complex *down = u + 9 * (4 * ref_shift(L, x, mu, -1) + (size_t)mu);
    ref_mul(up, g, up);
    ref_mul_na(down, down, g);
  }
}

int ref_milc_coulomb(const ref_lattice *L, ref_complex *u, double boost, double tol, double *last) {
  static const int rows[3][2] = {{0, 1}, {1, 2}, {2, 0}};
  double before = 0;
  for (int step = 0; step < 1000; step++) {
    double mean = 0;
    for (int parity = 1; parity >= 0; parity--) {
      for (int k = 0; k < 3; k++)
        for (size_t x = 0; x < ref_volume(L); x++)
          if (ref_parity(L, x) == parity) hit(L, u, x, rows[k][0], rows[k][1], boost);
      mean += functional(L, u) / 2;
    }
    *last = mean;
    if (step > 0 && mean - before < tol) return step;
    before = mean;
  }
  return 0;
}
