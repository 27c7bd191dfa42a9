/* frame.h - the frame of all lattice operators M = T + c D. T acts within a site; the hop D leads
 * from one parity to the other.
 *
 * The frame has what all of them share: sets of fields in several precisions, operators and their
 * twins, even-odd reductions, operators with some of the hops. An action says what its fields, T
 * and D are (kaon_action).
 *
 * A family is everything that came from one constructor: the links and the coefficients. Its
 * operators are M, its reductions, and their twins in other precisions. They share sets of fields,
 * one for each precision and link storage in use. An update refills every set in place, so
 * operators remain valid.
 *
 *   family 1 - n fields (precision, recon, temporal) 1 - n kaon_lattice_operator */
#pragma once

#include "blas/blas.h"
#include "dslash/operator/site_on.h"
#include "gauge/gauge_internal.h"
#include "gauge/temporal.h"
#include "lib/grid/cuts.h"
#include "lib/grid/halo.h"
#include "lib/operator/couplings.h"
#include "lib/operator/free_blocks.h"

typedef struct kaon_family kaon_family;
typedef struct kaon_fields kaon_fields;

/* What acts within a site; site_on.h: where a hop applies it. */
typedef enum kaon_site_kind { KAON_SITE_TERM, KAON_SITE_INVERSE } kaon_site_kind;
enum { KAON_SITE_KINDS = 2 };

/* Bits of kaon_fields.sites. */
static inline unsigned kaon_site_bit(kaon_site_kind kind, int parity) {
  return 1u << (2 * (int)kind + parity);
}
static inline unsigned kaon_site_both(kaon_site_kind kind) {
  return kaon_site_bit(kind, 0) | kaon_site_bit(kind, 1);
}

/* The fused hop: out = a [T] x + b [T] D in, or with both adjoints. */
typedef struct kaon_fused {
  double a;
  const kaon_vector *x; /* NULL: no such term; may be the same vector as out */
  double b;
  int on; /* KAON_SITE_..., NOWHERE if T is a number */
  kaon_site_kind kind;
  const kaon_stencil *stencil; /* NULL: that of the fields */
} kaon_fused;

/* Forms of the operators of a family. The first three have the values of kaon_even_odd.
 *   SQUARED  T^2 - c^2 D D, for a T that is a number
 *   WHOLE    M */
typedef enum kaon_form {
  KAON_FORM_SYMMETRIC,
  KAON_FORM_ASYMMETRIC,
  KAON_FORM_NONE,
  KAON_FORM_SQUARED,
  KAON_FORM_WHOLE,
  KAON_FORMS
} kaon_form;

static inline int kaon_form_hops(kaon_form form) {
  return form == KAON_FORM_WHOLE || form == KAON_FORM_NONE ? 1 : 2;
}

/* What an action is made of. Functions get fields that are filled, and vectors of their precision
 * with one column count. Columns are right-hand sides: a fifth dimension (kaon_space.inner) is
 * multiplied in by the functions, on the way to kernels of hops and messages. */
typedef struct kaon_action {
  const char *name, *update;     /* for messages: of the action, and of its update function */
  const char *forms[KAON_FORMS]; /* names of the operators; NULL: not offered */
  int reals;                     /* of a site; 0: any number */
  size_t fields_size;            /* a struct that begins with kaon_fields */
  /* Takes the storage of a set of fields. */
  kaon_status (*build)(kaon_fields *fields);
  /* Fills the set from the family's links, with T or T^-1 as in `sites`. */
  kaon_status (*fill)(kaon_fields *fields);
  /* Fills more T or T^-1. NULL: T is a number. */
  kaon_status (*fill_sites)(kaon_fields *fields, unsigned sites);
  void (*release_fields)(kaon_fields *fields);
  void (*release_family)(kaon_family *family); /* its own part. NULL: nothing */
  /* Updates the sites of `parity` (out, x) from the other parity (in). out is not in. pass: gate
   * and sums (NULL: all columns, no sums). */
  kaon_status (*hop)(const kaon_fields *fields, int parity, kaon_mode mode, const kaon_fused *fused,
                     const kaon_vector *in, kaon_vector *out, const kaon_pass *pass);
  /* out = T in, or T^-1 in, or with the adjoint. out may be in. NULL: T is a number. */
  kaon_status (*site)(const kaon_fields *fields, int parity, kaon_mode mode, kaon_site_kind kind,
                      const kaon_vector *in, kaon_vector *out, const kaon_pass *pass);
  /* in += sign * slot w, then as site. Only the gate of `pass` is used. w and out may be the same.
   * NULL: not offered. */
  kaon_status (*updated_site)(const kaon_fields *fields, int parity, kaon_mode mode,
                              kaon_site_kind kind, int slot, double sign, const kaon_vector *w,
                              kaon_vector *in, kaon_vector *out, const kaon_pass *pass);
  /* The halos of a hop, at most two; they are made on first use. *fused: 1: kernels can do all
   * stages in one launch. */
  kaon_status (*halos)(const kaon_fields *fields, int columns, kaon_halo *halos[2], int *count,
                       int *fused);
  /* Cost of an operator of this form, on one site and column. */
  kaon_cost (*cost)(const kaon_fields *fields, kaon_form form, int columns);
  /* The diagonal of T as a host vector of `reals` numbers a site. */
  kaon_status (*diagonal)(const kaon_family *family, double *host);
  kaon_halves halves;                  /* of a site (kaon_couplings) */
  int blocks;                          /* 1: operators can be cut into blocks (kaon_local) */
  const kaon_free_access *free_blocks; /* NULL: no asynchronous blocks */
} kaon_action;

