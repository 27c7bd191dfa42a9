/* decimal.h - decimal numbers in text, correctly rounded, fast, and the same in every locale. */
#ifndef KAON_LIB_IO_DECIMAL_H
#define KAON_LIB_IO_DECIMAL_H

#include <stddef.h>
#include <stdint.h>

#include "lib/core/error.h"

/* What stands at the beginning of a text. */
typedef enum kaon_decimal {
  KAON_DECIMAL_WHOLE,    /* a number: an optional sign and digits */
  KAON_DECIMAL_FRACTION, /* a number with a point or an exponent (e, E, d, D, q, Q) */
  KAON_DECIMAL_INFINITE, /* too large for a double, or the word inf or nan */
  KAON_DECIMAL_NONE      /* no number */
} kaon_decimal;

/* Reads the number at *at, not beyond `end`: the double nearest to it (ties to even). *at is set
 * behind it (left alone on NONE), *value on WHOLE and FRACTION. What follows is the caller's
 * matter. Of any length up to 2^30 characters. */
kaon_decimal kaon_decimal_read(const char **at, const char *end, double *value);

/* Digits at *at as a whole number without a sign: 1 and *at behind them; 0: there is no digit;
 * -1: beyond `limit`, *at behind the digits. limit <= INT64_MAX / 10 - 9. */
static inline int kaon_decimal_count(const char **at, const char *end, int64_t limit,
                                     int64_t *value) {
  const char *p = *at;
  int64_t n = 0;
  int beyond = 0;
  while (p < end && (unsigned char)(*p - '0') < 10) {
    n = n * 10 + (*p++ - '0');
    if (n > limit) beyond = 1, n = 0;
  }
  if (p == *at) return 0;
  *at = p;
  *value = n;
  return beyond ? -1 : 1;
}

/* Writes the shortest of 15 to 17 digits that reads back as `value` (finite), without '\0'.
 * Returns its length, at most KAON_DECIMAL_CAPACITY. */
enum { KAON_DECIMAL_CAPACITY = 40 };
int kaon_decimal_write(double value, char to[KAON_DECIMAL_CAPACITY]);
/* The same of a whole number of 0 and more. */
int kaon_decimal_write_count(int64_t value, char to[KAON_DECIMAL_CAPACITY]);

/* strtod and snprintf as they are in the C locale, whatever the program's is. */
double kaon_decimal_strtod(const char *text, char **end);
int kaon_decimal_printf(char *to, size_t room, const char *format, ...) KAON_PRINTF(3, 4);

#endif
