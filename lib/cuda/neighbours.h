/* neighbours.h - where a site is and who its neighbours are, on a GPU: no tables, a few
 * multiplications. Site `at` = block * KAON_LANES + lane of one parity is the at-th checkerboard
 * site in the order x / 2, y, z, t (lib/layout.h, kaon_stencil.extents). Make a kaon_sites on the
 * host, hand it to the kernel by value. */
#ifndef KAON_LIB_CUDA_NEIGHBOURS_H
#define KAON_LIB_CUDA_NEIGHBOURS_H

#include "lib/layout.h"

/* Division by a number known to the host: n / d = (n * multiplier) >> shift for 0 <= n < 2^31. With
 * 2^s >= d > 2^(s-1), shift = 31 + s, multiplier = ceil(2^shift / d) < 2^32: its error, below d,
 * times n stays below 2^shift. */
typedef struct kaon_divisor {
  uint32_t d, multiplier;
  int shift;
} kaon_divisor;

static inline kaon_divisor kaon_divisor_of(uint32_t d) {
  kaon_divisor by;
  int s = 0;
  while ((UINT64_C(1) << s) < d) s++;
  by.d = d;
  by.shift = 31 + s;
  by.multiplier = (uint32_t)(((UINT64_C(1) << by.shift) + d - 1) / d);
  return by;
}

static inline KAON_HD uint32_t kaon_divide_by(uint32_t n, const kaon_divisor *by) {
  return (uint32_t)(((uint64_t)n * by->multiplier) >> by->shift);
}

typedef struct kaon_sites {
  int32_t nsites; /* true sites of a parity; lanes beyond are masked */
  int extents[4];
  int half_x;
  int antiperiodic;
  kaon_divisor x, y, z; /* by half_x, extents[1], extents[2] */
} kaon_sites;

static inline kaon_sites kaon_sites_of(const kaon_stencil *stencil) {
  kaon_sites s;
  s.nsites = (int32_t)stencil->nsites;
  for (int mu = 0; mu < 4; mu++) s.extents[mu] = stencil->extents[mu];
  s.half_x = stencil->extents[0] / 2;
  s.antiperiodic = stencil->antiperiodic;
  s.x = kaon_divisor_of((uint32_t)s.half_x);
  s.y = kaon_divisor_of((uint32_t)s.extents[1]);
  s.z = kaon_divisor_of((uint32_t)s.extents[2]);
  return s;
}

/* A site: its number and parity, x / 2 and the coordinates. */
typedef struct kaon_here {
  int32_t at;
  int parity, half, odd_x; /* x = 2 half + odd_x */
  int y, z, t;
} kaon_here;

static inline KAON_HD kaon_here kaon_here_of(const kaon_sites *s, int parity, int32_t at) {
  kaon_here h;
  uint32_t row = kaon_divide_by((uint32_t)at, &s->x);
  uint32_t plane = kaon_divide_by(row, &s->y);
  h.at = at;
  h.parity = parity;
  h.half = (int)((uint32_t)at - row * (uint32_t)s->half_x);
  h.y = (int)(row - plane * (uint32_t)s->extents[1]);
  h.t = (int)kaon_divide_by(plane, &s->z);
  h.z = (int)(plane - (uint32_t)h.t * (uint32_t)s->extents[2]);
  h.odd_x = (h.y + h.z + h.t + parity) & 1;
  return h;
}

/* x + X (y + Y (z + Z t)): of two neighbours in x one is even, so the pairs are numbered by `at`.
 */
static inline KAON_HD int64_t kaon_here_number(const kaon_here *h) {
  return 2 * (int64_t)h->at + h->odd_x;
}

/* The number, on the other parity, of the neighbour in direction dir (0..3 forward x, y, z, t; 4..7
 * backward). *sign: -1 where the hop crosses the antiperiodic boundary, else 1. dir is best known
 * when compiled. */
static inline KAON_HD int32_t kaon_neighbour_of(const kaon_sites *s, const kaon_here *h,
                                                const int dir, int *sign) {
  const int forward = dir < 4;
  *sign = 1;
  if (dir % 4 == 0) { /* the neighbour shares x / 2, or is the next pair's */
    if (forward != h->odd_x) return h->at;
    if (forward) return h->half + 1 < s->half_x ? h->at + 1 : h->at - h->half;
    return h->half > 0 ? h->at - 1 : h->at + s->half_x - 1;
  }
  int32_t stride = s->half_x;
  if (dir % 4 > 1) stride *= s->extents[1];
  if (dir % 4 > 2) stride *= s->extents[2];
  const int extent = s->extents[dir % 4];
  const int x = dir % 4 == 1 ? h->y : dir % 4 == 2 ? h->z : h->t;
  const int edge = forward ? extent - 1 : 0;
  if (x != edge) return forward ? h->at + stride : h->at - stride;
  if (dir % 4 == 3 && s->antiperiodic) *sign = -1;
  return forward ? h->at - (extent - 1) * stride : h->at + (extent - 1) * stride;
}

#endif