/* The common part of a family; an action's own struct begins with it. */
struct kaon_family {
  const kaon_action *action;
  int references; /* one for each set of fields */
  kaon_context *ctx;
  kaon_lattice *lattice;
  kaon_gauge *links[2];     /* what the fields are made from; NULL: fewer, or not from links */
  const kaon_space *spaces; /* of even, odd and all sites, with the fifth dimension */
  double hop;               /* c */
  int reach;                /* sites of the longest hops: 1 or 3 */
  double number;            /* T, where it is a number */
  int has_sites;            /* 1: T is not a number, so the action's `site` applies it */
  kaon_operator_ops ops[KAON_FORMS];
  const void *capabilities[KAON_FORMS][KAON_CAPABILITIES];
  kaon_fields *first;
  kaon_revision *revision; /* of all sets of fields, made of the links */
};

/* The common part of a set of fields. */
struct kaon_fields {
  int references; /* one for each operator */
  kaon_family *family;
  kaon_fields *next;
  kaon_precision precision;
  kaon_reconstruct reconstruct;
  int temporal;
  int filled;              /* 0: not yet filled, or not yet by the present update */
  unsigned sites;          /* bits: T and T^-1 that are stored */
  kaon_stencil stencil;    /* the lattice's; an action may replace its tables */
  kaon_temporal *rotation; /* NULL: no operator on these fields prepares sources */
};

/* ---- families and fields (fields.c) ---- */

/* Allocates a family of `size` bytes, with one reference; retains the lattice and the links.
 * spaces: of even, odd and all sites. links, more: may be NULL, both for an operator without a
 * gauge field. Errors: MEMORY, STALE. */
kaon_status kaon_family_create(const kaon_action *action, size_t size, kaon_lattice *lattice,
                               const kaon_space *spaces, kaon_gauge *links, kaon_gauge *more,
                               kaon_family **family);
void kaon_family_release(kaon_family **family);
/* Fills all sets of the family from the present links. Collective. Errors: STALE (the links
 * are so themselves); those of the action. */
kaon_status kaon_family_update(kaon_family *family);
/* Returns the family's fields in this storage as a new reference. They are filled, and have at
 * least `sites`. Errors: STALE (the links changed, and the update must come first); those of the
 * action. */
kaon_status kaon_fields_get(kaon_family *family, kaon_precision precision,
                            kaon_reconstruct reconstruct, int temporal, unsigned sites,
                            kaon_fields **fields);
void kaon_fields_release(kaon_fields **fields);
/* Creates the rotation of a temporal set if it has none yet. */
kaon_status kaon_fields_need_rotation(kaon_fields *fields);

/* ---- operators (lattice_operator.c) ---- */

/* Data of an operator with some of the hops (part.c): those inside blocks, or those in one
 * direction. */
typedef struct kaon_operator_part {
  int block[4], along;     /* as requested; along as in kaon_stencil */
  kaon_stencil stencil[2]; /* by mode */
  kaon_cuts *cuts[2];
} kaon_operator_part;

/* Private data of an operator (kaon_operator.self of M and of its reductions). */
typedef struct kaon_lattice_operator {
  kaon_fields *fields;
  kaon_operator_part *part; /* NULL: all hops */
  kaon_form form;
  kaon_parity parity; /* reductions: the sites that are kept; else KAON_FULL */
  kaon_reduction reduction;
  kaon_vector *scratch; /* reductions: a vector on the other sites; NULL until reserved or used */
} kaon_lattice_operator;

