/* staggered_internal.h - internal data and functions of the staggered operators. It follows
 * dirac_internal.h: a family is what came from one kaon_staggered_create. Its operators share sets
 * of links, one for each precision and storage in use, and kaon_staggered_update refills them. */
#ifndef KAON_DSLASH_STAGGERED_INTERNAL_H
#define KAON_DSLASH_STAGGERED_INTERNAL_H

#include <kaon/staggered.h>

#include "blas/blas.h"
#include "dslash/staggered/staggered_ops.h"
#include "gauge/gauge_internal.h"

/* The coordinates whose parities make up eta_mu, one bit for each direction. */
void kaon_staggered_masks(kaon_staggered_phases phases, uint8_t masks[4]);

/* eta_mu(site) times the boundary sign of a forward hop of `steps` sites. Coordinates are those of
 * the whole lattice. */
int kaon_staggered_sign(const kaon_lattice *lattice, const uint8_t masks[4], int mu, int steps,
                        const int site[4]);

/* Creates tables of hops of `steps` sites (hop_table.c); none where kernels compute neighbours. */
kaon_status kaon_hop_table_create(kaon_lattice *lattice, int steps, const uint8_t masks[4],
                                  kaon_hop_table *reach);
void kaon_hop_table_destroy(kaon_context *ctx, kaon_hop_table *reach);

typedef struct kaon_staggered_fields kaon_staggered_fields;

typedef struct kaon_staggered_family {
  int references; /* one for each set of fields */
  kaon_context *ctx;
  kaon_lattice *lattice;
  kaon_gauge *fat, *naik; /* naik NULL: naive action */
  kaon_staggered_options options;
  uint8_t masks[4];
  kaon_hop_table reach[2];
  kaon_staggered_fields *first;
} kaon_staggered_family;

/* Links of one kind in one storage. */
typedef struct kaon_staggered_links {
  kaon_gauge *links; /* the family's own field if it has this storage, else a copy */
  void *phase[2];    /* one allocation, odd after even; NULL: no phases */
  double factor;
  /* Ghost links beyond the backward face in each direction (staggered_ghosts.c): even links, odd
   * links, then their phases. NULL: none. */
  void *ghosts[4];
  size_t ghost_sites[4], ghost_bytes[4]; /* sites of a parity, in whole blocks; bytes of all */
} kaon_staggered_links;

struct kaon_staggered_fields {
  int references; /* one for each operator */
  kaon_staggered_family *family;
  kaon_staggered_fields *next;
  kaon_precision precision;
  kaon_reconstruct reconstruct;
  int filled;
  uint64_t revision[2]; /* revisions of fat and naik when filled */
  kaon_staggered_links fat, naik;
};

/* A new reference to a filled set for (precision, reconstruct). */
kaon_status kaon_staggered_fields_get(kaon_staggered_family *family, kaon_precision precision,
                                      kaon_reconstruct reconstruct, kaon_staggered_fields **fields);
void kaon_staggered_fields_release(kaon_staggered_fields **fields);
kaon_status kaon_staggered_fields_check(const kaon_staggered_fields *fields);
kaon_status kaon_staggered_family_update(kaon_staggered_family *family);
void kaon_staggered_family_release(kaon_staggered_family **family);

/* ---- preparing links (staggered_links.c); `from` has 18 reals ---- */

/* Over all ranks: the largest |component|, and the square root of the mean of |row|^2. Errors:
 * NOT_FINITE. */
kaon_status kaon_staggered_measure(const kaon_gauge *from, double *largest, double *row);
/* to = factor * from. `to` has 18 reals and its own storage. */
kaon_status kaon_staggered_scale(const kaon_gauge *from, double factor, kaon_gauge *to);
/* Splits factor * from = e^{i theta} V: V goes into `to`, theta into its phases. If all phases are
 * 1, none are stored. */
kaon_status kaon_staggered_split(const kaon_gauge *from, double factor, kaon_staggered_links *to);

/* ---- ghost links (staggered_ghosts.c) ---- */

/* Receives the ghost links of hops of `steps` sites from the neighbours, if kernels need them
 * (kaon_staggered_ops.face_links); else does nothing. Collective; all ranks return the same status.
 * Uses host memory. Errors: MEMORY, COMM, DEVICE. */
kaon_status kaon_staggered_ghosts_fill(kaon_staggered_links *links, int steps);
void kaon_staggered_ghosts_release(kaon_context *ctx, kaon_staggered_links *links);

/* The links in the form that kernels read. */
kaon_hop_links kaon_staggered_links_of(const kaon_staggered_links *from);

/* ---- operators ---- */

typedef struct kaon_staggered {
  kaon_staggered_fields *fields;
  kaon_parity parity; /* reductions: the parity of the reduced system */
  kaon_reduction reduction;
  kaon_vector *scratch; /* reductions: a vector on the other sites */
} kaon_staggered;

extern const kaon_operator_ops kaon_staggered_ops_full; /* M */

static inline kaon_staggered *kaon_staggered_of(const kaon_operator *A) {
  return (kaon_staggered *)A->self;
}
/* 0 when A is neither an M nor one of its reductions. */
int kaon_staggered_is(const kaon_operator *A);
/* Creates an operator that takes over `fields`. On failure `fields` is released too. */
kaon_status kaon_staggered_operator_new(const kaon_operator_ops *ops, kaon_staggered_fields *fields,
                                        const kaon_space *space, kaon_operator **A);
void kaon_staggered_operator_destroy(kaon_operator *A);
kaon_status kaon_staggered_operator_check(const kaon_operator *A);
kaon_status kaon_staggered_reserve(kaon_operator *A, kaon_mode mode, int columns);
/* Cost of `hops` hops to each of `sites` sites and one x-pay. */
kaon_cost kaon_staggered_cost(const kaon_staggered_fields *fields, int64_t sites, int hops,
                              int columns);

/* out = a x + b D in on the sites of `parity`. x NULL: no such term; x may be out. The caller
 * ensures that all vectors have the fields' precision and one column count, and that out is not
 * in. */
kaon_status kaon_staggered_fused(const kaon_staggered_fields *fields, int parity, double a,
                                 const kaon_vector *x, double b, const kaon_vector *in,
                                 kaon_vector *out, const kaon_pass *pass);
#endif
