/* gauge_ops.h - kernel table of link fields, one for each backend and precision.
 * - Link physics works in double on 18 reals ("wide" links: [parity][block][mu][18][W]). Only the
 *   double table has it. The single and half tables have the kernels of storage, single also those
 *   of fattening; other entries are NULL.
 * - Fields in other storage pass through encode and decode.
 * - Transformations g are site fields [block][18][W].
 * - sites: lexicographic index of every lane's site, -1 if masked (lib/grid/site_table.h); NULL
 *   if kernels compute the indices.
 * - Sums and maxima go to `result` in device memory, taken over fixed chunks in chunk order. */
#pragma once

#include <stddef.h>

#include "gauge/exact_sum.h"
#include "lib/core/launch.h"
#include "lib/math/fatten_factors.h"

/* A field of matrices of both parities, odd directly after even, `matrices` a site (links: 4),
 * converted between wide doubles and the table's precision in `recon` = 18, 12 or 8 reals. Masked
 * lanes stay zero in wide form. */
typedef struct kaon_recode_args {
  int64_t nblocks;   /* blocks of one parity that hold sites */
  int64_t stride;    /* blocks from one matrix of a parity to the next; those from nblocks on are
                        unused */
  int tail_lanes[2]; /* lanes with a site in each parity's last block */
  int matrices;
  int recon;
  void *wide;
  void *narrow;
} kaon_recode_args;

/* What links of an array are multiplied by on import. */
typedef struct kaon_link_scale {
  double by[4];   /* links of each direction */
  int negative_t; /* local t of the slice whose t links are also multiplied by -1; -1: none */
} kaon_link_scale;

static inline KAON_HD double kaon_link_scale_at(const kaon_link_scale *scale, const int site[4],
                                                int mu) {
  const double by = scale->by[mu];
  return mu == 3 && site[3] == scale->negative_t ? -by : by;
}

/* Links between the wide field and an array in another code's order (lib/math/link_orders.h), both
 * in device memory. A backend whose memory the host reaches has no such kernel. Masked lanes are
 * left alone. */
typedef struct kaon_reorder_args {
  const kaon_stencil *stencil;
  int order;             /* kaon_gauge_order */
  int array;             /* index among the order's arrays */
  int take;              /* 1: memory to links; 0: back */
  int single;            /* 1: memory holds floats */
  kaon_link_scale scale; /* take */
  int64_t first, count;  /* matrices of the array; memory begins at the first */
  void *memory;
  void *links[2];
} kaon_reorder_args;

/* out = g in, or g^dag in, on every spin of the gated columns; out may be in. */
typedef struct kaon_rotate_args {
  int64_t nblocks;
  int nrhs;
  int dagger;
  const void *g; /* in double; float for the single and half tables */
  kaon_view in, out;
  kaon_gate gate;
} kaon_rotate_args;

/* Stores the clover blocks of one parity from doubles. Half is scaled by the largest element of
 * each (site, chirality), see lib/math/clover.h. */
typedef struct kaon_clover_store_args {
  int64_t nblocks;
  const double *wide; /* [block][72][W] */
  void *narrow;
  float *scale; /* half: a field of two reals a site, one a chirality (lib/vector/layout.h) */
} kaon_clover_store_args;

/* Arguments of most kernels on wide links, which work on the sites of `parity`. */
typedef struct kaon_links_args {
  const kaon_stencil *stencil;
  int parity;
  void *links[2];
  const int64_t *sites; /* of `parity`; NULL if the kernel does not read it */
  double *result;
  kaon_exact_scale scale; /* plaquette, size */
} kaon_links_args;

enum { KAON_UPDATE_HEATBATH, KAON_UPDATE_OVERRELAX };
typedef struct kaon_update_links_args {
  kaon_links_args on;
  int kind;
  int mu; /* direction of the links that change, in place: U_mu at the sites of on.parity */
  double beta;
  uint64_t seed;
  uint32_t sweep;
} kaon_update_links_args;

enum { KAON_FILL_UNIT, KAON_FILL_RANDOM, KAON_FILL_WEAK };
typedef struct kaon_fill_links_args {
  kaon_links_args on;
  int kind;
  double eps;
  uint64_t seed;
} kaon_fill_links_args;

/* Temporal transport of one slice: at the sites with time t, g(x) = g(x - t) U_t(x - t), or 1 on
 * slice 0. t and `slice`, the number of sites of a slice, refer to the whole lattice. The slice
 * must be on this rank, except for the Polyakov loop, to which other ranks add nothing. */
typedef struct kaon_transport_args {
  kaon_links_args on;
  void *g[2];
  int64_t slice;
  int t;
} kaon_transport_args;

/* to = g(x) U_mu(x) g(x + mu)^dag. unit_below > 0: t links on sites with an index below it are set
 * to exactly 1 (the temporal gauge). */
typedef struct kaon_transform_args {
  kaon_links_args on;
  const void *g[2];
  void *to; /* links of on.parity; must not be on.links */
  int64_t unit_below;
} kaon_transform_args;

/* blocks[block][72][W] = the chiral blocks of A = 1 - coefficient sum_{mu<nu} sigma F, where planes
 * with t have the coefficient times `electric`. */
