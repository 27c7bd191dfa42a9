/* ref_gauge.c - plaquette, Polyakov loop, gauge transformations, constant fields (test oracle). */
#include "reference.h"

#include <math.h>
#include <string.h>

static const double pi = 3.14159265358979323846;

static const ref_complex *link(const ref_complex *u, size_t site, int mu) {
  return u + 9 * (4 * site + (size_t)mu);
}

ref_plaquettes ref_plaquette(const ref_lattice *L, const ref_complex *u) {
  double space = 0, time = 0, trace = 0;
  size_t volume = ref_volume(L);
  for (size_t x = 0; x < volume; x++) {
    for (int mu = 0; mu < 4; mu++) {
      trace += creal(ref_trace(link(u, x, mu)));
      for (int nu = mu + 1; nu < 4; nu++) {
        ref_complex p[9];
        ref_mul(p, link(u, x, mu), link(u, ref_shift(L, x, mu, 1), nu));
        ref_mul_na(p, p, link(u, ref_shift(L, x, nu, 1), mu));
        ref_mul_na(p, p, link(u, x, nu));
        *(nu == 3 ? &time : &space) += creal(ref_trace(p));
      }
    }
  }
  ref_plaquettes p = {.all = (space + time) / (18.0 * (double)volume),
                      .space = space / (9.0 * (double)volume),
                      .time = time / (9.0 * (double)volume),
                      .link_trace = trace / (12.0 * (double)volume)};
  return p;
}

ref_complex ref_polyakov_loop(const ref_lattice *L, const ref_complex *u) {
  ref_complex sum = 0;
  size_t slice = ref_volume(L) / (size_t)L->n[3];
  for (size_t x = 0; x < slice; x++) {
    ref_complex p[9];
    memcpy(p, link(u, x, 3), sizeof p);
    for (int t = 1; t < L->n[3]; t++) ref_mul(p, p, link(u, x + (size_t)t * slice, 3));
    sum += ref_trace(p);
  }
  return sum / (3.0 * (double)slice);
}

void ref_gauge_transform_links(const ref_lattice *L, const ref_complex *g, ref_complex *u) {
  for (size_t x = 0; x < ref_volume(L); x++)
    for (int mu = 0; mu < 4; mu++) {
      ref_complex *v = u + 9 * (4 * x + (size_t)mu);
      ref_mul(v, g + 9 * x, v);
      ref_mul_na(v, v, g + 9 * ref_shift(L, x, mu, 1));
    }
}

void ref_gauge_transform_spinor(const ref_lattice *L, const ref_complex *g, ref_complex *psi) {
  for (size_t x = 0; x < ref_volume(L); x++)
    for (size_t s = 0; s < 4; s++) {
      ref_complex r[3] = {0};
      for (size_t i = 0; i < 3; i++)
        for (size_t j = 0; j < 3; j++) r[i] += g[9 * x + 3 * i + j] * psi[12 * x + 3 * s + j];
      memcpy(psi + 12 * x + 3 * s, r, sizeof r);
    }
}

/* g(x, 0) = 1, g(x, t+1) = g(x, t) U_t(x, t): then g U_t g^dag = 1 for t < T - 1. */
void ref_temporal_gauge(const ref_lattice *L, const ref_complex *u, ref_complex *g) {
  size_t slice = ref_volume(L) / (size_t)L->n[3];
  for (size_t x = 0; x < ref_volume(L); x++) {
    if (x < slice)
      for (int i = 0; i < 9; i++) g[9 * x + (size_t)i] = i % 4 == 0;
    else
      ref_mul(g + 9 * x, g + 9 * (x - slice), link(u, x - slice, 3));
  }
}

/* In the plane (a, b): U_b(x) = exp(i w x_a), and U_a = exp(-i w n_a x_b) at x_a = n_a - 1 undoes
 * the jump, so that every plaquette is exp(i w) when w n_a n_b is a multiple of 2 pi. */
static double flux_angle(const ref_lattice *L, const int x[4], int a, int b, int mu, int flux) {
  double w = 2 * pi * flux / ((double)L->n[a] * L->n[b]);
  if (mu == b) return w * x[a];
  if (mu == a && x[a] == L->n[a] - 1) return -w * L->n[a] * x[b];
  return 0;
}

void ref_flux_links(const ref_lattice *L, ref_complex *u, int n_xy, int n_zt, const int q[3]) {
  for (size_t site = 0; site < ref_volume(L); site++) {
    int x[4];
    ref_coords(L, site, x);
    for (int mu = 0; mu < 4; mu++) {
      ref_complex *v = u + 9 * (4 * site + (size_t)mu);
      double angle = flux_angle(L, x, 0, 1, mu, n_xy) + flux_angle(L, x, 2, 3, mu, n_zt);
      for (int i = 0; i < 9; i++) v[i] = 0;
      for (int i = 0; i < 3; i++) v[4 * i] = cexp(I * (q[i] * angle));
    }
  }
}
