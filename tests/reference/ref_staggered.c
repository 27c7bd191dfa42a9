/* ref_staggered.c - naive and improved staggered operators, site by site (test oracle). */
#include <stdlib.h>
#include <string.h>

#include "reference.h"

/* Which coordinates' sum gives the sign of a hop in mu. */
static int phase_sum(int phases, int mu, const int x[4]) {
  if (phases == REF_PHASES_MILC)
    return mu == 0 ? x[3] : mu == 1 ? x[3] + x[0] : mu == 2 ? x[3] + x[0] + x[1] : 0;
  int sum = 0;
  for (int nu = 0; nu < mu; nu++) sum += x[nu];
  return sum;
}

double ref_staggered_sign(const ref_staggered *d, int mu, int steps, const int x[4]) {
  double sign = phase_sum(d->phases, mu, x) % 2 ? -1 : 1;
  for (int i = 0; i < steps && mu == 3 && d->antiperiodic; i++)
    if ((x[3] + i) % d->L.n[3] == d->L.n[3] - 1) sign = -sign;
  return sign;
}

/* Whether the hop in direction dir to a site at `at` along its mu counts. */
static int hops(const ref_staggered *d, int dir, int steps, int at) {
  if (d->along == 0) return 1;
  if (dir != d->along - 1) return 0;
  if (d->block == 0) return 1;
  for (int i = 0; i < steps; i++) /* one site at a time */
    if ((dir < 4 ? at + i + 1 : at - i) % d->block == 0) return 1;
  return 0;
}

/* out += factor (U_mu(x) in(x + steps mu) - U_mu(x - steps mu)^dag in(x - steps mu)) */
static void add_hops(const ref_staggered *d, const ref_complex *links, double factor, int steps,
                     size_t site, const ref_complex *in, ref_complex *out) {
  int x[4], y[4];
  ref_coords(&d->L, site, x);
  for (int mu = 0; mu < 4; mu++) {
    const size_t ahead = ref_shift(&d->L, site, mu, steps);
    const size_t behind = ref_shift(&d->L, site, mu, -steps);
    ref_coords(&d->L, behind, y);
    const double forward =
        hops(d, mu, steps, x[mu]) ? factor * ref_staggered_sign(d, mu, steps, x) : 0;
    const double backward =
        hops(d, mu + 4, steps, x[mu]) ? factor * ref_staggered_sign(d, mu, steps, y) : 0;
    const ref_complex *u = links + 9 * (4 * site + (size_t)mu);
    const ref_complex *v = links + 9 * (4 * behind + (size_t)mu);
    for (size_t i = 0; i < 3; i++)
      for (size_t j = 0; j < 3; j++)
        out[i] += forward * u[3 * i + j] * in[3 * ahead + j] -
                  backward * conj(v[3 * j + i]) * in[3 * behind + j];
  }
}

void ref_staggered_hop(const ref_staggered *d, int parity, const ref_complex *in,
                       ref_complex *out) {
  for (size_t x = 0; x < ref_volume(&d->L); x++) {
    if (parity >= 0 && ref_parity(&d->L, x) != parity) continue;
    ref_complex sum[3] = {0};
    add_hops(d, d->fat, 1, 1, x, in, sum);
    if (d->naik != NULL) add_hops(d, d->naik, 1 + d->epsilon, 3, x, in, sum);
    memcpy(out + 3 * x, sum, sizeof sum);
  }
}

void ref_staggered_apply(const ref_staggered *d, int sign, const ref_complex *in,
                         ref_complex *out) {
  ref_staggered_hop(d, -1, in, out);
  for (size_t i = 0; i < 3 * ref_volume(&d->L); i++) out[i] = 2 * d->mass * in[i] + sign * out[i];
}

void ref_staggered_normal(const ref_staggered *d, int parity, const ref_complex *in,
                          ref_complex *out) {
  const size_t count = 3 * ref_volume(&d->L);
  ref_complex *half = ref_new(count), *other = ref_new(count);
  ref_staggered_hop(d, 1 - parity, in, half);
  ref_staggered_hop(d, parity, half, other);
  for (size_t x = 0; x < ref_volume(&d->L); x++)
    for (size_t i = 3 * x; i < 3 * x + 3 && ref_parity(&d->L, x) == parity; i++)
      out[i] = 4 * d->mass * d->mass * in[i] - other[i];
  free(half);
  free(other);
}
