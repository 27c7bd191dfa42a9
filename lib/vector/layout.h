/* layout.h - the one index formula of every field, for host and device.
 * A field of one parity is an array of blocks of W lanes (W = `width` of its space). A lane's
 * components stand in groups of V (`pack`): real component c of lane l and column k of block b at
 *   ((b * nrhs + k) * ncomp + c - c % V) * W + l * V + c % V.
 * On the CPU V = 1: a vector register holds one component of W lanes. On a GPU a lane is a thread,
 * which reads 16 bytes at once where ncomp allows it. See lib/vector/README.md. */
#ifndef KAON_LIB_LAYOUT_H
#define KAON_LIB_LAYOUT_H

#include <stdint.h>

/* KAON_HD_CALLED: a kernel has one copy, which it calls. What one thread or one block runs at the
 * end of a sum stands in every kernel that sums: inlined, it would be most of what is compiled. */
#ifdef __CUDACC__
#define KAON_HD __host__ __device__
#define KAON_HD_CALLED __host__ __device__ __noinline__
#else
#define KAON_HD
#define KAON_HD_CALLED
#endif

enum { KAON_MAX_WIDTH = 32 };

/* Reals of a site's clover term: two chiral blocks (lib/math/clover.h). */
enum { KAON_CLOVER_REALS = 72 };

/* Components in a group, of fields whose lanes read `access` bytes at once (backend.h; 0: one
 * component): the largest of access / size, half of it, ..., 1 that divides ncomp. size: bytes of a
 * component. */
static inline KAON_HD int kaon_pack(int access, int ncomp, int size) {
  int pack = access / size;
  while (pack > 1 && ncomp % pack != 0) pack /= 2;
  return pack > 1 ? pack : 1;
}

/* From a lane's component 0 to component c. `pack` is a power of two. */
static inline KAON_HD int kaon_component_offset(int c, int width, int pack) {
  return (c & -pack) * width + (c & (pack - 1));
}

/* The index, and what it is with pack = 1. */
static inline KAON_HD int64_t kaon_packed_index(int64_t block, int column, int component, int lane,
                                                int nrhs, int ncomp, int width, int pack) {
  return (block * nrhs + column) * ncomp * width + lane * pack +
         kaon_component_offset(component, width, pack);
}

static inline KAON_HD int64_t kaon_field_index(int64_t block, int column, int component, int lane,
                                               int nrhs, int ncomp, int width) {
  return ((block * nrhs + column) * ncomp + component) * width + lane;
}

/* Links of one parity: those of x, then of y, z, t, so that a hop reads each direction as a stream;
 * one idle block apart, so that the streams do not meet in the same sets of a cache. */
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
  KAON_NB_GATHER = 2,   /* plain order: look up every lane in the gather table */
  KAON_NB_BOUNDARY = 4, /* some lanes cross the antiperiodic boundary: multiply by the lane signs;
                           in t alone, as UNIT */
  KAON_NB_UNIT = 8,     /* the link on this hop is the identity in every lane (temporal gauge) */
  KAON_NB_SHIFT = 4
};

/* Directions of hops: 0..3 forward x, y, z, t; 4..7 backward. */
enum { KAON_DIRS = 8 };

/* Hops across the faces of a lattice that is partitioned among ranks (lib/grid/faces.c). A site whose
 * neighbour in direction dir is another rank's meets a ghost: a half spinor that the neighbour has
 * projected (forward hops), or projected and multiplied by its link (backward hops). The ghosts of
 * a direction are numbered in the order of the sites that meet them, block by block, lane by lane;
 * ghost n stands in a message at kaon_ghost_index. Tables by parity of the sites that meet them. */
typedef struct kaon_faces {
  int partitioned[4];
  int group[4];          /* ghosts side by side: W, or W / 2 where the split order cuts mu */
  int64_t ghosts[4];     /* of a parity, on each of the two faces across mu, at most (a face may
                            have more of one of them: by one where the other three extents are odd; on
                            CUDA there is room for (x + 1) / 2 in each of its rows of x, across x for
                            (y + 1) / 2 in each of y); 0: not partitioned */
  float sign[KAON_DIRS]; /* -1: this rank's hops (forward), or what it sends for the hops of its
                            neighbour (backward), cross the antiperiodic boundary */
  int64_t interior_blocks[2], boundary_blocks[2];
  int32_t *interior[2], *boundary[2]; /* which blocks meet no ghost, and which do */
  int32_t *first[2];  /* [boundary block's place in the list * 8 + dir]: its first ghost */
  uint32_t *lanes[2]; /* [the same]: which lanes meet ghosts, a bit each */
  int64_t senders[2][KAON_DIRS]; /* blocks of the other parity that the ghosts of dir are made of */
  int32_t *sender[2][KAON_DIRS]; /* which */
  int32_t *target[2][KAON_DIRS]; /* [place in that list * W + lane]: the ghost's number at the
                                    neighbour, -1: none */
} kaon_faces;

