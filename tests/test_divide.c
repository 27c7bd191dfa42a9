/* test_divide.c - the complex quotient of the recurrences (lib/math/steps/recurrences.h). It is
 * right to rounding wherever the numbers and the quotient are normal, has the plain formula's bits
 * where that is safe, and is not finite for a denominator of 0, which is how recurrences detect a
 * breakdown.
 *
 * Bound: products and sums round four times, the division once more; 8 roundings of |a / b|. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <complex.h>
#include <math.h>
#include <stdio.h>

#include "lib/math/steps/recurrences.h"
#include "tests/util/test_util.h"

static double complex divide(double complex a, double complex b) {
  static kaon_column_state s;
  const double up[2] = {creal(a), cimag(a)}, down[2] = {creal(b), cimag(b)};
  kaon_divide(&s, KAON_S_ALPHA, up, down);
  return s.slot[KAON_S_ALPHA][0] + s.slot[KAON_S_ALPHA][1] * I;
}

static double complex scaled(double complex z, int power) {
  return ldexp(creal(z), power) + ldexp(cimag(z), power) * I;
}

static const double complex numbers[] = {3 + 4 * I, 1 - 2 * I, -0.75 + 0.001 * I, 5, 7 * I};
enum { NUMBERS = sizeof numbers / sizeof *numbers };

/* a and b of like size, where the quotient is moderate, over all of the range. */
static void quotients_do_not_depend_on_the_scale(void **state) {
  (void)state;
  double worst = 0;
  for (int i = 0; i < NUMBERS; i++)
    for (int j = 0; j < NUMBERS; j++)
      for (int power = -1000; power <= 1000; power += 20)
        for (int apart = -20; apart <= 20; apart += 20) {
          const double complex wanted = scaled(numbers[i] / numbers[j], apart);
          const double complex found =
              divide(scaled(numbers[i], power + apart), scaled(numbers[j], power));
          const double off = cabs(found - wanted) / cabs(wanted);
          if (!(off <= worst)) worst = off;
        }
  printf("  worst quotient: off by %.2g, bound %.2g\n", worst, 8 * 0x1p-53);
  assert_true(worst <= 8 * 0x1p-53);
}

/* Rho and denominator of a residual of 1e-90: squares of 1e-180 are 0. */
static void small_denominators_are_no_breakdown(void **state) {
  (void)state;
  const double complex found = divide(2e-180 + 2e-180 * I, 1e-180 - 1e-180 * I);
  assert_true(cabs(found - 2 * I) <= 8 * 0x1p-53 * 2);
  assert_true(cabs(divide(1e-310, 1e-310 * I) + I) <= 8 * 0x1p-53);
  assert_true(cabs(divide(1e300 * I, 1e300) - I) <= 8 * 0x1p-53);
}

static void where_it_is_safe_the_bits_are_the_plain_formula_s(void **state) {
  (void)state;
  for (int i = 0; i < NUMBERS; i++)
    for (int j = 0; j < NUMBERS; j++) {
      const double complex a = numbers[i] / 3, b = numbers[j] / 7;
      const double d = creal(b) * creal(b) + cimag(b) * cimag(b);
      const double complex found = divide(a, b);
      assert_true(creal(found) == (creal(a) * creal(b) + cimag(a) * cimag(b)) / d);
      assert_true(cimag(found) == (cimag(a) * creal(b) - creal(a) * cimag(b)) / d);
    }
}

static void zero_and_nan_are_not_hidden(void **state) {
  (void)state;
  const double complex bad[] = {0, NAN, INFINITY * I, NAN * I, 1e-200 + NAN * I};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    const double complex found = divide(1 + I, bad[i]);
    assert_false(isfinite(creal(found)) && isfinite(cimag(found)));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(quotients_do_not_depend_on_the_scale),
      cmocka_unit_test(small_denominators_are_no_breakdown),
      cmocka_unit_test(where_it_is_safe_the_bits_are_the_plain_formula_s),
      cmocka_unit_test(zero_and_nan_are_not_hidden),
  };
  return test_main(tests, NULL, NULL);
}
