/* layout.h - the one index formula of every field, for host and device.
 * A field of one parity is an array of blocks of W lanes (W = `width` of its space). Real component
 * c of lane l and column k of block b stands at ((b * nrhs + k) * ncomp + c) * W + l. See
 * docs/architecture.md, "Layout". */
#ifndef KAON_LIB_LAYOUT_H
#define KAON_LIB_LAYOUT_H

#include <stdint.h>

#ifdef __CUDACC__
#define KAON_HD __host__ __device__
#else
#define KAON_HD
#endif

enum { KAON_MAX_WIDTH = 16 };

/* Reals of a site's clover term: two chiral blocks (lib/math/clover.h). */
enum { KAON_CLOVER_REALS = 72 };

static inline KAON_HD int64_t kaon_field_index(int64_t block, int column, int component, int lane,
                                               int nrhs, int ncomp, int width) {
  return ((block * nrhs + column) * ncomp + component) * width + lane;
}

/* Links of one parity: those of x, then of y, z, t, so that a hop reads each direction as a stream;
 * one idle block apart, so that the streams do not meet in the same sets of a cache. */
static inline KAON_HD int64_t kaon_link_blocks(int64_t nblocks) {
  return nblocks + 1;
}

static inline KAON_HD int64_t kaon_link_index(int64_t block, int mu, int component, int lane,
                                              int64_t nblocks, int ncomp, int width) {
  const int64_t at = mu * kaon_link_blocks(nblocks) + block;
  return kaon_field_index(at, 0, component, lane, 1, ncomp, width);
}

/* Neighbour-table entry: block << 4 | flags. */
enum {
  KAON_NB_EXCHANGE = 1, /* split order: the neighbour sits in lane ^ (1 << bit[mu]) */
  KAON_NB_GATHER = 2,   /* plain order: look up every lane in the gather table */
  KAON_NB_BOUNDARY = 4, /* some lanes cross the antiperiodic boundary: multiply by the lane signs */
  KAON_NB_UNIT = 8,     /* the link on this hop is the identity in every lane (temporal gauge) */
  KAON_NB_SHIFT = 4
};

/* Directions of hops: 0..3 forward x, y, z, t; 4..7 backward. */
enum { KAON_DIRS = 8 };

/* What a kernel must know of a lattice; one object a lattice, owned by it, the same for all
 * precisions. gather entries: signed; neighbour site index block * width + lane, or ~that where the
 * hop crosses the antiperiodic boundary. */
typedef struct kaon_stencil {
  int64_t nblocks;              /* blocks of one parity */
  int64_t nsites;               /* true sites of one parity */
  int width;                    /* lanes of a block */
  int tail_lanes;               /* true lanes of the last block (= width when nothing is masked) */
  int exchange_bit[4];          /* split order: lane bit of mu, -1 when mu is not cut */
  const uint32_t *neighbour[2]; /* [parity of the centre][block * 8 + dir] */
  const int32_t *gather[2]; /* plain order: [parity][(block * 8 + dir) * width + lane], else NULL */
  float boundary_sign[KAON_DIRS][KAON_MAX_WIDTH]; /* split order: signs by direction and the lane of
                                                     the centre */
} kaon_stencil;

#endif
