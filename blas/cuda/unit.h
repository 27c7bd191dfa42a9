/* unit.h - how CUDA vector kernels go through a column, and how they access an operand.
 *
 * Double and single: a column of a block has ncomp * 32 consecutive values, whose order does not
 * matter to an update. They are accessed 16 bytes at a time, neighbouring values being (re, im).
 * Half: a thread handles a site with its scale, because it must find the largest component before
 * it can round. */
#pragma once

#include "blas/cuda/kernels.h"
#include "lib/core/kernel.h"
#include "lib/cuda/memory/access.h"
#include "lib/cuda/queue/dependent.h"
#include "lib/cuda/reduction/quantise.h"
#include "lib/cuda/reduction/reduce.h"
#include "lib/math/steps/update.h"

/* Reals of sites that half kernels hold in registers; other sizes take two passes. COLOURS: only
 * updates and conversions. */
enum { SPINOR = 24, COLOURS = 6 };

/* The column and the chunk of a block. */
typedef struct share {
  int column, chunk;
} share;

KAON_DEVICE share share_of(const kaon_cuda_sums &s) {
  share mine;
  mine.column = (int)(blockIdx.x / (unsigned)s.chunks);
  mine.chunk = (int)(blockIdx.x % (unsigned)s.chunks);
  return mine;
}

/* Most chunks of listed updates without sums. In a list each block starts by reading its arguments
 * from memory, so many short blocks would be slow. */
enum { LISTED_CHUNKS = 1056 };

/* Chunks of a column for an update whose blocks write `values` sums. Without sums the number does
 * not affect the bits, and tuning may choose it. */
static inline int chunks_of(const kaon_launch *launch, int64_t work, int values) {
  const int64_t most = (work + KAON_THREADS - 1) / KAON_THREADS;
  int chunks = kaon_cuda_chunks(work, values);
  if (values > 0) return chunks;
  if (launch->tuned.blocks > 0 && most > 0)
    chunks = (int)(most < launch->tuned.blocks ? most : launch->tuned.blocks);
  return launch->list != NULL && chunks > LISTED_CHUNKS ? LISTED_CHUNKS : chunks;
}

KAON_DEVICE vcomplex coefficient_of(const kaon_column_state *state, int slot, double sign,
                                    int column, int complex_space) {
  if (slot == KAON_NO_SLOT) return c_make(v_set(sign), v_set(0));
  const double *value = state[column].slot[slot];
  return c_make(v_set(sign * value[0]), v_set(complex_space ? sign * value[1] : 0));
}

/* Adds conj(x) y to sum[0], sum[1]. */
KAON_DEVICE void add_product(double *sum, double xr, double xi, double yr, double yi) {
  sum[0] = fma(xr, yr, fma(xi, yi, sum[0]));
  sum[1] = fma(xr, yi, fma(-xi, yr, sum[1]));
}

#if !KAON_IS_HALF

enum { WORD = KAON_ACCESS / (int)sizeof(real), PAIRS = WORD / 2 };
typedef kaon_packet<real, WORD> word;

/* The words of a column: `count` in all, `unit` consecutive ones in every block. */
typedef struct walk {
  int64_t count;
  int unit;
  int gap; /* words from the end of a unit to the next unit of the column */
} walk;

static inline walk walk_of(const kaon_shape *shape) {
  walk w;
  w.unit = shape->ncomp * KAON_LANES / WORD;
  w.count = shape->nblocks * w.unit;
  w.gap = (shape->nrhs - 1) * w.unit;
  return w;
}

/* The index of word i of a column among all words. */
KAON_DEVICE int64_t word_at(const walk &w, int64_t i, int column) {
  if (w.gap == 0) return i;
  const int64_t block = i >> 32 == 0 ? (int64_t)((uint32_t)i / (uint32_t)w.unit) : i / w.unit;
  return i + block * w.gap + (int64_t)column * w.unit;
}

KAON_DEVICE word word_read(const kaon_view &v, int64_t at) {
  return ((const word *)v.data)[at];
}

/* For a vector that is not used again soon: its lines are the first to be evicted from the
 * second-level cache. */
