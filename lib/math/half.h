/* half.h - the one text of 16-bit fixed point: a site of a column is integers -32767 .. 32767 and
 * one float scale, value = integer * (scale * KAON_HALF_STEP).
 *   scale     the largest |component| of the site
 *   integer   component * (32767 / scale), rounded to nearest
 * Error of a component: at most (0.5 + 0.01) scale / 32767. The 0.01: five float roundings of
 * numbers up to 32767, each 2^-9 at most: the factor and the product with it on the way in, the
 * step, the step times the scale and the product with that on the way out. A GPU's hop rounds
 * product and integer in one (lib/cuda/reduction/quantise.h): one rounding fewer, so the bound holds there,
 * but a component next to the middle of two integers may become the other one. A GPU's staggered
 * hops read integers with an offset (lib/cuda/memory/packed.h), whose rounding is 0.006 of a unit more,
 * the same for a site's components and for those that are zero: 0.5 + 0.014 in all (1 / 32767 as a
 * float is off by 2^-30 alone). So they read -x as minus what they read x as within 0.012 of a unit
 * only, but a site that is zero as zero. Their sums, of integers times integers, are finite for
 * scales up to 1e29. A site that is zero, or below
 * KAON_HALF_TINY where 32767 / scale overflows, becomes zero within KAON_HALF_TINY. A site with a
 * NaN or an infinity gets a scale that is not finite (the search for the largest must not lose it),
 * and all its values read back as NaN. Common subset of C and CUDA C. */
#ifndef KAON_LIB_MATH_HALF_H
#define KAON_LIB_MATH_HALF_H

#include "lib/vector/layout.h"

/* Components that a kernel can hold of one site: more is refused when a vector is created. */
enum { KAON_HALF_COMPONENTS = 128 };

#define KAON_HALF_MAX 32767.0f
#define KAON_HALF_STEP (1.0f / 32767.0f)
#define KAON_HALF_TINY 1e-34f
/* 1.5 * 2^23, a float whose last place is 1: with a number below 2^22 added, its lowest bits are
 * the nearest integer. */
#define KAON_HALF_BIAS 12582912.0f

/* What components are multiplied with before rounding. */
static inline KAON_HD float kaon_half_factor(float scale) {
  return KAON_HALF_MAX / (scale > KAON_HALF_TINY ? scale : KAON_HALF_TINY);
}

/* What integers are multiplied with to give values. */
static inline KAON_HD float kaon_half_unit(float scale) {
  return scale * KAON_HALF_STEP;
}

#endif
