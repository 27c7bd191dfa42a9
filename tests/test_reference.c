/* test_reference.c - the reference itself against theory: Clifford algebra, spin bases, gauge
 * field, clover term, gamma_5-hermiticity, gauge covariance. Its solvers and free fields:
 * test_reference_solve.c. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reference/reference.h"
#include "util/test_util.h"

static const double eps = DBL_EPSILON;
static const double pi = 3.14159265358979323846;

static void clifford_algebra_in_every_basis(void **state) {
  (void)state;
  double worst = 0, hermitian = 0, five = 0;
  for (int basis = 0; basis < REF_BASES; basis++) {
    ref_complex g[5][16], ab[16], ba[16];
    for (int mu = 0; mu < 5; mu++) ref_gamma(basis, mu, g[mu]);
    for (int mu = 0; mu < 5; mu++)
      for (int nu = 0; nu < 5; nu++) {
        ref_mul4(ab, g[mu], g[nu]);
        ref_mul4(ba, g[nu], g[mu]);
        for (int i = 0; i < 16; i++)
          worst = larger(worst, cabs(ab[i] + ba[i] - (mu == nu && i % 5 == 0 ? 2 : 0)));
      }
    for (int mu = 0; mu < 5; mu++)
      for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++)
          hermitian = larger(hermitian, cabs(g[mu][4 * i + j] - conj(g[mu][4 * j + i])));
    for (int i = 0; i < 4; i++) { /* gamma_5 in closed form */
      double diagonal = (i < 2) == (basis != REF_OPENQCD) ? 1 : -1;
      for (int j = 0; j < 4; j++) {
        double expected = basis == REF_UKQCD ? (i + 2) % 4 == j : (i == j) * diagonal;
        five = larger(five, cabs(g[4][4 * i + j] - expected));
      }
    }
  }
  test_below("{gamma_mu, gamma_nu} = 2 delta, gamma_5 included", worst, 0);
  test_below("gamma_mu hermitian", hermitian, 0);
  test_below("gamma_5 in closed form", five, 0);
}

static void basis_change_is_unitary_and_maps_the_gammas(void **state) {
  (void)state;
  double unitary = 0, maps = 0;
  for (int from = 0; from < REF_BASES; from++)
    for (int to = 0; to < REF_BASES; to++) {
      ref_complex s[16], sd[16], p[16], g[16], h[16];
      ref_basis_change(from, to, s);
      for (int i = 0; i < 16; i++) sd[i] = conj(s[4 * (i % 4) + i / 4]);
      ref_mul4(p, s, sd);
      for (int i = 0; i < 16; i++) unitary = larger(unitary, cabs(p[i] - (i % 5 == 0)));
      for (int mu = 0; mu < 5; mu++) {
        ref_gamma(from, mu, g);
        ref_gamma(to, mu, h);
        ref_mul4(p, s, g);
        ref_mul4(p, p, sd);
        maps = larger(maps, ref_max_diff(p, h, 16));
      }
    }
  test_below("S S^dag = 1", unitary, 16 * eps);
  test_below("S gamma S^dag = gamma'", maps, 16 * eps);
}

static void sigma_is_hermitian_and_commutes_with_gamma5(void **state) {
  (void)state;
  double worst = 0, hermitian = 0;
  for (int basis = 0; basis < REF_BASES; basis++)
    for (int mu = 0; mu < 4; mu++)
      for (int nu = 0; nu < 4; nu++) {
        ref_complex s[16], g5[16], ab[16], ba[16];
        ref_sigma(basis, mu, nu, s);
        ref_gamma(basis, 4, g5);
        ref_mul4(ab, s, g5);
        ref_mul4(ba, g5, s);
        worst = larger(worst, ref_max_diff(ab, ba, 16));
        for (int i = 0; i < 16; i++)
          hermitian = larger(hermitian, cabs(s[i] - conj(s[4 * (i % 4) + i / 4])));
      }
  test_below("[sigma, gamma_5] = 0", worst, 0);
  test_below("sigma hermitian", hermitian, 0);
}

