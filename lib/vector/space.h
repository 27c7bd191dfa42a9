/* space.h - the inside of lattices, spaces and vectors. */
#ifndef KAON_LIB_SPACE_H
#define KAON_LIB_SPACE_H

#include <kaon/vector.h>

#include "lib/core/context_internal.h"
#include "lib/vector/layout.h"

/* What a space of matrix rows belongs to, which its vectors keep alive, and its order: row i of the
 * space is the caller's row order[i]. The vectors' doors alone know of it. */
typedef struct kaon_rows {
  void *owner; /* NULL: nothing is kept */
  void (*retain)(void *owner);
  void (*release)(void *owner);
  const int32_t *order; /* [row]; NULL: the same */
  const int32_t *there; /* the same where kernels read it */
  /* Where rows are on other ranks than the caller has them on (else NULL): this rank's `given` rows
   * of the caller's to the nsites that are here, in the caller's order among themselves, which
   * `order` then means; and back. Collective. */
  int64_t given;
  kaon_status (*enter)(void *owner, const double *given, double *here);
  kaon_status (*leave)(void *owner, const double *here, double *given);
} kaon_rows;

/* What a vector's numbers mean. Immutable; compared by identity. */
struct kaon_space {
  kaon_context *ctx;
  kaon_lattice *lattice; /* NULL for matrix rows */
  kaon_parity parity;
  int64_t nblocks;
  int64_t nsites; /* true sites (or rows): nblocks * width less the masked tails */
  int width;
  int ncomp; /* reals a site */
  int complex_space;
  kaon_rows rows; /* of matrix rows */
};

/* Rows that the caller's arrays have on this rank. */
static inline int64_t kaon_space_caller_rows(const struct kaon_space *space) {
  return space->rows.enter != NULL ? space->rows.given : space->nsites;
}

struct kaon_vector {
  kaon_context *ctx;
  const kaon_space *space;
  kaon_precision precision;
  int nrhs;
  void *data;
  float *scale; /* half: one a site and column */
  int owns;     /* 0: a view into another vector, which must outlive it */
};

/* The one home of a site on its rank: parity, block and lane. Parity is the whole lattice's
 * (kaon_lattice_parity). */
typedef struct kaon_place {
  int parity;
  int64_t block;
  int lane;
} kaon_place;

typedef struct kaon_ghosts kaon_ghosts; /* lib/grid/ghosts.c */

struct kaon_lattice {
  int references;
  kaon_context *ctx;
  int extents[4]; /* of this rank's part; `global`: of all */
  int global[4];
  int grid[4];         /* ranks in x, y, z, t */
  int origin[4];       /* global coordinates of this rank's first site */
  int peer[KAON_DIRS]; /* the neighbours' ranks */
  int partitioned[4];  /* what is beyond the faces of mu comes by messages */
  kaon_boundary boundary_t;
  int64_t volume; /* of this rank's part; `global_volume`: of all */
  int64_t global_volume;
  int tile[4]; /* sub-extents of the tiles in which blocks are numbered; x and t are whole */
  int cut[4];  /* split order: 2 where mu is cut in halves, else 1 */
  int split;   /* 1 split order, 0 plain order */
  kaon_stencil stencil;
  uint32_t *neighbour[2];
  int32_t *gather[2];      /* plain order, else NULL */
  kaon_space spinors[3];   /* even, odd, full */
  kaon_space staggered[3]; /* the same: three colours a site */
  kaon_faces *faces;       /* of a partitioned lattice, as all below; else NULL */
  kaon_faces *far[2]; /* of operators with hops of one and of three sites: NULL until asked for */
  kaon_ghosts *ghosts;
  struct kaon_halo *halos; /* those in use so far, a list */
};

/* Parity, in the whole lattice, of the site with these coordinates on the rank; -1 is the site
 * before the first one. Where extents are odd, neighbouring ranks differ in odd_origin. */
static inline int kaon_lattice_parity(const kaon_lattice *lattice, const int site[4]) {
  return (site[0] + site[1] + site[2] + site[3] + lattice->stencil.odd_origin) & 1;
}

/* Site <-> place (lib/grid/site_order.c). coordinates x, y, z, t on the rank. */
kaon_place kaon_lattice_place(const kaon_lattice *lattice, const int site[4]);
/* 0 where (parity, block, lane) is a masked tail lane, else 1 and the coordinates. */
int kaon_lattice_site(const kaon_lattice *lattice, int parity, int64_t block, int lane,
                      int site[4]);
/* Fills neighbour and gather tables for the given boundary; used by kaon_lattice_create. */
kaon_status kaon_site_order_build(kaon_lattice *lattice);
void kaon_lattice_retain(kaon_lattice *lattice);

/* Grid, origin, local extents and neighbours from the global extents (lib/grid/rank_grid.c). Errors:
 * ARGUMENT (the grid does not divide them evenly). */
kaon_status kaon_rank_grid_place(kaon_lattice *lattice);
/* Whether extents of a whole lattice are even and within bounds (lib/grid/lattice.c). */
kaon_status kaon_extents_check(const kaon_context *ctx, const int extents[4]);
static inline int kaon_lattice_partitioned(const kaon_lattice *lattice) {
  const int *p = lattice->partitioned;
  return p[0] || p[1] || p[2] || p[3];
}
/* A table in device memory, from the pool. */
kaon_status kaon_table_upload(kaon_context *ctx, const void *host, size_t bytes, const char *what,
                              void **device);
/* The tables of hops across faces (lib/grid/faces.c): lattice->faces, of one site. */
kaon_status kaon_faces_create(kaon_lattice *lattice);
void kaon_faces_destroy(kaon_lattice *lattice);
enum { KAON_FAR_SITES = 3 }; /* hops of three sites: what a rank has in a divided direction */
/* lattice->far, made when it is first asked for: hops of one and of three sites, with one list of
 * boundary blocks, those that meet a ghost of either. Collective. Errors: UNSUPPORTED (a divided
 * direction of less than three sites a rank), MEMORY. */
kaon_status kaon_faces_far(kaon_lattice *lattice);

/* Host copies on demand of device tables are not kept: on a GPU the stencil's tables live in device
 * memory. */

/* What vectors of a space keep alive. */
void kaon_space_retain(const kaon_space *space);
void kaon_space_release(const kaon_space *space);

static inline size_t kaon_precision_bytes(kaon_precision p) {
  return p == KAON_DOUBLE ? 8 : p == KAON_SINGLE ? 4 : 2;
}

/* How the components of a field of `ncomp` reals are grouped (layout.h). */
static inline int kaon_pack_of(const kaon_context *ctx, int ncomp, kaon_precision p) {
  return kaon_pack(ctx->backend->access, ncomp, (int)kaon_precision_bytes(p));
}

/* Bytes that a vector takes. */
static inline size_t kaon_vector_needs(const kaon_space *space, kaon_precision p, int nrhs) {
  const size_t sites = (size_t)space->nblocks * (size_t)space->width * (size_t)nrhs;
  return sites * (size_t)space->ncomp * kaon_precision_bytes(p) +
         (p == KAON_HALF ? sites * sizeof(float) : 0);
}

/* The part of a full-lattice vector that lies on one parity, without a copy; destroy it before
 * `full`. */
kaon_status kaon_vector_view(const kaon_vector *full, kaon_parity parity, kaon_vector *view);

static inline kaon_view kaon_view_of(const kaon_vector *v) {
  return (kaon_view){v ? v->data : NULL, v ? v->scale : NULL};
}

#endif
