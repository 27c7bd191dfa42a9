/* stored_value.h - stores values of rows in double, single, or 16 bits with a scale for each
 * row. */
#pragma once

#include <math.h>

#include "lib/math/half.h"
#include "sparse/storage/matrix.h"

/* The scale of row i: its largest |component|. */
static inline float kaon_row_scale(const kaon_csr *rows, int64_t i) {
  float largest = 0;
  for (int64_t n = rows->start[i] * rows->reals; n < rows->start[i + 1] * rows->reals; n++)
    if (fabsf((float)rows->value[n]) > largest) largest = fabsf((float)rows->value[n]);
  return largest;
}

/* Stores a component at index `at`. factor: kaon_half_factor of the row's scale, for HALF. */
static inline void kaon_store_value(void *values, kaon_precision stored, int64_t at, double value,
                                    float factor) {
  if (stored == KAON_HALF)
    ((int16_t *)values)[at] = (int16_t)lrintf((float)value * factor);
  else if (stored == KAON_DOUBLE)
    ((double *)values)[at] = value;
  else
    ((float *)values)[at] = (float)value;
}
