/* items.h - items of columns, for the CUDA kernels that join columns (block.cu, gram.cu): an item
 * is a lane's access of a column, 16 bytes, neighbours being (re, im); half: a lane's group of
 * components, under its site's scale. The items of all columns at one place meet in a thread or a
 * block, so each vector crosses the memory once. */
#ifndef KAON_BLAS_CUDA_ITEMS_H
#define KAON_BLAS_CUDA_ITEMS_H

#include "blas/cuda/unit.h"

#if !KAON_HALF
enum { NUMBERS = WORD };
typedef word item;
#else
enum { NUMBERS = KAON_ACCESS / (int)sizeof(stored) };
typedef kaon_packet<stored, NUMBERS> item;
#endif

typedef struct items {
  int64_t count;    /* of a column */
  int unit, nrhs;   /* in a unit, and units of a block */
  int pack, groups; /* reals of an item; half: items of a site */
} items;

static items items_of(const kaon_shape *shape) {
  items w;
#if !KAON_HALF
  w.pack = WORD;
#else
  w.pack = kaon_pack(KAON_ACCESS, shape->ncomp, (int)sizeof(stored));
#endif
  w.unit = shape->ncomp * KAON_LANES / w.pack;
  w.count = shape->nblocks * w.unit;
  w.nrhs = shape->nrhs;
  w.groups = shape->ncomp / w.pack;
  return w;
}

/* Where item i of a column stands among all. */
static __device__ __forceinline__ int64_t item_at(const items &w, int64_t i, int column) {
  const int64_t block = i >> 32 == 0 ? (int64_t)((uint32_t)i / (uint32_t)w.unit) : i / w.unit;
  return i + (block * (w.nrhs - 1) + column) * w.unit;
}

#if !KAON_HALF
static __device__ __forceinline__ item item_read(const kaon_view &v, const items &w, int64_t at) {
  (void)w;
  return word_read(v, at);
}

/* What an item's integers are worth. */
static __device__ __forceinline__ float item_step(const kaon_view &v, const items &w, int64_t at) {
  (void)v, (void)w, (void)at;
  return 1;
}

static __device__ __forceinline__ void item_values(const item &x, float step, real *value) {
  (void)step;
#pragma unroll
  for (int r = 0; r < NUMBERS; r++) value[r] = x.v[r];
}
#else
static __device__ __forceinline__ item item_read(const kaon_view &v, const items &w, int64_t at) {
  if (w.pack == NUMBERS) return ((const item *)v.data)[at];
  item x;
#pragma unroll
  for (int r = 0; r < NUMBERS; r++)
    x.v[r] = r < w.pack ? ((const stored *)v.data)[at * w.pack + r] : (stored)0;
  return x;
}

static __device__ __forceinline__ float *item_scale(const kaon_view &v, const items &w,
                                                    int64_t at) {
  return v.scale + at / w.unit * KAON_LANES + at % KAON_LANES;
}

static __device__ __forceinline__ float item_step(const kaon_view &v, const items &w, int64_t at) {
  return kaon_half_unit(*item_scale(v, w, at));
}

static __device__ __forceinline__ void item_values(const item &x, float step, real *value) {
#pragma unroll
  for (int r = 0; r < NUMBERS; r++) value[r] = x.v[r] * step;
}

static __device__ __forceinline__ void item_round(const kaon_view &v, const items &w, int64_t at,
                                                  const real *value, float largest) {
  const float factor = kaon_half_factor(largest);
  item x;
#pragma unroll
  for (int r = 0; r < NUMBERS; r++) v_store_int16(x.v + r, value[r] * factor);
  if (w.pack == NUMBERS)
    ((item *)v.data)[at] = x;
  else
#pragma unroll
    for (int r = 0; r < NUMBERS; r++)
      if (r < w.pack) ((stored *)v.data)[at * w.pack + r] = x.v[r];
  *item_scale(v, w, at) = largest; /* the same from every group of the site */
}
#endif

#endif