static inline kaon_lattice_operator *kaon_lattice_operator_of(const kaon_operator *A) {
  return (kaon_lattice_operator *)A->self;
}
static inline kaon_fields *kaon_fields_of(const kaon_operator *A) {
  return kaon_lattice_operator_of(A)->fields;
}
/* The stencil of the operator's hops. */
static inline const kaon_stencil *kaon_stencil_of(const kaon_lattice_operator *self,
                                                  kaon_mode mode) {
  return self->part != NULL ? &self->part->stencil[mode] : &self->fields->stencil;
}
/* 1 for hops in one direction, which have no T. */
static inline int kaon_is_coupling(const kaon_lattice_operator *self) {
  return self->part != NULL && self->part->along != 0;
}
/* 1 for an M or a reduction of it, on vectors of `reals` numbers a site. */
int kaon_is_lattice_operator(const kaon_operator *A, int reals);
/* Fails unless A is one (ARGUMENT: NULL; UNSUPPORTED). what: the function, for the message. */
kaon_status kaon_lattice_operator_need(const kaon_operator *A, int reals, const char *what);
/* Creates an operator of the family in this form. A reduction has no parent yet. */
kaon_status kaon_lattice_operator_make(kaon_family *family, kaon_form form, kaon_parity parity,
                                       int temporal, kaon_precision precision,
                                       kaon_reconstruct reconstruct, kaon_operator **A);
/* The same for M of a new family, which is released. Collective. */
kaon_status kaon_lattice_operator_first(kaon_family *family, kaon_precision precision,
                                        kaon_reconstruct reconstruct, kaon_operator **M);
/* The hop D for users: checks the vectors, then out = D in or D^dagger in. */
kaon_status kaon_lattice_operator_hop(kaon_operator *M, const char *what, kaon_parity parity,
                                      kaon_mode mode, const kaon_vector *in, kaon_vector *out);
/* Likewise T or T^-1, or their adjoints, on the sites of `parity`. in and out may be the same. */
kaon_status kaon_lattice_operator_site(kaon_operator *M, const char *what, kaon_parity parity,
                                       kaon_mode mode, kaon_site_kind kind, const kaon_vector *in,
                                       kaon_vector *out);
/* y = M x or M^dagger x with the operator's fields, on full-lattice vectors. */
kaon_status kaon_lattice_operator_full(kaon_operator *A, kaon_mode mode, const kaon_vector *x,
                                       kaon_vector *y, const kaon_pass *pass);
/* Allocates the message buffers, so that a solve does not allocate. */
kaon_status kaon_lattice_operator_reserve(kaon_operator *A, kaon_mode mode, int columns);

/* ---- reductions (even_odd.c) ---- */

/* Creates the reduction of M, which is retained. what: the function, for messages. Collective. */
kaon_status kaon_lattice_operator_reduce(kaon_operator *M, const char *what, kaon_form form,
                                         kaon_parity parity, int temporal, kaon_operator **reduced);
/* Makes R a reduction of `parent`; takes over one reference. */
kaon_status kaon_schur_set_parent(kaon_operator *R, kaon_operator *parent);
/* Methods of a Schur complement. */
kaon_status kaon_schur_apply(kaon_operator *A, kaon_mode mode, const kaon_vector *x, kaon_vector *y,
                             const kaon_pass *pass);
kaon_status kaon_schur_apply_updated(kaon_operator *A, kaon_mode mode, int slot, double sign,
                                     const kaon_vector *w, kaon_vector *x, kaon_vector *y,
                                     const kaon_pass *pass);
kaon_status kaon_schur_reserve(kaon_operator *A, kaon_mode mode, int columns);

/* ---- operators with some of the hops (part.c) ---- */

/* Checks for `local` and for couplings. domains: 1: the blocks' domains are wanted too. */
kaon_status kaon_local_check(const kaon_operator *A, const kaon_local *how, int domains);
kaon_status kaon_coupling_check(const kaon_operator *A, const kaon_coupling *which);
/* Leaves a new operator that was not applied yet with some of its hops. along = 0: those inside
 * blocks; the operator sends no messages. Else as in kaon_stencil. */
kaon_status kaon_part_make(kaon_operator *A, int along, const int block[4]);
void kaon_part_destroy(kaon_context *ctx, kaon_operator_part **part);
/* The blocks of a space. */
kaon_status kaon_local_domains(const kaon_space *space, const int block[4], kaon_domains **domains);
