/* space.h - the inside of lattices, spaces and vectors. */
#pragma once

#include <kaon/vector.h>

#include "lib/core/context_internal.h"
#include "lib/vector/layout.h"

/* A space that is not of a lattice: its owner (a matrix, or the space itself), which the vectors
 * retain, and the order of its rows. Row i of the space is the caller's row order[i]; only import
 * and export use this. */
typedef struct kaon_rows {
  void *owner; /* NULL: nothing is retained */
  void (*retain)(void *owner);
  void (*release)(void *owner);
  const int32_t *order; /* [row]; NULL: the caller's order */
  const int32_t *there; /* the same table in device memory */
  /* For rows redistributed among ranks, else NULL. enter converts this rank's `given` rows, as the
   * caller passed them, to the nsites rows that this rank works on, in the caller's relative order;
   * `order` then refers to this order. leave converts back. Both are collective. */
  int64_t given;
  kaon_status (*enter)(void *owner, const double *given, double *here);
  kaon_status (*leave)(void *owner, const double *here, double *given);
} kaon_rows;

/* What the values of a vector mean. Immutable; compared by identity. */
struct kaon_space {
  kaon_context *ctx;
  kaon_lattice *lattice; /* NULL: rows of a matrix, or sites of the application */
  kaon_parity parity;
  /* Sites of a fifth dimension at each site of the lattice; 1: none. A vector has `inner` blocks in
   * place of each block of the lattice, and nblocks and nsites count them. So a site of the fifth
   * dimension is one more site to vector updates, sums and scales. To hops it is one more column
   * (kaon_vector_flat). */
  int inner;
  int64_t nblocks;
  int64_t nsites; /* sites (or rows) without masked lanes */
  int width;
  int ncomp; /* reals a site */
  int complex_space;
  kaon_rows rows; /* lattice NULL */
};

/* Index of a site in the caller's array: lexicographic, with the fifth dimension last, or the row;
 * -1 for a masked lane. */
int64_t kaon_space_lattice_site(const struct kaon_space *space, int64_t block, int lane);
static inline int64_t kaon_space_caller_site(const struct kaon_space *space, int64_t block,
                                             int lane) {
  if (space->lattice != NULL) return kaon_space_lattice_site(space, block, lane);
  const int64_t row = block * space->width + lane;
  if (row >= space->nsites) return -1;
  return space->rows.order != NULL ? space->rows.order[row] : row;
}

/* Number of sites or rows in the caller's arrays on this rank. Those of a lattice have both
 * parities. */
int64_t kaon_space_caller_rows(const struct kaon_space *space);

struct kaon_vector {
  kaon_context *ctx;
  const kaon_space *space;
  kaon_precision precision;
  int nrhs;
  void *data;
  float *scale; /* half: one value for each site and column */
  int owns;     /* 0: a view into another vector, which must outlive it */
};

/* Where a site is stored on its rank. Parity is that of the whole lattice (kaon_lattice_parity). */
typedef struct kaon_place {
  int parity;
  int64_t block;
  int lane;
} kaon_place;

typedef struct kaon_ghosts kaon_ghosts; /* lib/grid/ghosts.c */

/* Spaces of as many reals a site and sites of the fifth dimension. */
typedef struct kaon_lattice_spaces {
  struct kaon_lattice_spaces *next;
  kaon_space of[3]; /* even, odd, full */
} kaon_lattice_spaces;

struct kaon_lattice {
  int references;
  kaon_context *ctx;
  int extents[4]; /* of this rank's part; `global`: of the whole lattice */
  int global[4];
  int grid[4];         /* ranks in x, y, z, t */
  int origin[4];       /* global coordinates of this rank's first site */
  int peer[KAON_DIRS]; /* ranks of the neighbours */
  int partitioned[4];  /* 1: values beyond the faces in mu come by messages, even from itself */
  kaon_boundary boundary_t;
  int64_t volume; /* of this rank's part; `global_volume`: of the whole lattice */
  int64_t global_volume;
  int tile[4]; /* extents of the tiles in which blocks are numbered; x and t are not tiled */
  int cut[4];  /* split order: 2 if mu is cut in halves, else 1 */
  int split;   /* 1: split order, 0: plain order */
  kaon_stencil stencil;
  uint32_t *neighbour[2];
  int32_t *gather[2];                    /* plain order, else NULL */
  kaon_lattice_spaces *spaces;           /* list of the spaces in use so far (kaon_lattice_space) */
  const kaon_space *spinors, *staggered; /* even, odd, full: those of 24 and of 6 reals */
  kaon_faces *faces;                     /* NULL, as all below, if the lattice is not partitioned */
  kaon_faces *far[2]; /* for hops of one and of three sites; NULL until kaon_faces_far */
  kaon_ghosts *ghosts;
  struct kaon_halo *halos; /* list of the halos in use so far */
};

/* Parity in the whole lattice of the site with these local coordinates; -1 is the site before the
 * first. If extents are odd, neighbouring ranks differ in odd_origin. */
