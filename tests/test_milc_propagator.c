/* test_milc_propagator.c - kaon's conventions against Wilson and clover propagators that MILC
 * wrote. All are periodic in every direction, with source exp(-r^2 / r0^2) on slice 0 and r0 = 2.
 *
 * milc_lprop.cl: clover, kappa .12, clov_c 1.1, u0 .836 (c_sw = clov_c / u0^3), on a Coulomb-fixed
 * copy of milc_lat.sample.l4448, solved to 1e-5 (its .info file and the sample input of MILC's
 * propagating_form_factor). Even sites belong to the Coulomb-fixed field. Odd sites were rebuilt
 * later as x_o = A_o^-1 kappa D_oe x_e with the links of the unfixed file. So odd rows hold to f32
 * rounding with that file's links, which fixes gamma matrices, sign and size of the clover term
 * and kappa; even rows belong to another gauge.
 *
 * milc_lprop.wi: Wilson, kappa .12, on the Coulomb-fixed field, which is not stored. The test
 * recovers its links from the propagator's own equations; they are those of
 * milc_lat.sample.l4448.gf up to one colour rotation a time slice. The stored checksums do not fit
 * the data. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reference/milc_files.h"
#include "reference/reference.h"
#include "util/test_util.h"

static const double kappa = 0.12, csw = 1.1 / (0.836 * 0.836 * 0.836);

typedef struct {
  ref_lattice L;
  size_t n;
  ref_complex *u, *columns[12]; /* columns in the UKQCD basis, sink index only */
  int sums_match;
} fixture;

/* 0: the data are not there, the test is to be skipped. */
static int fixture_open(fixture *f, const char *propagator) {
  char path[1024];
  ref_lattice M;
  ref_complex v[16];
  memset(f, 0, sizeof *f);
  if (!test_data("milc/milc_lat.sample.l4448", path)) return 0;
  assert_null(milc_read_gauge(path, &f->L, &f->u));
  if (!test_data(propagator, path)) return 0;
  assert_null(milc_read_propagator(path, &M, f->columns, &f->sums_match));
  assert_memory_equal(&M, &f->L, sizeof M);
  f->n = ref_spinor_size(&f->L);
  milc_to_ukqcd(v);
  for (int k = 0; k < 12; k++) ref_spin_multiply(&f->L, v, f->columns[k], f->columns[k]);
  return 1;
}

static void fixture_close(fixture *f) {
  free(f->u);
  for (int k = 0; k < 12; k++) free(f->columns[k]);
}

/* |M S| on odd sites away from the source slice, relative to |S| there, all columns. */
static double odd_residual(const fixture *f, double k, double c) {
  size_t slice = ref_volume(&f->L) / (size_t)f->L.n[3];
  ref_dirac d = ref_dirac_make(&f->L, f->u, k, c, 0);
  ref_complex *ms = ref_new(f->n);
  double above = 0, below = 0;
  for (int column = 0; column < 12; column++) {
    ref_apply(&d, f->columns[column], ms);
    for (size_t x = slice; x < ref_volume(&f->L); x++) {
      if (ref_parity(&f->L, x) != 1) continue;
      above += ref_norm2(ms + 12 * x, 12);
      below += ref_norm2(f->columns[column] + 12 * x, 12);
    }
  }
  free(ms);
  ref_dirac_free(&d);
  return sqrt(above / below);
}

static void clover_rows_hold_to_f32_rounding(void **state) {
  (void)state;
  fixture f;
  if (!fixture_open(&f, "milc/milc_lprop.cl.sample.l4448")) skip();
  assert_int_equal(f.sums_match, 12);
  /* A row sums 8 hops of 3 x 2 products and the clover term in f32 stored numbers. */
  test_below("|M S| / |S|, odd sites, kappa .12, c_sw 1.1 / .836^3", odd_residual(&f, kappa, csw),
             16 * FLT_EPSILON);
  double no_tadpole = odd_residual(&f, kappa, 1.1), wrong_sign = odd_residual(&f, kappa, -csw);
  double other_kappa = odd_residual(&f, kappa * 1.001, csw);
  printf("  for comparison: c_sw 1.1 %.2e, c_sw negative %.2e, kappa .12012 %.2e\n", no_tadpole,
         wrong_sign, other_kappa);
  assert_true(no_tadpole > 1e-2 && wrong_sign > 1e-1 && other_kappa > 1e-4);
  fixture_close(&f);
}

