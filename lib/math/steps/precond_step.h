/* precond_step.h - the arithmetic of the updates of preconditioned methods, each formula once.
 * Operand numbers are those of blas/precond_ops.h; conventions are those of update.h. `kind`
 * selects the product d x of a diagonal with a vector. */
#pragma once

#include "lib/math/vreal.h"

/* The product d x: real entries (re and im hold two of them), complex entries, or conj(d) x. */
enum { KAON_SCALED_REAL, KAON_SCALED_COMPLEX, KAON_SCALED_CONJ };

KAON_MATH vcomplex kaon_times(vcomplex d, vcomplex x, const int kind) {
  if (kind == KAON_SCALED_REAL) return c_make(d.re * x.re, d.im * x.im);
  return kind == KAON_SCALED_CONJ ? c_conj_mul(d, x) : c_mul(d, x);
}

/* v1' = v0 v2 */
KAON_MATH void kaon_precond_scaled(vcomplex *v, const vcomplex *c, const int kind) {
  (void)c;
  v[1] = kaon_times(v[0], v[2], kind);
}

/* v2' = v2 + c0 v1, then v1' = v0 + c1 v1 */
KAON_MATH void kaon_precond_shifted(vcomplex *v, const vcomplex *c, const int kind) {
  (void)kind;
  v[2] = c_fma(c[0], v[1], v[2]);
  v[1] = c_fma(c[1], v[1], v[0]);
}

/* v1' = v1 + c0 v3, then v2' = v0 v1' */
KAON_MATH void kaon_precond_residual_scaled(vcomplex *v, const vcomplex *c, const int kind) {
  v[1] = c_fma(c[0], v[3], v[1]);
  v[2] = kaon_times(v[0], v[1], kind);
}

/* v1' = v0 + c0 v1, v8' = v7 + c0 v8, v3' = v2 + c0 v3, v5' = v9 + c0 v5, then v6' = v6 + c1 v5',
 * v4' = v4 + c2 v3', v9' = v9 + c2 v8', v2' = v2 + c2 v1' */
KAON_MATH void kaon_precond_pipepcg(vcomplex *v, const vcomplex *c, const int kind) {
  (void)kind;
  v[1] = c_fma(c[0], v[1], v[0]);
  v[8] = c_fma(c[0], v[8], v[7]);
  v[3] = c_fma(c[0], v[3], v[2]);
  v[5] = c_fma(c[0], v[5], v[9]);
  v[6] = c_fma(c[1], v[5], v[6]);
  v[4] = c_fma(c[2], v[3], v[4]);
  v[9] = c_fma(c[2], v[8], v[9]);
  v[2] = c_fma(c[2], v[1], v[2]);
}

/* v1' = v7 + c0 v1, v3' = v2 + c0 v3, v5' = v0 v4 + c0 v5, then v6' = v6 + c1 v5', v4' = v4 + c2
 * v3', v2' = v2 + c2 v1', then v8' = v0 v2' */
KAON_MATH void kaon_precond_pipecg_scaled(vcomplex *v, const vcomplex *c, const int kind) {
  v[1] = c_fma(c[0], v[1], v[7]);
  v[3] = c_fma(c[0], v[3], v[2]);
  v[5] = c_fma(c[0], v[5], kaon_times(v[0], v[4], kind));
  v[6] = c_fma(c[1], v[5], v[6]);
  v[4] = c_fma(c[2], v[3], v[4]);
  v[2] = c_fma(c[2], v[1], v[2]);
  v[8] = kaon_times(v[0], v[2], kind);
}

/* The two updates above in two parts with the same bits: first the part that the next product
 * reads, then the rest. This is the first part of pipepcg: v1' = v0 + c0 v1, v3' = v2 + c0 v3, v5'
 * = v4 + c0 v5, then v2' = v2 + c1 v1' */
KAON_MATH void kaon_precond_pipepcg_ahead(vcomplex *v, const vcomplex *c, const int kind) {
  (void)kind;
  v[1] = c_fma(c[0], v[1], v[0]);
  v[3] = c_fma(c[0], v[3], v[2]);
  v[5] = c_fma(c[0], v[5], v[4]);
  v[2] = c_fma(c[1], v[1], v[2]);
}

/* v1' = v1 + c2 v0, v3' = v6 + c0 v3, v6' = v6 + c2 v5, then v4' = v4 + c1 v3' */
KAON_MATH void kaon_precond_pipepcg_behind(vcomplex *v, const vcomplex *c, const int kind) {
  (void)kind;
  v[3] = c_fma(c[0], v[3], v[6]);
  v[4] = c_fma(c[1], v[3], v[4]);
  v[1] = c_fma(c[2], v[0], v[1]);
  v[6] = c_fma(c[2], v[5], v[6]);
}

