/* ref_dirac.c - Wilson and clover operators with full 4x4 gamma matrices (test oracle).
 * (D psi)(x) = sum_mu [(1 - s gamma_mu) U_mu(x) psi(x+mu) + (1 + s gamma_mu) U_mu(x-mu)^dag
 * psi(x-mu)], M = A - kappa D (Wilson, in: New Phenomena in Subnuclear Physics, 1977; docs/
 * conventions.md for the signs). */
#include "reference.h"

#include <stdlib.h>
#include <string.h>

ref_dirac ref_dirac_make(const ref_lattice *L, const ref_complex *u, double kappa, double csw,
                         int antiperiodic) {
  ref_dirac d = {.L = *L,
                 .u = u,
                 .kappa = kappa,
                 .csw = csw,
                 .aniso = 1,
                 .antiperiodic = antiperiodic,
                 .clover = NULL};
  if (csw != 0) {
    d.clover = ref_new(144 * ref_volume(L));
    for (size_t x = 0; x < ref_volume(L); x++)
      ref_clover_site(L, u, kappa, csw, 1, REF_UKQCD, x, d.clover + 144 * x);
  }
  return d;
}

void ref_dirac_free(ref_dirac *d) {
  free(d->clover);
  d->clover = NULL;
}

void ref_dirac_twist(ref_dirac *d, double mu) {
  const size_t volume = ref_volume(&d->L);
  ref_complex gamma_5[16];
  ref_gamma(REF_UKQCD, 4, gamma_5);
  if (d->clover == NULL) {
    d->clover = ref_new(144 * volume);
    for (size_t i = 0; i < 12 * volume; i++) d->clover[12 * i + i % 12] = 1;
  }
  for (size_t x = 0; x < volume; x++)
    for (size_t i = 0; i < 12; i++)
      for (size_t j = i % 3; j < 12; j += 3)
        d->clover[144 * x + 12 * i + j] += 2 * I * d->kappa * mu * gamma_5[4 * (i / 3) + j / 3];
}

/* out += factor (1 + sign gamma_mu) (link, or its adjoint) in, for one site's 12 numbers. */
static void add_neighbour(const ref_complex gamma[16], double sign, double factor,
                          const ref_complex *link, int adjoint, const ref_complex *in,
                          ref_complex *out) {
  ref_complex v[12] = {0};
  for (int s = 0; s < 4; s++)
    for (int i = 0; i < 3; i++)
      for (int j = 0; j < 3; j++)
        v[3 * s + i] += (adjoint ? conj(link[3 * j + i]) : link[3 * i + j]) * in[3 * s + j];
  for (int s = 0; s < 4; s++)
    for (int r = 0; r < 4; r++) {
      ref_complex projector = factor * ((s == r) + sign * gamma[4 * s + r]);
      for (int i = 0; i < 3; i++) out[3 * s + i] += projector * v[3 * r + i];
    }
}

/* Whether sites at and at + 1 along mu are in one block. */
static int coupled(const ref_dirac *d, int mu, int at) {
  return d->cut[mu] == 0 || (at + 1) % d->cut[mu] != 0;
}

/* Whether the hop in direction dir to a site at `at` along its mu counts. */
static int hops(const ref_dirac *d, int dir, int at) {
  const int mu = dir % 4, n = d->L.n[mu], inside = coupled(d, mu, dir < 4 ? at : (at + n - 1) % n);
  if (d->along == 0) return inside;
  return dir == d->along - 1 && (d->cut[mu] == 0 || !inside);
}

static void hop_site(const ref_dirac *d, ref_complex gamma[4][16], int sign, size_t site,
                     const ref_complex *in, ref_complex *out) {
  const ref_lattice *L = &d->L;
  int x[4];
  ref_coords(L, site, x);
  for (int i = 0; i < 12; i++) out[i] = 0;
  for (int mu = 0; mu < 4; mu++) {
    size_t forward = ref_shift(L, site, mu, 1), backward = ref_shift(L, site, mu, -1);
    double ahead = mu < 3 ? d->aniso : 1, behind = ahead;
    if (mu == 3 && d->antiperiodic && x[3] == L->n[3] - 1) ahead = -ahead;
    if (mu == 3 && d->antiperiodic && x[3] == 0) behind = -behind;
    if (hops(d, mu, x[mu]))
      add_neighbour(gamma[mu], -sign, ahead, d->u + 9 * (4 * site + (size_t)mu), 0,
                    in + 12 * forward, out);
    if (hops(d, mu + 4, x[mu]))
      add_neighbour(gamma[mu], sign, behind, d->u + 9 * (4 * backward + (size_t)mu), 1,
                    in + 12 * backward, out);
  }
}