/* ---- the Coulomb-fixed field from the Wilson propagator ---- */

/* Column `unknown` of the 48 equations (spin, column) of row colour i at site x: the coefficient of
 * (kappa U_mu(x))_ij for the forward hop, (kappa U_mu(x-mu)^dag)_ij for the backward hop. */
static ref_complex hop_coefficient(const fixture *f, ref_complex gamma[4][16], size_t x,
                                   int unknown, int spin, int column) {
  int mu = unknown / 6, backward = unknown / 3 % 2;
  size_t y = ref_shift(&f->L, x, mu, backward ? -1 : 1), j = (size_t)(unknown % 3);
  ref_complex sum = 0;
  for (int r = 0; r < 4; r++)
    sum += ((spin == r) + (backward ? 1 : -1) * gamma[mu][4 * spin + r]) *
           f->columns[column][12 * y + 3 * (size_t)r + j];
  return sum;
}

/* Least squares for the eight kappa U of site x: rows[i][24]. Adds the squares of the misfit. */
static void fit_site(const fixture *f, ref_complex gamma[4][16], size_t x, ref_complex rows[3][24],
                     double *misfit, double *norm) {
  static ref_complex a[48][24], normal[24 * 24], rhs[24];
  for (int e = 0; e < 48; e++)
    for (int k = 0; k < 24; k++) a[e][k] = hop_coefficient(f, gamma, x, k, e / 12, e % 12);
  for (int i = 0; i < 3; i++) {
    ref_complex b[48];
    for (size_t e = 0; e < 48; e++) b[e] = f->columns[e % 12][12 * x + 3 * (e / 12) + (size_t)i];
    for (int k = 0; k < 24; k++) {
      rhs[k] = 0;
      for (int e = 0; e < 48; e++) rhs[k] += conj(a[e][k]) * b[e];
      for (int l = 0; l < 24; l++) {
        normal[24 * k + l] = 0;
        for (int e = 0; e < 48; e++) normal[24 * k + l] += conj(a[e][k]) * a[e][l];
      }
    }
    assert_true(ref_solve_dense(24, normal, rhs, rows[i]));
    *norm += ref_norm2(b, 48);
    for (int e = 0; e < 48; e++) {
      for (int k = 0; k < 24; k++) b[e] -= a[e][k] * rows[i][k];
      *misfit += ref_norm2(&b[e], 1);
    }
  }
}

/* All links except the spatial ones of slice 0, where the source is: those stay zero. Prints and
 * checks the misfit and kappa = |row|. */
static void recover_links(const fixture *f, ref_complex *u) {
  ref_complex gamma[4][16], rows[3][24];
  size_t volume = ref_volume(&f->L), slice = volume / (size_t)f->L.n[3];
  double misfit = 0, norm = 0, worst = 0;
  for (int mu = 0; mu < 4; mu++) ref_gamma(REF_UKQCD, mu, gamma[mu]);
  for (size_t x = slice; x < volume; x++) {
    fit_site(f, gamma, x, rows, &misfit, &norm);
    for (int mu = 0; mu < 4; mu++)
      for (int i = 0; i < 3; i++) {
        worst = larger(worst, fabs(sqrt(ref_norm2(rows[i] + 6 * mu, 3)) - kappa));
        for (int j = 0; j < 3; j++) {
          u[9 * (4 * x + (size_t)mu) + (size_t)(3 * i + j)] = rows[i][6 * mu + j] / kappa;
          if (mu == 3 && x < 2 * slice)
            u[9 * (4 * (x - slice) + 3) + (size_t)(3 * j + i)] = conj(rows[i][21 + j]) / kappa;
        }
      }
  }
  test_below("misfit of S(x) = sum of eight hops, t > 0", sqrt(misfit / norm), 1e-5);
  test_below("| |row of kappa U| - 0.12 |", worst, 1e-4);
}

/* The colour rotation h of slice t with u = h fixed h^dag on its space-like links: the null vector
 * of the linear map h -> u h - h fixed, summed in squares, by inverse iteration; made SU(3). */
