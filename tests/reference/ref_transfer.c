/* ref_transfer.c - aggregation: a basis of vectors that are cut into aggregates and two halves, and
 * orthonormalised there by Gram-Schmidt; prolongation and its adjoint (M. Luescher, JHEP 07 (2007)
 * 081, section 3; A. Frommer et al., SIAM J. Sci. Comput. 36 (2014) A1581, section 3). */
#include "reference.h"

#include <math.h>
#include <stdlib.h>

size_t ref_aggregates(const ref_transfer *t) {
  size_t count = 1;
  for (int mu = 0; mu < 4; mu++) count *= (size_t)(t->L.n[mu] / t->block[mu]);
  return count;
}

size_t ref_aggregate(const ref_transfer *t, size_t site) {
  ref_lattice coarse;
  int x[4];
  ref_coords(&t->L, site, x);
  for (int mu = 0; mu < 4; mu++) {
    coarse.n[mu] = t->L.n[mu] / t->block[mu];
    x[mu] /= t->block[mu];
  }
  return ref_site(&coarse, x);
}

/* The half that number c of a site belongs to. */
static size_t half_of(const ref_transfer *t, int c) {
  return c >= t->numbers / 2;
}

void ref_halves(const ref_transfer *t, const ref_complex *in, ref_complex *out) {
  const int m = t->numbers;
  for (size_t site = 0; site < ref_volume(&t->L); site++)
    for (int c = 0; c < m / 2; c++) {
      const ref_complex upper = in[site * (size_t)m + (size_t)c];
      const ref_complex lower = in[site * (size_t)m + (size_t)(c + m / 2)];
      out[site * (size_t)m + (size_t)c] = t->turned ? (upper + lower) / sqrt(2) : upper;
      out[site * (size_t)m + (size_t)(c + m / 2)] = t->turned ? (upper - lower) / sqrt(2) : lower;
    }
}

/* dot[aggregate * 2 + half] = sum conj(a) b */
static void products(const ref_transfer *t, const ref_complex *a, const ref_complex *b,
                     ref_complex *dot) {
  for (size_t i = 0; i < 2 * ref_aggregates(t); i++) dot[i] = 0;
  for (size_t site = 0; site < ref_volume(&t->L); site++) {
    const size_t first = site * (size_t)t->numbers, aggregate = ref_aggregate(t, site);
    for (int c = 0; c < t->numbers; c++)
      dot[aggregate * 2 + half_of(t, c)] += conj(a[first + (size_t)c]) * b[first + (size_t)c];
  }
}

/* b += factor[aggregate * 2 + half] a */
static void add(const ref_transfer *t, const ref_complex *factor, const ref_complex *a,
                ref_complex *b) {
  for (size_t site = 0; site < ref_volume(&t->L); site++) {
    const size_t first = site * (size_t)t->numbers, aggregate = ref_aggregate(t, site);
    for (int c = 0; c < t->numbers; c++)
      b[first + (size_t)c] += factor[aggregate * 2 + half_of(t, c)] * a[first + (size_t)c];
  }
}

void ref_gram_schmidt(const ref_transfer *t) {
  const size_t count = 2 * ref_aggregates(t);
  ref_complex *dot = ref_new(count);
  for (int j = 0; j < t->n; j++) {
    for (int i = 0; i < 2 * j; i++) { /* twice */
      products(t, t->v[i % j], t->v[j], dot);
      for (size_t k = 0; k < count; k++) dot[k] = -dot[k];
      add(t, dot, t->v[i % j], t->v[j]);
    }
    products(t, t->v[j], t->v[j], dot);
    for (size_t k = 0; k < count; k++) dot[k] = 1 / sqrt(creal(dot[k])) - 1;
    add(t, dot, t->v[j], t->v[j]);
  }
  free(dot);
}

double ref_unitarity(const ref_transfer *t) {
  const size_t count = 2 * ref_aggregates(t);
  ref_complex *dot = ref_new(count);
  double worst = 0;
  for (int i = 0; i < t->n; i++)
    for (int j = i; j < t->n; j++) {
      products(t, t->v[i], t->v[j], dot);
      for (size_t k = 0; k < count; k++) {
        const double off = cabs(dot[k] - (i == j));
        if (!(off <= worst)) worst = off;
      }
    }
  free(dot);
  return worst;
}

void ref_restrict(const ref_transfer *t, const ref_complex *fine, ref_complex *coarse) {
  const size_t count = 2 * ref_aggregates(t);
  ref_complex *dot = ref_new(count);
  ref_complex *halves = ref_new(ref_volume(&t->L) * (size_t)t->numbers);
  ref_halves(t, fine, halves);
  for (int j = 0; j < t->n; j++) {
    products(t, t->v[j], halves, dot);
    for (size_t k = 0; k < count; k++) coarse[k * (size_t)t->n + (size_t)j] = dot[k];
  }
  free(dot);
  free(halves);
}

void ref_prolong(const ref_transfer *t, const ref_complex *coarse, ref_complex *fine) {
  const size_t count = 2 * ref_aggregates(t);
  ref_complex *factor = ref_new(count);
  ref_complex *halves = ref_new(ref_volume(&t->L) * (size_t)t->numbers);
  for (int j = 0; j < t->n; j++) {
    for (size_t k = 0; k < count; k++) factor[k] = coarse[k * (size_t)t->n + (size_t)j];
    add(t, factor, t->v[j], halves);
  }
  ref_halves(t, halves, fine); /* its own inverse */
  free(factor);
  free(halves);
}
