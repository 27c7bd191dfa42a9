/* max_error.h - the larger of two errors. Unlike fmax it returns a NaN, the error that matters most.
 */
#ifndef TESTS_UTIL_MAX_ERROR_H
#define TESTS_UTIL_MAX_ERROR_H

#include <math.h>

/* The larger one; NaN if one is. */
static inline double larger(double a, double b) {
  return a >= b ? a : b >= a ? b : NAN;
}

#endif
