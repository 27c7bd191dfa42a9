/* test_conventions.c - docs/conventions.md, sections "Lattice" and "Gauge links", checked by hand.
 * Sites, directions and links are placed by the formulas of that page alone, without the
 * reference. Expected results need no arithmetic (1 times a number, sums with zeros), so they are
 * exact. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <complex.h>
#include <math.h>
#include <cmocka.h>

#include <kaon/kaon.h>

#include "tests/util/test_util.h"

/* All extents differ and none is 2: forward and backward neighbours differ, and no two orders
 * coincide. */
static const int n[4] = {4, 6, 8, 10};
enum { VOLUME = 4 * 6 * 8 * 10 };

typedef struct fixture {
  kaon_context *ctx;
  kaon_lattice *lattice;
  kaon_gauge *gauge;
} fixture;

static void ok(const fixture *b, kaon_status status) {
  if (status != KAON_OK) fail_msg("%s", kaon_last_error(b->ctx));
}

static void fixture_open(fixture *b) {
  *b = (fixture){0};
  ok(b, kaon_context_create(NULL, &b->ctx));
  ok(b, kaon_lattice_create(b->ctx, n, KAON_PERIODIC, &b->lattice));
  ok(b, kaon_gauge_create(b->lattice, KAON_DOUBLE, KAON_RECONSTRUCT_18, &b->gauge));
}

static void fixture_close(fixture *b) {
  kaon_gauge_destroy(&b->gauge);
  kaon_lattice_destroy(&b->lattice);
  kaon_context_destroy(&b->ctx);
}

/* site = x + X*(y + Y*(z + Z*t)) */
static size_t site_of(int x, int y, int z, int t) {
  return (size_t)(x + n[0] * (y + n[1] * (z + n[2] * t)));
}

static size_t next_of(const int x[4], int mu) {
  int to[4];
  memcpy(to, x, sizeof to);
  to[mu] = (to[mu] + 1) % n[mu];
  return site_of(to[0], to[1], to[2], to[3]);
}

/* psi[site][spin][colour] */
static double complex *spinor(double complex *psi, size_t site, int spin) {
  return psi + 12 * site + 3 * spin;
}

static void sites_are_lexicographic_with_x_fastest(void **state) {
  (void)state;
  static const int sites[][4] = {{0, 0, 0, 0}, {1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0},
                                 {0, 0, 0, 1}, {3, 5, 7, 9}, {2, 4, 1, 6}};
  double complex *psi = calloc(12 * VOLUME, sizeof *psi);
  kaon_vector *v = NULL;
  fixture b;
  fixture_open(&b);
  ok(&b,
     kaon_vector_create(b.ctx, kaon_lattice_spinors(b.lattice, KAON_FULL), KAON_DOUBLE, 12, &v));
  for (size_t i = 0; i < sizeof sites / sizeof *sites; i++) {
    const int *x = sites[i];
    ok(&b, kaon_source_point(v, x));
    for (int k = 0; k < 12; k++) { /* column k = 3 spin + colour */
      ok(&b, kaon_vector_export(v, k, (double *)psi, KAON_BASIS_UKQCD));
      for (size_t j = 0; j < 12 * VOLUME; j++)
        assert_true(psi[j] == (j == 12 * site_of(x[0], x[1], x[2], x[3]) + (size_t)k));
    }
  }
  kaon_vector_destroy(&v);
  fixture_close(&b);
  free(psi);
}