static void random_and_weak_links_are_su3(void **state) {
  (void)state;
  ref_lattice L = ref_lattice_make(8, 8, 8, 8);
  ref_complex *u = ref_new(ref_links_size(&L));
  double worst = 0;
  for (int weak = 0; weak < 2; weak++) {
    if (weak)
      ref_weak_links(&L, u, 0.3, 1);
    else
      ref_random_links(&L, u, 1);
    for (size_t i = 0; i < 4 * ref_volume(&L); i++)
      worst = larger(worst, ref_su3_deviation(u + 9 * i));
  }
  /* Orthonormalisation amplifies rounding by 1/|row 2 before normalising|; 1e-3 is rare in 32768.
   */
  test_below("|U U^dag - 1|, |det U - 1|", worst, 64 * eps * 1e3);
  test_close("plaquette of weak:0.3 (contract: near 0.72)", ref_plaquette(&L, u).all, 0.72, 0.01);
  ref_random_links(&L, u, 2);
  /* Haar: mean 0, variance of Re tr U / 3 is 1/18; plaquettes 6 V of them. */
  test_close("plaquette of random links", ref_plaquette(&L, u).all, 0,
             5 * sqrt(1. / 18 / (6. * 4096)));
  free(u);
}

static void codecs_give_the_matrix_back(void **state) {
  (void)state;
  ref_rng rng;
  ref_rng_seed(&rng, 3);
  double worst12 = 0, worst8 = 0;
  for (int k = 0; k < 2000; k++) {
    ref_complex u[9] = {0}, v[9];
    double r[12];
    ref_random_su3(&rng, u);
    if (k < 6) { /* unit matrix and its permutations by the centre and by cyclic rotations */
      memset(u, 0, sizeof u);
      for (int i = 0; i < 3; i++) u[3 * i + (i + k) % 3] = cexp(I * (k / 3) * 2 * pi / 3);
    }
    ref_encode12(u, r);
    ref_decode12(r, v);
    worst12 = larger(worst12, ref_max_diff(u, v, 9));
    int pivot = ref_encode8(u, r);
    ref_decode8(r, pivot, v);
    worst8 = larger(worst8, ref_max_diff(u, v, 9));
  }
  test_below("12 reals", worst12, 1000 * eps);
  test_below("8 reals", worst8, 16 * sqrt(eps));
}

static void flux_field_has_its_field_strength_and_charge(void **state) {
  (void)state;
  ref_lattice L = ref_lattice_make(4, 6, 4, 8);
  ref_complex *u = ref_new(ref_links_size(&L));
  const int q[3] = {1, 1, -2};
  ref_flux_links(&L, u, 1, 2, q);
  double w_xy = 2 * pi / 24, w_zt = 2 * pi * 2 / 32, worst = 0, charge = 0;
  for (size_t x = 0; x < ref_volume(&L); x++)
    for (int mu = 0; mu < 4; mu++)
      for (int nu = 0; nu < 4; nu++) {
        ref_complex f[9];
        if (mu == nu) continue;
        ref_field_strength(&L, u, x, mu, nu, f);
        double w = (mu < nu ? 1 : -1) * (mu + nu == 1 ? w_xy : mu + nu == 5 ? w_zt : 0);
        for (int i = 0; i < 9; i++)
          worst = larger(worst, cabs(f[i] - (i % 4 == 0 ? sin(q[i / 4] * w) : 0)));
      }
  for (int c = 0; c < 3; c++)
    charge += sin(q[c] * w_xy) * sin(q[c] * w_zt) * (double)ref_volume(&L) / (4 * pi * pi);
  test_below("F_{mu nu} of a constant field = sin(flux)", worst, 64 * eps);
  test_close("Q = V tr F_xy F_zt / 4 pi^2", ref_topological_charge(&L, u), charge, 1e-12);
  test_close("  ... and n_xy n_zt sum q^2 up to O(a^2)", charge, 12, 4);
  free(u);
}

