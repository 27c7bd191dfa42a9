/* dirac_internal.h - internal data and functions of the Wilson-like operators.
 *
 * A family is everything that came from one kaon_dirac_create: one gauge field and one (kappa, csw,
 * anisotropy). Its operators are M, its reductions, and their twins in other precisions. They share
 * sets of fields: the links and clover blocks in one precision and link storage. Each set exists
 * once, however many operators use it. kaon_dirac_update refills every set in place, so operators
 * remain valid.
 *
 *   family 1 - n fields (precision, recon, temporal) 1 - n kaon_dirac (private to an operator) */
#ifndef KAON_DSLASH_DIRAC_INTERNAL_H
#define KAON_DSLASH_DIRAC_INTERNAL_H

#include "blas/blas.h"
#include "dslash/dslash_ops.h"
#include "gauge/clover_term.h"
#include "gauge/temporal.h"
#include "lib/grid/cuts.h"
#include "lib/operator/free_blocks.h"

/* Clover blocks that are stored: A and A^-1, each on either parity. */
typedef enum kaon_blocks_kind { KAON_BLOCKS_TERM, KAON_BLOCKS_INVERSE } kaon_blocks_kind;
enum { KAON_BLOCKS_KINDS = 2 };

/* Bits of kaon_dirac_fields.blocks_wanted. */
static inline unsigned kaon_blocks_bit(kaon_blocks_kind kind, int parity) {
  return 1u << (2 * (int)kind + parity);
}
static inline unsigned kaon_blocks_both(kaon_blocks_kind kind) {
  return kaon_blocks_bit(kind, 0) | kaon_blocks_bit(kind, 1);
}

typedef struct kaon_blocks {
  void *data;   /* [block][72][W], see lib/math/clover.h; NULL: not stored */
  float *scale; /* half: [block][chirality][W] */
} kaon_blocks;

typedef struct kaon_dirac_fields kaon_dirac_fields;

/* Recorded hops, with all their launch arguments. `count` may exceed the capacity: then some hops
 * were not recorded. */
enum { KAON_RECORDED_HOPS = 2 };
typedef struct kaon_recorded_hops {
  int count;
  kaon_hop_args hop[KAON_RECORDED_HOPS];
} kaon_recorded_hops;

typedef struct kaon_dirac_family {
  int references; /* one for each set of fields */
  kaon_context *ctx;
  kaon_lattice *lattice;
  kaon_gauge *gauge;
  double kappa, csw, anisotropy;
  int backward; /* direction of the last hop's walk: where links mostly fit a core's cache, each
                   walk reverses the last one and begins with what that one read last */
  kaon_recorded_hops *recorded_hops; /* not NULL: hops are recorded here instead of run */
  kaon_dirac_fields *first;
} kaon_dirac_family;

struct kaon_dirac_fields {
  int references; /* one for each operator */
  kaon_dirac_family *family;
  kaon_dirac_fields *next;
  kaon_precision precision;
  kaon_reconstruct reconstruct;
  int temporal;
  int filled;        /* 0: never filled, or the last attempt failed */
  uint64_t revision; /* revision of the family's gauge field when filled */
  kaon_gauge *links; /* the family's own field if it has this storage, else a copy */
  unsigned blocks_wanted;
  kaon_blocks blocks[KAON_BLOCKS_KINDS][2];
  kaon_stencil stencil; /* the lattice's; temporal: with private tables that mark unit links */
  uint32_t *neighbour[2];
  kaon_temporal *rotation; /* NULL: no operator on these fields prepares sources */
};

kaon_status kaon_dirac_family_create(kaon_gauge *gauge, const kaon_dirac_options *options,
                                     kaon_dirac_family **family);
void kaon_dirac_family_release(kaon_dirac_family **family);

/* Returns the family's fields in this storage as a new reference. They are filled and have at least
 * the blocks of `blocks` (none when csw = 0). Errors: STALE (the gauge field changed, and
 * kaon_dirac_update must come first), SINGULAR, MEMORY. */
kaon_status kaon_dirac_fields_get(kaon_dirac_family *family, kaon_precision precision,
                                  kaon_reconstruct reconstruct, int temporal, unsigned blocks,
                                  kaon_dirac_fields **fields);
void kaon_dirac_fields_release(kaon_dirac_fields **fields);
/* Fills all sets of the family from the gauge field's current links. */
kaon_status kaon_dirac_family_update(kaon_dirac_family *family);
/* Creates the rotation of a temporal set if it has none yet. */
kaon_status kaon_dirac_fields_need_rotation(kaon_dirac_fields *fields);
/* Fills the given blocks (bits) from the gauge field's links; none when csw = 0. */
kaon_status kaon_dirac_fill_blocks(kaon_dirac_fields *fields, unsigned blocks);
/* det A over the sites of `parity` (KAON_FULL: of both) from the gauge field's links. */
kaon_status kaon_dirac_family_det(kaon_dirac_family *family, kaon_parity parity,
                                  kaon_clover_det *det);
/* The diagonal of A as a host spinor with imaginary parts 0. The caller frees it. */
kaon_status kaon_dirac_family_diagonal(kaon_dirac_family *family, double **psi);
/* Returns OK, or STALE and sets the error message. */
kaon_status kaon_dirac_fields_check(const kaon_dirac_fields *fields);

