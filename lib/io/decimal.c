/* decimal.c - decimal numbers in text. Contract: decimal.h.
 * A number is m * 10^e with an integer m. For m < 2^64 and |e| <= 27, 5^|e| is below 2^63. So the
 * product is exact in 128 bits, and the quotient has 62 bits and an exact remainder: one rounding
 * gives the nearest double. All other numbers (rare in files) go to strtod in the C locale. */
#include "lib/io/decimal.h"

#include <fenv.h>
#include <locale.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EXACT_POWER = 27, MOST_DIGITS = 19, DECIDING_DIGITS = 800, EXPONENT_LIMIT = 100000000 };

__extension__ typedef unsigned __int128 wide;

static const uint64_t power_of_5[EXACT_POWER + 1] = {1u,
                                                     5u,
                                                     25u,
                                                     125u,
                                                     625u,
                                                     3125u,
                                                     15625u,
                                                     78125u,
                                                     390625u,
                                                     1953125u,
                                                     9765625u,
                                                     48828125u,
                                                     244140625u,
                                                     1220703125u,
                                                     6103515625u,
                                                     30517578125u,
                                                     152587890625u,
                                                     762939453125u,
                                                     3814697265625u,
                                                     19073486328125u,
                                                     95367431640625u,
                                                     476837158203125u,
                                                     2384185791015625u,
                                                     11920928955078125u,
                                                     59604644775390625u,
                                                     298023223876953125u,
                                                     1490116119384765625u,
                                                     7450580596923828125u};

/* Rounds (bits + sticky) * 2^exponent to the nearest double, ties to even. The result must be a
 * normal number. */
static double rounded(uint64_t bits, int sticky, int exponent) {
  const int excess = 11 - __builtin_clzll(bits); /* bits beyond 53 */
  if (excess > 0) {
    const uint64_t half = UINT64_C(1) << (excess - 1);
    const uint64_t rest = bits & (2 * half - 1);
    bits >>= excess;
    if (rest > half || (rest == half && (sticky || (bits & 1)))) bits++;
    exponent += excess;
  }
  return ldexp((double)bits, exponent);
}

static double product(uint64_t m, int e) {
  const wide p = (wide)m * power_of_5[e];
  const uint64_t high = (uint64_t)(p >> 64), low = (uint64_t)p;
  if (high == 0) return rounded(low, 0, e);
  const int shift = 64 - __builtin_clzll(high);
  const uint64_t top = (uint64_t)(p >> shift);
  return rounded(top, (p & (((wide)1 << shift) - 1)) != 0, e + shift);
}

static double quotient(uint64_t m, int e) {
  const int m_shift = __builtin_clzll(m), d_shift = __builtin_clzll(power_of_5[e]);
  const uint64_t d = power_of_5[e] << d_shift;
  const wide n = (wide)(m << m_shift) << 63;
  return rounded((uint64_t)(n / d), n % d != 0, d_shift - m_shift - 63 - e);
}

