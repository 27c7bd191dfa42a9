/* update.h - the arithmetic of vector updates, each formula once, in the words of blas_ops.h: v[i]
 * is one complex component of operand i, c[i] coefficient i. Entries of KAON_MATH type: a GPU
 * thread's site or a CPU vector of sites. A real space hands in two components as (re, im) with
 * coefficients whose imaginary part is 0, which gives real arithmetic. */
#ifndef KAON_LIB_MATH_UPDATE_H
#define KAON_LIB_MATH_UPDATE_H

#include "lib/math/vreal.h"

/* v0' = c0 v0 */
KAON_MATH void kaon_update_scale(vcomplex *v, const vcomplex *c) {
  v[0] = c_mul(c[0], v[0]);
}

/* v1' = v1 + c0 v0 */
KAON_MATH void kaon_update_axpy(vcomplex *v, const vcomplex *c) {
  v[1] = c_fma(c[0], v[0], v[1]);
}

/* v1' = v0 + c0 v1 */
KAON_MATH void kaon_update_xpay(vcomplex *v, const vcomplex *c) {
  v[1] = c_fma(c[0], v[1], v[0]);
}

/* v1' = c0 v0 + c1 v1 */
KAON_MATH void kaon_update_axpby(vcomplex *v, const vcomplex *c) {
  v[1] = c_fma(c[0], v[0], c_mul(c[1], v[1]));
}

/* v2' = v2 + c0 v1, then v1' = v0 + c1 v1 */
KAON_MATH void kaon_update_axpy_xpay(vcomplex *v, const vcomplex *c) {
  v[2] = c_fma(c[0], v[1], v[2]);
  v[1] = c_fma(c[1], v[1], v[0]);
}

/* v1' = v0 + c0 (v1 + c1 v2) */
KAON_MATH void kaon_update_bicgstab_direction(vcomplex *v, const vcomplex *c) {
  v[1] = c_fma(c[0], c_fma(c[1], v[2], v[1]), v[0]);
}

/* v3' = v3 + c0 v0 + c1 v1, then v1' = v1 + c2 v2 */
KAON_MATH void kaon_update_bicgstab_solution(vcomplex *v, const vcomplex *c) {
  v[3] = c_fma(c[1], v[1], c_fma(c[0], v[0], v[3]));
  v[1] = c_fma(c[2], v[2], v[1]);
}

/* v4' = v4 + c0 v0 + c1 v1 + c2 v2 + c3 v3: a group of multi_axpy's */
KAON_MATH void kaon_update_axpy4(vcomplex *v, const vcomplex *c) {
  v[4] = c_fma(c[0], v[0], v[4]);
  v[4] = c_fma(c[1], v[1], v[4]);
  v[4] = c_fma(c[2], v[2], v[4]);
  v[4] = c_fma(c[3], v[3], v[4]);
}

#endif