/* 0 = even: (x + y + z + t) mod 2 = 0. An import into one parity takes that parity's sites. */
static void even_sites_have_an_even_sum(void **state) {
  (void)state;
  double complex *psi = calloc(12 * VOLUME, sizeof *psi);
  fixture b;
  fixture_open(&b);
  assert_int_equal(KAON_EVEN, 0);
  for (int parity = 0; parity < 2; parity++) {
    kaon_vector *v = NULL;
    ok(&b, kaon_vector_create(b.ctx, kaon_lattice_spinors(b.lattice, (kaon_parity)parity),
                              KAON_DOUBLE, 1, &v));
    for (size_t i = 0; i < 12 * VOLUME; i++) psi[i] = 1;
    ok(&b, kaon_vector_import(v, 0, (const double *)psi, KAON_BASIS_UKQCD));
    for (size_t i = 0; i < 12 * VOLUME; i++) psi[i] = 0;
    ok(&b, kaon_vector_export(v, 0, (double *)psi, KAON_BASIS_UKQCD));
    for (int t = 0; t < n[3]; t++)
      for (int z = 0; z < n[2]; z++)
        for (int y = 0; y < n[1]; y++)
          for (int x = 0; x < n[0]; x++)
            for (int c = 0; c < 12; c++)
              assert_true(psi[12 * site_of(x, y, z, t) + (size_t)c] ==
                          ((x + y + z + t) % 2 == parity));
    kaon_vector_destroy(&v);
  }
  fixture_close(&b);
  free(psi);
}

/* A link that is neither symmetric nor real: rotations in the planes (0,1) and (1,2), phases
 * between. */
static void some_su3(double complex g[3][3]) {
  const double c = cos(0.7), s = sin(0.7), d = cos(1.1), e = sin(1.1);
  const double complex p = cexp(0.4 * I), q = cexp(-1.3 * I), r = conj(p * q);
  const double complex a[3][3] = {{c * p, s * p, 0}, {-s * q, c * q, 0}, {0, 0, r}};
  const double b[3][3] = {{1, 0, 0}, {0, d, e}, {0, -e, d}};
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) {
      g[i][j] = 0;
      for (int k = 0; k < 3; k++) g[i][j] += a[i][k] * b[k][j];
    }
}

/* u[site][mu][row][col]: all 1 but one, which is `g`. */
static void one_link(const fixture *b, size_t site, int mu, double complex g[3][3]) {
  double complex *u = calloc(36 * VOLUME, sizeof *u);
  for (size_t i = 0; i < 4 * VOLUME; i++) u[9 * i] = u[9 * i + 4] = u[9 * i + 8] = 1;
  memcpy(u + 9 * (4 * site + (size_t)mu), g, 9 * sizeof *u);
  const void *arrays[1] = {u};
  ok(b, kaon_gauge_import(b->gauge, KAON_ORDER_NATURAL, KAON_DOUBLE, arrays));
  free(u);
}

/* D of a unit spinor (spin, colour) at `from`, exported from the sites of the other parity. */
static void hop(const fixture *b, size_t from, int to_parity, int spin, int colour,
                double complex *psi) {
  kaon_operator *M = NULL;
  kaon_vector *in = NULL, *out = NULL;
  ok(b, kaon_dirac_create(b->gauge, NULL, &M));
  ok(b, kaon_vector_create(b->ctx, kaon_lattice_spinors(b->lattice, (kaon_parity)(1 - to_parity)),
                           KAON_DOUBLE, 1, &in));
  ok(b, kaon_vector_create(b->ctx, kaon_lattice_spinors(b->lattice, (kaon_parity)to_parity),
                           KAON_DOUBLE, 1, &out));
  memset(psi, 0, 12 * VOLUME * sizeof *psi);
  spinor(psi, from, spin)[colour] = 1;
  ok(b, kaon_vector_import(in, 0, (const double *)psi, KAON_BASIS_UKQCD));
  ok(b, kaon_dirac_hop(M, (kaon_parity)to_parity, KAON_PLAIN, in, out));
  memset(psi, 0, 12 * VOLUME * sizeof *psi);
  ok(b, kaon_vector_export(out, 0, (double *)psi, KAON_BASIS_UKQCD));
  kaon_vector_destroy(&in);
  kaon_vector_destroy(&out);
  kaon_operator_destroy(&M);
}