/* Computes m * 10^e if that can be done exactly; else returns 0, and the caller uses strtod. */
static int nearest(uint64_t m, int e, double *value) {
  if (m == 0)
    *value = 0.0;
  else if (m < UINT64_C(1) << 53 && e >= -22 && e <= 22) {
    /* Both are doubles, so the one operation rounds correctly (Clinger 1990). */
    static const double power_of_10[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                         1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                         1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    *value = e < 0 ? (double)m / power_of_10[-e] : (double)m * power_of_10[e];
  } else if (e >= 0 && e <= EXACT_POWER)
    *value = product(m, e);
  else if (e < 0 && e >= -EXACT_POWER)
    *value = quotient(m, -e);
  else
    return 0;
  return 1;
}

/* Sets this thread's locale to C from enter to leave. The fields are 0 if memory is missing. */
typedef struct c_locale {
  locale_t c, before;
} c_locale;

static c_locale enter_c_locale(void) {
  c_locale l = {newlocale(LC_ALL_MASK, "C", (locale_t)0), (locale_t)0};
  if (l.c != (locale_t)0) l.before = uselocale(l.c);
  return l;
}

static void leave_c_locale(c_locale l) {
  if (l.c == (locale_t)0) return;
  uselocale(l.before);
  freelocale(l.c);
}

double kaon_decimal_strtod(const char *text, char **end) {
  const c_locale l = enter_c_locale();
  fenv_t traps; /* the caller refuses numbers that are too large */
  feholdexcept(&traps);
  const double value = strtod(text, end);
  fesetenv(&traps);
  leave_c_locale(l);
  return value;
}

int kaon_decimal_printf(char *to, size_t room, const char *format, ...) {
  va_list arguments;
  const c_locale l = enter_c_locale();
  va_start(arguments, format);
  const int n = vsnprintf(to, room, format, arguments);
  va_end(arguments);
  leave_c_locale(l);
  return n;
}

/* Reads [p, end) * 10^e, digits without an exponent. A midpoint between two doubles has at most 767
 * digits, so beyond 800 digits only a digit other than 0 matters. */
static double by_strtod(const char *p, const char *end, int e) {
  char text[DECIDING_DIGITS + 32];
  int n = 0, digits = 0, behind = 0, rest = 0;
  if (*p == '-') text[n++] = '-';
  for (; p < end; p++) {
    if (*p == '.') behind = 1;
    if ((unsigned char)(*p - '0') >= 10) continue;
    if (digits == DECIDING_DIGITS) {
      rest |= *p != '0';
      e += !behind;
      continue;
    }
    e -= behind;
    if (digits > 0 || *p != '0') digits++, text[n++] = *p;
  }
  if (rest) text[n++] = '1', e--;
  snprintf(text + n, sizeof text - (size_t)n, "e%d", e);
  return kaon_decimal_strtod(text, NULL);
}

static int begins_with(const char *at, const char *end, const char *word) {
  for (; *word != '\0'; word++, at++)
    if (at >= end || (*at | 0x20) != *word) return 0;
  return 1;
}

/* Reads "nan", "inf", "infinity" after a sign. */
static kaon_decimal word(const char **at, const char *p, const char *end) {
  static const char *const words[] = {"infinity", "inf", "nan"};
  for (int i = 0; i < 3; i++)
    if (begins_with(p, end, words[i])) {
      *at = p + strlen(words[i]);
      return KAON_DECIMAL_INFINITE;
    }
  return KAON_DECIMAL_NONE;
}

/* Digits read so far: m, and the power of 10 to multiply it by. */
typedef struct met_digits {
  uint64_t m;
  int count, significant; /* all digits, and those from the first that is not 0 */
  int behind;             /* digits of m behind the point */
} met_digits;

static const char *take_digits(const char *p, const char *end, int behind, met_digits *d) {
  for (; p < end && (unsigned char)(*p - '0') < 10; p++) {
    if (d->significant < MOST_DIGITS) {
      d->m = d->m * 10 + (uint64_t)(*p - '0');
      d->behind += behind;
    }
    if (d->m != 0) d->significant++;
    d->count++;
  }
  return p;
}

/* Reads a complete exponent at p into *e and returns the position behind it, else p. */
static const char *take_exponent(const char *p, const char *end, int *e) {
  if (p >= end) return p;
  const char letter = (char)(*p | 0x20);
  if (letter != 'e' && letter != 'd' && letter != 'q') return p;
  const char *q = p + 1;
  const int negative = q < end && *q == '-';
  if (q < end && (*q == '+' || *q == '-')) q++;
  const char *first = q;
  int n = 0;
  for (; q < end && (unsigned char)(*q - '0') < 10; q++)
    if (n < EXPONENT_LIMIT) n = n * 10 + (*q - '0');
  if (q == first) return p;
  *e = negative ? -n : n;
  return q;
}

kaon_decimal kaon_decimal_read(const char **at, const char *end, double *value) {
  const char *const begin = *at;
  const char *p = begin;
  const int negative = p < end && *p == '-';
  if (p < end && (*p == '+' || *p == '-')) p++;
  met_digits d = {0, 0, 0, 0};
  int e = 0;
  const char *const after_whole = take_digits(p, end, 0, &d);
  const char *q = after_whole;
  if (q < end && *q == '.') q = take_digits(q + 1, end, 1, &d);
  if (d.count == 0) return word(at, p, end);
  const char *const after_digits = q;
  q = take_exponent(q, end, &e);
  *at = q;
  double found;
  if (d.significant > MOST_DIGITS || !nearest(d.m, e - d.behind, &found)) {
    found = by_strtod(begin, after_digits, e);
    if (!isfinite(found)) return KAON_DECIMAL_INFINITE;
    *value = found;
  } else {
    *value = negative ? -found : found;
  }
  return q == after_whole ? KAON_DECIMAL_WHOLE : KAON_DECIMAL_FRACTION;
}

int kaon_decimal_write_count(int64_t value, char to[KAON_DECIMAL_CAPACITY]) {
  char reversed[KAON_DECIMAL_CAPACITY];
  int n = 0;
  do {
    reversed[n++] = (char)('0' + value % 10);
    value /= 10;
  } while (value > 0);
  for (int i = 0; i < n; i++) to[i] = reversed[n - 1 - i];
  return n;
}

/* Formats as %.*g in any locale. */
static int printed(double value, int precision, char to[KAON_DECIMAL_CAPACITY]) {
  char text[2 * KAON_DECIMAL_CAPACITY];
  const int n = snprintf(text, sizeof text, "%.*g", precision, value);
  int length = 0, point = 0;
  for (int i = 0; i < n && length < KAON_DECIMAL_CAPACITY; i++) {
    const char c = text[i];
    if ((c >= '0' && c <= '9') || c == '-' || c == '+' || c == 'e')
      to[length++] = c;
    else if (!point) /* a decimal point of several bytes becomes one */
      to[length++] = '.', point = 1;
  }
  return length;
}

/* Computes the 17 rounded digits of a = *digits * 10^(*exponent - 16). Needs a in [1e-5, 1e15), so
 * that m and m 5^k of a = m 2^e fit 128 bits. */
static void seventeen(double a, uint64_t *digits, int *exponent) {
  int e;
  const uint64_t m = (uint64_t)ldexp(frexp(a, &e), 53);
  *exponent = (int)floor(log10(a));
  for (;;) { /* near a power of 10 the logarithm may be off by one */
    const int k = 16 - *exponent, shift = 53 - e - k;
    const wide p = (wide)m * power_of_5[k];
    wide q = shift <= 0 ? p << -shift : p >> shift;
    if (shift > 0) {
      const wide rest = p & (((wide)1 << shift) - 1), half = (wide)1 << (shift - 1);
      if (rest > half || (rest == half && (q & 1))) q++;
    }
    if (q >= UINT64_C(100000000000000000))
      ++*exponent;
    else if (q < UINT64_C(10000000000000000))
      --*exponent;
    else {
      *digits = (uint64_t)q;
      return;
    }
  }
}

/* Writes digits * 10^(exponent - count + 1) with `count` digits, without trailing zeros, in plain
 * form: 0.00012, 12, 1200, 1.2. */
static int plain(uint64_t digits, int count, int exponent, char to[KAON_DECIMAL_CAPACITY]) {
  char text[KAON_DECIMAL_CAPACITY];
  int n = 0;
  for (; count > 1 && digits % 10 == 0; count--) digits /= 10;
  kaon_decimal_write_count((int64_t)digits, text);
  if (exponent < 0) {
    to[n++] = '0';
    to[n++] = '.';
    for (int z = exponent + 1; z < 0; z++) to[n++] = '0';
  }
  for (int i = 0; i < count; i++) {
    to[n++] = text[i];
    if (i == exponent && i + 1 < count) to[n++] = '.';
  }
  for (int z = count; z <= exponent; z++) to[n++] = '0';
  return n;
}

/* Writes a number that is not an integer, in the range of `seventeen`. */
static int write_fraction(double a, char to[KAON_DECIMAL_CAPACITY]) {
  uint64_t all;
  int exponent;
  seventeen(a, &all, &exponent);
  for (int count = 15; count < 17; count++) {
    const uint64_t cut = count == 15 ? 100 : 10, digits = (all + cut / 2) / cut;
    double back;
    if (nearest(digits, exponent - count + 1, &back) && back == a) {
      const int carried =
          digits >= (count == 15 ? UINT64_C(1000000000000000) : UINT64_C(10000000000000000));
      return plain(carried ? digits / 10 : digits, count, exponent + carried, to);
    }
  }
  return plain(all, 17, exponent, to);
}

int kaon_decimal_write(double value, char to[KAON_DECIMAL_CAPACITY]) {
  if (fabs(value) < 1e15 && value == floor(value) && !(value == 0 && signbit(value))) {
    const int sign = value < 0;
    if (sign) to[0] = '-';
    char count[KAON_DECIMAL_CAPACITY];
    const int n = kaon_decimal_write_count((int64_t)fabs(value), count);
    memcpy(to + sign, count, (size_t)n);
    return n + sign;
  }
  if (fabs(value) >= 1e-5 && fabs(value) < 1e15) {
    to[0] = '-';
    return (value < 0) + write_fraction(fabs(value), to + (value < 0));
  }
  int n = 0;
  for (int precision = 15; precision <= 17; precision++) {
    const char *at = to;
    double back = NAN;
    n = printed(value, precision, to);
    kaon_decimal_read(&at, to + n, &back);
    if (back == value) break;
  }
  return n;
}
