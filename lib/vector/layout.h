/* layout.h - the one index formula of every field, for host and device.
 * A field of one parity is an array of blocks of W lanes (W = `width` of its space). The components
 * of a lane are in groups of V (`pack`). Real component c of lane l and column k of block b is at
 *   ((b * nrhs + k) * ncomp + c - c % V) * W + l * V + c % V.
 * On the CPU V = 1: a vector register holds one component of W lanes. On a GPU a lane is a thread,
 * which reads 16 bytes at once if ncomp allows it. See lib/vector/README.md. */
#pragma once

#include <stdint.h>

/* Around declarations of functions that C and CUDA C call. */
#ifdef __cplusplus
#define KAON_BEGIN_C extern "C" {
#define KAON_END_C }
#else
#define KAON_BEGIN_C
#define KAON_END_C
#endif

/* KAON_HD_CALLED: a function that kernels call instead of inlining. It is for code that one thread
 * or one block runs at the end of every sum; inlined, it would be most of the compiled code. */
#ifdef __CUDACC__
#define KAON_HD __host__ __device__
#define KAON_HD_CALLED __host__ __device__ __noinline__
#define KAON_DEVICE static __device__ __forceinline__
#else
#define KAON_HD
#define KAON_HD_CALLED
#endif

enum { KAON_MAX_WIDTH = 32 };

/* Sites of a fifth dimension (kaon_space.inner). */
enum { KAON_INNER_MAX = 64 };

/* Reals of a site's clover term: two chiral blocks (lib/math/clover.h). */
enum { KAON_CLOVER_REALS = 72 };

/* Components of a group, for fields whose lanes read `access` bytes at once (backend.h; 0: one
 * component): the largest of access / size, half of it, ..., 1 that divides ncomp. size: bytes of a
 * component. */
static inline KAON_HD int kaon_pack(int access, int ncomp, int size) {
  int pack = access / size;
  while (pack > 1 && ncomp % pack != 0) pack /= 2;
  return pack > 1 ? pack : 1;
}

/* Offset from a lane's component 0 to component c. `pack` is a power of two. */
static inline KAON_HD int kaon_component_offset(int c, int width, int pack) {
  return (c & -pack) * width + (c & (pack - 1));
}

/* The index for any pack, and the index for pack = 1. */
static inline KAON_HD int64_t kaon_packed_index(int64_t block, int column, int component, int lane,
                                                int nrhs, int ncomp, int width, int pack) {
  return (block * nrhs + column) * ncomp * width + lane * pack +
         kaon_component_offset(component, width, pack);
}

static inline KAON_HD int64_t kaon_field_index(int64_t block, int column, int component, int lane,
                                               int nrhs, int ncomp, int width) {
  return ((block * nrhs + column) * ncomp + component) * width + lane;
}

/* Links of one parity: all of x, then of y, z, t, so that a hop reads each direction as one stream.
 * One spare block separates the directions, so that the streams use different cache sets. */
static inline KAON_HD int64_t kaon_link_blocks(int64_t nblocks) {
  return nblocks + 1;
}

static inline KAON_HD int64_t kaon_packed_link_index(int64_t block, int mu, int component, int lane,
                                                     int64_t nblocks, int ncomp, int width,
                                                     int pack) {
  const int64_t at = mu * kaon_link_blocks(nblocks) + block;
  return kaon_packed_index(at, 0, component, lane, 1, ncomp, width, pack);
}

static inline KAON_HD int64_t kaon_link_index(int64_t block, int mu, int component, int lane,
                                              int64_t nblocks, int ncomp, int width) {
  return kaon_packed_link_index(block, mu, component, lane, nblocks, ncomp, width, 1);
}

/* Neighbour-table entry: block << 4 | flags. */
enum {
  KAON_NB_EXCHANGE = 1, /* split order: the neighbour sits in lane ^ (1 << bit[mu]) */
  KAON_NB_GATHER = 2,   /* plain order: read the gather table for every lane */
  KAON_NB_BOUNDARY = 4, /* some lanes cross the antiperiodic boundary: multiply by the lane signs;
                           only in t, as UNIT */
  KAON_NB_UNIT = 8,     /* the link on this hop is the identity in every lane (temporal gauge) */
  KAON_NB_SHIFT = 4
};

/* Directions of hops: 0..3 forward x, y, z, t; 4..7 backward. */
enum { KAON_DIRS = 8 };

/* Hops across the faces of a lattice that is partitioned among ranks (lib/grid/faces.c). If the
 * neighbour of a site in direction dir is on another rank, the hop reads a ghost. This is a half
 * spinor that the neighbouring rank has projected (forward hops), or projected and multiplied by
 * its link (backward hops). The ghosts of a direction are numbered in the order of the sites that
 * use them, block by block, lane by lane. Ghost n is in a message at kaon_ghost_index. Tables are
 * indexed by the parity of the sites that use the ghosts. */
