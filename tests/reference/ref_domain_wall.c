/* ref_domain_wall.c - Shamir's domain-wall operator (test oracle).
 * (M psi)_s = (D_W(-m5) + 1) psi_s - P- psi_(s+1) - P+ psi_(s-1), with -mass times the shifts across
 * the ends: Shamir, Nucl. Phys. B 406 (1993) 90; Furman, Shamir, Nucl. Phys. B 439 (1995) 54.
 * Everything at a site is one dense matrix on (s, spin), from this formula, and its inverse by
 * elimination. */
#include "reference.h"

#include <stdlib.h>
#include <string.h>

size_t ref_domain_wall_size(const ref_domain_wall *d) {
  return (size_t)d->ls * ref_spinor_size(&d->wilson.L);
}

/* The part of M without hops, on (s, spin): (4 + 1 - m5) - shifts. */
static ref_complex *site_matrix(const ref_domain_wall *d, int inverse, int dagger) {
  const int n = 4 * d->ls;
  ref_complex gamma_5[16], *m = ref_new((size_t)(n * n)), *turned = ref_new((size_t)(n * n));
  ref_gamma(REF_UKQCD, 4, gamma_5);
  for (int s = 0; s < d->ls; s++)
    for (int i = 0; i < 4; i++) {
      const int row = 4 * s + i, ahead = (s + 1) % d->ls, behind = (s + d->ls - 1) % d->ls;
      m[row * n + row] += 5 - d->m5;
      for (int j = 0; j < 4; j++) {
        const ref_complex one = i == j, plus = (one + gamma_5[4 * i + j]) / 2;
        const ref_complex minus = (one - gamma_5[4 * i + j]) / 2;
        m[row * n + 4 * ahead + j] -= (s == d->ls - 1 ? -d->mass : 1) * minus;
        m[row * n + 4 * behind + j] -= (s == 0 ? -d->mass : 1) * plus;
      }
    }
  if (inverse) {
    ref_invert(n, m, turned);
    memcpy(m, turned, (size_t)(n * n) * sizeof *m);
  }
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) turned[i * n + j] = dagger ? conj(m[j * n + i]) : m[i * n + j];
  free(m);
  return turned;
}

static int wanted(const ref_domain_wall *d, size_t site, int parity) {
  return parity < 0 || ref_parity(&d->wilson.L, site) == parity;
}

/* out = (that matrix, or its inverse, or the adjoints) in on the sites of `parity` (-1: all); others
 * are left alone. In place allowed. */
static void at_sites(const ref_domain_wall *d, int inverse, int dagger, int parity,
                     const ref_complex *in, ref_complex *out) {
  const int n = 4 * d->ls;
  const size_t slice = ref_spinor_size(&d->wilson.L);
  ref_complex *m = site_matrix(d, inverse, dagger), *v = ref_new((size_t)n);
  for (size_t site = 0; site < ref_volume(&d->wilson.L); site++) {
    if (!wanted(d, site, parity)) continue;
    for (size_t colour = 0; colour < 3; colour++) {
      for (int i = 0; i < n; i++) {
        v[i] = 0;
        for (int j = 0; j < n; j++)
          v[i] +=
              m[i * n + j] * in[(size_t)(j / 4) * slice + 12 * site + 3 * (size_t)(j % 4) + colour];
      }
      for (int i = 0; i < n; i++)
        out[(size_t)(i / 4) * slice + 12 * site + 3 * (size_t)(i % 4) + colour] = v[i];
    }
  }
  free(m);
  free(v);
}

/* out = D in at every s, on the sites of `parity`. */
static void hops(const ref_domain_wall *d, int dagger, int parity, const ref_complex *in,
                 ref_complex *out) {
  const size_t slice = ref_spinor_size(&d->wilson.L);
  for (size_t s = 0; s < (size_t)d->ls; s++)
    ref_hop_parity(&d->wilson, dagger ? -1 : 1, parity, in + s * slice, out + s * slice);
}

/* out += f v on the sites of `parity`. */
static void add(const ref_domain_wall *d, int parity, double f, const ref_complex *v,
                ref_complex *out) {
  const size_t volume = ref_volume(&d->wilson.L);
  for (size_t i = 0; i < (size_t)d->ls * volume; i++)
    if (wanted(d, i % volume, parity)) ref_axpy(f, v + 12 * i, out + 12 * i, 12);
}

void ref_domain_wall_apply(const ref_domain_wall *d, int dagger, const ref_complex *in,
                           ref_complex *out) {
  ref_complex *hop = ref_new(ref_domain_wall_size(d));
  for (int parity = 0; parity < 2; parity++) hops(d, dagger, parity, in, hop);
  at_sites(d, 0, dagger, -1, in, out);
  add(d, -1, -0.5, hop, out);
  free(hop);
}

void ref_domain_wall_schur(const ref_domain_wall *d, int dagger, int parity, int symmetric,
                           const ref_complex *in, ref_complex *out) {
  ref_complex *start = ref_new(ref_domain_wall_size(d)), *v = ref_new(ref_domain_wall_size(d));
  memcpy(start, in, ref_domain_wall_size(d) * sizeof *start);
  if (symmetric && dagger) at_sites(d, 1, 1, parity, start, start);
  hops(d, dagger, 1 - parity, start, v);
  at_sites(d, 1, dagger, 1 - parity, v, v);
  hops(d, dagger, parity, v, v);
  if (symmetric && !dagger) at_sites(d, 1, 0, parity, v, v);
  if (symmetric) {
    memset(out, 0, ref_domain_wall_size(d) * sizeof *out);
    add(d, parity, 1, in, out);
  } else {
    at_sites(d, 0, dagger, parity, in, out);
  }
  add(d, parity, -0.25, v, out);
  free(start);
  free(v);
}
