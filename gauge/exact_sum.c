/* exact_sum.c - see exact_sum.h. */
#include "gauge/exact_sum.h"

#include <math.h>

kaon_exact_scale kaon_exact_scale_of(int64_t sites) {
  enum { VALUE = 4, DOUBLE = 53 };
  int w = 4; /* for the smallest lattice */
  while (w < 62 && (int64_t)1 << w < sites) w++;
  const int coarse = DOUBLE - VALUE - w, fine = DOUBLE + 1 + coarse - w;
  return (kaon_exact_scale){ldexp(1.5, DOUBLE - 1 - coarse), ldexp(1.5, DOUBLE - 1 - fine)};
}