/* Data of an operator without hops between blocks (local.c). */
typedef struct kaon_dirac_cut {
  kaon_stencil stencil; /* that of the fields, cut; it has no faces */
  int block[4];         /* as requested */
  kaon_cuts *cuts;
} kaon_dirac_cut;

/* Private data of an operator (kaon_operator.self of M and of its reductions). */
typedef struct kaon_dirac {
  kaon_dirac_fields *fields;
  kaon_dirac_cut *cut;        /* NULL: the whole operator */
  kaon_even_odd_options form; /* KAON_EVEN_ODD_NONE on M */
  kaon_reduction reduction;
  kaon_vector *scratch; /* reductions: see even_odd.c; NULL until reserved or first used */
} kaon_dirac;

extern const kaon_operator_ops kaon_dirac_ops; /* M; even_odd.c has its own */

/* Creates an operator that takes over `fields`. On failure `fields` is released too. */
kaon_status kaon_dirac_operator_new(const kaon_operator_ops *ops, kaon_dirac_fields *fields,
                                    const kaon_space *space, kaon_operator **A);
void kaon_dirac_operator_destroy(kaon_operator *A);
kaon_status kaon_dirac_operator_check(const kaon_operator *A); /* STALE as in an application */
static inline kaon_dirac *kaon_dirac_of(const kaon_operator *A) {
  return (kaon_dirac *)A->self;
}
/* The stencil of the cut hops; NULL for the whole operator. */
static inline const kaon_stencil *kaon_dirac_stencil(const kaon_dirac *dirac) {
  return dirac->cut != NULL ? &dirac->cut->stencil : NULL;
}
/* `reserve` of operators without temporaries. */
kaon_status kaon_dirac_reserve(kaon_operator *A, kaon_mode mode, int columns);
/* 0 when A is neither an M nor one of its reductions. */
int kaon_dirac_is(const kaon_operator *A);
/* Bytes that a hop to one site moves for `columns` columns: `spinors` spinors for each column,
 * eight links once and, with `clover`, one clover block once. */
double kaon_dirac_traffic(const kaon_dirac_fields *fields, int clover, int columns, int spinors);
/* Cost of one application by docs/conventions.md; hops is 1 for M and 2 for a Schur complement. */
kaon_cost kaon_dirac_cost(const kaon_dirac_fields *fields, int64_t sites, int hops, int columns);
/* y = M x or M^dagger x with the operator's fields, on full-lattice vectors. */
kaon_status kaon_dirac_full(const kaon_dirac *dirac, kaon_mode mode, const kaon_vector *x,
                            kaon_vector *y, const kaon_pass *pass);

/* ---- cut operators (local.c) ---- */

/* Check for `local`: fails for blocks that do not fit, and for operators already cut. */
kaon_status kaon_dirac_cut_check(const kaon_operator *A, const kaon_local *how);
/* Cuts a new operator that was not applied yet. domains may be NULL. */
kaon_status kaon_dirac_cut_make(kaon_operator *A, const int block[4], kaon_domains **domains);
void kaon_dirac_cut_destroy(kaon_context *ctx, kaon_dirac_cut **cut);

/* ---- asynchronous blocks of these operators (free_blocks.c) ---- */

extern const kaon_free_access kaon_dirac_free_access;

/* ---- kernel launches (hop.c) ---- */

/* The fused hop: out = a [C] x + b [C] D in, or with D^dagger. */
typedef struct kaon_fused {
  double a;
  const kaon_vector *x; /* NULL: no such term; may be the same vector as out */
  double b;
  int clover_on; /* KAON_CLOVER_NONE, _ON_HOP, _ON_X; treated as NONE when csw = 0 */
  kaon_blocks_kind kind;
  const kaon_stencil *stencil; /* NULL: that of the fields */
} kaon_fused;

/* Updates the sites of `parity` (out, x) from the other parity (in). The caller ensures that all
 * vectors have the fields' precision and one column count, and that out is not in. pass: gate and
 * sums (NULL: all columns, no sums). */
kaon_status kaon_dslash_hop(const kaon_dirac_fields *fields, int parity, kaon_mode mode,
                            const kaon_fused *fused, const kaon_vector *in, kaon_vector *out,
                            const kaon_pass *pass);
/* Allocates the message buffers for hops of `columns` columns, so that a solve does not
 * allocate. */
kaon_status kaon_dslash_reserve(const kaon_dirac_fields *fields, int columns);
/* out = C in, with C the clover term or its inverse on `parity` (csw = 0: a copy). out may be
 * in. */
/* in += sign * slot w, then out = C in. Only the gate of `pass` is used. w and out may be the
 * same. */
kaon_status kaon_dslash_updated_clover(const kaon_dirac_fields *fields, int parity,
                                       kaon_blocks_kind kind, int slot, double sign,
                                       const kaon_vector *w, kaon_vector *in, kaon_vector *out,
                                       const kaon_pass *pass);
kaon_status kaon_dslash_clover(const kaon_dirac_fields *fields, int parity, kaon_blocks_kind kind,
                               const kaon_vector *in, kaon_vector *out, const kaon_pass *pass);
#endif