/* parity 0 or 1: only those sites; -1: all. */
static void hop_sites(const ref_dirac *d, int sign, int parity, const ref_complex *in,
                      ref_complex *out) {
  ref_complex gamma[4][16];
  for (int mu = 0; mu < 4; mu++) ref_gamma(REF_UKQCD, mu, gamma[mu]);
  for (size_t x = 0; x < ref_volume(&d->L); x++)
    if (parity < 0 || ref_parity(&d->L, x) == parity) hop_site(d, gamma, sign, x, in, out + 12 * x);
}

void ref_hop(const ref_dirac *d, int sign, const ref_complex *in, ref_complex *out) {
  hop_sites(d, sign, -1, in, out);
}

void ref_hop_parity(const ref_dirac *d, int sign, int parity, const ref_complex *in,
                    ref_complex *out) {
  hop_sites(d, sign, parity, in, out);
}

void ref_clover_multiply(const ref_dirac *d, const ref_complex *in, ref_complex *out) {
  for (size_t x = 0; x < ref_volume(&d->L); x++) {
    ref_complex r[12] = {0};
    if (d->clover) {
      const ref_complex *a = d->clover + 144 * x;
      for (size_t i = 0; i < 12; i++)
        for (size_t j = 0; j < 12; j++) r[i] += a[12 * i + j] * in[12 * x + j];
    } else {
      memcpy(r, in + 12 * x, sizeof r);
    }
    memcpy(out + 12 * x, r, sizeof r);
  }
}

static void apply(const ref_dirac *d, int sign, const ref_complex *in, ref_complex *out) {
  size_t count = ref_spinor_size(&d->L);
  ref_complex *hop = ref_new(count);
  ref_hop(d, sign, in, hop);
  ref_clover_multiply(d, in, out);
  ref_axpy(-d->kappa, hop, out, count);
  free(hop);
}

void ref_apply(const ref_dirac *d, const ref_complex *in, ref_complex *out) {
  apply(d, 1, in, out);
}

/* A is hermitian, so only the hop changes. */
void ref_apply_dagger(const ref_dirac *d, const ref_complex *in, ref_complex *out) {
  apply(d, -1, in, out);
}

void ref_apply_normal(const ref_dirac *d, const ref_complex *in, ref_complex *out) {
  ref_complex *half = ref_new(ref_spinor_size(&d->L));
  ref_apply(d, in, half);
  ref_apply_dagger(d, half, out);
  free(half);
}

/* Adds value * (1 + sign gamma) x (link or adjoint) as the 12x12 block (row, column). */
static void add_block(ref_complex *m, size_t n, size_t row, size_t column,
                      const ref_complex gamma[16], double sign, double value,
                      const ref_complex *link, int adjoint) {
  for (size_t s = 0; s < 4; s++)
    for (size_t r = 0; r < 4; r++)
      for (size_t i = 0; i < 3; i++)
        for (size_t j = 0; j < 3; j++)
          m[(12 * row + 3 * s + i) * n + 12 * column + 3 * r + j] +=
              value * ((s == r) + sign * gamma[4 * s + r]) *
              (adjoint ? conj(link[3 * j + i]) : link[3 * i + j]);
}

/* Written from M's matrix elements, link by link, not by applying ref_apply to unit vectors: a
 * second derivation of the same operator. */
ref_complex *ref_dense(const ref_dirac *d) {
  const ref_lattice *L = &d->L;
  size_t n = ref_spinor_size(L);
  ref_complex *m = ref_new(n * n), gamma[16];
  for (size_t x = 0; x < ref_volume(L); x++)
    for (size_t i = 0; i < 12; i++)
      for (size_t j = 0; j < 12; j++)
        m[(12 * x + i) * n + 12 * x + j] = d->clover ? d->clover[144 * x + 12 * i + j] : i == j;
  for (int mu = 0; mu < 4; mu++) {
    ref_gamma(REF_UKQCD, mu, gamma);
    for (size_t x = 0; x < ref_volume(L); x++) {
      /* The link from x to y = x + mu: row x couples to y forward, row y to x backward. */
      size_t y = ref_shift(L, x, mu, 1);
      int at[4];
      ref_coords(L, x, at);
      if (!coupled(d, mu, at[mu])) continue;
      double value = -d->kappa * (mu < 3 ? d->aniso : 1);
      if (mu == 3 && d->antiperiodic && at[3] == L->n[3] - 1) value = -value;
      const ref_complex *link = d->u + 9 * (4 * x + (size_t)mu);
      add_block(m, n, x, y, gamma, -1, value, link, 0);
      add_block(m, n, y, x, gamma, 1, value, link, 1);
    }
  }
  return m;
}