static inline int kaon_lattice_parity(const kaon_lattice *lattice, const int site[4]) {
  return (site[0] + site[1] + site[2] + site[3] + lattice->stencil.odd_origin) & 1;
}

/* Site to position and back (lib/grid/site_order.c). Coordinates x, y, z, t are local to the
 * rank. */
kaon_place kaon_lattice_place(const kaon_lattice *lattice, const int site[4]);
/* Returns 0 if (parity, block, lane) is a masked lane, else 1 and the coordinates. */
int kaon_lattice_site(const kaon_lattice *lattice, int parity, int64_t block, int lane,
                      int site[4]);
/* Fills the neighbour and gather tables; called by kaon_lattice_create. */
kaon_status kaon_site_order_build(kaon_lattice *lattice);
void kaon_lattice_retain(kaon_lattice *lattice);

/* kaon_lattice_create on this grid of ranks; all 0: one is chosen. Collective. */
kaon_status kaon_lattice_create_on(kaon_context *ctx, const int extents[4],
                                   kaon_boundary boundary_t, const int grid[4],
                                   kaon_lattice **lattice);
/* Computes rank grid (if it is all 0), origin, local extents and neighbours from the global extents
 * (lib/grid/rank_grid.c). Errors: ARGUMENT (the grid does not divide the extents evenly). */
kaon_status kaon_rank_grid_place(kaon_lattice *lattice);
/* Checks that the extents of a whole lattice are valid (lib/grid/lattice.c). */
kaon_status kaon_extents_check(const kaon_context *ctx, const int extents[4]);
static inline int kaon_lattice_partitioned(const kaon_lattice *lattice) {
  const int *p = lattice->partitioned;
  return p[0] || p[1] || p[2] || p[3];
}
/* Copies a table to device memory from the pool. */
kaon_status kaon_table_upload(kaon_context *ctx, const void *host, size_t bytes, const char *what,
                              void **device);
/* Makes the tables of one-site hops across faces (lib/grid/faces.c): lattice->faces. */
kaon_status kaon_faces_create(kaon_lattice *lattice);
void kaon_faces_destroy(kaon_lattice *lattice);
/* Hops of three sites; also the minimum local extent of a partitioned direction. */
enum { KAON_FAR_SITES = 3 };
/* Makes lattice->far on first use: faces for hops of one and of three sites. Both share one list of
 * boundary blocks, which use ghosts of either. Collective. Errors: UNSUPPORTED (fewer than three
 * sites a rank in a partitioned direction), MEMORY. */
kaon_status kaon_faces_far(kaon_lattice *lattice);

/* The space of `reals` numbers a site on the sites of `parity`, with `inner` sites of the fifth
 * dimension (1: none). The lattice owns it; the same pointer in each call. The three parities are
 * neighbours in an array. NULL: out of memory, inner is not 1 to KAON_INNER_MAX, or there are more
 * than 2^31 sites of five dimensions. */
const kaon_space *kaon_lattice_space(kaon_lattice *lattice, kaon_parity parity, int reals,
                                     int inner);

/* Retain and release what keeps a space alive; called for each of its vectors. */
void kaon_space_retain(const kaon_space *space);
void kaon_space_release(const kaon_space *space);

static inline size_t kaon_precision_bytes(kaon_precision p) {
  return p == KAON_DOUBLE ? 8 : p == KAON_SINGLE ? 4 : 2;
}

/* Components of a group in a field of `ncomp` reals (layout.h). */
static inline int kaon_pack_of(const kaon_context *ctx, int ncomp, kaon_precision p) {
  return kaon_pack(ctx->backend->access, ncomp, (int)kaon_precision_bytes(p));
}

/* Bytes of a vector's data. */
static inline size_t kaon_vector_needs(const kaon_space *space, kaon_precision p, int nrhs) {
  const size_t sites = (size_t)space->nblocks * (size_t)space->width * (size_t)nrhs;
  return sites * (size_t)space->ncomp * kaon_precision_bytes(p) +
         (p == KAON_HALF ? sites * sizeof(float) : 0);
}

/* A view of the sites of one parity in a full-lattice vector, without a copy. Destroy it before
 * `full`. */
kaon_status kaon_vector_view(const kaon_vector *full, kaon_parity parity, kaon_vector *view);

/* A view of the same numbers as columns of a four-dimensional space: its column s * v->nrhs + k is
 * site s of the fifth dimension of column k. Without a fifth dimension, the vector itself. */
kaon_vector kaon_vector_flat(const kaon_vector *v);
/* Writes NaN to all columns, to find out what a function of the application leaves unwritten. Places
 * without a site stay 0. Double and single precision. */
kaon_status kaon_vector_poison(kaon_vector *vector);

static inline kaon_view kaon_view_of(const kaon_vector *v) {
  return (kaon_view){v ? v->data : NULL, v ? v->scale : NULL};
}
