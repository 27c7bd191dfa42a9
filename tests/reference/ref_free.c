/* ref_free.c - the free Wilson quark propagator in momentum space (test oracle).
 * On exp(i p x) with U = 1, M is the 4x4 matrix 1 - 2 kappa sum_mu f_mu (cos p_mu - i gamma_mu sin
 * p_mu); its inverse is (C - i sum gamma_mu S_mu) / (C^2 + S^2) with C = 1 - 2 kappa sum f cos p,
 * S_mu = 2 kappa f_mu sin p_mu (Carpenter, Baillie, Nucl. Phys. B 260 (1985) 103). */
#include "reference.h"

#include <math.h>

static const double pi = 3.14159265358979323846;

void ref_free_symbol(double kappa, double aniso, const double p[4], ref_complex m[16]) {
  for (int i = 0; i < 16; i++) m[i] = i % 5 == 0;
  for (int mu = 0; mu < 4; mu++) {
    ref_complex g[16];
    double f = mu < 3 ? aniso : 1;
    ref_gamma(REF_UKQCD, mu, g);
    for (int i = 0; i < 16; i++)
      m[i] -= 2 * kappa * f * ((i % 5 == 0) * cos(p[mu]) - I * g[i] * sin(p[mu]));
  }
}

void ref_momentum(const ref_lattice *L, int antiperiodic, const int n[4], double p[4]) {
  for (int mu = 0; mu < 4; mu++) {
    double shift = mu == 3 && antiperiodic ? 0.5 : 0;
    p[mu] = 2 * pi * (n[mu] + shift) / L->n[mu];
  }
}

void ref_free_propagator(const ref_lattice *L, double kappa, double aniso, int antiperiodic,
                         const int sink[4], const int source[4], ref_complex s[16]) {
  ref_complex g[4][16];
  for (int mu = 0; mu < 4; mu++) ref_gamma(REF_UKQCD, mu, g[mu]);
  for (int i = 0; i < 16; i++) s[i] = 0;
  for (size_t mode = 0; mode < ref_volume(L); mode++) {
    int n[4];
    double p[4], angle = 0, c = 1, sine[4], norm = 0;
    ref_coords(L, mode, n);
    ref_momentum(L, antiperiodic, n, p);
    for (int mu = 0; mu < 4; mu++) {
      double f = mu < 3 ? aniso : 1;
      angle += p[mu] * (sink[mu] - source[mu]);
      c -= 2 * kappa * f * cos(p[mu]);
      sine[mu] = 2 * kappa * f * sin(p[mu]);
      norm += sine[mu] * sine[mu];
    }
    norm += c * c;
    ref_complex wave = cexp(I * angle) / (norm * (double)ref_volume(L));
    for (int i = 0; i < 16; i++) {
      s[i] += wave * c * (i % 5 == 0);
      for (int mu = 0; mu < 4; mu++) s[i] -= wave * I * sine[mu] * g[mu][i];
    }
  }
}
