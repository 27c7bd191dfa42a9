/* neighbours.h - coordinates of a site and indices of its neighbours on a GPU, by a few
 * multiplications instead of tables.
 * Site `at` = block * KAON_LANES + lane is the at-th site of its parity in the order of the
 * lexicographic index x + X (y + Y (z + Z t)) (lib/vector/layout.h, kaon_stencil.extents). Of the
 * indices 2 n and 2 n + 1 one is even and one is odd (lib/grid/site_order.c). So `at` is half the
 * lexicographic index for all extents. `number` below is the lexicographic index.
 * Create a kaon_sites on the host and pass it to the kernel by value. */
#pragma once

#include "lib/vector/layout.h"

/* Division by a number known on the host: n / d = (n * multiplier) >> shift for 0 <= n < 2^31. With
 * 2^s >= d > 2^(s-1), shift = 31 + s and multiplier = ceil(2^shift / d) < 2^32. The error of the
 * multiplier, below d, times n stays below 2^shift. */
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
  int32_t nsites; /* of the parity; lanes from here on are masked */
  int extents[4];
  int half_x; /* pairs of sites in a row of x; if the extent is odd, the last pair has one site */
  int antiperiodic;
  int stride[4];           /* of `number`, from a site to its neighbour */
  int round[4];            /* the same across the periodic boundary */
  int step[8], wrap[8];    /* by direction: half of the change of `number`, rounded down, to a
                            * neighbour and across the periodic boundary */
  int odd[4];              /* 1: that change is odd */
  kaon_divisor divisor[3]; /* by extents[0], extents[1], extents[2]; if tiled, by the number of
                            * tiles in x and of boxes of tiles in y and z */
  int tiled;               /* threads are assigned to tiles */
  uint8_t warp_bits[4];    /* bits of the lane that count x / 2, y, z, t within the tile of a
                            * warp */
  uint8_t block_bits[4];   /* bits of the warp that count the tiles of warps within a block */
  uint8_t near_bits[4];    /* bits of the tile, above those of x, that count tiles within a box */
} kaon_sites;

/* parity: the global parity of the sites. */
static inline kaon_sites kaon_sites_of(const kaon_stencil *stencil, int parity) {
  kaon_sites s = {0};
  s.nsites = (int32_t)stencil->sites[parity];
  for (int mu = 0; mu < 4; mu++) s.extents[mu] = stencil->extents[mu];
  s.half_x = (stencil->extents[0] + 1) / 2;
  s.antiperiodic = stencil->antiperiodic;
  for (int mu = 0, stride = 1; mu < 4; mu++) {
    const int round = s.round[mu] = (s.extents[mu] - 1) * stride;
    s.stride[mu] = stride;
    s.step[mu] = stride >> 1;
    s.step[mu + 4] = -stride >> 1;
    s.wrap[mu] = -round >> 1;
    s.wrap[mu + 4] = round >> 1;
    s.odd[mu] = stride & 1;
    stride *= s.extents[mu];
    if (mu < 3) s.divisor[mu] = kaon_divisor_of((uint32_t)s.extents[mu]);
  }
  return s;
}

/* Assigns blocks of 2^(sum of block_bits) warps to tiles instead of consecutive sites, if the
 * extents allow it. The sites of a warp are then 2^warp_bits[mu] in each direction, so a
 * multiprocessor works on sites that are close in all four directions. Tiles follow each other in
 * boxes: all of x, and up to 4 x 4 x 8 tiles in y, z, t if these divide the lattice. So the sites
 * that the device works on at one time are also close, and share data in the second-level cache. */
