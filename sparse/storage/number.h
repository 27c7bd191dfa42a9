/* number.h - arithmetic on values of host rows, real or complex, for algorithms written once for
 * both. `reals` (1 or 2) is a constant where the functions are called, so a real matrix needs no
 * complex products. */
#pragma once

#include <math.h>
#include <stdint.h>

typedef struct kaon_number {
  double re, im; /* im = 0 if reals = 1 */
} kaon_number;

static inline kaon_number kaon_number_at(const double *value, int64_t n, int reals) {
  return reals == 1 ? (kaon_number){value[n], 0} : (kaon_number){value[2 * n], value[2 * n + 1]};
}

static inline void kaon_number_put(double *value, int64_t n, int reals, kaon_number a) {
  value[n * reals] = a.re;
  if (reals == 2) value[2 * n + 1] = a.im;
}

static inline kaon_number kaon_number_conjugate(kaon_number a, int reals) {
  return reals == 1 ? a : (kaon_number){a.re, -a.im};
}

static inline kaon_number kaon_number_times(kaon_number a, kaon_number b, int reals) {
  if (reals == 1) return (kaon_number){a.re * b.re, 0};
  return (kaon_number){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

/* a - b c */
static inline kaon_number kaon_number_less(kaon_number a, kaon_number b, kaon_number c, int reals) {
  const kaon_number p = kaon_number_times(b, c, reals);
  return reals == 1 ? (kaon_number){a.re - p.re, 0} : (kaon_number){a.re - p.re, a.im - p.im};
}

/* a + b c */
static inline kaon_number kaon_number_plus(kaon_number a, kaon_number b, kaon_number c, int reals) {
  const kaon_number p = kaon_number_times(b, c, reals);
  return reals == 1 ? (kaon_number){a.re + p.re, 0} : (kaon_number){a.re + p.re, a.im + p.im};
}

static inline double kaon_number_size(kaon_number a, int reals) {
  return reals == 1 ? fabs(a.re) : hypot(a.re, a.im);
}

/* 1 / a, a not 0. */
static inline kaon_number kaon_number_inverse(kaon_number a, int reals) {
  if (reals == 1) return (kaon_number){1 / a.re, 0};
  const double size = a.re * a.re + a.im * a.im;
  return (kaon_number){a.re / size, -a.im / size};
}
