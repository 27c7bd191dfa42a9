/* test_reference_solve.c - the reference's solvers and free field against theory: plane waves, the
 * analytic quark propagator, O(a) improvement in a constant field, even-odd reduction, dense
 * elimination, gauge covariance of the propagator, mesons. */
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

/* M (w exp(ipx)) = (symbol w) exp(ipx) for every momentum of an uneven lattice. */
static void plane_waves_are_eigenvectors(void **state) {
  (void)state;
  ref_lattice L = ref_lattice_make(4, 2, 6, 4);
  size_t n = ref_spinor_size(&L);
  ref_complex *u = ref_new(ref_links_size(&L)), *in = ref_new(n), *out = ref_new(n);
  ref_unit_links(&L, u);
  double worst = 0;
  for (int antiperiodic = 0; antiperiodic < 2; antiperiodic++)
    for (size_t mode = 0; mode < ref_volume(&L); mode += 7) {
      ref_dirac d = ref_dirac_make(&L, u, 0.11, 1.5, antiperiodic);
      d.aniso = 0.7;
      int at[4];
      double p[4];
      ref_complex m[16], w[12];
      ref_coords(&L, mode, at);
      ref_momentum(&L, antiperiodic, at, p);
      ref_free_symbol(0.11, 0.7, p, m);
      for (int i = 0; i < 12; i++) w[i] = cos(i + 1) + I * sin(2 * i);
      for (size_t x = 0; x < ref_volume(&L); x++) {
        ref_coords(&L, x, at);
        double angle = 0;
        for (int mu = 0; mu < 4; mu++) angle += p[mu] * at[mu];
        for (size_t i = 0; i < 12; i++) in[12 * x + i] = cexp(I * angle) * w[i];
      }
      ref_apply(&d, in, out);
      ref_spin_multiply(&L, m, in, in);
      worst = larger(worst, ref_rel_diff(out, in, n));
      ref_dirac_free(&d);
    }
  test_below("M on plane waves = its symbol", worst, 64 * eps);
  free(u);
  free(in);
  free(out);
}

static void free_propagator_is_the_analytic_one(void **state) {
  (void)state;
  ref_lattice L = ref_lattice_make(4, 4, 2, 6);
  size_t n = ref_spinor_size(&L);
  ref_complex *u = ref_new(ref_links_size(&L)), *b = ref_new(n), *x = ref_new(n);
  ref_unit_links(&L, u);
  const int source[4] = {1, 3, 0, 4};
  double worst = 0;
  for (int antiperiodic = 0; antiperiodic < 2; antiperiodic++)
    for (int column = 0; column < 12; column += 5) {
      ref_dirac d = ref_dirac_make(&L, u, 0.115, 1, antiperiodic);
      ref_point_source(&L, b, source, column / 3, column % 3);
      ref_report r = ref_cgn(&d, b, x, 1e-14, 500, 0);
      assert_true(r.iterations < 500);
      for (size_t site = 0; site < ref_volume(&L); site++) {
        int at[4];
        ref_complex s[16];
        ref_coords(&L, site, at);
        ref_free_propagator(&L, 0.115, 1, antiperiodic, at, source, s);
        for (int i = 0; i < 12; i++) {
          ref_complex expected = i % 3 == column % 3 ? s[4 * (i / 3) + column / 3] : 0;
          worst = larger(worst, cabs(x[12 * site + (size_t)i] - expected));
        }
      }
      ref_dirac_free(&d);
    }
  /* |error| <= cond(M) x residual; cond <= (1 + 8 kappa) / (1 - 8 kappa) = 24. */
  test_below("CGN solution - analytic propagator", worst, 24 * 1e-13);
  free(u);
  free(b);
  free(x);
}

typedef struct {
  const ref_dirac *d;
} normal_matrix;

static void apply_normal(const void *matrix, const ref_complex *in, ref_complex *out) {
  ref_apply_normal(((const normal_matrix *)matrix)->d, in, out);
}

/* Smallest singular value of M by inverse iteration with CG on M^dag M. */
static double smallest_singular_value(const ref_dirac *d) {
  size_t n = ref_spinor_size(&d->L);
  ref_complex *v = ref_new(n), *w = ref_new(n);
  normal_matrix m = {d};
  ref_random_spinor(&d->L, v, 77);
  double value = 0;
  for (int step = 0; step < 4; step++) {
    double norm = sqrt(ref_norm2(v, n));
    for (size_t i = 0; i < n; i++) v[i] /= norm;
    ref_cg(apply_normal, &m, v, w, n, 1e-8, 4000);
    value = sqrt(creal(ref_dot(v, v, n)) / creal(ref_dot(v, w, n)));
    memcpy(v, w, n * sizeof *v);
  }
  free(v);
  free(w);
  return value;
}

/* In a constant abelian field the lowest modes have D-slash psi = 0 (index theorem) and lie in the
 * lowest Landau level, where -D^2 = |F|. The Wilson term, -(a/2) D^2, gives them the eigenvalue
 * F / 2 at m = 0; the clover term with the right sign and c_sw = 1 takes exactly that away, up to
 * F^2; with the wrong sign it doubles it. This pins sign and normalisation of sigma F. */