/* v1' = v0 + c0 v1, v3' = v2 + c0 v3, then v2' = v2 + c1 v1' */
KAON_MATH void kaon_precond_pipecg_ahead(vcomplex *v, const vcomplex *c, const int kind) {
  (void)kind;
  v[1] = c_fma(c[0], v[1], v[0]);
  v[3] = c_fma(c[0], v[3], v[2]);
  v[2] = c_fma(c[1], v[1], v[2]);
}

/* v3' = v1 + c0 v3, v1' = v1 + c2 v0, then v4' = v4 + c1 v3' */
KAON_MATH void kaon_precond_pipecg_behind(vcomplex *v, const vcomplex *c, const int kind) {
  (void)kind;
  v[3] = c_fma(c[0], v[3], v[1]);
  v[4] = c_fma(c[1], v[3], v[4]);
  v[1] = c_fma(c[2], v[0], v[1]);
}

/* v1' = v4 + c0 v1, v3' = v2 + c0 v3, then v2' = v2 + c1 v1', then v5' = v0 v2' */
KAON_MATH void kaon_precond_pipecg_scaled_ahead(vcomplex *v, const vcomplex *c, const int kind) {
  v[1] = c_fma(c[0], v[1], v[4]);
  v[3] = c_fma(c[0], v[3], v[2]);
  v[2] = c_fma(c[1], v[1], v[2]);
  v[5] = kaon_times(v[0], v[2], kind);
}

/* v3' = v0 v1 + c0 v3, v1' = v1 + c2 v5, then v4' = v4 + c1 v3' */
KAON_MATH void kaon_precond_pipecg_scaled_behind(vcomplex *v, const vcomplex *c, const int kind) {
  v[3] = c_fma(c[0], v[3], kaon_times(v[0], v[1], kind));
  v[4] = c_fma(c[1], v[3], v[4]);
  v[1] = c_fma(c[2], v[5], v[1]);
}

/* v1' = v0 + c0 v1, v3' = v2 + c0 v3 */
KAON_MATH void kaon_precond_groppcg_direction(vcomplex *v, const vcomplex *c, const int kind) {
  (void)kind;
  v[1] = c_fma(c[0], v[1], v[0]);
  v[3] = c_fma(c[0], v[3], v[2]);
}

/* v1' = v1 + c0 v0, v3' = v3 + c1 v2, v5' = v5 + c1 v4 */
KAON_MATH void kaon_precond_groppcg_residual(vcomplex *v, const vcomplex *c, const int kind) {
  (void)kind;
  v[1] = c_fma(c[0], v[0], v[1]);
  v[3] = c_fma(c[1], v[2], v[3]);
  v[5] = c_fma(c[1], v[4], v[5]);
}

/* v1' = v0 + c0 v1, v3' = v2 + c0 v3, then v4' = v4 + c1 v3', v5' = v5 + c2 v1' */
KAON_MATH void kaon_precond_chrongear(vcomplex *v, const vcomplex *c, const int kind) {
  (void)kind;
  v[1] = c_fma(c[0], v[1], v[0]);
  v[3] = c_fma(c[0], v[3], v[2]);
  v[4] = c_fma(c[1], v[3], v[4]);
  v[5] = c_fma(c[2], v[1], v[5]);
}

/* v1' = v6 + c0 v1, v3' = v0 v2 + c0 v3, then v4' = v4 + c1 v3', v2' = v2 + c2 v1', then v5' = v0
 * v2' */
KAON_MATH void kaon_precond_chrongear_scaled(vcomplex *v, const vcomplex *c, const int kind) {
  v[1] = c_fma(c[0], v[1], v[6]);
  v[3] = c_fma(c[0], v[3], kaon_times(v[0], v[2], kind));
  v[4] = c_fma(c[1], v[3], v[4]);
  v[2] = c_fma(c[2], v[1], v[2]);
  v[5] = kaon_times(v[0], v[2], kind);
}

/* v1' = v1 + c0 v0, v3' = v3 + c0 v2 */
KAON_MATH void kaon_precond_rbicgstab_half(vcomplex *v, const vcomplex *c, const int kind) {
  (void)kind;
  v[1] = c_fma(c[0], v[0], v[1]);
  v[3] = c_fma(c[0], v[2], v[3]);
}

/* v2' = v2 + c0 v0 + c1 v1, v4' = v4 + c2 v3, then v1' = v1 + c2 v5, then v0' = v1' + c3 (v0 + c2
 * v6) */
KAON_MATH void kaon_precond_rbicgstab_end(vcomplex *v, const vcomplex *c, const int kind) {
  (void)kind;
  v[2] = c_fma(c[1], v[1], c_fma(c[0], v[0], v[2]));
  v[4] = c_fma(c[2], v[3], v[4]);
  v[1] = c_fma(c[2], v[5], v[1]);
  v[0] = c_fma(c[3], c_fma(c[2], v[6], v[0]), v[1]);
}
