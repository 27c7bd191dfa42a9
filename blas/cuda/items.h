/* items.h - items of columns, for the CUDA kernels that join columns (block.cu, gram.cu). An item
 * is one access of a lane to a column: 16 bytes, neighbouring values being (re, im). In half it is
 * a lane's group of components, under the scale of its site. The items of all columns at one
 * position meet in a thread or a block, so each vector is read from memory once. */
#pragma once

#include "blas/cuda/unit.h"

#if !KAON_IS_HALF
enum { NUMBERS = WORD };
typedef word item;
#else
enum { NUMBERS = KAON_ACCESS / (int)sizeof(stored) };
typedef kaon_packet<uint32_t, NUMBERS / 2> item; /* pairs of integers, the first in the lower
                                                  * half */
#endif

typedef struct items {
  int64_t count;    /* items of a column */
  int unit, nrhs;   /* items in a unit; units of a block */
  int pack, groups; /* reals in an item; half: items of a site */
} items;

static items items_of(const kaon_shape *shape) {
  items w;
#if !KAON_IS_HALF
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

/* The columns that take part, one bit each. Called by all lanes of a warp. */
KAON_DEVICE uint64_t open_columns(const kaon_gate &gate, int nrhs) {
  const int lane = threadIdx.x % 32;
  const bool low = lane < nrhs && gate_open(gate, lane);
  const bool high = lane + 32 < nrhs && gate_open(gate, lane + 32);
  return __ballot_sync(0xffffffffu, low) | (uint64_t)__ballot_sync(0xffffffffu, high) << 32;
}

/* The block of item i of a column, and the item's index among all items. */
KAON_DEVICE int64_t item_block(const items &w, int64_t i) {
  return i >> 32 == 0 ? (int64_t)((uint32_t)i / (uint32_t)w.unit) : i / w.unit;
}

KAON_DEVICE int64_t item_at(const items &w, int64_t i, int column) {
  return i + (item_block(w, i) * (w.nrhs - 1) + column) * w.unit;
}

#if !KAON_IS_HALF
KAON_DEVICE item item_read(const kaon_view &v, const items &w, int64_t at, bool whole) {
  (void)w, (void)whole;
  return word_read(v, at);
}
#else
/* whole: items of NUMBERS reals. */
KAON_DEVICE item item_read(const kaon_view &v, const items &w, int64_t at, bool whole) {
  if (whole) return ((const item *)v.data)[at];
  const uint16_t *from = (const uint16_t *)v.data + at * w.pack;
  item x = {};
#pragma unroll
  for (int r = 0; r < NUMBERS; r++)
    if (r < w.pack) x.v[r / 2] |= (uint32_t)from[r] << 16 * (r % 2);
  return x;
}

/* Integer r as a float: places its bits in the mantissa of 2^23 and subtracts the offset, since
 * conversion instructions are slow. */
KAON_DEVICE float item_integer(const item &x, int r) {
  return __uint_as_float(
             __byte_perm(x.v[r / 2] ^ 0x80008000u, 0x4b000000u, r % 2 ? 0x7632 : 0x7610)) -
         8421376.0f;
}

/* Rounds and stores. factor: kaon_half_factor of the site's largest value. */
KAON_DEVICE void item_round(const kaon_view &v, const items &w, int64_t at, bool whole,
                            const real *value, float factor) {
  item x;
#pragma unroll
  for (int r = 0; r < NUMBERS; r += 2)
    x.v[r / 2] = quantise_pair<true>(value[r], value[r + 1], factor);
  if (whole) {
    ((item *)v.data)[at] = x;
    return;
  }
  uint16_t *to = (uint16_t *)v.data + at * w.pack;
#pragma unroll
  for (int r = 0; r < NUMBERS; r++)
    if (r < w.pack) to[r] = (uint16_t)(x.v[r / 2] >> 16 * (r % 2));
}
#endif
