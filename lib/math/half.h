/* half.h - the definition of 16-bit fixed point storage. A site of a column has integers -32767 ..
 * 32767 and one float scale; value = integer * (scale * KAON_HALF_STEP). Common subset of C and
 * CUDA C.
 *   scale     the largest |component| of the site
 *   integer   component * (32767 / scale), rounded to nearest
 *
 * Error of a component: at most (0.5 + 0.01) scale / 32767. The 0.01 covers five float roundings of
 * values up to 32767, each 2^-9 at most. Two occur when storing: the factor and the product with
 * it. Three occur when loading: the step, the step times the scale, and the product with that.
 *
 * Exceptions on a GPU:
 * - Lattice hops round product and integer in one operation (lib/cuda/reduction/quantise.h). That
 *   is one rounding fewer, so the bound holds, but a component close to the middle of two integers
 *   may become the other one.
 * - Staggered hops read integers with an offset (lib/cuda/memory/packed.h). The offset's rounding
 *   adds 0.006 of a unit, the same for all components of a site, zeros included; the error is 0.5 +
 *   0.014 in all. (1 / 32767 as a float is off by 2^-30 only.) So -x is read as minus x only within
 *   0.012 of a unit; a zero site is read as zero. Sums of integers times integers are finite for
 *   scales up to 1e29.
 *
 * Special sites:
 * - A site that is zero, or below KAON_HALF_TINY where 32767 / scale overflows, becomes zero within
 *   KAON_HALF_TINY.
 * - A site with a NaN or an infinity gets a scale that is not finite, and all its values read back
 *   as NaN. So the search for the largest component must propagate NaN. */
#pragma once

#include "lib/vector/layout.h"

/* Largest number of components a site may have: kernels hold all of them. Creating a vector with
 * more fails. */
enum { KAON_HALF_COMPONENTS = 128 };

#define KAON_HALF_MAX 32767.0f
#define KAON_HALF_STEP (1.0f / 32767.0f)
#define KAON_HALF_TINY 1e-34f
/* 1.5 * 2^23, a float whose last bit has the value 1. After adding a number below 2^22, the lowest
 * bits are the nearest integer. */
#define KAON_HALF_BIAS 12582912.0f

/* The factor from components to integers, before rounding. */
static inline KAON_HD float kaon_half_factor(float scale) {
  return KAON_HALF_MAX / (scale > KAON_HALF_TINY ? scale : KAON_HALF_TINY);
}

/* The factor from integers to values. */
static inline KAON_HD float kaon_half_unit(float scale) {
  return scale * KAON_HALF_STEP;
}