static void clover_term_cancels_the_wilson_term_in_a_constant_field(void **state) {
  (void)state;
  const int q[3] = {1, 1, -2};
  const double kappa = 0.125; /* m = 0 */
  double improved[2];
  for (int k = 0; k < 2; k++) {
    int n = k ? 10 : 8;
    ref_lattice L = ref_lattice_make(n, n, 2, 2);
    ref_complex *u = ref_new(ref_links_size(&L));
    ref_flux_links(&L, u, 1, 0, q);
    double f = 2 * pi / (n * n), lambda[3];
    for (int sign = -1; sign <= 1; sign++) {
      ref_dirac d = ref_dirac_make(&L, u, kappa, sign, 0);
      lambda[sign + 1] = smallest_singular_value(&d) / (2 * kappa);
      ref_dirac_free(&d);
    }
    printf("  %dx%d flux %.4f: lowest mode %.6f (c_sw -1) %.6f (0) %.6f (+1)\n", n, n, f, lambda[0],
           lambda[1], lambda[2]);
    test_close("c_sw = 0: F / 2", lambda[1], f / 2, f * f);
    test_below("c_sw = +1: O(F^2)", lambda[2], f * f);
    test_close("c_sw = -1: F", lambda[0], f, f * f);
    improved[k] = lambda[2];
    free(u);
  }
  /* F^2 ~ L^-4: (8/10)^4 = 0.41 */
  test_close("improved mode scales as F^2", improved[1] / improved[0], 0.41, 0.04);
}

typedef struct {
  ref_lattice L;
  size_t n;
  ref_complex *u, *b, *x, *y, *w;
  ref_dirac d;
} fixture;

static fixture fixture_make(ref_lattice L, double kappa, double csw) {
  fixture f = {.L = L, .n = ref_spinor_size(&L)};
  f.u = ref_new(ref_links_size(&L));
  f.b = ref_new(f.n);
  f.x = ref_new(f.n);
  f.y = ref_new(f.n);
  f.w = ref_new(f.n);
  ref_weak_links(&L, f.u, 0.3, 21);
  ref_random_spinor(&L, f.b, 22);
  f.d = ref_dirac_make(&L, f.u, kappa, csw, 1);
  f.d.aniso = 0.9;
  return f;
}

static void fixture_free(fixture *f) {
  ref_dirac_free(&f->d);
  free(f->u);
  free(f->b);
  free(f->x);
  free(f->y);
  free(f->w);
}

static void solvers_agree_with_elimination(void **state) {
  (void)state;
  fixture f = fixture_make(ref_lattice_make(2, 2, 2, 4), 0.12, 1.2);
  ref_complex *m = ref_dense(&f.d);
  assert_true(ref_solve_dense((int)f.n, m, f.b, f.y));
  ref_apply(&f.d, f.y, f.w);
  test_below("elimination: |b - M x| / |b|", ref_rel_diff(f.w, f.b, f.n), 1e4 * eps);
  for (int stop_full = 0; stop_full < 2; stop_full++) {
    ref_report r = ref_cgn(&f.d, f.b, f.x, 1e-11, 1000, stop_full);
    printf("  CGN (%s): %d iterations, residual %.2e, normal %.2e\n", stop_full ? "full" : "normal",
           r.iterations, r.residual, r.normal_residual);
    test_below("CGN: its chosen true residual", stop_full ? r.residual : r.normal_residual,
               1.1e-11);
    test_below("CGN - elimination", ref_rel_diff(f.x, f.y, f.n), 1e-9);
  }
  ref_report r = ref_bicgstab(ref_operator_m, &f.d, f.b, f.x, f.n, 1e-11, 1000);
  printf("  BiCGStab: %d iterations\n", r.iterations);
  test_below("BiCGStab: true residual", r.residual, 1.1e-11);
  test_below("BiCGStab - elimination", ref_rel_diff(f.x, f.y, f.n), 1e-9);
  free(m);
  fixture_free(&f);
}

/* (M x)_p with x_q eliminated, for all four forms: the Schur system of the full solution is exact,
 * the rest is rebuilt from it. */
