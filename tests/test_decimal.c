/* test_decimal.c - decimal numbers in text. They are read as the C library's strtod reads them, at
 * any length and in any locale, and written so that reading gives them back. */
#include <locale.h>
#include <math.h>
#include <string.h>

#include "test_io_common.h"

#include "lib/io/decimal.h"
#include "lib/math/philox.h"
#include "tests/util/comma_locale.h"

static void decimals_are_rounded_as_strtod_rounds_them(void **state) {
  (void)state;
  static const char *const hard[] = {"9007199254740993",
                                     "9007199254740992.5",
                                     "9007199254740993e0",
                                     "1e22",
                                     "1e23",
                                     "8.5e-27",
                                     "179769313486231570814527423731704356798070e267",
                                     "2.2250738585072011e-308",
                                     "5e-324",
                                     "1.7976931348623157e308",
                                     "0.1",
                                     "123456789012345678901234567890",
                                     "18446744073709551615",
                                     "1844674407370955161.5e-27",
                                     "9.999999999999999999e27",
                                     "0.000000000000000000000000000001",
                                     "4503599627370497.5",
                                     "-0.0",
                                     "1e-400",
                                     "5708990770823839524233143877797980545530986496"};
  for (size_t i = 0; i < sizeof hard / sizeof hard[0]; i++) {
    const char *at = hard[i];
    double value = NAN;
    assert_true(kaon_decimal_read(&at, hard[i] + strlen(hard[i]), &value) < KAON_DECIMAL_INFINITE);
    assert_true(*at == '\0' && value == strtod(hard[i], NULL));
  }
  for (uint32_t n = 0; n < 300000; n++) {
    char text[64];
    const kaon_philox r = kaon_random_bits(5, n, 0, 0, 0, 0);
    const uint64_t m = ((uint64_t)r.v[0] << 32 | r.v[1]) >> (r.v[3] % 64);
    sprintf(text, "%llue%d", (unsigned long long)m, (int)(r.v[2] % 80) - 45);
    const char *at = text;
    double value = NAN, back = NAN;
    kaon_decimal_read(&at, text + strlen(text), &value);
    if (value != strtod(text, NULL)) fail_msg("%s is read as %.17g", text, value);
    char written[KAON_DECIMAL_CAPACITY];
    const int length = kaon_decimal_write(value, written);
    at = written;
    kaon_decimal_read(&at, written + length, &back);
    if (back != value || at != written + length) fail_msg("%.*s for %s", length, written, text);
  }
}

/* Read in a locale with a decimal comma if `comma`, else in C's; d, D, q and Q stand for e. */
static double read_whole(const char *text, int comma) {
  const size_t n = strlen(text);
  const char *at = text;
  double value = NAN;
  if (comma) assert_true(comma_locale());
  const kaon_decimal kind = kaon_decimal_read(&at, text + n, &value);
  setlocale(LC_ALL, "C");
  if (kind > KAON_DECIMAL_FRACTION || at != text + n) fail_msg("%.60s... is no number", text);
  return value;
}

/* `whole` digits, a point, `behind` digits and an exponent; zeros first where `zeros`. */
static void put_long(char *text, uint32_t seed, int whole, int behind, int zeros, int exponent) {
  int n = 0;
  if (seed % 2) text[n++] = '-';
  for (int i = 0; i < whole + behind; i++) {
    const kaon_philox r = kaon_random_bits(6, seed, 0, 0, (uint32_t)i, 0);
    if (i == whole) text[n++] = '.';
    text[n++] = i < zeros ? '0' : (char)('0' + r.v[0] % 10);
  }
  sprintf(text + n, "e%d", exponent);
}

static void long_numbers_are_rounded_as_strtod_rounds_them(void **state) {
  (void)state;
  enum { ROOM = 20000 };
  static char text[ROOM];
  for (uint32_t n = 0; n < 400; n++) {
    const kaon_philox r = kaon_random_bits(7, n, 0, 0, 0, 0);
    const int whole = (int)(r.v[0] % 4000), behind = 1 + (int)(r.v[1] % 4000);
    const int zeros = n % 3 == 0 ? (int)(r.v[2] % (uint32_t)(whole + behind)) : 0;
    const int exponent = zeros - whole + (int)(r.v[3] % 650) - 380;
    put_long(text, n, whole, behind, zeros, exponent);
    const double value = read_whole(text, 0);
    if (value != strtod(text, NULL))
      fail_msg("%.60s...e%d is read as %.17g", text, exponent, value);
  }
}

/* 1 + 2^-53 lies half way between two doubles: its digits, then zeros, then a 1 or nothing. */
static void a_digit_far_behind_decides_a_tie(void **state) {
  (void)state;
  enum { ROOM = 1 << 20 };
  static const char half_way[] = "1.00000000000000011102230246251565404236316680908203125";
  static const int lengths[] = {60, 799, 800, 801, 1100, 1101, 70000, ROOM - 2};
  char *text = malloc(ROOM);
  const int comma = comma_locale();
  setlocale(LC_ALL, "C");
  for (size_t k = 0; k < sizeof lengths / sizeof lengths[0]; k++) {
    memset(text, '0', ROOM);
    memcpy(text, half_way, strlen(half_way));
    text[lengths[k]] = '\0';
    for (int in_comma = 0; in_comma <= comma; in_comma++) {
      text[lengths[k] - 1] = '0';
      assert_true(read_whole(text, in_comma) == 1);
      text[lengths[k] - 1] = '1';
      assert_true(read_whole(text, in_comma) == 1 + 0x1p-52);
    }
  }
  free(text);
}

/* Zeros that an exponent takes back. */
static void zeros_and_exponents_cancel(void **state) {
  (void)state;
  enum { ZEROS = 1000000 };
  char *text = malloc(ZEROS + 64);
  memset(text, '0', ZEROS + 2);
  text[1] = '.';
  strcpy(text + ZEROS + 2, "25D1000001");
  assert_true(read_whole(text, 0) == 2.5);
  strcpy(text + ZEROS + 2, "25q+1000301");
  assert_true(read_whole(text, 0) == 2.5e300);
  strcpy(text + ZEROS + 2, "e3");
  assert_true(read_whole(text, 0) == 0);
  text[0] = '7', text[1] = '0';
  strcpy(text + ZEROS + 2, "e-1000001");
  assert_true(read_whole(text, 0) == 7);
  const char *at = text;
  double value = 3;
  assert_int_equal(kaon_decimal_read(&at, text + ZEROS, &value), KAON_DECIMAL_INFINITE);
  assert_true(value == 3);
  free(text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(decimals_are_rounded_as_strtod_rounds_them),
      cmocka_unit_test(long_numbers_are_rounded_as_strtod_rounds_them),
      cmocka_unit_test(a_digit_far_behind_decides_a_tie),
      cmocka_unit_test(zeros_and_exponents_cancel),
  };
  return test_main(tests, NULL, NULL);
}
