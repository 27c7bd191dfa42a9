/* packed.h - a half-precision complex number on a GPU: two 16-bit integers in one word, re in the
 * lower half. Included only by lib/math/vreal.h.
 * The two-way dot product instruction selects one of them, with either sign, extends it and adds it
 * to a 32-bit integer. That integer starts as the bits of KAON_HALF_BIAS. The bits of the sum are
 * then the float bias + n, |n| < 2^22, and one subtraction yields n.
 *
 * Values that are multiplied by a factor in any case need no subtraction. The weight -128 on the
 * bits of PACKED_OFFSET = 1.5 * 2^16, whose last bit is worth 2^-7, gives the float PACKED_OFFSET -
 * n for any 16 bits. Then n f is one fused multiply-add with -f and PACKED_OFFSET f. The rounding
 * of PACKED_OFFSET f is the same for all values of a factor. It makes n f wrong by at most another
 * 2^-24 PACKED_OFFSET f < 0.006 f, while half itself rounded n by 0.5 (lib/math/half.h). */
#pragma once

#include <string.h>

#include "lib/math/half.h"

typedef int32_t craw;

/* Selects the integer for the dot product: one byte for each, 1 or -1. */
enum { PACKED_RE = 0x0001, PACKED_IM = 0x0100, PACKED_MINUS_RE = 0x00ff, PACKED_MINUS_IM = 0xff00 };
enum { PACKED_BIAS_BITS = 0x4b400000 }; /* the bits of KAON_HALF_BIAS */

KAON_MATH craw c_load_raw(const stored *p) {
  craw z;
  memcpy(&z, p, sizeof z);
  return z;
}

KAON_MATH vreal packed_pick(craw a, const int which) {
  return __int_as_float(__dp2a_lo(a, which, (int)PACKED_BIAS_BITS)) - KAON_HALF_BIAS;
}

KAON_MATH vreal packed_add(craw a, const int which_a, craw b, const int which_b) {
  const int sum = __dp2a_lo(a, which_a, __dp2a_lo(b, which_b, (int)PACKED_BIAS_BITS));
  return __int_as_float(sum) - KAON_HALF_BIAS;
}

KAON_MATH vcomplex c_from_raw(craw a) {
  return c_make(packed_pick(a, PACKED_RE), packed_pick(a, PACKED_IM));
}

enum { PACKED_SCALED_RE = 0x0080, PACKED_SCALED_IM = 0x8000 }; /* weight -128 */
#define PACKED_OFFSET 98304.0f
enum { PACKED_OFFSET_BITS = 0x47c00000 };

/* n f, with offset = PACKED_OFFSET f. */
KAON_MATH vreal packed_scaled(craw a, const int which, vreal f, vreal offset) {
  const vreal x = __int_as_float(__dp2a_lo(a, which, (int)PACKED_OFFSET_BITS));
  return fmaf(x, -f, offset);
}

KAON_MATH vcomplex c_from_raw_scaled(craw a, vreal f, vreal offset) {
  return c_make(packed_scaled(a, PACKED_SCALED_RE, f, offset),
                packed_scaled(a, PACKED_SCALED_IM, f, offset));
}

/* The values at p by conversion instructions. A multiprocessor runs few of them at a time, but in
 * parallel with its other work. */
KAON_MATH vcomplex c_load_beside(const stored *p) {
  return c_make((float)p[0], (float)p[1]);
}

KAON_MATH vcomplex raw_add_signed(craw a, craw b, const int s) {
  return s > 0 ? c_make(packed_add(a, PACKED_RE, b, PACKED_RE),
                        packed_add(a, PACKED_IM, b, PACKED_IM))
               : c_make(packed_add(a, PACKED_RE, b, PACKED_MINUS_RE),
                        packed_add(a, PACKED_IM, b, PACKED_MINUS_IM));
}

KAON_MATH vcomplex raw_add_i_signed(craw a, craw b, const int s) {
  return s > 0 ? c_make(packed_add(a, PACKED_RE, b, PACKED_MINUS_IM),
                        packed_add(a, PACKED_IM, b, PACKED_RE))
               : c_make(packed_add(a, PACKED_RE, b, PACKED_IM),
                        packed_add(a, PACKED_IM, b, PACKED_MINUS_RE));
}