static inline void kaon_sites_tile(kaon_sites *s, const uint8_t warp_bits[4],
                                   const uint8_t block_bits[4]) {
  static const uint8_t box_bits[4] = {0, 2, 2, 3};
  if (s->extents[0] % 2 != 0) return;
  for (int mu = 0; mu < 4; mu++)
    if ((mu == 0 ? s->half_x : s->extents[mu]) % (1 << (warp_bits[mu] + block_bits[mu])) != 0)
      return;
  s->tiled = 1;
  for (int mu = 0; mu < 4; mu++) {
    s->warp_bits[mu] = warp_bits[mu];
    s->block_bits[mu] = block_bits[mu];
    const int extent = mu == 0 ? s->half_x : s->extents[mu];
    const int tiles = extent >> (warp_bits[mu] + block_bits[mu]);
    while (s->near_bits[mu] < box_bits[mu] && tiles % (2 << s->near_bits[mu]) == 0)
      s->near_bits[mu]++;
    if (mu < 3)
      s->divisor[mu] = kaon_divisor_of(
          (uint32_t)(extent >> (warp_bits[mu] + block_bits[mu] + s->near_bits[mu])));
  }
}

/* A site: its index among those of its parity, its lexicographic index, and its coordinates on the
 * rank. `parity` here and below is that of the local coordinates. The global parity is parity ^
 * kaon_stencil.odd_origin; the host applies this when it launches a kernel. */
typedef struct kaon_here {
  int32_t at, number;
  int parity;
  int x, y, z, t;
} kaon_here;

/* Decomposes row = (c[3] * d2 + c[2]) * d1 + c[1] with the divisors. */
static inline KAON_HD void kaon_rows_split(const kaon_sites *s, uint32_t row, int c[4]) {
  const uint32_t plane = kaon_divide_by(row, &s->divisor[1]);
  const uint32_t slice = kaon_divide_by(plane, &s->divisor[2]);
  c[1] = (int)(row - plane * s->divisor[1].d);
  c[2] = (int)(plane - slice * s->divisor[2].d);
  c[3] = (int)slice;
}

/* Normalises coordinates that may be one site beyond the end of a row of x: the first site of the
 * next row. */
static inline KAON_HD void kaon_here_wrap_row(const kaon_sites *s, kaon_here *h) {
  if (h->x < s->extents[0]) return;
  h->x = 0;
  if (++h->y < s->extents[1]) return;
  h->y = 0;
  if (++h->z < s->extents[2]) return;
  h->z = 0;
  h->t++;
}

/* The site with index `at` of its parity. Only for sites that are not tiled. */
static inline KAON_HD kaon_here kaon_here_of(const kaon_sites *s, int parity, int32_t at) {
  kaon_here h;
  int c[4];
  const uint32_t first = 2 * (uint32_t)at, row = kaon_divide_by(first, &s->divisor[0]);
  kaon_rows_split(s, row, c);
  c[0] = (int)(first - row * s->divisor[0].d);
  const int second = (c[0] + c[1] + c[2] + c[3] + parity) & 1; /* 1: the second site of the pair */
  h.at = at;
  h.number = (int32_t)first + second;
  h.parity = parity;
  h.x = c[0] + second;
  h.y = c[1];
  h.z = c[2];
  h.t = c[3];
  kaon_here_wrap_row(s, &h);
  return h;
}

/* Returns the lowest bits of *number and shifts them out. */
static inline KAON_HD int kaon_pop_bits(uint32_t *number, int bits) {
  const uint32_t value = *number & ((1u << bits) - 1);
  *number >>= bits;
  return (int)value;
}

