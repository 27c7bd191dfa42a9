/* generate_number.c - Trefethen's primes and random bands. Formulas: docs/conventions.md,
 * "Generated matrices". */
#include <math.h>
#include <stdlib.h>

#include "lib/math/philox.h"
#include "sparse/generate/generate_matrix.h"

/* ---- primes on the diagonal, 1 where |i - j| is a power of 2 (Trefethen, SIAM News 35 (2002),
 * the hundred-dollar challenge) ---- */

static int row_trefethen(const kaon_generator *g, int64_t i, int32_t *column, double *value,
                         double *rhs) {
  const int32_t *primes = g->table;
  int64_t power = 1;
  int count = 0;
  (void)rhs;
  while (power <= i) power *= 2;
  for (power /= 2; power >= 1; power /= 2, count++) {
    column[count] = (int32_t)(i - power);
    value[count] = 1;
  }
  column[count] = (int32_t)i;
  value[count++] = primes[i];
  for (power = 1; i + power < g->rows; power *= 2, count++) {
    column[count] = (int32_t)(i + power);
    value[count] = 1;
  }
  return count;
}

/* The first n primes, by a sieve of the odd numbers. The n-th prime is below n (ln n + ln ln n) for
 * n > 5 (Rosser 1962). */
static int sieve(int64_t n, int32_t *primes) {
  const double m = n < 6 ? 6 : (double)n;
  const int64_t limit = (int64_t)(m * (log(m) + log(log(m)))) + 2;
  unsigned char *composite = calloc((size_t)limit / 2 + 1, 1); /* [k]: for 2 k + 1 */
  int64_t found = 0;
  if (composite == NULL) return 0;
  primes[found++] = 2;
  for (int64_t p = 3; found < n && p <= limit; p += 2) {
    if (composite[p / 2]) continue;
    primes[found++] = (int32_t)p;
    if (p <= limit / p)
      for (int64_t q = p * p; q <= limit; q += 2 * p) composite[q / 2] = 1;
  }
  free(composite);
  return found == n;
}

kaon_status kaon_generate_trefethen(const kaon_context *ctx, const double *numbers, int count,
                                    kaon_generator *g) {
  (void)count;
  g->rows = (int64_t)numbers[0];
  g->entries = g->rows;
  for (int64_t power = 1; power < g->rows; power *= 2) g->entries += 2 * (g->rows - power);
  g->longest = 64;
  g->row = row_trefethen;
  g->table = malloc((size_t)g->rows * sizeof(int32_t));
  if (g->table == NULL || !sieve(g->rows, g->table))
    return kaon_fail(ctx, KAON_ERR_MEMORY, "matrix 'trefethen': out of host memory for %lld primes",
                     (long long)g->rows);
  return KAON_OK;
}

/* ---- uniform on [-1, 1] where |i - j| <= band, and in the right-hand side ---- */

static double uniform(const kaon_generator *g, int64_t i, int which, uint32_t major) {
  const kaon_philox bits = kaon_random_bits(g->seed, i, KAON_STREAM_BANDED, which, major, 0);
  return 2 * kaon_uniform(bits.v[0], bits.v[1]) - 1;
}

static int row_banded(const kaon_generator *g, int64_t i, int32_t *column, double *value,
                      double *rhs) {
  int64_t j = i > g->band ? i - g->band : 0;
  int count = 0;
  for (; j <= i + g->band && j < g->rows; j++, count++) {
    column[count] = (int32_t)j;
    value[count] = uniform(g, i, 0, (uint32_t)j);
  }
  *rhs = uniform(g, i, 1, 0);
  return count;
}

kaon_status kaon_generate_banded(const kaon_context *ctx, const double *numbers, int count,
                                 kaon_generator *g) {
  (void)ctx;
  g->rows = (int64_t)numbers[0];
  g->band = (int64_t)numbers[1];
  g->entries = g->rows * g->rows;
  if (g->band < g->rows) g->entries = g->rows + g->band * (2 * g->rows - g->band - 1);
  g->seed = count > 2 ? (uint64_t)numbers[2] : 1;
  g->longest = 2 * (int)g->band + 1;
  g->has_rhs = 1;
  g->row = row_banded;
  return KAON_OK;
}
