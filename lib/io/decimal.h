/* decimal.h - decimal numbers in text, correctly rounded, fast, and the same in every locale. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/core/error.h"

/* What a text begins with. */
typedef enum kaon_decimal {
  KAON_DECIMAL_WHOLE,    /* an integer: an optional sign and digits */
  KAON_DECIMAL_FRACTION, /* a number with a point or an exponent (e, E, d, D, q, Q) */
  KAON_DECIMAL_INFINITE, /* too large for a double, or the word inf or nan */
  KAON_DECIMAL_NONE      /* no number */
} kaon_decimal;

/* Reads the number at *at, not beyond `end`: the nearest double (ties to even). Moves *at behind it
 * (not on NONE) and sets *value on WHOLE and FRACTION. The caller checks what follows. The text may
 * have up to 2^30 characters. */
kaon_decimal kaon_decimal_read(const char **at, const char *end, double *value);

/* Reads digits at *at as an unsigned integer. Returns 1 with *at behind them, 0 if there is no
 * digit, or -1 beyond `limit`, with *at behind the digits. limit <= INT64_MAX / 10 - 9. */
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

/* Writes the shortest form of 15 to 17 digits that reads back as `value` (finite), without '\0'.
 * Returns its length, at most KAON_DECIMAL_CAPACITY. */
enum { KAON_DECIMAL_CAPACITY = 40 };
int kaon_decimal_write(double value, char to[KAON_DECIMAL_CAPACITY]);
/* The same for an integer >= 0. */
int kaon_decimal_write_count(int64_t value, char to[KAON_DECIMAL_CAPACITY]);

/* strtod and snprintf as in the C locale, in any locale of the program. */
double kaon_decimal_strtod(const char *text, char **end);
int kaon_decimal_printf(char *to, size_t room, const char *format, ...) KAON_PRINTF(3, 4);
