/* ref_field_strength.c - clover-leaf F_{mu nu} and the topological charge (test oracle).
 * F = (Q - Q^dag) / 8i, Q the sum of four leaves (Sheikholeslami, Wohlert, Nucl. Phys. B 259 (1985)
 * 572); the trace is kept. For U = exp(i A) smooth, F_{mu nu} -> d_mu A_nu - d_nu A_mu + i [A_mu,
 * A_nu]. */
#include "reference.h"

static const ref_complex *link(const ref_complex *u, size_t site, int mu) {
  return u + 9 * (4 * site + (size_t)mu);
}

int ref_plane_index(int mu, int nu) {
  static const int index[4][4] = {{-1, 0, 1, 3}, {-1, -1, 2, 4}, {-1, -1, -1, 5}, {-1, -1, -1, -1}};
  return index[mu][nu];
}

/* The product of links along a closed path of four steps from x; a step is +-(mu + 1). */
static void add_path(const ref_lattice *L, const ref_complex *u, size_t x, const int steps[4],
                     ref_complex q[9]) {
  ref_complex p[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
  for (int i = 0; i < 4; i++) {
    int mu = (steps[i] > 0 ? steps[i] : -steps[i]) - 1;
    if (steps[i] > 0) {
      ref_mul(p, p, link(u, x, mu));
      x = ref_shift(L, x, mu, 1);
    } else {
      x = ref_shift(L, x, mu, -1);
      ref_mul_na(p, p, link(u, x, mu));
    }
  }
  for (int i = 0; i < 9; i++) q[i] += p[i];
}

void ref_field_strength(const ref_lattice *L, const ref_complex *u, size_t site, int mu, int nu,
                        ref_complex f[9]) {
  int a = mu + 1, b = nu + 1;
  /* Each leaf starts at x and turns from the positive mu towards the positive nu direction. */
  const int leaves[4][4] = {{a, b, -a, -b}, {b, -a, -b, a}, {-a, -b, a, b}, {-b, a, b, -a}};
  ref_complex q[9] = {0};
  for (int i = 0; i < 4; i++) add_path(L, u, site, leaves[i], q);
  ref_complex qd[9];
  ref_adjoint(qd, q);
  for (int i = 0; i < 9; i++) f[i] = (q[i] - qd[i]) / (8 * I);
}

/* (1 / 32 pi^2) eps tr F F = (1 / 4 pi^2) tr [F_xy F_zt - F_xz F_yt + F_xt F_yz]. */
double ref_topological_charge(const ref_lattice *L, const ref_complex *u) {
  static const int pairs[3][4] = {{0, 1, 2, 3}, {0, 2, 1, 3}, {0, 3, 1, 2}};
  static const double sign[3] = {1, -1, 1};
  const double pi = 3.14159265358979323846;
  double sum = 0;
  for (size_t x = 0; x < ref_volume(L); x++)
    for (int i = 0; i < 3; i++) {
      ref_complex f[9], g[9];
      ref_field_strength(L, u, x, pairs[i][0], pairs[i][1], f);
      ref_field_strength(L, u, x, pairs[i][2], pairs[i][3], g);
      ref_mul(f, f, g);
      sum += sign[i] * creal(ref_trace(f));
    }
  return sum / (4 * pi * pi);
}