/* psi'(x) = U_mu(x) psi(x+mu) forward and U_mu(x)^dag psi(x) at x+mu. The spin matrix 1 - gamma_mu
 * has the diagonal 1 for mu = x, y, z; for t it is 2 on the lower spins, and 1 + gamma_t 2 on the
 * upper. */
static void check_link(const fixture *b, const int x[4], int mu, double complex g[3][3]) {
  double complex *psi = calloc(12 * VOLUME, sizeof *psi);
  const size_t here = site_of(x[0], x[1], x[2], x[3]), there = next_of(x, mu);
  const int parity = (x[0] + x[1] + x[2] + x[3]) % 2;
  const double weight = mu == 3 ? 2 : 1;
  one_link(b, here, mu, g);
  for (int c = 0; c < 3; c++) {
    hop(b, there, parity, 2, c, psi);
    for (int r = 0; r < 3; r++) assert_true(spinor(psi, here, 2)[r] == weight * g[r][c]);
    hop(b, here, 1 - parity, 0, c, psi);
    for (int r = 0; r < 3; r++) assert_true(spinor(psi, there, 0)[r] == weight * conj(g[c][r]));
  }
  free(psi);
}

static void a_link_connects_its_site_to_the_next_one(void **state) {
  (void)state;
  static const int sites[][4] = {{1, 2, 3, 4}, {3, 5, 7, 9}};
  double complex g[3][3];
  fixture b;
  fixture_open(&b);
  some_su3(g);
  for (int i = 0; i < 2; i++)
    for (int mu = 0; mu < 4; mu++) check_link(&b, sites[i], mu, g);
  fixture_close(&b);
}

static void expect(const char *what, double found, double wanted, double bound) {
  printf("  %s: %.15f, off by %.1e (bound %.1e)\n", what, found, fabs(found - wanted), bound);
  assert_true(fabs(found - wanted) <= bound);
}

/* One link g among units: it is in 6 plaquettes, 4 of a spatial link are space-like, 6 of a
 * t link time-like; each of them is Re tr g / 3. A line along t that holds it is tr g / 3. */
static void means_are_over_sites_planes_and_links(void **state) {
  (void)state;
  double complex g[3][3];
  const int x[4] = {1, 2, 3, 4};
  const double v = VOLUME, eps = 0x1p-52;
  fixture b;
  fixture_open(&b);
  some_su3(g);
  const double complex loss = (g[0][0] + g[1][1] + g[2][2]) / 3 - 1;
  for (int mu = 0; mu < 4; mu++) {
    kaon_observables o = KAON_OBSERVABLES_INIT;
    one_link(&b, site_of(x[0], x[1], x[2], x[3]), mu, g);
    ok(&b, kaon_gauge_measure(b.gauge, &o));
    const double space = mu < 3 ? 4 : 0, time = mu < 3 ? 2 : 6, line = mu < 3 ? 0 : 1;
    /* sums of 6 v, 3 v, 4 v and v / T terms of size 1, each rounded */
    expect("plaquette", o.plaquette, 1 + 6 * creal(loss) / (6 * v), 6 * v * eps);
    expect("space-like", o.plaquette_space, 1 + space * creal(loss) / (3 * v), 3 * v * eps);
    expect("time-like", o.plaquette_time, 1 + time * creal(loss) / (3 * v), 3 * v * eps);
    expect("link trace", o.link_trace, 1 + creal(loss) / (4 * v), 4 * v * eps);
    expect("Polyakov, re", o.polyakov[0], 1 + line * creal(loss) * n[3] / v, v / n[3] * eps);
    expect("Polyakov, im", o.polyakov[1], line * cimag(loss) * n[3] / v, v / n[3] * eps);
  }
  fixture_close(&b);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sites_are_lexicographic_with_x_fastest),
      cmocka_unit_test(even_sites_have_an_even_sum),
      cmocka_unit_test(a_link_connects_its_site_to_the_next_one),
      cmocka_unit_test(means_are_over_sites_planes_and_links),
  };
  return test_main(tests, NULL, NULL);
}