static void slice_rotation(const ref_lattice *L, const ref_complex *u, const ref_complex *fixed,
                           int t, ref_complex h[9]) {
  size_t slice = ref_volume(L) / (size_t)L->n[3];
  ref_complex normal[81] = {0}, inverse[81], k[81];
  for (size_t x = (size_t)t * slice; x < (size_t)(t + 1) * slice; x++)
    for (size_t mu = 0; mu < 3; mu++) {
      const ref_complex *a = u + 9 * (4 * x + mu), *b = fixed + 9 * (4 * x + mu);
      for (int i = 0; i < 81; i++) {
        int r = i / 27, c = i / 9 % 3, p = i % 9 / 3, q = i % 3; /* row (r, c), unknown h_pq */
        k[i] = (c == q ? a[3 * r + p] : 0) - (r == p ? b[3 * q + c] : 0);
      }
      for (int i = 0; i < 9; i++)
        for (int j = 0; j < 9; j++)
          for (int e = 0; e < 9; e++) normal[9 * i + j] += conj(k[9 * e + i]) * k[9 * e + j];
    }
  for (int i = 0; i < 9; i++) normal[10 * i] += 1e-12;
  assert_true(ref_invert(9, normal, inverse));
  for (int i = 0; i < 9; i++) h[i] = i % 4 == 0;
  for (int step = 0; step < 6; step++) {
    ref_complex next[9] = {0};
    for (int i = 0; i < 9; i++)
      for (int j = 0; j < 9; j++) next[i] += inverse[9 * i + j] * h[j];
    double norm = sqrt(ref_norm2(next, 9) / 3);
    for (int i = 0; i < 9; i++) h[i] = next[i] / norm;
  }
  ref_complex phase = cpow(ref_det(h), 1. / 3);
  for (int i = 0; i < 9; i++) h[i] /= phase;
}

/* MILC's stored Coulomb-fixed field, rotated by one colour matrix a slice to the field of the
 * propagators (Coulomb gauge leaves that rotation free). */
static int propagator_gauge(const fixture *wilson, ref_complex **fixed) {
  char path[1024];
  ref_lattice L;
  if (!test_data("milc/milc_lat.sample.l4448.gf", path)) return 0;
  assert_null(milc_read_gauge(path, &L, fixed));
  size_t volume = ref_volume(&L), slice = volume / (size_t)L.n[3];
  ref_complex *u = ref_new(ref_links_size(&L)), *g = ref_new(9 * volume);
  recover_links(wilson, u);
  for (int t = 1; t < L.n[3]; t++) {
    ref_complex h[9];
    slice_rotation(&L, u, *fixed, t, h);
    for (size_t x = 0; x < slice; x++) memcpy(g + 9 * ((size_t)t * slice + x), h, sizeof h);
  }
  ref_complex h[9] = {0}; /* slice 0: U_t(x, 0) = h(0) fixed_t(x, 0) h(1)^dag, averaged */
  for (size_t x = 0; x < slice; x++) {
    ref_complex p[9];
    ref_mul(p, u + 9 * (4 * x + 3), g + 9 * slice);
    ref_mul_na(p, p, *fixed + 9 * (4 * x + 3));
    for (int i = 0; i < 9; i++) h[i] += p[i] / (double)slice;
  }
  for (size_t x = 0; x < slice; x++) memcpy(g + 9 * x, h, sizeof h);
  ref_gauge_transform_links(&L, g, *fixed);
  double worst = 0, rotation = 0;
  for (size_t x = 0; x < volume; x++) rotation = larger(rotation, ref_su3_deviation(g + 9 * x));
  for (size_t i = 0; i < ref_links_size(&L); i++)
    if (i / 36 >= slice || i / 9 % 4 == 3) worst = larger(worst, cabs(u[i] - (*fixed)[i]));
  test_below("slice rotations in SU(3)", rotation, 1e-3);
  test_below("links from the propagator - rotated .gf file", worst, 1e-2);
  free(u);
  free(g);
  return 1;
}

/* exp(-r^2 / r0^2) on slice 0 around the origin, r the shortest way round. */
static double gaussian(const fixture *f, size_t x, double r0) {
  int at[4], r2 = 0;
  ref_coords(&f->L, x, at);
  for (int mu = 0; mu < 3; mu++) {
    int distance = at[mu] > f->L.n[mu] / 2 ? f->L.n[mu] - at[mu] : at[mu];
    r2 += distance * distance;
  }
  return at[3] ? 0 : exp(-r2 / (r0 * r0));
}

