/* dirac_internal.h - what the Wilson-like operators are made of.
 *
 * A family is everything that came from one kaon_dirac_create: one gauge field, one (kappa, csw,
 * anisotropy). Its operators (M, reductions, twins in other precisions) share sets of fields: the
 * links and clover blocks in one precision and link storage, each kept once however many operators
 * use it. kaon_dirac_update refills every set in place, so no operator has to be made again.
 *
 *   family 1 - n fields (precision, recon, temporal) 1 - n kaon_dirac (an operator's own) */
#ifndef KAON_DSLASH_DIRAC_INTERNAL_H
#define KAON_DSLASH_DIRAC_INTERNAL_H

#include "blas/blas.h"
#include "dslash/dslash_ops.h"
#include "gauge/clover_term.h"
#include "gauge/temporal.h"
#include "lib/grid/cuts.h"

/* Clover blocks kept: A and A^-1, each on either parity. */
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
  void *data;   /* [block][72][W], see lib/math/clover.h; NULL: not kept */
  float *scale; /* half: [block][chirality][W] */
} kaon_blocks;

typedef struct kaon_dirac_fields kaon_dirac_fields;

/* Hops taken down, with all that they would be launched with; `count` may end above the room. */
enum { KAON_RECORDED_HOPS = 2 };
typedef struct kaon_recorded_hops {
  int count;
  kaon_hop_args hop[KAON_RECORDED_HOPS];
} kaon_recorded_hops;

typedef struct kaon_dirac_family {
  int references; /* one a set of fields */
  kaon_context *ctx;
  kaon_lattice *lattice;
  kaon_gauge *gauge;
  double kappa, csw, anisotropy;
  int backward; /* how the last hop walked the lattice: one that mostly finds its links in a core's
                   cache turns round, so that it meets first what the last one met last */
  kaon_recorded_hops *recorded_hops; /* not NULL: hops are taken down there, and do not take place */
  kaon_dirac_fields *first;
} kaon_dirac_family;

struct kaon_dirac_fields {
  int references; /* one an operator */
  kaon_dirac_family *family;
  kaon_dirac_fields *next;
  kaon_precision precision;
  kaon_reconstruct reconstruct;
  int temporal;
  int filled;        /* 0: never, or the last attempt failed */
  uint64_t revision; /* of the family's gauge field when filled */
  kaon_gauge *links; /* the family's own field where it has this storage, else a copy */
  unsigned blocks_wanted;
  kaon_blocks blocks[KAON_BLOCKS_KINDS][2];
  kaon_stencil stencil; /* the lattice's; temporal: with tables of our own that mark unit links */
  uint32_t *neighbour[2];
  kaon_temporal *rotation; /* NULL: no operator on these fields prepares sources */
};

kaon_status kaon_dirac_family_create(kaon_gauge *gauge, const kaon_dirac_options *options,
                                     kaon_dirac_family **family);
void kaon_dirac_family_release(kaon_dirac_family **family);

/* The family's fields in this storage, filled, with at least the blocks of `blocks` (none when
 * csw = 0); a new reference. Errors: STALE (the family's other operators wait for
 * kaon_dirac_update), SINGULAR, MEMORY. */
kaon_status kaon_dirac_fields_get(kaon_dirac_family *family, kaon_precision precision,
                                  kaon_reconstruct reconstruct, int temporal, unsigned blocks,
                                  kaon_dirac_fields **fields);
void kaon_dirac_fields_release(kaon_dirac_fields **fields);
/* Fills all sets of the family from the gauge field's present links. */
kaon_status kaon_dirac_family_update(kaon_dirac_family *family);
/* Sees to it that a temporal set has its rotation. */
kaon_status kaon_dirac_fields_need_rotation(kaon_dirac_fields *fields);
/* Fills those of `blocks` (bits) from the gauge field's links; none when csw = 0. */
kaon_status kaon_dirac_fill_blocks(kaon_dirac_fields *fields, unsigned blocks);
/* det A over sites of `parity` (both: KAON_FULL) from the gauge field's links. */
kaon_status kaon_dirac_family_det(kaon_dirac_family *family, kaon_parity parity,
                                  kaon_clover_det *det);
/* The diagonal of A as a host spinor (imaginary parts 0), allocated; the caller frees it. */
kaon_status kaon_dirac_family_diagonal(kaon_dirac_family *family, double **psi);
/* OK, or STALE with the sentence. */
kaon_status kaon_dirac_fields_check(const kaon_dirac_fields *fields);

/* What is an operator's own where its hops between blocks are left out (local.c). */
typedef struct kaon_dirac_cut {
  kaon_stencil stencil; /* the fields', cut; no faces */
  int block[4];         /* as asked for */
  kaon_cuts *cuts;
} kaon_dirac_cut;

