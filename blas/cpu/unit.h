/* unit.h - one column of one block, ncomp * W numbers in a row, as the CPU's vector kernels see it:
 * read as (re, im) pairs of vreal, summed in double, quantised once (half). Included by update.c.
 */
#ifndef KAON_BLAS_CPU_UNIT_H
#define KAON_BLAS_CPU_UNIT_H

#include "blas/blas_ops.h"
#include "lib/kernel.h"
#include "lib/math/half.h"
#include "lib/math/vreal.h"
#include "lib/cpu/wide.h"

/* One unit of one operand. target: where results go, the data itself unless half. */
typedef struct unit {
  stored *data;
  real *target;
#if KAON_HALF
  float *scale;
  vreal step;
#endif
} unit;

/* A unit in float, before its one rounding. */
typedef real scratch[KAON_HALF_COMPONENTS * KAON_W] __attribute__((aligned(64)));

KAON_INLINE unit unit_at(const kaon_update_args *args, int operand, int64_t block, int column) {
  const kaon_shape *s = &args->shape;
  const int64_t at = block * s->nrhs + column;
  unit u;
  u.data = (stored *)args->v[operand].data + at * s->ncomp * KAON_W;
#if KAON_HALF
  u.scale = args->v[operand].scale + at * KAON_W;
  u.step = v_load_real(u.scale) * v_set(KAON_HALF_STEP);
  u.target = NULL;
#else
  u.target = u.data;
#endif
  return u;
}

KAON_INLINE vreal unit_load(const unit *u, int64_t i) {
#if KAON_HALF
  return v_load(u->data + i) * u->step;
#else
  return v_load(u->data + i);
#endif
}

/* Components i and i + W as (re, im); im = 0 where `pair` says that there is no second one. */
KAON_INLINE vcomplex unit_pair(const unit *u, int64_t i, const int pair) {
  return (vcomplex){unit_load(u, i), pair ? unit_load(u, i + KAON_W) : v_set(0)};
}

#if KAON_HALF
/* values -> u: the unit's one rounding. x * 0 is NaN for NaN and infinity: it spoils the scale. */
static void quantise(const real *values, int ncomp, unit *u) {
  vreal largest = v_set(0), poison = v_set(0), factor;
  for (int c = 0; c < ncomp; c++) {
    const vreal x = v_load_real(values + c * KAON_W);
    largest = v_max(largest, v_abs(x));
    poison = v_fma(x, v_set(0), poison);
  }
  real lanes[KAON_W] __attribute__((aligned(64)));
  v_store_real(lanes, largest);
  for (int l = 0; l < KAON_W; l++) lanes[l] = kaon_half_factor(lanes[l]);
  factor = v_load_real(lanes);
  for (int c = 0; c < ncomp; c++)
    v_store_int16(u->data + c * KAON_W, v_load_real(values + c * KAON_W) * factor);
  v_store_real(u->scale, largest + poison);
}
#endif

/* sum |a|^2 over a unit. */
static double unit_norm(const kaon_update_args *args, int a, int64_t block, int column) {
  const unit u = unit_at(args, a, block, column);
  vwide re = w_zero(), im = w_zero();
  int k = 0;
  for (; k + 1 < args->shape.ncomp; k += 2)
    for (int part = 0; part < KAON_PARTS; part++) {
      const vcomplex x = unit_pair(&u, k * KAON_W + part * KAON_VL, 1);
      const vwide xr = w_from(x.re), xi = w_from(x.im);
      re = w_fma(xr, xr, re);
      im = w_fma(xi, xi, im);
    }
  if (k < args->shape.ncomp)
    for (int part = 0; part < KAON_PARTS; part++) {
      const vwide xr = w_from(unit_load(&u, k * KAON_W + part * KAON_VL));
      re = w_fma(xr, xr, re);
    }
  return w_sum(re, im);
}

/* sum conj(a) b over a unit, added to sum[2]; a real space has no imaginary part. */
static void unit_dot(const kaon_update_args *args, int a, int b, int64_t block, int column,
                     double *sum) {
  const unit ua = unit_at(args, a, block, column), ub = unit_at(args, b, block, column);
  vwide rr = w_zero(), ii = w_zero(), ri = w_zero(), ir = w_zero();
  int k = 0;
  for (; k + 1 < args->shape.ncomp; k += 2)
    for (int part = 0; part < KAON_PARTS; part++) {
      const int64_t i = k * KAON_W + part * KAON_VL;
      const vcomplex x = unit_pair(&ua, i, 1), y = unit_pair(&ub, i, 1);
      const vwide xr = w_from(x.re), xi = w_from(x.im), yr = w_from(y.re), yi = w_from(y.im);
      rr = w_fma(xr, yr, rr);
      ii = w_fma(xi, yi, ii);
      ri = w_fma(xr, yi, ri);
      ir = w_fnma(xi, yr, ir);
    }
  if (k < args->shape.ncomp)
    for (int part = 0; part < KAON_PARTS; part++) {
      const int64_t i = k * KAON_W + part * KAON_VL;
      rr = w_fma(w_from(unit_load(&ua, i)), w_from(unit_load(&ub, i)), rr);
    }
  sum[0] += w_sum(rr, ii);
  if (args->shape.complex_space) sum[1] += w_sum(ri, ir);
}

#endif
