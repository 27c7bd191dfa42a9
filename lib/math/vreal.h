/* vreal.h - the number that all physics text in lib/math is written over: on a GPU a plain `real`
 * (a thread a site), on a CPU a vector of KAON_VL sites. The includer has defined `real` (float or
 * double), `stored` (its memory form: the same, or int16_t) and, on the CPU, lib/core/kernel.h's macros.
 * Pointers handed to loads and stores point at the first of the KAON_VL lanes (a GPU: at the
 * thread's own lane). */
#ifndef KAON_LIB_MATH_VREAL_H
#define KAON_LIB_MATH_VREAL_H

#ifdef __CUDACC__
#include "lib/cuda/simt.h"
#else
#include "lib/cpu/simd.h"
#define KAON_MATH KAON_INLINE
/* 1 / a and 1 / (a sqrt(b)) of positive numbers that are neither tiny nor huge: a GPU does without
 * the care for those. */
KAON_MATH vreal v_inverse(vreal a) {
  return v_set(1) / a;
}
KAON_MATH vreal v_inverse_root(vreal a, vreal b) {
  return v_set(1) / (a * v_sqrt(b));
}
/* -a where the lowest bit of the stored number is 1, else a. */
KAON_MATH vreal v_flip_odd(const stored *p, vreal a) {
  return v_select_odd(p, -a, a);
}
#endif

/* A value as it stands in memory: half gives the integer -32767 .. 32767, unscaled, as an integer
 * (a `vraw`, where + and - are exact) and as a number. Elsewhere a vraw is a vreal. */
#if KAON_HALF
KAON_MATH vraw v_load_raw(const stored *p) {
  return v_load_int16(p);
}
KAON_MATH vreal v_from_raw(vraw a) {
  return v_from_int(a);
}
#else
typedef vreal vraw;
KAON_MATH vraw v_load_raw(const stored *p) {
  return v_load_real(p);
}
KAON_MATH vreal v_from_raw(vraw a) {
  return a;
}
#endif
KAON_MATH vreal v_load(const stored *p) {
  return v_from_raw(v_load_raw(p));
}

/* a + s b and a - s b with s = +1 or -1 known when compiled. */
KAON_MATH vreal v_add_signed(vreal a, vreal b, const int s) {
  return s > 0 ? a + b : a - b;
}

/* Complex numbers, one a lane. */
typedef struct vcomplex {
  vreal re, im;
} vcomplex;

KAON_MATH vcomplex c_make(vreal re, vreal im) {
  vcomplex z;
  z.re = re;
  z.im = im;
  return z;
}

KAON_MATH vcomplex c_add(vcomplex a, vcomplex b) {
  return c_make(a.re + b.re, a.im + b.im);
}

KAON_MATH vcomplex c_sub(vcomplex a, vcomplex b) {
  return c_make(a.re - b.re, a.im - b.im);
}

KAON_MATH vcomplex c_scale(vcomplex a, vreal s) {
  return c_make(a.re * s, a.im * s);
}

/* a (s + rest), a factor kept as its rounded value and what rounding took from it. Rounding a
 * factor of the whole operator, unlike rounding its fields, is the same error at every site: it
 * acts like another kappa, and a near-critical solve sees it. */
KAON_MATH vcomplex c_scale_split(vcomplex a, vreal s, vreal rest) {
  return c_make(v_scale_split(a.re, s, rest), v_scale_split(a.im, s, rest));
}

/* a + s b, a + s i b; s = +1 or -1. */
KAON_MATH vcomplex c_add_signed(vcomplex a, vcomplex b, const int s) {
  return c_make(v_add_signed(a.re, b.re, s), v_add_signed(a.im, b.im, s));
}

KAON_MATH vcomplex c_add_i_signed(vcomplex a, vcomplex b, const int s) {
  return c_make(v_add_signed(a.re, b.im, -s), v_add_signed(a.im, b.re, s));
}

/* a b, c + a b, conj(a) b, c + conj(a) b, c - a b, c - conj(a) b. */
KAON_MATH vcomplex c_mul(vcomplex a, vcomplex b) {
  return c_make(v_fnma(a.im, b.im, a.re * b.re), v_fma(a.im, b.re, a.re * b.im));
}

KAON_MATH vcomplex c_fma(vcomplex a, vcomplex b, vcomplex c) {
  return c_make(v_fnma(a.im, b.im, v_fma(a.re, b.re, c.re)),
                v_fma(a.im, b.re, v_fma(a.re, b.im, c.im)));
}

KAON_MATH vcomplex c_conj_mul(vcomplex a, vcomplex b) {
  return c_make(v_fma(a.im, b.im, a.re * b.re), v_fnma(a.im, b.re, a.re * b.im));
}

KAON_MATH vcomplex c_conj_fma(vcomplex a, vcomplex b, vcomplex c) {
  return c_make(v_fma(a.im, b.im, v_fma(a.re, b.re, c.re)),
                v_fnma(a.im, b.re, v_fma(a.re, b.im, c.im)));
}

KAON_MATH vcomplex c_fnma(vcomplex a, vcomplex b, vcomplex c) {
  return c_make(v_fma(a.im, b.im, v_fnma(a.re, b.re, c.re)),
                v_fnma(a.im, b.re, v_fnma(a.re, b.im, c.im)));
}

KAON_MATH vcomplex c_conj_fnma(vcomplex a, vcomplex b, vcomplex c) {
  return c_make(v_fnma(a.im, b.im, v_fnma(a.re, b.re, c.re)),
                v_fma(a.im, b.re, v_fnma(a.re, b.im, c.im)));
}

/* A complex number as it stands in memory: integers in half, whose sums and differences are exact,
 * so that a projection converts half as many. re and im stand KAON_W apart; on a GPU they are
 * neighbours, and in half one word. */
#if KAON_HALF && defined(__CUDACC__)
#include "lib/cuda/memory/packed.h"
#else
typedef struct craw {
  vraw re, im;
} craw;

KAON_MATH craw c_load_raw(const stored *p) {
  craw z;
  z.re = v_load_raw(p);
  z.im = v_load_raw(p + KAON_W);
  return z;
}

KAON_MATH vcomplex c_from_raw(craw a) {
  return c_make(v_from_raw(a.re), v_from_raw(a.im));
}

/* a + s b, a + s i b; s = +1 or -1. */
KAON_MATH vcomplex raw_add_signed(craw a, craw b, const int s) {
  return s > 0 ? c_make(v_from_raw(a.re + b.re), v_from_raw(a.im + b.im))
               : c_make(v_from_raw(a.re - b.re), v_from_raw(a.im - b.im));
}

KAON_MATH vcomplex raw_add_i_signed(craw a, craw b, const int s) {
  return s > 0 ? c_make(v_from_raw(a.re - b.im), v_from_raw(a.im + b.re))
               : c_make(v_from_raw(a.re + b.im), v_from_raw(a.im - b.re));
}
#endif

/* The same as numbers; half: in units of the integers. */
KAON_MATH vcomplex c_load(const stored *p) {
  return c_from_raw(c_load_raw(p));
}

#endif
