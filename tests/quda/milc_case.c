/* milc_case.c - see milc_case.h. */
#include "milc_case.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- sites ---- */

static void coordinates(const int extents[4], int64_t site, int x[4]) {
  for (int d = 0; d < 4; d++) {
    x[d] = (int)(site % extents[d]);
    site /= extents[d];
  }
}

static int64_t index_of(const int extents[4], const int x[4]) {
  int64_t site = 0;
  for (int d = 3; d >= 0; d--) site = site * extents[d] + (x[d] + extents[d]) % extents[d];
  return site;
}

static int parity_of(const int x[4]) {
  return (x[0] + x[1] + x[2] + x[3]) & 1;
}

/* ---- numbers ---- */

static double noise(uint64_t n) { /* uniform in (-1, 1) */
  n = (n ^ n >> 31) * 0x9e3779b97f4a7c15u;
  n = (n ^ n >> 29) * 0xbf58476d1ce4e5b9u;
  n ^= n >> 32;
  return (double)(n >> 11) / 4503599627370496.0 - 1;
}

double *milc_random(const milc_case *c, int reals, uint64_t seed) {
  double *v = malloc(sizeof *v * (size_t)(c->sites * reals));
  for (int64_t i = 0; i < c->sites * reals; i++) v[i] = noise((seed << 40) + (uint64_t)i + 1);
  return v;
}

/* Row i of u without its part along row j. */
static void remove_part(double u[3][6], int i, int j) {
  double re = 0, im = 0;
  for (int k = 0; k < 3; k++) {
    re += u[j][2 * k] * u[i][2 * k] + u[j][2 * k + 1] * u[i][2 * k + 1];
    im += u[j][2 * k] * u[i][2 * k + 1] - u[j][2 * k + 1] * u[i][2 * k];
  }
  for (int k = 0; k < 3; k++) {
    u[i][2 * k] -= re * u[j][2 * k] - im * u[j][2 * k + 1];
    u[i][2 * k + 1] -= re * u[j][2 * k + 1] + im * u[j][2 * k];
  }
}

static void normalise(double row[6]) {
  double sum = 0;
  for (int k = 0; k < 6; k++) sum += row[k] * row[k];
  for (int k = 0; k < 6; k++) row[k] /= sqrt(sum);
}

static void to_su3(double u[3][6]) {
  normalise(u[0]);
  remove_part(u, 1, 0);
  normalise(u[1]);
  for (int k = 0; k < 3; k++) {
    const double *a = &u[0][2 * ((k + 1) % 3)], *b = &u[1][2 * ((k + 2) % 3)];
    const double *p = &u[0][2 * ((k + 2) % 3)], *q = &u[1][2 * ((k + 1) % 3)];
    u[2][2 * k] = a[0] * b[0] - a[1] * b[1] - p[0] * q[0] + p[1] * q[1];
    u[2][2 * k + 1] = -(a[0] * b[1] + a[1] * b[0]) + p[0] * q[1] + p[1] * q[0];
  }
}

/* MILC's sign of a hop of `steps` sites in direction mu, with antiperiodic time. */
static double sign_of(const milc_case *c, const int x[4], int mu, int steps) {
  const int sum[4] = {x[3], x[3] + x[0], x[3] + x[0] + x[1], 0};
  const int wraps = mu == 3 && x[3] + steps >= c->extents[3];
  return (sum[mu] & 1) != wraps ? -1 : 1;
}

static double *links(const milc_case *c, int steps, int general, uint64_t seed) {
  double *u = milc_random(c, 72, seed);
  for (int64_t site = 0; site < c->sites; site++) {
    int x[4];
    coordinates(c->extents, site, x);
    for (int mu = 0; mu < 4; mu++) {
      double *link = u + 18 * (4 * site + mu);
      if (!general) to_su3((double(*)[6])link);
      const double factor = sign_of(c, x, mu, steps) * (steps == 3 ? -1.0 / 24 : 1);
      for (int i = 0; i < 18; i++) link[i] *= factor;
    }
  }
  return u;
}

void milc_open(milc_case *c, const int extents[4], const int grid[4], int rank, int general) {
  memset(c, 0, sizeof *c);
  c->sites = c->part = 1;
  for (int d = 0; d < 4; d++) {
    c->extents[d] = extents[d];
    c->grid[d] = grid[d];
    c->local[d] = extents[d] / grid[d];
    c->origin[d] = rank % grid[d] * c->local[d]; /* x runs fastest */
    rank /= grid[d];
    c->sites *= extents[d];
    c->part *= c->local[d];
  }
  c->fat = links(c, 1, general, 1);
  c->naik = links(c, 3, general, 2);
}

