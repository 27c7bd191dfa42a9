/* unit.h - a unit: one column of one block, ncomp * W consecutive values, as the CPU's vector
 * kernels access it. It is read as (re, im) pairs of vreal, summed in double, and in half rounded
 * once. */
#pragma once

#include "blas/blas_ops.h"
#include "lib/cpu/team.h"
#include "lib/core/kernel.h"
#include "lib/math/vreal.h"
#include "lib/cpu/wide.h"
#if KAON_IS_HALF
#include "lib/cpu/quantise.h"
#endif
#include "lib/math/half.h"

/* One column of consecutive blocks. If blocks have few values, as those of a sparse system's
 * vector, a span covers several (span_of). It pays the fixed costs of a unit once, and its lanes
 * are added once. */
typedef struct span {
  int64_t block; /* the first */
  int column, blocks;
} span;

/* One unit of one operand. target: where results are written; the data itself except in half. */
typedef struct unit {
  stored *data;
  real *target;
#if KAON_IS_HALF
  float *scale;
  vreal step;
  vreal largest; /* largest value that update kernels wrote to target */
#endif
} unit;

/* Operands that multi_dot handles at once, limited by registers. */
#if defined(KAON_ISA_AVX512)
enum { DOT_GROUP = 4 };
#else
enum { DOT_GROUP = 2 };
#endif

/* A unit in float, before it is rounded once. */
typedef real scratch[KAON_HALF_COMPONENTS * KAON_W] __attribute__((aligned(64)));

/* The number of threads for a vector of this shape. */
static inline int unit_team(const kaon_launch *launch, const kaon_shape *s) {
  return kaon_team_of(launch, s->nblocks * s->ncomp * s->nrhs * KAON_W);
}

/* span_most: the largest number of blocks of a span; span_of: the span that begins at `block` and
 * ends before `end`. Both depend only on the shape. Half rounds each unit separately, so its spans
 * have one block. So do spans with more than two columns, since they would stride over the other
 * columns, which is slow beyond the cache. There the sums of a column differ in bits from those of
 * a single column. */
static inline int span_most(const kaon_shape *s) {
  return KAON_IS_HALF || s->nrhs > 2 || s->ncomp > 2 || s->ncomp < 1 ? 1 : 16 / s->ncomp;
}

static inline span span_of(const kaon_shape *s, int64_t block, int64_t end, int column) {
  const int64_t left = end - block, most = span_most(s);
  return (span){block, column, (int)(left < most ? left : most)};
}

/* 1: block j is the last of a span. A constant in half. */
static inline int span_end(span at, int j) {
  return KAON_IS_HALF || j + 1 == at.blocks;
}

/* The unit with index `at` of an operand; indices count columns of blocks. */
KAON_INLINE unit unit_number(const kaon_update_args *args, int operand, int64_t at) {
  const kaon_shape *s = &args->shape;
  unit u;
  u.data = (stored *)args->v[operand].data + at * s->ncomp * KAON_W;
#if KAON_IS_HALF
  u.scale = args->v[operand].scale + at * KAON_W;
  u.step = v_load_real(u.scale) * v_set(KAON_HALF_STEP);
  u.target = NULL;
  u.largest = v_set(0);
#else
  u.target = u.data;
#endif
  return u;
}

KAON_INLINE unit unit_at(const kaon_update_args *args, int operand, int64_t block, int column) {
  return unit_number(args, operand, block * args->shape.nrhs + column);
}

/* The unit of an operand that columns share. */
KAON_INLINE unit unit_shared(const kaon_update_args *args, int operand, int64_t block, int column) {
  const int columns = args->shared;
  return unit_number(args, operand,
                     columns <= 1 ? block : block * columns + (int64_t)(column % columns));
}

/* Moves to the unit of the next block. columns: columns of the operand. */
KAON_INLINE void unit_step(unit *u, const kaon_shape *s, int columns) {
  const int64_t numbers = (int64_t)columns * s->ncomp * KAON_W;
  u->data += numbers;
  u->target += numbers;
}

KAON_INLINE vreal unit_load(const unit *u, int64_t i) {
#if KAON_IS_HALF
  return v_load(u->data + i) * u->step;
#else
  return v_load(u->data + i);
#endif
}

KAON_INLINE void unit_store(unit *u, int64_t i, vreal a) {
  v_store_real(u->target + i, a);
#if KAON_IS_HALF
  u->largest = quantise_largest(u->largest, a);
#endif
}

/* Components i and i + W as (re, im). If `pair` is 0 there is no second one, and im = 0. */
KAON_INLINE vcomplex unit_pair(const unit *u, int64_t i, const int pair) {
  return (vcomplex){unit_load(u, i), pair ? unit_load(u, i + KAON_W) : v_set(0)};
}

/* Sums of products over a unit. Double and single: products (exact for single) are added in double.
 * Half: products of integers are added in float over the components of a lane, then scaled and
 * added in double. Adding in float keeps half as fast as memory. */