/* An operator's own data (kaon_operator.self of M and of its reductions). */
typedef struct kaon_dirac {
  kaon_dirac_fields *fields;
  kaon_dirac_cut *cut;        /* NULL: the whole operator */
  kaon_even_odd_options form; /* KAON_EVEN_ODD_NONE on M */
  kaon_reduction reduction;
  kaon_vector
      *scratch; /* reductions: see even_odd.c; NULL until room is reserved or first needed */
} kaon_dirac;

extern const kaon_operator_ops kaon_dirac_ops; /* M; even_odd.c has its own */

/* A new operator object that takes over `fields`; on failure `fields` is released too. */
kaon_status kaon_dirac_operator_new(const kaon_operator_ops *ops, kaon_dirac_fields *fields,
                                    const kaon_space *space, kaon_operator **A);
void kaon_dirac_operator_destroy(kaon_operator *A);
kaon_status kaon_dirac_operator_check(const kaon_operator *A); /* STALE, as an application */
static inline kaon_dirac *kaon_dirac_of(const kaon_operator *A) {
  return (kaon_dirac *)A->self;
}
/* Whose hops they are: the cut ones, or NULL. */
static inline const kaon_stencil *kaon_dirac_stencil(const kaon_dirac *dirac) {
  return dirac->cut != NULL ? &dirac->cut->stencil : NULL;
}
/* `reserve` of operators without temporaries. */
kaon_status kaon_dirac_reserve(kaon_operator *A, int columns);
/* 0 when A is neither an M nor one of its reductions. */
int kaon_dirac_is(const kaon_operator *A);
/* Bytes that a hop to one site goes through for `columns` columns: so many spinors each, eight
 * links and, with `clover`, a block once. */
double kaon_dirac_traffic(const kaon_dirac_fields *fields, int clover, int columns, int spinors);
/* Cost of one application by docs/conventions.md: hops = 1 for M, 2 for a Schur complement. */
kaon_cost kaon_dirac_cost(const kaon_dirac_fields *fields, int64_t sites, int hops, int columns);
/* M x or M^dagger x with the operator's fields, on full-lattice vectors. */
kaon_status kaon_dirac_full(const kaon_dirac *dirac, kaon_mode mode, const kaon_vector *x,
                            kaon_vector *y, const kaon_pass *pass);

/* ---- operators that are cut (local.c) ---- */

/* local_part: refuses blocks that do not fit and operators that are cut already. */
kaon_status kaon_dirac_cut_check(const kaon_operator *A, const kaon_local *how);
/* Cuts a new operator, which nobody has applied yet. domains: NULL allowed. */
kaon_status kaon_dirac_cut_make(kaon_operator *A, const int block[4], kaon_domains **domains);
void kaon_dirac_cut_destroy(kaon_context *ctx, kaon_dirac_cut **cut);

/* ---- blocks that go on by themselves (free_blocks.c): `free_blocks` of their operators ---- */

kaon_status kaon_dirac_free_blocks(kaon_operator *A, kaon_operator *local,
                                   const kaon_domains *domains, kaon_free_blocks **blocks);

/* ---- kernel launches (hop.c) ---- */

/* The fused hop: out = a [C] x + b [C] D in, or with D^dagger. */
typedef struct kaon_fused {
  double a;
  const kaon_vector *x; /* NULL: no such term; may be out */
  double b;
  int clover_on; /* KAON_CLOVER_NONE, _ON_HOP, _ON_X; NONE is taken when csw = 0 */
  kaon_blocks_kind kind;
  const kaon_stencil *stencil; /* NULL: the fields' */
} kaon_fused;

/* Updates the sites of `parity` (out, x) from the other parity (in). All vectors of the fields'
 * precision and of one column count, out not in: the caller's promise. pass: gate and sums
 * (NULL: all columns, none). */
kaon_status kaon_dslash_hop(const kaon_dirac_fields *fields, int parity, kaon_mode mode,
                            const kaon_fused *fused, const kaon_vector *in, kaon_vector *out,
                            const kaon_pass *pass);
/* Makes what hops of `columns` columns need for messages, so that none inside a solve allocates. */
kaon_status kaon_dslash_reserve(const kaon_dirac_fields *fields, int columns);
/* out = C in with C the term or its inverse on `parity` (csw = 0: a copy); out may be in. */
/* in += sign * slot w, out = C in; the gate of `pass` alone counts. w and out may be the same. */
kaon_status kaon_dslash_updated_clover(const kaon_dirac_fields *fields, int parity,
                                       kaon_blocks_kind kind, int slot, double sign,
                                       const kaon_vector *w, kaon_vector *in, kaon_vector *out,
                                       const kaon_pass *pass);
kaon_status kaon_dslash_clover(const kaon_dirac_fields *fields, int parity, kaon_blocks_kind kind,
                               const kaon_vector *in, kaon_vector *out, const kaon_pass *pass);
#endif