/* The gauge-invariant quantities before and after, and F(x) -> g F g^dag. */
static void gauge_quantities_are_invariant(void **state) {
  (void)state;
  ref_lattice L = ref_lattice_make(4, 6, 2, 4);
  ref_complex *u = ref_new(ref_links_size(&L)), *g = ref_new(9 * ref_volume(&L));
  ref_weak_links(&L, u, 0.4, 5);
  ref_random_matrices(g, ref_volume(&L), 6);
  ref_complex f[9], h[9], loop = ref_polyakov_loop(&L, u);
  ref_field_strength(&L, u, 17, 1, 3, f);
  double charge = ref_topological_charge(&L, u);
  ref_plaquettes p = ref_plaquette(&L, u);
  ref_gauge_transform_links(&L, g, u);
  ref_plaquettes pg = ref_plaquette(&L, u);
  test_below("plaquette", fabs(p.space - pg.space) + fabs(p.time - pg.time), 256 * eps);
  test_below("Polyakov loop", cabs(loop - ref_polyakov_loop(&L, u)), 256 * eps);
  test_below("topological charge", fabs(charge - ref_topological_charge(&L, u)),
             256 * eps * (double)ref_volume(&L));
  ref_mul(f, g + 9 * 17, f);
  ref_mul_na(f, f, g + 9 * 17);
  ref_field_strength(&L, u, 17, 1, 3, h);
  test_below("F -> g F g^dag", ref_max_diff(f, h, 9), 256 * eps);
  free(u);
  free(g);
}

static void temporal_gauge_leaves_one_slice(void **state) {
  (void)state;
  ref_lattice L = ref_lattice_make(2, 4, 2, 6);
  size_t slice = ref_volume(&L) / 6;
  ref_complex *u = ref_new(ref_links_size(&L)), *g = ref_new(9 * ref_volume(&L));
  ref_random_links(&L, u, 7);
  ref_plaquettes p = ref_plaquette(&L, u);
  ref_complex loop = ref_polyakov_loop(&L, u);
  ref_temporal_gauge(&L, u, g);
  ref_gauge_transform_links(&L, g, u);
  double worst = 0;
  for (size_t x = 0; x < 5 * slice; x++)
    for (int i = 0; i < 9; i++) worst = larger(worst, cabs(u[9 * (4 * x + 3) + i] - (i % 4 == 0)));
  test_below("U_t = 1 for t < T - 1", worst, 1000 * eps);
  test_below("plaquette unchanged", fabs(p.all - ref_plaquette(&L, u).all), 1000 * eps);
  test_below("Polyakov loop unchanged", cabs(loop - ref_polyakov_loop(&L, u)), 1000 * eps);
  free(u);
  free(g);
}

static void coulomb_gauge_is_a_gauge(void **state) {
  (void)state;
  ref_lattice L = ref_lattice_make(4, 2, 4, 2);
  ref_complex *u = ref_new(ref_links_size(&L));
  ref_weak_links(&L, u, 0.4, 9);
  ref_plaquettes p = ref_plaquette(&L, u);
  ref_complex loop = ref_polyakov_loop(&L, u);
  int sweeps = ref_coulomb_gauge(&L, u, 1e-12, 2000);
  ref_plaquettes q = ref_plaquette(&L, u);
  printf("  %d sweeps, link trace %.6f -> %.6f\n", sweeps, p.link_trace, q.link_trace);
  assert_true(sweeps > 0 && q.link_trace > p.link_trace);
  test_below("plaquette unchanged", fabs(p.space - q.space) + fabs(p.time - q.time), 1e4 * eps);
  test_below("Polyakov loop unchanged", cabs(loop - ref_polyakov_loop(&L, u)), 1e4 * eps);
  free(u);
}