void milc_close(milc_case *c) {
  free(c->fat);
  free(c->naik);
}

/* ---- parts ---- */

/* Index in the whole lattice, and place in MILC's order, of a site of this rank. */
static int64_t site_of(const milc_case *c, int64_t n, int64_t *place) {
  int x[4];
  coordinates(c->local, n, x);
  *place = parity_of(x) * (c->part / 2) + n / 2;
  for (int d = 0; d < 4; d++) x[d] += c->origin[d];
  return index_of(c->extents, x);
}

void *milc_part(const milc_case *c, const double *whole, int reals, int bytes) {
  char *part = malloc((size_t)(c->part * reals * bytes));
  for (int64_t n = 0; n < c->part; n++) {
    int64_t place;
    const double *from = whole + site_of(c, n, &place) * reals;
    for (int i = 0; i < reals; i++)
      if (bytes == 8)
        ((double *)part)[place * reals + i] = from[i];
      else
        ((float *)part)[place * reals + i] = (float)from[i];
  }
  return part;
}

void milc_whole(const milc_case *c, const void *part, int reals, int bytes, double *whole) {
  memset(whole, 0, sizeof *whole * (size_t)(c->sites * reals));
  for (int64_t n = 0; n < c->part; n++) {
    int64_t place;
    double *to = whole + site_of(c, n, &place) * reals;
    for (int i = 0; i < reals; i++)
      to[i] = bytes == 8 ? ((const double *)part)[place * reals + i]
                         : (double)((const float *)part)[place * reals + i];
  }
}

/* ---- the operator ---- */

/* out += factor u v, or factor u^dagger v. */
static void add_product(const double *u, int dagger, double factor, const double *v, double *out) {
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) {
      const double *e = dagger ? u + 2 * (3 * j + i) : u + 2 * (3 * i + j);
      const double im = dagger ? -e[1] : e[1];
      out[2 * i] += factor * (e[0] * v[2 * j] - im * v[2 * j + 1]);
      out[2 * i + 1] += factor * (e[0] * v[2 * j + 1] + im * v[2 * j]);
    }
}

static void add_hops(const milc_case *c, const double *u, int steps, const int x[4],
                     const double *in, double *out) {
  const int64_t here = index_of(c->extents, x);
  for (int mu = 0; mu < 4; mu++) {
    int y[4];
    memcpy(y, x, sizeof y);
    y[mu] = x[mu] + steps;
    add_product(u + 18 * (4 * here + mu), 0, 1, in + 6 * index_of(c->extents, y), out);
    y[mu] = (x[mu] - steps + c->extents[mu]) % c->extents[mu];
    const int64_t there = index_of(c->extents, y);
    add_product(u + 18 * (4 * there + mu), 1, -1, in + 6 * there, out);
  }
}

void milc_hop(const milc_case *c, const double *fat, const double *naik, int parity,
              const double *in, double *out) {
  for (int64_t site = 0; site < c->sites; site++) {
    int x[4];
    coordinates(c->extents, site, x);
    if (parity_of(x) != parity) continue;
    memset(out + 6 * site, 0, 6 * sizeof *out);
    add_hops(c, fat, 1, x, in, out + 6 * site);
    if (naik != NULL) add_hops(c, naik, 3, x, in, out + 6 * site);
  }
}

void milc_residual(const milc_case *c, const double *naik, int parity, double offset,
                   const double *x, const double *b, double residual[2]) {
  double *other = calloc((size_t)(6 * c->sites), sizeof *other);
  double *DDx = calloc((size_t)(6 * c->sites), sizeof *DDx);
  double sum[3] = {0, 0, 0};
  milc_hop(c, c->fat, naik, 1 - parity, x, other);
  milc_hop(c, c->fat, naik, parity, other, DDx);
  for (int64_t site = 0; site < c->sites; site++) {
    double r2 = 0, x2 = 0, b2 = 0;
    int at[4];
    coordinates(c->extents, site, at);
    if (parity_of(at) != parity) continue;
    for (int64_t i = 6 * site; i < 6 * site + 6; i++) {
      const double r = b[i] - offset * x[i] + DDx[i];
      r2 += r * r;
      x2 += x[i] * x[i];
      b2 += b[i] * b[i];
    }
    sum[0] += r2;
    sum[1] += b2;
    sum[2] += r2 / x2;
  }
  residual[0] = sqrt(sum[0] / sum[1]);
  residual[1] = sqrt(sum[2] / ((double)c->sites / 2));
  free(other);
  free(DDx);
}