enum { KAON_GHOST_REALS = 12 };

/* Component c (of 12) of ghost n, `group` ghosts side by side; ncomp = 1: scales. */
static inline KAON_HD int64_t kaon_ghost_index(int64_t n, int column, int c, int nrhs, int ncomp,
                                               int group) {
  return ((n / group * nrhs + column) * ncomp + c) * group + n % group;
}

/* Links in t that are the identity: those below the last slice; or all here, since the last slice
 * of the whole lattice is another rank's. */
enum { KAON_TEMPORAL_NONE, KAON_TEMPORAL_BELOW_LAST, KAON_TEMPORAL_ALL };

/* Hops that are left out (kaon_stencil.cut), where kernels look their neighbours up (lib/grid/cuts.c).
 * Tables by the parity of the sites that the hops would lead to. */
typedef struct kaon_cuts {
  uint8_t *dirs[2];   /* [block]: a bit a direction in which some lane's hop is left out */
  uint32_t *lanes[2]; /* [block * 8 + dir]: which lanes', a bit each */
} kaon_cuts;

/* What a kernel must know of a lattice; one object a lattice, owned by it, the same for all
 * precisions. gather entries: signed; neighbour site index block * width + lane, or ~that where the
 * hop crosses the antiperiodic boundary. */
typedef struct kaon_stencil {
  int64_t nblocks;              /* blocks of one parity */
  int64_t nsites;               /* sites of the parity that has more: by one, where their number on
                                   the rank is odd, else both have as many */
  int64_t sites[2];             /* of each parity */
  int width;                    /* lanes of a block */
  int access;                   /* bytes that a lane reads at once: kaon_pack's */
  int tail_lanes[2];            /* true lanes of the last block, of each parity (= width where none
                                   is masked; 0 may be) */
  int exchange_bit[4];          /* split order: lane bit of mu, -1 when mu is not cut */
  const uint32_t *neighbour[2]; /* [parity of the centre][block * 8 + dir] */
  const int32_t *gather[2]; /* plain order: [parity][(block * 8 + dir) * width + lane], else NULL */
  /* Where kernels work neighbours out themselves, both tables are NULL: lanes are consecutive
   * sites of a parity in the order of their numbers x + X (y + Y (z + Z t)). */
  int extents[4];
  int global[4];  /* of the whole lattice, and where in it this rank's first site is: what a site is
                   */
  int origin[4];  /* numbered by for random numbers and sources */
  int odd_origin; /* 1: the sum of origin's coordinates is odd, and a site's parity, which is the
                     whole lattice's, the other one than its coordinates on the rank would give */
  int antiperiodic; /* in t */
  int temporal;     /* temporal gauge: which t links are the identity, KAON_TEMPORAL_* */
  int cut[4];       /* hops that leave a block of so many sites in mu are left out; 0: none are */
  const kaon_cuts *cuts; /* which these are; NULL: none, or kernels work it out from `cut` */
  float boundary_sign[KAON_DIRS][KAON_MAX_WIDTH]; /* split order: signs by direction and the lane of
                                                     the centre */
  const kaon_faces *faces;                        /* NULL: no direction is partitioned */
  /* Links have the sites beyond the faces as ordinary blocks, numbered behind nblocks
   * (lib/grid/ghosts.c). walk: [parity][(block * 8 + dir) * width + lane], like gather, from every block
   * and into those; edge: [parity][block] != 0 where a path over neighbours may leave the rank,
   * NULL where neighbours are computed. In device memory, like all tables. */
  int64_t ghost_blocks; /* of one parity; 0: nothing is partitioned */
  const int32_t *walk[2];
  const uint8_t *edge[2];
} kaon_stencil;

/* Blocks that the links of one parity and direction take, for kaon_link_index: those of the sites,
 * and of the ghosts. */
static inline KAON_HD int64_t kaon_matrix_blocks(const kaon_stencil *st) {
  return st->nblocks + st->ghost_blocks;
}

#endif