static void clover_term_is_hermitian_and_chiral(void **state) {
  (void)state;
  ref_lattice L = ref_lattice_make(4, 2, 4, 2);
  ref_complex *u = ref_new(ref_links_size(&L)), a[144], b[144], plus[36], minus[36], product[144];
  double hermitian = 0, outside = 0, inverse = 0, det = 0, bases = 0, unit = 0;
  ref_unit_links(&L, u);
  ref_clover_site(&L, u, 0.13, 1.7, 1, REF_UKQCD, 3, a);
  for (int i = 0; i < 144; i++) unit = larger(unit, cabs(a[i] - (i % 13 == 0)));
  ref_random_links(&L, u, 8);
  for (size_t x = 0; x < ref_volume(&L); x++) {
    ref_clover_site(&L, u, 0.13, 1.7, 1, REF_UKQCD, x, a);
    for (int i = 0; i < 12; i++)
      for (int j = 0; j < 12; j++)
        hermitian = larger(hermitian, cabs(a[12 * i + j] - conj(a[12 * j + i])));
    outside = larger(outside, ref_chiral_blocks(a, plus, minus));
    double error = cabs(ref_log_det(12, a) - ref_log_det(6, plus) - ref_log_det(6, minus));
    det = larger(det, fmin(error, fabs(error - 2 * pi)));
    assert_true(ref_invert(12, a, b));
    for (int i = 0; i < 12; i++)
      for (int j = 0; j < 12; j++) {
        product[12 * i + j] = 0;
        for (int k = 0; k < 12; k++) product[12 * i + j] += a[12 * i + k] * b[12 * k + j];
        inverse = larger(inverse, cabs(product[12 * i + j] - (i == j)));
      }
    /* The DeGrand-Rossi matrix is the UKQCD one after the change of basis, and block diagonal. */
    ref_complex s[16];
    ref_basis_change(REF_DEGRAND_ROSSI, REF_UKQCD, s);
    ref_clover_site(&L, u, 0.13, 1.7, 1, REF_DEGRAND_ROSSI, x, b);
    for (int i = 0; i < 144; i++) {
      int s1 = i / 36, c1 = i / 12 % 3, s2 = i % 12 / 3, c2 = i % 3;
      ref_complex sum = 0;
      for (int k = 0; k < 4; k++)
        for (int l = 0; l < 4; l++)
          sum += s[4 * s1 + k] * b[12 * (3 * k + c1) + 3 * l + c2] * conj(s[4 * s2 + l]);
      bases = larger(bases, cabs(sum - a[i]));
      if ((s1 < 2) != (s2 < 2)) bases = larger(bases, cabs(b[i]));
    }
  }
  test_below("A = 1 on unit links", unit, 0);
  test_below("A hermitian", hermitian, 64 * eps);
  test_below("A off its chiral blocks", outside, 64 * eps);
  test_below("A A^-1 = 1", inverse, 1e4 * eps);
  test_below("log det A = sum over blocks", det, 1e3 * eps);
  test_below("A the same in DeGrand-Rossi", bases, 64 * eps);
  free(u);
}

typedef struct {
  ref_lattice L;
  ref_complex *u, *a, *b, *c;
  ref_dirac d;
} fixture;

static fixture fixture_make(int antiperiodic, double csw) {
  fixture f = {.L = ref_lattice_make(4, 2, 6, 4)};
  size_t n = ref_spinor_size(&f.L);
  f.u = ref_new(ref_links_size(&f.L));
  f.a = ref_new(n);
  f.b = ref_new(n);
  f.c = ref_new(n);
  ref_random_links(&f.L, f.u, 11);
  ref_random_spinor(&f.L, f.a, 12);
  ref_random_spinor(&f.L, f.b, 13);
  f.d = ref_dirac_make(&f.L, f.u, 0.14, csw, antiperiodic);
  f.d.aniso = 0.8;
  return f;
}

static void fixture_free(fixture *f) {
  ref_dirac_free(&f->d);
  free(f->u);
  free(f->a);
  free(f->b);
  free(f->c);
}

