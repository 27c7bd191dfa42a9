/* update.h - the arithmetic of vector updates, each formula once. Operand numbers are those of
 * blas/blas_ops.h: v[i] is one complex component of operand i, c[i] is coefficient i. Entries have
 * KAON_MATH type: one site of a GPU thread, or a CPU vector of sites.
 * For a real space the caller passes two components as (re, im) and coefficients whose imaginary
 * part is 0. That gives real arithmetic. */
#pragma once

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

/* v1' = v0 + c0 v1, v3' = v2 + c0 v3, v5' = v4 + c0 v5, then v6' = v6 + c1 v5', v4' = v4 + c2 v3',
 * v2' = v2 + c2 v1' */
KAON_MATH void kaon_update_pipecg(vcomplex *v, const vcomplex *c) {
  v[1] = c_fma(c[0], v[1], v[0]);
  v[3] = c_fma(c[0], v[3], v[2]);
  v[5] = c_fma(c[0], v[5], v[4]);
  v[6] = c_fma(c[1], v[5], v[6]);
  v[4] = c_fma(c[2], v[3], v[4]);
  v[2] = c_fma(c[2], v[1], v[2]);
}

/* v1' = v0 + c0 v1, v3' = v2 + c0 v3, then v4' = v4 + c1 v3', v2' = v2 + c2 v1' */
KAON_MATH void kaon_update_pipecgnr(vcomplex *v, const vcomplex *c) {
  v[1] = c_fma(c[0], v[1], v[0]);
  v[3] = c_fma(c[0], v[3], v[2]);
  v[4] = c_fma(c[1], v[3], v[4]);
  v[2] = c_fma(c[2], v[1], v[2]);
}

/* v3' = v0 + c0 (v3 + c1 v4), v4' = v1 + c0 (v4 + c1 v5), v5' = v2 + c0 (v5 + c1 v6), then
 * v0' = v0 + c2 v4', v1' = v1 + c2 v5' */
KAON_MATH void kaon_update_pipebicgstab_direction(vcomplex *v, const vcomplex *c) {
  v[3] = c_fma(c[0], c_fma(c[1], v[4], v[3]), v[0]);
  v[4] = c_fma(c[0], c_fma(c[1], v[5], v[4]), v[1]);
  v[5] = c_fma(c[0], c_fma(c[1], v[6], v[5]), v[2]);
  v[0] = c_fma(c[2], v[4], v[0]);
  v[1] = c_fma(c[2], v[5], v[1]);
}

/* v5' = v5 + c0 v0 + c1 v1, then v1' = v1 + c2 v2, then v2' = v2 + c2 (v3 + c3 v4) */
KAON_MATH void kaon_update_pipebicgstab_solution(vcomplex *v, const vcomplex *c) {
  v[5] = c_fma(c[1], v[1], c_fma(c[0], v[0], v[5]));
  v[1] = c_fma(c[2], v[2], v[1]);
  v[2] = c_fma(c[2], c_fma(c[3], v[4], v[3]), v[2]);
}

/* v4' = v4 + c0 v0 + c1 v1 + c2 v2 + c3 v3: one group of multi_axpy */
KAON_MATH void kaon_update_axpy4(vcomplex *v, const vcomplex *c) {
  v[4] = c_fma(c[0], v[0], v[4]);
  v[4] = c_fma(c[1], v[1], v[4]);
  v[4] = c_fma(c[2], v[2], v[4]);
  v[4] = c_fma(c[3], v[3], v[4]);
}

/* Adds |r|^2 / |x|^2 of a site and 1, or nothing if x = 0 there. */
static inline KAON_HD void kaon_site_ratio(double r2, double x2, double sum[2]) {
  if (!(x2 > 0)) return;
  sum[0] += r2 / x2;
  sum[1] += 1;
}