static void even_odd_solutions_are_the_full_one(void **state) {
  (void)state;
  fixture f = fixture_make(ref_lattice_make(4, 2, 4, 4), 0.12, 1.2);
  ref_cgn(&f.d, f.b, f.x, 1e-14, 2000, 0);
  double scale = sqrt(ref_norm2(f.b, f.n));
  for (int parity = 0; parity < 2; parity++)
    for (int symmetric = 0; symmetric < 2; symmetric++) {
      char what[64];
      memset(f.y, 0, f.n * sizeof *f.y);
      memset(f.w, 0, f.n * sizeof *f.w);
      ref_schur(&f.d, parity, symmetric, f.x, f.y);
      ref_schur_prepare(&f.d, parity, symmetric, f.b, f.w);
      snprintf(what, sizeof what, "Schur(x) = prepared b, parity %d, %ssymmetric", parity,
               symmetric ? "" : "a");
      for (size_t i = 0; i < f.n; i++) f.y[i] -= f.w[i];
      test_below(what, sqrt(ref_norm2(f.y, f.n)) / scale, 1e-12);
      for (size_t x = 0; x < ref_volume(&f.L); x++)
        for (size_t i = 0; i < 12; i++)
          f.y[12 * x + i] = ref_parity(&f.L, x) == parity ? f.x[12 * x + i] : 1e9;
      ref_schur_reconstruct(&f.d, parity, f.b, f.y);
      test_below("  reconstructed x", ref_rel_diff(f.y, f.x, f.n), 1e-12);
      /* adjoint: (v, S w) = (S^dag v, w) */
      ref_complex *v = ref_new(f.n), *sv = ref_new(f.n), *sw = ref_new(f.n);
      ref_random_spinor(&f.L, v, 23);
      ref_schur_dagger(&f.d, parity, symmetric, v, sv);
      ref_schur(&f.d, parity, symmetric, f.b, sw);
      ref_complex left = ref_dot(v, sw, f.n), right = ref_dot(sv, f.b, f.n);
      test_below("  adjoint", cabs(left - right) / (scale * sqrt(ref_norm2(v, f.n))), 64 * eps);
      free(v);
      free(sv);
      free(sw);
    }
  fixture_free(&f);
}

/* S[gU](x, y) = g(x) S[U](x, y) g(y)^dag, here through a random source. */
static void propagator_is_gauge_covariant(void **state) {
  (void)state;
  fixture f = fixture_make(ref_lattice_make(4, 4, 2, 4), 0.12, 1.2);
  ref_complex *g = ref_new(9 * ref_volume(&f.L));
  ref_random_matrices(g, ref_volume(&f.L), 24);
  ref_cgn(&f.d, f.b, f.x, 1e-13, 1000, 0);
  ref_gauge_transform_links(&f.L, g, f.u);
  ref_gauge_transform_spinor(&f.L, g, f.b);
  ref_gauge_transform_spinor(&f.L, g, f.x);
  ref_dirac e = ref_dirac_make(&f.L, f.u, 0.12, 1.2, 1);
  e.aniso = f.d.aniso;
  ref_cgn(&e, f.b, f.y, 1e-13, 1000, 0);
  test_below("M[gU]^-1 g b = g M[U]^-1 b", ref_rel_diff(f.y, f.x, f.n), 1e-11);
  ref_dirac_free(&e);
  free(g);
  fixture_free(&f);
}

/* Free mesons: the correlators from solved columns equal those from the analytic propagator, the
 * pion is sum |S|^2, and pion and rho are positive and symmetric in time. */
static void mesons_in_the_free_field(void **state) {
  (void)state;
  ref_lattice L = ref_lattice_make(2, 2, 4, 6);
  ref_complex *columns[12], c[6], g5[16];
  const int source[4] = {1, 0, 2, 1};
  for (int k = 0; k < 12; k++) columns[k] = ref_new(ref_spinor_size(&L));
  for (size_t x = 0; x < ref_volume(&L); x++) {
    int at[4];
    ref_complex s[16];
    ref_coords(&L, x, at);
    ref_free_propagator(&L, 0.12, 1, 1, at, source, s);
    for (size_t k = 0; k < 12; k++)
      for (size_t i = 0; i < 12; i++)
        columns[k][12 * x + i] = i % 3 == k % 3 ? s[4 * (i / 3) + k / 3] : 0;
  }
  double pion[6], rho[6], worst = 0, symmetry = 0;
  ref_pion(&L, columns, source[3], pion);
  ref_rho(&L, columns, source[3], rho);
  ref_gamma(REF_UKQCD, 4, g5);
  ref_meson(&L, columns, g5, source[3], c);
  for (int t = 0; t < 6; t++) {
    printf("  t %d pion %.8f rho %.8f\n", t, pion[t], rho[t]);
    assert_true(pion[t] > 0 && rho[t] > 0 && rho[t] < pion[t] * (1 + 1e-13));
    worst = larger(worst, cabs(c[t] - pion[t]) / pion[t]);
    symmetry = larger(symmetry, fabs(pion[t] / pion[(6 - t) % 6] - 1));
    symmetry = larger(symmetry, fabs(rho[t] / rho[(6 - t) % 6] - 1));
  }
  test_below("pion = general meson formula", worst, 64 * eps);
  test_below("C(t) = C(T - t)", symmetry, 256 * eps);
  for (int k = 0; k < 12; k++) free(columns[k]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(plane_waves_are_eigenvectors),
      cmocka_unit_test(free_propagator_is_the_analytic_one),
      cmocka_unit_test(clover_term_cancels_the_wilson_term_in_a_constant_field),
      cmocka_unit_test(solvers_agree_with_elimination),
      cmocka_unit_test(even_odd_solutions_are_the_full_one),
      cmocka_unit_test(propagator_is_gauge_covariant),
      cmocka_unit_test(mesons_in_the_free_field),
  };
  return test_main(tests, NULL, NULL);
}