static void m_is_gamma5_hermitian(void **state) {
  (void)state;
  fixture f = fixture_make(1, 1.3);
  size_t n = ref_spinor_size(&f.L);
  ref_complex g5[16], *v = ref_new(n);
  ref_gamma(REF_UKQCD, 4, g5);
  ref_spin_multiply(&f.L, g5, f.a, f.c);
  ref_apply(&f.d, f.c, v);
  ref_spin_multiply(&f.L, g5, v, v);
  ref_apply_dagger(&f.d, f.a, f.c);
  test_below("gamma_5 M gamma_5 = M^dag", ref_rel_diff(v, f.c, n), 64 * eps);
  ref_complex left = ref_dot(f.b, f.c, n); /* (b, M^dag a) */
  ref_apply(&f.d, f.b, v);
  ref_complex right = ref_dot(v, f.a, n); /* (M b, a) */
  double scale = sqrt(ref_norm2(f.a, n) * ref_norm2(f.b, n));
  test_below("(b, M^dag a) = (M b, a)", cabs(left - right) / scale, 64 * eps);
  free(v);
  fixture_free(&f);
}

static void m_is_gauge_covariant(void **state) {
  (void)state;
  fixture f = fixture_make(1, 1.3);
  size_t n = ref_spinor_size(&f.L);
  ref_complex *g = ref_new(9 * ref_volume(&f.L)), *v = ref_new(n);
  ref_random_matrices(g, ref_volume(&f.L), 14);
  ref_apply(&f.d, f.a, f.c);
  ref_gauge_transform_spinor(&f.L, g, f.c);
  ref_gauge_transform_links(&f.L, g, f.u);
  ref_gauge_transform_spinor(&f.L, g, f.a);
  ref_dirac e = ref_dirac_make(&f.L, f.u, 0.14, 1.3, 1);
  e.aniso = 0.8;
  ref_apply(&e, f.a, v);
  test_below("M[gU] g psi = g M[U] psi", ref_rel_diff(v, f.c, n), 128 * eps);
  ref_dirac_free(&e);
  free(g);
  free(v);
  fixture_free(&f);
}

/* Moving the antiperiodic boundary: U_t -> -U_t on one slice, periodic, is the same operator. */
static void boundary_sign_sits_on_the_last_slice(void **state) {
  (void)state;
  fixture f = fixture_make(1, 0);
  size_t n = ref_spinor_size(&f.L), slice = ref_volume(&f.L) / 4;
  ref_apply(&f.d, f.a, f.b);
  for (size_t x = 3 * slice; x < 4 * slice; x++)
    for (int i = 0; i < 9; i++) f.u[9 * (4 * x + 3) + (size_t)i] *= -1;
  f.d.antiperiodic = 0;
  ref_apply(&f.d, f.a, f.c);
  test_below("antiperiodic = -U_t on slice T-1", ref_max_diff(f.b, f.c, n), 0);
  fixture_free(&f);
}

static void dense_matrix_equals_the_operator(void **state) {
  (void)state;
  ref_lattice L = ref_lattice_make(2, 2, 2, 4);
  size_t n = ref_spinor_size(&L);
  ref_complex *u = ref_new(ref_links_size(&L)), *in = ref_new(n), *out = ref_new(n);
  ref_complex *product = ref_new(n);
  ref_random_links(&L, u, 15);
  ref_random_spinor(&L, in, 16);
  ref_dirac d = ref_dirac_make(&L, u, 0.15, 1.1, 1);
  d.aniso = 1.2;
  ref_complex *m = ref_dense(&d);
  ref_apply(&d, in, out);
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < n; j++) product[i] += m[i * n + j] * in[j];
  test_below("dense M psi = M psi", ref_rel_diff(product, out, n), 128 * eps);
  ref_apply_dagger(&d, in, out);
  memset(product, 0, n * sizeof *product);
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < n; j++) product[j] += conj(m[i * n + j]) * in[i];
  test_below("dense M^dag psi = M^dag psi", ref_rel_diff(product, out, n), 128 * eps);
  ref_dirac_free(&d);
  free(m);
  free(product);
  free(in);
  free(out);
  free(u);
}

