/* simt.h - `vreal` on a GPU. A thread works on one site, so a vreal is a single value, and lib/math
 * sees blocks of one lane (KAON_W = 1, lib/core/kernel.h). Kernels load the object of a site into
 * an array of `stored` or `real` (lib/cuda/memory/access.h) and pass that to the physics code,
 * whose loads are then register moves. Included only by lib/math/vreal.h. */
#pragma once

#include "lib/core/kernel.h"

#define KAON_MATH KAON_DEVICE

typedef real vreal;

KAON_MATH vreal v_set(double a) {
  return (real)a;
}
KAON_MATH vreal v_load_real(const real *p) {
  return *p;
}
KAON_MATH void v_store_real(real *p, vreal a) {
  *p = a;
}
KAON_MATH vreal v_load_float(const float *p) {
  return (real)*p;
}
KAON_MATH double v_sum(vreal a) {
  return (double)a;
}
KAON_MATH vreal v_mask_tail(vreal a, int lanes) {
  return lanes > 0 ? a : (real)0;
}

typedef bool vmask;
KAON_MATH vmask v_greater(vreal a, vreal b) {
  return a > b;
}
KAON_MATH vreal v_select(vmask mask, vreal a, vreal b) {
  return mask ? a : b;
}

#if defined(KAON_PREC_DOUBLE)
KAON_MATH vreal v_fma(vreal a, vreal b, vreal c) {
  return fma(a, b, c);
}
KAON_MATH vreal v_fnma(vreal a, vreal b, vreal c) {
  return fma(-a, b, c);
}
KAON_MATH vreal v_max(vreal a, vreal b) {
  return fmax(a, b);
}
KAON_MATH vreal v_abs(vreal a) {
  return fabs(a);
}
KAON_MATH vreal v_sqrt(vreal a) {
  return sqrt(a);
}
KAON_MATH vreal v_scale_split(vreal a, vreal s, vreal rest) {
  (void)rest;
  return a * s;
}
/* Newton steps from the device's approximation of 20 bits: e = 1 - a r, r (1 + e + e^2). A second
 * step leaves an error of one or two ulp. */
KAON_MATH vreal v_inverse(vreal a) {
  double r;
  asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(r) : "d"(a));
  const double e = fma(-a, r, 1.0);
  r = fma(r, fma(e, e, e), r);
  return fma(r, fma(-a, r, 1.0), r);
}
KAON_MATH vreal v_inverse_root(vreal a, vreal b) {
  double r;
  asm("rsqrt.approx.ftz.f64 %0, %1;" : "=d"(r) : "d"(b));
  const double e = fma(-b * r, r, 1.0);
  r = fma(r, fma(0.375 * e, e, 0.5 * e), r);
  return v_inverse(a) * fma(0.5 * r, fma(-b * r, r, 1.0), r);
}
#else
KAON_MATH vreal v_fma(vreal a, vreal b, vreal c) {
  return fmaf(a, b, c);
}
KAON_MATH vreal v_fnma(vreal a, vreal b, vreal c) {
  return fmaf(-a, b, c);
}
KAON_MATH vreal v_max(vreal a, vreal b) {
  return fmaxf(a, b);
}
KAON_MATH vreal v_abs(vreal a) {
  return fabsf(a);
}
KAON_MATH vreal v_sqrt(vreal a) {
  return sqrtf(a);
}
/* a (s + rest); rest is the remainder of the rounded factor s. */
KAON_MATH vreal v_scale_split(vreal a, vreal s, vreal rest) {
  return fmaf(a, s, a * rest);
}
/* The device's approximations, accurate to one or two ulp. Single adds a Newton step. */
KAON_MATH vreal v_inverse(vreal a) {
  float r;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(a));
  return KAON_IS_HALF ? r : fmaf(r, fmaf(-a, r, 1.0f), r);
}
KAON_MATH vreal v_inverse_root(vreal a, vreal b) {
  float r;
  asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(b));
  return v_inverse(a) * (KAON_IS_HALF ? r : fmaf(0.5f * r, fmaf(-b * r, r, 1.0f), r));
}
#endif

/* a if the lowest bit of the stored value is 1, else b. */
KAON_MATH vreal v_select_odd(const stored *p, vreal a, vreal b) {
#if defined(KAON_PREC_DOUBLE)
  return __double_as_longlong(*p) & 1 ? a : b;
#elif defined(KAON_PREC_SINGLE)
  return __float_as_int(*p) & 1 ? a : b;
#else
  return *p & 1 ? a : b;
#endif
}

/* -a if that bit is 1, else a: moves the bit to the position of the sign. */
KAON_MATH vreal v_flip_odd(const stored *p, vreal a) {
#if defined(KAON_PREC_DOUBLE)
  const int sign = (int)((unsigned)__double2loint(*p) << 31);
  return __hiloint2double(__double2hiint(a) ^ sign, __double2loint(a));
#elif defined(KAON_PREC_SINGLE)
  return __uint_as_float(__float_as_uint(a) ^ __float_as_uint(*p) << 31);
#else
  return __uint_as_float(__float_as_uint(a) ^ (unsigned)*p << 31);
#endif
}

#if KAON_IS_HALF
typedef int32_t vraw;
KAON_MATH vraw v_load_int16(const int16_t *p) {
  return *p;
}
KAON_MATH vreal v_from_int(vraw a) {
  return (real)a;
}
KAON_MATH void v_store_int16(int16_t *p, vreal a) {
  *p = (int16_t)__float2int_rn(a);
}
#endif
