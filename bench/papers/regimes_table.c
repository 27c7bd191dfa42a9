/* regimes_table.c - variations against a baseline. Contract: regimes_table.h. */
#include "bench/papers/regimes_table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { AGREEING = 1 }; /* equal runs may differ by this many steps */

int regime_same_group(const regime_row *a, const regime_row *b) {
  return strcmp(a->precision, b->precision) == 0 && strcmp(a->method, b->method) == 0 &&
         strcmp(a->precond, b->precond) == 0;
}

int regime_same_case(const regime_row *a, const regime_row *b) {
  return regime_same_group(a, b) && strcmp(a->matrix, b->matrix) == 0;
}

const regime_row *regime_baseline(const regime_row *rows, int count, const regime_row *row,
                                  const char *regime, const char *sync) {
  for (int i = 0; i < count; i++)
    if (regime_same_case(&rows[i], row) && strcmp(rows[i].regime, regime) == 0 &&
        strcmp(rows[i].sync, sync) == 0)
      return &rows[i];
  return NULL;
}

/* Energies of different counters are not comparable. */
regime_change regime_compare(const regime_row *row, const regime_row *baseline) {
  if (!baseline) return (regime_change){NAN, NAN, 0};
  const int alike = row->of_device_alone == baseline->of_device_alone;
  return (regime_change){.time = 100 * (row->seconds / baseline->seconds - 1),
                         .energy = alike ? 100 * (row->joules / baseline->joules - 1) : NAN,
                         .disagrees = abs(row->iterations - baseline->iterations) > AGREEING};
}

void regime_range_add(regime_range *range, double x) {
  if (isnan(x)) return;
  if (range->count == 0) range->mean = 0;
  if (range->count == 0 || fabs(x) < fabs(range->least)) range->least = x;
  if (range->count == 0 || fabs(x) > fabs(range->largest)) range->largest = x;
  range->mean += (x - range->mean) / ++range->count;
}