/* On constant free fields, where D = 8, M is a matrix on (s, spin). The field q that its inverse gives
 * (docs/conventions.md) is that of the overlap operator, and its adjoint is the adjoint matrix. */
static void domain_walls_have_the_overlap_at_rest(void **state) {
  (void)state;
  enum { LS = 4, N = 4 * LS };
  const ref_lattice L = ref_lattice_make(2, 2, 2, 2);
  ref_complex *u = ref_new(ref_links_size(&L)), gamma_5[16], m[2][N * N], b[N] = {0}, x[N];
  ref_unit_links(&L, u);
  ref_gamma(REF_UKQCD, 4, gamma_5);
  const ref_domain_wall d = {ref_dirac_make(&L, u, 0, 0, 0), LS, 1.3, 0.07};
  const size_t n = ref_domain_wall_size(&d), slice = ref_spinor_size(&L);
  const double r = pow(1 - d.m5, LS), overlap = (d.mass + r) / (1 + r);
  ref_complex *in = ref_new(n), *out = ref_new(n);
  for (int i = 0; i < N; i++)
    for (int dagger = 0; dagger < 2; dagger++) {
      memset(in, 0, n * sizeof *in);
      for (size_t site = 0; site < ref_volume(&L); site++)
        in[(size_t)(i / 4) * slice + 12 * site + 3 * (size_t)(i % 4)] = 1;
      ref_domain_wall_apply(&d, dagger, in, out);
      for (int j = 0; j < N; j++)
        m[dagger][N * j + i] = out[(size_t)(j / 4) * slice + 3 * (size_t)(j % 4)];
    }
  double adjoint = 0, worst = 0;
  for (int i = 0; i < N * N; i++)
    adjoint = fmax(adjoint, cabs(m[1][i] - conj(m[0][i % N * N + i / N])));
  for (int i = 0; i < 4; i++) { /* eta = (1, 0, 0, 0) */
    b[i] = ((i == 0) + gamma_5[4 * i]) / 2;
    b[N - 4 + i] = ((i == 0) - gamma_5[4 * i]) / 2;
  }
  ref_solve_dense(N, m[0], b, x);
  for (int i = 0; i < 4; i++) {
    ref_complex q = i == 0 ? (1 - 1 / overlap) / (1 - d.mass) : 0;
    for (int j = 0; j < 4; j++)
      q += ((i == j) - gamma_5[4 * i + j]) / 2 * x[j] +
           ((i == j) + gamma_5[4 * i + j]) / 2 * x[N - 4 + j];
    worst = fmax(worst, cabs(q));
  }
  test_below("domain wall: M^dag of constant fields", adjoint, 16 * eps);
  test_below("domain wall: q - (1 / D_ov - 1) / (1 - m)", worst, 256 * eps / overlap);
  free(in);
  free(out);
  free(u);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(clifford_algebra_in_every_basis),
      cmocka_unit_test(basis_change_is_unitary_and_maps_the_gammas),
      cmocka_unit_test(sigma_is_hermitian_and_commutes_with_gamma5),
      cmocka_unit_test(random_and_weak_links_are_su3),
      cmocka_unit_test(codecs_give_the_matrix_back),
      cmocka_unit_test(flux_field_has_its_field_strength_and_charge),
      cmocka_unit_test(gauge_quantities_are_invariant),
      cmocka_unit_test(temporal_gauge_leaves_one_slice),
      cmocka_unit_test(coulomb_gauge_is_a_gauge),
      cmocka_unit_test(clover_term_is_hermitian_and_chiral),
      cmocka_unit_test(m_is_gamma5_hermitian),
      cmocka_unit_test(m_is_gauge_covariant),
      cmocka_unit_test(boundary_sign_sits_on_the_last_slice),
      cmocka_unit_test(dense_matrix_equals_the_operator),
      cmocka_unit_test(domain_walls_have_the_overlap_at_rest),
  };
  return test_main(tests, NULL, NULL);
}