KAON_DEVICE word word_read_once(const kaon_view &v, int64_t at) {
  const ulonglong2 x = __ldcs((const ulonglong2 *)((const word *)v.data + at));
  word w;
  static_assert(sizeof w == sizeof x, "an access is 16 bytes");
  memcpy(&w, &x, sizeof w);
  return w;
}

KAON_DEVICE void word_write_once(const kaon_view &v, int64_t at, const word &w) {
  ulonglong2 x;
  memcpy(&x, &w, sizeof x);
  __stcs((ulonglong2 *)((word *)v.data + at), x);
}

KAON_DEVICE void add_words(double *sum, const word &x, const word &y) {
#pragma unroll
  for (int p = 0; p < PAIRS; p++)
    add_product(sum, (double)x.v[2 * p], (double)x.v[2 * p + 1], (double)y.v[2 * p],
                (double)y.v[2 * p + 1]);
}

KAON_DEVICE void add_square(double *sum, const word &x) {
#pragma unroll
  for (int i = 0; i < WORD; i++) sum[0] = fma((double)x.v[i], (double)x.v[i], sum[0]);
}

#else

typedef struct walk {
  int64_t count; /* sites, including masked ones */
  int ncomp, pack, nrhs;
} walk;

static inline walk walk_of(const kaon_shape *shape) {
  walk w;
  w.count = shape->nblocks * KAON_LANES;
  w.ncomp = shape->ncomp;
  w.pack = kaon_pack(KAON_ACCESS, shape->ncomp, (int)sizeof(stored));
  w.nrhs = shape->nrhs;
  return w;
}

/* The unit of site i, and its lane there. */
KAON_DEVICE int64_t unit_of(const walk &w, int64_t i, int column) {
  return i / KAON_LANES * w.nrhs + column;
}

KAON_DEVICE int lane_of(int64_t i) {
  return (int)(i % KAON_LANES);
}

KAON_DEVICE stored *integers_of(const kaon_view &v, const walk &w, int64_t unit) {
  return (stored *)v.data + unit * w.ncomp * KAON_LANES;
}

/* A component of a site, for any number of components. */
KAON_DEVICE stored *integer_at(const kaon_view &v, const walk &w, int64_t unit, int lane, int c) {
  return integers_of(v, w, unit) + site_offset(c, lane, w.pack);
}

KAON_DEVICE float *scale_at(const kaon_view &v, int64_t unit, int lane) {
  return v.scale + unit * KAON_LANES + lane;
}

/* conj(x) y over a site. As on the CPU, products of integers are added in float, then scaled. */
typedef struct site_product {
  float re, im;
} site_product;

KAON_DEVICE void product_add(site_product *p, float xr, float xi, float yr, float yi) {
  p->re = fmaf(xr, yr, fmaf(xi, yi, p->re));
  p->im = fmaf(xr, yi, fmaf(-xi, yr, p->im));
}

KAON_DEVICE void product_end(const site_product &p, float x_scale, float y_scale, double *sum) {
  const double unit = (double)kaon_half_unit(x_scale) * (double)kaon_half_unit(y_scale);
  sum[0] += unit * (double)p.re;
  sum[1] += unit * (double)p.im;
}

template <int NCOMP = SPINOR>
KAON_DEVICE void add_spinors(double *sum, const stored *x, float x_scale, const stored *y,
                             float y_scale) {
  site_product p = {0, 0};
#pragma unroll
  for (int c = 0; c < NCOMP; c += 2) product_add(&p, x[c], x[c + 1], y[c], y[c + 1]);
  product_end(p, x_scale, y_scale, sum);
}

/* The same for a site of any size, from memory. a == b: the norm. */
KAON_DEVICE void add_sites(double *sum, const kaon_view &a, const kaon_view &b, const walk &w,
                           int64_t unit, int lane) {
  site_product p = {0, 0};
#pragma unroll 1
  for (int c = 0; c < w.ncomp; c += 2) {
    const bool pair = c + 1 < w.ncomp;
    product_add(&p, *integer_at(a, w, unit, lane, c),
                pair ? (float)*integer_at(a, w, unit, lane, c + 1) : 0.0f,
                *integer_at(b, w, unit, lane, c),
                pair ? (float)*integer_at(b, w, unit, lane, c + 1) : 0.0f);
  }
  product_end(p, *scale_at(a, unit, lane), *scale_at(b, unit, lane), sum);
}

#endif
