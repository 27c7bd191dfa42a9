/* test_coherent_rounding.c - roundings of single precision average out over the lattice. No factor
 * of the whole operator may be rounded alike at every site: that would act like another kappa or
 * anisotropy and double the steps of a mixed-precision solve near criticality. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <math.h>
#include <cmocka.h>

#include "tests/util/link_case.h"

static ref_complex dot(const ref_complex *a, const ref_complex *b, size_t n) {
  ref_complex sum = 0;
  for (size_t i = 0; i < n; i++) sum += conj(a[i]) * b[i];
  return sum;
}

/* How much larger the hopping part of M x is in single than in double, relative to its size: the
 * component of the error along it. Independent errors of relative size e leave e / sqrt(numbers).
 */
static void check_factor(dirac_case *c, double kappa, double anisotropy) {
  const size_t n = 12 * ref_volume(&c->L);
  ref_complex **psi = case_random_columns(c, 1, 31), *result[2];
  kaon_vector *x[2], *y[2];
  x[1] = case_vector(c, KAON_FULL, KAON_SINGLE, 1);
  case_import(c, x[1], psi);
  ref_complex *source = case_export(c, x[1], 0); /* single's own rounding of x is in both */
  for (int p = 0; p < 2; p++) {
    const kaon_precision precision = p ? KAON_SINGLE : KAON_DOUBLE;
    kaon_operator *M = case_dirac(c, kappa, 0, anisotropy, precision, KAON_RECONSTRUCT_18);
    if (p == 0) x[0] = case_vector(c, KAON_FULL, precision, 1);
    y[p] = case_vector(c, KAON_FULL, precision, 1);
    case_import(c, x[p], &source);
    must(c->ctx, kaon_operator_apply(M, KAON_PLAIN, x[p], y[p]));
    result[p] = case_export(c, y[p], 0);
    kaon_operator_destroy(&M);
  }
  for (size_t i = 0; i < n; i++) {
    result[1][i] -= result[0][i];
    result[0][i] -= source[i];
  }
  const double h2 = creal(dot(result[0], result[0], n));
  const double x2 = creal(dot(source, source, n)), y2 = h2 + x2;
  const rounding r = case_rounding_rms(KAON_SINGLE, KAON_RECONSTRUCT_18);
  const double independent = (kappa * r.e_hop * sqrt(x2) + r.e_store * sqrt(y2)) / sqrt(h2);
  const double bound = 5 * independent / sqrt(2.0 * (double)n);
  test_below("common factor of single's hops - 1", fabs(creal(dot(result[0], result[1], n)) / h2),
             bound);
  assert_true(bound < 1e-8); /* a factor rounded to single is off by up to 6e-8 */
  for (int p = 0; p < 2; p++) {
    free(result[p]);
    kaon_vector_destroy(&x[p]);
    kaon_vector_destroy(&y[p]);
  }
  free(source);
  case_free_columns(psi, 1);
}

/* The number next to `near` that single precision represents worst: close to the middle between
 * two neighbours. Not near a power of two: multiplying by it is exact, so adding the missing part
 * would again round alike everywhere. */
static double worst_near(float near) {
  return near + 0.49 * ((double)nextafterf(near, 2 * near) - (double)near);
}

/* The CPU's hops apply the factor of the spatial directions at the end and multiply hops in t by 2
 * over it; the last number here is worst for that. The second lattice has its sites in plain
 * order. */
static void single_precision_has_the_operators_factors(void **state) {
  (void)state;
  static const int extents[2][4] = {{8, 8, 8, 8}, {10, 10, 6, 10}};
  for (int isa = KAON_ISA_SCALAR; isa <= MACHINE_LAST; isa++)
    for (int order = 0; order < 2; order++) {
      dirac_case c;
      if (!case_open(&c, isa, extents[order], 1, LINKS_RANDOM, 77)) continue;
      check_factor(&c, worst_near(0.1345f), 1);
      check_factor(&c, 0.13, worst_near(2.7f));
      check_factor(&c, 0.13, 2 / worst_near(5.3f));
      case_close(&c);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(single_precision_has_the_operators_factors),
  };
  return test_main(tests, NULL, NULL);
}