#if KAON_IS_HALF
typedef vreal factor;
typedef vreal accumulator;
KAON_INLINE factor sum_load(const unit *u, int64_t i) {
  return v_load(u->data + i);
}
KAON_INLINE accumulator sum_zero(void) {
  return v_set(0);
}
KAON_INLINE accumulator sum_fma(factor a, factor b, accumulator c) {
  return v_fma(a, b, c);
}
KAON_INLINE accumulator sum_fnma(factor a, factor b, accumulator c) {
  return v_fnma(a, b, c);
}
KAON_INLINE double sum_total(accumulator a, accumulator b, const unit *x, const unit *y) {
  return w_sum(w_mul(w_from(a + b), w_mul(w_from(x->step), w_from(y->step))));
}
#else
typedef vwide factor;
typedef vwide accumulator;
KAON_INLINE factor sum_load(const unit *u, int64_t i) {
  return w_from(v_load(u->data + i));
}
KAON_INLINE accumulator sum_zero(void) {
  return w_zero();
}
KAON_INLINE accumulator sum_fma(factor a, factor b, accumulator c) {
  return w_fma(a, b, c);
}
KAON_INLINE accumulator sum_fnma(factor a, factor b, accumulator c) {
  return w_fnma(a, b, c);
}
KAON_INLINE double sum_total(accumulator a, accumulator b, const unit *x, const unit *y) {
  (void)x, (void)y;
  return w_sum(w_add(a, b));
}
#endif

/* sum |a|^2 over a span; the two accumulators alternate. */
KAON_INLINE double unit_norm(const kaon_update_args *args, int a, span at) {
  unit u = unit_at(args, a, at.block, at.column);
  accumulator even = sum_zero(), odd = sum_zero();
  const int last = args->shape.ncomp * KAON_W;
  for (int j = 0;; j++) {
    int i = 0;
    for (; i + KAON_VL < last; i += 2 * KAON_VL) {
      const factor x = sum_load(&u, i), y = sum_load(&u, i + KAON_VL);
      even = sum_fma(x, x, even);
      odd = sum_fma(y, y, odd);
    }
    if (i < last) {
      const accumulator longer = sum_fma(sum_load(&u, i), sum_load(&u, i), even);
      even = odd;
      odd = longer;
    }
    if (span_end(at, j)) break;
    unit_step(&u, &args->shape, args->shape.nrhs);
  }
  return sum_total(even, odd, &u, &u);
}

/* (x, y) of a component pair: rr + ii is the real part, ri + ir the imaginary part. */
typedef struct dot_sums {
  accumulator rr, ii, ri, ir;
} dot_sums;

/* A single component without a partner: rr and ii alternate. */
KAON_INLINE void dot_single(dot_sums *s, factor x, factor y) {
  const accumulator longer = sum_fma(x, y, s->rr);
  s->rr = s->ii;
  s->ii = longer;
}

/* Adds the products of one unit of each operand. */
KAON_INLINE void units_products(const unit *ux, const int group, const unit *uy, int ncomp,
                                dot_sums *s) {
  for (int k = 0; k < ncomp; k += 2)
    for (int part = 0; part < KAON_PARTS; part++) {
      const int64_t i = k * KAON_W + part * KAON_VL;
      const factor yr = sum_load(uy, i);
      if (k + 1 == ncomp) {
        for (int o = 0; o < group; o++) dot_single(&s[o], sum_load(&ux[o], i), yr);
        continue;
      }
      const factor yi = sum_load(uy, i + KAON_W);
      for (int o = 0; o < group; o++) {
        const factor xr = sum_load(&ux[o], i), xi = sum_load(&ux[o], i + KAON_W);
        s[o].rr = sum_fma(xr, yr, s[o].rr);
        s[o].ii = sum_fma(xi, yi, s[o].ii);
        s[o].ri = sum_fma(xr, yi, s[o].ri);
        s[o].ir = sum_fnma(xi, yr, s[o].ir);
      }
    }
}

KAON_INLINE void dots_zero(dot_sums *s, const int group) {
  for (int o = 0; o < group; o++) s[o] = (dot_sums){sum_zero(), sum_zero(), sum_zero(), sum_zero()};
}

/* Adds sum i to sum[2 i], sum[2 i + 1]. A real space has no imaginary part. */
KAON_INLINE void dots_add(const dot_sums *s, const unit *ux, const int group, const unit *uy,
                          int complex_space, double *sum) {
  for (int o = 0; o < group; o++) {
    sum[2 * o] += sum_total(s[o].rr, s[o].ii, &ux[o], uy);
    if (complex_space) sum[2 * o + 1] += sum_total(s[o].ri, s[o].ir, &ux[o], uy);
  }
}

/* sum conj(x) y over a unit for `group` units x. y is loaded and widened once for all of them. */
KAON_INLINE void units_dots(const unit *ux, const int group, const unit *uy,
                            const kaon_shape *shape, double *sum) {
  dot_sums s[DOT_GROUP];
  dots_zero(s, group);
  units_products(ux, group, uy, shape->ncomp, s);
  dots_add(s, ux, group, uy, shape->complex_space, sum);
}

/* The same over a span, for the operands from index `first` on. */
KAON_INLINE void unit_dots(const kaon_update_args *args, int first, const int group, int y, span at,
                           double *sum) {
  const kaon_shape *shape = &args->shape;
  unit ux[DOT_GROUP], uy = unit_at(args, y, at.block, at.column);
  dot_sums s[DOT_GROUP];
  for (int o = 0; o < group; o++) ux[o] = unit_at(args, first + o, at.block, at.column);
  dots_zero(s, group);
  for (int j = 0;; j++) {
    units_products(ux, group, &uy, shape->ncomp, s);
    if (span_end(at, j)) break;
    unit_step(&uy, shape, shape->nrhs);
    for (int o = 0; o < group; o++) unit_step(&ux[o], shape, shape->nrhs);
  }
  dots_add(s, ux, group, &uy, shape->complex_space, sum);
}