typedef struct kaon_clover_term_args {
  kaon_links_args on;
  double coefficient; /* kappa csw */
  double electric;    /* csw_time / csw */
  double *blocks;
} kaon_clover_term_args;

/* blocks = blocks^-1, in place.
 *   result[0] <- sum of log |det|
 *   result[1] <- the smallest ratio |pivot| / |largest element|
 *   result[2] <- its place, block * width + lane
 *   result[3] <- number of blocks with det < 0 (two blocks a site) */
typedef struct kaon_clover_invert_args {
  const kaon_stencil *stencil;
  int parity;
  double *blocks;
  double *result;
} kaon_clover_invert_args;

/* blocks = blocks^2 + shift, on one parity. */
typedef struct kaon_clover_square_args {
  const kaon_stencil *stencil;
  double shift;
  double *blocks;
} kaon_clover_square_args;

/* Fattening, in the table's precision, on fields of 18 reals and both parities at once: computes S,
 * X or the fat links of direction mu, as defined in lib/math/link_fatten.h. `from` and `to` hold S
 * and X in the slots of their directions. */
enum { KAON_FATTEN_STAPLES, KAON_FATTEN_SECOND_STAPLES, KAON_FATTEN_LINK };
typedef struct kaon_fatten_args {
  const kaon_stencil *stencil;
  int stage;
  int mu;
  kaon_fat_factors factors;
  const void *links[2];
  const void *from[2]; /* SECOND_STAPLES: S; LINK: X */
  void *to[2];         /* must differ from both */
} kaon_fatten_args;

/* to_mu(x) = factor left_mu(x) right_mu(x+mu), all mu. */
typedef struct kaon_line_args {
  const kaon_stencil *stencil;
  double factor;
  const void *left[2], *right[2];
  void *to[2]; /* must differ from both */
} kaon_line_args;

/* Replaces every link by the nearest unitary matrix (lib/math/unitary.h). result: number of links
 * that needed singular values; the smallest |det|; 4 * site + mu of it, the lowest of equal ones;
 * number of links that were not finite. */
typedef struct kaon_unitarise_args {
  const kaon_stencil *stencil;
  kaon_unitary_limits limits;
  const int64_t *sites[2];
  void *links[2]; /* in place */
  double *result;
} kaon_unitarise_args;

/* links *= factor, in place. With `phase`, links e^{i theta} V of U(3) become V, and tan(theta / 2)
 * is stored in numbers of `bytes` bytes, [mu][block][W] with the links' blocks. result[0] <- the
 * largest |theta|. */
typedef struct kaon_split_args {
  kaon_links_args on;
  double factor;
  int bytes;   /* 8, 4 or 2 */
  void *phase; /* of on.parity, or NULL */
} kaon_split_args;

/* Number of values of `result` that a kernel fills. */
enum {
  KAON_PLAQUETTE_MEANS = 3,   /* Re tr of space planes, time planes, links */
  KAON_PLAQUETTE_RESULTS = 6, /* their sums: coarse parts, then fine ones (exact_sum.h) */
  KAON_CHARGE_RESULTS = 1,    /* sum of q(x) */
  KAON_POLYAKOV_RESULTS = 2,  /* sum of tr over the lines that end at the parity's last slice */
  /* max entry of |U U^dag - 1|; max of that and |det U - 1| (infinite if a link is not finite); 4 *
   * site + mu of the latter. */
  KAON_INSPECT_RESULTS = 3,
  KAON_INVERT_RESULTS = 4,
  KAON_SIZE_RESULTS = 3, /* sum of |component|^2: coarse part, fine part; largest |component| */
  KAON_SPLIT_RESULTS = 1,
  KAON_UNITARISE_RESULTS = 4,
  KAON_GAUGE_RESULTS = 6
};

/* The kernels and their arguments: of all precisions; of double and single; of double alone. */
/* clang-format off */
#define KAON_GAUGE_STORAGE(X)                                                              \
  X(encode, recode) X(decode, recode) X(rotate, rotate) X(clover_store, clover_store)
#define KAON_GAUGE_FATTENING(X) X(fatten, fatten) X(line, line) X(unitarise, unitarise)
#define KAON_GAUGE_DOUBLE(X)                                                               \
  X(fill, fill_links) X(project, links) X(inspect, links) X(plaquette, links)              \
  X(charge, links) X(update, update_links) X(transport, transport) X(polyakov, transport)  \
  X(transform, transform) X(clover_term, clover_term) X(clover_invert, clover_invert)      \
  X(clover_square, clover_square) X(size, links) X(split, split)
/* clang-format on */

typedef struct kaon_gauge_ops {
#define KAON_X(entry, type) \
  void (*entry)(const kaon_launch *launch, const kaon_##type##_args *args);
  KAON_GAUGE_STORAGE(KAON_X)
  KAON_GAUGE_FATTENING(KAON_X)
  KAON_GAUGE_DOUBLE(KAON_X)
  KAON_X(reorder, reorder) /* on devices */
#undef KAON_X
  void (*copy)(const kaon_launch *launch, void *to, const void *from, size_t bytes);
} kaon_gauge_ops;
