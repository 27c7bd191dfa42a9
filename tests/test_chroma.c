/* test_chroma.c - propagators of Chroma's actions: twisted mass, Wilson and clover on anisotropic
 * lattices. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

#include "tests/util/dirac_case.h"
#include "tests/util/test_util.h"

/* The 12 sources of Chroma's tests: sigma = 2, 5 steps of 1 + sigma^2 / 20 (sum of hops in space -
 * 6), without smearing of links. */
static ref_complex *smeared_point(const ref_lattice *L, const ref_complex *u, int component) {
  const size_t n = ref_spinor_size(L);
  const int origin[4] = {0, 0, 0, 0};
  ref_complex *psi = ref_new(n), *next = ref_new(n);
  ref_point_source(L, psi, origin, component / 3, component % 3);
  for (int step = 0; step < 5; step++) {
    const double f = 4.0 / 20;
    for (size_t site = 0; site < ref_volume(L); site++)
      for (size_t s = 0; s < 4; s++)
        for (size_t i = 0; i < 3; i++) {
          ref_complex sum = -6 * psi[12 * site + 3 * s + i];
          for (int dir = 0; dir < 3; dir++) {
            const size_t ahead = ref_shift(L, site, dir, 1), behind = ref_shift(L, site, dir, -1);
            for (size_t j = 0; j < 3; j++)
              sum += u[9 * (4 * site + (size_t)dir) + 3 * i + j] * psi[12 * ahead + 3 * s + j] +
                     conj(u[9 * (4 * behind + (size_t)dir) + 3 * j + i]) *
                         psi[12 * behind + 3 * s + j];
          }
          next[12 * site + 3 * s + i] = psi[12 * site + 3 * s + i] + f * sum;
        }
    ref_complex *swap = psi;
    psi = next;
    next = swap;
  }
  free(next);
  return psi;
}

/* sum_x |S|^2 by t of Chroma's actions PARWILSON, which has no anisotropy, WILSON and CLOVER, in its
 * single precision: its solution is good to 1e-5. It gives kappa, of which its mass is 1 / (2 kappa)
 * - 4; nu / xi_0 for hops in space; and c_R, c_T: the clover coefficients are c_R / xi_0 and c_T. */
static void test_chroma_propagators_are_reproduced(void **state) {
  (void)state;
  static const double xi_0 = 2.464, nu = 0.95;
  static const struct {
    double kappa, c_r, c_t, mu;
    int anisotropic;
    double recorded[8];
  } cases[] = {{0.205,
                0,
                0,
                0.01,
                0,
                {0.240750708407748, 0.0924521379717651, 0.0263446081626488, 0.00841285501062902,
                 0.00460240144675925, 0.00841235905947049, 0.026282941570381, 0.0924746705481609}},
               {0.135,
                0,
                0,
                0,
                1,
                {0.749881669999327, 0.127559084732057, 0.0488181675046557, 0.0261707085282163,
                 0.0205313421547321, 0.0261869827813914, 0.0488589470882021, 0.127618665495695}},
               {0.115,
                0.91,
                1.07,
                0,
                1,
                {0.588734367199896, 0.0440054663488397, 0.0154934281038289, 0.00913658310242971,
                 0.00757904288702887, 0.00913718577511021, 0.015501454298906, 0.0440099963469373}}};
  static const int extents[4] = {4, 4, 4, 8};
  char path[1024];
  if (!test_data_path("gauge/pyquda_weak_field.lime", path, sizeof path)) skip();
  dirac_case c;
  assert_true(case_open(&c, KAON_ISA_AUTO, extents, 1, LINKS_UNIT, 1));
  must(c.ctx, kaon_gauge_read(c.gauge, path, NULL, NULL));
  must(c.ctx, kaon_gauge_export(c.gauge, KAON_ORDER_NATURAL, KAON_DOUBLE, (void *[]){c.u}));
  kaon_vector *b = case_vector(&c, KAON_FULL, KAON_DOUBLE, 12);
  kaon_vector *x = case_vector(&c, KAON_FULL, KAON_DOUBLE, 12);
  ref_complex *sources[12];
  for (int k = 0; k < 12; k++) sources[k] = smeared_point(&c.L, c.u, k);
  case_import(&c, b, sources);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    kaon_dirac_options o = KAON_DIRAC_OPTIONS_INIT;
    const double mass = 1 / (2 * cases[i].kappa) - 4;
    if (cases[i].anisotropic) o.anisotropy = nu / xi_0;
    o.kappa = 1 / (2 * (1 + 3 * o.anisotropy + mass));
    o.csw = cases[i].c_r / xi_0;
    if (o.csw != 0) o.csw_electric = cases[i].c_t / o.csw;
    o.mu = cases[i].mu;
    kaon_operator *M = NULL;
    must(c.ctx, kaon_dirac_create(c.gauge, &o, &M));
    kaon_operator *A = case_even_odd(&c, M, KAON_EVEN_ODD_SYMMETRIC, KAON_EVEN, 0);
    kaon_solver_options how = KAON_SOLVER_OPTIONS_INIT;
    kaon_solver *solver = NULL;
    how.tol = 1e-12;
    double sum[8] = {0}, worst = 0;
    must(c.ctx, kaon_vector_zero(x));
    must(c.ctx, kaon_solver_create(A, 12, &how, &solver));
    must(c.ctx, kaon_solver_solve(solver, b, x, NULL, NULL));
    kaon_solver_destroy(&solver);
    for (int k = 0; k < 12; k++) {
      ref_complex *column = case_export(&c, x, k);
      for (size_t site = 0; site < ref_volume(&c.L); site++)
        sum[site / 64] += 4 * o.kappa * o.kappa * ref_norm2(column + 12 * site, 12);
      free(column);
    }
    for (int t = 0; t < 8; t++) worst = fmax(worst, fabs(sum[t] / cases[i].recorded[t] - 1));
    test_below("|S|^2 by t, against Chroma's single precision", worst, 1e-5);
    kaon_operator_destroy(&A);
    kaon_operator_destroy(&M);
  }
  for (int k = 0; k < 12; k++) free(sources[k]);
  kaon_vector_destroy(&b);
  kaon_vector_destroy(&x);
  case_close(&c);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_chroma_propagators_are_reproduced)};
  return test_main(tests, NULL, NULL);
}
