/* vreal.h - the scalar type that all physics code in lib/math uses. On a GPU it is a plain `real`
 * (one site for each thread), on a CPU a vector of KAON_VL sites.
 * The including file has defined `real` (float or double), `stored` (the type in memory: the same,
 * or int16_t) and, on the CPU, the macros of lib/core/kernel.h. Pointers passed to loads and stores
 * point at the first of the KAON_VL lanes; on a GPU at the thread's own lane. */
#pragma once

#ifdef __CUDACC__
#include "lib/cuda/simt.h"
#else
#include "lib/cpu/simd.h"
#define KAON_MATH KAON_INLINE
/* 1 / a and 1 / (a sqrt(b)) of positive values that are neither tiny nor huge. A GPU omits the
 * special handling of those. */
KAON_MATH vreal v_inverse(vreal a) {
  return v_set(1) / a;
}
KAON_MATH vreal v_inverse_root(vreal a, vreal b) {
  return v_set(1) / (a * v_sqrt(b));
}
/* -a if the lowest bit of the stored value is 1, else a. */
KAON_MATH vreal v_flip_odd(const stored *p, vreal a) {
  return v_select_odd(p, -a, a);
}
#endif

/* A value in its memory form (a `vraw`), and converted to a vreal. In half a vraw is the unscaled
 * integer -32767 .. 32767, whose sums and differences are exact. Otherwise a vraw is a vreal. */
#if KAON_IS_HALF
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

/* a + s b and a - s b, with s = +1 or -1 known at compile time. */
KAON_MATH vreal v_add_signed(vreal a, vreal b, const int s) {
  return s > 0 ? a + b : a - b;
}

/* Complex numbers, one in each lane. */
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

/* a (s + rest): a factor given as its rounded value and the remainder. Rounding a factor of the
 * whole operator makes the same error at every site, unlike rounding a field. It acts like a
 * different kappa, which a near-critical solve notices. */
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

/* A complex number in its memory form. In half it consists of integers, whose sums and differences
 * are exact, so a projection converts only half as many values. re and im are KAON_W apart. On a
 * GPU they are adjacent, and in half they share one word. */
#if KAON_IS_HALF && defined(__CUDACC__)
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

/* Loads a complex number and converts it; in half it stays in units of the integers. */
KAON_MATH vcomplex c_load(const stored *p) {
  return c_from_raw(c_load_raw(p));
}