typedef struct kaon_faces {
  int partitioned[4];
  int group[4]; /* ghosts side by side: W, or W / 2 if the split order cuts mu */
  /* Upper bound of the ghosts of one parity on each of the two faces across mu; 0: not partitioned.
   * If the other three extents are odd, one face has one ghost more than the other. On CUDA it is a
   * capacity: (x + 1) / 2 for each row of x, and across x (y + 1) / 2 for each row of y. */
  int64_t ghosts[4];
  /* -1: the antiperiodic boundary is crossed by this rank's hops (forward), or by the neighbour's
   * hops that this rank sends for (backward). */
  float sign[KAON_DIRS];
  int64_t interior_blocks[2], boundary_blocks[2];
  int32_t *interior[2], *boundary[2]; /* the blocks that use no ghost, and those that do */
  /* [index in the boundary list * 8 + dir]: first ghost of the block. */
  int32_t *first[2];
  uint32_t *lanes[2]; /* [the same]: bit mask of the lanes that use ghosts */
  /* Number of blocks of the other parity that the ghosts of dir are made from. */
  int64_t senders[2][KAON_DIRS];
  int32_t *sender[2][KAON_DIRS]; /* these blocks */
  /* [index in that list * W + lane]: the ghost's index on the neighbouring rank; -1: none. */
  int32_t *target[2][KAON_DIRS];
} kaon_faces;

enum { KAON_GHOST_REALS = 12 };

/* Index of component c (of 12) of ghost n, with `group` ghosts side by side; ncomp = 1: scales. */
static inline KAON_HD int64_t kaon_ghost_index(int64_t n, int column, int c, int nrhs, int ncomp,
                                               int group) {
  return ((n / group * nrhs + column) * ncomp + c) * group + n % group;
}

/* Links in t that are the identity: those below the last slice, or all on this rank, if the last
 * slice of the whole lattice is on another rank. */
enum { KAON_TEMPORAL_NONE, KAON_TEMPORAL_BELOW_LAST, KAON_TEMPORAL_ALL };

/* Hops that are dropped (kaon_stencil.cut and .along), for kernels that look up their neighbours
 * (lib/grid/cuts.c). Tables are indexed by the parity of the sites that the hops lead to. */
typedef struct kaon_cuts {
  uint8_t *dirs[2];   /* [block]: bit mask of the directions with a dropped hop in some lane */
  uint32_t *lanes[2]; /* [block * 8 + dir]: bit mask of these lanes */
  uint32_t *far[2];   /* the same of hops of three sites; NULL: not made */
} kaon_cuts;

/* What a kernel must know of a lattice. Each lattice owns one such object, for all precisions.
 * Entries of gather are signed: the neighbour's site index block * width + lane, or its complement
 * if the hop crosses the antiperiodic boundary. */
typedef struct kaon_stencil {
  int64_t nblocks; /* blocks of one parity */
  /* Sites of the larger parity. It has one site more if the rank's volume is odd. */
  int64_t nsites;
  int64_t sites[2]; /* of each parity */
  int width;        /* lanes of a block */
  int access;       /* bytes that a lane reads at once (kaon_pack) */
  /* Lanes with a site in the last block of each parity; width if none is masked; may be 0. */
  int tail_lanes[2];
  int exchange_bit[4];          /* split order: lane bit of mu, -1 if mu is not cut */
  const uint32_t *neighbour[2]; /* [parity of the centre][block * 8 + dir] */
  /* Plain order: [parity][(block * 8 + dir) * width + lane], else NULL. */
  const int32_t *gather[2];
  /* If kernels compute neighbours themselves, both tables are NULL: lanes are consecutive sites of
   * a parity in the order of x + X (y + Y (z + Z t)). */
  int extents[4];
  /* Extents of the whole lattice, and this rank's first site in it. Random numbers and sources
   * index sites by these. */
  int global[4];
  int origin[4];
  /* 1: the sum of origin's coordinates is odd. Parity is that of the whole lattice, so it is then
   * opposite to that of the local coordinates. */
  int odd_origin;
  int antiperiodic;      /* in t */
  int temporal;          /* temporal gauge: which t links are the identity (KAON_TEMPORAL_*) */
  int cut[4];            /* hops that leave a block of this extent in mu are dropped; 0: none */
  int along;             /* d + 1: all hops are dropped but those in direction d, and where cut is
                            not 0 but those that leave a block; 0: see `cut` */
  const kaon_cuts *cuts; /* the dropped hops; NULL: none, or kernels derive them from these two */
  /* Split order: signs by direction and lane of the centre. */
  float boundary_sign[KAON_DIRS][KAON_MAX_WIDTH];
  const kaon_faces *faces; /* NULL: no direction is partitioned */
  /* Links have the sites beyond the faces as ordinary blocks, numbered after nblocks
   * (lib/grid/ghosts.c). All tables are in device memory.
   *   walk  [parity][(block * 8 + dir) * width + lane], like gather, from and into every block
   *   edge  [parity][block] != 0 if a path over neighbours may leave the rank; NULL if kernels
   *         compute neighbours */
  int64_t ghost_blocks; /* of one parity; 0: nothing is partitioned */
  const int32_t *walk[2];
  const uint8_t *edge[2];
} kaon_stencil;

/* Blocks of the links of one parity and direction, for kaon_link_index: the sites' and the
 * ghosts'. */
static inline KAON_HD int64_t kaon_matrix_blocks(const kaon_stencil *st) {
  return st->nblocks + st->ghost_blocks;
}