/* |M S - s| / |s| over all columns on the rows of one parity (-1: all), s the gaussian in the
 * source's MILC spin and colour. */
static double source_residual(const fixture *f, const ref_complex *u, double c, double r0,
                              int parity) {
  ref_dirac d = ref_dirac_make(&f->L, u, kappa, c, 0);
  ref_complex *ms = ref_new(f->n), v[16];
  double above = 0, below = 0;
  milc_to_ukqcd(v);
  for (int column = 0; column < 12; column++) {
    ref_apply(&d, f->columns[column], ms);
    for (size_t x = 0; x < ref_volume(&f->L); x++) {
      if (parity >= 0 && ref_parity(&f->L, x) != parity) continue;
      for (int s = 0; s < 4; s++) {
        ref_complex source = v[4 * s + column / 3] * gaussian(f, x, r0);
        ms[12 * x + (size_t)(3 * s + column % 3)] -= source;
        below += ref_norm2(&source, 1);
      }
      above += ref_norm2(ms + 12 * x, 12);
    }
  }
  free(ms);
  ref_dirac_free(&d);
  return sqrt(above / below);
}

/* The source included: odd rows of the clover file on the unfixed field. */
static void clover_source_is_the_gaussian(void **state) {
  (void)state;
  fixture f;
  if (!fixture_open(&f, "milc/milc_lprop.cl.sample.l4448")) skip();
  test_below("|M S - exp(-r^2/4)| / |source|, odd rows", source_residual(&f, f.u, csw, 2, 1),
             32 * FLT_EPSILON);
  fixture_close(&f);
}

/* Even rows of the clover file: the Schur complement with the Coulomb-fixed links, over the source
 * prepared with them. */
static double even_residual(const fixture *f, const ref_complex *u) {
  ref_dirac d = ref_dirac_make(&f->L, u, kappa, csw, 0);
  ref_complex *source = ref_new(f->n), *left = ref_new(f->n), *right = ref_new(f->n), v[16];
  double above = 0, below = 0;
  milc_to_ukqcd(v);
  for (int column = 0; column < 12; column++) {
    for (size_t x = 0; x < ref_volume(&f->L); x++)
      for (int s = 0; s < 4; s++)
        source[12 * x + (size_t)(3 * s + column % 3)] = v[4 * s + column / 3] * gaussian(f, x, 2);
    ref_schur(&d, 0, 0, f->columns[column], left);
    ref_schur_prepare(&d, 0, 0, source, right);
    memset(source, 0, f->n * sizeof *source);
    for (size_t i = 0; i < f->n; i++) left[i] -= right[i];
    above += ref_norm2(left, f->n);
    below += ref_norm2(right, f->n);
  }
  free(source);
  free(left);
  free(right);
  ref_dirac_free(&d);
  return sqrt(above / below);
}

/* The two Coulomb fixings, of 2000 and 2001, stopped at a tolerance of 1e-7 (the .info file) of a
 * functional that is quadratic in the angles: they agree to some sqrt(1e-7) = 3e-4, and a row of M
 * sums 8 kappa = 0.96 such links. */
static void coulomb_fixed_rows_hold_to_the_fixing_tolerance(void **state) {
  (void)state;
  fixture wilson, clover;
  ref_complex *fixed;
  if (!fixture_open(&wilson, "milc/milc_lprop.wi.sample.l4448")) skip();
  if (!fixture_open(&clover, "milc/milc_lprop.cl.sample.l4448")) skip();
  if (!propagator_gauge(&wilson, &fixed)) skip();
  test_below("Wilson: |M S - exp(-r^2/4)| / |source|, all rows",
             source_residual(&wilson, fixed, 0, 2, -1), 2e-3);
  test_below("clover: Schur(S_even) - prepared source", even_residual(&clover, fixed), 2e-3);
  free(fixed);
  fixture_close(&wilson);
  fixture_close(&clover);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(clover_rows_hold_to_f32_rounding),
      cmocka_unit_test(clover_source_is_the_gaussian),
      cmocka_unit_test(coulomb_fixed_rows_hold_to_the_fixing_tolerance),
  };
  return test_main(tests, NULL, NULL);
}