/* The site of thread `thread` of block `tile`. Only for tiled sites. */
static inline KAON_HD kaon_here kaon_here_in_tile(const kaon_sites *s, int parity, uint32_t tile,
                                                  uint32_t thread) {
  kaon_here h;
  uint32_t lane = thread % 32, warp = thread / 32;
  uint32_t row = kaon_divide_by(tile, &s->divisor[0]);
  int c[4], near[4] = {0};
  c[0] = (int)(tile - row * s->divisor[0].d);
  for (int mu = 1; mu < 4; mu++) near[mu] = kaon_pop_bits(&row, s->near_bits[mu]);
  kaon_rows_split(s, row, c);
  for (int mu = 0; mu < 4; mu++) {
    c[mu] = c[mu] << s->near_bits[mu] | near[mu];
    c[mu] = c[mu] << s->block_bits[mu] | kaon_pop_bits(&warp, s->block_bits[mu]);
    c[mu] = c[mu] << s->warp_bits[mu] | kaon_pop_bits(&lane, s->warp_bits[mu]);
  }
  h.parity = parity;
  h.x = 2 * c[0] + ((c[1] + c[2] + c[3] + parity) & 1);
  h.y = c[1];
  h.z = c[2];
  h.t = c[3];
  h.number = h.x + h.y * s->stride[1] + h.z * s->stride[2] + h.t * s->stride[3];
  h.at = h.number >> 1;
  return h;
}

static inline KAON_HD int kaon_here_coordinate(const kaon_here *h, const int mu) {
  return mu == 0 ? h->x : mu == 1 ? h->y : mu == 2 ? h->z : h->t;
}

/* The index, in the other parity, of the neighbour in direction dir (0..3 forward x, y, z, t; 4..7
 * backward). Across the boundary of a partitioned direction with odd extent the index is invalid
 * and must not be used. *sign: -1 if the hop crosses the antiperiodic boundary, else 1. If dir is a
 * compile-time constant, this costs a comparison, a select and an addition. */
static inline KAON_HD int32_t kaon_neighbour_of(const kaon_sites *s, const kaon_here *h,
                                                const int dir, int *sign) {
  const int mu = dir % 4, forward = dir < 4;
  const int c = kaon_here_coordinate(h, mu);
  const int edge = forward ? s->extents[mu] - 1 : 0;
  *sign = mu == 3 && s->antiperiodic && c == edge ? -1 : 1;
  return h->at + (c == edge ? s->wrap[dir] : s->step[dir]) + (h->number & s->odd[mu]);
}

/* The same, computed from `number`. It takes one more instruction, and compilers then place loads
 * differently. Each kernel uses the faster one (dslash/cuda/hop_kernel.h). */
static inline KAON_HD int32_t kaon_neighbour_by_index(const kaon_sites *s, const kaon_here *h,
                                                      const int dir, int *sign) {
  const int mu = dir % 4, forward = dir < 4;
  const int c = kaon_here_coordinate(h, mu), round = s->round[mu];
  const int edge = forward ? s->extents[mu] - 1 : 0;
  const int step =
      c == edge ? (forward ? -round : round) : (forward ? s->stride[mu] : -s->stride[mu]);
  *sign = mu == 3 && s->antiperiodic && c == edge ? -1 : 1;
  return (h->number + step) >> 1;
}

/* Hops of three sites. step: 3 modulo the extent. round: how many times a hop in t wraps around a
 * lattice with few slices before that reduction. */
typedef struct kaon_far {
  int step[4], round;
} kaon_far;

static inline kaon_far kaon_far_of(const kaon_sites *s) {
  kaon_far f = {{0, 0, 0, 0}, 3 / s->extents[3]};
  for (int mu = 0; mu < 4; mu++) f.step[mu] = 3 % s->extents[mu];
  return f;
}

/* As kaon_neighbour_of, three sites away. */
static inline KAON_HD int32_t kaon_far_neighbour_of(const kaon_sites *s, const kaon_far *f,
                                                    const kaon_here *h, const int dir, int *sign) {
  const int mu = dir % 4, forward = dir < 4;
  const int c = kaon_here_coordinate(h, mu), extent = s->extents[mu], far = f->step[mu];
  const int crosses = forward ? c >= extent - far : c < far;
  const int to = (forward ? far : -far) + (crosses ? (forward ? -extent : extent) : 0);
  *sign = mu == 3 && s->antiperiodic && ((crosses + f->round) & 1) ? -1 : 1;
  return (h->number + to * s->stride[mu]) >> 1;
}
